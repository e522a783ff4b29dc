"""How often intervals of U-statistics hold, on tied, heaped, zero-inflated, clipped and smooth values.

Samples are drawn from a long list with replacement, so that records are independent and their distribution is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from by_hand import answer, both
from kinds import POPULATIONS, Case, FloatArray

import dpcurves as dp
from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss

NAMES = "mean difference", "variance", "coefficient", "collisions", "area"
CAUTIOUS = frozenset(f"{name}, {whom}" for name in NAMES for whom in ("records", "population"))
"""All of them hold whatever the values are inside of their cells."""


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Which intervals of one release hold; the area is that of two samples, each released on its own."""
    population, grid = POPULATIONS[case.data]
    draw = np.random.default_rng([seed, case.units, case.adjacency, 7])
    whole = np.clip(population, grid.lower, grid.upper)
    rising = np.clip(population + (grid.upper - grid.lower) / 20, grid.lower, grid.upper)
    first, second = (draw.choice(each, case.units) for each in (whole, rising))
    adjacency, loss = both(case.units)[case.adjacency], PrivacyLoss.pure(case.epsilon)
    curves = [
        answer(dp.CdfQuestion("x", grid), {"x": each}, loss, adjacency, 2 * seed + number)
        for number, each in enumerate((first, second))
    ]
    found = _found(curves[0]) | {"area": dp.area_between(*curves)}
    if grid.lower >= 0:
        found["coefficient"] = dp.gini_coefficient(curves[0])
    for whom, (one, other), replaced in (("records", (first, second), 0), ("population", (whole, rising), 1)):
        for name, truth in _truths(one, other, grid, replaced).items():
            if name in found:
                low, high = found[name].interval(level, population=bool(replaced))
                yield f"{name}, {whom}", low - 1e-9 <= truth <= high + 1e-9


def _found(curve: dp.CDF) -> dict[str, dp.UStatistic]:
    return {
        "mean difference": dp.gini_mean_difference(curve),
        "variance": dp.sample_variance(curve),
        "collisions": dp.collision_probability(curve),
    }


def _truths(first: FloatArray, second: FloatArray, grid: Grid, replaced: int) -> Mapping[str, float]:
    """Means over pairs of different people; or of people who are drawn from a list, and put back."""
    many = len(first)
    ranks = 2 * np.arange(1, many + 1) - many - 1
    pairs = many * (many - 1 + replaced)
    apart = 2 * float(ranks @ np.sort(first)) / pairs
    cells = np.bincount(grid.cell_of(first)).astype(np.float64)
    below, not_above = (np.searchsorted(np.sort(first), second, side=side).mean() / many for side in ("left", "right"))
    return {
        "mean difference": apart,
        "variance": float(first.var(ddof=1 - replaced)),
        "coefficient": apart / (2 * float(first.mean())),
        "collisions": float((cells * (cells - 1 + replaced)).sum()) / pairs,
        "area": float(below + not_above) / 2,
    }
