"""Example tables: equal bytes each time, three formats, and the columns that the examples of the help texts name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import duckdb
import pytest
from click.testing import Result

from dpcurves.cli.app import Commands
from dpcurves.cli.example_tables import TABLES

Run = Callable[..., Result]
FILE = re.compile(r"(\w+)[.](?:csv|parquet|duckdb)")
NOT_A_TABLE = ("mine", "published", "totals")
"""Files of the help texts that another command writes, or that a person brings."""
COLUMN_OPTIONS = (
    "--column", "--by", "--label", "--score", "--time", "--event", "--entry", "--last", "--first", "--second", "--rows",
    "--columns", "--predicted", "--residual", "--observed", "--outcome", "--treatment", "--explained-by", "--x", "--y",
    "--scores", "--errors", "--features", "--unit",
)  # fmt: skip


def test_tables_are_written_in_three_formats_and_are_the_same_each_time(run: Run, tmp_path: Path) -> None:
    names = [f"{name}.{ending}" for name in ("orders", "patients") for ending in ("csv", "parquet", "duckdb")]
    for copy in ("first", "second"):
        (tmp_path / copy).mkdir()
        written = run("example", *(tmp_path / copy / name for name in names))
        assert written.exit_code == 0
    files = [[(tmp_path / copy / name).read_bytes() for name in names] for copy in ("first", "second")]
    assert files[0][0] == files[1][0]
    for stem in ("orders", "patients"):
        folder = tmp_path / "first"
        tables = [
            duckdb.connect(str(folder / f"{stem}.duckdb"), read_only=True).table(stem),
            duckdb.read_csv(str(folder / f"{stem}.csv")), duckdb.read_parquet(str(folder / f"{stem}.parquet")),
        ]  # fmt: skip
        columns = TABLES[stem].columns()
        for table in tables:
            assert table.columns == list(columns)
            assert table.fetchall() == list(zip(*(array.tolist() for array in columns.values()), strict=True))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["ages.csv", "me.csv"], "files: 'me.csv' exists and is not replaced; remove it or name another folder"),
        (["nothing.csv"], "files: 'nothing.csv' is not an example table; name flights, "),
        (["ages.txt"], "files: 'ages.txt' must end in .csv, .parquet or .duckdb, as in flights.csv"),
        (["no/ages.csv"], "files: the folder of 'no/ages.csv' does not exist; make it first"),
        (["ages.csv", "./ages.csv"], "files: a file is named twice; name each once"),
        (["ages.csv", "nothing.csv"], "files: 'nothing.csv' is not an example table"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_is(
    names: list[str], message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("me.csv").write_text("mine")
    refused = run("example", *names)
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["me.csv"]
    assert Path("me.csv").read_text() == "mine"


def test_the_list_names_every_table_with_its_columns(run: Run) -> None:
    listed = run("example").stdout
    for name, table in TABLES.items():
        assert f"{name}: {table.contents}; " in listed
        assert ", ".join(table.columns()) in " ".join(listed.split())


def help_examples(group: click.Group) -> Iterator[str]:
    """Yield the example line of each command of one table."""
    for command in group.commands.values():
        found = re.search(r"Example: (dpcurves .*?)(?:\n\n|$)", command.help or "", re.DOTALL)
        if found and not isinstance(command, click.Group):
            yield " ".join(found[1].split())


def test_the_examples_of_help_texts_ask_columns_of_example_tables(app: Commands) -> None:
    checked = 0
    for line in help_examples(app):
        words = shlex.split(line)
        stems = [found[1] for word in words[2:4] if (found := FILE.fullmatch(word)) and found[1] not in NOT_A_TABLE]
        for stem in stems:
            columns = TABLES[stem].columns()
            values = [words[index + 1] for index, word in enumerate(words) if word in COLUMN_OPTIONS]
            named = {name.partition("=")[0] for value in values for name in value.split(",") if not name.isdigit()}
            assert named - {"UA", "AA"} <= set(columns), line
            checked += 1
    assert checked > 30
