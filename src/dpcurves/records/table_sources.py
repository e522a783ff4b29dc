"""SENSITIVE. Data loading: open CSV and Parquet files, data frames, arrays and DuckDB relations as rows for DuckDB.

"SENSITIVE" marks code that reads records. Each kind of table has a class with the interface `Source`: it lists the
columns of the schema, and its `scan` offers the rows to DuckDB under the column names ``c0``, ``c1`` and so on.

    open_source      a `Source` for any kind of table
    open_records     the same, with the privacy unit, ready for counting

Formal guarantees: types of columns come from the schema and are never guessed from records. Each line of a CSV file is
one record, for any content, so no record changes how another one is read.
"""

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
from arro3.core import Array, ArrayReader, ChunkedArray, DataType, Field, RecordBatch, Schema, struct_field
from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import IntArray
from ..data import COMPRESSED, CsvFile, FileGroup, is_text_file, list_files, strip_compression
from ..privacy import EACH_RECORD, Unit
from . import csv_header
from . import source as sources
from .counting import Records
from .engines.duckdb import DuckConnection, DuckEngine
from .engines.engine import EngineTable
from .zstd import open_zstd

if TYPE_CHECKING:
    import narwhals as nw


# SENSITIVE. Records in a CSV file: each line is one record, for any content.
#
# Common readers let one line affect others (an unclosed quote swallows the following lines), stop at a line that they
# cannot read, or show it. Here a record is always exactly one line, so that adding or removing a record adds or removes
# a line:
#
# - A line ends with a line feed (a carriage return before it is part of the end); the last line may lack it. An empty
#   line is a record, too.
# - A delimiter separates fields if the number of quotes before it in the line is even.
# - A quoted field is the text between its quotes; two consecutive quotes are one quote.
# - A line with an odd number of quotes, a wrong number of fields, or more than a mebibyte is malformed: all its values
#   are missing. An empty field is missing, too.


Bytes = NDArray[np.uint8]

LINE_FEED, CARRIAGE_RETURN, QUOTE = b'\n\r"'
BYTES_PER_READ = 2**21
"""Bytes read at once: more than the longest line."""
LINE_COLUMN = "whole"
"""Name of the column with whole lines, whose keyed hashes rank the rows of a unit or assign rows to random subsets."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CsvSource:
    """Lines of one or several CSV files below their headers. All columns are text without a declared type.

    Attributes:
        file: The first file, with the declared format.
        columns: The columns of the header.
        is_costly: True: a second scan reads the files again, so that callers should store what they need.
        more_paths: Further files with the same header.
    """

    file: CsvFile
    columns: tuple[sources.Column, ...]
    is_costly: bool = True
    more_paths: tuple[Path, ...] = ()

    @property
    def unreadable_columns(self) -> Mapping[int, str]:
        """Empty: every column of a CSV file is text."""
        return {}

    @property
    def line_place(self) -> int:
        """Position, after all columns, under which `scan` offers the fault letter of each CSV line, such as for a wrong
        number of fields.

        It is null for a well-formed line.
        """
        return len(self.columns)

    def row_count_sql(self, positions: Sequence[int]) -> None:
        """Return None: no query counts the rows, which are counted while lines are read.

        Args:
            positions: Positions of columns; without effect.
        """

    def scan(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Register the fields at these positions with DuckDB, and return the name of the table for a FROM clause.

        Each line below a header is a row. The files are read when the table is queried, block by block.

        Args:
            connection: DuckDB connection on which the table is registered.
            positions: Positions of columns from 0; `line_place` is the fault of the line.

        Returns:
            Name of a table whose column ``cN`` has the field at position N, as UTF-8 bytes (BLOB), in the order of
            `positions`. An empty field is NULL, and so are
            all fields of a malformed line.
        """
        return self._register_lines(connection, positions, whole=False)

    def scan_decoded(
        self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int], texts: Sequence[int]
    ) -> str | None:
        """Return None, because fields are bytes, which DuckDB cannot decode by itself.

        Args:
            connection: Connection of DuckDB; without effect.
            positions: Positions of columns; without effect.
            texts: Positions of columns of texts; without effect.
        """

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Register the fields at these positions, and each whole line as a column ``whole``, with DuckDB.

        Args:
            connection: Connection of DuckDB that runs the query.
            positions: Positions of the columns in the schema.

        Returns:
            Name of the table for a FROM clause, with columns as in `scan`.
        """
        return self._register_lines(connection, positions, whole=True)

    def _register_lines(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int], whole: bool) -> str:
        """Register the fields of a CSV file as a DuckDB table, whose rows are read when a query scans it.

        Args:
            connection: DuckDB connection of the query.
            positions: Column indices from 0; `line_place` (one past the last field) stands for the letter of the line's
                fault.
            whole: Whether the whole lines are one more column, the last.

        Returns:
            Name of the table, to be written after FROM. All columns are binary.
        """
        names = [*map(sources.sql_name, positions), *([LINE_COLUMN] if whole else [])]
        schema = Schema([Field(name, DataType.binary()) for name in names])

        def make_batches() -> Iterator[RecordBatch]:
            """Yield a record batch for each block of lines: the requested fields and, if requested, each line's fault
            letter and whole text.
            """
            for lines in self._read_blocks():
                fields = [
                    lines.field(position) if position < self.line_place else lines.faults() for position in positions
                ]
                yield RecordBatch.from_arrays([*fields, *([lines.texts()] if whole else [])], schema=schema)

        connection.register(sources.BATCH_TABLE, sources.Stream(schema, make_batches))
        return sources.BATCH_TABLE

    def _read_blocks(self) -> Iterator[LineBlock]:
        """Yield the lines below the headers of all CSV files in blocks, split into fields and decoded to UTF-8."""
        codec = self.file.codec
        for csv_file in (self.file, *(replace(self.file, file=path) for path in self.more_paths)):
            with open_csv(csv_file) as file:
                read_header(file)
                for raw_block in read_line_blocks(file):
                    block = raw_block
                    if codec != "utf-8":  # single-byte encodings, so that no line affects another
                        block = np.frombuffer(raw_block.tobytes().decode(codec, "replace").encode(), dtype=np.uint8)
                    yield LineBlock.from_block(block, ord(self.file.delimiter), len(self.columns))


def open_csv(file: CsvFile) -> BinaryIO:
    """Open the bytes of a file from the start, decompressed if its name ends in ``.gz`` or ``.zst``.

    Args:
        file: The file, with its path or bytes.
    """
    if isinstance(file.file, bytes):
        return BytesIO(file.file)
    path = Path(file.file)
    match path.suffix.lower():
        case ".gz":
            return cast("BinaryIO", gzip.open(path, "rb"))
        case ".zst":
            return open_zstd(path)
    return path.open("rb")


def source_of_csv(file: CsvFile) -> CsvSource:
    """Open a CSV file and read its header. A compressed file is read to its end.

    A compressed file that ends early, or has a wrong checksum, is refused here: an error while counting would depend
    on all records.

    Args:
        file: The file, with its declared format.

    Returns:
        The rows of the file, with one column for each name in the header.

    Raises:
        ValueError: the header is missing or not one line of text, or a compressed file is damaged.
    """
    rule = f"{file.name} cannot be read"
    ending = "" if isinstance(file.file, bytes) else Path(file.file).suffix.lower()
    is_packed = ending in COMPRESSED
    if is_packed:
        with sources.hide_failure(lambda: Path(cast("str | Path", file.file)).open("rb"), rule) as packed:
            first = sources.hide_failure(lambda: packed.read(csv_header.FIRST_BYTES), rule)
            csv_header.require_compressed(file, first, ending)
    with sources.hide_failure(lambda: open_csv(file), rule) as stream:
        first = sources.hide_failure(lambda: stream.read(csv_header.FIRST_BYTES), rule)
        csv_header.require_csv(file, first, is_unpacked=is_packed)
        stream.seek(0)
        header = sources.hide_failure(lambda: read_header(stream), rule)
        if is_packed:
            name = "gzip" if ending == ".gz" else "zstd"
            sources.hide_failure(lambda: _read_to_end(stream), f"{rule}: the {name} data are incomplete or damaged")
    names = csv_header.parse_header(file, header, sources.LONGEST_TEXT)
    number = sources.number_sql(file)
    days = sources.days_sql(file)
    return CsvSource(
        file, tuple(sources.Column(name, sources.ColumnKind.FIELDS, number, elapsed_time=days) for name in names)
    )


def _read_to_end(file: BinaryIO) -> None:
    """Decompress a whole file once, which raises an error if it ends early or has a wrong checksum.

    Args:
        file: Decompressed stream, open at any position.
    """
    while file.read(BYTES_PER_READ):
        pass


def read_header(file: BinaryIO) -> bytes:
    """Read the header line of a CSV file, cut after `LONGEST_TEXT` bytes; empty for an empty file.

    Args:
        file: CSV file, open at its beginning.
    """
    return file.readline(sources.LONGEST_TEXT)


def read_line_blocks(file: BinaryIO) -> Iterator[Bytes]:
    """Yield the lines of a CSV file in blocks of whole lines; a line that is too long is cut after `LONGEST_TEXT`
    bytes.

    Args:
        file: CSV file, open behind its header.
    """
    remainder = b""
    while chunk := file.read(BYTES_PER_READ):
        head, line_feed, tail = chunk.rpartition(b"\n")
        if line_feed:
            yield np.frombuffer(remainder + head + line_feed, dtype=np.uint8)
            remainder = tail
        else:
            remainder = (remainder + tail)[: sources.LONGEST_TEXT + 1]
    if remainder:
        yield np.frombuffer(remainder + b"\n", dtype=np.uint8)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LineBlock:
    """Block of lines, with the ends of the fields of well-formed lines.

    Attributes:
        block: Bytes of the lines.
        line_starts: Start of each line, followed by the end of the block.
        is_well_formed: Whether each line is well-formed.
        fault_letters: Letter of each line's fault; a space for a well-formed line.
        field_ends: Ends of the fields of each well-formed line.
    """

    block: Bytes
    line_starts: IntArray
    is_well_formed: NDArray[np.bool_]
    fault_letters: Bytes
    field_ends: IntArray

    @classmethod
    def from_block(cls, block: Bytes, delimiter: int, fields: int) -> LineBlock:
        """Split a block of CSV lines into fields; each step handles all lines at once, for any content.

        Args:
            block: Bytes of whole lines, the last one ended by a line feed.
            delimiter: Byte between fields.
            fields: Number of fields of a line.
        """
        mark_positions = np.flatnonzero((block == LINE_FEED) | (block == QUOTE) | (block == delimiter))
        marks = block[mark_positions]
        feeds = np.flatnonzero(marks == LINE_FEED)
        marks_per_line = np.diff(feeds, prepend=-1)
        quote_parity = np.cumsum(marks == QUOTE, dtype=np.uint8) & 1
        quote_parity ^= np.repeat(np.concatenate([[0], quote_parity[feeds[:-1]]]).astype(np.uint8), marks_per_line)
        is_separator = (quote_parity == 0) & (marks != QUOTE)
        starts = np.concatenate([[0], mark_positions[feeds] + 1])
        field_counts = np.add.reduceat(is_separator, np.concatenate([[0], feeds[:-1] + 1]), dtype=np.int64)
        is_paired = is_separator[feeds]
        is_short = np.diff(starts) <= sources.LONGEST_TEXT
        is_well_formed = is_paired & (field_counts == fields) & is_short
        fault_letters = np.where(is_paired, sources.FIELDS_FAULT, sources.QUOTE_FAULT)
        letters = np.where(is_well_formed, ord(" "), np.where(is_short, fault_letters, sources.LONG_FAULT)).astype(
            np.uint8
        )
        field_ends = mark_positions[is_separator & np.repeat(is_well_formed, marks_per_line)].reshape(-1, fields)
        field_ends[:, -1] -= block[field_ends[:, -1] - 1] == CARRIAGE_RETURN
        return cls(block, starts, is_well_formed, letters, field_ends)

    def texts(self) -> Array:
        """Return the lines as texts; null for a line that is too long, because how much of it is in this block depends
        on other lines.
        """
        return _make_binary_array(self.line_starts, self.block, np.diff(self.line_starts) <= sources.LONGEST_TEXT)

    def faults(self) -> Array:
        """Return the letter that names each line's fault, as an array of byte strings; null for a well-formed line."""
        offsets = np.concatenate([[0], np.cumsum(~self.is_well_formed)])
        return _make_binary_array(offsets, self.fault_letters[~self.is_well_formed], ~self.is_well_formed)

    def field(self, number: int) -> Array:
        """Return one field of every line, without its enclosing quotes and with doubled quotes made single.

        Args:
            number: Column index, from 0.

        Returns:
            Binary array, one value per line of the block; null if the field is empty or the line is malformed.
        """
        start = self.field_ends[:, number - 1] + 1 if number else self.line_starts[:-1][self.is_well_formed]
        stop = self.field_ends[:, number]
        is_quoted = (stop - start >= 2) & (self.block[start] == QUOTE) & (self.block[stop - 1] == QUOTE)
        start = start + is_quoted
        stop = stop - is_quoted
        lengths = np.zeros(len(self.is_well_formed), dtype=np.int64)
        lengths[self.is_well_formed] = stop - start
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Distance from each copied byte's target to its source.
        shift = np.repeat(start - offsets[:-1][self.is_well_formed], stop - start)
        return _make_binary_array(*_unescape_quotes(offsets, self.block[shift + np.arange(len(shift))]), lengths > 0)


def _unescape_quotes(offsets: IntArray, text: Bytes) -> tuple[IntArray, Bytes]:
    """Replace doubled quotes by single ones in all fields of a block, as CSV files escape quotes.

    Args:
        offsets: Start of each field in `text`, and the end of the last field, (fields + 1,).
        text: The bytes of all fields, one after another.

    Returns:
        The offsets and the bytes, without every second one of consecutive quotes in a field.
    """
    quotes = np.flatnonzero(text == QUOTE)
    field_index = np.searchsorted(offsets, quotes, side="right")
    order = np.arange(len(quotes))
    starts_run = np.concatenate([[True], (np.diff(quotes) != 1) | (np.diff(field_index) != 0)])[: len(quotes)]
    run_start = np.maximum.accumulate(np.where(starts_run, order, 0)) if len(quotes) else order
    removed = quotes[(order - run_start) % 2 == 1]
    return offsets - np.searchsorted(removed, offsets), np.delete(text, removed)


def _make_binary_array(offsets: IntArray, text: Bytes, valid: NDArray[np.bool_]) -> Array:
    """Return an Arrow array of byte strings over existing offsets and bytes; null where `valid` is False.

    Args:
        offsets: Start of each string in `text`, followed by the end of the last one.
        text: Bytes of all strings, one after the other.
        valid: Whether each string is present.
    """
    bits = np.packbits(valid, bitorder="little")
    return sources.array_from_buffers(DataType.binary(), len(valid), bits, offsets.astype(np.int32), text)


# SENSITIVE. Records in a Parquet file.


PARQUET_MAGICS = b"PAR1", b"PARE"
"""First bytes of a Parquet file, and of an encrypted one (Apache Parquet format). A file that cannot be read is called
damaged with them, and no Parquet file without them."""


def describe_unreadable_parquet(path: Path) -> str:
    """Return the message for a file that cannot be read as Parquet, by its first four bytes alone.

    Args:
        path: Path of the file. If it cannot be opened, the message is the first one below.

    Returns:
        The message: the file is damaged, or is not a Parquet file.
    """
    try:
        with path.open("rb") as file:
            has_magic = file.read(4) in PARQUET_MAGICS
    except OSError:
        has_magic = True
    if has_magic:
        return f"{path.name!r} cannot be read as a Parquet file; write it again"
    return f"{path.name!r} does not begin as a Parquet file does; if it is a CSV file, let its name end in .csv"


NUMBER_TYPES = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT",
    "DOUBLE",
}  # fmt: skip
"""DuckDB types that it reads from a Parquet file without an error for any stored values, unless they stand for
decimals. Columns of other types pass further checks or are refused."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ParquetSource:
    """Parquet files whose numbers DuckDB reads directly. Other columns are read through Arrow, and errors are hidden.

    Attributes:
        scans: SQL of the rows of each file, with its columns and the values of its partition keys.
        lenient_scans: Two scans of each file that refuse no text: one replaces invalid UTF-8, one leaves it out.
        names: Names of the columns.
        read_by_duckdb: Whether DuckDB reads each column directly.
        utf8_columns: Positions of columns that the files declare as UTF-8.
        arrow_source: All columns, through Arrow.
        unreadable_columns: See `Source`.
        is_costly: See `Source`.
        owner: DuckDB connection that must stay open while the file is read.
    """

    scans: tuple[str, ...]
    lenient_scans: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    read_by_duckdb: tuple[bool, ...]
    utf8_columns: frozenset[int]
    arrow_source: sources.ArrowSource
    unreadable_columns: Mapping[int, str]
    is_costly: bool = False
    owner: DuckConnection | None = None

    @property
    def columns(self) -> tuple[sources.Column, ...]:
        """The columns of the schema in its order, with the SQL that reads them through Arrow."""
        return self.arrow_source.columns

    def row_count_sql(self, positions: Sequence[int]) -> str | None:
        """Return a query of the number of rows, which adds up the sizes of their groups in the files.

        Args:
            positions: Positions of the columns that a question reads.

        Returns:
            The query; None if one of the columns is read through Arrow, so that rows are counted while batches are
            read.
        """
        if not self._reads_directly([position for position in positions if position not in self.utf8_columns]):
            return None
        return f"SELECT count(*) FROM ({' UNION ALL '.join(f'SELECT 1 FROM {scan}' for scan in self.scans)})"

    def scan(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Return a FROM clause with the columns at these positions, named ``c0``, ``c1`` and so on by position.

        DuckDB reads the files itself if it can read all of these columns for any values; otherwise Arrow does.

        Args:
            connection: Connection of DuckDB that runs the query.
            positions: Positions of the columns in the schema.

        Raises:
            ImportError: only pyarrow reads one of the columns, and it is not installed.
        """
        sources.require_readable(self, positions)
        if not self._reads_directly(positions):
            return self.arrow_source.scan(connection, positions)
        columns = _format_columns(self.names, positions)
        return f"({' UNION ALL '.join(f'SELECT {columns} FROM {scan}' for scan in self.scans)})"

    def scan_decoded(
        self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int], texts: Sequence[int]
    ) -> str | None:
        """Return SQL by which DuckDB reads the columns without Arrow, or None if it cannot.

        DuckDB can if the files declare all columns of `texts` as UTF-8, and if it reads the other columns directly.
        Each text is read twice, with invalid bytes replaced and ignored; if the results differ, the text is invalid and
        becomes missing. So no row can make the scan fail, and no text travels through Arrow, which takes three times as
        long as a scan.

        Args:
            connection: Not used, since the SQL names the files.
            positions: Column indices from 0, in the order of the result.
            texts: Those of `positions` that are read as text.

        Returns:
            A subquery in brackets, to be written after FROM; None if the rows must be read through Arrow.
        """
        sources.require_readable(self, positions)
        others = [position for position in positions if position not in texts]
        if not (
            self.utf8_columns.issuperset(texts)
            and self._reads_directly(others)
            and all(self.names[position] for position in texts)
        ):
            return None
        values = [
            _decoded_sql(position) if position in texts else f"a.{sources.sql_name(position)}" for position in positions
        ]
        selects = [
            f"SELECT {', '.join(values)} FROM (SELECT {_format_columns(self.names, positions)} FROM {replaced}) AS a "
            f"POSITIONAL JOIN (SELECT {_format_columns(self.names, texts)} FROM {ignored}) AS b"
            for replaced, ignored in self.lenient_scans
        ]
        return f"({' UNION ALL '.join(selects)})"

    def _reads_directly(self, positions: Sequence[int]) -> bool:
        """Return True if DuckDB itself can read these columns, for any values and under distinct names.

        Args:
            positions: Positions of the columns in the schema.
        """
        is_direct = all(self.read_by_duckdb[position] and self.names[position] for position in positions)
        return is_direct and has_distinct_names(self.names)

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Return a FROM clause of the columns at these positions, and of a column ``whole`` that encodes the whole row
        unambiguously.

        Args:
            connection: DuckDB connection of the query.
            positions: Column indices from 0.
        """
        return sources.add_whole_row_column(self.scan(connection, range(len(self.columns))), self.columns, positions)


def _decoded_sql(position: int) -> str:
    """Return SQL that decodes a text column from two scans of a file; NULL for invalid UTF-8 or a text that is too
    long.

    Scan `a` replaces invalid bytes and scan `b` omits them, so the text is invalid where both differ.

    Args:
        position: Column index from 0.
    """
    name = sources.sql_name(position)
    is_text = f"strlen(a.{name}) <= {sources.LONGEST_TEXT} AND a.{name} = b.{name}"
    return f"CASE WHEN {is_text} THEN a.{name} END AS {name}"


def has_distinct_names(names: Sequence[str]) -> bool:
    """Return True if column names differ even without regard to case, as SQL needs.

    Args:
        names: Column names.
    """
    return len({name.lower() for name in names}) == len(names)


def source_of_parquet(group: FileGroup) -> ParquetSource:
    """Open Parquet files and read their schemas. Partition keys are columns of text without a declared type.

    Args:
        group: Files of one table, with the values of their partition keys.

    Raises:
        ValueError: a file is not Parquet, two columns have the same name, or the files have different columns.
    """
    return _parquet_by_pyarrow(group) if sources.has_pyarrow() else _parquet_by_duckdb(group)


DIFFERENT_COLUMNS_RULE = "the files have different columns; give files with one header or schema"
"""Rule in the error for several files that differ in names, order or types of columns."""
KEY_COLUMN = sources.ColumnKind.FIELDS
"""Kind of the columns of partition keys: texts without a declared type, as the fields of CSV."""


def _parquet_by_pyarrow(group: FileGroup) -> ParquetSource:
    """Open Parquet files with pyarrow, which reads columns of all types.

    Args:
        group: Files with equal columns, and the values of partition keys that their folders name.

    Returns:
        The rows of all files, in the order of the files; partition keys are the last columns.

    Raises:
        InvalidArgument: a file is not Parquet, the files have different columns, or two columns have the same name.
    """
    import pyarrow.parquet as pq

    file_schemas = [
        sources.hide_failure(partial(pq.read_metadata, path), describe_unreadable_parquet(path)).schema
        for path in group.paths
    ]
    schemas = [file_schema.to_arrow_schema() for file_schema in file_schemas]
    schema = schemas[0]
    if any((other.names, other.types) != (schema.names, schema.types) for other in schemas[1:]):
        raise InvalidArgument("data", DIFFERENT_COLUMNS_RULE)
    names = _require_distinct(group.paths[0], [*schema.names, *group.keys])
    uuids = _find_uuid_columns(file_schemas[0])
    types = (
        *(DataType.large_binary() if field.name in uuids else DataType.from_arrow(field.type) for field in schema),
        *[DataType.binary()] * len(group.keys),
    )

    def read_batches(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Yield the columns at these positions, batch by batch, file by file.

        Args:
            positions: Positions of columns in the schema; partition keys come after the columns of the files.

        Yields:
            The columns of a batch in the order of `positions`.
        """
        selected_names = [names[position] for position in positions if position < len(schema.names)]
        for number, path in enumerate(group.paths):
            values = group.values[number] if group.keys else ()
            keys = {len(schema.names) + key: value for key, value in enumerate(values)}
            with pq.ParquetFile(path) as file:
                # 2**16: rows of a batch that pyarrow reads
                for batch in file.iter_batches(batch_size=2**16, columns=selected_names):
                    columns = dict(zip(selected_names, batch.select(selected_names).columns, strict=True))
                    columns |= {name: sources.uuid_texts(columns[name]) for name in uuids.intersection(columns)}
                    yield [
                        _repeat_key(keys[position], batch.num_rows) if position in keys else columns[names[position]]
                        for position in positions
                    ]

    columns = tuple(
        sources.uuid_column(name) if name in uuids else sources.column_from_arrow_type(name, data_type)
        for name, data_type in zip(schema.names, types, strict=False)
    )
    columns += _key_columns(group)
    is_plain = tuple(
        position >= len(schema.names) or (sources.is_number(data_type) and not DataType.is_float16(data_type))
        for position, data_type in enumerate(types)
    )
    arrow_source = sources.ArrowSource(columns, types, read_batches, is_costly=False)
    utf8_columns = frozenset.intersection(*map(_find_utf8_columns, file_schemas))
    return ParquetSource(
        _format_scans(group), _format_lenient_scans(group), names, is_plain, utf8_columns, arrow_source, {}
    )


def _find_utf8_columns(schema: Any) -> frozenset[int]:
    """Return the positions of the columns that a Parquet schema declares as UTF-8; none if a column is nested.

    Args:
        schema: Schema of pyarrow.
    """
    names = schema.to_arrow_schema().names
    leaves = [schema.column(number) for number in range(len(schema))]
    if [leaf.path for leaf in leaves] != names:
        return frozenset()
    return frozenset(
        number
        for number, leaf in enumerate(leaves)
        if leaf.logical_type.type == "STRING" and leaf.physical_type == "BYTE_ARRAY" and not leaf.max_repetition_level
    )


def _find_uuid_columns(schema: Any) -> frozenset[str]:
    """Return the names of the columns that a Parquet schema declares as UUIDs; columns of lists are not included.

    Args:
        schema: Schema of pyarrow.
    """
    names = schema.to_arrow_schema().names
    leaves = [schema.column(number) for number in range(len(schema))]
    return frozenset(
        leaf.path
        for leaf in leaves
        if leaf.logical_type.type == "UUID" and not leaf.max_repetition_level and leaf.path in names
    )


def _key_columns(group: FileGroup) -> tuple[sources.Column, ...]:
    """Return the columns of a table's partition keys, which are read like the fields of a CSV file.

    Args:
        group: Files of one table, with the values of their partition keys.

    Returns:
        A column for each key, in the order of the keys.
    """
    file = CsvFile("keys.csv")
    number = sources.number_sql(file)
    days = sources.days_sql(file)
    return tuple(sources.Column(key, KEY_COLUMN, number, elapsed_time=days) for key in group.keys)


def _repeat_key(value: str | None, rows: int) -> Array:
    """SENSITIVE: return a partition key as a column of a file: the same value for each row.

    Args:
        value: The value in the folder's name; None: it is missing in all rows.
        rows: Number of rows.
    """
    return Array([None if value is None else value.encode()] * rows, DataType.binary())


def _format_scans(group: FileGroup, wrong_text: str = "strict") -> tuple[str, ...]:
    """Return the SQL that reads each file, with the values of its partition keys as further columns.

    Args:
        group: Files, and the partition keys that their folders name.
        wrong_text: What DuckDB does about invalid UTF-8: ``strict`` (an error), ``replace`` or ``ignore``.

    Returns:
        One FROM clause per file, in the order of the files.
    """
    scans = []
    for number, path in enumerate(group.paths):
        values = group.values[number] if group.keys else ()
        keys = [
            f"{'NULL::BLOB' if value is None else _format_blob(value)} AS {_quote_name(key)}"
            for key, value in zip(group.keys, values, strict=True)
        ]
        scan = f"read_parquet({_quote_path(path)}, hive_partitioning = false, utf8_validation = '{wrong_text}')"
        scans.append(f"(SELECT {', '.join(['*', *keys])} FROM {scan})" if keys else scan)
    return tuple(scans)


def _format_lenient_scans(group: FileGroup) -> tuple[tuple[str, str], ...]:
    """Return two SQL scans of each file, to find texts of invalid UTF-8: invalid bytes are replaced in one, and omitted
    in the other.

    Args:
        group: Files of one table, with the values of their partition keys.

    Returns:
        A pair for each file: the replacing scan and the omitting scan.
    """
    return tuple(zip(_format_scans(group, "replace"), _format_scans(group, "ignore"), strict=True))


def _format_blob(value: str) -> str:
    """Return the SQL literal of a text's bytes (BLOB).

    Args:
        value: Text, which is encoded as UTF-8.
    """
    return f"unhex('{value.encode().hex()}')"


def _quote_name(name: str) -> str:
    """Quote a column or table name as an SQL identifier.

    Args:
        name: Any name; double quotes in it are doubled.
    """
    return '"' + name.replace('"', '""') + '"'


def _require_distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return the column names of a file as a tuple, after a check that all differ.

    Args:
        path: File that the message names.
        names: Column names, in the order of the file.

    Raises:
        InvalidArgument: two names are equal.
    """
    if len(set(names)) < len(names):
        raise InvalidArgument("data", f"two columns of {path.name!r} have the same name; rename one of them")
    return tuple(names)


def _parquet_by_duckdb(group: FileGroup) -> ParquetSource:
    """Open Parquet files with DuckDB alone, if pyarrow is not installed.

    DuckDB refuses invalid UTF-8 with a message that shows it, unless it may replace or ignore invalid bytes. A text is
    read in both ways; if the results differ, the text is invalid and missing. DuckDB also refuses large timestamps in
    milliseconds and times of day, so columns of these types are not read at all.

    Args:
        group: Files with equal columns, and the values of partition keys that their folders name.

    Returns:
        The rows of all files; a query that needs a column DuckDB cannot read is refused with the reason.

    Raises:
        InvalidArgument: a file is not Parquet, the files have different columns, or two columns have the same name.
    """
    engine = DuckConnection()
    engine.connection.execute("SET arrow_large_buffer_size = true")
    schemas = [
        sources.hide_failure(partial(_read_fields, engine.connection, path), describe_unreadable_parquet(path))
        for path in group.paths
    ]
    if any(other != schemas[0] for other in schemas[1:]):
        raise InvalidArgument("data", DIFFERENT_COLUMNS_RULE)
    fields = [*schemas[0], *(_Field(key, "BYTE_ARRAY", "", "BLOB") for key in group.keys)]
    names = _require_distinct(group.paths[0], [field.name for field in fields])
    unreadable = {position: UNSUPPORTED_TYPE_RULE for position, field in enumerate(fields) if not field.is_readable}
    unreadable |= {position: EMPTY_NAME_RULE for position, name in enumerate(names) if not name}
    if not has_distinct_names(names):
        unreadable = dict.fromkeys(range(len(names)), AMBIGUOUS_NAME_RULE)
    readable = [position for position in range(len(names)) if position not in unreadable]
    texts = [position for position in readable if fields[position].duckdb_type == "VARCHAR"]
    values = [
        f"a.{sources.sql_name(position)}" if position in readable else f"NULL AS {sources.sql_name(position)}"
        for position in range(len(names))
    ]
    for position in texts:
        values[position] = "CASE WHEN a.{0} = b.{0} THEN a.{0} END AS {0}".format(sources.sql_name(position))
    selects = []
    for replaced, ignored in _format_lenient_scans(group):
        rows = f"(SELECT {_format_columns(names, readable) or 'NULL'} FROM {replaced}) AS a"
        if texts:
            rows += f" POSITIONAL JOIN (SELECT {_format_columns(names, texts)} FROM {ignored}) AS b"
        selects.append(f"SELECT {', '.join(values)} FROM {rows}")
    relation_source = source_of_relation(engine.connection.sql(" UNION ALL ".join(selects)), sources.LONGEST_TEXT)
    columns = [replace(column, name=name) for name, column in zip(names, relation_source.columns, strict=True)]
    columns[len(schemas[0]) :] = _key_columns(group)
    for position in unreadable:
        columns[position] = replace(columns[position], kind=fields[position].kind)
    arrow_source = replace(relation_source, columns=tuple(columns))
    is_plain = tuple(field.duckdb_type in NUMBER_TYPES for field in fields)
    return ParquetSource(
        _format_scans(group), _format_lenient_scans(group), names, is_plain, frozenset(texts), arrow_source, unreadable,
        owner=engine,
    )  # fmt: skip


UNSUPPORTED_TYPE_RULE = "holds neither numbers, text, dates nor timestamps in micro- or nanoseconds"
"""Why a column of a Parquet file cannot be read, for the error if a question names it."""
AMBIGUOUS_NAME_RULE = "has a name that differs from another one in case only"
"""Why no column of a Parquet file can be read: SQL ignores case. For the error if a question names a column."""
EMPTY_NAME_RULE = "has an empty name, which SQL does not allow"
"""Why a column of a Parquet file cannot be read, for the error if a question names it."""


class _Field(NamedTuple):
    """Column of a Parquet file: name, physical and logical type in the file, and DuckDB's type without parameters.

    The physical type is None for a nested or repeated column, which can have many values in a row.
    """

    name: str
    physical_type: str | None
    logical_type: str
    duckdb_type: str

    @property
    def is_readable(self) -> bool:
        """Whether DuckDB reads the column without errors for any stored values."""
        if self.physical_type is None or self.physical_type == "INT96":
            return False
        if self.duckdb_type in NUMBER_TYPES:
            return not self.logical_type.lower().startswith("decimal")
        if self.duckdb_type.startswith("TIMESTAMP"):
            return any(unit in self.logical_type for unit in ("MicroSeconds", "NanoSeconds", "TIMESTAMP_MICROS"))
        if self.duckdb_type == "VARCHAR":
            return self.logical_type in {"StringType()", "UTF8"}
        if self.duckdb_type == "BLOB":
            return not self.logical_type
        return self.duckdb_type in {"DATE", "DECIMAL", '"NULL"'}

    @property
    def kind(self) -> sources.ColumnKind:
        """Kind that a message states for a column which DuckDB cannot read for all values."""
        if self.physical_type is None:
            return sources.ColumnKind.OTHER
        if self.duckdb_type in NUMBER_TYPES or self.duckdb_type == "DECIMAL":
            return sources.ColumnKind.NUMBERS
        if self.duckdb_type in {"VARCHAR", "JSON", "UUID", "BLOB"}:
            return sources.ColumnKind.TEXT
        if self.duckdb_type.startswith(("DATE", "TIME", "INTERVAL")):
            return sources.ColumnKind.TIMES
        return sources.ColumnKind.OTHER


def _read_fields(connection: duckdb.DuckDBPyConnection, path: Path) -> list[_Field]:
    """Return the top-level columns of a Parquet file, each with its type in the file and its type in DuckDB.

    Args:
        connection: DuckDB connection.
        path: Path of the file; its footer is read.
    """
    single_value = "CASE WHEN repetition_type <> 'REPEATED' THEN type END"
    facts = f"num_children, name, {single_value}, coalesce(logical_type, converted_type, ''), coalesce(duckdb_type, '')"
    query = f"SELECT {facts} FROM parquet_schema({_quote_path(path)}) ORDER BY column_id"
    root, *descendants = connection.execute(query).fetchall()
    fields = []
    open_children = [root[0]]
    for children, name, physical, logical_type, duckdb_type in descendants:
        if len(open_children) == 1:
            fields.append(_Field(name, physical, logical_type, duckdb_type.partition("(")[0]))
        open_children[-1] -= 1
        open_children += [children] if children else []
        while open_children and not open_children[-1]:
            open_children.pop()
    return fields


def _format_columns(names: Sequence[str], positions: Iterable[int]) -> str:
    """Return the SQL list that selects columns of a file under the engine's names ``c0``, ``c1``, ... by position.

    Args:
        names: Names of all columns of the file.
        positions: Positions of the columns to select.
    """
    quoted = ((names[position].replace('"', '""'), position) for position in positions)
    return ", ".join(f'"{name}" AS {sources.sql_name(position)}' for name, position in quoted)


def _quote_path(path: Path) -> str:
    """Return a path as an SQL text, with DuckDB's wildcards escaped, so that it names one file.

    Args:
        path: Path of a file.
    """
    escaped = "".join(f"[{character}]" if character in "*?[" else character for character in str(path.absolute()))
    return "'" + escaped.replace("'", "''") + "'"


# SENSITIVE. Records of a DuckDB relation, on its owner's connection.


WIDE_INTEGER_TYPES = {"hugeint", "uhugeint", "bignum", "varint"}
"""DuckDB's integers with more than 64 bits, read as decimals: as categories they keep all digits."""
ARROW_READY_TYPES = {
    "null", "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint",
    "float", "double", "decimal", "date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
    "timestamp with time zone", "timestamptz_ns", "enum",
}  # fmt: skip
"""DuckDB types that are converted to Arrow as they are."""
TEXT_TYPES = {"varchar", "uuid", "blob"}
"""DuckDB types that are read as texts. A column of another type than these and `ARROW_READY_TYPES` is neither numbers
nor text, so a question that names it is refused."""
UNSUPPORTED_TIME_TYPES = {"time with time zone", "interval"}
"""DuckDB types of time that cannot be counted: a question that names such a column is refused, with the advice to give
days or seconds as numbers."""
LONGEST_OF_MANY = 2**31 // sources.ROWS_PER_BATCH - 1
"""Largest length of a text in bytes, so that a batch of the usual number of rows fits into an Arrow array (2 GiB of
text). A longer text is missing."""


def source_of_relation(relation: duckdb.DuckDBPyRelation, longest: int | None = None) -> sources.ArrowSource:
    """Return the rows of a DuckDB relation. Each query runs the relation again. Types that Arrow lacks are converted to
    text.

    Args:
        relation: The relation; its type, and no row, is read here.
        longest: Maximum bytes of a text; a longer text is missing. None: the usual maximum with pyarrow, which reads
            small batches; else 16 KiB, because an Arrow array holds at most 2 GiB of text.
    """
    kinds = [str(duckdb_type.id) for duckdb_type in relation.types]
    reads_small_batches = longest is None and sources.has_pyarrow()
    text_limit = longest or (sources.LONGEST_TEXT if reads_small_batches else LONGEST_OF_MANY)
    projected = relation.project(
        ", ".join(_format_value(position, kind, text_limit) for position, kind in enumerate(kinds))
    )
    types = sources.read_types(projected.limit(0))

    def read_batches(positions: Sequence[int]) -> Iterator[Sequence[Array]]:
        """Run the relation and yield the columns at these positions, batch by batch.

        Args:
            positions: Positions of columns in the schema.

        Yields:
            The columns of a batch in the order of `positions`.
        """
        rows = projected.project(", ".join(f"#{position + 1}" for position in positions))
        if reads_small_batches and not all(kinds[position] in ARROW_READY_TYPES for position in positions):
            # 2**10: rows of a batch with texts, so that texts of the maximum length fit into an Arrow array
            rows = rows.to_arrow_reader(2**10)
        return sources.read_batches(rows)

    labels = _list_declared_labels(relation) if "enum" in kinds else [()] * len(kinds)
    columns = (_make_column(*facts) for facts in zip(relation.columns, kinds, types, labels, strict=True))
    return sources.ArrowSource(tuple(columns), tuple(types), read_batches, is_costly=False)


def _list_declared_labels(relation: duckdb.DuckDBPyRelation) -> list[tuple[str, ...]]:
    """Return the labels of each column that has a type of CREATE TYPE ... AS ENUM, and none for other columns.

    DuckDB makes ENUM types without a name, too, of categories in data frames. Their labels come from records, so a
    refusal of other labels would tell which ones the records have.

    Args:
        relation: DuckDB relation.

    Returns:
        One tuple per column, in order: the labels in the order of their declaration, or () for other types.
    """
    catalogue = "SELECT labels FROM duckdb_types() WHERE logical_type = 'ENUM' AND NOT internal"
    declared: Any = relation.query("catalogue", catalogue)
    named = {tuple(labels) for (labels,) in declared.fetchall()}
    types: list[Any] = relation.types
    found = [tuple(each.children[0][1]) if each.id == "enum" else () for each in types]
    return [labels if labels in named else () for labels in found]


def _format_value(position: int, kind: str, longest: int) -> str:
    """Return SQL that reads a column of a relation under the engine's name ``c0``, ``c1``, ...

    Values whose type Arrow lacks become texts; a text longer than `longest` bytes becomes NULL.

    Args:
        position: Column index from 0.
        kind: DuckDB type of the column.
        longest: Maximum bytes of a text; a longer one is NULL.
    """
    value = f"#{position + 1}"
    if kind not in ARROW_READY_TYPES:
        text = f"CAST({value} AS VARCHAR)"
        value = f"CASE WHEN strlen({text}) <= {longest} THEN {value if kind == 'blob' else text} END"
    return f"{value} AS c{position}"


def _make_column(name: str, kind: str, declared: DataType, labels: Sequence[str]) -> sources.Column:
    """Describe a column of a DuckDB relation for the engine, from its DuckDB type, Arrow type and declared ENUM labels.

    Args:
        name: Name of the column.
        kind: DuckDB's name of its type.
        declared: Arrow type.
        labels: Declared labels of an ENUM; empty for other types.
    """
    if labels:
        return sources.enum_column(name, labels)
    if kind in WIDE_INTEGER_TYPES:
        return sources.decimal_column(name)
    if kind == "uuid":
        return sources.uuid_column(name)
    column = sources.column_from_arrow_type(name, declared)
    if kind in ARROW_READY_TYPES | TEXT_TYPES:
        return column
    return sources.Column(
        name, sources.ColumnKind.TIMES if kind in UNSUPPORTED_TIME_TYPES else sources.ColumnKind.OTHER, column.number
    )


# SENSITIVE. Records in memory: data frames, Arrow tables, and mappings from names to arrays.


UNREADABLE_COLUMN_RULE = (
    "a column cannot be read; check its values and their type (the message is not shown, because it may quote a record)"
)
"""Error in place of any error of an Arrow array or column while it is read."""
NAMES_OF_TEXT = {"str", "string", "large_string"}
"""Type names of text in pandas. Columns of other types hold Python objects, whose type only their values would show."""
KINDS_OF_NUMPY = MappingProxyType(
    {
        "U": sources.ColumnKind.TEXT,
        "S": sources.ColumnKind.TEXT,
        "O": sources.ColumnKind.OBJECTS,
        "m": sources.ColumnKind.TIMES,
    }
)
"""Kinds of columns by NumPy's letter of the type: U and S text, O Python objects, m durations. Numbers and dates are
read by Arrow's types; others cannot be counted."""
ARROW_LIBRARIES = {"pyarrow", "arro3"}
"""Libraries whose tables and arrays are read as they are; others are read through narwhals."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MemoryColumn:
    """Column in memory, as a function that converts it to Arrow arrays."""

    column: sources.Column
    type: DataType
    load: Callable[[], Sequence[Array]]


def source_of_columns(columns: Sequence[MemoryColumn]) -> sources.ArrowSource:
    """Return columns in memory as a source whose rows can be scanned; each column is converted to Arrow at most once.

    Args:
        columns: Columns with equal numbers of rows.
    """
    loads = [cache(column.load) for column in columns]

    def read_batches(positions: Sequence[int]) -> Iterator[Sequence[Array]]:
        """Convert the columns at these positions, and cut them into batches with equal rows.

        Args:
            positions: Positions of columns in the schema.

        Yields:
            Slices of all columns, in the order of `positions`. Each lies within one chunk of its column and has at most
            `ROWS_PER_BATCH` rows.
        """
        chunks = [loads[position]() for position in positions]
        ends = [np.cumsum([len(array) for array in column], dtype=np.int64) for column in chunks]
        (rows,) = {int(column_ends[-1]) if len(column_ends) else 0 for column_ends in ends}
        edges = np.unique(np.concatenate([[0], *ends, np.arange(0, rows, sources.ROWS_PER_BATCH)])).tolist()
        for start, stop in pairwise(edges):
            batch = []
            for column, column_ends in zip(chunks, ends, strict=True):
                index = int(np.searchsorted(column_ends, start, side="right"))
                chunk_start = int(column_ends[index]) - len(column[index])
                batch.append(column[index].slice(start - chunk_start, stop - start))
            yield batch

    return sources.ArrowSource(
        tuple(column.column for column in columns),
        tuple(column.type for column in columns),
        read_batches,
        is_costly=False,
    )


def source_of_table(data: Any) -> sources.ArrowSource:
    """Return the rows of an Arrow table, or of an object that exports one by the PyCapsule protocol.

    Args:
        data: Table or record batch with ``__arrow_c_stream__`` or ``__arrow_c_array__``.

    Raises:
        InvalidArgument: a whole row of the table is null (a missing struct).
    """
    if hasattr(data, "__arrow_c_stream__"):
        reader = ArrayReader.from_stream(data)
        row_type = reader.field.type
        rows = list(reader)
    else:
        rows = [Array.from_arrow(data)]
        row_type = rows[0].type
    if any(batch.null_count for batch in rows):
        raise InvalidArgument("data", "a table must not have missing rows; drop them first")
    return source_of_columns(
        [_column_of_field(rows, position, field) for position, field in enumerate(row_type.fields)]
    )


def _column_of_field(rows: Sequence[Array], position: int, field: Any) -> MemoryColumn:
    """Return the column at a position of the batches of an Arrow table, with its declared type.

    Args:
        rows: Batches of the Arrow table.
        position: Position of the column.
        field: Its Arrow field, with name and type.
    """
    chunks = partial(_column_chunks, rows, position)
    if sources.is_uuid(field):
        texts = DataType.large_binary()
        return MemoryColumn(sources.uuid_column(field.name), texts, lambda: [*map(sources.uuid_texts, chunks())])
    return MemoryColumn(sources.column_from_arrow_type(field.name, field.type), field.type, chunks)


def _column_chunks(rows: Sequence[Array], position: int) -> list[Array]:
    """Return one column of each batch of an Arrow table.

    Args:
        rows: Batches of the table, as arrays of structs.
        position: Position of the column.
    """
    return [struct_field(batch, position) for batch in rows]


def source_of_frame(frame: nw.DataFrame[Any]) -> sources.ArrowSource:
    """Return the rows of a data frame in memory as a source that the counting engine can scan.

    Args:
        frame: Data frame, wrapped by narwhals.
    """
    return source_of_columns([column_from_series(str(name), frame[name]) for name in frame.columns])


def source_of_lazy_frame(frame: nw.LazyFrame[Any]) -> sources.ArrowSource:
    """Return the rows of a lazy data frame as a source that can be scanned; the frame is computed each time that it is
    read.

    Args:
        frame: Lazy data frame, wrapped by narwhals.
    """
    backend: Any = None if frame.implementation.is_polars() else "pyarrow"
    names = list(frame.collect_schema().names())
    empty = source_of_frame(frame.head(0).collect(backend))

    def read_batches(positions: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Compute the columns at these positions and yield them batch by batch.

        Args:
            positions: Positions of columns in the schema.

        Yields:
            The columns of a batch in the order of `positions`.
        """
        collected = source_of_frame(frame.select([names[position] for position in positions]).collect(backend))
        yield from collected.read_batches(range(len(positions)))

    return sources.ArrowSource(empty.columns, empty.types, read_batches, is_costly=True)


def source_of_mapping(data: Mapping[str, Any]) -> sources.ArrowSource:
    """Return the rows of a mapping from column names to values, such as NumPy arrays, lists or series.

    Args:
        data: Values by column name. Names are converted to text.

    Raises:
        ValueError: the lengths differ, or an array does not have exactly one axis.
        TypeError: a value is not a list, an array or a series.
    """
    columns = [_column_from_values(str(name), values) for name, values in data.items()]
    if len({len(values) for values in data.values()}) > 1:
        raise InvalidArgument(
            "data", "all columns must have the same number of values; check the lengths of the arrays"
        )
    return source_of_columns(columns)


def column_from_arrow(name: str, values: Any) -> MemoryColumn:
    """Return a column of an Arrow array, or of a chunked one.

    Args:
        name: Name of the column.
        values: Object that exports the Arrow C interface.
    """
    array = ChunkedArray.from_arrow(values)
    return MemoryColumn(sources.column_from_arrow_type(name, array.type), array.type, lambda: array.chunks)


def column_from_series(name: str, series: nw.Series[Any]) -> MemoryColumn:
    """Return a column of a pandas, Polars or other data frame, with its declared type.

    Columns of Python objects are read as text, because only their values show their types. The values are converted to
    Arrow when the column is read, not here.

    Args:
        name: Column name.
        series: The column, wrapped by narwhals.
    """
    import narwhals as nw

    dtype = series.dtype
    native = series.to_native()
    by_pandas = series.implementation.is_pandas_like()
    if isinstance(dtype, nw.Int128 | nw.UInt128):
        return MemoryColumn(
            sources.decimal_column(name), DataType.large_binary(), lambda: [sources.to_text_array(series.to_list())]
        )
    if isinstance(dtype, nw.Object) or (by_pandas and isinstance(dtype, nw.String | nw.Categorical | nw.Enum)):
        return _column_from_texts(name, _text_kind(series), series.to_list)
    if by_pandas and isinstance(dtype, nw.Unknown):
        return _column_from_texts(name, sources.ColumnKind.OTHER, series.to_list)
    if series.implementation.is_pandas() and (data_type := _numpy_type_of(native.dtype)) is not None:
        declared = _array_of_pandas(native.head(0), data_type).type
        return MemoryColumn(
            sources.column_from_arrow_type(name, declared), declared, lambda: [_array_of_pandas(native, data_type)]
        )

    def to_arrow(part: nw.Series[Any]) -> ChunkedArray:
        """Return a series as an Arrow array, without a copy where its library allows it.

        Args:
            part: Series, or a slice of it.
        """
        native = part.to_native()
        is_arrow = not by_pandas and hasattr(native, "__arrow_c_stream__")
        return ChunkedArray.from_arrow(native if is_arrow else part.to_arrow())

    if str(native.dtype) == "Null":  # Polars exports arrays of nulls with one buffer too many
        null_type = DataType.null()
        return MemoryColumn(
            sources.column_from_arrow_type(name, null_type), null_type, lambda: to_arrow(series.cast(nw.Float64)).chunks
        )
    declared = to_arrow(series.head(0)).type
    # Categories of pandas and of Arrow dictionaries are those that the records have; an Enum of Polars declares them.
    column = (
        sources.enum_column(name, dtype.categories)
        if isinstance(dtype, nw.Enum) and series.implementation.is_polars()
        else sources.column_from_arrow_type(name, declared)
    )
    return MemoryColumn(column, declared, lambda: to_arrow(series).chunks)


def _numpy_type_of(declared: Any) -> np.dtype[Any] | None:
    """Return NumPy's type of a pandas column of numbers or times; None for other types and for pyarrow's.

    Args:
        declared: Type of the column, as pandas declares it.
    """
    if hasattr(declared, "pyarrow_dtype"):
        return None
    if getattr(declared, "tz", None) is not None:
        return np.dtype(f"datetime64[{declared.unit}]")
    data_type: Any = declared if isinstance(declared, np.dtype) else getattr(declared, "numpy_dtype", None)
    return data_type if data_type is not None and data_type.kind in "fiubmM" else None


def _array_of_pandas(series: Any, data_type: np.dtype[Any]) -> Array:
    """Return a pandas column of numbers or times as an Arrow array, null where the value is missing.

    Args:
        series: Column of pandas.
        data_type: NumPy type of its values: a number, a date-time (M) or a duration (m).
    """
    if data_type.kind == "M":
        return sources.to_arrow_array(series.to_numpy(dtype=data_type))
    if data_type.kind == "m":
        unit: Any = np.datetime_data(data_type)[0]
        return sources.reinterpret(
            sources.to_arrow_array(series.to_numpy().view(f"datetime64[{unit}]")), DataType.duration(unit)
        )
    if series.dtype == data_type and data_type.kind != "f":
        return sources.to_arrow_array(series.to_numpy())
    values = series.to_numpy(dtype=data_type, na_value=data_type.type(0))
    return sources.to_arrow_array(np.ma.MaskedArray(values, mask=series.isna().to_numpy()))


def _text_kind(series: nw.Series[Any]) -> sources.ColumnKind:
    """Return the declared kind of a data frame's column: text, or Python objects, whose type only their values would
    show.

    Args:
        series: Column of a data frame that is neither numbers nor times.
    """
    declared: Any = series.to_native().dtype
    data_type = declared.categories.dtype if hasattr(declared, "categories") else declared
    return sources.ColumnKind.TEXT if str(data_type).partition("[")[0] in NAMES_OF_TEXT else sources.ColumnKind.OBJECTS


def _column_from_values(name: str, values: Any) -> MemoryColumn:
    """Make a column that engines can read from a list, array or series.

    Args:
        name: Column name.
        values: List, tuple, range, NumPy array, series that narwhals supports, or Arrow array.

    Raises:
        WrongArgumentType: the values are of another type.
    """
    if isinstance(values, list | tuple | range):
        return _column_from_texts(name, sources.ColumnKind.UNTYPED, lambda: values)
    if isinstance(values, np.ndarray):
        return _column_from_numpy(name, values)
    if type(values).__module__.partition(".")[0] not in ARROW_LIBRARIES:
        import narwhals as nw

        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return column_from_series(name, series)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return sources.hide_failure(lambda: column_from_arrow(name, values), UNREADABLE_COLUMN_RULE)
    raise WrongArgumentType(
        "data", f"column {name!r} is of type {type(values).__name__}; an array, a series or a list is needed"
    )


def _column_from_numpy(name: str, values: np.ndarray[Any, Any]) -> MemoryColumn:
    """Make a column that engines can read from a NumPy array.

    Args:
        name: Column name.
        values: Array with one axis; numbers and dates keep their type, other values are read as text.

    Raises:
        InvalidArgument: the array does not have exactly one axis.
    """
    if values.ndim != 1:
        raise InvalidArgument(
            "data", f"column {name!r} must have one axis, not {values.ndim}; give one value for each record"
        )
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
    """Return a column whose values are encoded as texts when the column is read.

    Args:
        name: Name of the column.
        kind: Kind of the column.
        values: Function that returns the values.
    """
    days = sources.days_sql(CsvFile(b"")) if kind is sources.ColumnKind.UNTYPED else None
    column = sources.Column(name, kind, sources.NUMBER_IN_TEXT, elapsed_time=days)
    return MemoryColumn(column, DataType.large_binary(), lambda: [sources.to_text_array(values())])


# SENSITIVE. Opening of data by kind.


TABLE_KINDS = (
    "a path to a .csv, .tsv, .txt or .parquet file, a data frame, an Arrow table, a mapping of arrays or a DuckDB "
    "relation"
)
"""Objects that are accepted as data, for the error about another one."""


def open_records(
    data: Any,
    *,
    unit: Unit,
    key: bytes,
    columns: Sequence[str] = (),
    delimiter: str = ",",
    keeps_failing_rows: bool = True,
) -> Records:
    """Open records of any kind behind one interface. Reads the schema and no row.

    Args:
        data: Path of a CSV or Parquet file, or a `CsvFile`; a data frame that narwhals supports (pandas, Polars, ...);
            an Arrow table or an object that exports one (Arrow PyCapsule protocol); a mapping from names to NumPy
            arrays, series or lists; a DuckDB relation; or a table of another engine, as made by `dpcurves.postgres`.
            The data must not change while they are open.
        unit: Privacy unit and contribution bound.
        key: Secret key of the data set, which determines the used records of each unit.
        columns: Names of columns that must exist.
        delimiter: Field separator of a CSV file: one ASCII character.
        keeps_failing_rows: Whether rows that fail the filter of a question count as missing; else they are left out.

    Numbers are read as numbers, True as 1 and False as 0. Values without a declared type (CSV fields, lists) are read
    as text that spells these. Anything else, such as a date, NULL or NaN, is missing.

    Raises:
        TypeError: `data` has another type.
        ValueError: the file or a column is missing, or the file has another format. The message shows no value.
        ImportError: rows must be read whole, and only pyarrow reads one of the columns.
    """
    if isinstance(data, EngineTable):
        return Records(data.open(unit, key), keeps_failing_rows=keeps_failing_rows)
    source = open_source(data, delimiter)
    for name in columns:
        sources.find_column(name, source.columns)
    if unit != EACH_RECORD:
        sources.find_column(unit.column, source.columns, "unit")
        sources.require_readable(source, range(len(source.columns)))
    if not source.columns:
        raise InvalidArgument("data", "the data have no columns; give a table with at least one")
    return Records(DuckEngine(source, unit, key), keeps_failing_rows=keeps_failing_rows)


def open_source(data: Any, delimiter: str) -> sources.Source:
    """Return data of any kind as rows that can be scanned. Only the schema (names and types of columns) is read.

    Args:
        data: Path, `CsvFile`, mapping, data frame, Arrow table or DuckDB relation; see `open_records`.
        delimiter: Field separator of a CSV file that is given by its path.

    Raises:
        TypeError, ValueError: as `open_records`.
        TypeError: `data` is of another type.
        ValueError: the file is missing or of another format, or the frame cannot be read.
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
        lambda: _open_frame(data), "the frame cannot be read; its columns must have distinct names"
    )
    if source is None:
        raise WrongArgumentType("data", f"{TABLE_KINDS} is needed, got {type(data).__name__}")
    return source


def _open_frame(data: Any) -> sources.Source | None:
    """Return the rows of an Arrow table or a data frame as a source; None if the object is neither.

    Args:
        data: Any object.
    """
    if type(data).__module__.partition(".")[0] in ARROW_LIBRARIES and hasattr(data, "__arrow_c_stream__"):
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
    """Return the rows of a CSV or Parquet file, or of a folder of Parquet files.

    Args:
        path: The file or folder; the ending of its name decides the format.
        form: Field separator of a CSV file, or a `CsvFile` that states its whole format.

    Raises:
        InvalidArgument: a file is missing, empty or of another format, or files have different columns.
    """
    group = list_files(path)
    for file_path in group.paths:
        if not os.path.exists(file_path):
            raise InvalidArgument("data", f"there is no file {path.name!r}; check the path")
        if not os.path.isfile(file_path):
            raise InvalidArgument("data", f"{path.name!r} is not a file; give the path of a CSV or Parquet file")
        if os.path.getsize(file_path) == 0:
            name = file_path.name
            raise InvalidArgument("data", f"the file {name!r} is empty; give a file with a header and records")
    if path.suffix.lower() == ".parquet" or os.path.isdir(path):
        if isinstance(form, CsvFile):
            raise InvalidArgument("data", f"{path.name!r} is a Parquet file; leave out the format of a CSV file")
        return source_of_parquet(group)
    if is_text_file(path):
        file = form if isinstance(form, CsvFile) else CsvFile(path, form)
        if strip_compression(path).endswith(".tsv") and file.delimiter == ",":
            file = replace(file, delimiter="\t")
        return _source_of_csv_files(file, group.paths)
    raise InvalidArgument(
        "data",
        f"the name of a file must end in .csv, .tsv, .txt, these with .gz or .zst, or .parquet, got {path.name!r}",
    )


def _source_of_csv_files(file: CsvFile, paths: Sequence[Path]) -> CsvSource:
    """Return the rows of several CSV files with equal headers, one file after another.

    Args:
        file: Format of the files.
        paths: At least one file.

    Raises:
        InvalidArgument: the headers differ.
    """
    first, *others = (source_of_csv(replace(file, file=path)) for path in paths)
    names = [column.name for column in first.columns]
    if any([column.name for column in other.columns] != names for other in others):
        raise InvalidArgument("data", DIFFERENT_COLUMNS_RULE)
    return replace(first, more_paths=tuple(paths[1:]))
