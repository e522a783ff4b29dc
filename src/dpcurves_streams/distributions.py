"""Noise distributions of stream releases: the variance of every released number, and unbiased estimators of counts.

A stream mechanism releases noisy integers at every time step. The distribution of their noise is public. It is stored
with each release, and confidence intervals are computed from it.

    GroupedCounts                      counts of groups of steps (PeGaSus)
    HierarchyCounts, PrunedCounts      counts of states and of nested sets of states (a forest), whole or pruned
    TreeCounts, BufferedPrefixes       running totals, by trees or by buffers
    PIdentityPrefixes                  running totals of a matrix mechanism
    CountsAndUncountedTotals           any of these, with running totals of tuples in no declared state, by reason

This file touches no data.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.codec import STORED_CODEC, parse_exact_number
from dpcurves.distributions.interval_sums import IntervalSums
from dpcurves.distributions.output_distribution import (
    LEAST_VARIANCE,
    Family,
    Noise,
    OutputDistribution,
    distribution_from_json,
)
from dpcurves.distributions.p_identity import PIdentityStrategy, find_p_identity_strategy

from .queries import MOST_TIME_STEPS

__all__ = [
    "BufferedPrefixes",
    "CountsAndUncountedTotals",
    "GroupedCounts",
    "HierarchyCounts",
    "NodeEstimates",
    "PIdentityPrefixes",
    "PrefixDistribution",
    "PrunedCounts",
    "RunningTotalEstimator",
    "TreeCounts",
]  # fmt: skip


# Base of distributions of streams, which describe the release of one time step; every step has the same distribution.
class TimeStepDistribution(OutputDistribution):
    """Distribution of the values that a stream releases at one time step."""

    __slots__ = ()

    @property
    def missing(self) -> None:
        """None, because the distribution has no count of tuples in undeclared states."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of released integers per step."""

    def blank_values(self) -> tuple[int, ...]:
        """Return zeros in the place of the released integers of a step, for planning."""
        return (0,) * self.size

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return the released integers of one step as a JSON object.

        Args:
            values: Released integers of the step.
            total: Without effect: no number of records of a stream is public.
        """
        return OutputDistribution.to_json(self, values, None)


class Estimator(Protocol):
    """Interface of estimators of running totals, updated step by step."""

    def estimate_next(self, values: FloatArray) -> FloatArray:
        """Return the estimated running totals after the released values of the next step, (keys,).

        Args:
            values: Released values of the step, in the order of the distribution.
        """


class PrefixDistribution(TimeStepDistribution):
    """Distribution of values that estimate running totals, for each key."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def keys(self) -> int:
            """Number of counts of a step."""
            ...

    @property
    @abstractmethod
    def family(self) -> Family:
        """Family (discrete Laplace or Gaussian) of the independent draws whose sum is the noise of a total."""

    @abstractmethod
    def estimator(self) -> Estimator:
        """Return a new estimator of the running totals (prefixes), which takes the released values from the first step
        on.
        """

    @abstractmethod
    def variance(self, time_step: int, window: int | None = None) -> float:
        """Return the noise variance of a running total, or of a sum over a window, in squared tuples.

        Args:
            time_step: Last step of the total or the window.
            window: Number of steps of the window; None: all steps so far.
        """


@dataclass(frozen=True, slots=True)
class GroupedCounts(TimeStepDistribution):
    """Each step releases a noisy count per key, and then 1 per key if the step joins the open group, else 0.

    A 0 that follows a 1, or the first step of a group, marks a group of this single step, which is closed at once. The
    0 after that marks the first step of a new group.

    Attributes:
        keys: Number of counts of a step.
        noise: Noise of a count.
        threshold_noise: Noise of a group's threshold, on the lattice of deviations.
        test_noise: Noise of each test.
        threshold: Deviation from which a group is closed, on the lattice.
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
        """Number of released integers per step: for each key a noisy count, and whether it joins its group of steps."""
        return 2 * self.keys


@dataclass(frozen=True, slots=True)
class HierarchyCounts(TimeStepDistribution):
    """Each step releases a noisy count of each node that has noise: aggregations first, then states.

    Attributes:
        parents: Parent of each node, which comes before the node; -1 for roots.
        noises: Noise of each node; None if it is not counted. Leaves are always counted.
    """

    KEY = "hierarchy"
    FIELDS = MappingProxyType({KEY: "parents", "noises": "noises"})

    parents: tuple[int, ...]
    noises: tuple[Noise | None, ...]

    def __post_init__(self) -> None:
        if any(not -1 <= parent < number for number, parent in enumerate(self.parents)):
            raise InvalidArgument("parents", "must come before their children: number nodes from the root down")
        if any(noise is None for noise, leaf in zip(self.noises, self.leaves, strict=True) if leaf):
            raise InvalidArgument("noises", "must not be None for leaves; give each leaf a noise")

    @property
    def leaves(self) -> list[bool]:
        """Mask of the nodes without children, (nodes,): the states, as opposed to aggregations of states."""
        parents = set(self.parents)
        return [number not in parents for number in range(len(self.parents))]

    @property
    def size(self) -> int:
        """Number of released values per step: one per node with noise."""
        return sum(noise is not None for noise in self.noises)


class NodeEstimates:
    """Best linear unbiased estimates of all nodes from the counted nodes. They are consistent along the tree.

    Bottom-up, a node's count and the sum of its children are weighted by their inverse variances. Top-down, the
    difference between a node and its children is distributed to them in proportion to their variances (Hay et al. 2010,
    for any tree).

    Attributes:
        variances: Variances of the estimates, (nodes,).
    """

    __slots__ = ("_counted", "_depths", "_inner", "_own", "_parents", "_shared", "variances")

    def __init__(self, parents: Sequence[int], variances: FloatArray) -> None:
        """Prepare least-squares estimates of the counts of all nodes of a tree from noisy counts of some of them.

        Args:
            parents: Index of the parent of each node, which comes before the node; negative for roots.
            variances: Noise variance of each node's count, (nodes,); infinite where a node is not counted.
        """
        self._parents = np.array(parents, dtype=np.int64)
        variances = np.maximum(variances, LEAST_VARIANCE)
        self._counted = np.isfinite(variances)

        # Nodes are handled level by level, so that each level is one array operation.
        depth = np.zeros(len(self._parents), dtype=np.int64)
        for node, parent in enumerate(self._parents.tolist()):
            depth[node] = 0 if parent < 0 else depth[parent] + 1
        self._depths = [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]
        self._inner = np.zeros(len(parents), dtype=np.bool_)
        self._inner[self._parents[self._parents >= 0]] = True

        # Upwards: the weight of a node's own count beside the sum of its children.
        from_below = variances.copy()
        child_sums = np.zeros(len(parents))
        self._own = np.ones(len(parents))
        for nodes in reversed(self._depths):
            inner = nodes[self._inner[nodes]]
            self._own[inner] = child_sums[inner] / (variances[inner] + child_sums[inner])
            counted = inner[self._counted[inner]]
            from_below[inner] = child_sums[inner]
            from_below[counted] = self._own[counted] * variances[counted]
            children = nodes[self._parents[nodes] >= 0]
            np.add.at(child_sums, self._parents[children], from_below[children])

        # Downwards: each child takes its part of what its parent differs from the sum of the children.
        self._shared = np.zeros(len(parents))
        self.variances = from_below.copy()
        for nodes in self._depths[1:]:
            parents_of = self._parents[nodes]
            self._shared[nodes] = from_below[nodes] / child_sums[parents_of]
            remaining = from_below[nodes] * (1 - self._shared[nodes])
            self.variances[nodes] = remaining + self._shared[nodes] ** 2 * self.variances[parents_of]

    def estimate_nodes(self, values: FloatArray) -> FloatArray:
        """Return least-squares estimates of the counts of all nodes, (nodes,), from the noisy counts of the counted
        ones.

        Args:
            values: Released counts, (counted nodes,), in the order of the nodes.
        """
        estimates = np.zeros(len(self._parents))
        child_sums = np.zeros(len(self._parents))
        estimates[self._counted] = values
        for nodes in reversed(self._depths):
            inner = nodes[self._inner[nodes]]
            own_weights = self._own[inner]
            estimates[inner] = own_weights * estimates[inner] + (1 - own_weights) * child_sums[inner]
            children = nodes[self._parents[nodes] >= 0]
            np.add.at(child_sums, self._parents[children], estimates[children])
        for nodes in self._depths[1:]:
            parents_of = self._parents[nodes]
            estimates[nodes] += self._shared[nodes] * (estimates[parents_of] - child_sums[parents_of])
        return estimates


@dataclass(frozen=True, slots=True)
class PrunedCounts(TimeStepDistribution):
    """The distribution of a pruned tree of states.

    A step releases for each aggregation whether it was divided (1) or not (0), then one number per node. A node has a
    noisy count if all aggregations above it were divided, and it was not; other nodes have a 0.

    Attributes:
        parents: Parent of each node, which comes before the node; -1 for roots. Aggregations come first.
        groups: Number of aggregations.
        noise: Noise of a count.
    """

    KEY = "pruned"
    FIELDS = MappingProxyType({KEY: "parents", "groups": "groups", "noise": "noise"})

    parents: tuple[int, ...]
    groups: int
    noise: Noise

    def __post_init__(self) -> None:
        if any(not -1 <= parent < min(number, self.groups) for number, parent in enumerate(self.parents)):
            raise InvalidArgument(
                "parents", "must be aggregations that come before their children: number nodes from the root down"
            )

    @property
    def size(self) -> int:
        """Number of released integers per step: for each aggregation whether it is divided, and a count for each
        node.
        """
        return self.groups + len(self.parents)

    def mark_reached(self, divided: BoolArray) -> BoolArray:
        """Return which aggregations are divided and can be counted through: their ancestors are all divided too.

        Args:
            divided: Whether each aggregation is divided into its children, (aggregations,); parents come first.

        Returns:
            Mask, (aggregations,).
        """
        reached = divided.copy()
        for group, parent in enumerate(self.parents[: self.groups]):
            reached[group] &= parent < 0 or reached[parent]
        return reached

    def mark_frontier(self, divided: BoolArray) -> BoolArray:
        """Return which nodes of the pruned hierarchy have noisy counts: the undivided ones below divided ones.

        Args:
            divided: True for each aggregation whose children are counted in its place, (aggregations,).

        Returns:
            Mask, (nodes,).
        """
        parents = np.array(self.parents)
        frontier: BoolArray = (parents < 0) | np.append(divided, False)[parents]
        frontier[: self.groups] &= ~divided
        return frontier

    def sum_nodes(self, values: Sequence[float]) -> tuple[FloatArray, FloatArray]:
        """Return the noisy counts of all nodes of the hierarchy, as sums of the counted nodes below them.

        Args:
            values: Released values of a step: which aggregations are divided, then noisy counts.

        Returns:
            Counts and noise variances, (nodes,) each; 0 for pruned nodes.
        """
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
class CountsAndUncountedTotals(TimeStepDistribution):
    """Each step releases counts, then running totals of uncounted tuples by reason.

    Attributes:
        counts: Distribution of the counts.
        uncounted: Distribution of the totals of uncounted tuples, one for each of `TUPLE_REASONS`.
        users_beyond_cap: Distribution of the total of users with more tuples in a step than are used; None without a
            cap.
        beyond_fraction: Fraction of the loss for `users_beyond_cap`; 0 without a cap.
    """

    KEY = "uncounted"
    FIELDS = MappingProxyType(
        {KEY: "uncounted", "counts": "counts", "beyond": "users_beyond_cap", "beyond_fraction": "beyond_fraction"}
    )

    counts: OutputDistribution
    uncounted: TreeCounts
    users_beyond_cap: TreeCounts | None
    beyond_fraction: Fraction

    @property
    def size(self) -> int:
        """Number of released values per step: counts, running totals of uncounted tuples by reason, and the total of
        users beyond the cap, if there is one.
        """
        size_beyond_cap = 0 if self.users_beyond_cap is None else self.users_beyond_cap.size
        return self.size_of_counts + self.uncounted.size + size_beyond_cap

    @property
    def size_of_counts(self) -> int:
        """Number of released counts per step; in the released values the totals of uncounted tuples come after them."""
        size = self.counts.size
        return 0 if size is None else size

    def _fields_to_json(self) -> dict[str, Any]:
        """Return the distributions of all parts as JSON objects by name, and the fraction of users beyond the cap.

        Returns:
            ``counts``, uncounted tuples and ``beyond``: JSON objects of the distributions with blank values, or None
            for a part that the stream lacks; ``beyond_fraction``: fraction of the loss for users beyond
            the cap, as text.
        """
        distributions = {"counts": self.counts, self.KEY: self.uncounted, "beyond": self.users_beyond_cap}
        return {
            **{
                name: None if distribution is None else distribution.to_json(distribution.blank_values(), None)
                for name, distribution in distributions.items()
            },
            "beyond_fraction": str(self.beyond_fraction),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution that `to_json` wrote.

        Args:
            stored: Fields of the JSON object.
        """
        beyond = stored["beyond"]
        return cls(
            distribution_from_json(stored["counts"]), TreeCounts.from_json(stored[cls.KEY]),
            None if beyond is None else TreeCounts.from_json(beyond), parse_exact_number(stored["beyond_fraction"]),
        )  # fmt: skip


LATTICE_BITS = 30
"""Bits. Values of buffered counters are integers in units of ``2**-30`` tuples, so that noise is added exactly. More
bits round less and need longer integers."""


class WeightedSteps(NamedTuple):
    """Consecutive steps whose counts have the same weights.

    Attributes:
        steps: Number of steps.
        weight: Weight of a count in the value of its step, in units of ``2**-LATTICE_BITS``.
        inputs: Weight with which a count is added to each buffer, in the same units. Empty: `weight`.
    """

    steps: int
    weight: int
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BufferedPrefixes(PrefixDistribution):
    """Each step releases, per key, its weighted count plus fading weighted counts of earlier steps, with noise.

    A count of k steps before is multiplied by ``sum(weight * input * decay**k)`` over the buffers, weights in units of
    ``2**-LATTICE_BITS``; the count of the step itself by the weight of its step. Totals are computed by inverting this.

    Attributes:
        keys: Number of counts of a step.
        time_steps: Most steps: the public horizon, or the assumed horizon of endless streams.
        runs: Weights of the counts of all steps, from the first to the last.
        decays: Factor by which each buffer decays per step.
        weights: Weight of each buffer, in units of the lattice.
        noise: Noise of each value, on the lattice.
    """

    KEY: ClassVar[str] = "buffered"

    keys: int
    time_steps: int
    runs: tuple[WeightedSteps, ...]
    decays: tuple[Fraction, ...]
    weights: tuple[int, ...]
    noise: Noise

    @property
    def size(self) -> int:
        """Number of released integers per step: a weighted sum for each count (key)."""
        return self.keys

    @property
    def family(self) -> Family:
        """Family of the noise of each released value: Laplace or Gaussian."""
        return self.noise.family

    def run_of_step(self, time_step: int) -> WeightedSteps:
        """Return the weights by which the counts of a step enter its own released value and the buffers.

        Args:
            time_step: Number of the step, from 1.

        Returns:
            The run of consecutive steps with equal weights that contains the step.
        """
        return self.runs[bisect_left(_last_steps(self.runs), time_step)]

    def estimator(self) -> BufferedEstimator:
        """Return the estimator of running totals from the weighted sums that are released, starting at the first
        step.
        """
        return BufferedEstimator(self)

    def variance(self, time_step: int, window: int | None = None) -> float:
        """Return the noise variance of a running total, or of a sum over a window, in squared tuples.

        Args:
            time_step: Last step of the total or the window.
            window: Number of steps of the window; None: all steps so far.
        """
        if window is None or window >= time_step:
            return float(self._covariance(time_step)[-1, -1]) * self.value_variance
        before = self._covariance(time_step - window)
        inside = self._moments(time_step - window, time_step)
        change = inside.transition[-1] - np.eye(len(inside.transition))[-1]  # of the total, by errors before the window
        return float(change @ before @ change + inside.covariance[-1, -1]) * self.value_variance

    def mean_variance(self, time_steps: int) -> float:
        """Return the mean noise variance of the running totals after each of the first steps, in squared tuples.

        Args:
            time_steps: Number of steps, from 1 to the horizon.

        Returns:
            Mean over the steps of the variance of a key's total.
        """
        return self._moments(0, time_steps).summed_variance / time_steps * self.value_variance

    @property
    def value_variance(self) -> float:
        """Noise variance of a released value (a weighted sum of counts), in squared tuples."""
        return self.noise.variance / 4.0**LATTICE_BITS

    def _covariance(self, time_step: int) -> FloatArray:
        """Return the covariance of the noise in the estimated buffers and in the running total after a step.

        Args:
            time_step: Number of the step, from 1.

        Returns:
            Matrix, (buffers + 1, buffers + 1), with the total last; cached for whole runs of steps with equal weights.
        """
        ends = _last_steps(self.runs)
        whole = bisect_right(ends, time_step)
        covariance = _moments_of_runs(self.decays, self.weights, self.runs)[whole].covariance
        rest = time_step - (0, *ends)[whole]
        pieces = _pieces_of_run(self.decays, self.weights, self.runs[whole], rest) if rest else []
        for piece in pieces:
            covariance = piece.transition @ covariance @ piece.transition.T + piece.covariance
        return covariance

    def _moments(self, first: int, last: int) -> BufferedMoments:
        """Return how the errors of the estimated buffers and totals change over consecutive steps.

        Args:
            first: Number of the step before the first of these steps.
            last: Number of the last step.
        """
        ends = _last_steps(self.runs)
        moments = BufferedMoments.of_no_step(len(self.decays))
        while first < last:
            number = bisect_right(ends, first)
            end = min(last, ends[number])
            run = self.runs[number]
            moments = reduce(
                BufferedMoments.followed_by, _pieces_of_run(self.decays, self.weights, run, end - first), moments
            )
            first = end
        return moments

    def _fields_to_json(self) -> dict[str, Any]:
        """Return keys, horizon, weights of steps, buffers (decay as a fraction, weight) and noise as JSON."""
        buffers = [[str(decay), weight] for decay, weight in zip(self.decays, self.weights, strict=True)]
        runs = [[run.steps, run.weight, *([list(run.inputs)] if run.inputs else [])] for run in self.runs]
        return {
            "keys": self.keys, "time_steps": self.time_steps, "runs": runs, self.KEY: buffers,
            "noise": STORED_CODEC.encode(self.noise)
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution from the JSON object that `to_json` wrote.

        Args:
            stored: Fields of the JSON object.

        Raises:
            InvalidArgument: weights of steps are not positive, or are not for all steps until the horizon.
        """
        decays = tuple(parse_exact_number(decay) for decay, _ in stored[cls.KEY])
        weights = tuple(int(weight) for _, weight in stored[cls.KEY])
        time_steps = int(stored["time_steps"])
        runs = tuple(
            WeightedSteps(int(steps), int(weight), tuple(int(one) for one in (inputs[0] if inputs else ())))
            for steps, weight, *inputs in stored["runs"]
        )
        if not 0 < time_steps <= MOST_TIME_STEPS:
            raise InvalidArgument(
                "evidence.time_steps", f"must be from 1 to {MOST_TIME_STEPS}; use the text that to_json wrote"
            )
        if min((min(run.steps, run.weight, *run.inputs) for run in runs), default=0) < 1 or time_steps != sum(
            run.steps for run in runs
        ):
            raise InvalidArgument(
                "evidence.runs",
                "must be positive, with steps that add up to evidence.time_steps; use the text that to_json wrote",
            )
        if any(run.inputs and len(run.inputs) != len(decays) for run in runs):
            raise InvalidArgument(
                "evidence.runs", "must have one input for each buffer; use the text that to_json wrote"
            )
        return cls(int(stored["keys"]), time_steps, runs, decays, weights, STORED_CODEC.decode(Noise, stored["noise"]))


@lru_cache(maxsize=64)  # a pure function of public facts
def _last_steps(runs: tuple[WeightedSteps, ...]) -> list[int]:
    """Return the number of the last time step of each run of steps with equal weights, increasing.

    Args:
        runs: Runs of steps with equal weights, in order.
    """
    return list(accumulate(run.steps for run in runs))


class BufferedEstimator:
    """Inverse of the buffered strategy: computes running totals from its noisy values."""

    __slots__ = ("_buffers", "_decays", "_distribution", "_time_step", "_totals", "_weights")

    def __init__(self, distribution: BufferedPrefixes) -> None:
        """Begin an estimator of running totals from the weighted sums of a buffered counter, before the first step.

        Args:
            distribution: Weights of the released sums, and their noise.
        """
        self._distribution = distribution
        self._time_step = 0
        self._decays = np.array([float(decay) for decay in distribution.decays])
        self._weights = np.array(distribution.weights) / 2.0**LATTICE_BITS
        self._buffers = np.zeros((distribution.keys, len(self._decays)))
        self._totals = np.zeros(distribution.keys)

    def estimate_next(self, values: FloatArray) -> FloatArray:
        """Return the estimated running totals after the released values of the next step, (keys,).

        Args:
            values: Released values of the step, (keys,).
        """
        self._time_step += 1
        run = self._distribution.run_of_step(self._time_step)
        decayed = self._buffers * self._decays
        counts = (values - decayed @ self._weights * 2.0**LATTICE_BITS) / run.weight
        self._buffers = decayed + counts[:, None] * _buffer_inputs(run) / 2.0**LATTICE_BITS
        self._totals = self._totals + counts
        return self._totals


def _buffer_inputs(run: WeightedSteps) -> FloatArray:
    """Return the weights with which a count of this run of steps is added to the buffers.

    Args:
        run: Run of steps with equal weights.

    Returns:
        Weights in units of ``2**-LATTICE_BITS``: one for each buffer, or one for all, (1,).
    """
    return np.array(run.inputs or (run.weight,), dtype=np.float64)


class BufferedMoments(NamedTuple):
    """What consecutive steps do to the estimator's errors, if each value has noise of variance 1.

    The vector e has the error of each buffer, and last the error of the total. Step t decays the buffers, by the
    diagonal matrix U. The decayed buffers' errors, weighted, and the value's noise z are the error of its count times
    g, the weight of its step. So ``e(t) = (U - b c^T) e(t - 1) + b z``, with ``c = (U w, 0)``; b holds the inputs of
    the buffers over g, and for the total 1 / g. Moments of steps are combined, so long runs take a logarithm of their
    length.

    Attributes:
        transition: Matrix by which the errors before the steps become errors after them.
        covariance: Covariance of the errors after the steps, if the errors before were zero.
        observed: Sum over the steps of the outer products of the total's row of the transition until that step.
        summed_variance: Sum over the steps of the variance of the total, if there was no error before.
    """

    transition: FloatArray
    covariance: FloatArray
    observed: FloatArray
    summed_variance: float

    @classmethod
    def of_no_step(cls, buffers: int) -> BufferedMoments:
        """Return the error moments of zero steps, the start of a combination: identity transition and no noise.

        Args:
            buffers: Number of buffers; matrices have one row more, for the total.
        """
        zero = np.zeros((buffers + 1, buffers + 1))
        return cls(np.eye(buffers + 1), zero, zero, 0.0)

    @classmethod
    def of_step(cls, decays: tuple[Fraction, ...], weights: tuple[int, ...], run: WeightedSteps) -> BufferedMoments:
        """Return the error moments of one time step: how it changes the errors of buffers and total, and adds noise.

        Args:
            decays: Factor by which each buffer decays in a step.
            weights: Weight of each buffer in a released value.
            run: Weight of the step's count in its value, and in each buffer.
        """
        fading = np.append([float(decay) for decay in decays], 1.0)
        loads = fading * np.append(weights, 0) / 2.0**LATTICE_BITS
        gains = np.append(np.broadcast_to(_buffer_inputs(run), len(decays)), 2.0**LATTICE_BITS) / run.weight
        transition = np.diag(fading) - np.outer(gains, loads)
        return cls(transition, np.outer(gains, gains), np.outer(transition[-1], transition[-1]), float(gains[-1] ** 2))

    def followed_by(self, later: BufferedMoments) -> BufferedMoments:
        """Return the moments of the estimation errors over these time steps and the later ones together.

        Args:
            later: Moments of the steps that follow.
        """
        return BufferedMoments(
            later.transition @ self.transition,
            later.transition @ self.covariance @ later.transition.T + later.covariance,
            self.observed + self.transition.T @ later.observed @ self.transition,
            self.summed_variance + later.summed_variance + float(np.sum(self.covariance * later.observed)),
        )


@lru_cache(maxsize=16)  # a pure function of public facts
def _moments_of_runs(
    decays: tuple[Fraction, ...], weights: tuple[int, ...], runs: tuple[WeightedSteps, ...]
) -> list[BufferedMoments]:
    """Return the error moments of the estimator of totals after each run of steps with equal weights, for variances.

    Args:
        decays: Decay of each buffer per step.
        weights: Weight of each buffer in a released value.
        runs: Runs of steps with one weight, in order.

    Returns:
        Moments after the first 0, 1, 2, ... runs: one element more than `runs`.
    """
    moments = [BufferedMoments.of_no_step(len(decays))]
    for run in runs:
        pieces = _pieces_of_run(decays, weights, run, run.steps)
        moments.append(reduce(BufferedMoments.followed_by, pieces, moments[-1]))
    return moments


def _pieces_of_run(
    decays: tuple[Fraction, ...], weights: tuple[int, ...], run: WeightedSteps, steps: int
) -> list[BufferedMoments]:
    """Return error moments of consecutive pieces of 1, 2, 4, ... steps, whose combination has the given number of
    steps.

    Args:
        decays: Decay of each buffer in a step.
        weights: Weight of each buffer in a released value.
        run: The run, of steps with equal weights.
        steps: Number of steps.
    """
    doubled = _doubled_moments(decays, weights, run)
    return [moments for moments, bit in zip(doubled, reversed(f"{steps:b}"), strict=False) if bit == "1"]


@lru_cache(maxsize=1024)  # a pure function of public facts; a run of 2**k steps takes 6 k kilobytes
def _doubled_moments(
    decays: tuple[Fraction, ...], weights: tuple[int, ...], run: WeightedSteps
) -> list[BufferedMoments]:
    """Return the error moments of 1, 2, 4, ... steps of a run, up to its length, by repeated doubling.

    Args:
        decays: Decay of each buffer per step.
        weights: Weight of each buffer in a released value.
        run: Steps with one weight.
    """
    doubled = [BufferedMoments.of_step(decays, weights, run)]
    while 2 ** len(doubled) <= run.steps:
        doubled.append(doubled[-1].followed_by(doubled[-1]))
    return doubled


@dataclass(frozen=True, slots=True)
class PIdentityPrefixes(PrefixDistribution):
    """Each step releases, per key, the running total plus noise of a p-Identity strategy, rounded to an integer.

    Attributes:
        keys: Number of counts of a step.
        time_steps: Public horizon in steps.
        digest: Hash of the strategy for this horizon (`PIdentityStrategy.digest`).
        noise: Noise that a lone count would have.
    """

    KEY = "p-identity"
    FIELDS = MappingProxyType({"keys": "keys", "time_steps": "time_steps", KEY: "digest", "noise": "noise"})

    keys: int
    time_steps: int
    digest: str
    noise: Noise

    def __post_init__(self) -> None:
        strategy = find_p_identity_strategy(self.time_steps)
        if strategy is None or strategy.digest != self.digest:
            raise InvalidArgument(
                "evidence.p-identity", "names a strategy of another version; read it with the version that wrote it"
            )

    @property
    def strategy(self) -> PIdentityStrategy:
        """The p-Identity strategy (cells and weighted rows that are released) for the number of steps of the stream."""
        return cast("PIdentityStrategy", find_p_identity_strategy(self.time_steps))

    @property
    def size(self) -> int:
        """Number of released values per step: a running total for each key (counted state)."""
        return self.keys

    @property
    def family(self) -> Family:
        """The family of the noise of cells and rows."""
        return self.noise.family

    def estimator(self) -> IdentityEstimator:
        """Return an estimator of running totals that returns the released values, which are noisy totals already."""
        return IdentityEstimator()

    def variance(self, time_step: int, window: int | None = None) -> float:
        """Return the noise variance of a running total, or of a sum over a window, in squared tuples.

        Args:
            time_step: Last step of the total or the window.
            window: Number of steps of the window; None: all steps so far.
        """
        first = time_step - window if window is not None and window < time_step else 0
        if first == 0:
            return float(_p_identity_variances(self.time_steps, self.noise)[time_step - 1]) + ROUNDING_VARIANCE
        groups = zip(
            self.strategy.weigh_noise(first, time_step),
            _p_identity_noise_variances(self.time_steps, self.noise),
            strict=True,
        )
        return sum(float(np.square(weights) @ variances) for weights, variances in groups) + 2 * ROUNDING_VARIANCE

    def mean_variance(self, time_steps: int) -> float:
        """Return the mean variance of the totals after each of the first `time_steps` steps, in squared tuples.

        Args:
            time_steps: Number of steps, from 1 to the horizon.
        """
        return float(_p_identity_variances(self.time_steps, self.noise)[:time_steps].mean()) + ROUNDING_VARIANCE


@lru_cache(maxsize=16)  # a pure function of public facts
def _p_identity_variances(time_steps: int, noise: Noise) -> FloatArray:
    """Return the noise variance of the running total after each step under the p-Identity strategy, (time_steps,).

    Rounding of the released totals is not included.

    Args:
        time_steps: Horizon: the number of time steps.
        noise: Noise that a single count would have if it were released with the whole loss.
    """
    return cast("PIdentityStrategy", find_p_identity_strategy(time_steps)).prefix_variances(noise)


@lru_cache(maxsize=16)  # a pure function of public facts
def _p_identity_noise_variances(time_steps: int, noise: Noise) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the noises of all cells and of all weighted rows of the p-Identity strategy.

    Args:
        time_steps: Horizon: the number of time steps.
        noise: Noise that a single count would have if it were released with the whole loss.

    Returns:
        Variances of the cells, then variances of the rows of the strategy.
    """
    cells, rows = cast("PIdentityStrategy", find_p_identity_strategy(time_steps)).noises(noise)
    return np.array([cell.variance for cell in cells]), np.array([row.variance for row in rows])


WEIGHT_PARTS = 64
"""Parts. Weights of a node's noise in its estimate are rounded to multiples of 1/64, so that sums of them are exact
integers."""


ROUNDING_VARIANCE = 1 / 12
"""Squared tuples. Variance of rounding a continuous value to an integer, added to the variance of a released value that
is rounded."""


@dataclass(frozen=True)
class PrefixTree:
    """A tree over a block of steps: a node on level l covers ``widths[l]`` steps and has independent noise.

    The noise of a prefix is linear in the noises of the nodes. Bottom-up, a node's estimate is ``weight`` times its own
    noise plus ``1 - weight`` times the sum of its children's estimates. Top-down, the difference between a node's
    estimate and the sum of its children's estimates is distributed to the children equally. With optimal weights this
    is least squares (Hay, Rastogi, Miklau and Suciu 2010); with other weights it is unbiased too.

    Attributes:
        widths: Steps covered by a node of each level, from the block down to 1; each width divides the previous width.
        noises: Noise of a node of each level.
    """

    widths: tuple[int, ...]
    noises: tuple[Noise, ...]

    def __post_init__(self) -> None:
        next_widths = [*self.widths[1:], 1]
        if self.widths[-1:] != (1,) or any(
            width % next_width for width, next_width in zip(self.widths, next_widths, strict=True)
        ):
            raise InvalidArgument(
                "widths", "each must be a multiple of the next, and the last must be 1, as in (8, 4, 1)"
            )
        if len(self.noises) != len(self.widths):
            raise InvalidArgument("noises", "must be one for each of the widths; give as many noises as widths")

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """Number of children of a node on each level except the last (the branching factors)."""
        return tuple(width // next_width for width, next_width in zip(self.widths, self.widths[1:], strict=False))

    @cached_property
    def block_denominator(self) -> int:
        """Common denominator of the noise of the whole block in exact arithmetic: `WEIGHT_PARTS` to the power of the
        number of levels of inner nodes.
        """
        return prod(WEIGHT_PARTS for _ in self.radices)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Weight of the node's own noisy count in its bottom-up estimate (the rest is for its children), on each level
        with children, in units of ``1 / WEIGHT_PARTS``.

        Nearly optimal for least squares, and computed in exact fractions.
        """
        chosen: list[int] = []
        below = self._relative_variance(-1)
        for level in range(len(self.radices) - 1, -1, -1):
            own = self._relative_variance(level)
            children = self.radices[level] * below
            best = children / (own + children)
            chosen.insert(0, min(max(round(best * WEIGHT_PARTS), 1), WEIGHT_PARTS - 1))
            weight = Fraction(chosen[0], WEIGHT_PARTS)
            below = weight**2 * own + (1 - weight) ** 2 * children
        return tuple(chosen)

    @cached_property
    def node_variances(self) -> tuple[float, ...]:
        """Noise variance of a node's bottom-up estimate, which combines the noisy counts below it, on each level."""
        below = [self.noises[-1].variance]
        for level in range(len(self.radices) - 1, -1, -1):
            weight = self.weights[level] / WEIGHT_PARTS
            own = self.noises[level].variance
            children = self.radices[level] * below[0]
            below.insert(0, weight**2 * own + (1 - weight) ** 2 * children)
        return tuple(below)

    def variance(self, weights: FloatArray) -> float:
        """Return the noise variance of a weighted sum of the counts of all steps of the block.

        The estimate is a sum of the block's estimate times the mean weight and, for each node, contrasts of its
        children. These are uncorrelated with the children's sum, hence with the levels above and below, and with each
        other.

        Args:
            weights: Weight of each step, (steps of the block,).
        """
        total = self.node_variances[0] * float(weights.mean()) ** 2
        for level, radix in enumerate(self.radices):
            means = weights.reshape(-1, radix, self.widths[level + 1]).mean(axis=2)
            total += self.node_variances[level + 1] * float(np.square(means - means.mean(axis=1, keepdims=True)).sum())
        return total

    def window_variance(self, first: int, last: int) -> float:
        """Return the noise variance of the sum of consecutive steps of the block.

        Args:
            first: Index of the first step, from 0.
            last: Index after the last step.
        """
        if first == 0:
            return float(self.prefix_variances[last - 1])
        counted = np.zeros(self.widths[0])
        counted[first:last] = 1.0
        return self.variance(counted)

    @cached_property
    def prefix_variances(self) -> FloatArray:
        """Noise variances of the sums of the first 1, 2, ... steps of the block, (steps,); read-only."""
        time_steps = np.arange(1, self.widths[0] + 1)
        variances = self.node_variances[0] * (time_steps / self.widths[0]) ** 2
        for level, radix in enumerate(self.radices):
            covered = (time_steps % self.widths[level]) / self.widths[level + 1]
            whole = np.floor(covered)
            squares = whole + (covered - whole) ** 2
            variances += self.node_variances[level + 1] * (squares - covered**2 / radix)
        variances.flags.writeable = False
        return variances

    def _relative_variance(self, level: int) -> Fraction:
        """Return the noise variance of a node on one level as an exact fraction, up to a factor that all levels share.

        Args:
            level: Index of the level; -1: the lowest.
        """
        noise = self.noises[level]
        return noise.parameter**2 if noise.family is Family.LAPLACE else noise.parameter


class Block(NamedTuple):
    """The block that contains a step, with its tree of prefix sums.

    Attributes:
        start: Number of steps before the block.
        tree: Tree of the block.
    """

    start: int
    tree: PrefixTree


class Epoch(NamedTuple):
    """Consecutive blocks with equal trees. The last epoch of a distribution repeats its blocks as long as needed."""

    blocks: int
    tree: PrefixTree

    @property
    def time_steps(self) -> int:
        """Number of steps that all blocks of the epoch cover together."""
        return self.blocks * self.tree.widths[0]


STORED_CODEC.add(
    Epoch,
    lambda epoch: {"blocks": epoch.blocks, **STORED_CODEC.encode_fields(epoch.tree)},
    lambda stored: Epoch(int(stored["blocks"]), STORED_CODEC.decode_fields(PrefixTree, stored)),
)


class IdentityEstimator:
    """Estimator for values that are unbiased estimates already."""

    __slots__ = ()

    def estimate_next(self, values: FloatArray) -> FloatArray:
        """Return the released values unchanged as estimates, because they are unbiased already, (keys,).

        Args:
            values: Released values of the step, (keys,).
        """
        return values


@dataclass(frozen=True, slots=True)
class TreeCounts(PrefixDistribution):
    """Each step releases, per key, the running total plus noise, rounded to an integer.

    Attributes:
        keys: Number of counts of a step.
        epochs: Consecutive blocks, each with fresh noise.
    """

    KEY = "prefix trees"
    FIELDS = MappingProxyType({"keys": "keys", KEY: "epochs"})

    keys: int
    epochs: tuple[Epoch, ...]

    @property
    def size(self) -> int:
        """Number of released values per step: a running total for each key (counted state)."""
        return self.keys

    @property
    def family(self) -> Family:
        """The family of the noise of the nodes, the same in all epochs."""
        return self.epochs[0].tree.noises[0].family

    @property
    def block_denominator(self) -> int:
        """Common denominator of the noise of whole blocks of all epochs, so that exact noises can be added."""
        return max(epoch.tree.block_denominator for epoch in self.epochs)

    def block(self, time_step: int) -> Block:
        """Return the block that contains this step, with the number of steps before it.

        Args:
            time_step: Number of the time step, from 1; steps past the last epoch lie in its blocks.
        """
        start = 0
        for epoch in self.epochs[:-1]:
            if time_step <= start + epoch.time_steps:
                break
            start += epoch.time_steps
        else:
            epoch = self.epochs[-1]
        width = epoch.tree.widths[0]
        return Block(start + (time_step - start - 1) // width * width, epoch.tree)

    def variance(self, time_step: int, window: int | None = None) -> float:
        """Return the noise variance of a running total, or of a sum over a window, in squared tuples.

        Args:
            time_step: Last step of the total or the window.
            window: Number of steps of the window; None: all steps so far.
        """
        position = time_step - window if window is not None and window < time_step else 0
        total = ROUNDING_VARIANCE * (1 if position == 0 else 2)
        while position < time_step:
            start, tree = self.block(position + 1)
            first = position - start
            last = min(time_step - start, tree.widths[0])
            width = tree.widths[0]
            whole = 0 if first or last < width else self._count_whole_blocks(position, time_step)
            total += whole * tree.node_variances[0] if whole else tree.window_variance(first, last)
            position = position + whole * width if whole else start + last
        return total

    def _count_whole_blocks(self, position: int, time_step: int) -> int:
        """Return the number of whole blocks, within one epoch, from the end of a block up to a step.

        Args:
            position: Number of the step at which the block ends.
            time_step: Number of a later step.
        """
        start = 0
        for epoch in self.epochs[:-1]:
            if position < start + epoch.time_steps:
                return (min(time_step, start + epoch.time_steps) - position) // epoch.tree.widths[0]
            start += epoch.time_steps
        return (time_step - position) // self.epochs[-1].tree.widths[0]

    def estimator(self) -> IdentityEstimator:
        """Return an estimator of running totals that returns the released values, which are noisy totals already."""
        return IdentityEstimator()

    def mean_variance(self, time_steps: int) -> float:
        """Return the mean noise variance of the running totals after each of the first `time_steps` steps, in squared
        tuples.

        Args:
            time_steps: Number of steps, from 1.
        """
        position = 0
        carried = 0.0
        total = 0.0
        while position < time_steps:
            tree = self.block(position + 1).tree
            whole = self._count_whole_blocks(position, time_steps)
            prefix_variances = tree.prefix_variances[: time_steps - position]
            width = tree.widths[0]
            if whole == 0:
                total_variance = total + float(prefix_variances.sum()) + carried * len(prefix_variances)
                return total_variance / time_steps + ROUNDING_VARIANCE
            before = carried * whole + tree.node_variances[0] * whole * (whole - 1) / 2
            total += whole * float(prefix_variances.sum()) + width * before
            position = position + whole * width
            carried = carried + whole * tree.node_variances[0]
        return total / time_steps + ROUNDING_VARIANCE


def prefix_noise(tree: PrefixTree, noises: Sequence[Any]) -> tuple[Any, Any]:
    """Return the exact noises of the sums of a block's first 1, 2, ... steps, and of the whole block. SECRET if the
    noises are.

    The result is linear in the noises of the nodes.

    Args:
        tree: Tree of the block.
        noises: Noises of the nodes of each level, (nodes, keys), as integers that can hold the results.

    Returns:
        Integers over ``prefix_denominator(tree)``, and integers over ``WEIGHT_PARTS**depth`` for the whole block.
    """
    depth = len(tree.radices)
    estimates = [noises[-1]]
    for level in range(depth - 1, -1, -1):
        below = estimates[0]
        weight = tree.weights[level]
        sums = below.reshape(-1, tree.radices[level], below.shape[-1]).sum(axis=1)
        estimates.insert(
            0, weight * WEIGHT_PARTS ** (depth - level - 1) * noises[level] + (WEIGHT_PARTS - weight) * sums
        )
    final = estimates[0]
    before = final - final
    scale = 1
    for level, radix in enumerate(tree.radices):
        children = estimates[level + 1] * WEIGHT_PARTS ** (level + 1) * scale
        grouped = children.reshape(-1, radix, children.shape[-1])
        gap = (final - grouped.sum(axis=1))[:, None]
        finals = radix * grouped + gap
        sums = np.cumsum(finals, axis=1)
        before = (radix * before[:, None] + sums - finals).reshape(-1, children.shape[-1])
        final = finals.reshape(-1, children.shape[-1])
        scale = scale * radix
    return before + final, estimates[0][0]


def prefix_denominator(tree: PrefixTree) -> int:
    """Return the common denominator of the exact noises of prefixes that `prefix_noise` returns as integers.

    Args:
        tree: Tree of noise over a block of steps.
    """
    return int(WEIGHT_PARTS ** len(tree.radices)) * prod(tree.radices)


class RunningTotalEstimator:
    """An unbiased estimator of the number of counted tuples so far, from released counts under any distribution of
    streams.
    """

    __slots__ = (
        "_distribution",
        "_estimator",
        "_longest_span",
        "_nodes",
        "_roots",
        "_states",
        "_total",
        "_variances",
        "time_step",
    )

    def __init__(self, distribution: OutputDistribution, states: int, longest_span: int = 64) -> None:
        """Begin an estimator of the number of counted tuples up to each step, from released counts.

        Args:
            distribution: Distribution of the counts.
            states: Number of states of a step, without aggregations.
            longest_span: Longest span, in steps, whose variance is asked for.
        """
        self._distribution = distribution
        self._states = states
        self.time_step = 0
        self._total = 0.0
        self._longest_span = longest_span
        self._estimator = distribution.estimator() if isinstance(distribution, PrefixDistribution) else None
        self._nodes = None
        if isinstance(distribution, HierarchyCounts):
            noises = [np.inf if noise is None else noise.variance for noise in distribution.noises]
            self._nodes = NodeEstimates(distribution.parents, np.array(noises))
        self._roots = [node for node, parent in enumerate(getattr(distribution, "parents", ())) if parent < 0]
        self._variances = [0.0]  # of the noise of all time steps so far, after each time step that may still be needed

    def estimate_next(self, values: Sequence[int]) -> float:
        """Return the estimated number of counted tuples up to the next step, over all keys, from its released integers.

        Args:
            values: Released integers of the step, in the order of the distribution.
        """
        self.time_step += 1
        if self._estimator is not None:
            self._total = float(self._estimator.estimate_next(np.array(values, dtype=np.float64)).sum())
            return self._total
        number, variance = self._estimate_time_step(values)
        self._total += number
        self._variances.append(self._variances[-1] + variance)
        del self._variances[: -self._longest_span - 1]
        return self._total

    def variance(self, width: int | None) -> float:
        """Return the noise variance of the number of tuples in the last `width` steps; None: of all steps.

        Args:
            width: Number of steps; at most the longest span that the estimator was made for.
        """
        if isinstance(self._distribution, PrefixDistribution):
            return self._states * self._distribution.variance(self.time_step, width)
        return self._variances[-1] - (0.0 if width is None else self._variances[-1 - width])

    def defer_variance(self, width: int | None) -> Callable[[], float]:
        """Return a function that computes the noise variance after this step when it is needed, even after later steps.

        Args:
            width: Width of a window in steps; None: the running total.

        Returns:
            Function without arguments that returns the noise variance, as `variance` does now.
        """
        if isinstance(self._distribution, PrefixDistribution):
            distribution = self._distribution
            states = self._states
            time_step = self.time_step
            return lambda: states * distribution.variance(time_step, width)
        variance = self.variance(width)
        return lambda: variance

    def _estimate_time_step(self, values: Sequence[int]) -> tuple[float, float]:
        """Return the unbiased number of counted tuples of one step, over all states, and its noise variance.

        Args:
            values: Released values of the step.

        Returns:
            Number of tuples, which may be negative, and its variance in squared tuples.
        """
        distribution = self._distribution
        if isinstance(distribution, IntervalSums):
            return float(sum(values)), self._states * distribution.levels[-1].noise.variance
        if isinstance(distribution, GroupedCounts):
            states = values[distribution.keys - self._states : distribution.keys]
            return float(sum(states)), self._states * distribution.noise.variance
        if isinstance(distribution, PrunedCounts):
            counts, variances = distribution.sum_nodes(values)
        else:
            nodes: Any = self._nodes
            counts = nodes.estimate_nodes(np.array(values, dtype=np.float64))
            variances = nodes.variances
        return float(counts[self._roots].sum()), float(variances[self._roots].sum())
