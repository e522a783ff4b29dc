"""Independent noise at every tick: on counts of states, on sums of them, and on pruned hierarchies."""

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
from dpcurves.laws import Family, IntervalSums, Noise, Tier
from dpcurves.laws.law import round_error
from dpcurves.mechanisms.base import ExactTable, QueryMechanism
from dpcurves.mechanisms.linear import calibrate_noise, sample_noise
from dpcurves.mechanisms.thresholds import calibrate_noise_and_decay, is_noisily_above_zero
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves_streams.queries import Forest

from ..laws import HierarchyCounts, NodeEstimates, PrunedCounts
from ..queries import HierarchyQuery, PrunedQuery, TickQuery
from .sequential import decode_state, encode_state, require_next

# State of mechanisms whose noise and decisions at one tick are independent of all others: the tick alone.
KIND = "memoryless noise"


@dataclass(frozen=True, slots=True, repr=False)
class TickState:
    """State of a mechanism that remembers only which tick was last."""

    tick: int

    def to_bytes(self) -> bytes:
        """The tick."""
        return encode_state(KIND, {"tick": self.tick})


class TickMechanism(QueryMechanism):
    """Base of mechanisms for queries of a stream."""

    __slots__ = ()

    query_types: ClassVar[tuple[type[TickQuery], ...]] = (TickQuery,)
    display_name = "what answers tick by tick"


class Memoryless(TickMechanism):
    """Base of mechanisms with independent noise at each tick: their state is the number of the last tick."""

    __slots__ = ()

    def begin(self, plan: Plan) -> TickState:
        """No tick was answered."""
        return TickState(0)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> TickState:
        """The tick that was written."""
        return TickState(int(decode_state(KIND, state_bytes)["tick"]))


@dataclass(frozen=True, slots=True)
class Perturber(Memoryless):
    """Independent noise on each cell of each tick (Chen, Machanavajjhala, Hay and Miklau 2017, section 4.1).

    Formal guarantees: all ticks together are one table with a cell for each tick and state, in which a tuple is in one
    cell at most; so neighbouring streams have tables as far apart as ``adjacency.l1_sensitivity`` and
    ``adjacency.squared_l2_sensitivity`` say. Each cell has noise of its own: discrete Laplace noise of scale b on
    integers loses ``|shift|_1 / b``, discrete Gaussian noise with variance parameter v rho ``|shift|_2**2 / (2 v)``.
    Counts that depend on answers before change nothing: given these, each tick adds its own shift to the sum.
    """

    def _plan(self, query: TickQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        noise = calibrate_noise(query, loss, adjacency)
        law = IntervalSums(1, query.keys, (Tier(range(query.keys), noise),), missing=None)
        name = f"{noise.family.value} noise on every tick"
        return Plan(query, loss, adjacency, name, law, round_error(sqrt(noise.variance)))

    def step(
        self, table: ExactTable, tick: int, state: TickState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TickState]:
        """Exact counts, each plus one draw."""
        require_next(tick, state)
        law = plan.law.require_type(IntervalSums)
        noise = sample_noise(law.levels[0].noise, law.cells, randomness)
        return add_noise(table, noise.tolist()), TickState(tick)


def add_noise(table: ExactTable, noise: list[int]) -> tuple[int, ...]:
    """SECRET: counts plus noise, in Python's integers, which cannot overflow."""
    if len(table) != len(noise):
        raise InvalidArgument("table", f"a tick has {len(noise)} counts, got {len(table)}")
    return tuple(count + each for count, each in zip(table.tolist(), noise, strict=True))


# Noisy counts of the states of a stream and of aggregations of them, with the loss split among levels.
STEPS = 20
"""Shares of levels are multiples of ``1 / STEPS``."""


@dataclass(frozen=True, slots=True)
class Hierarchy(Memoryless):
    """Counts of all nodes of a forest at every tick, each level with its share of the loss.

    A state has what the levels above it leave over. Shares are those of the least mean deviation of all nodes' best
    estimates (`best_budget_fractions`); a level whose share is 0 is not counted, but added up.

    Formal guarantees: a tuple is in one state, and in the aggregations around it. Shares of the nodes of a path add up
    to 1 at most. *Pure*: a node with the share s has discrete Laplace noise of scale ``D / (s * epsilon)``, D being
    ``adjacency.l1_sensitivity``, and each of D tuples costs at most ``sum(s * epsilon / D)`` over its path.
    *Zero-concentrated*: a node has noise with the variance parameter ``D2 / (2 * s * rho)``, D2 being
    ``adjacency.squared_l2_sensitivity``, and costs ``s * rho * shift**2 / D2``. Let tuples i of a unit come or go, with
    the sign 1 or -1. Then the sum of ``s * shift**2`` over nodes is the sum over pairs of ``sign_i * sign_j`` times the
    shares of all nodes around both, which are at most 1 together. Pairs with unlike signs take away, so it is at most
    k**2 where k tuples come, and 2 * k**2 where k go as well: D2. Counts that depend on answers before change nothing,
    as for `Perturber`.
    """

    query_types = (HierarchyQuery,)
    display_name = "aggregations"
    refusal_template = "{called} of states are not what {kind} asks"

    def _plan(self, query: HierarchyQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        whole = calibrate_noise(query, loss, adjacency)
        shares = best_budget_fractions(query.forest, whole.family)
        noises = tuple(None if share == 0 else Noise(whole.family, whole.parameter / share) for share in shares)
        law = HierarchyCounts(query.forest.parents, noises)
        error = mean_deviation(query.forest, shares, whole.family) * whole.variance**0.5
        return Plan(query, loss, adjacency, "noise on every tick of aggregations and states", law, round_error(error))

    def step(
        self, table: ExactTable, tick: int, state: TickState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TickState]:
        """Exact counts of all nodes that are counted, each plus one draw."""
        require_next(tick, state)
        law = plan.law.require_type(HierarchyCounts)
        query: HierarchyQuery = self.require_query(plan)
        counts = query.forest.count_nodes(table.tolist())
        exact = [each for each, noise in zip(counts, law.noises, strict=True) if noise is not None]
        return add_noise(np.array(exact, dtype=object), _sample_node_noise(law, randomness)), TickState(tick)


def _sample_node_noise(law: HierarchyCounts, randomness: Randomness) -> list[int]:
    """SECRET: a draw for each node that is counted, in their order; of nodes that are alike all at once."""
    kinds = [noise for noise in law.noises if noise is not None]
    drawn = np.zeros(len(kinds), dtype=np.int64)
    for noise in dict.fromkeys(kinds):
        places = [place for place, kind in enumerate(kinds) if kind == noise]
        drawn[places] = sample_noise(noise, len(places), randomness)
    return [int(each) for each in drawn]


@lru_cache(maxsize=64)  # a pure function of public facts
def best_budget_fractions(forest: Forest, family: Family) -> tuple[Fraction, ...]:
    """The share of each node: from all for the states, steps are given to the level where they help most.

    >>> forest = Forest.from_json({"all": ["a", "b", "c"]})
    >>> [str(share) for share in best_budget_fractions(forest, Family.LAPLACE)]
    ['0', '1', '1', '1']
    """
    depth = max(forest.depths)
    given = [0] * depth
    least = mean_deviation(forest, _node_budget_fractions(forest, given), family)
    while sum(given) + 1 < STEPS:
        tries = [[*given[:level], given[level] + 1, *given[level + 1 :]] for level in range(depth)]
        errors = [mean_deviation(forest, _node_budget_fractions(forest, each), family) for each in tries]
        if not errors or min(errors) >= least:
            break
        least = min(errors)
        given = tries[errors.index(least)]
    return _node_budget_fractions(forest, given)


def mean_deviation(forest: Forest, budget_fractions: tuple[Fraction, ...], family: Family) -> float:
    """The mean of the standard deviations of all nodes' best estimates, where the whole loss has a deviation of 1."""
    power = 2 if family is Family.LAPLACE else 1
    variances: FloatArray = np.array([float(share) ** -power if share else np.inf for share in budget_fractions])
    return round_error(float(np.sqrt(NodeEstimates(forest.parents, variances).variances).mean()))


def _node_budget_fractions(forest: Forest, level_steps: list[int]) -> tuple[Fraction, ...]:
    """The share of each node, if aggregations of each depth have so many steps, and states the rest."""
    depths, groups = forest.depths, len(forest.names)
    above = [Fraction(level_steps[depth], STEPS) for depth in depths[:groups]]
    rest = [1 - Fraction(sum(level_steps[:depth]), STEPS) for depth in depths[groups:]]
    return (*above, *rest)


MOST = 2**60
"""Tuples above which an aggregation is divided as if it had so many: no tuple moves more."""


class DivisionRule(NamedTuple):
    """When an aggregation is divided: see `PrivTree`."""

    noise: Noise
    decay: int
    offsets: IntArray


@dataclass(frozen=True, slots=True)
class PrunedHierarchy(Memoryless):
    """At each tick, divide aggregations that seem to hold many tuples, from the top, and count what is not divided.

    In place of PRUNE (Chen 2018, Algorithm 18), which loses more than it says with every level.

    Formal guarantees: *Decisions* of a tick are those of `PrivTree` on a tree that is given: a tuple is in the
    aggregations of one path alone, with at most as many divisions as the forest is deep, and as many parts of one as an
    aggregation has at most; its proof asks for nothing else. Ticks have decisions of their own, and a tuple is in one
    tick; one that moves to another goes from one path and comes to another, which is what its price of a move is made
    of. They lose the query's share. *Counts*: given the decisions, nodes that are counted are apart, so neighbouring
    streams differ in them by ``adjacency.l1_sensitivity`` and ``adjacency.squared_l2_sensitivity`` at most: their noise
    loses the rest. Given all answers before, a tick loses by its own tuples alone, so streams may be chosen by answers.
    """

    query_types = (PrunedQuery,)
    display_name = "a hierarchy"
    refusal_template = "{called} is not pruned for {kind}"

    def _plan(self, query: PrunedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        division_rule(query, loss, adjacency)
        noise = calibrate_noise(query, loss * (1 - query.budget_fraction), adjacency)
        law = PrunedCounts(query.forest.parents, len(query.forest.names), noise)
        return Plan(query, loss, adjacency, "PrivTree at every tick, and noise", law, round_error(noise.variance**0.5))

    def step(
        self, table: ExactTable, tick: int, state: TickState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TickState]:
        """Decisions, and behind them counts of what was not divided, each plus one draw."""
        require_next(tick, state)
        query: PrunedQuery = self.require_query(plan)
        law = plan.law.require_type(PrunedCounts)
        rule, counts = division_rule(query, plan.loss, plan.adjacency), query.forest.count_nodes(table.tolist())
        capped = np.array([min(each, MOST) for each in counts[: law.groups]], dtype=np.int64)
        scores = np.maximum(capped - rule.offsets, -rule.decay)
        divided = law.mark_reached(is_noisily_above_zero(scores, rule.noise, randomness))
        kept = law.mark_frontier(divided)
        exact = np.array(counts, dtype=object)[kept]
        noisy = iter(add_noise(exact, sample_noise(law.noise, len(exact), randomness).tolist()))
        shown = (next(noisy) if each else 0 for each in kept)
        return (*divided.astype(int).tolist(), *shown), TickState(tick)


def division_rule(query: PrunedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> DivisionRule:
    """When aggregations are divided, with the query's share of the loss. Raises `UnsupportedQuery` as PrivTree does."""
    depths = query.forest.depths[: len(query.forest.names)]
    parts = max(Counter(parent for parent in query.forest.parents if parent >= 0).values(), default=2)
    noise, decay = calibrate_noise_and_decay(parts, max(depths, default=0) + 1, loss * query.budget_fraction, adjacency)
    return DivisionRule(noise, decay, query.least + decay * np.array(depths, dtype=np.int64))
