"""Exact convolution of integers, in time that does not depend on them: number-theoretic transforms."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused

Integers = NDArray[np.int64] | NDArray[np.object_]
Residues = NDArray[np.uint64]

MOST_VALUES = 2**23
"""The most values for which the primes still have a transform of twice the length."""

HEAVIEST = 2**36


class Prime(NamedTuple):
    """A prime number below 2**31 with ``2**24`` roots of unity, so that products fit 64 bits.

    Attributes:
        modulus: The prime number p.
        generator: Its powers are all the numbers from 1 to p - 1.
    """

    modulus: int
    generator: int


PRIMES = (Prime(2013265921, 31), Prime(1811939329, 13), Prime(2113929217, 5), Prime(2130706433, 3))
"""Their product is above 2**123."""


def causal_convolution(signal: Integers, weights: NDArray[np.int64]) -> NDArray[np.object_]:
    """Value i is ``sum(weights[i - j] * signal[j] for j <= i)``: (rows, n) and (n,) to Python's integers (rows, n).

    Exact. Of 64-bit integers, modulo four primes and put together by the Chinese remainder theorem: no value is above
    ``n * 2**63 * 2**36``, at most 2**122, which is less than half the product of the primes. Time and memory depend on
    the shape alone. Integers of any size are summed one by one.

    Raises:
        ValueError: a weight is negative or above 2**36, or there are more than 2**23 of them.

    >>> causal_convolution(np.array([[1, -2, 3]]), np.array([1, 10, 100]))
    array([[1, 8, 83]], dtype=object)
    """
    length = len(weights)
    if length > MOST_VALUES or weights.min() < 0 or weights.max() > HEAVIEST:
        raise Refused("weights", "at most 2**23 numbers between 0 and 2**36 can be convolved")
    if signal.dtype == np.object_:
        exact = weights.astype(np.object_)
        return np.array([np.convolve(row, exact)[:length] for row in signal], dtype=np.object_)
    short = signal.astype(np.int64, copy=False)
    return _put_together([_modulo(prime, short, weights) for prime in PRIMES])


def _modulo(prime: Prime, signal: NDArray[np.int64], weights: NDArray[np.int64]) -> Residues:
    """The convolution modulo a prime: transform, multiply, transform back."""
    size = 1 << (2 * len(weights) - 1).bit_length()
    padded = np.zeros((len(signal) + 1, size), dtype=np.uint64)
    padded[:-1, : len(weights)] = signal % prime.modulus
    padded[-1, : len(weights)] = weights % prime.modulus
    _transform(padded, prime)
    product = _remainder(padded[:-1] * padded[-1], np.uint64(prime.modulus))
    _transform_back(product, prime)
    kept: Residues = product[:, : len(weights)]
    return kept


def _transform(values: Residues, prime: Prime) -> None:
    """In place, along the last axis; the result is in bit-reversed order (decimation in frequency)."""
    modulus = np.uint64(prime.modulus)
    size = values.shape[-1]
    roots = _roots(prime, size)
    half = size // 2
    while half:
        pairs = values.reshape(len(values), -1, 2, half)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        turned = _remainder((left + (modulus - right)) * roots[:: size // (2 * half)], modulus)
        pairs[:, :, 0] = _reduced(left + right, modulus)
        pairs[:, :, 1] = turned
        half //= 2


def _transform_back(values: Residues, prime: Prime) -> None:
    """The inverse of `_transform`."""
    modulus = np.uint64(prime.modulus)
    size = values.shape[-1]
    roots = _roots(Prime(prime.modulus, pow(prime.generator, -1, prime.modulus)), size)
    half = 1
    while half < size:
        pairs = values.reshape(len(values), -1, 2, half)
        left, right = pairs[:, :, 0].copy(), _remainder(pairs[:, :, 1] * roots[:: size // (2 * half)], modulus)
        pairs[:, :, 0] = _reduced(left + right, modulus)
        pairs[:, :, 1] = _reduced(left + (modulus - right), modulus)
        half *= 2
    values[:] = _remainder(values * np.uint64(pow(size, -1, prime.modulus)), modulus)


def _reduced(sums: Residues, modulus: np.uint64) -> Residues:
    """Sums of two residues, reduced: where nothing is to be taken away, taking it away wraps around."""
    reduced: Residues = np.minimum(sums, sums - modulus)
    return reduced


def _remainder(products: Residues, modulus: np.uint64) -> Residues:
    """Products of two residues, reduced; NumPy divides by one number by multiplying, thrice as fast as it reduces."""
    return products - products // modulus * modulus


@lru_cache(maxsize=32)  # a pure function of public numbers
def _roots(prime: Prime, size: int) -> Residues:
    """The first half of the powers of a root of unity of this order, by doubling."""
    root = pow(prime.generator, (prime.modulus - 1) // size, prime.modulus)
    powers = np.ones(1, dtype=np.uint64)
    while len(powers) < size // 2:
        further = np.uint64(pow(root, len(powers), prime.modulus))
        powers = np.concatenate([powers, _remainder(powers * further, np.uint64(prime.modulus))])
    powers.flags.writeable = False
    return powers


def _put_together(residues: list[Residues]) -> NDArray[np.object_]:
    """The integers nearest to 0 with these residues (Garner 1959)."""
    digits: list[Residues] = []
    for prime, residue in zip(PRIMES, residues, strict=True):
        digits.append(_next_digit(digits, residue, prime.modulus))
    total: NDArray[np.object_] = digits[-1].astype(np.object_)
    for prime, digit in zip(PRIMES[-2::-1], digits[-2::-1], strict=True):
        total = total * prime.modulus + digit.astype(np.object_)
    whole = prod(prime.modulus for prime in PRIMES)
    return np.where(total > whole // 2, total - whole, total)


def _next_digit(digits: list[Residues], residue: Residues, modulus: int) -> Residues:
    """The digit that follows the lower digits of a number, in the mixed radix of the primes, for this residue."""
    missing, place = residue, 1
    for prime, digit in zip(PRIMES, digits, strict=False):
        lower = _remainder(_remainder(digit, np.uint64(modulus)) * np.uint64(place), np.uint64(modulus))
        missing, place = _reduced(missing + (modulus - lower), np.uint64(modulus)), place * prime.modulus % modulus
    return _remainder(missing * np.uint64(pow(place, -1, modulus)), np.uint64(modulus))
