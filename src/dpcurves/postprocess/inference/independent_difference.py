"""The difference of two numbers that were measured on their own."""

from __future__ import annotations

from math import hypot, inf, isfinite
from typing import NamedTuple

LEVEL = 0.95
NORMAL = 1.959963984540054
"""The quantile of the normal law that belongs to this level."""


class Measured(NamedTuple):
    """A number and its interval; NaN where nothing is known but the interval.

    Attributes:
        value: The number.
        lower, upper: The ends of its interval.
        below, above: How much of the distances to the ends is no error of chance, but left open by what was counted.
    """

    value: float
    lower: float
    upper: float
    below: float = 0.0
    above: float = 0.0

    @property
    def down(self) -> float:
        """The largest upward error by chance alone."""
        return max(self.value - self.below - self.lower, 0.0)

    @property
    def up(self) -> float:
        """The largest downward error by chance alone."""
        return max(self.upper - self.value - self.above, 0.0)


def difference(first: Measured, second: Measured) -> Measured:
    """The first less the second, with an interval of the level that both have.

    Errors of chance are independent, so the distances from the numbers to their ends add up by their squares (Zou and
    Donner 2008). What was left open may be at its worst for both at once: that adds up as it is. Where a number is not
    known, the ends are as far apart as they can be.

    >>> [round(end, 3) for end in difference(Measured(0.8, 0.77, 0.83), Measured(0.7, 0.66, 0.74))[:3]]
    [0.1, 0.05, 0.15]
    >>> [round(end, 3) for end in difference(*[Measured(0.8, 0.77, 0.83, below=0.03, above=0.03)] * 2)[:3]]
    [0.0, -0.06, 0.06]
    """
    value = first.value - second.value
    if not isfinite(value):
        return Measured(value, first.lower - second.upper, first.upper - second.lower)
    below, above = first.below + second.above, first.above + second.below
    lower = value - below - hypot(first.down, second.up)
    return Measured(value, lower, value + above + hypot(first.up, second.down), below, above)


def pvalue_of(found: Measured) -> float:
    """The p-value of a difference of zero, from its interval of level 0.95.

    Below 0.05 where the interval leaves out 0, and read off the normal law beyond.

    >>> round(pvalue_of(Measured(0.1, 0.0, 0.3)), 6), pvalue_of(Measured(float("nan"), 0.0, 0.3))
    (0.05, 1.0)
    """
    from scipy.special import ndtr

    if not isfinite(found.value):
        return 1.0
    reach = found.value - found.lower if found.value > 0 else found.upper - found.value
    return float(2 * ndtr(-abs(found.value) / reach * NORMAL if reach > 0 else -inf))
