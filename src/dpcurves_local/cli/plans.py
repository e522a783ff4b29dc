"""Plans in the local model: the randomised reports of people, and the error of the result; no data are opened."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.options import CellOptions, ColumnOptions, Price, whole
from dpcurves.cli.terminal import Misuse, say, terminal

from .tasks import Wanted

if TYPE_CHECKING:
    from rich.table import Table

    from dpcurves.cli.options import Command
    from dpcurves.data import Grid
    from dpcurves.privacy import PrivacyLoss

    from .. import Task
    from ..tallied import Tallied

BATCH = 2**15
"""Number of simulated reports, of a missing value, that measure the time of one report."""


@dataclass(frozen=True)
class Classes:
    """Option for the sizes of two classes whose labels are public."""

    positives: Annotated[
        str | None,
        Option(help="How many of the people are positives: then ways to estimate the area are shown.", metavar="P"),
    ] = None

    def sizes(self, people: int) -> tuple[int, int] | None:
        """Positives and negatives. Raises `Misuse`: one class has nobody."""
        if self.positives is None:
            return None
        positives = whole("positives", self.positives)
        if positives >= people:
            raise Misuse("positives", f"fewer than all {people} people are needed, got {positives}")
        return positives, people - positives


def plan_local(column: ColumnOptions, cells: CellOptions, wanted: Wanted, price: Price, classes: Classes) -> None:
    """Show the plan of a task in the local model: levels, their randomisers, and the error.

    With --positives, labels are public, and the ways to estimate the area under the ROC curve are shown, best first.

    Example: dpcurves plan local --grid 0:1:1024 --people 1000000 --epsilon 1
    """
    from ..tallied import Tallied

    people, loss = whole("people", wanted.people), price.loss()
    sizes = classes.sizes(people)
    task = wanted.task(column, cells, loss)
    law, error = task.plan.law.required(Tallied), task.plan.error
    read = "" if wanted.kernel is None else f", not of what {wanted.kernel} says"
    place = f"at one edge or cell{read}" if task.aim is None else "in the mean of the curve"
    said = f"standard error: about {error:.4g} of {people} people ({error / people:.3%}) {place}"
    say(terminal(), f"{task.question}: {loss}, {task.plan.made_by}", _levels(law), said, _report(task))
    if sizes is not None:
        say(terminal(), _roads(cells.declared(), loss, *sizes))


def _levels(law: Tallied) -> Table:
    """Table with a row for each level of the tree."""
    from rich.table import Table

    table = Table(caption="weight: by how many people one report can shift a count", caption_justify="left")
    for name in ("level", "intervals", "people", "randomiser", "weight"):
        table.add_column(name, justify="left" if name == "randomiser" else "right")
    for number, level in enumerate(law.levels, start=1):
        weight = law.people / level.reports / float(level.gain)
        intervals = str(law.rows * len(level.starts))
        table.add_row(str(number), intervals, str(level.reports), level.randomiser, f"{weight:.3g}")
    return table


def _report(task: Task) -> str:
    """Size of a report in octets, and the time that one takes on this machine."""
    import numpy as np

    from dpcurves.noise import Randomness

    query, source = task.plan.query, Randomness.system()
    missing, names = np.full(BATCH, query.rows * query.cells), np.frombuffer(source.octets(8 * BATCH), dtype=np.uint8)
    task.said(names.reshape(-1, 8)[:16], missing[:16], source)
    start = process_time()
    task.said(names.reshape(-1, 8), missing, source)
    taken = (process_time() - start) / BATCH * 1e6
    return f"a report: {len(task.randomize(None))} octets with its header, {taken:.2g} us each, many at once, here"


def _roads(grid: Grid, loss: PrivacyLoss, positives: int, negatives: int) -> Table:
    from rich.table import Table

    from .. import area_roads

    caption = "for scores that are spread evenly; for others up to about 1.6 times as much; labels are public"
    table = Table("ways to estimate the area", caption=caption, caption_justify="left")
    table.add_column("standard error", justify="right")
    for road in area_roads(grid, loss, positives=positives, negatives=negatives):
        table.add_row(str(road), f"{road.error:.4f}")
    return table


LOCAL_PLANS: MappingProxyType[str, Command] = MappingProxyType({"local": plan_local})
