"""Data frames: what each of their types is read as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records, open_records

GRID = Grid(0, 3, cells=3)


def opened(data: Any) -> Records:
    return open_records(data, unit=EACH_RECORD, key=b"k")


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([0.5, 2.5, np.nan]),
        pd.Series([0, 2, None], dtype="Int64"),
        pd.Series([0.5, 2.5, None], dtype="Float32"),
        pd.Series([0.5, 2.5, None], dtype="float64[pyarrow]"),
        pl.Series([0.5, 2.5, None]),
        pl.Series([0, 2, None], dtype=pl.UInt8),
        pl.Series([0, 2, None], dtype=pl.Int128),
        pl.Series(["0.5", "2.5", None]).cast(pl.Decimal(38, 10)),
        np.ma.MaskedArray([0.5, 2.5, 1.5], mask=[False, False, True]),
        (0.5, "2.5", None),
    ],
    ids=lambda series: f"{type(series).__module__} {getattr(series, 'dtype', '')}",
)
def test_numbers_are_counted(series: Any) -> None:
    with opened({"x": series}) as records:
        assert records.counts([Axis("x", GRID)]).tolist() == [1, 0, 1, 1]


TEXTS = [
    lambda: pd.Series(["a", None, "b"]),
    lambda: pd.Series(["a", None, "b"], dtype=object),
    lambda: pd.Series(["a", None, "b"], dtype="string"),
    lambda: pd.Series(["a", None, "b"], dtype="category"),
    lambda: pd.Series(["a", None, "b"], dtype=pd.CategoricalDtype(["b", 1, "a", 2.5])),
    lambda: pl.Series(["a", None, "b"]),
    lambda: pl.Series(["a", None, "b"], dtype=pl.Categorical),
    lambda: pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
]


@pytest.mark.parametrize("make", TEXTS)
def test_text_is_compared(make: Callable[[], Any]) -> None:
    with opened({"x": make()}) as records:
        assert records.counts([Categories("x", ("b",))]).tolist() == [1, 2]
        if isinstance(getattr(make(), "dtype", None), pl.Enum):  # its members are declared
            with pytest.raises(
                ValueError, match="^categories: 'c': column `x` is ENUM in the schema; write one of its "
            ):
                records.check([Categories("x", ("b", "c"))])
        else:
            assert records.counts([Categories("x", ("b", "c"))]).tolist() == [1, 0, 2]
        with pytest.raises(
            ValueError,
            match="^column: 'x' holds (text|objects of any type), a number is needed; name a column of numbers, or ",
        ):
            records.check([Axis("x", GRID)])


UNDECLARED = [
    pd.Series(["a", "b"], dtype=object),
    pd.Series([1, 0, None], dtype=object),
    pd.Series([1, 0, 1], dtype="category"),
    pd.Series(["a", "b", 1], dtype="category"),
]


def test_whether_objects_are_text_is_not_read_off_their_values() -> None:
    for series in UNDECLARED:
        with opened({"x": series}) as records:
            assert records.counts([Categories("x", (1, "a"))]).sum() == len(series)
    texts: list[Any] = [
        pd.Series(["1"]),
        pd.Series(["1"], dtype="category"),
        pl.Series(["1"], dtype=pl.Enum(["1", "a"])),
    ]
    for text in texts:
        with opened({"x": text}) as records, pytest.raises(ValueError, match="^categories: 1 is not text"):
            records.check([Categories("x", (1, "a"))])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.period_range("2013", periods=2, freq="M")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.to_timedelta([1, 2])),
        pd.Series([1j, 2j]),
        pl.Series([[1], [2]]),
        pl.Series([1, 2]).cast(pl.Time),
    ],
    ids=lambda series: str(series.dtype),
)
def test_other_types_are_refused_but_may_stand_in_a_row(series: Any) -> None:
    data = {"x": series, "u": ["a", "a"], "n": [0.5, 0.5]}
    with open_records(data, unit=Unit("u", 1), key=b"k") as records:
        assert records.counts([Axis("n", GRID)]).tolist() == [1, 0, 0, 0]
        with pytest.raises(ValueError, match="holds (neither numbers nor text|dates, times or durations), "):
            records.check([Categories("x", (1,))])


def test_a_frame_may_have_any_index() -> None:
    frame = pd.DataFrame({"x": [0.5, 1.5]}, index=[7, 7])
    with opened(frame) as records:
        assert records.counts([Axis("x", GRID)]).tolist() == [1, 1, 0, 0]


def test_a_lazy_frame_is_computed_once_for_all_that_was_checked() -> None:
    calls = 0

    def counted(frame: pl.DataFrame) -> pl.DataFrame:
        nonlocal calls
        calls += len(frame) > 0
        return frame

    lazy = pl.LazyFrame({"x": [0.5, 1.5], "y": [2.5, 2.5], "z": [0.5, 0.5]}).map_batches(counted)
    with opened(lazy) as records:
        records.check([Axis("x", GRID), Axis("y", GRID)])
        calls = 0
        for _ in range(3):
            assert records.counts([Axis("x", GRID)]).tolist() == [1, 1, 0, 0]
            assert records.counts([Axis("y", GRID)]).tolist() == [0, 0, 2, 0]
        assert calls == 1
        assert records.counts([Axis("z", GRID)]).tolist() == [2, 0, 0, 0]
        assert calls == 2


SECRET = "918273.645"


class Lazy:
    """A column that is worked out when it is asked for, and cannot be."""

    def __len__(self) -> int:
        return 3

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError(f"no number: {SECRET}")


class LazyArray:
    """A column in one piece that is worked out when it is asked for, and cannot be."""

    def __len__(self) -> int:
        return 3

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        raise RuntimeError(f"no number: {SECRET}")


@pytest.mark.parametrize("column", [Lazy(), LazyArray()])
def test_what_a_lazy_column_says_is_not_shown(column: object) -> None:
    with pytest.raises(ValueError, match=r"^data: a column cannot be read") as refusal:
        opened({"x": column})
    assert SECRET not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_no_warning_tells_of_a_number_that_no_double_holds() -> None:
    beyond = np.array([0.5, np.longdouble("1e4000"), -np.longdouble("1e4000")], dtype=np.longdouble)
    with opened({"x": beyond}) as records:  # warnings are errors here
        assert records.counts([Axis("x", GRID)]).tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize("unit", ["Y", "10s", "ps", "fs", "as", "7as"])
def test_times_of_every_unit_that_numpy_has_are_read_as_units(unit: str) -> None:
    times = np.array([0, 0, 10**9, "NaT"], dtype=f"datetime64[{unit}]")
    with open_records({"x": [0, 1, 2, 1], "who": times}, unit=Unit("who", 1), key=b"k") as records:
        assert records.counts([Axis("x", GRID)]).sum() >= 2
