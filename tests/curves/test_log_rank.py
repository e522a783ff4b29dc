"""The log-rank test of two released survival curves, and numbers at risk: those of the records, and honest of noise."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from scipy.stats import chi2
from test_survival import GRID, HUGE, columns

import dpcurves as dp
from dpcurves.display import headless_axes
from dpcurves.privacy import AddRemove, PrivacyLoss, Unit
from dpcurves_survival import kaplan_meier as leaving

QUESTION = dp.SurvivalQuestion("t", "e", GRID, by=dp.Categories("g", (0, 1)))


def given_two(records: int, seed: int, *, longer: float = 1.0) -> dict[str, Any]:
    """Two groups that are censored differently; times of the second are so much longer."""
    given = columns(records, seed)
    late = given["g"] == 1
    given["t"] = np.where(late & (given["e"] == 1), np.floor(given["t"] * longer) + 0.5, given["t"])
    gone = late & (np.random.default_rng(seed).random(records) < 0.3)
    at = np.floor(np.random.default_rng([seed, 1]).uniform(0, 30, records)) + 0.5
    given["e"] = np.where(gone & (at < given["t"]), 0, given["e"])
    given["t"] = np.where(gone, np.minimum(at, given["t"]), given["t"])
    return given


def textbook(given: dict[str, Any], cells: int = 40) -> tuple[float, Any]:
    """The statistic, month by month, record by record; and numbers at risk in each month of each group."""
    excess, variance, risk = 0.0, 0.0, np.zeros((2, cells))
    month = np.floor(given["t"])
    for now in range(cells):
        ones, others = ((month >= now) & (given["g"] == group) for group in (0, 1))
        died = (month == now) & (given["e"] == 1)
        risk[:, now] = ones.sum(), others.sum()
        all_, share = ones.sum() + others.sum(), ones.sum() / max(ones.sum() + others.sum(), 1)
        excess += (died & ones).sum() - died.sum() * share
        variance += died.sum() * share * (1 - share) * (all_ - died.sum()) / max(all_ - 1, 1)
    return excess**2 / variance, risk


def test_at_a_huge_epsilon_it_is_the_test_of_the_textbook() -> None:
    for seed, longer in ((1, 1.0), (2, 1.15)):
        given = given_two(900, seed, longer=longer)
        statistic, risk = textbook(given)
        for adjacency in both(900):
            found = answer(QUESTION, given, HUGE, adjacency, seed=1)
            test = dp.log_rank_test(found[0], found[1])
            exact = float(chi2.sf(statistic, 1))
            assert test.statistic == pytest.approx(statistic, abs=1e-6)
            assert test.p_value == pytest.approx(exact, abs=0.005 + 4 * sqrt(exact * (1 - exact) / 5000))
            assert dp.log_rank_test(found[1], found[0]).statistic == pytest.approx(statistic, abs=1e-6)
            for group in (0, 1):
                assert found[group].at_risk[1:] == pytest.approx(risk[group], abs=1e-6)
                assert np.abs(found[group].at_risk_intervals(0.9)[1:].T - risk[group]).max() < 1e-3


@pytest.mark.reproduction
def test_groups_that_survive_alike_are_told_apart_as_rarely_as_it_says_and_others_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60 pairs of groups that are censored differently: shares of small p-values are within 4 sigma of their level."""
    monkeypatch.setattr(leaving, "choose_draws", lambda _: 400)  # enough for these levels, at a tenth of the time
    pairs, found, intervals = 60, [], 0
    for seed in range(pairs):
        given, adjacency = given_two(1000, seed), both(1000)[seed % 2]
        curves = answer(QUESTION, given, PrivacyLoss.pure(("0.3", "1")[seed // 2 % 2]), adjacency, seed)
        found.append(dp.log_rank_test(curves[0], curves[1]).p_value)
        lower, upper = curves[1].at_risk_intervals(0.9)[1:].T
        risk = textbook(given)[1][1]
        intervals += bool(((lower <= risk + 1e-9) & (risk <= upper + 1e-9)).all())
    for level in (0.05, 0.25):
        assert abs(np.mean(np.array(found) <= level) - level) <= 4 * sqrt(level * (1 - level) / pairs)
    assert pairs * 0.9 - 4 * sqrt(0.09 * pairs) <= intervals < pairs
    other = [
        answer(QUESTION, given_two(4000, seed, longer=1.4), PrivacyLoss.pure(1), both(4000)[0], seed)
        for seed in range(10)
    ]
    assert np.mean([dp.log_rank_test(curves[0], curves[1]).p_value < 0.05 for curves in other]) >= 0.9


def test_without_noise_too_wide_cells_tell_groups_apart_that_are_censored_inside_them_but_not_at_their_ends() -> None:
    """100 exact tests of 10,000 records of one survival, each: false alarms of 4 sigma above 0.05, and over a half."""
    found = {"ends": 0.0, "inside": 0.0}
    for seed in range(100):
        draw = np.random.default_rng([seed, 5])
        group = (draw.random(10_000) < 0.4).astype(np.int64)
        times, until = draw.weibull(1.4, 10_000) * 8 / 5, draw.uniform(2, np.where(group == 1, 25, 50)) / 5
        for kind, (came, gone) in {"inside": (times, until), "ends": (np.floor(times), np.floor(until))}.items():
            given = {"t": np.minimum(came, gone), "e": (came <= gone).astype(np.int64), "g": group}
            found[kind] += float(chi2.sf(textbook(given, cells=10)[0], 1)) <= 0.05
    assert found["ends"] <= 5 + 4 * sqrt(100 * 0.05 * 0.95)
    assert found["inside"] > 50


def test_where_nobody_is_known_to_be_at_risk_nothing_is_found() -> None:
    empty = {"t": np.array([]), "e": np.array([]), "g": np.array([])}
    found = answer(QUESTION, empty, PrivacyLoss.pure("0.1"), both(1)[0], seed=2)
    assert np.isnan(dp.log_rank_test(found[0], found[1])[:2]).all()


def test_numbers_at_risk_stand_in_frames_and_below_pictures_where_there_is_room() -> None:
    found = answer(QUESTION, given_two(900, 3), PrivacyLoss.pure(1), both(900)[0], seed=1)
    frame = found.to_frame(level=0.9)
    assert list(frame.columns)[-2:] == ["at_risk_lower", "at_risk_upper"]
    assert "at_risk_lower" not in found.to_frame().columns
    assert (frame["at_risk_lower"] <= frame["at_risk_upper"]).all()
    told = [text.get_text() for text in found.plot(headless_axes()).texts]
    assert told[0].startswith("number at risk (±: simultaneous 95% intervals for these records")
    assert {"0", "1"} < set(told)
    first = round(found[0].at_risk[1])
    assert any(words.startswith(f"{first}±") for words in told)
    assert next(text.get_text() for text in found[0].plot(headless_axes(), level=None).texts) == "number at risk"
    assert not any("at risk" in text.get_text() for text in found[0].plot(headless_axes((2.5, 2.0))).texts)


def test_what_cannot_be_compared_is_refused() -> None:
    found = answer(QUESTION, given_two(200, 1), PrivacyLoss.pure(1), both(200)[0], seed=1)
    other = answer(
        dp.SurvivalQuestion("t", "e", dp.Grid(0, 20, cells=40)), given_two(200, 1), HUGE, both(200)[0], seed=1
    )
    several = answer(QUESTION, given_two(200, 1), HUGE, AddRemove(Unit("patient", 2)), seed=1)
    with pytest.raises(ValueError, match="^second: a curve on the same grid"):
        dp.log_rank_test(found[0], other)
    with pytest.raises(TypeError, match="^second: a survival curve"):
        dp.log_rank_test(found[0], "other")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^population: independent units"):
        dp.log_rank_test(several[0], several[1])
