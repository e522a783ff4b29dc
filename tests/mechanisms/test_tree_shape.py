"""The search for radices and shares."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from dpcurves.data import Axis, Grid
from dpcurves.laws import Family, Noise
from dpcurves.mechanisms import AUTO, Flat, TreeSums
from dpcurves.mechanisms.linear import plan_of_sums
from dpcurves.mechanisms.tree_strategy import DISCRETE, best_shape
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, Read

FAMILIES = list(Family)


@pytest.mark.parametrize("total_is_public", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cells", [1, 2, 3, 5, 17, 100, 1000, 4097])
def test_shapes_are_nested_and_their_shares_add_up_to_one(cells: int, family: Family, total_is_public: bool) -> None:
    for rows, width in ((1, 1), (2, 1), (1, 2), (3, 8)):
        shape = best_shape(rows, cells, width, family, total_is_public=total_is_public)
        assert shape.widths[-1] == width
        assert all(left >= cells or left % right == 0 for left, right in pairwise(shape.widths))
        assert sum(shape.shares) == 1
        assert all(share > 0 and (share * 1000).denominator == 1 for share in shape.shares)


def test_the_shape_is_a_pure_function() -> None:
    first = best_shape(1, 777, 1, Family.LAPLACE, total_is_public=True)
    best_shape.cache_clear()
    assert best_shape(1, 777, 1, Family.LAPLACE, total_is_public=True) == first


def test_few_cells_need_no_tree() -> None:
    assert best_shape(1, 8, 1, Family.LAPLACE, total_is_public=True).widths == (1,)


def test_where_several_rows_share_a_public_total_a_level_of_whole_rows_can_pay() -> None:
    widths = best_shape(2, 4096, 1, Family.GAUSSIAN, total_is_public=True).widths
    assert widths[0] == 4096


@pytest.mark.parametrize("epsilon", [3, 5, 8, 12])
@pytest.mark.parametrize("adjacency", [ReplaceOne(EACH_RECORD, 1000), AddRemove(EACH_RECORD)])
def test_with_next_to_no_noise_a_tree_is_never_worse_than_the_one_of_large_noise(
    epsilon: int, adjacency: Adjacency
) -> None:
    loss = PrivacyLoss.pure(epsilon)
    query = CountQuery((Axis("x", Grid(0, 1, cells=1000)),), Read.PREFIXES)
    pinned = adjacency.total is not None
    large = best_shape(1, 1000, 1, Family.LAPLACE, total_is_public=pinned)
    before = plan_of_sums("before", query, large, loss, adjacency)
    tree, flat = TreeSums().plan(query, loss, adjacency), Flat().plan(query, loss, adjacency)
    assert tree.error <= min(before.error, flat.error)
    assert tree.error < before.error or tree.law == before.law


def test_noise_above_the_limit_of_discreteness_is_taken_for_large() -> None:
    more = Noise(Family.LAPLACE, Fraction(DISCRETE) + Fraction(1, 100))
    plain = best_shape(1, 4096, 1, Family.LAPLACE, total_is_public=True)
    assert best_shape(1, 4096, 1, Family.LAPLACE, total_is_public=True, alone=more) == plain


@pytest.mark.parametrize(("epsilon", "flat"), [(10, False), (12, True), (2000, True)])
def test_exact_counts_are_preferred_to_a_tree_of_somewhat_less_error(epsilon: int, flat: bool) -> None:
    query = CountQuery((Axis("x", Grid(0, 1, cells=4096)),), Read.PREFIXES)
    loss, adjacency = PrivacyLoss.pure(epsilon), ReplaceOne(EACH_RECORD, 10_000)
    assert (AUTO.choose(query, loss, adjacency) == Flat()) == flat
