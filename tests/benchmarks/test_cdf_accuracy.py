"""A tiny slice of the table of accuracies, without real histograms and without other environments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "cdf_accuracy.py"


class Slice(NamedTuple):
    said: str
    found: dict[str, Any]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Slice:
    out = tmp_path_factory.mktemp("accuracy")
    numbers = out / "numbers.json"
    command = [sys.executable, str(BENCHMARK), "--tiny", "--data", str(out / "nowhere"), "--json", str(numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Slice(done.stdout, json.loads(numbers.read_text(encoding="utf-8")))


@pytest.mark.reproduction
def test_without_histograms_it_says_what_is_skipped(ran: Slice) -> None:
    assert "Skipped: ADULT, BIDS, HEPTH" in ran.said


@pytest.mark.reproduction
def test_every_target_has_a_line(ran: Slice) -> None:
    for said in ("normal, epsilon 1: KS", "peaked, epsilon 1: W1", "pois15, epsilon 1: RMSE", "hint spread: KS"):
        assert said in ran.said
    assert "worst regret, RMSE" in ran.said


@pytest.mark.reproduction
def test_every_method_has_errors_in_each_cell(ran: Slice) -> None:
    cells = [row for row in ran.found["errors"] if row["loss"] == "1"]
    assert {row["task"] for row in cells} == {"normal", "pois6"}
    assert {"dpcurves", "flat", "tree", "coarse, kappa 1", "PrivTree, kappa 1"} <= {row["method"] for row in cells}
    assert all(0 < error < 10 for row in ran.found["errors"] for error in row["mean"])


@pytest.mark.reproduction
def test_releases_are_timed(ran: Slice) -> None:
    assert [row["cells"] for row in ran.found["seconds"]] == [64, 128]
    assert all(row["ours"] > 0 < row["tree"] for row in ran.found["seconds"])
