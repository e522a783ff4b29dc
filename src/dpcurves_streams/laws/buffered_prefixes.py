"""Counts of prefixes of a stream from convolutions of its counts with sums of exponentials, and Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray
from dpcurves.laws.noise import Family, Noise
from dpcurves.laws.toeplitz_sums import causal_product

from .tick_law import PrefixLaw

LATTICE = 20
"""Values are in units of ``2**-LATTICE`` tuples."""
MOST_BUFFERED = 2**20
"""Ticks up to which errors are worked out."""


@dataclass(frozen=True, slots=True)
class BufferedPrefixes(PrefixLaw):
    """Each tick releases, for each key, its count plus weighted counts of earlier ticks, with noise on this sum.

    A count of k ticks before weighs ``sum(weight * decay**k)`` over the buffers, in units of ``2**-LATTICE``, and that
    of the tick itself one tuple. Totals are computed from these values by inverting the weights.

    Attributes:
        keys: How many counts a tick has.
        ticks: The public horizon.
        decays: The factor by which each buffer decays in a tick.
        weights: The weight of each buffer, in units of the lattice.
        noise: The noise of each value, on the lattice.
    """

    KEY: ClassVar[str] = "buffered"

    keys: int
    ticks: int
    decays: tuple[Fraction, ...]
    weights: tuple[int, ...]
    noise: Noise

    @property
    def size(self) -> int:
        return self.keys

    @property
    def family(self) -> Family:
        return self.noise.family

    def estimator(self) -> Inverse:
        """The estimator that turns values into totals, from the first tick on."""
        return Inverse(self)

    def variance(self, tick: int, window: int | None = None) -> float:
        """The variance of the total after a tick, or of the sum of the last ticks, so many as the window has."""
        lag = self.ticks if window is None else min(window, self.ticks)
        return float(_squares(self.decays, self.weights, self.ticks, lag)[tick - 1]) * self.unit

    def mean_variance(self, ticks: int) -> float:
        """The mean variance of the totals of the first ticks."""
        return float(_squares(self.decays, self.weights, self.ticks, self.ticks)[:ticks].mean()) * self.unit

    @property
    def unit(self) -> float:
        """The variance of one value, in squared tuples."""
        return self.noise.variance / 4.0**LATTICE

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        buffers = [[str(decay), weight] for decay, weight in zip(self.decays, self.weights, strict=True)]
        law = {"keys": self.keys, "ticks": self.ticks, self.KEY: buffers, "noise": self.noise.to_json()}
        return {**law, "values": list(values), "total": None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""
        decays = tuple(Fraction(decay) for decay, _ in stored[cls.KEY])
        weights = tuple(int(weight) for _, weight in stored[cls.KEY])
        if not 0 < int(stored["ticks"]) <= MOST_BUFFERED:
            raise Refused("evidence.ticks", f"from 1 to {MOST_BUFFERED} are read")
        return cls(int(stored["keys"]), int(stored["ticks"]), decays, weights, Noise.from_json(stored["noise"]))


class Inverse:
    """Totals from values, one tick after the other: each count is what its value has more than buffers explain."""

    __slots__ = ("_buffers", "_decays", "_totals", "_weights")

    def __init__(self, law: BufferedPrefixes) -> None:
        self._decays = np.array([float(decay) for decay in law.decays])
        self._weights = np.array(law.weights) / 2.0**LATTICE
        self._buffers = np.zeros((law.keys, len(self._decays)))
        self._totals = np.zeros(law.keys)

    def read(self, values: FloatArray) -> FloatArray:
        """The totals after the values of one more tick, (keys,)."""
        left = self._buffers * self._decays
        counts = values / 2.0**LATTICE - left @ self._weights
        self._buffers = left + counts[:, None]
        self._totals = self._totals + counts
        return self._totals


@lru_cache(maxsize=16)  # a pure function of public facts
def _kernel(decays: tuple[Fraction, ...], weights: tuple[int, ...], ticks: int) -> FloatArray:
    """Weights of the noise of earlier ticks in a total: the series ``1 / ((1 - t) * weights(t))``."""
    ages = np.arange(ticks)
    series = np.zeros(ticks)
    for decay, weight in zip(decays, weights, strict=True):
        series += weight / 2.0**LATTICE * np.exp(np.log1p(-float(1 - decay)) * ages)
    series[0] = 1.0
    inverse = np.ones(1)
    while len(inverse) < ticks:  # Newton's iteration doubles the number of right coefficients
        length = min(2 * len(inverse), ticks)
        error = -causal_product(series[:length], inverse, length)
        error[0] += 2
        inverse = causal_product(inverse, error, length)
    return np.cumsum(inverse)


@lru_cache(maxsize=16)  # a pure function of public facts
def _squares(decays: tuple[Fraction, ...], weights: tuple[int, ...], ticks: int, lag: int) -> FloatArray:
    """Sums of squares of what noises weigh in the sum of the last `lag` ticks, after 1, 2, ... ticks."""
    kernel = _kernel(decays, weights, ticks)
    differences = kernel.copy()
    differences[lag:] -= kernel[:-lag] if lag < ticks else 0.0
    return np.cumsum(np.square(differences))
