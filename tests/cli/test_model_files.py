"""Models in files, in the place of a column of scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.models import Link, NumericColumn, Power, Scorecard, Term

Run = Callable[..., Result]
SPENT = ("--epsilon", "1", "--adjacency", "replace-one")
PLANE = ("--unit-predicted", "0.5", "--unit-residual", "10", "--coverage", "0.95", "--model", "public")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A card of the column `score`."""
    terms, file = (Term(3.0, (Power("score"),)),), tmp_path / "risk.json"
    file.write_text(Scorecard("risk", -1.0, (NumericColumn("score", 0, 1),), terms, Link.LOGIT).to_json())
    return file


def test_a_model_in_a_file_stands_for_a_column_of_scores(run: Run, csv: Path, model: Path) -> None:
    asked = run("roc", csv, "--label", "late", "--neg-label", "0", "--score", f"@{model}", *SPENT, "--json", "-")
    assert asked.exit_code == 0, asked.output
    assert json.loads(asked.stdout)["kind"] == "roc"
    planned = run("plan", "scores", "--score", f"@{model}", *SPENT, "--units", "1000")
    assert planned.stdout.startswith("scores risk for")


def test_residuals_of_a_model_in_a_file_are_those_of_the_column_it_predicts(run: Run, csv: Path, model: Path) -> None:
    asked = run("residuals", csv, "--predicted", f"@{model}", "--residual", "delay", *PLANE, *SPENT)
    assert asked.exit_code == 0, asked.output
    assert "delay minus risk" in run("residuals", csv, "--predicted", f"@{model}", "--residual", "delay", *PLANE,
                                    *SPENT, "--json", "-").stdout  # fmt: skip


@pytest.mark.parametrize("text", ["{}", "no JSON", '{"dpcurves": "scorecard"}'])
def test_what_is_no_model_is_refused_in_one_line(run: Run, csv: Path, model: Path, text: str) -> None:
    model.write_text(text)
    for file in (model, model.with_name("none.json")):
        result = run("roc", csv, "--label", "late", "--neg-label", "0", "--score", f"@{file}", *SPENT)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith("dpcurves: score: ")


def test_a_column_that_a_model_lacks_is_named(run: Run, csv: Path, model: Path) -> None:
    model.write_text(model.read_text().replace('"score"', '"weight"'))
    result = run("roc", csv, "--label", "late", "--neg-label", "0", "--score", f"@{model}", *SPENT)
    assert "'weight' is not in the data" in result.stderr
