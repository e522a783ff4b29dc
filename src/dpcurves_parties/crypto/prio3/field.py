"""Arithmetic in Field128 of the VDAF draft: elements as two 64-bit words, and their expansion by XofTurboShake128.

    expand_elements                 seeds -> pseudorandom field elements (rejection sampling)
    subtract_elements, sum_rows     arithmetic on arrays of elements (..., 2), low word first
    to_integers, from_integers      conversion to and from Python integers
    decode_words, encode_rows       conversion from and to bytes, little-endian, 16 an element
    roots_of_unity                  points on which the proofs' polynomials are interpolated

The modulus is p = 2**66 * (2**62 - 7) + 1 = 2**128 - 28 * 2**64 + 1. The multiplicative group has subgroups of every
order that is a power of 2 up to 2**66.

Reference: draft-irtf-cfrg-vdaf (Field128, XofTurboShake128).

>>> MODULUS == 2**128 - 28 * 2**64 + 1, pow(GENERATOR, 2**66, MODULUS)
(True, 1)
>>> to_integers(subtract_elements(from_integers([1, 5]), from_integers([2, 3]))) == [MODULUS - 1, 2]
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from Cryptodome.Hash import TurboSHAKE128
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

Words = NDArray[np.uint64]
ODD_COFACTOR = 4611686018427387897
"""Odd factor of the order of the multiplicative group (Field128 of the VDAF draft): the modulus minus 1 is this times
2**66."""
ROOT_ORDER_BITS = 66
"""Exponent of 2 in the order of the multiplicative group: roots of unity of order up to 2**66 exist, which bounds the
size of polynomials that are interpolated at them."""
MODULUS = (ODD_COFACTOR << ROOT_ORDER_BITS) + 1
"""Prime modulus of Field128 (VDAF draft), 2**128 - 28 * 2**64 + 1: shares and proofs of Prio3 are integers below it."""
GENERATOR = pow(7, ODD_COFACTOR, MODULUS)
"""Generator of the roots of unity of order 2**66, from which roots of smaller orders are computed."""
ELEMENT_SIZE = 16
"""Bytes of an encoded element of Field128, little-endian (VDAF draft)."""
XOF_SEED_SIZE = 32
"""Bytes of a seed of XofTurboShake128, which expands it to shares and randomness (VDAF draft)."""
_UPPER = np.uint64(MODULUS >> 64)
"""Upper 64-bit word of the modulus, whose lower word is 1: pairs of words are compared with it and reduced by it."""


class DomainSeparationTag(NamedTuple):
    """Domain separation tag of a stream of pseudorandom bytes.

    Attributes:
        algorithm: Number of the VDAF.
        context: Bytes of the application.
        version: Version of the draft.
    """

    algorithm: int
    context: bytes
    version: int = 18

    def to_bytes(self, usage: int) -> bytes:
        """Return the encoded tag, with its length first, for one usage of a stream.

        Args:
            usage: Number of the usage in the draft.
        """
        numbers = bytes([self.version, 0]) + self.algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big")
        dst = numbers + self.context
        return len(dst).to_bytes(2, "little") + dst


class QueryInputs(NamedTuple):
    """SECRET: shares of some reports at one server, with their joint and query randomness.

    Attributes:
        cells: Shares of the cells of each report, ``(reports, length, 2)``.
        wire_seeds: Starts of wires, ``(reports, 2 * chunk, 2)``.
        gadget_values: Values of the gadget polynomial at all nodes except the last, ``(reports, 2 * points - 1, 2)``.
        joint_rand: Joint randomness: one element for each call of the gadget, ``(reports, calls, 2)``.
        query_rand: Two factors and a point, ``(reports, 3, 2)``.
    """

    cells: Words
    wire_seeds: Words
    gadget_values: Words
    joint_rand: Words
    query_rand: Words


def expand_xof(tag: bytes, seed: bytes, binder: bytes, size: int) -> bytes:
    """Return pseudorandom bytes: TurboSHAKE128 of ``tag || length of seed || seed || binder`` (XofTurboShake128).

    Args:
        tag: Encoded domain separation tag.
        seed: Seed of at most 255 bytes.
        binder: Bytes to which the stream is bound.
        size: Number of bytes.
    """
    # 1: domain separation byte of TurboSHAKE128 in the draft
    source = TurboSHAKE128.new(domain=1, data=b"".join((tag, bytes([len(seed)]), seed, binder)))
    return bytes(source.read(size))


def expand_elements(tag: bytes, inputs: Iterable[tuple[bytes, bytes]], number: int) -> Words:
    """Expand seeds to pseudorandom field elements by rejection sampling, as the VDAF draft specifies.

    Values that are not below the modulus are skipped, as the draft specifies: one in 2**59 values.

    Args:
        tag: Encoded domain separation tag.
        inputs: Pairs of seed and binder.
        number: Number of elements for each pair.

    Returns:
        Elements, ``(inputs, number, 2)``.
    """
    pairs = list(inputs)
    octets = b"".join(expand_xof(tag, seed, binder, ELEMENT_SIZE * number) for seed, binder in pairs)
    elements = decode_words(octets, len(pairs), number).copy()
    for row in np.flatnonzero(~are_elements(elements).reshape(len(pairs), -1).all(axis=1)).tolist():
        elements[row] = _expand_with_rejection(tag, *pairs[row], number)
    return elements


def _expand_with_rejection(tag: bytes, seed: bytes, binder: bytes, number: int) -> Words:
    """Expand one seed to field elements, with as many further values as are rejected.

    Args:
        tag: Encoded domain separation tag.
        seed: The seed.
        binder: Bytes that the stream is bound to.
        number: Number of elements.

    Returns:
        Elements, ``(number, 2)``.
    """
    for extra in count(1):
        candidates = decode_words(expand_xof(tag, seed, binder, ELEMENT_SIZE * (number + extra)), 1, number + extra)[0]
        elements = candidates[are_elements(candidates)]
        if len(elements) >= number:
            return np.asarray(elements[:number], np.uint64)
    raise AssertionError


def decode_words(octets: bytes, rows: int, number: int) -> Words:
    """Decode the bytes of elements to words. Nothing is checked: see `require_elements`.

    Args:
        octets: ``16 * rows * number`` bytes, little-endian.
        rows: Number of rows.
        number: Elements of a row.

    Returns:
        Words, ``(rows, number, 2)``, the low one first.
    """
    return np.asarray(np.frombuffer(octets, "<u8").astype(np.uint64, copy=False).reshape(rows, number, 2), np.uint64)


def encode_rows(words: Words) -> list[bytes]:
    """Return each row of words ``(rows, number, 2)`` as ``16 * number`` little-endian bytes.

    Args:
        words: Elements of the field, each as a low and a high 64-bit word.
    """
    return [row.tobytes() for row in np.ascontiguousarray(words, "<u8")]


def are_elements(words: Words) -> NDArray[np.bool_]:
    """Return which numbers are elements of the field, that is below the modulus.

    Args:
        words: Numbers, ``(..., 2)``, low word first.

    Returns:
        A mask ``(...)``.
    """
    low, high = words[..., 0], words[..., 1]
    return np.asarray((high < _UPPER) | ((high == _UPPER) & (low == 0)))


def require_elements(words: Words, argument: str) -> Words:
    """Return words unchanged, after checking that all elements are below the modulus.

    Args:
        words: Elements, ``(..., 2)``.
        argument: Name of the argument in the error.

    Raises:
        ValueError: an element is not below the modulus.
    """
    if not are_elements(words).all():
        raise InvalidArgument(argument, "must be numbers below the modulus of the field; send them again")
    return words


def subtract_elements(first: Words, second: Words) -> Words:
    """Subtract field elements elementwise, modulo the field's modulus.

    Args:
        first: Elements, ``(..., 2)``.
        second: Elements of the same shape.
    """
    low = first[..., 0] - second[..., 0]
    high = first[..., 1] - second[..., 1]
    borrow = (first[..., 0] < second[..., 0]).astype(np.uint64)
    is_negative = (first[..., 1] < second[..., 1]) | ((first[..., 1] == second[..., 1]) & (borrow == 1))
    high -= borrow
    # The modulus, (1, _UPPER) in words, is added where the difference is below 0.
    low_sum = low + is_negative
    high += is_negative * _UPPER + (low_sum < low)
    return np.stack([low_sum, high], axis=-1)


def sum_rows(words: Words) -> list[int]:
    """Return the sums of elements over rows, as integers below the modulus.

    Args:
        words: Elements, ``(rows, number, 2)``, with fewer than 2**32 rows.

    Returns:
        A list of `number` integers.
    """
    halves = np.ascontiguousarray(words).view(np.uint32).sum(axis=0, dtype=np.uint64)
    return [sum(half << 32 * position for position, half in enumerate(row)) % MODULUS for row in halves.tolist()]


def to_integers(words: Words) -> list[int]:
    """Convert field elements ``(number, 2)`` to Python integers.

    Args:
        words: Elements of the field, each as a low and a high 64-bit word.
    """
    return [low | high << 64 for low, high in words.tolist()]


def from_integers(numbers: Sequence[int]) -> Words:
    """Convert integers, which are reduced modulo the modulus, to elements ``(numbers, 2)``."""
    octets = b"".join((integer % MODULUS).to_bytes(ELEMENT_SIZE, "little") for integer in numbers)
    return np.array(decode_words(octets, 1, len(numbers))[0], np.uint64)


def roots_of_unity(order: int) -> list[int]:
    """Return all roots of unity of an order, as powers of the primitive root, from the power 0.

    Args:
        order: A power of 2, at most 2**66.
    """
    root = pow(GENERATOR, (1 << ROOT_ORDER_BITS) // order, MODULUS)
    powers = [1]
    while len(powers) < order:
        powers.append(powers[-1] * root % MODULUS)
    return powers


def evaluate_first_lagrange(count: int, point: int) -> int:
    """Evaluate the first Lagrange polynomial at a point: it is 1 at 1 and 0 at the other roots of unity.

    Args:
        count: Order of the roots of unity, a power of 2.
        point: An integer below the modulus, not 1.
    """
    return (pow(point, count, MODULUS) - 1) * pow(count * (point - 1), -1, MODULUS) % MODULUS
