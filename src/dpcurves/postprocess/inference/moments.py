"""Intervals of a count, a sum, a mean and a variance, from noisy sums of values that lie between -1 and 1."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray
from .bands import interval, upper_quantile
from .group_intervals import mean_intervals
from .search import accepted

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


class Spread(NamedTuple):
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

    def largest_fourth(self, means: FloatArray, count: float, level: float) -> float:
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
    """Sums over the records: of ones, of their values, of the squares of these; or the noise of such sums, (draws,).

    Values lie between -1 and 1. Where squares were not released, `square` is None.
    """

    records: FloatArray
    value: FloatArray
    square: FloatArray | None


def mean_of(found: Moments) -> FloatArray:
    """The mean, between -1 and 1; 0 where there seems to be no record."""
    there = found.records > 0
    return np.asarray(np.clip(np.divide(found.value, np.where(there, found.records, 1)) * there, -1.0, 1.0))


def variance_of(found: Moments) -> FloatArray:
    """The variance, with divisor n - 1, of at least 2 records; not below 0. NaN where squares were not released."""
    return np.asarray(np.clip(_unbounded_variance(found), 0.0, LARGEST_VARIANCE))


def count_ends(found: Moments, noise: Moments, level: float, total: float, normal: FloatArray | None) -> Ends:
    """Ends of the number of records, or of its mean over samples of this size; see `mean_intervals`.

    Numbers of records are whole, and so are their ends; those of the mean contain them.

    Args:
        found: What was released, without bias.
        noise: Simulated.
        level: The chance that they cover.
        total: How many records there are, those without a value among them; infinite: private.
        normal: Draws of the standard normal law for sampling, (draws,); None: for these records.
    """
    possible = min(max(float(found.records), 0.0), total)
    low, high = interval(possible, noise.records, level)  # noise beyond what is possible makes nothing certain
    low, high = max(float(np.ceil(low - WHOLE)), 0.0), min(float(np.floor(high + WHOLE)), total)
    if normal is None:
        return low, high
    ends = mean_intervals(np.atleast_1d(found.records), noise.records[:, None], normal[:, None], total, level)
    return min(float(ends[0, 0]), low), max(float(ends[0, 1]), high)


def known_count(found: Moments, noise: Moments, total: int | None) -> float:
    """The number of records; NaN where its interval of level `KNOWN` holds all that is possible."""
    near = max(float(found.records), 0.0)
    if total is None:
        return near
    lower, upper = count_ends(found, noise, KNOWN, total, None)
    return nan if lower <= 0 and total <= upper else min(near, float(total))


def whole_ends(counts: FloatArray, errors: FloatArray, total: int | None) -> FloatArray:
    """Ends of numbers of records that noise moved by at most `errors`: whole, and possible, (cells,) to (cells, 2).

    >>> whole_ends(np.array([-3.0, 7.4]), np.array([4.5, 4.5]), 10).tolist()
    [[0.0, 4.0], [3.0, 10.0]]
    """
    near = possible(counts, total)  # noise beyond what is possible makes nothing certain
    lower, upper = np.ceil(near - errors - WHOLE), np.floor(near + errors + WHOLE)
    ends = np.stack([np.minimum(lower, np.rint(near)), np.maximum(upper, np.rint(near))], axis=1)
    return possible(ends, total)


def possible(counts: FloatArray, total: int | None) -> FloatArray:
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
    near = possible(counts, total)
    if total is None or total > FAR * float(np.max(spread, initial=0.0)):
        return near
    lower, upper = whole_ends(counts, errors(), total).T
    return np.where((lower <= 0) & (upper >= total), np.nan, near)


def mean_ends(found: Moments, noise: Moments, level: float, student: FloatArray | None) -> Ends:
    """Ends of the mean, between -1 and 1.

    A mean m is between them if ``value - m * count``, which is 0 without noise where m is the true one, is no further
    from 0 than noise takes it with chance `level` (Fieller 1954). So no ratio of noisy numbers needs a law. For the
    population, sampling moves that number, too: by the root of count times variance, times a draw of Student's law. The
    variance is taken at the upper end of a one-sided interval, for which a part of the error chance is spent; where
    squares were not released, at ``1 - m**2``, the most that values between -1 and 1 with this mean can have (Bhatia
    and Davis 2000). Sampling is taken as for many records: of few that are very skewed the ends cover less.

    Args:
        found: What was released, without bias.
        noise: Simulated.
        level: The chance that they cover.
        student: Draws of Student's law for sampling, (draws,); None: for these records.
    """
    if not is_there(found, noise, level):
        return -1.0, 1.0
    level, most = _sampled_at(found, noise, level, student)

    def excess(mean: FloatArray) -> FloatArray:
        moved = noise.value - mean * noise.records
        if student is not None:
            moved = moved + student * np.sqrt(found.records * np.minimum(most, 1 - mean**2))
        return np.abs(found.value - mean * found.records) - upper_quantile(np.abs(moved), level)

    low, high = accepted(excess, mean_of(found), np.array(-1.0), np.array(1.0)).tolist()
    return low, high


def sum_ends(  # noqa: PLR0917
    found: Moments, noise: Moments, level: float, student: FloatArray | None, middle: float, total: float
) -> Ends:
    """Ends of ``value + middle * count``, the sum of values that were shifted by `middle` before.

    For the population, of the mean of such sums over samples of this size: `total` independent units, of which those
    without a value add nothing; or, where that number is private, as many as Poisson's law gives, which scatters most.

    Args:
        found: What was released, without bias.
        noise: Simulated.
        level: The chance that they cover.
        student: Draws of Student's law for sampling, (draws,); None: for these records.
        middle: What each value was shifted by.
        total: How many records there are; infinite: private.
    """
    estimate, moved = float(found.value + middle * found.records), noise.value + middle * noise.records
    level, most = _sampled_at(found, noise, level, student)
    if student is not None:
        count = max(float(found.records), 1.0)
        mean = float(mean_of(found))
        scatter = count * min(most, 1 - mean**2) + count * (mean + middle) ** 2
        known = count**2 * (mean + middle) ** 2 / total if isfinite(total) else 0.0
        moved = moved + student * np.sqrt(max(scatter - known, 0.0))
    return interval(estimate, moved, level)


def variance_ends(
    found: Moments, noise: Moments, level: float, normal: FloatArray | None, spread: Spread | None = None
) -> Ends:
    """Ends of the variance, from 0.

    For these records: quantiles of the variance that is left when noise is taken off what was released, again and
    again. For the population a variance v is between them if the released one is no further from it than this noise and
    sampling take it, where squared distances from the mean, which are at most c, have a variance of ``v * (c - v)`` at
    most, whatever their law (Bhatia and Davis 2000); or, with a `spread`, of the upper limit of their mean square less
    ``v**2``, if that is less. A part of the error chance is spent on that limit.

    Args:
        found: The released moments, without bias, squares among them.
        noise: Simulated.
        level: The chance that they cover.
        normal: Draws of the standard normal law for sampling, (draws,); None: for these records.
        spread: Counts that tell how squares scatter, if any were released.
    """
    if not is_there(found, noise, level):
        return 0.0, LARGEST_VARIANCE
    less = _less(found, noise)
    left = _unbounded_variance(less)
    each = (1 + level) / 2
    if normal is None:
        low, high = np.clip([-upper_quantile(-left, each), upper_quantile(left, each)], 0.0, LARGEST_VARIANCE).tolist()
        return low, high
    released, count, furthest = _unbounded_variance(found), float(found.records), 1 + float(np.abs(mean_of(found)))
    fourth = np.inf
    if spread is not None:
        spent = SPENT * (1 - level)
        level, fourth = level + spent, spread.largest_fourth(mean_of(less), count, 1 - spent)

    def excess(variance: FloatArray) -> FloatArray:
        scatter = np.clip(fourth - variance**2, 0.0, np.maximum(variance * (furthest**2 - variance), 0.0)) / count
        return np.abs(released - variance) - upper_quantile(np.abs(released - left + normal * np.sqrt(scatter)), level)

    low, high = accepted(
        excess, np.clip(released, 0.0, LARGEST_VARIANCE), np.array(0.0), np.array(LARGEST_VARIANCE)
    ).tolist()
    return low, high


def _unbounded_variance(found: Moments) -> FloatArray:
    """The variance of what may be no records at all; below 0 where noise outweighs it."""
    if found.square is None:
        return np.full(np.shape(found.records), np.nan)
    count = np.maximum(found.records, 2.0)
    return np.asarray((found.square - found.value**2 / count) / (count - 1))


def is_there(found: Moments, noise: Moments, level: float) -> bool:
    """Tell whether there are more records than noise makes out of none, by far: then a mean is known at all."""
    return float(found.records) > max(2.0, upper_quantile(np.abs(noise.records), (1 + level) / 2))


def _sampled_at(found: Moments, noise: Moments, level: float, student: FloatArray | None) -> tuple[float, float]:
    """The level that is left, and the variance that is taken for sampling."""
    if student is None or found.square is None:
        return level, np.inf
    spent = SPENT * (1 - level)
    return level + spent, upper_quantile(variance_of(_less(found, noise)), 1 - spent)


def _less(found: Moments, noise: Moments) -> Moments:
    """The released number less noise."""
    square = None if found.square is None or noise.square is None else found.square - noise.square
    return Moments(found.records - noise.records, found.value - noise.value, square)
