"""Reconstruction of counts from noisy sums, of one release or of several together.

Released are sums ``y = A x + z`` of the counts x of cells, with independent noise z of known variances (matrix V).

- `estimate_unbiased` returns the best linear unbiased counts, ``argmin_x (y - A x)' V**-1 (y - A x)``; these have the
  intervals and bands.
- `smooth_cells` and `shrink_estimate` return shrunk counts, which err less; these are displayed.
- `JointEstimate` merges several rounds on nested intervals by inverse variance, then shrinks.
- `ConvolvedEstimate` corrects prefixes p of a round with convolved noise by differences ``y = D p`` of earlier rounds:

      p + C' (C D' + V)**-1 (y - D p)      C = covariance of D p with p

- `expect_total` returns ``E[N | y]`` for the number N of records with a value, if the number of all records is public:
  with prior probability 1/2 it is that number (no value is missing), else uniform from 0 to it.

Formal guarantees: post-processing, functions of released and public numbers. Also called inference or consistency.

References: Aitken 1936 (generalised least squares); Hay, Rastogi, Miklau and Suciu 2010; Li, Miklau, Hay, McGregor and
Rastogi 2015.

>>> from fractions import Fraction
>>> from dpcurves.distributions import Family, Tier
>>> noise = Noise(Family.GAUSSIAN, Fraction(4))
>>> distribution = IntervalSums(1, 4, (Tier(range(0, 4, 2), noise), Tier(range(4), noise)), missing=None)
>>> estimate_unbiased(distribution, [10, 4, 6, 1, 2, 5], total=None).cells  # two sums of two cells, then four cells
array([[7., 2., 1., 4.]])
"""

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
from ..distributions import (
    Family,
    IntervalSums,
    LeastSquares,
    Noise,
    NoisySums,
    ToeplitzSums,
    least_squares,
    split_into_parts,
)
from ..distributions.output_distribution import LEAST_VARIANCE
from .binary_tree import DyadicLayout, Layout, Measurements, Values, merge_measurements
from .empirical_bayes import TreeEstimate, estimate_tree, least_squares_total, reestimate_tree
from .smooth_density import TUNING as DENSITY_TUNING
from .smooth_density import estimate_cells


def estimate_unbiased(
    distribution: NoisySums, values: Sequence[int] | NDArray[np.int64], total: int | None
) -> LeastSquares:
    """Return the best linear unbiased counts from all values of a release.

    Arguments:
        distribution: The distribution of the values.
        values: The released values, in the order of the distribution.
        total: See `NoisySums.reconstruct`.

    Raises:
        ValueError: the values do not fit the distribution.
    """
    cells, missing = distribution.reconstruct(np.asarray(values, dtype=np.float64), total)
    return LeastSquares(cells, float(missing))


def smooth_cells(
    distribution: IntervalSums, values: Values, total: int | None, *, along_axis: bool = False
) -> FloatArray:
    """Return nonnegative empirical Bayes estimates of cells, (rows, cells), from flat histograms, trees or partitions.

    Each row is estimated by `estimate_tree`, with the total of least squares. Post-processing, in any trust model.

    Arguments:
        distribution: The distribution of the values.
        values: The released values, in the order of the distribution.
        total: See `least_squares`.
        along_axis: Whether cells lie along an axis, where a small number of them may have a smooth density: see
            `estimate_cells`.

    Raises:
        ValueError: the values do not fit the distribution, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, Tier, Noise
    >>> levels = tuple(Tier(range(0, 4, width), Noise(Family.LAPLACE, Fraction(20))) for width in (2, 1))
    >>> smooth_cells(IntervalSums(1, 4, levels, missing=None), [260, 220, 100, 160, 110, 130], total=500).round()
    array([[123., 134., 120., 124.]])
    """
    counts = least_squares(distribution, values, total).cells.sum(axis=1)
    layout = Layout.from_tilings([level.bounds(distribution.cells) for level in distribution.levels])
    tables, _ = split_into_parts(distribution, np.asarray(values, dtype=np.float64))
    row = distribution.one_row
    measured = (merge_measurements(layout, [(row, table)]) for table in np.concatenate(tables, axis=-1))
    rows = zip(measured, counts.tolist(), strict=True)
    return np.stack(
        [
            estimate_cells(*arguments, again=False)
            if along_axis and distribution.cells <= DENSITY_TUNING.bins
            else estimate_tree(*arguments).cells
            for arguments in rows
        ]
    )


def shrink_estimate(
    distribution: NoisySums,
    values: Sequence[int] | NDArray[np.int64],
    total: int | None,
    *,
    along_axis: bool = False,
    scale: float = 1.0,
) -> FloatArray:
    """Return cells, (rows, cells), whose noise is shrunk; meant to be cumulated.

    Nested sums are estimated by `smooth_cells`, others by the method of their distribution.

    Arguments:
        distribution: The distribution of the values.
        values: The released values, in the order of the distribution.
        total: See `least_squares`.
        along_axis: See `smooth_cells`.
        scale: Amount of the values per record: cells are returned in records.
    """
    measured = np.asarray(values, dtype=np.float64)
    if distribution.is_nested and scale != 1:
        scaled_total: Any = None if total is None else total / scale
        return smooth_cells(
            _scale_distribution(distribution.nested_distribution.require_type(IntervalSums), scale),
            distribution.debias(measured) / scale,
            scaled_total,
            along_axis=along_axis,
        )
    if distribution.is_nested:
        return smooth_cells(
            distribution.nested_distribution.require_type(IntervalSums),
            distribution.debias(measured),
            total,
            along_axis=along_axis,
        )
    return distribution.shrink_cells(measured, total)


def _scale_distribution(distribution: IntervalSums, scale: float) -> IntervalSums:
    """Return the approximate distribution of values divided by `scale`, which is used to weight them, not to simulate
    their noise."""
    unit = Fraction(scale)

    def scale_noise(noise: Noise) -> Noise:
        """Return the distribution of the noise after counts are divided by `unit`."""
        return replace(noise, parameter=noise.parameter / unit ** (1 if noise.family is Family.LAPLACE else 2))

    levels = tuple(replace(level, noise=scale_noise(level.noise)) for level in distribution.levels)
    return replace(
        distribution, levels=levels, missing=None if distribution.missing is None else scale_noise(distribution.missing)
    )


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate of the number of records; `benchmarks/tuning.py` varies each of them."""

    totals: int = 257
    """Number of totals over which a posterior is summed."""
    farthest_z: float = 6.0
    """Standard errors from the estimate, beyond which a possible number of records is left out of the posterior sum: 6
    leave out 2e-9 of a normal distribution."""
    least_spread: float = 0.01
    """Records. Width of the range of possible totals below which the estimate is exact."""


TUNING = Tuning()


def expect_total(estimate: float, precision: float, public: int) -> float:
    """Return the expected number of records with a value, given an unbiased estimate with Gaussian noise.

    With prior probability 1/2 no value is missing, and the result is the number of all records, which is public; else
    any number from 0 on has equal probability. Where the noise is small, the result is the estimate, or the public
    number; where the noise exceeds all records, the estimate may be negative, and no curve could be drawn from it.

    Arguments:
        estimate: The estimate.
        precision: Reciprocal of its variance; 0 if nothing was measured.
        public: The public number of records.

    >>> [round(expect_total(estimate, 0.01, 100)) for estimate in (-20.0, 50.0, 95.0, 130.0)]
    [4, 50, 98, 100]
    """
    if precision <= 0 or public == 0:
        return float(public)
    deviation = float(precision**-0.5)
    lower = min(max(estimate - TUNING.farthest_z * deviation, 0.0), public)
    upper = max(min(max(estimate + TUNING.farthest_z * deviation, deviation), public), lower)
    if upper - lower < TUNING.least_spread:
        return float(np.clip(estimate, 0.0, public))
    totals = np.linspace(lower, upper, TUNING.totals)
    log_weights = -(((totals - estimate) / deviation) ** 2) / 2
    weights = np.exp(log_weights - log_weights.max())
    weights[[0, -1]] /= 2
    expected = float(weights @ totals / weights.sum())
    log_odds = log_weights.max() + np.log(weights.sum() * (upper - lower) / (TUNING.totals - 1) / public)
    none_missing = float(np.exp(-np.logaddexp(0.0, log_odds + ((public - estimate) / deviation) ** 2 / 2)))
    return expected + none_missing * (public - expected)


PrefixMeasurement = tuple[int, int, float, float]
"""A measurement: first cell, cell behind the last, number of records, variance."""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The joint estimate of several rounds on one row of cells, on nested intervals.

    Attributes:
        rounds: Evidence of nested partitions of the same cells, at least one, with independent noise.
        layout: Binary tree of the cells; None: the tree of intervals along one axis.
        edges: Endpoints of uneven cells along an axis, (cells + 1,); None: cells are even.
    """

    rounds: tuple[Evidence, ...]
    layout: Layout | None = None
    edges: FloatArray | None = None

    @classmethod
    def from_releases(cls, releases: Sequence[Release], layout: Layout | None = None) -> JointEstimate:
        """Return the estimate from releases of nested partitions, in order."""
        return cls(tuple(Evidence.from_release(release) for release in releases), layout)

    @cached_property
    def measurements(self) -> Measurements:
        """Measurements of all rounds, merged by inverse variance."""
        layout = self.layout or build_layout(self.rounds[0].interval_sums.cells)
        return merge_measurements(layout, [(evidence.interval_sums, evidence.values) for evidence in self.rounds])

    @cached_property
    def total(self) -> float:
        """Number of records with a value, from all counts: expected if the number of all is public, else unbiased."""
        estimate, precision = least_squares_total(self.measurements)
        public = self.rounds[0].total
        if public is None:
            return max(estimate, 0.0)
        missing, missing_precision = self._missing
        estimate = (estimate * precision + (public - missing) * missing_precision) / (precision + missing_precision)
        return expect_total(estimate, precision + missing_precision, public)

    @cached_property
    def tree_estimate(self) -> TreeEstimate:
        """Empirical Bayes estimates of the counts of all intervals."""
        return estimate_tree(self.measurements, self.total)

    @cached_property
    def cells(self) -> FloatArray:
        """Best estimate of each cell, (cells,), by a second empirical Bayes pass and, along an axis, a density."""
        if self.layout is None or self.edges is not None:
            return estimate_cells(self.measurements, self.total, again=True, edges=self.edges)
        return reestimate_tree(self.measurements, self.total, self.tree_estimate).cells

    @property
    def noise(self) -> Noise:
        """Noise distribution of each count of the first round."""
        return self.rounds[0].interval_sums.levels[0].noise

    @property
    def missing(self) -> float:
        """Estimated number of records without a value, from all rounds."""
        return self._missing[0]

    @cached_property
    def _missing(self) -> tuple[float, float]:
        """Estimated number of records without a value, and its precision (0: not counted)."""
        noises = [evidence.interval_sums.missing for evidence in self.rounds]
        weights = [0.0 if noise is None else 1 / max(noise.variance, LEAST_VARIANCE) for noise in noises]
        values = sum(weight * evidence.values[-1] for weight, evidence in zip(weights, self.rounds, strict=True))
        return values / max(sum(weights), LEAST_VARIANCE), sum(weights)


@lru_cache(maxsize=4)  # a pure function of public facts
def build_layout(cells: int) -> DyadicLayout:
    """Return the tree of `cells` cells along an axis, with separate outermost cells; cached."""
    return DyadicLayout.from_cells_with_ends(cells)


@dataclass(frozen=True, eq=False)
class ConvolvedEstimate:
    """The joint estimate of several rounds on one row of cells, the last of which has convolved noise.

    Prefixes of the last round have noise of known covariance; intervals of earlier rounds are differences of prefixes
    with independent noise. Both are combined by generalised least squares. If the number of records is public, each
    count of missing records measures the number of others.

    Attributes:
        earlier_rounds: Evidence of nested partitions of the same cells.
        last_round: Evidence of convolved cells, in intervals of one cell.
    """

    earlier_rounds: tuple[Evidence, ...]
    last_round: Evidence

    @cached_property
    def cells(self) -> FloatArray:
        """Best linear estimate of each cell's count, ``(cells,)``, in records."""
        return np.diff(self._prefixes, prepend=0.0)

    @property
    def total(self) -> float:
        """Estimated number of records with a value, at least 0."""
        return max(float(self._prefixes[-1]), 0.0)

    @cached_property
    def _distribution(self) -> ToeplitzSums:
        """The distribution of the last round, whose noise is convolved with a kernel."""
        return self.last_round.distribution.require_type(ToeplitzSums)

    @cached_property
    def _prefixes(self) -> FloatArray:
        """Best linear estimate of the number of records up to the end of each cell, (cells,)."""
        distribution, (starts, stops, values, variances) = (
            self._distribution,
            (np.array(column) for column in zip(*self._list_prefix_measurements(), strict=True)),
        )
        last_estimate = np.cumsum(
            distribution.reconstruct(np.asarray(self.last_round.values, dtype=np.float64), None)[0][0]
        )
        noise_weights = distribution.weigh_noise(starts, stops)
        # Covariances of the earlier measurements with all prefixes of the last round.
        covariances = distribution.estimate_prefixes(noise_weights) * distribution.variance
        covariance = _prefix_differences(covariances, starts, stops)
        # relative to the largest variance, because nested counts may be collinear
        least_variance = max(1e-9 * covariance.diagonal().max(), LEAST_VARIANCE)
        covariance[np.diag_indices(len(covariance))] += np.maximum(variances, least_variance)
        return np.asarray(
            last_estimate
            + covariances.T @ np.linalg.solve(covariance, values - _prefix_differences(last_estimate, starts, stops))
        )

    def _list_prefix_measurements(self) -> Iterator[PrefixMeasurement]:
        """Yield all measurements of differences of prefixes except the counts of the last round."""
        for evidence in self.earlier_rounds:
            yield from _list_interval_measurements(evidence.interval_sums, evidence.values)
        for distribution, evidence in (
            (self._distribution, self.last_round),
            *((evidence.interval_sums, evidence) for evidence in self.earlier_rounds),
        ):
            if evidence.total is not None and distribution.missing is not None:
                yield 0, distribution.cells, evidence.total - evidence.values[-1], distribution.missing.variance


def combine_rounds(
    rounds: tuple[Evidence, ...],
    pilot_queries: int = 0,
    edges: FloatArray | None = None,
    *,
    uses_all_rounds: bool = False,
) -> JointEstimate | ConvolvedEstimate:
    """Return the joint estimate of all rounds, of the type that the last round requires.

    Arguments:
        rounds: Counts of the same cells.
        pilot_queries: Number of first rounds that chose the cells: their intervals define the binary tree. 0: the tree
            of intervals along one axis.
        edges: Endpoints of all cells if pilot queries chose them.
        uses_all_rounds: Whether the intervals of all rounds define the tree, not the intervals of pilot queries alone.
    """
    if rounds[-1].sums.is_convolved:
        return ConvolvedEstimate(rounds[:-1], rounds[-1])
    if not pilot_queries:
        return JointEstimate(rounds)
    rounds_of_tree = rounds if uses_all_rounds else rounds[:pilot_queries]
    return JointEstimate(rounds, build_nested_layout(rounds_of_tree), edges)


def build_nested_layout(rounds: Sequence[Evidence]) -> Layout:
    """Return the binary tree that contains all intervals of these counts; any two are nested or disjoint."""
    tilings: list[NDArray[np.int64]] = []
    for evidence in rounds:
        sums = evidence.interval_sums
        tilings.extend(level.bounds(sums.cells) for level in sums.levels)
    intervals = np.unique(np.concatenate([np.stack([bounds[:-1], -bounds[1:]], axis=1) for bounds in tilings]), axis=0)
    enclosing: list[int] = []
    depths = np.empty(len(intervals), dtype=np.int64)
    for index, (first, end) in enumerate(intervals.tolist()):  # of equal starts, the longest first
        while enclosing and enclosing[-1] <= first:
            enclosing.pop()
        depths[index] = len(enclosing)
        enclosing.append(-end)
    return Layout.from_tilings(
        [np.unique(np.abs(intervals[depths <= depth])) for depth in range(int(depths.max()) + 1)]
    )


def _list_interval_measurements(distribution: IntervalSums, values: tuple[int, ...]) -> Iterator[PrefixMeasurement]:
    """Yield a measurement for each released interval of the levels with at most 512 intervals."""
    offset = 0
    for level in distribution.levels:
        stops = (*level.starts[1:], distribution.cells)
        intervals = zip(level.starts, stops, values[offset : offset + len(stops)], strict=True)
        offset += len(stops)
        # earlier counts help most where intervals are wide
        if len(stops) <= 512:
            yield from ((start, end, value, level.noise.variance) for start, end, value in intervals)


def _prefix_differences(prefixes: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Return the counts of cells from `starts` to `ends`, as differences of prefixes along the last axis."""
    prefixes_before = np.where(starts > 0, prefixes[..., starts - 1], 0.0)
    return np.asarray(prefixes[..., ends - 1] - prefixes_before)
