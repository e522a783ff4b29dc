"""A smooth density for records along an axis, from noisy counts of intervals; and how many records it puts below each.

The third assumption of `empirical_bayes`, beside splits of all kinds and even ones: records are drawn from a density
whose logarithm is a line, a parabola, logarithms of the distances from both ends, and waves that fade; the first and
the last cell, which hold what was clamped, may have more or less. Normal, exponential, gamma and beta laws need no
waves. How large waves are is averaged over by marginal likelihood, as with log-splines (Kooperberg and Stone 1991).

Constants were chosen on the laws, shapes and histograms of `benchmarks/smooth_laws.py` and `benchmarks/regimes.py` that
are there to choose on, but for `FULL`, which the histogram MEDCOST asked for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .binary_tree import WHOLE, Layout, Measurements
from .empirical_bayes import (
    PriorLaw,
    TreeEstimate,
    UpwardEstimate,
    estimate_by_law,
    estimate_tree,
    reestimate_tree,
    run_upward_pass,
)

BINS = 128
"""Stretches in which the density is taken to be even, at most, beside the first and the last cell."""
FRONTIER = 64
"""Nodes of no more than such a part of the cells are read together with all below them."""
FEWEST_CELLS, FEWEST_COUNTS = 32, 4
EXACT = 1.0
"""Variance below which a count is as good as exact: no density knows more."""
WAVES = 12
LINE, PARABOLA, ENDS, CLAMPED = 5.0, 8.0, 1.5, 3.0
"""Standard deviations of coefficients: of Legendre polynomials, of logarithms, and of the logarithms of how much more
the end cells have. They hardly matter."""
FADING = 2.0
"""The standard deviation of a wave falls with such a power of its number."""
AMPLITUDES = 0.1, 0.7, 4.0
"""Standard deviations of the first wave, averaged over."""
PILOT = 2.0
"""That of the rounds before, by which residuals are judged."""
EXCESSES = 1.0, 2.0, 5.0, 15.0
"""Ratios of the scatter of records about the density to that by chance, of which the likeliest is taken."""
MOST_EXCESS = 2.0
"""A density tells little of data that scatter more."""
NO_BETTER = 4.0
"""A first fit is no better than even records, if it gains less of the logarithm of the likelihood."""
DOUBT = 2.0
"""The logarithm of odds against a smooth density, before anything is known."""
CERTAIN = 0.99
"""With a higher chance, what splits alone say is not considered."""
LEAST_NOISE = 1e-6
"""Variance of a count, in records, below which it is taken to be exact: what is nested could not be told apart."""
LITTLE = 0.1
"""Variance by chance, in that of noise, below which counts of narrow nodes tell nothing."""
LAPLACE_EXCESS = 3.0
CLEARLY = 2.0
"""Standard deviations of splits that records have where uneven cells are taken to hold some."""
BEYOND = 0.001
"""The part of the records on either side that uneven cells at the ends may have."""
WELL_KNOWN = 100.0
"""Deviations of noise that records of a stretch are on average, from which on uneven cells have no smooth density."""
HOPELESS = 6.0
"""Squared residuals of a first fit, in those that are expected: from here on no density is worth more rounds."""
FULL = 0.08
"""A bin of several cells that has a larger part of the records is too wide: what lies in it is no straight line."""
STEPS = 8, 2, 20
"""Steps of Gauss and Newton, at most, in two rounds that judge the noise and in the last one."""
CLOSE, LEAST_GAIN, LEAST_STEP = 1e-2, 1e-4, 1e-3
"""A step is taken if it promises more of the logarithm of the likelihood, and if it has such a part of that; it is
shortened to no less than such a part."""


class SmoothPosterior(NamedTuple):
    """The posterior of counts under a smooth density, given noisy counts.

    Attributes:
        cumulative_shares: The share of the law below each edge of a cell, (cells + 1,).
        counts_below: How many of the records lie below each edge, (cells + 1,): those of the law, drawn to what was counted.
        overdispersion: How many times more than by chance they scatter about the law.
        log_occam_factor: The logarithm of what the density costs for having been fitted: of its prior chance near the best one.
    """

    cumulative_shares: FloatArray
    counts_below: FloatArray
    overdispersion: float
    log_occam_factor: float

    def node_law(self, layout: Layout) -> PriorLaw:
        """Chances of nodes."""
        return PriorLaw(
            self.cumulative_shares[layout.begin + layout.width] - self.cumulative_shares[layout.begin],
            self.overdispersion,
        )

    def estimate_cells(self, layout: Layout, ascent: UpwardEstimate, law: PriorLaw) -> FloatArray:
        """The count of each cell, (cells,): in narrow nodes also drawn to what was counted there, where that tells."""
        narrow = layout.width * FRONTIER <= layout.cells
        some = narrow & (layout.width > 0)
        scatter = self.overdispersion * self.counts_below[-1] * law.mass[some]
        if (scatter * ascent.precision[some]).max(initial=0) < LITTLE:
            return np.diff(self.counts_below)
        return estimate_by_law(layout, ascent, law, self.counts_below, ~narrow)


class IntervalCounts(NamedTuple):
    """Counts of intervals with independent noise.

    Attributes:
        begin, end: The cells of each.
        value: The count.
        variance: That of its noise.
        laplace_weight: From 0, Gaussian noise, to 1, a single Laplace draw.
    """

    begin: IntArray
    end: IntArray
    value: FloatArray
    variance: FloatArray
    laplace_weight: FloatArray


class _Basis(NamedTuple):
    """Bins of cells, and functions of which a logarithm of a density is made.

    Attributes:
        edges: The cells between which bins lie, (bins + 1,).
        functions: In the middles of bins, (bins, functions).
        prior: One over the variance of each coefficient, but for waves.
        waves: One over the variance of each coefficient of waves of amplitude 1.
        width: Parts of the cells that bins have, (bins,).
    """

    edges: FloatArray
    functions: FloatArray
    prior: FloatArray
    waves: FloatArray
    width: FloatArray


class _Fit(NamedTuple):
    coefficients: FloatArray
    probabilities: FloatArray
    residual: FloatArray
    log_occam_factor: float


class _WhitenedCounts(NamedTuple):
    """Counts with noise of variance 1, and what is expected of them: a design times the chances of bins."""

    design: FloatArray
    values: FloatArray
    basis: _Basis

    def fit(self, amplitude: float, start: FloatArray, steps: int) -> _Fit:
        """The likeliest coefficients, by Gauss and Newton, and what they cost by the Laplace approximation."""
        precision = self.basis.prior + self.basis.waves / amplitude**2
        coefficients, (loss, chance, residual) = start, self._evaluate(start, precision)
        for _ in range(steps):
            slope, curvature = self._jacobian(chance, precision)
            gradient = slope.T @ residual - precision * coefficients
            step = np.linalg.solve(curvature, gradient)
            gain, length = float(step @ gradient), 1.0
            if gain < CLOSE:
                break
            tried = self._evaluate(coefficients + step, precision)
            while tried[0] > loss - LEAST_GAIN * length * gain and length > LEAST_STEP:
                length /= 2
                tried = self._evaluate(coefficients + length * step, precision)
            if tried[0] >= loss:
                break
            coefficients, (loss, chance, residual) = coefficients + length * step, tried
        _, log_determinant = np.linalg.slogdet(self._jacobian(chance, precision)[1])
        occam = (np.log(precision).sum() - log_determinant - (precision * coefficients) @ coefficients) / 2
        return _Fit(coefficients, chance, residual, float(occam))

    def _evaluate(self, coefficients: FloatArray, precision: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Half the squares of residuals and coefficients; chances; residuals."""
        logarithm = self.basis.functions @ coefficients
        chance = self.basis.width * np.exp(logarithm - logarithm.max())
        chance /= chance.sum()
        residual = self.values - self.design @ chance
        return float(residual @ residual + (precision * coefficients) @ coefficients) / 2, chance, residual

    def _jacobian(self, chance: FloatArray, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
        functions = self.basis.functions
        slope = (self.design * chance) @ (functions - chance @ functions)
        return slope, slope.T @ slope + np.diag(precision)


def fit_smooth_density(
    interval_counts: IntervalCounts, cells: int, total: float, places: FloatArray | None = None
) -> SmoothPosterior | None:
    """Fit a smooth density; None if cells or counts are few or exact, no density is near them, or it is too steep.

    Generalised least squares, where records scatter about the density as multinomial ones do, or more than that by a
    factor that is fitted. Laplace noise is a mixture of Gaussian laws: large residuals are given larger variances by
    expectation and maximisation, which tells nearly twice as much of the density as least squares do. What is returned
    of the records is their conditional mean, given the density and what was counted.

    Where cells are uneven, `places` says where their edges lie on a scale along which the density is smooth: from 0 to
    a number of stretches as wide as each other, the first and the last of which may have more or less than it.

    Formal guarantees: all arguments are released or public, and nothing else is read.

    >>> counts = np.array([95.0, 85.0, 75.0, 60.0, 45.0, 25.0, 10.0, 5.0])
    >>> told = IntervalCounts(np.arange(0, 64, 8), np.arange(8, 65, 8), counts, np.full(8, 9.0), np.zeros(8))
    >>> fit_smooth_density(told, 64, 400.0).below[::16].round().tolist()
    [0.0, 180.0, 315.0, 385.0, 400.0]
    """
    at = np.arange(cells + 1.0) if places is None else places
    begin, end, stretches = at[interval_counts.begin], at[interval_counts.end], round(float(at[-1]))
    if (
        stretches < FEWEST_CELLS
        or len(interval_counts.value) < FEWEST_COUNTS
        or total <= 1
        or interval_counts.variance.min() < EXACT
    ):
        return None
    basis = _build_basis(stretches)
    shared = np.minimum(end[:, None], basis.edges[1:]) - np.maximum(begin[:, None], basis.edges[:-1])
    inside = np.clip(shared / np.diff(basis.edges), 0, 1)  # the part of each bin in each interval
    interval_counts = interval_counts._replace(variance=np.maximum(interval_counts.variance, LEAST_NOISE * total))
    chance, variance, excess = basis.width, interval_counts.variance, 1.0
    coefficients = np.zeros(basis.functions.shape[1])
    fits: list[_Fit] = []
    even = interval_counts.value
    for turn, steps in enumerate(STEPS):
        mean = inside @ chance
        scatter = total * ((inside * chance) @ inside.T - np.outer(mean, mean))
        if turn == 2:
            excess = _fit_overdispersion(scatter, variance, interval_counts.value - total * inside @ chance)
            if excess > MOST_EXCESS:
                return None
        white = np.linalg.inv(np.linalg.cholesky(excess * scatter + np.diag(variance)))
        counts = _WhitenedCounts(white @ (total * inside), white @ interval_counts.value, basis)
        if turn == 0:
            even = counts.values - counts.design @ chance
        fits = []
        for amplitude in AMPLITUDES if turn == 2 else (PILOT,):
            fits.append(counts.fit(amplitude, coefficients, steps))
            coefficients = fits[-1].coefficients
        chance, residual = fits[-1].probabilities, fits[-1].residual
        squares = float(residual @ residual)
        if turn == 0 and (squares > HOPELESS * len(residual) or even @ even - squares < 2 * NO_BETTER):
            return None
        if cells > BINS and chance[1:-1].max() > FULL:
            return None
        if turn < 2:
            variance = _reweight_variances(interval_counts, variance, white, residual)
    evidence = np.array([fit.log_occam_factor - fit.residual @ fit.residual / 2 for fit in fits])
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    chance = np.sum([own * fit.probabilities for own, fit in zip(weight, fits, strict=True)], axis=0)
    pull = inside.T @ (white.T @ (counts.values - counts.design @ chance))
    drawn = np.maximum(total * chance * (1 + excess * (pull - chance @ pull)), 0.0)
    occam = float(weight @ [fit.log_occam_factor for fit in fits])
    shares, below = (np.interp(at, basis.edges, np.append(0.0, np.cumsum(each))) for each in (chance, drawn))
    return SmoothPosterior(shares, below * (total / max(below[-1], 1e-9)), excess, occam)


@lru_cache(maxsize=8)  # a pure function of a public number
def _build_basis(cells: int) -> _Basis:
    wide = 1 << max(0, (cells - 1).bit_length() - BINS.bit_length() + 1)  # as the nodes of a heap: edges meet
    inner, bins = np.arange(wide, cells, wide, dtype=np.float64), -(-cells // wide)
    edges = np.concatenate([[0.0, 1.0], inner[(inner > 1) & (inner < cells - 1)], [cells - 1.0, cells]])
    at = (edges[1:] + edges[:-1]) / 2 / cells
    line, number = 2 * at - 1, np.arange(1, WAVES + 1)
    first, last = np.zeros((2, len(at)))
    first[0] = last[-1] = 1.0
    shape = [line, (3 * line**2 - 1) / 2, np.log(np.maximum(at, 0.5 / bins)), np.log(np.maximum(1 - at, 0.5 / bins))]
    waves = np.sqrt(2) * np.cos(np.pi * np.outer(at, number))
    deviations = np.array([LINE, PARABOLA, ENDS, ENDS, CLAMPED, CLAMPED])
    return _Basis(
        edges,
        np.column_stack([*shape, first, last, waves]),
        np.append(1 / deviations**2, np.zeros(WAVES)),
        np.append(np.zeros(len(deviations)), number ** (2 * FADING)),
        np.diff(edges) / cells,
    )


def _fit_overdispersion(scatter: FloatArray, variance: FloatArray, residual: FloatArray) -> float:
    def log_likelihood(excess: float) -> float:
        root = np.linalg.cholesky(excess * scatter + np.diag(variance))
        white = np.linalg.solve(root, residual)
        return float(-white @ white / 2 - np.log(root.diagonal()).sum())

    return max(EXCESSES, key=log_likelihood)


def _reweight_variances(
    interval_counts: IntervalCounts, variance: FloatArray, white: FloatArray, residual: FloatArray
) -> FloatArray:
    """Variances of the Gaussian laws that made each noise, as far as residuals tell.

    Args:
        interval_counts: The counts.
        variance: What was believed so far.
        white: What makes noise and scatter of the counts independent, of variance 1.
        residual: How far the counts are from what is expected, made so.
    """
    noise = variance * (white.T @ residual)
    square = noise**2 + np.maximum(variance - variance**2 * (white**2).sum(axis=0), 0)
    return np.asarray(
        interval_counts.variance
        * (
            1
            - interval_counts.laplace_weight
            + interval_counts.laplace_weight * np.sqrt(square / (2 * interval_counts.variance))
        )
    )


def collect_interval_counts(known: Measurements, below: UpwardEstimate) -> IntervalCounts:
    """Independent counts: of wide nodes by themselves, and of narrower ones by all below them."""
    layout = known.layout
    wide = layout.width * FRONTIER > layout.cells
    reached, opened = np.zeros((2, layout.nodes), dtype=np.bool_)
    reached[WHOLE] = True
    for parent, left, right, _ in layout.halvings:
        opened[parent] = reached[parent] & wide[parent]
        reached[left] = reached[right] = opened[parent]
    found = []
    for nodes, own in ((opened, known), (reached & ~opened, below)):
        at = np.flatnonzero(nodes & (own.precision > 0) & np.isfinite(own.precision))
        begin, variance = layout.begin[at], 1 / own.precision[at]
        found.append((begin, begin + layout.width[at], own.value[at], variance, own.fourth_cumulant[at]))
    begin, end, value, variance, fourth = (np.concatenate(each) for each in zip(*found, strict=True))
    return IntervalCounts(begin, end, value, variance, np.clip(fourth / variance**2 / LAPLACE_EXCESS, 0, 1))


def estimate_cells(known: Measurements, total: float, again: bool, edges: FloatArray | None = None) -> FloatArray:
    """The best count of each cell, (cells,): by splits alone, and by a smooth density as far as splits are like it.

    The density is judged by how likely it makes each split, beside the kinds of splits with the weights that other
    splits give them, and beside even records, and by what it costs for having been fitted. Where it is unlikely, the
    counts are those of `estimate_tree` and `reestimate_tree`.

    Args:
        known: What was measured, of intervals along an axis.
        total: See `estimate_tree`.
        again: Whether what splits alone tell is estimated once more.
        edges: The ends of uneven cells, (cells + 1,), between which the density is smooth along logarithms of values.
            None: it is smooth along the cells.
    """
    ascent = run_upward_pass(known)
    told = collect_interval_counts(known, ascent)
    places = None
    if edges is not None:
        first = reestimate_tree(known, total, estimate_tree(known, total))
        places = _scale_positions(edges, first.keep_significant_counts(CLEARLY)[known.layout.cell_nodes])
    known_well = edges is not None and total > WELL_KNOWN * BINS * np.sqrt(told.variance.min(initial=np.inf))
    try:
        smooth = None if known_well else fit_smooth_density(told, known.layout.cells, total, places)
    except np.linalg.LinAlgError:  # counts that nearly repeat each other, as where most lies in a cell of one number
        smooth = None
    if smooth is None:
        splits, chance, by_density = estimate_tree(known, total), 0.0, np.zeros(known.layout.cells)
    else:
        law = smooth.node_law(known.layout)
        splits = estimate_tree(known, total, law)
        chance, by_density = _density_probability(splits, smooth), smooth.estimate_cells(known.layout, ascent, law)
        if chance > CERTAIN:
            return by_density
    cells = (reestimate_tree(known, total, splits) if again else splits).cells
    return cells + chance * (by_density - cells)


def _scale_positions(edges: FloatArray, counts: FloatArray) -> FloatArray:
    """The places of the edges of uneven cells: those between which nearly all records seem to lie, by logarithms.

    What lies below or above them is in the first and in the last stretch.

    >>> edges, counts = np.array([-np.inf, 0.0, 1.0, 10.0, 100.0, np.inf]), np.array([0.0, 0.0, 5.0, 5.0, 0.0])
    >>> _scale_positions(edges, counts).round(1).tolist()
    [0.0, 0.5, 1.0, 64.0, 127.0, 128.0]
    """
    below = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), LITTLE)
    first = max(int(np.searchsorted(below, BEYOND, side="right")) - 1, 1)
    last = min(int(np.searchsorted(below, 1 - BEYOND)), len(edges) - 2)
    places = np.empty(len(edges))
    places[: first + 1] = np.linspace(0.0, 1.0, first + 1)
    places[last:] = np.linspace(BINS - 1.0, BINS, len(edges) - last)
    if last > first:
        within = edges[first : last + 1]
        if within[0] > 0 or within[-1] < 0:
            within = np.sign(within[0]) * np.log(np.abs(within))
        if not within[0] < within[-1]:  # all that seems to be there is one number
            within = np.arange(float(len(within)))
        places[first : last + 1] = 1.0 + (BINS - 2.0) * (within - within[0]) / (within[-1] - within[0])
    return places


def _density_probability(splits: TreeEstimate, smooth: SmoothPosterior) -> float:
    """That the density is better than what splits alone say."""
    odds = splits.law_log_odds + smooth.log_occam_factor - DOUBT
    return float(np.exp(-np.logaddexp(0.0, -odds)))
