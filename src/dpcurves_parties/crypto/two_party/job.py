"""Two-party computation: protocols as generators, public jobs, authenticated messages, and inputs. SECRET, the
inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted, Refused

from ..circuits import Circuit, bits_of, total_offset, total_width
from ..circuits.bits import to_bristol
from ..garbling import SALT_SIZE
from ..keys import Octets
from ..oblivious_transfer import SOFTSPOKEN
from ..ring import Words

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
        return sha256(b"salt of gates\n" + self._name).digest()[:SALT_SIZE]

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
