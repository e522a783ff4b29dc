"""Verification by subsets from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.display import check_document

Run = Callable[..., Result]
ASKED = ("--outcome", "late=0,1", "--explained-by", "score=0:1", "--explained-by", "carrier=UA,AA,DL,B6")
SPENT = ("--epsilon", "1", "--adjacency", "replace-one")


def test_a_claim_is_verified_written_and_drawn(run: Run, csv: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    result = run("verify", csv, *ASKED, "--coefficient", "score", "--above", "0", "--subsets", "20", *SPENT, "--plot",
                 file)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "probability" in result.stdout
    assert file.stat().st_size > 1000
    written = run("verify", csv, *ASKED, "--coefficient", "carrier=DL", "--below", "9", *SPENT, "--json", "-")
    found = json.loads(written.stdout)
    check_document(found)
    assert (found["kind"], found["claim"]) == ("verification", "coefficient of carrier=DL for late < 9")
    planned = run("plan", "verify", *ASKED, "--coefficient", "score", "--above", "0", *SPENT, "--units", "1000")
    assert "in 50 subsets: epsilon 1" in " ".join(planned.stdout.split())


@pytest.mark.parametrize(
    ("changed", "named"),
    [(("--above", "x"), "above"), (("--subsets", "1"), "subsets"), (("--coefficient", "delay"), "coefficient"),
     (("--outcome", "late"), "outcome"), (("--explained-by", "delay"), "explained-by")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(run: Run, csv: Path, changed: tuple[str, ...], named: str) -> None:
    given = {"--outcome": "late=0,1", "--explained-by": "score=0:1", "--coefficient": "score", "--above": "0"}
    given |= {changed[0]: changed[1]}
    result = run("verify", csv, *(word for pair in given.items() for word in pair), *SPENT)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"dpcurves: {named}: ")
