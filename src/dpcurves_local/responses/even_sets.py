"""Even sets of one size, many at once: begun with coins, and put right one member at a time."""

from __future__ import annotations

from functools import lru_cache
from math import erf, exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import BoolArray, IntArray
from dpcurves.compiled import compiled
from dpcurves.noise.randomness import Randomness

from .coins import FEW_PLACES, WHOLE, Words, places_of, rows_of_heads

Rows = NDArray[np.uint64]
"""Sets, (sets, words): the first 64 that may be in are the bits of the first word, from the lowest on."""

_WORD = 64
_HALFWORDS = 2**16
_TRY, _LOOKED_UP = 12.0, 4.0
"""How many octets of even coins take as long as to put one in or take it out, and as to look up an octet of coins."""
_TRIES, _AT_ONCE = 32, 2**15
_ONE, _TWO, _FOUR, _TOP = (np.uint64(shift) for shift in (1, 2, 4, 56))
_PAIRS, _FOURS, _EIGHTS, _EACH = (np.uint64((2**64 - 1) // divisor) for divisor in (3, 5, 17, 255))


def even_sets(answers: IntArray, own: BoolArray, many: int, size: int, randomness: Randomness) -> Rows:
    """Sets of `size` of `many`, each with its answer in it or without it, as `own` says, and even among all such.

    Args:
        answers: SECRET. One for each set.
        own: SECRET. Whether it is in the set.
        many: How many there are, at most 2**12.
        size: How many are in a set, from 1 to ``many - 1``.
        randomness: Where words come from.
    """
    words = -(-many // _WORD)
    begun = rows_of_heads(beginning(many, size), len(answers), 8 * words, randomness)
    rows, done = begun.view(np.uint64), 0
    rows[:, -1] &= np.uint64((1 << many - _WORD * (words - 1)) - 1)
    while done < len(answers):
        tries = randomness.halfwords(min(_TRIES * (len(answers) - done) + _TRIES, _AT_ONCE))
        done = put_right(rows, answers, own, many, size, tries, done)
    return rows


@lru_cache(maxsize=64)  # a pure function of public facts
def beginning(many: int, size: int) -> int:
    """The chance of the coins with which sets are had soonest, in parts of `WHOLE`. It changes no chance of a set."""
    share, spread = size / many, sqrt(size * (1 - size / many)) / many
    coarse = [step * (WHOLE >> FEW_PLACES) for step in range(1 << FEW_PLACES)]
    fine = [int(max(share - step / 4 * spread, 0) * WHOLE) for step in range(8)]
    return min((0, *coarse, *fine), key=lambda parts: _octets(many, size, parts))


def _octets(many: int, size: int, parts: int) -> float:
    """The number of octets of even coins that take about as long as a set."""
    places, chance, share = places_of(parts), parts / WHOLE, size / many
    lacking, spread = size - chance * many, sqrt(many * chance * (1 - chance)) or 1e-9
    normal = exp(-((lacking / spread) ** 2) / 2) / sqrt(2 * pi), (1 + erf(lacking / spread / sqrt(2))) / 2
    added = lacking * normal[1] + spread * normal[0]
    tries = added / (1 - share) + (added - lacking) / share
    return (places if places <= FEW_PLACES else _LOOKED_UP) * many / 8 + _TRY * tries


@compiled
def put_right(  # noqa: PLR0917
    rows: Rows, answers: IntArray, own: BoolArray, many: int, size: int, words: Words, done: int
) -> int:
    """Make sets of the right size from row `done` on, as long as there are words: how many rows are done.

    While others than the answer are lacking, an even one that is not in the set is put into it; while there are too
    many, an even one of it is taken out. Sets of others of one size stay equally likely, whatever sizes they began
    with. The answer is in the set while others are put in, and is not while they are taken out: so it is passed over.
    Even places are upper halves of products; a word whose lower half is uneven is passed over too (Lemire 2019).
    """
    used, uneven, half = 0, _HALFWORDS % many, np.uint32(_HALFWORDS - 1)
    for row in range(done, len(rows)):
        at, answer = answers[row] >> 6, _ONE << np.uint64(answers[row] & 63)
        rows[row, at] &= ~answer
        left = size - np.int64(own[row])
        for place in range(rows.shape[1]):  # bits that are set: in pairs, fours, octets and words
            bits = rows[row, place]
            bits -= bits >> _ONE & _PAIRS
            bits = (bits & _FOURS) + (bits >> _TWO & _FOURS)
            left -= np.int64((bits + (bits >> _FOUR) & _EIGHTS) * _EACH >> _TOP)
        if left > 0:
            rows[row, at] |= answer
        while left > 0 and used < len(words):
            product = np.uint32(words[used]) * np.uint32(many)
            bit = np.uint64((product & half) >= uneven) << np.uint64(product >> 16 & 63)
            before = rows[row, product >> 22]
            rows[row, product >> 22] = before | bit  # no branch: whether it is new can not be foreseen
            left -= np.int64(before | bit != before)
            used += 1
        while left < 0 and used < len(words):
            product = np.uint32(words[used]) * np.uint32(many)
            bit = np.uint64((product & half) >= uneven) << np.uint64(product >> 16 & 63)
            before = rows[row, product >> 22]
            rows[row, product >> 22] = before & ~bit
            left += np.int64(before & ~bit != before)
            used += 1
        if left != 0:
            return row
        rows[row, at] = rows[row, at] & ~answer | answer * np.uint64(own[row])
    return len(rows)
