"""The kept table of marks: each task has lines or a reason, and what misses its mark has one, too."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
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


@pytest.mark.reproduction
def test_what_misses_its_mark_has_a_reason(kept: str) -> None:
    assert "are at their mark" in kept
    assert "No reason is known" not in kept


def test_every_reason_is_one_of_a_kept_line_and_has_a_figure() -> None:
    accuracy = BENCHMARK.parent / "accuracy"
    kept = json.loads((accuracy / "few_marks.json").read_text(encoding="utf-8"))
    lines = [line for each in kept.values() for line in each]
    for reason in tomllib.loads((accuracy / "few_reasons.toml").read_text(encoding="utf-8"))["reason"]:
        own = [line for line in lines if line["regime"].startswith(reason["regime"])]
        assert any(line["asked"].startswith(tuple(reason.get("asked", [""]))) for line in own), reason["regime"]
        assert any(sign.isdigit() for sign in reason["why"]), reason["regime"]


@pytest.mark.reproduction
def test_each_line_has_releases_and_a_standard_error(kept: str) -> None:
    rows = [
        [cell.strip() for cell in line.strip("│ ").split("│")]
        for line in kept.splitlines()
        if "│" in line and "±" in line
    ]
    assert len(rows) > 100
    assert all(int(row[6]) > 1 for row in rows)


@pytest.mark.reproduction
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
