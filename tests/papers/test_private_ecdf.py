"""A tiny slice of the paper on private distribution functions, without its data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from reproduction import record
from reproduction.claims import load
from reproduction.measured import Findings

PAPER = Path(__file__).resolve().parents[2] / "papers" / "private_ecdf"
CORRECTED = {
    "theorem1-grid", "theorem1-error", "theorem3-values", "equation3-absolute", "algorithm1-ends", "theorem2-loss",
}  # fmt: skip
WITH_DATA = ("heart", "bank", "diabetes", "roc-heart", "roc-bank", "roc-diabetes", "roc-size", "areas", "hl")


class Slice(NamedTuple):
    said: str
    verdicts: dict[str, str]
    numbers: Findings
    pictures: set[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Slice:
    out = tmp_path_factory.mktemp("private_ecdf")
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--data", str(out / "nowhere"), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    numbers = record.findings(out / record.FILE)
    verdicts = record.verdicts(out / record.FILE)
    return Slice(done.stdout, verdicts, numbers, {file.name for file in out.glob("*.png")})


@pytest.mark.reproduction
def test_without_data_it_says_what_is_skipped(ran: Slice) -> None:
    assert "Skipped: all that needs data" in ran.said
    assert {claim.id for claim in load(PAPER).claims} - set(ran.verdicts) == {
        claim.id for claim in load(PAPER).claims if claim.id.startswith(WITH_DATA)
    }


@pytest.mark.reproduction
def test_every_claim_has_a_line(ran: Slice) -> None:
    assert all(f"│ {claim.place}" in ran.said for claim in load(PAPER).claims)
    assert f"{len(load(PAPER).claims) - len(ran.verdicts)} not run: no data" in ran.said


@pytest.mark.reproduction
def test_what_is_printed_wrong_holds_after_the_correction(ran: Slice) -> None:
    assert {name for name, verdict in ran.verdicts.items() if verdict == "holds after the correction"} == CORRECTED


@pytest.mark.reproduction
def test_theorem_1_holds_on_a_public_grid_with_room_to_spare(ran: Slice) -> None:
    assert ran.verdicts["theorem1-loss"] == "holds"
    assert ran.numbers["theorem1-loss"].printed == pytest.approx(5 / 6, abs=1e-5)  # L = 5 noises at scale L + 1


@pytest.mark.reproduction
def test_smoothing_harms_at_no_epsilon(ran: Slice) -> None:
    assert ran.verdicts["smoothing-harms"] == "does not hold"


@pytest.mark.reproduction
def test_pictures_are_drawn(ran: Slice) -> None:
    assert ran.pictures == {"figure_2.png", "figure_3.png", "figure_4.png", "figure_7.png", "overview.png"}
