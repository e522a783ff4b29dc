"""Reports as octets: what one person sends is a header and one record, a file is many of these, one behind another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray
from dpcurves.compiled import compiled, loops_are_compiled
from dpcurves.noise.randomness import Randomness

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
    """Write what `_weighted` tells."""
    for row in range(len(told)):
        total = weights[0]
        for place in range(told.shape[1]):
            total += np.uint32(told[row, place]) * weights[place]
        found[row] = total


def octets_of(path: str | Path) -> memoryview:
    """The bytes of a file of reports, mapped and read on access.

    Raises:
        ValueError: the file can not be read.
    """
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
