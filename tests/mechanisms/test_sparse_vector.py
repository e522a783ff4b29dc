"""The exact distribution of the sparse vector technique on all tiny neighbours, and what is drawn held against it."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare
from threshold_distribution import answers, chance, distribution
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Grid, Outside, doubling_grid
from dpcurves.distributions import ThresholdAnswers
from dpcurves.mechanisms import AUTO, SparseVector
from dpcurves.mechanisms.exponential import pure_epsilon
from dpcurves.mechanisms.thresholds import (
    compute_differences,
    difference_sensitivity,
    select_reached,
    sparse_vector_distribution,
    two_thirds_power,
)
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CoverageQuery, ThresholdComparison, ThresholdQuery
from dpcurves.queries.query import Comparisons

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
PURE = PrivacyLoss.pure("1.2")
CONCENTRATED = PrivacyLoss.zcdp("0.3")

MONOTONE = ((1, 0, 0), (1, 1, 0), (1, 1, 1))
DOWNWARD = ((-1, -1, 0), (-1, 0, 0), (-2, -1, 0))
GENERAL = ((1, 0, -1), (-1, 1, 0), (0, -1, 1))
OWN_THRESHOLDS = ((3, -1, -1), (2, 2, -1), (-3, 1, 2))  # counts less a part of all, as a threshold that depends on data
TIED = ((1, -1, 0),) * 4
PRESENT, ALIKE = ((2, 1),) * 3, ((1, 1),) * 3  # no kind of record counts nothing, but for those that are missing
FAMILIES = {
    "monotone": MONOTONE, "down": DOWNWARD, "general": GENERAL, "own": OWN_THRESHOLDS, "tied": TIED,
    "present": PRESENT, "alike": ALIKE,
}  # fmt: skip


def above(
    weights: tuple[tuple[int, ...], ...], most: int, thresholds: tuple[int, ...] = (0, 1, 2, 0)
) -> ThresholdQuery:
    compared = tuple(ThresholdComparison(row, threshold) for row, threshold in zip(weights, thresholds, strict=False))
    return ThresholdQuery(axes(1, len(weights[0])), compared, most)


def bounds(doublings: int, coverage: str, spare: int = 0) -> CoverageQuery:
    return CoverageQuery((Axis("residual", doubling_grid(1, doublings)),), Fraction(coverage), spare)


def worst(query: ThresholdQuery | CoverageQuery, plan: Plan, adjacency: Adjacency, records: int) -> float:
    """The largest loss by any answer, over all pairs of neighbours of so many records at most."""
    assert isinstance(plan.distribution, ThresholdAnswers)
    sets = data_sets(query.cells + 1, records)
    compared = query.comparison_matrix
    exact = np.array([compute_differences(table, compared) for table in sets])
    different, alike = np.unique(exact, axis=0, return_inverse=True)
    logs = np.log([distribution(row, plan.distribution) for row in different])[alike.ravel()]
    pairs = neighbours(sets, adjacency)
    return float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())


@pytest.mark.quick_share(84, kinds=[("adjacency", "family"), "most"])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_answer_loses_more_than_is_claimed(family: str, most: int, adjacency: Adjacency) -> None:
    query = above(FAMILIES[family], most)
    found = worst(query, SparseVector().plan(query, PURE, adjacency), adjacency, records=3)
    assert 0.1 < found <= 1.2 + 1e-9


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("coverage", ["1", "19/20", "1/2", "1/10"])
@pytest.mark.parametrize("doublings", [1, 2])
def test_no_bound_loses_more_than_is_claimed(doublings: int, coverage: str, adjacency: Adjacency) -> None:
    query = bounds(doublings, coverage)
    found = worst(query, SparseVector().plan(query, PURE, adjacency), adjacency, records=2 if doublings == 2 else 3)
    assert found <= 1.2 + 1e-9


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("spare", [1, 2])
def test_no_bound_with_spare_records_loses_more_than_is_claimed(spare: int, adjacency: Adjacency) -> None:
    query = bounds(1, "19/20", spare)
    assert worst(query, SparseVector().plan(query, PURE, adjacency), adjacency, records=3) <= 1.2 + 1e-9


def test_so_many_records_may_be_missed() -> None:
    table = np.array([0, 1, 0, 7, 2, 0, 0, 0])  # 7 of 10 in the first interval, 9 in the second
    for spare, above in ((0, [-20, 0]), (1, [-10, 10]), (2, [0, 20])):
        assert compute_differences(table, bounds(2, "9/10", spare).comparison_matrix) == above


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("last", [-1, 0], ids=["general", "monotone"])
def test_many_comparisons_come_as_near_to_the_claim_as_one_likes(last: int, most: int) -> None:
    """Very many that stay below push the common noise up, where a shift costs all that it may."""
    query = ThresholdQuery(
        axes(1, 1), (ThresholdComparison((1,), 0),) * 20_000 + (ThresholdComparison((last,), 40),) * most, most
    )
    plan = SparseVector().plan(query, PURE, AddRemove(EACH_RECORD)).distribution
    assert isinstance(plan, ThresholdAnswers)
    few, more = (np.array(compute_differences(np.array([n, 0]), query.comparison_matrix)) for n in (0, 1))
    answer = tuple(range(20_000, 20_000 + most))
    lost = np.log(chance(few, answer, plan) / chance(more, answer, plan))
    assert 0.97 * 1.2 < lost <= 1.2 + 1e-9


def test_without_the_factor_of_the_cutoff_the_claim_would_be_broken() -> None:
    """The test above can fail: three answers paid as one."""
    query = ThresholdQuery(
        axes(1, 1), (ThresholdComparison((1,), 0),) * 2000 + (ThresholdComparison((-1,), 40),) * 3, 3
    )
    paid = SparseVector().plan(above(GENERAL, 1), PURE, AddRemove(EACH_RECORD)).distribution
    assert isinstance(paid, ThresholdAnswers)
    plan = ThresholdAnswers((2003,) * 3, paid.threshold_noise, paid.sum_noise, 2003, 1)
    few, more = (np.array(compute_differences(np.array([n, 0]), query.comparison_matrix)) for n in (0, 1))
    assert np.log(chance(few, (2000, 2001, 2002), plan) / chance(more, (2000, 2001, 2002), plan)) > 1.8


def test_a_concentrated_loss_pays_for_the_root_of_twice_its_rho() -> None:
    assert pure_epsilon(PURE) == Fraction(6, 5)
    assert pure_epsilon(CONCENTRATED) ** 2 / 2 <= CONCENTRATED.rho
    assert float(pure_epsilon(CONCENTRATED) ** 2 / 2) == pytest.approx(float(CONCENTRATED.rho), rel=1e-9)
    query = above(GENERAL, 2)
    plan = SparseVector().plan(query, CONCENTRATED, AddRemove(EACH_RECORD))
    assert worst(query, plan, AddRemove(EACH_RECORD), records=2) <= float(pure_epsilon(CONCENTRATED))


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize(("weights", "apart"), [(MONOTONE, 1), (GENERAL, 2)])
def test_the_split_is_the_best_and_spends_all(weights: tuple[tuple[int, ...], ...], apart: int, most: int) -> None:
    """One to c**(2/3) where all move one way, else to (2 c)**(2/3) (Lyu, Su and Li 2017)."""
    query = above(weights + weights, most, thresholds=(0,) * 6)
    who = AddRemove(EACH_RECORD)
    noises = SparseVector().plan(query, PURE, who).distribution
    assert isinstance(noises, ThresholdAnswers)
    common, own = 1 / noises.threshold_noise.parameter, most * apart / noises.sum_noise.parameter
    assert common + own == Fraction(6, 5)
    assert float(own / common) == pytest.approx((apart * most) ** (2 / 3), rel=1e-5)

    def squares(share: float) -> float:
        return (1 / share) ** 2 + (apart * most / (1.2 - share)) ** 2

    best = squares(float(common))
    assert best <= min(squares(float(common) + shift) for shift in (-0.01, 0.01))


def test_spreads_are_those_of_all_moves() -> None:
    one, two = AddRemove(Unit("patient", 1)), ReplaceOne(Unit("patient", 2), 3)
    assert difference_sensitivity(np.array(MONOTONE), one) == (1, 1)
    assert difference_sensitivity(np.array(MONOTONE), two) == (1, 1)
    assert difference_sensitivity(np.array(GENERAL), one) == (1, 2)
    assert difference_sensitivity(np.array(GENERAL), two) == (2, 3)
    assert difference_sensitivity(np.array([[5, 0]]), one) == difference_sensitivity(np.array([[5, 0]]), two) == (5, 5)
    assert difference_sensitivity(np.array([[2, 1]]), two) == (2, 2)  # a record that was missing
    assert difference_sensitivity(np.array([[1, 1]]), two) == (1, 1)
    covered = bounds(3, "19/20").comparison_matrix.weights
    assert difference_sensitivity(covered, one) == (19, 20)
    assert difference_sensitivity(covered, two) == (20, 20)


@pytest.mark.parametrize("weights", FAMILIES.values(), ids=list(FAMILIES))
def test_too_many_kinds_for_all_pairs_have_a_spread_that_is_no_smaller(weights: tuple[tuple[int, ...], ...]) -> None:
    who, table = ReplaceOne(Unit("patient", 2), 3), np.array(weights)
    exact = difference_sensitivity(table, who)
    with patch("dpcurves.mechanisms.thresholds.MOST_KINDS", 1):
        rough = difference_sensitivity(table, who)
    assert rough.largest_rise == exact.largest_rise
    assert rough.largest_distance == 2 * exact.largest_rise >= exact.largest_distance
    assert (
        difference_sensitivity(np.arange(2000)[None], who)
        == difference_sensitivity(np.arange(2000)[None], AddRemove(EACH_RECORD))
        == (1999, 1999)
    )


def test_a_share_of_all_records_is_covered() -> None:
    query = bounds(3, "3/4")
    compared = query.comparison_matrix
    assert (compared.step, compared.cutoff, compared.thresholds) == (4, 1, (0, 0, 0))
    values = np.array([-np.inf, -9, -8, -2, -1, 0, 1, 1, 2.5, np.inf])
    table = np.bincount(query.grid.cell_of(values), minlength=query.cells + 1)
    table[-1] = 10**6  # missing
    inside = [4, 5, 6]  # in [-1, 1], [-2, 2] and [-4, 4]; 7 in [-8, 8]
    assert compute_differences(table, compared) == [4 * each - 3 * 10 for each in inside]


@pytest.mark.parametrize("loss", [PrivacyLoss.pure(10**6), PrivacyLoss.zcdp(10**12)], ids=str)
def test_without_noise_the_first_interval_that_covers_is_found(loss: PrivacyLoss) -> None:
    for values, coverage, doublings in (
        ([1.0, -1.0, 0.0], "1", 0), ([1.0, -1.5], "1", 1), ([1.0, -1.5], "1/2", 0), ([8.0] * 19 + [np.inf], "19/20", 3),
        ([np.inf] * 3, "1/2", 5), ([np.nan] * 3 + [3.0], "1", 2), ([1e300], "1", 5),
    ):  # fmt: skip
        query = bounds(5, coverage)
        table = np.bincount(query.grid.cell_of(np.array(values)), minlength=query.cells + 1)
        for who in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, len(values))):
            plan = AUTO.plan(query, loss, who)
            assert plan.distribution.blank_values() == (5,)
            assert AUTO.run(2 * table, plan, Randomness.from_seed(1)) in {(doublings,), (doublings + 1,)}
            exact = compute_differences(table, query.comparison_matrix)
            assert select_reached(exact, [0] * len(exact), 0, cutoff=1) == (doublings,)


def test_drawn_answers_have_the_enumerated_distribution_at_four_sigma() -> None:
    """False alarm rate 6.4e-5."""
    query = above(GENERAL, 2)
    plan = SparseVector().plan(query, PURE, AddRemove(EACH_RECORD))
    assert isinstance(plan.distribution, ThresholdAnswers)
    table, draws = np.array([2, 1, 0, 7]), 2_500
    expected = distribution(np.array(compute_differences(table, query.comparison_matrix)), plan.distribution)
    named = [(*answer, *(3,) * (2 - len(answer))) for answer in answers(3, 2)]
    randomness, seen = Randomness.from_seed(5), dict.fromkeys(named, 0)
    for _ in range(draws):
        seen[SparseVector().run(table, plan, randomness)] += 1
    assert chisquare(list(seen.values()), draws * expected).pvalue > 6.4e-5


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("beta", [0.01, 0.2])
def test_errors_beyond_alpha_are_as_rare_as_said(beta: float, most: int) -> None:
    """Comparisons lie alpha above their threshold or as far below: exactly, by the sum over the noise."""
    query = above(MONOTONE, most)
    plan = SparseVector().plan(query, PURE, AddRemove(EACH_RECORD)).distribution
    assert isinstance(plan, ThresholdAnswers)
    alpha = int(plan.alpha(beta))
    for signs in ((-1, -1, -1), (-1, 1, -1), (-1, -1, 1), (1, 1, -1)):
        exact = np.array(signs) * (alpha + 1)
        right = tuple(np.flatnonzero(np.array(signs) > 0)[:most].tolist())
        assert 1 - chance(exact, right, plan) <= beta
    printed = 8 * most * (np.log(3) + np.log(2 / beta)) / 1.2
    assert alpha < 0.6 * printed


def test_thresholds_and_order_are_kept() -> None:
    assert select_reached([5, 0, 7, 9], [0, 0, 0, 0], 5, cutoff=2) == (0, 2)
    assert select_reached([5, 0, 7, 9], [-1, 9, -9, -9], 5, cutoff=2) == (1, 4)
    assert select_reached([], [], 5, cutoff=1) == (0,)
    big = np.array([2**62, 2**62, 3])
    assert compute_differences(big, Comparisons(np.array([[2**31, 1]]), (7,), 1, 1)) == [2**62 * (2**31 + 1) - 7]


@pytest.mark.parametrize("value", [Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**9), Fraction(7, 2)])
def test_a_root_is_the_same_on_every_machine(value: Fraction) -> None:
    root = two_thirds_power(value)
    assert root**3 <= value**2 < (root + Fraction(1, 2**20)) ** 3


def test_what_compares_nothing_is_refused() -> None:
    who = AddRemove(EACH_RECORD)
    for query, loss, rule in (
        (counts(1, 3), PURE, "cannot answer CountQuery"), (above(((0, 0),), 1), PURE, "all weights are 0"),
        (above(GENERAL, 1), PURE * Fraction(0), "above zero"), (above(GENERAL, 1), PrivacyLoss.pure("1e-20"), "drawn"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedQuery, match=rule):
            SparseVector().plan(query, loss, who)
    with pytest.raises(UnsupportedQuery, match="above zero"):
        sparse_vector_distribution(above(GENERAL, 1).comparison_matrix, PrivacyLoss.zcdp("1e-30"), who)
    with pytest.raises(TypeError, match="a distribution of type ThresholdAnswers is needed"):
        SparseVector().run(np.zeros(4, dtype=np.int64), AUTO.plan(counts(1, 3), PURE, who), Randomness.from_seed(1))


@pytest.mark.parametrize("cells", [1, 4, 515])
def test_bounds_need_a_middle(cells: int) -> None:
    with pytest.raises(ValueError, match="^axes: "):
        CoverageQuery((Axis("x", Grid(-1, 1, cells=cells, outside=Outside.APART)),), Fraction(1))


def test_queries_that_make_no_sense_are_refused() -> None:
    for coverage in (Fraction(0), Fraction(3, 2), Fraction(1, 10**7)):
        with pytest.raises(ValueError, match="^coverage: "):
            CoverageQuery((Axis("x", doubling_grid(1, 3)),), coverage)
    with pytest.raises(ValueError, match="^spare: "):
        bounds(1, "1", spare=-1)
    with pytest.raises(ValueError, match="^axes: "):
        CoverageQuery((Axis("x", Grid(0, 1, cells=3)),), Fraction(1))
    with pytest.raises(ValueError, match="^cutoff: "):
        above(GENERAL, 4)
    with pytest.raises(ValueError, match="^comparisons: "):
        ThresholdQuery(axes(1, 2), (), 1)
    with pytest.raises(ValueError, match="^comparisons: "):
        above(((1, 2**40),), 1)
    with pytest.raises(ValueError, match="^comparisons: .* weights together"):
        ThresholdQuery(axes(1, 2**19), (ThresholdComparison((1,) * 2**19, 0),) * 3, 1)
