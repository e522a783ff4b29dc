"""Counting doubles from one Parquet file into 2^16 cells, beside DuckDB SQL written by hand.

`python benchmarks/counting.py [--rows 100000000]`. Each way runs in a process of its own, three times in turn, and the
best of its times and the highest of its memory peaks are printed. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import duckdb

from dpcurves.data import Axis, Grid
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

CELLS = 2**16
GRIDS = {
    "exact": Grid(0, 1, cells=CELLS),
    "corrected": Grid(-0.013, 1.037, cells=CELLS),
    "geometric": Grid.geometric(2**-10, 1, cells=CELLS),
}
BYTES_A_ROW = 9
ROUNDS = 3
TARGET_RATIO = 1.5
TARGET_MEMORY = 600


def by_hand(path: str, grid: Grid) -> int:
    """What one would write who trusts the data: no missing values, nothing outside, edges as they fall."""
    width = (grid.upper - grid.lower) / grid.cells
    query = f"""
        SELECT floor((x - ({grid.lower})) / {width})::INT AS cell, count(*) AS n FROM read_parquet('{path}')
        WHERE x >= {grid.lower} AND x < {grid.upper} GROUP BY 1
    """
    with duckdb.connect() as connection:
        return sum(connection.execute(query).fetchnumpy()["n"].tolist())


def by_records(path: str, grid: Grid) -> int:
    with open_records(path, unit=EACH_RECORD, key=b"benchmark") as records:
        return int(records.counts([Axis("x", grid)])[:-1].sum())


WAYS = {"by hand": by_hand, "dpcurves": by_records}


def write(path: Path, rows: int) -> None:
    """Doubles, nearly all of them in [0, 1): one in a thousand is NULL and one is NaN."""
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT CASE i % 1000 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE ELSE random() END AS x "
            f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )


def measure(path: str, way: str, grid: str) -> None:
    """Print the seconds of wall and processor and the peak of memory of this process."""
    wall, processor = perf_counter(), process_time()
    counted = WAYS[way](path, GRIDS[grid])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    print(json.dumps([perf_counter() - wall, process_time() - processor, peak, counted]))


def measured(path: Path, way: str, grid: str) -> list[float]:
    command = [sys.executable, __file__, "--measure", str(path), way, grid]
    found: list[float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def compare(path: Path) -> None:
    print("grid       way         seconds   processor   peak MiB       counted   ratio of seconds, processor")
    for grid in GRIDS:
        ways = [way for way in WAYS if grid != "geometric" or way == "dpcurves"]
        turns = [{way: measured(path, way, grid) for way in ways} for _ in range(ROUNDS)]
        runs = {way: [turn[way] for turn in turns] for way in ways}
        best = {way: [min(column) for column in zip(*found, strict=True)] for way, found in runs.items()}
        for way, (wall, processor, _, counted) in best.items():
            peak = max(run[2] for run in runs[way])
            ratio = ""
            if way == "dpcurves" and "by hand" in best:
                ratio = f"{wall / best['by hand'][0]:6.2f} {processor / best['by hand'][1]:6.2f}"
            print(f"{grid:10} {way:10} {wall:8.2f} {processor:11.2f} {peak:10.0f} {counted:13.0f}   {ratio}")
    print(f"targets: a ratio of at most {TARGET_RATIO} on linear grids, and below {TARGET_MEMORY} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--measure", nargs=3, metavar=("PATH", "WAY", "GRID"))
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 2 * options.rows * BYTES_A_ROW:
            print(f"skipped: {options.rows} rows need {2 * options.rows * BYTES_A_ROW >> 20} MiB of disk in {folder}")
            return
        path = Path(folder) / "doubles.parquet"
        write(path, options.rows)
        print(f"{options.rows} doubles in one Parquet file of {path.stat().st_size >> 20} MiB, {CELLS} cells")
        compare(path)


if __name__ == "__main__":
    main()
