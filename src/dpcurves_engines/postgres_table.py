"""A table or view of PostgreSQL, named: how it is opened, and rows that are read over the connection. SENSITIVE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from arro3.core import Array, DataType

from dpcurves.arguments import Refused, require_kind
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records.engines.duckdb import DuckEngine
from dpcurves.records.engines.engine import CountingEngine, EngineTable
from dpcurves.records.source import LONGEST_TEXT, ArrowSource, Column, Kind, column_of, place_of, wide_numbers

from .postgres_engine import moment_of
from .postgres_link import FAILED, Link
from .postgres_sql import BOOLEAN, NUMERIC, WHOLE, Table, require_unit

# SENSITIVE. Rows of PostgreSQL that are read over the connection, then ranked and counted by DuckDB here.
ROWS_AT_ONCE = 2**14
BYTES = DataType.large_binary()


class StreamedEngine(DuckEngine):
    """Reads what it needs once, in the snapshot, and keeps it in a folder that nobody else may read."""

    failure: str = FAILED

    def __init__(self, link: Link, table: Table, unit: Unit, key: bytes) -> None:
        require_unit(table.columns[place_of(unit.column, table.columns, "unit")])
        super().__init__(_source(link, table), unit, key)
        self._link, self._table, self._data_key = link, table, key
        self.moment = moment_of(link, table)

    def using(self, unit: Unit) -> StreamedEngine:
        return StreamedEngine(self._link, self._table, unit, self._data_key)

    def close(self) -> None:
        super().close()
        self._link.close()


def _source(link: Link, table: Table) -> ArrowSource:
    """Rows as they travel: numbers as numbers, all else as text."""
    read_as = [_Read.of(*each) for each in zip(table.columns, table.quoted, table.types, strict=True)]

    def read(places: Sequence[int]) -> Iterator[list[Array]]:
        named = ", ".join(read_as[place].value for place in places)
        for rows in link.batches(f"SELECT {named} FROM {table.name}", ROWS_AT_ONCE):
            columns = zip(zip(*rows, strict=True), places, strict=True)
            yield [Array(each, read_as[place].held) for each, place in columns]

    return ArrowSource(tuple(each.column for each in read_as), tuple(each.held for each in read_as), read, costly=True)


class _Read(NamedTuple):
    """A column here, the type in which it travels, and the SQL of its value."""

    column: Column
    held: DataType
    value: str

    @classmethod
    def of(cls, column: Column, name: str, oid: int) -> _Read:
        # A number that is a unit must not be rounded, nor be written in two ways.
        if oid == NUMERIC:
            return cls(
                wide_numbers(column.name),
                BYTES,
                _bytes(f"trim_scale({name})::text", f"{name} <> 'NaN'"),
            )
        if column.kind is Kind.NUMBERS:
            held = DataType.bool() if oid == BOOLEAN else DataType.int64() if oid in WHOLE else DataType.float64()
            return cls(column_of(column.name, held), held, name)
        if column.kind is Kind.OTHER:
            return cls(Column(column.name, Kind.OTHER, "NULL::DOUBLE"), BYTES, "NULL::bytea")
        text = column.text.format(name)
        read = Column(column.name, column.kind, "NULL::DOUBLE")
        return cls(read, BYTES, _bytes(text, f"octet_length({text}) <= {LONGEST_TEXT}"))


def _bytes(text: str, condition: str) -> str:
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

    Raises:
        TypeError, ValueError: the URL or the name is no text, or `ranking` is another word.

    >>> postgres("postgresql://reader:password@localhost/db", table="clinic.visits")
    postgres(table='clinic.visits')
    """
    require_kind("table", table, str, "the name of a table or view, as clinic.visits,")
    require_kind("data", url, str, "a URL, as postgresql://reader@host/database,")
    if ranking not in (THERE, HERE):
        raise Refused("ranking", f"{THERE} or {HERE} is needed")
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
        from .postgres_engine import PostgresEngine
        from .postgres_link import Link
        from .postgres_sql import found_table

        link = Link(self.url)
        try:
            table = found_table(link, self.table)
            if unit != EACH_RECORD and self.ranking == HERE:
                return StreamedEngine(link, table, unit, key)
            return PostgresEngine(link, table, unit, key)
        except BaseException:
            link.close()
            raise
