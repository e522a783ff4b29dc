"""SENSITIVE. Engines that count a PostgreSQL table or view.

    postgres          the public constructor of a table
    PostgresEngine    counts on the server, so that only exact counts of cells are transferred
    StreamedEngine    transfers the needed columns once, and ranks and counts rows here, by DuckDB
    used_rows_sql     the rows of each unit that count, under its contribution bound
    check_postgres    runs the conformance checks of a server

Formal guarantees: adding or removing a unit changes at most `Unit.records` used rows (`used_rows_sql`). Counts are
exact and never released; the mechanism adds noise to them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from arro3.core import Array, DataType

from dpcurves.arguments import InvalidArgument, check_common_arguments, require_type
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries.query import LONGEST_CATEGORY
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
from .postgres_expressions import DerivingTable
from .postgres_link import QUERY_FAILURE, SnapshotConnection, require_no_parameter_log, require_unlimited_sorts
from .postgres_sql import (
    BOOLEAN_OID,
    FLOAT_TYPES,
    INTEGER_TYPES,
    NUMERIC_OID,
    Statement,
    Table,
    TypedColumn,
    require_unit,
)
from .slots import PrefixIntervals, tabulate_units

# SENSITIVE. Rows are transferred from PostgreSQL, then ranked and counted by DuckDB in this process.
ROWS_PER_FETCH = 2**14
"""Rows per fetch. More take more memory and fewer round trips; results are the same."""
BYTES = DataType.large_binary()
"""Arrow type in which texts and decimals travel from the server: bytes, because a text may be no valid UTF-8 here."""


class StreamedEngine(DuckEngine):
    """Reads the needed columns once, in the snapshot, into a private temporary folder, and counts them with DuckDB.

    Use it if the server must not learn the key that ranks rows, or cannot rank them (``ranking="here"``).
    """

    failure: str = QUERY_FAILURE

    def __init__(self, link: SnapshotConnection, table: Table, unit: Unit, key: bytes) -> None:
        """Prepare to count the rows of a server's table on this machine, after transferring them.

        Args:
            link: Connection in its snapshot.
            table: Table of the server, with its columns.
            unit: Privacy unit and contribution bound.
            key: Secret key, which ranks the rows of a unit.

        Raises:
            InvalidArgument: the unit's column is missing, or its type cannot identify a unit.
        """
        require_unit(table.columns[find_column(unit.column, table.columns, "unit")])
        super().__init__(_build_source(link, table), unit, key)
        self._link = link
        self._table = table
        self._data_key = key
        self.moment = hash_snapshot(link, table)
        self._state = TableState(link, table, key)

    def state(self) -> int | None:
        """Return a hash of the table's rows in the snapshot, to see later whether they have changed; None for views,
        and for roles that may not read all columns.
        """
        return self._state.hash_state()

    def using(self, unit: Unit) -> StreamedEngine:
        """Return an engine on the same connection and snapshot under another contribution bound.

        Args:
            unit: Privacy unit with its contribution bound.
        """
        engine = StreamedEngine(self._link, self._table, unit, self._data_key)
        engine._state = self._state
        engine._derived = self._derived
        engine._filter = self._filter
        engine._used = self._used
        return engine

    def close(self) -> None:
        """Delete the transferred rows and close the connection to the server."""
        super().close()
        self._link.close()


def _build_source(link: SnapshotConnection, table: Table) -> ArrowSource:
    """Return a PostgreSQL table as a source of rows that are transferred to this machine and counted here.

    Numbers are transferred as numbers, other types as text.

    Args:
        link: Connection with a snapshot of the database.
        table: The table and its columns.
    """
    streamed = [
        _StreamedColumn.from_column(*column)
        for column in zip(table.columns, table.quoted_names, table.types, strict=True)
    ]

    def read_columns(indices: Sequence[int]) -> Iterator[list[Array]]:
        """SENSITIVE: yield the columns at these positions, batch by batch, from the server.

        Args:
            indices: Positions of the columns in the schema.

        Yields:
            The columns of a batch in the order of `indices`.
        """
        values_sql = ", ".join(streamed[index].value for index in indices)
        for rows in link.fetch_batches(f"SELECT {values_sql} FROM {table.name}", ROWS_PER_FETCH):
            columns = zip(zip(*rows, strict=True), indices, strict=True)
            yield [Array(values, streamed[index].transfer_type) for values, index in columns]

    return ArrowSource(
        tuple(column.column for column in streamed),
        tuple(column.transfer_type for column in streamed),
        read_columns,
        is_costly=True,
    )


class _StreamedColumn(NamedTuple):
    """A column, its Arrow type during the transfer, and the SQL of its value."""

    column: Column
    transfer_type: DataType
    value: str

    @classmethod
    def from_column(cls, column: Column, name: str, oid: int) -> _StreamedColumn:
        """Return how a column is transferred: numbers as numbers; decimals and other types as text.

        Decimals are sent as text, because the number of a unit must be neither rounded nor ambiguous.

        Args:
            column: The column.
            name: Its name as SQL.
            oid: Number of its type in the catalogue.
        """
        # Decimals travel as text: a unit's number must be neither rounded nor ambiguous.
        if oid == NUMERIC_OID:
            return cls(
                decimal_column(column.name, column.declared_type),
                BYTES,
                _bytes_sql(column.text.format(name), f"{name} <> 'NaN'"),
            )
        if column.kind is ColumnKind.NUMBERS:
            arrow_type = DataType.float64()
            if oid == BOOLEAN_OID:
                arrow_type = DataType.bool()
            elif oid in INTEGER_TYPES:
                arrow_type = DataType.int64()
            streamed = replace(
                column_from_arrow_type(column.name, arrow_type),
                declared_value_type=column.declared_value_type,
                declared_type=column.declared_type,
            )
            return cls(streamed, arrow_type, name)
        if column.kind is ColumnKind.OTHER:
            return cls(Column(column.name, ColumnKind.OTHER, "NULL::DOUBLE"), BYTES, "NULL::bytea")
        text = column.text.format(name)
        streamed = Column(column.name, column.kind, "NULL::DOUBLE")
        return cls(streamed, BYTES, _bytes_sql(text, f"octet_length({text}) <= {LONGEST_TEXT}"))


def _bytes_sql(text: str, condition: str) -> str:
    """Return SQL of a text as UTF-8 bytes where a condition holds, else NULL.

    Args:
        text: SQL of the text.
        condition: SQL of the condition.
    """
    return f"CASE WHEN {condition} THEN convert_to({text}, 'UTF8') END"


# The public constructor of a PostgreSQL table.
RANK_ON_SERVER = "there"
"""Value of the argument `ranking`: the server ranks the rows of a unit under a secret key, which it receives as a
parameter. It is refused if it logs parameters."""
RANK_IN_PROCESS = "here"
"""Value of the argument `ranking`: all rows are transferred and ranked in this process, which is slower; the server
receives no key."""


@check_common_arguments
def postgres(url: str, *, table: str, ranking: str = RANK_ON_SERVER) -> PostgresTable:
    """Return a PostgreSQL table or view that the server counts; pass it to `Session` instead of a file.

    Args:
        url: ``postgresql://reader@host/database``; libpq resolves missing parts as usual (PGPASSWORD, ``~/.pgpass``, a
            service). TLS is required except on loopback.
        table: The name, as in ``schema.table``. For a query, create a view; its owner must ensure that no row makes it
            fail.
        ranking: Where to rank the rows of a unit that has more than the contribution bound: ``there``, under a secret
            key sent as a parameter, or ``here``, after transferring all rows.

    Returns:
        The table, without an open connection.

    Raises:
        TypeError: the URL or the name is not a text.
        ValueError: `ranking` has another value.

    >>> postgres("postgresql://reader:password@localhost/db", table="clinic.visits")
    postgres(table='clinic.visits')
    """
    require_type("table", table, str, "the name of a table or view, as clinic.visits,")
    require_type("data", url, str, "a URL, as postgresql://reader@host/database,")
    if ranking not in (RANK_ON_SERVER, RANK_IN_PROCESS):
        raise InvalidArgument(
            "ranking",
            f"must be {RANK_ON_SERVER!r} (the server ranks rows) or {RANK_IN_PROCESS!r} (this machine ranks them)",
        )
    return PostgresTable(url, table, ranking)


@dataclass(frozen=True, slots=True, repr=False)
class PostgresTable(EngineTable):
    """The location of a PostgreSQL table.

    Attributes:
        url: URL of the database, never shown, because it may hold a password.
        table: Name as in ``schema.table``.
        ranking: `RANK_ON_SERVER` or `RANK_IN_PROCESS`: where the rows of a unit are ranked.
    """

    url: str = field(repr=False)
    table: str
    ranking: str

    def __repr__(self) -> str:
        ranking = f", ranking={RANK_IN_PROCESS!r}" if self.ranking == RANK_IN_PROCESS else ""
        return f"postgres(table={self.table!r}{ranking})"

    @property
    def engine(self) -> str:
        """The engine's name for privacy statements, which states where the rows of a unit are ranked."""
        return "PostgreSQL" if self.ranking == RANK_ON_SERVER else "PostgreSQL, ranked here"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Connect to the server, begin a snapshot of the table, and return the engine that counts it.

        Args:
            unit: The unit of privacy and its contribution bound.
            key: Secret key, which ranks the rows of a unit.

        Raises:
            ValueError: the server or the table cannot be reached.
        """
        link = SnapshotConnection(self.url)
        try:
            table = sql.find_table(link, self.table)
            if unit != EACH_RECORD and self.ranking == RANK_IN_PROCESS:
                return StreamedEngine(link, table, unit, key)
            return PostgresEngine(link, table, unit, key)
        except BaseException:
            link.close()
            raise


MOST_COMPARED = 8
"""Columns. Up to this number, rows of a unit with equal hashes are ordered by their values; wider rows are sorted by a
digest of all values."""


def used_rows_sql(
    table: Table, places: Sequence[int], unit: Unit, key: bytes, statement: Statement, *, with_size: bool = False
) -> str:
    """Return SQL of the rows that count under the contribution bound (contribution bounding).

    The rows of each unit are sorted by `order_sql`, and the first `unit.records` are used. All rows without a unit form
    one unit.

    Formal guarantees: rows that tie in that order are counted alike in every query. So the counted rows of a unit are a
    function of the key and of that unit's rows, and not of the physical order or the other units. If a unit is added,
    removed or changed, at most `unit.records` used rows disappear and at most as many appear, all of this unit. This
    holds for any hash values. A good hash with a secret key makes the choice fair.

    Args:
        table: The table.
        places: Positions of the needed columns.
        unit: The unit and its contribution bound.
        key: A secret key of this engine.
        statement: Receives the key as a parameter, so that it is not part of the SQL text.
        with_size: Whether to add a column `size`, the number of all rows of the unit.
    """
    countable = _find_countable(table)
    order_by = ", ".join(order_sql(table, countable, key, statement))
    selected = ", ".join(f"c{index}" for index in places)
    rows_sql = table.scan_sql(sorted({*countable, *places}), find_column(unit.column, table.columns))
    counted = "count(*)"
    if table.passes:  # rows that pass a filter are used first
        order_by = f"NOT {table.passes}, {order_by}"
        counted = f"count(*) FILTER (WHERE {table.passes})"
    if with_size:
        rows_sql = f"(SELECT *, {counted} OVER (PARTITION BY unit) AS size FROM {rows_sql}) AS named"
        selected += ", size"
    if unit.records == 1:  # the same order, twice as fast as a window
        return (
            f"SELECT {selected} FROM (SELECT DISTINCT ON (unit) * FROM {rows_sql} ORDER BY unit, {order_by}) AS ranked"
        )
    rank = f"row_number() OVER (PARTITION BY unit ORDER BY {order_by}) AS turn"
    return f"SELECT {selected} FROM (SELECT {selected}, {rank} FROM {rows_sql}) AS ranked WHERE turn <= {unit.records}"


def named_units_sql(table: Table, places: Sequence[int], unit: Unit, used: str) -> str:
    """Return SQL of the rows within the contribution bound with a column `name`, whose bytes identify the unit.

    Equal units may have different texts, as 0.0 and -0.0, so the smallest text among the unit's rows is used. All rows
    without a unit form one unit. If each record is a unit, its name is a digest of its countable columns and its number
    among identical records.

    Args:
        table: The table.
        places: Positions of the needed columns.
        unit: The unit.
        used: A FROM clause of the rows within the contribution bound with the unit's column; ignored if each record is
            a unit.
    """
    selected = ", ".join(f"c{index}" for index in places)
    if unit != EACH_RECORD:
        unit_index = find_column(unit.column, table.columns)
        with_unit = (
            f"(SELECT *, {table.columns[unit_index].unit.format(f'c{unit_index}')} AS unit FROM {used}) AS owned"
        )
        text = "min(coalesce(unit::text, '') COLLATE \"C\") OVER (PARTITION BY unit)"
        return f"(SELECT {selected}, convert_to({text}, 'UTF8') AS name FROM {with_unit}) AS named"
    countable = _find_countable(table)
    values = ", ".join(value for index in countable for value in _comparable_values_sql(table, index, len(countable)))
    digest = f"sha256(record_send(ROW({values}))) AS digest"
    with_digest = f"(SELECT {selected}, {digest} FROM {table.scan_sql(sorted({*countable, *places}))}) AS digested"
    copy = "int8send(row_number() OVER (PARTITION BY digest))"
    return f"(SELECT {selected}, digest || {copy} AS name FROM {with_digest}) AS named"


def _find_countable(table: Table) -> list[int]:
    """Return the positions of the columns of numbers and text, whose values identify a row when rows are ranked.

    Args:
        table: Table of the server, with its columns.
    """
    return [i for i, column in enumerate(table.columns) if column.kind in {ColumnKind.NUMBERS, ColumnKind.TEXT}]


def order_sql(table: Table, countable: Sequence[int], key: bytes, statement: Statement) -> list[str]:
    """Return SQL sort keys that rank the rows of a unit. Two rows tie only if all columns of numbers and text are
    equal.

    The keys are a seeded hash of all these columns, then the columns themselves. Rows with more than 8 of them are
    sorted by their HMAC-SHA256 alone, for which no collisions are known.

    Args:
        table: The table.
        countable: Positions of the columns of numbers and text.
        key: Secret key.
        statement: Receives the key.
    """
    values = [value for index in countable for value in _comparable_values_sql(table, index, len(countable))]
    if len(countable) > MOST_COMPARED:
        return [sql.hmac_sql(key, f"record_send(ROW({', '.join(values)}))", statement)]
    return [_row_hash_sql(table, countable, key, statement), *values] if countable else ["unit"]


def _row_hash_sql(table: Table, countable: Sequence[int], key: bytes, statement: Statement) -> str:
    """Return SQL of a chained hash of a row: the seed of each value's hash is the previous hash, the first seed is the
    key.

    (The XOR of independently seeded hashes would select some rows twice as often as others.)

    Args:
        table: Table of the rows, with the types of its columns.
        countable: Indices of the columns that are hashed.
        key: Secret bytes, of which the first 8 are used.
        statement: Statement that collects the parameters of the SQL.
    """
    hash_sql = statement.add_integer(int.from_bytes(key[:8], "big", signed=True))  # 64 bits
    for index in countable:
        oid = table.types[index]
        value = f"c{index}"
        if oid in INTEGER_TYPES:
            hash_sql = f"hashint8extended(coalesce({value}::int8, 0), {hash_sql})"
        elif oid == BOOLEAN_OID:
            hash_sql = f"hashint8extended(coalesce({value}::int4, 2)::int8, {hash_sql})"
        elif oid in FLOAT_TYPES:
            hash_sql = f"hashfloat8extended(coalesce({value}::float8, 'NaN'), {hash_sql})"
        elif oid == NUMERIC_OID:
            hash_sql = f"hash_numeric_extended(coalesce({value}, 'NaN'), {hash_sql})"
        else:
            hash_sql = (
                f"hashtextextended(coalesce({_comparable_values_sql(table, index, len(countable))[0]}, ''), {hash_sql})"
            )
    return hash_sql


def _comparable_values_sql(table: Table, index: int, columns: int) -> list[str]:
    """Return SQL values of a column that are equal in two rows exactly if both rows are counted alike.

    Long texts are hashed, so that no row approaches PostgreSQL's limit of 1 GiB.

    Args:
        table: The table.
        index: Position of the column, from 0.
        columns: Number of columns that are compared, among which the bytes of a row are divided.

    Returns:
        One or two SQL expressions.
    """
    value = f"c{index}"
    if table.columns[index].kind is ColumnKind.NUMBERS:
        return [value, f"scale({value})"] if table.types[index] == NUMERIC_OID else [value]
    # 2**28: bytes of all texts of a row: PostgreSQL limits a value to 1 GiB
    text = table.columns[index].text.format(value)
    longest = min(LONGEST_TEXT, 2**28 // columns)
    short = f"THEN {text} END"
    digest = f"THEN sha256(convert_to({text}, 'UTF8')) END"
    return [
        f"CASE WHEN octet_length({text}) <= {longest} {short}",
        f"CASE WHEN octet_length({text}) > {longest} {digest}",
    ]


# Conformance check of PostgreSQL: the cells of public constants, with no table involved.
class CheckablePostgres:
    """Evaluates public numbers with the SQL that counts tables, for conformance checks."""

    decimals: Sequence[str] = DECIMALS

    def __init__(self, link: SnapshotConnection) -> None:
        self._link = link
        self.name = link.name

    def find_slots(self, grid: Grid, values: FloatArray) -> IntArray:
        """Return the index of the count (slot: a cell, or the values outside) to which the server adds each public
        value; `grid.slots` if it is missing.

        Args:
            grid: Grid of the slots.
            values: Public values; NaN is missing.

        Returns:
            Slot of each value, (n,).
        """
        statement = Statement()
        slots = self._evaluate(sql.grid_slot_sql(grid, "n0", statement), self._values_sql(values, statement), statement)
        return np.array([grid.slots if slot is None else slot for slot in slots], dtype=np.int64)

    def find_offsets(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        """Return the offset of each public value from the middle of its cell, in steps, as the server computes it.

        Args:
            grid: Grid of the slots.
            values: Public values.
            half: Half the number of steps of a cell, and the largest offset.

        Returns:
            Offset of each value, (n,).
        """
        statement = Statement()
        slot = sql.grid_slot_sql(grid, "n0", statement)
        offset = sql.offset_sql(grid, "n0", "s0", half, statement)
        rows = f"(SELECT n0, {slot} AS s0, at FROM {self._values_sql(values, statement)} OFFSET 0) AS slotted"
        return np.array(self._evaluate(offset, rows, statement), dtype=np.int64)

    def parse_decimals(self, decimals: Sequence[str]) -> FloatArray:
        """Return the double that the server makes of each decimal number; NaN for NULL.

        Args:
            decimals: Decimal numbers, as texts.

        Returns:
            Doubles, in the order of `decimals`.
        """
        statement = Statement()
        number = sql.make_column(TypedColumn("x", NUMERIC_OID, "b")).number.format("c0")
        rows = f"unnest({statement.add_texts(decimals)}::numeric[]) WITH ORDINALITY AS sent(c0, at)"
        values = self._evaluate(number, rows, statement)
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def compute_digest(self, key: bytes, message: bytes) -> bytes:
        """Return the HMAC-SHA256 that the server computes of a message.

        Args:
            key: Key of the HMAC.
            message: Message whose digest is computed.

        Returns:
            32 bytes.
        """
        statement = Statement()
        digest = sql.hmac_sql(key, statement.add_bytes(message), statement)
        return bytes(self._link.fetch_rows(f"SELECT {digest}", statement.parameters)[0][0])

    def _values_sql(self, values: FloatArray, statement: Statement) -> str:
        """Return a FROM clause of public test values with their positions, sent as a parameter of the statement.

        Args:
            values: Public values, (n,).
            statement: Statement that collects the parameters.
        """
        return f"unnest({statement.add_doubles(values)}) WITH ORDINALITY AS sent(n0, at)"

    def _evaluate(self, expression: str, rows: str, statement: Statement) -> list[Any]:
        """Return the values of an SQL expression over rows, in the order of their position.

        Args:
            expression: SQL of a value.
            rows: FROM clause of rows with a position ``at``.
            statement: Statement with the parameters of both.
        """
        query = f"SELECT array_agg({expression} ORDER BY at) FROM {rows}"
        return list(self._link.fetch_rows(query, statement.parameters)[0][0])


def check_postgres(url: str) -> ConformanceReport:
    """Run all conformance checks on a server. Reads no table.

    Args:
        url: ``postgresql://reader@host/database``.

    Raises:
        ValueError: the server cannot be reached, or fails on a public number.
    """
    link = SnapshotConnection(url)
    try:
        link.begin_snapshot()
        return ConformanceReport(link.name, tuple(run_checks(CheckablePostgres(link))))
    finally:
        link.close()


EXPRESSION_FAILURE = (
    "the server cannot evaluate this expression: simplify it, or use letters that the database's encoding has; or add "
    "the column or the filter to a view"
)
"""Error if the server cannot plan a query with a derived column or a filter."""
RANKING_FAILURE = "the server cannot rank the rows of a unit, as forks of PostgreSQL may not; give ranking='here'"
"""Error if the server cannot plan the query that ranks the rows of a unit."""
_SERVER = (
    "SELECT (SELECT oid::int8 FROM pg_database WHERE datname = current_database()), "
    "(SELECT pg_postmaster_start_time()::text)"
)
"""Query that identifies the running server and its database: database number and time of start."""
_SNAPSHOT = "SELECT pg_current_snapshot()::text"
"""Query that identifies the transactions whose effects the connection sees."""
_HAS_VERSIONS = (
    "SELECT relkind IN ('r', 'p', 'm') AND has_table_privilege(oid, 'SELECT') FROM pg_class WHERE oid = $1::int8::oid"
)
"""Query whether row versions can be hashed: the object is a table or a materialised view, and the role may read it
whole. Otherwise nobody can tell whether the data have changed."""
_VERSIONS = (
    "SELECT count(*), coalesce(sum(hashtextextended(concat_ws(' ', tableoid, ctid, xmin), 0)), 0)::text FROM {0}"
)
"""Query for the number of row versions and the sum of their hashes, independent of order. A change of the data between
two questions changes it."""


class PostgresEngine(CheckablePostgres):
    """Counts the used rows of a table on the server, in one snapshot.

    Args:
        link: The connection, in its snapshot.
        table: The table.
        unit: The unit of privacy and its contribution bound.
        key: Secret key; the server receives only a key derived from it.

    Raises:
        ValueError: the server limits temporary files or logs parameters; or the unit's column is unsuitable; or the
            server lacks the hash functions that rank rows.
    """

    failure: str = QUERY_FAILURE

    def __init__(self, link: SnapshotConnection, table: Table, unit: Unit, key: bytes) -> None:
        """Prepare a server to count a table under a contribution bound.

        Args:
            link: Connection in its snapshot.
            table: Table of the server, with its columns.
            unit: Privacy unit and contribution bound.
            key: Secret key of the session; the server receives a key derived from it, which ranks the rows of a unit.

        Raises:
            InvalidArgument: queries of the server could fail because of rows, it would log the key, or the unit's
                column is missing or of a wrong type.
        """
        super().__init__(link)
        self._table = DerivingTable.from_table(table)
        self._unit = unit
        self._data_key = key
        # The server learns a derived key only.
        self._key = hmac.digest(key, b"rows ranked by PostgreSQL", "sha256")
        self._proven: set[Grid] = set()
        self.moment: int | None = hash_snapshot(link, table)
        self._state = TableState(link, table, key)
        self._require_suitable_server()

    def __repr__(self) -> str:
        return "PostgresEngine(hidden)"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table in its order, with the SQL that reads them; derived columns follow."""
        return self._table.columns

    def state(self) -> int | None:
        """Return a hash of the table's rows in the snapshot, to see later whether they have changed; None for views,
        and for roles that may not read all columns.
        """
        return self._state.hash_state()

    def derive(self, text: str, is_numeric: bool, argument: str) -> tuple[Column, int]:
        """Return the column that an expression defines, and its position after the columns of the table.

        Args:
            text: The expression.
            is_numeric: Whether its value must be a number.
            argument: Name of the argument at fault, for errors.

        Raises:
            InvalidArgument: the expression is invalid; this depends on the schema alone.
        """
        column, position = self._table.derived.add(text, is_numeric, argument)
        self._require_evaluable(self._table, [position], argument)
        return column, position

    def filtered(self, where: str, keeps_failing_rows: bool) -> PostgresEngine:
        """Return an engine on the same connection and snapshot that counts only rows that pass a condition.

        Args:
            where: The condition.
            keeps_failing_rows: Whether the other rows stay, with all values missing. False: they are left out.

        Raises:
            InvalidArgument: the condition is invalid; this depends on the schema alone.
        """
        condition = self._table.derived.add_condition(where)
        engine = copy(self)
        engine._table = replace(self._table, condition=condition, keeps_failing_rows=keeps_failing_rows)
        self._require_evaluable(engine._table, [], "where")
        return engine

    def _require_evaluable(self, table: DerivingTable, places: Sequence[int], argument: str) -> None:
        """Refuse an expression that the server cannot evaluate, by asking for its query plan. No row is read.

        An example is a letter that the server's encoding lacks.

        Args:
            table: Table with derived columns.
            places: Positions of the columns to check.
            argument: Name of the argument that the error names.

        Raises:
            InvalidArgument: the server cannot plan the query.
        """
        self._link.fetch_rows(f"SELECT 1 FROM {table.scan_sql(places)} LIMIT 0", (), EXPRESSION_FAILURE, argument)

    def _require_suitable_server(self) -> None:
        """Refuse a server whose queries could fail because of rows, or that would log secrets.

        Raises `InvalidArgument`; also if the unit's column is missing or of a wrong type, or the server cannot rank
        rows.
        """
        require_unlimited_sorts(self._link)
        if self._unit == EACH_RECORD:
            return
        unit = find_column(self._unit.column, self.columns, "unit")
        require_unit(self.columns[unit])
        require_no_parameter_log(self._link)
        statement = Statement()
        self._link.fetch_rows(
            f"SELECT * FROM {self._used_rows_sql([unit], statement)} LIMIT 0", statement.parameters, RANKING_FAILURE
        )

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        """Check on public numbers that the server finds the right cells, for grids that were not checked yet.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Raises:
            ValueError: a public number falls into another cell.
        """
        unchecked = [
            bound_axis
            for bound_axis in bound
            if isinstance(bound_axis.axis, Axis) and bound_axis.axis.grid not in self._proven
        ]
        require_conformance(self, unchecked)
        self._proven |= {bound_axis.axis.grid for bound_axis in unchecked if isinstance(bound_axis.axis, Axis)}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        """SENSITIVE: return the exact number of rows within the contribution bound per cell, followed by the rows
        missing on any axis.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Returns:
            Array of shape ``(cells + 1,)``, the last axis fastest.
        """
        statement = Statement()
        index_sql = self._cell_index_sql(bound, statement)
        totals = self._total_by_place(f"SELECT {index_sql} AS place", "count(*)", bound, statement)
        table = np.zeros(table_size(bound) + 1, dtype=np.int64)
        for index, count in totals:
            table[table_size(bound) if index is None else index] = count
        return table

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """SENSITIVE: return, for each cell, the exact sum of its values' offsets from the middle of the cell; last a 0.

        Offsets are on the last axis, in integer steps.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle.

        Returns:
            The sums as integers of any size, the last axis fastest; the last entry stands for missing rows.
        """
        return self._sum_amounts(bound, half, "amount")

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """SENSITIVE: return, for each cell, the exact sum of ``2 * offset**2 - half**2`` over its values; last a 0.

        The offset of a value is its distance from the middle of its cell on the last axis, in integer steps.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle.

        Returns:
            The sums as integers of any size, the last axis fastest; the last entry stands for missing rows.
        """
        return self._sum_amounts(bound, half, f"2 * amount * amount - {half**2}")

    def _sum_amounts(self, bound: Sequence[BoundAxis], half: int, amount: str) -> list[int]:
        """SENSITIVE: return for each cell the exact sum, over its rows, of an SQL expression of `amount`, the offset of
        a number from the middle of its cell. A 0 follows.

        Args:
            bound: Axes of the query; the last one has the numbers that are summed.
            half: Integer steps in half the width of a cell, the unit of offsets.
            amount: SQL of the summed number, in terms of the column `amount`, the offset from the middle of the cell.

        Returns:
            Sums, (cells + 1,), as Python integers; missing rows count 0.
        """
        statement = Statement()
        last = len(bound) - 1
        slots = [sql.slot_sql(axis, position, statement) for position, axis in enumerate(bound)]
        columns = ", ".join([*(f"{slot} AS s{i}" for i, slot in enumerate(slots)), f"n{last}"])
        grid = require_grid(bound[-1].axis)
        offset = sql.offset_sql(grid, f"n{last}", f"s{last}", half, statement)
        index_sql = sql.cell_index_sql(bound, [f"s{i}" for i in range(len(bound))])
        # The subquery computes each slot once instead of once per use.
        rows = sql.read_sql(bound, self._used_rows(bound, statement))
        slotted = f"SELECT {columns} FROM ({rows}) AS values {sql.OPTIMISER_FENCE}"
        placed_sql = f"SELECT {index_sql} AS place, {offset} AS amount FROM ({slotted}) AS slotted"
        query = (
            f"SELECT place, sum({amount})::text FROM ({placed_sql}) AS placed WHERE place IS NOT NULL GROUP BY place"
        )
        table = [0] * (table_size(bound) + 1)
        for index, total in self._link.fetch_rows(query, statement.parameters):
            table[index] = int(total)
        return table

    def prefixes(self, bound: Sequence[BoundAxis], lengths: Sequence[int]) -> list[int]:
        """SENSITIVE: return exact counts of rows in prefixes of the table (its first cells), within the contribution
        bound.

        Args:
            bound: Axes of the query; prefixes are along the last one.
            lengths: Number of cells in each prefix.

        Returns:
            Count of each prefix for each combination of the other axes, then the count of missing rows.
        """
        *first, _ = bound
        intervals = PrefixIntervals.from_entries(bound, lengths)
        statement = Statement()
        slots = [sql.slot_sql(axis, number, statement) for number, axis in enumerate(first)]
        piece = sql.threshold_count_sql(intervals.start_values, f"n{len(first)}", statement)
        row = f"{sql.cell_index_sql(first, slots)} * {intervals.count}::int8 + " if first else ""
        counts = intervals.zero_counts
        for index, number in self._total_by_place(f"SELECT {row}({piece}) AS place", "count(*)", bound, statement):
            counts[-1 if index is None else index] = number
        return intervals.sum_prefixes(counts)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        """SENSITIVE: yield the values of the rows within the contribution bound, in batches: numbers for grids, indices
        of categories (slots) for others; NaN: missing.

        Args:
            bound: Axes of the query, bound to their columns.

        Yields:
            One array per axis, (rows,).
        """
        statement = Statement()
        numbers = self._numbers_sql(bound, statement)
        rows_sql = sql.read_sql(bound, self._used_rows(bound, statement))
        query = f"SELECT {numbers} FROM ({rows_sql}) AS values"
        for rows in self._link.fetch_batches(query, ROWS_PER_FETCH, statement.parameters):
            yield list(np.array(rows, dtype=np.float64).T)  # NULL becomes NaN

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        """SENSITIVE: yield batches of the rows within the contribution bound, with the random subset of each row's
        unit.

        Args:
            bound: Axes of the query, bound to their columns.
            subsets: Number of random subsets of the units.

        Yields:
            One array per axis, (rows,): numbers, or indices of categories; then the index of the unit's subset,
            (rows,).
        """
        statement = Statement()
        places = sorted({axis.place for axis in bound})
        numbers = self._numbers_sql(bound, statement)
        unit_columns = [] if self._unit == EACH_RECORD else [find_column(self._unit.column, self.columns)]
        used_sql = self._used_rows_sql(sorted({*places, *unit_columns}), statement) if unit_columns else ""
        named_sql = named_units_sql(self._table, places, self._unit, used_sql)
        query = f"SELECT {numbers}, name FROM ({sql.read_sql(bound, named_sql, 'name')}) AS values"
        for rows in self._link.fetch_batches(query, ROWS_PER_FETCH, statement.parameters):
            *columns, names = zip(*rows, strict=True)
            numbers_by_axis = [np.array(column, dtype=np.float64) for column in columns]
            yield [*numbers_by_axis, assign_subsets(names, self._key, subsets)]

    def _numbers_sql(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """Return a SELECT list with one value per axis: the number on a grid, or the index of the category.

        Args:
            bound: Axes of the question, matched to columns of the table.
            statement: Statement that collects the parameters of the SQL.
        """
        return ", ".join(
            f"n{i}" if isinstance(axis.axis, Axis) else f"({sql.slot_sql(axis, i, statement)})::float8"
            for i, axis in enumerate(bound)
        )

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        """SENSITIVE: return the cell index of each row within the contribution bound; the number of cells for rows
        missing on any axis.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Returns:
            Array of shape ``(rows,)``, in the order of the rows.
        """
        statement = Statement()
        index = self._cell_index_sql(bound, statement)
        query = f"SELECT {index} FROM ({sql.read_sql(bound, self._used_rows(bound, statement))}) AS values"
        rows = self._link.fetch_rows(query, statement.parameters)
        return np.array([table_size(bound) if cell is None else cell for (cell,) in rows], dtype=np.int64)

    def units(self) -> int:
        """SENSITIVE: return the exact number of units, or of rows if each record is a unit."""
        if self._unit == EACH_RECORD:
            ((number,),) = self._link.fetch_rows(f"SELECT count(*) FROM {self._table.name}")
            return int(number)
        index = find_column(self._unit.column, self.columns)
        named_sql = f"SELECT unit FROM {Table.scan_sql(self._table, [], index)}"  # all units, whether rows pass or not
        count_sql = "count(DISTINCT unit) + (count(*) > count(unit))::int"
        ((number,),) = self._link.fetch_rows(f"SELECT {count_sql} FROM ({named_sql}) AS named")
        return int(number)

    def unit_sizes(self) -> dict[int, int]:
        """SENSITIVE: return the exact number of units by number of rows.

        Returns:
            Number of units by number of rows that pass the filter; with a filter, units without a passing row have 0
            rows.
        """
        index = find_column(self._unit.column, self.columns)
        counted = f"count(*) FILTER (WHERE {self._table.passes})" if self._table.passes else "count(*)"
        sizes_sql = f"SELECT {counted} AS n FROM {self._table.scan_sql([], index)} GROUP BY unit"
        sized_rows = self._link.fetch_rows(f"SELECT n, count(*) FROM ({sizes_sql}) AS sized GROUP BY n")
        return {int(rows): int(units) for rows, units in sized_rows}

    def sized_units(self, bound: BoundAxis, doublings: int) -> IntArray:
        """SENSITIVE: return the exact number of units by number of rows and by cell of an axis, from which the
        contribution bound can be chosen.

        Numbers of rows are in classes of 1, 2, 3 to 4, 5 to 8, and so on.

        Args:
            bound: The axis, bound to its column. A unit counts in the cell of one of its rows, the first in the secret
                ranking.
            doublings: Number of size classes beyond the first.
        """
        statement = Statement()
        one_row = replace(self._unit, records=1)
        slot = sql.slot_sql(bound, 0, statement)
        used_sql = (
            f"({used_rows_sql(self._table, [bound.place], one_row, self._key, statement, with_size=True)}) AS used"
        )
        placed_sql = f"SELECT {slot} AS slot, size FROM ({sql.read_sql([bound], used_sql, 'size')}) AS values"
        count_sql = f"SELECT slot, size, count(*) FROM ({placed_sql}) AS placed GROUP BY slot, size"
        return tabulate_units(self._link.fetch_rows(count_sql, statement.parameters), bound.axis.slots, doublings)

    def names(self, bound: BoundAxis) -> dict[str, int]:
        """SENSITIVE: return the exact number of units in each category of a column, by the name of the category.

        Args:
            bound: Column of categories.

        Returns:
            Units by name; names longer than `LONGEST_CATEGORY` bytes and missing values are left out.
        """
        statement = Statement()
        name, has_value = sql.name_sql(bound.column, f"c{bound.place}")
        if self._unit == EACH_RECORD:
            rows = self._table.scan_sql([bound.place])
            unit = ""
            units = "count(*)"
        else:
            index = find_column(self._unit.column, self.columns)
            rows = self._used_rows_sql(sorted({bound.place, index}), statement)
            unit = f", {self.columns[index].unit.format(f'c{index}')} AS unit"
            units = "count(DISTINCT unit) + (count(*) > count(unit))::int"
        named_sql = f"SELECT {name} AS name{unit} FROM {rows} WHERE {has_value}"
        is_short_sql = f"octet_length(name) <= {LONGEST_CATEGORY}"
        count_sql = f"SELECT name, {units} FROM ({named_sql}) AS named WHERE {is_short_sql} GROUP BY name"
        name_rows = self._link.fetch_rows(count_sql, statement.parameters)
        texts = ((decode_name(bytes(text)), int(number)) for text, number in name_rows)
        names = ((value_name(text, bound.column.value_type), number) for text, number in texts)
        return {value: number for value, number in names if value is not None}

    def using(self, unit: Unit) -> PostgresEngine:
        """Return an engine on the same connection and snapshot under another contribution bound.

        Args:
            unit: Privacy unit with its contribution bound.
        """
        engine = PostgresEngine(self._link, self._table, unit, self._data_key)
        engine._state, engine._table = self._state, self._table  # with its filter and its derived columns
        return engine

    def close(self) -> None:
        """Close the connection to the database, which ends the snapshot."""
        self._link.close()

    def _total_by_place(
        self, select_sql: str, total: str, bound: Sequence[BoundAxis], statement: Statement
    ) -> list[Any]:
        """SENSITIVE: return each cell of a table with an exact aggregate, such as the count, of its rows.

        Args:
            select_sql: SELECT list with the index of the cell, named `place`.
            total: SQL aggregate, such as ``count(*)``.
            bound: Axes of the query, bound to their columns.
            statement: Parameters of the SQL.

        Returns:
            Pairs of cell index (None: missing) and aggregate, in no order; cells without rows are left out.
        """
        rows = f"({sql.read_sql(bound, self._used_rows(bound, statement))}) AS values"
        # The subquery keeps the planner from overestimating the groups, so that it hashes them in parallel.
        query = f"SELECT place, {total} FROM ({select_sql} FROM {rows} {sql.OPTIMISER_FENCE}) AS placed GROUP BY place"
        return self._link.fetch_rows(query, statement.parameters)

    def _cell_index_sql(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """Return SQL of a row's cell, with the last axis varying fastest; NULL if missing.

        Args:
            bound: Axes of the query, each with its column of the schema.
            statement: Parameters of the SQL, to which arrays and texts are added.
        """
        return sql.cell_index_sql(
            bound, [sql.slot_sql(axis, position, statement) for position, axis in enumerate(bound)]
        )

    def _used_rows(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """Return a FROM clause of the rows within the contribution bound, with the columns of these axes.

        Args:
            bound: Axes of the question, matched to columns of the table.
            statement: Statement that collects the parameters of the SQL.
        """
        places = sorted({axis.place for axis in bound})
        if self._unit == EACH_RECORD:
            return self._table.scan_sql(places)
        return self._used_rows_sql(places, statement)

    def _used_rows_sql(self, places: Sequence[int], statement: Statement) -> str:
        """Return a FROM clause of the rows within the contribution bound with the columns at these positions.

        Args:
            places: Positions of the columns in the schema.
            statement: Parameters of the SQL, to which the key is added.
        """
        return f"({used_rows_sql(self._table, places, self._unit, self._key, statement)}) AS used"


def hash_snapshot(link: SnapshotConnection, table: Table) -> int:
    """Return a hash of the snapshot, equal only if the same server shows the effects of the same transactions.

    Args:
        link: Connection in its snapshot.
        table: Table of the server.
    """
    return _hash_facts((link.fetch_rows(_SERVER), link.fetch_rows(_SNAPSHOT), table.oid))


def _hash_facts(facts: object, key: bytes = b"") -> int:
    """Return a hash, below 2**60, of an object's `repr`, which identifies a state of the data.

    Args:
        facts: Object whose `repr` states what identifies the state.
        key: Key of an HMAC; empty: a hash without key.
    """
    return int(hmac.new(key, repr(facts).encode(), sha256).hexdigest()[:15], 16)


class TableState:
    """The state of a table in a snapshot, as a number.

    Equal numbers mean that the same server shows the same versions of the same rows. A row version is identified by its
    location and its transaction (`ctid`, `xmin`), so the number of an unchanged table is stable under commits
    elsewhere. Views, and roles without access to all columns, have no number.

    The number is a hash under the data set's key: a reader of the ledger cannot verify a guess of the row versions,
    which would reveal the number of rows.

    The table is scanned once, on first use.
    """

    def __init__(self, link: SnapshotConnection, table: Table, key: bytes) -> None:
        """Prepare to hash the rows of a table; no row is read yet.

        Args:
            link: Connection in its snapshot.
            table: Table of the server.
            key: Secret key, so that the hash reveals nothing about rows.
        """
        self._link = link
        self._table = table
        self._key = hmac.digest(key, b"state of a table of PostgreSQL", "sha256")
        self._number: int | None = None
        self._is_known = False

    def __repr__(self) -> str:
        return "TableState(hidden)"

    def hash_state(self) -> int | None:
        """Return a number that identifies the rows of the table in the snapshot, to see later whether they have
        changed.

        Returns:
            Hash; None for views and for roles without access to all columns.
        """
        if not self._is_known:
            if self._link.fetch_rows(_HAS_VERSIONS, (self._table.oid,)) == [(True,)]:
                versions = self._link.fetch_rows(_VERSIONS.format(self._table.name))
                facts = self._link.fetch_rows(_SERVER), self._table.oid, versions
                self._number = _hash_facts(facts, self._key)
            self._is_known = True
        return self._number
