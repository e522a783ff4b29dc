"""Thresholds and one quantile, looked up along a grid that is paid for once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from dpcurves.curves import Quantile, Thresholds
from dpcurves.display import check_document

Run = Callable[..., Result]

FINE = ("--column", "delay", "--grid", "-100:300:2^32")
ONE = ("--epsilon", "1", "--adjacency", "replace-one")
SURE = ("--epsilon", "1e6", "--adjacency", "replace-one")


def document(run: Run, *arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json", "-")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    check_document(found)
    return found


def test_counts_below_values_come_from_a_grid_that_is_never_laid_out(run: Run, parquet: Path) -> None:
    found = document(run, "thresholds", parquet, *FINE, "--at", "100,0,200.00000001", *SURE)
    assert found["kind"] == "thresholds"
    assert found["x"] == pytest.approx([0, 100, 200], abs=1e-7)
    assert found["count"] == pytest.approx([500, 1000, 1500], abs=2)  # of 2,000; one delay was moved beyond the grid
    assert Thresholds.from_json(json.dumps(found)).x.tolist() == found["x"]


def test_one_quantile_is_bisected_with_its_interval(run: Run, csv: Path) -> None:
    found = document(run, "quantile", csv, *FINE, "--at", "0.5", *SURE, "--level", "0.9")
    assert (found["kind"], found["p"], found["level"]) == ("quantile", 0.5, 0.9)
    assert found["lower"] <= found["x"] <= found["upper"]
    assert found["x"] == pytest.approx(100, abs=1)
    assert Quantile.from_json(json.dumps(found)).x == found["x"]


def test_looks_under_one_request_are_paid_once_and_agree(run: Run, parquet: Path, ledger: str) -> None:
    paid = ("--epsilon", "1", "--ledger", ledger, "--request-id", "looks")
    first = document(run, "thresholds", parquet, *FINE, "--at", "0,100", *paid)
    more = document(run, "thresholds", parquet, *FINE, "--at", "100,50", *paid)
    assert more["count"][1] == first["count"][1]
    assert document(run, "thresholds", parquet, *FINE, "--at", "0,100", *paid)["count"] == first["count"]
    median = run("quantile", parquet, *FINE, "--at", "0.5", *paid)
    assert "request: looks (any look along this grid under this --request-id is free)" in median.stdout
    assert "left: epsilon 1 of 2 in 'flights'" in median.stdout


def test_another_grid_under_that_request_is_refused(run: Run, parquet: Path, ledger: str) -> None:
    paid = ("--epsilon", "1", "--ledger", ledger, "--request-id", "looks")
    assert run("thresholds", parquet, *FINE, "--at", "0", *paid).exit_code == 0
    coarse = ("--column", "delay", "--grid", "-100:300:64")
    for asked in (("thresholds", parquet, *coarse, "--at", "0"), ("cdf", parquet, *coarse)):
        refused = run(*asked, *paid)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith("dpcurves: request-id: 'looks' was used for another question")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ("thresholds", "--at", "0,100"),
            ("x", "count", "error", "noise path through 32 levels", "standard error of the noise"),
        ),
        (("quantile", "--at", "0.25"), ("p", "lower", "upper", "0.25", "95% interval for these records")),
    ],
)
def test_looks_are_shown_with_their_face_and_drawn(
    run: Run, parquet: Path, tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    kind, *options = command
    file = tmp_path / "look.png"
    result = run(kind, parquet, *FINE, *options, *ONE, "--plot", file)
    assert result.exit_code == 0, result.output
    assert all(word in result.stdout for word in (*words, "epsilon 1", "replace-one", f"written: {file}"))
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("kind", "options", "line"),
    [
        ("thresholds", (*FINE, "--at", "0,301"), "at: values from -100 to 300 are needed, the bounds of the grid"),
        ("thresholds", (*FINE, "--at", "nan"), "at: numbers with commas between them are needed"),
        ("thresholds", (*FINE, "--at", "0,1e-9"), "at: two of the values have the same nearest edge"),
        ("thresholds", FINE, "at: --at is missing"),
        ("thresholds", ("--column", "delay", "--at", "0"), "grid: give --grid lower:upper:cells"),
        ("thresholds", ("--column", "delay", "--grid", "0:1:2^60", "--at", "0"), "grid: 1152921504606846976 cells"),
        ("thresholds", ("--column", "delay", "--grid", "0:1:3^9", "--at", "0"), "grid: write lower:upper:cells"),
        ("quantile", (*FINE, "--at", "1.5"), "at: one share between 0 and 1 is needed, got '1.5'"),
        ("quantile", (*FINE, "--at", "0.1,0.9"), "at: one share between 0 and 1 is needed, got '0.1,0.9'"),
        ("quantile", FINE, "at: --at is missing"),
    ],
)
def test_wrong_usage_is_named(run: Run, parquet: Path, kind: str, options: tuple[str, ...], line: str) -> None:
    result = run(kind, parquet, *options, *ONE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {line}")
    assert result.stderr.count("\n") == 1


def test_the_plan_of_a_search_is_one_line_for_it_is_paid_once(run: Run) -> None:
    result = run("plan", "quantile", "--grid", "0:100:2^32", "--at", "0.5", *ONE, "--units", "100000")
    assert "1 to 32" in result.stdout
    assert result.stdout.count("one curator: ") == 1
