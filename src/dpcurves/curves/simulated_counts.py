"""Released counts of cells, with their noise simulated: for statistics that are no sums of counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import FloatArray
from ..postprocess.inference.simulation_seed import draws_for, numbered_generator
from ..postprocess.shape.simplex import on_simplex
from ..release import Evidence, PrivacyStatement
from .pair_mean import UNSEEN
from .question import require_independent

MOST_DRAWS, VALUES = 1000, 2**22
PLACE = 8
"""Streams of simulation beside those of other statistics."""


@dataclass(frozen=True, eq=False)
class SimulatedCounts:
    """Counts of some cells.

    Attributes:
        counts: Without bias, of any shape.
        evidence: What they were read from, cell by cell.
        privacy: What stands on the curve.
        notes: What is remarked on it.
    """

    counts: FloatArray
    evidence: Evidence
    privacy: PrivacyStatement
    notes: tuple[str, ...]

    @cached_property
    def likely(self) -> FloatArray:
        """An estimate with no count below zero."""
        return on_simplex(self.counts, max(float(self.counts.sum()), 1.0))

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the counts: (draws, ...)."""
        law, size = self.evidence.sums, self.counts.size
        draws = max(400, min(MOST_DRAWS, draws_for(size), VALUES // size))
        drawn = law.simulate(self.evidence.total, draws, numbered_generator(PLACE))
        return np.concatenate([cells for cells, _ in drawn]).reshape(-1, *self.counts.shape)

    def drawn(self, population: bool) -> FloatArray:
        """Likely counts with noise, and with that of sampling; see `UStatistic.interval`."""
        if not population:
            return np.asarray(self.likely + self.noise)
        require_independent(self.privacy)
        seen = self.likely.ravel() + UNSEEN / self.likely.size
        people, shares = max(round(float(self.likely.sum())), 1), seen / seen.sum()
        sampled = numbered_generator(PLACE + 1).multinomial(people, shares, size=len(self.noise))
        return np.asarray(self.likely + self.noise + (sampled - people * shares).reshape(self.noise.shape))
