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
from ..laws import Family, IntervalSums, LeastSquares, Noise, NoisySums, ToeplitzSums, least_squares, split_into_parts
from ..laws.law import LEAST_VARIANCE
from ..laws.toeplitz_sums import causal_product
from .binary_tree import DyadicLayout, Layout, Measurements, Values, merge_measurements
from .empirical_bayes import TreeEstimate, estimate_tree, least_squares_total, reestimate_tree
from .smooth_density import BINS, estimate_cells


def estimate_unbiased(law: NoisySums, values: Sequence[int] | NDArray[np.int64], total: int | None) -> LeastSquares:
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


def smooth_cells(law: IntervalSums, values: Values, total: int | None, *, along_axis: bool = False) -> FloatArray:
    """Cells (rows, cells) of flat histograms, trees or partitions, row by row as `estimate_tree` reads them: never negative.

    What noise explains is taken back, as far as the splits of a row tell; totals are those of least squares. Costs no
    privacy, whoever added the noise.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `least_squares`.
        along_axis: Whether cells lie along an axis, where few of them may have a smooth density: see `estimate_cells`.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, Noise
    >>> levels = tuple(Tier(range(0, 4, width), Noise(Family.LAPLACE, Fraction(20))) for width in (2, 1))
    >>> smooth_cells(IntervalSums(1, 4, levels, missing=None), [260, 220, 100, 160, 110, 130], total=500).round()
    array([[123., 134., 120., 124.]])
    """
    counts = least_squares(law, values, total).cells.sum(axis=1)
    layout = Layout.from_tilings([level.bounds(law.cells) for level in law.levels])
    tables, _ = split_into_parts(law, np.asarray(values, dtype=np.float64))
    row = law.one_row
    known = (merge_measurements(layout, [(row, own)]) for own in np.concatenate(tables, axis=-1))
    rows = zip(known, counts.tolist(), strict=True)
    return np.stack(
        [
            estimate_cells(*each, again=False) if along_axis and law.cells <= BINS else estimate_tree(*each).cells
            for each in rows
        ]
    )


def shrink_estimate(
    law: NoisySums,
    values: Sequence[int] | NDArray[np.int64],
    total: int | None,
    *,
    along_axis: bool = False,
    scale: float = 1.0,
) -> FloatArray:
    """Cells of shape (rows, cells), with differences shrunk that noise alone explains; meant to be cumulated.

    Nested sums are read as `smooth_cells` says, all others as their law does.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `least_squares`.
        along_axis: See `smooth_cells`.
        scale: The amount of the values that stands for one record: cells are counted in records.
    """
    known = np.asarray(values, dtype=np.float64)
    if law.is_nested and scale != 1:
        few: Any = None if total is None else total / scale
        return smooth_cells(
            _scale_law(law.nested_law.require_type(IntervalSums), scale),
            law.debias(known) / scale,
            few,
            along_axis=along_axis,
        )
    if law.is_nested:
        return smooth_cells(law.nested_law.require_type(IntervalSums), law.debias(known), total, along_axis=along_axis)
    return law.shrink_cells(known, total)


def _scale_law(law: IntervalSums, scale: float) -> IntervalSums:
    """About the law of values over `scale`: by which they are weighed, not their noise simulated."""
    unit = Fraction(scale)

    def scale_noise(noise: Noise) -> Noise:
        return replace(noise, parameter=noise.parameter / unit ** (1 if noise.family is Family.LAPLACE else 2))

    levels = tuple(replace(level, noise=scale_noise(level.noise)) for level in law.levels)
    return replace(law, levels=levels, missing=None if law.missing is None else scale_noise(law.missing))


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
        rounds: Evidence of nested partitions of the same cells, at least one; noises are independent.
        layout: How the cells are halved; None: as intervals along one axis are.
        edges: The ends of the cells along an axis, (cells + 1,), if they are uneven, and it is of interest.
    """

    rounds: tuple[Evidence, ...]
    layout: Layout | None = None
    edges: FloatArray | None = None

    @classmethod
    def from_releases(cls, releases: Sequence[Release], halved: Layout | None = None) -> JointEstimate:
        """Take up the answers as they came."""
        return cls(tuple(Evidence.from_release(release) for release in releases), halved)

    @cached_property
    def measurements(self) -> Measurements:
        """The measurements of all turns, merged by inverse variance."""
        layout = self.layout or build_layout(self.rounds[0].interval_sums.cells)
        return merge_measurements(layout, [(turn.interval_sums, turn.values) for turn in self.rounds])

    @cached_property
    def total(self) -> float:
        """The number of records with a value: the best unbiased estimate, but never below 0."""
        counted, precision = least_squares_total(self.measurements)
        public = self.rounds[0].total
        if public is not None:
            missing, exactness = self._missing
            counted = (counted * precision + (public - missing) * exactness) / (precision + exactness)
        return max(counted, 0.0)

    @cached_property
    def tree_estimate(self) -> TreeEstimate:
        """The counts of all intervals, by empirical Bayes."""
        return estimate_tree(self.measurements, self.total)

    @cached_property
    def cells(self) -> FloatArray:
        """The best count of each cell, (cells,): by empirical Bayes once more, along an axis by a density too."""
        if self.layout is None or self.edges is not None:
            return estimate_cells(self.measurements, self.total, again=True, edges=self.edges)
        return reestimate_tree(self.measurements, self.total, self.tree_estimate).cells

    @property
    def noise(self) -> Noise:
        """The noise of each count of the first turn."""
        return self.rounds[0].interval_sums.levels[0].noise

    @property
    def missing(self) -> float:
        """The number of records without a value, from all turns."""
        return self._missing[0]

    @cached_property
    def _missing(self) -> tuple[float, float]:
        """The number of records without a value, and one over its variance."""
        noises = [turn.interval_sums.missing for turn in self.rounds]
        weights = [0.0 if noise is None else 1 / max(noise.variance, LEAST_VARIANCE) for noise in noises]
        values = sum(weight * turn.values[-1] for weight, turn in zip(weights, self.rounds, strict=True))
        return values / max(sum(weights), LEAST_VARIANCE), sum(weights)


@lru_cache(maxsize=4)  # a pure function of public facts
def build_layout(cells: int) -> DyadicLayout:
    """Lay halvings over so many cells, the first and the last of which stand alone."""
    return DyadicLayout.from_cells_with_ends(cells)


@dataclass(frozen=True, eq=False)
class ConvolvedEstimate:
    """The joint estimate of several turns on one row of cells, of which the last one was convolved.

    The prefixes of the last turn have noise of a known covariance; the intervals that were counted before are
    differences of prefixes with independent noise. Both together: generalised least squares. Where the number of
    records is public, each count of the missing ones tells of all others.

    Attributes:
        earlier_rounds: Evidence of nested partitions of the same cells.
        last_round: Evidence of convolved cells, in intervals of one cell.
    """

    earlier_rounds: tuple[Evidence, ...]
    last_round: Evidence

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
        return self.last_round.law.require_type(ToeplitzSums)

    @cached_property
    def _prefixes(self) -> FloatArray:
        law, (starts, ends, values, variances) = (
            self._law,
            (np.array(each) for each in zip(*self._list_prefix_measurements(), strict=True)),
        )
        alone = np.cumsum(law.reconstruct(np.asarray(self.last_round.values, dtype=np.float64), None)[0][0])
        noise = _noise_weights(law.kernel, starts, ends)
        against = causal_product(noise, law.kernel, law.points) * law.variance  # covariances with all prefixes
        own = _prefix_differences(against, starts, ends)
        least = max(NEARLY_NOTHING * own.diagonal().max(), LEAST_VARIANCE)
        own[np.diag_indices(len(own))] += np.maximum(variances, least)
        return np.asarray(alone + against.T @ np.linalg.solve(own, values - _prefix_differences(alone, starts, ends)))

    def _list_prefix_measurements(self) -> Iterator[Told]:
        """Everything known of prefixes but for the counts of the last turn."""
        for turn in self.earlier_rounds:
            yield from _list_interval_measurements(turn.interval_sums, turn.values)
        for law, turn in ((self._law, self.last_round), *((turn.interval_sums, turn) for turn in self.earlier_rounds)):
            if turn.total is not None and law.missing is not None:
                yield 0, law.cells, turn.total - turn.values[-1], law.missing.variance


def combine_rounds(
    rounds: tuple[Evidence, ...],
    pilot_queries: int = 0,
    edges: FloatArray | None = None,
    *,
    uses_all_rounds: bool = False,
) -> JointEstimate | ConvolvedEstimate:
    """The joint estimate of all turns, of the kind that the last one needs.

    Args:
        rounds: Counts of the same cells.
        pilot_queries: So many of the first ones chose the cells: their intervals say how these are halved. 0: as intervals
            along one axis are.
        edges: The ends of all cells, where looks chose them.
        uses_all_rounds: Whether the intervals of all turns say how cells are halved, not those of looks alone.
    """
    if rounds[-1].sums.is_convolved:
        return ConvolvedEstimate(rounds[:-1], rounds[-1])
    return (
        JointEstimate(rounds, build_nested_layout(rounds if uses_all_rounds else rounds[:pilot_queries]), edges)
        if pilot_queries
        else JointEstimate(rounds)
    )


def build_nested_layout(rounds: Sequence[Evidence]) -> Layout:
    """The tree over cells that has all intervals of these counts: of two that meet one holds the other."""
    tilings = [level.bounds(turn.interval_sums.cells) for turn in rounds for level in turn.interval_sums.levels]
    ends = np.unique(np.concatenate([np.stack([bounds[:-1], -bounds[1:]], axis=1) for bounds in tilings]), axis=0)
    around: list[int] = []
    depths = np.empty(len(ends), dtype=np.int64)
    for place, (first, end) in enumerate(ends.tolist()):  # those that begin together: the longest one first
        while around and around[-1] <= first:
            around.pop()
        depths[place] = len(around)
        around.append(-end)
    return Layout.from_tilings([np.unique(np.abs(ends[depths <= depth])) for depth in range(int(depths.max()) + 1)])


def _list_interval_measurements(law: IntervalSums, values: tuple[int, ...]) -> Iterator[Told]:
    first = 0
    for level in law.levels:
        ends = (*level.starts[1:], law.cells)
        told = zip(level.starts, ends, values[first : first + len(ends)], strict=True)
        first += len(ends)
        if len(ends) <= MOST_INTERVALS:
            yield from ((start, end, value, level.noise.variance) for start, end, value in told)


def _noise_weights(kernel: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Weights of the noise of each value in the counts of cells from starts to ends: (counts, values)."""
    rows = np.zeros((len(starts), len(kernel)))
    for row, start, end in zip(rows, starts.tolist(), ends.tolist(), strict=True):
        row[:end] = kernel[:end][::-1]
        row[:start] -= kernel[:start][::-1]
    return rows


def _prefix_differences(prefixes: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Estimates of the cells from starts to ends from prefixes of 1, 2, ... cells, along the last axis."""
    before = np.where(starts > 0, prefixes[..., starts - 1], 0.0)
    return np.asarray(prefixes[..., ends - 1] - before)
