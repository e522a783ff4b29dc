"""Estimates from noisy counts of two classes by score: counts for ROC curves, smoothed shares for calibration plots.

*Counts* (`estimate_two_classes`). ROC curves of most models are nearly binormal: with u the rank of a score among all
records, as a share, the log-odds of a positive are about a line in the normal score of u,

    logit P(positive | u) = a + b * Phi^-1(u)

The line is fitted to the noisy counts. Departures from it are shrunk level by level of the tree of intervals. The
result is averaged with the unbiased counts x,

    estimate = x + w * (fit + shrunk departures - x)      w = min(1, (m / 2) / S)

where S is the sum of the m squared departures over their variances (after James and Stein 1961). If the counts
contradict the line, w is small and the unbiased counts are used.

*Shares* (`smooth_shares`). The probability of a positive at score s is a Gaussian process: a line of slope about 1 plus
bends of covariance ``A**2 * exp(-(s - t)**2 / (2 * reach**2))``, with the most likely amplitude A. Shares scatter
binomially about probabilities, and counts scatter by their noise. The posterior mean of the shares is returned.

Formal guarantees: no records are read and no budget is spent, because both are functions of released and public numbers
(post-processing).

References: Dorfman and Alf 1969 (the binormal curve); James and Stein 1961; Rasmussen and Williams 2006, chapter 2.

>>> positive, negative = np.array([10.0, 60.0, 40.0]), np.array([90.0, 40.0, 60.0])
>>> smooth_shares(np.array([0.1, 0.5, 0.9]), positive, negative, variance=1000.0).round(2)
array([0.16, 0.41, 0.53])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..distributions import IntervalSums, NoisySums, shrinkage_factors
from ..distributions.interval_sums import (
    Layer,
    LevelMeasurement,
    adjust_rows_to_total,
    least_squares,
    run_upward_pass,
    split_by_level,
    split_into_parts,
    spread_over_cells,
)
from ..summaries.two_classes import isotonic_projection
from .joint_estimate import shrink_estimate


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer `smooth_shares`."""

    amplitudes: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
    """Shares: candidate standard deviations of a curve of shares from its line; the most likely one is used."""
    reach: float = 0.2
    """Normal scores: distance over which bends of a curve are correlated."""
    line_deviation: float = 1.0
    """Log odds: prior standard deviation of the level of the line, and of its slope around 1."""
    least_probability: float = 0.02
    """Smallest probability of a class in binomial variances, so that no variance is 0."""
    least_group: float = 1.0
    """Records. Smallest group size in binomial variances; smaller groups are treated as this large."""
    fan: int = 4
    """Children of an interval, at most: where a measured interval has more, levels that join 4, 16, 64, ... of them are
    inserted, so that small shifts over long stretches remain visible when counts are shrunk."""
    least_variance: float = 1e-6
    """Squared records: lower limit of variances in the fit, far below the noise of any count."""


TUNING = Tuning()
"""The values that `smooth_shares` uses."""


def estimate_two_classes(distribution: NoisySums, values: Sequence[int], total: int | None) -> FloatArray:
    """Return estimated counts of negatives and positives in each cell, for curves of cumulated counts.

    The log-odds of a positive are fitted as a line in the normal score of the rank among all records. The line holds
    for two normal distributions of similar spread on any scale of scores. Where counts contradict it, two corrections
    apply:

    - Departures of the counts from the fit are estimated level by level of the tree, from the top. Each family of
      siblings keeps the fraction of `shrinkage_factors`, and at least the ratio of binomial variance to total variance.
    - The result is averaged with the unbiased counts. Its weight is ``d / s``, at most 1 (after James and Stein 1961):
      s is the sum of squared departures of all counts over their variances, and d its expectation under noise alone.
      That is half of their number, because the fit takes the sums of both classes from the counts.

    Totals are estimated by least squares. Sums that are not over nested intervals are estimated by `shrink_estimate`.

    Formal guarantees: a pure function of `distribution`, the released values and the public total, so the
    data-dependent weight costs no privacy.

    Args:
        distribution: Distribution of the released values, with two rows: negatives and positives.
        values: The released values, in the order of `distribution`.
        total: Public number of records, or None: see `least_squares`.

    Returns:
        Counts of shape (2, cells), some of which may be negative.

    Raises:
        ValueError: the values do not fit `distribution`, or its levels are not nested.
    """
    if not distribution.is_nested:
        return shrink_estimate(distribution, values, total)
    debiased = distribution.debias(np.asarray(values, dtype=np.float64))
    nested = distribution.nested_distribution.require_type(IntervalSums)
    counts = least_squares(nested, debiased, total).cells
    fit = fit_logistic_line(nested, debiased, counts)
    departures = _measure_departures(nested, debiased, total, fit)
    weight = min(1.0, departures.degrees_of_freedom / 2 / max(departures.squares, TUNING.least_variance))
    return counts + weight * (fit + departures.cells - counts)


def smooth_shares(scores: FloatArray, positive: FloatArray, negative: FloatArray, variance: float) -> FloatArray:
    """Return the share of positives in each group, in [0, 1], smoothed by a Gaussian process prior.

    Probabilities are a Gaussian process in the score: a line with uncertain level and slope, plus a bend whose
    amplitude is the most likely of `Tuning.amplitudes` (empirical Bayes). The shares of these records scatter
    binomially about the probabilities, and noisy counts scatter about the shares; the posterior mean of the shares is
    returned. With little noise it is the counted share. With more noise a group borrows from its neighbours. With noise
    alone the shares lie near a line.

    Reach and scale were chosen on even, hilly and crowded scores whose probabilities are the score, a steep step or a
    wave, and judged on the other distributions of `benchmarks/accuracy/diagnostics.py`.

    Formal guarantees: a pure function of released and public numbers.

    Args:
        scores: Mean score of each group, shape (groups,).
        positive: Nonnegative counts of positives of each group, shape (groups,).
        negative: Nonnegative counts of negatives, shape (groups,). Not all counts are zero.
        variance: Variance of the noise of each count, in squared records.

    >>> counts = np.array([10.0, 60.0, 40.0]), np.array([90.0, 40.0, 60.0])
    >>> [smooth_shares(np.array([0.1, 0.5, 0.9]), *counts, noise).round(2).tolist() for noise in (0.0, 1000.0)]
    [[0.1, 0.6, 0.4], [0.16, 0.41, 0.53]]
    """
    count = positive + negative
    overall_share = float(positive.sum() / count.sum())
    size = np.maximum(count, TUNING.least_group)
    least = TUNING.least_probability
    probability = float(np.clip(overall_share, least, 1 - least))
    centred = scores - float(scores @ count / count.sum())
    line_covariance = TUNING.line_deviation**2 * (1 + np.outer(centred, centred))
    bend_covariance = np.exp(-((scores[:, None] - scores) ** 2) / (2 * TUNING.reach**2))
    sampling = np.diag(probability * (1 - probability) / size)
    noise_covariance = np.diag(variance * (probability**2 + (1 - probability) ** 2) / size**2)
    line = overall_share + centred
    shares = np.divide(positive, count, out=np.full(count.shape, overall_share), where=count > 0)
    priors = [line_covariance + amplitude**2 * bend_covariance + sampling for amplitude in TUNING.amplitudes]
    covariance = max(
        (prior + noise_covariance for prior in priors),
        key=lambda candidate: _log_likelihood(shares - line, candidate),
    )
    return np.asarray(np.clip(shares - noise_covariance @ np.linalg.solve(covariance, shares - line), 0, 1))


def insert_levels(measurements: Sequence[LevelMeasurement]) -> Iterator[LevelMeasurement]:
    """Yield the measured levels from coarse to fine, and between them levels without measurements where intervals have
    many children.

    No interval then has more than `Tuning.fan` children. A small shift over many neighbours shows in the inserted
    levels, where it would be lost if each neighbour were shrunk alone.

    Args:
        measurements: Noisy counts of the intervals of each level of a tree, from coarse to fine.
    """
    parent = measurements[0].bounds[[0, -1]]
    for measurement in measurements:
        yield from _join_siblings(parent, measurement)
        yield measurement
        parent = measurement.bounds


def _join_siblings(parent: NDArray[np.int64], measurement: LevelMeasurement) -> Iterator[LevelMeasurement]:
    """Yield levels without measurements between a coarse level and a measured fine one, so that no interval has many
    children.

    Their intervals join ..., 64, 16 and 4 siblings of the measured level.

    Args:
        parent: Bounds of the intervals of the next coarser level.
        measurement: The measured level.
    """
    first = np.searchsorted(measurement.bounds, parent)
    children = np.diff(first)
    # Index of each child among its siblings.
    child = np.arange(len(measurement.bounds) - 1) - np.repeat(first[:-1], children)
    siblings = TUNING.fan
    group_sizes = []
    while siblings < children.max():
        group_sizes.append(siblings)
        siblings *= TUNING.fan
    for group_size in reversed(group_sizes):
        bounds = measurement.bounds[np.append(child % group_size == 0, True)]
        yield LevelMeasurement(bounds, np.inf, np.zeros((*measurement.values.shape[:-1], len(bounds) - 1)))


def fit_logistic_line(distribution: IntervalSums, values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the counts of both classes on the fitted line of `estimate_two_classes`, shape (2, cells).

    Intercept and slope are fitted by least squares to all released values, weighted by the variances of their noise.

    Args:
        distribution: Distribution of the released values, sums over nested intervals.
        values: The released values, in the order of `distribution`.
        counts: Unbiased counts, shape (2, cells), whose sum over classes ranks the scores.
    """
    from scipy.optimize import least_squares as fit_least_squares
    from scipy.special import expit, logit, ndtri

    records = _project_monotone(counts.sum(axis=0))
    size = max(records.sum(), 0.5)  # records of both classes together, so that shares have odds
    score = ndtri(np.clip((np.cumsum(records) - records / 2) / size, TUNING.least_variance, 1 - TUNING.least_variance))
    measurements, _ = split_by_level(distribution, values)

    def cells_from_line(line: FloatArray) -> FloatArray:
        """Return expected counts of both classes, (2, cells), if the log-odds of a positive are a line in the normal
        score.

        Args:
            line: Intercept and slope of the line.
        """
        steepest = 30.0  # log odds; beyond, doubles would round a probability to 0 or 1
        positive = expit(np.clip(line[0] + line[1] * score, -steepest, steepest))
        return np.stack([records * (1 - positive), records * positive])

    def weighted_residuals(line: FloatArray) -> FloatArray:
        """Return the differences of fitted and released values, divided by the noise standard deviations, as a flat
        array.

        Args:
            line: Intercept and slope of the fitted log-odds.
        """
        residuals = (
            (_sum_intervals(cells_from_line(line), measurement) - measurement.values)
            / np.sqrt(max(measurement.variance, TUNING.least_variance))
            for measurement in measurements
        )
        return np.concatenate([np.ravel(level) for level in residuals])

    start = float(logit(np.clip(counts[1].sum() / size, 1e-4, 1 - 1e-4)))
    return cells_from_line(np.asarray(fit_least_squares(weighted_residuals, [start, 0.0]).x))


class Departures(NamedTuple):
    """Departures of the noisy counts from the fitted line.

    Attributes:
        cells: Shrunk departures of each cell, shape (2, cells).
        squares: Sum of the squares of all departures over their variances.
        degrees_of_freedom: Number of these squares.
    """

    cells: FloatArray
    squares: float
    degrees_of_freedom: int


def _measure_departures(
    distribution: IntervalSums, values: FloatArray, total: int | None, fit: FloatArray
) -> Departures:
    """Return how the released counts depart from a fitted curve, shrunk because of noise, and the size of the
    departures relative to noise.

    Args:
        distribution: Distribution of the released values, sums over nested intervals.
        values: The released values, in the order of `distribution`.
        total: Public number of records; None: it is private.
        fit: Fitted counts of both classes, shape (2, cells).
    """
    measurements, _ = split_by_level(distribution, values)
    levels = list(
        insert_levels(
            [
                measurement._replace(values=measurement.values - _sum_intervals(fit, measurement))
                for measurement in measurements
            ]
        )
    )
    upward = run_upward_pass(levels)
    totals, _ = adjust_rows_to_total(
        distribution, upward, split_into_parts(distribution, values)[1], None if total is None else total - fit.sum()
    )

    # From coarse to fine: each family keeps a fraction of its departure, by its size over the noise.
    counts = totals[..., None]
    squares = 0.0
    degrees_of_freedom = 0
    for layer, estimate, sums, level in zip(*upward, levels, strict=True):
        node = _sum_intervals(fit, level)
        fraction = _fraction_of_parent(layer, node)
        fitted = fraction * layer.repeat_for_children(counts)
        departure = estimate + layer.residual_fraction * layer.repeat_for_children(counts - sums) - fitted
        family_squares = layer.sum_children(departure**2 / layer.variance)
        counts = (
            fitted
            + layer.repeat_for_children(_departure_fraction(layer, node * (1 - fraction), family_squares)) * departure
        )
        squares = squares + float(family_squares.sum())
        degrees_of_freedom = degrees_of_freedom + len(fit) * int((layer.children - 1).sum())
    return Departures(spread_over_cells(counts, upward.layers[-1].width), squares, degrees_of_freedom)


def _departure_fraction(layer: Layer, binomial_variance: FloatArray, squares: FloatArray) -> FloatArray:
    """Return how much of its departures each family of sibling intervals keeps, as a fraction between 0 and 1.

    It is the fraction of `shrinkage_factors`, which rises with the size of the departures, but at least the ratio of
    binomial variance to total variance.

    Args:
        layer: Intervals of one level of a tree, with their parents.
        binomial_variance: Variance of each interval's count given its parent's, (2, intervals), in squared records.
        squares: Sum of the squared departures over their variances, of each family.
    """
    noise = layer.sum_children(layer.variance + np.zeros_like(binomial_variance))
    binomial_variance = layer.sum_children(binomial_variance)
    return np.maximum(shrinkage_factors(squares, layer.children - 1), binomial_variance / (binomial_variance + noise))


def _fraction_of_parent(layer: Layer, node: FloatArray) -> FloatArray:
    """Return the fitted share of its parent's records that each interval has; by width if the parent has no fitted
    records.

    Args:
        layer: Intervals of a level, with their parents.
        node: Fitted count of each interval, (2, intervals).
    """
    parent = layer.repeat_for_children(layer.sum_children(node))
    fraction = np.asarray(layer.width_fraction + np.zeros_like(node))
    return np.asarray(np.divide(node, parent, out=fraction, where=parent > 0))


def _sum_intervals(cells: FloatArray, measurement: LevelMeasurement) -> FloatArray:
    """Return the sum of the cells of each interval of a level, shape (..., intervals).

    Args:
        cells: Counts of cells, shape (..., cells).
        measurement: Level whose bounds are used.
    """
    return np.asarray(np.add.reduceat(cells, measurement.bounds[:-1], axis=-1))


def _project_monotone(cells: FloatArray) -> FloatArray:
    """Return nonnegative counts of cells with the same total whose cumulative counts are nearest in least squares.

    Args:
        cells: Counts of cells, some of which may be negative, (cells,).
    """
    below = np.cumsum(cells)[:-1]
    total = max(float(cells.sum()), 0.0)
    inner = np.clip(isotonic_projection(below), 0, total) if len(below) else below
    return np.diff(inner, prepend=0.0, append=total)


def _log_likelihood(values: FloatArray, covariance: FloatArray) -> float:
    """Return the log-likelihood of normal values with mean zero, up to a constant.

    Args:
        values: Normal values, (values,).
        covariance: Their covariance, (values, values), positive definite.
    """
    _, log_determinant = np.linalg.slogdet(covariance)
    return float(-(values @ np.linalg.solve(covariance, values) + log_determinant) / 2)
