"""SQL for cells agrees with the definition of cells."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from every_source import edge_values
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.data import Grid, Outside
from dpcurves.data.grid import split_at_zero
from dpcurves.records.engines.duckdb import category_slot_sql, double_literal, grid_slot_sql, slot_type
from dpcurves.records.engines.engine import find_formula
from dpcurves.records.value_names import parse_number
from dpcurves_engines.slots import find_clipped_formula

CONNECTION = duckdb.connect()


def slots_of(grid: Grid, values: NDArray[np.float64]) -> list[int]:
    kind = slot_type([grid.slots])
    sql = grid_slot_sql(grid, "x", kind)
    if sql is None:
        return [int(slot) for slot in grid.cell_of(values)]
    CONNECTION.register("v", pa.table({"i": np.arange(len(values)), "x": values}))
    found = CONNECTION.sql(f"SELECT coalesce(({sql})::BIGINT, {grid.slots}) AS slot FROM v ORDER BY i").fetchnumpy()
    return [int(slot) for slot in found["slot"]]


@settings(max_examples=80, deadline=None)
@given(
    st.floats(-1e9, 1e9), st.floats(1e-12, 1e9), st.integers(1, 300), st.sampled_from(Outside),
    st.lists(st.floats(), max_size=9),
)  # fmt: skip
def test_the_slots_of_any_linear_grid_are_those_of_the_definition(
    lower: float, width: float, cells: int, outside: Outside, values: list[float]
) -> None:
    try:
        grid = Grid(lower, lower + width, cells=cells, outside=outside)
    except ValueError:
        return
    tried = np.concatenate([edge_values(grid.edges), values])
    assert slots_of(grid, tried) == grid.cell_of(tried).tolist()


@pytest.mark.parametrize(
    ("grid", "corrected"),
    [
        (Grid(0, 1, cells=2**16), False),
        (Grid(0, 1024, cells=1024), False),
        (Grid(-100, 1300, cells=4096), True),
        (Grid(0.1, 0.7, cells=7), True),
        (Grid(1e6, 1e6 + 1, cells=2**20), False),
        (Grid(1e6, 1e6 + 1, cells=10**6), True),
    ],
)
def test_most_linear_grids_have_a_formula(grid: Grid, corrected: bool) -> None:
    formula = find_formula(grid)
    assert formula is not None
    assert formula.needs_correction is corrected


def test_grids_that_separate_zero_are_counted_in_sql() -> None:
    """Zero at the lower end, at an edge, inside of a cell, at the upper end; cells that need a correction."""
    grids = [
        Grid(0, 200, cells=1024), Grid(-100, 1300, cells=4096), Grid(-0.1, 0.7, cells=700), Grid(-1, 1, cells=500),
        Grid(-7, 0, cells=600), Grid(-1e-300, 3e-300, cells=501),
    ]  # fmt: skip
    for grid in map(split_at_zero, grids):
        assert grid_slot_sql(grid, "x", "USMALLINT") is not None
        tried = np.concatenate([edge_values(grid.edges), [np.nan, np.inf, -np.inf, -0.0, 1e308]])
        assert slots_of(grid, tried) == grid.cell_of(tried).tolist()


@pytest.mark.parametrize(
    "grid",
    [Grid.geometric(1, 2, cells=3), Grid.from_edges([0, 1, 2]), Grid(0, 5e-323, cells=3), Grid(0, 1, cells=2**25)],
)
def test_other_grids_have_none(grid: Grid) -> None:
    assert find_formula(grid) is None
    assert grid_slot_sql(grid, "x", "INTEGER") is None


@settings(deadline=None)
@given(lower=st.floats(-1e9, 1e9), width=st.floats(1e-3, 1e9), cells=st.integers(3, 3000))
def test_what_is_clipped_to_inner_edges_is_guessed_in_its_cell_or_one_above(
    lower: float, width: float, cells: int
) -> None:
    try:
        grid = Grid(lower, lower + width, cells=cells)
    except ValueError:
        return
    formula = find_clipped_formula(grid)
    if formula is None:
        return
    edges = grid.edges
    around: list[Any] = [
        edges,
        np.nextafter(edges, -np.inf),
        np.nextafter(edges, np.inf),
        [-np.inf, np.inf, -1e308, 1e308, -0.0],
    ]
    values = np.concatenate(around)
    guess = np.floor((np.clip(values, edges[1], edges[-2]) - grid.lower) * formula.scale + formula.shift)
    above = grid.lower + guess * (grid.upper - grid.lower) / grid.cells
    assert np.array_equal(guess - (values < above), grid.cell_of(values))


@pytest.mark.reproduction
def test_large_grids_keep_to_the_definition() -> None:
    for grid in (Grid(0, 1, cells=2**20), Grid(-7.3, 11.9, cells=2**18)):
        tried = edge_values(grid.edges)
        assert slots_of(grid, tried) == grid.cell_of(tried).tolist()


def test_slots_fit_their_type() -> None:
    assert [slot_type(shape) for shape in ([2**16], [2**16 + 1], [2**10, 2**21])] == ["USMALLINT", "INTEGER", "BIGINT"]


@given(st.floats(allow_nan=False))
def test_a_double_is_written_exactly(value: float) -> None:
    ((found,),) = CONNECTION.sql(f"SELECT {double_literal(value)}").fetchall()
    assert np.float64(found).tobytes() == np.float64(value).tobytes()


def test_a_category_may_hold_any_character() -> None:
    names = ("it's", 'a "quote"', "{0}", "back\\slash", "nul\0", "new\nline", "'; DROP TABLE v; --", "\ud800")
    sql = category_slot_sql([[name] for name in names], "NULL", "CAST(t AS VARCHAR)", "INTEGER")
    texts = [name.encode("utf-8", "backslashreplace") for name in (*names, "other")]
    CONNECTION.register("t", pa.table({"i": range(len(texts)), "t": pa.array(texts, pa.binary())}))
    found = CONNECTION.sql(f"SELECT {sql} FROM t ORDER BY i").fetchall()
    assert [slot for (slot,) in found] == [*range(len(names)), None]


def test_text_spells_a_number_in_a_column_of_numbers() -> None:
    assert [parse_number(value) for value in ("7", "7.5", "-inf", "nan", "x")] == [
        7, 7.5, float("-inf"), None, None,
    ]  # fmt: skip
