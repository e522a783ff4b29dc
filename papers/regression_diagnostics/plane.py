"""Residual plots answered in process: mechanisms and reading are the package's, exact counts are kept between runs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import Plan, Release, Setting, Step
from dpcurves.curves import Question, ResidualPlotQuestion
from dpcurves.data import Axis, Categories
from dpcurves.mechanisms import AUTO, Mechanism
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import DISJOINT_RECORDS, EACH_RECORD, Adjacency, ModelOrigin, PrivacyLoss, ReplaceOne
from dpcurves.queries import CoverageQuery, Query, TreePartitionQuery
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

Floats = NDArray[np.float64]
Edges = tuple[Floats, Floats]
Found = TypeVar("Found")
Steps = Callable[[Setting], Generator[Step, Release, Found]]
PREDICTED, RESIDUAL = "predicted", "residual"
COVERAGE = "0.95"
DIGITS = 12


@dataclass(frozen=True, eq=False)
class Records:
    """Predictions and residuals of one data set.

    Attributes:
        predicted, residual: One of each for every record.
        units: What bounds of each are doubled from.
    """

    predicted: Floats
    residual: Floats
    units: tuple[float, float] = (1.0, 1.0)
    _tables: dict[tuple[Axis | Categories, ...], NDArray[np.int64]] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.residual)

    def table(self, axes: tuple[Axis | Categories, ...]) -> NDArray[np.int64]:
        """The exact counts along these axes; no record is missing. Kept."""
        if axes not in self._tables:
            self._tables[axes] = self._counted(axes)
        return self._tables[axes]

    def histogram(self, edges: Edges) -> Floats:
        """The exact counts between edges; what lies beyond is left out."""
        counts, _, _ = np.histogram2d(self.predicted, self.residual, bins=edges)
        return np.asarray(counts)

    def _counted(self, axes: tuple[Axis | Categories, ...]) -> NDArray[np.int64]:
        place, slots = np.zeros(self.size, dtype=np.int64), 1
        for axis in axes:
            if not isinstance(axis, Axis):
                raise TypeError(f"axes: columns of numbers are needed, got {axis}")
            values = self.predicted if axis.column == PREDICTED else self.residual
            place, slots = place * axis.slots + axis.grid.cell_of(values), slots * axis.slots
        return np.bincount(place, minlength=slots + 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Density:
    """What a plot shows: shares of cells, 1 together, and how many points are drawn from them."""

    shares: Floats
    edges: Edges
    points: int


def drawn_from(density: Density, edges: Edges, chance: np.random.Generator) -> Floats:
    """Shares of the points of a scatter in other cells: the distribution of points drawn one by one, evenly in each
    cell."""
    across, upwards = (_overlap(own, to) for own, to in zip(density.edges, edges, strict=True))
    inside = across.T @ density.shares @ upwards
    chances = np.append(inside, max(1 - inside.sum(), 0.0))
    counts = chance.multinomial(density.points, chances / chances.sum())[:-1]
    return np.asarray(counts.reshape(inside.shape) / max(density.points, 1))


def _overlap(own: Floats, to: Floats) -> Floats:
    """What part of each cell lies in each of the others."""
    common = np.minimum(own[1:, None], to[None, 1:]) - np.maximum(own[:-1, None], to[None, :-1])
    return np.asarray(np.maximum(common, 0.0) / np.diff(own)[:, None])


def released(records: Records, epsilon: float, seed: int, model: ModelOrigin = DISJOINT_RECORDS) -> Density:
    """By dpcurves."""
    question = ResidualPlotQuestion(PREDICTED, RESIDUAL, *records.units, COVERAGE, model)
    plot = conversed(records, partial(by_curator, question), epsilon, seed, replaced(records))
    return Density(plot.density, (plot.x_edges, plot.y_edges), records.size)


def by_curator(question: Question[Found], setting: Setting) -> Generator[Step, Release, Found]:
    """The steps by which one curator gets what a question needs."""
    return run_conversation(question, setting.loss, setting.adjacency, Central())


def replaced(records: Records) -> ReplaceOne:
    """Neighbours have one record changed; how many there are is public."""
    return ReplaceOne(EACH_RECORD, records.size)


def conversed(
    records: Records,
    steps: Steps[Found],
    epsilon: float,
    seed: int,
    adjacency: Adjacency,
    *,
    mechanism: Mechanism = AUTO,
) -> Found:
    """What a conversation makes of the records, for epsilon in all."""
    loss, chance = PrivacyLoss.pure(f"{epsilon:.{DIGITS}g}"), Randomness.from_seed(seed)

    def reply(step: Step) -> Release:
        plan = _plan(mechanism, step.query, loss * step.budget_fraction, adjacency)
        return Release(plan, mechanism.run(records.table(step.query.axes), plan, chance), None, seeded=True)

    return answer_steps(steps(Setting(loss, adjacency)), reply)


def _plan(mechanism: Mechanism, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
    kept = isinstance(query, CoverageQuery | TreePartitionQuery)
    return _kept_plan(mechanism.plan, query, loss, adjacency) if kept else mechanism.plan(query, loss, adjacency)


@lru_cache(maxsize=256)
def _kept_plan(
    planned: Callable[[Query, PrivacyLoss, Adjacency], Plan], query: Query, loss: PrivacyLoss, adjacency: Adjacency
) -> Plan:
    """Plans of bounds and of partitions are asked for again and again."""
    return planned(query, loss, adjacency)
