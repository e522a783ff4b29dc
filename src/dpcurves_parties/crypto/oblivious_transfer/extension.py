"""Oblivious-transfer extension from 128 base transfers: trees of seeds, and transposition of bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted
from dpcurves.arrays import compiled

from ..engine import instructions_here
from ..keys import Octets
from ..ring import Words

LABEL_BITS = 128
_PURPOSE = b"dpcurves: tree of seeds, version 1"
_MOST_LEVELS = 8


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Trees:
    """SECRET: the leaves of 128 bits' trees, in which each tree stands for as many bits of the offset as it has levels.

    After Goldreich, Goldwasser and Micali (1986), and SoftSpoken (Roy 2022): a seed's children are the halves of
    its hash. On each level, the sums (XOR) of all left and of all right children are sent under the two keys of a base
    transfer, of which the other party has chosen the one off the path to its own leaf.

    Attributes:
        levels: Bits of the offset in one tree: 1 is IKNP.
        leaves: Seeds ``(trees, 2**levels, 2)``. At the party with the offset, leaf y is leaf ``y xor`` its own bits, so
            that the one it has not got is always number 0, and stands there as zeros.
    """

    levels: int
    leaves: Words

    @classmethod
    def all(cls, levels: int, keys: Words, randomness: Octets) -> tuple[Trees, bytes]:
        """Trees with every leaf, and the message to the other party: 32 bytes a bit of the offset.

        Args:
            keys: Both keys of 128 base transfers, ``(128, 2, 2)``.
        """
        count = _trees(levels)
        nodes = np.frombuffer(randomness.octets(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 1, 2)
        sent = keys.reshape(count, levels, 2, 2).copy()
        for level in range(levels):
            children = _children(nodes)
            sent[:, level] ^= np.bitwise_xor.reduce(children, axis=1)
            nodes = children.reshape(count, -1, 2)
        return cls(levels, nodes), sent.astype("<u8").tobytes()

    @classmethod
    def all_but_one(cls, levels: int, keys: Words, bits: NDArray[np.bool_], sent: bytes) -> Trees:
        """Punctured trees: every leaf but that numbered by the offset's bits. No branch or place depends on them.

        Args:
            keys: The keys of 128 base transfers, ``(128, 2)``, chosen by the bits' negation.
            bits: The bits of the offset.

        Raises:
            ProtocolAborted: what was sent has another length.
        """
        count = _trees(levels)
        if len(sent) != 32 * LABEL_BITS:
            raise ProtocolAborted("seeds", f"{32 * LABEL_BITS} bytes are needed")
        both = np.frombuffer(sent, dtype="<u8").astype(np.uint64).reshape(count, levels, 2, 2)
        path = -bits.astype(np.uint64).reshape(count, levels, 1)
        wanted = keys.reshape(count, levels, 2) ^ both[:, :, 1] ^ (path & (both[:, :, 0] ^ both[:, :, 1]))
        nodes = np.zeros((count, 1, 2), np.uint64)
        for level in range(levels):
            children = _children(nodes)
            swap = path[:, level, None] & (children[:, :, 0] ^ children[:, :, 1])
            children ^= swap[:, :, None]
            children[:, 0] = 0  # what its own path goes through is not known
            children[:, 0, 1] = wanted[:, level] ^ np.bitwise_xor.reduce(children[:, :, 1], axis=1)
            nodes = children.reshape(count, -1, 2)
        return cls(levels, nodes)


def _trees(levels: int) -> int:
    if not 1 <= levels <= _MOST_LEVELS or LABEL_BITS % levels:
        raise ProtocolAborted("levels", f"a tree has 1, 2, 4 or {_MOST_LEVELS} of them")
    return LABEL_BITS // levels


def _children(nodes: Words) -> Words:
    """Left and right below each node: ``(trees, nodes, 2, 2)``."""
    raw = nodes.astype("<u8", copy=False).tobytes()
    hashed = [sha256(_PURPOSE + raw[start : start + 16]).digest() for start in range(0, len(raw), 16)]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64).reshape(*nodes.shape[:2], 2, 2)


_MASKS = tuple(
    (np.uint64(shift), np.uint64(sum(((1 << shift) - 1) << start for start in range(0, 64, 2 * shift))))
    for shift in (32, 16, 8, 4, 2, 1)
)
_AT_A_TIME = 64


def transposed(columns: Words) -> Words:
    """Rows ``(64 * words, 2)`` of columns ``(128, words)``: bit j of a column's word is that of its row j.

    (Hacker's Delight, section 7-3: halves of squares of bits are swapped, then quarters, and so on.)
    """
    columns = np.ascontiguousarray(columns)
    rows = np.empty((64 * columns.shape[1], 2), np.uint64)
    if instructions_here():
        _transpose(columns, rows)
    else:
        for start in range(0, columns.shape[1], _AT_A_TIME):
            part = columns[:, start : start + _AT_A_TIME]
            rows[64 * start : 64 * (start + part.shape[1])] = _squares(part)
    return rows


def _squares(columns: Words) -> Words:
    count = columns.shape[1]
    squares = columns.reshape(2, 64, count).copy()
    for shift, mask in _MASKS:
        pairs = squares.reshape(2, -1, 2, int(shift), count)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        change = ((low >> shift) ^ high) & mask
        high ^= change
        low ^= change << shift
    return squares.transpose(2, 1, 0).reshape(64 * count, 2)


@compiled
def _transpose(columns: Any, rows: Any) -> None:
    square = np.empty(64, np.uint64)
    for word in range(columns.shape[1]):
        for half in range(2):
            for place in range(64):
                square[place] = columns[64 * half + place, word]
            shift, mask = 32, np.uint64(0xFFFFFFFF)
            while shift:
                for start in range(0, 64, 2 * shift):
                    for place in range(start, start + shift):
                        change = ((square[place] >> np.uint64(shift)) ^ square[place + shift]) & mask
                        square[place + shift] ^= change
                        square[place] ^= change << np.uint64(shift)
                shift >>= 1
                mask ^= mask << np.uint64(shift)
            for place in range(64):
                rows[64 * word + place, half] = square[place]


# Oblivious-transfer extension: labels for as many bits as one party has, from 128 base transfers.
#
# This is IKNP (Ishai, Kilian, Nissim and Petrank 2003) with trees of one level, as SoftSpoken (Roy 2022) with more: 16
# bytes a bit, divided by the levels. What both parties get is correlated by the very offset that a garbled circuit
# needs, so nothing is hashed and nothing answered: the label of bit r is t at who has the bit, and the label of 0 is
# ``t xor r * offset`` at who has the offset.
#
# Formal guarantees: bits are masked by a stream of which the leaf that the other party has not got is a part, so they
# stay secret if AES-128 in counter mode is pseudo-random; the offset stays secret because of the base transfers. Both
# parties follow the protocol: that bits are the same in all trees is not checked, so who sends others could find out
# bits of the offset, and is not covered.
IKNP = 1
"""Levels of a tree: 16 bytes a bit."""
SOFTSPOKEN = 4
"""Levels of a tree: 4 bytes a bit."""
_ROWS = 64
_NO_COUNTER = bytes(16)


def padded(bits: int) -> int:
    """For how many bits labels are made where so many are needed."""
    return -(-bits // _ROWS) * _ROWS


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Streams:
    """SECRET: the key streams of all leaves, which go on from call to call."""

    levels: int
    contexts: list[list[CipherContext]]

    @classmethod
    def of(cls, trees: Trees) -> _Streams:
        raw = trees.leaves.astype("<u8")
        return cls(trees.levels, [[_stream(seed.tobytes()) for seed in tree] for tree in raw])

    def folded(self, words: int, columns: Words) -> Iterator[tuple[int, Words]]:
        """For each tree, the sum of all its leaves; columns ``(128, words)`` are written.

        The column of a bit is the sum over leaves that have it in their number.
        """
        zeros, room = bytes(8 * words), np.empty((1 << self.levels, words + 2), np.uint64)
        for tree, contexts in enumerate(self.contexts):
            for context, row in zip(contexts, room, strict=True):
                context.update_into(zeros, row.view(np.uint8).data)
            leaves = room[:, :words]
            for bit in reversed(range(self.levels)):
                lower, upper = leaves[: 1 << bit], leaves[1 << bit :]
                # The highest bit of a number is a tree's first: that of its root.
                np.bitwise_xor.reduce(upper, axis=0, out=columns[self.levels * (tree + 1) - 1 - bit])
                leaves = lower ^ upper
            yield tree, leaves[0]


def _stream(seed: bytes) -> CipherContext:
    return Cipher(algorithms.AES128(seed), modes.CTR(_NO_COUNTER)).encryptor()


@dataclass(slots=True, repr=False, eq=False)
class ChoosingSide:
    """SECRET: the party that has bits. It has all leaves."""

    trees: Trees
    _streams: _Streams = field(init=False)

    def __post_init__(self) -> None:
        self._streams = _Streams.of(self.trees)

    def labels(self, bits: NDArray[np.bool_]) -> tuple[Words, bytes]:
        """The labels of the next bits, ``(count, 2)``, and what the other party is sent."""
        words = padded(len(bits)) // _ROWS
        columns, sent = np.empty((LABEL_BITS, words), np.uint64), np.empty((len(self.trees.leaves), words), np.uint64)
        packed = np.packbits(bits, bitorder="little")
        choices = np.zeros(8 * words, np.uint8)
        choices[: len(packed)] = packed
        for tree, total in self._streams.folded(words, columns):
            np.bitwise_xor(total, choices.view("<u8"), out=sent[tree])
        return transposed(columns)[: len(bits)], sent.astype("<u8", copy=False).tobytes()


@dataclass(slots=True, repr=False, eq=False)
class OffsetSide:
    """SECRET: the party that has the offset. It has all leaves but one of each tree."""

    trees: Trees
    offset: Words
    _streams: _Streams = field(init=False)

    def __post_init__(self) -> None:
        self._streams = _Streams.of(self.trees)

    def labels(self, count: int, sent: bytes | memoryview) -> Words:
        """The labels of 0 of the next bits, ``(count, 2)``.

        Raises:
            ProtocolAborted: what was sent is of another number of bits.
        """
        words, trees = padded(count) // _ROWS, len(self.trees.leaves)
        if len(sent) != 8 * words * trees:
            raise ProtocolAborted("choices", f"those of {count} bits are needed")
        masked = np.frombuffer(sent, dtype="<u8").astype(np.uint64, copy=False).reshape(trees, words)
        columns, mask = np.empty((LABEL_BITS, words), np.uint64), -bits_of_offset(self.offset).astype(np.uint64)
        for tree, _ in self._streams.folded(words, columns):
            for column in range(tree * self.trees.levels, (tree + 1) * self.trees.levels):
                columns[column] ^= masked[tree] & mask[column]
        return transposed(columns)[:count]


def bits_of_offset(offset: Words) -> NDArray[np.bool_]:
    """SECRET: the 128 bits of an offset, the lowest first."""
    return np.unpackbits(offset.astype("<u8").view(np.uint8), bitorder="little").astype(np.bool_)
