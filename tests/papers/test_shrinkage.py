from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from baselines import shrunken
from dense_least_squares import distributions, totals
from hypothesis import given
from numpy.typing import NDArray

from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares
from dpcurves.summaries import monotone_prefixes

CELLS = 1024
FloatArray = NDArray[np.float64]
Draw = Callable[[np.random.Generator], NDArray[np.int64]]


def tree(widths: tuple[int, ...], epsilon: Fraction) -> IntervalSums:
    noise = Noise(Family.LAPLACE, 2 * len(widths) / epsilon)
    return IntervalSums(1, CELLS, tuple(Tier(range(0, CELLS, width), noise) for width in widths), missing=None)


def released(distribution: IntervalSums, truth: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    sums = [np.add.reduceat(truth, np.asarray(level.starts)) for level in distribution.levels]
    values: NDArray[np.int64] = np.concatenate(sums) + distribution.simulate_values(1, generator)[0].astype(np.int64)
    return values


def normal(generator: np.random.Generator) -> NDArray[np.int64]:
    return np.bincount(generator.normal(512, 100, 5000).clip(0, CELLS - 1).astype(np.int64), minlength=CELLS)


def peaked(generator: np.random.Generator) -> NDArray[np.int64]:
    return np.bincount(generator.normal(550, 2, 5000).astype(np.int64), minlength=CELLS)


def poisson(generator: np.random.Generator) -> NDArray[np.int64]:
    return generator.poisson(3, CELLS)


def errors(distribution: IntervalSums, truth: NDArray[np.int64], generator: np.random.Generator) -> tuple[float, float]:
    """Mean squared error of prefixes: of plain least squares, and shrunken; both made monotone."""
    total, exact = int(truth.sum()), np.cumsum(truth)
    found = np.zeros(2)
    for _ in range(20):
        values = released(distribution, truth, generator)
        for i, cells in enumerate(
            (least_squares(distribution, values, total).cells, shrunken(distribution, values, total))
        ):
            found[i] += np.mean((monotone_prefixes(cells, total)[0, 1:] - exact) ** 2)
    return float(found[0]), float(found[1])


@pytest.mark.quick_share(36)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("widths", [(32, 1), (256, 64, 16, 4, 1), tuple(2**i for i in range(9, -1, -1)), (1,)])
@pytest.mark.parametrize("data", [normal, peaked, poisson])
def test_shrinking_is_never_much_worse_than_plain_least_squares(
    data: Draw, widths: tuple[int, ...], epsilon: Fraction
) -> None:
    # 1.3: the largest ratio seen is 1.2 (flat); 20 releases leave it uncertain by some 5 % as both share their noise
    generator = np.random.default_rng(3)
    plain, ours = errors(tree(widths, epsilon), data(generator), generator)
    assert ours < 1.3 * plain


def test_shrinking_is_much_better_where_there_is_little_structure() -> None:
    generator = np.random.default_rng(4)
    plain, ours = errors(tree((32, 1), Fraction(1, 10)), poisson(generator), generator)
    assert ours < 0.5 * plain


@given(distributions(), totals)
def test_rows_keep_their_totals(distribution: IntervalSums, total: int | None) -> None:
    values = [(37 * i) % 101 for i in range(distribution.size)]
    np.testing.assert_allclose(
        shrunken(distribution, values, total).sum(axis=1),
        least_squares(distribution, values, total).cells.sum(axis=1),
        atol=1e-9,
    )


@pytest.mark.parametrize("widths", [(32, 1), (1,)])
def test_values_without_noise_are_kept(widths: tuple[int, ...]) -> None:
    generator = np.random.default_rng(5)
    distribution, truth = tree(widths, Fraction(10**6)), normal(generator)
    found = shrunken(distribution, released(distribution, truth, generator), int(truth.sum()))
    np.testing.assert_allclose(found[0], truth, atol=1e-9)


def test_small_deviations_are_taken_back_and_clear_ones_kept() -> None:
    distribution = IntervalSums(1, 8, (Tier(range(8), Noise(Family.LAPLACE, Fraction(5))),), missing=None)
    np.testing.assert_allclose(shrunken(distribution, [9, 11, 10, 10, 9, 11, 9, 11], None), np.full((1, 8), 10.0))
    clear = shrunken(distribution, [1000, 0, 0, 0, 10, 10, 10, 10], None)
    assert clear[0, 0] == pytest.approx(1000, rel=0.01)


def test_an_even_split_goes_by_cells_where_intervals_differ() -> None:
    distribution = IntervalSums(1, 6, (Tier((0, 4, 5), Noise(Family.LAPLACE, Fraction(50))),), missing=None)
    np.testing.assert_allclose(shrunken(distribution, [39, 11, 10], 60), np.full((1, 6), 10.0), atol=1e-9)
    refined = IntervalSums(
        1, 6, (Tier((0, 4), Noise(Family.LAPLACE, Fraction(50))), distribution.levels[0]), missing=None
    )
    np.testing.assert_allclose(shrunken(refined, [40, 20, 40, 10, 10], 60), np.full((1, 6), 10.0), atol=1e-9)
