"""The search for radices and shares."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from dpcurves.data import Axis, Grid
from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms import AUTO, FlatHistogram, TreeSums
from dpcurves.mechanisms.linear import plan_sums
from dpcurves.mechanisms.tree_strategy import TUNING, find_best_shape
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse

FAMILIES = list(Family)


@pytest.mark.quick_share(32)
@pytest.mark.parametrize("total_is_public", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cells", [1, 2, 3, 5, 17, 100, 1000, 4097])
def test_shapes_are_nested_and_their_shares_add_up_to_one(cells: int, family: Family, total_is_public: bool) -> None:
    for rows, width in ((1, 1), (2, 1), (1, 2), (3, 8)):
        shape = find_best_shape(rows, cells, width, family, total_is_public=total_is_public)
        assert shape.widths[-1] == width
        assert all(left >= cells or left % right == 0 for left, right in pairwise(shape.widths))
        assert sum(shape.budget_fractions) == 1
        assert all(share > 0 and (share * 1000).denominator == 1 for share in shape.budget_fractions)


def test_the_shape_is_a_pure_function() -> None:
    first = find_best_shape(1, 777, 1, Family.LAPLACE, total_is_public=True)
    find_best_shape.cache_clear()
    assert find_best_shape(1, 777, 1, Family.LAPLACE, total_is_public=True) == first


def test_few_cells_need_no_tree() -> None:
    assert find_best_shape(1, 8, 1, Family.LAPLACE, total_is_public=True).widths == (1,)


def test_where_several_rows_share_a_public_total_a_level_of_whole_rows_can_pay() -> None:
    widths = find_best_shape(2, 4096, 1, Family.GAUSSIAN, total_is_public=True).widths
    assert widths[0] == 4096


@pytest.mark.parametrize("epsilon", [3, 5, 8, 12])
@pytest.mark.parametrize("adjacency", [ReplaceOne(EACH_RECORD, 1000), AddRemove(EACH_RECORD)])
def test_with_next_to_no_noise_a_tree_is_never_worse_than_the_one_of_large_noise(
    epsilon: int, adjacency: Adjacency
) -> None:
    loss = PrivacyLoss.pure(epsilon)
    query = CountQuery((Axis("x", Grid(0, 1, cells=1000)),), CountUse.PREFIXES)
    pinned = adjacency.public_record_count is not None
    large = find_best_shape(1, 1000, 1, Family.LAPLACE, total_is_public=pinned)
    before = plan_sums("before", query, large, loss, adjacency)
    tree, flat = TreeSums().plan(query, loss, adjacency), FlatHistogram().plan(query, loss, adjacency)
    assert tree.error <= min(before.error, flat.error)
    assert tree.error < before.error or tree.distribution == before.distribution


def test_noise_above_the_limit_of_discreteness_is_taken_for_large() -> None:
    more = Noise(Family.LAPLACE, Fraction(TUNING.discrete_scale) + Fraction(1, 100))
    plain = find_best_shape(1, 4096, 1, Family.LAPLACE, total_is_public=True)
    assert find_best_shape(1, 4096, 1, Family.LAPLACE, total_is_public=True, single_level_noise=more) == plain


@pytest.mark.parametrize(("epsilon", "flat"), [(10, False), (12, True), (2000, True)])
def test_exact_counts_are_preferred_to_a_tree_of_somewhat_less_error(epsilon: int, flat: bool) -> None:
    query = CountQuery((Axis("x", Grid(0, 1, cells=4096)),), CountUse.PREFIXES)
    loss, adjacency = PrivacyLoss.pure(epsilon), ReplaceOne(EACH_RECORD, 10_000)
    assert (AUTO.choose_mechanism(query, loss, adjacency) == FlatHistogram()) == flat
