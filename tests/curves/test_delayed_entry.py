"""Survival of records that enter later: that of the textbook, in bands that hold it as often as they say."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from scipy.stats import chi2
from test_survival import HUGE

import dpcurves as dp
from dpcurves.curves import ByCategory
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival import DelayedEntry, variants

BY = dp.Categories("g", (0, 1))
AGES = dp.DelayedEntryQuestion("from", "age", "died", dp.Values(range(60, 91)), BY)


def columns(records: int, seed: int, *, whole: bool = True) -> dict[str, Any]:
    """Ages of entry and of exit: whoever dies before entering is never seen."""
    draw = np.random.default_rng([seed, records])
    dies, enters = 55 + draw.weibull(2.5, 8 * records) * 25, draw.uniform(45, 85, 8 * records)
    seen = np.flatnonzero(dies > enters)[:records]
    dies, enters = dies[seen], enters[seen]
    until = enters + draw.uniform(0.5, 25, records)
    given = {"from": enters, "age": np.minimum(dies, until), "died": (dies <= until).astype(int)}
    if whole:
        given |= {"from": np.floor(given["from"]), "age": np.floor(given["age"]) + 1}
    return {**given, "g": np.arange(records) % 2}


def textbook(given: dict[str, Any], begin: float) -> tuple[Any, Any]:
    """Times of events after a beginning and the share left past each: at risk are entered and not yet gone."""
    times = np.unique(given["age"][(given["died"] == 1) & (given["age"] >= begin)])
    entered, gone, died = (np.sort(each) for each in (given["from"], given["age"], given["age"][given["died"] == 1]))
    risk = np.searchsorted(entered, times, "left") - np.searchsorted(gone, times, "left")
    many = np.searchsorted(died, times, "right") - np.searchsorted(died, times, "left")
    return times, np.cumprod(1 - many / risk)


def left(given: dict[str, Any], begin: float, at: Any, side: Any = "right") -> Any:
    times, share = textbook(given, begin)
    return np.append(1.0, share)[np.searchsorted(times, at, side=side)]


@pytest.mark.parametrize("adjacency", both(3000))
def test_at_a_huge_epsilon_it_is_the_curve_of_those_at_risk(adjacency: Any) -> None:
    given = columns(3000, 1)
    found = answer(AGES, given, HUGE, adjacency, seed=1)
    for group, curve in found.items():
        own = {name: each[given["g"] == group] for name, each in given.items()}
        assert curve.y[1:] == pytest.approx(left(own, 60, np.arange(60, 91)), abs=1e-9)
        at = (own["from"] < 70) & (own["age"] >= 70)
        assert curve.at_risk[11] == pytest.approx(at.sum())
    again = ByCategory.from_json(found.to_json(), DelayedEntry)
    assert again.to_json() == found.to_json()
    hazards = dp.CumulativeHazard(found[0])
    assert type(dp.CumulativeHazard.from_json(hazards.to_json()).curve) is DelayedEntry


@pytest.mark.reproduction
def test_bands_hold_records_and_population_and_tests_find_alike_groups_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """48 releases at 0.9: within 4 sigma on both sides of declared ages, where no order is open."""
    monkeypatch.setattr(variants, "choose_draws", lambda _: 400)
    releases, level, held, small = 48, 0.9, {"records": 0, "population": 0, "number": 0}, 0
    whole = columns(200_000, 99)
    for seed in range(releases):
        given = columns(4000, seed)
        arms = answer(AGES, given, PrivacyLoss.pure(("1", "3")[seed % 2]), both(4000)[seed // 2 % 2], seed)
        own = {name: each[given["g"] == 0] for name, each in given.items()}
        for whom, of in (("records", own), ("population", whole)):
            true = np.append(1.0, left(of, 60, np.arange(60, 91)))
            lower, upper = arms[0].band(level, population=whom == "population")
            held[whom] += bool(((lower <= true + 1e-9) & (true <= upper + 1e-9)).all())
        low, high = dp.survival_at(arms[0], 75).interval(level, population=True)
        held["number"] += low <= left(whole, 60, 75) <= high
        small += dp.log_rank_test(arms[0], arms[1]).p_value <= 0.2
    sigma = sqrt(level * (1 - level) * releases)
    assert all(abs(each - level * releases) <= 4 * sigma for each in held.values()), held
    assert sum(held.values()) < 3 * releases
    assert abs(small - 0.2 * releases) <= 4 * sqrt(0.16 * releases)


def test_of_exact_times_the_band_holds_in_whatever_order_records_came_and_went() -> None:
    question = dp.DelayedEntryQuestion("from", "age", "died", dp.Grid(60, 90, cells=10))
    for seed in range(6):
        given = columns(4000, seed, whole=False)
        found = answer(question, given, PrivacyLoss.pure(1000), both(4000)[seed % 2], seed)
        lower, upper = found.band(0.9)
        true = left(given, 60, found.x, "left")
        assert ((lower <= true + 1e-9) & (true <= upper + 1e-9)).all()
        assert (upper - lower).max() > 0.01


def test_at_a_huge_epsilon_the_log_rank_test_is_that_of_those_at_risk() -> None:
    given = columns(2000, 3)
    arms = answer(AGES, given, HUGE, both(2000)[0], seed=1)
    excess, variance = 0.0, 0.0
    for age in range(60, 91):
        ones, others = ((given["from"] < age) & (given["age"] >= age) & (given["g"] == group) for group in (0, 1))
        died = (given["age"] == age) & (given["died"] == 1)
        risk, share = ones.sum() + others.sum(), ones.sum() / max(ones.sum() + others.sum(), 1)
        excess += (died & ones).sum() - died.sum() * share
        variance += died.sum() * share * (1 - share) * (risk - died.sum()) / max(risk - 1, 1)
    found = dp.log_rank_test(arms[0], arms[1])
    assert found.statistic == pytest.approx(excess**2 / variance, abs=1e-9)
    assert found.p_value == pytest.approx(float(chi2.sf(found.statistic, 1)), abs=0.03)


def test_both_turns_together_lose_what_was_asked_and_no_more() -> None:
    found = answer(AGES, columns(100, 1), PrivacyLoss.pure(1), both(100)[1], seed=1)
    assert found.privacy.epsilon == 1
    with pytest.raises(ValueError, match="^entry: must differ from the column of exit times"):
        dp.DelayedEntryQuestion("age", "age", "died", dp.Values(range(9)))
