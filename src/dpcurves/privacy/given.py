"""What was given for an argument: the right thing, or one clear line, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any, TypeVar

Member = TypeVar("Member", bound=Enum)


def chosen(name: str, given: object, choices: type[Member], *, also: str = "") -> Member:
    """One of the choices, given as itself or by its word.

    Raises:
        ValueError: it is anything else; a choice that is not understood must not become another one.

    >>> from dpcurves.privacy import Neighbours
    >>> chosen("adjacency", "replace-one", Neighbours)
    <Neighbours.REPLACE_ONE: 'replace-one'>
    """
    words = {each.name.lower().replace("_", "-"): each for each in choices}
    if isinstance(given, choices):
        return given
    if not isinstance(given, str) or given not in words:
        raise ValueError(f"{name}: one of {', '.join(words)} is needed{also}, got {given!r}")
    return words[given]


def require_kind(name: str, given: object, kind: type[Any], written: str) -> None:
    """It is of this kind; `written` says what to write.

    Raises:
        TypeError: it is of another.
    """
    if not isinstance(given, kind):
        raise TypeError(f"{name}: {written} is needed, got {given!r}")


def number(name: str, given: Any) -> float:
    """One number, as a float; it may be infinite, or NaN.

    Raises:
        TypeError: it is none.
        ValueError: it has more digits before its point than a double.
    """
    if not isinstance(given, Real | Decimal):
        raise TypeError(f"{name}: a number is needed, got {given!r}")
    try:
        return float(given)
    except OverflowError:
        raise ValueError(f"{name}: a number that a double can hold is needed") from None


def chance(name: str, given: Any) -> float:
    """A number strictly between 0 and 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is another one.
    """
    found = number(name, given)
    if not 0 < found < 1:
        raise ValueError(f"{name}: a number between 0 and 1 is needed, as in 0.95, got {given}")
    return found


def share(name: str, given: Any) -> float:
    """A number from 0 to 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is another one.
    """
    found = number(name, given)
    if not 0 <= found <= 1:
        # Not what was given: who takes `p` and the values for each other has given those of records.
        raise ValueError(f"{name}: shares between 0 and 1 are needed, as in 0.25")
    return found


def several(name: str, given: Any, written: str) -> tuple[Any, ...]:
    """All of them, in their order.

    Raises:
        TypeError: it is a single thing, or text.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        raise TypeError(f"{name}: {written} is needed, got {given!r}")
    return tuple(given)
