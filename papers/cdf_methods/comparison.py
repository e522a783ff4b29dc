"""Distances of curves from their samples: against epsilon, the spread of the data, and the size of each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from methods import ENDS, METHODS, Budget
from numpy.typing import NDArray
from sizes import Size

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves.summaries import Distribution
from dpcurves.summaries.distances import DistributionDifference

FloatArray = NDArray[np.float64]
DISTANCES = "Kolmogorov-Smirnov", "Wasserstein", "energy"
CELLS = 4096
GLOBAL, SMOOTH, CHARGED, HISTOGRAM, DICHOTOMY = METHODS
PACKAGE = "dpcurves, default", "dpcurves, partition"
UNIFORM = "uniform"
Cell = tuple[float, float]
"""Standard deviation of the sample, and epsilon."""


@dataclass(frozen=True)
class Along:
    """Mean distances along one axis.

    Attributes:
        x: The axis.
        mean: For each method: (points, distances), its size the best of those that were tried, for each distance alone.
    """

    x: tuple[float, ...]
    mean: dict[str, FloatArray]


@dataclass(frozen=True)
class BySize:
    """Mean distances at epsilon 1 for every size of a method: (sizes, distances)."""

    sizes: tuple[int, ...]
    mean: FloatArray


def sample(records: int, deviation: float, seed: int) -> FloatArray:
    """Rising values of a normal distribution around 0, clipped as in the article."""
    drawn = np.random.default_rng(seed).normal(0.0, deviation, records)
    return np.sort(np.clip(drawn, *ENDS))


def budget(size: Size, epsilon: float) -> Budget:
    """The article's: delta is one over the number of records."""
    return Budget(epsilon, 1 / size.records)


def sizes_of(method: str, size: Size) -> tuple[int, ...]:
    """Those that are searched for the best one."""
    return {CHARGED: size.bins, HISTOGRAM: size.bins, DICHOTOMY: size.rounds}.get(method, size.quantiles)


def against_epsilon(size: Size, seed: int, step: Callable[[], None]) -> Along:
    """Samples of standard deviation 1."""
    return _along(size, size.epsilons, [(1.0, epsilon) for epsilon in size.epsilons], seed, step)


def against_deviation(size: Size, seed: int, step: Callable[[], None]) -> Along:
    """At epsilon 1."""
    return _along(size, size.deviations, [(deviation, 1.0) for deviation in size.deviations], seed, step)


def against_size(size: Size, seed: int, step: Callable[[], None]) -> dict[str, BySize]:
    """At epsilon 1 and standard deviation 1."""
    found = {}
    for method in METHODS:
        tried = sizes_of(method, size)
        found[method] = BySize(tried, _distances(size, method, tried, (1.0, 1.0), seed))
        step()
    return found


def distances(curve: Distribution, truth: Distribution) -> list[float]:
    """The three of the article."""
    gap = DistributionDifference.from_distributions(curve, truth)
    return [gap.max_absolute, gap.absolute_integral, sqrt(2 * gap.squared_integral)]


def package_curve(name: str, values: FloatArray, epsilon: float, delta: float, randomness: Randomness) -> dp.CDF:
    """What dpcurves makes of it, with no size to be chosen."""
    loss = dp.PrivacyLoss.zcdp(Budget(epsilon, delta).rho)
    grid = dp.Grid(*ENDS, cells=CELLS)
    question = (
        dp.CdfQuestion("x", grid) if name == PACKAGE[0] else dp.CdfQuestion("x", grid, method=dp.AdaptivePartition())
    )
    with dp.Session({"x": values}, budget=loss, adjacency=dp.REPLACE_ONE, randomness=randomness) as session:
        curve: dp.CDF = session.ask(question, loss)
    return curve


def _along(size: Size, x: Sequence[float], cells: Sequence[Cell], seed: int, step: Callable[[], None]) -> Along:
    rows: dict[str, list[FloatArray]] = {name: [] for name in (*METHODS, UNIFORM, *PACKAGE)}
    for cell in cells:
        for method in METHODS:
            means = _distances(size, method, sizes_of(method, size), cell, seed)
            rows[method].append(means.min(axis=0))
        even = Distribution.from_curve(ENDS, (0.0, 1.0))
        truths = [Distribution.from_sample(sample(size.records, cell[0], seed + run)) for run in range(size.runs)]
        rows[UNIFORM].append(np.mean([distances(even, truth) for truth in truths], axis=0))
        for name in PACKAGE:
            rows[name].append(_distances_of_package(size, name, cell, seed))
        step()
    return Along(tuple(x), {name: np.array(means) for name, means in rows.items()})


def _distances(size: Size, method: str, tried: Sequence[int], cell: Cell, seed: int) -> FloatArray:
    """Means over runs: (sizes, distances)."""
    deviation, epsilon = cell
    randomness, generator = Randomness.from_seed(seed), np.random.default_rng(seed)
    total = np.zeros((len(tried), len(DISTANCES)))
    for run in range(size.runs):
        values = sample(size.records, deviation, seed + run)
        truth = Distribution.from_sample(values)
        for row, each in enumerate(tried):
            curve = METHODS[method](values, budget(size, epsilon), each, randomness, generator)
            total[row] += distances(curve, truth)
    return total / size.runs


def _distances_of_package(size: Size, name: str, cell: Cell, seed: int) -> FloatArray:
    deviation, epsilon = cell
    randomness, found = Randomness.from_seed(seed), []
    for run in range(size.runs):
        values = sample(size.records, deviation, seed + run)
        curve = package_curve(name, values, epsilon, budget(size, epsilon).delta, randomness)
        found.append(distances(Distribution.from_curve(curve.x, curve.y), Distribution.from_sample(values)))
    return np.mean(found, axis=0)
