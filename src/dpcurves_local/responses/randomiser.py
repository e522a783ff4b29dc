"""Base of randomised responses: public chances, reports of a fixed size, and tallies of the supported answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused, WrongKind
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.compiled import compiled, loops_are_compiled
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON
from dpcurves.noise.randomness import Randomness

Reports = NDArray[np.uint8]
"""The octets of reports, (reports, octets), little-endian."""

MOST_ANSWERS = 2**24


class Support(NamedTuple):
    """Chances that a report supports an answer, from which debiasing, variances and covariances are computed.

    Attributes:
        own: It supports the true answer.
        other: It supports a given other answer.
        own_and_other: It supports the true answer and a given other one.
        two_others: It supports two given other answers.
    """

    own: Fraction
    other: Fraction
    own_and_other: Fraction
    two_others: Fraction

    @property
    def gain(self) -> Fraction:
        """The difference of the chances that a report supports the true answer and another one."""
        return self.own - self.other

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio of a report under two answers; equal for any two.

        It is so of a report that supports the one and not the other: each of these is as many times as likely.
        """
        return (self.own - self.own_and_other) / (self.other - self.own_and_other)


@dataclass(frozen=True)
class Randomiser(ABC):
    """A randomised response for one of the answers 0, ..., `answers` - 1.

    Each report supports some answers. Whatever the truth is, each other answer has the same chance to be supported, and
    each pair of other ones: so tallies of support are debiased alike for all answers (Wang, Blocki, Li and Jha 2017).

    Formal guarantees: whatever the true answers x and y and the report o are, ``P(o | x) <= exp(epsilon) P(o | y)``.
    Chances of coins are dyadic, rounded so that this holds exactly, and `chance` says what is drawn from exactly: no
    floating-point number decides. The report alone leaves a person's hands.

    Attributes:
        NAME: The word that tells it in a task.
        answers: How many answers there are.
        epsilon: What one report may lose.

    Raises:
        TypeError: `epsilon` is no exact number.
        ValueError: there are fewer than 2 answers or more than 2**24, or `epsilon` is not from 2**-20 to 64.
    """

    NAME: ClassVar[str]

    answers: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise WrongKind("epsilon", f"a Fraction is needed, got {type(self.epsilon).__name__}")
        if not 2 <= self.answers <= MOST_ANSWERS:
            raise Refused("answers", f"from 2 to {MOST_ANSWERS} are randomised, got {self.answers}")
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise Refused("epsilon", f"a number from 2**-20 to {MOST_EPSILON} is needed, got {float(self.epsilon):g}")

    @cached_property
    @abstractmethod
    def support(self) -> Support:
        """The exact chances of support."""

    @property
    @abstractmethod
    def octets(self) -> int:
        """The length of a report in octets."""

    @abstractmethod
    def chance(self, answer: int, report: bytes) -> Fraction:
        """The chance of a report if this answer is true: exact."""

    @abstractmethod
    def every_report(self) -> Iterator[bytes]:
        """Every possible report: for few answers."""

    def draw(self, answers: IntArray, randomness: Randomness) -> Reports:
        """Draw an independent report for each true answer.

        Raises:
            ValueError: something is no answer. (What it is is not said.)
        """
        if answers.size and not (answers.min() >= 0 and answers.max() < self.answers):
            raise Refused("answers", f"whole numbers from 0 to {self.answers - 1} are needed")
        source, step = randomness.expanded(), max(1, _AT_ONCE // self.octets)
        reports = np.empty((len(answers), self.octets), dtype=np.uint8)
        for start in range(0, len(answers), step):
            reports[start : start + step] = self._drawn(answers[start : start + step], source)
        return reports

    @abstractmethod
    def _drawn(self, answers: IntArray, randomness: Randomness) -> Reports:
        """Draw a report for each true answer."""

    @abstractmethod
    def are_reports(self, received: Reports) -> BoolArray:
        """Mark the rows of (rows, octets) that are possible reports."""

    @abstractmethod
    def tally(self, reports: Reports) -> IntArray:
        """The number of reports that support each answer: shape ``(answers,)``."""

    def variance(self, share: float = 0.0) -> float:
        """The variance of an answer's debiased count, per report, where this share of the reports has it as the truth.

        Over the reports alone: the true answers are given.
        """
        own, other, gain = (float(chance) for chance in (self.support.own, self.support.other, self.support.gain))
        return (share * own * (1 - own) + (1 - share) * other * (1 - other)) / gain**2

    def mean_prefix_variance(self) -> float:
        """The variance of a debiased count of the first m answers, per report, on average over m: of rare answers."""
        other, two, sizes = float(self.support.other), float(self.support.two_others), np.arange(1.0, self.answers)
        spread = sizes * other * (1 - other) + sizes * (sizes - 1) * (two - other**2)
        return float(spread.mean()) / float(self.support.gain) ** 2


_AT_ONCE = 2**19
"""Octets of reports that are drawn together."""


def in_octets(numbers: IntArray, octets: int) -> Reports:
    """Whole numbers in so many octets each, the lowest first."""
    whole = np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(whole[:, :octets])


def from_octets(reports: Reports) -> IntArray:
    """The whole numbers that `in_octets` wrote."""
    whole = reports[:, 0].astype(np.int64)
    for place in range(1, reports.shape[1]):
        whole |= reports[:, place].astype(np.int64) << 8 * place
    return whole


def close_together(rows: Reports) -> Reports:
    """The rows one behind another, copied row by row and not octet by octet."""
    if rows.flags.c_contiguous:
        return rows
    octets = rows.shape[1]
    return np.ascontiguousarray(rows.view(f"V{octets}")).view(np.uint8).reshape(-1, octets)


def unset_from(rows: Reports, begin: int) -> BoolArray:
    """In which rows all octets from one on are 0."""
    found = np.ones(len(rows), dtype=np.bool_)
    if not loops_are_compiled():
        return np.asarray(~rows[:, begin:].any(axis=1))
    if begin < rows.shape[1]:
        behind = np.where(np.arange(rows.shape[1]) < begin, 0, 255).astype(np.uint8)
        _look_behind(rows, behind, found)
    return found


@compiled
def _look_behind(rows: Reports, behind: Reports, found: BoolArray) -> None:
    """Look at whole rows, which is quicker than at parts: several octets at once."""
    for row in range(len(rows)):
        seen = np.uint8(0)
        for place in range(rows.shape[1]):
            seen = np.uint8(seen | rows[row, place] & behind[place])
        found[row] = seen == 0


def in_words(rows: Reports) -> NDArray[np.uint64]:
    """Rows of octets as rows of 64 bits each, filled up with zeros."""
    octets = rows.shape[1]
    if octets % 8 == 0 and rows.flags.c_contiguous:
        return rows.view(np.uint64)
    whole = np.zeros((len(rows), -(-octets // 8) * 8), dtype=np.uint8)
    whole[:, :octets] = rows
    return whole.view(np.uint64)


def octets_for(numbers: int) -> int:
    """The number of octets that distinguish so many numbers."""
    return max(1, ((numbers - 1).bit_length() + 7) // 8)
