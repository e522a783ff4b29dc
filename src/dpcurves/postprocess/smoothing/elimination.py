"""Linear equations on a noise graph, solved in one sweep up and one down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray
from ...compiled import compiled
from .noise_graph import NoiseGraph, Slots


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """The factors of ``K + diag(ground)``, where K is the Laplacian of the graph with some weights on its edges.

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
    def of(cls, graph: NoiseGraph, weight: FloatArray, ground: FloatArray) -> Elimination:
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


@compiled
def _eliminate(slots: Slots, weight: FloatArray, pivot: FloatArray) -> None:
    """`weight` is folded in place; `pivot` holds the ground at first, and inverse pivots at last."""
    points = len(slots.left) + 1
    for i in range(points):
        inner = i < points - 1  # at last, the end of the last slot is eliminated
        slot = slots.left[i] if inner else 2 * points - 2
        step = slots.upper[slot]
        to_left, to_right = weight[slot], weight[slots.right[i]] if inner else 0.0
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


@compiled
def _substitute(slots: Slots, weight: FloatArray, inverse: FloatArray, value: FloatArray) -> None:
    """`value` holds the right hand side at first, and the solution at last."""
    last = len(value) - 1
    for i in range(last - 1):
        left, right = slots.left[i], slots.right[i]
        share = value[slots.upper[left]] * inverse[slots.upper[left]]
        value[slots.lower[last + i]] += share * weight[left]
        value[slots.upper[last + i]] += share * weight[right]
    across = weight[-1]
    value[0] = (value[0] + value[last] * inverse[last] * across) * inverse[0]
    value[last] = (value[last] + across * value[0]) * inverse[last]
    for i in range(last - 2, -1, -1):
        left, right = slots.left[i], slots.right[i]
        inflow = weight[left] * value[slots.lower[last + i]] + weight[right] * value[slots.upper[last + i]]
        value[slots.upper[left]] = (value[slots.upper[left]] + inflow) * inverse[slots.upper[left]]
