"""Schema validation of a verification server: declared columns of a dataset, dummy tables, and uploaded tables.

A dataset's public schema declares its columns: numbers with a range, or categories with their values. A person who
knows the table typed it, so it is public and costs no privacy budget. Range and values may be left unknown; then each
question finds them with a part of its budget. Three things are made from the schema alone:

    columns_from_json    JSON -> the declared columns
    dummy_table          declared columns -> a table of independent, uniform values, to try questions on
    pack_table           an uploaded synthetic table (made up by a steward) -> a Parquet file that fits the schema

An uploaded file may be built to exhaust memory or time, or to crash its parser. So `pack_table` parses it in a child
process with limits, which runs this file as a script. No function here reads confidential records.
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
"""A declared column: numbers with a range, or categories with their values; either may be marked as unknown."""
UNKNOWN_RANGE = (-(2.0**100), 2.0**100)
"""Declared lower and upper end of a numeric column whose range is unknown: each question then finds a range privately.
Nobody declares a range so wide, so no true range equals this one."""
UNKNOWN_DATES = (-(2.0**99), 2.0**99)
"""Declared lower and upper end of a column of dates, times or durations of unknown range, in a table whose schema has
such a type; no true range equals them."""
UNKNOWN_CSV_DATES = (-(2.0**98), 2.0**98)
"""Declared lower and upper end of a column of dates of unknown range in a CSV file. Such a file declares no types, so
the texts are read as dates, in days since 1970-01-01."""
NAME_UNIVERSE = "!-~ À-ÿ:60"
"""Public set of all possible names in which unknown categories are searched, so that the search needs no delta: texts
of up to 60 letters of Western European languages, digits and signs.

The search (partition selection) keeps the expected number of names that noise alone makes up below a bound, which is
split over the lengths. So a long name needs more units to be found than a short one. A longer limit than 60 would
hardly change that, so 60 is chosen large enough for usual names."""


def has_unknown_range(column: Declared) -> bool:
    """Return True for a declared column of numbers, dates, times or durations whose range is unknown.

    >>> has_unknown_range(NumericColumn("income", *UNKNOWN_RANGE)), has_unknown_range(NumericColumn("age", 0, 120))
    (True, False)
    """
    return has_dates(column) or (isinstance(column, NumericColumn) and (column.lower, column.upper) == UNKNOWN_RANGE)


def has_dates(column: Declared) -> bool:
    """Return True for a declared column of dates, times or durations, by its schema or in a CSV file."""
    is_typed = isinstance(column, NumericColumn) and (column.lower, column.upper) == UNKNOWN_DATES
    return is_typed or has_csv_dates(column)


def has_csv_dates(column: Declared) -> bool:
    """Return True for a declared column of dates in a CSV file, whose texts are parsed as dates."""
    return isinstance(column, NumericColumn) and (column.lower, column.upper) == UNKNOWN_CSV_DATES


def has_unknown_categories(column: Declared) -> bool:
    """Return True for a declared column of categories without declared values; each question finds them privately.

    >>> has_unknown_categories(declare_unknown_categories("city")), has_unknown_categories(Categories("sex", ("f",)))
    (True, False)
    """
    return isinstance(column, UnlistedCategories)


def declare_unknown_categories(name: str) -> UnlistedCategories:
    """Return a declared column of categories whose values are unknown.

    Questions find the values by partition selection within `NAME_UNIVERSE`, a public set of names, so no delta is
    needed.

    Args:
        name: Name of the column.
    """
    return UnlistedCategories(name, universe=parse_universe(NAME_UNIVERSE))


def columns_from_json(columns: Any) -> tuple[Declared, ...]:
    """Parse the public schema of a dataset: its declared columns, in order.

    Args:
        columns: Plain JSON objects, written by `declared_columns_to_json` or by hand.

    Raises:
        ValueError: A column is invalid, the number of columns is 0 or above 2,000, or two columns have the same name.
    """
    declared = declared_columns_from_json("columns", columns)
    names = [str(column.column) for column in declared]
    most_columns = 2000  # columns of a dataset
    if not 1 <= len(names) <= most_columns or len(set(names)) < len(names):
        raise InvalidArgument("columns", f"1 to {most_columns} columns with different names are needed; declare them")
    return declared


MOST_ROWS = 1_000_000
"""Largest number of rows of an uploaded table, which is refused with more, and of a dummy table on which a question is
tried. At this size, counting takes seconds and the table fits into the memory of a worker process."""
USUAL_ROWS = 10_000
"""Rows of a dummy table (made-up values) if the number of privacy units is confidential (under add-remove): a round
number that depends on no record."""


def dummy_table(columns: Sequence[Declared], rows: int, names: Collection[str] | None = None) -> pa.Table:
    """Return a dummy table: independent, uniform random values of the declared columns, from the schema alone.

    The generator has a fixed public seed, so equal arguments give equal tables. Columns without a declared range have
    values from 0 to 100, dates of the five years from 2020 on, or the categories A, B and C.

    Args:
        columns: The public schema.
        rows: The number of rows.
        names: Names of the columns to include; None: all. A column has the same values whichever other columns are
            included.

    Returns:
        An Arrow table with the included columns in the order of `columns`.

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
    """Return an Arrow array of `rows` independent uniform values of a declared column.

    Declared categories of mixed types become texts, because an Arrow column has one type. Columns of unknown range or
    unknown categories get made-up values.

    Args:
        column: Declared range or categories.
        generator: Source of random numbers, which need not be secure: no record is involved.
        rows: Number of values.
    """
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
"""Largest size in bytes (64 MiB) of an uploaded table as it is sent, and of the Parquet file that is made of it, which
the database stores in one field; a larger table is refused."""
READING_SECONDS = 60
"""Limit of the elapsed time, and of the processor time, of parsing one table, in seconds; then the upload is
refused."""
REFUSED_STATUS = 3
"""Exit status of the parsing process if it refuses a table: its standard output then is the reason. Any other status
but 0 means an unreadable file."""
NO_TABLE = "upload a valid CSV or Parquet file"
"""Refusal of an uploaded file that cannot be parsed as a table within the limits of time and memory."""
_PARSING_SLOT = BoundedSemaphore(1)
"""Semaphore by which one table is parsed at a time, so that uploads cannot exhaust the memory; another upload meanwhile
is refused, not queued."""


def pack_table(table: bytes, columns: Sequence[Declared]) -> bytes:
    """Validate an uploaded table against the public schema and return its declared columns as a Parquet file.

    The file is parsed in a child process with limits of 60 seconds and 3 GiB of address space. Columns that are not
    declared are dropped.

    Args:
        table: Bytes of a CSV or Parquet file; Parquet is recognised by its first four bytes.
        columns: The public schema, each column of which the table must have exactly once.

    Returns:
        Bytes of a Parquet file with the columns in the order of the schema, cast to the declared types.

    Raises:
        ProtocolError: The file has more than 64 MiB, or this server is parsing another table.
        ValueError: The table is unreadable, exceeds a limit, or does not fit the schema (the message names the column).
    """
    if len(table) > LARGEST_TABLE_BYTES:
        raise ProtocolError(
            "synthetic", f"a table may have at most {LARGEST_TABLE_BYTES} bytes; upload fewer rows or columns", 413
        )
    if not _PARSING_SLOT.acquire(blocking=False):
        raise ProtocolError("synthetic", "another table is being read; try again in a minute", 503)
    try:
        return _run_reader(json.dumps(declared_columns_to_json(columns)).encode() + b"\n" + table)
    finally:
        _PARSING_SLOT.release()


def _run_reader(message: bytes) -> bytes:
    """Run the parsing process (`main`) on a message and return the Parquet file that it writes.

    Args:
        message: The schema as JSON on one line, then the bytes of the uploaded file.

    Returns:
        Bytes of a Parquet file.

    Raises:
        InvalidArgument: The process refused the table (with the reason that it wrote), crashed, or took too long.
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
"""Limit of the parsing process's address space in bytes; a table that needs more is refused as unreadable. Most of it
is room for libraries, which map much and use little."""
PARQUET_MAGIC = b"PAR1"
"""First four bytes of each Parquet file; a table that begins otherwise is read as CSV."""


def main() -> None:
    """Run the parsing process: read schema and table on standard input, write a Parquet file, and exit.

    A refused table gives the reason on standard output and the exit status `REFUSED_STATUS`. Limits of memory and
    processor time are set before the input is read. The process ends by `os._exit`: Arrow threads that run while Python
    finalises abort the process (in 1 of 120 exits), and the reason would be lost.
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
    """Return a table's declared columns as a Parquet file, cast to the declared types. This runs in the child process.

    Args:
        octets: Bytes of a CSV or Parquet file.
        columns: The public schema.

    Returns:
        Bytes of a Parquet file with the columns in the order of the schema.

    Raises:
        ValueError: The table is unreadable, has no row or more than `MOST_ROWS`, lacks a declared column or has it
            twice, has values of another type, or is larger than `LARGEST_TABLE_BYTES` as Parquet.
    """
    try:
        table = _read_parquet(octets, columns) if octets.startswith(PARQUET_MAGIC) else _read_csv(octets, columns)
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
    """Return the declared columns of a Parquet file as an Arrow table.

    Args:
        octets: Bytes of the file.
        columns: The public schema.

    Raises:
        InvalidArgument: A declared column does not occur exactly once, or the number of rows is 0 or too large.
        OSError, ArrowException: The file is damaged.
    """
    file = parquet.ParquetFile(BytesIO(octets))
    _require_rows(file.metadata.num_rows)
    _require_columns(file.schema_arrow.names, columns)
    return file.read([str(column.column) for column in columns])


def _read_csv(octets: bytes, columns: Sequence[Declared]) -> Any:
    """Return the declared columns of a CSV file as an Arrow table of texts, without inferring types.

    Words that Arrow reads as null, such as ``NA``, stay texts if they are declared categories.

    Args:
        octets: Bytes of the file, with a header line.
        columns: The public schema.

    Raises:
        InvalidArgument: A declared column is not in the header line exactly once.
    """
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
    """Return a column of an uploaded table as numbers or as texts, as declared.

    Columns of numbers keep their type if it is numeric; truth values become 0 and 1.

    Args:
        values: Arrow column of the uploaded table.
        declared: The declared column.

    Raises:
        InvalidArgument: A value cannot be cast to the declared type.
    """
    kind = _number_type(declared)
    if pa.types.is_boolean(values.type) and kind is not None:
        values = values.cast(pa.int8())
    if kind is None or _is_number_type(values.type):
        return (
            values if _is_number_type(values.type) and kind is not None else _cast_column(values, declared, pa.string())
        )
    return _cast_column(values, declared, kind)


def has_text_categories(declared: Categories) -> bool:
    """Return True if at least one declared category is a text, so that the column is compared as text."""
    return any(isinstance(value, str) for value in declared.values)


def _number_type(declared: Declared) -> Any:
    """Return the Arrow type for a declared column of numbers or of numeric categories; None if texts are declared."""
    if not isinstance(declared, Categories):
        return pa.float64()
    if has_text_categories(declared):
        return None
    return pa.int64() if all(isinstance(value, int) for value in declared.values) else pa.float64()


def _is_number_type(kind: Any) -> bool:
    """Return True if an Arrow type is of integers or floating-point numbers.

    Args:
        kind: Arrow data type.
    """
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _cast_column(values: Any, declared: Declared, kind: Any) -> Any:
    """Return an Arrow column cast to a type; texts lose surrounding spaces first.

    Args:
        values: The column; dictionary-encoded values are decoded.
        declared: The declared column, named in the message.
        kind: The Arrow type.

    Raises:
        InvalidArgument: A value cannot be cast.
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
    """Require that each declared column occurs exactly once in a table.

    Args:
        names: Column names of the table.
        columns: The public schema.

    Raises:
        InvalidArgument: A declared column is missing or occurs twice; the message names it.
    """
    for column in columns:
        if list(names).count(str(column.column)) != 1:
            raise InvalidArgument(
                "synthetic",
                f"column {str(column.column)!r} of the dataset must occur once in the table; add or remove it",
            )


def _require_rows(rows: int) -> None:
    """Refuse an uploaded table without rows or with more than `MOST_ROWS` rows.

    Raises:
        InvalidArgument: The number of rows is outside this range.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise InvalidArgument("synthetic", f"a table must have 1 to {MOST_ROWS:,} rows; upload that many")


if __name__ == "__main__":
    main()
