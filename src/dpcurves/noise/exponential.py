"""Proven bounds of exp(-x), exact samples by inversion, and the exponential mechanism."""

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

# The number exp(-x), for rational x: proven bounds in whole numbers, and coins that show it exactly.


GUARD = 24
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**20), Fraction(64)
"""The largest loss of one answer of a person, or of a pair."""
PRECISE = 256

Bracket = tuple[int, int]
"""Two whole numbers, in units of ``2**-bits``; the number that is meant lies between them or on them."""


def one_bracket(bits: int) -> Bracket:
    """The number 1."""
    return 1 << bits, 1 << bits


def multiply_brackets(left: Bracket, right: Bracket, bits: int) -> Bracket:
    """The product of two numbers that are not negative, rounded outwards."""
    return left[0] * right[0] >> bits, (left[1] * right[1] >> bits) + 1


def bound_exp_neg(exponent: Fraction, bits: int) -> Bracket:
    """``exp(-exponent)``, for an exponent of at least 0.

    The exponent is halved until it is below 2**-8, the power series is summed, and the sum is squared as often, all
    rounded outwards. The sum is known to ``bits / 4 + 10`` fine units, and squaring magnifies that by less than
    2**10, so the guard bits hold it: up to 10,000 bits the bounds differ by 2 at most.

    >>> lower, upper = bound_exp_neg(Fraction(1), 64)
    >>> lower / 2**64, upper - lower <= 2
    (0.36787944117144233, True)
    """
    if exponent >= bits:  # exp(-bits) is below 2**-bits
        return 0, 1
    fine = bits + GUARD
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 9)
    bounds = _sum_exp_series((exponent.numerator << fine) // (exponent.denominator << halvings), fine)
    for _ in range(halvings):
        bounds = multiply_brackets(bounds, bounds, fine)
    return bounds[0] >> GUARD, (bounds[1] >> GUARD) + 1


def bound_exp_neg_above(epsilon: Fraction) -> Fraction:
    """A number that is not below ``exp(-epsilon)``, by less than ``2**-250``."""
    return Fraction(bound_exp_neg(epsilon, PRECISE)[1], 1 << PRECISE)


def geometric_terms(first: Bracket, ratio: Bracket, count: int, bits: int) -> list[Bracket]:
    """The first `count` members of a geometric series."""
    return list(
        accumulate(repeat(ratio, count - 1), lambda member, step: multiply_brackets(member, step, bits), initial=first)
    )


def bound_geometric_sum(first: Bracket, ratio: Bracket, bits: int) -> int:
    """An upper bound on the sum of a geometric series without end, of a ratio below 1."""
    return (first[1] << bits) // ((1 << bits) - ratio[1]) + 1


def sample_bernoulli_exp(exponent: Fraction, randomness: Randomness) -> bool:
    """True with probability exactly ``exp(-exponent)`` (Canonne, Kamath and Steinke 2020, Algorithm 1)."""
    while exponent > 1:
        if not sample_alternating_series(Fraction(1), 1, randomness):
            return False
        exponent -= 1
    return sample_alternating_series(exponent, 1, randomness)


def sample_alternating_series(exponent: Fraction, first: int, randomness: Randomness) -> bool:
    """Flip coins that show heads with probability ``exponent / k``, k = `first`, ...: is the first tail at an odd k?

    From ``first = 1`` on, and for exponents in [0, 1], that has probability ``exp(-exponent)``: the alternating sum
    of the probabilities ``exponent**k / k!`` that the first k coins are heads.
    """
    k = first
    while randomness.sample_below(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


def _sum_exp_series(small: int, bits: int) -> Bracket:
    """Enclose ``exp(-x)`` for all x from `small` to `small` + 1 units.

    Each term is rounded down, which costs less than 1.1 units, the terms left out are together below 1 unit, and so
    is the change of the exponential within the unit of `small`.
    """
    total, term, k = 0, 1 << bits, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = term * small // (k << bits)
    return total - 2 * k - 2, total + 2 * k + 2


# Exact draws from any law on 0, 1, 2, ... by inversion of a uniform number that is revealed bit by bit.
#
# Let ``F(i)`` be the probability of an outcome of at most i, and U uniform on [0, 1). The outcome is the i with
# ``F(i - 1) <= U < F(i)``. Of U only the first bits are drawn, so that ``word <= 2**bits * U < word + 1``; of F only
# whole numbers ``lower[i] <= 2**bits * F(i) <= upper[i]`` are known. Outcome i is given where
#
#     upper[i - 1] <= word   and   word + 1 <= lower[i],
#
# which proves ``F(i - 1) <= U < F(i)``. Where no i is proven, both U and F are refined, until one is: no rounding ever
# decides. All comparisons are between integers.


GUARD_BITS = 32
PREFIX = 16
WORD = 64
TOP = (1 << WORD) - 1
REST = np.uint64(WORD - PREFIX)


class InvertedLaw(Protocol):
    """Probabilities proportional to weights, which are known as closely as one asks. Outcome 0 weighs something."""

    def weights(self, bits: int) -> tuple[Sequence[Bracket], int]:
        """The weights of the first outcomes, and an upper bound on the sum of all others, in units of ``2**-bits``.

        The bounds meet, and the sum of the others vanishes, as `bits` grows.
        """
        ...


def bound_cumulative(law: InvertedLaw, bits: int) -> tuple[list[int], list[int]]:
    """Bounds on ``2**bits * F(i)``, from below and from above."""
    weights, others = law.weights(bits + GUARD_BITS)
    lower = list(accumulate(least for least, _ in weights))
    upper = list(accumulate(most for _, most in weights))
    least, most = lower[-1], upper[-1] + others
    return [(sum_ << bits) // most for sum_ in lower], [-((-sum_ << bits) // least) for sum_ in upper]


def sample_by_inversion(law: InvertedLaw, randomness: Randomness) -> int:
    """Draw an outcome."""
    return refine_until_proven(law, int(randomness.sample_words(1)[0]), WORD, randomness)


def refine_until_proven(law: InvertedLaw, word: int, bits: int, randomness: Randomness) -> int:
    """The outcome for a uniform number whose first `bits` binary places are `word`; further places are drawn."""
    while (outcome := _find_proven_outcome(law, word, bits)) is None:
        word, bits = word << WORD | int(randomness.sample_words(1)[0]), bits + WORD
    return outcome


def _find_proven_outcome(law: InvertedLaw, word: int, bits: int) -> int | None:
    lower, upper = bound_cumulative(law, bits)
    outcome = bisect_right(upper, word)
    return outcome if outcome < len(lower) and word < lower[outcome] else None


class InversionTable:
    """Many draws from one law. Its thresholds are worked out once, to 64 bits; fewer than 2**15 outcomes have one.

    A draw begins with 16 bits. Most often they prove an outcome, which is then looked up; the others get 48 bits
    more, and are searched; what is still open, once in about 2**50 draws, goes to `refine_until_proven`.
    """

    __slots__ = ("_by_prefix", "_law", "_lower", "_upper")

    def __init__(self, law: InvertedLaw) -> None:
        lower, upper = bound_cumulative(law, WORD)
        # 2**64 has no place in a word. With TOP in its stead, a word that equals TOP goes to `refine_until_proven`.
        self._lower = np.array([*(min(bound, TOP) for bound in lower), 0], dtype=np.uint64)
        self._upper = np.array([min(bound, TOP) for bound in upper], dtype=np.uint64)
        self._law = law
        self._by_prefix = self._build_prefix_table()

    @property
    def outcomes(self) -> int:
        """The number of outcomes with a threshold; others are far rarer than ``2**-64``."""
        return self._upper.size

    def sample(self, size: int, randomness: Randomness) -> NDArray[np.int64]:
        """Independent outcomes."""
        prefixes = randomness.sample_halfwords(size)
        proven = self._by_prefix.take(prefixes, mode="wrap")
        opened = np.flatnonzero(proven < 0)
        outcomes = proven.astype(np.int64)
        words = prefixes[opened].astype(np.uint64) << REST | randomness.sample_words(opened.size) >> np.uint64(PREFIX)
        outcomes[opened] = self.look_up(words, randomness)
        return outcomes

    def look_up(self, words: NDArray[np.uint64], randomness: Randomness) -> NDArray[np.int64]:
        """The outcomes for uniform numbers whose first 64 binary places are `words`."""
        outcomes = self._upper.searchsorted(words, side="right")
        for place in np.flatnonzero(words >= self._lower[outcomes]):
            outcomes[place] = refine_until_proven(self._law, int(words[place]), WORD, randomness)
        return outcomes

    def _build_prefix_table(self) -> NDArray[np.int16]:
        first = np.arange(1 << PREFIX, dtype=np.uint64) << REST
        last = first | np.uint64((1 << WORD - PREFIX) - 1)
        outcomes = self._upper.searchsorted(first, side="right")
        return np.where(last < self._lower[outcomes], outcomes, -1).astype(np.int16)


LAST_BIN = 256  # bins are at least 1 / (4 * rate) wide, so a candidate in the last one has a weight below exp(-64)

Penalties = NDArray[np.int64] | Sequence[int]


def sample_exponential_mechanism(penalties: Penalties, rate: Fraction, randomness: Randomness) -> int:
    """The number of one candidate, i with probability proportional to ``exp(-rate * penalties[i])``.

    Formal guarantees: the law is exact, no floating point is used, and no rounding decides. Candidates are binned by
    penalty (ties together), in bins of a width of at most ``1 / (2 * rate)``, or of 1; the last has no end. A bin
    is drawn by `inversion`, with the weight of its lowest penalty times the number of its candidates, then one of
    these uniformly, which is kept with probability ``exp(-rate * excess)`` for what its penalty exceeds the lowest;
    else all is drawn anew. So a candidate is chosen with probability proportional to its own weight.
    Where a penalty moves by at most ``s`` between neighbours, the choice costs epsilon ``2 * rate * s``, and half of
    that where all penalties move the same way (McSherry and Talwar 2007).

    Args:
        penalties: One 64-bit integer for each candidate. SECRET: no error shows them.
        rate: How much a unit of penalty counts; 0 makes the choice uniform.
        randomness: Where the choice comes from.

    Raises:
        ValueError: there is no candidate, or `rate` is below zero.

    >>> sample_exponential_mechanism([9, 0, 9], Fraction(5), Randomness.from_seed(0))
    1
    """
    bins = _bin_penalties(_subtract_least(penalties), require_nonnegative_fraction("rate", rate))
    while True:
        which, excess = bins.propose(randomness)
        if sample_bernoulli_exp(bins.rate * excess, randomness):
            return which


def selection_probabilities(penalties: Penalties, rate: Fraction) -> NDArray[np.float64]:
    """The law of `sample_exponential_mechanism`, one number for each candidate, to a relative accuracy of 1e-12.

    >>> selection_probabilities([0, 1, 0], Fraction(0))
    array([0.33333333, 0.33333333, 0.33333333])
    """
    steep = float(min(require_nonnegative_fraction("rate", rate), Fraction(2**60)))
    weights: NDArray[np.float64] = np.exp(-steep * _subtract_least(penalties).astype(np.float64))
    return weights / float(weights.sum())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SelectionBins:
    """Candidates by penalty. Bin b has the penalties from ``b * 2**bits`` above the least on.

    SECRET, as the penalties are: so it has no repr.
    """

    rate: Fraction
    bits: int
    distances: NDArray[np.uint64]
    bin_numbers: NDArray[np.int64]
    counts: list[int]

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """The weights of all bins; there are no others."""
        lowest = geometric_terms(
            one_bracket(bits), bound_exp_neg(self.rate * 2**self.bits, bits), len(self.counts), bits
        )
        return [(count * low, count * high) for count, (low, high) in zip(self.counts, lowest, strict=True)], 0

    def propose(self, randomness: Randomness) -> tuple[int, int]:
        """A candidate, and by how much its penalty exceeds the lowest of its bin."""
        bin_ = sample_by_inversion(self, randomness)
        members = np.flatnonzero(self.bin_numbers == bin_)
        which = int(members[randomness.sample_below(members.size)])
        return which, int(self.distances[which]) - (bin_ << self.bits)


def _subtract_least(penalties: Penalties) -> NDArray[np.uint64]:
    given = np.asarray(penalties)
    if given.ndim != 1 or given.size == 0 or not np.can_cast(given.dtype, np.int64):
        raise InvalidArgument("penalties", "a row of at least one integer of 64 bits is needed")
    whole = given.astype(np.int64)
    modular = whole.view(np.uint64)  # where a difference of any two cannot overflow
    least: np.uint64 = modular[whole.argmin()]
    return modular - least


def _bin_penalties(distances: NDArray[np.uint64], rate: Fraction) -> SelectionBins:
    bits = 63 if rate == 0 else min(63, max(0, int(1 / (2 * rate)).bit_length() - 1))
    binned = np.minimum(distances >> np.uint64(bits), np.uint64(LAST_BIN)).astype(np.int64)
    return SelectionBins(rate, bits, distances, binned, np.bincount(binned).tolist())


DIGIT = 11
DIGITS = 3
FINE = 192
EXACT = 53
"""Bits of a floating point number."""
STEEPEST = Fraction(64)
"""Penalties count at most so much: what weighs ``exp(-64)`` less is never seen."""
LEAST_PRIOR = 2.0**-64
DRAWN_AT_ONCE = 4096

Penalty = NDArray[np.uint32]
Scaled = tuple[int, int]
"""A whole number, and the power of two that it is multiplied with."""


def sample_partition(penalties: Penalty, rate: Fraction, prior: float, randomness: Randomness) -> NDArray[np.int64]:
    """The first places of the intervals of one partition of the places 0, ..., n - 1.

    Intervals have 1, 2, 4, ... places. A partition has a chance proportional to the product of the weights of its
    intervals, ``prior * exp(-rate * penalty)`` each, but for rounding: see `bound_partition_log_error` and `WEIGHT_ERROR`.

    Formal guarantees: `PartitionLaw` says which law is drawn from, in fractions, and that law is drawn from exactly: where a
    draw comes close to the border between two outcomes, both are refined until it is proven on which side it is.

    Args:
        penalties: SECRET. Of shape ``(lengths, n + 1)``: in row k, at i, that of the interval of the ``2**k`` places
            before i. Where there are not so many it does not matter.
        rate: How much a unit of penalty counts.
        prior: The weight of an interval without a penalty: above 0 and at most 1.
        randomness: Where the choice comes from.

    Raises:
        ValueError: `rate` is below zero, or `prior` is out of range.

    >>> penalties = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 9, 0], [0, 0, 0, 0, 9]], dtype=np.uint32)
    >>> sample_partition(penalties, Fraction(9), 2.0**-9, Randomness.from_seed(1))
    array([0, 2])
    """
    return PartitionLaw.from_penalties(penalties, rate, prior).sample(randomness)


def bound_partition_log_error(places: int, lengths: int) -> Fraction:
    """A bound on the error of the logarithm of a chance, up to a constant, against the product of weights.

    A chance is a product of at most n conditional chances ``term / A``, where A is the exact sum of the terms. A term
    is a weight times the sum before, rounded once. The sum that goes on is A, rounded less than once for each length.
    From factor to factor these sums cancel, all but the last, which is the constant; so at most ``lengths`` roundings
    by a part of ``2**-53`` are left over for each place. (What is bounded here is more than twice that.)
    """
    return Fraction(places * (lengths + 2), 2**52)


WEIGHT_ERROR = Fraction(8, 2**52)
"""The largest error of the logarithm of a weight: three factors of 53 bits and three products
are rounded by a part of ``2**-53`` each."""


class PartitionWeights(NamedTuple):
    """SECRET. The weights of all partitions of the first i places add up to ``mantissas[i] * 2.0**scales[i]``.

    Attributes:
        penalties: See `sample_partition`.
        weights: The weights of each digit of a penalty, ``weights * 2.0**powers``.
        weight_exponents: The exponents of two.
        prior: The weight of an interval without a penalty.
        mantissas: From 1/2 to 1.
        exponents: Powers of two.
    """

    penalties: Penalty
    weights: FloatArray
    weight_exponents: IntArray
    prior: float
    mantissas: FloatArray
    exponents: IntArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PartitionLaw:
    """SECRET. The law of one partition: of the first i places the last interval is as likely as its term is large."""

    sums: PartitionWeights

    @classmethod
    def from_penalties(cls, penalties: Penalty, rate: Fraction, prior: float) -> PartitionLaw:
        """Sum up, place by place."""
        if not LEAST_PRIOR <= prior <= 1:
            raise InvalidArgument("prior", f"a number from {LEAST_PRIOR} to 1 is needed, got {prior}")
        places = penalties.shape[1] - 1
        weights, powers = _digit_weights(require_nonnegative_fraction("rate", rate))
        sums = PartitionWeights(
            penalties, weights, powers, prior, np.ones(places + 1), np.zeros(places + 1, dtype=np.int64)
        )
        _sum_partitions(sums)
        return cls(sums)

    def last_interval_weight(self, power: int, place: int) -> Scaled:
        """The weight of the partitions of the first places whose last interval has ``2**power`` of them, in 53 bits."""
        sums, part, scale = self.sums, self.sums.prior, 0
        for number, digit in enumerate(_split_digits(int(sums.penalties[power, place]))):
            part *= float(sums.weights[number, digit])
            scale += int(sums.weight_exponents[number, digit])
        before = place - (1 << power)
        part, more = frexp(part * float(sums.mantissas[before]))
        return int(part * 2**EXACT), more - EXACT + scale + int(sums.exponents[before])

    def last_interval_weights(self, place: int) -> list[Scaled]:
        """The terms of the first places, from the shortest last interval to the longest."""
        return [
            self.last_interval_weight(power, place)
            for power in range(min(len(self.sums.penalties), place.bit_length()))
        ]

    def sample(self, randomness: Randomness) -> NDArray[np.int64]:
        """The first places of the intervals of one partition, drawn from the last interval to the first."""
        first = np.zeros(len(self.sums.mantissas), dtype=np.int64)
        place, count = len(self.sums.mantissas) - 1, 0
        while place:
            words = randomness.sample_words(min(DRAWN_AT_ONCE, place))
            place, count, used = _sample_backwards(self.sums, words, place, first, count)
            if place and used < len(words):
                place -= 1 << refine_until_proven(
                    LastIntervalLaw(self.last_interval_weights(place)), int(words[used]), WORD, randomness
                )
                first[count] = place
                count += 1
        return first[:count][::-1].copy()


@dataclass(frozen=True, slots=True, repr=False)
class LastIntervalLaw:
    """SECRET. Outcome k weighs as the terms say, of 53 bits each; the largest one weighs 1."""

    terms: list[Scaled]

    def weights(self, bits: int) -> tuple[Sequence[Bracket], int]:
        """The weights of all outcomes; there are no others.

        A ratio of wholes is below 2: where the power of two alone is at most ``2**(-bits - 1)``, 0 and 1 are bounds.
        """
        scale, largest = max((scale, whole) for whole, scale in self.terms)
        brackets = []
        for whole, own in self.terms:
            below = scale - own
            top, bottom = (whole << bits, largest << below) if below <= bits else (1, 2)  # powers may have 38 bits
            brackets.append((top // bottom, -(-top // bottom)))
        return brackets, 0


def _split_digits(penalty: int) -> list[int]:
    return [penalty >> DIGIT * number & (1 << DIGIT) - 1 for number in range(DIGITS)]


@lru_cache(maxsize=64)  # a pure function of a public number
def _digit_weights(rate: Fraction) -> tuple[FloatArray, IntArray]:
    """For each digit of a penalty ``exp(-rate * digit)``, as ``part * 2.0**scale``, to 53 bits.

    A relative error of ``2**-190`` at most, at first, doubles with each squaring and adds up along a row.
    """
    parts, scales = np.empty((DIGITS, 1 << DIGIT)), np.empty((DIGITS, 1 << DIGIT), dtype=np.int64)
    base = _normalise(bound_exp_neg(min(rate, STEEPEST), 2 * FINE)[0], -2 * FINE)
    for number in range(DIGITS):
        power = _normalise(1, 0)
        for digit in range(1 << DIGIT):
            parts[number, digit], scales[number, digit] = power[0] / (1 << FINE), power[1] + FINE
            power = _normalise(power[0] * base[0], power[1] + base[1])
        base = power
    parts.flags.writeable = scales.flags.writeable = False
    return parts, scales


def _normalise(whole: int, scale: int) -> Scaled:
    """Write a number, or one a little below, with a whole number of `FINE` bits."""
    excess = whole.bit_length() - FINE
    return (whole >> excess if excess > 0 else whole << -excess), scale + excess


@compile_loop
def _sum_partitions(sums: PartitionWeights) -> None:
    """Sums of all partitions of the first places, each from those of fewer places, scaled anew at each place."""
    penalties, weights, powers, prior, parts, scales = sums
    terms, exponents = np.empty(len(penalties)), np.empty(len(penalties), dtype=np.int64)
    for place in range(1, len(parts)):
        count, power = 0, 0
        while power < len(penalties) and (1 << power) <= place:
            penalty, before = np.int64(penalties[power, place]), place - (1 << power)
            low, middle, high = penalty & 2047, penalty >> 11 & 2047, penalty >> 22
            weight = prior * weights[0, low] * weights[1, middle] * weights[2, high]
            terms[count] = weight * parts[before]
            exponents[count] = powers[0, low] + powers[1, middle] + powers[2, high] + scales[before]
            count, power = count + 1, power + 1
        top, total = exponents[:count].max(), 0.0
        for k in range(count):
            if exponents[k] > top - 900:
                total += terms[k] * 2.0 ** (exponents[k] - top)
        while total < 0.5:  # a power of two is no rounding
            total, top = total * 2, top - 1
        while total >= 1:
            total, top = total / 2, top + 1
        parts[place], scales[place] = total, top


@compile_loop
def _sample_backwards(
    sums: PartitionWeights, words: NDArray[np.uint64], place: int, first: IntArray, count: int
) -> tuple[int, int, int]:
    """From the end on, intervals that one word each proves: the place reached, how many there are, words used.

    All sums here are wrong by less than a part in ``2**46``: what is ``2**-40`` of them away from a border is proven.
    """
    penalties, weights, powers, prior, parts, scales = sums
    terms, exponents = np.empty(len(penalties)), np.empty(len(penalties), dtype=np.int64)
    for used in range(len(words)):
        if place == 0:
            return place, count, used
        number, power = 0, 0
        while power < len(penalties) and (1 << power) <= place:
            penalty, before = np.int64(penalties[power, place]), place - (1 << power)
            low, middle, high = penalty & 2047, penalty >> 11 & 2047, penalty >> 22
            weight = prior * weights[0, low] * weights[1, middle] * weights[2, high]
            terms[number] = weight * parts[before]
            exponents[number] = powers[0, low] + powers[1, middle] + powers[2, high] + scales[before]
            number, power = number + 1, power + 1
        top, total = exponents[:number].max(), 0.0
        for k in range(number):
            terms[k] = terms[k] * 2.0 ** (exponents[k] - top) if exponents[k] > top - 900 else 0.0
            total += terms[k]
        drawn, below, found = words[used] / 2.0**64 * total, 0.0, -1
        for k in range(number):
            border = below + terms[k]
            if drawn < border - 2.0**-40 * total and found < 0:
                if drawn > below + 2.0**-40 * total or k == 0:
                    found = k
                break
            below = border
        if found < 0:
            return place, count, used
        place -= 1 << found
        first[count] = place
        count += 1
    return place, count, len(words)
