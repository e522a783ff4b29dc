"""Reports that are one bit for each answer."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...arrays import BoolArray, IntArray
from .randomiser import Randomiser, Reports

_AT_ONCE = 2**22


class BitRows(Randomiser):
    """A report has one bit for each answer, the first in the lowest place: it supports those whose bit is set."""

    @property
    def octets(self) -> int:
        return (self.answers + 7) // 8

    def supported(self, report: bytes) -> int:
        """How many answers a report supports."""
        return int.from_bytes(report, "little").bit_count()

    def supports(self, answer: int, report: bytes) -> bool:
        """Whether a report supports an answer."""
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
        """Which rows may have so many bits set as they have."""

    def tally(self, reports: Reports) -> IntArray:
        step, counts = max(1, _AT_ONCE // self.answers), np.zeros(self.answers, dtype=np.int64)
        for start in range(0, len(reports), step):
            bits = np.unpackbits(reports[start : start + step], axis=1, count=self.answers, bitorder="little")
            counts += bits.sum(axis=0, dtype=np.int64)
        return counts
