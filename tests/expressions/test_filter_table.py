"""Each question takes a filter: the rows that fail change no integer, and commands and statements of SQL have it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from every_question import QUESTIONS
from filter_table import compare_with_subset, list_command_line_questions, plan_rounds
from trust_models import MODELS

from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves_engines.statement import FUNCTIONS, SqlQuestion


@pytest.fixture(autouse=True)
def fixed_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the key that assigns records to subsets: under another one, a fit of 30 records may not exist."""
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", 32 * "5e")


ARGUMENTS = {
    "probabilities": "(0.1, 0.9)",
    "probability": "0.5",
    "lower, upper, cells": "0, 1, 8",
    "lower, upper": "0, 1",
}


@pytest.mark.parametrize("number", range(4, len(QUESTIONS), 12))
def test_rows_that_fail_a_filter_change_nothing(number: int) -> None:
    assert compare_with_subset(QUESTIONS[number]) == "equal"


@pytest.mark.reproduction
@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_a_filter_changes_no_answer_and_no_refusal_of_any_question(number: int) -> None:
    question = QUESTIONS[number]
    filtered = replace(question, where="z >= 3")  # type: ignore[type-var]
    assert compare_with_subset(question) == "equal"
    for model in MODELS.values():
        assert plan_rounds(filtered, model) == plan_rounds(question, model)


def test_questions_commands_and_statements_keep_a_filter() -> None:
    for question in QUESTIONS:
        filtered = replace(question, where="z >= 3")  # type: ignore[type-var]
        assert question_from_json(question_to_json(filtered)) == filtered
        assert str(filtered).endswith(", where z >= 3")
    commands = list_command_line_questions()
    assert {"cdf", "scores", "bars", "plan cdf"} < commands.keys()
    assert [name for name, has_filter in commands.items() if not has_filter] == []
    for name, function in FUNCTIONS.items():
        further = [ARGUMENTS[form] for form in function.argument_forms]
        call = ", ".join([*(f"c{place}" for place in range(len(function.columns))), *further])
        groups = " GROUP BY c0" if "by" in function.columns else ""
        statement = f"SELECT {'c0, ' if groups else ''}{name}({call}) FROM t WHERE z >= 3{groups}"
        asked = SqlQuestion.from_sql(statement).build_question({"c0": ("a", "b")} if groups else {})
        assert asked.where == "z >= 3", statement
