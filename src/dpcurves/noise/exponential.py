"""The number exp(-x), for rational x: proven bounds in whole numbers, and coins that show it exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, repeat

from .randomness import Randomness

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
