"""Bands and intervals of noisy counts, for these records and for the population they were drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from math import ceil, isfinite, log, log1p, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, require_probability
from ..arrays import BoolArray, FloatArray

# Bands and intervals: how far the truth may be from what was released.
#
# All stand on the unbiased linear estimate, whose noise can be simulated exactly. (Simulating through isotonic
# regression or shrinkage covers too little.) For the population noise and sampling are simulated together: see
# `population_band`.


Band = tuple[FloatArray, FloatArray]

ROUNDING = 1e-9  # a standard deviation below this part of the largest one is the rounding of an exact point
HALVINGS = 40
LEAST_LEVEL = 0.505
"""No end holds less often than this."""
PILOT = 200
"""Draws by which points are scaled, where draws come in chunks that are not kept."""
SLACK = 0.002
"""By how much a level that is simulated may be missed."""
RISK = 0.025
"""The chance that a simulation misses it by more."""


def simultaneous_band(
    curve: FloatArray, deviations: Iterable[FloatArray], level: float, known: NDArray[np.bool_] | None = None
) -> Band:
    """A band that holds the whole true curve, which does not decrease and lies in [0, 1], with chance `level`.

    At every point the estimate plus and minus c standard deviations, where c is the `level` quantile of the largest
    studentised deviation; then the hull: a curve that does not decrease is nowhere below what the band is above it on
    the left, nor above what it is below on the right. Points without noise stay exact.

    Args:
        curve: The unbiased linear estimate, (points,). Not the isotonic one.
        deviations: Its simulated noise at the known points, in chunks of (draws, known points).
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


def simultaneous_errors(deviations: Iterable[FloatArray], level: float) -> FloatArray:
    """Simultaneous bounds on the noise of all points, with probability `level`: as many standard deviations at each.

    Whatever points are scaled by, the largest scaled deviation of further draws has the law of that of the noise. So
    chunks are read once and forgotten: if the first one has `PILOT` draws, or is the only one, it scales and counts;
    else the first ones scale, and only those after them count.

    Args:
        deviations: Simulated noise, in chunks of (draws, points).
        level: The chance that no point is further off.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    scale, counted = estimate_scales(iter(deviations))
    largest = np.concatenate([largest_studentised(chunk, scale) for chunk in counted])
    return np.where(is_noisy(scale), upper_quantile(largest, level) * scale, 0.0)


def largest_studentised(errors: FloatArray, scale: FloatArray) -> FloatArray:
    """The largest error of each draw, in units of the scale of its point, without a sign: (draws, points) to (draws,).

    Points that are exact have none.
    """
    noisy = is_noisy(scale)
    return np.asarray(np.max(np.abs(errors[:, noisy]) / scale[noisy], axis=1, initial=0.0))


def is_noisy(scale: FloatArray) -> BoolArray:
    """A mask of the points whose standard deviation is more than the rounding of an exact one."""
    return np.asarray(scale > ROUNDING * scale.max(initial=0.0))


def estimate_scales(chunks: Iterator[FloatArray]) -> tuple[FloatArray, Iterator[FloatArray]]:
    """The standard deviations of the points, and the chunks that count."""
    squares, draws, counted = np.zeros(1), 0, chunks
    for chunk in chunks:
        counted = chunks if draws > 0 else chain([chunk], chunks)
        squares, draws = squares + np.einsum("ij,ij->j", chunk, chunk), draws + len(chunk)
        if draws >= PILOT:
            break
    return np.sqrt(squares / draws), counted


def monotone_hull(lower: FloatArray, upper: FloatArray) -> Band:
    """The hull of non-decreasing curves in [0, 1] between `lower` and `upper`.

    Where no such curve exists (noise larger than the band allows for), the two change places.
    """
    rising = np.maximum.accumulate(np.clip(lower, 0, 1))
    falling = np.minimum.accumulate(np.clip(upper, 0, 1)[::-1])[::-1]
    return np.minimum(rising, falling), np.maximum(rising, falling)


def basic_interval(estimate: float, deviations: FloatArray, level: float) -> tuple[float, float]:
    """The basic two-sided interval: the estimate less the upper and the lower quantile of its noise, (draws,).

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    each = (1 + require_probability("level", level)) / 2
    return estimate - upper_quantile(deviations, each), estimate + upper_quantile(-deviations, each)


def end_level(gap: float, level: float) -> float:
    """The chance with which each of two ends holds alone, so that both hold with chance `level`.

    It is ``(1 + level) / 2``, unless a number is known only to lie between two, whatever the noise is. It can then be
    missed at the near end, or at the far one, which is that distance further away: the chances of both add up to ``1 -
    level`` (Imbens and Manski 2004). Normal noise is assumed: of a single Laplace noise and a distance of one
    deviation, 0.9 is 0.888; callers pass less than the distance.

    Args:
        gap: The distance that does not stem from noise, or less than it, in standard deviations of the noise.
        level: The chance of both.

    >>> [round(end_level(apart, 0.9), 3) for apart in (0.0, 0.5, 1.0, 9.0)]
    [0.95, 0.926, 0.91, 0.9]
    """
    law = NormalDist()
    least, most = law.inv_cdf(level), law.inv_cdf((1 + level) / 2)
    for _ in range(HALVINGS if gap > 0 else 0):
        middle = (least + most) / 2
        least, most = (least, middle) if law.cdf(middle) + law.cdf(middle + gap) >= 1 + level else (middle, most)
    return max(law.cdf(most), LEAST_LEVEL)


def upper_quantile(sample: FloatArray, level: float) -> float:
    """The order statistic that one more draw of the same law exceeds with probability at most ``1 - level``.

    >>> upper_quantile(np.arange(1.0, 20_000.0), 0.95)
    19021.0
    """
    return float(upper_quantiles(sample[:, None], level)[0])


def upper_quantiles(samples: FloatArray, level: float) -> FloatArray:
    """The `upper_quantile` of each column, (draws, columns) to (columns,).

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    rank = safe_rank(len(samples), level)
    return np.asarray(np.partition(samples, rank - 1, axis=0)[rank - 1])


@lru_cache(maxsize=256)  # a pure function of public numbers
def safe_rank(draws: int, level: float, slack: float = SLACK) -> int:
    """The rank among so many draws that stands for the quantile at `level` of their law: the r-th least.

    On average a share ``r / (draws + 1)`` of the law lies below it, so r is at least ``level * (draws + 1)``. But the
    draws of a fixed seed are the same in every release, and so is what they miss the quantile by. The share is below
    ``level - slack`` only if r draws or more are below that quantile, whose number is binomial: r is the least rank
    for which the chance of this is at most `RISK`, or the last one if none is. *So a level that is simulated is held
    but for 0.2 points; the fewer draws, the further on the safe side.*

    >>> [safe_rank(draws, 0.95) for draws in (999, 4999)]
    [961, 4770]

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    # 1e-9: 1000 * 0.95 is 950, whatever doubles make of it
    least = ceil((draws + 1) * require_probability("level", level) - 1e-9)
    if least > draws:
        raise InvalidArgument("level", f"{level} needs more than {draws} draws")
    unlucky = _binomial_tails(draws, max(level - slack, 0.0))[least:draws]  # draws below that quantile
    return least + int(np.count_nonzero(unlucky > RISK))


def _binomial_tails(draws: int, share: float) -> FloatArray:
    """The chances that 0, 1, ... or more of so many draws fall where one falls with chance `share`, below 1.

    Sums of the binomial law. (SciPy's would take longer to import than a small curve takes.)
    """
    if share == 0:
        return np.append(1.0, np.zeros(draws))
    factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, draws + 1))))
    number = np.arange(draws + 1)
    choices = factorials[-1] - factorials - factorials[::-1]
    law = np.exp(choices + number * log(share) + (draws - number) * log1p(-share))
    return np.asarray(np.cumsum(law[::-1])[::-1])


def dkw_bound(units: float, level: float) -> float:
    """The largest distance of the distribution function of `units` independent units from that of the population.

    With chance `level`, at all points at once (Dvoretzky, Kiefer and Wolfowitz 1956; constant of Massart 1990).

    >>> round(dkw_bound(10_000, 0.95), 4)
    0.0136
    """
    if not (units > 0 and isfinite(units)):
        raise InvalidArgument("units", f"a number above zero is needed, got {units}")
    return sqrt(log(2 / (1 - require_probability("level", level))) / (2 * units))


# Sampling errors: from counts of sampled records to the population that they were drawn from.


GUARD = 1.0
"""Squared records added to the variance of sampled counts: a count of none may come from a mean of a few."""


def simultaneous_mean_ends(  # noqa: PLR0917
    counts: FloatArray,
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
        counts: Unbiased counts.
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
    return wilson_ends(counts, noise + GUARD, squared, size)


def wilson_ends(counts: FloatArray, spread: FloatArray, squared: float, size: float) -> Band:
    """The least and the largest m with ``(counted - m)^2 <= squared (spread + m (1 - m / size))``.

    >>> [round(float(end), 2) for end in wilson_ends(np.array(0.0), np.array(0.0), 4.0, 100.0)]
    [0.0, 3.85]
    """
    return quadratic_roots(1 + squared / size, counts + squared / 2, counts**2 - squared * spread)


def quadratic_roots(first: FloatArray | float, half: FloatArray, rest: FloatArray) -> Band:
    """The least and the largest x with ``first x^2 - 2 half x + rest <= 0``; the middle where there is none."""
    root = np.sqrt(np.maximum(half**2 - first * rest, 0.0))
    return (half - root) / first, (half + root) / first


def join_bands(one: Band, other: Band) -> Band:
    """The band that holds both of these."""
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def join_intervals(one: FloatArray, other: FloatArray) -> FloatArray:
    """Intervals that hold both of these, each (intervals, 2)."""
    return np.stack(join_bands((one[:, 0], one[:, 1]), (other[:, 0], other[:, 1])), axis=1)


# A band for the distribution that units were drawn from: noise and sampling, simulated together.


LEVELLED = 0.1
"""Added to ``F * (1 - F)`` where a deviation is judged: the larger, the more alike the band is everywhere."""
RARE = 3.0
"""So many units are taken to lie beyond each point at the least: of as many there may be none to see."""


class Sample(NamedTuple):
    """Independent units of one record each, drawn from a population.

    Attributes:
        likely: An estimate of their distribution function at the points that were measured, (points,), not decreasing.
        units: How many units there are.
        generator: The generator for simulated sampling, independent of that of the noise.
        variance_factors: By how much the variance of what lies between neighbouring points, and beyond both ends, is more than
            that of `units` records: where they have weights, which differ along the points. None: 1, by no more.
    """

    likely: FloatArray
    units: float
    generator: np.random.Generator
    variance_factors: FloatArray | None = None

    def simulate_sampling_errors(self, draws: int) -> FloatArray:
        """Simulated sampling errors of the shares: (draws, points), as of Brownian bridges."""
        passed = np.diff(self.likely, prepend=0.0, append=1.0)
        if self.variance_factors is not None:
            passed = passed * self.variance_factors
        walk = np.cumsum(self.generator.standard_normal((draws, len(passed))) * np.sqrt(np.maximum(passed, 0)), axis=1)
        return np.asarray((walk[:, :-1] - self.likely * walk[:, -1:]) / np.sqrt(self.units))


def clip_unseen_shares(likely: FloatArray, units: float) -> FloatArray:
    """Shares of so many units with `RARE` units on either side, but for those of none and of all at the very ends.

    >>> clip_unseen_shares(np.array([0.0, 0.0, 0.5, 1.0, 1.0]), 100).tolist()
    [0.0, 0.03, 0.5, 0.97, 1.0]
    """
    least = min(RARE / units, 0.5)
    inner = np.clip(likely, least, 1 - least)
    ends = (np.arange(len(likely)) == 0) & (likely == 0) | (np.arange(len(likely)) == len(likely) - 1) & (likely == 1)
    return np.where(ends, likely, inner)


def population_band(
    curve: FloatArray,
    deviations: Iterable[FloatArray],
    level: float,
    sample: Sample,
    known: NDArray[np.bool_] | None = None,
) -> Band:
    """A simultaneous band for the distribution function F that the units of a sample were drawn from.

    It holds F where the released share f has ``(f - F)^2 <= c^2 (noise + (F (1 - F) + LEVELLED) / units)`` at all
    points at once. The number c is simulated: the `level` quantile of the largest such deviation, of noise and of
    samples of the `likely` distribution together. (Noise at one half of the error chance and the inequality of
    Dvoretzky, Kiefer and Wolfowitz at the other, which is attained by continuous data, would hold in all but a
    hundredth where a tenth may fail.) It matters little that samples are drawn from an estimate. What the variance of
    a sampled share is off by is at most what the share is off by, over `units`: next to nothing beside the square of
    that error, unless noise is less than a record. For that case no variance is taken to be less than that of `RARE`
    units, and none is judged by less than `LEVELLED` over `units`.

    Edges that an earlier turn chose were chosen by noisy counts of this sample: c is that of edges given beforehand.

    Nowhere narrower than the band for these records.

    Args:
        curve: The unbiased linear estimate, (points,). Not the isotonic one.
        deviations: Its simulated noise at the known points, in chunks of (draws, known points).
        level: The chance to hold all of the curve, over noise and sampling.
        sample: What is known of sampling, at the known points.
        known: What `simultaneous_band` takes.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    measured = np.ones(curve.shape, dtype=np.bool_) if known is None else known
    found, units = curve[measured], sample.units
    scale, counted = estimate_scales(iter(deviations))
    spread = scale**2 + LEVELLED / units
    judged = np.sqrt(spread + sample.likely * (1 - sample.likely) / units), np.where(scale > 0, scale, np.inf)
    largest = []
    for noise in counted:
        scattered = np.abs((noise + sample.simulate_sampling_errors(len(noise))) / judged[0])
        largest.append([scattered.max(axis=1), np.abs(noise / judged[1]).max(axis=1)])
    together, alone = (upper_quantile(each, level) for each in np.concatenate(largest, axis=1))
    least, most = wilson_ends(units * found, units**2 * spread, together**2, units)
    lower, upper = np.full(curve.shape, -np.inf), np.full(curve.shape, np.inf)
    lower[measured] = np.minimum(least / units, found - alone * scale)
    upper[measured] = np.maximum(most / units, found + alone * scale)
    return monotone_hull(lower, upper)
