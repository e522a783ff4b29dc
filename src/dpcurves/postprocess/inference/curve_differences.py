"""Do two tables differ in an area or in a slope? Numbers read from each, with noise and sampling of both."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray
from .hosmer_lemeshow import GroupNoise, Groups

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


def slope(groups: Groups, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """The slope of labels on scores by least squares of groups, of counts (..., groups); NaN where scores are alike."""
    size = np.maximum(positive + negative, 1e-9)
    share, mean = positive / size, groups.mean
    middle = (size * mean).sum(axis=-1, keepdims=True) / size.sum(axis=-1, keepdims=True)
    spread = (size * (mean - middle) ** 2).sum(axis=-1)
    found = (size * (mean - middle) * share).sum(axis=-1)
    return np.asarray(np.divide(found, spread, out=np.full_like(spread, np.nan), where=spread > 0))


def slope_and_error(groups: Groups, noise: GroupNoise, normal: FloatArray) -> tuple[float, float]:
    """The slope of released groups, and about its standard error: noise and sampling are simulated together.

    The error is half of the range of the middle 68 % of draws, which a few wild ones do not move.
    """
    positive, negative = np.maximum(groups.positive, 0.0), np.maximum(groups.negative, 0.0)
    size = positive + negative
    share = np.divide(positive, size, out=np.full(size.shape, 0.5), where=size > 0)
    sampled = normal * np.sqrt(size * share * (1 - share))
    drawn = slope(
        groups,
        np.maximum(positive + sampled + noise.positive, 0.0),
        np.maximum(negative - sampled + noise.negative, 0.0),
    )
    ends = np.nanquantile(drawn, (0.16, 0.84)) if np.isfinite(drawn).any() else np.array([np.nan, np.nan])
    return float(slope(groups, positive[None], negative[None])[0]), float(ends[1] - ends[0]) / 2


def slope_difference(first: tuple[float, float], second: tuple[float, float]) -> Difference:
    """The first slope less the second, from each with its standard error."""
    value, reach = first[0] - second[0], NORMAL * hypot(first[1], second[1])
    return judged(value, value - reach, value + reach)
