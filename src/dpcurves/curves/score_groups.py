"""Groups of like scores: how many, how many of them positive, and their mean score. Three turns.

The cuts are chosen in private; then positives and negatives are counted and distances of scores from the middle of
their group summed. A record lies in one group, in one class, and its distance is at most half the group's width.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Axis, Categories, CountQuery, CutQuery, Grid, Outside, Read, SumQuery
from ..postprocess import Groups, least_squares, noise_draws
from ..postprocess.generator import DRAWS, public_generator
from ..privacy.given import require_kind
from ..privacy.whole import whole
from ..release import Evidence, Release, Step

FloatArray = NDArray[np.float64]
HALF = 2**39  # a group's width is 2**40 steps of its lattice
SHARES = Fraction(1, 5), Fraction(3, 5), Fraction(1, 5)
SCORES = Grid(0, 1, cells=4096)
MOST_GROUPS = 1000


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
    def released(self) -> Groups:
        """Unbiased counts and sums of the groups."""
        negative, positive = least_squares(self.counts.measured, self.counts.values, self.counts.total).cells
        distances = least_squares(self.sums.measured, self.sums.values, self.sums.total).cells.sum(axis=0) * self._step
        return Groups(positive, negative, distances, self.grid.edges[:-1], self.grid.edges[1:])

    @property
    def noise_of_a_count(self) -> float:
        """Standard deviation of the noise of the records in one group, of both classes together."""
        return sqrt(2 * self.counts.measured.levels[-1].noise.variance)

    def deviations(self, generator: np.random.Generator | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Simulated noise of positives, negatives and summed distances, each of shape ``(draws, groups)``."""
        chance = public_generator(generator)
        counts, sums = _drawn(self.counts, chance), _drawn(self.sums, chance)
        return counts[:, 1], counts[:, 0], sums.sum(axis=1) * self._step

    @property
    def _step(self) -> FloatArray:
        return np.diff(self.grid.edges) / (2 * HALF)

    def to_json(self) -> dict[str, Any]:
        """Plain objects, for the evidence of a curve."""
        question = {"edges": self.grid.edges.tolist()}
        return {"question": question, "releases": [self.counts.to_json(), self.sums.to_json()]}

    @classmethod
    def from_json(cls, evidence: Mapping[str, Any]) -> ScoreGroups:
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


def groups_of(groups: int, grid: Grid, *, name: str = "groups") -> int:
    """How many groups can be formed; `name` is what they are called where they are asked for.

    Raises:
        ValueError: there are fewer than 2, or more than 1000, or values outside the grid have no group.
        TypeError: the grid is no `Grid`, or `groups` no whole number.
    """
    require_kind("grid", grid, Grid, "a Grid, as in Grid(0, 1, cells=64),")
    groups = whole(name, groups)
    if groups < 2:
        raise ValueError(f"{name}: at least 2 are needed, got {groups}")
    if groups > MOST_GROUPS:
        raise ValueError(f"{name}: at most {MOST_GROUPS} are cut, got {groups}")
    if grid.outside is Outside.APART:
        raise ValueError("grid: groups need scores outside the grid clamped, not counted apart")
    return groups


def _drawn(evidence: Evidence, chance: np.random.Generator) -> FloatArray:
    chunks = noise_draws(evidence.measured, evidence.total, DRAWS, chance)
    return np.concatenate([cells for cells, _ in chunks])
