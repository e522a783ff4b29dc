"""The evaluator's part of a session."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..circuits import Piles
from ..engine import chunks
from ..garbling import Evaluator, GateKeys, gates_here, permute_bits
from ..oblivious_transfer import POINT_SIZE, BaseSender, ChoosingSide, Trees
from ..oblivious_transfer.trees import LABEL_BITS
from ..ring import Words
from ..server_keys import Octets
from .frames import EVALUATOR, NONCE_SIZE, Frames
from .inputs import SEED_SIZE, Bits, Given, Inputs, LabelStream
from .job import Ending, Job, Owner
from .talk import Talk

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
        return (yield from _each(job, inputs, side, frames))
    return (yield from _summed(job, job.ending, inputs, ending_values, side, frames))


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


def _each(job: Job, inputs: Inputs, side: _EvaluatingSide, frames: Frames) -> Talk[list[Bits]]:
    shares: list[list[Bits]] = []

    def take(labels: list[Words]) -> None:
        shares.append([permute_bits(wire) for wire in job.circuit.run(side.machine, labels)])

    yield from _pipelined(((inputs, part, take) for part in chunks(job.count, job.chunk)), side, frames)
    return [np.concatenate(parts) for parts in zip(*shares, strict=True)]


def _summed(  # noqa: PLR0917
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
