"""The field of 128 bits of the VDAF draft: its elements as two words each, and streams of them (XofTurboShake128)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from Cryptodome.Hash import TurboSHAKE128
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

Words = NDArray[np.uint64]
COFACTOR, ORDER = 4611686018427387897, 66
MODULUS = (COFACTOR << ORDER) + 1
"""2**128 - 28 * 2**64 + 1, a prime."""
GENERATOR = pow(7, COFACTOR, MODULUS)
"""Generator of the roots of unity of order 2**66."""
SIZE = 16
"""Bytes of an element, little-endian."""
SEED = 32
_SUFFIX = 1
_UPPER = np.uint64(MODULUS >> 64)


class DomainSeparationTag(NamedTuple):
    """Domain separation tag of a stream: the draft's version, the class and number of the algorithm, and a context."""

    algorithm: int
    context: bytes
    version: int = 18

    def to_bytes(self, usage: int) -> bytes:
        """The bytes before a stream's input, for one of its uses."""
        numbers = bytes([self.version, 0]) + self.algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big")
        dst = numbers + self.context
        return len(dst).to_bytes(2, "little") + dst


class QueryInputs(NamedTuple):
    """SECRET: shares of some reports at one server, with their joint and query randomness.

    Attributes:
        cells: ``(reports, length, 2)``.
        wire_seeds: Starts of wires, ``(reports, 2 * chunk, 2)``.
        gadget_values: Values of the gadget polynomial at all nodes except the last, ``(reports, 2 * points - 1, 2)``.
        joint_rand: ``(reports, calls, 2)``.
        query_rand: Two factors and a point, ``(reports, 3, 2)``.
    """

    cells: Words
    wire_seeds: Words
    gadget_values: Words
    joint_rand: Words
    query_rand: Words


def expand_xof(tag: bytes, seed: bytes, binder: bytes, size: int) -> bytes:
    """Bytes of XofTurboShake128."""
    source = TurboSHAKE128.new(domain=_SUFFIX, data=b"".join((tag, bytes([len(seed)]), seed, binder)))
    return bytes(source.read(size))


def expand_elements(tag: bytes, inputs: Iterable[tuple[bytes, bytes]], number: int) -> Words:
    """Elements off the streams of some seeds and binders: ``(inputs, number, 2)`` words.

    What is not below the modulus is passed over, as the draft has it: once in 2**59 elements.
    """
    given = list(inputs)
    octets = b"".join(expand_xof(tag, seed, binder, SIZE * number) for seed, binder in given)
    found = decode_words(octets, len(given), number).copy()
    for row in np.flatnonzero(~are_elements(found).reshape(len(given), -1).all(axis=1)).tolist():
        found[row] = _expand_with_rejection(tag, *given[row], number)
    return found


def _expand_with_rejection(tag: bytes, seed: bytes, binder: bytes, number: int) -> Words:
    for more in count(1):
        found = decode_words(expand_xof(tag, seed, binder, SIZE * (number + more)), 1, number + more)[0]
        kept = found[are_elements(found)]
        if len(kept) >= number:
            return np.asarray(kept[:number], np.uint64)
    raise AssertionError


def decode_words(octets: bytes, rows: int, number: int) -> Words:
    """Bytes of elements as ``(rows, number, 2)`` words."""
    return np.asarray(np.frombuffer(octets, "<u8").astype(np.uint64, copy=False).reshape(rows, number, 2), np.uint64)


def encode_rows(words: Words) -> list[bytes]:
    """The bytes of each row of ``(rows, number, 2)`` words."""
    return [row.tobytes() for row in np.ascontiguousarray(words, "<u8")]


def are_elements(words: Words) -> NDArray[np.bool_]:
    """Mask of words ``(..., 2)`` that are below the modulus."""
    low, high = words[..., 0], words[..., 1]
    return np.asarray((high < _UPPER) | ((high == _UPPER) & (low == 0)))


def require_elements(words: Words, argument: str) -> Words:
    """The words themselves. Raises `ValueError`: some are no elements."""
    if not are_elements(words).all():
        raise InvalidArgument(argument, "numbers below the modulus of the field are needed")
    return words


def subtract_elements(first: Words, second: Words) -> Words:
    """Differences of elements, ``(..., 2)`` words each."""
    low, high = first[..., 0] - second[..., 0], first[..., 1] - second[..., 1]
    borrow = (first[..., 0] < second[..., 0]).astype(np.uint64)
    below = (first[..., 1] < second[..., 1]) | ((first[..., 1] == second[..., 1]) & (borrow == 1))
    high -= borrow
    # The modulus, (1, _UPPER) in words, is added where the difference is below 0.
    low_sum = low + below
    high += below * _UPPER + (low_sum < low)
    return np.stack([low_sum, high], axis=-1)


def sum_rows(words: Words) -> list[int]:
    """Sums, modulo the modulus, over the rows of ``(rows, number, 2)`` words; fewer than 2**32 rows."""
    halves = np.ascontiguousarray(words).view(np.uint32).sum(axis=0, dtype=np.uint64)
    return [sum(part << 32 * place for place, part in enumerate(each)) % MODULUS for each in halves.tolist()]


def to_integers(words: Words) -> list[int]:
    """Elements ``(number, 2)`` as Python's integers."""
    return [low | high << 64 for low, high in words.tolist()]


def from_integers(numbers: Sequence[int]) -> Words:
    """The inverse of `to_integers`."""
    octets = b"".join((one % MODULUS).to_bytes(SIZE, "little") for one in numbers)
    return np.array(decode_words(octets, 1, len(numbers))[0], np.uint64)


def roots_of_unity(order: int) -> list[int]:
    """Powers of the root of unity of an order that is a power of 2."""
    root = pow(GENERATOR, (1 << ORDER) // order, MODULUS)
    found = [1]
    while len(found) < order:
        found.append(found[-1] * root % MODULUS)
    return found


def evaluate_first_lagrange(count: int, point: int) -> int:
    """Value at a point of the polynomial that is 1 at 1 and 0 at the other roots of unity of an order `count`."""
    return (pow(point, count, MODULUS) - 1) * pow(count * (point - 1), -1, MODULUS) % MODULUS
