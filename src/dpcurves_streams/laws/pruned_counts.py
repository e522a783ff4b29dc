"""The law of pruned hierarchies: the aggregations divided at a tick, and noisy counts of all that was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.laws.noise import Noise

from .tick_law import TickLaw


@dataclass(frozen=True, slots=True)
class PrunedCounts(TickLaw):
    """Each tick releases for each aggregation whether it was divided (1), and then a count for each node.

    A node is counted if all around it were divided and it is not; other nodes have a 0 there.

    Attributes:
        parents: For each node, the number of the one above, which comes before it; -1: none. Aggregations come first.
        groups: How many aggregations there are.
        noise: The noise of a count.
    """

    KEY: ClassVar[str] = "pruned"

    parents: tuple[int, ...]
    groups: int
    noise: Noise

    def __post_init__(self) -> None:
        if any(not -1 <= parent < min(number, self.groups) for number, parent in enumerate(self.parents)):
            raise Refused("parents", "a node stands behind the aggregation above it")

    @property
    def size(self) -> int:
        return self.groups + len(self.parents)

    def reached(self, divided: BoolArray) -> BoolArray:
        """Mark the aggregations that are divided, if all that lie around them must be."""
        found = divided.copy()
        for group, parent in enumerate(self.parents[: self.groups]):
            found[group] &= parent < 0 or found[parent]
        return found

    def frontier(self, divided: BoolArray) -> BoolArray:
        """Mark the nodes that are counted, if these aggregations are divided."""
        above = np.array(self.parents)
        found: BoolArray = (above < 0) | np.append(divided, False)[above]
        found[: self.groups] &= ~divided
        return found

    def totals(self, values: Sequence[float]) -> tuple[FloatArray, FloatArray]:
        """Counts of all nodes, and the variances of their noise: sums of what was counted; 0 for what was pruned."""
        divided = np.array(values[: self.groups]) > 0
        counted = self.frontier(divided)
        counts = np.where(counted, np.array(values[self.groups :], dtype=np.float64), 0.0)
        variances = np.where(counted, self.noise.variance, 0.0)
        for node in range(len(self.parents) - 1, -1, -1):
            if (parent := self.parents[node]) >= 0 and divided[parent]:
                counts[parent] += counts[node]
                variances[parent] += variances[node]
        return counts, variances

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        law = {self.KEY: list(self.parents), "groups": self.groups, "noise": self.noise.to_json()}
        return {**law, "values": list(values), "total": None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""
        parents = tuple(int(parent) for parent in stored[cls.KEY])
        return cls(parents, int(stored["groups"]), Noise.from_json(stored["noise"]))
