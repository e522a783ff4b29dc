"""SENSITIVE. Records in a CSV file: one line, one record, whatever the line holds.

The usual readers let one line reach others (a quote that is not closed swallows what follows), stop at what they cannot
read, or show it. Here a record is a line, and nothing but a line, so that one record more or less is one line more or
less:

- A line ends with a line feed (a carriage return before it belongs to the end); the last one may lack it. An empty
  line is a record as well.
- A delimiter separates fields where the number of quotes before it in the line is even.
- A field in quotes is what stands between them; two quotes in a row are read as one.
- A line with an odd number of quotes, with more or fewer fields than the header, or longer than a mebibyte is
  malformed: all its values are missing. So is an empty field.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..arguments import Refused
from ..arrays import IntArray
from .arrow import register
from .column import LONGEST_TEXT, NUMBER_IN_TEXT, Column, Kind, called
from .hiding import hidden

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
    header = hidden(lambda: _first_line(path), f"{path.name!r} cannot be read")
    try:
        (names,) = csv.reader([header.decode("utf-8-sig").rstrip("\r\n")], delimiter=delimiter, strict=True)
    except (ValueError, csv.Error):
        names = []
    if not names or len(header) == LONGEST_TEXT:
        raise Refused("data", f"the first line of {path.name!r} must be a header, the names of the columns in UTF-8")
    return CsvSource(path, delimiter, tuple(Column(name, Kind.UNTYPED, NUMBER_IN_TEXT) for name in names))


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return header_of(file)


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
