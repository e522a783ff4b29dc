"""The search for radices and shares."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dpcurves.laws import Family
from dpcurves.mechanisms.sums.tree_strategy import best_shape

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
