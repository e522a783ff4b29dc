"""Both parts of a session of one instance, in three messages: base transfers alone, without an extension.

The garbler shows a point; the evaluator answers with a point for each of its bits; the garbler sends what turns base
keys into labels, and the tables. Given the same randomness and the same messages, a party says the same again: who is
interrupted goes on by saying all from the start.
"""

from __future__ import annotations

import numpy as np

from dpcurves.arguments import Refused

from ..garbling import Evaluator, Garbler, GateKeys, PortableGates, masked, offset_from, permute_bits
from ..oblivious_transfer import POINT_SIZE, BaseReceiver, BaseSender
from ..ring import Words
from ..server_keys import Octets
from .frames import EVALUATOR, GARBLER, NONCE_SIZE, Frames
from .inputs import SEED_SIZE, Bits, Given, Inputs, LabelStream, transferred
from .job import Job, Owner
from .talk import Talk

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
