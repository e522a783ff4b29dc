"""Exact sampling from probabilities with irrational weights such as exp(-x): the base of all noise samplers.

Floating point would round these probabilities, and rounding can break differential privacy (Mironov 2012). Here they
are bounded by rationals, and the bounds get tighter when a sample needs it:

    U uniform in [0, 1), revealed bit by bit      outcome = first i with U < F(i)

A sample reveals more bits of U, and tightens the bounds of the distribution function F, until both bounds give the same
outcome (`sample_by_inversion`). Usually 16 bits are enough, and a table gives the outcome (`InversionTable`).

Three samplers stand on this:

- `sample_bernoulli_exp`: True with probability ``exp(-x)``;
- `sample_exponential_mechanism`: an index i with ``P(i) proportional to exp(-rate * penalty_i)``, by bins of similar
  penalties and rejection within a bin;
- `sample_partition`: a partition into intervals, with a product of such weights.

Formal guarantees: distributions are exact, without floating point. Partitions are the exception: their error is
bounded, and paid for (`bound_partition_log_error`).

References: Canonne, Kamath and Steinke 2020, Algorithm 1; McSherry and Talwar 2007; Mironov 2012 (why floating point is
not enough).

>>> selection_probabilities([0, 1, 2], Fraction(1)).round(3)
array([0.665, 0.245, 0.09 ])
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat
from math import frexp
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, require_nonnegative_fraction
from ..arrays import FloatArray, IntArray, compile_loop
from .randomness import Randomness

# exp(-x) for rational x: proven bounds in integers, and exact Bernoulli samples.


LEAST_EPSILON = Fraction(1, 2**20)
"""Natural-log units. Least epsilon of one randomised answer of a person, or of a pair; a smaller one is refused."""
MOST_EPSILON = Fraction(64)
"""Natural-log units. Largest epsilon of one randomised answer of a person, or of a pair; a larger one is refused."""

Bracket = tuple[int, int]
"""Lower and upper bound of a number, as integers in units of ``2**-bits``."""


def one_bracket(bits: int) -> Bracket:
    """Return the number 1 as lower and upper bound in fixed-point arithmetic, in units of ``2**-bits``.

    Args:
        bits: Binary digits after the point.
    """
    return 1 << bits, 1 << bits


def multiply_brackets(left: Bracket, right: Bracket, bits: int) -> Bracket:
    """Return lower and upper bounds of the product of two nonnegative numbers, in fixed-point arithmetic, rounded
    outwards.

    Args:
        left: Lower and upper bound of one number, in units of ``2**-bits``.
        right: Lower and upper bound of the other number, in the same units.
        bits: Binary digits after the point.
    """
    return left[0] * right[0] >> bits, (left[1] * right[1] >> bits) + 1


def bound_exp_neg(exponent: Fraction, bits: int) -> Bracket:
    """Return a lower and an upper bound of ``exp(-exponent)``, in units of ``2**-bits``.

    The exponent is halved until it is below 2**-8, the power series is summed, and the sum is squared as many times,
    all rounded outwards. The error of the sum is at most ``bits / 4 + 10`` fine units, and squaring magnifies it by
    less than 2**10, so the guard bits suffice: up to 10,000 bits the bounds differ by at most 2.

    Args:
        exponent: A number of at least 0.
        bits: Binary digits after the point.

    >>> lower, upper = bound_exp_neg(Fraction(1), 64)
    >>> lower / 2**64, upper - lower <= 2
    (0.36787944117144233, True)
    """
    if exponent >= bits:  # exp(-bits) is below 2**-bits
        return 0, 1
    # bits: additional bits of intermediate results of `bound_exp_neg`, of which squaring uses up at most 10
    guard_bits = 24
    fine = bits + guard_bits
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 9)
    bounds = _sum_exp_series((exponent.numerator << fine) // (exponent.denominator << halvings), fine)
    for _ in range(halvings):
        bounds = multiply_brackets(bounds, bounds, fine)
    return bounds[0] >> guard_bits, (bounds[1] >> guard_bits) + 1


def bound_exp_neg_above(epsilon: Fraction) -> Fraction:
    """Return an upper bound of ``exp(-epsilon)``, as a fraction, with an error below ``2**-250``.

    Args:
        epsilon: A number of at least 0.
    """
    epsilon_bits = 256  # bits: precision of `bound_exp_neg_above`
    return Fraction(bound_exp_neg(epsilon, epsilon_bits)[1], 1 << epsilon_bits)


def geometric_terms(first: Bracket, ratio: Bracket, count: int, bits: int) -> list[Bracket]:
    """Return lower and upper bounds of the terms of a geometric series, ``first * ratio**k`` for k = 0 to ``count -
    1``.

    Args:
        first: Lower and upper bound of the first term, in units of ``2**-bits``.
        ratio: Lower and upper bound of the ratio, in the same units.
        count: Number of terms, at least 1.
        bits: Binary digits after the point.
    """
    return list(
        accumulate(repeat(ratio, count - 1), lambda member, step: multiply_brackets(member, step, bits), initial=first)
    )


def bound_geometric_sum(first: Bracket, ratio: Bracket, bits: int) -> int:
    """Return an upper bound of the sum of an infinite geometric series with a ratio below 1.

    Args:
        first: Lower and upper bound of the first term, in units of ``2**-bits``.
        ratio: Lower and upper bound of the ratio, in the same units.
        bits: Binary digits after the point.
    """
    return (first[1] << bits) // ((1 << bits) - ratio[1]) + 1


def sample_bernoulli_exp(exponent: Fraction, randomness: Randomness) -> bool:
    """Return True with probability exactly ``exp(-exponent)`` (Canonne, Kamath and Steinke 2020, Algorithm 1).

    Args:
        exponent: A number of at least 0.
        randomness: Source of random bits.
    """
    while exponent > 1:
        if not sample_alternating_series(Fraction(1), 1, randomness):
            return False
        exponent -= 1
    return sample_alternating_series(exponent, 1, randomness)


def sample_alternating_series(exponent: Fraction, first: int, randomness: Randomness) -> bool:
    """Sample bits that are 1 with probability ``exponent / k`` for k = `first`, `first` + 1, ... until one is 0; return
    whether its k is odd.

    With ``first = 1`` the result is True with probability ``exp(-exponent)``. That is the alternating sum of
    ``exponent**k / k!``, the probabilities that the first k bits are all 1.

    Args:
        exponent: A number of at least 0 and at most `first`.
        first: First index of the series.
        randomness: Source of random bits.
    """
    k = first
    while randomness.sample_below(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


def _sum_exp_series(small: int, bits: int) -> Bracket:
    """Return lower and upper bounds of ``exp(-x)`` by its power series, valid for all x from `small` to ``small + 1``
    units.

    Rounding each term down costs less than 1.1 units. The omitted terms together, and the change of the exponential
    within the unit of `small`, are below 1 unit each.

    Args:
        small: Lower end of the range of x, in units of ``2**-bits``.
        bits: Binary digits after the point.
    """
    total = 0
    term = 1 << bits
    k = 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = term * small // (k << bits)
    return total - 2 * k - 2, total + 2 * k + 2


# Exact sampling from any distribution on 0, 1, 2, ... by inversion of a uniform number that is revealed bit by bit.
#
# Let ``F(i)`` be the probability of an outcome of at most i, and U uniform on [0, 1). The outcome is the i with
# ``F(i - 1) <= U < F(i)``. Only the first bits of U are drawn, so that ``word <= 2**bits * U < word + 1``; F is known
# by integers ``lower[i] <= 2**bits * F(i) <= upper[i]``. Outcome i is returned if
#
#     upper[i - 1] <= word   and   word + 1 <= lower[i],
#
# which proves ``F(i - 1) <= U < F(i)``. If no i is proven, both U and F are refined until one is: no rounding decides.
# All comparisons are between integers.


PREFIX_BITS = 16
"""Bits of a uniform number that are looked up in a table of 2**16 entries; usually they prove the outcome."""
WORD_BITS = 64
"""Bits of a uniform number that are used where its first `PREFIX_BITS` prove no outcome."""
LARGEST_WORD = (1 << WORD_BITS) - 1
"""Largest 64-bit word. It replaces the threshold 2**64, which does not fit into a word."""
REST_BITS = np.uint64(WORD_BITS - PREFIX_BITS)
"""Bits of a word behind its prefix, 48: words are shifted by them."""


class InvertedDistribution(Protocol):
    """Interface of a distribution on 0, 1, 2, ... whose weights can be bounded as tightly as needed.

    Probabilities are proportional to weights. Outcome 0 has positive weight.
    """

    def weights(self, bits: int) -> tuple[Sequence[Bracket], int]:
        """Return bounds of the weights of the first outcomes, and an upper bound of the sum of all other weights.

        All are integers in units of ``2**-bits``. As `bits` grows, the bounds converge and the sum of the others
        vanishes.

        Args:
            bits: Number of binary digits of the weights.

        Returns:
            Pairs of a lower and an upper bound, and the upper bound of the sum of others.
        """
        ...


def bound_cumulative(distribution: InvertedDistribution, bits: int) -> tuple[list[int], list[int]]:
    """Return lower and upper bounds of the distribution function F at each of the first outcomes, in units of
    ``2**-bits``.

    Args:
        distribution: Distribution with bounded weights.
        bits: Number of binary digits of the result.
    """
    weights, others = distribution.weights(bits + 32)  # guard bits, so that bounds of F are tight
    lower = list(accumulate(low for low, _ in weights))
    upper = list(accumulate(high for _, high in weights))
    low = lower[-1]
    high = upper[-1] + others
    return [(sum_ << bits) // high for sum_ in lower], [-((-sum_ << bits) // low) for sum_ in upper]


def sample_by_inversion(distribution: InvertedDistribution, randomness: Randomness) -> int:
    """Sample one outcome of a distribution, exactly, with as many random words as its inversion needs.

    Args:
        distribution: Distribution whose cumulative function can be bounded to any precision.
        randomness: Source of random bits.

    Returns:
        Index of the outcome.
    """
    return refine_until_proven(distribution, int(randomness.sample_words(1)[0]), WORD_BITS, randomness)


def refine_until_proven(distribution: InvertedDistribution, word: int, bits: int, randomness: Randomness) -> int:
    """Return the outcome for a uniform number that is known by its first binary digits; sample more digits until they
    prove it.

    Args:
        distribution: The distribution, by bounds of its weights.
        word: The first `bits` binary digits of the uniform number.
        bits: Number of binary digits in `word`.
        randomness: Source of random bits.
    """
    while (outcome := _find_proven_outcome(distribution, word, bits)) is None:
        word = word << WORD_BITS | int(randomness.sample_words(1)[0])
        bits = bits + WORD_BITS
    return outcome


def _find_proven_outcome(distribution: InvertedDistribution, word: int, bits: int) -> int | None:
    """Return the outcome that the first `bits` digits of a uniform number prove; None if the bounds of the distribution
    function leave it open.

    Args:
        distribution: Distribution whose cumulative function can be bounded to any precision.
        word: The known digits, as an integer below ``2**bits``.
        bits: Number of known binary digits.

    Returns:
        Index of the outcome, or None.
    """
    lower, upper = bound_cumulative(distribution, bits)
    outcome = bisect_right(upper, word)
    return outcome if outcome < len(lower) and word < lower[outcome] else None


class InversionTable:
    """Table for many samples from one distribution, for fewer than 2**15 outcomes.

    A sample begins with 16 bits. Usually they prove an outcome, which is looked up. Other samples get 48 more bits, and
    the thresholds of 64 bits are searched. Undecided samples, about one in 2**50, go to `refine_until_proven`.
    """

    __slots__ = ("_by_prefix", "_distribution", "_lower", "_upper")

    def __init__(self, distribution: InvertedDistribution) -> None:
        """Precompute the thresholds of the outcomes, as 64-bit words, for fast sampling by inversion.

        Args:
            distribution: The distribution, by bounds of its weights.
        """
        lower, upper = bound_cumulative(distribution, WORD_BITS)
        # 2**64 does not fit into a word. TOP replaces it, and a word that equals TOP goes to `refine_until_proven`.
        self._lower = np.array([*(min(bound, LARGEST_WORD) for bound in lower), 0], dtype=np.uint64)
        self._upper = np.array([min(bound, LARGEST_WORD) for bound in upper], dtype=np.uint64)
        self._distribution = distribution
        # The outcome that each prefix of 16 bits proves, (2**16,); -1 if it proves none.
        first = np.arange(1 << PREFIX_BITS, dtype=np.uint64) << REST_BITS
        last = first | np.uint64((1 << WORD_BITS - PREFIX_BITS) - 1)
        outcomes = self._upper.searchsorted(first, side="right")
        self._by_prefix = np.where(last < self._lower[outcomes], outcomes, -1).astype(np.int16)

    @property
    def outcomes(self) -> int:
        """Number of outcomes that have a threshold in the table; all others together have a probability far below
        ``2**-64``.
        """
        return self._upper.size

    def sample(self, size: int, randomness: Randomness) -> NDArray[np.int64]:
        """Sample `size` independent outcomes, exactly; an array of shape ``(size,)``.

        Args:
            size: Number of samples.
            randomness: Source of random bits.
        """
        prefixes = randomness.sample_halfwords(size)
        proven = self._by_prefix.take(prefixes, mode="wrap")
        undecided = np.flatnonzero(proven < 0)
        outcomes = proven.astype(np.int64)
        low_bits = randomness.sample_words(undecided.size) >> np.uint64(PREFIX_BITS)
        words = prefixes[undecided].astype(np.uint64) << REST_BITS | low_bits
        outcomes[undecided] = self.look_up(words, randomness)
        return outcomes

    def look_up(self, words: NDArray[np.uint64], randomness: Randomness) -> NDArray[np.int64]:
        """Return the outcomes for uniform numbers whose first 64 binary digits are `words`.

        Args:
            words: Random words of 64 bits, of any shape ``(n,)``.
            randomness: Source of further digits, for words that do not prove an outcome.

        Returns:
            Index of an outcome for each word, of shape ``(n,)``.
        """
        outcomes = self._upper.searchsorted(words, side="right")
        for index in np.flatnonzero(words >= self._lower[outcomes]):
            outcomes[index] = refine_until_proven(self._distribution, int(words[index]), WORD_BITS, randomness)
        return outcomes


Penalties = NDArray[np.int64] | Sequence[int]


def sample_exponential_mechanism(penalties: Penalties, rate: Fraction, randomness: Randomness) -> int:
    """Sample the index i of one candidate, with probability proportional to ``exp(-rate * penalties[i])``.

    Formal guarantees: the distribution is exact, no floating point is used, and no rounding decides. If a penalty
    changes by at most ``s`` between neighbours, the choice is (2 * rate * s)-DP, and (rate * s)-DP if all penalties
    change in the same direction (McSherry and Talwar 2007).

    *Method*: candidates are binned by penalty (ties together), in bins of a width of at most ``1 / (2 * rate)``, or of
    1; the last bin is unbounded. A bin is sampled by inversion, with the weight of its lowest penalty times the number
    of its candidates. One of its candidates is sampled uniformly, and accepted with probability
    ``exp(-rate * excess)``, with the excess of its penalty over the lowest one; otherwise everything is sampled again.
    So a candidate is chosen with probability proportional to its own weight.

    Args:
        penalties: SECRET: no error shows them. One 64-bit integer per candidate.
        rate: Weight of a unit of penalty in the exponent, at least 0; 0 makes the choice uniform.
        randomness: Source of random bits.

    Raises:
        ValueError: there is no candidate, or `rate` is below zero.

    >>> sample_exponential_mechanism([9, 0, 9], Fraction(5), Randomness.from_seed(0))
    1
    """
    bins = _bin_penalties(_subtract_least(penalties), require_nonnegative_fraction("rate", rate))
    while True:
        candidate, excess = bins.propose(randomness)
        if sample_bernoulli_exp(bins.rate * excess, randomness):
            return candidate


def selection_probabilities(penalties: Penalties, rate: Fraction) -> NDArray[np.float64]:
    """Return the probability of each candidate of `sample_exponential_mechanism`, with relative accuracy 1e-12.

    Args:
        penalties: One integer per candidate.
        rate: Weight of a unit of penalty in the exponent, at least 0.

    Returns:
        Numbers that add up to 1, of shape ``(candidates,)``.

    >>> selection_probabilities([0, 1, 0], Fraction(0))
    array([0.33333333, 0.33333333, 0.33333333])
    """
    rate_float = float(min(require_nonnegative_fraction("rate", rate), Fraction(2**60)))
    weights: NDArray[np.float64] = np.exp(-rate_float * _subtract_least(penalties).astype(np.float64))
    return weights / float(weights.sum())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SelectionBins:
    """SECRET. Candidates of the exponential mechanism, binned by penalty. It has no repr.

    Bin b begins ``b * 2**bits`` above the least penalty.

    Attributes:
        rate: Weight of a unit of penalty in the exponent.
        bits: A bin holds ``2**bits`` different penalties; the last bin is unbounded.
        distances: Penalty of each candidate minus the least penalty.
        bin_numbers: Bin of each candidate.
        counts: Number of candidates in each bin.
    """

    rate: Fraction
    bits: int
    distances: NDArray[np.uint64]
    bin_numbers: NDArray[np.int64]
    counts: list[int]

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """Return bounds of the weight of each bin, for sampling by inversion, and 0, because there are no other
        outcomes.

        The weight of a bin is the weight of its lowest penalty, times its number of candidates.

        Args:
            bits: Number of binary digits of the weights.
        """
        lowest = geometric_terms(
            one_bracket(bits), bound_exp_neg(self.rate * 2**self.bits, bits), len(self.counts), bits
        )
        return [(count * low, count * high) for count, (low, high) in zip(self.counts, lowest, strict=True)], 0

    def propose(self, randomness: Randomness) -> tuple[int, int]:
        """SECRET: propose a candidate for rejection sampling; return its index, and the excess of its penalty over the
        lowest one of its bin.

        Args:
            randomness: Source of random bits.
        """
        bin_ = sample_by_inversion(self, randomness)
        members = np.flatnonzero(self.bin_numbers == bin_)
        candidate = int(members[randomness.sample_below(members.size)])
        return candidate, int(self.distances[candidate]) - (bin_ << self.bits)


def _subtract_least(penalties: Penalties) -> NDArray[np.uint64]:
    """SECRET: return each penalty minus the least one, as unsigned 64-bit integers, which cannot overflow.

    Args:
        penalties: SECRET. One integer per candidate.

    Raises:
        ValueError: the penalties are not a row of integers.
    """
    integers = np.asarray(penalties)
    if integers.ndim != 1 or integers.size == 0 or not np.can_cast(integers.dtype, np.int64):
        raise InvalidArgument("penalties", "a row of at least one integer of 64 bits is needed")
    signed = integers.astype(np.int64)
    modular = signed.view(np.uint64)  # differences of any two cannot overflow
    smallest: np.uint64 = modular[signed.argmin()]
    return modular - smallest


def _bin_penalties(distances: NDArray[np.uint64], rate: Fraction) -> SelectionBins:
    """SECRET: bin candidates by penalty; a bin is at most ``1 / (2 * rate)`` wide, or holds a single penalty.

    Args:
        distances: Penalty of each candidate minus the least penalty.
        rate: Weight of a unit of penalty in the exponent; 0: all candidates have equal weight.
    """
    bits = 63 if rate == 0 else min(63, max(0, int(1 / (2 * rate)).bit_length() - 1))
    binned = np.minimum(distances >> np.uint64(bits), np.uint64(256)).astype(np.int64)  # bin 256 holds all larger ones
    return SelectionBins(rate, bits, distances, binned, np.bincount(binned).tolist())


DIGIT_BITS = 11
"""Bits of a digit of a penalty: its table of weights has 2**11 entries. The weight of a penalty is the product of its
digits' weights."""
PENALTY_DIGITS = 3
"""Digits. Number of digits of a penalty of 32 bits, each with a table of weights."""
POWER_BITS = 192
"""Bits of powers of exp(-rate) before they are rounded to 53 bits: so many that their errors, which grow with each
squaring, stay below that rounding."""
LEAST_PRIOR = 2.0**-64
"""Ratio. Least prior weight of an interval; a smaller one is refused."""

Penalty = NDArray[np.uint32]
Scaled = tuple[int, int]
"""An integer, and the exponent of the power of two that it is multiplied with."""


def sample_partition(penalties: Penalty, rate: Fraction, prior: float, randomness: Randomness) -> NDArray[np.int64]:
    """Sample a partition of the positions 0, ..., n - 1 into intervals of 1, 2, 4, ... positions.

    The probability of a partition is proportional to the product of the weights of its intervals,
    ``prior * exp(-rate * penalty)`` each, up to rounding: see `bound_partition_log_error` and `WEIGHT_ERROR`.

    Formal guarantees: `PartitionDistribution` states the sampled distribution in fractions, and it is sampled exactly.
    If a sample is close to the border between two outcomes, both are refined until the side is proven.

    Args:
        penalties: SECRET. Of shape ``(lengths, n + 1)``: entry i of row k is for the interval of the ``2**k`` positions
            before i. Entries without that many positions are ignored.
        rate: Weight of a unit of penalty in the exponent, at least 0.
        prior: Weight of an interval without a penalty: at least 2**-64 and at most 1.
        randomness: Source of random bits.

    Returns:
        The first positions of the intervals, increasing.

    Raises:
        ValueError: `rate` is below zero, or `prior` is out of range.

    >>> penalties = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 9, 0], [0, 0, 0, 0, 9]], dtype=np.uint32)
    >>> sample_partition(penalties, Fraction(9), 2.0**-9, Randomness.from_seed(1))
    array([0, 2])
    """
    return PartitionDistribution.from_penalties(penalties, rate, prior).sample(randomness)


def bound_partition_log_error(places: int, lengths: int) -> Fraction:
    """Return a bound of the rounding error of the logarithm of a partition's probability, up to a constant.

    The exact value is the product of the weights of the intervals. A probability is a product of at most n conditional
    probabilities ``term / A``, where A is the exact sum of the terms. A term is a weight times an earlier sum, rounded
    once. The stored sum is A, rounded less than once per length. From factor to factor these sums cancel, except the
    last one, which is the constant. So at most ``lengths`` relative roundings of ``2**-53`` remain per position. (The
    bound is more than twice that.)

    Args:
        places: Number of positions.
        lengths: Number of different lengths of intervals.
    """
    return Fraction(places * (lengths + 2), 2**52)


WEIGHT_ERROR = Fraction(8, 2**52)
"""Natural-log units. Largest error of the logarithm of a weight: three factors of 53 bits and three products have
relative rounding errors of ``2**-53`` each.
"""


class PartitionWeights(NamedTuple):
    """SECRET. Weights of all partitions of the first i positions, for each i.

    They add up to ``mantissas[i] * 2.0**exponents[i]``, which has a far larger range than floating point.

    Attributes:
        penalties: Penalty of each interval, of shape ``(lengths, n + 1)``; see `sample_partition`.
        weights: Mantissas of the weight of each digit of a penalty, of shape ``(digits, values)``.
        weight_exponents: Powers of two of these weights.
        prior: Weight of an interval without a penalty.
        mantissas: Numbers from 1/2 to 1, of shape ``(n + 1,)``.
        exponents: Powers of two, of shape ``(n + 1,)``.
    """

    penalties: Penalty
    weights: FloatArray
    weight_exponents: IntArray
    prior: float
    mantissas: FloatArray
    exponents: IntArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PartitionDistribution:
    """SECRET. Distribution of a random partition, sampled from its last interval to its first.

    Given the end of an interval, its length has a probability proportional to `last_interval_weight`.
    """

    sums: PartitionWeights

    @classmethod
    def from_penalties(cls, penalties: Penalty, rate: Fraction, prior: float) -> PartitionDistribution:
        """Return the distribution of `sample_partition`, after summing the weights of all partitions of the first
        positions.

        Args:
            penalties: SECRET. Penalty of each interval, of shape ``(lengths, n + 1)``, as for `sample_partition`.
            rate: Weight of a unit of penalty in the exponent, at least 0.
            prior: Weight of an interval without a penalty: at least 2**-64 and at most 1.

        Raises:
            ValueError: `rate` is below zero, or `prior` is out of range.
        """
        if not LEAST_PRIOR <= prior <= 1:
            raise InvalidArgument("prior", f"must be a probability from {LEAST_PRIOR} to 1, got {prior}")
        places = penalties.shape[1] - 1
        weights, powers = _digit_weights(require_nonnegative_fraction("rate", rate))
        sums = PartitionWeights(
            penalties, weights, powers, prior, np.ones(places + 1), np.zeros(places + 1, dtype=np.int64)
        )
        _sum_partitions(sums)
        return cls(sums)

    def last_interval_weight(self, power: int, length: int) -> Scaled:
        """Return the weight of all partitions of the first `length` positions whose last interval has ``2**power``
        positions.

        The weight is rounded to 53 bits, and returned as an integer and a power of two.

        Args:
            power: Logarithm to base 2 of the length of the last interval.
            length: Number of positions.
        """
        sums = self.sums
        mantissa = self.sums.prior
        scale = 0
        for number, digit in enumerate(_split_digits(int(sums.penalties[power, length]))):
            mantissa *= float(sums.weights[number, digit])
            scale += int(sums.weight_exponents[number, digit])
        before = length - (1 << power)
        mantissa, shift = frexp(mantissa * float(sums.mantissas[before]))
        return int(mantissa * 2**53), shift - 53 + scale + int(sums.exponents[before])

    def last_interval_weights(self, length: int) -> list[Scaled]:
        """Return the weights of all partitions of the first `length` positions, by the size 1, 2, 4, ... of the last
        interval.

        Args:
            length: Number of positions.

        Returns:
            One weight per length that fits, each as an integer and a power of two.
        """
        return [
            self.last_interval_weight(power, length)
            for power in range(min(len(self.sums.penalties), length.bit_length()))
        ]

    def sample(self, randomness: Randomness) -> NDArray[np.int64]:
        """Return a random partition of the positions into intervals, with probability proportional to its weight.

        Args:
            randomness: Source of random bits.

        Returns:
            First positions of the intervals, increasing; the first one is 0.
        """
        first = np.zeros(len(self.sums.mantissas), dtype=np.int64)
        end = len(self.sums.mantissas) - 1
        count = 0
        while end:
            words = randomness.sample_words(min(4096, end))  # words drawn at once
            end, count, used = _sample_backwards(self.sums, words, end, first, count)
            if end and used < len(words):
                last_interval = LastIntervalDistribution(self.last_interval_weights(end))
                end -= 1 << refine_until_proven(last_interval, int(words[used]), WORD_BITS, randomness)
                first[count] = end
                count += 1
        return first[:count][::-1].copy()


@dataclass(frozen=True, slots=True, repr=False)
class LastIntervalDistribution:
    """SECRET. Distribution of the length of the last interval: outcome k has the weight ``terms[k]``, of 53 bits."""

    terms: list[Scaled]

    def weights(self, bits: int) -> tuple[Sequence[Bracket], int]:
        """Return bounds of the probability weights of the last interval's lengths, relative to the largest, for
        sampling by inversion.

        A ratio of mantissas is below 2. If the power of two alone is at most ``2**(-bits - 1)``, 0 and 1 are bounds.

        Args:
            bits: Number of binary digits of the weights.

        Returns:
            Bounds in units of ``2**-bits``, and 0, because there are no other outcomes.
        """
        scale, largest = max((scale, mantissa) for mantissa, scale in self.terms)
        brackets = []
        for mantissa, exponent in self.terms:
            below = scale - exponent
            top, bottom = (mantissa << bits, largest << below) if below <= bits else (1, 2)  # powers may have 38 bits
            brackets.append((top // bottom, -(-top // bottom)))
        return brackets, 0


def _split_digits(penalty: int) -> list[int]:
    """Return the three digits of 11 bits of a 32-bit penalty, the lowest first.

    Args:
        penalty: Integer from 0 to below ``2**32``.
    """
    return [penalty >> DIGIT_BITS * number & (1 << DIGIT_BITS) - 1 for number in range(PENALTY_DIGITS)]


@lru_cache(maxsize=64)  # a pure function of a public number
def _digit_weights(rate: Fraction) -> tuple[FloatArray, IntArray]:
    """Return ``exp(-rate * digit)`` for all values of each base-2048 digit of a penalty, with 53 bits.

    The initial relative error of at most ``2**-190`` doubles with each squaring and adds up along a row.

    Args:
        rate: Natural logarithms per unit of penalty; above 64 it counts as 64.

    Returns:
        Mantissas and exponents, (digits, 2048) each, read-only; a weight is ``mantissa * 2.0**exponent``.
    """
    mantissas = np.empty((PENALTY_DIGITS, 1 << DIGIT_BITS))
    exponents = np.empty((PENALTY_DIGITS, 1 << DIGIT_BITS), dtype=np.int64)
    # Rates above 64 natural-log units per unit of penalty count as 64: a weight below exp(-64) times another one never
    # matters
    base = _normalise(bound_exp_neg(min(rate, Fraction(64)), 2 * POWER_BITS)[0], -2 * POWER_BITS)
    for number in range(PENALTY_DIGITS):
        power = _normalise(1, 0)
        for digit in range(1 << DIGIT_BITS):
            mantissas[number, digit], exponents[number, digit] = power[0] / (1 << POWER_BITS), power[1] + POWER_BITS
            power = _normalise(power[0] * base[0], power[1] + base[1])
        base = power
    mantissas.flags.writeable = exponents.flags.writeable = False
    return mantissas, exponents


def _normalise(mantissa: int, scale: int) -> Scaled:
    """Return ``mantissa * 2**scale`` in normal form, with a mantissa of exactly `POWER_BITS` bits, rounded down.

    Args:
        mantissa: Positive integer.
        scale: Power of two that the integer is multiplied by.

    Returns:
        The new integer, and the new power of two.
    """
    excess = mantissa.bit_length() - POWER_BITS
    return (mantissa >> excess if excess > 0 else mantissa << -excess), scale + excess


@compile_loop
def _sum_partitions(sums: PartitionWeights) -> None:
    """Compute, in place, the sums of the weights of all partitions of the first 1, 2, ... positions, rescaled at
    each step.

    Args:
        sums: Penalties of intervals whose length is a power of two, tables of weights, and the arrays for the sums,
            which are changed: ``mantissas[n] * 2.0**mantissa_exponents[n]`` is the sum for the first n positions.
    """
    penalties, weights, powers, prior, mantissas, mantissa_exponents = sums
    terms = np.empty(len(penalties))
    exponents = np.empty(len(penalties), dtype=np.int64)
    for position in range(1, len(mantissas)):
        count, power = 0, 0
        while power < len(penalties) and (1 << power) <= position:
            penalty = np.int64(penalties[power, position])
            before = position - (1 << power)
            low = penalty & 2047
            middle = penalty >> 11 & 2047
            high = penalty >> 22
            weight = prior * weights[0, low] * weights[1, middle] * weights[2, high]
            terms[count] = weight * mantissas[before]
            exponents[count] = powers[0, low] + powers[1, middle] + powers[2, high] + mantissa_exponents[before]
            count = count + 1
            power = power + 1
        top = exponents[:count].max()
        total = 0.0
        for k in range(count):
            if exponents[k] > top - 900:
                total += terms[k] * 2.0 ** (exponents[k] - top)
        while total < 0.5:  # a power of two is no rounding
            total = total * 2
            top = top - 1
        while total >= 1:
            total = total / 2
            top = top + 1
        mantissas[position], mantissa_exponents[position] = total, top


@compile_loop
def _sample_backwards(
    sums: PartitionWeights, words: NDArray[np.uint64], position: int, first: IntArray, count: int
) -> tuple[int, int, int]:
    """Sample intervals from the end of the positions, as long as one random word proves each of them.

    All sums here have relative errors below ``2**-46``, so a draw that is ``2**-40`` of the total from a border is
    proven.

    Args:
        sums: SECRET. Weights of all partitions of the first positions.
        words: Random words of 64 bits, of which each decides one interval.
        position: Number of positions that have no interval yet.
        first: Array of the starts of intervals, from the last interval to the first. New starts are written into it.
        count: Number of starts that it holds already.

    Returns:
        The position that is left, the number of intervals in `first`, and the number of words used.
    """
    penalties, weights, powers, prior, mantissas, mantissa_exponents = sums
    terms = np.empty(len(penalties))
    exponents = np.empty(len(penalties), dtype=np.int64)
    for used in range(len(words)):
        if position == 0:
            return position, count, used

        # The last interval has a length that is a power of two: the weight of each length, up to a common factor.
        number, power = 0, 0
        while power < len(penalties) and (1 << power) <= position:
            penalty = np.int64(penalties[power, position])
            before = position - (1 << power)
            low = penalty & 2047
            middle = penalty >> 11 & 2047
            high = penalty >> 22
            weight = prior * weights[0, low] * weights[1, middle] * weights[2, high]
            terms[number] = weight * mantissas[before]
            exponents[number] = powers[0, low] + powers[1, middle] + powers[2, high] + mantissa_exponents[before]
            number = number + 1
            power = power + 1

        # Weights are scaled by the largest: terms below 2**-900 of it are 0 within the stated error.
        top = exponents[:number].max()
        total = 0.0
        for k in range(number):
            terms[k] = terms[k] * 2.0 ** (exponents[k] - top) if exponents[k] > top - 900 else 0.0
            total += terms[k]

        # A draw too near a border is left to exact arithmetic.
        draw = words[used] / 2.0**64 * total
        below = 0.0
        sampled_power = -1
        for k in range(number):
            border = below + terms[k]
            if draw < border - 2.0**-40 * total and sampled_power < 0:
                if draw > below + 2.0**-40 * total or k == 0:
                    sampled_power = k
                break
            below = border
        if sampled_power < 0:
            return position, count, used

        position -= 1 << sampled_power
        first[count] = position
        count += 1
    return position, count, len(words)
