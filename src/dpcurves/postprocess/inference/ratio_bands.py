"""Between which ends ratios of counts above all thresholds lie, at once: rates, precision, net benefit.

Both counts of a ratio r have noise, so it is not divided: ``numerator - r * whole``, which is 0 without noise where r
is the true ratio, is held against its own errors (Fieller 1954), c standard deviations of it, where c is the quantile
of the largest of all that were asked for, which is simulated. So ratios that hold at once hold as often as is said, and
where noise may have made the whole, every ratio is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ..summaries.roc import LEAST_MASS
from .bands import Band, monotone_hull, upper_quantile
from .class_counts import ClassCounts
from .sampling import GUARD

RARE = 4.0
"""Times `GUARD`: added to variances that are not those of the ratio that is tried, but of likely counts."""


class Square(NamedTuple):
    """A variance that is a polynomial of a ratio r: ``level + slope * r + square * r^2``, each (points,)."""

    level: FloatArray
    slope: FloatArray
    square: FloatArray

    def at(self, ratio: FloatArray) -> FloatArray:
        """Its value."""
        return np.asarray(self.level + ratio * (self.slope + ratio * self.square))

    def plus(self, other: Square) -> Square:
        """The variance of the sum of two independent errors."""
        return Square(*(one + more for one, more in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Ratio:
    """Counts above each threshold over counts above it, or over all: sums with weights of negatives and positives.

    Attributes:
        numerator: What a record above the threshold counts, (2,), or (2, points).
        above: Which records above it are in the whole, (2,): 1 or 0.
        anywhere: Which records are in the whole wherever they are, (2,).
        least, most: Between which numbers the ratio lies in any case, one each or (points,).
    """

    numerator: FloatArray
    above: FloatArray
    anywhere: FloatArray
    least: FloatArray
    most: FloatArray

    def of(self, above: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Numerator and whole, (..., points), of counts above each threshold, from none to all: (..., 2, points)."""
        weights = np.broadcast_to(self.numerator.reshape(2, -1), above.shape[-2:])
        numerator = np.einsum("...ij,ij->...j", above, weights)
        return numerator, np.einsum("...ij,i->...j", above, self.above) + (above[..., -1] @ self.anywhere)[..., None]

    def sampling(self, likely: FloatArray) -> Square:
        """The variance that sampling gives to ``numerator - r * whole``, of likely counts (2, points).

        For shares that of a binomial law, with `GUARD`. Else what a record counts has a mean square, from the likely
        counts, less the square of its mean.
        """
        _, whole = self.of(likely)
        if np.isin(self.numerator, (0, 1)).all():
            return Square(np.full_like(whole, GUARD), whole, -whole)
        weights = np.broadcast_to(self.numerator.reshape(2, -1), likely.shape) ** 2
        squares = np.einsum("ij,ij->j", likely, weights) + RARE * GUARD * weights.sum(axis=0)
        return Square(squares, np.zeros_like(whole), -whole)


NONE, POSITIVES, ALL = (np.array(of, dtype=np.float64) for of in ((0, 0), (0, 1), (1, 1)))
ZERO, ONE = np.zeros(1), np.ones(1)
PRECISION = Ratio(POSITIVES, ALL, NONE, ZERO, ONE)
RECALL = Ratio(POSITIVES, NONE, POSITIVES, ZERO, ONE)
FLAGGED = Ratio(ALL, NONE, ALL, ZERO, ONE)


def benefit_at(odds: FloatArray, at: NDArray[np.int64], points: int) -> Ratio:
    """Net benefit per record where the threshold has such odds: at those of so many points; 0 at all others."""
    weights = np.zeros((2, points))
    weights[:, at] = -odds, np.ones_like(odds)
    return Ratio(weights, NONE, ALL, weights[0], ONE)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Counts above each threshold, from none to all, and their errors.

    Attributes:
        counted: Unbiased, (2, points).
        likely: About the counts, not below 0, (2, points).
        noise: Simulated noise, (draws, 2, points).
        errors: Simulated noise and sampling, of the same shape; None: for these records.
    """

    counted: FloatArray
    likely: FloatArray
    noise: FloatArray
    errors: FloatArray | None

    @classmethod
    def of(cls, counts: ClassCounts, *, population: bool, generator: np.random.Generator | None) -> Simulated:
        """Counts in cells of rising scores, for these records or for the population."""
        noise = above(counts.errors(population=False, generator=generator))
        errors = above(counts.errors(population=True, generator=generator)) if population else None
        return cls(above(counts.unbiased), above(counts.likely), noise, errors)


def above(cells: FloatArray) -> FloatArray:
    """Sums over the i highest cells, from none to all: (..., cells) to (..., cells + 1).

    >>> above(np.array([1.0, 2.0, 4.0])).tolist()
    [0.0, 4.0, 6.0, 7.0]
    """
    sums = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1))
    np.cumsum(cells[..., ::-1], axis=-1, out=sums[..., 1:])
    return sums


def ratio_bands(found: Simulated, ratios: Sequence[Ratio], level: float) -> tuple[Band, ...]:
    """Ends of all these ratios at all thresholds, at once with chance `level`: (points,) each.

    Those for the population are nowhere inside those for these records.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    contrasts = [_Contrast.of(ratio, found) for ratio in ratios]
    bands = _within(contrasts, level)
    if found.errors is None:
        return bands
    wider = _within([_Contrast.of(ratio, found, found.errors) for ratio in ratios], level)
    return tuple(
        (np.minimum(low, lower), np.maximum(high, upper))
        for (low, high), (lower, upper) in zip(bands, wider, strict=True)
    )


def _within(contrasts: Sequence[_Contrast], level: float) -> tuple[Band, ...]:
    squared = upper_quantile(np.max([each.largest for each in contrasts], axis=0), level) ** 2
    return tuple(each.ends(squared) for each in contrasts)


@dataclass(frozen=True, eq=False)
class _Contrast:
    """A ratio at all thresholds, and the errors of ``numerator - r * whole``.

    Attributes:
        ratio: Which one.
        numerator, whole: Unbiased, (points,).
        variance: Judges that difference.
        noise: The part of it that is the noise of the whole, (points,).
        largest: The largest studentised error of each draw, (draws,).
    """

    ratio: Ratio
    numerator: FloatArray
    whole: FloatArray
    variance: Square
    noise: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, ratio: Ratio, found: Simulated, errors: FloatArray | None = None) -> _Contrast:
        parts, wholes = ratio.of(found.noise)
        mean = [np.einsum("ij,ij->j", one, other) / len(parts) for one, other in
                ((parts, parts), (parts, wholes), (wholes, wholes))]  # fmt: skip
        variance, moved = Square(mean[0], -2 * mean[1], mean[2]), (parts, wholes)
        if errors is not None:
            variance, moved = variance.plus(ratio.sampling(found.likely)), ratio.of(errors)
        likely, of = ratio.of(found.likely)
        about = np.divide(likely, of, out=np.full_like(of, 0.5), where=of >= LEAST_MASS)
        judged = variance.at(about)
        noisy = judged > 0
        contrast = np.abs(moved[0] - about * moved[1])[:, noisy] / np.sqrt(judged[noisy])
        largest = contrast.max(axis=1, initial=0.0)
        return cls(ratio, *ratio.of(found.counted), variance, mean[2], largest)

    def ends(self, squared: float) -> Band:
        """The ends of the ratios within so many standard deviations, squared."""
        least, most = self.ratio.least, self.ratio.most
        first = self.whole**2 - squared * self.variance.square
        half = self.numerator * self.whole + squared * self.variance.slope / 2
        rest = self.numerator**2 - squared * self.variance.level
        root = np.sqrt(np.maximum(half**2 - first * rest, 0.0))
        known = (self.whole**2 > squared * self.noise) & (self.whole >= LEAST_MASS) & (first > 0)
        divisor = np.where(known, first, 1.0)
        return (
            np.where(known, np.clip((half - root) / divisor, least, most), least),
            np.where(known, np.clip((half + root) / divisor, least, most), most),
        )


def from_none_to_all(band: Band) -> Band:
    """Ends of a share that does not fall: none lie above the first threshold, all above the last one."""
    lower, upper = monotone_hull(*band)
    lower[[0, -1]] = upper[[0, -1]] = 0.0, 1.0
    return lower, upper
