"""Confidence intervals of noisy statistics: shares, counts, sums, means, variances, differences, largest values.

In: released noisy numbers, and draws of their noise, which has a public distribution. Out: lower and upper endpoints of
a confidence interval at `level`, in the unit of the number.

Most intervals invert a test, as Fieller's interval of a ratio does. A *contrast* of a number m is a linear combination
of the released numbers that is 0, without noise, if m is the true number. m is accepted if its contrast lies within the
quantile `level` of the contrast's simulated errors (Fieller 1954), and the interval consists of all accepted m. So no
distribution of a ratio of noisy numbers is needed:

    share s          (1 - s) * positives - s * negatives
    mean m           sum of values - m * count
    count            released count - m, with a binomial or Poisson distribution (near Clopper and Pearson 1934)

The interval is *for these records* if errors are noise alone, and *for the population* that the records were drawn from
if errors are noise plus sampling. Functions take standard normal or Student draws for sampling, or None without.

- Variances (`ReleasedMoments.variance_ends`): if values lie between bounds, squared distances from the mean are at most
  c and have a variance of at most ``v * (c - v)`` (Bhatia and Davis 2000).
- Differences (`subtract_estimates`): distances from the estimates to their endpoints add up in squares (Zou and Donner
  2008).
- Largest absolute values (`largest_absolute_interval`): numbers that cannot be the largest do not widen it.
- Numbers of subsets (`count_interval`): exact distributions of binomial sampling plus noise.

Formal guarantees: intervals are functions of released numbers and of simulations from public ones, so they cost no
budget (post-processing).

>>> first, second = IntervalEstimate(0.8, lower=0.77, upper=0.83), IntervalEstimate(0.7, lower=0.66, upper=0.74)
>>> [round(end, 3) for end in subtract_estimates(first, second)[:3]]  # value, lower and upper end of the difference
[0.1, 0.05, 0.15]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..distributions import Family, Noise
from .bands import basic_interval, largest_studentised, upper_quantile, upper_quantiles
from .groups import GroupCounts, GroupNoise

# Search for the ends of an interval: the distances from an estimate at which a test begins to reject.


Excess = Callable[[FloatArray], FloatArray]


def find_accepted_ends(excess: Excess, inside: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """Return the lower and upper endpoints, (..., 2), of the numbers around `inside` whose excess is not above 0.

    Args:
        excess: Function from numbers (...) to by how much the test rejects them, (...); accepted if not above 0.
        inside: Accepted numbers, (...), from which bisection starts.
        least: Smallest possible numbers, (...), which are the lower endpoints if accepted.
        most: Largest possible numbers, (...), which are the upper endpoints if accepted.
    """
    return np.stack([_search_end(excess, inside, least), _search_end(excess, inside, most)], axis=-1)


def invert_contrast_test(  # noqa: PLR0917
    contrast: Excess, errors: Excess, level: float, inside: FloatArray, least: FloatArray, most: FloatArray
) -> FloatArray:
    """Return the endpoints of the numbers that noisy counts do not contradict, from `least` to `most`: (..., 2).

    A number is accepted if its contrast, which is 0 for the true number without noise, is within the quantile `level`
    of the absolute simulated errors (Fieller 1954). So no distribution of a ratio of noisy numbers is needed.

    Args:
        contrast: The released contrast at a number: (...).
        errors: Simulated errors of the contrast at a number: (draws, ...).
        level: The coverage probability of each interval.
        inside: Accepted numbers, (...).
        least: Lower bounds of the numbers, (...).
        most: Upper bounds of the numbers, (...).
    """

    def excess(number: FloatArray) -> FloatArray:
        """Return by how much a candidate number is rejected: its absolute contrast minus the quantile of simulated
        absolute errors.

        Args:
            number: Candidate numbers, (...).

        Returns:
            Excesses, (...); at most 0 where accepted.
        """
        return np.asarray(np.abs(contrast(number)) - upper_quantiles(np.abs(errors(number)), level))

    return find_accepted_ends(excess, inside, least, most)


def _search_end(excess: Excess, inside: FloatArray, end: FloatArray) -> FloatArray:
    """Return where a test stops to accept, on the way from an accepted point to a bound, by 24 bisections.

    Args:
        excess: Function of points that is at most 0 where the test accepts.
        inside: Accepted points, (...).
        end: Bounds, (...).

    Returns:
        A rejected point within 2**-24 of the distance from the last accepted one; the bound if it is accepted itself,
        (...).
    """
    near, far = inside, end
    # bisection steps
    for _ in range(24):
        middle = (near + far) / 2
        holds = excess(middle) <= 0
        near = np.where(holds, middle, near)
        far = np.where(holds, far, middle)
    return np.where(excess(end) <= 0, end, far)


# Intervals for shares and numbers of positives, one group at a time.


@dataclass(frozen=True, slots=True)
class Tuning:
    """Constants of the intervals of counts, sums and means."""

    variance_error_share: float = 1 / 10
    """Fraction of the error probability of an interval of a mean, or a sum, that is spent on an upper bound of its
    variance; the mean itself gets the other 9/10.
    """
    search_z: float = 12.0
    """Standard deviations of sampling. A search for the upper end of a count stops at the count, plus the largest
    noise, plus this many standard deviations, plus a margin for small counts.
    """


TUNING = Tuning()
"""The values that all intervals of counts, sums and means use."""


def share_intervals(groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Return confidence intervals for the share of positives of each group, each at confidence `level`: (groups, 2),
    in [0, 1].

    The contrast of a share s is ``(1 - s) * positives - s * negatives``, which is 0 at the true share; the interval has
    all shares whose contrast noise explains. The coverage therefore holds in small groups as in large ones; a group
    that may be empty has the interval from 0 to 1. For the population, sampling moves the contrast as well: for n
    records by a binomial distribution, whose quantiles are computed from `normal` with a correction for its skewness
    (Cornish and Fisher 1938).

    Counts below zero are clipped to zero, which never moves the contrast away from 0.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of the release.
        normal: Standard normal draws for sampling, (draws, groups); None: for these records.
        level: The coverage probability of each interval.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    positive = np.maximum(groups.positive, 0.0)
    negative = np.maximum(groups.negative, 0.0)
    size = positive + negative
    inside = np.divide(positive, size, out=np.full(size.shape, 0.5), where=size > 0)
    return invert_contrast_test(
        lambda share: (1 - share) * positive - share * negative,
        lambda share: (1 - share) * noise.positive - share * noise.negative
        + _simulate_sampled_positives(size, share, normal),
        level, inside, np.zeros_like(inside), np.ones_like(inside),
    )  # fmt: skip


def positive_intervals(groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Return confidence intervals for the number of positives of each group, each at confidence `level`: (groups,
    2), not below 0.

    For the population: the expected positives among as many records.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of the release.
        normal: Standard normal draws for sampling, (draws, groups); None: for these records.
        level: The coverage probability of each interval.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    positive = np.maximum(groups.positive, 0.0)
    size = np.maximum(positive + np.maximum(groups.negative, 0.0), 1.0)
    return invert_contrast_test(
        lambda expected: positive - expected,
        lambda expected: noise.positive + _simulate_sampled_positives(size, np.clip(expected / size, 0.0, 1.0), normal),
        level, positive, np.zeros_like(positive),
        positive + np.abs(noise.positive).max(axis=0) + TUNING.search_z * (np.sqrt(size) + 1),
    )  # fmt: skip


def mean_intervals(counts: FloatArray, noise: FloatArray, normal: FloatArray, units: float, level: float) -> FloatArray:
    """Return confidence intervals for means of counts over samples of this size, each at `level`: (counts, 2), not
    below 0.

    A mean m is accepted if noise and sampling together move a count of ``m * units`` up to the released count with more
    than half of the error probability, and likewise down. The sampling distribution is the distribution of
    `share_intervals`, widened by half a record: without noise the interval is the Clopper-Pearson interval (1934), up
    to a fraction of a record. If the number of units is unknown, counts have a Poisson distribution, whose variance is
    larger than with any number of units.

    Args:
        counts: Unbiased released counts, (counts,).
        noise: Their simulated noise, (draws, counts).
        normal: Standard normal draws for sampling, of the same shape.
        units: The approximate number of units; infinite: unknown.
        level: The coverage probability of each interval.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    coverage_each_side = (1 + level) / 2

    def excess(mean: FloatArray) -> FloatArray:
        """Return by how much candidate means are rejected: distance from the released count minus the quantile of
        errors by noise and sampling.

        Args:
            mean: Candidate means, (counts,), in records.

        Returns:
            Excesses in records, (counts,); at most 0 where accepted.
        """
        errors = noise + _simulate_binomial(mean, np.clip(mean / units, 0.0, 1.0), normal)
        up = upper_quantiles(errors, coverage_each_side)
        down = upper_quantiles(-errors, coverage_each_side)
        return np.maximum(counts - mean - up, mean - counts - down) - 0.5  # records

    inside = np.clip(counts, 0.0, units)
    most = np.minimum(inside + np.abs(noise).max(axis=0) + TUNING.search_z * (np.sqrt(inside) + TUNING.search_z), units)
    return find_accepted_ends(excess, inside, np.zeros_like(inside), most)


def residual_envelope(groups: GroupCounts, noise: GroupNoise, normal: FloatArray, level: float) -> FloatArray:
    """Return bounds, (groups,), on absolute mean residuals, each at `level`, if the model is right.

    The residual of a record of prediction p has variance ``p * (1 - p)``. Because that is concave in p, the mean over a
    group is at most the variance at the mean prediction. The noise of the sum of residuals adds to it.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of the release.
        normal: Standard normal draws for sampling, (draws, groups).
        level: The probability for each group.
    """
    count = np.maximum(groups.count, 1.0)
    errors = noise.residual_sum(groups.middle) + _simulate_sampled_positives(count, groups.mean, normal)
    return np.minimum(upper_quantiles(np.abs(errors), level) / count, 1.0)


def _simulate_sampled_positives(size: FloatArray, share: FloatArray, normal: FloatArray | None) -> FloatArray:
    """Simulate sampling errors of the number of positives of each group; zero without `normal`.

    Args:
        size: Number of records of each group, (groups,).
        share: Share of positives of each group, in [0, 1], (groups,).
        normal: Standard normal draws, (draws, groups); None: no sampling.

    Returns:
        Errors in records, (draws, groups).
    """
    return np.zeros(1) if normal is None else _simulate_binomial(size * share, share, normal)


def _simulate_binomial(mean: FloatArray, share: FloatArray, normal: FloatArray) -> FloatArray:
    """Simulate deviations of binomial counts from their mean, from standard normal draws with a correction for skewness
    (Cornish-Fisher).

    Args:
        mean: Means of the counts.
        share: Success probabilities, of shapes that broadcast; 0 for Poisson counts.
        normal: Standard normal draws, draws first.

    Returns:
        Deviations in records, of the shape of `normal`.
    """
    return normal * np.sqrt(mean * (1 - share)) + (normal**2 - 1) * (1 - 2 * share) / 6


# Intervals of a count, a sum, a mean and a variance, from noisy sums of values that lie between -1 and 1.


Ends = tuple[float, float]
Errors = Callable[[], FloatArray]
KNOWN_PROBABILITY = 0.95
"""Probability with which the noise of an empty table must stay below a count. Otherwise the count may be noise alone,
and ratios with this denominator are unknown."""
INTEGER_TOLERANCE = 1e-6
"""Records: rounding error of a whole number in double precision, so that 2.9999999 counts as 3."""

LARGEST_UNIT_VARIANCE = 2.0
"""Squared half ranges: largest variance, with divisor n - 1, of values between -1 and 1: two records, one at each end.
A larger estimate is clipped to it."""


class SquareScatter(NamedTuple):
    """Counts of cells between -1 and 1, which bound the variance of squared distances from the mean.

    Attributes:
        edges: The edges of the cells, (cells + 1,).
        counts: Unbiased counts, (cells,).
        noise: Simulated noise, (draws, cells).
        normal: Standard normal draws for sampling, (draws, cells).
    """

    edges: FloatArray
    counts: FloatArray
    noise: FloatArray
    normal: FloatArray

    def bound_fourth_moment(self, means: FloatArray, count: float, level: float) -> float:
        """Return an upper confidence limit of the population's fourth central moment, from noisy counts of cells.

        Each record is moved to the end of its cell that is farther from the mean. The sampling standard deviation of a
        count is its root, and 1 for an empty cell.

        Args:
            means: Draws of the mean, (draws,).
            count: The number of records.
            level: The approximate probability that the moment is not above the limit.
        """
        distances = np.abs(self.edges - means[:, None])
        weights = np.maximum(distances[:, :-1], distances[:, 1:]) ** 4
        sampling_error = self.normal * np.sqrt(np.maximum(self.counts, 0.0) + 1)
        return upper_quantile((weights * (self.counts - self.noise + sampling_error)).sum(axis=1), level) / count


class Moments(NamedTuple):
    """Noisy sums over the records of 1, x and x**2; or simulated noise of these sums, each of shape (draws,).

    Released sums have the shape (). Values x were shifted and scaled to between -1 and 1 before they were summed.

    Attributes:
        records: Sum of 1: the number of records with a value.
        sum_of_values: Sum of x.
        sum_of_squares: Sum of x**2; None if squares were not released.
    """

    records: FloatArray
    sum_of_values: FloatArray
    sum_of_squares: FloatArray | None

    @property
    def mean(self) -> FloatArray:
        """Mean of the values, in units in which they lie between -1 and 1; 0 if the count is not positive."""
        has_records = self.records > 0
        return np.asarray(
            np.clip(np.divide(self.sum_of_values, np.where(has_records, self.records, 1)) * has_records, -1.0, 1.0)
        )

    @property
    def variance(self) -> FloatArray:
        """Variance of the values, with divisor n - 1 for a count of at least 2, clipped to between 0 and
        `LARGEST_UNIT_VARIANCE`; NaN if squares were not released.
        """
        return np.asarray(np.clip(self.unbounded_variance, 0.0, LARGEST_UNIT_VARIANCE))

    @property
    def unbounded_variance(self) -> FloatArray:
        """Unbiased variance of the values, with divisor n - 1, before clipping; it may be below 0, because of noise."""
        if self.sum_of_squares is None:
            return np.full(np.shape(self.records), np.nan)
        count = np.maximum(self.records, 2.0)
        return np.asarray((self.sum_of_squares - self.sum_of_values**2 / count) / (count - 1))


class ReleasedMoments(NamedTuple):
    """Released sums with their simulated noise, and the intervals that follow from them.

    The sums are of 1, x and x**2 over records with values x from -1 to 1.

    Attributes:
        released_moments: The released sums, unbiased, each of shape ().
        noise: Simulated noise of the same sums, each of shape (draws,).
    """

    released_moments: Moments
    noise: Moments

    @property
    def minus_noise(self) -> Moments:
        """Plausible true sums: released sums minus draws of simulated noise, a bootstrap of noise."""
        released, noise = self
        sum_of_squares = None
        if released.sum_of_squares is not None and noise.sum_of_squares is not None:
            sum_of_squares = released.sum_of_squares - noise.sum_of_squares
        return Moments(released.records - noise.records, released.sum_of_values - noise.sum_of_values, sum_of_squares)

    def has_records(self, level: float) -> bool:
        """Return True if the released count of records exceeds 2 and what noise could give for an empty table, at this
        level.

        Otherwise the table may be empty, and the interval of a mean or variance is its whole possible range.

        Args:
            level: Confidence level, between 0 and 1.
        """
        noise_limit = upper_quantile(np.abs(self.noise.records), (1 + level) / 2)
        return float(self.released_moments.records) > max(2.0, noise_limit)

    def known_count(self, total: int | None) -> float:
        """Return the released number of records, clipped to between 0 and `total`.

        NaN if its interval of level `KNOWN_PROBABILITY` contains every possible number.

        Args:
            total: Public number of records, including those without a value; None: private, then it is never NaN.
        """
        count = max(float(self.released_moments.records), 0.0)
        if total is None:
            return count
        lower, upper = self.count_ends(KNOWN_PROBABILITY, total, None)
        return nan if lower <= 0 and total <= upper else min(count, float(total))

    def count_ends(self, level: float, total: float, normal: FloatArray | None) -> Ends:
        """Return the endpoints of the confidence interval of the number of records or, with `normal`, of its mean over
        samples of this size.

        Numbers of records have integer endpoints; the interval of the mean, see `mean_intervals`, contains these.

        Args:
            level: The coverage probability.
            total: The number of records, including those without a value; infinite: private.
            normal: Standard normal draws for sampling, (draws,); None: for these records.
        """
        released = self.released_moments.records
        noise = self.noise.records
        clipped = min(max(float(released), 0.0), total)
        low, high = basic_interval(clipped, noise, level)  # impossible noisy counts must not narrow the interval
        low = max(float(np.ceil(low - INTEGER_TOLERANCE)), 0.0)
        high = min(float(np.floor(high + INTEGER_TOLERANCE)), total)
        if normal is None:
            return low, high
        ends = mean_intervals(np.atleast_1d(released), noise[:, None], normal[:, None], total, level)
        return min(float(ends[0, 0]), low), max(float(ends[0, 1]), high)

    def mean_ends(self, level: float, student: FloatArray | None) -> Ends:
        """Return the endpoints of the confidence interval of the mean, in units in which values lie between -1 and 1.

        The contrast of a mean m is ``value - m * count``, which is 0 at the true mean; the interval has all means whose
        contrast the errors explain. For the population, sampling moves it as well: by the root of count times variance,
        times a draw of Student's distribution. The variance is the upper end of a one-sided interval, for which a
        fraction of the error probability is spent; if squares were not released, it is ``1 - m**2``, the largest
        variance of values between -1 and 1 with this mean (Bhatia and Davis 2000). The sampling distribution assumes
        many records: for few, very skewed records the coverage is lower.

        Args:
            level: The coverage probability.
            student: Draws of Student's distribution for sampling, (draws,); None: for these records.

        Returns:
            Lower and upper end; (-1, 1) if there may be no records.
        """
        if not self.has_records(level):
            return -1.0, 1.0
        (released, noise), (level, variance_bound) = self, self._sampling_level_and_variance(level, student)

        def errors(mean: FloatArray) -> FloatArray:
            """Return simulated errors of the contrast, value minus mean times count, by noise and, for the population,
            by sampling.

            Args:
                mean: Candidate mean, between -1 and 1.
            """
            noise_errors = noise.sum_of_values - mean * noise.records
            if student is None:
                return noise_errors
            return noise_errors + student * np.sqrt(released.records * np.minimum(variance_bound, 1 - mean**2))

        low, high = invert_contrast_test(
            lambda mean: released.sum_of_values - mean * released.records,
            errors,
            level,
            released.mean,
            np.array(-1.0),
            np.array(1.0),
        ).tolist()
        return low, high

    def sum_ends(self, level: float, student: FloatArray | None, middle: float, total: float) -> Ends:
        """Return the endpoints of the confidence interval of a sum of values, in the original units.

        Values were shifted by `middle` before they were summed, so the sum is ``value + middle * count``. For the
        population it is the mean of such sums over samples of `total` independent units, where units without a value
        add nothing; or, if that number is private, over samples of Poisson size, which have the largest variance.

        For the population: of the mean of these sums over samples of `total` independent units, where units without a
        value add nothing; or, if that number is private, over samples of Poisson size, which have the largest variance.

        Args:
            level: The coverage probability.
            student: Draws of Student's distribution for sampling, (draws,); None: for these records.
            middle: The shift of each value.
            total: The number of records; infinite: private.
        """
        released, noise = self
        estimate = float(released.sum_of_values + middle * released.records)
        errors = noise.sum_of_values + middle * noise.records
        level, variance_bound = self._sampling_level_and_variance(level, student)
        if student is not None:
            count = max(float(released.records), 1.0)
            mean = float(released.mean)
            sampling_variance = count * min(variance_bound, 1 - mean**2) + count * (mean + middle) ** 2
            reduction = count**2 * (mean + middle) ** 2 / total if isfinite(total) else 0.0
            errors = errors + student * np.sqrt(max(sampling_variance - reduction, 0.0))
        return basic_interval(estimate, errors, level)

    def variance_ends(self, level: float, normal: FloatArray | None, spread: SquareScatter | None = None) -> Ends:
        """Return the endpoints of the confidence interval of the variance, from 0 to 2, in units in which values lie
        between -1 and 1.

        Sums of squares must have been released. For these records: quantiles of the variance of the release minus
        simulated noise. For the population a variance v is accepted if the released variance is within the errors of
        this noise and of sampling. Squared distances from the mean are at most c, so their variance is at most ``v * (c
        - v)`` under any distribution (Bhatia and Davis 2000); with a `spread`, also at most the upper limit of their
        mean square minus ``v**2``. A fraction of the error probability is spent on that limit.

        Args:
            level: The coverage probability.
            normal: Standard normal draws for sampling, (draws,); None: for these records.
            spread: Counts that bound the variance of squares, if any were released.
        """
        if not self.has_records(level):
            return 0.0, LARGEST_UNIT_VARIANCE
        found, denoised = self.released_moments, self.minus_noise
        variances = denoised.unbounded_variance
        coverage_each_side = (1 + level) / 2
        if normal is None:
            ends = [-upper_quantile(-variances, coverage_each_side), upper_quantile(variances, coverage_each_side)]
            low, high = np.clip(ends, 0.0, LARGEST_UNIT_VARIANCE).tolist()
            return low, high
        released = found.unbounded_variance
        count = float(found.records)
        furthest_distance = 1 + float(np.abs(found.mean))
        fourth_moment = np.inf
        if spread is not None:
            tail_probability = TUNING.variance_error_share * (1 - level)
            level = level + tail_probability
            fourth_moment = spread.bound_fourth_moment(denoised.mean, count, 1 - tail_probability)

        def errors(variance: FloatArray) -> FloatArray:
            """Return simulated errors of the released variance, by noise and sampling, if the population has this
            variance.

            Args:
                variance: Candidate variance of the population.
            """
            squares_variance = (
                np.clip(fourth_moment - variance**2, 0.0, np.maximum(variance * (furthest_distance**2 - variance), 0.0))
                / count
            )
            return np.asarray(released - variances + normal * np.sqrt(squares_variance))

        inside = np.clip(released, 0.0, LARGEST_UNIT_VARIANCE)
        lowest = np.array(0.0)
        highest = np.array(LARGEST_UNIT_VARIANCE)
        low, high = invert_contrast_test(
            lambda variance: released - variance, errors, level, inside, lowest, highest
        ).tolist()
        return low, high

    def _sampling_level_and_variance(self, level: float, student: FloatArray | None) -> tuple[float, float]:
        """Return what is left of the coverage probability after bounding the variance of the values, and the upper
        limit of that variance.

        A tenth of the error probability is spent on the limit, so the remaining level is higher than `level`. For these
        records (`student` None), or if squares were not released: `level` and infinity.

        Args:
            level: Coverage probability of the interval.
            student: Draws of Student's distribution for sampling; None: for these records.

        Returns:
            Level, and upper limit of the variance.
        """
        if student is None or self.released_moments.sum_of_squares is None:
            return level, np.inf
        tail_probability = TUNING.variance_error_share * (1 - level)
        return level + tail_probability, upper_quantile(self.minus_noise.variance, 1 - tail_probability)


def whole_ends(counts: FloatArray, errors: FloatArray, total: int | None) -> FloatArray:
    """Return integer endpoints, (cells, 2), of the true counts that noisy counts differ from by at most `errors`.

    Args:
        counts: Unbiased noisy counts, (cells,).
        errors: Bounds of the absolute noise, (cells,), in records.
        total: Public number of records, which no count exceeds; None: private.

    >>> whole_ends(np.array([-3.0, 7.4]), np.array([4.5, 4.5]), 10).tolist()
    [[0.0, 4.0], [3.0, 10.0]]
    """
    clipped = clip_to_possible(counts, total)  # impossible noisy counts must not narrow the interval
    lower = np.ceil(clipped - errors - INTEGER_TOLERANCE)
    upper = np.floor(clipped + errors + INTEGER_TOLERANCE)
    ends = np.stack([np.minimum(lower, np.rint(clipped)), np.maximum(upper, np.rint(clipped))], axis=1)
    return clip_to_possible(ends, total)


def clip_to_possible(counts: FloatArray, total: int | None) -> FloatArray:
    """Return counts, or endpoints of their intervals, clipped to at least 0 and at most `total`, of the same shape.

    `total` is the public number of records; None if it is private, then there is no upper limit.

    Args:
        counts: Noisy counts, or endpoints of intervals, of any shape.
        total: Public number of records; None if it is private, then there is no upper limit.

    >>> clip_to_possible(np.array([-3.0, -0.0, 7.0]), 5).tolist()
    [0.0, 0.0, 5.0]
    """
    # adding zero makes negative zeros positive, which files would print as -0.0
    return np.clip(counts, 0.0, np.inf if total is None else float(total)) + 0.0


def known_counts(counts: FloatArray, spread: FloatArray, total: int | None, errors: Errors) -> FloatArray:
    """Return noisy counts clipped to the possible range, (cells,), or NaN where the confidence interval covers every
    possible number.

    Args:
        counts: Unbiased counts, (cells,).
        spread: The standard deviation of their noise, (cells,).
        total: Public number of records; None: private, so no count is NaN.
        errors: Function without arguments that returns bounds of the absolute errors, (cells,); called only if records
            are few enough to matter.
    """
    clipped = clip_to_possible(counts, total)
    # signal-to-noise ratio above which counts are always known
    if total is None or total > 60.0 * float(np.max(spread, initial=0.0)):
        return clipped
    lower, upper = whole_ends(counts, errors(), total).T
    return np.where((lower <= 0) & (upper >= total), np.nan, clipped)


# Intervals of a noisy count of subsets: of the count itself, and of the probability that a further subset is counted.


def count_posterior(released: int, subsets: int, noise: Noise) -> FloatArray:
    """Return the posterior probabilities of the true counts 0 to `subsets`, ``(subsets + 1,)``, under a uniform prior.

    Args:
        released: The noisy count of subsets; any integer.
        subsets: Number of all subsets.
        noise: Distribution of the noise of the released count, of one party.

    >>> from fractions import Fraction
    >>> count_posterior(3, 3, Noise(Family.LAPLACE, Fraction(1, 100))).round(3).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    distances = np.abs(float(released) - np.arange(subsets + 1))
    scale = float(noise.parameter)
    weight = -distances / scale if noise.family is Family.LAPLACE else -(distances**2) / (2 * scale)
    likelihood = np.exp(weight - weight.max())
    return np.asarray(likelihood / likelihood.sum())


def majority_probability(released: int, subsets: int, noise: Noise) -> float:
    """Return the posterior probability that a claim holds in more than half of the subsets, from the noisy number of
    these: see `count_posterior`.

    Args:
        released: The released, noisy number of subsets in which the claim holds.
        subsets: Number of all subsets.
        noise: Distribution of the noise of the released number.
    """
    return float(count_posterior(released, subsets, noise)[subsets // 2 + 1 :].sum())


def subset_majority_probability(released: int, subsets: int, noise: Noise) -> float:
    """Return the posterior probability, under a uniform prior, that a claim holds in a random subset of records with
    probability above 1/2.

    Then the prior of the true count is uniform as well, and given s of m counted the probability has the distribution
    Beta(s + 1, m - s + 1).

    Args:
        released: The released, noisy number of subsets in which the claim holds.
        subsets: Number of all subsets.
        noise: Distribution of the noise of the released number.
    """
    from scipy.special import betainc

    counts = np.arange(subsets + 1)
    return float(count_posterior(released, subsets, noise) @ (1 - betainc(counts + 1, subsets - counts + 1, 0.5)))


def count_interval(released: int, subsets: int, noise: Noise, level: float) -> tuple[float, float]:
    """Return a confidence interval (lower, upper) of the true number of subsets in which a claim holds, from its noisy
    count.

    Its coverage is at least `level` for every true number.

    If noise explains no count from 0 to `subsets` at this level, both ends are the nearest possible count.

    Args:
        released: The released number of subsets.
        subsets: Number of all subsets.
        noise: Distribution of the noise of the released number.
        level: Confidence level, between 0 and 1.
    """
    counts = np.arange(subsets + 1)
    tail_probability = (1 - level) / 2
    above = _noise_tail(released - counts, noise)
    below = _noise_tail(counts - released, noise)
    accepted = counts[(above > tail_probability) & (below > tail_probability)]
    if not len(accepted):
        nearest = float(min(max(released, 0), subsets))
        return nearest, nearest
    return float(accepted[0]), float(accepted[-1])


def probability_interval(released: int, subsets: int, noise: Noise, level: float) -> tuple[float, float]:
    """Return a confidence interval (lower, upper) of the probability that a claim holds in a random subset of records.

    Its coverage is at least `level`.

    An end is the probability at which binomial sampling and noise together reach the released number with half of the
    error probability (Clopper and Pearson 1934).

    Args:
        released: The released, noisy number of subsets in which the claim holds.
        subsets: Number of all subsets.
        noise: Distribution of the noise of the released number.
        level: Confidence level, between 0 and 1.
    """
    from scipy.special import bdtr

    counts = np.arange(subsets + 1)
    tail_probability = (1 - level) / 2
    above = _noise_tail(released - counts, noise)
    below = _noise_tail(counts - released, noise)

    def expected_tail(tail: FloatArray, probability: float) -> float:
        """Return the probability that binomial sampling and noise together reach the released number of subsets.

        Args:
            tail: Probability that noise makes up the difference, for each true count from 0, (subsets + 1,).
            probability: Probability that a subset is counted.
        """
        return float(np.diff(bdtr(counts, subsets, probability), prepend=0.0) @ tail)

    low = _search_first(lambda probability: expected_tail(above, probability) > tail_probability)
    high = 1 - _search_first(lambda probability: expected_tail(below, 1 - probability) > tail_probability)
    return (low, high) if low <= high else (min(max(released / subsets, 0.0), 1.0),) * 2


def _search_first(holds: Callable[[float], bool]) -> float:
    """Find by bisection the point of [0, 1] from which on a condition holds; at most 2**-50 too small.

    0 if the condition holds at 0, and nearly 1 if it never holds.

    Args:
        holds: Condition that is False up to some point and True from there on.
    """
    low, high = 0.0, 1.0
    if holds(0.0):
        return 0.0
    # bisection steps
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def _noise_tail(integers: IntArray, noise: Noise) -> FloatArray:
    """Return the probability that the noise is at least each of these integers.

    Args:
        integers: Integers in units of the noise, (...).
        noise: Discrete Laplace noise, or discrete Gaussian noise.

    Returns:
        Probabilities, (...).
    """
    from scipy.special import ndtr

    values = np.asarray(integers, dtype=np.float64)
    if noise.family is Family.LAPLACE:
        rate = 1 / float(noise.parameter)
        tail = np.exp(-rate * np.where(values > 0, values, 1 - values)) / (1 + np.exp(-rate))
        return np.asarray(np.where(values > 0, tail, 1 - tail))
    variance = float(noise.parameter)
    # above, the tails of Gaussian noise equal the normal tails to a relative error of 1e-4
    if variance > 1e4:
        return np.asarray(ndtr((0.5 - values) / sqrt(variance)))
    support = np.arange(-int(12 * sqrt(variance)) - 2, int(12 * sqrt(variance)) + 3)
    weights = np.exp(-0.5 * support.astype(np.float64) ** 2 / variance)
    tails = np.append(np.cumsum(weights[::-1])[::-1], 0.0) / weights.sum()
    return np.asarray(tails[np.clip(values - support[0], 0, len(support)).astype(np.int64)])


P_VALUE_LEVEL = 0.95
"""Confidence level of the interval from which a p-value is derived: the p-value is below 0.05 if it excludes 0."""


class IntervalEstimate(NamedTuple):
    """An estimate with its confidence interval, in one unit.

    Attributes:
        value: The estimate; NaN if only the interval is known.
        lower, upper: Endpoints of the interval.
        gap_below, gap_above: Parts of the distances from the value to `lower` and to `upper` that are discretization
            error (values known up to their cell), not random error; at least 0.
    """

    value: float
    lower: float
    upper: float
    gap_below: float = 0.0
    gap_above: float = 0.0

    @property
    def error_below(self) -> float:
        """Distance from the estimate to the lower endpoint that is due to random error, without the discretization
        error.
        """
        return max(self.value - self.gap_below - self.lower, 0.0)

    @property
    def error_above(self) -> float:
        """Distance from the estimate to the upper endpoint that is due to random error, without the discretization
        error.
        """
        return max(self.upper - self.value - self.gap_above, 0.0)


def subtract_estimates(first: IntervalEstimate, second: IntervalEstimate, most: float = inf) -> IntervalEstimate:
    """Return the difference of two independent estimates, with an interval of their common level.

    Random errors are independent, so distances to the ends add up in squares (Zou and Donner 2008). Discretization
    errors may both be at their worst, so they add up linearly. If a number is unknown, so is the difference: NaN, with
    the whole range of differences, from minus `most` to `most`, as its interval at any level.

    Args:
        first: The minuend.
        second: The estimate that is subtracted.
        most: Largest possible absolute difference.

    >>> first, second = IntervalEstimate(0.8, 0.77, 0.83), IntervalEstimate(0.7, 0.66, 0.74)
    >>> [round(end, 3) for end in subtract_estimates(first, second)[:3]]
    [0.1, 0.05, 0.15]
    >>> discretized = IntervalEstimate(0.8, 0.77, 0.83, gap_below=0.03, gap_above=0.03)
    >>> [round(end, 3) for end in subtract_estimates(discretized, discretized)[:3]]
    [0.0, -0.06, 0.06]
    >>> subtract_estimates(IntervalEstimate(float("nan"), 0.0, 1.0), second, most=1.0)[:3]
    (nan, -1.0, 1.0)
    """
    value = first.value - second.value
    if not isfinite(value):
        return IntervalEstimate(nan, -most, most)
    gap_below = first.gap_below + second.gap_above
    gap_above = first.gap_above + second.gap_below
    lower = value - gap_below - hypot(first.error_below, second.error_above)
    return IntervalEstimate(
        value, lower, value + gap_above + hypot(first.error_above, second.error_below), gap_below, gap_above
    )


def difference_p_value(estimate: IntervalEstimate) -> float:
    """Return the p-value of a difference of zero, from an interval of level 0.95.

    It is below 0.05 if the interval excludes 0, and computed from the normal distribution otherwise.

    Args:
        estimate: Estimate of the difference, with its interval of level 0.95.

    >>> round(difference_p_value(IntervalEstimate(0.1, 0.0, 0.3)), 6)
    0.05
    >>> difference_p_value(IntervalEstimate(float("nan"), 0.0, 0.3))
    1.0
    """
    from scipy.special import ndtr

    if not isfinite(estimate.value):
        return 1.0
    reach = estimate.value - estimate.lower if estimate.value > 0 else estimate.upper - estimate.value
    # the two-sided standard normal quantile of level 0.95
    return float(2 * ndtr(-abs(estimate.value) / reach * 1.959963984540054 if reach > 0 else -inf))


def largest_absolute_interval(estimates: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Return an interval of the largest absolute value of several numbers, with coverage `level` at least.

    The number that is truly largest is at most its own estimate plus its own error, and the largest estimate is above
    the true largest value by at most the largest error of all numbers that could seem largest. So the excess that noise
    alone produces is removed. A tenth of the error probability is spent on a simultaneous band: numbers that it
    excludes as the largest do not count, and where it determines the sign of a number only errors to that side count
    (Andrews and Soares 2010). At levels that need more draws all numbers count.

    Args:
        estimates: The noisy numbers, (numbers,).
        errors: Simulated errors, (draws, numbers).
        level: The coverage probability.

    Returns:
        Lower end, at least 0, and upper end.

    >>> from dpcurves.inference import public_generator
    >>> chance = public_generator(None)
    >>> low, high = largest_absolute_interval(np.array([9.0, 0.1, -0.2]), chance.normal(size=(999, 3)), 0.95)
    >>> bool(6.0 < low < 7.2), bool(10.8 < high < 11.5)
    (True, True)
    """
    spent = 0.1  # fraction of the error probability
    size = np.abs(estimates)
    largest = float(np.abs(estimates).max())
    selection_probability = spent * (1 - level)
    spread = errors.std(axis=0)
    # at least 2 draws must lie beyond an estimated quantile
    if selection_probability * (len(errors) + 1) < 2:
        selection_probability = 0.0
        half_width = np.full(len(estimates), np.inf)
    else:
        half_width = upper_quantile(largest_studentised(errors, spread), 1 - selection_probability) * spread
    coverage = (1 + level + selection_probability) / 2
    signed_errors = errors * np.where(estimates < 0, -1.0, 1.0)
    sign_known = size > half_width
    may_be_largest, may_seem_largest = (
        size + times * half_width >= np.max(size - times * half_width) for times in (1, 2)
    )
    errors_below = np.where(
        sign_known[may_be_largest], -signed_errors[:, may_be_largest], np.abs(errors[:, may_be_largest])
    )
    errors_above = np.where(
        sign_known[may_seem_largest], signed_errors[:, may_seem_largest], np.abs(errors[:, may_seem_largest])
    )
    excess = upper_quantile(errors_above.max(axis=1), coverage)
    # the largest number is at most its own estimate plus the quantile of its own error, and it is one of these
    highest = float((size[may_be_largest] + upper_quantiles(errors_below, coverage)).max())
    return max(largest - max(excess, 0.0), 0.0), max(highest, largest)


def absolute_sum_interval(estimates: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Return an interval of the sum of the absolute values of several numbers, with coverage `level` at least.

    The sum of absolute values is the largest of all signed sums. Below, it errs by one signed sum of errors, whose
    variance is at most the sum of all absolute covariances. Above, it errs by the errors of numbers of known
    sign, plus the absolute errors of all others: so the excess that noise alone adds is removed.

    Args:
        estimates: The noisy numbers, (numbers,).
        errors: Simulated errors, (draws, numbers).
        level: The coverage probability.
    """
    coverage = (1 + level) / 2
    sum_found = float(np.abs(estimates).sum())
    signed_errors = errors * np.where(estimates < 0, -1.0, 1.0)
    # z-score: the sign is taken as known; the error probability is 1 in 15,000
    sign_known = np.abs(estimates) > 4.0 * errors.std(axis=0)
    upper_error = upper_quantile(np.where(sign_known, signed_errors, np.abs(errors)).sum(axis=1), coverage)
    summed_errors = signed_errors.sum(axis=1)
    worst_deviation = np.sqrt(np.abs(np.cov(errors, rowvar=False)).sum())
    lower_error = upper_quantile(-summed_errors, coverage) * worst_deviation / max(float(summed_errors.std()), 1e-300)
    return max(sum_found - upper_error, 0.0), sum_found + max(float(lower_error), 0.0)
