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
        object.__setattr__(thing, field, _whole(name, getattr(thing, field)))


def _whole(name: str, value: Any) -> int | tuple[int, ...]:
    try:
        return tuple(int(index(each)) for each in value) if isinstance(value, tuple) else int(index(value))
    except TypeError:
        raise TypeError(f"{name}: a whole number is needed, got {value!r}") from None
