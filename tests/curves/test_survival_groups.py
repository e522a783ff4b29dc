"""Tests of several survival curves, differences of medians, and follow-up."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from scipy.stats import chi2
from test_survival import HUGE

import dpcurves as dp
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival import SurvivalQuestion, kaplan_meier
from dpcurves_survival.group_tests import compute_group_scores

MONTHS = dp.Grid(0, 24, cells=24)
GROUPS = ("a", "b", "c")
QUESTION = SurvivalQuestion("t", "e", MONTHS, by=dp.Categories("g", GROUPS))


def trial(records: int, seed: int, scales: tuple[float, float, float]) -> dict[str, Any]:
    """Times in whole months of three groups with exponential hazards, censored differently."""
    generator = np.random.default_rng(seed)
    group = generator.integers(3, size=records)
    event = generator.exponential(np.take(scales, group))
    censoring = generator.uniform(6, np.take((30, 40, 24), group))
    return {
        "t": np.floor(np.minimum(event, censoring)) + 0.5, "e": (event <= censoring).astype(int),
        "g": np.take(GROUPS, group),
    }  # fmt: skip


def textbook(table: dict[str, Any], scores: list[float] | None = None, until: float = 24, rho: float = 0) -> float:
    """The k-sample statistic, month by month and record by record (Klein and Moeschberger 2003, section 7.3)."""
    excess, covariance, pooled = np.zeros(3), np.zeros((3, 3)), 1.0
    month = np.floor(table["t"])
    for now in range(int(until)):
        at_risk = np.array([((month >= now) & (table["g"] == name)).sum() for name in GROUPS], dtype=float)
        died = np.array([((month == now) & (table["e"] == 1) & (table["g"] == name)).sum() for name in GROUPS])
        total, events, weight = at_risk.sum(), died.sum(), pooled**rho
        excess += weight * (died - events * at_risk / total)
        if total > 1:
            factor = weight**2 * events * (total - events) / (total - 1)
            covariance += factor * (np.diag(at_risk / total) - np.outer(at_risk, at_risk) / total**2)
        pooled *= 1 - events / total
    if scores is not None:
        return float((excess @ scores) ** 2 / (scores @ covariance @ np.array(scores)))
    return float(excess[:2] @ np.linalg.solve(covariance[:2, :2], excess[:2]))


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("seed", [1, 2])
def test_at_a_huge_epsilon_the_tests_are_those_of_the_textbook(seed: int) -> None:
    table = trial(900, seed, (10, 10, 12))
    for adjacency in both(900):
        curves = answer(QUESTION, table, HUGE, adjacency, seed=1)
        for arguments, expected, freedom in (
            ({}, textbook(table), 2),
            ({"rho": 1}, textbook(table, rho=1), 2),
            ({"until": 9}, textbook(table, until=9), 2),
            ({"trend": True}, textbook(table, [0, 1, 2]), 1),
            ({"trend": [0, 5, 1]}, textbook(table, [0, 5, 1]), 1),
        ):
            test = dp.multivariate_log_rank_test(curves, **arguments)
            exact = float(chi2.sf(expected, freedom))
            assert test.statistic == pytest.approx(expected, abs=1e-6)
            assert test.p_value == pytest.approx(exact, abs=0.005 + 4 * sqrt(exact * (1 - exact) / 2000))


def test_of_two_groups_it_is_the_log_rank_test() -> None:
    curves = answer(QUESTION, trial(900, 3, (10, 14, 10)), PrivacyLoss.pure(1), both(900)[0], seed=1)
    pair = curves["a"], curves["b"]
    several, two = dp.multivariate_log_rank_test(pair), dp.log_rank_test(*pair)
    assert several.statistic == pytest.approx(two.statistic, rel=0.05)  # the covariance of the noise is simulated
    assert several.p_value == pytest.approx(two.p_value, abs=0.02)


def test_scores_of_a_group_without_records_change_nothing() -> None:
    events, at_risk = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[9.0, 5.0], [8.0, 6.0]])
    two = compute_group_scores(events, at_risk)
    three = compute_group_scores(np.vstack([events, [[0.0, 0.0]]]), np.vstack([at_risk, [[0.0, -1.0]]]))
    assert three.excess[:2] == pytest.approx(two.excess)
    assert three.covariance[:2, :2] == pytest.approx(two.covariance)
    assert np.abs(three.covariance[2]).max() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trend": [1, 1, 1]}, "^trend: 3 different numbers are needed"),
        ({"trend": [1, 2]}, "^trend: 3 different numbers are needed"),
        ({"until": 25}, "^until: must be a time above 0 and up to"),
        ({"until": 0}, "^until: must be a time above 0 and up to"),
        ({"rho": -1}, "^rho: must be a number of at least 0"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    curves = answer(QUESTION, trial(300, 4, (10, 10, 10)), HUGE, both(300)[0], seed=1)
    with pytest.raises(ValueError, match=message):
        dp.multivariate_log_rank_test(curves, **arguments)
    with pytest.raises(ValueError, match="^curves: two or more"):
        dp.multivariate_log_rank_test([curves["a"]])


@pytest.mark.reproduction
def test_the_level_of_the_tests_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejections of equal groups at 5 % and 25 % are within 4 standard errors, in 80 releases."""
    monkeypatch.setattr(kaplan_meier, "choose_draws", lambda _: 400)
    p_values = {None: [], True: []}  # type: dict[bool | None, list[float]]
    for seed in range(80):
        table, adjacency = trial(1000, seed, (10, 10, 10)), both(1000)[seed % 2]
        curves = answer(QUESTION, table, PrivacyLoss.pure(("0.3", "1")[seed // 2 % 2]), adjacency, seed)
        for trend, values in p_values.items():
            values.append(dp.multivariate_log_rank_test(curves, trend=trend).p_value)
    for values in p_values.values():
        for level in (0.05, 0.25):
            rejected = np.mean(np.array(values) <= level)
            assert abs(rejected - level) <= 4 * sqrt(level * (1 - level) / len(values)), (level, rejected)


def exact_median(table: dict[str, Any], group: str, flip: bool = False) -> float:
    """The lower edge of the month by whose end at most half survive (Kaplan and Meier 1958)."""
    is_member = table["g"] == group
    month, event = np.floor(table["t"][is_member]), (table["e"][is_member] == 1) != flip
    survival = 1.0
    for now in range(24):
        survival *= 1 - ((month == now) & event).sum() / max((month >= now).sum(), 1)
        if survival <= 0.5:
            return float(now)
    return inf


def test_medians_and_follow_up_are_those_of_the_textbook_at_a_huge_epsilon() -> None:
    table = trial(2000, 5, (6, 10, 12))
    curves = answer(QUESTION, table, HUGE, both(2000)[0], seed=1)
    difference = dp.median_difference(curves["b"], curves["a"])
    assert difference.value == exact_median(table, "b") - exact_median(table, "a")
    low, high = difference.interval(0.95)
    assert low <= difference.value <= high
    assert difference.privacy == curves["b"].privacy
    for group in GROUPS:
        follow_up, exact = dp.median_follow_up(curves[group]), exact_median(table, group, flip=True)
        assert follow_up.value == exact
        for population in (False, True):
            low, high = follow_up.interval(0.95, population=population)
            assert low <= exact <= high


def test_a_follow_up_that_ends_beyond_the_grid_or_of_few_records_is_not_known() -> None:
    table = trial(2000, 5, (6, 10, 12))
    table["t"] = np.where(table["e"] == 1, table["t"], 30.0)
    curves = answer(QUESTION, table, HUGE, both(2000)[0], seed=1)
    assert np.isnan(dp.median_follow_up(curves["a"]).value)
    few = answer(QUESTION, trial(20, 5, (6, 10, 12)), PrivacyLoss.pure("0.1"), both(20)[0], seed=1)
    assert np.isnan(dp.median_follow_up(few["a"]).value)
    with pytest.raises(TypeError, match="^curve: a survival curve"):
        dp.median_follow_up(table)  # type: ignore[arg-type]


def test_a_median_that_is_not_reached_gives_no_difference() -> None:
    table = trial(2000, 6, (6, 400, 12))
    curves = answer(QUESTION, table, HUGE, both(2000)[0], seed=1)
    difference = dp.median_difference(curves["a"], curves["b"])
    assert np.isnan(difference.value)
    for population in (False, True):
        assert difference.interval(0.9, population=population) == (-np.inf, -np.inf)


@pytest.mark.parametrize("population", [False, True])
def test_an_interval_has_no_end_where_either_median_may_not_be_reached(population: bool) -> None:
    """The curves of few records are not known to reach one half, so the difference may exceed the grid."""
    curves = answer(QUESTION, trial(60, 6, (40, 50, 60)), PrivacyLoss.pure("0.1"), both(60)[0], seed=1)
    difference = dp.median_difference(curves["a"], curves["b"])
    assert np.isnan(difference.value)
    assert difference.interval(0.9, population=population) == (-np.inf, np.inf)


@pytest.mark.reproduction
@pytest.mark.parametrize("population", [False, True])
def test_intervals_of_differences_of_medians_hold(population: bool) -> None:
    """90 % intervals hold in at least 86 % of 60 releases, within two standard errors."""
    held, widths, releases = 0, list[float](), 60
    truth = {group: np.floor(scale * np.log(2)) for group, scale in zip(GROUPS, (6, 10, 12), strict=True)}
    for seed in range(releases):
        table = trial(1500, seed, (6, 10, 12))
        curves = answer(QUESTION, table, PrivacyLoss.pure(1), both(1500)[seed % 2], seed)
        target = truth["b"] - truth["a"] if population else exact_median(table, "b") - exact_median(table, "a")
        low, high = dp.median_difference(curves["b"], curves["a"]).interval(0.9, population=population)
        held, widths = held + (low <= target <= high), [*widths, high - low]
    print(held / releases, np.median(widths))
    assert held / releases >= 0.86 - 2 * sqrt(0.09 / releases), (held, np.median(widths))
