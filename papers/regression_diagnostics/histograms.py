"""Estimated counts of cells in a line, by all histogram algorithms of dpcurves, each of which keeps its promise."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from baselines import NoisyBuckets, UniformEstimator
from numpy.typing import NDArray

from dpcurves.conversation import WHOLE_BUDGET, Evidence, Plan, Release, Setting, Step
from dpcurves.data import Axis, Grid
from dpcurves.distributions import NoisySums
from dpcurves.estimation import estimate_unbiased, shrink_estimate
from dpcurves.histograms import (
    AhpEstimator,
    CellEstimator,
    DawaEstimator,
    EstimatedTable,
    HierarchyEstimator,
    MwemEstimator,
    PrivTreeEstimator,
    TableEstimator,
)
from dpcurves.mechanisms import AUTO, Haar, Mechanism, TreeSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, IntervalPartitionQuery, Query
from dpcurves.session import answer_steps

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Estimate = Callable[[Counts, float, int, Adjacency], Floats]
"""Estimate counts from exact ones, at epsilon, from a seed."""
Reader = Callable[[NoisySums, tuple[int, ...], int | None], Floats]
Asking = Callable[[tuple[Axis, ...], Setting], Generator[Step, Release, EstimatedTable]]
DIGITS = 12


@dataclass(frozen=True)
class AllNoisy:
    """The chooser, but for partitions those in which every interval has noise."""

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done."""
        return (NoisyBuckets() if isinstance(query, IntervalPartitionQuery) else AUTO).plan(query, loss, adjacency)

    def run(
        self, table: NDArray[np.int64] | NDArray[np.object_], plan: Plan, randomness: Randomness
    ) -> tuple[int, ...]:
        """What the plan says."""
        return (NoisyBuckets() if isinstance(plan.query, IntervalPartitionQuery) else AUTO).run(table, plan, randomness)


def asked(
    row: Counts, epsilon: float, seed: int, adjacency: Adjacency, *, steps: Asking, mechanism: Mechanism = AUTO
) -> Floats:
    """What a conversation makes of a row of counts, for this loss in all."""
    loss, table, chance = PrivacyLoss.pure(f"{epsilon:.{DIGITS}g}"), np.append(row, 0), Randomness.from_seed(seed)

    def reply(step: Step) -> Release:
        plan = mechanism.plan(step.query, loss * step.budget_fraction, adjacency)
        return Release(plan, mechanism.run(table, plan, chance), None, seeded=True)

    return answer_steps(steps(line(len(row)), Setting(loss, adjacency)), reply).cells


def line(cells: int) -> tuple[Axis, ...]:
    """The axes of a row of cells."""
    return (Axis("place", Grid(0, 1, cells=cells)),)


def estimated(estimator: TableEstimator, mechanism: Mechanism = AUTO) -> Estimate:
    """By a histogram algorithm of several turns."""

    def steps(axes: tuple[Axis, ...], setting: Setting) -> Generator[Step, Release, EstimatedTable]:
        return estimator.estimate_table(axes, setting, WHOLE_BUDGET)

    def estimate(row: Counts, epsilon: float, seed: int, adjacency: Adjacency) -> Floats:
        return asked(row, epsilon, seed, adjacency, steps=steps, mechanism=mechanism)

    return estimate


def _unbiased(distribution: NoisySums, values: tuple[int, ...], total: int | None) -> Floats:
    return estimate_unbiased(distribution, values, total).cells


def counted(mechanism: Mechanism, read: Reader = _unbiased) -> Estimate:
    """By one count of all cells that is read as prefixes."""

    def estimate(row: Counts, epsilon: float, seed: int, adjacency: Adjacency) -> Floats:
        query, loss = CountQuery(line(len(row)), CountUse.PREFIXES), PrivacyLoss.pure(f"{epsilon:.{DIGITS}g}")
        plan = mechanism.plan(query, loss, adjacency)
        values = mechanism.run(np.append(row, 0), plan, Randomness.from_seed(seed))
        evidence = Evidence.from_release(Release(plan, values, None, seeded=True))
        cells: Floats = read(evidence.sums, evidence.values, evidence.total)[0]
        return cells

    return estimate


DAWA, DAWA_ALL_NOISY, HB, LAPLACE, AHP, MWEM, UNIFORM = (
    "DAWA", "DAWA, all intervals noisy", "HB", "LM", "AHP", "MWEM", "Uniform"
)  # fmt: skip
SMOOTHED = "tree, smoothed (dpcurves)"
SOUND: dict[str, Estimate] = {
    DAWA: estimated(DawaEstimator()),
    DAWA_ALL_NOISY: estimated(DawaEstimator(), AllNoisy()),
    HB: estimated(HierarchyEstimator()),
    LAPLACE: estimated(CellEstimator()),
    AHP: estimated(AhpEstimator()),
    MWEM: estimated(MwemEstimator()),
    UNIFORM: estimated(UniformEstimator()),
    "PrivTree": estimated(PrivTreeEstimator()),
    "Privelet": counted(Haar()),
    SMOOTHED: counted(TreeSums(), shrink_estimate),
}
"""Those of Table 4.4, and others."""
