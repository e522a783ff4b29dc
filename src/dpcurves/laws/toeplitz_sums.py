"""Sums of cells by the square root of the prefix-sum matrix (Toeplitz), and exact convolution of integers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..codec import Count, Natural
from .interval_sums import split_into_parts, spread_over_cells
from .law import EqualWidthSums, Noise, Part, sum_over_intervals

# Exact convolution of integers, in time that does not depend on them: number-theoretic transforms.


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
        raise InvalidArgument("weights", "at most 2**23 numbers between 0 and 2**36 can be convolved")
    if signal.dtype == np.object_:
        exact = weights.astype(np.object_)
        return np.array([np.convolve(row, exact)[:length] for row in signal], dtype=np.object_)
    short = signal.astype(np.int64, copy=False)
    return _combine_residues([_convolve_modulo(prime, short, weights) for prime in PRIMES])


def _convolve_modulo(prime: Prime, signal: NDArray[np.int64], weights: NDArray[np.int64]) -> Residues:
    """The convolution modulo a prime: transform, multiply, transform back."""
    size = 1 << (2 * len(weights) - 1).bit_length()
    padded = np.zeros((len(signal) + 1, size), dtype=np.uint64)
    padded[:-1, : len(weights)] = signal % prime.modulus
    padded[-1, : len(weights)] = weights % prime.modulus
    _number_theoretic_transform(padded, prime)
    product = _reduce_products(padded[:-1] * padded[-1], np.uint64(prime.modulus))
    _inverse_transform(product, prime)
    kept: Residues = product[:, : len(weights)]
    return kept


def _number_theoretic_transform(values: Residues, prime: Prime) -> None:
    """In place, along the last axis; the result is in bit-reversed order (decimation in frequency)."""
    modulus = np.uint64(prime.modulus)
    size = values.shape[-1]
    roots = _roots_of_unity(prime, size)
    half = size // 2
    while half:
        pairs = values.reshape(len(values), -1, 2, half)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        turned = _reduce_products((left + (modulus - right)) * roots[:: size // (2 * half)], modulus)
        pairs[:, :, 0] = _reduce_sums(left + right, modulus)
        pairs[:, :, 1] = turned
        half //= 2


def _inverse_transform(values: Residues, prime: Prime) -> None:
    modulus = np.uint64(prime.modulus)
    size = values.shape[-1]
    roots = _roots_of_unity(Prime(prime.modulus, pow(prime.generator, -1, prime.modulus)), size)
    half = 1
    while half < size:
        pairs = values.reshape(len(values), -1, 2, half)
        left, right = pairs[:, :, 0].copy(), _reduce_products(pairs[:, :, 1] * roots[:: size // (2 * half)], modulus)
        pairs[:, :, 0] = _reduce_sums(left + right, modulus)
        pairs[:, :, 1] = _reduce_sums(left + (modulus - right), modulus)
        half *= 2
    values[:] = _reduce_products(values * np.uint64(pow(size, -1, prime.modulus)), modulus)


def _reduce_sums(sums: Residues, modulus: np.uint64) -> Residues:
    """Sums of two residues, reduced: where nothing is to be taken away, taking it away wraps around."""
    reduced: Residues = np.minimum(sums, sums - modulus)
    return reduced


def _reduce_products(products: Residues, modulus: np.uint64) -> Residues:
    """Products of two residues, reduced; NumPy divides by one number by multiplying, thrice as fast as it reduces."""
    return products - products // modulus * modulus


@lru_cache(maxsize=32)  # a pure function of public numbers
def _roots_of_unity(prime: Prime, size: int) -> Residues:
    """The first half of the powers of a root of unity of this order, by doubling."""
    root = pow(prime.generator, (prime.modulus - 1) // size, prime.modulus)
    powers = np.ones(1, dtype=np.uint64)
    while len(powers) < size // 2:
        further = np.uint64(pow(root, len(powers), prime.modulus))
        powers = np.concatenate([powers, _reduce_products(powers * further, np.uint64(prime.modulus))])
    powers.flags.writeable = False
    return powers


def _combine_residues(residues: list[Residues]) -> NDArray[np.object_]:
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
        lower = _reduce_products(_reduce_products(digit, np.uint64(modulus)) * np.uint64(place), np.uint64(modulus))
        missing, place = _reduce_sums(missing + (modulus - lower), np.uint64(modulus)), place * prime.modulus % modulus
    return _reduce_products(missing * np.uint64(pow(place, -1, modulus)), np.uint64(modulus))


_GUARD = 60


@dataclass(frozen=True, slots=True)
class ToeplitzSums(EqualWidthSums):
    """Convolutions of every row with public weights, with noise of its own on each value.

    Cells are summed in intervals of `width`. Value i of a row is ``sum(weights[i - j] * interval[j] for j <= i)``, in
    units of ``2**-bits`` records. The matrix of weights is nearly a square root of that of prefix sums: applied twice,
    it nearly gives prefix sums. Rounding the weights costs nothing but a little accuracy, for the estimate inverts the
    rounded weights (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023).

    The order of values: row by row, in a row from left to right; the missing cell comes last, in whole records.

    Attributes:
        width: How many cells an interval has; the last one may be cut off.
        bits: The lattice of the weights.
        noise: The noise of each value, on the lattice.
    """

    KEY = "convolved"
    is_convolved = True
    FIELDS = MappingProxyType({"width": "width", "bits": "bits", KEY: "noise"})

    rows: int
    cells: int
    width: Count
    bits: Natural
    noise: Noise
    missing: Noise | None

    @property
    def parts(self) -> tuple[Part, ...]:
        """A single part."""
        return (Part(self.points, self.noise),)

    @property
    def weights(self) -> IntArray:
        """The weights on the lattice, (points,); read-only."""
        return root_weights(self.points, self.bits)

    @property
    def kernel(self) -> FloatArray:
        """The weights whose convolution with the values gives prefix sums: (points,); read-only."""
        return prefix_kernel(self.points, self.bits)

    @property
    def variance(self) -> float:
        """The variance of one value, in squared records."""
        return self.noise.variance / 4.0**self.bits

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Convolutions of every row with the weights."""
        return [causal_convolution(sum_over_intervals(cells, self.bounds[:-1]), self.weights)]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

        Values are ``y = R x + z``, on their lattice, with a triangular R whose diagonal is 1; so prefixes ``A x`` have
        the estimate ``A R**-1 y``, which is unbiased whatever the noise, and the only unbiased linear one. A public
        total tells what the noises of all rows and the missing count add up to: what it has more than the estimate is
        shared by all prefixes in proportion to their covariances with it: least squares.

        Raises:
            ValueError: the values do not fit the law.
        """
        (sums,), missing = split_into_parts(self, values)
        prefixes = causal_product(sums / 2.0**self.bits, self.kernel, self.points)
        if total is not None:
            prefixes, missing = _adjust_to_total(self, prefixes, missing, total)
        return spread_over_cells(np.diff(prefixes, axis=-1, prepend=0.0), np.diff(self.bounds)), missing

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Exact variances; see `convolved_variances`."""
        return np.broadcast_to(convolved_variances(self, total_is_public), (self.rows, self.cells + 1))


@lru_cache(maxsize=16)  # a pure function of public facts
def root_weights(points: int, bits: int) -> IntArray:
    """Coefficients of ``(1 - t) ** -1/2``: 1, 1/2, 3/8, ..., each that before times ``(2 k - 1) / (2 k)``, rounded.

    Worked out in integers, so that they are the same on every machine.

    >>> root_weights(4, 20).tolist()
    [1048576, 524288, 393216, 327680]
    """
    exact, half, weights = 1 << (bits + _GUARD), 1 << (_GUARD - 1), np.empty(points, dtype=np.int64)
    for k in range(points):
        exact = exact * (2 * k - 1) // (2 * k) if k else exact
        weights[k] = (exact + half) >> _GUARD
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=16)  # a pure function of public facts
def prefix_kernel(points: int, bits: int) -> FloatArray:
    """The power series ``1 / ((1 - t) * weights(t))``, with weights in whole records.

    Prefixes are ``A x``, A the lower triangle of ones, and values are ``R x`` plus noise. Triangular Toeplitz matrices
    are power series: ``A R**-1`` has these coefficients, whatever the invertible R. (Were R an exact root of A, it
    would be R again.)
    """
    weights, inverse = root_weights(points, bits) / 2.0**bits, np.ones(1)
    while len(inverse) < points:  # Newton's iteration doubles the number of right coefficients
        length = min(2 * len(inverse), points)
        error = -causal_product(weights[:length], inverse, length)
        error[0] += 2
        inverse = causal_product(inverse, error, length)
    kernel = np.cumsum(inverse)
    kernel.flags.writeable = False
    return kernel


def causal_product(left: FloatArray, right: FloatArray, length: int) -> FloatArray:
    """The first coefficients of a product of power series, along the last axis."""
    size = 1 << (left.shape[-1] + right.shape[-1] - 1).bit_length()
    spectrum = np.fft.rfft(left, size) * np.fft.rfft(right, size)
    product: FloatArray = np.fft.irfft(spectrum, size)[..., :length]
    return product


def _adjust_to_total(
    law: ToeplitzSums, prefixes: FloatArray, missing: FloatArray, total: int
) -> tuple[FloatArray, FloatArray]:
    everything = total_variance(law)
    residual = (total - prefixes[..., -1].sum(axis=-1) - missing) / (everything if everything > 0 else 1.0)
    apart = 0.0 if law.missing is None else law.missing.variance
    return prefixes + total_covariances(law) * residual[..., None, None], missing + apart * residual


def convolved_variances(law: ToeplitzSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    Between the ends of intervals it is that of a straight line.
    """
    point, part = law.interpolate_edges()
    below, above = (prefix_covariances(law, total_is_public, end, end) for end in (point, point + 1))
    between = prefix_covariances(law, total_is_public, point, point + 1)
    row: FloatArray = (1 - part) ** 2 * below + 2 * part * (1 - part) * between + part**2 * above
    return np.maximum(row, 0.0)


def prefix_covariances(law: ToeplitzSums, total_is_public: bool, one: IntArray, other: IntArray) -> FloatArray:
    """Covariances of the estimated prefixes of `one` and of `other` intervals of a row, two by two: (n,) to (n,).

    Prefix i has the noise ``sum(kernel[i - j] * noise[j] for j <= i)``; a public total is conditioned on.
    """
    lag, shorter = np.abs(one - other), np.minimum(one, other)
    covariances = np.empty(len(lag))
    for distance in np.unique(lag):
        alike = lag == distance
        products = law.kernel[: law.points - distance] * law.kernel[distance:]
        covariances[alike] = np.concatenate(([0.0], np.cumsum(products)))[shorter[alike]]
    covariances *= law.variance
    everything = total_variance(law)
    if total_is_public and law.missing is not None and everything > 0:
        known = np.concatenate(([0.0], total_covariances(law)))
        covariances -= known[one] * known[other] / everything
    return covariances


def total_covariances(law: ToeplitzSums) -> FloatArray:
    """Covariances of the prefixes of 1, 2, ... intervals with the last one, the total of their row: (points,)."""
    return causal_product(law.kernel, law.kernel[::-1], law.points) * law.variance


def total_variance(law: ToeplitzSums) -> float:
    """Variance of the estimated sum of all rows and the missing count, before it is known."""
    missing = 0.0 if law.missing is None else law.missing.variance
    return law.rows * float(np.sum(law.kernel**2)) * law.variance + missing
