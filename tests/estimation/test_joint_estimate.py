"""The readings of contrasts and convolved sums against dense matrices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from dense_sums import Distribution, dense_sums, design, random_contrasts, random_distributions, value_variances
from numpy.typing import NDArray

from dpcurves.distributions import Family, HaarSums, IntervalSums, Noise, Tier, ToeplitzSums, least_squares
from dpcurves.estimation import estimate_unbiased, shrink_estimate
from dpcurves.estimation.joint_estimate import smooth_cells
from dpcurves.summaries import counts_to_prefixes

LAPLACE, GAUSSIAN = Noise(Family.LAPLACE, Fraction(7, 2)), Noise(Family.GAUSSIAN, Fraction(9, 2))
HAAR = HaarSums(2, 7, 1, LAPLACE, (LAPLACE, GAUSSIAN, LAPLACE), GAUSSIAN)
ROOT = ToeplitzSums(2, 7, 2, 20, Noise(Family.GAUSSIAN, Fraction(4**20 * 5)), LAPLACE)


TOTALS = (None, 0, 700)


def random_values(distribution: Distribution) -> NDArray[np.int64]:
    return np.random.default_rng(distribution.size).integers(-50, 500, distribution.size)


@pytest.mark.parametrize("total", TOTALS)
def test_readings_are_what_dense_matrices_give(total: int | None) -> None:
    for distribution in random_distributions():
        values = random_values(distribution)
        ours = estimate_unbiased(distribution, values.tolist(), total)
        theirs = dense_sums(distribution, values.astype(np.float64), total).estimate
        cells = distribution.rows * distribution.cells
        np.testing.assert_allclose(ours.cells.ravel(), theirs[:cells], rtol=1e-7, atol=1e-6, err_msg=str(distribution))
        assert ours.missing == pytest.approx(
            theirs[cells] if distribution.missing is not None else 0.0, rel=1e-7, abs=1e-6
        )


@pytest.mark.parametrize("total", [None, 0])
def test_the_covariance_is_that_of_the_best_linear_unbiased_estimate(total: int | None) -> None:
    for distribution in random_distributions():
        cells, _ = distribution.reconstruct(np.eye(distribution.size), total)
        columns, variances = cells.reshape(distribution.size, -1), value_variances(distribution)
        dense = dense_sums(distribution, np.zeros(distribution.size), total).covariance[
            : columns.shape[1], : columns.shape[1]
        ]
        ours = columns.T @ (columns * variances[:, None])
        np.testing.assert_allclose(ours, dense, rtol=1e-6, atol=1e-8 * np.abs(dense).max(), err_msg=str(distribution))


@pytest.mark.parametrize("total", [None, 0])
def test_prefixes_have_the_variances_that_plans_promise(total: int | None) -> None:
    for distribution in random_distributions():
        if distribution.missing is None:
            continue
        dense = dense_sums(distribution, np.zeros(distribution.size), total).covariance[:-1, :-1]
        row = dense[-distribution.cells :, -distribution.cells :].cumsum(axis=0).cumsum(axis=1).diagonal()
        promised = distribution.prefix_variances(total is not None)
        for each in promised:
            expected = np.append(0, row)
            np.testing.assert_allclose(each, expected, rtol=1e-7, atol=1e-8 * expected.max(), err_msg=str(distribution))
        inner = promised[:, 1:-1] if distribution.cells > 1 else promised[:, 1:]
        assert distribution.mean_prefix_variance(total is not None) == pytest.approx(inner.mean(), abs=1e-12)


def test_where_missing_records_were_not_counted_a_public_total_promises_nothing() -> None:
    for distribution in random_distributions():
        if distribution.missing is None:
            assert np.array_equal(distribution.prefix_variances(True), distribution.prefix_variances(False))


def test_exact_values_are_read_without_bias() -> None:
    for distribution in random_distributions():
        truth = np.abs(random_values(distribution))[
            : distribution.rows * distribution.points + (distribution.missing is not None)
        ]
        estimate = estimate_unbiased(
            distribution, np.rint(design(distribution) @ truth).astype(np.int64), int(truth.sum())
        )
        points = np.add.reduceat(estimate.cells, distribution.bounds[:-1], axis=1)
        np.testing.assert_allclose(
            points.ravel(), truth[: distribution.rows * distribution.points], rtol=1e-9, atol=1e-6
        )


def test_a_public_total_is_met() -> None:
    for distribution in random_distributions():
        estimate = estimate_unbiased(distribution, random_values(distribution), 600)
        assert estimate.cells.sum() + estimate.missing == pytest.approx(600, abs=1e-6)


def test_a_batch_is_its_releases_one_by_one() -> None:
    for distribution in random_distributions()[::7]:
        values = np.arange(6 * distribution.size).reshape(2, 3, distribution.size)
        cells, missing = distribution.reconstruct(values.astype(np.float64), 70)
        assert cells.shape == (2, 3, distribution.rows, distribution.cells)
        assert missing.shape == (2, 3)
        one = estimate_unbiased(distribution, values[1, 2], 70)
        np.testing.assert_allclose(cells[1, 2], one.cells, atol=1e-7)
        assert missing[1, 2] == pytest.approx(one.missing, abs=1e-7)


def test_without_its_total_a_row_is_what_is_not_missing() -> None:
    for distribution in random_contrasts():
        if distribution.rows > 1 or distribution.missing is None:
            continue
        bare = replace(distribution, top=None)
        values = random_values(bare)
        estimate = estimate_unbiased(bare, values, 400)
        assert estimate.missing == values[-1]
        assert estimate.cells.sum() == pytest.approx(400 - values[-1])
        assert bare.prefix_variances(total_is_public=True)[0, -1] == pytest.approx(distribution.missing.variance)


def test_without_anything_that_tells_a_total_nothing_can_be_read() -> None:
    for distribution, total in ((replace(HAAR, top=None), 5), (replace(HAAR, rows=1, top=None), None)):
        with pytest.raises(ValueError, match="count the total of each row"):
            estimate_unbiased(distribution, [0] * distribution.size, total)
        with pytest.raises(ValueError, match="count the total of each row"):
            distribution.prefix_variances(total_is_public=total is not None)


def test_values_that_do_not_fit_the_distribution_are_refused() -> None:
    for distribution in (HAAR, ROOT):
        with pytest.raises(ValueError, match="values: 1?[0-9] values are needed"):
            estimate_unbiased(distribution, [1, 2], None)


def test_nested_sums_are_read_by_least_squares_and_smoothed() -> None:
    distribution = IntervalSums(2, 9, (Tier(range(0, 9, 3), LAPLACE), Tier(range(9), LAPLACE)), LAPLACE)
    values = list(range(distribution.size))
    assert np.array_equal(
        estimate_unbiased(distribution, values, 40).cells, least_squares(distribution, values, 40).cells
    )
    assert np.array_equal(shrink_estimate(distribution, values, 40), smooth_cells(distribution, values, 40))


def test_each_row_is_smoothed_on_its_own() -> None:
    distribution = IntervalSums(2, 9, (Tier(range(0, 9, 3), LAPLACE), Tier(range(9), LAPLACE)), missing=None)
    values = np.random.default_rng(4).integers(0, 90, distribution.size)
    one = replace(distribution, rows=1)
    first, second = np.concatenate([values[:3], values[6:15]]), np.concatenate([values[3:6], values[15:]])
    assert smooth_cells(distribution, values, None).tolist() == [
        smooth_cells(one, row, None)[0].tolist() for row in (first, second)
    ]


def test_cells_are_never_negative_and_keep_the_total_of_least_squares() -> None:
    distribution = IntervalSums(1, 10, (Tier((0, 3, 7), LAPLACE), Tier((0, 1, 3, 7, 8), LAPLACE)), LAPLACE)
    for seed in range(20):
        values = np.random.default_rng(seed).integers(-20, 60, distribution.size)
        (cells,) = smooth_cells(distribution, values, 100)
        assert cells.min() >= 0
        assert cells.sum() == pytest.approx(max(least_squares(distribution, values, 100).cells.sum(), 0))
        assert np.ptp(cells[3:7]) == pytest.approx(0)  # counted as one, with neighbours that tell nothing about it


def test_what_is_drawn_even_keeps_the_totals_of_the_rows() -> None:
    for distribution in random_distributions():
        values = random_values(distribution)
        even = shrink_estimate(distribution, values, 600)
        assert even.shape == (distribution.rows, distribution.cells)
        expected = estimate_unbiased(distribution, values, 600).cells.sum(axis=1)
        np.testing.assert_allclose(even.sum(axis=1), expected, rtol=1e-9, atol=1e-6)


def test_contrasts_that_noise_explains_are_taken_back_and_clear_ones_stand() -> None:
    noise = Noise(Family.GAUSSIAN, Fraction(100))
    distribution = HaarSums(1, 8, 1, noise, (noise,) * 3, None)
    assert shrink_estimate(distribution, [80, 3, 0, 1, 2, -1, 0, 1], None).tolist() == [[10.0] * 8]
    halves = shrink_estimate(distribution, [80, 70, 0, 1, 2, -1, 0, 1], None)[0]
    assert halves.tolist() == [18.75] * 4 + [1.25] * 4


def test_an_even_split_of_a_node_that_is_cut_off_is_by_its_cells() -> None:
    noise = Noise(Family.GAUSSIAN, Fraction(100))
    distribution = HaarSums(1, 7, 2, noise, (noise,) * 2, None)
    assert np.allclose(shrink_estimate(distribution, [70, 10, 0, 10], None), 10)


@pytest.mark.parametrize("distribution", [HAAR, ROOT])
@pytest.mark.parametrize("total", [None, 100])
def test_simulated_errors_have_the_covariance_of_the_estimate(distribution: Distribution, total: int | None) -> None:
    """False alarm rate 6.4e-5 for each of about 100 entries: 4 sigma."""
    draws = 20_000
    chunks = list(distribution.simulate(total, draws, np.random.default_rng(8)))
    cells = np.concatenate([chunk.reshape(len(chunk), -1) for chunk, _ in chunks])
    columns = np.column_stack([cells, np.concatenate([part for _, part in chunks])])
    exact = dense_sums(distribution, np.zeros(distribution.size), None if total is None else 0).covariance
    spread = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    assert np.all(np.abs(columns.T @ columns / draws - exact) <= 4 * np.sqrt(6 / draws) * spread + 1e-9)


@pytest.mark.parametrize("distribution", [HAAR, ROOT])
def test_simulated_prefixes_agree_with_the_variances_that_plans_promise(distribution: Distribution) -> None:
    ((cells, _),) = distribution.simulate(100, 20_000, np.random.default_rng(9))
    found = np.mean(counts_to_prefixes(cells) ** 2, axis=0)
    np.testing.assert_allclose(found, distribution.prefix_variances(True), rtol=4 * sqrt(5 / 20_000), atol=1e-9)


def test_long_rows_are_read_to_the_rounding_of_doubles() -> None:
    """Values of 2**13 intervals without noise: every prefix is right to 1e-9 of the total."""
    distribution = ToeplitzSums(1, 2**13, 1, 20, Noise(Family.GAUSSIAN, Fraction(1)), None)
    truth = np.random.default_rng(4).poisson(3.0, 2**13)
    values = np.rint(np.convolve(truth.astype(np.float64), distribution.weights.astype(np.float64))[: 2**13]).astype(
        np.int64
    )
    prefixes = np.cumsum(estimate_unbiased(distribution, values, None).cells[0])
    np.testing.assert_allclose(prefixes, np.cumsum(truth), atol=1e-9 * truth.sum())
