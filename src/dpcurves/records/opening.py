"""SENSITIVE. Opening of files, frames, arrays and DuckDB relations: which kind of data is it, and does its schema
fit?"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..arguments import Refused, WrongKind, shown
from ..arrays import IntArray
from ..privacy import EACH_RECORD, Unit
from .counting import Records
from .engines.duckdb import DuckEngine
from .engines.engine import EngineTable
from .source import (
    BATCH,
    LONGEST_TEXT,
    NUMBER_IN_TEXT,
    ArrowSource,
    Column,
    Kind,
    Source,
    array_of,
    called,
    column_of,
    hidden,
    is_number,
    place_of,
    register,
    texts,
    wide_numbers,
    with_whole_rows,
)

if TYPE_CHECKING:
    import narwhals as nw


# SENSITIVE. Records in a CSV file: one line, one record, whatever the line holds.
#
# The usual readers let one line reach others (a quote that is not closed swallows what follows), stop at what they
# cannot read, or show it. Here a record is a line, and nothing but a line, so that one record more or less is one
# line more or less:
#
# - A line ends with a line feed (a carriage return before it belongs to the end); the last one may lack it. An empty
#   line is a record as well.
# - A delimiter separates fields where the number of quotes before it in the line is even.
# - A field in quotes is what stands between them; two quotes in a row are read as one.
# - A line with an odd number of quotes, with more or fewer fields than the header, or longer than a mebibyte is
#   malformed: all its values are missing. So is an empty field.


Bytes = NDArray[np.uint8]

LINE_FEED, CARRIAGE_RETURN, QUOTE = b'\n\r"'
READ_AT_ONCE = 2**21
WHOLE = "whole"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CsvSource:
    """The lines of a file below its header. All columns are text without a declared type."""

    path: Path
    delimiter: str
    columns: tuple[Column, ...]
    costly: bool = True

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        schema = pa.schema([(called(place), pa.binary()) for place in places])
        return register(connection, schema, (self._fields(lines, places) for lines in self._lines()))

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        schema = pa.schema([*((called(place), pa.binary()) for place in places), (WHOLE, pa.binary())])
        batches = (
            pa.RecordBatch.from_arrays([*self._fields(lines, places).columns, lines.texts()], schema=schema)
            for lines in self._lines()
        )
        return register(connection, schema, batches)

    def _lines(self) -> Iterator[Lines]:
        with self.path.open("rb") as file:
            header_of(file)
            for block in whole_lines(file):
                yield Lines.of(block, ord(self.delimiter), len(self.columns))

    def _fields(self, lines: Lines, places: Sequence[int]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([lines.field(place) for place in places], names=[*map(called, places)])


def source_of_csv(path: Path, delimiter: str) -> CsvSource:
    """The file at `path`, of which the header is read here.

    Raises:
        ValueError: there is no header, or it is no UTF-8 text of one line.
    """
    rule = f"{path.name!r} cannot be read"
    with hidden(lambda: path.open("rb"), rule) as file:
        header = hidden(lambda: header_of(file), rule)
    try:
        (names,) = csv.reader([header.decode("utf-8-sig").rstrip("\r\n")], delimiter=delimiter, strict=True)
    except (ValueError, csv.Error):
        names = []
    if not names or len(header) == LONGEST_TEXT:
        raise Refused("data", f"the first line of {path.name!r} must be a header, the names of the columns in UTF-8")
    return CsvSource(path, delimiter, tuple(Column(name, Kind.UNTYPED, NUMBER_IN_TEXT) for name in names))


def header_of(file: BinaryIO) -> bytes:
    """The first line, as far as a line may reach."""
    return file.readline(LONGEST_TEXT)


def whole_lines(file: BinaryIO) -> Iterator[Bytes]:
    """The rest of the file, in blocks of whole lines; of a line that is too long more than `LONGEST_TEXT`."""
    rest = b""
    while read := file.read(READ_AT_ONCE):
        head, feed, tail = read.rpartition(b"\n")
        if feed:
            yield np.frombuffer(rest + head + feed, dtype=np.uint8)
            rest = tail
        else:
            rest = (rest + tail)[: LONGEST_TEXT + 1]
    if rest:
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Lines:
    """A block of lines, and where the fields of the well-formed ones end.

    Attributes:
        starts: Where each line starts, and behind the last one where the block ends.
        formed: Which lines are well-formed.
        ends: For each well-formed line, where its fields end.
    """

    block: Bytes
    starts: IntArray
    formed: NDArray[np.bool_]
    ends: IntArray

    @classmethod
    def of(cls, block: Bytes, delimiter: int, fields: int) -> Lines:
        """Split the block. Each step is done for all lines at once, whatever they hold."""
        places = np.flatnonzero((block == LINE_FEED) | (block == QUOTE) | (block == delimiter))
        marks = block[places]
        feeds = np.flatnonzero(marks == LINE_FEED)
        per_line = np.diff(feeds, prepend=-1)
        odd = np.cumsum(marks == QUOTE, dtype=np.uint8) & 1
        odd ^= np.repeat(np.concatenate([[0], odd[feeds[:-1]]]).astype(np.uint8), per_line)
        separates = (odd == 0) & (marks != QUOTE)
        starts = np.concatenate([[0], places[feeds] + 1])
        found = np.add.reduceat(separates, np.concatenate([[0], feeds[:-1] + 1]), dtype=np.int64)
        formed = separates[feeds] & (found == fields) & (np.diff(starts) <= LONGEST_TEXT)
        ends = places[separates & np.repeat(formed, per_line)].reshape(-1, fields)
        ends[:, -1] -= block[ends[:, -1] - 1] == CARRIAGE_RETURN
        return cls(block, starts, formed, ends)

    def texts(self) -> pa.Array:
        """Each line as it stands; null where it is too long: how much of that is here depends on other lines."""
        return _binary(self.starts, self.block, np.diff(self.starts) <= LONGEST_TEXT)

    def field(self, number: int) -> pa.Array:
        """The field of each line; null where it is empty or the line is malformed."""
        first = self.ends[:, number - 1] + 1 if number else self.starts[:-1][self.formed]
        end = self.ends[:, number]
        quoted = (end - first >= 2) & (self.block[first] == QUOTE) & (self.block[end - 1] == QUOTE)
        first, end = first + quoted, end - quoted
        lengths = np.zeros(len(self.formed), dtype=np.int64)
        lengths[self.formed] = end - first
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Each byte that is taken stands this far behind where it goes to.
        shift = np.repeat(first - offsets[:-1][self.formed], end - first)
        return _binary(*_with_single_quotes(offsets, self.block[shift + np.arange(len(shift))]), lengths > 0)


def _with_single_quotes(offsets: IntArray, text: Bytes) -> tuple[IntArray, Bytes]:
    """The fields, where each second of the quotes that stand next to each other in a field has gone."""
    quotes = np.flatnonzero(text == QUOTE)
    field = np.searchsorted(offsets, quotes, side="right")
    order = np.arange(len(quotes))
    begins = np.concatenate([[True], (np.diff(quotes) != 1) | (np.diff(field) != 0)])[: len(quotes)]
    run = np.maximum.accumulate(np.where(begins, order, 0)) if len(quotes) else order
    gone = quotes[(order - run) % 2 == 1]
    return offsets - np.searchsorted(gone, offsets), np.delete(text, gone)


def _binary(offsets: IntArray, text: Bytes, valid: NDArray[np.bool_]) -> pa.Array:
    parts = np.packbits(valid, bitorder="little"), offsets.astype(np.int32), text
    return pa.Array.from_buffers(pa.binary(), len(valid), [pa.py_buffer(part) for part in parts])


# SENSITIVE. Records in a Parquet file.


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
        names = (field.name.replace('"', '""') for field in fields)
        named = [f'"{name}" AS {called(place)}' for name, place in zip(names, places, strict=True)]
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
    return is_number(held) and not pa.types.is_float16(held)


def _literal(path: Path) -> str:
    """The path in quotes, where no character stands for others."""
    plain = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"


# SENSITIVE. Records behind a DuckDB relation, which stays on the connection of its owner.


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


# SENSITIVE. Records that are in memory: data frames, Arrow tables, and mappings from names to arrays.


UNREAD = "a column cannot be read (what it says is not shown: it may quote a record)"
NAMES_OF_TEXT = {"str", "string", "large_string"}
KINDS_OF_NUMPY = MappingProxyType({"U": Kind.TEXT, "S": Kind.TEXT, "O": Kind.OBJECTS, "m": Kind.TIMES})


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Held:
    """A column in memory, converted when it is read."""

    column: Column
    type: pa.DataType
    load: Callable[[], pa.ChunkedArray | pa.Array]


def source_of_columns(held: Sequence[Held]) -> ArrowSource:
    """The columns side by side. Each is converted at most once."""
    loads = [cache(each.load) for each in held]

    def read(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_arrays([loads[place]() for place in places], names=[str(place) for place in places])
        yield from table.to_batches(max_chunksize=BATCH)

    return ArrowSource(tuple(each.column for each in held), tuple(each.type for each in held), read, costly=False)


def source_of_table(table: pa.Table) -> ArrowSource:
    """An Arrow table."""
    return source_of_columns([held_arrow(str(name), table.column(i)) for i, name in enumerate(table.column_names)])


def source_of_frame(frame: nw.DataFrame[Any]) -> ArrowSource:
    """A data frame that is in memory."""
    return source_of_columns([held_series(str(name), frame[name]) for name in frame.columns])


def source_of_lazy_frame(frame: nw.LazyFrame[Any]) -> ArrowSource:
    """A data frame that is computed when it is read."""
    empty = frame.head(0).collect("pyarrow").to_arrow()
    names = list(frame.collect_schema().names())

    def read(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        table = frame.select([names[place] for place in places]).collect("pyarrow").to_arrow()
        yield from table.to_batches(max_chunksize=BATCH)

    columns = tuple(column_of(str(name), empty.schema.field(i).type) for i, name in enumerate(names))
    return ArrowSource(columns, tuple(empty.schema.types), read, costly=True)


def source_of_mapping(data: Mapping[str, Any]) -> ArrowSource:
    """Named arrays or lists of one length.

    Raises:
        ValueError: the lengths differ, or an array has not one axis.
        TypeError: a value is no array.
    """
    held = [_held_values(str(name), values) for name, values in data.items()]
    if len({len(values) for values in data.values()}) > 1:
        raise Refused("data", "all columns must be equally long")
    return source_of_columns(held)


def held_arrow(name: str, array: pa.ChunkedArray | pa.Array) -> Held:
    """An Arrow array."""
    return Held(column_of(name, array.type), array.type, lambda: array)


def held_series(name: str, series: nw.Series[Any]) -> Held:
    """A column of a data frame. Objects are read as text: their type shows in their values alone."""
    import narwhals as nw

    dtype, by_pandas = series.dtype, series.implementation.is_pandas_like()
    if isinstance(dtype, nw.Int128 | nw.UInt128):
        return Held(wide_numbers(name), pa.large_binary(), lambda: texts(series.to_list()))
    if isinstance(dtype, nw.Object) or (by_pandas and isinstance(dtype, nw.String | nw.Categorical | nw.Enum)):
        return _held_texts(name, _kind_of_texts(series), series.to_list)
    if by_pandas and isinstance(dtype, nw.Unknown):
        return _held_texts(name, Kind.OTHER, series.to_list)
    declared = series.head(0).to_arrow().type
    return Held(column_of(name, declared), declared, series.to_arrow)


def _kind_of_texts(series: nw.Series[Any]) -> Kind:
    """The declared kind, whatever narwhals infers for objects: that would be read off their values."""
    declared: Any = series.to_native().dtype
    held = declared.categories.dtype if hasattr(declared, "categories") else declared
    return Kind.TEXT if str(held).partition("[")[0] in NAMES_OF_TEXT else Kind.OBJECTS


def _held_values(name: str, values: Any) -> Held:
    if isinstance(values, list | tuple | range):
        return _held_texts(name, Kind.UNTYPED, lambda: values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return held_arrow(name, values)
    if isinstance(values, np.ndarray):
        return _held_numpy(name, values)
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return held_series(name, series)
    if hasattr(values, "__arrow_c_stream__"):
        return held_arrow(name, hidden(lambda: pa.chunked_array(values), UNREAD))
    if hasattr(values, "__arrow_c_array__"):
        return held_arrow(name, hidden(lambda: pa.array(values), UNREAD))
    raise WrongKind("data", f"column {name!r} is a {type(values).__name__}; an array, a series or a list is needed")


def _held_numpy(name: str, values: np.ndarray[Any, Any]) -> Held:
    if values.ndim != 1:
        raise Refused("data", f"column {name!r} must have one axis, not {values.ndim}")
    if values.dtype.kind in "fiubM":
        return Held(column_of(name, array_of(values[:0]).type), array_of(values[:0]).type, lambda: array_of(values))
    kind = KINDS_OF_NUMPY.get(values.dtype.kind, Kind.OTHER)
    return Held(Column(name, kind, NUMBER_IN_TEXT), pa.large_binary(), lambda: array_of(values))


def _held_texts(name: str, kind: Kind, values: Callable[[], Iterable[Any]]) -> Held:
    return Held(Column(name, kind, NUMBER_IN_TEXT), pa.large_binary(), lambda: texts(values()))


# SENSITIVE. Opening: which kind of data is it, and does its schema fit?


KINDS = "a path to a .csv or .parquet file, a data frame, an Arrow table, a mapping of arrays or a DuckDB relation"
OWN = '\n\r"'


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
        if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in OWN:
            rule = f"one character of ASCII is needed, no quote and no line end, got {shown(delimiter)}"
            raise Refused("delimiter", rule)
        return source_of_csv(path, delimiter)
    raise Refused("data", f"the name of a file must end in .csv or .parquet, got {path.name!r}")
