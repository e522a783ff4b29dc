from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from baselines import path_graph, regular_bounds
from hypothesis import given
from hypothesis.strategies import integers
from smoothing_oracles import FloatArray, Task, clarabel_least_squares, hard_task, incidence
from test_noise_graph import covariance_of_points

from dpcurves.smoothing import AtMost, Ceiling, Exactly, build_noise_graph, project_isotonic_l2
from dpcurves.smoothing.isotonic_projection import solve_least_squares

SEEDS = integers(0, 10**6)


def half_cost(task: Task, noise: FloatArray) -> float:
    slots = task.noisy_slots
    return float(np.sum(noise[slots] ** 2 / task.graph.variance[slots]) / 2)


@given(seed=SEEDS)
def test_it_costs_what_clarabel_finds_on_hard_curves(seed: int) -> None:
    task = hard_task(seed)
    change = solve_least_squares(task.steps, task.graph, task.ceiling)
    assert half_cost(task, change.noise) == pytest.approx(clarabel_least_squares(task), rel=1e-9, abs=1e-9)


@given(seed=SEEDS)
def test_the_change_of_noises_makes_the_curve(seed: int) -> None:
    task = hard_task(seed)
    change = solve_least_squares(task.steps, task.graph, task.ceiling)
    rises = incidence(task)
    moved = task.steps[: rises.shape[0]] + rises @ change.noise[task.noisy_slots]
    np.testing.assert_allclose(moved, change.steps[: len(moved)], atol=1e-9 * np.abs(task.noisy).max())


@given(seed=SEEDS)
def test_the_curve_rises_between_zero_and_its_ceiling(seed: int) -> None:
    task = hard_task(seed)
    assert_rises(project_isotonic_l2(task.noisy, task.graph, task.ceiling), task.ceiling)


def assert_rises(curve: FloatArray, ceiling: Ceiling) -> None:
    assert curve[0] >= 0
    assert np.all(np.diff(curve) >= 0)
    if ceiling is not None:
        assert curve[-1] <= ceiling.count
    if isinstance(ceiling, Exactly):
        assert curve[-1] == ceiling.count


@given(seed=SEEDS)
def test_it_is_the_best_of_all_ways_to_hold_steps_of_tiny_curves(seed: int) -> None:
    """Every set of steps is held at 0 in turn, with dense matrices; the closest feasible curve is the solution."""
    task = hard_task(seed, most=6)
    covariance = covariance_of_points(task.graph)
    ours = project_isotonic_l2(task.noisy, task.graph, task.ceiling)
    precision = np.linalg.pinv(covariance)
    best = min(
        (float((curve - task.noisy) @ precision @ (curve - task.noisy)), i)
        for i, curve in enumerate(_feasible_corners(task, covariance))
    )
    cost = float((ours - task.noisy) @ precision @ (ours - task.noisy))
    assert cost == pytest.approx(best[0], rel=1e-8, abs=1e-8)


def _feasible_corners(task: Task, covariance: FloatArray) -> list[FloatArray]:
    points, steps = task.graph.points, task.steps
    rises = np.vstack([np.eye(points) - np.eye(points, k=-1), -np.eye(points)[-1]])
    free = points if task.ceiling is None else points + 1
    corners = []
    for held in product([False, True], repeat=free):
        some = np.flatnonzero(held)
        if isinstance(task.ceiling, Exactly) and not held[-1]:
            continue
        push = np.linalg.lstsq(rises[some] @ covariance @ rises[some].T, -steps[some], rcond=None)[0]
        curve = task.noisy + covariance @ rises[some].T @ push
        found = rises @ curve + np.append(np.zeros(points), 0.0 if task.ceiling is None else task.ceiling.count)
        scale = 1e-7 * (1 + np.abs(task.noisy).max())
        if np.all(found[:free] > -scale) and np.all(np.abs(found[some]) < scale):
            corners.append(curve)
    return corners


@pytest.mark.parametrize("ceiling", [AtMost(30.1), Exactly(30.1), None])
def test_a_curve_that_rises_as_it_must_stays_to_the_bit(ceiling: Ceiling) -> None:
    graph = path_graph(regular_bounds(4, 2), [1.0, 1.0, 1.0])
    rising = np.array([0.1, 0.3, 0.3, 30.1])
    assert project_isotonic_l2(rising, graph, ceiling).tolist() == rising.tolist()


def test_noise_of_single_points_alone_is_isotonic_regression() -> None:
    graph = build_noise_graph(5, range(5), range(1, 6), 2.0)
    assert project_isotonic_l2([3, 1, 2, 9, 7], graph, AtMost(20)) == pytest.approx([2, 2, 2, 8, 8])


def test_nothing_to_count_is_nothing() -> None:
    graph = path_graph(regular_bounds(4, 2), [1.0, 1.0, 1.0])
    for ceiling in (AtMost(0), Exactly(0)):
        assert project_isotonic_l2([3.0, -1.0, 2.0, 5.0], graph, ceiling).tolist() == [0, 0, 0, 0]


def test_points_left_out_are_free() -> None:
    graph = path_graph(regular_bounds(4, 2), [0.0, 0.0, 1.0])
    assert project_isotonic_l2([2, 1], graph.restrict_to_points([0, 3]), None).tolist() == [1.5, 1.5]


def test_a_fall_that_no_noise_explains_is_refused() -> None:
    graph = build_noise_graph(2, [0], [2], 1.0)  # both points have the same noise
    with pytest.raises(ValueError, match="decreases between points that have the same noises"):
        project_isotonic_l2([2, 1], graph, AtMost(5))


def test_big_counts_do_not_hide_small_falls() -> None:
    graph = path_graph(regular_bounds(2, 2), [0.0, 1.0])
    start = 2.0**40
    assert (project_isotonic_l2([start + 1, start], graph, AtMost(2.0**50)) - start).tolist() == [0.5, 0.5]
