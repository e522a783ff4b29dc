"""What a square root of prefix sums says of one row of cells, together with the counts of intervals before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import FloatArray, IntArray
from ...laws import IntervalSums, ToeplitzSums
from ...laws.noise import LEAST_VARIANCE
from ...laws.toeplitz_sums import causal_product
from ...release import Evidence
from .joint_estimate import JointEstimate

MOST_INTERVALS = 512
"""A tiling of more intervals than these is left out: what is counted once more tells most where it is wide."""
NEARLY_NOTHING = 1e-9
"""Variance that a count is taken to have at least, as a part of the largest one: nested counts repeat others."""
Told = tuple[int, int, float, float]
"""What was measured: the cells from one to before another one, how many records they hold, and its variance."""


@dataclass(frozen=True, eq=False)
class ConvolvedEstimate:
    """What several turns say about one row of cells, of which the last one was convolved.

    The prefixes of the last turn have noise of a known covariance; the intervals that were counted before are
    differences of prefixes with independent noise. Both together: generalised least squares. Where the number of
    records is public, each count of the missing ones tells of all others.

    Attributes:
        earlier: Evidence of nested partitions of the same cells.
        last: Evidence of convolved cells, in intervals of one cell.
    """

    earlier: tuple[Evidence, ...]
    last: Evidence

    @cached_property
    def cells(self) -> FloatArray:
        """The best linear count of each cell, (cells,)."""
        return np.diff(self._prefixes, prepend=0.0)

    @property
    def total(self) -> float:
        """How many records have a value, but never below 0."""
        return max(float(self._prefixes[-1]), 0.0)

    @cached_property
    def _law(self) -> ToeplitzSums:
        return self.last.law.required(ToeplitzSums)

    @cached_property
    def _prefixes(self) -> FloatArray:
        """The best linear prefixes of 1, 2, ... cells."""
        law, (starts, ends, values, variances) = self._law, (np.array(each) for each in zip(*self._told(), strict=True))
        alone = np.cumsum(law.reconstruct(np.asarray(self.last.values, dtype=np.float64), None)[0][0])
        noise = _of_noise(law.kernel, starts, ends)
        against = causal_product(noise, law.kernel, law.points) * law.variance  # covariances with all prefixes
        own = _between(against, starts, ends)
        least = max(NEARLY_NOTHING * own.diagonal().max(), LEAST_VARIANCE)
        own[np.diag_indices(len(own))] += np.maximum(variances, least)
        return np.asarray(alone + against.T @ np.linalg.solve(own, values - _between(alone, starts, ends)))

    def _told(self) -> Iterator[Told]:
        """All that is known of prefixes but for what the last turn counts."""
        for turn in self.earlier:
            yield from _of_intervals(turn.measured, turn.values)
        for law, turn in ((self._law, self.last), *((turn.measured, turn) for turn in self.earlier)):
            if turn.total is not None and law.missing is not None:
                yield 0, law.cells, turn.total - turn.values[-1], law.missing.variance


def together(turns: tuple[Evidence, ...]) -> JointEstimate | ConvolvedEstimate:
    """What turns say together, by what the last one of them counted."""
    if turns[-1].sums.is_convolved:
        return ConvolvedEstimate(turns[:-1], turns[-1])
    return JointEstimate(turns)


def _of_intervals(law: IntervalSums, values: tuple[int, ...]) -> Iterator[Told]:
    first = 0
    for level in law.levels:
        ends = (*level.starts[1:], law.cells)
        told = zip(level.starts, ends, values[first : first + len(ends)], strict=True)
        first += len(ends)
        if len(ends) <= MOST_INTERVALS:
            yield from ((start, end, value, level.noise.variance) for start, end, value in told)


def _of_noise(kernel: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """How much of the noise of each value there is in the counts of cells from starts to ends: (counts, values)."""
    rows = np.zeros((len(starts), len(kernel)))
    for row, start, end in zip(rows, starts.tolist(), ends.tolist(), strict=True):
        row[:end] = kernel[:end][::-1]
        row[:start] -= kernel[:start][::-1]
    return rows


def _between(prefixes: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """What prefixes of 1, 2, ... cells, along the last axis, say of the cells from starts to ends."""
    before = np.where(starts > 0, prefixes[..., starts - 1], 0.0)
    return np.asarray(prefixes[..., ends - 1] - before)
