"""Questions to two servers: those of one curator where a task counts all cells, else counts below thresholds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .ask_file import quietly
from .ask_thresholds import Asked, Points, Wanted, counts_cells, require_cells, require_no_label, spread
from .column_views import HistogramsView, HistogramView, QuantilesView
from .delivery import deliver, delivering
from .output import Input, Output
from .refusal import Misuse
from .standard_streams import tell
from .table_options import Groups, Shares, TestedGroups
from .tasks import Bearer, Document, require_extra
from .terminal import say
from .views import HosmerLemeshowView, ResultView, RocView
from .waiting import waiting

if TYPE_CHECKING:
    from ..data.axis import Category
    from ..two_servers import Task
    from .option_groups import Command


def cdf(document: Document, bearer: Bearer, wanted: Wanted, output: Output) -> None:
    """The distribution function; counts below thresholds, or a quantile.

    By category, where the task has categories. The first answer is paid with all of the task's loss; all others are
    free, whoever asks.

    Example: dpcurves ask cdf --task task.json --ticket tickets/analyst-1 --plot cdf.svg
    """
    _ask(document, bearer, output, lambda task: wanted.question(task, output))


def quantiles(document: Document, bearer: Bearer, shares: Shares, output: Output) -> None:
    """Quantiles, read off one distribution function.

    Example: dpcurves ask quantiles --task task.json --ticket tickets/analyst-1 --at 0.5,0.9
    """

    def asked(task: Task) -> Asked:
        from ..curves import QuantilesQuestion

        require_cells(task)
        require_no_label(task)
        question = QuantilesQuestion(task.column, task.grid, shares.exact, task.measured_in)
        return question, QuantilesView(output.covering())

    _ask(document, bearer, output, asked)


def histogram(document: Document, bearer: Bearer, output: Output) -> None:
    """Counts of records in the cells of the task's grid, by category where it has categories.

    Example: dpcurves ask histogram --task task.json --ticket tickets/analyst-1 --plot histogram.svg
    """

    def asked(task: Task) -> Asked:
        from ..curves import HistogramQuestion

        require_cells(task)
        sure = output.covering()
        question = HistogramQuestion(task.column, task.grid, task.label, task.measured_in)
        return question, HistogramsView(sure) if task.label else HistogramView(sure)

    _ask(document, bearer, output, asked)


def roc(document: Document, bearer: Bearer, points: Points, output: Output) -> None:
    """The ROC curve of a task with two classes.

    Example: dpcurves ask roc --task task.json --ticket tickets/analyst-1 --plot roc.svg
    """

    def asked(task: Task) -> Asked:
        from ..curves import RocQuestion

        label, positive, negative = _classes(task)
        if counts_cells(task) and points.curve is not None:
            raise Misuse("curve", "the task counts all cells at once; leave it out, and each ends with a threshold")
        edges = None if counts_cells(task) else spread(task.grid, points.curve or "64")
        question = RocQuestion(label, task.column, task.grid, positive, negative, at=edges)
        return question, RocView(output.covering())

    _ask(document, bearer, output, asked)


def calibration(document: Document, bearer: Bearer, groups: Groups, output: Output) -> None:
    """The calibration curve of a task with two classes.

    Example: dpcurves ask calibration --task task.json --ticket tickets/analyst-1 --plot calibration.svg
    """

    def asked(task: Task) -> Asked:
        from ..curves import CalibrationQuestion

        require_cells(task)
        label, positive, negative = _classes(task)
        question = CalibrationQuestion(label, task.column, groups.number, task.grid, positive, negative)
        return question, ResultView(output.covering())

    _ask(document, bearer, output, asked)


def hosmer_lemeshow(document: Document, bearer: Bearer, groups: TestedGroups, output: Output) -> None:
    """The Hosmer-Lemeshow test of a task with two classes.

    Example: dpcurves ask hosmer-lemeshow --task task.json --ticket tickets/analyst-1
    """

    def asked(task: Task) -> Asked:
        from ..curves import HosmerLemeshowQuestion

        require_cells(task)
        label, positive, negative = _classes(task)
        question = HosmerLemeshowQuestion(label, task.column, groups.number, task.grid, positive, negative)
        return question, HosmerLemeshowView(output.covering())

    _ask(document, bearer, output, asked)


def _classes(task: Task) -> tuple[str, Category, Category]:
    """The column of labels, the positive class and the negative one."""
    if task.label is None or len(task.label.values) != 2:
        raise Misuse("task", "it counts values without two classes; such a curve needs a task with --label")
    negative, positive = task.label.values
    return task.label.column, positive, negative


def _ask(document: Document, bearer: Bearer, output: Output, asked: Callable[[Task], Asked]) -> None:
    require_extra()
    output.require_apart(Input("the task document", Path(document.task)), Input("the ticket", Path(bearer.ticket)))
    task = document.read()
    question, view = asked(task)
    output.require_writable()
    from ..two_servers.analyst import Analyst
    from ..two_servers.statement import assumed
    from ..two_servers.ticket import Role, Ticket

    ticket = Ticket.read(bearer.ticket, Role.ANALYST)
    with Analyst(task, ticket, patience=bearer.seconds) as analyst, waiting("the servers count"), quietly():
        curve: Any = analyst.ask(question)
    screen = output.terminal()
    with delivering() as part:
        written = deliver(part, question, curve, view, output)
        with part():
            say(screen, f"mechanism: {curve.privacy.mechanism}", *assumed(task), *_dropped(analyst.dropped))
            say(screen, *(f"written: {name}" for name in written))
        for note in curve.notes:
            tell(note)


def _dropped(reports: int) -> tuple[str, ...]:
    return (f"dropped: {reports} reports that failed the servers' check",) if reports else ()


ASK_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "cdf": cdf, "quantiles": quantiles, "histogram": histogram, "roc": roc, "calibration": calibration,
        "hosmer-lemeshow": hosmer_lemeshow,
    }
)  # fmt: skip
