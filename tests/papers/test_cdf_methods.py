"""A tiny slice of the article on four private distribution functions; and its smooth sensitivities, pair by pair."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from reproduction import record
from reproduction.claims import load
from reproduction.measured import Findings

PAPER = Path(__file__).resolve().parents[2] / "papers" / "cdf_methods"
EXACT = {
    "accountant": "holds", "delta": "does not hold", "noise-188": "does not hold", "smooth-admissible": "holds",
    "smooth-quadratic": "holds", "bins-loss": "does not hold", "dichotomy-speed": "holds",
}  # fmt: skip
SMOOTH = """
import sys
sys.path.insert(0, sys.argv[1])
import as_printed
import numpy as np
import smooth

assert round(as_printed.deviation(1.0, 1e-4, 10.0)) == 189
ends, chance = (-5.0, 5.0), np.random.default_rng(1)
for records in (1, 2, 3, 17, 40):
    for beta in (0.01, 0.3, 1.0):
        for values in (chance.normal(size=records), chance.integers(-2, 3, records), np.full(records, 0.3)):
            found, _ = smooth.smooth_sensitivities(values, beta, ends)
            printed = [as_printed.smooth_sensitivity(values, rank, beta, ends)[0] for rank in range(records)]
            assert np.allclose(found, printed, rtol=1e-9)
            other = values.astype(float)
            other[chance.integers(records)] = chance.uniform(*ends)
            changed, _ = smooth.smooth_sensitivities(other, beta, ends)
            assert np.abs(np.log(changed / found)).max() <= beta + 1e-9
            moved = np.abs(np.sort(other) - np.sort(values))
            assert (moved <= np.minimum(found, changed) * (1 + 1e-9)).all()
for alike, beta in ((50, 1.0), (180, 1.0), (400, 0.5), (400, 1.0), (3000, 1.0), (900, 2.0)):
    values = np.concatenate([chance.uniform(0, 40, 100), np.full(alike, 41.0), chance.uniform(42, 100, 100)])
    found, _ = smooth.smooth_sensitivities(values, beta, (0.0, 100.0))
    x, middle = np.concatenate([[0.0], np.sort(values), [100.0]]), 100 + alike // 2
    i, j = np.arange(middle + 1)[:, None], np.arange(middle, len(x))
    logs = np.log(np.where(j > i, x[j] - x[i], 0) + 1e-300) - beta * (j - i - 1)
    exact = max(logs.max(where=x[j] > x[i], initial=-np.inf), np.log(100) - 300 * np.log(2))
    assert abs(np.log(found[middle - 1]) - exact) < 1e-9
    fewer, _ = smooth.smooth_sensitivities(np.append(values[1:], 41.0), beta, (0.0, 100.0))
    assert np.abs(np.log(fewer / found)).max() <= beta + 1e-9
for epsilon in (0.1, 1.0, 10.0):
    for smoothing in (smooth.as_nissim(epsilon, 1e-4, 1), smooth.composed(epsilon, 1e-4, 1)):
        ratios = np.exp(smoothing.beta * np.linspace(-1, 1, 41))
        assert max(smooth.delta_reached(smoothing, epsilon, ratio) for ratio in ratios) <= 1e-4
    several = smooth.composed(epsilon, 1e-4, 9)
    assert several.factor > 2 * smooth.composed(epsilon, 1e-4, 1).factor
"""


class Slice(NamedTuple):
    said: str
    verdicts: dict[str, str]
    numbers: Findings
    pictures: set[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Slice:
    out = tmp_path_factory.mktemp("cdf_methods")
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = record.findings(out / record.FILE), record.verdicts(out / record.FILE)
    return Slice(done.stdout, found[1], found[0], {file.name for file in out.glob("*.png")})


@pytest.mark.reproduction
@pytest.mark.reproduction
def test_every_claim_is_measured_and_has_a_line(ran: Slice) -> None:
    assert set(ran.verdicts) == {claim.id for claim in load(PAPER).claims}
    assert all(f"│ {claim.place[:20]}" in ran.said for claim in load(PAPER).claims)


@pytest.mark.reproduction
@pytest.mark.reproduction
@pytest.mark.parametrize(("name", "verdict"), EXACT.items())
def test_what_needs_no_sample_is_decided_even_by_a_slice(ran: Slice, name: str, verdict: str) -> None:
    assert ran.verdicts[name] == verdict


@pytest.mark.reproduction
def test_the_noise_that_is_needed_is_a_sixth_of_the_printed(ran: Slice) -> None:
    assert ran.numbers["noise-188"].printed == pytest.approx(31.857, abs=1e-3)


@pytest.mark.reproduction
def test_pictures_are_drawn(ran: Slice) -> None:
    assert ran.pictures == {f"figure_{number}.png" for number in (1, 2, 3, 4)}


@pytest.mark.reproduction
def test_smooth_sensitivities_are_those_of_the_formula_and_their_noise_is_private() -> None:
    done = subprocess.run([sys.executable, "-c", SMOOTH, str(PAPER)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
