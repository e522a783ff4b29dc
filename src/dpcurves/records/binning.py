"""SQL that finds the slot of a value: the same slot as `Grid.cell_of`, bit for bit. Made of public things alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite, isnan, prod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.axis import Category
from ..data.grid import Grid
from ..data.spacing import Outside, Spacing

MOST_CHECKED = 2**24
EXACT_IN_DOUBLES = 2**53

Key = TypeVar("Key", float, str)


class Formula(NamedTuple):
    """``floor((x - lower) * scale + shift)`` is the cell of every x below the last inner edge, or one above it.

    Attributes:
        corrected: Whether it may be one above, and the edge itself has to be compared.
    """

    scale: float
    shift: float
    corrected: bool


def formula_of(grid: Grid) -> Formula | None:
    """The formula for the cells of a linear grid; None where there is none that doubles compute well enough.

    The formula never falls as x rises. So it is right for every x if it is right at every edge and at the last
    double below every edge, and these are public: all of them are tried here.

    >>> formula_of(Grid(0, 1, cells=4))
    Formula(scale=4.0, shift=0.0, corrected=False)
    >>> formula_of(Grid(-100, 1300, cells=4096)).corrected
    True
    """
    if grid.spacing is not Spacing.LINEAR or grid.cells > MOST_CHECKED:
        return None
    scale = grid.cells / (grid.upper - grid.lower)
    if not isfinite(scale):
        return None
    edges, cells = grid.edges[:-1], np.arange(grid.cells - 1)
    first, last = (edges[:-1] - grid.lower) * scale, (np.nextafter(edges[1:], -np.inf) - grid.lower) * scale
    if _all_in(first, cells, cells) and _all_in(last, cells, cells):
        return Formula(scale, 0.0, corrected=False)
    shift = float(np.max(cells - first, initial=0.0)) + 4 * float(np.spacing(float(grid.cells)))
    fits = _all_in(first + shift, cells, cells + 1) and _all_in(last + shift, cells, cells + 1)
    return Formula(scale, shift, corrected=True) if fits else None


def _all_in(found: NDArray[np.float64], least: NDArray[np.int64], most: NDArray[np.int64]) -> bool:
    floors = np.floor(found)
    return bool(np.all((least <= floors) & (floors <= most)))


def double(value: float) -> str:
    """SQL for exactly this double. (A plain decimal literal would be rounded twice.)

    >>> double(-0.5)
    "('-0.5'::DOUBLE)"
    """
    return f"('{float(value)!r}'::DOUBLE)"


def slot_type(shape: Sequence[int]) -> str:
    """The narrowest SQL type for the slots of a table. DuckDB counts in an array what is a USMALLINT."""
    slots = prod(shape)
    return "USMALLINT" if slots <= 2**16 else "INTEGER" if slots < 2**31 else "BIGINT"


def grid_slot(grid: Grid, value: str, slot: str) -> str | None:
    """SQL for the slot of the double `value`, of type `slot`; NULL where it is missing.

    No cast can fail: the values outside never reach one. None: there is no formula, so cells are found in NumPy.
    """
    formula = formula_of(grid)
    if formula is None:
        return None
    apart = int(grid.outside is Outside.APART)
    last = grid.cells - 1
    lower, upper, edge = (double(each) for each in (grid.lower, grid.upper, grid.edge(np.array([last])).item()))
    inner = _inner_slot(grid, formula, value, slot)
    above = f"WHEN {value} <= {upper} THEN {last + 1}::{slot} " if apart else ""
    return (
        f"CASE WHEN {value} >= {lower} AND {value} < {edge} THEN {inner}{f' + {apart}::{slot}' if apart else ''} "
        f"WHEN {value} < {lower} THEN 0::{slot} {above}"
        # NaN is above infinity in DuckDB, and nothing compares with NULL: both are left over.
        f"WHEN {value} <= 'inf'::DOUBLE THEN {last + 2 * apart}::{slot} END"
    )


def _inner_slot(grid: Grid, formula: Formula, value: str, slot: str) -> str:
    guess = f"({value} - {double(grid.lower)}) * {double(formula.scale)}"
    if not formula.corrected:
        return f"TRY_CAST(floor({guess}) AS {slot})"
    guess = f"floor({guess} + {double(formula.shift)})"
    width = double(grid.upper - grid.lower)
    # Operation by operation what `Grid.edge` computes.
    parts = f"* {width} / {double(grid.cells)}" if grid.multiplies_first else f"/ {double(grid.cells)} * {width}"
    edge = f"{double(grid.lower)} + {guess} {parts}"
    return f"TRY_CAST({guess} AS {slot}) - CAST({value} < {edge} AS {slot})"


def category_slot(values: Sequence[Category | None], number: str, text: str, slot: str) -> str:
    """SQL for the place among `values` of what has this number and this text; NULL where it is not among them.

    Categories that are numbers, and True as 1 and False as 0, equal what reads as the same number; categories that are
    text equal the same text; None equals nothing.
    """
    numbers = [None if value is None or _is_compared_as_text(value) else float(value) for value in values]
    texts = [str(value) if _is_compared_as_text(value) else None for value in values]
    found = [*_place(texts, text, _text_literal, slot), *_place(numbers, number, double, slot), f"NULL::{slot}"]
    return f"coalesce({', '.join(found)})"


def in_numbers(value: Category) -> Category | None:
    """What a category is in a column of numbers: text is the number that it spells, or nothing.

    >>> in_numbers("2.5"), in_numbers("1"), in_numbers(True), in_numbers("AA")
    (2.5, 1, True, None)
    """
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(value)
            return None if isnan(number) else number
    return None


def _is_compared_as_text(value: Category | None) -> bool:
    """Text, and whole numbers that a double does not tell from their neighbours."""
    return isinstance(value, str) or (isinstance(value, int) and abs(value) >= EXACT_IN_DOUBLES)


def _place(keys: Sequence[Key | None], found: str, literal: Callable[[Key], str], slot: str) -> list[str]:
    known = [(place, key) for place, key in enumerate(keys) if key is not None]
    places = ", ".join(f"{place}::{slot}" for place, _ in known)
    literals = ", ".join(literal(key) for _, key in known)
    return [f"list_extract([{places}], list_position([{literals}], {found}))"] if known else []


def _text_literal(text: str) -> str:
    """SQL for the text as columns show it: what is no plain character is written as its bytes."""
    return f"CAST(unhex('{text.encode('utf-8', 'backslashreplace').hex()}') AS VARCHAR)"
