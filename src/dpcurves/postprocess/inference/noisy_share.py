"""Intervals of a noisy count of subsets: of the count itself, and of the chance that another subset is counted."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from ...arrays import FloatArray, IntArray
from ...laws import Family, Noise

WIDE = 1e4
"""The variance of Gaussian noise from which on its tails are those of the normal law, to a relative error of 1e-4."""
FINE = 50
"""Steps of a bisection."""


def posterior(released: int, subsets: int, noise: Noise) -> FloatArray:
    """The chances of each true count from 0 to `subsets`, all alike likely before, of shape ``(subsets + 1,)``.

    >>> from fractions import Fraction
    >>> posterior(3, 3, Noise(Family.LAPLACE, Fraction(1, 100))).round(3).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    apart = np.abs(float(released) - np.arange(subsets + 1))
    scale = float(noise.parameter)
    weight = -apart / scale if noise.family is Family.LAPLACE else -(apart**2) / (2 * scale)
    likely = np.exp(weight - weight.max())
    return np.asarray(likely / likely.sum())


def above_half(released: int, subsets: int, noise: Noise) -> float:
    """The chance that more than half of the subsets were counted, by `posterior`."""
    return float(posterior(released, subsets, noise)[subsets // 2 + 1 :].sum())


def chance_above_half(released: int, subsets: int, noise: Noise) -> float:
    """The chance that another subset is counted more likely than not, if all such chances are alike likely before.

    Then all true counts are alike likely before, and with s of m counted the chance has Beta's law of s + 1 and
    m - s + 1.
    """
    from scipy.special import betainc

    counts = np.arange(subsets + 1)
    return float(posterior(released, subsets, noise) @ (1 - betainc(counts + 1, subsets - counts + 1, 0.5)))


def count_interval(released: int, subsets: int, noise: Noise, level: float) -> tuple[float, float]:
    """Two counts that have the true one between them with chance `level` at least, whatever it is."""
    counts, part = np.arange(subsets + 1), (1 - level) / 2
    above, below = _at_least(released - counts, noise), _at_least(counts - released, noise)
    fits = counts[(above > part) & (below > part)]
    if not len(fits):
        nearest = float(min(max(released, 0), subsets))
        return nearest, nearest
    return float(fits[0]), float(fits[-1])


def chance_interval(released: int, subsets: int, noise: Noise, level: float) -> tuple[float, float]:
    """Two chances that have that of a subset to be counted between them with chance `level` at least.

    The ends are the chances at which the released number would lie as far out as it does with half of what is left:
    binomial sampling and noise together (Clopper and Pearson 1934).
    """
    from scipy.special import bdtr

    counts, part = np.arange(subsets + 1), (1 - level) / 2
    above, below = _at_least(released - counts, noise), _at_least(counts - released, noise)

    def expected(tail: FloatArray, chance: float) -> float:
        return float(np.diff(bdtr(counts, subsets, chance), prepend=0.0) @ tail)

    low = _first(lambda chance: expected(above, chance) > part)
    high = 1 - _first(lambda chance: expected(below, 1 - chance) > part)
    return (low, high) if low <= high else (min(max(released / subsets, 0.0), 1.0),) * 2


def _first(holds: Callable[[float], bool]) -> float:
    """From where on, between 0 and 1, it holds; 1 where it does nowhere."""
    low, high = 0.0, 1.0
    if holds(0.0):
        return 0.0
    for _ in range(FINE):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def _at_least(integers: IntArray, noise: Noise) -> FloatArray:
    """The chance that the noise is at least so much, for each integer."""
    from scipy.special import ndtr

    values = np.asarray(integers, dtype=np.float64)
    if noise.family is Family.LAPLACE:
        rate = 1 / float(noise.parameter)
        tail = np.exp(-rate * np.where(values > 0, values, 1 - values)) / (1 + np.exp(-rate))
        return np.asarray(np.where(values > 0, tail, 1 - tail))
    variance = float(noise.parameter)
    if variance > WIDE:
        return np.asarray(ndtr((0.5 - values) / sqrt(variance)))
    support = np.arange(-int(12 * sqrt(variance)) - 2, int(12 * sqrt(variance)) + 3)
    chances = np.exp(-0.5 * support.astype(np.float64) ** 2 / variance)
    tails = np.append(np.cumsum(chances[::-1])[::-1], 0.0) / chances.sum()
    return np.asarray(tails[np.clip(values - support[0], 0, len(support)).astype(np.int64)])
