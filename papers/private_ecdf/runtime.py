"""Figure 7: seconds that equation 3 takes, by CVXOPT as in the paper and by dpcurves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from data import poisson_counts
from numpy.typing import NDArray
from path import Path
from releases import raw
from reproduction.measured import Findings, Measured
from sizes import Size

from dpcurves.noise import Randomness
from dpcurves.smoothing import AtMost, project_isotonic_l1, project_isotonic_l2
from dpcurves.smoothing.isotonic_projection import compute_steps

FloatArray = NDArray[np.float64]
RATE, EPSILON = 3.0, 1.0
TURNS = 3


@dataclass(frozen=True)
class Seconds:
    """For each number of points; solvers get the problem in its sparsest form, ready built."""

    points: FloatArray
    taken: dict[str, FloatArray]


def against_points(size: Size, seed: int, step: Callable[[], None]) -> Seconds:
    """One solution of each size by each solver."""
    rows = []
    for levels in size.solver_levels:
        rows.append(_row(Path(levels), seed))
        step()
    points = 2.0 ** np.array(size.solver_levels)
    return Seconds(points, {name: np.array([row[name] for row in rows]) for name in rows[0]})


def findings(seconds: Seconds) -> Findings:
    """Which power is solved sooner, at the largest size; and what is gained over the paper's solver there."""
    last = {name: float(values[-1]) for name, values in seconds.taken.items()}
    package = last["dpcurves, p = 1"] / last["dpcurves, p = 2"]
    return {"runtime-powers": Measured(last["CVXOPT, p = 1"] / last["CVXOPT, p = 2"], package=package)}


def _row(path: Path, seed: int) -> dict[str, float]:
    exact = np.cumsum(poisson_counts(path.points, RATE, seed))
    noisy, ceiling = raw(exact, path, EPSILON, Randomness.from_seed(seed)), AtMost(exact[-1])
    quadratic, linear = _programmes(path, noisy, ceiling)
    return {
        "CVXOPT, p = 1": _seconds(linear),
        "CVXOPT, p = 2": _seconds(quadratic),
        "dpcurves, p = 1": _seconds(lambda: project_isotonic_l1(noisy, path.graph, ceiling)),
        "dpcurves, p = 2": _seconds(lambda: project_isotonic_l2(noisy, path.graph, ceiling)),
    }


def _programmes(path: Path, noisy: FloatArray, ceiling: AtMost) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Rises of the curve after the change of noises are not negative: a quadratic and a linear programme."""
    from cvxopt import matrix, solvers, sparse, spmatrix

    slots = path.graph.slots
    some = np.flatnonzero(path.graph.variance)
    rows = np.concatenate([slots.lower[some], slots.upper[some]]).tolist()
    columns = np.tile(np.arange(len(some)), 2).tolist()
    falls = spmatrix([-1.0] * len(some) + [1.0] * len(some), rows, columns, (path.points + 1, len(some)))
    unit = spmatrix(1.0, range(len(some)), range(len(some)))
    rises, zero = matrix(compute_steps(noisy, path.points, ceiling)), matrix(0.0, (len(some), 1))
    sides = sparse([[falls, -unit, spmatrix([], [], [], unit.size)], [-falls, spmatrix([], [], [], unit.size), -unit]])
    cost, right = matrix(1.0, (2 * len(some), 1)), matrix([rises, zero, zero])
    quiet = {"show_progress": False}
    return (
        lambda: solvers.qp(unit, zero, falls, rises, options=quiet),
        lambda: solvers.lp(cost, sides, right, options=quiet),
    )


def _seconds(work: Callable[[], Any]) -> float:
    """The quickest of a few turns; the first one, which loads and compiles, does not count."""
    work()
    return min(_turn(work) for _ in range(TURNS))


def _turn(work: Callable[[], Any]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start
