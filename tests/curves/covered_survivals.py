"""Whether the band of a survival curve, its median, and the numbers at risk held what they say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf

import numpy as np
from by_hand import answer, both
from kinds import POPULATIONS, SIZE, Case, FloatArray

from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival import SurvivalQuestion


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of one release."""
    grid, (time, event) = POPULATIONS[case.data].grid, population(case.data)
    drawn = np.random.default_rng([seed, case.units, case.adjacency]).integers(SIZE, size=case.units)
    columns, adjacency = {"t": time[drawn], "e": event[drawn]}, both(case.units)[case.adjacency]
    found = answer(SurvivalQuestion("t", "e", grid), columns, PrivacyLoss.pure(case.epsilon), adjacency, seed)
    at_risk = counted(time[drawn], event[drawn], grid)[1]
    lower, upper = found.at_risk_intervals(level)[1:].T
    yield "at risk, records", bool(((lower <= at_risk + 1e-6) & (at_risk <= upper + 1e-6)).all())
    of = {"records": (time[drawn], event[drawn], grid), "population": (time, event, grid)}
    for whom, curve in (("records", kaplan_meier(time[drawn], event[drawn], grid)), ("population", truth(case.data))):
        lower, upper = found.band(level, population=whom == "population")
        yield f"band, {whom}", bool(((lower <= curve + 1e-9) & (curve <= upper + 1e-9)).all())
        low, high = found.median_interval(level, population=whom == "population")
        yield f"median, {whom}", low <= exact_median(*of[whom]) <= high


@lru_cache
def population(data: str) -> tuple[FloatArray, FloatArray]:
    """Times, and whether they are those of events: half of the records are observed until some time of another one."""
    draw, values = np.random.default_rng(43), POPULATIONS[data].values
    until = np.where(draw.random(SIZE) < 0.5, draw.permutation(values) * 1.3, inf)
    return np.minimum(values, until), (values <= until).astype(np.float64)


@lru_cache
def truth(data: str) -> FloatArray:
    return kaplan_meier(*population(data), POPULATIONS[data].grid)


def kaplan_meier(time: FloatArray, event: FloatArray, grid: Grid) -> FloatArray:
    """The share that survives each edge."""
    died, at_risk = counted(time, event, grid)
    return np.append(1.0, np.cumprod(1 - died / np.maximum(at_risk, 1)))


def counted(time: FloatArray, event: FloatArray, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Events and records at risk of each cell: times below count in the first cell, all in a cell come at its end."""
    cells = np.clip(np.searchsorted(grid.edges, time, side="right") - 1, 0, grid.cells)
    cells[time == grid.upper] = grid.cells - 1
    died = np.bincount(cells, event, minlength=grid.cells + 1)[:-1].astype(np.float64)
    left = np.bincount(cells, minlength=grid.cells + 1).astype(np.float64)
    return died, np.cumsum(left[::-1])[::-1][:-1]


def exact_median(time: FloatArray, event: FloatArray, grid: Grid) -> float:
    """The first time past which at most half are left, by exact times; beyond the grid infinite."""
    known, place = np.unique(np.maximum(time, grid.lower), return_inverse=True)
    left = np.bincount(place)
    share = np.cumprod(1 - np.bincount(place, event) / np.cumsum(left[::-1])[::-1])
    passed = known[share <= 0.5]
    return float(passed[0]) if len(passed) and passed[0] <= grid.upper else inf
