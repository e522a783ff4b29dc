"""Reports that are one bit for each answer."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from dpcurves.arrays import BoolArray, IntArray
from dpcurves.compiled import compiled, loops_are_compiled

from .randomiser import Randomiser, Reports, in_words

_AT_ONCE = 2**22
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)


class BitRows(Randomiser):
    """A report has one bit for each answer, the first in the lowest place: it supports those whose bit is set."""

    @property
    def octets(self) -> int:
        return (self.answers + 7) // 8

    def supported(self, report: bytes) -> int:
        """The number of answers that a report supports."""
        return int.from_bytes(report, "little").bit_count()

    def supports(self, answer: int, report: bytes) -> bool:
        """Tell whether a report supports an answer."""
        return bool(report[answer // 8] >> answer % 8 & 1)

    def are_reports(self, received: Reports) -> BoolArray:
        """Bits beyond the last answer are not set, and the others may be set together."""
        return (received[:, -1] <= self.used) & self._may_be_set(received)

    @property
    def used(self) -> np.uint8:
        """The bits of the last octet that stand for answers."""
        return np.uint8((1 << self.answers - 8 * (self.octets - 1)) - 1)

    @abstractmethod
    def _may_be_set(self, received: Reports) -> BoolArray:
        """Mark the rows whose number of set bits is possible."""

    def tally(self, reports: Reports) -> IntArray:
        if not loops_are_compiled():
            return _sums_of_bits(reports, self.answers)
        seen = np.zeros((self.octets, 256), dtype=np.int64)
        _count_octets(reports, seen)
        return np.asarray((seen @ _BITS).reshape(-1)[: self.answers])


def put_own(rows: Reports, answers: IntArray, own: BoolArray) -> None:
    """SECRET arguments. Set the bit of each row's answer, or unset it."""
    if loops_are_compiled():
        _put_own(rows, answers, own)
        return
    every, place, bit = np.arange(len(rows)), answers >> 3, (1 << (answers & 7)).astype(np.uint8)
    rows[every, place] = rows[every, place] & ~bit | own * bit


@compiled
def _put_own(rows: Reports, answers: IntArray, own: BoolArray) -> None:
    """Write what `put_own` does."""
    for row in range(len(rows)):
        place, bit = answers[row] >> 3, 1 << (answers[row] & 7)
        rows[row, place] = rows[row, place] & ~bit | bit * own[row]


def bits_set(rows: Reports) -> IntArray:
    """The number of bits that are set in each row."""
    words = in_words(rows)
    if words.shape[1] == 1:
        return np.bitwise_count(words[:, 0]).astype(np.int64)
    return np.asarray(np.einsum("ij->i", np.bitwise_count(words), dtype=np.int64))


def _sums_of_bits(reports: Reports, answers: int) -> IntArray:
    """The number of rows that set each bit."""
    step, counts = max(1, _AT_ONCE // answers), np.zeros(answers, dtype=np.int64)
    for start in range(0, len(reports), step):
        bits = np.unpackbits(reports[start : start + step], axis=1, count=answers, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.int64)
    return counts


@compiled
def _count_octets(reports: Reports, seen: IntArray) -> None:
    """Counts of the values of each octet: the counts of its eight bits follow in one step."""
    for row in range(len(reports)):
        for place in range(reports.shape[1]):
            seen[place, reports[row, place]] += 1
