"""The code that is written for a question makes an equal question."""

from __future__ import annotations

from typing import Any

import pytest
from every_question import QUESTIONS

import dpcurves as dp
from dpcurves.curves.question_code import LINE_WIDTH, write_loss_code, write_question_code
from dpcurves.curves.question_json import list_question_classes, question_to_json
from dpcurves.histograms import MwemEstimator
from dpcurves.models import Power, Term

GRID = dp.Grid(0, 1, cells=16)
RISK = dp.Scorecard('a "risk"', -1, (dp.NumericColumn("x", 0, 9),), (Term(0.5, (Power("x"),)),))
WARDS, PUBLIC = ("surgery", "medicine", "maternity"), dp.PUBLIC_MODEL
PLACES = tuple(f"province number {number}" for number in range(30))
OTHERS: tuple[Any, ...] = (
    dp.CdfQuestion("pay", dp.Grid(-2.5, 7, width=0.1), where="age >= 65 AND sex = 'F'", measured_in="euros"),
    dp.CdfQuestion("x", dp.Grid.logistic(-8, 8, cells=64), hint=dp.Hint.PEAKED, smooth=2),
    dp.CdfQuestion("x", dp.Grid.geometric(0.1, 1e20, cells=64, outside=dp.Outside.APART)),
    dp.CdfQuestion("x", dp.Grid.from_edges([-0.0, 1.5, 5, 1e300]), by=dp.Categories("place", PLACES)),
    dp.CdfQuestion("x", dp.Grid.from_edges(tuple(number**1.5 for number in range(60)))),
    dp.CdfQuestion("wage / hours", dp.Values(range(0, 121, 5)), by=dp.Categories("y", (0, "1", True, 2.0, 0.5, -1e22))),
    dp.CdfQuestion("x", dp.Values((0.5, 1, 7)), by=(dp.Categories("y", ("it's", '"')), dp.Categories("w", ("\n",)))),
    dp.CdfQuestion("x", GRID, by=dp.UnlistedCategories("w", universe=dp.TextUniverse("a-z", 12))),
    dp.CountQuestion(by=dp.UnlistedCategories("w", universe=dp.HashUniverse(32))),
    dp.SurvivalQuestion("x", "y", GRID, event_value=True, censored_value=0),
    dp.SurvivalQuestion("x", "y", GRID, event_value="died", censored_value="lost"),
    dp.SurvivalQuestion("x", "y", GRID, event_value=1.0, censored_value=float("inf")),
    dp.BoundsQuestion("x", 0.1, "2/3"),
    dp.RocQuestion("y", RISK),
    dp.BinnedResidualsQuestion("y", "x", dp.PRIVATE_MODEL),
    dp.Histogram2DQuestion("x", "r", GRID, GRID, estimator=MwemEstimator()),
    dp.SummaryQuestion("x", -0.0, 60.5, moments=1),
)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("question", [*QUESTIONS, *OTHERS], ids=lambda question: type(question).__name__)
def test_the_code_of_a_question_makes_an_equal_question(question: Any) -> None:
    code = write_question_code(question, column=len("question = "))
    names: dict[str, Any] = {}
    exec("\n".join(["import dpcurves as dp", *code.imports, f"question = {code.expression}"]), names)
    assert names["question"] == question
    assert repr(question_to_json(names["question"])) == repr(question_to_json(question))  # 1, 1.0 and True differ
    lines = f"question = {code.expression}".splitlines()
    assert max(map(len, lines)) <= LINE_WIDTH or any("predictor_from_json" in line for line in lines)


def test_the_code_of_each_kind_of_question_is_tested() -> None:
    assert {type(question) for question in QUESTIONS} == set(list_question_classes().values())


SURVIVAL = """\
dp.SurvivalQuestion(
    "months",
    "died",
    dp.Grid(0, 60, cells=60),
    by=dp.Categories("ward", ("surgery", "medicine", "maternity")),
)"""


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (dp.CdfQuestion("age", dp.Grid(0, 120, cells=120)), 'dp.CdfQuestion("age", dp.Grid(0, 120, cells=120))'),
        (
            dp.SurvivalQuestion("months", "died", dp.Grid(0, 60, cells=60), by=dp.Categories("ward", WARDS)),
            SURVIVAL,
        ),
        (dp.RocQuestion("late", "risk"), 'dp.RocQuestion("late", "risk")'),
        (dp.SummaryQuestion("pay", 0, 5e4), 'dp.SummaryQuestion("pay", lower=0, upper=50000)'),
        (dp.CdfQuestion("x", dp.Values(range(0, 9))), 'dp.CdfQuestion("x", dp.Values(range(0, 9)))'),
        (dp.BinnedResidualsQuestion("y", "x", PUBLIC), 'dp.BinnedResidualsQuestion("y", "x", model=dp.PUBLIC_MODEL)'),
    ],
)
def test_the_code_is_what_a_person_would_write(question: Any, code: str) -> None:
    assert write_question_code(question).expression == code


@pytest.mark.parametrize("loss", [dp.PrivacyLoss.pure("0.1", 1e-6), dp.PrivacyLoss.zcdp("1/3"), dp.PrivacyLoss.pure(2)])
def test_the_code_of_a_loss_makes_an_equal_loss(loss: dp.PrivacyLoss) -> None:
    assert eval(write_loss_code(loss), {"dp": dp}) == loss
