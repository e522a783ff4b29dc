"""Errors and CPU time of the commonest questions, of this code beside an earlier revision of it.

`python benchmarks/before_and_after.py REVISION [--answers N] [--only TEXT ...] [--all]`. The revision is laid out in a
folder of its own, and each of the two is asked by a process of its own, in turn, task by task: the same records in
both, the system's noise. Printed are ratios, now over before: of mean errors, with the standard error that they have
over answers, and of the median CPU time of a call. A last line has geometric means over all tasks. Quiet machines tell
most of times. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
FINE, COARSE, DECILES = 4096, 64, np.arange(1, 10) / 10
ASKING = "ask"
SHAPES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "smooth": lambda draw, size: draw.beta(2, 5, size),
    "21 values": lambda draw, size: draw.binomial(20, 0.4, size) / 20,
    "half zeros": lambda draw, size: np.where(draw.random(size) < 0.5, 0.0, draw.beta(2, 5, size)),
    "heavy tail": lambda draw, size: np.minimum(draw.lognormal(-4, 1.2, size), 1.0),
}
TERMS: dict[str, dict[str, Any]] = {
    "epsilon 0.1": {"epsilon": "0.1"}, "epsilon 1": {"epsilon": 1}, "rho 0.05": {"rho": "0.05"},
}  # fmt: skip
SIZES = 1_000, 20_000


@dataclass(frozen=True)
class Task:
    """One question about records of one distribution, under terms."""

    kind: str
    shape: str
    size: int
    terms: str
    adjacency: str

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.shape}, n {self.size:,}, {self.terms}, {self.adjacency}"

    @property
    def draw(self) -> np.random.Generator:
        """Its own generator, equal for both revisions."""
        return np.random.default_rng([*self.name.encode()])


def tasks() -> Iterator[Task]:
    """All that are asked."""
    for size, terms, adjacency in product(SIZES, TERMS, ("replace-one", "add-remove")):
        for shape in SHAPES:
            for kind in ("cdf of 64 cells", "cdf of 4,096 cells", "deciles", "histogram"):
                yield Task(kind, shape, size, terms, adjacency)
        for kind in ("roc", "calibration", "binned residuals"):
            yield Task(kind, "bent scores", size, terms, adjacency)


def cdf_error(dp: Any, values: Any, cells: int, **terms: Any) -> float:
    curve = dp.cdf(values, grid=dp.Grid(0, 1, cells=cells), **terms)
    ends = np.arange(1, cells) / cells
    true = np.searchsorted(np.sort(values), ends, side="left") / len(values)
    return float(np.abs(np.interp(ends, curve.x, curve.y) - true).max())


def deciles_error(dp: Any, values: Any, **terms: Any) -> float:
    found = dp.quantiles(values, DECILES.tolist(), grid=dp.Grid(0, 1, cells=FINE), **terms)
    return float(np.abs(np.asarray(found.x) - np.quantile(values, DECILES, method="inverted_cdf")).mean())


def histogram_error(dp: Any, values: Any, **terms: Any) -> float:
    counts = dp.histogram(values, grid=dp.Grid(0, 1, cells=COARSE), **terms).count
    return float(np.sqrt(np.mean((np.asarray(counts) - np.histogram(values, COARSE, (0, 1))[0]) ** 2)))


def right(score: Any) -> Any:
    """How often a label is positive, given its score."""
    return 1 / (1 + np.exp(-3 * np.sin(4 * score)))


def roc_error(dp: Any, label: Any, score: Any, **terms: Any) -> float:
    ranks = np.argsort(np.argsort(score)) + 1
    ones = int(label.sum())
    true = (ranks[label == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(label) - ones))
    return float(abs(dp.roc_curve(label, score, **terms).auc - true))


def calibration_error(dp: Any, label: Any, score: Any, **terms: Any) -> float:
    curve = dp.calibration_curve(label, score, **terms)
    return _weighted(np.asarray(curve.prob_true) - right(np.asarray(curve.prob_pred)), curve.count)


def residuals_error(dp: Any, label: Any, score: Any, **terms: Any) -> float:
    curve = dp.binned_residuals(label, score, model=dp.DISJOINT_RECORDS, **terms)
    at = np.asarray(curve.prob_pred)
    return _weighted(np.asarray(curve.residual) - (right(at) - at), curve.count)


def _weighted(errors: Any, counts: Any) -> float:
    weights = np.maximum(np.asarray(counts, dtype=np.float64), 0)
    kept = np.isfinite(errors) & (weights > 0)
    return float(np.average(np.abs(errors[kept]), weights=weights[kept])) if kept.any() else 1.0


def ask(dp: Any, task: Task, answers: int) -> dict[str, list[float]]:
    """Errors of that many answers, and the CPU time of each call."""
    terms = TERMS[task.terms] | {
        "adjacency": dp.REPLACE_ONE if task.adjacency == "replace-one" else dp.ADD_REMOVE
    }  # fmt: skip
    draw, found = task.draw, dict[str, list[float]](errors=[], seconds=[])
    for _ in range(answers):
        call = _call(dp, task, draw, terms)
        began = time.process_time()
        found["errors"].append(call())
        found["seconds"].append(time.process_time() - began)
    return found


def _call(dp: Any, task: Task, draw: np.random.Generator, terms: dict[str, Any]) -> Callable[[], float]:
    two = {"roc": roc_error, "calibration": calibration_error, "binned residuals": residuals_error}
    if task.kind in two:
        score = draw.beta(2, 2, task.size)
        label = (draw.random(task.size) < right(score)).astype(np.int64)
        return lambda: two[task.kind](dp, label, score, **terms)
    values = SHAPES[task.shape](draw, task.size)
    if task.kind.startswith("cdf"):
        return lambda: cdf_error(dp, values, COARSE if "64" in task.kind else FINE, **terms)
    one = deciles_error if task.kind == "deciles" else histogram_error
    return lambda: one(dp, values, **terms)


def answer_questions() -> None:
    """The process of one revision: a task and how often on each line in, what was found on each line out."""
    import dpcurves as dp  # of the revision that PYTHONPATH names

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        kind, shape, size, terms, adjacency, answers = json.loads(line)
        sys.stdout.write(json.dumps(ask(dp, Task(kind, shape, size, terms, adjacency), answers)) + "\n")
        sys.stdout.flush()


class Asked:
    """A process that answers from the sources of one revision."""

    def __init__(self, sources: Path, waiting: ExitStack) -> None:
        alone = os.environ | {"PYTHONPATH": str(sources), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = waiting.enter_context(
            subprocess.Popen(
                [sys.executable, __file__, ASKING], env=alone, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )
        waiting.callback(self._process.terminate)

    def ask(self, task: Task, answers: int) -> dict[str, list[float]]:
        """What it finds."""
        ways = self._process.stdin, self._process.stdout
        assert ways[0] is not None
        assert ways[1] is not None
        ways[0].write(json.dumps([task.kind, task.shape, task.size, task.terms, task.adjacency, answers]) + "\n")
        ways[0].flush()
        found: dict[str, list[float]] = json.loads(ways[1].readline())
        return found


def compare(now: dict[str, list[float]], before: dict[str, list[float]]) -> tuple[float, float, float]:
    """The ratio of mean errors, its relative standard error, and the ratio of times."""
    each = [np.array(found["errors"]) for found in (now, before)]
    means = [max(float(errors.mean()), 1e-12) for errors in each]
    noise = [errors.std(ddof=1) / mean / np.sqrt(len(errors)) for errors, mean in zip(each, means, strict=True)]
    times = [float(np.median(found["seconds"])) for found in (now, before)]
    return means[0] / means[1], float(np.hypot(*noise)), times[0] / times[1]


def measured(revision: str, answers: int, only: list[str]) -> dict[str, tuple[float, float, float]]:
    """Ratios of all tasks whose names have one of these texts."""
    chosen = [task for task in tasks() if not only or any(text in task.name for text in only)]
    with ExitStack() as waiting:
        folder = waiting.enter_context(tempfile.TemporaryDirectory())
        archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        now, before = (Asked(sources, waiting) for sources in (ROOT / "src", Path(folder) / "src"))
        for each in (now, before):
            each.ask(chosen[0], 2)  # imports, and what is compiled
        return {
            task.name: compare(now.ask(task, answers), before.ask(task, answers))
            for task in track(chosen, "asking", console=Console(stderr=True))
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="what to compare with, as git names it")
    parser.add_argument("--answers", type=int, default=8, help="to each task")
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="tasks whose names have one of these")
    parser.add_argument("--all", action="store_true", help="print each task, not only kinds of questions")
    given = parser.parse_args()
    found = measured(given.revision, given.answers, given.only)
    table = Table("task", "error, now over before", "CPU time", title=f"this code beside {given.revision}")
    kinds = list(dict.fromkeys(name.partition(", ")[0] for name in found))
    if given.all:
        for name, (error, noise, seconds) in found.items():
            table.add_row(name, f"{error:.2f} ± {error * noise:.2f}", f"{seconds:.2f}")
        table.add_section()
    for kind in (*kinds, ""):
        inside = np.array([each for name, each in found.items() if name.startswith(kind)])
        error, noise = np.exp(np.log(inside[:, 0]).mean()), np.sqrt(np.sum(inside[:, 1] ** 2)) / len(inside)
        worst = f"{np.exp(np.log(inside[:, 2]).mean()):.2f} (worst {inside[:, 2].max():.2f})"
        table.add_row(kind or "all", f"{error:.3f} ± {error * noise:.3f} (worst {inside[:, 0].max():.2f})", worst)
    Console().print(table)


if __name__ == "__main__":
    answer_questions() if sys.argv[1:] == [ASKING] else main()
