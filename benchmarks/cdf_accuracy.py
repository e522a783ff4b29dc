"""How accurate private distribution functions are, beside other libraries and the papers' methods.

`python benchmarks/cdf_accuracy.py [--full] [--quick] [--releases N] [--data FOLDER] [--json FILE]`. Errors are those
of the noise: against the distribution function of the sample itself, mean of 16 releases (40 with --full, or N) over 8
draws of the data: 6 and 12 minutes of one core. All methods get the same samples and, but for other libraries that
draw their own, the same seeds: the tables come out again. The loss is for replace-one, where the number of records is
public. A method with a star is tuned: of its variants the one with the least W1 is shown, which nobody could choose in
private. Real histograms are read from `hist1d` in ../shared/data beside the repository, from --data, or from
$DPCURVES_DATA. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

from accuracy import data, peers, report
from accuracy.data import Task
from accuracy.errors import Measured
from accuracy.measuring import FULL, QUICK, TINY, USUAL, Size, jobs_of, measure
from accuracy.methods import PRODUCT_READINGS, Method, hinted, ours, reference, tree
from accuracy.one_turn import counted
from accuracy.paper_methods import in_their_wake, of_papers
from accuracy.quantile_methods import with_gaussian_noise
from accuracy.regret import Cell
from accuracy.report import Seconds
from accuracy.targets import PURE, ZERO_CONCENTRATED
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dpcurves.privacy import PrivacyLoss, rho_for
from dpcurves.queries import Hint

WIDTH = 200  # of the report, where no terminal says otherwise
LOSSES = {PURE: PrivacyLoss.pure(1), ZERO_CONCENTRATED: PrivacyLoss.zcdp(rho_for(1, 1e-4))}
PARTS = "targets", "cells", "speed"

Errors = dict[tuple[str, str], dict[str, Measured | None]]
Table = dict[Cell, dict[str, Measured]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print as soon as a part is done."""
    options = _options(arguments)
    console = Console(width=None if Console().is_terminal else WIDTH)
    bars = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(TextColumn("{task.description}"), *bars, console=console) as progress:
        seconds = _speed(options, progress) if "speed" in options.parts else []
        errors = _targets(options, console, progress) if "targets" in options.parts else {}
        table = _cells(options, console, progress) if "cells" in options.parts else {}
    if seconds:
        report.speed(console, seconds)
    for (name, loss), rows in errors.items():
        report.errors(console, name, loss, rows)
    if table:
        report.cells(console, table)
        report.regret(console, "Regret", table)
        report.regret(console, "Regret against plain readings", plainly_read(table))
    report.verdicts(console, errors, plainly_read(table), table, seconds)
    if options.json:
        options.json.write_text(json.dumps(_plain(errors, table, seconds), indent=1), encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--full", dest="size", action="store_const", const=FULL, help="40 releases of each task")
    sizes.add_argument("--quick", dest="size", action="store_const", const=QUICK, help="fewer releases, without peers")
    sizes.add_argument("--tiny", dest="size", action="store_const", const=TINY, help="a slice for tests")
    sizes.add_argument("--releases", type=_positive, help="how many releases of each task, instead of 16")
    parser.add_argument("--data", type=Path, default=data.folder(), help="folder of the data sets")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.set_defaults(size=USUAL)
    options = parser.parse_args(arguments)
    if options.releases:
        options.size = replace(options.size, releases=options.releases)
    return options


def _positive(text: str) -> int:
    if int(text) < 2:
        raise argparse.ArgumentTypeError(f"at least 2 releases are needed, got {text}")
    return int(text)


def _targets(options: argparse.Namespace, console: Console, progress: Progress) -> Errors:
    """All methods on the tasks of the papers."""
    size: Size = options.size
    tasks = _of_papers(size)
    papers = [*of_papers(), *with_gaussian_noise(), *in_their_wake()]
    methods = [*reference(), hinted(Hint.SPREAD), *papers, *_peers(size, console)]
    bar = progress.add_task("papers' tasks", total=len(tasks) * len(LOSSES) * len(methods))
    step = partial(progress.advance, bar)
    return {
        (task.name, name): {method.title: measure(task, method, loss, size, step) for method in methods}
        for task in tasks
        for name, loss in LOSSES.items()
    }


def _of_papers(size: Size) -> list[Task]:
    return [task for task in _synthetic(size) if task.name in {"normal", "peaked", "pois15"}]


def _synthetic(size: Size) -> list[Task]:
    if size is TINY:
        return [data.normal("normal", 0, 1, 1, cells=64), data.poisson(6, 1)]
    return data.synthetic(size.draws)


def _peers(size: Size, console: Console) -> list[Method]:
    found = peers.in_process()
    return found + peers.apart() if size not in (QUICK, TINY) and peers.set_up(console.print) else found


def _cells(options: argparse.Namespace, console: Console, progress: Progress) -> Table:
    """Ours and what its regret is measured against, on all tasks at all epsilons."""
    size: Size = options.size
    real = data.real(options.data) if size is not TINY else []
    if len(real) < len(data.HISTOGRAMS):
        missing = sorted(set(data.HISTOGRAMS) - {task.name for task in real})
        console.print(
            f"Skipped: {', '.join(missing)}. There are no such files in {options.data / 'hist1d'}", soft_wrap=True
        )
    tasks, methods = [*_synthetic(size), *real], reference()
    bar = progress.add_task("cells of the table", total=len(tasks) * len(size.epsilons) * len(methods))
    step = partial(progress.advance, bar)
    return {
        Cell(task.name, epsilon): _rows(task, methods, PrivacyLoss.pure(epsilon), size, step)
        for task in tasks
        for epsilon in size.epsilons
    }


def plainly_read(table: Table) -> Table:
    """Leave two rows out, as the sources of the targets do."""

    def kept(rows: dict[str, Measured]) -> dict[str, Measured]:
        return {name: row for name, row in rows.items() if name not in PRODUCT_READINGS}

    return {cell: kept(rows) for cell, rows in table.items()}


def _rows(
    task: Task, methods: Sequence[Method], loss: PrivacyLoss, size: Size, step: Callable[[], None]
) -> dict[str, Measured]:
    found = {method.title: measure(task, method, loss, size, step) for method in methods}
    return {name: measured for name, measured in found.items() if measured is not None}


def _speed(options: argparse.Namespace, progress: Progress) -> list[Seconds]:
    """The least of three, after one that compiles and plans."""
    size: Size = options.size
    bar = progress.add_task("speed", total=len(size.exponents))
    found = []
    for exponent in size.exponents:
        (job, *_) = jobs_of(data.poisson(exponent, 1), PrivacyLoss.pure(1), TINY)
        found.append(Seconds(2**exponent, *(_least(partial(release, job)) for release in (ours, tree))))
        progress.advance(bar)
    return found


def _least(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(3):
        counted.cache_clear()
        started = process_time()
        work()
        times.append(process_time() - started)
    return min(times)


def _plain(errors: Errors, table: Table, seconds: Sequence[Seconds]) -> dict[str, object]:
    """Numbers for those who want to look closer."""
    every = [(*key, rows) for key, rows in errors.items()] + [(*cell, rows) for cell, rows in table.items()]
    return {
        "errors": [
            {
                "task": task,
                "loss": loss,
                "method": name,
                "mean": found.mean.tolist(),
                "se": found.standard_error.tolist(),
            }
            for task, loss, rows in every
            for name, found in rows.items()
            if found is not None
        ],
        "seconds": [found._asdict() for found in seconds],
    }


if __name__ == "__main__":
    main()
