"""NVFlare's simulator carries a federation of three sites: the answers are those of sites that connect by themselves.

It stands in an environment of its own, which is named in DPCURVES_NVFLARE: `make nvflare` makes it, and runs this.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from federated import AGE, Federated

import dpcurves as dp
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.trust import SecureSum

NVFLARE = os.environ.get("DPCURVES_NVFLARE", "")
SITES = 3
SOURCES = Path(__file__).resolve().parents[2] / "src"
pytestmark = pytest.mark.skipif(not NVFLARE, reason="slow: make nvflare")


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federated]:
    folder = tmp_path_factory.mktemp("nvflare")
    words = ["app", "--framework", "nvflare", "--task", str(folder / "task.json"), "--out", str(folder / "job")]
    with (
        Federated(folder, SecureSum(SITES, 1), patience=600) as federation,
        (folder / "nvflare.log").open("wb") as said,
    ):
        subprocess.run([sys.executable, "-m", "dpcurves.cli", "federation", *words], check=True)
        allowed = folder / "w" / "local" / "resources.json"  # as each site says which classes a job may name
        allowed.parent.mkdir(parents=True)
        allowed.write_text('{"format_version": 2, "class_allow_list": ["nvflare.", "dpcurves_sites.nvflare."]}')
        federation.coordinator()
        for number in range(SITES):
            federation.site(number, more=["--socket", str(folder / f"s{number}.sock")])
        command = [f"{NVFLARE}/python", "-m", "nvflare.cli", "simulator", str(folder / "job"), "-w", str(folder / "w")]
        command += ["-c", ",".join(f"s{number}" for number in range(SITES)), "-t", str(SITES)]
        more = {"DPCURVES_SOCKET": str(folder / "{site}.sock"), "PYTHONPATH": str(SOURCES)}
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env=os.environ | more, cwd=folder, start_new_session=True
        )
        try:
            federation.wait(lambda: "listens" in federation.log("hub"), "the start")
            federation.wait(lambda: len(federation.signed()) == SITES, "the signing")
            yield federation
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_nvflare_carries_the_same_answers(carried: Federated, capsys: pytest.CaptureFixture[str]) -> None:
    with carried.analyst() as analyst:
        start = time.monotonic()
        curve = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
        seconds = time.monotonic() - start
        again = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
    with capsys.disabled():
        by_themselves = carried.seconds_by_itself()
        print(f"\nNVFlare carried a round of {SITES} sites in {seconds:.0f} s; by HTTPS: {by_themselves:.1f} s")
    ages = np.concatenate(carried.ages)
    assert again.to_json() == curve.to_json()
    assert abs(np.interp(50, curve.x, curve.y) - (ages < 50).mean()) < 0.05
