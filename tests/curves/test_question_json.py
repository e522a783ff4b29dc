"""Questions are written as plain objects and read again the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.curves.question_json import list_question_classes, question_from_json, question_to_json

GRID = dp.Grid(0, 1, cells=16)
QUESTIONS: list[Any] = [
    dp.CdfQuestion("x", GRID, by=dp.Categories("y", (0, "b", True, 0.5)), measured_in="days"),
    dp.CdfQuestion("x", dp.Grid.logistic(-8, 8, cells=64), hint=dp.Hint.PEAKED),
    dp.CdfQuestion("x", dp.Grid.from_edges([0, 1, 5]), method=dp.AdaptivePartition(branching_factor=4)),
    dp.CdfQuestion("x", GRID, method=dp.Bisection(3)),
    dp.QuantilesQuestion("x", GRID, (0.25, 0.5)),
    dp.HistogramQuestion("x", GRID.with_outside(dp.Outside.APART)),
    dp.ContingencyQuestion(dp.Categories("x", ("a", 1)), dp.Categories("y", (0, 1))),
    dp.SurvivalQuestion("x", "y", GRID, by=dp.Categories("w", (1, 2)), event_value="died", censored_value="lost"),
    dp.SummaryQuestion("x", 0, 60.5, by=dp.Categories("y", (0, 1)), moments=1),
    dp.ScoresQuestion("y", "x", by=dp.Categories("w", ("a", 1))),
    dp.RocQuestion("y", "x", thresholds=dp.RocThresholds.FIXED, pos_label="late", neg_label="on time"),
    dp.BinnedResidualsQuestion("y", "x", dp.PRIVATE_MODEL),
    dp.PlaneBoundsQuestion(dp.BoundsQuestion("x", 1, "0.95"), dp.BoundsQuestion("z", 0.5, 0.9)),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_a_question_comes_back_the_same(question: Any) -> None:
    assert question_from_json(json.loads(json.dumps(question_to_json(question)))) == question


def test_every_question_has_a_word() -> None:
    assert {"cdf", "quantiles", "hosmer-lemeshow", "plane-bounds"} <= list_question_classes().keys()
    named = {getattr(dp, name) for name in dir(dp) if name.endswith("Question") and name != "Question"}
    assert named == set(list_question_classes().values())


@pytest.mark.parametrize(
    ("stored", "line"),
    [
        ({}, "ask: must be one of auto-range-cdf, "),
        ([], "ask: must be one of auto-range-cdf, "),
        ({"ask": "cfd"}, "ask: must be one of auto-range-cdf, "),
        ({"ask": "cdf", "grid": "0:1:4"}, "column: the field is missing: add it to the question"),
        ({"ask": "cdf", "column": "x", "gird": "0:1:4"}, "gird: there is no such field; use one of column, grid, by, "),
        ({"ask": "cdf", "column": "x", "grid": 7}, "grid: an object is needed, as in"),
        ({"ask": "cdf", "column": "x", "grid": "0:1"}, "grid: write lower:upper:cells"),
        ({"ask": "cdf", "column": "x", "grid": "0:1:4", "by": "y"}, "by: an object is needed"),
        ({"ask": "cdf", "column": "x", "grid": "0:1:4", "by": {}}, "by: column and categories are needed"),
        ({"ask": "cdf", "column": "x", "grid": "0:1:4", "hint": "peek"}, "hint: must be one of spread, peaked, atoms"),
        (
            {"ask": "cdf", "column": "x", "grid": "0:1:4", "method": "magic"},
            "method: must be one of adaptive-",
        ),
        ({"ask": "cdf", "column": "x", "grid": "0:1:4", "method": {"bisection": {}}}, "rounds: the field is missing"),
    ],
)
def test_what_is_no_question_is_refused_in_one_line_that_names_the_field(stored: Any, line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}") as refusal:
        question_from_json(stored)
    assert "\n" not in str(refusal.value)
