"""A model stands where a column of scores stands: the same counts, refused before a charge, one price."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.data import Axis
from dpcurves.models import Level, Link, NumericColumn, Power, Term
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

LOSS = dp.PrivacyLoss.pure(1)
SEX = dp.Categories("sex", ("f", "m"))
CARD = dp.Scorecard(
    "risk", -1.0, (NumericColumn("age", 0, 100), SEX),
    (Term(0.05, (Power("age", centre=40.0),)), Term(-0.5, (Level("sex", "m"),))), Link.LOGIT,
)  # fmt: skip
RESIDUAL = dp.Residual("late", CARD)


def people() -> pd.DataFrame:
    draw = np.random.default_rng(5)
    age: Any = draw.normal(50, 30, 400)
    age[:20] = np.nan
    sex = draw.choice(["f", "m", "x"], 400, p=[0.5, 0.45, 0.05])
    return pd.DataFrame({"age": age, "sex": sex, "late": draw.integers(0, 2, 400), "who": np.arange(400) // 3})


def with_scores() -> pd.DataFrame:
    table = people()
    return table.assign(risk=CARD.predict(table), error=RESIDUAL.predict(table))


@pytest.mark.parametrize("unit", [EACH_RECORD, dp.Unit("who", 2)])
def test_all_counts_and_sums_of_a_model_are_those_of_a_column_with_its_scores(unit: dp.Unit) -> None:
    key, grid = b"k" * 32, dp.Grid(0, 1, cells=32, outside=dp.Outside.APART)
    records = open_records(with_scores(), unit=unit, key=key)
    classes = dp.Categories("late", (0, 1))
    for found, column in ((CARD, "risk"), (RESIDUAL, "error")):
        model, plain = (classes, Axis(found, grid)), (classes, Axis(column, grid))
        assert records.counts(model).tolist() == records.counts(plain).tolist()
        assert records.counts(model[1:]).tolist() == records.counts(plain[1:]).tolist()
        assert records.sums(model, 2**20) == records.sums(plain, 2**20)
        assert records.squares(model, 2**20) == records.squares(plain, 2**20)
        assert records.prefixes(model, (3, 40, 68)) == records.prefixes(plain, (3, 40, 68))
        assert records.places(model).tolist() == records.places(plain).tolist()
    assert records.counts((Axis(CARD, grid), SEX)).tolist() == records.counts((Axis("risk", grid), SEX)).tolist()
    records.close()


ASKED: tuple[Callable[[Any, Any], Any], ...] = (
    lambda score, _: dp.RocQuestion("late", score),
    lambda score, _: dp.CalibrationQuestion("late", score, 4),
    lambda score, _: dp.HosmerLemeshowQuestion("late", score, 4),
    lambda score, _: dp.BinnedResidualsQuestion("late", score, dp.PUBLIC_MODEL, 4),
    lambda score, _: dp.ScoresQuestion("late", score, by=SEX),
    lambda score, _: dp.SmoothAucQuestion("late", score),
    lambda score, error: dp.ResidualPlotQuestion(score, error, 0.1, 0.1, "0.9", dp.PUBLIC_MODEL, 8),
)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_a_question_takes_a_model_where_it_takes_a_column(asked: Callable[[Any, Any], Any]) -> None:
    found = []
    for question in (asked(CARD, RESIDUAL), asked("risk", "error")):
        budget, seeded = dp.PrivacyLoss.pure(1), dp.Randomness.from_seed(7)
        with dp.Session(with_scores(), budget=budget, adjacency=dp.REPLACE_ONE, randomness=seeded) as session:
            found.append(session.ask(question, LOSS, request="r").to_json().replace("late minus risk", "error"))
    assert json.loads(found[0]) == json.loads(found[1])
    question = asked(CARD, RESIDUAL)
    again = question_from_json(json.loads(json.dumps(question_to_json(question))))
    assert (again, repr(again)) == (question, repr(question))


def test_a_missing_column_is_refused_by_name_before_a_charge() -> None:
    with dp.Session(people().drop(columns="sex"), budget=LOSS, adjacency=dp.REPLACE_ONE) as session:
        with pytest.raises(InvalidArgument, match="'sex' is not in the data"):
            session.ask(dp.RocQuestion("late", CARD), LOSS)
        assert session.remaining == LOSS


def test_a_request_is_for_one_model_bit_for_bit() -> None:
    other = dp.Scorecard("risk", np.nextafter(-1.0, 0), CARD.columns, CARD.terms, CARD.link)
    with dp.Session(people(), budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
        first = session.ask(dp.RocQuestion("late", CARD), LOSS, request="r")
        assert session.ask(dp.RocQuestion("late", CARD), LOSS, request="r").to_json() == first.to_json()
        with pytest.raises(InvalidArgument, match="another question"):
            session.ask(dp.RocQuestion("late", other), LOSS, request="r")
