"""The public schema of a table, dummy tables sampled from it, and validation of uploaded synthetic tables.

    schema          numbers with a range, or categories; either may be unknown, and is then found privately
    dummy_table     independent, uniform values of the declared columns
    pack_table      an uploaded synthetic table, checked against the schema in a process with limits

Uploads are parsed outside the server, because a file may be made to use up memory or time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from io import BytesIO
from threading import BoundedSemaphore
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import declared_columns_from_json, declared_columns_to_json
from dpcurves.data import Categories, UnlistedCategories, parse_universe
from dpcurves.inference import public_generator
from dpcurves.models import NumericColumn
from dpcurves_parties.serving.messages import ProtocolError

Declared = NumericColumn | Categories
UNKNOWN_RANGE = (-(2.0**100), 2.0**100)
"""Declared range of a column of numbers with an unknown range, which questions find privately."""


UNKNOWN_DATES = (-(2.0**99), 2.0**99)
"""Declared range of a column of dates, times or durations by its schema, whose range questions find privately."""
UNKNOWN_CSV_DATES = (-(2.0**98), 2.0**98)
"""Declared range of a column of dates in a CSV file, which declares no types: days since 1970-01-01."""
NAME_UNIVERSE = "!-~ À-ÿ:60"
"""Universe of unknown categories: up to 60 letters of Western European languages, digits and signs. A name needs more
units the longer it is, whatever the longest length: the expected number of made-up names is split over the lengths."""


def has_unknown_range(column: Declared) -> bool:
    """Return True for a column of numbers or of dates with an unknown range.

    >>> has_unknown_range(NumericColumn("income", *UNKNOWN_RANGE)), has_unknown_range(NumericColumn("age", 0, 120))
    (True, False)
    """
    return has_dates(column) or (isinstance(column, NumericColumn) and (column.lower, column.upper) == UNKNOWN_RANGE)


def has_dates(column: Declared) -> bool:
    """Return True for a column of dates, times or durations."""
    is_typed = isinstance(column, NumericColumn) and (column.lower, column.upper) == UNKNOWN_DATES
    return is_typed or has_csv_dates(column)


def has_csv_dates(column: Declared) -> bool:
    """Return True for a column of dates in a CSV file."""
    return isinstance(column, NumericColumn) and (column.lower, column.upper) == UNKNOWN_CSV_DATES


def has_unknown_categories(column: Declared) -> bool:
    """Return True for a column of categories that questions find privately.

    >>> has_unknown_categories(declare_unknown_categories("city")), has_unknown_categories(Categories("sex", ("f",)))
    (True, False)
    """
    return isinstance(column, UnlistedCategories)


def declare_unknown_categories(name: str) -> UnlistedCategories:
    """Return a column of categories that questions find privately, in `NAME_UNIVERSE`, which needs no delta."""
    return UnlistedCategories(name, universe=parse_universe(NAME_UNIVERSE))


def columns_from_json(columns: Any) -> tuple[Declared, ...]:
    """Parse columns written by `declared_columns_to_json` or by hand.

    Raises:
        ValueError: The list of columns is empty or too long, or two have the same name.
    """
    declared = declared_columns_from_json("columns", columns)
    names = [str(column.column) for column in declared]
    most_columns = 2000  # columns of a dataset
    if not 1 <= len(names) <= most_columns or len(set(names)) < len(names):
        raise InvalidArgument("columns", f"1 to {most_columns} columns with different names are needed; declare them")
    return declared


MOST_ROWS = 1_000_000
"""Largest number of rows of an uploaded or trial table. The counting of a question then takes seconds, and the table
fits into the memory of a worker."""
USUAL_ROWS = 10_000
"""Rows of a dummy table if the number of units is private."""


def dummy_table(columns: Sequence[Declared], rows: int, names: Collection[str] | None = None) -> pa.Table:
    """Return a dummy table of independent, uniform values of the declared columns.

    Arguments:
        columns: The public schema.
        rows: The number of rows.
        names: The columns to include; None includes all. A column's values do not depend on the other columns.

    >>> from dpcurves.data import Categories
    >>> dummy_table((Categories("sex", ("f", "m")),), 3).num_rows
    3
    """
    generators = public_generator(None).spawn(len(columns))
    selected = [
        (column, generator)
        for column, generator in zip(columns, generators, strict=True)
        if names is None or str(column.column) in names
    ]
    return pa.table({str(column.column): _sample_column(column, generator, rows) for column, generator in selected})


def _sample_column(column: Declared, generator: np.random.Generator, rows: int) -> Any:
    """Return `rows` independent uniform values of a declared column, as an Arrow array."""
    if isinstance(column, Categories):
        values = ["A", "B", "C"] if has_unknown_categories(column) else list(column.values)
        uniform_values = values if len({type(value) for value in values}) == 1 else list(map(str, values))
        return pa.array(uniform_values).take(pa.array(generator.integers(len(uniform_values), size=rows)))
    if has_dates(column):  # days of five years from 2020-01-01
        return pa.array(generator.integers(18262, 20089, size=rows), pa.int32()).cast(pa.date32())
    lower, upper = (0.0, 100.0) if has_unknown_range(column) else (column.lower, column.upper)
    return pa.array(generator.uniform(lower, upper, rows))


# Uploaded tables are parsed in a separate process with limits on memory and time.
#
# A malicious file may crash its parser or expand a millionfold; then only this process ends. A process pool could not
# apply these limits, as its processes are forked or reused.


LARGEST_TABLE_BYTES = 2**26
"""Largest size of an uploaded table in bytes, as it is sent, and as the Parquet file that is made of it."""
READING_SECONDS = 60
"""Seconds of time and of processor time for parsing a table."""
REFUSED_STATUS = 3
"""Exit status with an error message on standard output; other non-zero statuses mean an unreadable file."""
NO_TABLE = "upload a valid CSV or Parquet file"
_TURN = BoundedSemaphore(1)


def pack_table(table: bytes, columns: Sequence[Declared]) -> bytes:
    """Validate a table against the public schema and return its declared columns as Parquet.

    Arguments:
        table: A CSV or Parquet file, recognised by its content.
        columns: The public schema.

    Raises:
        ProtocolError: Another table is being parsed, or the file is too large.
        ValueError: The table does not fit the schema; the message names the column.
    """
    if len(table) > LARGEST_TABLE_BYTES:
        raise ProtocolError(
            "synthetic", f"a table may have at most {LARGEST_TABLE_BYTES} bytes; upload fewer rows or columns", 413
        )
    if not _TURN.acquire(blocking=False):
        raise ProtocolError("synthetic", "another table is being read; try again in a minute", 503)
    try:
        return _run_reader(json.dumps(declared_columns_to_json(columns)).encode() + b"\n" + table)
    finally:
        _TURN.release()


def _run_reader(message: bytes) -> bytes:
    """Return the output of the parsing process for a message.

    Raises `InvalidArgument` if it refuses the table, fails, or takes too long.
    """
    command = [sys.executable, "-m", "dpcurves_server.declared_columns"]
    try:
        reader = subprocess.run(command, input=message, capture_output=True, timeout=READING_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidArgument("synthetic", NO_TABLE) from None
    if reader.returncode == REFUSED_STATUS:
        raise InvalidArgument("synthetic", reader.stdout.decode(errors="replace"))
    if reader.returncode != 0:
        raise InvalidArgument("synthetic", NO_TABLE)
    return reader.stdout


MEMORY_BYTES = 3 * 2**30
"""Bytes of address space of the parsing process, libraries included."""
PARQUET = b"PAR1"
"""Magic bytes of a Parquet file."""


def main() -> None:
    """Parse the table on standard input, write the result, and exit.

    It exits by `os._exit`: Arrow threads that run while Python finalises abort the process (in 1 of 120 exits), and its
    error message would be lost.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (READING_SECONDS, READING_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    schema, _, table = sys.stdin.buffer.read().partition(b"\n")
    try:
        output = repack_table(table, columns_from_json(json.loads(schema)))
        status = 0
    except InvalidArgument as error:
        output = error.rule.encode()
        status = REFUSED_STATUS
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    os._exit(status)


def repack_table(octets: bytes, columns: Sequence[Declared]) -> bytes:
    """Return a table's declared columns, cast to the declared types, as Parquet.

    Raises:
        ValueError: The table is unreadable or too large, lacks a column, or has values of another type.
    """
    try:
        table = _read_parquet(octets, columns) if octets.startswith(PARQUET) else _read_csv(octets, columns)
        _require_rows(table.num_rows)
        declared_table = pa.table(
            {str(declared.column): _fit_column(table.column(str(declared.column)), declared) for declared in columns}
        )
    except (OSError, pa.ArrowException, MemoryError, UnicodeDecodeError):
        raise InvalidArgument("synthetic", NO_TABLE) from None
    buffer = BytesIO()
    parquet.write_table(declared_table, buffer, compression="zstd")
    if buffer.tell() > LARGEST_TABLE_BYTES:
        raise InvalidArgument(
            "synthetic",
            f"the table may have at most {LARGEST_TABLE_BYTES} bytes after unpacking; upload fewer rows or columns",
        )
    return buffer.getvalue()


def _read_parquet(octets: bytes, columns: Sequence[Declared]) -> Any:
    """Return the declared columns of a Parquet file. Raises `InvalidArgument` for missing columns and too many rows."""
    file = parquet.ParquetFile(BytesIO(octets))
    _require_rows(file.metadata.num_rows)
    _require_columns(file.schema_arrow.names, columns)
    return file.read([str(column.column) for column in columns])


def _read_csv(octets: bytes, columns: Sequence[Declared]) -> Any:
    """Read all fields of a CSV file as text, without inferring types."""
    (head,) = octets[: 2**20].splitlines()[:1] or [b""]
    _require_columns(csv.read_csv(BytesIO(head + b"\n")).column_names, columns)
    names = [str(column.column) for column in columns]
    declared = {str(value) for column in columns if isinstance(column, Categories) for value in column.values}
    options = csv.ConvertOptions(
        include_columns=names, column_types={name: pa.string() for name in names}, strings_can_be_null=True,
        null_values=[word for word in csv.ConvertOptions().null_values if word not in declared],
    )  # fmt: skip
    return csv.read_csv(BytesIO(octets), convert_options=options)


def _fit_column(values: Any, declared: Declared) -> Any:
    """Return a column as numbers or as texts, as declared. Raises `InvalidArgument` if it has other values."""
    kind = _number_type(declared)
    if pa.types.is_boolean(values.type) and kind is not None:
        values = values.cast(pa.int8())
    if kind is None or _is_number_type(values.type):
        return (
            values if _is_number_type(values.type) and kind is not None else _cast_column(values, declared, pa.string())
        )
    return _cast_column(values, declared, kind)


def has_text_categories(declared: Categories) -> bool:
    """Return True if a category is a text."""
    return any(isinstance(value, str) for value in declared.values)


def _number_type(declared: Declared) -> Any:
    """Return the Arrow type of a declared numeric column; None for texts."""
    if not isinstance(declared, Categories):
        return pa.float64()
    if has_text_categories(declared):
        return None
    return pa.int64() if all(isinstance(value, int) for value in declared.values) else pa.float64()


def _is_number_type(kind: Any) -> bool:
    """Return True for Arrow's types of integers and floating-point numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _cast_column(values: Any, declared: Declared, kind: Any) -> Any:
    """Return a column cast to a type, texts without surrounding spaces. Raises `InvalidArgument` if a value does not
    fit.
    """
    try:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return pc.cast(pc.utf8_trim_whitespace(values) if pa.types.is_string(values.type) else values, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        content = "numbers" if kind != pa.string() else "categories"
        raise InvalidArgument(
            "synthetic", f"column {str(declared.column)!r} does not hold {content}, as declared; correct the table"
        ) from None


def _require_columns(names: Sequence[str], columns: Sequence[Declared]) -> None:
    """Refuse a table in which a declared column is missing or there twice. Raises `InvalidArgument`."""
    for column in columns:
        if list(names).count(str(column.column)) != 1:
            raise InvalidArgument(
                "synthetic",
                f"column {str(column.column)!r} of the dataset must occur once in the table; add or remove it",
            )


def _require_rows(rows: int) -> None:
    """Refuse a table without rows, or with too many. Raises `InvalidArgument`."""
    if not 1 <= rows <= MOST_ROWS:
        raise InvalidArgument("synthetic", f"a table must have 1 to {MOST_ROWS:,} rows; upload that many")


if __name__ == "__main__":
    main()
