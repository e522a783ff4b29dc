"""Garbled circuits: wire labels, keys and engines of gates, and the machines of garbler and evaluator.

A wire has two labels of 128 bits, W for 0 (zero label) and ``W xor offset`` for 1. The garbler knows W, the evaluator
the label of the value; their lowest bits are shares of the value.

    gate     garbler, from zero labels          evaluator, from labels of values       sent
    XOR      left xor right                     left xor right                         nothing
    NOT      label xor offset                   label                                  nothing
    AND      half gates: `GateEngine.garble`    `GateEngine.evaluate`                  32 bytes for each instance

Formal guarantees: the evaluator learns nothing but outputs, in the ideal-cipher model; bound at `GateEngine`. An offset
and the keys of gates are used in one session only.

References: Yao 1986; Kolesnikov and Schneider 2008 (free XOR); Zahur, Rosulek and Evans 2015 (half gates); Guo, Katz,
Wang, Weng and Yu 2020 (hash).

>>> offset = np.array([5, 7], np.uint64)
>>> left, right = (np.array([words], np.uint64) for words in ((2, 3), (8, 9)))  # zero labels, one instance
>>> garbler = Garbler(PortableGates(), GateKeys(bytes(16)), offset)
>>> evaluator = Evaluator(PortableGates(), GateKeys(bytes(16)))
>>> zero = garbler.conjunction(left, right)
>>> evaluator.load_tables(garbler.take_tables())
>>> bool((evaluator.conjunction(left ^ offset, right ^ offset) == zero ^ offset).all())  # 1 and 1 is 1
True
"""

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
"""Mask of the lowest bit of a wire label: the permute bit (point and permute), which selects the row of a garbled gate
and reveals nothing about the wire's value."""


def draw_offset(randomness: RandomByteSource) -> Words:
    """SECRET: draw the free-XOR offset of a session. Its lowest bit is 1, so that the labels' permute bits differ.

    Args:
        randomness: Source of random bytes.

    Returns:
        The offset, two words.
    """
    # 16: bytes of a wire label, an AES block
    offset = np.frombuffer(randomness.random_bytes(16), dtype="<u8").astype(np.uint64)
    offset[0] |= _ONE
    return offset


def require_offset(offset: Words) -> None:
    """Require an offset between the two labels of a wire (free XOR) whose lowest bit is 1.

    Raises:
        ValueError: the offset is even: both labels of a wire would have the same permute bit.
    """
    if offset.shape != (2,) or not int(offset[0]) & 1:
        raise InvalidArgument("offset", "must have 128 bits, the lowest of which is 1; set the lowest bit")


def permute_bits(labels: Words) -> Bits:
    """Return the permute bits of a wire's labels, (instances,): a party's XOR shares of the wire's values.

    Args:
        labels: The party's labels, (instances, 2): for the garbler the zero labels.
    """
    return (labels[:, 0] & _ONE).astype(np.bool_)


def reconstruct_bits(first: Sequence[Bits], second: Sequence[Bits]) -> list[Bits]:
    """Reconstruct the values of wires from both parties' XOR shares.

    Args:
        first: One party's share of each wire, an array of bits by instance.
        second: The other party's share of each wire.

    Raises:
        ValueError: the shares have different wires or instances.
    """
    if [len(wire) for wire in first] != [len(wire) for wire in second]:
        raise InvalidArgument(
            "shares", "must be of the same wires and instances at both parties; run the same circuit at both"
        )
    return [left ^ right for left, right in zip(first, second, strict=True)]


def mask_offset(bits: Bits, offset: Words) -> Words:
    """Return the offset where a bit is set, else zeros, ``(instances, 2)``, without branches.

    Args:
        bits: Bits of shape ``(instances,)``.
        offset: Free-XOR offset, ``(2,)``.
    """
    mask = -bits.astype(np.uint64)
    result: Words = mask[:, None] & offset
    return result


SALT_SIZE = 16
"""Bytes of the public salt from which a session derives its gate keys, an AES-128 key; a salt of another length is
refused."""
MOST_BATCHES = 1 << 48
"""Gate keys that a session may draw, one for each AND gate of the instances garbled together; a further one is refused.
Far below 2**64, at which keys would repeat and labels could leak."""


@dataclass(slots=True, repr=False, eq=False)
class GateKeys:
    """AES keys of a session's batches of gates: the salt XOR the number of the batch in the low word.

    Attributes:
        salt: Public salt of the session, 16 bytes.

    Raises:
        ValueError: the salt has another length.
    """

    salt: bytes
    _next: int = field(default=0, init=False)
    _words: Words = field(init=False)

    def __post_init__(self) -> None:
        if len(self.salt) != SALT_SIZE:
            raise InvalidArgument("salt", f"must have {SALT_SIZE} bytes, got {len(self.salt)}")
        self._words = np.frombuffer(self.salt, dtype="<u8").astype(np.uint64)

    def next_key(self) -> Words:
        """Return the AES key of the next batch of gates, (2,) words. Each key is returned once.

        Raises:
            ValueError: 2**48 keys were returned already.
        """
        if self._next >= MOST_BATCHES:
            raise InvalidArgument("session", f"must have at most {MOST_BATCHES} batches of gates; start a new session")
        key = self._words.copy()
        key[0] ^= np.uint64(self._next)
        self._next += 1
        return key


# Garbling and evaluation of a batch of AND gates (half gates, Zahur, Rosulek and Evans 2015), by two equal engines.
class GateEngine(Protocol):
    """Hashes labels: arrays ``(instances, 2)`` of little-endian words, whose lowest bit is the permute bit.

    A label x is hashed to ``E(k, s) xor s`` with ``s = sigma(x) xor t``: E is AES-128, k is the gate's key, t is twice
    the instance's number, plus one in the evaluator's half, and sigma maps words ``(low, high)`` to ``(low xor high,
    low)``: a linear map without fixed points, as is its sum with the identity.

    Formal guarantees: with E an ideal cipher and an offset that is uniform except for its lowest bit, an adversary who
    evaluates n instances of g gates, and E at q inputs, distinguishes its tables from uniform ones with advantage at
    most ``n * (q + 2*g*n) / 2**124``: two blocks under one key are equal only by a coincidence of labels, and a key is
    hit only by the q queries for its gate (Guo, Katz, Wang, Weng and Yu 2020: correlation-robust hashing with an added
    offset needs sigma, and a separate key per gate costs no security as gates grow). Each table is evaluated once;
    labels are used in one session only.
    """

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        """SECRET: return tables ``(2, instances, 2)`` and the output's zero labels, from the inputs' zero labels.

        Args:
            left: SECRET. Zero labels of the left input, ``(instances, 2)``.
            right: SECRET. Zero labels of the right input, of the same shape.
            offset: Free-XOR offset, the difference of the labels of 0 and 1, ``(2,)``.
            key: Public AES key of the gate, ``(2,)``.
        """
        ...

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        """SECRET: return the labels of the output's values of AND gates, (instances, 2).

        Args:
            left: Labels of the left input's values, (instances, 2).
            right: Labels of the right input's values, (instances, 2).
            tables: Tables of the gate, (2, instances, 2).
            key: Key of the batch, (2,) words.
        """
        ...


class PortableGates:
    """Garbles with OpenSSL's AES.

    Formal guarantees: neither branches nor memory addresses depend on labels; AES takes constant time on processors
    with AES instructions.
    """

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        """SECRET: return tables and output zero labels, with one AES call for all four hashes of each instance.

        Args:
            left: Zero labels of the left input, (instances, 2). SECRET.
            right: Zero labels of the right input, of the same shape. SECRET.
            offset: XOR of the labels of 0 and 1. SECRET.
            key: Public AES key of the gate.

        Returns:
            Two tables for each instance, (2, instances, 2), and zero labels of the output, (instances, 2).
        """
        count = len(left)
        blocks = np.empty((4, count, 2), np.uint64)
        offset_multiple = np.array([offset[0] ^ offset[1], offset[0]], np.uint64)
        for half, labels in enumerate((left, right)):
            _write_sigma(labels, half, blocks[2 * half])
            np.bitwise_xor(blocks[2 * half], offset_multiple, out=blocks[2 * half + 1])
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
        """SECRET: return the output's labels, with one AES call for both hashes of each instance.

        Args:
            left: Labels of the left input, (instances, 2).
            right: Labels of the right input, of the same shape.
            tables: Both rows of each garbled gate, (2, instances, 2).
            key: Public AES key of the gate.
        """
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


def _write_sigma(labels: Words, half: int, output: Words) -> None:
    """SECRET: write ``sigma(x) xor t`` of labels (instances, 2) into `output`.

    `half` is 0 for the garbler's half gate, 1 for the evaluator's (see `GateEngine`).
    """
    np.bitwise_xor(labels[:, 0], labels[:, 1], out=output[:, 0])
    output[:, 0] ^= np.arange(half, 2 * len(labels), 2, dtype=np.uint64)
    output[:, 1] = labels[:, 0]


def _hash_blocks(blocks: Words, key: Words) -> Words:
    """SECRET: return ``AES(blocks) xor blocks`` under the gate's public key, in the shape of `blocks`."""
    buffer = np.empty(blocks.size + 2, np.uint64)
    cipher = Cipher(algorithms.AES128(key.astype("<u8").tobytes()), modes.ECB()).encryptor()
    cipher.update_into(blocks.reshape(-1).view(np.uint8).data, buffer.view(np.uint8).data)
    result = buffer[:-2].reshape(blocks.shape)
    result ^= blocks
    return result


def _permute_bit_mask(labels: Words) -> Words:
    """Return a mask of both words: ones where the permute bit is set, else zeros.

    Args:
        labels: Labels of shape ``(instances, 2)``.

    Returns:
        Array of the same shape.
    """
    return widen_mask(-(labels[:, 0] & _ONE))


# The fast engine of gates: the processor's AES instructions, in code compiled by numba.
_LEAST_COMPILED = 64
"""Instances garbled together from which compiled loops are used, because they are faster there; NumPy and OpenSSL give
the same results for fewer."""


@dataclass(slots=True, repr=False, eq=False)
class FastGates:
    """Garbles in registers of one or two blocks; few instances go to the portable engine.

    Formal guarantees: neither branches nor memory addresses depend on labels.
    """

    lanes: int
    _portable: PortableGates = field(default_factory=PortableGates, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= supported_lanes():
            raise InvalidArgument("lanes", f"must be from 1 to {supported_lanes()} on this processor, got {self.lanes}")

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        """SECRET: return tables and output zero labels, by the compiled loop from 64 instances on.

        Args:
            left: Zero labels of the left input, (instances, 2). SECRET.
            right: Zero labels of the right input, of the same shape. SECRET.
            offset: XOR of the labels of 0 and 1. SECRET.
            key: Public AES key of the gate.
        """
        if len(left) < _LEAST_COMPILED:
            return self._portable.garble(left, right, offset, key)
        from .kernels import compile_garbling

        tables = np.empty((2, len(left), 2), np.uint64)
        output = np.empty((len(left), 2), np.uint64)
        labels = np.ascontiguousarray(left), np.ascontiguousarray(right)
        compile_garbling(self.lanes)(labels, (tables[0], tables[1], output), key, np.tile(offset, self.lanes))
        return tables, output

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        """SECRET: return the output's labels, by the compiled loop from 64 instances on.

        Args:
            left: Labels of the left input, (instances, 2).
            right: Labels of the right input, of the same shape.
            tables: Both rows of each garbled gate, (2, instances, 2).
            key: Public AES key of the gate.
        """
        if len(left) < _LEAST_COMPILED:
            return self._portable.evaluate(left, right, tables, key)
        from .kernels import compile_evaluation

        output = np.empty((len(left), 2), np.uint64)
        tables = np.ascontiguousarray(tables)
        labels = np.ascontiguousarray(left), np.ascontiguousarray(right)
        compile_evaluation(self.lanes)(labels, (tables[0], tables[1]), (output,), key)
        return output


def select_gate_engine(instances: int) -> GateEngine:
    """Return the compiled engine for 64 instances or more on a processor with AES instructions, else the portable
    engine.

    Both return equal bits.

    Args:
        instances: Number of instances of a gate.
    """
    return FastGates(supported_lanes()) if instances >= _LEAST_COMPILED and supported_lanes() else PortableGates()


@dataclass(slots=True, repr=False, eq=False)
class Garbler:
    """SECRET: runs gates on zero labels, ``(instances, 2)``.

    Attributes:
        engine: Hash engine of the gates.
        keys: Keys of the session's gates.
        offset: Free-XOR offset, used in this session only.

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
        """SECRET: return the zero labels of the XOR of two wires. No table is needed (free XOR).

        Args:
            left: SECRET. Zero labels of the left input, ``(instances, 2)``.
            right: SECRET. Zero labels of the right input, of the same shape.

        Returns:
            Labels of shape ``(instances, 2)``.
        """
        return left ^ right

    def negation(self, wire: Words) -> Words:
        """SECRET: return the zero labels of the negated wire, which are the wire's labels of 1; no table is needed."""
        return wire ^ self.offset

    def zeros(self, like: Words) -> Words:
        """Return the zero labels of a wire that is publicly 0: all zeros, which the evaluator knows as well.

        Args:
            like: Labels of the same shape.

        Returns:
            Labels of the shape of `like`.
        """
        return np.zeros_like(like)

    def conjunction(self, left: Words, right: Words) -> Words:
        """SECRET: return the zero labels of the AND, and append its tables to those that `take_tables` returns.

        Args:
            left: SECRET. Zero labels of the left input, ``(instances, 2)``.
            right: SECRET. Zero labels of the right input, of the same shape.

        Returns:
            Labels of shape ``(instances, 2)``.
        """
        tables, wire = self.engine.garble(left, right, self.offset, self.keys.next_key())
        self._tables.append(tables)
        return wire

    def take_tables(self) -> bytes:
        """Return the tables of the AND gates since the last call, for the evaluator: 32 bytes per gate and instance."""
        tables = self._tables
        self._tables = []
        return b"".join([table.astype("<u8", copy=False).data.cast("B") for table in tables])


@dataclass(slots=True, repr=False, eq=False)
class Evaluator:
    """SECRET: runs gates on the labels of the values, with tables from the garbler.

    Attributes:
        engine: Hash engine of the gates.
        keys: Keys of the session's gates.
    """

    engine: GateEngine
    keys: GateKeys
    _tables: Words = field(default_factory=lambda: np.empty(0, np.uint64), init=False)
    _position: int = field(default=0, init=False)

    def load_tables(self, tables: bytes | memoryview) -> None:
        """Load the next tables, after all earlier tables were used.

        Raises:
            ProtocolError: earlier tables are left, or these are truncated.
        """
        self.finish()
        if len(tables) % 32:
            raise ProtocolError(
                "tables", "must have a multiple of 32 bytes, but the message was cut off; start the session again"
            )
        self._tables = np.frombuffer(tables, dtype="<u8").astype(np.uint64, copy=False)
        self._position = 0

    def finish(self) -> None:
        """Require at the end of a session that every garbled table was used; spare tables mean another circuit.

        Raises:
            ProtocolError: there are more tables than gates.
        """
        if self._position != len(self._tables):
            raise ProtocolError(
                "tables",
                "must be as many as the circuit's AND gates, but more were sent; run the same circuit at both parties",
            )

    def xor(self, left: Words, right: Words) -> Words:
        """SECRET: return the labels of the XOR: the XOR of both wires' labels.

        Args:
            left: SECRET. Labels of the left input's values, ``(instances, 2)``.
            right: SECRET. Labels of the right input's values, of the same shape.

        Returns:
            Labels of shape ``(instances, 2)``.
        """
        return left ^ right

    def negation(self, wire: Words) -> Words:
        """SECRET: return a negated wire's labels, which are the same labels: the garbler has swapped what they mean.

        Args:
            wire: SECRET. Labels of the input's values, ``(instances, 2)``.
        """
        return wire

    def zeros(self, like: Words) -> Words:
        """Return all-zero labels in the shape of `like`: the labels of a wire whose value is publicly 0."""
        return np.zeros_like(like)

    def conjunction(self, left: Words, right: Words) -> Words:
        """SECRET: return the labels of the AND of two wires, by the next loaded tables.

        Args:
            left: Labels of the left input, (instances, 2). SECRET.
            right: Labels of the right input, (instances, 2). SECRET.

        Returns:
            Labels, (instances, 2).

        Raises:
            ProtocolError: fewer tables were loaded than this gate needs.
        """
        end = self._position + 4 * len(left)
        if end > len(self._tables):
            raise ProtocolError(
                "tables",
                "must be as many as the circuit's AND gates, but fewer were sent; run the same circuit at both parties",
            )
        tables = self._tables[self._position : end].reshape(2, len(left), 2)
        self._position = end
        return self.engine.evaluate(left, right, tables, self.keys.next_key())
