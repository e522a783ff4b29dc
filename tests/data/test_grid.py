"""Grids: the definition that all counting is held to."""

from __future__ import annotations

import numpy as np
import pytest
from every_source import edge_values
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from dpcurves.data import Grid, Outside, Spacing
from dpcurves.data.grid import CELLS_PER_VALUE, MOST_LOG_ODDS, MOST_STORED_EDGES

finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats(width=64)


@st.composite
def any_grid(draw: st.DrawFn) -> Grid:
    outside = draw(st.sampled_from(Outside))
    edges = sorted(draw(st.sets(finite.filter(lambda edge: abs(edge) < 8e307), min_size=2, max_size=9)))
    kind = draw(st.sampled_from(Spacing))
    if kind is Spacing.EXPLICIT:
        return Grid.from_edges(edges, outside=outside)
    lower, upper = draw(st.sampled_from([(0.1, 0.7), (-100.0, 1300.0), (1.0, 8.0), (1e-9, 1e9), (0.3, 0.30001)]))
    cells = draw(st.integers(1, 99))
    if kind is Spacing.GEOMETRIC and lower > 0:
        return Grid.geometric(lower, upper, cells=cells, outside=outside)
    if kind is Spacing.LOGISTIC and upper <= MOST_LOG_ODDS:
        return Grid.logistic(lower, upper, cells=cells, outside=outside)
    return Grid(lower, upper, cells=cells, outside=outside)


def by_definition(grid: Grid, value: float) -> int:
    edges = grid.edges.tolist()
    if np.isnan(value):
        return grid.slots
    apart = grid.outside is Outside.APART
    if value < edges[0]:
        return 0
    if value > edges[-1]:
        return grid.cells + 1 if apart else grid.cells - 1
    inner = next((cell for cell in range(grid.cells) if edges[cell] <= value < edges[cell + 1]), grid.cells - 1)
    return inner + 1 if apart else inner


@given(any_grid(), st.lists(anything, max_size=20))
def test_cells_are_half_open_and_the_last_one_is_closed(grid: Grid, values: list[float]) -> None:
    tried = np.concatenate([values, edge_values(grid.edges)])
    assert grid.cell_of(tried).tolist() == [by_definition(grid, value) for value in tried.tolist()]


def test_an_edge_belongs_to_the_cell_above_it_but_the_upper_one_to_the_last_cell() -> None:
    grid = Grid(0.1, 0.7, cells=7)
    assert grid.cell_of(grid.edges).tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert grid.cell_of(np.nextafter(grid.edges, -np.inf)).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_a_grid_too_fine_to_be_laid_out_finds_cells_by_its_formula() -> None:
    for grid in (Grid(0, 1, cells=2**32), Grid.geometric(1, 8, cells=2**32), Grid.logistic(-5, 5, cells=2**32)):
        some = np.array([0, 1, 2, 12345, 2**31, 2**32 - 1])
        values = grid.edge(some)
        assert grid.cell_of(values).tolist() == some.tolist()
        assert grid.cell_of(np.nextafter(values, -np.inf)).tolist() == np.maximum(some - 1, 0).tolist()
        assert grid.cell_of(np.array([-np.inf, np.inf, np.nan])).tolist() == [0, 2**32 - 1, 2**32]
        assert grid.offset_of((values + grid.edge(some + 1)) / 2, half=1).tolist() == [0] * 6
    assert MOST_STORED_EDGES < 2**32


def test_both_ways_of_finding_cells_agree() -> None:
    grid = Grid(-3, 1.7, cells=MOST_STORED_EDGES + 1)
    values = edge_values(grid.edges[::1001])
    assert np.array_equal(
        grid.cell_of(values), np.where(np.isnan(values), grid.slots, np.searchsorted(grid.edges[1:-1], values, "right"))
    )


@given(any_grid(), st.lists(anything, max_size=20), st.sampled_from([1, 2, 7, 1000, 2**39, 2**52]))
def test_an_offset_tells_the_value_to_half_a_step(grid: Grid, values: list[float], half: int) -> None:
    tried = np.concatenate([values, edge_values(grid.edges)])
    offsets = grid.offset_of(tried, half)
    assert np.all(np.abs(offsets) <= half)
    inside = (tried >= grid.lower) & (tried <= grid.upper)
    if grid.outside is Outside.APART:
        assert not np.any(offsets[~inside])
    cell = grid.cell_of(tried)[inside] - (grid.outside is Outside.APART)
    left, right = grid.edges[cell], grid.edges[cell + 1]
    read = left / 2 + right / 2 + offsets[inside] / (2 * half) * (right - left)
    step, rounding = (right - left) / (2 * half), 8 * np.spacing(np.maximum(np.abs(left), np.abs(right)))
    assert np.all(np.abs(read - tried[inside]) <= step / 2 * (1 + 1e-9) + rounding)


def test_clipped_values_have_the_offset_of_the_end_and_missing_ones_none() -> None:
    values = np.array([-np.inf, -1, 0, 10, 11, np.inf, np.nan])
    assert Grid(0, 10, cells=2).offset_of(values, half=7).tolist() == [-7, -7, -7, 7, 7, 7, 0]


@pytest.mark.parametrize("half", [0, -1, 2**52 + 1])
def test_a_half_out_of_range_is_refused(half: int) -> None:
    with pytest.raises(ValueError, match="^half: a whole number from 1"):
        Grid(0, 1, cells=1).offset_of(np.zeros(1), half)


@pytest.mark.parametrize(
    ("lower", "upper", "cells"), [(0, 120, 120), (0, 100, 100), (-100, 300, 400), (7, 2107, 700), (0, 3 * 2**30, 3)]
)
def test_whole_edges_are_whole(lower: int, upper: int, cells: int) -> None:
    whole = np.arange(lower, upper + 1, (upper - lower) // cells)
    for grid in (Grid(lower, upper, cells=cells), Grid(-upper, -lower, cells=cells)):
        assert (np.abs(grid.edges) == np.abs(whole if grid.lower == lower else whole[::-1])).all()
    assert (Grid(lower, upper, cells=cells).cell_of(whole[:-1].astype(np.float64)) == np.arange(cells)).all()


def test_edges_are_the_nearest_doubles_where_the_grid_begins_at_zero() -> None:
    assert Grid(0, 12, cells=120).edges.tolist() == [number / 10 for number in range(121)]


def test_edges_that_are_doubles_are_met_by_geometric_grids() -> None:
    assert Grid.geometric(1, 2**20, cells=20).edges.tolist() == [2.0**power for power in range(21)]
    assert Grid.geometric(1e-3, 1e3, cells=6).edges.tolist() == [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize(
    ("lower", "upper", "cells", "rule"),
    [
        (1, 0, 4, "the lower below the upper"),
        (0, 0, 4, "the lower below the upper"),
        (0, np.inf, 4, "finite bounds"),
        (np.nan, 1, 4, "finite bounds"),
        (-1e308, 1e308, 4, "bounds that are at most 1.7e308 apart"),
        (0, 1, 0, "at least 1 cell"),
        (1, 1 + 1e-15, 99, "finer than doubles"),
        (1, 1 + 1e-9, 2**32, "finer than doubles"),
    ],
)
def test_a_grid_that_is_none_is_refused(lower: float, upper: float, cells: int, rule: str) -> None:
    with pytest.raises(ValueError, match=f"^grid: .*{rule}"):
        Grid(lower, upper, cells=cells)


@pytest.mark.parametrize(
    ("lower", "upper", "cells"),
    [
        (0, 1, 2**50), (0, 2**50, 2**50), (-1, 1, 2**50), (1e6, 1e6 + 1, 2**30), (0.1, 0.7, 2**40),
        (-1e308, 7e307, 2**45), (5e-280, 7e-280, 2**40), (1e15, 1e15 + 2**22, 2**22),
    ],
)  # fmt: skip
def test_edges_of_a_linear_grid_rise_everywhere_though_few_are_tried(lower: float, upper: float, cells: int) -> None:
    grid = Grid(lower, upper, cells=cells)
    assert cells > MOST_STORED_EDGES
    generator = np.random.default_rng(13)
    tried = np.concatenate([generator.integers(0, cells, 10**5), 2 ** np.arange(cells.bit_length()) - 1])
    assert np.all(grid.edge(tried) < grid.edge(tried + 1))


@pytest.mark.parametrize(
    ("lower", "upper", "cells"), [(0, 1, 2**54), (1, 2, 2**53), (1e15, 1e15 + 2**22, 2**26), (0, 1e-300, 2**40)]
)
def test_a_grid_that_may_be_finer_than_rounding_is_refused(lower: float, upper: float, cells: int) -> None:
    with pytest.raises(ValueError, match="finer than doubles"):
        Grid(lower, upper, cells=cells)


def test_a_number_of_cells_is_whole() -> None:
    with pytest.raises(TypeError):
        Grid(0, 1, cells=2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("lower", "upper"), [(0, 1), (-1, 1), (1e-300, 1e300)])
def test_a_geometric_grid_needs_a_ratio(lower: float, upper: float) -> None:
    with pytest.raises(ValueError, match="^grid: bounds of a geometric grid"):
        Grid.geometric(lower, upper, cells=3)


def test_steps_of_a_logistic_grid_are_equal_probabilities_to_both_ends() -> None:
    grid = Grid.logistic(-30, 20, cells=2**16)
    shares = np.arange(1, 2**16)
    low, high = expit([-30, 20])
    assert expit(grid.edges[1:-1]) == pytest.approx(low + (high - low) * shares / 2**16, rel=1e-13)
    lack = expit([30, -20])
    assert expit(-grid.edges[1:-1]) == pytest.approx(lack[0] + (lack[1] - lack[0]) * shares / 2**16, rel=1e-13)


def test_a_logistic_grid_around_zero_is_symmetric_and_has_an_edge_there() -> None:
    for half in (1, 8, 40, MOST_LOG_ODDS):
        edges = Grid.logistic(-half, half, cells=1024).edges
        assert edges[512] == 0
        assert (edges == -edges[::-1]).all()


@pytest.mark.parametrize("bound", [701, np.inf])
def test_log_odds_without_a_probability_are_refused(bound: float) -> None:
    with pytest.raises(ValueError, match="^grid: bounds of a logistic grid are log odds and must lie from -700 to 700"):
        Grid.logistic(-1, bound, cells=3)


def test_explicit_edges_have_no_formula() -> None:
    with pytest.raises(ValueError, match="^grid: explicit edges follow no formula"):
        Grid.from_spacing(Spacing.EXPLICIT, 0, 1, cells=3)


@pytest.mark.parametrize("edges", [[], [1], [1, 1], [2, 1], [0, np.nan, 1], [0, np.inf]])
def test_edges_that_do_not_rise_are_refused(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="^grid: "):
        Grid.from_edges(edges)


@pytest.mark.parametrize(
    "text", ["", "0:1", "0:1:x", "0:1:2:3", "0:1:width=", "0:1:1:width=1", "linear:0:1:4", "logistic:0:1", "0:1:1.5"]
)
def test_a_text_that_is_no_grid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="^grid: write lower:upper:cells"):
        Grid.parse(text)


def test_a_grid_can_be_written_and_read_again() -> None:
    for grid in (
        Grid.parse("-1:1:8"),
        Grid.parse("0.1:0.7:width=0.2"),
        Grid.parse("geometric:1:100:2"),
        Grid.parse("logistic:-8:8:2^10"),
        Grid.from_edges([0, 1, 9], outside=Outside.APART),
    ):
        assert eval(repr(grid)) == grid


def test_a_cut_keeps_the_ends() -> None:
    assert Grid(0, 1, cells=4).merge_cells([4, 1, 0]).edges.tolist() == [0, 0.25, 1]
    assert Grid(0, 1, cells=4, outside=Outside.APART).merge_cells([]).slots == 3


@pytest.mark.parametrize("grid", [Grid(-3, 5, cells=8), Grid.geometric(1, 256, cells=8), Grid.from_edges([0, 1, 7, 9])])
def test_the_nearest_edge_is_the_nearest_of_all(grid: Grid) -> None:
    values = np.linspace(grid.lower - 1, grid.upper + 1, 997)
    nearest = np.abs(values[:, None] - grid.edges).argmin(axis=1)  # the lower one of two
    assert np.array_equal(grid.nearest_edge(values), nearest)


def test_the_nearest_edge_is_found_where_edges_are_not_laid_out() -> None:
    grid = Grid(0, 1, cells=2**40)
    index = np.array([0, 1, 2**39, 2**40 - 1, 2**40])
    assert np.array_equal(grid.nearest_edge(grid.edge(index) + 0.3 * 2.0**-40), np.minimum(index, 2**40))


def test_cells_may_be_written_as_a_power_of_two() -> None:
    assert Grid.parse("0:100:2^32") == Grid(0, 100, cells=2**32)
    for text in ("0:1:3^9", "0:1:2^", "0:1:2^999", "0:1:2^-1", "0:1:2**4"):
        with pytest.raises(ValueError, match=r"^grid: write lower:upper:cells"):
            Grid.parse(text)


def test_cells_of_a_width_may_be_written() -> None:
    assert Grid.parse("0.1:0.7:width=0.2") == Grid(0.1, 0.7, width=0.2)
    for text in ("0:1:width=0.3", "0:1:width=nan", "0:1:width=-1", "0:1:width=0"):
        with pytest.raises(ValueError, match="^width: "):
            Grid.parse(text)


def test_cells_of_a_width_have_edges_where_people_write_numbers() -> None:
    assert Grid(-250_000, 1_000_000, width=1000, through=0) == Grid(-250_000, 1_000_000, cells=1250)
    tenths = Grid(-0.3, 0.7, width=0.1, through=0)
    assert tenths.edges.tolist() == [round(tenth / 10, 1) for tenth in range(-3, 8)]  # no 5.6e-17 in the place of 0
    assert tenths.cell_of(np.array([-0.1, 0.0, 0.1, 0.6])).tolist() == [2, 3, 4, 9]
    for cells, width in ((90, 1), (360, 0.25), (900, 0.1), (9000, 0.01)):
        grid = Grid(0, 90, width=width)
        assert grid.cells == cells
        written = np.array([float(f"{edge:.2f}") for edge in grid.edges])
        assert np.array_equal(grid.edges, written)
    assert Grid(0, 2**40, width=0.5, outside=Outside.APART).slots == 2**41 + 2


@pytest.mark.parametrize(
    ("lower", "upper", "given", "message"),
    [
        (0, 10, {"width": 3}, r"^width: cells of 3 from 0 do not end at 10, but at 9 or 12;"),
        (0, 1, {"width": 2}, r"^width: cells of 2 from 0 do not end at 1, but at 2;"),
        (0, 1, {"width": 0}, r"^width: a finite number above zero is needed, as in 0.5, got 0\.0$"),
        (0, 1, {"width": np.nan}, r"^width: a finite number above zero is needed, as in 0.5, got nan$"),
        (0, 1, {}, r"^grid: .* give either cells=, .* or width="),
        (0, 1, {"cells": 1, "width": 1}, r"^grid: .* give either cells=, .* or width="),
        (1, 0, {"width": 1}, r"^grid: finite bounds are needed"),
        (0, np.inf, {"width": 1}, r"^grid: finite bounds are needed"),
        (-250_000, 1_000_000, {"cells": 1024, "through": 0},
         r"^through: 0 is not an edge of the grid; choose one of the nearest, -976\.5625 and 244\.140625$"),
        (-5, 15, {"width": 10, "through": 0},
         r"^through: 0 is not an edge of the grid; choose one of the nearest, -5 and 5$"),
        (0, 10, {"width": 1, "through": 11},
         r"^through: 11 is not an edge of the grid; choose one of the nearest, 9 and 10$"),
    ],
)  # fmt: skip
def test_cells_that_do_not_fit_are_refused_with_what_would(
    lower: float, upper: float, given: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Grid(lower, upper, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("spaced", [Spacing.LINEAR, Spacing.GEOMETRIC])
def test_few_values_lie_in_the_cells_in_which_they_lie_among_many(spaced: Spacing) -> None:
    """Few are looked up by bisection, many among all edges."""
    grid = Grid.from_spacing(spaced, 1, 1.7, cells=9000)
    edges = grid.edge(np.arange(0, 9001, 900))
    values = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 2), [np.nan, np.inf, -np.inf, 0, 3]])
    together = grid.cell_of(values)
    assert len(values) * CELLS_PER_VALUE > grid.cells
    assert [int(grid.cell_of(np.array([each]))[0]) for each in values] == together.tolist()
