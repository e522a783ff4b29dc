"""The number exp(-x) in proven bounds, and exact draws by inversion of a uniform number that is revealed bit by bit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, repeat
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .randomness import Randomness

# The number exp(-x), for rational x: proven bounds in whole numbers, and coins that show it exactly.


GUARD = 24
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**20), Fraction(64)
"""What one answer of a person, or of a pair, may lose."""
PRECISE = 256

Bracket = tuple[int, int]
"""Two whole numbers, in units of ``2**-bits``; the number that is meant lies between them or on them."""


def one(bits: int) -> Bracket:
    """The number 1."""
    return 1 << bits, 1 << bits


def times(left: Bracket, right: Bracket, bits: int) -> Bracket:
    """The product of two numbers that are not negative, rounded outwards."""
    return left[0] * right[0] >> bits, (left[1] * right[1] >> bits) + 1


def decay(exponent: Fraction, bits: int) -> Bracket:
    """``exp(-exponent)``, for an exponent of at least 0.

    The exponent is halved until it is below 2**-8, the power series is summed, and the sum is squared as often, all
    rounded outwards. The sum is known to ``bits / 4 + 10`` fine units, and squaring magnifies that by less than
    2**10, so the guard bits hold it: up to 10,000 bits the bounds differ by 2 at most.

    >>> lower, upper = decay(Fraction(1), 64)
    >>> lower / 2**64, upper - lower <= 2
    (0.36787944117144233, True)
    """
    if exponent >= bits:  # exp(-bits) is below 2**-bits
        return 0, 1
    fine = bits + GUARD
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 9)
    bounds = _series((exponent.numerator << fine) // (exponent.denominator << halvings), fine)
    for _ in range(halvings):
        bounds = times(bounds, bounds, fine)
    return bounds[0] >> GUARD, (bounds[1] >> GUARD) + 1


def decay_above(epsilon: Fraction) -> Fraction:
    """A number that is not below ``exp(-epsilon)``, by less than ``2**-250``."""
    return Fraction(decay(epsilon, PRECISE)[1], 1 << PRECISE)


def powers(first: Bracket, ratio: Bracket, count: int, bits: int) -> list[Bracket]:
    """The first `count` members of a geometric series."""
    return list(accumulate(repeat(ratio, count - 1), lambda member, step: times(member, step, bits), initial=first))


def limit(first: Bracket, ratio: Bracket, bits: int) -> int:
    """An upper bound on the sum of a geometric series without end, of a ratio below 1."""
    return (first[1] << bits) // ((1 << bits) - ratio[1]) + 1


def coin(exponent: Fraction, randomness: Randomness) -> bool:
    """True with probability exactly ``exp(-exponent)`` (Canonne, Kamath and Steinke 2020, Algorithm 1)."""
    while exponent > 1:
        if not alternate(Fraction(1), 1, randomness):
            return False
        exponent -= 1
    return alternate(exponent, 1, randomness)


def alternate(exponent: Fraction, first: int, randomness: Randomness) -> bool:
    """Flip coins that show heads with probability ``exponent / k``, k = `first`, ...: is the first tail at an odd k?

    From ``first = 1`` on, and for exponents in [0, 1], that has probability ``exp(-exponent)``: the alternating sum
    of the probabilities ``exponent**k / k!`` that the first k coins are heads.
    """
    k = first
    while randomness.below(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


def _series(small: int, bits: int) -> Bracket:
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


def thresholds(law: InvertedLaw, bits: int) -> tuple[list[int], list[int]]:
    """Bounds on ``2**bits * F(i)``, from below and from above."""
    weights, others = law.weights(bits + GUARD_BITS)
    lower = list(accumulate(least for least, _ in weights))
    upper = list(accumulate(most for _, most in weights))
    least, most = lower[-1], upper[-1] + others
    return [(sum_ << bits) // most for sum_ in lower], [-((-sum_ << bits) // least) for sum_ in upper]


def draw(law: InvertedLaw, randomness: Randomness) -> int:
    """Draw an outcome."""
    return settle(law, int(randomness.words(1)[0]), WORD, randomness)


def settle(law: InvertedLaw, word: int, bits: int, randomness: Randomness) -> int:
    """The outcome for a uniform number whose first `bits` binary places are `word`; further places are drawn."""
    while (outcome := _proven(law, word, bits)) is None:
        word, bits = word << WORD | int(randomness.words(1)[0]), bits + WORD
    return outcome


def _proven(law: InvertedLaw, word: int, bits: int) -> int | None:
    lower, upper = thresholds(law, bits)
    outcome = bisect_right(upper, word)
    return outcome if outcome < len(lower) and word < lower[outcome] else None


class InversionTable:
    """Many draws from one law. Its thresholds are worked out once, to 64 bits; fewer than 2**15 outcomes have one.

    A draw begins with 16 bits. Most often they prove an outcome, which is then looked up; the others get 48 bits
    more, and are searched; what is still open, once in about 2**50 draws, goes to `settle`.
    """

    __slots__ = ("_by_prefix", "_law", "_lower", "_upper")

    def __init__(self, law: InvertedLaw) -> None:
        lower, upper = thresholds(law, WORD)
        # 2**64 has no place in a word. With TOP in its stead, a word that equals TOP goes to `settle`.
        self._lower = np.array([*(min(bound, TOP) for bound in lower), 0], dtype=np.uint64)
        self._upper = np.array([min(bound, TOP) for bound in upper], dtype=np.uint64)
        self._law = law
        self._by_prefix = self._proven_by_prefix()

    @property
    def outcomes(self) -> int:
        """The number of outcomes with a threshold; others are far rarer than ``2**-64``."""
        return self._upper.size

    def draw(self, size: int, randomness: Randomness) -> NDArray[np.int64]:
        """Independent outcomes."""
        prefixes = randomness.halfwords(size)
        proven = self._by_prefix.take(prefixes, mode="wrap")
        opened = np.flatnonzero(proven < 0)
        outcomes = proven.astype(np.int64)
        words = prefixes[opened].astype(np.uint64) << REST | randomness.words(opened.size) >> np.uint64(PREFIX)
        outcomes[opened] = self.look_up(words, randomness)
        return outcomes

    def look_up(self, words: NDArray[np.uint64], randomness: Randomness) -> NDArray[np.int64]:
        """The outcomes for uniform numbers whose first 64 binary places are `words`."""
        outcomes = self._upper.searchsorted(words, side="right")
        for place in np.flatnonzero(words >= self._lower[outcomes]):
            outcomes[place] = settle(self._law, int(words[place]), WORD, randomness)
        return outcomes

    def _proven_by_prefix(self) -> NDArray[np.int16]:
        first = np.arange(1 << PREFIX, dtype=np.uint64) << REST
        last = first | np.uint64((1 << WORD - PREFIX) - 1)
        outcomes = self._upper.searchsorted(first, side="right")
        return np.where(last < self._lower[outcomes], outcomes, -1).astype(np.int16)
