"""Two-sample tests on noisy counts: Kolmogorov-Smirnov and Mann-Whitney, with p-values that account for the noise.

With F and G the shares of both samples below the edges of common cells,

    kolmogorov_smirnov     max over inner edges of |F - G|
    mann_whitney           share of pairs with x < y, plus half the share of ties (values in one cell are tied)

Both take two `ReleasedSample`, the noisy counts of a sample, and return a `TwoSampleTest` of statistic and p-value.
P-values come from a parametric bootstrap (`simulate_null`): samples of both sizes are drawn from the pooled estimated
distribution, and the noise of each release is added, scaled to the released totals. So they account for sampling,
noise and ties, and need no distribution of a statistic.

Formal guarantees: no records are read and no budget is spent, because a function of released counts and of random
numbers reveals nothing more than the counts (post-processing).

References: Kolmogorov 1933, Smirnov 1939; Mann and Whitney 1947; Davison and Hinkley 1997, section 4.2.

>>> first, second = np.array([10.0, 20.0, 10.0]), np.array([5.0, 15.0, 20.0])
>>> float(kolmogorov_smirnov_statistic(first, second)), float(mann_whitney_statistic(first, second))
(0.25, 0.640625)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from .simulation import monte_carlo_p_value, sample_multinomial, whole_records


class TwoSampleTest(NamedTuple):
    """A test statistic of two samples, with its p-value.

    Attributes:
        statistic: The statistic, computed from released numbers.
        p_value: The p-value for the population, which accounts for noise and sampling: a multiple of
            ``1 / (draws + 1)``.
    """

    statistic: float
    p_value: float


class ReleasedSample(NamedTuple):
    """Released counts of one sample, in cells that both samples share.

    Attributes:
        cells: Unbiased counts, of shape ``(cells,)``; some may be below zero.
        likely: Estimated non-negative counts, of the same shape.
        noise: Simulated noise of `cells`, of shape ``(draws, cells)``.
    """

    cells: FloatArray
    likely: FloatArray
    noise: FloatArray


def kolmogorov_smirnov_statistic(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the largest difference between the shares of both samples below an inner edge (Kolmogorov 1933, Smirnov
    1939).

    Values in one cell count as tied.

    Args:
        first: Counts of one sample, of shape ``(..., cells)``.
        second: Counts of the other sample.

    Returns:
        An array of shape ``(...)``.
    """
    gap = _shares_below(first) - _shares_below(second)
    return np.asarray(np.abs(gap[..., :-1]).max(axis=-1, initial=0.0))


def mann_whitney_statistic(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the share of pairs in which the first sample's value is smaller; ties count one half.

    This is the statistic of Mann and Whitney (1947) divided by both sample sizes. Its numerator is unbiased.

    Args:
        first: Counts of one sample, of shape ``(..., cells)``.
        second: Counts of the other sample.

    Returns:
        An array of shape ``(...)``.
    """
    below = np.cumsum(first, axis=-1) - first / 2
    return np.asarray((below * second).sum(axis=-1) / _total(first) / _total(second))


class NullDraws(NamedTuple):
    """Simulated noisy counts of two samples under the null hypothesis of one distribution.

    Attributes:
        first: Counts of the first sample, of shape ``(draws, cells)``.
        second: Counts of the second sample, of the same shape.
    """

    first: FloatArray
    second: FloatArray


def simulate_null(first: ReleasedSample, second: ReleasedSample, generator: np.random.Generator) -> NullDraws:
    """Simulate releases of two samples under the null hypothesis: both come from their pooled estimated distribution.

    It is a parametric bootstrap: samples of the estimated sizes are drawn and the noise of each release is added. So no
    theory is needed for how noise, ties and the grid affect the statistic.

    A share below an edge that is computed from noisy counts has the error ``(e - F * E) / n``, where e is the noise
    below the edge, E the noise of the total, F the true share and n the noisy total. The simulation adds exactly this
    error, so all draws have the released total. Totals with a second draw of noise would make simulated shares scatter
    too much.

    Args:
        first: Released counts of one sample.
        second: Released counts of the other sample, in the same cells.
        generator: For sampling of records; over public numbers alone.
    """
    pooled = first.likely + second.likely
    total = pooled.sum()
    probabilities = pooled / total if total > 0 else np.full(pooled.shape, 1 / pooled.size)
    return NullDraws(
        *(_simulate_release(sample, probabilities / probabilities.sum(), generator) for sample in (first, second))
    )


def kolmogorov_smirnov(first: ReleasedSample, second: ReleasedSample, null: NullDraws) -> TwoSampleTest:
    """Test whether two samples have one distribution, by Kolmogorov and Smirnov: statistic and p-value, from draws of
    `simulate_null`.

    Args:
        first: Released counts of one sample.
        second: Released counts of the other sample, in the same cells.
        null: Simulated counts of both samples under one distribution.
    """
    statistic = float(kolmogorov_smirnov_statistic(first.cells, second.cells))
    return TwoSampleTest(min(statistic, 1.0), monte_carlo_p_value(statistic, kolmogorov_smirnov_statistic(*null)))


def mann_whitney(first: ReleasedSample, second: ReleasedSample, null: NullDraws) -> TwoSampleTest:
    """Test whether values of one sample tend to be larger, by Mann and Whitney: statistic and two-sided p-value, from
    draws of `simulate_null`.

    Args:
        first: Released counts of one sample.
        second: Released counts of the other sample, in the same cells.
        null: Simulated counts of both samples under one distribution.
    """
    statistic = float(mann_whitney_statistic(first.cells, second.cells))
    p_value = monte_carlo_p_value(abs(statistic - 0.5), np.abs(mann_whitney_statistic(*null) - 0.5))
    return TwoSampleTest(min(max(statistic, 0.0), 1.0), p_value)


def _simulate_release(sample: ReleasedSample, probabilities: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Return simulated noisy counts of one sample, (draws, cells), each draw with the released total.

    Args:
        sample: Released counts, whose number of records and noise are used.
        probabilities: Probability of each cell under the null hypothesis, (cells,).
        generator: Random numbers for the sampling of records.
    """
    records = whole_records(float(sample.cells.sum()))
    noise = sample.noise - sample.noise.sum(axis=-1, keepdims=True) * probabilities
    return np.asarray(sample_multinomial(probabilities, records, len(noise), generator) + noise)


def _shares_below(cells: FloatArray) -> FloatArray:
    """Return the share of records below the upper edge of each cell, from counts of cells; both (..., cells).

    Args:
        cells: Counts of cells, which may be below zero.
    """
    return np.asarray(np.cumsum(cells, axis=-1) / _total(cells)[..., None])


def _total(cells: FloatArray) -> FloatArray:
    """Return the number of records over the last axis, at least 1: (..., cells) to (...).

    Args:
        cells: Counts of cells, which may be below zero.
    """
    return np.asarray(np.maximum(cells.sum(axis=-1), 1.0))
