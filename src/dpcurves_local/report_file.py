"""Reports as octets, and the names of people who were counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray, compiled, loops_are_compiled
from dpcurves.noise.randomness import Randomness

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
    """Hash set of names of 8 octets, by multiplicative hashing with a random odd number (Dietzfelbinger et al.).

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
            old, zero = self._table[:-1], self._table[-1]
            kept = old[old != 0]
            self._table = np.zeros(2 * len(old) + 1, dtype=np.uint64)
            self._table[-1] = zero
            _enter(kept, self._table, self._key, self._shift, np.empty(len(kept), dtype=np.bool_))
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


MAGIC = b"DPLR"
NAME = 8
"""Octets that stand for a person."""
COUNT, CHECK = 8, 4
MOST_AT_ONCE = 2**17
WINDOW = 2**16
Octets = NDArray[np.uint8]


class Records(NamedTuple):
    """Some records of a file.

    Attributes:
        names: What stands for the person of each: (records, 8).
        messages: What each person says: (records, octets).
        damaged: How many were found before them that are none, or of another task.
    """

    names: Octets
    messages: Octets
    damaged: int


@dataclass(frozen=True)
class Form:
    """The binary format of a task's reports. Integers are little-endian.

    A part is a header and so many records. The header is ``DPLR``, the version (1 octet), the length of a message (3),
    the first octets of the hash of the task (16), how many records follow (4), and a check of that (4). A record is the
    name of a person (8), a message, and a check of both (4): so what was damaged on the way is told from what was not.

    Attributes:
        version: The version of this form.
        task: The first octets of the hash of the task.
        octets: How long a message is.
    """

    TASK: ClassVar[int] = 16

    version: int
    task: bytes
    octets: int

    @property
    def head(self) -> bytes:
        """The header without its number of records."""
        return MAGIC + bytes([self.version]) + self.octets.to_bytes(3, "little") + self.task

    @classmethod
    def of(cls, data: bytes | memoryview) -> Form | None:
        """The form of what begins a file; None: that is no header."""
        head = bytes(data[: len(MAGIC) + 4 + cls.TASK])
        if len(head) < len(MAGIC) + 4 + cls.TASK or not head.startswith(MAGIC):
            return None
        return cls(head[4], head[8:], int.from_bytes(head[5:8], "little"))

    @property
    def alone(self) -> bytes:
        """The header of one record."""
        return self.head + counted(1)

    @property
    def record(self) -> int:
        """The length of a record in bytes."""
        return NAME + self.octets + CHECK

    def written(self, name: bytes, message: bytes) -> bytes:
        """The bytes that one person sends."""
        one = np.frombuffer(name, dtype=np.uint8)[None], np.frombuffer(message, dtype=np.uint8)[None]
        return self.written_all(*one)

    def written_all(self, names: Octets, messages: Octets) -> bytes:
        """The records of many people as one part."""
        return self.head + counted(len(names)) + self._checked(names, messages).tobytes()

    def written_singly(self, names: Octets, messages: Octets) -> bytes:
        """The records of many people as a part each: what they would have sent one by one."""
        heads = np.tile(np.frombuffer(self.alone, dtype=np.uint8), (len(names), 1))
        return np.concatenate([heads, self._checked(names, messages)], axis=1).tobytes()

    def _checked(self, names: Octets, messages: Octets) -> Octets:
        told = np.concatenate([names, messages], axis=1)
        checks = self._checks(told).astype("<u4").view(np.uint8).reshape(-1, CHECK)
        return np.concatenate([told, checks], axis=1)

    def read(self, data: bytes | memoryview) -> Iterator[Records]:
        """Iterate over whole records of this task, in chunks.

        Where no header of the task stands, the next one is looked for: what lies between counts as one that is damaged.
        """
        view, place, damaged = memoryview(data).cast("B"), 0, 0
        length = len(self.head) + COUNT
        while place < len(view):
            said = self._said(view, place)
            if said is None:
                damaged, place = damaged + 1, self._next(view, place + 1)
                continue
            singles = self._singles(view, place)
            if singles:
                whole = np.frombuffer(view[place:], dtype=np.uint8, count=singles * (length + self.record))
                yield self._sound(whole.reshape(singles, -1)[:, length:], damaged)
                damaged, place = 0, place + len(whole)
                continue
            place += length
            there = min(said, (len(view) - place) // self.record, MOST_AT_ONCE)
            yield self._sound(self._rows(view, place, there), damaged)
            damaged, place, left = 0, place + there * self.record, said - there
            while left and there == MOST_AT_ONCE:
                there = min(left, (len(view) - place) // self.record, MOST_AT_ONCE)
                yield self._sound(self._rows(view, place, there), 0)
                place, left = place + there * self.record, left - there
            if left:
                damaged, place = damaged + 1, self._next(view, place)
        if damaged:
            yield Records(np.zeros((0, NAME), np.uint8), np.zeros((0, self.octets), np.uint8), damaged)

    def _said(self, view: memoryview, place: int) -> int | None:
        """The number of records in the header at this place; None: no whole header of this task is there."""
        told = bytes(view[place : place + len(self.head) + COUNT])
        many = int.from_bytes(told[len(self.head) : len(self.head) + 4], "little")
        return many if told == self.head + counted(many) else None

    def _rows(self, view: memoryview, place: int, records: int) -> Octets:
        flat = np.frombuffer(view[place : place + records * self.record], dtype=np.uint8)
        return flat.reshape(records, self.record)

    def _singles(self, view: memoryview, place: int) -> int:
        """The number of consecutive one-record parts that begin here, as people sent them."""
        alone = self.alone
        stride = len(alone) + self.record
        parts = min((len(view) - place) // stride, MOST_AT_ONCE)
        if parts < 1:
            return 0
        rows = np.frombuffer(view[place : place + parts * stride], dtype=np.uint8).reshape(parts, stride)
        other = (rows[:, : len(alone)] != np.frombuffer(alone, dtype=np.uint8)).any(axis=1)
        return int(other.argmax()) if other.any() else parts

    def _next(self, view: memoryview, place: int) -> int:
        """The position of the next header of this task, or the end."""
        while place < len(view):
            found = bytes(view[place : place + WINDOW + len(self.head)]).find(self.head)
            if found >= 0:
                return place + found
            place += WINDOW
        return len(view)

    def _sound(self, rows: Octets, damaged: int) -> Records:
        """The records whose check is right; the others are counted."""
        told, checks = rows[:, : NAME + self.octets], rows[:, NAME + self.octets :].view("<u4")
        good: BoolArray = checks.reshape(-1) == self._checks(told)
        bad = int(len(good) - np.count_nonzero(good))
        kept = told[good] if bad else told
        return Records(kept[:, :NAME], kept[:, NAME:], damaged + bad)

    def _checks(self, told: Octets) -> NDArray[np.uint32]:
        """A sum of all octets modulo 2**32, each times an odd number of its own that the task fixes.

        One octet that changed changes it, for odd numbers divide no power of two; others do but for chance.
        """
        weights, found = self._weights, np.empty(len(told), dtype=np.uint32)
        if loops_are_compiled():
            _add_weighted(told, weights, found)
        else:
            found[:] = _weighted(told, weights)
        return found

    @cached_property
    def _weights(self) -> NDArray[np.uint32]:
        source = Randomness.keyed(self.task * 2, "checks")
        return source.words(NAME + self.octets).astype(np.uint32) | np.uint32(1)


def _weighted(told: Octets, weights: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The first weight, and each octet times its own."""
    return np.asarray((told.astype(np.uint32) * weights).sum(axis=1, dtype=np.uint32) + weights[0])


@compiled
def _add_weighted(told: Octets, weights: NDArray[np.uint32], found: NDArray[np.uint32]) -> None:
    for row in range(len(told)):
        total = weights[0]
        for place in range(told.shape[1]):
            total += np.uint32(told[row, place]) * weights[place]
        found[row] = total


def octets_of(path: str | Path) -> memoryview:
    """The bytes of a file of reports, mapped and read on access. Raises `ValueError`: the file can not be read."""
    try:
        size = Path(path).stat().st_size
        data: Any = np.memmap(path, dtype=np.uint8, mode="r") if size else b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no file"
        raise Refused("reports", f"a file can not be read ({reason})") from None
    return memoryview(data)


def counted(records: int) -> bytes:
    """A header: the number of records that follow, and a checksum that detects one changed byte."""
    return records.to_bytes(4, "little") + (records * 2654435761 + 1 & 0xFFFFFFFF).to_bytes(4, "little")
