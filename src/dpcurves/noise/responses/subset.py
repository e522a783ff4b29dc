"""Subset selection: a set of answers that has the true one in it more often than others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arguments import Refused
from ...arrays import BoolArray, IntArray
from ...compiled import compiled
from ..exponential import decay_above
from ..randomness import Randomness
from .bit_rows import BitRows, bits_set
from .coins import WHOLE, heads, rounded_down, rows_of_heads
from .randomiser import Reports, Support

MOST_ANSWERS = 2**12
_HALFWORDS = 2**16
_MANY = 32
"""Others that are put in one by one rather than by coins."""
_WORDS, _WORDS_AT_ONCE = 64, 2**15


@dataclass(frozen=True)
class Subset(BitRows):
    """A set of d answers: with chance p the true one and d - 1 others, else d others, evenly (Ye and Barg 2018).

    The size d is about ``k / (1 + e)``, for which rare answers have the least variance.

    Formal guarantees: a set has the chance ``p / C(k-1, d-1)`` if the true answer is in it, ``(1 - p) / C(k-1, d)`` if
    not: the ratio ``p (k - d) / ((1 - p) d)`` is at most exp(epsilon), for p is rounded down.

    Raises:
        ValueError: there are more than 2**12 answers.
    """

    NAME: ClassVar[str] = "subset"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers > MOST_ANSWERS:
            raise Refused("answers", f"subsets of at most {MOST_ANSWERS} are sent, got {self.answers}")

    @cached_property
    def size(self) -> int:
        """How many answers a set has."""
        return min(max(1, round(self.answers * self._share)), self.answers - 1)

    @property
    def _share(self) -> Fraction:
        below = decay_above(self.epsilon)
        return below / (1 + below)

    @cached_property
    def _own(self) -> int:
        """The chance p, in parts of `WHOLE`."""
        left_out = (self.answers - self.size) * decay_above(self.epsilon)
        return rounded_down(self.size / (self.size + left_out))

    @cached_property
    def support(self) -> Support:
        own, size, others = Fraction(self._own, WHOLE), self.size, self.answers - 1
        with_own, without = Fraction(size - 1, others), Fraction(size, others)
        pairs = max(others * (others - 1), 1)
        two = own * Fraction((size - 1) * (size - 2), pairs) + (1 - own) * Fraction(size * (size - 1), pairs)
        return Support(own, own * with_own + (1 - own) * without, own * with_own, two)

    def chance(self, answer: int, report: bytes) -> Fraction:
        own, others = Fraction(self._own, WHOLE), self.answers - 1
        if self.supports(answer, report):
            return own / comb(others, self.size - 1)
        return (1 - own) / comb(others, self.size)

    def every_report(self) -> Iterator[bytes]:
        for chosen in combinations(range(self.answers), self.size):
            yield sum(1 << answer for answer in chosen).to_bytes(self.octets, "little")

    def _drawn(self, answers: IntArray, randomness: Randomness) -> Reports:
        own = heads(self._own, len(answers), randomness)
        every, place, bit = np.arange(len(answers)), answers >> 3, (1 << (answers & 7)).astype(np.uint8)
        rows, done = self._begun(len(answers), randomness), 0
        rows[every, place] &= ~bit
        lacking = self.size - own - bits_set(rows)
        while done < len(answers):
            words = randomness.halfwords(min(_WORDS * (len(answers) - done) + 64, _WORDS_AT_ONCE))
            done = _filled(rows, lacking, answers, self.answers, words, done)
        rows[every, place] |= own * bit
        return rows

    def _begun(self, people: int, randomness: Randomness) -> Reports:
        """Sets of others that are about large enough, of which all of one size are equally likely."""
        spread = sqrt(self.size * (1 - self.size / self.answers))
        about = self.size - spread
        if about < _MANY:
            return np.zeros((people, self.octets), dtype=np.uint8)
        rows = rows_of_heads(int(about / self.answers * WHOLE), people, self.octets, randomness)
        rows[:, -1] &= self.used
        return rows

    def _may_be_set(self, received: Reports) -> BoolArray:
        return np.asarray(bits_set(received) == self.size, dtype=np.bool_)


@compiled
def _filled(  # noqa: PLR0917
    rows: Reports, lacking: IntArray, answers: IntArray, many: int, words: NDArray[np.uint16], done: int
) -> int:
    """Make sets of others of the right size from row `done` on, as long as there are words: how many rows are done.

    While others are lacking, an even one that is not in the set is put into it; while there are too many, an even one
    of it is taken out. Sets of one size stay equally likely, whatever sizes they began with. Even places are upper
    halves of products; a word whose lower half is uneven is passed over (Lemire 2019).
    """
    used, uneven = 0, _HALFWORDS % many
    for row in range(done, len(rows)):
        left, own = lacking[row], answers[row]
        while left:
            if used == len(words):
                lacking[row] = left
                return row
            product = np.int64(words[used]) * many
            used += 1
            place = product >> 16
            bit = np.uint8(1 << (place & 7))
            within = rows[row, place >> 3] & bit != 0
            moves = (product & (_HALFWORDS - 1) >= uneven) & (place != own) & (within == (left < 0))
            rows[row, place >> 3] ^= bit * moves  # no branch: whether it moves can not be foreseen
            left += moves * (2 * within - 1)
        lacking[row] = 0
    return len(rows)
