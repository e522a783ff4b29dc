"""Distances between two distribution functions: Kolmogorov-Smirnov, Wasserstein (earth mover's) and energy distance.

    Distribution      a distribution function, from a released curve or from a public sample
    largest_gap       Kolmogorov-Smirnov distance, ``max |F - G|``
    area_between      Wasserstein distance of order 1, the integral of ``|F - G|``
    energy_between    energy distance, ``sqrt(2 * integral of (F - G)**2)`` (Székely and Rizzo 2013)

Functions are linear between knots and may jump at them: a released curve is linear inside its cells, a sample's
function is a step function. So F - G is linear between knots and the integrals are computed exactly. For two samples
they equal SciPy's.

Formal guarantees: these are functions of their arguments. For released curves they use no records, so they cost no
budget (post-processing).

Reference: Székely and Rizzo 2013.

>>> curve, sample = Distribution.from_curve([0, 1], [0, 1]), Distribution.from_sample([0.5])
>>> largest_gap(curve, sample), area_between(curve, sample), round(energy_between(curve, sample), 3)
(0.5, 0.25, 0.408)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray

NEEDS_SAMPLE = "a list of numbers is needed, and one weight for each of them"
"""Rule in the error for a sample that is no list of numbers, or has another number of weights."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution function: 0 before the first knot, 1 after the last one, and linear between neighbouring knots.

    Attributes:
        knots: Increasing positions of jumps and bends, shape (knots,).
        left_limits: Limit from the left at each knot: the share of the mass below it.
        right_limits: Limit from the right at each knot: the share of the mass below it or on it.
    """

    knots: FloatArray
    left_limits: FloatArray
    right_limits: FloatArray

    @classmethod
    def from_curve(cls, x: ArrayLike, y: ArrayLike) -> Distribution:
        """Return the distribution function that connects points by straight lines.

        Mass beyond the outermost points is put on the first and on the last position.

        Args:
            x: Increasing positions, shape (points,).
            y: Share of the mass below each position, shape (points,).

        >>> Distribution.from_curve([0, 1, 2], [0, 0.5, 1]).right_limits.tolist()
        [0.0, 0.5, 1.0]
        """
        knots = np.asarray(x, dtype=np.float64)
        shares = np.asarray(y, dtype=np.float64)
        left_limits = shares.copy()
        right_limits = shares.copy()
        left_limits[0], right_limits[-1] = 0.0, 1.0
        return cls(knots, left_limits, right_limits)

    @classmethod
    def from_sample(cls, values: ArrayLike, weights: ArrayLike | None = None) -> Distribution:
        """Return the empirical distribution function of a sample. NaN values are missing and left out.

        Args:
            values: Numbers, shape (n,).
            weights: Weight of each number, shape (n,); None: all weights are equal.

        Raises:
            ValueError: no value has a positive weight, a value is infinite, or a weight is negative or not finite.

        >>> Distribution.from_sample([3, 1, 3, float("nan")]).right_limits.round(2).tolist()
        [0.33, 1.0]
        """
        try:
            sample = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument("sample", NEEDS_SAMPLE) from None
        weight = np.ones(sample.shape) if weights is None else np.asarray(weights, dtype=np.float64)
        if sample.ndim != 1 or weight.shape != sample.shape:
            raise InvalidArgument("sample", NEEDS_SAMPLE)
        is_present = ~np.isnan(sample)
        sample = sample[is_present]
        weight = weight[is_present]
        if np.isinf(sample).any() or not np.isfinite(weight).all() or (weight < 0).any() or not weight.sum() > 0:
            raise InvalidArgument(
                "sample",
                "at least one value with a positive weight is needed, and no infinite value or negative weight: "
                "remove these",
            )
        knots, knot_index = np.unique(sample, return_inverse=True)
        cumulated = np.cumsum(np.bincount(knot_index, weights=weight))
        right_limits = cumulated / cumulated[-1]
        return cls(knots, np.append(0.0, right_limits[:-1]), right_limits)

    def limits(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the limits of the distribution function from the left and from the right at given positions.

        Args:
            places: Positions in the unit of the knots, (places,).

        Returns:
            Two arrays of the same shape, with values from 0 to 1; they differ where the function jumps.
        """
        first = np.searchsorted(self.knots, places)
        second = np.searchsorted(self.knots, places, side="right")
        return self._interpolate(first, places), self._interpolate(second, places)

    def _interpolate(self, next_knot: NDArray[np.intp], places: FloatArray) -> FloatArray:
        """Return the value of the distribution function at each position, by interpolation between the knots around it.

        The function is linear from the right limit of the knot before to the left limit of the knot after, and constant
        outside all knots.

        Args:
            next_knot: Index of the knot after each position.
            places: Positions, in the unit of the knots, (places,).
        """
        starts = np.append(-np.inf, self.knots)[next_knot]
        ends = np.append(self.knots, np.inf)[next_knot]
        low = np.append(0.0, self.right_limits)[next_knot]
        high = np.append(self.left_limits, 1.0)[next_knot]
        inside = np.isfinite(starts) & np.isfinite(ends)
        fraction = np.divide(places - starts, ends - starts, out=np.zeros_like(places), where=inside)
        values: FloatArray = low * (1 - fraction) + high * fraction
        return values


def largest_gap(a: Distribution, b: Distribution) -> float:
    """Return the Kolmogorov-Smirnov distance: the largest absolute difference of the two functions, from 0 to 1.

    Args:
        a: A distribution function.
        b: Another one; the order does not matter.

    >>> largest_gap(Distribution.from_curve([0, 1], [0, 1]), Distribution.from_sample([0.25]))
    0.75
    """
    return DistributionDifference.from_distributions(a, b).max_absolute


def area_between(a: Distribution, b: Distribution) -> float:
    """Return the Wasserstein distance of order 1: the area between two distribution functions, in the unit of the
    knots.

    Args:
        a: A distribution function.
        b: Another one; the order does not matter.

    >>> area_between(Distribution.from_curve([0, 1], [0, 1]), Distribution.from_sample([0.5]))
    0.25
    """
    return DistributionDifference.from_distributions(a, b).absolute_integral


def energy_between(a: Distribution, b: Distribution) -> float:
    """Return the energy distance: the root of twice the integral of the squared difference (Székely and Rizzo 2013).

    Args:
        a: A distribution function.
        b: Another one; the order does not matter.

    >>> round(energy_between(Distribution.from_sample([0]), Distribution.from_sample([2])), 12)
    2.0
    """
    return sqrt(2 * max(DistributionDifference.from_distributions(a, b).squared_integral, 0.0))


class DistributionDifference(NamedTuple):
    """Difference of two distribution functions on the intervals between neighbouring knots, where it is linear.

    Attributes:
        lengths: Length of each interval, shape (intervals,).
        start_values: Difference at the start of each interval: its limit from the right.
        end_values: Difference at the end of each interval: its limit from the left.
    """

    lengths: FloatArray
    start_values: FloatArray
    end_values: FloatArray

    @classmethod
    def from_distributions(cls, a: Distribution, b: Distribution) -> DistributionDifference:
        """Return the difference of two distribution functions on the union of both sets of knots.

        Args:
            a: The minuend.
            b: The function that is subtracted.
        """
        knots = np.union1d(a.knots, b.knots)
        (left_a, right_a), (left_b, right_b) = a.limits(knots), b.limits(knots)
        left = left_a - left_b
        right = right_a - right_b
        return cls(np.diff(knots), right[:-1], left[1:])

    @property
    def max_absolute(self) -> float:
        """Largest absolute difference of the two distribution functions, limits from both sides included."""
        return float(max(np.abs(self.start_values).max(initial=0.0), np.abs(self.end_values).max(initial=0.0)))

    @property
    def absolute_integral(self) -> float:
        """Integral of the absolute difference of the two distribution functions."""
        left = np.abs(self.start_values)
        right = np.abs(self.end_values)
        total = left + right
        crossing = np.divide(left**2 + right**2, total, out=np.zeros_like(total), where=total > 0)
        return float(self.lengths @ np.where(self.start_values * self.end_values < 0, crossing, total)) / 2

    @property
    def squared_integral(self) -> float:
        """Integral of the squared difference of the two distribution functions."""
        return (
            float(self.lengths @ (self.start_values**2 + self.start_values * self.end_values + self.end_values**2)) / 3
        )
