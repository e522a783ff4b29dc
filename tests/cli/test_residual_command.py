"""Residual plots from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.display import check_document

Run = Callable[..., Result]
ASKED = (
    "--predicted", "score", "--residual", "delay", "--unit-predicted", "0.5", "--unit-residual", "10", "--coverage",
    "0.95", "--epsilon", "1", "--adjacency", "replace-one",
)  # fmt: skip


def test_a_residual_plot_is_written_shown_and_drawn(run: Run, csv: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    written = run("residuals", csv, *ASKED, "--model", "disjoint", "--cells", "8", "--json", "-")
    assert written.exit_code == 0, written.output
    found = json.loads(written.stdout)
    check_document(found)
    assert found["kind"] == "residual-plot"
    assert len(found["x_edges"]) == len(found["y_edges"]) == 9
    assert found["privacy"]["model"].startswith("trained on other records")
    shown = run("residuals", csv, *ASKED, "--model", "public", "--plot", file)
    assert "of the records are outside the bounds" in shown.stdout
    assert "the bounds cover at least 95% of these records minus " in shown.stdout
    assert "residual ┃" in shown.stdout
    assert file.stat().st_size > 1000


def without(changed: tuple[str, ...], asked: tuple[str, ...]) -> list[str]:
    """Return the arguments of the question, without the options that a test changes: no option may be repeated."""
    pairs = zip(asked[::2], asked[1::2], strict=True)
    return [word for option, value in pairs if option not in changed for word in (option, value)]


@pytest.mark.parametrize(
    ("changed", "named"),
    [(("--model", "mine"), "model"), (("--unit-residual", "0"), "unit-residual"), (("--coverage", "2"), "coverage"),
     (("--cells", "0"), "cells")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(run: Run, csv: Path, changed: tuple[str, ...], named: str) -> None:
    result = run("residuals", csv, *without(changed, (*ASKED, "--model", "public")), *changed)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {named}: ")
    assert result.stderr.count("\n") == 1


def test_where_the_model_comes_from_has_to_be_said(run: Run, csv: Path) -> None:
    missing = run("residuals", csv, *ASKED)
    assert missing.exit_code == 2
    assert "--model" in missing.stderr
