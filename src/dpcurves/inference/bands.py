"""Confidence bands and intervals from noisy counts, for these records and for the population they were drawn from.

A band contains the whole true curve F with probability `level`. It is computed from an unbiased linear estimate f,
whose noise can be simulated exactly:

    f(x) - c * s(x) <= F(x) <= f(x) + c * s(x)      c = level quantile of max_x |noise(x)| / s(x)

where s is the standard deviation of the noise; then its monotone hull is taken. (Simulating through isotonic regression
or shrinkage covers too little.) For a population of which n independent units were drawn, noise and sampling are
simulated together:

    (f - F)**2 <= c**2 * (noise variance + (F * (1 - F) + v) / n)      v = `Tuning.levelling_variance`

The field says confidence bands; studentised, or equal-precision, bands. `simultaneous_band` is for curves,
`basic_interval` for single numbers. Simulated quantiles are order statistics whose rank allows for the error of the
simulation itself (`safe_rank`), because the seed is fixed.

Formal guarantees: post-processing of released numbers and simulation from public ones.

References: Dvoretzky, Kiefer and Wolfowitz 1956, Massart 1990 (`dkw_bound`); Wilson 1927 (`wilson_ends`); Nair 1984
(equal-precision bands); Imbens and Manski 2004 (`end_level`).

>>> noise = np.random.default_rng(1).normal(0.0, 0.02, size=(4999, 5))  # of five points, from a public seed
>>> lower, upper = simultaneous_band(np.array([0.1, 0.3, 0.5, 0.7, 0.9]), [noise], level=0.95)
>>> lower.round(2), upper.round(2)
(array([0.05, 0.25, 0.45, 0.65, 0.85]), array([0.15, 0.35, 0.55, 0.75, 0.95]))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import ceil, isfinite, log, log1p, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, require_probability
from ..arrays import BoolArray, FloatArray

RealArray = NDArray[np.floating[Any]]
"""Numbers of any precision."""

# Bands and intervals of true curves, given the released counts.
#
# All use the unbiased linear estimate, whose noise can be simulated exactly. (Simulating through isotonic
# regression or shrinkage covers too little.) For the population noise and sampling are simulated together: see
# `population_band`.


Band = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer simulated levels and bands; `benchmarks/tuning.py` varies each of them."""

    pilot_draws: int = 200
    """Draws that set the scale of each point of a band, if draws come in chunks that are not stored."""
    slack: float = 0.002
    """Probability by which a simulated level may fall short of the stated one."""
    risk: float = 0.025
    """Probability that a simulated level falls short by more than `slack`."""
    sampling_guard: float = 1.0
    """Squared records that are added to the variance of sampled counts: a count of zero may come from a mean of a few
    records."""
    levelling_variance: float = 0.1
    """Variance of one record that is added to ``F * (1 - F)`` in the variance of a deviation: larger values make the
    width of the band more even."""
    least_units_beyond: float = 3.0
    """Units. Estimated shares of inner points are kept at least this many units away from 0 and 1: with a mean of 3, no
    unit is observed with probability 5 % (``exp(-3)``)."""


TUNING = Tuning()
"""The values that bands use unless a caller passes others."""


def simultaneous_band(
    curve: FloatArray, deviations: Iterable[FloatArray], level: float, known: NDArray[np.bool_] | None = None
) -> Band:
    """Return a simultaneous confidence band: it contains the whole true curve, non-decreasing and in [0, 1], with
    probability `level`.

    At every point the band is the estimate plus and minus c standard deviations, where c is the `level` quantile of the
    largest studentised deviation. Then the monotone hull is taken: a non-decreasing curve is never below the band's
    lower endpoint further left, nor above the upper endpoint further right. Points without noise stay exact.

    Args:
        curve: The unbiased linear estimate, of shape ``(points,)``. Not the isotonic one.
        deviations: Its simulated noise at the known points, in chunks of shape ``(draws, known points)``.
        level: Coverage probability over the noise.
        known: Mask of the points that were measured. The others lie inside merged cells, where the curve can rise
            anywhere: the band spans both measured neighbours. None: all.

    Returns:
        Lower and upper ends, each of shape ``(points,)``, both non-decreasing.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    measured = np.ones(curve.shape, dtype=np.bool_) if known is None else known
    half_width = np.full(curve.shape, np.inf)
    half_width[measured] = simultaneous_errors(deviations, level)
    return monotone_hull(curve - half_width, curve + half_width)


def simultaneous_errors(deviations: Iterable[FloatArray], level: float) -> FloatArray:
    """Return bounds of the absolute noise that hold at all points with probability `level`, of shape ``(points,)``.

    They are a common multiple of the standard deviations. For any scaling of the points, the largest scaled deviation
    of further draws has the distribution of the noise's. So chunks are read once: if the first chunk has
    `Tuning.pilot_draws` draws, or is the only one, it both scales and counts; else the first chunks scale, and only
    later chunks count.

    Args:
        deviations: Simulated noise, in chunks of shape ``(draws, points)``.
        level: Probability that no point errs more.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    scale, remaining_chunks = estimate_scales(iter(deviations))
    largest = np.concatenate([largest_studentised(chunk, scale) for chunk in remaining_chunks])
    return np.where(is_noisy(scale), upper_quantile(largest, level) * scale, 0.0)


def largest_studentised(errors: RealArray, scale: RealArray) -> FloatArray:
    """Return the largest absolute error of each draw, in units of the scale of its point, of shape ``(draws,)``.

    Args:
        errors: Simulated errors, of shape ``(draws, points)``.
        scale: Standard deviation of each point, of shape ``(points,)``; exact points have no error and are left out.
    """
    noisy = is_noisy(scale)
    scales, columns = (scale, slice(None)) if noisy.all() else (scale[noisy], noisy)
    largest = [np.max(np.abs(rows[:, columns]) / scales, axis=1, initial=0.0) for rows in split_into_blocks(errors)]
    return np.concatenate([np.zeros(0), *largest])


def split_into_blocks(draws: RealArray) -> Iterator[RealArray]:
    """Yield views of consecutive draws that fit into the cache of a processor, (rows, points).

    Args:
        draws: Array of shape (draws, points); changes to a view change it.
    """
    rows = max(2**15 // max(draws.shape[1], 1), 1)  # 2**15 values: a quarter of a megabyte
    for start in range(0, len(draws), rows):
        yield draws[start : start + rows]


def is_noisy(scale: RealArray) -> BoolArray:
    """Return a mask of the points whose standard deviation exceeds the rounding error of an exact point.

    Args:
        scale: Standard deviation of each point, (points,); the largest decides what counts as rounding.
    """
    return np.asarray(scale > 1e-9 * scale.max(initial=0.0))  # smaller deviations are the rounding of an exact point


def estimate_scales(chunks: Iterator[FloatArray]) -> tuple[FloatArray, Iterator[FloatArray]]:
    """Estimate the standard deviation of each point from the first chunks of draws, and return it with the chunks that
    may be used for quantiles.

    These are the chunks not yet read; if a single chunk was read, it is included.

    Args:
        chunks: Blocks of draws, (draws, points).

    Returns:
        Standard deviations, (points,), and the chunks.
    """
    squares = np.zeros(1)
    draws = 0
    remaining_chunks = chunks
    for chunk in chunks:
        remaining_chunks = chunks if draws > 0 else chain([chunk], chunks)
        squares = squares + np.einsum("ij,ij->j", chunk, chunk)
        draws = draws + len(chunk)
        if draws >= TUNING.pilot_draws:
            break
    return np.sqrt(squares / draws), remaining_chunks


def monotone_hull(lower: FloatArray, upper: FloatArray) -> Band:
    """Return the smallest band that contains all non-decreasing curves in [0, 1] between `lower` and `upper`.

    Where no curve fits, because noise exceeds the allowance of the band, lower and upper are swapped.

    Args:
        lower: Lower limits, (points,).
        upper: Upper limits, (points,).
    """
    rising, falling = _envelopes(lower, upper)
    return np.minimum(rising, falling), np.maximum(rising, falling)


def hull_widths(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the width at each point of the band of `monotone_hull`, (points,); negative where no non-decreasing curve
    fits.

    Widths grow if `lower` falls or `upper` rises.

    Args:
        lower: Lower limits, (points,).
        upper: Upper limits, (points,).
    """
    rising, falling = _envelopes(lower, upper)
    return falling - rising


def _envelopes(lower: FloatArray, upper: FloatArray) -> Band:
    """Tighten limits of a non-decreasing curve in [0, 1]: the lower limit is the largest so far, the upper one the
    smallest from there on.

    Args:
        lower: Lower limits, (points,).
        upper: Upper limits, (points,).
    """
    return np.maximum.accumulate(np.clip(lower, 0, 1)), np.minimum.accumulate(np.clip(upper, 0, 1)[::-1])[::-1]


def basic_interval(estimate: float, deviations: FloatArray, level: float) -> tuple[float, float]:
    """Return the basic two-sided interval: the estimate minus the upper, and minus the lower, quantile of its noise.

    Args:
        estimate: The unbiased estimate.
        deviations: Its simulated noise, of shape ``(draws,)``.
        level: Coverage probability.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    level_per_end = (1 + require_probability("level", level)) / 2
    return estimate - upper_quantile(deviations, level_per_end), estimate + upper_quantile(-deviations, level_per_end)


def end_level(gap: float, level: float) -> float:
    """Return the one-sided probability with which each endpoint of an interval must hold, so that both hold with
    `level`.

    It is ``(1 + level) / 2``, unless a number is only identified up to an interval, even without noise. The number can
    then be missed at the near end, or at the far end at that distance: both probabilities add up to ``1 - level``
    (Imbens and Manski 2004). The formula assumes normal noise: with a single Laplace noise and a distance of one
    deviation, 0.9 becomes 0.888; callers pass less than the distance.

    Args:
        gap: Distance of the ends that does not stem from noise, or less, in standard deviations of the noise.
        level: Coverage probability of both ends.

    >>> [round(end_level(apart, 0.9), 3) for apart in (0.0, 0.5, 1.0, 9.0)]
    [0.95, 0.926, 0.91, 0.9]
    """
    distribution = NormalDist()
    lowest = distribution.inv_cdf(level)
    highest = distribution.inv_cdf((1 + level) / 2)
    # bisection steps
    for _ in range(40 if gap > 0 else 0):
        middle = (lowest + highest) / 2
        lowest, highest = (
            (lowest, middle)
            if distribution.cdf(middle) + distribution.cdf(middle + gap) >= 1 + level
            else (middle, highest)
        )
    return max(distribution.cdf(highest), 0.505)  # an end holds with barely more than probability 1/2


def upper_quantile(sample: FloatArray, level: float) -> float:
    """Return a quantile of simulated draws that a further draw exceeds with probability at most ``1 - level``.

    Args:
        sample: Draws, of shape ``(draws,)``.
        level: Level of the quantile, between 0 and 1.

    >>> upper_quantile(np.arange(1.0, 20_000.0), 0.95)
    19021.0
    """
    return float(upper_quantiles(sample[:, None], level)[0])


def upper_quantiles(samples: FloatArray, level: float) -> FloatArray:
    """Return, for each column of draws, the quantile that a further draw exceeds with probability at most ``1 -
    level``, (columns,).

    Args:
        samples: Draws, of shape ``(draws, columns)``.
        level: Level of the quantile, between 0 and 1.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    rank = safe_rank(len(samples), level)
    return np.asarray(np.partition(samples, rank - 1, axis=0)[rank - 1])


@lru_cache(maxsize=256)  # a pure function of public numbers
def safe_rank(draws: int, level: float, slack: float = TUNING.slack) -> int:
    """Return the rank, from 1, of the simulated draw that serves as the quantile at `level`.

    On average a share ``r / (draws + 1)`` of the distribution lies below the r-th smallest draw, so r is at least
    ``level * (draws + 1)``. But the draws of a fixed seed are the same in every release, and so is their error. The
    share is below ``level - slack`` only if r draws or more are below that quantile, and their number is binomial: r is
    the smallest rank for which this probability is at most `Tuning.risk`, or the last rank. *So a simulated level is
    held up to 0.2 points; with fewer draws the result is more conservative.*

    Args:
        draws: Number of draws.
        level: Level of the quantile, between 0 and 1.
        slack: Probability by which the level may fall short.

    >>> [safe_rank(draws, 0.95) for draws in (999, 4999)]
    [961, 4770]

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    # 1e-9: 1000 * 0.95 must count as 950 despite rounding
    smallest_rank = ceil((draws + 1) * require_probability("level", level) - 1e-9)
    if smallest_rank > draws:
        raise InvalidArgument(
            "level", f"a band at level {level} needs more than {draws} draws of noise: give a lower level"
        )
    failure_probabilities = _binomial_tails(draws, max(level - slack, 0.0))[
        smallest_rank:draws
    ]  # draws below that quantile
    return smallest_rank + int(np.count_nonzero(failure_probabilities > TUNING.risk))


def _binomial_tails(draws: int, share: float) -> FloatArray:
    """Return the upper tail probabilities P(X >= 0), ..., P(X >= draws) of a binomial X with probability `share` below
    1.

    They are sums of binomial probabilities, because importing SciPy would take longer than a small curve takes.

    Args:
        draws: Number of trials.
        share: Success probability, below 1.

    Returns:
        Probabilities, (draws + 1,).
    """
    if share == 0:
        return np.append(1.0, np.zeros(draws))
    factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, draws + 1))))
    number = np.arange(draws + 1)
    log_binomials = factorials[-1] - factorials - factorials[::-1]
    distribution = np.exp(log_binomials + number * log(share) + (draws - number) * log1p(-share))
    return np.asarray(np.cumsum(distribution[::-1])[::-1])


def dkw_bound(units: float, level: float) -> float:
    """Return the largest distance between the distribution functions of a sample and of its population, at `level`.

    It holds at all points simultaneously (Dvoretzky, Kiefer and Wolfowitz 1956; constant of Massart 1990).

    Args:
        units: Number of independent units in the sample, above 0.
        level: Probability that the bound holds.

    Raises:
        ValueError: `units` is not a positive finite number, or the level is not between 0 and 1.

    >>> round(dkw_bound(10_000, 0.95), 4)
    0.0136
    """
    if not (units > 0 and isfinite(units)):
        raise InvalidArgument("units", f"the number of units must be above 0, as in 5000, got {units}")
    return sqrt(log(2 / (1 - require_probability("level", level))) / (2 * units))


# Sampling errors: from counts of sampled records to the population that they were drawn from.


def simultaneous_mean_ends(  # noqa: PLR0917
    counts: FloatArray,
    noise: FloatArray,
    errors: Iterable[FloatArray],
    likely: FloatArray,
    records: float,
    level: float,
) -> Band:
    """Return simultaneous intervals of the expected counts over samples of a population, with probability `level`, not
    clipped at 0.

    An interval holds all means m with ``(counted - m)**2 <= c**2 (noise + guard + m (1 - m / n))`` (Wilson 1927, with
    noise), where guard is `Tuning.sampling_guard` and c is the `level` quantile of the largest of these deviations, for
    simulated errors of the likely counts.

    Args:
        counts: Unbiased counts.
        noise: Variances of their noise.
        errors: Simulated errors by noise and sampling, with draws as the first axis; in chunks.
        likely: Approximate counts, at least 0.
        records: Approximate number of records.
        level: Coverage probability.
    """
    size = max(records, 1.0)
    deviations = np.sqrt(noise + TUNING.sampling_guard + likely * np.maximum(1 - likely / size, 0.0))
    largest = [np.abs(chunk / deviations).reshape(len(chunk), -1).max(axis=1) for chunk in errors]
    squared_critical_value = upper_quantile(np.concatenate(largest), level) ** 2
    return wilson_ends(counts, noise + TUNING.sampling_guard, squared_critical_value, size)


def wilson_ends(counts: FloatArray, spread: FloatArray, squared: float, size: float) -> Band:
    """Return Wilson's interval of the mean m of a noisy count: the lowest and highest m with ``(counts - m)^2 <=
    squared (spread + m (1 - m / size))``.

    Args:
        counts: Noisy counts.
        spread: Variance of their noise, of the same shape.
        squared: Squared critical value, in standard deviations.
        size: Number of records in the sample.

    >>> [round(float(end), 2) for end in wilson_ends(np.array(0.0), np.array(0.0), 4.0, 100.0)]
    [0.0, 3.85]
    """
    return quadratic_roots(1 + squared / size, counts + squared / 2, counts**2 - squared * spread)


def quadratic_roots(first: FloatArray | float, half: FloatArray, rest: FloatArray) -> Band:
    """Return the lowest and the highest x with ``first x^2 - 2 half x + rest <= 0``; without a solution, the vertex.

    Args:
        first: Coefficient of x**2, above zero; of any shape.
        half: Minus half of the coefficient of x, of the same shape.
        rest: The constant, of the same shape.
    """
    root = np.sqrt(np.maximum(half**2 - first * rest, 0.0))
    return (half - root) / first, (half + root) / first


def join_bands(one: Band, other: Band) -> Band:
    """Return the smallest band that contains both bands, from pointwise lower and upper bounds.

    Args:
        one: Lower and upper bounds, (points,) each.
        other: Lower and upper bounds of the same points.

    Returns:
        Lower and upper bounds, (points,) each.
    """
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def join_intervals(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return, for each pair of intervals, the smallest interval that contains both, ``(intervals, 2)``.

    Args:
        one: Lower and upper ends, (intervals, 2).
        other: Lower and upper ends, of the same shape.
    """
    return np.stack(join_bands((one[:, 0], one[:, 1]), (other[:, 0], other[:, 1])), axis=1)


# A band for the distribution of the population: noise and sampling, simulated together.


class Sample(NamedTuple):
    """Independent units of one record each, drawn from a population.

    Attributes:
        likely: An estimate of their distribution function at the measured points, (points,), non-decreasing.
        units: The number of units.
        generator: The generator for simulated sampling, independent of the generator of the noise.
        variance_factors: Ratios of the variance between neighbouring points, and beyond both ends, to the variance of
            `units` records: weights may differ along the points. None: 1.
    """

    likely: FloatArray
    units: float
    generator: np.random.Generator
    variance_factors: FloatArray | None = None

    def simulate_sampling_errors(self, draws: int) -> FloatArray:
        """Simulate sampling errors of the shares below each point, as Brownian bridges: (draws, points).

        Args:
            draws: Number of draws.
        """
        cell_shares = np.diff(self.likely, prepend=0.0, append=1.0)
        if self.variance_factors is not None:
            cell_shares = cell_shares * self.variance_factors
        deviations = np.sqrt(np.maximum(cell_shares, 0))
        root = np.sqrt(self.units)
        errors = np.empty((draws, len(self.likely)))
        for rows in split_into_blocks(errors):  # in the cache of the processor
            walk = self.generator.standard_normal((len(rows), len(cell_shares)))
            walk *= deviations
            np.cumsum(walk, axis=1, out=walk)
            np.multiply(self.likely, walk[:, -1:], out=rows)
            np.subtract(walk[:, :-1], rows, out=rows)
            np.divide(rows, root, out=rows)
        return errors


def clip_unseen_shares(likely: FloatArray, units: float) -> FloatArray:
    """Clip estimated shares below each point so that at least `least_units_beyond` units lie on either side, because
    unseen tails are possible.

    The first point keeps 0 and the last point 1.

    >>> clip_unseen_shares(np.array([0.0, 0.0, 0.5, 1.0, 1.0]), 100).tolist()
    [0.0, 0.03, 0.5, 0.97, 1.0]

    Args:
        likely: Estimated shares in [0, 1], (points,).
        units: Number of units of the sample, above 0.
    """
    smallest = min(TUNING.least_units_beyond / units, 0.5)
    inner = np.clip(likely, smallest, 1 - smallest)
    ends = (np.arange(len(likely)) == 0) & (likely == 0) | (np.arange(len(likely)) == len(likely) - 1) & (likely == 1)
    return np.where(ends, likely, inner)


def population_band(
    curve: FloatArray,
    deviations: Iterable[FloatArray],
    level: float,
    sample: Sample,
    known: NDArray[np.bool_] | None = None,
) -> Band:
    """Return a simultaneous band for the distribution function F that the units of a sample were drawn from.

    It contains F if the released share f has ``(f - F)^2 <= c^2 (noise + (F (1 - F) + v) / units)`` at all points
    simultaneously, where v is `levelling_variance`. The number c is simulated: the `level` quantile of the largest of
    these deviations, over noise and samples of the `likely` distribution together. (Splitting the error probability
    between noise and the inequality of Dvoretzky, Kiefer and Wolfowitz, which is tight for continuous data, would fail
    in a hundredth of the cases where a tenth is allowed.) Drawing samples from an estimate matters little: the variance
    of a sampled share errs by at most the error of the share over `units`, which is negligible against the square of
    that error unless noise is below one record. For that case every variance is at least the variance of
    `least_units_beyond` units, and every deviation is divided by at least v over `units`.

    Edges that an earlier round chose depend on noisy counts of this sample; c assumes edges that were fixed before.

    Nowhere narrower than the band for these records.

    Args:
        curve: The unbiased linear estimate, (points,). Not the isotonic one.
        deviations: Its simulated noise at the known points, in chunks of (draws, known points).
        level: The coverage probability over noise and sampling.
        sample: The sampling model at the known points.
        known: True where the curve was measured, (points,); None: everywhere. Elsewhere the band follows from
            monotonicity.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    measured = np.ones(curve.shape, dtype=np.bool_) if known is None else known
    estimate = curve[measured]
    units = sample.units
    scale, counted = estimate_scales(iter(deviations))
    spread = scale**2 + TUNING.levelling_variance / units
    scales = np.sqrt(spread + sample.likely * (1 - sample.likely) / units), np.where(scale > 0, scale, np.inf)
    largest = []
    for noise in counted:
        sampled_errors = np.abs((noise + sample.simulate_sampling_errors(len(noise))) / scales[0])
        largest.append([sampled_errors.max(axis=1), np.abs(noise / scales[1]).max(axis=1)])
    critical_value, noise_critical_value = (
        upper_quantile(sample_errors, level) for sample_errors in np.concatenate(largest, axis=1)
    )
    lowest, highest = wilson_ends(units * estimate, units**2 * spread, critical_value**2, units)
    lower = np.full(curve.shape, -np.inf)
    upper = np.full(curve.shape, np.inf)
    lower[measured] = np.minimum(lowest / units, estimate - noise_critical_value * scale)
    upper[measured] = np.maximum(highest / units, estimate + noise_critical_value * scale)
    return monotone_hull(lower, upper)
