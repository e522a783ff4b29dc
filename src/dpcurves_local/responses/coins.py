"""Coins of dyadic chances and even draws, many at a time and exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import BoolArray, IntArray
from dpcurves.compiled import compiled, loops_are_compiled
from dpcurves.noise.randomness import Randomness

Words = NDArray[np.uint16]
Octets = NDArray[np.uint8]
BITS = 64
WHOLE = 1 << BITS
"""Chances are whole numbers of this many parts."""
FEW_PLACES = 3
"""Binary places of a chance whose coins are made of as many even bits."""
_BYTE, _REST = 8, 56
_HALF = 32
_COINS = 8
_SHORT, _LONG, _ALL = 16, 64, _COINS * BITS
"""Bits that decide octets of coins: nearly always, but once in 2**56, and always."""
_GROUP = 32


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


def places_of(parts: int) -> int:
    """The number of binary places of a chance."""
    return BITS - ((parts & -parts).bit_length() - 1) if parts else 0


def rows_of_heads(parts: int, size: int, octets: int, randomness: Randomness) -> Octets:
    """The coins of `heads`, eight in an octet: (size, octets)."""
    draw = _by_places if places_of(parts) <= FEW_PLACES else _by_octets
    return draw(parts, size * octets, randomness).reshape(size, octets)


def _by_places(parts: int, size: int, randomness: Randomness) -> Octets:
    """Coins of a chance with few places, from as many even bits: from the lowest place on that is set.

    Where the chance so far is c, "and" with an even bit makes ``c / 2`` of it, "or" ``(1 + c) / 2``.
    """
    found = np.zeros(size, dtype=np.uint8)
    for place in range(BITS - places_of(parts), BITS):
        bits = np.frombuffer(randomness.octets(size), dtype=np.uint8)
        found = found | bits if parts >> place & 1 else found & bits
    return found


def _by_octets(parts: int, size: int, randomness: Randomness) -> Octets:
    """Coins of any chance: an octet is looked up by 16 even bits.

    So many of their values tell an octet as fit into its exact chance, a whole number of ``2**-512``; what is left of
    the chances, at most one value in 256, lies behind them all, and there a number of 512 bits that begins with these
    16 decides, nearly always by its first 64. So chances are those of eight coins, exactly, and 2 octets are drawn for
    each rather than 8.
    """
    decided, found = _octets(parts), np.empty(size, dtype=np.uint8)
    words = randomness.halfwords(size)
    look_up = _looked_up_in_a_loop if loops_are_compiled() else _looked_up
    open_ = look_up(words, decided, found)
    if open_.size:
        found[open_] = decided.further(words[open_], randomness)
    return found


class _Octets(NamedTuple):
    """Look-up tables for an octet of coins.

    Attributes:
        by_word: The octet that the first 16 bits tell, where they do.
        told: How many values of theirs tell one: the first ones.
        ends: Sums of what is left of the chances of the octets up to each one but the last, behind all that is told,
            in parts of ``2**512``.
        first: Their upper 64 bits.
    """

    by_word: Octets
    told: int
    ends: tuple[int, ...]
    first: NDArray[np.uint64]

    def further(self, words: Words, randomness: Randomness) -> Octets:
        """The octets where 16 bits do not tell."""
        upper = words.astype(np.uint64) << np.uint64(_LONG - _SHORT)
        bits = upper | (randomness.words(words.size) >> np.uint64(_SHORT))
        found = np.searchsorted(self.first, bits)
        for place in np.flatnonzero(self.first[np.minimum(found, len(self.first) - 1)] == bits):
            left = _ALL - _LONG
            whole = int(bits[place]) << left | int.from_bytes(randomness.octets(left // 8), "little")
            found[place] = sum(end <= whole for end in self.ends)
        return found.astype(np.uint8)


@lru_cache(maxsize=64)  # a pure function of public facts
def _octets(parts: int) -> _Octets:
    chances = [parts**ones * (WHOLE - parts) ** (_COINS - ones) for ones in map(int.bit_count, range(2**_COINS))]
    told, left = zip(*(divmod(chance, 1 << _ALL - _SHORT) for chance in chances), strict=True)
    by_word = np.zeros(2**_SHORT, dtype=np.uint8)
    by_word[: sum(told)] = np.repeat(np.arange(2**_COINS), told)
    ends = tuple(accumulate(left, initial=sum(told) << _ALL - _SHORT))[1:-1]
    first = np.array([min(end >> _ALL - _LONG, 2**_LONG - 1) for end in ends], dtype=np.uint64)
    return _Octets(by_word, sum(told), ends, first)


def _looked_up(words: Words, decided: _Octets, found: Octets) -> IntArray:
    """Write the octets that 16 bits tell, and return the places of those that they do not."""
    np.take(decided.by_word, words, out=found, mode="wrap")
    return np.flatnonzero(words >= decided.told)


def _looked_up_in_a_loop(words: Words, decided: _Octets, found: Octets) -> IntArray:
    """Do as `_looked_up`, compiled, in a third of the time."""
    open_ = np.empty(words.size, dtype=np.int64)
    return open_[: _look_up(words, decided.by_word, decided.told, found, open_)]


@compiled
def _look_up(words: Words, by_word: Octets, told: int, found: Octets, open_: IntArray) -> int:
    many, whole = 0, len(words) // _GROUP * _GROUP
    for start in range(0, whole, _GROUP):  # in groups, of which few have a word that does not tell
        largest = words[start]
        for place in range(start, start + _GROUP):
            found[place] = by_word[words[place]]
            largest = max(largest, words[place])
        for place in range(start, start + _GROUP if largest >= told else start):
            open_[many] = place
            many += words[place] >= told
    for place in range(whole, len(words)):
        found[place] = by_word[words[place]]
        open_[many] = place
        many += words[place] >= told
    return many


def even(outcomes: int, size: int, randomness: Randomness) -> IntArray:
    """Even draws from 0, ..., `outcomes` - 1, at most 2**31 of them, by multiplication and rejection (Lemire 2019).

    Equally many of the 2**32 products of a word and the number of outcomes have each upper half, once those are drawn
    again whose lower half is below ``2**32 % outcomes``.
    """
    products = np.frombuffer(randomness.octets(4 * size), dtype="<u4").astype(np.uint64) * np.uint64(outcomes)
    uneven = np.uint64((1 << _HALF) % outcomes)
    again = np.flatnonzero((products & np.uint64((1 << _HALF) - 1)) < uneven)
    drawn = (products >> np.uint64(_HALF)).astype(np.int64)
    if again.size:
        drawn[again] = even(outcomes, again.size, randomness)
    return drawn
