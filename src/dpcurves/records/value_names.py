"""Canonical names of values: one text for each value of a column, the same in every database engine.

    value_name          value, declared type -> its name, or None if the value is missing
    category_key        category, declared type -> the name or number that values are compared with
    suggest_spelling    what a user may type for a category that no value equals

Categories are selected, counted and hashed by name. DuckDB, PostgreSQL and Spark write some numbers differently, so
that the same value could have two names. This module defines the names in Python, and each engine implements the same
definition in its own SQL (`engines/duckdb.py`, and `postgres_sql.py` and `spark_sql.py` of `dpcurves_engines`).
`tests/engines/test_value_names.py` compares all of them.

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
UUID           32 hexadecimal digits in lower case,  NULL
               with hyphens after 8, 12, 16 and 20
UNDECLARED     the text of the field or object       NULL, an empty field of CSV, None, NaN, NaT, NA
=============  ====================================  =====================================================

Zero has one sign. Infinite numbers are ``inf`` and ``-inf``. A name depends on no engine, locale or collation. Names
are compared byte by byte in UTF-8. Hashes of names are computed in Python only: see `Records`.

Formal guarantees: a name is a function of one value and of the declared type of its column.

>>> value_name(7, ValueType.DOUBLE), value_name("7.50", ValueType.DECIMAL)
('7.0', '7.5')
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
from uuid import UUID

import numpy as np

from ..data import Category

TRUTH_NAMES = ("false", "true")
"""Names of the truth values 0 and 1, by which categories match them."""
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
"""A number in plain digits: no leading zeros, plus sign, spaces or exponent. A category written otherwise equals no
value of a column of whole or decimal numbers."""
_EXACT = Context(prec=200_000, Emax=10**9, Emin=-(10**9))
"""Decimal context that never rounds: PostgreSQL's numbers have up to 147,455 digits."""


class ValueType(Enum):
    """Declared type of a column, as far as the names of its values depend on it."""

    TEXT = "text"
    TRUTH = "true or false"
    WHOLE = "whole numbers"
    HALF = "numbers of 16 bits"
    SINGLE = "numbers of 32 bits"
    DOUBLE = "numbers of 64 bits"
    DECIMAL = "decimal numbers"
    UUID = "UUIDs"
    UNDECLARED = "no declared type"


_FLOATS: Mapping[ValueType, Any] = MappingProxyType({
    ValueType.HALF: np.float16, ValueType.SINGLE: np.float32, ValueType.DOUBLE: np.float64,
})  # fmt: skip
"""NumPy's type of each floating-point type: a double is rounded to it before it is named, so that 0.1 in single
precision is named 0.1."""
FLOATS = frozenset(_FLOATS)
"""Floating-point types. Python computes the names of their values from the doubles that an engine returns, so that all
engines name a value alike."""


def value_name(value: Any, declared: ValueType) -> str | None:
    """Return the text by which a value is compared with categories, or None if the value is missing.

    Args:
        value: A double if the type is one of `FLOATS`. Otherwise the text that an engine returned, or a Python value.
        declared: Declared type of the column.

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


Key = str | float
"""A name or a double with which the values of a column are compared."""


def category_key(category: Category, declared: ValueType) -> Key | None:
    """Return the name or double that values are compared with to find a category.

    A category that is text matches the value with that name; if the type is numeric, it may also be written as a plain
    number, without ``.0`` or with trailing zeros of a decimal. A category that is a number, True or False matches the
    value of the type that equals it.

    Args:
        category: The category as the user declared it.
        declared: Declared type of the column.

    Returns:
        A name, or a double; None if no value of the type equals the category.

    >>> [category_key("01", declared) for declared in (ValueType.UNDECLARED, ValueType.WHOLE)]
    ['01', None]
    >>> category_key(0.1, ValueType.SINGLE), category_key("7", ValueType.DOUBLE)
    (0.10000000149011612, 7.0)
    >>> category_key("1", ValueType.WHOLE), category_key("7.00", ValueType.DECIMAL)
    (1.0, '7')
    """
    if isinstance(category, str):
        return category if declared in (ValueType.TEXT, ValueType.UNDECLARED) else _KEYS_OF_TEXT[declared](category)
    if declared in (ValueType.TEXT, ValueType.UUID):
        return None
    return _number_key(category, declared)


def _format_plain_decimal(number: Decimal) -> str:
    """Format a decimal number without exponent and trailing zeros, as category names are compared.

    Args:
        number: The number.

    >>> _format_plain_decimal(Decimal("7.00")), _format_plain_decimal(Decimal("-0E-18"))
    ('7', '0')
    """
    if number.is_infinite():
        return "inf" if number > 0 else "-inf"
    if not number:
        return "0"
    return format(number.normalize(_EXACT), "f")


def _number_key(number: int | float | bool, declared: ValueType) -> Key | None:
    """Return the comparison key of a category that is a number: the values of a column that have it are counted there.

    Args:
        number: The category.
        declared: Declared type of the column, by which keys of values are made too.

    Returns:
        A double; the plain decimal digits, as text, of a decimal and of an integer that is not exact in doubles; None
        if no value of the type equals the number.
    """
    if declared in FLOATS:
        return _nearest_float(number, declared)
    if declared is ValueType.TRUTH:
        return float(number) if number in (0, 1) else None
    if declared is ValueType.DECIMAL:
        return _format_plain_decimal(Decimal(str(number) if isinstance(number, float) else int(number)))
    if isinstance(number, int):
        # 2**53: integers of smaller magnitude than this are exact in doubles
        return float(number) if abs(number) < 2**53 else str(int(number))
    if declared is ValueType.UNDECLARED:
        return number
    return _number_key(int(number), declared) if number.is_integer() else None


def _nearest_float(number: int | float | bool, declared: ValueType) -> float | None:
    """Return the value of a floating-point type that is nearest to a number.

    Args:
        number: The number.
        declared: One of `FLOATS`.

    Returns:
        The value as a double; None if the number is too large for the type.
    """
    with suppress(OverflowError), np.errstate(over="ignore"):
        nearest = float(_FLOATS[declared](float(number)))
        return nearest + 0.0 if isinf(nearest) <= isinf(number) else None
    return None


def _parse_truth(text: str) -> Key | None:
    """Return the comparison key of a text that spells a truth value, 0.0 or 1.0; None for other texts.

    Args:
        text: Category as text.
    """
    truths = (*TRUTH_NAMES, "0", "1")
    return float(truths.index(text.lower()) % 2) if text.lower() in truths else None


def _parse_integer(text: str) -> Key | None:
    """Return the comparison key of a text that is a plain integer; None for other texts, such as ``01`` or ``-0``.

    Args:
        text: Category as text.
    """
    is_plain = PLAIN_NUMBER.fullmatch(text) is not None and "." not in text and text != "-0"
    return _number_key(int(text), ValueType.WHOLE) if is_plain else None


def _make_float_parser(declared: ValueType) -> Callable[[str], Key | None]:
    """Return the function that finds the comparison key of a category's text in a column of this floating-point type.

    Args:
        declared: Floating-point type of the column.

    Returns:
        Function of a text that returns the nearest number of the type, if the text is its name; else None.
    """

    def parse_key(text: str) -> Key | None:
        """Return the double that a text names, in its shortest form or without ``.0``, as comparison key; None for
        other texts.

        Args:
            text: Category as text.
        """
        number = parse_number(text)
        nearest = None if number is None else _nearest_float(number, declared)
        if nearest is None:
            return None
        return nearest if text in (value_name(nearest, declared), _without_point(nearest)) else None

    return parse_key


def _without_point(number: float) -> str:
    """Return a whole number without ``.0``; an empty text for other numbers.

    Args:
        number: Any number.
    """
    return str(int(number)) if np.isfinite(number) and number.is_integer() else ""


def _parse_decimal(text: str) -> Key | None:
    """Return the comparison key of a text that is a plain decimal number: its normalised digits, ``inf`` or ``-inf``;
    None for other texts.

    Args:
        text: Category as text.
    """
    if text in ("inf", "-inf"):
        return text
    is_plain = PLAIN_NUMBER.fullmatch(text) is not None and (text[0] != "-" or bool(Decimal(text)))
    return _format_plain_decimal(Decimal(text)) if is_plain else None


def _parse_uuid(text: str) -> Key | None:
    """Return the comparison key of a text that is the standard name of a UUID; None for others, such as one in capital
    letters or braces.

    Args:
        text: Category as text.
    """
    return text if text == _format_uuid(text) else None


def _format_uuid(text: str) -> str | None:
    """Return the standard name of the UUID that a text spells in any notation, to suggest it; None for other texts.

    Args:
        text: Category as text.
    """
    with suppress(ValueError):
        return str(UUID(text.strip()))
    return None


_KEYS_OF_TEXT: Mapping[ValueType, Callable[[str], Key | None]] = MappingProxyType({
    ValueType.TRUTH: _parse_truth, ValueType.WHOLE: _parse_integer, ValueType.DECIMAL: _parse_decimal,
    ValueType.UUID: _parse_uuid,
    **{float_type: _make_float_parser(float_type) for float_type in FLOATS},
})  # fmt: skip
"""Functions that return what a category written as text is compared by, for each declared type but text; None if no
value of the type equals it."""


def parse_number(text: str) -> int | float | None:
    """Return the number that a text spells in any of Python's notations; None for NaN and for other texts.

    Args:
        text: Any text.

    >>> parse_number("01"), parse_number("2.50"), parse_number("AA")
    (1, 2.5, None)
    """
    for kind in (int, float):
        with suppress(ValueError):
            number: int | float = kind(text)
            return None if isnan(number) else number
    return None


def suggest_spelling(category: Category, declared: ValueType) -> str:
    """Return what a user may type in place of a category that no value of the type equals.

    Args:
        category: The category as the user declared it.
        declared: Declared type of the column.

    >>> suggest_spelling("01", ValueType.WHOLE), suggest_spelling("+2.50", ValueType.DOUBLE)
    ('1', '2.5')
    >>> suggest_spelling("x", ValueType.TRUTH)
    'true or false'
    >>> suggest_spelling("{00000000-0000-0000-0000-00000000ABCD}", ValueType.UUID)
    '00000000-0000-0000-0000-00000000abcd'
    """
    if declared is ValueType.TRUTH:
        return " or ".join(TRUTH_NAMES[::-1])
    if declared is ValueType.UUID:
        return _format_uuid(str(category)) or "a UUID, as in 00000000-0000-0000-0000-00000000abcd"
    number = parse_number(category) if isinstance(category, str) else category
    if number is not None and declared is ValueType.DECIMAL and isinstance(category, str):
        with suppress(ArithmeticError):
            return _format_plain_decimal(Decimal(category.strip()))
    key = None if number is None else _number_key(number, declared)
    if key is None or isinstance(key, str):
        return key or ("a whole number" if declared is ValueType.WHOLE else "a number")
    return _without_point(key) or str(value_name(key, declared))
