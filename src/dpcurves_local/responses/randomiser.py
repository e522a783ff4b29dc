"""Local randomisers (randomised response), the client side of frequency oracles, and the choice among them.

A person's true answer is one of k. The device sends a random report, whose distribution depends on the answer so little
that it is epsilon-differentially private. A report supports a set of answers, more often the true one than others, so
that counts of supporting reports estimate how many people have each answer.

    KaryRandomisedResponse    the true answer, or a uniform one (also called generalised randomised response, GRR)
    HadamardResponse          one noisy sign of the Hadamard code of the answer
    SubsetSelection           a random set of answers, which is likely to contain the true one
    UnaryEncoding             one noisy bit per answer (optimised unary encoding, OUE)

Each class states its exact probabilities, draws reports of a fixed size, and counts how many reports support each
answer. `choose_randomiser` selects the most accurate one. Local hashing is not implemented; `docs/exercises/randomiser`
adds it.

Formal guarantees: for any two true answers, the probabilities of every report differ by a factor of at most
exp(epsilon). The docstring of each class has the proof.
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

from .bernoulli_sampler import (
    ONE_PROBABILITY,
    round_down,
    round_up,
    sample_bernoulli,
    sample_bernoulli_rows,
    sample_uniform,
    sample_uniform_sets,
)

Reports = NDArray[np.uint8]
"""Bytes of reports, shape (reports, octets), little-endian."""

MOST_ANSWERS = 2**24
"""Largest number of possible answers of a randomiser, as counts of 2**24 answers take 128 MiB; more are refused."""


class Support(NamedTuple):
    """Probabilities that a report supports an answer. Debiasing, variances and covariances follow from them.

    Attributes:
        p_true: Probability that a report supports the true answer.
        p_other: Probability that it supports a given other answer.
        p_true_and_other: Probability that it supports both the true answer and a given other answer.
        p_two_others: Probability that it supports both of two given other answers.
    """

    p_true: Fraction
    p_other: Fraction
    p_true_and_other: Fraction
    p_two_others: Fraction

    @property
    def gain(self) -> Fraction:
        """Probability that a report supports the true answer, minus the probability that it supports another answer."""
        return self.p_true - self.p_other

    @property
    def likelihood_ratio(self) -> Fraction:
        """The largest likelihood ratio of a report under two answers; it is equal for every pair of answers.

        A report that supports the first answer and not the second attains it. So the probability of supporting both is
        subtracted from numerator and denominator.
        """
        return (self.p_true - self.p_true_and_other) / (self.p_other - self.p_true_and_other)


@dataclass(frozen=True)
class Randomiser(ABC):
    """A randomised response for one of the answers 0, ..., `answers` - 1.

    Each report supports a set of answers. Given any true answer, all other answers are supported with equal
    probability, as are all pairs of other answers, so support counts are debiased by one formula for all answers (a
    pure protocol, Wang, Blocki, Li and Jha 2017).

    Formal guarantees: for all true answers x and y and every report o, ``P(o | x) <= exp(epsilon) P(o | y)``.
    Bernoulli probabilities are dyadic and rounded so that this holds exactly. `find_probability` returns the exact
    probability that is sampled: no floating-point number is involved. Only the report leaves the device.

    Attributes:
        NAME: Name of the randomiser in a task document.
        MAX_ANSWERS: Largest number of answers for which it is used.
        answers: Number of answers.
        epsilon: Privacy loss of one report.

    Raises:
        TypeError: `epsilon` is not a Fraction.
        ValueError: there are fewer than 2 answers or more than 2**24, or `epsilon` is not from 2**-20 to 64.
    """

    NAME: ClassVar[str]
    MAX_ANSWERS: ClassVar[int] = MOST_ANSWERS

    answers: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise WrongArgumentType(
                "epsilon", f"must be a Fraction, as in Fraction(1, 2), got {type(self.epsilon).__name__}"
            )
        if not 2 <= self.answers <= MOST_ANSWERS:
            raise InvalidArgument(
                "answers",
                f"must be a number of possible answers from 2 to {MOST_ANSWERS}, as in 64, got {self.answers}",
            )
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise InvalidArgument(
                "epsilon", f"must be from 2**-20 to {MOST_EPSILON}, as in Fraction(1), got {float(self.epsilon)}"
            )

    @cached_property
    @abstractmethod
    def support(self) -> Support:
        """Exact probabilities that a report supports the true answer, another answer, and two answers together."""

    @property
    @abstractmethod
    def octets(self) -> int:
        """Length of a report in bytes."""

    @abstractmethod
    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """Return the exact probability of a report if this answer is true.

        Args:
            answer: True answer, from 0.
            report: Bytes of a valid report.
        """

    @abstractmethod
    def list_reports(self) -> Iterator[bytes]:
        """Yield every possible report once, as bytes. The number of reports may grow exponentially with the number of
        answers."""

    def draw(self, answers: IntArray, randomness: Randomness) -> Reports:
        """SECRET: draw an independent report for each true answer.

        Args:
            answers: True answers, (people,), from 0 to `self.answers` - 1.
            randomness: Source of random bits.

        Returns:
            Reports, (people, octets) bytes, in the order of `answers`.

        Raises:
            ValueError: a number is not an answer. The message does not contain it.
        """
        if answers.size and not (answers.min() >= 0 and answers.max() < self.answers):
            raise InvalidArgument("answers", f"must be whole numbers from 0 to {self.answers - 1}")
        # 2**19: bytes of reports that are drawn in one batch, which bounds memory
        source = randomness.expand()
        step = max(1, 2**19 // self.octets)
        reports = np.empty((len(answers), self.octets), dtype=np.uint8)
        for start in range(0, len(answers), step):
            reports[start : start + step] = self._draw_reports(answers[start : start + step], source)
        return reports

    @abstractmethod
    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        """SECRET: draw an independent report for each true answer, as rows ``(answers, octets)``.

        Args:
            answers: SECRET. True answer of each person, from 0.
            randomness: Source of random bits.

        Returns:
            Reports in the order of the answers.
        """

    @abstractmethod
    def mark_valid_reports(self, received: Reports) -> BoolArray:
        """Return a mask of the rows ``(rows, octets)`` that are possible reports.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Array of shape ``(rows,)``.
        """

    @abstractmethod
    def count_support(self, reports: Reports) -> IntArray:
        """Return the number of reports that support each answer (make it more likely), from which counts are estimated.

        Args:
            reports: Valid reports, of shape ``(reports, octets)``.

        Returns:
            Numbers of reports, ``(answers,)``.
        """

    def variance(self, share: float = 0.0) -> float:
        """Return the variance of an answer's debiased count, divided by the number of reports.

        The variance is over the randomised responses alone, given the true answers: sampling of people is not included.

        Args:
            share: Share of the reports, from 0 to 1, whose true answer this is.
        """
        p_true, p_other, gain = (
            float(probability) for probability in (self.support.p_true, self.support.p_other, self.support.gain)
        )
        return (share * p_true * (1 - p_true) + (1 - share) * p_other * (1 - p_other)) / gain**2

    def mean_prefix_variance(self) -> float:
        """Return the mean variance of debiased counts of the first m answers, over all m, per report: the error of a
        curve.

        The answers are taken to be rare.
        """
        p_other = float(self.support.p_other)
        p_two_others = float(self.support.p_two_others)
        sizes = np.arange(1.0, self.answers)
        variances = sizes * p_other * (1 - p_other) + sizes * (sizes - 1) * (p_two_others - p_other**2)
        return float(variances.mean()) / float(self.support.gain) ** 2


def to_octets(numbers: IntArray, octets: int) -> Reports:
    """Return nonnegative integers as rows of `octets` little-endian bytes; higher bytes are dropped.

    Args:
        numbers: Nonnegative integers, of shape ``(n,)``.
        octets: Bytes of a row, at most 8.

    Returns:
        Array of shape ``(n, octets)``.
    """
    octet_rows = np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(octet_rows[:, :octets])


def from_octets(reports: Reports) -> IntArray:
    """Decode the integers that `to_octets` encoded, one for each row of bytes.

    Args:
        reports: Rows of little-endian bytes, of shape ``(n, octets)``.

    Returns:
        Integers of shape ``(n,)``.
    """
    numbers = reports[:, 0].astype(np.int64)
    for octet in range(1, reports.shape[1]):
        numbers |= reports[:, octet].astype(np.int64) << 8 * octet
    return numbers


def make_contiguous(rows: Reports) -> Reports:
    """Return the reports in contiguous memory, copied row by row, which is faster than byte by byte.

    Args:
        rows: Rows of bytes, (rows, octets).
    """
    if rows.flags.c_contiguous:
        return rows
    octets = rows.shape[1]
    return np.ascontiguousarray(rows.view(f"V{octets}")).view(np.uint8).reshape(-1, octets)


def mark_zero_tails(rows: Reports, begin: int) -> BoolArray:
    """Return a mask of the rows whose bytes from index `begin` to the end are all 0, as the padding of a valid message
    is.

    Args:
        rows: Bytes, (rows, size).
        begin: First index of the tail; at or past the end, all rows are True.
    """
    is_zero = np.ones(len(rows), dtype=np.bool_)
    if not loops_are_compiled():
        return np.asarray(~rows[:, begin:].any(axis=1))
    if begin < rows.shape[1]:
        tail_mask = np.where(np.arange(rows.shape[1]) < begin, 0, 255).astype(np.uint8)
        _fill_zero_tails(rows, tail_mask, is_zero)
    return is_zero


@compile_loop
def _fill_zero_tails(rows: Reports, tail_mask: Reports, is_zero: BoolArray) -> None:
    """Write which rows are 0 in the bits of a mask; whole rows are scanned, because that vectorises.

    Args:
        rows: Reports, (rows, octets).
        tail_mask: Octets of a mask of the bits to look at.
        is_zero: Receives whether each row is 0 there.
    """
    for row in range(len(rows)):
        union = np.uint8(0)
        for octet in range(rows.shape[1]):
            union = np.uint8(union | rows[row, octet] & tail_mask[octet])
        is_zero[row] = union == 0


def to_words(rows: Reports) -> NDArray[np.uint64]:
    """Return rows of bytes as rows of 64-bit words, padded with zeros.

    Args:
        rows: Rows of bytes, of shape ``(n, octets)``.

    Returns:
        Array of shape ``(n, words)``.
    """
    octets = rows.shape[1]
    if octets % 8 == 0 and rows.flags.c_contiguous:
        return rows.view(np.uint64)
    padded = np.zeros((len(rows), -(-octets // 8) * 8), dtype=np.uint8)
    padded[:, :octets] = rows
    return padded.view(np.uint64)


def count_octets_needed(numbers: int) -> int:
    """Return how many bytes distinguish `numbers` different integers, at least 1.

    Args:
        numbers: Number of different integers.
    """
    return max(1, ((numbers - 1).bit_length() + 7) // 8)


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)
"""The 8 bits of each byte from 0 to 255, lowest first, ``(256, 8)``: counts of bytes times this matrix are counts of
bits."""


class BitVectorRandomiser(Randomiser):
    """A randomiser whose report is a bit vector with one bit per answer, lowest bit first. A set bit supports its
    answer.
    """

    @property
    def octets(self) -> int:
        """Length of a report in bytes: one bit per answer."""
        return (self.answers + 7) // 8

    def count_supported(self, report: bytes) -> int:
        """Return the number of answers that a report supports: its set bits.

        Args:
            report: Bytes of a valid report.
        """
        return int.from_bytes(report, "little").bit_count()

    def is_supported(self, answer: int, report: bytes) -> bool:
        """Return whether a report supports an answer: whether the bit of the answer is set.

        Args:
            answer: Number of the answer, from 0.
            report: Bytes of a valid report.
        """
        return bool(report[answer // 8] >> answer % 8 & 1)

    def mark_valid_reports(self, received: Reports) -> BoolArray:
        """Return a mask of the rows that have no bit beyond the last answer, and a possible number of set bits.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Array of shape ``(rows,)``.
        """
        return (received[:, -1] <= self.last_octet_mask) & self._mark_valid_weights(received)

    @property
    def last_octet_mask(self) -> np.uint8:
        """Mask of the bits of the last byte of a report that belong to answers; the others must be 0."""
        return np.uint8((1 << self.answers - 8 * (self.octets - 1)) - 1)

    @abstractmethod
    def _mark_valid_weights(self, received: Reports) -> BoolArray:
        """Return which received reports have a number of set bits that the randomiser can produce.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Mask, ``(rows,)``.
        """

    def count_support(self, reports: Reports) -> IntArray:
        """Return how many reports set each answer's bit.

        Args:
            reports: Valid reports, of shape ``(reports, octets)``.

        Returns:
            Array of shape ``(answers,)``.
        """
        if not loops_are_compiled():
            return _sum_bits(reports, self.answers)
        value_counts = np.zeros((self.octets, 256), dtype=np.int64)
        _count_octet_values(reports, value_counts)
        return np.asarray((value_counts @ _BITS).reshape(-1)[: self.answers])


def set_true_bits(rows: Reports, answers: IntArray, is_set: BoolArray) -> None:
    """SECRET: set the bit of each row's answer where `is_set` is true, and clear it elsewhere, in place.

    Args:
        rows: Reports as bits, eight in a byte, (reports, bytes).
        answers: Answer of each report, from 0.
        is_set: Whether the bit of each answer is set.
    """
    if loops_are_compiled():
        _fill_true_bits(rows, answers, is_set)
        return
    row = np.arange(len(rows))
    octet = answers >> 3
    bit = (1 << (answers & 7)).astype(np.uint8)
    rows[row, octet] = rows[row, octet] & ~bit | is_set * bit


@compile_loop
def _fill_true_bits(rows: Reports, answers: IntArray, is_set: BoolArray) -> None:
    """SECRET: set or clear the bit of each row's true answer; the compiled form of `set_true_bits`.

    Args:
        rows: Reports, changed in place, (rows, octets).
        answers: True answer of each row, the number of its bit.
        is_set: Whether each row's bit is set.
    """
    for row in range(len(rows)):
        octet = answers[row] >> 3
        bit = 1 << (answers[row] & 7)
        rows[row, octet] = rows[row, octet] & ~bit | bit * is_set[row]


def count_set_bits(rows: Reports) -> IntArray:
    """Return the number of set bits of each row.

    Args:
        rows: Rows of bytes, of shape ``(n, octets)``.

    Returns:
        Array of shape ``(n,)``.
    """
    words = to_words(rows)
    if words.shape[1] == 1:
        return np.bitwise_count(words[:, 0]).astype(np.int64)
    return np.asarray(np.einsum("ij->i", np.bitwise_count(words), dtype=np.int64))


def _sum_bits(reports: Reports, answers: int) -> IntArray:
    """Return how many reports set each bit, the support of each answer.

    Args:
        reports: Packed bits, lowest bit first, (reports, bytes).
        answers: Number of bits of a report.

    Returns:
        Counts, (answers,).
    """
    # 2**22: bits of reports that are counted in one batch, which bounds memory
    step = max(1, 2**22 // answers)
    counts = np.zeros(answers, dtype=np.int64)
    for start in range(0, len(reports), step):
        bits = np.unpackbits(reports[start : start + step], axis=1, count=answers, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.int64)
    return counts


@compile_loop
def _count_octet_values(reports: Reports, value_counts: IntArray) -> None:
    """Count how often each byte of a report has each of its 256 values, over many reports.

    The counts of the byte's eight bits follow from these counts by one matrix product.

    Args:
        reports: Valid reports, of shape ``(reports, octets)``.
        value_counts: Array of zeros of shape ``(octets, 256)``, which is filled.
    """
    for row in range(len(reports)):
        for octet in range(reports.shape[1]):
            value_counts[octet, reports[row, octet]] += 1


@dataclass(frozen=True)
class KaryRandomisedResponse(Randomiser):
    """k-ary randomised response: the true answer with probability a, else a uniform one of all k (Kairouz et al. 2016).

    A report supports the answer that it contains.

    Formal guarantees: the true answer has probability ``a + (1 - a) / k``, each other answer ``(1 - a) / k``. The ratio
    ``1 + a k / (1 - a)`` increases with a and equals e = exp(epsilon) at ``a = (e - 1) / (e - 1 + k)``; a is rounded
    down.

    >>> from fractions import Fraction
    >>> round(KaryRandomisedResponse(2, Fraction(1)).variance(), 4)
    0.9207
    """

    NAME: ClassVar[str] = "k-ary"

    @cached_property
    def _truth_parts(self) -> int:
        """Probability a of reporting the true answer without a random draw, as a multiple of 1 / `ONE_PROBABILITY`."""
        below = bound_exp_neg_above(self.epsilon)
        return round_down((1 - below) / (1 - below + self.answers * below))

    @cached_property
    def support(self) -> Support:
        """The exact support probabilities of a report, which supports a single answer."""
        even_part = Fraction(ONE_PROBABILITY - self._truth_parts, ONE_PROBABILITY * self.answers)
        return Support(Fraction(self._truth_parts, ONE_PROBABILITY) + even_part, even_part, Fraction(0), Fraction(0))

    @property
    def octets(self) -> int:
        """Length of a report in bytes; a report is the number of an answer."""
        return count_octets_needed(self.answers)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """Return the exact probability of a report, given the true answer.

        Args:
            answer: True answer, from 0.
            report: Bytes of a valid report: the number of an answer.
        """
        return self.support.p_true if int.from_bytes(report, "little") == answer else self.support.p_other

    def list_reports(self) -> Iterator[bytes]:
        """Yield every possible report: one per answer, in order.

        Yields:
            Bytes of a report.
        """
        return (answer.to_bytes(self.octets, "little") for answer in range(self.answers))

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        """SECRET: draw reports by k-ary randomised response: the true answer with probability a, else a uniform one.

        Args:
            answers: True answer of each person.
            randomness: Source of random bits.

        Returns:
            Reports, (people, octets).
        """
        is_true = sample_bernoulli(self._truth_parts, len(answers), randomness)
        return to_octets(
            np.where(is_true, answers, sample_uniform(self.answers, len(answers), randomness)), self.octets
        )

    def mark_valid_reports(self, received: Reports) -> BoolArray:
        """Return a mask of the rows that contain the number of an answer.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Array of shape ``(rows,)``.
        """
        return from_octets(received) < self.answers

    def count_support(self, reports: Reports) -> IntArray:
        """Return how many reports contain each answer.

        Args:
            reports: Valid reports, of shape ``(reports, octets)``.

        Returns:
            Array of shape ``(answers,)``.
        """
        return np.bincount(from_octets(reports), minlength=self.answers)


@dataclass(frozen=True)
class HadamardResponse(Randomiser):
    """Hadamard response: a random column of the Hadamard matrix, and its noisy sign at the row of the answer.

    The index j is uniform below K, the least power of two that is at least k. The sign is the parity of the bits of
    ``j & answer``. The parity is flipped with probability ``1 - p``, and sent with the index. If the index is a public
    coin, drawn independently of the answer, a person sends a single bit.

    A report supports the answers whose parity at j equals the bit that was sent. It supports each other answer with
    probability 1/2, and any two of them independently, because the code is pairwise independent.

    Formal guarantees: the index does not depend on the answer. Given the index, one of the two bits has probability p,
    the other ``1 - p``. Their ratio ``p / (1 - p)`` is at most exp(epsilon), because p is rounded down.

    References: Bassily, Nissim, Stemmer and Thakurta 2017; Bell et al. 2019, Algorithm 2. Bell et al. scale the code by
    ``2**(-l/2)`` on both sides, which scales each count by ``2**-l``; here the code holds signs alone.
    """

    NAME: ClassVar[str] = "hadamard"

    @property
    def index_count(self) -> int:
        """Number of columns of the Hadamard matrix, K: the least power of two that is at least the number of
        answers."""
        return 1 << (self.answers - 1).bit_length()

    @cached_property
    def _true_sign_parts(self) -> int:
        """Probability p of reporting the true sign, as a multiple of 1 / `ONE_PROBABILITY`."""
        return round_down(1 / (1 + bound_exp_neg_above(self.epsilon)))

    @cached_property
    def support(self) -> Support:
        """Exact support probabilities: p for the true answer, 1/2 for each other, and 1/4 for two others together."""
        p_true = Fraction(self._true_sign_parts, ONE_PROBABILITY)
        return Support(p_true, Fraction(1, 2), p_true / 2, Fraction(1, 4))

    @property
    def octets(self) -> int:
        """Length of a report in bytes; a report is a column index of the Hadamard matrix and a bit."""
        return count_octets_needed(2 * self.index_count)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """Return the exact probability of a report, given the true answer.

        It is ``support.p_true`` if the bit is the true sign at the report's index, else one minus that; divided by the
        number of indices.

        Args:
            answer: True answer, from 0.
            report: Bytes of a valid report.
        """
        index, bit = divmod(int.from_bytes(report, "little"), 2)
        is_true_sign = (index & answer).bit_count() % 2 == bit
        return (self.support.p_true if is_true_sign else 1 - self.support.p_true) / self.index_count

    def list_reports(self) -> Iterator[bytes]:
        """Yield every possible report: both bits at every index.

        Yields:
            Bytes of a report, by increasing index.
        """
        return (report.to_bytes(self.octets, "little") for report in range(2 * self.index_count))

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        """SECRET: draw a uniform index and the noisy sign at it for each answer.

        Args:
            answers: SECRET. True answer of each person, from 0.
            randomness: Source of random bits.

        Returns:
            Reports of shape ``(answers, octets)``.
        """
        words = np.frombuffer(randomness.random_bytes(4 * len(answers)), dtype="<u4").astype(np.int64)
        index = words & (self.index_count - 1)
        return self.encode_reports(index, self.draw_bits(answers, index, randomness))

    def draw_bits(self, answers: IntArray, index: IntArray, randomness: Randomness) -> IntArray:
        """SECRET: return the reported bit of each answer at a public index: its sign, flipped with probability
        ``1 - p``.

        Args:
            answers: Answer of each person, from 0.
            index: Public column of the Hadamard matrix for each person, from 0.
            randomness: Source of the random bits.

        Returns:
            One bit per person, 0 or 1.
        """
        flipped = ~sample_bernoulli(self._true_sign_parts, len(answers), randomness)
        return compute_parity(answers & index) ^ flipped

    def encode_reports(self, index: IntArray, bits: IntArray) -> Reports:
        """Return reports that encode these indices and bits, ``(reports, octets)``.

        Args:
            index: Index of each report.
            bits: Sign at each index, 0 or 1.
        """
        return to_octets(index << 1 | bits, self.octets)

    def mark_valid_reports(self, received: Reports) -> BoolArray:
        """Return a mask of the rows whose index exists.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Array of shape ``(rows,)``.
        """
        return from_octets(received) < 2 * self.index_count

    def count_support(self, reports: Reports) -> IntArray:
        """Return how many reports support each answer, by a fast Walsh-Hadamard transform of the signs at each index.

        Args:
            reports: Valid reports, of shape ``(reports, octets)``.

        Returns:
            Numbers of reports, ``(answers,)``.
        """
        bit_counts = np.bincount(from_octets(reports), minlength=2 * self.index_count).reshape(-1, 2)
        return ((len(reports) + walsh_hadamard(bit_counts[:, 0] - bit_counts[:, 1])) // 2)[: self.answers]

    def count_support_of(self, answer: int, reports: Reports) -> int:
        """Return how many reports support one answer, without computing the counts of all answers.

        Args:
            answer: Number of the answer, from 0.
            reports: Valid reports, of shape ``(reports, octets)``.
        """
        numbers = from_octets(reports)
        return int(np.count_nonzero(compute_parity(numbers >> 1 & answer) == (numbers & 1)))


def compute_parity(numbers: IntArray) -> IntArray:
    """Return the parity of the bits of each number: 1 if the number of set bits is odd.

    Args:
        numbers: Nonnegative integers, of any shape.
    """
    return np.bitwise_count(numbers).astype(np.int64) & 1


def walsh_hadamard(signs: IntArray) -> IntArray:
    """Return the Walsh-Hadamard transform: entry q is the sum over j of ``signs[j]``, negated if the parity of ``j &
    q`` is odd.

    The length of `signs` must be a power of two.

    Args:
        signs: Integers, as many as a power of two.

    >>> walsh_hadamard(np.array([3, 1, 0, 0])).tolist()
    [4, 2, 4, 2]
    """
    sums = signs.astype(np.int64)
    block_size = 1
    while block_size < len(sums):
        pairs = sums.reshape(-1, 2, block_size)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        block_size *= 2
    return sums


@dataclass(frozen=True)
class SubsetSelection(BitVectorRandomiser):
    """Subset selection: a random set of d answers, which contains the true one with probability p (Ye and Barg 2018).

    The other members are uniform. The size d is about ``k / (1 + e)`` with ``e = exp(epsilon)``, which minimises the
    variance of rare answers.

    Formal guarantees: a set has probability ``p / C(k-1, d-1)`` if it contains the true answer, and
    ``(1 - p) / C(k-1, d)`` if it does not. Their ratio ``p (k - d) / ((1 - p) d)`` is at most exp(epsilon), because p
    is rounded down.

    Raises:
        ValueError: there are more than 2**12 answers.
    """

    NAME: ClassVar[str] = "subset"
    MAX_ANSWERS: ClassVar[int] = 2**12

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers > self.MAX_ANSWERS:
            raise InvalidArgument(
                "answers",
                f"must be at most {self.MAX_ANSWERS} for subset selection, got {self.answers}; take another randomiser",
            )

    @cached_property
    def size(self) -> int:
        """Number d of answers in a reported set."""
        return min(max(1, round(self.answers * self._size_fraction)), self.answers - 1)

    @property
    def _size_fraction(self) -> Fraction:
        """Fraction of the answers that a reported set contains: nearly ``1 / (1 + exp(epsilon))``, which minimises the
        variance of counts of rare answers.
        """
        below = bound_exp_neg_above(self.epsilon)
        return below / (1 + below)

    @cached_property
    def _inclusion_parts(self) -> int:
        """Probability p that the reported set contains the true answer, as a multiple of 1 / `ONE_PROBABILITY`."""
        excluded_weight = (self.answers - self.size) * bound_exp_neg_above(self.epsilon)
        return round_down(self.size / (self.size + excluded_weight))

    @cached_property
    def support(self) -> Support:
        """Exact support probabilities of subset selection: p for the true answer, less for another, and for pairs."""
        p_true = Fraction(self._inclusion_parts, ONE_PROBABILITY)
        size = self.size
        others = self.answers - 1
        p_other_if_true = Fraction(size - 1, others)
        p_other_if_false = Fraction(size, others)
        pairs = max(others * (others - 1), 1)
        p_two_if_true = Fraction((size - 1) * (size - 2), pairs)
        p_two_if_false = Fraction(size * (size - 1), pairs)
        p_two_others = p_true * p_two_if_true + (1 - p_true) * p_two_if_false
        return Support(
            p_true, p_true * p_other_if_true + (1 - p_true) * p_other_if_false, p_true * p_other_if_true, p_two_others
        )

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """Return the probability of a set of d answers, which depends only on whether it holds the true one.

        Args:
            answer: True answer.
            report: The report, a set of answers as bits.
        """
        p_true = Fraction(self._inclusion_parts, ONE_PROBABILITY)
        others = self.answers - 1
        if self.is_supported(answer, report):
            return p_true / comb(others, self.size - 1)
        return (1 - p_true) / comb(others, self.size)

    def list_reports(self) -> Iterator[bytes]:
        """Yield every possible report: each set of d answers.

        Yields:
            Bytes of a report: a bit for each answer, lowest first.
        """
        for chosen in combinations(range(self.answers), self.size):
            yield sum(1 << answer for answer in chosen).to_bytes(self.octets, "little")

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        """SECRET: draw a uniform set of d answers, which holds the true one with probability p.

        Args:
            answers: SECRET. True answer of each person, from 0.
            randomness: Source of random bits.

        Returns:
            Reports of shape ``(answers, octets)``.
        """
        is_included = sample_bernoulli(self._inclusion_parts, len(answers), randomness)
        rows = sample_uniform_sets(answers, is_included, self.answers, self.size, randomness)
        return rows.view(np.uint8)[:, : self.octets]

    def _mark_valid_weights(self, received: Reports) -> BoolArray:
        """Return which received reports have exactly d set bits, as every report of subset selection has.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Mask, ``(rows,)``.
        """
        return np.asarray(count_set_bits(received) == self.size, dtype=np.bool_)


@dataclass(frozen=True)
class UnaryEncoding(BitVectorRandomiser):
    """Optimised unary encoding (OUE): the bit of the true answer is set with probability 1/2, others with q (Wang et
    al. 2017).

    Formal guarantees: bits are independent. Two true answers differ in the probabilities of two bits. The likelihood
    ratio is largest if the first of these is set and the second is not: ``(1 - q) / q``. It is at most exp(epsilon) for
    ``q >= 1 / (1 + exp(epsilon))``, and q is rounded up.
    """

    NAME: ClassVar[str] = "unary"

    @cached_property
    def _false_bit_parts(self) -> int:
        """Probability q that the bit of an answer that is not true is set, as a multiple of 1 / `ONE_PROBABILITY`."""
        below = bound_exp_neg_above(self.epsilon)
        return round_up(below / (1 + below))

    @cached_property
    def support(self) -> Support:
        """Exact support probabilities of unary encoding with independent bits: 1/2 for the true answer, q for each
        other.
        """
        p_true = Fraction(1, 2)
        p_other = Fraction(self._false_bit_parts, ONE_PROBABILITY)
        return Support(p_true, p_other, p_true * p_other, p_other**2)

    def find_probability(self, answer: int, report: bytes) -> Fraction:
        """Return the exact probability of a report; the true bit contributes 1/2 whether it is set or not.

        Args:
            answer: True answer, from 0.
            report: Bytes of a valid report.
        """
        others = self.count_supported(report) - self.is_supported(answer, report)
        p_other = self.support.p_other
        return Fraction(1, 2) * p_other**others * (1 - p_other) ** (self.answers - 1 - others)

    def list_reports(self) -> Iterator[bytes]:
        """Yield every possible report: each vector of bits.

        Yields:
            Bytes of a report: a bit for each answer, lowest first.
        """
        return (bits.to_bytes(self.octets, "little") for bits in range(2**self.answers))

    def _draw_reports(self, answers: IntArray, randomness: Randomness) -> Reports:
        """SECRET: draw independent bits: of the true answer with probability 1/2, of all others with probability q.

        Args:
            answers: True answer of each person.
            randomness: Random numbers of the people.

        Returns:
            Reports, (people, octets).
        """
        people = len(answers)
        rows = sample_bernoulli_rows(self._false_bit_parts, people, self.octets, randomness)
        rows[:, -1] &= self.last_octet_mask
        set_true_bits(rows, answers, sample_bernoulli(ONE_PROBABILITY // 2, people, randomness))
        return rows

    def _mark_valid_weights(self, received: Reports) -> BoolArray:
        """Return True for every received report, because unary encoding can set any number of bits.

        Args:
            received: Rows of bytes that were received, of the right length.

        Returns:
            Mask, ``(rows,)``.
        """
        return np.ones(len(received), dtype=np.bool_)


RANDOMISERS: tuple[type[Randomiser], ...] = (KaryRandomisedResponse, HadamardResponse, SubsetSelection, UnaryEncoding)
"""All randomisers of reports, with distinct `NAME` attributes; a task takes the most accurate one whose reports are
short enough. To add a randomiser, write a class above and add it here."""
LONGEST_REPORT = 64
"""Bytes of a report at most, by default: a randomiser with a longer report is not chosen even if its error is
smaller."""


def make_randomiser(name: str, answers: int, epsilon: Fraction) -> Randomiser:
    """Return the randomiser that a task document names.

    Args:
        name: ``k-ary``, ``hadamard``, ``subset`` or the name of another class in `RANDOMISERS`.
        answers: Number k of possible answers, from 2 to 2**24; at most 2**12 for ``subset``.
        epsilon: Privacy loss of one report, from 2**-20 to 64.

    Raises:
        TypeError: `epsilon` is not a Fraction.
        ValueError: the name is unknown, or the number of answers or `epsilon` is out of its range.
    """
    randomisers = {randomiser.NAME: randomiser for randomiser in RANDOMISERS}
    if name not in randomisers:
        raise InvalidArgument("randomiser", f"must be one of {', '.join(randomisers)}")
    return randomisers[name](answers, epsilon)


def choose_randomiser(
    answers: int,
    epsilon: Fraction,
    max_octets: int = LONGEST_REPORT,
    candidates: tuple[type[Randomiser], ...] = RANDOMISERS,
) -> Randomiser:
    """Return the randomiser with the least variance for counts of rare answers; among equals the shortest report.

    Variances are per report, so the choice does not depend on the number of reports. Rare answers are the relevant
    case: a sum of answers read from a tree adds few answers of each level.

    Args:
        answers: Number of possible answers, from 2 to 2**24.
        epsilon: Privacy loss of one report, from 2**-20 to 64.
        max_octets: Largest size of a report, in bytes.
        candidates: Classes to choose from.

    Raises:
        TypeError: `epsilon` is not a Fraction.
        ValueError: a number is out of its range, or no candidate has reports as short as `max_octets`.

    >>> from fractions import Fraction
    >>> [choose_randomiser(answers, Fraction(1)).NAME for answers in (2, 16, 64, 2**16)]
    ['k-ary', 'subset', 'subset', 'hadamard']
    """
    possible = [randomiser(answers, epsilon) for randomiser in candidates if answers <= randomiser.MAX_ANSWERS]
    return min(
        (randomiser for randomiser in possible if randomiser.octets <= max_octets),
        key=lambda randomiser: (randomiser.variance(), randomiser.octets),
    )
