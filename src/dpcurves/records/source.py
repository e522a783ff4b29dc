"""SENSITIVE. Columns and rows of a table, as DuckDB reads them, whatever the table came from.

A `Source` lists the columns of a schema (`Column`) and offers its rows to DuckDB. `ArrowSource` does this for Arrow
batches, through the Arrow C stream interface; only nested columns need pyarrow. `hide_failure` replaces the error text
of an engine by a fixed rule, because that text may quote a record.
"""

from __future__ import annotations

import ctypes
import re
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

from ..arguments import InvalidArgument, MissingPackage, describe_nearest_name
from ..arrays import FloatArray
from ..expressions.checked import NO_HEADER, is_no_name
from .value_names import ValueType, category_key, suggest_spelling, value_name

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable, ArrowSchemaExportable

    from ..data import Category, CsvFile


# SENSITIVE. Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): arrays in NumPy's
# memory, and batches that an engine gives or takes. Nothing is copied, and no value is read.


_POINTER = ctypes.c_void_p
"""C type of pointers and function addresses in Arrow's structs."""
_NUMBER = ctypes.c_int64
"""C type of lengths, counts and flags in Arrow's structs: 64 bits with a sign."""
_OBJECT = ctypes.py_object
"""C type of a Python object, here a capsule."""


def _struct_fields(kind: type[Any], names: str) -> list[tuple[str, type[Any]]]:
    """Return the fields of a C struct for ctypes, all of one type.

    Args:
        kind: C type of ``ctypes``.
        names: Names separated by spaces.

    Returns:
        Pairs of name and type, for ``_fields_``.
    """
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
    """The struct ArrowArrayStream: four functions, and a key that identifies our data."""

    _fields_ = (*_struct_fields(_POINTER, "get_schema get_next get_last_error release private_data"),)


_SCHEMA = b"arrow_schema"
"""Name of a capsule that holds an ArrowSchema, in the Arrow PyCapsule protocol; a capsule of another name is an
error."""
_ARRAY = b"arrow_array"
"""Name of a capsule that holds an ArrowArray."""
_STREAM = b"arrow_array_stream"
"""Name of a capsule that holds an ArrowArrayStream."""
_FILL_STRUCT = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)
"""C type of a stream's functions `get_schema` and `get_next`: of the stream and the address to fill; 0 or an error
number."""
_LAST_ERROR = ctypes.CFUNCTYPE(_POINTER, _POINTER)
"""C type of a stream's function `get_last_error`: of the stream; the address of a message."""
_RELEASE = ctypes.CFUNCTYPE(None, _POINTER)
"""C type of functions that release an Arrow struct at an address."""
Struct = TypeVar("Struct", _Schema, _Array)
_new_capsule = ctypes.PYFUNCTYPE(_OBJECT, _POINTER, ctypes.c_char_p, _POINTER)(("PyCapsule_New", ctypes.pythonapi))
_held_by = ctypes.PYFUNCTYPE(_POINTER, _OBJECT, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def reinterpret(array: Array, data_type: DataType) -> Array:
    """Reinterpret the bytes of an array as another type with the same layout. Nothing is checked.

    Args:
        array: Array of any type.
        data_type: Type with the same buffers.
    """
    return Array.from_arrow_pycapsule(data_type.__arrow_c_schema__(), array.__arrow_c_array__()[1])


_lent: dict[int, tuple[Any, ...]] = {}
"""Buffers of arrays that were handed out, until Arrow releases them."""
_numbers = count(1)


def array_from_buffers(data_type: DataType, length: int, *buffers: NDArray[Any]) -> Array:
    """Return an Arrow array that uses existing buffers, without copying them.

    Args:
        data_type: Type of the array.
        length: Number of elements.
        buffers: The validity bits, then the buffers of the type, in the order of Arrow's format.
    """
    key = next(_numbers)
    positions = (_POINTER * len(buffers))(*(buffer.ctypes.data for buffer in buffers))
    struct = _Array(
        length,
        -1,
        0,
        len(buffers),
        0,
        ctypes.addressof(positions),
        None,
        None,
        _function_address(_RELEASE_BUFFERS),
        key,
    )
    _lent[key] = positions, buffers
    try:
        capsule = _new_capsule(ctypes.addressof(struct), _ARRAY, None)
        return Array.from_arrow_pycapsule(data_type.__arrow_c_schema__(), capsule)
    finally:
        _release_struct(struct)  # if the array was not taken


def _release_buffers(array: int) -> None:
    """Callback of Arrow: release the buffers behind an array that is no longer needed.

    Args:
        array: Address of the C struct of the array.
    """
    with suppress(BaseException):
        struct = _Array.from_address(array)
        buffers = _lent.pop(struct.private_data, None)
        struct.release = None
        del buffers


def _release_struct(struct: _Schema | _Array) -> None:
    """Release what an Arrow C struct holds, unless its content was moved.

    Args:
        struct: The struct.
    """
    if struct.release:
        _RELEASE(struct.release)(ctypes.addressof(struct))


def _read_offsets(text: Array) -> NDArray[np.int64]:
    """Return where each text begins in the byte buffer of an Arrow array, and where the last one ends, as 64-bit
    integers.

    Args:
        text: Arrow array of texts or bytes.
    """
    capsule = text.__arrow_c_array__()[1]
    array = _Array.from_address(_held_by(capsule, _ARRAY))
    address = ctypes.cast(array.buffers, ctypes.POINTER(_POINTER))[1] or 0
    offsets = (ctypes.c_int64 * (len(text) + 1)).from_address(address + 8 * array.offset)
    return np.frombuffer(memoryview(offsets), dtype=np.int64).copy()


class _Batches:
    """Batches of an engine's stream. (arro3's reader would keep an engine from calling Python back: see `Stream`.)"""

    def __init__(self, data: Any) -> None:
        """Take the Arrow C stream that an object exports, to read its batches.

        Args:
            data: Object with ``__arrow_c_stream__``.
        """
        self._capsule = data.__arrow_c_stream__()  # the capsule releases the stream
        self._stream = _Stream.from_address(_held_by(self._capsule, _STREAM))
        with self._fetch(self._stream.get_schema, _Schema()) as schema:
            self.schema = Schema.from_arrow_pycapsule(_new_capsule(ctypes.addressof(schema), _SCHEMA, None))

    def __iter__(self) -> Iterator[list[Array]]:
        """Yield the columns of each batch."""
        positions = range(len(self.schema))
        rows = DataType.struct([self.schema.field(position) for position in positions])
        while True:
            with self._fetch(self._stream.get_next, _Array()) as array:
                if not array.release:
                    return
                capsule = _new_capsule(ctypes.addressof(array), _ARRAY, None)
                batch = Array.from_arrow_pycapsule(rows.__arrow_c_schema__(), capsule)
            yield [struct_field(batch, position) for position in positions]

    @contextmanager
    def _fetch(self, function: int, struct: Struct) -> Iterator[Struct]:
        """Fill an Arrow C struct by a function of the stream, yield it, and release it when the block ends.

        Args:
            function: Address of the C function.
            struct: Struct to fill.

        Raises:
            RuntimeError: the function failed; the message does not have the stream's text, which may quote values.
        """
        if _FILL_STRUCT(function)(ctypes.addressof(self._stream), ctypes.addressof(struct)):  # releases Python's lock
            raise RuntimeError("a batch of the table could not be read; check that nothing changes it meanwhile")
        try:
            yield struct
        finally:
            _release_struct(struct)


def read_types(stream: Any) -> list[DataType]:
    """Return the Arrow type of each column of a stream that exports the Arrow C interface; no batch is read.

    Args:
        stream: Object with ``__arrow_c_stream__``.
    """
    return _Batches(stream).schema.types


def read_batches(stream: Any) -> Iterator[list[Array]]:
    """Yield the columns of each batch of a stream that exports the Arrow C interface.

    Args:
        stream: Object with ``__arrow_c_stream__``, whose rows are structs of the columns.

    Yields:
        The columns in the order of the stream.
    """
    yield from _Batches(stream)


def read_doubles(stream: Any) -> Iterator[list[FloatArray]]:
    """Yield the columns of each batch of a stream, if all columns are doubles without missing values.

    Args:
        stream: Object with ``__arrow_c_stream__``.
    """
    for batch in read_batches(stream):
        yield [column.to_numpy() for column in batch]


_open: dict[int, tuple[Schema, Iterator[RecordBatch], _Stream]] = {}
_failure = ctypes.create_string_buffer(b"a batch could not be read")


class Stream:
    """Batches that are read when an engine asks for them, from the start each time that it opens the stream.

    An error while reading is hidden: the engine only learns that reading failed. (arro3's reader of an iterator needs
    Python's lock without acquiring it where a function of arro3 waits below, which ends the process.)
    """

    def __init__(self, schema: Schema, read: Callable[[], Iterator[RecordBatch]]) -> None:
        self._schema = schema
        self._read = read

    def __repr__(self) -> str:
        return "Stream(hidden)"

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Return a capsule with the Arrow C stream of the batches, by which DuckDB and other libraries read them.

        Args:
            requested_schema: Not used; the stream has its own schema.
        """
        key = next(_numbers)
        stream = _Stream(*_FUNCTION_ADDRESSES, key)
        _open[key] = (self._schema, self._read(), stream)
        return _new_capsule(ctypes.addressof(stream), _STREAM, None)


def _move_capsule(capsule: Any, name: bytes, kind: type[_Schema | _Array], target: int) -> None:
    """Move an Arrow C struct out of a Python capsule to the address `target`; the capsule is empty afterwards.

    Args:
        capsule: Python capsule that holds the struct.
        name: Name of the capsule.
        kind: Type of the struct.
        target: Address that has room for the struct.
    """
    struct = kind.from_address(_held_by(capsule, name))
    ctypes.memmove(target, ctypes.addressof(struct), ctypes.sizeof(kind))
    struct.release = None


def _give_schema(stream: int, target: int) -> int:
    """Callback of Arrow: write the stream's schema to an address; return 0, or EIO after any error.

    Args:
        stream: Address of the C struct of the stream.
        target: Address for the schema.
    """
    try:
        schema, _, _ = _open[_Stream.from_address(stream).private_data]
        _move_capsule(schema.__arrow_c_schema__(), _SCHEMA, _Schema, target)
    except BaseException:
        return EIO
    return 0


def _give_next(stream: int, target: int) -> int:
    """Callback of Arrow: write the stream's next batch to an address; return 0, or EIO after any error.

    At the end of the stream a released struct is written.

    Args:
        stream: Address of the C struct of the stream.
        target: Address for the batch.
    """
    try:
        _, batches, _ = _open[_Stream.from_address(stream).private_data]
        batch = next(batches, None)
        if batch is None:
            _Array.from_address(target).release = None  # the end
        else:
            _move_capsule(batch.__arrow_c_array__()[1], _ARRAY, _Array, target)
    except BaseException:  # the message may quote a record
        return EIO
    return 0


def _say_last_error(_: int) -> int:
    """Callback of Arrow: return the address of a fixed error message, because the true one may quote a record."""
    return ctypes.addressof(_failure)


def _release_stream(stream: int) -> None:
    """Callback of Arrow: drop the batches of a stream that is no longer needed.

    Args:
        stream: Address of the C struct of the stream.
    """
    with suppress(BaseException):
        struct = _Stream.from_address(stream)
        open_stream = _open.pop(struct.private_data, None)  # the struct itself may be part of it
        struct.release = None
        del open_stream


def _function_address(function: Any) -> int | None:
    """Return the address of a C function made by ctypes, for an Arrow C struct.

    Args:
        function: The ctypes function.
    """
    return ctypes.cast(function, _POINTER).value


_FUNCTIONS: list[Any] = [
    _FILL_STRUCT(_give_schema),
    _FILL_STRUCT(_give_next),
    _LAST_ERROR(_say_last_error),
    _RELEASE(_release_stream),
]
"""C functions of every stream that is handed to an engine, in the order of ArrowArrayStream."""
_RELEASE_BUFFERS: Any = _RELEASE(_release_buffers)
"""C function that Arrow calls when it no longer needs an array handed out by `array_from_buffers`."""
for _each in (*_FUNCTIONS, _RELEASE_BUFFERS):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_each))  # arrays that outlive this module call these functions
_FUNCTION_ADDRESSES = tuple(map(_function_address, _FUNCTIONS))
"""Addresses of `_FUNCTIONS`, the first fields of each ArrowArrayStream."""


# Columns of a schema, and the SQL that reads them. No value is read here.


DELIMITERS = ",;\t|"
"""Delimiters among which an error message suggests the most frequent one, if a header seems to have another
delimiter."""

LONGEST_TEXT = 2**20
"""Largest length of a text, and of a line of CSV, in bytes. A longer one counts as missing: otherwise a single record
could exhaust an engine."""

NUMBER = "CAST({0} AS DOUBLE)"
"""SQL of DuckDB that reads a column of numbers; `{0}` stands for the column."""

TEXT = "CAST({0} AS VARCHAR)"
"""Text of any column. Bytes outside of printable ASCII are written as hexadecimal codes, so no byte is refused."""

# Text that spells a number, else true or false. A date is not a number unless a day zero is declared.
TRUTH = f"CASE lower({TEXT}) WHEN 'true' THEN 1::DOUBLE WHEN 'false' THEN 0::DOUBLE END"
"""SQL of DuckDB that reads the texts true (1) and false (0), in small or capital letters; NULL for other texts."""
NUMBER_IN_TEXT = f"coalesce(TRY_CAST({TEXT} AS DOUBLE), {TRUTH})"
"""SQL of DuckDB that reads a text as a number, else as true or false; NULL, so missing, for other texts."""


TRIMMED_TEXT = f"trim({TEXT})"
"""SQL of the text of any column without blanks around it."""
DECIMAL_COMMA = (
    r"[+-]?([0-9]+|[0-9]{{1,3}}([.][0-9]{{3}})+)(,[0-9]+)?([eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
)
"""Numbers with a decimal comma, with or without points between thousands. Braces are doubled for `str.format`."""
DATES = {
    "-": ("[0-9]{{4}}-[0-9]{{2}}(-[0-9]{{2}})?", "%Y-%m-%d"),
    ".": ("[0-9]{{2}}[.][0-9]{{2}}[.][0-9]{{4}}", "%d.%m.%Y"),
}
"""Pattern and strptime format of dates in the form of the declared day zero, by separator. A field of neither this form
nor a number is missing."""


def number_sql(file: CsvFile) -> str:
    """Return the SQL expression that reads a number from a CSV field in the declared format; NULL where the text is
    none.

    Args:
        file: Declares the decimal sign, and the format and origin of dates, which are read as days since then.
    """
    number = NUMBER_IN_TEXT
    if file.decimal == ",":
        with_point = f"replace(replace({TRIMMED_TEXT}, '.', ''), ',', '.')"
        is_number = f"regexp_full_match({TRIMMED_TEXT}, '{DECIMAL_COMMA}')"
        number = f"CASE WHEN {is_number} THEN TRY_CAST({with_point} AS DOUBLE) ELSE {TRUTH} END"
    if file.origin is None:
        return number
    pattern, time_format = DATES[file.date_separator]
    # a month in ISO 8601 is its first day; 01.2020 is not a month but a number
    whole_day = TRIMMED_TEXT if file.date_separator == "." else f"left(concat({TRIMMED_TEXT}, '-01'), 10)"
    day = f"CAST(try_strptime({whole_day}, '{time_format}') AS DATE)"
    days = f"CAST({day} - DATE '{file.origin.isoformat()}' AS DOUBLE)"
    return f"CASE WHEN regexp_full_match({TRIMMED_TEXT}, '{pattern}') THEN {days} ELSE {number} END"


ZONE = "[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?"
"""Pattern of a UTC offset: hours, or hours and minutes."""
LOCAL = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?)?"
"""Pattern of an ISO 8601 date, or a date and a time without a zone. Braces are doubled for `str.format`."""
ISO = f"{LOCAL.removesuffix(')?')}(Z|{ZONE})?)?"
"""Pattern of an ISO 8601 date or timestamp, with Z, an offset or no zone. A field that is neither this nor a number is
missing."""


def days_sql(file: CsvFile) -> str | None:
    """Return the SQL expression that reads days since 1970-01-01 from a CSV field: a number, or an ISO 8601 date or
    timestamp.

    None if a date format is declared: then only that format is read.

    Args:
        file: Declares the decimal sign and the format of dates.
    """
    if file.origin is not None:
        return None
    timestamp = f"TRY_CAST(replace(regexp_extract({TRIMMED_TEXT}, '{LOCAL}'), 'T', ' ') AS TIMESTAMP)"
    zone = f"regexp_extract({TRIMMED_TEXT}, ':[0-9.]+({ZONE})$', 1)"
    hours = f"left({zone}, 3)"
    minutes = f"concat(left({zone}, 1), substr(replace({zone}, ':', ''), 4))"
    offset_minutes = f"coalesce(TRY_CAST({hours} AS BIGINT), 0) * 60 + coalesce(TRY_CAST({minutes} AS BIGINT), 0)"
    # microseconds in a minute and in a day
    days_since_1970 = f"(epoch_us({timestamp}) - ({offset_minutes}) * 60000000)::DOUBLE / 86400000000"
    iso_days = f"CASE WHEN regexp_full_match({TRIMMED_TEXT}, '{ISO}') THEN {days_since_1970} END"
    return f"coalesce({number_sql(file)}, {iso_days})"


class ColumnKind(Enum):
    """Kind of values that a schema declares for a column."""

    NUMBERS = "numbers"
    TEXT = "text"
    UNTYPED = "values without a declared type"
    FIELDS = "fields of a text file, which declares no types"
    OBJECTS = "objects of any type"
    TIMES = "dates, times or durations"
    OTHER = "neither numbers nor text"


DATE = "date"
"""Value of `Column.time`: whole days. It decides which functions of dates an expression may apply."""
MOMENT = "moment"
"""Value of `Column.time`: timestamps."""
DURATION = "duration"
"""Value of `Column.time`: lengths of time."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a source.

    Attributes:
        name: Public name.
        kind: Kind of its values.
        number: SQL of a value as a double, with ``{0}`` for the column; NULL or NaN: missing.
        text: SQL of a value as text.
        unit: SQL of a value as a unit identifier; NULL: missing.
        moment: SQL of a timestamp in microseconds since 1970, if the type declares its resolution.
        elapsed_time: SQL of days (of dates) or seconds as a double, if the type is one of time: see `TypedAxis`.
        time: Kind of time: dates, timestamps or durations (`DATE`, `MOMENT`, `DURATION`); else empty.
        declared_value_type: Type of its values, on which their names depend; None: the default of its kind.
        declared_type: Name of the type in the schema, for messages.
        members: Labels that the schema declares for the column (ENUM), in their order; empty: any text.
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
    members: tuple[str, ...] = ()

    @property
    def value_type(self) -> ValueType:
        """Type that decides how the values of the column are named and compared."""
        return self.declared_value_type or _USUAL_TYPES.get(self.kind, ValueType.UNDECLARED)

    def suggest_spelling(self, value: Category) -> str:
        """Return what a user could write instead of a category that the declared type does not have; empty if the type
        has it.

        Args:
            value: Declared category.
        """
        if self.members:
            return "" if value in self.members else _list_members(self.members)
        if category_key(value, self.value_type) is None:
            return suggest_spelling(value, self.value_type)
        scale = _DECIMAL_SCALE.search(self.declared_type) if self.value_type is ValueType.DECIMAL else None
        if scale is None or str(value) in {"inf", "-inf"}:
            return ""
        digits = -int(Decimal(str(value)).normalize().as_tuple().exponent)
        return f"a number with at most {scale[1]} digits after the point" if digits > int(scale[1]) else ""

    @property
    def type_name(self) -> str:
        """Name of the column's declared type, for messages."""
        return self.declared_type or self.value_type.value


_DECIMAL_SCALE = re.compile(r"\([0-9]+, ?([0-9]+)\)$")
"""Pattern of the digits after the point in the name of a decimal type; a category with more digits equals no value and
is refused."""


def _list_members(members: Sequence[str]) -> str:
    """Return the labels of an enumeration type for a message, shortened, with the number of omitted ones.

    Args:
        members: All labels of the type.
    """
    most_labels = 12  # labels of a type that a message lists
    omitted = f" or one of {len(members) - most_labels} more" if len(members) > most_labels else ""
    return f"one of its labels: {', '.join(map(repr, members[:most_labels]))}{omitted}"


_USUAL_TYPES = {ColumnKind.NUMBERS: ValueType.DOUBLE, ColumnKind.TEXT: ValueType.TEXT}
"""Types of values in columns whose schema declares no narrower type; other kinds count as undeclared."""


def decimal_column(name: str, declared: str = "DECIMAL") -> Column:
    """Return a column for decimal numbers with more digits than doubles have: given as text, read as the nearest
    double.

    Args:
        name: Name of the column.
        declared: Type as the schema declares it.
    """
    number = f"TRY_CAST({TEXT} AS DOUBLE)"
    text = _DECIMAL_NAME
    return Column(name, ColumnKind.NUMBERS, number, text, declared_value_type=ValueType.DECIMAL, declared_type=declared)


def enum_column(name: str, members: Iterable[str], number: str = NUMBER_IN_TEXT) -> Column:
    """Return a column of an enumeration type: texts whose possible labels the schema declares.

    Args:
        name: Name of the column.
        members: The declared labels.
        number: SQL expression that reads a number from a label.
    """
    return Column(name, ColumnKind.TEXT, number, declared_type="ENUM", members=tuple(members))


def uuid_column(name: str, declared: str = "UUID") -> Column:
    """Return a column that the schema declares as UUIDs, given as text (`uuid_texts`).

    Args:
        name: Name of the column.
        declared: Type as the schema declares it.
    """
    return Column(name, ColumnKind.TEXT, NUMBER_IN_TEXT, declared_value_type=ValueType.UUID, declared_type=declared)


_DECIMAL_NAME = f"CASE WHEN contains({TEXT}, '.') THEN rtrim(rtrim({TEXT}, '0'), '.') ELSE {TEXT} END"
"""Text of a decimal number without trailing zeros, as specified in `value_names`."""


def sql_name(position: int) -> str:
    """Return the SQL name of the column at a position. (SQL ignores case, so column names could clash.)

    Args:
        position: Position in the schema, from 0.
    """
    return f"c{position}"


def find_column(name: object, columns: Sequence[Column], argument: str = "column") -> int:
    """Return the position of the column with this name. (A model has no column: sources that cannot score refuse it.)

    Args:
        name: Name of the column.
        columns: All columns of the source.
        argument: Name of the argument in error messages.

    Raises:
        ValueError: the column is missing, or its name occurs twice. If the first line of a file of text seems to be a
            record, the message shows nothing of it.
    """
    positions = [position for position, column in enumerate(columns) if column.name == name]
    most_named_columns = 40  # column names that an error message lists
    if not positions:
        names = [repr(column.name) for column in columns]
        omitted = [f"{len(names) - most_named_columns} more"] if len(names) > most_named_columns else []
        listed = ", ".join(names[:most_named_columns] + omitted) or "no columns"
        if (other_format := _describe_other_format(columns)) is not None:
            raise InvalidArgument(argument, f"{name!r} is not a column; {other_format}", str(name))
        if any(column.kind is ColumnKind.FIELDS and is_no_name(column.name) for column in columns):
            # the names may be the values of a record
            raise InvalidArgument(argument, f"{name!r} is not a column; {NO_HEADER}", str(name))
        nearest = describe_nearest_name(str(name), [column.name for column in columns]) if len(names) > 1 else ""
        raise InvalidArgument(
            argument, f"{name!r} is not in the data, which has {listed}{nearest}{_delimiter_hint(columns)}", str(name)
        )
    if len(positions) > 1:
        raise InvalidArgument(
            argument,
            f"{name!r} occurs {len(positions)} times in the data; rename the columns so that all names differ",
            str(name),
        )
    return positions[0]


OTHER_FORMATS = MappingProxyType({
    re.compile(r'\s*\[\s*$|\s*\[?\s*\{\s*"?\w+"?\s*:'): (
        "the first line is JSON and not the header of a CSV file; convert the file to CSV"
    ),
    re.compile(r"\s*<(!doctype|\?xml|html|table)\b", re.IGNORECASE): (
        "the first line is HTML or XML and not the header of a CSV file; save the table as CSV"
    ),
    re.compile(r"sep=\S?$"): (
        "the first line is Excel's line on the delimiter and not the header; delete it, and give that delimiter "
        "(--delimiter)"
    ),
    re.compile(r"#.*\s"): "the first line begins with # and may be a comment: if it is, delete it",
})  # fmt: skip
"""Patterns of a first line that is no header, each with the error's advice, which quotes no name: it may be a
record."""


def _describe_other_format(columns: Sequence[Column]) -> str | None:
    """Return what the first line of a CSV file seems to be, and what to do; None if it seems to be a header.

    The names are not quoted, because in other formats the first line may hold a record.

    Args:
        columns: Columns of the header.
    """
    if not columns or columns[0].kind is not ColumnKind.FIELDS:
        return None
    return next((text for first, text in OTHER_FORMATS.items() if first.match(columns[0].name)), None)


def _delimiter_hint(columns: Sequence[Column]) -> str:
    """Return a hint for an error message if the file was probably not split into fields: the only column's name
    contains another delimiter.

    Args:
        columns: Columns of the header of a CSV file.

    Returns:
        The hint, for the end of a message; empty for several columns, other files, and names without a delimiter.
    """
    if len(columns) != 1 or columns[0].kind is not ColumnKind.FIELDS:
        return ""
    delimiter = max(DELIMITERS, key=columns[0].name.count)
    if delimiter not in columns[0].name:
        return ""
    return f"; give {delimiter!r} as delimiter (--delimiter), if that separates its fields"


# SENSITIVE. Error messages of an engine may quote a record, so they are never shown.


Result = TypeVar("Result")
READ_FAILURE = (
    "the records could not be read; check the file and its types (the engine's message is not shown,"
    " because it may quote a record)"
)
"""Error in place of any error of the engine while it reads records."""


def hide_failure(action: Callable[[], Result], rule: str, argument: str = "data") -> Result:
    """Return the result of `action`. If it fails, raise an error that shows nothing of the original one.

    The original message may quote a record. A missing optional package is reported as it is, because that message
    contains no record.

    Args:
        action: Function that may fail.
        rule: Text of the error.
        argument: Name of the user's argument, for the message.
    """
    try:
        return action()
    except (KeyboardInterrupt, SystemExit, MissingPackage):
        raise
    except BaseException:  # a panic of Polars is no Exception
        pass  # raising inside this block would chain the old exception
    raise InvalidArgument(argument, rule)


QUOTE_FAULT, FIELDS_FAULT, LONG_FAULT = b"qfl"
"""Letters of malformed CSV lines: an odd number of quotes, a wrong number of fields, too long. A line has one fault:
its length, else its quotes, else its fields."""


@runtime_checkable
class HasLines(Protocol):
    """Source whose records are lines, which may be malformed."""

    @property
    def line_place(self) -> int:
        """Position, after all columns, of the letter that names the fault of a malformed line; NULL for a good line."""


class Source(Protocol):
    """Rows that DuckDB can scan. Each column has the SQL name of its position."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the schema, in its order, with the SQL that reads their numbers and texts."""

    @property
    def is_costly(self) -> bool:
        """Whether scanning the source again is so slow that needed columns should be stored."""

    @property
    def unreadable_columns(self) -> Mapping[int, str]:
        """Columns that cannot be read because pyarrow is not installed: for each position the reason. Empty: all can be
        read.
        """

    def scan(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Return a FROM clause that gives one query the columns at these positions (at least one).

        Args:
            connection: Connection of DuckDB that runs the query.
            positions: Positions of the columns in the schema.
        """

    def row_count_sql(self, positions: Sequence[int]) -> str | None:
        """Return a query of the number of rows that reads no column, for speed; None if DuckDB does not read these
        columns from files itself.

        Args:
            positions: Positions of the columns that a question reads.
        """

    def scan_decoded(
        self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int], texts: Sequence[int]
    ) -> str | None:
        """Return a FROM clause as `scan` does, with some columns decoded to text by DuckDB itself; None if it cannot
        decode them.

        Decoded columns are VARCHAR, and NULL for texts that are not UTF-8 or exceed `LONGEST_TEXT` bytes.

        Args:
            connection: Connection to DuckDB that runs the query.
            positions: Positions of the columns to read.
            texts: Positions of the columns to decode.
        """

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Return a FROM clause as `scan` does, with one more column ``whole`` that encodes the whole row unambiguously,
        to rank or name rows.

        Args:
            connection: Connection to DuckDB that runs the query.
            positions: Positions of the columns to read.
        """


def require_readable(source: Source, positions: Iterable[int]) -> None:
    """Refuse columns that cannot be read with the installed packages.

    Args:
        source: Source of the records.
        positions: Positions of the columns.

    Raises:
        ImportError: only pyarrow reads one of them.
    """
    unreadable_columns = source.unreadable_columns
    for position in positions:
        if position in unreadable_columns:
            rule = f"column {source.columns[position].name!r} {unreadable_columns[position]}; pyarrow reads it"
            raise MissingPackage("data", f"{rule}: pip install 'dpcurves[arrow]'")


def has_pyarrow() -> bool:
    """Return True if pyarrow is installed. Only columns of `Source.unreadable_columns` need it."""
    return find_spec("pyarrow") is not None


def add_whole_row_column(rows: str, columns: Sequence[Column], positions: Sequence[int]) -> str:
    """Add to a FROM clause the column ``whole``, an unambiguous text encoding of all columns of a row.

    The encoding is injective: texts contain printable ASCII only, so neither the separator nor the mark of a missing
    value occurs in them.

    Args:
        rows: FROM clause with all columns.
        columns: All columns of the source.
        positions: Positions of the columns that are selected besides.
    """
    texts = (column.text.format(sql_name(position)) for position, column in enumerate(columns))
    joined_texts = ", ".join(f"coalesce({text}, chr(30))" for text in texts)
    selected = "".join(f"{sql_name(position)}, " for position in positions)
    return f"(SELECT {selected}encode(concat_ws(chr(31), {joined_texts})) AS whole FROM {rows})"


# SENSITIVE. Python objects and NumPy arrays as Arrow arrays, for any values.


MISSING_TEXTS = {"None", "nan", "NaT", "<NA>"}
"""Texts of Python values that count as missing."""
DATE_UNITS = {"D", "s", "ms", "us", "ns"}
"""NumPy's units of dates that Arrow has, too; dates of other units are converted to seconds."""


def to_text_array(values: Iterable[Any]) -> Array:
    """Encode each value as the bytes of its text. A value that is missing, or has no text, is null.

    Args:
        values: Python objects.

    Returns:
        Array of byte strings in the order of the values.
    """
    return Array([encode_text(value) for value in values], DataType.large_binary())


def encode_text(value: Any) -> bytes | None:
    """Return the text of a value as bytes, by which it is read, compared and ranked. Never raises an error.

    Args:
        value: Any Python value.

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
        return None if text in MISSING_TEXTS else text.encode("utf-8", "backslashreplace")
    except Exception:  # the `__str__` of an object may do anything
        return None


def _format_number(value: float | np.floating[Any] | Decimal) -> str:
    """Return the category name of a number whose type is known from the value alone; NaN: missing.

    Args:
        value: The number.
    """
    if isinstance(value, Decimal):
        return str(value_name(value, ValueType.DECIMAL))
    byte_count = value.dtype.itemsize if isinstance(value, np.floating) else DOUBLE_BYTES
    return str(value_name(value, _FLOATS_BY_BYTES.get(byte_count, ValueType.DOUBLE)))


DOUBLE_BYTES = 8
"""Bytes of a double. Numbers of Python count as doubles."""
_FLOATS_BY_BYTES = {2: ValueType.HALF, 4: ValueType.SINGLE, DOUBLE_BYTES: ValueType.DOUBLE}
"""Floating-point types by the bytes of a NumPy number; other sizes are read as doubles. The type decides how many
digits the name of the number has."""


def to_arrow_array(values: NDArray[Any]) -> Array:
    """Return a NumPy array as an Arrow array: numbers or times if its type declares them, otherwise binary texts.

    Args:
        values: Array with one axis; masked values and NaT become null.
    """
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.asarray(values)
    if values.dtype.kind in "fiub":
        native = _to_native_order(values)
        array = Array.from_numpy(native)
        return array if mask is None else _mask_values(array.type, native, mask)
    if values.dtype.kind == "M":
        unit, steps = np.datetime_data(values.dtype)
        if unit not in DATE_UNITS or steps != 1:
            # Via femtoseconds where a second has more parts than NumPy converts at once.
            values = (values.astype("datetime64[fs]") if unit == "as" else values).astype("datetime64[s]")
        missing = np.isnat(values) if mask is None else np.isnat(values) | mask
        return _mask_values(*_time_values(_to_native_order(values)), missing)
    texts = [encode_text(value) for value in (values.tolist() if values.dtype.kind in "OUS" else values)]
    if mask is not None:
        texts = [None if is_masked else text for text, is_masked in zip(texts, mask, strict=True)]
    return Array(texts, DataType.large_binary())


def _time_values(values: NDArray[Any]) -> tuple[DataType, NDArray[Any]]:
    """Return the Arrow type of a NumPy time unit, and the integers. A missing time is an arbitrary integer.

    Args:
        values: Times of the NumPy type ``datetime64``, in a unit that Arrow has.

    Returns:
        The type, and the integers of 32 bits for days, of 64 bits for other units.
    """
    unit: Any = np.datetime_data(values.dtype)[0]
    integers = values.view(np.int64)
    return (DataType.date32(), integers.astype(np.int32)) if unit == "D" else (DataType.timestamp(unit), integers)


def _mask_values(data_type: DataType, values: NDArray[Any], missing: NDArray[np.bool_]) -> Array:
    """Return an Arrow array of these values (without a copy), with nulls where `missing` is True.

    Args:
        data_type: Arrow type with the layout of the values.
        values: Numbers, or truth values, which are packed into bits.
        missing: True for each missing value.
    """
    buffer = np.packbits(values, bitorder="little") if values.dtype.kind == "b" else values
    return array_from_buffers(data_type, len(values), np.packbits(~missing, bitorder="little"), buffer)


def _to_native_order(values: NDArray[Any]) -> NDArray[Any]:
    """Convert to the byte order of this machine, and to doubles where Arrow has no type as long.

    Args:
        values: Numbers of any byte order.

    Returns:
        Contiguous array. Floating-point numbers above 64 bits are rounded to doubles.
    """
    native_type = np.dtype(np.float64) if values.dtype.kind == "f" and values.dtype.itemsize > 8 else values.dtype
    with np.errstate(all="ignore"):  # a value beyond doubles becomes infinite; a warning would reveal it
        return np.ascontiguousarray(values, dtype=native_type.newbyteorder("="))


# SENSITIVE. Arrow types, and the plain types that DuckDB accepts for any values.


_DAYS = "TRY_CAST({0}::HUGEINT * 86400000000 AS BIGINT)"
"""SQL of microseconds from days since 1970; NULL beyond 64 bits."""
_MOMENTS = {
    "s": "TRY_CAST({0}::HUGEINT * 1000000 AS BIGINT)", "ms": "TRY_CAST({0}::HUGEINT * 1000 AS BIGINT)",
    "us": "{0}::BIGINT", "ns": "{0}::BIGINT // 1000",
}  # fmt: skip
"""SQL of microseconds since 1970 from a stored integer, by the time unit of its type; NULL beyond 64 bits."""


def column_from_arrow_type(name: str, declared: ArrowSchemaExportable) -> Column:
    """Return the column of an Arrow type: its kind, and the SQL that reads its number, text, unit and time.

    Args:
        name: Column name.
        declared: Object that exports an Arrow type.
    """
    data_type = _decode_type(DataType.from_arrow(declared))
    arrow_name = str(data_type).strip().partition("<")[2].removesuffix(">").lower()  # int64, decimal128(10, 2)
    if _is_decimal(data_type):
        return decimal_column(name, "DECIMAL" + arrow_name.lstrip(ARROW_DECIMAL_CHARACTERS))
    has_values = not DataType.is_null(data_type)
    if has_values and not is_number(data_type):
        other_kind = ColumnKind.TEXT if _is_text(data_type) else ColumnKind.OTHER
        return Column(
            name,
            ColumnKind.TIMES if DataType.is_temporal(data_type) else other_kind,
            NUMBER_IN_TEXT,
            moment=_moment_sql(data_type),
            elapsed_time=_elapsed_sql(data_type),
            time=_time_kind(data_type),
        )
    unit = "CASE WHEN NOT isnan({0}) THEN {0} END" if DataType.is_floating(data_type) else "{0}"
    value_type, type_name = _TYPES_OF_NUMBERS.get(arrow_name, (None, ""))
    kind = ColumnKind.NUMBERS if has_values else ColumnKind.UNTYPED
    return Column(name, kind, NUMBER, unit=unit, declared_value_type=value_type, declared_type=type_name)


ARROW_DECIMAL_CHARACTERS = "decimal0123456789"
"""Characters in the names of Arrow's decimal types before the digits in brackets; what follows them is shown as in
DECIMAL(10, 2)."""


_TYPES_OF_NUMBERS: Mapping[str, tuple[ValueType, str]] = MappingProxyType({
    "boolean": (ValueType.TRUTH, "BOOLEAN"),
    "int8": (ValueType.WHOLE, "TINYINT"), "int16": (ValueType.WHOLE, "SMALLINT"),
    "int32": (ValueType.WHOLE, "INTEGER"), "int64": (ValueType.WHOLE, "BIGINT"),
    "uint8": (ValueType.WHOLE, "UTINYINT"), "uint16": (ValueType.WHOLE, "USMALLINT"),
    "uint32": (ValueType.WHOLE, "UINTEGER"), "uint64": (ValueType.WHOLE, "UBIGINT"),
    "float16": (ValueType.HALF, "FLOAT16"), "float32": (ValueType.SINGLE, "FLOAT"),
    "float64": (ValueType.DOUBLE, "DOUBLE"),
})  # fmt: skip
"""Value types, and DuckDB's type names, by the names of Arrow's types."""


def plain_type(declared: ArrowSchemaExportable) -> DataType:
    """Return the type to which `plain_array` converts values of this type: bytes for texts, integers for times.

    Args:
        declared: Arrow type, also with dictionary or run-end encoding.

    Returns:
        The type; doubles for nulls and half precision.
    """
    data_type = _decode_type(DataType.from_arrow(declared))
    if _is_integer_time(data_type):
        return DataType.int32() if data_type.bit_width == 32 else DataType.int64()
    if DataType.is_null(data_type) or DataType.is_float16(data_type):
        return DataType.float64()
    return data_type if is_number(data_type) else DataType.large_binary()


def plain_array(values: ArrowArrayExportable) -> Array:
    """Return values in a type that DuckDB neither checks nor converts: text as bytes, times as integers.

    (DuckDB refuses invalid UTF-8, and times that overflow in microseconds, with a message that shows them.)

    Args:
        values: Object that exports an Arrow array. Texts longer than `LONGEST_TEXT` bytes become null.
    """
    array = Array.from_arrow(values)
    if DataType.is_dictionary(array.type):
        return plain_array(dictionary_dictionary(array)).take(dictionary_indices(array))
    data_type = array.type
    target_type = plain_type(array.type)
    if not DataType.is_nested(data_type) and data_type.value_type is not None:  # run-end encoding
        return plain_array(array.cast(data_type.value_type))
    if _is_integer_time(data_type):
        return reinterpret(array, target_type)
    if not DataType.is_large_binary(target_type):
        return array if is_number(data_type) and data_type == target_type else array.cast(target_type)
    if _is_decimal(data_type):
        array = array.cast(DataType.large_string())
    texts = _text_to_bytes(array) if _is_text(array.type) else _nested_to_texts(array)
    if texts.nbytes <= LONGEST_TEXT:
        return texts
    # longer texts become null
    is_short = np.diff(_read_offsets(texts)) <= LONGEST_TEXT
    return texts if is_short.all() else texts.take(_mask_values(DataType.int64(), np.arange(len(texts)), ~is_short))


def is_uuid(field: Any) -> bool:
    """Return True if an Arrow field declares its 16 bytes as a UUID (Arrow's canonical extension ``arrow.uuid``).

    Args:
        field: Arrow field, with its metadata.
    """
    metadata = Field.from_arrow(field).metadata or {}
    return bool(metadata.get(b"ARROW:extension:name") == b"arrow.uuid")


def uuid_texts(values: ArrowArrayExportable) -> Array:
    """Return UUIDs of 16 bytes as their usual names, 36 ASCII characters in lower case; null stays null.

    Args:
        values: Object that exports an Arrow array of 16-byte values.
    """
    digits = [
        None if value is None else value.hex() for value in Array.from_arrow(values).cast(DataType.binary()).to_pylist()
    ]
    texts = [
        None if text is None else f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}".encode()
        for text in digits
    ]
    return Array(texts, DataType.large_binary())


def _text_to_bytes(array: Array) -> Array:
    """Return an Arrow array of text as large binary values, which are not checked for UTF-8.

    Args:
        array: Array of any string type.
    """
    data_type = array.type
    if DataType.is_large_string(data_type):
        return reinterpret(array, DataType.large_binary())
    if DataType.is_string(data_type):
        array = reinterpret(array, DataType.binary())
    if DataType.is_string_view(data_type):
        array = reinterpret(array, DataType.binary_view())
    return array.cast(DataType.large_binary())


NESTED_COLUMN_RULE = "holds lists, other nested values or intervals"
"""Why a column cannot be read without pyarrow, for the error if a question names it."""


def _nested_to_texts(array: Array) -> Array:
    """Convert nested values and intervals to text as Python prints them.

    Args:
        array: Arrow array of nested values or intervals.

    Returns:
        Array of byte strings; a missing value is null.
    """
    import pyarrow

    return to_text_array(pyarrow.array(array))


def _decode_type(declared: DataType) -> DataType:
    """Return the Arrow type of a column's values, without dictionary or run-end encoding.

    Args:
        declared: Arrow type.
    """
    encoded = None if DataType.is_nested(declared) else declared.value_type  # None: the type is not encoded
    return declared if encoded is None else _decode_type(encoded)


def _moment_sql(data_type: DataType) -> str | None:
    """Return the SQL expression that converts stored integers of an Arrow time type to microseconds since 1970, for
    timestamps.

    Args:
        data_type: Arrow type, without encoding.

    Returns:
        The SQL; None if the type is neither a date nor a timestamp.
    """
    if DataType.is_timestamp(data_type):
        return _MOMENTS[str(data_type.time_unit)]
    if DataType.is_date(data_type):
        return _DAYS if data_type.bit_width == 32 else _MOMENTS["ms"]
    return None


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units in a second, by Arrow's name of the unit: durations are counted in seconds."""


def _time_kind(data_type: DataType) -> str:
    """Return `DATE`, `MOMENT` or `DURATION` for an Arrow type; an empty text for other types.

    Args:
        data_type: Arrow type, without encoding.
    """
    if DataType.is_duration(data_type):
        return DURATION
    if DataType.is_date(data_type):
        return DATE
    return MOMENT if DataType.is_timestamp(data_type) else ""


def _elapsed_sql(data_type: DataType) -> str | None:
    """Return the SQL expression that converts stored integers of an Arrow time type to days or seconds; None if the
    type is no single time.

    Args:
        data_type: Arrow type, without encoding.

    Returns:
        SQL of days since 1970 for dates; of seconds for other times and durations.
    """
    if DataType.is_date32(data_type):
        return NUMBER
    if DataType.is_date64(data_type):
        return f"{NUMBER} / 86400000"  # milliseconds in a day
    if DataType.is_timestamp(data_type) or DataType.is_time(data_type) or DataType.is_duration(data_type):
        return f"{NUMBER} / {_PER_SECOND[str(data_type.time_unit)]}"
    return None


def is_number(data_type: DataType) -> bool:
    """Return True if an Arrow type holds numbers or truth values.

    Args:
        data_type: Arrow type, without encoding. Decimals are not numbers here.
    """
    return DataType.is_boolean(data_type) or DataType.is_integer(data_type) or DataType.is_floating(data_type)


def _is_integer_time(data_type: DataType) -> bool:
    """Return True if an Arrow type holds times stored as integers of 32 or 64 bits.

    Args:
        data_type: Arrow type, without encoding.
    """
    return DataType.is_temporal(data_type) and (data_type.bit_width or 128) <= 64


def _is_decimal(data_type: DataType) -> bool:
    """Return True if an Arrow type is a decimal type.

    Args:
        data_type: Arrow type, without encoding.
    """
    return DataType.is_numeric(data_type) and not is_number(data_type)


def _is_text(data_type: DataType) -> bool:
    """Return True if an Arrow type holds text or bytes.

    Args:
        data_type: Arrow type, without encoding.
    """
    return any(
        test(data_type)
        for test in (
            DataType.is_string, DataType.is_large_string, DataType.is_string_view, DataType.is_binary,
            DataType.is_large_binary, DataType.is_binary_view, DataType.is_fixed_size_binary,
        )
    )  # fmt: skip


ROWS_PER_BATCH = 2**17
"""Rows of a batch. More take more memory, fewer more time."""
BATCH_TABLE = "scanned"
"""Name under which batches of rows are registered with DuckDB, for FROM."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ArrowSource:
    """Columns of Arrow types, and a function that reads some of them batch by batch."""

    columns: tuple[Column, ...]
    types: tuple[DataType, ...]
    read_batches: Callable[[Sequence[int]], Iterable[Sequence[Any]]]
    is_costly: bool

    @property
    def unreadable_columns(self) -> Mapping[int, str]:
        """The reason by position for nested columns, if pyarrow is not installed; empty otherwise."""
        nested = []
        for position, data_type in enumerate(map(_decode_type, self.types)):
            is_read_as_text = DataType.is_large_binary(plain_type(data_type))
            # pyarrow converts nested values and intervals to text; decimals, text and bytes need no pyarrow
            if is_read_as_text and not (_is_decimal(data_type) or _is_text(data_type)):
                nested.append(position)
        return {} if not nested or has_pyarrow() else dict.fromkeys(nested, NESTED_COLUMN_RULE)

    def row_count_sql(self, positions: Sequence[int]) -> None:
        """Return None: no query counts the rows, which are counted while batches are read.

        Args:
            positions: Positions of columns; without effect.
        """

    def scan(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Register the columns at these positions with DuckDB as batches; return the table name for a FROM clause.

        Args:
            connection: Connection of DuckDB that runs the query.
            positions: Positions of the columns in the schema.

        Raises:
            ImportError: only pyarrow reads one of the columns, and it is not installed.
        """
        require_readable(self, positions)
        schema = Schema([Field(sql_name(position), plain_type(self.types[position])) for position in positions])

        def convert_batches() -> Iterator[RecordBatch]:
            """Yield the batches of the requested columns in types that DuckDB neither checks nor converts."""
            for batch in self.read_batches(positions):
                yield RecordBatch.from_arrays([*map(plain_array, batch)], schema=schema)

        connection.register(BATCH_TABLE, Stream(schema, convert_batches))
        return BATCH_TABLE

    def scan_decoded(
        self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int], texts: Sequence[int]
    ) -> str | None:
        """Return None: Arrow sources hand texts over as bytes, so DuckDB cannot decode them in a scan.

        Args:
            connection: Connection of DuckDB; without effect.
            positions: Positions of columns; without effect.
            texts: Positions of columns of texts; without effect.
        """

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]) -> str:
        """Return a FROM clause of the columns at these positions, and of a column ``whole`` that encodes the whole row
        unambiguously.

        Args:
            connection: Connection of DuckDB that runs the query.
            positions: Positions of the columns in the schema.
        """
        rows = self.scan(connection, range(len(self.columns)))
        return add_whole_row_column(rows, self.columns, positions)
