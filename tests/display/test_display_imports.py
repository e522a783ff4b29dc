"""The room is light to enter: the command line must answer before heavy libraries are loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"matplotlib", "pandas", "polars", "pyarrow", "narwhals", "rich", "scipy"}


@pytest.mark.parametrize("module", ["dpcurves.display", "dpcurves.display.canvas", "dpcurves.display.scores"])
def test_entering_the_room_loads_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not HEAVY & set(loaded.split())
