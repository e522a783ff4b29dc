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

from dpcurves.arguments import ProtocolAborted, Refused

from . import garbling
from .circuits import Circuit, Piles, bits_of, total_offset, total_width
from .circuits.bits import to_bristol
from .engine import chunks
from .keys import Octets
from .oblivious_transfer import (
    LABEL_BITS,
    POINT_SIZE,
    SOFTSPOKEN,
    BaseReceiver,
    BaseSender,
    ChoosingSide,
    OffsetSide,
    Trees,
    bits_of_offset,
)
from .ring import Words

# Protocols as generators: a party's part yields a message to send it, and None to be given the next one.
Result = TypeVar("Result")
Other = TypeVar("Other")
Talk = Generator[bytes | None, bytes, Result]


def together(one: Talk[Result], other: Talk[Other]) -> tuple[Result, Other]:
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
            raise Refused("parties", "each waits for the other")
    return results[0], results[1]


CHUNK = 4096
"""Instances whose labels fit into the cache."""
_PURPOSE = b"dpcurves: job of two parties, version 1\n"


class Owner(Enum):
    """Owner of an input of a circuit: the party or parties that supply it."""

    GARBLER = "garbler"
    EVALUATOR = "evaluator"
    SHARED = "shared"
    """Both: the input is the XOR of what they have."""
    COIN = "coin"
    """Joint randomness, supplied by no single party: the input is the XOR of bits that both draw."""

    @property
    def is_given_by_evaluator(self) -> bool:
        """True if bits of the input go through an oblivious transfer."""
        return self is not Owner.GARBLER


@dataclass(frozen=True, slots=True)
class Ending:
    """Final circuit, applied to the secret sum of an output over all instances, which no party learns.

    Attributes:
        circuit: Its first input is the sum, as `Job.total_width` bits, and with `Job.total_offset` added.
        owners: Owner of each other input.
    """

    circuit: Circuit
    owners: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """Circuit that is evaluated for many instances.

    Attributes:
        name: Unique subject of the session: a task, say, and a number of an attempt.
        circuit: Circuit that is evaluated for each instance.
        owners: Owner of each input.
        count: Number of instances.
        ending: Final step on the sum of its only output; None: each instance has an output of its own.
        levels: Depth of the trees by which transfers are extended.
        chunk: Number of instances that are sent at a time.

    Raises:
        ValueError: parts do not fit together.
    """

    name: bytes
    circuit: Circuit
    owners: tuple[Owner, ...]
    count: int
    ending: Ending | None = None
    levels: int = SOFTSPOKEN
    chunk: int = CHUNK

    def __post_init__(self) -> None:
        if len(self.owners) != len(self.circuit.inputs):
            raise Refused("owners", f"one for each of {len(self.circuit.inputs)} inputs is needed")
        if self.count < 1 or self.chunk < 1:
            raise Refused("count", "at least one instance is needed")
        if self.ending is not None:
            self._require(self.ending)

    def _require(self, ending: Ending) -> None:
        if len(self.circuit.outputs) != 1:
            raise Refused("ending", "a circuit with one output is needed")
        if ending.circuit.inputs[0] != self.total_width or len(ending.owners) != len(ending.circuit.inputs) - 1:
            raise Refused("ending", f"its first input has {self.total_width} bits, and others have an owner each")

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
        lines.append(f"{self.count} {self.levels} {self.chunk}\n".encode())
        lines += _described(self.circuit, self.owners)
        if self.ending is not None:
            lines += [b"ending\n", *_described(self.ending.circuit, self.ending.owners)]
        return sha256(b"".join(lines)).digest()


def _described(circuit: Circuit, owners: tuple[Owner, ...]) -> list[bytes]:
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
        own: Role of this party.
        randomness: Source of its bits of coins.

    Raises:
        ValueError: it has not what it should have, or of another number of instances, or with more bits.
    """

    widths: tuple[int, ...]
    owners: tuple[Owner, ...]
    values: Given
    own: Owner
    randomness: Octets

    def require(self, count: int) -> None:
        """Refuse what does not fit so many instances."""
        if len(self.values) != len(self.owners):
            raise Refused("values", f"{len(self.owners)} inputs are needed, got {len(self.values)}")
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if (values is not None) != (owner in (self.own, Owner.SHARED)):
                raise Refused(
                    "values", f"a party has those that are its own, and shares, but no input of {owner.value}"
                )
            if values is not None and values.shape != (count,):
                raise Refused("values", f"one for each of {count} instances is needed")
            if values is not None and width < _WORD and bool(np.any(values >> np.uint64(width))):
                raise Refused("values", f"all must be whole numbers below 2**{width}")

    def bits(self, part: slice) -> Iterator[tuple[Owner, int, list[Bits]]]:
        """For each input its owner, its width, and this party's bits of it, which may be none."""
        size = part.stop - part.start
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if owner is Owner.COIN:
                drawn = np.frombuffer(self.randomness.octets(-(-width * size // 8)), np.uint8)
                coins = np.unpackbits(drawn, count=width * size).astype(np.bool_).reshape(width, size)
                yield owner, width, list(coins)
            else:
                yield owner, width, [] if values is None else bits_of(values[part], width)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LabelStream:
    """SECRET: labels of the garbler's own inputs, made of one seed by both parties: they tell the evaluator nothing.

    The seed stays between them, so that nobody on the way has labels either.
    """

    _context: CipherContext

    @classmethod
    def of(cls, seed: bytes | memoryview) -> LabelStream:
        return cls(Cipher(algorithms.AES128(bytes(seed)), modes.CTR(bytes(16))).encryptor())

    def next(self, width: int, size: int) -> Words:
        """Labels of so many wires, ``(width, size, 2)``."""
        drawn = self._context.update(bytes(16 * width * size))
        return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False).reshape(width, size, 2)


def transferred(owners: Sequence[Owner], widths: Sequence[int]) -> int:
    """Bits of one instance that go through a transfer."""
    return sum(width for owner, width in zip(owners, widths, strict=True) if owner.is_given_by_evaluator)


# Authenticated messages of a session, in order: changed, truncated, replayed or foreign messages are refused.
TAG_SIZE = 16
NONCE_SIZE = 16
GARBLER, EVALUATOR = 0, 1


@dataclass(slots=True, repr=False, eq=False)
class Frames:
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
    _sent: int = field(default=0, init=False)
    _read: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._name = sha256(b"dpcurves: session, version 1\n" + self.job).digest()

    def nonce(self, randomness: Octets) -> bytes:
        """Nonce that distinguishes the session from all others."""
        return randomness.octets(NONCE_SIZE)

    def mix(self, nonce: bytes | memoryview) -> None:
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

    def sealed(self, *parts: bytes) -> bytes:
        """The next message."""
        body = b"".join(parts)
        tag = self._tag(self.party, self._sent, body)
        self._sent += 1
        return body + tag

    def opened(self, message: bytes, size: int | None = None) -> memoryview:
        """Authenticate and open the next message of the other party, of this size if one is given.

        Raises:
            ProtocolAborted: it is another message.
        """
        body = memoryview(message)[:-TAG_SIZE]
        if len(message) < TAG_SIZE or self._tag(1 - self.party, self._read, body) != message[-TAG_SIZE:]:
            raise ProtocolAborted("message", "it is not the next one of this session")
        if size is not None and len(body) != size:
            raise ProtocolAborted("message", f"{size} bytes are needed")
        self._read += 1
        return body

    def _tag(self, party: int, number: int, body: bytes | memoryview) -> bytes:
        nonce = party.to_bytes(4, "little") + number.to_bytes(8, "little")
        return AESGCM(self._name[:16]).encrypt(nonce, b"", body)


def garble(job: Job, values: Given, randomness: Octets, ending_values: Given = ()) -> Talk[list[Bits]]:
    """The garbler's part: its XOR shares of all outputs' wires, or of the ending's.

    Formal guarantees: the evaluator sees labels that are as good as uniform, tables (see `GateEngine`), and the
    points of base transfers (see `BaseReceiver`); the garbler sees points and masked bits (see `ChoosingSide`). So, as
    long as both follow the protocol, neither learns more than its own share, which is uniform on its own. Not covered:
    a party that sends something else, say a table that works for one value alone, or the tables of another circuit.

    Args:
        job: Job that both parties have agreed on.
        values: Its inputs, as `Inputs` has them. SECRET.
        randomness: Its own.
        ending_values: Those of the ending, but for the sum.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = Inputs(job.circuit.inputs, job.owners, values, Owner.GARBLER, randomness)
    inputs.require(job.count)
    frames, offset = Frames(job.digest, GARBLER), garbling.offset_from(randomness)
    hello = frames.opened((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix(hello[:NONCE_SIZE])
    receiver = BaseReceiver.choosing(~bits_of_offset(offset), bytes(hello[NONCE_SIZE:]), randomness)
    nonce, seed = frames.nonce(randomness), randomness.octets(SEED_SIZE)
    yield frames.sealed(nonce, seed, receiver.answer)
    frames.mix(nonce)
    sent = frames.opened((yield None), 32 * LABEL_BITS)
    trees = Trees.all_but_one(job.levels, receiver.keys(frames.session), bits_of_offset(offset), bytes(sent))
    machine = garbling.Garbler(garbling.gates_here(job.count), garbling.GateKeys(frames.salt), offset)
    side = _GarblingSide(machine, OffsetSide(trees, offset), LabelStream.of(seed))
    if job.ending is None:
        return (yield from _garbled_each(job, inputs, side, frames))
    return (yield from _garbled_sum(job, job.ending, inputs, ending_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _GarblingSide:
    """SECRET: what labels come from."""

    machine: garbling.Garbler
    transfers: OffsetSide
    stream: LabelStream

    def wires(self, inputs: Inputs, part: slice, sent: memoryview) -> list[Words]:
        """The labels of 0 of all inputs of some instances."""
        size = part.stop - part.start
        bits = transferred(inputs.owners, inputs.widths)
        labels = iter(self.transfers.labels(bits * size, sent).reshape(bits, size, 2))
        return [wire for given in inputs.bits(part) for wire in self._of_input(*given, labels, size)]

    def _of_input(self, owner: Owner, width: int, bits: list[Bits], labels: Iterator[Words], size: int) -> list[Words]:
        if owner is Owner.EVALUATOR:
            return [next(labels) for _ in range(width)]
        zeros = self.stream.next(width, size) if owner is Owner.GARBLER else [next(labels) for _ in range(width)]
        # A label that stands for its own bit, or for the evaluator's, is one of 0 if the bit is taken off.
        return [zero ^ garbling.masked(bit, self.machine.offset) for zero, bit in zip(zeros, bits, strict=True)]


def _garbled_each(job: Job, inputs: Inputs, side: _GarblingSide, frames: Frames) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []
    for part in chunks(job.count, job.chunk):
        sent = frames.opened((yield None))
        wires = job.circuit.run(side.machine, side.wires(inputs, part, sent))
        shares.append([garbling.permute_bits(wire) for wire in wires])
        yield frames.sealed(side.machine.written())
    return [np.concatenate(parts) for parts in zip(*shares, strict=True)]


def _garbled_sum(  # noqa: PLR0917
    job: Job, ending: Ending, inputs: Inputs, values: Given, side: _GarblingSide, frames: Frames
) -> Talk[list[Bits]]:
    last = Inputs(ending.circuit.inputs[1:], ending.owners, values, Owner.GARBLER, inputs.randomness)
    last.require(1)
    piles: Piles[Words] = Piles(side.machine, job.circuit.outputs[0])
    for part in chunks(job.count, job.chunk):
        sent = frames.opened((yield None))
        piles.add(job.circuit.run(side.machine, side.wires(inputs, part, sent)))
        yield frames.sealed(side.machine.written())
    sent = frames.opened((yield None))
    wires = ending.circuit.run(side.machine, [*piles.total(), *side.wires(last, slice(0, 1), sent)])
    yield frames.sealed(side.machine.written())
    return [garbling.permute_bits(wire) for wire in wires]


AHEAD = 1
"""Parts for which labels are on their way before tables of an earlier one have come: so neither party waits."""


def evaluate(job: Job, values: Given, randomness: Octets, ending_values: Given = ()) -> Talk[list[Bits]]:
    """The evaluator's part: its XOR shares of all outputs' wires, or of the ending's. See `garble`.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = Inputs(job.circuit.inputs, job.owners, values, Owner.EVALUATOR, randomness)
    inputs.require(job.count)
    frames, sender = Frames(job.digest, EVALUATOR), BaseSender.new(randomness)
    nonce = frames.nonce(randomness)
    yield frames.sealed(nonce, sender.point)
    frames.mix(nonce)
    answer = frames.opened((yield None), NONCE_SIZE + SEED_SIZE + LABEL_BITS * POINT_SIZE)
    frames.mix(answer[:NONCE_SIZE])
    keys = sender.keys(bytes(answer[NONCE_SIZE + SEED_SIZE :]), LABEL_BITS, frames.session)
    trees, sent = Trees.all(job.levels, keys, randomness)
    yield frames.sealed(sent)
    stream = LabelStream.of(answer[NONCE_SIZE : NONCE_SIZE + SEED_SIZE])
    side = _EvaluatingSide(
        garbling.Evaluator(garbling.gates_here(job.count), garbling.GateKeys(frames.salt)), ChoosingSide(trees), stream
    )
    if job.ending is None:
        return (yield from _evaluated_each(job, inputs, side, frames))
    return (yield from _evaluated_sum(job, job.ending, inputs, ending_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _EvaluatingSide:
    """SECRET: what labels come from."""

    machine: garbling.Evaluator
    transfers: ChoosingSide
    stream: LabelStream

    def wires(self, inputs: Inputs, part: slice) -> tuple[list[Words], bytes]:
        """The labels that all inputs of some instances have, and what the garbler is sent for them."""
        size, given = part.stop - part.start, list(inputs.bits(part))
        own = [bit for owner, _, bits in given if owner.is_given_by_evaluator for bit in bits]
        made, sent = self.transfers.labels(np.concatenate(own) if own else np.zeros(0, np.bool_))
        labels = iter(made.reshape(len(own), size, 2))
        return [wire for owner, width, _ in given for wire in self._of_input(owner, width, labels, size)], sent

    def _of_input(self, owner: Owner, width: int, labels: Iterator[Words], size: int) -> list[Words]:
        if owner is Owner.GARBLER:
            return list(self.stream.next(width, size))
        return [next(labels) for _ in range(width)]


def _evaluated_each(job: Job, inputs: Inputs, side: _EvaluatingSide, frames: Frames) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []

    def take(labels: list[Words]) -> None:
        shares.append([garbling.permute_bits(wire) for wire in job.circuit.run(side.machine, labels)])

    yield from _pipelined(((inputs, part, take) for part in chunks(job.count, job.chunk)), side, frames)
    return [np.concatenate(parts) for parts in zip(*shares, strict=True)]


def _evaluated_sum(  # noqa: PLR0917
    job: Job, ending: Ending, inputs: Inputs, values: Given, side: _EvaluatingSide, frames: Frames
) -> Talk[list[Bits]]:
    last = Inputs(ending.circuit.inputs[1:], ending.owners, values, Owner.EVALUATOR, inputs.randomness)
    last.require(1)
    piles: Piles[Words] = Piles(side.machine, job.circuit.outputs[0])
    shares: list[Bits] = []

    def take(labels: list[Words]) -> None:
        piles.add(job.circuit.run(side.machine, labels))

    def end(labels: list[Words]) -> None:
        shares.extend(
            garbling.permute_bits(wire) for wire in ending.circuit.run(side.machine, [*piles.total(), *labels])
        )

    todo = ((inputs, part, take) for part in chunks(job.count, job.chunk))
    yield from _pipelined(chain(todo, [(last, slice(0, 1), end)]), side, frames)
    return shares


def _pipelined(
    todo: Iterable[tuple[Inputs, slice, Callable[[list[Words]], None]]], side: _EvaluatingSide, frames: Frames
) -> Talk[None]:
    """Send what gets labels for each part, and evaluate it when its tables come: meanwhile the garbler has the next."""
    ahead: deque[tuple[list[Words], Callable[[list[Words]], None]]] = deque()
    for inputs, part, take in todo:
        labels, sent = side.wires(inputs, part)
        ahead.append((labels, take))
        yield frames.sealed(sent)
        if len(ahead) > AHEAD:
            yield from _evaluated(*ahead.popleft(), side.machine, frames)
    for labels, take in ahead:
        yield from _evaluated(labels, take, side.machine, frames)
    side.machine.finish()


def _evaluated(
    labels: list[Words], take: Callable[[list[Words]], None], machine: garbling.Evaluator, frames: Frames
) -> Talk[None]:
    machine.read(frames.opened((yield None)))
    take(labels)


# Both parts of a session of one instance, in three messages: base transfers alone, without an extension.
#
# The garbler shows a point; the evaluator answers with a point for each of its bits; the garbler sends what turns base
# keys into labels, and the tables. Given the same randomness and the same messages, a party says the same again: who is
# interrupted goes on by saying all from the start.
_LABEL = 16
_ONLY = slice(0, 1)


def garble_one(job: Job, values: Given, randomness: Octets) -> Talk[list[Bits]]:
    """The garbler's part. Guarantees are those of `garble`, with base transfers alone.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = _inputs(job, values, Owner.GARBLER, randomness)
    frames, sender, offset = Frames(job.digest, GARBLER), BaseSender.new(randomness), garbling.offset_from(randomness)
    nonce, seed, count = (
        frames.nonce(randomness),
        randomness.octets(SEED_SIZE),
        transferred(inputs.owners, inputs.widths),
    )
    yield frames.sealed(nonce, sender.point)
    frames.mix(nonce)
    answer = frames.opened((yield None), NONCE_SIZE + count * POINT_SIZE)
    frames.mix(answer[:NONCE_SIZE])
    keys = sender.keys(bytes(answer[NONCE_SIZE:]), count, frames.session)
    labels, stream = iter(keys[:, :1]), LabelStream.of(seed)
    wires: list[Words] = []
    for owner, width, bits in inputs.bits(_ONLY):
        zeros = stream.next(width, 1) if owner is Owner.GARBLER else [next(labels) for _ in range(width)]
        own = bits if owner is not Owner.EVALUATOR else [np.zeros(1, np.bool_)] * width
        wires += [zero ^ garbling.masked(bit, offset) for zero, bit in zip(zeros, own, strict=True)]
    machine = garbling.Garbler(garbling.PortableGates(), garbling.GateKeys(frames.salt), offset)
    shares = [garbling.permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    corrections = (keys[:, 0] ^ keys[:, 1] ^ offset).astype("<u8").tobytes()
    yield frames.sealed(seed, corrections, machine.written())
    return shares


def evaluate_one(job: Job, values: Given, randomness: Octets) -> Talk[list[Bits]]:
    """The evaluator's part.

    Raises:
        ProtocolAborted: a message was not the next one. Nothing of this party's was in the error.
    """
    inputs = _inputs(job, values, Owner.EVALUATOR, randomness)
    frames, given = Frames(job.digest, EVALUATOR), list(inputs.bits(_ONLY))
    own = [bit for owner, _, bits in given if owner.is_given_by_evaluator for bit in bits]
    choices = np.concatenate(own) if own else np.zeros(0, np.bool_)
    hello = frames.opened((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix(hello[:NONCE_SIZE])
    receiver = BaseReceiver.choosing(choices, bytes(hello[NONCE_SIZE:]), randomness)
    nonce = frames.nonce(randomness)
    yield frames.sealed(nonce, receiver.answer)
    frames.mix(nonce)
    end, size = SEED_SIZE + _LABEL * len(choices), 32 * job.circuit.ands
    body = frames.opened((yield None), end + size)
    corrections = np.frombuffer(body[SEED_SIZE:end], dtype="<u8").astype(np.uint64).reshape(-1, 2)
    chosen = receiver.keys(frames.session) ^ (-choices.astype(np.uint64)[:, None] & corrections)
    labels, stream = iter(chosen[:, None]), LabelStream.of(body[:SEED_SIZE])
    wires = [
        wire
        for owner, width, _ in given
        for wire in (stream.next(width, 1) if owner is Owner.GARBLER else [next(labels) for _ in range(width)])
    ]
    machine = garbling.Evaluator(garbling.PortableGates(), garbling.GateKeys(frames.salt))
    machine.read(body[end:])
    shares = [garbling.permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    machine.finish()
    return shares


def _inputs(job: Job, values: Given, own: Owner, randomness: Octets) -> Inputs:
    if job.count != 1 or job.ending is not None:
        raise Refused("job", "one instance, and no ending, is needed")
    inputs = Inputs(job.circuit.inputs, job.owners, values, own, randomness)
    inputs.require(1)
    return inputs
