"""A fixed version of a Delta or Iceberg table, written and read by Sail; and queries, which are no tables."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcurves as dp
from dpcurves.data import Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

pytest.importorskip("pysail")
pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark warns of pandas 3
AGE = Axis("age", Grid(0, 100, cells=4))
BUDGET = dp.PrivacyLoss.pure(2)
LOSS = dp.PrivacyLoss.pure(1)
Versions = tuple[str, list[int], Callable[[], None]]


@pytest.fixture(params=["delta", "iceberg"])
def written(request: pytest.FixtureRequest, sail: Any, tmp_path: Path) -> Versions:
    """A table with two versions, of 100 and of 150 rows, their numbers, and how 7 rows more come into it."""
    kind, folder, name = request.param, tmp_path / "visits", f"visits_{secrets.token_hex(4)}"

    def add(rows: int) -> None:
        frame = sail.createDataFrame(pa.table({"age": np.arange(float(rows))}))
        frame.write.format(kind).mode("append").save(str(folder))

    add(100)
    add(50)
    sail.sql(f"CREATE TABLE {name} USING {kind} LOCATION '{folder}'").collect()
    if kind == "delta":
        return name, [0, 1], lambda: add(7)
    newest = max(folder.glob("metadata/v*.metadata.json"))
    snapshots = json.loads(newest.read_text(encoding="utf-8"))["snapshots"]
    return name, [each["snapshot-id"] for each in snapshots], lambda: add(7)


def test_a_version_is_counted_whatever_is_written_later(sail: Any, written: Versions) -> None:
    name, (first, second), add = written
    with open_records(dp.spark(name, spark=sail, version=first), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts((AGE,)).tolist() == [25, 25, 25, 25, 0]
        moment = records.moment
        add()
        assert records.counts((AGE,)).tolist() == [25, 25, 25, 25, 0]
    with open_records(dp.spark(name, spark=sail, version=second), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts((AGE,)).tolist() == [50, 50, 25, 25, 0]
        assert None not in (moment, records.moment)
        assert records.moment != moment
    with open_records(dp.spark(name, spark=sail), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts((AGE,)).sum() == 157


def test_the_name_of_the_dataset_carries_the_version_and_another_one_is_refused(
    sail: Any, written: Versions, tmp_path: Path
) -> None:
    name, (first, second), _ = written
    ledger, question = f"sqlite:///{tmp_path}/budget.db", dp.CdfQuestion("age", AGE.grid)

    def session(version: int, dataset: str) -> dp.Session:
        table = dp.spark(name, spark=sail, version=version)
        return dp.Session(table, budget=BUDGET, adjacency=dp.ADD_REMOVE, ledger=ledger, dataset=dataset)

    with session(first, f"visits@{first}") as asked:
        curve = asked.ask(question, LOSS, "once")
    for dataset in ("visits", f"visits@{first}"):
        with pytest.raises(ValueError, match="dataset: end the name with the version of the table that is read, as in"):
            session(second, dataset)
    with session(first, f"visits@{first}") as asked:
        assert asked.ask(question, LOSS, "once").to_json() == curve.to_json()
        assert asked.remaining.epsilon == 1


def test_versions_that_are_not_there_are_one_line_each(sail: Any, written: Versions) -> None:
    name, _, _ = written
    for version, error, line in (
        (7, ValueError, "version: Spark has no such version of the table"),
        (-1, TypeError, "version: a whole number is needed"),
        ("1; DROP TABLE x", TypeError, "version: a whole number is needed"),
    ):
        with pytest.raises(error, match=line) as caught:
            dp.spark(name, spark=sail, version=version)  # type: ignore[arg-type]
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    with pytest.raises(TypeError, match="version: a version is read only of a table that is named"):
        dp.spark(sail.table(name), version=0)


@pytest.mark.parametrize("text", ["SELECT age FROM visits", "(SELECT 1 AS age)", "visits WHERE age > 1", "a; b"])
def test_a_query_is_no_table(sail: Any, text: str) -> None:
    for version in (None, 0):
        with pytest.raises(ValueError, match="table: Spark was not reached, or has no such table.*make a view"):
            dp.spark(text, spark=sail, version=version)
