"""Queries: the shape of the table that answers them."""

from __future__ import annotations

from dpcurves.data import Axis, Categories, CountQuery, CutQuery, Grid, Outside, Read, SumQuery

AXES = (Categories("label", (0, 1)), Axis("score", Grid(0, 1, cells=4, outside=Outside.APART)))


def test_a_table_has_a_row_for_each_cell_of_the_axes_before_the_last() -> None:
    query = CountQuery(AXES, Read.CELLS)
    assert (query.shape, query.rows, query.cells) == ((2, 6), 2, 6)


def test_a_record_adds_one_to_a_count_and_half_a_cell_to_a_sum() -> None:
    assert CountQuery(AXES, Read.PREFIXES).reach == CutQuery(AXES[1:], pieces=4).reach == 1
    assert SumQuery(AXES, half=2**39).reach == 2**39


def test_a_query_is_paid_as_itself() -> None:
    query = CountQuery(AXES, Read.CELLS)
    assert query.paid_as == query
