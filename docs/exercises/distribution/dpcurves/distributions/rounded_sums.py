"""The distribution of noisy counts that are rounded at random to multiples of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Annotated, Any, Self

import numpy as np

from ..arguments import InvalidArgument
from ..arrays import FloatArray
from ..codec import STORED_CODEC
from .interval_sums import IntervalSums, Tier
from .output_distribution import Noise, simulate_noise

LARGEST_STEP = 2**20
Step = Annotated[int, ("minimum", 1), ("maximum", LARGEST_STEP)]


@dataclass(frozen=True, slots=True)
class RoundedNoise(Noise):
    """Noise, and the error of unbiased random rounding of the noisy count to a multiple of a step.

    A noisy count y becomes ``step * floor(y / step)`` or one step more. The upper multiple has probability
    ``r / step`` with ``r = y mod step``, so the error of rounding has mean 0. Its variance is ``r * (step - r)``, which
    is ``(step**2 - 1) / 6`` on average if all r are equally likely.

    Attributes:
        step: Released values are multiples of it. 1: nothing is rounded.
    """

    step: Step = 1

    def __post_init__(self) -> None:
        if not 1 <= self.step <= LARGEST_STEP:
            raise InvalidArgument("step", f"a whole number from 1 to {LARGEST_STEP} is needed, got {self.step}")

    @property
    def before_rounding(self) -> Noise:
        """The noise that is added before rounding."""
        return Noise(self.family, self.parameter, self.parties)

    @property
    def variance(self) -> float:
        """The variance of noise and rounding."""
        return self.before_rounding.variance + float(self.parties) * (self.step**2 - 1) / 6

    @property
    def fourth_cumulant(self) -> float:
        """The fourth cumulant of the noise. The error of rounding is bounded, so it adds no tails."""
        return self.before_rounding.fourth_cumulant

    def log_moments(self, rates: FloatArray) -> FloatArray:
        """Upper bounds on the logarithms of ``E exp(rate * error)``.

        Given the noisy count, the error of rounding has mean 0 and a range of one step: Hoeffding's lemma bounds it.
        """
        return self.before_rounding.log_moments(rates) + float(self.parties) * (rates * self.step) ** 2 / 8

    def probability(self, count: int, value: int) -> float:
        """Return the probability that a count is released as a value, for Laplace noise of one party.

        >>> noise = RoundedNoise(Family.LAPLACE, Fraction(1), step=10)
        >>> round(sum(noise.probability(7, value) for value in range(-200, 200, 10)), 12), noise.probability(7, 5)
        (1.0, 0.0)
        """
        if value % self.step:
            return 0.0
        ratio = exp(-1 / float(self.parameter))
        noisy_counts = range(value - self.step + 1, value + self.step)
        terms = ((1 - abs(noisy - value) / self.step) * ratio ** abs(noisy - count) for noisy in noisy_counts)
        return (1 - ratio) / (1 + ratio) * sum(terms)


@dataclass(frozen=True, slots=True)
class RoundedTier(Tier):
    """Intervals that partition the cells of every row, and the rounded noise of each of their counts."""

    noise: RoundedNoise


@dataclass(frozen=True, slots=True)
class RoundedSums(IntervalSums):
    """Counts of single cells, each with discrete Laplace noise and rounded independently to multiples of a step.

    A count c is released as v with probability ``RoundedNoise.probability(c, v)``. Simulation and variances take the
    remainders of the unknown noisy counts as uniform, so that noise and error of rounding are uncorrelated.
    """

    KEY = "rounded"
    FIELDS = {KEY: "levels"}  # noqa: RUF012

    levels: tuple[RoundedTier, ...]
    missing: RoundedNoise | None

    @classmethod
    def from_unrounded(cls, distribution: IntervalSums, step: int) -> Self:
        """Return the distribution of the same counts, rounded."""
        levels = tuple(RoundedTier(level.starts, _round_noise(level.noise, step)) for level in distribution.levels)
        return cls(
            distribution.rows,
            distribution.cells,
            levels,
            None if distribution.missing is None else _round_noise(distribution.missing, step),
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of what `to_json` wrote. The base would read `missing` as noise that is not
        rounded."""
        missing = STORED_CODEC.decode(RoundedNoise | None, stored["missing"])
        return STORED_CODEC.decode_fields(
            cls, stored, rows=int(stored["rows"]), cells=int(stored["cells"]), missing=missing
        )

    def simulate_values(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulate noise and rounding of the released values, with uniform remainders: (draws, size)."""
        return np.concatenate([_simulate(noise, (draws, count), generator) for noise, count in self.noises], axis=-1)


def _simulate(noise: Noise, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    if not isinstance(noise, RoundedNoise):
        return simulate_noise(noise, shape, generator)
    error = simulate_noise(noise.before_rounding, shape, generator)
    for _ in range(int(noise.parties)):
        remainder = generator.integers(0, noise.step, shape)
        error += noise.step * (generator.integers(0, noise.step, shape) < remainder) - remainder
    return error


def _round_noise(noise: Noise, step: int) -> RoundedNoise:
    return RoundedNoise(noise.family, Fraction(noise.parameter), noise.parties, step)
