"""The public agreement of people who compute in pairs: jobs, meetings of two people, and what all of them signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan
from dpcurves.noise.randomness import Randomness

from ..crypto.circuits import Circuit, SymbolicInteger, trace_circuit
from ..crypto.two_party import FinalStep, InputOwner, Job
from .mechanisms import Kernel, build_noisy_circuit, plan_response, random_input_widths, split_random_widths
from .noise_circuits import FiniteLaplace, Response, add_modulo
from .queries import PairAnswers, Pairing, PairQuery, commit_to_seed


# SECRET. Conversion of any value to a whole number: who takes part, and what is shown, must not depend on values.
def coerce_unsigned(value: Any, bits: int) -> int:
    """SECRET: the whole number of so many bits that anything counts as. It raises nothing.

    One too large is the largest, one below 0 is 0, and so is what is no number.

    >>> [coerce_unsigned(value, 3) for value in (5, -1, 9, 4.0, "4", None)]
    [5, 0, 7, 4, 0, 0]
    """
    try:
        number = 0 if isinstance(value, str | bytes | bytearray) else int(value)
    except Exception:  # a class of numbers may do anything
        return 0
    return min(max(number, 0), (1 << bits) - 1)


def coerce_unsigned_array(values: Any, bits: int) -> NDArray[np.uint64]:
    """SECRET: `coerce_unsigned` of each."""
    return np.array([coerce_unsigned(value, bits) for value in values], dtype=np.uint64)


Numbers = NDArray[np.uint64]


def build_answers_job(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Each pair answers: the garbler has the first person's values and coins, the evaluator the second one's."""
    circuit = build_noisy_circuit(kernel, response)
    half = len(circuit.inputs) // 2
    return Job(name, circuit, (InputOwner.GARBLER,) * half + (InputOwner.EVALUATOR,) * half, pairs)


def build_server_answers_job(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Each pair answers, by two servers with XOR shares of all values: either throws the coins of one side."""
    circuit = build_noisy_circuit(kernel, response)
    values, coins = (InputOwner.SHARED,) * len(kernel.columns), len(random_input_widths(response))
    owners = (*values, *(InputOwner.GARBLER,) * coins, *values, *(InputOwner.EVALUATOR,) * coins)
    return Job(name, circuit, owners, pairs)


def prepare_server_answer_inputs(  # noqa: PLR0917
    kernel: Kernel, response: Response, shares: Mapping[str, Numbers], pairs: IntArray, party: int,
    randomness: Randomness,
) -> list[Numbers | None]:  # fmt: skip
    """SECRET: what one server gives to `build_server_answers_job`: shares of both people of each pair, and its coins."""
    given: list[Numbers | None] = []
    for person in (0, 1):
        given += [shares[name][pairs[:, person]] for name in kernel.columns]
        own, widths = person == party, random_input_widths(response).values()
        given += [randomness.sample_words(len(pairs)) >> np.uint64(64 - bits) if own else None for bits in widths]
    return given


def prepare_answer_inputs(
    kernel: Kernel, response: Response, values: Mapping[str, Any], party: int, randomness: Randomness
) -> list[Numbers | None]:
    """SECRET: what one party gives to `build_answers_job`: values by column, and coins that it throws."""
    own = [
        coerce_unsigned_array(values[name], bits)
        for name, bits in zip(kernel.columns, kernel.bits.values(), strict=True)
    ]
    count = len(own[0])
    own += [randomness.sample_words(count) >> np.uint64(64 - bits) for bits in random_input_widths(response).values()]
    nothing: list[Numbers | None] = [None] * len(own)
    return [*nothing, *own] if party else [*own, *nothing]


def decode_answers(response: Response, bits: Sequence[BoolArray]) -> IntArray:
    """The answers whose wires have these bits."""
    places = [bit.astype(np.int64) << place for place, bit in enumerate(bits)]
    return response.decode_answers(np.sum(places, axis=0, dtype=np.int64))


def build_sum_job(name: bytes, kernel: Kernel, noise: FiniteLaplace, pairs: int) -> Job:
    """Two servers with XOR shares of all values: the sum of the kernel over pairs, from its least value on, and noise.

    The result stands on the circle of the noise. All coins are thrown by both.
    """
    owners = (InputOwner.SHARED,) * len(kernel.circuit.inputs)
    plain = Job(name, kernel.circuit, owners, pairs)
    ending = _build_noisy_total(plain, kernel.form.least, noise)
    return Job(name, kernel.circuit, owners, pairs, FinalStep(ending, (InputOwner.COIN,) * (len(ending.inputs) - 1)))


def _build_noisy_total(plain: Job, least: int, noise: FiniteLaplace) -> Circuit:
    def add_noise(total: SymbolicInteger, *coins: SymbolicInteger) -> SymbolicInteger:
        number = total - (plain.total_offset + plain.count * least)
        thrown = noise.wires([each for coin in coins for each in coin.to_bits()])
        found = add_modulo(number.to_bits(noise.width), thrown)
        return SymbolicInteger.from_bits(found)

    return trace_circuit(add_noise, plain.total_width, *split_random_widths(noise.random_widths))


def share_values(
    values: Mapping[str, Any], widths: Mapping[str, int], randomness: Randomness
) -> tuple[dict[str, Numbers], ...]:
    """SECRET: two XOR shares of values by column, each uniform on its own, whatever values are: one for each server.

    Values count as `coerce_unsigned` says: a mask covers so many bits, and no more are shared.
    """
    masks = {
        name: randomness.sample_words(len(values[name])) >> np.uint64(64 - width) for name, width in widths.items()
    }
    return masks, {name: coerce_unsigned_array(values[name], width) ^ masks[name] for name, width in widths.items()}


def prepare_sum_inputs(kernel: Kernel, shares: Mapping[str, Numbers], pairs: IntArray) -> list[Numbers | None]:
    """SECRET: what one server gives to `build_sum_job`: its shares of both people of each pair."""
    return [shares[name][pairs[:, person]] for person in (0, 1) for name in kernel.columns]


def decode_sum(bits: Sequence[BoolArray]) -> int:
    """The number of an opened sum."""
    return sum(int(bit[0]) << place for place, bit in enumerate(bits))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two people of one pair. The first one garbles.

    Attributes:
        task_hash: The hash of the task.
        number: The number of the pair.
        people: The numbers of both.
    """

    task_hash: bytes
    number: int
    people: tuple[int, int]

    @property
    def name(self) -> bytes:
        """A name that is unique among the meetings of all tasks."""
        return b"meeting 1\n" + self.task_hash + f" {self.number} {self.people[0]} {self.people[1]}".encode()

    def find_partner(self, person: int) -> int:
        """The number of the other person.

        Raises:
            ValueError: the person is not of this meeting.
        """
        if person not in self.people:
            raise InvalidArgument("person", "it is not of this meeting")
        return self.people[1 - self.people.index(person)]


def create_meetings(task: bytes, pairs: IntArray) -> tuple[Meeting, ...]:
    """A meeting for each pair: (pairs, 2). One that breaks is dropped, and nobody of it is paired anew."""
    return tuple(Meeting(task, number, (one, other)) for number, (one, other) in enumerate(pairs.tolist()))


def draw_committed_pairs(pairing: Pairing, people: int, seed: bytes, seed_commitment: str) -> IntArray:
    """The pairs of a seed that was promised while people entered, before any value: nobody chose it afterwards.

    Raises:
        ProtocolAborted: it is another seed.
    """
    if commit_to_seed(seed) != seed_commitment:
        raise ProtocolError("seed", "it is not the one that was promised")
    return pairing.draw_pairs(people, seed)


class AgreementProtocol(Protocol):
    """The part of an agreement that a person needs."""

    @property
    def task_hash(self) -> bytes:
        """The hash of all of it."""

    @property
    def max_meetings(self) -> int:
        """Most meetings that a person enters."""

    @property
    def value_count(self) -> int:
        """Number of values that a person supplies."""

    def build_job(self, meeting: Meeting) -> Job:
        """Computation of a meeting."""

    def require_meeting(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that was not agreed on.

        Raises:
            ProtocolAborted: it is none of the promised pairs, or not this person's.
        """


@dataclass(frozen=True, slots=True)
class PairTerms:
    """Public commitment to a task, published while people enter, before the seed is shown.

    Attributes:
        kernel: The function of two people's values.
        response: The noise of each pair.
        pairing: Scheme by which pairs are drawn.
        people: Number of people.
        seed_commitment: The commitment to the seed, which fixes it and does not reveal it.
        document_hash: The hash of the document that it stands in; empty: it stands alone.
    """

    kernel: Kernel
    response: Response
    pairing: Pairing
    people: int
    seed_commitment: str
    document_hash: bytes = b""

    @classmethod
    def from_plan(cls, kernel: Kernel, plan: Plan, document_hash: bytes = b"") -> PairTerms:
        """Promise of a plan.

        Raises:
            ProtocolAborted: it is of another kernel, or no pairs answer on their own by it, or it promises no seed.
        """
        query = plan.query.as_kind(PairQuery)
        if query is None or query.kernel != kernel.form or not query.seed_commitment:
            raise ProtocolError("plan", "one of this kernel is needed, made with a seed")
        people = plan.law.require_type(PairAnswers).people
        return cls(kernel, plan_response(query, plan.loss), query.pairing, people, query.seed_commitment, document_hash)

    @property
    def task_hash(self) -> bytes:
        """The hash of all of it."""
        facts = (self.kernel.form, self.response, self.pairing, self.people, self.seed_commitment, self.document_hash)
        return sha256("\n".join(["dpcurves: pairs of people, version 2", *map(repr, facts)]).encode()).digest()

    @property
    def max_meetings(self) -> int:
        """Most meetings that a person enters."""
        return self.pairing.pairs_per_person

    def build_agreement(self, seed: bytes) -> Agreement:
        """Everything, once the seed is known.

        Raises:
            ProtocolAborted: it is not the seed that was promised.
        """
        return _build_agreement(self, seed)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Promise with its seed: the pairs that follow from it, and their computation.

    Attributes:
        terms: Promise that was published before.
        seed: Seed that pairs are drawn from.
        meetings: Meetings of all pairs.

    Raises:
        ProtocolAborted: the seed is not the promised one.
    """

    terms: PairTerms
    seed: bytes
    meetings: tuple[Meeting, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        told = self.terms
        pairs = draw_committed_pairs(told.pairing, told.people, self.seed, told.seed_commitment)
        object.__setattr__(self, "meetings", create_meetings(told.task_hash, pairs))

    @property
    def task_hash(self) -> bytes:
        """The hash of the promise."""
        return self.terms.task_hash

    @property
    def max_meetings(self) -> int:
        """Most meetings that a person enters."""
        return self.terms.max_meetings

    @property
    def value_count(self) -> int:
        """Number of values that a person supplies."""
        return len(self.terms.kernel.columns)

    def find_meetings(self, person: int) -> tuple[Meeting, ...]:
        """The meetings of one person."""
        return tuple(meeting for meeting in self.meetings if person in meeting.people)

    def build_job(self, meeting: Meeting) -> Job:
        """The kernel of both people's values, with noise from coins of both."""
        return build_answers_job(meeting.name, self.terms.kernel, self.terms.response, 1)

    def require_meeting(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that the seed did not give, or that is not this person's.

        Raises:
            ProtocolAborted: it is so.
        """
        there = 0 <= meeting.number < len(self.meetings) and self.meetings[meeting.number] == meeting
        if not there or person not in meeting.people:
            raise ProtocolError("meeting", "it is none that was agreed on")


@lru_cache(maxsize=4)  # a pure function of what is public
def _build_agreement(promise: PairTerms, seed: bytes) -> Agreement:
    return Agreement(promise, seed)
