"""Areas under ROC curves from people who trust nobody: one round, two rounds, and the pruned recursion of the paper.

`python benchmarks/local_auc.py [--releases N] [--only WORD]`. Labels are public; each person sends one report with the
whole loss. Mean absolute errors over N releases (6 unless said; ten times as many where people are few) beside what is
wanted, what the recursion of Bell, Bellet, Gascon and Kulkarni (2019) had in a measurement before, and what
`dp.local.compare_area_protocols` forecasts; and how long the server takes. `coverage_of_intervals.py reports` has the
intervals.
Nothing is asserted. The patients of Figure 3 are in `papers/u_statistics/run.py`.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from functools import partial
from math import sqrt
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "papers" / "u_statistics"))

import auc_figures
from auc_pruned import Reported, pruned_area, reported

import dpcurves as dp
from dpcurves.noise.randomness import Randomness
from dpcurves_local import FirstClass, compare_area_protocols
from dpcurves_local.responses import HadamardResponse
from dpcurves_local.responses.randomiser import from_octets, to_octets

FloatArray = NDArray[np.float64]


class Setting(NamedTuple):
    """Scores of two classes, and what is asked of them."""

    scores: str
    log_cells: int
    positives: int
    negatives: int
    epsilon: int
    one: float
    two: float | None
    printed: str


SETTINGS = (
    Setting("beta", 9, 500_000, 500_000, 1, 0.0046, 0.0036, "0.0071"),
    Setting("beta", 12, 500_000, 500_000, 1, 0.0045, 0.0037, "0.0091"),
    Setting("beta", 16, 500_000, 500_000, 1, 0.007, 0.005, "0.0097"),
    Setting("beta", 9, 661, 5000, 5, 0.045, 0.019, "0.074"),
    Setting("beta", 9, 661, 5000, 1, 0.09, 0.052, "0.19"),
    Setting("two cells", 16, 1_000_000, 1_000_000, 1, 0.001, None, "0.048"),
    Setting("uniform", 16, 1_000_000, 1_000_000, 1, 0.0045, 0.002, "0.0050"),
)


def main() -> None:
    """Print a table of errors, line by line, and the time of the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=6)
    parser.add_argument("--only", default="", help="settings whose name, such as 'beta 9', has this word; or 'server'")
    asked, console = parser.parse_args(), Console(width=150)
    for setting in SETTINGS:
        if asked.only in f"{setting.scores} {setting.log_cells}":
            console.print(table_of(setting, asked.releases))
    if asked.only in "server":
        console.print(server())


def table_of(setting: Setting, releases: int) -> Table:
    """Errors of all roads, over the same people."""
    many = releases * (10 if setting.positives < 10**5 else 1)
    found = auc_figures.errors(partial(drawn, setting), setting.log_cells, setting.epsilon, many, seed=1)
    people = f"{setting.positives} + {setting.negatives}"
    table = Table(title=f"{setting.scores}, d = 2^{setting.log_cells}, {people}, epsilon {setting.epsilon}")
    for column in ("road", "error", "+-", "at most", "root mean square", "forecast"):
        table.add_column(column, justify="left" if column == "road" else "right")
    wanted = {"one": str(setting.one), "two": "-" if setting.two is None else str(setting.two)}
    wanted["pruned"] = f"({setting.printed} before)"
    forecast = forecasts(setting)
    for road, words in auc_figures.ROADS.items():
        errors = np.abs(found[road])
        scatter = f"{errors.std(ddof=1) / sqrt(many):.5f}" if many > 1 else ""
        told = f"{errors.mean():.5f}", scatter, wanted.get(road, ""), f"{sqrt((errors**2).mean()):.5f}"
        table.add_row(words, *told, forecast.get(road, ""))
    table.caption = "+-: standard error of the mean; forecast: of scores spread evenly, the standard deviation"
    return table


def forecasts(setting: Setting) -> dict[str, str]:
    """What `compare_area_protocols` tells of the roads that are measured: in two rounds the larger class is first."""
    grid, loss = dp.Grid(0, 1, cells=2**setting.log_cells), dp.PrivacyLoss.pure(setting.epsilon)
    roads = compare_area_protocols(grid, loss, positives=setting.positives, negatives=setting.negatives)
    first = FirstClass.NEGATIVES if setting.negatives >= setting.positives else FirstClass.POSITIVES
    of = {road.first_class: f"{road.error:.5f}" for road in roads}
    return {"one": of[None], "two": of[first]}


def drawn(setting: Setting, chance: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Scores of positives and of negatives."""
    many = setting.positives, setting.negatives
    match setting.scores:
        case "beta":
            return chance.beta(4, 3, many[0]), chance.beta(3, 4, many[1])
        case "uniform":
            return chance.random(many[0]), chance.random(many[1])
        case _:
            return np.full(many[0], 1.0), np.zeros(many[1])


def server() -> Table:
    """How long the aggregator needs for 10^6 people and 2^20 cells, reports in memory: from messages to the area."""
    levels, people, table = 20, 500_000, Table("server, 10^6 people, d = 2^20", "seconds", "area")
    chance, source = np.random.default_rng(1), Randomness.from_seed(1)
    cells = [(chance.beta(*each, people) * 2**levels).astype(np.int64) for each in ((4, 3), (3, 4))]
    sent = [reported(each, levels, Fraction(1), source) for each in cells]
    mixed = [shuffled(each, chance) for each in sent]
    start = process_time()
    both = [Reported(bucketed(*each, levels), Fraction(1)) for each in mixed]
    bucketing = process_time() - start
    found = pruned_area(*both)
    queries = sum(each.queries for each in both)
    table.add_row("pruned recursion, bucketing", f"{bucketing:.3f}", "")
    table.add_row(
        f"pruned recursion, in all ({queries} point queries)", f"{process_time() - start:.3f}", f"{found:.4f}"
    )
    return table


def shuffled(sent: list[NDArray[np.uint8]], chance: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Messages as they come: levels, and responses as numbers."""
    numbers = np.concatenate([from_octets(each) for each in sent])
    level = np.repeat(np.arange(len(sent)), [len(each) for each in sent])
    order = chance.permutation(len(level))
    return level[order], numbers[order]


def bucketed(level: NDArray[np.int64], numbers: NDArray[np.int64], levels: int) -> list[NDArray[np.uint8]]:
    """Responses level by level."""
    order = np.argsort(level.astype(np.uint8), kind="stable")
    ends = np.cumsum(np.bincount(level, minlength=levels))[:-1]
    parts = np.split(numbers[order], ends)
    return [to_octets(part, HadamardResponse(2 ** (at + 1), Fraction(1)).octets) for at, part in enumerate(parts)]


if __name__ == "__main__":
    main()
