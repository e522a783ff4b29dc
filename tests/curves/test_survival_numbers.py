"""Numbers of survival curves: those of the textbook, in intervals that hold them as often as they say."""

from __future__ import annotations

import json
from math import inf, sqrt
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from by_hand import answer, both
from scipy.optimize import brentq
from scipy.stats import chi2
from test_log_rank import QUESTION, given_two
from test_survival import GRID, HUGE, columns

import dpcurves as dp
from dpcurves.privacy import AddRemove, PrivacyLoss, Unit
from dpcurves_survival import CumulativeHazard
from dpcurves_survival import kaplan_meier as leaving
from dpcurves_survival.hazard_ratios import ScoredRiskTables, Tuning

QUARTERS = dp.SurvivalQuestion("t", "e", dp.Grid(0, 40, cells=20), by=dp.Categories("g", (0, 1)))
VALUES = dp.SurvivalQuestion("t", "e", dp.Values(range(41)), by=dp.Categories("g", (0, 1)))


def part(given: dict[str, Any], group: int) -> dict[str, Any]:
    return {name: value[given["g"] == group] for name, value in given.items()}


def kaplan_meier(given: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Times, the share left past each, and the cumulative hazard: record by record, events before censoring."""
    times, place = np.unique(given["t"], return_inverse=True)
    risk = np.cumsum(np.bincount(place)[::-1])[::-1]
    died = np.bincount(place, given["e"])
    return times, np.cumprod(1 - died / risk), np.cumsum(died / risk)


def left_past(given: dict[str, Any], time: float) -> float:
    times, share, _ = kaplan_meier(given)
    return float(np.append(1.0, share)[np.searchsorted(times, time, side="right")])


def restricted(given: dict[str, Any], until: float) -> float:
    times, share, _ = kaplan_meier(given)
    ends = np.append(times[times < until], until)
    return float((np.append(1.0, share)[: len(ends)] * np.diff(np.append(0.0, ends))).sum())


def cox(given: dict[str, Any]) -> float:
    """The hazard ratio of group 0 by the root of Breslow's score, record by record."""
    place = np.unique(given["t"], return_inverse=True)[1]
    risk = [np.cumsum(np.bincount(place, given["g"] == group)[::-1])[::-1] for group in (0, 1)]
    died = [np.bincount(place, (given["g"] == group) & (given["e"] == 1)) for group in (0, 1)]

    def score(beta: float) -> float:
        ones = risk[0] * np.exp(beta)
        return float((died[0] - (died[0] + died[1]) * ones / (ones + risk[1])).sum())

    return float(np.exp(brentq(score, -5, 5, xtol=1e-14)))


def weighted(given: dict[str, Any], rho: float, gamma: float) -> tuple[float, float]:
    """Fleming and Harrington's difference and its variance, month by month."""
    excess, variance, left = 0.0, 0.0, 1.0
    for now in np.unique(given["t"][given["t"] < 40]):
        ones, others = ((given["t"] >= now) & (given["g"] == group) for group in (0, 1))
        died = (given["t"] == now) & (given["e"] == 1)
        whole, share = ones.sum() + others.sum(), ones.sum() / max(ones.sum() + others.sum(), 1)
        weight = left**rho * (1 - left) ** gamma
        excess += weight * ((died & ones).sum() - died.sum() * share)
        variance += weight**2 * died.sum() * share * (1 - share) * (whole - died.sum()) / max(whole - 1, 1)
        left *= 1 - died.sum() / max(whole, 1)
    return float(excess), float(variance)


@pytest.mark.parametrize("adjacency", both(900))
def test_at_a_huge_epsilon_numbers_are_those_of_the_textbook(adjacency: Any) -> None:
    given = given_two(900, 3, longer=1.2)
    given["t"] = np.floor(given["t"])
    arms = answer(VALUES, given, HUGE, adjacency, seed=1)
    ones, others = part(given, 0), part(given, 1)
    for curve, own in ((arms[0], ones), (arms[1], others)):
        assert dp.restricted_mean(curve, 30).value == pytest.approx(restricted(own, 30), abs=1e-9)
        assert dp.survival_at(curve, 12).value == pytest.approx(left_past(own, 12), abs=1e-9)
        assert dp.survival_at(curve, 24, 6).value == pytest.approx(left_past(own, 24) / left_past(own, 6), abs=1e-9)
        times, _, hazard = kaplan_meier(own)
        assert dp.cumulative_hazard_at(curve, 20).value == pytest.approx(hazard[times <= 20][-1], abs=1e-9)
    more = left_past(ones, 12) - left_past(others, 12)
    difference = restricted(ones, 30) - restricted(others, 30)
    within = {**given, "e": np.where(given["t"] <= 40, given["e"], 0)}
    for found, true in (
        (dp.restricted_mean_difference(arms[0], arms[1], 30), difference),
        (dp.survival_difference(arms[0], arms[1], 12), more),
        (dp.number_needed_to_treat(arms[0], arms[1], 12), 1 / more),
        (dp.hazard_ratio(arms[0], arms[1]), cox(within)),
    ):
        assert found.value == pytest.approx(true, rel=1e-9), found
        assert found.interval(0.9) == pytest.approx((true, true), abs=1e-4)


def test_at_a_huge_epsilon_tests_with_strata_and_weights_are_those_of_the_textbook() -> None:
    strata = [given_two(500, seed, longer=1.3) for seed in (1, 2)]
    for given in strata:
        given["t"] = np.floor(given["t"])
    arms = [answer(QUESTION, given, HUGE, both(500)[1], seed=1) for given in strata]
    for rho, gamma in ((0, 0), (1, 0), (0, 1), (0.5, 0.5)):
        excess, variance = np.sum([weighted(given, rho, gamma) for given in strata], axis=0)
        found = dp.log_rank_test([each[0] for each in arms], [each[1] for each in arms], rho=rho, gamma=gamma)
        assert found.statistic == pytest.approx(excess**2 / variance, abs=1e-9)
        exact = float(chi2.sf(found.statistic, 1))
        assert found.p_value == pytest.approx(exact, abs=0.006 + 4 * sqrt(exact * (1 - exact) / 5000))
    with pytest.raises(ValueError, match="^second: the second group needs as many curves"):
        dp.log_rank_test([arms[0][0]], [arms[0][1], arms[1][1]])
    with pytest.raises(ValueError, match="^rho: must be a number"):
        dp.log_rank_test(arms[0][0], arms[0][1], rho=-1)


@pytest.mark.reproduction
def test_weighted_tests_find_alike_groups_different_as_rarely_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 pairs of two strata: shares of small p-values are within 4 sigma of their level."""
    monkeypatch.setattr(leaving, "choose_draws", lambda _: 400)
    monkeypatch.setattr(leaving, "estimate_shrunken_hazards", lambda *_: None)  # the test is of the counts alone
    found = []
    for seed in range(40):
        arms = [
            answer(QUARTERS, given_two(800, seed * 2 + more), PrivacyLoss.pure(1), both(800)[seed % 2], seed)
            for more in (0, 1)
        ]
        found.append(dp.log_rank_test([each[0] for each in arms], [each[1] for each in arms], gamma=1.0).p_value)
    for level in (0.1, 0.3):
        assert abs(np.mean(np.array(found) <= level) - level) <= 4 * sqrt(level * (1 - level) / 40)


@pytest.mark.reproduction
def test_intervals_hold_numbers_of_records_and_of_the_population(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 releases at 0.9 of declared times, where no order is open: within 4 sigma on both sides, and together in 2."""
    monkeypatch.setattr(leaving, "choose_draws", lambda _: 400)
    monkeypatch.setattr(leaving, "estimate_shrunken_hazards", lambda *_: None)  # intervals come from the counts alone
    releases, level, held = 16, 0.9, dict[str, int]()
    whole = _exact(200_000, 77, whole=True)
    for seed in range(releases):
        given, loss = _exact(2500, seed, whole=True), PrivacyLoss.pure(("0.5", "2")[seed % 2])
        arms = answer(VALUES, given, loss, both(2500)[seed // 2 % 2], seed)
        for whom, of in (("records", given), ("population", whole)):
            for name, number, true in _numbers(arms, of):
                low, high = number.interval(level, population=whom == "population")
                held[f"{name}, {whom}"] = held.get(f"{name}, {whom}", 0) + (low <= true <= high)
            band = dp.CumulativeHazard(arms[0]).intervals(level, population=whom == "population")
            times, _, hazard = kaplan_meier(part(of, 0))
            curve = np.append(0.0, hazard)[np.searchsorted(times, arms[0].x, side="left")]
            within = bool(((band[:, 0] <= curve + 1e-9) & (curve <= band[:, 1] + 1e-9)).all())
            held[f"band, {whom}"] = held.get(f"band, {whom}", 0) + within
    sigma = sqrt(level * (1 - level) * releases)
    assert min(held.values()) >= releases * level - 4 * sigma, held
    assert abs(sum(held.values()) / len(held) - releases * level) <= 2 * sigma, held


def test_of_exact_times_intervals_hold_in_whatever_order_records_left_inside_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cells of a quarter of the mean time, and hardly any noise: an interval without orders would hold in none."""
    monkeypatch.setattr(leaving, "choose_draws", lambda _: 400)
    question = dp.SurvivalQuestion("t", "e", dp.Grid(0, 40, cells=16), by=dp.Categories("g", (0, 1)))
    for seed in range(8):
        given = _exact(3000, seed)
        arms = answer(question, given, PrivacyLoss.pure(1000), both(3000)[seed % 2], seed)
        for name, number, true in _numbers(arms, given, 12.5):
            low, high = number.interval(0.9)
            assert low <= true <= high, (name, low, true, high)


def _exact(records: int, seed: int, *, whole: bool = False) -> dict[str, Any]:
    draw = np.random.default_rng([seed, records])
    group = np.arange(records) % 2
    times, until = draw.weibull(1.4, records) * np.where(group, 14, 12), draw.uniform(5, 60, records)
    if whole:
        times, until = np.floor(times), np.floor(until)
    return {"t": np.minimum(times, until), "e": (times <= until).astype(int), "g": group}


def _numbers(arms: Any, given: dict[str, Any], at: float = 12) -> list[tuple[str, dp.Estimate, float]]:
    one, other = part(given, 0), part(given, 1)
    ratio = cox({**given, "e": np.where(given["t"] <= 40, given["e"], 0)})
    return [
        ("mean", dp.restricted_mean(arms[0], 30), restricted(one, 30)),
        ("given", dp.survival_at(arms[1], 20, 5), left_past(other, 20) / left_past(other, 5)),
        ("means", dp.restricted_mean_difference(arms[0], arms[1], 30), restricted(one, 30) - restricted(other, 30)),
        ("needed", dp.survival_difference(arms[0], arms[1], at), left_past(one, at) - left_past(other, at)),
        ("ratio", dp.hazard_ratio(arms[0], arms[1]), ratio),
    ]


def test_reports_are_written_read_and_drawn() -> None:
    arms = answer(QUESTION, given_two(900, 2, longer=1.3), PrivacyLoss.pure(1), both(900)[1], seed=1)
    found = dp.survival_numbers(arms, until=36, times=(12,), since=6)
    assert dp.SurvivalNumbers.from_json(found.to_json()).to_json() == found.to_json()
    assert json.loads(found.to_json())["kind"] == "curves"
    frame = found.to_frame(level=0.9)
    assert list(frame.columns) == ["group", "number", "value", "lower", "upper"]
    assert "given 6" in frame["number"][1]
    known = frame[frame["value"].notna()]
    assert ((known["lower"] <= known["value"]) & (known["value"] <= known["upper"])).all()
    assert found.log_rank() == dp.log_rank_test(arms[0], arms[1])
    assert found.plot(level=None).get_xlabel() == "time"
    hazards = dp.CumulativeHazard(arms[0])
    assert dp.CumulativeHazard.from_json(hazards.to_json()).to_json() == hazards.to_json()
    assert hazards.plot().get_ylabel() == "cumulative hazard"
    for theme in ("light", "dark", "print"):
        drawn = dp.survival_figure(arms, theme=theme, weights=(0, 1))
        told = [text.get_text() for text in drawn.texts]
        assert any(words.startswith("Fleming-Harrington (0, 1) test: p ") for words in told)
        assert "Number at risk (± its 95% interval)" in told
        assert drawn.get_title() == "Survival over t by g"
        assert drawn.title.get_color() == drawn.yaxis.label.get_color()
        assert not dp.survival_figure(arms, theme=theme, ax=plt.figure().add_subplot()).get_title()
        assert [drawn.get_legend().get_title().get_text(), *drawn.get_legend_handles_labels()[1]] == ["g", "0", "1"]


def test_where_little_is_known_intervals_hold_all_that_is_possible() -> None:
    few = {"t": np.array([3.0]), "e": np.array([1]), "g": np.array([0])}
    arms = answer(QUESTION, few, PrivacyLoss.pure("0.1"), AddRemove(dp.EACH_RECORD), seed=2)
    assert dp.restricted_mean(arms[0], 30).interval(0.9) == pytest.approx((0.0, 30.0))
    assert dp.hazard_ratio(arms[0], arms[1]).interval(0.9) == (0.0, inf)
    assert dp.number_needed_to_treat(arms[0], arms[1], 12).interval(0.9) == (-inf, inf)


def test_what_cannot_be_read_is_refused() -> None:
    curve = answer(dp.SurvivalQuestion("t", "e", GRID), columns(300, 1), HUGE, AddRemove(Unit("p", 2)), seed=1)
    with pytest.raises(ValueError, match="^until: a time from .* is needed, the range of the grid"):
        dp.restricted_mean(curve, 41)
    with pytest.raises(ValueError, match="^since: a time before the landmark"):
        dp.survival_at(curve, 12, 12)
    with pytest.raises(ValueError, match="^population: independent units"):
        dp.restricted_mean(curve, 30).interval(0.9, population=True)
    with pytest.raises(ValueError, match="^until, times: give a time"):
        dp.survival_numbers(curve)
    with pytest.raises(ValueError, match="^theme: must be one of"):
        dp.survival_figure(curve, theme="sepia")


def test_the_search_for_a_hazard_ratio_computes_no_ratio_twice() -> None:
    """Each ratio costs a simulation of all draws; before, both ends of the search range were computed twice."""
    asked, tables = list[float](), SimpleNamespace(tuning=Tuning())

    def falling(at: float) -> float:
        asked.append(at)
        return 0.3 - at

    root = ScoredRiskTables._find_root(tables, falling)  # type: ignore[arg-type]
    assert root == pytest.approx(0.3, abs=1e-9)
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(("records", "epsilon"), [(600, 1.0), (4_000, 0.3), (60, 0.5)])
def test_the_axis_of_a_cumulative_hazard_ends_where_its_visible_band_does(records: int, epsilon: float) -> None:
    """At the last edge, whose step has no width, the limit is infinite where all may have had the event."""
    draw = np.random.default_rng(9)
    table = {"t": draw.uniform(0, 60, records), "e": (draw.random(records) < 0.5).astype(int)}
    question = dp.SurvivalQuestion("t", "e", dp.Grid(0, 60, cells=8))
    loss, randomness = dp.PrivacyLoss.pure(epsilon), dp.Randomness.from_key(b"k" * 32, "hazard")
    with dp.Session(table, budget=loss, adjacency=dp.REPLACE_ONE, randomness=randomness) as session:
        axes = CumulativeHazard(session.ask(question, loss)).plot()
    bands = [np.asarray(path.vertices) for band in axes.collections for path in band.get_paths()]
    last = max(band[:, 0].max() for band in bands)
    heights = [np.asarray(line.get_ydata()) for line in axes.lines] + [band[band[:, 0] < last, 1] for band in bands]
    assert len(bands) == 2
    assert axes.get_ylim()[1] <= 1.1 * max(float(np.nanmax(each)) for each in heights)
