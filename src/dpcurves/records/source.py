"""SENSITIVE. Where rows come from: columns by their schema, batches of Arrow, and engine errors with all text taken
out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..arguments import Refused

# Columns by their schema, and the SQL that reads them. No value is looked at.


MOST_NAMED = 40
DELIMITERS = ",;\t|"

LONGEST_TEXT = 2**20
"""Text of more bytes is missing, and so is a line of CSV that has more: else one of them could exhaust an engine."""

NUMBER = "CAST({0} AS DOUBLE)"

TEXT = "CAST({0} AS VARCHAR)"
"""Text of any column, bytes too: no byte is refused, for all but plain characters are written as hexadecimal codes."""

# Text that reads as a number, else as true or false. A date is no number: nobody said from when on to count.
NUMBER_IN_TEXT = (
    f"coalesce(TRY_CAST({TEXT} AS DOUBLE), "
    f"CASE lower({TEXT}) WHEN 'true' THEN 1::DOUBLE WHEN 'false' THEN 0::DOUBLE END)"
)


class Kind(Enum):
    """The kind of values that a schema declares for a column."""

    NUMBERS = "numbers"
    TEXT = "text"
    UNTYPED = "values without a declared type"
    OBJECTS = "objects of any type"
    TIMES = "dates, times or durations"
    OTHER = "neither numbers nor text"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source, which refers to it by its position.

    Attributes:
        name: Its public name.
        kind: What it holds.
        number: SQL of its value as a double, where ``{0}`` stands for it; NULL or NaN: missing.
        text: SQL of its value as text.
        unit: SQL of the unit that it names; NULL: missing.
        moment: SQL of its moment in microseconds since 1970, where the type says what it counts in.
        elapsed: SQL of days (of dates) or seconds as a double, where the type is one of time: see `TypedAxis`.
    """

    name: str
    kind: Kind
    number: str
    text: str = TEXT
    unit: str = "{0}"
    moment: str | None = None
    elapsed: str | None = None


def wide_numbers(name: str) -> Column:
    """A column of numbers with more digits than a double has, given as text: the nearest double is read from it."""
    return Column(name, Kind.NUMBERS, f"TRY_CAST({TEXT} AS DOUBLE)")


def called(place: int) -> str:
    """The SQL name of the column at `place`. (Names in the data may differ in case alone, to which SQL is blind.)"""
    return f"c{place}"


def place_of(name: object, columns: Sequence[Column], argument: str = "column") -> int:
    """The position of the column of this name. (A model has none: a source that cannot compute scores refuses it.)

    Raises:
        ValueError: it is not there, or twice.
    """
    places = [place for place, column in enumerate(columns) if column.name == name]
    if not places:
        known = [repr(each.name) for each in columns]
        more = [f"{len(known) - MOST_NAMED} more"] if len(known) > MOST_NAMED else []
        listed = ", ".join(known[:MOST_NAMED] + more) or "no columns"
        raise Refused(argument, f"{name!r} is not in the data, which has {listed}{_hint(columns)}", str(name))
    if len(places) > 1:
        raise Refused(argument, f"{name!r} stands {len(places)} times in the data; names must differ", str(name))
    return places[0]


def _hint(columns: Sequence[Column]) -> str:
    """A single column, the name of which has other delimiters in it: a line of CSV was not taken apart."""
    if len(columns) != 1 or columns[0].kind is not Kind.UNTYPED:
        return ""
    found = max(DELIMITERS, key=columns[0].name.count)
    return f"; give {found!r} as delimiter, if that separates its fields" if found in columns[0].name else ""


# SENSITIVE. Where rows come from, and errors of engines with all text taken out that may quote a record.


# SENSITIVE. What an engine says when it fails may quote a record, so nobody hears it.


Result = TypeVar("Result")
FAILURE = "the records could not be read (what the engine says is not shown: it may quote a record)"


def hidden(action: Callable[[], Result], rule: str, argument: str = "data") -> Result:
    """The result of `action`; if it fails, a refusal of `argument` that says `rule` and chains no other exception."""
    try:
        return action()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what Polars panics with is no Exception
        pass  # Raised inside of this block, the new exception would carry the old one along.
    raise Refused(argument, rule)


class Source(Protocol):
    """Rows that DuckDB can scan, each column under the name `called` of its place."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the schema, and the way to read them."""

    @property
    def costly(self) -> bool:
        """Tell whether scanning again is so slow that what is needed is better kept."""

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        """A FROM clause, for one query, of the columns at `places` (at least one)."""

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        """`scan` with a column `whole`: bytes that are equal where all columns of two rows are, and only there."""


def with_whole_rows(rows: str, columns: Sequence[Column], places: Sequence[int]) -> str:
    """A FROM clause for `scan_whole`, from one that has all columns.

    In a text all but plain characters are written as codes, so it holds neither of the two that stand between texts
    and for what is missing: what is joined can be taken apart again.
    """
    texts = (column.text.format(called(place)) for place, column in enumerate(columns))
    parts = ", ".join(f"coalesce({text}, chr(30))" for text in texts)
    kept = "".join(f"{called(place)}, " for place in places)
    return f"(SELECT {kept}encode(concat_ws(chr(31), {parts})) AS whole FROM {rows})"


# SENSITIVE. Rows as a stream of Arrow batches, of types that DuckDB takes whatever the values.


# SENSITIVE. Python objects and NumPy arrays as Arrow arrays, whatever the values.


MISSING = {"None", "nan", "NaT", "<NA>"}
DATE_UNITS = {"D", "s", "ms", "us", "ns"}


def texts(values: Iterable[Any]) -> pa.Array:
    """Each value as the bytes of its text; what is missing, or has no text, is null."""
    return pa.array([text_of(value) for value in values], type=pa.large_binary())


def text_of(value: Any) -> bytes | None:
    """The text of one value, by which it is read, compared and ranked. Never fails.

    >>> text_of("né"), text_of(True), text_of(2.50), text_of(float("nan"))
    (b'n\\xc3\\xa9', b'True', b'2.5', None)
    """
    try:
        if isinstance(value, pa.Scalar):
            value = value.as_py()
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode("utf-8", "backslashreplace")
        text = str(float(value) if isinstance(value, np.floating) else value)
        return None if text in MISSING else text.encode("utf-8", "backslashreplace")
    except Exception:  # an object may do anything when it is asked for its text
        return None


def array_of(values: NDArray[Any]) -> pa.Array:
    """A NumPy array as numbers or times where its type says so, else as texts."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.asarray(values)
    if values.dtype.kind in "fiub":
        return pa.array(_native(values), mask=mask)
    if values.dtype.kind == "M":
        unit, steps = np.datetime_data(values.dtype)
        if unit not in DATE_UNITS or steps != 1:
            # By way of femtoseconds where a second has more parts than NumPy converts at once.
            values = (values.astype("datetime64[fs]") if unit == "as" else values).astype("datetime64[s]")
        return pa.array(_native(values), mask=mask)
    found = texts(values.tolist() if values.dtype.kind in "OUS" else list(values))
    return found if mask is None else pa.array(found.to_pylist(), mask=mask, type=found.type)


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """In the byte order of this machine, and in doubles where Arrow has no type as long."""
    kind = np.dtype(np.float64) if values.dtype.kind == "f" and values.dtype.itemsize > 8 else values.dtype
    with np.errstate(all="ignore"):  # what no double holds becomes an infinity, and nobody hears of it
        return np.ascontiguousarray(values, dtype=kind.newbyteorder("="))


# SENSITIVE. What Arrow types hold, and the plain types that DuckDB takes whatever the values.


_DAYS = "TRY_CAST({0}::HUGEINT * 86400000000 AS BIGINT)"
_MOMENTS = {
    "s": "TRY_CAST({0}::HUGEINT * 1000000 AS BIGINT)", "ms": "TRY_CAST({0}::HUGEINT * 1000 AS BIGINT)",
    "us": "{0}::BIGINT", "ns": "{0}::BIGINT // 1000",
}  # fmt: skip
"""By the unit that a type counts in."""


def column_of(name: str, declared: pa.DataType) -> Column:
    """The column that an Arrow type declares."""
    held = _held(declared)
    if pa.types.is_decimal(held):
        return wide_numbers(name)
    kind = _kind(held)
    if kind not in {Kind.NUMBERS, Kind.UNTYPED}:
        return Column(name, kind, NUMBER_IN_TEXT, moment=_moment(held), elapsed=_elapsed(held))
    unit = "CASE WHEN NOT isnan({0}) THEN {0} END" if pa.types.is_floating(held) else "{0}"
    return Column(name, kind, NUMBER, unit=unit)


def plain_type(declared: pa.DataType) -> pa.DataType:
    """The type that `plain_array` gives."""
    if pa.types.is_union(_held(declared)):
        return pa.large_binary()
    return plain_array(pa.schema([("", declared)]).empty_table().column(0).combine_chunks()).type


def plain_array(array: pa.Array) -> pa.Array:
    """Return values in a type whose values DuckDB neither checks nor converts: text is bytes, times are integers.

    (DuckDB refuses bytes that are no UTF-8, and times that overflow in microseconds, and shows them.)
    """
    if isinstance(array.type, pa.BaseExtensionType):
        return plain_array(array.storage)
    if pa.types.is_dictionary(array.type):
        return plain_array(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(array.type):
        return plain_array(pc.run_end_decode(array))
    return _plain_values(array)


def _plain_values(array: pa.Array) -> pa.Array:
    types, held = pa.types, array.type
    if types.is_temporal(held) and held.bit_width <= 64:
        return array.view(pa.int32() if held.bit_width == 32 else pa.int64())
    if types.is_null(held) or types.is_float16(held):
        return array.cast(pa.float64())
    if is_number(held):
        return array
    if types.is_decimal(held):
        array = array.cast(pa.string())
    text = (array if _is_text(array.type) else texts(array)).cast(pa.large_binary())
    return pc.if_else(pc.greater(pc.binary_length(text), LONGEST_TEXT), None, text)


def _held(declared: pa.DataType) -> pa.DataType:
    """The type of the values, however they are wrapped."""
    if isinstance(declared, pa.BaseExtensionType):
        return _held(declared.storage_type)
    if pa.types.is_dictionary(declared) or pa.types.is_run_end_encoded(declared):
        return _held(declared.value_type)
    return declared


def _kind(held: pa.DataType) -> Kind:
    if is_number(held):
        return Kind.NUMBERS
    if pa.types.is_null(held):
        return Kind.UNTYPED
    if pa.types.is_temporal(held):
        return Kind.TIMES
    return Kind.TEXT if _is_text(held) else Kind.OTHER


def _moment(held: pa.DataType) -> str | None:
    """SQL for microseconds since 1970, from the integers of `plain_array`."""
    if pa.types.is_timestamp(held):
        return _MOMENTS[held.unit]
    if pa.types.is_date(held):
        return _DAYS if held.bit_width == 32 else _MOMENTS["ms"]
    return None


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MS_PER_DAY = 86_400_000


def _elapsed(held: pa.DataType) -> str | None:
    """SQL for days or seconds, from the integers of `plain_array`; None of what is no time, or has several parts."""
    types = pa.types
    if types.is_date32(held):
        return NUMBER
    if types.is_date64(held):
        return f"{NUMBER} / {_MS_PER_DAY}"
    if types.is_timestamp(held) or types.is_time(held) or types.is_duration(held):
        return f"{NUMBER} / {_PER_SECOND[held.unit]}"
    return None


def is_number(held: pa.DataType) -> bool:
    """Tell whether values are numbers, or true and false."""
    return bool(pa.types.is_boolean(held) or pa.types.is_integer(held) or pa.types.is_floating(held))


def _is_text(held: pa.DataType) -> bool:
    types = pa.types
    return any(
        test(held)
        for test in (
            types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary,
            types.is_binary_view, types.is_fixed_size_binary,
        )
    )  # fmt: skip


# SENSITIVE. Rows as a stream of Arrow batches, with types that DuckDB takes whatever the values.


BATCH = 2**17
SCANNED = "scanned"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ArrowSource:
    """Columns of Arrow types, and how to read those at some places."""

    columns: tuple[Column, ...]
    types: tuple[pa.DataType, ...]
    read: Callable[[Sequence[int]], Iterable[pa.RecordBatch]]
    costly: bool

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        schema = pa.schema([(called(place), plain_type(self.types[place])) for place in places])
        plain = ([plain_array(column) for column in batch.columns] for batch in self.read(places))
        return register(connection, schema, (pa.RecordBatch.from_arrays(each, schema=schema) for each in plain))

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        rows = self.scan(connection, range(len(self.columns)))
        return with_whole_rows(rows, self.columns, places)


def register(connection: duckdb.DuckDBPyConnection, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> str:
    """Give DuckDB the batches under a name, once."""
    connection.register(SCANNED, pa.RecordBatchReader.from_batches(schema, batches))
    return SCANNED
