"""Tables of accuracy: figures, marks, and for each miss its reason.

`python benchmarks/accuracy_marks.py [--parts A B C D] [--quick] [--releases N] [--only TEXT ...] [--json FILE]
[--kept]`. Part A is the default distribution function over the best of simple methods, as `simple_methods.py` measures
it; B are strategies beside the least errors that are known; C are widths of intervals over errors; D are questions
without a range, and processor seconds. Standard errors stand in brackets; reasons are those of
`accuracy/mark_reasons.toml`. Rows store the commit that was measured. A file of `--json` keeps rows of earlier runs
that are not measured now, and `--kept` prints them without measuring. `--quick` has few releases and settings, and
takes some minutes of one core. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time
from typing import NamedTuple

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

import optimum
import simple_methods
import unknown
from accuracy.command_cost import measure_command, measure_query, write_doubles
from accuracy.data import FloatArray
from accuracy.further_marks import (
    TABLE_TASKS,
    measure_cdf_cost,
    measure_endless_streams,
    measure_first_paper,
    measure_means_without_bounds,
    measure_worst_prefix,
)
from accuracy.interval_rows import ROWS, IntervalRow, draw_releases, measure_width
from accuracy.mark_rows import MarkRow, show_rows
from accuracy.public_cells import KNOWN_CELLS, REGIME_CELLS, PublicCell

import dpcurves as dp
from dpcurves.curves import CdfQuestion
from dpcurves.data import Axis, Categories, Grid
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse
from dpcurves_streams.mechanisms import STREAMS
from dpcurves_streams.queries import TimeStepQuery

WIDTH = 180
"""Characters of the report where no terminal says otherwise."""
ONE = AddRemove(EACH_RECORD)


class Effort(NamedTuple):
    """How much is measured.

    Attributes:
        releases: Releases of each case of parts A and C.
        step: Every so many settings of part A.
        searches: Releases of each case of questions without a range.
        repeats: Runs of each cost, of which the median counts.
        rows: Rows of the file that commands count.
        records: Numbers of records of questions without a range.
    """

    releases: int
    step: int
    searches: int
    repeats: int
    rows: int
    records: tuple[int, ...]


USUAL = Effort(releases=60, step=1, searches=3, repeats=5, rows=10**8, records=(1_000, 10_000, 100_000))
QUICK = Effort(releases=8, step=4, searches=2, repeats=1, rows=10**7, records=(1_000, 10_000))


# A. The default curve beside simple methods.

MOST_RELEASES = 24
"""Releases of each cell of the public lists, at most."""


class Compared(NamedTuple):
    """A cell of a public list, ratios to the best simple method, standard errors of their logarithms, and the best."""

    cell: PublicCell
    ratios: FloatArray
    noise: FloatArray
    best: Sequence[str]


KNOWN, SIZES = "known regimes", "sizes and shapes"


def beside_simple_methods(effort: Effort) -> Iterator[MarkRow]:
    """Measure the known regimes one by one, and summarise them and the list by size."""
    releases = min(effort.releases, MOST_RELEASES)
    for title, cells in ((KNOWN, KNOWN_CELLS), (SIZES, REGIME_CELLS)):
        compared = []
        for cell in cells[:: effort.step]:
            errors = simple_methods.measure_cell(cell, releases, uses_packages=title == KNOWN)
            compared.append(Compared(cell, *simple_methods.compare_cell(errors, simple_methods.least_errors(cell))))
        yield from rows_of_list(title, compared, releases)


def rows_of_list(title: str, compared: Sequence[Compared], releases: int) -> Iterator[MarkRow]:
    """Return the marks of a list, and before them each known regime."""
    if title == KNOWN:
        yield from (_row_of_cell(*row, releases) for row in compared)
    ratios, noise = (np.array([row[column] for row in compared]) for column in (1, 2))
    for index, metric in enumerate(simple_methods.METRICS):
        values, name = ratios[:, index], f"{len(compared)} {title}"
        error = float(np.median(values * noise[:, index]))
        middle, most = (float(np.quantile(values, level)) for level in (0.5, 0.95))
        yield MarkRow("A", name, f"{metric}: median", "", middle, error / len(compared) ** 0.5,
                      simple_methods.MEDIAN_MARK, releases)  # fmt: skip
        yield MarkRow("A", name, f"{metric}: 95 % at most", "", most, error, simple_methods.MOST_MARK, releases)


def _row_of_cell(
    cell: PublicCell, ratios: FloatArray, noise: FloatArray, best: Sequence[str], releases: int
) -> MarkRow:
    """Return the row of a regime: the ratio of the metric that is the farthest behind."""
    worst = int(ratios.argmax())
    beside = " / ".join(f"{ratio:.2f}" for ratio in ratios) + f"; {best[worst]}"
    today, error = float(ratios[worst]), float(ratios[worst] * noise[worst])
    return MarkRow("A", cell.name, "worst of KS / W1 / RMSE", "", today, error, simple_methods.WORST_MARK, releases,
                   beside)  # fmt: skip


EDGES = 64
SAME_EDGES = ("normal", 1_000, 0.1), ("log-normal", 3_000, 1), ("blocks", 10_000, 1), ("trend .3", 10_000, 0.1)
"""Shapes, records and epsilon of curves that are read at the same 64 edges off grids of several sizes."""


def same_edges(effort: Effort) -> Iterator[MarkRow]:
    """Compare the root mean square error at the same edges off each grid with that off the best grid."""
    grids = 64, 256, 1_024, 4_096
    for shape, records, epsilon in SAME_EDGES:
        means = {}
        for cells in grids:
            cell = PublicCell(shape, records, epsilon, cells)
            errors = np.array([_errors_at_edges(cell, seed) for seed in range(effort.releases)])
            means[cells] = float(errors.mean()), float(errors.std(ddof=1) / len(errors) ** 0.5)
        best, worst = min(means, key=lambda cells: means[cells]), max(means, key=lambda cells: means[cells])
        ratio = means[worst][0] / means[best][0]
        error = ratio * float(np.hypot(*(means[cells][1] / means[cells][0] for cells in (best, worst))))
        beside = ", ".join(f"{cells} cells {mean:.4f}" for cells, (mean, _) in means.items())
        yield MarkRow("A", f"{EDGES} edges off any grid: {shape}, n {records:g}, eps {epsilon:g}", "over the best grid",
                      "2.8" if shape == "normal" else "", ratio, error, 1.1, effort.releases, beside)  # fmt: skip


def _errors_at_edges(cell: PublicCell, seed: int) -> float:
    """Return the root mean square error at 64 edges of one release."""
    sample = cell.sample(np.random.default_rng([seed, cell.cells]))
    asked = simple_methods.Ask(
        sample, PrivacyLoss.pure(cell.epsilon), simple_methods.Neighbours.REPLACE_ONE, 1_000 + seed
    )
    step = cell.cells // EDGES
    difference = (simple_methods.ours(asked) - sample.shares)[::step]
    return float((difference**2).mean() ** 0.5)


# B. Strategies beside the optimum.

PURE_MARKS = {64: 28.5, 256: 54.5, 1_024: 93.0, 4_096: 160.0}
BEFORE_PURE = {64: ("33.6", "34.1"), 256: ("69.0", "70.1"), 1_024: ("116.9", "117.9"), 4_096: ("", "191.5")}
BEFORE_GAUSSIAN = {64: ("4.96", "4.84"), 256: ("7.12", "6.96"), 1_024: ("9.67", "9.49"), 4_096: ("12.61", "12.40")}
"""Squared records by number of cells: all at once, and as a stream."""
GAUSSIAN_RATIO = 1.03


def strategies(effort: Effort) -> Iterator[MarkRow]:
    """Print the mean squared error of a prefix under pure and under zero-concentrated privacy."""
    state = (Categories("state", ("a",)),)
    for loss, marks, befores in (
        (PrivacyLoss.pure(1), PURE_MARKS, BEFORE_PURE),
        (PrivacyLoss.zcdp("0.5"), {cells: GAUSSIAN_RATIO * _least(cells) for cells in PURE_MARKS}, BEFORE_GAUSSIAN),
    ):
        word = "pure, epsilon 1" if marks is PURE_MARKS else "zCDP, rho 1/2"
        for cells, mark in marks.items():
            best = optimum.BEST_PURE[cells] if marks is PURE_MARKS else _least(cells)
            use = CountUse.PREFIXES if loss.is_pure else CountUse.UNEVEN  # where nothing is left to smooth
            at_once = CountQuery((Axis("x", Grid(0, 1, cells=cells)),), use)
            stream = TimeStepQuery(state, cells, read=CountUse.PREFIXES)
            plans = AUTO.plan(at_once, loss, ONE), STREAMS.plan(stream, loss, ONE)
            for way, before, plan in zip(("all at once", "stream"), befores[cells], plans, strict=True):
                error = plan.error**2
                beside = f"{error / best:.3f} of the best known, {best:.4g}"
                yield MarkRow("B", f"{word}, {cells:,} cells, {way}", "squared error of a prefix", before, error, 0.0,
                              round(mark, 2), beside=beside)  # fmt: skip


@cache
def _least(cells: int) -> float:
    """Return the least squared error under zero-concentrated privacy, or a lower bound of it."""
    return optimum.GAUSSIAN_BOUNDS.get(cells) or optimum.least_gaussian_error(cells)


# C. Widths of intervals over errors.


def measure_interval_row(row: IntervalRow, effort: Effort) -> Iterator[MarkRow]:
    """Compare the width of an interval with twice the quantile of the error at its level."""
    for records, before in zip(row.records, _befores(row.before, len(row.records)), strict=True):
        releases = draw_releases(row.read, records, effort.releases)
        width = measure_width(releases[row.told, row.whom])
        beside = f"held {width.held:.2f}" + f", known {width.known:.2f}" * (width.known < 1)
        yield MarkRow("C", f"{row.name}, n {records:,}", "width over error", before, width.ratio, width.error,
                      row.mark, effort.releases, beside)  # fmt: skip


def _befores(text: str, count: int) -> list[str]:
    """Return the figures where the work began, one for each number of records."""
    figures = text.split("; ")
    return figures * count if len(figures) == 1 else figures[:count]


# D. Questions without a range, and cost.


LEAST_RANK_ERROR = 0.1
"""Records: rank errors below this count as equal."""


def without_range(effort: Effort) -> Iterator[MarkRow]:
    """Compare rank errors of quantiles without a range with those on the best grid in hindsight."""
    given = argparse.Namespace(
        seed=1, releases=effort.searches, without=[*unknown.peers()], diffprivlib=None,
    )  # fmt: skip
    ratios, rest = [], []
    for records, epsilon, name in product(effort.records, (0.1, 1.0), unknown.DISTRIBUTIONS):
        found = unknown.ranked((records, epsilon, name), given)
        best = max(found["best grid"], LEAST_RANK_ERROR)
        ratios.append(found["no range"] / best)
        rest.append(found["best, rest"] / best)
    values = np.array(ratios)
    resampled = np.random.default_rng(0).choice(values, (200, len(values)))
    beside = f"on the best grid with what the search leaves: {median(rest):.2f}"
    name = f"quantiles without a range, {len(values)} cases"
    yield MarkRow("D", name, "median ratio to the best grid", "1.36 to 1.5", float(np.median(values)),
                  float(np.median(resampled, axis=1).std()), 1.15, effort.searches, beside)  # fmt: skip
    shares = (resampled <= 1.3).mean(axis=1)
    yield MarkRow("D", name, "share at most 1.3", "0.4", float((values <= 1.3).mean()), float(shares.std()),
                  0.8, effort.searches, is_least=True)  # fmt: skip


def measure_cost(name: str, effort: Effort) -> Iterator[MarkRow]:
    """Measure the processor seconds of a question."""
    before, mark, ask = COSTS[name]
    ask(effort.repeats)  # imports and compiled code are not of the question
    seconds = []
    for seed in range(effort.repeats):
        started = process_time()
        ask(seed)
        seconds.append(process_time() - started)
    yield MarkRow("D", name, "CPU s", before, median(seconds), 0.0, mark, effort.repeats)


def _ask_survival(seed: int) -> None:
    """Ask for a survival curve of 3,000 records on 256 cells."""
    draw = np.random.default_rng(1)
    times, until = draw.weibull(1.3, 3_000) * 30, draw.uniform(5, 90, 3_000)
    dp.survival(
        np.minimum(times, until), times <= until, grid=Grid(0, 90, cells=256), epsilon=1, adjacency=dp.REPLACE_ONE,
        randomness=dp.Randomness.from_seed(seed),
    )  # fmt: skip


def _ask_groups(seed: int) -> None:
    """Ask for distribution functions of 1,000 groups of 100 records on 256 cells."""
    columns = {"x": np.random.default_rng(2).beta(2, 5, 100_000), "g": np.arange(100_000) % 1_000}
    question = CdfQuestion("x", Grid(0, 1, cells=256), by=Categories("g", tuple(range(1_000))))
    with dp.Session(
        columns, budget=PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, randomness=dp.Randomness.from_seed(seed)
    ) as session:
        session.ask(question, PrivacyLoss.pure(1))


def _ask_ledger(seed: int) -> None:
    """Ask questions of a ledger file that is open already."""
    session, _ = _ledger_session()
    for number in range(QUESTIONS):
        session.ask(CdfQuestion("x", Grid(0, 4, cells=4)), PrivacyLoss.pure(1), request=f"{seed} {number}")


@cache
def _ledger_session() -> tuple[dp.Session, tempfile.TemporaryDirectory[str]]:
    """Open a session on a ledger file of its own, which goes with the process."""
    folder = tempfile.TemporaryDirectory()
    columns, budget = {"x": [1.0, 2.0, 3.0]}, PrivacyLoss.pure(10_000)
    ledger = f"sqlite:///{folder.name}/budget.db"
    return dp.Session(columns, budget=budget, adjacency=dp.REPLACE_ONE, ledger=ledger), folder


QUESTIONS = 20
COSTS: Mapping[str, tuple[str, float, Callable[[int], None]]] = {
    "`dp.survival`, 3,000 records on 256 cells": (".75 to .87", 0.3, _ask_survival),
    "1,000 groups of 256 cells": ("19.6", 3.0, _ask_groups),
    f"{QUESTIONS} questions on a ledger file": (".52", 0.2, _ask_ledger),
}
"""Seconds where the work began, mark, and what is asked, by name."""


FEW_ROWS = 10_000
"""Rows of the file with which a command starts: enough for an ordinary estimate and its bands, which do not grow."""


def command(effort: Effort) -> Iterator[MarkRow]:
    """Measure the command line over many rows above its start, over DuckDB's own counts above theirs."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = (write_doubles(Path(folder), rows) for rows in (FEW_ROWS, effort.rows))
        ours, theirs = (
            [[measure(file) for file in (few, many)] for _ in range(effort.repeats)]
            for measure in (measure_command, measure_query)
        )
    start, whole = np.median(ours, axis=0)
    theirs_start, theirs_whole = np.median(theirs, axis=0)
    beside = f"start and estimate {start:.2f} s, rows {whole - start:.2f} s; DuckDB {theirs_whole - theirs_start:.2f} s"
    ratio = float((whole - start) / max(theirs_whole - theirs_start, 0.01))
    yield MarkRow("D", f"command line over {effort.rows:,} rows", "CPU over DuckDB's", "3.1", ratio, 0.0, 1.5,
                  effort.repeats, beside)  # fmt: skip


MOST_ANSWERS = 5
"""Answers to each of the 96 questions whose cost is compared with an earlier revision, at most."""
Task = Callable[[Effort], Iterator[MarkRow]]
TASKS: Mapping[str, Mapping[str, Task]] = {
    "A": {
        "simple methods": beside_simple_methods, "same edges": same_edges, **TABLE_TASKS,
        "first paper": lambda effort: measure_first_paper(effort.releases),
    },
    "B": {
        "strategies": strategies, "endless streams": lambda _: measure_endless_streams(),
        "worst prefix": lambda _: measure_worst_prefix(),
    },
    "C": {row.name: partial(measure_interval_row, row) for row in ROWS},
    "D": {
        "without a range": without_range,
        "means without bounds": lambda effort: measure_means_without_bounds(effort.releases),
        "cost of dp.cdf": lambda effort: measure_cdf_cost(min(effort.releases, MOST_ANSWERS)),
        **{name: partial(measure_cost, name) for name in COSTS},
        "command line": command,
    },
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print it with what the file keeps."""
    options = _parse_options(arguments)
    effort = QUICK if options.quick else USUAL
    if options.releases:
        effort = effort._replace(releases=options.releases)
    kept, commit = _read_rows(options.json), find_commit()
    for part, name, task in [] if options.kept else _choose_tasks(options.parts, options.only):
        with warnings.catch_warnings(action="ignore"):
            measured = [row._replace(commit=commit) for row in task(effort)]
        kept |= {(row.part, row.name, row.figure): row for row in measured}
        print(f"{part}, {name}: {process_time():.0f} CPU s", file=sys.stderr)
        if options.json:
            rows = [row.plain for row in _in_order(kept)]
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    show_rows(
        Console(width=None if Console().is_terminal else WIDTH),
        [row for row in _in_order(kept) if row.part in options.parts],
    )


def find_commit() -> str:
    """Return the abbreviated hash of the commit that is measured, with a plus sign if files differ from it; empty
    outside a repository."""
    command = "git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _choose_tasks(parts: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str, Task]]:
    """Return part, name and task of all tasks of these parts, or of those whose names contain one of the texts.

    Raises:
        SystemExit: No name contains one of the texts.
    """
    tasks = [(part, *task) for part in parts for task in TASKS[part].items()]
    for text in texts:
        if not any(text in name for _, name, _ in tasks):
            raise SystemExit(f"--only {text}: must be part of the name of a task of part {', '.join(parts)}, "
                             f"such as {tasks[0][1]}")  # fmt: skip
    return [task for task in tasks if not texts or any(text in task[1] for text in texts)]


def _in_order(rows: Mapping[tuple[str, str, str], MarkRow]) -> list[MarkRow]:
    """Return the rows by part."""
    return sorted(rows.values(), key=lambda row: row.part)


def _read_rows(file: Path | None) -> dict[tuple[str, str, str], MarkRow]:
    """Read the rows that earlier runs kept."""
    if file is None or not file.exists():
        return {}
    rows = [MarkRow.from_plain(plain) for plain in json.loads(file.read_text(encoding="utf-8"))]
    return {(row.part, row.name, row.figure): row for row in rows}


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="tasks whose names contain one of these")
    parser.add_argument("--quick", action="store_true", help="few releases and settings")
    parser.add_argument("--releases", type=int, default=0, help=f"of each case; {USUAL.releases} unless given")
    parser.add_argument("--json", type=Path, help="file of the rows, which keeps those of earlier runs")
    parser.add_argument("--kept", action="store_true", help="measure nothing: print the rows of the file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
