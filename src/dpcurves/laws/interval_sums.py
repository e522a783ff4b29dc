"""Noisy sums over nested intervals (flat histograms, trees, partitions), and their least-squares estimate."""

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
from ..codec import INSIDE
from ..queries.query import Places, places_to_array
from .law import LEAST_VARIANCE, Noise, NoisySums, Part, sum_over_intervals


@dataclass(frozen=True, slots=True)
class Tier:
    """Intervals that partition the cells of every row, and the noise of each of their sums.

    Interval i is ``[starts[i], starts[i + 1])``; the last one ends with the row.
    """

    FIELDS = MappingProxyType({"starts": "starts", INSIDE: "noise"})

    starts: Places
    noise: Noise

    @property
    def first_cells(self) -> IntArray:
        """The first cells of the intervals."""
        return places_to_array(self.starts)

    def bounds(self, cells: int) -> IntArray:
        """The ends of the intervals: one more than there are intervals."""
        return np.append(self.first_cells, cells)


class NestedSums(NoisySums):
    """Sums over the intervals of nested tilings.

    Attributes:
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
    """

    __slots__ = ()

    is_nested = True

    levels: tuple[Tier, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The levels."""
        return tuple(Part(len(level.starts), level.noise) for level in self.levels)

    @property
    def bounds(self) -> IntArray:
        """The ends of the intervals of the last level."""
        return self.levels[-1].bounds(self.cells)


_TINY = 1e-300
"""Stands for the variance of noise that is too small for a double, so that no step divides by zero."""


def interval_variances(law: NestedSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    Estimates are best linear unbiased ones (least squares) from all values, the missing cell and, if
    `total_is_public`, the exact number of all records. Inside an interval that was counted as one they are interpolated
    linearly, and this is the variance of what is interpolated. Where missing records were not counted, a public total
    tells nothing about the rows.

    Let ``v`` be the variance of an interval's estimate from its own subtree: the inverse-variance mean of its own
    measurement and its children's sum. Given the total T of a node, its children are independent with variances v,
    conditioned on their sum. If what lies below the edge in child j is ``a_j * x_j`` plus independent noise of
    variance ``b_j``, then in the node it is ``a * T`` plus independent noise of variance ``b``, with
    ``u = (1, ..., 1, a_j, 0, ...)``, ``a = sum(u v) / sum(v)`` and ``b = sum(u**2 v) - sum(u v)**2 / sum(v) + b_j``.
    The node above all rows has the first level's intervals of every row and the missing cell as children; its total is
    known, or nothing more is known than its children tell.

    Raises:
        ValueError: an interval is not a union of intervals of the next level.
    """
    variances = _combined_variances(law)
    node, bounds = _interval_of_edges(law.levels[-1], law.cells), law.levels[-1].bounds(law.cells)
    slope = (np.arange(law.cells + 1) - bounds[node]) / np.diff(bounds)[node]  # of each edge's interval, what is below
    spread = np.zeros(law.cells + 1)
    for level, finer, variance in zip(law.levels[-2::-1], law.levels[:0:-1], variances[:0:-1], strict=True):
        parent = _interval_of_edges(level, law.cells)
        first = np.append(_first_children(level, finer), len(finer.starts))
        below, square = _weighted_variance_below(variance, first[parent], node, slope)
        total = np.add.reduceat(variance, first[:-1])[parent]
        slope, spread = below / total, spread + square - below * (below / total)
        node = parent
    below, square = _weighted_variance_below(variances[0], np.zeros_like(node), node, slope)
    known = below * (below / _total_variance(law, variances[0], total_is_public))
    row: FloatArray = np.maximum(square + spread - known, 0)
    return row


@lru_cache(maxsize=1024)  # a pure function of public facts
def mean_interval_variance(law: NestedSums, total_is_public: bool) -> float:
    """Mean of `interval_variances` over inner edges; where there is one cell, its variance.

    By the same recursion, on sums over the edges inside each interval: as fast as there are few intervals, or few kinds
    of them.
    """
    if law.cells == 1:
        return float(interval_variances(law, total_is_public)[1])
    regular = _regular_tilings(law)
    sums, variance = _sum_regular_first_level(law, regular) if regular else _sum_first_level(law)
    everything = _total_variance(law, variance, total_is_public)
    return _sum_below_root(sums, variance, everything) / (law.cells - 1)


def _total_variance(law: NestedSums, variance: FloatArray, total_is_public: bool) -> float:
    """Variance of the sum of all that the total consists of; infinite if knowing the total tells nothing."""
    if not total_is_public or law.missing is None:
        return inf
    return float(law.rows * variance.sum()) + max(law.missing.variance, _TINY)


def _combined_variances(law: NestedSums) -> list[FloatArray]:
    """Variance of each interval's estimate from its own subtree; from coarse to fine."""
    combined = [_own_variance(law.levels[-1])]
    for level, finer in reversed(list(pairwise(law.levels))):
        of_children = np.add.reduceat(combined[0], _first_children(level, finer))
        combined.insert(0, 1 / (1 / _own_variance(level) + 1 / of_children))
    return combined


def _own_variance(level: Tier) -> FloatArray:
    return np.full(len(level.starts), max(level.noise.variance, _TINY))


def _first_children(level: Tier, finer: Tier) -> IntArray:
    """The numbers of the intervals of `finer` at which the intervals of `level` start."""
    starts, inner = level.first_cells, finer.first_cells
    first = np.searchsorted(inner, starts)
    if first[-1] == len(inner) or not np.array_equal(inner[first], starts):
        raise InvalidArgument("levels", "every interval is a union of intervals of the next level")
    return first.astype(np.int64)


def _interval_of_edges(level: Tier, cells: int) -> IntArray:
    """The interval that each edge lies in: the one to its right, at the end the last one."""
    last = len(level.starts) - 1
    return np.append(np.repeat(np.arange(last + 1), np.diff(level.bounds(cells))), last)


def _weighted_variance_below(
    variance: FloatArray, first: IntArray, node: IntArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``sum(u v)`` and ``sum(u**2 v)`` over the intervals from `first` to `node`."""
    running = np.concatenate(([0.0], np.cumsum(variance)))
    whole = running[node] - running[first]
    return whole + slope * variance[node], whole + slope**2 * variance[node]


class _EdgeSums(NamedTuple):
    """Sums over the edges in each interval, from its start to before its end: of 1, a, a**2 and b."""

    edges: FloatArray
    slope: FloatArray
    square: FloatArray
    residual_variance: FloatArray


def _interpolated_sums(bounds: IntArray) -> _EdgeSums:
    """Sum over the edges of intervals that are interpolated linearly: a is 0, 1/width, 2/width, ..."""
    width = np.diff(bounds).astype(np.float64)
    return _EdgeSums(width, (width - 1) / 2, (width - 1) * (2 * width - 1) / (6 * width), np.zeros(len(width)))


def _sum_first_level(law: NestedSums) -> tuple[_EdgeSums, FloatArray]:
    """Sums, and variances, of the intervals of the first level."""
    variances = _combined_variances(law)
    sums = _interpolated_sums(law.levels[-1].bounds(law.cells))
    for level, finer, variance in zip(law.levels[-2::-1], law.levels[:0:-1], variances[:0:-1], strict=True):
        sums = _sum_in_parents(sums, variance, _first_children(level, finer))
    return sums, variances[0]


def _regular_tilings(law: NestedSums) -> list[range]:
    """The tilings, if all intervals of each level are alike, but for the last one; else none."""
    tilings = [level.starts for level in law.levels if isinstance(level.starts, range)]
    nested = all(len(coarse) == 1 or coarse.step % fine.step == 0 for coarse, fine in pairwise(tilings))
    return tilings if nested and len(tilings) == len(law.levels) else []


def _sum_regular_first_level(law: NestedSums, tilings: list[range]) -> tuple[_EdgeSums, FloatArray]:
    """Sums and variances of a regular law: two intervals of each level stand for all, a whole one and the last one."""
    own = [max(level.noise.variance, _TINY) for level in law.levels]
    width = tilings[-1].step
    sums = _interpolated_sums(np.array([0, width, width + law.cells - tilings[-1][-1]]))
    variance = np.full(2, own[-1])
    for (coarse, fine), measured in zip(reversed(list(pairwise(tilings))), own[-2::-1], strict=True):
        whole = max(1, coarse.step // fine.step)
        last = len(fine) - coarse[-1] // fine.step
        kind, first = np.repeat([0, 1], [whole + last - 1, 1]), np.array([0, whole])
        sums = _sum_in_parents(_select_intervals(sums, kind), variance[kind], first)
        variance = 1 / (1 / measured + 1 / np.add.reduceat(variance[kind], first))
    kind = np.repeat([0, 1], [len(tilings[0]) - 1, 1])
    return _select_intervals(sums, kind), variance[kind]


def _select_intervals(sums: _EdgeSums, kind: IntArray) -> _EdgeSums:
    return _EdgeSums(*(each[kind] for each in sums))


def _sum_in_parents(sums: _EdgeSums, variance: FloatArray, first: IntArray) -> _EdgeSums:
    """Sum over the intervals of the level above."""
    total = np.add.reduceat(variance, first)
    children = np.diff(np.append(first, len(variance)))
    part = variance / np.repeat(total, children)
    before = np.cumsum(part) - part
    before -= np.repeat(before[first], children)
    edges, slope, square, reading = (np.add.reduceat(sum_, first) for sum_ in _moments(sums, part, before))
    return _EdgeSums(edges, slope, square, total * (reading - square) + np.add.reduceat(sums.residual_variance, first))


def _sum_below_root(sums: _EdgeSums, variance: FloatArray, everything: float) -> float:
    before = np.cumsum(variance) - variance
    reading = float(_moments(sums, variance, before)[3].sum() + sums.residual_variance.sum())
    known = _moments(sums, variance / everything, before / everything)[2].sum() * everything if everything < inf else 0
    return reading - float(known)


def _moments(
    sums: _EdgeSums, part: FloatArray, before: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums over edges of 1, ``before + a * part``, its square, and ``before + a**2 * part``."""
    slope = sums.edges * before + part * sums.slope
    square = before * (sums.edges * before + 2 * part * sums.slope) + part**2 * sums.square
    return sums.edges, slope, square, sums.edges * before + part * sums.square


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: An array (rows, cells). Within an interval of the finest level, all cells have the same count.
        missing: How many records are missing; 0 if it was not asked.
    """

    cells: FloatArray
    missing: float


class LevelMeasurement(NamedTuple):
    """The released values of one level.

    Attributes:
        bounds: The ends of its intervals: one more than there are intervals.
        variance: The variance of each value.
        values: (..., rows, intervals).
    """

    bounds: IntArray
    variance: float
    values: FloatArray


class UpwardPass(NamedTuple):
    """Least-squares values seen from below. Each has one entry per layer, from coarse to fine.

    Attributes:
        layers: The tree.
        values: (..., rows, intervals): the best estimate from this layer and all below it.
        sums: (..., rows, parents): the sum of `values` over the children of each parent.
    """

    layers: tuple[Layer, ...]
    values: tuple[FloatArray, ...]
    sums: tuple[FloatArray, ...]


def least_squares(
    law: NestedSums, values: Sequence[int] | NDArray[np.int64] | FloatArray, total: int | None
) -> LeastSquares:
    """The best linear unbiased counts, from all values together, each weighed by its noise.

    Exact in two passes over the tree. Upwards: inverse-variance means of an interval's own value and of the sum of
    its children. Downwards: what a parent's count has more than this sum is shared by its children in proportion to
    their variances (Hay, Rastogi, Miklau and Suciu 2010, section 4; here for any nested tilings and any noises).

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: How many records all rows and the missing cell have together, where that is public. If the missing
            cell was not asked, all rows: give None if records may be missing, or if the values are sums of something.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, IntervalSums, Tier, Noise
    >>> level = Tier(range(3), Noise(Family.LAPLACE, Fraction(1)))
    >>> least_squares(IntervalSums(1, 3, (level,), missing=None), [5, 0, 1], total=9).cells
    array([[6., 1., 2.]])
    """
    cells, missing = least_squares_batch(law, np.asarray(values, dtype=np.float64), total)
    return LeastSquares(cells, float(missing))


def least_squares_batch(law: NestedSums, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
    """Least squares of many releases under one law: (..., size) to cells (..., rows, cells) and missing (...)."""
    readings, missing = split_by_level(law, values)
    ascent = run_upward_pass(readings)
    totals, missing = adjust_rows_to_total(law, ascent, missing, total)
    counts = totals[..., None]
    for layer, estimate, sums in zip(*ascent, strict=True):
        counts = estimate + layer.residual_fraction * layer.repeat_for_children(counts - sums)
    return spread_over_cells(counts, ascent.layers[-1].width), missing


def split_by_level(law: NestedSums, values: FloatArray) -> tuple[list[LevelMeasurement], FloatArray]:
    """The readings of all levels, and the missing count (...), which is 0 if it was not asked.

    Raises:
        ValueError: the values do not fit the law.
    """
    parts, missing = split_into_parts(law, values)
    readings = [
        LevelMeasurement(level.bounds(law.cells), level.noise.variance, part)
        for level, part in zip(law.levels, parts, strict=True)
    ]
    return readings, missing


def run_upward_pass(readings: Sequence[LevelMeasurement]) -> UpwardPass:
    """The upward pass."""
    layers = build_layers([reading.bounds for reading in readings], [reading.variance for reading in readings])
    best, sums = [readings[-1].values], [layers[-1].sum_children(readings[-1].values)]
    for layer, reading in zip(layers[-2::-1], readings[-2::-1], strict=True):
        best.append(reading.values + (1 - layer.own_weight) * (sums[-1] - reading.values))  # exact where the two agree
        sums.append(layer.sum_children(best[-1]))
    return UpwardPass(layers, tuple(reversed(best)), tuple(reversed(sums)))


def adjust_rows_to_total(
    law: NestedSums, ascent: UpwardPass, missing: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """The totals of the rows, (..., rows), and the missing count, which agree with the public total if there is one."""
    return adjust_to_total(law, ascent.sums[0][..., 0], float(ascent.layers[0].parent_variance[0]), missing, total)


def spread_over_cells(counts: FloatArray, width: NDArray[np.int64]) -> FloatArray:
    """Counts of the finest intervals, evenly over their cells, of which each has `width`."""
    return np.repeat(counts / width, width, axis=-1)


@dataclass(frozen=True, slots=True)
class Layer:
    """A level of nested tilings, seen from the level above it. The parent of the first level is the whole row.

    Attributes:
        width: Cells of each interval.
        first: Number of the first child of each parent.
        children: How many children each parent has.
        own_weight: Weight of an interval's own value against the sum of its children, by inverse variance.
        variance: The variance of the two together.
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
        """The part of its parent's residual that a child takes: that of its variance."""
        return self.variance / self.repeat_for_children(self.parent_variance)

    @property
    def width_fraction(self) -> FloatArray:
        """The part of its parent's cells that a child has."""
        return self.width / self.repeat_for_children(self.sum_children(self.width.astype(np.float64)))

    def sum_children(self, values: FloatArray) -> FloatArray:
        """Over the children of each parent: (..., intervals) to (..., parents)."""
        return np.add.reduceat(values, self.first, axis=-1)

    def repeat_for_children(self, values: FloatArray) -> FloatArray:
        """Each parent's value to all of its children: (..., parents) to (..., intervals)."""
        return np.repeat(values, self.children, axis=-1)


def build_layers(bounds: Sequence[IntArray], variances: Sequence[float]) -> tuple[Layer, ...]:
    """The layers of nested tilings, from coarse to fine, whose intervals were measured with these variances.

    Args:
        bounds: The ends of the intervals of each level; the first of them is 0, the last one the number of cells.
        variances: One per level; infinite where nothing was measured. The finest level was.

    Raises:
        ValueError: there is no level, or an interval is not a union of intervals of the next level.
    """
    if not bounds:
        raise InvalidArgument("law", "at least one level is needed to estimate cells")
    layers: list[Layer] = []
    parents = [bounds[0][[0, -1]], *bounds[:-1]]
    for own, parent, variance in reversed(list(zip(bounds, parents, variances, strict=True))):
        below = layers[-1].parent_variance if layers else np.full(len(own) - 1, np.inf)
        layers.append(_build_layer(own, parent, max(variance, LEAST_VARIANCE), below))
    return tuple(reversed(layers))


def _build_layer(bounds: IntArray, parent: IntArray, own: float, below: FloatArray) -> Layer:
    first = np.searchsorted(bounds, parent)
    if not np.array_equal(bounds.take(first, mode="clip"), parent) or np.any(np.diff(bounds) < 1):
        raise InvalidArgument("law", "every interval must be a union of intervals of the next level")
    variance = 1 / (1 / own + 1 / below)
    return Layer(
        width=np.diff(bounds), first=first[:-1], children=np.diff(first), own_weight=1 / (1 + own / below),
        variance=variance, parent_variance=np.add.reduceat(variance, first[:-1]),
    )  # fmt: skip


def split_into_parts(law: NoisySums, values: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Values (..., size) as tables (..., rows, length), one for each part of the law, and missing counts (...).

    A missing count that was not asked for is 0.

    Raises:
        ValueError: the values do not fit the law.
    """
    if values.shape[-1:] != (law.size,):
        raise InvalidArgument("values", f"{law.size} are needed to fit the law, got an array of shape {values.shape}")
    ends = np.cumsum([law.rows * part.length for part in law.parts], dtype=np.int64)
    *parts, rest = np.split(values, ends, axis=-1)
    return [part.reshape(*part.shape[:-1], law.rows, -1) for part in parts], rest.sum(axis=-1)  # one value or none


def adjust_to_total(
    law: NoisySums, totals: FloatArray, row_variance: float, missing: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """Totals of the rows (..., rows), of variance `row_variance`, and missing counts (...), that agree with a public total.

    What the public total has more than all of them is shared in proportion to their variances.
    """
    if total is None:
        return totals, missing
    apart = 0.0 if law.missing is None else max(law.missing.variance, LEAST_VARIANCE)
    residual = (total - totals.sum(axis=-1) - missing) / (law.rows * row_variance + apart)
    return totals + row_variance * residual[..., None], missing + apart * residual


@dataclass(frozen=True, slots=True)
class IntervalSums(NestedSums):
    """Noisy sums over intervals of cells, each with noise of its own: flat histograms, trees, partitions.

    The order of values: level by level, in it row by row, in it from left to right; the missing cell comes last. The
    noises of released values are independent; estimates are correlated only after `reconstruct`.

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
        """Sums over the intervals of each level."""
        return [sum_over_intervals(cells, level.first_cells) for level in self.levels]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Least squares; see `least_squares`."""
        return least_squares_batch(self, values, total)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Exact variances of least squares; see `interval_variances`."""
        return np.broadcast_to(interval_variances(self, total_is_public), (self.rows, self.cells + 1))

    def end_cell_deviations(self, total_is_public: bool) -> tuple[float, float]:
        """Standard deviations of the counts of both end cells: of the last one no more than that of its own count."""
        first, last = NestedSums.end_cell_deviations(self, total_is_public)
        alone = [sqrt(level.noise.variance) for level in self.levels if level.starts[-1] == self.cells - 1]
        return first, min([last, *alone])

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """The mean of `prefix_variances`: as fast as there are few intervals, or few kinds of them."""
        return mean_interval_variance(self, total_is_public)

    @property
    def interval_law(self) -> IntervalSums:
        """The law with the finest intervals as its cells.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> noise = Noise(Family.LAPLACE, Fraction(1))
        >>> law = IntervalSums(1, 9, (Tier((0, 6), noise), Tier(range(0, 9, 3), noise)), None)
        >>> law.interval_law.levels[0].starts
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
        """The noise of each cell, where there is one level, of single cells; else None."""
        flat = len(self.levels) == 1 and len(self.levels[0].starts) == self.cells
        return self.levels[0].noise if flat else None

    def append_finer(self, finer: IntervalSums, starts: Sequence[int]) -> IntervalSums:
        """The law of these sums and, after them, of those over finer cells, all of independent noise.

        Args:
            finer: The law of the sums over finer cells, in as many rows.
            starts: The first finer cell of each cell, rising from 0.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> level = Tier(range(2), Noise(Family.LAPLACE, Fraction(1)))
        >>> finer = IntervalSums(1, 5, (Tier(range(5), Noise(Family.LAPLACE, Fraction(9))),), None)
        >>> [each.starts for each in IntervalSums(1, 2, (level,), None).append_finer(finer, (0, 3)).levels]
        [(0, 3), range(0, 5)]
        """
        first = np.asarray(starts)
        levels = (Tier(tuple(first[level.first_cells].tolist()), level.noise) for level in self.levels)
        return replace(finer, levels=(*levels, *finer.levels), missing=self.missing)

    def sum_over_parties(self, parties: int | Fraction) -> IntervalSums:
        """The law of the sum of so many such noises on each value, one by each party."""
        levels = tuple(Tier(level.starts, level.noise.sum_over_parties(parties)) for level in self.levels)
        return replace(
            self, levels=levels, missing=None if self.missing is None else self.missing.sum_over_parties(parties)
        )
