"""Who asks for little waits for little: what a command loads before it answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from dpcurves.cli import main
status = None
try:
    main()
except SystemExit as end:
    status = end.code
print(status or 0, *{name.partition(".")[0] for name in sys.modules})
"""
PRICE = ("--grid", "0:10:10", "--epsilon", "1", "--adjacency", "add-remove")


def loaded(*words: str) -> set[str]:
    """Return the libraries that a call loads. They are printed on the last line, after the result."""
    ended = subprocess.run([sys.executable, "-c", CODE, *words, *PRICE], check=True, capture_output=True, text=True)
    status, *names = ended.stdout.splitlines()[-1].split()
    assert status == "0", ended.stderr
    return set(names)


def test_a_plan_loads_nothing_that_reads_data_keeps_ledgers_or_draws() -> None:
    heavy = {"scipy", "sqlalchemy", "duckdb", "pyarrow", "narwhals", "pandas", "matplotlib", "numba"}
    assert not heavy & loaded("plan", "cdf")


def test_a_small_curve_of_a_file_loads_nothing_that_draws_optimizes_or_knows_data_frames(tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    data.write_text("x\n" + "\n".join(str(value % 10) for value in range(300)), encoding="utf-8")
    names = loaded("cdf", str(data), "--column", "x")
    assert "duckdb" in names
    assert not {"narwhals", "pandas", "matplotlib", "numba"} & names
