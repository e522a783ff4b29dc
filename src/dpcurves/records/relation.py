"""SENSITIVE. Records behind a DuckDB relation, which stays on the connection of its owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa

from .arrow import BATCH, ArrowSource
from .arrow_types import column_of
from .column import LONGEST_TEXT, Column, Kind, wide_numbers

WIDE = {"hugeint", "uhugeint", "bignum", "varint"}
TAKEN = {
    "null", "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint",
    "float", "double", "decimal", "date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
    "timestamp with time zone", "enum",
}  # fmt: skip
TEXTS = {"varchar", "uuid", "blob"}
TIMES = {"time with time zone", "interval"}
TEXTS_AT_ONCE = 2**10


def source_of_relation(relation: duckdb.DuckDBPyRelation) -> ArrowSource:
    """The rows that `relation` gives, asked for anew by each query. Types that Arrow lacks travel as text."""
    kinds = [str(each.id) for each in relation.types]
    plain = relation.project(", ".join(_taken(place, kind) for place, kind in enumerate(kinds)))
    schema = pa.RecordBatchReader.from_stream(plain.limit(0)).schema

    def read(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        # Arrow has room for two gibibytes of text in a batch: for as many of the longest.
        rows = BATCH if all(kinds[place] in TAKEN for place in places) else TEXTS_AT_ONCE
        yield from plain.project(", ".join(f"#{place + 1}" for place in places)).to_arrow_reader(rows)

    columns = (_column(*each) for each in zip(relation.columns, kinds, schema.types, strict=True))
    return ArrowSource(tuple(columns), tuple(schema.types), read, costly=False)


def _taken(place: int, kind: str) -> str:
    value = f"#{place + 1}"
    if kind not in TAKEN:
        text = f"CAST({value} AS VARCHAR)"
        value = f"CASE WHEN strlen({text}) <= {LONGEST_TEXT} THEN {value if kind == 'blob' else text} END"
    return f"{value} AS c{place}"


def _column(name: str, kind: str, declared: pa.DataType) -> Column:
    if kind in WIDE:
        return wide_numbers(name)
    column = column_of(name, declared)
    if kind in TAKEN | TEXTS:
        return column
    return Column(name, Kind.TIMES if kind in TIMES else Kind.OTHER, column.number)
