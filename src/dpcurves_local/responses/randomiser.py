"""Randomisers of the local model, each the device's half of a frequency oracle, and the choice among them.

k-ary randomised response, Hadamard response, subset selection and optimised unary encoding: public probabilities,
reports of a fixed size, and counts of the answers that reports support. Local hashing is not among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.arrays import BoolArray, IntArray, compile_loop, loops_are_compiled
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON, bound_exp_neg_above
from dpcurves.noise.randomness import Randomness

from .coins import (
    WHOLE,
    round_down,
    round_up,
    sample_bernoulli,
    sample_bernoulli_rows,
    sample_uniform,
    sample_uniform_sets,
)

Reports = NDArray[np.uint8]
"""The octets of reports, (reports, octets), little-endian."""

MOST_ANSWERS = 2**24


class Support(NamedTuple):
    """Chances that a report supports an answer, from which debiasing, variances and covariances are computed.

    Attributes:
        p_true: It supports the true answer.
        p_other: It supports a given other answer.
        p_true_and_other: It supports the true answer and a given other one.
        p_two_others: It supports two given other answers.
    """

    p_true: Fraction
    p_other: Fraction
    p_true_and_other: Fraction
    p_two_others: Fraction

    @property
    def gain(self) -> Fraction:
        """The difference of the chances that a report supports the true answer and another one."""
        return self.p_true - self.p_other

    @property
    def likelihood_ratio(self) -> Fraction:
        """The largest likelihood ratio of a report under two answers; equal for any two.

        It is so of a report that supports the one and not the other: each of these is as many times as likely.
        """
        return (self.p_true - self.p_true_and_other) / (self.p_other - self.p_true_and_other)


@dataclass(frozen=True)
class Randomiser(ABC):
    """A randomised response for one of the answers 0, ..., `answers` - 1.

    Each report supports some answers. Whatever the truth is, each other answer has the same chance to be supported, and
    each pair of other ones: so tallies of support are debiased alike for all answers (Wang, Blocki, Li and Jha 2017).

    Formal guarantees: whatever the true answers x and y and the report o are, ``P(o | x) <= exp(epsilon) P(o | y)``.
    Chances of coins are dyadic, rounded so that this holds exactly, and `find_probability` says what is drawn from exactly: no
    floating-point number decides. The report alone leaves a person's hands.

    Attributes:
        NAME: The word that tells it in a task.
        MAX_ANSWERS: The largest number of answers that it is taken for.
        answers: How many answers there are.
        epsilon: What one report may lose.

    Raises:
        TypeError: `epsilon` is no exact number.
        ValueError: there are fewer than 2 answers or more than 2**24, or `epsilon` is not from 2**-20 to 64.
    """

    NAME: ClassVar[str]
    MAX_ANSWERS: ClassVar[int] = MOST_ANSWERS

    answers: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise WrongArgumentType("epsilon", f"a Fraction is needed, got {type(self.epsilon).__name__}")
        if not 2 <= self.answers <= MOST_ANSWERS:
            raise InvalidArgument("answers", f"from 2 to {MOST_ANSWERS} are randomised, got {self.answers}")
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise InvalidArgument(
                "epsilon", f"a number from 2**-20 to {MOST_EPSILON} is needed, got {float(self.epsilon):g}"
            )

    @cached_property
    @abstractmethod
    def support(self) -> Support:
        """The exact chances of support."""

    @property
    @abstractmethod
    def octets(self) -> int:
        """The length of a report in octets."""

    @abstractmethod
    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """The chance of a report if this answer is true: exact."""

    @abstractmethod
    def list_reports(self) -> Iterator[bytes]:
        """Every possible report: for few answers."""

    def draw(self, answers: IntArray, randomness: Randomness) -> Reports:
        """Draw an independent report for each true answer.

        Raises:
            ValueError: something is no answer. (What it is is not said.)
        """
        if answers.size and not (answers.min() >= 0 and answers.max() < self.answers):
            raise InvalidArgument("answers", f"whole numbers from 0 to {self.answers - 1} are needed")
        source, step = randomness.expand(), max(1, _AT_ONCE // self.octets)
        reports = np.empty((len(answers), self.octets), dtype=np.uint8)
        for start in range(0, len(answers), step):
            reports[start : start + step] = self._draw_reports(answers[start : start + step], source)
        return reports

    @abstractmethod
    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        """Draw a report for each true answer."""

    @abstractmethod
    def mark_valid_reports(self, received: Reports) -> BoolArray:
        """Mark the rows of (rows, octets) that are possible reports."""

    @abstractmethod
    def count_support(self, reports: Reports) -> IntArray:
        """The number of reports that support each answer: shape ``(answers,)``."""

    def variance(self, share: float = 0.0) -> float:
        """The variance of an answer's debiased count, per report, where this share of the reports has it as the truth.

        Over the reports alone: the true answers are given.
        """
        own, other, gain = (float(chance) for chance in (self.support.p_true, self.support.p_other, self.support.gain))
        return (share * own * (1 - own) + (1 - share) * other * (1 - other)) / gain**2

    def mean_prefix_variance(self) -> float:
        """The variance of a debiased count of the first m answers, per report, on average over m: of rare answers."""
        other, two, sizes = float(self.support.p_other), float(self.support.p_two_others), np.arange(1.0, self.answers)
        spread = sizes * other * (1 - other) + sizes * (sizes - 1) * (two - other**2)
        return float(spread.mean()) / float(self.support.gain) ** 2


_AT_ONCE = 2**19
"""Octets of reports that are drawn together."""


def to_octets(numbers: IntArray, octets: int) -> Reports:
    """Whole numbers in so many octets each, the lowest first."""
    whole = np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(whole[:, :octets])


def from_octets(reports: Reports) -> IntArray:
    """The whole numbers that `to_octets` wrote."""
    whole = reports[:, 0].astype(np.int64)
    for place in range(1, reports.shape[1]):
        whole |= reports[:, place].astype(np.int64) << 8 * place
    return whole


def make_contiguous(rows: Reports) -> Reports:
    """The rows one behind another, copied row by row and not octet by octet."""
    if rows.flags.c_contiguous:
        return rows
    octets = rows.shape[1]
    return np.ascontiguousarray(rows.view(f"V{octets}")).view(np.uint8).reshape(-1, octets)


def mark_zero_tails(rows: Reports, begin: int) -> BoolArray:
    """In which rows all octets from one on are 0."""
    found = np.ones(len(rows), dtype=np.bool_)
    if not loops_are_compiled():
        return np.asarray(~rows[:, begin:].any(axis=1))
    if begin < rows.shape[1]:
        behind = np.where(np.arange(rows.shape[1]) < begin, 0, 255).astype(np.uint8)
        _fill_zero_tails(rows, behind, found)
    return found


@compile_loop
def _fill_zero_tails(rows: Reports, behind: Reports, found: BoolArray) -> None:
    """Look at whole rows, which is quicker than at parts: several octets at once."""
    for row in range(len(rows)):
        seen = np.uint8(0)
        for place in range(rows.shape[1]):
            seen = np.uint8(seen | rows[row, place] & behind[place])
        found[row] = seen == 0


def to_words(rows: Reports) -> NDArray[np.uint64]:
    """Rows of octets as rows of 64 bits each, filled up with zeros."""
    octets = rows.shape[1]
    if octets % 8 == 0 and rows.flags.c_contiguous:
        return rows.view(np.uint64)
    whole = np.zeros((len(rows), -(-octets // 8) * 8), dtype=np.uint8)
    whole[:, :octets] = rows
    return whole.view(np.uint64)


def count_octets_needed(numbers: int) -> int:
    """The number of octets that distinguish so many numbers."""
    return max(1, ((numbers - 1).bit_length() + 7) // 8)


_BITS_AT_ONCE = 2**22
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)


class BitVectorRandomiser(Randomiser):
    """A report has one bit for each answer, the first in the lowest place: it supports those whose bit is set."""

    @property
    def octets(self) -> int:
        return (self.answers + 7) // 8

    def count_supported(self, report: bytes) -> int:
        """The number of answers that a report supports."""
        return int.from_bytes(report, "little").bit_count()

    def is_supported(self, answer: int, report: bytes) -> bool:
        """Tell whether a report supports an answer."""
        return bool(report[answer // 8] >> answer % 8 & 1)

    def mark_valid_reports(self, received: Reports) -> BoolArray:
        """Bits beyond the last answer are not set, and the others may be set together."""
        return (received[:, -1] <= self.last_octet_mask) & self._mark_valid_weights(received)

    @property
    def last_octet_mask(self) -> np.uint8:
        """The bits of the last octet that stand for answers."""
        return np.uint8((1 << self.answers - 8 * (self.octets - 1)) - 1)

    @abstractmethod
    def _mark_valid_weights(self, received: Reports) -> BoolArray:
        """Mark the rows whose number of set bits is possible."""

    def count_support(self, reports: Reports) -> IntArray:
        if not loops_are_compiled():
            return _sum_bits(reports, self.answers)
        seen = np.zeros((self.octets, 256), dtype=np.int64)
        _count_octet_values(reports, seen)
        return np.asarray((seen @ _BITS).reshape(-1)[: self.answers])


def set_true_bits(rows: Reports, answers: IntArray, is_set: BoolArray) -> None:
    """SECRET arguments. Set the bit of each row's answer, or unset it."""
    if loops_are_compiled():
        _fill_true_bits(rows, answers, is_set)
        return
    every, place, bit = np.arange(len(rows)), answers >> 3, (1 << (answers & 7)).astype(np.uint8)
    rows[every, place] = rows[every, place] & ~bit | is_set * bit


@compile_loop
def _fill_true_bits(rows: Reports, answers: IntArray, is_set: BoolArray) -> None:
    for row in range(len(rows)):
        place, bit = answers[row] >> 3, 1 << (answers[row] & 7)
        rows[row, place] = rows[row, place] & ~bit | bit * is_set[row]


def count_set_bits(rows: Reports) -> IntArray:
    """The number of bits that are set in each row."""
    words = to_words(rows)
    if words.shape[1] == 1:
        return np.bitwise_count(words[:, 0]).astype(np.int64)
    return np.asarray(np.einsum("ij->i", np.bitwise_count(words), dtype=np.int64))


def _sum_bits(reports: Reports, answers: int) -> IntArray:
    """The number of rows that set each bit."""
    step, counts = max(1, _BITS_AT_ONCE // answers), np.zeros(answers, dtype=np.int64)
    for start in range(0, len(reports), step):
        bits = np.unpackbits(reports[start : start + step], axis=1, count=answers, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.int64)
    return counts


@compile_loop
def _count_octet_values(reports: Reports, seen: IntArray) -> None:
    """Counts of the values of each octet: the counts of its eight bits follow in one step."""
    for row in range(len(reports)):
        for place in range(reports.shape[1]):
            seen[place, reports[row, place]] += 1


@dataclass(frozen=True)
class KaryRandomisedResponse(Randomiser):
    """k-ary randomised response: with chance a the true answer, else one of all k, evenly (Kairouz et al. 2016).

    A report supports the answer that it is.

    Formal guarantees: the true answer has the chance ``a + (1 - a) / k``, each other one ``(1 - a) / k``. Their ratio
    ``1 + a k / (1 - a)`` grows with a, and is e = exp(epsilon) at ``a = (e - 1) / (e - 1 + k)``: a is rounded down.

    >>> from fractions import Fraction
    >>> round(KaryRandomisedResponse(2, Fraction(1)).variance(), 4)
    0.9207
    """

    NAME: ClassVar[str] = "k-ary"

    @cached_property
    def _truth_parts(self) -> int:
        """The chance a, in parts of `WHOLE`."""
        below = bound_exp_neg_above(self.epsilon)
        return round_down((1 - below) / (1 - below + self.answers * below))

    @cached_property
    def support(self) -> Support:
        even_part = Fraction(WHOLE - self._truth_parts, WHOLE * self.answers)
        return Support(Fraction(self._truth_parts, WHOLE) + even_part, even_part, Fraction(0), Fraction(0))

    @property
    def octets(self) -> int:
        return count_octets_needed(self.answers)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        return self.support.p_true if int.from_bytes(report, "little") == answer else self.support.p_other

    def list_reports(self) -> Iterator[bytes]:
        return (answer.to_bytes(self.octets, "little") for answer in range(self.answers))

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        kept = sample_bernoulli(self._truth_parts, len(answers), randomness)
        return to_octets(np.where(kept, answers, sample_uniform(self.answers, len(answers), randomness)), self.octets)

    def mark_valid_reports(self, received: Reports) -> BoolArray:
        return from_octets(received) < self.answers

    def count_support(self, reports: Reports) -> IntArray:
        return np.bincount(from_octets(reports), minlength=self.answers)


@dataclass(frozen=True)
class HadamardResponse(Randomiser):
    """Hadamard response: a random column of the Hadamard matrix, and its noisy sign at the row of the answer.

    The index j is even below K, the least power of two that is at least k; the sign is the parity of the bits of
    ``j & answer``. The parity is flipped with the chance ``1 - p``, and sent with the index (Bassily, Nissim, Stemmer
    and Thakurta 2017; in Bell et al. 2019, Algorithm 2, the code is scaled by ``2**(-l/2)`` on both sides, which leaves
    ``2**-l`` of each count; here it has the signs alone). A report supports the answers whose parity at j is the one
    that was sent: each other answer with chance 1/2, and any two on their own, for the code is pairwise independent.

    Where the index is a public coin, drawn by nobody who knows the answer, one bit is all that a person says.

    Formal guarantees: the index does not depend on the answer; given it, one of two bits has the chance p, the other
    ``1 - p``, and ``p / (1 - p)`` is at most exp(epsilon): p is rounded down.
    """

    NAME: ClassVar[str] = "hadamard"

    @property
    def index_count(self) -> int:
        """The number of indices."""
        return 1 << (self.answers - 1).bit_length()

    @cached_property
    def _true_sign_parts(self) -> int:
        """The chance p, in parts of `WHOLE`."""
        return round_down(1 / (1 + bound_exp_neg_above(self.epsilon)))

    @cached_property
    def support(self) -> Support:
        told = Fraction(self._true_sign_parts, WHOLE)
        return Support(told, Fraction(1, 2), told / 2, Fraction(1, 4))

    @property
    def octets(self) -> int:
        return count_octets_needed(2 * self.index_count)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        index, bit = divmod(int.from_bytes(report, "little"), 2)
        told = (index & answer).bit_count() % 2 == bit
        return (self.support.p_true if told else 1 - self.support.p_true) / self.index_count

    def list_reports(self) -> Iterator[bytes]:
        return (report.to_bytes(self.octets, "little") for report in range(2 * self.index_count))

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        words = np.frombuffer(randomness.random_bytes(4 * len(answers)), dtype="<u4").astype(np.int64)
        index = words & (self.index_count - 1)
        return self.encode_reports(index, self.draw_bits(answers, index, randomness))

    def draw_bits(self, answers: IntArray, index: IntArray, randomness: Randomness) -> IntArray:
        """The reported bit for each answer where the indices are public."""
        flipped = ~sample_bernoulli(self._true_sign_parts, len(answers), randomness)
        return compute_parity(answers & index) ^ flipped

    def encode_reports(self, index: IntArray, bits: IntArray) -> Reports:
        """Reports of these bits at these indices."""
        return to_octets(index << 1 | bits, self.octets)

    def mark_valid_reports(self, received: Reports) -> BoolArray:
        return from_octets(received) < 2 * self.index_count

    def count_support(self, reports: Reports) -> IntArray:
        """By the fast Walsh-Hadamard transform of the signs at each index."""
        sent = np.bincount(from_octets(reports), minlength=2 * self.index_count).reshape(-1, 2)
        return ((len(reports) + walsh_hadamard(sent[:, 0] - sent[:, 1])) // 2)[: self.answers]

    def count_support_of(self, answer: int, reports: Reports) -> int:
        """The number of reports that support one answer, computed from the reports: without a table of all answers."""
        sent = from_octets(reports)
        return int(np.count_nonzero(compute_parity(sent >> 1 & answer) == (sent & 1)))


def compute_parity(numbers: IntArray) -> IntArray:
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


@dataclass(frozen=True)
class SubsetSelection(BitVectorRandomiser):
    """A set of d answers: with chance p the true one and d - 1 others, else d others, evenly (Ye and Barg 2018).

    The size d is about ``k / (1 + e)``, for which rare answers have the least variance.

    Formal guarantees: a set has the chance ``p / C(k-1, d-1)`` if the true answer is in it, ``(1 - p) / C(k-1, d)`` if
    not: the ratio ``p (k - d) / ((1 - p) d)`` is at most exp(epsilon), for p is rounded down.

    Raises:
        ValueError: there are more than 2**12 answers.
    """

    NAME: ClassVar[str] = "subset"
    MAX_ANSWERS: ClassVar[int] = 2**12

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers > self.MAX_ANSWERS:
            raise InvalidArgument("answers", f"subsets of at most {self.MAX_ANSWERS} are sent, got {self.answers}")

    @cached_property
    def size(self) -> int:
        """The number of answers in a set."""
        return min(max(1, round(self.answers * self._size_fraction)), self.answers - 1)

    @property
    def _size_fraction(self) -> Fraction:
        below = bound_exp_neg_above(self.epsilon)
        return below / (1 + below)

    @cached_property
    def _inclusion_parts(self) -> int:
        """The chance p, in parts of `WHOLE`."""
        left_out = (self.answers - self.size) * bound_exp_neg_above(self.epsilon)
        return round_down(self.size / (self.size + left_out))

    @cached_property
    def support(self) -> Support:
        own, size, others = Fraction(self._inclusion_parts, WHOLE), self.size, self.answers - 1
        with_own, without = Fraction(size - 1, others), Fraction(size, others)
        pairs = max(others * (others - 1), 1)
        two = own * Fraction((size - 1) * (size - 2), pairs) + (1 - own) * Fraction(size * (size - 1), pairs)
        return Support(own, own * with_own + (1 - own) * without, own * with_own, two)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        own, others = Fraction(self._inclusion_parts, WHOLE), self.answers - 1
        if self.is_supported(answer, report):
            return own / comb(others, self.size - 1)
        return (1 - own) / comb(others, self.size)

    def list_reports(self) -> Iterator[bytes]:
        for chosen in combinations(range(self.answers), self.size):
            yield sum(1 << answer for answer in chosen).to_bytes(self.octets, "little")

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        own = sample_bernoulli(self._inclusion_parts, len(answers), randomness)
        rows = sample_uniform_sets(answers, own, self.answers, self.size, randomness)
        return rows.view(np.uint8)[:, : self.octets]

    def _mark_valid_weights(self, received: Reports) -> BoolArray:
        return np.asarray(count_set_bits(received) == self.size, dtype=np.bool_)


# Unary encoding: a coin for every answer, of which the true one alone is even.
@dataclass(frozen=True)
class UnaryEncoding(BitVectorRandomiser):
    """Optimised unary encoding: the true answer's bit is set with chance 1/2, others with q (Wang et al. 2017, OUE).

    Formal guarantees: bits are drawn on their own. Two true answers differ in the chances of two bits, and the ratio is
    largest where one is set and the other is not: ``(1 - q) / q``, at most exp(epsilon) for ``q >= 1 / (1 + e)``: q is
    rounded up.
    """

    NAME: ClassVar[str] = "unary"

    @cached_property
    def _false_bit_parts(self) -> int:
        """The chance q, in parts of `WHOLE`."""
        below = bound_exp_neg_above(self.epsilon)
        return round_up(below / (1 + below))

    @cached_property
    def support(self) -> Support:
        own, other = Fraction(1, 2), Fraction(self._false_bit_parts, WHOLE)
        return Support(own, other, own * other, other**2)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """The true bit has the chance 1/2 either way."""
        others = self.count_supported(report) - self.is_supported(answer, report)
        other = self.support.p_other
        return Fraction(1, 2) * other**others * (1 - other) ** (self.answers - 1 - others)

    def list_reports(self) -> Iterator[bytes]:
        return (bits.to_bytes(self.octets, "little") for bits in range(2**self.answers))

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        people = len(answers)
        rows = sample_bernoulli_rows(self._false_bit_parts, people, self.octets, randomness)
        rows[:, -1] &= self.last_octet_mask
        set_true_bits(rows, answers, sample_bernoulli(WHOLE // 2, people, randomness))
        return rows

    def _mark_valid_weights(self, received: Reports) -> BoolArray:
        return np.ones(len(received), dtype=np.bool_)


RANDOMISERS: tuple[type[Randomiser], ...] = (KaryRandomisedResponse, HadamardResponse, SubsetSelection, UnaryEncoding)
"""Each with a `NAME` of its own: a new randomiser is a class above, and a word here."""
LONGEST = 64
"""Octets of a report that are sent rather than a shorter one that errs more."""


def make_randomiser(name: str, answers: int, epsilon: Fraction) -> Randomiser:
    """The randomiser of this name.

    Raises:
        ValueError: none has this name, or there are too many answers for it.
    """
    known = {each.NAME: each for each in RANDOMISERS}
    if name not in known:
        raise InvalidArgument("randomiser", f"one of {', '.join(known)} is needed")
    return known[name](answers, epsilon)


def choose_randomiser(
    answers: int, epsilon: Fraction, max_octets: int = LONGEST, candidates: tuple[type[Randomiser], ...] = RANDOMISERS
) -> Randomiser:
    """The randomiser with the least variance of counts of rare answers; of equal ones the shortest.

    Variances are per report, so the choice does not depend on how many there are. Sums of several answers, which are
    read from a tree, are sums of few of them at each level.

    Args:
        answers: How many there are.
        epsilon: What one report may lose.
        max_octets: Octets of a report at most.
        candidates: Those that may be taken.

    >>> from fractions import Fraction
    >>> [choose_randomiser(answers, Fraction(1)).NAME for answers in (2, 16, 64, 2**16)]
    ['k-ary', 'subset', 'subset', 'hadamard']
    """
    known = [each(answers, epsilon) for each in candidates if answers <= each.MAX_ANSWERS]
    return min((each for each in known if each.octets <= max_octets), key=lambda each: (each.variance(), each.octets))
