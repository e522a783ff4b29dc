"""Thresholds that servers are asked for, where a task counts them one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .column_views import QuantilesView, QuartilesView
from .literals import chance, whole
from .output import Output
from .refusal import Misuse
from .table_options import nearest_edges
from .views import ResultView, View

if TYPE_CHECKING:
    from ..curves import Question
    from ..data import Grid
    from ..two_servers import Task

Asked = tuple["Question[Any]", View[Any]]
"""What is asked, and how it is shown."""
MOST_POINTS = 4000


@dataclass(frozen=True)
class Wanted:
    """Which thresholds. One of the three, where the task counts thresholds; where it counts all cells, none."""

    at: Annotated[str | None, Option(help="Counts below the edges nearest to these values.", metavar="X,X,X")] = None
    quantile: Annotated[str | None, Option(help="The value below which this share lies.", metavar="P")] = None
    curve: Annotated[str | None, Option(help="Counts below so many evenly spaced edges.", metavar="N")] = None

    def question(self, task: Task, output: Output) -> Asked:
        """What is asked, and how it is shown.

        Raises:
            Misuse: none of the options was given, or several, or one that the task can not answer.
        """
        return self._of_cells(task, output) if counts_cells(task) else self._of_thresholds(task, output)

    def _of_cells(self, task: Task, output: Output) -> Asked:
        from ..curves import CdfQuestion, QuantilesQuestion

        for option, given in (("at", self.at), ("curve", self.curve)):
            if given is not None:
                raise Misuse(option, "the task counts all cells at once; leave it out, and the whole curve is shown")
        column, grid, unit, sure = task.column, task.grid, task.measured_in, output.covering()
        if self.quantile is None:
            question = CdfQuestion(column, grid, by=task.label, measured_in=unit)
            return question, QuartilesView(sure) if task.label else ResultView(sure)
        require_no_label(task)
        return QuantilesQuestion(column, grid, (chance("quantile", self.quantile),), unit), QuantilesView(sure)

    def _of_thresholds(self, task: Task, output: Output) -> Asked:
        from ..curves import CdfQuestion, QuantilesQuestion

        if sum(each is not None for each in (self.at, self.quantile, self.curve)) != 1:
            raise Misuse("at", "give one of --at X,X,X, --quantile P and --curve N")
        require_no_label(task)
        column, grid, unit, sure = task.column, task.grid, task.measured_in, output.covering()
        if self.quantile is not None:
            p = chance("quantile", self.quantile)
            return QuantilesQuestion(column, grid, (p,), unit, search=sure.level), QuantilesView(sure)
        edges = nearest_edges(self.at, grid) if self.at is not None else spread(grid, self.curve or "")
        return CdfQuestion(column, grid, measured_in=unit, at=edges), ResultView(sure)


@dataclass(frozen=True)
class Points:
    """How many points a curve has, where the task counts thresholds."""

    curve: Annotated[
        str | None,
        Option(
            help="So many evenly spaced thresholds: 64 if left out. Not where all cells are counted.",
            metavar="N",
        ),
    ] = None


def counts_cells(task: Task) -> bool:
    """Whether the task counts all cells at once, or thresholds one after the other."""
    from ..two_servers.task import Counted

    return task.counted is Counted.CELLS


def require_cells(task: Task) -> None:
    """Refuse a task that counts thresholds.

    Raises:
        Misuse: it is one.
    """
    if not counts_cells(task):
        raise Misuse("task", "it counts thresholds, for its grid is too fine to be laid out: dpcurves ask cdf, or roc")


def require_no_label(task: Task) -> None:
    """Refuse a task with categories.

    Raises:
        Misuse: it is one.
    """
    if task.label is not None:
        raise Misuse("task", f"it counts by {task.label.column!r}; ask for its ROC curve, or its curves: dpcurves ask")


def spread(grid: Grid, points: str) -> tuple[int, ...]:
    """So many edges, the last one of the grid among them."""
    number = whole("curve", points)
    if number > MOST_POINTS:
        raise Misuse("curve", f"at most {MOST_POINTS} thresholds are asked for at once, got {number}")
    return tuple(sorted({max(1, grid.cells * place // number) for place in range(1, number + 1)}))
