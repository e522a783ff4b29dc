"""One table as every kind of source that needs no pyarrow, with its counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arro3.core as arro3
import duckdb
import numpy as np
import pandas as pd
import polars as pl

import dpcurves as dp
from dpcurves.data import Axis, Categories
from dpcurves.noise import Randomness
from dpcurves.privacy import Unit
from dpcurves.records import open_records
from dpcurves.records.source import ColumnKind

ROWS = 500
GRID = dp.Grid(0, 10, cells=7)
NUMBERS = np.arange(ROWS) % 41 / 4.0
GAPS = np.arange(ROWS) % 7 == 0
NAMES = np.array(["ä", "b", "c" * 20, "d?"])[np.arange(ROWS) % 4]
DAYS = np.datetime64("2013-01-01") + np.arange(ROWS) % 30
SQL = (
    f"SELECT (i % 41) / 4.0::DOUBLE AS x, ['ä', 'b', 'd?'][1 + i % 3] AS name, DATE '2013-01-01' + (i % 30)::INTEGER "
    f"AS time, (TIMESTAMP '2013-01-01 12:00:00' + INTERVAL (i % 5) DAY) AS zone, (i % 7)::DECIMAL(9, 2) AS wide "
    f"FROM range({ROWS}) t(i)"
)


def in_pandas() -> pd.DataFrame:
    """Types of pandas that need no pyarrow."""
    times = pd.Series(DAYS.astype("datetime64[us]"))
    return pd.DataFrame(
        {
            "x": np.where(GAPS, np.nan, NUMBERS), "whole": pd.Series(np.arange(ROWS) % 11, dtype="Int64").mask(GAPS),
            "flag": pd.Series(NUMBERS > 5, dtype="boolean").mask(GAPS), "name": NAMES,
            "object": pd.Series([*NAMES[:-1], None], dtype=object), "category": pd.Series(NAMES, dtype="category"),
            "time": times.mask(GAPS), "zone": times.dt.tz_localize("Europe/Berlin"),
            "delta": pd.to_timedelta(np.arange(ROWS) % 9, unit="s"),
        }
    )  # fmt: skip


def in_polars() -> pl.DataFrame:
    """Types of Polars, in two pieces."""
    frame = pl.DataFrame(
        {
            "x": pl.Series(NUMBERS).set(pl.Series(GAPS), None), "name": NAMES, "time": DAYS.astype("datetime64[ms]"),
            "category": pl.Series(NAMES, dtype=pl.Categorical), "wide": pl.Series(NUMBERS).cast(pl.Decimal(20, 3)),
            "nothing": pl.Series([None] * ROWS),
        }
    )  # fmt: skip
    return pl.concat([frame[:200], frame[200:]], rechunk=False)


class Stream:
    """Something that knows Arrow only by its protocol."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__()


def sources(folder: Path) -> Iterator[tuple[str, Any]]:
    """Each kind with its name; files are made where they are not there."""
    frame, polars = in_pandas(), in_polars()
    table = arro3.Table.from_arrow(polars.drop("nothing"))
    if not (folder / "t.csv").exists():
        frame.to_csv(folder / "t.csv", index=False)
        polars.drop("time").write_parquet(folder / "t.parquet")
        duckdb.sql(f"COPY ({SQL}) TO '{folder / 'u.parquet'}'")
    yield "CSV", folder / "t.csv"
    yield "a Parquet file of Polars", folder / "t.parquet"
    yield "a Parquet file of DuckDB", folder / "u.parquet"
    yield "a relation", duckdb.sql(SQL)
    yield "NumPy and lists", {"x": np.ma.MaskedArray(NUMBERS, mask=GAPS), "name": NAMES.tolist(), "time": DAYS}
    yield "pandas", frame
    yield "Polars", polars
    yield "Polars, later", polars.lazy()
    yield "Arrow", table
    yield "a stream", Stream(table)
    yield "a batch", table.combine_chunks().to_batches()[0]
    yield "arrays", {"x": table["x"], "name": polars["name"], "category": frame["category"]}


def counted(folder: Path) -> dict[str, Any]:
    """Return the counts of each column of each kind of source, by the schema, and a CDF released with a seed."""
    found: dict[str, Any] = {}
    for kind, data in sources(folder):
        with open_records(data, unit=Unit("name", 50), key=b"key") as records:
            columns = records._engine.columns
            for name, held in ((column.name, column.kind) for column in columns):
                if held in {ColumnKind.NUMBERS, ColumnKind.UNTYPED}:
                    found[f"{name} of {kind}"] = records.counts([Axis(name, GRID)]).tolist()
                elif held is not ColumnKind.TIMES:
                    found[f"{name} of {kind}"] = records.counts([Categories(name, ("ä", "b", "d?"))]).tolist()
        for name in (column.name for column in columns if column.kind is ColumnKind.TIMES):
            with open_records(data, unit=Unit(name, 1), key=b"key") as records:
                found[f"{name} of {kind}"] = [records.units(), records.counts([Axis("x", GRID)]).tolist()]
        with dp.Session(
            data, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, randomness=Randomness.from_seed(1)
        ) as session:
            curve = session.ask(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(1))
            found[f"CDF of {kind}"] = curve.cdf(np.arange(10)).tolist()
    return found
