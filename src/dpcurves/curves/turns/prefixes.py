"""Shares of records below each edge of a grid, and how far noise may have moved them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Refused
from ...arrays import FloatArray
from ...data import Grid, Outside
from ...laws.law import NoisySums
from ...postprocess import Band, Sample, monotone_prefixes, shrunken_estimate
from ...postprocess.estimation.joint_estimate import ConvolvedEstimate, JointEstimate, together
from ...postprocess.inference.bands import PILOT
from ...postprocess.inference.population_band import seen
from ...postprocess.inference.quantile_tests import are_few, ends_by_tests
from ...postprocess.inference.simulation_seed import draws_for, public_generator, sampling_generator
from ...release import Evidence

MOST_KEPT = 2**22
"""Numbers of simulated noise that are kept for other curves of the same law: 32 MB."""


@dataclass(frozen=True, eq=False)
class PrefixShares:
    """Readings of one row of counts along a grid.

    What is best is read from all turns; what has to be unbiased, from the last one alone, so that bands and intervals
    cover as often as they say. *Proof.* Let A be the earlier answers. They fix the intervals of the last turn and the
    law of its noise, which is drawn afresh: given A, its unbiased reading at the ends of its intervals is off by noise
    of a known law, so a bound that is simulated from this law holds at all ends at once with chance `level` given A.
    Inside an interval the curve, which does not fall, lies between its ends, whatever the interval holds. A chance that
    is `level` given each A is `level`. Hence A may choose intervals by any rule, also by how wide the band will be:
    that changes its width, not its coverage. Merged with the earlier turns a reading might not cover: where their noise
    was high or low decided where the last turn looked.

    Attributes:
        evidence: Counts of one row of cells: of the last turn, if there were several.
        grid: Where the cells lie.
        earlier: Counts of the same cells in the turns before.
    """

    evidence: Evidence
    grid: Grid
    earlier: tuple[Evidence, ...] = ()

    @classmethod
    def from_json(cls, releases: Sequence[Mapping[str, Any]], grid: Grid) -> PrefixShares:
        """From the releases of a curve, turn by turn.

        Raises:
            ValueError: there is none, or one is damaged.
        """
        if not releases:
            raise Refused("evidence", "a curve without releases cannot be read")
        *earlier, last = (Evidence.from_json(release).in_cells() for release in releases)
        return cls(last, grid, tuple(earlier))

    @cached_property
    def boundaries(self) -> FloatArray:
        """The ends of the counted cells, (slots + 1,): from -inf to inf, for values outside are in some cell."""
        return self.grid.boundary(np.arange(self.grid.slots + 1))

    @cached_property
    def cells(self) -> FloatArray:
        """The ends of each counted cell, (slots, 2): boundaries, or the one value that it holds."""
        return self.grid.within(np.arange(self.grid.slots)[:, None] + np.arange(2))

    def at_boundaries(self, shares: FloatArray) -> FloatArray:
        """Shares of records below each boundary, given those below each edge of the grid."""
        return np.concatenate([[0.0], shares, [1.0]]) if self.grid.outside is Outside.APART else shares

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """The evidence of all turns, in their order."""
        return *self.earlier, self.evidence

    @cached_property
    def total(self) -> float:
        """The number of records with a value: exact up to the noise of the missing cell, or estimated. At least 1."""
        return max(self._joint.total, 1.0) if self.earlier else self._own_total

    @cached_property
    def shares(self) -> FloatArray:
        """Non-decreasing shares in [0, 1] below each edge, of shape ``(cells + 1,)``, by empirical Bayes."""
        prefixes = monotone_prefixes(self._best, self.total)[0] / self.total
        if self.grid.outside is Outside.APART:
            return np.asarray(prefixes[1:-1])
        prefixes[-1] = 1.0  # nothing lies above the last edge
        return np.asarray(prefixes)

    @cached_property
    def unbiased_shares(self) -> FloatArray:
        """Shares before shrinkage and isotonic regression: linear in the released values but for the total."""
        return self._at_edges(np.cumsum(self._unbiased) / self._own_total)

    @cached_property
    def unbiased_below(self) -> FloatArray:
        """Records in the first slots, as the last turn counted them, without bias: (slots + 1,)."""
        return np.append(0.0, np.cumsum(self._unbiased))

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Mark the edges that bound a counted interval: the others are interpolated."""
        edges = self.evidence.sums.measured_edges
        return edges[1:-1] if self.grid.outside is Outside.APART else edges

    @property
    def below_measured(self) -> tuple[NDArray[np.int64], FloatArray]:
        """The numbers of the edges that were measured, and how many records lie below each, without bias."""
        known = np.flatnonzero(self.measured)
        return known, self.unbiased_shares[known] * self.total

    def deviations(self, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        """Simulated noise of `unbiased_shares` at the edges that were measured, in chunks of (draws, measured)."""
        below = self.unbiased_below[self.evidence.sums.bounds]
        for noise in self._noise_of_counts(generator):
            shares = (below + noise) / np.maximum(below[-1] + noise[:, -1:], 1.0) - below / self._own_total
            yield shares[:, 1:-1] if self.grid.outside is Outside.APART else shares

    def tested(
        self,
        p: FloatArray,
        cells: FloatArray,
        level: float,
        *,
        population: bool,
        generator: np.random.Generator | None,
    ) -> FloatArray | None:
        """Ends of a few quantiles by tests at the edges, (..., 2): see `ends_by_tests`. None where they are many.

        Args:
            p: Levels, (...).
            cells: The cells in which the curve has them, (..., 2). Intervals contain these: shrinkage may have taken
                them outside.
            level: The chance to hold all of the quantiles.
            population: Whether they are those of the population.
            generator: For the simulation; None: the public one, so that the same curve always has the same intervals.
        """
        bounds = self.evidence.sums.bounds
        if not are_few(p.size, level, draws_for(len(bounds))):
            return None
        chance = sampling_generator(generator) if population else None
        noise, below = self._noise_of_counts(generator), self.unbiased_below[bounds]
        found = ends_by_tests(below, noise, p.ravel(), level, chance)
        first, last = bounds[found[:, 0]], bounds[found[:, 1]] - 1
        ends = np.stack([self.cells[first, 0], self.cells[last, 1]], axis=-1).reshape(cells.shape)
        return np.stack([np.minimum(ends, cells)[..., 0], np.maximum(ends, cells)[..., 1]], axis=-1)

    def _noise_of_counts(self, generator: np.random.Generator | None) -> Iterable[FloatArray]:
        """Simulated noise of the counts below the edges that were measured, in chunks of (draws, measured)."""
        law, total = self.evidence.sums, self.evidence.total
        return _public_noise(law, total is not None) if generator is None else _noise(law, total, generator)

    def sample(self, generator: np.random.Generator | None) -> Sample:
        """Sampling at the edges that were measured."""
        return Sample(seen(self.shares[self.measured], self.total), self.total, sampling_generator(generator))

    def pinned(self, band: Band) -> Band:
        """A band at the edges of the grid, with none below the first and all below the last one where these clamp."""
        if self.grid.outside is not Outside.APART:
            for ends in band:
                ends[[0, -1]] = 0.0, 1.0
        return band

    @cached_property
    def _joint(self) -> JointEstimate | ConvolvedEstimate:
        return together(self.turns)

    @property
    def _best(self) -> FloatArray:
        """Cells with the least expected error, (1, cells).

        A smooth density is looked for in one turn only where the number of records is public: many curves of one
        release, whose numbers are not, would take half as long again.
        """
        if self.earlier:
            return self._joint.cells[None]
        own = self.evidence
        return shrunken_estimate(own.sums, own.values, own.total, along=own.total is not None)

    @cached_property
    def _own_total(self) -> float:
        return max(float(self._unbiased.sum()), 1.0)

    @cached_property
    def _unbiased(self) -> FloatArray:
        return np.asarray(self.evidence.unbiased[0])

    def _at_edges(self, cumulated: FloatArray) -> FloatArray:
        """Cumulated cells at each edge of the grid."""
        if self.grid.outside is Outside.APART:
            return np.asarray(cumulated[..., :-1])
        zero = np.zeros((*cumulated.shape[:-1], 1))
        return np.concatenate([zero, cumulated], axis=-1)


def _public_noise(law: NoisySums, total_is_public: bool) -> Iterable[FloatArray]:
    """From the fixed seed, so that of one law it is always the same: kept for the next curve, if it is not too large.

    The curves of all categories have one law.
    """
    if draws_for(len(law.bounds)) * len(law.bounds) <= MOST_KEPT:
        return (_kept_noise(law, total_is_public),)
    return _noise(law, 0 if total_is_public else None, public_generator(None))


@lru_cache(maxsize=2)  # a pure function of public facts
def _kept_noise(law: NoisySums, total_is_public: bool) -> FloatArray:
    found = np.concatenate(list(_noise(law, 0 if total_is_public else None, public_generator(None))))
    found.flags.writeable = False
    return found


def _noise(law: NoisySums, total: int | None, generator: np.random.Generator) -> Iterator[FloatArray]:
    return law.simulated_prefixes(total, PILOT + draws_for(len(law.bounds)), generator)
