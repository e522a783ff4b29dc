"""Processor seconds of the command line over a file, and of DuckDB's own counts."""

from __future__ import annotations

import resource
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import duckdb

CELLS = 4_096
COMMAND = Path(sysconfig.get_path("scripts")) / "dpcurves"


def write_doubles(folder: Path, rows: int) -> Path:
    """Write so many numbers between 0 and 1 to a Parquet file."""
    path = folder / f"{rows}.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT random() AS x FROM range({rows})) TO '{path}' (FORMAT parquet)")
    return path


def measure_command(path: Path) -> float:
    """Return processor seconds of a distribution function from the command line, in a fresh process."""
    return _measure([
        str(COMMAND), "cdf", str(path), "--column", "x", "--grid", f"0:1:{CELLS}", "--epsilon", "1", "--adjacency",
        "replace-one",
    ])  # fmt: skip


def measure_query(path: Path) -> float:
    """Return processor seconds of counts by `floor` and `GROUP BY`, in a fresh process."""
    query = f"SELECT floor(x * {CELLS})::INT, count(*) FROM '{path}' GROUP BY 1"
    return _measure([sys.executable, "-c", f"import duckdb; duckdb.sql({query!r}).fetchnumpy()"])


def _measure(command: Sequence[str]) -> float:
    """Run a command, and return its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
