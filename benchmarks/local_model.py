"""The local model: how fast people's answers are randomised and added up, and how exact what is read from them is.

`python benchmarks/local_model.py [--releases N]`. Microseconds of one core for each report, in batches of 10^5; the
variance of the count of a rare answer, per report; mean absolute errors over N releases (8 unless said) of distribution
functions, Gini's mean difference and areas under ROC curves whose labels are public, beside the figures of Bell,
Bellet, Gascon and Kulkarni (2019, Algorithm 1 and section 4) and how often the 95% bands and intervals held. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import kendalltau

import dpcurves as dp
from dpcurves.noise.randomness import Randomness
from dpcurves_local import Collection, Task
from dpcurves_local.responses import RANDOMISERS
from dpcurves_local.trust import make_messages

FloatArray = NDArray[np.float64]
BATCH = 10**5
MILLION = 10**6
AREAS = (
    ("beta", 2**9, 500_000, 500_000, 1, 0.0071),
    ("beta", 2**12, 500_000, 500_000, 1, 0.0091),
    ("beta", 2**9, 661, 5000, 5, 0.074),
    ("beta", 2**9, 661, 5000, 1, 0.19),
)
"""Scores, cells, positives, negatives, epsilon, and the error of the pruned recursion."""
GINIS = ((32, 0.0059), (1024, 0.206))
"""Cells, and the error of Algorithm 1."""


def main() -> None:
    """Print four tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=8)
    releases, console = parser.parse_args().releases, Console()
    console.print(speed())
    console.print(curves(releases))
    console.print(pairs())
    console.print(areas(releases))


def speed() -> Table:
    """How long randomising and adding up take, and how much a rare count scatters."""
    table = titled("randomising at epsilon 1", "answers", "randomiser", "octets", "us", "us to add up", "variance")
    for answers in (2, 16, 64, 1024):
        values = np.random.default_rng(1).integers(0, answers, BATCH)
        for kind in RANDOMISERS:
            way = kind(answers, Fraction(1))
            way.draw(values[:10], Randomness.from_system())
            start = process_time()
            reports = way.draw(values, Randomness.from_system())
            drawn = process_time()
            way.count_support(reports)
            times = (f"{(end - begin) / BATCH * 1e6:.3f}" for begin, end in ((start, drawn), (drawn, process_time())))
            table.add_row(str(answers), way.NAME, str(way.octets), *times, f"{way.variance():.3f}")
    return table


def curves(releases: int) -> Table:
    """Distribution functions, and what is read from them."""
    table = titled("a million people, epsilon 1", "cells", "read", "of the paper", "error", "half width", "held")
    for cells, printed in GINIS:
        errors: dict[str, list[tuple[float, float, bool]]] = {"KS": [], "Gini": []}
        for seed in range(releases):
            values = np.random.default_rng(seed).beta(2, 5, MILLION)
            curve = released(values, dp.Grid(0, 1, cells=cells), 1, seed)
            errors["KS"].append(of_curve(curve, values))
            errors["Gini"].append(of_statistic(dp.gini_mean_difference(curve), gini(values)))
        for name, paper in (("KS", "-"), ("Gini", str(printed))):
            table.add_row(str(cells), name, paper, *in_words(errors[name]))
    return table


def pairs() -> Table:
    """How long a million reports take on their way to a statistic of pairs, of 1,024 cells."""
    columns = ("statistic", "read from", "add up reports", "read curve", "value", "interval", "value found", "exact")
    table = titled("a million reports, epsilon 1, 1,024 cells: seconds", *columns)
    chance, line, side = np.random.default_rng(1), dp.Grid(0, 1, cells=1024), dp.Grid(0, 1, cells=32)
    x = chance.beta(2, 5, MILLION)
    y = np.clip(x + 0.2 * chance.standard_normal(MILLION), 0, 1)
    cells = np.bincount(line.cell_of(x), minlength=1024).astype(np.float64)
    alike = float((cells * (cells - 1)).sum()) / MILLION / (MILLION - 1)
    tau = float(kendalltau(side.cell_of(x), side.cell_of(y)).statistic)
    wanted: tuple[tuple[str, Any, Any, Any, float], ...] = (
        ("Gini", dp.CdfQuestion("x", line), line.cell_of(x), dp.gini_mean_difference, gini(x)),
        ("Gini", dp.HistogramQuestion("x", line), line.cell_of(x), by_cells, gini(x)),
        ("Renyi-2", dp.HistogramQuestion("x", line), line.cell_of(x), dp.renyi2_entropy, -float(np.log(alike))),
        ("Kendall", dp.Histogram2DQuestion("x", "y", side, side), 32 * side.cell_of(x) + side.cell_of(y),
         dp.kendall_tau_b, tau),
    )  # fmt: skip
    names = np.arange(MILLION, dtype="<u8").view(np.uint8).reshape(-1, 8)
    for name, question, slots, read, exact in wanted:
        task = Task(question, dp.PrivacyLoss.pure(1), people=MILLION)
        sent = task.report_format.encode_reports(names, make_messages(task.plan, slots, Randomness.from_seed(1)))
        read(added(task, sent).curve())  # compiled before it is timed
        times = [process_time()]
        collection = added(task, sent)
        times.append(process_time())
        curve = collection.curve()
        times.append(process_time())
        found = read(curve)
        times.append(process_time())
        found.interval(0.95)
        times.append(process_time())
        spent = (f"{seconds:.3f}" for seconds in np.diff(times))
        table.add_row(name, type(curve).__name__, *spent, f"{found.value:.4f}", f"{exact:.4f}")
    return table


def added(task: Task, sent: bytes) -> Collection:
    """All reports, added up."""
    collection = Collection(task)
    collection.add(sent)
    return collection


def by_cells(curve: dp.Histogram) -> dp.UStatistic:
    """Gini's mean difference by Algorithm 1."""
    return dp.u_statistic(curve, lambda x, y: np.abs(x - y))


def areas(releases: int) -> Table:
    """Areas under ROC curves, one round, each class on its own."""
    table = titled("areas, labels public", "cells", "people", "epsilon", "of the paper", "error", "half width", "held")
    for _, cells, positives, negatives, epsilon, printed in AREAS:
        grid, found = dp.Grid(0, 1, cells=cells), []
        for seed in range(releases if positives > 10**5 else 8 * releases):
            chance = np.random.default_rng(seed)
            high, low = chance.beta(4, 3, positives), chance.beta(3, 4, negatives)
            exact = float(np.searchsorted(np.sort(low), high).mean() / negatives)
            pair = (released(scores, grid, epsilon, 2 * seed + own) for own, scores in enumerate((low, high)))
            found.append(of_statistic(dp.area_between(*pair), exact))
        people = f"{positives} + {negatives}"
        table.add_row(str(cells), people, str(epsilon), str(printed), *in_words(found))
    return table


def released(values: FloatArray, grid: dp.Grid, epsilon: int, seed: int) -> dp.CDF:
    """What an aggregator reads from the reports of these people."""
    task = Task(dp.CdfQuestion("x", grid), dp.PrivacyLoss.pure(epsilon), people=len(values))
    collection = Collection(task)
    collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(seed)))
    curve: dp.CDF = collection.curve()
    return curve


def of_curve(curve: dp.CDF, values: FloatArray) -> tuple[float, float, bool]:
    """The largest error, half of the widest place of the band, and whether it held."""
    exact = np.searchsorted(np.sort(values), curve.x) / len(values)
    exact[-1] = 1.0
    lower, upper = curve.band(0.95)
    held = bool(np.all((lower <= exact + 1e-12) & (exact <= upper + 1e-12)))
    return float(np.abs(curve.y - exact).max()), float((upper - lower).max()) / 2, held


def of_statistic(found: dp.UStatistic, exact: float) -> tuple[float, float, bool]:
    """The error, half of the interval, and whether it held."""
    low, high = found.interval(0.95)
    return abs(found.value - exact), (high - low) / 2, low <= exact <= high


def gini(values: FloatArray) -> float:
    """Work out the statistic of the values themselves."""
    ordered, people = np.sort(values), len(values)
    ranks = 2 * np.arange(1, people + 1) - people - 1
    return 2 * float(ranks @ ordered) / (people * (people - 1))


def in_words(found: list[tuple[float, float, bool]]) -> tuple[str, str, str]:
    """Means, and how many held."""
    errors, widths, held = zip(*found, strict=True)
    return f"{np.mean(errors):.4f}", f"{np.mean(widths):.4f}", f"{sum(held)} of {len(held)}"


def titled(title: str, *columns: str) -> Table:
    """An empty table."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


if __name__ == "__main__":
    main()
