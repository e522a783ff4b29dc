"""CPU of a filtered question beside the same question without a filter: 10^7 rows of Parquet, counted by DuckDB.

`python benchmarks/filters.py [--rows 10000000]`. The best of three times in one process is printed, and its ratio to
the question without a filter; the target is 1.2. Beside it stands the time of plain SQL in DuckDB, which counts the
cells of the rows that pass and gives no privacy: the floor, and its own ratio, below which no question can be. Nothing
is asserted.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpcurves as dp

FILTERS = (None, "age >= 65", "age >= 65 AND hours > 10", "region = 'north'")
COLUMNS = ("wage", "wage / hours")
LOSS = dp.PrivacyLoss.pure(1)


def write_table(path: Path, rows: int) -> None:
    generator = np.random.default_rng(0)
    table = {
        "wage": np.exp(generator.normal(3, 1, rows)),
        "hours": generator.integers(0, 60, rows).astype(float),
        "age": generator.integers(0, 100, rows),
        "region": pa.array(generator.choice(["north", "south", "west"], rows)),
    }
    pq.write_table(pa.table(table), path)


def measure(path: Path, column: str, where: str | None, adjacency: dp.Neighbours) -> float:
    """Return the least CPU seconds of three questions, each in a session of its own."""
    question, times = dp.CdfQuestion(column, dp.Grid(0, 200, cells=1024), where=where), []
    for _ in range(3):
        with dp.Session(path, budget=LOSS, adjacency=adjacency) as session:
            begun = process_time()
            session.ask(question, LOSS)
            times.append(process_time() - begun)
    return min(times)


def measure_floor(path: Path, column: str, where: str | None) -> float:
    """Return the least CPU seconds of three plain statements that count the same cells."""
    passing, times = f"WHERE {where}" if where else "", []
    statement = f"SELECT floor(({column}) * 5.12) AS cell, count(*) FROM '{path}' {passing} GROUP BY cell"
    for _ in range(3):
        with duckdb.connect() as connection:
            begun = process_time()
            connection.execute(statement).fetchall()
            times.append(process_time() - begun)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    rows = parser.parse_args().rows
    warnings.simplefilter("ignore", dp.CurveWarning)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write_table(path, rows)
        for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
            for column in COLUMNS:
                unfiltered, plain = measure(path, column, None, adjacency), measure_floor(path, column, None)
                for where in FILTERS:
                    seconds = measure(path, column, where, adjacency)
                    floor = measure_floor(path, column, where)
                    print(
                        f"{adjacency.value}, {column}, {where}: {seconds:.2f} s, {seconds / unfiltered:.2f}; "
                        f"floor {floor:.2f} s, {floor / plain:.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
