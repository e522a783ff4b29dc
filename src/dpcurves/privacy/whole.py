"""Whole numbers that cannot overflow, where noise is computed from them."""

from __future__ import annotations

from operator import index
from typing import Any

from .given import several, shown

MOST_BITS = 256


def make_whole(thing: object, **names: str) -> None:
    """Put Python's integers in place of NumPy's, which overflow in silence, in fields of a frozen dataclass.

    Args:
        thing: What has the fields, which hold a whole number.
        names: What each field is called where it is written wrong.

    Raises:
        TypeError: a field holds something else.
    """
    for field, name in names.items():
        object.__setattr__(thing, field, whole(name, getattr(thing, field)))


def make_each_whole(thing: object, **names: str) -> None:
    """Do as `make_whole`, with fields that hold a tuple of whole numbers.

    Raises:
        TypeError: a field holds something else.
    """
    for field, name in names.items():
        given = several(name, getattr(thing, field), "a tuple of whole numbers")
        object.__setattr__(thing, field, tuple(whole(name, each) for each in given))


def whole(name: str, value: Any) -> int:
    """One whole number, as Python's integer.

    Raises:
        TypeError: it is none.
        ValueError: it has more than 256 bits: it would not be shown, nor worked with in doubles.
    """
    try:
        found = int(index(value))
    except TypeError:
        raise TypeError(f"{name}: a whole number is needed, got {shown(value)}") from None
    if found.bit_length() > MOST_BITS:
        raise ValueError(f"{name}: a whole number of at most {MOST_BITS} bits is needed, got {shown(value)}")
    return found
