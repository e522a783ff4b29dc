"""SENSITIVE. Records that are in memory: data frames, Arrow tables, and mappings from names to arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..arguments import Refused, WrongKind
from .arrow import BATCH, ArrowSource
from .arrow_types import column_of
from .column import NUMBER_IN_TEXT, Column, Kind, wide_numbers
from .hiding import hidden
from .python_values import array_of, texts

if TYPE_CHECKING:
    import narwhals as nw  # a fifth of a second that files and arrays need not wait for

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
