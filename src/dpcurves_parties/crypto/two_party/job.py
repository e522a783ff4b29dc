"""Two-party computation jobs: a public description, which both parties must share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

from dpcurves.arguments import Refused

from ..circuits import Circuit, total_offset, total_width
from ..circuits.bristol import to_bristol
from ..oblivious_transfer import SOFTSPOKEN

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
    """Circuit of the final step, applied to an output's sum over all instances; no party learns that sum.

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
