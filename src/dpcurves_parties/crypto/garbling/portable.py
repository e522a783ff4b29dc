"""The portable engine of gates: NumPy, and AES by OpenSSL."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ..masks import twice
from ..ring import Words

_ONE = np.uint64(1)


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
        hashes = _hashed(blocks, key)
        left_mask, right_mask = (_spread(labels) for labels in (left, right))
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
        hashes = _hashed(blocks, key)
        left_mask, right_mask = (_spread(labels) for labels in (left, right))
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


def _hashed(blocks: Words, key: Words) -> Words:
    """``AES(blocks) xor blocks``."""
    room = np.empty(blocks.size + 2, np.uint64)
    cipher = Cipher(algorithms.AES128(key.astype("<u8").tobytes()), modes.ECB()).encryptor()
    cipher.update_into(blocks.reshape(-1).view(np.uint8).data, room.view(np.uint8).data)
    result = room[:-2].reshape(blocks.shape)
    result ^= blocks
    return result


def _spread(labels: Words) -> Words:
    """Bit mask of labels: ones in both words where the permute bit is set, else zeros."""
    return twice(-(labels[:, 0] & _ONE))
