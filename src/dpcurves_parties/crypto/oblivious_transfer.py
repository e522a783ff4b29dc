"""Oblivious transfer: base transfers on ristretto255, and the extension that makes labels of many bits out of 128."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import MissingPackage, ProtocolError
from dpcurves.arrays import compile_loop

from .engine import supported_instructions
from .keys import RandomByteSource
from .ring import Words

# The group ristretto255 (RFC 9496), by libsodium.
POINT_SIZE = 32
_UNREDUCED = 64
IDENTITY = bytes(POINT_SIZE)


def load_sodium() -> Any:
    """The bindings. Raises `ImportError`: they are not installed."""
    try:
        import rbcl
    except ImportError:
        raise MissingPackage(
            "rbcl", "two parties who compute together need it: pip install 'dpcurves[pairs]'"
        ) from None
    return rbcl


def draw_scalar(randomness: RandomByteSource) -> bytes:
    """SECRET: a new scalar, uniform but for 2**-250."""
    found: bytes = load_sodium().crypto_core_ristretto255_scalar_reduce(randomness.random_bytes(_UNREDUCED))
    return found


def multiply_base(scalar: bytes) -> bytes:
    """Scalar multiple of the generator of ristretto255."""
    found: bytes = load_sodium().crypto_scalarmult_ristretto255_base(scalar)
    return found


def multiply_point(scalar: bytes, point: bytes) -> bytes:
    """A point, as many times. Raises `ProtocolError`: it is no point, or the result is the identity."""
    try:
        found: bytes = load_sodium().crypto_scalarmult_ristretto255(scalar, point)
    except RuntimeError:
        raise ProtocolError("point", "it is not of the group, or its identity") from None
    return found


def add_points(left: bytes, right: bytes) -> bytes:
    """The sum of two points, which have been checked."""
    found: bytes = load_sodium().crypto_core_ristretto255_add(left, right)
    return found


def subtract_points(left: bytes, right: bytes) -> bytes:
    """The difference of two points, which have been checked."""
    found: bytes = load_sodium().crypto_core_ristretto255_sub(left, right)
    return found


def require_point(point: bytes) -> None:
    """Refuse what is no point, or the identity.

    Raises:
        ProtocolAborted: it is so.
    """
    whole = len(point) == POINT_SIZE and point != IDENTITY
    if not (whole and load_sodium().crypto_core_ristretto255_is_valid_point(point)):
        raise ProtocolError("point", "it is not of the group, or its identity")


# Base transfers: one party has two keys of each transfer, the other gets the one of its choice, and neither sees more.
#
# Chou and Orlandi (2015) transfer so: the sender shows ``A = a B``, B being the generator; the receiver, for its choice
# c, a point ``R = x B + c A``. Then both know ``x A = a (R - c A)``, and nobody knows the other one.
#
# Formal guarantees: R is uniform whatever the choice is, so the sender learns nothing, without any assumption. A
# receiver who follows the protocol learns no key but its own, if Diffie and Hellman's problem is hard in ristretto255
# and SHA-256 is a random oracle. A receiver who does not may choose late, and is not covered.
_KEY_SIZE = 16
_PURPOSE = b"dpcurves: base transfer, version 1"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BaseSender:
    """SECRET: sender, who has both keys.

    Attributes:
        point: First message, to the receiver.
    """

    point: bytes
    _exponent: bytes

    @classmethod
    def create(cls, randomness: RandomByteSource) -> BaseSender:
        """For the transfers of one session."""
        exponent = draw_scalar(randomness)
        return cls(multiply_base(exponent), exponent)

    def derive_keys(self, answer: bytes, count: int, session: bytes) -> Words:
        """SECRET: both keys of each transfer, ``(count, 2, 2)`` words.

        Args:
            answer: The receiver's points, one after the other.
            session: Name of the session. Keys agree only if both parties' names are equal.

        Raises:
            ProtocolAborted: there is another number of points, or one is none.
        """
        keys, own = [], multiply_point(self._exponent, self.point)
        for number, point in enumerate(_parse_points(answer, count)):
            shared = multiply_point(self._exponent, point)
            for each in (shared, subtract_points(shared, own)):
                keys.append(_derive_key(session, number, self.point, point, each))
        return _as_words(keys).reshape(count, 2, 2)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BaseReceiver:
    """SECRET: receiver, who chooses.

    Attributes:
        answer: Response to the sender: 32 bytes a transfer.
    """

    answer: bytes
    _point: bytes
    _exponents: tuple[bytes, ...]

    @classmethod
    def from_choices(cls, choices: NDArray[np.bool_], point: bytes, randomness: RandomByteSource) -> BaseReceiver:
        """Choose one key of each transfer, from the sender's point. Without a branch.

        Raises:
            ProtocolAborted: the point is none.
        """
        require_point(point)
        exponents = tuple(draw_scalar(randomness) for _ in choices)
        # The encoding of the identity is all zeros: multiplied by a bit, a point is itself or the identity.
        added = choices.astype(np.uint8)[:, None] * np.frombuffer(point, np.uint8)
        answer = b"".join(
            [add_points(multiply_base(each), row.tobytes()) for each, row in zip(exponents, added, strict=True)]
        )
        return cls(answer, point, exponents)

    def derive_keys(self, session: bytes) -> Words:
        """SECRET: the key of each transfer that was chosen, ``(count, 2)`` words."""
        points = _parse_points(self.answer, len(self._exponents))
        found = [
            _derive_key(session, number, self._point, point, multiply_point(exponent, self._point))
            for number, (point, exponent) in enumerate(zip(points, self._exponents, strict=True))
        ]
        return _as_words(found).reshape(len(found), 2)


def _parse_points(answer: bytes, count: int) -> list[bytes]:
    """The points of an answer. Raises `ProtocolError`: there is another number of them, or one is none."""
    if len(answer) != POINT_SIZE * count:
        raise ProtocolError("points", f"{count} are needed")
    points = [answer[start : start + POINT_SIZE] for start in range(0, len(answer), POINT_SIZE)]
    for point in points:
        require_point(point)
    return points


def _derive_key(session: bytes, number: int, first: bytes, point: bytes, shared: bytes) -> bytes:
    """The key that a point both parties know is hashed to; its session, number and messages go with it."""
    name = len(session).to_bytes(4, "little") + session + number.to_bytes(4, "little")
    return sha256(_PURPOSE + name + first + point + shared).digest()[:_KEY_SIZE]


def _as_words(keys: Sequence[bytes]) -> Words:
    return np.frombuffer(b"".join(keys), dtype="<u8").astype(np.uint64)


# Trees of seeds, and transposition of bits: what the extension is made of.
LABEL_BITS = 128
_OF_TREES = b"dpcurves: tree of seeds, version 1"
_MOST_LEVELS = 8


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SeedTrees:
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
    def generate(cls, levels: int, keys: Words, randomness: RandomByteSource) -> tuple[SeedTrees, bytes]:
        """Trees with every leaf, and the message to the other party: 32 bytes a bit of the offset.

        Args:
            keys: Both keys of 128 base transfers, ``(128, 2, 2)``.
        """
        count = _count_trees(levels)
        nodes = np.frombuffer(randomness.random_bytes(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 1, 2)
        sent = keys.reshape(count, levels, 2, 2).copy()
        for level in range(levels):
            children = _expand_nodes(nodes)
            sent[:, level] ^= np.bitwise_xor.reduce(children, axis=1)
            nodes = children.reshape(count, -1, 2)
        return cls(levels, nodes), sent.astype("<u8").tobytes()

    @classmethod
    def from_message(cls, levels: int, keys: Words, bits: NDArray[np.bool_], message: bytes) -> SeedTrees:
        """Punctured trees: every leaf but that numbered by the offset's bits. No branch or place depends on them.

        Args:
            keys: The keys of 128 base transfers, ``(128, 2)``, chosen by the bits' negation.
            bits: The bits of the offset.

        Raises:
            ProtocolAborted: what was sent has another length.
        """
        count = _count_trees(levels)
        if len(message) != 32 * LABEL_BITS:
            raise ProtocolError("seeds", f"{32 * LABEL_BITS} bytes are needed")
        both = np.frombuffer(message, dtype="<u8").astype(np.uint64).reshape(count, levels, 2, 2)
        path = -bits.astype(np.uint64).reshape(count, levels, 1)
        wanted = keys.reshape(count, levels, 2) ^ both[:, :, 1] ^ (path & (both[:, :, 0] ^ both[:, :, 1]))
        nodes = np.zeros((count, 1, 2), np.uint64)
        for level in range(levels):
            children = _expand_nodes(nodes)
            swap = path[:, level, None] & (children[:, :, 0] ^ children[:, :, 1])
            children ^= swap[:, :, None]
            children[:, 0] = 0  # what its own path goes through is not known
            children[:, 0, 1] = wanted[:, level] ^ np.bitwise_xor.reduce(children[:, :, 1], axis=1)
            nodes = children.reshape(count, -1, 2)
        return cls(levels, nodes)


def _count_trees(levels: int) -> int:
    if not 1 <= levels <= _MOST_LEVELS or LABEL_BITS % levels:
        raise ProtocolError("levels", f"a tree has 1, 2, 4 or {_MOST_LEVELS} of them")
    return LABEL_BITS // levels


def _expand_nodes(nodes: Words) -> Words:
    """Left and right below each node: ``(trees, nodes, 2, 2)``."""
    raw = nodes.astype("<u8", copy=False).tobytes()
    hashed = [sha256(_OF_TREES + raw[start : start + 16]).digest() for start in range(0, len(raw), 16)]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64).reshape(*nodes.shape[:2], 2, 2)


_MASKS = tuple(
    (np.uint64(shift), np.uint64(sum(((1 << shift) - 1) << start for start in range(0, 64, 2 * shift))))
    for shift in (32, 16, 8, 4, 2, 1)
)
_AT_A_TIME = 64


def transpose_bits(columns: Words) -> Words:
    """Rows ``(64 * words, 2)`` of columns ``(128, words)``: bit j of a column's word is that of its row j.

    (Hacker's Delight, section 7-3: halves of squares of bits are swapped, then quarters, and so on.)
    """
    columns = np.ascontiguousarray(columns)
    rows = np.empty((64 * columns.shape[1], 2), np.uint64)
    if supported_instructions():
        _transpose(columns, rows)
    else:
        for start in range(0, columns.shape[1], _AT_A_TIME):
            part = columns[:, start : start + _AT_A_TIME]
            rows[64 * start : 64 * (start + part.shape[1])] = _transpose_squares(part)
    return rows


def _transpose_squares(columns: Words) -> Words:
    count = columns.shape[1]
    squares = columns.reshape(2, 64, count).copy()
    for shift, mask in _MASKS:
        pairs = squares.reshape(2, -1, 2, int(shift), count)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        change = ((low >> shift) ^ high) & mask
        high ^= change
        low ^= change << shift
    return squares.transpose(2, 1, 0).reshape(64 * count, 2)


@compile_loop
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


def pad_bit_count(bits: int) -> int:
    """For how many bits labels are made where so many are needed."""
    return -(-bits // _ROWS) * _ROWS


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _LeafStreams:
    """SECRET: the key streams of all leaves, which go on from call to call."""

    levels: int
    contexts: list[list[CipherContext]]

    @classmethod
    def from_trees(cls, trees: SeedTrees) -> _LeafStreams:
        raw = trees.leaves.astype("<u8")
        return cls(trees.levels, [[_create_stream(seed.tobytes()) for seed in tree] for tree in raw])

    def fold_leaves(self, words: int, columns: Words) -> Iterator[tuple[int, Words]]:
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


def _create_stream(seed: bytes) -> CipherContext:
    return Cipher(algorithms.AES128(seed), modes.CTR(_NO_COUNTER)).encryptor()


@dataclass(slots=True, repr=False, eq=False)
class ExtensionReceiver:
    """SECRET: the party that has bits. It has all leaves."""

    trees: SeedTrees
    _streams: _LeafStreams = field(init=False)

    def __post_init__(self) -> None:
        self._streams = _LeafStreams.from_trees(self.trees)

    def labels(self, bits: NDArray[np.bool_]) -> tuple[Words, bytes]:
        """The labels of the next bits, ``(count, 2)``, and what the other party is sent."""
        words = pad_bit_count(len(bits)) // _ROWS
        columns, sent = np.empty((LABEL_BITS, words), np.uint64), np.empty((len(self.trees.leaves), words), np.uint64)
        packed = np.packbits(bits, bitorder="little")
        choices = np.zeros(8 * words, np.uint8)
        choices[: len(packed)] = packed
        for tree, total in self._streams.fold_leaves(words, columns):
            np.bitwise_xor(total, choices.view("<u8"), out=sent[tree])
        return transpose_bits(columns)[: len(bits)], sent.astype("<u8", copy=False).tobytes()


@dataclass(slots=True, repr=False, eq=False)
class ExtensionSender:
    """SECRET: the party that has the offset. It has all leaves but one of each tree."""

    trees: SeedTrees
    offset: Words
    _streams: _LeafStreams = field(init=False)

    def __post_init__(self) -> None:
        self._streams = _LeafStreams.from_trees(self.trees)

    def labels(self, count: int, message: bytes | memoryview) -> Words:
        """The labels of 0 of the next bits, ``(count, 2)``.

        Raises:
            ProtocolAborted: what was sent is of another number of bits.
        """
        words, trees = pad_bit_count(count) // _ROWS, len(self.trees.leaves)
        if len(message) != 8 * words * trees:
            raise ProtocolError("choices", f"those of {count} bits are needed")
        masked = np.frombuffer(message, dtype="<u8").astype(np.uint64, copy=False).reshape(trees, words)
        columns, mask = np.empty((LABEL_BITS, words), np.uint64), -split_offset_bits(self.offset).astype(np.uint64)
        for tree, _ in self._streams.fold_leaves(words, columns):
            for column in range(tree * self.trees.levels, (tree + 1) * self.trees.levels):
                columns[column] ^= masked[tree] & mask[column]
        return transpose_bits(columns)[:count]


def split_offset_bits(offset: Words) -> NDArray[np.bool_]:
    """SECRET: the 128 bits of an offset, the lowest first."""
    return np.unpackbits(offset.astype("<u8").view(np.uint8), bitorder="little").astype(np.bool_)
