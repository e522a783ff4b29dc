"""Arithmetic modulo 2**64 and 2**128 on NumPy arrays (additive secret sharing), and the bytes in which keys are sent.

    Ring      sums, differences and additive shares; an array (..., words) holds one number per row of 64-bit words
    Domain    the inputs 0, ..., 2**bits - 1 of a distributed point function, and the depth of its tree of seeds
    Frame     a batch of keys as bytes: header, checksum, little-endian words

Two shares of a number are random numbers that add up to it in the ring, so either alone says nothing about it. The
checksum of a frame detects accidents only.

>>> Z64.reconstruct((2**64 - 1,), (3,)), Z64.to_signed(2**64 - 5)  # shares of 2, and a small negative number
((2,), -5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

Words = NDArray[np.uint64]

_LOW_HALF = np.uint64(2**32 - 1)
"""Mask of the lower 32 bits of a 64-bit word: sums of 128-bit numbers add halves of words, so that carries are not
lost."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Integers modulo ``2**(64 * words)``. The last axis of an array holds the words of one number.

    Raises:
        ValueError: `words` is neither 1 nor 2.

    >>> Z64.to_signed(Z64.reconstruct((2**64 - 3,), (1,))[0])
    -2
    """

    words: int

    def __post_init__(self) -> None:
        if self.words not in (1, 2):
            raise InvalidArgument("words", f"must be 1 or 2, got {self.words}")

    @property
    def modulus(self) -> int:
        """The size of the ring, ``2**64`` or ``2**128``, as a Python integer."""
        return 1 << 64 * self.words

    def add(self, left: Words, right: Words) -> Words:
        """Add numbers of the ring elementwise, modulo ``2**(64 * words)``.

        Args:
            left: Numbers, (..., words).
            right: Numbers of the same shape.
        """
        result = left + right
        if self.words == 2:
            result[..., 1] += result[..., 0] < left[..., 0]
        return result

    def subtract(self, left: Words, right: Words) -> Words:
        """Subtract numbers of the ring elementwise, modulo the ring's size.

        Args:
            left: Numbers, (..., words).
            right: Numbers of the same shape.
        """
        result = left - right
        if self.words == 2:
            result[..., 1] -= left[..., 0] < right[..., 0]
        return result

    def negate_where(self, mask: Words, numbers: Words) -> Words:
        """Return the numbers, negated where the mask is set, without a branch that depends on the mask.

        Args:
            mask: For each number a word with all 64 bits set (negate) or none (keep), (...).
            numbers: Numbers, (..., words).
        """
        return self.subtract(numbers ^ mask[..., None], self._broadcast_mask(mask))

    def negate(self, numbers: Words) -> Words:
        """Return the additive inverses modulo ``2**(64 * words)`` of numbers ``(..., words)``."""
        return self.subtract(np.zeros_like(numbers), numbers)

    def units(self, mask: Words) -> Words:
        """Convert masks (...) to ring elements (..., words): 1 where all 64 bits of the mask are set, 0 where no bit is
        set.
        """
        ones = (mask & np.uint64(1))[..., None]
        return ones if self.words == 1 else np.concatenate([ones, np.zeros_like(ones)], axis=-1)

    def sums(self, numbers: Words) -> Words:
        """Return sums along the last axis but one: ``(..., count, words)`` becomes ``(..., words)``.

        Args:
            numbers: Numbers; `count` must be below 2**32, so that sums of half words do not overflow.
        """
        if self.words == 1:
            return np.asarray(np.add.reduce(numbers, axis=-2))
        low = np.add.reduce(numbers[..., 0] & _LOW_HALF, axis=-1)
        middle = np.add.reduce(numbers[..., 0] >> 32, axis=-1) + (low >> 32)
        high = np.add.reduce(numbers[..., 1], axis=-1) + (middle >> 32)
        return np.stack([(middle << 32) | (low & _LOW_HALF), high], axis=-1)

    def running_sums(self, numbers: Words) -> Words:
        """Return the cumulative sums along the first axis of numbers ``(count, words)``, modulo ``2**(64 * words)``."""
        result = np.add.accumulate(numbers, axis=0)
        if self.words == 2:
            carries = result[:, 0] < numbers[:, 0]
            result[:, 1] += np.add.accumulate(carries, axis=0, dtype=np.uint64)
        return result

    def to_integers(self, numbers: Words) -> tuple[int, ...]:
        """Convert an array ``(count, words)`` to Python integers in ``0, ..., modulus - 1``.

        Args:
            numbers: Residues, (count, words), the lowest word first.
        """
        if self.words == 1:
            return tuple(numbers[:, 0].tolist())
        return tuple(low + (high << 64) for low, high in numbers.tolist())

    def reconstruct(self, *shares: tuple[int, ...]) -> tuple[int, ...]:
        """Return the secrets that additive shares add up to, modulo the ring's size.

        Args:
            shares: One tuple per party; all equally long.

        Raises:
            ValueError: the tuples differ in length.
        """
        return tuple(sum(summands) % self.modulus for summands in zip(*shares, strict=True))

    def to_signed(self, number: int) -> int:
        """Return the number as a signed integer: the congruent one from ``-modulus / 2`` to ``modulus / 2 - 1``."""
        half = self.modulus // 2
        return (number + half) % self.modulus - half

    def _broadcast_mask(self, mask: Words) -> Words:
        """Return a mask (...) repeated for all words, (..., words).

        A mask with all bits set is -1 in the ring, so ``(numbers ^ mask) - mask`` negates.
        """
        return mask[..., None] if self.words == 1 else np.repeat(mask[..., None], self.words, axis=-1)


Z64 = Ring(1)
"""The ring of integers modulo 2**64, in one 64-bit word each: values of counts, whose shares and sums wrap around."""
Z128 = Ring(2)
"""The ring of integers modulo 2**128, in two 64-bit words each, for sums that 64 bits cannot hold."""


MOST_CELL_BITS = 64
"""Binary digits of a cell's number at most, because it must fit into one word; larger domains are refused."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Cells ``0, ..., 2**bits - 1``, and the ring in which shares add up.

    Cells are the inputs of a distributed point function. A key of it defines a binary tree of pseudorandom seeds over
    the cells. The tree ends one level early, with two cells at a leaf, if two values fit into one AES block of 128
    bits.

    Attributes:
        bits: Number of bits of a cell, from 1 to 64.
        ring: Ring of the values.

    Raises:
        ValueError: `bits` is not in 1, ..., 64.

    >>> from dpcurves_parties.crypto import Z64
    >>> Domain(32, Z64).levels
    31
    """

    bits: int
    ring: Ring

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_CELL_BITS:
            raise InvalidArgument("bits", f"must be from 1 to {MOST_CELL_BITS}, got {self.bits}")

    @property
    def leaf_bits(self) -> int:
        """The number of low bits of a cell that select a value inside a leaf block: 1 for 64-bit numbers, 0 for 128-bit
        ones.
        """
        return 2 - self.ring.words

    @property
    def levels(self) -> int:
        """The depth of the tree of seeds: the bits of a cell without `leaf_bits`."""
        return self.bits - self.leaf_bits

    @property
    def is_enumerable(self) -> bool:
        """True if keys can be evaluated on the whole domain, which has at most 20 bits.

        Keys of such a domain have one more block.
        """
        return self.bits <= 20  # bits of the largest domain that is evaluated as a whole, that is for all cells

    def require(self, cells: Words) -> None:
        """Check that all cells (values that owners share) are inside the public domain.

        Args:
            cells: Cells, of any shape.

        Raises:
            ValueError: a cell is outside the domain; the message shows no cell.
        """
        if self.bits < MOST_CELL_BITS and bool(np.any(cells >> np.uint64(self.bits))):
            raise InvalidArgument("cells", f"must be below 2**{self.bits}")

    def sort_thresholds(self, thresholds: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Sort thresholds in increasing order, and keep the position that each had in the list.

        Args:
            thresholds: Cells of the domain, in any order.

        Returns:
            Pairs (threshold, its position in `thresholds`), ascending.

        Raises:
            ValueError: a threshold is outside the domain.
        """
        for threshold in thresholds:
            if not 0 <= threshold < 1 << self.bits:
                raise InvalidArgument("thresholds", f"must be from 0 to 2**{self.bits} - 1, got {threshold}")
        return tuple(sorted((int(threshold), position) for position, threshold in enumerate(thresholds)))


Part = slice | NDArray[np.bool_]
"""Selection of keys."""

_KEYS_AT_ONCE = 256
"""Keys whose arrays are transposed in one pass, so that their rows fit into the processor's cache. Results do not
depend on it."""


def split_levels(records: Words, levels: int, words: int) -> Words:
    """Rearrange keys for evaluation level by level: (keys, levels * words) becomes (levels, keys, words).

    Args:
        records: One row per key, as keys are sent.
        levels: Number of levels of the tree of seeds.
        words: 64-bit words of one level of a key.

    Returns:
        A contiguous copy.
    """
    result = np.empty((levels, len(records), words), np.uint64)
    for keys in range(0, len(records), _KEYS_AT_ONCE):
        chunk = records[keys : keys + _KEYS_AT_ONCE]
        result[:, keys : keys + _KEYS_AT_ONCE] = chunk.reshape(len(chunk), levels, words).transpose(1, 0, 2)
    return result


def join_levels(*by_level: Words) -> Words:
    """Rearrange keys for sending, one row per key: the inverse of `split_levels`, for several arrays.

    Args:
        *by_level: Arrays (levels, keys, words), with equal numbers of keys.

    Returns:
        An array (keys, sum of levels * words); a row holds the words of the first array, then of the next.
    """
    ends = np.cumsum([0, *(level_words.shape[0] * level_words.shape[2] for level_words in by_level)])
    rows = np.empty((by_level[0].shape[1], int(ends[-1])), np.uint64)
    for keys in range(0, len(rows), _KEYS_AT_ONCE):
        for start, end, level_words in zip(ends, ends[1:], by_level, strict=False):
            chunk = level_words[:, keys : keys + _KEYS_AT_ONCE].transpose(1, 0, 2)
            rows[keys : keys + _KEYS_AT_ONCE, start:end].reshape(chunk.shape)[...] = chunk
    return rows


# Byte frames: a fixed header with a checksum, then records of equal size. Any other form is refused.
_HEAD = Struct("<4sBBBBI")
"""Header of a frame, the message that holds a batch of keys: magic bytes, version, kind of content, bits of the domain,
words of a number, and number of records, little-endian."""
_CHECKSUM_SIZE = 4
"""Bytes of the checksum, the first ones of SHA-256 over all other bytes of a frame. It detects accidents, not
attacks."""
_MAGIC = b"dpcs"
"""First bytes of a frame; anything that begins otherwise is refused."""
_VERSION = 1
"""Number of the frame format, in the header; frames of other versions are refused."""
HEAD_SIZE = _HEAD.size + _CHECKSUM_SIZE
"""Bytes of a frame before its records: header and checksum. A shorter message is refused."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Header of a frame, without the number of records: what a batch of keys is, and its format.

    Attributes:
        name: Content of the frame, for error messages.
        kind: Number of the content type.
        bits: Bits of the domain; 0 without a domain.
        words: Words of a number.
    """

    name: str
    kind: int
    bits: int
    words: int

    def to_bytes(self, records: Words) -> bytes:
        """Serialise records to bytes: header, checksum, then the records as little-endian words.

        Args:
            records: Array (count, words of a record).
        """
        head = _HEAD.pack(_MAGIC, _VERSION, self.kind, self.bits, self.words, len(records))
        body = np.ascontiguousarray(records, dtype="<u8").tobytes()
        return head + _checksum(head, body) + body

    def from_bytes(self, blob: bytes, record_words: int) -> Words:
        """Parse the records of a serialised frame, after checking its header, length and checksum.

        Args:
            blob: Bytes as `to_bytes` returns them.
            record_words: 64-bit words of one record.

        Returns:
            A read-only array (count, record_words).

        Raises:
            ValueError: the header differs, or the length or the checksum is wrong.
        """
        header = self._parse_head(blob)
        expected_header = (_MAGIC, _VERSION, self.kind, self.bits, self.words)
        for field_name, actual, expected in zip(
            ("magic", "version", "kind", "bits", "words"), header, expected_header, strict=False
        ):
            if actual != expected:
                raise InvalidArgument(
                    self.name,
                    f"must be made for this use: {field_name} of its header must be {expected!r}, got {actual!r}",
                )
        size = HEAD_SIZE + 8 * record_words * header[-1]
        if len(blob) != size:
            raise InvalidArgument(
                self.name, f"must have {size} bytes for {header[-1]} records, got {len(blob)}; send them again"
            )
        if blob[_HEAD.size : HEAD_SIZE] != _checksum(blob[: _HEAD.size], memoryview(blob)[HEAD_SIZE:]):
            raise InvalidArgument(self.name, "must have its checksum; the bytes were changed, send them again")
        body = np.frombuffer(blob, dtype="<u8", offset=HEAD_SIZE).astype(np.uint64, copy=False)
        return body.reshape(header[-1], record_words)

    def _parse_head(self, blob: bytes) -> tuple[bytes, int, int, int, int, int]:
        """Return the header of a frame: magic, version, kind, bits, words and count. Nothing is compared here.

        Args:
            blob: A frame: the header, and whatever follows.

        Raises:
            ValueError: the bytes are shorter than a header.
        """
        if len(blob) < HEAD_SIZE:
            raise InvalidArgument(
                self.name, f"must begin with a header of {HEAD_SIZE} bytes, got {len(blob)} bytes; send them again"
            )
        magic, version, kind, bits, words, count = _HEAD.unpack_from(blob)
        return magic, version, kind, bits, words, count


def _checksum(head: bytes, body: bytes | memoryview) -> bytes:
    """Return the first four bytes of SHA-256 over header and body, which detect accidental changes only.

    Args:
        head: The header without the checksum.
        body: All bytes behind the checksum.
    """
    digest = sha256(head)
    digest.update(body)
    return digest.digest()[:_CHECKSUM_SIZE]
