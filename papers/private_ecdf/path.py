"""The mechanism of equation 2 on a public grid: each point has the noise of all dyadic blocks that hold it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from baselines import path_graph, regular_bounds
from numpy.typing import NDArray

from dpcurves.noise import Randomness, discrete_laplace
from dpcurves.smoothing import NoiseGraph

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """The noise path over 2**levels points, in counts.

    Noise is discrete Laplace, exact and of the scale that the paper gives, where the paper draws reals: counts are
    whole, so the loss is the same.
    """

    levels: int

    @property
    def points(self) -> int:
        """How many there are."""
        return int(2**self.levels)

    @cached_property
    def bounds(self) -> tuple[NDArray[np.int64], ...]:
        """The ends of the blocks of each level, from coarse to fine."""
        return tuple(regular_bounds(self.points, 2))

    @cached_property
    def graph(self) -> NoiseGraph:
        """What smoothing needs to know of the noise."""
        return path_graph(self.bounds, [1.0] * len(self.bounds))

    def scale(self, epsilon: float) -> Fraction:
        """(L + 1) / epsilon, as Theorem 1 asks for."""
        return (self.levels + 1) / Fraction(str(epsilon))

    def noise(self, scale: Fraction, randomness: Randomness) -> FloatArray:
        """One draw of the noise of all points."""
        total = np.zeros(self.points)
        for ends in self.bounds:
            total += np.repeat(discrete_laplace.sample(scale, len(ends) - 1, randomness), np.diff(ends))
        return total


def crossing(curve: FloatArray, levels: FloatArray) -> NDArray[np.int64]:
    """The point where bisection sees the curve reach each level: Algorithm 1 on whole indices.

    It ends after log2(points) looks for every curve, where the paper bisects reals (see `as_printed.inverse`).
    """
    low, high = np.full(len(levels), -1), np.full(len(levels), len(curve) - 1)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        below = (curve[middle] < levels) & (high - low > 1)
        low = np.where(below, middle, low)
        high = np.where(below | (high - low <= 1), high, middle)
    return high
