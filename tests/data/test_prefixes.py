"""Counts of records in the first cells of grids, also of grids too fine to store, agree with `Grid.cell_of`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from every_source import EVERY_SOURCE, edge_values
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries import PrefixQuery
from dpcurves.records import Records, open_records, tabulate

KEY = b"a key of the data set"


def grids(outside: Outside) -> list[Grid]:
    return [
        Grid(0, 1, cells=4, outside=outside),
        Grid(0, 5, cells=1, outside=outside),
        Grid(0.1, 0.7, cells=7, outside=outside),
        Grid(-100, 1300, cells=4096, outside=outside),
        Grid(-1e308, 7e307, cells=11, outside=outside),
        Grid(-5e-324, 1e-323, cells=3, outside=outside),
        Grid.geometric(1e-300, 1e7, cells=100, outside=outside),
        Grid.logistic(-30, 9, cells=100, outside=outside),
        Grid.from_edges([-1, -0.0, 5e-324, 1, 1.7976931348623157e308], outside=outside),
        Grid(0, 1, cells=2**32, outside=outside),
        Grid(-7.3, 11.9, cells=2**40, outside=outside),
        Grid.geometric(1, 8, cells=2**33, outside=outside),
    ]


GRIDS = [grid for outside in Outside for grid in grids(outside)]


def some(grid: Grid) -> NDArray[np.int64]:
    """Numbers of slots: the ends, and some between."""
    between = np.random.default_rng(7).integers(0, grid.slots + 1, 9)
    ends = [0, 1, 2, grid.slots // 2, grid.slots - 2, grid.slots - 1, grid.slots]
    return np.unique(np.clip([*between, *ends], 0, grid.slots))


def edges_of(grid: Grid) -> NDArray[np.float64]:
    return np.unique(grid.edge(np.clip(some(grid), 0, grid.cells)))


VALUES = edge_values(np.unique(np.concatenate([edges_of(grid) for grid in GRIDS])))


def expected(grid: Grid, values: NDArray[np.float64], at: list[int]) -> list[int]:
    cells = grid.cell_of(values)
    return [*(int(np.sum(cells < slots)) for slots in at), int(np.sum(cells == grid.slots))]


def opened(data: Any, unit: Unit = EACH_RECORD) -> Records:
    return open_records(data, unit=unit, key=KEY)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("source", sorted(EVERY_SOURCE))
def test_prefixes_are_those_of_numpy(source: str, tmp_path: Path) -> None:
    with opened(EVERY_SOURCE[source]({"x": pa.array(VALUES)}, tmp_path)) as records:
        for grid in GRIDS:
            at = [*some(grid).tolist()[::-1], 1]  # in any order, and twice
            assert records.prefixes([Axis("x", grid)], at) == expected(grid, VALUES, at), grid


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(GRIDS), st.lists(st.floats(), max_size=30), st.data())
def test_a_value_is_below_a_bound_where_its_cell_is(grid: Grid, values: list[float], data: st.DataObject) -> None:
    at = np.array(sorted(data.draw(st.lists(st.integers(0, grid.slots), min_size=1, max_size=9))))
    bounds, tried = grid.exclusive_bound(at), np.array([*values, *edges_of(grid)])
    place = np.searchsorted(bounds, tried, side="right")
    below = place[:, None] <= np.searchsorted(bounds, bounds)[None, :]
    strictly = np.array([[grid.cell_of(np.array([value]))[0] < slots for slots in at] for value in tried])
    assert np.array_equal(below | np.isnan(bounds) & ~np.isnan(tried)[:, None], strictly)


def test_rows_that_are_not_used_are_not_counted() -> None:
    table = {"x": np.arange(90) / 90, "who": np.arange(90) % 9}
    with opened(table, Unit("who", 2)) as records:
        assert records.prefixes([Axis("x", Grid(0, 1, cells=2**32))], [2**32, 0]) == [18, 0, 0]


def test_no_rows_are_counted_as_none() -> None:
    with opened({"x": np.array([])}) as records:
        assert records.prefixes([Axis("x", Grid(0, 1, cells=2**32))], [1, 2**32]) == [0, 0, 0]
        assert records.prefixes([Axis("x", Grid(0, 1, cells=2**32))], []) == [0]


def test_the_table_of_a_range_is_its_counts_and_the_missing_cell() -> None:
    with opened({"x": np.array([0.1, 0.6, np.nan, 0.9])}) as records:
        query = PrefixQuery((Axis("x", Grid(0, 1, cells=2**32)),), (2**31, 2**32))
        assert tabulate(records, query).tolist() == [1, 3, 1]


def test_prefixes_need_one_column_of_numbers() -> None:
    with opened({"x": np.array([0.5]), "label": np.array(["a"])}) as records:
        labels = Categories("label", ("a",))
        with pytest.raises(ValueError, match=r"^axes: "):
            records.prefixes([labels], [1])
        with pytest.raises(ValueError, match=r"^column: "):
            records.prefixes([Axis("y", Grid(0, 1, cells=2))], [1])


@pytest.mark.parametrize("grid", GRIDS[::5])
def test_prefixes_by_category_count_rows_one_behind_the_other(grid: Grid) -> None:
    labels, axis = Categories("label", ("b", "a", "c")), Axis("x", grid)
    given = np.random.default_rng(5).choice(np.array(["a", "b", "other"]), len(VALUES))
    row = np.select([given == "b", given == "a"], [0, 1], 3)
    cell = grid.cell_of(VALUES)
    places = np.where((row == 3) | (cell == grid.slots), 3 * grid.slots, row * grid.slots + cell)
    at = [int(turn * grid.slots + each) for turn in range(3) for each in some(grid)]
    with opened({"x": VALUES, "label": given}) as records:
        found = tabulate(records, PrefixQuery((labels, axis), tuple(at))).tolist()
    assert found == [*(int(np.sum(places < each)) for each in at), int(np.sum(places == 3 * grid.slots))]
