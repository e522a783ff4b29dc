"""The exact distribution of `run`, by walking every path of its choices, on all tiny neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, log2

import numpy as np
import pytest
from cut_distribution import distribution
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import chisquare
from tiny_tables import ADJACENCIES, axes, counts, cuts, data_sets, neighbours

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.distributions import Selection
from dpcurves.mechanisms import ExponentialQuantiles
from dpcurves.mechanisms.exponential import cut_depth, level_epsilon
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves.queries import QuantileCutsQuery

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ANY = Randomness.from_seed(0)
PURE = PrivacyLoss.pure("1.5")
CONCENTRATED = PrivacyLoss.zcdp("0.2")
ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0, 128.0)


@lru_cache(maxsize=64)
def distributions(plan: Plan, records: int) -> FloatArray:
    """One row of probabilities for each tiny data set; all have the same answers. Missing records do not matter."""
    sets = data_sets(plan.query.cells + 1, records)
    present, alike = np.unique(sets[:, :-1], axis=0, return_inverse=True)
    answers = [distribution(np.append(table, 0), plan) for table in present]
    assert all(answer.keys() == answers[0].keys() for answer in answers)
    return np.array([[answer[values] for values in sorted(answer)] for answer in answers])[alike]


def plan_of(cells: int, pieces: int, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
    return ExponentialQuantiles().plan(cuts(cells, pieces), loss, adjacency)


SIZES = [(cells, pieces) for cells in (1, 2, 3, 4) for pieces in (2, 3, 4, 5)]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_pure_loss_is_never_exceeded_by_any_answer(adjacency: Adjacency) -> None:
    worst = 0.0
    for cells, pieces in SIZES:
        chances = distributions(plan_of(cells, pieces, PURE, adjacency), records=4)
        pairs = neighbours(data_sets(cells + 1, 4), adjacency)
        ratios = abs(np.log(chances[pairs[:, 0]] / chances[pairs[:, 1]]))
        worst = max(worst, float(ratios.max()))
    assert worst <= 1.5 + 1e-9
    assert worst > 0.5  # and the budget is used


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_concentrated_loss_is_never_exceeded_in_any_order(adjacency: Adjacency) -> None:
    for cells, pieces in SIZES:
        logs = np.log(distributions(plan_of(cells, pieces, CONCENTRATED, adjacency), records=4))
        ours, theirs = (logs[which] for which in neighbours(data_sets(cells + 1, 4), adjacency).T)
        for alpha in ALPHAS:
            divergence = logsumexp(alpha * ours + (1 - alpha) * theirs, axis=1) / (alpha - 1)
            assert divergence.max() <= alpha * float(CONCENTRATED.rho) + 1e-9


def test_the_loss_is_almost_reached_so_the_rate_is_no_smaller_than_need_be() -> None:
    """A second record makes one edge better and all those to its right worse; there are many of these."""
    plan = plan_of(500, 2, PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    one, two = np.zeros(501, dtype=np.int64), np.zeros(501, dtype=np.int64)
    one[0] = two[0] = two[1] = 1
    before, after = distribution(one, plan), distribution(two, plan)
    assert 0.99 < max(abs(np.log(after[key] / before[key])) for key in before) <= 1


def test_run_follows_the_distribution_by_chi_square_at_four_sigma() -> None:
    """False alarm rate 6.4e-5."""
    plan = plan_of(4, 3, PURE, AddRemove(EACH_RECORD))
    table, randomness, draws = np.array([1, 2, 0, 1, 5]), Randomness.from_seed(11), 6000
    expected = distribution(table, plan)
    seen = dict.fromkeys(expected, 0)
    for _ in range(draws):
        seen[ExponentialQuantiles().run(table, plan, randomness)] += 1
    assert sum(expected.values()) == pytest.approx(1)
    outcome = chisquare(list(seen.values()), [draws * chance for chance in expected.values()])
    assert outcome.pvalue > 6.4e-5


def test_missing_records_change_nothing() -> None:
    for cells, pieces in SIZES[:10]:
        plan = plan_of(cells, pieces, PURE, AddRemove(EACH_RECORD))
        assert distribution(np.arange(cells + 1), plan) == distribution(np.append(np.arange(cells), 10**12), plan)


@pytest.mark.parametrize("pieces", [2, 3, 4, 5, 7, 8, 10, 16, 17])
def test_the_depth_is_enough_and_every_level_gets_an_equal_part(pieces: int) -> None:
    assert cut_depth(pieces) == ceil(log2(pieces))
    assert level_epsilon(PURE, pieces) * cut_depth(pieces) == PURE.epsilon
    concentrated = level_epsilon(CONCENTRATED, pieces)
    assert concentrated**2 / 8 * cut_depth(pieces) <= CONCENTRATED.rho
    assert float(concentrated**2 / 8 * cut_depth(pieces)) == pytest.approx(float(CONCENTRATED.rho), rel=1e-9)


def test_without_chance_the_cuts_are_the_quantiles() -> None:
    plan = plan_of(1000, 10, PrivacyLoss.pure(10**6), AddRemove(EACH_RECORD))
    table = np.append(np.full(1000, 3), 10**6)
    assert ExponentialQuantiles().run(table, plan, ANY) == tuple(range(100, 1000, 100))


def test_pieces_that_are_no_power_of_two_are_of_about_equal_size() -> None:
    plan = plan_of(4096, 7, PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    table = np.append(np.arange(4096), 0)
    bounds = (0, *ExponentialQuantiles().run(table, plan, Randomness.from_seed(4)), 4096)
    sizes = np.add.reduceat(table[:-1], bounds[:-1])
    assert abs(sizes / sizes.mean() - 1).max() < 0.01


@pytest.mark.parametrize("table", [[0, 0, 0, 0, 0], [0, 0, 9, 0, 0], [9, 0, 0, 0, 0], [0, 0, 0, 0, 9]])
def test_empty_and_tied_tables_have_cuts_that_do_not_fall(table: list[int]) -> None:
    plan = plan_of(4, 5, PURE, AddRemove(EACH_RECORD))
    for seed in range(20):
        values = ExponentialQuantiles().run(np.array(table), plan, Randomness.from_seed(seed))
        assert len(values) == 4
        assert list(values) == sorted(values)
        assert values[0] >= 0
        assert values[-1] <= 4


def test_values_apart_belong_to_the_end_cells() -> None:
    grid = Grid(0, 1, cells=3, outside=Outside.APART)
    plan = ExponentialQuantiles().plan(QuantileCutsQuery((Axis("score", grid),), 2), PURE, AddRemove(EACH_RECORD))
    plain = plan_of(3, 2, PURE, AddRemove(EACH_RECORD))
    for table in data_sets(6, 3):  # all tiny ones, so the exact loss is that of cuts of clipped values
        below, *cells, above, missing = table.tolist()
        clipped = [below + cells[0], cells[1], cells[2] + above, missing]
        assert distribution(table, plan) == distribution(np.array(clipped), plain)
    assert plan.distribution == Selection((1,))


def test_what_is_no_cut_of_one_column_of_numbers_is_refused() -> None:
    who = AddRemove(EACH_RECORD)
    for query, rule in (
        (counts(1, 4), "cannot answer CountQuery"),
        (cuts(4, 1), "at least 2"),
        (QuantileCutsQuery(axes(2, 4), 2), "one column"),
        (QuantileCutsQuery((Categories("label", (0, 1)),), 2), "one column"),
    ):
        with pytest.raises(UnsupportedQuery, match=rule):
            ExponentialQuantiles().plan(query, PURE, who)
    with pytest.raises(UnsupportedQuery, match="above zero"):
        plan_of(4, 2, PURE * Fraction(0), who)
