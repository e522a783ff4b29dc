"""Which mechanism for which data: `python benchmarks/which_mechanism.py [--picture FILE | --hints]`.

The largest error of a distribution function of 10,000 records on 4,096 cells, against that of the records themselves:
mean of 24 releases, replace-one. With --picture it is drawn; `docs/images/mechanisms.png` is that picture. With
--hints only what hints change is printed: largest and root mean square errors over those without one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from accuracy.answering import COLUMN, answer
from accuracy.data import Counts, FloatArray, Sample, Task, normal
from accuracy.errors import errors_of
from accuracy.measuring import Size, jobs_of
from accuracy.methods import Job, ours
from accuracy.one_turn import counted, least_squares
from baselines import path_graph, regular_bounds
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dpcurves.curves import AdaptivePartition, CdfQuestion, QuantilePartition
from dpcurves.data import Grid
from dpcurves.mechanisms import FlatHistogram, LinearMechanism, SquareRoot, TreeSums
from dpcurves.noise import Randomness, discrete_laplace
from dpcurves.privacy import PrivacyLoss, rho_for
from dpcurves.smoothing import Exactly, project_isotonic_l2
from dpcurves.summaries import isotonic_projection

Way = Callable[[Job], FloatArray]
SIZE = Size(draws=4, releases=24, epsilons=(), exponents=())
PIECES = 64
HINTS = "spread", "peaked", "atoms"
PURE, GAUSSIAN = PrivacyLoss.pure(1), PrivacyLoss.zcdp(rho_for(1, 1e-6))
COLORS = {"spread": "#0072b2", "peaked": "#d55e00", "atoms": "#009e73"}
MARKS = {"spread": "o", "peaked": "s", "atoms": "^"}


def atoms() -> Task:
    """10,000 draws of N(0, 1) of which each is rounded to a half."""
    grid = Grid(-5, 5, cells=4096)

    def draw(number: int) -> Counts:
        values = np.random.default_rng([9, number]).normal(0, 1, 10_000).clip(-5, 5)
        return np.bincount(grid.cell_of(np.round(2 * values) / 2), minlength=4096)

    return Task("atoms", grid, draw, 4)


TASKS = (normal("spread", 0, 1, 4), normal("peaked", 0.3, 0.01, 4), atoms())


def of_one_turn(mechanism: LinearMechanism, read: Callable[..., FloatArray], job: Job) -> FloatArray:
    return read(counted(job.sample, mechanism, job.loss, job.seed))


def hinted(hint: str, job: Job) -> FloatArray:
    return answer(CdfQuestion(COLUMN, job.sample.grid, hint=hint), job.sample, job.loss, job.seed).y


def cuts(job: Job) -> FloatArray:
    return answer(
        CdfQuestion(COLUMN, job.sample.grid, method=QuantilePartition(PIECES)), job.sample, job.loss, job.seed
    ).y


def partition(job: Job) -> FloatArray:
    return answer(CdfQuestion(COLUMN, job.sample.grid, method=AdaptivePartition()), job.sample, job.loss, job.seed).y


def path(read: Callable[..., FloatArray], job: Job) -> FloatArray:
    """Every cell of a noise path at the tight scale, L / epsilon without the root, as thresholds would be answered."""
    sample = job.sample
    bounds = regular_bounds(sample.grid.cells, 2)
    bounds = [ends for ends in bounds if len(ends) > 2]
    randomness, noisy = Randomness.from_seed(job.seed), np.cumsum(sample.counts).astype(np.float64)
    for ends in bounds:
        noise = discrete_laplace.sample(len(bounds) / job.loss.epsilon, len(ends) - 1, randomness)
        noisy += np.repeat(noise, np.diff(ends))
    return np.append(0.0, read(noisy, sample, bounds) / sample.records)


def isotonic(noisy: FloatArray, sample: Sample, bounds: list[np.ndarray]) -> FloatArray:
    return np.clip(isotonic_projection(noisy), 0, sample.records)


def smoothed(noisy: FloatArray, sample: Sample, bounds: list[np.ndarray]) -> FloatArray:
    return project_isotonic_l2(noisy, path_graph(bounds, [1.0] * len(bounds)), Exactly(float(sample.records)))


WAYS: Mapping[PrivacyLoss, Mapping[str, Way]] = {
    PURE: {
        "dp.cdf": ours,
        "dp.cdf, hint spread": partial(hinted, "spread"),
        "dp.cdf, hint peaked": partial(hinted, "peaked"),
        "dp.cdf, hint atoms": partial(hinted, "atoms"),
        "quantile cuts": cuts,
        "PrivTree, then a tree": partition,
        "tree, least squares": partial(of_one_turn, TreeSums(), least_squares),
        "flat, least squares": partial(of_one_turn, FlatHistogram(), least_squares),
        "noise path, smoothed": partial(path, smoothed),
        "noise path, isotonic": partial(path, isotonic),
    },
    GAUSSIAN: {
        "dp.cdf": ours,
        "square root": partial(of_one_turn, SquareRoot(), least_squares),
        "tree, least squares": partial(of_one_turn, TreeSums(), least_squares),
        "flat, least squares": partial(of_one_turn, FlatHistogram(), least_squares),
    },
}
NAMES = {PURE: "epsilon 1", GAUSSIAN: "zCDP: (1, 1e-6)"}
Errors = dict[PrivacyLoss, dict[str, dict[str, float]]]


def measured() -> Errors:
    """The mean of the largest errors, in percent of the records."""
    cells = [(loss, name, task) for loss, ways in WAYS.items() for name in ways for task in TASKS]
    found: Errors = {loss: {name: {} for name in ways} for loss, ways in WAYS.items()}
    for loss, name, task in track(cells, "measuring"):
        jobs = jobs_of(task, loss, SIZE)
        largest = [errors_of(WAYS[loss][name](job), job.sample)[0] for job in jobs]
        found[loss][name][task.name] = 100 * float(np.mean(largest))
    return found


def show(errors: Errors) -> None:
    for loss, rows in errors.items():
        table = Table("largest error, % of the records", *(task.name for task in TASKS), title=NAMES[loss])
        for name, row in rows.items():
            table.add_row(name, *(f"{value:.2f}" for value in row.values()))
        Console().print(table)


def draw(errors: Errors, file: Path) -> None:
    """A panel for each loss, a line for each way, a mark for each kind of data."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True, height_ratios=[len(rows) + 1 for rows in errors.values()])
    for axes, (loss, rows) in zip(panels, errors.items(), strict=True):
        places = np.arange(len(rows))[::-1]
        for task in TASKS:
            values = [row[task.name] for row in rows.values()]
            axes.plot(values, places, MARKS[task.name], color=COLORS[task.name], label=task.name, markersize=7)
        axes.set_yticks(places, list(rows))
        axes.set(title=NAMES[loss], xscale="log", ylim=(-0.6, len(rows) - 0.4))
        axes.grid(axis="both", color="0.92")
        axes.set_axisbelow(True)
    panels[0].legend(loc="lower right")
    panels[1].set_xlabel("largest error of the curve, % of the 10,000 records")
    ticks = [0.2, 0.5, 1, 2, 5, 10, 20, 50]
    panels[1].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[1].set_xticks([], minor=True)
    figure.savefig(file, dpi=110)


def show_hints() -> None:
    """Errors with each hint over those without one, on the same records, with standard errors."""
    table = Table("records", "hint", "largest error", "root mean square")
    for task in track(TASKS, "measuring"):
        plain = _both(ours, task)
        for hint in HINTS:
            told = _both(partial(hinted, hint), task)
            ratio = told.mean(axis=0) / plain.mean(axis=0)
            spread = ratio * np.hypot(*(each.std(axis=0, ddof=1) / each.mean(axis=0) for each in (told, plain)))
            each = (f"{one:.2f} ± {se:.2f}" for one, se in zip(ratio, spread / SIZE.releases**0.5, strict=True))
            table.add_row(task.name, hint, *each)
    Console().print(table)


def _both(way: Way, task: Task) -> FloatArray:
    """The largest and the root mean square error of each release: (releases, 2)."""
    found = [errors_of(way(job), job.sample) for job in jobs_of(task, PURE, SIZE)]
    return np.array([(largest, square) for largest, _, square in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, help="draw it into this file")
    parser.add_argument("--hints", action="store_true", help="print only what hints change")
    options = parser.parse_args()
    if options.hints:
        show_hints()
        return
    errors = measured()
    show(errors)
    if options.picture:
        draw(errors, options.picture)


if __name__ == "__main__":
    main()
