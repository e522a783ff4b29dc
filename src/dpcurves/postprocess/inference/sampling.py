"""Sampling errors: from counts of sampled records to the population that they were drawn from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...arrays import FloatArray
from .bands import Band, upper_quantile

GUARD = 1.0
"""Squared records added to the variance of sampled counts: a count of none may come from a mean of a few."""


def means_at_once(  # noqa: PLR0917
    counted: FloatArray,
    noise: FloatArray,
    errors: Iterable[FloatArray],
    likely: FloatArray,
    records: float,
    level: float,
) -> Band:
    """Ends of the means of counts over samples, at once with chance `level`: not yet cut at 0.

    All means m with ``(counted - m)^2 <= c^2 (noise + GUARD + m (1 - m / n))`` (Wilson 1927, with noise): c is the
    `level` quantile of the largest such deviation of simulated errors from likely counts.

    Args:
        counted: Unbiased counts.
        noise: Variances of their noise.
        errors: Simulated, of noise and sampling, with one more axis, draws, in front; in chunks.
        likely: About the counts, not below 0.
        records: How many there seem to be.
        level: The chance.
    """
    size = max(records, 1.0)
    judged = np.sqrt(noise + GUARD + likely * np.maximum(1 - likely / size, 0.0))
    largest = [np.abs(chunk / judged).reshape(len(chunk), -1).max(axis=1) for chunk in errors]
    squared = upper_quantile(np.concatenate(largest), level) ** 2
    return means_within(counted, noise + GUARD, squared, size)


def means_within(counted: FloatArray, spread: FloatArray, squared: float, size: float) -> Band:
    """The least and the largest m with ``(counted - m)^2 <= squared (spread + m (1 - m / size))``.

    >>> [round(float(end), 2) for end in means_within(np.array(0.0), np.array(0.0), 4.0, 100.0)]
    [0.0, 3.85]
    """
    first, half = 1 + squared / size, counted + squared / 2
    root = np.sqrt(np.maximum(half**2 - first * (counted**2 - squared * spread), 0.0))
    return (half - root) / first, (half + root) / first


def outermost(one: FloatArray, other: FloatArray) -> FloatArray:
    """Intervals that hold both of these, each (intervals, 2)."""
    return np.stack([np.minimum(one[:, 0], other[:, 0]), np.maximum(one[:, 1], other[:, 1])], axis=1)
