"""Commands that ask the two servers of a task: the questions along one grid, with most options set by the task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcurves.cli.ask_file import Terms, deliver, delivering, quietly
from dpcurves.cli.options import CellOptions, filled, groups_of, names_of, typed, values_of
from dpcurves.cli.output import InputFile, Output
from dpcurves.cli.terminal import Misuse, say, tell, waiting

from .task_parties import Bearer
from .tasks import TaskFile, require_extra

if TYPE_CHECKING:
    from dpcurves.cli.options import Command
    from dpcurves.cli.output import View
    from dpcurves.curves import Question
    from dpcurves.data import Categories, Grid

    from ..shares import Task

SAID = frozenset({
    "column", "measured_in", "grid", "edges", "values", "outside", "hint", "by", "categories", "label", "score",
    "pos_label", "neg_label", "cuts", "time", "event", "came", "censored", "causes",
})  # fmt: skip
"""Options of the questions that are left out here: the task document sets them."""
SECOND = frozenset({"entry", "last"})
"""Options for a second column of numbers: a task counts along one."""
OPTION = re.compile(r"--([a-z-]+) (\S+)")
ADDRESS = "--task task.json --ticket tickets/analyst-1"


@dataclass(frozen=True)
class Servers:
    """Options for a task and an analyst's ticket, which replace those for a file, a privacy loss and a guarantee."""

    document: TaskFile
    bearer: Bearer

    def task(self, output: Output) -> Task:
        """Read the task document. Raises `Misuse` where an output file would overwrite that document or the ticket."""
        require_extra()
        document, ticket = Path(self.document.task), Path(self.bearer.ticket)
        output.require_apart(InputFile("the task document", document), InputFile("the ticket", ticket))
        return self.document.read()

    def answer(self, task: Task, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask both servers, write the files that `output` names, and print the trust assumptions."""
        output.require_writable()
        from ..serving.task_document import Role, Ticket
        from ..serving.two_servers.kept import beside
        from ..shares.analyst import Analyst, assumed

        ticket, kept = Ticket.read(self.bearer.ticket, Role.ANALYST), beside(Path(self.bearer.ticket))
        asking = Analyst(task, ticket, patience=self.bearer.seconds, kept=kept)
        with asking as analyst, waiting("the servers count"), quietly():
            curve: Any = analyst.ask(question)
        screen = output.terminal()
        with delivering() as part:
            written = deliver(part, question, curve, view, output)
            with part():
                say(screen, f"mechanism: {curve.privacy.mechanism}", *assumed(task), *_dropped(analyst.dropped))
                say(screen, *(f"written: {name}" for name in written))
            for note in curve.notes:
                tell(note)


@dataclass(frozen=True)
class TaskTerms:
    """Terms of a question to the two servers of a task."""

    task: Task
    servers: Servers

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask the servers; quantiles are found by bisection where the task counts records below thresholds."""
        from dpcurves.curves import QuantilesQuestion

        from ..shares.task import Counted

        if isinstance(question, QuantilesQuestion) and self.task.counted is Counted.PREFIXES:
            question = question.searching(output.covering().level)
        self.servers.answer(self.task, question, view, output)


def asks_of(questions: Mapping[str, Command]) -> dict[str, Command]:
    """A command for each question along one grid that a file can be asked, without the options that a task sets."""
    return {name: _ask_of(name, command) for name, command in questions.items() if _is_along_a_grid(command)}


def _is_along_a_grid(command: Command) -> bool:
    groups = groups_of(command)
    along = groups.get("terms") is Terms and any(issubclass(group, CellOptions) for group in groups.values())
    return along and not names_of(groups.values()) & SECOND


def _ask_of(name: str, command: Command) -> Command:
    asked = {each: group for each, group in groups_of(command).items() if group not in (Terms, Output)}

    def ask(servers: Servers, output: Output, **groups: Any) -> None:
        task = servers.task(output)
        said = words_of(task, names_of(asked.values()))
        told = {each: filled(type(group), values_of(group) | said) for each, group in groups.items()}
        command(**told, terms=TaskTerms(task, servers), output=output)

    ask.__name__, ask.__doc__ = command.__name__, _told(name, command.__doc__ or "", asked.values())
    ask.__annotations__ = {"servers": Servers, **asked, "output": Output}
    return ask


def _told(name: str, words: str, asked: Any) -> str:
    """Help text: the question's first sentence, and its example with the options that remain."""
    sentence, *_, example = words.split("\n\n")
    left = names_of(asked) - SAID
    options = (f" --{option} {value}" for option, value in OPTION.findall(example) if option.replace("-", "_") in left)
    return f"{sentence}\n\nExample: dpcurves ask {name} {ADDRESS}{''.join(options)}"


def words_of(task: Task, names: frozenset[str]) -> dict[str, str | list[str] | None]:
    """Values of command-line options that state what the task declares, for a question with options of these names.

    Raises:
        Misuse: it counts no two classes and these are needed, or counts categories of which the question knows none.
    """
    column = dict.fromkeys(("column", "score", "time"), task.column)
    return {
        "hint": None, "cuts": "fixed", "measured_in": task.measured_in,
        **column, **_words_of_grid(task.grid), **_words_of_label(task.label, names),
    }  # fmt: skip


def _words_of_grid(grid: Grid) -> dict[str, str | None]:
    from dpcurves.data import Outside, Spacing, Values

    outside = "apart" if grid.outside is Outside.APART else None
    words = {"grid": None, "edges": None, "values": None, "outside": outside}
    if isinstance(grid, Values):
        return {**words, "values": ",".join(map(repr, grid.declared))}
    if grid.spacing is Spacing.EXPLICIT:
        return {**words, "edges": ",".join(map(repr, grid.explicit))}
    form = "" if grid.spacing is Spacing.LINEAR else f"{grid.spacing.value}:"
    return {**words, "grid": f"{form}{grid.lower!r}:{grid.upper!r}:{grid.cells}"}


def _words_of_label(label: Categories | None, names: frozenset[str]) -> dict[str, Any]:
    if "causes" in names:
        if label is None:
            raise Misuse("task", "it counts no kinds of events; such a curve needs a task with --categories")
        censored, *causes = map(typed, label.values)
        return {"event": label.column, "censored": censored, "causes": ",".join(causes), "by": None, "categories": None}
    if names & {"label", "event"}:
        if label is None or len(label.values) != 2:
            raise Misuse("task", "it counts values without two classes; such a curve needs a task with --label")
        negative, positive = map(typed, label.values)
        classes = dict.fromkeys(("label", "event"), label.column) | dict.fromkeys(("pos_label", "came"), positive)
        return {**classes, **dict.fromkeys(("neg_label", "censored"), negative), "by": None, "categories": None}
    if label is None:
        return {"by": None, "categories": None}
    if "by" not in names:
        raise Misuse("task", f"it counts by {label.column!r}; ask for its distribution functions or its ROC curve")
    return {"by": [label.column], "categories": ",".join(map(typed, label.values))}


def _dropped(reports: int) -> tuple[str, ...]:
    return (f"dropped: {reports} reports that failed the servers' check",) if reports else ()
