"""Spark SQL that places a value in a histogram cell, and the types of Spark columns. No records are read here.

    make_column                  name and declared type -> `Column`: SQL of the value as number, as text and as unit
    slot_sql                     axis -> SQL of the slot (the position of a value's cell on the axis)
    guesses_sql                  axes -> SQL of guessed cells, which `slot_sql` corrects by one comparison (`slots.py`)
    cell_index_sql               slots of all axes -> SQL of one cell index of the table
    rank_text_sql                the text by which the rows of a unit are ranked; a long one is replaced by its hash
    quote_identifier, text_literal, double_literal    names and values as SQL

The SQL fails for no value, not even in ANSI mode: an error would reveal the row that caused it.

>>> quote_identifier("a`b")
'`a``b`'
>>> make_column("age", "int").number.format("age")
'CAST(age AS DOUBLE)'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.data.axis import Axis, SelectedCategories
from dpcurves.data.grid import Grid, Outside
from dpcurves.records.engines.engine import BoundAxis, Formula, Keys, category_keys
from dpcurves.records.source import LONGEST_TEXT, Column, ColumnKind
from dpcurves.records.value_names import FLOATS, ValueType

from .slots import edge_sql, find_clipped_formula, find_thresholds

# Column types, as Spark prints them: of numbers, of floating-point numbers with the width of their values, of times.
NUMBER_TYPES = {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double"}
"""Types that are read as numbers; decimals besides."""
FLOAT_TYPES = {"float": ValueType.SINGLE, "double": ValueType.DOUBLE}
"""Floating-point types with the width of their values, which decides how a value is named as a category."""
TIME_TYPES = {"date", "timestamp", "timestamp_ntz"}
"""Types of dates and timestamps, which can identify units."""
NO_UNIT = ""  # SQL of the unit, for columns whose values cannot identify units
"""SQL of the unit, empty for columns whose values cannot identify units: such a column is refused as `unit`."""
ELAPSED_SQL = {
    "date": "CAST(datediff({0}, DATE'1970-01-01') AS DOUBLE)",
    "timestamp": "CAST(unix_micros({0}) AS DOUBLE) / CAST(1000000 AS DOUBLE)",
}
"""SQL of days or seconds since 1970, by type. Timestamps without a time zone are left out, so that they cannot be
counted: not all engines convert them alike."""
TIME_UNITS = {"date": "date", "timestamp": "moment"}
"""Kind of time of a column in expressions: whole days, or microseconds. Functions of dates refuse other columns."""
CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""Key of the declared type of a text, such as char(4), in the metadata of a column: `CharVarcharUtils` of Spark 3.1 and
later."""
# SQL of the value that identifies a unit: one form for -0 and 0, and NULL for NaN and for texts that are too long.
_UNIT_OF_DOUBLES = "CASE WHEN isnan({0}) THEN NULL WHEN {0} = 0 THEN CAST(0 AS DOUBLE) ELSE CAST({0} AS DOUBLE) END"
"""SQL of the value of a floating-point column that identifies a unit: one value for -0 and 0. A row with NaN belongs to
no unit."""
_UNIT_OF_TEXT = f"CASE WHEN octet_length({{0}}) <= {LONGEST_TEXT} THEN {{0}} END"
"""SQL of the value of a text column that identifies a unit; a row with a longer text belongs to no unit."""


def make_column(name: str, declared: str) -> Column:
    """Return the schema's description of a Spark column, with the SQL that reads its values; it fails for no value.

    Args:
        name: Name of the column.
        declared: Its type as Spark prints it, such as ``decimal(10,2)``.
    """
    if declared == "boolean":
        number, text = "CAST(CAST({0} AS INT) AS DOUBLE)", "CAST({0} AS STRING)"
        return Column(
            name, ColumnKind.NUMBERS, number, text, declared_value_type=ValueType.TRUTH, declared_type=declared
        )
    if declared in NUMBER_TYPES:
        unit = _UNIT_OF_DOUBLES if declared in FLOAT_TYPES else "{0}"
        values = FLOAT_TYPES.get(declared, ValueType.WHOLE)
        number, text = "CAST({0} AS DOUBLE)", "CAST({0} AS STRING)"
        return Column(
            name, ColumnKind.NUMBERS, number, text, unit=unit, declared_value_type=values, declared_type=declared
        )
    if declared.startswith("decimal("):
        # Converted via text, because not all engines round a decimal to the nearest double.
        number, text = "CAST(CAST({0} AS STRING) AS DOUBLE)", "CAST({0} AS STRING)"
        return Column(
            name, ColumnKind.NUMBERS, number, text, declared_value_type=ValueType.DECIMAL, declared_type=declared
        )
    if declared == "string" or declared.startswith(("varchar", "char")):
        # Spark pads char(n) with blanks when it reads, which are no part of the value, as in PostgreSQL.
        text = "rtrim({0})" if declared.startswith("char") else "{0}"
        unit = _UNIT_OF_TEXT.replace("{0}", text)
        return Column(name, ColumnKind.TEXT, "CAST(NULL AS DOUBLE)", text, unit=unit)
    unit = "{0}" if declared in TIME_TYPES else NO_UNIT
    kind = ColumnKind.TIMES if declared in TIME_TYPES else ColumnKind.OTHER
    return Column(
        name,
        kind,
        "CAST(NULL AS DOUBLE)",
        "{0}",
        unit=unit,
        elapsed_time=ELAPSED_SQL.get(declared),
        time=TIME_UNITS.get(declared, ""),
    )


def quote_identifier(name: str) -> str:
    """Quote a name with backticks, doubling any backtick in it.

    Args:
        name: Name of a column or table.
    """
    return "`" + name.replace("`", "``") + "`"


def rank_text_sql(column: Column, name: str) -> str:
    """Return SQL of the text of a column by which the rows of a unit are ranked; a long text is replaced by its hash.

    Args:
        column: The column.
        name: Its name as SQL.
    """
    text = column.text.format(name)
    if column.kind is ColumnKind.NUMBERS:
        return text
    return f"CASE WHEN octet_length({text}) <= {LONGEST_TEXT} THEN {text} ELSE sha2({text}, 256) END"


def guesses_sql(bound: Sequence[BoundAxis]) -> list[str]:
    """Return SQL of additional columns g0, g1, ... with the guessed cell on each axis, which `slot_sql` corrects.

    Args:
        bound: Axes of the table, bound to columns.

    Returns:
        One text ``EXPRESSION AS gN`` for each axis N whose grid has a formula; nothing for other axes.
    """
    columns = []
    for position, axis in enumerate(bound):
        grid = axis.axis.grid if isinstance(axis.axis, Axis) else None
        formula = find_clipped_formula(grid) if grid and not _is_short(grid) else None
        if grid and formula:
            columns.append(f"{_guess_sql(grid, formula, _number_sql(axis))} AS g{position}")
    return columns


def _guess_sql(grid: Grid, formula: Formula, number: str) -> str:
    """Return SQL of a guess of the cell of a double: its cell, or the next higher one, which `slot_sql` corrects.

    The SQL fails for no value, because values are clipped to the inner edges first. NULL and NaN are clipped too, to
    either side; `slot_sql` recognises them by the number itself.

    Args:
        grid: Public cells.
        formula: Scale and shift by which a number becomes a cell.
        number: SQL of the double.
    """
    first, last = (double_literal(edge) for edge in grid.edge(np.array([1, grid.cells - 1])).tolist())
    scaled = (
        f"(greatest(least({number}, {last}), {first}) - {double_literal(grid.lower)}) * {double_literal(formula.scale)}"
    )
    return f"CAST({scaled}{f' + {double_literal(formula.shift)}' if formula.needs_correction else ''} AS INT)"


def slot_sql(bound: BoundAxis, place: int) -> str | None:
    """Return SQL of the slot of a value on one axis: the index of its cell or category; NULL if the value is missing.

    Args:
        bound: The axis, bound to its column.
        place: Position of the axis among the axes of the query; the column ``g<place>`` holds its guessed cell, from
            `guesses_sql`.

    Returns:
        SQL of an integer from 0; None if the grid needs a function of Spark's Python workers (`spark_batches`).
    """
    if isinstance(bound.axis, Axis):
        grid = bound.axis.grid
        if _is_short(grid):
            return _threshold_count_sql(find_thresholds(grid), _number_sql(bound))
        return _formula_slot_sql(grid, _number_sql(bound), f"g{place}") if find_clipped_formula(grid) else None
    keys = category_keys(bound)
    number = _number_sql(bound)
    texts, numbers = Keys.from_keys(keys)
    cases = [f"WHEN {condition} THEN {at}" for key, at in texts if (condition := _is_named_sql(bound, key))]
    cases += [f"WHEN {number} = {double_literal(key)} THEN {at}" for key, at in numbers]
    if isinstance(bound.axis, SelectedCategories):  # the last slot is for all other values
        cases.append(f"WHEN {has_value_sql(bound)} THEN {len(keys) - 1}")
    return f"CASE {' '.join(cases)} ELSE NULL END" if cases else "CAST(NULL AS INT)"


def _is_named_sql(bound: BoundAxis, name: str) -> str:
    """Return an SQL condition: the value of a categorical column is the category with this name.

    Decimals are compared as numbers, because engines format them differently.

    Args:
        bound: The axis, bound to its column.
        name: Name of a category.

    Returns:
        A condition; the empty text if no value of the column's type can have this name.
    """
    column = bound.column
    value = f"c{bound.place}"
    if column.value_type is not ValueType.DECIMAL:
        return f"{column.text.format(value)} = {text_literal(name)}"
    integer_digits, _, decimals = name.removeprefix("-").partition(".")
    size, scale = (int(digits) for digits in column.declared_type.removeprefix("decimal(").removesuffix(")").split(","))
    is_representable = (
        integer_digits.isdigit() and len(integer_digits.lstrip("0")) <= size - scale and len(decimals) <= scale
    )
    return f"{value} = CAST('{name}' AS {column.declared_type})" if is_representable else ""


def has_value_sql(bound: BoundAxis) -> str:
    """Return SQL that is true where the value is not missing. Any text, even an empty one, is a value.

    Args:
        bound: Axis, and its column of the schema.
    """
    if bound.column.kind is ColumnKind.NUMBERS:
        return f"NOT coalesce(isnan({_number_sql(bound)}), true)"
    return f"{bound.column.text.format(f'c{bound.place}')} IS NOT NULL"


def name_sql(bound: BoundAxis) -> str:
    """Return SQL of the text of a value, from which `value_names.value_name` makes the name of its category.

    Args:
        bound: The axis, bound to its column. The SQL is NULL if the value is missing.
    """
    if bound.column.value_type in FLOATS:
        number = _number_sql(bound)
        return f"CAST(CASE WHEN {number} = 0 THEN CAST(0 AS DOUBLE) ELSE {number} END AS STRING)"
    return bound.column.text.format(f"c{bound.place}")


def _is_short(grid: Grid) -> bool:
    """Return True if a grid has at most 4 thresholds, so that SQL compares a value with each in turn.

    Args:
        grid: Public cells.
    """
    return grid.slots <= 5  # up to 4 thresholds are compared one by one


def _threshold_count_sql(thresholds: FloatArray, number: str) -> str:
    """Return SQL of the index of the interval between thresholds in which a number lies: how many are at or below it.

    Args:
        thresholds: Increasing thresholds, (thresholds,).
        number: SQL of the double; the result is NULL if it is NULL or NaN.
    """
    cases = [
        f"WHEN {number} < {double_literal(threshold)} THEN {threshold_index}"
        for threshold_index, threshold in enumerate(thresholds.tolist())
    ]
    return f"CASE WHEN {number} IS NULL OR isnan({number}) THEN NULL {' '.join(cases)} ELSE {len(thresholds)} END"


def _formula_slot_sql(grid: Grid, number: str, guess: str) -> str:
    """Return SQL of the slot of a double; NULL if it is NULL or NaN.

    On a grid that clips, the slot is the cell. Else it is 0 below the grid, the cell plus 1 inside, and ``cells + 1``
    above. The SQL fails for no value, because the edge is computed from a cell number only.

    Args:
        grid: The grid.
        number: SQL of the double.
        guess: SQL of a cell number: the cell of the double, or the next higher cell.
    """
    cell = f"{guess} - CAST({number} < {edge_sql(grid, guess, double_literal)} AS INT)"
    if grid.outside is Outside.CLIPPED:
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {cell} END"
    lower, upper = map(double_literal, grid.closed_endpoints)
    outer = f"WHEN {number} < {lower} THEN 0 WHEN {number} > {upper} THEN {grid.cells + 1}"
    return f"CASE WHEN isnan({number}) THEN NULL {outer} ELSE {cell} + 1 END"


def value_sql(bound: BoundAxis) -> str:
    """Return SQL of the number on an axis, or of the index of a category (slot), as a double; NULL or NaN if it is
    missing.

    Args:
        bound: Axis, and its column of the schema.
    """
    slot = None if isinstance(bound.axis, Axis) else slot_sql(bound, 0)
    return f"CAST({slot or _number_sql(bound)} AS DOUBLE)"


def _number_sql(bound: BoundAxis) -> str:
    """Return SQL of the numeric value of an axis as a double; NULL or NaN if it is missing or no number.

    Args:
        bound: Axis, and its column of the schema.
    """
    return bound.column.number.format(f"c{bound.place}")


def cell_index_sql(slots: list[str], sizes: list[int]) -> str:
    """Return SQL of the index of a row's cell in the table of counts, last axis fastest; NULL if a value is missing.

    Args:
        slots: SQL of the slot (index of the cell) on each axis; NULL for a missing value.
        sizes: Number of slots of each axis.
    """
    index = slots[0]  # with one axis it stays a 32-bit number, which Spark groups faster
    for slot, size in zip(slots[1:], sizes[1:], strict=True):
        index = f"({index} * CAST({size} AS BIGINT) + {slot})"
    return index


def double_literal(value: float) -> str:
    """Return an SQL literal that Spark reads as exactly this double.

    Args:
        value: Double; infinite and NaN are allowed.
    """
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def text_literal(text: str) -> str:
    """Return SQL of exactly this text, as hexadecimal bytes.

    Args:
        text: The text.
    """
    return f"CAST(X'{text.encode('utf-8', 'backslashreplace').hex()}' AS STRING)"


def format_type(field: Any) -> str:
    """Return the declared type of a field as Spark prints it.

    Text with a collation has its name added, because it does not compare texts byte by byte.

    Args:
        field: A ``StructField`` of pyspark.
    """
    declared = str(field.dataType.simpleString())
    if declared == "string":  # a table's schema marks char(n) in its metadata only
        declared = str((field.metadata or {}).get(CHAR_TYPE, declared))
    compared = getattr(field.dataType, "collation", None) or "UTF8_BINARY"
    return declared if compared == "UTF8_BINARY" else f"{declared} collate {compared}"
