"""Inputs of other kinds than those of the public reports, for the same classes of failures: labels, files, formulas.

Each asks for exact counts of made-up records, or for one line that names what is wrong and shows nothing of a record.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dpcurves as dp
from dpcurves import display
from dpcurves.cli.app import build
from dpcurves.cli.terminal import make_console

Run = Callable[..., Result]
LOSS = dp.PrivacyLoss.pure(100)
SURE = ("--epsilon", "100", "--adjacency", "add-remove")


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: object) -> Result:
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(build(words), words)

    return invoke


def write(folder: Path, text: str) -> Path:
    file = folder / "t.csv"
    file.write_text(text, encoding="utf-8")
    return file


# Labels that other programs take for the same one, and columns named as facts of a release.

LABELS = {
    "numbers": ("1e3", "1000", "+1", "1", "1.0", "0x1", "1_0", "10"),
    "words": ("TRUE", "true", "NaN", "nan", "Infinity", "inf", "NULL", "None"),
    "letters": ("\u00e9", "e\u0301", "\u00c9", "E\u0301", "\u00df", "SS", "\u0131", "i"),
    "dates": ("2020-01-01", "01.01.2020", "2020-1-1", "1/1/2020", "2020-01-01T00:00", "20200101", "2020", "2020.0"),
    "digits": ("\u0661", "\uff11", "\u00b9", "\u2460", "1 ", "01", "1.", "I"),
    "invisible": ("a", "a\u200b", "a\u00ad", "\u2060a", "a\ufe0f", "a\u034f", "a ", "a\u00a0"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_look_alike_have_their_own_records(kind: str, tmp_path: Path) -> None:
    labels = LABELS[kind]
    rows = [[label] for number, label in enumerate(labels) for _ in range(number + 1)]
    text = StringIO()
    csv.writer(text).writerows([["c"], *rows])
    with dp.Session(str(write(tmp_path, text.getvalue())), budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        found: Any = session.ask(dp.BarChartQuestion(dp.Categories("c", labels)), LOSS)
    read = [*csv.reader(StringIO(found.to_csv_text()))][1:]
    counts = {display.unescape_formula(row[0]): round(float(row[1])) for row in read}
    assert [counts[label] for label in labels] == [*range(1, 9)]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [("epsilon", "level"), ("lower_population", "count_category"), ("nan", "None"), ("NOTE", "note"), ("a", "a_2")],
)
def test_columns_may_be_named_as_facts_of_a_release(rows: str, columns: str) -> None:
    table = {rows: ["u", "v"] * 200, columns: ["p", "p", "q", "q"] * 100}
    question = dp.ContingencyQuestion(dp.Categories(rows, ("u", "v")), dp.Categories(columns, ("p", "q")))
    with dp.Session(table, budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        found: Any = session.ask(question, LOSS)
    head, *cells = csv.reader(StringIO(found.to_csv_text()))
    assert len({name.casefold() for name in head}) == len(head)
    assert [name.startswith(own) for name, own in zip(head, (rows, columns), strict=False)] == [True, True]
    assert [cell[:2] for cell in cells] == [["u", "p"], ["u", "q"], ["v", "p"], ["v", "q"]]
    assert [round(float(cell[head.index("count")])) for cell in cells] == [100] * 4


INVISIBLE = "\u00ad\u061c\u180e\u200e\u202a\u202e\u2060\u2064\u2066\u206f"


@pytest.mark.parametrize("sign", INVISIBLE)
def test_a_formula_behind_an_invisible_sign_is_escaped(sign: str) -> None:
    """Spreadsheets and converters drop such signs; before, some stood raw in CSV."""
    text = f"{sign}=1+1"
    assert display.escape_formula(text) == f"'{text}"
    assert display.unescape_formula(f"'{text}") == text


def test_the_terminal_shows_escapes_of_invisible_signs_whole() -> None:
    """Before, a cell was as wide as the signs before they were escaped, and the rest was cut."""
    labels = ["\u00ad=1", "\u2060=1", "plain"]
    screen = make_console()
    screen.file, screen.width = StringIO(), 120
    screen.print(display.curve_table({"g": labels, "count": [1, 2, 3]}))
    shown = screen.file.getvalue()
    assert all(text in shown for text in ("\\xad=1", "\\u2060=1", "plain"))


# First lines that are no header, and lines that are no record.


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ('[{"wage": 123456, "name": "Ada"},', "JSON"),
        ('{"wage": 123456, "name": "Ada"}', "JSON"),
        ("[", "JSON"),
        ("<!DOCTYPE html><table><tr><td>123456</td></tr>", "HTML or XML"),
        ('<?xml version="1.0"?><wage>123456</wage>', "HTML or XML"),
        ("sep=;", "--delimiter"),
        ("# export of 123456 records", "comment"),
    ],
)
def test_a_first_line_that_is_no_header_is_named_and_not_shown(
    run: Run, first: str, words: str, tmp_path: Path
) -> None:
    """Before, the record in it was shown as names of columns, or another delimiter was advised that did not help."""
    file = write(tmp_path, f"{first}\nage,g\n1,u\n")
    result = run("cdf", file, "--column", "age", "--grid", "0:9:3", *SURE)
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert "123456" not in result.stderr
    assert "Ada" not in result.stderr


@pytest.mark.parametrize("name", ["[unit]", "<b>", "#", "#1", "sep", "{x}"])
def test_columns_whose_names_begin_as_other_formats_do_are_read(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, f"{name},g\n" + "1,u\n" * 40)
    with dp.Session(str(file), budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        found: Any = session.ask(dp.CountQuestion(name), LOSS)
    assert round(found.count) == 40


def test_empty_lines_between_records_are_named_as_a_reason(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, "age,g\n" + "1,u\n\n" * 300)
    result = run("cdf", file, "--column", "age", "--grid", "0:9:3", *SURE)
    assert result.exit_code == 0, result.output
    assert "about 50% of the records are missing" in result.stderr
    assert "an empty line" in result.stderr


@pytest.mark.parametrize(
    "number",
    [
        '"1,234"',
        "$12",
        "\u221212",
        "(12)",
        "\u0661\u0662",
        "\uff11\uff12",
        "0x1F",
        "12-",
        "1 234",
        "12 %",
        "\u00bd",
        "--",
    ],
)
def test_numbers_that_are_no_numbers_here_are_missing_with_that_reason(number: str, tmp_path: Path) -> None:
    file = write(tmp_path, "x,g\n" + f"{number},u\n" * 300)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with dp.Session(str(file), budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
            found: Any = session.ask(dp.CountQuestion("x"), LOSS)
    assert round(found.count) == 0
    assert "text instead of a number" in " ".join([*found.privacy.notes, *(str(each.message) for each in told)])


@pytest.mark.parametrize("ending", [",", ",,"])
def test_a_delimiter_at_the_end_of_all_lines_and_of_the_header_hides_no_record(ending: str, tmp_path: Path) -> None:
    file = write(tmp_path, f"x,g{ending}\n" + f"1,u{ending}\n" * 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with dp.Session(str(file), budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
            assert round(session.ask(dp.CountQuestion("x"), LOSS).count) == 300


def test_a_count_of_a_text_column_says_what_counts_labels(run: Run, tmp_path: Path) -> None:
    """A CSV file declares no types, so its text is known from released counts alone."""
    result = run("count", write(tmp_path, "region,x\n" + "north,1\n" * 300), "--column", "region", *SURE)
    assert result.exit_code == 0, result.output
    assert "dpcurves bars" in result.stderr


@pytest.mark.parametrize("values", [np.zeros(300), -np.zeros(300), np.full(300, 5e-324), np.full(300, 1.0)])
def test_means_of_equal_values_are_within_their_intervals(values: Any) -> None:
    found: Any = dp.summary(values, bounds=(0, 1), epsilon=100, adjacency=dp.ADD_REMOVE)
    rows = display.frame_columns(found.to_frame(level=0.95))
    value, lower, upper = (np.asarray(rows[name], dtype=np.float64) for name in ("value", "lower", "upper"))
    assert np.all((lower <= value) & (value <= upper))
