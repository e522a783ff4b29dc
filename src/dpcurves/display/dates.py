"""Places on an axis of dates, written as people write them: the measuring unit that a label ends with says so."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from math import ceil, floor, isfinite

from .numerals import span, standing

UNITS = DATE, MOMENT = "date", "moment"
"""Measuring units of numbers of days, and of seconds, since the beginning of 1970."""
FIRST, LAST = date.min.toordinal(), date.max.toordinal()
BEGINNING = date(1970, 1, 1).toordinal()
PER_DAY = 86_400


def is_dated(label: str) -> bool:
    """Tell whether numbers along an axis of this label are days, or seconds, since 1970."""
    return label.endswith((f"({DATE})", f"({MOMENT})"))


def dated(value: float, label: str) -> str | None:
    """A number of days or seconds as a date, or a moment (UTC); None where it is none that a calendar has.

    >>> dated(19_000.4, "day (date)"), dated(1_700_000_000, "at (moment)"), dated(1e300, "day (date)"), dated(2, "km")
    ('2022-01-08', '2023-11-14 22:13:20', None, None)
    """
    if not is_dated(label) or not isfinite(value):
        return None
    if label.endswith(f"({DATE})"):
        day = BEGINNING + floor(value)
        return date.fromordinal(day).isoformat() if FIRST <= day <= LAST else None
    days = floor(value / PER_DAY) + BEGINNING
    if not FIRST <= days <= LAST:
        return None
    since = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days - BEGINNING, seconds=floor(value % PER_DAY))
    return since.replace(tzinfo=None).isoformat(sep=" ")


def placed(value: float, lower: float, upper: float, label: str, known_to: float = 0.0) -> str:
    """The text of a value in a cell: see `standing`; of dates the day."""
    return dated(value, label) or standing(value, lower, upper, known_to=known_to)


def reaching(lower: float, upper: float, label: str, known_to: float = 0.0) -> str:
    """An interval as text: see `span`; of dates from a day to a day, which it holds.

    >>> reaching(19_000.4, 19_003.2, "day (date)"), reaching(19_000.4, float("inf"), "day (date)")
    ('2022-01-08 to 2022-01-12', '2022-01-08 or more')
    """
    low, high = dated(lower, label), dated(ceil(upper) if isfinite(upper) else upper, label)
    if low is not None and upper == float("inf"):
        return f"{low} or more"
    if high is not None and lower == -float("inf"):
        return f"less than {high}"
    return f"{low} to {high}" if low is not None and high is not None else span(lower, upper, known_to)
