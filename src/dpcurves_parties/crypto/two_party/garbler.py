"""The garbler's part of a session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..circuits import Piles
from ..engine import chunks
from ..garbling import Garbler, GateKeys, gates_here, masked, offset_from, permute_bits
from ..oblivious_transfer import POINT_SIZE, BaseReceiver, OffsetSide, Trees, bits_of_offset
from ..oblivious_transfer.trees import LABEL_BITS
from ..ring import Words
from ..server_keys import Octets
from .frames import GARBLER, NONCE_SIZE, Frames
from .inputs import SEED_SIZE, Bits, Given, Inputs, LabelStream, transferred
from .job import Ending, Job, Owner
from .talk import Talk


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
        return (yield from _each(job, inputs, side, frames))
    return (yield from _summed(job, job.ending, inputs, ending_values, side, frames))


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


def _each(job: Job, inputs: Inputs, side: _GarblingSide, frames: Frames) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []
    for part in chunks(job.count, job.chunk):
        sent = frames.opened((yield None))
        wires = job.circuit.run(side.machine, side.wires(inputs, part, sent))
        shares.append([permute_bits(wire) for wire in wires])
        yield frames.sealed(side.machine.written())
    return [np.concatenate(parts) for parts in zip(*shares, strict=True)]


def _summed(  # noqa: PLR0917
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
