"""Moments and spans of event time, in whole microseconds since 1970 in UTC. Public ones are read here."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from re import fullmatch
from typing import Any

from dpcurves.arguments import Refused, WrongKind, exact, shown

SECOND = 1_000_000
LARGEST = 2**60
"""No moment and no span is farther than this: about 36,000 years."""
_UNITS = {"ms": 1000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND, "": SECOND}
_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 31, tzinfo=UTC)


def span(name: str, given: Any) -> int:
    """A length of time: a `timedelta`, a text as ``5m`` (ms, s, m, h, d), or a number of seconds.

    Raises:
        ValueError: it is none, or not of whole microseconds.

    >>> span("every", "5m") == span("every", 300) == span("every", timedelta(minutes=5)) == 300_000_000
    True
    """
    if isinstance(given, timedelta):
        return given // timedelta(microseconds=1)
    parts = fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d|)\s*", given) if isinstance(given, str) else None
    if parts is None and isinstance(given, str):
        raise Refused(name, f"a length of time as 30s, 5m, 1h or 1d is needed, got {shown(given)}")
    number, unit = (parts[1], _UNITS[parts[2]]) if parts else (given, SECOND)
    return _whole(name, _signed(name, number) * unit)


def moment(name: str, given: Any) -> int:
    """A point in time: a `datetime` or a text of ISO 8601 (UTC where none is said), or seconds since 1970.

    Raises:
        ValueError: it is none.
        TypeError: it is of another kind.

    >>> moment("start", "1970-01-01T00:01") == moment("start", 60) == 60_000_000
    True
    """
    if isinstance(given, str):
        given = _read(given)
        if given is None:
            raise Refused(name, "a time of ISO 8601, as 2026-03-01T08:00, or seconds since 1970 are needed")
    if isinstance(given, datetime):
        return since_1970(given)
    if isinstance(given, date):
        return since_1970(datetime(given.year, given.month, given.day))
    if isinstance(given, bool) or not isinstance(given, int | float | Fraction):
        raise WrongKind(name, f"a datetime, a text of ISO 8601 or seconds since 1970 are needed, got {shown(given)}")
    return _whole(name, _signed(name, given) * SECOND)


def since_1970(given: datetime) -> int:
    """Whole microseconds; a time without a zone is one of UTC."""
    return ((given if given.tzinfo else given.replace(tzinfo=UTC)) - _ZERO) // timedelta(microseconds=1)


def written(moment: int) -> str:
    """ISO 8601 in UTC; beyond the year 9999, and before the year 1, in seconds.

    >>> written(60_000_000)
    '1970-01-01T00:01:00+00:00'
    """
    if not -since_1970(_LAST) // 2 < moment < since_1970(_LAST):
        return f"{moment / SECOND:.6f}"
    return (_ZERO + timedelta(microseconds=moment)).isoformat()


def _read(text: str) -> datetime | Fraction | None:
    if fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,6})?", text.strip()):
        return Fraction(text.strip())
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _signed(name: str, given: Any) -> Fraction:
    """A number as a fraction, a float as the decimal that it prints."""
    if given in (0, "0"):
        return Fraction(0)
    is_below = isinstance(given, int | float | Fraction) and given < 0
    return -exact(name, -given) if is_below else exact(name, given)


def _whole(name: str, microseconds: Fraction) -> int:
    if microseconds.denominator != 1 or abs(microseconds) > LARGEST:
        raise Refused(name, "whole microseconds are needed, of fewer than 36,000 years")
    return int(microseconds)
