"""Unary encoding: a coin for every answer, of which the true one alone is even."""

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

from .bit_rows import BitRows, put_own
from .coins import WHOLE, heads, rounded_up, rows_of_heads
from .randomiser import Reports, Support


@dataclass(frozen=True)
class Unary(BitRows):
    """The bit of the true answer is set with chance 1/2, each other one with chance q (Wang et al. 2017, OUE).

    Formal guarantees: bits are drawn on their own. Two true answers differ in the chances of two bits, and the ratio is
    largest where one is set and the other is not: ``(1 - q) / q``, at most exp(epsilon) for ``q >= 1 / (1 + e)``: q is
    rounded up.
    """

    NAME: ClassVar[str] = "unary"

    @cached_property
    def _set(self) -> int:
        """The chance q, in parts of `WHOLE`."""
        below = decay_above(self.epsilon)
        return rounded_up(below / (1 + below))

    @cached_property
    def support(self) -> Support:
        own, other = Fraction(1, 2), Fraction(self._set, WHOLE)
        return Support(own, other, own * other, other**2)

    def chance(self, answer: int, report: bytes) -> Fraction:
        """The true bit has the chance 1/2 either way."""
        others = self.supported(report) - self.supports(answer, report)
        other = self.support.other
        return Fraction(1, 2) * other**others * (1 - other) ** (self.answers - 1 - others)

    def every_report(self) -> Iterator[bytes]:
        return (bits.to_bytes(self.octets, "little") for bits in range(2**self.answers))

    def _drawn(self, answers: IntArray, randomness: Randomness) -> Reports:
        people = len(answers)
        rows = rows_of_heads(self._set, people, self.octets, randomness)
        rows[:, -1] &= self.used
        put_own(rows, answers, heads(WHOLE // 2, people, randomness))
        return rows

    def _may_be_set(self, received: Reports) -> BoolArray:
        return np.ones(len(received), dtype=np.bool_)
