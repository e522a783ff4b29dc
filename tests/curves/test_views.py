"""Views: filters and columns written out in questions, in Python and in studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument

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
