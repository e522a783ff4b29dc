"""Kept results from the command line: shown, drawn, converted and published, without data and without a ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
PRICE = ("--epsilon", "1", "--adjacency", "replace-one")


@pytest.fixture
def asked(run: Run, csv: Path, tmp_path: Path) -> Path:
    """A folder with two distributions and a histogram; the first has all files of its answer beside it."""
    for name, command in (("Jan 1", "cdf"), ("later", "cdf"), ("bars", "histogram")):
        files = [
            part for kind in ("json", "csv", "xlsx", "html") for part in (f"--{kind}", tmp_path / f"{name}.{kind}")
        ]
        said = run(command, csv, "--column", "delay", "--grid", "-100:300:16", *PRICE, *files)
        assert said.exit_code == 0, said.output
        assert " ".join(said.stdout.split()).count("written:") == 4
    return tmp_path


@pytest.mark.reproduction
def test_a_kept_result_becomes_the_files_of_its_question(run: Run, asked: Path) -> None:
    files = [part for kind in ("json", "csv", "xlsx") for part in (f"--{kind}", asked / f"again.{kind}")]
    said = run("show", asked / "Jan 1.json", *files, "--html", asked / "again.html", "--plot", asked / "again.png")
    assert said.exit_code == 0, said.output
    for kind in ("json", "csv", "xlsx"):
        assert (asked / f"again.{kind}").read_bytes() == (asked / f"Jan 1.{kind}").read_bytes()
    assert "epsilon 1, replace-one" in run("show", asked / "later.json").stdout
    run("show", asked / "bars.json", "--plot", asked / "bars.svg")
    assert "<title>Histogram of delay</title>" in (asked / "bars.svg").read_text()


@pytest.mark.reproduction
def test_several_of_one_kind_stand_on_one_picture_and_in_one_table(run: Run, asked: Path) -> None:
    files = ("--plot", asked / "both.svg", "--csv", asked / "both.csv", "--xlsx", asked / "both.xlsx")
    said = run("show", asked / "Jan 1.json", asked / "later.json", *files, "--html", asked / "both.html")
    assert said.exit_code == 0, said.output
    rows = (asked / "both.csv").read_text().splitlines()
    assert [sum(row.startswith(f"{name},") for row in rows) for name in ("jan-1", "later", "result")] == [17, 17, 1]
    assert (asked / "both.html").read_text().count("<figure") == 2
    run("show", asked / "later.json", "--html", asked / "one.html")
    for page in ("one.html", "both.html"):  # the title of the result, not the words of its question or its file
        assert re.search("<title>[A-Z][a-z]+ of delay</title>", (asked / page).read_text())
    for names in (("later",), ("later", "Jan 1")):
        run("show", *(asked / f"{name}.json" for name in names), "--plot", asked / "dark.svg", "--style", "dark")
        assert "#14171a" in (asked / "dark.svg").read_text()
    said = run("show", asked / "later.json", asked / "bars.json", "--plot", asked / "none.svg")
    assert (said.exit_code, said.stdout) == (2, "")
    assert not (asked / "none.svg").exists()


def test_a_folder_is_published(run: Run, asked: Path) -> None:
    said = run("publish", asked / "Jan 1.json", asked / "bars.json", "--out", asked / "out", "--title", "Delays")
    assert said.exit_code == 0, said.output
    assert {"jan-1.png", "bars.pdf", "index.html", "SHA256SUMS"} <= {file.name for file in (asked / "out").iterdir()}
    said = run("publish", asked / "later.json", "--out", asked / "out")
    assert said.exit_code == 2
    assert "the folder holds files of other origin" in said.stderr


def test_what_is_no_result_and_what_would_be_lost_are_refused(run: Run, asked: Path, csv: Path) -> None:
    kept = (asked / "later.json").read_text()
    for given, named in (
        ((csv,), "results"), ((asked / "none.json",), "results"),
        ((asked / "later.json", "--csv", asked / "later.json"), "csv"),
        ((asked / "later.json", "--xlsx", asked / "a.xls"), "xlsx"),
        ((asked / "later.json", "--csv", asked / "a", "--html", asked / "a"), "html"),
        ((asked / "later.json", asked / "bars.json", "--json", asked / "a"), "json"),
    ):  # fmt: skip
        said = run("show", *given)
        assert (said.exit_code, said.stdout, said.stderr.count("\n")) == (2, "", 1), said.output
        assert said.stderr.startswith(f"dpcurves: {named}")
    assert (asked / "later.json").read_text() == kept


def test_files_that_cannot_be_written_are_refused_before_the_charge(run: Run, csv: Path, tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'b.db'}"
    run("ledger", "create", ledger, "--dataset", "a", "--epsilon", "1", "--adjacency", "replace-one")
    for option, name in (
        ("--csv", tmp_path / "none" / "a"),
        ("--xlsx", "a.csv"),
        ("--html", "a.txt"),
        ("--csv", csv),
        ("--style", "x"),
    ):
        said = run(
            "cdf", csv, "--column", "delay", "--grid", "0:9:3", "--epsilon", "1", "--ledger", ledger, option, name
        )
        assert said.exit_code == 2
        assert said.stderr.startswith(f"dpcurves: {option[2:]}")
    said = run("cdf", csv, "--column", "delay", "--grid", "0:9:3", "--epsilon", "1", "--ledger", ledger, "--json", "-")
    assert said.exit_code == 0, said.output  # no budget was spent before
    assert json.loads(said.stdout)["kind"] == "cdf"


def test_numbers_are_those_of_the_reading_that_is_shown(run: Run, csv: Path, tmp_path: Path) -> None:
    said = run("scores", csv, "--label", "late", "--neg-label", "0", "--score", "score", "--show", "precision-recall",
               *PRICE, "--csv", tmp_path / "a.csv")  # fmt: skip
    assert said.exit_code == 0, said.output
    assert (tmp_path / "a.csv").read_text().startswith("threshold,precision,recall,precision_lower")
