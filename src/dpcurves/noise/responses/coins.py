"""Coins of dyadic chances and even draws, many at a time and exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import BoolArray, IntArray
from ...compiled import compiled, loops_are_compiled
from ..randomness import Randomness

Words = NDArray[np.uint16]
Octets = NDArray[np.uint8]
BITS = 64
WHOLE = 1 << BITS
"""Chances are whole numbers of this many parts."""
_BYTE, _REST = 8, 56
_HALF = 32
_COINS = 8
_SHORT, _LONG, _ALL = 16, 64, _COINS * BITS
"""Bits that decide octets of coins: nearly always, but once in 2**56, and always."""
_WORDS_AT_ONCE = 2**17
_GROUP = 8


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


def rows_of_heads(parts: int, size: int, octets: int, randomness: Randomness) -> Octets:
    """The coins of `heads`, eight in an octet: (size, octets).

    An octet is looked up by 16 even bits: a number of 512 of them, compared with the sums of the exact chances of all
    octets (each a whole number of ``2**-512``), is nearly always decided by its first 16. If not, it is by 48 more,
    or else by all: so chances are those of eight coins, exactly, and 2 octets are drawn for each rather than 8.
    """
    decided, flat = _octets(parts), np.empty(size * octets, dtype=np.uint8)
    look_up = _looked_up_in_a_loop if loops_are_compiled() else _looked_up
    for start in range(0, flat.size, _WORDS_AT_ONCE):
        part = flat[start : start + _WORDS_AT_ONCE]
        words = randomness.halfwords(part.size)
        open_ = look_up(words, decided.by_word, part)
        if open_.size:
            part[open_] = decided.further(words[open_], randomness)
    return flat.reshape(size, octets)


def _looked_up(words: Words, by_word: Words, found: Octets) -> IntArray:
    """Write the octets that 16 bits tell, and return the places of those that they do not."""
    told = np.take(by_word, words, mode="wrap")
    found[:] = told
    return np.flatnonzero(told >= 1 << _COINS)


def _looked_up_in_a_loop(words: Words, by_word: Words, found: Octets) -> IntArray:
    """What `_looked_up` does, in a third of the time."""
    open_ = np.empty(words.size, dtype=np.int64)
    return open_[: _look_up(words, by_word, found, open_)]


@compiled
def _look_up(words: Words, by_word: Words, found: Octets, open_: IntArray) -> int:
    many, whole = 0, len(words) // _GROUP * _GROUP
    for start in range(0, whole, _GROUP):  # in groups, of which few have a word that does not tell
        seen = 0
        for place in range(start, start + _GROUP):
            told = by_word[words[place]]
            found[place] = told & 255
            seen |= told
        for place in range(start, start + _GROUP if seen > 255 else start):
            open_[many] = place
            many += by_word[words[place]] >> 8
    for place in range(whole, len(words)):
        told = by_word[words[place]]
        found[place] = told & 255
        open_[many] = place
        many += told >> 8
    return many


class _Octets(NamedTuple):
    """How an octet of coins is looked up.

    Attributes:
        by_word: The octet that the first 16 bits tell; above 255: they do not.
        ends: Sums of the chances of the octets up to each one but the last, in parts of ``2**512``.
        first: Their upper 64 bits.
    """

    by_word: Words
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
    ends = tuple(accumulate(chances))[:-1]
    lower = _ALL - _SHORT
    starts = np.array([-(-end >> lower) for end in ends])
    by_word = np.searchsorted(starts, np.arange(2**_SHORT), side="right").astype(np.uint16)
    by_word[[end >> lower for end in ends if end & (1 << lower) - 1]] = 2**_COINS
    return _Octets(by_word, ends, np.array([end >> (_ALL - _LONG) for end in ends], dtype=np.uint64))


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
