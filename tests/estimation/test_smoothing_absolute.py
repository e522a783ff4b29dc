from __future__ import annotations

import numpy as np
import pytest
from baselines import path_graph, regular_bounds
from smoothing_oracles import FloatArray, Task, hard_task, highs_least_absolute, incidence
from test_smoothing_squares import assert_rises

from dpcurves.smoothing import AtMost, Ceiling, Exactly, build_noise_graph, project_isotonic_l1
from dpcurves.smoothing.isotonic_projection import is_monotone, solve_least_absolute


def cost(task: Task, noise: FloatArray) -> float:
    slots = task.noisy_slots
    return float(np.sum(np.abs(noise[slots]) / np.sqrt(task.graph.largest[slots])))


def falling_tasks(seeds: range, most: int) -> list[Task]:
    tasks = [hard_task(seed, most) for seed in seeds]
    return [task for task in tasks if not is_monotone(task.steps, task.ceiling)]


@pytest.mark.quick_share(5)
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_it_costs_what_highs_finds_on_hard_curves(first: int) -> None:
    for task in falling_tasks(range(first, first + 20), 256):
        change = solve_least_absolute(task.steps, task.graph, task.ceiling)
        assert cost(task, change.noise) == pytest.approx(highs_least_absolute(task), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_the_change_of_noises_makes_a_curve_that_rises(first: int) -> None:
    for task in falling_tasks(range(first, first + 20), 512):
        change = solve_least_absolute(task.steps, task.graph, task.ceiling)
        rises = incidence(task)
        moved = task.steps[: rises.shape[0]] + rises @ change.noise[task.noisy_slots]
        np.testing.assert_allclose(moved, change.steps[: len(moved)], atol=1e-8 * np.abs(task.noisy).max())
        assert_rises(project_isotonic_l1(task.noisy, task.graph, task.ceiling), task.ceiling)


@pytest.mark.parametrize("ceiling", [AtMost(30.1), Exactly(30.1), None])
def test_a_curve_that_rises_as_it_must_stays_to_the_bit(ceiling: Ceiling) -> None:
    graph = path_graph(regular_bounds(4, 2), [1.0, 1.0, 1.0])
    rising = np.array([0.1, 0.3, 0.3, 30.1])
    assert project_isotonic_l1(rising, graph, ceiling).tolist() == rising.tolist()


def test_one_outlier_among_single_points_is_taken_back_whole() -> None:
    graph = build_noise_graph(5, range(5), range(1, 6), 2.0)
    curve = project_isotonic_l1([1, 2, 90, 4, 5], graph, AtMost(100))
    assert curve == pytest.approx([1, 2, curve[2], curve[2], 5])
    assert 4 - 1e-7 <= curve[2] <= 5 + 1e-7  # lifting the next point costs what lowering the outlier less saves


def test_a_noise_of_large_variance_is_changed_first() -> None:
    graph = build_noise_graph(2, [0, 1], [1, 2], [1.0, 9.0])
    assert project_isotonic_l1([5, 2], graph, AtMost(10)) == pytest.approx([5, 5])


def test_nothing_to_count_is_nothing() -> None:
    graph = path_graph(regular_bounds(4, 2), [1.0, 1.0, 1.0])
    for ceiling in (AtMost(0), Exactly(0)):
        assert project_isotonic_l1([3.0, -1.0, 2.0, 5.0], graph, ceiling) == pytest.approx(np.zeros(4), abs=1e-8)


def test_a_fall_that_no_noise_explains_is_refused() -> None:
    graph = build_noise_graph(2, [0], [2], 1.0)
    with pytest.raises(ValueError, match="decreases between points that have the same noises"):
        project_isotonic_l1([2, 1], graph, AtMost(5))


@pytest.mark.parametrize(("levels", "seed"), [(8, 4312), (11, 400)])
def test_rounding_near_the_solution_does_not_keep_it_away(levels: int, seed: int) -> None:
    """Takes the two of some 14,000 Poisson curves on which equations could once not be met that near to the bounds."""
    points, generator = 2**levels, np.random.default_rng(seed)
    bounds = regular_bounds(points, 2)
    exact = np.cumsum(generator.poisson((3, 10, 30)[seed % 3], points)).astype(float)
    noise = [np.repeat(np.round(generator.laplace(0, levels + 1, len(b) - 1)), np.diff(b)) for b in bounds]
    graph, ceiling = path_graph(bounds, [1.0] * len(bounds)), AtMost(float(exact[-1]))
    assert_rises(project_isotonic_l1(exact + np.sum(noise, axis=0), graph, ceiling), ceiling)
