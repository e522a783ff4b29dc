"""Suppression of uninformative estimates: the rule that decides whether a released number is shown or "not known".

A number is *not known* if its 95 % interval for these records covers all values that it may have. It is then NaN, "not
known" in texts, an empty cell in tables, null in JSON, and absent from pictures; its interval at any level is the whole
range. This covers denominators, classes and treatment groups that noise alone explains, because their intervals are the
whole range. The level is fixed, so that the level that a reader requests does not change which numbers are known.

    known_number, known_values    number or array, with its interval -> NaN where not known
    known_curve                   points of a curve with a band -> all points, or NaN where it says next to nothing
    may_be_zero                   noisy counts -> whether an empty cell explains them

Formal guarantees: no records are read and no budget is spent, because a function of released numbers reveals nothing
more than they do (post-processing).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..summaries.two_classes import LEAST_MASS
from .bands import upper_quantiles

KNOWN_LEVEL = 0.95
"""Probability of the interval, for these records, that decides whether a number is known: if it holds every possible
value, the number is NaN."""

ALL_POINTS = slice(None)
"""All points of a curve. They decide whether it is known, unless a caller names a part of them."""

Ends = tuple[float, float]
"""Lower and upper endpoint of an interval."""


def is_uninformative(lower: ArrayLike, upper: ArrayLike, least: ArrayLike, most: ArrayLike) -> BoolArray:
    """Return for each interval whether it covers the whole range of its number; a NaN endpoint is unbounded.

    Args:
        lower: Lower endpoints, of any shape.
        upper: Upper endpoints, of the same shape.
        least: Least possible value of each number.
        most: Largest possible value of each number.

    Returns:
        An array of truth values, of the common shape.

    >>> is_uninformative([0.0, 0.1, np.nan], [1.0, 1.0, 1.0], 0.0, 1.0).tolist()
    [True, False, True]
    """
    return np.asarray(~(np.asarray(lower) > least) & ~(np.asarray(upper) < most), dtype=np.bool_)


def known_values(values: ArrayLike, ends: Any, least: ArrayLike = 0.0, most: ArrayLike = 1.0) -> FloatArray:
    """Replace values by NaN where their confidence interval covers the whole possible range, because they then say
    nothing.

    Args:
        values: Released values, of any shape.
        ends: Lower and upper endpoints of the intervals, each of the same shape.
        least: Least possible value.
        most: Largest possible value; where it equals `least`, the value stays.

    >>> known_values([0.3, 0.4], ([0.0, 0.0], [1.0, 0.9])).tolist()
    [nan, 0.4]
    """
    lower, upper = ends
    unknown = is_uninformative(lower, upper, least, most) & (np.asarray(most) > np.asarray(least))
    return np.where(unknown, np.nan, np.asarray(values, dtype=np.float64))


def known_number(value: float, ends: Ends, least: float, most: float) -> float:
    """Return the value, or NaN if its interval covers the range from `least` to `most`.

    Args:
        value: A released number.
        ends: Lower and upper endpoint of its interval; NaN: unbounded.
        least: Least possible value.
        most: Largest possible value; if it equals `least`, the value is returned.

    >>> known_number(1.0, (0.0, 1.0), 0.0, 1.0), known_number(1.0, (0.2, 1.0), 0.0, 1.0)
    (nan, 1.0)
    """
    return float(known_values(value, ends, least, most))


def known_curve(
    values: ArrayLike, ends: Any, least: ArrayLike = 0.0, most: ArrayLike = 1.0, *, deciding: slice = ALL_POINTS
) -> FloatArray:
    """Return the points of a curve; if its band says next to nothing, uninformative points are NaN.

    A curve is one result: a single deciding point at which the band is at most half as wide as the possible range keeps
    all points. A point at which the band has width 0 gives no information on other points, but is kept.

    Args:
        values: Released values, of shape ``(points,)``.
        ends: Lower and upper ends of the band, each of the same shape.
        least: Least possible value.
        most: Largest possible value.
        deciding: Points that decide whether the curve is known.

    >>> known_curve([1.0, 0.4, 0.3], ([1.0, 0.0, 0.0], [1.0, 1.0, 1.0])).tolist()
    [1.0, nan, nan]
    >>> known_curve([1.0, 0.4, 0.3], ([1.0, 0.2, 0.0], [1.0, 1.0, 1.0])).tolist()
    [1.0, 0.4, nan]
    >>> known_curve([1.0, 0.4, 0.3], ([1.0, 0.2, 0.0], [1.0, 0.6, 1.0])).tolist()
    [1.0, 0.4, 0.3]
    """
    lower, upper = (np.asarray(end, dtype=np.float64) for end in ends)
    width, possible_width = upper - lower, np.asarray(most) - np.asarray(least)
    # a curve whose band is wider than half of the possible range at every point says next to nothing
    too_wide = is_uninformative(lower, upper, least, most) | (width > 0.5 * possible_width)
    is_unknown = bool((too_wide | (width == 0))[deciding].all())
    return known_values(values, ends, least, most) if is_unknown else np.asarray(values, dtype=np.float64)


def may_be_zero(counts: ArrayLike, noise: FloatArray, level: float = KNOWN_LEVEL) -> BoolArray:
    """Return for each noisy count whether an empty cell could explain it, with probability above ``(1 - level) / 2``.

    The test allows for half a record in the cell.

    Args:
        counts: Unbiased counts in records, of shape ``(counts,)``.
        noise: Simulated noise of the counts in records, of shape ``(draws, counts)``.
        level: Confidence level of the interval that is then unbounded.

    Returns:
        An array of truth values, of shape ``(counts,)``.
    """
    return np.asarray(np.asarray(counts) < LEAST_MASS + upper_quantiles(noise, (1 + level) / 2))
