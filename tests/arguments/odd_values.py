"""Odd values for arguments: of every kind, whether they are valid there or not."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import dpcurves as dp


class Colour(enum.Enum):
    RED = "a"


class TextColour(str, enum.Enum):  # noqa: UP042 - this kind shows itself by another text than it has
    RED = "a"


class Level(enum.IntEnum):
    ONE = 1


class Text(str):
    """A text that calls itself otherwise."""

    __slots__ = ()

    def __str__(self) -> str:
        return "other"


class Silent:
    """An object that fails on every operation."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


SINGLES = (None, True, False, ..., NotImplemented, object(), object, len, dp.CdfQuestion, Silent(), slice(1))
WHOLE = (0, 1, 2, -1, 7, 10**6, 2**31, 2**53 + 1, 2**62, 2**64, 10**400, -(10**400), 10**5000)
NUMBERS = (
    0.5,
    -0.0,
    1e-320,
    1e300,
    float("nan"),
    float("inf"),
    1j,
    Decimal("0.5"),
    Decimal("NaN"),
    Decimal("1e999999"),
)
FRACTIONS = (Fraction(1, 3), Fraction(10**400), "1/0", "1/3", "1e999999999", "-1e-999999999", "0e999999999")
TEXTS = ("", " ", "a", "x", "t", "1", "gone", "é", "\x00", "\ud800", "a\nb", "a" * 300, "'; --", "{}", "$_$", Text("a"))
BYTES = (b"a", bytearray(b"a"), memoryview(b"a"), np.bytes_(b"a"), np.void(b"ab"))
DATES = (
    datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.time(1), datetime.timedelta(1),
    np.datetime64("2020-01-01"), np.datetime64("NaT"), np.timedelta64(1, "D"), np.timedelta64(1, "ns"),
    pd.Timestamp("2020-01-01"), pd.Timedelta(1), pd.Interval(0, 1), pd.NaT, pd.NA,
)  # fmt: skip
SCALARS = (
    np.str_("a"), np.int64(1), np.uint64(2**63), np.bool_(True), np.float32(0.5), np.float64("nan"),
    np.longdouble("1e4000"), np.complex128(1j), np.ma.masked, pa.scalar(1), pa.scalar("a"),
    Colour.RED, TextColour.RED, Level.ONE, uuid.UUID(int=1),
)  # fmt: skip
SEVERAL: tuple[Any, ...] = (
    (), (1,), (1, 2), ("a", "b"), (None,), ((1, 2), (3, 4)), [], [1], [[1]], {}, {"a": 1}, {1, 2},
    range(2), range(3, 1), np.array(1), np.array([1, 2]), np.array([[1, 2]]), np.array(["a"]), pa.array([1]),
    pd.Series([1, 2]), pd.DataFrame({"x": [1]}), iter([1, 2]),
)  # fmt: skip
OURS = (
    dp.Grid(0, 1, cells=4), dp.Grid(0, 1, cells=2**40), dp.Grid(-5, 5, cells=3, outside=dp.Outside.APART),
    dp.Grid.geometric(1, 8, cells=3), dp.Categories("t", ("a", "b")), dp.Categories("x", (0, 1)),
    dp.Categories("gone", ("a",)), dp.PrivacyLoss.pure(1), dp.PrivacyLoss.zcdp(1),
    dp.PrivacyLoss.pure(Fraction(1, 10**9)),
    dp.ADD_REMOVE, dp.PUBLIC_MODEL, dp.EACH_RECORD, dp.Hint.PEAKED, dp.RocThresholds.FIXED, dp.Randomness.from_seed(1),
    dp.CdfQuestion("x", dp.Grid(0, 1, cells=2)), dp.BoundsQuestion("z", 1, 0.9),
)  # fmt: skip
ODD: tuple[Any, ...] = (
    *SINGLES, *WHOLE, *NUMBERS, *FRACTIONS, *TEXTS, *BYTES, *DATES, *SCALARS, *SEVERAL, *OURS
)  # fmt: skip
