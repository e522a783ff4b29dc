"""Subset selection: a set of answers that has the true one in it more often than others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.noise.exponential import decay_above
from dpcurves.noise.randomness import Randomness

from .bit_rows import BitRows, bits_set
from .coins import WHOLE, heads, rounded_down
from .even_sets import even_sets
from .randomiser import Reports, Support

MOST_ANSWERS = 2**12


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
        """The number of answers in a set."""
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
        rows = even_sets(answers, own, self.answers, self.size, randomness)
        return rows.view(np.uint8)[:, : self.octets]

    def _may_be_set(self, received: Reports) -> BoolArray:
        return np.asarray(bits_set(received) == self.size, dtype=np.bool_)
