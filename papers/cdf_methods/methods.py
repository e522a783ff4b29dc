"""The four methods of the article, each as a curve of knots: private, with its noise as small as it may be.

All are zero-concentrated, but for the smooth sensitivity, which has a pair of epsilon and delta. One record is replaced
by another; the number of records is public. Counts have exact integer noise, quantiles have doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor, sqrt

import numpy as np
from numpy.typing import NDArray
from smooth import composed, smooth_sensitivities

from dpcurves.noise import Randomness, discrete_gaussian
from dpcurves.privacy.loss import rho_for
from dpcurves.summaries import Distribution, isotonic_projection

FloatArray = NDArray[np.float64]
ENDS = -5.0, 5.0
LENGTH = ENDS[1] - ENDS[0]


@dataclass(frozen=True)
class Budget:
    """What a method may lose."""

    epsilon: float
    delta: float

    @property
    def rho(self) -> Fraction:
        """The largest zero-concentrated loss that is known to be enough, of nine digits, as ledgers keep it."""
        return Fraction(floor(rho_for(self.epsilon, self.delta) * 10**9), 10**9)


Method = Callable[[FloatArray, Budget, int, Randomness, np.random.Generator], Distribution]
"""From rising values, a budget and a public size to a curve."""


def by_global_sensitivity(
    values: FloatArray, budget: Budget, size: int, randomness: Randomness, generator: np.random.Generator
) -> Distribution:
    """Quantiles, each of which one record may move from one end to the other: rho ``LENGTH**2 / (2 variance)``."""
    spread = LENGTH * sqrt(size / (2 * float(budget.rho)))
    return _of_quantiles(values, size, np.full(size, spread), generator)


def by_smooth_sensitivity(
    values: FloatArray, budget: Budget, size: int, randomness: Randomness, generator: np.random.Generator
) -> Distribution:
    """Quantiles with noise in proportion to the smooth sensitivity of each."""
    smoothing = composed(budget.epsilon, budget.delta, size)
    spreads, _ = smooth_sensitivities(values, smoothing.beta, ENDS)
    return _of_quantiles(values, size, smoothing.factor * spreads[_ranks(len(values), size)], generator)


def by_histogram(
    values: FloatArray, budget: Budget, size: int, randomness: Randomness, generator: np.random.Generator
) -> Distribution:
    """Counts of equal bins, of which a replaced record changes two by 1: rho ``2 / (2 variance)``, for any number."""
    return _histogram(values, size, 1 / budget.rho, randomness)


def by_charged_histogram(
    values: FloatArray, budget: Budget, size: int, randomness: Randomness, generator: np.random.Generator
) -> Distribution:
    """Counts of equal bins, each charged for itself, as "the privacy loss increases with the number of bins" says."""
    return _histogram(values, size, size / (2 * budget.rho), randomness)


def by_dichotomy(
    values: FloatArray, budget: Budget, size: int, randomness: Randomness, generator: np.random.Generator
) -> Distribution:
    """Counts below the middle of the fullest interval, one after the other: rho ``1 / (2 variance)`` for each."""
    variance = size / (2 * budget.rho)
    noises = discrete_gaussian.sample(variance, size, randomness)
    places, below = [*ENDS], [0.0, float(len(values))]
    for noise in noises.tolist():
        left = int(np.argmax(np.diff(below)))
        place = (places[left] + places[left + 1]) / 2
        count = float(np.clip(np.searchsorted(values, place) + noise, 0, len(values)))
        places.insert(left + 1, place)
        below.insert(left + 1, count)
    return _of_counts(np.array(places), np.array(below), len(values))


METHODS: dict[str, Method] = {
    "global sensitivity": by_global_sensitivity,
    "smooth sensitivity": by_smooth_sensitivity,
    "histogram, bins charged": by_charged_histogram,
    "histogram": by_histogram,
    "dichotomy": by_dichotomy,
}


def _ranks(records: int, size: int) -> NDArray[np.int64]:
    """Ranks of evenly spaced quantiles."""
    return np.arange(1, size + 1) * records // (size + 1)


def _histogram(values: FloatArray, bins: int, variance: Fraction, randomness: Randomness) -> Distribution:
    counts, edges = np.histogram(values, bins=bins, range=ENDS)
    noisy = counts + discrete_gaussian.sample(variance, bins, randomness)
    return _of_counts(edges, np.concatenate([[0], np.cumsum(noisy)]), len(values))


def _of_quantiles(values: FloatArray, size: int, spreads: FloatArray, generator: np.random.Generator) -> Distribution:
    noisy = values[_ranks(len(values), size)] + spreads * generator.standard_normal(size)
    places = np.concatenate([[ENDS[0]], np.sort(np.clip(noisy, *ENDS)), [ENDS[1]]])
    shares = np.linspace(0, 1, size + 2)
    knots, first, count = np.unique(places, return_index=True, return_counts=True)
    below, reached = shares[first], shares[first + count - 1]
    below[0], reached[-1] = 0.0, 1.0
    return Distribution(knots, below, reached)


def _of_counts(places: FloatArray, below: FloatArray, records: int) -> Distribution:
    rising = np.clip(isotonic_projection(below[1:-1].astype(np.float64)), 0, records) if len(below) > 2 else below[1:-1]
    return Distribution.from_curve(places, np.concatenate([[0.0], rising, [records]]) / records)
