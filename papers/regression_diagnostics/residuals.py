"""Section 4.3: do residual plots tell a line that fits from one that does not?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from answering import Columns, answer
from as_printed import estimate_not_private
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from sizes import Size

from dpcurves.curves import BoundsQuestion, ResidualPlotQuestion
from dpcurves.curves.residual_plot import scattered
from dpcurves.privacy import DISJOINT_RECORDS

FloatArray = NDArray[np.float64]
Ends = tuple[FloatArray, FloatArray]
Points = Callable[[Columns, float, int], FloatArray]
"""The synthetic points of one release, of shape ``(n, 2)``."""

SEED, CELLS, MARGIN, BINS = 3, 10, 0.1, 20
UNIT, COVERAGE = 1.0, "0.95"
EACH_BOUND, DENSITY = 0.1, 0.8
IDEAL, HETEROSCEDASTIC, NONLINEAR = "Ideal", "Heteroscedastic", "Nonlinear"
THRESHOLDS = {500: 0.9, 1000: 0.95, 2000: 0.95}
REACHED = 0.95


@dataclass(frozen=True)
class Separation:
    """Total variation of similarities, Ideal against each of the other models, for each product."""

    products: tuple[int, ...]
    of: Mapping[str, Mapping[str, tuple[float, ...]]]

    def least(self, method: str) -> dict[int, float]:
        """The smaller of the two, for each product."""
        return dict(zip(self.products, map(min, zip(*self.of[method].values(), strict=True)), strict=True))


def drawn(model: str, records: int, chance: np.random.Generator) -> Columns:
    """Predictions and residuals of a line that was fitted to as many other records of the same law."""
    x, y = _law(model, 2 * records, chance)
    slope, intercept = np.polyfit(x[:records], y[:records], 1)
    predicted = intercept + slope * x[records:]
    return {"predicted": predicted, "residual": y[records:] - predicted}


def _law(model: str, records: int, chance: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    x, error = chance.uniform(1, 50, records), chance.normal(size=records)
    if model == HETEROSCEDASTIC:
        error = error * np.sqrt(x)
    return x, x + error + (0.01 * x**2 if model == NONLINEAR else 0.0)


def released(columns: Columns, epsilon: float, seed: int) -> FloatArray:
    """By dpcurves."""
    question = ResidualPlotQuestion("predicted", "residual", UNIT, UNIT, COVERAGE, DISJOINT_RECORDS)
    plot = answer(question, columns, epsilon, seed)
    return plot.sample(len(columns["residual"]), np.random.default_rng(seed))


def _bounds(columns: Columns, epsilon: float, seed: int) -> tuple[float, float]:
    """A bound of predictions and one of residuals: those of dpcurves, which are private."""
    found = [
        answer(BoundsQuestion(column, UNIT, COVERAGE), columns, EACH_BOUND * epsilon, 2 * seed + number).bound
        for number, column in enumerate(("predicted", "residual"))
    ]
    return found[0], found[1]


def prirp_not_private(columns: Columns, epsilon: float, seed: int) -> FloatArray:
    """PriRP: equal cells within the bounds, DAWA as printed, negative counts to 0, rounded."""
    width, height = _bounds(columns, epsilon, seed)
    records = len(columns["residual"])
    side = max(1, round(sqrt(float(COVERAGE) ** 2 * records * epsilon / 10)))
    edges = np.linspace(-width, width, side + 1), np.linspace(-height, height, side + 1)
    counts, _, _ = np.histogram2d(columns["predicted"], columns["residual"], bins=edges)
    chance = np.random.default_rng(seed)
    estimate = np.maximum(np.rint(estimate_not_private(counts, DENSITY * epsilon, chance)), 0.0)
    if not estimate.any():
        return np.empty((0, 2))
    return scattered(estimate / estimate.sum(), edges, round(estimate.sum()), chance)


METHODS: dict[str, Points] = {"PriRP, as printed": prirp_not_private, "dpcurves": released}
PRINTED, PACKAGE = METHODS


def separation(size: Size, step: Callable[[], None]) -> Separation:
    """Of many releases of one data set of each model."""
    chance = np.random.default_rng(SEED)
    sets = {model: drawn(model, size.residuals, chance) for model in (IDEAL, HETEROSCEDASTIC, NONLINEAR)}
    of: dict[str, dict[str, tuple[float, ...]]] = {method: {HETEROSCEDASTIC: (), NONLINEAR: ()} for method in METHODS}
    for product in size.residual_products:
        for method, found in of.items():
            similar = _similarities(METHODS[method], sets, product / size.residuals, size.plots)
            for model in found:
                found[model] += (total_variation(similar[IDEAL], similar[model]),)
        step()
    return Separation(size.residual_products, of)


def _similarities(method: Points, sets: Mapping[str, Columns], epsilon: float, plots: int) -> dict[str, FloatArray]:
    edges = _edges(sets[IDEAL])
    truth = _shares(np.column_stack([sets[IDEAL]["predicted"], sets[IDEAL]["residual"]]), edges)
    return {
        model: np.array(
            [distance(truth, _shares(method(columns, epsilon, number * plots + run), edges)) for run in range(plots)]
        )
        for number, (model, columns) in enumerate(sets.items())
    }


def distance(truth: FloatArray, other: FloatArray) -> float:
    """The papers' Sim: total variation, points beyond the cells being apart from all others."""
    return float(np.abs(truth - other).sum() + 1 - other.sum()) / 2


def _edges(columns: Columns) -> Ends:
    ends = [(values.min() - MARGIN, values.max() + MARGIN) for values in (columns["predicted"], columns["residual"])]
    across, upwards = (np.linspace(low, high, CELLS + 1) for low, high in ends)
    return across, upwards


def _shares(points: FloatArray, edges: Ends) -> FloatArray:
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=edges)
    return np.asarray(counts / max(len(points), 1))


def total_variation(some: FloatArray, others: FloatArray) -> float:
    """Of two samples, in cells of equal width."""
    ends = min(some.min(), others.min()), max(some.max(), others.max())
    one, other = (np.histogram(each, BINS, ends)[0] / len(each) for each in (some, others))
    return float(np.abs(one - other).sum() / 2)


def findings(found: Separation) -> Findings:
    """Figure 7, and the least product from which on both models are told from the ideal one."""
    printed, package = found.least(PRINTED), found.least(PACKAGE)
    named: Findings = {
        f"figure7-{product}": Measured(printed[product], package=package[product])
        for product in THRESHOLDS.keys() & printed.keys()
    }
    named["section43-least"] = Measured(_from_which_on(printed), package=_from_which_on(package))
    return named


def _from_which_on(least: Mapping[int, float]) -> float:
    failed = [product for product, distance in least.items() if distance < REACHED]
    return float(min((product for product in least if product > max(failed, default=0)), default=np.inf))
