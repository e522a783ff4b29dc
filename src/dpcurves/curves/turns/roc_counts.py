"""Counts of negatives and positives above thresholds, and their noise, for the band of a ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arrays import BoolArray, FloatArray
from ...data import Grid, Outside
from ...postprocess import RocBand, population_roc_band, roc_band
from ...postprocess.inference.rate_bands import spread_out
from ...postprocess.inference.simulation_seed import draws_for, public_generator, sampling_generator
from ...release import Evidence


@dataclass(frozen=True, eq=False)
class CountsAbove:
    """Counts above each threshold that was measured: the others lie inside merged cells.

    Attributes:
        evidence: Counts of two rows: negatives, positives.
    """

    evidence: Evidence

    @property
    def at(self) -> NDArray[np.int64]:
        """The number of cells above each measured threshold, rising from none to all."""
        law = self.evidence.sums
        return law.cells - np.asarray(law.bounds)[::-1]

    @cached_property
    def counts(self) -> FloatArray:
        """Unbiased, of shape ``(2, measured)``."""
        return _from_the_top(self.evidence.unbiased)[:, self.at]

    def noise(self, generator: np.random.Generator | None) -> FloatArray:
        """The noise of `counts`, simulated: ``(draws, 2, measured)``."""
        law, total = self.evidence.sums, self.evidence.total
        short = law.of_intervals
        at = short.cells - np.asarray(short.bounds)[::-1]
        chunks = short.simulate(total, draws_for(2 * short.cells), public_generator(generator))
        return np.concatenate([_from_the_top(cells)[..., at] for cells, _ in chunks])

    def band(
        self, rates: FloatArray, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> RocBand:
        """At all thresholds, about these rates of both classes, ``(2, thresholds)``."""
        what = self.counts, self.noise(generator), rates[:, self.at], level
        found = population_roc_band(*what, sampling_generator(generator)) if population else roc_band(*what)
        whole = spread_out(found, self.at, rates.shape[1])
        lower, upper = np.minimum(whole[0::2], rates), np.maximum(whole[1::2], rates)  # the curve lies in its band
        return RocBand(lower[0], upper[0], lower[1], upper[1])


@dataclass(frozen=True, eq=False)
class FinerCounts:
    """Counts of both classes on cells that are finer than those of a curve.

    Attributes:
        evidence: Counts of two rows: negatives, positives; the noise of each is independent of all others.
        starts: The first of them in each cell of the curve, rising from 0.
    """

    evidence: Evidence
    starts: tuple[int, ...]

    @classmethod
    def of(cls, evidence: Evidence, finer: Grid, grid: Grid) -> FinerCounts:
        """Counts on a grid that has all edges of another one."""
        inner = np.searchsorted(finer.edges, grid.edges[:-1])
        if grid.outside is Outside.APART:
            inner = np.concatenate([[0], inner + 1, [finer.cells + 1]])
        return cls(evidence, tuple(inner.tolist()))

    def with_counts(self, evidence: Evidence) -> Evidence:
        """These counts and those of the curve together, as sums over nested intervals of these cells."""
        coarse, own = evidence.measured, self.evidence.measured
        last = len(evidence.values) - (coarse.missing is not None)
        finer = self.evidence.values[: 2 * own.cells]
        return Evidence(
            coarse.with_finer(own, self.starts),
            (*evidence.values[:last], *finer, *evidence.values[last:]),
            evidence.total,
        )

    def spread(self, cells: FloatArray) -> FloatArray:
        """Spread cells of the curve evenly over the finer ones: (..., cells) to (..., finer cells)."""
        parts = np.diff(np.append(self.starts, self.evidence.sums.cells))
        return np.repeat(cells / parts, parts, axis=-1)

    def of_cells(self, tied: BoolArray | None) -> BoolArray | None:
        """Estimates of each cell of the curve from the finer ones."""
        parts = np.diff(np.append(self.starts, self.evidence.sums.cells))
        return None if tied is None else np.repeat(tied, parts)


def _from_the_top(cells: FloatArray) -> FloatArray:
    """Sums of the highest cells, from none to all: (..., cells) to (..., cells + 1)."""
    none = np.zeros((*cells.shape[:-1], 1))
    return np.concatenate([none, np.cumsum(cells[..., ::-1], axis=-1)], axis=-1)
