"""How far records beyond a clipping bound may move a sum: from noisy counts of records along the tail.

No noisy count rules out a few records at any distance, so a limit of what they add needs an assumption. Here it is that
the tail does not grow heavier than it was seen to be: the number of records at or beyond a distance, in logarithms of
both, is a concave function of the distance. It is for uniform, normal, exponential, lognormal and Pareto laws, and
mixtures of these as far as counts show where another one begins: a power law through two points of the tail is not
below it beyond the second one.
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

    significant_z: float = 3.5  # standard deviations of its noise from which on a count tells how a tail falls
    excess_draws: int = 1000  # draws of records beyond a bound; and the most records of one draw, more are scaled


TUNING = Tuning()


class TailCounts(NamedTuple):
    """Noisy counts of one tail.

    Attributes:
        distances: Rising, from a public origin within the bounds, (points,); all above 0.
        bound_index: Which of these is the clipping bound.
        counts: The number of records at or beyond each distance, without bias, (points,).
        noise: Simulated noise of these counts, (draws, points).
    """

    distances: FloatArray
    bound_index: int
    counts: FloatArray
    noise: FloatArray

    def bound_excess(
        self, level: float, generator: np.random.Generator, *, population: bool = False, tuning: Tuning = TUNING
    ) -> float:
        """Return an upper confidence limit of the sum of distances beyond the bound; infinite if nothing is known.

        Args:
            level: The chance that the sum is not above the limit, if the tail is as the module assumes.
            generator: For simulation over public numbers alone.
            population: Whether the limit is for the expected sum in a sample of this size, not for these records.
            tuning: Constants.

        Notes:
            Noise, and the chance that a sample leaves so many records beyond a point, are taken off the counts again
            and again. Through the last count that is clear of its noise, and each one before, a power law is drawn,
            which goes on beyond the later point; so it is with the last clear count and each one up to the bound that
            noise hides. All are limits, of which the smallest is taken: for that choice each has half of the error
            chance. What lies between two points beyond the bound is taken to lie at the far one.
        """
        deviations = self.noise.std(axis=0)
        clear = np.flatnonzero(self.counts > tuning.significant_z * np.maximum(deviations, 1.0))
        if not len(clear):
            return inf
        last = int(clear[-1])
        records = self._draw_expected(generator)
        hidden = range(last + 1, min(max(self.bound_index, last + 1) + 1, len(self.counts)))
        pairs = [*((first, last) for first in range(last)), *((last, second) for second in hidden)]
        each = (1 + level) / 2
        limits = [
            self._power_law_limit(records, *pair, each, generator, population=population, tuning=tuning)
            for pair in pairs
        ]
        return min(limits, default=inf)

    def _draw_expected(self, generator: np.random.Generator) -> FloatArray:
        """Draw expected numbers of records at or beyond each point, which what was released may come from."""
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
        """Return the limit that a power law through two points gives."""
        far, ratio = self.distances, float(np.diff(np.log(self.distances[[first, second]]))[0])
        begin, end = np.maximum(records[:, first], 1e-9), np.maximum(records[:, second], 1e-9)
        index = np.log(np.maximum(begin / end, 1.0)) / ratio
        start = max(second, self.bound_index)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            beyond = end * np.exp(-index * float(np.diff(np.log(far[[second, start]]))[0]))
            between = (records[:, self.bound_index : start] * np.diff(far[self.bound_index : start + 1])).sum(axis=1)
            if population:
                excess = np.where(index > 1, beyond * far[start] / (index - 1), np.where(beyond > 1e-6, inf, 0.0))
            else:
                excess = far[start] * _draw_sums(beyond, index, generator, tuning)
                between = between[: len(excess)]
        return upper_quantile(np.nan_to_num(between + excess, nan=inf, posinf=inf), level)


def _draw_sums(expected: FloatArray, index: FloatArray, generator: np.random.Generator, tuning: Tuning) -> FloatArray:
    """Draw sums of excesses of Pareto laws over 1, each of a number of records of Poisson's law: (draws,)."""
    expected, index = expected[: tuning.excess_draws], index[: tuning.excess_draws]
    scale = np.maximum(expected / tuning.excess_draws, 1.0)
    records: IntArray = generator.poisson(expected / scale)
    draw = np.repeat(np.arange(len(records)), records)
    uniform = 1 - generator.random(len(draw))  # above 0
    with np.errstate(over="ignore", divide="ignore"):
        excess = np.expm1(-np.log(uniform) / index[draw])
    return np.asarray(scale * np.bincount(draw, excess, minlength=len(records)))
