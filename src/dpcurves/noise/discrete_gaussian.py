"""Exact sampler of discrete Gaussian noise, the integer noise of zero-concentrated differential privacy (zCDP).

    P(z) proportional to exp(-z**2 / (2 * variance)),  z integer

`sample` draws many such integers, for every rational variance parameter. The method is rejection from a step function
above the weights. Each side of zero is divided into steps of ``2**bits`` integers. A step is sampled by inversion, with
the weight of its most probable integer; then one of its integers is sampled uniformly, and accepted with probability
``exp(-(its exponent - exponent of the most probable one))``.

Formal guarantees: the distribution is exact, no floating point is used, and no rounding decides. A mechanism that adds
this noise to an integer has ``rho = d**2 / (2 * variance)``, if neighbours change the integer by at most d (Canonne,
Kamath and Steinke 2020, Theorem 14).

Reference: Canonne, Kamath and Steinke 2020, *The discrete Gaussian for differential privacy*.

>>> len(sample(Fraction(9), 5, Randomness.from_system()))
5
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ..arguments import require_draw_count, require_positive_fraction
from .exponential import (
    Bracket,
    InversionTable,
    bound_exp_neg,
    bound_geometric_sum,
    multiply_brackets,
    sample_alternating_series,
    sample_bernoulli_exp,
)
from .randomness import Randomness

LARGEST_VARIANCE = 2**110
"""Largest variance, in squared units of the noise: up to it all but exp(-2**14) of the distribution fits 64 bits. A
larger one is refused."""
ONE_PROBABILITY = 1 << 16
"""The probability 1 in units of ``2**-16``: a first test of acceptance compares 16 random bits, and more bits are drawn
only where it does not decide."""


def sample(variance: Fraction, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Sample independent integers z with probability proportional to ``exp(-z**2 / (2 * variance))``.

    Formal guarantees: the distribution is exact, no floating point is used, and no rounding decides. Each side of zero
    is divided into steps of ``2**bits`` integers (of a single integer, up to a standard deviation of 128). A step is
    sampled by inversion, with the weight of its most probable integer. One of its integers is then sampled uniformly,
    and accepted with probability ``exp(-excess)``, where the excess is its exponent minus the exponent of the most
    probable integer. After a rejection all is sampled anew. So each integer has a probability proportional to its own
    weight. A z that does not fit 64 bits, with probability below exp(-2**14), is clipped to 64 bits. Algorithm 3 of
    Canonne, Kamath and Steinke (2020) has the same distribution; the tests compare with it. The steps are a tighter
    envelope than its discrete Laplace distribution: fewer than one proposal in 100 is rejected.

    Args:
        variance: Squared records. Variance parameter of the noise: above 0, at most 2**110.
        size: Number of integers.
        randomness: Source of random bits.

    Returns:
        Integers of 64 bits, of shape ``(size,)``.

    Raises:
        ValueError: `variance` is not above zero, or above 2**110; `size` is below zero.

    >>> sample(Fraction(10, 3), 5, Randomness.from_seed(1))
    array([ 1, -1, -2, -4,  1])
    """
    sampler = _build_sampler(require_positive_fraction("variance", variance, LARGEST_VARIANCE))
    noise = np.empty(require_draw_count(size), dtype=np.int64)
    remaining = np.arange(size)
    while remaining.size:
        noise[remaining], accepted = sampler.propose(remaining.size, randomness)
        remaining = remaining[~accepted]
    return noise


@dataclass(frozen=True, slots=True)
class StepEnvelope:
    """The step function above the weights of the discrete Gaussian: the proposal distribution of the rejection sampler.

    Outcome ``2 * b + s`` is step b of the integers at or above 0 (s = 0), or below 0 (s = 1). Its integers, or for s =
    1 their absolute values, are ``start + low`` with ``start = b * 2**bits + s`` and low from 0 to ``2**bits - 1``. All
    have the weight of the first, ``exp(-rate * start**2)``.

    Attributes:
        rate: 1 / (2 * variance).
        bits: Each step has ``2**bits`` integers.
    """

    rate: Fraction
    bits: int

    def step_start(self, outcome: int) -> int:
        """Return the smallest absolute value of the integers in a step of the envelope, which has the largest weight.

        Args:
            outcome: Number of the step, ``2 * b + s``: the b-th step (from 0) on side s, 1 for negative integers.
        """
        return (outcome >> 1 << self.bits) + (outcome & 1)

    def exponent_excess(self, outcome: int, low: int) -> Fraction:
        """Return the exponent of an integer's acceptance probability: by how much ``rate * z**2`` exceeds its value at
        the first integer of the step.

        Args:
            outcome: Number of the step.
            low: Position of the integer within its step, from 0.
        """
        return self.rate * (low * (2 * self.step_start(outcome) + low))

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """Return bounds of the weights of the envelope's steps, for sampling a step by inversion.

        Args:
            bits: Binary digits after the point of the bounds.

        Returns:
            Bounds of the weights of the outcomes 0, 1, 2, ... down to about ``2**-bits``, and a bound of the sum of all
            others, both in units of ``2**-bits``.
        """
        both = zip(self._side_weights(0, bits), self._side_weights(1, bits), strict=True)
        count = (isqrt(int(bits * Fraction(7, 10) / self.rate)) >> self.bits) + 2
        listed = [weight for weight, _ in chain.from_iterable(islice(both, count))]
        (next_, ratio), _ = next(both)
        return listed, 2 * bound_geometric_sum(next_, ratio, bits)

    def _side_weights(self, sign: int, bits: int) -> Iterator[tuple[Bracket, Bracket]]:
        """Yield proven bounds of the weight of each step on one side of zero, from zero outwards, without end.

        The weight of a step is the unnormalised density ``exp(-rate * z**2)`` at its integer next to zero, by which
        the envelope bounds all integers of the step.

        Args:
            sign: 0 for integers at or above zero, 1 for integers below.
            bits: Binary digits after the point of the bounds.

        Yields:
            Lower and upper bound of a weight, and of the ratio of the next weight to it.
        """
        width = 1 << self.bits
        weight = bound_exp_neg(self.rate * sign, bits)
        ratio = bound_exp_neg(self.rate * width * (width + 2 * sign), bits)
        fall = bound_exp_neg(self.rate * 2 * width**2, bits)
        while True:
            yield weight, ratio
            weight = multiply_brackets(weight, ratio, bits)
            ratio = multiply_brackets(ratio, fall, bits)


class RejectionSampler:
    """Rejection sampler of the discrete Gaussian: it proposes integers, and says which are accepted.

    Args:
        steps: Proposal distribution.
    """

    __slots__ = ("_doubts", "_steps", "_table")

    def __init__(self, steps: StepEnvelope) -> None:
        self._steps = steps
        self._table = InversionTable(steps)
        self._doubts = _bound_excesses(steps, self._table.outcomes)

    def propose(self, size: int, randomness: Randomness) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """SECRET: sample proposals, and decide which are accepted. Rejected ones must be proposed again.

        Args:
            size: Number of proposals.
            randomness: Source of random bits.

        Returns:
            Integers, and a mask of the accepted ones, each of shape ``(size,)``.
        """
        bits = self._steps.bits
        outcomes = self._table.sample(size, randomness)
        accepted = np.ones(size, dtype=np.bool_)
        # 2**63 - 1 records: largest 64-bit integer, to which larger magnitudes are clipped
        magnitude = np.minimum(outcomes >> 1, (2**63 - 1) >> bits) << bits
        if bits:
            low = _sample_low_bits(size, bits, randomness)
            magnitude |= low
            self._reject(accepted, outcomes, low, randomness)
        return magnitude ^ -(outcomes & 1), accepted  # -1 - m is the complement of m

    def _reject(
        self,
        is_accepted: NDArray[np.bool_],
        outcomes: NDArray[np.int64],
        low: NDArray[np.int64],
        randomness: Randomness,
    ) -> None:
        """SECRET: set `is_accepted` to False, in place, with probability ``1 - exp(-excess)`` for each proposal.

        Args:
            is_accepted: Mask of the proposals, all True, (size,).
            outcomes: Step of each proposal.
            low: Position of each proposal within its step.
            randomness: Source of random bits.
        """
        excess_bounds = self._doubts.take(outcomes, mode="clip")
        for index in np.flatnonzero(randomness.sample_halfwords(is_accepted.size) < excess_bounds):
            excess = self._steps.exponent_excess(int(outcomes[index]), int(low[index]))
            is_accepted[index] = _accept(excess, int(excess_bounds[index]), randomness)


def _sample_low_bits(size: int, bits: int, randomness: Randomness) -> NDArray[np.int64]:
    """Sample the positions of proposals within their steps: uniform integers from 0 to ``2**bits - 1``.

    Args:
        size: Number of integers.
        bits: Number of random bits, at most 64.
        randomness: Source of random bits.
    """
    if bits <= 16:
        return (randomness.sample_halfwords(size) >> np.uint16(16 - bits)).astype(np.int64)
    return (randomness.sample_words(size) >> np.uint64(64 - bits)).astype(np.int64)


def _bound_excesses(steps: StepEnvelope, outcomes: int) -> NDArray[np.uint32]:
    """Return, for each step, an upper bound of the exponents by which its integers are rejected, in units of 2**-16,
    for a fast first test.

    Args:
        steps: The steps.
        outcomes: Number of steps with an entry.

    Returns:
        A bound for each step, at most 1, that is 2**16 units; a last entry, which is 1, is for all rarer steps.
    """
    last_low = (1 << steps.bits) - 1
    slope = steps.rate * last_low * ONE_PROBABILITY
    top, bottom = slope.numerator, slope.denominator
    bounds = (top * (2 * steps.step_start(outcome) + last_low) // bottom + 1 for outcome in range(outcomes))
    return np.array([*(min(bound, ONE_PROBABILITY) for bound in bounds), ONE_PROBABILITY], dtype=np.uint32)


def _accept(excess: Fraction, excess_bound: int, randomness: Randomness) -> bool:
    """Return True with probability ``exp(-excess)``: the exact decision on a proposal that a fast first test left open.

    The first test was passed with probability ``excess_bound / 2**16``. The first variable of
    `sample_alternating_series` is 1 with probability `excess`. If `excess` is at most the bound, it can be sampled as
    the product of the passed test and a variable of probability ``excess * 2**16 / excess_bound``.

    Args:
        excess: The exponent, not negative.
        excess_bound: Upper bound of it in units of 2**-16, capped at 2**16 for large exponents.
        randomness: Source of random bits.
    """
    if excess_bound == ONE_PROBABILITY:
        return sample_bernoulli_exp(excess, randomness)
    is_first_one = randomness.sample_below(excess.denominator * excess_bound) < excess.numerator << 16
    return sample_alternating_series(excess, 2, randomness) if is_first_one else True


@lru_cache(maxsize=64)  # a pure function of a public number
def _build_sampler(variance: Fraction) -> RejectionSampler:
    """Return the rejection sampler of discrete Gaussian noise for a variance. Cached.

    A step has a power of two of integers: so many that there are at least 64 steps per standard deviation, or single
    integers.

    Args:
        variance: Variance parameter of the noise.
    """
    # at least 64 steps a standard deviation: fewer than one proposal in 100 is rejected
    bits = max(0, (int(variance / 64**2).bit_length() - 1) // 2)
    return RejectionSampler(StepEnvelope(1 / (2 * variance), bits))
