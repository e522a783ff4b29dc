"""Oblivious transfer: base transfers on the group ristretto255, and their extension to millions of transfers.

In an oblivious transfer the sender has two messages and the receiver a bit. The receiver learns the message that the
bit selects and nothing of the other one; the sender does not learn the bit. Garbled circuits use one for each input bit
of the evaluator. Base transfers need public-key operations; the extension makes any number of transfers from 128 of
them by symmetric cryptography.
"""

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
"""Bytes of an encoded element of the group ristretto255 (RFC 9496); a message whose length does not fit is refused."""
IDENTITY = bytes(POINT_SIZE)
"""Encoding of the group's identity element, 32 zero bytes (RFC 9496). It is refused as a received point, because the
keys derived from it would be known to everybody."""


def load_sodium() -> Any:
    """Return the bindings of libsodium, the module `rbcl`.

    Raises:
        ImportError: the package `rbcl` is not installed; the message has the command that installs them.
    """
    try:
        import rbcl
    except ImportError:
        raise MissingPackage(
            "rbcl", "two parties who compute together need it: pip install 'dpcurves[pairs]'"
        ) from None
    return rbcl


def draw_scalar(randomness: RandomByteSource) -> bytes:
    """SECRET: draw a scalar of ristretto255, 32 bytes; its distance from uniform is at most 2**-250.

    Args:
        randomness: Source of random bytes.
    """
    # 64: random bytes that are reduced to a scalar
    scalar: bytes = load_sodium().crypto_core_ristretto255_scalar_reduce(randomness.random_bytes(64))
    return scalar


def multiply_base(scalar: bytes) -> bytes:
    """Return the public multiple of the generator of ristretto255 by a secret scalar, 32 bytes."""
    product: bytes = load_sodium().crypto_scalarmult_ristretto255_base(scalar)
    return product


def multiply_point(scalar: bytes, point: bytes) -> bytes:
    """Return a point of ristretto255 multiplied by a scalar, 32 bytes; the point may come from the other party.

    Raises `ProtocolError` if the point is invalid or the result is the identity.
    """
    try:
        product: bytes = load_sodium().crypto_scalarmult_ristretto255(scalar, point)
    except RuntimeError:
        raise ProtocolError(
            "point", "must be a valid group element other than the identity; start the session again"
        ) from None
    return product


def add_points(left: bytes, right: bytes) -> bytes:
    """Return the sum of two points of ristretto255, 32 bytes. Both must be valid: check received points with
    `require_point`.

    Args:
        left: Valid point, 32 bytes.
        right: Valid point, 32 bytes.
    """
    total: bytes = load_sodium().crypto_core_ristretto255_add(left, right)
    return total


def subtract_points(left: bytes, right: bytes) -> bytes:
    """Return the difference of two points of ristretto255, 32 bytes. Both must be valid: check received points with
    `require_point`.

    Args:
        left: Valid point, 32 bytes.
        right: Valid point, 32 bytes, which is subtracted.
    """
    difference: bytes = load_sodium().crypto_core_ristretto255_sub(left, right)
    return difference


def require_point(point: bytes) -> None:
    """Refuse a received point that is not a valid element of ristretto255, or is the identity.

    Raises:
        ProtocolError: the point is invalid or the identity.
    """
    is_candidate = len(point) == POINT_SIZE and point != IDENTITY
    if not (is_candidate and load_sodium().crypto_core_ristretto255_is_valid_point(point)):
        raise ProtocolError("point", "must be a valid group element other than the identity; start the session again")


# Base transfers: the sender has two keys per transfer; the receiver gets the key of its choice, and neither learns
# more.
#
# In the protocol of Chou and Orlandi (2015) the sender sends ``A = a B``, where B is the generator, and the receiver,
# for its choice c, sends ``R = x B + c A``. Both then know ``x A = a (R - c A)``; the receiver does not know the other
# key.
#
# Formal guarantees: R is uniform for either choice, so the sender learns nothing, unconditionally. A receiver who
# follows the protocol learns only the chosen key, if the Diffie-Hellman problem is hard in ristretto255 and SHA-256 is
# a random oracle. A receiver who deviates can choose late, and is not covered.
_PURPOSE = b"dpcurves: base transfer, version 1"
"""Prefix of hashes that turn shared points into keys of base transfers: no hash made for another purpose equals
them."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BaseSender:
    """SECRET: the sender, who has both keys.

    Attributes:
        point: First message, to the receiver.
    """

    point: bytes
    _exponent: bytes

    @classmethod
    def create(cls, randomness: RandomByteSource) -> BaseSender:
        """SECRET: draw the sender's exponent of one session and compute its first message.

        Args:
            randomness: Source of random bytes.
        """
        exponent = draw_scalar(randomness)
        return cls(multiply_base(exponent), exponent)

    def derive_keys(self, answer: bytes, count: int, session: bytes) -> Words:
        """SECRET: return both keys of each transfer, ``(count, 2, 2)`` words.

        Args:
            answer: Points of the receiver, concatenated.
            count: Number of transfers.
            session: Name of the session. Keys agree only if both parties' names are equal.

        Raises:
            ProtocolError: the number of points is wrong, or a point is invalid.
        """
        keys = []
        own_square = multiply_point(self._exponent, self.point)
        for number, point in enumerate(_parse_points(answer, count)):
            shared = multiply_point(self._exponent, point)
            for point_of_key in (shared, subtract_points(shared, own_square)):
                keys.append(_derive_key(session, number, self.point, point, point_of_key))
        return _as_words(keys).reshape(count, 2, 2)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BaseReceiver:
    """SECRET: the receiver, who chooses.

    Attributes:
        answer: Response to the sender, 32 bytes per transfer.
    """

    answer: bytes
    _point: bytes
    _exponents: tuple[bytes, ...]

    @classmethod
    def from_choices(cls, choices: NDArray[np.bool_], point: bytes, randomness: RandomByteSource) -> BaseReceiver:
        """Choose one key of each transfer, given the sender's point, without branches.

        Args:
            choices: Chosen key of each transfer, (transfers,). SECRET.
            point: The sender's point, encoded.
            randomness: Source of the random bits.

        Raises:
            ProtocolError: the point is invalid.
        """
        require_point(point)
        exponents = tuple(draw_scalar(randomness) for _ in choices)
        # The encoding of the identity is all zeros: multiplied by a bit, a point is itself or the identity.
        chosen_points = choices.astype(np.uint8)[:, None] * np.frombuffer(point, np.uint8)
        answer = b"".join(
            [
                add_points(multiply_base(exponent), row.tobytes())
                for exponent, row in zip(exponents, chosen_points, strict=True)
            ]
        )
        return cls(answer, point, exponents)

    def derive_keys(self, session: bytes) -> Words:
        """SECRET: return the chosen key of each transfer, ``(count, 2)`` words.

        Args:
            session: Identifier of the session, the same at both parties.
        """
        points = _parse_points(self.answer, len(self._exponents))
        keys = [
            _derive_key(session, number, self._point, point, multiply_point(exponent, self._point))
            for number, (point, exponent) in enumerate(zip(points, self._exponents, strict=True))
        ]
        return _as_words(keys).reshape(len(keys), 2)


def _parse_points(answer: bytes, count: int) -> list[bytes]:
    """Return the points of the group that an answer of a base transfer holds.

    Args:
        answer: Points of 32 bytes, one after another.
        count: Number of transfers.

    Raises:
        ProtocolError: the number of points is wrong, or a point is invalid.
    """
    if len(answer) != POINT_SIZE * count:
        raise ProtocolError(
            "points",
            f"must be {count} points of 32 bytes, one for each transfer; use the same version of dpcurves at "
            "both servers",
        )
    points = [answer[start : start + POINT_SIZE] for start in range(0, len(answer), POINT_SIZE)]
    for point in points:
        require_point(point)
    return points


def _derive_key(session: bytes, number: int, first: bytes, point: bytes, shared: bytes) -> bytes:
    """Hash a shared point to a key, bound to session, number and messages.

    Args:
        session: Name of the session.
        number: Number of the transfer.
        first: The sender's message.
        point: The receiver's message.
        shared: SECRET. Shared point of both.
    """
    name = len(session).to_bytes(4, "little") + session + number.to_bytes(4, "little")
    # 16: bytes of a transferred key, an AES-128 key
    return sha256(_PURPOSE + name + first + point + shared).digest()[:16]


def _as_words(keys: Sequence[bytes]) -> Words:
    """Return the concatenated keys of 16 bytes as a flat array of little-endian 64-bit words."""
    return np.frombuffer(b"".join(keys), dtype="<u8").astype(np.uint64)


# Trees of seeds and bit transposition, the building blocks of the extension.
LABEL_BITS = 128
"""Bits of a wire label and of the free-XOR offset, so the number of base transfers: one for each bit of the offset."""
_TREE_PREFIX = b"dpcurves: tree of seeds, version 1"
"""Prefix of hashes that expand a seed to its two children in a tree of the transfer extension: no hash made for another
purpose equals them."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SeedTrees:
    """SECRET: leaves of seed trees. Each tree covers as many of the offset's 128 bits as it has levels.

    After Goldreich, Goldwasser and Micali (1986), and SoftSpoken (Roy 2022): a seed's children are the halves of its
    hash. On each level, the XOR of all left and of all right children are sent under the two keys of a base transfer,
    of which the other party has chosen the key off the path to its punctured leaf.

    Attributes:
        levels: Bits of the offset per tree; 1 is IKNP.
        leaves: Seeds ``(trees, 2**levels, 2)``. At the party with the offset, leaf y is leaf ``y xor`` its bits, so
            that the missing leaf is always number 0, and all zeros.
    """

    levels: int
    leaves: Words

    @classmethod
    def generate(cls, levels: int, keys: Words, randomness: RandomByteSource) -> tuple[SeedTrees, bytes]:
        """Generate trees with all leaves, and the message to the other party: 32 bytes per bit of the offset.

        Args:
            keys: Both keys of 128 base transfers, ``(128, 2, 2)``.
            levels: Levels of a tree: 1, 2, 4 or 8.
            randomness: Source of the seeds.
        """
        count = _count_trees(levels)
        nodes = np.frombuffer(randomness.random_bytes(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 1, 2)
        messages = keys.reshape(count, levels, 2, 2).copy()
        for level in range(levels):
            children = _expand_nodes(nodes)
            messages[:, level] ^= np.bitwise_xor.reduce(children, axis=1)
            nodes = children.reshape(count, -1, 2)
        return cls(levels, nodes), messages.astype("<u8").tobytes()

    @classmethod
    def from_message(cls, levels: int, keys: Words, bits: NDArray[np.bool_], message: bytes) -> SeedTrees:
        """Reconstruct punctured trees, without the leaf numbered by the offset's bits. Constant-time in these bits.

        Args:
            levels: Levels of a tree.
            keys: Keys of 128 base transfers, ``(128, 2)``, chosen by the negated bits.
            bits: Bits of the offset.
            message: The sender's message, 4096 bytes: XOR of left and of right children, for each level of each tree.

        Raises:
            ProtocolError: the message has another length.
        """
        count = _count_trees(levels)
        if len(message) != 32 * LABEL_BITS:
            raise ProtocolError(
                "seeds", f"must have {32 * LABEL_BITS} bytes; use the same version of dpcurves at both servers"
            )
        child_sums = np.frombuffer(message, dtype="<u8").astype(np.uint64).reshape(count, levels, 2, 2)
        path = -bits.astype(np.uint64).reshape(count, levels, 1)
        level_sums = (
            keys.reshape(count, levels, 2) ^ child_sums[:, :, 1] ^ (path & (child_sums[:, :, 0] ^ child_sums[:, :, 1]))
        )
        nodes = np.zeros((count, 1, 2), np.uint64)
        for level in range(levels):
            children = _expand_nodes(nodes)
            swap = path[:, level, None] & (children[:, :, 0] ^ children[:, :, 1])
            children ^= swap[:, :, None]
            children[:, 0] = 0  # seeds on the path to the missing leaf are unknown
            children[:, 0, 1] = level_sums[:, level] ^ np.bitwise_xor.reduce(children[:, :, 1], axis=1)
            nodes = children.reshape(count, -1, 2)
        return cls(levels, nodes)


def _count_trees(levels: int) -> int:
    """Return the number of seed trees, 128 divided by `levels`.

    Raises:
        ProtocolError: `levels` is not 1, 2, 4 or 8.
    """
    most_levels = 8  # levels of a seed tree at most: each tree has 2**8 leaves, all of which are expanded for each bit
    if not 1 <= levels <= most_levels or LABEL_BITS % levels:
        raise ProtocolError("levels", f"must be 1, 2, 4 or {most_levels}")
    return LABEL_BITS // levels


def _expand_nodes(nodes: Words) -> Words:
    """SECRET: return both children of each node ``(trees, nodes, 2)``, the halves of its SHA-256: ``(trees, nodes, 2,
    2)`` words.
    """
    octets = nodes.astype("<u8", copy=False).tobytes()
    hashed = [sha256(_TREE_PREFIX + octets[start : start + 16]).digest() for start in range(0, len(octets), 16)]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64).reshape(*nodes.shape[:2], 2, 2)


_TRANSPOSE_SWAPS = tuple(
    (np.uint64(shift), np.uint64(sum(((1 << shift) - 1) << start for start in range(0, 64, 2 * shift))))
    for shift in (32, 16, 8, 4, 2, 1)
)
"""Swaps by which a 64 x 64 bit matrix is transposed (Hacker's Delight, section 7-3): the distance of the swapped bits,
and the mask of the lower one of each pair."""


def transpose_bits(columns: Words) -> Words:
    """Return rows ``(64 * words, 2)`` of columns ``(128, words)``: bit j of a column's word becomes a bit of row j.

    (Hacker's Delight, section 7-3: swap halves of bit squares, then quarters, and so on.)
    """
    columns = np.ascontiguousarray(columns)
    rows = np.empty((64 * columns.shape[1], 2), np.uint64)
    at_a_time = 64  # words of each column that are transposed at once, which fit into the cache
    if supported_instructions():
        _transpose(columns, rows)
    else:
        for start in range(0, columns.shape[1], at_a_time):
            chunk = columns[:, start : start + at_a_time]
            rows[64 * start : 64 * (start + chunk.shape[1])] = _transpose_squares(chunk)
    return rows


def _transpose_squares(columns: Words) -> Words:
    """Return the transposed rows of some words of all columns, ``(64 * words, 2)``, by NumPy."""
    count = columns.shape[1]
    squares = columns.reshape(2, 64, count).copy()
    for shift, mask in _TRANSPOSE_SWAPS:
        pairs = squares.reshape(2, -1, 2, int(shift), count)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        change = ((low >> shift) ^ high) & mask
        high ^= change
        low ^= change << shift
    return squares.transpose(2, 1, 0).reshape(64 * count, 2)


@compile_loop
def _transpose(columns: Any, rows: Any) -> None:
    """Write the transposed rows of all columns into `rows`: the compiled twin of `_transpose_squares`."""
    square = np.empty(64, np.uint64)
    for word in range(columns.shape[1]):
        for half in range(2):
            for row in range(64):
                square[row] = columns[64 * half + row, word]
            shift = 32
            mask = np.uint64(0xFFFFFFFF)
            while shift:
                for start in range(0, 64, 2 * shift):
                    for row in range(start, start + shift):
                        change = ((square[row] >> np.uint64(shift)) ^ square[row + shift]) & mask
                        square[row + shift] ^= change
                        square[row] ^= change << np.uint64(shift)
                shift >>= 1
                mask ^= mask << np.uint64(shift)
            for row in range(64):
                rows[64 * word + row, half] = square[row]


# Oblivious-transfer extension: labels for any number of bits from 128 base transfers.
#
# With trees of one level this is IKNP (Ishai, Kilian, Nissim and Petrank 2003), with more levels SoftSpoken (Roy 2022):
# 16 bytes per bit, divided by the levels. Both outputs are correlated by the free-XOR offset of the garbled circuit, so
# no hashing and no answer are needed: the receiver's label of bit r is t, the sender's zero label is
# ``t xor r * offset``.
#
# Formal guarantees: bits are masked by a stream that includes the leaf the other party lacks, so they stay secret if
# AES-128 in counter mode is pseudorandom; the offset stays secret because of the base transfers. Both parties follow
# the protocol: consistency of the bits across trees is not checked, so a receiver that sends inconsistent bits could
# learn bits of the offset, and is not covered.
IKNP_LEVELS = 1
"""Levels of a seed tree that give the extension of Ishai, Kilian, Nissim and Petrank (2003): the least computation, and
the most traffic, 16 bytes per transferred bit."""
SOFTSPOKEN_LEVELS = 4
"""Default levels of a seed tree (SoftSpoken, Roy 2022): 128 / levels bits, here 4 bytes, are sent for each transferred
bit, and each level doubles the computation."""
_WORD_BITS = 64
"""Bits of a word: numbers of transferred bits are rounded up to its multiples, and the additional bits are not used."""
_INITIAL_BLOCK = bytes(16)
"""Initial block of AES in counter mode, zero: each key gives one stream only, so no nonce is needed."""


def pad_bit_count(bits: int) -> int:
    """Round a number of bits up to a multiple of 64."""
    return -(-bits // _WORD_BITS) * _WORD_BITS


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _LeafStreams:
    """SECRET: key streams of all leaves, which continue from call to call."""

    levels: int
    contexts: list[list[CipherContext]]

    @classmethod
    def from_trees(cls, trees: SeedTrees) -> _LeafStreams:
        """SECRET: start an AES-128 key stream for each leaf seed, from which labels of transfers are expanded.

        Args:
            trees: Seed trees of an oblivious transfer extension, with the leaves that this party knows.
        """
        raw = trees.leaves.astype("<u8")
        return cls(trees.levels, [[_create_stream(seed.tobytes()) for seed in tree] for tree in raw])

    def fold_leaves(self, words: int, columns: Words) -> Iterator[tuple[int, Words]]:
        """Yield for each tree the XOR of all its leaves; write columns ``(128, words)``.

        The column of a bit is the XOR of the leaves whose number has this bit set.

        Args:
            words: 64-bit words to take from each leaf's stream.
            columns: Receives the columns of the bits.
        """
        zeros = bytes(8 * words)
        buffer = np.empty((1 << self.levels, words + 2), np.uint64)
        for tree, contexts in enumerate(self.contexts):
            for context, row in zip(contexts, buffer, strict=True):
                context.update_into(zeros, row.view(np.uint8).data)
            leaves = buffer[:, :words]
            for bit in reversed(range(self.levels)):
                lower, upper = leaves[: 1 << bit], leaves[1 << bit :]
                # The highest bit of a leaf number belongs to the root level.
                np.bitwise_xor.reduce(upper, axis=0, out=columns[self.levels * (tree + 1) - 1 - bit])
                leaves = lower ^ upper
            yield tree, leaves[0]


def _create_stream(seed: bytes) -> CipherContext:
    """SECRET: return the AES-128 key stream, in counter mode from 0, of a seed of 16 bytes."""
    return Cipher(algorithms.AES128(seed), modes.CTR(_INITIAL_BLOCK)).encryptor()


@dataclass(slots=True, repr=False, eq=False)
class ExtensionReceiver:
    """SECRET: the party that has bits, and all leaves."""

    trees: SeedTrees
    _streams: _LeafStreams = field(init=False)

    def __post_init__(self) -> None:
        self._streams = _LeafStreams.from_trees(self.trees)

    def labels(self, bits: NDArray[np.bool_]) -> tuple[Words, bytes]:
        """SECRET: return the labels of the next bits, ``(count, 2)`` words, and the message with which the sender
        computes the same wires' zero labels.
        """
        words = pad_bit_count(len(bits)) // _WORD_BITS
        columns = np.empty((LABEL_BITS, words), np.uint64)
        masked = np.empty((len(self.trees.leaves), words), np.uint64)
        packed = np.packbits(bits, bitorder="little")
        choices = np.zeros(8 * words, np.uint8)
        choices[: len(packed)] = packed
        for tree, total in self._streams.fold_leaves(words, columns):
            np.bitwise_xor(total, choices.view("<u8"), out=masked[tree])
        return transpose_bits(columns)[: len(bits)], masked.astype("<u8", copy=False).tobytes()


@dataclass(slots=True, repr=False, eq=False)
class ExtensionSender:
    """SECRET: the party that has the offset, and all leaves except one per tree."""

    trees: SeedTrees
    offset: Words
    _streams: _LeafStreams = field(init=False)

    def __post_init__(self) -> None:
        self._streams = _LeafStreams.from_trees(self.trees)

    def labels(self, count: int, message: bytes | memoryview) -> Words:
        """SECRET: return the zero labels of the receiver's next `count` bits, ``(count, 2)`` words, from the receiver's
        message.

        Raises:
            ProtocolError: the message is of another number of bits.
        """
        words = pad_bit_count(count) // _WORD_BITS
        trees = len(self.trees.leaves)
        if len(message) != 8 * words * trees:
            raise ProtocolError(
                "choices",
                f"must have the bytes for {count} choice bits; use the same version of dpcurves at both servers",
            )
        masked = np.frombuffer(message, dtype="<u8").astype(np.uint64, copy=False).reshape(trees, words)
        columns = np.empty((LABEL_BITS, words), np.uint64)
        mask = -split_offset_bits(self.offset).astype(np.uint64)
        for tree, _ in self._streams.fold_leaves(words, columns):
            for column in range(tree * self.trees.levels, (tree + 1) * self.trees.levels):
                columns[column] ^= masked[tree] & mask[column]
        return transpose_bits(columns)[:count]


def split_offset_bits(offset: Words) -> NDArray[np.bool_]:
    """SECRET: return the 128 bits of an offset, lowest first.

    Args:
        offset: SECRET. Free-XOR offset, ``(2,)``.
    """
    return np.unpackbits(offset.astype("<u8").view(np.uint8), bitorder="little").astype(np.bool_)
