"""Rewrite calendar functions of expressions as integer arithmetic, which all SQL engines compute alike (lowering).

DuckDB, PostgreSQL and Spark have calendars that differ at the ends of their ranges, so they are never called. A date is
the number of days since 1970-01-01, in the proleptic Gregorian calendar without limits of years. `lower_expression`
returns an equal expression without the functions on the left:

    year, month, day      `_civil_from_days`: eras of 400 years (146,097 days), years that begin in March
    trunc_month, ...      first day of the period: `_days_from_civil`
    diff_month, ...       difference of the numbers of the periods
    isodow                (days + 3) mod 7 + 1, because 1970-01-01 was a Thursday

Formal guarantees: the new expression is a function of the same row, so it reads no other record. Whole numbers stay
below 2**53, so arithmetic of doubles is exact.

Reference: Hinnant 2013, *chrono-compatible low-level date algorithms*.

>>> from dpcurves.expressions import parse_expression
>>> from dpcurves.expressions.checked import check_expression
>>> lowered = lower_expression(check_expression(parse_expression("isodow(day)"), {"day": ValueType.DATE}))
>>> lowered.function, lowered.type.value
('whole_add', 'a number')
"""

from __future__ import annotations

from datetime import date
from types import MappingProxyType

from .checked import Checked, ValueType

NUMBER, TRUTH = ValueType.NUMBER, ValueType.TRUTH
EPOCH = date(1970, 1, 1)
"""Days are counted from this date, the epoch of Unix."""
MICROSECONDS = MappingProxyType({
    "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86400 * 10**6,
})  # fmt: skip
"""Microseconds of the units of a clock, of which timestamps are counted."""


def lower_expression(checked: Checked) -> Checked:
    """Return an equal expression in which dates are days since 1970-01-01, and calendar functions are arithmetic.

    Parts that several functions need are the same object, so that an engine computes them once. The arithmetic of days
    (``whole_add`` and its like) is of whole numbers below ``2**53``: exact, always finite, and so without a check of
    its result.

    Args:
        checked: A checked expression. It is not changed.
    """
    return _Lowering().lower(checked)


class _Lowering:
    """Rewriting of one expression; each node is rewritten once."""

    def __init__(self) -> None:
        self.lowered: dict[int, tuple[Checked, Checked]] = {}
        """New nodes by the identity of old ones, which are stored beside them so that no identity is used twice."""
        self.civil: dict[int, tuple[Checked, tuple[Checked, Checked, Checked]]] = {}

    def lower(self, checked: Checked) -> Checked:
        """Rewrite a node and its arguments in simpler operations, once per node, so that repeated subexpressions stay
        one object.

        Args:
            checked: The node, with its type.
        """
        if id(checked) not in self.lowered:
            self.lowered[id(checked)] = checked, self._lower(checked)
        return self.lowered[id(checked)][1]

    def _lower(self, checked: Checked) -> Checked:  # noqa: PLR0911
        """Rewrite one node in simpler operations, e.g. a calendar function as arithmetic of days; called once per node.

        Args:
            checked: The node, with its type.
        """
        name, value = checked.function, checked.value
        if name == "literal" and isinstance(value, date):
            return _number((value - EPOCH).days)
        if name == "literal" and value is None and checked.type is ValueType.DATE:
            return Checked("literal", NUMBER, value=None)
        arguments = tuple(map(self.lower, checked.arguments))
        prefix, _, unit = name.partition("_")
        if prefix == "diff":
            earlier, later = arguments
            difference = "sub" if unit == "day" else "whole_sub"  # of two dates, which may be infinite
            return Checked(difference, NUMBER, (self._count_periods(unit, later), self._count_periods(unit, earlier)))
        if prefix == "trunc":
            return self._truncate(unit, *arguments)
        if name == "to_date" and checked.arguments[0].type is ValueType.MOMENT:
            return _periods("day", *arguments)
        if name in {"year", "month", "day"}:
            return self._civil(*arguments)[("year", "month", "day").index(name)]
        if name == "quarter":
            return _floor_div(_add(self._civil(*arguments)[1], 2), 3)
        if name == "isodow":
            (day,) = arguments
            return _add(_modulo(_shift(day, 3), 7), 1)  # 1970-01-01 was a Thursday
        kind = NUMBER if checked.type is ValueType.DATE and name != "column" else checked.type
        return Checked(name, kind, arguments, value)

    def _count_periods(self, unit: str, time: Checked) -> Checked:
        """Return an expression for the index of the period (e.g. the month) that contains a time, counted from 1970.

        Args:
            unit: Length of a period: second, minute, hour, day, week, month, quarter or year.
            time: A timestamp for the first three, else a number of days since 1970-01-01.
        """
        if unit in {"second", "minute", "hour"}:
            return _periods(unit, time)
        if unit == "day":
            return time
        if unit == "week":
            return _floor_div(_shift(time, 3), 7)
        year, month, _ = self._civil(time)
        if unit == "year":
            return year
        months = _add_nodes(_mul(year, 12), month)
        return months if unit == "month" else _floor_div(_add(months, -1), 3)

    def _truncate(self, unit: str, day: Checked) -> Checked:
        """Return an expression for the first day of the period that contains a day, in days since 1970-01-01.

        Args:
            unit: Length of a period: day, week, month, quarter or year.
            day: Number of days since 1970-01-01.
        """
        if unit == "day":
            return day
        if unit == "week":
            return _add(_mul(_floor_div(_shift(day, 3), 7), 7), -3)
        year, month, _ = self._civil(day)
        if unit == "year":
            month = _add(_mul(month, 0), 1)  # 1, but missing where the month is missing
        if unit == "quarter":
            month = _add(_mul(_floor_div(_add(month, -1), 3), 3), 1)
        return _days_from_civil(year, month)

    def _civil(self, day: Checked) -> tuple[Checked, Checked, Checked]:
        """Return expressions for year, month and day of the month of a date, built once per date and shared.

        Args:
            day: Expression for the number of days since 1970-01-01.
        """
        if id(day) not in self.civil:
            self.civil[id(day)] = day, _civil_from_days(day)
        return self.civil[id(day)][1]


def _civil_from_days(day: Checked) -> tuple[Checked, Checked, Checked]:
    """Return expressions for year, month (1 to 12) and day of the month (1 to 31) of a day.

    Years are taken to begin in March, so that leap days are last.

    Args:
        day: Number of days since 1970-01-01.
    """
    shifted = _shift(day, 719_468)  # days since 0000-03-01
    era = _floor_div(shifted, 146_097)  # days of 400 years
    day_of_era = _sub(shifted, _mul(era, 146_097))
    year_of_era = _floor_div(
        _sub(
            _add_nodes(_sub(day_of_era, _floor_div(day_of_era, 1460)), _floor_div(day_of_era, 36_524)),
            _floor_div(day_of_era, 146_096),
        ),
        365,
    )
    leap_days = _sub(_floor_div(year_of_era, 4), _floor_div(year_of_era, 100))
    day_of_year = _sub(day_of_era, _add_nodes(_mul(year_of_era, 365), leap_days))
    month_from_march = _floor_div(_add(_mul(day_of_year, 5), 2), 153)
    day_of_month = _add(_sub(day_of_year, _floor_div(_add(_mul(month_from_march, 153), 2), 5)), 1)
    is_late = Checked("lt", TRUTH, (month_from_march, _number(10)))
    month = _case(is_late, _add(month_from_march, 3), _add(month_from_march, -9))
    year_from_march = _add_nodes(year_of_era, _mul(era, 400))
    return _case(is_late, year_from_march, _add(year_from_march, 1)), month, day_of_month


def _days_from_civil(year: Checked, month: Checked) -> Checked:
    """Return an expression for the first day of a month, in days since 1970-01-01.

    Args:
        year: Whole number.
        month: Whole number from 1 to 12.
    """
    is_late = Checked("gt", TRUTH, (month, _number(2)))
    year = _case(is_late, year, _add(year, -1))
    era = _floor_div(year, 400)
    year_of_era = _sub(year, _mul(era, 400))
    month_from_march = _case(is_late, _add(month, -3), _add(month, 9))
    day_of_year = _floor_div(_add(_mul(month_from_march, 153), 2), 5)
    leap_days = _sub(_floor_div(year_of_era, 4), _floor_div(year_of_era, 100))
    day_of_era = _add_nodes(_add_nodes(_mul(year_of_era, 365), leap_days), day_of_year)
    return _add(_add_nodes(_mul(era, 146_097), day_of_era), -719_468)


def _number(value: float) -> Checked:
    """Return the typed node of a number literal.

    Args:
        value: The number.
    """
    return Checked("literal", NUMBER, value=float(value))


def _shift(day: Checked, number: float) -> Checked:
    """Return an expression for a day plus the public number `number` of days.

    An infinite date gives NULL, so that all later arithmetic is finite.

    Args:
        day: Expression of a number of days.
        number: Whole number of days.
    """
    return Checked("add", NUMBER, (day, _number(number)))


def _add_nodes(left: Checked, right: Checked) -> Checked:
    """Return an expression for the sum of two expressions of whole numbers.

    Args:
        left: Expression of a whole number.
        right: Expression of a whole number.
    """
    return Checked("whole_add", NUMBER, (left, right))


def _add(left: Checked, number: float) -> Checked:
    """Return an expression for a whole number plus the public constant `number`.

    Args:
        left: Expression of a whole number.
        number: A whole number, which may be below zero.
    """
    return _add_nodes(left, _number(number))


def _sub(left: Checked, right: Checked) -> Checked:
    """Return an expression for the difference of two whole numbers.

    Args:
        left: Expression of a whole number.
        right: Expression of the whole number that is subtracted.
    """
    return Checked("whole_sub", NUMBER, (left, right))


def _mul(left: Checked, number: float) -> Checked:
    """Return an expression for a whole number times the public constant `number`.

    Args:
        left: Expression of a whole number.
        number: A whole number.
    """
    return Checked("whole_mul", NUMBER, (left, _number(number)))


def _floor_div(left: Checked, number: float) -> Checked:
    """Return an expression for a whole number divided by the public number `number`, rounded down.

    The quotient is exact: numerators are below ``2**45``, so no quotient rounds up to a whole one.

    Args:
        left: Expression of a whole number.
        number: A whole number above 0.
    """
    return Checked("whole_div", NUMBER, (left, _number(number)))


def _modulo(left: Checked, number: float) -> Checked:
    """Return an expression for the remainder of a whole number divided by `number`, from 0 to ``number - 1``.

    Args:
        left: Expression of a whole number.
        number: A whole number above 0.
    """
    return _sub(left, _mul(_floor_div(left, number), number))


def _case(condition: Checked, value: Checked, other: Checked) -> Checked:
    """Return a CASE expression: `value` where the condition is true, `other` elsewhere.

    Args:
        condition: Expression that is true, false or missing.
        value: Expression of the result where the condition is true.
        other: Expression of the result elsewhere.
    """
    return Checked("case", NUMBER, (condition, value, other))


def _periods(unit: str, moment: Checked) -> Checked:
    """Return an expression for the index, since 1970 and rounded down, of the period that contains a timestamp.

    Args:
        unit: Length of a period: second, minute, hour or day.
        moment: Timestamp in microseconds since 1970-01-01; the index is missing where it is.
    """
    return Checked("count_periods", NUMBER, (moment,), value=float(MICROSECONDS[unit]))
