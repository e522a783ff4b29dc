"""What questions about regions refuse."""

from __future__ import annotations

import pytest

from dpcurves.data import Axis, Categories, Grid
from dpcurves.queries import CountUse, IntervalPartitionQuery, RegionQuery, WorstBoxQuery

AXES = (Categories("label", (0, 1)), Axis("score", Grid(0, 1, cells=3)))


def test_an_order_has_each_cell_once() -> None:
    for order in (
        (0, 1, 2),
        (0, 1, 2, 3, 4, 4),
        (0, 1, 2, 3, 4, 5, 5),
        (0, 1, 2, 3, 4, 6),
        range(5),
        (-1, 0, 1, 2, 3, 4),
    ):
        with pytest.raises(ValueError, match="order: a permutation of the 6 cells"):
            RegionQuery(AXES, order, ((0,),), CountUse.CELLS)
    assert RegionQuery(AXES, (5, 4, 3, 2, 1, 0), (range(6),), CountUse.CELLS).shape == (2, 3)


@pytest.mark.parametrize("tilings", [(), ((),), ((1,),), ((0, 0),), ((0, 2, 1),), ((0, 6),), (range(1, 6),)])
def test_tilings_begin_at_the_first_place_and_rise(tilings: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match="tilings"):
        RegionQuery(AXES, range(6), tilings, CountUse.CELLS)


def test_tilings_are_nested() -> None:
    with pytest.raises(ValueError, match="nested"):
        RegionQuery(AXES, range(6), ((0, 2), (0, 3)), CountUse.CELLS)
    with pytest.raises(ValueError, match="exactly one tiling"):
        RegionQuery(AXES, range(6), ((0,), (0, 3)), CountUse.PREFIXES)


def test_buckets_are_of_different_cells() -> None:
    for order in ((), (0, 0), (6,), (-1,)):
        with pytest.raises(ValueError, match="order"):
            IntervalPartitionQuery(AXES, order)
    assert IntervalPartitionQuery(AXES, (4, 1)).rows == 2


def test_boxes_lie_within_the_table() -> None:
    for box in (((0, 2),), ((0, 3), (0, 1)), ((1, 1), (0, 1)), ((0, 1), (-1, 1))):
        with pytest.raises(ValueError, match="boxes"):
            WorstBoxQuery(AXES, (box,), (1,))
    with pytest.raises(ValueError, match="boxes"):
        WorstBoxQuery(AXES, (), ())
    with pytest.raises(ValueError, match="expected"):
        WorstBoxQuery(AXES, (((0, 2), (0, 3)),), ())
    with pytest.raises(ValueError, match="expected"):
        WorstBoxQuery(AXES, (((0, 2), (0, 3)),), (-(2**63),))
