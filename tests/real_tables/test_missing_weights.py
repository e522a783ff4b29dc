"""Records without a usable weight are noted with their released share, in every weighted result, and only there."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.noise.randomness import Randomness

RECORDS = 3_000
WORDS = "of the records are left out, because their weight is missing, negative or infinite"
GRID = dp.Grid(0, 10, cells=10)
ARMS = dp.Categories("arm", (0, 1))
QUESTIONS: dict[str, Any] = {
    "distribution": dp.WeightedCdfQuestion("x", GRID, "w", 4),
    "quantiles": dp.WeightedQuantilesQuestion("x", GRID, (0.5,), "w", 4),
    "bars by arm": dp.WeightedHistogramQuestion("x", GRID, "w", 4, by=ARMS),
    "mean": dp.WeightedSummaryQuestion("x", 0, 10, "w", 4),
    "sum by arm": dp.WeightedSummaryQuestion("x", 0, 10, "w", 4, statistic="sum", by=ARMS),
    "count": dp.WeightedSummaryQuestion("x", 0, 10, "w", 4, statistic="count"),
    "survival": dp.WeightedSurvivalQuestion("x", "e", GRID, "w", 4),
}


def table_of(share: float, bad: float) -> dict[str, Any]:
    draw = np.random.default_rng(3)
    weights = draw.choice([0.0, 0.5, 1.0, 9.0], RECORDS)  # 0 and weights above the cap are no mistakes
    weights[draw.random(RECORDS) < share] = bad
    return {
        "x": draw.uniform(0, 10, RECORDS), "w": weights, "arm": draw.integers(0, 2, RECORDS),
        "e": draw.integers(0, 2, RECORDS),
    }  # fmt: skip


def notes_of(question: Any, table: Any, adjacency: Any) -> list[str]:
    with (
        warnings.catch_warnings(action="ignore"),
        dp.Session(
            table, budget=dp.PrivacyLoss.pure(2), adjacency=adjacency, randomness=Randomness.from_seed(1)
        ) as session,
    ):
        return [note for note in session.ask(question, dp.PrivacyLoss.pure(2)).notes if WORDS in note]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_share_of_bad_weights_is_noted_and_ordinary_weights_are_not(name: str) -> None:
    """A fifth is at least 8 deviations of the noise; a false alarm has a chance below 1e-4, with a seed."""
    for adjacency, bad in ((dp.ADD_REMOVE, np.inf), (dp.REPLACE_ONE, -1.0)):
        (note,) = set(notes_of(QUESTIONS[name], table_of(0.2, bad), adjacency))
        assert abs(float(note.partition("%")[0].rpartition(" ")[2]) - 20) <= 5
        assert notes_of(QUESTIONS[name], table_of(0.0, bad), adjacency) == []


def test_records_that_fail_a_filter_are_no_bad_weights() -> None:
    """With a public number of records they count as missing; with a private one they are left out before counting."""
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        question = dp.WeightedSummaryQuestion("x", 0, 10, "w", 4, where="arm = 1")
        assert notes_of(question, table_of(0.0, 0.0), adjacency) == []


def test_the_command_prints_the_share(tmp_path: Path) -> None:
    table = table_of(0.2, np.nan)
    rows = [f"{x},{'' if np.isnan(w) else w}" for x, w in zip(table["x"], table["w"], strict=True)]
    (tmp_path / "t.csv").write_text("x,w\n" + "\n".join(rows) + "\n", encoding="utf-8")
    words = ["mean", str(tmp_path / "t.csv"), "--column", "x", "--bounds", "0:10", "--weight", "w", "--weight-cap", "4"]
    done = CliRunner().invoke(build(), [*words, "--epsilon", "20", "--adjacency", "add-remove"])
    assert done.exit_code == 0, done.output
    assert WORDS in " ".join(done.output.split())
