"""Shares of records below each edge of a grid, and how far noise may have moved them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data import Grid, Outside
from ..postprocess import drawn_even, measured_edges, monotone_prefixes, noise_draws, unbiased
from ..postprocess.generator import draws_for, public_generator
from ..release import Evidence

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Readings of one row of counts along a grid.

    Attributes:
        evidence: Counts of one row of cells.
        grid: Where the cells lie.
    """

    evidence: Evidence
    grid: Grid

    @cached_property
    def total(self) -> float:
        """How many records have a value: exact up to the noise of the missing cell, or estimated. At least 1."""
        return max(float(self._unbiased.sum()), 1.0)

    @cached_property
    def shares(self) -> FloatArray:
        """Non-decreasing shares in [0, 1] below each edge, of shape ``(cells + 1,)``, after shrinkage."""
        law, values, total = self.evidence.sums, self.evidence.values, self.evidence.total
        prefixes = monotone_prefixes(drawn_even(law, values, total), self.total)[0] / self.total
        if self.grid.outside is Outside.APART:
            return np.asarray(prefixes[1:-1])
        prefixes[-1] = 1.0  # nothing lies above the last edge
        return np.asarray(prefixes)

    @cached_property
    def unbiased_shares(self) -> FloatArray:
        """Shares before shrinkage and isotonic regression: linear in the released values but for the total."""
        return self._at_edges(np.cumsum(self._unbiased) / self.total)

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Which edges bound an interval that was counted: the others are interpolated."""
        edges = measured_edges(self.evidence.sums)
        return edges[1:-1] if self.grid.outside is Outside.APART else edges

    def deviations(self, generator: np.random.Generator | None) -> FloatArray:
        """Simulated noise of `unbiased_shares`, of shape ``(draws, cells + 1)``."""
        law, total = self.evidence.sums, self.evidence.total
        chunks = []
        for cells, _ in noise_draws(law, total, draws_for(law.cells), public_generator(generator)):
            noisy = np.cumsum(self._unbiased + cells[:, 0], axis=-1)
            chunks.append(self._at_edges(noisy / np.maximum(noisy[:, -1:], 1.0)))
        return np.concatenate(chunks) - self.unbiased_shares

    @cached_property
    def _unbiased(self) -> FloatArray:
        law, values, total = self.evidence.sums, self.evidence.values, self.evidence.total
        return np.asarray(unbiased(law, values, total).cells[0])

    def _at_edges(self, cumulated: FloatArray) -> FloatArray:
        """Of cumulated cells: what is below each edge of the grid."""
        if self.grid.outside is Outside.APART:
            return np.asarray(cumulated[..., :-1])
        zero = np.zeros((*cumulated.shape[:-1], 1))
        return np.concatenate([zero, cumulated], axis=-1)
