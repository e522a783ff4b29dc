"""The plan of counts of regions: its exact loss on all tiny neighbours, and what is summed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_loss import unit_loss
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import AUTO, LINEAR_CHOICE, RegionSums
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse, RegionQuery

PURE = PrivacyLoss.pure("0.7")
CONCENTRATED = PrivacyLoss.zcdp("0.3")
CROSSED = (3, 0, 2, 1)


def distribution_of(plan: Plan) -> IntervalSums:
    assert isinstance(plan.distribution, IntervalSums)
    return plan.distribution


def regions(tilings: tuple[tuple[int, ...], ...], read: CountUse) -> RegionQuery:
    return RegionQuery(axes(2, 2), CROSSED, tilings, read)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize(
    "query",
    [
        regions(((0,),), CountUse.CELLS), regions(((0, 1, 2, 3),), CountUse.CELLS), regions(((0, 2), (0, 1,
        2)), CountUse.CELLS),
        regions(((0, 1, 2, 3),), CountUse.PREFIXES), regions(((0, 3),), CountUse.PREFIXES),
    ],
)  # fmt: skip
@pytest.mark.parametrize("loss", [PURE, CONCENTRATED], ids=str)
def test_regions_lose_exactly_what_is_claimed(query: RegionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> None:
    plan = RegionSums().plan(query, loss, adjacency)
    sets = data_sets(5, 3)
    released = [compute_exact_sums(query.reorder_table(table), distribution_of(plan)) for table in sets]
    worst = Fraction(0)
    for here, there in neighbours(sets, adjacency):
        spent = Fraction(0)
        for (ours, noise), (theirs, _) in zip(released[here], released[there], strict=True):
            shift = np.abs(ours - theirs)
            spent += unit_loss(noise) * int((shift if loss.is_pure else shift**2).sum())
        worst = max(worst, spent)
    assert worst == (loss.epsilon if loss.is_pure else loss.rho)


def test_regions_are_intervals_of_the_order() -> None:
    query = regions(((0, 3), (0, 1, 3)), CountUse.CELLS)
    plan = AUTO.plan(query, PrivacyLoss.pure(10**6), AddRemove(EACH_RECORD))
    assert AUTO.run(np.array([1, 2, 4, 8, 5]), plan, Randomness.from_seed(0)) == (13, 2, 8, 5, 2, 5)
    assert LINEAR_CHOICE.run(np.array([1, 2, 4, 8, 5]), plan, Randomness.from_seed(0)) == (13, 2, 8, 5, 2, 5)


def test_prefixes_are_read_from_a_tree_over_the_regions() -> None:
    order = tuple(reversed(range(4096)))
    first = tuple(sorted({0, *np.random.default_rng(0).choice(4096, 1500, replace=False).tolist()}))
    query = RegionQuery(axes(1, 4096), order, (first,), CountUse.PREFIXES)
    distribution = distribution_of(RegionSums().plan(query, PURE, ReplaceOne(EACH_RECORD, 100)))
    assert distribution.levels[-1].starts == first
    assert len(distribution.levels) > 1
    assert set(distribution.levels[0].starts) <= set(distribution.levels[1].starts)
    whole = RegionQuery(axes(1, 4096), range(4096), (range(4096),), CountUse.PREFIXES)
    assert all(
        isinstance(level.starts, range)
        for level in distribution_of(RegionSums().plan(whole, PURE, ReplaceOne(EACH_RECORD, 9))).levels
    )


def test_what_it_cannot_do_is_refused() -> None:
    adjacency = AddRemove(EACH_RECORD)
    with pytest.raises(UnsupportedQuery, match="regions"):
        RegionSums().plan(counts(1, 8), PURE, adjacency)
    with pytest.raises(UnsupportedQuery, match="above zero"):
        RegionSums().plan(regions(((0,),), CountUse.CELLS), PURE * Fraction(0), adjacency)
