"""The public agreement of people who compute in pairs: jobs, meetings of two people, and what all of them signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted, Refused
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan
from dpcurves.noise.randomness import Randomness

from ..crypto.circuits import Bits, Circuit, traced
from ..crypto.two_party import Ending, Job, Owner
from .mechanisms import Kernel, coin_inputs, noisy_circuit, response_of, sizes_of_coins
from .noise_circuits import FiniteLaplace, Response, around
from .queries import PairAnswers, Pairing, PairQuery, commitment


# SECRET. Conversion of any value to a whole number: who takes part, and what is shown, must not depend on values.
def whole(value: Any, bits: int) -> int:
    """SECRET: the whole number of so many bits that anything counts as. It raises nothing.

    One too large is the largest, one below 0 is 0, and so is what is no number.

    >>> [whole(value, 3) for value in (5, -1, 9, 4.0, "4", None)]
    [5, 0, 7, 4, 0, 0]
    """
    try:
        number = 0 if isinstance(value, str | bytes | bytearray) else int(value)
    except Exception:  # a class of numbers may do anything
        return 0
    return min(max(number, 0), (1 << bits) - 1)


def whole_numbers(values: Any, bits: int) -> NDArray[np.uint64]:
    """SECRET: `whole` of each."""
    return np.array([whole(value, bits) for value in values], dtype=np.uint64)


Numbers = NDArray[np.uint64]


def answers_of_pairs(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Each pair answers: the garbler has the first person's values and coins, the evaluator the second one's."""
    circuit = noisy_circuit(kernel, response)
    half = len(circuit.inputs) // 2
    return Job(name, circuit, (Owner.GARBLER,) * half + (Owner.EVALUATOR,) * half, pairs)


def answers_by_servers(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Each pair answers, by two servers with XOR shares of all values: either throws the coins of one side."""
    circuit = noisy_circuit(kernel, response)
    values, coins = (Owner.SHARED,) * len(kernel.columns), len(coin_inputs(response))
    owners = (*values, *(Owner.GARBLER,) * coins, *values, *(Owner.EVALUATOR,) * coins)
    return Job(name, circuit, owners, pairs)


def given_to_answers_by_servers(  # noqa: PLR0917
    kernel: Kernel, response: Response, shares: Mapping[str, Numbers], pairs: IntArray, party: int,
    randomness: Randomness,
) -> list[Numbers | None]:  # fmt: skip
    """SECRET: what one server gives to `answers_by_servers`: shares of both people of each pair, and its coins."""
    given: list[Numbers | None] = []
    for person in (0, 1):
        given += [shares[name][pairs[:, person]] for name in kernel.columns]
        own, widths = person == party, coin_inputs(response).values()
        given += [randomness.words(len(pairs)) >> np.uint64(64 - bits) if own else None for bits in widths]
    return given


def given_to_answers(
    kernel: Kernel, response: Response, values: Mapping[str, Any], party: int, randomness: Randomness
) -> list[Numbers | None]:
    """SECRET: what one party gives to `answers_of_pairs`: values by column, and coins that it throws."""
    own = [whole_numbers(values[name], bits) for name, bits in zip(kernel.columns, kernel.bits.values(), strict=True)]
    count = len(own[0])
    own += [randomness.words(count) >> np.uint64(64 - bits) for bits in coin_inputs(response).values()]
    nothing: list[Numbers | None] = [None] * len(own)
    return [*nothing, *own] if party else [*own, *nothing]


def response_to(response: Response, bits: Sequence[BoolArray]) -> IntArray:
    """The answers whose wires have these bits."""
    places = [bit.astype(np.int64) << place for place, bit in enumerate(bits)]
    return response.decoded(np.sum(places, axis=0, dtype=np.int64))


def sum_of_pairs(name: bytes, kernel: Kernel, noise: FiniteLaplace, pairs: int) -> Job:
    """Two servers with XOR shares of all values: the sum of the kernel over pairs, from its least value on, and noise.

    The result stands on the circle of the noise. All coins are thrown by both.
    """
    owners = (Owner.SHARED,) * len(kernel.circuit.inputs)
    plain = Job(name, kernel.circuit, owners, pairs)
    ending = _noisy_total(plain, kernel.form.least, noise)
    return Job(name, kernel.circuit, owners, pairs, Ending(ending, (Owner.COIN,) * (len(ending.inputs) - 1)))


def _noisy_total(plain: Job, least: int, noise: FiniteLaplace) -> Circuit:
    def noisy(total: Bits, *coins: Bits) -> Bits:
        number = total - (plain.total_offset + plain.count * least)
        thrown = noise.wires([each for coin in coins for each in coin.places()])
        found = around(number.places(noise.width), thrown)
        return Bits.of_places(found)

    return traced(noisy, plain.total_width, *sizes_of_coins(noise.coins))


def shares_of(
    values: Mapping[str, Any], widths: Mapping[str, int], randomness: Randomness
) -> tuple[dict[str, Numbers], ...]:
    """SECRET: two XOR shares of values by column, each uniform on its own, whatever values are: one for each server.

    Values count as `whole` says: a mask covers so many bits, and no more are shared.
    """
    masks = {name: randomness.words(len(values[name])) >> np.uint64(64 - width) for name, width in widths.items()}
    return masks, {name: whole_numbers(values[name], width) ^ masks[name] for name, width in widths.items()}


def given_to_sum(kernel: Kernel, shares: Mapping[str, Numbers], pairs: IntArray) -> list[Numbers | None]:
    """SECRET: what one server gives to `sum_of_pairs`: its shares of both people of each pair."""
    return [shares[name][pairs[:, person]] for person in (0, 1) for name in kernel.columns]


def number_of(bits: Sequence[BoolArray]) -> int:
    """The number of an opened sum."""
    return sum(int(bit[0]) << place for place, bit in enumerate(bits))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two people of one pair. The first one garbles.

    Attributes:
        task: The hash of the task.
        number: The number of the pair.
        people: The numbers of both.
    """

    task: bytes
    number: int
    people: tuple[int, int]

    @property
    def name(self) -> bytes:
        """A name that is unique among the meetings of all tasks."""
        return b"meeting 1\n" + self.task + f" {self.number} {self.people[0]} {self.people[1]}".encode()

    def partner(self, person: int) -> int:
        """The number of the other person.

        Raises:
            ValueError: the person is not of this meeting.
        """
        if person not in self.people:
            raise Refused("person", "it is not of this meeting")
        return self.people[1 - self.people.index(person)]


def meetings(task: bytes, pairs: IntArray) -> tuple[Meeting, ...]:
    """A meeting for each pair: (pairs, 2). One that breaks is dropped, and nobody of it is paired anew."""
    return tuple(Meeting(task, number, (one, other)) for number, (one, other) in enumerate(pairs.tolist()))


def promised_pairs(pairing: Pairing, people: int, seed: bytes, promised: str) -> IntArray:
    """The pairs of a seed that was promised while people entered, before any value: nobody chose it afterwards.

    Raises:
        ProtocolAborted: it is another seed.
    """
    if commitment(seed) != promised:
        raise ProtocolAborted("seed", "it is not the one that was promised")
    return pairing.pairs(people, seed)


class Agreed(Protocol):
    """The part of an agreement that a person needs."""

    @property
    def task(self) -> bytes:
        """The hash of all of it."""

    @property
    def most(self) -> int:
        """Most meetings that a person enters."""

    @property
    def values(self) -> int:
        """Number of values that a person supplies."""

    def job(self, meeting: Meeting) -> Job:
        """Computation of a meeting."""

    def require(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that was not agreed on.

        Raises:
            ProtocolAborted: it is none of the promised pairs, or not this person's.
        """


@dataclass(frozen=True, slots=True)
class Promise:
    """Public commitment to a task, published while people enter, before the seed is shown.

    Attributes:
        kernel: The function of two people's values.
        response: The noise of each pair.
        pairing: Scheme by which pairs are drawn.
        people: Number of people.
        commitment: The commitment to the seed, which fixes it and does not reveal it.
        document: The hash of the document that it stands in; empty: it stands alone.
    """

    kernel: Kernel
    response: Response
    pairing: Pairing
    people: int
    commitment: str
    document: bytes = b""

    @classmethod
    def of(cls, kernel: Kernel, plan: Plan, document: bytes = b"") -> Promise:
        """Promise of a plan.

        Raises:
            ProtocolAborted: it is of another kernel, or no pairs answer on their own by it, or it promises no seed.
        """
        query = plan.query.narrowed(PairQuery)
        if query is None or query.kernel != kernel.form or not query.seed:
            raise ProtocolAborted("plan", "one of this kernel is needed, made with a seed")
        people = plan.law.required(PairAnswers).people
        return cls(kernel, response_of(query, plan.loss), query.pairing, people, query.seed, document)

    @property
    def task(self) -> bytes:
        """The hash of all of it."""
        facts = (self.kernel.form, self.response, self.pairing, self.people, self.commitment, self.document)
        return sha256("\n".join(["dpcurves: pairs of people, version 2", *map(repr, facts)]).encode()).digest()

    @property
    def most(self) -> int:
        """Most meetings that a person enters."""
        return self.pairing.each

    def shown(self, seed: bytes) -> Agreement:
        """Everything, once the seed is known.

        Raises:
            ProtocolAborted: it is not the seed that was promised.
        """
        return _shown(self, seed)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Promise with its seed: the pairs that follow from it, and their computation.

    Attributes:
        promise: Promise that was published before.
        seed: Seed that pairs are drawn from.
        meetings: Meetings of all pairs.

    Raises:
        ProtocolAborted: the seed is not the promised one.
    """

    promise: Promise
    seed: bytes
    meetings: tuple[Meeting, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        told = self.promise
        pairs = promised_pairs(told.pairing, told.people, self.seed, told.commitment)
        object.__setattr__(self, "meetings", meetings(told.task, pairs))

    @property
    def task(self) -> bytes:
        """The hash of the promise."""
        return self.promise.task

    @property
    def most(self) -> int:
        """Most meetings that a person enters."""
        return self.promise.most

    @property
    def values(self) -> int:
        """Number of values that a person supplies."""
        return len(self.promise.kernel.columns)

    def meetings_of(self, person: int) -> tuple[Meeting, ...]:
        """The meetings of one person."""
        return tuple(meeting for meeting in self.meetings if person in meeting.people)

    def job(self, meeting: Meeting) -> Job:
        """The kernel of both people's values, with noise from coins of both."""
        return answers_of_pairs(meeting.name, self.promise.kernel, self.promise.response, 1)

    def require(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that the seed did not give, or that is not this person's.

        Raises:
            ProtocolAborted: it is so.
        """
        there = 0 <= meeting.number < len(self.meetings) and self.meetings[meeting.number] == meeting
        if not there or person not in meeting.people:
            raise ProtocolAborted("meeting", "it is none that was agreed on")


@lru_cache(maxsize=4)  # a pure function of what is public
def _shown(promise: Promise, seed: bytes) -> Agreement:
    return Agreement(promise, seed)
