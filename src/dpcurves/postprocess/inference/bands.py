"""Bands and intervals: how far the truth may be from what was released.

All stand on the unbiased linear estimate, whose noise can be simulated exactly. (Simulating through isotonic
regression or shrinkage covers too little.) Where two uncertainties meet, the chance of an error is split between
them: at level 0.95, a band for the population takes noise at 0.975 and sampling at 0.975.
"""

from __future__ import annotations

from math import ceil, isfinite, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ...arguments import Refused, chance
from ...arrays import FloatArray

Band = tuple[FloatArray, FloatArray]

ROUNDING = 1e-9  # a standard deviation below this part of the largest one is the rounding of an exact point


def simultaneous_band(
    curve: FloatArray, deviations: FloatArray, level: float, known: NDArray[np.bool_] | None = None
) -> Band:
    """A band that holds the whole true curve, which does not decrease and lies in [0, 1], with chance `level`.

    At every point the estimate plus and minus c standard deviations, where c is the `level` quantile of the largest
    studentised deviation; then the hull: a curve that does not decrease is nowhere below what the band is above it on
    the left, nor above what it is below on the right. Points without noise stay exact.

    Args:
        curve: The unbiased linear estimate, (points,). Not the isotonic one.
        deviations: Its simulated noise at the known points, (draws, known points).
        level: The chance to hold all of the curve, over the noise.
        known: Points that were measured. The others lie inside merged cells, where the curve can rise anywhere: the
            band spans both measured neighbours. None: all.

    Returns:
        Lower and upper, (points,), neither decreasing.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    measured = np.ones(curve.shape, dtype=np.bool_) if known is None else known
    half = np.full(curve.shape, np.inf)
    half[measured] = simultaneous_errors(deviations, level)
    return monotone_hull(curve - half, curve + half)


def simultaneous_errors(deviations: FloatArray, level: float) -> FloatArray:
    """How far noise goes at most, at all points at once with chance `level`: as many standard deviations at each.

    Args:
        deviations: Simulated noise, (draws, points).
        level: The chance that no point is further off.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    sd = np.sqrt(np.mean(deviations**2, axis=0))
    noisy = sd > ROUNDING * sd.max(initial=0.0)
    largest = np.max(np.abs(deviations[:, noisy]) / sd[noisy], axis=1, initial=0.0)
    return np.where(noisy, upper_quantile(largest, level) * sd, 0.0)


def population_band(
    curve: FloatArray, deviations: FloatArray, level: float, units: float, known: NDArray[np.bool_] | None = None
) -> Band:
    """A simultaneous band for the distribution that `units` independent units were drawn from.

    The chance of an error is split in halves: noise, and sampling by Dvoretzky, Kiefer and Wolfowitz. Units that have
    several records, or that depend on each other, are not covered.
    """
    each = (1 + chance("level", level)) / 2
    lower, upper = simultaneous_band(curve, deviations, each, known)
    sampling = dvoretzky(units, each)
    return np.maximum(lower - sampling, 0.0), np.minimum(upper + sampling, 1.0)


def monotone_hull(lower: FloatArray, upper: FloatArray) -> Band:
    """All that curves between `lower` and `upper` can reach if they do not decrease and stay in [0, 1].

    Where no such curve exists (noise larger than the band allows for), the two change places.
    """
    rising = np.maximum.accumulate(np.clip(lower, 0, 1))
    falling = np.minimum.accumulate(np.clip(upper, 0, 1)[::-1])[::-1]
    return np.minimum(rising, falling), np.maximum(rising, falling)


def interval(estimate: float, deviations: FloatArray, level: float) -> tuple[float, float]:
    """The basic two-sided interval: the estimate less the upper and the lower quantile of its noise, (draws,).

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    each = (1 + chance("level", level)) / 2
    return estimate - upper_quantile(deviations, each), estimate + upper_quantile(-deviations, each)


def upper_quantile(sample: FloatArray, level: float) -> float:
    """The order statistic that one more draw of the same law passes with chance ``1 - level`` at most.

    >>> upper_quantile(np.arange(1.0, 100.0), 0.95)
    95.0
    """
    return float(upper_quantiles(sample[:, None], level)[0])


def upper_quantiles(samples: FloatArray, level: float) -> FloatArray:
    """Take `upper_quantile` of each column, (draws, columns) to (columns,).

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    # 1e-9: 1000 * 0.95 is 950, whatever doubles make of it
    rank = ceil((len(samples) + 1) * chance("level", level) - 1e-9)
    if rank > len(samples):
        raise Refused("level", f"{level} needs more than {len(samples)} draws")
    return np.asarray(np.partition(samples, rank - 1, axis=0)[rank - 1])


def dvoretzky(units: float, level: float) -> float:
    """How far the distribution function of `units` independent units is from that of the population, at most.

    With chance `level`, at all points at once (Dvoretzky, Kiefer and Wolfowitz 1956; constant of Massart 1990).

    >>> round(dvoretzky(10_000, 0.95), 4)
    0.0136
    """
    if not (units > 0 and isfinite(units)):
        raise Refused("units", f"a number above zero is needed, got {units}")
    return sqrt(log(2 / (1 - chance("level", level))) / (2 * units))
