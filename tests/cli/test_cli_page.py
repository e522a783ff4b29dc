"""The command-line page is true: its examples run in order and print the errors shown below them."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from dpcurves.curves import MeanQuestion
from dpcurves.forecasts import expected_errors

Run = Callable[..., Result]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")


def examples() -> list[tuple[str, str]]:
    """Commands, and the error that is printed below them, if any."""
    found = []
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for entry in block.split("$ ")[1:]:
            command, _, printed = entry.partition("\n")
            found.append((command, printed.strip()))
    return found


def test_the_examples_run_in_their_order(run: Run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = expected_errors.KINDS
    fewer: dict[type[Any], Any] = {MeanQuestion: kinds[MeanQuestion]._replace(rehearsals=8)}  # of 200
    monkeypatch.setattr(expected_errors, "KINDS", {**kinds, **fewer})
    shutil.copy(csv, "flights.csv")
    for command, printed in examples():
        program, *arguments = shlex.split(command)
        assert program == "dpcurves"
        result = run(*arguments)
        assert (result.exit_code != 0) == bool(printed), (command, result.output)
        assert printed in result.stderr


def test_the_page_names_the_options_that_there_are(run: Run) -> None:
    commands = (
        "cdf",
        "quantiles",
        "scores",
        "roc",
        "calibration",
        "binned-residuals",
        "residuals",
        "bounds",
        "study",
        "summary",
        "sum",
        "bars",
        "contingency",
        "survival",
        "incidence",
        "delayed-entry",
        "interval-censored",
        "survival-model",
        "table",
        "plan cdf",
        "stream",
        "publish",
        "show",
        "ledger create",
        "ledger verify",
        "ledger allowance set",
    )
    helps = "".join(run(*command.split(), "--help").stdout for command in commands)
    assert set(OPTION.findall(PAGE.read_text(encoding="utf-8"))) == set(OPTION.findall(helps))
