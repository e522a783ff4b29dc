"""What several counts of one row of cells say together, each on intervals that halve each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...arrays import FloatArray
from ...laws import Noise
from ...laws.noise import LEAST_VARIANCE
from ...release import Evidence, Release
from .binary_tree import Layout
from .dyadic import Dyadic
from .empirical_bayes import Splits, estimate, least_squares_total, reestimate
from .measurements import Measurements, gather


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """What several turns say about one row of cells, each on intervals that halve each other.

    Attributes:
        turns: Evidence of nested partitions of the same cells, at least one; noises are independent.
        halved: How the cells are halved; None: as intervals along one axis are.
    """

    turns: tuple[Evidence, ...]
    halved: Layout | None = None

    @classmethod
    def of(cls, releases: Sequence[Release], halved: Layout | None = None) -> JointEstimate:
        """Take up the answers as they came."""
        return cls(tuple(Evidence.of(release) for release in releases), halved)

    @cached_property
    def known(self) -> Measurements:
        """All measurements, merged by inverse variance."""
        layout = self.halved or layout_of(self.turns[0].measured.cells)
        return gather(layout, [(turn.measured, turn.values) for turn in self.turns])

    @cached_property
    def total(self) -> float:
        """How many records have a value: the best unbiased estimate, but never below 0."""
        counted, precision = least_squares_total(self.known)
        public = self.turns[0].total
        if public is not None:
            missing, exactness = self._missing
            counted = (counted * precision + (public - missing) * exactness) / (precision + exactness)
        return max(counted, 0.0)

    @cached_property
    def splits(self) -> Splits:
        """The counts of all intervals, by empirical Bayes."""
        return estimate(self.known, self.total)

    @cached_property
    def cells(self) -> FloatArray:
        """The best count of each cell, (cells,): by empirical Bayes once more."""
        return reestimate(self.known, self.total, self.splits).cells

    @property
    def noise(self) -> Noise:
        """The noise of each count of the first turn."""
        return self.turns[0].measured.levels[0].noise

    @property
    def missing(self) -> float:
        """How many records have no value, as all turns say."""
        return self._missing[0]

    @cached_property
    def _missing(self) -> tuple[float, float]:
        """How many records have no value, and one over its variance."""
        noises = [turn.measured.missing for turn in self.turns]
        weights = [0.0 if noise is None else 1 / max(noise.variance, LEAST_VARIANCE) for noise in noises]
        values = sum(weight * turn.values[-1] for weight, turn in zip(weights, self.turns, strict=True))
        return values / max(sum(weights), LEAST_VARIANCE), sum(weights)


@lru_cache(maxsize=4)  # a pure function of public facts
def layout_of(cells: int) -> Dyadic:
    """Lay halvings over so many cells, the first and the last of which stand alone."""
    return Dyadic.ends_apart(cells)
