"""Names of people who were counted, in a table where each is found at once: for millions of reports."""

from __future__ import annotations

from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import BoolArray
from dpcurves.compiled import compiled
from dpcurves.noise.randomness import Randomness

from .report_file import NAME, Octets

Numbers = NDArray[np.uint64]
_FIRST, _MOST_AT_FIRST = 2**12, 2**22
_AHEAD = 32
_WORD = 64
DRAWN = np.uint64(1 << 31)
"""The bit of what stands for a person that is set where it was drawn, not set where it is a hash of a name.

It is the highest of the lower half, of which public coins read the lowest 24 bits at most: they do not depend on it.
"""


def folded(person: str) -> str:
    """A name without what people write differently: case, compatible characters (NFKC), spaces around and between."""
    return " ".join(normalize("NFKC", normalize("NFKC", person).casefold()).split())


def numbers_of(names: Octets) -> Numbers:
    """Names as numbers, whose order is that of `KnownNames.all`."""
    return np.ascontiguousarray(names).view(f"<u{NAME}").reshape(-1).astype(np.uint64, copy=False)


def marked(names: Octets, drawn: bool) -> Octets:
    """Names with the bit that says whether they were drawn."""
    told = numbers_of(names)
    told = told | DRAWN if drawn else told & ~DRAWN
    return told.astype(f"<u{NAME}").view(np.uint8).reshape(-1, NAME)


def any_drawn(names: Octets) -> bool:
    """True if a name among these was drawn: its person has another one in another round."""
    return bool((numbers_of(names) & DRAWN).any())


class KnownNames:
    """Names of 8 octets each, at places that follow from a product with a random odd number (Dietzfelbinger et al.).

    Nobody knows that number, so nobody can make up names that are all at one place. What `Seen` tells, in a third of
    the time where loops are compiled; at most three quarters of the places are taken.

    Args:
        about: How many names will come, as far as one knows.
    """

    def __init__(self, about: int = 0) -> None:
        self.count = 0
        self._key = Randomness.system().words(1)[0] | np.uint64(1)
        places = 1 << (4 * about // 3).bit_length()
        self._table = np.zeros(min(max(places, _FIRST), _MOST_AT_FIRST) + 1, dtype=np.uint64)

    def new(self, names: Octets) -> BoolArray:
        """Mark the names that are new, here and in this table; from now on they are known."""
        numbers = np.ascontiguousarray(names.view(f"<u{NAME}").reshape(-1), dtype=np.uint64)
        while 4 * (self.count + len(numbers)) > 3 * (len(self._table) - 1):
            self._grow()
        first = np.empty(len(numbers), dtype=np.bool_)
        _enter(numbers, self._table, self._key, self._shift, first)
        self.count += int(np.count_nonzero(first))
        return first

    def all(self) -> Numbers:
        """Sorted names of everybody who is known."""
        kept = self._table[:-1]
        zero = np.zeros(int(self._table[-1] != 0), dtype=np.uint64)
        return np.sort(np.concatenate([zero, kept[kept != 0]]))

    @property
    def _shift(self) -> np.uint64:
        """Products are cut to as many upper bits as tell places apart."""
        return np.uint64(_WORD + 1 - (len(self._table) - 1).bit_length())

    def _grow(self) -> None:
        old, zero = self._table[:-1], self._table[-1]
        kept = old[old != 0]
        self._table = np.zeros(2 * len(old) + 1, dtype=np.uint64)
        self._table[-1] = zero
        _enter(kept, self._table, self._key, self._shift, np.empty(len(kept), dtype=np.bool_))


@compiled
def _enter(numbers: Numbers, table: Numbers, key: np.uint64, shift: np.uint64, first: BoolArray) -> np.uint64:
    """Write each number where its product points, or at the next free place, and whether it was new there.

    A free place holds 0. That the number 0 is known is written at the last place, to which no product points.
    Where the next ones point is looked at beforehand, all at once: memory is slow, and they are anywhere.
    """
    places, seen = np.int64(len(table) - 1), np.uint64(0)
    for row in range(len(numbers)):
        for ahead in range(row, min(row + _AHEAD, len(numbers)) if row % _AHEAD == 0 else row):
            seen |= table[np.int64((numbers[ahead] * key) >> shift)]
        number = numbers[row]
        place = np.int64((number * key) >> shift)
        if number == 0:
            place = places
        while place < places and table[place] != 0 and table[place] != number:
            place = (place + 1) & (places - 1)
        first[row] = table[place] == 0
        table[place] = number if number != 0 else np.uint64(1)
    return seen
