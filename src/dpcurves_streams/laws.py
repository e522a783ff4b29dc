"""Laws of the noise of streams: groups of ticks, hierarchies, pruned windows, and prefix sums by a buffer or trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.codec import STORED
from dpcurves.laws.interval_sums import IntervalSums
from dpcurves.laws.law import LEAST_VARIANCE, Family, Law, Noise, law_from_json
from dpcurves.laws.toeplitz_sums import causal_product

__all__ = [
    "BufferedPrefixes",
    "CountsAndUncountedTotals",
    "GroupedCounts",
    "HierarchyCounts",
    "NodeEstimates",
    "PrefixLaw",
    "PrunedCounts",
    "RunningTotalEstimator",
    "TreeCounts",
]  # fmt: skip


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

    def blank_values(self) -> tuple[int, ...]:
        return (0,) * self.size

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release of one tick as plain objects: no number of records is public."""
        return Law.to_json(self, values, None)


class Estimator(Protocol):
    """The estimator of totals from values, tick by tick."""

    def estimate_next(self, values: FloatArray) -> FloatArray:
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
        threshold_noise: The noise of a group's threshold, on the lattice of deviations.
        test_noise: The noise of each test.
        threshold: The deviation from which on groups are closed, on the lattice.
    """

    KEY = "grouped"
    FIELDS = MappingProxyType(
        {"keys": "keys", KEY: "threshold", "noise": "noise", "common": "threshold_noise", "own": "test_noise"}
    )

    keys: int
    noise: Noise
    threshold_noise: Noise
    test_noise: Noise
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
    FIELDS = MappingProxyType({KEY: "parents", "noises": "noises"})

    parents: tuple[int, ...]
    noises: tuple[Noise | None, ...]

    def __post_init__(self) -> None:
        if any(not -1 <= parent < number for number, parent in enumerate(self.parents)):
            raise InvalidArgument("parents", "a node stands behind the one above it")
        if any(noise is None for noise, leaf in zip(self.noises, self.leaves, strict=True) if leaf):
            raise InvalidArgument("noises", "nodes with none below them have noise")

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

    def estimate_nodes(self, values: FloatArray) -> FloatArray:
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
    FIELDS = MappingProxyType({KEY: "parents", "groups": "groups", "noise": "noise"})

    parents: tuple[int, ...]
    groups: int
    noise: Noise

    def __post_init__(self) -> None:
        if any(not -1 <= parent < min(number, self.groups) for number, parent in enumerate(self.parents)):
            raise InvalidArgument("parents", "a node stands behind the aggregation above it")

    @property
    def size(self) -> int:
        return self.groups + len(self.parents)

    def mark_reached(self, divided: BoolArray) -> BoolArray:
        """Mark the aggregations that are divided, if all that lie around them must be."""
        found = divided.copy()
        for group, parent in enumerate(self.parents[: self.groups]):
            found[group] &= parent < 0 or found[parent]
        return found

    def mark_frontier(self, divided: BoolArray) -> BoolArray:
        """Mark the nodes that are counted, if these aggregations are divided."""
        above = np.array(self.parents)
        found: BoolArray = (above < 0) | np.append(divided, False)[above]
        found[: self.groups] &= ~divided
        return found

    def sum_nodes(self, values: Sequence[float]) -> tuple[FloatArray, FloatArray]:
        """Counts of all nodes, and the variances of their noise: sums of what was counted; 0 for what was pruned."""
        divided = np.array(values[: self.groups]) > 0
        counted = self.mark_frontier(divided)
        counts = np.where(counted, np.array(values[self.groups :], dtype=np.float64), 0.0)
        variances = np.where(counted, self.noise.variance, 0.0)
        for node in range(len(self.parents) - 1, -1, -1):
            if (parent := self.parents[node]) >= 0 and divided[parent]:
                counts[parent] += counts[node]
                variances[parent] += variances[node]
        return counts, variances


@dataclass(frozen=True, slots=True)
class CountsAndUncountedTotals(TickLaw):
    """Each tick releases counts, then totals so far of tuples that were not counted, by reason.

    Attributes:
        counts: The law of the counts.
        uncounted: That of totals of tuples that are in no count, one for each of `TUPLE_REASONS`.
        users_beyond_cap: That of the total of users who had more tuples in a step than are used; None: there is no cap.
        beyond_fraction: The fraction of the loss that `users_beyond_cap` has; 0 without a cap.
    """

    KEY = "uncounted"
    FIELDS = MappingProxyType(
        {KEY: "uncounted", "counts": "counts", "beyond": "users_beyond_cap", "beyond_fraction": "beyond_fraction"}
    )

    counts: Law
    uncounted: TreeCounts
    users_beyond_cap: TreeCounts | None
    beyond_fraction: Fraction

    @property
    def size(self) -> int:
        return (
            self.size_of_counts
            + self.uncounted.size
            + (0 if self.users_beyond_cap is None else self.users_beyond_cap.size)
        )

    @property
    def size_of_counts(self) -> int:
        """The number of values of the counts, which come first."""
        size = self.counts.size
        return 0 if size is None else size

    def _fields_to_json(self) -> dict[str, Any]:
        laws = {"counts": self.counts, self.KEY: self.uncounted, "beyond": self.users_beyond_cap}
        return {
            **{name: None if law is None else law.to_json(law.blank_values(), None) for name, law in laws.items()},
            "beyond_fraction": str(self.beyond_fraction),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        beyond = stored["beyond"]
        return cls(
            law_from_json(stored["counts"]), TreeCounts.from_json(stored[cls.KEY]),
            None if beyond is None else TreeCounts.from_json(beyond), Fraction(stored["beyond_fraction"]),
        )  # fmt: skip


LATTICE = 20
"""Values are in units of ``2**-LATTICE`` tuples."""
MOST_BUFFERED = 2**20
"""Ticks up to which errors are worked out."""


@dataclass(frozen=True, slots=True)
class BufferedPrefixes(PrefixLaw):
    """Each tick releases, for each key, its count plus weighted counts of earlier ticks, with noise on this sum.

    A count of k ticks before weighs ``sum(weight * decay**k)`` over the buffers, in units of ``2**-LATTICE``, and that
    of the tick itself one tuple. Totals are computed from these values by inverting the weights.

    Attributes:
        keys: How many counts a tick has.
        ticks: The public horizon.
        decays: The factor by which each buffer decays in a tick.
        weights: The weight of each buffer, in units of the lattice.
        noise: The noise of each value, on the lattice.
    """

    KEY: ClassVar[str] = "buffered"

    keys: int
    ticks: int
    decays: tuple[Fraction, ...]
    weights: tuple[int, ...]
    noise: Noise

    @property
    def size(self) -> int:
        return self.keys

    @property
    def family(self) -> Family:
        return self.noise.family

    def estimator(self) -> BufferedEstimator:
        return BufferedEstimator(self)

    def variance(self, tick: int, window: int | None = None) -> float:
        lag = self.ticks if window is None else min(window, self.ticks)
        return float(_variance_factors(self.decays, self.weights, self.ticks, lag)[tick - 1]) * self.value_variance

    def mean_variance(self, ticks: int) -> float:
        """The mean variance of the totals of the first ticks."""
        return (
            float(_variance_factors(self.decays, self.weights, self.ticks, self.ticks)[:ticks].mean())
            * self.value_variance
        )

    @property
    def value_variance(self) -> float:
        """The variance of one value, in squared tuples."""
        return self.noise.variance / 4.0**LATTICE

    def _fields_to_json(self) -> dict[str, Any]:
        buffers = [[str(decay), weight] for decay, weight in zip(self.decays, self.weights, strict=True)]
        return {"keys": self.keys, "ticks": self.ticks, self.KEY: buffers, "noise": STORED.encode(self.noise)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        decays = tuple(Fraction(decay) for decay, _ in stored[cls.KEY])
        weights = tuple(int(weight) for _, weight in stored[cls.KEY])
        if not 0 < int(stored["ticks"]) <= MOST_BUFFERED:
            raise InvalidArgument("evidence.ticks", f"from 1 to {MOST_BUFFERED} are read")
        return cls(int(stored["keys"]), int(stored["ticks"]), decays, weights, STORED.decode(Noise, stored["noise"]))


class BufferedEstimator:
    """Inverse of the buffered strategy: running totals from its noisy values, tick by tick."""

    __slots__ = ("_buffers", "_decays", "_totals", "_weights")

    def __init__(self, law: BufferedPrefixes) -> None:
        self._decays = np.array([float(decay) for decay in law.decays])
        self._weights = np.array(law.weights) / 2.0**LATTICE
        self._buffers = np.zeros((law.keys, len(self._decays)))
        self._totals = np.zeros(law.keys)

    def estimate_next(self, values: FloatArray) -> FloatArray:
        """The totals after the values of one more tick, (keys,)."""
        left = self._buffers * self._decays
        counts = values / 2.0**LATTICE - left @ self._weights
        self._buffers = left + counts[:, None]
        self._totals = self._totals + counts
        return self._totals


@lru_cache(maxsize=16)  # a pure function of public facts
def _noise_kernel(decays: tuple[Fraction, ...], weights: tuple[int, ...], ticks: int) -> FloatArray:
    """Weights of the noise of earlier ticks in a total: the series ``1 / ((1 - t) * weights(t))``."""
    ages = np.arange(ticks)
    series = np.zeros(ticks)
    for decay, weight in zip(decays, weights, strict=True):
        series += weight / 2.0**LATTICE * np.exp(np.log1p(-float(1 - decay)) * ages)
    series[0] = 1.0
    inverse = np.ones(1)
    while len(inverse) < ticks:  # Newton's iteration doubles the number of right coefficients
        length = min(2 * len(inverse), ticks)
        error = -causal_product(series[:length], inverse, length)
        error[0] += 2
        inverse = causal_product(inverse, error, length)
    return np.cumsum(inverse)


@lru_cache(maxsize=16)  # a pure function of public facts
def _variance_factors(decays: tuple[Fraction, ...], weights: tuple[int, ...], ticks: int, lag: int) -> FloatArray:
    """Sums of squares of what noises weigh in the sum of the last `lag` ticks, after 1, 2, ... ticks."""
    kernel = _noise_kernel(decays, weights, ticks)
    differences = kernel.copy()
    differences[lag:] -= kernel[:-lag] if lag < ticks else 0.0
    return np.cumsum(np.square(differences))


PARTS = 64
"""A node's own noise has a weight in its estimate that is a multiple of ``1 / PARTS``."""


ROUNDING = 1 / 12
"""The variance of rounding to a whole number what has many digits."""


@dataclass(frozen=True)
class PrefixTree:
    """A tree over a block of ticks: a node on level l has ``widths[l]`` ticks, and noise of its own.

    The noise of a prefix is linear in those of the nodes: from below, a node's estimate is ``weight`` times its own
    noise, and the rest that of the sum of its children's estimates; from above, what an estimate misses to the sum of
    its children's is shared by them equally. With the best weights this is least squares (Hay, Rastogi, Miklau and
    Suciu 2010); with any others it is as unbiased.

    Attributes:
        widths: From the ticks of the block down to 1; each divides the one before.
        noises: The noise of a node of each level.
    """

    widths: tuple[int, ...]
    noises: tuple[Noise, ...]

    def __post_init__(self) -> None:
        ends = [*self.widths[1:], 1]
        if self.widths[-1:] != (1,) or any(wide % fine for wide, fine in zip(self.widths, ends, strict=True)):
            raise InvalidArgument("widths", "each width is a multiple of the next, and the last one is 1")
        if len(self.noises) != len(self.widths):
            raise InvalidArgument("noises", "every level has its noise")

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """The number of children of a node of each level but the last."""
        return tuple(wide // fine for wide, fine in zip(self.widths, self.widths[1:], strict=False))

    @cached_property
    def block_denominator(self) -> int:
        """The denominator of the noise of the whole block, a whole number: each level weighs in `PARTS`."""
        return prod(PARTS for _ in self.radices)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weight of a node's own noise in its estimate, in ``PARTS``: nearly the best. Computed in fractions."""
        chosen: list[int] = []
        below = self._relative_variance(-1)
        for level in range(len(self.radices) - 1, -1, -1):
            own, children = self._relative_variance(level), self.radices[level] * below
            best = children / (own + children)
            chosen.insert(0, min(max(round(best * PARTS), 1), PARTS - 1))
            weight = Fraction(chosen[0], PARTS)
            below = weight**2 * own + (1 - weight) ** 2 * children
        return tuple(chosen)

    @cached_property
    def node_variances(self) -> tuple[float, ...]:
        """The variance of a node's estimate from below, on each level."""
        below = [self.noises[-1].variance]
        for level in range(len(self.radices) - 1, -1, -1):
            weight = self.weights[level] / PARTS
            own, children = self.noises[level].variance, self.radices[level] * below[0]
            below.insert(0, weight**2 * own + (1 - weight) ** 2 * children)
        return tuple(below)

    def variance(self, weights: FloatArray) -> float:
        """The variance of a weighted sum of all ticks of the block.

        The estimate is that of the block for its mean weight and, for each node, contrasts of its children: these are
        uncorrelated with their sum, hence with all that is above and below, and with one another.
        """
        total = self.node_variances[0] * float(weights.mean()) ** 2
        for level, radix in enumerate(self.radices):
            means = weights.reshape(-1, radix, self.widths[level + 1]).mean(axis=2)
            total += self.node_variances[level + 1] * float(np.square(means - means.mean(axis=1, keepdims=True)).sum())
        return total

    def window_variance(self, first: int, last: int) -> float:
        """The variance of the sum of the ticks from number `first`, from 0 on, to before `last`."""
        if first == 0:
            return float(self.prefix_variances[last - 1])
        counted = np.zeros(self.widths[0])
        counted[first:last] = 1.0
        return self.variance(counted)

    @cached_property
    def prefix_variances(self) -> FloatArray:
        """Variances of the sums of the first 1, 2, ... ticks of the block; `variance` in closed form; read-only."""
        ticks = np.arange(1, self.widths[0] + 1)
        found = self.node_variances[0] * (ticks / self.widths[0]) ** 2
        for level, radix in enumerate(self.radices):
            covered = (ticks % self.widths[level]) / self.widths[level + 1]
            whole = np.floor(covered)
            squares = whole + (covered - whole) ** 2
            found += self.node_variances[level + 1] * (squares - covered**2 / radix)
        found.flags.writeable = False
        return found

    def _relative_variance(self, level: int) -> Fraction:
        noise = self.noises[level]
        return noise.parameter**2 if noise.family is Family.LAPLACE else noise.parameter


class Block(NamedTuple):
    """The block of ticks that a tick lies in, with its tree of prefix sums.

    Attributes:
        start: How many ticks lie before the block.
        tree: The tree of the block.
    """

    start: int
    tree: PrefixTree


class Epoch(NamedTuple):
    """A run of blocks with equal trees; the last epoch of a law has as many as needed."""

    blocks: int
    tree: PrefixTree

    @property
    def ticks(self) -> int:
        """The number of ticks of its blocks."""
        return self.blocks * self.tree.widths[0]


STORED.add(
    Epoch,
    lambda epoch: {"blocks": epoch.blocks, **STORED.encode_fields(epoch.tree)},
    lambda stored: Epoch(int(stored["blocks"]), STORED.decode_fields(PrefixTree, stored)),
)


class IdentityEstimator:
    """Reader of values that are unbiased estimates already."""

    __slots__ = ()

    def estimate_next(self, values: FloatArray) -> FloatArray:
        """The values."""
        return values


@dataclass(frozen=True, slots=True)
class TreeCounts(PrefixLaw):
    """Each tick releases, for each key, the number of tuples so far, plus noise, rounded to a whole number.

    Attributes:
        keys: How many counts a tick has.
        epochs: Blocks, one behind the other, each with noises of its own.
    """

    KEY = "prefix trees"
    FIELDS = MappingProxyType({"keys": "keys", KEY: "epochs"})

    keys: int
    epochs: tuple[Epoch, ...]

    @property
    def size(self) -> int:
        return self.keys

    @property
    def family(self) -> Family:
        return self.epochs[0].tree.noises[0].family

    @property
    def block_denominator(self) -> int:
        """The denominator of noises of whole blocks of any epoch: that of the deepest tree, so a multiple for each."""
        return max(epoch.tree.block_denominator for epoch in self.epochs)

    def block(self, tick: int) -> Block:
        """The block that a tick lies in."""
        start = 0
        for epoch in self.epochs[:-1]:
            if tick <= start + epoch.ticks:
                break
            start += epoch.ticks
        else:
            epoch = self.epochs[-1]
        width = epoch.tree.widths[0]
        return Block(start + (tick - start - 1) // width * width, epoch.tree)

    def variance(self, tick: int, window: int | None = None) -> float:
        at = tick - window if window is not None and window < tick else 0
        total = ROUNDING * (1 if at == 0 else 2)
        while at < tick:
            start, tree = self.block(at + 1)
            first, last, width = at - start, min(tick - start, tree.widths[0]), tree.widths[0]
            whole = 0 if first or last < width else self._count_whole_blocks(at, tick)
            total += whole * tree.node_variances[0] if whole else tree.window_variance(first, last)
            at = at + whole * width if whole else start + last
        return total

    def _count_whole_blocks(self, at: int, tick: int) -> int:
        """The number of whole blocks of one epoch between the end of a block and a tick."""
        start = 0
        for epoch in self.epochs[:-1]:
            if at < start + epoch.ticks:
                return (min(tick, start + epoch.ticks) - at) // epoch.tree.widths[0]
            start += epoch.ticks
        return (tick - at) // self.epochs[-1].tree.widths[0]

    def estimator(self) -> IdentityEstimator:
        """The estimator of totals, which are the values themselves."""
        return IdentityEstimator()

    def mean_variance(self, ticks: int) -> float:
        """The mean variance of all prefixes up to so many ticks."""
        at, carried, total = 0, 0.0, 0.0
        while at < ticks:
            tree, whole = self.block(at + 1).tree, self._count_whole_blocks(at, ticks)
            inside, width = tree.prefix_variances[: ticks - at], tree.widths[0]
            if whole == 0:
                return (total + float(inside.sum()) + carried * len(inside)) / ticks + ROUNDING
            before = carried * whole + tree.node_variances[0] * whole * (whole - 1) / 2
            total += whole * float(inside.sum()) + width * before
            at, carried = at + whole * width, carried + whole * tree.node_variances[0]
        return total / ticks + ROUNDING


def prefix_noise(tree: PrefixTree, noises: Sequence[Any]) -> tuple[Any, Any]:
    """SECRET where noises are: noises of the prefixes of a block, as numerators, and that of the whole block.

    Linear in the noises, and exact: integers over ``prefix_denominator(tree)``, and over ``PARTS**depth`` for the block.

    Args:
        tree: The block.
        noises: Those of the nodes of each level, (nodes, keys), as integers that can hold the results.
    """
    depth = len(tree.radices)
    estimates = [noises[-1]]
    for level in range(depth - 1, -1, -1):
        below, weight = estimates[0], tree.weights[level]
        sums = below.reshape(-1, tree.radices[level], below.shape[-1]).sum(axis=1)
        estimates.insert(0, weight * PARTS ** (depth - level - 1) * noises[level] + (PARTS - weight) * sums)
    final = estimates[0]
    before, scale = final - final, 1
    for level, radix in enumerate(tree.radices):
        children = estimates[level + 1] * PARTS ** (level + 1) * scale
        grouped = children.reshape(-1, radix, children.shape[-1])
        gap = (final - grouped.sum(axis=1))[:, None]
        finals = radix * grouped + gap
        sums = np.cumsum(finals, axis=1)
        before = (radix * before[:, None] + sums - finals).reshape(-1, children.shape[-1])
        final, scale = finals.reshape(-1, children.shape[-1]), scale * radix
    return before + final, estimates[0][0]


def prefix_denominator(tree: PrefixTree) -> int:
    """The denominator of `prefix_noise` of prefixes."""
    return int(PARTS ** len(tree.radices)) * prod(tree.radices)


MOST_RECENT = 64
"""Ticks whose variances are remembered: a few more than are looked at together."""


class RunningTotalEstimator:
    """The unbiased number of tuples that are counted so far, from released counts under any law of streams.

    Args:
        law: The law of the counts.
        states: How many states a tick counts; aggregations of them are none.
    """

    __slots__ = ("_estimator", "_law", "_nodes", "_roots", "_states", "_total", "_variances", "tick")

    def __init__(self, law: Law, states: int) -> None:
        self._law, self._states, self.tick, self._total = law, states, 0, 0.0
        self._estimator = law.estimator() if isinstance(law, PrefixLaw) else None
        self._nodes = None
        if isinstance(law, HierarchyCounts):
            noises = [np.inf if noise is None else noise.variance for noise in law.noises]
            self._nodes = NodeEstimates(law.parents, np.array(noises))
        self._roots = [node for node, parent in enumerate(getattr(law, "parents", ())) if parent < 0]
        self._variances = [0.0]  # of the noise of all ticks so far, after each tick that may still be needed

    def estimate_next(self, values: Sequence[int]) -> float:
        """The number after the integers of the next tick."""
        self.tick += 1
        if self._estimator is not None:
            self._total = float(self._estimator.estimate_next(np.array(values, dtype=np.float64)).sum())
            return self._total
        number, variance = self._estimate_tick(values)
        self._total += number
        self._variances = [*self._variances[-MOST_RECENT:], self._variances[-1] + variance]
        return self._total

    def variance(self, width: int | None) -> float:
        """The variance of the noise of the number of the last ticks, so many as the width; None: of all."""
        if isinstance(self._law, PrefixLaw):
            return self._states * self._law.variance(self.tick, width)
        return self._variances[-1] - (0.0 if width is None else self._variances[-1 - width])

    def _estimate_tick(self, values: Sequence[int]) -> tuple[float, float]:
        law = self._law
        if isinstance(law, IntervalSums):
            return float(sum(values)), self._states * law.levels[-1].noise.variance
        if isinstance(law, GroupedCounts):
            states = values[law.keys - self._states : law.keys]
            return float(sum(states)), self._states * law.noise.variance
        if isinstance(law, PrunedCounts):
            counts, variances = law.sum_nodes(values)
        else:
            nodes: Any = self._nodes
            counts, variances = nodes.estimate_nodes(np.array(values, dtype=np.float64)), nodes.variances
        return float(counts[self._roots].sum()), float(variances[self._roots].sum())
