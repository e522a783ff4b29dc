"""Secure two-party computation of a Boolean circuit, by garbled circuits (Yao) and oblivious transfer.

One party, the garbler, gives each wire two random labels of 128 bits, one for the bit 0 and one for 1, and encrypts
each gate as a table. The other party, the evaluator, has one label per wire and decrypts the tables gate by gate. It
gets the labels of its own input bits by oblivious transfer: it learns one of two labels, and the garbler does not learn
which.

    garble, evaluate            both sides of a session for many instances of a circuit
    garble_one, evaluate_one    both sides for one instance, in three messages
    Job                         the circuit, the owners of its inputs, and the number of instances
    run_both_parties            runs two sides in one process, for tests and simulations

A session is a generator: it yields a message to send it, and yields None to receive the next one. At its end each party
has an XOR share of the outputs, that is bits whose XOR with the other party's bits is the result.

Formal guarantees: if both parties follow the protocol (semi-honest), neither learns more than its own share, which
alone is uniform. `garble` names the assumptions. A party that deviates is not covered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, ProtocolError

from . import garbling
from .circuits import CarrySaveAdder, Circuit, split_into_bits, total_offset, total_width
from .circuits.bits import to_bristol
from .engine import chunk_slices
from .keys import RandomByteSource
from .oblivious_transfer import (
    LABEL_BITS,
    POINT_SIZE,
    SOFTSPOKEN_LEVELS,
    BaseReceiver,
    BaseSender,
    ExtensionReceiver,
    ExtensionSender,
    SeedTrees,
    split_offset_bits,
)
from .ring import Words

# Protocols are generators: a party yields a message to send it, and yields None to receive the next message.
Result = TypeVar("Result")
Other = TypeVar("Other")
Talk = Generator[bytes | None, bytes, Result]


def run_both_parties(first: Talk[Result], second: Talk[Other]) -> tuple[Result, Other]:
    """Run both parties in one process, message by message, and return both results.

    Args:
        first: Session of one party, such as ``garble(...)``.
        second: Session of the other party, of the same job, such as ``evaluate(...)``.

    Raises:
        ValueError: each party waits for the other.
    """
    inboxes: tuple[deque[bytes], deque[bytes]] = deque(), deque()
    results: list[Any] = [None, None]
    running: dict[int, Talk[Any]] = {0: first, 1: second}
    pending = {number: next(protocol) for number, protocol in running.items()}
    while running:
        has_progress = False
        for number in list(running):
            try:
                while (message := pending[number]) is not None or inboxes[number]:
                    if message is not None:
                        inboxes[1 - number].append(message)
                    pending[number] = running[number].send(b"" if message is not None else inboxes[number].popleft())
                    has_progress = True
            except StopIteration as end:
                results[number], has_progress = end.value, True
                del running[number]
        if not has_progress:
            raise InvalidArgument(
                "parties",
                "must alternate, but both wait for a message of the other: run the garbler and the "
                "evaluator of one job",
            )
    return results[0], results[1]


# Domain separation: a hash of a job equals no hash that is made for another purpose.
_PURPOSE = b"dpcurves: job of two parties, version 1\n"
"""Prefix of the hash that names a job: no hash made for another purpose equals it."""


class InputOwner(Enum):
    """The party or parties that supply an input of a circuit."""

    GARBLER = "garbler"
    EVALUATOR = "evaluator"
    SHARED = "shared"
    """Both: the input is the XOR of their values."""
    COIN = "coin"
    """Joint random bits: the input is the XOR of bits that both parties draw."""

    @property
    def is_transferred(self) -> bool:
        """True if the evaluator contributes bits to this input, so that it gets the labels by oblivious transfer."""
        return self is not InputOwner.GARBLER


@dataclass(frozen=True, slots=True)
class FinalStep:
    """A further circuit, applied once to the sum of the output over all instances. No party learns the sum itself.

    For example, the instances compute one number for each pair of people, and the final step adds noise to their sum.

    Attributes:
        circuit: Circuit whose first input is the sum, of `Job.total_width` bits, with `Job.total_offset` added.
        owners: Owner of each input but the first.
    """

    circuit: Circuit
    owners: tuple[InputOwner, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """Public description of a computation: a circuit, and how many instances of it two parties evaluate.

    Both parties must make equal jobs: messages of unequal ones are refused.

    Attributes:
        name: Unique name of the session, such as a task and an attempt.
        circuit: Circuit of one instance.
        owners: Owner of each input, in the circuit's order.
        count: Number of instances, at least 1.
        final_step: Circuit on the sum of the only output over all instances; None: each instance has its own outputs.
        tree_levels: Depth of the seed trees of the transfer extension (SoftSpoken). Deeper trees send fewer bytes and
            take more time.
        chunk_size: Number of instances per message, at least 1.

    Raises:
        ValueError: the number of owners is wrong, a number is below 1, or the final step does not fit the circuit.
    """

    name: bytes
    circuit: Circuit
    owners: tuple[InputOwner, ...]
    count: int
    final_step: FinalStep | None = None
    tree_levels: int = SOFTSPOKEN_LEVELS
    chunk_size: int = 4096  # instances per message, whose labels fit into the cache

    def __post_init__(self) -> None:
        if len(self.owners) != len(self.circuit.inputs):
            raise InvalidArgument(
                "owners",
                f"must be {len(self.circuit.inputs)} owners, one for each input of the circuit, as "
                "(InputOwner.GARBLER, InputOwner.EVALUATOR)",
            )
        if self.count < 1 or self.chunk_size < 1:
            raise InvalidArgument("count", "must be at least 1, as in count=1000, and so must chunk_size")
        if self.final_step is not None:
            self._require(self.final_step)

    def _require(self, final_step: FinalStep) -> None:
        """Check that a final step, a circuit applied to the sum of all results, fits this job.

        The circuit must have exactly one output, and the final step one owner for each input but the sum.

        Args:
            final_step: Circuit of the final step, and the owners of its inputs.

        Raises:
            InvalidArgument: the final step does not fit.
        """
        if len(self.circuit.outputs) != 1:
            raise InvalidArgument(
                "final_step", "must follow a circuit with a single output; combine the outputs in the circuit"
            )
        if (
            final_step.circuit.inputs[0] != self.total_width
            or len(final_step.owners) != len(final_step.circuit.inputs) - 1
        ):
            raise InvalidArgument(
                "final_step", f"must have a first input of {self.total_width} bits, and an owner for each other input"
            )

    @property
    def total_width(self) -> int:
        """Number of bits of the sum of all instances' results, which is the input of the final step."""
        return total_width(self.circuit.outputs[0], self.count)

    @property
    def total_offset(self) -> int:
        """Offset that is added to the sum, so that it is never negative."""
        return total_offset(self.circuit.outputs[0], self.count)

    @property
    def digest(self) -> bytes:
        """SHA-256 of name, sizes, circuits, output ranges and owners. Parties compare it to check that their jobs are
        equal.
        """
        lines = [_PURPOSE, len(self.name).to_bytes(8, "little"), self.name]
        lines.append(f"{self.count} {self.tree_levels} {self.chunk_size}\n".encode())
        lines += _describe_circuit(self.circuit, self.owners)
        if self.final_step is not None:
            lines += [b"ending\n", *_describe_circuit(self.final_step.circuit, self.final_step.owners)]
        return sha256(b"".join(lines)).digest()


def _describe_circuit(circuit: Circuit, owners: tuple[InputOwner, ...]) -> list[bytes]:
    """Return owners, output ranges and gates of a circuit as bytes, for the job's digest.

    Args:
        circuit: Circuit that both parties compute.
        owners: Supplier of each input number, in the order of the circuit's inputs.

    Returns:
        Two parts: owners separated by blanks; output ranges as ``low:high`` and the gates in Bristol format.
    """
    ranges = " ".join(f"{number.low}:{number.high}" for number in circuit.outputs)
    return [" ".join([owner.value for owner in owners]).encode(), f"\n{ranges}\n{to_bristol(circuit)}".encode()]


# SECRET: a party's inputs as bits, chunk by chunk (a chunk is the instances of one message), and labels for them.
Bits = NDArray[np.bool_]
PartyInputs = Sequence[NDArray[np.uint64] | None]
"""For each input of the circuit an array (instances,) of unsigned integers; None for inputs that the other party alone
supplies, and for joint random bits.
"""
SEED_SIZE = 16
"""Bytes of the seed, an AES-128 key, of the labels of the garbler's inputs. Both parties derive these labels from it,
so the garbler sends a seed instead of labels."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Inputs:
    """SECRET: inputs of one party to one circuit.

    Attributes:
        widths: Bits of each input.
        owners: Owner of each input.
        values: For each input that this party supplies or shares, an array (instances,); None for other inputs.
        role: `GARBLER` or `EVALUATOR`.
        randomness: Source of its share of joint random bits.
    """

    widths: tuple[int, ...]
    owners: tuple[InputOwner, ...]
    values: PartyInputs
    role: InputOwner
    randomness: RandomByteSource

    def require(self, count: int) -> None:
        """Check that a party's inputs have one value per instance and fit their widths; the message shows no value.

        Args:
            count: Number of instances of the circuit.

        Raises:
            ValueError: values are missing or superfluous, or have a wrong number of instances or too many bits.
        """
        if len(self.values) != len(self.owners):
            raise InvalidArgument(
                "values",
                f"must be a list of {len(self.owners)} arrays, one for each input of the circuit, got "
                f"{len(self.values)}",
            )
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if (values is not None) != (owner in (self.role, InputOwner.SHARED)):
                raise InvalidArgument(
                    "values",
                    "must be given for inputs of this party and shared ones only; pass None for those of owner "
                    f"{owner.value}, and no other",
                )
            if values is not None and values.shape != (count,):
                raise InvalidArgument("values", f"must be arrays of {count} values, one for each instance of the job")
            # 64: bits of an input's integers
            if values is not None and width < 64 and bool(np.any(values >> np.uint64(width))):
                raise InvalidArgument("values", f"must be integers below 2**{width}")

    def split_bits(self, part: slice) -> Iterator[tuple[InputOwner, int, list[Bits]]]:
        """SECRET: yield for each input its owner, its width, and this party's bits, one array per bit.

        Bits come lowest first, as arrays (instances of the part,). There are no arrays if the other party alone
        supplies the input. Joint random bits are drawn anew at each call, so a part must be split only once.

        Args:
            part: The instances, as a slice with start and stop.
        """
        size = part.stop - part.start
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if owner is InputOwner.COIN:
                random_octets = np.frombuffer(self.randomness.random_bytes(-(-width * size // 8)), np.uint8)
                random_bits = np.unpackbits(random_octets, count=width * size).astype(np.bool_).reshape(width, size)
                yield owner, width, list(random_bits)
            else:
                yield owner, width, [] if values is None else split_into_bits(values[part], width)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LabelStream:
    """SECRET: labels of the garbler's own inputs, which both parties derive from one seed.

    The labels do not depend on the values. The seed is sent encrypted, so that eavesdroppers have no labels.
    """

    _context: CipherContext

    @classmethod
    def from_seed(cls, seed: bytes | memoryview) -> LabelStream:
        """SECRET: start the stream of labels of a seed of 16 bytes; both parties' streams of one seed are equal."""
        return cls(Cipher(algorithms.AES128(bytes(seed)), modes.CTR(bytes(16))).encryptor())

    def next_labels(self, width: int, size: int) -> Words:
        """Return the next wire labels of 128 bits, (width, size, 2) words.

        Args:
            width: Number of wires.
            size: Number of instances.
        """
        octets = self._context.update(bytes(16 * width * size))
        return np.frombuffer(octets, dtype="<u8").astype(np.uint64, copy=False).reshape(width, size, 2)


def count_transferred_bits(owners: Sequence[InputOwner], widths: Sequence[int]) -> int:
    """Return the number of input bits of one instance whose labels are obtained by oblivious transfer.

    Args:
        owners: Owner of each input.
        widths: Bits of each input.
    """
    return sum(width for owner, width in zip(owners, widths, strict=True) if owner.is_transferred)


# Authenticated messages of a session, in order: changed, truncated, replayed or foreign messages are refused.
NONCE_SIZE = 16
"""Bytes of the random nonce that each party adds to a session; 128 bits do not repeat, so messages of an earlier
session are refused."""
GARBLER, EVALUATOR = 0, 1  # numbers of the parties


@dataclass(slots=True, repr=False, eq=False)
class MessageAuthenticator:
    """Adds AES-GCM tags to the messages of a session, under a key derived from the job and a nonce of each party.

    Formal guarantees: a message that is damaged, out of order, or of another session or job is refused. The key is
    derived from public values, so attackers on the network are not stopped; the transport does that, by TLS or
    encryption.

    Attributes:
        job: Digest of the job (`Job.digest`).
        party: Number of this party: `GARBLER` or `EVALUATOR`.
    """

    job: bytes
    party: int
    _name: bytes = field(init=False)
    _sent_count: int = field(default=0, init=False)
    _received_count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._name = sha256(b"dpcurves: session, version 1\n" + self.job).digest()

    def draw_nonce(self, randomness: RandomByteSource) -> bytes:
        """Return a random nonce of 16 bytes, which makes this session differ from all others.

        The nonce is not stored here. The caller sends it to the other party, and then passes it to `mix_nonce`.

        Args:
            randomness: Random source of this party.
        """
        return randomness.random_bytes(NONCE_SIZE)

    def mix_nonce(self, nonce: bytes | memoryview) -> None:
        """Bind the tags of all later messages to this nonce, too.

        Both parties must mix the same nonces, of both of them, in the same order.

        Args:
            nonce: A party's nonce, 16 bytes.
        """
        self._name = sha256(self._name + nonce).digest()

    @property
    def session(self) -> bytes:
        """Hash that names the session: it binds messages to the parties, the job and all mixed nonces."""
        return self._name

    @property
    def salt(self) -> bytes:
        """Public salt of the session's gate keys, 16 bytes, which both parties derive."""
        return sha256(b"salt of gates\n" + self._name).digest()[: garbling.SALT_SIZE]

    def seal_message(self, *fields: bytes) -> bytes:
        """Return this party's next message: the joined fields, not encrypted, and a tag of 16 bytes."""
        body = b"".join(fields)
        tag = self._tag(self.party, self._sent_count, body)
        self._sent_count += 1
        return body + tag

    def open_message(self, message: bytes, size: int | None = None) -> memoryview:
        """Return the body of the other party's next message, without its tag, which is checked.

        Args:
            message: The message as `seal_message` of the other party returned it.
            size: Bytes that the body must have; None: any number.

        Raises:
            ProtocolError: the message is not the next one of this session, or has another size.
        """
        tag_size = 16  # bytes of an AES-GCM tag
        body = memoryview(message)[:-tag_size]
        if len(message) < tag_size or self._tag(1 - self.party, self._received_count, body) != message[-tag_size:]:
            raise ProtocolError(
                "message", "must be the other party's next message of this session; start the session again"
            )
        if size is not None and len(body) != size:
            raise ProtocolError("message", f"must have {size} bytes; run the same job at both parties")
        self._received_count += 1
        return body

    def _tag(self, party: int, number: int, body: bytes | memoryview) -> bytes:
        """Return the AES-GCM tag of message number `number` of a party, under the session's key.

        Args:
            party: Number of the sender.
            number: Position of the message among the sender's messages.
            body: Content of the message; the tag authenticates it without encryption.
        """
        nonce = party.to_bytes(4, "little") + number.to_bytes(8, "little")
        return AESGCM(self._name[:16]).encrypt(nonce, b"", body)


def garble(
    job: Job, values: PartyInputs, randomness: RandomByteSource, final_values: PartyInputs = ()
) -> Talk[list[Bits]]:
    """Return the garbler's side of a session, as a generator of messages; its result is this party's XOR shares.

    Formal guarantees: the evaluator sees one label of each wire, which is indistinguishable from uniform, the tables of
    the gates (see `GateEngine`), and the points of the base transfers (see `BaseReceiver`). The garbler sees points and
    masked bits (see `ExtensionReceiver`). So, if both follow the protocol, neither learns more than its own share,
    which alone is uniform. Not covered: a party that deviates, for example with a table that works for one value only,
    or with tables of another circuit.

    Args:
        job: Job that both parties have agreed on.
        values: SECRET. For each input of `job.circuit` that this party supplies or shares, an array (job.count,) of
            unsigned integers; None for every other input.
        randomness: Random source of this party.
        final_values: SECRET. The same for the inputs of the final step after its first one, the sum, which neither
            party supplies: arrays of one number. Ignored without a final step.

    Returns:
        A generator that yields a message to send it, and None to receive the next one. Its result is a list of one
        array of bits per output wire, in the order of the circuit's outputs. Without a final step these are the wires
        of `job.circuit`, with one bit per instance. With a final step they are its wires only, with one bit each.

    Raises:
        ValueError: values are missing or superfluous, or have a wrong number of instances or too many bits.
        ProtocolError: a message was not the next one of the session. The error shows nothing of this party's inputs.
    """
    inputs = Inputs(job.circuit.inputs, job.owners, values, InputOwner.GARBLER, randomness)
    inputs.require(job.count)
    frames = MessageAuthenticator(job.digest, GARBLER)
    offset = garbling.draw_offset(randomness)
    hello = frames.open_message((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix_nonce(hello[:NONCE_SIZE])
    receiver = BaseReceiver.from_choices(~split_offset_bits(offset), bytes(hello[NONCE_SIZE:]), randomness)
    nonce = frames.draw_nonce(randomness)
    seed = randomness.random_bytes(SEED_SIZE)
    yield frames.seal_message(nonce, seed, receiver.answer)
    frames.mix_nonce(nonce)
    message = frames.open_message((yield None), 32 * LABEL_BITS)
    trees = SeedTrees.from_message(
        job.tree_levels, receiver.derive_keys(frames.session), split_offset_bits(offset), bytes(message)
    )
    machine = garbling.Garbler(garbling.select_gate_engine(job.count), garbling.GateKeys(frames.salt), offset)
    side = _GarblingSide(machine, ExtensionSender(trees, offset), LabelStream.from_seed(seed))
    if job.final_step is None:
        return (yield from _garble_each(job, inputs, side, frames))
    return (yield from _garble_sum(job, job.final_step, inputs, final_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _GarblingSide:
    """SECRET: the machine that garbles, and the two sources of input labels."""

    machine: garbling.Garbler
    transfers: ExtensionSender
    stream: LabelStream

    def input_wires(self, inputs: Inputs, span: slice, message: memoryview) -> list[Words]:
        """SECRET: return the zero labels of all input wires of some instances; labels from transfers use the
        evaluator's message.

        Args:
            inputs: Inputs of the garbler.
            span: The instances.
            message: The evaluator's transfer message.
        """
        size = span.stop - span.start
        bits = count_transferred_bits(inputs.owners, inputs.widths)
        labels = iter(self.transfers.labels(bits * size, message).reshape(bits, size, 2))
        return [wire for owned in inputs.split_bits(span) for wire in self._input_labels(*owned, labels, size)]

    def _input_labels(
        self, owner: InputOwner, width: int, bits: list[Bits], labels: Iterator[Words], size: int
    ) -> list[Words]:
        """SECRET: return the zero labels of one input's wires, (size, 2) each.

        If the garbler supplies a bit of the input, the bit is added to the label.

        Args:
            owner: Party that supplies the input, or both (XOR shares).
            width: Bits of the input.
            bits: This party's value or share, one array (size,) per bit.
            labels: Labels of transferred bits, in order.
            size: Number of instances.
        """
        if owner is InputOwner.EVALUATOR:
            return [next(labels) for _ in range(width)]
        if owner is InputOwner.GARBLER:
            zeros = list(self.stream.next_labels(width, size))
        else:
            zeros = [next(labels) for _ in range(width)]
        # The label of a known bit becomes the zero label by adding the offset if the bit is 1.
        return [zero ^ garbling.mask_offset(bit, self.machine.offset) for zero, bit in zip(zeros, bits, strict=True)]


def _garble_each(job: Job, inputs: Inputs, side: _GarblingSide, frames: MessageAuthenticator) -> Talk[list[Bits]]:
    """Garble all instances, chunk by chunk; return the garbler's XOR shares, one array of bits per output wire.

    Args:
        job: Circuit, number of instances and chunk size.
        inputs: This party's inputs. SECRET.
        side: Garbler's keys and labels. SECRET.
        frames: Seals and opens messages of this session.
    """
    shares: list[list[Bits]] = []
    for span in chunk_slices(job.count, job.chunk_size):
        message = frames.open_message((yield None))
        wires = job.circuit.run(side.machine, side.input_wires(inputs, span, message))
        shares.append([garbling.permute_bits(wire) for wire in wires])
        yield frames.seal_message(side.machine.take_tables())
    return [np.concatenate(outputs) for outputs in zip(*shares, strict=True)]


def _garble_sum(  # noqa: PLR0917
    job: Job,
    final_step: FinalStep,
    inputs: Inputs,
    values: PartyInputs,
    side: _GarblingSide,
    frames: MessageAuthenticator,
) -> Talk[list[Bits]]:
    """Garble all instances, their sum, and the final step; return the garbler's XOR shares of the final outputs.

    Args:
        job: Circuit, number of instances and chunk size.
        final_step: Circuit that is applied to the sum.
        inputs: This party's inputs of the instances. SECRET.
        values: This party's inputs of the final step. SECRET.
        side: Garbler's keys and labels. SECRET.
        frames: Seals and opens messages of this session.
    """
    final_inputs = Inputs(
        final_step.circuit.inputs[1:], final_step.owners, values, InputOwner.GARBLER, inputs.randomness
    )
    final_inputs.require(1)
    adder: CarrySaveAdder[Words] = CarrySaveAdder(side.machine, job.circuit.outputs[0])
    for span in chunk_slices(job.count, job.chunk_size):
        message = frames.open_message((yield None))
        adder.add(job.circuit.run(side.machine, side.input_wires(inputs, span, message)))
        yield frames.seal_message(side.machine.take_tables())
    message = frames.open_message((yield None))
    wires = final_step.circuit.run(
        side.machine, [*adder.total(), *side.input_wires(final_inputs, slice(0, 1), message)]
    )
    yield frames.seal_message(side.machine.take_tables())
    return [garbling.permute_bits(wire) for wire in wires]


def evaluate(
    job: Job, values: PartyInputs, randomness: RandomByteSource, final_values: PartyInputs = ()
) -> Talk[list[Bits]]:
    """Return the evaluator's side of a session, as a generator of messages; its result is this party's XOR shares.

    Formal guarantees: if both parties follow the protocol, neither learns more than its own share, which alone is
    uniform (see the argument at `garble`).

    Args:
        job: Job that both parties have agreed on.
        values: SECRET. For each input of `job.circuit` that this party supplies or shares, an array (job.count,) of
            unsigned integers; None for every other input.
        randomness: Random source of this party.
        final_values: SECRET. The same for the inputs of the final step after its first one, the sum, which neither
            party supplies: arrays of one number. Ignored without a final step.

    Returns:
        A generator that yields a message to send it, and None to receive the next one. Its result is a list of one
        array of bits per output wire, in the order of the circuit's outputs. Without a final step these are the wires
        of `job.circuit`, with one bit per instance. With a final step they are its wires only, with one bit each. The
        XOR with the garbler's result is the output.

    Raises:
        ValueError: values are missing or superfluous, or have a wrong number of instances or too many bits.
        ProtocolError: a message was not the next one of the session. The error shows nothing of this party's inputs.
    """
    inputs = Inputs(job.circuit.inputs, job.owners, values, InputOwner.EVALUATOR, randomness)
    inputs.require(job.count)
    frames = MessageAuthenticator(job.digest, EVALUATOR)
    sender = BaseSender.create(randomness)
    nonce = frames.draw_nonce(randomness)
    yield frames.seal_message(nonce, sender.point)
    frames.mix_nonce(nonce)
    answer = frames.open_message((yield None), NONCE_SIZE + SEED_SIZE + LABEL_BITS * POINT_SIZE)
    frames.mix_nonce(answer[:NONCE_SIZE])
    keys = sender.derive_keys(bytes(answer[NONCE_SIZE + SEED_SIZE :]), LABEL_BITS, frames.session)
    trees, message = SeedTrees.generate(job.tree_levels, keys, randomness)
    yield frames.seal_message(message)
    stream = LabelStream.from_seed(answer[NONCE_SIZE : NONCE_SIZE + SEED_SIZE])
    side = _EvaluatingSide(
        garbling.Evaluator(garbling.select_gate_engine(job.count), garbling.GateKeys(frames.salt)),
        ExtensionReceiver(trees),
        stream,
    )
    if job.final_step is None:
        return (yield from _evaluate_each(job, inputs, side, frames))
    return (yield from _evaluate_sum(job, job.final_step, inputs, final_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _EvaluatingSide:
    """SECRET: the machine that evaluates, and the two sources of input labels."""

    machine: garbling.Evaluator
    transfers: ExtensionReceiver
    stream: LabelStream

    def input_wires(self, inputs: Inputs, span: slice) -> tuple[list[Words], bytes]:
        """Return the labels of all inputs of some instances, and the message with which the garbler gets its labels.

        Args:
            inputs: Inputs of the evaluator for all instances.
            span: Instances, as a slice of the rows.

        Returns:
            Labels of each input wire, and the message to send.
        """
        size = span.stop - span.start
        owned_bits = list(inputs.split_bits(span))
        transferred = [bit for owner, _, bits in owned_bits if owner.is_transferred for bit in bits]
        transferred_labels, message = self.transfers.labels(
            np.concatenate(transferred) if transferred else np.zeros(0, np.bool_)
        )
        labels = iter(transferred_labels.reshape(len(transferred), size, 2))
        wires = []
        for owner, width, _ in owned_bits:
            wires.extend(self._input_labels(owner, width, labels, size))
        return wires, message

    def _input_labels(self, owner: InputOwner, width: int, labels: Iterator[Words], size: int) -> list[Words]:
        """SECRET: return the evaluator's labels of one input's wires, (size, 2) each.

        Labels of the garbler's inputs come from the common stream, all others from transfers.

        Args:
            owner: Who supplies the input.
            width: Number of its wires.
            labels: Labels from transfers, wire by wire.
            size: Number of instances.
        """
        if owner is InputOwner.GARBLER:
            return list(self.stream.next_labels(width, size))
        return [next(labels) for _ in range(width)]


def _evaluate_each(job: Job, inputs: Inputs, side: _EvaluatingSide, frames: MessageAuthenticator) -> Talk[list[Bits]]:
    """Evaluate all instances, chunk by chunk; return the evaluator's XOR shares, one array of bits per output wire.

    Args:
        job: Circuit, number of instances and chunk size.
        inputs: This party's inputs. SECRET.
        side: Evaluator's tables and labels. SECRET.
        frames: Seals and opens messages of this session.
    """
    shares: list[list[Bits]] = []

    def evaluate_labels(labels: list[Words]) -> None:
        """Evaluate the garbled circuit on one chunk of instances, and store the permute bits of its output labels.

        The permute bits are the evaluator's XOR shares of the outputs.

        Args:
            labels: One array of labels for each input of the circuit.
        """
        shares.append([garbling.permute_bits(wire) for wire in job.circuit.run(side.machine, labels)])

    yield from _run_pipeline(
        ((inputs, span, evaluate_labels) for span in chunk_slices(job.count, job.chunk_size)), side, frames
    )
    return [np.concatenate(outputs) for outputs in zip(*shares, strict=True)]


def _evaluate_sum(  # noqa: PLR0917
    job: Job,
    final_step: FinalStep,
    inputs: Inputs,
    values: PartyInputs,
    side: _EvaluatingSide,
    frames: MessageAuthenticator,
) -> Talk[list[Bits]]:
    """Evaluate all instances, their sum, and the final step; return the evaluator's XOR shares of the final outputs.

    Args:
        job: Circuit, number of instances and chunk size.
        final_step: Circuit that is applied to the sum.
        inputs: This party's inputs of the instances. SECRET.
        values: This party's inputs of the final step. SECRET.
        side: Evaluator's tables and labels. SECRET.
        frames: Seals and opens messages of this session.
    """
    final_inputs = Inputs(
        final_step.circuit.inputs[1:], final_step.owners, values, InputOwner.EVALUATOR, inputs.randomness
    )
    final_inputs.require(1)
    adder: CarrySaveAdder[Words] = CarrySaveAdder(side.machine, job.circuit.outputs[0])
    shares: list[Bits] = []

    def add_labels(labels: list[Words]) -> None:
        """Evaluate the garbled circuit on one chunk of its instances, and add the output labels to the running sum.

        Args:
            labels: One array of labels for each input of the circuit, in their order.
        """
        adder.add(job.circuit.run(side.machine, labels))

    def evaluate_final_step(labels: list[Words]) -> None:
        """Evaluate the final circuit on the sum and the final inputs, and store the permute bits of its outputs.

        The permute bits are the evaluator's XOR shares of the outputs.

        Args:
            labels: Labels of the final step's inputs after the sum.
        """
        shares.extend(
            garbling.permute_bits(wire) for wire in final_step.circuit.run(side.machine, [*adder.total(), *labels])
        )

    work = ((inputs, span, add_labels) for span in chunk_slices(job.count, job.chunk_size))
    yield from _run_pipeline(chain(work, [(final_inputs, slice(0, 1), evaluate_final_step)]), side, frames)
    return shares


def _run_pipeline(
    work: Iterable[tuple[Inputs, slice, Callable[[list[Words]], None]]],
    side: _EvaluatingSide,
    frames: MessageAuthenticator,
) -> Talk[None]:
    """Evaluate all chunks in order: send the oblivious transfer message of each, and evaluate it once the garbler's
    tables arrive.

    One further chunk is sent before that, so that the garbler works meanwhile.

    Args:
        work: For each chunk: inputs, rows, and the function that gets its input labels.
        side: Evaluator's tables and labels. SECRET.
        frames: Seals and opens messages of this session.
    """
    in_flight: deque[tuple[list[Words], Callable[[list[Words]], None]]] = deque()
    for inputs, span, use_labels in work:
        labels, message = side.input_wires(inputs, span)
        in_flight.append((labels, use_labels))
        yield frames.seal_message(message)
        # 1: chunks whose transfer message is sent before the tables of an earlier chunk arrive, so that neither party
        # waits
        if len(in_flight) > 1:
            yield from _evaluate_part(*in_flight.popleft(), side.machine, frames)
    for labels, use_labels in in_flight:
        yield from _evaluate_part(labels, use_labels, side.machine, frames)
    side.machine.finish()


def _evaluate_part(
    labels: list[Words],
    use_labels: Callable[[list[Words]], None],
    machine: garbling.Evaluator,
    frames: MessageAuthenticator,
) -> Talk[None]:
    """Receive the garbler's tables of one chunk, then pass its labels to `use_labels`.

    Args:
        labels: Input labels of the chunk. SECRET.
        use_labels: Evaluates a circuit on them.
        machine: Evaluator, which gets the tables.
        frames: Seals and opens messages of this session.
    """
    machine.load_tables(frames.open_message((yield None)))
    use_labels(labels)


# Both sides of a session of one instance, in three messages: base transfers only, without an extension.
#
# The garbler sends a point; the evaluator answers with a point for each of its bits; the garbler sends the corrections
# that turn base keys into labels, and the tables. Both sides are deterministic given randomness and received messages,
# so an interrupted party resumes by replaying the session from the start.
_SINGLE_INSTANCE = slice(0, 1)
"""Slice of the only instance of a job whose circuit is evaluated once."""


def garble_one(job: Job, values: PartyInputs, randomness: RandomByteSource) -> Talk[list[Bits]]:
    """Return the garbler's side of a session of one instance: three messages, with base transfers only.

    The guarantees are those of `garble`: if both parties follow the protocol, neither learns more than its own share.

    Args:
        job: A job with one instance and no final step.
        values: SECRET. For each input that this party supplies or shares, an array of one unsigned integer; None for
            every other input.
        randomness: Random source of this party.

    Returns:
        A generator that yields a message to send it, and None to receive the next one. Its result is this party's XOR
        shares: a list of one array of one bit per output wire.

    Raises:
        ValueError: the job has several instances or a final step, or the values do not fit it.
        ProtocolError: a message was not the next one of the session. The error shows nothing of this party's inputs.
    """
    inputs = _create_single_inputs(job, values, InputOwner.GARBLER, randomness)
    frames = MessageAuthenticator(job.digest, GARBLER)
    sender = BaseSender.create(randomness)
    offset = garbling.draw_offset(randomness)
    nonce = frames.draw_nonce(randomness)
    seed = randomness.random_bytes(SEED_SIZE)
    count = count_transferred_bits(inputs.owners, inputs.widths)
    yield frames.seal_message(nonce, sender.point)
    frames.mix_nonce(nonce)
    answer = frames.open_message((yield None), NONCE_SIZE + count * POINT_SIZE)
    frames.mix_nonce(answer[:NONCE_SIZE])
    keys = sender.derive_keys(bytes(answer[NONCE_SIZE:]), count, frames.session)
    labels = iter(keys[:, :1])
    stream = LabelStream.from_seed(seed)
    wires: list[Words] = []
    for owner, width, bits in inputs.split_bits(_SINGLE_INSTANCE):
        zeros = stream.next_labels(width, 1) if owner is InputOwner.GARBLER else [next(labels) for _ in range(width)]
        own_bits = bits if owner is not InputOwner.EVALUATOR else [np.zeros(1, np.bool_)] * width
        wires += [zero ^ garbling.mask_offset(bit, offset) for zero, bit in zip(zeros, own_bits, strict=True)]
    machine = garbling.Garbler(garbling.PortableGates(), garbling.GateKeys(frames.salt), offset)
    shares = [garbling.permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    corrections = (keys[:, 0] ^ keys[:, 1] ^ offset).astype("<u8").tobytes()
    yield frames.seal_message(seed, corrections, machine.take_tables())
    return shares


def evaluate_one(job: Job, values: PartyInputs, randomness: RandomByteSource) -> Talk[list[Bits]]:
    """Return the evaluator's side of a session of one instance: three messages, with base transfers only.

    The guarantees are those of `garble`: if both parties follow the protocol, neither learns more than its own share.

    Args:
        job: A job with one instance and no final step.
        values: SECRET. For each input that this party supplies or shares, an array of one unsigned integer; None for
            every other input.
        randomness: Random source of this party.

    Returns:
        A generator that yields a message to send it, and None to receive the next one. Its result is this party's XOR
        shares: a list of one array of one bit per output wire.

    Raises:
        ValueError: the job has several instances or a final step, or the values do not fit it.
        ProtocolError: a message was not the next one of the session. The error shows nothing of this party's inputs.
    """
    inputs = _create_single_inputs(job, values, InputOwner.EVALUATOR, randomness)
    frames = MessageAuthenticator(job.digest, EVALUATOR)
    owned_bits = list(inputs.split_bits(_SINGLE_INSTANCE))
    transferred = [bit for owner, _, bits in owned_bits if owner.is_transferred for bit in bits]
    choices = np.concatenate(transferred) if transferred else np.zeros(0, np.bool_)
    hello = frames.open_message((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix_nonce(hello[:NONCE_SIZE])
    receiver = BaseReceiver.from_choices(choices, bytes(hello[NONCE_SIZE:]), randomness)
    nonce = frames.draw_nonce(randomness)
    yield frames.seal_message(nonce, receiver.answer)
    frames.mix_nonce(nonce)
    # 16: bytes of the correction that turns a base key into a label
    end = SEED_SIZE + 16 * len(choices)
    size = 32 * job.circuit.and_count
    body = frames.open_message((yield None), end + size)
    corrections = np.frombuffer(body[SEED_SIZE:end], dtype="<u8").astype(np.uint64).reshape(-1, 2)
    chosen = receiver.derive_keys(frames.session) ^ (-choices.astype(np.uint64)[:, None] & corrections)
    labels = iter(chosen[:, None])
    stream = LabelStream.from_seed(body[:SEED_SIZE])
    wires: list[Words] = []
    for owner, width, _ in owned_bits:
        if owner is InputOwner.GARBLER:
            wires.extend(stream.next_labels(width, 1))
        else:
            wires.extend(next(labels) for _ in range(width))
    machine = garbling.Evaluator(garbling.PortableGates(), garbling.GateKeys(frames.salt))
    machine.load_tables(body[end:])
    shares = [garbling.permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    machine.finish()
    return shares


def _create_single_inputs(job: Job, values: PartyInputs, role: InputOwner, randomness: RandomByteSource) -> Inputs:
    """Return this party's inputs of a computation (job) of one instance.

    Args:
        job: The computation.
        values: SECRET. One array of one unsigned integer per input; None for inputs of the other party.
        role: Garbler or evaluator.
        randomness: Random source of this party.

    Raises:
        ValueError: the job has several instances or a final step, or the values do not fit.
    """
    if job.count != 1 or job.final_step is not None:
        raise InvalidArgument(
            "job", "must have a single instance (count=1) and no final step; run larger jobs over a connection"
        )
    inputs = Inputs(job.circuit.inputs, job.owners, values, role, randomness)
    inputs.require(1)
    return inputs
