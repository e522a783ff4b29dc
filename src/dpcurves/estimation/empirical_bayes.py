"""Empirical Bayes on a binary tree: splits are shrunk towards even ones, as a mixture prior and the noise imply.

*Model.* A node holds n records, and its left half a fraction f of its cells. The split of the node is its deviation
from an even one, ``d = left count - f * n``, and is measured with noise: ``y = d + z``. It is of one of several kinds:

- smooth, of roughness ``r`` in 0, 4**-6, ..., 1/4: d is Gaussian with variance ``b * n + r * (4 * b * n)**2``, where
  ``b = f * (1 - f)``, that is binomial variation plus a change of the odds of both halves;
- one-sided: one half holds all records, or all but a half-normal leftover of scale ``LEFTOVER_SHARE * n``.

*Estimate.* Upwards, from single cells to the root, the count of a node is the least squares combination of its own
noisy count and the sum of its halves. Downwards, the left half of a node gets

    f * n + E[d | y] = f * n + sum_k P(k | y) * E[d | y, k]      P(k | y) proportional to w_k * p(y | k)

The weights ``w_k`` of the kinds are fitted on each level by expectation maximisation. The result is averaged with the
model that all records lie evenly (all splits binomial), by the posterior probability of that model. Laplace noise is a
mixture of two Gaussian distributions with the same first six moments. Cells are not negative and add up to the given
total.

Formal guarantees: post-processing, a function of released and public numbers.

References: Robbins 1956 (empirical Bayes); Hay, Rastogi, Miklau and Suciu 2010 (the upward pass); Dempster, Laird and
Rubin 1977 (expectation maximisation).

>>> from fractions import Fraction
>>> from dpcurves.estimation.binary_tree import merge_measurements
>>> from dpcurves.distributions import Family, IntervalSums, Noise, Tier
>>> cells = IntervalSums(1, 4, (Tier(range(4), Noise(Family.LAPLACE, Fraction(2))),), missing=None)
>>> noisy = merge_measurements(Layout.from_tilings([np.arange(5)]), [(cells, [41, -1, 3, -2])])
>>> estimate_tree(noisy, total=41).cells.round(1)  # of four counts with noise of standard deviation 2.8
array([40.7,  0. ,  0.1,  0.1])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .binary_tree import ROOT, Halving, Layout, Measurements

# The mixture prior of a split between two halves: nine kinds of splits, and the posterior given a noisy split.


ROUGHNESS = np.array([0.0, *(4.0**-k for k in range(6, 0, -1))])
"""Variances of the kinds of smooth splits beyond the binomial variance, in squared counts of the parent: from 0, an
even split, to 1/4, which may put all records into one half."""
LEFTOVER_SHARE = 1 / 16
"""Records of the smaller half of a one-sided split, in counts of the parent: the scale of their half-normal prior. One
kind of split has no leftover at all."""
SMOOTH_KINDS = len(ROUGHNESS)
"""Number of smooth kinds."""
SPLIT_KINDS = SMOOTH_KINDS + 2
"""Number of kinds: smooth ones, one-sided without a leftover, one-sided with a leftover."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate; `strategies.prefixes` lists the data on which they were chosen."""

    prior_splits: float = 1.0
    """Splits. The prior of the kinds of splits (smooth or one-sided, `SPLIT_KINDS`) counts as much as this many
    observed splits.
    """
    rounds: int = 12
    """Iterations of expectation maximisation."""
    rough_share: float = 0.25
    """Share of its maximum, the squared count of the parent, that the expected square of a rough split exceeds; rough
    splits form a separate class."""
    informative_ratio: float = 0.01
    """Prior variance of a split over the variance of its noise: below this, the split is not informative and keeps its
    prior mean."""
    even_probability: float = 0.5
    """Prior probability that records lie evenly over the whole grid."""
    variance_inflation: float = 5.0
    """Factor on the posterior variances of splits where they weight this estimate against another estimate."""
    negligible_probability: float = 1e-9
    """Posterior probability of evenness below which that model is left out of the average."""


TUNING = Tuning()
"""The values that all estimates of splits use."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisySplits:
    """Noisy deviations of left halves from an even split. All arrays are of shape (splits,).

    Attributes:
        deviation: Noisy count of the left half minus its even share.
        variance: Variance of its noise.
        excess_kurtosis: Excess kurtosis of its noise, from 0 (Gaussian) to 3 (Laplace).
        count: Estimated count of the parent.
        left_fraction: Fraction of the parent's cells in the left half, which is its share in an even split.
    """

    deviation: FloatArray
    variance: FloatArray
    excess_kurtosis: FloatArray
    count: FloatArray
    left_fraction: FloatArray

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NoisySplits:
        """Return the noisy splits that a slice or an array of indices selects.

        Args:
            rows: Slice or indices, along the axis of the splits.
        """
        return NoisySplits(
            self.deviation[rows],
            self.variance[rows],
            self.excess_kurtosis[rows],
            self.count[rows],
            self.left_fraction[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class KindwisePosterior:
    """Posterior moments of the splits under each kind. All arrays are of shape (splits, kinds).

    Attributes:
        likelihood: Likelihood of the noisy split, relative to the likelihood of the most likely kind of the split.
        best_log_likelihood: Log-likelihood under the most likely kind, of shape (splits,).
        mean: Posterior mean of the true deviation.
        second_moment: Posterior second moment of the true deviation.
    """

    likelihood: FloatArray
    best_log_likelihood: FloatArray
    mean: FloatArray
    second_moment: FloatArray

    def mix_kinds(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return posterior mean and second moment of each split's deviation under a mixture of kinds of priors,
        (splits,) each.

        Args:
            weights: Weight of each kind for each split, (splits, kinds).
        """
        probability = weights * self.likelihood
        probability /= probability.sum(axis=1, keepdims=True)
        return (probability * self.mean).sum(axis=1), (probability * self.second_moment).sum(axis=1)


def kindwise_posterior(splits: NoisySplits) -> KindwisePosterior:
    """Return the posterior of each split's deviation under each kind of prior (mixture component).

    A split divides the records of an interval between its two halves; the deviation is how many more the left half
    holds than its expected share.

    *Smooth* kinds: the deviation is Gaussian around 0, with the binomial variance plus a roughness. *One-sided* kinds:
    one half holds all records but a leftover, which is 0 or half-normal with scale `LEFTOVER_SHARE`. The noise is
    modelled as a mixture of two Gaussian distributions with its first six moments, if it is a sum of equal Laplace
    draws.

    Args:
        splits: Noisy splits, any number.

    Returns:
        Likelihoods, means and second moments, (splits, kinds) each; likelihoods are relative to the best kind of a
        split.
    """
    shape = (3, SPLIT_KINDS, len(splits.deviation))
    likelihood, mean, second_moment = np.empty(shape)  # the splits of a kind are contiguous in memory
    best_log_likelihood = np.empty(len(splits.deviation))
    rows_at_once = 2**13  # so that their arrays fit in the cache
    for start in range(0, len(splits.deviation), rows_at_once):
        rows = slice(start, start + rows_at_once)
        variance, log_probability = _gaussian_parts(splits[rows])
        count = splits.count[rows]
        binomial = splits.left_fraction[rows] * (1 - splits.left_fraction[rows])
        # roughness is a change of the odds of the two halves; an uneven share reduces it like the binomial variance
        smooth_prior = count * binomial + (4 * count * binomial) ** 2 * ROUGHNESS[:, None]
        moments = [
            _smooth_moments(splits[rows], smooth_prior, variance, log_probability),
            *_one_sided_moments(splits[rows], variance, log_probability),
        ]
        log_likelihood, mean[:, rows], second_moment[:, rows] = map(np.vstack, zip(*moments, strict=True))
        best_log_likelihood[rows] = log_likelihood.max(axis=0)
        np.exp(log_likelihood - best_log_likelihood[rows], out=likelihood[:, rows])
    return KindwisePosterior(likelihood.T, best_log_likelihood, mean.T, second_moment.T)


def log_likelihood_of_shares(splits: NoisySplits, share: FloatArray, excess: float) -> FloatArray:
    """Return the log-likelihood of each split, (splits,), if a record falls into the left half with probability
    `share`.

    Args:
        splits: Informative noisy splits: how an interval's records divide between its halves.
        share: Probability of the left half for each split, (splits,).
        excess: Variance factor over the binomial variance.
    """
    variance, log_probability = _gaussian_parts(splits)
    total_variance = variance + excess * splits.count * share * (1 - share)
    squared_error = (splits.deviation + (splits.left_fraction - share) * splits.count) ** 2
    log_likelihood = log_probability - (squared_error / total_variance + np.log(total_variance)) / 2
    return np.asarray(np.logaddexp.reduce(log_likelihood, axis=0))


def prior_second_moment(splits: NoisySplits, weights: FloatArray, group: NDArray[np.int8]) -> FloatArray:
    """Return the expected squared deviation of splits from their expectation, under a mixture prior with these weights.

    Args:
        splits: Any number of splits.
        weights: Weights of the mixture components (kinds) in each class, (classes, kinds).
        group: Class of each split, (splits,).
    """
    linear = (
        weights[:, :SMOOTH_KINDS].sum(axis=1)[group] * splits.count * splits.left_fraction * (1 - splits.left_fraction)
    )
    return np.asarray(linear + prior_moment_growth(splits.left_fraction, weights, group) * splits.count**2)


def prior_moment_growth(share: FloatArray, weights: FloatArray, group: NDArray[np.int8]) -> FloatArray:
    """Return which part of the expected squared deviation of a split grows with the parent's squared count: the
    coefficient of ``splits.count**2``.

    It belongs to `prior_second_moment`.

    Args:
        share: Share of the left child in the width of its parent, (splits,).
        weights: Weights of the mixture components (kinds) in each class, (classes, kinds).
        group: Class of each split, (splits,).
    """
    binomial = share * (1 - share)
    smooth = (weights[:, :SMOOTH_KINDS] @ ROUGHNESS)[group] * (4 * binomial) ** 2
    return np.asarray(smooth + weights[:, SMOOTH_KINDS:].sum(axis=1)[group] * binomial)


def even_split_moments(splits: NoisySplits, excess: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return posterior mean and second moment of the deviations from expected splits, (splits,) each, if all records
    are uniform (the first kind).

    Args:
        splits: Noisy splits, any number.
        excess: Factor of the binomial variance, for overdispersion.
    """
    binomial = excess * splits.count * splits.left_fraction * (1 - splits.left_fraction)
    mean = np.zeros_like(binomial)
    second_moment = binomial.copy()
    informative = np.flatnonzero((binomial > 0) & np.isfinite(splits.variance))
    _, (mean[informative],), (second_moment[informative],) = _smooth_moments(
        splits[informative], binomial[None, informative], *_gaussian_parts(splits[informative])
    )
    return mean, second_moment


def fit_mixture_weights(likelihood: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the weights of the mixture components (kinds) of the prior, fitted to the splits by expectation
    maximisation.

    Args:
        likelihood: Likelihood of each split under each kind, (splits, kinds).
        prior: Prior weights, (kinds,), which count as `Tuning.prior_splits` splits.

    Returns:
        Weights that add up to 1, (kinds,).
    """
    weights = prior
    for _ in range(TUNING.rounds if len(likelihood) else 0):  # without splits the prior remains
        expected_counts = weights * (likelihood.T @ (1 / (likelihood @ weights)))
        weights = (expected_counts + TUNING.prior_splits * prior) / (len(likelihood) + TUNING.prior_splits)
    return weights


MeanAndSquares = tuple[FloatArray, FloatArray, FloatArray]
"""Log-likelihood, mean and second moment."""


def _gaussian_parts(splits: NoisySplits) -> tuple[FloatArray, FloatArray]:
    """Return variances and log-probabilities of the Gaussian mixture that stands for the noise, (components, splits)
    each.

    A sum of k Laplace draws is a Gaussian with gamma distributed variance of shape k; this is its Gauss quadrature.

    Args:
        splits: Noisy splits, with their noise.
    """
    least_excess = 1e-6  # below, noise is treated as Gaussian
    if splits.excess_kurtosis.max(initial=0) < least_excess:
        return splits.variance[None], np.zeros((1, len(splits.variance)))
    shape = 3 / np.maximum(splits.excess_kurtosis, least_excess)
    lower = 1 - np.sqrt(shape + 1) / shape + 1 / shape
    upper = 1 + np.sqrt(shape + 1) / shape + 1 / shape
    probability = (upper - 1) / (upper - lower)
    return np.stack([lower, upper]) * splits.variance, np.log(np.stack([probability, 1 - probability]))


def _smooth_moments(
    splits: NoisySplits, prior: FloatArray, variance: FloatArray, log_probability: FloatArray
) -> MeanAndSquares:
    """Return posterior moments of the deviations from expected splits under Gaussian priors with mean 0 (the smooth
    kinds).

    Args:
        splits: Noisy splits: how many more records the left half of an interval holds than expected.
        prior: Prior variances in records², (kinds, splits).
        variance: Variances of the Gaussian parts of the noise, (parts, splits).
        log_probability: Log probabilities of these parts, (parts, splits).

    Returns:
        Log-likelihood, posterior mean and posterior second moment, (kinds, splits) each.
    """
    noise_variance = variance[:, None]
    square = splits.deviation**2
    total_variance = prior + noise_variance
    shrinkage = prior / total_variance
    log_likelihood = np.log(total_variance)
    log_likelihood += np.divide(square, total_variance, out=total_variance)
    log_likelihood *= -0.5
    log_likelihood += log_probability[:, None]
    # In place, because allocating new arrays takes longer.
    second_moment = np.multiply(shrinkage, square, out=total_variance)
    second_moment += noise_variance
    second_moment *= shrinkage
    log_likelihood, shrinkage, second_moment = _mix_moments(log_likelihood, shrinkage, second_moment)
    return log_likelihood, shrinkage * splits.deviation, second_moment


def _one_sided_moments(splits: NoisySplits, variance: FloatArray, log_probability: FloatArray) -> list[MeanAndSquares]:
    """Return posterior moments of the deviations from expected splits if one half holds all records of its parent, or
    all but a leftover (the one-sided kinds).

    Either half may be the full one.

    Args:
        splits: Noisy splits.
        variance: Variances of the Gaussian parts of the noise, (parts, splits).
        log_probability: Log probabilities of these parts, (parts, splits).

    Returns:
        Two triples, first without and then with a leftover: log-likelihood, mean and second moment, (splits,) each.
    """
    log_weight = log_probability - log(2)
    prior = (LEFTOVER_SHARE * splits.count) ** 2
    without_leftover = []
    with_leftover = []
    for side, fraction in ((-1.0, 1 - splits.left_fraction), (1.0, -splits.left_fraction)):
        extreme = fraction * splits.count  # the deviation without a leftover
        leftover = side * (splits.deviation - extreme)
        log_likelihood = log_weight - (leftover**2 / variance + np.log(variance)) / 2
        without_leftover.append((_mix_moments(log_likelihood, variance, variance)[0], extreme, extreme**2))
        log_likelihood, mean, second_moment = _half_normal_moments(leftover, variance, prior, log_weight)
        with_leftover.append(
            (log_likelihood, extreme + side * mean, extreme**2 + 2 * extreme * side * mean + second_moment)
        )

    mixtures = []
    for sides in (without_leftover, with_leftover):
        log_likelihoods, means, second_moments = (np.stack(moments) for moments in zip(*sides, strict=True))
        mixtures.append(_mix_moments(log_likelihoods, means, second_moments))
    return mixtures


def _half_normal_moments(
    leftover: FloatArray, noise_variance: FloatArray, prior: FloatArray, log_weight: FloatArray
) -> MeanAndSquares:
    """Return posterior moments of a leftover (records of the emptier half) with a half-normal prior, given its noisy
    value.

    Args:
        leftover: Noisy leftovers in records, (splits,).
        noise_variance: Variances of the Gaussian parts of the noise, (parts, splits).
        prior: Prior second moments of the leftovers, (splits,).
        log_weight: Log probabilities of the parts of the noise, (parts, splits).

    Returns:
        Log-likelihood, mean and second moment over all parts of the noise, (splits,) each.
    """
    total_variance = prior + noise_variance
    shrinkage = prior / total_variance
    mean = leftover * shrinkage
    scale = np.sqrt(shrinkage * noise_variance)
    log_probability, hazard = normal_tail(mean / scale)
    log_likelihood = log_weight + log(2) + log_probability - (leftover**2 / total_variance + np.log(total_variance)) / 2
    expected = np.maximum(mean + scale * hazard, 0)
    return _mix_moments(log_likelihood, expected, np.maximum(scale**2 + mean * expected, expected**2))


def _mix_moments(log_likelihood: FloatArray, mean: FloatArray, second: FloatArray) -> MeanAndSquares:
    """Return the mean and second moment of a mixture of one or two distributions, which lie along the first axis.

    Args:
        log_likelihood: Log of weight times likelihood of each distribution, (1 or 2, ...).
        mean: Their means.
        second: Their second moments.

    Returns:
        Log-likelihood, mean and second moment of the mixture, without the first axis.
    """
    if len(log_likelihood) == 1:
        return log_likelihood[0], mean[0], second[0]
    one, other = log_likelihood
    apart = other - one
    first = apart <= 0
    odds = np.exp(np.negative(np.abs(apart, out=apart), out=apart), out=apart)
    total = 1 + odds
    both = np.maximum(one, other)
    both += np.log(total)
    trust = np.divide(np.where(first, odds, 1.0), total, out=total)
    return both, _interpolate_arrays(mean, trust), _interpolate_arrays(second, trust)


def _interpolate_arrays(both: FloatArray, trust: FloatArray) -> FloatArray:
    """Return the weighted mean of two arrays, where the second has the weight `trust` and the first the rest.

    Args:
        both: The two arrays, stacked, (2, ...).
        trust: Weight of the second, in [0, 1], broadcast to the shape of one array.
    """
    apart: FloatArray = both[1] - both[0]
    apart *= trust
    apart += both[0]
    return apart


_TURN = 3.75
"""Argument of the scaled complementary error function that its substitution ``(x - _TURN) / (x + _TURN)`` maps to 0:
the value of Shepherd and Laframboise
(1981)."""
_COEFFICIENTS = np.array([
    1.8207953144217294e-08, 8.506913358851907e-09, -2.1759244986628574e-07, -2.7657093836640687e-08,
    1.7029934016673209e-06, -1.0085305819264207e-06, -1.1407979622076559e-05, 2.2410222381498155e-05,
    5.1631901068043294e-05, -0.0002901664309031962, 0.00029371883158293787, 0.001755629561970017,
    -0.009746580495721479, 0.028362276745721345, -0.05869339849573224, 0.09230432122781818, -0.10880393014607208,
    0.08227673848703723, 0.0035854154855230586, -0.14024059858550464, 1.2375126308378275,
])  # fmt: skip
"""Coefficients of the polynomial for ``(1 + 2x) exp(x**2) erfc(x)`` at x >= 0, without a unit: the coefficient of the
highest power of ``(x - _TURN) / (x + _TURN)`` comes first. They interpolate at 21 Chebyshev nodes."""


class NormalTail(NamedTuple):
    """The lower tail of the standard normal distribution at each point.

    Attributes:
        log_probability: Log-probability to be below the point.
        hazard: Density over that probability: the mean of a truncated normal distribution minus its location.
    """

    log_probability: FloatArray
    hazard: FloatArray


def normal_tail(points: FloatArray) -> NormalTail:
    """Return the log-probability below each point, and the hazard, to 14 digits, also where both underflow.

    Used instead of SciPy, which takes long to import.

    The scaled complementary error function is approximated by a polynomial on the half line (Shepherd and Laframboise
    1981), with coefficients from interpolation at 21 Chebyshev nodes.

    >>> normal_tail(np.array([0.0, -40.0])).log_probability.round(3).tolist()
    [-0.693, -804.608]

    Args:
        points: Numbers in standard deviations, of any shape.

    Returns:
        Log-probability and hazard, density over probability, of the shape of `points`.
    """
    x = np.abs(points) / np.sqrt(2)
    position = (x - _TURN) / (x + _TURN)
    scaled = np.full_like(position, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        scaled *= position
        scaled += coefficient
    scaled /= 1 + 2 * x
    square = x * x
    bell = np.exp(-square)
    tail = bell * scaled / 2  # the probability beyond the point, on the outer side
    is_low = points <= 0
    log_probability = np.where(is_low, np.log(scaled / 2) - square, np.log1p(-tail))
    density = np.where(is_low, 1.0, bell)
    return NormalTail(log_probability, np.sqrt(1 / (2 * np.pi)) * density / np.where(is_low, scaled / 2, 1 - tail))


# Estimates of counts that are shrunk towards even splits where noise exceeds structure, as the splits themselves imply.
#
# Two passes over a binary tree. Upwards: least squares. Downwards: the count of each node is split between its halves
# by the posterior under the mixture prior; the frequency of each kind is estimated on each level from all other splits.
# The alternative model is that records lie evenly over the whole grid: all splits together give its posterior
# probability, and the two estimates are averaged with it. Cells are never negative, and they add up to the given total.


SPLIT_PRIOR = np.array([3.0, 2.0, 1.5, 1.0, 1.0, 0.7, 0.5, 4.0, 0.5]) / 14.2
"""Probabilities of the kinds of splits before counts are seen, in the order of `SPLIT_KINDS`; they sum to 1. Nearly
even splits are more likely than rough ones."""
END_PRIOR = np.array([0.1 / SMOOTH_KINDS] * SMOOTH_KINDS + [0.7, 0.2])
"""Prior weights for outermost cells, of which it is open whether they hold anything rather than how much."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeEstimate:
    """An estimate of all counts, from the root to single cells. Arrays are over the nodes of the layout.

    Attributes:
        layout: The tree of intervals.
        counts: Count of each node, not negative. Halves add up to their parent.
        variance: Posterior variance of the split of each node between its halves.
        even_probability: Posterior probability that records lie evenly over the whole grid (all splits binomial).
        distribution_log_odds: Log-likelihood ratio of each given distribution of records over the estimate.
    """

    layout: Layout
    counts: FloatArray
    variance: FloatArray
    even_probability: float
    distribution_log_odds: tuple[float, ...] = ()

    @property
    def cells(self) -> FloatArray:
        """Estimated count of each single cell, ``(cells,)``, in records."""
        return self.counts[self.layout.cell_nodes]

    def keep_significant_counts(self, z: float) -> FloatArray:
        """Return the count of each node, (nodes,), or 0 where it is not significant.

        From the root downwards: if one half exceeds `z` standard deviations of its split and the other does not, the
        nodes below the other are set to 0; if neither does, both are kept. So records that are significant together
        remain, though none of their cells is significant by itself.

        Args:
            z: Threshold in standard deviations of a split.
        """
        is_kept = np.ones(self.layout.nodes, dtype=np.bool_)
        for parent, left, right, _ in self.layout.halvings:
            threshold = z * np.sqrt(self.variance[parent])
            is_significant = [self.counts[half] > threshold for half in (left, right)]
            neither = ~(is_significant[0] | is_significant[1])
            for half, significant in zip((left, right), is_significant, strict=True):
                is_kept[half] = is_kept[parent] & (significant | neither)
        return np.where(is_kept, self.counts, 0.0)


class PriorDistribution(NamedTuple):
    """A distribution of records along the axis, with which the estimate is compared.

    Attributes:
        mass: Probability of each node.
        overdispersion: Variance factor of counts over the binomial variance.
    """

    mass: FloatArray
    overdispersion: float


class UpwardEstimate(NamedTuple):
    """Least squares estimates of nodes from their own counts and those below. Arrays are as in `Measurements`."""

    precision: FloatArray
    value: FloatArray
    fourth_cumulant: FloatArray


class DownwardPass(NamedTuple):
    """Estimates of the downward pass. Arrays are over nodes, and filled level by level.

    Attributes:
        counts: See `TreeEstimate`.
        variance: See `TreeEstimate`.
        count_variance: Variance of the count of each node.
        is_rough: 1 if the split of the parent is rough: the class of the node.
    """

    counts: FloatArray
    variance: FloatArray
    count_variance: FloatArray
    is_rough: NDArray[np.int8]

    @classmethod
    def from_total(cls, layout: Layout, total: float) -> DownwardPass:
        """Start the estimate from the root down: the total at the root, and no other node estimated.

        Args:
            layout: The tree of intervals.
            total: Number of all records; below zero counts as 0.
        """
        counts, variance, count_variance = np.zeros((3, layout.nodes))
        counts[ROOT] = max(float(total), 0.0)
        return cls(counts, variance, count_variance, np.zeros(layout.nodes, dtype=np.int8))


class SplitMoments(NamedTuple):
    """Mean and expected square of the deviation of each split from an even split, (splits,) each."""

    mean: FloatArray
    second_moment: FloatArray


class KindWeights(NamedTuple):
    """Weights of the kinds of splits.

    Attributes:
        by_class: Weights on the level, (2, kinds): for splits whose parent is not rough, and for the others.
        by_split: Weights for each informative split, estimated from the others, (informative, kinds).
    """

    by_class: FloatArray
    by_split: FloatArray


class LevelPosterior(NamedTuple):
    """Noisy splits of one level, with the posterior of the informative ones.

    Attributes:
        splits: All splits of the level.
        informative: Indices of the informative splits.
        uninformative: Indices of the others.
        posterior: Posterior of the informative splits.
    """

    splits: NoisySplits
    informative: NDArray[np.intp]
    uninformative: NDArray[np.intp]
    posterior: KindwisePosterior

    @classmethod
    def from_splits(cls, splits: NoisySplits) -> LevelPosterior:
        """Return the posterior for the informative splits of a level: those whose parent is not empty and whose noise
        is not too large.

        Args:
            splits: Noisy splits of all intervals of the level.
        """
        largest = (splits.count**2 + splits.count) * splits.left_fraction * (1 - splits.left_fraction)
        is_informative = (largest > 0) & (largest >= TUNING.informative_ratio * splits.variance)
        informative = np.flatnonzero(is_informative)
        return cls(splits, informative, np.flatnonzero(~is_informative), kindwise_posterior(splits[informative]))

    def learn_weights(self, rough: NDArray[np.int8], prior: FloatArray) -> KindWeights:
        """Fit the weights of the mixture components (kinds) of the prior: for each class of splits, and for each split
        from the others.

        Args:
            rough: Class of each parent, 1 if its own split was uneven, (splits,).
            prior: Prior weights by class, (2, kinds).
        """
        likelihood = self.posterior.likelihood
        rough = rough[self.informative]
        result = KindWeights(np.empty((2, SPLIT_KINDS)), np.empty_like(likelihood))
        for class_index in (0, 1):
            members = np.flatnonzero(rough == class_index)
            class_likelihood = likelihood.T[:, members].T  # keeps the splits of a kind contiguous
            result.by_class[class_index] = fit_mixture_weights(class_likelihood, prior[class_index])
            # A split must not influence its own prior: among few splits, each would confirm itself.
            probability = result.by_class[class_index] * class_likelihood
            probability /= probability.sum(axis=1, keepdims=True)
            others = np.maximum(probability.sum(axis=0) - probability, 0)
            prior_counts = TUNING.prior_splits * prior[class_index]
            result.by_split.T[:, members] = ((others + prior_counts) / (len(members) - 1 + TUNING.prior_splits)).T
        return result

    def split_moments(self, weights: KindWeights, rough: NDArray[np.int8]) -> SplitMoments:
        """Return posterior mean and expected square of the deviations of all splits of a level; splits without
        information have prior moments.

        Args:
            weights: Mixture weights of the kinds.
            rough: Class of each parent, 1 if its own split was uneven, (splits,).
        """
        result = SplitMoments(np.zeros_like(self.splits.count), np.empty_like(self.splits.count))
        result.mean[self.informative], result.second_moment[self.informative] = self.posterior.mix_kinds(
            weights.by_split
        )
        result.second_moment[self.uninformative] = prior_second_moment(
            self.splits[self.uninformative], weights.by_class, rough[self.uninformative]
        )
        return result

    def log_odds_of_distributions(
        self, distributions: Sequence[PriorDistribution], halving: Halving, weights: KindWeights
    ) -> FloatArray:
        """Return how much better each distribution explains the splits of a level than the fitted mixture prior does.

        The mixture weights of a split are estimated from the other splits: prior weights would be less informed than a
        fitted distribution.

        Args:
            distributions: Distributions to compare, with the mass of every node.
            halving: Indices of the nodes of this level.
            weights: Fitted mixture weights of the splits.

        Returns:
            Log-likelihood ratios over the mixture, (1 + distributions,): first of even (binomial) splits, then of each
            distribution.
        """
        likelihood = self.posterior.likelihood
        mixed = self.posterior.best_log_likelihood + np.log((weights.by_split * likelihood).sum(axis=1))
        even = self.posterior.best_log_likelihood + np.log(np.maximum(likelihood[:, 0], np.finfo(np.float64).tiny))
        log_odds = [np.sum(even - mixed)]
        for distribution in distributions:
            parent = distribution.mass[halving.parent][self.informative]
            left = distribution.mass[halving.left_half][self.informative]
            share = np.divide(left, parent, out=self.splits.left_fraction[self.informative], where=parent > 0)
            by_distribution = log_likelihood_of_shares(
                self.splits[self.informative], share, distribution.overdispersion
            )
            log_odds.append(np.sum(by_distribution - mixed))
        return np.array(log_odds)

    def log_odds_of_evenness(self, rough: NDArray[np.int8], prior: FloatArray) -> float:
        """Return the log-likelihood ratio of uniform records (binomial splits) over the mixture prior, for the splits
        of a level.

        Args:
            rough: Class of each split of the level: 1 if the split of its parent was uneven, else 0.
            prior: Prior weights of the kinds of splits, a row for each class, (2, kinds).

        Returns:
            Natural logarithm of the ratio, summed over the informative splits.
        """
        likelihood = self.posterior.likelihood
        mixed = np.take_along_axis(likelihood @ prior.T, rough[self.informative, None].astype(np.intp), axis=1)
        return float(np.sum(np.log(np.maximum(likelihood[:, :1], np.finfo(np.float64).tiny)) - np.log(mixed)))


def least_squares_total(measurements: Measurements) -> tuple[float, float]:
    """Return the best linear unbiased count of all records and its precision; both are 0 without measurements.

    Args:
        measurements: Noisy counts of nodes.
    """
    upward = run_upward_pass(measurements)
    return float(upward.value[ROOT]), float(upward.precision[ROOT])


def reweighted_total(measurements: Measurements, estimate: TreeEstimate) -> float:
    """Return an estimate of the number of all records in which seemingly empty intervals, which would add only noise,
    have little weight.

    Args:
        measurements: Noisy counts of nodes.
        estimate: Result of `estimate_tree` for these measurements.
    """
    return float(
        run_upward_pass(measurements, lambda below, halving: _weight_halves(below, halving, estimate)).value[ROOT]
    )


def estimate_tree(
    measurements: Measurements, total: float, distributions: Sequence[PriorDistribution] = ()
) -> TreeEstimate:
    """Return the expected counts of all nodes of a tree, given all noisy counts, by empirical Bayes.

    The method (Robbins 1956) works along the tree, with a mixture prior of smooth and one-sided splits, and with the
    tails of Laplace noise. Post-processing without randomness; linear in the cells.

    Args:
        measurements: Noisy counts of nodes.
        total: Public or estimated number of records. Below 0 it is taken as 0.
        distributions: Distributions that the splits are compared with: see `TreeEstimate.distribution_log_odds`. They
            do not change the counts.

    >>> estimate_tree(Measurements.empty(Layout.from_tilings([np.array([0, 3])])), total=6).cells
    array([2., 2., 2.])
    """
    return _run_downward_pass(measurements.layout, run_upward_pass(measurements), total, distributions)


def reestimate_tree(
    measurements: Measurements, total: float, estimate: TreeEstimate, *, shrinks_to_slope: bool = False
) -> TreeEstimate:
    """Improve an empirical Bayes estimate of a tree by a second upward and downward pass, which uses it as prior
    knowledge of the splits.

    A split is how an interval's records divide between its halves. Least squares add up the counts of two halves, and
    their noise. If one half is empty, its count is noise alone, and the other half measures both better. So here halves
    are weighted by how the given estimate splits their parent, which is trusted up to `Tuning.variance_inflation` times
    its variance.

    Args:
        measurements: Noisy counts of nodes.
        total: Number of records in the whole tree.
        estimate: Result of `estimate_tree` for the same measurements.
        shrinks_to_slope: Whether splits are shrunk towards the slope of the density between the neighbours, not towards
            even splits.

    Returns:
        Counts and variances of all nodes; halves add up to their parent.
    """

    def join_halves(below: UpwardEstimate, halving: Halving) -> UpwardEstimate:
        """Return the estimate of each parent's count from the counts of its halves, weighted by a given estimate of how
        its records divide.

        Args:
            below: Estimates of all nodes further down.
            halving: Indices of the parents and of their halves.
        """
        return _weight_halves(below, halving, estimate)

    upward = run_upward_pass(measurements, join_halves)
    if not shrinks_to_slope:
        return _run_downward_pass(measurements.layout, upward, total)
    sloping, _, _ = _estimate_by_mixture(measurements.layout, upward, total, (), shrinks_to_slope=True)
    if estimate.even_probability < TUNING.negligible_probability:
        return TreeEstimate(measurements.layout, sloping.counts, sloping.variance, estimate.even_probability)
    counts, variance = _average_with_even_density(
        measurements.layout, upward, total, sloping, estimate.even_probability
    )
    return TreeEstimate(measurements.layout, counts, variance, estimate.even_probability)


def estimate_by_distribution(
    layout: Layout,
    upward: UpwardEstimate,
    distribution: PriorDistribution,
    counts_below: FloatArray,
    is_known: NDArray[np.bool_],
) -> FloatArray:
    """Return the count of each cell, (cells,), if all intervals split as a given density says, corrected by the
    measurements.

    Args:
        layout: Intervals along an axis.
        upward: Result of `run_upward_pass`.
        distribution: Expected share of each node and its overdispersion.
        counts_below: Number of records below each edge of the cells, used for nodes of `is_known`.
        is_known: Nodes whose halves are known from `counts_below`, (nodes,).
    """
    downward = DownwardPass.from_total(layout, counts_below[-1])
    for halving in layout.halvings:
        parent, left, _, _ = halving
        even_splits = _compute_noisy_splits(layout, upward, downward, halving)
        share = np.divide(
            distribution.mass[left],
            distribution.mass[parent],
            out=even_splits.left_fraction.copy(),
            where=distribution.mass[parent] > 0,
        )
        deviation = even_splits.deviation + (even_splits.left_fraction - share) * even_splits.count
        splits = NoisySplits(deviation, even_splits.variance, even_splits.excess_kurtosis, even_splits.count, share)
        mean, second_moment = even_split_moments(splits, distribution.overdispersion)
        left_count = counts_below[layout.begin[left] + layout.width[left]] - counts_below[layout.begin[left]]
        mean = np.where(is_known[parent], left_count - share * even_splits.count, mean)
        _set_halves(downward, halving, splits, mean, second_moment)
    return downward.counts[layout.cell_nodes]


def _run_downward_pass(
    layout: Layout, upward: UpwardEstimate, total: float, distributions: Sequence[PriorDistribution] = ()
) -> TreeEstimate:
    """Return the estimated counts of all nodes, from the root down, averaged over a mixture prior and uniform records
    by their posterior probabilities.

    Args:
        layout: Binary tree of intervals of cells.
        upward: Estimates of the nodes from the measurements below them.
        total: Number of records.
        distributions: Further densities that the records may have.
    """
    uneven, evidence, (even_log_odds, *distribution_log_odds) = _estimate_by_mixture(
        layout, upward, total, distributions
    )
    over_better = tuple(float(log_odds - max(even_log_odds, 0.0)) for log_odds in distribution_log_odds)
    prior_log_odds = np.log(1 / TUNING.even_probability - 1)
    even_probability = float(np.exp(-np.logaddexp(0.0, prior_log_odds - evidence)))
    if even_probability < TUNING.negligible_probability:
        return TreeEstimate(layout, uneven.counts, uneven.variance, even_probability, over_better)
    counts, variance = _average_with_even_density(layout, upward, total, uneven, even_probability)
    return TreeEstimate(layout, counts, variance, even_probability, over_better)


def _average_with_even_density(
    layout: Layout, upward: UpwardEstimate, total: float, uneven: DownwardPass, even_probability: float
) -> tuple[FloatArray, FloatArray]:
    """Average counts and variances of all nodes over two models, uniform and non-uniform records, by posterior
    probability.

    Args:
        layout: Intervals along an axis, as a tree.
        upward: Result of `run_upward_pass`.
        total: Number of records.
        uneven: Estimate under the uneven model.
        even_probability: Posterior probability of the even density, 0 to 1.

    Returns:
        Counts and variances of splits, (nodes,) each. The variances include the difference of both models.
    """
    even = DownwardPass.from_total(layout, total)  # all splits are binomial
    for halving in layout.halvings:
        splits = _compute_noisy_splits(layout, upward, even, halving)
        mean, second_moment = even_split_moments(splits)
        _set_halves(even, halving, splits, mean, np.maximum(second_moment - mean**2, 0))
    difference = even.counts - uneven.counts
    variance = uneven.variance + even_probability * (even.variance - uneven.variance)
    for parent, left, _, _ in layout.halvings:
        split_difference = difference[left] - layout.width[left] / layout.width[parent] * difference[parent]
        variance[parent] += even_probability * (1 - even_probability) * split_difference**2
    return uneven.counts + even_probability * difference, variance


def _estimate_by_mixture(
    layout: Layout,
    upward: UpwardEstimate,
    total: float,
    distributions: Sequence[PriorDistribution],
    *,
    shrinks_to_slope: bool = False,
) -> tuple[DownwardPass, float, FloatArray]:
    """Estimate how each interval's records divide, from the root down, with a mixture prior whose weights are learnt
    level by level.

    Args:
        layout: Intervals along an axis, as a tree.
        upward: Result of `run_upward_pass`.
        total: Number of records.
        distributions: Distributions whose fit is compared with the mixture.
        shrinks_to_slope: Whether splits are shrunk towards the slope of the density, not towards even splits.

    Returns:
        The estimate; the log-likelihood ratio of even splits over the mixture with prior weights; and the
        log-likelihood ratios of even splits and of each distribution, (1 + distributions,), over the mixture with
        weights from other splits.
    """
    downward = DownwardPass.from_total(layout, total)
    evidence = 0.0
    log_odds = np.zeros(1 + len(distributions))
    prior = np.stack([SPLIT_PRIOR, SPLIT_PRIOR])
    for halving in layout.halvings:
        splits = _compute_noisy_splits(layout, upward, downward, halving, shrinks_to_slope=shrinks_to_slope)
        posterior = LevelPosterior.from_splits(splits)
        is_rough = downward.is_rough[halving.parent]
        if halving.is_end_cell:  # the two outermost cells have no other splits to learn from
            prior, next_prior = np.stack([END_PRIOR, END_PRIOR]), prior
            weights = KindWeights(prior, np.broadcast_to(END_PRIOR, posterior.posterior.likelihood.shape))
        else:
            weights = posterior.learn_weights(is_rough, prior)
            # the mean of these weights and of the same with one step less roughness
            smoother = weights.by_class.copy()
            smoother[:, : SMOOTH_KINDS - 1] = weights.by_class[:, 1:SMOOTH_KINDS]
            smoother[:, 0] += weights.by_class[:, 0]
            smoother[:, SMOOTH_KINDS - 1] = 0
            next_prior = (weights.by_class + smoother) / 2
        moments = posterior.split_moments(weights, is_rough)
        evidence += posterior.log_odds_of_evenness(is_rough, prior)
        log_odds += posterior.log_odds_of_distributions(distributions, halving, weights)
        variance = _inflate_variances(
            splits, moments, weights.by_class, is_rough, downward.count_variance[halving.parent]
        )
        _set_halves(downward, halving, splits, moments.mean, variance)
        if not halving.is_end_cell:
            large = TUNING.rough_share * splits.count**2 * splits.left_fraction * (1 - splits.left_fraction)
            is_rough = (moments.second_moment > large).astype(np.int8)
        downward.is_rough[halving.left_half] = downward.is_rough[halving.right_half] = is_rough
        prior = next_prior
    return downward, evidence, log_odds


def run_upward_pass(
    measurements: Measurements, join_halves: Callable[[UpwardEstimate, Halving], UpwardEstimate] | None = None
) -> UpwardEstimate:
    """Return the least-squares estimate of each node's count from its own count and its halves', from the leaves up
    (first pass).

    Args:
        measurements: Noisy counts of the nodes; not changed.
        join_halves: Function that estimates each parent from its halves; None: addition.
    """
    result = UpwardEstimate(
        measurements.precision.copy(), measurements.value.copy(), measurements.fourth_cumulant.copy()
    )
    for halving in reversed(measurements.layout.halvings):
        parent = halving.parent
        halves = (join_halves or _add_halves)(result, halving)
        own_precision = result.precision[parent]
        precision = own_precision + halves.precision
        weight = np.divide(halves.precision, precision, out=np.zeros_like(precision), where=precision > 0)
        result.value[parent] += weight * (halves.value - result.value[parent])
        # The fourth cumulant of a weighted sum of independent errors has the fourth powers of the weights.
        own_cumulant = (1 - weight) ** 4 * result.fourth_cumulant[parent]
        result.fourth_cumulant[parent] = own_cumulant + weight**4 * halves.fourth_cumulant
        result.precision[parent] = precision
    return result


def _add_halves(halves: UpwardEstimate, halving: Halving) -> UpwardEstimate:
    """Return the estimate of each parent's count as the sum of its halves' counts; variances add up.

    Args:
        halves: Estimates of all nodes further down.
        halving: Indices of the parents and of their halves.
    """
    _, left, right, _ = halving
    with np.errstate(divide="ignore"):
        precision = 1 / (1 / halves.precision[left] + 1 / halves.precision[right])  # 0 if either half is unknown
    return UpwardEstimate(
        precision,
        halves.value[left] + halves.value[right],
        halves.fourth_cumulant[left] + halves.fourth_cumulant[right],
    )


def _weight_halves(upward: UpwardEstimate, halving: Halving, splits: TreeEstimate) -> UpwardEstimate:
    """Return the best linear estimate of a parent from its halves, given an estimate of its split.

    If the left half has a share m of the parent plus an unknown shift of variance t, and the noise variances of the
    halves are u and v, the halves have the weights ``m * v + t`` and ``(1 - m) * u + t`` over ``m**2 * v +
    (1 - m)**2 * u + t`` (generalised least squares). Without knowledge t is infinite, and both weights are 1.

    Args:
        upward: Estimates of the nodes below, from their own subtrees.
        halving: Indices of the parents and of their halves on one level.
        splits: Estimate of the splits, with variances.
    """
    parent, left, right, _ = halving
    unweighted = _add_halves(upward, halving)
    with np.errstate(divide="ignore", invalid="ignore"):
        m = splits.counts[left] / splits.counts[parent]
        t = TUNING.variance_inflation * splits.variance[parent]
        u = 1 / upward.precision[left]
        v = 1 / upward.precision[right]
        scale = m**2 * v + (1 - m) ** 2 * u + t
        first = (m * v + t) / scale
        second = ((1 - m) * u + t) / scale
        precision = scale / (u * v + t * (u + v))
    # Not finite: empty, not measured, or exact.
    is_finite = np.isfinite(first) & np.isfinite(second) & np.isfinite(precision)
    return UpwardEstimate(
        np.where(is_finite, precision, unweighted.precision),
        np.where(is_finite, first * upward.value[left] + second * upward.value[right], unweighted.value),
        np.where(
            is_finite,
            first**4 * upward.fourth_cumulant[left] + second**4 * upward.fourth_cumulant[right],
            unweighted.fourth_cumulant,
        ),
    )


def _predict_left_shares(layout: Layout, counts: FloatArray, halving: Halving) -> FloatArray:
    """Return the expected share of the left half of each parent, (splits,), if the density is linear within the parent.

    The slope is the mean of the differences from both neighbours of about its width, at most twice the smaller one;
    it is 0 at peaks and valleys (van Leer 1977, the monotonized central limiter). So no half is denser than the denser
    neighbour or emptier than the other one, a share of equal halves lies between 1/4 and 3/4, and an atom has little
    effect beside it.

    Args:
        layout: Intervals along an axis, as a tree.
        counts: Estimated counts, (nodes,).
        halving: Indices of the parents and of their halves on one level.

    >>> from dpcurves.estimation.binary_tree import DyadicLayout
    >>> layout = DyadicLayout.from_cells(8)
    >>> counts = np.array([0, 150, 70, 80, 40, 30, 20, 60, *[0] * 8], dtype=np.float64)
    >>> _predict_left_shares(layout, counts, layout.halvings[2]).round(3).tolist()
    [0.5, 0.542, 0.5, 0.5]
    """
    parent, left, _, _ = halving
    begin = layout.begin[parent]
    width = layout.width[parent]
    share = layout.width[left] / width
    if halving.is_end_cell or len(share) < 3:
        return np.asarray(share)
    density = counts[parent] / np.maximum(width, 1)
    step = np.diff(density)
    is_adjacent = begin[:-1] + width[:-1] == begin[1:]
    has_like_width = 2 * np.minimum(width[:-1], width[1:]) > np.maximum(width[:-1], width[1:])
    step[~(is_adjacent & has_like_width)] = 0.0
    before = np.append(0.0, step)
    after = np.append(step, 0.0)
    is_monotone = before * after > 0
    size = np.minimum(np.abs(before + after) / 2, 2 * np.minimum(np.abs(before), np.abs(after)))
    slope = np.where(is_monotone, np.sign(before) * size, 0.0)
    relative_slope = np.divide(slope, density, out=np.zeros_like(density), where=density > 0)
    return np.asarray(share - relative_slope * share * (1 - share) / 2)


def _compute_noisy_splits(
    layout: Layout,
    upward: UpwardEstimate,
    downward: DownwardPass,
    halving: Halving,
    *,
    shrinks_to_slope: bool = False,
) -> NoisySplits:
    """Compute the noisy splits of parents with known counts: how far each left half's measured count deviates from its
    expected share.

    If neither half was measured, the variance is infinite.

    Args:
        layout: Intervals along an axis, as a tree.
        upward: Estimates of nodes from their own subtrees.
        downward: Estimate from the root down to the parents, whose counts are taken as known.
        halving: Indices of the parents and of their halves on one level.
        shrinks_to_slope: Whether the expected share of the left half follows the slope of the density; else its width.
    """
    parent, left, right, _ = halving
    count = downward.counts[parent]
    if shrinks_to_slope:
        share = _predict_left_shares(layout, downward.counts, halving)
    else:
        share = layout.width[left] / layout.width[parent]
    left_precision, right_precision = (
        np.where(layout.width[half] > 0, upward.precision[half], 0) for half in (left, right)
    )
    precision = left_precision + right_precision
    with np.errstate(divide="ignore"):
        variance = 1 / precision
    left_weight = np.divide(left_precision, precision, out=np.zeros_like(precision), where=precision > 0)
    left_count = left_weight * upward.value[left] + (1 - left_weight) * (count - upward.value[right])
    fourth_cumulant = (
        left_weight**4 * upward.fourth_cumulant[left] + (1 - left_weight) ** 4 * upward.fourth_cumulant[right]
    )
    excess_kurtosis = np.divide(fourth_cumulant, variance**2, out=np.zeros_like(precision), where=precision > 0)
    return NoisySplits(left_count - share * count, variance, excess_kurtosis, count, share)


def _inflate_variances(
    splits: NoisySplits,
    moments: SplitMoments,
    weights: FloatArray,
    is_rough: NDArray[np.int8],
    count_variance: FloatArray,
) -> FloatArray:
    """Return variances of the splits (how parents' records divide between their halves) that also allow for errors of
    the parents' counts.

    An interval that seems nearly empty may hold more records, and their split is then unknown. That it may hold many
    times as many is ignored: with little loss to spend there would be too many intervals of this kind.

    Args:
        splits: Noisy splits of one level.
        moments: Posterior mean and second moment of their deviations.
        weights: Weights of the mixture components (kinds) of the prior, by class of the parent.
        is_rough: Class of each parent, 1 if its own split was uneven, (splits,).
        count_variance: Variances of the counts of the parents, (splits,).

    Returns:
        Variances in records², (splits,), at least the posterior ones.
    """
    variance = np.maximum(moments.second_moment - moments.mean**2, 0)
    prior_moment = prior_second_moment(splits, weights, is_rough)
    ratio = np.divide(variance, prior_moment, out=np.ones_like(prior_moment), where=prior_moment > 0).clip(0, 1)
    growth = prior_moment_growth(splits.left_fraction, weights, is_rough) * np.minimum(count_variance, splits.count**2)
    return np.asarray(variance + growth * ratio**2)


def _set_halves(
    downward: DownwardPass, halving: Halving, splits: NoisySplits, mean: FloatArray, variance: FloatArray
) -> None:
    """Set counts and variances of both halves of each parent, in place.

    Args:
        downward: Estimate that is changed.
        halving: Indices of the parents and of their halves on one level.
        splits: Noisy splits of the parents.
        mean: Posterior mean deviation of the left half from its expected share, in records, (splits,).
        variance: Posterior variance of this deviation, (splits,).
    """
    parent, left, right, _ = halving
    downward.counts[left] = np.clip(splits.left_fraction * splits.count + mean, 0, splits.count)
    downward.counts[right] = splits.count - downward.counts[left]
    downward.variance[parent] = variance
    downward.count_variance[left] = splits.left_fraction**2 * downward.count_variance[parent] + variance
    downward.count_variance[right] = (1 - splits.left_fraction) ** 2 * downward.count_variance[parent] + variance
