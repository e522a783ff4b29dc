"""Planes in the table of regimes: what `dp.histogram2d` counts them by, over the best of the named estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import WHOLE_BUDGET, Release, Setting
from dpcurves.data import Axis, Grid
from dpcurves.histograms import (
    AdaptiveGridEstimator,
    AhpEstimator,
    CellEstimator,
    DawaEstimator,
    HierarchyEstimator,
    PrivTreeEstimator,
    RefinedGridEstimator,
    TableEstimator,
    UniformGridEstimator,
)
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne

from .lines import Line, Run
from .shapes import Half

Counts = NDArray[np.int64]
FloatArray = NDArray[np.float64]
MAPS = {
    "twitter": Half.CHOOSE, "BeijingTaxiS": Half.CHOOSE, "Adult_2D": Half.CHOOSE,
    "checkin": Half.JUDGE, "cabspottingS": Half.JUDGE, "MDSalary2D": Half.JUDGE,
}  # fmt: skip
DRAWN = {"blobs": Half.JUDGE, "slope": Half.CHOOSE}
OTHERS: Mapping[str, TableEstimator] = {
    "cells": CellEstimator(), "hierarchy": HierarchyEstimator(), "DAWA": DawaEstimator(), "AHP": AhpEstimator(),
    "uniform grid": UniformGridEstimator(), "adaptive grid": AdaptiveGridEstimator(), "PrivTree": PrivTreeEstimator(),
}  # fmt: skip
FILE_SIDE, SIDES, EPSILONS, THINNED = 256, (64, 256), ("0.1", "1"), 10_000
RECTANGLES = 2000
MARK = 1.1


def lines(run: Run, step: Callable[[str], None]) -> Iterator[Line]:
    """A line for each size of planes, loss and adjacency: sums of random rectangles, by mean absolute error."""
    sides = SIDES if run.effort.name == "full" else SIDES[:1]
    for side in sides:
        planes = list(_planes(run, side))[: 2 * run.effort.setups]
        for epsilon in EPSILONS:
            for knows in (False, True):
                ratios = {}
                for name, counts in planes:
                    step(f"plane of {side} x {side} cells, {name}, epsilon {epsilon}")
                    ratios[name] = _ratio(counts, epsilon, knows, run)
                if ratios:
                    yield _line(f"planes of {side} x {side}, epsilon {epsilon}", knows, ratios)


def estimated(estimator: TableEstimator, counts: Counts, loss: PrivacyLoss, who: Adjacency, seed: int) -> FloatArray:
    """The estimate that a curator would get, without ledger and records."""
    axes = tuple(Axis(f"x{number}", Grid(0, 1, cells=cells)) for number, cells in enumerate(counts.shape))
    steps, randomness = estimator.estimate_table(axes, Setting(loss, who), WHOLE_BUDGET), Randomness.from_seed(seed)
    step = next(steps)
    while True:
        plan = AUTO.plan(step.query, loss * step.budget_fraction, who)
        values = AUTO.run(np.append(counts.ravel(), 0), plan, randomness)
        try:
            step = steps.send(Release(plan, values, None, seeded=True))
        except StopIteration as ended:
            return np.asarray(ended.value.cells, dtype=np.float64)


def rectangle_sums(cells: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Add up cells of rectangles of any length along each axis, then anywhere."""
    ends = []
    for side in cells.shape:
        length = generator.integers(1, side + 1, RECTANGLES)
        low = (generator.random(RECTANGLES) * (side - length + 1)).astype(np.int64)
        ends.append((low, low + length))
    (top, bottom), (left, right) = ends
    sums = np.pad(np.cumsum(np.cumsum(cells, axis=0), axis=1), ((1, 0), (1, 0)))
    return np.asarray(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])


def _planes(run: Run, side: int) -> Iterator[tuple[str, Counts]]:
    """Drawn ones first, for which no file is needed, then maps, full and thinned."""
    generator = np.random.default_rng([run.seed, side])
    for name, half in DRAWN.items():
        if half in run.halves:
            yield name, generator.multinomial(THINNED, _drawn(name, side, generator).ravel()).reshape(side, side)
    for name, half in MAPS.items():
        counts = _map(run.data, name, side)
        if half in run.halves and counts is not None:
            thinned = generator.multinomial(THINNED, counts.ravel() / counts.sum()).reshape(counts.shape)
            yield from ((name, counts), (f"{name}, thinned", thinned))


def _drawn(name: str, side: int, generator: np.random.Generator) -> FloatArray:
    upwards, across = np.mgrid[:side, :side] / side
    weights = 1 + across / 2
    if name == "blobs":
        blobs = zip(generator.random((6, 2)), generator.uniform(0.03, 0.25, 6), strict=True)
        weights = sum(np.exp(-((across - x) ** 2 + (upwards - y) ** 2) / 2 / s**2) / s**2 for (x, y), s in blobs)
    return np.asarray(weights / weights.sum())


def _map(folder: Path, name: str, side: int) -> Counts | None:
    file = folder / "hist2d" / f"{name}_{FILE_SIDE}_{FILE_SIDE}.npy"
    if not file.exists():
        return None
    width = FILE_SIDE // side
    return np.asarray(np.load(file).astype(np.int64).reshape(side, width, side, width).sum(axis=(1, 3)))


def _ratio(counts: Counts, epsilon: str, knows: bool, run: Run) -> tuple[float, float]:
    """Our error over that of the best of the others, chosen by every second release, and its relative error."""
    who = ReplaceOne(EACH_RECORD, int(counts.sum())) if knows else AddRemove(EACH_RECORD)
    releases = max(2, run.effort.draws * run.effort.releases)
    truth = rectangle_sums(counts.astype(np.float64), np.random.default_rng(0))

    def errors(estimator: TableEstimator) -> FloatArray:
        loss = PrivacyLoss.pure(epsilon)
        found = (estimated(estimator, counts, loss, who, run.seed + number) for number in range(releases))
        return np.array([np.abs(rectangle_sums(each, np.random.default_rng(0)) - truth).mean() for each in found])

    ours, others = errors(RefinedGridEstimator()), [errors(each) for each in OTHERS.values()]
    best = min(others, key=lambda each: float(each[::2].mean()))[1::2]
    spread = [each.std() / each.mean() / np.sqrt(max(len(each) - 1, 1)) for each in (ours, best)]
    return float(ours.mean() / best.mean()), float(np.hypot(*spread))


def _line(regime: str, knows: bool, ratios: Mapping[str, tuple[float, float]]) -> Line:
    logs = np.log([ratio for ratio, _ in ratios.values()])
    errors: Sequence[float] = [error for _, error in ratios.values()]
    mean, worst = float(np.exp(logs.mean())), int(logs.argmax())
    error = mean * float(np.sqrt(np.sum(np.square(errors)))) / len(errors)
    setting = "replace-one, pure" if knows else "add-remove, pure"
    return Line(
        f"{regime}, {setting}", "rectangles over the best of all", MARK, mean, error, float(np.exp(logs[worst])),
        list(ratios)[worst],
    )  # fmt: skip
