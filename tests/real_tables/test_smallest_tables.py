"""The smallest inputs of commands: one category, one record, a header without records, an empty file."""

from __future__ import annotations

from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from dpcurves.cli.app import build
from dpcurves.cli.output import ViewTable

HEADER = "g,h,x,y,p,q,w,arm"
TERMS = ("--epsilon", "1", "--adjacency", "add-remove")
BY = ("--by", "g", "--categories", "a")
GRID = ("--grid", "0:10:5")
CLASSES = ("--label", "y", "--pos-label", "1", "--neg-label", "0", "--score", "p")
GROUPED: dict[str, tuple[str, ...]] = {
    "count": ("count", "--column", "x"),
    "mean": ("mean", "--column", "x", "--bounds", "0:10"),
    "quantiles": ("quantiles", "--column", "x", *GRID, "--probabilities", "0.5"),
    "histogram": ("histogram", "--column", "x", *GRID),
}
ALONE: dict[str, tuple[str, ...]] = {
    "count": ("count", "--column", "x"),
    "mean": ("mean", "--column", "x", "--bounds", "0:10"),
    "roc": ("roc", *CLASSES),
    "survival": ("survival", "--time", "x", "--event", "y", "--event-value", "1", "--censored-value", "0", *GRID),
}


build_commands = cache(build)


def run(*words: object) -> Result:
    """Run a command as a terminal would."""
    return CliRunner().invoke(build_commands(), [str(word) for word in words])


def write_table(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("name", GROUPED)
def test_every_command_prints_a_single_category(name: str, tmp_path: Path) -> None:
    """Before, `count`, `mean` and `quantiles` failed after the charge: a table of one row was refused."""
    command, *words = GROUPED[name]
    rows = [f"a,b,{number % 10},{number % 2},0.{number % 10},0.5,1,1" for number in range(100)]
    done = run(command, write_table(tmp_path, *rows), *words, *BY, *TERMS)
    assert done.exit_code == 0, done.output
    assert "a" in done.stdout.replace("\u2502", " ").split()


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_table_of_the_terminal_has_any_number_of_rows(most: int) -> None:
    written = StringIO()
    Console(file=written).print(ViewTable("", {"group": ["a"] * most, "value": [1.0] * most}, most).format_rows())
    assert written.getvalue().count(" a ") == most


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("records", [0, 1])
def test_commands_answer_a_table_of_no_record_or_one(name: str, records: int, tmp_path: Path) -> None:
    command, *words = ALONE[name]
    path = write_table(tmp_path, *["a,b,3,1,0.4,0.5,1,1"] * records)
    done = run(command, path, *words, *TERMS)
    assert done.exit_code == 0, done.output
    assert "nan" not in done.stdout.lower().split()


@pytest.mark.parametrize("content", ["", "\n", "\ufeff"])
def test_a_file_without_a_header_is_refused_before_a_charge(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    for words in (("count", path, "--column", "x"), ("sql", path, "SELECT dp_count(*) FROM t")):
        refused = run(*words, *TERMS)
        assert refused.exit_code == 4, refused.output
        assert "header" in refused.output or "no columns" in refused.output
        assert "no --ledger was given" not in refused.output  # which follows a charge
