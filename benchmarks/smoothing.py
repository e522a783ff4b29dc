"""What smoothing takes, beside the solvers that others use for it. Prints two tables; asserts nothing.

The task is that of the paper: records of Poisson distribution, the noise of a binary path at epsilon 1, the number of
records public. Solvers get it in its sparsest form, adjacent differences of the curve, and are timed without building
it. Seconds are those of the processor, which others who use the machine at the same time disturb less; for those of one
core set OMP_NUM_THREADS=1. With --quick, small sizes only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import clarabel
import cvxopt
import highspy
import numpy as np
from command_line import is_quick
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, hstack, identity

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from baselines import path_graph, regular_bounds

from dpcurves.smoothing import AtMost, NoiseGraph, project_isotonic_l1, project_isotonic_l2
from dpcurves.smoothing.isotonic_projection import compute_steps, solve_least_absolute, solve_least_squares

FloatArray = NDArray[np.float64]

CVXOPT_MOST = 2**15
CLARABEL_MOST = 2**18
HIGHS_SECONDS = 1800.0


class Task(NamedTuple):
    noisy: FloatArray
    graph: NoiseGraph
    ceiling: AtMost
    graph_seconds: float

    @property
    def steps(self) -> FloatArray:
        return compute_steps(self.noisy, self.graph.points, self.ceiling)

    @property
    def rises(self) -> csc_matrix:
        """Noises to steps: (points + 1, noises)."""
        slots = self.graph.slots
        rows = np.stack([slots.lower, slots.upper], axis=1).ravel()
        ends = np.arange(0, len(rows) + 1, 2)
        return csc_matrix((np.tile([1.0, -1.0], len(slots.lower)), rows, ends))


def task(exponent: int) -> Task:
    points, generator = 2**exponent, np.random.default_rng(exponent)
    bounds = regular_bounds(points, 2)
    exact = np.cumsum(generator.poisson(3, points))
    noise = [np.repeat(generator.laplace(0, exponent + 1, len(ends) - 1), np.diff(ends)) for ends in bounds]
    seconds, graph = timed(lambda: path_graph(bounds, [1.0] * len(bounds)))
    return Task(exact + np.sum(noise, axis=0), graph, AtMost(float(exact[-1])), seconds)


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """The least seconds of several runs, and what the last one returned."""
    times, result = [], None
    for _ in range(repeats):
        start = process_time()
        result = work()
        times.append(process_time() - start)
    return min(times), result


def with_cvxopt(problem: Task) -> tuple[float, float]:
    """Seconds and half the sum of squares."""
    rises = problem.rises.tocoo()
    noises = rises.shape[1]
    unit = cvxopt.spmatrix(1.0, range(noises), range(noises))
    falls = cvxopt.spmatrix((-rises.data).tolist(), rises.row.tolist(), rises.col.tolist(), rises.shape)
    nothing, right = cvxopt.matrix(0.0, (noises, 1)), cvxopt.matrix(problem.steps)
    options = {"show_progress": False}
    seconds, found = timed(lambda: cvxopt.solvers.qp(unit, nothing, falls, right, options=options))
    return seconds, float(found["primal objective"])


def with_clarabel(problem: Task) -> tuple[float, float]:
    """Seconds and half the sum of squares."""
    rises, steps = problem.rises, problem.steps
    noises = rises.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(steps))]
    parts = csc_matrix(identity(noises)), np.zeros(noises), csc_matrix(-rises), steps, cones
    seconds, found = timed(lambda: clarabel.DefaultSolver(*parts, settings).solve())
    return seconds, float(found.obj_val)


def with_highs(problem: Task) -> tuple[float, float]:
    """Seconds and the sum of absolute values, by the interior point method alone, on one thread; NaN: not solved."""
    sides = csc_matrix(hstack([problem.rises, -problem.rises]))
    programme = highspy.HighsLp()
    programme.num_row_, programme.num_col_ = sides.shape
    programme.col_cost_, programme.col_lower_ = np.ones(sides.shape[1]), np.zeros(sides.shape[1])
    programme.col_upper_ = np.full(sides.shape[1], highspy.kHighsInf)
    programme.row_lower_, programme.row_upper_ = -problem.steps, np.full(sides.shape[0], highspy.kHighsInf)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    programme.a_matrix_.start_, programme.a_matrix_.index_ = sides.indptr, sides.indices
    programme.a_matrix_.value_ = sides.data
    solver = highspy.Highs()
    for name, value in (("output_flag", False), ("solver", "ipm"), ("run_crossover", "off"), ("threads", 1)):
        solver.setOptionValue(name, value)
    solver.setOptionValue("time_limit", HIGHS_SECONDS)
    solver.passModel(programme)
    seconds, _ = timed(solver.run)
    solved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return seconds, float(solver.getInfo().objective_function_value) if solved else float("nan")


def beside(peer: tuple[float, float] | None, seconds: float, cost: float) -> str:
    """Seconds of a peer, how many times ours, and what its objective is more than ours."""
    if peer is None:
        return f"{'-':>9} {'':7} {'':8}"
    return f"{peer[0]:9.3f} {peer[0] / seconds:6.1f}x {peer[1] / cost - 1:8.0e}"


def squares(exponents: Sequence[int]) -> None:
    print("p = 2     graph      ours |    CVXOPT  times  more by |  clarabel  times  more by")
    for exponent in exponents:
        problem = task(exponent)
        seconds, _ = timed(partial(project_isotonic_l2, problem.noisy, problem.graph, problem.ceiling), 3)
        cost = float(np.sum(solve_least_squares(problem.steps, problem.graph, problem.ceiling).noise ** 2) / 2)
        peers = [
            peer(problem) if problem.graph.points <= most else None
            for peer, most in ((with_cvxopt, CVXOPT_MOST), (with_clarabel, CLARABEL_MOST))
        ]
        columns = " | ".join(beside(peer, seconds, cost) for peer in peers)
        print(f"2^{exponent:<4} {problem.graph_seconds:8.4f} {seconds:9.4f} | {columns}", flush=True)


def absolute(exponents: Sequence[int]) -> None:
    print("\np = 1     graph      ours | HiGHS ipm  times  more by")
    for exponent in exponents:
        problem = task(exponent)
        seconds, _ = timed(partial(project_isotonic_l1, problem.noisy, problem.graph, problem.ceiling), 2)
        cost = float(np.sum(np.abs(solve_least_absolute(problem.steps, problem.graph, problem.ceiling).noise)))
        columns = beside(with_highs(problem), seconds, cost)
        print(f"2^{exponent:<4} {problem.graph_seconds:8.4f} {seconds:9.4f} | {columns}", flush=True)


def main(quick: bool) -> None:
    warm = task(4)
    project_isotonic_l1(warm.noisy, warm.graph, warm.ceiling)  # compiles both
    squares([10, 12] if quick else [10, 12, 15, 18, 20])
    absolute([10, 12] if quick else [12, 15, 18])


if __name__ == "__main__":
    main(is_quick(__doc__))
