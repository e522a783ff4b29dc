"""Web forms of questions: made from the options of the command line, and safe for any input."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcurves.arguments import InvalidArgument
from dpcurves.cli.one_table import QUESTIONS
from dpcurves.cli.options import ScoreOptions, parameters_of
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.models import Link, NumericColumn, Power, Scorecard, Term
from dpcurves_server.cli.commands import build_forms

FORMS = build_forms(QUESTIONS)
CARD = Scorecard("risk", -5.0, (NumericColumn("age", 18, 90),), (Term(0.1, (Power("age"),)),), Link.LOGIT)
TYPED = {
    "cdf": {"column": ["age"], "grid": ["0:90:90"], "by": ["sex=f,m"]},
    "quantiles": {"column": ["age"], "grid": ["0:90:90"]},
    "histogram": {"column": ["age"], "grid": ["0:90:90"]},
    "summary": {"column": ["age"], "bounds": ["0:90"]},
    "count": {"column": ["age"], "by": ["sex=f,m"]},
    "sum": {"column": ["age"], "bounds": ["0:90"]},
    "mean": {"column": ["age"], "bounds": ["0:90"]},
    "variance": {"column": ["age"], "bounds": ["0:90"]},
    "bars": {"column": ["a"], "categories": ["x,01"], "other": ["missing"]},
    "contingency": {"rows": ["a"], "row_categories": ["x,y"], "columns": ["b"], "column_categories": ["1,2"]},
    "survival": {"time": ["t"], "event": ["e"], "grid": ["0:90:90"]},
    "incidence": {"time": ["t"], "event": ["e"], "causes": ["a,b"], "grid": ["0:90:90"]},
    "delayed-entry": {"entry": ["s"], "time": ["t"], "event": ["e"], "grid": ["60:90:30"]},
    "interval-censored": {"last": ["s"], "first": ["t"], "grid": ["0:24:12"], "by": ["sex=f,m"]},
    "survival-model": {"score": ["@risk"], "time": ["t"], "event": ["e"], "times": ["0:24:12"]},
    "model-pair": {"label": ["late"], "first": ["@risk"], "second": ["p"], "thresholds": ["0.2"], "cells": ["8"]},
    "model-comparison": {"label": ["late"], "scores": ["p,q,r"], "cells": ["8"]},
    "multiclass": {"label": ["k"], "classes": ["a,b,c"], "scores": ["p,q,r"], "predicted": ["g"]},
    "ordinal-classes": {"label": ["k"], "classes": ["1,2,3"], "score": ["p"]},
    "uplift": {"outcome": ["o"], "treatment": ["t"], "score": ["@risk"]},
    "quantile-forecasts": {"errors": ["e,f"], "quantiles": ["0.1,0.9"], "grid": ["-9:9:18"]},
    "predicted-observed": {"predicted": ["p"], "observed": ["o"], "grid": ["0:9:9"], "observed_grid": ["0:9:9"]},
    "pairwise-scorer": {"label": ["late"], "features": ["age=18:90\r\nowed=0:10"]},
    "bounds": {"column": ["age"], "smallest": ["1"], "coverage": ["0.95"]},
    "scores": {"label": ["late"], "score": ["p"]},
    "roc": {"label": ["late"], "score": ["@risk"], "points": ["10"], "thresholds": ["fixed"]},
    "calibration": {"label": ["late"], "score": ["p"]},
    "hosmer-lemeshow": {"label": ["late"], "score": ["p"]},
    "binned-residuals": {"label": ["late"], "score": ["p"], "model": ["public"]},
    "residuals": {
        "predicted": ["@risk"], "residual": ["late"], "unit_predicted": ["1"], "unit_residual": ["1"],
        "model": ["disjoint"], "coverage": ["0.95"],
    },
    "table": {"x": ["a"], "y": ["b"], "x_grid": ["0:1:4"], "y_grid": ["0:1:4"]},
    "verify": {
        "outcome": ["late=0,1"], "explained_by": ["age=18:90\r\nfare=0:10"], "coefficient": ["age"], "above": ["0"],
    },
}  # fmt: skip


@pytest.mark.parametrize("word", sorted(FORMS))
def test_every_form_makes_a_question_that_has_a_form_in_json(word: str) -> None:
    question = FORMS[word].build_question(TYPED[word], {"risk": CARD})
    assert str(question_from_json(question_to_json(question))) == str(question)


def test_fields_are_the_options_of_the_command() -> None:
    options = [each.name for each in parameters_of(ScoreOptions)]
    assert [field.name for field in FORMS["roc"].fields][: len(options)] == options


def test_no_field_reads_a_file(tmp_path: Path) -> None:
    kept = tmp_path / "risk.json"
    kept.write_text(CARD.to_json())
    for word, form in FORMS.items():
        for field in form.fields:
            with pytest.raises(InvalidArgument) as refusal:
                form.build_question({**TYPED[word], field.name: [f"@{kept}"]}, {"risk": CARD})
            assert str(kept) not in str(refusal.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"column": ["age"], "grid": ["0:90"]}, "grid: write lower:upper:cells"),
        ({"grid": ["0:90:9"]}, "column: this field is empty; fill it in"),
        ({"column": ["age", "pay"], "grid": ["0:90:9"]}, "column: several values were sent; give a single value"),
        (
            {"column": ["a" * 3000], "grid": ["0:90:9"]},
            "column: at most 2000 characters, and no line breaks, tabs or control characters are allowed",
        ),
        (
            {"column": ["a\x00b"], "grid": ["0:90:9"]},
            "column: at most 2000 characters, and no line breaks, tabs or control characters are allowed",
        ),
    ],
)
def test_what_is_wrong_is_said_of_its_field(given: dict[str, list[str]], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        FORMS["histogram"].build_question(given, {})
