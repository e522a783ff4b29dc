"""Questions to two servers: counts below thresholds, a quantile by bisection, a ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .column_views import QuantileView, ThresholdsView
from .delivery import deliver, delivering
from .literals import chance, whole
from .output import Covering, Input, Output
from .refusal import Misuse
from .table_options import Values
from .tasks import Bearer, Document, require_extra
from .terminal import say
from .views import RocThresholdsView, View
from .waiting import waiting

if TYPE_CHECKING:
    from ..curves import Question
    from ..data import Grid
    from ..two_servers import Task
    from .option_groups import Command

MOST_POINTS = 4000


@dataclass(frozen=True)
class Wanted:
    """Which thresholds. One of the three."""

    at: Annotated[str | None, Option(help="Counts below the edges nearest to these values.", metavar="X,X,X")] = None
    quantile: Annotated[str | None, Option(help="The value below which this share lies.", metavar="P")] = None
    curve: Annotated[str | None, Option(help="Counts below so many evenly spaced edges.", metavar="N")] = None

    def question(self, task: Task, output: Output) -> tuple[Question[Any], View[Any]]:
        """What is asked, and how it is shown.

        Raises:
            Misuse: none of the options was given, or several.
        """
        from ..curves import QuantileQuestion, ThresholdsQuestion

        if sum(each is not None for each in (self.at, self.quantile, self.curve)) != 1:
            raise Misuse("at", "give one of --at X,X,X, --quantile P and --curve N")
        if task.label is not None:
            raise Misuse("task", "it counts scores by label; ask for its ROC curve: dpcurves ask roc")
        column, grid, unit = task.column, task.grid, task.measured_in
        if self.quantile is not None:
            p = chance("quantile", self.quantile)
            return QuantileQuestion(column, grid, p, output.certainty(), unit), QuantileView(output.population)
        sure = Covering(output.certainty(), output.population)
        edges = Values(self.at).edges(grid) if self.at is not None else _spread(grid, self.curve or "")
        return ThresholdsQuestion(column, grid, edges, unit), ThresholdsView(sure)


@dataclass(frozen=True)
class Points:
    """How many points a curve has."""

    curve: Annotated[str, Option(help="So many evenly spaced thresholds.", metavar="N")] = "64"


def cdf(document: Document, bearer: Bearer, wanted: Wanted, output: Output) -> None:
    """Counts below thresholds, or a quantile.

    The first answer is paid with all of the task's loss; all others are free, whoever asks.

    Example: dpcurves ask cdf --task task.json --ticket tickets/analyst-1 --quantile 0.5
    """
    require_extra()
    output.require_apart(Input("the task document", Path(document.task)), Input("the ticket", Path(bearer.ticket)))
    task = document.read()
    question, view = wanted.question(task, output)
    _answer(task, question, view, bearer, output)


def roc(document: Document, bearer: Bearer, points: Points, output: Output) -> None:
    """The ROC curve of a labelled task.

    Example: dpcurves ask roc --task task.json --ticket tickets/analyst-1 --plot roc.svg
    """
    require_extra()
    from ..curves import RocThresholdsQuestion

    output.require_apart(Input("the task document", Path(document.task)), Input("the ticket", Path(bearer.ticket)))
    task = document.read()
    if task.label is None:
        raise Misuse("task", "it counts values without a label; a ROC curve needs a task with --label")
    edges = tuple(edge for edge in _spread(task.grid, points.curve) if edge < task.grid.cells)
    question = RocThresholdsQuestion(task.label.column, task.column, task.grid, edges)
    _answer(task, question, RocThresholdsView(), bearer, output)


def _answer(task: Task, question: Question[Any], view: View[Any], bearer: Bearer, output: Output) -> None:
    from ..two_servers.analyst import Analyst
    from ..two_servers.statement import assumed
    from ..two_servers.ticket import Role, Ticket

    output.require_writable()
    ticket = Ticket.read(bearer.ticket, Role.ANALYST)
    with Analyst(task, ticket, patience=bearer.seconds) as analyst, waiting("the servers count"):
        curve = analyst.ask(question)
    screen = output.terminal()
    with delivering() as part:
        written = deliver(part, question, curve, view, output)
        with part():
            say(screen, f"mechanism: {curve.privacy.mechanism}", *assumed(task), *_dropped(analyst.dropped))
            say(screen, *(f"written: {name}" for name in written))


def _dropped(reports: int) -> tuple[str, ...]:
    return (f"dropped: {reports} reports that failed the servers' check",) if reports else ()


def _spread(grid: Grid, points: str) -> tuple[int, ...]:
    """So many edges, the last one of the grid among them."""
    number = whole("curve", points)
    if number > MOST_POINTS:
        raise Misuse("curve", f"at most {MOST_POINTS} thresholds are asked for at once, got {number}")
    return tuple(sorted({max(1, grid.cells * place // number) for place in range(1, number + 1)}))


ASK_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"cdf": cdf, "roc": roc})
