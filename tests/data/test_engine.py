"""The engine: silent, private, and gone at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from dpcurves.data import Axis, Grid
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import Records
from dpcurves.records.engines.duckdb import DuckConnection, DuckEngine
from dpcurves.records.table_sources import source_of_mapping

SCRIPT = """
import numpy as np
from dpcurves.data import Axis, Grid
from dpcurves.records import open_records
from dpcurves.privacy import Unit
records = open_records({"x": np.arange(9.0), "u": list("aabbccdde")}, unit=Unit("u", 1), key=b"k")
for grid in (Grid(0, 9, cells=3), Grid.geometric(1, 9, cells=3)):
    records.counts([Axis("x", grid)])
    records.sums([Axis("x", grid)], 8)
"""


def test_nothing_is_printed_even_if_records_are_never_closed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == ("", "")
    assert [path.name for path in tmp_path.rglob("*")] == [f"dpcurves-{os.getuid()}"]


def test_what_does_not_fit_in_memory_goes_where_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened = DuckConnection()
    (parent,) = tmp_path.iterdir()
    (folder,) = (path for path in parent.iterdir() if path.is_dir())
    assert (parent.stat().st_mode | folder.stat().st_mode) & 0o077 == 0
    assert opened.connection.sql("SELECT current_setting('temp_directory')").fetchall() == [(str(folder),)]
    assert repr(opened) == "Engine(hidden)"
    opened.close()
    opened.close()
    assert list(parent.iterdir()) == []


def test_names_in_a_query_are_never_looked_up_among_variables() -> None:
    opened, surprise = DuckConnection(), {"x": [1]}
    with pytest.raises(Exception, match="surprise"):
        opened.connection.sql("SELECT * FROM surprise").fetchall()
    opened.close()
    assert surprise


def test_counts_do_not_depend_on_the_number_of_threads() -> None:
    values = np.random.default_rng(3).normal(size=300_000)
    grid = Grid(-3, 3, cells=1000)
    want = np.bincount(grid.cell_of(values), minlength=1001)
    for threads in (1, 4):
        engine = DuckEngine(source_of_mapping({"x": values}), EACH_RECORD, b"k")
        engine._engine.connection.execute(f"SET threads = {threads}")
        with Records(engine) as records:
            assert np.array_equal(records.counts([Axis("x", grid)]), want)
