"""SENSITIVE. Opening: which kind of data is it, and does its schema fit?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ..arguments import Refused, WrongKind, shown
from ..privacy import EACH_RECORD, Unit
from .column import place_of
from .counting import Records
from .csv_lines import source_of_csv
from .engines.duckdb_engine import DuckEngine
from .engines.handle import EngineTable
from .frames import source_of_frame, source_of_lazy_frame, source_of_mapping, source_of_table
from .hiding import hidden
from .parquet import source_of_parquet
from .relation import source_of_relation
from .source import Source

KINDS = "a path to a .csv or .parquet file, a data frame, an Arrow table, a mapping of arrays or a DuckDB relation"
OWN_DELIMITERS = '\n\r"'


def open_records(data: Any, *, unit: Unit, key: bytes, columns: Sequence[str] = (), delimiter: str = ",") -> Records:
    """Open records behind one interface. Looks at the schema, and at no row.

    Args:
        data: A path to a CSV or Parquet file; a data frame that narwhals knows (pandas, Polars, ...); an Arrow table,
            or what gives one (the Arrow PyCapsule protocol); a mapping from names to NumPy arrays, series or lists; or
            a DuckDB relation; or a table of another engine, as `dpcurves.postgres` names it. It must not change while
            it is open.
        unit: Whose records they are, and how many of each are used.
        key: The secret key of the data set, which draws the records of a unit that are used.
        columns: Names of columns that must be there.
        delimiter: What separates the fields of a CSV file: one character of ASCII.

    What is read as a number: numbers; True as 1 and False as 0. What has no declared type (CSV fields, lists) is read
    as such text. Whatever cannot be read, as a date, NULL and NaN are missing.

    Raises:
        TypeError: `data` is none of these kinds.
        ValueError: the file is not there or not what it seems, or a column is not there. No value is shown.
    """
    if isinstance(data, EngineTable):
        return Records(data.open(unit, key))
    source = source_of(data, delimiter)
    for name in columns:
        place_of(name, source.columns)
    if unit != EACH_RECORD:
        place_of(unit.column, source.columns, "unit")
    if not source.columns:
        raise Refused("data", "there is no column")
    return Records(DuckEngine(source, unit, key))


def source_of(data: Any, delimiter: str) -> Source:
    """Rows that can be scanned, from any kind of data. Looks at the schema alone.

    Raises:
        TypeError, ValueError: as `open_records`.
    """
    if isinstance(data, str | Path):
        return _file(Path(data), delimiter)
    if isinstance(data, Mapping):
        return source_of_mapping(data)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return hidden(lambda: source_of_relation(data), "the DuckDB relation cannot be read")
    source = hidden(lambda: _frame(data), "the frame cannot be read; do its columns have names, each its own?")
    if source is None:
        raise WrongKind("data", f"{KINDS} is needed, got {type(data).__name__}")
    return source


def _frame(data: Any) -> Source | None:
    if isinstance(data, pa.Table):
        return source_of_table(data)
    import narwhals as nw

    if nw.dependencies.is_into_series(data):
        return None
    if hasattr(data, "set_axis") and not all(isinstance(name, str) for name in data.columns):
        data = data.set_axis([str(name) for name in data.columns], axis=1)
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return source_of_frame(frame)
    if isinstance(frame, nw.LazyFrame):
        return source_of_lazy_frame(frame)
    if hasattr(data, "__arrow_c_stream__"):
        return source_of_table(pa.table(data))
    return source_of_table(pa.table(pa.record_batch(data))) if hasattr(data, "__arrow_c_array__") else None


def _file(path: Path, delimiter: str) -> Source:
    if not os.path.exists(path):
        raise Refused("data", f"there is no file {path.name!r}")
    if not os.path.isfile(path):
        raise Refused("data", f"{path.name!r} is no file")
    if os.path.getsize(path) == 0:
        raise Refused("data", f"the file {path.name!r} is empty")
    if path.suffix.lower() == ".parquet":
        return source_of_parquet(path)
    if path.suffix.lower() == ".csv":
        return source_of_csv(path, _checked(delimiter))
    raise Refused("data", f"the name of a file must end in .csv or .parquet, got {path.name!r}")


def _checked(delimiter: str) -> str:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in OWN_DELIMITERS:
        raise Refused(
            "delimiter", f"one character of ASCII is needed, no quote and no line end, got {shown(delimiter)}"
        )
    return delimiter
