"""Groups of similar scores: how many, how many of them positive, and their mean score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, Protocol

import numpy as np

from ...arguments import Refused, require_kind, whole
from ...arrays import FloatArray
from ...data import Grid, Outside
from ...postprocess import GroupCounts, GroupNoise
from ...postprocess.inference.simulation_seed import draws_for, public_generator
from ...privacy import PrivacyLoss
from ...release import Evidence, PrivacyStatement, Setting
from ...workloads import HALF
from ..question import require_independent
from .declared_grid import read_grid, written_cells

MOST_GROUPS = 1000
DEVIATIONS = 5
"""Standard deviations of its noise that a number of scores outside the grid has to have, or nothing is said of it."""


class GroupEnds(Protocol):
    """Lower and upper ends for each group, from simulated noise and, for the population, draws for sampling."""

    def __call__(self, groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
        """At this level: ``(groups, 2)``."""
        ...


@dataclass(frozen=True, eq=False)
class ScoreGroups(ABC):
    """Released counts of groups of similar scores. Unbiased, so any of them may be below zero.

    Attributes:
        cells: The cells that were counted; scores outside of them are in no group if they are counted apart.
        counts: Evidence of two rows: negatives, positives.
    """

    cells: Grid
    counts: Evidence

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The groups as cells."""

    @property
    @abstractmethod
    def released(self) -> GroupCounts:
        """Unbiased counts and sums of the groups."""

    @property
    def outside(self) -> tuple[float, float]:
        """Records with a score below the grid, and above it: unbiased, so perhaps less than none."""
        if self.cells.outside is Outside.CLAMPED:
            return 0.0, 0.0
        below, *_, above = self._counted.sum(axis=0).tolist()
        return below, above

    @cached_property
    def _counted(self) -> FloatArray:
        return self.counts.unbiased

    def _inside(self, cells: FloatArray) -> FloatArray:
        """Without those that are counted apart, (..., slots) to (..., cells)."""
        return cells if self.cells.outside is Outside.CLAMPED else cells[..., 1:-1]

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if there are more scores outside of the grid than noise may have made."""
        below, above = self.outside
        if below + above < DEVIATIONS * sqrt(2) * self.noise_of_a_count:
            return ()
        share = (below + above) / max(below + above + float(self.released.count.sum()), 1.0)
        ends = f"{self.grid.lower:g} to {self.grid.upper:g}"
        return (
            f"about {share:.1%} of the scores lie outside of {ends} ({max(below, 0.0):,.0f} below, "
            f"{max(above, 0.0):,.0f} above, by the released counts): they are in no group",
        )

    @property
    def likely_means(self) -> FloatArray:
        """About the mean score of each group; unlike `released.mean`, noisy ones are drawn to the middle."""
        return self.released.mean

    @property
    @abstractmethod
    def noise_of_a_count(self) -> float:
        """Standard deviation of the noise of the records in one group, of both classes together."""

    @property
    @abstractmethod
    def noise_of_surplus(self) -> FloatArray:
        """Variance of the noise of positives less expected ones, for each group."""

    @abstractmethod
    def deviations(self, generator: np.random.Generator | None) -> GroupNoise:
        """Simulated noise of what was released."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain objects, for the evidence of a curve."""

    def draws(self, generator: np.random.Generator | None) -> tuple[GroupNoise, FloatArray]:
        """Simulated noise of what was released, and normal draws of the same shape for sampling."""
        chance = public_generator(generator)
        noise = self.deviations(chance)
        return noise, chance.standard_normal(noise.positive.shape)

    def intervals(
        self,
        ends: GroupEnds,
        level: float,
        privacy: PrivacyStatement,
        *,
        population: bool,
        generator: np.random.Generator | None,
    ) -> FloatArray:
        """The intervals that `ends` finds for each group, for these records or for the population: ``(groups, 2)``.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        if population:
            require_independent(privacy)
        noise, normal = self.draws(generator)
        return ends(self.released, noise, normal if population else None, level)


@dataclass(frozen=True, eq=False)
class MeasuredGroups(ScoreGroups):
    """Groups whose counts and sums were asked for: the groups are the cells.

    Attributes:
        sums: Evidence of two rows: sums of distances from the middle of the group, of negatives and of positives.
    """

    sums: Evidence

    @property
    def grid(self) -> Grid:
        """The groups as cells."""
        return self.cells

    @cached_property
    def released(self) -> GroupCounts:
        """Unbiased counts and sums of the groups."""
        negative, positive = self._inside(self._counted)
        distances = self._inside(self.sums.unbiased).sum(axis=0) * self._step
        return GroupCounts(positive, negative, distances, self.grid.edges[:-1], self.grid.edges[1:])

    @property
    def noise_of_a_count(self) -> float:
        """Standard deviation of the noise of the records in one group, of both classes together."""
        return sqrt(2 * self.counts.sums.nested.parts[-1].noise.variance)

    @property
    def likely_means(self) -> FloatArray:
        """Means of scores, as far as their noise allows; the rest is the middle of the group.

        Scores lie more or less evenly in a group, so that their mean is taken to be off the middle by an eighth of the
        width, as a standard deviation.
        """
        groups, width = self.released, np.diff(self.grid.edges)
        sums = self._inside(self.sums.sums.noise_by_source(self.sums.total)).sum(axis=1) * self._step
        noise = (sums**2).sum(axis=0) / np.maximum(groups.count, 1.0) ** 2
        kept = (width / 8) ** 2 / ((width / 8) ** 2 + noise)
        return np.asarray(groups.middle + kept * (groups.mean - groups.middle))

    @cached_property
    def noise_of_surplus(self) -> FloatArray:
        """Variance of the noise of positives less expected ones, for each group."""
        counts, sums = (self._inside(each.sums.noise_by_source(each.total)) for each in (self.counts, self.sums))
        middle = self.released.middle
        counted = (1 - middle) * counts[:, 1] - middle * counts[:, 0]
        summed = sums.sum(axis=1) * self._step
        return np.asarray((counted**2).sum(axis=0) + (summed**2).sum(axis=0))

    def deviations(self, generator: np.random.Generator | None) -> GroupNoise:
        """Simulated noise of what was released."""
        chance = public_generator(generator)
        counts, sums = (self._inside(_drawn(each, chance)) for each in (self.counts, self.sums))
        return GroupNoise(counts[:, 1], counts[:, 0], sums.sum(axis=1) * self._step)

    @property
    def _step(self) -> FloatArray:
        return np.diff(self.grid.edges) / (2 * HALF)

    def to_json(self) -> dict[str, Any]:
        """Plain objects, for the evidence of a curve."""
        question = {"edges": self.grid.edges.tolist(), **written_cells(self.grid)}
        return {"question": question, "releases": [self.counts.to_json(), self.sums.to_json()]}

    @classmethod
    def from_json(cls, evidence: Mapping[str, Any]) -> MeasuredGroups:
        """The inverse of `to_json`."""
        counts, sums = (Evidence.from_json(release) for release in evidence["releases"])
        question = evidence["question"]
        return cls(read_grid(question), counts, sums)


def noise_of_a_count(loss: PrivacyLoss, setting: Setting) -> float:
    """About the standard deviation of the noise of one count of disjoint ones."""
    if loss.epsilon is not None:
        return sqrt(2) * float(setting.adjacency.l1_sensitivity / loss.epsilon)
    return sqrt(setting.adjacency.squared_l2_sensitivity / (2 * loss.rho))


def groups_of(groups: int, grid: Grid, *, name: str = "groups") -> int:
    """The number of groups that can be formed; `name` is the argument to blame.

    Raises:
        ValueError: there are fewer than 2, or more than 1000, or the grid leaves [0, 1].
        TypeError: the grid is no `Grid`, or `groups` no whole number.
    """
    require_kind("grid", grid, Grid, "a Grid, as in Grid(0, 1, cells=64),")
    groups = whole(name, groups)
    if groups < 2:
        raise Refused(name, f"at least 2 are needed, got {groups}")
    if groups > MOST_GROUPS:
        raise Refused(name, f"at most {MOST_GROUPS} are cut, got {groups}")
    low, high = grid.ends
    if low < 0 or high > 1:
        raise Refused("grid", f"predicted probabilities lie in [0, 1], got {low:g} to {high:g}")
    return groups


def _drawn(evidence: Evidence, chance: np.random.Generator) -> FloatArray:
    law = evidence.sums
    chunks = law.simulate(evidence.total, draws_for(law.rows * law.cells), chance)
    return np.concatenate([cells for cells, _ in chunks])
