"""Intervals of about equal counts, by the least noisy cost: every interval has noise, single cells too."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.arrays import compile_loop
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import Selection
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.exponential import pure_epsilon, window_deviations
from dpcurves.noise import discrete_laplace
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import IntervalPartitionQuery, Query
from dpcurves.queries.query import places_to_array

LARGEST_TOLL = 2**30
LARGEST_SUM = 2**54
"""The largest sum of noise scales. Sums leave 64 bits only if a noise is above 256 scales: chances are e**-256."""


@dataclass(frozen=True, slots=True)
class NoisyBuckets:
    """The partition into intervals of 1, 2, 4, ... cells with the least sum of noisy costs, found exactly.

    The cost of an interval is the least sum of absolute distances of its cells from one number, `toll` more for each
    interval, and noise. Of the published first stage of DAWA (Li, Hay, Miklau and Wang 2014) this is the form that
    keeps its promise: there single cells have no noise, and the loss grows with the number of cells; see
    `docs/errata.md`. The choice by the exponential mechanism, `ExponentialPartition`, is better, and what `AUTO` takes.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Take tables that differ by one record
    in one cell, an outcome B, and its interval b around the cell; fix all noises but that of b. Costs of intervals
    without the cell are equal on both tables. B is the outcome if it is the best of the partitions that contain b,
    which does not depend on the record nor on the noise of b, and if its cost is below (where the order of ties decides
    so, at most) the least cost of a partition without b: so if the noise of b is at most a number T. The deviation of b
    changes by at most 1, and by 0 if b is a single cell; so T changes by a whole number of at most 2, or of 1. Discrete
    Laplace noise of scale s has ``P(Z <= T + d) <= exp(d / s) * P(Z <= T)``: with ``s = 2 * l1_sensitivity / epsilon``,
    or ``l1_sensitivity / epsilon`` for single cells, one record loses ``epsilon / l1_sensitivity``, and
    `l1_sensitivity` of them, one after the other, epsilon. For a zero-concentrated loss epsilon is the root of ``2 *
    rho``, rounded down.

    Attributes:
        toll: What each interval costs, in records: a whole number from 0 to ``2**30``.

    Raises:
        ValueError: the toll is out of range.
    """

    toll: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.toll <= LARGEST_TOLL:  # so that sums of costs stay within 64 bits
            raise InvalidArgument("toll", f"a number of records from 0 to {LARGEST_TOLL} is needed, got {self.toll}")

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done. Raises `UnsupportedQuery`; touches no data."""
        if not isinstance(query, IntervalPartitionQuery):
            raise UnsupportedQuery("question", f"noisy buckets cannot answer {type(query).__name__}")
        if pure_epsilon(loss) == 0 or scale_of(2, loss, adjacency) * len(query.order) > LARGEST_SUM:
            raise UnsupportedQuery("epsilon, rho", f"{loss} needs more noise than can be drawn")
        return Plan(query, loss, adjacency, "buckets by noisy costs", Selection((1,) * len(query.order)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """For each place 1 where an interval begins, else 0."""
        if not isinstance(plan.query, IntervalPartitionQuery):
            raise WrongArgumentType("plan", f"a plan of buckets is needed, not one made by {plan.made_by}")
        cells = table[places_to_array(plan.query.order)].astype(np.int64)
        costs = window_deviations(cells).astype(np.int64) + self.toll
        for power, row in enumerate(costs):
            scale = scale_of(min(power + 1, 2), plan.loss, plan.adjacency)
            row[1 << power :] += discrete_laplace.sample(
                scale, len(row) - (1 << power), randomness
            )  # all but too short
        return tuple(_cheapest(costs).tolist())


def scale_of(change: int, loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    """The noise of an interval whose cost, together with that of others, changes by so much."""
    return change * adjacency.l1_sensitivity / pure_epsilon(loss)


@compile_loop
def _cheapest(costs: NDArray[np.int64]) -> NDArray[np.int64]:
    """1 where an interval of the partition with the least cost begins; of equal ones the last shorter interval."""
    places = costs.shape[1] - 1
    least, chosen = np.zeros(places + 1, dtype=np.int64), np.zeros(places + 1, dtype=np.int64)
    for place in range(1, places + 1):
        least[place] = least[place - 1] + costs[0, place]
        for power in range(1, len(costs)):
            if (1 << power) > place:
                break
            cost = least[place - (1 << power)] + costs[power, place]
            if cost < least[place]:
                least[place], chosen[place] = cost, power
    begins, place = np.zeros(places, dtype=np.int64), places
    while place > 0:
        place -= 1 << chosen[place]
        begins[place] = 1
    return begins
