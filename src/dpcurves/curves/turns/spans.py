"""Sums of records between edges that were counted, their noise, and how samples scatter there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...postprocess.inference.resampling import sampling_errors


class Spans(NamedTuple):
    """Spans between counted edges, with one edge below all records and one above them.

    Attributes:
        at: Numbers of the edges that a span ends at, rising, from the first to the last of all.
        first, last: Where each span begins and ends, as numbers into `at`.
    """

    at: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def between(cls, first: NDArray[np.int64], last: NDArray[np.int64], edges: int) -> Spans:
        """Spans between such edges, out of so many."""
        at = np.unique(np.concatenate([first, last, [0, edges - 1]]))
        return cls(at, np.searchsorted(at, first), np.searchsorted(at, last))

    def of(self, below: FloatArray) -> FloatArray:
        """The amount in each span, (..., spans), from the amounts below each edge.

        >>> spans = Spans.between(np.array([0, 1]), np.array([1, 3]), 4)
        >>> spans.of(np.array([0.0, 0.2, 0.5, 1.0])).tolist()
        [0.2, 0.8]
        """
        return self._ends(below[..., self.at])

    def sampled(self, below: FloatArray, units: int, draws: int, chance: np.random.Generator) -> FloatArray:
        """Deviations of a sample's units in each span from their expectation: (draws, spans).

        Args:
            below: The shares of the population below each edge.
            units: The size of the sample.
            draws: How many samples.
            chance: For simulation.
        """
        passed = np.diff(below[self.at])
        more = sampling_errors(passed * (units / passed.sum()), units, draws, chance)
        return self._ends(np.pad(np.cumsum(more, axis=1), ((0, 0), (1, 0))))

    def _ends(self, below: FloatArray) -> FloatArray:
        return np.asarray(below[..., self.last] - below[..., self.first])
