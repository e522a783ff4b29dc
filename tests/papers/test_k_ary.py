"""The plan of a tree of odd radix."""

from __future__ import annotations

from itertools import pairwise

import pytest
from baselines import KAry, subtraction_variances
from baselines.k_ary import best_radix
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES, counts, sums

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import TreeSums
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse

PURE = PrivacyLoss.pure("0.7")
CONCENTRATED = PrivacyLoss.zcdp("0.3")
WEAK = PrivacyLoss.pure("0.001")
PUBLIC = ReplaceOne(EACH_RECORD, 1000)


def distribution_of(plan: Plan) -> IntervalSums:
    assert isinstance(plan.distribution, IntervalSums)
    return plan.distribution


def subtraction_error(plan: Plan) -> float:
    return float(subtraction_variances(distribution_of(plan))[1:-1].mean())


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize(("rows", "cells"), [(1, 1), (1, 4), (1, 5), (2, 3)])
def test_it_loses_exactly_what_is_claimed(rows: int, cells: int, adjacency: Adjacency) -> None:
    query = counts(rows, cells)
    for loss, claimed in ((PURE, PURE.epsilon), (CONCENTRATED, CONCENTRATED.rho)):
        assert worst_loss(query, distribution_of(KAry(3).plan(query, loss, adjacency)), adjacency) == claimed


def test_levels_are_powers_of_the_radix_with_equal_noise() -> None:
    distribution = distribution_of(KAry(5).plan(counts(1, 62), PURE, PUBLIC))
    assert [level.starts for level in distribution.levels] == [range(0, 62, 25), range(0, 62, 5), range(62)]
    assert len({level.noise for level in distribution.levels}) == 1
    assert len(distribution_of(KAry(5).plan(counts(1, 63), PURE, PUBLIC)).levels) == 4


@pytest.mark.parametrize(("cells", "most"), [(2**10, 682), (2**12, 1084), (2**15, 2141)])
def test_read_by_subtraction_it_has_the_error_of_the_recipe(cells: int, most: float) -> None:
    assert subtraction_error(KAry().plan(counts(1, cells), WEAK, PUBLIC)) * 1e-6 <= most


def test_least_squares_is_better_than_subtraction_and_an_optimised_tree_better_still() -> None:
    for loss in (WEAK, PrivacyLoss.zcdp("0.000001")):
        for cells in (300, 4096):
            plan = KAry().plan(counts(1, cells), loss, PUBLIC)
            assert plan.error**2 < subtraction_error(plan)
            assert TreeSums().plan(counts(1, cells), loss, PUBLIC).error <= plan.error


@pytest.mark.parametrize("loss", [WEAK, PrivacyLoss.zcdp("0.000001")], ids=str)
@pytest.mark.parametrize("cells", [40, 1024])
def test_the_radix_is_the_best_one(cells: int, loss: PrivacyLoss) -> None:
    errors = {radix: subtraction_error(KAry(radix).plan(counts(1, cells), loss, PUBLIC)) for radix in range(3, 131, 2)}
    best = best_radix(cells, 2 if loss.is_pure else 1)
    assert errors[best] == pytest.approx(min(errors.values()))
    assert KAry().plan(counts(1, cells), loss, PUBLIC) == KAry(best).plan(counts(1, cells), loss, PUBLIC)


def test_widths_are_odd_multiples_of_the_next() -> None:
    widths = [len(level.starts) for level in distribution_of(KAry(7).plan(counts(1, 7**3), PURE, PUBLIC)).levels]
    assert all(fine == 7 * coarse for coarse, fine in pairwise(widths))


def test_what_it_cannot_do_is_refused() -> None:
    for query in (counts(1, 8, CountUse.CELLS), sums(1, 8, 1)):
        with pytest.raises(UnsupportedQuery, match="prefixes"):
            KAry().plan(query, PURE, PUBLIC)
    for radix in (1, 4):
        with pytest.raises(ValueError, match="odd number"):
            KAry(radix)
