"""Noisy sums over nested intervals: flat histograms, trees, partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import FloatArray
from .law import over
from .least_squares import least_squares_batch
from .nested import Tier, NestedSums, interval_variances, mean_interval_variance
from .noise import Noise, optional_from_json


@dataclass(frozen=True, slots=True)
class IntervalSums(NestedSums):
    """Noisy sums over intervals of cells, each with noise of its own: flat histograms, trees, partitions.

    The order of values: level by level, in it row by row, in it from left to right; the missing cell comes last. The
    noises of released values are independent; estimates are correlated only after `reconstruct`.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    KEY: ClassVar[str] = "levels"

    rows: int
    cells: int
    levels: tuple[Tier, ...]
    missing: Noise | None

    def sums(self, cells: Any) -> list[Any]:
        """Sums over the intervals of each level."""
        return [over(cells, level.first) for level in self.levels]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Least squares; see `least_squares`."""
        return least_squares_batch(self, values, total)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Exact variances of least squares; see `interval_variances`."""
        return np.broadcast_to(interval_variances(self, total_is_public), (self.rows, self.cells + 1))

    def end_deviations(self, total_is_public: bool) -> tuple[float, float]:
        """Standard deviations of the counts of both end cells: of the last one no more than that of its own count."""
        first, last = NestedSums.end_deviations(self, total_is_public)
        alone = [sqrt(level.noise.variance) for level in self.levels if level.starts[-1] == self.cells - 1]
        return first, min([last, *alone])

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """The mean of `prefix_variances`: as fast as there are few intervals, or few kinds of them."""
        return mean_interval_variance(self, total_is_public)

    @property
    def of_intervals(self) -> IntervalSums:
        """The law with the finest intervals as its cells.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> noise = Noise(Family.LAPLACE, Fraction(1))
        >>> law = IntervalSums(1, 9, (Tier((0, 6), noise), Tier(range(0, 9, 3), noise)), None)
        >>> law.of_intervals.levels[0].starts
        (0, 2)
        """
        bounds = self.bounds
        if len(bounds) == self.cells + 1:
            return self
        coarse = (
            Tier(tuple(np.searchsorted(bounds, level.first).tolist()), level.noise) for level in self.levels[:-1]
        )
        finest = Tier(range(len(bounds) - 1), self.levels[-1].noise)
        return replace(self, cells=len(bounds) - 1, levels=(*coarse, finest))

    def with_finer(self, finer: IntervalSums, starts: Sequence[int]) -> IntervalSums:
        """The law of these sums and, after them, of those over finer cells, all of independent noise.

        Args:
            finer: The law of the sums over finer cells, in as many rows.
            starts: The first finer cell of each cell, rising from 0.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> level = Tier(range(2), Noise(Family.LAPLACE, Fraction(1)))
        >>> finer = IntervalSums(1, 5, (Tier(range(5), Noise(Family.LAPLACE, Fraction(9))),), None)
        >>> [each.starts for each in IntervalSums(1, 2, (level,), None).with_finer(finer, (0, 3)).levels]
        [(0, 3), range(0, 5)]
        """
        first = np.asarray(starts)
        levels = (Tier(tuple(first[level.first].tolist()), level.noise) for level in self.levels)
        return replace(finer, levels=(*levels, *finer.levels), missing=self.missing)

    def by(self, parties: int) -> IntervalSums:
        """The law of the sum of so many such noises on each value, one by each party."""
        levels = tuple(Tier(level.starts, level.noise.by(parties)) for level in self.levels)
        return replace(self, levels=levels, missing=None if self.missing is None else self.missing.by(parties))

    def _own_json(self) -> dict[str, Any]:
        return {"levels": [level.to_json() for level in self.levels]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        levels = tuple(Tier.from_json(level) for level in stored["levels"])
        return cls(int(stored["rows"]), int(stored["cells"]), levels, optional_from_json(stored["missing"]))
