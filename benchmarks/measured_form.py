"""The SQL by which a prototype counted cells when the marks of engines were measured, as its description has it.

What is missing first, then what lies below or above the inner edges, then the formula of what was clipped by a CASE,
compared with the edge. The package counts otherwise today; beside it, this form says what another machine changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcurves.data import Grid
from dpcurves.records.engines.engine import find_formula
from dpcurves_engines.slots import edge_sql


def guess(grid: Grid, double: Callable[[float], str]) -> str:
    """SQL for the cell of n0, or one above it.

    Args:
        grid: An evenly spaced one.
        double: Writes a double.
    """
    formula, (first, last) = find_formula(grid), _inner(grid, double)
    if formula is None:
        raise ValueError("grid: there is no formula")
    clipped = f"(CASE WHEN n0 >= {first} AND n0 < {last} THEN n0 ELSE {first} END)"
    rising = f"({clipped} - {double(grid.lower)}) * {double(formula.scale)} + {double(formula.shift)}"
    return f"CAST(floor({rising}) AS INT)"


def cell(grid: Grid, double: Callable[[float], str], missing: str) -> str:
    """SQL for the cell of n0, of which k is the guess; `missing` is true where it is NaN."""
    first, last = _inner(grid, double)
    ends = f"WHEN n0 < {double(grid.lower)} THEN 0 WHEN n0 < {first} THEN 0 WHEN n0 >= {last} THEN {grid.cells - 1}"
    between = f"WHEN n0 < {edge_sql(grid, 'k', double)} THEN k - 1 ELSE k"
    return f"CASE WHEN n0 IS NULL OR {missing} THEN NULL {ends} {between} END"


def _inner(grid: Grid, double: Callable[[float], str]) -> list[str]:
    return [double(each) for each in grid.edge(np.array([1, grid.cells - 1])).tolist()]
