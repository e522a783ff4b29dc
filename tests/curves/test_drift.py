"""Drift since a reference: statistics of the textbook, alarms as rare as is said, cards of models."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from click.testing import CliRunner
from scipy.stats import chi2_contingency, ks_2samp, mannwhitneyu, wasserstein_distance

import dpcurves as dp
from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.cli.app import build
from dpcurves.curves.column_drift import require_window
from dpcurves.curves.result import result_from_json
from dpcurves.privacy import PrivacyLoss

HUGE, TENTHS = PrivacyLoss.pure(10**9), dp.Values(np.arange(11) / 10)


def window(records: int, seed: int, high: float = 3.0) -> Any:
    return np.round(np.random.default_rng([seed, records]).beta(2, high, records), 1)


def curve(values: Any, loss: PrivacyLoss, seed: int, kind: Any = dp.HistogramQuestion) -> Any:
    return answer(kind("x", TENTHS), {"x": values}, loss, both(len(values))[1], seed)


@pytest.mark.parametrize("kind", [dp.CdfQuestion, dp.HistogramQuestion])
def test_at_a_huge_epsilon_statistics_are_those_of_scipy(kind: Any) -> None:
    before, now = window(4000, 1), window(3000, 2, 2.2)
    found = dp.drift(*(curve(each, HUGE, 1, kind) for each in (before, now))).statistics
    assert found["now", "ks"].value == pytest.approx(ks_2samp(before, now).statistic, abs=1e-9)
    assert found["now", "wasserstein"].value == pytest.approx(wasserstein_distance(before, now), abs=1e-9)
    area = mannwhitneyu(now, before).statistic / (4000 * 3000)
    assert found["now", "auc"].value == pytest.approx(abs(area - 0.5), abs=1e-9)
    places = [np.searchsorted(TENTHS.values, each) for each in (before, now)]
    counts = [np.bincount(each, minlength=11) for each in places]
    below = np.cumsum(counts[0])
    ends = np.unique([np.abs(below[:-1] - 4000 * share / 10).argmin() + 1 for share in range(1, 10)])
    one, other = (np.add.reduceat(each, np.append(0, ends)) / each.sum() for each in counts)
    assert found["now", "psi"].value == pytest.approx(((one - other) * np.log(one / other)).sum(), abs=1e-9)


def test_alarms_are_as_rare_as_is_said_and_a_moved_column_raises_them() -> None:
    """At a chance of 0.1 at most 15 of 60 unchanged windows alarm, but for one run in 1000; all of 10 moved ones do."""
    alarms, loss = np.zeros(5), PrivacyLoss.pure(1)
    for seed in range(60):
        reference, now = curve(window(2000, seed), loss, seed), curve(window(1000, seed), loss, seed + 1000)
        alarms += [each.alarm for each in dp.drift(reference, now, false_alarm_rate=0.1).statistics.values()]
    assert alarms.max() <= 15
    assert alarms.min() >= 1
    moved = [curve(window(1000, seed, 2.2), loss, seed + 1000) for seed in range(10)]
    found = dp.drift(curve(window(2000, 1), loss, 1), {str(place): each for place, each in enumerate(moved)})
    assert sum(each.alarm for (_, word), each in found.statistics.items() if word == "ks") == 10


def test_a_moved_share_of_missing_records_raises_its_alarm_alone() -> None:
    """An unchanged share of 10 % alarms in at most 12 of 40 windows at a rate of 0.1; one of 20 % in each of 10."""
    loss, alarms = PrivacyLoss.pure(1), dict.fromkeys(("equal", "more"), 0)
    for seed in range(40):
        draw = np.random.default_rng([5, seed])
        for adjacency in both(2000):
            values = {name: window(2000, seed + place) for place, name in enumerate(("reference", "equal", "more"))}
            for name, share in (("reference", 0.1), ("equal", 0.1), ("more", 0.2)):
                values[name] = np.where(draw.random(2000) < share, np.nan, values[name])
            curves = {
                name: answer(dp.HistogramQuestion("x", TENTHS), {"x": column}, loss, adjacency, seed + place)
                for place, (name, column) in enumerate(values.items())
                if name != "more" or seed < 5
            }
            found = dp.drift(curves.pop("reference"), curves, false_alarm_rate=0.1).statistics
            for name in curves:
                alarms[name] += found[name, "missing"].alarm
    assert 0 < alarms["equal"] <= 17  # of 80
    assert alarms["more"] == 10


def test_at_a_huge_epsilon_the_missing_share_is_exact_and_no_record_is_no_alarm() -> None:
    values = np.where(np.arange(1000) % 4 == 0, np.nan, window(1000, 1))
    shifts = dp.drift(curve(window(1000, 2), HUGE, 1), {"now": curve(values, HUGE, 1)}).statistics
    assert shifts["now", "missing"].value == pytest.approx(0.25, abs=1e-6)
    assert shifts["now", "missing"].alarm
    equal = dp.drift(curve(window(1000, 2), HUGE, 1), {"now": curve(window(1000, 3), HUGE, 1)}).statistics
    assert not equal["now", "missing"].alarm


def test_windows_go_to_json_and_are_drawn_and_asked_of_files(tmp_path: Path) -> None:
    loss = PrivacyLoss.pure(1)
    curves = {name: curve(window(900, place), loss, place) for place, name in enumerate(("jan", "feb", "mar"))}
    found = dp.drift(curves["jan"], {name: curves[name] for name in ("feb", "mar")})
    read = result_from_json(found.to_json())
    assert isinstance(read, dp.Drift)
    assert read.to_json() == found.to_json()
    assert [each.get_text() for each in found.plot().get_xticklabels()] == ["feb", "mar"]
    for name, each in curves.items():
        (tmp_path / f"{name}.json").write_text(each.to_json())
    files = [str(tmp_path / f"{name}.json") for name in curves]
    done = CliRunner().invoke(build(), ["drift", *files, "--json", str(tmp_path / "d.json")])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "d.json").read_text())["kind"] == "curves"
    for windows, line in (({}, "windows: at least"), ({"reference": curves["feb"]}, "windows: no window")):
        with pytest.raises(ValueError, match=line):
            dp.drift(curves["jan"], windows)


@pytest.mark.reproduction
def test_a_card_has_all_readings_of_scores_and_of_groups() -> None:
    given = {"y": window(900, 1) > 0.4, "s": window(900, 1), "g": np.arange(900) % 2}
    given["y"] = given["y"].astype(int)
    loss = PrivacyLoss.pure(5)
    plain = answer(dp.ScoresQuestion("y", "s", TENTHS), given, loss, both(900)[1], seed=1)
    split = dp.ScoresQuestion("y", "s", TENTHS, by=dp.Categories("g", (0, 1)))
    page = dp.model_card({"scores": plain, "groups": answer(split, given, loss, both(900)[1], seed=1)})
    for title in ("ROC curve", "Calibration curve", "Decision curve", "Rates by g", "epsilon 5"):
        assert title in page
    with pytest.raises(ValueError, match="^results: at least one"):
        dp.model_card({})


CATEGORIES = dp.Categories("ward", ("a", "b", "c"))
DISTRIBUTION = {"a": 0.6, "b": 0.3, "c": 0.03, "new": 0.04, None: 0.03}


def ask_wards(
    records: int, seed: int, loss: dp.PrivacyLoss, distribution: dict[str | None, float] = DISTRIBUTION
) -> dp.BarChart:
    draw = np.random.default_rng([seed, records])
    wards = draw.choice(np.array(list(distribution), dtype=object), records, p=list(distribution.values()))
    return answer(dp.BarChartQuestion(CATEGORIES), {"ward": wards}, loss, both(records)[seed % 2], seed)


def test_at_a_huge_epsilon_drift_of_categories_is_that_of_the_exact_counts() -> None:
    charts = [ask_wards(records, records, dp.PrivacyLoss.pure(10**9)) for records in (4000, 901)]
    counts = np.array([np.rint(chart.unbiased_counts) for chart in charts])
    shares = counts / counts.sum(axis=1, keepdims=True)
    missing = [
        round(chart.missing) / (round(chart.missing) + sum(row)) for chart, row in zip(charts, counts, strict=True)
    ]
    found = dp.drift(charts[0], {"May": charts[1]})
    values = {statistic: shift.value for (_, statistic), shift in found.statistics.items()}
    assert values == {
        "psi": pytest.approx(((shares[0] - shares[1]) * np.log(shares[0] / shares[1])).sum()),
        "chi_squared": pytest.approx(chi2_contingency(counts, correction=False).statistic, rel=1e-6),
        "tv": pytest.approx(abs(shares[0] - shares[1]).sum() / 2),
        "other": pytest.approx(abs(shares[0] - shares[1])[-1]),
        "missing": pytest.approx(abs(missing[0] - missing[1]), abs=1e-9),
    }
    assert dp.Drift.from_json(found.to_json()).statistics == found.statistics


def test_unchanged_categories_alarm_as_rarely_as_said_and_unseen_ones_do_at_once() -> None:
    """60 unchanged windows at 0.05, with a rare category and few records: within 4 sigma above (2e-5 of false alarms),
    for each of five statistics; a tenth of unseen values is found in each of 10 windows."""
    runs, alarms = 60, dict.fromkeys(("psi", "chi_squared", "tv", "other", "missing"), 0)
    loss = dp.PrivacyLoss.pure("0.5")
    for seed in range(runs):
        for (_, statistic), shift in dp.drift(
            ask_wards(500, 2 * seed, loss), ask_wards(300, 2 * seed + 1, loss)
        ).statistics.items():
            alarms[statistic] += shift.alarm
    assert all(count / runs <= 0.05 + 4 * sqrt(0.05 * 0.95 / runs) for count in alarms.values())
    moved = {**DISTRIBUTION, "new": 0.14, "a": 0.5}
    for seed in range(10):
        shifts = dp.drift(ask_wards(3000, seed, loss), ask_wards(1000, seed + 50, loss, moved)).statistics
        assert shifts["now", "other"].alarm
        assert shifts["now", "tv"].alarm
        assert not shifts["now", "missing"].alarm or seed


def test_charts_of_other_categories_are_refused() -> None:
    chart = ask_wards(500, 1, dp.PrivacyLoss.pure(1))
    other = answer(
        dp.BarChartQuestion(CATEGORIES, other=False),
        {"ward": np.array(["a"] * 9)},
        dp.PrivacyLoss.pure(1),
        both(9)[0],
        1,
    )
    with pytest.raises(InvalidArgument, match="windows: bar charts of the same categories"):
        dp.drift(chart, other)
    with pytest.raises((InvalidArgument, WrongArgumentType)):
        dp.drift(chart, dp.histogram([1, 2], grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.ADD_REMOVE))
    require_window(chart, dp.BarChartQuestion(CATEGORIES))
    with pytest.raises(InvalidArgument, match="since: the categories of the question"):
        require_window(chart, dp.BarChartQuestion(CATEGORIES, other=False))
