"""Turnbull's estimate from pairs of cells: the most likely one, in bands that hold it."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from by_hand import answer, both
from test_survival import HUGE

import dpcurves as dp
from dpcurves.curves import ByCategory, CurveWarning
from dpcurves.data import OpenEndedAxis, Outside
from dpcurves.privacy import PrivacyLoss
from dpcurves_local.device import find_slot
from dpcurves_survival import IntervalCensoredSurvival, variants

YEARS = dp.IntervalCensoredQuestion("last", "first", dp.Values(range(1, 13)))


def columns(records: int, seed: int, *, whole: bool = True) -> dict[str, Any]:
    """Looks every one to four years from a first one on; some have none after the event."""
    draw = np.random.default_rng([seed, records])
    comes = draw.weibull(1.4, records) * 7
    looks = np.cumsum(draw.uniform(0.5, 3.0, (records, 8)), axis=1)
    looks = np.ceil(looks) if whole else looks
    looks[np.arange(8) >= draw.integers(3, 9, records)[:, None]] = inf
    seen = looks >= comes[:, None]
    first = np.where(seen, looks, inf).min(axis=1)
    last = np.where(~seen & np.isfinite(looks), looks, 0.0).max(axis=1)
    return {"last": last, "first": first, "g": np.arange(records) % 2}


def textbook(given: dict[str, Any], years: int = 12) -> Any:
    """Self-consistency record by record, to its end: the share left past each year, and the log-likelihood."""
    mine = (np.arange(1, years + 2) > given["last"][:, None]) & (np.arange(1, years + 2) <= given["first"][:, None])
    mine[np.isinf(given["first"]), years] = True
    mine[given["first"] > years, years] = True
    rows, many = np.unique(mine[mine.any(axis=1)], axis=0, return_counts=True)
    mass = np.full(years + 1, 1 / (years + 1))
    for _ in range(60_000):
        mass = mass * ((many / (rows @ mass)) @ rows) / many.sum()
    return 1 - np.cumsum(mass)[:-1], float(many @ np.log(rows @ mass)), rows, many


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("adjacency", both(900))
def test_at_a_huge_epsilon_it_is_the_most_likely_curve(adjacency: Any) -> None:
    given = columns(900, 1)
    found = answer(YEARS, given, HUGE, adjacency, seed=1)
    left, likelihood, rows, many = textbook(given)
    assert found.y[1:] == pytest.approx(left, abs=1e-9)
    mass = -np.diff(np.append(found.y, 0.0))
    assert many @ np.log(rows @ mass) == pytest.approx(likelihood, abs=1e-9)
    gradient = (many / (rows @ mass)) @ rows / many.sum()
    assert gradient.max() <= 1 + 1e-6  # no cell wants more: the most likely of all distributions
    assert IntervalCensoredSurvival.from_json(found.to_json()).to_json() == found.to_json()
    assert found.plot().get_ylabel() == "share without an event"


def test_events_that_are_seen_when_they_come_are_those_of_a_survival_curve() -> None:
    draw = np.random.default_rng(4)
    time, event = draw.integers(1, 14, 700), draw.random(700) < 0.7
    given = {"last": np.where(event, time - 1, time), "first": np.where(event, time, inf), "t": time, "e": event * 1}
    found = answer(YEARS, given, HUGE, both(700)[0], seed=1)
    curve = answer(dp.SurvivalQuestion("t", "e", dp.Values(range(1, 13))), given, HUGE, both(700)[0], seed=1)
    assert found.y == pytest.approx(curve.y, abs=1e-7)


@pytest.mark.reproduction
def test_bands_hold_records_and_population(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 releases: at 0.9 not below 4 sigma (false alarm 5e-4 each; seeds are fixed), and at 0.5 some bands miss."""
    monkeypatch.setattr(variants, "TUNING", variants.Tuning(interval_draws=120))
    releases, level, held, half = 12, 0.9, {"records": 0, "population": 0}, 0
    true = np.exp(-((np.arange(1, 13) / 7) ** 1.4))
    for seed in range(releases):
        given = columns(3000, seed)
        found = answer(YEARS, given, PrivacyLoss.pure(("1", "4")[seed % 2]), both(3000)[seed // 2 % 2], seed)
        exact = answer(YEARS, given, HUGE, both(3000)[0], 1).y[1:]
        for whom, left in (("records", exact), ("population", true)):
            for each in (level, 0.5) if whom == "records" else (level,):
                lower, upper = found.intervals(each, population=whom == "population")[1:].T
                holds = bool(((lower <= left + 1e-9) & (left <= upper + 1e-9)).all())
                held[whom] += holds and each == level
                half += holds and each < level
    sigma = sqrt(level * (1 - level) * releases)
    assert all(each >= level * releases - 4 * sigma for each in held.values()), held
    assert half < releases, half


def test_looks_inside_of_cells_are_bounded_from_both_sides() -> None:
    question = dp.IntervalCensoredQuestion("last", "first", dp.Grid(0, 12, cells=6), dp.Categories("g", (0, 1)))
    given = columns(2500, 3, whole=False)
    found = answer(question, given, PrivacyLoss.pure(1000), both(2500)[1], seed=1)
    true = np.exp(-((np.arange(0, 13, 2) / 7) ** 1.4))
    for curve in found.values():
        lower, upper = curve.intervals(0.9, population=True).T
        assert ((lower <= true + 1e-9) & (true <= upper + 1e-9)).all()
    assert ByCategory.from_json(found.to_json(), IntervalCensoredSurvival).to_json() == found.to_json()


def test_what_is_no_question_is_refused() -> None:
    with pytest.raises(ValueError, match="^first: must differ from last, the time of the last examination"):
        dp.IntervalCensoredQuestion("a", "a", dp.Values(range(9)))
    with pytest.raises(ValueError, match='^missing_times: must be "open" .as in R. or "excluded"'):
        dp.IntervalCensoredQuestion("a", "b", dp.Values(range(9)), missing_times="closed")
    with pytest.raises(ValueError, match="^grid: at most 64"):
        dp.IntervalCensoredQuestion("a", "b", dp.Grid(0, 1, cells=65))


def ask(question: dp.IntervalCensoredQuestion, table: Any, adjacency: Any) -> Any:
    """The curve of a table or a file, at a huge epsilon."""
    with dp.Session(table, budget=HUGE, adjacency=adjacency) as session:
        return session.ask(question, HUGE)


@pytest.mark.parametrize("source", ["frame", "csv", "parquet"])
def test_missing_times_leave_an_end_open_as_in_r(source: str, tmp_path: Path) -> None:
    """An empty first examination with the event is one that never came, as infinity is; unreadable text is missing."""
    given = columns(900, 1)
    given["last - 0"] = given.pop("last")  # a name that looks like an expression
    question = replace(YEARS, last="last - 0")
    expected = answer(question, given, HUGE, both(900)[0], seed=1)
    frame = polars.DataFrame(given).with_columns(
        polars.when(polars.col("first").is_infinite()).then(None).otherwise(polars.col("first")).alias("first"),
        polars.when(polars.col("last - 0") <= 0).then(None).otherwise(polars.col("last - 0")).alias("last - 0"),
    )
    assert frame["first"].null_count() > 50 < frame["last - 0"].null_count()
    table: Any = {name: frame[name].to_numpy() for name in frame.columns}
    if source == "csv":
        frame.write_csv(table := tmp_path / "looks.csv")
    elif source == "parquet":
        frame.write_parquet(table := tmp_path / "looks.parquet")
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        assert ask(question, table, adjacency).y == pytest.approx(expected.y, abs=1e-9, nan_ok=True)
    doubled = replace(YEARS, last='"last - 0" * 1')  # of an expression
    assert ask(doubled, table, dp.ADD_REMOVE).y == pytest.approx(expected.y, abs=1e-9, nan_ok=True)
    excluded = ask(replace(question, missing_times="excluded"), table, dp.ADD_REMOVE)
    complete = {name: frame.drop_nulls()[name].to_numpy() for name in frame.columns}
    assert excluded.y == pytest.approx(answer(question, complete, HUGE, both(900)[0], seed=1).y, abs=1e-9, nan_ok=True)


def test_text_that_is_no_time_is_missing_and_not_open(tmp_path: Path) -> None:
    (tmp_path / "looks.csv").write_text("last,first\n" + "1,unknown\n2,4\n" * 600)
    with pytest.warns(CurveWarning, match="text instead of a number"):
        curve = ask(YEARS, tmp_path / "looks.csv", dp.ADD_REMOVE)
    assert curve.y[4] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("pair", "slot"),
    [((2, None), 2 * 14 + 13), ((None, 2), 2), ((nan, nan), 13), (("x", 2), 14 * 14), ((3, 2), 14 * 14)],
)
def test_devices_place_missing_times_as_a_curator_does(pair: tuple[Any, Any], slot: int) -> None:
    grid = dp.Values(range(1, 13)).with_outside(Outside.APART)
    order: Any = {"earlier": "last", "later": "first", "allows_equal": True}
    axes = (
        OpenEndedAxis("last", grid, missing_above=False, **order),
        OpenEndedAxis("first", grid, missing_above=True, **order),
    )
    assert find_slot(axes, dict(zip(("last", "first"), pair, strict=True))) == slot
