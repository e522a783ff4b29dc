"""A hundred thousand people in the local model, through the command line; some reports are lost, repeated or damaged.

Run by ``make demo-local``. The task, the received reports, and the curve are written to ``demo/out/local``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from numpy.typing import NDArray
from rich.console import Console
from size import OUT as OUTPUTS
from size import choose

import dpcurves as dp
from dpcurves.cli.app import build

OUT = OUTPUTS / "local"
PEOPLE, EPSILON = choose(100_000, 5_000), "2"
LOST, DOUBLED, DAMAGED = 10, 10, 100  # one report in this many


def main() -> None:
    """Ask, collect the reports that arrive, compute the curve, and compare it with the exact one."""
    console = Console()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    chance = np.random.default_rng(1)
    ages = chance.gamma(9, 5, PEOPLE).clip(0, 119)
    (OUT / "people.csv").write_text("age\n" + "\n".join(f"{age:.2f}" for age in ages) + "\n", encoding="utf-8")
    asked = ("--column", "age", "--grid", "0:120:120", "--people", str(PEOPLE), "--epsilon", EPSILON)
    run(console, "local", "task", *asked, "--out", str(OUT / "task.json"))
    document = ("--task", str(OUT / "task.json"))
    run(console, "local", "randomize", str(OUT / "people.csv"), *document, "--out", str(OUT / "sent.bin"))
    arrived(OUT / "sent.bin", OUT / "arrived.bin", chance)
    outputs = ("--json", str(OUT / "age.json"), "--plot", str(OUT / "age.svg"))
    run(console, "local", "aggregate", str(OUT / "arrived.bin"), *document, *outputs)
    judge(console, ages)


def run(console: Console, *arguments: str) -> None:
    """Run a command as the terminal would, and print its output."""
    console.print(f"$ dpcurves {' '.join(arguments)}", style="bold", highlight=False)
    done = CliRunner().invoke(build(arguments), arguments)
    console.print(done.output.rstrip(), highlight=False)
    if done.exit_code != 0:
        sys.exit(done.exit_code)


def arrived(sent: Path, received: Path, chance: np.random.Generator) -> None:
    """Simulate transport: some reports are lost, some arrive twice, and some have a changed byte."""
    task = dp.local.Task.load(OUT / "task.json")
    parts = [each for each in task.report_format.parse_reports(sent.read_bytes())]
    names, messages = (np.concatenate([getattr(part, of) for part in parts]) for of in ("names", "messages"))
    there = chance.random(len(names)) >= 1 / LOST
    twice = there & (chance.random(len(names)) < 1 / DOUBLED)
    order = chance.permutation(np.concatenate([np.flatnonzero(there), np.flatnonzero(twice)]))
    data = np.frombuffer(task.report_format.encode_reports(names[order], messages[order]), dtype=np.uint8).copy()
    first = len(data) - len(order) * task.report_format.record_size
    damaged = np.flatnonzero(chance.random(len(order)) < 1 / DAMAGED)
    at = (
        first
        + damaged * task.report_format.record_size
        + chance.integers(0, task.report_format.record_size, len(damaged))
    )
    data[at] ^= 1
    received.write_bytes(data.tobytes())


def judge(console: Console, ages: NDArray[np.float64]) -> None:
    """Compare the curve with that of all people, including those whose reports were lost."""
    curve = dp.CDF.from_json((OUT / "age.json").read_text(encoding="utf-8"))
    exact = np.searchsorted(np.sort(ages), curve.x) / len(ages)
    lower, upper = curve.band(0.95, population=True)
    inside = bool(np.all((lower <= exact) & (exact <= upper)))
    console.print(
        f"largest error {np.abs(curve.y - exact).max():.2%}; the curve of all people lies in the band for the "
        f"population: {inside}; median {curve.quantile(0.5):.1f} for {np.median(ages):.1f}",
        highlight=False,
    )


if __name__ == "__main__":
    main()
