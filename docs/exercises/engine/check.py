"""Let Polars count a file, and compare its cells and answers with those of DuckDB."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpcurves as dp
from dpcurves_engines import checked_polars, polars

checked = checked_polars()
assert [finding.description for finding in checked.findings if not finding.is_equal] == []
assert len(checked.findings) > 40

generator = np.random.default_rng(1)
visits = pl.DataFrame(
    {
        "age": generator.integers(0, 90, 3000),
        "pay": generator.normal(100, 20, 3000),
        "ward": np.array(["a", "b", "c"])[generator.integers(0, 3, 3000)],
        "who": generator.integers(0, 900, 3000),
    }
)
GRID = dp.Grid(0, 90, cells=90)
QUESTIONS: tuple[Any, ...] = (
    dp.CdfQuestion("age", GRID),
    dp.MeanQuestion("pay", 0, 200),
    dp.HistogramQuestion("age", dp.Grid(0, 90, cells=9), by=dp.Categories("ward", ("a", "b", "c"))),
)


def ask(table: Any, question: Any, **unit: Any) -> Any:
    """Return the answer of a session on the table."""
    loss, randomness = dp.PrivacyLoss.pure(1), dp.Randomness.from_seed(1)
    with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE, randomness=randomness, **unit) as session:
        return session.ask(question, loss)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "visits.parquet")
    visits.write_parquet(file)
    for question in QUESTIONS:
        # With at most 30 rows of a unit all rows are used, so both engines count the same ones.
        for unit in ({}, {"unit": "who", "rows_per_unit": 30}):
            counted, expected = (ask(table, question, **unit) for table in (polars(file), file))
            assert "Polars" in counted.privacy.trust
            assert counted.to_frame().equals(expected.to_frame())
    # With fewer, exactly this many of each unit are used.
    curve = ask(polars(visits), dp.CountQuestion("age"), unit="who", rows_per_unit=2)
    used = int(visits.group_by("who").len()["len"].clip(upper_bound=2).sum())
    assert abs(curve.count - used) < 100
    median = ask(polars(file), QUESTIONS[0]).quantile(0.5)

print(
    f"{checked.name}: {len(checked.findings)} conformance checks passed; median age {float(median):.0f}, true", end=" "
)
print(f"{visits['age'].median():.0f}")
