"""A tiny slice of the table of levels: each test and kind of data has a line, and a false test gets its mark."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "levels_of_tests.py"
TESTS = (
    "Kolmogorov-Smirnov", "rank sum", "log-rank", "independence", "Hosmer-Lemeshow", "binned residuals",
    "public table: histogram", "public table: area under ROC",
)  # fmt: skip
RELEASES = 3


def rows_of(page: Path, *options: str) -> dict[tuple[str, str], list[str]]:
    """What the command writes, by test and kind of data."""
    command = [sys.executable, str(BENCHMARK), "--releases", str(RELEASES), "--page", str(page), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.strip("| ").split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if "±" in line]
    for test, data, *_ in lines:
        assert any(test in line and data in line for line in done.stdout.splitlines()), test
    return {(test, data): rest for test, data, *rest in lines}


@pytest.mark.reproduction
def test_every_test_has_a_line_with_shares_of_its_releases(tmp_path: Path) -> None:
    found = rows_of(tmp_path / "levels.md", "--data", "tied")
    assert set(found) == {(test, "tied") for test in TESTS}
    for releases, *shares in found.values():
        assert releases == str(RELEASES)
        told = [float(each.split(" ± ")[0]) for each in shares]
        assert told == sorted(told)
        assert all(share * RELEASES == pytest.approx(round(share * RELEASES), abs=0.01) for share in told)


def test_a_share_far_above_its_level_is_marked_and_one_below_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARK.parent))
    row = import_module("levels_of_tests").Row
    usual, false = (row("any", "tied", 2000, shares).shown() for shares in ((0.015, 0.062, 0.1, 0.2), (0.016,) * 4))
    assert not any(each.endswith("*") for each in usual)
    assert [each.endswith("*") for each in false] == [True, False, False, False]
    assert usual[1] == "0.062 ± 0.005"


@pytest.mark.reproduction
def test_only_what_is_asked_is_measured(tmp_path: Path) -> None:
    found = rows_of(tmp_path / "levels.md", "--only", "independence", "--data", "continuous", "heaped")
    assert list(found) == [("independence", "continuous"), ("independence", "heaped")]
