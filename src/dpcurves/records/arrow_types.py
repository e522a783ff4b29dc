"""SENSITIVE. What Arrow types hold, and the plain types that DuckDB takes whatever the values."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .column import LONGEST_TEXT, NUMBER, NUMBER_IN_TEXT, Column, Kind, wide_numbers
from .python_values import texts

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
        return Column(name, kind, NUMBER_IN_TEXT, moment=_moment(held))
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
    if _is_number(held):
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
    if _is_number(held):
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


def _is_number(held: pa.DataType) -> bool:
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
