"""Estimate counts of cells from noisy sums of one release, or of several releases together.

A release holds sums ``y = A x + z`` of the counts x of cells, with independent noise z of known variances (matrix V).
Sums overlap, so counts can be estimated more precisely than by any single sum. Also called inference or consistency.

- `estimate_unbiased` returns the best linear unbiased estimate, ``argmin_x (y - A x)' V**-1 (y - A x)`` (generalised
  least squares, Aitken 1936). Intervals and bands are built from it.
- `smooth_cells` and `shrink_estimate` return biased estimates with smaller errors, by empirical Bayes. Plots show them.
- `JointEstimate` merges rounds that counted nested intervals by inverse variance, and shrinks the result.
- `ConvolvedEstimate` merges earlier rounds into a last round with convolved noise. Its prefixes p are corrected by the
  differences ``y = D p`` that earlier rounds measured:

      p + C' (C D' + V)**-1 (y - D p)      C = covariance of D p with p

- `expect_total` estimates the number of records with a value from a noisy count and the public number of all records.

Formal guarantees: post-processing. All results are functions of released and public numbers, so they cost no budget.

References: Aitken 1936; Hay, Rastogi, Miklau and Suciu 2010; Li, Miklau, Hay, McGregor and Rastogi 2015.

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
    """Return the best linear unbiased estimate of the counts from all values of a release.

    Args:
        distribution: Distribution of the released values.
        values: The released values, in the order of `distribution`.
        total: Public number of records, or None: see `NoisySums.reconstruct`.

    Raises:
        ValueError: the values do not fit `distribution`.
    """
    cells, missing = distribution.reconstruct(np.asarray(values, dtype=np.float64), total)
    return LeastSquares(cells, float(missing))


def smooth_cells(
    distribution: IntervalSums, values: Values, total: int | None, *, along_axis: bool = False
) -> FloatArray:
    """Return nonnegative empirical Bayes estimates of cells from flat histograms, trees or nested partitions.

    Each row is estimated separately by `estimate_tree`, with its total by least squares. Post-processing in any trust
    model.

    Args:
        distribution: Distribution of the released values: sums over nested intervals.
        values: The released values, in the order of `distribution`.
        total: Public number of records; None: it is private, and estimated from the counts.
        along_axis: Whether the cells are neighbours along an axis. Their density may then be smooth, and few cells are
            estimated by `estimate_cells`.

    Returns:
        Estimated counts, shape (rows, cells).

    Raises:
        ValueError: the values do not fit `distribution`, or its levels are not nested.

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
    """Return estimates of cells in which noise is shrunk, for curves of cumulated counts.

    Sums over nested intervals are estimated by `smooth_cells`, other sums by the method of their distribution.

    Args:
        distribution: Distribution of the released values.
        values: The released values, in the order of `distribution`.
        total: Public number of records; None: it is private, and estimated from the counts.
        along_axis: Whether the cells are neighbours along an axis, so that their density may be smooth.
        scale: Amount that one record adds to a value. The estimate is divided by it.

    Returns:
        Estimated counts in records, shape (rows, cells).
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
    """Return the approximate distribution of values that are divided by `scale`.

    It weights values in an estimate. Noise must not be simulated from it, because divided integer noise is not an
    integer.

    Args:
        distribution: Distribution of the released values.
        scale: Amount that one record adds to a value.
    """
    unit = Fraction(scale)

    def scale_noise(noise: Noise) -> Noise:
        """Return the noise of counts that were divided by the scale.

        Args:
            noise: Noise of the released values.
        """
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
"""The values that the estimate of the number of records uses."""


def expect_total(estimate: float, precision: float, public: int) -> float:
    """Return the expected number of records with a value, given a noisy unbiased estimate of it.

    Prior: with probability 1/2 no value is missing, so that the number is `public`; else every number from 0
    to `public` is equally likely. With little noise the result is the estimate, or `public`. With much noise the
    estimate itself may be negative, and no curve could be drawn from it.

    Args:
        estimate: Unbiased estimate of the number, with Gaussian noise, in records.
        precision: Reciprocal of the variance of the estimate; 0 if nothing was measured.
        public: Public number of all records.

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
"""A measured interval of cells: first cell, cell behind the last, measured number of records, variance of its noise."""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """Estimate of one row of cells from several rounds that counted nested intervals.

    Attributes:
        rounds: Released counts of each round, at least one, with independent noise.
        layout: Binary tree that contains all counted intervals; None: the tree of intervals along one axis.
        edges: Edges of cells of unequal width along an axis, shape (cells + 1,); None: cells have equal widths.
    """

    rounds: tuple[Evidence, ...]
    layout: Layout | None = None
    edges: FloatArray | None = None

    @classmethod
    def from_releases(cls, releases: Sequence[Release], layout: Layout | None = None) -> JointEstimate:
        """Return the joint estimate of counts from the releases of all rounds, which counted nested partitions.

        Args:
            releases: At least one release of counts of the same cells.
            layout: Binary tree that contains all counted intervals; None: the tree of intervals along one axis.
        """
        return cls(tuple(Evidence.from_release(release) for release in releases), layout)

    @cached_property
    def measurements(self) -> Measurements:
        """Noisy counts of all rounds on the nodes of the tree; counts of one node are averaged by inverse variance."""
        layout = self.layout or build_layout(self.rounds[0].interval_sums.cells)
        return merge_measurements(layout, [(evidence.interval_sums, evidence.values) for evidence in self.rounds])

    @cached_property
    def total(self) -> float:
        """Estimated number of records with a value, at least 0.

        If the number of all records is public, it is the expectation of `expect_total`, else the unbiased estimate.
        """
        estimate, precision = least_squares_total(self.measurements)
        public = self.rounds[0].total
        if public is None:
            return max(estimate, 0.0)
        missing, missing_precision = self._missing
        estimate = (estimate * precision + (public - missing) * missing_precision) / (precision + missing_precision)
        return expect_total(estimate, precision + missing_precision, public)

    @cached_property
    def tree_estimate(self) -> TreeEstimate:
        """Empirical Bayes estimates of the counts of all nodes of the tree."""
        return estimate_tree(self.measurements, self.total)

    @cached_property
    def cells(self) -> FloatArray:
        """Best estimate of each cell, shape (cells,), in records.

        Along an axis the estimate also uses a smooth density. Elsewhere a second empirical Bayes pass refines the
        first.
        """
        if self.layout is None or self.edges is not None:
            return estimate_cells(self.measurements, self.total, again=True, edges=self.edges)
        return reestimate_tree(self.measurements, self.total, self.tree_estimate).cells

    @property
    def noise(self) -> Noise:
        """Noise of each count in the first round, with which later rounds are compared."""
        return self.rounds[0].interval_sums.levels[0].noise

    @property
    def missing(self) -> float:
        """Estimated number of records without a value, from all rounds."""
        return self._missing[0]

    @cached_property
    def _missing(self) -> tuple[float, float]:
        """Estimated number of records without a value, from all rounds, and its precision, which is 0 if they were not
        counted.
        """
        noises = [evidence.interval_sums.missing for evidence in self.rounds]
        weights = [0.0 if noise is None else 1 / max(noise.variance, LEAST_VARIANCE) for noise in noises]
        values = sum(weight * evidence.values[-1] for weight, evidence in zip(weights, self.rounds, strict=True))
        return values / max(sum(weights), LEAST_VARIANCE), sum(weights)


@lru_cache(maxsize=4)  # a pure function of public facts
def build_layout(cells: int) -> DyadicLayout:
    """Return the binary tree over the cells of an axis, with separate nodes for the outermost cells; cached.

    Args:
        cells: Number of cells.
    """
    return DyadicLayout.from_cells_with_ends(cells)


@dataclass(frozen=True, eq=False)
class ConvolvedEstimate:
    """Estimate of one row of cells from several rounds, the last of which has convolved noise.

    The noise of the prefixes of the last round has a known covariance. Earlier rounds measured differences of these
    prefixes with independent noise. Generalised least squares combines both. If the number of all records is public,
    each count of missing records also measures the number of the others.

    Attributes:
        earlier_rounds: Released counts of nested partitions of the same cells.
        last_round: Released counts of single cells with convolved noise.
    """

    earlier_rounds: tuple[Evidence, ...]
    last_round: Evidence

    @cached_property
    def cells(self) -> FloatArray:
        """Best linear estimate of the count of each cell from all rounds, (cells,), in records."""
        return np.diff(self._prefixes, prepend=0.0)

    @property
    def total(self) -> float:
        """Estimated number of records with a value, at least 0."""
        return max(float(self._prefixes[-1]), 0.0)

    @cached_property
    def _distribution(self) -> ToeplitzSums:
        """Noise distribution of the last round, whose released values are sums convolved with a kernel."""
        return self.last_round.distribution.require_type(ToeplitzSums)

    @cached_property
    def _prefixes(self) -> FloatArray:
        """Best linear estimate of the number of records in the first 1, 2, ... cells, (cells,)."""
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
        """Yield all measurements of numbers of records between two edges, from all rounds, except the convolved values
        of the last round.

        Yields:
            First cell, cell behind the last, measured number of records, and variance of its noise.
        """
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
    """Return the joint estimate of counts from all rounds, of the class that the noise of the last round requires.

    Args:
        rounds: Released counts of the same cells, round by round.
        pilot_queries: Number of first rounds that chose the cells. Their intervals define the binary tree. 0: the cells
            are public, and the tree is made of intervals along one axis.
        edges: Edges of all cells if pilot queries chose them.
        uses_all_rounds: If True, the intervals of all rounds define the tree, not the intervals of pilot queries alone.
    """
    if rounds[-1].sums.is_convolved:
        return ConvolvedEstimate(rounds[:-1], rounds[-1])
    if not pilot_queries:
        return JointEstimate(rounds)
    rounds_of_tree = rounds if uses_all_rounds else rounds[:pilot_queries]
    return JointEstimate(rounds, build_nested_layout(rounds_of_tree), edges)


def build_nested_layout(rounds: Sequence[Evidence]) -> Layout:
    """Return the binary tree that has all counted intervals as nodes; any two of them must be nested or disjoint.

    Args:
        rounds: Releases of counts of intervals of the same cells, at least one.
    """
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
    """Yield a measurement for each released interval, except on levels with more than 512 intervals.

    Args:
        distribution: Distribution of a single row of interval sums.
        values: Released integers, in the order of the distribution; a missing count at the end is not read.

    Yields:
        First cell, cell behind the last, measured number of records, and variance of its noise.
    """
    offset = 0
    for level in distribution.levels:
        stops = (*level.starts[1:], distribution.cells)
        intervals = zip(level.starts, stops, values[offset : offset + len(stops)], strict=True)
        offset += len(stops)
        # earlier counts help most where intervals are wide
        if len(stops) <= 512:
            yield from ((start, end, value, level.noise.variance) for start, end, value in intervals)


def _prefix_differences(prefixes: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """Return the sum over each interval, a difference of two prefix sums, along the last axis.

    Args:
        prefixes: Sums of the first cells, up to and including each cell, shape (..., cells).
        starts: First cell of each interval.
        ends: Cell behind the last one of each interval.
    """
    prefixes_before = np.where(starts > 0, prefixes[..., starts - 1], 0.0)
    return np.asarray(prefixes[..., ends - 1] - prefixes_before)
