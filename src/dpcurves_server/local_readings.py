"""Readings of a released distribution function that its page shows on request: quantiles, and shares above a value.

They are computed from the released curve alone and cost no privacy budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.curves import CDF, ByCategory
from dpcurves.display import format_number
from dpcurves.records.value_names import parse_number

LEVEL = 0.95
"""Probability. Confidence level of the intervals, for these records."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number that was read off a curve.

    Attributes:
        group: The category; empty for a curve of all records.
        words: The name of the reading.
        value: The number with its interval, in words.
    """

    group: str
    words: str
    value: str


def find_curves(result: Any) -> Mapping[str, CDF]:
    """Return the distribution functions of a result by category, or under an empty name; none of other results."""
    if isinstance(result, CDF):
        return {"": result}
    if isinstance(result, ByCategory):
        curves = {str(category): result[category] for category in result}
        return curves if all(isinstance(curve, CDF) for curve in curves.values()) else {}
    return {}


def read_quantiles(curves: Mapping[str, CDF], text: str) -> list[Reading]:
    """Return a quantile of each curve with its interval.

    Raises:
        ValueError: The text is no number between 0 and 1.
    """
    share = parse_number(text)
    if share is None or not 0 < share < 1:
        raise InvalidArgument("share", "type a share between 0 and 1, as 0.5 for the median")
    words = "median" if share == 0.5 else f"quantile {text}"
    readings = []
    for group, curve in curves.items():
        lower, upper = curve.quantile_interval(float(share), LEVEL)
        readings.append(Reading(group, words, _format_reading(float(curve.quantile(float(share))), lower, upper)))
    return readings


def read_shares_above(curves: Mapping[str, CDF], text: str) -> list[Reading]:
    """Return the share of the records of each curve that lie at or above a value, with its interval.

    The interval comes from the simultaneous band at the edges beside the value, so it holds for any value.

    Raises:
        ValueError: The text is no number.
    """
    value = parse_number(text)
    if value is None:
        raise InvalidArgument("above", "type a number, as 18")
    readings = []
    for group, curve in curves.items():
        lower, upper = curve.band(LEVEL)
        left = max(int(np.searchsorted(curve.x, float(value), side="right")) - 1, 0)
        right = min(int(np.searchsorted(curve.x, float(value), side="left")), len(curve.x) - 1)
        share = 1 - float(curve.cdf(float(value)))
        interval = 1 - float(upper[right]), 1 - float(lower[left])
        readings.append(Reading(group, f"share at or above {text}", _format_reading(share, *interval)))
    return readings


def _format_reading(value: float, lower: float, upper: float) -> str:
    """Return a number and its interval in words."""
    width = (upper - lower) / 2
    texts = [format_number(number, width if np.isfinite(width) else abs(value)) for number in (value, lower, upper)]
    return f"{texts[0]} (95% for these records: {texts[1]} to {texts[2]})"
