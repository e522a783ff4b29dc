"""What counts of sampled records say of the population that they were drawn from."""

from __future__ import annotations

from math import isfinite

import numpy as np

from ...arrays import FloatArray

LITTLE = 1e-300
"""Stands for a count of none where a law needs one above."""


def mean_counts(least: FloatArray, most: FloatArray, units: float, error: float) -> FloatArray:
    """Between which ends the means of counts lie, over samples of this size, if counts lie between bounds: (counts, 2).

    A count is that of independent units, so it is binomial: the exact interval (Clopper and Pearson 1934) of the least
    count has the lower end, that of the most the upper one, for both ends rise with the count. Where the number of
    units is not known it is taken as endless: then counts scatter as Poisson's law does (Garwood 1936), and those of
    any number of units scatter less. The bounds themselves are always between the ends.

    Args:
        least: Counts at the least.
        most: Counts at the most.
        units: How many units there are, about; infinite: not known.
        error: The chance at most with which each pair misses, besides what its bounds may miss.

    >>> mean_counts(np.array([0.0, 40.0]), np.array([0.0, 60.0]), 100, 0.05).round(1).tolist()
    [[0.0, 3.6], [30.3, 69.7]]
    >>> mean_counts(np.array([4.0]), np.array([4.0]), np.inf, 0.05).round(2).tolist()
    [[1.09, 10.24]]
    """
    low, high = np.maximum(least, 0.0), np.maximum(most, 0.0)
    lower, upper = _binomial(low, high, units, error) if isfinite(units) else _poisson(low, high, error)
    return np.stack([np.minimum(lower, low), np.maximum(upper, high)], axis=-1)


def _binomial(low: FloatArray, high: FloatArray, units: float, error: float) -> tuple[FloatArray, FloatArray]:
    from scipy.special import betaincinv

    low, high = np.minimum(low, units), np.minimum(high, units)
    lower = betaincinv(np.maximum(low, LITTLE), units - low + 1, error / 2)
    upper = betaincinv(high + 1, np.maximum(units - high, LITTLE), 1 - error / 2)
    return units * np.where(low > 0, lower, 0.0), units * np.where(high < units, upper, 1.0)


def _poisson(low: FloatArray, high: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    from scipy.special import gammaincinv

    lower = np.where(low > 0, gammaincinv(np.maximum(low, LITTLE), error / 2), 0.0)
    return lower, np.asarray(gammaincinv(high + 1, 1 - error / 2), dtype=np.float64)
