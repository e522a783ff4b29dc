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
        excess: Fourth cumulant of its noise, in squared variances: from 0, Gaussian, to 3, Laplace.
        count: The count of the parent, as estimated.
        share: What part of the parent's cells the left half has; the even split gives it this part of the count.
    """

    deviation: FloatArray
    variance: FloatArray
    excess: FloatArray
    count: FloatArray
    share: FloatArray

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NoisySplits:
        return NoisySplits(
            self.deviation[rows], self.variance[rows], self.excess[rows], self.count[rows], self.share[rows],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class KindwisePosterior:
    """Posterior moments of the splits under each kind. All arrays are of shape (splits, kinds).

    Attributes:
        likelihood: The likelihood of the noisy split; of each split, that of the likeliest kind is 1.
        best: The logarithm of the likelihood of the likeliest kind, (splits,).
        mean: The mean of the true deviation.
        second: Its second moment.
    """

    likelihood: FloatArray
    best: FloatArray
    mean: FloatArray
    second: FloatArray

    def under(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and second moment of the deviation, (splits,) each, if kinds have these weights, (splits, kinds)."""
        chance = weights * self.likelihood
        chance /= chance.sum(axis=1, keepdims=True)
        return (chance * self.mean).sum(axis=1), (chance * self.second).sum(axis=1)


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
        log_likelihood, mean[:, rows], second[:, rows] = _kinds(splits[rows])
        best[rows] = log_likelihood.max(axis=0)
        np.exp(log_likelihood - best[rows], out=likelihood[:, rows])
    return KindwisePosterior(likelihood.T, best, mean.T, second.T)


def about(splits: NoisySplits, share: FloatArray, excess: float) -> FloatArray:
    """The logarithm of the likelihood of splits, (splits,), if records fall into the left half with this chance.

    Args:
        splits: Any number of splits, all of which tell something.
        share: The chance of each, (splits,).
        excess: How many times more than binomial ones they scatter.
    """
    variance, log_chance = _gaussian_parts(splits)
    spread = variance + excess * splits.count * share * (1 - share)
    square = (splits.deviation + (splits.share - share) * splits.count) ** 2
    each = log_chance - (square / spread + np.log(spread)) / 2
    return np.asarray(np.logaddexp.reduce(each, axis=0))


def smooth_variance(count: FloatArray, share: FloatArray) -> FloatArray:
    """Prior variance of the deviation under each smooth kind, (SMOOTH, splits).

    A roughness is a change of the odds of the two halves; an uneven share lessens it like the binomial variance.
    """
    binomial = share * (1 - share)
    return np.asarray(count * binomial + (4 * count * binomial) ** 2 * ROUGHNESS[:, None])


def prior_square(splits: NoisySplits, weights: FloatArray, group: NDArray[np.int8]) -> FloatArray:
    """Expected square of deviations of which only the weights of their kinds are known.

    Args:
        splits: Any number of splits.
        weights: The weights of the kinds, in each of a few groups: (groups, kinds).
        group: The group of each split, (splits,).
    """
    linear = weights[:, :SMOOTH].sum(axis=1)[group] * splits.count * splits.share * (1 - splits.share)
    return np.asarray(linear + prior_growth(splits.share, weights, group) * splits.count**2)


def prior_growth(share: FloatArray, weights: FloatArray, group: NDArray[np.int8]) -> FloatArray:
    """The growth of the same square with each squared count of the parent."""
    binomial = share * (1 - share)
    smooth = (weights[:, :SMOOTH] @ ROUGHNESS)[group] * (4 * binomial) ** 2
    return np.asarray(smooth + weights[:, SMOOTH:].sum(axis=1)[group] * binomial)


def evenly(splits: NoisySplits, excess: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Mean and second moment of the deviation, (splits,) each, if all records lie evenly: the first kind alone.

    Args:
        splits: Any number of splits.
        excess: How many times more than binomial ones they scatter.
    """
    binomial = excess * splits.count * splits.share * (1 - splits.share)
    mean, second = np.zeros_like(binomial), binomial.copy()
    known = np.flatnonzero((binomial > 0) & np.isfinite(splits.variance))
    _, (mean[known],), (second[known],) = _smooth(splits[known], binomial[None, known], *_gaussian_parts(splits[known]))
    return mean, second


def weights_of_others(likelihood: FloatArray, weights: FloatArray, prior: FloatArray) -> FloatArray:
    """For each split, what the others and the prior make of the weights of the kinds: (splits, kinds).

    A split must not tell twice what it is: of few, each would confirm itself.
    """
    chance = weights * likelihood
    chance /= chance.sum(axis=1, keepdims=True)
    others = np.maximum(chance.sum(axis=0) - chance, 0)
    return np.asarray((others + PSEUDO * prior) / (len(likelihood) - 1 + PSEUDO))


def mixture_weights(likelihood: FloatArray, prior: FloatArray) -> FloatArray:
    """Weights of the kinds, (kinds,), by expectation and maximisation; `prior` weighs as much as one split."""
    weights = prior
    for _ in range(ROUNDS if len(likelihood) else 0):  # of no split nothing is learned
        each = weights * (likelihood.T @ (1 / (likelihood @ weights)))  # the chances of the kinds, over all splits
        weights = (each + PSEUDO * prior) / (len(likelihood) + PSEUDO)
    return weights


MeanAndSquares = tuple[FloatArray, FloatArray, FloatArray]
"""Logarithm of the likelihood, mean and second moment."""


def _kinds(splits: NoisySplits) -> MeanAndSquares:
    """Under each kind: (kinds, splits) each."""
    variance, log_chance = _gaussian_parts(splits)
    prior = smooth_variance(splits.count, splits.share)
    parts = [_smooth(splits, prior, variance, log_chance), *_one_sided(splits, variance, log_chance)]
    log_likelihood, mean, second = zip(*parts, strict=True)
    return np.vstack(log_likelihood), np.vstack(mean), np.vstack(second)


def _gaussian_parts(splits: NoisySplits) -> tuple[FloatArray, FloatArray]:
    """Variances and logarithms of the chances of the Gaussian laws of which the noise is mixed, (parts, splits).

    A sum of k Laplace draws is Gaussian with a variance that has a gamma law of shape k; this is its Gauss quadrature.
    """
    if splits.excess.max(initial=0) < _LEAST_EXCESS:
        return splits.variance[None], np.zeros((1, len(splits.variance)))
    shape = 3 / np.maximum(splits.excess, _LEAST_EXCESS)
    below, above = 1 - np.sqrt(shape + 1) / shape + 1 / shape, 1 + np.sqrt(shape + 1) / shape + 1 / shape
    chance = (above - 1) / (above - below)
    return np.stack([below, above]) * splits.variance, np.log(np.stack([chance, 1 - chance]))


def _smooth(splits: NoisySplits, prior: FloatArray, variance: FloatArray, log_chance: FloatArray) -> MeanAndSquares:
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
    log_likelihood, trust, second = _together(log_likelihood, trust, second)
    return log_likelihood, trust * splits.deviation, second


def _one_sided(splits: NoisySplits, variance: FloatArray, log_chance: FloatArray) -> list[MeanAndSquares]:
    """With nothing left, and with a leftover; (splits,) each. Either half may have it all."""
    odds, prior = log_chance - log(2), (LEFTOVER * splits.count) ** 2
    nothing, some = [], []
    for side, part in ((-1.0, 1 - splits.share), (1.0, -splits.share)):
        end = part * splits.count  # the deviation that leaves nothing
        left = side * (splits.deviation - end)
        log_likelihood = odds - (left**2 / variance + np.log(variance)) / 2
        nothing.append((_together(log_likelihood, variance, variance)[0], end, end**2))
        log_likelihood, mean, second = _half_normal(left, variance, prior, odds)  # of the leftover
        some.append((log_likelihood, end + side * mean, end**2 + 2 * end * side * mean + second))
    return [_together(*(np.stack(each) for each in zip(*sides, strict=True))) for sides in (nothing, some)]


def _half_normal(left: FloatArray, noise: FloatArray, prior: FloatArray, odds: FloatArray) -> MeanAndSquares:
    """Moments of a leftover that is the size of a Gaussian deviation of variance `prior`."""
    spread = prior + noise
    trust = prior / spread
    mean, scale = left * trust, np.sqrt(trust * noise)
    log_chance, hazard = normal_tail(mean / scale)
    log_likelihood = odds + log(2) + log_chance - (left**2 / spread + np.log(spread)) / 2
    expected = np.maximum(mean + scale * hazard, 0)
    return _together(log_likelihood, expected, np.maximum(scale**2 + mean * expected, expected**2))


def _together(log_likelihood: FloatArray, mean: FloatArray, second: FloatArray) -> MeanAndSquares:
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
    return both, _between(mean, trust), _between(second, trust)


def _between(both: FloatArray, trust: FloatArray) -> FloatArray:
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
        log_chance: Logarithm of the chance to be below.
        hazard: Density, divided by that chance: how far beyond the point such draws are taken back to 0 on average.
    """

    log_chance: FloatArray
    hazard: FloatArray


def normal_tail(at: FloatArray) -> NormalTail:
    """The chance below a point and the density there, to 14 digits, also where both are too small to be written.

    SciPy, which has it too, takes long to be loaded.

    The scaled complement of the error function is a polynomial on the whole half line, as in Shepherd and Laframboise
    1981; the coefficients are those of the interpolation at 21 Chebyshev nodes.

    >>> normal_tail(np.array([0.0, -40.0])).log_chance.round(3).tolist()
    [-0.693, -804.608]
    """
    x = np.abs(at) / np.sqrt(2)
    place = (x - _TURN) / (x + _TURN)
    scaled = np.full_like(place, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        scaled *= place
        scaled += coefficient
    scaled /= 1 + 2 * x
    square = x * x
    bell = np.exp(-square)
    rest = bell * scaled / 2  # the chance beyond the point, on the side that is further out
    low = at <= 0
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
class Splits:
    """An estimate of all counts, from the whole to single cells. Arrays are over the nodes of the layout.

    Attributes:
        layout: Which intervals the nodes are.
        counts: The count of each node, not negative. Halves add up to their parent.
        variance: The variance of the split of each node between its halves, given all that was measured.
        even: The chance that records lie evenly all over the grid: that all splits are binomial.
        of_law: The logarithm of how much likelier the splits are as those of a given law than as they are estimated
            here; minus infinity where none was given.
    """

    layout: Layout
    counts: FloatArray
    variance: FloatArray
    even: float
    of_law: float = -inf

    @property
    def cells(self) -> FloatArray:
        """The count of each cell, (cells,)."""
        return self.counts[self.layout.single]

    def clear(self, doubts: float) -> FloatArray:
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
        excess: How many times more than by chance records scatter about it.
    """

    mass: FloatArray
    excess: float


class SplitAscent(NamedTuple):
    """Each node as seen from itself and all below it: least squares. Arrays are as in `Measurements`."""

    precision: FloatArray
    value: FloatArray
    fourth: FloatArray


class Descent(NamedTuple):
    """Estimates of the pass downwards. Arrays are over nodes, and filled level by level.

    Attributes:
        counts: See `Splits`.
        variance: See `Splits`.
        doubt: Variance of the count of each node.
        rough: 1 where the split of the parent is rough: the class of the node.
    """

    counts: FloatArray
    variance: FloatArray
    doubt: FloatArray
    rough: NDArray[np.int8]

    @classmethod
    def of(cls, layout: Layout, total: float) -> Descent:
        """At its beginning."""
        counts, variance, doubt = np.zeros((3, layout.nodes))
        counts[WHOLE] = max(float(total), 0.0)
        return cls(counts, variance, doubt, np.zeros(layout.nodes, dtype=np.int8))


class SplitMoments(NamedTuple):
    """Mean and expected square of the deviation of each split from an even one, (splits,) each."""

    mean: FloatArray
    square: FloatArray


class KindWeights(NamedTuple):
    """Weights of the kinds of splits.

    Attributes:
        all: The chances at the level, (2, kinds): of splits whose parent is not rough, and of those where it is.
        each: For each telling split, as the others make them, (telling, kinds).
    """

    all: FloatArray
    each: FloatArray


class Judged(NamedTuple):
    """Noisy splits of one level, with the posterior chances of each kind for those that are informative.

    Attributes:
        splits: All of them.
        telling: The numbers of those that tell something.
        others: The chances of those that do not.
        posterior: The chances of the telling ones.
    """

    splits: NoisySplits
    telling: NDArray[np.intp]
    others: NDArray[np.intp]
    posterior: KindwisePosterior

    @classmethod
    def of(cls, splits: NoisySplits) -> Judged:
        """Those splits tell something whose parent has some size, and that are not hidden in noise."""
        largest = (splits.count**2 + splits.count) * splits.share * (1 - splits.share)
        told = (largest > 0) & (largest >= TELLING * splits.variance)
        telling = np.flatnonzero(told)
        return cls(splits, telling, np.flatnonzero(~told), kindwise_posterior(splits[telling]))

    def learned(self, rough: NDArray[np.int8], prior: FloatArray) -> KindWeights:
        """From all splits of each class; for a split, from the others."""
        likelihood, rough = self.posterior.likelihood, rough[self.telling]
        found = KindWeights(np.empty((2, KINDS)), np.empty_like(likelihood))
        for kind in (0, 1):
            alike = np.flatnonzero(rough == kind)
            own = likelihood.T[:, alike].T  # a kind's splits stay side by side
            found.all[kind] = mixture_weights(own, prior[kind])
            found.each.T[:, alike] = weights_of_others(own, found.all[kind], prior[kind]).T
        return found

    def under(self, weights: KindWeights, rough: NDArray[np.int8]) -> SplitMoments:
        """Under these weights of the kinds; splits that tell nothing have the moments of the prior."""
        found = SplitMoments(np.zeros_like(self.splits.count), np.empty_like(self.splits.count))
        found.mean[self.telling], found.square[self.telling] = self.posterior.under(weights.each)
        found.square[self.others] = prior_square(self.splits[self.others], weights.all, rough[self.others])
        return found

    def for_law(self, law: PriorLaw, halving: Halving, weights: KindWeights) -> FloatArray:
        """Logarithms of how much likelier splits are by a law, and if all are binomial, than each as others are, (2,).

        A split is judged by weights that the others make: prior ones would know less than a law that was fitted.
        """
        likelihood = self.posterior.likelihood
        mixed = self.posterior.best + np.log((weights.each * likelihood).sum(axis=1))
        parent, left = law.mass[halving.parent][self.telling], law.mass[halving.left][self.telling]
        share = np.divide(left, parent, out=self.splits.share[self.telling], where=parent > 0)
        even = self.posterior.best + np.log(np.maximum(likelihood[:, 0], np.finfo(np.float64).tiny))
        by_law = about(self.splits[self.telling], share, law.excess)
        return np.array([np.sum(by_law - mixed), np.sum(even - mixed)])

    def for_evenness(self, rough: NDArray[np.int8], prior: FloatArray) -> float:
        """The logarithm of how much likelier splits are if all are binomial, rather than of weights (2, kinds)."""
        likelihood = self.posterior.likelihood
        mixed = np.take_along_axis(likelihood @ prior.T, rough[self.telling, None].astype(np.intp), axis=1)
        return float(np.sum(np.log(np.maximum(likelihood[:, :1], np.finfo(np.float64).tiny)) - np.log(mixed)))


def least_squares_total(known: Measurements) -> tuple[float, float]:
    """The best unbiased count of all records, and one over its variance; both are 0 if nothing was measured."""
    ascent = ascend(known)
    return float(ascent.value[WHOLE]), float(ascent.precision[WHOLE])


def reweighed_total(known: Measurements, before: Splits) -> float:
    """The count of all records, to which intervals that seem to hold little add little noise: see `reestimate`."""
    return float(ascend(known, lambda below, halving: _weighed(below, halving, before)).value[WHOLE])


def estimate(known: Measurements, total: float, law: PriorLaw | None = None) -> Splits:
    """The expected counts, given all that is known.

    Args:
        known: What was measured; any integers, with any noise.
        total: How many records there are: public, or estimated. Below 0 it is taken as 0.
        law: What splits are also to be judged by: see `Splits.of_law`. The counts do not depend on it.

    The scheme is empirical Bayes (Robbins 1956) along a tree, here with a mixture that knows smooth and one-sided
    splits, and with the heavier tails of Laplace noise. Costs no privacy; no randomness; linear in the cells.

    >>> estimate(Measurements.nothing(Layout.nested([np.array([0, 3])])), total=6).cells
    array([2., 2., 2.])
    """
    return _descended(known.layout, ascend(known), total, law)


def reestimate(known: Measurements, total: float, before: Splits) -> Splits:
    """LeastSquares once more, with what the first estimate has found: a second pass upwards, and one downwards.

    Least squares add up the counts of two halves, and their noises. If one half has nothing, its count is noise alone:
    then the other half tells better what both have. So halves are weighed here by how the first estimate splits their
    parent, which is believed up to `DOUBT` times the variance that it has.

    Args:
        known: What was measured.
        total: See `estimate`.
        before: What `estimate` made of it.
    """

    def joined(below: SplitAscent, halving: Halving) -> SplitAscent:
        return _weighed(below, halving, before)

    return _descended(known.layout, ascend(known, joined), total)


def by_law(
    layout: Layout, ascent: SplitAscent, law: PriorLaw, below: FloatArray, known: NDArray[np.bool_]
) -> FloatArray:
    """The count of each cell, (cells,), if all splits are those of a law.

    Args:
        layout: Intervals along an axis.
        ascent: What `ascend` makes of what was measured.
        law: Each half has its share of its parent but for chance; what was measured tells how far.
        below: How many records lie below each edge of the cells, where that is known better than so.
        known: The nodes whose halves are known better, (nodes,).
    """
    descent = Descent.of(layout, below[-1])
    for halving in layout.halvings:
        parent, left, _, _ = halving
        even = _noisy_splits(layout, ascent, descent, halving)
        share = np.divide(law.mass[left], law.mass[parent], out=even.share.copy(), where=law.mass[parent] > 0)
        deviation = even.deviation + (even.share - share) * even.count
        splits = NoisySplits(deviation, even.variance, even.excess, even.count, share)
        mean, square = evenly(splits, law.excess)
        there = below[layout.begin[left] + layout.width[left]] - below[layout.begin[left]]
        mean = np.where(known[parent], there - share * even.count, mean)
        _settle(descent, halving, splits, mean, square)
    return descent.counts[layout.single]


def _descended(layout: Layout, ascent: SplitAscent, total: float, law: PriorLaw | None = None) -> Splits:
    uneven, evidence, of_law = _uneven(layout, ascent, total, law)
    even = float(np.exp(-np.logaddexp(0.0, np.log(1 / EVEN - 1) - evidence)))
    if even < NEGLIGIBLE:
        return Splits(layout, uneven.counts, uneven.variance, even, of_law)
    return _averaged(layout, uneven, _even(layout, ascent, total), even, of_law)


def _uneven(layout: Layout, ascent: SplitAscent, total: float, law: PriorLaw | None) -> tuple[Descent, float, float]:
    """By the mixture of all kinds; and what its splits say for evenness, and for a law over the better of both."""
    descent, evidence, of_law = Descent.of(layout, total), 0.0, np.zeros(2)
    prior = np.stack([PRIOR, PRIOR])
    for halving in layout.halvings:
        splits = _noisy_splits(layout, ascent, descent, halving)
        judged, rough = Judged.of(splits), descent.rough[halving.parent]
        if halving.off_end:  # of two ends nothing can be learned but from each other
            prior, kept = np.stack([END_PRIOR, END_PRIOR]), prior
            weights = KindWeights(prior, np.broadcast_to(END_PRIOR, judged.posterior.likelihood.shape))
        else:
            weights = judged.learned(rough, prior)
            kept = _less_rough(weights.all)
        moments = judged.under(weights, rough)
        evidence += judged.for_evenness(rough, prior)
        if law is not None:
            of_law += judged.for_law(law, halving, weights)
        variance = _doubted(splits, moments, weights.all, rough, descent.doubt[halving.parent])
        _settle(descent, halving, splits, moments.mean, variance)
        if not halving.off_end:
            large = ROUGH * splits.count**2 * splits.share * (1 - splits.share)
            rough = (moments.square > large).astype(np.int8)
        descent.rough[halving.left] = descent.rough[halving.right] = rough
        prior = kept
    return descent, evidence, -inf if law is None else float(of_law[0] - max(of_law[1], 0.0))


def _even(layout: Layout, ascent: SplitAscent, total: float) -> Descent:
    """If all splits are binomial."""
    descent = Descent.of(layout, total)
    for halving in layout.halvings:
        splits = _noisy_splits(layout, ascent, descent, halving)
        mean, square = evenly(splits)
        _settle(descent, halving, splits, mean, np.maximum(square - mean**2, 0))
    return descent


def _averaged(layout: Layout, uneven: Descent, even: Descent, chance: float, of_law: float) -> Splits:
    """The mean of two estimates, the second of which holds with this chance."""
    counts = uneven.counts + chance * (even.counts - uneven.counts)
    variance = uneven.variance + chance * (even.variance - uneven.variance)
    apart = even.counts - uneven.counts
    for parent, left, _, _ in layout.halvings:
        split = apart[left] - layout.width[left] / layout.width[parent] * apart[parent]
        variance[parent] += chance * (1 - chance) * split**2
    return Splits(layout, counts, variance, chance, of_law)


def ascend(known: Measurements, joined: Callable[[SplitAscent, Halving], SplitAscent] | None = None) -> SplitAscent:
    """Each node from its own count and from its halves, which are `joined` to one count: added up, if not said."""
    found = SplitAscent(known.precision.copy(), known.value.copy(), known.fourth.copy())
    for halving in reversed(known.layout.halvings):
        parent = halving.parent
        below, own = (joined or _added)(found, halving), found.precision[parent]
        both = own + below.precision
        trust = np.divide(below.precision, both, out=np.zeros_like(both), where=both > 0)
        found.value[parent] += trust * (below.value - found.value[parent])
        found.fourth[parent] = (1 - trust) ** 4 * found.fourth[parent] + trust**4 * below.fourth
        found.precision[parent] = both
    return found


def _added(below: SplitAscent, halving: Halving) -> SplitAscent:
    _, left, right, _ = halving
    with np.errstate(divide="ignore"):
        precision = 1 / (1 / below.precision[left] + 1 / below.precision[right])  # 0 if either half is unknown
    return SplitAscent(precision, below.value[left] + below.value[right], below.fourth[left] + below.fourth[right])


def _weighed(below: SplitAscent, halving: Halving, splits: Splits) -> SplitAscent:
    """The best linear estimate of a parent from its halves, if something is known of how it is split.

    With a share m of the parent, plus an unknown shift of variance t, in the left half, and noises of variances u and v
    on the halves, the halves have the weights ``m * v + t`` and ``(1 - m) * u + t``, over ``m**2 * v + (1 - m)**2 * u +
    t`` (generalised least squares). Where nothing is known, t is infinite, and both weights are 1.
    """
    parent, left, right, _ = halving
    plain = _added(below, halving)
    with np.errstate(divide="ignore", invalid="ignore"):
        m, t = splits.counts[left] / splits.counts[parent], DOUBT * splits.variance[parent]
        u, v = 1 / below.precision[left], 1 / below.precision[right]
        scale = m**2 * v + (1 - m) ** 2 * u + t
        first, second = (m * v + t) / scale, ((1 - m) * u + t) / scale
        precision = scale / (u * v + t * (u + v))
    some = np.isfinite(first) & np.isfinite(second) & np.isfinite(precision)  # else empty, not measured, or exact
    return SplitAscent(
        np.where(some, precision, plain.precision),
        np.where(some, first * below.value[left] + second * below.value[right], plain.value),
        np.where(some, first**4 * below.fourth[left] + second**4 * below.fourth[right], plain.fourth),
    )


def _noisy_splits(layout: Layout, ascent: SplitAscent, descent: Descent, halving: Halving) -> NoisySplits:
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
    fourth = trust**4 * ascent.fourth[left] + (1 - trust) ** 4 * ascent.fourth[right]
    excess = np.divide(fourth, variance**2, out=np.zeros_like(both), where=both > 0)
    return NoisySplits(noisy - share * count, variance, excess, count, share)


def _less_rough(weights: FloatArray) -> FloatArray:
    """The prior of the next level: half the same weights, half of them with less roughness."""
    less = weights.copy()
    less[:, : SMOOTH - 1] = weights[:, 1:SMOOTH]
    less[:, 0] += weights[:, 0]
    less[:, SMOOTH - 1] = 0
    return (weights + less) / 2


def _doubted(
    splits: NoisySplits, moments: SplitMoments, weights: FloatArray, rough: NDArray[np.int8], doubt: FloatArray
) -> FloatArray:
    """Variances of the splits, if the counts of the parents are known up to these variances.

    An interval that seems to hold little may hold more, and what its halves then hold is not known at all. That it may
    hold many times as much is left out: with little loss to spend there would be too many such intervals.
    """
    variance = np.maximum(moments.square - moments.mean**2, 0)
    before = prior_square(splits, weights, rough)
    kept = np.divide(variance, before, out=np.ones_like(before), where=before > 0).clip(0, 1)
    more = prior_growth(splits.share, weights, rough) * np.minimum(doubt, splits.count**2)
    return np.asarray(variance + more * kept**2)


def _settle(descent: Descent, halving: Halving, splits: NoisySplits, mean: FloatArray, variance: FloatArray) -> None:
    """The halves, from the mean deviations and the variances of the splits."""
    parent, left, right, _ = halving
    descent.counts[left] = np.clip(splits.share * splits.count + mean, 0, splits.count)
    descent.counts[right] = splits.count - descent.counts[left]
    descent.variance[parent] = variance
    descent.doubt[left] = splits.share**2 * descent.doubt[parent] + variance
    descent.doubt[right] = (1 - splits.share) ** 2 * descent.doubt[parent] + variance
