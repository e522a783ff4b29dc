"""Noisy counts of the states of a stream and of aggregations of them, with the loss split among levels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.data import Forest
from dpcurves.laws import Family, Noise
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.sequential import require_next
from dpcurves.mechanisms.sums.calibration import noise_of
from dpcurves.mechanisms.sums.linear import draws, printed
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import HierarchyQuery, Query
from dpcurves.release import Plan, UnsupportedQuery

from ..laws import HierarchyCounts, NodeEstimates
from .memoryless import Memoryless, Passed
from .perturber import added

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

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, HierarchyQuery):
            raise UnsupportedQuery("question", f"aggregations of states are not what {type(query).__name__} asks")
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
        if not isinstance(plan.query, HierarchyQuery):
            raise UnsupportedQuery("plan", f"a plan of aggregations is needed, not one made by {plan.made_by}")
        counts = plan.query.forest.counts_of(table.tolist())
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
