"""The graph of noises and steps of a curve, and linear equations on it, solved in one sweep up and one down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray, compile_loop
from ..laws import IntervalSums, NoisySums

Indices = NDArray[np.int32]


class NoiseBlocks(NamedTuple):
    """Noises, each of which is added to a stretch of points.

    Attributes:
        first: The first point of each stretch.
        last: One after its last point.
        variance: The variance of each noise; of the sum, where several noises have one stretch.
        largest: The largest variance among these.
    """

    first: Indices
    last: Indices
    variance: FloatArray
    largest: FloatArray


class EdgeSlots(NamedTuple):
    """The places of the edges of a graph, and the elimination order of its vertices.

    The first slots, one for each point, join neighbours. Each further one is made when the vertex inside is
    eliminated, in this order. The last one joins the first step with the last.

    Attributes:
        lower: First step of each slot, (2 * points - 1,).
        upper: Its last step.
        left_slot: The slot between `lower` and the vertex inside, (points - 1,): of all slots but those of neighbours.
        right_slot: The slot between the vertex inside and `upper`.
    """

    lower: Indices
    upper: Indices
    left_slot: Indices
    right_slot: Indices


@dataclass(frozen=True, slots=True, eq=False)
class NoiseGraph:
    """Independent noises over stretches of a curve, no two of which cross.

    The vertices are the steps of the curve: step i is its rise from point i - 1 to point i, step 0 that from 0 to the
    first point, and step ``points`` that from the last point to the most it may be. A noise over the points ``a`` to
    ``b - 1`` raises step ``a`` and lowers step ``b``: it is an edge between them. Edges that do not cross form an
    outerplanar graph, which is eliminated vertex by vertex with two neighbours each, so with no fill but one edge
    between these two.

    Attributes:
        points: How many points the curve has.
        slots: Where edges can be.
        variance: The variance of all noises in the slot together; 0 where there is none.
        largest: The largest variance of one noise in the slot.
    """

    points: int
    slots: EdgeSlots
    variance: FloatArray
    largest: FloatArray

    def restrict_to_points(self, points: Sequence[int] | NDArray[np.integer]) -> NoiseGraph:
        """The graph of the same noises at these points alone.

        Points that are left out are free. Noises that can no longer be told apart become one.

        Raises:
            ValueError: no point is given, or they do not rise from 0 or more to less than ``points``.
        """
        kept = np.asarray(points, dtype=np.int64)
        if kept.ndim != 1 or not len(kept) or kept[0] < 0 or kept[-1] >= self.points or np.any(np.diff(kept) < 1):
            raise InvalidArgument("points", f"rising numbers from 0 to {self.points - 1} are needed")
        before = np.searchsorted(kept, np.arange(self.points + 1)).astype(np.int32)
        first, last = before[self.slots.lower], before[self.slots.upper]
        some = (first < last) & (self.variance > 0)
        return _assemble_graph(len(kept), NoiseBlocks(first[some], last[some], self.variance[some], self.largest[some]))


def build_noise_graph(points: int, first: ArrayLike, last: ArrayLike, variance: ArrayLike) -> NoiseGraph:
    """The graph of noises that are added to the points ``first`` to ``last - 1`` each.

    Args:
        points: How many points the curve has.
        first: The first point that each noise is added to.
        last: One after the last point that each noise is added to.
        variance: The variance of each noise, or one for all. Noise of variance 0 is none.

    Raises:
        ValueError: a stretch is empty or outside of the points, a variance is negative or not finite, or two stretches
            cross: they overlap, and neither holds the other.

    >>> build_noise_graph(4, [0, 0, 2], [4, 2, 4], 3.0).variance
    array([0., 0., 0., 0., 3., 3., 3.])
    """
    starts, ends = np.asarray(first, dtype=np.int64), np.asarray(last, dtype=np.int64)
    variances = np.broadcast_to(np.asarray(variance, dtype=np.float64), starts.shape)
    if points < 1:
        raise InvalidArgument("points", f"at least 1 is needed, got {points}")
    if starts.shape != ends.shape or starts.ndim != 1 or np.any((starts < 0) | (starts >= ends) | (ends > points)):
        raise InvalidArgument("first, last", f"stretches of one point or more between 0 and {points} are needed")
    if not np.all((variances >= 0) & np.isfinite(variances)):
        raise InvalidArgument("variance", "finite numbers of at least 0 are needed")
    some = variances > 0
    noisy = NoiseBlocks(starts[some].astype(np.int32), ends[some].astype(np.int32), variances[some], variances[some])
    return _assemble_graph(points, noisy)


def _assemble_graph(points: int, blocks: NoiseBlocks) -> NoiseGraph:
    count = 2 * points - 1
    slots = EdgeSlots(*(np.empty(length, dtype=np.int32) for length in (count, count, points - 1, points - 1)))
    variance, largest = np.zeros(count), np.zeros(count)
    order = _order_inner_first(points, blocks.first, blocks.last)
    if not _fill_slots(order, blocks, slots, variance, largest):
        raise InvalidArgument("first, last", "no two stretches may cross")
    return NoiseGraph(points, slots, variance, largest)


@compile_loop
def _order_inner_first(points: int, first: Indices, last: Indices) -> Indices:
    """The order of stretches by their ends, and of those with one end, the shortest first: two counting sorts."""
    order = np.arange(len(first)).astype(np.int32)
    for falling, key in ((True, first), (False, last)):
        start = np.zeros(points + 2, dtype=np.int64)
        for k in key:
            start[(points - k if falling else k) + 1] += 1
        start = np.cumsum(start)
        placed = np.empty_like(order)
        for block in order:
            place = points - key[block] if falling else key[block]
            placed[start[place]] = block
            start[place] += 1
        order = placed
    return order


@compile_loop
def _fill_slots(
    order: Indices, blocks: NoiseBlocks, slots: EdgeSlots, variance: FloatArray, largest: FloatArray
) -> bool:
    """Sweep from left to right; below the sweep lie the steps not yet eliminated, each with its slot to the one before.

    A stretch eliminates the steps inside it, from the last to the first. False where two stretches cross.
    """
    points = len(slots.left_slot) + 1
    open_steps, open_slots = np.zeros(points + 1, dtype=np.int32), np.zeros(points + 1, dtype=np.int32)
    top, block, made = 0, 0, points
    for end in range(1, points + 1):
        slot = end - 1
        slots.lower[slot], slots.upper[slot] = end - 1, end
        while True:
            noisy = block < len(order) and blocks.last[order[block]] == end
            if not noisy and (end < points or open_steps[top] == 0):
                break
            start = blocks.first[order[block]] if noisy else 0  # after the last stretch, all that is left is eliminated
            while open_steps[top] > start:
                slots.left_slot[made - points], slots.right_slot[made - points] = open_slots[top], slot
                slots.lower[made], slots.upper[made] = open_steps[top - 1], end
                slot, made, top = made, made + 1, top - 1
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
    """LDL factors of ``K + diag(ground)``, where K is the Laplacian of the graph of noisy counts with weighted edges.

    All that is ever added is not negative, and nothing is subtracted: every factor is exact to a few roundings,
    however far apart the weights are.

    Attributes:
        graph: What is eliminated.
        weight: The weight of each slot, with all that was eliminated inside it.
        inverse_pivot: The inverse pivot of each step; 0 for steps held at zero.
    """

    graph: NoiseGraph
    weight: FloatArray
    inverse_pivot: FloatArray

    @classmethod
    def from_graph(cls, graph: NoiseGraph, weight: FloatArray, ground: FloatArray) -> Elimination:
        """Eliminate every step.

        Args:
            graph: The graph of the noise.
            weight: The weight of each slot, not negative.
            ground: The ground of each step, not negative. A step is held at zero where this is infinite; and so is one
                in each part of the graph that has no ground at all.
        """
        folded, pivot = weight.copy(), ground.copy()
        _eliminate(graph.slots, folded, pivot)
        return cls(graph, folded, pivot)

    def solve(self, right_hand: FloatArray) -> FloatArray:
        """The solution, (points + 1,)."""
        solution = right_hand.copy()
        _substitute(self.graph.slots, self.weight, self.inverse_pivot, solution)
        return solution


@compile_loop
def _eliminate(slots: EdgeSlots, weight: FloatArray, pivot: FloatArray) -> None:
    """`weight` is folded in place; `pivot` holds the ground at first, and inverse pivots at last."""
    points = len(slots.left_slot) + 1
    for i in range(points):
        inner = i < points - 1  # at last, the end of the last slot is eliminated
        slot = slots.left_slot[i] if inner else 2 * points - 2
        step = slots.upper[slot]
        to_left, to_right = weight[slot], weight[slots.right_slot[i]] if inner else 0.0
        total = to_left + to_right + pivot[step]
        held = np.isinf(total) or total == 0
        inverse = 0.0 if held else 1 / total
        passed = 1.0 if held else pivot[step] * inverse
        pivot[step] = inverse
        pivot[slots.lower[points + i] if inner else 0] += to_left * passed
        if inner:
            pivot[slots.upper[points + i]] += to_right * passed
            weight[points + i] += to_left * to_right * inverse
    pivot[0] = 0.0 if np.isinf(pivot[0]) or pivot[0] == 0 else 1 / pivot[0]


@compile_loop
def _substitute(slots: EdgeSlots, weight: FloatArray, inverse: FloatArray, value: FloatArray) -> None:
    """`value` holds the right hand side at first, and the solution at last."""
    last = len(value) - 1
    for i in range(last - 1):
        left, right = slots.left_slot[i], slots.right_slot[i]
        share = value[slots.upper[left]] * inverse[slots.upper[left]]
        value[slots.lower[last + i]] += share * weight[left]
        value[slots.upper[last + i]] += share * weight[right]
    across = weight[-1]
    value[0] = (value[0] + value[last] * inverse[last] * across) * inverse[0]
    value[last] = (value[last] + across * value[0]) * inverse[last]
    for i in range(last - 2, -1, -1):
        left, right = slots.left_slot[i], slots.right_slot[i]
        inflow = weight[left] * value[slots.lower[last + i]] + weight[right] * value[slots.upper[last + i]]
        value[slots.upper[left]] = (value[slots.upper[left]] + inflow) * inverse[slots.upper[left]]


# The prefixes that contain the noise of each block of cells.


def build_prefix_graph(bounds: Sequence[IntArray], variances: Sequence[float]) -> NoiseGraph:
    """The point that ends cell i has the noise of the fewest blocks that make up all cells up to it.

    The root if it ends with the root; else the children on the left of the one that it lies in, and so on (Chan, Shi
    and Song 2011, with arity 2). So a block lends its noise to points from its own end to before its parent's end.
    Blocks that end with their parent are not used, nor need they be released.

    Args:
        bounds: The ends of the blocks of each level, from coarse to fine: nested tilings.
        variances: One per level.

    Raises:
        ValueError: levels are not nested, or there are not as many variances.
    """
    each, cells = repeat_variances(bounds, variances), int(bounds[-1][-1])
    first = np.concatenate([ends[1:] - 1 for ends in bounds])
    parents = [np.full(len(bounds[0]) - 1, cells + 1)]
    for coarse, fine in pairwise(bounds):
        parents.append(coarse[np.searchsorted(coarse, fine[1:])])
    last = np.concatenate(parents) - 1
    used = first < last
    return build_noise_graph(cells, first[used], last[used], each[used])


def repeat_variances(bounds: Sequence[IntArray], variances: Sequence[float]) -> FloatArray:
    """The variances of all blocks, level by level, from left to right."""
    if len(bounds) != len(variances) or not bounds:
        raise InvalidArgument("variances", f"one for each of {len(bounds)} levels is needed, got {len(variances)}")
    if not all(np.isin(coarse, fine).all() for coarse, fine in pairwise(bounds)):
        raise InvalidArgument("bounds", "every block must be a union of blocks of the next level")
    return np.repeat(np.asarray(variances, dtype=np.float64), [len(ends) - 1 for ends in bounds])


LEAST = 1e-9
"""The least variance of a count, in units of the largest: one that is known is hardly changed."""


class NoisyCurve(NamedTuple):
    """Counts of records up to the end of each finest interval, with noise.

    Attributes:
        ends: Where these intervals end, in cells, (points,).
        counts: Each is the sum of the fewest intervals that make up all cells up to there, (points,).
        graph: Which noise lies on which of them.
    """

    ends: IntArray
    counts: FloatArray
    graph: NoiseGraph


def estimate_nested_prefixes(law: IntervalSums, values: Sequence[int] | FloatArray) -> NoisyCurve:
    """The counts of one row that a release of nested intervals gives without mixing its noises.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> law = IntervalSums(1, 4, (Tier((0, 2), noise), Tier((0, 1, 2, 3), noise)), None)
    >>> estimate_nested_prefixes(law, [10, 20, 4, 7, 9, 8]).counts.tolist()
    [4.0, 10.0, 19.0, 30.0]
    """
    bounds = [level.bounds(law.cells) for level in law.levels]
    ends, below, first = np.array([0, law.cells]), np.zeros(1), 0
    for each in bounds:
        own = np.asarray(values[first : first + len(each) - 1], dtype=np.float64)
        first += len(each) - 1
        summed = np.append(0.0, np.cumsum(own))
        parent = np.searchsorted(ends, each, side="right") - 1
        whole = np.minimum(parent, len(below) - 1)
        below = below[whole] + summed - summed[np.searchsorted(each, ends[whole])]
        ends = each
    short = law.interval_law
    levels = [level.bounds(short.cells) for level in short.levels]
    graph = build_prefix_graph(levels, [level.noise.variance for level in short.levels])
    return NoisyCurve(ends[1:], below[1:], graph)


def estimate_prefixes(law: NoisySums, values: Sequence[int], total: int | None) -> NoisyCurve:
    """The counts of one row, whatever the law of its noise.

    Where nested intervals were counted, see `estimate_nested_prefixes`. Else the counts are the unbiased ones, and each
    has a noise of its own: what they share is not told apart. So the least change of squares is the nearest curve that
    rises, in squared distances over variances. It is never further from the truth in these than the counts were, for
    the truth rises, too, and such curves are a convex set.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Noise, ToeplitzSums
    >>> law = ToeplitzSums(1, 3, 1, 20, Noise(Family.GAUSSIAN, Fraction(4)), None)
    >>> estimate_prefixes(law, [2**20, 2**19, 3 * 2**17], None).counts.round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    released = np.asarray(values, dtype=np.float64)
    if law.is_nested:
        return estimate_nested_prefixes(law.nested_law.require_type(IntervalSums), law.debias(released))
    ends, points = law.bounds[1:], np.arange(len(law.bounds) - 1)
    cells, _ = law.reconstruct(released, total)
    variances = law.prefix_variances(total is not None)[0, ends]
    graph = build_noise_graph(len(ends), points, points + 1, np.maximum(variances, LEAST * variances.max()))
    return NoisyCurve(ends, np.cumsum(cells[0])[ends - 1], graph)
