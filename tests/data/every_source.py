"""Columns of one table, as every kind of data that can be opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

Columns = Mapping[str, pa.Array]
Maker = Callable[[Columns, Path], Any]


@dataclass
class Stream:
    """Something that knows Arrow only by its protocol."""

    table: pa.Table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def in_pandas(columns: Columns, folder: Path) -> Any:
    return pa.table(dict(columns)).to_pandas(types_mapper=pd.ArrowDtype)


def in_numpy_backed_pandas(columns: Columns, folder: Path) -> Any:
    return pa.table(dict(columns)).to_pandas()


def in_polars(columns: Columns, folder: Path) -> Any:
    return pl.from_arrow(pa.table(dict(columns)))


def in_lazy_polars(columns: Columns, folder: Path) -> Any:
    return pl.DataFrame(in_polars(columns, folder)).lazy()


def in_arrow(columns: Columns, folder: Path) -> Any:
    return pa.table(dict(columns))


def in_capsule(columns: Columns, folder: Path) -> Any:
    return Stream(pa.table(dict(columns)))


def in_batch(columns: Columns, folder: Path) -> Any:
    return pa.RecordBatch.from_pydict(dict(columns))


def in_reader(columns: Columns, folder: Path) -> Any:
    return pa.table(dict(columns)).to_reader(max_chunksize=7)


def in_arrays(columns: Columns, folder: Path) -> Any:
    return {name: array.to_numpy(zero_copy_only=False) for name, array in columns.items()}


def in_arrow_arrays(columns: Columns, folder: Path) -> Any:
    return dict(columns)


def in_series(columns: Columns, folder: Path) -> Any:
    return {name: pl.from_arrow(array) for name, array in columns.items()}


def in_lists(columns: Columns, folder: Path) -> Any:
    return {name: array.to_pylist() for name, array in columns.items()}


def in_csv(columns: Columns, folder: Path) -> Any:
    path = folder / "records.csv"
    frame = pd.DataFrame({name: pd.Series(array.to_pylist(), dtype=object) for name, array in columns.items()})
    frame.to_csv(path, index=False)
    return path


def in_parquet(columns: Columns, folder: Path) -> Any:
    path = folder / "records.parquet"
    pq.write_table(pa.table(dict(columns)), path, row_group_size=1000)
    return str(path)


def in_relation(columns: Columns, folder: Path) -> Any:
    connection = duckdb.connect()
    return connection.from_arrow(pa.table(dict(columns)))


EVERY_SOURCE: dict[str, Maker] = {
    maker.__name__.removeprefix("in_"): maker
    for maker in (
        in_pandas, in_numpy_backed_pandas, in_polars, in_lazy_polars, in_arrow, in_capsule, in_batch, in_reader,
        in_arrays, in_arrow_arrays, in_series, in_lists, in_csv, in_parquet, in_relation,
    )
}  # fmt: skip


def edge_values(edges: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Every edge, its two neighbouring doubles, and other values that break engines."""
    special = [
        np.nan, np.inf, -np.inf, 1e308, -1e308, np.finfo(float).max, np.finfo(float).tiny, 5e-324, -5e-324, 0.0, -0.0,
        2.0**31, 2.0**32, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e22, 0.1 + 0.2,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        return np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), special])
