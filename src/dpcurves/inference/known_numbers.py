"""When a released number is known: one rule for every reading of every result.

A reading is *not known* where its 95 % interval for these records holds all that the reading can be. It is then NaN,
"not known" in texts, an empty cell in tables, null in JSON, and no mark in pictures; its interval at any level is all
that it can be. A denominator, a class or an arm that noise alone may have made leaves an interval open, so that the
rule covers these, too. The level is fixed, so that a number does not come and go with the level that a reader asks for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..summaries.two_classes import LEAST_MASS
from .bands import upper_quantiles

KNOWN_AT = 0.95
"""The confidence level of the interval, for these records, that decides whether a reading is known."""

Ends = tuple[float, float]


def is_uninformative(lower: ArrayLike, upper: ArrayLike, least: ArrayLike, most: ArrayLike) -> BoolArray:
    """Tell of each interval whether it holds everything between `least` and `most`; an end that is NaN is open.

    >>> is_uninformative([0.0, 0.1, np.nan], [1.0, 1.0, 1.0], 0.0, 1.0).tolist()
    [True, False, True]
    """
    return np.asarray(~(np.asarray(lower) > least) & ~(np.asarray(upper) < most), dtype=np.bool_)


def known_values(values: ArrayLike, ends: Any, least: ArrayLike = 0.0, most: ArrayLike = 1.0) -> FloatArray:
    """The values, NaN where the interval with these lower and upper ends holds everything that a value can be.

    A range of a single value leaves nothing open: such values stay.

    >>> known_values([0.3, 0.4], ([0.0, 0.0], [1.0, 0.9])).tolist()
    [nan, 0.4]
    """
    lower, upper = ends
    unknown = is_uninformative(lower, upper, least, most) & (np.asarray(most) > np.asarray(least))
    return np.where(unknown, np.nan, np.asarray(values, dtype=np.float64))


def known_number(value: float, ends: Ends, least: float, most: float) -> float:
    """The value, or NaN where its interval holds everything between `least` and `most`.

    >>> known_number(1.0, (0.0, 1.0), 0.0, 1.0), known_number(1.0, (0.2, 1.0), 0.0, 1.0)
    (nan, 1.0)
    """
    return float(known_values(value, ends, least, most))


def known_curve(values: ArrayLike, ends: Any, least: ArrayLike = 0.0, most: ArrayLike = 1.0) -> FloatArray:
    """The points of a curve; NaN, but for those that its band pins down, where the band is open everywhere else.

    A curve is one reading: one point of which something is known makes all others worth their band.

    >>> known_curve([1.0, 0.4, 0.3], ([1.0, 0.0, 0.0], [1.0, 1.0, 1.0])).tolist()
    [1.0, nan, nan]
    >>> known_curve([1.0, 0.4, 0.3], ([1.0, 0.2, 0.0], [1.0, 1.0, 1.0])).tolist()
    [1.0, 0.4, 0.3]
    """
    lower, upper = (np.asarray(end, dtype=np.float64) for end in ends)
    is_unknown = bool((is_uninformative(lower, upper, least, most) | (lower == upper)).all())
    return known_values(values, ends, least, most) if is_unknown else np.asarray(values, dtype=np.float64)


def may_be_zero(counts: ArrayLike, noise: FloatArray, level: float = KNOWN_AT) -> BoolArray:
    """Tell of each count whether its noise, with chance ``(1 - level) / 2``, is all that was counted but a half.

    Args:
        counts: Without bias, (counts,).
        noise: That of the counts, simulated, (draws, counts).
        level: That of the interval that is open then.
    """
    return np.asarray(np.asarray(counts) < LEAST_MASS + upper_quantiles(noise, (1 + level) / 2))
