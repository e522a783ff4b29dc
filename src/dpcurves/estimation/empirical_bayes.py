"""Empirical Bayes on a binary tree: splits drawn towards even ones as far as a mixture prior and the noise say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .binary_tree import WHOLE, Halving, Layout, Measurements

# The mixture prior of a split between two halves: nine kinds, and the chance of each, given a noisy split.


ROUGHNESS = np.array([0.0, *(4.0**-k for k in range(6, 0, -1))])
"""Variances of smooth splits, beyond the binomial one, in squared counts of the parent."""
LEFTOVER = 1 / 16
"""Scale of what a one-sided split leaves on the other side, in counts of the parent; or it leaves nothing."""
SMOOTH = len(ROUGHNESS)
KINDS = SMOOTH + 2

PSEUDO = 1.0  # splits that the prior of the weights weighs as much as
ROUNDS = 12
_AT_ONCE = 2**13  # rows: what is worked on fits in the cache
_LEAST_EXCESS = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class NoisySplits:
    """Deviations of left halves from an even split, with noise. All arrays are of shape (splits,).

    Attributes:
        deviation: How far the noisy count of the left half is from the even split.
        variance: The variance of its noise.
        excess_kurtosis: Fourth cumulant of its noise, in squared variances: from 0, Gaussian, to 3, Laplace.
        count: The count of the parent, as estimated.
        left_fraction: What part of the parent's cells the left half has; the even split gives it this part of the count.
    """

    deviation: FloatArray
    variance: FloatArray
    excess_kurtosis: FloatArray
    count: FloatArray
    left_fraction: FloatArray

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NoisySplits:
        return NoisySplits(
            self.deviation[rows], self.variance[rows], self.excess_kurtosis[rows], self.count[rows], self.left_fraction[rows],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class KindwisePosterior:
    """Posterior moments of the splits under each kind. All arrays are of shape (splits, kinds).

    Attributes:
        likelihood: The likelihood of the noisy split; of each split, that of the likeliest kind is 1.
        best_log_likelihood: The logarithm of the likelihood of the likeliest kind, (splits,).
        mean: The mean of the true deviation.
        second_moment: Its second moment.
    """

    likelihood: FloatArray
    best_log_likelihood: FloatArray
    mean: FloatArray
    second_moment: FloatArray

    def mix_kinds(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and second moment of the deviation, (splits,) each, if kinds have these weights, (splits, kinds)."""
        chance = weights * self.likelihood
        chance /= chance.sum(axis=1, keepdims=True)
        return (chance * self.mean).sum(axis=1), (chance * self.second_moment).sum(axis=1)


def kindwise_posterior(splits: NoisySplits) -> KindwisePosterior:
    """By Bayes' rule, under each kind alone.

    *Smooth* kinds: the deviation is Gaussian around 0, with the binomial variance and a roughness. *One-sided* kinds:
    one half has all but a leftover, which is 0, or the size of a Gaussian deviation of scale `LEFTOVER`. The noise is
    a mixture of two Gaussian laws that has its first six moments, if it is a sum of equal Laplace draws.
    """
    likelihood, mean, second = np.empty((3, KINDS, len(splits.deviation)))  # of each kind, all splits lie side by side
    best = np.empty(len(splits.deviation))
    for start in range(0, len(splits.deviation), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        log_likelihood, mean[:, rows], second[:, rows] = _moments_of_kinds(splits[rows])
        best[rows] = log_likelihood.max(axis=0)
        np.exp(log_likelihood - best[rows], out=likelihood[:, rows])
    return KindwisePosterior(likelihood.T, best, mean.T, second.T)


def log_likelihood_of_shares(splits: NoisySplits, share: FloatArray, excess: float) -> FloatArray:
    """The logarithm of the likelihood of splits, (splits,), if records fall into the left half with this chance.

    Args:
        splits: Any number of splits, all of which tell something.
        share: The chance of each, (splits,).
        excess: How many times more than binomial ones they scatter.
    """
    variance, log_chance = _gaussian_parts(splits)
    spread = variance + excess * splits.count * share * (1 - share)
    square = (splits.deviation + (splits.left_fraction - share) * splits.count) ** 2
    each = log_chance - (square / spread + np.log(spread)) / 2
    return np.asarray(np.logaddexp.reduce(each, axis=0))


def smooth_prior_variance(count: FloatArray, share: FloatArray) -> FloatArray:
    """Prior variance of the deviation under each smooth kind, (SMOOTH, splits).

    A roughness is a change of the odds of the two halves; an uneven share lessens it like the binomial variance.
    """
    binomial = share * (1 - share)
    return np.asarray(count * binomial + (4 * count * binomial) ** 2 * ROUGHNESS[:, None])


def prior_second_moment(splits: NoisySplits, weights: FloatArray, group: NDArray[np.int8]) -> FloatArray:
    """Expected square of deviations of which only the weights of their kinds are known.

    Args:
        splits: Any number of splits.
        weights: The weights of the kinds, in each of a few groups: (groups, kinds).
        group: The group of each split, (splits,).
    """
    linear = weights[:, :SMOOTH].sum(axis=1)[group] * splits.count * splits.left_fraction * (1 - splits.left_fraction)
    return np.asarray(linear + prior_moment_growth(splits.left_fraction, weights, group) * splits.count**2)


def prior_moment_growth(share: FloatArray, weights: FloatArray, group: NDArray[np.int8]) -> FloatArray:
    """The growth of the same square with each squared count of the parent."""
    binomial = share * (1 - share)
    smooth = (weights[:, :SMOOTH] @ ROUGHNESS)[group] * (4 * binomial) ** 2
    return np.asarray(smooth + weights[:, SMOOTH:].sum(axis=1)[group] * binomial)


def even_split_moments(splits: NoisySplits, excess: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Mean and second moment of the deviation, (splits,) each, if all records lie evenly: the first kind alone.

    Args:
        splits: Any number of splits.
        excess: How many times more than binomial ones they scatter.
    """
    binomial = excess * splits.count * splits.left_fraction * (1 - splits.left_fraction)
    mean, second = np.zeros_like(binomial), binomial.copy()
    known = np.flatnonzero((binomial > 0) & np.isfinite(splits.variance))
    _, (mean[known],), (second[known],) = _smooth_moments(
        splits[known], binomial[None, known], *_gaussian_parts(splits[known])
    )
    return mean, second


def leave_one_out_weights(likelihood: FloatArray, weights: FloatArray, prior: FloatArray) -> FloatArray:
    """For each split, what the others and the prior make of the weights of the kinds: (splits, kinds).

    A split must not tell twice what it is: of few, each would confirm itself.
    """
    chance = weights * likelihood
    chance /= chance.sum(axis=1, keepdims=True)
    others = np.maximum(chance.sum(axis=0) - chance, 0)
    return np.asarray((others + PSEUDO * prior) / (len(likelihood) - 1 + PSEUDO))


def fit_mixture_weights(likelihood: FloatArray, prior: FloatArray) -> FloatArray:
    """Weights of the kinds, (kinds,), by expectation and maximisation; `prior` weighs as much as one split."""
    weights = prior
    for _ in range(ROUNDS if len(likelihood) else 0):  # of no split nothing is learned
        each = weights * (likelihood.T @ (1 / (likelihood @ weights)))  # the chances of the kinds, over all splits
        weights = (each + PSEUDO * prior) / (len(likelihood) + PSEUDO)
    return weights


MeanAndSquares = tuple[FloatArray, FloatArray, FloatArray]
"""Logarithm of the likelihood, mean and second moment."""


def _moments_of_kinds(splits: NoisySplits) -> MeanAndSquares:
    """Under each kind: (kinds, splits) each."""
    variance, log_chance = _gaussian_parts(splits)
    prior = smooth_prior_variance(splits.count, splits.left_fraction)
    parts = [_smooth_moments(splits, prior, variance, log_chance), *_one_sided_moments(splits, variance, log_chance)]
    log_likelihood, mean, second = zip(*parts, strict=True)
    return np.vstack(log_likelihood), np.vstack(mean), np.vstack(second)


def _gaussian_parts(splits: NoisySplits) -> tuple[FloatArray, FloatArray]:
    """Variances and logarithms of the chances of the Gaussian laws of which the noise is mixed, (parts, splits).

    A sum of k Laplace draws is Gaussian with a variance that has a gamma law of shape k; this is its Gauss quadrature.
    """
    if splits.excess_kurtosis.max(initial=0) < _LEAST_EXCESS:
        return splits.variance[None], np.zeros((1, len(splits.variance)))
    shape = 3 / np.maximum(splits.excess_kurtosis, _LEAST_EXCESS)
    below, above = 1 - np.sqrt(shape + 1) / shape + 1 / shape, 1 + np.sqrt(shape + 1) / shape + 1 / shape
    chance = (above - 1) / (above - below)
    return np.stack([below, above]) * splits.variance, np.log(np.stack([chance, 1 - chance]))


def _smooth_moments(
    splits: NoisySplits, prior: FloatArray, variance: FloatArray, log_chance: FloatArray
) -> MeanAndSquares:
    """Moments of deviations that are Gaussian around 0, with the variances of `prior`, (kinds, splits)."""
    noise, square = variance[:, None], splits.deviation**2
    spread = prior + noise
    trust, log_likelihood = prior / spread, np.log(spread)
    log_likelihood += np.divide(square, spread, out=spread)
    log_likelihood *= -0.5
    log_likelihood += log_chance[:, None]
    second = np.multiply(trust, square, out=spread)  # in place: to give memory back and ask again takes longer
    second += noise
    second *= trust
    log_likelihood, trust, second = _mix_moments(log_likelihood, trust, second)
    return log_likelihood, trust * splits.deviation, second


def _one_sided_moments(splits: NoisySplits, variance: FloatArray, log_chance: FloatArray) -> list[MeanAndSquares]:
    """With nothing left, and with a leftover; (splits,) each. Either half may have it all."""
    odds, prior = log_chance - log(2), (LEFTOVER * splits.count) ** 2
    nothing, some = [], []
    for side, part in ((-1.0, 1 - splits.left_fraction), (1.0, -splits.left_fraction)):
        end = part * splits.count  # the deviation that leaves nothing
        left = side * (splits.deviation - end)
        log_likelihood = odds - (left**2 / variance + np.log(variance)) / 2
        nothing.append((_mix_moments(log_likelihood, variance, variance)[0], end, end**2))
        log_likelihood, mean, second = _half_normal_moments(left, variance, prior, odds)  # of the leftover
        some.append((log_likelihood, end + side * mean, end**2 + 2 * end * side * mean + second))
    return [_mix_moments(*(np.stack(each) for each in zip(*sides, strict=True))) for sides in (nothing, some)]


def _half_normal_moments(left: FloatArray, noise: FloatArray, prior: FloatArray, odds: FloatArray) -> MeanAndSquares:
    """Moments of a leftover that is the size of a Gaussian deviation of variance `prior`."""
    spread = prior + noise
    trust = prior / spread
    mean, scale = left * trust, np.sqrt(trust * noise)
    log_chance, hazard = normal_tail(mean / scale)
    log_likelihood = odds + log(2) + log_chance - (left**2 / spread + np.log(spread)) / 2
    expected = np.maximum(mean + scale * hazard, 0)
    return _mix_moments(log_likelihood, expected, np.maximum(scale**2 + mean * expected, expected**2))


def _mix_moments(log_likelihood: FloatArray, mean: FloatArray, second: FloatArray) -> MeanAndSquares:
    """Moments of a mixture of the laws along the first axis, one or two."""
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
    """The mean of two arrays, of which the other one has this weight."""
    apart: FloatArray = both[1] - both[0]
    apart *= trust
    apart += both[0]
    return apart


_TURN = 3.75
_COEFFICIENTS = (
    1.8207953144217294e-08, 8.506913358851907e-09, -2.1759244986628574e-07, -2.7657093836640687e-08,
    1.7029934016673209e-06, -1.0085305819264207e-06, -1.1407979622076559e-05, 2.2410222381498155e-05,
    5.1631901068043294e-05, -0.0002901664309031962, 0.00029371883158293787, 0.001755629561970017,
    -0.009746580495721479, 0.028362276745721345, -0.05869339849573224, 0.09230432122781818, -0.10880393014607208,
    0.08227673848703723, 0.0035854154855230586, -0.14024059858550464, 1.2375126308378275,
)  # fmt: skip
"""Coefficients, highest first, in (x - _TURN) / (x + _TURN), of (1 + 2x) exp(x**2) erfc(x) for x from 0 on."""


class NormalTail(NamedTuple):
    """The tail of the standard Gaussian law, at each point.

    Attributes:
        log_probability: Logarithm of the chance to be below.
        hazard: Density, divided by that chance: how far beyond the point such draws are taken back to 0 on average.
    """

    log_probability: FloatArray
    hazard: FloatArray


def normal_tail(points: FloatArray) -> NormalTail:
    """The chance below a point and the density there, to 14 digits, also where both are too small to be written.

    SciPy, which has it too, takes long to be loaded.

    The scaled complement of the error function is a polynomial on the whole half line, as in Shepherd and Laframboise
    1981; the coefficients are those of the interpolation at 21 Chebyshev nodes.

    >>> normal_tail(np.array([0.0, -40.0])).log_chance.round(3).tolist()
    [-0.693, -804.608]
    """
    x = np.abs(points) / np.sqrt(2)
    place = (x - _TURN) / (x + _TURN)
    scaled = np.full_like(place, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        scaled *= place
        scaled += coefficient
    scaled /= 1 + 2 * x
    square = x * x
    bell = np.exp(-square)
    rest = bell * scaled / 2  # the chance beyond the point, on the side that is further out
    low = points <= 0
    log_chance = np.where(low, np.log(scaled / 2) - square, np.log1p(-rest))
    density = np.where(low, 1.0, bell)
    return NormalTail(log_chance, np.sqrt(1 / (2 * np.pi)) * density / np.where(low, scaled / 2, 1 - rest))


# Counts drawn towards even splits where noise is larger than structure, as far as the splits themselves tell.
#
# Two passes over a binary tree. Upwards: least squares. Downwards: of each node, the count is split between its halves
# as the mixture of kinds above makes of the noisy split; how frequent a kind is, is estimated on each level, from all
# its other splits. Beside this stands the plain assumption that records lie evenly all over the grid: all splits
# together tell how likely that is, and the two estimates are averaged accordingly. Cells are never negative, and they
# add up to the total that was given.


ROUGH = 0.25
"""A split is rough whose expected square is above this part of the largest one. Its halves are judged apart."""
TELLING = 0.01
"""A split of which the prior variance is a smaller part of the noise tells nothing."""

PRIOR = np.array([3.0, 2.0, 1.5, 1.0, 1.0, 0.7, 0.5, 4.0, 0.5]) / 14.2
"""Weights of the kinds of `mixture` before anything is known: nearly even splits are likelier than rough ones."""
END_PRIOR = np.array([0.1 / SMOOTH] * SMOOTH + [0.7, 0.2])
"""The prior of cells at the ends, which asks whether they hold anything, not whether as much as any other cell."""
EVEN = 0.5
"""Chance that records lie evenly all over the grid, before anything is known."""
DOUBT = 5.0
"""So many times the variance of its splits is an estimate mistrusted where it is used to make a better one."""
NEGLIGIBLE = 1e-9
"""With a smaller chance, that they do is not considered."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeEstimate:
    """An estimate of all counts, from the whole to single cells. Arrays are over the nodes of the layout.

    Attributes:
        layout: Which intervals the nodes are.
        counts: The count of each node, not negative. Halves add up to their parent.
        variance: The variance of the split of each node between its halves, given all that was measured.
        even_probability: The chance that records lie evenly all over the grid: that all splits are binomial.
        law_log_odds: The logarithm of how much likelier the splits are as those of a given law than as they are estimated
            here; minus infinity where none was given.
    """

    layout: Layout
    counts: FloatArray
    variance: FloatArray
    even_probability: float
    law_log_odds: float = -inf

    @property
    def cells(self) -> FloatArray:
        """The count of each cell, (cells,)."""
        return self.counts[self.layout.cell_nodes]

    def keep_significant_counts(self, doubts: float) -> FloatArray:
        """The count of each node, (nodes,), but 0 where that is unclear.

        From the whole downwards: where one half has more than so many standard deviations of its split, and the other
        one has not, all below the other one is taken to hold nothing; where neither has, both are kept. So records that
        are clear together stay, though no cell of theirs is clear by itself.
        """
        kept = np.ones(self.layout.nodes, dtype=np.bool_)
        for parent, left, right, _ in self.layout.halvings:
            least = doubts * np.sqrt(self.variance[parent])
            clear = [self.counts[half] > least for half in (left, right)]
            neither = ~(clear[0] | clear[1])
            for half, own in zip((left, right), clear, strict=True):
                kept[half] = kept[parent] & (own | neither)
        return np.where(kept, self.counts, 0.0)


class PriorLaw(NamedTuple):
    """A law of records along the axis, of which other assumptions are held against.

    Attributes:
        mass: The chance of each node.
        overdispersion: How many times more than by chance records scatter about it.
    """

    mass: FloatArray
    overdispersion: float


class UpwardEstimate(NamedTuple):
    """Each node as seen from itself and all below it: least squares. Arrays are as in `Measurements`."""

    precision: FloatArray
    value: FloatArray
    fourth_cumulant: FloatArray


class DownwardPass(NamedTuple):
    """Estimates of the pass downwards. Arrays are over nodes, and filled level by level.

    Attributes:
        counts: See `TreeEstimate`.
        variance: See `TreeEstimate`.
        count_variance: Variance of the count of each node.
        is_rough: 1 where the split of the parent is rough: the class of the node.
    """

    counts: FloatArray
    variance: FloatArray
    count_variance: FloatArray
    is_rough: NDArray[np.int8]

    @classmethod
    def from_total(cls, layout: Layout, total: float) -> DownwardPass:
        """At its beginning."""
        counts, variance, doubt = np.zeros((3, layout.nodes))
        counts[WHOLE] = max(float(total), 0.0)
        return cls(counts, variance, doubt, np.zeros(layout.nodes, dtype=np.int8))


class SplitMoments(NamedTuple):
    """Mean and expected square of the deviation of each split from an even one, (splits,) each."""

    mean: FloatArray
    second_moment: FloatArray


class KindWeights(NamedTuple):
    """Weights of the kinds of splits.

    Attributes:
        by_class: The chances at the level, (2, kinds): of splits whose parent is not rough, and of those where it is.
        by_split: For each telling split, as the others make them, (telling, kinds).
    """

    by_class: FloatArray
    by_split: FloatArray


class LevelPosterior(NamedTuple):
    """Noisy splits of one level, with the posterior chances of each kind for those that are informative.

    Attributes:
        splits: All of them.
        informative: The numbers of those that tell something.
        uninformative: The chances of those that do not.
        posterior: The chances of the telling ones.
    """

    splits: NoisySplits
    informative: NDArray[np.intp]
    uninformative: NDArray[np.intp]
    posterior: KindwisePosterior

    @classmethod
    def from_splits(cls, splits: NoisySplits) -> LevelPosterior:
        """Those splits tell something whose parent has some size, and that are not hidden in noise."""
        largest = (splits.count**2 + splits.count) * splits.left_fraction * (1 - splits.left_fraction)
        told = (largest > 0) & (largest >= TELLING * splits.variance)
        telling = np.flatnonzero(told)
        return cls(splits, telling, np.flatnonzero(~told), kindwise_posterior(splits[telling]))

    def learn_weights(self, rough: NDArray[np.int8], prior: FloatArray) -> KindWeights:
        """From all splits of each class; for a split, from the others."""
        likelihood, rough = self.posterior.likelihood, rough[self.informative]
        found = KindWeights(np.empty((2, KINDS)), np.empty_like(likelihood))
        for kind in (0, 1):
            alike = np.flatnonzero(rough == kind)
            own = likelihood.T[:, alike].T  # a kind's splits stay side by side
            found.by_class[kind] = fit_mixture_weights(own, prior[kind])
            found.by_split.T[:, alike] = leave_one_out_weights(own, found.by_class[kind], prior[kind]).T
        return found

    def split_moments(self, weights: KindWeights, rough: NDArray[np.int8]) -> SplitMoments:
        """Under these weights of the kinds; splits that tell nothing have the moments of the prior."""
        found = SplitMoments(np.zeros_like(self.splits.count), np.empty_like(self.splits.count))
        found.mean[self.informative], found.second_moment[self.informative] = self.posterior.mix_kinds(weights.by_split)
        found.second_moment[self.uninformative] = prior_second_moment(
            self.splits[self.uninformative], weights.by_class, rough[self.uninformative]
        )
        return found

    def log_odds_of_law(self, law: PriorLaw, halving: Halving, weights: KindWeights) -> FloatArray:
        """Logarithms of how much likelier splits are by a law, and if all are binomial, than each as others are, (2,).

        A split is judged by weights that the others make: prior ones would know less than a law that was fitted.
        """
        likelihood = self.posterior.likelihood
        mixed = self.posterior.best_log_likelihood + np.log((weights.by_split * likelihood).sum(axis=1))
        parent, left = law.mass[halving.parent][self.informative], law.mass[halving.left_half][self.informative]
        share = np.divide(left, parent, out=self.splits.left_fraction[self.informative], where=parent > 0)
        even = self.posterior.best_log_likelihood + np.log(np.maximum(likelihood[:, 0], np.finfo(np.float64).tiny))
        by_law = log_likelihood_of_shares(self.splits[self.informative], share, law.overdispersion)
        return np.array([np.sum(by_law - mixed), np.sum(even - mixed)])

    def log_odds_of_evenness(self, rough: NDArray[np.int8], prior: FloatArray) -> float:
        """The logarithm of how much likelier splits are if all are binomial, rather than of weights (2, kinds)."""
        likelihood = self.posterior.likelihood
        mixed = np.take_along_axis(likelihood @ prior.T, rough[self.informative, None].astype(np.intp), axis=1)
        return float(np.sum(np.log(np.maximum(likelihood[:, :1], np.finfo(np.float64).tiny)) - np.log(mixed)))


def least_squares_total(known: Measurements) -> tuple[float, float]:
    """The best unbiased count of all records, and one over its variance; both are 0 if nothing was measured."""
    ascent = run_upward_pass(known)
    return float(ascent.value[WHOLE]), float(ascent.precision[WHOLE])


def reweighted_total(known: Measurements, before: TreeEstimate) -> float:
    """The count of all records, to which intervals that seem to hold little add little noise: see `reestimate_tree`."""
    return float(run_upward_pass(known, lambda below, halving: _weight_halves(below, halving, before)).value[WHOLE])


def estimate_tree(known: Measurements, total: float, law: PriorLaw | None = None) -> TreeEstimate:
    """The expected counts, given all that is known.

    Args:
        known: What was measured; any integers, with any noise.
        total: How many records there are: public, or estimated. Below 0 it is taken as 0.
        law: What splits are also to be judged by: see `TreeEstimate.law_log_odds`. The counts do not depend on it.

    The scheme is empirical Bayes (Robbins 1956) along a tree, here with a mixture that knows smooth and one-sided
    splits, and with the heavier tails of Laplace noise. Costs no privacy; no randomness; linear in the cells.

    >>> estimate_tree(Measurements.empty(Layout.from_tilings([np.array([0, 3])])), total=6).cells
    array([2., 2., 2.])
    """
    return _run_downward_pass(known.layout, run_upward_pass(known), total, law)


def reestimate_tree(known: Measurements, total: float, before: TreeEstimate) -> TreeEstimate:
    """LeastSquares once more, with what the first estimate has found: a second pass upwards, and one downwards.

    Least squares add up the counts of two halves, and their noises. If one half has nothing, its count is noise alone:
    then the other half tells better what both have. So halves are weighed here by how the first estimate splits their
    parent, which is believed up to `DOUBT` times the variance that it has.

    Args:
        known: What was measured.
        total: See `estimate_tree`.
        before: What `estimate_tree` made of it.
    """

    def join_halves(below: UpwardEstimate, halving: Halving) -> UpwardEstimate:
        return _weight_halves(below, halving, before)

    return _run_downward_pass(known.layout, run_upward_pass(known, join_halves), total)


def estimate_by_law(
    layout: Layout, ascent: UpwardEstimate, law: PriorLaw, below: FloatArray, known: NDArray[np.bool_]
) -> FloatArray:
    """The count of each cell, (cells,), if all splits are those of a law.

    Args:
        layout: Intervals along an axis.
        ascent: What `run_upward_pass` makes of what was measured.
        law: Each half has its share of its parent but for chance; what was measured tells how far.
        below: How many records lie below each edge of the cells, where that is known better than so.
        known: The nodes whose halves are known better, (nodes,).
    """
    descent = DownwardPass.from_total(layout, below[-1])
    for halving in layout.halvings:
        parent, left, _, _ = halving
        even = _compute_noisy_splits(layout, ascent, descent, halving)
        share = np.divide(law.mass[left], law.mass[parent], out=even.left_fraction.copy(), where=law.mass[parent] > 0)
        deviation = even.deviation + (even.left_fraction - share) * even.count
        splits = NoisySplits(deviation, even.variance, even.excess_kurtosis, even.count, share)
        mean, square = even_split_moments(splits, law.overdispersion)
        there = below[layout.begin[left] + layout.width[left]] - below[layout.begin[left]]
        mean = np.where(known[parent], there - share * even.count, mean)
        _set_halves(descent, halving, splits, mean, square)
    return descent.counts[layout.cell_nodes]


def _run_downward_pass(
    layout: Layout, ascent: UpwardEstimate, total: float, law: PriorLaw | None = None
) -> TreeEstimate:
    uneven, evidence, of_law = _estimate_by_mixture(layout, ascent, total, law)
    even = float(np.exp(-np.logaddexp(0.0, np.log(1 / EVEN - 1) - evidence)))
    if even < NEGLIGIBLE:
        return TreeEstimate(layout, uneven.counts, uneven.variance, even, of_law)
    return _average_estimates(layout, uneven, _estimate_evenly(layout, ascent, total), even, of_law)


def _estimate_by_mixture(
    layout: Layout, ascent: UpwardEstimate, total: float, law: PriorLaw | None
) -> tuple[DownwardPass, float, float]:
    """By the mixture of all kinds; and what its splits say for evenness, and for a law over the better of both."""
    descent, evidence, of_law = DownwardPass.from_total(layout, total), 0.0, np.zeros(2)
    prior = np.stack([PRIOR, PRIOR])
    for halving in layout.halvings:
        splits = _compute_noisy_splits(layout, ascent, descent, halving)
        judged, rough = LevelPosterior.from_splits(splits), descent.is_rough[halving.parent]
        if halving.is_end_cell:  # of two ends nothing can be learned but from each other
            prior, kept = np.stack([END_PRIOR, END_PRIOR]), prior
            weights = KindWeights(prior, np.broadcast_to(END_PRIOR, judged.posterior.likelihood.shape))
        else:
            weights = judged.learn_weights(rough, prior)
            kept = _smooth_prior(weights.by_class)
        moments = judged.split_moments(weights, rough)
        evidence += judged.log_odds_of_evenness(rough, prior)
        if law is not None:
            of_law += judged.log_odds_of_law(law, halving, weights)
        variance = _inflate_variances(splits, moments, weights.by_class, rough, descent.count_variance[halving.parent])
        _set_halves(descent, halving, splits, moments.mean, variance)
        if not halving.is_end_cell:
            large = ROUGH * splits.count**2 * splits.left_fraction * (1 - splits.left_fraction)
            rough = (moments.second_moment > large).astype(np.int8)
        descent.is_rough[halving.left_half] = descent.is_rough[halving.right_half] = rough
        prior = kept
    return descent, evidence, -inf if law is None else float(of_law[0] - max(of_law[1], 0.0))


def _estimate_evenly(layout: Layout, ascent: UpwardEstimate, total: float) -> DownwardPass:
    """If all splits are binomial."""
    descent = DownwardPass.from_total(layout, total)
    for halving in layout.halvings:
        splits = _compute_noisy_splits(layout, ascent, descent, halving)
        mean, square = even_split_moments(splits)
        _set_halves(descent, halving, splits, mean, np.maximum(square - mean**2, 0))
    return descent


def _average_estimates(
    layout: Layout, uneven: DownwardPass, even: DownwardPass, even_probability: float, of_law: float
) -> TreeEstimate:
    """The mean of two estimates, the second of which holds with this chance."""
    counts = uneven.counts + even_probability * (even.counts - uneven.counts)
    variance = uneven.variance + even_probability * (even.variance - uneven.variance)
    apart = even.counts - uneven.counts
    for parent, left, _, _ in layout.halvings:
        split = apart[left] - layout.width[left] / layout.width[parent] * apart[parent]
        variance[parent] += even_probability * (1 - even_probability) * split**2
    return TreeEstimate(layout, counts, variance, even_probability, of_law)


def run_upward_pass(
    known: Measurements, join_halves: Callable[[UpwardEstimate, Halving], UpwardEstimate] | None = None
) -> UpwardEstimate:
    """Each node from its own count and from its halves, which are `join_halves` to one count: added up, if not said."""
    found = UpwardEstimate(known.precision.copy(), known.value.copy(), known.fourth_cumulant.copy())
    for halving in reversed(known.layout.halvings):
        parent = halving.parent
        below, own = (join_halves or _add_halves)(found, halving), found.precision[parent]
        both = own + below.precision
        trust = np.divide(below.precision, both, out=np.zeros_like(both), where=both > 0)
        found.value[parent] += trust * (below.value - found.value[parent])
        found.fourth_cumulant[parent] = (1 - trust) ** 4 * found.fourth_cumulant[
            parent
        ] + trust**4 * below.fourth_cumulant
        found.precision[parent] = both
    return found


def _add_halves(below: UpwardEstimate, halving: Halving) -> UpwardEstimate:
    _, left, right, _ = halving
    with np.errstate(divide="ignore"):
        precision = 1 / (1 / below.precision[left] + 1 / below.precision[right])  # 0 if either half is unknown
    return UpwardEstimate(
        precision, below.value[left] + below.value[right], below.fourth_cumulant[left] + below.fourth_cumulant[right]
    )


def _weight_halves(below: UpwardEstimate, halving: Halving, splits: TreeEstimate) -> UpwardEstimate:
    """The best linear estimate of a parent from its halves, if something is known of how it is split.

    With a share m of the parent, plus an unknown shift of variance t, in the left half, and noises of variances u and v
    on the halves, the halves have the weights ``m * v + t`` and ``(1 - m) * u + t``, over ``m**2 * v + (1 - m)**2 * u +
    t`` (generalised least squares). Where nothing is known, t is infinite, and both weights are 1.
    """
    parent, left, right, _ = halving
    plain = _add_halves(below, halving)
    with np.errstate(divide="ignore", invalid="ignore"):
        m, t = splits.counts[left] / splits.counts[parent], DOUBT * splits.variance[parent]
        u, v = 1 / below.precision[left], 1 / below.precision[right]
        scale = m**2 * v + (1 - m) ** 2 * u + t
        first, second = (m * v + t) / scale, ((1 - m) * u + t) / scale
        precision = scale / (u * v + t * (u + v))
    some = np.isfinite(first) & np.isfinite(second) & np.isfinite(precision)  # else empty, not measured, or exact
    return UpwardEstimate(
        np.where(some, precision, plain.precision),
        np.where(some, first * below.value[left] + second * below.value[right], plain.value),
        np.where(
            some,
            first**4 * below.fourth_cumulant[left] + second**4 * below.fourth_cumulant[right],
            plain.fourth_cumulant,
        ),
    )


def _compute_noisy_splits(
    layout: Layout, ascent: UpwardEstimate, descent: DownwardPass, halving: Halving
) -> NoisySplits:
    """Compare two noisy halves, given their sum. Where neither was measured, the variance is infinite."""
    parent, left, right, _ = halving
    count = descent.counts[parent]
    share = layout.width[left] / layout.width[parent]
    first, second = (np.where(layout.width[half] > 0, ascent.precision[half], 0) for half in (left, right))
    both = first + second
    with np.errstate(divide="ignore"):
        variance = 1 / both
    trust = np.divide(first, both, out=np.zeros_like(both), where=both > 0)
    noisy = trust * ascent.value[left] + (1 - trust) * (count - ascent.value[right])
    fourth = trust**4 * ascent.fourth_cumulant[left] + (1 - trust) ** 4 * ascent.fourth_cumulant[right]
    excess = np.divide(fourth, variance**2, out=np.zeros_like(both), where=both > 0)
    return NoisySplits(noisy - share * count, variance, excess, count, share)


def _smooth_prior(weights: FloatArray) -> FloatArray:
    """The prior of the next level: half the same weights, half of them with less roughness."""
    less = weights.copy()
    less[:, : SMOOTH - 1] = weights[:, 1:SMOOTH]
    less[:, 0] += weights[:, 0]
    less[:, SMOOTH - 1] = 0
    return (weights + less) / 2


def _inflate_variances(
    splits: NoisySplits, moments: SplitMoments, weights: FloatArray, rough: NDArray[np.int8], doubt: FloatArray
) -> FloatArray:
    """Variances of the splits, if the counts of the parents are known up to these variances.

    An interval that seems to hold little may hold more, and what its halves then hold is not known at all. That it may
    hold many times as much is left out: with little loss to spend there would be too many such intervals.
    """
    variance = np.maximum(moments.second_moment - moments.mean**2, 0)
    before = prior_second_moment(splits, weights, rough)
    kept = np.divide(variance, before, out=np.ones_like(before), where=before > 0).clip(0, 1)
    more = prior_moment_growth(splits.left_fraction, weights, rough) * np.minimum(doubt, splits.count**2)
    return np.asarray(variance + more * kept**2)


def _set_halves(
    descent: DownwardPass, halving: Halving, splits: NoisySplits, mean: FloatArray, variance: FloatArray
) -> None:
    """The halves, from the mean deviations and the variances of the splits."""
    parent, left, right, _ = halving
    descent.counts[left] = np.clip(splits.left_fraction * splits.count + mean, 0, splits.count)
    descent.counts[right] = splits.count - descent.counts[left]
    descent.variance[parent] = variance
    descent.count_variance[left] = splits.left_fraction**2 * descent.count_variance[parent] + variance
    descent.count_variance[right] = (1 - splits.left_fraction) ** 2 * descent.count_variance[parent] + variance
