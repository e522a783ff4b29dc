"""A tiny slice of the claims on U-statistics in the local model, on ratings of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reproduction import record
from reproduction.claims import load
from reproduction.measured import Findings

PAPER = Path(__file__).resolve().parents[2] / "papers" / "u_statistics"
OF_DATA = {"figure4-kendall", "figure4-known", "figure4-records"}


def run(out: Path, data: Path) -> tuple[str, dict[str, str], Findings]:
    command = [
        sys.executable,
        str(PAPER / "run.py"),
        "--tiny",
        "--parts",
        "kernels",
        "--data",
        str(data),
        "--out",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, record.verdicts(out / record.FILE), record.findings(out / record.FILE)


@pytest.mark.reproduction
def test_each_claim_has_a_line_and_what_is_wrong_is_put_right(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    (tmp_path / "tabular").mkdir()
    rooms = np.random.default_rng(1).choice((-1, 1, 2, 3, 4, 5), 400)
    table = arrow.table({"rooms": rooms, "cleanliness": np.where(rooms > 2, rooms, -1)})
    parquet.write_table(table, tmp_path / "tabular" / "tripadvisor_lara_ratings.parquet")
    _, verdicts, numbers = run(tmp_path / "out", tmp_path)
    assert {claim.id for claim in load(PAPER).claims} >= set(verdicts) >= OF_DATA
    mended = {name for name, verdict in verdicts.items() if verdict == "holds after the correction"}
    assert mended == {
        "equation9-sum", "algorithm1-loss", "theorem2-lipschitz", "lemma2", "threshold-a", "lemma5", "equation23",
        "theorem4-bit", "advanced-composition",
    }  # fmt: skip
    assert verdicts["theorem1"] == verdicts["theorem3"] == verdicts["lemma4"] == verdicts["lemma6"] == "holds"
    assert numbers["figure4-records"].printed == 400
    package = numbers["figure4-kendall"].package
    assert package is not None
    assert abs(package - numbers["figure4-kendall"].printed) < 0.1


@pytest.mark.reproduction
def test_without_data_it_says_what_is_skipped(tmp_path: Path) -> None:
    said, verdicts, _ = run(tmp_path, tmp_path / "nowhere")
    assert "Skipped: Figure 4." in said
    assert all(verdicts.get(name) in (None, "skipped", "not run") for name in OF_DATA)
