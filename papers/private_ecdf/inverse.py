"""Figure 4: errors of shares and of quantiles, on the unit square."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from data import poisson_counts
from numpy.typing import NDArray
from path import Path, crossing
from releases import of_package, raw
from reproduction.measured import Findings, Measured
from sizes import Size

from dpcurves.noise import Randomness
from dpcurves.smoothing import AtMost, project_isotonic_l2

FloatArray = NDArray[np.float64]
RATE = 3.0
QUANTILES = 1000


@dataclass(frozen=True)
class Errors:
    """Mean squared errors for each epsilon; places count as shares of the axis.

    Attributes:
        epsilons: The x axis.
        squared: "curve", "inverse", "smoothed inverse" and "dpcurves" (its quantiles).
    """

    epsilons: FloatArray
    squared: dict[str, FloatArray]


def against_epsilon(size: Size, seed: int, step: Callable[[], None]) -> Errors:
    """Errors of Algorithm 1 on indices, of the raw and of the smoothed curve."""
    path, generator = Path(size.levels), np.random.default_rng(seed)
    exact = np.cumsum(poisson_counts(path.points, RATE, seed))
    rows = []
    for epsilon in size.epsilons:
        randomness = Randomness.from_seed(seed)
        runs = [_errors(exact, path, epsilon, generator.random(QUANTILES), randomness) for _ in range(size.runs)]
        rows.append({name: np.mean([run[name] for run in runs]) for name in runs[0]})
        step()
    return Errors(np.array(size.epsilons), {name: np.array([row[name] for row in rows]) for name in rows[0]})


def findings(errors: Errors) -> Findings:
    """The two sentences of section 6.4, where noise is what matters: up to epsilon 2, above the width of a cell."""
    usual = (errors.epsilons >= 0.1) & (errors.epsilons <= 2)
    curve, rough, smooth, ours = (
        errors.squared[name][usual] for name in ("curve", "inverse", "smoothed inverse", "dpcurves")
    )
    paper = np.stack([curve, rough, smooth])
    spread = float((paper.max(axis=0) / paper.min(axis=0)).max())
    return {
        "inverse-order": Measured(spread),
        "inverse-rough": Measured(
            float(np.exp(np.mean(np.log(rough / smooth)))), package=float(np.mean(ours / smooth))
        ),
    }


def _errors(exact: FloatArray, path: Path, epsilon: float, at: FloatArray, randomness: Randomness) -> dict[str, float]:
    noisy = raw(exact, path, epsilon, randomness)
    levels = at * exact[-1]
    truth = crossing(exact, levels) / path.points
    places = {
        "inverse": crossing(noisy, levels) / path.points,
        "smoothed inverse": crossing(project_isotonic_l2(noisy, path.graph, AtMost(exact[-1])), levels) / path.points,
    }
    package = of_package(exact, epsilon, randomness)
    if package is not None:
        places["dpcurves"] = package.quantile(at) / path.points
    squared = {name: float(np.mean((place - truth) ** 2)) for name, place in places.items()}
    at_points = (at * path.points).astype(np.int64)
    return {"curve": float(np.mean((noisy - exact)[at_points] ** 2) / exact[-1] ** 2), **squared}
