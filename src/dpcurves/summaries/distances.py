"""Distances between distribution functions that are straight lines between their knots and may jump at them.

SciPy measures distances between samples, whose functions are steps. A curve is straight inside cells, so its distances
are worked out here, exactly; of two samples they are SciPy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution function: 0 below the first knot, 1 above the last one, linear between neighbouring ones.

    Attributes:
        knots: Where it jumps or bends, rising, of shape ``(knots,)``.
        left_limits: What lies below each knot: its limits from the left.
        right_limits: What lies below or on each knot: its limits from the right.
    """

    knots: FloatArray
    left_limits: FloatArray
    right_limits: FloatArray

    @classmethod
    def from_curve(cls, x: ArrayLike, y: ArrayLike) -> Distribution:
        """Read shares `y` below edges `x`: what lies outside of them is taken to lie on the first and the last one.

        >>> Distribution.from_curve([0, 1, 2], [0, 0.5, 1]).right_limits.tolist()
        [0.0, 0.5, 1.0]
        """
        knots, shares = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        below, reached = shares.copy(), shares.copy()
        below[0], reached[-1] = 0.0, 1.0
        return cls(knots, below, reached)

    @classmethod
    def from_sample(cls, values: ArrayLike, weights: ArrayLike | None = None) -> Distribution:
        """The steps of a sample; values that are not a number are missing and left out.

        Raises:
            ValueError: no value is left, one is infinite, or a weight is negative or not finite, or all are zero.

        >>> Distribution.from_sample([3, 1, 3, float("nan")]).right_limits.round(2).tolist()
        [0.33, 1.0]
        """
        sample = np.asarray(values, dtype=np.float64)
        weight = np.ones(sample.shape) if weights is None else np.asarray(weights, dtype=np.float64)
        if sample.ndim != 1 or weight.shape != sample.shape:
            raise InvalidArgument("sample", "one dimension is needed, and as many weights as values")
        there = ~np.isnan(sample)
        sample, weight = sample[there], weight[there]
        if np.isinf(sample).any() or not np.isfinite(weight).all() or (weight < 0).any() or not weight.sum() > 0:
            raise InvalidArgument(
                "sample", "at least one value is needed, all finite, of weights that are not negative"
            )
        knots, places = np.unique(sample, return_inverse=True)
        cumulated = np.cumsum(np.bincount(places, weights=weight))
        reached = cumulated / cumulated[-1]
        return cls(knots, np.append(0.0, reached[:-1]), reached)

    def limits(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Limits from the left and from the right at places."""
        first, second = np.searchsorted(self.knots, places), np.searchsorted(self.knots, places, side="right")
        return self._interpolate(first, places), self._interpolate(second, places)

    def _interpolate(self, number: NDArray[np.intp], places: FloatArray) -> FloatArray:
        """From what its first knot reached straight to what lies below its last; before and after all knots, level."""
        starts, ends = np.append(-np.inf, self.knots)[number], np.append(self.knots, np.inf)[number]
        low, high = np.append(0.0, self.right_limits)[number], np.append(self.left_limits, 1.0)[number]
        inside = np.isfinite(starts) & np.isfinite(ends)
        part = np.divide(places - starts, ends - starts, out=np.zeros_like(places), where=inside)
        mixed: FloatArray = low * (1 - part) + high * part
        return mixed


class DistributionDifference(NamedTuple):
    """The difference of two distribution functions, straight between places.

    Attributes:
        lengths: Between two places that follow.
        start_values: The difference where each stretch begins: its limit from the right.
        end_values: The difference where each stretch ends: its limit from the left.
    """

    lengths: FloatArray
    start_values: FloatArray
    end_values: FloatArray

    @classmethod
    def from_distributions(cls, a: Distribution, b: Distribution) -> DistributionDifference:
        """On the union of both sets of knots."""
        places = np.union1d(a.knots, b.knots)
        (below_a, reached_a), (below_b, reached_b) = a.limits(places), b.limits(places)
        below, reached = below_a - below_b, reached_a - reached_b
        return cls(np.diff(places), reached[:-1], below[1:])

    @property
    def max_absolute(self) -> float:
        """The largest absolute value, over limits from both sides."""
        return float(max(np.abs(self.start_values).max(initial=0.0), np.abs(self.end_values).max(initial=0.0)))

    @property
    def absolute_integral(self) -> float:
        """The integral of the absolute value: where a stretch crosses zero, of two triangles."""
        left, right = np.abs(self.start_values), np.abs(self.end_values)
        total = left + right
        crossing = np.divide(left**2 + right**2, total, out=np.zeros_like(total), where=total > 0)
        return float(self.lengths @ np.where(self.start_values * self.end_values < 0, crossing, total)) / 2

    @property
    def squared_integral(self) -> float:
        """The integral of the square."""
        return (
            float(self.lengths @ (self.start_values**2 + self.start_values * self.end_values + self.end_values**2)) / 3
        )


def largest_gap(a: Distribution, b: Distribution) -> float:
    """The Kolmogorov-Smirnov distance: the largest difference of the two functions.

    >>> largest_gap(Distribution.from_curve([0, 1], [0, 1]), Distribution.from_sample([0.25]))
    0.75
    """
    return DistributionDifference.from_distributions(a, b).max_absolute


def area_between(a: Distribution, b: Distribution) -> float:
    """The Wasserstein distance of order 1: the area between the two functions.

    >>> area_between(Distribution.from_curve([0, 1], [0, 1]), Distribution.from_sample([0.5]))
    0.25
    """
    return DistributionDifference.from_distributions(a, b).absolute_integral


def energy_between(a: Distribution, b: Distribution) -> float:
    """The energy distance: the root of twice the integral of the squared difference (Székely and Rizzo 2013).

    >>> round(energy_between(Distribution.from_sample([0]), Distribution.from_sample([2])), 12)
    2.0
    """
    return sqrt(2 * max(DistributionDifference.from_distributions(a, b).squared_integral, 0.0))
