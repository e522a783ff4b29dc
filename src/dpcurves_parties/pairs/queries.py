"""Questions about pairs of people, the pairing by a public seed, and the law of their answers."""

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
from dpcurves.codec import STORED
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.laws.law import Law
from dpcurves.queries.query import Query

MOST_PEOPLE = 2**31
MOST_PAIRS_EACH = 2**10
SEED = 32
TRIED = 2**14


class Overlaps(NamedTuple):
    """Numbers of people that pairs share: ordered couples of pairs, a pair with itself among them.

    Attributes:
        pairs: How many pairs there are.
        one_shared: Couples with exactly one person in common.
        both_shared: Couples with both in common: each pair with itself, and with its repetitions.
    """

    pairs: float
    one_shared: float
    both_shared: float

    @classmethod
    def from_pairs(cls, pairs: IntArray, people: int) -> Overlaps:
        """Count the overlaps of pairs that were drawn: (pairs, 2)."""
        times = np.bincount(pairs.ravel(), minlength=people).astype(np.int64)
        low, high = np.sort(pairs, axis=1).astype(np.int64).T if len(pairs) else np.zeros((2, 0), dtype=np.int64)
        repeated = np.unique(low * people + high, return_counts=True)[1].astype(np.int64)
        both = int((repeated**2).sum())
        # A person in d pairs is common to d (d - 1) couples; both of a repetition's people are.
        return cls(len(pairs), int((times * (times - 1)).sum()) - 2 * (both - len(pairs)), both)

    def variance(self, zeta1: float, zeta2: float) -> float:
        """The variance of the mean of a kernel over the pairs, for people drawn on their own (Blom 1976).

        Args:
            zeta1: The variance of the kernel's mean given one of its people: zeta 1.
            zeta2: The variance of the kernel: zeta 2.
        """
        return (self.one_shared * zeta1 + self.both_shared * zeta2) / self.pairs**2 if self.pairs else float("inf")

    def pairing_variance(self, people: int, zeta1: float, zeta2: float) -> float:
        """The part of `variance` that the choice of pairs has: less that of the mean over all pairs."""
        return max(self.variance(zeta1, zeta2) - all_pairs_variance(people, zeta1, zeta2), 0.0)


def all_pairs_variance(people: int, zeta1: float, zeta2: float) -> float:
    """The variance of the mean over all pairs of people (Hoeffding 1948); arguments as of `Overlaps.variance`."""
    return (2 * (people - 2) * zeta1 + zeta2) * 2 / (people * (people - 1))


@dataclass(frozen=True, slots=True)
class Pairing(ABC):
    """A scheme that pairs people.

    Formal guarantees: pairs depend on the seed and on how many people there are, never on a value, and nobody is in
    more than `pairs_per_person` of them. Names are put in an even order first, so every pair is as likely as any other: the mean
    over the pairs that come is unbiased for that over all, as long as who comes does not depend on values.

    Attributes:
        pairs_per_person: In how many pairs a person is, at most.

    Raises:
        ValueError: `pairs_per_person` is not from 1 to 1024.
        TypeError: it is no whole number.
    """

    pairs_per_person: int

    def __post_init__(self) -> None:
        convert_to_integers(self, pairs_per_person="pairs_per_person")
        if not 1 <= self.pairs_per_person <= MOST_PAIRS_EACH:
            raise InvalidArgument(
                "pairs_per_person", f"from 1 to {MOST_PAIRS_EACH} are drawn, got {self.pairs_per_person}"
            )

    @abstractmethod
    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        """Numbers of people from 0 on: (pairs, 2).

        Raises:
            ValueError: there are too few people, or the seed has not 32 bytes.
        """

    @abstractmethod
    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Overlaps to be expected, before pairs are drawn."""


@dataclass(frozen=True, slots=True)
class Permutations(Pairing):
    """So many orders of the people, each drawn on its own and cut into pairs: a pair may come again.

    Where the number of people is odd, one is left out each time (Bell, Bellet, Gascon and Kulkarni 2020, Theorem 5).
    """

    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        _require(people, 1, seed)
        cut = people // 2 * 2
        rounds = [shuffle_people(people, seed, number)[:cut].reshape(-1, 2) for number in range(self.pairs_per_person)]
        return np.concatenate(rounds)

    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Exact expectations.

        In another order, each person of a pair is in a pair with chance ``2 m / n``, m being ``n // 2``; and the pair
        itself comes with chance m over the number of all pairs.
        """
        each, among = people // 2, people * (people - 1) / 2
        others = self.pairs_per_person * (self.pairs_per_person - 1) * each
        again = each / among
        return Overlaps(
            self.pairs_per_person * each,
            others * (4 * each / people - 2 * again),
            self.pairs_per_person * each + others * again,
        )


@dataclass(frozen=True, slots=True)
class WithoutRepetition(Pairing):
    """Rounds of a tournament in which everybody meets, after one even order of the people: no pair comes again.

    Among an odd number of people each pauses once in n rounds. No choice of as many pairs has a smaller variance.
    """

    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        _require(people, self.pairs_per_person, seed)
        order = shuffle_people(people, seed, 0)
        return np.concatenate([order[_tournament_round(people, number)] for number in range(self.pairs_per_person)])

    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Exact: but for those who pause, everybody is in as many pairs as there are rounds."""
        each, rounds = people // 2, self.pairs_per_person
        paused = people % 2 * rounds
        one = (people - paused) * rounds * (rounds - 1) + paused * (rounds - 1) * (rounds - 2)
        return Overlaps(each * rounds, one, each * rounds)


@dataclass(frozen=True, slots=True)
class OwnChoice(Pairing):
    """Pairing by choice: each chooses half of its partners at random, and refuses more once it has enough.

    No coordination is needed but the order. Pairs that are turned down are lost: three in ten where each chooses one
    partner, one in seven where each chooses four.

    Raises:
        ValueError: `pairs_per_person` is odd.
    """

    def __post_init__(self) -> None:
        Pairing.__post_init__(self)
        if self.pairs_per_person % 2:
            raise InvalidArgument("pairs_per_person", "an even number is needed: each chooses half as many partners")

    def draw_pairs(self, people: int, seed: bytes) -> IntArray:
        _require(people, self.pairs_per_person // 2 + people % 2, seed)
        partners = (np.arange(people)[:, None] + _draw_distances(people, self.pairs_per_person // 2, seed)) % people
        chosen = np.stack([np.repeat(np.arange(people), self.pairs_per_person // 2), partners.ravel()], axis=1)
        free, kept = [self.pairs_per_person] * people, []
        for first, second in chosen[shuffle_people(len(chosen), seed, 0)].tolist():
            if free[first] and free[second]:
                free[first] -= 1
                free[second] -= 1
                kept.append((first, second))
        return np.array(kept, dtype=np.int64).reshape(-1, 2)

    def compute_expected_overlaps(self, people: int) -> Overlaps:
        """Those of one draw among some of the people: they grow as people do, and repetitions stay as they are."""
        some = min(people, TRIED)
        drawn = Overlaps.from_pairs(self.draw_pairs(some, bytes(SEED)), some)
        pairs, grown = drawn.pairs * people / some, people / some
        return Overlaps(pairs, drawn.one_shared * grown, pairs + drawn.both_shared - drawn.pairs)


def _draw_distances(people: int, many: int, seed: bytes) -> IntArray:
    """Distances from each person to the partners on a circle: (people, many), from 1 on, none twice in a row."""
    steps = np.zeros((people, many), dtype=np.int64)
    again, drawn = np.ones((people, many), dtype=np.bool_), 0
    while again.any():
        words = _expand_seed(int(again.sum()), seed, f"partners {drawn}")
        steps[again] = 1 + (words % np.uint64(people - 1)).astype(np.int64)
        ordered = np.argsort(steps, axis=1, kind="stable")
        rising = np.take_along_axis(steps, ordered, axis=1)
        repeated = np.diff(rising, axis=1, prepend=0) == 0
        np.put_along_axis(again, ordered, repeated, axis=1)
        drawn += 1
    return steps


def shuffle_people(people: int, seed: bytes, number: int) -> IntArray:
    """An even order of people, the same for whoever knows the seed: by 64 bits of SHAKE-256 each.

    Two have the same 64 bits, and stand as they stood before, with chance ``people**2 / 2**65`` at most.
    """
    return np.argsort(_expand_seed(people, seed, f"order {number}"), kind="stable")


def commit_to_seed(seed: bytes) -> str:
    """The commitment that is published before the seed: it fixes the seed, and tells nothing of it.

    Raises:
        ValueError: the seed has not 32 bytes.
    """
    _require_seed(seed)
    return sha256(b"dpcurves pairs" + seed).hexdigest()


def _expand_seed(many: int, seed: bytes, name: str) -> Any:
    return np.frombuffer(shake_256(seed + name.encode()).digest(8 * many), dtype="<u8")


def _tournament_round(people: int, number: int) -> IntArray:
    """The pairs of one round, as places of an order: all turn in a circle but one, or but the pause."""
    turning = (people - 1) | 1
    steps = np.arange(1, (turning + 1) // 2)
    met = np.stack([(number + steps) % turning, (number - steps) % turning], axis=1)
    return met if people % 2 else np.concatenate([[[people - 1, number]], met])


def _require(people: int, partners: int, seed: bytes) -> None:
    _require_seed(seed)
    if not 2 <= people <= MOST_PEOPLE:
        raise InvalidArgument("people", f"from 2 to {MOST_PEOPLE} are paired")
    if partners > (people - 1 | 1):
        raise InvalidArgument("pairs_per_person", "there are not so many others")


def _require_seed(seed: bytes) -> None:
    if len(seed) != SEED:
        raise InvalidArgument("seed", f"{SEED} bytes are needed")


DEGREE = 2
"""Functions of more people at once (the volume under an ROC surface is a mean of one) have a place, and no circuit."""


@dataclass(frozen=True, slots=True)
class KernelForm:
    """The public form of a kernel: a symmetric function of two people's whole numbers.

    Attributes:
        circuit: A digest of the circuit that works it out.
        columns: What of each person it reads, in order, and in how many bits.
        least: No value is below it.
        most: No value is above it.
        step: What one of these whole numbers stands for.
        degree: How many people it is a function.

    Raises:
        ValueError: it has one value alone, or is of more than two people.
    """

    circuit: str
    columns: tuple[tuple[str, int], ...]
    least: int
    most: int
    step: Fraction = Fraction(1)
    degree: int = DEGREE

    def __post_init__(self) -> None:
        convert_to_integers(self, least="kernel", most="kernel", degree="degree")
        if self.least >= self.most:
            raise InvalidArgument("kernel", "it has the same value for all pairs: there is nothing to ask")
        if self.degree != DEGREE:
            raise InvalidArgument("degree", f"functions of {DEGREE} people are asked for, got {self.degree}")

    @property
    def span(self) -> int:
        """The range of its values."""
        return self.most - self.least


@dataclass(frozen=True, slots=True)
class PairQuery(Query):
    """The mean of a kernel over pairs of people. The axes are the kernel's columns, on whole numbers.

    Attributes:
        kernel: What is worked out for each pair.
        pairing: Which pairs, in no more than so many for each person.
        seed_commitment: The commitment to the seed that pairs are drawn from, which was published before any value; empty: a plan.
    """

    kernel: KernelForm
    pairing: Pairing
    seed_commitment: str = ""

    @classmethod
    def from_kernel(cls, kernel: KernelForm, pairing: Pairing, seed_commitment: str = "") -> Self:
        """The question that a kernel is for."""
        axes = (Axis(name, Grid(0, 1 << bits, cells=1 << bits)) for name, bits in kernel.columns)
        return cls(tuple(axes), kernel, pairing, seed_commitment)

    @property
    def pairs_per_unit(self) -> int:
        """In how many pairs a person is, at most."""
        return self.pairing.pairs_per_person

    @property
    def per_record_sensitivity(self) -> int:
        """The largest change of the sum over all pairs by one person."""
        return self.pairing.pairs_per_person * self.kernel.span


MOST_PAIRS = 2**40


@dataclass(frozen=True, slots=True)
class PairLaw(Law):
    """The distribution of released values around the mean of a kernel over all pairs.

    Attributes:
        people: How many people there are.
        pairs: How many pairs came.
        one_shared: How many ordered couples of these have exactly one person in common.
        both_shared: How many have both: each pair with itself, and with its repetitions.
        least: The smallest value of the kernel.
        most: The largest one.
        step: What one of these whole numbers stands for.

    Raises:
        ValueError: there are too few people, or numbers of pairs do not go together.
    """

    people: int
    pairs: int
    one_shared: int
    both_shared: int
    least: int
    most: int
    step: Fraction

    def __post_init__(self) -> None:
        if self.people < 2 or not 0 <= self.pairs <= min(self.both_shared, MOST_PAIRS) or self.one_shared < 0:
            raise InvalidArgument("pairs", "there are at least two people, and pairs overlap at least with themselves")
        if self.least >= self.most or self.step <= 0:
            raise InvalidArgument("kernel", "its values are more than one")

    @property
    def missing(self) -> None:
        """Nobody was counted."""
        return None

    @property
    def has_pair_answers(self) -> bool:
        """Tell whether each pair answered on its own; else one noise was added to the sum of all."""
        return False

    def debias(self, mean_answer: float) -> float:
        """The kernel's mean, without bias, from the mean of what pairs told."""
        return mean_answer

    @property
    def overlaps(self) -> Overlaps:
        """Numbers of people that pairs share."""
        return Overlaps(self.pairs, self.one_shared, self.both_shared)

    @property
    def span(self) -> int:
        """The range of the kernel's values."""
        return self.most - self.least

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        return {self.KEY: STORED.encode_fields(self), "values": list(values), "total": total}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return STORED.decode_fields(cls, stored[cls.KEY])


@dataclass(frozen=True, slots=True)
class PairAnswers(PairLaw):
    """Each pair answered on its own. The values: sums of answers, of their squares, and of products.

    Products are of couples of pairs, each couple once, that have exactly one person in common. They estimate the
    covariance of the answers of such pairs, which the variance depends on.

    Attributes:
        offset: The mean answer for a value of 0.
        gain: The increase of the mean answer when the value grows by 1.
    """

    KEY: ClassVar[str] = "pair_answers"

    offset: Fraction
    gain: Fraction

    @property
    def has_pair_answers(self) -> bool:
        return True

    def debias(self, mean_answer: float) -> float:
        return (mean_answer - float(self.offset)) / float(self.gain)

    @property
    def size(self) -> int:
        """Three sums."""
        return 3

    def blank_values(self) -> tuple[int, ...]:
        """Answers as they would be about values in the middle, rounded."""
        middle = float(self.offset + self.gain * Fraction(self.least + self.most, 2))
        return round(self.pairs * middle), round(self.pairs * middle), round(self.one_shared / 2 * middle**2)


@dataclass(frozen=True, slots=True)
class PairSum(PairLaw):
    """The sum of a function of two people over all pairs of people, with noise added once: a single number.

    Attributes:
        rate: One over the scale of the Laplace noise.
    """

    KEY: ClassVar[str] = "pair_sum"

    rate: Fraction

    @property
    def size(self) -> int:
        """A single sum."""
        return 1

    @property
    def variance(self) -> float:
        """The variance of the noise: ``2 r / (1 - r)**2``, r being ``exp(-rate)``."""
        rate = float(self.rate)
        return 2 * exp(-rate) / expm1(-rate) ** 2

    def blank_values(self) -> tuple[int, ...]:
        """The sum of values in the middle."""
        return (self.pairs * (self.least + self.most) // 2,)
