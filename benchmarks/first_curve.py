"""How long it takes to begin, and how much is installed: cold interpreters, and a fresh environment of the core.

`python benchmarks/first_curve.py [--installed]`. CPU and wall time of fresh processes, the median of several; what the
first curve imports, by time; with `--installed` also the megabytes of `pip install dpcurves` in an environment alone.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TIMES = 7
CURVE = (
    "import dpcurves as dp; ages = [age % 90 for age in range(5000)]; "
    "dp.cdf(ages, grid=dp.Grid(0, 100, cells={cells}), epsilon=1, adjacency=dp.REPLACE_ONE)"
)
BEGINNINGS = {
    "Python alone": "pass",
    "import dpcurves": "import dpcurves",
    "first curve, 100 cells": CURVE.format(cells=100),
    "first curve, 4,096 cells": CURVE.format(cells=4096),
    "first curve, with its band": CURVE.format(cells=100) + ".band(0.95)",
    "first ROC curve": (
        "import dpcurves as dp; scores = [score / 5000 for score in range(5000)]; "
        "dp.roc_curve([score > 0.6 for score in scores], scores, epsilon=1, adjacency=dp.REPLACE_ONE)"
    ),
}


class Spent(NamedTuple):
    """Seconds of one fresh process: of the processor, and by the clock."""

    processor: float
    clock: float


def spent(code: str) -> Spent:
    """Run a program in a fresh interpreter."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    after, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    return Spent(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock)


def beginnings() -> None:
    """Print how long each takes to begin. Each runs once before, so that byte code is there."""
    print(f"{'':28}{'CPU, ms':>10}{'clock, ms':>12}   medians of {TIMES}")
    for name, code in BEGINNINGS.items():
        spent(code)
        runs = [spent(code) for _ in range(TIMES)]
        processor, clock = (1000 * median(column) for column in zip(*runs, strict=True))
        print(f"{name:28}{processor:10.0f}{clock:12.0f}")


def imported() -> None:
    """Print what the first curve imports, by package, and how long that takes."""
    words = [sys.executable, "-X", "importtime", "-c", CURVE.format(cells=100)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    taken: Counter[str] = Counter()
    for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", told):
        taken[name.partition(".")[0]] += int(own)
    print(
        "\nimported for the first curve, ms:",
        ", ".join(f"{name} {own / 1000:.0f}" for name, own in taken.most_common(8)),
    )
    print(
        "not imported:", ", ".join(name for name in ("numba", "pyarrow", "pandas", "matplotlib") if name not in taken)
    )


def installed() -> None:
    """Print the megabytes of an environment that has the core, package by package."""
    uv = Path(sys.executable).with_name("uv")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "core")
        subprocess.run([uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, folder], check=True)
        constraints = ["--constraint", str(ROOT / "constraints.txt"), "--link-mode", "copy"]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", folder, *constraints, ROOT], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        sizes: Counter[str] = Counter()
        for each in packages.iterdir():
            sizes[re.split(r"\.libs$|-[0-9]|\.dist-info$|\.cpython", each.name)[0]] += size(each)
        for package, bytes_of in sizes.most_common(10):
            print(f"{bytes_of / 1e6:8.0f} MB {package}")
        print(f"{sizes.total() / 1e6:8.0f} MB in all: pip install dpcurves")


def size(path: Path) -> int:
    """The bytes of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(Path(place, name).stat().st_size for place, _, names in os.walk(path) for name in names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--installed", action="store_true", help="install the core in an environment, and weigh it")
    given = parser.parse_args()
    beginnings()
    imported()
    if given.installed:
        installed()
