"""Intervals of about equal counts, chosen all at once: a partition by the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...arguments import WrongKind
from ...laws import Selection
from ...noise.partition import WEIGHT_ERROR, choose_partition, error_bound
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import IntervalPartitionQuery, Query
from ...queries.base import laid_out
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from .bounded_range import bounded_range
from .deviation import window_deviations


@dataclass(frozen=True, slots=True)
class ExponentialPartition:
    """A random partition into intervals of 1, 2, 4, ... cells, the likelier the more alike cells are within them.

    A partition has a chance proportional to the product over its intervals of ``prior * exp(-rate * deviation)``, with
    the least sum of absolute distances of the cells from one number as `deviation`. Compared with the first stage of
    DAWA (Li, Hay, Miklau and Wang 2014) deviations are from the median, not the mean, for half the sensitivity, and
    instead of noise on costs there is one choice: see `docs/errata.md`.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. A deviation changes by at most the L1
    distance of the cells inside its interval, so the sum of those of a partition by at most `l1_sensitivity`, the L1
    distance of neighbouring tables: the log ratio of products of weights has a range of ``2 * rate * l1_sensitivity``.
    Chances are not exactly products: their logarithms are off by an `error_bound` E on either table, and those of the
    weights, of which at most `l1_sensitivity` change, by ``WEIGHT_ERROR``. Both are paid for: ``2 * rate * moves + 4 *
    E + 4 * moves * WEIGHT_ERROR`` is the `bounded_range` that the loss allows.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, IntervalPartitionQuery):
            raise UnsupportedQuery("question", f"a choice of buckets cannot answer {type(query).__name__}")
        if rate_of(query, loss, adjacency) <= 0:
            raise UnsupportedQuery("epsilon, rho", f"{loss} is too little to choose among {len(query.order)} cells")
        each = Selection((1,) * len(query.order))
        return Plan(query, loss, adjacency, "buckets by the exponential mechanism", each, error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """For each place 1 where an interval begins, else 0."""
        if not isinstance(plan.query, IntervalPartitionQuery):
            raise WrongKind("plan", f"a plan of buckets is needed, not one made by {plan.made_by}")
        cells = table[laid_out(plan.query.order)].astype(np.int64)
        rate = rate_of(plan.query, plan.loss, plan.adjacency)
        begins = np.zeros(len(cells), dtype=np.int64)
        begins[choose_partition(window_deviations(cells), rate, prior(len(cells)), randomness)] = 1
        return tuple(begins.tolist())


def prior(places: int) -> float:
    """The prior weight of each interval: public.

    Where all cells are alike, that makes some 60 intervals likely, however many cells there are: with k lengths, about
    k - 5 of which are at most a sixtieth of all cells, the weights of these add up to 1.
    """
    return 1 / max(2, places.bit_length() - 5)


def rate_of(query: IntervalPartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    """The weight of a unit of deviation in the exponent."""
    places = len(query.order)
    unproven = 4 * error_bound(places, places.bit_length()) + 4 * adjacency.l1_sensitivity * WEIGHT_ERROR
    return (bounded_range(loss) - unproven) / (2 * adjacency.l1_sensitivity)
