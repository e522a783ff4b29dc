"""Stream mechanisms with independent noise at every time step: on counts of states, and along a hierarchy of them.

A tuple (timestamped row) is counted at one step, in one state such as a ward, and in the aggregations (nested sets of
states, such as a hospital) that contain this state:

    Perturber          counts of states, each with the whole loss
    Hierarchy          counts of states and aggregations; a level has a fraction s of the loss, and the fractions along
                       a path sum to at most 1; s multiplies variances by 1 / s**2 (Laplace) or 1 / s (Gaussian)
    PrunedHierarchy    aggregations that seem to hold many tuples are divided (PrivTree); undivided nodes are counted

The state of these mechanisms is the number of the last step (`TimeStepState`).

Formal guarantees: the granted loss for all steps together, pure or zero-concentrated, because all steps are one table
with disjoint cells; also if counts depend on earlier releases. Proofs at the classes.

References: Chen, Machanavajjhala, Hay and Miklau 2017; Zhang, Xiao and Xie 2016 (PrivTree).

>>> forest = Forest.from_json({"all": list("abcdefgh")})
>>> [str(fraction) for fraction in best_budget_fractions(forest, Family.GAUSSIAN)[:2]]  # of the root, and of a state
['3/20', '17/20']
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.conversation import Plan
from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.distributions.output_distribution import round_error
from dpcurves.mechanisms.base import ExactTable, QueryMechanism
from dpcurves.mechanisms.linear import calibrate_noise, sample_noise
from dpcurves.mechanisms.thresholds import calibrate_noise_and_decay, is_noisily_above_zero
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves_streams.queries import Forest

from ..distributions import HierarchyCounts, NodeEstimates, PrunedCounts
from ..queries import HierarchyQuery, PrunedQuery, TimeStepQuery
from .sequential import decode_state, encode_state, require_next

# Mechanisms whose noise and decisions are independent between steps have the step number as their only state.
KIND = "memoryless noise"
"""Name of these mechanisms in stored states; a state of another name is refused."""


@dataclass(frozen=True, slots=True, repr=False)
class TimeStepState:
    """State of a mechanism that remembers only the number of the last step.

    Attributes:
        time_step: Number of the last released step; 0 before the first.
    """

    time_step: int

    def to_bytes(self) -> bytes:
        """Return the step number as bytes, which `Memoryless.restore_state` reads."""
        return encode_state(KIND, {"time_step": self.time_step})


class TimeStepMechanism(QueryMechanism):
    """Base class of mechanisms for queries of a stream."""

    __slots__ = ()

    query_types: ClassVar[tuple[type[TimeStepQuery], ...]] = (TimeStepQuery,)
    display_name = "what answers step by step"


class Memoryless(TimeStepMechanism):
    """Base class of mechanisms with independent noise at each step; their state is the number of the last step."""

    __slots__ = ()

    def begin(self, plan: Plan) -> TimeStepState:
        """Return the state before the first step: step 0.

        Args:
            plan: Plan of the stream; without effect.
        """
        return TimeStepState(0)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> TimeStepState:
        """Return the state from bytes that `TimeStepState.to_bytes` wrote.

        Args:
            state_bytes: The bytes.
            plan: Not used.

        Raises:
            ValueError: The bytes are not of such a state.
        """
        return TimeStepState(int(decode_state(KIND, state_bytes)["time_step"]))


@dataclass(frozen=True, slots=True)
class Perturber(Memoryless):
    """Independent noise on each cell at each step (Chen, Machanavajjhala, Hay and Miklau 2017, section 4.1).

    Formal guarantees: all steps together are one table with a cell for each step and state, in which a tuple is in at
    most one cell. So tables of neighbouring streams differ by at most ``adjacency.l1_sensitivity`` and
    ``adjacency.squared_l2_sensitivity``. Each cell has independent noise: discrete Laplace noise of scale b on integers
    loses ``|shift|_1 / b``, discrete Gaussian noise with variance parameter v loses rho ``|shift|_2**2 / (2 v)``.
    Counts that depend on earlier releases change nothing: given these, each step adds its own shift to the sum.
    """

    def _plan(self, query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan of one noisy count per state and step; its error is the standard deviation of a count.

        Args:
            query: The counts of each time step.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation.

        Raises:
            UnsupportedQuery: The noise for this loss cannot be drawn.
        """
        noise = calibrate_noise(query, loss, adjacency)
        distribution = IntervalSums(1, query.keys, (Tier(range(query.keys), noise),), missing=None)
        name = f"{noise.family.value} noise on every time step"
        return Plan(query, loss, adjacency, name, distribution, round_error(sqrt(noise.variance)))

    def step(
        self, table: ExactTable, time_step: int, state: TimeStepState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TimeStepState]:
        """Release one time step: the exact count of each state plus independent noise.

        Args:
            table: SECRET. Exact count of each state in the time step.
            time_step: Number of the time step, from 1.
            state: State after the step before.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            The noisy counts in the order of `table`, and the state after this step.

        Raises:
            ValueError: The state belongs to another step, or the table has another number of counts.
        """
        require_next(time_step, state)
        distribution = plan.distribution.require_type(IntervalSums)
        noise = sample_noise(distribution.levels[0].noise, distribution.cells, randomness)
        return add_noise(table, noise.tolist()), TimeStepState(time_step)


def add_noise(table: ExactTable, noise: list[int]) -> tuple[int, ...]:
    """SECRET: return exact counts plus noise as Python integers, which cannot overflow.

    Args:
        table: SECRET. Exact counts.
        noise: One draw for each count, in the same order.

    Returns:
        The sums, in the order of `table`.

    Raises:
        InvalidArgument: The numbers of counts and draws differ.
    """
    if len(table) != len(noise):
        raise InvalidArgument(
            "table", f"must have {len(noise)} counts per step, one for each state of the question, got {len(table)}"
        )
    return tuple(count + draw for count, draw in zip(table.tolist(), noise, strict=True))


# Noisy counts of states and of their aggregations, with the loss split among levels.
FRACTION_STEPS = 20
"""Budget fractions of levels are multiples of 1/20, which the search tries in turn; more are finer and take longer."""


@dataclass(frozen=True, slots=True)
class Hierarchy(Memoryless):
    """Noisy counts of all nodes of a forest at every step; each level has a fraction of the loss.

    A state has the fraction that the levels above it leave. Fractions minimise the mean standard deviation of all
    nodes' best estimates (`best_budget_fractions`); a level with fraction 0 is not counted but added up.

    Formal guarantees: a tuple is in one state and in the aggregations that contain it. The fractions of the nodes of a
    path sum to at most 1. *Pure*: a node with fraction s has discrete Laplace noise of scale ``D / (s * epsilon)``,
    where D is ``adjacency.l1_sensitivity``, and each of D tuples costs at most ``sum(s * epsilon / D)`` over its path.
    *Zero-concentrated*: a node has noise with variance parameter ``D2 / (2 * s * rho)``, where D2 is
    ``adjacency.squared_l2_sensitivity``, and costs ``s * rho * shift**2 / D2``. Let tuples i of a unit be added or
    removed, with sign 1 or -1. Then the sum of ``s * shift**2`` over nodes is the sum over pairs of ``sign_i * sign_j``
    times the fractions of all nodes that contain both, which sum to at most 1. Pairs with unlike signs reduce it, so it
    is at most k**2 if k tuples are added, and 2 * k**2 if k are also removed: D2. Counts that depend on earlier
    releases change nothing, as for `Perturber`.
    """

    query_types = (HierarchyQuery,)
    display_name = "aggregations"
    refusal_template = "{called} of states are not what {kind} asks"

    def _plan(self, query: HierarchyQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan of noisy counts of the nodes that get a budget fraction.

        The error of the plan is the mean standard deviation of all nodes' best estimates.

        Args:
            query: The forest of aggregations and states.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation.

        Raises:
            UnsupportedQuery: The noise for this loss cannot be drawn.
        """
        whole = calibrate_noise(query, loss, adjacency)
        shares = best_budget_fractions(query.forest, whole.family)
        noises = tuple(None if share == 0 else Noise(whole.family, whole.parameter / share) for share in shares)
        distribution = HierarchyCounts(query.forest.parents, noises)
        error = mean_deviation(query.forest, shares, whole.family) * whole.variance**0.5
        return Plan(
            query,
            loss,
            adjacency,
            "noise on every time step of aggregations and states",
            distribution,
            round_error(error),
        )

    def step(
        self, table: ExactTable, time_step: int, state: TimeStepState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TimeStepState]:
        """Release one time step: the exact count of each node with a budget fraction, plus independent noise.

        Args:
            table: SECRET. Exact count of each state in the time step.
            time_step: Number of the time step, from 1.
            state: State after the step before.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            The noisy counts of counted aggregations, then of states, in the order of the forest; and the state after
            this step.

        Raises:
            ValueError: The state belongs to another step.
        """
        require_next(time_step, state)
        distribution = plan.distribution.require_type(HierarchyCounts)
        query: HierarchyQuery = self.require_query(plan)
        counts = query.forest.count_nodes(table.tolist())
        exact = [count for count, noise in zip(counts, distribution.noises, strict=True) if noise is not None]
        return add_noise(np.array(exact, dtype=object), _sample_node_noise(distribution, randomness)), TimeStepState(
            time_step
        )


def _sample_node_noise(distribution: HierarchyCounts, randomness: Randomness) -> list[int]:
    """SECRET: draw the noise of each counted node.

    Args:
        distribution: Noise of each node; None for nodes that are not counted.
        randomness: Source of the noise.

    Returns:
        One draw for each counted node, in the order of the forest. Nodes with equal noise are drawn at once.
    """
    noises = [noise for noise in distribution.noises if noise is not None]
    draws = np.zeros(len(noises), dtype=np.int64)
    for noise in dict.fromkeys(noises):
        indices = [index for index, node_noise in enumerate(noises) if node_noise == noise]
        draws[indices] = sample_noise(noise, len(indices), randomness)
    return [int(draw) for draw in draws]


@lru_cache(maxsize=64)  # a pure function of public facts
def best_budget_fractions(forest: Forest, family: Family) -> tuple[Fraction, ...]:
    """Choose the budget fraction of each level of a forest, so that the mean standard deviation of all nodes is small.

    A greedy search begins with the whole budget for the states, and moves 1/20 at a time to the level where that helps
    most.

    Args:
        forest: The aggregations and states.
        family: Laplace or Gaussian noise.

    Returns:
        The fraction of each aggregation, then of each state; 0: not counted. They sum to 1 along each path.

    >>> forest = Forest.from_json({"all": ["a", "b", "c"]})
    >>> [str(share) for share in best_budget_fractions(forest, Family.LAPLACE)]
    ['0', '1', '1', '1']
    """
    depth = max(forest.depths)
    level_steps = [0] * depth
    least = mean_deviation(forest, _node_budget_fractions(forest, level_steps), family)
    while sum(level_steps) + 1 < FRACTION_STEPS:
        candidates = [
            [*level_steps[:level], level_steps[level] + 1, *level_steps[level + 1 :]] for level in range(depth)
        ]
        errors = [mean_deviation(forest, _node_budget_fractions(forest, candidate), family) for candidate in candidates]
        if not errors or min(errors) >= least:
            break
        least = min(errors)
        level_steps = candidates[errors.index(least)]
    return _node_budget_fractions(forest, level_steps)


def mean_deviation(forest: Forest, budget_fractions: tuple[Fraction, ...], family: Family) -> float:
    """Return the mean standard deviation of the least-squares estimates of all nodes, by which budget fractions are
    chosen.

    Args:
        forest: The nodes, with their parents.
        budget_fractions: Fraction of the loss of each node; 0: not counted.
        family: Laplace, or else Gaussian.

    Returns:
        The mean over aggregations and states, in units of the deviation of a count that has the whole loss.
    """
    power = 2 if family is Family.LAPLACE else 1
    variances: FloatArray = np.array([float(share) ** -power if share else np.inf for share in budget_fractions])
    return round_error(float(np.sqrt(NodeEstimates(forest.parents, variances).variances).mean()))


def _node_budget_fractions(forest: Forest, level_steps: list[int]) -> tuple[Fraction, ...]:
    """Return the budget fraction of each aggregation, then of each state, which depends on the depth in the hierarchy.

    Args:
        forest: The aggregations and states.
        level_steps: For each depth, the fraction of its aggregations in units of 1/20. States have the rest.
    """
    depths = forest.depths
    groups = len(forest.names)
    aggregation_fractions = [Fraction(level_steps[depth], FRACTION_STEPS) for depth in depths[:groups]]
    state_fractions = [1 - Fraction(sum(level_steps[:depth]), FRACTION_STEPS) for depth in depths[groups:]]
    return (*aggregation_fractions, *state_fractions)


class DivisionRule(NamedTuple):
    """Private decision (PrivTree) whether an aggregation is divided: if a noisy score of its count is above zero.

    The score is ``max(clipped count - offset, -decay)`` plus a draw of `noise`.

    Attributes:
        noise: Distribution of the noise.
        decay: Amount by which the threshold rises with each level, in tuples.
        offsets: Threshold of each aggregation, in tuples, (aggregations,).
    """

    noise: Noise
    decay: int
    offsets: IntArray


@dataclass(frozen=True, slots=True)
class PrunedHierarchy(Memoryless):
    """At each step, divide aggregations that seem to hold many tuples, from the top, and count undivided nodes.

    It replaces PRUNE (Chen 2018, Algorithm 18), whose loss exceeds its claim by more with every level.

    Formal guarantees: *Decisions* of a step are made as in `PrivTree` on a fixed tree: a tuple is in the aggregations
    of one path, with at most as many divisions as the forest is deep, and at most as many children per division as an
    aggregation has; the proof of `PrivTree` needs nothing else. Steps have independent decisions, and a tuple is in one
    step; a tuple that moves to another step leaves one path and enters another, which PrivTree's sensitivity to a move
    covers. Decisions lose the query's budget fraction. *Counts*: given the decisions, counted nodes are disjoint, so
    neighbouring streams differ in them by at most ``adjacency.l1_sensitivity`` and
    ``adjacency.squared_l2_sensitivity``; their noise loses the rest. Given all earlier releases, a step loses by its
    own tuples only, so streams may be chosen from releases.
    """

    query_types = (PrunedQuery,)
    display_name = "a hierarchy"
    refusal_template = "{called} is not pruned for {kind}"

    def _plan(self, query: PrunedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan: noisy decisions which aggregations to divide, then noisy counts of undivided nodes.

        Args:
            query: The forest, and the budget fraction of the decisions.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation.

        Raises:
            UnsupportedQuery: Decisions of `PrivTree` cannot be calibrated for this query, loss and adjacency.
        """
        division_rule(query, loss, adjacency)
        noise = calibrate_noise(query, loss * (1 - query.budget_fraction), adjacency)
        distribution = PrunedCounts(query.forest.parents, len(query.forest.names), noise)
        return Plan(
            query,
            loss,
            adjacency,
            "PrivTree at every time step, and noise",
            distribution,
            round_error(noise.variance**0.5),
        )

    def step(
        self, table: ExactTable, time_step: int, state: TimeStepState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TimeStepState]:
        """Release one time step: which aggregations are divided, and noisy counts of the undivided nodes.

        Args:
            table: SECRET. Exact count of each state in the time step.
            time_step: Number of the time step, from 1.
            state: State after the step before.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            For each aggregation 1 if it is divided, else 0; then for each node its noisy count, or 0 if it is not
            counted; and the state after this step.

        Raises:
            ValueError: The state belongs to another step.
        """
        require_next(time_step, state)
        query: PrunedQuery = self.require_query(plan)
        distribution = plan.distribution.require_type(PrunedCounts)
        rule = division_rule(query, plan.loss, plan.adjacency)
        counts = query.forest.count_nodes(table.tolist())
        # 2**60: tuples at which counts are clipped before the decision to divide; clipping does not raise the
        # sensitivity
        clipped = np.array([min(count, 2**60) for count in counts[: distribution.groups]], dtype=np.int64)
        scores = np.maximum(clipped - rule.offsets, -rule.decay)
        divided = distribution.mark_reached(is_noisily_above_zero(scores, rule.noise, randomness))
        frontier = distribution.mark_frontier(divided)
        exact = np.array(counts, dtype=object)[frontier]
        noisy = iter(add_noise(exact, sample_noise(distribution.noise, len(exact), randomness).tolist()))
        values = (next(noisy) if is_counted else 0 for is_counted in frontier)
        return (*divided.astype(int).tolist(), *values), TimeStepState(time_step)


def division_rule(query: PrunedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> DivisionRule:
    """Return the noise and thresholds of the private decisions whether to count the children of an aggregation
    (PrivTree).

    Only public facts are used.

    Args:
        query: The forest, and the budget fraction of the decisions.
        loss: The privacy loss of decisions and counts together.
        adjacency: The neighbouring relation.

    Raises:
        UnsupportedQuery: Decisions of `PrivTree` cannot be calibrated for this query, loss and adjacency.
    """
    depths = query.forest.depths[: len(query.forest.names)]
    max_children = max(Counter(parent for parent in query.forest.parents if parent >= 0).values(), default=2)
    noise, decay = calibrate_noise_and_decay(
        max_children, max(depths, default=0) + 1, loss * query.budget_fraction, adjacency
    )
    return DivisionRule(noise, decay, query.minimum + decay * np.array(depths, dtype=np.int64))
