"""Columns of any name are read alike from data frames, Parquet and CSV files, in every role of a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import dpcurves as dp

Table = dict[str, NDArray[Any]]
NAMES = (
    "*", '"*"', "a*b", "wage / hours", "ln(x)", "exp(score)", "age > 65", '"q"', 'weird "" quote', "'", "", " ", "a\nb",
    "select", "NULL", "case when", "é", "👍", "x" * 300, "record", "unit", "count", "value", "rowid", "column0", "1",
    "0.5", "-", "+7", "=1+1", "DATE '2020-01-01'", "x IS NULL", "not", "true", "a;b", "a.b", "GROUP", "%s", "{x}", "\\",
    "\t", "$1", "file_row_number", "filename", "count(*)", "(x)", "and", "Label", "score ",
)  # fmt: skip
ROLES = ("score", "label", "group", "time", "none")
QUESTIONS = ("mean", "count", "survival")


def make_table() -> Table:
    """Return records of a score, a binary label, a group and a time."""
    generator = np.random.default_rng(1)
    return {
        "score": generator.uniform(size=200).round(4), "label": generator.integers(0, 2, 200),
        "group": generator.choice(["a", "b"], 200), "time": generator.integers(1, 20, 200).astype(float),
    }  # fmt: skip


def ask_questions(
    data: object, score: str, label: str, group: str, time: str, *, asked: Sequence[str] = QUESTIONS
) -> dict[str, list[Any]]:
    """Return the numbers of each answer that is asked for, with hardly any noise."""
    score, time = ('"*"' if name == "*" else name for name in (score, time))  # "*" alone means all records
    by = dp.Categories(group, ("a", "b"))
    questions: dict[str, Any] = {
        "mean": dp.MeanQuestion(score, 0, 1), "count": dp.CountQuestion(),
        "survival": dp.SurvivalQuestion(time, label, dp.Grid(0, 20, cells=10), by, event_value=1, censored_value=0),
    }  # fmt: skip
    with dp.Session(data, adjacency=dp.REPLACE_ONE, budget=dp.PrivacyLoss.pure(10**9)) as session:
        answers = {name: session.ask(questions[name], dp.PrivacyLoss.pure(10**8)) for name in asked}
    frames = {name: pd.DataFrame(answer.to_frame()).select_dtypes("number") for name, answer in answers.items()}
    return {name: frame.to_numpy().round(3).tolist() for name, frame in frames.items()}


def write(table: Table, kind: str, folder: Path) -> object:
    """Return the table as a data frame, or the path of a file of it."""
    if kind == "frame":
        return pd.DataFrame(table)
    file = folder / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({name: pa.array(column) for name, column in table.items()}), file)
    else:
        pd.DataFrame(table).to_csv(file, index=False)
    return file


@pytest.mark.filterwarnings("ignore")
@pytest.mark.quick_share(54)
@pytest.mark.parametrize("kind", ["frame", "parquet", "csv"])
@pytest.mark.parametrize("part", range(6))
def test_any_name_is_read_in_every_role(part: int, kind: str, tmp_path: Path) -> None:
    """Each name takes one role in the question that reads it, or names a column of text that no question reads."""
    plain = make_table()
    expected = ask_questions(write(plain, kind, tmp_path), "score", "label", "group", "time")
    for number, name in list(enumerate(NAMES))[part::6]:
        if kind == "csv" and "\n" in name:  # records end at the end of a line, and so does the header
            continue
        role = ROLES[number % len(ROLES)]
        names = {column: name if column == role else column for column in plain}
        table = {names[column]: values for column, values in plain.items()}
        if role == "none":
            table[name] = np.array(["text"] * 200)
        asked = {"score": ("mean",), "none": QUESTIONS}.get(role, ("survival",))  # the questions that name the column
        answers = ask_questions(write(table, kind, tmp_path), **names, asked=asked)
        assert answers == {question: expected[question] for question in asked}, (name, role)


def test_all_records_are_counted_beside_a_column_of_that_name() -> None:
    """``"*"`` means all records in each table; elsewhere it is refused, with the way to name such a column."""
    table = {"*": ["a", "b", "b"], "n": [1.0, 2.0, 3.0]}
    with dp.Session(pd.DataFrame(table), adjacency=dp.REPLACE_ONE, budget=dp.PrivacyLoss.pure(10**9)) as session:
        assert session.ask(dp.CountQuestion(), dp.PrivacyLoss.pure(10**8)).value == 3
        by = dp.CountQuestion(by=dp.Categories("*", ("a", "b")))
        assert [round(count.value) for count in session.ask(by, dp.PrivacyLoss.pure(10**8)).values()] == [1, 2]
        with pytest.raises(ValueError, match=r"column: '\*' means all records.*write '\"\*\"'"):
            session.ask(dp.CdfQuestion("*", dp.Grid(0, 1, cells=2)), dp.PrivacyLoss.pure(1))
