"""The exact error of counts of records below an edge, read from convolved sums."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from .toeplitz_sums import ToeplitzSums, causal_product


def convolved_variances(law: ToeplitzSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    Between the ends of intervals it is that of a straight line.
    """
    point, part = law.interpolated()
    below, above = (prefix_covariances(law, total_is_public, end, end) for end in (point, point + 1))
    between = prefix_covariances(law, total_is_public, point, point + 1)
    row: FloatArray = (1 - part) ** 2 * below + 2 * part * (1 - part) * between + part**2 * above
    return np.maximum(row, 0.0)


def prefix_covariances(law: ToeplitzSums, total_is_public: bool, one: IntArray, other: IntArray) -> FloatArray:
    """Covariances of the estimated prefixes of `one` and of `other` intervals of a row, two by two: (n,) to (n,).

    Prefix i has the noise ``sum(kernel[i - j] * noise[j] for j <= i)``; a public total is conditioned on.
    """
    lag, shorter = np.abs(one - other), np.minimum(one, other)
    covariances = np.empty(len(lag))
    for distance in np.unique(lag):
        alike = lag == distance
        products = law.kernel[: law.points - distance] * law.kernel[distance:]
        covariances[alike] = np.concatenate(([0.0], np.cumsum(products)))[shorter[alike]]
    covariances *= law.variance
    everything = total_variance(law)
    if total_is_public and law.missing is not None and everything > 0:
        known = np.concatenate(([0.0], total_covariances(law)))
        covariances -= known[one] * known[other] / everything
    return covariances


def total_covariances(law: ToeplitzSums) -> FloatArray:
    """Covariances of the prefixes of 1, 2, ... intervals with the last one, the total of their row: (points,)."""
    return causal_product(law.kernel, law.kernel[::-1], law.points) * law.variance


def total_variance(law: ToeplitzSums) -> float:
    """Variance of the estimated sum of all rows and the missing count, before it is known."""
    missing = 0.0 if law.missing is None else law.missing.variance
    return law.rows * float(np.sum(law.kernel**2)) * law.variance + missing
