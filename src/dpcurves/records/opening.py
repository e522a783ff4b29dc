"""SENSITIVE. Opening of files, frames, arrays and DuckDB relations: which kind of data is it, and does its schema
fit?"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import duckdb
import numpy as np
from arro3.core import Array, ArrayReader, ChunkedArray, DataType, RecordBatch, struct_field
from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import IntArray
from ..data import CsvFile
from ..privacy import EACH_RECORD, Unit
from . import csv_header
from . import source as sources
from .counting import Records
from .engines.duckdb import DuckConnection, DuckEngine
from .engines.engine import EngineTable

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

    file: CsvFile
    columns: tuple[sources.Column, ...]
    is_costly: bool = True

    @property
    def unreadable_columns(self) -> Mapping[int, str]:
        return {}

    @property
    def line_place(self) -> int:
        """The place, behind all columns, of what is wrong with a line: see `LineBlock.faults`."""
        return len(self.columns)

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        return self._register_lines(connection, places, whole=False)

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        return self._register_lines(connection, places, whole=True)

    def _register_lines(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int], whole: bool) -> str:
        names = [*map(sources.sql_name, places), *([WHOLE] if whole else [])]
        schema = sources.schema_of((name, DataType.binary()) for name in names)

        def make_batches() -> Iterator[RecordBatch]:
            for lines in self._read_blocks():
                fields = [lines.field(place) if place < self.line_place else lines.faults() for place in places]
                yield RecordBatch.from_arrays([*fields, *([lines.texts()] if whole else [])], schema=schema)

        return sources.register_batches(connection, schema, make_batches)

    def _read_blocks(self) -> Iterator[LineBlock]:
        codec = self.file.codec
        with open_csv(self.file) as file:
            read_header(file)
            for read in read_line_blocks(file):
                block = read
                if codec != "utf-8":  # byte by byte, so that no line reaches another
                    block = np.frombuffer(read.tobytes().decode(codec, "replace").encode(), dtype=np.uint8)
                yield LineBlock.from_block(block, ord(self.file.delimiter), len(self.columns))


def open_csv(file: CsvFile) -> BinaryIO:
    """The bytes of a file from their beginning, decompressed where its name ends in ``.gz``."""
    if isinstance(file.file, bytes):
        return BytesIO(file.file)
    path = Path(file.file)
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def source_of_csv(file: CsvFile) -> CsvSource:
    """A CSV file in a declared form, of which the header is read here; one that is compressed is read through.

    A compressed file that ends early, or whose checksum is wrong, is refused here: what a decompressor says of it
    later would depend on all records.

    Raises:
        ValueError: there is no header, it is no text of one line, or a compressed file is damaged.
    """
    rule = f"{file.name} cannot be read"
    is_packed = not isinstance(file.file, bytes) and Path(file.file).suffix.lower() == ".gz"
    if is_packed:
        with sources.hide_failure(lambda: Path(cast("str | Path", file.file)).open("rb"), rule) as packed:
            csv_header.require_gzip(file, sources.hide_failure(lambda: packed.read(csv_header.FIRST_BYTES), rule))
    with sources.hide_failure(lambda: open_csv(file), rule) as opened:
        first = sources.hide_failure(lambda: opened.read(csv_header.FIRST_BYTES), rule)
        csv_header.require_csv(file, first, is_unpacked=is_packed)
        opened.seek(0)
        header = sources.hide_failure(lambda: read_header(opened), rule)
        if isinstance(opened, gzip.GzipFile):
            sources.hide_failure(lambda: _check_gzip(opened), f"{rule}: it is no whole file of gzip")
    names = csv_header.parse_header(file, header, sources.LONGEST_TEXT)
    number, days = sources.number_sql(file), sources.days_sql(file)
    return CsvSource(
        file, tuple(sources.Column(name, sources.ColumnKind.FIELDS, number, elapsed_time=days) for name in names)
    )


def _check_gzip(file: gzip.GzipFile) -> None:
    while file.read(READ_AT_ONCE):
        pass


def read_header(file: BinaryIO) -> bytes:
    """The first line, as far as a line may reach."""
    return file.readline(sources.LONGEST_TEXT)


def read_line_blocks(file: BinaryIO) -> Iterator[Bytes]:
    """The rest of the file, in blocks of whole lines; of a line that is too long more than `LONGEST_TEXT`."""
    rest = b""
    while read := file.read(READ_AT_ONCE):
        head, feed, tail = read.rpartition(b"\n")
        if feed:
            yield np.frombuffer(rest + head + feed, dtype=np.uint8)
            rest = tail
        else:
            rest = (rest + tail)[: sources.LONGEST_TEXT + 1]
    if rest:
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LineBlock:
    """A block of lines, and where the fields of the well-formed ones end.

    Attributes:
        line_starts: Where each line starts, and behind the last one where the block ends.
        is_well_formed: Which lines are well-formed.
        fault_letters: For each line a letter: why it is malformed; a space if it is not.
        field_ends: For each well-formed line, where its fields end.
    """

    block: Bytes
    line_starts: IntArray
    is_well_formed: NDArray[np.bool_]
    fault_letters: Bytes
    field_ends: IntArray

    @classmethod
    def from_block(cls, block: Bytes, delimiter: int, fields: int) -> LineBlock:
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
        is_paired, is_short = separates[feeds], np.diff(starts) <= sources.LONGEST_TEXT
        formed = is_paired & (found == fields) & is_short
        unformed = np.where(is_paired, sources.FIELDS_FAULT, sources.QUOTE_FAULT)
        fault = np.where(formed, ord(" "), np.where(is_short, unformed, sources.LONG_FAULT)).astype(np.uint8)
        ends = places[separates & np.repeat(formed, per_line)].reshape(-1, fields)
        ends[:, -1] -= block[ends[:, -1] - 1] == CARRIAGE_RETURN
        return cls(block, starts, formed, fault, ends)

    def texts(self) -> Array:
        """Each line as it stands; null where it is too long: how much of that is here depends on other lines."""
        return _make_binary_array(self.line_starts, self.block, np.diff(self.line_starts) <= sources.LONGEST_TEXT)

    def faults(self) -> Array:
        """For each line a letter that says why it is malformed; null if it is not."""
        places = np.concatenate([[0], np.cumsum(~self.is_well_formed)])
        return _make_binary_array(places, self.fault_letters[~self.is_well_formed], ~self.is_well_formed)

    def field(self, number: int) -> Array:
        """The field of each line; null where it is empty or the line is malformed."""
        first = self.field_ends[:, number - 1] + 1 if number else self.line_starts[:-1][self.is_well_formed]
        end = self.field_ends[:, number]
        quoted = (end - first >= 2) & (self.block[first] == QUOTE) & (self.block[end - 1] == QUOTE)
        first, end = first + quoted, end - quoted
        lengths = np.zeros(len(self.is_well_formed), dtype=np.int64)
        lengths[self.is_well_formed] = end - first
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Each byte that is taken stands this far behind where it goes to.
        shift = np.repeat(first - offsets[:-1][self.is_well_formed], end - first)
        return _make_binary_array(*_unescape_quotes(offsets, self.block[shift + np.arange(len(shift))]), lengths > 0)


def _unescape_quotes(offsets: IntArray, text: Bytes) -> tuple[IntArray, Bytes]:
    """The fields, where each second of the quotes that stand next to each other in a field has gone."""
    quotes = np.flatnonzero(text == QUOTE)
    field = np.searchsorted(offsets, quotes, side="right")
    order = np.arange(len(quotes))
    begins = np.concatenate([[True], (np.diff(quotes) != 1) | (np.diff(field) != 0)])[: len(quotes)]
    run = np.maximum.accumulate(np.where(begins, order, 0)) if len(quotes) else order
    gone = quotes[(order - run) % 2 == 1]
    return offsets - np.searchsorted(gone, offsets), np.delete(text, gone)


def _make_binary_array(offsets: IntArray, text: Bytes, valid: NDArray[np.bool_]) -> Array:
    bits = np.packbits(valid, bitorder="little")
    return sources.array_from_buffers(DataType.binary(), len(valid), bits, offsets.astype(np.int32), text)


# SENSITIVE. Records in a Parquet file.


ROWS_AT_ONCE = 2**16
NO_PARQUET = "{!r} is no Parquet file that can be read"
NUMBERS = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT",
    "DOUBLE",
}  # fmt: skip
"""Types of DuckDB whose values it reads from a file whatever they are."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ParquetSource:
    """A file whose numbers DuckDB reads by itself. All else comes by way of Arrow, and nothing that is found is shown.

    Attributes:
        names: The names of its columns.
        read_by_duckdb: Which columns DuckDB reads by itself.
        arrow_source: All of them, by way of Arrow.
        unreadable_columns: What `Source` says of it.
        owner: The DuckDB that must stay open as long as the file is read.
    """

    path: Path
    names: tuple[str, ...]
    read_by_duckdb: tuple[bool, ...]
    arrow_source: sources.ArrowSource
    unreadable_columns: Mapping[int, str]
    is_costly: bool = False
    owner: DuckConnection | None = None

    @property
    def columns(self) -> tuple[sources.Column, ...]:
        return self.arrow_source.columns

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        sources.require_readable(self, places)
        if not (has_distinct_names(self.names) and all(self.read_by_duckdb[place] for place in places)):
            return self.arrow_source.scan(connection, places)
        return f"(SELECT {_format_columns(self.names, places)} FROM {_format_scan(self.path)})"

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        return sources.add_whole_row_column(self.scan(connection, range(len(self.columns))), self.columns, places)


def has_distinct_names(names: Sequence[str]) -> bool:
    """Tell whether names differ not only in the case of their letters, to which SQL is blind."""
    return len({name.lower() for name in names}) == len(names)


def source_of_parquet(path: Path) -> ParquetSource:
    """The file at `path`, of which the schema is read here.

    Raises:
        ValueError: it is no Parquet file, or two columns have the same name.
    """
    return _parquet_by_pyarrow(path) if sources.has_pyarrow() else _parquet_by_duckdb(path)


def _parquet_by_pyarrow(path: Path) -> ParquetSource:
    import pyarrow.parquet as pq

    schema = sources.hide_failure(lambda: pq.read_schema(path), NO_PARQUET.format(path.name))
    names, types = _require_distinct(path, schema.names), tuple(DataType.from_arrow(each) for each in schema.types)

    def read_batches(places: Sequence[int]) -> Iterator[Sequence[Any]]:
        wanted = [names[place] for place in places]
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=wanted):
                yield batch.select(wanted).columns

    columns = tuple(map(sources.column_from_arrow_type, names, types))
    plain = tuple(sources.is_number(held) and not DataType.is_float16(held) for held in types)
    return ParquetSource(path, names, plain, sources.ArrowSource(columns, types, read_batches, is_costly=False), {})


def _require_distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise InvalidArgument("data", f"two columns of {path.name!r} have the same name")
    return tuple(names)


def _parquet_by_duckdb(path: Path) -> ParquetSource:
    """The file, where pyarrow is not installed.

    DuckDB refuses text that is no UTF-8, and shows it, unless it is to replace what is wrong, or to leave that out.
    Read in both ways a text is the same only where nothing is wrong, and is missing elsewhere. Moments in milliseconds
    and times of a day are refused as well, where they are too large: columns of these are not read at all.
    """
    engine = DuckConnection()
    engine.connection.execute("SET arrow_large_buffer_size = true")
    fields = sources.hide_failure(lambda: _read_fields(engine.connection, path), NO_PARQUET.format(path.name))
    names = _require_distinct(path, [field.name for field in fields])
    lacking = {place: NOT_BY_DUCKDB for place, field in enumerate(fields) if not field.is_readable}
    if not has_distinct_names(names):
        lacking = dict.fromkeys(range(len(names)), NOT_CLEAR)
    read = [place for place in range(len(names)) if place not in lacking]
    texts = [place for place in read if fields[place].duckdb_type == "VARCHAR"]
    values = [
        f"a.{sources.sql_name(place)}" if place in read else f"NULL AS {sources.sql_name(place)}"
        for place in range(len(names))
    ]
    for place in texts:
        values[place] = "CASE WHEN a.{0} = b.{0} THEN a.{0} END AS {0}".format(sources.sql_name(place))
    rows = f"(SELECT {_format_columns(names, read) or 'NULL'} FROM {_format_scan(path, 'replace')}) AS a"
    if texts:
        rows += f" POSITIONAL JOIN (SELECT {_format_columns(names, texts)} FROM {_format_scan(path, 'ignore')}) AS b"
    found = source_of_relation(engine.connection.sql(f"SELECT {', '.join(values)} FROM {rows}"), sources.LONGEST_TEXT)
    columns = [replace(column, name=name) for name, column in zip(names, found.columns, strict=True)]
    for place in lacking:
        columns[place] = replace(columns[place], kind=fields[place].kind)
    by_arrow = replace(found, columns=tuple(columns))
    plain = tuple(field.duckdb_type in NUMBERS for field in fields)
    return ParquetSource(path, names, plain, by_arrow, lacking, owner=engine)


NOT_BY_DUCKDB = "holds neither numbers, text, dates nor moments in micro- or nanoseconds"
NOT_CLEAR = "stands beside others whose names differ in the case of letters alone"


class _Field(NamedTuple):
    """A column of a Parquet file: its name, the types that it has there, and that of DuckDB without parameters.

    It is stored as nothing, where there may be many values in one row.
    """

    name: str
    physical_type: str | None
    logical_type: str
    duckdb_type: str

    @property
    def is_readable(self) -> bool:
        """Tell whether DuckDB reads its values whatever they are."""
        if self.physical_type is None or self.physical_type == "INT96":
            return False
        if self.duckdb_type in NUMBERS:
            return not self.logical_type.lower().startswith("decimal")
        if self.duckdb_type.startswith("TIMESTAMP"):
            return any(unit in self.logical_type for unit in ("MicroSeconds", "NanoSeconds", "TIMESTAMP_MICROS"))
        if self.duckdb_type == "VARCHAR":
            return self.logical_type in {"StringType()", "UTF8"}
        return self.duckdb_type in {"DATE", "DECIMAL", '"NULL"'} or (
            self.duckdb_type == "BLOB" and not self.logical_type
        )

    @property
    def kind(self) -> sources.ColumnKind:
        """What it holds, where it is not read."""
        if self.physical_type is None:
            return sources.ColumnKind.OTHER
        if self.duckdb_type in NUMBERS or self.duckdb_type == "DECIMAL":
            return sources.ColumnKind.NUMBERS
        if self.duckdb_type in {"VARCHAR", "JSON", "UUID", "BLOB"}:
            return sources.ColumnKind.TEXT
        return (
            sources.ColumnKind.TIMES
            if self.duckdb_type.startswith(("DATE", "TIME", "INTERVAL"))
            else sources.ColumnKind.OTHER
        )


def _read_fields(connection: duckdb.DuckDBPyConnection, path: Path) -> list[_Field]:
    in_one_row = "CASE WHEN repetition_type <> 'REPEATED' THEN type END"
    facts = f"num_children, name, {in_one_row}, coalesce(logical_type, converted_type, ''), coalesce(duckdb_type, '')"
    query = f"SELECT {facts} FROM parquet_schema({_quote_path(path)}) ORDER BY column_id"
    root, *below = connection.execute(query).fetchall()
    fields, left = [], [root[0]]
    for children, name, stored, logical, held in below:
        if len(left) == 1:
            fields.append(_Field(name, stored, logical, held.partition("(")[0]))
        left[-1] -= 1
        left += [children] if children else []
        while left and not left[-1]:
            left.pop()
    return fields


def _format_columns(names: Sequence[str], places: Iterable[int]) -> str:
    quoted = ((names[place].replace('"', '""'), place) for place in places)
    return ", ".join(f'"{name}" AS {sources.sql_name(place)}' for name, place in quoted)


def _format_scan(path: Path, wrong_text: str = "strict") -> str:
    return f"read_parquet({_quote_path(path)}, hive_partitioning = false, utf8_validation = '{wrong_text}')"


def _quote_path(path: Path) -> str:
    """The path in quotes, where no character stands for others."""
    plain = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"


# SENSITIVE. Records behind a DuckDB relation, which stays on the connection of its owner.


WIDE = {"hugeint", "uhugeint", "bignum", "varint"}
TAKEN = {
    "null", "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint",
    "float", "double", "decimal", "date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
    "timestamp with time zone", "timestamptz_ns", "enum",
}  # fmt: skip
TEXTS = {"varchar", "uuid", "blob"}
TIMES = {"time with time zone", "interval"}
TEXTS_AT_ONCE = 2**10
LONGEST_OF_MANY = 2**31 // sources.BATCH - 1
"""Bytes of a text, of which as many as rows travel at once have room in an Arrow array."""


def source_of_relation(relation: duckdb.DuckDBPyRelation, longest: int | None = None) -> sources.ArrowSource:
    """The rows that `relation` gives, asked for anew by each query. Types that Arrow lacks travel as text.

    Args:
        relation: The relation.
        longest: The bytes of the longest text. Arrow has room for two gibibytes of text in an array. So where only
            pyarrow makes batches smaller, and is not installed, text of 16 kibibytes is missing, unless this is given.
    """
    kinds = [str(each.id) for each in relation.types]
    by_few = longest is None and sources.has_pyarrow()
    most = longest or (sources.LONGEST_TEXT if by_few else LONGEST_OF_MANY)
    plain = relation.project(", ".join(_format_value(place, kind, most) for place, kind in enumerate(kinds)))
    types = sources.read_types(plain.limit(0))

    def read_batches(places: Sequence[int]) -> Iterator[Sequence[Array]]:
        rows = plain.project(", ".join(f"#{place + 1}" for place in places))
        if by_few and not all(kinds[place] in TAKEN for place in places):
            rows = rows.to_arrow_reader(TEXTS_AT_ONCE)
        return sources.read_batches(rows)

    columns = (_make_column(*each) for each in zip(relation.columns, kinds, types, strict=True))
    return sources.ArrowSource(tuple(columns), tuple(types), read_batches, is_costly=False)


def _format_value(place: int, kind: str, longest: int) -> str:
    value = f"#{place + 1}"
    if kind not in TAKEN:
        text = f"CAST({value} AS VARCHAR)"
        value = f"CASE WHEN strlen({text}) <= {longest} THEN {value if kind == 'blob' else text} END"
    return f"{value} AS c{place}"


def _make_column(name: str, kind: str, declared: DataType) -> sources.Column:
    if kind in WIDE:
        return sources.decimal_column(name)
    column = sources.column_from_arrow_type(name, declared)
    if kind in TAKEN | TEXTS:
        return column
    return sources.Column(name, sources.ColumnKind.TIMES if kind in TIMES else sources.ColumnKind.OTHER, column.number)


# SENSITIVE. Records that are in memory: data frames, Arrow tables, and mappings from names to arrays.


UNREAD = "a column cannot be read (what it says is not shown: it may quote a record)"
NAMES_OF_TEXT = {"str", "string", "large_string"}
KINDS_OF_NUMPY = MappingProxyType(
    {
        "U": sources.ColumnKind.TEXT,
        "S": sources.ColumnKind.TEXT,
        "O": sources.ColumnKind.OBJECTS,
        "m": sources.ColumnKind.TIMES,
    }
)
ARROW = {"pyarrow", "arro3"}
"""Libraries whose arrays are taken as they are."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MemoryColumn:
    """A column in memory, converted when it is read, and the arrays it lies in, one after the other."""

    column: sources.Column
    type: DataType
    load: Callable[[], Sequence[Array]]


def source_of_columns(held: Sequence[MemoryColumn]) -> sources.ArrowSource:
    """The columns side by side. Each is converted at most once."""
    loads = [cache(each.load) for each in held]

    def read_batches(places: Sequence[int]) -> Iterator[Sequence[Array]]:
        return _align_batches([loads[place]() for place in places])

    return sources.ArrowSource(
        tuple(each.column for each in held), tuple(each.type for each in held), read_batches, is_costly=False
    )


def _align_batches(columns: Sequence[Sequence[Array]]) -> Iterator[Sequence[Array]]:
    """Batches, each of which lies in one array of every column."""
    ends = [np.cumsum([len(array) for array in column], dtype=np.int64) for column in columns]
    (rows,) = {int(each[-1]) if len(each) else 0 for each in ends}
    edges = np.unique(np.concatenate([[0], *ends, np.arange(0, rows, sources.BATCH)])).tolist()
    for start, stop in pairwise(edges):
        found = [int(np.searchsorted(each, start, side="right")) for each in ends]
        parts = ((column[at], each[at]) for column, each, at in zip(columns, ends, found, strict=True))
        yield [array.slice(start - int(end) + len(array), stop - start) for array, end in parts]


def source_of_table(data: Any) -> sources.ArrowSource:
    """An Arrow table, or what gives one."""
    if hasattr(data, "__arrow_c_stream__"):
        reader = ArrayReader.from_stream(data)
        declared, rows = reader.field.type, list(reader)
    else:
        rows = [Array.from_arrow(data)]
        declared = rows[0].type
    if any(batch.null_count for batch in rows):
        raise InvalidArgument("data", "rows of a table cannot be missing as a whole")
    held = [
        (place, field.type, sources.column_from_arrow_type(field.name, field.type))
        for place, field in enumerate(declared.fields)
    ]
    return source_of_columns(
        [MemoryColumn(column, kind, partial(_column_chunks, rows, place)) for place, kind, column in held]
    )


def _column_chunks(rows: Sequence[Array], place: int) -> list[Array]:
    return [struct_field(batch, place) for batch in rows]


def source_of_frame(frame: nw.DataFrame[Any]) -> sources.ArrowSource:
    """A data frame that is in memory."""
    return source_of_columns([column_from_series(str(name), frame[name]) for name in frame.columns])


def source_of_lazy_frame(frame: nw.LazyFrame[Any]) -> sources.ArrowSource:
    """A data frame that is computed when it is read."""
    backend: Any = None if frame.implementation.is_polars() else "pyarrow"
    names = list(frame.collect_schema().names())
    empty = source_of_frame(frame.head(0).collect(backend))

    def read_batches(places: Sequence[int]) -> Iterator[Sequence[Any]]:
        collected = source_of_frame(frame.select([names[place] for place in places]).collect(backend))
        yield from collected.read_batches(range(len(places)))

    return sources.ArrowSource(empty.columns, empty.types, read_batches, is_costly=True)


def source_of_mapping(data: Mapping[str, Any]) -> sources.ArrowSource:
    """Named arrays or lists of one length.

    Raises:
        ValueError: the lengths differ, or an array has not one axis.
        TypeError: a value is no array.
    """
    held = [_column_from_values(str(name), values) for name, values in data.items()]
    if len({len(values) for values in data.values()}) > 1:
        raise InvalidArgument("data", "all columns must be equally long")
    return source_of_columns(held)


def column_from_arrow(name: str, values: Any) -> MemoryColumn:
    """An Arrow array, in one piece or many."""
    array = ChunkedArray.from_arrow(values)
    return MemoryColumn(sources.column_from_arrow_type(name, array.type), array.type, lambda: array.chunks)


def column_from_series(name: str, series: nw.Series[Any]) -> MemoryColumn:
    """A column of a data frame. Objects are read as text: their type shows in their values alone."""
    import narwhals as nw

    dtype, native, by_pandas = series.dtype, series.to_native(), series.implementation.is_pandas_like()
    if isinstance(dtype, nw.Int128 | nw.UInt128):
        return MemoryColumn(
            sources.decimal_column(name), DataType.large_binary(), lambda: [sources.to_text_array(series.to_list())]
        )
    if isinstance(dtype, nw.Object) or (by_pandas and isinstance(dtype, nw.String | nw.Categorical | nw.Enum)):
        return _column_from_texts(name, _text_kind(series), series.to_list)
    if by_pandas and isinstance(dtype, nw.Unknown):
        return _column_from_texts(name, sources.ColumnKind.OTHER, series.to_list)
    if series.implementation.is_pandas() and (held := _numpy_type_of(native.dtype)) is not None:
        declared = _array_of_pandas(native.head(0), held).type
        return MemoryColumn(
            sources.column_from_arrow_type(name, declared), declared, lambda: [_array_of_pandas(native, held)]
        )

    def to_arrow(some: nw.Series[Any]) -> ChunkedArray:
        native = some.to_native()
        as_it_is = not by_pandas and hasattr(native, "__arrow_c_stream__")
        return ChunkedArray.from_arrow(native if as_it_is else some.to_arrow())

    if str(native.dtype) == "Null":  # whose arrays have a buffer too many in Polars
        nothing = DataType.null()
        return MemoryColumn(
            sources.column_from_arrow_type(name, nothing), nothing, lambda: to_arrow(series.cast(nw.Float64)).chunks
        )
    declared = to_arrow(series.head(0)).type
    return MemoryColumn(sources.column_from_arrow_type(name, declared), declared, lambda: to_arrow(series).chunks)


def _numpy_type_of(declared: Any) -> np.dtype[Any] | None:
    """The type in which NumPy has numbers or times of pandas; None: they are neither, or pyarrow has them."""
    if hasattr(declared, "pyarrow_dtype"):
        return None
    if getattr(declared, "tz", None) is not None:
        return np.dtype(f"datetime64[{declared.unit}]")
    held: Any = declared if isinstance(declared, np.dtype) else getattr(declared, "numpy_dtype", None)
    return held if held is not None and held.kind in "fiubmM" else None


def _array_of_pandas(series: Any, held: np.dtype[Any]) -> Array:
    if held.kind == "M":
        return sources.to_arrow_array(series.to_numpy(dtype=held))
    if held.kind == "m":
        unit: Any = np.datetime_data(held)[0]
        return sources.reinterpret(
            sources.to_arrow_array(series.to_numpy().view(f"datetime64[{unit}]")), DataType.duration(unit)
        )
    if series.dtype == held and held.kind != "f":
        return sources.to_arrow_array(series.to_numpy())
    values = series.to_numpy(dtype=held, na_value=held.type(0))
    return sources.to_arrow_array(np.ma.MaskedArray(values, mask=series.isna().to_numpy()))


def _text_kind(series: nw.Series[Any]) -> sources.ColumnKind:
    """The declared kind, whatever narwhals infers for objects: that would be read off their values."""
    declared: Any = series.to_native().dtype
    held = declared.categories.dtype if hasattr(declared, "categories") else declared
    return sources.ColumnKind.TEXT if str(held).partition("[")[0] in NAMES_OF_TEXT else sources.ColumnKind.OBJECTS


def _column_from_values(name: str, values: Any) -> MemoryColumn:
    if isinstance(values, list | tuple | range):
        return _column_from_texts(name, sources.ColumnKind.UNTYPED, lambda: values)
    if isinstance(values, np.ndarray):
        return _column_from_numpy(name, values)
    if type(values).__module__.partition(".")[0] not in ARROW:
        import narwhals as nw

        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return column_from_series(name, series)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return sources.hide_failure(lambda: column_from_arrow(name, values), UNREAD)
    raise WrongArgumentType(
        "data", f"column {name!r} is a {type(values).__name__}; an array, a series or a list is needed"
    )


def _column_from_numpy(name: str, values: np.ndarray[Any, Any]) -> MemoryColumn:
    if values.ndim != 1:
        raise InvalidArgument("data", f"column {name!r} must have one axis, not {values.ndim}")
    if values.dtype.kind in "fiubM":
        declared = sources.to_arrow_array(values[:0]).type
        return MemoryColumn(
            sources.column_from_arrow_type(name, declared), declared, lambda: [sources.to_arrow_array(values)]
        )
    kind = KINDS_OF_NUMPY.get(values.dtype.kind, sources.ColumnKind.OTHER)
    return MemoryColumn(
        sources.Column(name, kind, sources.NUMBER_IN_TEXT),
        DataType.large_binary(),
        lambda: [sources.to_arrow_array(values)],
    )


def _column_from_texts(name: str, kind: sources.ColumnKind, values: Callable[[], Iterable[Any]]) -> MemoryColumn:
    days = sources.days_sql(CsvFile(b"")) if kind is sources.ColumnKind.UNTYPED else None
    column = sources.Column(name, kind, sources.NUMBER_IN_TEXT, elapsed_time=days)
    return MemoryColumn(column, DataType.large_binary(), lambda: [sources.to_text_array(values())])


# SENSITIVE. Opening: which kind of data is it, and does its schema fit?


KINDS = (
    "a path to a .csv, .csv.gz or .parquet file, a data frame, an Arrow table, a mapping of arrays or a DuckDB relation"
)


def open_records(data: Any, *, unit: Unit, key: bytes, columns: Sequence[str] = (), delimiter: str = ",") -> Records:
    """Open records behind one interface. Looks at the schema, and at no row.

    Args:
        data: A path to a CSV or Parquet file, or a `CsvFile`; a data frame that narwhals knows (pandas, Polars, ...);
            an Arrow table, or what gives one (the Arrow PyCapsule protocol); a mapping from names to NumPy arrays,
            series or lists; or a DuckDB relation; or a table of another engine, as `dpcurves.postgres` names it. It
            must not change while it is open.
        unit: Whose records they are, and how many of each are used.
        key: The secret key of the data set, which draws the records of a unit that are used.
        columns: Names of columns that must be there.
        delimiter: What separates the fields of a CSV file: one character of ASCII.

    What is read as a number: numbers; True as 1 and False as 0. What has no declared type (CSV fields, lists) is read
    as such text. Whatever cannot be read, as a date, NULL and NaN are missing.

    Raises:
        TypeError: `data` is none of these kinds.
        ValueError: the file is not there or not what it seems, or a column is not there. No value is shown.
        ImportError: a column of a row that must be read whole is read by pyarrow alone, which is not installed.
    """
    if isinstance(data, EngineTable):
        return Records(data.open(unit, key))
    source = open_source(data, delimiter)
    for name in columns:
        sources.find_column(name, source.columns)
    if unit != EACH_RECORD:
        sources.find_column(unit.column, source.columns, "unit")
        sources.require_readable(source, range(len(source.columns)))
    if not source.columns:
        raise InvalidArgument("data", "there is no column")
    return Records(DuckEngine(source, unit, key))


def open_source(data: Any, delimiter: str) -> sources.Source:
    """Rows that can be scanned, from any kind of data. Looks at the schema alone.

    Raises:
        TypeError, ValueError: as `open_records`.
    """
    if isinstance(data, CsvFile):
        return source_of_csv(data) if isinstance(data.file, bytes) else _open_file(Path(data.file), data)
    if isinstance(data, str | Path):
        return _open_file(Path(data), delimiter)
    if isinstance(data, Mapping):
        return source_of_mapping(data)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return sources.hide_failure(lambda: source_of_relation(data), "the DuckDB relation cannot be read")
    source = sources.hide_failure(
        lambda: _open_frame(data), "the frame cannot be read; do its columns have names, each its own?"
    )
    if source is None:
        raise WrongArgumentType("data", f"{KINDS} is needed, got {type(data).__name__}")
    return source


def _open_frame(data: Any) -> sources.Source | None:
    if type(data).__module__.partition(".")[0] in ARROW and hasattr(data, "__arrow_c_stream__"):
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
    gives_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return source_of_table(data) if gives_arrow else None


def _open_file(path: Path, form: str | CsvFile) -> sources.Source:
    if not os.path.exists(path):
        raise InvalidArgument("data", f"there is no file {path.name!r}")
    if not os.path.isfile(path):
        raise InvalidArgument("data", f"{path.name or str(path)!r} is no file")
    if os.path.getsize(path) == 0:
        raise InvalidArgument("data", f"the file {path.name!r} is empty")
    if path.suffix.lower() == ".parquet":
        if isinstance(form, CsvFile):
            raise InvalidArgument("data", f"a form of CSV is declared, and {path.name!r} is a Parquet file")
        return source_of_parquet(path)
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return source_of_csv(form if isinstance(form, CsvFile) else CsvFile(path, form))
    raise InvalidArgument("data", f"the name of a file must end in .csv, .csv.gz or .parquet, got {path.name!r}")
