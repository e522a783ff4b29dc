"""Noisy counts of a hierarchy of states, as fine at each tick as there are tuples: PrivTree, then noise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.laws import Noise
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.sequential import require_next
from dpcurves.mechanisms.sums.calibration import noise_of
from dpcurves.mechanisms.sums.linear import draws, printed
from dpcurves.mechanisms.thresholds.privtree import noise_and_decay, noisily_above_zero
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import PrunedQuery, Query
from dpcurves.release import Plan, UnsupportedQuery

from ..laws import PrunedCounts
from .memoryless import Memoryless, Passed
from .perturber import added

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

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = _pruned_only(query)
        rule_of(query, loss, adjacency)
        noise = noise_of(query, loss * (1 - query.share), adjacency)
        law = PrunedCounts(query.forest.parents, len(query.forest.names), noise)
        return Plan(query, loss, adjacency, "PrivTree at every tick, and noise", law, printed(noise.variance**0.5))

    def step(
        self, table: ExactTable, tick: int, state: Passed, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Passed]:
        """Decisions, and behind them counts of what was not divided, each plus one draw."""
        require_next(tick, state)
        law, query = plan.law.required(PrunedCounts), _pruned_only(plan.query)
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


def _pruned_only(query: Query) -> PrunedQuery:
    if not isinstance(query, PrunedQuery):
        raise UnsupportedQuery("question", f"a hierarchy is not pruned for {type(query).__name__}")
    return query
