"""Views: filters and columns written out in questions, in Python, in studies and from an account."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from every_question import QUESTIONS

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.curves.view import TEXT_FIELDS, define_view
from dpcurves.ledger import Ledger
from dpcurves.models import Power, Term

GRID = dp.Grid(0, 100, cells=10)
ADULTS = dp.View("adults", "age >= 18", {"wage": "wage * 2", "decade": "floor(age / 10)"})
EMPLOYED = dp.View("employed", dp.col("hours") > 0, {"hourly": "wage / hours"}, ADULTS)
STUDY = """
epsilon = 3000000
[[view]]
name = "adults"
where = "age >= 18"
[view.columns]
wage = "wage * 2"
[[view]]
name = "employed"
base = "adults"
where = "hours > 0"
columns = { hourly = "wage / hours" }
[[question]]
ask = "histogram"
column = "hourly"
grid = "0:100:10"
where = "hourly < 50"
view = "employed"
[[question]]
ask = "count"
column = "*"
view = "adults"
"""


def make_table() -> dict[str, Any]:
    draw = np.random.default_rng(2)
    columns = {"age": draw.integers(0, 90, 600), "hours": draw.integers(0, 40, 600), "wage": draw.integers(0, 900, 600)}
    return {name: values.astype(float) for name, values in columns.items()}


def count_hourly(table: dict[str, Any]) -> list[int]:
    """Return the exact counts: the wage of adults is doubled, once."""
    passing = (table["age"] >= 18) & (table["hours"] > 0)
    hourly = 2 * table["wage"][passing] / table["hours"][passing]
    counts: list[int] = np.histogram(hourly[hourly < 50], GRID.edges)[0].tolist()
    return counts


def test_a_view_is_written_out_in_each_kind_of_field() -> None:
    bars = EMPLOYED.apply(dp.CountQuestion("hourly", by=dp.Categories("decade", (2, 3)), where="decade <> 9"))
    assert (bars.column, bars.by.column) == ("wage * 2 / hours", "floor(age / 10)")
    assert bars.where == "age >= 18 AND hours > 0 AND floor(age / 10) <> 9"
    roc = EMPLOYED.apply(dp.RocQuestion("decade", "ln(hourly)", pos_label="decade", neg_label="wage"))
    assert (roc.label, roc.score) == ("floor(age / 10)", "ln(wage * 2 / hours)")
    assert (roc.pos_label, roc.neg_label) == ("decade", "wage")
    old = dp.View("old", "decade > 6", base=ADULTS).apply(dp.CountQuestion())
    assert old.where == "age >= 18 AND floor(age / 10) > 6"
    assert dp.View("all").apply(dp.CountQuestion()) == dp.CountQuestion()
    assert EMPLOYED.apply(dp.CdfQuestion("hourly + 1", GRID)).column == "wage * 2 / hours + 1"
    assert EMPLOYED.expand("a OR b") == "a OR b"
    assert dp.View("either", "a = 1 OR b = 1").apply(dp.CountQuestion(where="c = 1 OR d = 1")).where == (
        "(a = 1 OR b = 1) AND (c = 1 OR d = 1)"
    )


def test_a_question_on_a_view_is_counted_and_paid_as_its_text() -> None:
    table, loss = make_table(), dp.PrivacyLoss.pure(10**6)
    question = EMPLOYED.apply(dp.HistogramQuestion("hourly", GRID, where="hourly < 50"))
    written = dp.HistogramQuestion("wage * 2 / hours", GRID, where="age >= 18 AND hours > 0 AND wage * 2 / hours < 50")
    with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE) as session:
        curve = session.ask(question, loss, "first")
        assert session.ask(written, loss, "first").to_json() == curve.to_json()
        assert session.remaining.epsilon == 0
        assert str(written.where) in session.statement.grants[0].purpose
    assert curve.unbiased_counts.tolist() == count_hourly(table)
    assert curve.privacy.where == written.where


def test_a_study_defines_views_once_and_a_changed_view_is_another_question() -> None:
    table, study = make_table(), dp.Study.from_text(STUDY)
    with dp.Session(table, budget=study.loss, adjacency=dp.ADD_REMOVE) as session:
        (_, bars), (_, number) = study.ask(session)
    assert bars.unbiased_counts.tolist() == count_hourly(table)
    assert round(number.count) == (table["age"] >= 18).sum()
    changed = dp.Study.from_text(STUDY.replace("hours > 0", "hours > 1"))
    requests = [[each.request(question) for question in each.questions] for each in (study, changed)]
    assert [one == other for one, other in zip(*requests, strict=True)] == [False, True]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('view = "adults"', 'view = "adult"', r"^view: 'adult' is not the name of a view; views: adults, employed"),
        ('base = "adults"', 'base = "employed"', r"^view: 'employed' is not the name of a view; views: adults"),
        ('name = "employed"', 'name = "adults"', r"^view: two views are called 'adults'"),
        ('name = "employed"', 'title = "x"', r"title"),
        ('where = "hours > 0"', 'where = "hours > random()"', r"^where: "),
        ('{ hourly = "wage / hours" }', "{ hourly = 3 }", r"^columns: an expression for 'hourly'"),
        ("[[view]]", "[view]", r"^(study|view): "),
    ],
)
def test_a_wrong_view_is_refused_in_one_line(old: str, new: str, rule: str) -> None:
    text = (
        STUDY.replace(old, new)
        if old != "[[view]]"
        else 'view = "x"\n' + STUDY.partition("[[view]]")[0] + ("[[question]]\n" + STUDY.rpartition("[[question]]")[2])
    )
    with pytest.raises((InvalidArgument, TypeError), match=rule) as caught:
        dp.Study.from_text(text)
    assert "\n" not in str(caught.value)


def test_no_derived_column_stays_in_any_question() -> None:
    derived = dp.View("derived", "z > 0", {name: f"{name}2 + 0" for name in "xryw"})
    for question in QUESTIONS:
        text = repr(derived.apply(question))
        assert "where='z > 0'" in text
        assert re.search("'[xryw]'", text) is None, question


def test_no_text_of_a_question_is_taken_for_a_derived_column() -> None:
    texts = [(type(each), name, getattr(each, name, None)) for each in QUESTIONS for name in TEXT_FIELDS - {"where"}]
    names = {text for *_, text in texts if isinstance(text, str) and text}
    assert {"mean", "before"} & names
    view = dp.View("texts", columns=dict.fromkeys(names, "z + 1"))
    assert [view.apply(each) for each in QUESTIONS] == list(QUESTIONS)


def test_a_model_that_reads_a_derived_column_is_refused() -> None:
    age = dp.NumericColumn("age", 0, 90)
    model = dp.Scorecard("risk", 0.0, (age,), (Term(1.0, (Power("age"),)),))
    dp.View("adults", "age >= 18").apply(dp.RocQuestion("ill", model))
    with pytest.raises(InvalidArgument, match="'age' is a derived column of 'older'"):
        dp.View("older", columns={"age": "age + 1"}).apply(dp.RocQuestion("ill", model))


def test_an_account_keeps_views_for_sessions_and_studies_and_what_was_paid_stays() -> None:
    table, loss, ledger = make_table(), dp.PrivacyLoss.pure(10**6), Ledger.open("sqlite://")
    terms: Any = {"budget": dp.PrivacyLoss.pure(6 * 10**6), "adjacency": dp.ADD_REMOVE, "ledger": ledger}
    with dp.Session(table, **terms) as session, dp.Session(table, dataset="other", **terms) as other:
        with pytest.raises(InvalidArgument, match=r"^base: this account has no view 'adults' of this text"):
            session.define_view(EMPLOYED)
        session.define_view(ADULTS)
        session.define_view(EMPLOYED)
        session.define_view(EMPLOYED)  # the same text again changes nothing
        assert session.views == {"adults": ADULTS, "employed": EMPLOYED}
        assert other.views == {}
        question = dp.HistogramQuestion("hourly", GRID, where="hourly < 50")
        bars = session.ask(session.views["employed"].apply(question), loss, "paid")
        assert bars.unbiased_counts.tolist() == count_hourly(table)
        named = STUDY.partition("[[view]]")[0] + "[[question]]" + STUDY.partition("[[question]]")[2]
        assert dp.Study.from_text(named, session.views) == dp.Study.from_text(STUDY)

        newer = dp.View("adults", "age >= 21", ADULTS.columns)
        with pytest.raises(InvalidArgument, match=r"^name: there is a view 'adults' of another text"):
            session.define_view(newer)
        session.define_view(newer, may_replace=True)
        assert "age >= 21" in session.views["employed"].apply(question).where
        with pytest.raises(InvalidArgument, match=r"^request: 'paid' was used for another question"):
            session.ask(session.views["employed"].apply(question), loss, "paid")
        assert session.ask(EMPLOYED.apply(question), loss, "paid").to_json() == bars.to_json()

        with pytest.raises(InvalidArgument, match=r"^base: 'adults' would be based on itself"):
            session.define_view(dp.View("adults", base=session.views["employed"]), may_replace=True)
        with pytest.raises(InvalidArgument, match=r"^name: 'employed' is based on 'adults'; remove 'employed' first"):
            session.remove_view("adults")
        session.remove_view("employed")
        with pytest.raises(InvalidArgument, match=r"^view: 'employed' is not the name of a view; views: adults"):
            session.remove_view("employed")
        assert list(session.views) == ["adults"]
        ledger.verify()


def test_a_stored_view_that_was_changed_or_removed_without_the_key_is_found(tmp_path: Any) -> None:
    from sqlalchemy import create_engine, text

    url = f"sqlite:///{tmp_path / 'budget.db'}"
    ledger = Ledger.open(url)
    ledger.create(dp.Account("data", dp.ADD_REMOVE, dp.EACH_RECORD, dp.PrivacyLoss.pure(1)))
    for limit in (18, 21):
        ledger.change_view("data", define_view(dp.View("adults", f"age >= {limit}"), may_replace=True))
    assert "21" in ledger.view_definitions("data")["adults"]
    for change, rule in (
        ("UPDATE dpcurves_views SET definition = replace(definition, '21', '12')", "changed without the key"),
        ("DELETE FROM dpcurves_views WHERE definition LIKE '%12%'", "removed without the key"),
    ):
        with create_engine(url).begin() as connection:
            connection.execute(text(change))
        with pytest.raises(InvalidArgument, match=rule):
            ledger.view_definitions("data")
