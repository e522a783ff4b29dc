"""The loss of noisy sums in closed form, exactly, on all tiny neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES, counts, data_sets, neighbours, squares, sums

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family, IntervalSums, Noise
from dpcurves.mechanisms.linear import calibrate_noise, plan_sums
from dpcurves.mechanisms.tree_strategy import TreeShape, find_best_shape
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne

PURE = PrivacyLoss.pure("0.7")
CONCENTRATED = PrivacyLoss.zcdp("0.3")
FLAT = TreeShape((1,), (Fraction(1),))
SHAPES = {
    1: [FLAT, TreeShape((1, 1), (Fraction(1, 3), Fraction(2, 3)))],
    2: [FLAT, TreeShape((2, 1), (Fraction(1, 4), Fraction(3, 4)))],
    3: [FLAT, TreeShape((2, 1), (Fraction(1, 2), Fraction(1, 2))), TreeShape((2,), (Fraction(1),))],
    4: [
        FLAT,
        TreeShape((4, 2, 1), (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7))),
        TreeShape((3, 1), (Fraction(1, 10), Fraction(9, 10))),
        find_best_shape(1, 4, 1, Family.GAUSSIAN, total_is_public=False),
    ],
}


def test_neighbours_are_told_apart_by_adjacency() -> None:
    sets = data_sets(2, 1)
    assert sets.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert neighbours(sets, ADJACENCIES[0]).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    assert neighbours(sets, ADJACENCIES[2]).tolist() == [[1, 2], [2, 1]]


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_counts_lose_exactly_what_is_claimed(cells: int, rows: int, adjacency: Adjacency) -> None:
    query = counts(rows, cells)
    for shape in SHAPES[cells]:
        pure, concentrated = (
            plan_sums("tree", query, shape, loss, adjacency).distribution.require_type(IntervalSums)
            for loss in (PURE, CONCENTRATED)
        )
        assert worst_loss(query, pure, adjacency) == PURE.epsilon
        assert worst_loss(query, concentrated, adjacency) == CONCENTRATED.rho


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize(("cells", "half"), [(1, 1), (1, 2), (2, 1)])
def test_sums_with_signs_lose_exactly_what_is_claimed(cells: int, half: int, adjacency: Adjacency) -> None:
    """A record that adds -half may be replaced by one that adds +half to the same cell."""
    query = sums(1, cells, half)
    pure, concentrated = (
        plan_sums("tree", query, FLAT, loss, adjacency).distribution.require_type(IntervalSums)
        for loss in (PURE, CONCENTRATED)
    )
    assert worst_loss(query, pure, adjacency) == PURE.epsilon
    assert worst_loss(query, concentrated, adjacency) == CONCENTRATED.rho


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize(("rows", "half"), [(1, 1), (1, 2), (1, 3), (2, 1)])
def test_sums_of_squares_lose_exactly_what_is_claimed(rows: int, half: int, adjacency: Adjacency) -> None:
    """A record in the middle may be replaced by one at an end: the one adds as much below zero as the other above."""
    query = squares(rows, 1, half)
    pure, concentrated = (
        plan_sums("tree", query, FLAT, loss, adjacency).distribution.require_type(IntervalSums)
        for loss in (PURE, CONCENTRATED)
    )
    assert worst_loss(query, pure, adjacency) == PURE.epsilon
    assert worst_loss(query, concentrated, adjacency) == CONCENTRATED.rho


def test_missing_records_add_nothing_to_sums_and_are_not_counted_there() -> None:
    assert plan_sums("tree", sums(1, 2, 3), FLAT, PURE, AddRemove(EACH_RECORD)).distribution.missing is None


def test_a_level_has_the_noise_of_its_share_and_the_missing_cell_that_of_all() -> None:
    shape = TreeShape((2, 1), (Fraction(1, 4), Fraction(3, 4)))
    distribution = plan_sums("tree", counts(2, 4), shape, PURE, ReplaceOne(EACH_RECORD, 9)).distribution.require_type(
        IntervalSums
    )
    assert [level.noise.parameter for level in distribution.levels] == [Fraction(80, 7), Fraction(80, 21)]
    assert distribution.missing == Noise(Family.LAPLACE, Fraction(20, 7))


def test_what_cannot_be_drawn_or_sold_is_refused_before_any_data() -> None:
    with pytest.raises(UnsupportedQuery, match="more noise than can be drawn"):
        calibrate_noise(sums(1, 2, 2**39), PrivacyLoss.pure("0.000001"), AddRemove(EACH_RECORD))
    with pytest.raises(UnsupportedQuery, match="more noise than can be drawn"):
        calibrate_noise(sums(1, 2, 2**50), PrivacyLoss.zcdp("0.000001"), AddRemove(EACH_RECORD))
    with pytest.raises(UnsupportedQuery, match="loss above zero"):
        calibrate_noise(counts(1, 2), PURE * Fraction(0), AddRemove(EACH_RECORD))
    with pytest.raises(UnsupportedQuery, match="at least 1"):
        calibrate_noise(sums(1, 2, 0), PURE, AddRemove(EACH_RECORD))
