"""SENSITIVE. Records in a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ..arguments import Refused
from .arrow import ArrowSource
from .arrow_types import column_of
from .column import Column, called
from .hiding import hidden
from .source import with_whole_rows

ROWS_AT_ONCE = 2**16


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ParquetSource:
    """A file whose numbers DuckDB reads by itself. All else is read by Arrow, which shows nothing that it finds."""

    path: Path
    schema: pa.Schema
    by_arrow: ArrowSource
    costly: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.by_arrow.columns

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        fields = [self.schema.field(place) for place in places]
        if not (self._has_clear_names() and all(_is_plain(field.type) for field in fields)):
            return self.by_arrow.scan(connection, places)
        named = [f"{_name(field.name)} AS {called(place)}" for field, place in zip(fields, places, strict=True)]
        return f"(SELECT {', '.join(named)} FROM read_parquet({_literal(self.path)}, hive_partitioning = false))"

    def _has_clear_names(self) -> bool:
        """Tell whether names differ not only in the case of their letters, to which SQL is blind."""
        return len({name.lower() for name in self.schema.names}) == len(self.schema)

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        return with_whole_rows(self.scan(connection, range(len(self.columns))), self.columns, places)


def source_of_parquet(path: Path) -> ParquetSource:
    """The file at `path`, of which the schema is read here.

    Raises:
        ValueError: it is no Parquet file, or two columns have the same name.
    """
    schema = hidden(lambda: pq.read_schema(path), f"{path.name!r} is no Parquet file that can be read")
    if len(set(schema.names)) < len(schema):
        raise Refused("data", f"two columns of {path.name!r} have the same name")

    def read(places: Sequence[int]) -> Iterable[pa.RecordBatch]:
        names = [schema.names[place] for place in places]
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=names):
                yield batch.select(names)

    columns = tuple(column_of(field.name, field.type) for field in schema)
    return ParquetSource(path, schema, ArrowSource(columns, tuple(schema.types), read, costly=False))


def _is_plain(held: pa.DataType) -> bool:
    """Tell whether DuckDB and Arrow have one and the same reading of every value."""
    types = pa.types
    return bool(types.is_boolean(held) or types.is_integer(held) or types.is_float32(held) or types.is_float64(held))


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(path: Path) -> str:
    """The path in quotes, where no character stands for others."""
    plain = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"
