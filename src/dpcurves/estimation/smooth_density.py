"""Fit a smooth density to noisy counts of intervals along an axis, and estimate the number of records below each edge.

Many distributions are smooth: normal, exponential, gamma and beta ones are described by four numbers. `estimate_cells`
averages this model with two others, nearly uniform records (`slow_trends`) and uneven splits (`empirical_bayes`),
weighted by their posterior probabilities.

*Model.* Records are drawn from a density of x in [0, 1] whose logarithm is a sum of smooth functions,

    log p(x) = const + a * x + b * x**2 + c * log(x) + d * log(1 - x) + sum_k e_k * cos(pi * k * x)

with Gaussian coefficients. The prior variance of the waves falls with k. The first and the last cell, which hold
clipped values, may have more or fewer records. The noisy counts y of disjoint intervals with probabilities P have the
mean ``N * P`` and the covariance ``phi * N * (diag(P) - P P') + noise``, with a fitted overdispersion phi.

*Estimate.* Coefficients are fitted by Gauss-Newton steps on the posterior. Under Laplace noise large residuals get
larger variances. Fits with several amplitudes of the waves are averaged by their evidence (Laplace approximation), much
as with log-splines (Kooperberg and Stone 1991). Counts below each edge are conditional means given density and y.

Formal guarantees: post-processing, a function of released and public numbers.

`Tuning`, at the end, was chosen on the distributions of `benchmarks/smooth_distributions.py` and
`benchmarks/regimes.py` that are reserved for that, except `largest_bin_share`, which the histogram MEDCOST required.

>>> counts = 100.0 * np.exp(-np.arange(8) / 2)  # of 64 cells in intervals of 8, exponential, noise variance 9
>>> begin = np.arange(0, 64, 8)
>>> noisy = IntervalCounts(begin, begin + 8, counts, np.full(8, 9.0), np.zeros(8))
>>> fit_smooth_density(noisy, cells=64, total=counts.sum()).counts_below[[0, 4, 8, 64]].round(1)
array([  0. ,  56.2, 100. , 249.5])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .binary_tree import ROOT, Layout, Measurements
from .empirical_bayes import (
    PriorDistribution,
    UpwardEstimate,
    estimate_by_distribution,
    estimate_tree,
    reestimate_tree,
    run_upward_pass,
)
from .slow_trends import CountedIntervals, TrendPosterior, fit_slow_trend


class SmoothPosterior(NamedTuple):
    """Posterior of the counts under a smooth density, given noisy counts.

    Attributes:
        cumulative_shares: Share of the density below each edge of a cell, shape (cells + 1,).
        counts_below: Expected number of records below each edge, given the noisy counts, shape (cells + 1,).
        overdispersion: Variance of the records' scatter about the density, relative to multinomial scatter.
        log_occam_factor: Log-probability cost of fitting the density (Laplace approximation).
    """

    cumulative_shares: FloatArray
    counts_below: FloatArray
    overdispersion: float
    log_occam_factor: float

    def node_distribution(self, layout: Layout) -> PriorDistribution:
        """Return the prior of a tree's node counts under the smooth density: each node's share of the density, and the
        overdispersion.

        Args:
            layout: Tree of intervals of the same cells.
        """
        return PriorDistribution(
            self.cumulative_shares[layout.begin + layout.width] - self.cumulative_shares[layout.begin],
            self.overdispersion,
        )

    def estimate_cells(self, layout: Layout, upward: UpwardEstimate, distribution: PriorDistribution) -> FloatArray:
        """Return the estimated count of each cell, (cells,), from a fitted smooth density that noisy counts correct.

        Noisy counts of narrow intervals correct the density where they are informative; elsewhere the density alone
        decides.

        Args:
            layout: Binary tree of the cells.
            upward: Estimates of all nodes of the tree from their own counts and the counts below them.
            distribution: Prior of the nodes, from `node_distribution`.
        """
        narrow = layout.width * TUNING.frontier <= layout.cells
        is_narrow = narrow & (layout.width > 0)
        scatter = self.overdispersion * self.counts_below[-1] * distribution.mass[is_narrow]
        if (scatter * upward.precision[is_narrow]).max(initial=0) < TUNING.negligible_scatter:
            return np.diff(self.counts_below)
        return estimate_by_distribution(layout, upward, distribution, self.counts_below, ~narrow)


class IntervalCounts(NamedTuple):
    """Noisy counts of intervals of cells, with independent noise.

    Attributes:
        begin, end: First cell of each interval, and the cell behind its last one, shape (intervals,).
        value: Noisy counts, in records.
        variance: Variance of their noise, in squared records.
        laplace_weight: 0 for Gaussian noise, 1 for a single Laplace draw, between the two for merged noise.
    """

    begin: IntArray
    end: IntArray
    value: FloatArray
    variance: FloatArray
    laplace_weight: FloatArray


class _Basis(NamedTuple):
    """Bins of cells, and the functions of which a log-density is a linear combination.

    Attributes:
        edges: Edges of the bins, in cells, shape (bins + 1,).
        functions: Values of the functions at the middles of bins, shape (bins, functions).
        prior: Prior precision of each coefficient; 0 for waves.
        waves: Prior precision of each coefficient of a wave at amplitude 1; 0 for other functions.
        width: Share of all cells in each bin, shape (bins,).
    """

    edges: FloatArray
    functions: FloatArray
    prior: FloatArray
    waves: FloatArray
    width: FloatArray


class _Fit(NamedTuple):
    """A fit of the density: coefficients, probabilities of bins, whitened residuals, and log-cost of fitting."""

    coefficients: FloatArray
    probabilities: FloatArray
    residual: FloatArray
    log_occam_factor: float


class _WhitenedCounts(NamedTuple):
    """Counts transformed to independent noise of variance 1. Their expectation is ``design @ probabilities``."""

    design: FloatArray
    values: FloatArray
    basis: _Basis

    def fit(self, amplitude: float, start: FloatArray, steps: int) -> _Fit:
        """Return the most likely coefficients of the smooth log-density, by Gauss-Newton steps with a line search.

        Args:
            amplitude: Prior standard deviation of the coefficient of the first basis wave; higher waves have smaller
                ones.
            start: Coefficients before the first step.
            steps: Largest number of steps.
        """
        precision = self.basis.prior + self.basis.waves / amplitude**2
        coefficients, (loss, probabilities, residual) = start, self._evaluate(start, precision)
        for _ in range(steps):
            jacobian, curvature = self._jacobian(probabilities, precision)
            gradient = jacobian.T @ residual - precision * coefficients
            step = np.linalg.solve(curvature, gradient)
            gain = float(step @ gradient)
            length = 1.0
            if gain < TUNING.least_promise:
                break
            candidate = self._evaluate(coefficients + step, precision)
            while candidate[0] > loss - TUNING.gain_share * length * gain and length > TUNING.least_length:
                length /= 2
                candidate = self._evaluate(coefficients + length * step, precision)
            if candidate[0] >= loss:
                break
            coefficients, (loss, probabilities, residual) = coefficients + length * step, candidate
        _, log_determinant = np.linalg.slogdet(self._jacobian(probabilities, precision)[1])
        log_occam_factor = (np.log(precision).sum() - log_determinant - (precision * coefficients) @ coefficients) / 2
        return _Fit(coefficients, probabilities, residual, float(log_occam_factor))

    def _evaluate(self, coefficients: FloatArray, precision: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the negative log-posterior (up to a constant), the probabilities of bins, and the residuals.

        Args:
            coefficients: Coefficients of the basis functions of the log-density.
            precision: Prior precision of each coefficient.

        Returns:
            The negative log-posterior, a number, the probabilities (bins,) and the residuals (counts,).
        """
        logarithm = self.basis.functions @ coefficients
        probabilities = self.basis.width * np.exp(logarithm - logarithm.max())
        probabilities /= probabilities.sum()
        residual = self.values - self.design @ probabilities
        return float(residual @ residual + (precision * coefficients) @ coefficients) / 2, probabilities, residual

    def _jacobian(self, probabilities: FloatArray, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of expected counts by coefficients, and the curvature of the log-posterior.

        Args:
            probabilities: Probability of each bin, with sum 1.
            precision: Prior precision of each coefficient.

        Returns:
            Derivatives (counts, coefficients), and curvature (coefficients, coefficients).
        """
        functions = self.basis.functions
        jacobian = (self.design * probabilities) @ (functions - probabilities @ functions)
        return jacobian, jacobian.T @ jacobian + np.diag(precision)


def fit_smooth_density(
    interval_counts: IntervalCounts, cells: int, total: float, positions: FloatArray | None = None
) -> SmoothPosterior | None:
    """Return the posterior of the counts under a smooth density, or None if the model is not useful.

    None is returned if cells or counts are few, a count is exact, no density fits, the fit hardly improves on uniform
    records, or the density is too steep for its bins.

    Records scatter about the density multinomially, or more by a fitted factor. Laplace noise is a mixture of Gaussian
    noise: large residuals get larger variances by expectation maximisation, which yields nearly twice the information
    about the density that least squares yield.

    Formal guarantees: a pure function of released and public numbers.

    Args:
        interval_counts: Noisy counts of intervals.
        cells: Number of cells.
        total: Number of records.
        positions: For cells of unequal width, their edges on a scale along which the density is smooth, shape (cells +
            1,): from 0 to a whole number of stretches of equal width. The first and the last stretch may have more or
            fewer
            records than the density. None: cells have equal widths.

    >>> counts = np.array([95.0, 85.0, 75.0, 60.0, 45.0, 25.0, 10.0, 5.0])
    >>> intervals = IntervalCounts(np.arange(0, 64, 8), np.arange(8, 65, 8), counts, np.full(8, 9.0), np.zeros(8))
    >>> fit_smooth_density(intervals, 64, 400.0).counts_below[::16].round().tolist()
    [0.0, 180.0, 315.0, 385.0, 400.0]
    """
    positions = np.arange(cells + 1.0) if positions is None else positions
    begin = positions[interval_counts.begin]
    end = positions[interval_counts.end]
    stretches = round(float(positions[-1]))
    if (
        stretches < TUNING.fewest_cells
        or len(interval_counts.value) < TUNING.fewest_counts
        or total <= 1
        or interval_counts.variance.min() < TUNING.exact_variance
    ):
        return None

    # Intervals need not end at bins, so each interval counts a fraction of some bins.
    basis = _build_basis(stretches)
    overlap = np.minimum(end[:, None], basis.edges[1:]) - np.maximum(begin[:, None], basis.edges[:-1])
    bin_fractions = np.clip(overlap / np.diff(basis.edges), 0, 1)  # fraction of each bin in each interval
    least_variance = TUNING.least_variance * total
    interval_counts = interval_counts._replace(variance=np.maximum(interval_counts.variance, least_variance))

    # The first round starts from even records, whose residual shows below whether a density is worth fitting.
    probabilities = basis.width
    variance = interval_counts.variance
    overdispersion = 1.0
    coefficients = np.zeros(basis.functions.shape[1])
    fits: list[_Fit] = []
    even_residual = interval_counts.value
    for round_index, steps in enumerate(TUNING.steps):
        mean = bin_fractions @ probabilities
        scatter = total * ((bin_fractions * probabilities) @ bin_fractions.T - np.outer(mean, mean))
        if round_index == 2:
            overdispersion = _fit_overdispersion(
                scatter, variance, interval_counts.value - total * bin_fractions @ probabilities
            )
            if overdispersion > TUNING.largest_overdispersion:
                return None

        # Whitening by scatter and noise turns generalised into ordinary least squares.
        whitening = np.linalg.inv(np.linalg.cholesky(overdispersion * scatter + np.diag(variance)))
        counts = _WhitenedCounts(whitening @ (total * bin_fractions), whitening @ interval_counts.value, basis)
        if round_index == 0:
            even_residual = counts.values - counts.design @ probabilities
        fits = []
        for amplitude in TUNING.amplitudes if round_index == 2 else (TUNING.pilot_amplitude,):
            fits.append(counts.fit(amplitude, coefficients, steps))
            coefficients = fits[-1].coefficients

        # A density that misses the counts, or hardly improves on even records, would only add bias.
        probabilities, residual = fits[-1].probabilities, fits[-1].residual
        squared_residuals = float(residual @ residual)
        if round_index == 0:
            is_misfit = squared_residuals > TUNING.largest_misfit * len(residual)
            if is_misfit or even_residual @ even_residual - squared_residuals < 2 * TUNING.least_gain:
                return None
        if cells > TUNING.bins and probabilities[1:-1].max() > TUNING.largest_bin_share:
            return None
        if round_index < 2:
            variance = _reweight_variances(interval_counts, variance, whitening, residual)

    # The amplitude of the waves is unknown: fits are averaged by their evidence.
    evidence = np.array([fit.log_occam_factor - fit.residual @ fit.residual / 2 for fit in fits])
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    probabilities = np.sum([weight * fit.probabilities for weight, fit in zip(weight, fits, strict=True)], axis=0)

    # The density alone ignores where this sample departs from it: noisy counts add their part.
    correction = bin_fractions.T @ (whitening.T @ (counts.values - counts.design @ probabilities))
    counts_in_bins = np.maximum(
        total * probabilities * (1 + overdispersion * (correction - probabilities @ correction)), 0.0
    )
    log_occam_factor = float(weight @ [fit.log_occam_factor for fit in fits])
    shares, counts_below = (
        np.interp(positions, basis.edges, np.append(0.0, np.cumsum(masses)))
        for masses in (probabilities, counts_in_bins)
    )
    return SmoothPosterior(
        shares, counts_below * (total / max(counts_below[-1], 1e-9)), overdispersion, log_occam_factor
    )


@lru_cache(maxsize=8)  # a pure function of a public number
def _build_basis(cells: int) -> _Basis:
    """Return the bins of an axis, and the basis functions whose linear combination is a log-density; cached.

    Args:
        cells: Number of cells of the axis.
    """
    # Bins have the widths of heap nodes, so that their edges are edges of nodes.
    bin_width = 1 << max(0, (cells - 1).bit_length() - TUNING.bins.bit_length() + 1)
    inner = np.arange(bin_width, cells, bin_width, dtype=np.float64)
    bins = -(-cells // bin_width)
    edges = np.concatenate([[0.0, 1.0], inner[(inner > 1) & (inner < cells - 1)], [cells - 1.0, cells]])
    middle = (edges[1:] + edges[:-1]) / 2 / cells
    line = 2 * middle - 1
    number = np.arange(1, TUNING.waves + 1)
    first_bin, last_bin = np.zeros((2, len(middle)))
    first_bin[0] = last_bin[-1] = 1.0
    log_distances = [np.log(np.maximum(distance, 0.5 / bins)) for distance in (middle, 1 - middle)]
    shape = [line, (3 * line**2 - 1) / 2, *log_distances]
    waves = np.sqrt(2) * np.cos(np.pi * np.outer(middle, number))
    ends = [TUNING.end_deviation] * 2
    clipped = [TUNING.clipped_deviation] * 2
    deviations = np.array([TUNING.line_deviation, TUNING.parabola_deviation, *ends, *clipped])
    return _Basis(
        edges,
        np.column_stack([*shape, first_bin, last_bin, waves]),
        np.append(1 / deviations**2, np.zeros(TUNING.waves)),
        np.append(np.zeros(len(deviations)), number ** (2 * TUNING.fading)),
        np.diff(edges) / cells,
    )


def _fit_overdispersion(scatter: FloatArray, variance: FloatArray, residual: FloatArray) -> float:
    """Return the most likely overdispersion: the factor by which the variance of records exceeds multinomial variation,
    from candidates.

    Args:
        scatter: Covariance of the counts by multinomial variation.
        variance: Variance of the noise of each count.
        residual: Counts minus their expectation.
    """

    def log_likelihood(overdispersion: float) -> float:
        """Return the log-likelihood of the residuals under an overdispersion factor, up to a constant.

        Args:
            overdispersion: Factor of the multinomial covariance, at least 0.
        """
        root = np.linalg.cholesky(overdispersion * scatter + np.diag(variance))
        whitening = np.linalg.solve(root, residual)
        return float(-whitening @ whitening / 2 - np.log(root.diagonal()).sum())

    return max(TUNING.overdispersions, key=log_likelihood)


def _reweight_variances(
    interval_counts: IntervalCounts, variance: FloatArray, whitening: FloatArray, residual: FloatArray
) -> FloatArray:
    """Return new variances of the noises after one step of expectation-maximisation.

    Laplace noise is a scale mixture of Gaussian noise: a count with a large residual gets a large variance, and so a
    small weight in the fit.

    Args:
        interval_counts: The counts.
        variance: Variances used so far.
        whitening: Matrix that makes noise and scatter of the counts independent with variance 1.
        residual: Whitened counts minus their expectation.
    """
    noise = variance * (whitening.T @ residual)
    second_moment = noise**2 + np.maximum(variance - variance**2 * (whitening**2).sum(axis=0), 0)
    return np.asarray(
        interval_counts.variance
        * (
            1
            - interval_counts.laplace_weight
            + interval_counts.laplace_weight * np.sqrt(second_moment / (2 * interval_counts.variance))
        )
    )


def collect_interval_counts(measurements: Measurements, upward: UpwardEstimate) -> IntervalCounts:
    """Collect counts of intervals with independent noise for fitting a density: wide nodes by themselves, narrow nodes
    with all nodes below.

    Args:
        measurements: Noisy counts of the nodes of a tree.
        upward: Estimates of the nodes from their own counts and all counts below.
    """
    layout = measurements.layout
    is_wide = layout.width * TUNING.frontier > layout.cells
    is_reached, is_opened = np.zeros((2, layout.nodes), dtype=np.bool_)
    is_reached[ROOT] = True
    for parent, left, right, _ in layout.halvings:
        is_opened[parent] = is_reached[parent] & is_wide[parent]
        is_reached[left] = is_reached[right] = is_opened[parent]
    parts = []
    for nodes, estimates in ((is_opened, measurements), (is_reached & ~is_opened, upward)):
        index = np.flatnonzero(nodes & (estimates.precision > 0) & np.isfinite(estimates.precision))
        begin = layout.begin[index]
        variance = 1 / estimates.precision[index]
        parts.append(
            (begin, begin + layout.width[index], estimates.value[index], variance, estimates.fourth_cumulant[index])
        )
    begin, end, value, variance, fourth_cumulant = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    laplace_weight = np.clip(fourth_cumulant / variance**2 / TUNING.laplace_kurtosis, 0, 1)
    return IntervalCounts(begin, end, value, variance, laplace_weight)


def estimate_cells(
    measurements: Measurements, total: float, again: bool, edges: FloatArray | None = None
) -> FloatArray:
    """Return the expected count of each cell, (cells,), averaged over three models by evidence: independent splits of a
    tree, a smooth density, a slow trend.

    The posterior probability of the density, and of nearly uniform records (`fit_slow_trend`), follows from its
    likelihood for each split, relative to the mixture of kinds with weights from the other splits and to even records,
    and from the cost of fitting it. If both are unlikely, `estimate_tree` and `reestimate_tree` give the counts.

    Args:
        measurements: Noisy counts of intervals along an axis.
        total: Number of records.
        again: Whether estimates from splits are improved by `reestimate_tree`, along slopes if cells are even.
        edges: Endpoints of uneven cells, (cells + 1,), between which the density is smooth in the logarithm of values.
            None: it is smooth along the cells.
    """
    upward = run_upward_pass(measurements)
    interval_counts = collect_interval_counts(measurements, upward)
    positions = None
    if edges is not None:
        estimate = reestimate_tree(measurements, total, estimate_tree(measurements, total))
        counts = estimate.keep_significant_counts(TUNING.occupied_z)[measurements.layout.cell_nodes]
        positions = _scale_positions(edges, counts)

    # On uneven cells, precise counts show more than a density that is smooth in the logarithm.
    deviation = np.sqrt(interval_counts.variance.min(initial=np.inf))
    is_precise = edges is not None and total > TUNING.precise_ratio * TUNING.bins * deviation
    try:
        density = (
            None if is_precise else fit_smooth_density(interval_counts, measurements.layout.cells, total, positions)
        )
    except np.linalg.LinAlgError:  # nearly collinear counts, for instance if most records lie on a single number
        density = None

    # Each model is also a prior of the splits, whose likelihood gives the odds of the models.
    trend = None if edges is not None else _fit_slow_trend(interval_counts, measurements.layout.cells, total)
    distributions = [model.node_distribution(measurements.layout) for model in (density, trend) if model is not None]
    splits = estimate_tree(measurements, total, distributions)
    cells_by_model = []
    log_odds = []
    if density is not None:
        cells_by_model.append(density.estimate_cells(measurements.layout, upward, distributions[0]))
        log_odds.append(splits.distribution_log_odds[0] + density.log_occam_factor - TUNING.prior_log_odds)
    if trend is not None:
        cells_by_model.append(trend.cells)
        log_odds.append(splits.distribution_log_odds[-1] + trend.log_occam_factor)

    # Log-odds are relative to the splits, which therefore have 0.
    probabilities = np.exp(np.array([*log_odds, 0.0]) - np.logaddexp.reduce([*log_odds, 0.0]))
    if 1 - probabilities[-1] <= TUNING.certain:
        improved = reestimate_tree(measurements, total, splits, shrinks_to_slope=edges is None) if again else splits
        cells_by_model.append(improved.cells)
    weights = probabilities[: len(cells_by_model)]
    return np.asarray(weights @ np.array(cells_by_model) / weights.sum())


def _fit_slow_trend(interval_counts: IntervalCounts, cells: int, total: float) -> TrendPosterior | None:
    """Fit a slow trend to noisy counts of intervals, for records that are nearly uniform.

    Args:
        interval_counts: Noisy counts of intervals, with their variances.
        cells: Number of cells of the axis.
        total: Number of records.

    Returns:
        Posterior of the trend; None if counts are few or exact, or nearly collinear.
    """
    is_exact = interval_counts.variance.min(initial=np.inf) < TUNING.exact_variance
    if total <= 1 or len(interval_counts.value) < TUNING.fewest_counts or is_exact:
        return None
    try:
        return fit_slow_trend(CountedIntervals(*interval_counts[:4]), cells, total)
    except np.linalg.LinAlgError:
        return None


def _scale_positions(edges: FloatArray, counts: FloatArray) -> FloatArray:
    """Return positions of the edges of unequal cells on a scale along which the density is smooth: logarithmic in the
    range of nearly all records.

    Records below or above this range are in the first and the last stretch.

    Args:
        edges: Edges of the cells, increasing, (cells + 1,).
        counts: Estimated counts of the cells, (cells,).

    >>> edges, counts = np.array([-np.inf, 0.0, 1.0, 10.0, 100.0, np.inf]), np.array([0.0, 0.0, 5.0, 5.0, 0.0])
    >>> _scale_positions(edges, counts).round(1).tolist()
    [0.0, 0.5, 1.0, 64.0, 127.0, 128.0]
    """
    below = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), 0.1)  # 0.1 records: no division by 0
    first = max(int(np.searchsorted(below, TUNING.tail_share, side="right")) - 1, 1)
    last = min(int(np.searchsorted(below, 1 - TUNING.tail_share)), len(edges) - 2)
    positions = np.empty(len(edges))
    positions[: first + 1] = np.linspace(0.0, 1.0, first + 1)
    positions[last:] = np.linspace(TUNING.bins - 1.0, TUNING.bins, len(edges) - last)
    if last > first:
        inner = edges[first : last + 1]
        if inner[0] > 0 or inner[-1] < 0:
            inner = np.sign(inner[0]) * np.log(np.abs(inner))
        if not inner[0] < inner[-1]:  # all records seem to lie on one number
            inner = np.arange(float(len(inner)))
        positions[first : last + 1] = 1.0 + (TUNING.bins - 2.0) * (inner - inner[0]) / (inner[-1] - inner[0])
    return positions


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the fit of a smooth density."""

    bins: int = 128
    """Largest number of bins of constant density, besides the first and the last cell: it bounds the time of a fit."""
    frontier: int = 64
    """Ratio. A node of the released tree with at most 1 / `frontier` of the cells enters by one estimate that combines
    its count with the counts of all nodes below it; wider nodes enter by their own counts."""
    fewest_cells: int = 32
    """Cells: with fewer, no density is fitted."""
    fewest_counts: int = 4
    """Released counts: with fewer, no density is fitted."""
    exact_variance: float = 1.0
    """Squared records: noise of a smaller variance leaves counts nearly exact, so that a density adds nothing."""
    waves: int = 12
    """Cosine waves in the logarithm of the density."""
    line_deviation: float = 5.0
    """Log density: prior standard deviation of the coefficient of the straight line, which runs from -1 to 1 across the
    cells. Results hardly depend on this and the next three.
    """
    parabola_deviation: float = 8.0
    """Log density: prior standard deviation of the coefficient of the parabola."""
    end_deviation: float = 1.5
    """Exponent of a distance from an end of the grid: its prior standard deviation."""
    clipped_deviation: float = 3.0
    """Prior standard deviation of the log ratio of the outermost cells to the density there: they also hold clipped
    values."""
    fading: float = 2.0
    """Power of the wave number with which the prior standard deviation of waves falls."""
    amplitudes: tuple[float, ...] = (0.1, 0.7, 4.0)
    """Log density: prior standard deviations of the first wave; the fits with each are averaged."""
    pilot_amplitude: float = 2.0
    """Log density: prior standard deviation of the first wave in the rounds before the last, which fit the
    overdispersion; the last round has each of `amplitudes` instead. It lies between the two largest of these."""
    overdispersions: tuple[float, ...] = (1.0, 2.0, 5.0, 15.0)
    """Ratios of the variance of records around the density to multinomial variance; the most likely one is used."""
    largest_overdispersion: float = 2.0
    """Ratio of the variance of records around the density to multinomial variance, above which the density gets no
    weight, because it fits the data badly."""
    least_gain: float = 4.0
    """Log-likelihood that the first fit must gain over even records; otherwise the fit stops there."""
    prior_log_odds: float = 2.0
    """Log odds, before counts are seen, against a smooth density."""
    certain: float = 0.99
    """Posterior probability of the density above which estimates from splits alone are not averaged in."""
    least_variance: float = 1e-6
    """Squared records per record: lower limit of variances, since nested counts are collinear below it."""
    negligible_scatter: float = 0.1
    """Multinomial variance over noise variance below which the counts of narrow nodes are ignored."""
    laplace_kurtosis: float = 3.0
    """Excess kurtosis of Laplace noise, which is 3."""
    occupied_z: float = 2.0
    """Standard deviations of splits above which uneven cells are taken to hold records."""
    tail_share: float = 0.001
    """Share of the records on either side that may lie outside the interval from which the scale of uneven cells is
    chosen."""
    precise_ratio: float = 100.0
    """Records per bin over the noise standard deviation above which uneven cells get no density: counts are precise."""
    largest_misfit: float = 6.0
    """Ratio of the squared residuals of the first fit to their expectation above which no density is fitted."""
    largest_bin_share: float = 0.08
    """Share of the records in a bin of several cells above which the bin is too wide for a constant density within
    it."""
    steps: tuple[int, int, int] = (8, 2, 20)
    """Largest numbers of Gauss-Newton steps: in each of two rounds that fit the overdispersion, and in the last
    round."""
    least_promise: float = 1e-2
    """Log-likelihood that a Gauss-Newton step must promise to gain; otherwise the fit has converged."""
    gain_share: float = 1e-4
    """Share of the promised gain that a step must realise; otherwise it is halved."""
    least_length: float = 1e-3
    """Fraction of the full Gauss-Newton step below which halving stops."""


TUNING = Tuning()
"""The values that all fits of a smooth density use."""
