"""Counts of negatives and positives below thresholds, and their noise, from prefixes of the places of both classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arguments import Refused
from ...arrays import FloatArray
from ...postprocess.inference.simulation_seed import draws_for
from ...release import Evidence


@dataclass(frozen=True, slots=True)
class ClassPrefixes:
    """The places of all negatives, and behind them those of all positives, each counted up to the same thresholds.

    Attributes:
        evidence: Counts of prefixes, in any order.
        slots: How many places a class has.
        at: How many places of a class lie below each threshold, rising from none to all.
    """

    evidence: Evidence
    slots: int
    at: tuple[int, ...]

    @classmethod
    def of(cls, evidence: Evidence, slots: int) -> ClassPrefixes:
        """From what was released.

        Raises:
            ValueError: a count that is needed is not there.
        """
        known = {0, *evidence.path.at}
        at = tuple(sorted(each for each in known if 0 <= each <= slots))
        if any(slots + each not in known for each in at):
            raise Refused("evidence", "the counts of both classes are needed at the same thresholds")
        return cls(evidence, slots, at)

    @property
    def counts(self) -> FloatArray:
        """Unbiased counts of both classes below the thresholds, from 0 to all: (2, points)."""
        return self._by_class(np.array(self.evidence.values, dtype=np.float64))

    def noise(self, generator: np.random.Generator) -> FloatArray:
        """The noise of `counts`, drawn afresh: (draws, 2, points). Costs no privacy."""
        law = self.evidence.path
        return self._by_class(law.simulate(draws_for(law.levels * len(law.at)), generator))

    def _by_class(self, values: FloatArray) -> FloatArray:
        """Values in the order of the law, (..., values), as counts of each class below the thresholds."""
        prefix = {each: values[..., number] for number, each in enumerate(self.evidence.path.at)}
        prefix[0] = np.zeros(values.shape[:-1])
        starts = (0, self.slots)
        return np.stack(
            [np.stack([prefix[start + each] - prefix[start] for each in self.at], axis=-1) for start in starts], axis=-2
        )
