"""Estimates from noisy counts of positives and negatives in cells of scores: counts, and shares of positives that are
shrunk towards a smooth curve as far as noise alone explains their spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..laws import IntervalSums, NoisySums, shrinkage_factors
from ..laws.interval_sums import (
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

FAN = 4  # no interval is compared with more siblings at once than 3: small shifts over long stretches must be seen


def insert_levels(readings: Sequence[LevelMeasurement]) -> Iterator[LevelMeasurement]:
    """Put unmeasured levels between readings where a parent has more than `FAN` children."""
    parent = readings[0].bounds[[0, -1]]
    for reading in readings:
        yield from _join_siblings(parent, reading)
        yield reading
        parent = reading.bounds


def _join_siblings(parent: NDArray[np.int64], reading: LevelMeasurement) -> Iterator[LevelMeasurement]:
    """Levels whose intervals join 4, 16, 64, ... siblings, from coarse to fine."""
    first = np.searchsorted(reading.bounds, parent)
    children = np.diff(first)
    place = np.arange(len(reading.bounds) - 1) - np.repeat(first[:-1], children)  # of each child in its family
    joined = FAN
    steps = []
    while joined < children.max():
        steps.append(joined)
        joined *= FAN
    for step in reversed(steps):
        bounds = reading.bounds[np.append(place % step == 0, True)]
        yield LevelMeasurement(bounds, np.inf, np.zeros((*reading.values.shape[:-1], len(bounds) - 1)))


# Counts of two classes in cells of scores, read together: what noise alone explains is taken back to a smooth curve.
#
# The curve is fitted, and then doubted twice where the counts say otherwise: its departures are kept as far as they are
# larger than noise makes them, and the less the whole fit explains, the more of the unbiased counts is read.


LEAST_RECORDS = 0.5  # records that a class is taken to have, so that its share has odds
EXACT = 1e-6  # variance of a count that the fit takes as without noise
STEEPEST = 30.0  # log-odds, beyond which doubles would say that a class is empty


class Departures(NamedTuple):
    """Departures of the counts from the fit.

    Attributes:
        cells: Departures that are believed: (2, cells).
        squares: Squares of all departures, each in units of its variance, summed.
        degrees_of_freedom: How many squares these are.
    """

    cells: FloatArray
    squares: float
    degrees_of_freedom: int


def estimate_two_classes(law: NoisySums, values: Sequence[int], total: int | None) -> FloatArray:
    """Cells (2, cells) of negatives and positives, meant to be cumulated; some may be negative.

    The log-odds of a record to be positive are fitted as a straight line in the normal score of its rank among all
    records: this has the shape of two normal laws of like spread, whatever the scale of the scores. Departures of the
    counts from the fit are then taken level by level of the tree, from the top: each family keeps the share of its
    level that `shrinkage.remaining` tells, but no less than binomial chance deserves beside the noise.

    What comes out is averaged with the unbiased counts. It has the weight ``d / s``, at most 1, after James and Stein
    (1961): s are the squared departures of all counts from the fit, in units of their variance, and d are as many as
    noise alone would make, half of all, for the fit takes the sums of both classes from the counts. Two normal laws
    are a guess; where the counts contradict it, little of it is left. Totals are those of least squares. Sums that are
    not over intervals are read by `shrink_estimate`.

    Formal guarantees: law, values and total are public, and nothing else is read. So the weight may depend on them: it
    is one more function of the answer, and costs no privacy.

    Args:
        law: How the values scatter, of two rows: negatives and positives.
        values: The released values, in the order of the law.
        total: See `least_squares`.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.
    """
    if not law.is_nested:
        return shrink_estimate(law, values, total)
    known, nested = law.debias(np.asarray(values, dtype=np.float64)), law.nested_law.require_type(IntervalSums)
    counts = least_squares(nested, known, total).cells
    fit = fit_logistic_line(nested, known, counts)
    apart = _measure_departures(nested, known, total, fit)
    trust = min(1.0, apart.degrees_of_freedom / 2 / max(apart.squares, EXACT))
    return counts + trust * (fit + apart.cells - counts)


def fit_logistic_line(law: IntervalSums, values: FloatArray, counts: FloatArray) -> FloatArray:
    """The smooth curve of `estimate_two_classes`, as cells: the least squares of all values, each weighed by its noise."""
    from scipy.optimize import least_squares as fit_of
    from scipy.special import expit, logit, ndtri

    both = _project_monotone(counts.sum(axis=0))
    size = max(both.sum(), LEAST_RECORDS)
    score = ndtri(np.clip((np.cumsum(both) - both / 2) / size, EXACT, 1 - EXACT))
    readings, _ = split_by_level(law, values)

    def cells_from_line(line: FloatArray) -> FloatArray:
        positive = expit(np.clip(line[0] + line[1] * score, -STEEPEST, STEEPEST))
        return np.stack([both * (1 - positive), both * positive])

    def weighted_residuals(line: FloatArray) -> FloatArray:
        off = (
            (_sum_intervals(cells_from_line(line), each) - each.values) / np.sqrt(max(each.variance, EXACT))
            for each in readings
        )
        return np.concatenate([np.ravel(each) for each in off])

    start = float(logit(np.clip(counts[1].sum() / size, 1e-4, 1 - 1e-4)))
    return cells_from_line(np.asarray(fit_of(weighted_residuals, [start, 0.0]).x))


def _measure_departures(law: IntervalSums, values: FloatArray, total: int | None, fit: FloatArray) -> Departures:
    readings, _ = split_by_level(law, values)
    levels = list(insert_levels([each._replace(values=each.values - _sum_intervals(fit, each)) for each in readings]))
    ascent = run_upward_pass(levels)
    totals, _ = adjust_rows_to_total(
        law, ascent, split_into_parts(law, values)[1], None if total is None else total - fit.sum()
    )
    counts, squares, freedom = totals[..., None], 0.0, 0
    for layer, estimate, sums, level in zip(*ascent, levels, strict=True):
        node = _sum_intervals(fit, level)
        share = _fraction_of_parent(layer, node)
        like_fit = share * layer.repeat_for_children(counts)
        apart = estimate + layer.residual_fraction * layer.repeat_for_children(counts - sums) - like_fit
        of_family = layer.sum_children(apart**2 / layer.variance)
        counts = like_fit + layer.repeat_for_children(_departure_fraction(layer, node * (1 - share), of_family)) * apart
        squares, freedom = squares + float(of_family.sum()), freedom + len(fit) * int((layer.children - 1).sum())
    return Departures(spread_over_cells(counts, ascent.layers[-1].width), squares, freedom)


def _departure_fraction(layer: Layer, chance: FloatArray, squares: FloatArray) -> FloatArray:
    """The share of its departures that each family keeps: as told by their size, at least as chance would make them."""
    chance, noise = layer.sum_children(chance), layer.sum_children(layer.variance + np.zeros_like(chance))
    return np.maximum(shrinkage_factors(squares, layer.children - 1), chance / (chance + noise))


def _fraction_of_parent(layer: Layer, node: FloatArray) -> FloatArray:
    """The part of its parent's fitted count that each interval has; by width where the parent has none."""
    parent = layer.repeat_for_children(layer.sum_children(node))
    even = np.asarray(layer.width_fraction + np.zeros_like(node))
    return np.asarray(np.divide(node, parent, out=even, where=parent > 0))


def _sum_intervals(cells: FloatArray, reading: LevelMeasurement) -> FloatArray:
    return np.asarray(np.add.reduceat(cells, reading.bounds[:-1], axis=-1))


def _project_monotone(cells: FloatArray) -> FloatArray:
    """Cells that are not negative, whose cumulated counts are the nearest to those given; the total is kept."""
    below, total = np.cumsum(cells)[:-1], max(float(cells.sum()), 0.0)
    inner = np.clip(isotonic_projection(below), 0, total) if len(below) else below
    return np.diff(inner, prepend=0.0, append=total)


AMPLITUDES = 0.0, 0.02, 0.05, 0.1, 0.2, 0.4
"""Standard deviations of a curve from its line, of which the likeliest is taken."""
REACH = 0.2
"""The distance of scores over which a curve bends."""
LINE = 1.0
"""Standard deviation of the level of the line, and of its slope around 1."""
LEAST_CHANCE = 0.02
LEAST_IN_GROUP = 1.0


def smooth_shares(scores: FloatArray, positive: FloatArray, negative: FloatArray, variance: float) -> FloatArray:
    """The share of positives in each group, in [0, 1].

    Chances are taken as a Gaussian process in the score: a line whose level and slope are next to free, and a bend
    about it, whose size is the likeliest of `AMPLITUDES` (empirical Bayes). The shares of these records scatter about
    their chances as binomial ones do, and what was counted of them as its noise does; what is returned is the mean of
    the shares, given the counts. Where noise is small that is what was counted. Where it is large a group borrows from
    its neighbours; where there is nothing but noise, chances are all but a line.

    Reach and scale were chosen on even, hilly and crowded scores whose chances are the score, a steep step or a wave;
    they are judged by the other laws of `benchmarks/accuracy/diagnostics.py`.

    Formal guarantees: all arguments are public, and nothing else is read.

    Args:
        scores: The mean score of each group, (groups,).
        positive, negative: Counts of each group, not below zero, some of them positive.
        variance: That of the noise of each of these counts.

    >>> counts = np.array([10.0, 60.0, 40.0]), np.array([90.0, 40.0, 60.0])
    >>> [smooth_shares(np.array([0.1, 0.5, 0.9]), *counts, noise).round(2).tolist() for noise in (0.0, 1000.0)]
    [[0.1, 0.6, 0.4], [0.16, 0.41, 0.53]]
    """
    count = positive + negative
    whole, size = float(positive.sum() / count.sum()), np.maximum(count, LEAST_IN_GROUP)
    chance = float(np.clip(whole, LEAST_CHANCE, 1 - LEAST_CHANCE))
    apart = scores - float(scores @ count / count.sum())
    of_line = LINE**2 * (1 + np.outer(apart, apart))
    bend = np.exp(-((scores[:, None] - scores) ** 2) / (2 * REACH**2))
    sampled = np.diag(chance * (1 - chance) / size)
    noise = np.diag(variance * (chance**2 + (1 - chance) ** 2) / size**2)
    line = whole + apart
    counted = np.divide(positive, count, out=np.full(count.shape, whole), where=count > 0)
    believed = [of_line + amplitude**2 * bend + sampled for amplitude in AMPLITUDES]
    likeliest = max((each + noise for each in believed), key=lambda each: _log_likelihood(counted - line, each))
    return np.asarray(np.clip(counted - noise @ np.linalg.solve(likeliest, counted - line), 0, 1))


def _log_likelihood(values: FloatArray, covariance: FloatArray) -> float:
    """The log likelihood of normal values around zero, but for a constant."""
    _, log_determinant = np.linalg.slogdet(covariance)
    return float(-(values @ np.linalg.solve(covariance, values) + log_determinant) / 2)
