"""Noisy counts of two classes in cells of scores: what they say, and how far they may be off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import FloatArray
from ...laws import NoisySums
from ..estimation.reconstruction import unbiased
from ..estimation.two_classes import two_classes
from ..summaries.roc import LEAST_MASS, from_the_top
from .bands import interval, upper_quantile
from .resampling import sampling_errors
from .simulation_seed import draws_for, public_generator

Statistic = Callable[[FloatArray], FloatArray]
"""A number that is read from counts of shape (..., 2, cells), as of shape (...)."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Counts of two rows, negatives and positives, along cells of rising scores.

    Attributes:
        law: How the released values scatter.
        values: The released values.
        total: The public number of all records, as for `NoisySums.reconstruct`.
    """

    law: NoisySums
    values: Sequence[int]
    total: int | None

    @cached_property
    def unbiased(self) -> FloatArray:
        """Counts whose noise has the mean 0, so that some may be below it: (2, cells). Intervals stand on these."""
        return unbiased(self.law, self.values, self.total).cells

    @cached_property
    def likely(self) -> FloatArray:
        """Counts that are not below 0, less rough than noise makes them: (2, cells). Curves are drawn from these."""
        read = two_classes(self.law, self.values, self.total)
        return np.stack([np.diff(from_the_top(row))[::-1] for row in read])

    def errors(self, *, population: bool, generator: np.random.Generator | None) -> FloatArray:
        """Simulated errors of the unbiased counts, (draws, 2, cells): noise, and for the population sampling, too.

        A sample is drawn from the likely counts (a multinomial law), and what it has more than they have is its error.
        """
        if generator is None:
            return self._noise_and_sampling if population else self._noise
        noise = self._drawn(generator)
        return noise + self._sampled(len(noise), generator) if population else noise

    @cached_property
    def _noise(self) -> FloatArray:
        """The draws of the usual generator, which are the same whenever anybody asks."""
        return self._drawn(public_generator(None))

    @cached_property
    def _noise_and_sampling(self) -> FloatArray:
        return self.errors(population=True, generator=public_generator(None))

    def _drawn(self, chance: np.random.Generator) -> FloatArray:
        drawn = self.law.simulate(self.total, draws_for(self.law.cells), chance)
        return np.concatenate([cells for cells, _ in drawn])

    def _sampled(self, draws: int, chance: np.random.Generator) -> FloatArray:
        size = max(round(float(self.likely.sum())), 1)
        return sampling_errors(self.likely, size, draws, chance)

    def may_lack(self, errors: FloatArray, level: float) -> tuple[bool, bool]:
        """Tell of each class whether its noise, with chance ``(1 - level) / 2``, is all that was counted but a half."""
        counted, each = self.unbiased.sum(axis=1), (1 + level) / 2
        noises = errors.sum(axis=-1).T
        negative, positive = (
            float(count) < LEAST_MASS + upper_quantile(noise, each)
            for count, noise in zip(counted, noises, strict=True)
        )
        return negative, positive

    def interval(self, statistic: Statistic, errors: FloatArray, level: float) -> tuple[float, float]:
        """Two ends that have the `statistic` of the exact counts between them, with about the chance `level`.

        The statistic is read again and again from the likely counts with the errors added. What that adds to it is
        taken from what the unbiased counts give (the basic interval of a parametric bootstrap, Davison and Hinkley
        1997, section 5.2): so the bias that noise gives to a ratio is taken back, too.
        """
        moved = statistic(self.likely + errors) - statistic(self.likely)
        return interval(float(statistic(self.unbiased)), moved, level)
