"""Exact sampler of discrete Laplace noise, also called two-sided geometric noise or the geometric mechanism.

    P(z) proportional to exp(-|z| / scale),  z integer

It is the integer noise of pure differential privacy. `sample` draws many such integers, for every rational scale.

Formal guarantees: the distribution is exact, without floating point: sign and binary digits of z are independent, and
each is sampled by inversion. A mechanism that adds this noise to an integer is (d / scale)-DP, if neighbours change the
integer by at most d (Ghosh, Roughgarden and Sundararajan 2009).

>>> len(sample(Fraction(10, 3), 5, Randomness.from_system()))
5
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ..arguments import require_draw_count, require_positive_fraction
from .exponential import (
    Bracket,
    InversionTable,
    bound_exp_neg,
    bound_geometric_sum,
    geometric_terms,
    multiply_brackets,
    one_bracket,
)
from .randomness import Randomness

LARGEST_SCALE = 2**55
"""Largest scale, in units of the noise: up to it all but exp(-256) of the distribution fits 64 bits. A larger one is
refused."""


def sample(scale: Fraction, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Sample independent integers z with probability proportional to ``exp(-abs(z) / scale)``.

    Formal guarantees: the distribution is exact, no floating point is used, and no rounding decides. Put
    ``r = exp(-1/scale)`` and write z as m or, for a negative z, as -1 - m, with m >= 0. The weights are ``r**m`` and
    ``r * r**m``, so sign and m are independent. Write m in binary: ``r**m`` is a product over the digits of m, so these
    are independent too, and a digit d at place 2**j has the weight ``exp(-d * 2**j / scale)``. The highest digit, which
    is unbounded, is sampled together with the sign, the lower digits eight places at a time, all by inversion. A z that
    does not fit 64 bits, with probability at most exp(-256), is clipped to 64 bits. Algorithm 2 of Canonne, Kamath and
    Steinke (2020) has the same distribution; the tests compare with it.

    Args:
        scale: Scale of the noise: above 0, at most 2**55.
        size: Number of integers.
        randomness: Source of random bits.

    Returns:
        Integers of 64 bits, of shape ``(size,)``.

    Raises:
        ValueError: `scale` is not above zero, or above 2**55; `size` is below zero.

    >>> sample(Fraction(10, 3), 5, Randomness.from_seed(1))
    array([-2,  1,  3, 11, -3])
    """
    tables = _build_tables(require_positive_fraction("scale", scale, LARGEST_SCALE))
    signed = tables.highest_digit.sample(require_draw_count(size), randomness)
    # 2**63 - 1 records: largest 64-bit integer, to which larger magnitudes are clipped
    magnitude: NDArray[np.int64] = np.minimum(signed >> 1, (2**63 - 1) >> tables.bits)
    for width, table in tables.digits:
        magnitude = magnitude << width | table.sample(size, randomness)
    return magnitude ^ -(signed & 1)  # -1 - m is the complement of m


@dataclass(frozen=True, slots=True)
class InversionTables:
    """Inversion tables for the discrete Laplace distribution of one scale.

    Attributes:
        highest_digit: Table of the sign together with the highest digit.
        digits: Width in bits, and table, of each group of lower binary digits, from high to low.
        bits: Number of lower binary digits.
    """

    highest_digit: InversionTable
    digits: tuple[tuple[int, InversionTable], ...]
    bits: int


@lru_cache(maxsize=64)  # a pure function of a public number
def _build_tables(scale: Fraction) -> InversionTables:
    """Return the inversion tables that sample discrete Laplace noise of a scale digit by digit. Cached.

    The first is of the sign and the highest digit, the others of lower binary digits, eight places at a time.

    Args:
        scale: Scale of the noise.
    """
    bits = max(0, int(scale / 8).bit_length() - 1)  # 8 to 16 steps of the highest digit per scale
    ends = [*range(bits, 0, -8), 0]  # eight binary places at a time
    digits = ((high - low, InversionTable(Digit(2**low / scale, 2 ** (high - low)))) for high, low in pairwise(ends))
    return InversionTables(InversionTable(SignedDigit(2**bits / scale, 1 / scale)), tuple(digits), bits)


@dataclass(frozen=True, slots=True)
class Digit:
    """Distribution of a digit d from 0 to ``count - 1``, with weights ``exp(-d * rate)``.

    Attributes:
        rate: Decrease of the logarithm of the weight per unit of d.
        count: Number of digits.
    """

    rate: Fraction
    count: int

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """Return bounds of the weights of the values of a group of binary digits, for sampling by inversion.

        Args:
            bits: Binary digits after the point of the bounds.

        Returns:
            Bounds of the weights of all digits in units of ``2**-bits``, and 0, because there are no other digits.
        """
        return geometric_terms(one_bracket(bits), bound_exp_neg(self.rate, bits), self.count, bits), 0


@dataclass(frozen=True, slots=True)
class SignedDigit:
    """Distribution of a sign s, 0 or 1, and a digit d, which is unbounded.

    Outcome ``2 * d + s`` has the weight ``exp(-d * rate - s * sign_rate)``.

    Attributes:
        rate: Decrease of the logarithm of the weight per unit of d.
        sign_rate: Decrease for the sign 1.
    """

    rate: Fraction
    sign_rate: Fraction

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """Return bounds of the weights of the highest digit with its sign, for sampling by inversion.

        Args:
            bits: Binary digits after the point of the bounds.

        Returns:
            Bounds of the weights of the outcomes 0, 1, 2, ... down to about ``2**-bits``, and a bound of the sum of all
            others, which are a geometric series.
        """
        ratio = bound_exp_neg(self.rate, bits)
        sign = bound_exp_neg(self.sign_rate, bits)
        *digits, next_ = geometric_terms(one_bracket(bits), ratio, int(bits * Fraction(7, 10) / self.rate) + 3, bits)
        both = ((digit, multiply_brackets(digit, sign, bits)) for digit in digits)
        return list(chain.from_iterable(both)), 2 * bound_geometric_sum(next_, ratio, bits)
