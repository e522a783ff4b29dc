"""Gray's test of equal incidence, and numbers at risk under competing risks."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from scipy.stats import chi2
from test_survival import HUGE

import dpcurves as dp
from dpcurves.privacy import AddRemove, PrivacyLoss, Unit
from dpcurves_survival import competing_risks

GROUPS = ("a", "b", "c")
QUESTION = dp.CompetingRisksQuestion(
    "t", "e", dp.Values(range(25)), ("died", "moved"), "left", dp.Categories("g", GROUPS)
)


def trial(records: int, seed: int, ratios: tuple[float, ...] = (1, 1.5, 1), end: float = 40) -> dict[str, Any]:
    """Whole months of two causes in three groups that are censored differently; the first cause has these ratios."""
    generator = np.random.default_rng(seed)
    group = generator.integers(3, size=records)
    died = generator.exponential(25 / np.take(ratios, group))
    moved = generator.exponential(np.take((20, 20, 40), group))
    left = generator.uniform(2, np.take((end, end, end * 0.6), group))
    time = np.minimum(np.minimum(died, moved), left)
    event = np.where(time == died, "died", np.where(time == moved, "moved", "left"))
    return {"t": np.floor(time), "e": event, "g": np.take(GROUPS, group)}


def cmprsk(table: dict[str, Any], cause: str, rho: float = 0) -> float:
    """The statistic of ``cmprsk::cuminc``, time by time: its subroutine ``crst`` (Gray 1988), term by term."""
    names = sorted(set(table["g"]))
    size = len(names)
    before, incidence_before, pooled_before = np.ones(size), np.zeros(size), 0.0
    score, own, variance = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    crossed, squared = np.zeros((size, size)), np.zeros(size)
    for now in np.unique(table["t"]):
        records = np.array([((table["t"] >= now) & (table["g"] == name)).sum() for name in names], dtype=float)
        is_now = table["t"] == now
        died = np.array([(is_now & (table["e"] == cause) & (table["g"] == name)).sum() for name in names])
        moved = np.array(
            [(is_now & (table["e"] != cause) & (table["e"] != "left") & (table["g"] == name)).sum() for name in names]
        )
        if died.sum() + moved.sum() == 0:
            continue
        here = records > 0
        survival, incidence = before.copy(), incidence_before.copy()
        survival[here] = before[here] * (records - died - moved)[here] / records[here]
        incidence[here] += before[here] * died[here] / records[here]
        exposed = np.where(here, records / before, 0.0)
        whole, at_risk = exposed.sum(), exposed * (1 - incidence_before)
        pooled, weight = pooled_before + died.sum() / whole, (1 - pooled_before) ** rho
        direct = weight * (np.diag(exposed) - np.outer(exposed, exposed) / whole)
        own = own + direct * died.sum() / (whole * (1 - pooled_before))
        score += np.where(here, weight * (died - died.sum() * at_risk / at_risk.sum()), 0.0)
        for group in np.flatnonzero(here):
            if died.sum():
                later = 1 - (1 - pooled) / survival[group] if survival[group] > 0 else 1.0
                tie = 1 - (died.sum() - 1) / (whole * before[group] - 1) if died.sum() > 1 else 1.0
                scale = tie * before[group] * died.sum() / (whole * records[group])
                moved_now = direct[:, group] - later * own[:, group]
                squared[group] += later**2 * scale
                crossed[:, group] += moved_now * later * scale
                variance += np.outer(moved_now, moved_now) * scale
        for group in np.flatnonzero((survival > 0) & (moved > 0)):
            later = (1 - pooled) / survival[group]
            tie = 1 - (moved[group] - 1) / (records[group] - 1) if moved[group] > 1 else 1.0
            scale = tie * before[group] ** 2 * moved[group] / records[group] ** 2
            squared[group] += later**2 * scale
            crossed[:, group] -= later * own[:, group] * later * scale
            variance += np.outer(later * own[:, group], later * own[:, group]) * scale
        before, incidence_before, pooled_before = survival, incidence, pooled
    variance += (own * squared) @ own.T + own @ crossed.T + crossed @ own.T
    return float(score[:-1] @ np.linalg.solve(variance[:-1, :-1], score[:-1]))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("seed", "ratios"), [(1, (1, 1.5, 1)), (2, (1, 1, 1)), (3, (1, 1, 0.5))])
def test_at_a_huge_epsilon_the_statistic_is_that_of_cmprsk(seed: int, ratios: tuple[float, ...]) -> None:
    table = trial(700, seed, ratios)
    for adjacency in both(700):
        risks = answer(QUESTION, table, HUGE, adjacency, seed=1)
        inside = {name: column[table["t"] <= 24] for name, column in table.items()}
        late = {**table, "t": np.minimum(table["t"], 25), "e": np.where(table["t"] > 24, "left", table["e"])}
        assert len(inside["t"]) < 700
        for cause in ("died", "moved"):
            for rho in (0, 1):
                test, expected = dp.gray_test(risks, cause, rho=rho), cmprsk(late, cause, rho)
                assert test.statistic == pytest.approx(expected, rel=1e-5)
                exact = float(chi2.sf(expected, 2))
                assert test.p_value == pytest.approx(exact, abs=0.003 + 4 * sqrt(exact * (1 - exact) / 3000))


def test_a_group_whose_follow_up_ends_earlier_counts_until_then() -> None:
    table = trial(900, 4)
    is_ended = (table["g"] == "c") & (table["t"] > 8)
    table["t"], table["e"] = np.where(is_ended, 8, table["t"]), np.where(is_ended, "left", table["e"])
    risks = answer(QUESTION, table, HUGE, both(900)[0], seed=1)
    late = {**table, "t": np.minimum(table["t"], 25), "e": np.where(table["t"] > 24, "left", table["e"])}
    assert dp.gray_test(risks, "died").statistic == pytest.approx(cmprsk(late, "died"), rel=1e-5)


def test_a_large_difference_is_found_and_an_order_of_groups_does_not_matter() -> None:
    risks = answer(QUESTION, trial(3000, 5, (1, 3, 1)), PrivacyLoss.pure(1), both(3000)[1], seed=1)
    assert dp.gray_test(risks, "died").p_value < 0.001
    there, back = (dp.gray_test(list(risks.values())[::step], "died", rho=0.5).statistic for step in (1, -1))
    assert there == pytest.approx(back, rel=0.05)  # the covariance of the noise is simulated


@pytest.mark.parametrize(
    "table",
    [
        {**trial(600, 6), "g": np.full(600, "a")},  # two arms without records
        {**trial(600, 6), "e": np.full(600, "left")},  # no event
        {**trial(600, 6), "e": np.where(trial(600, 6)["e"] == "died", "left", "moved")},  # none of this cause
    ],
    ids=["empty arms", "no event", "another cause"],
)
@pytest.mark.parametrize("epsilon", ["1", "1000000"])
def test_nothing_is_known_without_two_arms_or_events(table: dict[str, Any], epsilon: str) -> None:
    risks = answer(QUESTION, table, PrivacyLoss.pure(epsilon), both(600)[0], seed=1)
    test = dp.gray_test(risks, "died")
    assert np.isnan(test.statistic)
    assert np.isnan(test.p_value)


def test_nothing_is_known_of_few_records_and_ties_are_no_difference() -> None:
    few = answer(QUESTION, trial(30, 6), PrivacyLoss.pure("0.1"), both(30)[0], seed=1)
    assert np.isnan(dp.gray_test(few, "died").p_value)
    tied = {"t": np.full(900, 3.0), "e": np.tile(["died", "moved", "left"], 300), "g": np.repeat(GROUPS, 300)}
    test = dp.gray_test(answer(QUESTION, tied, PrivacyLoss.pure(1000), both(900)[0], seed=1), "died")
    assert test.statistic < 0.1
    assert test.p_value > 0.5


@pytest.mark.reproduction
def test_wide_cells_with_different_censoring_are_noted_and_narrow_ones_are_not() -> None:
    generator = np.random.default_rng(7)
    group = generator.integers(2, size=9000)
    died, moved = generator.exponential(10, 9000), generator.exponential(15, 9000)
    left = generator.uniform(0, np.where(group == 1, 5, 60))
    time = np.minimum(np.minimum(died, moved), left)
    event = np.where(time == died, "died", np.where(time == moved, "moved", "left"))
    table = {"t": time, "e": event, "g": np.take(GROUPS, group)}
    for cells, is_noted in ((6, True), (240, False)):
        question = dp.CompetingRisksQuestion(
            "t", "e", dp.Grid(0, 24, cells=cells), ("died", "moved"), "left", dp.Categories("g", ("a", "b"))
        )
        risks = answer(question, table, PrivacyLoss.pure(100), both(9000)[0], seed=1)
        if is_noted:
            with pytest.warns(dp.CurveWarning, match="standard deviations off because cells are wide"):
                test = dp.gray_test(risks, "died")
            assert len(test.notes) == 1
        else:
            assert dp.gray_test(risks, "died").notes == ()


def test_wrong_arguments_are_named() -> None:
    risks = answer(QUESTION, trial(300, 8), HUGE, both(300)[0], seed=1)
    with pytest.raises(ValueError, match="^risks: two or more groups are needed"):
        dp.gray_test([risks["a"]], "died")
    with pytest.raises(TypeError, match="^risks: competing risks"):
        dp.gray_test([risks["a"], 1], "died")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="^cause: must be one of died, moved"):
        dp.gray_test(risks, "sold")
    with pytest.raises(ValueError, match="^rho: must be a number of at least 0"):
        dp.gray_test(risks, "died", rho=-1)
    other = dp.CompetingRisksQuestion("t", "e", dp.Values(range(20)), ("died", "moved"), "left")
    with pytest.raises(ValueError, match="^risks: all groups must have the same causes"):
        dp.gray_test([risks["a"], answer(other, trial(300, 8), HUGE, both(300)[0], seed=1)], "died")
    several = answer(QUESTION, trial(300, 8), HUGE, AddRemove(Unit("p", 2)), seed=1)
    with pytest.raises(ValueError, match="independent units"):
        dp.gray_test(several, "died")


@pytest.mark.reproduction
def test_the_level_of_grays_test_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejections of equal groups at 5 % and 25 % are within 4 standard errors, in 100 releases."""
    monkeypatch.setattr(competing_risks, "choose_draws", lambda _: 400)
    p_values = []
    for seed in range(100):
        table, loss = trial(900, seed, (1, 1, 1)), PrivacyLoss.pure(("0.5", "1", "3", "1000")[seed % 4])
        is_c = table["g"] == "c"  # another hazard of the other cause changes the incidence of this one
        table = {name: column[~is_c] for name, column in table.items()}
        question = dp.CompetingRisksQuestion(
            "t", "e", dp.Values(range(25)), ("died", "moved"), "left", dp.Categories("g", ("a", "b"))
        )
        risks = answer(question, table, loss, both(len(table["t"]))[seed // 4 % 2], seed)
        p_values.append(dp.gray_test(risks, "died").p_value)
    for level in (0.05, 0.25):
        rejected = np.mean(np.array(p_values) <= level)
        assert abs(rejected - level) <= 4 * sqrt(level * (1 - level) / len(p_values)), (level, rejected)


def test_numbers_at_risk_under_competing_risks_stand_in_the_frame_and_below_the_picture() -> None:
    table = trial(900, 9)
    for epsilon in ("1", "1000000"):
        risks = answer(QUESTION, table, PrivacyLoss.pure(epsilon), both(900)[1], seed=1)
        ax = None
        for group in GROUPS:
            months = table["t"][table["g"] == group]
            true = np.array([(months >= month).sum() for month in range(25)])
            low, high = risks[group].at_risk_intervals(0.999)[1:].T
            assert (low <= true + 0.01).all()
            assert (true - 0.01 <= high).all()
            if epsilon == "1000000":
                assert risks[group].at_risk[1:] == pytest.approx(true, abs=0.01)
            frame = risks[group].to_frame(level=0.999)
            assert (np.asarray(frame["at_risk_upper"])[1:26] == high).all()
            assert (np.asarray(frame["at_risk_upper"])[27:] == high).all()
            ax = risks[group].plot(name=group, ax=ax)
        assert ax is not None
        texts = [text.get_text() for text in ax.texts]
        assert texts.count("number at risk (±: simultaneous 95% intervals for these records)") == 1
        for group in GROUPS:
            assert group in texts
    with pytest.raises(ValueError, match="^level: "):
        risks["a"].at_risk_intervals(1)
