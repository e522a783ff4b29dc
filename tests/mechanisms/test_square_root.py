"""The plan of a square root of prefix sums: its exact loss on all tiny neighbours, its sums, and its error."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES, counts, sums

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import NormalisedSums, ToeplitzSums
from dpcurves.distributions.toeplitz_sums import root_weights
from dpcurves.mechanisms import SquareRoot, TreeSums
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.mechanisms.wavelets import WEIGHT_BITS, longest_normalised_column, squared_lengths
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse

RHO = PrivacyLoss.zcdp("0.3")
WEAK = PrivacyLoss.zcdp("0.000001")
PUBLIC = ReplaceOne(EACH_RECORD, 1000)
FOUR_SIGMA = 4.0


def distribution_of(plan: Plan) -> ToeplitzSums:
    assert isinstance(plan.distribution, ToeplitzSums)
    return plan.distribution


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize(
    ("rows", "cells", "width"),
    [(1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1), (1, 6, 1), (1, 8, 1), (1, 7, 2), (2, 1, 1), (2, 3, 1), (3, 2, 1)],
)
def test_convolved_sums_lose_exactly_what_is_claimed(rows: int, cells: int, width: int, adjacency: Adjacency) -> None:
    query = counts(rows, cells)
    distribution = distribution_of(SquareRoot(width).plan(query, RHO, adjacency))
    assert worst_loss(query, distribution, adjacency) == RHO.rho


@pytest.mark.parametrize("points", [1, 2, 3, 10, 57, 300])
@pytest.mark.parametrize("bits", [1, 7, 20])
def test_lengths_and_distances_of_columns_are_the_largest_there_are(points: int, bits: int) -> None:
    weights = root_weights(points, bits)
    columns = np.array([np.concatenate([np.zeros(shift, dtype=np.int64), weights[: points - shift]])
                        for shift in range(points)])  # fmt: skip
    products = columns @ columns.T
    distances = products.diagonal()[:, None] + products.diagonal() - 2 * products
    assert squared_lengths(points, bits) == (products.diagonal().max(), distances.max())


@pytest.mark.parametrize(("points", "length"), [(2**10, 5.423), (2**12, 6.306), (2**15, 7.629)])
def test_a_moved_record_costs_less_than_two_records(points: int, length: float) -> None:
    alone, moved = (squared / 4**WEIGHT_BITS for squared in squared_lengths(points, WEIGHT_BITS))
    assert moved == pytest.approx(length, abs=6e-4)
    assert moved < 2 * alone


def test_values_are_exact_convolutions_of_the_intervals_of_every_row() -> None:
    distribution = distribution_of(SquareRoot(2).plan(counts(2, 5), RHO, PUBLIC))
    table = np.array([1, 2, 4, 8, 16, 10, 20, 40, 80, 160, 7])
    (values, _), (missing, _) = compute_exact_sums(table, distribution)
    one, half, more = root_weights(3, WEIGHT_BITS).tolist()
    row = [3 * one, 12 * one + 3 * half, 16 * one + 12 * half + 3 * more]
    assert values.tolist() == [*row, *(10 * value for value in row)]
    assert missing.tolist() == [7]


@pytest.mark.parametrize(("cells", "most"), [(2**10, 15.25), (2**12, 20.6), (2**15, 30.1)])
def test_the_predicted_error_is_that_of_the_recipe(cells: int, most: float) -> None:
    """Mean squared error times ``2 * rho``; the recipe has 15.1, 20.5 and 30.0, where no record can be missing."""
    plan = SquareRoot().plan(counts(1, cells), WEAK, PUBLIC)
    assert plan.error**2 * 2e-6 <= most
    assert plan.error < 0.89 * TreeSums().plan(counts(1, cells), WEAK, PUBLIC).error


@pytest.mark.parametrize(("cells", "optimum"), [(64, 4.41), (256, 6.37), (1024, 8.74)])
def test_the_error_under_add_remove_is_within_three_percent_of_the_least_of_all_matrices(
    cells: int, optimum: float
) -> None:
    """At rho 1/2, for optima of `benchmarks/optimum.py`; columns are nearly equally long, and none is longer."""
    plan = SquareRoot().plan(counts(1, cells), WEAK, AddRemove(EACH_RECORD))
    distribution = plan.distribution.require_type(NormalisedSums)
    assert plan.error**2 * 2e-6 < 1.03 * optimum
    weights = distribution.weights / 2.0**distribution.bits
    strategy = np.array([np.append(np.zeros(shift), weights[: cells - shift]) for shift in range(cells)]).T
    strategy *= distribution.column_weights / 2.0**distribution.column_bits
    longest = (
        longest_normalised_column(cells, distribution.bits, distribution.column_bits) / 4.0**distribution.value_bits
    )
    lengths = np.square(strategy).sum(axis=0)
    assert lengths.max() == pytest.approx(longest, rel=1e-12)
    assert 0.998 < lengths.min() <= longest <= 1
    prefixes = np.tril(np.ones((cells, cells))) @ np.linalg.inv(strategy)
    expected = np.square(prefixes).sum(axis=1) * distribution.variance
    np.testing.assert_allclose(distribution.prefix_variances(total_is_public=False)[0, 1:], expected)


def test_wider_intervals_have_less_noise() -> None:
    errors = [SquareRoot(width).plan(counts(1, 1024), WEAK, PUBLIC).error for width in (1, 4, 16, 64)]
    assert errors == sorted(errors, reverse=True)


def test_values_have_mean_and_variance_of_the_noise_at_four_sigma() -> None:
    """False alarm rate about 6.4e-5 for each of 2 moments."""
    plan = SquareRoot().plan(counts(2, 1500), RHO, PUBLIC)
    table = np.arange(3001)
    (exact, noise), _ = compute_exact_sums(table, distribution_of(plan))
    values = SquareRoot().run(table, plan, Randomness.from_seed(3))
    assert len(values) == plan.distribution.size
    assert all(type(value) is int for value in values)
    errors = (np.array(values[:-1], dtype=np.object_) - exact).astype(np.float64)
    assert abs(errors.mean()) < FOUR_SIGMA * sqrt(noise.variance / exact.size)
    assert abs((errors**2).mean() / noise.variance - 1) < FOUR_SIGMA * sqrt(2 / exact.size)


def test_counts_of_any_size_are_released_without_overflow() -> None:
    plan = SquareRoot().plan(counts(1, 3), RHO, AddRemove(EACH_RECORD))
    top = 2**63 - 1
    distribution, table = distribution_of(plan), np.array([top, top, top, 0])
    (exact, noise), _ = compute_exact_sums(table, distribution)
    matrix = [[distribution.weights[i - j] if j <= i else 0 for j in range(3)] for i in range(3)]
    assert isinstance(distribution, NormalisedSums)
    assert exact.tolist() == [top * int(row @ distribution.column_weights) for row in np.array(matrix)]
    values = SquareRoot().run(table, plan, Randomness.from_seed(1))
    assert all(abs(value - total) < 10 * sqrt(noise.variance) for value, total in zip(values, exact, strict=False))


def test_shares_of_a_table_give_shares_of_the_values() -> None:
    distribution = distribution_of(SquareRoot().plan(counts(1, 4), RHO, PUBLIC))
    one, other = np.array([5, -3, 2**40, 7, 1]), np.array([-2, 9, -(2**40), 1, 0])
    (left, _), (right, _), (both, _) = (
        compute_exact_sums(table, distribution)[0] for table in (one, other, one + other)
    )
    assert (left + right).tolist() == both.tolist()


def test_what_it_cannot_do_is_refused() -> None:
    for query in (counts(1, 8, CountUse.CELLS), sums(1, 8, 1)):
        with pytest.raises(UnsupportedQuery, match="prefixes"):
            SquareRoot().plan(query, RHO, PUBLIC)
    with pytest.raises(UnsupportedQuery, match="give a loss in rho"):
        SquareRoot().plan(counts(1, 8), PrivacyLoss.pure(1), PUBLIC)
    with pytest.raises(ValueError, match="width"):
        SquareRoot(0)
    with pytest.raises(UnsupportedQuery, match="loss above zero"):
        SquareRoot().plan(counts(1, 8), RHO * Fraction(0), PUBLIC)
