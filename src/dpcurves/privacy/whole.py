"""Whole numbers that cannot overflow, where noise is computed from them."""

from __future__ import annotations

from operator import index
from typing import Any


def make_whole(thing: object, **names: str) -> None:
    """Put Python's integers in place of NumPy's, which overflow in silence, in fields of a frozen dataclass.

    Args:
        thing: What has the fields, which hold a whole number or a tuple of such.
        names: What each field is called where it is written wrong.

    Raises:
        TypeError: a field holds something else.
    """
    for field, name in names.items():
        value = getattr(thing, field)
        several = isinstance(value, tuple)
        object.__setattr__(thing, field, tuple(whole(name, each) for each in value) if several else whole(name, value))


def whole(name: str, value: Any) -> int:
    """One whole number, as Python's integer.

    Raises:
        TypeError: it is none.
    """
    try:
        return int(index(value))
    except TypeError:
        raise TypeError(f"{name}: a whole number is needed, got {value!r}") from None
