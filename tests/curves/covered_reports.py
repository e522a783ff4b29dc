"""How often intervals of what people report who trust nobody hold, where reports are false often, seldom and hardly."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from kinds import DATA, POPULATIONS, Case, FloatArray

import dpcurves as dp
from dpcurves.arrays import BoolArray
from dpcurves.inference.two_samples import mann_whitney_statistic
from dpcurves.noise import Randomness
from dpcurves_local import Collection, FirstClass, Task, publish

P = (0.1, 0.25, 0.5, 0.9)
CASES = tuple(Case(*each, 1) for each in product(DATA, (300, 10_000), ("2", "10")))
CAUTIOUS = frozenset(
    f"{name}, {whom}" for name in ("quantiles", "area", "two rounds") for whom in ("records", "population")
)
"""Quantiles are told by edges of cells, areas by all orders within them, or for any scores of the second class."""


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of one distribution function, and of the area between it and that of another class."""
    population, grid = POPULATIONS[case.data]
    draw = np.random.default_rng([seed, case.units, 11])
    whole = np.clip(population, grid.lower, grid.upper)
    rising = np.clip(population + (grid.upper - grid.lower) / 20, grid.lower, grid.upper)
    own, other = draw.choice(whole, case.units), draw.choice(rising, case.units)
    found = reported(dp.QuantilesQuestion("x", grid, P), own, case, 2 * seed)
    curve = found.curve
    bins = curve.histogram(10)
    bits = _bits(grid, own, other, case, seed)
    area = dp.area_between(curve, reported(dp.CdfQuestion("x", grid), other, case, 2 * seed + 1))
    for whom, values, others in (("records", own, other), ("population", whole, rising)):
        asked = {"population": whom == "population"}
        shares = _below(values, grid)
        lower, upper = curve.band(level, **asked)
        yield f"band, {whom}", _within(lower, upper, shares)
        at = grid.nearest_edge(bins.x)
        yield f"bins, {whom}", _within(*_ends(bins.intervals(level, **asked)), np.diff(shares[at]))
        least, most = _quantiles(values)
        ends = _ends(found.intervals(level, **asked))
        yield f"quantiles, {whom}", _within(*ends, least) and _within(*ends, most)
        exact = _area(values, others)
        for name, found_area in (("area", area), ("two rounds", bits)):
            low, high = found_area.interval(level, **asked)
            yield f"{name}, {whom}", low <= exact <= high


def _bits(grid: dp.Grid, own: FloatArray, other: FloatArray, case: Case, seed: int) -> dp.UStatistic:
    """The area in two rounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.CurveWarning)
        first = collected(dp.CdfQuestion("x", grid), own, case, 2 * seed)
        area: dp.UStatistic = collected_by(publish(first, FirstClass.NEGATIVES, case.units), other, 3 * seed).curve()
    return area


def reported(question: Any, values: FloatArray, case: Case, seed: int) -> Any:
    """What is read from the reports of these people."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.CurveWarning)
        return collected(question, values, case, seed).curve()


def collected(question: Any, values: FloatArray, case: Case, seed: int) -> Collection:
    """The reports of these people."""
    return collected_by(Task(question, dp.PrivacyLoss.pure(case.epsilon), people=case.units), values, seed)


def collected_by(task: Task, values: FloatArray, seed: int) -> Collection:
    """The reports of these people to a task."""
    collection = Collection(task)
    collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(seed)))
    return collection


def _ends(intervals: FloatArray) -> tuple[FloatArray, FloatArray]:
    return intervals[:, 0], intervals[:, 1]


def _within(lower: FloatArray, upper: FloatArray, truth: FloatArray) -> bool:
    held: BoolArray = (lower <= truth + 1e-9) & (truth <= upper + 1e-9)
    return bool(held.all())


def _below(values: FloatArray, grid: dp.Grid) -> FloatArray:
    shares = np.searchsorted(np.sort(values), grid.edges) / len(values)
    shares[0], shares[-1] = 0.0, 1.0
    return shares


def _quantiles(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least values that may be called quantiles, and the greatest."""
    ordered = np.sort(values)
    greatest = ordered[np.minimum((np.array(P) * len(values) + 1e-9).astype(int), len(values) - 1)]
    return np.quantile(ordered, P, method="inverted_cdf"), np.asarray(greatest)


def _area(values: FloatArray, others: FloatArray) -> float:
    known = np.unique(np.concatenate([values, others]))
    own, other = (np.bincount(np.searchsorted(known, each), minlength=len(known)) for each in (values, others))
    return float(mann_whitney_statistic(own.astype(np.float64), other.astype(np.float64)))
