"""Distributed noise generation: shares of several parties that sum to discrete Laplace or discrete Gaussian noise.

With a single trusted party (a curator), that party would draw the noise. Here each of several parties adds a random
integer (its share of the noise) to its own count before the counts are summed. No party knows the whole noise, so none
can subtract it from the released sum.

    discrete Laplace     each of n parties adds A - B, both Polya (negative binomial) of shape 1 / n and ratio
                         exp(-1 / scale): the sum of all is exactly discrete Laplace, because shapes add up
    discrete Gaussian    each of n parties adds a discrete Gaussian of variance v / n: the sum is not quite discrete
                         Gaussian; its extra loss is at most the factor ``1 + gaussian_overhead(v, n)``

`sample_polya_differences` and `sample_gaussian_share` draw the shares of one party. `gaussian_parameter` raises the
variance until the stated rho (zero-concentrated differential privacy) holds including that factor.

Formal guarantees: distributions are exact; proofs at `sample_polya_differences` and `gaussian_overhead`.

References: Goryczka and Xiong 2017 (Polya shares); Canonne, Kamath and Steinke 2020; Kairouz, Liu and Steinke 2021.

>>> scale, parties = Fraction(2), 4
>>> shares = [sample_polya_differences(scale, Fraction(1, parties), 5, Randomness.from_seed(n)) for n in range(parties)]
>>> sum(shares).tolist()  # five draws of discrete Laplace noise of scale 2
[0, -4, 1, 2, -3]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import ceil, exp, expm1, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, require_draw_count, require_positive_fraction
from dpcurves.noise import discrete_gaussian
from dpcurves.noise.exponential import WORD_BITS, Bracket, InversionTable, bound_exp_neg
from dpcurves.noise.randomness import Randomness

# The difference of two Polya variables of a rational shape, sampled exactly.


INTEGERS_PER_CHUNK = 2**14
"""Number of integers of noise that are drawn at once, which bounds the memory of long vectors."""


def sample_polya_differences(scale: Fraction, shape: Fraction, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw one site's shares of discrete Laplace noise: differences of two Polya variables of ratio ``exp(-1 /
    scale)``.

    A Polya variable of shape a and ratio r is k with probability ``(1 - r)**a * a (a + 1) ... (a + k - 1) / k! *
    r**k``. With shape 1 it is geometric, and the difference of two is discrete Laplace of that scale. Shapes of
    independent variables add up, so n shares of shape ``1 / n`` sum exactly to discrete Laplace noise.

    Formal guarantees: the distribution is exact; floating point decides nothing. *Proof.* The generating function of a
    Polya variable is ``((1 - r) / (1 - r z))**a = exp(a * sum_k r**k / k * (z**k - 1))``: it is the sum of the points
    of a Poisson process on k = 1, 2, ... of intensity ``a r**k / k`` at k, and powers of it multiply, which is why
    shapes add up. That process is obtained by thinning a dominating process (keeping points independently, with a
    probability that depends on k, gives a Poisson process of the intensity times that probability). Let J be the least
    number with ``2**J >= scale``. Below ``2**J``, each block of the integers from ``2**j`` to below ``2**(j + 1)`` has
    a Poisson number of points, of mean a, uniformly spread: intensity ``a / 2**j``. A point is kept with probability
    ``2**j / k * r**k``, at most 1. For the integers from ``2**J``, a Poisson number of points of mean a have block ``j
    = J + i`` with probability ``2**-(i + 1)``: their intensity is ``a / 2**(i + 1) / 2**j``, and a point is kept with
    probability ``2**(i + 1) * 2**j / k * r**k``, at most ``2**(i + 1) * exp(-2**i)``, below 1. In both cases, ``a r**k
    / k`` remains. The numbers of points are drawn by inversion, blocks and places from random bits, and a point is kept
    if a uniform number is below its probability: if 64 bits and a double do not prove the comparison, both are refined
    until they do. A sum that does not fit 64 bits, with probability below exp(-2**11), wraps around.

    Args:
        scale: The scale of the Laplace noise to which shares of shapes with sum 1 add up.
        shape: The shape, above 0 and at most 1.
        size: The number of integers.
        randomness: Source of random bits.

    Raises:
        ValueError: `scale` is not in (0, 2**50], `shape` is not in (0, 1], or `size` is negative.

    >>> sample_polya_differences(Fraction(10, 3), Fraction(1, 4), 8, Randomness.from_seed(1))
    array([-1,  0,  0, -6,  0,  0,  0,  1])
    """
    # 2**50: scale of the Laplace noise at most, so that sums of many noises fit 64 bits
    distribution = PolyaBlocks(
        require_positive_fraction("scale", scale, 2**50), require_positive_fraction("shape", shape, 1)
    )
    noise = np.zeros(require_draw_count(size), dtype=np.int64)
    for start in range(0, noise.size, INTEGERS_PER_CHUNK):
        _add_points(noise[start : start + INTEGERS_PER_CHUNK], distribution, randomness)
    return noise


@dataclass(frozen=True, slots=True)
class PolyaBlocks:
    """Proposal distribution of `sample_polya_differences`: blocks of integers, and their acceptance probabilities.

    Block j holds the integers from ``2**j`` to below ``2**(j + 1)``.

    Attributes:
        scale: The ratio of the Polya distribution is ``exp(-1 / scale)``.
        shape: The mean number of proposed points per block, and in the whole tail.
    """

    scale: Fraction
    shape: Fraction

    @property
    def first_tail_block(self) -> int:
        """Number of the first block of integers of the tail: the smallest j with ``2**j >= scale``."""
        return max(0, (ceil(self.scale) - 1).bit_length())

    def compute_factor(self, block: int) -> int:
        """Return the factor that makes up for the probability with which a block of integers is proposed.

        Args:
            block: Number of the block, from 0.

        Returns:
            A power of two for a block of the tail; 1 for a block below the tail.
        """
        return 1 << max(0, block - self.first_tail_block + 1)

    def bound_acceptance(self, block: int, integer: int, bits: int) -> tuple[Fraction, Fraction]:
        """Return exact bounds of the probability with which a proposed integer is accepted; they converge as `bits`
        grows.

        Args:
            block: Number of the block.
            integer: The proposed integer in it.
            bits: Binary digits of the bounds.

        Returns:
            Lower and upper bound, times ``2**bits``.
        """
        factor = Fraction(self.compute_factor(block) << block, integer)
        extra_bits = max(0, factor.numerator.bit_length() - factor.denominator.bit_length() + 2)
        low, high = bound_exp_neg(integer / self.scale, bits + extra_bits)
        return factor * low / 2**extra_bits, factor * high / 2**extra_bits


@dataclass(frozen=True, slots=True)
class PoissonNumber:
    """Poisson distribution of a rational mean, in the form that `InversionTable` samples from.

    Attributes:
        mean: The mean, above 0 and at most 1.
    """

    mean: Fraction

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """Return exact bounds of the Poisson probabilities ``mean**k / k!`` of k = 0, 1, ..., up to a factor, for
        sampling.

        Args:
            bits: Binary digits of the bounds; the last weight is about ``2**-bits``.

        Returns:
            Lower and upper bound of each weight, times ``2**bits``; and the factor 2 by which later weights at least
            decrease each time.
        """
        brackets = list[Bracket]()
        weight = Fraction(1 << bits)
        for k in count(1):
            brackets.append((int(weight), int(weight) + 1))
            weight *= self.mean / k
            if weight < 1:
                break
        return brackets, 2


@lru_cache(maxsize=64)  # a pure function of a public number
def _build_poisson_table(mean: Fraction) -> InversionTable:
    """Return the table by which a Poisson distribution is sampled exactly (by inversion).

    Tables are cached, because they are refined while numbers are drawn.

    Args:
        mean: Mean of the distribution, above 0.
    """
    return InversionTable(PoissonNumber(mean))


def _add_points(noise: NDArray[np.int64], distribution: PolyaBlocks, randomness: Randomness) -> None:
    """SECRET: add random points to integers in place, so that each becomes a difference of two Polya draws.

    The noise is a sum of points of both signs. Points are proposed block by block, and some are accepted.

    Args:
        noise: Integers to which the points are added, shape (size,).
        distribution: The blocks of proposed points, with their acceptance probabilities.
        randomness: Source of random bits.
    """
    block_count = distribution.first_tail_block + 1  # the blocks below the tail, plus one for the tail
    point_counts = _build_poisson_table(distribution.shape).sample(noise.size * 2 * block_count, randomness)
    streams = np.repeat(np.arange(point_counts.size), point_counts)
    blocks = streams % block_count
    blocks[blocks == distribution.first_tail_block] += _sample_geometric(
        int((blocks == distribution.first_tail_block).sum()), randomness
    )
    signs = 1 - 2 * (streams // block_count % 2)
    owners = streams // (2 * block_count)
    # 61: exponent of the largest block whose integers fit signed 64 bits; points of higher blocks are drawn one by one
    small = blocks <= 61
    integers = _sample_integers(blocks[small], randomness)
    accepted = _sample_acceptances(blocks[small], integers, distribution, randomness)
    np.add.at(noise, owners[small][accepted], (signs[small] * integers)[accepted])
    for index in np.flatnonzero(~small):
        block = int(blocks[index])
        integer = (1 << block) + randomness.sample_below(1 << block)
        if decide_acceptance(distribution, block, integer, int(randomness.sample_words(1)[0]), randomness):
            wrapped = (int(noise[owners[index]]) + int(signs[index]) * integer + 2**63) % 2**64 - 2**63
            noise[owners[index]] = wrapped


def _sample_geometric(size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw `size` independent numbers i = 0, 1, ..., each with probability ``2**-(i + 1)``.

    Each is the number of random bits 1 before the first bit 0.

    Args:
        size: Number of draws.
        randomness: Source of random bits.

    Returns:
        Draws, (size,).
    """
    numbers = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        words = ~randomness.sample_words(pending.size)
        lowest = words & -words
        numbers[pending] += np.where(words == 0, WORD_BITS, np.frexp(lowest.astype(np.float64))[1] - 1)
        pending = pending[words == 0]
    return numbers


def _sample_integers(blocks: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Draw a uniform integer from ``2**block`` to below ``2**(block + 1)`` for each block number.

    Args:
        blocks: Block numbers from 0 to 61, (points,).
        randomness: Source of random bits.

    Returns:
        The integers, (points,).
    """
    places = blocks.astype(np.uint64)
    low = (randomness.sample_words(blocks.size) >> np.uint64(1)) >> (np.uint64(WORD_BITS - 1) - places)
    return (np.uint64(1) << places | low).astype(np.int64)


def _sample_acceptances(
    blocks: NDArray[np.int64], integers: NDArray[np.int64], distribution: PolyaBlocks, randomness: Randomness
) -> NDArray[np.bool_]:
    """Decide for each proposed integer whether it is accepted: by doubles where these prove the comparison, else
    exactly.

    Args:
        blocks: Number of each integer's block, (points,).
        integers: The proposed integers, (points,).
        distribution: The blocks, with their acceptance probabilities.
        randomness: Source of random bits.

    Returns:
        True for each accepted integer, (points,).
    """
    words = randomness.sample_words(blocks.size)
    factors = np.ldexp(
        1.0 / integers, (blocks + np.maximum(0, blocks - distribution.first_tail_block + 1)).astype(np.intc)
    )
    probabilities = factors * np.exp(integers / -float(distribution.scale))
    uniform = words / 2.0**WORD_BITS
    accepted: NDArray[np.bool_] = uniform < probabilities
    # 2.0**-40: distance from a floating-point probability beyond which a comparison with a uniform number is proven
    # correct
    for index in np.flatnonzero(np.abs(uniform - probabilities) < 2.0**-40):
        accepted[index] = decide_acceptance(
            distribution, int(blocks[index]), int(integers[index]), int(words[index]), randomness
        )
    return accepted


def decide_acceptance(distribution: PolyaBlocks, block: int, integer: int, word: int, randomness: Randomness) -> bool:
    """Return True if a uniform number from 0 to 1 is below the acceptance probability of a point, decided exactly.

    Further random bits are drawn only where the first do not decide.

    Args:
        distribution: The blocks, with their acceptance probabilities.
        block: Number of the block.
        integer: The proposed integer in it.
        word: First binary digits of the uniform number.
        randomness: Source of further digits.
    """
    bits = WORD_BITS
    while True:
        low, high = distribution.bound_acceptance(block, integer, bits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False
        word = word << WORD_BITS | int(randomness.sample_words(1)[0])
        bits = bits + WORD_BITS


# Sums of discrete Gaussians: close to a discrete Gaussian, by a proven bound.


MOST_EXTRA_VARIANCE = Fraction(1, 100)
"""Largest relative increase of the variance that is paid so that a sum of discrete Gaussian shares satisfies the stated
rho. A larger increase is refused."""
_VARIANCE_PARTS = 2**30
"""Denominator to which variances are rounded up, so that exact fractions stay short; the noise grows by at most 2**-29
of its variance."""
_PROOF_CANDIDATES = [2.0**power for power in range(-40, 41)]
"""Values of b in the proof of `gaussian_overhead` that are tried: each gives a valid bound, and the smallest is
taken."""


def gaussian_overhead(variance: float, shares: int) -> float:
    """Bound the relative excess loss of a sum of discrete Gaussians over a discrete Gaussian of the same variance.

    Let P be the distribution of the sum of n independent discrete Gaussians of variance parameter ``variance / n``
    each. Moved by an integer d, it is ``(1 + overhead) * d**2 / (2 * variance)``-zero-concentrated, as a discrete
    Gaussian is without the overhead (Canonne, Kamath and Steinke 2020, Theorem 14). Sums that do not differ lose
    nothing, so the losses of several sums add up with the same overhead. (Kairouz, Liu and Steinke 2021, Theorem 1,
    sums over all.)

    Args:
        variance: Variance parameter of the whole sum.
        shares: Number of shares n, from 1.

    Returns:
        The overhead; 0 for a single share; infinity if a share's variance is too small for the bound.

    *Proof.* Let V be the variance and g(y) = exp(-y**2 / 2V). First, P is proportional to ``g(y) phi(y)`` with
    ``|ln phi| <= H`` everywhere: adding the (k + 1)-th to the sum of k, complete the square. The remainder is a sum
    over all integers of a Gaussian with variance ``s = variance / n * k / (k + 1)`` and some centre. By Poisson's
    summation it lies within ``1 - 2q`` and ``1 + 2q`` times ``sqrt(2 pi s)``, with ``q = sum_j exp(-2 pi**2 s j**2)``:
    H is half the sum of ``ln((1 + 2q) / (1 - 2q))`` over k = 1, ..., n - 1.

    Let L be the loss ``ln P(y) / P(y - d)``, and ``K(s) = ln E exp(s L)``, s times the Renyi divergence of order
    ``1 + s``. *For s >= b*: ``exp K(s)`` is ``exp(s (s + 1) d**2 / 2V)`` times the quotient of the sums over
    ``g(y + s d) phi(y)**(1 + s) phi(y - d)**-s`` and over ``g phi``, which is at most ``exp(2 (1 + s) H)``, for the sum
    of a Gaussian over integers is largest with an integer as its centre. So the divergence is at most ``1 + s`` times
    ``d**2 / 2V + 2H / b``. *For 0 < s <= b*: K is 0 at -1 and at 0, so ``K(s) = s (s + 1) / 2 * K''(t)`` for some t
    from -1 to s, by the remainder of linear interpolation. ``K''(t)`` is the variance of L under the distribution that
    is proportional to ``g(y + t d) phi(y)**(1 + t) phi(y - d)**-t``, whose density over the Gaussian of centre ``-t d``
    on the integers is at most ``exp(2 (1 + 2b) H)``. L is linear in y, with slope ``d / V``, plus at most 2H. The mean
    square of ``y + t d`` under that Gaussian is at most ``V (1 + e)``, by Poisson's summation again, with
    ``1 + e = (1 + 2 sum_j (4 pi**2 V j**2 - 1) Q_j) / (1 - 2 sum_j Q_j)`` and ``Q_j = exp(-2 pi**2 V j**2)``. So by
    Minkowski the variance of L is at most ``exp(2 (1 + 2b) H) (|d| sqrt((1 + e) / V) + 2H)**2``. Both bounds, in parts
    of ``d**2 / V``, are largest for d = 1. *End of proof.* The best b is searched among powers of two.

    >>> [f"{gaussian_overhead(variance, 7):.1e}" for variance in (3.5, 7.0, 14.0, 70.0)]
    ['3.0e-01', '2.2e-03', '1.5e-07', '1.0e-12']
    """
    if shares == 1:
        return 0.0
    logarithm = 0.0
    for k in range(1, shares):
        q = _bound_tail(variance / shares * k / (k + 1))
        if q >= 0.25:
            return inf
        logarithm += log((1 + 2 * q) / (1 - 2 * q)) / 2
    rate = 2 * pi**2 * variance
    smallest_tail = sum((2 * rate * j**2 - 1) * exp(-rate * j**2) for j in range(1, 9)) if rate > 1 else inf
    spread = (1 + 2 * max(smallest_tail, 0.0)) / (1 - 2 * min(_bound_tail(variance), 0.25))

    def bound_at(end: float) -> float:
        """Return the bound on the excess loss for one choice of b; infinity if it is useless.

        Args:
            end: Candidate for the number b of the proof, above 0.
        """
        power = 2 * (1 + 2 * end) * logarithm
        if power > 1:
            return inf
        near_bound = exp(power) * (sqrt(spread) + 2 * logarithm * sqrt(variance)) ** 2 - 1
        return max(4 * logarithm * variance / end, near_bound)

    return min(map(bound_at, _PROOF_CANDIDATES)) * (1 + 1e-9) + 1e-12  # covers rounding of doubles


def _bound_tail(variance: float) -> float:
    """Return an upper bound of ``sum_j exp(-2 pi**2 variance j**2)`` over j >= 1, by a geometric series.

    Args:
        variance: Variance, in squared units of the integers.
    """
    first = exp(-2 * pi**2 * variance)
    return inf if first >= 1 else first + first**4 / -expm1(-2 * pi**2 * variance)


def gaussian_parameter(variance: Fraction, shares: int) -> Fraction:
    """Return the variance parameter that the sum of n shares needs to lose no more than one discrete Gaussian.

    Args:
        variance: Variance parameter of the discrete Gaussian that has the stated loss.
        shares: Number of shares, from 1.

    Returns:
        Variance parameter of the whole sum: `variance` or slightly more, so that the overhead is paid by more noise.

    Raises:
        ValueError: The increase in variance exceeds `MOST_EXTRA_VARIANCE`, as the shares are too small.
    """
    extra = gaussian_overhead(float(variance), shares)
    if extra <= MOST_EXTRA_VARIANCE:
        raised = variance * (1 + Fraction(ceil(extra * _VARIANCE_PARTS) + 1, _VARIANCE_PARTS))
        if shares == 1:
            return variance
        if (
            raised <= variance * (1 + MOST_EXTRA_VARIANCE)
            and (1 + gaussian_overhead(float(raised), shares)) * variance <= raised
        ):
            return raised
    rule = (
        f"a variance of {float(variance):.3g} in {shares} shares costs more than 1 % more noise; allow a smaller loss"
    )
    raise InvalidArgument("variance", rule)


def sample_gaussian_share(variance: Fraction, shares: int, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw one party's shares of discrete Gaussian noise, one for each of `size` sums.

    Args:
        variance: Variance parameter of the sum of all shares, as `gaussian_parameter` returns it.
        shares: Number of parties.
        size: Number of draws.
        randomness: Source of the random bits.

    Returns:
        Independent integers of variance parameter ``variance / shares``, (size,).
    """
    return discrete_gaussian.sample(variance / shares, size, randomness)
