"""One suite for all engines: each value is counted in the cell where `Grid.cell_of` puts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from by_hand import find_lattice_cells
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcurves.data import Categories, Grid, Outside
from dpcurves.data.axis import Axis, LatticeAxis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records, open_records
from dpcurves_engines.conformance import collect_test_numbers

Load = Callable[[Mapping[str, pa.Array]], Any]
KEY = b"a key of the data set"
SLOW = bool(os.environ.get("DPCURVES_SLOW_TESTS"))


def grids() -> list[Grid]:
    """Each kind of grid, whole where all edges are tried and smaller where tests are to be quick."""
    cells = 65536 if SLOW else 1024
    return [
        grid
        for outside in Outside
        for grid in (
            Grid(-100, 1300, cells=cells, outside=outside),
            Grid(0, 1, cells=64, outside=outside),
            Grid(-1, 1, cells=4096, outside=outside),  # zeros of both signs lie on an edge
            Grid(0, 5, cells=1, outside=outside),
            Grid(0.05, 10.05, cells=1000, outside=outside),
            Grid(-1e308, 7e307, cells=11, outside=outside),
            Grid(-5e-324, 1e-323, cells=3, outside=outside),
            Grid.geometric(1e-300, 1e7, cells=cells, outside=outside),
            Grid.logistic(-30, 9, cells=100, outside=outside),
            Grid.from_edges([-1, -0.0, 5e-324, 1, 1.7976931348623157e308], outside=outside),
        )
    ]


def opened(load: Load, unit: Unit = EACH_RECORD, **columns: Any) -> Records:
    arrays = {name: each if isinstance(each, pa.Array) else pa.array(each) for name, each in columns.items()}
    return open_records(load(arrays), unit=unit, key=KEY)


def test_all_edges_and_their_neighbours_are_counted_where_they_lie(load: Load) -> None:
    values = np.unique(np.concatenate([collect_test_numbers(grid) for grid in grids()]))
    with opened(load, x=values) as records:
        for grid in grids():
            cells, axes, half = grid.cell_of(values), (Axis("x", grid),), 2**40 + 1
            counted = np.bincount(cells, minlength=grid.slots + 1)
            assert np.array_equal(records.counts(axes), counted), grid
            at = sorted({0, 1, grid.slots // 3, grid.slots - 1, grid.slots})
            below = [*(int(counted[:slots].sum()) for slots in at), int(counted[-1])]
            assert list(records.prefixes(axes, at)) == below, grid
            sums = np.zeros(grid.slots + 1, dtype=object)
            np.add.at(sums, cells, grid.offset_of(values, half).astype(object))
            assert records.sums(axes, half) == sums.tolist(), grid


@pytest.mark.quick_share(32)
@pytest.mark.parametrize(
    ("grid", "step"),
    [
        (Grid(0, 1, cells=64), 0.05),
        (Grid(0, 1, cells=64), 0.1),
        (Grid(-7, 500, cells=99), 5.0),
        (Grid(0, 9, cells=9), 0.001),
    ],
    ids=str,
)
@pytest.mark.parametrize("has_points", [False, True])
def test_multiples_of_a_step_are_counted_alike(load: Load, grid: Grid, step: float, has_points: bool) -> None:
    whole = np.arange(-20.0, 1200.0)
    near = np.concatenate([whole, whole / 10, whole / 20, whole / 100, whole / 1000, collect_test_numbers(grid)])
    values = np.concatenate([near, np.nextafter(near[:900], np.inf), whole * 0.1])
    axis = LatticeAxis.from_axis(Axis("x", grid), step, has_points=has_points)
    expected = np.bincount(find_lattice_cells(axis, values), minlength=axis.slots + 1)
    assert expected[[0, 1, -2]].min() > 0
    with opened(load, x=values) as records:
        assert records.counts((axis,)).tolist() == expected.tolist()


FINE = (Grid(0, 1, cells=2**50), Grid.geometric(1, 8, cells=2**33, outside=Outside.APART), Grid(0, 8, cells=2**40))


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("grid", FINE, ids=str)
def test_prefixes_of_grids_that_nobody_lays_out(load: Load, grid: Grid) -> None:
    values = np.unique(collect_test_numbers(grid))
    at = [0, 1, 2, 999, grid.slots // 2, grid.slots - 1, grid.slots]
    cells, classes = grid.cell_of(values), np.arange(len(values)) % 3
    with opened(load, x=values, c=classes) as records:
        found = records.prefixes((Axis("x", grid),), at)
        assert list(found) == [*(int(np.sum(cells < slots)) for slots in at), int(np.sum(cells == grid.slots))]
        two = (Categories("c", (1, 2)), Axis("x", grid))
        later = [grid.slots + slots for slots in at]
        inside = (classes > 0) & (cells < grid.slots)
        place = np.where(inside, (classes.astype(object) - 1) * grid.slots + cells, 2 * grid.slots)
        assert list(records.prefixes(two, later)) == [
            *(int(np.sum(place < each)) for each in later),
            int(np.sum(~inside)),
        ]


numbers = st.one_of(st.floats(), st.integers(-5, 5).map(float))
some_grids = st.builds(
    lambda lower, width, cells, outside: Grid(lower, lower + width, cells=cells, outside=outside),
    st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 300), st.sampled_from(Outside),
)  # fmt: skip


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(grid=some_grids, values=st.lists(numbers, min_size=1, max_size=30), half=st.integers(1, 2**26))
def test_any_values_on_any_grid_are_counted_alike(load: Load, grid: Grid, values: list[float], half: int) -> None:
    x = np.array([*values, *grid.edges[:5].tolist(), *np.nextafter(grid.edges[-5:], -np.inf).tolist()])
    cells, offsets, axes = grid.cell_of(x), grid.offset_of(x, half).astype(object), (Axis("x", grid),)
    with opened(load, x=x) as records:
        assert np.array_equal(records.counts(axes), np.bincount(cells, minlength=grid.slots + 1))
        squares = np.zeros(grid.slots + 1, dtype=object)
        np.add.at(squares, cells, 2 * offsets**2 - half**2)
        assert records.squares(axes, half)[:-1] == squares[:-1].tolist()
        assert np.array_equal(np.sort(records.places(axes)), np.sort(cells))


def test_categories_are_what_they_say(load: Load) -> None:
    texts = ["a", "A", "a ", "", None, "é", "1", "a"]
    flags = [True, False, None, True, True, True, False, False]
    wide = [2**53, 2**53 + 1, 1, -1, None, 0, 7, 2**62]
    with opened(load, t=texts, b=flags, k=pa.array(wide, pa.int64())) as records:
        assert records.counts((Categories("t", ("a", "é", "", "1")),)).tolist() == [2, 1, 1, 1, 3]
        assert records.counts((Categories("b", (True, False)),)).tolist() == [4, 3, 1]
        assert records.counts((Categories("k", (2**53 + 1, 1, "7", 0.0)),)).tolist() == [1, 1, 1, 1, 4]
        both = (Categories("b", (1, 0)), Axis("k", Grid(0, 10, cells=2)))
        assert records.counts(both).tolist() == [2, 1, 0, 3, 2]


def test_sums_beyond_64_bits_are_exact(load: Load) -> None:
    rows, half = 5000, 2**52
    with opened(load, x=np.full(rows, 1.0)) as records:
        assert records.sums((Axis("x", Grid(0, 1, cells=1)),), half) == [rows * half, 0]
        assert rows * half > 2**64


HOLDINGS = {
    1: [held for size in range(3) for held in combinations_with_replacement((0.5, 1.5), size)],
    2: [(), (0.5, 0.5), (1.5, 1.5), (0.5, 1.5, float("nan"))],
}
AXES = (Axis("x", Grid(0, 2, cells=2)),)


@pytest.mark.parametrize("most", [pytest.param(1, marks=pytest.mark.reproduction), 2])
def test_one_unit_moves_the_counts_of_tiny_tables_by_its_bound(load: Load, most: int) -> None:
    """All tables of two units with these records each, against all neighbours, for both adjacencies."""
    counts, few = {}, HOLDINGS[most]
    for first, second in product(range(len(few)), repeat=2):
        rows = [("a", x) for x in few[first]] + [("b", x) for x in few[second]]
        units, values = (
            pa.array([row[at] for row in rows], kind) for at, kind in ((0, pa.string()), (1, pa.float64()))
        )
        with opened(load, Unit("u", most), u=units, x=values) as records:
            counts[first, second] = records.counts(AXES).tolist()
            assert records.units() == len({row[0] for row in rows})
            assert sum(counts[first, second]) == sum(min(most, len(few[held])) for held in (first, second))
    worst = {"add-remove": 0, "replace-one": 0}
    for (first, second), other in product(counts, range(len(few))):
        moved = sum(abs(x - y) for x, y in zip(counts[first, second], counts[other, second], strict=True))
        kind = "add-remove" if 0 in (first, other) else "replace-one"
        worst[kind] = max(worst[kind], moved)
    assert worst == {"add-remove": most, "replace-one": 2 * most}


def test_neither_order_nor_other_units_decide_which_records_are_used(load: Load) -> None:
    rows = [("a", number / 10) for number in range(30)]
    grid = Axis("x", Grid(0, 3, cells=30))
    found = set()
    for others in ([], [("b", 9.0)] * 3, [(None, 9.0)]):
        for order in (rows, rows[::-1]):
            names, values = zip(*[*others, *order], strict=True)
            with opened(load, Unit("u", 1), u=list(names), x=list(values)) as records:
                counts = records.counts((grid,))
                counts[-2] -= bool(others)  # clipped into the last cell: one of them is used
                found.add(tuple(counts.tolist()))
    assert len(found) == 1


def test_units_without_a_name_are_one_and_zeros_of_both_signs_too(load: Load) -> None:
    with opened(load, Unit("u", 1), u=[0.0, -0.0, 1.5, float("nan"), None, float("inf")], x=[0.5] * 6) as records:
        assert records.units() == 4
        assert records.counts(AXES).tolist() == [4, 0, 0]


def test_what_a_model_reads_is_read_alike(load: Load) -> None:
    found: list[list[float]] = []
    with opened(load, x=[1.5, None, float("nan"), float("-inf")], t=["b", "a", "c", None]) as records:
        axes = (Axis("x", Grid(0, 1, cells=1)), Categories("t", ("a", "b")))
        records.each_batch(axes, lambda columns: found.extend(np.stack(columns, axis=1).tolist()))
    wanted = [[1.5, 1.0], [np.nan, 0.0], [np.nan, np.nan], [-np.inf, np.nan]]
    assert sorted(map(str, found)) == sorted(map(str, wanted))
