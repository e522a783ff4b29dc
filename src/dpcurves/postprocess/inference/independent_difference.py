"""The difference of two numbers that were measured on their own."""

from __future__ import annotations

from math import isfinite, sqrt
from typing import NamedTuple


class Measured(NamedTuple):
    """A number and its interval; NaN where nothing is known but the interval."""

    value: float
    lower: float
    upper: float


def difference(first: Measured, second: Measured) -> Measured:
    """The first less the second, with an interval of the level that both have.

    Errors are independent, so the distances from the numbers to their ends add up by their squares (Zou and Donner
    2008). Where a number is not known, the ends are as far apart as they can be.

    >>> [round(end, 3) for end in difference(Measured(0.8, 0.77, 0.83), Measured(0.7, 0.66, 0.74))]
    [0.1, 0.05, 0.15]
    """
    value = first.value - second.value
    if not isfinite(value):
        return Measured(value, first.lower - second.upper, first.upper - second.lower)
    down = sqrt(max(first.value - first.lower, 0.0) ** 2 + max(second.upper - second.value, 0.0) ** 2)
    up = sqrt(max(first.upper - first.value, 0.0) ** 2 + max(second.value - second.lower, 0.0) ** 2)
    return Measured(value, value - down, value + up)
