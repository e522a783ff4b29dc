"""SENSITIVE. DuckDB as an engine: from rows to exact integers, for files, frames and arrays on this machine."""

from __future__ import annotations

import hmac
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from math import prod
from typing import TypeVar

import duckdb
import numpy as np

from ...arguments import InvalidArgument
from ...arrays import FloatArray, IntArray
from ...data import Axis, Grid, MissingReason, Outside, SelectedCategories
from ...privacy import EACH_RECORD, Unit
from ...queries.query import LONGEST_NAME
from ..source import (
    FAILURE,
    FIELDS_FAULT,
    LONG_FAULT,
    QUOTE_FAULT,
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

# SENSITIVE. The DuckDB that counts: of its own, in memory, and silent.


# Row counts must not depend on what statistics a file claims of itself. And tables of up to 2^16 slots are counted in
# an array, which takes two bits more.
SETTINGS: dict[str, bool | int | str] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "disabled_optimizers": "statistics_propagation",
    "perfect_ht_threshold": 18,
    "preserve_insertion_order": False,
    "python_enable_replacements": False,
}


WATCHED: list[bool] = []
"""Not empty: somebody asks how far engines are that are opened from now on."""
OPEN: weakref.WeakSet[DuckConnection] = weakref.WeakSet()


def watch_progress() -> None:
    """Let engines that are opened from now on say how far their query is. It depends on times alone."""
    WATCHED[:] = [True]


def progress_fraction() -> float | None:
    """The share of the query under way that is done, from 0 to 1; None where nobody knows."""
    shares = [engine.connection.query_progress() / 100 for engine in list(OPEN) if engine.close.alive]
    known = [share for share in shares if share >= 0]
    return max(known) if known else None


class DuckConnection:
    """A DuckDB connection and a private folder for what does not fit in memory; both are removed at the end."""

    __slots__ = ("__weakref__", "close", "connection")

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="dpcurves-")
        # Given here, and not set afterwards: where extensions may be loaded, opening takes three times as long.
        self.connection = duckdb.connect(":memory:", config={"temp_directory": folder, **SETTINGS})
        self._hide_progress_bar()
        OPEN.add(self)
        self.close = weakref.finalize(self, _close_connection, self.connection, folder)

    def _hide_progress_bar(self) -> None:
        """Print no progress. A notebook without widgets shows none, and there DuckDB refuses to be told so."""
        if WATCHED:
            self.connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")
            return
        if self.connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
            self.connection.execute("SET enable_progress_bar = false")

    def __repr__(self) -> str:
        return "Engine(hidden)"


def _close_connection(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


# The SQL of DuckDB for the slot of a value: that of `Grid.cell_of`, bit for bit. Made of public things alone.


Key = TypeVar("Key", float, str)
Tally = TypeVar("Tally", engines.CellCounts, engines.CellSums, engines.PrefixCounts)


def double_literal(value: float) -> str:
    """SQL for exactly this double. (A plain decimal literal would be rounded twice.)

    >>> double_literal(-0.5)
    "('-0.5'::DOUBLE)"
    """
    return f"('{float(value)!r}'::DOUBLE)"


def slot_type(shape: Sequence[int]) -> str:
    """The narrowest SQL type for the slots of a table. DuckDB counts in an array what is a USMALLINT."""
    slots = prod(shape)
    return "USMALLINT" if slots <= 2**16 else "INTEGER" if slots < 2**31 else "BIGINT"


def grid_slot_sql(grid: Grid, value: str, slot: str) -> str | None:
    """SQL for the slot of the double `value`, of type `slot`; NULL where it is missing.

    No cast can fail: the values outside never reach one. None: there is no formula, so cells are found in NumPy.
    """
    formula = engines.find_formula(grid)
    if formula is None:
        return None
    apart = int(grid.outside is Outside.APART)
    last = grid.cells - 1
    lower, edge = double_literal(grid.lower), double_literal(grid.edge(np.array([last])).item())
    inner = _inner_slot_sql(grid, formula, value, slot)
    below, above = f"WHEN {value} < {lower} THEN 0::{slot} ", ""
    if apart:
        least, most = map(double_literal, grid.closed_endpoints)
        below = f"WHEN {value} < {least} THEN 0::{slot} WHEN {value} < {lower} THEN 1::{slot} "
        above = f"WHEN {value} <= {most} THEN {last + 1}::{slot} "
    return (
        f"CASE WHEN {value} >= {lower} AND {value} < {edge} THEN {inner}{f' + {apart}::{slot}' if apart else ''} "
        f"{below}{above}"
        # NaN is above infinity in DuckDB, and nothing compares with NULL: both are left over.
        f"WHEN {value} <= 'inf'::DOUBLE THEN {last + 2 * apart}::{slot} END"
    )


def _inner_slot_sql(grid: Grid, formula: engines.Formula, value: str, slot: str) -> str:
    guess = f"({value} - {double_literal(grid.lower)}) * {double_literal(formula.scale)}"
    if not formula.needs_correction:
        return f"TRY_CAST(floor({guess}) AS {slot})"
    guess = f"floor({guess} + {double_literal(formula.shift)})"
    width = double_literal(grid.upper - grid.lower)
    # Operation by operation what `Grid.edge` computes.
    parts = (
        f"* {width} / {double_literal(grid.cells)}"
        if grid.multiplies_first
        else f"/ {double_literal(grid.cells)} * {width}"
    )
    edge = f"{double_literal(grid.lower)} + {guess} {parts}"
    return f"TRY_CAST({guess} AS {slot}) - CAST({value} < {edge} AS {slot})"


def category_slot_sql(keys: Sequence[Sequence[str | float]], number: str, text: str, slot: str) -> str:
    """SQL for the category, by its `engines.category_keys`, of what has this number and this text; NULL: it is in none."""
    texts, numbers = engines.Keys.from_keys(keys)
    places = [
        *_lookup_sql(texts, text, _text_literal, slot),
        *_lookup_sql(numbers, number, double_literal, slot),
        f"NULL::{slot}",
    ]
    return f"coalesce({', '.join(places)})"


def _lookup_sql(keys: Sequence[tuple[Key, int]], value: str, literal: Callable[[Key], str], slot: str) -> list[str]:
    places = ", ".join(f"{place}::{slot}" for _, place in keys)
    literals = ", ".join(literal(key) for key, _ in keys)
    return [f"list_extract([{places}], list_position([{literals}], {value}))"] if keys else []


def _text_literal(text: str) -> str:
    """SQL for the text as columns show it: what is no plain character is written as its bytes."""
    return f"CAST(unhex('{text.encode('utf-8', 'backslashreplace').hex()}') AS VARCHAR)"


# SENSITIVE. Which records of a unit are used: drawn in secret, once, and from that unit's records alone.


BLOCK = 64


def used_rows_sql(
    rows: str, unit: Column, unit_place: int, places: Sequence[int], records: int, *more: tuple[str, str]
) -> str:
    """SQL for the columns at `places` of the rows that are used, with the parameters that `hmac_pads` gives.

    The rows of a unit are ranked by HMAC-SHA256, under the secret key of the data set, of all that stands in a row,
    and the first `records` of them are used. Rows without a unit are one unit together.

    Formal guarantees: which rows of a unit are used is a function of the key and of that unit's rows. So when one unit
    comes, goes or changes, at most `records` used rows go and at most `records` come, all of this unit. Neither the
    order of rows nor other units matter. (Of equal rows, any one may be used.)

    `more` are names of numbers of all rows of a unit, which stand beside each row, and their SQL.
    """
    kept = "".join(f"{sql_name(place)}, " for place in places)
    rank = "sha256($outer::BLOB || unhex(sha256($inner::BLOB || whole)))"
    named = f"SELECT {kept}{unit.unit.format(sql_name(unit_place))} AS unit, {rank} AS rank FROM {rows}"
    beside = "".join(f"{each} OVER (PARTITION BY unit) AS {name}, " for name, each in more)
    ranked = f"SELECT {kept}{beside}row_number() OVER (PARTITION BY unit ORDER BY rank) AS place FROM ({named})"
    shown = kept + "".join(f"{name}, " for name, _ in more)
    return f"SELECT {shown.removesuffix(', ')} FROM ({ranked}) WHERE place <= {records}"


def hmac_pads(key: bytes) -> dict[str, bytes]:
    """The inner and the outer pad of HMAC (Bellare, Canetti and Krawczyk 1996; RFC 2104)."""
    key = (sha256(key).digest() if len(key) > BLOCK else key).ljust(BLOCK, b"\0")
    return {"inner": bytes(byte ^ 0x36 for byte in key), "outer": bytes(byte ^ 0x5C for byte in key)}


def unit_count_sql(rows: str, unit: Column, unit_place: int) -> str:
    """SQL for the number of protected units (people, say): distinct names, and one more if any row has none."""
    named = f"SELECT {unit.unit.format(sql_name(unit_place))} AS unit FROM {rows}"
    return f"SELECT count(DISTINCT unit) + CAST(count(*) > count(unit) AS BIGINT) FROM ({named})"


def unit_sizes_sql(rows: str, unit: Column, unit_place: int) -> str:
    """SQL for how many units have so many rows: the number of rows, and that of units. Rows without a unit are one."""
    named = f"SELECT {unit.unit.format(sql_name(unit_place))} AS unit FROM {rows}"
    return f"SELECT n, count(*) FROM (SELECT count(*) AS n FROM ({named}) GROUP BY unit) GROUP BY n"


# SENSITIVE. Used rows, each with the subset that its unit was put into in secret.


PURPOSE = b"subsets of units"
SUBSET = Axis("subset", Grid(0, 1, cells=1))
SUBSET_COLUMN = Column("subset", ColumnKind.NUMBERS, "subset", "NULL")
"""SQL that reads the number of the subset."""


def subset_key(key: bytes) -> bytes:
    """The secret key of subsets, which tells nothing of that of used rows."""
    return sha256(PURPOSE + key).digest()


def subsets_sql(  # noqa: PLR0917
    rows: str, unit: Unit, column: Column | None, unit_place: int, kept: Sequence[int], subsets: int
) -> str:
    """SQL for the columns at `kept` and `subset`, with the parameters that `hmac_pads` gives of `subset_key`.

    Formal guarantees: the subset of a row is a function of the key and of its unit. Where each record is one, it is
    named by the row itself and by a number among those that are the same: 1, 2, ..., in no order, for they are the
    same. One row more has the next number, and moves no other; and rows that are the same lie in all subsets. Else it
    is the unit's name. Texts of equal names may differ, as of 0.0 and -0.0, so the least one among the unit's own rows
    is taken; rows without a unit are one unit.

    Args:
        rows: The used rows: with `whole`, where each record is a unit, and otherwise with the unit's column.
        unit: Whose records they are.
        column: The unit's column.
        unit_place: Where it stands.
        kept: Places of the columns that are needed.
        subsets: How many subsets there are.
    """
    columns = "".join(f"{sql_name(place)}, " for place in kept)
    if unit == EACH_RECORD or column is None:
        copy = "encode(CAST(row_number() OVER (PARTITION BY whole) AS VARCHAR))"
        own = f"SELECT {columns}whole || {copy} AS name FROM {rows}"
        return f"SELECT {columns}{_subset_sql('name', subsets)} AS subset FROM ({own})"
    own = f"SELECT {columns}{column.unit.format(sql_name(unit_place))} AS unit FROM {rows}"
    text = "min(coalesce(CAST(unit AS VARCHAR), '')) OVER (PARTITION BY unit)"
    named = f"SELECT {columns}encode({text}) AS name FROM ({own})"
    return f"SELECT {columns}{_subset_sql('name', subsets)} AS subset FROM ({named})"


def _subset_sql(name: str, subsets: int) -> str:
    """SQL for HMAC-SHA256, of which sixty bits say the subset."""
    digest = f"sha256($outer::BLOB || unhex(sha256($inner::BLOB || {name})))"
    return f"CAST(CAST('0x' || substr({digest}, 1, 15) AS UBIGINT) % {subsets} AS DOUBLE)"


DIGITS = 15
"""Hexadecimal digits of a digest that say the subset: sixty bits, of which no rounding is seen."""


def assign_subsets(names: Iterable[bytes], key: bytes, subsets: int) -> FloatArray:
    """The subset of each unit, by the HMAC-SHA256 of its name.

    Formal guarantees: it is a function of the key and of that name alone.
    """
    own = subset_key(key)
    digests = (hmac.digest(own, name, "sha256").hex()[:DIGITS] for name in names)
    return np.array([int(digest, 16) % subsets for digest in digests], dtype=np.float64)


# SENSITIVE. From rows to exact integers: in SQL where a formula finds the cells, else batch by batch in NumPy.


def _slot_cells(bound: Sequence[engines.BoundAxis], slots: Sequence[str | None]) -> engines.SlotCells:
    return engines.SlotCells([each.axis for each in bound], [slot is not None for slot in slots])


def _slots_sql(bound: Sequence[engines.BoundAxis]) -> list[str | None]:
    """SQL for the slot on each axis, from its number and text; None where only NumPy finds it."""
    slot = slot_type([each.axis.slots for each in bound])
    return [
        grid_slot_sql(axis.grid, f"n{number}", slot)
        if isinstance(axis := each.axis, Axis)
        else _category_slot_sql(each, number, slot)
        for number, each in enumerate(bound)
    ]


def _category_slot_sql(bound: engines.BoundAxis, number: int, slot: str) -> str:
    """SQL for the slot of a value among categories; of found ones the last is for all that has another value."""
    keys = engines.category_keys(bound)
    known = category_slot_sql(keys, f"n{number}", f"t{number}", slot)
    if not isinstance(bound.axis, SelectedCategories):
        return known
    return f"coalesce({known}, CASE WHEN {_has_value(bound.column.kind, number)} THEN {len(keys) - 1}::{slot} END)"


def missing_reason_sql(bound: Sequence[engines.BoundAxis]) -> str:
    """SQL for the number of the reason why a row is missing on any axis; NULL if it is on none.

    Formal guarantees: a row has a reason if, and only if, it is counted as missing, and then one: that of its line,
    else that of the first axis it is missing on.
    """
    slots = _slots_sql(bound)
    lacks = [
        f"coalesce(isnan(n{number}), true)" if isinstance(axis, Axis) else f"({slots[number]}) IS NULL"
        for number, (axis, *_) in enumerate(bound)
    ]
    faults = {
        QUOTE_FAULT: MissingReason.QUOTES, FIELDS_FAULT: MissingReason.FIELDS, LONG_FAULT: MissingReason.LONG_LINE
    }  # fmt: skip
    cases = [f"WHEN NOT ({' OR '.join(lacks)}) THEN NULL"]
    cases += [f"WHEN fault = '{chr(letter)}'::BLOB THEN {reason.value}" for letter, reason in faults.items()]
    for number, (axis, *_) in enumerate(bound):
        other = MissingReason.NO_NUMBER if isinstance(axis, Axis) else MissingReason.OTHER_LABEL
        cases.append(f"WHEN {lacks[number]} AND t{number} IS NULL THEN {MissingReason.EMPTY.value}")
        cases.append(f"WHEN {lacks[number]} THEN {other.value}")
    return f"CASE {' '.join(cases)} END"


def _has_value(kind: ColumnKind, number: int) -> str:
    """SQL that tells whether a value is not missing, where text of any kind is a value."""
    return f"NOT coalesce(isnan(n{number}), true)" if kind is ColumnKind.NUMBERS else f"t{number} IS NOT NULL"


def names_sql(read: str, column: Column, *, each_record: bool) -> str:
    """SQL for each value of the first axis, and how many units have it: its number if `value_names` names it by that,
    else its text as columns show it, if it is not too long.
    """
    units = "count(*)" if each_record else "count(DISTINCT unit) + CAST(count(*) > count(unit) AS BIGINT)"
    value, most = "n0 + 0" if column.value_type in FLOATS else "t0", LONGEST_SHOWN * LONGEST_NAME
    return (
        f"SELECT {value} AS value, {units} FROM ({read}) WHERE {_has_value(column.kind, 0)} AND strlen(t0) <= {most} "
        "GROUP BY value"
    )


LONGEST_SHOWN = len(r"\xFF")
"""Characters of a byte that is no plain character, where text is shown."""


def decode_shown_name(shown: str) -> str | None:
    """The name that a column shows as this text, of which all but plain characters are codes of bytes; None: it is no
    Unicode, or has more than `LONGEST_NAME` bytes.

    >>> decode_shown_name(r"n\xc3\xa9"), decode_shown_name(r"\xff")
    ('né', None)
    """
    codes = r"\\x([0-9A-F]{2})"
    name = re.sub(codes, lambda code: chr(int(code[1], 16)), shown).encode("latin-1")
    return decode_name(name)


def decode_name(name: bytes) -> str | None:
    """The name that bytes are in UTF-8; None: they are none, or more than `LONGEST_NAME`."""
    if len(name) > LONGEST_NAME:
        return None
    with suppress(UnicodeDecodeError):
        return name.decode()
    return None


def _read_sql(rows: str, bound: Sequence[engines.BoundAxis], *more: str) -> str:
    """SQL for the number and the text of each axis, and for what else is named."""
    numbers = [f"{each.column.number.format(sql_name(each.place))} AS n{i}" for i, each in enumerate(bound)]
    texts = [f"{each.column.text.format(sql_name(each.place))} AS t{i}" for i, each in enumerate(bound)]
    return f"SELECT {', '.join([*numbers, *texts, *more])} FROM {rows}"


def cell_sql(bound: Sequence[engines.BoundAxis]) -> str:
    """SQL for the cell of a row of `read_rows_sql`, the last axis fastest; NULL where it is missing on any axis.

    Raises:
        ValueError: a grid is one whose cells no formula finds.
    """
    slots = [slot for slot in _slots_sql(bound) if slot]
    if len(slots) < len(bound):
        raise InvalidArgument("axes", "tuples of a stream are counted on linear grids and in categories")
    return f"({_cell_index_sql(bound, [f'({slot})' for slot in slots])})::BIGINT"


def read_rows_sql(rows: str, bound: Sequence[engines.BoundAxis], extra: str) -> str:
    """SQL for the rows with the number and the text of each axis, and something else."""
    return _read_sql(rows, bound, extra)


def _cell_index_sql(bound: Sequence[engines.BoundAxis], slots: Sequence[str]) -> str:
    sizes = [each.axis.slots for each in bound]
    kind, place = slot_type(sizes), slots[0]
    for number, size in enumerate(sizes[1:], start=1):
        factor = size if prod(sizes[:number]) > 1 else 1  # times nothing; so many as all cells might not fit the type
        place = f"({place}) * {factor}::{kind} + {slots[number]}"
    return place


def _count_in_sql(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[engines.BoundAxis], slots: Sequence[str]
) -> IntArray:
    each = ", ".join(f"{slot} AS k{number}" for number, slot in enumerate(slots))
    place = _cell_index_sql(bound, [f"k{number}" for number in range(len(bound))])
    grouped = f"SELECT {place} AS place, count(*) AS n FROM (SELECT {each} FROM ({_read_sql(rows, bound)})) GROUP BY 1"
    found = connection.execute(
        f"SELECT coalesce(place::BIGINT, {engines.table_size(bound)}), n FROM ({grouped})"
    ).fetchnumpy()
    places, numbers = found.values()
    table = np.zeros(engines.table_size(bound) + 1, dtype=np.int64)
    table[np.asarray(places)] = np.asarray(numbers)  # cells without a row are not in the answer
    return table


def _read_numbers(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[engines.BoundAxis]
) -> Iterator[Sequence[FloatArray]]:
    """Batches of rows: the numbers themselves of columns on a grid, the slots of categories; NaN: missing."""
    slots = [None if isinstance(each.axis, Axis) else slot for each, slot in zip(bound, _slots_sql(bound), strict=True)]
    return _read_batches(connection, rows, bound, slots)


def _read_batches(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[engines.BoundAxis], slots: Sequence[str | None]
) -> Iterator[list[FloatArray]]:
    """Read each axis of each batch of rows: the slots, or the numbers where there is no SQL; NaN: missing."""
    values = (f"({slot or f'n{number}'})::DOUBLE" for number, slot in enumerate(slots))
    each = ", ".join(f"coalesce({value}, 'nan'::DOUBLE) AS k{number}" for number, value in enumerate(values))
    found = connection.sql(f"SELECT {each} FROM ({_read_sql(rows, bound)})")
    yield from read_doubles(found)


USED, PARTED, SIZED = "used", "parted", "sized"
SIZE_COLUMN = Column("size", ColumnKind.NUMBERS, "size", "NULL")
"""SQL that reads the number of rows of a unit."""


class DuckEngine:
    """The rows of a source, of which at most ``unit.records`` of each unit are counted."""

    failure: str = FAILURE
    moment: int | None = None

    def __init__(self, source: Source, unit: Unit, key: bytes) -> None:
        self._source, self._unit, self._key = source, unit, key
        self._engine = DuckConnection()
        self._wanted: set[int] = set()
        self._kept: set[int] = set()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._source.columns

    def prepare(self, bound: Sequence[engines.BoundAxis]) -> None:
        require_readable(self._source, (each.place for each in bound))
        # What is kept of costly sources is kept for all that was checked, so that one reading does for all.
        self._wanted |= {each.place for each in bound}
        if isinstance(self._source, HasLines):
            self._wanted.add(self._source.line_place)

    def counts(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        return self._count_rows(self._used_rows(bound), bound)

    def _count_rows(self, rows: str, bound: Sequence[engines.BoundAxis]) -> IntArray:
        slots = _slots_sql(bound)
        if None not in slots:
            return _count_in_sql(self._engine.connection, rows, bound, [slot for slot in slots if slot])
        tally = engines.CellCounts(_slot_cells(bound, slots))
        for columns in _read_batches(self._engine.connection, rows, bound, slots):
            tally.add(columns)
        return tally.found

    def missing_reasons(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        place = self._source.line_place if isinstance(self._source, HasLines) else None
        rows = self._used_rows(bound) if place is None else self._used_rows(bound, place)
        fault = "NULL AS fault" if place is None else f"{sql_name(place)} AS fault"
        query = f"SELECT {missing_reason_sql(bound)} AS reason FROM ({_read_sql(rows, bound, fault)})"
        counted = f"SELECT reason, count(*) FROM ({query}) WHERE reason IS NOT NULL GROUP BY reason"
        found = np.zeros(len(MissingReason), dtype=np.int64)
        for reason, records in self._engine.connection.execute(counted).fetchall():
            found[reason] = records
        return found

    def sums(self, bound: Sequence[engines.BoundAxis], half: int) -> list[int]:
        return self._sums(bound, engines.offset_amounts(half))

    def squares(self, bound: Sequence[engines.BoundAxis], half: int) -> list[int]:
        return self._sums(bound, engines.squared_offset_amounts(half))

    def _sums(self, bound: Sequence[engines.BoundAxis], amounts: engines.Amounts) -> list[int]:
        slots = [*_slots_sql(bound)[:-1], None]
        return self._tally(engines.CellSums(_slot_cells(bound, slots), amounts), bound, slots).totals

    def prefixes(self, bound: Sequence[engines.BoundAxis], at: Sequence[int]) -> list[int]:
        slots = [*_slots_sql(bound[:-1]), None]
        tally = engines.PrefixCounts([each.axis for each in bound], at, [slot is not None for slot in slots])
        return self._tally(tally, bound, slots).totals

    def _tally(self, tally: Tally, bound: Sequence[engines.BoundAxis], slots: Sequence[str | None]) -> Tally:
        for columns in _read_batches(self._engine.connection, self._used_rows(bound), bound, slots):
            tally.add(columns)
        return tally

    def numbers(self, bound: Sequence[engines.BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        return _read_numbers(self._engine.connection, self._used_rows(bound), bound)

    def in_subsets(self, bound: Sequence[engines.BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        engine, source = self._engine.connection, self._source
        kept = sorted({each.place for each in bound})
        if self._unit == EACH_RECORD:
            unit, place, rows = None, -1, source.scan_whole(engine, kept)
        else:
            place = find_column(self._unit.column, source.columns)
            unit, rows = source.columns[place], self._used_rows(bound, place)
        parted = subsets_sql(rows, self._unit, unit, place, kept, subsets)
        engine.execute(f"CREATE OR REPLACE TEMP TABLE {PARTED} AS {parted}", hmac_pads(subset_key(self._key)))
        yield from _read_numbers(engine, PARTED, [*bound, engines.BoundAxis(SUBSET, SUBSET_COLUMN, 0)])
        engine.execute(f"DROP TABLE {PARTED}")

    def places(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        slots = _slots_sql(bound)
        cells, rows = _slot_cells(bound, slots), self._used_rows(bound)
        found = [cells.places(columns) for columns in _read_batches(self._engine.connection, rows, bound, slots)]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def units(self) -> int:
        engine, source = self._engine.connection, self._source
        if self._unit == EACH_RECORD:
            place = next((place for place in range(len(source.columns)) if place not in source.unreadable_columns), 0)
            query = f"SELECT count(*) FROM {source.scan(engine, [place])}"
        else:
            unit = find_column(self._unit.column, source.columns)
            query = unit_count_sql(source.scan(engine, [unit]), source.columns[unit], unit)
        (found,) = engine.execute(query).fetchall()
        return int(found[0])

    def unit_sizes(self) -> dict[int, int]:
        unit = find_column(self._unit.column, self._source.columns)
        rows = self._source.scan(self._engine.connection, [unit])
        query = unit_sizes_sql(rows, self._source.columns[unit], unit)
        return {int(rows): int(units) for rows, units in self._engine.connection.execute(query).fetchall()}

    def sized_units(self, bound: engines.BoundAxis, doublings: int) -> IntArray:
        engine, source = self._engine.connection, self._source
        unit = find_column(self._unit.column, source.columns)
        rows = source.scan_whole(engine, sorted({bound.place, unit}))
        used = used_rows_sql(rows, source.columns[unit], unit, [bound.place], 1, ("size", "count(*)"))
        engine.execute(f"CREATE OR REPLACE TEMP TABLE {SIZED} AS {used}", hmac_pads(self._key))
        ends = [0.0, *(2.0**power + 0.5 for power in range(doublings + 1)), 2.0 ** (doublings + 1)]
        found = self._count_rows(SIZED, [engines.BoundAxis(Axis("size", Grid.from_edges(ends)), SIZE_COLUMN, 0), bound])
        engine.execute(f"DROP TABLE {SIZED}")
        return found

    def names(self, bound: engines.BoundAxis) -> dict[str, int]:
        engine = self._engine.connection
        if self._unit == EACH_RECORD:
            query = names_sql(_read_sql(self._used_rows([bound]), [bound]), bound.column, each_record=True)
        else:
            place = find_column(self._unit.column, self._source.columns)
            unit = f"{self._source.columns[place].unit.format(sql_name(place))} AS unit"
            rows = self._used_rows([bound], place)
            query = names_sql(_read_sql(rows, [bound], unit), bound.column, each_record=False)
        declared = bound.column.value_type
        listed = [
            (value_name(value, declared) if declared in FLOATS else decode_shown_name(value), int(units))
            for value, units in engine.execute(query).fetchall()
        ]
        return {name: units for name, units in listed if name is not None}

    def close(self) -> None:
        self._engine.close()

    def _used_rows(self, bound: Sequence[engines.BoundAxis], *more: int) -> str:
        """A FROM clause of the used rows."""
        places = {each.place for each in bound} | set(more)
        if self._unit == EACH_RECORD and not self._source.is_costly:
            return self._source.scan(self._engine.connection, sorted(places))
        if not places <= self._kept:
            self._store_used_rows(sorted(self._kept | self._wanted | places))
        return USED

    def _store_used_rows(self, places: Sequence[int]) -> None:
        """Keep the used rows. Drawn again for other columns, they are the same rows."""
        engine, source = self._engine.connection, self._source
        create = f"CREATE OR REPLACE TEMP TABLE {USED} AS"
        if self._unit == EACH_RECORD:
            engine.execute(f"{create} FROM {source.scan(engine, places)}")
        else:
            unit = find_column(self._unit.column, source.columns)
            rows = source.scan_whole(engine, sorted({*places, unit}))
            used = used_rows_sql(rows, source.columns[unit], unit, places, self._unit.records)
            engine.execute(f"{create} {used}", hmac_pads(self._key))
        self._kept = set(places)
