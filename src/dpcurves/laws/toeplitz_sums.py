"""Sums of cells in which the cells further back weigh less: a square root of cumulating."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .law import EvenLayout, Noise, Part

_GUARD = 60


@dataclass(frozen=True, slots=True)
class ToeplitzSums(EvenLayout):
    """Convolutions of every row with public weights, with noise of its own on each value.

    Cells are summed in intervals of `width`. Value i of a row is ``sum(weights[i - j] * interval[j] for j <= i)``, in
    units of ``2**-bits`` records. The weights are nearly a square root of prefix sums: filtering twice cumulates. What
    they lack to it by rounding costs nothing but a little accuracy, for a reading inverts the weights as they are
    (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023).

    The order of values: row by row, in a row from left to right; the missing cell comes last, in whole records.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        width: How many cells an interval has; the last one may be cut off.
        bits: The lattice of the weights.
        noise: Of each value, on the lattice.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    rows: int
    cells: int
    width: int
    bits: int
    noise: Noise
    missing: Noise | None

    @property
    def parts(self) -> tuple[Part, ...]:
        """One part."""
        return (Part(self.points, self.noise),)

    @property
    def weights(self) -> NDArray[np.int64]:
        """The weights on the lattice, (points,); read-only."""
        return root_weights(self.points, self.bits)

    @property
    def kernel(self) -> FloatArray:
        """What turns values into prefixes, when it is convolved with them: (points,); read-only."""
        return prefix_kernel(self.points, self.bits)

    @property
    def variance(self) -> float:
        """The variance of one value, in squared records."""
        return self.noise.variance / 4.0**self.bits


@lru_cache(maxsize=16)  # a pure function of public facts
def root_weights(points: int, bits: int) -> NDArray[np.int64]:
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
