"""Incomplete U-statistics as queries: a kernel over random pairs of people, and the distribution of what is released.

A kernel is a symmetric function of two people's values. Its mean over all pairs is estimated from some of them. A
pairing scheme says how these pairs follow from a public random seed.

    PairQuery                                     the query: a kernel, and the scheme that chooses the pairs
    Permutations, WithoutRepetition, OwnChoice    pairing schemes
    PairAnswers, PairSum                          the distribution of noisy answers of pairs, or of their noisy sum

Formal guarantees: everything here is a function of public facts. No value of a person is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256, shake_256
from math import exp, expm1
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dpcurves.arguments import InvalidArgument, convert_to_integers
from dpcurves.arrays import IntArray
from dpcurves.codec import STORED_CODEC
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.distributions.output_distribution import OutputDistribution
from dpcurves.queries.query import Query

MOST_PEOPLE = 2**31
"""People of a task at most, so that the numbers of two people fit into one 64-bit integer; more are refused."""
MOST_PAIRS_EACH = 2**10
"""Pairs, at most, in which one person takes part; more are refused."""
PAIR_SEED_SIZE = 32
"""Bytes of the seed from which pairs are drawn; another length is refused."""


class Overlaps(NamedTuple):
    """Numbers of ordered couples of pairs (a pair of people, and again one) by how many people the two pairs share.

    Variances of means over pairs depend on these. A pair forms a couple with itself.

    Attributes:
        pairs: Number of pairs.
        one_shared: Couples with exactly one person in common.
        both_shared: Couples with both people in common: each pair with itself and with its repetitions.
    """

    pairs: float
    one_shared: float
    both_shared: float

    @classmethod
    def from_pairs(cls, pairs: IntArray, people: int) -> Overlaps:
        """Count the pairs that share one or both people among drawn pairs, (pairs, 2).

        Args:
            pairs: Numbers of both people of each pair, from 0.
            people: Number of people n; all numbers are below it.
        """
        times = np.bincount(pairs.ravel(), minlength=people).astype(np.int64)
        low, high = np.sort(pairs, axis=1).astype(np.int64).T if len(pairs) else np.zeros((2, 0), dtype=np.int64)
        repeated = np.unique(low * people + high, return_counts=True)[1].astype(np.int64)
        both = int((repeated**2).sum())
        # A person in d pairs is shared by d (d - 1) couples; a repeated pair counts for both of its people.
        return cls(len(pairs), int((times * (times - 1)).sum()) - 2 * (both - len(pairs)), both)

    def variance(self, zeta1: float, zeta2: float) -> float:
        """Return the variance of the mean of a kernel over the pairs, for independently sampled people (Blom 1976).

        Args:
            zeta1: Variance of the kernel's conditional mean given one person.
            zeta2: Variance of the kernel.
        """
        return (self.one_shared * zeta1 + self.both_shared * zeta2) / self.pairs**2 if self.pairs else float("inf")

    def pairing_variance(self, people: int, zeta1: float, zeta2: float) -> float:
        """Return the variance due to the choice of pairs: `variance` minus `all_pairs_variance`.

        Args:
            people: Number of people.
            zeta1: Variance of the kernel's conditional mean given one person.
            zeta2: Variance of the kernel.
        """
        return max(self.variance(zeta1, zeta2) - all_pairs_variance(people, zeta1, zeta2), 0.0)


def all_pairs_variance(people: int, zeta1: float, zeta2: float) -> float:
    """Return the variance of the mean over all pairs of people (Hoeffding 1948). See `Overlaps.variance`.

    Args:
        people: Number of people.
        zeta1: Variance of the kernel's conditional mean given one person.
        zeta2: Variance of the kernel.
    """
    return (2 * (people - 2) * zeta1 + zeta2) * 2 / (people * (people - 1))


@dataclass(frozen=True, slots=True)
class Pairing(ABC):
    """A scheme that pairs people.

    Formal guarantees: pairs depend on the seed and on the number of people, never on a value, and each person is in at
    most `pairs_per_person` pairs. The people are first put in uniform random order, so all pairs are equally likely:
    the mean over the pairs that answer is unbiased for the mean over all pairs, if answering does not depend on values.

    Attributes:
        pairs_per_person: Most pairs of one person.

    Raises:
        ValueError: `pairs_per_person` is not from 1 to 1024.
        TypeError: `pairs_per_person` is not an integer.
    """

    pairs_per_person: int

    def __post_init__(self) -> None:
        convert_to_integers(self, pairs_per_person="pairs_per_person")
        if not 1 <= self.pairs_per_person <= MOST_PAIRS_EACH:
            raise InvalidArgument(
                "pairs_per_person", f"must be from 1 to {MOST_PAIRS_EACH} pairs, as in 8, got {self.pairs_per_person}"
            )

    @abstractmethod
    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        """Return the numbers of both people of each pair, from 0, (pairs, 2).

        Args:
            people: Number of people n.
            seed: Seed of 32 bytes, which decides the pairs.

        Raises:
            ValueError: there are too few people, or the seed is not 32 bytes long.
        """

    @abstractmethod
    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Return the expected numbers of pairs that share people, before pairs are drawn; they give the expected error.

        Args:
            people: Number of people n.

        Returns:
            Expected numbers over the random draw of pairs; real numbers.
        """


@dataclass(frozen=True, slots=True)
class Permutations(Pairing):
    """Pairing by independent random orders of the people, each cut into pairs; a pair may repeat.

    If the number of people is odd, each order leaves one person out (Bell, Bellet, Gascon and Kulkarni 2020, Theorem
    5).
    """

    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        """Return the pairs of `pairs_per_person` shuffled orders, (pairs, 2), order by order.

        Args:
            people: Number of people.
            seed: Public random bytes, from which everyone gets the same pairs.
        """
        _require(people, 1, seed)
        cut = people // 2 * 2
        rounds = [shuffle_people(people, seed, number)[:cut].reshape(-1, 2) for number in range(self.pairs_per_person)]
        return np.concatenate(rounds)

    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Return the exact expected numbers of overlaps between the pairs of several random orders of the people.

        With m = ``n // 2``, another order pairs a given person with probability ``2 m / n``, and contains a given pair
        with probability m over the number of all pairs.

        Args:
            people: Number of people n, at least 2.
        """
        pairs_per_order = people // 2
        all_pairs = people * (people - 1) / 2
        order_couples = self.pairs_per_person * (self.pairs_per_person - 1) * pairs_per_order
        repeat_probability = pairs_per_order / all_pairs
        return Overlaps(
            self.pairs_per_person * pairs_per_order,
            order_couples * (4 * pairs_per_order / people - 2 * repeat_probability),
            self.pairs_per_person * pairs_per_order + order_couples * repeat_probability,
        )


@dataclass(frozen=True, slots=True)
class WithoutRepetition(Pairing):
    """Pairing by rounds of a round-robin tournament, after one random order of the people; no pair repeats.

    With an odd number of people each person pauses once in n rounds. No other choice of as many pairs has a smaller
    variance.
    """

    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        """Return the pairs of the first rounds of a round-robin tournament over one shuffled order, (pairs, 2).

        Args:
            people: Number of people.
            seed: Public seed.
        """
        _require(people, self.pairs_per_person, seed)
        order = shuffle_people(people, seed, 0)
        return np.concatenate([order[_tournament_round(people, number)] for number in range(self.pairs_per_person)])

    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Return exact numbers: each person is in one pair per round, except for those who pause.

        Args:
            people: Number of people n.
        """
        pairs_per_round = people // 2
        rounds = self.pairs_per_person
        paused = people % 2 * rounds
        one_shared = (people - paused) * rounds * (rounds - 1) + paused * (rounds - 1) * (rounds - 2)
        return Overlaps(pairs_per_round * rounds, one_shared, pairs_per_round * rounds)


@dataclass(frozen=True, slots=True)
class OwnChoice(Pairing):
    """Pairing by choice: each person chooses half of its partners at random, and refuses more once it has enough.

    It needs no coordination except the order. Refused pairs are lost: 30 % if each person chooses one partner, 14 % if
    each chooses four.

    Raises:
        ValueError: `pairs_per_person` is odd.
    """

    def __post_init__(self) -> None:
        Pairing.__post_init__(self)
        if self.pairs_per_person % 2:
            raise InvalidArgument(
                "pairs_per_person", "must be even, as in 8, because each person chooses half of its partners"
            )

    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        """Draw each person's choices of partners, and return the pairs that are accepted, (pairs, 2).

        Wishes are taken in random order, and refused once either person has enough pairs.

        Args:
            people: Number of people.
            seed: Public seed.
        """
        _require(people, self.pairs_per_person // 2 + people % 2, seed)
        partners = (np.arange(people)[:, None] + _draw_distances(people, self.pairs_per_person // 2, seed)) % people
        chosen = np.stack([np.repeat(np.arange(people), self.pairs_per_person // 2), partners.ravel()], axis=1)
        free = [self.pairs_per_person] * people
        accepted = []
        for first, second in chosen[shuffle_people(len(chosen), seed, 0)].tolist():
            if free[first] and free[second]:
                free[first] -= 1
                free[second] -= 1
                accepted.append((first, second))
        return np.array(accepted, dtype=np.int64).reshape(-1, 2)

    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Return the overlaps of one simulated draw, scaled to `people`; repetitions are not scaled."""
        # 2**14: people among whom a pairing is simulated for its expected overlaps
        sample_size = min(people, 2**14)
        drawn = Overlaps.from_pairs(self.draw_pairs(sample_size, bytes(PAIR_SEED_SIZE)), sample_size)
        pairs = drawn.pairs * people / sample_size
        ratio = people / sample_size
        return Overlaps(pairs, drawn.one_shared * ratio, pairs + drawn.both_shared - drawn.pairs)


def _draw_distances(people: int, partner_count: int, seed: bytes) -> IntArray:
    """Draw each person's distances to its partners on a circle: (people, partner_count), each from 1; a person's
    distances differ.

    Args:
        people: Number of people.
        partner_count: Partners of each person.
        seed: Seed of the pairs, 32 bytes.
    """
    steps = np.zeros((people, partner_count), dtype=np.int64)
    again = np.ones((people, partner_count), dtype=np.bool_)
    attempt = 0
    while again.any():
        words = _expand_seed(int(again.sum()), seed, f"partners {attempt}")
        steps[again] = 1 + (words % np.uint64(people - 1)).astype(np.int64)
        ordered = np.argsort(steps, axis=1, kind="stable")
        rising = np.take_along_axis(steps, ordered, axis=1)
        repeated = np.diff(rising, axis=1, prepend=0) == 0
        np.put_along_axis(again, ordered, repeated, axis=1)
        attempt += 1
    return steps


def shuffle_people(people: int, seed: bytes, number: int) -> IntArray:
    """Return a uniform random order of the people, derived from the seed by 64 bits of SHAKE-256 per person.

    Two people have the same 64 bits, and keep their order, with probability below ``people**2 / 2**65``.

    Args:
        people: Number of people.
        seed: The seed of the pairs.
        number: Number of the shuffle, from which another order follows.
    """
    return np.argsort(_expand_seed(people, seed, f"order {number}"), kind="stable")


def commit_to_seed(seed: bytes) -> str:
    """Return the commitment to a seed of pairs: it is published before the seed, and fixes the seed without revealing
    it.

    Args:
        seed: 32 secret bytes.

    Returns:
        Hash of the seed, in hexadecimal digits.

    Raises:
        ValueError: the seed is not 32 bytes long.
    """
    _require_seed(seed)
    return sha256(b"dpcurves pairs" + seed).hexdigest()


def _expand_seed(word_count: int, seed: bytes, name: str) -> Any:
    """Return 64-bit words, ``(word_count,)``, of SHAKE-256 of the seed and a name.

    Args:
        word_count: Number of words.
        seed: Seed of the pairs.
        name: Purpose of the words; other names give independent words.

    Returns:
        Array of unsigned integers.
    """
    return np.frombuffer(shake_256(seed + name.encode()).digest(8 * word_count), dtype="<u8")


def _tournament_round(people: int, number: int) -> IntArray:
    """Return the pairs of one round of a round-robin tournament, as positions in an order of people, by the circle
    method.

    With an odd number of people, one person pauses in each round.

    Args:
        people: Number of people.
        number: Number of the round, counted from 0.

    Returns:
        Positions of both people of each pair, (pairs, 2).
    """
    circle_size = (people - 1) | 1
    steps = np.arange(1, (circle_size + 1) // 2)
    round_pairs = np.stack([(number + steps) % circle_size, (number - steps) % circle_size], axis=1)
    return round_pairs if people % 2 else np.concatenate([[[people - 1, number]], round_pairs])


def _require(people: int, partners: int, seed: bytes) -> None:
    """Check a seed and the numbers of people and partners.

    Args:
        people: Number of people.
        partners: Number of partners of each person.
        seed: Seed of the pairs.

    Raises:
        InvalidArgument: the seed has a wrong size; there are fewer than 2 people, or too many; or a person cannot have
            that many partners.
    """
    _require_seed(seed)
    if not 2 <= people <= MOST_PEOPLE:
        raise InvalidArgument("people", f"must be from 2 to {MOST_PEOPLE} people, as in 1000")
    if partners > (people - 1 | 1):
        raise InvalidArgument(
            "pairs_per_person", "must be at most the number of possible partners; take fewer pairs or more people"
        )


def _require_seed(seed: bytes) -> None:
    """Check that a seed of pairs has 32 bytes.

    Raises:
        ValueError: the seed has another length.
    """
    if len(seed) != PAIR_SEED_SIZE:
        raise InvalidArgument(
            "seed", f"must have {PAIR_SEED_SIZE} bytes, as secrets.token_bytes({PAIR_SEED_SIZE}) gives"
        )


PEOPLE_PER_KERNEL = 2
"""People whose values a kernel (the function whose mean is estimated) takes. The format has a field for more, as the
volume under an ROC surface needs three, but other numbers are refused."""


@dataclass(frozen=True, slots=True)
class KernelForm:
    """Public description of a kernel: a symmetric function of two people's integers.

    Attributes:
        circuit: Digest of the circuit that computes it.
        columns: Columns that it reads of each person, in order, with their widths in bits.
        minimum: Lower bound of its values.
        maximum: Upper bound of its values.
        step: Unit of the integer values.
        degree: Number of people it is a function of.

    Raises:
        ValueError: the kernel is constant, or of more than two people.
    """

    circuit: str
    columns: tuple[tuple[str, int], ...]
    minimum: int
    maximum: int
    step: Fraction = Fraction(1)
    degree: int = PEOPLE_PER_KERNEL

    def __post_init__(self) -> None:
        convert_to_integers(self, minimum="kernel", maximum="kernel", degree="degree")
        if self.minimum >= self.maximum:
            raise InvalidArgument(
                "kernel", "must return an integer that differs between pairs: use the values of both people"
            )
        if self.degree != PEOPLE_PER_KERNEL:
            raise InvalidArgument(
                "degree", f"must be {PEOPLE_PER_KERNEL}: kernels are functions of two people; got {self.degree}"
            )

    @property
    def span(self) -> int:
        """Difference between the kernel's largest and smallest value, from which its sensitivity follows."""
        return self.maximum - self.minimum


@dataclass(frozen=True, slots=True)
class PairQuery(Query):
    """The mean of a kernel over pairs of people. The axes are the kernel's columns, on integer grids.

    Attributes:
        kernel: Function that is computed for each pair.
        pairing: Scheme of pairs, which bounds the pairs of each person.
        seed_commitment: Commitment to the seed of the pairs, published before any value was entered; empty in a plan.
    """

    kernel: KernelForm
    pairing: Pairing
    seed_commitment: str = ""

    @classmethod
    def from_kernel(cls, kernel: KernelForm, pairing: Pairing, seed_commitment: str = "", where: str = "") -> Self:
        """Return the query of a kernel over pairs, with one axis of ``2**bits`` cells per column of the kernel.

        Args:
            kernel: The kernel.
            pairing: Scheme of the pairs.
            seed_commitment: Commitment to the seed of the pairs; empty if no seed is chosen yet.
            where: Condition of the kernel; empty for none.
        """
        axes = (Axis(name, Grid(0, 1 << bits, cells=1 << bits), where=where) for name, bits in kernel.columns)
        return cls(tuple(axes), kernel, pairing, seed_commitment)

    @property
    def pairs_per_unit(self) -> int:
        """The largest number of pairs that one person is in."""
        return self.pairing.pairs_per_person

    @property
    def per_record_sensitivity(self) -> int:
        """Largest change of the sum over all pairs if one person's values change."""
        return self.pairing.pairs_per_person * self.kernel.span


MOST_PAIRS = 2**40
"""Pairs of one release at most; a stored answer with more is refused."""


@dataclass(frozen=True, slots=True)
class PairDistribution(OutputDistribution):
    """Distribution of values released about the mean of a kernel over all pairs.

    Attributes:
        people: Number of people.
        pairs: Number of pairs that answered.
        one_shared: Ordered couples of these pairs with exactly one person in common.
        both_shared: Couples with both people in common: each pair with itself and with its repetitions.
        minimum: Smallest value of the kernel.
        maximum: Largest value of the kernel.
        step: Unit of the integer values.

    Raises:
        ValueError: there are too few people, or the numbers of pairs are inconsistent.
    """

    people: int
    pairs: int
    one_shared: int
    both_shared: int
    minimum: int
    maximum: int
    step: Fraction

    def __post_init__(self) -> None:
        if self.people < 2 or not 0 <= self.pairs <= min(self.both_shared, MOST_PAIRS) or self.one_shared < 0:
            raise InvalidArgument(
                "pairs", f"must be of at least 2 people, at most {MOST_PAIRS}, and not above both_shared"
            )
        if self.minimum >= self.maximum or self.step <= 0:
            raise InvalidArgument(
                "kernel", "must have least below most, and step above 0; use the text that to_json wrote"
            )

    @property
    def missing(self) -> None:
        """None: a release about pairs counts no missing values."""
        return None

    @property
    def has_pair_answers(self) -> bool:
        """True if each pair answered with noise; False if noise was added to the sum of all pairs."""
        return False

    def debias(self, mean_answer: float) -> float:
        """Return an unbiased estimate of the kernel's mean from the mean answer of the pairs.

        Args:
            mean_answer: Mean of the released (randomised) answers.
        """
        return mean_answer

    @property
    def overlaps(self) -> Overlaps:
        """Numbers of pairs that share one or both people, among the pairs that answered; variances depend on them."""
        return Overlaps(self.pairs, self.one_shared, self.both_shared)

    @property
    def span(self) -> int:
        """Difference between the kernel's largest and smallest value."""
        return self.maximum - self.minimum

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return the distribution's fields and the released integers as a JSON object; `total` is None for pairs.

        Args:
            values: Released integers, in the order of the distribution.
            total: None: pairs have no public total of records.
        """
        return {self.KEY: STORED_CODEC.encode_fields(self), "values": list(values), "total": total}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Parse the distribution of a stored release.

        Args:
            stored: Fields of the release as JSON objects.

        Raises:
            ValueError: fields are missing or inconsistent.
        """
        return STORED_CODEC.decode_fields(cls, stored[cls.KEY])


@dataclass(frozen=True, slots=True)
class PairAnswers(PairDistribution):
    """Each pair answered with noise. Released are sums of answers, of their squares and of products.

    Products are taken over couples of pairs with exactly one person in common, each couple once. They estimate the
    covariance of the answers of two such pairs, which the variance depends on.

    Attributes:
        offset: Mean answer if the value is 0.
        gain: Increase of the mean answer if the value grows by 1.
    """

    KEY: ClassVar[str] = "pair_answers"

    offset: Fraction
    gain: Fraction

    @property
    def has_pair_answers(self) -> bool:
        """True: each pair's answer has noise of its own, in this kind of release."""
        return True

    def debias(self, mean_answer: float) -> float:
        """Return the unbiased estimate of the kernel's mean: the mean answer minus `offset`, divided by `gain`.

        Args:
            mean_answer: Mean of the released (randomised) answers.
        """
        return (mean_answer - float(self.offset)) / float(self.gain)

    @property
    def size(self) -> int:
        """Number of released integers, 3: two sums over pairs, and one over couples of pairs that share one person."""
        return 3

    def blank_values(self) -> tuple[int, ...]:
        """Return the three sums that a release without a question shows.

        The sums are the rounded expectations if all values were in the middle of the range.
        """
        middle = float(self.offset + self.gain * Fraction(self.minimum + self.maximum, 2))
        return round(self.pairs * middle), round(self.pairs * middle), round(self.one_shared / 2 * middle**2)


@dataclass(frozen=True, slots=True)
class PairSum(PairDistribution):
    """Sum of a kernel over all pairs, with noise added once: one number.

    Attributes:
        rate: Reciprocal of the scale of the discrete Laplace noise.
    """

    KEY: ClassVar[str] = "pair_sum"

    rate: Fraction

    @property
    def size(self) -> int:
        """Number of released integers: 1, the noisy sum over all pairs."""
        return 1

    @property
    def variance(self) -> float:
        """Variance of the noise: ``2 r / (1 - r)**2`` with r = ``exp(-rate)``."""
        rate = float(self.rate)
        return 2 * exp(-rate) / expm1(-rate) ** 2

    def blank_values(self) -> tuple[int, ...]:
        """Return the sum that a release without a question shows: the exact sum if all values were in the middle of
        their range.
        """
        return (self.pairs * (self.minimum + self.maximum) // 2,)
