"""Do two tables differ in an area? A number read from each, with noise and sampling of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEVEL = 0.95
NORMAL = 1.959963984540054
"""The quantile of the normal law that belongs to this level."""


class Difference(NamedTuple):
    """One table less another.

    Attributes:
        value: The difference of the numbers.
        lower, upper: An interval of level 0.95, for the population: it holds noise and sampling of both.
        pvalue: How often a difference is as large where there is none, for the population.
    """

    value: float
    lower: float
    upper: float
    pvalue: float


def judged(value: float, lower: float, upper: float) -> Difference:
    """A difference and its interval: below 0.05 where the interval leaves out 0, and read off the normal law beyond."""
    from scipy.special import ndtr

    reach = value - lower if value > 0 else upper - value
    scaled = abs(value) / reach * NORMAL if reach > 0 else np.inf
    return Difference(value, lower, upper, float(2 * ndtr(-scaled)) if np.isfinite(value) else 1.0)
