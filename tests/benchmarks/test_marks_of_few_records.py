"""The kept table of marks: each task has lines or a reason, and what misses its mark has one, too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "marks_of_few_records.py"


def printed(*options: str) -> str:
    command = [sys.executable, str(BENCHMARK), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def kept() -> str:
    return printed("--kept")


def test_what_misses_its_mark_or_was_not_measured_has_a_reason(kept: str) -> None:
    assert "No reason is known" not in kept
    assert "lines" in kept.splitlines()[-1] or "Not measured" in kept


def test_each_line_has_releases_and_a_standard_error(kept: str) -> None:
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in kept.splitlines() if " ± " in line]
    assert len(rows) > 100
    assert all(int(row[6]) > 1 for row in rows)


def test_what_is_kept_is_measured_and_other_tasks_stay(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    line = {"regime": "KS of none", "asked": "KS", "mark": 1, "mean": 1, "error": 0, "worst": 1, "where": "here"}
    file.write_text(json.dumps({"usual": [line], "nothing known": [line]}), encoding="utf-8")
    said = printed("--quick", "--keep", "--only", "nothing", "--file", str(file))
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["usual"][0]["regime"] == line["regime"]
    assert [each["releases"] for each in written["nothing known"]] == [4, 4]
    assert "nothing known, an empty category" in said
    assert "KS of none" not in said
