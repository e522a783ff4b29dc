"""Orders and blocks of cells."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.histograms.table_estimator import Extent, equal_blocks, nested_blocks, order_by_proximity


@pytest.mark.parametrize("side", [2, 4, 8, 16])
def test_a_curve_through_a_square_steps_from_neighbour_to_neighbour(side: int) -> None:
    order = order_by_proximity((side, side))
    assert sorted(order.tolist()) == list(range(side * side))
    rows, columns = np.divmod(order, side)
    np.testing.assert_array_equal(np.abs(np.diff(rows)) + np.abs(np.diff(columns)), 1)


@pytest.mark.parametrize("shape", [(3, 5), (1, 7), (6,), (2, 3, 4)])
def test_every_order_has_each_cell_once(shape: tuple[int, ...]) -> None:
    assert sorted(order_by_proximity(shape).tolist()) == list(range(int(np.prod(shape))))


def test_cells_outside_are_told_apart() -> None:
    apart = Axis("x", Grid(0, 1, cells=2, outside=Outside.APART))
    extent = Extent.from_axes((Categories("label", (0, 1)), apart))
    assert extent.shape == (2, 2)
    assert extent.inside.tolist() == [1, 2, 5, 6]
    assert extent.outside.tolist() == [0, 3, 4, 7]


def test_blocks_of_multiples_are_nested() -> None:
    for cells in (5, 7, 12):
        coarse, fine = nested_blocks((cells, cells), 2), nested_blocks((cells, cells), 6)
        pairs = {(a, b) for a, b in zip(fine.tolist(), coarse.tolist(), strict=True)}
        assert len(pairs) == len(set(fine.tolist()))


def test_equal_blocks_have_one_length_but_the_last() -> None:
    assert equal_blocks((7,), 3).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert equal_blocks((2, 2), 9).tolist() == [0, 1, 2, 3]
