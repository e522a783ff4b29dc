"""Counts of partitions that a question names: exact privacy, whatever the partition."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES, axes, counts

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.linear import PartitionSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import PartitionQuery

LOSSES = {"pure": PrivacyLoss.pure("0.5"), "concentrated": PrivacyLoss.zcdp("0.01")}
CELLS = 3


def nested() -> list[tuple[tuple[int, ...], ...]]:
    """All chains of at most two nested tilings of three cells."""
    inner = range(1, CELLS)
    tilings = [(0, *cut) for cut in chain.from_iterable(combinations(inner, size) for size in range(CELLS))]
    pairs = [(coarse, fine) for coarse in tilings for fine in tilings if set(coarse) <= set(fine)]
    return [*((tiling,) for tiling in tilings), *pairs]


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("rows", [1, 2])
def test_the_worst_loss_is_what_is_paid(rows: int, adjacency: Adjacency, loss: PrivacyLoss) -> None:
    tight = []
    for tilings in nested() if rows == 1 else nested()[-2:]:
        plan = PartitionSums().plan(PartitionQuery(axes(rows, CELLS), tilings), loss, adjacency)
        assert isinstance(plan.distribution, IntervalSums)
        worst = worst_loss(counts(rows, CELLS), plan.distribution, adjacency)
        paid = loss.epsilon if loss.epsilon is not None else loss.rho
        assert worst <= paid
        tight.append(worst == paid)
    assert any(tight)


def test_values_are_sums_of_the_named_intervals() -> None:
    query = PartitionQuery(axes(1, 5), ((0,), (0, 2), (0, 2, 3)))
    plan = AUTO.plan(query, PrivacyLoss.pure(10**9), ADJACENCIES[0])
    values = AUTO.run(np.array([1, 2, 3, 4, 5, 6]), plan, Randomness.from_seed(1))
    assert values == (15, 3, 12, 3, 3, 9, 6)


@pytest.mark.parametrize("tilings", [(), ((),), ((1,),), ((0, 0),), ((0, 5),), ((0, 3, 2),), ((0, 2), (0, 3))])
def test_what_is_no_chain_of_tilings_is_refused(tilings: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match="^tilings: "):
        PartitionQuery(axes(1, 5), tilings)


def test_other_queries_are_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="names its intervals"):
        PartitionSums().plan(counts(1, 5), LOSSES["pure"], ADJACENCIES[0])
