"""Independent noise at every tick: on counts of states, on sums of them, and on pruned hierarchies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.conversation import Plan
from dpcurves.laws import Family, IntervalSums, Noise, Tier
from dpcurves.laws.law import printed
from dpcurves.mechanisms.base import Answering, ExactTable
from dpcurves.mechanisms.linear import draws, noise_of
from dpcurves.mechanisms.thresholds import noise_and_decay, noisily_above_zero
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves_streams.queries import Forest

from ..laws import HierarchyCounts, NodeEstimates, PrunedCounts
from ..queries import HierarchyQuery, PrunedQuery, TickQuery
from .sequential import read, require_next, written

# State of mechanisms whose noise and decisions at one tick are independent of all others: the tick alone.
KIND = "memoryless noise"


@dataclass(frozen=True, slots=True, repr=False)
class Passed:
    """State of a mechanism that remembers only which tick was last."""

    tick: int

    def to_bytes(self) -> bytes:
        """The tick."""
        return written(KIND, {"tick": self.tick})


class TickAnswering(Answering):
    """Base of mechanisms for queries of a stream."""

    __slots__ = ()

    answers: ClassVar[tuple[type[TickQuery], ...]] = (TickQuery,)
    called = "what answers tick by tick"


class Memoryless(TickAnswering):
    """Base of mechanisms with independent noise at each tick: their state is the number of the last tick."""

    __slots__ = ()

    def begin(self, plan: Plan) -> Passed:
        """No tick was answered."""
        return Passed(0)

    def restored(self, stored: bytes, plan: Plan) -> Passed:
        """The tick that was written."""
        return Passed(int(read(KIND, stored)["tick"]))


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
        noise = noise_of(query, loss, adjacency)
        law = IntervalSums(1, query.keys, (Tier(range(query.keys), noise),), missing=None)
        name = f"{noise.family.value} noise on every tick"
        return Plan(query, loss, adjacency, name, law, printed(sqrt(noise.variance)))

    def step(
        self, table: ExactTable, tick: int, state: Passed, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Passed]:
        """Exact counts, each plus one draw."""
        require_next(tick, state)
        law = plan.law.required(IntervalSums)
        noise = draws(law.levels[0].noise, law.cells, randomness)
        return added(table, noise.tolist()), Passed(tick)


def added(table: ExactTable, noise: list[int]) -> tuple[int, ...]:
    """SECRET: counts plus noise, in Python's integers, which cannot overflow."""
    if len(table) != len(noise):
        raise Refused("table", f"a tick has {len(noise)} counts, got {len(table)}")
    return tuple(count + each for count, each in zip(table.tolist(), noise, strict=True))


# Noisy counts of the states of a stream and of aggregations of them, with the loss split among levels.
STEPS = 20
"""Shares of levels are multiples of ``1 / STEPS``."""


@dataclass(frozen=True, slots=True)
class Hierarchy(Memoryless):
    """Counts of all nodes of a forest at every tick, each level with its share of the loss.

    A state has what the levels above it leave over. Shares are those of the least mean deviation of all nodes' best
    estimates (`best_shares`); a level whose share is 0 is not counted, but added up.

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

    answers = (HierarchyQuery,)
    called = "aggregations"
    refusal = "{called} of states are not what {kind} asks"

    def _plan(self, query: HierarchyQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        whole = noise_of(query, loss, adjacency)
        shares = best_shares(query.forest, whole.family)
        noises = tuple(None if share == 0 else Noise(whole.family, whole.parameter / share) for share in shares)
        law = HierarchyCounts(query.forest.parents, noises)
        error = mean_deviation(query.forest, shares, whole.family) * whole.variance**0.5
        return Plan(query, loss, adjacency, "noise on every tick of aggregations and states", law, printed(error))

    def step(
        self, table: ExactTable, tick: int, state: Passed, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Passed]:
        """Exact counts of all nodes that are counted, each plus one draw."""
        require_next(tick, state)
        law = plan.law.required(HierarchyCounts)
        query: HierarchyQuery = self.asked(plan)
        counts = query.forest.counts_of(table.tolist())
        exact = [each for each, noise in zip(counts, law.noises, strict=True) if noise is not None]
        return added(np.array(exact, dtype=object), _noise(law, randomness)), Passed(tick)


def _noise(law: HierarchyCounts, randomness: Randomness) -> list[int]:
    """SECRET: a draw for each node that is counted, in their order; of nodes that are alike all at once."""
    kinds = [noise for noise in law.noises if noise is not None]
    drawn = np.zeros(len(kinds), dtype=np.int64)
    for noise in dict.fromkeys(kinds):
        places = [place for place, kind in enumerate(kinds) if kind == noise]
        drawn[places] = draws(noise, len(places), randomness)
    return [int(each) for each in drawn]


@lru_cache(maxsize=64)  # a pure function of public facts
def best_shares(forest: Forest, family: Family) -> tuple[Fraction, ...]:
    """The share of each node: from all for the states, steps are given to the level where they help most.

    >>> forest = Forest.from_json({"all": ["a", "b", "c"]})
    >>> [str(share) for share in best_shares(forest, Family.LAPLACE)]
    ['0', '1', '1', '1']
    """
    depth = max(forest.depths)
    given = [0] * depth
    least = mean_deviation(forest, _shares(forest, given), family)
    while sum(given) + 1 < STEPS:
        tries = [[*given[:level], given[level] + 1, *given[level + 1 :]] for level in range(depth)]
        errors = [mean_deviation(forest, _shares(forest, each), family) for each in tries]
        if not errors or min(errors) >= least:
            break
        least = min(errors)
        given = tries[errors.index(least)]
    return _shares(forest, given)


def mean_deviation(forest: Forest, shares: tuple[Fraction, ...], family: Family) -> float:
    """The mean of the standard deviations of all nodes' best estimates, where the whole loss has a deviation of 1."""
    power = 2 if family is Family.LAPLACE else 1
    variances: FloatArray = np.array([float(share) ** -power if share else np.inf for share in shares])
    return printed(float(np.sqrt(NodeEstimates(forest.parents, variances).variances).mean()))


def _shares(forest: Forest, given: list[int]) -> tuple[Fraction, ...]:
    """The share of each node, if aggregations of each depth have so many steps, and states the rest."""
    depths, groups = forest.depths, len(forest.names)
    above = [Fraction(given[depth], STEPS) for depth in depths[:groups]]
    rest = [1 - Fraction(sum(given[:depth]), STEPS) for depth in depths[groups:]]
    return (*above, *rest)


MOST = 2**60
"""Tuples above which an aggregation is divided as if it had so many: no tuple moves more."""


class Rule(NamedTuple):
    """When an aggregation is divided: see `PrivTree`."""

    noise: Noise
    decay: int
    offsets: IntArray


@dataclass(frozen=True, slots=True)
class Pruned(Memoryless):
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

    answers = (PrunedQuery,)
    called = "a hierarchy"
    refusal = "{called} is not pruned for {kind}"

    def _plan(self, query: PrunedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        rule_of(query, loss, adjacency)
        noise = noise_of(query, loss * (1 - query.share), adjacency)
        law = PrunedCounts(query.forest.parents, len(query.forest.names), noise)
        return Plan(query, loss, adjacency, "PrivTree at every tick, and noise", law, printed(noise.variance**0.5))

    def step(
        self, table: ExactTable, tick: int, state: Passed, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Passed]:
        """Decisions, and behind them counts of what was not divided, each plus one draw."""
        require_next(tick, state)
        query: PrunedQuery = self.asked(plan)
        law = plan.law.required(PrunedCounts)
        rule, counts = rule_of(query, plan.loss, plan.adjacency), query.forest.counts_of(table.tolist())
        capped = np.array([min(each, MOST) for each in counts[: law.groups]], dtype=np.int64)
        scores = np.maximum(capped - rule.offsets, -rule.decay)
        divided = law.reached(noisily_above_zero(scores, rule.noise, randomness))
        kept = law.frontier(divided)
        exact = np.array(counts, dtype=object)[kept]
        noisy = iter(added(exact, draws(law.noise, len(exact), randomness).tolist()))
        shown = (next(noisy) if each else 0 for each in kept)
        return (*divided.astype(int).tolist(), *shown), Passed(tick)


def rule_of(query: PrunedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Rule:
    """When aggregations are divided, with the query's share of the loss. Raises `UnsupportedQuery` as PrivTree does."""
    depths = query.forest.depths[: len(query.forest.names)]
    parts = max(Counter(parent for parent in query.forest.parents if parent >= 0).values(), default=2)
    noise, decay = noise_and_decay(parts, max(depths, default=0) + 1, loss * query.share, adjacency)
    return Rule(noise, decay, query.least + decay * np.array(depths, dtype=np.int64))
