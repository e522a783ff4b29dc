"""Between which ends all counts above and below all thresholds lie, at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray
from .bands import Band, simultaneous_errors, upper_quantile
from .class_counts import ClassCounts

NEGATIVE, POSITIVE, BOTH = range(3)
ABOVE, BELOW = range(2)
GUARD = 1.0
"""Squared records added to the variance of sampled counts: a count of none may come from a mean of a few."""


@dataclass(frozen=True, eq=False)
class CountBands:
    """Lower and upper ends of counts, each (2, 3, cells + 1): above and below; negatives, positives, both classes.

    Point i of what is above counts the i highest cells. All ends hold at once, so whatever is worked out from counts
    between them lies between what the ends make of it: rates, precision, lift and net benefit, at all thresholds.
    """

    lower: FloatArray
    upper: FloatArray

    def of(self, side: int, row: int) -> Band:
        """Ends of one kind of count, at all thresholds."""
        return self.lower[side, row], self.upper[side, row]

    @property
    def total(self) -> tuple[float, float]:
        """The ends of the number of all records."""
        return float(self.lower[ABOVE, BOTH, -1]), float(self.upper[ABOVE, BOTH, -1])


def cumulated(cells: FloatArray) -> FloatArray:
    """Counts (..., 2, cells) above and below each threshold, of each class and of both: (..., 2, 3, cells + 1).

    >>> cumulated(np.array([[3.0, 1.0], [0.0, 2.0]]))[ABOVE].tolist()
    [[0.0, 1.0, 4.0], [0.0, 2.0, 2.0], [0.0, 3.0, 6.0]]
    """
    rows = np.concatenate([cells, cells.sum(axis=-2, keepdims=True)], axis=-2)
    above = np.zeros((*rows.shape[:-1], rows.shape[-1] + 1))
    np.cumsum(rows[..., ::-1], axis=-1, out=above[..., 1:])
    return np.stack([above, above[..., -1:] - above], axis=-3)


def count_bands(
    counts: ClassCounts, level: float, *, population: bool, generator: np.random.Generator | None
) -> CountBands:
    """Ends that hold all counts above and below all thresholds at once, with chance `level`.

    Each count may be off by as many standard deviations as the simulated errors of all counts together are, with that
    chance. Of the population the counts are the means over samples of this size: the deviation of a mean m from what
    is counted is judged by the variance of the noise, plus the binomial one of m itself, plus `GUARD` (Wilson 1927),
    so that small counts have ends, too.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    noise = cumulated(counts.errors(population=False, generator=generator))
    counted = cumulated(counts.unbiased)
    if not population:
        ends = simultaneous_errors([noise.reshape(len(noise), -1)], level).reshape(counted.shape)
        return _monotone(counted - ends, counted + ends)
    errors = cumulated(counts.errors(population=True, generator=generator))
    return _monotone(*_means(counted, noise.var(axis=0), errors, cumulated(counts.likely), level))


def _means(counted: FloatArray, noise: FloatArray, errors: FloatArray, likely: FloatArray, level: float) -> Band:
    lower, upper = means_at_once(counted, noise, errors, likely, float(likely[ABOVE, BOTH, -1]), level)
    lower[ABOVE, :, 0] = upper[ABOVE, :, 0] = lower[BELOW, :, -1] = upper[BELOW, :, -1] = 0.0  # no cells, no records
    return lower, upper


def means_at_once(  # noqa: PLR0917
    counted: FloatArray, noise: FloatArray, errors: FloatArray, likely: FloatArray, records: float, level: float
) -> Band:
    """Ends of the means of counts over samples, at once with chance `level`: not yet cut at 0.

    All means m with ``(counted - m)^2 <= c^2 (noise + GUARD + m (1 - m / n))``: the roots of a square polynomial in m.

    Args:
        counted: Unbiased counts.
        noise: Variances of their noise.
        errors: Simulated, of noise and sampling, with one more axis, draws, in front.
        likely: About the counts, not below 0.
        records: How many there seem to be.
        level: The chance.
    """
    size = max(records, 1.0)
    variance = noise + GUARD + likely * np.maximum(1 - likely / size, 0.0)
    largest = np.abs(errors / np.sqrt(variance)).reshape(len(errors), -1).max(axis=1)
    squared = upper_quantile(largest, level) ** 2
    first, half = 1 + squared / size, counted + squared / 2
    root = np.sqrt(np.maximum(half**2 - first * (counted**2 - squared * (noise + GUARD)), 0.0))
    return (half - root) / first, (half + root) / first


def _monotone(lower: FloatArray, upper: FloatArray) -> CountBands:
    """Counts are not below 0, and do not fall as cells are added."""
    low, high = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    for side, rising in ((ABOVE, slice(None)), (BELOW, slice(None, None, -1))):
        low[side] = np.maximum.accumulate(low[side][:, rising], axis=-1)[:, rising]
        high[side] = np.minimum.accumulate(high[side][:, rising][:, ::-1], axis=-1)[:, ::-1][:, rising]
    return CountBands(np.minimum(low, high), np.maximum(low, high))


def share_ends(part: Band, rest: Band) -> Band:
    """Ends of ``part / (part + rest)``: from 0 to 1 where nothing may have been counted.

    >>> lower, upper = share_ends((np.array([1.0, 0]), np.array([2.0, 0])), (np.array([2.0, 0]), np.array([3.0, 0])))
    >>> lower.tolist(), upper.tolist()
    ([0.25, 0.0], [0.5, 1.0])
    """
    (least, most), (fewest, many) = part, rest
    lower = np.divide(least, least + many, out=np.zeros_like(least), where=least + many > 0)
    upper = np.divide(most, most + fewest, out=np.ones_like(most), where=most + fewest > 0)
    return lower, upper
