"""SENSITIVE. Rows of PostgreSQL that are read over the connection, then ranked and counted by DuckDB here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from dpcurves.privacy import Unit
from dpcurves.records.arrow import ArrowSource
from dpcurves.records.arrow_types import column_of
from dpcurves.records.column import LONGEST_TEXT, Column, Kind, place_of, wide_numbers
from dpcurves.records.engines.duckdb_engine import DuckEngine

from .postgres_engine import moment_of
from .postgres_link import FAILED, Link
from .postgres_table import Table
from .postgres_types import BOOLEAN, NUMERIC, WHOLE, require_unit

ROWS_AT_ONCE = 2**14


class StreamedEngine(DuckEngine):
    """Reads what it needs once, in the snapshot, and keeps it in a folder that nobody else may read."""

    failure: str = FAILED

    def __init__(self, link: Link, table: Table, unit: Unit, key: bytes) -> None:
        require_unit(table.columns[place_of(unit.column, table.columns, "unit")])
        super().__init__(_source(link, table), unit, key)
        self._link = link
        self.moment = moment_of(link, table)

    def close(self) -> None:
        super().close()
        self._link.close()


def _source(link: Link, table: Table) -> ArrowSource:
    """Rows as they travel: numbers as numbers, all else as text."""
    read_as = [_Read.of(*each) for each in zip(table.columns, table.quoted, table.types, strict=True)]

    def read(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        named = ", ".join(read_as[place].value for place in places)
        schema = pa.schema([(str(place), read_as[place].held) for place in places])
        for rows in link.batches(f"SELECT {named} FROM {table.name}", ROWS_AT_ONCE):
            columns = zip(zip(*rows, strict=True), schema, strict=True)
            yield pa.RecordBatch.from_arrays(
                [pa.array(each, type=field.type) for each, field in columns], schema=schema
            )

    return ArrowSource(tuple(each.column for each in read_as), tuple(each.held for each in read_as), read, costly=True)


class _Read(NamedTuple):
    """A column here, the type in which it travels, and the SQL of its value."""

    column: Column
    held: pa.DataType
    value: str

    @classmethod
    def of(cls, column: Column, name: str, oid: int) -> _Read:
        # A number that is a unit must not be rounded, nor be written in two ways.
        if oid == NUMERIC:
            return cls(
                wide_numbers(column.name), pa.large_binary(), _bytes(f"trim_scale({name})::text", f"{name} <> 'NaN'")
            )
        if column.kind is Kind.NUMBERS:
            held = pa.bool_() if oid == BOOLEAN else pa.int64() if oid in WHOLE else pa.float64()
            return cls(column_of(column.name, held), held, name)
        if column.kind is Kind.OTHER:
            return cls(Column(column.name, Kind.OTHER, "NULL::DOUBLE"), pa.large_binary(), "NULL::bytea")
        text = column.text.format(name)
        held = Column(column.name, column.kind, "NULL::DOUBLE")
        return cls(held, pa.large_binary(), _bytes(text, f"octet_length({text}) <= {LONGEST_TEXT}"))


def _bytes(text: str, condition: str) -> str:
    return f"CASE WHEN {condition} THEN convert_to({text}, 'UTF8') END"
