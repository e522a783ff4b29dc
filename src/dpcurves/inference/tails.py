"""Confidence limits of the sum of distances beyond a clipping bound, from noisy counts along the tail.

No noisy count rules out a few records at any distance, so such a limit needs an assumption. Here the tail does not
become heavier beyond the counted points: the logarithm of the number of records at or beyond a distance is a concave
function of the logarithm of the distance. This holds for uniform, normal, exponential, lognormal and Pareto laws, and
for mixtures of these as far as counts show where another component begins. A power law through two points of the tail
is then not below the tail beyond the second point.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .bands import upper_quantile


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate of a tail; `benchmarks/means_of_long_tails.py` prints what they achieve."""

    significant_z: float = 3.5  # z-score above which a count is used for the slope of the tail
    excess_draws: int = 1000  # draws of the excess; also the most records simulated per draw, larger sums are scaled


TUNING = Tuning()


class TailCounts(NamedTuple):
    """Noisy counts of one tail.

    Attributes:
        distances: Increasing positive distances from a public origin within the bounds, (points,).
        bound_index: Index of the clipping bound in `distances`.
        counts: Unbiased number of records at or beyond each distance, (points,).
        noise: Simulated noise of these counts, (draws, points).
    """

    distances: FloatArray
    bound_index: int
    counts: FloatArray
    noise: FloatArray

    def bound_excess(
        self, level: float, generator: np.random.Generator, *, population: bool = False, tuning: Tuning = TUNING
    ) -> float:
        """Return an upper confidence limit of the sum of distances beyond the bound; infinite if it is unknown.

        Args:
            level: The probability that the sum does not exceed the limit, if the tail is as the module assumes.
            generator: For simulation over public numbers alone.
            population: Whether the limit is for the expected sum in a sample of this size, not for these records.
            tuning: Constants.

        Notes:
            Each draw subtracts simulated noise from the counts and adds simulated sampling error. A power law through
            the last significant count and each earlier one is extrapolated beyond the later point; likewise a power law
            through the last significant count and each insignificant one up to the bound. Each pair gives a limit, and
            the smallest one is returned; because of this choice each limit uses half of the error probability. Records
            between two points beyond the bound are counted at the farther point.
        """
        deviations = self.noise.std(axis=0)
        significant = np.flatnonzero(self.counts > tuning.significant_z * np.maximum(deviations, 1.0))
        if not len(significant):
            return inf
        last = int(significant[-1])
        records = self._draw_expected(generator)
        hidden = range(last + 1, min(max(self.bound_index, last + 1) + 1, len(self.counts)))
        pairs = [*((first, last) for first in range(last)), *((last, second) for second in hidden)]
        one_sided_level = (1 + level) / 2
        limits = [
            self._power_law_limit(records, *pair, one_sided_level, generator, population=population, tuning=tuning)
            for pair in pairs
        ]
        return min(limits, default=inf)

    def _draw_expected(self, generator: np.random.Generator) -> FloatArray:
        """Return draws of expected numbers of records at or beyond each point that are compatible with the release:
        (draws, points)."""
        cells = -np.diff(self.counts, append=0.0)
        normal = generator.standard_normal(self.noise.shape)
        sampled = normal * np.sqrt(np.maximum(cells, 0.0)) + (normal**2 - 1) / 6 * (cells > 1)
        scatter = np.cumsum(sampled[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.maximum(self.counts - self.noise + scatter, 0.0))

    def _power_law_limit(
        self,
        records: FloatArray,
        first: int,
        second: int,
        level: float,
        generator: np.random.Generator,
        *,
        population: bool,
        tuning: Tuning,
    ) -> float:
        """Return the upper confidence limit of the sum of distances beyond the bound that the power law through the
        points `first` and `second` gives."""
        distances, ratio = self.distances, float(np.diff(np.log(self.distances[[first, second]]))[0])
        begin, end = np.maximum(records[:, first], 1e-9), np.maximum(records[:, second], 1e-9)
        index = np.log(np.maximum(begin / end, 1.0)) / ratio
        start = max(second, self.bound_index)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            beyond = end * np.exp(-index * float(np.diff(np.log(distances[[second, start]]))[0]))
            between = (records[:, self.bound_index : start] * np.diff(distances[self.bound_index : start + 1])).sum(
                axis=1
            )
            if population:
                excess = np.where(index > 1, beyond * distances[start] / (index - 1), np.where(beyond > 1e-6, inf, 0.0))
            else:
                excess = distances[start] * _draw_sums(beyond, index, generator, tuning)
                between = between[: len(excess)]
        return upper_quantile(np.nan_to_num(between + excess, nan=inf, posinf=inf), level)


def _draw_sums(expected: FloatArray, index: FloatArray, generator: np.random.Generator, tuning: Tuning) -> FloatArray:
    """Return random sums of Pareto excesses over 1, each of a Poisson number of records: (draws,). `index` is the
    tail index of each draw."""
    expected, index = expected[: tuning.excess_draws], index[: tuning.excess_draws]
    scale = np.maximum(expected / tuning.excess_draws, 1.0)
    records: IntArray = generator.poisson(expected / scale)
    draw = np.repeat(np.arange(len(records)), records)
    uniform = 1 - generator.random(len(draw))  # above 0
    with np.errstate(over="ignore", divide="ignore"):
        excess = np.expm1(-np.log(uniform) / index[draw])
    return np.asarray(scale * np.bincount(draw, excess, minlength=len(records)))
