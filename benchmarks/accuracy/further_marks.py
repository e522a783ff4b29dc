"""Marks that summarise other benchmarks: tables that chose no constant, the first paper's tasks, streams without a
horizon, the worst prefix, means without bounds, and the cost of a distribution function beside an earlier revision.
"""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import before_and_after
import means_of_long_tails
import numpy as np
import smooth_distributions
import streams_prefixes

from dpcurves.data import Axis, Grid
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import Neighbours
from dpcurves.queries import CountQuery, CountUse
from dpcurves_streams.distributions import BufferedPrefixes, PIdentityPrefixes
from dpcurves_streams.mechanisms import STREAMS, BufferedCounter

from . import data, distributions, peers
from .distributions import KS, RMSE, W1, Found, Setup
from .lines import BROAD, Run
from .mark_rows import MarkRow
from .shapes import Half
from .tables import CELLS, TABLES
from .targets import POISSON_RECORDS

TABLE_MARKS = {KS: 1.03, W1: 1.0, RMSE: 1.0}
"""Ratio of the mean error to that of the best method in hindsight, geometric mean over the tables."""
WORST_TABLE = 1.4
"""Largest ratio of a single table."""
TABLES_BEFORE = {KS: "1.09", W1: "1.02", RMSE: "1.04"}
MIDDLE, MIDDLE_BEFORE = (1_000, 30_000), {KS: "1.19", W1: "1.12", RMSE: "1.12"}
"""Records times epsilon of most users, and the ratios of these tables where the work began."""


def measure_tables(epsilon: float, releases: int) -> Iterator[MarkRow]:
    """Compare the default with the best of all methods in hindsight on each of the tables, under replace-one."""
    peers.set_up(lambda _: None)
    run = Run(BROAD._replace(draws=max(releases // 2, 1), releases=2, cells=CELLS), 1, tuple(Half), data.folder())
    regime = next(each for each in distributions.REGIMES if each.name == f"tables, epsilon {epsilon:g}")
    setups = [
        Setup(regime, table, 0, epsilon, Neighbours.REPLACE_ONE, "pure")
        for table in TABLES if distributions.is_there(table, run)
    ]  # fmt: skip
    found = [distributions.measured(setup, run) for setup in setups]
    middle = [table for table in found if MIDDLE[0] <= table.records * epsilon <= MIDDLE[1]]
    yield from summarise_tables(f"{len(found)} tables, epsilon {epsilon:g}", found, TABLES_BEFORE, releases)
    name = f"of these {len(middle)} with n * epsilon {MIDDLE[0]:,} to {MIDDLE[1]:,}, epsilon {epsilon:g}"
    yield from summarise_tables(name, middle, MIDDLE_BEFORE, releases)


def summarise_tables(name: str, found: Sequence[Found], before: dict[str, str], releases: int) -> Iterator[MarkRow]:
    """Return for each metric the geometric mean over tables, and the worst table."""
    for metric, mark in TABLE_MARKS.items():
        pairs = [table.ratio(metric, distributions.ANY) for table in found]
        ratios, noise = (np.array(column) for column in zip(*pairs, strict=True))
        mean, worst = float(np.exp(np.log(ratios).mean())), int(ratios.argmax())
        error = mean * float(np.sqrt((noise**2).sum())) / len(noise)
        yield MarkRow("A", name, f"{metric}: geometric mean", before[metric], mean, error, mark, releases)
        yield MarkRow(
            "A", name, f"{metric}: worst", "", float(ratios[worst]), float(ratios[worst] * noise[worst]), WORST_TABLE,
            releases, found[worst].setup.task,
        )  # fmt: skip


PAPER_MARKS = {
    "normal": (("KS, x 1e-3", 0, 1e3, 3.5), ("W1, x 1e-3", 1, 1e3, 5.0)),
    "pois15": (("RMSE, records", 2, POISSON_RECORDS, 16.5),),
}
"""Name, metric, unit and mark of errors of the first paper's tasks."""
PAPER_BEFORE = {"normal": "", "pois15": "20.2"}


def measure_first_paper(releases: int) -> Iterator[MarkRow]:
    """Measure errors of the first paper's tasks, 10,000 records and 2**15 cells of Poisson counts, at epsilon 1."""
    for name, errors in smooth_distributions.papers(Namespace(releases=releases)):
        for figure, metric, unit, mark in PAPER_MARKS.get(name, ()):
            values = errors["ours"][:, metric] * unit
            error = float(values.std(ddof=1) / len(values) ** 0.5)
            yield MarkRow("A", f"first paper's task: {name}", figure, PAPER_BEFORE[name], float(values.mean()), error,
                          mark, len(values))  # fmt: skip


def measure_endless_streams() -> Iterator[MarkRow]:
    """Compare the squared error of streams without a horizon with that of a known one, under zCDP."""
    terms = streams_prefixes.CONCENTRATED, streams_prefixes.ONE
    plan = BufferedCounter().plan(streams_prefixes.totals(None), *terms)
    endless = plan.distribution.require_type(BufferedPrefixes)
    ratios = {
        power: endless.mean_variance(2**power)
        / BufferedCounter().plan(streams_prefixes.totals(2**power), *terms).error ** 2
        for power in range(0, 25, 2)
    }
    worst = max(ratios, key=lambda power: ratios[power])
    yield MarkRow("B", "zCDP, stream without a horizon, 1 to 2^24 time steps", "squared error over a known one's", "",
                  float(ratios[worst]), 0.0, 1.5, beside=f"worst at 2^{worst}; {ratios[24]:.3f} at 2^24")  # fmt: skip


WORST_PREFIXES = {64: ("52.0", 41.9), 256: ("106.2", 74.1)}
"""Squared error of the worst prefix where the work began, and of the best known strategies, by number of cells."""


def measure_worst_prefix() -> Iterator[MarkRow]:
    """Print the squared error of the worst prefix of pure streams, and of counts at once."""
    terms = streams_prefixes.PURE, streams_prefixes.ONE
    for cells, (before, mark) in WORST_PREFIXES.items():
        plan = STREAMS.plan(streams_prefixes.totals(cells), *terms)
        stream = plan.distribution.require_type(PIdentityPrefixes)
        query = CountQuery((Axis("x", Grid(0, 1, cells=cells)),), CountUse.PREFIXES)
        at_once = AUTO.plan(query, *terms).distribution.require_type(IntervalSums)
        worst = max(float(stream.variance(end)) for end in range(1, cells + 1))
        tree = float(at_once.prefix_variances(total_is_public=False).max())
        yield MarkRow("B", f"pure, epsilon 1, {cells} cells, stream", "squared error of the worst prefix", before,
                      worst, 0.0, mark, beside=f"all at once {tree:.1f}")  # fmt: skip


def measure_means_without_bounds(releases: int) -> Iterator[MarkRow]:
    """Measure how often 95 % intervals of means without bounds hold, on columns with long tails: the worst column."""
    with warnings.catch_warnings(action="ignore"):
        columns = {
            name: means_of_long_tails.measure_column(distribution(), 5_000, releases, 1.0)
            for name, distribution in means_of_long_tails.DISTRIBUTIONS.items()
        }
    for figure, column, mark in (
        ("least share that holds", 0, means_of_long_tails.HELD), ("least share finite", 3, means_of_long_tails.FINITE),
    ):  # fmt: skip
        name = min(columns, key=lambda name: columns[name].shares[column])
        share = float(columns[name].shares[column])
        yield MarkRow("D", f"means without bounds, {len(columns)} columns", figure, "", share,
                      (share * (1 - share) / releases) ** 0.5, mark, releases, name, is_least=True)  # fmt: skip


FIRST_REVISION = "c5294500"
"""The commit where the work on accuracy began."""


def measure_cdf_cost(answers: int) -> Iterator[MarkRow]:
    """Compare the processor seconds of a distribution function with those of the revision where the work began."""
    found = before_and_after.measured(FIRST_REVISION, answers, ["cdf of"])
    for kind in ("cdf of 64 cells", "cdf of 4,096 cells"):
        logs = np.log([seconds for name, (_, _, seconds) in found.items() if name.startswith(kind)])
        mean, error = float(np.exp(logs.mean())), float(logs.std(ddof=1) / len(logs) ** 0.5)
        name, figure = f"`dp.cdf` {kind.removeprefix('cdf ')}, {len(logs)} tasks", f"CPU over that of {FIRST_REVISION}"
        yield MarkRow("D", name, figure, "1", mean, mean * error, 1.5, answers, f"worst {np.exp(logs.max()):.2f}")


class HasReleases(Protocol):
    """Says how many releases each case has."""

    @property
    def releases(self) -> int: ...


MOST_TABLE_RELEASES = 8
"""Releases of each table, at most: a release of all methods takes a third of a second."""


def measure_tables_at(epsilon: float) -> Callable[[HasReleases], Iterator[MarkRow]]:
    """Return a task that measures the tables at one epsilon."""
    return lambda effort: measure_tables(epsilon, min(effort.releases, MOST_TABLE_RELEASES))


TABLE_TASKS = {f"tables, epsilon {epsilon:g}": measure_tables_at(epsilon) for epsilon in (0.1, 1.0)}
"""Each takes minutes of one core."""
