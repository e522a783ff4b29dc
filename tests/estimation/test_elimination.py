from __future__ import annotations

import numpy as np
import pytest
from smoothing_oracles import FloatArray, k_ary, path, prefix, uneven

from dpcurves.smoothing import NoiseGraph, build_noise_graph
from dpcurves.smoothing.noise_graph import Elimination


def laplacian(graph: NoiseGraph, weight: FloatArray) -> FloatArray:
    matrix = np.zeros((graph.points + 1, graph.points + 1))
    for a, b, w in zip(graph.slots.lower, graph.slots.upper, weight, strict=True):
        matrix[np.ix_([a, b], [a, b])] += w * np.array([[1, -1], [-1, 1]])
    return matrix


@pytest.mark.parametrize("seed", range(24))
def test_it_solves_what_a_dense_matrix_solves(seed: int) -> None:
    generator = np.random.default_rng(seed)
    graph = [path, prefix, k_ary, uneven][seed % 4](int(generator.integers(2, 60)), generator)
    weight = graph.variance * generator.uniform(0, 2, len(graph.variance))
    ground = np.where(generator.random(graph.points + 1) < 0.5, 0.0, generator.exponential(1, graph.points + 1))
    ground[generator.integers(0, graph.points + 1, 2)] = np.inf
    free = np.isfinite(ground)
    right = generator.normal(0, 1, graph.points + 1)
    exact = np.zeros(graph.points + 1)
    matrix = laplacian(graph, weight) + np.diag(np.where(free, ground, 0))
    exact[free] = np.linalg.solve(matrix[np.ix_(free, free)], right[free])
    solved = Elimination.from_graph(graph, weight, ground).solve(right)
    np.testing.assert_allclose(solved, exact, rtol=1e-7, atol=1e-9 * np.abs(exact).max())


def test_a_part_without_ground_has_one_step_held_at_zero() -> None:
    graph = build_noise_graph(3, [0, 2], [2, 3], 1.0)  # step 1 is alone, steps 0, 2 and 3 hang together
    solved = Elimination.from_graph(graph, graph.variance, np.zeros(4)).solve(np.array([1.0, 5.0, 0.0, -1.0]))
    assert solved[1] == 0
    np.testing.assert_allclose(laplacian(graph, graph.variance) @ solved, [1, 0, 0, -1], atol=1e-12)


def test_weights_may_be_far_apart() -> None:
    graph = build_noise_graph(2, [0, 1], [1, 2], [1e-150, 1e150])
    solved = Elimination.from_graph(graph, graph.variance, np.array([np.inf, 0.0, 0.0])).solve(
        np.array([0.0, 1.0, 1.0])
    )
    np.testing.assert_allclose(solved, [0, 2e150, 2e150], rtol=1e-14)
