"""Coins of dyadic chances and even draws, many at a time and exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...arrays import BoolArray, IntArray
from ..exponential import decay
from ..randomness import Randomness

BITS = 64
WHOLE = 1 << BITS
"""Chances are whole numbers of this many parts."""
_PRECISION = 192
_BYTE, _REST = 8, 56
_HALF = 32


def decay_above(epsilon: Fraction) -> Fraction:
    """A number that is not below ``exp(-epsilon)``, by less than ``2**-190``."""
    return Fraction(decay(epsilon, _PRECISION)[1], 1 << _PRECISION)


def rounded_down(chance: Fraction) -> int:
    """The chance in parts of `WHOLE`: it never becomes 1."""
    return min(int(chance * WHOLE), WHOLE - 1)


def rounded_up(chance: Fraction) -> int:
    """The chance in parts of `WHOLE`: it never becomes 0."""
    return max(-int(-chance * WHOLE // 1), 1)


def heads(parts: int, size: int, randomness: Randomness) -> BoolArray:
    """Coins that show heads with a chance of exactly ``parts / WHOLE`` each, all on their own.

    A number of 64 even bits is compared with `parts`. Its first eight bits decide unless they are those of `parts`,
    and only then are the others drawn.
    """
    first = np.frombuffer(randomness.octets(size), dtype=np.uint8)
    border = parts >> _REST
    found = first < border
    open_ = np.flatnonzero(first == border)
    rest = randomness.words(open_.size) >> np.uint64(_BYTE)
    found[open_] = rest < np.uint64(parts & ((1 << _REST) - 1))
    return found


def even(outcomes: int, size: int, randomness: Randomness) -> IntArray:
    """Even draws from 0, ..., `outcomes` - 1, at most 2**31 of them, by multiplication and rejection (Lemire 2019).

    Of the 2**32 products of a word and the number of outcomes, equally many have each upper half, once those are drawn
    again whose lower half is below ``2**32 % outcomes``.
    """
    products = np.frombuffer(randomness.octets(4 * size), dtype="<u4").astype(np.uint64) * np.uint64(outcomes)
    uneven = np.uint64((1 << _HALF) % outcomes)
    again = np.flatnonzero((products & np.uint64((1 << _HALF) - 1)) < uneven)
    drawn = (products >> np.uint64(_HALF)).astype(np.int64)
    if again.size:
        drawn[again] = even(outcomes, again.size, randomness)
    return drawn
