"""Grids as plain objects."""

from __future__ import annotations

import json

import pytest

from dpcurves.curves.question import edges_to_json, grid_from_edges, grid_from_json, grid_to_json
from dpcurves.data import Grid, Outside, Values

GRIDS = [
    Grid(0.1, 0.7, cells=2**40),
    Grid(-1, 1, cells=3, outside=Outside.APART),
    Grid.geometric(1, 8, cells=3),
    Grid.logistic(-8, 8, cells=2**30, outside=Outside.APART),
    Grid.from_edges([0, 1, 9]),
    Values(range(0, 121)),
    Values((0.1, 0.2, 5), outside=Outside.APART),
]


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_a_grid_comes_back_the_same(grid: Grid) -> None:
    assert grid_from_json(json.loads(json.dumps(grid_to_json(grid)))) == grid


@pytest.mark.parametrize("grid", GRIDS[-3:], ids=repr)
def test_cells_come_back_the_same_from_the_facts_of_a_question(grid: Grid) -> None:
    assert grid_from_edges(json.loads(json.dumps(edges_to_json(grid)))) == grid


@pytest.mark.parametrize("values", [[], [1, 1], ["1"], "12", 7, None, [float("nan")]])
def test_damaged_values_are_refused(values: object) -> None:
    with pytest.raises(ValueError, match=r"^(grid|values): "):
        grid_from_json({"values": values})
    with pytest.raises(ValueError, match=r"^(grid|values): "):
        grid_from_edges({"values": values, "outside": "CLIPPED", "edges": [0, 1]})


def test_edges_that_are_not_those_of_the_values_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^grid: the stored edges do not fit the stored values"):
        grid_from_edges({**edges_to_json(Values(range(4))), "edges": [0, 1, 2, 3, 4]})


@pytest.mark.parametrize("damage", [{"cells": 0}, {"cells": "x"}, {"spacing": "odd"}, {"outside": None}, {"lower": 2}])
def test_a_damaged_grid_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^grid: "):
        grid_from_json({**grid_to_json(Grid(0, 1, cells=4)), **damage})
