"""SENSITIVE. Arrow arrays, and streams of their batches to and from an engine, without pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ctypes import (
    CFUNCTYPE,
    PYFUNCTYPE,
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_int64,
    c_void_p,
    cast,
    create_string_buffer,
    memmove,
    py_object,
    pythonapi,
    sizeof,
)
from errno import EIO
from itertools import count
from typing import Any

import numpy as np
from arro3.core import Array, DataType, Field, RecordBatch, Schema

from ..arrays import FloatArray

# SENSITIVE. Arrays from memory, and memory from arrays. Nothing is copied, and no value is looked at.


def of_buffers(held: DataType, length: int, *buffers: Any) -> Array:
    """The array that lies in memory: bits of what is not missing, then what the type asks for."""
    import nanoarrow

    return Array.from_arrow(nanoarrow.c_array_from_buffers(held, length, buffers))


def buffers_of(array: Any) -> tuple[Any, ...]:
    """The place of the first value of an array, and its memory: bits of what is not missing, then the rest."""
    import nanoarrow

    view = nanoarrow.c_array(array).view()
    return view.offset, *view.buffers


def seen_as(array: Array, held: DataType) -> Array:
    """See the bytes of an array as values of another type that is laid out alike. Nothing is checked."""
    return Array.from_arrow_pycapsule(held.__arrow_c_schema__(), array.__arrow_c_array__()[1])


def schema_of(fields: Iterable[tuple[str, DataType]]) -> Schema:
    """The schema of columns of these names and types."""
    return Schema([Field(name, held) for name, held in fields])


# SENSITIVE. Batches that an engine gives. (Read by arro3, an engine could not call Python back: see `Stream`.)


def types_from(stream: Any) -> list[DataType]:
    """The types of the columns of a stream."""
    import nanoarrow

    with nanoarrow.c_array_stream(stream) as opened:
        return Schema.from_arrow(opened.get_schema()).types


def batches_from(stream: Any) -> Iterator[list[Array]]:
    """The columns of each batch of a stream."""
    import nanoarrow

    with nanoarrow.c_array_stream(stream) as opened:
        for batch in opened:
            yield [Array.from_arrow(column) for column in batch.children]


def doubles_from(stream: Any) -> Iterator[list[FloatArray]]:
    """The columns of each batch of a stream whose columns are doubles, none of them missing."""
    import nanoarrow

    with nanoarrow.c_array_stream(stream) as opened:
        for batch in opened:
            yield [_doubles(column) for column in batch.children]


def _doubles(column: Any) -> FloatArray:
    offset, _, values = buffers_of(column)
    return np.frombuffer(values, dtype=np.float64)[offset : offset + len(column)]


# SENSITIVE. Batches that an engine takes, by Arrow's C stream interface.


class _Schema(Structure):
    """A schema as C has it. (https://arrow.apache.org/docs/format/CDataInterface.html)"""

    _fields_ = (
        ("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64),
        ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p),
    )  # fmt: skip


class _Array(Structure):
    """An array as C has it."""

    _fields_ = (
        ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
        ("n_children", c_int64), ("buffers", c_void_p), ("children", c_void_p), ("dictionary", c_void_p),
        ("release", c_void_p), ("private_data", c_void_p),
    )  # fmt: skip


class _Stream(Structure):
    """A stream as C has it: four functions, and a number that says which of ours it is."""

    _fields_ = (
        ("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p), ("release", c_void_p),
        ("private_data", c_void_p),
    )  # fmt: skip


_SCHEMA, _ARRAY, _STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"
_TAKE = CFUNCTYPE(c_int, c_void_p, c_void_p)
_LAST_ERROR = CFUNCTYPE(c_void_p, c_void_p)
_RELEASE = CFUNCTYPE(None, c_void_p)
_new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", pythonapi))
_held_by = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))

_open: dict[int, tuple[Schema, Iterator[RecordBatch], _Stream]] = {}
_numbers = count(1)
_failure = create_string_buffer(b"a batch could not be read")


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
        stream = _Stream(*(cast(each, c_void_p).value for each in _FUNCTIONS), number)
        _open[number] = (self._schema, self._read(), stream)
        return _new_capsule(addressof(stream), _STREAM, None)


def _move(capsule: Any, name: bytes, kind: type[_Schema | _Array], to: int) -> None:
    """Give away what a capsule holds, which lets go of it."""
    held = kind.from_address(_held_by(capsule, name))
    memmove(to, addressof(held), sizeof(kind))
    held.release = None


def _give_schema(stream: int, to: int) -> int:
    try:
        schema, _, _ = _open[_Stream.from_address(stream).private_data]
        _move(schema.__arrow_c_schema__(), _SCHEMA, _Schema, to)
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
            _move(batch.__arrow_c_array__()[1], _ARRAY, _Array, to)
    except BaseException:  # it may quote a record
        return EIO
    return 0


def _say_last_error(_: int) -> int:
    return addressof(_failure)


def _release(stream: int) -> None:
    with suppress(BaseException):
        opened = _Stream.from_address(stream)
        _open.pop(opened.private_data, None)
        opened.release = None


_FUNCTIONS: list[Any] = [_TAKE(_give_schema), _TAKE(_give_next), _LAST_ERROR(_say_last_error), _RELEASE(_release)]
