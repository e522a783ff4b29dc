"""The graph of a curve's noises and steps, and linear equations on it that are solved in linear time.

Isotonic projection of curves with tree-shaped noise uses it. Step i is the rise from point i - 1 to point i. A noise z
on the points a, ..., b - 1 raises step a and lowers step b, so it is an edge between these two steps. Blocks of noises
do not cross, so the graph is outerplanar. Its weighted Laplacian

    K = D V D'      D: noises to steps, V: variances of the noises

has an elimination order in which each vertex has at most two neighbours. `Elimination` has its LDL factors: solving
``(K + diag(g)) p = b`` is one sweep in this order and one back.

`build_prefix_graph` and `estimate_nested_prefixes` give the noises of prefixes that are sums of the fewest released
intervals (the binary mechanism of Chan, Shi and Song 2011).

Formal guarantees: functions of public distributions and released numbers.

References: Chan, Shi and Song 2011; Barczewski, Mawass and Ramon, equation 3.

>>> repeat_variances([np.array([0, 2, 4]), np.arange(5)], [1.0, 2.0])  # of two blocks, then of four
array([1., 1., 2., 2., 2., 2.])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray, compile_loop
from ..distributions import IntervalSums, NoisySums

Indices = NDArray[np.int32]


class NoiseBlocks(NamedTuple):
    """Independent noises, each added to a block of consecutive points; arrays of shape ``(blocks,)``.

    Attributes:
        first: First point of each block.
        last: End of each block, exclusive.
        variance: Variance of each noise; the sum of variances if several noises have the same block.
        largest: Largest of these variances.
    """

    first: Indices
    last: Indices
    variance: FloatArray
    largest: FloatArray


class EdgeSlots(NamedTuple):
    """Endpoints of the possible edges of a graph, and the elimination order of its vertices.

    The first slots, one for each point, join neighbouring steps. Each further slot is created by the elimination of the
    vertex inside it, in this order. The last slot joins the first step with the last.

    Attributes:
        lower: First step of each slot, (2 * points - 1,).
        upper: Last step of each slot.
        left_slot: The slot between `lower` and the vertex inside, (points - 1,), for all slots that do not join
            neighbours.
        right_slot: The slot between the vertex inside and `upper`.
    """

    lower: Indices
    upper: Indices
    left_slot: Indices
    right_slot: Indices


@dataclass(frozen=True, slots=True, eq=False)
class NoiseGraph:
    """The graph of independent noises on blocks of points of a curve, of which no two cross.

    The vertices are the steps of the curve. Step i is the increase from point i - 1 to point i, step 0 the increase
    from 0 to the first point, and step ``points`` the distance from the last point to its ceiling. A noise on the
    points ``a`` to ``b - 1`` raises step ``a`` and lowers step ``b``: it is an edge between them. Edges that do not
    cross form an outerplanar graph. Its vertices can be eliminated in an order in which each has two neighbours, so
    elimination adds no edge but one between these two.

    Attributes:
        points: The number of points of the curve.
        slots: Possible edges.
        variance: The total variance of the noises in each slot; 0 without noise.
        largest: The largest variance of one noise in each slot.
    """

    points: int
    slots: EdgeSlots
    variance: FloatArray
    largest: FloatArray

    def restrict_to_points(self, points: Sequence[int] | NDArray[np.integer]) -> NoiseGraph:
        """Return the graph of the same noises for a curve at these points alone, which smooths a subset of thresholds.

        The other points are unconstrained. Noises that affect the same remaining points are merged.

        Args:
            points: Indices of the remaining points, increasing.

        Raises:
            ValueError: `points` is empty, or not increasing from 0 or more to below the number of points.
        """
        selected = np.asarray(points, dtype=np.int64)
        if (
            selected.ndim != 1
            or not len(selected)
            or selected[0] < 0
            or selected[-1] >= self.points
            or np.any(np.diff(selected) < 1)
        ):
            raise InvalidArgument(
                "points", f"rising indices of points from 0 to {self.points - 1} are needed, as in [0, 2]"
            )
        before = np.searchsorted(selected, np.arange(self.points + 1)).astype(np.int32)
        first, last = before[self.slots.lower], before[self.slots.upper]
        nonempty = (first < last) & (self.variance > 0)
        return _assemble_graph(
            len(selected), NoiseBlocks(first[nonempty], last[nonempty], self.variance[nonempty], self.largest[nonempty])
        )


def build_noise_graph(points: int, first: ArrayLike, last: ArrayLike, variance: ArrayLike) -> NoiseGraph:
    """Return the graph of noises that are each added to the points from ``first`` to ``last - 1``.

    Args:
        points: The number of points of the curve.
        first: The first point of the block of each noise.
        last: The end of the block of each noise, exclusive.
        variance: The variance of each noise, or one value for all. Noises of variance 0 are ignored.

    Raises:
        ValueError: a block is empty or outside of the points, a variance is negative or not finite, or two blocks
            cross: they overlap, and neither contains the other.

    >>> build_noise_graph(4, [0, 0, 2], [4, 2, 4], 3.0).variance
    array([0., 0., 0., 0., 3., 3., 3.])
    """
    starts = np.asarray(first, dtype=np.int64)
    ends = np.asarray(last, dtype=np.int64)
    variances = np.broadcast_to(np.asarray(variance, dtype=np.float64), starts.shape)
    if points < 1:
        raise InvalidArgument("points", f"at least 1 point is needed, as in 8, got {points}")
    if starts.shape != ends.shape or starts.ndim != 1 or np.any((starts < 0) | (starts >= ends) | (ends > points)):
        raise InvalidArgument(
            "first, last",
            f"blocks of at least one point between 0 and {points} are needed: each first must be below its last",
        )
    if not np.all((variances >= 0) & np.isfinite(variances)):
        raise InvalidArgument("variance", "finite variances of at least 0 are needed, as in 3.0")
    positive = variances > 0
    noisy = NoiseBlocks(
        starts[positive].astype(np.int32), ends[positive].astype(np.int32), variances[positive], variances[positive]
    )
    return _assemble_graph(points, noisy)


def _assemble_graph(points: int, blocks: NoiseBlocks) -> NoiseGraph:
    """Build the graph of noises that are each added to a block of consecutive points of a curve.

    Args:
        points: Number of points.
        blocks: First point, end and variance of each noise.

    Raises:
        ValueError: two blocks cross.
    """
    count = 2 * points - 1
    slots = EdgeSlots(*(np.empty(length, dtype=np.int32) for length in (count, count, points - 1, points - 1)))
    variance = np.zeros(count)
    largest = np.zeros(count)
    order = _order_inner_first(points, blocks.first, blocks.last)
    if not _fill_slots(order, blocks, slots, variance, largest):
        raise InvalidArgument(
            "first, last", "two blocks overlap, and neither contains the other; give nested or disjoint blocks"
        )
    return NoiseGraph(points, slots, variance, largest)


@compile_loop
def _order_inner_first(points: int, first: Indices, last: Indices) -> Indices:
    """Return the order of blocks by their ends, and among equal ends by increasing length: two counting sorts.

    Args:
        points: Number of points of the curve.
        first: First point of each block.
        last: Point after the last of each block.

    Returns:
        Indices of the blocks in that order.
    """
    order = np.arange(len(first)).astype(np.int32)
    for descending, key in ((True, first), (False, last)):
        start = np.zeros(points + 2, dtype=np.int64)
        for k in key:
            start[(points - k if descending else k) + 1] += 1
        start = np.cumsum(start)
        sorted_order = np.empty_like(order)
        for block in order:
            key_value = points - key[block] if descending else key[block]
            sorted_order[start[key_value]] = block
            start[key_value] += 1
        order = sorted_order
    return order


@compile_loop
def _fill_slots(
    order: Indices, blocks: NoiseBlocks, slots: EdgeSlots, variance: FloatArray, largest: FloatArray
) -> bool:
    """Find, in one sweep from left to right, an elimination order of the steps without fill-in, and fill the graph's
    edges; return False if two blocks of noise cross.

    A stack holds the steps that are not yet eliminated, each with the slot to the step before. A block eliminates the
    steps inside it, from the last to the first.

    Args:
        order: Order in which the blocks are met.
        blocks: Noises, each of which changes the step before and the step after a block.
        slots: Edges of the graph, filled here: each joins a lower and an upper step.
        variance: Variance of the noises of each edge, to which theirs are added.
        largest: Largest variance of a noise of each edge, updated.
    """
    points = len(slots.left_slot) + 1
    open_steps = np.zeros(points + 1, dtype=np.int32)
    open_slots = np.zeros(points + 1, dtype=np.int32)
    top = 0
    block = 0
    next_slot = points
    for end in range(1, points + 1):
        slot = end - 1
        slots.lower[slot], slots.upper[slot] = end - 1, end
        while True:
            noisy = block < len(order) and blocks.last[order[block]] == end
            if not noisy and (end < points or open_steps[top] == 0):
                break
            start = blocks.first[order[block]] if noisy else 0  # after the last block, eliminate all remaining steps
            while open_steps[top] > start:
                slots.left_slot[next_slot - points], slots.right_slot[next_slot - points] = open_slots[top], slot
                slots.lower[next_slot], slots.upper[next_slot] = open_steps[top - 1], end
                slot = next_slot
                next_slot = next_slot + 1
                top = top - 1
            if open_steps[top] != start:
                return False
            if noisy:
                variance[slot] += blocks.variance[order[block]]
                largest[slot] = max(largest[slot], blocks.largest[order[block]])
                block += 1
        top += 1
        open_steps[top], open_slots[top] = end, slot
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """LDL factors of ``K + diag(ground)``, where K is the weighted Laplacian of the noise graph.

    The factorisation only adds non-negative numbers, so every factor is exact to a few roundings, however far apart the
    weights are.

    Attributes:
        graph: The eliminated graph.
        weight: The weight of each slot, with the effect of all eliminated vertices inside it.
        inverse_pivot: The inverse pivot of each step; 0 for steps fixed at zero.
    """

    graph: NoiseGraph
    weight: FloatArray
    inverse_pivot: FloatArray

    @classmethod
    def from_graph(cls, graph: NoiseGraph, weight: FloatArray, ground: FloatArray) -> Elimination:
        """Factorise the graph's linear equations by Gaussian elimination of all steps in an order without fill-in.

        Args:
            graph: The graph of the noise.
            weight: The weight of each edge, non-negative.
            ground: The diagonal term (weight to the ground) of each step, non-negative. A step is fixed at zero if it
                is infinite; likewise one step in each connected component without any ground.
        """
        folded = weight.copy()
        pivot = ground.copy()
        _eliminate(graph.slots, folded, pivot)
        return cls(graph, folded, pivot)

    def solve(self, right_hand: FloatArray) -> FloatArray:
        """Return the solution of the factored linear equations, of shape ``(points + 1,)``.

        Args:
            right_hand: Right-hand side, of the same shape.
        """
        solution = right_hand.copy()
        _substitute(self.graph.slots, self.weight, self.inverse_pivot, solution)
        return solution


@compile_loop
def _eliminate(slots: EdgeSlots, weight: FloatArray, pivot: FloatArray) -> None:
    """Factorise the equations of the graph by eliminating all steps (Gauss), in place.

    Args:
        slots: Edges in the order of elimination.
        weight: Weight of each edge; weights of eliminated edges are added to those that replace them.
        pivot: Weight of each step to the ground on entry; inverse pivots on return; infinite: the step is fixed.
    """
    points = len(slots.left_slot) + 1
    for i in range(points):
        inner = i < points - 1  # the last round eliminates the upper step of the last slot
        slot = slots.left_slot[i] if inner else 2 * points - 2
        step = slots.upper[slot]
        to_left = weight[slot]
        to_right = weight[slots.right_slot[i]] if inner else 0.0
        total = to_left + to_right + pivot[step]
        is_fixed = np.isinf(total) or total == 0
        inverse = 0.0 if is_fixed else 1 / total
        passed = 1.0 if is_fixed else pivot[step] * inverse
        pivot[step] = inverse
        pivot[slots.lower[points + i] if inner else 0] += to_left * passed
        if inner:
            pivot[slots.upper[points + i]] += to_right * passed
            weight[points + i] += to_left * to_right * inverse
    pivot[0] = 0.0 if np.isinf(pivot[0]) or pivot[0] == 0 else 1 / pivot[0]


@compile_loop
def _substitute(slots: EdgeSlots, weight: FloatArray, inverse: FloatArray, value: FloatArray) -> None:
    """Solve the factored equations, in place: `value` contains the right-hand side on entry and the solution on
    return.

    Args:
        slots: Edges in the order of elimination.
        weight: Weights that `_eliminate` left.
        inverse: Inverse pivots that `_eliminate` left.
        value: Right-hand side on entry, solution on return, (steps,).
    """
    last = len(value) - 1
    for i in range(last - 1):
        left = slots.left_slot[i]
        right = slots.right_slot[i]
        share = value[slots.upper[left]] * inverse[slots.upper[left]]
        value[slots.lower[last + i]] += share * weight[left]
        value[slots.upper[last + i]] += share * weight[right]
    across = weight[-1]
    value[0] = (value[0] + value[last] * inverse[last] * across) * inverse[0]
    value[last] = (value[last] + across * value[0]) * inverse[last]
    for i in range(last - 2, -1, -1):
        left = slots.left_slot[i]
        right = slots.right_slot[i]
        inflow = weight[left] * value[slots.lower[last + i]] + weight[right] * value[slots.upper[last + i]]
        value[slots.upper[left]] = (value[slots.upper[left]] + inflow) * inverse[slots.upper[left]]


# The prefixes that contain the noise of each block of cells.


def build_prefix_graph(bounds: Sequence[IntArray], variances: Sequence[float]) -> NoiseGraph:
    """Return the graph in which the prefix up to each cell has the noises of the fewest blocks that make it up.

    The blocks are the root, if the prefix ends with the root; else the children to the left of the child that contains
    its end, and so on recursively (Chan, Shi and Song 2011, with arity 2). So the noise of a block is added to the
    points from its end to before its parent's end. Blocks that end with their parent are not used, and need not be
    released.

    Args:
        bounds: The bounds of the blocks of each level, from coarse to fine: nested tilings.
        variances: One per level.

    Raises:
        ValueError: levels are not nested, or the number of variances is not the number of levels.
    """
    block_variances = repeat_variances(bounds, variances)
    cells = int(bounds[-1][-1])
    first = np.concatenate([ends[1:] - 1 for ends in bounds])
    parents = [np.full(len(bounds[0]) - 1, cells + 1)]
    for coarse, fine in pairwise(bounds):
        parents.append(coarse[np.searchsorted(coarse, fine[1:])])
    last = np.concatenate(parents) - 1
    used = first < last
    return build_noise_graph(cells, first[used], last[used], block_variances[used])


def repeat_variances(bounds: Sequence[IntArray], variances: Sequence[float]) -> FloatArray:
    """Repeat the noise variance of each level for all of its blocks, level by level, from left to right.

    Args:
        bounds: Bounds of the blocks of each level, from coarse to fine: nested tilings.
        variances: Variance of each level.

    Raises:
        ValueError: levels are not nested, or the number of variances is not the number of levels.
    """
    if len(bounds) != len(variances) or not bounds:
        raise InvalidArgument(
            "variances", f"{len(bounds)} variances are needed, one for each level, got {len(variances)}"
        )
    if not all(np.isin(coarse, fine).all() for coarse, fine in pairwise(bounds)):
        raise InvalidArgument(
            "bounds", "each block must be a union of blocks of the next level; list levels from coarse to fine"
        )
    return np.repeat(np.asarray(variances, dtype=np.float64), [len(ends) - 1 for ends in bounds])


class NoisyCurve(NamedTuple):
    """Noisy prefix counts of records, one at the end of each finest interval.

    Attributes:
        ends: Ends of these intervals, in cells, of shape ``(points,)``.
        counts: Noisy number of records below each end, of the same shape.
        graph: The graph of the noises of these counts.
    """

    ends: IntArray
    counts: FloatArray
    graph: NoiseGraph


def estimate_nested_prefixes(distribution: IntervalSums, values: Sequence[int] | FloatArray) -> NoisyCurve:
    """Return the prefix counts of one row, each as the sum of the fewest released nested intervals.

    Args:
        distribution: Nested intervals of one row of cells, with their noises.
        values: Released counts of the intervals, level by level from coarse to fine, each level from left to right;
            further values, such as the count of missing records, have no effect.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, Tier, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> distribution = IntervalSums(1, 4, (Tier((0, 2), noise), Tier((0, 1, 2, 3), noise)), None)
    >>> estimate_nested_prefixes(distribution, [10, 20, 4, 7, 9, 8]).counts.tolist()
    [4.0, 10.0, 19.0, 30.0]
    """
    bounds = [level.bounds(distribution.cells) for level in distribution.levels]
    ends = np.array([0, distribution.cells])
    below = np.zeros(1)
    first = 0
    for level_bounds in bounds:
        counts = np.asarray(values[first : first + len(level_bounds) - 1], dtype=np.float64)
        first += len(level_bounds) - 1
        cumulated = np.append(0.0, np.cumsum(counts))
        parent = np.searchsorted(ends, level_bounds, side="right") - 1
        parent_index = np.minimum(parent, len(below) - 1)
        below = below[parent_index] + cumulated - cumulated[np.searchsorted(level_bounds, ends[parent_index])]
        ends = level_bounds
    interval_distribution = distribution.interval_distribution
    levels = [level.bounds(interval_distribution.cells) for level in interval_distribution.levels]
    graph = build_prefix_graph(levels, [level.noise.variance for level in interval_distribution.levels])
    return NoisyCurve(ends[1:], below[1:], graph)


def estimate_prefixes(distribution: NoisySums, values: Sequence[int], total: int | None) -> NoisyCurve:
    """Return the noisy prefix counts of one row, for any noise distribution.

    Nested intervals use `estimate_nested_prefixes`. Otherwise the counts are the unbiased ones, and their noises are
    treated as independent. The least-squares change is then the nearest monotone curve in squared distances over
    variances. It is never farther from the truth in this distance than the counts are, because the truth is monotone
    and monotone curves form a convex set.

    Args:
        distribution: Distribution of the release.
        values: The released values.
        total: Public number of records; None if it is private.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, Noise, ToeplitzSums
    >>> distribution = ToeplitzSums(1, 3, 1, 20, Noise(Family.GAUSSIAN, Fraction(4)), None)
    >>> estimate_prefixes(distribution, [2**20, 2**19, 3 * 2**17], None).counts.round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    released = np.asarray(values, dtype=np.float64)
    if distribution.is_nested:
        return estimate_nested_prefixes(
            distribution.nested_distribution.require_type(IntervalSums), distribution.debias(released)
        )
    ends = distribution.bounds[1:]
    points = np.arange(len(distribution.bounds) - 1)
    cells, _ = distribution.reconstruct(released, total)
    variances = distribution.prefix_variances(total is not None)[0, ends]
    # a count without noise gets a billionth of the largest variance, so that it hardly changes
    graph = build_noise_graph(len(ends), points, points + 1, np.maximum(variances, 1e-9 * variances.max()))
    return NoisyCurve(ends, np.cumsum(cells[0])[ends - 1], graph)
