"""The number of cells at which two arms are compared best, forecast from public numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival.forecasts import TIMES

QUESTION = dp.SurvivalQuestion("t", "e", dp.Grid(0, 24, cells=96))


def forecast(epsilon: str, records: int, **more: Any) -> dict[int, float]:
    found = dp.forecast_comparison(QUESTION, PrivacyLoss.pure(epsilon), dp.REPLACE_ONE, records=records, **more)
    return {each.cells: each.half_width for each in found}


def test_few_records_need_wide_cells_and_many_need_narrow_ones() -> None:
    few, many = forecast("0.5", 600), forecast("3", 20_000)
    assert set(few) == set(many) == {6, 12, 24, 48, 96}
    assert min(few, key=lambda cells: few[cells]) < min(many, key=lambda cells: many[cells]) == 96
    assert forecast("0.5", 600) == few


def test_forecast_half_widths_are_those_of_answers() -> None:
    """The half width of one answer about such records is within 35 % of the forecast."""
    time, event = TIMES["a hill"](np.random.default_rng(1), 2000)
    table = {"t": time * 24, "e": event, "arm": np.arange(2000) % 2}
    expected = forecast("1", 2000, cells=(12, 48))
    for cells, half_width in expected.items():
        question = dp.SurvivalQuestion("t", "e", dp.Grid(0, 24, cells=cells), by=dp.Categories("arm", (0, 1)))
        arms = answer(question, table, PrivacyLoss.pure(1), both(2000)[1], seed=1)
        low, high = dp.restricted_mean_difference(arms[0], arms[1], 24).interval(0.95)
        assert (high - low) / 2 == pytest.approx(half_width, rel=0.35)


def test_a_plan_of_two_groups_recommends_better_cells_and_no_other_plan_does() -> None:
    asked = ["plan", "survival", "--time", "t", "--event", "e", "--adjacency", "replace-one"]
    bad = [*asked, "--grid", "0:24:6", "--epsilon", "3", "--units", "20000"]
    run = CliRunner()
    shown = run.invoke(build(bad), [*bad, "--by", "arm=a,b"])
    assert "for a comparison of two groups, take 96 cells instead of 6, --grid 0:24:96" in " ".join(
        shown.output.split()
    )
    good = [*asked, "--grid", "0:24:96", "--epsilon", "3", "--units", "20000", "--by", "arm=a,b"]
    for words in (good, bad, [*bad, "--by", "arm=a,b,c"]):
        shown = run.invoke(build(words), words)
        assert shown.exit_code == 0, shown.output
        assert "comparison of two groups" not in shown.output


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"records": 1}, "records: must be at least 2"),
        ({"records": 100, "cells": (1,)}, "cells: must be at least 2"),
        ({"records": 100, "question": dp.SurvivalQuestion("t", "e", dp.Values(range(9)))}, "grid: must have cells"),
    ],
)
def test_what_cannot_be_forecast_is_refused(more: dict[str, Any], line: str) -> None:
    asked = {"question": QUESTION, "loss": PrivacyLoss.pure(1), "adjacency": dp.ADD_REMOVE, **more}
    with pytest.raises(ValueError, match=f"^{line}"):
        dp.forecast_comparison(asked.pop("question"), asked.pop("loss"), asked.pop("adjacency"), **asked)
    with pytest.raises(TypeError, match="^question: a SurvivalQuestion"):
        dp.forecast_comparison(1, PrivacyLoss.pure(1), dp.ADD_REMOVE, records=9)  # type: ignore[arg-type]
