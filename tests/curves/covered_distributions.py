"""How often each kind of interval of a distribution covers: one sample and four releases tell it of all kinds.

A population is a long list; samples are drawn from it with replacement, so records are independent and their law is
known. Grids are laid so that ties and heaps lie inside cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from by_hand import answer, both
from numpy.typing import NDArray

from dpcurves.curves import HistogramQuestion, QuantileQuestion, QuantilesQuestion, ThresholdsQuestion
from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss

Floats = NDArray[np.float64]

SIZE = 20_000
P = (0.1, 0.25, 0.5, 0.9)
AT = (8, 20, 32, 48, 64)
UNITS = (1_000, 100_000)
LOSSES = ("0.1", "1")
CELLS = 64


class Population(NamedTuple):
    """Values that samples are drawn from, and the grid that they are counted on."""

    values: Floats
    grid: Grid


def _populations() -> Iterator[tuple[str, Population]]:
    draw = np.random.default_rng(41)
    income = draw.lognormal(10.2, 0.9, SIZE)
    heaped = np.where(draw.random(SIZE) < 0.7, np.round(income, -3), np.round(income, -2))
    yield "tied", Population(np.floor(draw.beta(2, 2.5, SIZE) * 90), Grid(0, 96, cells=CELLS))  # 1.5 years each
    yield "heaped", Population(heaped, Grid(0, 250_000, cells=CELLS))
    yield "zero-inflated", Population(np.where(draw.random(SIZE) < 0.4, 0.0, heaped), Grid(-1000, 250_000, cells=CELLS))
    yield "clamped", Population(heaped, Grid(10_000, 40_000, cells=CELLS))
    yield "continuous", Population(draw.beta(2, 3, SIZE), Grid(0, 1, cells=CELLS))


POPULATIONS: Mapping[str, Population] = MappingProxyType(dict(_populations()))


class Case(NamedTuple):
    """On what, of how many, at which price, under which adjacency: 0 is add-remove, 1 replace-one."""

    data: str
    units: int
    epsilon: str
    adjacency: int


CASES = tuple(
    Case(data, units, epsilon, adjacency)
    for data in POPULATIONS for units in UNITS for epsilon in LOSSES for adjacency in (0, 1)
)  # fmt: skip


def coverage(case: Case, level: float, releases: int, seed: int) -> dict[str, int]:
    """In how many of the releases each kind of interval held all that it promises."""
    held: dict[str, int] = {}
    for number in range(releases):
        for kind, holds in _covered(case, level, seed + number):
            held[kind] = held.get(kind, 0) + holds
    return held


def _covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    population, grid = POPULATIONS[case.data]
    draw = np.random.default_rng([seed, case.units, case.adjacency])
    sample = draw.choice(population, case.units)
    loss, adjacency, table = PrivacyLoss.pure(case.epsilon), both(case.units)[case.adjacency], {"x": sample}
    truth = {False: _below(sample, grid), True: _below(population, grid)}
    quantiles = {False: _quantiles(sample), True: _quantiles(population)}
    found = answer(QuantilesQuestion("x", grid, P), table, loss, adjacency, seed)
    curve = found.curve
    bins, bars = curve.histogram(10), answer(HistogramQuestion("x", grid), table, loss, adjacency, seed)
    counts = answer(ThresholdsQuestion("x", grid, AT), table, loss, adjacency, seed)
    for whom, population_too in (("records", False), ("population", True)):
        shares = truth[population_too]
        lower, upper = curve.band(level, population=population_too)
        yield f"band, {whom}", _within(np.stack([lower, upper], axis=1), shares)
        ends = found.intervals(level, population=population_too)
        yield f"quantiles, {whom}", all(_within(ends, each) for each in quantiles[population_too])
        at = grid.nearest_edge(bins.x)
        yield f"bins, {whom}", _within(bins.intervals(level, population=population_too), np.diff(shares[at]))
        cells = np.diff(shares) * case.units
        yield f"histogram, {whom}", _within(bars.intervals(level, population=population_too), cells)
        below = shares[list(AT)] * case.units
        yield f"thresholds, {whom}", _within(counts.intervals(level, population=population_too), below)
    one = answer(QuantileQuestion("x", grid, 0.5, level), table, loss, adjacency, seed)
    for whom, population_too in (("records", False), ("population", True)):
        median = np.quantile(population if population_too else sample, 0.5, method="inverted_cdf")
        left, right = one.interval(population=population_too)
        yield f"one quantile, {whom}", bool(left <= median <= right)


def _within(ends: Floats, truth: Floats) -> bool:
    rounding = 1e-9 * max(1.0, float(np.abs(truth).max()))
    return bool(((ends[:, 0] <= truth + rounding) & (truth <= ends[:, 1] + rounding)).all())


def _below(values: Floats, grid: Grid) -> Floats:
    """Shares below the edges of a grid that clamps what lies outside."""
    shares = np.searchsorted(np.sort(values), grid.edges) / len(values)
    shares[0], shares[-1] = 0.0, 1.0
    return shares


def _quantiles(values: Floats) -> list[Floats]:
    """The least values that may be called quantiles, and the greatest: the first record beyond the share."""
    ordered = np.sort(values)
    least = np.quantile(ordered, P, method="inverted_cdf")
    greatest = ordered[np.minimum((np.array(P) * len(values) + 1e-9).astype(int), len(values) - 1)]
    return [least, np.asarray(greatest)]
