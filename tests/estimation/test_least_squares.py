from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dense_least_squares import dense_least_squares, distributions, totals, value_variances
from hypothesis import given
from hypothesis import strategies as st

from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares, least_squares_batch
from dpcurves.summaries import counts_to_prefixes


def noise(scale: Fraction | int) -> Noise:
    return Noise(Family.LAPLACE, Fraction(scale))


def flat(cells: int, scale: Fraction | int, rows: int = 1, missing: Noise | None = None) -> IntervalSums:
    return IntervalSums(rows, cells, (Tier(range(cells), noise(scale)),), missing)


@pytest.mark.reproduction
@given(distributions(), totals, st.integers(0, 2**32))
def test_two_passes_give_what_dense_matrices_give(distribution: IntervalSums, total: int | None, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-50, 500, distribution.size)
    ours = least_squares(distribution, values.tolist(), total)
    theirs = dense_least_squares(distribution, values.astype(np.float64), total).estimate
    cells = distribution.rows * distribution.cells
    np.testing.assert_allclose(ours.cells.ravel(), theirs[:cells], rtol=1e-8, atol=1e-7)
    assert ours.missing == pytest.approx(theirs[cells] if distribution.missing is not None else 0.0, rel=1e-8, abs=1e-7)


@given(distributions(), totals)
def test_the_covariance_is_that_of_the_best_linear_unbiased_estimate(
    distribution: IntervalSums, total: int | None
) -> None:
    zero = None if total is None else 0
    cells, _ = least_squares_batch(
        distribution, np.eye(distribution.size), zero
    )  # the estimate is linear: these are its columns
    columns = cells.reshape(distribution.size, -1)
    dense = dense_least_squares(distribution, np.zeros(distribution.size), zero).covariance[
        : columns.shape[1], : columns.shape[1]
    ]
    ours = columns.T @ (columns * value_variances(distribution)[:, None])
    np.testing.assert_allclose(ours, dense, rtol=1e-7, atol=1e-9 * value_variances(distribution).max())


@given(distributions().filter(lambda distribution: distribution.missing is not None), totals)
def test_prefixes_have_the_variances_that_plans_promise(distribution: IntervalSums, total: int | None) -> None:
    cells, _ = least_squares_batch(distribution, np.eye(distribution.size), None if total is None else 0)
    ours = (counts_to_prefixes(cells) ** 2 * value_variances(distribution)[:, None, None]).sum(axis=0)
    promised = distribution.prefix_variances(total is not None)
    np.testing.assert_allclose(ours, promised, rtol=1e-7, atol=1e-9 * value_variances(distribution).max())


@given(distributions(), st.integers(0, 1000))
def test_a_public_total_is_met(distribution: IntervalSums, total: int) -> None:
    estimate = least_squares(distribution, list(range(distribution.size)), total)
    assert estimate.cells.sum() + estimate.missing == pytest.approx(total)


@given(distributions())
def test_a_batch_is_its_releases_one_by_one(distribution: IntervalSums) -> None:
    values = np.arange(6 * distribution.size).reshape(2, 3, distribution.size)
    cells, missing = least_squares_batch(distribution, values.astype(np.float64), 70)
    assert cells.shape == (2, 3, distribution.rows, distribution.cells)
    assert missing.shape == (2, 3)
    one = least_squares(distribution, values[1, 2], 70)
    np.testing.assert_allclose(cells[1, 2], one.cells)
    assert missing[1, 2] == pytest.approx(one.missing)


@pytest.mark.parametrize("scale", [Fraction(1, 10**7), Fraction(1, 800), Fraction(10**12)])
def test_values_that_agree_are_kept_to_the_bit(scale: Fraction) -> None:
    truth = np.array([[3, 0, 7, 2, 1], [0, 0, 0, 9, 4]])
    starts = (0, 2), (0, 1, 2, 3, 4)
    distribution = IntervalSums(2, 5, tuple(Tier(level, noise(scale)) for level in starts), noise(scale))
    values = [*np.add.reduceat(truth, [0, 2], axis=1).ravel(), *truth.ravel(), 6]
    estimate = least_squares(distribution, values, total=32)
    np.testing.assert_array_equal(estimate.cells, truth)
    assert estimate.missing == 6


def test_an_exact_level_overrules_a_noisy_one() -> None:
    distribution = IntervalSums(1, 2, (Tier((0,), noise(Fraction(1, 10**6))), Tier((0, 1), noise(5))), missing=None)
    np.testing.assert_allclose(least_squares(distribution, [10, 1, 3], None).cells, [[4.0, 6.0]])


def test_without_a_total_a_flat_histogram_stays_as_it_is() -> None:
    assert least_squares(flat(3, 2, rows=2), [1, 2, 3, -4, 5, 6], None).cells.tolist() == [[1, 2, 3], [-4, 5, 6]]


def test_a_total_is_shared_by_all_rows_and_the_missing_cell() -> None:
    estimate = least_squares(flat(2, 2, rows=2, missing=noise(2)), [1, 2, 3, 4, 5], 20)
    assert estimate.cells.ravel() == pytest.approx([2, 3, 4, 5])
    assert estimate.missing == pytest.approx(6)


def test_a_merged_cell_is_spread_evenly() -> None:
    distribution = IntervalSums(1, 5, (Tier((0, 3), noise(1)),), missing=None)
    assert least_squares(distribution, [6, 1], None).cells.tolist() == [[2.0, 2.0, 2.0, 0.5, 0.5]]


def test_values_that_do_not_fit_the_distribution_are_refused() -> None:
    with pytest.raises(ValueError, match="values: 3 values are needed"):
        least_squares(flat(3, 1), [1, 2], None)
