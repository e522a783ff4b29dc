"""Between which ends the shares and the numbers of positives of groups lie: each group on its own."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .bands import upper_quantiles
from .hosmer_lemeshow import GroupCounts, GroupNoise
from .search import accepted

HALF = 0.5
FAR = 12.0
"""Standard deviations of sampling, and as many records, beyond which no number of positives is tried."""


def share_intervals(groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Confidence intervals for the share of positives of each group, at confidence `level`: (groups, 2), in [0, 1].

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


def positive_intervals(groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
    """Confidence intervals for the positives of each group, at confidence `level`: (groups, 2), not below 0.

    For the population, those that are to be expected among as many records.

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


def mean_intervals(counts: FloatArray, noise: FloatArray, normal: FloatArray, units: float, level: float) -> FloatArray:
    """Confidence intervals for means of counts over samples of this size, each at `level`: (counts, 2), not below 0.

    A mean m is between them if noise and sampling together take a count of m units as far up as the released one with
    half of the error chance, and as far down likewise. The law of samples is that of `share_intervals`, half a record
    further out: without noise ends are those of Clopper and Pearson (1934), but for a part of a record.
    Where the number of units is not known, counts are taken to scatter as Poisson's law does, which is more than those
    of any number of units do.

    Args:
        counts: Released counts, (counts,), without bias.
        noise: Their simulated noise, (draws, counts).
        normal: Draws of the standard normal law for sampling, of the same shape.
        units: The approximate number of units; infinite: not known.
        level: The chance of each.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    each = (1 + level) / 2

    def excess(mean: FloatArray) -> FloatArray:
        moved = noise + _scatter(mean, np.clip(mean / units, 0.0, 1.0), normal)
        up, down = upper_quantiles(moved, each), upper_quantiles(-moved, each)
        return np.maximum(counts - mean - up, mean - counts - down) - HALF

    inside = np.clip(counts, 0.0, units)
    most = np.minimum(inside + np.abs(noise).max(axis=0) + FAR * (np.sqrt(inside) + FAR), units)
    return accepted(excess, inside, np.zeros_like(inside), most)


def residual_envelope(groups: GroupCounts, noise: GroupNoise, normal: FloatArray, level: float) -> FloatArray:
    """The bound on the absolute mean residual of a group, with probability `level` if the model is right: (groups,).

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
    return np.zeros(1) if normal is None else _scatter(size * share, share, normal)


def _scatter(mean: FloatArray, share: FloatArray, normal: FloatArray) -> FloatArray:
    """Counts of a binomial law less their mean: of a share of all, or of Poisson's law if that is 0."""
    return normal * np.sqrt(mean * (1 - share)) + (normal**2 - 1) * (1 - 2 * share) / 6
