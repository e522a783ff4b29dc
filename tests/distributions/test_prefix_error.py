"""The recursion against dense generalised least squares, on many small distributions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.distributions import Family, IntervalSums, Noise, Tier

FloatArray = NDArray[np.float64]


def laplace(scale: int) -> Noise:
    return Noise(Family.LAPLACE, Fraction(scale))


def gaussian(variance: int) -> Noise:
    return Noise(Family.GAUSSIAN, Fraction(variance))


LEVELS: dict[int, list[tuple[Tier, ...]]] = {
    1: [(Tier(range(1), laplace(3)),), (Tier(range(1), laplace(3)), Tier(range(1), laplace(2)))],
    2: [(Tier(range(2), laplace(3)),), (Tier(range(1), gaussian(5)), Tier(range(2), laplace(2)))],
    5: [
        (Tier(range(5), gaussian(2)),),
        (Tier(range(0, 5, 2), gaussian(2)),),
        (Tier((0, 3), gaussian(2)), Tier((0, 1, 3, 4), laplace(2))),
        (
            Tier(range(0, 5, 4), laplace(2)),
            Tier(range(0, 5, 2), gaussian(9)),
            Tier(range(5), laplace(1)),
        ),
    ],
    7: [
        (Tier(range(0, 7, 3), laplace(4)), Tier(range(7), laplace(1))),
        (Tier((0,), laplace(9)), Tier((0, 5), laplace(4)), Tier((0, 2, 5, 6), laplace(1))),
        (Tier(range(0, 7, 4), laplace(4)), Tier(range(0, 7, 2), gaussian(3))),
    ],
    12: [
        (
            Tier(range(0, 12, 6), laplace(4)),
            Tier(range(0, 12, 3), gaussian(1)),
            Tier(range(12), laplace(1)),
        ),
        (Tier((0, 1, 2, 9), laplace(4)), Tier((0, 1, 2, 5, 6, 9), gaussian(1))),
    ],
}
DISTRIBUTIONS = [
    IntervalSums(rows, cells, levels, missing)
    for cells, choices in LEVELS.items()
    for rows, levels, missing in product((1, 2, 3), choices, (None, laplace(2), gaussian(40)))
]


def least_squares(distribution: IntervalSums, total_is_public: bool) -> FloatArray:
    """Solve by brute force: unknown are the finest intervals of all rows, and the missing cell."""
    bounds = distribution.levels[-1].bounds(distribution.cells)
    bins = len(bounds) - 1
    unknown = distribution.rows * bins + 1
    design: list[FloatArray] = []
    weights: list[float] = []
    for level in distribution.levels:
        ends = level.bounds(distribution.cells)
        for row, start, end in ((r, s, e) for r in range(distribution.rows) for s, e in pairwise(ends)):
            line = np.zeros(unknown)
            line[row * bins : (row + 1) * bins] = (bounds[:-1] >= start) & (bounds[1:] <= end)
            design.append(line)
            weights.append(1 / level.noise.variance)
    if distribution.missing is not None:
        design.append(np.eye(unknown)[-1])
        weights.append(1 / distribution.missing.variance)
    return _variances_of_prefixes(distribution, np.array(design), np.array(weights), total_is_public)


def _variances_of_prefixes(
    distribution: IntervalSums, design: FloatArray, weights: FloatArray, pinned: bool
) -> FloatArray:
    """By the bordered system of a constrained least squares problem."""
    unknown = design.shape[1]
    system = np.zeros((unknown + 1, unknown + 1))
    system[:-1, :-1] = design.T @ (weights[:, None] * design)
    system[-1, :-1] = system[:-1, -1] = 1.0 if pinned else 0.0
    covariance = np.linalg.pinv(system, hermitian=True)[:-1, :-1]
    bounds = distribution.levels[-1].bounds(distribution.cells)
    bins = len(bounds) - 1
    answer = np.zeros((distribution.rows, distribution.cells + 1))
    for row, edge in np.ndindex(*answer.shape):
        reading = np.zeros(unknown)
        inside = (edge - bounds[:-1]) / np.diff(bounds)
        reading[row * bins : (row + 1) * bins] = np.clip(inside, 0, 1)
        answer[row, edge] = reading @ covariance @ reading
    return answer


@pytest.mark.parametrize("total_is_public", [True, False])
def test_the_recursion_equals_dense_least_squares(total_is_public: bool) -> None:
    for distribution in DISTRIBUTIONS:
        dense = least_squares(distribution, total_is_public)
        np.testing.assert_allclose(
            distribution.prefix_variances(total_is_public), dense, atol=1e-9, err_msg=str(distribution)
        )


def test_random_irregular_nested_distributions_equal_dense_least_squares() -> None:
    dice = np.random.default_rng(5)
    for _ in range(60):
        distribution = _random_distribution(dice)
        np.testing.assert_allclose(
            distribution.prefix_variances(True), least_squares(distribution, True), atol=1e-8, err_msg=str(distribution)
        )
        np.testing.assert_allclose(distribution.prefix_variances(False), least_squares(distribution, False), atol=1e-8)


def _random_distribution(dice: np.random.Generator) -> IntervalSums:
    cells = int(dice.integers(2, 12))
    inner = np.arange(1, cells)
    levels: list[Tier] = []
    for _ in range(int(dice.integers(1, 5))):
        inner = inner[dice.random(len(inner)) < 0.7]
        levels.insert(0, Tier((0, *inner.tolist()), laplace(int(dice.integers(1, 20)))))
    return IntervalSums(int(dice.integers(1, 4)), cells, tuple(levels), gaussian(int(dice.integers(1, 50))))


@pytest.mark.parametrize("total_is_public", [True, False])
def test_the_mean_is_over_inner_edges_and_over_the_cell_where_there_is_one(total_is_public: bool) -> None:
    dice = np.random.default_rng(6)
    for distribution in (*DISTRIBUTIONS, *(_random_distribution(dice) for _ in range(60))):
        every = distribution.prefix_variances(total_is_public)
        inner = every[:, 1:-1] if distribution.cells > 1 else every[:, 1:]
        assert distribution.mean_prefix_variance(total_is_public) == pytest.approx(float(inner.mean()), abs=1e-12)


def test_without_a_missing_count_a_public_total_tells_nothing() -> None:
    distribution = IntervalSums(1, 4, (Tier(range(4), laplace(2)),), missing=None)
    np.testing.assert_array_equal(distribution.prefix_variances(True), distribution.prefix_variances(False))


def test_noise_too_small_for_a_double_gives_no_error_and_no_warning() -> None:
    nothing = Noise(Family.LAPLACE, Fraction(1, 10**6))
    distribution = IntervalSums(2, 64, (Tier(range(0, 64, 8), nothing), Tier(range(64), nothing)), nothing)
    assert nothing.variance == 0
    assert distribution.prefix_variances(total_is_public=True).max() < 1e-200
    assert 0 <= distribution.mean_prefix_variance(total_is_public=True) < 1e-200


def test_levels_that_are_not_nested_are_refused() -> None:
    crossing = (Tier((0, 3), laplace(2)), Tier((0, 2, 4), laplace(2)))
    with pytest.raises(ValueError, match="union of intervals"):
        IntervalSums(1, 6, crossing, laplace(2)).prefix_variances(total_is_public=False)


def test_a_tree_of_many_cells_agrees_with_the_closed_form_of_perfect_trees() -> None:
    """Two levels of 256, noise 1 each, total not public: inner parts by hand."""
    distribution = IntervalSums(
        1, 2**16, (Tier(range(0, 2**16, 256), gaussian(1)), Tier(range(2**16), gaussian(1))), None
    )
    upper = 1 / (1 + 1 / 256)
    part = np.arange(256) / 256
    first = 255 / 2 + np.mean(part**2)
    inner = np.mean(np.arange(256) - np.arange(256) ** 2 / 256)
    expected = (upper * first + inner) * 2**16 / (2**16 - 1)
    assert distribution.mean_prefix_variance(total_is_public=False) == pytest.approx(expected, rel=1e-9)
