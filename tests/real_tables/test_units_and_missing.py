"""Values outside of the cells of a question, as by a mistake of unit or sign, are a released share with a note."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import dpcurves as dp
from dpcurves.conversation import WHOLE_BUDGET, CellWorkload, Release, ask_workload
from dpcurves.curves.outside import (
    OutsideCount,
    infinite_note_thresholds,
    note_on_outside,
    note_thresholds_for_clipping,
    note_thresholds_for_times,
    read_outside_counts,
)
from dpcurves.curves.question import TableQuestion
from dpcurves.data import Axis, Grid, Outside
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove
from dpcurves.queries import CountQuery, CountUse
from dpcurves.trust import Central
from dpcurves_survival.variants import notes_on_swapped_columns

RECORDS = 3000
ONE = dp.PrivacyLoss.pure(1)
TIMES, SHARES, VALUES, GAINS = (
    Grid(0, 12, cells=24),
    Grid(0, 1, cells=20),
    Grid(0, 100, cells=20),
    Grid(-1, 1, cells=20),
)
CLASSES, ARMS = dp.Categories("k", (0, 1, 2)), dp.Categories("arm", (0, 1))


def records(share: float, seed: int = 1) -> dict[str, Any]:
    """A table in which this share of the records of each column that ends in _ has another unit or sign."""
    draw = np.random.default_rng(seed)
    is_wrong = draw.random(RECORDS) < share

    def wrong(right: Any, mistake: Callable[[Any], Any]) -> Any:
        return np.where(is_wrong, mistake(right), right)

    label = (draw.random(RECORDS) < 0.4).astype(int)
    first, second = np.clip(0.3 * label + 0.7 * draw.random((2, RECORDS)), 0, 1)
    event, seen = draw.exponential(4, RECORDS), draw.uniform(0, 11, RECORDS)
    time, came = np.minimum(event, seen), (event <= seen).astype(int)
    gain, value = np.clip(draw.normal(0, 0.3, RECORDS), -1, 1), np.clip(draw.normal(50, 10, RECORDS), 0, 100)
    return {
        "y": label, "p": first, "q": second, "p_": wrong(first, lambda it: 100 * it + 2),
        "arm": draw.integers(0, 2, RECORDS), "logit_": wrong(second, lambda it: np.sign(it - 0.5) * 3 - 1),
        "t": time, "e": came, "w": draw.uniform(0.5, 2, RECORDS),
        "t_": wrong(time, lambda it: -it - 0.01), "days_": wrong(time, lambda it: 365 * it + 13),
        "entry": time * draw.random(RECORDS), "c": came * draw.integers(1, 3, RECORDS),
        "k": draw.integers(0, 3, RECORDS), "v": value, "v_": wrong(value, lambda it: 1000 * it + 101),
        "g": gain, "g_": wrong(gain, lambda it: 100 * it + 2),
    }  # fmt: skip


QUESTIONS: dict[str, Any] = {
    "survival, sign": dp.SurvivalQuestion("t_", "e", TIMES),
    "survival, unit": dp.SurvivalQuestion("days_", "e", TIMES),
    "survival by arm": dp.SurvivalQuestion("t_", "e", TIMES, by=ARMS),
    "survival without a horizon": dp.AutoRangeSurvivalQuestion("t_", "e"),
    "competing risks": dp.CompetingRisksQuestion("t_", "c", TIMES, (1, 2)),
    "weighted survival": dp.WeightedSurvivalQuestion("t_", "e", TIMES, "w", 2),
    "survival model, scores": dp.SurvivalModelQuestion("p_", "t", "e", Grid(0, 6, cells=4), SHARES),
    "survival model, times": dp.SurvivalModelQuestion("p", "t_", "e", Grid(0, 6, cells=4), SHARES),
    "roc": dp.RocQuestion("y", "p_"),
    "roc, log-odds": dp.RocQuestion("y", "logit_"),
    "scores": dp.ScoresQuestion("y", "p_"),
    "scores by arm": dp.ScoresQuestion("y", "p_", by=ARMS),
    "calibration": dp.CalibrationQuestion("y", "p_"),
    "Hosmer-Lemeshow": dp.HosmerLemeshowQuestion("y", "p_"),
    "binned residuals": dp.BinnedResidualsQuestion("y", "p_", model=dp.PUBLIC_MODEL),
    "model pair": dp.ModelPairQuestion("y", "p", "p_"),
    "model pair, one by one": dp.ModelPairQuestion("y", "p_", "q", releases=2),
    "model pair by arm": dp.ModelPairQuestion("y", "p_", "q", by=ARMS),
    "uplift": dp.UpliftQuestion("y", "arm", "g_"),
    "several classes": dp.MulticlassQuestion(CLASSES, ("p", "q", "p_")),
    "confidence": dp.MulticlassQuestion(CLASSES, ("p", "q", "w"), "k", "p_", grid=Grid(0, 2, cells=20)),
    "ordered classes": dp.OrdinalClassesQuestion(CLASSES, "p_"),
    "forecast quantiles": dp.QuantileForecastsQuestion(("g_",), (0.5,), GAINS),
    "predicted and observed": dp.PredictedObservedQuestion("v_", "v", VALUES, Grid(0, 100, cells=10)),
    "observed and predicted": dp.PredictedObservedQuestion("v", "v_", VALUES, Grid(0, 100, cells=10)),
    "mean": dp.MeanQuestion("v_", 0, 100),
    "sum": dp.SumQuestion("v_", 0, 100),
    "variance": dp.VarianceQuestion("v_", 0, 100),
    "summary by arm": dp.SummaryQuestion("v_", 0, 100, by=ARMS),
    "weighted summary": dp.WeightedSummaryQuestion("v_", 0, 100, "w", 2),
    "distribution function": dp.CdfQuestion("v_", VALUES),
    "distribution function, apart": dp.CdfQuestion("v_", VALUES.with_outside(Outside.APART)),
    "histogram": dp.HistogramQuestion("v_", VALUES),
    "plane": dp.Histogram2DQuestion("v_", "t", VALUES, TIMES),
    "plane, apart": dp.Histogram2DQuestion("v_", "t", VALUES.with_outside(Outside.APART), TIMES),
    "histogram by arm, apart": dp.HistogramQuestion("v_", VALUES.with_outside(Outside.APART), by=ARMS),
}  # fmt: skip
CLIPPED = {"distribution function", "histogram", "plane"}
"""They count values outside in the end cells, and warn of a crowded one."""
UNNAMED = {"plane, apart"}
"""Their notes name no column: they are about both."""


def answer(question: Any, table: Any, adjacency: Any = dp.ADD_REMOVE, loss: dp.PrivacyLoss = ONE, seed: int = 1) -> Any:
    noise = Randomness.from_seed(seed)
    with (
        dp.Session(table, budget=loss, adjacency=adjacency, randomness=noise) as session,
        warnings.catch_warnings(action="ignore"),
    ):
        return session.ask(question, loss)


def share_in(note: str) -> float:
    return float(note.partition("%")[0].split()[-1]) / 100


def notes_of(name: str, table: dict[str, Any], adjacency: Any = dp.ADD_REMOVE) -> list[str]:
    words = "lie in the last cell" if name in CLIPPED else "by the released counts"
    return [note for note in answer(QUESTIONS[name], table, adjacency).notes if words in note]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_mistake_of_unit_or_sign_in_30_percent_of_the_records_is_told_with_its_share(name: str) -> None:
    """900 of 3,000 records are wrong: 7 deviations of the noisiest count or more, with a seed.

    Above a grid of times lie ordinary ones: there 60 percent are wrong.
    """
    wrong = 0.6 if name == "survival, unit" else 0.3
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        told = notes_of(name, records(wrong), adjacency)
        assert told, f"no note of {name}"
        assert all("\n" not in note for note in told)
        assert any(abs(share_in(note) - wrong) < 0.1 for note in told), told
        if name not in CLIPPED | UNNAMED:
            assert "_'" in told[0]  # the column


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("name", QUESTIONS)
def test_ordinary_records_have_no_such_note(name: str) -> None:
    """A count beyond 5 deviations of its noise has a chance of 4e-4 at most; for all columns and sides below 1 %."""
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        assert notes_of(name, records(0.0), adjacency) == []


def test_ordinary_trials_with_times_beyond_their_grid_have_no_note() -> None:
    """A grid that ends at a horizon, or begins after most have entered, is no mistake."""
    draw = np.random.default_rng(5)
    birth, death = draw.uniform(45, 80, RECORDS), draw.uniform(60, 95, RECORDS)
    table = {
        "entry": np.minimum(birth, death - 1), "age": death, "e": (draw.random(RECORDS) < 0.5).astype(int),
        "months": draw.uniform(0, 40, RECORDS), "p": draw.random(RECORDS),
    }  # fmt: skip
    for question in (
        dp.DelayedEntryQuestion("entry", "age", "e", Grid(60, 96, cells=36)),
        dp.SurvivalModelQuestion("p", "months", "e", Grid(0, 24, cells=4), SHARES),
        dp.SurvivalQuestion("months", "e", Grid(0, 24, cells=24)),
    ):
        assert [note for note in answer(question, table).notes if "by the released counts" in note] == []


BETWEEN = Grid(0, 12, cells=12)
ORDERED: dict[str, Any] = {
    "cells": dp.DelayedEntryQuestion("in at", "out at", "e", TIMES, censored_value=0),
    "declared values": dp.DelayedEntryQuestion("in at", "out at", "e", dp.Values(range(13)), censored_value=0),
    "expressions": dp.DelayedEntryQuestion('"in at" * 2 - 1', '"out at" * 2 - 1', "e", TIMES, censored_value=0),
    "logarithms": dp.DelayedEntryQuestion(
        'ln("in at" + 1)', 'ln("out at" + 1)', "e", Grid(0, 3, cells=9), censored_value=0
    ),
    "by arm": dp.DelayedEntryQuestion("in at", "out at", "e", TIMES, ARMS, censored_value=0),
    "open ends": dp.IntervalCensoredQuestion("in at", "out at", BETWEEN),
    "closed ends": dp.IntervalCensoredQuestion("in at", "out at", BETWEEN, missing_times="excluded"),
}


def swapped_times(share: float) -> dict[str, Any]:
    """Whole times of entry and of a later exit, of which this share has both columns swapped."""
    draw = np.random.default_rng(7)
    entry, is_wrong = draw.integers(0, 8, RECORDS), draw.random(RECORDS) < share
    times = entry, entry + draw.integers(1, 4, RECORDS)
    return {
        "in at": np.where(is_wrong, *times[::-1]).astype(float), "out at": np.where(is_wrong, *times).astype(float),
        "e": draw.integers(0, 2, RECORDS), "arm": draw.integers(0, 2, RECORDS),
    }  # fmt: skip


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("source", ["mapping", "csv", "parquet"])
def test_two_times_in_the_wrong_order_are_missing_in_all_counts_and_noted(source: str, tmp_path: Path) -> None:
    """3 % of the records are wrong: 90 of 3,000, 20 deviations of the noise of the missing ones at epsilon 1."""
    table = swapped_times(0.03)
    is_right = table["in at"] < table["out at"]
    data: Any = table
    if source != "mapping":
        getattr(polars.DataFrame(table), f"write_{source}")(data := tmp_path / f"times.{source}")
    right = {name: column[is_right] for name, column in table.items()}
    asked = ORDERED if source == "mapping" else {name: ORDERED[name] for name in ("declared values", "open ends")}
    for name, question in asked.items():
        notes = answer(question, data, dp.ADD_REMOVE).notes
        assert any("about 3% of the records are missing" in note for note in notes), name
        assert any("count as missing; advice" in note or "no two times in order" in note for note in notes), name
        exact = [answer(question, each, dp.ADD_REMOVE, dp.PrivacyLoss.pure(10**6)) for each in (data, right)]
        curves = [each[0] if name == "by arm" else each for each in exact]
        assert curves[0].y == pytest.approx(curves[1].y, abs=1e-4, nan_ok=True), name
    for question in asked.values():
        assert not any("in order" in note or "as missing" in note for note in answer(question, right).notes)


def test_the_note_on_columns_that_are_swapped_in_all_records_names_no_other_cause() -> None:
    table = swapped_times(1.0)
    for question in ORDERED.values():
        notes = answer(question, table).notes
        assert any("count as missing; advice" in note for note in notes)
        assert not any("no numbers" in note for note in notes)


def test_an_exit_at_the_declared_value_of_its_entry_counts_as_the_order_of_ties_says() -> None:
    """In R such a record is missing, as is one with one time alone."""
    table = {"s": [1.0, 2.0, np.nan] * 300, "t": [4.0, 2.0, 3.0] * 300, "e": [1, 1, 1] * 300}
    question, exact = dp.DelayedEntryQuestion("s", "t", "e", dp.Values(range(1, 6))), dp.PrivacyLoss.pure(10**6)
    assert answer(question, table, loss=exact).at_risk[1:] == pytest.approx([300, 300, 300, 300, 0], abs=0.1)
    before = answer(replace(question, entry_ties="before"), table, loss=exact)
    assert before.at_risk[1:] == pytest.approx([300, 600, 300, 300, 0], abs=0.1)


@pytest.mark.parametrize("name", ["\U0001f600" * 300, "x" * 300, 'a "quoted" > name'])
def test_two_times_are_compared_under_any_names(name: str) -> None:
    """Names of more than 200 bytes were refused for interval-censored times."""
    table = swapped_times(0.3)
    table = {name: table["in at"], "t": table["out at"], "e": table["e"]}
    for question in (
        dp.DelayedEntryQuestion(name, "t", "e", TIMES, censored_value=0),
        dp.IntervalCensoredQuestion(name, "t", BETWEEN),
    ):
        assert any(f"'{name}' is after" in note for note in answer(question, table).notes)


def test_times_that_cannot_be_compared_are_refused_before_the_charge() -> None:
    table = swapped_times(0.0) | {"day": np.array(["2020-01-01"] * RECORDS, dtype="datetime64[D]")}
    for entry, exit_time, message in (
        ("day", "out at", "'day' holds dates"),
        ("in at", 'ln("out at" + 1)', "the same logarithm"),
        ("gone", "out at", "gone"),
    ):
        question = dp.DelayedEntryQuestion(entry, exit_time, "e", Grid(0, 3, cells=3))
        with dp.Session(table, budget=ONE, adjacency=dp.ADD_REMOVE) as session:
            with pytest.raises(ValueError, match=message):
                session.ask(question, ONE)
            assert session.remaining == ONE


@dataclass(frozen=True, slots=True)
class UnorderedTimes(TableQuestion):
    """The notes of a table of two times, counted in any order as two servers count them."""

    def steps(self, setting: Any) -> Any:
        """Ask for the counts of pairs of cells, and return the notes."""
        grid = BETWEEN.with_outside(Outside.APART)
        table = yield from ask_workload(CellWorkload((Axis("in at", grid), Axis("out at", grid))), WHOLE_BUDGET)
        return notes_on_swapped_columns(table, grid.slots)


def test_two_servers_note_swapped_columns_by_the_cells_that_fit_no_curve() -> None:
    (note,) = answer(UnorderedTimes(), swapped_times(0.3))
    assert abs(share_in(note) - 0.3) < 0.05
    assert "were both columns swapped?" in note
    assert answer(UnorderedTimes(), swapped_times(0.0)) == ()


def test_a_comparison_of_models_leaves_out_scores_in_percent() -> None:
    """With one score in percent for 30 % of the records the difference printed was far from that of the others."""
    table = records(0.3)
    right = table["p_"] <= 1
    exact = dp.PrivacyLoss.pure(10**6)

    def difference(of: dict[str, Any]) -> Any:
        question = dp.ModelPairQuestion("y", "p_", "q", releases=1, cells=32)
        return answer(question, of, loss=exact)

    told, alone = difference(table), difference({name: column[right] for name, column in table.items()})
    assert told.difference == pytest.approx(alone.difference, abs=1e-9)
    assert told.value("brier score, first") == pytest.approx(alone.value("brier score, first"), abs=1e-9)
    assert type(told).from_json(told.to_json()).difference == told.difference
    assert type(told).from_json(told.to_json()).notes == told.notes


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", ["uplift", "several classes", "ordered classes", "forecast quantiles"])
def test_other_questions_count_values_outside_in_the_end_cells_as_before(name: str) -> None:
    exact, table = dp.PrivacyLoss.pure(10**6), records(0.3)
    ends = {"p_": (0, 1), "g_": (-1, 1)}
    clipped = {column: np.clip(values, *ends.get(column, (-np.inf, np.inf))) for column, values in table.items()}
    read = []
    for each in (table, clipped):
        found = answer(QUESTIONS[name], each, loss=exact)
        read.append([found.value(number) for number in found.names])
    assert read[0] == pytest.approx(read[1], abs=1e-9, nan_ok=True)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("part", range(4))
def test_a_heaped_and_a_zero_inflated_column_have_no_note_of_values_outside(part: int) -> None:
    draw, table = np.random.default_rng(3), records(0.0)
    table |= {
        "p_": np.where(draw.random(RECORDS) < 0.4, 0.0, np.where(draw.random(RECORDS) < 0.5, 1.0, table["p"])),
        "g_": np.round(table["g"]), "v_": np.where(draw.random(RECORDS) < 0.6, 0.0, 100.0),
        "t_": np.where(draw.random(RECORDS) < 0.3, 0.0, np.ceil(table["t"])),
    }  # fmt: skip
    for name in sorted(set(QUESTIONS) - CLIPPED - UNNAMED - {"roc, log-odds", "survival, unit"})[part::4]:
        assert notes_of(name, table) == [], name


def test_bounds_may_clip_a_tail_and_grids_of_time_may_end_before_follow_up() -> None:
    count = OutsideCount("v", Grid(0, 1, cells=1), 0, 30, 1000, 2.0, 2.0)
    assert note_on_outside(count, note_thresholds_for_clipping("v")) == ()
    assert "the upper bound" in note_on_outside(count._replace(count_above=80), note_thresholds_for_clipping("v"))[0]
    late = OutsideCount("t", TIMES, 0, 150, 1000, 2.0, 2.0)
    assert note_on_outside(late, note_thresholds_for_times("t")) == ()
    assert (
        "if the grid is not meant to end before"
        in note_on_outside(late._replace(count_above=600), note_thresholds_for_times("t"))[0]
    )
    assert note_on_outside(late._replace(count_above=900), infinite_note_thresholds("t")) == ()


def test_noise_alone_and_rehearsals_tell_nothing() -> None:
    assert note_on_outside(OutsideCount("v", VALUES, 9.9, 9.9, 100, 2.0, 2.0)) == ()
    query = CountQuery((Axis("v", VALUES.with_outside(Outside.APART)),), CountUse.CELLS)
    plan = Central().plan_query(query, ONE, AddRemove(EACH_RECORD))
    assert read_outside_counts(Release.make_placeholder(plan)) == ()
