"""SENSITIVE. Rows as a stream of Arrow batches, with types that DuckDB takes whatever the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from .arrow_types import plain_array, plain_type
from .column import Column, called
from .source import with_whole_rows

BATCH = 2**17
SCANNED = "scanned"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ArrowSource:
    """Columns of Arrow types, and how to read those at some places."""

    columns: tuple[Column, ...]
    types: tuple[pa.DataType, ...]
    read: Callable[[Sequence[int]], Iterable[pa.RecordBatch]]
    costly: bool

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        schema = pa.schema([(called(place), plain_type(self.types[place])) for place in places])
        return register(connection, schema, (_plain(batch, schema) for batch in self.read(places)))

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        rows = self.scan(connection, range(len(self.columns)))
        return with_whole_rows(rows, self.columns, places)


def register(connection: duckdb.DuckDBPyConnection, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> str:
    """Give DuckDB the batches under a name, once."""
    connection.register(SCANNED, pa.RecordBatchReader.from_batches(schema, batches))
    return SCANNED


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([plain_array(column) for column in batch.columns], schema=schema)
