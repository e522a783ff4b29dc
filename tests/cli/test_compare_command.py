"""Comparison of a released curve with a public table, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def released(run: Run, csv: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A curve and its question."""
    curve, question = tmp_path / "delay.json", tmp_path / "question.json"
    run("cdf", csv, "--column", "delay", "--grid", "-100:300:64", "--epsilon", "5", "--adjacency", "replace-one",
        "--json", curve)  # fmt: skip
    question.write_text(json.dumps({"ask": "cdf", "column": "delay", "grid": "-100:300:64"}))
    return curve, question


def test_a_curve_is_compared_and_drawn(run: Run, csv: Path, tmp_path: Path, released: tuple[Path, Path]) -> None:
    curve, question = released
    file, other = tmp_path / "both.svg", tmp_path / "public.csv"
    other.write_text("delay\n" + "\n".join(["250"] * 500))
    alike = run("compare", curve, csv, "--question", question)
    assert "no significant difference" in " ".join(alike.stdout.split()), alike.output
    differing = run("compare", curve, other, "--question", question, "--plot", file)
    assert "the tables differ" in " ".join(differing.stdout.split()), differing.output
    assert file.stat().st_size > 1000


def test_what_is_no_curve_or_no_question_is_refused(run: Run, csv: Path, released: tuple[Path, Path]) -> None:
    curve, question = released
    for given, named in (((question, csv, "--question", question), "curve"), ((curve, csv, "--question", curve), "q"),
                         ((csv, csv, "--question", question), "curve")):  # fmt: skip
        result = run("compare", *given)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith(f"dpcurves: {named}")
