"""The exact distribution of a choice of buckets on all tiny neighbouring tables, in fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Selection
from dpcurves.mechanisms import AUTO, ExponentialPartition
from dpcurves.mechanisms.exponential import deviation_rate, interval_prior, window_deviations
from dpcurves.noise.exponential import PartitionDistribution
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import IntervalPartitionQuery
from dpcurves.queries.query import places_to_array

FloatArray = NDArray[np.float64]
PURE = PrivacyLoss.pure("1.5")
CONCENTRATED = PrivacyLoss.zcdp("0.2")
PUBLIC = ReplaceOne(EACH_RECORD, 1000)
ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0, 128.0)
RECORDS = 3


def query_of(cells: int) -> IntervalPartitionQuery:
    return IntervalPartitionQuery(axes(1, cells), range(cells))


def distribution(chances: PartitionDistribution) -> list[Fraction]:
    """The chances of all partitions, in one order."""

    def walk(place: int, chance: Fraction) -> list[Fraction]:
        if not place:
            return [chance]
        terms = [Fraction(whole) * Fraction(2) ** scale for whole, scale in chances.last_interval_weights(place)]
        return [
            end for power, term in enumerate(terms) for end in walk(place - (1 << power), chance * term / sum(terms))
        ]

    return walk(len(chances.sums.mantissas) - 1, Fraction(1))


@lru_cache(maxsize=64)
def log_chances(query: IntervalPartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> FloatArray:
    """One row for each tiny data set; missing records do not matter."""
    rate, places = deviation_rate(query, loss, adjacency), len(query.order)
    sets = data_sets(query.cells * query.rows + 1, RECORDS)
    tables, alike = np.unique(sets[:, :-1][:, places_to_array(query.order)], axis=0, return_inverse=True)
    chances = [
        distribution(PartitionDistribution.from_penalties(window_deviations(table), rate, interval_prior(places)))
        for table in tables
    ]
    return np.log(np.array(chances, dtype=np.float64))[alike]


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_pure_loss_is_never_exceeded_by_any_partition(adjacency: Adjacency) -> None:
    worst = 0.0
    for cells in (1, 2, 3, 4, 5):
        logs = log_chances(query_of(cells), PURE, adjacency)
        pairs = neighbours(data_sets(cells + 1, RECORDS), adjacency)
        worst = max(worst, float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max()))
    assert worst <= 1.5 + 1e-9
    assert worst > 0.35  # and the budget is used


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_concentrated_loss_is_never_exceeded_in_any_order(adjacency: Adjacency) -> None:
    for cells in (2, 3, 4):
        logs = log_chances(query_of(cells), CONCENTRATED, adjacency)
        pairs = neighbours(data_sets(cells + 1, RECORDS), adjacency)
        here, there = logs[pairs[:, 0]], logs[pairs[:, 1]]
        for alpha in ALPHAS:
            divergence = np.log(np.exp(alpha * here + (1 - alpha) * there).sum(axis=1)) / (alpha - 1)
            assert divergence.max() <= alpha * 0.2 + 1e-9


def test_cells_that_are_not_in_the_order_do_not_matter() -> None:
    query = IntervalPartitionQuery(axes(1, 5), (3, 1, 2))
    table = np.array([100, 1, 2, 3, 100, 7])
    plan = ExponentialPartition().plan(query, PrivacyLoss.pure(10**6), AddRemove(EACH_RECORD))
    assert ExponentialPartition().run(table, plan, Randomness.from_seed(0)) == (1, 1, 1)
    table[[3, 1]] = 5
    assert ExponentialPartition().run(table, plan, Randomness.from_seed(0)) == (1, 0, 1)


def test_equal_neighbours_are_counted_together_and_steps_are_kept() -> None:
    table = np.append(np.repeat([1000, 0, 500, 0], 64), 0)
    plan = AUTO.plan(query_of(256), PrivacyLoss.pure(5), PUBLIC)
    begins = np.flatnonzero(AUTO.run(table, plan, Randomness.from_seed(1)))
    assert {0, 64, 128, 192} <= set(begins.tolist())
    assert len(begins) < 128


def test_a_plan_says_what_is_chosen() -> None:
    plan = ExponentialPartition().plan(query_of(4), PURE, PUBLIC)
    assert plan.distribution == Selection((1, 1, 1, 1))
    assert plan.loss == PURE


def test_rounding_is_paid_for() -> None:
    """A loss that does not pay for the errors of the chances is refused."""
    query = query_of(1024)
    assert 2 * deviation_rate(query, PURE, AddRemove(EACH_RECORD)) < Fraction(3, 2)
    with pytest.raises(UnsupportedQuery, match="too small"):
        ExponentialPartition().plan(query, PrivacyLoss.pure("1e-12"), PUBLIC)
    with pytest.raises(UnsupportedQuery, match="too small"):
        ExponentialPartition().plan(query, PURE * Fraction(0), PUBLIC)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="buckets"):
        ExponentialPartition().plan(counts(1, 8), PURE, PUBLIC)
