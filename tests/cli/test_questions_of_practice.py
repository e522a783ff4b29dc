"""Questions that a hospital, an office, a bank and a platform ask, through every door, against pandas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.study import Study

ROWS = 3000
LOSS = dp.PrivacyLoss.pure(10**7)
Values = Callable[[pd.DataFrame], Any]


def make_frame() -> pd.DataFrame:
    """Return records with missing values, letters beyond ASCII, zeros and dates."""
    generator = np.random.default_rng(11)
    start = np.datetime64("2023-01-01")
    diagnosed = start + generator.integers(0, 500, ROWS).astype("timedelta64[D]")
    frame = pd.DataFrame({
        "age": generator.integers(0, 100, ROWS),
        "sex": generator.choice(["F", "M"], ROWS),
        "region": generator.choice(["north", "south", "Köln", "West"], ROWS),
        "wage": np.round(np.exp(generator.normal(7, 1, ROWS)), 2),
        "hours": generator.integers(0, 60, ROWS),
        "code": generator.choice(["I10", "I11.9", "E11", "e11.5", "J45"], ROWS),
        "diagnosed": diagnosed.astype("datetime64[us]"),
        "admitted": (diagnosed + generator.integers(-5, 90, ROWS).astype("timedelta64[D]")).astype("datetime64[us]"),
        "insured": generator.random(ROWS) < 0.8,
        "price": np.round(generator.random(ROWS) * 200, 2),
        "discount": np.round(generator.random(ROWS), 2),
        "balance": np.round(generator.normal(0, 1000, ROWS), 2),
        "limit amount": generator.choice([0.0, 500.0, 1000.0], ROWS),
        "visits": generator.integers(0, 40, ROWS),
        "clicks": generator.integers(0, 10, ROWS),
    })  # fmt: skip
    frame.loc[generator.random(ROWS) < 0.1, "wage"] = np.nan
    frame.loc[generator.random(ROWS) < 0.1, "region"] = None
    frame.loc[generator.random(ROWS) < 0.1, "admitted"] = pd.NaT
    return frame


def days(frame: pd.DataFrame) -> Any:
    """Return the days from diagnosis to admission."""
    return (frame.admitted - frame.diagnosed).dt.days


QUESTIONS: dict[str, tuple[str, str, str, str, Values]] = {
    # kind, grid or bounds, column, filter, values
    "wages per hour of women over 65 in the north": (
        "histogram", "0:1000:20", "wage / hours", "sex = 'F' AND age > 65 AND region = 'north'",
        lambda t: (t.wage / t.hours.replace(0, np.nan))[(t.sex == "F") & (t.age > 65) & (t.region == "north")],
    ),
    "days from diagnosis to admission": (
        "histogram", "-10:100:22", "date_diff('day', diagnosed, admitted)", "", days,
    ),
    "late admissions": ("count", "", "*", "date_diff('day', diagnosed, admitted) > 30", lambda t: t[days(t) > 30]),
    "admissions of a year": (
        "count", "", "*", "year(admitted) = 2024", lambda t: t[t.admitted.dt.year == 2024],
    ),
    "months of admission": (
        "histogram", "1:13:12", "month(admitted)", "insured", lambda t: t.admitted.dt.month[t.insured],
    ),
    "weekdays of admission": (
        "histogram", "1:8:7", "isodow(admitted)", "", lambda t: t.admitted.dt.day_of_week + 1,
    ),
    "before a day": ("count", "", "*", "diagnosed < DATE '2023-06-01'", lambda t: t[t.diagnosed < "2023-06-01"]),
    "within a quarter": (
        "count", "", "*", "date_trunc('quarter', diagnosed) = DATE '2023-04-01'",
        lambda t: t[t.diagnosed.between("2023-04-01", "2023-06-30")],
    ),
    "hypertension": ("count", "", "*", "code LIKE 'I1%'", lambda t: t[t.code.str.startswith("I1")]),
    "diabetes in any spelling": (
        "count", "", "*", "upper(substr(code, 1, 3)) = 'E11'", lambda t: t[t.code.str[:3].str.upper() == "E11"],
    ),
    "not insured": ("count", "", "*", "NOT insured", lambda t: t[~t.insured]),
    "employed persons": ("mean", "0:60", "hours", "hours > 0 AND age BETWEEN 15 AND 74", lambda t: t.hours[
        (t.hours > 0) & t.age.between(15, 74)]),
    "ten years of age": (
        "histogram", "0:100:10", "floor(age / 10) * 10", "sex = 'M'", lambda t: t.age[t.sex == "M"] // 10 * 10,
    ),
    "outside of the north": (
        "count", "", "wage", "region <> 'north'", lambda t: t.wage[t.region.notna() & (t.region != "north")],
    ),
    "letters beyond ASCII": ("count", "", "*", "region = 'Köln'", lambda t: t[t.region == "Köln"]),
    "several regions": (
        "count", "", "*", "lower(region) IN ('west', 'köln')", lambda t: t[t.region.isin(["West", "Köln"])],
    ),
    "no region": ("count", "", "*", "region IS NULL", lambda t: t[t.region.isna()]),
    "logarithm of wages": ("histogram", "0:12:12", "ln(wage)", "age >= 18", lambda t: np.log(t.wage[t.age >= 18])),
    "low wages": (
        "count", "", "*", "wage < 500 OR wage IS NULL", lambda t: t[(t.wage < 500) | t.wage.isna()],
    ),
    "wage or nothing": ("mean", "0:5000", "coalesce(wage, 0)", "", lambda t: t.wage.fillna(0).clip(0, 5000)),
    "orders above 100 after a discount": (
        "count", "", "*", "price * (1 - discount) > 100", lambda t: t[t.price * (1 - t.discount) > 100],
    ),
    "price after discount": (
        "histogram", "0:200:20", "price * (1 - discount)", "price >= 10", lambda t: (t.price * (1 - t.discount))[
            t.price >= 10],
    ),
    "overdrawn": ("count", "", "*", "balance < -\"limit amount\"", lambda t: t[t.balance < -t["limit amount"]]),
    "used limit": (
        "histogram", "0:2:10", "abs(least(balance, 0)) / \"limit amount\"", "balance < 0",
        lambda t: (t.balance.clip(upper=0).abs() / t["limit amount"].replace(0, np.nan))[t.balance < 0],
    ),
    "rounded balance": (
        "histogram", "-2000:2000:8", "round(balance / 500) * 500", "", lambda t: np.trunc(
            t.balance / 500 + np.copysign(0.5, t.balance)) * 500,
    ),
    "clicks for each visit": (
        "histogram", "0:2:10", "clicks / visits", "visits >= 5", lambda t: (t.clicks / t.visits)[t.visits >= 5],
    ),
    "heavy users": (
        "mean", "0:10", "CASE WHEN visits > 20 THEN clicks ELSE 0 END", "",
        lambda t: t.clicks.where(t.visits > 20, 0),
    ),
    "distribution of visits": (
        "cdf", "0:40:40", "visits", "clicks IN (0, 1, 2)", lambda t: t.visits[t.clicks <= 2],
    ),
    "square roots": ("histogram", "0:7:7", "sqrt(visits)", "visits > 0", lambda t: np.sqrt(t.visits[t.visits > 0])),
    "largest of two": (
        "histogram", "0:40:8", "greatest(visits, clicks)", "age < 50 AND NOT sex = 'F'",
        lambda t: t[["visits", "clicks"]].max(axis=1)[(t.age < 50) & (t.sex != "F")],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return make_frame()


@pytest.fixture(scope="module")
def connection(frame: pd.DataFrame) -> Iterator[Any]:
    with duckdb.connect() as made:
        made.register("rows", frame)
        made.execute("CREATE TABLE people AS SELECT * FROM rows")
        yield made


def make_document(name: str) -> dict[str, Any]:
    """Return a question as the JSON object of files, studies and servers."""
    kind, cells, column, where, _ = QUESTIONS[name]
    options = {"count": {}, "mean": {"bounds": cells}}.get(kind, {"grid": cells})
    return {"ask": kind, "column": column, **options, **({"where": where} if where else {})}


def make_statement(name: str) -> str:
    """Return a question as a statement of SQL."""
    kind, cells, column, where, _ = QUESTIONS[name]
    numbers = "".join(f", {number}" for number in cells.split(":") if number)
    return f"SELECT dp_{kind}({column}{numbers}) FROM people" + (f" WHERE {where}" if where else "")


def read_numbers(curve: Any, kind: str) -> list[float]:
    """Return the numbers of a result that are compared."""
    if kind == "mean":
        return [curve.count, curve.mean]
    return [curve.count, *curve.y] if kind == "cdf" else [*np.atleast_1d(curve.count)]


def compute_numbers(frame: pd.DataFrame, name: str) -> list[float]:
    """Return the exact numbers."""
    kind, cells, _, _, values = QUESTIONS[name]
    passing = values(frame)
    if isinstance(passing, pd.DataFrame):
        return [len(passing)]
    present = np.asarray(passing.dropna(), dtype=float)
    present = present[np.isfinite(present)]
    if kind == "count":
        return [len(present)]
    if kind == "mean":
        return [len(present), float(present.mean())]
    lower, upper, number = (float(part) for part in cells.split(":"))
    clipped = np.clip(present, lower, np.nextafter(upper, -np.inf))
    counts = np.histogram(clipped, dp.Grid(lower, upper, cells=int(number)).edges)[0]
    return [len(present), *np.cumsum([0, *counts]) / len(present)] if kind == "cdf" else counts.tolist()


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_thirty_questions_of_practice_equal_pandas_in_python(frame: pd.DataFrame, adjacency: Any) -> None:
    assert len(QUESTIONS) == 30
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(10**9), adjacency=adjacency) as session:
        for name in QUESTIONS:
            question = question_from_json(make_document(name))
            assert question_from_json(question_to_json(question)) == question
            curve = session.ask(question, LOSS)
            np.testing.assert_allclose(
                read_numbers(curve, make_document(name)["ask"]), compute_numbers(frame, name), rtol=1e-4, err_msg=name
            )
            assert curve.privacy.where == (question.where or "")
            assert type(curve).from_json(curve.to_json()).privacy == curve.privacy


def test_thirty_questions_of_practice_equal_pandas_in_sql(connection: Any, frame: pd.DataFrame) -> None:
    for name in QUESTIONS:
        curve = dp.sql(connection, make_statement(name), loss=LOSS, adjacency=dp.ADD_REMOVE)
        np.testing.assert_allclose(
            read_numbers(curve, make_document(name)["ask"]), compute_numbers(frame, name), rtol=1e-4, err_msg=name
        )


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
        np.testing.assert_allclose(
            read_numbers(curve, document["ask"]), compute_numbers(frame, name), rtol=1e-4, err_msg=name
        )
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
        numbers = read_numbers(curves[question.where], make_document(name)["ask"])
        np.testing.assert_allclose(numbers, compute_numbers(frame, name), rtol=1e-4, err_msg=name)


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
            numbers = read_numbers(curve, make_document(name)["ask"])
            np.testing.assert_allclose(numbers, compute_numbers(frame, name), rtol=1e-4, err_msg=name)


def test_questions_of_practice_are_answered_behind_the_schema_of_a_server(frame: pd.DataFrame) -> None:
    """What the schema declares as a date is one in filters and expressions."""
    pytest.importorskip("fastapi", reason="dpcurves[server] is not installed")
    from dpcurves_server.declared_columns import UNKNOWN_DATES
    from dpcurves_server.planner import require_declared
    from dpcurves_server.schema_alignment import align_with_schema

    texts = {name: tuple(frame[name].dropna().unique()) for name in ("sex", "region", "code")}
    declared: list[Any] = [dp.Categories(name, values) for name, values in texts.items()]
    declared += [dp.Categories("insured", (True, False))]  # the others are numbers
    numbers = [dp.NumericColumn(name, -1e6, 1e6) for name in frame.columns if frame[name].dtype.kind in "if"]
    dates = [dp.NumericColumn(name, *UNKNOWN_DATES) for name in ("diagnosed", "admitted")]
    columns: tuple[Any, ...] = (*declared, *numbers, *dates)
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(10**9), adjacency=dp.ADD_REMOVE) as session:
        for name in QUESTIONS:
            question = align_with_schema(question_from_json(make_document(name)), "t", columns)
            plans = session.plan(question, LOSS)
            require_declared(plans, "t", columns)
            numbers_of_curve = read_numbers(session.ask(question, LOSS), make_document(name)["ask"])
            np.testing.assert_allclose(numbers_of_curve, compute_numbers(frame, name), rtol=1e-4, err_msg=name)


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
        first = session.ask(dp.CdfQuestion("age", grid, at=(20, 60), where="sex = 'F'"), loss, "edges")
        second = session.ask(dp.CdfQuestion("age", grid, at=(40,), where="sex = 'F'"), loss, "edges")
        women = frame.age[frame.sex == "F"]
        assert first.cdf(20) == pytest.approx((women < 20).mean(), abs=1e-3)
        assert second.cdf(40) == pytest.approx((women < 40).mean(), abs=1e-3)
        with pytest.raises(ValueError, match="request"):
            session.ask(dp.CdfQuestion("age", grid, at=(40,), where="sex = 'M'"), loss, "edges")


def test_a_name_in_a_filter_is_noted_with_the_result(frame: pd.DataFrame) -> None:
    with dp.Session(frame, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE) as session:
        loss, question = dp.PrivacyLoss.pure(1), dp.CountQuestion(where="region = 'Ada Lovelace'")
        assert "'Ada Lovelace' is published" in session.plan(question, loss).notes[0]
        with pytest.warns(dp.CurveWarning, match="'Ada Lovelace' is published"):
            session.ask(question, loss)
