"""Private bounds from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.curves import Bounds, PlaneBounds
from dpcurves.display import check_document

Run = Callable[..., Result]
ASKED = ("--column", "delay", "--smallest", "1", "--coverage", "0.95", "--epsilon", "1e6", "--adjacency", "replace-one")
SECOND = ("--and-column", "score", "--and-smallest", "1/8")


def test_one_column_has_an_interval(run: Run, parquet: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    written = run("bounds", parquet, *ASKED, "--json", "-", "--plot", file)
    assert written.exit_code == 0, written.output
    check_document(json.loads(written.stdout))
    assert Bounds.from_json(written.stdout).bound == 512
    assert file.stat().st_size > 1000
    shown = run("bounds", parquet, *ASKED)
    assert "bounds of delay" in shown.stdout
    assert "-512" in shown.stdout


def test_a_bound_that_is_the_widest_tried_says_so(run: Run, parquet: Path) -> None:
    shown = run("bounds", parquet, "--column", "delay", "--smallest", "1e-20", "--coverage", "0.9", *ASKED[-4:])
    assert "delay: covers perhaps less than 90% of these records; no interval seemed wide enough" in shown.stdout


def test_two_columns_have_half_of_the_loss_each(run: Run, parquet: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.png"
    written = run("bounds", parquet, *ASKED, *SECOND, "--json", "-", "--plot", file)
    assert written.exit_code == 0, written.output
    found = json.loads(written.stdout)
    check_document(found)
    assert found["kind"] == "curves"
    assert found["privacy"]["epsilon"] == 1e6
    assert [found["curves"][column]["privacy"]["epsilon"] for column in ("delay", "score")] == [5e5, 5e5]
    both = PlaneBounds.from_json(written.stdout)
    assert (both.x.bound, both.y.bound) == (512, 1)
    assert file.stat().st_size > 1000
    assert "bounds of delay and score" in run("bounds", parquet, *ASKED, *SECOND).stdout


def without(changed: tuple[str, ...], asked: tuple[str, ...]) -> list[str]:
    """Return the arguments of the question, without the options that a test changes: no option may be repeated."""
    pairs = zip(asked[::2], asked[1::2], strict=True)
    return [word for option, value in pairs if option not in changed for word in (option, value)]


@pytest.mark.parametrize(
    ("changed", "named"),
    [(("--smallest", "0"), "smallest"), (("--coverage", "2"), "coverage"), (SECOND[:2], "and-column"),
     (SECOND[2:], "and-column"), (("--and-column", "delay", *SECOND[2:]), "and-column"),
     ((*SECOND[:2], "--and-smallest", "x"), "and-smallest")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(run: Run, csv: Path, changed: tuple[str, ...], named: str) -> None:
    result = run("bounds", csv, *without(changed, ASKED), *changed)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {named}: ")
    assert result.stderr.count("\n") == 1
