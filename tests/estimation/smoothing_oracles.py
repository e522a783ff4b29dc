"""Smoothing as general solvers see it, from the stretches of the noises; and curves that are hard to smooth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import clarabel
import numpy as np
from baselines import path_graph, regular_bounds
from baselines import subtraction_graph as subtraction
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, csr_matrix, diags, hstack, identity

from dpcurves.smoothing import AtMost, Exactly, NoiseGraph, build_noise_graph, build_prefix_graph
from dpcurves.smoothing.isotonic_projection import Ceiling, compute_steps

FloatArray = NDArray[np.float64]


class Task(NamedTuple):
    """One curve to smooth."""

    noisy: FloatArray
    graph: NoiseGraph
    ceiling: Ceiling

    @property
    def steps(self) -> FloatArray:
        return compute_steps(self.noisy, self.graph.points, self.ceiling)

    @property
    def noisy_slots(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.graph.variance)


def incidence(task: Task) -> csr_matrix:
    """Noises to steps, (steps, noises); without a ceiling, the last step is free and left out."""
    slots, points = task.noisy_slots, task.graph.points
    rows = np.concatenate([task.graph.slots.lower[slots], task.graph.slots.upper[slots]])
    signs = np.repeat([1.0, -1.0], len(slots))
    matrix = csr_matrix((signs, (rows, np.tile(np.arange(len(slots)), 2))), shape=(points + 1, len(slots)))
    return matrix if task.ceiling is not None else matrix[:-1]


def clarabel_least_squares(task: Task) -> float:
    """Half the least sum of squared changes over variances."""
    deviation = np.sqrt(task.graph.variance[task.noisy_slots])
    rises = csr_matrix(incidence(task) @ diags(deviation))
    right = task.steps[: rises.shape[0]]
    apart = int(isinstance(task.ceiling, Exactly))
    if apart:  # clarabel takes equations first
        rises, right = rises[np.r_[-1, : len(right) - 1]], np.roll(right, 1)
    scale = max(1.0, float(np.abs(right).max()))
    cones = [clarabel.ZeroConeT(apart), clarabel.NonnegativeConeT(len(right) - apart)]
    noises = len(deviation)
    problem = csc_matrix(identity(noises)), np.zeros(noises), csc_matrix(-rises), right / scale, cones
    for tolerance in (1e-12, 1e-11, 1e-10):  # too fine a tolerance, and clarabel stops before any
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        found = clarabel.DefaultSolver(*problem, settings).solve()
        if found.status == clarabel.SolverStatus.Solved:
            return float(found.obj_val) * scale**2
    raise ArithmeticError("clarabel finds no solution")


def highs_least_absolute(task: Task) -> float:
    """The least sum of absolute changes over standard deviations."""
    rises, steps = incidence(task), task.steps
    cost = np.tile(1 / np.sqrt(task.graph.largest[task.noisy_slots]), 2)
    sides: Any = csr_matrix(hstack([rises, -rises]))
    scale = max(1.0, float(np.abs(steps[np.isfinite(steps)]).max()))
    right = steps[: sides.shape[0]] / scale
    last = len(right) - isinstance(task.ceiling, Exactly)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    equations: dict[str, Any] = {} if last == len(right) else {"A_eq": sides[last:], "b_eq": -right[last:]}
    unequal: dict[str, Any] = {"A_ub": -sides[:last], "b_ub": right[:last], "options": options}
    found = linprog(cost, **unequal, **equations)
    assert found.status == 0
    return float(found.fun) * scale


def hard_curve(kind: str, points: int, generator: np.random.Generator) -> FloatArray:
    curves: dict[str, Callable[[], FloatArray]] = {
        "white": lambda: 100 * generator.standard_normal(points),
        "falling": lambda: 3.0 * np.arange(points, 0.0, -1.0),
        "Cauchy": lambda: generator.standard_cauchy(points) * 10,
        "walk": lambda: np.cumsum(generator.normal(0, 10, points)),
        "counts": lambda: np.cumsum(generator.poisson(2, points) + 0.0) + np.rint(generator.laplace(0, 20, points)),
    }
    return curves[kind]()


HARD = ("white", "falling", "Cauchy", "walk", "counts")


def hard_task(seed: int, most: int = 1024) -> Task:
    """A random noise, subset of points, ceiling and curve."""
    generator = np.random.default_rng(seed)
    points = int(2 ** generator.uniform(2, np.log2(most)))
    graph = [path, prefix, k_ary, uneven][seed % 4](points, generator)
    if seed % 3 == 0:
        graph = graph.restrict_to_points(
            np.flatnonzero(np.append(generator.random(points - 1) < generator.uniform(0.05, 0.9), True))
        )
    noisy = hard_curve(HARD[seed % 5], graph.points, generator)
    total = float(np.rint(abs(noisy[-1]) + generator.integers(0, 50)))
    ceilings: tuple[Ceiling, ...] = (AtMost(total), Exactly(total), None)
    return Task(noisy, graph, ceilings[generator.integers(3)])


def level_variances(levels: int, generator: np.random.Generator) -> list[float]:
    return [float(variance) for variance in np.exp(generator.normal(2, 1, levels))]


def path(points: int, generator: np.random.Generator) -> NoiseGraph:
    bounds = regular_bounds(points, int(generator.integers(2, 8)))
    return path_graph(bounds, level_variances(len(bounds), generator))


def prefix(points: int, generator: np.random.Generator) -> NoiseGraph:
    bounds = regular_bounds(points, int(generator.integers(2, 8)))
    return build_prefix_graph(bounds, level_variances(len(bounds), generator))


def k_ary(points: int, generator: np.random.Generator) -> NoiseGraph:
    widths = [[1], [5, 1], [49, 7, 1], [243, 27, 9, 3, 1]][generator.integers(4)]
    return subtraction(points, widths, level_variances(len(widths), generator))


def uneven(points: int, generator: np.random.Generator) -> NoiseGraph:
    """Nested stretches of any size over single points; some of them more than once."""
    stretches = [(i, i + 1) for i in range(points)]
    ends = [(0, points)]
    while ends:
        start, end = ends.pop()
        stretches += [(start, end)] * int(generator.integers(0, 3))
        if end - start > 1:
            middle = int(generator.integers(start + 1, end))
            ends += [(start, middle), (middle, end)]
    first, last = np.array(stretches).T
    return build_noise_graph(points, first, last, np.exp(generator.normal(2, 1, len(first))))
