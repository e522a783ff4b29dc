"""Randomised response over k answers: the true one, or any."""

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

from .coins import WHOLE, even, heads, rounded_down
from .randomiser import Randomiser, Reports, Support, from_octets, in_octets, octets_for


@dataclass(frozen=True)
class KAry(Randomiser):
    """With chance a the true answer is sent, else one of all k answers, evenly (Warner 1965; Kairouz et al. 2016).

    A report supports the answer that it is.

    Formal guarantees: the true answer has the chance ``a + (1 - a) / k``, each other one ``(1 - a) / k``. Their ratio
    ``1 + a k / (1 - a)`` grows with a, and is e = exp(epsilon) at ``a = (e - 1) / (e - 1 + k)``: a is rounded down.

    >>> from fractions import Fraction
    >>> round(KAry(2, Fraction(1)).variance(), 4)
    0.9207
    """

    NAME: ClassVar[str] = "k-ary"

    @cached_property
    def _kept(self) -> int:
        """The chance a, in parts of `WHOLE`."""
        below = decay_above(self.epsilon)
        return rounded_down((1 - below) / (1 - below + self.answers * below))

    @cached_property
    def support(self) -> Support:
        even_part = Fraction(WHOLE - self._kept, WHOLE * self.answers)
        return Support(Fraction(self._kept, WHOLE) + even_part, even_part, Fraction(0), Fraction(0))

    @property
    def octets(self) -> int:
        return octets_for(self.answers)

    def chance(self, answer: int, report: bytes) -> Fraction:
        return self.support.own if int.from_bytes(report, "little") == answer else self.support.other

    def every_report(self) -> Iterator[bytes]:
        return (answer.to_bytes(self.octets, "little") for answer in range(self.answers))

    def _drawn(self, answers: IntArray, randomness: Randomness) -> Reports:
        kept = heads(self._kept, len(answers), randomness)
        return in_octets(np.where(kept, answers, even(self.answers, len(answers), randomness)), self.octets)

    def are_reports(self, received: Reports) -> BoolArray:
        return from_octets(received) < self.answers

    def tally(self, reports: Reports) -> IntArray:
        return np.bincount(from_octets(reports), minlength=self.answers)
