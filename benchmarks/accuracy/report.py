"""Tables of errors, of regrets and of seconds, and what of the targets holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from .errors import METRICS, Measured
from .regret import Cell, Regrets, Rows, best, best_names, regrets
from .targets import MEAN_REGRET, POISSON_RECORDS, SECONDS, SECONDS_CELLS, TARGETS, WORST_REGRET, Target

OURS = "dpcurves"
THOUSANDTHS = 1e3


class Seconds(NamedTuple):
    """Seconds of the processor, for one release.

    Attributes:
        ours: The default of this package, all turns.
        tree: One turn of a tree, planned before.
    """

    cells: int
    ours: float
    tree: float


def errors(console: Console, task: str, loss: str, rows: Mapping[str, Measured | None]) -> None:
    """One line for each method."""
    title = f"{task}, {loss}: errors in thousandths, with standard errors"
    table = Table("method", *METRICS, "releases", title=title, title_justify="left")
    for name, measured in rows.items():
        if measured is None:
            table.add_row(name, "-", "-", "-", "")
        else:
            means = zip(measured.mean, measured.standard_error, strict=True)
            table.add_row(
                name, *(f"{_thousandths(m)} ± {_thousandths(se)}" for m, se in means), f"{len(measured.errors)}"
            )
    console.print(table)


def cells(console: Console, found: Mapping[Cell, Rows]) -> None:
    """Our errors in each cell, and how much larger they are than the least of the others."""
    title = "Each task at each epsilon: errors in thousandths (standard error), and the ratio to the best other method"
    table = Table("task", "eps", title=title, title_justify="left")
    for column in [name for metric in METRICS for name in (metric, "ratio", "best other")]:
        table.add_column(column, no_wrap=True)
    for cell, rows in found.items():
        ours, others, names = rows[OURS], best(rows, OURS), best_names(rows, OURS)
        line = [cell.task, cell.epsilon]
        for mean, error, other, name in zip(ours.mean, ours.standard_error, others, names, strict=True):
            line += [f"{_thousandths(mean)} ({error * THOUSANDTHS:.2g})", f"{mean / other:.2f}", name]
        table.add_row(*line)
    console.print(table)


def regret(console: Console, title: str, found: Mapping[Cell, Rows]) -> None:
    """How much worse each method is than the best one of a cell, over all cells."""
    title = f"{title} in {len(found)} cells: geometric mean, and the worst one, of KS, W1 and RMSE"
    table = Table("method", "mean", "worst", "worst where", title=title, title_justify="left")
    for name in next(iter(found.values())):
        of = regrets(found, name)
        where = "; ".join(f"{cell.task} {cell.epsilon}" for cell in of.where)
        table.add_row(name, " / ".join(f"{x:.2f}" for x in of.mean), " / ".join(f"{x:.2f}" for x in of.worst), where)
    console.print(table)


def speed(console: Console, measured: Sequence[Seconds]) -> None:
    """Seconds of the processor."""
    table = Table("cells", "seconds", "a million cells", "one tree", "times", title="A release", title_justify="left")
    for cells_, ours, tree in measured:
        numbers = f"{ours:.3f}", f"{ours / cells_ * 1e6:.2f}", f"{tree:.3f}", f"{ours / tree:.1f}"
        table.add_row(f"{cells_}", *numbers)
    console.print(table)


def verdicts(
    console: Console,
    errors_of: Mapping[tuple[str, str], Mapping[str, Measured | None]],
    plain: Mapping[Cell, Rows],
    found: Mapping[Cell, Rows],
    seconds: Sequence[Seconds],
) -> None:
    """Each target beside what was measured."""
    table = Table("target", "limit", "measured", "papers, as printed", "", title="Targets", title_justify="left")
    for target in TARGETS:
        _target(table, target, errors_of)
    for name, cells_ in (("regret", found), ("regret, plain readings", plain)):
        if cells_:
            _regret(table, name, regrets(cells_, OURS))
    for cells_, took, _ in seconds:
        if cells_ == SECONDS_CELLS:
            table.add_row(f"a release of {cells_} cells, s", f"{SECONDS}", f"{took:.3f}", "", _verdict(took <= SECONDS))
    console.print(table)


def _regret(table: Table, name: str, ours: Regrets) -> None:
    for which, limit, values in (("mean", MEAN_REGRET, ours.mean), ("worst", WORST_REGRET, ours.worst)):
        for metric, value in zip(METRICS, values, strict=True):
            table.add_row(f"{which} {name}, {metric}", f"{limit}", f"{value:.3f}", "", _verdict(value <= limit))


def _target(table: Table, target: Target, errors_of: Mapping[tuple[str, str], Mapping[str, Measured | None]]) -> None:
    hint = f", hint {target.hint}" if target.hint else ""
    measured = errors_of.get((target.task, target.loss), {}).get(OURS + hint)
    unit, word = (POISSON_RECORDS, "records") if target.task == "pois15" else (THOUSANDTHS, "thousandths")
    said = f"{target.task}, {target.loss}{hint}: {METRICS[target.metric]}, {word}"
    papers = "" if target.papers is None else f"{target.papers * unit:.3g}"
    if measured is None:
        table.add_row(said, f"{target.limit * unit:.3g}", "not measured", papers, "")
        return
    value, error = measured.mean[target.metric], measured.standard_error[target.metric]
    shown = f"{value * unit:.3g} ± {error * unit:.2g}"
    table.add_row(said, f"{target.limit * unit:.3g}", shown, papers, _verdict(value <= target.limit))


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _thousandths(value: float) -> str:
    return f"{value * THOUSANDTHS:.3g}"
