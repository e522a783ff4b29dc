"""Square-root factorisation of the prefix-sum matrix (matrix mechanism, continual counting), exact for integers.

For counts x of cells along an axis, noisy prefix sums ``x_0 + ... + x_i`` are wanted. This file has the noise
distribution of a release that convolves the cells with public weights and adds independent noise z to each value, and
the estimates and variances of prefixes that follow from it.

Let L be the lower triangle of ones, so that ``L @ x`` are the prefixes of x, and R the lower triangular Toeplitz matrix
with the coefficients of a power series in its first column:

    R:  (1 - t)**(-1/2) = 1 + t/2 + 3 t**2 / 8 + ...      R @ R = L

Released is ``y = R @ x + z``. Coefficients are rounded to multiples of ``2**-bits``, so that R @ x is computed with
integers; the estimate ``L @ R**-1 @ y`` inverts the rounded R, so rounding causes no bias. `NormalisedSums` multiplies
cells by weights that give all columns of R nearly equal lengths.

Variances of prefixes follow from the power series of ``1 / ((1 - t) * w(t))``, w being the rounded series.

Formal guarantees: this file computes exact values and public distributions. The loss of a release follows from the
lengths of the columns of R: a record of cell j changes y by column j (`mechanisms.wavelets.SquareRoot` has the proof).
Convolutions of integers are exact (number-theoretic transforms), and their time depends on shapes alone.

References: Fichtenberger, Henzinger and Upadhyay 2023; Henzinger, Upadhyay and Upadhyay 2023; Henzinger, Kalinin and
Upadhyay 2025 (normalised columns).

>>> (root_weights(4, bits=20) / 2**20).tolist()
[1.0, 0.5, 0.375, 0.3125]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, prod
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..codec import Count, Natural
from .interval_sums import split_into_parts, spread_over_cells
from .output_distribution import EqualWidthSums, Noise, Part, sum_over_intervals

# Exact convolution of integers in time that does not depend on their values: number-theoretic transforms.


Integers = NDArray[np.int64] | NDArray[np.object_]
Residues = NDArray[np.uint64]


LARGEST_WEIGHT = 2**36
"""Units of ``2**-bits``. Largest weight of a convolution, so that no result exceeds half the product of the primes; a
larger one is refused."""


class Prime(NamedTuple):
    """A prime number below 2**31 with ``2**24``-th roots of unity, so that products fit into 64 bits.

    Attributes:
        modulus: The prime number p.
        generator: A generator of the multiplicative group modulo p.
    """

    modulus: int
    generator: int


PRIMES = (Prime(2013265921, 31), Prime(1811939329, 13), Prime(2113929217, 5), Prime(2130706433, 3))
"""Four primes, each with a generator of its multiplicative group. Integers are convolved modulo each, and exact results
below half their product, which exceeds 2**123, are recovered from the residues."""


def causal_convolution(
    signal: Integers, weights: NDArray[np.int64], factors: NDArray[np.int64] | None = None
) -> NDArray[np.object_]:
    """Convolve rows of integers with weights causally and exactly: return ``sum(weights[i - j] * signal[j] for j <=
    i)`` for all i.

    With `factors`, each ``signal[j]`` is first multiplied by ``factors[j]``. Exact. 64-bit integers are convolved
    modulo four primes and combined by the Chinese remainder theorem: no value exceeds ``n * 2**63 * 2**36``, at most
    2**122, which is less than half the product of the primes. Time and memory depend on the shape alone. Python
    integers are convolved directly.

    Args:
        signal: Integers, (rows, n).
        weights: Integers of at least 0, (n,).
        factors: Integers that entries are multiplied by first, (n,); None: none.

    Returns:
        Python integers, (rows, n).

    Raises:
        ValueError: a weight times a factor is negative or above 2**36, or there are more than 2**23 weights.

    >>> causal_convolution(np.array([[1, -2, 3]]), np.array([1, 10, 100]))
    array([[1, 8, 83]], dtype=object)
    """
    length = len(weights)
    multipliers = np.ones(1, dtype=np.int64) if factors is None else factors
    largest = int(weights.max()) * int(multipliers.max())
    # For more than 2**23 values the primes have no roots of unity for a transform of twice the length.
    if length > 2**23 or min(weights.min(), multipliers.min()) < 0 or largest > LARGEST_WEIGHT:
        raise InvalidArgument("weights", "give at most 2**23 weights, each from 0 to 2**36")
    if signal.dtype == np.object_:
        exact = weights.astype(np.object_)
        multiplied = signal * multipliers.astype(np.object_)
        return np.array([np.convolve(row, exact)[:length] for row in multiplied], dtype=np.object_)
    signal_64 = signal.astype(np.int64, copy=False)
    return _combine_residues([_convolve_modulo(prime, signal_64, weights, multipliers) for prime in PRIMES])


def _convolve_modulo(
    prime: Prime, signal: NDArray[np.int64], weights: NDArray[np.int64], factors: NDArray[np.int64]
) -> Residues:
    """Return the causal convolution of rows (rows, n) with weights (n,) modulo a prime, (rows, n).

    The rows are first multiplied by `factors`, (n,) or (1,). Rows and weights are transformed, multiplied, and
    transformed back.

    Args:
        prime: Prime, with a generator of its roots of unity.
        signal: Rows of integers.
        weights: Integers that each row is convolved with.
        factors: Factors of the entries of the rows.
    """
    size = 1 << (2 * len(weights) - 1).bit_length()
    padded = np.zeros((len(signal) + 1, size), dtype=np.uint64)
    padded[:-1, : len(weights)] = signal % prime.modulus * (factors % prime.modulus) % prime.modulus
    padded[-1, : len(weights)] = weights % prime.modulus
    _number_theoretic_transform(padded, prime)
    product = _reduce_products(padded[:-1] * padded[-1], np.uint64(prime.modulus))
    _inverse_transform(product, prime)
    convolution: Residues = product[:, : len(weights)]
    return convolution


def _number_theoretic_transform(values: Residues, prime: Prime) -> None:
    """Compute the discrete Fourier transform modulo a prime, in place along the last axis; the result is in
    bit-reversed order (decimation in frequency).

    Args:
        values: Residues below the prime, (rows, a power of two).
        prime: The prime and its roots of unity.
    """
    modulus = np.uint64(prime.modulus)
    size = values.shape[-1]
    roots = _roots_of_unity(prime, size)
    half = size // 2
    while half:
        pairs = values.reshape(len(values), -1, 2, half)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        rotated = _reduce_products((left + (modulus - right)) * roots[:: size // (2 * half)], modulus)
        pairs[:, :, 0] = _reduce_sums(left + right, modulus)
        pairs[:, :, 1] = rotated
        half //= 2


def _inverse_transform(values: Residues, prime: Prime) -> None:
    """Invert `_number_theoretic_transform` in place, from bit-reversed order back to the order of the values.

    Args:
        values: Residues, (rows, size), size a power of two; replaced by the result.
        prime: The modulus and a generator of its multiplicative group.
    """
    modulus = np.uint64(prime.modulus)
    size = values.shape[-1]
    roots = _roots_of_unity(Prime(prime.modulus, pow(prime.generator, -1, prime.modulus)), size)
    half = 1
    while half < size:
        pairs = values.reshape(len(values), -1, 2, half)
        left = pairs[:, :, 0].copy()
        right = _reduce_products(pairs[:, :, 1] * roots[:: size // (2 * half)], modulus)
        pairs[:, :, 0] = _reduce_sums(left + right, modulus)
        pairs[:, :, 1] = _reduce_sums(left + (modulus - right), modulus)
        half *= 2
    values[:] = _reduce_products(values * np.uint64(pow(size, -1, prime.modulus)), modulus)


def _reduce_sums(sums: Residues, modulus: np.uint64) -> Residues:
    """Reduce sums of two residues modulo a prime without division: subtracting the modulus from a smaller sum wraps
    around to a larger number, so the minimum is right.

    Args:
        sums: Sums of two residues, below twice the modulus.
        modulus: The prime.
    """
    reduced: Residues = np.minimum(sums, sums - modulus)
    return reduced


def _reduce_products(products: Residues, modulus: np.uint64) -> Residues:
    """Reduce products of two residues modulo a prime by a fast division with a scalar.

    NumPy divides by a scalar by multiplication, three times as fast as its modulo operation.

    Args:
        products: Products of two residues, which fit in 64 bits.
        modulus: The prime.
    """
    return products - products // modulus * modulus


@lru_cache(maxsize=32)  # a pure function of public numbers
def _roots_of_unity(prime: Prime, size: int) -> Residues:
    """Return the powers 0 to ``size / 2 - 1`` of a primitive root of unity of order `size` modulo the prime, for the
    transform.

    Args:
        prime: The prime, with a generator of its multiplicative group.
        size: Length of the transform, a power of two.
    """
    root = pow(prime.generator, (prime.modulus - 1) // size, prime.modulus)
    powers = np.ones(1, dtype=np.uint64)
    while len(powers) < size // 2:
        factor = np.uint64(pow(root, len(powers), prime.modulus))
        powers = np.concatenate([powers, _reduce_products(powers * factor, np.uint64(prime.modulus))])
    powers.flags.writeable = False
    return powers


def _combine_residues(residues: list[Residues]) -> NDArray[np.object_]:
    """Return the integers nearest to 0 with these residues (Garner 1959).

    Args:
        residues: Residues modulo each of `PRIMES`, in their order, arrays of one shape.

    Returns:
        Python integers of any size, of the same shape.
    """
    digits: list[Residues] = []
    for prime, residue in zip(PRIMES, residues, strict=True):
        digits.append(_next_digit(digits, residue, prime.modulus))
    total: NDArray[np.object_] = digits[-1].astype(np.object_)
    for prime, digit in zip(PRIMES[-2::-1], digits[-2::-1], strict=True):
        total = total * prime.modulus + digit.astype(np.object_)
    modulus = prod(prime.modulus for prime in PRIMES)
    return np.where(total > modulus // 2, total - modulus, total)


def _next_digit(digits: list[Residues], residue: Residues, modulus: int) -> Residues:
    """Return the next mixed-radix digit of a number that is known by its residues (Garner's algorithm of the Chinese
    remainder theorem).

    Args:
        digits: Lower digits, each modulo its prime.
        residue: The number modulo the next prime.
        modulus: The next prime.
    """
    remainder = residue
    radix = 1
    for prime, digit in zip(PRIMES, digits, strict=False):
        lower = _reduce_products(_reduce_products(digit, np.uint64(modulus)) * np.uint64(radix), np.uint64(modulus))
        remainder = _reduce_sums(remainder + (modulus - lower), np.uint64(modulus))
        radix = radix * prime.modulus % modulus
    return _reduce_products(remainder * np.uint64(pow(radix, -1, modulus)), np.uint64(modulus))


@dataclass(frozen=True, slots=True)
class ToeplitzSums(EqualWidthSums):
    """Convolutions of every row with public weights, with independent noise on each value.

    Cells are summed in intervals of `width`. Value i of a row is ``sum(weights[i - j] * interval[j] for j <= i)``, in
    units of ``2**-bits`` records. The matrix of weights is nearly a square root of the prefix-sum matrix: applied
    twice, it nearly gives prefix sums. Rounding the weights costs little accuracy and no bias, because the estimate
    inverts the rounded weights (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023).

    Order of values: row by row, within a row from left to right; the missing count is last, in whole records.

    Attributes:
        width: Number of cells of an interval; the last one may be shorter.
        bits: Binary digits of the weights after the point.
        noise: Noise of each value, in units of ``2**-bits`` records.
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
        """The released values as a single group of equal noise: one weighted sum per interval of a row."""
        return (Part(self.points, self.noise),)

    @property
    def weights(self) -> IntArray:
        """Weights of the square-root strategy, with which counts are convolved before noise is added, in units of
        ``2**-bits``, (points,); read-only.
        """
        return root_weights(self.points, self.bits)

    @property
    def kernel(self) -> FloatArray:
        """Decoder of the strategy: weights whose convolution with the released values gives prefix counts, (points,);
        read-only.
        """
        return prefix_kernel(self.points, self.bits)

    @property
    def variance(self) -> float:
        """Noise variance of one released value, in squared records."""
        return self.noise.variance / 4.0**self.value_bits

    @property
    def value_bits(self) -> int:
        """Number of binary digits after the point in released values: they are integers in units of ``2**-value_bits``
        records.
        """
        return self.bits

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the exact sums that the noise is added to: counts of intervals convolved with the weights of the
        square-root strategy.

        Args:
            cells: Counts of all cells, (rows, cells), as integers.

        Returns:
            One table (rows, points), in units of ``2**-bits`` records.
        """
        return [causal_convolution(sum_over_intervals(cells, self.bounds[:-1]), self.weights)]

    def estimate_prefixes(self, values: FloatArray) -> FloatArray:
        """Return unbiased counts of the first 1, 2, ... intervals of each row, in records.

        Args:
            values: Released values, (..., points).

        Returns:
            Prefix counts, (..., points).
        """
        return causal_product(values, self.kernel, self.points)

    def weigh_noise(self, starts: IntArray, ends: IntArray) -> FloatArray:
        """Return how estimated counts of intervals depend on the noise of a row's released values: the error is weights
        times noise.

        Args:
            starts: First interval of each count, (counts,).
            ends: Interval behind the last one of each count, (counts,).

        Returns:
            Weights, (counts, points).
        """
        rows = np.zeros((len(starts), self.points))
        for row, start, end in zip(rows, starts.tolist(), ends.tolist(), strict=True):
            row[:end] = self.kernel[:end][::-1]
            row[:start] -= self.kernel[:start][::-1]
        return rows

    def multiply_prefixes(self, distance: int) -> FloatArray:
        """Return covariances of the estimated counts of the first i and the first ``i + distance`` intervals of a row,
        for each i from 0.

        In units of the variance of a released value, for a private total.

        Args:
            distance: Number of intervals by which the longer prefix exceeds the shorter one.

        Returns:
            Covariances, (points - distance + 1,).
        """
        products = self.kernel[: self.points - distance] * self.kernel[distance:]
        return np.concatenate(([0.0], np.cumsum(products)))

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Return unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

        Values are ``y = R x + z`` with a triangular R of diagonal 1; so prefixes ``A x`` have the estimate
        ``A R**-1 y``, the only unbiased linear one. A public total determines the sum of the errors of all rows and the
        missing count: it is shared by all prefixes in proportion to their covariances with it (least squares).

        Args:
            values: Released values, (..., size).
            total: Public number of records; None: it is not public.

        Raises:
            ValueError: the values do not fit the distribution.
        """
        (sums,), missing = split_into_parts(self, values)
        prefixes = self.estimate_prefixes(sums / 2.0**self.value_bits)
        if total is not None:
            prefixes, missing = _adjust_to_total(self, prefixes, missing, total)
        return spread_over_cells(np.diff(prefixes, axis=-1, prepend=0.0), np.diff(self.bounds)), missing

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Return the exact variance of each prefix estimate, (rows, cells + 1), in squared records; see
        `convolved_variances`.

        Args:
            total_is_public: Whether the number of records is public, so that the last prefix has no error.
        """
        return np.broadcast_to(convolved_variances(self, total_is_public), (self.rows, self.cells + 1))


MOST_NORMALISED = 2**12
"""Intervals. Largest number for `NormalisedSums`: the time for variances grows with its square. A stored distribution
with more is refused."""


@dataclass(frozen=True, slots=True)
class NormalisedSums(ToeplitzSums):
    """Convolutions of cells that are first multiplied by public weights, so that all records change values equally.

    A record in a late interval changes few values. Interval j is multiplied by about one over the length of its column
    of the matrix of weights, in units of ``2**-column_bits``: `column_weights`. So for the same loss there is less
    noise, as it is calibrated to the longest column (Henzinger, Kalinin and Upadhyay 2025).

    Attributes:
        column_bits: Binary digits of the weights of intervals after the point.
    """

    KEY = "normalised"
    FIELDS = MappingProxyType({"width": "width", "bits": "bits", "column_bits": "column_bits", KEY: "noise"})

    column_bits: Natural

    def __post_init__(self) -> None:
        if self.points > MOST_NORMALISED:
            raise InvalidArgument(
                "evidence.cells", f"must be at most {MOST_NORMALISED} intervals; use the text that to_json wrote"
            )
        if self.bits + self.column_bits > LARGEST_WEIGHT.bit_length() - 1:
            raise InvalidArgument("evidence.column_bits", "is too large; use the text that to_json wrote")

    @property
    def column_weights(self) -> IntArray:
        """Factor of each interval's count before the convolution, which gives all columns of the strategy the same
        length; in units of ``2**-column_bits``, (points,); read-only.
        """
        return column_weights(self.points, self.bits, self.column_bits)

    @property
    def value_bits(self) -> int:
        """Number of binary digits after the point in released values: the digits of both factors, strategy and column
        weights.
        """
        return self.bits + self.column_bits

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the exact sums that the noise is added to: counts of intervals times column weights, convolved with
        the weights of the strategy.

        Args:
            cells: Counts of all cells, (rows, cells), as integers.

        Returns:
            One table (rows, points), in units of ``2**-value_bits`` records.
        """
        intervals = sum_over_intervals(cells, self.bounds[:-1])
        return [causal_convolution(intervals, self.weights, self.column_weights)]

    def estimate_prefixes(self, values: FloatArray) -> FloatArray:
        """Return unbiased counts of the first 1, 2, ... intervals of each row, in records.

        Args:
            values: Released values, (..., points).

        Returns:
            Prefix counts, (..., points).
        """
        weighted = causal_product(values, inverse_weights(self.points, self.bits), self.points)
        return np.asarray(np.cumsum(weighted * self._inverse_column_weights, axis=-1))

    def weigh_noise(self, starts: IntArray, ends: IntArray) -> FloatArray:
        """Return how estimated counts of intervals depend on the noise of a row's released values: the error is weights
        times noise.

        Args:
            starts: First interval of each count, (counts,).
            ends: Interval behind the last one of each count, (counts,).

        Returns:
            Weights, (counts, points).
        """
        interval = np.arange(self.points)
        is_counted = (starts[:, None] <= interval) & (interval < ends[:, None])
        backwards = (is_counted * self._inverse_column_weights)[:, ::-1]
        return causal_product(backwards, inverse_weights(self.points, self.bits), self.points)[:, ::-1]

    def multiply_prefixes(self, distance: int) -> FloatArray:
        """Return covariances of the estimated counts of the first i and the first ``i + distance`` intervals of a row,
        for each i from 0.

        In units of the variance of a released value, for a private total.

        Args:
            distance: Number of intervals by which the longer prefix exceeds the shorter one.

        Returns:
            Covariances, (points - distance + 1,).
        """
        return _multiply_normalised_prefixes(self.points, self.bits, self.column_bits, distance)

    @property
    def _inverse_column_weights(self) -> FloatArray:
        """Reciprocals of the column weights, by which decoded intervals are multiplied, (points,)."""
        return 2.0**self.column_bits / self.column_weights


@lru_cache(maxsize=16)  # a pure function of public facts
def column_weights(points: int, bits: int, column_bits: int) -> IntArray:
    """Return the factors that give all columns of the square-root strategy the same length, in units of
    ``2**-column_bits``.

    Rounded down, by integers, so that they are equal on all machines. The last column has length 1. Read-only.

    Args:
        points: Number of columns.
        bits: Binary digits of the entries of the matrix.
        column_bits: Binary digits of the result.

    >>> column_weights(3, 20, 10).tolist()
    [868, 915, 1024]
    """
    squared_lengths = np.cumsum(root_weights(points, bits).astype(np.object_) ** 2)[::-1].tolist()
    weights = np.array([isqrt(4 ** (bits + column_bits) // length) for length in squared_lengths], dtype=np.int64)
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=8)  # a pure function of public facts
def _multiply_normalised_prefixes(points: int, bits: int, column_bits: int, distance: int) -> FloatArray:
    """Return covariances of the estimated counts of the first i and the first ``i + distance`` intervals, under the
    strategy with columns of equal length.

    For each i from 0, in units of the variance of one released value, (points - distance + 1,): the sum over all noises
    of the products of their weights in both counts. Read-only.

    In units of the variance of one value. Each is the sum, over all noises, of the products of their weights in both
    prefixes. Read-only.

    Args:
        points: Number of intervals.
        bits: Binary digits of the weights.
        column_bits: Binary digits of the columns' factors.
        distance: Intervals between the ends of both prefixes.
    """
    padded = np.concatenate([np.zeros(points), inverse_weights(points, bits)])
    rescaling = 2.0**column_bits / column_weights(points, bits, column_bits)
    interval = np.arange(points)
    products = np.zeros(points - distance + 1)
    for first in range(0, points, 64):  # noises at a time: a few megabytes
        noises = np.arange(first, min(first + 64, points))
        in_prefixes = np.cumsum(padded[points + interval - noises[:, None]] * rescaling, axis=1)
        products[1:] += np.einsum("vi,vi->i", in_prefixes[:, : points - distance], in_prefixes[:, distance:])
    products.flags.writeable = False
    return products


@lru_cache(maxsize=16)  # a pure function of public facts
def root_weights(points: int, bits: int) -> IntArray:
    """Return rounded coefficients of ``(1 - t) ** -1/2``: 1, 1/2, 3/8, ..., by the factors ``(2 k - 1) / (2 k)``.

    Computed with integers, so that they are equal on all machines.

    Args:
        points: Number of coefficients.
        bits: Binary digits: results are in units of ``2**-bits``.

    Returns:
        Coefficients, (points,), read-only.

    >>> root_weights(4, 20).tolist()
    [1048576, 524288, 393216, 327680]
    """
    guard = 60  # bits: additional bits with which weights are computed before rounding
    exact = 1 << (bits + guard)
    half = 1 << (guard - 1)
    weights = np.empty(points, dtype=np.int64)
    for k in range(points):
        exact = exact * (2 * k - 1) // (2 * k) if k else exact
        weights[k] = (exact + half) >> guard
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=16)  # a pure function of public facts
def prefix_kernel(points: int, bits: int) -> FloatArray:
    """Return the weights that decode prefix sums from the noisy values of the square-root strategy, by convolution.

    They are the first `points` coefficients of ``1 / ((1 - t) * w(t))``. The series w has the coefficients
    ``root_weights(points, bits) / 2**bits``. The array is read-only, because it is cached.

    Prefixes are ``A x``, A the lower triangle of ones, and values are ``R x`` plus noise. Triangular Toeplitz matrices
    are power series: ``A R**-1`` has these coefficients for every invertible R. (If R were an exact root of A, it would
    be R again.)

    Args:
        points: Number of coefficients.
        bits: Binary digits of the weights.
    """
    kernel = np.cumsum(inverse_weights(points, bits))
    kernel.flags.writeable = False
    return kernel


@lru_cache(maxsize=16)  # a pure function of public facts
def inverse_weights(points: int, bits: int) -> FloatArray:
    """Return the weights that decode counts of cells from the noisy values of the square-root strategy, by convolution.

    They are the first `points` coefficients of one over the power series of `root_weights`. The array is read-only.

    Args:
        points: Number of coefficients.
        bits: Binary digits of `root_weights`.
    """
    weights = root_weights(points, bits) / 2.0**bits
    inverse = np.ones(1)
    while len(inverse) < points:  # Newton's iteration doubles the number of correct coefficients
        length = min(2 * len(inverse), points)
        error = -causal_product(weights[:length], inverse, length)
        error[0] += 2
        inverse = causal_product(inverse, error, length)
    inverse.flags.writeable = False
    return inverse


def causal_product(left: FloatArray, right: FloatArray, length: int) -> FloatArray:
    """Return the first coefficients of a product of power series, along the last axis.

    Args:
        left: Coefficients of one series, (..., coefficients).
        right: Coefficients of the other series, of shapes that broadcast.
        length: Number of coefficients to return.
    """
    size = 1 << (left.shape[-1] + right.shape[-1] - 1).bit_length()
    spectrum = np.fft.rfft(left, size) * np.fft.rfft(right, size)
    product: FloatArray = np.fft.irfft(spectrum, size)[..., :length]
    return product


def _adjust_to_total(
    distribution: ToeplitzSums, prefixes: FloatArray, missing: FloatArray, total: int
) -> tuple[FloatArray, FloatArray]:
    """Return prefixes (..., rows, points) and missing counts (...) that are corrected to a public number of records.

    The difference between `total` and the sum of all estimates is shared in proportion to covariances with that sum,
    which is least squares.

    Args:
        distribution: Distribution of the released values.
        prefixes: Estimated prefixes of each row.
        missing: Noisy numbers of records without a value.
        total: Public number of records.
    """
    variance = total_variance(distribution)
    residual = (total - prefixes[..., -1].sum(axis=-1) - missing) / (variance if variance > 0 else 1.0)
    missing_variance = 0.0 if distribution.missing is None else distribution.missing.variance
    return prefixes + total_covariances(distribution) * residual[..., None, None], missing + missing_variance * residual


def convolved_variances(distribution: ToeplitzSums, total_is_public: bool) -> FloatArray:
    """Return the variance of the estimated number of records in the first i cells of a row, for i from 0, (cells + 1,).

    In squared records. Inside intervals of several cells, estimates are interpolated linearly, and this is the variance
    of the interpolated number.

    Args:
        distribution: Distribution of the release.
        total_is_public: True if the number of all records is public, which lowers variances if missing records were
            counted.
    """
    point, fraction = distribution.interpolate_edges()
    below, above = (prefix_covariances(distribution, total_is_public, length, length) for length in (point, point + 1))
    between = prefix_covariances(distribution, total_is_public, point, point + 1)
    row: FloatArray = (1 - fraction) ** 2 * below + 2 * fraction * (1 - fraction) * between + fraction**2 * above
    return np.maximum(row, 0.0)


def prefix_covariances(
    distribution: ToeplitzSums, total_is_public: bool, first: IntArray, second: IntArray
) -> FloatArray:
    """Return covariances of pairs of estimated prefixes of a row, (n,), in squared records.

    Args:
        distribution: Distribution of the release.
        total_is_public: True if the number of all records is public; covariances are then conditioned on it.
        first: Number of intervals of the first prefix of each pair, from 0, (n,).
        second: Number of intervals of the second prefix of each pair, from 0, (n,).
    """
    lag = np.abs(first - second)
    shorter = np.minimum(first, second)
    covariances = np.empty(len(lag))
    for distance in np.unique(lag):
        is_pair = lag == distance
        covariances[is_pair] = distribution.multiply_prefixes(int(distance))[shorter[is_pair]]
    covariances *= distribution.variance
    total = total_variance(distribution)
    if total_is_public and distribution.missing is not None and total > 0:
        with_total = np.concatenate(([0.0], total_covariances(distribution)))
        covariances -= with_total[first] * with_total[second] / total
    return covariances


def total_covariances(distribution: ToeplitzSums) -> FloatArray:
    """Return covariances of the prefixes of 1, 2, ... intervals with the total of their row, (points,).

    Args:
        distribution: Distribution of the noise.
    """
    return distribution.estimate_prefixes(_weigh_noise_of_row(distribution)) * distribution.variance


def total_variance(distribution: ToeplitzSums) -> float:
    """Return the variance of the estimated number of all records, in squared records, if it is not public.

    The estimate adds up all rows and the count of missing records, if that was released.

    Args:
        distribution: Distribution of the noise.
    """
    missing = 0.0 if distribution.missing is None else distribution.missing.variance
    return distribution.rows * float(np.sum(_weigh_noise_of_row(distribution) ** 2)) * distribution.variance + missing


def _weigh_noise_of_row(distribution: ToeplitzSums) -> FloatArray:
    """Return how the estimated total of a row depends on the noise of each of its released values, (points,).

    Args:
        distribution: Distribution of the noise.
    """
    row: FloatArray = distribution.weigh_noise(np.array([0]), np.array([distribution.points]))[0]
    return row
