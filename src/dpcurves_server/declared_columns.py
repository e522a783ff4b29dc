"""The public schema of a table, dummy tables drawn evenly from it, and synthetic tables that have to fit it."""

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
from dpcurves.data import Categories
from dpcurves.inference import public_generator
from dpcurves.models import NumericColumn
from dpcurves_parties.serving.messages import ProtocolError

Declared = NumericColumn | Categories
MOST = 2000


def columns_from_json(columns: Any) -> tuple[Declared, ...]:
    """The columns that were written by `declared_columns_to_json`, or by hand.

    Raises:
        ValueError: they are none, or too many, or two have one name; one line names what is wrong.
    """
    found = declared_columns_from_json("columns", columns)
    names = [str(each.column) for each in found]
    if not 1 <= len(names) <= MOST or len(set(names)) < len(names):
        raise InvalidArgument("columns", f"1 to {MOST} columns are needed, each of its own name")
    return found


MOST_ROWS = 1_000_000
USUAL_ROWS = 10_000
"""The number of units where it is private."""


def dummy_table(columns: Sequence[Declared], rows: int, names: Collection[str] | None = None) -> pa.Table:
    """A table of so many rows; each value is as likely as any other that its column declares.

    Arguments:
        columns: The public schema.
        rows: How many.
        names: The columns that are wanted; None: all. A column is the same whichever others are there.

    >>> from dpcurves.data import Categories
    >>> dummy_table((Categories("sex", ("f", "m")),), 3).num_rows
    3
    """
    chances = public_generator(None).spawn(len(columns))
    wanted = [each for each in zip(columns, chances, strict=True) if names is None or str(each[0].column) in names]
    return pa.table({str(column.column): _sample_column(column, chance, rows) for column, chance in wanted})


def _sample_column(column: Declared, chance: np.random.Generator, rows: int) -> Any:
    if isinstance(column, Categories):
        values = list(column.values)
        kept = values if len({type(each) for each in values}) == 1 else list(map(str, values))
        return pa.array(kept).take(pa.array(chance.integers(len(kept), size=rows)))
    return pa.array(chance.uniform(column.lower, column.upper, rows))


# Synthetic tables as they come: read in a process of their own, which has little memory and little time.
#
# A file that somebody sends may be made to break whatever reads it, or to grow a millionfold. Here that ends a process
# that does nothing else. A process of a pool would be forked, or live on, and could be given no such limits.


LARGEST = 2**26
"""Octets of a table, packed."""
SECONDS = 60
REFUSED = 3
"""Exit status of a process that says what is wrong with a table; any other says that it can not be read."""
NO_TABLE = "a CSV or Parquet file is needed that can be read whole"
_TURN = BoundedSemaphore(1)


def pack_table(table: bytes, columns: Sequence[Declared]) -> bytes:
    """A table that fits the public schema, as Parquet, with the declared columns alone.

    Arguments:
        table: A CSV or a Parquet file. Nobody is asked for its name.
        columns: The public schema.

    Raises:
        ProtocolError: another one is read just now, or it is too large.
        ValueError: it is no table of this schema. One line names the column.
    """
    if len(table) > LARGEST:
        raise ProtocolError("synthetic", f"at most {LARGEST} octets are taken", 413)
    if not _TURN.acquire(blocking=False):
        raise ProtocolError("synthetic", "another table is read just now; try again in a minute", 503)
    try:
        return _run_reader(json.dumps(declared_columns_to_json(columns)).encode() + b"\n" + table)
    finally:
        _TURN.release()


def _run_reader(message: bytes) -> bytes:
    command = [sys.executable, "-m", "dpcurves_server.declared_columns"]
    try:
        ended = subprocess.run(command, input=message, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidArgument("synthetic", NO_TABLE) from None
    if ended.returncode == REFUSED:
        raise InvalidArgument("synthetic", ended.stdout.decode(errors="replace"))
    if ended.returncode != 0:
        raise InvalidArgument("synthetic", NO_TABLE)
    return ended.stdout


MEMORY = 3 * 2**30
"""Octets of addresses, libraries included."""
PARQUET = b"PAR1"


def main() -> None:
    """Read what stands on standard input, and end.

    The end is `os._exit`: threads of Arrow that still run when Python finalises abort the process (in 1 of 120 ends),
    and its refusal would be taken for a table that cannot be read.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    schema, _, table = sys.stdin.buffer.read().partition(b"\n")
    try:
        said, status = repack_table(table, columns_from_json(json.loads(schema))), 0
    except InvalidArgument as error:
        said, status = error.rule.encode(), REFUSED
    sys.stdout.buffer.write(said)
    sys.stdout.buffer.flush()
    os._exit(status)


def repack_table(octets: bytes, columns: Sequence[Declared]) -> bytes:
    """A table as Parquet, with its declared columns, each of the declared kind.

    Raises:
        ValueError: it can not be read, or is too large, or lacks a column, or holds something else in it.
    """
    try:
        table = _read_parquet(octets, columns) if octets.startswith(PARQUET) else _read_csv(octets, columns)
        _require_rows(table.num_rows)
        kept = pa.table({str(each.column): _fit_column(table.column(str(each.column)), each) for each in columns})
    except (OSError, pa.ArrowException, MemoryError, UnicodeDecodeError):
        raise InvalidArgument("synthetic", NO_TABLE) from None
    drain = BytesIO()
    parquet.write_table(kept, drain, compression="zstd")
    if drain.tell() > LARGEST:
        raise InvalidArgument("synthetic", f"packed, at most {LARGEST} octets are taken")
    return drain.getvalue()


def _read_parquet(octets: bytes, columns: Sequence[Declared]) -> Any:
    file = parquet.ParquetFile(BytesIO(octets))
    _require_rows(file.metadata.num_rows)
    _require_columns(file.schema_arrow.names, columns)
    return file.read([str(each.column) for each in columns])


def _read_csv(octets: bytes, columns: Sequence[Declared]) -> Any:
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


def _fit_column(values: Any, declared: Declared) -> Any:
    kind = _number_type(declared)
    if pa.types.is_boolean(values.type) and kind is not None:
        values = values.cast(pa.int8())
    if kind is None or _is_number_type(values.type):
        return (
            values if _is_number_type(values.type) and kind is not None else _cast_column(values, declared, pa.string())
        )
    return _cast_column(values, declared, kind)


def _number_type(declared: Declared) -> Any:
    """The type of numbers that a column has; None: it has texts."""
    if not isinstance(declared, Categories):
        return pa.float64()
    if any(isinstance(value, str) for value in declared.values):
        return None
    return pa.int64() if all(isinstance(value, int) for value in declared.values) else pa.float64()


def _is_number_type(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _cast_column(values: Any, declared: Declared, kind: Any) -> Any:
    try:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return pc.cast(pc.utf8_trim_whitespace(values) if pa.types.is_string(values.type) else values, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        what = "numbers" if kind != pa.string() else "categories"
        raise InvalidArgument(
            "synthetic", f"its column {str(declared.column)!r} does not hold {what}, as declared"
        ) from None


def _require_columns(names: Sequence[str], columns: Sequence[Declared]) -> None:
    for each in columns:
        if list(names).count(str(each.column)) != 1:
            raise InvalidArgument(
                "synthetic", f"it lacks the column {str(each.column)!r} of the dataset, or has it twice"
            )


def _require_rows(rows: int) -> None:
    if not 1 <= rows <= MOST_ROWS:
        raise InvalidArgument("synthetic", f"1 to {MOST_ROWS:,} rows are needed")


if __name__ == "__main__":
    main()
