"""The command-line page names the options that there are; its commands run in `tests/test_docs.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")


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
    helps = re.sub(r"(?<=[a-z]-)\W*\n\W*(?=[a-z])", "", helps)  # names that are broken at the end of a line
    assert set(OPTION.findall(PAGE.read_text(encoding="utf-8"))) == set(OPTION.findall(helps))
