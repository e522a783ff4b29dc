"""Estimate counts of nearly uniform records from noisy counts of intervals, as a uniform density plus a slow trend.

Birthdays, times of day and identifiers are nearly uniform. No single interval differs much from its uniform share, but
all together may follow a trend, which noise hides in each. `fit_slow_trend` takes the noisy counts
(`CountedIntervals`), and returns the expected count of each cell with the evidence of the model (`TrendPosterior`).

*Model.* The density on [0, 1] is a sum of cosine waves,

    1 + sum_k a_k * sqrt(2) * cos(pi * k * x)      a_k ~ Normal(0, (A / k**fading)**2), k = 1, ..., waves

*Estimate.* Counts are linear in the coefficients, so this is Bayesian linear regression, after counts are whitened by
the multinomial scatter of uniform records and by the noise. The amplitude A is unknown: several values are averaged,
weighted by their evidence, A = 0 (no trend) among them. If the expected density differs from the uniform one by more
than `Tuning.largest_deviation` anywhere, the linear model does not hold and None is returned.

Formal guarantees: no records are read and no budget is spent, because a function of released and public numbers reveals
nothing more than they do (post-processing).

Reference: Rasmussen and Williams 2006, *Gaussian processes for machine learning*, chapter 2.

>>> begin = np.arange(0, 64, 8)
>>> counts = 1000 * (1 + 0.2 * np.cos(np.pi * (begin + 4) / 64))  # of 8 intervals of 8 cells, noise variance 100
>>> trend = fit_slow_trend(CountedIntervals(begin, begin + 8, counts, np.full(8, 100.0)), cells=64, total=8000.0)
>>> trend.cells[[0, 31, 63]].round(1)
array([150.1, 125.7,  99.9])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .binary_tree import Layout
from .empirical_bayes import PriorDistribution


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate; chosen on the named trends of `benchmarks/accuracy/public_cells.py`."""

    waves: int = 16
    """Waves. Number of cosine waves."""
    fading: float = 1.0
    """Exponent. The prior standard deviation of wave k is the standard deviation of wave 1 divided by k to this power;
    larger means smoother trends."""
    amplitudes: tuple[float, ...] = (0.03, 0.1, 0.3)
    """Shares of the even density. Prior standard deviations of the first wave; above the last it is not nearly even."""
    even_probability: float = 0.2
    """Probability. Prior probability of no trend, if records are nearly even; the amplitudes share the rest."""
    prior_log_odds: float = 1.0
    """Natural log-odds. Prior log-odds of a nearly even distribution, against the estimate from splits."""
    largest_deviation: float = 0.4
    """Share of the even density. If the expected density differs from it by more anywhere, records are not nearly
    even."""
    least_variance: float = 1e-6
    """Squared records per record. Lower limit of variances, below which nested counts are collinear."""
    positions: int = 129
    """Positions at which the deviation of a density is computed: eight for each half wave of the shortest."""


TUNING = Tuning()
"""The values that all estimates of trends use."""


class CountedIntervals(NamedTuple):
    """Noisy counts of intervals of cells. Their noise is independent and treated as Gaussian.

    Attributes:
        begin, end: First cell of each interval, and the cell behind its last one, shape (intervals,).
        value: Noisy counts, in records.
        variance: Variances of the noise, in squared records.
    """

    begin: IntArray
    end: IntArray
    value: FloatArray
    variance: FloatArray


class TrendPosterior(NamedTuple):
    """Posterior of the counts, if records are nearly uniform.

    Attributes:
        cells: Expected count of each cell, shape (cells,).
        cumulative_shares: Share of the expected density below each edge of a cell, shape (cells + 1,).
        log_evidence: Log-likelihood ratio of nearly uniform over exactly uniform records.
        log_occam_factor: `log_evidence` minus the log-likelihood ratio of the expected over the uniform density, plus
            the prior log-odds.
    """

    cells: FloatArray
    cumulative_shares: FloatArray
    log_evidence: float
    log_occam_factor: float

    def node_distribution(self, layout: Layout) -> PriorDistribution:
        """Return the prior of a tree's node counts under the fitted trend: multinomial, with each node's share of the
        expected counts.

        Args:
            layout: First cell and number of cells of each node.
        """
        shares = self.cumulative_shares
        return PriorDistribution(shares[layout.begin + layout.width] - shares[layout.begin], overdispersion=1.0)


def fit_slow_trend(intervals: CountedIntervals, cells: int, total: float) -> TrendPosterior | None:
    """Return the expected counts of cells under the model of nearly uniform records; None if the model does not hold.

    A trend is a density close to uniform; records scatter multinomially about it.

    Formal guarantees: a pure function of released and public numbers.

    Args:
        intervals: Noisy counts of intervals of cells, in any order; intervals may be nested.
        cells: Number of cells.
        total: Number of records, above 0.

    Returns:
        Expected counts in records, which add up to `total`, and the evidence of the model. None if the density differs
        from a uniform one by more than `Tuning.largest_deviation`.

    >>> begin = np.arange(0, 64, 8)
    >>> counts = 1000 * (1 + 0.3 * ((2 * begin + 8) / 64 - 1))
    >>> trend = fit_slow_trend(CountedIntervals(begin, begin + 8, counts, np.full(8, 100.0)), 64, 8000.0)
    >>> trend.cells[[4, -5]].round(), trend.log_evidence > 10
    (array([ 92., 158.]), True)
    """
    lower = intervals.begin / cells
    upper = intervals.end / cells
    width = upper - lower
    number = np.arange(1, TUNING.waves + 1)
    edges = np.arange(cells + 1) / cells
    design = total * (_integrate_waves(upper, number) - _integrate_waves(lower, number))
    overlap = np.minimum(upper[:, None], upper) - np.maximum(lower[:, None], lower)
    scatter = total * (np.maximum(overlap, 0.0) - np.outer(width, width))

    # Whitened by the scatter of even records and the noise, residuals are independent with variance 1.
    root = np.linalg.cholesky(scatter + np.diag(np.maximum(intervals.variance, TUNING.least_variance * total)))
    residual = np.linalg.solve(root, intervals.value - total * width)
    whitened = np.linalg.solve(root, design)
    information = whitened.T @ whitened
    score = whitened.T @ residual

    # The amplitude is unknown: exactly even records and each amplitude are averaged by their evidence.
    coefficients = [np.zeros(TUNING.waves)]
    log_weights = [np.log(TUNING.even_probability)]
    for amplitude in TUNING.amplitudes:
        precision = number ** (2 * TUNING.fading) / amplitude**2
        curvature = information + np.diag(precision)
        mean = np.linalg.solve(curvature, score)
        log_evidence = (score @ mean + np.log(precision).sum() - np.linalg.slogdet(curvature)[1]) / 2
        coefficients.append(mean)
        log_weights.append(np.log((1 - TUNING.even_probability) / len(TUNING.amplitudes)) + log_evidence)
    log_evidence = float(np.logaddexp.reduce(log_weights))
    mean = np.exp(np.array(log_weights) - log_evidence) @ np.array(coefficients)

    # The approximation is linear in the deviation, so it does not hold far from even records.
    deviation = np.sqrt(2) * np.cos(np.pi * np.outer(np.linspace(0, 1, TUNING.positions), number)) @ mean
    if np.abs(deviation).max() > TUNING.largest_deviation:
        return None
    weights = np.linalg.solve(root.T, residual - whitened @ mean)
    # Scatter of records below an edge, given the counts: linear between the bounds of intervals.
    bounds = np.unique(np.concatenate([[0.0, 1.0], lower, upper]))
    scatter_below = np.clip(bounds[:, None] - lower, 0.0, width) - np.outer(bounds, width)
    shares_below = edges + _integrate_waves(edges, number) @ mean
    counts_below = total * (shares_below + np.interp(edges, bounds, scatter_below @ weights))
    cell_counts = np.maximum(np.diff(counts_below), 0.0)
    log_likelihood_ratio = float(mean @ score - mean @ information @ mean / 2)
    return TrendPosterior(
        cell_counts * (total / max(float(cell_counts.sum()), 1e-9)),
        np.clip(np.maximum.accumulate(shares_below), 0.0, 1.0),
        log_evidence,
        log_evidence - log_likelihood_ratio + TUNING.prior_log_odds,
    )


def _integrate_waves(positions: FloatArray, number: IntArray) -> FloatArray:
    """Return the integral of each cosine wave ``sqrt(2) * cos(pi * k * x)`` from 0 to each position, (positions,
    waves): how it changes counts.

    Args:
        positions: Upper limits of the integrals, in [0, 1].
        number: Numbers k of the waves.
    """
    return np.asarray(np.sqrt(2) * np.sin(np.pi * np.outer(positions, number)) / (np.pi * number))
