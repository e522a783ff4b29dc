"""Python objects and NumPy arrays: their type decides how they are read, never their values."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arro3.core import DataType

from dpcurves.records import source
from dpcurves.records.source import encode_text, to_arrow_array, to_text_array


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", b"a"), ("", b""), ("nan", b"nan"), ("None", b"None"), (b"\xff", b"\xff"), ("\ud800", b"\\ud800"),
        (1, b"1"), (True, b"True"), (np.bool_(False), b"False"), (0.1, b"0.1"), (-0.0, b"0.0"),
        (2**64, b"18446744073709551616"),
        (np.float32(0.1), b"0.1"), (np.float64(1e300), b"1e+300"), (Decimal("1.50"), b"1.5"), (Decimal("NaN"), None),
        (datetime(2013, 1, 1, tzinfo=UTC), b"2013-01-01 00:00:00+00:00"),
        (None, None), (float("nan"), None), (np.float32("nan"), None), (pd.NA, None), (pd.NaT, None),
        (np.datetime64("NaT"), None), (pa.scalar(None, pa.int8()), None), (pa.scalar(7), b"7"),
    ],
)  # fmt: skip
def test_a_value_is_known_by_its_text(value: Any, text: bytes | None) -> None:
    assert encode_text(value) == text


def test_an_object_that_refuses_has_no_text() -> None:
    class Rude:
        def __str__(self) -> str:
            raise RuntimeError

    assert to_text_array([Rude(), "a", 10**5000]).to_pylist() == [None, b"a", None]


def test_memory_is_lent_until_the_last_array_that_lies_in_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    lent = dict[int, tuple[Any, ...]]()
    monkeypatch.setattr(source, "_lent", lent)
    days = np.array(["2013-01-01", "NaT", "2013-01-03"] * 1000, "datetime64[D]")
    whole = to_arrow_array(days)
    part = whole.slice(1, 2)
    assert len(lent) == 1
    del whole, days
    assert pa.array(part).to_pylist() == [None, datetime(2013, 1, 3, tzinfo=UTC).date()]
    del part
    assert not lent
    with pytest.raises(Exception, match="type"):  # three places of numbers have room for no text
        source.array_from_buffers(DataType.struct([]), 3, np.zeros(1, np.uint8), np.arange(3))
    assert not lent


def test_an_engine_that_fails_between_two_batches_ends_them_without_its_words() -> None:
    secret = "CASE WHEN range = 290000 THEN error('zebrafinch') ELSE 'a' END AS text"
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        batches = source.read_batches(connection.sql(f"SELECT range, {secret} FROM range(300000)"))
        first, _ = next(batches)
        assert first.to_numpy()[:2].tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="^a batch of the table could not be read"):
            list(batches)


@pytest.mark.parametrize(
    ("array", "held"),
    [
        (np.array([1.5], np.float16), pa.float16()),
        (np.array([1.5], np.longdouble), pa.float64()),
        (np.array([1.5], ">f8"), pa.float64()),
        (np.array([1], ">i4"), pa.int32()),
        (np.array([True]), pa.bool_()),
        (np.arange(10)[::2], pa.int64()),
        (np.array(["2013-01-01"], "datetime64[D]"), pa.date32()),
        (np.array(["2013-01-01"], "datetime64[ms]"), pa.timestamp("ms")),
        (np.array(["2013-01-01"], "datetime64[h]"), pa.timestamp("s")),
        (np.array(["2013"], "datetime64[Y]"), pa.timestamp("s")),
        (np.array(["a"]), pa.large_binary()),
        (np.array([b"a"]), pa.large_binary()),
        (np.array(["a", 1, None], dtype=object), pa.large_binary()),
        (np.array([1j]), pa.large_binary()),
        (np.zeros(1, dtype=[("a", "i4")]), pa.large_binary()),
        (np.array([1], "timedelta64[s]"), pa.large_binary()),
    ],
)
def test_an_array_is_taken_by_its_type(array: np.ndarray[Any, Any], held: pa.DataType) -> None:
    assert to_arrow_array(array).type == held
    assert to_arrow_array(array[:0]).type == held
    assert len(to_arrow_array(array)) == len(array)


@pytest.mark.parametrize("values", [[1.5, 2.5], [1, 2], ["a", "b"]])
def test_what_is_masked_is_missing(values: list[Any]) -> None:
    found = to_arrow_array(np.ma.MaskedArray(values, mask=[False, True])).to_pylist()
    assert [value is None for value in found] == [False, True]


def test_what_is_no_time_is_missing() -> None:
    assert to_arrow_array(np.array(["2013-01-01", "NaT"], "datetime64[D]")).null_count == 1
    assert to_arrow_array(np.array(["2013", "NaT"], "datetime64[Y]")).null_count == 1
