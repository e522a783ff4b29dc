"""SENSITIVE. Python objects and NumPy arrays as Arrow arrays, whatever the values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
        return pa.array(_native(values if unit in DATE_UNITS and steps == 1 else _in_seconds(values)), mask=mask)
    found = texts(values.tolist() if values.dtype.kind in "OUS" else list(values))
    return found if mask is None else pa.array(found.to_pylist(), mask=mask, type=found.type)


def _in_seconds(times: NDArray[Any]) -> NDArray[Any]:
    """By way of femtoseconds where a second has more parts than NumPy converts at once."""
    finer = np.datetime_data(times.dtype)[0] == "as"
    return (times.astype("datetime64[fs]") if finer else times).astype("datetime64[s]")


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """In the byte order of this machine, and in doubles where Arrow has no type as long."""
    kind = np.dtype(np.float64) if values.dtype.kind == "f" and values.dtype.itemsize > 8 else values.dtype
    with np.errstate(all="ignore"):  # what no double holds becomes an infinity, and nobody hears of it
        return np.ascontiguousarray(values, dtype=kind.newbyteorder("="))
