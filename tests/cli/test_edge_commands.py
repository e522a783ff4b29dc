"""Distribution functions at a few values and quantiles, looked up along a fine grid that is paid for once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from dpcurves.curves import CDF, Quantiles
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
    found = document(run, "cdf", parquet, *FINE, "--cut-points", "100,0,200.00000001", *SURE)
    assert found["kind"] == "cdf"
    assert found["x"] == pytest.approx([-100, 0, 100, 200, 300], abs=1e-7)
    assert found["y"] == pytest.approx([0, 0.25, 0.5, 0.75, 1], abs=1e-3)  # one delay was moved beyond the grid
    assert CDF.from_json(json.dumps(found)).x.tolist() == found["x"]


def test_quantiles_on_a_fine_grid_are_searched_for_at_the_level_that_is_asked(run: Run, csv: Path) -> None:
    found = document(run, "quantiles", csv, *FINE, "--probabilities", "0.5,0.75", *SURE, "--level", "0.9")
    assert (found["kind"], found["p"]) == ("quantiles", [0.5, 0.75])
    assert found["x"] == pytest.approx([100, 200], abs=1)
    again = Quantiles.from_json(json.dumps(found))
    assert ((again.intervals(0.9)[:, 0] <= again.x) & (again.x <= again.intervals(0.9)[:, 1])).all()


def test_places_asked_under_one_request_are_paid_once_and_agree(run: Run, parquet: Path, ledger: str) -> None:
    paid = ("--epsilon", "1", "--ledger", ledger, "--request-id", "places")
    first = document(run, "cdf", parquet, *FINE, "--cut-points", "0,100", *paid)
    more = document(run, "cdf", parquet, *FINE, "--cut-points", "100,50", *paid)
    releases = [each["evidence"]["releases"][0] for each in (first, more)]
    counts = [dict(zip(each["at"], each["values"], strict=False)) for each in releases]
    assert len(counts[0].keys() & counts[1].keys()) == 2
    assert all(counts[1].get(at, count) == count for at, count in counts[0].items())
    assert document(run, "cdf", parquet, *FINE, "--cut-points", "0,100", *paid)["y"] == first["y"]
    median = run("quantiles", parquet, *FINE, "--probabilities", "0.5", *paid)
    assert "request: places (any values along this grid under this --request-id is free)" in median.stdout
    assert "left: epsilon 1 of 2 in 'flights'" in median.stdout


def test_another_grid_under_that_request_is_refused(run: Run, parquet: Path, ledger: str) -> None:
    paid = ("--epsilon", "1", "--ledger", ledger, "--request-id", "places")
    assert run("cdf", parquet, *FINE, "--cut-points", "0", *paid).exit_code == 0
    coarse = ("--column", "delay", "--grid", "-100:300:64")
    for asked in (("cdf", parquet, *coarse, "--cut-points", "0"), ("cdf", parquet, *coarse)):
        refused = run(*asked, *paid)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith("dpcurves: request-id: 'places' was used for another question")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("cdf", "--cut-points", "0,100"), ("noise path through 32 levels", "95% band for", "share of")),
        (
            ("quantiles", "--probabilities", "0.25"),
            ("probability", "records", "cell,", "0.25", "95%"),
        ),
    ],
)
def test_answers_at_places_are_shown_and_drawn(
    run: Run, parquet: Path, tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    kind, *options = command
    file = tmp_path / "places.png"
    result = run(kind, parquet, *FINE, *options, *ONE, "--plot", file)
    assert result.exit_code == 0, result.output
    assert all(word in result.stdout for word in (*words, "epsilon 1", "replace-one", f"written: {file}"))
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ((*FINE, "--cut-points", "0,301"), "cut-points: values from -100 to 300 are needed, the bounds of the grid"),
        ((*FINE, "--cut-points", "nan"), "cut-points: numbers with commas between them are needed"),
        ((*FINE, "--cut-points", "0,1e-9"), "cut-points: two of the values have the same nearest edge"),
        ((*FINE, "--cut-points", "0", "--hint", "atoms"), "hint: cannot be combined with a choice of edges"),
        (FINE, "grid: at most 4194304 cells are counted one by one"),
        (("--column", "delay", "--cut-points", "0"), "grid: give --grid lower:upper:cells"),
        (("--column", "delay", "--grid", "0:1:2^60", "--cut-points", "0"), "grid: 1152921504606846976 cells"),
        (("--column", "delay", "--grid", "0:1:3^9", "--cut-points", "0"), "grid: write lower:upper:cells"),
    ],
)
def test_wrong_usage_is_named(run: Run, parquet: Path, options: tuple[str, ...], line: str) -> None:
    result = run("cdf", parquet, *options, *ONE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {line}")
    assert result.stderr.count("\n") == 1


@pytest.mark.reproduction
def test_the_plan_of_a_search_is_one_line_for_it_is_paid_once(run: Run) -> None:
    result = run("plan", "quantiles", "--grid", "0:100:2^32", "--probabilities", "0.5", *ONE, "--units", "100000")
    assert "1 to 32" in result.stdout
    assert result.stdout.count("curator: ") == 1
