"""Groups of similar scores, read from the counts of all cells: for who can not count again on cells that were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import FloatArray, IntArray
from ...data import Grid
from ...postprocess import GroupCounts, GroupNoise, shrunken_estimate
from ...postprocess.inference.simulation_seed import draws_for, public_generator
from ...release import Evidence
from ...workloads import Grouped
from .declared_grid import read_grid, written_cells
from .score_groups import MeasuredGroups, ScoreGroups


@dataclass(frozen=True, eq=False)
class CountedGroups(ScoreGroups):
    """Groups of about equal size, as released counts of both classes in all cells tell.

    The middle of its cell stands for a score: a mean score is off by half a cell at most. Where the groups end depends
    on the same counts; what they hold is read without bias, but for the cells beside an end, which noise has chosen.

    Attributes:
        groups: How many groups were asked for; fewer where scores are tied.
    """

    groups: int

    @cached_property
    def starts(self) -> IntArray:
        """The first cell of each group."""
        likely = shrunken_estimate(self.counts.sums, self.counts.values, self.counts.total)
        below = np.cumsum(np.maximum(self._inside(likely).sum(axis=0), 0.0))
        shares = np.arange(1, self.groups) / self.groups
        inner = np.searchsorted(below, shares * below[-1]) + 1
        return np.unique(np.concatenate([[0], inner[inner < self.cells.cells]]))

    @cached_property
    def grid(self) -> Grid:
        """The groups as cells."""
        return self.cells.cut(self.starts[1:].tolist())

    @cached_property
    def released(self) -> GroupCounts:
        """Unbiased counts and sums of the groups."""
        noisy = self._grouped(self._inside(self._counted)[None])
        (positive,), (negative,), (centred,) = noisy
        return GroupCounts(positive, negative, centred, self.grid.edges[:-1], self.grid.edges[1:])

    @cached_property
    def noise_of_a_count(self) -> float:
        """Standard deviation of the noise of the records in one group, of both classes together: on average."""
        noise = self._simulated
        return float(np.sqrt((noise.positive + noise.negative).var(axis=0).mean()))

    @cached_property
    def noise_of_surplus(self) -> FloatArray:
        """Variance of the noise of positives less expected ones, for each group: as simulated."""
        return np.asarray(self._simulated.surplus(self.released.middle).var(axis=0))

    def deviations(self, generator: np.random.Generator | None) -> GroupNoise:
        """Simulated noise of what was released."""
        law = self.counts.sums
        draws = draws_for(law.rows * law.cells)
        chunks = law.simulate(self.counts.total, draws, public_generator(generator))
        parts = [self._grouped(self._inside(cells)) for cells, _ in chunks]
        return GroupNoise(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @cached_property
    def _simulated(self) -> GroupNoise:
        return self.deviations(None)

    def _grouped(self, cells: FloatArray) -> GroupNoise:
        """Positives, negatives and sums of distances from the middle of each group, of cells (..., 2, cells)."""
        edges, ends = self.cells.edges, np.append(self.starts, self.cells.cells)
        middles = np.repeat((edges[ends[:-1]] + edges[ends[1:]]) / 2, np.diff(ends))
        distances = (edges[:-1] + edges[1:]) / 2 - middles
        kinds = cells[..., 1, :], cells[..., 0, :], cells.sum(axis=-2) * distances
        return GroupNoise(*(np.add.reduceat(kind, self.starts, axis=-1) for kind in kinds))

    def to_json(self) -> dict[str, Any]:
        """Plain objects, for the evidence of a curve."""
        question = {
            "edges": self.cells.edges.tolist(), **written_cells(self.cells), "groups": self.groups
        }  # fmt: skip
        return {"question": question, "releases": [self.counts.to_json()]}


def groups_from_json(evidence: Mapping[str, Any]) -> ScoreGroups:
    """The groups that `to_json` wrote, of either kind."""
    question = evidence["question"]
    if "groups" not in question:
        return MeasuredGroups.from_json(evidence)
    cells = read_grid(question)
    (counts,) = evidence["releases"]
    return CountedGroups(cells, Evidence.from_json(counts), int(question["groups"]))


def groups_in(found: Grouped, groups: int, least: int = 0) -> ScoreGroups:
    """So many groups at most, as they were counted; or as the counts of all cells tell.

    The latter are no more than seem to hold `least` records each. Tied scores stay together, so groups beside them may
    hold fewer.
    """
    counts = Evidence.of(found.counts)
    if found.sums is None:
        filled = int(max(float(counts.unbiased.sum()), 0.0) // least) if least else groups
        return CountedGroups(found.grid, counts, max(1, min(groups, filled)))
    return MeasuredGroups(found.grid, counts, Evidence.of(found.sums))
