"""A tiny slice of the residual plots of the regression diagnostics, and the distances that its numbers rest on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reproduction import record

PAPER = Path(__file__).resolve().parents[2] / "papers" / "regression_diagnostics"
PARTS = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
data, out = Path(sys.argv[2]), Path(sys.argv[3])
import residuals
import numpy as np

whole = np.full((10, 10), 0.01)
assert residuals.distance(whole, whole) < 1e-12
assert abs(residuals.distance(whole, np.zeros((10, 10))) - 1) < 1e-12
assert residuals.total_variation(np.zeros(5), np.ones(5)) == 1
"""


def test_without_data_a_slice_says_what_is_skipped_and_measures_the_rest(tmp_path: Path) -> None:
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--parts", "residual-plots"]
    command += ["--data", str(tmp_path / "no"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    numbers = record.findings(tmp_path / record.FILE)
    assert {"figure7-1000", "section43-least"} <= set(numbers)
    assert {file.name for file in tmp_path.glob("*.png")} >= {"overview.png"}


def test_the_parts_hold_what_is_said_of_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARTS, str(PAPER), str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
