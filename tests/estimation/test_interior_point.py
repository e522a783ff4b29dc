from __future__ import annotations

import numpy as np
import pytest
from smoothing_oracles import FloatArray

from dpcurves.smoothing import build_noise_graph
from dpcurves.smoothing.isotonic_projection import LinearProgramme, solve_interior_point


def programme(steps: FloatArray) -> LinearProgramme:
    """One noise of unit cost for each point."""
    points = len(steps) - 1
    graph, slots = build_noise_graph(points, range(points), range(1, points + 1), 1.0), np.arange(points)
    ends = graph.slots.lower[slots], graph.slots.upper[slots]
    return LinearProgramme(graph, slots, *ends, np.ones(points), steps, bounded_steps=points + 1, last_ground=0.0)


def test_values_and_slacks_prove_each_other() -> None:
    steps = np.array([1.0, -3.0, 2.0, -1.0, 4.0])
    problem = programme(steps)
    found = solve_interior_point(problem)
    assert np.all(found.value > 0)
    assert np.all(found.slack > 0)
    np.testing.assert_allclose(problem.apply_constraints(found.value), -steps, atol=1e-9)
    cost = np.concatenate([problem.cost, problem.cost, np.zeros(5)])
    np.testing.assert_allclose(cost + problem.slack_change(found.pressure), found.slack, atol=1e-12)
    assert cost @ found.value == pytest.approx(-steps @ found.pressure, rel=1e-9)  # strong duality


def test_slacks_change_by_the_transpose_of_what_values_move() -> None:
    problem, generator = programme(np.zeros(6)), np.random.default_rng(0)
    value, pressure = generator.normal(size=16), generator.normal(size=6)
    assert pressure @ problem.apply_constraints(value) == pytest.approx(-problem.slack_change(pressure) @ value)


def test_what_has_no_solution_ends_all_the_same() -> None:
    with pytest.raises(ArithmeticError, match="not smoothed"), np.errstate(all="ignore"):
        solve_interior_point(programme(np.array([1.0, -3.0, 1.0])))
