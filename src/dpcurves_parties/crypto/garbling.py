"""Garbled circuits: wire labels, keys and engines of gates, and the machines of garbler and evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, ProtocolError

from .engine import supported_lanes, widen_mask
from .keys import RandomByteSource
from .ring import Words

Bits = NDArray[np.bool_]
_ONE = np.uint64(1)
LABEL_SIZE = 16


def draw_offset(randomness: RandomByteSource) -> Words:
    """SECRET: a new offset for one session. Its lowest bit is one, so that permute bits tell labels apart."""
    offset = np.frombuffer(randomness.random_bytes(LABEL_SIZE), dtype="<u8").astype(np.uint64)
    offset[0] |= _ONE
    return offset


def require_offset(offset: Words) -> None:
    """Refuse what can not be an offset.

    Raises:
        ValueError: it is even: both labels of a wire had one permute bit, and the output was open to nobody.
    """
    if offset.shape != (2,) or not int(offset[0]) & 1:
        raise InvalidArgument("offset", "128 bits are needed, the lowest of which is one")


def permute_bits(labels: Words) -> Bits:
    """XOR share of one party of the values of a wire. The garbler's are those of its labels of 0."""
    return (labels[:, 0] & _ONE).astype(np.bool_)


def reconstruct_bits(first: Sequence[Bits], second: Sequence[Bits]) -> list[Bits]:
    """The values of wires, from both parties' shares.

    Raises:
        ValueError: they are shares of other wires, or of other instances.
    """
    if [len(one) for one in first] != [len(other) for other in second]:
        raise InvalidArgument("shares", "both parties' are needed, of the same wires and instances")
    return [one ^ other for one, other in zip(first, second, strict=True)]


def mask_offset(bits: Bits, offset: Words) -> Words:
    """The offset where a bit is set, else zeros: ``(instances, 2)``. Without a branch."""
    mask = -bits.astype(np.uint64)
    result: Words = mask[:, None] & offset
    return result


SALT_SIZE = 16
MOST = 1 << 48


@dataclass(slots=True, repr=False, eq=False)
class GateKeys:
    """Counts the batches of gates of one session: the key of each is the salt, with its number in the low word.

    Attributes:
        salt: 16 bytes, the session's own. They are public.

    Raises:
        ValueError: the salt has another length.
    """

    salt: bytes
    _next: int = field(default=0, init=False)
    _words: Words = field(init=False)

    def __post_init__(self) -> None:
        if len(self.salt) != SALT_SIZE:
            raise InvalidArgument("salt", f"{SALT_SIZE} bytes are needed, got {len(self.salt)}")
        self._words = np.frombuffer(self.salt, dtype="<u8").astype(np.uint64)

    def next_key(self) -> Words:
        """The key of the next batch, ``(2,)``."""
        if self._next >= MOST:
            raise InvalidArgument("session", f"it has at most {MOST} batches of gates")
        key = self._words.copy()
        key[0] ^= np.uint64(self._next)
        self._next += 1
        return key


# Garbling and evaluation of a batch of AND gates. Two engines, portable and fast, give equal bits.
class GateEngine(Protocol):
    """Hashes labels: arrays ``(instances, 2)`` of little-endian words, whose lowest bit is the permute bit.

    A label x is hashed to ``E(k, s) xor s`` with ``s = sigma(x) xor t``: E is AES-128, its key k is the gate's own,
    t is twice the instance's number, plus one in the evaluator's half, and sigma takes words ``(low, high)`` to
    ``(low xor high, low)``: a linear map without fixed points, as is its sum with the identity.

    Formal guarantees: with E an ideal cipher, and the offset uniform but for its lowest bit, who evaluates n instances
    of g gates, and E at q places, tells its tables from uniform ones with a chance of at most ``n * (q + 2*g*n) /
    2**124``: no two blocks of one key are the same but by a coincidence of labels, and a key is met by the q places
    of its own gate alone (Guo, Katz, Wang, Weng and Yu 2020: hashing that is correlation robust though the offset is
    added to it needs sigma, and keys of its own for each gate cost no security with their number). One evaluation of
    each table; labels are used by one session only.
    """

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        """Tables ``(2, instances, 2)`` and the output's labels of 0, from the inputs' labels of 0. SECRET.

        Args:
            offset: Global offset of free XOR, the difference of labels of 0 and 1, ``(2,)``.
            key: The gate's AES key, ``(2,)``. It is public.
        """
        ...

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        """The output's labels, from those of the inputs."""
        ...


class PortableGates:
    """Garbles by OpenSSL's AES.

    Formal guarantees: neither branches nor places in memory depend on labels; AES takes the same time for all inputs
    where the processor has instructions for it.
    """

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        count = len(left)
        blocks = np.empty((4, count, 2), np.uint64)
        other = np.array([offset[0] ^ offset[1], offset[0]], np.uint64)
        for half, labels in enumerate((left, right)):
            _write_sigma(labels, half, blocks[2 * half])
            np.bitwise_xor(blocks[2 * half], other, out=blocks[2 * half + 1])
        hashes = _hash_blocks(blocks, key)
        left_mask, right_mask = (_permute_bit_mask(labels) for labels in (left, right))
        tables = hashes[0::2] ^ hashes[1::2]
        tables[0] ^= right_mask & offset
        output = hashes[0] ^ hashes[2]
        right_mask &= tables[1]
        tables[1] ^= left
        left_mask &= tables[0]
        output ^= left_mask
        output ^= right_mask
        return tables, output

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        blocks = np.empty((2, len(left), 2), np.uint64)
        for half, labels in enumerate((left, right)):
            _write_sigma(labels, half, blocks[half])
        hashes = _hash_blocks(blocks, key)
        left_mask, right_mask = (_permute_bit_mask(labels) for labels in (left, right))
        left_mask &= tables[0]
        right_mask &= tables[1] ^ left
        output: Words = hashes[0] ^ hashes[1]
        output ^= left_mask
        output ^= right_mask
        return output


def _write_sigma(labels: Words, half: int, room: Words) -> None:
    """Write ``sigma(x) xor t``."""
    np.bitwise_xor(labels[:, 0], labels[:, 1], out=room[:, 0])
    room[:, 0] ^= np.arange(half, 2 * len(labels), 2, dtype=np.uint64)
    room[:, 1] = labels[:, 0]


def _hash_blocks(blocks: Words, key: Words) -> Words:
    """``AES(blocks) xor blocks``."""
    room = np.empty(blocks.size + 2, np.uint64)
    cipher = Cipher(algorithms.AES128(key.astype("<u8").tobytes()), modes.ECB()).encryptor()
    cipher.update_into(blocks.reshape(-1).view(np.uint8).data, room.view(np.uint8).data)
    result = room[:-2].reshape(blocks.shape)
    result ^= blocks
    return result


def _permute_bit_mask(labels: Words) -> Words:
    """Bit mask of labels: ones in both words where the permute bit is set, else zeros."""
    return widen_mask(-(labels[:, 0] & _ONE))


# The fast engine of gates: the processor's AES instructions, by code that numba compiles.
_LEAST = 64
"""Instances that are worth the fast loops."""


@dataclass(slots=True, repr=False, eq=False)
class FastGates:
    """Garbles in registers of one block or two; a few instances are left to the portable engine.

    Formal guarantees: neither branches nor places in memory depend on labels.
    """

    lanes: int
    _portable: PortableGates = field(default_factory=PortableGates, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= supported_lanes():
            raise InvalidArgument(
                "lanes", f"this processor has instructions for {supported_lanes()} blocks, got {self.lanes}"
            )

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        if len(left) < _LEAST:
            return self._portable.garble(left, right, offset, key)
        from .kernels import compile_garbling

        tables, output = np.empty((2, len(left), 2), np.uint64), np.empty((len(left), 2), np.uint64)
        labels = np.ascontiguousarray(left), np.ascontiguousarray(right)
        compile_garbling(self.lanes)(labels, (tables[0], tables[1], output), key, np.tile(offset, self.lanes))
        return tables, output

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        if len(left) < _LEAST:
            return self._portable.evaluate(left, right, tables, key)
        from .kernels import compile_evaluation

        output, tables = np.empty((len(left), 2), np.uint64), np.ascontiguousarray(tables)
        labels = np.ascontiguousarray(left), np.ascontiguousarray(right)
        compile_evaluation(self.lanes)(labels, (tables[0], tables[1]), (output,), key)
        return output


def select_gate_engine(instances: int) -> GateEngine:
    """The engine for so many instances: the fast one where this machine has it, and they are worth its start."""
    return FastGates(supported_lanes()) if instances >= _LEAST and supported_lanes() else PortableGates()


@dataclass(slots=True, repr=False, eq=False)
class Garbler:
    """SECRET: runs gates on labels of 0, ``(instances, 2)``.

    Attributes:
        engine: Hash engine of the gates.
        keys: Those of the session's gates.
        offset: Global offset of free XOR, the difference of labels of 0 and 1, in the whole session and in no other.

    Raises:
        ValueError: the offset is even.
    """

    engine: GateEngine
    keys: GateKeys
    offset: Words
    _tables: list[Words] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        require_offset(self.offset)

    def xor(self, left: Words, right: Words) -> Words:
        return left ^ right

    def negation(self, wire: Words) -> Words:
        return wire ^ self.offset

    def zeros(self, like: Words) -> Words:
        """The label of 0 is all zeros, and the evaluator knows it: the value is known to all."""
        return np.zeros_like(like)

    def conjunction(self, left: Words, right: Words) -> Words:
        tables, wire = self.engine.garble(left, right, self.offset, self.keys.next_key())
        self._tables.append(tables)
        return wire

    def take_tables(self) -> bytes:
        """The tables since this was last asked for: 32 bytes an AND."""
        tables, self._tables = self._tables, []
        return b"".join([table.astype("<u8", copy=False).data.cast("B") for table in tables])


@dataclass(slots=True, repr=False, eq=False)
class Evaluator:
    """SECRET: runs gates on the labels that stand for the values, with tables from the garbler.

    Attributes:
        engine: Hash engine of the gates.
        keys: Those of the session's gates.
    """

    engine: GateEngine
    keys: GateKeys
    _tables: Words = field(default_factory=lambda: np.empty(0, np.uint64), init=False)
    _position: int = field(default=0, init=False)

    def load_tables(self, tables: bytes | memoryview) -> None:
        """Go on with these tables, when those before are used up.

        Raises:
            ProtocolAborted: they are not, or these are cut off.
        """
        self.finish()
        if len(tables) % 32:
            raise ProtocolError("tables", "they are cut off")
        self._tables, self._position = np.frombuffer(tables, dtype="<u8").astype(np.uint64, copy=False), 0

    def finish(self) -> None:
        """Require that all tables are used up.

        Raises:
            ProtocolAborted: there are more than the circuit has gates.
        """
        if self._position != len(self._tables):
            raise ProtocolError("tables", "there are more of them than gates")

    def xor(self, left: Words, right: Words) -> Words:
        return left ^ right

    def negation(self, wire: Words) -> Words:
        """Leave the label: the garbler alone has turned what it stands for."""
        return wire

    def zeros(self, like: Words) -> Words:
        return np.zeros_like(like)

    def conjunction(self, left: Words, right: Words) -> Words:
        end = self._position + 4 * len(left)
        if end > len(self._tables):
            raise ProtocolError("tables", "there are fewer of them than gates")
        tables = self._tables[self._position : end].reshape(2, len(left), 2)
        self._position = end
        return self.engine.evaluate(left, right, tables, self.keys.next_key())
