"""Means over all pairs of people, computed from the answers of pairs: spends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from dpcurves.arguments import InvalidArgument, require_integer, require_type
from dpcurves.conversation import Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.question import build_privacy_statement, require_independent
from dpcurves.laws import Law

from .queries import PairAnswers, PairLaw, PairSum, all_pairs_variance

DOUBT = 2.0
"""So many standard deviations of what the products of answers say is allowed for."""


class _VarianceBounds(NamedTuple):
    """The scatter of a mean: variances of a kernel given one person, and both, of which only bounds are known.

    Attributes:
        independent_variance: The variance of the mean if pairs had nobody in common: noise, and the kernel's own.
        zeta1: The variance of the kernel's mean given one person: bounds.
        zeta2: The variance of the kernel: the most that it can be.
    """

    independent_variance: float
    zeta1: tuple[float, float]
    zeta2: float

    def list_corners(self) -> Iterator[tuple[float, float]]:
        """The places where a function linear in both has its largest value. A kernel varies twice as much as given one
        person.
        """
        for one, both in product(self.zeta1, (0.0, self.zeta2)):
            yield one, max(both, 2 * one)


def require_pair_law(law: Law) -> PairLaw:
    """A law about pairs of people, as such. Raises `TypeError` for another."""
    return law.require_type(PairLaw)  # type: ignore[type-abstract]


def estimate_pair_mean(law: PairLaw, values: Sequence[int]) -> float:
    """The unbiased mean; where no pair came, the middle of what it can be."""
    if not law.pairs:
        return float(law.step * (law.least + law.most) / 2)
    return float(law.step) * law.debias(values[0] / law.pairs)


def find_pair_interval(law: PairLaw, values: Sequence[int], level: float, *, population: bool) -> tuple[float, float]:
    """The ends of an interval that has the mean over all pairs of these people with about the chance `level`.

    Noise and the choice of pairs are in it; with `population`, people are too, as if drawn on their own. Each value is
    taken together with a few made-up ones at both ends of its range (Agresti and Coull 1998), so that it is not too
    short where nearly all pairs agree. How strongly pairs with a person in common go together is read from products of
    their answers, where there are any, with `DOUBT`; otherwise the worst is taken that can be. The worst is exact for
    a kernel of two values where everybody is in one pair, for the population.
    """
    if not law.pairs:
        return float(law.step * law.least), float(law.step * law.most)
    added = float(ndtri((1 + level) / 2)) ** 2
    if law.has_pair_answers:
        middle, reach = _interval_from_answers(law.require_type(PairAnswers), values, added, population)
    else:
        middle, reach = _interval_from_sum(law.require_type(PairSum), values[0], added, level, population)
    ends = (min(max(end, law.least), law.most) for end in (middle - reach, middle + reach))
    low, high = (float(law.step) * end for end in ends)
    return low, high


def _interval_from_answers(
    law: PairAnswers, values: Sequence[int], added: float, population: bool
) -> tuple[float, float]:
    gain, number = float(law.gain), law.pairs + added
    ends = [float(law.offset + law.gain * end) for end in (law.least, law.most)]
    mean = (values[0] + added / 2 * sum(ends)) / number
    square = (values[1] + added / 2 * (ends[0] ** 2 + ends[1] ** 2)) / number - mean**2
    both = min(_bound_zeta2(law, law.debias(mean)) * gain**2, square)
    spread = _VarianceBounds(square / number, _bound_zeta1(law, values, square, both), both)
    return law.debias(mean), sqrt(added * _bound_variance(law, spread, population)) / gain


def _bound_zeta1(law: PairLaw, values: Sequence[int], square: float, both: float) -> tuple[float, float]:
    """Bounds on the variance of answers' means given one person, from products of answers with one in common."""
    if not law.one_shared:
        return 0.0, both / 2
    couples = law.one_shared / 2
    found, doubt = values[2] / couples - (values[0] / law.pairs) ** 2, DOUBT * square / sqrt(couples)
    return min(max(found - doubt, 0.0), both / 2), min(max(found + doubt, 0.0), both / 2)


def _interval_from_sum(law: PairSum, value: int, added: float, level: float, population: bool) -> tuple[float, float]:
    number = law.pairs + added
    mean = (value + added / 2 * (law.least + law.most)) / number
    both = _bound_zeta2(law, mean)
    variance = _bound_variance(law, _VarianceBounds(both / number, (0.0, both / 2), both), population)
    return mean, _absolute_quantile(1 / float(law.rate) / number, sqrt(variance), level)


def _bound_zeta2(law: PairLaw, mean: float) -> float:
    """The largest variance of values of this mean, in their range (Bhatia and Davis 2000)."""
    inside = min(max(mean, law.least), law.most)
    return (inside - law.least) * (law.most - inside)


def _bound_variance(law: PairLaw, spread: _VarianceBounds, population: bool) -> float:
    """The largest variance of the mean that the bounds allow: that of pairs, and without `population` less people's."""
    found = 0.0
    for one, both in spread.list_corners():
        shared = (law.one_shared * one + (law.both_shared - law.pairs) * both) / law.pairs**2
        people = 0.0 if population else all_pairs_variance(law.people, one, both)
        found = max(found, spread.independent_variance + shared - people)
    return found


def _absolute_quantile(scale: float, deviation: float, level: float) -> float:
    """The largest absolute sum of Laplace noise and a normal number, with this chance."""
    far = 40 * scale + 10 * deviation
    return float(
        brentq(lambda reach: 2 * _laplace_normal_cdf(reach, scale, deviation) - 1 - level, 0.0, far, xtol=1e-12 * far)
    )


def _laplace_normal_cdf(reach: float, scale: float, deviation: float) -> float:
    """The chance that Laplace noise and a normal number together are below `reach`, which is not negative."""
    if deviation < 1e-9 * scale:
        return 1 - float(np.exp(-reach / scale)) / 2
    at, tilt = reach / deviation, deviation / scale
    tails = [sign * reach / scale + tilt**2 / 2 + log_ndtr(-sign * at - tilt) for sign in (1, -1)]
    return float(ndtr(at) + (np.exp(tails[0]) - np.exp(tails[1])) / 2)


def pair_statistic(release: Release) -> UStatistic:
    """The mean of a kernel over all pairs of people, from the pairs that answered.

    Its interval for these records accounts for the noise and the random choice of pairs; that for the population for
    the sampling of people, too. Whether a pair answers is assumed not to depend on values.

    Raises:
        TypeError: the release is about something else than pairs.
    """
    law: Law = release.plan.law
    known, values, privacy = require_pair_law(law), release.values, build_privacy_statement([release])
    planned = release.plan.query.pairing.compute_expected_overlaps(known.people).pairs  # type: ignore[attr-defined]
    notes = [f"{known.pairs} pairs of about {planned:.0f} came"] if known.pairs < 0.99 * planned else []

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        require_independent(privacy, population)
        return find_pair_interval(known, values, level, population=population)

    least, most = (float(known.step * end) for end in (known.least, known.most))
    return UStatistic(
        estimate_pair_mean(known, values), 0.0, find_endpoints, privacy, tuple(notes), least, most, known.pairs
    )


def estimate_auc(statistic: UStatistic, people: int, positives: int) -> UStatistic:
    """The area under the ROC curve from the mean of `AUC`'s kernel, where the number of positives is public.

    A part ``2 p (n - p) / (n (n - 1))`` of all pairs is of two classes; a tie of scores counts one half.

    Raises:
        TypeError: `statistic` is no statistic, or a number is not whole.
        ValueError: there are no positives, or no negatives.
    """
    require_type("statistic", statistic, UStatistic, "a U-statistic")
    everybody, some = require_integer("people", people), require_integer("positives", positives)
    if not 0 < some < everybody:
        raise InvalidArgument("positives", "at least one positive and one negative person are needed")
    scale = everybody * (everybody - 1) / (4 * some * (everybody - some))

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        low, high = statistic.interval_function(level, population)
        return 0.5 + scale * low, 0.5 + scale * high

    return replace(
        statistic, value=0.5 + scale * statistic.value, interval_function=find_endpoints, least=0.0, most=1.0
    )
