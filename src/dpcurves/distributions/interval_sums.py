"""Hierarchical histograms (tree aggregation): noisy sums over nested intervals, and their least-squares estimate.

The cells of an axis are counted on one or several levels. Level l divides them into disjoint intervals (a *tiling*) and
adds noise of variance v_l to the count of each; every interval is a union of intervals of the next level. One level is
a flat histogram, several are a tree. The same cells are thus counted several times with independent noise, and
`least_squares` (constrained inference) returns the estimate of all cells that fits all counts best, by two passes
over the tree:

    upwards     w = 1 / (1 / v + 1 / sum of w of the children)        estimates weighted by inverse variance
    downwards   child += (parent - sum of children) * w_child / sum of w of the children

where w is the variance of the upward estimate of an interval, and "parent" the final estimate of the interval above. A
public number of records corrects the root in the same way, together with the count of missing records.
`interval_variances` returns the exact variance of each prefix, the sum of the first i cells.

Formal guarantees: estimates are functions of released values, so they lose nothing more (post-processing). They are
linear in these values and unbiased.

Reference: Hay, Rastogi, Miklau and Suciu 2010, section 4, here for any nested tilings and any noises.

>>> from dpcurves.distributions import Family
>>> noise = Noise(Family.LAPLACE, Fraction(2))
>>> distribution = IntervalSums(1, 4, (Tier(range(0, 4, 2), noise), Tier(range(4), noise)), None)
>>> least_squares(distribution, [10, 4, 6, 1, 2, 5], total=None).cells
array([[7., 2., 1., 4.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import inf, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..codec import INLINED_FIELD
from ..queries.query import Places, places_to_array
from .output_distribution import LEAST_VARIANCE, Noise, NoisySums, Part, sum_over_intervals


@dataclass(frozen=True, slots=True)
class Tier:
    """One level of a nested histogram: intervals that partition the cells of every row, with the noise of each sum.

    Interval i is ``[starts[i], starts[i + 1])``; the last one ends with the row.

    Attributes:
        starts: First cells of the intervals, increasing from 0.
        noise: Noise of each sum.
    """

    FIELDS = MappingProxyType({"starts": "starts", INLINED_FIELD: "noise"})

    starts: Places
    noise: Noise

    @property
    def first_cells(self) -> IntArray:
        """First cells of the intervals as an integer array, (intervals,)."""
        return places_to_array(self.starts)

    def bounds(self, cells: int) -> IntArray:
        """Return the bounds of the intervals in a row of `cells` cells, (intervals + 1,).

        Args:
            cells: Number of cells of a row.
        """
        return np.append(self.first_cells, cells)


class NestedSums(NoisySums):
    """Base class of noisy sums over the intervals of nested tilings.

    Attributes:
        levels: Tilings from coarse to fine. Every interval is a union of intervals of the next level.
    """

    __slots__ = ()

    is_nested = True

    levels: tuple[Tier, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The released values by level, from coarse to fine: number of intervals per row, and the noise of their
        counts.
        """
        return tuple(Part(len(level.starts), level.noise) for level in self.levels)

    @property
    def bounds(self) -> IntArray:
        """Bounds of the intervals of the finest level, (intervals + 1,)."""
        return self.levels[-1].bounds(self.cells)


_TINY = 1e-300
"""Squared records. Lower limit of variances, near the smallest double, so that no step divides by zero."""


@lru_cache(maxsize=4)  # a pure function of public facts; the curves of all categories have one distribution
def interval_variances(distribution: NestedSums, total_is_public: bool) -> FloatArray:
    """Return the variance of each estimated prefix count of a row, in squared records, of shape ``(cells + 1,)``;
    read-only.

    A row is the histogram of one group of records; a distribution may have several, which have equal tilings and noise,
    and hence equal variances. The missing count is the noisy number of records without a value, of all rows together.
    Estimates are best linear unbiased (least squares) from all values, the missing count and, if `total_is_public`, the
    exact number of all records. Within an interval of the finest level they are interpolated linearly, and this is the
    variance of the interpolated number. If missing records were not counted, a public total gives no information on
    rows.

    *Method.* Let ``v`` be the variance of an interval's estimate from its own subtree: the inverse-variance mean of its
    own value and its children's sum. Given the total T of a node, its children are independent with variances v,
    conditioned on their sum. If the part below the edge in child j is ``a_j * x_j`` plus independent noise of variance
    ``b_j``, then in the node it is ``a * T`` plus independent noise of variance ``b``, with
    ``u = (1, ..., 1, a_j, 0, ...)``, ``a = sum(u v) / sum(v)`` and ``b = sum(u**2 v) - sum(u v)**2 / sum(v) + b_j``.
    The root above all rows has the first level's intervals of every row and the missing count as children; its total is
    known, or measured by its children alone.

    Args:
        distribution: The nested sums.
        total_is_public: True if the number of all records is public.

    Raises:
        ValueError: an interval is not a union of intervals of the next level.
    """
    variances = _combined_variances(distribution)
    interval = _interval_of_edges(distribution.levels[-1], distribution.cells)
    bounds = distribution.levels[-1].bounds(distribution.cells)
    # Fraction of each edge's interval that lies below the edge.
    slope = (np.arange(distribution.cells + 1) - bounds[interval]) / np.diff(bounds)[interval]
    residual_variance = np.zeros(distribution.cells + 1)
    for level, finer, variance in zip(
        distribution.levels[-2::-1], distribution.levels[:0:-1], variances[:0:-1], strict=True
    ):
        parent = _interval_of_edges(level, distribution.cells)
        first_child = np.append(_first_children(level, finer), len(finer.starts))
        below, squared = _weighted_variance_below(variance, first_child[parent], interval, slope)
        total = np.add.reduceat(variance, first_child[:-1])[parent]
        slope = below / total
        residual_variance = residual_variance + squared - below * (below / total)
        interval = parent
    below, squared = _weighted_variance_below(variances[0], np.zeros_like(interval), interval, slope)
    explained = below * (below / _total_variance(distribution, variances[0], total_is_public))
    row: FloatArray = np.maximum(squared + residual_variance - explained, 0)
    row.flags.writeable = False
    return row


@lru_cache(maxsize=1024)  # a pure function of public facts
def mean_interval_variance(distribution: NestedSums, total_is_public: bool) -> float:
    """Return the variance of an estimated prefix count, averaged over the edges inside a row; for a single cell, the
    variance of its count.

    Sums over the edges in each interval follow the same recursion, which is fast if intervals are few or regular.

    Args:
        distribution: Distribution of the counts of intervals.
        total_is_public: If True, the number of records is known.
    """
    if distribution.cells == 1:
        return float(interval_variances(distribution, total_is_public)[1])
    tilings = [level.starts for level in distribution.levels if isinstance(level.starts, range)]
    is_nested = all(len(coarse) == 1 or coarse.step % fine.step == 0 for coarse, fine in pairwise(tilings))
    if is_nested and len(tilings) == len(distribution.levels):  # on each level all intervals but the last one are equal
        sums, variance = _sum_regular_first_level(distribution, tilings)
    else:
        variances = _combined_variances(distribution)
        sums = _interpolated_sums(distribution.levels[-1].bounds(distribution.cells))
        variance = variances[0]
        for level, finer, finer_variance in zip(
            distribution.levels[-2::-1], distribution.levels[:0:-1], variances[:0:-1], strict=True
        ):
            sums = _sum_in_parents(sums, finer_variance, _first_children(level, finer))
    # the sum over all edges of the variance of the estimated number of records below the edge
    fraction_before = np.cumsum(variance) - variance
    mean_square = float(_moments(sums, variance, fraction_before)[3].sum() + sums.residual_variance.sum())
    total_variance = _total_variance(distribution, variance, total_is_public)
    explained = 0.0
    if total_variance < inf:
        squares = _moments(sums, variance / total_variance, fraction_before / total_variance)[2]
        explained = float(squares.sum() * total_variance)
    return (mean_square - explained) / (distribution.cells - 1)


def _total_variance(distribution: NestedSums, variance: FloatArray, total_is_public: bool) -> float:
    """Return the variance of the estimated total over all rows plus the missing count, to which a public total adds
    information.

    Infinite if the total is private or missing records were not counted: then there is no constraint that links the
    rows.

    Infinite if the total is private or missing records were not counted: then a total gives no information on rows.

    Args:
        distribution: Distribution of the counts.
        variance: Variance of the estimated total of a row.
        total_is_public: If True, the number of records is known.
    """
    if not total_is_public or distribution.missing is None:
        return inf
    return float(distribution.rows * variance.sum()) + max(distribution.missing.variance, _TINY)


def _combined_variances(distribution: NestedSums) -> list[FloatArray]:
    """Return the variance of each interval's estimate from its own subtree, from coarse to fine.

    Args:
        distribution: Distribution of the noise.

    Returns:
        For each level the variances (intervals,), in squared records.
    """
    combined = [np.full(len(distribution.levels[-1].starts), max(distribution.levels[-1].noise.variance, _TINY))]
    for level, finer in reversed(list(pairwise(distribution.levels))):
        children_variance = np.add.reduceat(combined[0], _first_children(level, finer))
        combined.insert(0, 1 / (1 / max(level.noise.variance, _TINY) + 1 / children_variance))
    return combined


def _first_children(level: Tier, finer: Tier) -> IntArray:
    """Return, for each interval of a level, the index of its first child among the intervals of the next finer level.

    Args:
        level: Coarser level.
        finer: Finer level.

    Returns:
        Indices of intervals of `finer`, (intervals of `level`,).

    Raises:
        InvalidArgument: an interval is not a union of intervals of the finer level.
    """
    starts = level.first_cells
    inner = finer.first_cells
    first_child = np.searchsorted(inner, starts)
    if first_child[-1] == len(inner) or not np.array_equal(inner[first_child], starts):
        raise InvalidArgument(
            "levels", "each interval must be a union of intervals of the next level; list levels from coarse to fine"
        )
    return first_child.astype(np.int64)


def _interval_of_edges(level: Tier, cells: int) -> IntArray:
    """Return the index of the interval that begins at or contains each edge of a row, (cells + 1,); the last edge has
    the last interval.

    Args:
        level: The tiling.
        cells: Number of cells of a row.
    """
    last = len(level.starts) - 1
    return np.append(np.repeat(np.arange(last + 1), np.diff(level.bounds(cells))), last)


def _weighted_variance_below(
    variance: FloatArray, start: IntArray, interval: IntArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return, for each edge of a row, the weighted variance of the intervals between `start` and the edge.

    With v the variance of an interval, and u = 1 for intervals below the edge and `slope` for the one that contains the
    edge, these are ``sum(u v)`` and ``sum(u**2 v)``.

    v is the variance of an interval; u is 1 below the edge, and `slope` in the interval that contains the edge.

    Args:
        variance: Variance of each interval, (intervals,).
        start: First interval of the sum, for each edge, (edges,).
        interval: Interval that contains the edge, (edges,).
        slope: Fraction of that interval below the edge, (edges,).
    """
    cumulative = np.concatenate(([0.0], np.cumsum(variance)))
    complete = cumulative[interval] - cumulative[start]
    return complete + slope * variance[interval], complete + slope**2 * variance[interval]


class _EdgeSums(NamedTuple):
    """Sums over the edges in each interval, without its end, of 1, a, a**2 and b of `interval_variances`."""

    edges: FloatArray
    slope: FloatArray
    square: FloatArray
    residual_variance: FloatArray


def _interpolated_sums(bounds: IntArray) -> _EdgeSums:
    """Return the sums over edges of the finest intervals, within which prefix counts are interpolated linearly.

    The fraction a of an interval's count below an edge is 0, 1/width, 2/width, ...

    Args:
        bounds: Bounds of the intervals, in cells, (intervals + 1,).
    """
    width = np.diff(bounds).astype(np.float64)
    return _EdgeSums(width, (width - 1) / 2, (width - 1) * (2 * width - 1) / (6 * width), np.zeros(len(width)))


def _sum_regular_first_level(distribution: NestedSums, tilings: list[range]) -> tuple[_EdgeSums, FloatArray]:
    """Return the sums over edges and the variances of the top level of a regular tree; fast, since intervals of a level
    differ only in the last one.

    Args:
        distribution: Sums over nested intervals.
        tilings: First cells of the intervals of each level, from coarse to fine.

    Returns:
        Sums over the edges of each interval of the first level, and the variances of its estimates, (intervals,).
    """
    measured_variances = [max(level.noise.variance, _TINY) for level in distribution.levels]
    width = tilings[-1].step
    sums = _interpolated_sums(np.array([0, width, width + distribution.cells - tilings[-1][-1]]))
    variance = np.full(2, measured_variances[-1])
    for (coarse, fine), own_variance in zip(reversed(list(pairwise(tilings))), measured_variances[-2::-1], strict=True):
        complete = max(1, coarse.step // fine.step)
        last_children = len(fine) - coarse[-1] // fine.step
        index = np.repeat([0, 1], [complete + last_children - 1, 1])
        first_child = np.array([0, complete])
        sums = _sum_in_parents(_select_intervals(sums, index), variance[index], first_child)
        variance = 1 / (1 / own_variance + 1 / np.add.reduceat(variance[index], first_child))
    index = np.repeat([0, 1], [len(tilings[0]) - 1, 1])
    return _select_intervals(sums, index), variance[index]


def _select_intervals(sums: _EdgeSums, index: IntArray) -> _EdgeSums:
    """Return the per-interval sums over edges for a selection of the intervals of a level.

    Args:
        sums: Sums over the edges of each interval of the level.
        index: Indices of the selected intervals, (selected,).
    """
    return _EdgeSums(*(column[index] for column in sums))


def _sum_in_parents(sums: _EdgeSums, variance: FloatArray, first_child: IntArray) -> _EdgeSums:
    """Combine sums over the edges of each interval into sums over the edges of each parent interval, one level up in
    the tree.

    Args:
        sums: Sums of the intervals of a level.
        variance: Variance of each interval's estimate, (intervals,).
        first_child: Index of the first child of each parent, (parents,).
    """
    total = np.add.reduceat(variance, first_child)
    children = np.diff(np.append(first_child, len(variance)))
    fraction = variance / np.repeat(total, children)
    fraction_before = np.cumsum(fraction) - fraction
    fraction_before -= np.repeat(fraction_before[first_child], children)
    edges, slope, square, mean_square = (
        np.add.reduceat(sum_, first_child) for sum_ in _moments(sums, fraction, fraction_before)
    )
    return _EdgeSums(
        edges, slope, square, total * (mean_square - square) + np.add.reduceat(sums.residual_variance, first_child)
    )


def _moments(
    sums: _EdgeSums, fraction: FloatArray, fraction_before: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return sums over all edges of an interval, for each interval, that the variance of prefix estimates is computed
    from.

    For an edge, a is the fraction of the interval's count below it. The sums are of 1, of ``before + a * fraction``, of
    its square, and of ``before + a**2 * fraction``.

    Args:
        sums: Sums of 1, a and a**2 over the edges of each interval.
        fraction: Weight of each interval, (intervals,): its variance, or its share of the total variance.
        fraction_before: Sum of `fraction` over the intervals to the left, (intervals,).
    """
    slope = sums.edges * fraction_before + fraction * sums.slope
    square = fraction_before * (sums.edges * fraction_before + 2 * fraction * sums.slope) + fraction**2 * sums.square
    return sums.edges, slope, square, sums.edges * fraction_before + fraction * sums.square


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Unbiased least-squares estimates of counts; some may be negative.

    Attributes:
        cells: Estimated number of records in each cell, of shape ``(rows, cells)``. All cells of an interval of the
            finest level have the same count.
        missing: Estimated number of missing records; 0 if it was not released.
    """

    cells: FloatArray
    missing: float


class LevelMeasurement(NamedTuple):
    """The released values of one level.

    Attributes:
        bounds: Bounds of its intervals, one more than intervals.
        variance: Variance of the noise of each value.
        values: Released values, (..., rows, intervals).
    """

    bounds: IntArray
    variance: float
    values: FloatArray


class UpwardPass(NamedTuple):
    """Results of the upward pass of least squares, one entry per layer, from coarse to fine.

    Attributes:
        layers: The tree.
        values: Best estimates from this layer and all below it, (..., rows, intervals).
        sums: Sums of `values` over the children of each parent, (..., rows, parents).
    """

    layers: tuple[Layer, ...]
    values: tuple[FloatArray, ...]
    sums: tuple[FloatArray, ...]


def least_squares(
    distribution: NestedSums, values: Sequence[int] | NDArray[np.int64] | FloatArray, total: int | None
) -> LeastSquares:
    """Return the best linear unbiased counts from all values, weighted by their noise.

    Exact, in two passes over the tree. Upwards: inverse-variance means of an interval's own value and the sum of its
    children. Downwards: the difference of a parent's count and this sum is shared by its children in proportion to
    their variances (Hay, Rastogi, Miklau and Suciu 2010, section 4; here for any nested tilings and any noises).

    Args:
        distribution: The distribution of the values.
        values: The released values, in the order of the distribution.
        total: The public number of records in all rows and the missing cell, else None. Without a released missing
            count it is the number in all rows; it must then be None if records may be missing or values are sums.

    Raises:
        ValueError: the values do not fit the distribution, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, IntervalSums, Tier, Noise
    >>> level = Tier(range(3), Noise(Family.LAPLACE, Fraction(1)))
    >>> least_squares(IntervalSums(1, 3, (level,), missing=None), [5, 0, 1], total=9).cells
    array([[6., 1., 2.]])
    """
    cells, missing = least_squares_batch(distribution, np.asarray(values, dtype=np.float64), total)
    return LeastSquares(cells, float(missing))


def least_squares_batch(
    distribution: NestedSums, values: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the least-squares estimates of cells for many releases under one distribution.

    Args:
        distribution: Sums over nested intervals.
        values: Released values, (..., size).
        total: Public number of records; None: it is private.

    Returns:
        Cells, (..., rows, cells), and missing records, (...).
    """
    measurements, missing = split_by_level(distribution, values)
    upward = run_upward_pass(measurements)
    totals, missing = adjust_rows_to_total(distribution, upward, missing, total)
    counts = totals[..., None]
    for layer, estimate, sums in zip(*upward, strict=True):
        counts = estimate + layer.residual_fraction * layer.repeat_for_children(counts - sums)
    return spread_over_cells(counts, upward.layers[-1].width), missing


def split_by_level(distribution: NestedSums, values: FloatArray) -> tuple[list[LevelMeasurement], FloatArray]:
    """Split released values into the noisy sums of each level, with their variances, and the missing counts (...), 0 if
    not released.

    Args:
        distribution: Distribution of the released values.
        values: Released values, (..., size).

    Raises:
        ValueError: the values do not fit the distribution.
    """
    parts, missing = split_into_parts(distribution, values)
    measurements = [
        LevelMeasurement(level.bounds(distribution.cells), level.noise.variance, part)
        for level, part in zip(distribution.levels, parts, strict=True)
    ]
    return measurements, missing


def run_upward_pass(measurements: Sequence[LevelMeasurement]) -> UpwardPass:
    """Combine each interval's own noisy count with the sum of its children by inverse variance, from the finest level
    to the coarsest (first pass of least squares).

    Args:
        measurements: Noisy sums of each level, from coarse to fine.

    Returns:
        The combined counts of all levels.
    """
    layers = build_layers(
        [measurement.bounds for measurement in measurements], [measurement.variance for measurement in measurements]
    )
    estimates = [measurements[-1].values]
    sums = [layers[-1].sum_children(measurements[-1].values)]
    for layer, measurement in zip(layers[-2::-1], measurements[-2::-1], strict=True):
        # Exact if the own value and the sum of children agree.
        estimates.append(measurement.values + (1 - layer.own_weight) * (sums[-1] - measurement.values))
        sums.append(layer.sum_children(estimates[-1]))
    return UpwardPass(layers, tuple(reversed(estimates)), tuple(reversed(sums)))


def adjust_rows_to_total(
    distribution: NestedSums, upward: UpwardPass, missing: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the estimated totals of the rows, (..., rows), and missing counts, (...), corrected by the public total if
    there is one.

    Args:
        distribution: Distribution of the counts.
        upward: Estimates of the nodes from the levels below, with the totals of rows on top.
        missing: Noisy number of records without a value, (...).
        total: Public number of records; None: it is not public.
    """
    return adjust_to_total(
        distribution, upward.sums[0][..., 0], float(upward.layers[0].parent_variance[0]), missing, total
    )


def spread_over_cells(counts: FloatArray, width: NDArray[np.int64]) -> FloatArray:
    """Return counts of cells, (..., cells): each count of a finest interval, divided evenly over its cells.

    Args:
        counts: Counts of the finest intervals, (..., intervals).
        width: Number of cells of each interval, (intervals,).
    """
    return np.repeat(counts / width, width, axis=-1)


@dataclass(frozen=True, slots=True)
class Layer:
    """A level of nested tilings relative to the level above it. The parent of the first level is the whole row.

    Attributes:
        width: Number of cells of each interval.
        first: Index of the first child of each parent.
        children: Number of children of each parent.
        own_weight: Weight of an interval's own value against the sum of its children, by inverse variance.
        variance: Variance of their weighted mean.
        parent_variance: Sum of `variance` over the children of each parent.
    """

    width: NDArray[np.int64]
    first: NDArray[np.int64]
    children: NDArray[np.int64]
    own_weight: FloatArray
    variance: FloatArray
    parent_variance: FloatArray

    @property
    def residual_fraction(self) -> FloatArray:
        """Fraction of the difference between a parent's count and its children's sum that each child gets: its share of
        the variance.

        Shape ``(intervals,)``; fractions of the children of a parent add up to 1.
        """
        return self.variance / self.repeat_for_children(self.parent_variance)

    @property
    def width_fraction(self) -> FloatArray:
        """Fraction of its parent's cells that each child has, (intervals,)."""
        return self.width / self.repeat_for_children(self.sum_children(self.width.astype(np.float64)))

    def sum_children(self, values: FloatArray) -> FloatArray:
        """Sum over the children of each parent: (..., intervals) to (..., parents).

        Args:
            values: Numbers by interval, (..., intervals).
        """
        return np.add.reduceat(values, self.first, axis=-1)

    def repeat_for_children(self, values: FloatArray) -> FloatArray:
        """Repeat each parent's value for all of its children: (..., parents) to (..., intervals).

        Args:
            values: Numbers by parent, (..., parents).
        """
        return np.repeat(values, self.children, axis=-1)


def build_layers(bounds: Sequence[IntArray], variances: Sequence[float]) -> tuple[Layer, ...]:
    """Build the layers of nested tilings, from coarse to fine.

    Args:
        bounds: Bounds of the intervals of each level, from 0 to the number of cells.
        variances: Variance of the measurements of each level; infinite if unmeasured. The finest level must be
            measured.

    Returns:
        One layer per level, from coarse to fine.

    Raises:
        ValueError: there is no level, or an interval is not a union of intervals of the next level.
    """
    if not bounds:
        raise InvalidArgument(
            "distribution", "a distribution needs at least one level of intervals; pass one, as in levels=(tier,)"
        )
    layers: list[Layer] = []
    parents = [bounds[0][[0, -1]], *bounds[:-1]]
    for level_bounds, parent, variance in reversed(list(zip(bounds, parents, variances, strict=True))):
        children_variance = layers[-1].parent_variance if layers else np.full(len(level_bounds) - 1, np.inf)
        first_child = np.searchsorted(level_bounds, parent)
        own_variance = max(variance, LEAST_VARIANCE)
        is_union = np.array_equal(level_bounds.take(first_child, mode="clip"), parent)
        if not is_union or np.any(np.diff(level_bounds) < 1):
            raise InvalidArgument(
                "distribution",
                "each interval must be a union of intervals of the next level; list levels from coarse to fine",
            )
        combined_variance = 1 / (1 / own_variance + 1 / children_variance)
        layers.append(
            Layer(
                width=np.diff(level_bounds),
                first=first_child[:-1],
                children=np.diff(first_child),
                own_weight=1 / (1 + own_variance / children_variance),
                variance=combined_variance,
                parent_variance=np.add.reduceat(combined_variance, first_child[:-1]),
            )
        )
    return tuple(reversed(layers))


def split_into_parts(distribution: NoisySums, values: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Split values (..., size) into tables (..., rows, length) per part of the distribution, and missing counts (...).

    A missing count that was not released is 0.

    Args:
        distribution: Distribution of the values.
        values: Released values, (..., size).

    Returns:
        Tables in the order of the parts, and the missing counts.

    Raises:
        ValueError: the values do not fit the distribution.
    """
    if values.shape[-1:] != (distribution.size,):
        raise InvalidArgument(
            "values",
            f"{distribution.size} values are needed, one for each number of the distribution, got an array of "
            f"shape {values.shape}",
        )
    offsets = np.cumsum([distribution.rows * part.length for part in distribution.parts], dtype=np.int64)
    *parts, missing = np.split(values, offsets, axis=-1)
    return [part.reshape(*part.shape[:-1], distribution.rows, -1) for part in parts], missing.sum(
        axis=-1
    )  # one value or none


def adjust_to_total(
    distribution: NoisySums, totals: FloatArray, row_variance: float, missing: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """Adjust totals of the rows (..., rows), of variance `row_variance`, and missing counts (...) to a public total.

    The difference to the public total is shared in proportion to their variances.

    Args:
        distribution: Distribution of the noise of the missing count.
        totals: Estimated totals of the rows, (..., rows).
        row_variance: Variance of one of them.
        missing: Missing counts, (...).
        total: Public number of records; None: nothing is changed.

    Returns:
        Totals and missing counts, of the same shapes.
    """
    if total is None:
        return totals, missing
    missing_variance = 0.0 if distribution.missing is None else max(distribution.missing.variance, LEAST_VARIANCE)
    residual = (total - totals.sum(axis=-1) - missing) / (distribution.rows * row_variance + missing_variance)
    return totals + row_variance * residual[..., None], missing + missing_variance * residual


@dataclass(frozen=True, slots=True)
class IntervalSums(NestedSums):
    """Noisy sums over intervals of cells with independent noise: flat histograms, trees, partitions.

    Order of values: level by level, within a level row by row, within a row from left to right; the missing count is
    last. The noises of released values are independent; estimates are correlated only after `reconstruct`.

    Attributes:
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
    """

    KEY = "levels"
    FIELDS = MappingProxyType({KEY: "levels"})

    rows: int
    cells: int
    levels: tuple[Tier, ...]
    missing: Noise | None

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the exact counts of the intervals of each level, which the noise is added to.

        Args:
            cells: Counts of cells, (rows, cells).

        Returns:
            One table (rows, intervals) per level, from coarse to fine.
        """
        return [sum_over_intervals(cells, level.first_cells) for level in self.levels]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Return best linear unbiased cells (..., rows, cells) and missing counts (...); see `least_squares`.

        Args:
            values: Released values, (..., size).
            total: Public number of records; None: it is not public.
        """
        return least_squares_batch(self, values, total)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Return the exact variance of each least-squares prefix, (rows, cells + 1), in squared records; see
        `interval_variances`.

        Args:
            total_is_public: Whether the number of records is public, so that the last prefix has no error.
        """
        return np.broadcast_to(interval_variances(self, total_is_public), (self.rows, self.cells + 1))

    def end_cell_deviations(self, total_is_public: bool) -> tuple[float, float]:
        """Return the noise standard deviations of the first and the last cell of a row; for the last cell an upper
        limit, the standard deviation of its released count.

        Args:
            total_is_public: Whether the number of records is public.

        Returns:
            Standard deviations of the first and of the last cell, in records.
        """
        first_deviation, last_deviation = NestedSums.end_cell_deviations(self, total_is_public)
        count_deviations = [sqrt(level.noise.variance) for level in self.levels if level.starts[-1] == self.cells - 1]
        return first_deviation, min([last_deviation, *count_deviations])

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """Return the noise variance of an estimated prefix count, averaged over the inner edges; fast if intervals are
        few or regular.

        Args:
            total_is_public: Whether the number of records is public.
        """
        return mean_interval_variance(self, total_is_public)

    @property
    def interval_distribution(self) -> IntervalSums:
        """This distribution on a coarser grid, whose cells are the finest intervals that were counted.

        >>> from fractions import Fraction
        >>> from dpcurves.distributions import Family
        >>> noise = Noise(Family.LAPLACE, Fraction(1))
        >>> distribution = IntervalSums(1, 9, (Tier((0, 6), noise), Tier(range(0, 9, 3), noise)), None)
        >>> distribution.interval_distribution.levels[0].starts
        (0, 2)
        """
        bounds = self.bounds
        if len(bounds) == self.cells + 1:
            return self
        coarse = (
            Tier(tuple(np.searchsorted(bounds, level.first_cells).tolist()), level.noise) for level in self.levels[:-1]
        )
        finest = Tier(range(len(bounds) - 1), self.levels[-1].noise)
        return replace(self, cells=len(bounds) - 1, levels=(*coarse, finest))

    @property
    def cell_noise(self) -> Noise | None:
        """The noise of each cell's count if there is a single level whose intervals are single cells; else None."""
        is_flat = len(self.levels) == 1 and len(self.levels[0].starts) == self.cells
        return self.levels[0].noise if is_flat else None

    def append_finer(self, finer: IntervalSums, starts: Sequence[int]) -> IntervalSums:
        """Return the distribution of these sums and of sums over finer cells, released together with independent noise:
        a tree with one more level.

        Args:
            finer: The distribution of the sums over finer cells, with the same number of rows.
            starts: The first finer cell of each cell, increasing from 0.

        >>> from fractions import Fraction
        >>> from dpcurves.distributions import Family
        >>> level = Tier(range(2), Noise(Family.LAPLACE, Fraction(1)))
        >>> finer = IntervalSums(1, 5, (Tier(range(5), Noise(Family.LAPLACE, Fraction(9))),), None)
        >>> [each.starts for each in IntervalSums(1, 2, (level,), None).append_finer(finer, (0, 3)).levels]
        [(0, 3), range(0, 5)]
        """
        first_cells = np.asarray(starts)
        levels = (Tier(tuple(first_cells[level.first_cells].tolist()), level.noise) for level in self.levels)
        return replace(finer, levels=(*levels, *finer.levels), missing=self.missing)

    def sum_over_parties(self, parties: int | Fraction) -> IntervalSums:
        """Return the distribution of values with the sum of one noise per party on each: `parties` times the
        variance."""
        levels = tuple(Tier(level.starts, level.noise.sum_over_parties(parties)) for level in self.levels)
        return replace(
            self, levels=levels, missing=None if self.missing is None else self.missing.sum_over_parties(parties)
        )
