"""Trees of seeds (GGM, punctured): one party has all leaves, the other all but one, which only the other knows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted

from ..ring import Words
from ..server_keys import Octets

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
