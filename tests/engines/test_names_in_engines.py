"""Columns and labels of any name count their own records on every engine, and keep their names in every output."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "real_tables"))

from hostile_outputs import LABELS, require_pictures, require_tables
from test_hostile_names import NAMES

import dpcurves as dp

Load = Callable[[Mapping[str, pa.Array]], Any]
QUICK_COLUMNS = ('dou"ble',)
LOSS = dp.PrivacyLoss.pure(1000)
LONGEST = 63  # bytes of a name in PostgreSQL, where none is empty


def count_by(data: Any, column: str) -> Any:
    by = dp.Categories(column, NAMES)
    with (
        warnings.catch_warnings(action="ignore"),
        dp.Session(data, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1)) as session,
    ):
        return session.ask(dp.CountQuestion("v", by=by), LOSS)


def table_of(*columns: str) -> dict[str, pa.Array]:
    """A column of labels for each name, and a column of numbers."""
    return {**{column: pa.array(LABELS, pa.string()) for column in columns}, "v": pa.array([1.0] * len(LABELS))}


def test_labels_keep_their_records_whatever_they_and_their_column_are_called(load: Load, tmp_path: Path) -> None:
    for column in QUICK_COLUMNS:
        require_tables(count_by(load(table_of(column)), column), column, tmp_path)


@pytest.mark.filterwarnings("ignore:Glyph")  # a font has not all letters
@pytest.mark.reproduction
@pytest.mark.parametrize("place", range(len(NAMES)))
def test_columns_of_every_name_keep_their_records_in_all_outputs(
    place: int, load: Load, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Pictures, pages and published files of every eighth column."""
    column, engine = NAMES[place], request.node.callspec.params["load"]
    if engine in ("postgres", "debian") and not 0 < len(column.encode()) <= LONGEST:
        pytest.skip("PostgreSQL has no column of this name")
    found = count_by(load(table_of(column)), column)
    require_tables(found, column, tmp_path)
    if place % 8 == 0:
        require_pictures(found, tmp_path)


def test_labels_of_parquet_files_keep_their_records(tmp_path: Path) -> None:
    pq.write_table(pa.table(table_of(*NAMES)), tmp_path / "source.parquet")
    for column in NAMES[::6]:
        require_tables(count_by(str(tmp_path / "source.parquet"), column), column, tmp_path)


@pytest.mark.reproduction
def test_all_columns_of_a_parquet_file_are_told_apart(tmp_path: Path) -> None:
    pq.write_table(pa.table(table_of(*NAMES)), tmp_path / "source.parquet")
    for column in NAMES:
        require_tables(count_by(str(tmp_path / "source.parquet"), column), column, tmp_path)
