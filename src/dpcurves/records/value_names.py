"""Names of values: the text by which a value of a column is selected, counted, compared and hashed, on every engine.

Each engine renders this specification in its own SQL (`engines/duckdb.py`, and `postgres_sql.py` and `spark_sql.py` of
`dpcurves_engines`); all of them are held against `value_name` by `tests/engines/test_value_names.py`.

=============  ====================================  =====================================================
type           name                                  missing
=============  ====================================  =====================================================
TEXT           the text itself                       NULL; text that is too long
TRUTH          ``true`` or ``false``                 NULL
WHOLE          its decimal digits                    NULL
HALF, SINGLE,  the shortest text that reads back as  NULL and NaN
DOUBLE         the same value of the type, as
               Python writes it: ``7.0``, ``1e+22``
DECIMAL        its digits, without exponent and      NULL and NaN
               without trailing zeros: ``7``, ``.5``
               is ``0.5``
UNDECLARED     the text of the field or object       NULL, an empty field of CSV, None, NaN, NaT, NA
=============  ====================================  =====================================================

Zero has one sign. Infinite numbers are ``inf`` and ``-inf``. No name depends on an engine, a locale or a collation, and
names are compared byte by byte in UTF-8. A hash of a name is computed from it in Python alone: see `Records`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Context, Decimal
from enum import Enum
from math import isinf, isnan
from types import MappingProxyType
from typing import Any

import numpy as np

from ..data import Category

EXACT_IN_DOUBLES = 2**53
"""Below this size each whole number is a double of its own."""
TRUTHS = ("false", "true")
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
"""Digits without superfluous zeros in front, plus signs, spaces or exponents."""
_EXACT = Context(prec=200_000, Emax=10**9, Emin=-(10**9))
"""PostgreSQL's numbers have up to 147,455 digits."""


class ValueType(Enum):
    """The type that a schema declares for the values of a column, as far as their names depend on it."""

    TEXT = "text"
    TRUTH = "true or false"
    WHOLE = "whole numbers"
    HALF = "numbers of 16 bits"
    SINGLE = "numbers of 32 bits"
    DOUBLE = "numbers of 64 bits"
    DECIMAL = "decimal numbers"
    UNDECLARED = "no declared type"


_FLOATS: Mapping[ValueType, Any] = MappingProxyType({
    ValueType.HALF: np.float16, ValueType.SINGLE: np.float32, ValueType.DOUBLE: np.float64,
})  # fmt: skip
FLOATS = frozenset(_FLOATS)
"""Types whose names are computed in Python from the double that an engine reads."""


def value_name(value: Any, declared: ValueType) -> str | None:
    """Return the name of a value; None: it is missing.

    Args:
        value: A double for `FLOATS`, else its text as an engine gives it, or Python's own value of the type.
        declared: The type of its column.

    >>> value_name(0.10000000149011612, ValueType.SINGLE), value_name(-0.0, ValueType.DOUBLE), value_name("7.00",
    ... ValueType.DECIMAL), value_name(True, ValueType.TRUTH), value_name(float("nan"), ValueType.DOUBLE)
    ('0.1', '0.0', '7', 'true', None)
    """
    if value is None:
        return None
    if declared in FLOATS:
        with np.errstate(over="ignore"):
            number = _FLOATS[declared](value)
        return None if np.isnan(number) else str(number + 0)
    if declared is ValueType.DECIMAL:
        number = Decimal(str(value))
        return None if number.is_nan() else _format_plain_decimal(number)
    if declared is ValueType.TRUTH:
        return str(value).lower()
    return str(value)


def _format_plain_decimal(number: Decimal) -> str:
    """Digits of a decimal number without an exponent and without trailing zeros.

    >>> _format_plain_decimal(Decimal("7.00")), _format_plain_decimal(Decimal("-0E-18")), _format_plain_decimal(Decimal("1E+3"))
    ('7', '0', '1000')
    """
    if number.is_infinite():
        return "inf" if number > 0 else "-inf"
    if not number:
        return "0"
    return format(number.normalize(_EXACT), "f")


Key = str | float
"""A name, or a double, that the value of a record is compared with."""


def category_key(category: Category, declared: ValueType) -> Key | None:
    """Return what values of a column are compared with to find a category; None: no value of the type equals it.

    A category that is text stands for the value with that name; where the type is one of numbers, it may also be
    written as a plain number, without ``.0`` or with zeros behind the point of a decimal. A category that is a number,
    or True or False, stands for the value of the type that is this number.

    >>> category_key("01", ValueType.UNDECLARED), category_key("1", ValueType.WHOLE), category_key("01", ValueType.WHOLE)
    ('01', 1.0, None)
    >>> category_key(0.1, ValueType.SINGLE), category_key("7", ValueType.DOUBLE), category_key("7.00", ValueType.DECIMAL)
    (0.10000000149011612, 7.0, '7')
    """
    if isinstance(category, str):
        return category if declared in (ValueType.TEXT, ValueType.UNDECLARED) else _KEYS_OF_TEXT[declared](category)
    if declared is ValueType.TEXT:
        return None
    return _number_key(category, declared)


def _number_key(number: int | float | bool, declared: ValueType) -> Key | None:
    if declared in FLOATS:
        return _nearest_float(number, declared)
    if declared is ValueType.TRUTH:
        return float(number) if number in (0, 1) else None
    if declared is ValueType.DECIMAL:
        return _format_plain_decimal(Decimal(str(number) if isinstance(number, float) else int(number)))
    if isinstance(number, int):
        return float(number) if abs(number) < EXACT_IN_DOUBLES else str(int(number))
    if declared is ValueType.UNDECLARED:
        return number
    return _number_key(int(number), declared) if number.is_integer() else None


def _nearest_float(number: int | float | bool, declared: ValueType) -> float | None:
    """The value of the type that is nearest to a number; None: it has no value so large."""
    with suppress(OverflowError), np.errstate(over="ignore"):
        nearest = float(_FLOATS[declared](float(number)))
        return nearest + 0.0 if isinf(nearest) <= isinf(number) else None
    return None


def _parse_truth(text: str) -> Key | None:
    truths = (*TRUTHS, "0", "1")
    return float(truths.index(text.lower()) % 2) if text.lower() in truths else None


def _parse_integer(text: str) -> Key | None:
    is_plain = PLAIN_NUMBER.fullmatch(text) is not None and "." not in text and text != "-0"
    return _number_key(int(text), ValueType.WHOLE) if is_plain else None


def _make_float_parser(declared: ValueType) -> Callable[[str], Key | None]:
    def parse_key(text: str) -> Key | None:
        number = parse_number(text)
        known = None if number is None else _nearest_float(number, declared)
        if known is None:
            return None
        return known if text in (value_name(known, declared), _without_point(known)) else None

    return parse_key


def _without_point(number: float) -> str:
    return str(int(number)) if np.isfinite(number) and number.is_integer() else ""


def _parse_decimal(text: str) -> Key | None:
    if text in ("inf", "-inf"):
        return text
    is_plain = PLAIN_NUMBER.fullmatch(text) is not None and (text[0] != "-" or bool(Decimal(text)))
    return _format_plain_decimal(Decimal(text)) if is_plain else None


_KEYS_OF_TEXT: Mapping[ValueType, Callable[[str], Key | None]] = MappingProxyType({
    ValueType.TRUTH: _parse_truth, ValueType.WHOLE: _parse_integer, ValueType.DECIMAL: _parse_decimal,
    **{each: _make_float_parser(each) for each in FLOATS},
})  # fmt: skip


def parse_number(text: str) -> int | float | None:
    """The number that a text spells in any way; None: it spells none, or NaN.

    >>> parse_number("01"), parse_number("2.50"), parse_number("AA")
    (1, 2.5, None)
    """
    for kind in (int, float):
        with suppress(ValueError):
            number: int | float = kind(text)
            return None if isnan(number) else number
    return None


def suggest_spelling(category: Category, declared: ValueType) -> str:
    """Say what to write instead of a category that no value of the type equals.

    >>> suggest_spelling("01", ValueType.WHOLE), suggest_spelling("+2.50", ValueType.DOUBLE), suggest_spelling("x", ValueType.TRUTH)
    ('1', '2.5', 'true or false')
    """
    if declared is ValueType.TRUTH:
        return " or ".join(TRUTHS[::-1])
    number = parse_number(category) if isinstance(category, str) else category
    if number is not None and declared is ValueType.DECIMAL and isinstance(category, str):
        with suppress(ArithmeticError):
            return _format_plain_decimal(Decimal(category.strip()))
    key = None if number is None else _number_key(number, declared)
    if key is None or isinstance(key, str):
        return key or ("a whole number" if declared is ValueType.WHOLE else "a number")
    return _without_point(key) or str(value_name(key, declared))
