"""SENSITIVE. DuckDB as a counting engine for files, data frames and arrays on this machine.

`DuckEngine` writes SQL that counts the used rows of a `Source` by cell, in a private connection in memory. Grids become
arithmetic on values, and categories comparisons of names. Results are exact integers. After the schema check no row can
raise an error.
"""

from __future__ import annotations

import hmac
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from hashlib import sha256
from itertools import pairwise
from math import prod
from typing import TypeVar

import duckdb
import numpy as np

from ...arguments import InvalidArgument
from ...arrays import FloatArray, IntArray
from ...data import Axis, Grid, MissingReason, OrderedAxis, Outside, SelectedCategories
from ...drafts import ScratchFolder
from ...privacy import EACH_RECORD, Unit
from ...queries.query import LONGEST_CATEGORY
from ..source import (
    FIELDS_FAULT,
    LONG_FAULT,
    QUOTE_FAULT,
    READ_FAILURE,
    Column,
    ColumnKind,
    HasLines,
    Source,
    find_column,
    read_doubles,
    require_readable,
    sql_name,
)
from ..value_names import FLOATS, value_name
from . import engine as engines
from .derived_columns import DerivedColumns, RowFilter

# SENSITIVE. DuckDB connections in memory, separate from the user's, without output.


# Row counts must not depend on the statistics that a file claims, so their propagation is off, and no filter is pushed
# down to a file. With a threshold of 18 bits, tables of up to 2^16 slots are counted in an array, which needs two bits
# more.
SETTINGS: dict[str, bool | int | str] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "disabled_optimizers": "statistics_propagation,filter_pushdown",
    "perfect_ht_threshold": 18,
    "preserve_insertion_order": False,
    "python_enable_replacements": False,
}
"""Settings of every connection to DuckDB. No extension is loaded by itself, and FROM finds no variables of Python."""


PROGRESS_REQUESTED: list[bool] = []
"""Not empty if connections opened from now on must report the progress of their query, as a progress bar needs."""
OPEN_CONNECTIONS: weakref.WeakSet[DuckConnection] = weakref.WeakSet()
"""Connections of this process whose progress is shown; one that is no longer used leaves by itself."""


def watch_progress() -> None:
    """Make database connections that are opened from now on report the progress of their query, which depends on time
    alone.
    """
    PROGRESS_REQUESTED[:] = [True]


def progress_fraction() -> float | None:
    """Return the fraction, from 0 to 1, of the current query that is done; None if it is unknown.

    The fraction depends on time alone, not on records.
    """
    fractions = [engine.connection.query_progress() / 100 for engine in list(OPEN_CONNECTIONS) if engine.close.alive]
    known = [fraction for fraction in fractions if fraction >= 0]
    return max(known) if known else None


class DuckConnection:
    """DuckDB connection with a private temporary folder. Both are removed at the end."""

    __slots__ = ("__weakref__", "close", "connection")

    def __init__(self) -> None:
        folder = ScratchFolder()
        # Set here and not afterwards: opening takes three times as long if extensions may be loaded.
        self.connection = duckdb.connect(":memory:", config={"temp_directory": str(folder.path), **SETTINGS})
        if PROGRESS_REQUESTED:
            self.connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")
        elif self.connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
            # Only if it is on: setting it raises an error in notebooks without widgets.
            self.connection.execute("SET enable_progress_bar = false")
        OPEN_CONNECTIONS.add(self)
        self.close = weakref.finalize(self, _close_connection, self.connection, folder)

    def __repr__(self) -> str:
        return "Engine(hidden)"


def _close_connection(connection: duckdb.DuckDBPyConnection, folder: ScratchFolder) -> None:
    """Close a connection to DuckDB and delete its temporary folder, also at the end of the process.

    Args:
        connection: The connection.
        folder: Folder of its temporary files.
    """
    connection.close()
    folder.remove()


# DuckDB SQL for the slot of a value, equal to `Grid.cell_of` bit for bit. It is made of public parameters only.


Key = TypeVar("Key", float, str)
Tally = TypeVar("Tally", engines.CellCounts, engines.CellSums, engines.PrefixCounts)


def double_literal(value: float) -> str:
    """Return SQL for exactly this double. (A decimal literal would be rounded twice.)

    Args:
        value: Double; infinite and NaN are allowed.

    >>> double_literal(-0.5)
    "('-0.5'::DOUBLE)"
    """
    return f"('{float(value)!r}'::DOUBLE)"


def slot_type(shape: Sequence[int]) -> str:
    """Return the narrowest SQL integer type that holds the cell numbers (slots) of a table; DuckDB counts a USMALLINT
    in an array, fast.

    Args:
        shape: Number of slots along each axis.
    """
    slots = prod(shape)
    if slots <= 2**16:
        return "USMALLINT"
    return "INTEGER" if slots < 2**31 else "BIGINT"


def grid_slot_sql(grid: Grid, value: str, slot: str) -> str | None:
    """Return SQL for the cell index of a number on a grid, by a formula; None if the grid has no formula, and NumPy
    must find cells.

    No cast can fail, because values outside the grid reach none.

    Args:
        grid: The grid.
        value: SQL of the number, a double; NULL where it is missing.
        slot: SQL type of the slot.
    """
    even_grid, further_edges = engines.find_even_grid(grid)
    if further_edges:
        return _further_edges_slot_sql(even_grid, further_edges, value, slot)
    formula = engines.find_formula(grid)
    if formula is None:
        return None
    first_cell = int(grid.outside is Outside.APART)
    last = grid.cells - 1
    lower = double_literal(grid.lower)
    edge = double_literal(grid.edge(np.array([last])).item())
    inner = _inner_slot_sql(grid, formula, value, slot)
    below_sql = f"WHEN {value} < {lower} THEN 0::{slot} "
    above_sql = ""
    if first_cell:
        lowest, highest = map(double_literal, grid.closed_endpoints)
        below_sql = f"WHEN {value} < {lowest} THEN 0::{slot} WHEN {value} < {lower} THEN 1::{slot} "
        above_sql = f"WHEN {value} <= {highest} THEN {last + 1}::{slot} "
    return (
        f"CASE WHEN {value} >= {lower} AND {value} < {edge} "
        f"THEN {inner}{f' + {first_cell}::{slot}' if first_cell else ''} "
        f"{below_sql}{above_sql}"
        # NaN is above infinity in DuckDB, and NULL compares with nothing: both get NULL.
        f"WHEN {value} <= 'inf'::DOUBLE THEN {last + 2 * first_cell}::{slot} END"
    )


def _further_edges_slot_sql(even_grid: Grid, further_edges: Sequence[float], value: str, slot: str) -> str | None:
    """Return SQL for the cell index on a grid that is linear but for some further edges: the linear index plus the
    further edges at or below the value.

    None if the linear grid has no formula.

    Args:
        even_grid: The linear grid.
        further_edges: Edges besides its own, increasing.
        value: SQL of the number, a double; NULL where it is missing.
        slot: SQL type of the slot.
    """
    even_slot = grid_slot_sql(even_grid, value, slot)
    formula = engines.find_formula(even_grid)
    if even_slot is None or formula is None:
        return None
    steps = (f"CASE WHEN {value} >= {double_literal(edge)} THEN 1::{slot} ELSE 0::{slot} END" for edge in further_edges)
    slot_sql = " + ".join([f"({even_slot})", *steps])
    # Between two neighbours of the further edges their number is constant. Values of the widest such intervals, nearly
    # all values where zero alone has a cell, need no comparison with each edge: a third of the time.
    least_share = 0.25  # of the width of the grid; narrower intervals save less than another branch costs
    last_edge = even_grid.edge(np.array([even_grid.cells - 1])).item()
    bounds = [even_grid.lower, *(edge for edge in further_edges if even_grid.lower < edge < last_edge), last_edge]
    inner = _inner_slot_sql(even_grid, formula, value, slot)
    branches = [
        f"WHEN {value} >= {double_literal(lower)} AND {value} < {double_literal(upper)} "
        f"THEN {inner} + {sum(edge <= lower for edge in further_edges)}::{slot} "
        for lower, upper in pairwise(bounds)
        if upper / 2 - lower / 2 >= least_share * (even_grid.upper / 2 - even_grid.lower / 2)
    ]
    return f"CASE {''.join(branches)}ELSE {slot_sql} END" if branches else slot_sql


def _inner_slot_sql(grid: Grid, formula: engines.Formula, value: str, slot: str) -> str:
    """Return SQL for the cell index of a value inside a linear grid, by a formula, corrected by a comparison with the
    edge where needed.

    Args:
        grid: A linear grid.
        formula: Constants of the formula, and whether it needs the correction.
        value: SQL of the value.
        slot: SQL type of slots.
    """
    guess = f"({value} - {double_literal(grid.lower)}) * {double_literal(formula.scale)}"
    if not formula.needs_correction:
        return f"TRY_CAST(floor({guess}) AS {slot})"
    guess = f"floor({guess} + {double_literal(formula.shift)})"
    width = double_literal(grid.upper - grid.lower)
    # The same operations as in `Grid.edge`.
    cells = double_literal(grid.cells)
    scaling = f"* {width} / {cells}" if grid.multiplies_first else f"/ {cells} * {width}"
    edge = f"{double_literal(grid.lower)} + {guess} {scaling}"
    return f"TRY_CAST({guess} AS {slot}) - CAST({value} < {edge} AS {slot})"


def category_slot_sql(keys: Sequence[Sequence[str | float]], number: str, text: str, slot: str) -> str:
    """Return SQL for the index of the category that a value equals, given its number and text; NULL if no category
    matches.

    Args:
        keys: The texts or numbers that belong to each category, in order of the categories.
        number: SQL of the value as a number.
        text: SQL of the value as text.
        slot: SQL type of the result.
    """
    texts, numbers = engines.Keys.from_keys(keys)
    lookups = [
        *_lookup_sql(texts, text, _text_literal, slot),
        *_lookup_sql(numbers, number, double_literal, slot),
        f"NULL::{slot}",
    ]
    return f"coalesce({', '.join(lookups)})"


def _lookup_sql(keys: Sequence[tuple[Key, int]], value: str, literal: Callable[[Key], str], slot: str) -> list[str]:
    """Return SQL that looks up a value among comparison keys and gives the index of its category, in a list of one.

    NULL if no key equals the value; an empty list without keys.

    Args:
        keys: Comparison keys, each with the index of its category.
        value: SQL of the value.
        literal: Function that writes a key as an SQL literal.
        slot: SQL type of the index.
    """
    slot_list = ", ".join(f"{slot_number}::{slot}" for _, slot_number in keys)
    literals = ", ".join(literal(key) for key, _ in keys)
    return [f"list_extract([{slot_list}], list_position([{literals}], {value}))"] if keys else []


def _text_literal(text: str) -> str:
    """Return the SQL literal of a text in the form in which columns show bytes: those outside of printable ASCII as
    hexadecimal codes.

    Args:
        text: The text.
    """
    return f"CAST(unhex('{text.encode('utf-8', 'backslashreplace').hex()}') AS VARCHAR)"


# SENSITIVE. Used records of each unit: selected by a secret key, once, from the unit's own records.


def used_rows_sql(
    rows: str,
    unit: Column,
    unit_place: int,
    places: Sequence[int],
    records: int,
    *aggregates: tuple[str, str],
    passes: str = "",
) -> str:
    """Return SQL that selects the used rows: at most `records` rows of each unit, chosen by a keyed hash, with the
    columns at `places`.

    The parameters are those of `hmac_pads`.

    The rows of a unit are ranked by HMAC-SHA256 of the whole row under the secret key of the data set, and the first
    `records` of them are used. Rows without a unit are one unit together.

    Formal guarantees: the used rows of a unit are a function of the key and of that unit's rows. So adding, removing
    or replacing a unit removes at most `records` used rows and adds at most `records`, all of this unit. The order of
    rows and other units have no influence. (Of equal rows, any may be used.) With a filter, the rows of the unit that
    pass it are ranked first, and used rows that fail it have no values: which rows are used is still a function of the
    key and of the unit's rows.

    Args:
        rows: FROM clause with `whole`, the unit's column and those at `places`.
        unit: Column of unit identifiers.
        unit_place: Its position.
        places: Positions of the selected columns.
        records: Contribution bound.
        aggregates: Names and SQL of aggregates over all rows of a unit, added to each row.
        passes: Column that is true for the rows that pass a filter; empty: no filter.
    """
    selected = "".join(f"{sql_name(place)}, " for place in places)
    filtered, first = (f"{passes}, ", f"NOT {passes}, ") if passes else ("", "")
    rank = "sha256($outer::BLOB || unhex(sha256($inner::BLOB || whole)))"
    with_rank = (
        f"SELECT {selected}{filtered}{unit.unit.format(sql_name(unit_place))} AS unit, {rank} AS rank FROM {rows}"
    )
    windows = "".join(f"{aggregate_sql} OVER (PARTITION BY unit) AS {name}, " for name, aggregate_sql in aggregates)
    ranked = (
        f"SELECT {selected}{filtered}{windows}row_number() OVER (PARTITION BY unit ORDER BY {first}rank) AS place "
        f"FROM ({with_rank})"
    )
    values = "".join(f"{value_sql(place, passes)}, " for place in places)
    result_columns = values + "".join(f"{name}, " for name, _ in aggregates)
    return f"SELECT {result_columns.removesuffix(', ')} FROM ({ranked}) WHERE place <= {records}"


def value_sql(place: int, passes: str) -> str:
    """Return SQL for a column's value in used rows, which is NULL in rows that fail the filter.

    Args:
        place: Position of the column.
        passes: SQL of the filter; empty: all rows pass.
    """
    name = sql_name(place)
    return f"CASE WHEN {passes} THEN {name} END AS {name}" if passes else name


def hmac_pads(key: bytes) -> dict[str, bytes]:
    """Return the inner and the outer padded key of HMAC, as SQL parameters (Bellare, Canetti and Krawczyk 1996; RFC
    2104).

    Args:
        key: Secret key of the data set.

    Returns:
        The pads by parameter name, ``inner`` and ``outer``.
    """
    block = 64  # bytes: block size of SHA-256
    key = (sha256(key).digest() if len(key) > block else key).ljust(block, b"\0")
    return {"inner": bytes(byte ^ 0x36 for byte in key), "outer": bytes(byte ^ 0x5C for byte in key)}


def unit_count_sql(rows: str, unit: Column, unit_place: int) -> str:
    """Return SQL for the number of units: distinct identifiers, plus one if any row has none.

    Args:
        rows: FROM clause of the rows.
        unit: The column of unit identifiers.
        unit_place: Position of that column.
    """
    unit_rows = f"SELECT {unit.unit.format(sql_name(unit_place))} AS unit FROM {rows}"
    return f"SELECT count(DISTINCT unit) + CAST(count(*) > count(unit) AS BIGINT) FROM ({unit_rows})"


def unit_sizes_sql(rows: str, unit: Column, unit_place: int, passes: str = "") -> str:
    """Return SQL that counts units by their number of rows. Rows without a unit identifier are one unit together.

    With a filter, whose condition is the column `passes`, rows that fail it are not counted; a unit may have none.

    Args:
        rows: FROM clause of the rows.
        unit: The column of unit identifiers.
        unit_place: Position of that column.
        passes: SQL of the filter; empty: all rows pass.
    """
    number = f"count(*) FILTER (WHERE {passes})" if passes else "count(*)"
    unit_rows = f"SELECT {unit.unit.format(sql_name(unit_place))} AS unit{f', {passes}' if passes else ''} FROM {rows}"
    return f"SELECT n, count(*) FROM (SELECT {number} AS n FROM ({unit_rows}) GROUP BY unit) GROUP BY n"


# SENSITIVE. Used rows with the secret subset of their unit.


SUBSET_KEY_CONTEXT = b"subsets of units"
"""Text hashed with the key of the data set into the key that assigns units to random subsets. Another text would assign
other subsets."""
SUBSET_AXIS = Axis("subset", Grid(0, 1, cells=1))
"""Stand-in for the column of subset numbers, which DuckDB computes: one cell, since the number is used as it is."""
SUBSET_COLUMN = Column("subset", ColumnKind.NUMBERS, "subset", "NULL")
"""Column of subset numbers, as the query of subsets names it."""


def subset_key(key: bytes) -> bytes:
    """Derive the secret key that assigns units to random subsets from the key of the data set; neither reveals the
    other.

    Args:
        key: Secret key of the data set.
    """
    return sha256(SUBSET_KEY_CONTEXT + key).digest()


def subsets_sql(  # noqa: PLR0917
    rows: str, unit: Unit, column: Column | None, unit_place: int, kept: Sequence[int], subsets: int
) -> str:
    """Return SQL that assigns each row to a random subset of units by a keyed hash, with the columns at `kept`.

    The SQL has the named parameters ``inner`` and ``outer``, the padded keys that `hmac_pads` makes of `subset_key`.
    Its last column, ``subset``, has the number of the subset.

    Formal guarantees: the subset of a row is a function of the key and of its unit. If each record is a unit, its name
    is the row itself with a number among equal rows: 1, 2, ..., in any order, because they are equal. A further row
    gets the next number and moves no other row, and equal rows are spread over all subsets. Otherwise the name is the
    unit's identifier. Equal identifiers may have different texts, such as 0.0 and -0.0, so the smallest text among the
    unit's own rows is used. Rows without a unit are one unit.

    Args:
        rows: FROM clause of the used rows. If each record is a unit, it has a column `whole`, the row as bytes; else
            the column of unit identifiers.
        unit: Privacy unit.
        column: Column of unit identifiers; None if each record is a unit.
        unit_place: Position of that column; without effect if each record is a unit.
        kept: Positions of the selected columns.
        subsets: Number of subsets.
    """
    columns = "".join(f"{sql_name(place)}, " for place in kept)
    if unit == EACH_RECORD or column is None:
        copy = "encode(CAST(row_number() OVER (PARTITION BY whole) AS VARCHAR))"
        unit_rows = f"SELECT {columns}whole || {copy} AS name FROM {rows}"
        return f"SELECT {columns}{_subset_sql('name', subsets)} AS subset FROM ({unit_rows})"
    unit_rows = f"SELECT {columns}{column.unit.format(sql_name(unit_place))} AS unit FROM {rows}"
    text = "min(coalesce(CAST(unit AS VARCHAR), '')) OVER (PARTITION BY unit)"
    with_name = f"SELECT {columns}encode({text}) AS name FROM ({unit_rows})"
    return f"SELECT {columns}{_subset_sql('name', subsets)} AS subset FROM ({with_name})"


def _subset_sql(name: str, subsets: int) -> str:
    """Return SQL that assigns a unit to a subset by HMAC-SHA256: sixty bits of the digest, modulo the number of
    subsets.

    Args:
        name: SQL name of the column of units, as bytes.
        subsets: Number of subsets, at least 1.

    Returns:
        The number of the subset as a double, from 0. HMAC's padded keys are the parameters ``inner`` and ``outer``.
    """
    digest = f"sha256($outer::BLOB || unhex(sha256($inner::BLOB || {name})))"
    return f"CAST(CAST('0x' || substr({digest}, 1, 15) AS UBIGINT) % {subsets} AS DOUBLE)"


def assign_subsets(names: Iterable[bytes], key: bytes, subsets: int) -> FloatArray:
    """Assign each unit to a random subset by HMAC-SHA256 of its name, in Python; return the subsets, (units,).

    Args:
        names: Names of the units. SECRET.
        key: Key from which the key of subsets is derived. SECRET.
        subsets: Number of subsets.

    Formal guarantees: a subset is a function of the key and of that name alone.
    """
    derived_key = subset_key(key)
    # 60 bits: the bias of the modulo is negligible
    digests = (hmac.digest(derived_key, name, "sha256").hex()[:15] for name in names)
    return np.array([int(digest, 16) % subsets for digest in digests], dtype=np.float64)


# SENSITIVE. From rows to exact integers: in SQL if a formula finds the cells, else batch by batch in NumPy.


def _slot_cells(bound: Sequence[engines.BoundAxis], slots: Sequence[str | None]) -> engines.SlotCells:
    """Return the object that finds cells of a table from batches, in which axes have cell indices (slots) or numbers.

    Args:
        bound: Axes of the query, matched to columns of the data.
        slots: SQL of each axis's index; None: the batches have numbers, for which NumPy finds the cell.
    """
    return engines.SlotCells([bound_axis.axis for bound_axis in bound], [slot is not None for slot in slots])


def _slots_sql(bound: Sequence[engines.BoundAxis]) -> list[str | None]:
    """Return SQL for the cell index along each axis, from its number and text; None where only NumPy can find the cell.

    Args:
        bound: Axes of the query, each with its column of the schema.

    Returns:
        SQL or None for each axis.
    """
    slot = slot_type([bound_axis.axis.slots for bound_axis in bound])
    return [
        grid_slot_sql(axis.grid, f"n{index}", slot)
        if isinstance(axis := bound_axis.axis, Axis)
        else _category_slot_sql(bound_axis, index, slot)
        for index, bound_axis in enumerate(bound)
    ]


def _category_slot_sql(bound: engines.BoundAxis, number: int, slot: str) -> str:
    """Return SQL for the index of the category that a value equals; the last of selected categories counts all other
    values.

    Args:
        bound: Axis of categories, bound to its column.
        number: Number of the axis, which is part of the names of its SQL columns.
        slot: SQL type of the index.
    """
    keys = engines.category_keys(bound)
    listed_slot = category_slot_sql(keys, f"n{number}", f"t{number}", slot)
    if not isinstance(bound.axis, SelectedCategories):
        return listed_slot
    return (
        f"coalesce({listed_slot}, CASE WHEN {_has_value(bound.column.kind, number)} THEN {len(keys) - 1}::{slot} END)"
    )


def missing_reason_sql(bound: Sequence[engines.BoundAxis], columns: int) -> str:
    """Return SQL for the reason why a row is missing on any axis (`MissingReason`); NULL if it is not missing.

    Formal guarantees: a row has a reason if and only if it is counted as missing, and then exactly one: its line's
    fault, else the reason on the first axis that it is missing on.

    Args:
        bound: Axes with their columns.
        columns: Number of the source's own columns; higher positions are derived by expressions.
    """
    slots = _slots_sql(bound)
    is_missing = [
        f"coalesce(isnan(n{index}), true)" if isinstance(axis, Axis) else f"({slots[index]}) IS NULL"
        for index, (axis, *_) in enumerate(bound)
    ]
    faults = {
        QUOTE_FAULT: MissingReason.QUOTES, FIELDS_FAULT: MissingReason.FIELDS, LONG_FAULT: MissingReason.LONG_LINE
    }  # fmt: skip
    cases = [f"WHEN NOT ({' OR '.join(is_missing)}) THEN NULL"]
    cases += [f"WHEN fault = '{chr(letter)}'::BLOB THEN {reason.value}" for letter, reason in faults.items()]
    for index, bound_axis in enumerate(bound):
        axis = bound_axis.axis
        is_derived = bound_axis.place >= columns
        if isinstance(axis, OrderedAxis):  # whose derived value does not tell empty fields from times out of order
            cases.append(f"WHEN {is_missing[index]} THEN {MissingReason.ORDER.value}")
            continue
        reason_of_value = MissingReason.NO_NUMBER if isinstance(axis, Axis) else MissingReason.OTHER_LABEL
        reason_of_null = MissingReason.UNDEFINED if is_derived else MissingReason.EMPTY
        cases.append(f"WHEN {is_missing[index]} AND t{index} IS NULL THEN {reason_of_null.value}")
        cases.append(f"WHEN {is_missing[index]} THEN {reason_of_value.value}")
    return f"CASE {' '.join(cases)} END"


def _has_value(kind: ColumnKind, number: int) -> str:
    """Return the SQL condition that a column's value is not missing; any text counts as a value.

    Args:
        kind: Kind of the column in the schema.
        number: Position of the axis, which names the columns ``n0``, ``t0``, ``n1``, ...
    """
    return f"NOT coalesce(isnan(n{number}), true)" if kind is ColumnKind.NUMBERS else f"t{number} IS NOT NULL"


def names_sql(read: str, column: Column, *, each_record: bool) -> str:
    """Return SQL that lists each value of a column with its number of units, for partition selection.

    A value is given as a number if `value_names` names it by one, else as text, unless it is too long.

    A value is given as its number if `value_names` names it by that, else as the text that columns show, unless it is
    too long.

    Args:
        read: SELECT statement of the rows, with number, text and unit of each axis.
        column: The column of the first axis.
        each_record: Whether each record is a unit of its own.
    """
    units = "count(*)" if each_record else "count(DISTINCT unit) + CAST(count(*) > count(unit) AS BIGINT)"
    value = "n0 + 0" if column.value_type in FLOATS else "t0"
    longest = LONGEST_SHOWN * LONGEST_CATEGORY
    return (
        f"SELECT {value} AS value, {units} FROM ({read}) WHERE {_has_value(column.kind, 0)} AND "
        f"strlen(t0) <= {longest} GROUP BY value"
    )


LONGEST_SHOWN = len(r"\xFF")
"""Characters in which DuckDB shows one byte outside of printable ASCII, the most for any byte. A category that takes
more than this times `LONGEST_CATEGORY` is left out."""


def decode_shown_name(shown: str) -> str | None:
    """Decode the name of a category as DuckDB shows bytes, with hexadecimal codes for those that are not ASCII.

    None if they are not UTF-8, or more than `LONGEST_CATEGORY`.

    Args:
        shown: Text that DuckDB returned.

    >>> decode_shown_name(r"n\xc3\xa9"), decode_shown_name(r"\xff")
    ('né', None)
    """
    codes = r"\\x([0-9A-F]{2})"
    name = re.sub(codes, lambda code: chr(int(code[1], 16)), shown).encode("latin-1")
    return decode_name(name)


def decode_name(name: bytes) -> str | None:
    """Decode a name from UTF-8; None if the bytes are invalid or more than `LONGEST_CATEGORY`.

    Args:
        name: Bytes of the name.
    """
    if len(name) > LONGEST_CATEGORY:
        return None
    with suppress(UnicodeDecodeError):
        return name.decode()
    return None


def _read_sql(rows: str, bound: Sequence[engines.BoundAxis], *extra: str) -> str:
    """Return a SELECT statement of the number and the text of each axis's column, and of extra expressions.

    Args:
        rows: FROM clause.
        bound: Axes, bound to their columns.
        extra: Further SQL expressions.
    """
    numbers = [
        f"{bound_axis.column.number.format(sql_name(bound_axis.place))} AS n{index}"
        for index, bound_axis in enumerate(bound)
    ]
    texts = [
        f"{bound_axis.column.text.format(sql_name(bound_axis.place))} AS t{index}"
        for index, bound_axis in enumerate(bound)
    ]
    return f"SELECT {', '.join([*numbers, *texts, *extra])} FROM {rows}"


def _edges_slot_sql(grid: Grid, number: str, slot: str) -> str:
    """Return SQL for the cell index of a number on any grid, by binary search among the edges; NULL if the number is
    missing.

    Args:
        grid: Public cells.
        number: SQL of the number, a double.
        slot: SQL type of the index.

    Raises:
        ValueError: the grid has too many cells for a search in SQL.
    """
    most_cells = 2**12  # cells whose edges are written into a statement
    if grid.cells > most_cells:
        raise InvalidArgument(
            "grid", f"must have at most {most_cells} cells in a stream, unless all have the same width; take fewer"
        )
    edges = grid.edges.tolist()

    def search(first: int, last: int) -> str:
        """Return SQL that finds the cell of a number in a range of cells, by nested comparisons with edges.

        Args:
            first: First cell of the range.
            last: Last cell of the range.
        """
        if first == last:
            return f"{first}::{slot}"
        middle = (first + last + 1) // 2
        above = search(middle, last)
        below = search(first, middle - 1)
        return f"CASE WHEN {number} >= '{edges[middle]!r}'::DOUBLE THEN {above} ELSE {below} END"

    cell = search(0, grid.cells - 1)
    if grid.outside is Outside.APART:
        lower, upper = (f"'{float(edge)!r}'::DOUBLE" for edge in grid.closed_endpoints)
        outside = f"WHEN {number} < {lower} THEN 0::{slot} WHEN {number} > {upper} THEN {grid.cells + 1}::{slot}"
        cell = f"CASE {outside} ELSE {cell} + 1::{slot} END"
    return f"CASE WHEN NOT isnan({number}) THEN {cell} END"


def cell_sql(bound: Sequence[engines.BoundAxis]) -> str:
    """Return SQL for the number of the cell that a row lies in, the last axis fastest; NULL if the row is missing on
    any axis.

    The SQL reads rows of `read_rows_sql`.

    Args:
        bound: Axes of the query, each with its column of the schema.

    Raises:
        ValueError: a grid without a formula for its cells has too many of them.
    """
    slot = slot_type([bound_axis.axis.slots for bound_axis in bound])
    slots = [
        _edges_slot_sql(bound_axis.axis.grid, f"n{index}", slot)
        if formula is None and isinstance(bound_axis.axis, Axis)
        else formula or ""
        for index, (bound_axis, formula) in enumerate(zip(bound, _slots_sql(bound), strict=True))
    ]
    return f"({_cell_index_sql(bound, [f'({slot})' for slot in slots])})::BIGINT"


def read_rows_sql(rows: str, bound: Sequence[engines.BoundAxis], extra: str) -> str:
    """Return a SELECT statement of all rows, with the number and the text of each axis's column, and an extra
    expression.

    Args:
        rows: FROM clause of the rows.
        bound: The axes with the columns that they read.
        extra: SQL of a further column.
    """
    return _read_sql(rows, bound, extra)


def _cell_index_sql(bound: Sequence[engines.BoundAxis], slots: Sequence[str]) -> str:
    """Return SQL that combines a row's indices along the axes into the number of its cell, the last axis fastest.

    Args:
        bound: Axes of the query, each with its column of the schema.
        slots: SQL for the index along each axis.
    """
    sizes = [bound_axis.axis.slots for bound_axis in bound]
    integer_type = slot_type(sizes)
    cell = slots[0]
    for index, size in enumerate(sizes[1:], start=1):
        factor = size if prod(sizes[:index]) > 1 else 1  # the index is 0 so far, and `size` may not fit
        cell = f"({cell}) * {factor}::{integer_type} + {slots[index]}"
    return cell


def _read_numbers(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[engines.BoundAxis]
) -> Iterator[Sequence[FloatArray]]:
    """Yield rows in batches: numbers for columns on a grid, indices of categories for others; NaN: missing.

    Args:
        connection: DuckDB connection.
        rows: FROM clause.
        bound: Axes, bound to their columns.

    Yields:
        One array per axis, (rows,).
    """
    slots = [
        None if isinstance(bound_axis.axis, Axis) else slot
        for bound_axis, slot in zip(bound, _slots_sql(bound), strict=True)
    ]
    return _read_batches(connection, rows, bound, slots)


def _read_batches(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[engines.BoundAxis], slots: Sequence[str | None]
) -> Iterator[list[FloatArray]]:
    """Yield rows in batches, one array per axis: cell numbers (slots), or the numbers themselves where SQL cannot find
    the cell; NaN: missing.

    Args:
        connection: DuckDB connection.
        rows: FROM clause.
        bound: Axes, bound to their columns.
        slots: SQL of the index of the cell (slot) along each axis; None: the number itself is read.

    Yields:
        One array per axis, (rows,).
    """
    values = (f"({slot or f'n{number}'})::DOUBLE" for number, slot in enumerate(slots))
    slot_columns = ", ".join(f"coalesce({value}, 'nan'::DOUBLE) AS k{number}" for number, value in enumerate(values))
    relation = connection.sql(f"SELECT {slot_columns} FROM ({_read_sql(rows, bound)})")
    yield from read_doubles(relation)


USED_ROWS = "used"
"""Name of the temporary table of rows within the contribution bound; with a filter, followed by its number."""
ROWS_WITH_SUBSETS = "parted"
"""Name of the temporary table of rows with the number of the random subset of their unit; dropped after each query."""
ROWS_WITH_UNIT_SIZES = "sized"
"""Name of the temporary table of one row of each unit with the unit's number of rows; dropped after each query."""
SIZE_COLUMN = Column("size", ColumnKind.NUMBERS, "size", "NULL")
"""Column of the number of rows of a unit, as the query of sizes names it."""


class DuckEngine:
    """Counts the rows of a source, of which at most ``unit.records`` of each unit are used."""

    failure: str = READ_FAILURE
    moment: int | None = None

    def __init__(self, source: Source, unit: Unit, key: bytes) -> None:
        """Open a connection to DuckDB in which the rows of a source can be counted; no row is read.

        Args:
            source: Rows, with their schema.
            unit: Privacy unit and contribution bound.
            key: Secret key of the data set, which chooses the used rows of each unit.
        """
        self._source = source
        self._unit = unit
        self._key = key
        self._engine = DuckConnection()
        self._wanted: set[int] = set()
        self._kept: set[int] = set()
        self._derived = DerivedColumns(source)
        self._filter: RowFilter | None = None
        self._used = USED_ROWS

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the source's schema, in its order, with the SQL that reads them."""
        return self._source.columns

    def derive(self, text: str, is_numeric: bool, argument: str) -> tuple[Column, int]:
        """Return the derived column that an expression defines, and its position behind the source's columns.

        Args:
            text: The expression as text.
            is_numeric: Whether the expression must be a number.
            argument: Name of the argument in error messages.
        """
        return self._derived.add(text, is_numeric, argument)

    def filtered(self, where: str, keeps_failing_rows: bool) -> DuckEngine:
        """Return an engine of the same table and connection that counts only rows which pass a filter.

        Args:
            where: Condition of the rows.
            keeps_failing_rows: If True, other rows count as missing. If False, they are left out.
        """
        position = self._derived.add_condition(where)
        conjuncts = self._derived.add_conjuncts(where)
        engine = copy(self)  # shares the connection and the derived columns, not the used rows
        engine._filter = RowFilter(position, conjuncts, keeps_failing_rows)
        engine._wanted = set()
        engine._kept = set()
        engine._used = f"{USED_ROWS}_{position}"
        return engine

    def prepare(self, bound: Sequence[engines.BoundAxis]) -> None:
        """Check that the columns of a query can be read, and remember them, so that costly sources are read once.

        Args:
            bound: Axes of the query, bound to their columns.

        Raises:
            MissingPackage: only pyarrow reads a column, and it is not installed.
        """
        positions = [bound_axis.place for bound_axis in bound]
        require_readable(self._source, self._derived.find_inputs(positions))
        # Costly sources are read once: the stored columns are all that were checked.
        self._wanted.update(positions)
        if isinstance(self._source, HasLines):
            self._wanted.add(self._source.line_place)

    def counts(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        """SENSITIVE: return the exact number of used rows in each cell, followed by those missing on any axis.

        Args:
            bound: Axes of the query, bound to their columns.

        Returns:
            Counts, (cells + 1,), cells in row-major order of the axes.
        """
        positions = sorted({bound_axis.place for bound_axis in bound})
        count_sql = None
        if self._filter is not None and self._filter.keeps_failing_rows and self._unit == EACH_RECORD:
            count_sql = self._source.row_count_sql(self._derived.find_inputs([*positions, *self._filter_positions]))
        if count_sql is None:
            return self._count_rows(self._used_rows(bound), bound)
        # Rows that fail the filter are missing. They are those that do not pass, of the number of rows that the files
        # have: counting rows that pass takes half as long as giving each row a value or none.
        counts = self._count_rows(self._scan(positions, keeps_failing_rows=False), bound)
        (row,) = self._engine.connection.execute(count_sql).fetchall()
        counts[-1] += int(row[0]) - counts.sum()
        return counts

    def _count_rows(self, rows: str, bound: Sequence[engines.BoundAxis]) -> IntArray:
        """SENSITIVE: return the exact number of rows in each cell: counted in SQL if it can find all cells, else in
        NumPy.

        Args:
            rows: FROM clause of the rows.
            bound: Axes with their columns.
        """
        slots = _slots_sql(bound)
        if None not in slots:
            slot_columns = ", ".join(f"{slot} AS k{number}" for number, slot in enumerate(slots))
            cell = _cell_index_sql(bound, [f"k{number}" for number in range(len(bound))])
            slots_sql = f"SELECT {slot_columns} FROM ({_read_sql(rows, bound)})"
            grouped = f"SELECT {cell} AS place, count(*) AS n FROM ({slots_sql}) GROUP BY 1"
            missing = engines.table_size(bound)  # the place of rows that are missing on an axis: after all cells
            places, row_counts = (
                self._engine.connection.execute(f"SELECT coalesce(place::BIGINT, {missing}), n FROM ({grouped})")
                .fetchnumpy()
                .values()
            )
            table = np.zeros(missing + 1, dtype=np.int64)
            table[np.asarray(places)] = np.asarray(row_counts)  # empty cells are not in the result
            return table
        tally = engines.CellCounts(_slot_cells(bound, slots))
        for columns in _read_batches(self._engine.connection, rows, bound, slots):
            tally.add(columns)
        return tally.counts

    def missing_reasons(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        """SENSITIVE: return the exact number of used rows that are missing on any axis, by reason (`MissingReason`).

        Args:
            bound: Axes of the query, bound to their columns.

        Returns:
            Numbers of records, in the order of `MissingReason`.
        """
        line_position = self._source.line_place if isinstance(self._source, HasLines) else None
        rows = self._used_rows(bound) if line_position is None else self._used_rows(bound, line_position)
        fault = "NULL AS fault" if line_position is None else f"{sql_name(line_position)} AS fault"
        reason = missing_reason_sql(bound, len(self._source.columns))
        query = f"SELECT {reason} AS reason FROM ({_read_sql(rows, bound, fault)})"
        count_query = f"SELECT reason, count(*) FROM ({query}) WHERE reason IS NOT NULL GROUP BY reason"
        counts = np.zeros(len(MissingReason), dtype=np.int64)
        for index, records in self._engine.connection.execute(count_query).fetchall():
            counts[index] = records
        return counts

    def sums(self, bound: Sequence[engines.BoundAxis], half: int) -> list[int]:
        """SENSITIVE: return, for each cell, the exact sum of the values' offsets on the last axis, followed by 0.

        A value's offset is its distance from the middle of its cell, in steps (`Grid.offset_of`).

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle.

        Returns:
            The sums as integers of any size, the last axis fastest.
        """
        return self._sums(bound, engines.offset_amounts(half))

    def squares(self, bound: Sequence[engines.BoundAxis], half: int) -> list[int]:
        """SENSITIVE: return, for each cell, the exact sum of ``2 * offset**2 - half**2`` on the last axis, followed by
        0.

        A value's offset is its distance from the middle of its cell, in steps (`Grid.offset_of`).

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle.

        Returns:
            The sums as integers of any size, the last axis fastest.
        """
        return self._sums(bound, engines.squared_offset_amounts(half))

    def _sums(self, bound: Sequence[engines.BoundAxis], amounts: engines.Amounts) -> list[int]:
        """SENSITIVE: return the exact sum of each row's amount per cell, followed by 0.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            amounts: Function of the grid and the values that returns the amount of each row.

        Returns:
            The sums as integers of any size, the last axis fastest.
        """
        slots = [*_slots_sql(bound)[:-1], None]
        return self._tally(engines.CellSums(_slot_cells(bound, slots), amounts), bound, slots).totals

    def prefixes(self, bound: Sequence[engines.BoundAxis], lengths: Sequence[int]) -> list[int]:
        """SENSITIVE: return the exact number of used rows in prefixes (the first cells) of a table, for each length,
        then of missing rows.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            lengths: Lengths of the prefixes, in slots of the flattened table.

        Returns:
            The counts, in the order of `lengths`, and the number of missing rows.
        """
        slots = [*_slots_sql(bound[:-1]), None]
        tally = engines.PrefixCounts(
            [bound_axis.axis for bound_axis in bound], lengths, [slot is not None for slot in slots]
        )
        return self._tally(tally, bound, slots).totals

    def _tally(self, tally: Tally, bound: Sequence[engines.BoundAxis], slots: Sequence[str | None]) -> Tally:
        """SENSITIVE: add all batches of used rows to a tally (running counts or sums per cell), and return it.

        Args:
            tally: Counts or sums, which are changed.
            bound: Axes of the query, matched to columns of the data.
            slots: SQL of each axis's cell index; None: the tally finds the cell from numbers.
        """
        for columns in _read_batches(self._engine.connection, self._used_rows(bound), bound, slots):
            tally.add(columns)
        return tally

    def numbers(self, bound: Sequence[engines.BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        """SENSITIVE: yield the used rows in batches: numbers for columns on a grid, indices of categories for others;
        NaN: missing.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Yields:
            One array per axis, with an entry for each row of the batch.
        """
        return _read_numbers(self._engine.connection, self._used_rows(bound), bound)

    def in_subsets(self, bound: Sequence[engines.BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        """SENSITIVE: yield used rows in batches as `numbers` does, followed by the random subset of units that each row
        belongs to.

        Args:
            bound: Axes of the query, bound to their columns.
            subsets: Number of random subsets of the units.

        Yields:
            One array per axis, (rows,): numbers, or indices of categories; then the index of the unit's subset,
            (rows,).
        """
        engine = self._engine.connection
        source = self._source
        positions = sorted({bound_axis.place for bound_axis in bound})
        if self._unit == EACH_RECORD:
            unit = None
            unit_position = -1
            rows = self._scan(positions, whole=True)
        else:
            unit_position = find_column(self._unit.column, source.columns)
            unit = source.columns[unit_position]
            rows = self._used_rows(bound, unit_position)
        subset_query = subsets_sql(rows, self._unit, unit, unit_position, positions, subsets)
        engine.execute(
            f"CREATE OR REPLACE TEMP TABLE {ROWS_WITH_SUBSETS} AS {subset_query}", hmac_pads(subset_key(self._key))
        )
        yield from _read_numbers(engine, ROWS_WITH_SUBSETS, [*bound, engines.BoundAxis(SUBSET_AXIS, SUBSET_COLUMN, 0)])
        engine.execute(f"DROP TABLE {ROWS_WITH_SUBSETS}")

    def places(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        """SENSITIVE: return the number of the cell that each used row lies in; the number of cells for rows missing on
        any axis.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Returns:
            Array of shape ``(rows,)``, in the order of the rows.
        """
        slots = _slots_sql(bound)
        cells = _slot_cells(bound, slots)
        rows = self._used_rows(bound)
        batches = [cells.places(columns) for columns in _read_batches(self._engine.connection, rows, bound, slots)]
        return np.concatenate([np.empty(0, dtype=np.int64), *batches])

    def units(self) -> int:
        """SENSITIVE: return the exact number of units, which is the number of rows if each record is a unit."""
        engine = self._engine.connection
        source = self._source
        if self._unit == EACH_RECORD:
            position = next(
                (position for position in range(len(source.columns)) if position not in source.unreadable_columns), 0
            )
            query = f"SELECT count(*) FROM {source.scan(engine, [position])}"
        else:
            unit = find_column(self._unit.column, source.columns)
            query = unit_count_sql(source.scan(engine, [unit]), source.columns[unit], unit)
        (row,) = engine.execute(query).fetchall()
        return int(row[0])

    def unit_sizes(self) -> dict[int, int]:
        """SENSITIVE: return the exact number of units by their number of rows.

        Returns:
            Number of units by number of rows that pass the filter; with a filter, units without a passing row have 0
            rows.
        """
        unit = find_column(self._unit.column, self._source.columns)
        passes = self._filter.name if self._filter else ""
        rows = self._derived.scan(self._engine.connection, [unit, *self._filter_positions])
        query = unit_sizes_sql(rows, self._source.columns[unit], unit, passes)
        return {int(rows): int(units) for rows, units in self._engine.connection.execute(query).fetchall()}

    def sized_units(self, bound: engines.BoundAxis, doublings: int) -> IntArray:
        """SENSITIVE: return the exact number of units by number of rows, in doubling classes, and by the cell of one of
        their rows.

        The row is the unit's first in a secret ranking. The shape is (size classes, cells).

        Args:
            bound: Axis of the cells, bound to its column.
            doublings: Number of size classes (1, 2, 3 to 4, 5 to 8, ... rows) beyond the first.
        """
        engine = self._engine.connection
        source = self._source
        unit = find_column(self._unit.column, source.columns)
        rows, passes = self._scan_with_condition(sorted({bound.place, unit}))
        size = f"count(*) FILTER (WHERE {passes})" if passes else "count(*)"
        used = used_rows_sql(rows, source.columns[unit], unit, [bound.place], 1, ("size", size), passes=passes)
        engine.execute(f"CREATE OR REPLACE TEMP TABLE {ROWS_WITH_UNIT_SIZES} AS {used}", hmac_pads(self._key))
        edges = [0.0, *(2.0**power + 0.5 for power in range(doublings + 1)), 2.0 ** (doublings + 1)]
        counts = self._count_rows(
            ROWS_WITH_UNIT_SIZES, [engines.BoundAxis(Axis("size", Grid.from_edges(edges)), SIZE_COLUMN, 0), bound]
        )
        engine.execute(f"DROP TABLE {ROWS_WITH_UNIT_SIZES}")
        return counts

    def names(self, bound: engines.BoundAxis) -> dict[str, int]:
        """SENSITIVE: return the exact number of units that have each name in a column of categories.

        Args:
            bound: Column of categories.

        Returns:
            Units by name; missing values are omitted.
        """
        engine = self._engine.connection
        if self._unit == EACH_RECORD:
            query = names_sql(_read_sql(self._used_rows([bound]), [bound]), bound.column, each_record=True)
        else:
            unit_position = find_column(self._unit.column, self._source.columns)
            unit = f"{self._source.columns[unit_position].unit.format(sql_name(unit_position))} AS unit"
            rows = self._used_rows([bound], unit_position)
            query = names_sql(_read_sql(rows, [bound], unit), bound.column, each_record=False)
        declared = bound.column.value_type
        named_counts = [
            (value_name(value, declared) if declared in FLOATS else decode_shown_name(value), int(units))
            for value, units in engine.execute(query).fetchall()
        ]
        return {name: units for name, units in named_counts if name is not None}

    def close(self) -> None:
        """Close the connection and delete its temporary folder."""
        self._engine.close()

    def _used_rows(self, bound: Sequence[engines.BoundAxis], *extra_positions: int) -> str:
        """SENSITIVE: return a FROM clause of the used rows (those within the contribution bound), with the columns of
        the axes and further ones.

        Args:
            bound: Axes of the query, bound to their columns.
            extra_positions: Positions of further columns.
        """
        positions = {bound_axis.place for bound_axis in bound} | set(extra_positions)
        # Rows that pass a filter are stored, so that later rounds neither read its columns nor evaluate it again.
        is_stored = self._filter is not None and not self._filter.keeps_failing_rows
        if self._unit == EACH_RECORD and not self._source.is_costly and not is_stored:
            return self._scan(sorted(positions))
        if not positions <= self._kept:
            self._store_used_rows(sorted(self._kept | self._wanted | positions))
        return self._used

    def _store_used_rows(self, positions: Sequence[int]) -> None:
        """Store the used rows of each unit in a temporary table, so that they are chosen once; storing more columns
        keeps the same rows.

        Args:
            positions: Positions of the columns that are stored.
        """
        engine = self._engine.connection
        source = self._source
        create = f"CREATE OR REPLACE TEMP TABLE {self._used} AS"
        if self._unit == EACH_RECORD:
            engine.execute(f"{create} FROM {self._scan(positions)}")
        else:
            unit = find_column(self._unit.column, source.columns)
            rows, passes = self._scan_with_condition(sorted({*positions, unit}))
            used = used_rows_sql(rows, source.columns[unit], unit, positions, self._unit.records, passes=passes)
            engine.execute(f"{create} {used}", hmac_pads(self._key))
        self._kept = set(positions)

    @property
    def _filter_positions(self) -> tuple[int, ...]:
        """Positions of the columns that the filter adds: the one of its condition, or none without a filter.

        Returns:
            One position, or none.
        """
        return () if self._filter is None else (self._filter.position,)

    def _scan(self, positions: Sequence[int], *, whole: bool = False, keeps_failing_rows: bool | None = None) -> str:
        """Return a FROM clause of all rows, for units of one record; rows that fail the filter are omitted or have no
        values.

        Args:
            positions: Positions of the columns to read.
            whole: If True, a column `whole` encodes all columns of a row.
            keeps_failing_rows: Whether rows that fail the filter stay, without values; None: as the filter says.
        """
        row_filter = self._filter
        extra = ", whole" if whole else ""
        if row_filter is None:
            return self._derived.scan(self._engine.connection, positions, whole=whole)
        keeps = row_filter.keeps_failing_rows if keeps_failing_rows is None else keeps_failing_rows
        conditions = self._filter_positions if keeps else row_filter.conjuncts
        rows = self._derived.scan(self._engine.connection, [*positions, *conditions], whole=whole)
        if keeps:
            values = ", ".join(value_sql(position, row_filter.name) for position in positions)
            return f"(SELECT {values}{extra} FROM {rows})"
        names = ", ".join(map(sql_name, positions))
        return f"(SELECT {names}{extra} FROM {rows} WHERE {row_filter.passes})"

    def _scan_with_condition(self, positions: Sequence[int]) -> tuple[str, str]:
        """Return a FROM clause of whole rows for ranking them, and the name of the filter's truth column.

        The name is empty without a filter, or if rows that fail it are omitted.

        Args:
            positions: Positions of the columns to read.
        """
        row_filter = self._filter
        rows = self._derived.scan(self._engine.connection, [*positions, *self._filter_positions], whole=True)
        if row_filter is None or row_filter.keeps_failing_rows:
            return rows, "" if row_filter is None else row_filter.name
        return f"(SELECT * FROM {rows} WHERE {row_filter.name})", ""
