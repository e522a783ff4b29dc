"""Sums of cells in which the cells further back weigh less: a square root of cumulating."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import FloatArray, IntArray
from .convolution import causal_convolution
from .law import EvenSums, Part, over
from .least_squares import in_parts, over_cells
from .noise import Noise, optional_from_json

_GUARD = 60


@dataclass(frozen=True, slots=True)
class ToeplitzSums(EvenSums):
    """Convolutions of every row with public weights, with noise of its own on each value.

    Cells are summed in intervals of `width`. Value i of a row is ``sum(weights[i - j] * interval[j] for j <= i)``, in
    units of ``2**-bits`` records. The matrix of weights is nearly a square root of that of prefix sums: applied twice,
    it nearly gives prefix sums. Rounding the weights costs nothing but a little accuracy, for the estimate inverts the
    rounded weights (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023).

    The order of values: row by row, in a row from left to right; the missing cell comes last, in whole records.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        width: How many cells an interval has; the last one may be cut off.
        bits: The lattice of the weights.
        noise: The noise of each value, on the lattice.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    KEY: ClassVar[str] = "convolved"

    rows: int
    cells: int
    width: int
    bits: int
    noise: Noise
    missing: Noise | None

    @property
    def parts(self) -> tuple[Part, ...]:
        """A single part."""
        return (Part(self.points, self.noise),)

    @property
    def is_convolved(self) -> bool:
        return True

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

    def sums(self, cells: Any) -> list[Any]:
        """Convolutions of every row with the weights."""
        return [causal_convolution(over(cells, self.bounds[:-1]), self.weights)]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

        Values are ``y = R x + z``, on their lattice, with a triangular R whose diagonal is 1; so prefixes ``A x`` have
        the estimate ``A R**-1 y``, which is unbiased whatever the noise, and the only unbiased linear one. A public
        total tells what the noises of all rows and the missing count add up to: what it has more than the estimate is
        shared by all prefixes in proportion to their covariances with it: least squares.

        Raises:
            ValueError: the values do not fit the law.
        """
        (sums,), missing = in_parts(self, values)
        prefixes = causal_product(sums / 2.0**self.bits, self.kernel, self.points)
        if total is not None:
            prefixes, missing = _pinned(self, prefixes, missing, total)
        return over_cells(np.diff(prefixes, axis=-1, prepend=0.0), np.diff(self.bounds)), missing

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Exact variances; see `convolved_variances`."""
        return np.broadcast_to(convolved_variances(self, total_is_public), (self.rows, self.cells + 1))

    def _own_json(self) -> dict[str, Any]:
        return {"width": self.width, "bits": self.bits, "convolved": self.noise.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        rows, cells, width, bits = (int(stored[name]) for name in ("rows", "cells", "width", "bits"))
        return cls(
            rows, cells, width, bits, Noise.from_json(stored["convolved"]), optional_from_json(stored["missing"])
        )


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


def _pinned(law: ToeplitzSums, prefixes: FloatArray, missing: FloatArray, total: int) -> tuple[FloatArray, FloatArray]:
    everything = total_variance(law)
    residual = (total - prefixes[..., -1].sum(axis=-1) - missing) / (everything if everything > 0 else 1.0)
    apart = 0.0 if law.missing is None else law.missing.variance
    return prefixes + total_covariances(law) * residual[..., None, None], missing + apart * residual


def convolved_variances(law: ToeplitzSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    Between the ends of intervals it is that of a straight line.
    """
    point, part = law.interpolated()
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
