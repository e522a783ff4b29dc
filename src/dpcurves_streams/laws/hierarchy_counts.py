"""Counts of the states of a stream and of aggregations of them, each with noise of its own, and their best estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.laws.noise import LEAST_VARIANCE, Noise, optional_from_json, optional_to_json

from .tick_law import TickLaw


@dataclass(frozen=True, slots=True)
class HierarchyCounts(TickLaw):
    """Each tick releases a noisy count of each node that has noise: aggregations first, then states.

    Attributes:
        parents: For each node, the number of the one above, which comes before it; -1: none.
        noises: The noise of each node; None: it is not counted. Nodes with none below them have noise.
    """

    KEY: ClassVar[str] = "hierarchy"

    parents: tuple[int, ...]
    noises: tuple[Noise | None, ...]

    def __post_init__(self) -> None:
        if any(not -1 <= parent < number for number, parent in enumerate(self.parents)):
            raise Refused("parents", "a node stands behind the one above it")
        if any(noise is None for noise, leaf in zip(self.noises, self.leaves, strict=True) if leaf):
            raise Refused("noises", "nodes with none below them have noise")

    @property
    def leaves(self) -> list[bool]:
        """Mark the nodes with none below them."""
        above = set(self.parents)
        return [number not in above for number in range(len(self.parents))]

    @property
    def size(self) -> int:
        return sum(noise is not None for noise in self.noises)

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        noises = [optional_to_json(noise) for noise in self.noises]
        return {self.KEY: list(self.parents), "noises": noises, "values": list(values), "total": None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""
        noises = tuple(optional_from_json(noise) for noise in stored["noises"])
        return cls(tuple(int(parent) for parent in stored[cls.KEY]), noises)


class NodeEstimates:
    """The best linear unbiased counts of all nodes, from those that were counted: they add up along the tree.

    From below, a node's own count and the sum of its parts are weighted by the inverse of their variances; from above,
    what a node has more than its parts is shared among them by their variances (Hay et al. 2010, for any tree).

    Attributes:
        variances: Those of the estimates, (nodes,).
    """

    __slots__ = ("_counted", "_depths", "_inner", "_own", "_parents", "_shared", "variances")

    def __init__(self, parents: Sequence[int], variances: FloatArray) -> None:
        """Take the variances of the noise of nodes, infinite where a node is not counted."""
        self._parents = np.array(parents, dtype=np.int64)
        variances = np.maximum(variances, LEAST_VARIANCE)
        self._counted = np.isfinite(variances)
        self._depths = _by_depth(self._parents)
        self._inner = np.zeros(len(parents), dtype=np.bool_)
        self._inner[self._parents[self._parents >= 0]] = True
        from_below, parts = variances.copy(), np.zeros(len(parents))
        self._own = np.ones(len(parents))
        for nodes in reversed(self._depths):
            inner = nodes[self._inner[nodes]]
            self._own[inner] = parts[inner] / (variances[inner] + parts[inner])
            counted = inner[self._counted[inner]]
            from_below[inner] = parts[inner]
            from_below[counted] = self._own[counted] * variances[counted]
            below = nodes[self._parents[nodes] >= 0]
            np.add.at(parts, self._parents[below], from_below[below])
        self._shared, self.variances = np.zeros(len(parents)), from_below.copy()
        for nodes in self._depths[1:]:
            above = self._parents[nodes]
            self._shared[nodes] = from_below[nodes] / parts[above]
            rest = from_below[nodes] * (1 - self._shared[nodes])
            self.variances[nodes] = rest + self._shared[nodes] ** 2 * self.variances[above]

    def of(self, values: FloatArray) -> FloatArray:
        """The estimates, (nodes,), from the values of the nodes that were counted, in their order."""
        estimates, parts = np.zeros(len(self._parents)), np.zeros(len(self._parents))
        estimates[self._counted] = values
        for nodes in reversed(self._depths):
            inner = nodes[self._inner[nodes]]
            own = self._own[inner]
            estimates[inner] = own * estimates[inner] + (1 - own) * parts[inner]
            below = nodes[self._parents[nodes] >= 0]
            np.add.at(parts, self._parents[below], estimates[below])
        for nodes in self._depths[1:]:
            above = self._parents[nodes]
            estimates[nodes] += self._shared[nodes] * (estimates[above] - parts[above])
        return estimates


def _by_depth(parents: IntArray) -> list[IntArray]:
    """The nodes of each depth, from those with none above."""
    depth = np.zeros(len(parents), dtype=np.int64)
    for node, parent in enumerate(parents.tolist()):
        depth[node] = 0 if parent < 0 else depth[parent] + 1
    return [np.flatnonzero(depth == each) for each in range(int(depth.max()) + 1)]
