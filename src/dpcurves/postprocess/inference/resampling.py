"""Samples drawn from what was released, and how often a statistic of them is as large: a parametric bootstrap."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray, IntArray

MOST_RECORDS = 2.0**53
"""The most that are drawn: what noise may claim beyond is no number of records."""
ROUNDED = 0.5
"""Records that a whole number of them may be off."""


def whole_records(count: float) -> int:
    """The number of records that a noisy count stands for: at least 1.

    >>> whole_records(7.6), whole_records(-3.0)
    (8, 1)
    """
    return round(min(max(count, 1.0), MOST_RECORDS))


def samples(chances: FloatArray, records: int, draws: int, generator: np.random.Generator) -> IntArray:
    """Counts of so many records in each cell, where these are about the chances of the cells: (draws, *cells)."""
    drawn = generator.multinomial(records, chances.ravel() / chances.sum(), size=draws)
    return np.asarray(drawn.reshape(draws, *chances.shape))


def sampling_errors(likely: FloatArray, records: int, draws: int, generator: np.random.Generator) -> FloatArray:
    """Deviations of a sample of so many records in each cell from their expectation: (draws, *cells).

    Args:
        likely: About how many of the records lie in each cell, in proportion. Those that they lack to `records` lie in
            none.
        records: The size of a sample.
        draws: How many samples.
        generator: For simulation over public numbers alone.

    >>> errors = sampling_errors(np.array([[2.0, 3.0], [1.0, 0.0]]), 8, 1000, np.random.default_rng(1))
    >>> errors.shape, bool(abs(errors.mean()) < 0.1), bool(np.allclose(errors[:, 1, 1], 0))
    ((1000, 2, 2), True, True)
    """
    elsewhere = records - float(likely.sum())
    chances = np.append(likely, elsewhere if elsewhere > ROUNDED else 0.0)
    drawn = samples(chances, records, draws, generator) - records * chances / chances.sum()
    return np.asarray(drawn[:, :-1].reshape(draws, *likely.shape))


def chance_of_as_much(reached: float, shown: FloatArray) -> float:
    """The share of draws that reach at least as much, the observed one among them: a multiple of ``1 / (draws + 1)``,
    never 0.

    >>> chance_of_as_much(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    return float((1 + np.count_nonzero(shown >= reached)) / (1 + len(shown)))
