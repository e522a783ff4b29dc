"""Hadamard response: one bit of a public code of the answer, flipped by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcurves.arrays import BoolArray, IntArray
from dpcurves.noise.exponential import decay_above
from dpcurves.noise.randomness import Randomness

from .coins import WHOLE, heads, rounded_down
from .randomiser import Randomiser, Reports, Support, from_octets, in_octets, octets_for


@dataclass(frozen=True)
class Hadamard(Randomiser):
    """At an even index j below K, the least power of two that is at least k, the parity of the bits of ``j & answer``.

    The parity is flipped with the chance ``1 - p``, and sent with the index (Bassily, Nissim, Stemmer and Thakurta
    2017; in Bell et al. 2019, Algorithm 2, the code is scaled by ``2**(-l/2)`` on both sides, which leaves ``2**-l`` of
    each count; here it has the signs alone). A report supports the answers whose parity at j is the one that was sent:
    each other answer with chance 1/2, and any two on their own, for the code is pairwise independent.

    Where the index is a public coin, drawn by nobody who knows the answer, one bit is all that a person says.

    Formal guarantees: the index does not depend on the answer; given it, one of two bits has the chance p, the other
    ``1 - p``, and ``p / (1 - p)`` is at most exp(epsilon): p is rounded down.
    """

    NAME: ClassVar[str] = "hadamard"

    @property
    def length(self) -> int:
        """The number of indices."""
        return 1 << (self.answers - 1).bit_length()

    @cached_property
    def _told(self) -> int:
        """The chance p, in parts of `WHOLE`."""
        return rounded_down(1 / (1 + decay_above(self.epsilon)))

    @cached_property
    def support(self) -> Support:
        told = Fraction(self._told, WHOLE)
        return Support(told, Fraction(1, 2), told / 2, Fraction(1, 4))

    @property
    def octets(self) -> int:
        return octets_for(2 * self.length)

    def chance(self, answer: int, report: bytes) -> Fraction:
        index, bit = divmod(int.from_bytes(report, "little"), 2)
        told = (index & answer).bit_count() % 2 == bit
        return (self.support.own if told else 1 - self.support.own) / self.length

    def every_report(self) -> Iterator[bytes]:
        return (report.to_bytes(self.octets, "little") for report in range(2 * self.length))

    def _drawn(self, answers: IntArray, randomness: Randomness) -> Reports:
        words = np.frombuffer(randomness.octets(4 * len(answers)), dtype="<u4").astype(np.int64)
        index = words & (self.length - 1)
        return self.sent(index, self.bits(answers, index, randomness))

    def bits(self, answers: IntArray, index: IntArray, randomness: Randomness) -> IntArray:
        """The reported bit for each answer where the indices are public."""
        flipped = ~heads(self._told, len(answers), randomness)
        return parity(answers & index) ^ flipped

    def sent(self, index: IntArray, bits: IntArray) -> Reports:
        """Reports of these bits at these indices."""
        return in_octets(index << 1 | bits, self.octets)

    def are_reports(self, received: Reports) -> BoolArray:
        return from_octets(received) < 2 * self.length

    def tally(self, reports: Reports) -> IntArray:
        """By the fast Walsh-Hadamard transform of the signs at each index."""
        sent = np.bincount(from_octets(reports), minlength=2 * self.length).reshape(-1, 2)
        return ((len(reports) + walsh_hadamard(sent[:, 0] - sent[:, 1])) // 2)[: self.answers]

    def support_of(self, answer: int, reports: Reports) -> int:
        """The number of reports that support one answer, computed from the reports: without a table of all answers."""
        sent = from_octets(reports)
        return int(np.count_nonzero(parity(sent >> 1 & answer) == (sent & 1)))


def parity(numbers: IntArray) -> IntArray:
    """Tell whether the number of ones among the bits of each is odd."""
    return np.bitwise_count(numbers).astype(np.int64) & 1


def walsh_hadamard(signs: IntArray) -> IntArray:
    """Entry q is the sum over j of ``signs[j]``, negative where the parity of ``j & q`` is odd; a power of two long.

    >>> walsh_hadamard(np.array([3, 1, 0, 0])).tolist()
    [4, 2, 4, 2]
    """
    sums, half = signs.astype(np.int64), 1
    while half < len(sums):
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return sums
