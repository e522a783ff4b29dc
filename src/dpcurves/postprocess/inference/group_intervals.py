"""Between which ends the shares and the numbers of positives of groups lie: each group on its own."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .bands import upper_quantiles
from .hosmer_lemeshow import GroupNoise, Groups
from .search import accepted

FAR = 12.0
"""Standard deviations of sampling, and as many records, beyond which no number of positives is tried."""


def share_intervals(groups: Groups, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Ends that have the share of positives of a group between them with chance `level`: (groups, 2), in [0, 1].

    A share s is between the ends if ``(1 - s) * positives - s * negatives``, which is 0 without noise where s is the
    true share, is no further from 0 than noise takes it with chance `level` (Fieller 1954). So no ratio of noisy
    numbers needs a law, and the chance holds in small groups as in large ones; a group that may be empty has the
    interval from 0 to 1. Of the population sampling moves that number, too: for n records by a binomial law, whose
    quantiles are read off `normal` with a correction for its skewness (Cornish and Fisher 1938).

    Counts below zero are taken as zero, which never takes that number further from 0.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of what was released.
        normal: Draws of the standard normal law for sampling, (draws, groups); None: for these records.
        level: The chance of each group.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    positive, negative = np.maximum(groups.positive, 0.0), np.maximum(groups.negative, 0.0)
    size = positive + negative

    def excess(share: FloatArray) -> FloatArray:
        moved = (1 - share) * noise.positive - share * noise.negative + _sampled(size, share, normal)
        return np.abs((1 - share) * positive - share * negative) - upper_quantiles(np.abs(moved), level)

    share = np.divide(positive, size, out=np.full(size.shape, 0.5), where=size > 0)
    return accepted(excess, share, np.zeros_like(share), np.ones_like(share))


def positive_intervals(groups: Groups, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Ends that have the positives of a group between them with chance `level`: (groups, 2), not below 0.

    Of the population, those that are to be expected among as many records.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of what was released.
        normal: See `share_intervals`.
        level: The chance of each group.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    positive = np.maximum(groups.positive, 0.0)
    size = np.maximum(positive + np.maximum(groups.negative, 0.0), 1.0)

    def excess(expected: FloatArray) -> FloatArray:
        moved = noise.positive + _sampled(size, np.clip(expected / size, 0.0, 1.0), normal)
        return np.abs(positive - expected) - upper_quantiles(np.abs(moved), level)

    most = positive + np.abs(noise.positive).max(axis=0) + FAR * (np.sqrt(size) + 1)
    return accepted(excess, positive, np.zeros_like(positive), most)


def residual_envelope(groups: Groups, noise: GroupNoise, normal: FloatArray, level: float) -> FloatArray:
    """How far from zero the mean residual of a group stays with chance `level` if the model is right: (groups,).

    A record of prediction p has a residual of variance ``p * (1 - p)``. Its mean over a group is at most that of the
    mean prediction, for ``p * (1 - p)`` is concave. The noise of the sum of residuals adds to it.

    Args:
        groups: The released groups, (groups,).
        noise: Simulated noise of what was released.
        normal: Draws of the standard normal law for sampling, (draws, groups).
        level: The chance of each group.
    """
    count = np.maximum(groups.count, 1.0)
    moved = noise.surplus(groups.middle) + _sampled(count, groups.mean, normal)
    return np.minimum(upper_quantiles(np.abs(moved), level) / count, 1.0)


def _sampled(size: FloatArray, share: FloatArray, normal: FloatArray | None) -> FloatArray:
    """Positives of so many records less the expected ones, (draws, groups) or none."""
    if normal is None:
        return np.zeros(1)
    return normal * np.sqrt(size * share * (1 - share)) + (normal**2 - 1) * (1 - 2 * share) / 6
