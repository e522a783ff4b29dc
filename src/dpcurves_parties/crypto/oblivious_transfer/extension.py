"""Oblivious-transfer extension: labels for as many bits as one party has, from 128 base transfers.

This is IKNP (Ishai, Kilian, Nissim and Petrank 2003) with trees of one level, as SoftSpoken (Roy 2022) with more: 16
bytes a bit, divided by the levels. What both parties get is correlated by the very offset that a garbled circuit needs,
so nothing is hashed and nothing answered: the label of bit r is t at who has the bit, and the label of 0 is
``t xor r * offset`` at who has the offset.

Formal guarantees: bits are masked by a stream of which the leaf that the other party has not got is a part, so they
stay secret if AES-128 in counter mode is pseudo-random; the offset stays secret because of the base transfers. Both
parties follow the protocol: that bits are the same in all trees is not checked, so who sends others could find out
bits of the offset, and is not covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted

from ..ring import Words
from .transposition import transposed
from .trees import LABEL_BITS, Trees

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
