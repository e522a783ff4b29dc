"""Reconstruction of counts from noisy sums, of one release or of several together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..conversation import Evidence, Release
from ..laws import Family, IntervalSums, LeastSquares, Noise, NoisySums, ToeplitzSums, in_parts, least_squares
from ..laws.law import LEAST_VARIANCE
from ..laws.toeplitz_sums import causal_product
from .binary_tree import Dyadic, Layout, Measurements, Values, gather
from .empirical_bayes import Splits, estimate, least_squares_total, reestimate
from .smooth_density import BINS, best_cells


def unbiased(law: NoisySums, values: Sequence[int] | NDArray[np.int64], total: int | None) -> LeastSquares:
    """The best linear unbiased counts, from all values of a release together.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `NoisySums.reconstruct`.

    Raises:
        ValueError: the values do not fit the law.
    """
    cells, missing = law.reconstruct(np.asarray(values, dtype=np.float64), total)
    return LeastSquares(cells, float(missing))


def smoothed(law: IntervalSums, values: Values, total: int | None, *, along: bool = False) -> FloatArray:
    """Cells (rows, cells) of flat histograms, trees or partitions, row by row as `estimate` reads them: never negative.

    What noise explains is taken back, as far as the splits of a row tell; totals are those of least squares. Costs no
    privacy, whoever added the noise.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `least_squares`.
        along: Whether cells lie along an axis, where few of them may have a smooth density: see `best_cells`.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, Noise
    >>> levels = tuple(Tier(range(0, 4, width), Noise(Family.LAPLACE, Fraction(20))) for width in (2, 1))
    >>> smoothed(IntervalSums(1, 4, levels, missing=None), [260, 220, 100, 160, 110, 130], total=500).round()
    array([[123., 134., 120., 124.]])
    """
    counts = least_squares(law, values, total).cells.sum(axis=1)
    layout = Layout.nested([level.bounds(law.cells) for level in law.levels])
    tables, _ = in_parts(law, np.asarray(values, dtype=np.float64))
    row = law.one_row
    known = (gather(layout, [(row, own)]) for own in np.concatenate(tables, axis=-1))
    rows = zip(known, counts.tolist(), strict=True)
    return np.stack(
        [best_cells(*each, again=False) if along and law.cells <= BINS else estimate(*each).cells for each in rows]
    )


def shrunken_estimate(
    law: NoisySums,
    values: Sequence[int] | NDArray[np.int64],
    total: int | None,
    *,
    along: bool = False,
    scale: float = 1.0,
) -> FloatArray:
    """Cells of shape (rows, cells), with differences shrunk that noise alone explains; meant to be cumulated.

    Nested sums are read as `smoothed` says, all others as their law does.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `least_squares`.
        along: See `smoothed`.
        scale: The amount of the values that stands for one record: cells are counted in records.
    """
    known = np.asarray(values, dtype=np.float64)
    if law.is_nested and scale != 1:
        few: Any = None if total is None else total / scale
        return smoothed(
            _scaled(law.nested.required(IntervalSums), scale), law.debiased(known) / scale, few, along=along
        )
    if law.is_nested:
        return smoothed(law.nested.required(IntervalSums), law.debiased(known), total, along=along)
    return law.shrunken(known, total)


def _scaled(law: IntervalSums, scale: float) -> IntervalSums:
    """About the law of values over `scale`: by which they are weighed, not their noise simulated."""
    unit = Fraction(scale)

    def of(noise: Noise) -> Noise:
        return replace(noise, parameter=noise.parameter / unit ** (1 if noise.family is Family.LAPLACE else 2))

    levels = tuple(replace(level, noise=of(level.noise)) for level in law.levels)
    return replace(law, levels=levels, missing=None if law.missing is None else of(law.missing))


MOST_INTERVALS = 512
"""A tiling of more intervals than these is left out: what is counted once more tells most where it is wide."""
NEARLY_NOTHING = 1e-9
"""Variance that a count is taken to have at least, as a part of the largest one: nested counts repeat others."""
Told = tuple[int, int, float, float]
"""A measurement: the first cell, the cell behind the last, the number of records, and its variance."""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The joint estimate of several turns on one row of cells, each on intervals that halve each other.

    Attributes:
        turns: Evidence of nested partitions of the same cells, at least one; noises are independent.
        halved: How the cells are halved; None: as intervals along one axis are.
        edges: The ends of the cells along an axis, (cells + 1,), if they are uneven, and it is of interest.
    """

    turns: tuple[Evidence, ...]
    halved: Layout | None = None
    edges: FloatArray | None = None

    @classmethod
    def of(cls, releases: Sequence[Release], halved: Layout | None = None) -> JointEstimate:
        """Take up the answers as they came."""
        return cls(tuple(Evidence.of(release) for release in releases), halved)

    @cached_property
    def known(self) -> Measurements:
        """The measurements of all turns, merged by inverse variance."""
        layout = self.halved or layout_of(self.turns[0].measured.cells)
        return gather(layout, [(turn.measured, turn.values) for turn in self.turns])

    @cached_property
    def total(self) -> float:
        """The number of records with a value: the best unbiased estimate, but never below 0."""
        counted, precision = least_squares_total(self.known)
        public = self.turns[0].total
        if public is not None:
            missing, exactness = self._missing
            counted = (counted * precision + (public - missing) * exactness) / (precision + exactness)
        return max(counted, 0.0)

    @cached_property
    def splits(self) -> Splits:
        """The counts of all intervals, by empirical Bayes."""
        return estimate(self.known, self.total)

    @cached_property
    def cells(self) -> FloatArray:
        """The best count of each cell, (cells,): by empirical Bayes once more, along an axis by a density too."""
        if self.halved is None or self.edges is not None:
            return best_cells(self.known, self.total, again=True, edges=self.edges)
        return reestimate(self.known, self.total, self.splits).cells

    @property
    def noise(self) -> Noise:
        """The noise of each count of the first turn."""
        return self.turns[0].measured.levels[0].noise

    @property
    def missing(self) -> float:
        """The number of records without a value, from all turns."""
        return self._missing[0]

    @cached_property
    def _missing(self) -> tuple[float, float]:
        """The number of records without a value, and one over its variance."""
        noises = [turn.measured.missing for turn in self.turns]
        weights = [0.0 if noise is None else 1 / max(noise.variance, LEAST_VARIANCE) for noise in noises]
        values = sum(weight * turn.values[-1] for weight, turn in zip(weights, self.turns, strict=True))
        return values / max(sum(weights), LEAST_VARIANCE), sum(weights)


@lru_cache(maxsize=4)  # a pure function of public facts
def layout_of(cells: int) -> Dyadic:
    """Lay halvings over so many cells, the first and the last of which stand alone."""
    return Dyadic.ends_apart(cells)


@dataclass(frozen=True, eq=False)
class ConvolvedEstimate:
    """The joint estimate of several turns on one row of cells, of which the last one was convolved.

    The prefixes of the last turn have noise of a known covariance; the intervals that were counted before are
    differences of prefixes with independent noise. Both together: generalised least squares. Where the number of
    records is public, each count of the missing ones tells of all others.

    Attributes:
        earlier: Evidence of nested partitions of the same cells.
        last: Evidence of convolved cells, in intervals of one cell.
    """

    earlier: tuple[Evidence, ...]
    last: Evidence

    @cached_property
    def cells(self) -> FloatArray:
        """The best linear count of each cell, (cells,)."""
        return np.diff(self._prefixes, prepend=0.0)

    @property
    def total(self) -> float:
        """The number of records with a value, but never below 0."""
        return max(float(self._prefixes[-1]), 0.0)

    @cached_property
    def _law(self) -> ToeplitzSums:
        return self.last.law.required(ToeplitzSums)

    @cached_property
    def _prefixes(self) -> FloatArray:
        law, (starts, ends, values, variances) = self._law, (np.array(each) for each in zip(*self._told(), strict=True))
        alone = np.cumsum(law.reconstruct(np.asarray(self.last.values, dtype=np.float64), None)[0][0])
        noise = _of_noise(law.kernel, starts, ends)
        against = causal_product(noise, law.kernel, law.points) * law.variance  # covariances with all prefixes
        own = _between(against, starts, ends)
        least = max(NEARLY_NOTHING * own.diagonal().max(), LEAST_VARIANCE)
        own[np.diag_indices(len(own))] += np.maximum(variances, least)
        return np.asarray(alone + against.T @ np.linalg.solve(own, values - _between(alone, starts, ends)))

    def _told(self) -> Iterator[Told]:
        """Everything known of prefixes but for the counts of the last turn."""
        for turn in self.earlier:
            yield from _of_intervals(turn.measured, turn.values)
        for law, turn in ((self._law, self.last), *((turn.measured, turn) for turn in self.earlier)):
            if turn.total is not None and law.missing is not None:
                yield 0, law.cells, turn.total - turn.values[-1], law.missing.variance


def together(
    turns: tuple[Evidence, ...], looks: int = 0, edges: FloatArray | None = None, *, by_turns: bool = False
) -> JointEstimate | ConvolvedEstimate:
    """The joint estimate of all turns, of the kind that the last one needs.

    Args:
        turns: Counts of the same cells.
        looks: So many of the first ones chose the cells: their intervals say how these are halved. 0: as intervals
            along one axis are.
        edges: The ends of all cells, where looks chose them.
        by_turns: Whether the intervals of all turns say how cells are halved, not those of looks alone.
    """
    if turns[-1].sums.is_convolved:
        return ConvolvedEstimate(turns[:-1], turns[-1])
    return (
        JointEstimate(turns, nested_in(turns if by_turns else turns[:looks]), edges) if looks else JointEstimate(turns)
    )


def nested_in(turns: Sequence[Evidence]) -> Layout:
    """The tree over cells that has all intervals of these counts: of two that meet one holds the other."""
    tilings = [level.bounds(turn.measured.cells) for turn in turns for level in turn.measured.levels]
    ends = np.unique(np.concatenate([np.stack([bounds[:-1], -bounds[1:]], axis=1) for bounds in tilings]), axis=0)
    around: list[int] = []
    depths = np.empty(len(ends), dtype=np.int64)
    for place, (first, end) in enumerate(ends.tolist()):  # those that begin together: the longest one first
        while around and around[-1] <= first:
            around.pop()
        depths[place] = len(around)
        around.append(-end)
    return Layout.nested([np.unique(np.abs(ends[depths <= depth])) for depth in range(int(depths.max()) + 1)])


def _of_intervals(law: IntervalSums, values: tuple[int, ...]) -> Iterator[Told]:
    first = 0
    for level in law.levels:
        ends = (*level.starts[1:], law.cells)
        told = zip(level.starts, ends, values[first : first + len(ends)], strict=True)
        first += len(ends)
        if len(ends) <= MOST_INTERVALS:
            yield from ((start, end, value, level.noise.variance) for start, end, value in told)


def _of_noise(kernel: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Weights of the noise of each value in the counts of cells from starts to ends: (counts, values)."""
    rows = np.zeros((len(starts), len(kernel)))
    for row, start, end in zip(rows, starts.tolist(), ends.tolist(), strict=True):
        row[:end] = kernel[:end][::-1]
        row[:start] -= kernel[:start][::-1]
    return rows


def _between(prefixes: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Estimates of the cells from starts to ends from prefixes of 1, 2, ... cells, along the last axis."""
    before = np.where(starts > 0, prefixes[..., starts - 1], 0.0)
    return np.asarray(prefixes[..., ends - 1] - before)
