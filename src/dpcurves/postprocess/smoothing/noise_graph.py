"""The graph of noises and steps of a curve, eliminated point by point without new edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import Refused
from ...arrays import FloatArray
from ...compiled import compiled

Indices = NDArray[np.int32]


class Blocks(NamedTuple):
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


class Slots(NamedTuple):
    """The places of the edges of a graph, and the elimination order of its vertices.

    The first slots, one for each point, join neighbours. Each further one is made when the vertex inside is
    eliminated, in this order. The last one joins the first step with the last.

    Attributes:
        lower: First step of each slot, (2 * points - 1,).
        upper: Its last step.
        left: The slot between `lower` and the vertex inside, (points - 1,): of all slots but those of neighbours.
        right: The slot between the vertex inside and `upper`.
    """

    lower: Indices
    upper: Indices
    left: Indices
    right: Indices


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
    slots: Slots
    variance: FloatArray
    largest: FloatArray

    def at(self, points: Sequence[int] | NDArray[np.integer]) -> NoiseGraph:
        """The graph of the same noises at these points alone.

        Points that are left out are free. Noises that can no longer be told apart become one.

        Raises:
            ValueError: no point is given, or they do not rise from 0 or more to less than ``points``.
        """
        kept = np.asarray(points, dtype=np.int64)
        if kept.ndim != 1 or not len(kept) or kept[0] < 0 or kept[-1] >= self.points or np.any(np.diff(kept) < 1):
            raise Refused("points", f"rising numbers from 0 to {self.points - 1} are needed")
        before = np.searchsorted(kept, np.arange(self.points + 1)).astype(np.int32)
        first, last = before[self.slots.lower], before[self.slots.upper]
        some = (first < last) & (self.variance > 0)
        return _graph(len(kept), Blocks(first[some], last[some], self.variance[some], self.largest[some]))


def noise_graph(points: int, first: ArrayLike, last: ArrayLike, variance: ArrayLike) -> NoiseGraph:
    """The graph of noises that are added to the points ``first`` to ``last - 1`` each.

    Args:
        points: How many points the curve has.
        first: The first point that each noise is added to.
        last: One after the last point that each noise is added to.
        variance: The variance of each noise, or one for all. Noise of variance 0 is none.

    Raises:
        ValueError: a stretch is empty or outside of the points, a variance is negative or not finite, or two stretches
            cross: they overlap, and neither holds the other.

    >>> noise_graph(4, [0, 0, 2], [4, 2, 4], 3.0).variance
    array([0., 0., 0., 0., 3., 3., 3.])
    """
    starts, ends = np.asarray(first, dtype=np.int64), np.asarray(last, dtype=np.int64)
    variances = np.broadcast_to(np.asarray(variance, dtype=np.float64), starts.shape)
    if points < 1:
        raise Refused("points", f"at least 1 is needed, got {points}")
    if starts.shape != ends.shape or starts.ndim != 1 or np.any((starts < 0) | (starts >= ends) | (ends > points)):
        raise Refused("first, last", f"stretches of one point or more between 0 and {points} are needed")
    if not np.all((variances >= 0) & np.isfinite(variances)):
        raise Refused("variance", "finite numbers of at least 0 are needed")
    some = variances > 0
    noisy = Blocks(starts[some].astype(np.int32), ends[some].astype(np.int32), variances[some], variances[some])
    return _graph(points, noisy)


def _graph(points: int, blocks: Blocks) -> NoiseGraph:
    count = 2 * points - 1
    slots = Slots(*(np.empty(length, dtype=np.int32) for length in (count, count, points - 1, points - 1)))
    variance, largest = np.zeros(count), np.zeros(count)
    order = _inner_first(points, blocks.first, blocks.last)
    if not _fill(order, blocks, slots, variance, largest):
        raise Refused("first, last", "no two stretches may cross")
    return NoiseGraph(points, slots, variance, largest)


@compiled
def _inner_first(points: int, first: Indices, last: Indices) -> Indices:
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


@compiled
def _fill(order: Indices, blocks: Blocks, slots: Slots, variance: FloatArray, largest: FloatArray) -> bool:
    """Sweep from left to right; below the sweep lie the steps not yet eliminated, each with its slot to the one before.

    A stretch eliminates the steps inside it, from the last to the first. False where two stretches cross.
    """
    points = len(slots.left) + 1
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
                slots.left[made - points], slots.right[made - points] = open_slots[top], slot
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
