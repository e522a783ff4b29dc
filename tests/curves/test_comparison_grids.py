"""The number of cells at which two arms are compared best, forecast from public numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.forecasts.compared_groups import forecast_larger_value
from dpcurves.forecasts.reference_distributions import VALUE_SAMPLERS
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival.forecasts import TIME_SAMPLERS

QUESTION = dp.SurvivalQuestion("t", "e", dp.Grid(0, 24, cells=96))


def forecast(epsilon: str, records: int, **more: Any) -> dict[int, float]:
    found = dp.forecast_comparison(QUESTION, PrivacyLoss.pure(epsilon), dp.REPLACE_ONE, records=records, **more)
    return {each.cells: each.half_width for each in found}


def test_few_records_need_wide_cells_and_many_need_narrow_ones() -> None:
    few, many = forecast("0.5", 600), forecast("3", 20_000)
    assert set(few) == set(many) == {6, 12, 24, 48, 96}
    assert min(few, key=lambda cells: few[cells]) < min(many, key=lambda cells: many[cells]) == 96
    assert forecast("0.5", 600) == few


@pytest.mark.reproduction
def test_forecast_half_widths_are_those_of_answers() -> None:
    """The half width of one answer about such records is within 35 % of the forecast."""
    time, event = TIME_SAMPLERS["a hill"](np.random.default_rng(1), 2000)
    table = {"t": time * 24, "e": event, "arm": np.arange(2000) % 2}
    expected = forecast("1", 2000, cells=(12, 48))
    for cells, half_width in expected.items():
        question = dp.SurvivalQuestion("t", "e", dp.Grid(0, 24, cells=cells), by=dp.Categories("arm", (0, 1)))
        arms = answer(question, table, PrivacyLoss.pure(1), both(2000)[1], seed=1)
        low, high = dp.restricted_mean_difference(arms[0], arms[1], 24).interval(0.95)
        assert (high - low) / 2 == pytest.approx(half_width, rel=0.35)


@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE])
def test_forecast_half_widths_of_columns_are_those_of_answers(adjacency: dp.Neighbours) -> None:
    """The half width of one answer about such records is within 35 % of the forecast."""
    groups = dp.Categories("arm", (0, 1))
    values = VALUE_SAMPLERS["a hill"](np.random.default_rng(1), 2000)
    table = {"x": values * 24, "arm": np.arange(2000) % 2}
    question, loss = dp.CdfQuestion("x", dp.Grid(0, 24, cells=12), by=groups), PrivacyLoss.pure("0.5")
    expected = forecast_larger_value(question, loss, adjacency, 2000)
    assert set(expected) == {6, 12, 24, 48, 96}
    for cells, half_width in expected.items():
        asked = dp.CdfQuestion("x", dp.Grid(0, 24, cells=cells), by=groups)
        arms = answer(asked, table, loss, both(2000)[adjacency is dp.REPLACE_ONE], seed=1)
        low, high = dp.area_between(arms[0], arms[1]).interval(0.95)
        assert (high - low) / 2 == pytest.approx(half_width, rel=0.35), cells


def plan_notes(*words: str) -> str:
    """Return what a plan prints, in one line."""
    line = ["plan", *words, "--adjacency", "replace-one"]
    shown = CliRunner().invoke(build(line), line)
    assert shown.exit_code == 0, shown.output
    return " ".join(shown.output.split())


SURVIVAL, COLUMN = ("survival", "--time", "t", "--event", "e"), ("cdf", "--column", "t")
MANY, FEW = ("--epsilon", "3", "--units", "20000"), ("--epsilon", "0.5", "--units", "300")


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("question", [SURVIVAL, COLUMN], ids=["survival", "column"])
@pytest.mark.parametrize("groups", ["arm=a,b", "arm=a,b,c"])
def test_a_plan_of_groups_recommends_narrow_cells_for_many_records(question: tuple[str, ...], groups: str) -> None:
    better = "for a comparison of two groups, take 96 cells instead of 6, --grid 0:24:96: if few values are equal,"
    assert better in plan_notes(*question, *MANY, "--by", groups, "--grid", "0:24:6")
    assert "comparison of two groups" not in plan_notes(*question, *MANY, "--by", groups, "--grid", "0:24:96")


@pytest.mark.parametrize("question", [SURVIVAL, COLUMN], ids=["survival", "column"])
def test_a_plan_of_groups_recommends_wide_cells_for_few_records(question: tuple[str, ...]) -> None:
    printed = plan_notes(*question, *FEW, "--by", "arm=a,b", "--grid", "0:24:192")
    cells = int(printed.partition("take ")[2].partition(" cells instead of 192")[0])
    assert cells in {6, 12, 24}
    assert f"--grid 0:24:{cells}: " in printed


@pytest.mark.quick_share(10)
@pytest.mark.parametrize("question", [SURVIVAL, COLUMN], ids=["survival", "column"])
@pytest.mark.parametrize(
    "words",
    [
        ("--grid", "0:24:6"), ("--grid", "0:24:6", "--by", "arm=a"), ("--values", "0:5", "--by", "arm=a,b"),
        ("--grid", "geometric:1:100:6", "--by", "arm=a,b"), ("--edges", "0,1,2,5", "--by", "arm=a,b"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_plan_without_two_groups_or_with_declared_or_uneven_cells_recommends_nothing(
    question: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert "comparison of two groups" not in plan_notes(*question, *MANY, *words)


def test_a_plan_of_fewer_than_two_records_recommends_nothing() -> None:
    assert "comparison" not in plan_notes(
        *COLUMN, "--epsilon", "1", "--units", "1", "--by", "arm=a,b", "--grid", "0:9:3"
    )


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
