"""A tiny slice of the chapter on streams, without data and on a stream of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction import record
from reproduction.claims import load

PAPER = Path(__file__).resolve().parents[2] / "papers" / "pegasus"


def run(out: Path, data: Path) -> tuple[str, dict[str, str]]:
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--data", str(data), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, record.verdicts(out / record.FILE)


@pytest.mark.reproduction
def test_every_claim_has_a_line_and_the_slips_of_the_chapter_show(tmp_path: Path) -> None:
    (tmp_path / "streams").mkdir()
    generator = np.random.default_rng(1)
    names = ("CVS", "PFE", "CRM", "IBM", "UPS", "GOOG", "AAPL")
    columns = {f"volume_{name}": generator.poisson(mean, 900) for name, mean in zip(names, range(1, 8), strict=True)}
    pd.DataFrame(columns).to_csv(tmp_path / "streams" / "nab_twitter_volume_5min.csv", index=False)
    walkers = pd.DataFrame({f"sensor{number}": generator.poisson(100, 300) for number in range(32)})
    walkers.to_parquet(tmp_path / "streams" / "melbourne_pedestrians_hourly.parquet")
    said, verdicts = run(tmp_path, tmp_path)
    assert "Skipped" not in said
    assert set(verdicts) == {claim.id for claim in load(PAPER).claims}
    for name in ("lemma16-sensitivity", "theorem17-loss", "theorem18-bound", "example7-groups", "example8-medians"):
        assert verdicts[name] == "holds"
    for name in ("theorem20-loss", "equation57-james-stein"):
        assert verdicts[name] == "holds after the correction"
    for name in ("equation52-semantics", "section562-laplace", "section564-zeros", "section564-zeros-001"):
        assert verdicts[name] == "does not hold"


@pytest.mark.reproduction  # as test_u_statistics_paper.py and others do it
def test_without_data_it_says_what_is_skipped(tmp_path: Path) -> None:
    said, verdicts = run(tmp_path, tmp_path / "nowhere")
    assert "Skipped: Figures 5.2 to 5.7" in said
    assert "Skipped: Figure 5.8" in said
    assert not any(name.startswith(("section561", "figure")) for name in verdicts)
