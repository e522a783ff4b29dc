"""Public terms of secure two-party computations between pairs of people: jobs, meetings, and the terms they agree on.

People are paired at random. The two of a pair evaluate a function of both values, with noise, in a garbled circuit. A
job is the circuit with its number of instances; a meeting is the session of the two people of one pair.

    PairTerms    what people agree on before the seed is shown: computation, loss, pairing, commitment to the seed
    Agreement    the terms with their seed: the pairs that follow, and the circuit of each meeting
    Meeting      the two people of a pair; the first one garbles

Equal hashes of the terms mean agreement on computation, loss and pairs. A meeting that does not follow from the
committed seed is refused, so nobody can choose whom to compute with.

Formal guarantees: terms are public. `max_meetings` bounds the meetings, and so the loss, of a person.
"""

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


# SECRET. Any value is coerced to an integer: neither participation nor errors may depend on values.
def coerce_unsigned(value: Any, bits: int) -> int:
    """SECRET: return a value as an unsigned integer of `bits` bits. No value raises an error, which would reveal it.

    Fractions are cut off. Values are clipped to 0 and to the largest integer; anything that is not a number becomes 0.

    >>> [coerce_unsigned(value, 3) for value in (5, -1, 9, 4.0, "4", None)]
    [5, 0, 7, 4, 0, 0]
    """
    try:
        number = 0 if isinstance(value, str | bytes | bytearray) else int(value)
    except Exception:  # `__int__` of an unknown class may raise anything
        return 0
    return min(max(number, 0), (1 << bits) - 1)


def coerce_unsigned_array(values: Any, bits: int) -> NDArray[np.uint64]:
    """SECRET: return values as unsigned integers of `bits` bits, (values,), each coerced by `coerce_unsigned`."""
    return np.array([coerce_unsigned(value, bits) for value in values], dtype=np.uint64)


Numbers = NDArray[np.uint64]


def build_answers_job(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Return the job in which each pair answers by itself. Either person supplies its values and random bits.

    Args:
        name: Name of the job, unique in the task.
        kernel: Function of the values of two people.
        response: Randomised response to the kernel.
        pairs: Number of pairs.
    """
    circuit = build_noisy_circuit(kernel, response)
    half = len(circuit.inputs) // 2
    return Job(name, circuit, (InputOwner.GARBLER,) * half + (InputOwner.EVALUATOR,) * half, pairs)


def build_server_answers_job(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Return the job in which two servers compute each pair's answer from XOR shares of all values.

    Each server supplies the random bits of one side.

    Args:
        name: Name of the job, unique in the task.
        kernel: Function of the values of two people.
        response: Randomised response to the kernel.
        pairs: Number of pairs.
    """
    circuit = build_noisy_circuit(kernel, response)
    values = (InputOwner.SHARED,) * len(kernel.columns)
    random_inputs = len(random_input_widths(response))
    owners = (*values, *(InputOwner.GARBLER,) * random_inputs, *values, *(InputOwner.EVALUATOR,) * random_inputs)
    return Job(name, circuit, owners, pairs)


def prepare_server_answer_inputs(  # noqa: PLR0917
    kernel: Kernel, response: Response, shares: Mapping[str, Numbers], pairs: IntArray, party: int,
    randomness: Randomness,
) -> list[Numbers | None]:  # fmt: skip
    """SECRET: return one server's inputs to `build_server_answers_job`: shares of both people of each pair, and random
    bits.

    Args:
        kernel: Function of the values of two people.
        response: Randomised response to the kernel.
        shares: This server's shares of the values, by column. SECRET.
        pairs: People of each pair, (pairs, 2).
        party: Number of the server, 0 or 1.
        randomness: Source of the random bits.
    """
    inputs: list[Numbers | None] = []
    for person in (0, 1):
        inputs += [shares[name][pairs[:, person]] for name in kernel.columns]
        is_own = person == party
        widths = random_input_widths(response).values()
        inputs += [randomness.sample_words(len(pairs)) >> np.uint64(64 - bits) if is_own else None for bits in widths]
    return inputs


def prepare_answer_inputs(
    kernel: Kernel, response: Response, values: Mapping[str, Any], party: int, randomness: Randomness
) -> list[Numbers | None]:
    """SECRET: return one party's inputs to `build_answers_job`: values by column, and random bits.

    Args:
        kernel: Function of the values of two people.
        response: Randomised response to the kernel.
        values: This party's values, by column. SECRET.
        party: Number of the party, 0 or 1.
        randomness: Source of the random bits.
    """
    own_inputs = [
        coerce_unsigned_array(values[name], bits)
        for name, bits in zip(kernel.columns, kernel.bits.values(), strict=True)
    ]
    count = len(own_inputs[0])
    own_inputs += [
        randomness.sample_words(count) >> np.uint64(64 - bits) for bits in random_input_widths(response).values()
    ]
    other_inputs: list[Numbers | None] = [None] * len(own_inputs)
    return [*other_inputs, *own_inputs] if party else [*own_inputs, *other_inputs]


def decode_answers(response: Response, bits: Sequence[BoolArray]) -> IntArray:
    """Return the integer answer of each pair from the opened bits of the output wires, one array ``(pairs,)`` per
    wire.

    Args:
        response: Randomised response whose circuit had these output wires.
        bits: Opened bits, lowest wire first.
    """
    weighted_bits = [bit.astype(np.int64) << position for position, bit in enumerate(bits)]
    return response.decode_answers(np.sum(weighted_bits, axis=0, dtype=np.int64))


def build_sum_job(name: bytes, kernel: Kernel, noise: FiniteLaplace, pairs: int) -> Job:
    """Return the job in which two servers with XOR shares of all values sum the kernel over pairs, and add noise.

    The output is the sum minus its least possible value, plus noise, modulo `2**noise.width`. Both servers supply each
    random bit (XOR).

    Args:
        name: Name of the job, unique in the task.
        kernel: Function of the values of two people.
        noise: Noise of the sum.
        pairs: Number of pairs.
    """
    owners = (InputOwner.SHARED,) * len(kernel.circuit.inputs)
    plain = Job(name, kernel.circuit, owners, pairs)
    ending = _build_noisy_total(plain, kernel.form.minimum, noise)
    return Job(name, kernel.circuit, owners, pairs, FinalStep(ending, (InputOwner.COIN,) * (len(ending.inputs) - 1)))


def _build_noisy_total(plain: Job, minimum: int, noise: FiniteLaplace) -> Circuit:
    """Return the final circuit of `build_sum_job`: from the sum of all pairs and random bits to the noisy sum.

    Args:
        plain: Job that sums the kernel's values over all pairs, without noise.
        minimum: Least value of the kernel.
        noise: Distribution of the noise, made from random bits.
    """

    def add_noise(total: SymbolicInteger, *random_inputs: SymbolicInteger) -> SymbolicInteger:
        """Add circuit noise to a sum: return the sum minus its least possible value, plus noise, modulo
        ``2**noise.width``.

        Args:
            total: Sum of the kernel values of all pairs, including `total_offset`.
            random_inputs: Uniform random integers of both servers; their bits are concatenated.

        Returns:
            Unsigned number with as many bits as the noise.
        """
        offset_sum = total - (plain.total_offset + plain.count * minimum)
        noise_bits = noise.wires([bit for random_input in random_inputs for bit in random_input.to_bits()])
        noisy_sum = add_modulo(offset_sum.to_bits(noise.width), noise_bits)
        return SymbolicInteger.from_bits(noisy_sum)

    return trace_circuit(add_noise, plain.total_width, *split_random_widths(noise.random_widths))


def share_values(
    values: Mapping[str, Any], widths: Mapping[str, int], randomness: Randomness
) -> tuple[dict[str, Numbers], ...]:
    """SECRET: split values by column into two XOR shares, one for each server. Each share alone is uniform.

    Values are coerced as by `coerce_unsigned`, since a mask covers the declared bits only.

    Args:
        values: Values by column. SECRET.
        widths: Declared bits of each column.
        randomness: Source of the random bits.

    Returns:
        For server 0 and for server 1: unsigned numbers by column.
    """
    masks = {
        name: randomness.sample_words(len(values[name])) >> np.uint64(64 - width) for name, width in widths.items()
    }
    return masks, {name: coerce_unsigned_array(values[name], width) ^ masks[name] for name, width in widths.items()}


def prepare_sum_inputs(kernel: Kernel, shares: Mapping[str, Numbers], pairs: IntArray) -> list[Numbers | None]:
    """SECRET: return one server's inputs to `build_sum_job`: its shares of both people of each pair.

    Args:
        kernel: Function of the values of two people.
        shares: This server's shares of the values, by column. SECRET.
        pairs: People of each pair, (pairs, 2).
    """
    return [shares[name][pairs[:, person]] for person in (0, 1) for name in kernel.columns]


def decode_sum(bits: Sequence[BoolArray]) -> int:
    """Return the noisy sum, modulo ``2**noise.width``, from its opened bits, one array with one element per wire."""
    return sum(int(bit[0]) << position for position, bit in enumerate(bits))


@dataclass(frozen=True, slots=True)
class Meeting:
    """The two people of a pair. The first person garbles.

    Attributes:
        task_hash: The hash of the task.
        number: Number of the pair.
        people: Numbers of both people.
    """

    task_hash: bytes
    number: int
    people: tuple[int, int]

    @property
    def name(self) -> bytes:
        """Name that is unique among the meetings of all tasks."""
        return b"meeting 1\n" + self.task_hash + f" {self.number} {self.people[0]} {self.people[1]}".encode()

    def find_partner(self, person: int) -> int:
        """Return the number of the other person in this meeting.

        Raises:
            ValueError: the person is not in this meeting.
        """
        if person not in self.people:
            raise InvalidArgument(
                "person", "must be one of the two people of this meeting; use the number on your ticket"
            )
        return self.people[1 - self.people.index(person)]


def create_meetings(task: bytes, pairs: IntArray) -> tuple[Meeting, ...]:
    """Return a meeting for each pair, (pairs, 2). A meeting that fails is dropped; its people get no other partner.

    Args:
        task: Hash of the task, as bytes.
        pairs: Numbers of the first and the second person of each pair.

    Returns:
        A meeting per pair, numbered from 0 in this order.
    """
    return tuple(Meeting(task, number, (first, second)) for number, (first, second) in enumerate(pairs.tolist()))


def draw_committed_pairs(pairing: Pairing, people: int, seed: bytes, seed_commitment: str) -> IntArray:
    """Draw the pairs from a seed after checking its commitment, which was published before any value was entered.

    So the seed cannot have been chosen after values were known.

    Args:
        pairing: The rule of pairs.
        people: Number of people.
        seed: The revealed seed.
        seed_commitment: The published commitment.

    Raises:
        ProtocolError: the seed does not match the commitment.
    """
    if commit_to_seed(seed) != seed_commitment:
        raise ProtocolError("seed", "must match the published commitment; get the task document and the seed again")
    return pairing.draw_pairs(people, seed)


class AgreementProtocol(Protocol):
    """Interface of the agreement that a person needs."""

    @property
    def task_hash(self) -> bytes:
        """SHA-256 of all terms of the agreement; both people of a meeting must have the same."""

    @property
    def max_meetings(self) -> int:
        """Largest number of meetings that one person may enter under this agreement, which bounds the person's loss."""

    @property
    def value_count(self) -> int:
        """Number of values that a person enters for a meeting: one for each column of the kernel."""

    def build_job(self, meeting: Meeting) -> Job:
        """Return the two-party computation that both people of a meeting run: circuit, input widths and a name unique
        to the meeting.

        Args:
            meeting: Meeting of two people.
        """

    def require_meeting(self, meeting: Meeting, person: int) -> None:
        """Refuse to compute in a meeting that is not one of the agreed pairs, or not this person's.

        Args:
            meeting: Meeting that is checked.
            person: Number of the person who asks.

        Raises:
            ProtocolError: the meeting is not one of the agreed pairs, or not this person's.
        """


@dataclass(frozen=True, slots=True)
class PairTerms:
    """Public terms of a task, published while people enter, before the seed is shown.

    Attributes:
        kernel: Function of two people's values.
        response: Noise of each pair.
        pairing: Scheme by which pairs are drawn.
        people: Number of people.
        seed_commitment: Commitment to the seed, which fixes the seed without revealing it.
        document_hash: Hash of the task document; empty without a document.
    """

    kernel: Kernel
    response: Response
    pairing: Pairing
    people: int
    seed_commitment: str
    document_hash: bytes = b""

    @classmethod
    def from_plan(cls, kernel: Kernel, plan: Plan, document_hash: bytes = b"") -> PairTerms:
        """Return the terms that people agree on, from the plan of a question about pairs.

        Args:
            kernel: Function of the values of two people.
            plan: Plan of answers of pairs.
            document_hash: Hash of the task document; empty: none.

        Raises:
            ProtocolError: the plan is of another kernel, adds its noise to the sum, or has no seed commitment.
        """
        query = plan.query.as_kind(PairQuery)
        if query is None or query.kernel != kernel.form or not query.seed_commitment:
            raise ProtocolError("plan", "must be a plan of this kernel, made with a seed; plan the question with seed=")
        people = plan.distribution.require_type(PairAnswers).people
        return cls(kernel, plan_response(query, plan.loss), query.pairing, people, query.seed_commitment, document_hash)

    @property
    def task_hash(self) -> bytes:
        """SHA-256 of all terms: two people with equal hashes agree on the computation, its loss and the pairs."""
        facts = (self.kernel.form, self.response, self.pairing, self.people, self.seed_commitment, self.document_hash)
        return sha256("\n".join(["dpcurves: pairs of people, version 2", *map(repr, facts)]).encode()).digest()

    @property
    def max_meetings(self) -> int:
        """Largest number of meetings that one person may enter: the pairing's pairs per person."""
        return self.pairing.pairs_per_person

    def build_agreement(self, seed: bytes) -> Agreement:
        """Return the agreement of all participants, whose pairs are drawn from the revealed seed.

        Args:
            seed: The revealed seed, which is checked against its commitment.

        Raises:
            ProtocolError: the seed does not match the commitment.
        """
        return _build_agreement(self, seed)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Terms with their seed: the pairs that follow, and their computation.

    Attributes:
        terms: Terms that were published before.
        seed: Seed that pairs are drawn from.
        meetings: Meetings of all pairs.

    Raises:
        ProtocolError: the seed does not match the commitment.
    """

    terms: PairTerms
    seed: bytes
    meetings: tuple[Meeting, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        terms = self.terms
        pairs = draw_committed_pairs(terms.pairing, terms.people, self.seed, terms.seed_commitment)
        object.__setattr__(self, "meetings", create_meetings(terms.task_hash, pairs))

    @property
    def task_hash(self) -> bytes:
        """SHA-256 of the terms of this agreement, to which messages are bound."""
        return self.terms.task_hash

    @property
    def max_meetings(self) -> int:
        """Largest number of meetings per person, from the terms."""
        return self.terms.max_meetings

    @property
    def value_count(self) -> int:
        """Number of values that each person supplies: one per column of the kernel."""
        return len(self.terms.kernel.columns)

    def find_meetings(self, person: int) -> tuple[Meeting, ...]:
        """Return the meetings of one person, in the order of their numbers; empty if the person is in no pair."""
        return tuple(meeting for meeting in self.meetings if person in meeting.people)

    def build_job(self, meeting: Meeting) -> Job:
        """Return the two-party computation of a meeting: the kernel of both people's values, with noise from random
        bits of both.

        Args:
            meeting: Meeting of two people.
        """
        return build_answers_job(meeting.name, self.terms.kernel, self.terms.response, 1)

    def require_meeting(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that does not follow from the seed, or is not this person's.

        Args:
            meeting: Meeting that is checked.
            person: Number of the person who asks.

        Raises:
            ProtocolError: the meeting was not agreed on.
        """
        is_agreed = 0 <= meeting.number < len(self.meetings) and self.meetings[meeting.number] == meeting
        if not is_agreed or person not in meeting.people:
            raise ProtocolError(
                "meeting",
                "must be one of this person's agreed meetings; take the meetings from the task document and its seed",
            )


@lru_cache(maxsize=4)  # a pure function of public arguments
def _build_agreement(terms: PairTerms, seed: bytes) -> Agreement:
    """Return the agreement of terms and seed, cached because drawing the pairs of many people takes long."""
    return Agreement(terms, seed)
