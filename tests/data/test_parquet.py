"""Parquet files: what DuckDB reads and what Arrow reads are the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcurves.data import Axis, FileGroup, Grid, Outside
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records
from dpcurves.records.table_sources import source_of_parquet

VALUES = np.array([0.1, np.nan, 0.7, np.nan, -np.inf, 0.3, np.inf, 2.0])


def test_numbers_are_read_by_duckdb_and_all_else_by_arrow(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": VALUES, "s": ["a"] * 8}), path)
    source = source_of_parquet(FileGroup((path,)))
    with duckdb.connect() as connection:
        assert "read_parquet" in source.scan(connection, [0])
        assert source.scan(connection, [0, 1]) == source.scan(connection, [1]) == "scanned"


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 8])
def test_statistics_of_a_file_are_not_believed(statistics: bool, rows: int, tmp_path: Path) -> None:
    # Statistics leave NaN out, so a reader that trusts them may think that all values are numbers.
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": VALUES}), path, row_group_size=rows, write_statistics=statistics)
    grid = Grid(0, 1, cells=2, outside=Outside.APART)
    with open_records(path, unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Axis("x", grid)]).tolist() == [1, 2, 1, 2, 2]


def test_a_file_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]), path)
    with pytest.raises(ValueError, match=r"^data: two columns of 'x.parquet' have the same name; rename one of them$"):
        source_of_parquet(FileGroup((path,)))


def test_a_column_may_be_named_like_the_field_of_another(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [{"b": 1}], "a.b": pa.array([0.7]), "c": ["t"]}), path)
    grid = Grid(0, 1, cells=2)
    with open_records(path, unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Axis("a.b", grid)]).tolist() == [0, 1, 0]


def test_old_timestamps_are_ranked_and_refused_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    moments = pa.array([0, 1_500_000_000, None]).cast(pa.timestamp("ns"))
    pq.write_table(pa.table({"x": moments}), path, use_deprecated_int96_timestamps=True)
    with open_records(path, unit=Unit("x", 1), key=b"k") as records:
        assert records.units() == 3
        with pytest.raises(ValueError, match="^column: 'x' holds dates, times or"):
            records.check([Axis("x", Grid(0, 2, cells=2))])
