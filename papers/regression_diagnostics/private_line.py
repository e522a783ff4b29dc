"""Figure 8: residual plots of a line that was trained in private, on the same records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from plane import Density, Floats, Records, released
from prirp import Method, prirp_not_private
from reproduction.measured import Findings, Measured
from residual_sizes import ResidualSize

from dpcurves.privacy import PRIVATE_MODEL

RADIUS, STRENGTH, LARGEST = 2.0, 0.01, 50.0
OF_MODEL, OF_PLOTS = 1.0, (1.0, 0.1)
"""Epsilon of the line, and of the plots of its residuals."""
SEED = 12
METHODS: dict[str, Method] = {
    "PriRP, as printed": prirp_not_private, "dpcurves": partial(released, model=PRIVATE_MODEL)
}  # fmt: skip
PRINTED, PACKAGE = METHODS


@dataclass(frozen=True)
class Judged:
    """The slope of the residuals of a private line, confidential, and in many private plots of them."""

    records: Records
    slope: float
    slopes: Mapping[str, Mapping[float, Floats]]

    def agreeing(self, method: str, epsilon: float) -> float:
        """The share of the plots in which residuals slope the same way."""
        return float((np.sign(self.slopes[method][epsilon]) == np.sign(self.slope)).mean())


def judged(size: ResidualSize, step: Callable[[], None]) -> Judged:
    """Judge releases of one line."""
    records = residuals_of_private_line(size.records)
    found: dict[str, dict[float, Floats]] = {method: {} for method in METHODS}
    for epsilon in OF_PLOTS:
        for method, slopes in found.items():
            plots = (METHODS[method](records, epsilon, seed) for seed in range(size.slopes))
            slopes[epsilon] = np.array([slope_of(plot) for plot in plots])
        step()
    return Judged(records, _slope(records.predicted, records.residual, np.ones(records.size)), found)


def residuals_of_private_line(records: int) -> Records:
    """On the records of Ideal that it was trained on."""
    chance = np.random.default_rng(SEED)
    x = chance.uniform(1, 50, records)
    y = x + chance.normal(size=records)
    intercept, slope = private_line(x, y, OF_MODEL, chance)
    predicted = intercept + slope * x
    return Records(predicted, y - predicted)


def private_line(x: Floats, y: Floats, epsilon: float, chance: np.random.Generator) -> tuple[float, float]:
    """Intercept and slope by output perturbation: private if one record is replaced, where their number is public.

    Values are cut to [0, 50], a public range, and divided by it; features ``(1, x) / sqrt(2)`` then have a norm of 1 at
    most. The mean of half the squared residuals and the penalty is least in a ball around 0. There one record's loss
    has slope ``RADIUS + 1`` at most, and the mean is strongly convex with constant `STRENGTH`; so one replaced record
    moves the minimum by at most ``2 (RADIUS + 1) / (n STRENGTH)`` (Chaudhuri and Monteleoni 2008), also that within a
    ball. Noise has a density that falls with its length, by epsilon over that. It is drawn in floating point: for a
    picture of a private model, not for a release.
    """
    features = np.column_stack([np.ones(len(x)), np.clip(x, 0, LARGEST) / LARGEST]) / np.sqrt(2)
    weights = least_in_ball(features, np.clip(y, 0, LARGEST) / LARGEST)
    direction = chance.normal(size=2)
    length = chance.gamma(2, sensitivity(len(x)) / epsilon)
    noisy = weights + direction / np.linalg.norm(direction) * length
    return float(noisy[0] * LARGEST / np.sqrt(2)), float(noisy[1] / np.sqrt(2))


def sensitivity(records: int) -> float:
    """How far one replaced record moves the weights, at most."""
    return 2 * (RADIUS + 1) / (records * STRENGTH)


def least_in_ball(features: Floats, label: Floats) -> Floats:
    """The weights with the least penalised error, none longer than the radius."""
    squares = features.T @ features / len(label) + STRENGTH * np.eye(features.shape[1])
    target = features.T @ label / len(label)
    low, high = 0.0, float(np.linalg.norm(target)) / RADIUS
    weights = np.linalg.solve(squares, target)
    if np.linalg.norm(weights) <= RADIUS:
        return np.asarray(weights)
    for _ in range(100):  # the multiplier at which the length is the radius
        middle = (low + high) / 2
        weights = np.linalg.solve(squares + middle * np.eye(len(target)), target)
        low, high = (middle, high) if np.linalg.norm(weights) > RADIUS else (low, middle)
    return np.asarray(weights)


def slope_of(plot: Density) -> float:
    """The slope of residuals over predictions, in the middles of cells."""
    across, upwards = ((edges[1:] + edges[:-1]) / 2 for edges in plot.edges)
    predicted, residual = np.meshgrid(across, upwards, indexing="ij")
    return _slope(predicted.ravel(), residual.ravel(), plot.shares.ravel())


def _slope(predicted: Floats, residual: Floats, weight: Floats) -> float:
    """By weighted least squares; 0 where nothing is spread."""
    if weight.sum() <= 0:
        return 0.0
    centred = predicted - np.average(predicted, weights=weight)
    spread = np.average(centred**2, weights=weight)
    return float(np.average(centred * residual, weights=weight) / spread) if spread > 0 else 0.0


def findings(found: Judged) -> Findings:
    """How often the slope shows."""
    return {
        f"figure8-{name}": Measured(found.agreeing(PRINTED, epsilon), package=found.agreeing(PACKAGE, epsilon))
        for name, epsilon in zip(("one", "tenth"), OF_PLOTS, strict=True)
    }
