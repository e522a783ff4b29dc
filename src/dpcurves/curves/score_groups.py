"""Groups of like scores: how many, how many of them positive, and their mean score. Three turns.

The cuts are chosen in private; then positives and negatives are counted and distances of scores from the middle of
their group summed. A record lies in one group, in one class, and its distance is at most half the group's width.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Axis, Categories, CountQuery, CutQuery, Grid, Outside, Read, SumQuery
from ..postprocess import DRAWS, least_squares, noise_draws, public_generator
from ..release import Evidence, Release, Step

FloatArray = NDArray[np.float64]
HALF = 2**39  # a group's width is 2**40 steps of its lattice
SHARES = Fraction(1, 5), Fraction(3, 5), Fraction(1, 5)
SCORES = Grid(0, 1, cells=4096)


@dataclass(frozen=True, eq=False)
class ScoreGroups:
    """What was released about groups of like scores. Unbiased, so anything may be below zero.

    Attributes:
        grid: The groups as cells.
        counts: Evidence of two rows: negatives, positives.
        sums: Evidence of two rows: sums of distances from the middle of the group, of negatives and of positives.
    """

    grid: Grid
    counts: Evidence
    sums: Evidence

    @cached_property
    def negative(self) -> FloatArray:
        """Records of the negative class, of shape ``(groups,)``."""
        return self._cells[0]

    @cached_property
    def positive(self) -> FloatArray:
        """Records of the positive class, of shape ``(groups,)``."""
        return self._cells[1]

    @cached_property
    def mean_score(self) -> FloatArray:
        """Mean score of each group, inside the group; its middle where the group may be empty."""
        return self.means(self.positive + self.negative, self._distance)

    def means(self, count: FloatArray, distance: FloatArray) -> FloatArray:
        """Mean scores from counts and summed distances, of any leading shape."""
        middle, edges = self._middle, self.grid.edges
        return np.clip(middle + distance / np.maximum(count, 1.0), edges[:-1], edges[1:])

    def deviations(self, generator: np.random.Generator | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Simulated noise of positives, negatives and summed distances, each of shape ``(draws, groups)``."""
        chance = public_generator(generator)
        counts = _drawn(self.counts, chance)
        sums = _drawn(self.sums, chance)
        return counts[:, 1], counts[:, 0], sums.sum(axis=1) * self._step

    @property
    def distance(self) -> FloatArray:
        """Summed distances of scores from the middle of their group, in units of the score."""
        return self._distance

    @cached_property
    def _cells(self) -> FloatArray:
        return least_squares(self.counts.measured, self.counts.values, self.counts.total).cells

    @cached_property
    def _distance(self) -> FloatArray:
        return least_squares(self.sums.measured, self.sums.values, None).cells.sum(axis=0) * self._step

    @property
    def _middle(self) -> FloatArray:
        edges = self.grid.edges
        return (edges[:-1] + edges[1:]) / 2

    @property
    def _step(self) -> FloatArray:
        return np.diff(self.grid.edges) / (2 * HALF)

    def to_json(self) -> dict[str, Any]:
        """Plain objects, for the evidence of a curve."""
        question = {"edges": self.grid.edges.tolist()}
        return {"question": question, "releases": [self.counts.to_json(), self.sums.to_json()]}

    @classmethod
    def from_json(cls, evidence: dict[str, Any]) -> ScoreGroups:
        """The inverse of `to_json`."""
        counts, sums = (Evidence.from_json(release) for release in evidence["releases"])
        return cls(Grid.from_edges(evidence["question"]["edges"]), counts, sums)


def grouped(
    classes: Categories, score: Axis, groups: int
) -> Generator[Step, Release, tuple[ScoreGroups, tuple[Release, ...]]]:
    """Ask for groups of about equal size; cuts at the same place leave one."""
    cuts_share, counts_share, sums_share = SHARES
    cuts = yield Step(CutQuery((score,), groups), cuts_share)
    cells = Axis(score.column, score.grid.cut(cuts.values))
    counts = yield Step(CountQuery((classes, cells), Read.CELLS), counts_share)
    sums = yield Step(SumQuery((classes, cells), half=HALF), sums_share)
    answer = ScoreGroups(cells.grid, Evidence.of(counts), Evidence.of(sums))
    return answer, (cuts, counts, sums)


def require_groups(groups: int, grid: Grid) -> None:
    """Groups can be formed.

    Raises:
        ValueError: there are fewer than 2, or values outside the grid have no group.
    """
    if groups < 2:
        raise ValueError(f"groups: at least 2 are needed, got {groups}")
    if grid.outside is Outside.APART:
        raise ValueError("grid: groups need scores outside the grid clamped, not counted apart")


def _drawn(evidence: Evidence, chance: np.random.Generator) -> FloatArray:
    chunks = noise_draws(evidence.measured, evidence.total, DRAWS, chance)
    return np.concatenate([cells for cells, _ in chunks])
