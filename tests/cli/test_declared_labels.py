"""Options of columns whose labels must be declared take NAME=A,B,C, as --by does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

TERMS = ("--epsilon", "1000000", "--adjacency", "replace-one")
ROWS = [("01", "k", "a", 3), ("1", "l", "b", 5), ("1", "k", "c", 7)]
CASES = [
    ("contingency", {"--rows": ("code", "01,1"), "--columns": ("o=p", "k,l")}, ()),
    ("incidence", {"--event": ("kind", "a,b")}, ("--time", "t", "--grid", "0:10:5",
        "--censored-value", "c")),
    ("ordinal-classes", {"--label": ("kind", "a,b,c")}, ("--score", "t", "--grid", "0:10:5")),
]  # fmt: skip
LABEL_OPTIONS = {
    "--rows": "--row-categories", "--columns": "--column-categories", "--event": "--causes", "--label": "--classes",
}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    lines = [",".join(map(str, row)) for row in ROWS * 100]
    path.write_text("\n".join(["code,o=p,kind,t", *lines, ""]))
    return str(path)


@pytest.mark.parametrize(("command", "columns", "more"), CASES, ids=[case[0] for case in CASES])
def test_labels_beside_the_name_are_those_of_the_option(
    run: Run, table: str, command: str, columns: dict[str, tuple[str, str]], more: tuple[str, ...]
) -> None:
    beside, joined, apart = [], [], []
    for option, (name, labels) in columns.items():
        apart += [option, name, LABEL_OPTIONS[option], labels]
        # a name that has an equals sign must have its labels in an option of their own
        beside += [option, name, LABEL_OPTIONS[option], labels] if "=" in name else [option, f"{name}={labels}"]
        joined += [f"{option}={beside[-1]}"] if "=" not in name else beside[-4:]
    files = []
    for number, words in enumerate((apart, beside, joined)):
        files.append(Path(table).with_name(f"{number}.csv"))
        result = run(command, table, *words, *more, *TERMS, "--csv", str(files[-1]))
        assert result.exit_code == 0, result.output
    first, *others = ([line.split(",")[:2] for line in file.read_text().splitlines()] for file in files)
    assert others == [first] * 2
    assert len(first) > 2


def test_the_line_to_type_does_not_repeat_labels(run: Run, table: str) -> None:
    result = run("contingency", table, "--rows", "code=01,1", *TERMS)
    assert result.exit_code == 2
    assert "--rows code --row-categories 01,1" in result.output
    assert "--row-categories A,B,C" not in result.output
    assert result.output.endswith("--columns NAME --column-categories A,B,C\n")


@pytest.mark.parametrize("rows", ["code=", "=01,1", "code"])
def test_half_a_declaration_is_left_as_it_is_and_refused(run: Run, table: str, rows: str) -> None:
    result = run("contingency", table, "--rows", rows, "--columns", "kind=a,b", *TERMS)
    assert result.exit_code == 2
    assert "--row-categories is missing" in result.output


SAMPLES = {
    "count": ("--by", "--categories", ("--column", "t")),
    "histogram": ("--by", "--categories", ("--column", "t", "--grid", "0:10:5")),
    "bars": ("--column", "--categories", ()),
    "contingency": ("--rows", "--row-categories", ("--columns", "kind=a,b")),
    "incidence": ("--event", "--causes", ("--time", "t", "--grid", "0:10:5", "--censored-value", "c")),
    "ordinal-classes": ("--label", "--classes", ("--score", "t", "--grid", "0:10:5")),
}
"""The option of a column with labels, the option of the labels, and further options, by command."""


@pytest.mark.parametrize("command", SAMPLES)
@pytest.mark.parametrize("joined", [False, True], ids=["apart", "joined"])
def test_labels_that_are_listed_twice_are_refused_in_the_same_words(
    run: Run, table: str, command: str, joined: bool
) -> None:
    option, labels, more = SAMPLES[command]
    column = [f"{option}=kind=a,b"] if joined else [option, "kind=a,b"]
    result = run(command, table, *column, labels, "a,b", *more, *TERMS)
    assert result.exit_code == 2
    assert f"{labels.removeprefix('--')}: {option} kind=a,b lists them, too; leave one of both lists out" in (
        " ".join(result.output.split())
    )


def test_bars_take_labels_beside_the_name_as_other_commands_do(run: Run, table: str, tmp_path: Path) -> None:
    rows = []
    for number, words in enumerate((["--column", "code=01,1"], ["--column", "code", "--categories", "01,1"])):
        file = tmp_path / f"bars{number}.csv"
        assert run("bars", table, *words, *TERMS, "--csv", str(file)).exit_code == 0
        rows.append([line.split(",")[:2] for line in file.read_text().splitlines()])
    assert rows[0] == rows[1]
    assert [row[0] for row in rows[0]][1:3] == ["01", "1"]
    undeclared = run("bars", table, "--column", "code", *TERMS)
    assert undeclared.exit_code == 2
    assert "beside the name, as in NAME=A,B,C" in " ".join(undeclared.output.split())


def test_a_list_where_a_question_takes_no_labels_is_explained(run: Run, table: str) -> None:
    for words in (["cdf", "--column", "t=1,2"], ["bars", "--column", "kind=a,b", "--delta", "1e-6"]):
        result = run(words[0], table, *words[1:], *TERMS)
        assert result.exit_code != 0
        assert "an expression has one value; declare categories once" in " ".join(result.output.split())
