"""Confidence intervals of means over pairs of people (incomplete U-statistics), from released noisy sums.

A kernel is a symmetric function of two people's values. Its mean over all pairs is a U-statistic of degree two
(Hoeffding 1948). The released sums are over m random pairs.

    pair_statistic            release -> `UStatistic`: estimate with intervals
    estimate_among_passing    the mean over the people who meet a condition, if their number is public
    estimate_auc              the area under the ROC curve, from the mean of the kernel `AUC`

The mean over m pairs has the variance

    (one_shared * zeta1 + both_shared * zeta2) / m**2                       see `Overlaps.variance`

where zeta1 is the variance of the kernel's conditional mean given one person, zeta2 the variance of the kernel, and
`one_shared` and `both_shared` count ordered couples of pairs by the people in common. Zeta1 is bounded by released
products of answers, zeta2 by the range of the kernel. The interval assumes the largest variance within these bounds:

    estimate +- z * sqrt(largest variance)          with z**2 pseudo-observations, half at each end of the range

It is for the population from which the people are a sample. For the mean over these people themselves, the variance
that their sampling causes (`all_pairs_variance`) is subtracted.

Formal guarantees: everything here is computed from released numbers and public facts, without records, so nothing is
lost beyond the release (post-processing).

References: Hoeffding 1948; Blom 1976 (incomplete U-statistics); Agresti and Coull 1998; Bhatia and Davis 2000.

>>> bounds = _VarianceBounds(independent_variance=0.0, zeta1=(0.0, 0.1), zeta2=0.25)
>>> list(bounds.list_corners())  # zeta1 and zeta2
[(0.0, 0.0), (0.0, 0.25), (0.1, 0.2), (0.1, 0.25)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from dpcurves.arguments import InvalidArgument, require_integer, require_type
from dpcurves.conversation import Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.question import build_privacy_statement, require_independent
from dpcurves.distributions import OutputDistribution

from .queries import PairAnswers, PairDistribution, PairSum, all_pairs_variance


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the intervals of means over pairs."""

    doubt_z: float = 2.0
    """Half-width of the confidence interval for zeta 1, in standard deviations of its estimate from products; 2 covers
    about 95 %, as if the estimate were normal."""


TUNING = Tuning()
"""The numbers in use for intervals of means over pairs; `Tuning` says what each changes."""


def pair_statistic(release: Release) -> UStatistic:
    """Return the estimated mean of a kernel over all pairs of people, from the pairs that answered.

    The interval for these records accounts for noise and the random choice of pairs; the interval for the population
    also accounts for the sampling of people. Whether a pair answers is assumed not to depend on values.

    Args:
        release: A release about pairs: noisy sums over the pairs that answered.

    Returns:
        The U-statistic in units of the kernel, with intervals. A note says so if fewer than 99 % of the planned pairs
        answered.

    Raises:
        TypeError: the release is not about pairs.
    """
    distribution: OutputDistribution = release.plan.distribution
    pair_distribution = require_pair_distribution(distribution)
    values = release.values
    privacy = build_privacy_statement([release])
    planned = release.plan.query.pairing.compute_expected_overlaps(pair_distribution.people).pairs  # type: ignore[attr-defined]
    notes = (
        [f"{pair_distribution.pairs} of about {planned:.0f} pairs answered"]
        if pair_distribution.pairs < 0.99 * planned
        else []
    )

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return lower and upper endpoint of the interval for these people or for the population.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these people.

        Returns:
            Lower and upper endpoint, in units of the kernel.

        Raises:
            ValueError: `population` is true, and the people are dependent.
        """
        require_independent(privacy, population)
        return find_pair_interval(pair_distribution, values, level, population=population)

    minimum, maximum = (
        float(pair_distribution.step * value) for value in (pair_distribution.minimum, pair_distribution.maximum)
    )
    return UStatistic(
        value=estimate_pair_mean(pair_distribution, values),
        resolution=0.0,
        interval_function=find_endpoints,
        privacy=privacy,
        notes=tuple(notes),
        minimum=minimum,
        maximum=maximum,
        pairs=pair_distribution.pairs,
    )


def estimate_among_passing(statistic: UStatistic, people: int, passing: int) -> UStatistic:
    """Return the mean of a kernel over the pairs that meet its condition, if the number of people who do is public.

    A pair counts 0 if one person fails the condition (see `Kernel.with_filter`), and a fraction
    ``m (m - 1) / (n (n - 1))`` of all pairs of n people are pairs of the m who pass.

    Args:
        statistic: Mean over all pairs, of a kernel with a condition.
        people: Public number n of people.
        passing: Public number m of people who meet the condition, from 2 to n.

    Returns:
        The scaled U-statistic. Value and interval endpoints are clipped to the kernel's range.

    Raises:
        TypeError: `statistic` is not a U-statistic, or a number is not an integer.
        ValueError: fewer than two people pass, more than all, or the kernel has no condition.
    """
    require_type("statistic", statistic, UStatistic, "a U-statistic")
    people_count = require_integer("people", people)
    passing_count = require_integer("passing", passing)
    if not statistic.privacy.where:
        raise InvalidArgument("statistic", 'must be of a kernel with a condition, as kernel.with_filter("age >= 65")')
    if not 2 <= passing_count <= people_count:
        raise InvalidArgument(
            "passing", "must be the public number of people who pass the condition, from 2 to the number of people"
        )
    scale = people_count * (people_count - 1) / (passing_count * (passing_count - 1))

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the endpoints of the mean over pairs that pass, scaled from those of all pairs.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these people.

        Returns:
            Lower and upper endpoint, clipped to the kernel's range.
        """
        low, high = statistic.interval_function(level, population)
        return max(scale * low, statistic.minimum), min(scale * high, statistic.maximum)

    value = min(max(scale * statistic.value, statistic.minimum), statistic.maximum)
    return replace(statistic, value=value, interval_function=find_endpoints)


def estimate_auc(statistic: UStatistic, people: int, positives: int) -> UStatistic:
    """Return the area under the ROC curve from the mean of the kernel `AUC`, if the number of positives is public.

    The kernel is 0 for two people of one class; otherwise 1 if the positive one has the higher score, -1 if the lower,
    0 for a tie. A fraction ``2 p (n - p) / (n (n - 1))`` of all pairs has two different classes, so the area is one
    half plus the mean divided by twice this fraction; a tie of scores counts one half.

    Args:
        statistic: Mean of the kernel `AUC` over all pairs, from -1 to 1.
        people: Public number n of people.
        positives: Public number p of people of the positive class, at least 1 and below n.

    Returns:
        The area, 0.5 for scores that say nothing. Noise may move it and its interval out of [0, 1].

    Raises:
        TypeError: `statistic` is not a U-statistic, or a number is not an integer.
        ValueError: there are no positives, or no negatives.
    """
    require_type("statistic", statistic, UStatistic, "a U-statistic")
    people_count = require_integer("people", people)
    positive_count = require_integer("positives", positives)
    if not 0 < positive_count < people_count:
        raise InvalidArgument(
            "positives",
            "must be the number of people of the positive class, at least 1 and fewer than all people; correct it",
        )
    scale = people_count * (people_count - 1) / (4 * positive_count * (people_count - positive_count))

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the endpoints of the area under the curve, mapped from those of the kernel's mean.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these people.

        Returns:
            Lower and upper endpoint; they may lie outside 0 to 1.
        """
        low, high = statistic.interval_function(level, population)
        return 0.5 + scale * low, 0.5 + scale * high

    return replace(
        statistic, value=0.5 + scale * statistic.value, interval_function=find_endpoints, minimum=0.0, maximum=1.0
    )


class _AnswerSums(NamedTuple):
    """The integers that `PairAnswers` releases.

    Attributes:
        answers: Sum of the pairs' noisy answers.
        squares: Sum of their squares.
        products: Sum of the products of two answers, over unordered couples of pairs with one person in common.
    """

    answers: int
    squares: int
    products: int


class _VarianceBounds(NamedTuple):
    """Bounds on the variance components of a mean over pairs.

    Attributes:
        independent_variance: Variance of the mean if pairs shared no people: noise and the kernel's own variance.
        zeta1: Lower and upper bound on the variance of the kernel's conditional mean given one person.
        zeta2: Upper bound on the variance of the kernel.
    """

    independent_variance: float
    zeta1: tuple[float, float]
    zeta2: float

    def list_corners(self) -> Iterator[tuple[float, float]]:
        """Yield the values of zeta 1 and zeta 2 at the corners of the region that the bounds allow.

        A variance is linear in both, and is therefore largest at a corner. Zeta 2 is at least twice zeta 1, because the
        kernel's variance is the sum of zeta 1 for each of two people and of the variance of their interaction
        (Hoeffding's decomposition).
        """
        for zeta1 in self.zeta1:
            yield zeta1, 2 * zeta1
            yield zeta1, max(self.zeta2, 2 * zeta1)


def require_pair_distribution(distribution: OutputDistribution) -> PairDistribution:
    """Return the distribution unchanged, after checking that it is of a release about pairs of people.

    Raises:
        TypeError: the release is about something else.
    """
    return distribution.require_type(PairDistribution)  # type: ignore[type-abstract]


def estimate_pair_mean(distribution: PairDistribution, values: Sequence[int]) -> float:
    """Return the unbiased estimate of the kernel's mean over all pairs of people, in units of the kernel.

    Args:
        distribution: Distribution of the released numbers, with the number of pairs that answered.
        values: The released numbers. Only the first is used: the noisy sum of the pairs' values.

    Returns:
        The estimate, which noise may move out of the kernel's range; the middle of that range if no pair answered.
    """
    if not distribution.pairs:
        return float(distribution.step * (distribution.minimum + distribution.maximum) / 2)
    return float(distribution.step) * distribution.debias(values[0] / distribution.pairs)


def find_pair_interval(
    distribution: PairDistribution, values: Sequence[int], level: float, *, population: bool
) -> tuple[float, float]:
    """Return an interval for the kernel's mean over all pairs, with coverage of about `level`.

    The interval accounts for noise and for the choice of pairs; with `population`, also for the sampling of people.
    With z the normal quantile of the level, z**2 pseudo-observations are added, half of them at each end of the
    kernel's range (Agresti and Coull 1998), so that the interval is not too short if nearly all pairs agree. Two pairs
    with a person in common are correlated. Their covariance is estimated from released products of answers, plus and
    minus `doubt_z` standard errors; if no products were released, the worst case is assumed.

    Args:
        distribution: Distribution of the released numbers.
        values: The released numbers.
        level: Confidence level, between 0 and 1.
        population: True: for the mean of the population; False: for the mean over all pairs of these people.

    Returns:
        Lower and upper endpoint, in units of the kernel, clipped to its range; the whole range if no pair answered.
    """
    if not distribution.pairs:
        return float(distribution.step * distribution.minimum), float(distribution.step * distribution.maximum)
    if distribution.has_pair_answers:
        sums = _AnswerSums(*values)
        centre, radius = _interval_from_answers(distribution.require_type(PairAnswers), sums, level, population)
    else:
        centre, radius = _interval_from_sum(distribution.require_type(PairSum), values[0], level, population)
    endpoints = (
        min(max(endpoint, distribution.minimum), distribution.maximum)
        for endpoint in (centre - radius, centre + radius)
    )
    low, high = (float(distribution.step) * endpoint for endpoint in endpoints)
    return low, high


def _interval_from_answers(
    distribution: PairAnswers, sums: _AnswerSums, level: float, population: bool
) -> tuple[float, float]:
    """Return centre and half-width of the interval, from sums of answers with noise each (`release_answers`).

    Args:
        distribution: Distribution of the released numbers.
        sums: The released sums.
        level: Confidence level, between 0 and 1.
        population: True: for the mean of the population; False: over these people.

    Returns:
        Centre and half-width, in the kernel's integers, before clipping.
    """
    z_squared = _squared_normal_quantile(level)
    total_count = distribution.pairs + z_squared
    # Mean answers of pairs at both ends of the range. `gain` is the change of the mean answer per unit of the kernel.
    end_answers = [
        float(distribution.offset + distribution.gain * value) for value in (distribution.minimum, distribution.maximum)
    ]
    mean = (sums.answers + z_squared / 2 * sum(end_answers)) / total_count
    mean_square = (sums.squares + z_squared / 2 * (end_answers[0] ** 2 + end_answers[1] ** 2)) / total_count
    variance = mean_square - mean**2
    gain = float(distribution.gain)
    zeta2 = min(_bound_zeta2(distribution, distribution.debias(mean)) * gain**2, variance)
    bounds = _VarianceBounds(variance / total_count, _bound_zeta1(distribution, sums, variance, zeta2), zeta2)
    return distribution.debias(mean), sqrt(z_squared * _bound_variance(distribution, bounds, population)) / gain


def _squared_normal_quantile(level: float) -> float:
    """Return z**2, where a standard normal variable is within z of 0 with probability `level`. It is also the number of
    pseudo-observations."""
    return float(ndtri((1 + level) / 2)) ** 2


def _bound_zeta1(
    distribution: PairDistribution, sums: _AnswerSums, variance: float, zeta2: float
) -> tuple[float, float]:
    """Return bounds on the variance of answers' conditional means given one person, from products of answers.

    Zeta 1 is the covariance of two pairs with one person in common, and at most half of zeta 2.

    Args:
        distribution: Distribution of the released numbers, with the numbers of overlaps.
        sums: The released sums.
        variance: Estimated variance of one answer.
        zeta2: Upper bound on the variance of the kernel, in squared units of an answer.

    Returns:
        Lower and upper bound, in squared units of an answer; 0 and zeta2 / 2 if no two pairs share exactly one person.
    """
    if not distribution.one_shared:
        return 0.0, zeta2 / 2
    couple_count = distribution.one_shared / 2  # unordered couples of pairs with exactly one person in common
    covariance = sums.products / couple_count - (sums.answers / distribution.pairs) ** 2
    # Standard error of the mean product, as if the answers of different pairs were uncorrelated.
    margin = TUNING.doubt_z * variance / sqrt(couple_count)
    return min(max(covariance - margin, 0.0), zeta2 / 2), min(max(covariance + margin, 0.0), zeta2 / 2)


def _interval_from_sum(distribution: PairSum, noisy_sum: int, level: float, population: bool) -> tuple[float, float]:
    """Return centre and half-width of the interval, from one sum with Laplace noise (`release_sum`).

    Args:
        distribution: Distribution of the released number.
        noisy_sum: The released sum of the kernel over all pairs.
        level: Confidence level, between 0 and 1.
        population: True: for the mean of the population; False: over these people.

    Returns:
        Centre and half-width, in the kernel's integers, before clipping.
    """
    z_squared = _squared_normal_quantile(level)
    total_count = distribution.pairs + z_squared
    mean = (noisy_sum + z_squared / 2 * (distribution.minimum + distribution.maximum)) / total_count
    zeta2 = _bound_zeta2(distribution, mean)
    variance = _bound_variance(distribution, _VarianceBounds(zeta2 / total_count, (0.0, zeta2 / 2), zeta2), population)
    return mean, _absolute_quantile(1 / float(distribution.rate) / total_count, sqrt(variance), level)


def _bound_zeta2(distribution: PairDistribution, mean: float) -> float:
    """Return an upper bound of zeta2, the variance of a single pair's value, given the mean (Bhatia and Davis 2000).

    Args:
        distribution: Distribution with the kernel's least and largest value.
        mean: Mean of the values, in the kernel's integers; clipped to the range.
    """
    clipped_mean = min(max(mean, distribution.minimum), distribution.maximum)
    return (clipped_mean - distribution.minimum) * (distribution.maximum - clipped_mean)


def _bound_variance(distribution: PairDistribution, bounds: _VarianceBounds, population: bool) -> float:
    """Return the largest variance of the mean over pairs, within bounds on its components; at least 0.

    Args:
        distribution: Distribution with the numbers of people, pairs and overlaps.
        bounds: Bounds on the variance components.
        population: False: the variance that the sampling of people causes is subtracted.
    """
    largest = 0.0
    for zeta1, zeta2 in bounds.list_corners():
        shared = (
            distribution.one_shared * zeta1 + (distribution.both_shared - distribution.pairs) * zeta2
        ) / distribution.pairs**2
        people_variance = 0.0 if population else all_pairs_variance(distribution.people, zeta1, zeta2)
        largest = max(largest, bounds.independent_variance + shared - people_variance)
    return largest


def _absolute_quantile(scale: float, deviation: float, level: float) -> float:
    """Return the quantile at `level` of the absolute value of Laplace noise plus a centred normal variable.

    Args:
        scale: Scale of the Laplace noise.
        deviation: Standard deviation of the normal variable.
        level: Probability, between 0 and 1.
    """
    # Laplace noise exceeds 40 scales with probability exp(-40), a normal variable 10 deviations with 1e-23: quantiles
    # of all levels that differ from 1 as doubles lie below their sum.
    upper_bound = 40 * scale + 10 * deviation
    return float(
        brentq(
            lambda radius: 2 * _laplace_normal_cdf(radius, scale, deviation) - 1 - level,
            0.0,
            upper_bound,
            xtol=1e-12 * upper_bound,
        )
    )


def _laplace_normal_cdf(reach: float, scale: float, deviation: float) -> float:
    """Return the probability that Laplace noise plus a centred normal variable is below `reach`.

    Args:
        reach: Upper end, not negative.
        scale: Scale of the Laplace noise.
        deviation: Standard deviation of the normal variable.
    """
    if deviation < 1e-9 * scale:  # the normal part is negligible, and would be divided by below
        return 1 - float(np.exp(-reach / scale)) / 2
    z = reach / deviation
    tilt = deviation / scale
    # The normal distribution function plus half the difference of two products of an exponential and a normal tail: in
    # logarithms, since an exponential may overflow where its tail underflows.
    tails = [sign * reach / scale + tilt**2 / 2 + log_ndtr(-sign * z - tilt) for sign in (1, -1)]
    return float(ndtr(z) + (np.exp(tails[0]) - np.exp(tails[1])) / 2)
