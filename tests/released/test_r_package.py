"""What the R package is tested on is what is released today: its tests run where there is R."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpcurves as dp

KEPT = Path(__file__).resolve().parents[2] / "r" / "inst" / "extdata"


@pytest.mark.parametrize("name", sorted(path.stem for path in KEPT.glob("*.json")))
def test_results_that_r_reads_are_read_here_and_have_the_columns_of_their_csv(name: str) -> None:
    found = dp.read(KEPT / f"{name}.json")
    table = KEPT / f"{name}.csv"
    if table.exists():
        assert found.csv_text(level=0.95, population=True) == table.read_bytes().decode()
    assert found.privacy.seeded
