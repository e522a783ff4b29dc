"""Figures 2 and 3: what smoothing does to the error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from data import poisson_counts
from numpy.typing import NDArray
from path import Path
from releases import of_package, raw, smoothed
from reproduction.measured import Findings, Measured
from sizes import Size

from dpcurves.noise import Randomness
from dpcurves.smoothing import AtMost, project_isotonic_l2

FloatArray = NDArray[np.float64]
RATE, EPSILON = 3.0, 1.0
BOUNDARY = 0.2
MOST_RUNS = 32
LARGE = 1_000_000  # times as many records at each point, which noise of epsilon 1 can only reorder where there are none


@dataclass(frozen=True)
class Effect:
    """Squared errors of curves over that of the raw noise path, along epsilon or the rate.

    Attributes:
        along: The points of the x axis.
        ratio: For each way of smoothing, and for dpcurves (NaN where it was left out): one number for each point.
    """

    along: FloatArray
    ratio: dict[str, FloatArray]


def against_epsilon(size: Size, seed: int, step: Callable[[], None]) -> Effect:
    """Figure 2: Poisson(3)."""
    return _effect(size, [(epsilon, RATE) for epsilon in size.epsilons], size.epsilons, seed, step)


def against_rate(size: Size, seed: int, step: Callable[[], None]) -> Effect:
    """Figure 3: epsilon 1."""
    return _effect(size, [(EPSILON, rate) for rate in size.rates], size.rates, seed, step)


def limit(size: Size, seed: int) -> float:
    """The ratio for p = 2 that Figure 2 tends to on the right: noise is far below one record.

    Noise is of whole numbers, so instead of epsilon the counts are made large.
    """
    path, randomness, errors = Path(size.levels), Randomness.from_seed(seed), []
    for run in range(min(4 * size.runs, MOST_RUNS)):
        exact = LARGE * np.cumsum(poisson_counts(path.points, RATE, seed + run))
        noisy = raw(exact, path, EPSILON, randomness)
        smooth = project_isotonic_l2(noisy, path.graph, AtMost(exact[-1]))
        errors.append([np.mean((curve - exact) ** 2) for curve in (smooth, noisy)])
    return float(np.divide(*np.mean(errors, axis=0)))


def findings(figure2: Effect, figure3: Effect, at_last: float) -> Findings:
    """What section 6.3 says; `at_last` is the `limit`."""
    squares, absolute, package = (figure2.ratio[name] for name in ("p = 2", "p = 1", "dpcurves"))
    small, rate = figure2.along < BOUNDARY, figure3.ratio["p = 2"]
    return {
        "smoothing-helps": _most(squares[~small & (figure2.along <= 2)], package[~small & (figure2.along <= 2)]),
        "smoothing-harms": Measured(float(squares[small].max())),
        "smoothing-powers": Measured(float(np.mean(absolute / squares))),
        "smoothing-powers-small": Measured(
            float(np.mean((absolute / squares)[small]) / np.mean((absolute / squares)[~small]))
        ),
        "smoothing-fades": Measured(at_last),
        "smoothing-dense": Measured(float(rate[-1])),
        "smoothing-moderate": Measured(float(rate[figure3.along == RATE][0])),
    }


def _most(paper: FloatArray, package: FloatArray) -> Measured:
    return Measured(float(paper.max()), package=float(package.max()))


def _effect(
    size: Size, cells: list[tuple[float, float]], along: Sequence[float], seed: int, step: Callable[[], None]
) -> Effect:
    path, rows = Path(size.levels), []
    for epsilon, rate in cells:
        exact = np.cumsum(poisson_counts(path.points, rate, seed))
        randomness = Randomness.from_seed(seed)
        runs = [_errors(exact, path, epsilon, randomness) for _ in range(size.runs)]
        means = {name: np.mean([run[name] for run in runs]) for name in runs[0]}
        rows.append({name: means[name] / means["raw"] for name in means if name != "raw"})
        step()
    return Effect(np.array(along), {name: np.array([row[name] for row in rows]) for name in rows[0]})


def _errors(exact: FloatArray, path: Path, epsilon: float, randomness: Randomness) -> dict[str, float]:
    noisy = raw(exact, path, epsilon, randomness)
    curves = {"raw": noisy, **smoothed(noisy, path, exact[-1])}
    errors = {name: float(np.mean((curve - exact) ** 2)) for name, curve in curves.items()}
    package = of_package(exact, epsilon, randomness)
    ours = np.nan if package is None else float(np.mean((package.y[1:] * exact[-1] - exact) ** 2))
    return {**errors, "dpcurves": ours}
