"""Two-party computation of a circuit: sessions that send and get messages, and end with an XOR share each."""

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
    SOFTSPOKEN,
    BaseReceiver,
    BaseSender,
    ExtensionReceiver,
    ExtensionSender,
    SeedTrees,
    split_offset_bits,
)
from .ring import Words

# Protocols as generators: a party's part yields a message to send it, and None to be given the next one.
Result = TypeVar("Result")
Other = TypeVar("Other")
Talk = Generator[bytes | None, bytes, Result]


def run_both_parties(one: Talk[Result], other: Talk[Other]) -> tuple[Result, Other]:
    """Run both parties here, message by message: for tests and simulations.

    Raises:
        ValueError: each waits for the other.
    """
    ways: tuple[deque[bytes], deque[bytes]] = deque(), deque()
    results: list[Any] = [None, None]
    todo: dict[int, Talk[Any]] = {0: one, 1: other}
    wanted = {number: next(talk) for number, talk in todo.items()}
    while todo:
        moved = False
        for number in list(todo):
            try:
                while (message := wanted[number]) is not None or ways[number]:
                    if message is not None:
                        ways[1 - number].append(message)
                    wanted[number] = todo[number].send(b"" if message is not None else ways[number].popleft())
                    moved = True
            except StopIteration as end:
                results[number], moved = end.value, True
                del todo[number]
        if not moved:
            raise InvalidArgument("parties", "each waits for the other")
    return results[0], results[1]


CHUNK = 4096
"""Instances whose labels fit into the cache."""
_PURPOSE = b"dpcurves: job of two parties, version 1\n"


class InputOwner(Enum):
    """Owner of an input of a circuit: the party or parties that supply it."""

    GARBLER = "garbler"
    EVALUATOR = "evaluator"
    SHARED = "shared"
    """Both: the input is the XOR of what they have."""
    COIN = "coin"
    """Joint randomness, supplied by no single party: the input is the XOR of bits that both draw."""

    @property
    def is_transferred(self) -> bool:
        """True if bits of the input go through an oblivious transfer."""
        return self is not InputOwner.GARBLER


@dataclass(frozen=True, slots=True)
class FinalStep:
    """Final circuit, applied to the secret sum of an output over all instances, which no party learns.

    Attributes:
        circuit: Its first input is the sum, as `Job.total_width` bits, and with `Job.total_offset` added.
        owners: Owner of each other input.
    """

    circuit: Circuit
    owners: tuple[InputOwner, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """Circuit that is evaluated for many instances.

    Attributes:
        name: Unique subject of the session: a task, say, and a number of an attempt.
        circuit: Circuit that is evaluated for each instance.
        owners: Owner of each input.
        count: Number of instances.
        final_step: Final step on the sum of its only output; None: each instance has an output of its own.
        tree_levels: Depth of the trees by which transfers are extended.
        chunk_size: Number of instances that are sent at a time.

    Raises:
        ValueError: parts do not fit together.
    """

    name: bytes
    circuit: Circuit
    owners: tuple[InputOwner, ...]
    count: int
    final_step: FinalStep | None = None
    tree_levels: int = SOFTSPOKEN
    chunk_size: int = CHUNK

    def __post_init__(self) -> None:
        if len(self.owners) != len(self.circuit.inputs):
            raise InvalidArgument("owners", f"one for each of {len(self.circuit.inputs)} inputs is needed")
        if self.count < 1 or self.chunk_size < 1:
            raise InvalidArgument("count", "at least one instance is needed")
        if self.final_step is not None:
            self._require(self.final_step)

    def _require(self, ending: FinalStep) -> None:
        if len(self.circuit.outputs) != 1:
            raise InvalidArgument("ending", "a circuit with one output is needed")
        if ending.circuit.inputs[0] != self.total_width or len(ending.owners) != len(ending.circuit.inputs) - 1:
            raise InvalidArgument(
                "ending", f"its first input has {self.total_width} bits, and others have an owner each"
            )

    @property
    def total_width(self) -> int:
        """Bits of the sum that an ending starts from."""
        return total_width(self.circuit.outputs[0], self.count)

    @property
    def total_offset(self) -> int:
        """Offset that is added to the sum, so that it is never negative."""
        return total_offset(self.circuit.outputs[0], self.count)

    @property
    def digest(self) -> bytes:
        """Digest of the job, by which parties check that theirs are equal."""
        lines = [_PURPOSE, len(self.name).to_bytes(8, "little"), self.name]
        lines.append(f"{self.count} {self.tree_levels} {self.chunk_size}\n".encode())
        lines += _describe_circuit(self.circuit, self.owners)
        if self.final_step is not None:
            lines += [b"ending\n", *_describe_circuit(self.final_step.circuit, self.final_step.owners)]
        return sha256(b"".join(lines)).digest()


def _describe_circuit(circuit: Circuit, owners: tuple[InputOwner, ...]) -> list[bytes]:
    ranges = " ".join(f"{number.low}:{number.high}" for number in circuit.outputs)
    return [" ".join([each.value for each in owners]).encode(), f"\n{ranges}\n{to_bristol(circuit)}".encode()]


# SECRET: a party's inputs as bits, chunk by chunk, and labels for them.
Bits = NDArray[np.bool_]
Given = Sequence[NDArray[np.uint64] | None]
"""For each input the numbers of all instances; None where the party has none, and for coins."""
SEED_SIZE = 16
_WORD = 64


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Inputs:
    """SECRET: inputs of one party to one circuit.

    Attributes:
        widths: Bits of each input.
        owners: Owner of each input.
        values: Values that this party supplies.
        role: Role of this party.
        randomness: Source of its bits of coins.

    Raises:
        ValueError: it has not what it should have, or of another number of instances, or with more bits.
    """

    widths: tuple[int, ...]
    owners: tuple[InputOwner, ...]
    values: Given
    role: InputOwner
    randomness: RandomByteSource

    def require(self, count: int) -> None:
        """Refuse what does not fit so many instances."""
        if len(self.values) != len(self.owners):
            raise InvalidArgument("values", f"{len(self.owners)} inputs are needed, got {len(self.values)}")
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if (values is not None) != (owner in (self.role, InputOwner.SHARED)):
                raise InvalidArgument(
                    "values", f"a party has those that are its own, and shares, but no input of {owner.value}"
                )
            if values is not None and values.shape != (count,):
                raise InvalidArgument("values", f"one for each of {count} instances is needed")
            if values is not None and width < _WORD and bool(np.any(values >> np.uint64(width))):
                raise InvalidArgument("values", f"all must be whole numbers below 2**{width}")

    def split_bits(self, part: slice) -> Iterator[tuple[InputOwner, int, list[Bits]]]:
        """For each input its owner, its width, and this party's bits of it, which may be none."""
        size = part.stop - part.start
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if owner is InputOwner.COIN:
                drawn = np.frombuffer(self.randomness.random_bytes(-(-width * size // 8)), np.uint8)
                coins = np.unpackbits(drawn, count=width * size).astype(np.bool_).reshape(width, size)
                yield owner, width, list(coins)
            else:
                yield owner, width, [] if values is None else split_into_bits(values[part], width)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LabelStream:
    """SECRET: labels of the garbler's own inputs, made of one seed by both parties: they tell the evaluator nothing.

    The seed stays between them, so that nobody on the way has labels either.
    """

    _context: CipherContext

    @classmethod
    def from_seed(cls, seed: bytes | memoryview) -> LabelStream:
        return cls(Cipher(algorithms.AES128(bytes(seed)), modes.CTR(bytes(16))).encryptor())

    def next_labels(self, width: int, size: int) -> Words:
        """Labels of so many wires, ``(width, size, 2)``."""
        drawn = self._context.update(bytes(16 * width * size))
        return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False).reshape(width, size, 2)


def count_transferred_bits(owners: Sequence[InputOwner], widths: Sequence[int]) -> int:
    """Bits of one instance that go through a transfer."""
    return sum(width for owner, width in zip(owners, widths, strict=True) if owner.is_transferred)


# Authenticated messages of a session, in order: changed, truncated, replayed or foreign messages are refused.
TAG_SIZE = 16
NONCE_SIZE = 16
GARBLER, EVALUATOR = 0, 1


@dataclass(slots=True, repr=False, eq=False)
class MessageAuthenticator:
    """Authenticator of messages (AES-GCM tags), under a key made of the job and of a number that each party drew.

    Formal guarantees: against accidents, and messages that go astray between sessions. Against people on the way stands
    what carries the messages: TLS, or sealing.

    Attributes:
        job: The job's digest.
        party: Party that sends from here.
    """

    job: bytes
    party: int
    _name: bytes = field(init=False)
    _sent_count: int = field(default=0, init=False)
    _received_count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._name = sha256(b"dpcurves: session, version 1\n" + self.job).digest()

    def draw_nonce(self, randomness: RandomByteSource) -> bytes:
        """Nonce that distinguishes the session from all others."""
        return randomness.random_bytes(NONCE_SIZE)

    def mix_nonce(self, nonce: bytes | memoryview) -> None:
        """From now on messages are those of a session with this number, too; both parties mix in the same order."""
        self._name = sha256(self._name + nonce).digest()

    @property
    def session(self) -> bytes:
        """Name of the session."""
        return self._name

    @property
    def salt(self) -> bytes:
        """The session's salt for keys of gates."""
        return sha256(b"salt of gates\n" + self._name).digest()[: garbling.SALT_SIZE]

    def seal_message(self, *parts: bytes) -> bytes:
        """The next message."""
        body = b"".join(parts)
        tag = self._tag(self.party, self._sent_count, body)
        self._sent_count += 1
        return body + tag

    def open_message(self, message: bytes, size: int | None = None) -> memoryview:
        """Authenticate and open the next message of the other party, of this size if one is given.

        Raises:
            ProtocolAborted: it is another message.
        """
        body = memoryview(message)[:-TAG_SIZE]
        if len(message) < TAG_SIZE or self._tag(1 - self.party, self._received_count, body) != message[-TAG_SIZE:]:
            raise ProtocolError("message", "it is not the next one of this session")
        if size is not None and len(body) != size:
            raise ProtocolError("message", f"{size} bytes are needed")
        self._received_count += 1
        return body

    def _tag(self, party: int, number: int, body: bytes | memoryview) -> bytes:
        nonce = party.to_bytes(4, "little") + number.to_bytes(8, "little")
        return AESGCM(self._name[:16]).encrypt(nonce, b"", body)


def garble(job: Job, values: Given, randomness: RandomByteSource, final_values: Given = ()) -> Talk[list[Bits]]:
    """The garbler's part: its XOR shares of all outputs' wires, or of the ending's.

    Formal guarantees: the evaluator sees labels that are as good as uniform, tables (see `GateEngine`), and the
    points of base transfers (see `BaseReceiver`); the garbler sees points and masked bits (see `ExtensionReceiver`). So, as
    long as both follow the protocol, neither learns more than its own share, which is uniform on its own. Not covered:
    a party that sends something else, say a table that works for one value alone, or the tables of another circuit.

    Args:
        job: Job that both parties have agreed on.
        values: Its inputs, as `Inputs` has them. SECRET.
        randomness: Its own.
        final_values: Those of the ending, but for the sum.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = Inputs(job.circuit.inputs, job.owners, values, InputOwner.GARBLER, randomness)
    inputs.require(job.count)
    frames, offset = MessageAuthenticator(job.digest, GARBLER), garbling.draw_offset(randomness)
    hello = frames.open_message((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix_nonce(hello[:NONCE_SIZE])
    receiver = BaseReceiver.from_choices(~split_offset_bits(offset), bytes(hello[NONCE_SIZE:]), randomness)
    nonce, seed = frames.draw_nonce(randomness), randomness.random_bytes(SEED_SIZE)
    yield frames.seal_message(nonce, seed, receiver.answer)
    frames.mix_nonce(nonce)
    sent = frames.open_message((yield None), 32 * LABEL_BITS)
    trees = SeedTrees.from_message(
        job.tree_levels, receiver.derive_keys(frames.session), split_offset_bits(offset), bytes(sent)
    )
    machine = garbling.Garbler(garbling.select_gate_engine(job.count), garbling.GateKeys(frames.salt), offset)
    side = _GarblingSide(machine, ExtensionSender(trees, offset), LabelStream.from_seed(seed))
    if job.final_step is None:
        return (yield from _garble_each(job, inputs, side, frames))
    return (yield from _garble_sum(job, job.final_step, inputs, final_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _GarblingSide:
    """SECRET: what labels come from."""

    machine: garbling.Garbler
    transfers: ExtensionSender
    stream: LabelStream

    def input_wires(self, inputs: Inputs, part: slice, sent: memoryview) -> list[Words]:
        """The labels of 0 of all inputs of some instances."""
        size = part.stop - part.start
        bits = count_transferred_bits(inputs.owners, inputs.widths)
        labels = iter(self.transfers.labels(bits * size, sent).reshape(bits, size, 2))
        return [wire for given in inputs.split_bits(part) for wire in self._input_labels(*given, labels, size)]

    def _input_labels(
        self, owner: InputOwner, width: int, bits: list[Bits], labels: Iterator[Words], size: int
    ) -> list[Words]:
        if owner is InputOwner.EVALUATOR:
            return [next(labels) for _ in range(width)]
        zeros = (
            self.stream.next_labels(width, size)
            if owner is InputOwner.GARBLER
            else [next(labels) for _ in range(width)]
        )
        # A label that stands for its own bit, or for the evaluator's, is one of 0 if the bit is taken off.
        return [zero ^ garbling.mask_offset(bit, self.machine.offset) for zero, bit in zip(zeros, bits, strict=True)]


def _garble_each(job: Job, inputs: Inputs, side: _GarblingSide, frames: MessageAuthenticator) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []
    for part in chunk_slices(job.count, job.chunk_size):
        sent = frames.open_message((yield None))
        wires = job.circuit.run(side.machine, side.input_wires(inputs, part, sent))
        shares.append([garbling.permute_bits(wire) for wire in wires])
        yield frames.seal_message(side.machine.take_tables())
    return [np.concatenate(parts) for parts in zip(*shares, strict=True)]


def _garble_sum(  # noqa: PLR0917
    job: Job, ending: FinalStep, inputs: Inputs, values: Given, side: _GarblingSide, frames: MessageAuthenticator
) -> Talk[list[Bits]]:
    last = Inputs(ending.circuit.inputs[1:], ending.owners, values, InputOwner.GARBLER, inputs.randomness)
    last.require(1)
    piles: CarrySaveAdder[Words] = CarrySaveAdder(side.machine, job.circuit.outputs[0])
    for part in chunk_slices(job.count, job.chunk_size):
        sent = frames.open_message((yield None))
        piles.add(job.circuit.run(side.machine, side.input_wires(inputs, part, sent)))
        yield frames.seal_message(side.machine.take_tables())
    sent = frames.open_message((yield None))
    wires = ending.circuit.run(side.machine, [*piles.total(), *side.input_wires(last, slice(0, 1), sent)])
    yield frames.seal_message(side.machine.take_tables())
    return [garbling.permute_bits(wire) for wire in wires]


AHEAD = 1
"""Parts for which labels are on their way before tables of an earlier one have come: so neither party waits."""


def evaluate(job: Job, values: Given, randomness: RandomByteSource, final_values: Given = ()) -> Talk[list[Bits]]:
    """The evaluator's part: its XOR shares of all outputs' wires, or of the ending's. See `garble`.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = Inputs(job.circuit.inputs, job.owners, values, InputOwner.EVALUATOR, randomness)
    inputs.require(job.count)
    frames, sender = MessageAuthenticator(job.digest, EVALUATOR), BaseSender.create(randomness)
    nonce = frames.draw_nonce(randomness)
    yield frames.seal_message(nonce, sender.point)
    frames.mix_nonce(nonce)
    answer = frames.open_message((yield None), NONCE_SIZE + SEED_SIZE + LABEL_BITS * POINT_SIZE)
    frames.mix_nonce(answer[:NONCE_SIZE])
    keys = sender.derive_keys(bytes(answer[NONCE_SIZE + SEED_SIZE :]), LABEL_BITS, frames.session)
    trees, sent = SeedTrees.generate(job.tree_levels, keys, randomness)
    yield frames.seal_message(sent)
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
    """SECRET: what labels come from."""

    machine: garbling.Evaluator
    transfers: ExtensionReceiver
    stream: LabelStream

    def input_wires(self, inputs: Inputs, part: slice) -> tuple[list[Words], bytes]:
        """The labels that all inputs of some instances have, and what the garbler is sent for them."""
        size, given = part.stop - part.start, list(inputs.split_bits(part))
        own = [bit for owner, _, bits in given if owner.is_transferred for bit in bits]
        made, sent = self.transfers.labels(np.concatenate(own) if own else np.zeros(0, np.bool_))
        labels = iter(made.reshape(len(own), size, 2))
        return [wire for owner, width, _ in given for wire in self._input_labels(owner, width, labels, size)], sent

    def _input_labels(self, owner: InputOwner, width: int, labels: Iterator[Words], size: int) -> list[Words]:
        if owner is InputOwner.GARBLER:
            return list(self.stream.next_labels(width, size))
        return [next(labels) for _ in range(width)]


def _evaluate_each(job: Job, inputs: Inputs, side: _EvaluatingSide, frames: MessageAuthenticator) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []

    def evaluate_labels(labels: list[Words]) -> None:
        shares.append([garbling.permute_bits(wire) for wire in job.circuit.run(side.machine, labels)])

    yield from _run_pipeline(
        ((inputs, part, evaluate_labels) for part in chunk_slices(job.count, job.chunk_size)), side, frames
    )
    return [np.concatenate(parts) for parts in zip(*shares, strict=True)]


def _evaluate_sum(  # noqa: PLR0917
    job: Job, ending: FinalStep, inputs: Inputs, values: Given, side: _EvaluatingSide, frames: MessageAuthenticator
) -> Talk[list[Bits]]:
    last = Inputs(ending.circuit.inputs[1:], ending.owners, values, InputOwner.EVALUATOR, inputs.randomness)
    last.require(1)
    piles: CarrySaveAdder[Words] = CarrySaveAdder(side.machine, job.circuit.outputs[0])
    shares: list[Bits] = []

    def add_labels(labels: list[Words]) -> None:
        piles.add(job.circuit.run(side.machine, labels))

    def evaluate_final_step(labels: list[Words]) -> None:
        shares.extend(
            garbling.permute_bits(wire) for wire in ending.circuit.run(side.machine, [*piles.total(), *labels])
        )

    todo = ((inputs, part, add_labels) for part in chunk_slices(job.count, job.chunk_size))
    yield from _run_pipeline(chain(todo, [(last, slice(0, 1), evaluate_final_step)]), side, frames)
    return shares


def _run_pipeline(
    todo: Iterable[tuple[Inputs, slice, Callable[[list[Words]], None]]],
    side: _EvaluatingSide,
    frames: MessageAuthenticator,
) -> Talk[None]:
    """Send what gets labels for each part, and evaluate it when its tables come: meanwhile the garbler has the next."""
    ahead: deque[tuple[list[Words], Callable[[list[Words]], None]]] = deque()
    for inputs, part, take in todo:
        labels, sent = side.input_wires(inputs, part)
        ahead.append((labels, take))
        yield frames.seal_message(sent)
        if len(ahead) > AHEAD:
            yield from _evaluate_part(*ahead.popleft(), side.machine, frames)
    for labels, take in ahead:
        yield from _evaluate_part(labels, take, side.machine, frames)
    side.machine.finish()


def _evaluate_part(
    labels: list[Words], take: Callable[[list[Words]], None], machine: garbling.Evaluator, frames: MessageAuthenticator
) -> Talk[None]:
    machine.load_tables(frames.open_message((yield None)))
    take(labels)


# Both parts of a session of one instance, in three messages: base transfers alone, without an extension.
#
# The garbler shows a point; the evaluator answers with a point for each of its bits; the garbler sends what turns base
# keys into labels, and the tables. Given the same randomness and the same messages, a party says the same again: who is
# interrupted goes on by saying all from the start.
_LABEL = 16
_ONLY = slice(0, 1)


def garble_one(job: Job, values: Given, randomness: RandomByteSource) -> Talk[list[Bits]]:
    """The garbler's part. Guarantees are those of `garble`, with base transfers alone.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = _create_single_inputs(job, values, InputOwner.GARBLER, randomness)
    frames, sender, offset = (
        MessageAuthenticator(job.digest, GARBLER),
        BaseSender.create(randomness),
        garbling.draw_offset(randomness),
    )
    nonce, seed, count = (
        frames.draw_nonce(randomness),
        randomness.random_bytes(SEED_SIZE),
        count_transferred_bits(inputs.owners, inputs.widths),
    )
    yield frames.seal_message(nonce, sender.point)
    frames.mix_nonce(nonce)
    answer = frames.open_message((yield None), NONCE_SIZE + count * POINT_SIZE)
    frames.mix_nonce(answer[:NONCE_SIZE])
    keys = sender.derive_keys(bytes(answer[NONCE_SIZE:]), count, frames.session)
    labels, stream = iter(keys[:, :1]), LabelStream.from_seed(seed)
    wires: list[Words] = []
    for owner, width, bits in inputs.split_bits(_ONLY):
        zeros = stream.next_labels(width, 1) if owner is InputOwner.GARBLER else [next(labels) for _ in range(width)]
        own = bits if owner is not InputOwner.EVALUATOR else [np.zeros(1, np.bool_)] * width
        wires += [zero ^ garbling.mask_offset(bit, offset) for zero, bit in zip(zeros, own, strict=True)]
    machine = garbling.Garbler(garbling.PortableGates(), garbling.GateKeys(frames.salt), offset)
    shares = [garbling.permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    corrections = (keys[:, 0] ^ keys[:, 1] ^ offset).astype("<u8").tobytes()
    yield frames.seal_message(seed, corrections, machine.take_tables())
    return shares


def evaluate_one(job: Job, values: Given, randomness: RandomByteSource) -> Talk[list[Bits]]:
    """The evaluator's part.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = _create_single_inputs(job, values, InputOwner.EVALUATOR, randomness)
    frames, given = MessageAuthenticator(job.digest, EVALUATOR), list(inputs.split_bits(_ONLY))
    own = [bit for owner, _, bits in given if owner.is_transferred for bit in bits]
    choices = np.concatenate(own) if own else np.zeros(0, np.bool_)
    hello = frames.open_message((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix_nonce(hello[:NONCE_SIZE])
    receiver = BaseReceiver.from_choices(choices, bytes(hello[NONCE_SIZE:]), randomness)
    nonce = frames.draw_nonce(randomness)
    yield frames.seal_message(nonce, receiver.answer)
    frames.mix_nonce(nonce)
    end, size = SEED_SIZE + _LABEL * len(choices), 32 * job.circuit.and_count
    body = frames.open_message((yield None), end + size)
    corrections = np.frombuffer(body[SEED_SIZE:end], dtype="<u8").astype(np.uint64).reshape(-1, 2)
    chosen = receiver.derive_keys(frames.session) ^ (-choices.astype(np.uint64)[:, None] & corrections)
    labels, stream = iter(chosen[:, None]), LabelStream.from_seed(body[:SEED_SIZE])
    wires = [
        wire
        for owner, width, _ in given
        for wire in (
            stream.next_labels(width, 1) if owner is InputOwner.GARBLER else [next(labels) for _ in range(width)]
        )
    ]
    machine = garbling.Evaluator(garbling.PortableGates(), garbling.GateKeys(frames.salt))
    machine.load_tables(body[end:])
    shares = [garbling.permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    machine.finish()
    return shares


def _create_single_inputs(job: Job, values: Given, own: InputOwner, randomness: RandomByteSource) -> Inputs:
    if job.count != 1 or job.final_step is not None:
        raise InvalidArgument("job", "one instance, and no ending, is needed")
    inputs = Inputs(job.circuit.inputs, job.owners, values, own, randomness)
    inputs.require(1)
    return inputs
