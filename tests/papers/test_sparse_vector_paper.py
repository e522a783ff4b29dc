"""A tiny slice of the chapters on threshold tests, on histograms of its own; and the attack, pair by pair."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from reproduction import record
from reproduction.claims import load
from reproduction.measured import Findings

PAPER = Path(__file__).resolve().parents[2] / "papers" / "sparse_vector"
PAIRS = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from as_printed import STODDARD, gptt, larger
from attack import partition
chance = np.random.default_rng(1)
for noisy in (-1.5, 0.5, 1.5, 3.0, 4.2):
    counts = chance.integers(0, 9, size=25)
    sets = larger(lambda queries: queries >= noisy, counts)
    parts = partition(counts, noisy)
    alike = (sets[:, None] == sets).all(axis=2)
    assert (alike == (parts[:, None] == parts)).all(), noisy
    sizes = sets.sum(axis=1)
    assert noisy < 0 or (np.diff(sizes[np.argsort(parts, kind="stable")]) <= 0).all()
above = gptt(np.array([-1e9, 1e9]), 0, 1.0, STODDARD, chance)
assert above.tolist() == [False, True]
"""


class Slice(NamedTuple):
    said: str
    verdicts: dict[str, str]
    numbers: Findings
    pictures: set[str]


def run(out: Path, data: Path) -> Slice:
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--data", str(data), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    numbers, verdicts = record.findings(out / record.FILE), record.verdicts(out / record.FILE)
    return Slice(done.stdout, verdicts, numbers, {file.name for file in out.glob("*.png")})


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Slice:
    """On histograms with the names of the paper's: as many cells with 0, 1, ..., 40 records."""
    data = tmp_path_factory.mktemp("data")
    (data / "hist1d").mkdir()
    for name in ("ADULTFRANK", "MEDCOST", "INCOME", "HEPTH"):
        np.save(data / "hist1d" / f"{name}.n4096.npy", np.arange(410) % 41)
    return run(tmp_path_factory.mktemp("out"), data)


@pytest.mark.reproduction  # as test_u_statistics_paper.py and others do it
def test_without_data_it_says_what_is_skipped(tmp_path: Path) -> None:
    found = run(tmp_path, tmp_path / "nowhere")
    assert "Skipped: the attack" in found.said
    assert not any(name.startswith(("table", "lemma")) for name in found.verdicts)
    assert found.pictures == {"theorem_4.png"}


@pytest.mark.reproduction
def test_every_claim_has_a_line(ran: Slice) -> None:
    assert {claim.id for claim in load(PAPER).claims} == set(ran.verdicts)
    assert ran.pictures == {"theorem_4.png", "tables_3.png"}


@pytest.mark.reproduction
def test_no_variant_is_private_and_the_cutoff_makes_it_so(ran: Slice) -> None:
    for name in ("lee", "stoddard", "chen", "growth"):
        assert ran.verdicts[f"theorem4-{name}"] == "holds"
    assert ran.verdicts["section322-chen"] == "does not hold"
    assert ran.verdicts["theorem7-loss"] == "holds after the correction"
    numbers = ran.numbers["theorem4-chen"]
    assert numbers.printed > 80
    assert numbers.package is not None
    assert numbers.package < 1


def test_what_is_private_loses_what_is_claimed_and_errs_less(ran: Slice) -> None:
    assert ran.verdicts["theorem2-loss"] == ran.verdicts["theorem3-alpha"] == ran.verdicts["theorem8-alpha"] == "holds"
    loss = ran.numbers["theorem2-loss"]
    assert 0.95 < loss.printed <= 1
    assert loss.package is not None
    assert 0.95 < loss.package <= 1 + 1e-9


def test_small_counts_are_read_off(ran: Slice) -> None:
    corrected = ran.numbers["table33-hepph-100"].corrected
    assert corrected is not None
    assert corrected > 0.5


def test_parts_are_those_of_all_pairs() -> None:
    done = subprocess.run([sys.executable, "-c", PAIRS, str(PAPER)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
