"""`dpcurves bars`: listed and selected categories, their order, small counts, files, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

TERMS = ("--epsilon", "100", "--adjacency", "add-remove")


@pytest.fixture
def table(tmp_path: Path) -> str:
    rows = ["01,north"] * 400 + ["1,south"] * 300 + ["2,west"] * 30 + [",east"] * 5
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["code,ward", *rows, ""]))
    return str(path)


def test_bars_are_sorted_small_ones_hidden_and_files_agree(run: Run, table: str, tmp_path: Path) -> None:
    files = {name: tmp_path / f"bars.{name}" for name in ("csv", "json", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    asked = ("bars", table, "--column", "code", "--categories", "1,2,01", "--sort", "count", "--suppress-below", "50")
    result = run(*asked, *TERMS, *options)
    assert result.exit_code == 0, result.output
    rows = [line.split(",")[:2] for line in files["csv"].read_text().splitlines()]
    assert [name for name, _ in rows] == ["code", "01", "1", "2", "other"]
    assert [count for _, count in rows[3:]] == ["..", ".."]
    assert abs(float(rows[1][1]) - 400) < 3
    stored = json.loads(files["json"].read_text())  # keeps all counts, as listed
    assert (stored["kind"], stored["category"]) == ("bar-chart", ["1", "2", "01", "other"])
    assert all(round(count) == truth for count, truth in zip(stored["count"], [300, 30, 400, 0], strict=True))
    assert ">.." in files["html"].read_text()
    assert "30 (95%" not in files["html"].read_text()
    noisy = run("bars", table, "--column", "ward", "--categories", "north,south", "--epsilon", "1", "--adjacency",
                "replace-one").stdout  # fmt: skip
    counts = [line.split("│")[2].strip() for line in noisy.splitlines() if line.startswith("│")]
    assert [count.isdigit() for count in counts] == [True] * 3  # whole, though a public total makes them fractions
    assert len([line for line in noisy.splitlines() if "%" in line and line.startswith("│")]) == 3  # shares


def test_categories_are_selected_and_the_rest_may_be_missing(run: Run, table: str) -> None:
    found = run("bars", table, "--column", "ward", *TERMS, "--delta", "1e-6")
    assert "north" in found.stdout
    assert "other" in found.stdout
    left_out = run("bars", table, "--column", "ward", "--categories", "north", "--other", "missing", *TERMS)
    assert "missing: 0 " in found.stdout
    assert "missing or not listed: 335" in left_out.stdout
    filtered = run("bars", table, "--column", "ward", "--categories", "west", "--where", "code = '2'", *TERMS)
    assert "bar chart of ward, where code = '2'" in filtered.stdout


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("bars", "--column", "ward"), "categories: declare them with --categories A,B,C"),
        (("bars", "--column", "ward", "--categories", "a,a"), "categories: a category is declared twice"),
        (("bars", "--column", "ward", "--categories", "a", "--universe", "a-z:3"), "universe: categories are listed"),
        (
            ("bars", "--column", "ward", "--categories", "a", "--sort", "size"),
            "sort: must be listed or count or name",
        ),
        (("bars", "--column", "ward", "--categories", "a", "--suppress-below", "few"), "suppress-below: "),
        (("cdf", "--column", "code", "--grid", "2022-01:2025-01:36"), "grid: write dates as days since the day of"),
        (("bars", "--column", "ward", "--categories", "a", "--other", "no"), "other: must be counted or missing"),
        (("histogram", "--column", "ward", "--categories", "a,b"), "dpcurves bars --column NAME --categories A,B,C"),
    ],
)
def test_a_mistake_is_named_before_the_charge(run: Run, table: str, asked: tuple[str, ...], words: str) -> None:
    command, *options = asked
    result = run(command, table, *options, *TERMS)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
