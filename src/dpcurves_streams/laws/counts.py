"""Laws of counts of a stream: one tick at a time, groups of ticks, hierarchies of states, and pruned hierarchies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.laws.law import LEAST_VARIANCE, MAYBE_NOISE, NOISE, WHOLE, Family, Law, Noise


# Base of laws of streams: a release of one tick, the same numbers again at every tick.
class TickLaw(Law):
    """A law of what one tick of a stream releases."""

    __slots__ = ()

    @property
    def missing(self) -> None:
        """Tuples in no declared state count nowhere."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values of a tick."""

    def blank(self) -> tuple[int, ...]:
        return (0,) * self.size

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release of one tick as plain objects: no number of records is public."""
        return Law.to_json(self, values, None)


class Estimator(Protocol):
    """The estimator of totals from values, tick by tick."""

    def read(self, values: FloatArray) -> FloatArray:
        """The totals after the values of one more tick, (keys,)."""


class PrefixLaw(TickLaw):
    """A law of values that estimate how many tuples came so far, for each key."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def keys(self) -> int: ...

    @property
    @abstractmethod
    def family(self) -> Family:
        """The family of the draws that noise adds up."""

    @abstractmethod
    def estimator(self) -> Estimator:
        """The estimator of totals from values, from the first tick on."""

    @abstractmethod
    def variance(self, tick: int, window: int | None = None) -> float:
        """The variance of the total after a tick, or of the sum of the last ticks, so many as the window has."""


@dataclass(frozen=True, slots=True)
class GroupedCounts(TickLaw):
    """Each tick releases a noisy count for each key, and then, for each key, 1 if it joins the group at hand, else 0.

    A 0 after a 1, or after another group's first tick, is a group of its own that is closed at once; a 0 after that is
    the first tick of a new group.

    Attributes:
        keys: How many counts a tick has.
        noise: The noise of a count.
        common: The noise of a group's threshold, on the lattice of deviations.
        own: The noise of each test.
        threshold: The deviation from which on groups are closed, on the lattice.
    """

    KEY = "grouped"
    FORMS = MappingProxyType({"keys": WHOLE, KEY: WHOLE.of("threshold"), "noise": NOISE, "common": NOISE, "own": NOISE})

    keys: int
    noise: Noise
    common: Noise
    own: Noise
    threshold: int

    @property
    def size(self) -> int:
        return 2 * self.keys


@dataclass(frozen=True, slots=True)
class HierarchyCounts(TickLaw):
    """Each tick releases a noisy count of each node that has noise: aggregations first, then states.

    Attributes:
        parents: For each node, the number of the one above, which comes before it; -1: none.
        noises: The noise of each node; None: it is not counted. Nodes with none below them have noise.
    """

    KEY = "hierarchy"
    FORMS = MappingProxyType({KEY: WHOLE.each.of("parents"), "noises": MAYBE_NOISE.each})

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
        depth = np.zeros(len(self._parents), dtype=np.int64)
        for node, parent in enumerate(self._parents.tolist()):
            depth[node] = 0 if parent < 0 else depth[parent] + 1
        self._depths = [np.flatnonzero(depth == each) for each in range(int(depth.max()) + 1)]
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


@dataclass(frozen=True, slots=True)
class PrunedCounts(TickLaw):
    """Law of a pruned tree: in each tick, for each inner node whether it was divided (1), then a count for each node.

    A node is counted if all around it were divided and it is not; other nodes have a 0 there.

    Attributes:
        parents: For each node, the number of the one above, which comes before it; -1: none. Aggregations come first.
        groups: How many aggregations there are.
        noise: The noise of a count.
    """

    KEY = "pruned"
    FORMS = MappingProxyType({KEY: WHOLE.each.of("parents"), "groups": WHOLE, "noise": NOISE})

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
