"""The process that reads one synthetic table: the schema and the file come in, Parquet goes out, or one line."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from dpcurves.arguments import Refused
from dpcurves.data import Categories

from .declared_columns import MOST_ROWS, Declared, columns_from_json
from .packing import LARGEST, NO_TABLE, REFUSED, SECONDS

MEMORY = 3 * 2**30
"""Octets of addresses, libraries included."""
PARQUET = b"PAR1"


def main() -> None:
    """Read what stands on standard input, and end.

    The end is `os._exit`: threads of Arrow that still run when Python finalises abort the process (in 1 of 120 ends),
    and its refusal would be taken for a table that cannot be read.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    schema, _, table = sys.stdin.buffer.read().partition(b"\n")
    try:
        said, status = repacked(table, columns_from_json(json.loads(schema))), 0
    except Refused as error:
        said, status = error.rule.encode(), REFUSED
    sys.stdout.buffer.write(said)
    sys.stdout.buffer.flush()
    os._exit(status)


def repacked(octets: bytes, columns: Sequence[Declared]) -> bytes:
    """A table as Parquet, with its declared columns, each of the declared kind.

    Raises:
        ValueError: it can not be read, or is too large, or lacks a column, or holds something else in it.
    """
    try:
        table = _parquet(octets, columns) if octets.startswith(PARQUET) else _csv(octets, columns)
        _require_rows(table.num_rows)
        kept = pa.table({str(each.column): _fitting(table.column(str(each.column)), each) for each in columns})
    except (OSError, pa.ArrowException, MemoryError, UnicodeDecodeError):
        raise Refused("synthetic", NO_TABLE) from None
    drain = BytesIO()
    parquet.write_table(kept, drain, compression="zstd")
    if drain.tell() > LARGEST:
        raise Refused("synthetic", f"packed, at most {LARGEST} octets are taken")
    return drain.getvalue()


def _parquet(octets: bytes, columns: Sequence[Declared]) -> Any:
    file = parquet.ParquetFile(BytesIO(octets))
    _require_rows(file.metadata.num_rows)
    _require_columns(file.schema_arrow.names, columns)
    return file.read([str(each.column) for each in columns])


def _csv(octets: bytes, columns: Sequence[Declared]) -> Any:
    """Read every field of a CSV file as text: no type is guessed from rows."""
    (head,) = octets[: 2**20].splitlines()[:1] or [b""]
    _require_columns(csv.read_csv(BytesIO(head + b"\n")).column_names, columns)
    names = [str(each.column) for each in columns]
    declared = {str(value) for each in columns if isinstance(each, Categories) for value in each.values}
    ways = csv.ConvertOptions(
        include_columns=names, column_types={name: pa.string() for name in names}, strings_can_be_null=True,
        null_values=[word for word in csv.ConvertOptions().null_values if word not in declared],
    )  # fmt: skip
    return csv.read_csv(BytesIO(octets), convert_options=ways)


def _fitting(values: Any, declared: Declared) -> Any:
    kind = _kind(declared)
    if pa.types.is_boolean(values.type) and kind is not None:
        values = values.cast(pa.int8())
    if kind is None or _is_number(values.type):
        return values if _is_number(values.type) and kind is not None else _cast(values, declared, pa.string())
    return _cast(values, declared, kind)


def _kind(declared: Declared) -> Any:
    """The type of numbers that a column has; None: it has texts."""
    if not isinstance(declared, Categories):
        return pa.float64()
    if any(isinstance(value, str) for value in declared.values):
        return None
    return pa.int64() if all(isinstance(value, int) for value in declared.values) else pa.float64()


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _cast(values: Any, declared: Declared, kind: Any) -> Any:
    try:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return pc.cast(pc.utf8_trim_whitespace(values) if pa.types.is_string(values.type) else values, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        what = "numbers" if kind != pa.string() else "categories"
        raise Refused("synthetic", f"its column {str(declared.column)!r} does not hold {what}, as declared") from None


def _require_columns(names: Sequence[str], columns: Sequence[Declared]) -> None:
    for each in columns:
        if list(names).count(str(each.column)) != 1:
            raise Refused("synthetic", f"it lacks the column {str(each.column)!r} of the dataset, or has it twice")


def _require_rows(rows: int) -> None:
    if not 1 <= rows <= MOST_ROWS:
        raise Refused("synthetic", f"1 to {MOST_ROWS:,} rows are needed")


if __name__ == "__main__":
    main()
