"""Sessions of two-party computation: the garbler, the evaluator, and both for a single instance."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dpcurves.arguments import Refused

from ..circuits import Piles
from ..engine import chunks
from ..garbling import Evaluator, Garbler, GateKeys, PortableGates, gates_here, masked, offset_from, permute_bits
from ..keys import Octets
from ..oblivious_transfer import POINT_SIZE, BaseReceiver, BaseSender, ChoosingSide, OffsetSide, Trees, bits_of_offset
from ..oblivious_transfer.extension import LABEL_BITS
from ..ring import Words
from .job import (
    EVALUATOR,
    GARBLER,
    NONCE_SIZE,
    SEED_SIZE,
    Bits,
    Ending,
    Frames,
    Given,
    Inputs,
    Job,
    LabelStream,
    Owner,
    Talk,
    transferred,
)


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
    frames, offset = Frames(job.digest, GARBLER), offset_from(randomness)
    hello = frames.opened((yield None), NONCE_SIZE + POINT_SIZE)
    frames.mix(hello[:NONCE_SIZE])
    receiver = BaseReceiver.choosing(~bits_of_offset(offset), bytes(hello[NONCE_SIZE:]), randomness)
    nonce, seed = frames.nonce(randomness), randomness.octets(SEED_SIZE)
    yield frames.sealed(nonce, seed, receiver.answer)
    frames.mix(nonce)
    sent = frames.opened((yield None), 32 * LABEL_BITS)
    trees = Trees.all_but_one(job.levels, receiver.keys(frames.session), bits_of_offset(offset), bytes(sent))
    machine = Garbler(gates_here(job.count), GateKeys(frames.salt), offset)
    side = _GarblingSide(machine, OffsetSide(trees, offset), LabelStream.of(seed))
    if job.ending is None:
        return (yield from _garbled_each(job, inputs, side, frames))
    return (yield from _garbled_sum(job, job.ending, inputs, ending_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _GarblingSide:
    """SECRET: what labels come from."""

    machine: Garbler
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
        return [zero ^ masked(bit, self.machine.offset) for zero, bit in zip(zeros, bits, strict=True)]


def _garbled_each(job: Job, inputs: Inputs, side: _GarblingSide, frames: Frames) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []
    for part in chunks(job.count, job.chunk):
        sent = frames.opened((yield None))
        wires = job.circuit.run(side.machine, side.wires(inputs, part, sent))
        shares.append([permute_bits(wire) for wire in wires])
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
    return [permute_bits(wire) for wire in wires]


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
    side = _EvaluatingSide(Evaluator(gates_here(job.count), GateKeys(frames.salt)), ChoosingSide(trees), stream)
    if job.ending is None:
        return (yield from _evaluated_each(job, inputs, side, frames))
    return (yield from _evaluated_sum(job, job.ending, inputs, ending_values, side, frames))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _EvaluatingSide:
    """SECRET: what labels come from."""

    machine: Evaluator
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
        shares.append([permute_bits(wire) for wire in job.circuit.run(side.machine, labels)])

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
        shares.extend(permute_bits(wire) for wire in ending.circuit.run(side.machine, [*piles.total(), *labels]))

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
    labels: list[Words], take: Callable[[list[Words]], None], machine: Evaluator, frames: Frames
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
    frames, sender, offset = Frames(job.digest, GARBLER), BaseSender.new(randomness), offset_from(randomness)
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
        wires += [zero ^ masked(bit, offset) for zero, bit in zip(zeros, own, strict=True)]
    machine = Garbler(PortableGates(), GateKeys(frames.salt), offset)
    shares = [permute_bits(wire) for wire in job.circuit.run(machine, wires)]
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
    machine = Evaluator(PortableGates(), GateKeys(frames.salt))
    machine.read(body[end:])
    shares = [permute_bits(wire) for wire in job.circuit.run(machine, wires)]
    machine.finish()
    return shares


def _inputs(job: Job, values: Given, own: Owner, randomness: Octets) -> Inputs:
    if job.count != 1 or job.ending is not None:
        raise Refused("job", "one instance, and no ending, is needed")
    inputs = Inputs(job.circuit.inputs, job.owners, values, own, randomness)
    inputs.require(1)
    return inputs
