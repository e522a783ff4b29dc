"""Queries: the shape of the table that answers them."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.queries import CountQuery, CountUse, PrefixQuery, QuantileCutsQuery, SumQuery

AXES = (Categories("label", (0, 1)), Axis("score", Grid(0, 1, cells=4, outside=Outside.APART)))


def test_a_table_has_a_row_for_each_cell_of_the_axes_before_the_last() -> None:
    query = CountQuery(AXES, CountUse.CELLS)
    assert (query.shape, query.rows, query.cells) == ((2, 6), 2, 6)


def test_a_record_adds_one_to_a_count_and_half_a_cell_to_a_sum() -> None:
    assert (
        CountQuery(AXES, CountUse.PREFIXES).per_record_sensitivity
        == QuantileCutsQuery(AXES[1:], pieces=4).per_record_sensitivity
        == 1
    )
    assert SumQuery(AXES, half=2**39).per_record_sensitivity == 2**39


def test_a_query_is_paid_as_itself() -> None:
    query = CountQuery(AXES, CountUse.CELLS)
    assert query.charged_query == query


FINE = Axis("x", Grid(0, 1, cells=2**32))


def test_counts_of_prefixes_are_paid_together() -> None:
    query = PrefixQuery((FINE,), (5, 2**32, 0, 5))
    assert query.charged_query == query.charged_query.charged_query == PrefixQuery((FINE,), ())
    assert query.charged_query != PrefixQuery((Axis("x", Grid(0, 1, cells=2**31)),), ())
    assert query.slots == 2**32
    assert PrefixQuery((Categories("c", ("a", "b")), FINE), (2**33,)).slots == 2**33


def test_thresholds_print_as_whole_numbers() -> None:
    assert PrefixQuery((FINE,), tuple(np.array([3, 4]))) == PrefixQuery((FINE,), (3, 4))
    assert "prefix_lengths=(3, 4)" in repr(PrefixQuery((FINE,), tuple(np.array([3, 4]))))


def test_a_prefix_of_no_grid_is_refused() -> None:
    for axes in ((), AXES[::-1], (Categories("c", ("a", "b")),)):
        with pytest.raises(ValueError, match=r"^axes: "):
            PrefixQuery(axes, ())
    for at in ((-1,), (2**32 + 1,)):
        with pytest.raises(ValueError, match=r"^prefix_lengths: whole numbers from 0 to 4294967296"):
            PrefixQuery((FINE,), at)
    with pytest.raises(TypeError):
        PrefixQuery((FINE,), (0.5,))  # type: ignore[arg-type]
