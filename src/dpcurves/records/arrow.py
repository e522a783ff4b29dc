"""SENSITIVE. Arrow arrays, and streams of their batches to and from an engine, without pyarrow."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
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


_POINTER, _NUMBER, _OBJECT = ctypes.c_void_p, ctypes.c_int64, ctypes.py_object


def _fields(kind: type[Any], names: str) -> list[tuple[str, type[Any]]]:
    return [(name, kind) for name in names.split()]


class _Schema(ctypes.Structure):
    """A schema as C has it. (https://arrow.apache.org/docs/format/CDataInterface.html)"""

    _fields_ = (
        *_fields(_POINTER, "format name metadata"), *_fields(_NUMBER, "flags n_children"),
        *_fields(_POINTER, "children dictionary release private_data"),
    )  # fmt: skip


class _Array(ctypes.Structure):
    """An array as C has it."""

    _fields_ = (
        *_fields(_NUMBER, "length null_count offset n_buffers n_children"),
        *_fields(_POINTER, "buffers children dictionary release private_data"),
    )


class _Stream(ctypes.Structure):
    """A stream as C has it: four functions, and a number that says which of ours it is."""

    _fields_ = (*_fields(_POINTER, "get_schema get_next get_last_error release private_data"),)


_SCHEMA, _ARRAY, _STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"
_TAKE = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)
_LAST_ERROR = ctypes.CFUNCTYPE(_POINTER, _POINTER)
_RELEASE = ctypes.CFUNCTYPE(None, _POINTER)
_new_capsule = ctypes.PYFUNCTYPE(_OBJECT, _POINTER, ctypes.c_char_p, _POINTER)(("PyCapsule_New", ctypes.pythonapi))
_held_by = ctypes.PYFUNCTYPE(_POINTER, _OBJECT, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

_open: dict[int, tuple[Schema, Iterator[RecordBatch], _Stream]] = {}
_numbers = count(1)
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
        stream = _Stream(*(ctypes.cast(each, _POINTER).value for each in _FUNCTIONS), number)
        _open[number] = (self._schema, self._read(), stream)
        return _new_capsule(ctypes.addressof(stream), _STREAM, None)


def _move(capsule: Any, name: bytes, kind: type[_Schema | _Array], to: int) -> None:
    """Give away what a capsule holds, which lets go of it."""
    held = kind.from_address(_held_by(capsule, name))
    ctypes.memmove(to, ctypes.addressof(held), ctypes.sizeof(kind))
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
    return ctypes.addressof(_failure)


def _release(stream: int) -> None:
    with suppress(BaseException):
        opened = _Stream.from_address(stream)
        kept = _open.pop(opened.private_data, None)  # what is released may lie in it
        opened.release = None
        del kept


_FUNCTIONS: list[Any] = [_TAKE(_give_schema), _TAKE(_give_next), _LAST_ERROR(_say_last_error), _RELEASE(_release)]
