"""Questions of practice in Python, in SQL, at the command line and in studies, against pandas; tests of the server ask
them over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import Result
from questions_of_practice import LOSS, QUESTIONS, make_document, make_frame, make_statement, require_equal

import dpcurves as dp
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.study import Study


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return make_frame()


@pytest.fixture(scope="module")
def connection(frame: pd.DataFrame) -> Iterator[Any]:
    with duckdb.connect() as made:
        made.register("rows", frame)
        made.execute("CREATE TABLE people AS SELECT * FROM rows")
        yield made


def test_thirty_questions_of_practice_equal_pandas_in_python(frame: pd.DataFrame) -> None:
    """Under replace-one; a study asks the same session's questions under add-remove below."""
    assert len(QUESTIONS) == 30
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(10**9), adjacency=dp.REPLACE_ONE) as session:
        for name in QUESTIONS:
            question = question_from_json(make_document(name))
            assert question_from_json(question_to_json(question)) == question
            curve = session.ask(question, LOSS)
            require_equal(curve, frame, name)
            assert curve.privacy.where == (question.where or "")
            assert type(curve).from_json(curve.to_json()).privacy == curve.privacy


@pytest.mark.reproduction
def test_thirty_questions_of_practice_equal_pandas_in_sql(connection: Any, frame: pd.DataFrame) -> None:
    for name in QUESTIONS:
        curve = dp.sql(connection, make_statement(name), loss=LOSS, adjacency=dp.ADD_REMOVE)
        require_equal(curve, frame, name)


def test_thirty_questions_of_practice_equal_pandas_at_the_command_line(
    run: Callable[..., Result], frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.to_parquet(tmp_path / "people.parquet")
    for number, name in enumerate(QUESTIONS):
        document = make_document(name)
        options = [part for key in ("column", "grid", "bounds", "where") if key in document for part in (
            f"--{key}", str(document[key]))]  # fmt: skip
        options = [f"{first}={second}" for first, second in zip(options[::2], options[1::2], strict=True)]
        written = tmp_path / f"{number}.json"
        terms = ("--epsilon=10000000", "--adjacency=add-remove", f"--json={written}")
        result = run(document["ask"], tmp_path / "people.parquet", *options, *terms)
        assert result.exit_code == 0, (name, result.output)
        curve = dp.read_result(written)
        require_equal(curve, frame, name)
        assert json.loads(written.read_text())["privacy"].get("where", "") == curve.privacy.where


def test_a_study_filters_each_question_by_itself(
    run: Callable[..., Result], frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame.to_parquet(tmp_path / "people.parquet")
    names = ["hypertension", "employed persons", "clicks for each visit"]
    (tmp_path / "study.toml").write_text(write_study(names, 3 * 10**7))
    result = run(
        "study", tmp_path / "study.toml", tmp_path / "people.parquet", "--adjacency=add-remove",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    curves = {curve.privacy.where: curve for curve in map(dp.read_result, (tmp_path / "out").glob("*.json"))}
    for name in names:
        question = question_from_json(make_document(name))
        require_equal(curves[question.where], frame, name)


def write_study(names: Iterable[str], epsilon: int) -> str:
    """Return a study of these questions as TOML."""
    documents = [make_document(name) for name in names]
    tables = [
        "\n".join(["[[question]]", *(f"{key} = {json.dumps(value)}" for key, value in document.items())])
        for document in documents
    ]
    return "\n".join([f"epsilon = {epsilon}", *tables])


def test_thirty_questions_of_practice_equal_pandas_in_a_study(frame: pd.DataFrame) -> None:
    study = Study.from_text(write_study(QUESTIONS, 30 * 10**7))
    with dp.Session(frame, budget=study.loss, adjacency=dp.ADD_REMOVE) as session:
        for name, (_, curve) in zip(QUESTIONS, study.ask(session), strict=True):
            assert curve.privacy.where == (question_from_json(make_document(name)).where or "")
            require_equal(curve, frame, name)


def test_a_filter_is_part_of_what_a_request_pays_for(frame: pd.DataFrame) -> None:
    """A question about other records is another question. A session charges two filters twice, even if disjoint."""
    question = dp.CountQuestion(where="age < 50")
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(3), adjacency=dp.ADD_REMOVE) as session:
        (plan,), (other,) = (session.plan(dp.CountQuestion(where=where), dp.PrivacyLoss.pure(1)) for where in (
            "age < 50", "age >= 50"))  # fmt: skip
        assert plan.fingerprint != other.fingerprint
        session.ask(question, dp.PrivacyLoss.pure(1), "first")
        session.ask(dp.CountQuestion(where="age  <  50"), dp.PrivacyLoss.pure(1), "first")
        with pytest.raises(ValueError, match="request"):
            session.ask(dp.CountQuestion(where="age >= 50"), dp.PrivacyLoss.pure(1), "first")
        assert session.remaining.epsilon == 2
        session.ask(dp.CountQuestion(where="age >= 50"), dp.PrivacyLoss.pure(1))
        assert session.remaining.epsilon == 1
        assert "where age < 50" in session.statement.grants[0].purpose


def test_counts_at_some_edges_are_shared_by_questions_with_one_filter(frame: pd.DataFrame) -> None:
    grid = dp.Grid(0, 100, cells=100)
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(10**7), adjacency=dp.ADD_REMOVE) as session:
        loss = dp.PrivacyLoss.pure(10**6)
        first = session.ask(dp.CdfQuestion("age", grid, edges=(20, 60), where="sex = 'F'"), loss, "edges")
        second = session.ask(dp.CdfQuestion("age", grid, edges=(40,), where="sex = 'F'"), loss, "edges")
        women = frame.age[frame.sex == "F"]
        assert first.cdf(20) == pytest.approx((women < 20).mean(), abs=1e-3)
        assert second.cdf(40) == pytest.approx((women < 40).mean(), abs=1e-3)
        with pytest.raises(ValueError, match="request"):
            session.ask(dp.CdfQuestion("age", grid, edges=(40,), where="sex = 'M'"), loss, "edges")


def test_a_name_in_a_filter_is_noted_with_the_result(frame: pd.DataFrame) -> None:
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE) as session:
        loss, question = dp.PrivacyLoss.pure(1), dp.CountQuestion(where="region = 'ada@example.org'")
        assert "'ada@example.org' is published" in session.plan(question, loss).notes[0]
        with pytest.warns(dp.CurveWarning, match="'ada@example.org' is published"):
            session.ask(question, loss)
