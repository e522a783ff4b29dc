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

from dpcurves.arguments import Refused, require_kind, whole
from dpcurves.conversation import Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.question import require_independent, statement_of
from dpcurves.laws import Law

from .queries import PairAnswers, PairLaw, PairSum, variance_of_all

DOUBT = 2.0
"""So many standard deviations of what the products of answers say is allowed for."""


class _Spread(NamedTuple):
    """The scatter of a mean: variances of a kernel given one person, and both, of which only bounds are known.

    Attributes:
        own: The variance of the mean if pairs had nobody in common: noise, and the kernel's own.
        one: The variance of the kernel's mean given one person: bounds.
        both: The variance of the kernel: the most that it can be.
    """

    own: float
    one: tuple[float, float]
    both: float

    def corners(self) -> Iterator[tuple[float, float]]:
        """The places where a function linear in both has its largest value. A kernel varies twice as much as given one
        person.
        """
        for one, both in product(self.one, (0.0, self.both)):
            yield one, max(both, 2 * one)


def pair_law(law: Law) -> PairLaw:
    """A law about pairs of people, as such. Raises `TypeError` for another."""
    return law.required(PairLaw)  # type: ignore[type-abstract]


def pair_mean(law: PairLaw, values: Sequence[int]) -> float:
    """The unbiased mean; where no pair came, the middle of what it can be."""
    if not law.pairs:
        return float(law.step * (law.least + law.most) / 2)
    return float(law.step) * law.debiased(values[0] / law.pairs)


def pair_interval(law: PairLaw, values: Sequence[int], level: float, *, population: bool) -> tuple[float, float]:
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
    if law.is_answered:
        middle, reach = _of_answers(law.required(PairAnswers), values, added, population)
    else:
        middle, reach = _of_sum(law.required(PairSum), values[0], added, level, population)
    ends = (min(max(end, law.least), law.most) for end in (middle - reach, middle + reach))
    low, high = (float(law.step) * end for end in ends)
    return low, high


def _of_answers(law: PairAnswers, values: Sequence[int], added: float, population: bool) -> tuple[float, float]:
    gain, number = float(law.gain), law.pairs + added
    ends = [float(law.offset + law.gain * end) for end in (law.least, law.most)]
    mean = (values[0] + added / 2 * sum(ends)) / number
    square = (values[1] + added / 2 * (ends[0] ** 2 + ends[1] ** 2)) / number - mean**2
    both = min(_most_varied(law, law.debiased(mean)) * gain**2, square)
    spread = _Spread(square / number, _given_one(law, values, square, both), both)
    return law.debiased(mean), sqrt(added * _variance(law, spread, population)) / gain


def _given_one(law: PairLaw, values: Sequence[int], square: float, both: float) -> tuple[float, float]:
    """Bounds on the variance of answers' means given one person, from products of answers with one in common."""
    if not law.one:
        return 0.0, both / 2
    couples = law.one / 2
    found, doubt = values[2] / couples - (values[0] / law.pairs) ** 2, DOUBT * square / sqrt(couples)
    return min(max(found - doubt, 0.0), both / 2), min(max(found + doubt, 0.0), both / 2)


def _of_sum(law: PairSum, value: int, added: float, level: float, population: bool) -> tuple[float, float]:
    number = law.pairs + added
    mean = (value + added / 2 * (law.least + law.most)) / number
    both = _most_varied(law, mean)
    variance = _variance(law, _Spread(both / number, (0.0, both / 2), both), population)
    return mean, _reach(1 / float(law.rate) / number, sqrt(variance), level)


def _most_varied(law: PairLaw, mean: float) -> float:
    """The largest variance of values of this mean, in their range (Bhatia and Davis 2000)."""
    inside = min(max(mean, law.least), law.most)
    return (inside - law.least) * (law.most - inside)


def _variance(law: PairLaw, spread: _Spread, population: bool) -> float:
    """The largest variance of the mean that the bounds allow: that of pairs, and without `population` less people's."""
    found = 0.0
    for one, both in spread.corners():
        shared = (law.one * one + (law.both - law.pairs) * both) / law.pairs**2
        people = 0.0 if population else variance_of_all(law.people, one, both)
        found = max(found, spread.own + shared - people)
    return found


def _reach(scale: float, deviation: float, level: float) -> float:
    """The largest absolute sum of Laplace noise and a normal number, with this chance."""
    far = 40 * scale + 10 * deviation
    return float(brentq(lambda reach: 2 * _below(reach, scale, deviation) - 1 - level, 0.0, far, xtol=1e-12 * far))


def _below(reach: float, scale: float, deviation: float) -> float:
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
    known, values, privacy = pair_law(law), release.values, statement_of([release])
    planned = release.plan.query.pairing.overlaps(known.people).pairs  # type: ignore[attr-defined]
    notes = [f"{known.pairs} pairs of about {planned:.0f} came"] if known.pairs < 0.99 * planned else []

    def ends(level: float, population: bool) -> tuple[float, float]:
        require_independent(privacy, population)
        return pair_interval(known, values, level, population=population)

    least, most = (float(known.step * end) for end in (known.least, known.most))
    return UStatistic(pair_mean(known, values), 0.0, ends, privacy, tuple(notes), least, most, known.pairs)


def area_of(found: UStatistic, people: int, positives: int) -> UStatistic:
    """The area under the ROC curve from the mean of `AUC`'s kernel, where the number of positives is public.

    A part ``2 p (n - p) / (n (n - 1))`` of all pairs is of two classes; a tie of scores counts one half.

    Raises:
        TypeError: `found` is no statistic, or a number is not whole.
        ValueError: there are no positives, or no negatives.
    """
    require_kind("found", found, UStatistic, "a U-statistic")
    everybody, some = whole("people", people), whole("positives", positives)
    if not 0 < some < everybody:
        raise Refused("positives", "at least one positive and one negative person are needed")
    scale = everybody * (everybody - 1) / (4 * some * (everybody - some))

    def ends(level: float, population: bool) -> tuple[float, float]:
        low, high = found.level_of(level, population)
        return 0.5 + scale * low, 0.5 + scale * high

    return replace(found, value=0.5 + scale * found.value, level_of=ends, least=0.0, most=1.0)
