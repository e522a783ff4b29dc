"""NOT PRIVATE as printed. PriRP: bounds on a doubling grid, equal cells within them, DAWA; and the same put right.

DAWA is that of `as_printed.py`, which loses more than it says, and also noise for one record more or less where
neighbours are said to have one record changed. Put right, DAWA is that of dpcurves, with noise for a changed record.
Chance of what is printed is in floating point. Nothing here that says so is for data of persons.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from as_printed import estimate_not_private
from plane import COVERAGE, PREDICTED, RESIDUAL, Density, Edges, Floats, Records, conversed, replaced

from dpcurves.conversation import WHOLE_BUDGET
from dpcurves.data import Axis, Grid, Outside
from dpcurves.histograms import DawaEstimator, TableEstimator
from dpcurves.mechanisms import AUTO, Mechanism
from dpcurves.privacy import Adjacency

Bounded = tuple[float, float]
Method = Callable[[Records, float, int], Density]
"""One release of a data set, at epsilon, from a seed."""
DOUBLINGS = 64
MOST_FOR_BOUNDS, ENOUGH_FOR_BOUNDS = 0.3, 470


def prirp_not_private(records: Records, epsilon: float, seed: int) -> Density:
    """PriRP as printed: negative counts to 0, rounded; as many points as these."""
    chance = np.random.default_rng(seed)
    edges, left = equal_cells(records, epsilon, chance)
    estimate = np.rint(np.maximum(estimate_not_private(records.histogram(edges), left, chance), 0.0))
    return density_of(estimate, edges)


def prirp_put_right(records: Records, epsilon: float, seed: int) -> Density:
    """PriRP with DAWA as dpcurves has it."""
    return estimated(DawaEstimator(), records, epsilon, seed, replaced(records))


def estimated(
    estimator: TableEstimator,
    records: Records,
    epsilon: float,
    seed: int,
    adjacency: Adjacency,
    *,
    mechanism: Mechanism = AUTO,
) -> Density:
    """PriRP with another histogram algorithm, which keeps its promise under this adjacency."""
    edges, left = equal_cells(records, epsilon, np.random.default_rng(seed))
    axes = _axis(PREDICTED, edges[0]), _axis(RESIDUAL, edges[1])
    found = conversed(
        records,
        lambda setting: estimator.estimate_table(axes, setting, WHOLE_BUDGET),
        left,
        seed,
        adjacency,
        mechanism=mechanism,
    )
    return density_of(np.rint(np.maximum(found.cells, 0.0)), edges)


def _axis(column: str, edges: Floats) -> Axis:
    grid = Grid(float(edges[0]), float(edges[-1]), cells=len(edges) - 1, outside=Outside.APART)
    return Axis(column, grid)


def equal_cells(records: Records, epsilon: float, chance: np.random.Generator) -> tuple[Edges, float]:
    """Edges of the grid of Algorithm 9 within private bounds, and what is left of epsilon."""
    first = min(MOST_FOR_BOUNDS, ENOUGH_FOR_BOUNDS / (epsilon * records.size)) * epsilon
    width, height = (
        bound(values, unit, first / 2, chance)
        for values, unit in zip((records.predicted, records.residual), records.units, strict=True)
    )
    parts = side(records.size, epsilon)
    return (np.linspace(-width, width, parts + 1), np.linspace(-height, height, parts + 1)), epsilon - first


def side(records: int, epsilon: float) -> int:
    """How many cells each axis has."""
    return max(1, round(sqrt(float(COVERAGE) ** 2 * records * epsilon / 10)))


def bound(values: Floats, unit: float, epsilon: float, chance: np.random.Generator) -> float:
    """Algorithm 10, which is private where the number of records is public; it ends after 64 doublings here."""
    intervals = unit * 2.0 ** np.arange(DOUBLINGS)
    inside = np.searchsorted(np.sort(np.abs(values)), intervals, side="right")
    noisy = inside + chance.laplace(0, 4 / epsilon, DOUBLINGS)
    threshold = float(COVERAGE) * len(values) + chance.laplace(0, 2 / epsilon)
    return float(intervals[np.argmax(noisy >= threshold)]) if (noisy >= threshold).any() else float(intervals[-1])


def density_of(estimate: Floats, edges: Edges) -> Density:
    """Make whole counts not below zero a density."""
    total = float(estimate.sum())
    return Density(estimate / max(total, 1.0), edges, round(total))
