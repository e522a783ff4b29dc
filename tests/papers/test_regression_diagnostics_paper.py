"""A tiny slice of the residual plots of the regression diagnostics, and the distances that its numbers rest on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from reproduction import record

PAPER = Path(__file__).resolve().parents[2] / "papers" / "regression_diagnostics"
RESIDUAL_PLOTS = "residual-plots", "residual-table", "residual-algorithms", "residual-cases"
PARTS = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
data, out = Path(sys.argv[2]), Path(sys.argv[3])
import discrimination, earnings, plane, prirp, private_line, regret, residual_part, residual_sizes, residuals
import numpy as np

chance = np.random.default_rng(1)

whole = np.full((10, 10), 0.01)
assert residuals.distance(whole, whole) < 1e-12
assert abs(residuals.distance(whole, np.zeros((10, 10))) - 1) < 1e-12
assert residuals.total_variation(np.zeros(5), np.ones(5)) == 1

# Shares of a scatter: the density that it is drawn from, in other cells; four sigma.
edges = np.linspace(0, 4, 5), np.linspace(-1, 1, 3)
density = plane.Density(np.arange(8.0).reshape(4, 2) / 28, edges, 100_000)
found = plane.drawn_from(density, (np.linspace(0, 2, 3), np.linspace(-1, 3, 2)), chance)
expected = np.array([[1.0], [5.0]]) / 28
assert (np.abs(found - expected) <= 4 * np.sqrt(expected * (1 - expected) / 100_000)).all()

# With next to no noise, each method shows the records themselves.
records = residuals.drawn(residuals.IDEAL, 2000, chance)
overlaid = residuals.Overlaid.on(records)
for name, method in residuals.METHODS.items():
    assert overlaid.similarity(method, records, 20.0, 1) < 0.12, name
assert prirp.bound(np.full(1000, 3.0), 1.0, 10.0, chance) == 4
assert prirp.bound(np.full(1000, np.inf), 1.0, 10.0, chance) == 2.0**63
for kind, methods in regret.METHODS.items():
    for name in ("DAWA", "AHP", "LM", "HB", "AG"):
        assert overlaid.similarity(methods[name], records, 2.0, 1) < 0.2, (kind, name)

# One replaced record moves the weights of the private line by no more than its noise hides.
x, y = chance.uniform(-5, 60, (2, 200))
def weights(x, y):
    features = np.column_stack([np.ones(len(x)), np.clip(x, 0, 50) / 50]) / np.sqrt(2)
    return private_line.least_in_ball(features, np.clip(y, 0, 50) / 50)
base = weights(x, y)
assert np.linalg.norm(base) <= private_line.RADIUS + 1e-9
for other in ((0, 50), (50, 0), (50, 50), (0, 0), (1e9, -1e9)):
    changed = np.column_stack([x, y])
    changed[0] = other
    assert np.linalg.norm(weights(*changed.T) - base) <= private_line.sensitivity(200)
far = private_line.least_in_ball(np.full((9, 2), 0.05), np.full(9, 1.0))
assert np.linalg.norm(far) <= private_line.RADIUS + 1e-9

# The table: both readings are the same without a violation, but for the fitted line; and stronger ones show more.
sets = discrimination.Drawn.of(20, 400)
for plots in discrimination.READINGS.values():
    mild, strong = (np.std(plots(sets, alpha, 0.0)[1]) for alpha in (0.0, 0.1))
    assert abs(mild - 1) < 0.05 and strong > 1.5, (mild, strong)

# A fan is the ratio of two spreads.
across = np.repeat([1.0, 2.0], 1000)
fan = earnings._fan(across, chance.normal(size=2000) * across, np.ones(2000))
assert abs(fan - 2) < 0.4
assert not earnings.is_there(data)
"""


@pytest.mark.reproduction
def test_without_data_a_slice_says_what_is_skipped_and_measures_the_rest(tmp_path: Path) -> None:
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--parts", *RESIDUAL_PLOTS]
    command += ["--data", str(tmp_path / "no"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Skipped: Figure 9" in done.stdout
    numbers = record.findings(tmp_path / record.FILE)
    assert {"figure7-1000", "section43-least", "table1-private-alpha-1000", "figure8-tenth"} <= set(numbers)
    assert {name for name in numbers if name.startswith("table42-")} >= {"table42-DAWA", "table42-least"}
    drawn = {file.name for file in tmp_path.glob("*.png")}
    assert drawn >= {"overview.png", "figures_5_and_6.png", "figure_7.png", "figure_8.png", "figure_4_6.png"}


@pytest.mark.reproduction
def test_the_parts_hold_what_is_said_of_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARTS, str(PAPER), str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
