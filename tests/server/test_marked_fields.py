"""Every question of the pages is answered from its needed fields, or refused at a field before anything is charged."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import dpcurves as dp
from dpcurves.arguments import ArgumentError
from dpcurves.cli.one_table import QUESTIONS
from dpcurves.data import Categories
from dpcurves.models import NumericColumn
from dpcurves.session import plan_question
from dpcurves_server.cli.commands import build_forms
from dpcurves_server.declared_columns import Declared
from dpcurves_server.form_errors import FormError, describe_form_error
from dpcurves_server.form_inputs import Input, InputKind, build_inputs, complete_fields, name_field
from dpcurves_server.forms import Form
from dpcurves_server.planner import require_declared
from dpcurves_server.schema_alignment import align_with_schema

COLUMNS: tuple[Declared, ...] = (
    NumericColumn("pay", -100, 1000), NumericColumn("months", 0, 60), NumericColumn("entered", 0, 60),
    NumericColumn("risk", -5, 5), NumericColumn("a", 0, 1), NumericColumn("b", 0, 1), NumericColumn("c", 0, 1),
    Categories("died", (0, 1)), Categories("late", ("no", "yes")), Categories("ward", ("x", "y", "z")),
    Categories("cause", (0, 1, 2)), Categories("code", ("1", "2")), Categories("flag", (False, True)),
)  # fmt: skip
FORMS = build_forms(QUESTIONS)
TITLES = {word: form.title for word, form in FORMS.items()}
LOSS, ADJACENCY, ROWS = dp.PrivacyLoss.pure("0.5"), dp.REPLACE_ONE, 60
SENSIBLE = {
    "rows": "ward", "columns": "cause", "time": "months", "entry": "entered", "last": "entered", "y": "months",
    "first": "months", "score": "a", "second": "b", "treatment": "flag", "observed": "risk", "coefficient": "months",
    "explained_by": "months", "features": "months", "residual": "risk",
}  # fmt: skip
"""Columns that a person chooses; the first that is offered for other fields."""
TYPED: Mapping[str, list[str]] = {
    "coverage": ["0.9"], "quantiles": ["0.5"], "scores": ["a", "b", "c"], "errors": ["risk"],
}  # fmt: skip
FILTERS = ("ward > 5", "pay + ward > 3", "late = 1", "cause IN ('a', 1)", "NOT ward", "died = 1 AND ward = 'x'", "flag")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dp.Session]]:
    """A table in a file that declares types, and in one that declares none."""
    folder, draws = tmp_path_factory.mktemp("forms"), np.random.default_rng(1)
    table = pa.table({str(column.column): sample(column, draws) for column in COLUMNS})
    csv.write_csv(table, folder / "t.csv")
    parquet.write_table(table, folder / "t.parquet")
    files = [str(folder / "t.csv"), str(folder / "t.parquet")]
    opened = [dp.Session(file, budget=LOSS, adjacency=ADJACENCY, units=ROWS) for file in files]
    yield opened
    for session in opened:
        session.close()


def sample(column: Declared, draws: np.random.Generator) -> Any:
    if isinstance(column, Categories):
        return pa.array([column.values[number] for number in draws.integers(len(column.values), size=ROWS)])
    return draws.uniform(column.lower, column.upper, ROWS)


def fill_needed(form: Form, columns: Sequence[Declared] = COLUMNS) -> dict[str, list[str]]:
    """What a person types who fills in the fields that are marked as needed, and no other."""
    typed: dict[str, list[str]] = {}
    for form_input in chain(*build_inputs(form, columns, ())):
        if form_input.is_required:
            typed[form_input.field.name] = choose(form_input, typed)
    return typed


def choose(form_input: Input, typed: Mapping[str, list[str]]) -> list[str]:
    name, values = form_input.field.name, [option.value for option in form_input.options]
    if form_input.kind is InputKind.LABEL:
        (column,) = typed[form_input.column_field]
        return [next(option.value for option in reversed(form_input.options) if option.group in (column, ""))]
    if form_input.kind in (InputKind.RANGE, InputKind.TEXT, InputKind.NUMBER) or name in TYPED:
        return TYPED.get(name, [""])
    return [SENSIBLE[name] if SENSIBLE.get(name) in values else values[0]]


def require_answered(question: Any, sessions: Sequence[dp.Session]) -> None:
    """Plan the question from public facts, as the server does; then as its workers do, from either file."""
    aligned = align_with_schema(question, "t", COLUMNS)
    plans = plan_question(aligned, LOSS, ADJACENCY.to_question_adjacency(dp.EACH_RECORD, ROWS))
    require_declared(plans, "t", COLUMNS)
    for session in sessions:
        session.check_plans(session.plan(aligned, LOSS))


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("word", FORMS)
def test_every_question_is_answered_from_the_fields_that_are_marked(word: str, sessions: list[dp.Session]) -> None:
    form = FORMS[word]
    require_answered(form.build_question(complete_fields(form, fill_needed(form), COLUMNS), {}), sessions)


@pytest.mark.parametrize("word", ["survival", "roc", "uplift"])
@pytest.mark.parametrize(
    ("values", "first", "is_marked"),
    [(("early", "late"), "late", True), (("Yes", "No"), "Yes", False), (("F", "T"), "T", False)],
)
def test_classes_of_text_are_marked_unless_one_affirms_and_the_second_one_is_the_other(
    word: str, values: tuple[str, str], first: str, is_marked: bool
) -> None:
    form, columns = FORMS[word], (NumericColumn("a", 0, 1), Categories("class", values))
    typed = {**fill_needed(form, columns), "treatment": ["class"]}
    firsts, others = {"event_value", "pos_label", "treated_value"}, {"censored_value", "neg_label", "control_value"}
    assert bool(firsts & typed.keys()) is is_marked
    assert firsts & {form_input.field.name for form_input in build_inputs(form, columns, ())[0]}
    completed = complete_fields(form, typed, columns)
    assert {"".join(completed[name]) for name in firsts & completed.keys()} == {first}
    assert {"".join(completed[name]) for name in others & completed.keys()} == {*values} - {first}


def test_a_question_of_a_program_gets_its_second_class_and_types_from_the_schema(sessions: list[dp.Session]) -> None:
    grid, split = dp.Grid(0, 60, cells=6), dp.Categories("code", (1, 2))
    for question in (
        dp.SurvivalQuestion("months", "died", grid, by=split),
        dp.SurvivalQuestion("months", "a", grid),
        dp.UpliftQuestion("died", "flag", "a", pos_label="1"),
        dp.SurvivalQuestion("months", "code", grid, event_value=1, censored_value=2),
    ):
        require_answered(question, sessions)
    aligned = align_with_schema(dp.CdfQuestion("pay", grid, by=split), "t", COLUMNS)
    assert aligned.by.values == ("1", "2")
    assert align_with_schema(dp.RocQuestion("flag", "a"), "t", COLUMNS).neg_label is False


def test_columns_of_a_wrong_kind_are_refused_at_a_field_or_answered(sessions: list[dp.Session]) -> None:
    """What the plan accepts, no worker refuses: a random choice of columns, labels and a filter for each question."""
    chosen, refusals = random.Random(5), 0
    for form in FORMS.values():
        typed = fill_needed(form)
        for form_input in chain(*build_inputs(form, COLUMNS, ())):
            is_changed = form_input.kind in (InputKind.COLUMN, InputKind.LABEL) and chosen.random() < 0.4
            if is_changed and form_input.options and form_input.field.name != "weight":
                typed[form_input.field.name] = [chosen.choice(form_input.options).value]
        typed["where"] = [chosen.choice(("", *FILTERS))]
        error = refuse(form, typed)
        refusals += error is not None
        if error is None:
            require_answered(form.build_question(complete_fields(form, typed, COLUMNS), {}), sessions)
        else:
            assert_says_where(form, error)
    assert 8 < refusals < 25  # both happen


def refuse(form: Form, typed: Mapping[str, list[str]]) -> FormError | None:
    """Why the plan of what was typed is refused, as the page says it; None: it is planned."""
    try:
        question = form.build_question(complete_fields(form, typed, COLUMNS), {})
        aligned = align_with_schema(question, "t", COLUMNS)
        plans = plan_question(aligned, LOSS, ADJACENCY.to_question_adjacency(dp.EACH_RECORD, ROWS))
        require_declared(plans, "t", COLUMNS)
    except ArgumentError as error:
        return describe_form_error(form, error, typed, TITLES)
    return None


def assert_says_where(form: Form, error: FormError) -> None:
    """The message begins with the label of a field, and names no option, class or program's word."""
    assert error.field, error
    assert error.message.startswith(f"{name_field(form, error.field)}: "), error
    assert not re.search(r"--[a-z]|lower:upper|Question|Categories\(|Grid\(|=\(|^[a-z]", error.message), error


WRONG = ("two", "-1", "12.5", "9:1", "1;2")


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("word", FORMS)
def test_wrong_values_are_refused_at_their_field_in_words_of_the_page(word: str) -> None:
    form = FORMS[word]
    for form_input in chain(*build_inputs(form, COLUMNS, ())):
        if form_input.kind not in (InputKind.RANGE, InputKind.NUMBER, InputKind.TEXT):
            continue
        parts = [""] if form_input.kind is not InputKind.RANGE else [".lower", ".upper", ".cells"]
        for part in parts if form_input.has_cells else parts[:2]:
            for wrong in WRONG:
                error = refuse(form, {**fill_needed(form), f"{form_input.field.name}{part}": [wrong]})
                if error is not None:
                    assert_says_where(form, error)
            if part:
                error = refuse(form, {**fill_needed(form), f"{form_input.field.name}{part}": ["two"]})
                assert error is not None
                assert error.field == f"{form_input.field.name}{part}"


def list_number_fields(form: Form) -> Iterator[str]:
    """Yield the names of all fields of a form that take a single number."""
    for form_input in chain(*build_inputs(form, COLUMNS, ())):
        name = form_input.field.name
        if form_input.kind is InputKind.RANGE:
            yield from (f"{name}.lower", f"{name}.upper", *([f"{name}.cells"] if form_input.has_cells else []))
        elif form_input.kind is InputKind.NUMBER:
            yield name


@pytest.mark.parametrize("word", FORMS)
def test_every_number_field_takes_a_decimal_comma_and_refuses_separators_of_thousands(word: str) -> None:
    form = FORMS[word]
    needed = fill_needed(form)
    for name in list_number_fields(form):
        with_comma, with_point = [describe_outcome(form, {**needed, name: [text]}) for text in ("-0,5", "-0.5")]
        assert with_comma == with_point
        with pytest.raises(ArgumentError, match=r"type 1\.250 or 1250: ") as ambiguous:
            complete_fields(form, {**needed, name: ["1,250"]}, COLUMNS)
        with pytest.raises(ArgumentError, match="type 1234567, with no separator") as grouped:
            complete_fields(form, {**needed, name: ["1.234.567"]}, COLUMNS)
        assert {ambiguous.value.argument, grouped.value.argument} == {name}
        assert_says_where(form, describe_form_error(form, ambiguous.value, needed, TITLES))


def describe_outcome(form: Form, typed: Mapping[str, list[str]]) -> Any:
    """Return the completed fields of a form, or the message of its refusal."""
    try:
        return complete_fields(form, typed, COLUMNS)
    except ArgumentError as error:
        return str(error)


def test_semicolons_separate_numbers_with_decimal_commas() -> None:
    completed = complete_fields(FORMS["quantiles"], {"column": ["pay"], "probabilities": ["0,25; 0,5;0,75"]}, COLUMNS)
    assert completed["probabilities"] == ["0.25,0.5,0.75"]
