"""Quantiles and tail shares of a released distribution function (CDF), with 95 % intervals, as texts of a page.

    find_curves          any released result -> its distribution functions, by category
    read_quantiles       a typed probability -> the quantile of each curve
    read_shares_above    a typed value -> the share of records at or above it, of each curve

Formal guarantees: all numbers are functions of the released noisy curve alone, and no record is read. Such
post-processing loses no further privacy and costs no budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.curves import CDF, ByCategory
from dpcurves.display import format_number
from dpcurves.display.numerals import DATE, format_axis_interval, format_date, is_date_axis
from dpcurves.records.value_names import parse_number

from .typed_numbers import read_number

LEVEL = 0.95
"""Confidence level of the intervals that pages of `dpcurves try` print: the usual 95 %. They account for the privacy
noise only."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number computed from a released curve, as a page shows it.

    Attributes:
        group: The category; empty for a curve of all records.
        words: The name of the number, such as ``median``.
        value: The number with its 95% interval, as text.
    """

    group: str
    words: str
    value: str


def find_curves(result: Any) -> Mapping[str, CDF]:
    """Return the distribution functions in a released result, by category.

    Args:
        result: The result of any question.

    Returns:
        For a distribution function of all records: this curve under an empty name. For one distribution function per
        category: the curves by category. For any other result: an empty mapping.
    """
    if isinstance(result, CDF):
        return {"": result}
    if isinstance(result, ByCategory):
        curves = {str(category): result[category] for category in result}
        return curves if all(isinstance(curve, CDF) for curve in curves.values()) else {}
    return {}


def read_quantiles(curves: Mapping[str, CDF], text: str) -> list[Reading]:
    """Return the quantile of each curve at a typed probability, with its 95 % interval, as texts for a page.

    Args:
        curves: Curves by category, from `find_curves`.
        text: The typed probability, such as 0.5 for the median, with a point or a comma before the decimals.

    Returns:
        One reading for each curve, in the order of `curves`. Values on an axis of dates are shown as dates.

    Raises:
        ValueError: The text is no number between 0 and 1.
    """
    share = parse_number(read_number("share", text))
    if share is None or not 0 < share < 1:
        raise InvalidArgument("share", "type a share between 0 and 1, as 0.5 for the median")
    words = "median" if share == 0.5 else f"quantile {text}"
    readings = []
    for group, curve in curves.items():
        lower, upper = curve.quantile_interval(float(share), LEVEL)
        value = float(curve.quantile(float(share)))
        day = format_date(value, curve.label)
        interval = format_axis_interval(lower, upper, curve.label)
        shown = f"{day} (95% for these records: {interval})" if day else _format_reading(value, lower, upper)
        readings.append(Reading(group, words, shown))
    return readings


def read_shares_above(curves: Mapping[str, CDF], text: str) -> list[Reading]:
    """Return the share of records at or above a typed value, for each curve, with its 95 % interval, as texts.

    The interval comes from the simultaneous band at the edges beside the value, so it holds for all values at once,
    also for one that was chosen after looking at the curve.

    Args:
        curves: Curves by category, from `find_curves`; at least one.
        text: The typed value: a number; on an axis of dates or times an ISO date such as 2024-01-31.

    Returns:
        One reading for each curve, in the order of `curves`; shares are from 0 to 1.

    Raises:
        ValueError: The text is no number, or no date on an axis of dates or times.
    """
    value = _parse_value(text, next(iter(curves.values())).label)
    readings = []
    for group, curve in curves.items():
        lower, upper = curve.band(LEVEL)
        left = max(int(np.searchsorted(curve.x, float(value), side="right")) - 1, 0)
        right = min(int(np.searchsorted(curve.x, float(value), side="left")), len(curve.x) - 1)
        share = 1 - float(curve.cdf(float(value)))
        interval = 1 - float(upper[right]), 1 - float(lower[left])
        readings.append(Reading(group, f"share at or above {text}", _format_reading(share, *interval)))
    return readings


def _parse_value(text: str, label: str) -> float:
    """Parse a typed value in units of the axis: days or seconds since 1970-01-01 for a date.

    Args:
        text: A number, or an ISO date on an axis of dates or times; UTC if it states no time zone.
        label: Label of the axis; it ends with ``(date)`` or ``(moment)`` if values are dates or times.

    Raises:
        InvalidArgument: The text is no number, or no date on an axis of dates or times.
    """
    if not is_date_axis(label):
        value = parse_number(read_number("above", text))
        if value is None:
            raise InvalidArgument("above", "type a number, as 18")
        return float(value)
    try:
        typed = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument("above", "type a date, as in 2024-01-31") from None
    seconds = (typed if typed.tzinfo else typed.replace(tzinfo=UTC)).timestamp()
    return seconds / 86_400 if label.endswith(f"({DATE})") else seconds


def _format_reading(value: float, lower: float, upper: float) -> str:
    """Return the text of a number with its 95 % interval, rounded to the digits that the interval's width supports.

    Args:
        value: Released number.
        lower: Lower endpoint of its interval.
        upper: Upper endpoint of its interval; if infinite, the size of the value decides the digits.
    """
    width = (upper - lower) / 2
    texts = [format_number(number, width if np.isfinite(width) else abs(value)) for number in (value, lower, upper)]
    return f"{texts[0]} (95% for these records: {texts[1]} to {texts[2]})"
