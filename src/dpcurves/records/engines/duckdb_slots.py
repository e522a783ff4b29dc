"""The SQL of DuckDB for the slot of a value: that of `Grid.cell_of`, bit for bit. Made of public things alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

import numpy as np

from ...data.axis import Category
from ...data.grid import Grid
from ...data.spacing import Outside
from .slot_text import Formula, formula_of, texts_and_numbers

Key = TypeVar("Key", float, str)


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
    texts, numbers = texts_and_numbers(values)
    found = [*_place(texts, text, _text_literal, slot), *_place(numbers, number, double, slot), f"NULL::{slot}"]
    return f"coalesce({', '.join(found)})"


def _place(keys: Sequence[Key | None], found: str, literal: Callable[[Key], str], slot: str) -> list[str]:
    known = [(place, key) for place, key in enumerate(keys) if key is not None]
    places = ", ".join(f"{place}::{slot}" for place, _ in known)
    literals = ", ".join(literal(key) for _, key in known)
    return [f"list_extract([{places}], list_position([{literals}], {found}))"] if known else []


def _text_literal(text: str) -> str:
    """SQL for the text as columns show it: what is no plain character is written as its bytes."""
    return f"CAST(unhex('{text.encode('utf-8', 'backslashreplace').hex()}') AS VARCHAR)"
