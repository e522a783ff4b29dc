"""Grids as plain objects."""

from __future__ import annotations

import json

import pytest

from dpcurves.curves.turns.declared_grid import grid_from_json, grid_to_json
from dpcurves.data import Grid, Outside

GRIDS = [
    Grid(0.1, 0.7, cells=2**40),
    Grid(-1, 1, cells=3, outside=Outside.APART),
    Grid.geometric(1, 8, cells=3),
    Grid.logistic(-8, 8, cells=2**30, outside=Outside.APART),
    Grid.from_edges([0, 1, 9]),
]


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_a_grid_comes_back_the_same(grid: Grid) -> None:
    assert grid_from_json(json.loads(json.dumps(grid_to_json(grid)))) == grid


@pytest.mark.parametrize("damage", [{"cells": 0}, {"cells": "x"}, {"spacing": "odd"}, {"outside": None}, {"lower": 2}])
def test_a_damaged_grid_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^grid: "):
        grid_from_json({**grid_to_json(Grid(0, 1, cells=4)), **damage})
