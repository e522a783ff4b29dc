"""Time steps of a stream in event time, and which fields of a tuple are read.

A step closes when the clock passes its end plus the grace period, which is its watermark. Tuples that arrive behind it
are late data, and are counted as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import isfinite
from re import fullmatch
from time import time_ns
from typing import Any, Protocol

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    describe_value,
    parse_positive_fraction,
    require_type,
)
from dpcurves.data.axis import Axis, Categories
from dpcurves.privacy import EACH_RECORD, AddRemove, Unit

SECOND = 1_000_000
LARGEST = 2**60
"""No moment and no span is farther than this: about 36,000 years."""
_UNITS = {"ms": 1000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND, "": SECOND}
_ZERO = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 31, tzinfo=UTC)


def parse_span(name: str, given: Any) -> int:
    """A length of time: a `timedelta`, a text as ``5m`` (ms, s, m, h, d), or a number of seconds.

    Raises:
        ValueError: it is none, or not of whole microseconds.

    >>> parse_span("every", "5m") == parse_span("every", 300) == parse_span("every", timedelta(minutes=5)) == 300_000_000
    True
    """
    if isinstance(given, timedelta):
        return given // timedelta(microseconds=1)
    parts = fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d|)\s*", given) if isinstance(given, str) else None
    if parts is None and isinstance(given, str):
        raise InvalidArgument(name, f"a length of time as 30s, 5m, 1h or 1d is needed, got {describe_value(given)}")
    number, unit = (parts[1], _UNITS[parts[2]]) if parts else (given, SECOND)
    return _require_whole(name, _parse_number(name, number) * unit)


def parse_timestamp(name: str, given: Any) -> int:
    """A point in time: a `datetime` or a text of ISO 8601 (UTC where none is said), or seconds since 1970.

    Raises:
        ValueError: it is none.
        TypeError: it is of another kind.

    >>> parse_timestamp("start", "1970-01-01T00:01") == parse_timestamp("start", 60) == 60_000_000
    True
    """
    if isinstance(given, str):
        given = _parse_time(given)
        if given is None:
            raise InvalidArgument(name, "a time of ISO 8601, as 2026-03-01T08:00, or seconds since 1970 are needed")
    if isinstance(given, datetime):
        return to_microseconds(given)
    if isinstance(given, date):
        return to_microseconds(datetime(given.year, given.month, given.day))
    if isinstance(given, bool) or not isinstance(given, int | float | Fraction):
        raise WrongArgumentType(
            name, f"a datetime, a text of ISO 8601 or seconds since 1970 are needed, got {describe_value(given)}"
        )
    return _require_whole(name, _parse_number(name, given) * SECOND)


def to_microseconds(given: datetime) -> int:
    """Whole microseconds; a time without a zone is one of UTC."""
    return ((given if given.tzinfo else given.replace(tzinfo=UTC)) - _ZERO) // timedelta(microseconds=1)


def format_timestamp(timestamp: int) -> str:
    """ISO 8601 in UTC; beyond the year 9999, and before the year 1, in seconds.

    >>> format_timestamp(60_000_000)
    '1970-01-01T00:01:00+00:00'
    """
    if not -to_microseconds(_LAST) // 2 < timestamp < to_microseconds(_LAST):
        return f"{timestamp / SECOND:.6f}"
    return (_ZERO + timedelta(microseconds=timestamp)).isoformat()


def _parse_time(text: str) -> datetime | Fraction | None:
    if fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,6})?", text.strip()):
        return Fraction(text.strip())
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _parse_number(name: str, given: Any) -> Fraction:
    """A number as a fraction, a float as the decimal that it prints."""
    if given in (0, "0"):
        return Fraction(0)
    is_below = isinstance(given, int | float | Fraction) and given < 0
    return -parse_positive_fraction(name, -given) if is_below else parse_positive_fraction(name, given)


def _require_whole(name: str, microseconds: Fraction) -> int:
    if microseconds.denominator != 1 or abs(microseconds) > LARGEST:
        raise InvalidArgument(name, "whole microseconds are needed, of fewer than 36,000 years")
    return int(microseconds)


class Clock(Protocol):
    """Something that says what time it is. It decides when windows close, so it must not depend on tuples."""

    def now(self) -> int:
        """Microseconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock of this machine."""

    def now(self) -> int:
        """Microseconds since 1970."""
        return time_ns() // 1000


# The count that a tuple belongs to: its state among the declared ones. SECRET values come as arguments.
LARGEST_MOMENT = 2**60


class CellFinder:
    """Finds the place of a tuple among the declared cells.

    Args:
        axes: The states.
    """

    __slots__ = ("_axes", "_numbers", "_texts")

    def __init__(self, axes: Sequence[Axis | Categories]) -> None:
        self._axes = tuple(axes)
        self._texts = [_slots_by_text(axis) for axis in self._axes]
        self._numbers = [_slots_by_number(axis) for axis in self._axes]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are read."""
        return tuple(str(axis.column) for axis in self._axes)

    def find_cell(self, given: Mapping[str, Any]) -> int | None:
        """The place of a tuple; None: it is in no declared cell."""
        place = 0
        for axis, texts, numbers in zip(self._axes, self._texts, self._numbers, strict=True):
            slot = _find_slot(axis, texts, numbers, given.get(str(axis.column)))
            if slot is None:
                return None
            place = place * axis.slots + slot
        return place


def read_timestamp(value: Any) -> int | None:
    """The moment that a field says; None: it says none. Never raises."""
    number = _as_number(value)
    try:
        found = parse_timestamp("time", value) if number is None else round(number * SECOND)
    except (ValueError, TypeError, OverflowError, ArithmeticError, AttributeError):
        return None
    return found if abs(found) <= LARGEST_MOMENT else None


def _find_slot(
    axis: Axis | Categories, texts: Mapping[str, int], numbers: Mapping[float, int], value: Any
) -> int | None:
    named = next((texts[name] for name in _state_texts(value) if name in texts), None)
    if named is not None:
        return named
    number = _as_number(value)
    if number is None:
        return None
    if isinstance(axis, Categories):
        return numbers.get(number)
    slot = int(axis.grid.cell_of(np.array([number]))[0])
    return slot if slot < axis.slots else None


def _state_texts(value: Any) -> tuple[str, ...]:
    """Texts that a state may be declared as to stand for a value: of a number, also without ``.0``."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bool | np.bool_):
        return (str(value).lower(), str(int(value)))
    if isinstance(value, int | np.integer):
        return (str(value),)
    number = _as_number(value)
    return () if number is None else (str(number), *([str(int(number))] if number.is_integer() else []))


def _as_number(value: Any) -> float | None:
    if isinstance(value, str | int | float | np.integer | np.floating):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if isfinite(number) else None
    return None


def _slots_by_text(axis: Axis | Categories) -> dict[str, int]:
    values = axis.values if isinstance(axis, Categories) else ()
    return {value: slot for slot, value in enumerate(values) if isinstance(value, str)}


def _slots_by_number(axis: Axis | Categories) -> dict[float, int]:
    values = axis.values if isinstance(axis, Categories) else ()
    return {float(value): slot for slot, value in enumerate(values) if not isinstance(value, str)}


@dataclass(frozen=True, slots=True, init=False)
class Schedule:
    """Steps of event time: step k ends at ``start + k * every``, and closes `grace` later, whether or not tuples came.

    Attributes:
        start: When step 1 begins, in microseconds since 1970.
        every: How long a step is, in microseconds.
        end: When the last step ends; None: never.
        grace: How long a step waits for tuples that come late, in microseconds.

    Raises:
        ValueError: the step has no length, or the end is no whole number of steps after the start.

    >>> Schedule("2026-03-01", "5m", end="2026-03-02").ticks
    288
    """

    start: int
    every: int
    end: int | None
    grace: int

    def __init__(self, start: Any, every: Any, end: Any = None, grace: Any = 0) -> None:
        object.__setattr__(self, "start", parse_timestamp("start", start))
        object.__setattr__(self, "every", parse_span("every", every))
        object.__setattr__(self, "end", None if end is None else parse_timestamp("end", end))
        object.__setattr__(self, "grace", parse_span("grace", grace))
        if self.every <= 0:
            raise InvalidArgument("every", "a step needs a length above 0")
        if self.grace < 0:
            raise InvalidArgument("grace", "a wait of at least 0 is needed")
        if self.end is not None and (self.end <= self.start or (self.end - self.start) % self.every):
            raise InvalidArgument("end", "a whole number of steps after start is needed")

    @property
    def ticks(self) -> int | None:
        """The number of steps; None: no end is known."""
        return None if self.end is None else (self.end - self.start) // self.every

    def start_time(self, tick: int) -> int:
        """When a step begins."""
        return self.start + (tick - 1) * self.every

    def closing_time(self, tick: int) -> int:
        """When a step closes: from then on nothing is folded in."""
        return self.start + tick * self.every + self.grace

    def tick_at(self, timestamp: int) -> int | None:
        """The step of a moment; None before the first one and after the last one."""
        tick = (timestamp - self.start) // self.every + 1
        return tick if tick >= 1 and (self.ticks is None or tick <= self.ticks) else None

    def last_closed_tick(self, timestamp: int) -> int:
        """The last step that has closed by this moment; 0: none has."""
        last = max(0, (timestamp - self.start - self.grace) // self.every)
        return last if self.ticks is None else min(last, self.ticks)

    @property
    def description(self) -> str:
        """Start, end and length of the steps, in words."""
        end = "" if self.end is None else f" to {format_timestamp(self.end)}"
        return f"{format_timestamp(self.start)}{end} every {self.every / 1e6:g} s"

    def __str__(self) -> str:
        return f"{self.description}, closed {self.grace / 1e6:g} s later"


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields of a tuple that hold its time and its unit. (Fields of its state are named by the question.)

    Formal guarantees: without `user`, neighbouring streams differ by one tuple. With it they differ by all tuples of
    one user in one step, of which at most `tuples_per_user` are used. The step of a tuple is the one that it counts in:
    that of its time, or, if it is late, outside of the steps, or has no time that can be read, that of its arrival.
    What a user does in w steps is protected w times less, and a tuple that moves to another state or step is one that
    goes and one that comes.

    Attributes:
        time: When: ISO 8601, in UTC where it does not say, or seconds since 1970.
        user: Whose tuple it is; None: each tuple is protected on its own. Tuples without a user are one user's.
        tuples_per_user: How many tuples of one user in one step are used.

    Raises:
        ValueError: one of `user` and `tuples_per_user` is given alone, or fewer than 1 tuple is used.
    """

    time: str = "time"
    user: str | None = None
    tuples_per_user: int | None = None

    def __post_init__(self) -> None:
        require_type("time", self.time, str, "the name of a field")
        if (self.user is None) != (self.tuples_per_user is None):
            raise InvalidArgument("tuples_per_user", "give it together with user, or neither")
        if self.user is not None:
            require_type("user", self.user, str, "the name of a field")
            convert_to_integers(self, tuples_per_user="tuples_per_user")
        _ = self.adjacency

    @property
    def adjacency(self) -> AddRemove:
        """The neighbouring relation of streams."""
        if self.user is None or self.tuples_per_user is None:
            return AddRemove(EACH_RECORD)
        if self.tuples_per_user < 1:
            raise InvalidArgument("tuples_per_user", f"at least 1 tuple of a user is used, got {self.tuples_per_user}")
        return AddRemove(Unit(f"{self.user} in one step", self.tuples_per_user))
