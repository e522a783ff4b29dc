"""SENSITIVE. A table or view of PostgreSQL, counted there: only exact integers of a plan's table leave it."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from arro3.core import Array, DataType

from dpcurves.arguments import InvalidArgument, require_type
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries.query import LONGEST_NAME
from dpcurves.records.engines.duckdb import DuckEngine, assign_subsets, decode_name
from dpcurves.records.engines.engine import BoundAxis, CountingEngine, EngineTable, require_grid, table_size
from dpcurves.records.source import (
    LONGEST_TEXT,
    ArrowSource,
    Column,
    ColumnKind,
    column_from_arrow_type,
    decimal_column,
    find_column,
)
from dpcurves.records.value_names import value_name

from . import postgres_sql as sql
from .conformance import DECIMALS, ConformanceReport, require_conformance, run_checks
from .postgres_link import FAILED, SnapshotConnection, require_no_parameter_log, require_unlimited_sorts
from .postgres_sql import BOOLEAN, FLOATING, NUMERIC, WHOLE, Statement, Table, TypedColumn, require_unit
from .slots import Pieces, tabulate_units

# A table or view of PostgreSQL, named: how it is opened, and rows that are read over the connection. SENSITIVE.


# SENSITIVE. Rows of PostgreSQL that are read over the connection, then ranked and counted by DuckDB here.
ROWS_AT_ONCE = 2**14
BYTES = DataType.large_binary()


class StreamedEngine(DuckEngine):
    """Reads what it needs once, in the snapshot, and keeps it in a folder that nobody else may read."""

    failure: str = FAILED

    def __init__(self, link: SnapshotConnection, table: Table, unit: Unit, key: bytes) -> None:
        require_unit(table.columns[find_column(unit.column, table.columns, "unit")])
        super().__init__(_build_source(link, table), unit, key)
        self._link, self._table, self._data_key = link, table, key
        self.moment = hash_snapshot(link, table)
        self._state = TableState(link, table, key)

    def state(self) -> int | None:
        """A number of the state of the table."""
        return self._state.hash_state()

    def using(self, unit: Unit) -> StreamedEngine:
        other = StreamedEngine(self._link, self._table, unit, self._data_key)
        other._state = self._state
        return other

    def close(self) -> None:
        super().close()
        self._link.close()


def _build_source(link: SnapshotConnection, table: Table) -> ArrowSource:
    """Rows as they travel: numbers as numbers, all else as text."""
    read_as = [
        _StreamedColumn.from_column(*each) for each in zip(table.columns, table.quoted_names, table.types, strict=True)
    ]

    def read_columns(places: Sequence[int]) -> Iterator[list[Array]]:
        named = ", ".join(read_as[place].value for place in places)
        for rows in link.fetch_batches(f"SELECT {named} FROM {table.name}", ROWS_AT_ONCE):
            columns = zip(zip(*rows, strict=True), places, strict=True)
            yield [Array(each, read_as[place].transfer_type) for each, place in columns]

    return ArrowSource(
        tuple(each.column for each in read_as),
        tuple(each.transfer_type for each in read_as),
        read_columns,
        is_costly=True,
    )


class _StreamedColumn(NamedTuple):
    """A column here, the type in which it travels, and the SQL of its value."""

    column: Column
    transfer_type: DataType
    value: str

    @classmethod
    def from_column(cls, column: Column, name: str, oid: int) -> _StreamedColumn:
        # A number that is a unit must not be rounded, nor be written in two ways.
        if oid == NUMERIC:
            return cls(
                decimal_column(column.name, column.declared_type),
                BYTES,
                _bytes_sql(column.text.format(name), f"{name} <> 'NaN'"),
            )
        if column.kind is ColumnKind.NUMBERS:
            held = DataType.bool() if oid == BOOLEAN else DataType.int64() if oid in WHOLE else DataType.float64()
            read = replace(
                column_from_arrow_type(column.name, held),
                declared_value_type=column.declared_value_type,
                declared_type=column.declared_type,
            )
            return cls(read, held, name)
        if column.kind is ColumnKind.OTHER:
            return cls(Column(column.name, ColumnKind.OTHER, "NULL::DOUBLE"), BYTES, "NULL::bytea")
        text = column.text.format(name)
        read = Column(column.name, column.kind, "NULL::DOUBLE")
        return cls(read, BYTES, _bytes_sql(text, f"octet_length({text}) <= {LONGEST_TEXT}"))


def _bytes_sql(text: str, condition: str) -> str:
    return f"CASE WHEN {condition} THEN convert_to({text}, 'UTF8') END"


# A table or view of PostgreSQL, named: where it lies, and what is looked at before a row is.
THERE, HERE = "there", "here"


def postgres(url: str, *, table: str, ranking: str = THERE) -> PostgresTable:
    """A table or view of PostgreSQL, counted there; give it to a `Session` in the place of a file.

    Args:
        url: ``postgresql://reader@host/database``; what it leaves out, libpq finds where it always does (PGPASSWORD,
            ``~/.pgpass``, a service). TLS is demanded off loopback.
        table: Its name, as in ``schema.table``. A query is taken as a view: its owner answers for it that no row makes
            it fail.
        ranking: Where the rows of a unit are ranked that has more than are used: ``there``, under a secret key that
            travels as a parameter, or ``here``, where all rows are read over the connection.

    Returns:
        The table, which opens no connection before a session uses it.

    Raises:
        TypeError, ValueError: the URL or the name is no text, or `ranking` is another word.

    >>> postgres("postgresql://reader:password@localhost/db", table="clinic.visits")
    postgres(table='clinic.visits')
    """
    require_type("table", table, str, "the name of a table or view, as clinic.visits,")
    require_type("data", url, str, "a URL, as postgresql://reader@host/database,")
    if ranking not in (THERE, HERE):
        raise InvalidArgument("ranking", f"{THERE} or {HERE} is needed")
    return PostgresTable(url, table, ranking)


@dataclass(frozen=True, slots=True, repr=False)
class PostgresTable(EngineTable):
    """The location of a PostgreSQL table. The URL, which may hold a password, is never shown."""

    url: str = field(repr=False)
    table: str
    ranking: str

    def __repr__(self) -> str:
        return f"postgres(table={self.table!r}{', ranking=' + repr(HERE) if self.ranking == HERE else ''})"

    @property
    def engine(self) -> str:
        return "PostgreSQL" if self.ranking == THERE else "PostgreSQL, ranked here"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        link = SnapshotConnection(self.url)
        try:
            table = sql.find_table(link, self.table)
            if unit != EACH_RECORD and self.ranking == HERE:
                return StreamedEngine(link, table, unit, key)
            return PostgresEngine(link, table, unit, key)
        except BaseException:
            link.close()
            raise


MOST_COMPARED = 8
"""Columns that are sorted by themselves. Of more the sorted rows would be wide, so a digest stands for them."""
MOST_OF_ROW = 2**28
"""Bytes of all texts of a row together: PostgreSQL makes no value of a gibibyte."""
_SEED_BYTES = 8


def used_rows_sql(
    table: Table, places: Sequence[int], unit: Unit, key: bytes, statement: Statement, *, with_size: bool = False
) -> str:
    """SQL for the columns at `places`, under the names of their places, of the rows that are used.

    The rows of a unit are put into the order of `order_sql`, and the first `unit.records` of them are used. Rows
    without a unit are one unit together.

    Formal guarantees: rows that tie in that order are counted alike, whatever is asked of them. So what is counted of
    a unit is a function of the key and of that unit's rows: neither the order in which rows lie nor other units matter,
    and when one unit comes, goes or changes, at most `unit.records` used rows go and at most so many come, all of
    this unit. This holds whatever the hashes do; good ones, with a secret key, make the choice a fair one.

    Args:
        table: Whose rows.
        places: Columns that are needed.
        unit: Whose rows they are, and how many of each are used.
        key: A secret key for this engine.
        statement: Takes the key as parameters, so that it stands in no text.
        with_size: Choice of a further column `size`, of all rows of the unit.
    """
    countable = _find_countable(table)
    read = ", ".join(f"{table.quoted_names[i]} AS c{i}" for i in sorted({*countable, *places}))
    order, kept = ", ".join(order_sql(table, countable, key, statement)), ", ".join(f"c{place}" for place in places)
    at = find_column(unit.column, table.columns)
    name = table.columns[at].unit.format(table.quoted_names[at])
    named = f"(SELECT {read}, {name} AS unit FROM {table.name}) AS named"
    if with_size:
        named = f"(SELECT *, count(*) OVER (PARTITION BY unit) AS size FROM {named}) AS named"
        kept += ", size"
    if unit.records == 1:  # sorted alike, and twice as fast as a window
        return f"SELECT {kept} FROM (SELECT DISTINCT ON (unit) * FROM {named} ORDER BY unit, {order}) AS ranked"
    turn = f"row_number() OVER (PARTITION BY unit ORDER BY {order}) AS turn"
    return f"SELECT {kept} FROM (SELECT {kept}, {turn} FROM {named}) AS ranked WHERE turn <= {unit.records}"


def named_units_sql(table: Table, places: Sequence[int], unit: Unit, used: str) -> str:
    """SQL for used rows, columns by their places, and behind them bytes that name the unit of each.

    Texts of equal names may differ, as of 0.0 and -0.0, so the least one among the unit's own rows is taken; rows
    without a unit are one unit. Where each record is one, it is named by a digest of all that is counted of it, and by
    its number among those that are the same, in no order, for they are the same.

    Args:
        table: Whose rows.
        places: Columns that are needed.
        unit: Whose records they are.
        used: A FROM clause of the used rows with the unit's column; it is not read where each record is a unit.
    """
    kept = ", ".join(f"c{place}" for place in places)
    if unit != EACH_RECORD:
        at = find_column(unit.column, table.columns)
        own = f"(SELECT *, {table.columns[at].unit.format(f'c{at}')} AS unit FROM {used}) AS owned"
        text = "min(coalesce(unit::text, '') COLLATE \"C\") OVER (PARTITION BY unit)"
        return f"(SELECT {kept}, convert_to({text}, 'UTF8') AS name FROM {own}) AS named"
    countable = _find_countable(table)
    parts = ", ".join(part for place in countable for part in _comparable_values_sql(table, place, len(countable)))
    digest = f"sha256(record_send(ROW({parts}))) AS digest"
    whole = f"(SELECT {kept}, {digest} FROM {table.scan_sql(sorted({*countable, *places}))}) AS digested"
    copy = "int8send(row_number() OVER (PARTITION BY digest))"
    return f"(SELECT {kept}, digest || {copy} AS name FROM {whole}) AS named"


def _find_countable(table: Table) -> list[int]:
    return [i for i, column in enumerate(table.columns) if column.kind in {ColumnKind.NUMBERS, ColumnKind.TEXT}]


def order_sql(table: Table, countable: Sequence[int], key: bytes, statement: Statement) -> list[str]:
    """SQL of what rows, columns by their places, are sorted by: two rows tie only where all that is counted is equal.

    By a seeded hash of all columns, and where hashes are equal by the columns themselves; or by the HMAC-SHA256 of
    the whole row, which nobody has seen tie.
    """
    parts = [part for place in countable for part in _comparable_values_sql(table, place, len(countable))]
    if len(countable) > MOST_COMPARED:
        return [sql.hmac_sql(key, f"record_send(ROW({', '.join(parts)}))", statement)]
    return [_row_hash_sql(table, countable, key, statement), *parts] if countable else ["unit"]


def _row_hash_sql(table: Table, countable: Sequence[int], key: bytes, statement: Statement) -> str:
    """SQL for the hash of a row: of each value, seeded by the hash of the values before it, the first one by the key.

    (Hashes with seeds of their own, added up bit by bit, would use some rows twice as often as others.)
    """
    found = statement.add_integer(int.from_bytes(key[:_SEED_BYTES], "big", signed=True))
    for place in countable:
        oid, value = table.types[place], f"c{place}"
        if oid in WHOLE:
            found = f"hashint8extended(coalesce({value}::int8, 0), {found})"
        elif oid == BOOLEAN:
            found = f"hashint8extended(coalesce({value}::int4, 2)::int8, {found})"
        elif oid in FLOATING:
            found = f"hashfloat8extended(coalesce({value}::float8, 'NaN'), {found})"
        elif oid == NUMERIC:
            found = f"hash_numeric_extended(coalesce({value}, 'NaN'), {found})"
        else:
            found = (
                f"hashtextextended(coalesce({_comparable_values_sql(table, place, len(countable))[0]}, ''), {found})"
            )
    return found


def _comparable_values_sql(table: Table, place: int, columns: int) -> list[str]:
    """SQL of values that are equal where two values of a column are counted alike, and only there.

    Longer texts stand there by their hash, so that no row comes near to a gibibyte.
    """
    value = f"c{place}"
    if table.columns[place].kind is ColumnKind.NUMBERS:
        return [value, f"scale({value})"] if table.types[place] == NUMERIC else [value]
    text, longest = table.columns[place].text.format(value), min(LONGEST_TEXT, MOST_OF_ROW // columns)
    short, digest = f"THEN {text} END", f"THEN sha256(convert_to({text}, 'UTF8')) END"
    return [
        f"CASE WHEN octet_length({text}) <= {longest} {short}",
        f"CASE WHEN octet_length({text}) > {longest} {digest}",
    ]


# Conformance check of PostgreSQL: the cells of public constants, with no table involved.
class CheckablePostgres:
    """Answers by the same SQL by which a table is counted."""

    decimals: Sequence[str] = DECIMALS

    def __init__(self, link: SnapshotConnection) -> None:
        self._link = link
        self.name = link.name

    def find_slots(self, grid: Grid, values: FloatArray) -> IntArray:
        statement = Statement()
        found = self._evaluate(sql.grid_slot_sql(grid, "n0", statement), self._values_sql(values, statement), statement)
        return np.array([grid.slots if slot is None else slot for slot in found], dtype=np.int64)

    def find_offsets(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        statement = Statement()
        slot = sql.grid_slot_sql(grid, "n0", statement)
        offset = sql.offset_sql(grid, "n0", "s0", half, statement)
        rows = f"(SELECT n0, {slot} AS s0, at FROM {self._values_sql(values, statement)} OFFSET 0) AS slotted"
        return np.array(self._evaluate(offset, rows, statement), dtype=np.int64)

    def parse_decimals(self, decimals: Sequence[str]) -> FloatArray:
        statement = Statement()
        number = sql.make_column(TypedColumn("x", NUMERIC, "b")).number.format("c0")
        rows = f"unnest({statement.add_texts(decimals)}::numeric[]) WITH ORDINALITY AS sent(c0, at)"
        found = self._evaluate(number, rows, statement)
        return np.array([np.nan if each is None else each for each in found], dtype=np.float64)

    def compute_digest(self, key: bytes, message: bytes) -> bytes:
        statement = Statement()
        digest = sql.hmac_sql(key, statement.add_bytes(message), statement)
        return bytes(self._link.fetch_rows(f"SELECT {digest}", statement.parameters)[0][0])

    def _values_sql(self, values: FloatArray, statement: Statement) -> str:
        return f"unnest({statement.add_doubles(values)}) WITH ORDINALITY AS sent(n0, at)"

    def _evaluate(self, expression: str, rows: str, statement: Statement) -> list[Any]:
        query = f"SELECT array_agg({expression} ORDER BY at) FROM {rows}"
        return list(self._link.fetch_rows(query, statement.parameters)[0][0])


def check_postgres(url: str) -> ConformanceReport:
    """Run every check on the server at this URL.

    Raises:
        ValueError: it is not reached, or fails on a public number.
    """
    link = SnapshotConnection(url)
    try:
        link.begin_snapshot()
        return ConformanceReport(link.name, tuple(run_checks(CheckablePostgres(link))))
    finally:
        link.close()


UNRANKED = "the server cannot rank the rows of a unit; is it a fork of PostgreSQL? give ranking='here'"
_SERVER = (
    "SELECT (SELECT oid::int8 FROM pg_database WHERE datname = current_database()), "
    "(SELECT pg_postmaster_start_time()::text)"
)
_SNAPSHOT = "SELECT pg_current_snapshot()::text"
_HAS_VERSIONS = (
    "SELECT relkind IN ('r', 'p', 'm') AND has_table_privilege(oid, 'SELECT') FROM pg_class WHERE oid = $1::int8::oid"
)
_VERSIONS = (
    "SELECT count(*), coalesce(sum(hashtextextended(concat_ws(' ', tableoid, ctid, xmin), 0)), 0)::text FROM {0}"
)
"""The versions of all rows, in any order: their number, and the sum of a hash of each."""


class PostgresEngine(CheckablePostgres):
    """The used rows of a table, counted in one snapshot."""

    failure: str = FAILED

    def __init__(self, link: SnapshotConnection, table: Table, unit: Unit, key: bytes) -> None:
        super().__init__(link)
        self._table, self._unit, self._data_key = table, unit, key
        # The server never learns the key of the data set.
        self._key = hmac.digest(key, b"rows ranked by PostgreSQL", "sha256")
        self._proven: set[Grid] = set()
        self.moment: int | None = hash_snapshot(link, table)
        self._state = TableState(link, table, key)
        self._require_suitable_server()

    def __repr__(self) -> str:
        return "PostgresEngine(hidden)"

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._table.columns

    def state(self) -> int | None:
        """A number of the state of the table."""
        return self._state.hash_state()

    def _require_suitable_server(self) -> None:
        """Refuse a server that could stop because of rows, or would log what is secret.

        Raises:
            ValueError: see `postgres_duties`; or the column that names units is not there or of a wrong type; or the
                server knows none of the functions by which rows are ranked.
        """
        require_unlimited_sorts(self._link)
        if self._unit == EACH_RECORD:
            return
        unit = find_column(self._unit.column, self.columns, "unit")
        require_unit(self.columns[unit])
        require_no_parameter_log(self._link)
        statement = Statement()
        self._link.fetch_rows(
            f"SELECT * FROM {self._used_rows_sql([unit], statement)} LIMIT 0", statement.parameters, UNRANKED
        )

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        fresh = [each for each in bound if isinstance(each.axis, Axis) and each.axis.grid not in self._proven]
        require_conformance(self, fresh)
        self._proven |= {each.axis.grid for each in fresh if isinstance(each.axis, Axis)}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        statement = Statement()
        place = self._cell_index_sql(bound, statement)
        found = self._total_by_place(f"SELECT {place} AS place", "count(*)", bound, statement)
        table = np.zeros(table_size(bound) + 1, dtype=np.int64)
        for at, number in found:
            table[table_size(bound) if at is None else at] = number
        return table

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._sum_amounts(bound, half, "amount")

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._sum_amounts(bound, half, f"2 * amount * amount - {half**2}")

    def _sum_amounts(self, bound: Sequence[BoundAxis], half: int, amount: str) -> list[int]:
        statement, last = Statement(), len(bound) - 1
        slots = [sql.slot_sql(each, number, statement) for number, each in enumerate(bound)]
        named = ", ".join([*(f"{slot} AS s{i}" for i, slot in enumerate(slots)), f"n{last}"])
        grid = require_grid(bound[-1].axis)
        offset = sql.offset_sql(grid, f"n{last}", f"s{last}", half, statement)
        place = sql.cell_index_sql(bound, [f"s{i}" for i in range(len(bound))])
        # Apart, each slot is found once, and not for every place where it stands.
        slotted = (
            f"SELECT {named} FROM ({sql.read_sql(bound, self._used_rows(bound, statement))}) AS values {sql.APART}"
        )
        inner = f"SELECT {place} AS place, {offset} AS amount FROM ({slotted}) AS slotted"
        query = f"SELECT place, sum({amount})::text FROM ({inner}) AS placed WHERE place IS NOT NULL GROUP BY place"
        table = [0] * (table_size(bound) + 1)
        for at, total in self._link.fetch_rows(query, statement.parameters):
            table[at] = int(total)
        return table

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        *first, _ = bound
        pieces, statement = Pieces.from_entries(bound, at), Statement()
        slots = [sql.slot_sql(each, number, statement) for number, each in enumerate(first)]
        piece = sql.threshold_count_sql(pieces.start_values, f"n{len(first)}", statement)
        row = f"{sql.cell_index_sql(first, slots)} * {pieces.count}::int8 + " if first else ""
        counts = pieces.zero_counts
        for place, number in self._total_by_place(f"SELECT {row}({piece}) AS place", "count(*)", bound, statement):
            counts[-1 if place is None else place] = number
        return pieces.sum_prefixes(counts)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        statement = Statement()
        query = f"SELECT {self._numbers_sql(bound, statement)} FROM ({sql.read_sql(bound, self._used_rows(bound, statement))}) AS values"
        for rows in self._link.fetch_batches(query, ROWS_AT_ONCE, statement.parameters):
            yield list(np.array(rows, dtype=np.float64).T)  # what is NULL there is NaN here

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        statement, places = Statement(), sorted({each.place for each in bound})
        numbers = self._numbers_sql(bound, statement)
        own = [] if self._unit == EACH_RECORD else [find_column(self._unit.column, self.columns)]
        used = self._used_rows_sql(sorted({*places, *own}), statement) if own else ""
        named = named_units_sql(self._table, places, self._unit, used)
        query = f"SELECT {numbers}, name FROM ({sql.read_sql(bound, named, 'name')}) AS values"
        for rows in self._link.fetch_batches(query, ROWS_AT_ONCE, statement.parameters):
            *columns, names = zip(*rows, strict=True)
            found = [np.array(column, dtype=np.float64) for column in columns]
            yield [*found, assign_subsets(names, self._key, subsets)]

    def _numbers_sql(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """SQL for the number on each grid, and the slot of each category."""
        return ", ".join(
            f"n{i}" if isinstance(each.axis, Axis) else f"({sql.slot_sql(each, i, statement)})::float8"
            for i, each in enumerate(bound)
        )

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        statement = Statement()
        query = f"SELECT {self._cell_index_sql(bound, statement)} FROM ({sql.read_sql(bound, self._used_rows(bound, statement))}) AS values"
        found = self._link.fetch_rows(query, statement.parameters)
        return np.array([table_size(bound) if place is None else place for (place,) in found], dtype=np.int64)

    def units(self) -> int:
        if self._unit == EACH_RECORD:
            ((number,),) = self._link.fetch_rows(f"SELECT count(*) FROM {self._table.name}")
            return int(number)
        at = find_column(self._unit.column, self.columns)
        named = f"SELECT {self.columns[at].unit.format(f'c{at}')} AS unit FROM {self._table.scan_sql([at])}"
        counted = "count(DISTINCT unit) + (count(*) > count(unit))::int"
        ((number,),) = self._link.fetch_rows(f"SELECT {counted} FROM ({named}) AS named")
        return int(number)

    def unit_sizes(self) -> dict[int, int]:
        at = find_column(self._unit.column, self.columns)
        named = f"SELECT {self.columns[at].unit.format(f'c{at}')} AS unit FROM {self._table.scan_sql([at])}"
        sizes = f"SELECT count(*) AS n FROM ({named}) AS named GROUP BY unit"
        found = self._link.fetch_rows(f"SELECT n, count(*) FROM ({sizes}) AS sized GROUP BY n")
        return {int(rows): int(units) for rows, units in found}

    def sized_units(self, bound: BoundAxis, doublings: int) -> IntArray:
        statement, one = Statement(), replace(self._unit, records=1)
        slot = sql.slot_sql(bound, 0, statement)
        used = f"({used_rows_sql(self._table, [bound.place], one, self._key, statement, with_size=True)}) AS used"
        each = f"SELECT {slot} AS slot, size FROM ({sql.read_sql([bound], used, 'size')}) AS values"
        counted = f"SELECT slot, size, count(*) FROM ({each}) AS placed GROUP BY slot, size"
        return tabulate_units(self._link.fetch_rows(counted, statement.parameters), bound.axis.slots, doublings)

    def names(self, bound: BoundAxis) -> dict[str, int]:
        statement = Statement()
        name, there = sql.name_sql(bound.column, f"c{bound.place}")
        if self._unit == EACH_RECORD:
            rows, unit, units = self._table.scan_sql([bound.place]), "", "count(*)"
        else:
            at = find_column(self._unit.column, self.columns)
            rows = self._used_rows_sql(sorted({bound.place, at}), statement)
            unit = f", {self.columns[at].unit.format(f'c{at}')} AS unit"
            units = "count(DISTINCT unit) + (count(*) > count(unit))::int"
        named = f"SELECT {name} AS name{unit} FROM {rows} WHERE {there}"
        short = f"octet_length(name) <= {LONGEST_NAME}"
        counted = f"SELECT name, {units} FROM ({named}) AS named WHERE {short} GROUP BY name"
        listed = self._link.fetch_rows(counted, statement.parameters)
        texts = ((decode_name(bytes(text)), int(number)) for text, number in listed)
        names = ((value_name(text, bound.column.value_type), number) for text, number in texts)
        return {value: number for value, number in names if value is not None}

    def using(self, unit: Unit) -> PostgresEngine:
        other = PostgresEngine(self._link, self._table, unit, self._data_key)
        other._state = self._state
        return other

    def close(self) -> None:
        self._link.close()

    def _total_by_place(self, selected: str, total: str, bound: Sequence[BoundAxis], statement: Statement) -> list[Any]:
        rows = f"({sql.read_sql(bound, self._used_rows(bound, statement))}) AS values"
        # Apart, places are not guessed to be as many as values: so the server hashes them, and in parallel.
        query = f"SELECT place, {total} FROM ({selected} FROM {rows} {sql.APART}) AS placed GROUP BY place"
        return self._link.fetch_rows(query, statement.parameters)

    def _cell_index_sql(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        return sql.cell_index_sql(bound, [sql.slot_sql(each, number, statement) for number, each in enumerate(bound)])

    def _used_rows(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """A FROM clause of the used rows."""
        places = sorted({each.place for each in bound})
        if self._unit == EACH_RECORD:
            return self._table.scan_sql(places)
        return self._used_rows_sql(places, statement)

    def _used_rows_sql(self, places: Sequence[int], statement: Statement) -> str:
        return f"({used_rows_sql(self._table, places, self._unit, self._key, statement)}) AS used"


def hash_snapshot(link: SnapshotConnection, table: Table) -> int:
    """A number of the snapshot: equal only where the same server shows what the same transactions have left."""
    return _hash_facts((link.fetch_rows(_SERVER), link.fetch_rows(_SNAPSHOT), table.oid))


def _hash_facts(facts: object, key: bytes = b"") -> int:
    """Return a number below 2**60 for facts: a hash of them, under a key where one is given."""
    return int(hmac.new(key, repr(facts).encode(), sha256).hexdigest()[:15], 16)


class TableState:
    """The state of one table in the snapshot of a link, as a number.

    Equal numbers mean that the same server shows the same versions of the same rows. Each version of a row has a place
    and the transaction that wrote it (`ctid`, `xmin`), so a table that nobody wrote to keeps its number whatever is
    committed elsewhere. Views have no such columns, and a role that may read some columns alone does not see them:
    there is no number.

    The number is a hash under the key of the data set: whoever reads it in a ledger, and guesses the versions of the
    rows, cannot check the guess, which would tell how many rows there are.

    The table is read through once, and only if somebody asks.
    """

    def __init__(self, link: SnapshotConnection, table: Table, key: bytes) -> None:
        self._link, self._table = link, table
        self._key = hmac.digest(key, b"state of a table of PostgreSQL", "sha256")
        self._number: int | None = None
        self._is_known = False

    def __repr__(self) -> str:
        return "TableState(hidden)"

    def hash_state(self) -> int | None:
        """Return the number; None: there is none."""
        if not self._is_known:
            if self._link.fetch_rows(_HAS_VERSIONS, (self._table.oid,)) == [(True,)]:
                versions = self._link.fetch_rows(_VERSIONS.format(self._table.name))
                facts = self._link.fetch_rows(_SERVER), self._table.oid, versions
                self._number = _hash_facts(facts, self._key)
            self._is_known = True
        return self._number
