"""Upper confidence limit of the bias of a clipped mean: the sum of distances of records beyond the clipping bound.

A mean of clipped values is too small by these distances. `TailCounts.bound_excess` takes noisy counts along a tail and
returns an upper limit of their sum. No noisy count rules out a few records at any distance, so a limit needs an
assumption. Here the tail does not become heavier beyond the counted points: with R(d) the number of records at or
beyond distance d, ``log R`` is a concave function of ``log d``. This holds for uniform, normal, exponential, lognormal
and Pareto distributions, and for mixtures of these as far as counts show where another component begins.

A power law through two points ``d_1 < d_2`` of the tail is then not below the tail beyond ``d_2``:

    R(d) <= R(d_2) * (d / d_2)**-k      k = log(R(d_1) / R(d_2)) / log(d_2 / d_1)

So the expected sum of distances beyond d_2 is at most ``R(d_2) * d_2 / (k - 1)``, for k > 1. Counts are replaced by
draws of counts that are compatible with the release, and the limit is a quantile of the results.

Formal guarantees: no records are read and no budget is spent, because a function of released counts and of random
numbers reveals nothing more than the counts (post-processing).

>>> law = PowerLaw(between=np.zeros(2), beyond=np.array([10.0, 10.0]), pareto_index=np.array([3.0, 1.0]),
...     start=np.full(2, 100.0))
>>> law.expect()  # ten records beyond 100; a law of index 1 has no mean
array([500.,  inf])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .bands import upper_quantile


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate of a tail; `benchmarks/means_of_long_tails.py` prints the resulting errors."""

    significant_z: float = 3.5  # z-score above which a count is used for the slope of the tail
    excess_draws: int = 1000  # draws of the excess; also the most records simulated per draw, larger sums are scaled
    least_index: float = 1.05  # Pareto index: the least one by which power laws are compared; 1 has no mean


TUNING = Tuning()
"""The values that the estimate of a tail uses unless a caller passes others."""


class TailCounts(NamedTuple):
    """Noisy counts of one tail of a column.

    Attributes:
        distances: Increasing positive distances from a public origin within the bounds, in units of the column, of
            shape ``(points,)``.
        bound_index: Index of the clipping bound in `distances`.
        counts: Unbiased number of records at or beyond each distance, of shape ``(points,)``.
        noise: Simulated noise of these counts, of shape ``(draws, points)``.
    """

    distances: FloatArray
    bound_index: int
    counts: FloatArray
    noise: FloatArray

    def bound_excess(
        self, level: float, generator: np.random.Generator, *, population: bool = False, tuning: Tuning = TUNING
    ) -> float:
        """Return an upper confidence limit of the sum of the records' distances beyond the clipping bound, the bias of
        a clipped sum; infinite if unknown.

        Args:
            level: The probability that the sum does not exceed the limit, if the tail is as the module assumes.
            generator: For simulation over public numbers alone.
            population: Whether the limit is for the expected sum in a sample of this size, not for these records.
            tuning: Constants.

        Notes:
            Each draw subtracts simulated noise from the counts and adds simulated sampling error. A power law through
            the last significant count and each earlier one is extrapolated beyond the later point. Under the assumption
            each of these expects at least the excess that the tail does, so each draw takes the power law that expects
            least, and the quantile of the draws is a limit. A power law through the last significant count and an
            insignificant one up to the bound gives another limit: in half of the draws it may expect nothing, so it is
            not compared draw by draw; its limit uses half of the error probability. The smallest limit is returned.
            Records between two points beyond the bound are counted at the farther point.
        """
        deviations = self.noise.std(axis=0)
        significant = np.flatnonzero(self.counts > tuning.significant_z * np.maximum(deviations, 1.0))
        if not len(significant):
            return inf
        last = int(significant[-1])
        hidden = range(last + 1, min(max(self.bound_index, last + 1) + 1, len(self.counts)))
        records = self._draw_expected(generator)[: tuning.excess_draws]
        choices = [([(first, last) for first in range(last)], level)]
        choices += [([(last, second)], (1 + level) / 2) for second in hidden]
        limits = []
        for pairs, one_sided_level in choices:
            if pairs:
                power_law = PowerLaw.with_least_excess([self._extrapolate(records, *pair) for pair in pairs], tuning)
                excess = power_law.expect() if population else power_law.draw_excess(generator, tuning)
                limits.append(upper_quantile(np.nan_to_num(excess, nan=inf, posinf=inf), one_sided_level))
        return min(limits, default=inf)

    def _draw_expected(self, generator: np.random.Generator) -> FloatArray:
        """Return draws of the expected numbers of records at or beyond each point that are compatible with the release.

        Noise is subtracted from the counts, and sampling error of a Poisson count is added to each cell.

        Args:
            generator: For simulation over public numbers alone.

        Returns:
            Numbers of records, at least 0, of shape ``(draws, points)``.
        """
        cells = -np.diff(self.counts, append=0.0)
        normal = generator.standard_normal(self.noise.shape)
        # Cornish-Fisher term for the skewness of a Poisson count; without meaning for counts of at most 1.
        skewness = np.where(cells > 1, (normal**2 - 1) / 6, 0.0)
        sampled = normal * np.sqrt(np.maximum(cells, 0.0)) + skewness
        scatter = np.cumsum(sampled[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.maximum(self.counts - self.noise + scatter, 0.0))

    def _extrapolate(self, records: FloatArray, first: int, second: int) -> PowerLaw:
        """Return the power law through two points of each draw. It begins at the second point, or at the clipping bound
        if that is farther.

        Args:
            records: Expected records at or beyond each point, (draws, points).
            first: Index of the first point.
            second: Index of the second point, above `first`.
        """
        distances = self.distances
        start = max(second, self.bound_index)
        begin = np.maximum(records[:, first], 1e-9)
        end = np.maximum(records[:, second], 1e-9)
        index = np.log(np.maximum(begin / end, 1.0)) / (np.log(distances[second]) - np.log(distances[first]))
        with np.errstate(over="ignore"):
            beyond = end * np.exp(-index * (np.log(distances[start]) - np.log(distances[second])))
        widths = np.diff(distances[self.bound_index : start + 1])
        between = (records[:, self.bound_index : start] * widths).sum(axis=1)
        return PowerLaw(between, beyond, index, np.full(len(records), distances[start]))


class PowerLaw(NamedTuple):
    """A power law of the tail in each draw; all arrays have the shape ``(draws,)``.

    Attributes:
        between: Sum of distances beyond the clipping bound, as far as the start of the power law.
        beyond: Expected number of records beyond this start.
        pareto_index: Exponent of the power law; up to 1 there is no mean.
        start: Distance of the start from the origin.
    """

    between: FloatArray
    beyond: FloatArray
    pareto_index: FloatArray
    start: FloatArray

    @classmethod
    def with_least_excess(cls, power_laws: Sequence[PowerLaw], tuning: Tuning) -> PowerLaw:
        """Choose, in each draw, the power law with the smallest expected sum of distances beyond the clipping bound.

        Args:
            power_laws: Power laws of the same draws, at least one.
            tuning: Least exponent by which they are compared, so that those without a mean are compared, too.
        """
        with np.errstate(over="ignore"):
            excess = [
                law.between + law.beyond * law.start / (np.maximum(law.pareto_index, tuning.least_index) - 1)
                for law in power_laws
            ]
        least = np.argmin(excess, axis=0)[None]
        return cls(
            *(np.take_along_axis(np.array(numbers), least, axis=0)[0] for numbers in zip(*power_laws, strict=True))
        )

    def expect(self) -> FloatArray:
        """Return the expected sum of the records' distances beyond the clipping bound, for the power law of each draw,
        (draws,); infinite if it has no mean.
        """
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            beyond = np.where(self.pareto_index > 1, self.beyond * self.start / (self.pareto_index - 1), inf)
        return np.asarray(self.between + np.where((self.pareto_index > 1) | (self.beyond > 1e-6), beyond, 0.0))

    def draw_excess(self, generator: np.random.Generator, tuning: Tuning) -> FloatArray:
        """Simulate the sum of the records' distances beyond the clipping bound, for the power law of each draw,
        (draws,), in units of the column.

        Args:
            generator: For simulation over public numbers alone.
            tuning: Most records that are simulated per draw.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.between + self.start * _draw_sums(self.beyond, self.pareto_index, generator, tuning))


def _draw_sums(expected: FloatArray, index: FloatArray, generator: np.random.Generator, tuning: Tuning) -> FloatArray:
    """Simulate, for each draw, the sum of the excesses over 1 of a Poisson number of Pareto variables.

    Args:
        expected: Expected number of records of each draw, (draws,).
        index: Exponent of the Pareto distribution of each draw, (draws,).
        generator: For simulation over public numbers alone.
        tuning: More records than `excess_draws` per draw are not simulated one by one, but scaled.

    Returns:
        Sums, (draws,).
    """
    scale = np.maximum(expected / tuning.excess_draws, 1.0)
    records: IntArray = generator.poisson(expected / scale)
    draw = np.repeat(np.arange(len(records)), records)
    uniform = 1 - generator.random(len(draw))  # above 0
    with np.errstate(over="ignore", divide="ignore"):
        excess = np.expm1(-np.log(uniform) / index[draw])
    return np.asarray(scale * np.bincount(draw, excess, minlength=len(records)))
