"""SENSITIVE. Rows of a table: columns by their schema, Arrow arrays and batches, and engine errors without any text."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from errno import EIO
from importlib.util import find_spec
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import duckdb
import numpy as np
from arro3.core import (
    Array,
    DataType,
    Field,
    RecordBatch,
    Schema,
    dictionary_dictionary,
    dictionary_indices,
    struct_field,
)
from numpy.typing import NDArray

from ..arguments import InvalidArgument, MissingPackage
from ..arrays import FloatArray
from .value_names import ValueType, value_name

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable, ArrowSchemaExportable

    from ..data import CsvFile


# SENSITIVE. Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): arrays that lie in
# memory of NumPy, and batches that an engine gives or takes. Nothing is copied, and no value is looked at.


_POINTER, _NUMBER, _OBJECT = ctypes.c_void_p, ctypes.c_int64, ctypes.py_object


def _struct_fields(kind: type[Any], names: str) -> list[tuple[str, type[Any]]]:
    return [(name, kind) for name in names.split()]


class _Schema(ctypes.Structure):
    """The struct ArrowSchema."""

    _fields_ = (
        *_struct_fields(_POINTER, "format name metadata"), *_struct_fields(_NUMBER, "flags n_children"),
        *_struct_fields(_POINTER, "children dictionary release private_data"),
    )  # fmt: skip


class _Array(ctypes.Structure):
    """The struct ArrowArray."""

    _fields_ = (
        *_struct_fields(_NUMBER, "length null_count offset n_buffers n_children"),
        *_struct_fields(_POINTER, "buffers children dictionary release private_data"),
    )


class _Stream(ctypes.Structure):
    """The struct ArrowArrayStream: four functions, and a number that identifies ours."""

    _fields_ = (*_struct_fields(_POINTER, "get_schema get_next get_last_error release private_data"),)


_SCHEMA, _ARRAY, _STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"
_TAKE = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)
_LAST_ERROR = ctypes.CFUNCTYPE(_POINTER, _POINTER)
_RELEASE = ctypes.CFUNCTYPE(None, _POINTER)
Struct = TypeVar("Struct", _Schema, _Array)
_new_capsule = ctypes.PYFUNCTYPE(_OBJECT, _POINTER, ctypes.c_char_p, _POINTER)(("PyCapsule_New", ctypes.pythonapi))
_held_by = ctypes.PYFUNCTYPE(_POINTER, _OBJECT, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def reinterpret(array: Array, held: DataType) -> Array:
    """See the bytes of an array as values of another type that is laid out alike. Nothing is checked."""
    return Array.from_arrow_pycapsule(held.__arrow_c_schema__(), array.__arrow_c_array__()[1])


def schema_of(fields: Iterable[tuple[str, DataType]]) -> Schema:
    """The schema of columns of these names and types."""
    return Schema([Field(name, held) for name, held in fields])


_lent: dict[int, tuple[Any, ...]] = {}
"""Memory of arrays, until they are released."""
_numbers = count(1)


def array_from_buffers(held: DataType, length: int, *buffers: NDArray[Any]) -> Array:
    """The array that lies in memory: bits of what is not missing, then what the type asks for, each without gaps."""
    number = next(_numbers)
    places = (_POINTER * len(buffers))(*(each.ctypes.data for each in buffers))
    made = _Array(
        length, -1, 0, len(buffers), 0, ctypes.addressof(places), None, None, _function_address(_LET_GO), number
    )
    _lent[number] = places, buffers
    try:
        capsule = _new_capsule(ctypes.addressof(made), _ARRAY, None)
        return Array.from_arrow_pycapsule(held.__arrow_c_schema__(), capsule)
    finally:
        _release_struct(made)  # if it was not taken


def _release_buffers(array: int) -> None:
    with suppress(BaseException):
        given = _Array.from_address(array)
        kept = _lent.pop(given.private_data, None)
        given.release = None
        del kept


def _release_struct(given: _Schema | _Array) -> None:
    """Let the library that made it free what it holds, if it still does."""
    if given.release:
        _RELEASE(given.release)(ctypes.addressof(given))


def _read_offsets(text: Array) -> NDArray[np.int64]:
    """Offsets of texts, in 64 bits: the beginning of each, and the end of the last one."""
    capsule = text.__arrow_c_array__()[1]
    array = _Array.from_address(_held_by(capsule, _ARRAY))
    place = ctypes.cast(array.buffers, ctypes.POINTER(_POINTER))[1] or 0
    ends = (ctypes.c_int64 * (len(text) + 1)).from_address(place + 8 * array.offset)
    return np.frombuffer(memoryview(ends), dtype=np.int64).copy()


class _Batches:
    """Batches that an engine gives. (While arro3 read them, an engine could not call Python back: see `Stream`.)"""

    def __init__(self, given: Any) -> None:
        self._capsule = given.__arrow_c_stream__()  # which releases the stream
        self._stream = _Stream.from_address(_held_by(self._capsule, _STREAM))
        with self._fetch(self._stream.get_schema, _Schema()) as schema:
            self.schema = Schema.from_arrow_pycapsule(_new_capsule(ctypes.addressof(schema), _SCHEMA, None))

    def __iter__(self) -> Iterator[list[Array]]:
        """The columns of each batch."""
        places = range(len(self.schema))
        rows = DataType.struct([self.schema.field(place) for place in places])
        while True:
            with self._fetch(self._stream.get_next, _Array()) as array:
                if not array.release:
                    return
                capsule = _new_capsule(ctypes.addressof(array), _ARRAY, None)
                batch = Array.from_arrow_pycapsule(rows.__arrow_c_schema__(), capsule)
            yield [struct_field(batch, place) for place in places]

    @contextmanager
    def _fetch(self, function: int, into: Struct) -> Iterator[Struct]:
        if _TAKE(function)(ctypes.addressof(self._stream), ctypes.addressof(into)):  # other threads of Python go on
            raise RuntimeError("a batch could not be read")
        try:
            yield into
        finally:
            _release_struct(into)


def read_types(stream: Any) -> list[DataType]:
    """The types of the columns of a stream."""
    return _Batches(stream).schema.types


def read_batches(stream: Any) -> Iterator[list[Array]]:
    """The columns of each batch of a stream."""
    yield from _Batches(stream)


def read_doubles(stream: Any) -> Iterator[list[FloatArray]]:
    """The columns of each batch of a stream whose columns are doubles, none of them missing."""
    for batch in read_batches(stream):
        yield [column.to_numpy() for column in batch]


_open: dict[int, tuple[Schema, Iterator[RecordBatch], _Stream]] = {}
_failure = ctypes.create_string_buffer(b"a batch could not be read")


class Stream:
    """Batches that are read when an engine asks for them, again each time that it opens the stream.

    What fails while they are read is told to nobody: the engine hears that something did. (The reader of an iterator
    that arro3 has needs Python without asking for its lock, where a function of arro3 waits below: the process ends.)
    """

    def __init__(self, schema: Schema, read: Callable[[], Iterator[RecordBatch]]) -> None:
        self._schema, self._read = schema, read

    def __repr__(self) -> str:
        return "Stream(hidden)"

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        number = next(_numbers)
        stream = _Stream(*map(_function_address, _FUNCTIONS), number)
        _open[number] = (self._schema, self._read(), stream)
        return _new_capsule(ctypes.addressof(stream), _STREAM, None)


def _move_capsule(capsule: Any, name: bytes, kind: type[_Schema | _Array], to: int) -> None:
    """Give away what a capsule holds, which lets go of it."""
    held = kind.from_address(_held_by(capsule, name))
    ctypes.memmove(to, ctypes.addressof(held), ctypes.sizeof(kind))
    held.release = None


def _give_schema(stream: int, to: int) -> int:
    try:
        schema, _, _ = _open[_Stream.from_address(stream).private_data]
        _move_capsule(schema.__arrow_c_schema__(), _SCHEMA, _Schema, to)
    except BaseException:
        return EIO
    return 0


def _give_next(stream: int, to: int) -> int:
    try:
        _, batches, _ = _open[_Stream.from_address(stream).private_data]
        batch = next(batches, None)
        if batch is None:
            _Array.from_address(to).release = None  # the end
        else:
            _move_capsule(batch.__arrow_c_array__()[1], _ARRAY, _Array, to)
    except BaseException:  # it may quote a record
        return EIO
    return 0


def _say_last_error(_: int) -> int:
    return ctypes.addressof(_failure)


def _release_stream(stream: int) -> None:
    with suppress(BaseException):
        opened = _Stream.from_address(stream)
        kept = _open.pop(opened.private_data, None)  # what is released may lie in it
        opened.release = None
        del kept


def _function_address(function: Any) -> int | None:
    return ctypes.cast(function, _POINTER).value


_FUNCTIONS: list[Any] = [
    _TAKE(_give_schema),
    _TAKE(_give_next),
    _LAST_ERROR(_say_last_error),
    _RELEASE(_release_stream),
]
_LET_GO: Any = _RELEASE(_release_buffers)
for _each in (*_FUNCTIONS, _LET_GO):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_each))  # what outlives this module is released by it, too


# Columns by their schema, and the SQL that reads them. No value is looked at.


MOST_NAMED = 40
DELIMITERS = ",;\t|"

LONGEST_TEXT = 2**20
"""Text of more bytes is missing, and so is a line of CSV that has more: else one of them could exhaust an engine."""

NUMBER = "CAST({0} AS DOUBLE)"

TEXT = "CAST({0} AS VARCHAR)"
"""Text of any column, bytes too: no byte is refused, for all but plain characters are written as hexadecimal codes."""

# Text that reads as a number, else as true or false. A date is no number: nobody said from when on to count.
TRUTH = f"CASE lower({TEXT}) WHEN 'true' THEN 1::DOUBLE WHEN 'false' THEN 0::DOUBLE END"
NUMBER_IN_TEXT = f"coalesce(TRY_CAST({TEXT} AS DOUBLE), {TRUTH})"


TRIMMED = f"trim({TEXT})"
COMMA = (
    r"[+-]?([0-9]+|[0-9]{{1,3}}([.][0-9]{{3}})+)(,[0-9]+)?([eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
)
"""Numbers with a comma before decimals, and points between thousands or none; braces are doubled for `str.format`."""
DATES = {
    "-": ("[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}", "%Y-%m-%d"),
    ".": ("[0-9]{{2}}[.][0-9]{{2}}[.][0-9]{{4}}", "%d.%m.%Y"),
}


def number_sql(file: CsvFile) -> str:
    """SQL of the number in a text in the declared form: nothing is read off other records."""
    number = NUMBER_IN_TEXT
    if file.decimal == ",":
        pointed = f"replace(replace({TRIMMED}, '.', ''), ',', '.')"
        number = (
            f"CASE WHEN regexp_full_match({TRIMMED}, '{COMMA}') THEN TRY_CAST({pointed} AS DOUBLE) ELSE {TRUTH} END"
        )
    if file.origin is None:
        return number
    form, parts = DATES[file.date_separator]
    day = f"CAST(try_strptime({TRIMMED}, '{parts}') AS DATE)"
    days = f"CAST({day} - DATE '{file.origin.isoformat()}' AS DOUBLE)"
    return f"CASE WHEN regexp_full_match({TRIMMED}, '{form}') THEN {days} ELSE {number} END"


ZONE = "[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?"
"""Offset of a zone from universal time: hours, or hours and minutes."""
LOCAL = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?)?"
ISO = f"{LOCAL.removesuffix(')?')}(Z|{ZONE})?)?"
US_PER_MINUTE = 60_000_000
US_PER_DAY = 86_400_000_000


def days_sql(file: CsvFile) -> str | None:
    """SQL of the number in a text, or of the days since the beginning of 1970 to a date or moment as ISO 8601 has it.

    None where a form of dates is declared: then that alone is read.
    """
    if file.origin is not None:
        return None
    moment = f"TRY_CAST(replace(regexp_extract({TRIMMED}, '{LOCAL}'), 'T', ' ') AS TIMESTAMP)"
    zone = f"regexp_extract({TRIMMED}, ':[0-9.]+({ZONE})$', 1)"
    hours, minutes = f"left({zone}, 3)", f"concat(left({zone}, 1), substr(replace({zone}, ':', ''), 4))"
    ahead = f"coalesce(TRY_CAST({hours} AS BIGINT), 0) * 60 + coalesce(TRY_CAST({minutes} AS BIGINT), 0)"
    passed = f"(epoch_us({moment}) - ({ahead}) * {US_PER_MINUTE})::DOUBLE / {US_PER_DAY}"
    days = f"CASE WHEN regexp_full_match({TRIMMED}, '{ISO}') THEN {passed} END"
    return f"coalesce({number_sql(file)}, {days})"


class ColumnKind(Enum):
    """The kind of values that a schema declares for a column."""

    NUMBERS = "numbers"
    TEXT = "text"
    UNTYPED = "values without a declared type"
    FIELDS = "fields of a text file, which declares no types"
    OBJECTS = "objects of any type"
    TIMES = "dates, times or durations"
    OTHER = "neither numbers nor text"


DATE, MOMENT, DURATION = "date", "moment", "duration"


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
        elapsed_time: SQL of days (of dates) or seconds as a double, where the type is one of time: see `TypedAxis`.
        time: What the type is one of: dates, moments or durations (`DATE`, `MOMENT`, `DURATION`); else nothing.
        declared_value_type: The type of its values, of which their names depend; None: the usual one of its kind.
        declared_type: The type as its schema calls it, for messages.
    """

    name: str
    kind: ColumnKind
    number: str
    text: str = TEXT
    unit: str = "{0}"
    moment: str | None = None
    elapsed_time: str | None = None
    time: str = ""
    declared_value_type: ValueType | None = None
    declared_type: str = ""

    @property
    def value_type(self) -> ValueType:
        """The type of its values, by which they are named and compared."""
        return self.declared_value_type or _USUAL_TYPES.get(self.kind, ValueType.UNDECLARED)


_USUAL_TYPES = {ColumnKind.NUMBERS: ValueType.DOUBLE, ColumnKind.TEXT: ValueType.TEXT}


def decimal_column(name: str, declared: str = "DECIMAL") -> Column:
    """A column of numbers with more digits than a double has, given as text: the nearest double is read from it."""
    number, text = f"TRY_CAST({TEXT} AS DOUBLE)", _DECIMAL_NAME
    return Column(name, ColumnKind.NUMBERS, number, text, declared_value_type=ValueType.DECIMAL, declared_type=declared)


_DECIMAL_NAME = f"CASE WHEN contains({TEXT}, '.') THEN rtrim(rtrim({TEXT}, '0'), '.') ELSE {TEXT} END"
"""Text of a decimal number without trailing zeros, as `value_names` has it."""


def sql_name(place: int) -> str:
    """The SQL name of the column at `place`. (Names in the data may differ in case alone, to which SQL is blind.)"""
    return f"c{place}"


def find_column(name: object, columns: Sequence[Column], argument: str = "column") -> int:
    """The position of the column of this name. (A model has none: a source that cannot compute scores refuses it.)

    Raises:
        ValueError: it is not there, or twice.
    """
    places = [place for place, column in enumerate(columns) if column.name == name]
    if not places:
        known = [repr(each.name) for each in columns]
        more = [f"{len(known) - MOST_NAMED} more"] if len(known) > MOST_NAMED else []
        listed = ", ".join(known[:MOST_NAMED] + more) or "no columns"
        raise InvalidArgument(
            argument, f"{name!r} is not in the data, which has {listed}{_delimiter_hint(columns)}", str(name)
        )
    if len(places) > 1:
        raise InvalidArgument(
            argument, f"{name!r} stands {len(places)} times in the data; names must differ", str(name)
        )
    return places[0]


def _delimiter_hint(columns: Sequence[Column]) -> str:
    """A single column, the name of which has other delimiters in it: a line of CSV was not taken apart."""
    if len(columns) != 1 or columns[0].kind is not ColumnKind.FIELDS:
        return ""
    found = max(DELIMITERS, key=columns[0].name.count)
    return (
        f"; give {found!r} as delimiter (--delimiter), if that separates its fields" if found in columns[0].name else ""
    )


# SENSITIVE. What an engine says when it fails may quote a record, so nobody hears it.


Result = TypeVar("Result")
FAILURE = "the records could not be read (what the engine says is not shown: it may quote a record)"


def hide_failure(action: Callable[[], Result], rule: str, argument: str = "data") -> Result:
    """The result of `action`; if it fails, a refusal of `argument` that says `rule` and chains no other exception.

    That an extra is not installed is said as it is: it stands in no record.
    """
    try:
        return action()
    except (KeyboardInterrupt, SystemExit, MissingPackage):
        raise
    except BaseException:  # what Polars panics with is no Exception
        pass  # Raised inside of this block, the new exception would carry the old one along.
    raise InvalidArgument(argument, rule)


QUOTE_FAULT, FIELDS_FAULT, LONG_FAULT = b"qfl"
"""Letters for a line of CSV with an odd number of quotes, with another number of fields than the header, and for one
that is too long. A line has one fault: that of its length, else that of its quotes."""


@runtime_checkable
class HasLines(Protocol):
    """A source whose records are lines, each of which may be malformed."""

    @property
    def line_place(self) -> int:
        """The place, behind all columns, of a letter that says why a line is malformed; NULL if it is not."""


class Source(Protocol):
    """Rows that DuckDB can scan, each column under the name `sql_name` of its place."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the schema, and the way to read them."""

    @property
    def is_costly(self) -> bool:
        """Tell whether scanning again is so slow that what is needed is better kept."""

    @property
    def unreadable_columns(self) -> Mapping[int, str]:
        """The places of columns that are read by pyarrow alone, where that is not installed, and why."""

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        """A FROM clause, for one query, of the columns at `places` (at least one)."""

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        """`scan` with a column `whole`: bytes that are equal where all columns of two rows are, and only there."""


def require_readable(source: Source, places: Iterable[int]) -> None:
    """Refuse columns that cannot be read with what is installed.

    Raises:
        ImportError: one of them is read by pyarrow alone.
    """
    for place in places:
        if place in source.unreadable_columns:
            rule = f"column {source.columns[place].name!r} {source.unreadable_columns[place]}; pyarrow reads it"
            raise MissingPackage("data", f"{rule}: pip install 'dpcurves[arrow]'")


def has_pyarrow() -> bool:
    """Tell whether pyarrow is installed, which nothing here needs but what `Source.unreadable_columns` names."""
    return find_spec("pyarrow") is not None


def add_whole_row_column(rows: str, columns: Sequence[Column], places: Sequence[int]) -> str:
    """A FROM clause for `scan_whole`, from one that has all columns.

    In a text all but plain characters are written as codes, so it holds neither of the two that stand between texts
    and for what is missing: what is joined can be taken apart again.
    """
    texts = (column.text.format(sql_name(place)) for place, column in enumerate(columns))
    parts = ", ".join(f"coalesce({text}, chr(30))" for text in texts)
    kept = "".join(f"{sql_name(place)}, " for place in places)
    return f"(SELECT {kept}encode(concat_ws(chr(31), {parts})) AS whole FROM {rows})"


# SENSITIVE. Python objects and NumPy arrays as Arrow arrays, whatever the values.


MISSING = {"None", "nan", "NaT", "<NA>"}
DATE_UNITS = {"D", "s", "ms", "us", "ns"}


def to_text_array(values: Iterable[Any]) -> Array:
    """Each value as the bytes of its text; what is missing, or has no text, is null."""
    return Array([encode_text(value) for value in values], DataType.large_binary())


def encode_text(value: Any) -> bytes | None:
    """The text of one value, by which it is read, compared and ranked. Never fails.

    >>> encode_text("né"), encode_text(True), encode_text(2.50), encode_text(float("nan"))
    (b'n\\xc3\\xa9', b'True', b'2.5', None)
    """
    try:
        pyarrow = sys.modules.get("pyarrow")
        if pyarrow is not None and isinstance(value, pyarrow.Scalar):
            value = value.as_py()
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode("utf-8", "backslashreplace")
        text = _format_number(value) if isinstance(value, float | np.floating | Decimal) else str(value)
        return None if text in MISSING else text.encode("utf-8", "backslashreplace")
    except Exception:  # an object may do anything when it is asked for its text
        return None


def _format_number(value: float | np.floating[Any] | Decimal) -> str:
    """The name of a number whose type shows in itself alone; what is NaN has none."""
    if isinstance(value, Decimal):
        return str(value_name(value, ValueType.DECIMAL))
    width = value.dtype.itemsize if isinstance(value, np.floating) else DOUBLE_BYTES
    return str(value_name(value, _FLOATS_BY_BYTES.get(width, ValueType.DOUBLE)))


DOUBLE_BYTES = 8
_FLOATS_BY_BYTES = {2: ValueType.HALF, 4: ValueType.SINGLE, DOUBLE_BYTES: ValueType.DOUBLE}


def to_arrow_array(values: NDArray[Any]) -> Array:
    """A NumPy array as numbers or times where its type says so, else as texts."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.asarray(values)
    if values.dtype.kind in "fiub":
        native = _to_native_order(values)
        found = Array.from_numpy(native)
        return found if mask is None else _mask_values(found.type, native, mask)
    if values.dtype.kind == "M":
        unit, steps = np.datetime_data(values.dtype)
        if unit not in DATE_UNITS or steps != 1:
            # By way of femtoseconds where a second has more parts than NumPy converts at once.
            values = (values.astype("datetime64[fs]") if unit == "as" else values).astype("datetime64[s]")
        missing = np.isnat(values) if mask is None else np.isnat(values) | mask
        return _mask_values(*_time_values(_to_native_order(values)), missing)
    found_texts = [encode_text(value) for value in (values.tolist() if values.dtype.kind in "OUS" else values)]
    if mask is not None:
        found_texts = [None if hides else text for text, hides in zip(found_texts, mask, strict=True)]
    return Array(found_texts, DataType.large_binary())


def _time_values(values: NDArray[Any]) -> tuple[DataType, NDArray[Any]]:
    """The type that says what days or moments count in, and how many of it each is. What is no time is any."""
    unit: Any = np.datetime_data(values.dtype)[0]
    counted = values.view(np.int64)
    return (DataType.date32(), counted.astype(np.int32)) if unit == "D" else (DataType.timestamp(unit), counted)


def _mask_values(held: DataType, values: NDArray[Any], missing: NDArray[np.bool_]) -> Array:
    """The values, but for those that are missing."""
    kept = np.packbits(values, bitorder="little") if values.dtype.kind == "b" else values
    return array_from_buffers(held, len(values), np.packbits(~missing, bitorder="little"), kept)


def _to_native_order(values: NDArray[Any]) -> NDArray[Any]:
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


def column_from_arrow_type(name: str, declared: ArrowSchemaExportable) -> Column:
    """The column that an Arrow type declares."""
    held = _decode_type(DataType.from_arrow(declared))
    if _is_decimal(held):
        return decimal_column(name, "DECIMAL" + _arrow_type_name(held).lstrip(DECIMALS_OF_ARROW))
    kind = _column_kind(held)
    if kind not in {ColumnKind.NUMBERS, ColumnKind.UNTYPED}:
        return Column(
            name, kind, NUMBER_IN_TEXT, moment=_moment_sql(held), elapsed_time=_elapsed_sql(held), time=_time_kind(held)
        )
    unit = "CASE WHEN NOT isnan({0}) THEN {0} END" if DataType.is_floating(held) else "{0}"
    values, declared_as = _TYPES_OF_NUMBERS.get(_arrow_type_name(held), (None, ""))
    return Column(name, kind, NUMBER, unit=unit, declared_value_type=values, declared_type=declared_as)


DECIMALS_OF_ARROW = "decimal0123456789"
"""Letters of the name of Arrow's types of decimal numbers, before their digits in brackets."""


def _arrow_type_name(held: DataType) -> str:
    """The name of a type, as in ``int64`` and ``decimal128(10, 2)``."""
    return str(held).strip().partition("<")[2].removesuffix(">").lower()


_TYPES_OF_NUMBERS: Mapping[str, tuple[ValueType, str]] = MappingProxyType({
    "boolean": (ValueType.TRUTH, "BOOLEAN"),
    "int8": (ValueType.WHOLE, "TINYINT"), "int16": (ValueType.WHOLE, "SMALLINT"),
    "int32": (ValueType.WHOLE, "INTEGER"), "int64": (ValueType.WHOLE, "BIGINT"),
    "uint8": (ValueType.WHOLE, "UTINYINT"), "uint16": (ValueType.WHOLE, "USMALLINT"),
    "uint32": (ValueType.WHOLE, "UINTEGER"), "uint64": (ValueType.WHOLE, "UBIGINT"),
    "float16": (ValueType.HALF, "FLOAT16"), "float32": (ValueType.SINGLE, "FLOAT"),
    "float64": (ValueType.DOUBLE, "DOUBLE"),
})  # fmt: skip
"""Types of values, and what DuckDB calls them, by the names of Arrow's types."""


def plain_type(declared: ArrowSchemaExportable) -> DataType:
    """The type that `plain_array` gives."""
    held = _decode_type(DataType.from_arrow(declared))
    if _is_integer_time(held):
        return DataType.int32() if held.bit_width == 32 else DataType.int64()
    if DataType.is_null(held) or DataType.is_float16(held):
        return DataType.float64()
    return held if is_number(held) else DataType.large_binary()


def plain_array(values: ArrowArrayExportable) -> Array:
    """Return values in a type whose values DuckDB neither checks nor converts: text is bytes, times are integers.

    (DuckDB refuses bytes that are no UTF-8, and times that overflow in microseconds, and shows them.)
    """
    array = Array.from_arrow(values)
    if DataType.is_dictionary(array.type):
        return plain_array(dictionary_dictionary(array)).take(dictionary_indices(array))
    held, plain = array.type, plain_type(array.type)
    if (decoded := _encoded_value_type(held)) is not None:
        return plain_array(array.cast(decoded))
    if _is_integer_time(held):
        return reinterpret(array, plain)
    if not DataType.is_large_binary(plain):
        return array if is_number(held) and held == plain else array.cast(plain)
    if _is_decimal(held):
        array = array.cast(DataType.large_string())
    return _drop_long_texts(_text_to_bytes(array) if _is_text(array.type) else _nested_to_texts(array))


def _text_to_bytes(array: Array) -> Array:
    """Text as bytes, which nobody takes for UTF-8."""
    held = array.type
    if DataType.is_large_string(held):
        return reinterpret(array, DataType.large_binary())
    if DataType.is_string(held):
        array = reinterpret(array, DataType.binary())
    if DataType.is_string_view(held):
        array = reinterpret(array, DataType.binary_view())
    return array.cast(DataType.large_binary())


NESTED = "holds lists, other nested values or intervals"


def _nested_to_texts(array: Array) -> Array:
    """Nested values and intervals, as Python writes them."""
    import pyarrow

    return to_text_array(pyarrow.array(array))


def _drop_long_texts(text: Array) -> Array:
    """Texts as they are; null where one has too many bytes."""
    if text.nbytes <= LONGEST_TEXT:
        return text
    short = np.diff(_read_offsets(text)) <= LONGEST_TEXT
    return text if short.all() else text.take(_mask_values(DataType.int64(), np.arange(len(text)), ~short))


def _decode_type(declared: DataType) -> DataType:
    """The type of the values, however they are encoded."""
    encoded = _encoded_value_type(declared)
    return declared if encoded is None else _decode_type(encoded)


def _encoded_value_type(declared: DataType) -> DataType | None:
    """The type of the values of a dictionary, or of a run-end encoded array; None: these are values themselves."""
    return None if DataType.is_nested(declared) else declared.value_type


def _column_kind(held: DataType) -> ColumnKind:
    if is_number(held):
        return ColumnKind.NUMBERS
    if DataType.is_null(held):
        return ColumnKind.UNTYPED
    if DataType.is_temporal(held):
        return ColumnKind.TIMES
    return ColumnKind.TEXT if _is_text(held) else ColumnKind.OTHER


def _moment_sql(held: DataType) -> str | None:
    """SQL for microseconds since 1970, from the integers of `plain_array`."""
    if DataType.is_timestamp(held):
        return _MOMENTS[str(held.time_unit)]
    if DataType.is_date(held):
        return _DAYS if held.bit_width == 32 else _MOMENTS["ms"]
    return None


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MS_PER_DAY = 86_400_000


def _time_kind(held: DataType) -> str:
    if DataType.is_duration(held):
        return DURATION
    return DATE if DataType.is_date(held) else MOMENT if DataType.is_timestamp(held) else ""


def _elapsed_sql(held: DataType) -> str | None:
    """SQL for days or seconds, from the integers of `plain_array`; None of what is no time, or has several parts."""
    if DataType.is_date32(held):
        return NUMBER
    if DataType.is_date64(held):
        return f"{NUMBER} / {_MS_PER_DAY}"
    if DataType.is_timestamp(held) or DataType.is_time(held) or DataType.is_duration(held):
        return f"{NUMBER} / {_PER_SECOND[str(held.time_unit)]}"
    return None


def is_number(held: DataType) -> bool:
    """Tell whether values are numbers, or true and false."""
    return DataType.is_boolean(held) or DataType.is_integer(held) or DataType.is_floating(held)


def _is_read_in_python(declared: DataType) -> bool:
    held = _decode_type(declared)
    return DataType.is_large_binary(plain_type(held)) and not (_is_decimal(held) or _is_text(held))


def _is_integer_time(held: DataType) -> bool:
    """Tell whether values are times that are integers of 32 or 64 bits."""
    return DataType.is_temporal(held) and (held.bit_width or 128) <= 64


def _is_decimal(held: DataType) -> bool:
    return DataType.is_numeric(held) and not is_number(held)


def _is_text(held: DataType) -> bool:
    return any(
        test(held)
        for test in (
            DataType.is_string, DataType.is_large_string, DataType.is_string_view, DataType.is_binary,
            DataType.is_large_binary, DataType.is_binary_view, DataType.is_fixed_size_binary,
        )
    )  # fmt: skip


BATCH = 2**17
SCANNED = "scanned"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ArrowSource:
    """Columns of Arrow types, and how to read those at some places, batch by batch."""

    columns: tuple[Column, ...]
    types: tuple[DataType, ...]
    read_batches: Callable[[Sequence[int]], Iterable[Sequence[Any]]]
    is_costly: bool

    @property
    def unreadable_columns(self) -> Mapping[int, str]:
        nested = [place for place, held in enumerate(self.types) if _is_read_in_python(held)]
        return {} if not nested or has_pyarrow() else dict.fromkeys(nested, NESTED)

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        require_readable(self, places)
        schema = schema_of((sql_name(place), plain_type(self.types[place])) for place in places)

        def convert_batches() -> Iterator[RecordBatch]:
            for batch in self.read_batches(places):
                yield RecordBatch.from_arrays([*map(plain_array, batch)], schema=schema)

        return register_batches(connection, schema, convert_batches)

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        rows = self.scan(connection, range(len(self.columns)))
        return add_whole_row_column(rows, self.columns, places)


def register_batches(
    connection: duckdb.DuckDBPyConnection, schema: Schema, read: Callable[[], Iterator[RecordBatch]]
) -> str:
    """Give DuckDB the batches under a name."""
    connection.register(SCANNED, Stream(schema, read))
    return SCANNED
