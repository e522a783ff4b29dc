"""Spark types, and the SQL that reads their columns and finds their slots. Total, under ANSI mode too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.data.axis import Axis, FoundCategories
from dpcurves.data.grid import Grid, Outside
from dpcurves.records.engines.engine import BoundAxis, Formula, Keys, keys_of
from dpcurves.records.source import LONGEST_TEXT, Column, Kind
from dpcurves.records.value_names import FLOATS, ValueType

from .slots import clipped_formula_of, edge_above, thresholds_of

NUMBERS = {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double"}
FLOATING = {"float": ValueType.SINGLE, "double": ValueType.DOUBLE}
TIMES = {"date", "timestamp", "timestamp_ntz"}
NO_UNIT = ""
ELAPSED = {
    "date": "CAST(datediff({0}, DATE'1970-01-01') AS DOUBLE)",
    "timestamp": "CAST(unix_micros({0}) AS DOUBLE) / CAST(1000000 AS DOUBLE)",
}
"""SQL for days or seconds since the beginning of 1970. (Moments without a zone are not converted by all engines.)"""
TIME_UNITS = {"date": "date", "timestamp": "moment"}
_UNIT_OF_DOUBLES = "CASE WHEN isnan({0}) THEN NULL WHEN {0} = 0 THEN CAST(0 AS DOUBLE) ELSE CAST({0} AS DOUBLE) END"
_UNIT_OF_TEXT = f"CASE WHEN octet_length({{0}}) <= {LONGEST_TEXT} THEN {{0}} END"


MOST_COMPARED = 4
"""Thresholds up to this number are compared one after the other."""


def double(value: float) -> str:
    """SQL for exactly this double."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def column_of(name: str, declared: str) -> Column:
    """The column that the type declares, as Spark writes it."""
    if declared == "boolean":
        number, text = "CAST(CAST({0} AS INT) AS DOUBLE)", "CAST({0} AS STRING)"
        return Column(name, Kind.NUMBERS, number, text, values=ValueType.TRUTH, declared=declared)
    if declared in NUMBERS:
        unit, values = _UNIT_OF_DOUBLES if declared in FLOATING else "{0}", FLOATING.get(declared, ValueType.WHOLE)
        number, text = "CAST({0} AS DOUBLE)", "CAST({0} AS STRING)"
        return Column(name, Kind.NUMBERS, number, text, unit=unit, values=values, declared=declared)
    if declared.startswith("decimal("):
        # By way of text: not all engines round a decimal to the nearest double.
        number, text = "CAST(CAST({0} AS STRING) AS DOUBLE)", "CAST({0} AS STRING)"
        return Column(name, Kind.NUMBERS, number, text, values=ValueType.DECIMAL, declared=declared)
    if declared == "string" or declared.startswith(("varchar", "char")):
        return Column(name, Kind.TEXT, "CAST(NULL AS DOUBLE)", "{0}", unit=_UNIT_OF_TEXT)
    unit, kind = "{0}" if declared in TIMES else NO_UNIT, Kind.TIMES if declared in TIMES else Kind.OTHER
    return Column(
        name,
        kind,
        "CAST(NULL AS DOUBLE)",
        "{0}",
        unit=unit,
        elapsed=ELAPSED.get(declared),
        time=TIME_UNITS.get(declared, ""),
    )


def quoted(name: str) -> str:
    """A name as SQL takes it whatever stands in it."""
    return "`" + name.replace("`", "``") + "`"


def piece(column: Column, name: str) -> str:
    """Text by which rows are ranked; a long one stands there by its hash."""
    text = column.text.format(name)
    if column.kind is Kind.NUMBERS:
        return text
    return f"CASE WHEN octet_length({text}) <= {LONGEST_TEXT} THEN {text} ELSE sha2({text}, 256) END"


def guessed(bound: Sequence[BoundAxis]) -> list[str]:
    """Columns selected besides, for `slot`: g0, g1, ..., for each axis whose cells a formula finds."""
    found = []
    for place, each in enumerate(bound):
        grid = each.axis.grid if isinstance(each.axis, Axis) else None
        formula = clipped_formula_of(grid) if grid and not _is_short(grid) else None
        if grid and formula:
            found.append(f"{_guess(grid, formula, _number(each))} AS g{place}")
    return found


def _guess(grid: Grid, formula: Formula, number: str) -> str:
    """SQL for the cell of a double, or one above it. Total: what is computed was clipped to the inner edges before.

    (NULL is clipped, too, and NaN on either side: `slot` tells them by the number itself.)
    """
    first, last = (double(each) for each in grid.edge(np.array([1, grid.cells - 1])).tolist())
    rising = f"(greatest(least({number}, {last}), {first}) - {double(grid.lower)}) * {double(formula.scale)}"
    return f"CAST({rising}{f' + {double(formula.shift)}' if formula.corrected else ''} AS INT)"


def slot(bound: BoundAxis, place: int) -> str | None:
    """SQL for the slot on the axis at `place`, NULL where it is missing; None: batches find it."""
    if isinstance(bound.axis, Axis):
        grid = bound.axis.grid
        if _is_short(grid):
            return _among(thresholds_of(grid), _number(bound))
        return _by_formula(grid, _number(bound), f"g{place}") if clipped_formula_of(grid) else None
    keys, number = keys_of(bound), _number(bound)
    texts, numbers = Keys.of(keys)
    cases = [f"WHEN {condition} THEN {at}" for key, at in texts if (condition := _is_named(bound, key))]
    cases += [f"WHEN {number} = {double(key)} THEN {at}" for key, at in numbers]
    if isinstance(bound.axis, FoundCategories):  # the last is for all that has another value
        cases.append(f"WHEN {has_value(bound)} THEN {len(keys) - 1}")
    return f"CASE {' '.join(cases)} ELSE NULL END" if cases else "CAST(NULL AS INT)"


def _is_named(bound: BoundAxis, name: str) -> str:
    """SQL that tells whether a value has this name; empty: no value of the type has it.

    Decimals are compared as such, for texts of them differ among engines. No literal is too long for its type.
    """
    column, value = bound.column, f"c{bound.place}"
    if column.value_type is not ValueType.DECIMAL:
        return f"{column.text.format(value)} = {_text(name)}"
    whole, _, behind = name.removeprefix("-").partition(".")
    size, scale = (int(digits) for digits in column.declared.removeprefix("decimal(").removesuffix(")").split(","))
    fits = whole.isdigit() and len(whole.lstrip("0")) <= size - scale and len(behind) <= scale
    return f"{value} = CAST('{name}' AS {column.declared})" if fits else ""


def has_value(bound: BoundAxis) -> str:
    """SQL that tells whether a value is not missing, where text of any kind is a value."""
    if bound.column.kind is Kind.NUMBERS:
        return f"NOT coalesce(isnan({_number(bound)}), true)"
    return f"{bound.column.text.format(f'c{bound.place}')} IS NOT NULL"


def name(bound: BoundAxis) -> str:
    """SQL for the text from which `value_names.name_of` makes the name of a value."""
    if bound.column.value_type in FLOATS:
        number = _number(bound)
        return f"CAST(CASE WHEN {number} = 0 THEN CAST(0 AS DOUBLE) ELSE {number} END AS STRING)"
    return bound.column.text.format(f"c{bound.place}")


def _is_short(grid: Grid) -> bool:
    return grid.slots <= MOST_COMPARED + 1


def _among(thresholds: FloatArray, number: str) -> str:
    """SQL for how many of a few rising thresholds a double is at or above."""
    cases = [f"WHEN {number} < {double(each)} THEN {below}" for below, each in enumerate(thresholds.tolist())]
    return f"CASE WHEN {number} IS NULL OR isnan({number}) THEN NULL {' '.join(cases)} ELSE {len(thresholds)} END"


def _by_formula(grid: Grid, number: str, guess: str) -> str:
    """SQL for the slot of a double, whose cell is the guess or one below it, below all inner edges too.

    Total: the edge is computed from a number of a cell alone. What compares with NULL is NULL.
    """
    cell = f"{guess} - CAST({number} < {edge_above(grid, guess, double)} AS INT)"
    if grid.outside is Outside.CLAMPED:
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {cell} END"
    least, most = map(double, grid.closed_ends)
    outer = f"WHEN {number} < {least} THEN 0 WHEN {number} > {most} THEN {grid.cells + 1}"
    return f"CASE WHEN isnan({number}) THEN NULL {outer} ELSE {cell} + 1 END"


def value(bound: BoundAxis) -> str:
    """SQL for the number on an axis, or the slot of a category, as a double; NULL or NaN: missing."""
    found = None if isinstance(bound.axis, Axis) else slot(bound, 0)
    return f"CAST({found or _number(bound)} AS DOUBLE)"


def _number(bound: BoundAxis) -> str:
    return bound.column.number.format(f"c{bound.place}")


def joined(slots: list[str], sizes: list[int]) -> str:
    """SQL for the place in the table, the last axis fastest; NULL where a slot is."""
    place = slots[0]  # of one axis a number of 32 bits, which is grouped faster
    for found, size in zip(slots[1:], sizes[1:], strict=True):
        place = f"({place} * CAST({size} AS BIGINT) + {found})"
    return place


def _text(text: str) -> str:
    return f"CAST(X'{text.encode('utf-8', 'backslashreplace').hex()}' AS STRING)"


def type_of(field: Any) -> str:
    """A type of a schema, as Spark writes it; text that is not compared byte by byte is another type."""
    declared = str(field.dataType.simpleString())
    compared = getattr(field.dataType, "collation", None) or "UTF8_BINARY"
    return declared if compared == "UTF8_BINARY" else f"{declared} collate {compared}"
