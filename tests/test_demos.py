"""Each demo that README and Makefile name runs, on a part of its data, and ends well.

Demos check what they show (equal curves, no exact count in a log, the same numbers after a kill) and fail otherwise.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DEMOS = re.findall(r"^demo[a-z-]*: .*\n\t\$\(BIN\)/python demo/(\w+)\.py$", MAKEFILE, re.MULTILINE)


def test_every_make_target_of_a_demo_is_run_here() -> None:
    assert len(DEMOS) == len(re.findall(r"^demo[a-z-]*:", MAKEFILE, re.MULTILINE))
    assert set(DEMOS) > SLOW


SLOW = {"federated", "pairs", "server", "sites", "warehouse"}
"""Demos that start processes, whose parts have tests with real processes of their own."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.reproduction] * (name in SLOW)) for name in DEMOS]
)
def test_a_demo_runs_in_its_quick_form(name: str) -> None:
    script = ROOT / "demo" / f"{name}.py"
    done = subprocess.run([sys.executable, script, "--quick"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
