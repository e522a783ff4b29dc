"""Rows of the exam are kept and not made again, and what needs more outcomes than memory holds is found."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves_audit.samplers import BatchSampler

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark() -> dict[str, Any]:
    before = [*sys.path]
    try:
        return runpy.run_path(str(ROOT / "benchmarks" / "audit.py"))
    finally:
        sys.path[:] = before


def case(benchmark: dict[str, Any], claimed: float) -> Any:
    """A number that is 0 or 1, with Cauchy's noise of scale 1: its exact loss is arcosh(1.5)."""
    rng = np.random.default_rng(3)
    family = dp.audit.families.pairs([(0.0, 1.0)], adjacency=dp.REPLACE_ONE)
    return benchmark["Case"](
        "Cauchy", BatchSampler(lambda data, k: data + rng.standard_cauchy(k)), family, {"epsilon": claimed}, None
    )


def test_a_release_is_found_by_counts_of_bars_alone(benchmark: dict[str, Any]) -> None:
    exact = float(np.arccosh(1.5))
    few = {"chosen_on": 40_000, "confirmed_on": 40_000}
    report = benchmark["streamed"](case(benchmark, 0.6), **few).report
    assert report.is_flagged
    assert 0.6 < report.lower_bound < exact
    assert not benchmark["streamed"](case(benchmark, exact), **few).report.is_flagged


def test_a_row_that_is_kept_is_not_made_again(benchmark: dict[str, Any], tmp_path: Path) -> None:
    def made(each: Any) -> Any:
        return benchmark["streamed"](each, chosen_on=1000, confirmed_on=1000)

    def never(each: Any) -> Any:
        raise AssertionError(each.name)

    file, one = tmp_path / "rows.jsonl", case(benchmark, 1.0)
    first = benchmark["Kept"](file).found(one, made)
    with file.open("a", encoding="utf-8") as kept:
        kept.write('{"row": "cut of')  # killed while it was written
    again = benchmark["Kept"](file).found(one, never)
    assert (again.report, again.seconds) == (first.report, first.seconds)
    other = benchmark["Kept"](tmp_path / "other.jsonl")
    with pytest.raises(AssertionError, match="Cauchy"):
        other.found(one, never)
