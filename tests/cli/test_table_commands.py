"""Tables of two columns, and survival curves, as the terminal shows them and as files hold them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from dpcurves.curves import ByCategory, Contingency
from dpcurves_survival import Survival

Run = Callable[..., Result]

ONE = ("--epsilon", "1", "--adjacency", "replace-one")
SURE = ("--epsilon", "1e6", "--adjacency", "replace-one")
CROSSED = ("--rows", "carrier", "--row-categories", "UA,AA", "--columns", "late", "--column-categories", "0,1")
OBSERVED = (
    "--time",
    "delay",
    "--event",
    "late",
    "--censored-value",
    "0",
    "--grid=-100:300:8",
    "--measured-in",
    "minutes",
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which no heading is broken."""
    monkeypatch.setenv("COLUMNS", "130")


def test_a_table_of_two_columns_is_counted_tested_shown_and_drawn(run: Run, parquet: Path, tmp_path: Path) -> None:
    file, picture = tmp_path / "table.json", tmp_path / "table.svg"
    assert run("contingency", parquet, *CROSSED, *SURE, "--json", file, "--plot", picture).exit_code == 0
    result = run("contingency", parquet, *CROSSED, *SURE)
    assert "p-value of independence" in result.stdout
    rows = [line.split("│") for line in result.stdout.splitlines() if line.startswith("│")]
    assert len(rows) >= 4
    assert all(row[3].strip().replace(",", "").isdigit() and row[-2].strip().endswith("%") for row in rows)
    found = Contingency.from_json(file.read_text())
    number = np.arange(2000)
    late = number % 7 < 7 * (number % 100 + 0.5) / 100
    exact = [[int(((number % 4 == carrier) & (late == label)).sum()) for label in (0, 1)] for carrier in (0, 1)]
    assert found.count == pytest.approx(np.array(exact), abs=0.5)
    assert picture.read_text().count("<svg") == 1


def test_a_survival_curve_is_shown_with_its_median_and_numbers_at_risk(run: Run, csv: Path, tmp_path: Path) -> None:
    file, picture = tmp_path / "curve.json", tmp_path / "curve.svg"
    assert run("survival", csv, *OBSERVED, *SURE, "--json", file, "--plot", picture).exit_code == 0
    result = run("survival", csv, *OBSERVED, *SURE)
    assert "median " in result.stdout
    assert all(words in result.stdout for words in ("at risk", "95% band for", "share"))
    found = Survival.from_json(file.read_text())
    assert found.label == "delay (minutes)"
    assert found.at_risk[0] == pytest.approx(1999, abs=1)  # one delay is no number
    assert (np.diff(found.y) <= 0).all()
    assert picture.exists()


def test_groups_that_are_observed_are_tested(run: Run, parquet: Path) -> None:
    two = run("survival", parquet, *OBSERVED, "--by", "carrier", "--categories", "UA,AA", *ONE)
    assert all(f"carrier {name}\n" in two.stdout for name in ("UA", "AA"))  # above the curve of each group
    assert "log-rank, carrier UA and carrier AA: chi-squared " in two.stdout
    assert "for the population, noise included" in " ".join(two.stdout.split())
    three = run("survival", parquet, *OBSERVED, "--by", "carrier=UA,AA,DL", *ONE)
    assert "log-rank, carrier UA, carrier AA and carrier DL: chi-squared " in three.stdout
    alone = run("survival", parquet, *OBSERVED, "--by", "carrier=UA,AA", *ONE, "--no-population")
    assert "log-rank" not in alone.stdout


def test_groups_of_two_columns_are_written_and_read(run: Run, parquet: Path) -> None:
    asked = ("survival", parquet, *OBSERVED, "--by", "carrier=UA,AA", "--by", "tail=N0,N1")
    result = run(*asked, *ONE, "--json", "-")
    assert list(json.loads(result.stdout)["curves"]) == ["UA, N0", "UA, N1", "AA, N0", "AA, N1"]
    assert list(ByCategory.from_json(result.stdout, Survival))[1] == ("UA", "N1")
    assert "log-rank, carrier UA and carrier AA, strata of tail: chi-squared " in run(*asked, *ONE).stdout


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (("contingency", *CROSSED[:-1], "0"), "columns: at least 2 categories"),
        (
            ("contingency", *CROSSED[:4], "--columns", "carrier", "--column-categories", "UA,DL"),
            "columns: a column other than that of rows",
        ),
        (("survival", *OBSERVED[:4]), "grid: give --grid"),
        (("survival", *OBSERVED[:4], *OBSERVED[6:], "--event-value", "yes"), "censored-value: "),
    ],
)
def test_what_is_no_question_is_refused_before_a_file_is_opened(run: Run, asked: tuple[str, ...], line: str) -> None:
    command, *options = asked
    result = run(command, "nowhere.csv", *options, *ONE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {line}"), result.stderr
