"""The plan of a wavelet: its exact loss on all tiny neighbours, what is summed, and its error."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES, counts, sums

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import Family, HaarSums, Noise
from dpcurves.mechanisms import Haar
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse

PURE = PrivacyLoss.pure("0.7")
CONCENTRATED = PrivacyLoss.zcdp("0.3")
PUBLIC = ReplaceOne(EACH_RECORD, 1000)
FOUR_SIGMA = 4.0


def distribution_of(plan: Plan) -> HaarSums:
    assert isinstance(plan.distribution, HaarSums)
    return plan.distribution


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize(
    ("rows", "cells", "width"),
    [(1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1), (1, 5, 1), (1, 6, 1), (1, 7, 1), (1, 8, 1), (1, 7, 2), (1, 4, 9),
     (2, 1, 1), (2, 2, 1), (2, 3, 1), (2, 4, 1), (3, 3, 1), (2, 5, 2)],
)  # fmt: skip
def test_contrasts_lose_exactly_what_is_claimed(rows: int, cells: int, width: int, adjacency: Adjacency) -> None:
    query = counts(rows, cells)
    for loss, claimed in ((PURE, PURE.epsilon), (CONCENTRATED, CONCENTRATED.rho)):
        distribution = distribution_of(Haar(width).plan(query, loss, adjacency))
        assert worst_loss(query, distribution, adjacency) == claimed


def test_left_halves_are_summed_less_right_halves() -> None:
    """Five cells in two rows: 8, 4 and 2 cells to a node."""
    distribution = distribution_of(Haar().plan(counts(2, 5), PURE, PUBLIC))
    table = np.array([1, 2, 4, 8, 16, 10, 20, 40, 80, 160, 7])
    parts = [part.tolist() for part, _ in compute_exact_sums(table, distribution)]
    assert parts == [[31, 310], [15 - 16, 150 - 160], [3 - 12, 30 - 120], [-1, -4, -10, -40], [7]]


def test_wide_intervals_are_the_leaves() -> None:
    distribution = distribution_of(Haar(3).plan(counts(1, 7), PURE, PUBLIC))
    parts = [part.tolist() for part, _ in compute_exact_sums(np.array([1, 2, 4, 8, 16, 32, 64, 5]), distribution)]
    assert parts == [[7 + 56 - 64], [7 - 56], [5]]


def test_where_one_row_is_all_and_the_total_is_public_it_is_not_released() -> None:
    assert distribution_of(Haar().plan(counts(1, 8), PURE, PUBLIC)).top is None
    assert distribution_of(Haar().plan(counts(1, 8), PURE, AddRemove(EACH_RECORD))).top is not None
    assert distribution_of(Haar().plan(counts(2, 8), PURE, PUBLIC)).top is not None


def test_moves_within_a_row_leave_part_of_the_loss_to_the_missing_cell() -> None:
    distribution = distribution_of(Haar().plan(counts(1, 1024), CONCENTRATED, PUBLIC))
    moved = Noise(Family.GAUSSIAN, 1 / CONCENTRATED.rho)
    assert distribution.missing is not None
    assert distribution.missing.variance < moved.variance


@pytest.mark.parametrize("loss", [PURE, CONCENTRATED], ids=str)
@pytest.mark.parametrize("adjacency", [PUBLIC, AddRemove(EACH_RECORD)], ids=str)
def test_shares_of_the_loss_are_better_than_equal_ones(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    """Equal budgets, at the same sum of all that the dearest change costs; Laplace noise falls with the square."""
    distribution = distribution_of(Haar().plan(counts(1, 1024), loss, adjacency))
    budgets = [1 / noise.parameter for noise in distribution.levels]
    doubled = [2 * budgets[0], *budgets[1:]] if adjacency is PUBLIC and not loss.is_pure else budgets
    weights = [(1 + 2 / size**2) / 12 for size in (2 * half for half in distribution.halves)]
    power = 2 if loss.is_pure else 1
    equal = float(sum(doubled, start=Fraction(0))) / (len(budgets) + (doubled is not budgets))
    ours = sum(weight / float(budget) ** power for weight, budget in zip(weights, budgets, strict=True))
    assert ours <= sum(weight / equal**power for weight in weights) * 1.000001


@pytest.mark.parametrize(("cells", "target"), [(2**10, 667), (2**12, 1152), (2**15, 2250)])
def test_the_error_is_that_of_the_continuous_limit_and_a_little_more_for_the_leaves(cells: int, target: float) -> None:
    """The limit is ``2 / 3 * depth**3``. At edges a contrast of m cells has the weight ``(1 + 2 / m**2) / 12``.

    That is for equal shares; the best ones save less than 1 in 100.
    """
    depth = cells.bit_length() - 1
    exact = 8 * depth**2 * sum((1 + 2 / 4**level) / 12 for level in range(1, depth + 1))
    missing = 8 / 3  # the total is what is not missing, of scale 2 / epsilon, and edges lie evenly below it
    plan = Haar().plan(counts(1, cells), PrivacyLoss.pure("0.001"), PUBLIC)
    assert target == pytest.approx(2 / 3 * depth**3, rel=1e-3)
    assert 0.99 * (exact + missing) < plan.error**2 * 1e-6 < 1.001 * (exact + missing)


@pytest.mark.parametrize("loss", [PURE, CONCENTRATED], ids=str)
def test_each_level_has_mean_and_variance_of_its_noise_at_four_sigma(loss: PrivacyLoss) -> None:
    """False alarm rate about 6.4e-5 for each of at most 12 parts and 2 moments. The kurtosis of Laplace noise is 6."""
    plan = Haar().plan(counts(2, 1500), loss, PUBLIC)
    table = np.arange(3001)
    values = np.array(Haar().run(table, plan, Randomness.from_seed(3)))
    start = 0
    for exact, noise in compute_exact_sums(table, distribution_of(plan)):
        errors = (values[start : start + exact.size] - exact).astype(np.float64)
        start += exact.size
        assert abs(errors.mean()) < FOUR_SIGMA * sqrt(noise.variance / exact.size)
        if exact.size > 100:
            assert abs((errors**2).mean() / noise.variance - 1) < FOUR_SIGMA * sqrt(5 / exact.size)
    assert start == len(values) == plan.distribution.size


def test_what_it_cannot_do_is_refused() -> None:
    for query in (counts(1, 8, CountUse.CELLS), sums(1, 8, 1)):
        with pytest.raises(UnsupportedQuery, match="prefixes"):
            Haar().plan(query, PURE, PUBLIC)
    with pytest.raises(ValueError, match="width"):
        Haar(0)
    with pytest.raises(UnsupportedQuery, match="loss above zero"):
        Haar().plan(counts(1, 8), PURE * Fraction(0), PUBLIC)
