"""The mixture prior of a split between two halves: nine kinds, and the chance of each, given a noisy split."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray

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


Moments = tuple[FloatArray, FloatArray, FloatArray]
"""Logarithm of the likelihood, mean and second moment."""


def _kinds(splits: NoisySplits) -> Moments:
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


def _smooth(splits: NoisySplits, prior: FloatArray, variance: FloatArray, log_chance: FloatArray) -> Moments:
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


def _one_sided(splits: NoisySplits, variance: FloatArray, log_chance: FloatArray) -> list[Moments]:
    """With nothing left, and with a leftover; (splits,) each. Either half may have it all."""
    odds, prior = log_chance - log(2), (LEFTOVER * splits.count) ** 2
    nothing, some = [], []
    for side, part in ((-1.0, 1 - splits.share), (1.0, -splits.share)):
        end = part * splits.count  # the deviation that leaves nothing
        left = side * (splits.deviation - end)
        log_likelihood = odds - (left**2 / variance + np.log(variance)) / 2
        nothing.append((_together(log_likelihood, variance, variance)[0], end, end**2))
        some.append(_beside(_half_normal(left, variance, prior, odds), end, side))
    return [_together(*(np.stack(each) for each in zip(*sides, strict=True))) for sides in (nothing, some)]


def _half_normal(left: FloatArray, noise: FloatArray, prior: FloatArray, odds: FloatArray) -> Moments:
    """Moments of a leftover that is the size of a Gaussian deviation of variance `prior`."""
    spread = prior + noise
    trust = prior / spread
    mean, scale = left * trust, np.sqrt(trust * noise)
    log_chance, hazard = normal_tail(mean / scale)
    log_likelihood = odds + log(2) + log_chance - (left**2 / spread + np.log(spread)) / 2
    expected = np.maximum(mean + scale * hazard, 0)
    return _together(log_likelihood, expected, np.maximum(scale**2 + mean * expected, expected**2))


def _beside(leftover: Moments, end: FloatArray, side: float) -> Moments:
    """From moments of a leftover to those of the deviation, which is that far from the one that leaves nothing."""
    log_likelihood, mean, second = leftover
    return log_likelihood, end + side * mean, end**2 + 2 * end * side * mean + second


def _together(log_likelihood: FloatArray, mean: FloatArray, second: FloatArray) -> Moments:
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
    scaled = _polynomial((x - _TURN) / (x + _TURN)) / (1 + 2 * x)
    square = x * x
    bell = np.exp(-square)
    rest = bell * scaled / 2  # the chance beyond the point, on the side that is further out
    low = at <= 0
    log_chance = np.where(low, np.log(scaled / 2) - square, np.log1p(-rest))
    density = np.where(low, 1.0, bell)
    return NormalTail(log_chance, np.sqrt(1 / (2 * np.pi)) * density / np.where(low, scaled / 2, 1 - rest))


def _polynomial(at: FloatArray) -> FloatArray:
    value = np.full_like(at, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        value *= at
        value += coefficient
    return value
