"""Declared values: cells of one value each."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.data import Grid, Outside, Values
from dpcurves.data.grid import Spacing

DECLARED = [
    Values(range(0, 121)),
    Values(range(300, 901, 50)),
    Values((0.5, 1.0)),
    Values((3,)),
    Values((-2, 0, 7), outside=Outside.APART),
    Values(range(-3, 4), outside=Outside.APART),
    Values((0.1, 0.2, 0.3)),
    Values((1e300, 5e-324, 0, -1e300)),
]


@pytest.mark.parametrize("grid", DECLARED, ids=repr)
def test_a_repr_says_how_to_declare_it(grid: Values) -> None:
    assert eval(repr(grid), {"Values": Values, "Outside": Outside}) == grid


@pytest.mark.parametrize("grid", DECLARED, ids=repr)
def test_each_declared_value_lies_in_its_own_cell(grid: Values) -> None:
    first = int(grid.outside is Outside.APART)
    assert grid.cell_of(grid.values).tolist() == list(range(first, first + grid.cells))
    assert np.all(np.diff(grid.edges) > 0)
    assert np.all((grid.edges[:-1] < grid.values) | (grid.edges[:-1] == grid.values))
    assert np.all(grid.values < grid.edges[1:])


def test_ranges_print_short() -> None:
    assert repr(dp.Values(range(0, 121))) == "Values(range(0, 121))"
    assert repr(dp.Values(range(0, 121, 5))) == "Values(range(0, 121, 5))"
    assert repr(dp.Values((300, 350, 500), outside=dp.Outside.APART)) == (
        "Values((300.0, 350.0, 500.0), outside=Outside.APART)"
    )


def test_values_are_sorted_and_are_a_grid() -> None:
    grid = Values([7, -2, 0.5])
    assert isinstance(grid, Grid)
    assert grid.values.tolist() == [-2, 0.5, 7]
    assert grid.spacing is Spacing.EXPLICIT
    assert grid == Values((-2, 0.5, 7))
    assert hash(grid) == hash(Values((-2, 0.5, 7)))
    assert grid != Grid.from_edges(grid.edges.tolist())
    assert Values([-0.0]).values.tobytes() == np.zeros(1).tobytes()


def test_grids_have_no_values() -> None:
    assert Grid(0, 1, cells=4).values is None
    assert Grid.from_edges([0, 1]).values is None


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 10), Fraction(1, 100), Fraction(1, 4), Fraction(5)])
def test_a_record_is_read_as_the_nearest_value_and_half_way_as_the_larger(step: Fraction) -> None:
    values = [each * step for each in range(-200, 1001)]
    grid = Values([float(value) for value in values])
    for part, further in ((0, 0), (Fraction(49, 100), 0), (Fraction(1, 2), 1), (Fraction(3, 4), 1)):
        records = np.array([float(value + part * step) for value in values[:-1]])
        assert np.array_equal(grid.cell_of(records), np.arange(len(values) - 1) + further)


def test_noisy_decimals_are_read_as_what_they_stand_for() -> None:
    grid = Values.parse("0:1:0.1")
    assert grid.values.tolist() == [each / 10 for each in range(11)]
    assert grid.cell_of(np.cumsum(np.full(10, 0.1))).tolist() == list(range(1, 11))
    assert grid.cell_of(np.arange(11) * np.float64(np.float32(0.1))).tolist() == list(range(11))


def test_neighbouring_doubles_may_be_declared() -> None:
    values = np.array([1.0, np.nextafter(1.0, 2), 1 + 2**-51, 2.0])
    assert Values(values).cell_of(values).tolist() == [0, 1, 2, 3]
    assert Values((2.0**60, 2.0**60 + 256)).cell_of(np.array([2.0**60, 2.0**60 + 256])).tolist() == [0, 1]


def test_ends_lie_half_a_step_outside() -> None:
    assert Values((0, 1, 5)).edges.tolist() == [-0.5, 0.5, 3.0, 7.0]
    assert Values((4,)).edges.tolist() == [3.5, 4.5]


def test_values_beyond_are_clipped_or_counted_apart() -> None:
    records = np.array([-np.inf, -0.6, -0.5, 2.5, 2.6, np.inf, np.nan])
    assert Values(range(3)).cell_of(records).tolist() == [0, 0, 0, 2, 2, 2, 3]
    apart = Values(range(3), outside=Outside.APART)
    assert apart.cell_of(records).tolist() == [0, 0, 1, 3, 4, 4, 5]
    assert Values(range(3)).with_outside(Outside.APART) == apart


def test_joined_cells_have_no_values() -> None:
    grid = Values(range(5))
    assert grid.merge_cells([2]).values is None
    assert grid.merge_cells([2]).edges.tolist() == [-0.5, 1.5, 4.5]
    assert grid.merge_cells(range(6)) is grid
    assert grid.to_explicit() is grid


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0:4", [0, 1, 2, 3, 4]),
        ("0:120:40", [0, 40, 80, 120]),
        ("-0.3:0.3:0.1", [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        ("400,300", [300, 400]),
        ("7", [7]),
        ("7:7", [7]),
    ],
)
def test_values_may_be_written(text: str, values: list[float]) -> None:
    assert Values.parse(text).values.tolist() == values


@pytest.mark.parametrize(
    "text",
    ["", "a", "0:", "0:1:2:3", "1:0", "0:1:0", "0:1:-1", "0:1:0.3", "nan", "0:inf", "1,,2", "0:1e300", "0:1:1e-9"],
)
def test_what_is_no_list_of_values_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="^values: "):
        Values.parse(text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "^values: at least one value is needed"),
        ((1, 2, 1), "^values: declare each value once; 1 is declared twice"),
        (
            (0.1, Decimal("0.1000000000000000000001")),
            "^values: declare each value once; 0.1000.* as far as doubles tell",
        ),
        ((0, float("nan")), "^values: finite numbers are needed, as in 0 or 1.5, got nan"),
        ((0, float("inf")), "^values: finite numbers are needed, as in 0 or 1.5, got inf"),
        ((-1.7e308, 1.7e308), "^values: cells around .* are not finite"),
    ],
)
def test_unusable_values_are_refused(given: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Values(given)


@pytest.mark.parametrize("given", ["0:120", 7, None, ["1"], Grid(0, 1, cells=2)])
def test_what_is_no_number_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match="^values: "):
        Values(given)  # type: ignore[arg-type]


def test_other_makers_of_grids_make_grids() -> None:
    assert Values.from_edges([0, 1]) == Grid.from_edges([0, 1])
    assert Values.geometric(1, 4, cells=2) == Grid.geometric(1, 4, cells=2)
