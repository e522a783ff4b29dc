"""A tiny slice of the table of regimes: every line has a number, and real histograms may be missing."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "regimes.py"
REASONS = BENCHMARK.parent / "accuracy" / "reasons.toml"


pytestmark = pytest.mark.reproduction


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("regimes")


@pytest.fixture(scope="module")
def printed(out: Path) -> str:
    command = [sys.executable, str(BENCHMARK), "--tiny", "--seed", "1", "--half", "judge"]
    command += ["--data", str(out / "nowhere"), "--json", str(out / "lines.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Skipped: ADULT, BIDS" in done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def written(out: Path, printed: str) -> dict[str, Any]:
    assert printed
    everything: dict[str, Any] = json.loads((out / "lines.json").read_text(encoding="utf-8"))
    return everything


@pytest.fixture(scope="module")
def found(written: dict[str, Any]) -> dict[str, Any]:
    return {part: lines for part, lines in written.items() if part != "beside"}


@pytest.mark.reproduction
def test_other_ways_stand_beside_ours_under_each_setting(written: dict[str, Any], printed: str) -> None:
    settings = {each["setting"]: set[str]() for each in written["beside"]}
    for each in written["beside"]:
        settings[each["setting"]].add(each["name"])
        assert all(0 < mean < 1000 and error >= 0 for mean, error in each["ratios"])
        assert each["name"] in printed
    assert len(settings) == 4
    assert all(names >= {"HB", "k-ary", "DAWA", "PrivTree", "flat", "cuts"} for names in settings.values())
    assert {"square root"} <= settings["add-remove, zCDP"]


def test_every_regime_has_lines_that_were_measured(found: dict[str, Any]) -> None:
    lines = found["distributions"]
    assert len({line["regime"].split(",")[0] for line in lines}) >= 7
    assert all(0 < line["mean"] < 1000 and line["error"] >= 0 and line["mark"] > 0 for line in lines)


def test_lines_are_of_both_adjacencies_and_both_kinds_of_loss(found: dict[str, Any]) -> None:
    settings = {line["regime"].split(", ", 1)[1] for line in found["distributions"]}
    assert {"replace-one, pure", "add-remove, pure", "replace-one, zCDP", "add-remove, zCDP"} <= settings


def test_what_is_forecast_stands_beside_what_is_measured(found: dict[str, Any]) -> None:
    asked = {line["asked"] for line in found["forecasts"]}
    assert asked >= {"forecast of records alike, over measured", "measured within the made-up ones, share"}
    assert all(np.isfinite(line["mean"]) and line["mean"] >= 0 for line in found["forecasts"])


def test_diagnostics_stand_beside_fixed_bins(found: dict[str, Any]) -> None:
    first = {line["regime"].split(",")[0] for line in found["diagnostics"]}
    assert first == {"ROC", "calibration", "residual plot"}
    assert all(line["mean"] > 0 and line["mark"] > 0 for line in found["diagnostics"])


def test_few_records_stand_beside_curves_that_know_no_data(found: dict[str, Any], printed: str) -> None:
    regimes = {line["regime"].split(", n ")[0] for line in found["few"]}
    assert regimes == {f"few, {kind}" for kind in ("survival", "CDF", "ROC", "calibration", "means")}
    for line in found["few"]:
        assert 0 < line["mean"] < 100
        assert line["error"] > 0
        assert line["where"]
        assert line["mark"] == (1 if line["asked"].endswith("straight line") else 1.1)
    assert "Skipped of few records: blood pressure" in printed


def test_every_reason_is_one_of_a_line_and_has_a_figure(found: dict[str, Any]) -> None:
    lines = [line for each in found.values() for line in each]
    for reason in tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]:
        own = [line for line in lines if line["regime"].startswith(reason["regime"])]
        assert own, reason["regime"]
        asked = tuple(reason.get("asked", [""]))
        assert any(line["asked"].startswith(asked) for line in own)
        assert any(sign.isdigit() for sign in reason["why"]) or "forecast" in reason["why"]


def test_a_line_is_at_its_mark_or_beside_it_and_says_why(found: dict[str, Any], printed: str) -> None:
    for line in (line for each in found.values() for line in each):
        mean = max(line["mean"], 1 / max(line["mean"], 1e-12)) if line["either"] else line["mean"]
        missed = line["mark"] - mean if line["least"] else mean - line["mark"]
        assert line["verdict"] == ("yes" if missed <= 0 else "not sure" if missed <= 2 * line["error"] else "no")
        assert bool(line["why"]) == (line["verdict"] == "no")
    assert "A bound, nearly: without any noise 2,000 records are needed" in printed
    assert "standard errors" in printed
