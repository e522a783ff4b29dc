"""Event-time schedule of a stream: time steps, watermarks, parsing of timestamps, and the state of a tuple.

A tuple (row) has a timestamp, which puts it into a time step of fixed length. A step closes when the clock passes its
end plus a grace period; that moment is its watermark. A tuple that arrives after the watermark of its step is late
data: it is not counted in the step, but in the number of late tuples. All times are whole microseconds since 1970 in
UTC.

    Schedule      start, length, end and grace period of the steps
    Fields        which fields of a tuple hold the timestamp and the user, and how many tuples of a user are used
    CellFinder    finds the declared state (category or cell of a grid) of a tuple

The schedule and the clock are public and depend on no tuple, so the moment at which a step closes reveals nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import isfinite
from re import fullmatch
from time import time_ns
from typing import Any, Protocol, Self

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    describe_value,
    parse_positive_fraction,
    require_type,
)
from dpcurves.data.axis import Axis, Categories, is_expression
from dpcurves.expressions import FieldExpression, ValueType
from dpcurves.privacy import EACH_RECORD, AddRemove, Unit
from dpcurves.records.monotone import find_chain, invert_grid

SECOND_MICROSECONDS = 1_000_000
"""Microseconds in a second."""
_SPAN_UNITS = {
    "ms": 1000,
    "s": SECOND_MICROSECONDS,
    "m": 60 * SECOND_MICROSECONDS,
    "h": 3600 * SECOND_MICROSECONDS,
    "d": 86_400 * SECOND_MICROSECONDS,
    "": SECOND_MICROSECONDS,
}
"""Microseconds in each unit of a span such as 10m; a number without a unit is in seconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Timestamps are microseconds since this moment, the epoch of Unix."""
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
"""The latest moment that Python's `datetime` can show; later timestamps are shown as numbers."""


def parse_span(name: str, value: Any) -> int:
    """Parse a length of time, and return it in microseconds.

    Args:
        name: Name of the argument, for the error.
        value: A `timedelta`; a text such as ``5m`` with one of the units ms, s, m, h and d; or a number of seconds,
            also as a text.

    Raises:
        ValueError: the length is invalid, or is not a whole number of microseconds.

    >>> parse_span("every", "5m"), parse_span("every", 300), parse_span("every", timedelta(minutes=5))
    (300000000, 300000000, 300000000)
    """
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    parts = fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d|)\s*", value) if isinstance(value, str) else None
    if parts is None and isinstance(value, str):
        raise InvalidArgument(name, f"must be a length of time such as 30s, 5m, 1h or 1d, got {describe_value(value)}")
    number, unit = (parts[1], _SPAN_UNITS[parts[2]]) if parts else (value, SECOND_MICROSECONDS)
    return _require_whole(name, _parse_number(name, number) * unit)


def parse_timestamp(name: str, value: Any) -> int:
    """Parse a timestamp, and return it in whole microseconds since 1970 (UTC).

    Args:
        name: Name of the argument, for the error.
        value: A `datetime` or a `date`; an ISO 8601 text; or seconds since 1970, also as a text. A time without a zone
            is in UTC.

    Raises:
        ValueError: the text is not a timestamp.
        TypeError: the value has another type.

    >>> parse_timestamp("start", "1970-01-01T00:01") == parse_timestamp("start", 60) == 60_000_000
    True
    """
    if isinstance(value, str):
        value = _parse_time(value)
        if value is None:
            raise InvalidArgument(name, "must be ISO 8601, such as 2026-03-01T08:00, or seconds since 1970")
    if isinstance(value, datetime):
        return to_microseconds(value)
    if isinstance(value, date):
        return to_microseconds(datetime(value.year, value.month, value.day))
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise WrongArgumentType(
            name, f"must be a datetime, ISO 8601 text or seconds since 1970, got {describe_value(value)}"
        )
    return _require_whole(name, _parse_number(name, value) * SECOND_MICROSECONDS)


def to_microseconds(time: datetime) -> int:
    """Return whole microseconds since 1970; a time without a zone is in UTC.

    Args:
        time: Date and time.
    """
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def format_timestamp(timestamp: int) -> str:
    """Format a timestamp as ISO 8601 in UTC; beyond the year 9999 and far before 1970, in seconds.

    Args:
        timestamp: Microseconds since 1970 (UTC).

    >>> format_timestamp(60_000_000)
    '1970-01-01T00:01:00+00:00'
    """
    if not -to_microseconds(_LATEST) // 2 < timestamp < to_microseconds(_LATEST):
        return f"{timestamp / SECOND_MICROSECONDS:.6f}"
    return (_EPOCH + timedelta(microseconds=timestamp)).isoformat()


def _parse_time(text: str) -> datetime | Fraction | None:
    """Return a text as seconds since 1970 or as a time; None if it is neither.

    Args:
        text: ISO 8601 text, or a number of seconds.
    """
    if fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,6})?", text.strip()):
        return Fraction(text.strip())
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _parse_number(name: str, value: Any) -> Fraction:
    """Return a number as a fraction, a float as the decimal that it prints as.

    Args:
        name: Name of the argument, for the message of an error.
        value: A number, or a text that spells one.
    """
    if value in (0, "0"):
        return Fraction(0)
    is_below = isinstance(value, int | float | Fraction) and value < 0
    return -parse_positive_fraction(name, -value) if is_below else parse_positive_fraction(name, value)


def _require_whole(name: str, microseconds: Fraction) -> int:
    """Return a number of microseconds as an integer, if it is whole and not too large.

    Args:
        name: Name of the argument, for the message.
        microseconds: The number.

    Raises:
        InvalidArgument: the number is a fraction, or more than about 36,500 years.
    """
    # 2**60 microseconds, about 36,500 years, is the largest timestamp and span
    if microseconds.denominator != 1 or abs(microseconds) > 2**60:
        raise InvalidArgument(name, "must be whole microseconds, and less than about 36,500 years, such as 5m")
    return int(microseconds)


class Clock(Protocol):
    """Interface of clocks. A clock decides when windows close, so it must not depend on tuples."""

    def now(self) -> int:
        """Return the present time in microseconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock of this machine."""

    def now(self) -> int:
        """Return the present time of this machine in microseconds since 1970."""
        return time_ns() // 1000


# The cell of a tuple among the declared states. Arguments are SECRET values.


class CellFinder:
    """Finds the cell of a tuple among the declared states."""

    __slots__ = ("_columns", "_filter", "_numbers", "_texts")

    def __init__(self, axes: Sequence[Axis | Categories]) -> None:
        """Prepare to find the declared state (cell) of each tuple of a stream.

        Args:
            axes: The states, and the filter of the tuples.

        Raises:
            ValueError: the filter, or an expression in the place of a field, is invalid.
        """
        self._columns = [StateColumn.from_axis(axis) for axis in axes]
        self._texts = [_slots_by_text(axis) for axis in axes]
        self._numbers = [_slots_by_number(axis) for axis in axes]
        where = find_stream_filter(axes)
        self._filter = FieldExpression(where, ValueType.TRUTH, "where") if where else None

    def passes_filter(self, fields: Mapping[str, Any]) -> bool:
        """Return True if a tuple meets the filter, or without a filter. It never raises.

        Args:
            fields: Fields of the tuple by name; a missing or unreadable field counts as NULL.
        """
        return self._filter is None or self._filter.evaluate(fields) == 1

    def find_cell(self, fields: Mapping[str, Any]) -> int | None:
        """Return the index of a tuple's cell; None if the tuple is in no declared state.

        Args:
            fields: Fields of the tuple (one record of the stream) by name.
        """
        cell = 0
        for column, texts, numbers in zip(self._columns, self._texts, self._numbers, strict=True):
            slot = _find_slot(column.axis, texts, numbers, column.read_value(fields))
            if slot is None:
                return None
            cell = cell * column.axis.slots + slot
        return cell


@dataclass(frozen=True, slots=True)
class StateColumn:
    """The field of a state, or the expression that derives it.

    Attributes:
        axis: The states; of a logarithm or an exponential, on the grid of its argument.
        field: Name of the field; a tuple that has this field is counted by its value.
        expression: Expression for tuples without this field; None if only the field is read.
    """

    axis: Axis | Categories
    field: str
    expression: FieldExpression | None

    @classmethod
    def from_axis(cls, axis: Axis | Categories) -> Self:
        """Return the column whose values decide the state of a tuple, parsed as an expression if its text is one.

        Args:
            axis: Declared states, with the text of their column or expression.

        Raises:
            InvalidArgument: an expression with brackets, comparisons or ``+ * /`` is invalid; text without these is the
                name of a column.
        """
        column = str(axis.column)
        if not is_expression(axis):
            return cls(axis, column, None)
        axis, text = invert_axis(axis)
        kind = ValueType.NUMBER if isinstance(axis, Axis) else None
        argument = "column" if isinstance(axis, Axis) else "state"
        try:
            return cls(axis, column, FieldExpression(text, kind, argument))
        except InvalidArgument as error:
            if re.search("[()+*/<>=]", column) and column.isprintable():  # no expression has other characters
                quoted = '"{}"'.format(column.replace('"', '""'))
                raise InvalidArgument(argument, f"{error.rule}; a field of this name is written {quoted}") from error
        return cls(axis, column, None)  # a name, as in ap:2

    def read_value(self, fields: Mapping[str, Any]) -> Any:
        """Return the value of a tuple: its field of this name, or else the value of the expression; None if both are
        missing.

        Args:
            fields: Fields of the tuple (one record of the stream) by name.
        """
        if self.expression is None or self.field in fields:
            return fields.get(self.field)
        return self.expression.evaluate(fields)


def invert_axis(axis: Axis | Categories) -> tuple[Axis | Categories, str]:
    """Return an axis on ``ln(x)`` or ``exp(x)`` as an axis on x itself, on the inverse grid, and the text of x.

    Any other axis is returned with the text of its column.

    Args:
        axis: The axis.
    """
    text = str(axis.column)
    if isinstance(axis, Axis) and (chain := find_chain(text)) is not None:
        return replace(axis, grid=invert_grid(chain.steps, axis.grid)), chain.inner
    return axis, text


def find_stream_filter(axes: Sequence[Axis | Categories]) -> str:
    """Return the condition that selects the tuples of a stream, as all axes state it; empty: all tuples count.

    Args:
        axes: Declared states, each with its filter.

    Raises:
        ValueError: axes have different filters.
    """
    filters = {axis.where for axis in axes if axis.where}
    if len(filters) > 1:
        raise InvalidArgument("where", "the states have different filters; give the same filter to all of them")
    return next(iter(filters), "")


def read_timestamp(value: Any) -> int | None:
    """Return the timestamp of a tuple's field in microseconds since 1970; None if it is unreadable.

    It never raises, because an error would reveal a tuple. A number is in seconds; a text may also be ISO 8601.

    Args:
        value: Value of the field, of any type.
    """
    number = _as_number(value)
    try:
        timestamp = parse_timestamp("time", value) if number is None else round(number * SECOND_MICROSECONDS)
    except (ValueError, TypeError, OverflowError, ArithmeticError, AttributeError):
        return None
    # 2**60 microseconds since 1970: largest moment of a schedule
    return timestamp if abs(timestamp) <= 2**60 else None


def _find_slot(
    axis: Axis | Categories, texts: Mapping[str, int], numbers: Mapping[float, int], value: Any
) -> int | None:
    """Return the index (slot) of the declared state that a value equals, by text or by number; None if it equals none.

    Args:
        axis: Declared states: categories, or a grid.
        texts: Index by text of a state.
        numbers: Index by number of a state.
        value: Value of a tuple's field.
    """
    slot_of_text = next((texts[name] for name in _state_texts(value) if name in texts), None)
    if slot_of_text is not None:
        return slot_of_text
    number = _as_number(value)
    if number is None:
        return None
    if isinstance(axis, Categories):
        return numbers.get(number)
    slot = int(axis.grid.cell_of(np.array([number]))[0])
    return slot if slot < axis.slots else None


def _state_texts(value: Any) -> tuple[str, ...]:
    """Return the texts under which the state of a value may have been declared; a number also without ``.0``.

    Args:
        value: Value of a tuple's field.

    Returns:
        Texts in the order in which they are tried; () for a value that is neither text nor number.
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bool | np.bool_):
        return (str(value).lower(), str(int(value)))
    if isinstance(value, int | np.integer):
        return (str(value),)
    number = _as_number(value)
    return () if number is None else (str(number), *([str(int(number))] if number.is_integer() else []))


def _as_number(value: Any) -> float | None:
    """Return a value as a finite double; None for other values.

    Args:
        value: Value of a tuple's field.
    """
    if isinstance(value, str | int | float | np.integer | np.floating):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if isfinite(number) else None
    return None


def _slots_by_text(axis: Axis | Categories) -> dict[str, int]:
    """Return the index of each declared category that is a text, to look up the state of a tuple; empty for a grid.

    Args:
        axis: Declared states.

    Returns:
        Index from 0 by category.
    """
    values = axis.values if isinstance(axis, Categories) else ()
    return {value: slot for slot, value in enumerate(values) if isinstance(value, str)}


def _slots_by_number(axis: Axis | Categories) -> dict[float, int]:
    """Return the index of each declared category that is a number, to look up the state of a tuple; empty for a grid.

    Args:
        axis: Declared states.

    Returns:
        Index from 0 by category; numbers are compared as floating-point numbers.
    """
    values = axis.values if isinstance(axis, Categories) else ()
    return {float(value): slot for slot, value in enumerate(values) if not isinstance(value, str)}


@dataclass(frozen=True, slots=True, init=False)
class Schedule:
    """Time steps in event time: step k ends at ``start + k * every``, and closes `grace` later, whether or not tuples
    came.

    Attributes:
        start: Start of step 1, in microseconds since 1970.
        every: Length of a step, in microseconds.
        end: End of the last step; None: without end.
        grace: How long a step waits for late tuples, in microseconds.

    Raises:
        ValueError: the length of a step is not above 0, or the end is not a whole number of steps after the start.

    >>> Schedule("2026-03-01", "5m", end="2026-03-02").time_steps
    288
    """

    start: int
    every: int
    end: int | None
    grace: int

    def __init__(self, start: Any, every: Any, end: Any = None, grace: Any = 0) -> None:
        """Return the time steps of a stream from their start and length.

        Args:
            start: Start of step 1: a `datetime`, ISO 8601 text or seconds since 1970.
            every: Length of a step: a `timedelta`, text such as ``5m``, or seconds.
            end: End of the last step; None: without end.
            grace: How long a step waits for late tuples, as a length of time.

        Raises:
            ValueError: the length of a step is not above 0, or the end is not a whole number of steps after the start.
        """
        object.__setattr__(self, "start", parse_timestamp("start", start))
        object.__setattr__(self, "every", parse_span("every", every))
        object.__setattr__(self, "end", None if end is None else parse_timestamp("end", end))
        object.__setattr__(self, "grace", parse_span("grace", grace))
        if self.every <= 0:
            raise InvalidArgument("every", "a step longer than 0 is needed, such as 5m")
        if self.grace < 0:
            raise InvalidArgument("grace", "a grace period of at least 0 seconds is needed, such as 30s")
        if self.end is not None and (self.end <= self.start or (self.end - self.start) % self.every):
            raise InvalidArgument("end", "must be a whole number of steps after start; move the end, or change every")

    @property
    def time_steps(self) -> int | None:
        """Number of steps; None without end."""
        return None if self.end is None else (self.end - self.start) // self.every

    def start_time(self, time_step: int) -> int:
        """Return the start of a step in microseconds since 1970.

        Args:
            time_step: Number of the time step, from 1.
        """
        return self.start + (time_step - 1) * self.every

    def closing_time(self, time_step: int) -> int:
        """Return the watermark of a step: tuples that arrive from this time are late.

        Args:
            time_step: Number of the time step, from 1.

        Returns:
            Microseconds since 1970.
        """
        return self.start + time_step * self.every + self.grace

    def time_step_at(self, timestamp: int) -> int | None:
        """Return the step of a timestamp; None before the first and after the last step.

        Args:
            timestamp: Event time in microseconds since 1970.

        Returns:
            Number of the time step, from 1.
        """
        time_step = (timestamp - self.start) // self.every + 1
        return time_step if time_step >= 1 and (self.time_steps is None or time_step <= self.time_steps) else None

    def last_closed_time_step(self, timestamp: int) -> int:
        """Return the last step that has closed by this time; 0 if none has.

        Args:
            timestamp: Time in microseconds since 1970.

        Returns:
            Number from 1; at most the number of time steps of a schedule with an end.
        """
        last = max(0, (timestamp - self.start - self.grace) // self.every)
        return last if self.time_steps is None else min(last, self.time_steps)

    @property
    def description(self) -> str:
        """Start, end and length of the steps, as text."""
        end = "" if self.end is None else f" to {format_timestamp(self.end)}"
        return f"{format_timestamp(self.start)}{end} every {self.every / 1e6:g} s"

    def __str__(self) -> str:
        return f"{self.description}, closed {self.grace / 1e6:g} s later"


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields that hold a tuple's timestamp and privacy unit. (The question names the fields of the state.)

    Formal guarantees: without `user`, neighbouring streams differ by one tuple. With `user` they differ by all tuples
    of one user in one step, of which at most `tuples_per_user` are used. A tuple counts in the step of its timestamp
    or, if it is late, outside the steps or without a readable timestamp, in the step of its arrival. Tuples of a user
    in w steps together lose w times as much, and moving a tuple to another state or step is removing one tuple and
    adding one.

    Attributes:
        time: Field of timestamps: ISO 8601, in UTC unless a zone is named, or seconds since 1970.
        user: Field of users; None: each tuple is protected by itself. Tuples without a user count as one user's.
        tuples_per_user: Most tuples of one user in one step that are used.

    Raises:
        ValueError: only one of `user` and `tuples_per_user` is given, or `tuples_per_user` is below 1.
    """

    time: str = "time"
    user: str | None = None
    tuples_per_user: int | None = None

    def __post_init__(self) -> None:
        require_type("time", self.time, str, "the name of a field")
        if (self.user is None) != (self.tuples_per_user is None):
            raise InvalidArgument("tuples_per_user", "give tuples_per_user together with user, or neither")
        if self.user is not None:
            require_type("user", self.user, str, "the name of a field")
            convert_to_integers(self, tuples_per_user="tuples_per_user")
        _ = self.adjacency  # refuses an invalid number of tuples

    @property
    def adjacency(self) -> AddRemove:
        """Neighbouring relation of streams: add-remove of one tuple, or of one user's used tuples in one step.

        Raises:
            InvalidArgument: the largest number of tuples per user is below 1.
        """
        if self.user is None or self.tuples_per_user is None:
            return AddRemove(EACH_RECORD)
        if self.tuples_per_user < 1:
            raise InvalidArgument(
                "tuples_per_user",
                f"must be the largest number of tuples of one user in a step, as in 5, got {self.tuples_per_user}",
            )
        return AddRemove(Unit(f"{self.user} in one step", self.tuples_per_user))
