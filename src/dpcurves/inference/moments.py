"""Intervals of single numbers: shares of groups, counts, sums, means, variances, differences, largest absolute
values."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..laws import Family, Noise
from .bands import basic_interval, largest_studentised, upper_quantile, upper_quantiles
from .groups import GroupCounts, GroupNoise

# Search for the ends of an interval: the distances from an estimate at which a test begins to reject.


Excess = Callable[[FloatArray], FloatArray]
HALVINGS = 24


def find_accepted_ends(excess: Excess, inside: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """Ends of the numbers around `inside`, from `least` to `most`, whose excess is not above 0: (..., 2)."""
    return np.stack([_search_end(excess, inside, least), _search_end(excess, inside, most)], axis=-1)


def invert_contrast_test(  # noqa: PLR0917
    contrast: Excess, errors: Excess, level: float, inside: FloatArray, least: FloatArray, most: FloatArray
) -> FloatArray:
    """Ends of the numbers that noisy counts do not contradict, from `least` to `most`: (..., 2).

    A number is between them if its contrast, which is 0 without noise where the number is the true one, is no further
    from 0 than its errors take it with chance `level` (Fieller 1954). So no ratio of noisy numbers needs a law.

    Args:
        contrast: Contrast of what was released with a number: (...).
        errors: Simulated, of the contrast with a number: (draws, ...).
        level: The chance of each number.
        inside: Numbers that are held, (...).
        least, most: Between which they lie in any case, (...).
    """

    def excess(number: FloatArray) -> FloatArray:
        return np.asarray(np.abs(contrast(number)) - upper_quantiles(np.abs(errors(number)), level))

    return find_accepted_ends(excess, inside, least, most)


def _search_end(excess: Excess, inside: FloatArray, end: FloatArray) -> FloatArray:
    """The root of the excess between a point that is inside and an end; the end if there is none."""
    near, far = inside, end
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        holds = excess(middle) <= 0
        near, far = np.where(holds, middle, near), np.where(holds, far, middle)
    return np.where(excess(end) <= 0, end, far)


# Between which ends the shares and the numbers of positives of groups lie: each group on its own.


HALF = 0.5
FAR_OFF = 12.0
"""Standard deviations of sampling, and as many records, beyond which no number of positives is tried."""


def share_intervals(groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Confidence intervals for the share of positives of each group, at confidence `level`: (groups, 2), in [0, 1].

    The contrast of a share s is ``(1 - s) * positives - s * negatives``: see `invert_contrast_test`. So the chance holds in
    small groups as in large ones; a group that may be empty has the interval from 0 to 1. Of the population sampling
    moves the contrast, too: for n records by a binomial law, whose quantiles are read off `normal` with a correction
    for its skewness (Cornish and Fisher 1938).

    Counts below zero are taken as zero, which never takes the contrast further from 0.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of what was released.
        normal: Draws of the standard normal law for sampling, (draws, groups); None: for these records.
        level: The chance of each group.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    positive, negative = np.maximum(groups.positive, 0.0), np.maximum(groups.negative, 0.0)
    size = positive + negative
    inside = np.divide(positive, size, out=np.full(size.shape, 0.5), where=size > 0)
    return invert_contrast_test(
        lambda share: (1 - share) * positive - share * negative,
        lambda share: (1 - share) * noise.positive - share * noise.negative + _simulate_sampled_positives(size, share, normal),
        level, inside, np.zeros_like(inside), np.ones_like(inside),
    )  # fmt: skip


def positive_intervals(groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Confidence intervals for the positives of each group, at confidence `level`: (groups, 2), not below 0.

    For the population, those that are to be expected among as many records.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of what was released.
        normal: See `share_intervals`.
        level: The chance of each group.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    positive = np.maximum(groups.positive, 0.0)
    size = np.maximum(positive + np.maximum(groups.negative, 0.0), 1.0)
    return invert_contrast_test(
        lambda expected: positive - expected,
        lambda expected: noise.positive + _simulate_sampled_positives(size, np.clip(expected / size, 0.0, 1.0), normal),
        level, positive, np.zeros_like(positive),
        positive + np.abs(noise.positive).max(axis=0) + FAR_OFF * (np.sqrt(size) + 1),
    )  # fmt: skip


def mean_intervals(counts: FloatArray, noise: FloatArray, normal: FloatArray, units: float, level: float) -> FloatArray:
    """Confidence intervals for means of counts over samples of this size, each at `level`: (counts, 2), not below 0.

    A mean m is between them if noise and sampling together take a count of m units as far up as the released one with
    half of the error chance, and as far down likewise. The law of samples is that of `share_intervals`, half a record
    further out: without noise ends are those of Clopper and Pearson (1934), but for a part of a record.
    Where the number of units is not known, counts are taken to scatter as Poisson's law does, which is more than those
    of any number of units do.

    Args:
        counts: Released counts, (counts,), without bias.
        noise: Their simulated noise, (draws, counts).
        normal: Draws of the standard normal law for sampling, of the same shape.
        units: The approximate number of units; infinite: not known.
        level: The chance of each.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    each = (1 + level) / 2

    def excess(mean: FloatArray) -> FloatArray:
        moved = noise + _simulate_binomial(mean, np.clip(mean / units, 0.0, 1.0), normal)
        up, down = upper_quantiles(moved, each), upper_quantiles(-moved, each)
        return np.maximum(counts - mean - up, mean - counts - down) - HALF

    inside = np.clip(counts, 0.0, units)
    most = np.minimum(inside + np.abs(noise).max(axis=0) + FAR_OFF * (np.sqrt(inside) + FAR_OFF), units)
    return find_accepted_ends(excess, inside, np.zeros_like(inside), most)


def residual_envelope(groups: GroupCounts, noise: GroupNoise, normal: FloatArray, level: float) -> FloatArray:
    """The bound on the absolute mean residual of a group, with probability `level` if the model is right: (groups,).

    A record of prediction p has a residual of variance ``p * (1 - p)``. Its mean over a group is at most that of the
    mean prediction, for ``p * (1 - p)`` is concave. The noise of the sum of residuals adds to it.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of what was released.
        normal: Draws of the standard normal law for sampling, (draws, groups).
        level: The chance of each group.
    """
    count = np.maximum(groups.count, 1.0)
    moved = noise.residual_sum(groups.middle) + _simulate_sampled_positives(count, groups.mean, normal)
    return np.minimum(upper_quantiles(np.abs(moved), level) / count, 1.0)


def _simulate_sampled_positives(size: FloatArray, share: FloatArray, normal: FloatArray | None) -> FloatArray:
    """Positives of so many records less the expected ones, (draws, groups) or none."""
    return np.zeros(1) if normal is None else _simulate_binomial(size * share, share, normal)


def _simulate_binomial(mean: FloatArray, share: FloatArray, normal: FloatArray) -> FloatArray:
    """Counts of a binomial law less their mean: of a share of all, or of Poisson's law if that is 0."""
    return normal * np.sqrt(mean * (1 - share)) + (normal**2 - 1) * (1 - 2 * share) / 6


# Intervals of a count, a sum, a mean and a variance, from noisy sums of values that lie between -1 and 1.


Ends = tuple[float, float]
Errors = Callable[[], FloatArray]
KNOWN = 0.95
"""The level at which a count has to be above what noise makes of no record, or nothing is known of its values."""
FAR = 60.0
"""Standard deviations of the noise of a count: of more records than these something is known, whatever the noise."""
WHOLE = 1e-6
"""Rounding of doubles, by which a whole number may miss itself."""

SPENT = 1 / 10
"""The part of the error chance of a mean, or a sum, that goes to the bound of its variance."""
LARGEST_VARIANCE = 2.0
"""The largest variance, with divisor n - 1, of values between -1 and 1: that of both ends."""


class SquareScatter(NamedTuple):
    """Records in cells between -1 and 1, from which is read how far squared distances from the mean scatter.

    Attributes:
        edges: The edges of the cells, (cells + 1,).
        counts: Without bias, (cells,).
        noise: Simulated, (draws, cells).
        normal: Draws of the standard normal law for sampling, (draws, cells).
    """

    edges: FloatArray
    counts: FloatArray
    noise: FloatArray
    normal: FloatArray

    def bound_fourth_moment(self, means: FloatArray, count: float, level: float) -> float:
        """An upper limit of the mean fourth power of the distance from the mean of the population.

        Each record is taken at the end of its cell that is further from the mean. Sampling moves a count by its root,
        and that of a cell where nobody was seen by that of one record.

        Args:
            means: Draws of the mean, (draws,).
            count: How many records there are.
            level: The chance that it is not above the limit, about.
        """
        far = np.abs(self.edges - means[:, None])
        weights = np.maximum(far[:, :-1], far[:, 1:]) ** 4
        scatter = self.normal * np.sqrt(np.maximum(self.counts, 0.0) + 1)
        return upper_quantile((weights * (self.counts - self.noise + scatter)).sum(axis=1), level) / count


class Moments(NamedTuple):
    """Noisy sums over the records of 1, x and x**2; or simulated noise of these sums, each of shape (draws,).

    Values lie between -1 and 1. Where squares were not released, `sum_of_squares` is None.
    """

    records: FloatArray
    sum_of_values: FloatArray
    sum_of_squares: FloatArray | None

    @property
    def mean(self) -> FloatArray:
        """The mean, between -1 and 1; 0 where there seems to be no record."""
        there = self.records > 0
        return np.asarray(np.clip(np.divide(self.sum_of_values, np.where(there, self.records, 1)) * there, -1.0, 1.0))

    @property
    def variance(self) -> FloatArray:
        """The variance, with divisor n - 1, of at least 2 records; not below 0. NaN where squares were not released."""
        return np.asarray(np.clip(self.unbounded_variance, 0.0, LARGEST_VARIANCE))

    @property
    def unbounded_variance(self) -> FloatArray:
        """The variance of what may be no records at all; below 0 where noise outweighs it."""
        if self.sum_of_squares is None:
            return np.full(np.shape(self.records), np.nan)
        count = np.maximum(self.records, 2.0)
        return np.asarray((self.sum_of_squares - self.sum_of_values**2 / count) / (count - 1))


class ReleasedMoments(NamedTuple):
    """Released sums, and between which ends the numbers lie that follow from them.

    Attributes:
        released_moments: What was released, without bias.
        noise: Simulated.
    """

    released_moments: Moments
    noise: Moments

    @property
    def minus_noise(self) -> Moments:
        """The released values less noise."""
        found, noise = self
        square = (
            None
            if found.sum_of_squares is None or noise.sum_of_squares is None
            else found.sum_of_squares - noise.sum_of_squares
        )
        return Moments(found.records - noise.records, found.sum_of_values - noise.sum_of_values, square)

    def has_records(self, level: float) -> bool:
        """Tell whether there are more records than noise makes out of none, by far: then a mean is known at all."""
        return float(self.released_moments.records) > max(
            2.0, upper_quantile(np.abs(self.noise.records), (1 + level) / 2)
        )

    def known_count(self, total: int | None) -> float:
        """The number of records; NaN where its interval of level `KNOWN` holds all that is possible."""
        near = max(float(self.released_moments.records), 0.0)
        if total is None:
            return near
        lower, upper = self.count_ends(KNOWN, total, None)
        return nan if lower <= 0 and total <= upper else min(near, float(total))

    def count_ends(self, level: float, total: float, normal: FloatArray | None) -> Ends:
        """Ends of the number of records, or of its mean over samples of this size; see `mean_intervals`.

        Numbers of records are whole, and so are their ends; those of the mean contain them.

        Args:
            level: The chance that they cover.
            total: How many records there are, those without a value among them; infinite: private.
            normal: Draws of the standard normal law for sampling, (draws,); None: for these records.
        """
        found, noise = self.released_moments.records, self.noise.records
        possible = min(max(float(found), 0.0), total)
        low, high = basic_interval(possible, noise, level)  # noise beyond what is possible makes nothing certain
        low, high = max(float(np.ceil(low - WHOLE)), 0.0), min(float(np.floor(high + WHOLE)), total)
        if normal is None:
            return low, high
        ends = mean_intervals(np.atleast_1d(found), noise[:, None], normal[:, None], total, level)
        return min(float(ends[0, 0]), low), max(float(ends[0, 1]), high)

    def mean_ends(self, level: float, student: FloatArray | None) -> Ends:
        """Ends of the mean, between -1 and 1.

        The contrast of a mean m is ``value - m * count``: see `invert_contrast_test`. For the population, sampling moves
        it, too: by the root of count times variance, times a draw of Student's law. The variance is taken at the upper
        end of a one-sided interval, for which a part of the error chance is spent; where squares were not released, at
        ``1 - m**2``, the most that values between -1 and 1 with this mean can have (Bhatia and Davis 2000). Sampling is
        taken as for many records: of few that are very skewed the ends cover less.

        Args:
            level: The chance that they cover.
            student: Draws of Student's law for sampling, (draws,); None: for these records.
        """
        if not self.has_records(level):
            return -1.0, 1.0
        (found, noise), (level, most) = self, self._sampling_level_and_variance(level, student)

        def errors(mean: FloatArray) -> FloatArray:
            moved = noise.sum_of_values - mean * noise.records
            if student is None:
                return moved
            return moved + student * np.sqrt(found.records * np.minimum(most, 1 - mean**2))

        low, high = invert_contrast_test(
            lambda mean: found.sum_of_values - mean * found.records,
            errors,
            level,
            found.mean,
            np.array(-1.0),
            np.array(1.0),
        ).tolist()
        return low, high

    def sum_ends(self, level: float, student: FloatArray | None, middle: float, total: float) -> Ends:
        """Ends of ``value + middle * count``, the sum of values that were shifted by `middle` before.

        For the population, of the mean of such sums over samples of this size: `total` independent units, of which
        those without a value add nothing; or, where that number is private, as many as Poisson's law gives, which
        scatters most.

        Args:
            level: The chance that they cover.
            student: Draws of Student's law for sampling, (draws,); None: for these records.
            middle: What each value was shifted by.
            total: How many records there are; infinite: private.
        """
        found, noise = self
        estimate, moved = (
            float(found.sum_of_values + middle * found.records),
            noise.sum_of_values + middle * noise.records,
        )
        level, most = self._sampling_level_and_variance(level, student)
        if student is not None:
            count, mean = max(float(found.records), 1.0), float(found.mean)
            scatter = count * min(most, 1 - mean**2) + count * (mean + middle) ** 2
            known = count**2 * (mean + middle) ** 2 / total if isfinite(total) else 0.0
            moved = moved + student * np.sqrt(max(scatter - known, 0.0))
        return basic_interval(estimate, moved, level)

    def variance_ends(self, level: float, normal: FloatArray | None, spread: SquareScatter | None = None) -> Ends:
        """Ends of the variance, from 0, where squares were released.

        For these records: quantiles of the variance that is left when noise is taken off what was released, again and
        again. For the population a variance v is between them if the released one is no further from it than this noise
        and sampling take it, where squared distances from the mean, which are at most c, have a variance of ``v * (c -
        v)`` at most, whatever their law (Bhatia and Davis 2000); or, with a `spread`, of the upper limit of their mean
        square less ``v**2``, if that is less. A part of the error chance is spent on that limit.

        Args:
            level: The chance that they cover.
            normal: Draws of the standard normal law for sampling, (draws,); None: for these records.
            spread: Counts that tell how squares scatter, if any were released.
        """
        if not self.has_records(level):
            return 0.0, LARGEST_VARIANCE
        found, less = self.released_moments, self.minus_noise
        left, each = less.unbounded_variance, (1 + level) / 2
        if normal is None:
            ends = [-upper_quantile(-left, each), upper_quantile(left, each)]
            low, high = np.clip(ends, 0.0, LARGEST_VARIANCE).tolist()
            return low, high
        released, count, furthest = found.unbounded_variance, float(found.records), 1 + float(np.abs(found.mean))
        fourth = np.inf
        if spread is not None:
            spent = SPENT * (1 - level)
            level, fourth = level + spent, spread.bound_fourth_moment(less.mean, count, 1 - spent)

        def errors(variance: FloatArray) -> FloatArray:
            scatter = np.clip(fourth - variance**2, 0.0, np.maximum(variance * (furthest**2 - variance), 0.0)) / count
            return np.asarray(released - left + normal * np.sqrt(scatter))

        inside, least, most = np.clip(released, 0.0, LARGEST_VARIANCE), np.array(0.0), np.array(LARGEST_VARIANCE)
        low, high = invert_contrast_test(
            lambda variance: released - variance, errors, level, inside, least, most
        ).tolist()
        return low, high

    def _sampling_level_and_variance(self, level: float, student: FloatArray | None) -> tuple[float, float]:
        """The level that is left, and the variance that is taken for sampling."""
        if student is None or self.released_moments.sum_of_squares is None:
            return level, np.inf
        spent = SPENT * (1 - level)
        return level + spent, upper_quantile(self.minus_noise.variance, 1 - spent)


def whole_ends(counts: FloatArray, errors: FloatArray, total: int | None) -> FloatArray:
    """Ends of numbers of records that noise moved by at most `errors`: whole, and possible, (cells,) to (cells, 2).

    >>> whole_ends(np.array([-3.0, 7.4]), np.array([4.5, 4.5]), 10).tolist()
    [[0.0, 4.0], [3.0, 10.0]]
    """
    near = clip_to_possible(counts, total)  # noise beyond what is possible makes nothing certain
    lower, upper = np.ceil(near - errors - WHOLE), np.floor(near + errors + WHOLE)
    ends = np.stack([np.minimum(lower, np.rint(near)), np.maximum(upper, np.rint(near))], axis=1)
    return clip_to_possible(ends, total)


def clip_to_possible(counts: FloatArray, total: int | None) -> FloatArray:
    """Counts, or ends of them, between zero and the number of records, if that is public."""
    return np.clip(counts, 0.0, np.inf if total is None else float(total))


def known_counts(counts: FloatArray, spread: FloatArray, total: int | None, errors: Errors) -> FloatArray:
    """Counts where something is known of them: NaN where the interval holds all that is possible, (cells,).

    Args:
        counts: Without bias, (cells,).
        spread: The standard deviation of their noise, (cells,).
        total: The number of records; None: it is private, so no interval holds all.
        errors: How far off they may be, (cells,): it is asked only if there are so few records that it matters.
    """
    near = clip_to_possible(counts, total)
    if total is None or total > FAR * float(np.max(spread, initial=0.0)):
        return near
    lower, upper = whole_ends(counts, errors(), total).T
    return np.where((lower <= 0) & (upper >= total), np.nan, near)


# Intervals of a noisy count of subsets: of the count itself, and of the chance that another subset is counted.


WIDE = 1e4
"""The variance of Gaussian noise from which on its tails are those of the normal law, to a relative error of 1e-4."""
FINE = 50
"""Steps of a bisection."""


def count_posterior(released: int, subsets: int, noise: Noise) -> FloatArray:
    """The chances of each true count from 0 to `subsets`, all alike likely before, of shape ``(subsets + 1,)``.

    >>> from fractions import Fraction
    >>> count_posterior(3, 3, Noise(Family.LAPLACE, Fraction(1, 100))).round(3).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    apart = np.abs(float(released) - np.arange(subsets + 1))
    scale = float(noise.parameter)
    weight = -apart / scale if noise.family is Family.LAPLACE else -(apart**2) / (2 * scale)
    likely = np.exp(weight - weight.max())
    return np.asarray(likely / likely.sum())


def majority_probability(released: int, subsets: int, noise: Noise) -> float:
    """The chance that more than half of the subsets were counted, by `count_posterior`."""
    return float(count_posterior(released, subsets, noise)[subsets // 2 + 1 :].sum())


def subset_majority_probability(released: int, subsets: int, noise: Noise) -> float:
    """The chance that another subset is counted more likely than not, if all such chances are alike likely before.

    Then all true counts are alike likely before, and with s of m counted the chance has Beta's law of s + 1 and
    m - s + 1.
    """
    from scipy.special import betainc

    counts = np.arange(subsets + 1)
    return float(count_posterior(released, subsets, noise) @ (1 - betainc(counts + 1, subsets - counts + 1, 0.5)))


def count_interval(released: int, subsets: int, noise: Noise, level: float) -> tuple[float, float]:
    """Two counts that have the true one between them with chance `level` at least, whatever it is."""
    counts, part = np.arange(subsets + 1), (1 - level) / 2
    above, below = _noise_tail(released - counts, noise), _noise_tail(counts - released, noise)
    fits = counts[(above > part) & (below > part)]
    if not len(fits):
        nearest = float(min(max(released, 0), subsets))
        return nearest, nearest
    return float(fits[0]), float(fits[-1])


def probability_interval(released: int, subsets: int, noise: Noise, level: float) -> tuple[float, float]:
    """Two chances that have that of a subset to be counted between them with chance `level` at least.

    The ends are the chances at which the released number would lie as far out as it does with half of what is left:
    binomial sampling and noise together (Clopper and Pearson 1934).
    """
    from scipy.special import bdtr

    counts, part = np.arange(subsets + 1), (1 - level) / 2
    above, below = _noise_tail(released - counts, noise), _noise_tail(counts - released, noise)

    def expected_tail(tail: FloatArray, chance: float) -> float:
        return float(np.diff(bdtr(counts, subsets, chance), prepend=0.0) @ tail)

    low = _search_first(lambda chance: expected_tail(above, chance) > part)
    high = 1 - _search_first(lambda chance: expected_tail(below, 1 - chance) > part)
    return (low, high) if low <= high else (min(max(released / subsets, 0.0), 1.0),) * 2


def _search_first(holds: Callable[[float], bool]) -> float:
    """From where on, between 0 and 1, it holds; 1 where it does nowhere."""
    low, high = 0.0, 1.0
    if holds(0.0):
        return 0.0
    for _ in range(FINE):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def _noise_tail(integers: IntArray, noise: Noise) -> FloatArray:
    """The chance that the noise is at least so much, for each integer."""
    from scipy.special import ndtr

    values = np.asarray(integers, dtype=np.float64)
    if noise.family is Family.LAPLACE:
        rate = 1 / float(noise.parameter)
        tail = np.exp(-rate * np.where(values > 0, values, 1 - values)) / (1 + np.exp(-rate))
        return np.asarray(np.where(values > 0, tail, 1 - tail))
    variance = float(noise.parameter)
    if variance > WIDE:
        return np.asarray(ndtr((0.5 - values) / sqrt(variance)))
    support = np.arange(-int(12 * sqrt(variance)) - 2, int(12 * sqrt(variance)) + 3)
    chances = np.exp(-0.5 * support.astype(np.float64) ** 2 / variance)
    tails = np.append(np.cumsum(chances[::-1])[::-1], 0.0) / chances.sum()
    return np.asarray(tails[np.clip(values - support[0], 0, len(support)).astype(np.int64)])


LEVEL = 0.95
NORMAL = 1.959963984540054
"""The quantile of the normal law that belongs to this level."""


class IntervalEstimate(NamedTuple):
    """A number and its interval; NaN where nothing is known but the interval.

    Attributes:
        value: The number.
        lower, upper: The ends of its interval.
        below, above: How much of the distances to the ends is no error of chance, but left open by what was counted.
    """

    value: float
    lower: float
    upper: float
    gap_below: float = 0.0
    gap_above: float = 0.0

    @property
    def error_below(self) -> float:
        """The largest upward error by chance alone."""
        return max(self.value - self.gap_below - self.lower, 0.0)

    @property
    def error_above(self) -> float:
        """The largest downward error by chance alone."""
        return max(self.upper - self.value - self.gap_above, 0.0)


def subtract_estimates(first: IntervalEstimate, second: IntervalEstimate) -> IntervalEstimate:
    """The first less the second, with an interval of the level that both have.

    Errors of chance are independent, so the distances from the numbers to their ends add up by their squares (Zou and
    Donner 2008). What was left open may be at its worst for both at once: that adds up as it is. Where a number is not
    known, the ends are as far apart as they can be.

    >>> [round(end, 3) for end in subtract_estimates(IntervalEstimate(0.8, 0.77, 0.83), IntervalEstimate(0.7, 0.66, 0.74))[:3]]
    [0.1, 0.05, 0.15]
    >>> [round(end, 3) for end in subtract_estimates(*[IntervalEstimate(0.8, 0.77, 0.83, gap_below=0.03, gap_above=0.03)] * 2)[:3]]
    [0.0, -0.06, 0.06]
    """
    value = first.value - second.value
    if not isfinite(value):
        return IntervalEstimate(value, first.lower - second.upper, first.upper - second.lower)
    below, above = first.gap_below + second.gap_above, first.gap_above + second.gap_below
    lower = value - below - hypot(first.error_below, second.error_above)
    return IntervalEstimate(value, lower, value + above + hypot(first.error_above, second.error_below), below, above)


def difference_p_value(estimate: IntervalEstimate) -> float:
    """The p-value of a difference of zero, from its interval of level 0.95.

    Below 0.05 where the interval leaves out 0, and read off the normal law beyond.

    >>> round(difference_p_value(IntervalEstimate(0.1, 0.0, 0.3)), 6), difference_p_value(IntervalEstimate(float("nan"), 0.0, 0.3))
    (0.05, 1.0)
    """
    from scipy.special import ndtr

    if not isfinite(estimate.value):
        return 1.0
    reach = estimate.value - estimate.lower if estimate.value > 0 else estimate.upper - estimate.value
    return float(2 * ndtr(-abs(estimate.value) / reach * NORMAL if reach > 0 else -inf))


DEVIATIONS = 4.0
"""So many standard deviations from 0 the sign of a number is known, but for a chance of 1 in 15,000."""


SPENT_ON_LARGEST = 0.1
"""The part of the error chance by which numbers that are too small to be the largest are told."""
LEAST_DRAWS = 2
"""So many draws have to lie beyond a quantile, or it is not told."""


def largest_absolute_interval(estimates: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Two ends that have the largest absolute value of several numbers between them, with chance `level` at least.

    Where the largest one lies, it seems to be smaller only by its own error; the one that seems to be the largest is so
    by the largest error, at most, of all that could seem so. So noise alone, which always makes a largest value, is
    taken back. A part of the error chance, `SPENT`, is spent on a band for all numbers at once: those that it leaves no
    chance to be the largest, or to seem so, do not count, and where it tells the sign of a number only errors to that
    side do (Andrews and Soares 2010). At levels that need more draws all of them count.

    Args:
        estimates: The numbers, (numbers,), with errors.
        errors: Simulated, (draws, numbers).
        level: The chance.

    >>> from dpcurves.inference import public_generator
    >>> chance = public_generator(None)
    >>> low, high = largest_absolute_interval(np.array([9.0, 0.1, -0.2]), chance.normal(size=(999, 3)), 0.95)
    >>> bool(6.0 < low < 7.2), bool(10.8 < high < 11.5)
    (True, True)
    """
    size, largest, spent = np.abs(estimates), float(np.abs(estimates).max()), SPENT_ON_LARGEST * (1 - level)
    spread = errors.std(axis=0)
    if spent * (len(errors) + 1) < LEAST_DRAWS:
        spent, half = 0.0, np.full(len(estimates), np.inf)
    else:
        half = upper_quantile(largest_studentised(errors, spread), 1 - spent) * spread
    each = (1 + level + spent) / 2
    signed = errors * np.where(estimates < 0, -1.0, 1.0)
    known = size > half
    may_be, may_seem = (size + times * half >= np.max(size - times * half) for times in (1, 2))
    less = np.where(known[may_be], -signed[:, may_be], np.abs(errors[:, may_be]))
    more = np.where(known[may_seem], signed[:, may_seem], np.abs(errors[:, may_seem]))
    over = upper_quantile(more.max(axis=1), each)
    return max(largest - max(over, 0.0), 0.0), largest + max(float(upper_quantiles(less, each).max()), 0.0)


def absolute_sum_interval(estimates: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Two ends that have the sum of the absolute values of several numbers between them, with chance `level` at least.

    The sum is the largest of all sums with signs. With the true signs it is too small only by one such sum of errors,
    whose spread is at most that of errors which all add up. It is too large by the errors of numbers whose signs are
    known, plus the absolute errors of all others: so what noise alone adds is taken back.

    Args:
        estimates: The numbers, (numbers,), with errors.
        errors: Simulated, (draws, numbers).
        level: The chance.
    """
    each, sum_found = (1 + level) / 2, float(np.abs(estimates).sum())
    signed = errors * np.where(estimates < 0, -1.0, 1.0)
    known = np.abs(estimates) > DEVIATIONS * errors.std(axis=0)
    over = upper_quantile(np.where(known, signed, np.abs(errors)).sum(axis=1), each)
    together = signed.sum(axis=1)
    worst = np.sqrt(np.abs(np.cov(errors, rowvar=False)).sum())
    under = upper_quantile(-together, each) * worst / max(float(together.std()), 1e-300)
    return max(sum_found - over, 0.0), sum_found + max(float(under), 0.0)
