"""Columns and labels of any name count their own records on every engine, and keep their names in every file."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dpcurves as dp
from dpcurves import display
from dpcurves.curves.result import result_from_json

Load = Callable[[Mapping[str, pa.Array]], Any]
NAMES = ("count", "Count", "", " ", "\U0001f600", "a'b\"c", "a\nb", "x" * 300, "=1+1", "\u202eabc", "lower", "../x")
COLUMNS = ("a'b\"c", "=1+1")  # PostgreSQL has no empty names, and none of more than 63 bytes
LOSS = dp.PrivacyLoss.pure(1000)


def count_by(data: Any, column: str) -> Any:
    by = dp.Categories(column, NAMES)
    with (
        warnings.catch_warnings(action="ignore"),
        dp.Session(data, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1)) as session,
    ):
        return session.ask(dp.CountQuestion("v", by=by), LOSS)


def table_of(columns: tuple[str, ...]) -> dict[str, pa.Array]:
    """A column of labels for each name, which has the n-th label in n + 1 rows, and a column of numbers."""
    labels = [name for number, name in enumerate(NAMES) for _ in range(number + 1)]
    return {**{column: pa.array(labels, pa.string()) for column in columns}, "v": pa.array([1.0] * len(labels))}


def require_names(found: Any) -> None:
    """Check the counts of all labels, and that the JSON and the CSV of the result have the labels."""
    expected = {name: number + 1 for number, name in enumerate(NAMES)}
    results: tuple[Any, ...] = found, result_from_json(found.to_json())
    for result in results:
        assert {name: round(each.count) for name, each in result.items()} == expected
    rows = csv.reader(StringIO(found.to_csv_text(), newline=""), strict=True)
    assert set(NAMES) <= {display.unescape_formula(row[0]) for row in rows}


def test_labels_keep_their_records_whatever_they_and_their_column_are_called(load: Load) -> None:
    for column in COLUMNS:
        require_names(count_by(load(table_of((column,))), column))


def test_labels_of_parquet_files_keep_their_records(tmp_path: Path) -> None:
    pq.write_table(pa.table(table_of(NAMES)), tmp_path / "t.parquet")
    for column in NAMES:
        require_names(count_by(str(tmp_path / "t.parquet"), column))
