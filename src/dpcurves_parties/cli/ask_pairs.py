"""Command for the single answer of a task of pairs: the mean, its intervals, and its trust assumptions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dpcurves.cli.ask_file import quietly
from dpcurves.cli.output import InputFile, Output
from dpcurves.cli.standard_streams import tell
from dpcurves.cli.terminal import say
from dpcurves.cli.waiting import waiting

from .pair_tasks import require_extra
from .task_parties import Bearer
from .tasks import TaskFile

if TYPE_CHECKING:
    from dpcurves.cli.option_groups import Command
    from dpcurves.curves.pair_mean import UStatistic

    from ..pairs import PairTask

KIND = "pair mean"
COVERED = MappingProxyType({"for_these_records": False, "for_the_population": True})


@dataclass(frozen=True)
class AnswerOptions:
    """Options for the JSON output file and the confidence level."""

    json: Annotated[
        str | None,
        Option(help="Write the answer as JSON to this file; - writes it to standard output.", metavar="FILE"),
    ] = None
    level: Annotated[str, Option(help="The confidence level of intervals.", metavar="P")] = "0.95"

    def output(self) -> Output:
        """Options of the answer as an `Output`, which other commands use."""
        return Output(self.json, level=self.level)


def pairs(document: TaskFile, bearer: Bearer, told: AnswerOptions) -> None:
    """Ask for the mean over pairs of people. Asked again, it is the same, and free.

    Example: dpcurves ask pairs --task task.json --ticket tickets/analyst-1 --json out.json
    """
    require_extra()
    from ..pairs.statement import ASSUMED

    task, output = document.of_pairs(), told.output()
    output.require_apart(
        InputFile("the task document", Path(document.task)), InputFile("the ticket", Path(bearer.ticket))
    )
    output.require_writable()
    level = output.certainty()
    with waiting("the servers work it out"):
        found = _asked(task, bearer)
    screen = output.terminal()
    ends = {name: found.interval(level, population=population) for name, population in COVERED.items()}
    written = output.write_json(lambda: _document(task, found, level, ends))
    if output.json is None:
        say(
            screen,
            f"{task.kernel_name}: {found.value:.4g}, from {found.pairs} pairs",
            *(_line(name, level, *both) for name, both in ends.items()),
        )
    say(screen, f"mechanism: {found.privacy.mechanism}; {found.privacy.loss}", *ASSUMED[task.trust])
    say(screen, *(f"written: {name}" for name in written))
    for note in found.notes:
        tell(note)


def _asked(task: PairTask, bearer: Bearer) -> UStatistic:
    from ..pairs import Trust
    from ..pairs.people_analyst import ask_people
    from ..pairs.servers_analyst import ask_pairs
    from ..serving.ticket import Role, Ticket

    ask = ask_people if task.trust is Trust.PEOPLE else ask_pairs
    with quietly():
        return ask(task, Ticket.read(bearer.ticket, Role.ANALYST), patience=bearer.seconds)


def _line(name: str, level: float, low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g} ({level:.0%}, {name.replace('_', ' ')})"


def _document(task: PairTask, found: UStatistic, level: float, ends: dict[str, Any]) -> str:
    from ..pairs.statement import ASSUMED

    return json.dumps(
        {
            "kind": KIND, "kernel": task.kernel_name, "task": task.hash, "value": found.value, "pairs": found.pairs,
            "level": level, **{name: list(both) for name, both in ends.items()}, "privacy": asdict(found.privacy),
            "assumed": list(ASSUMED[task.trust]), "notes": list(found.notes),
        },
        allow_nan=False,
    )  # fmt: skip


ASK_PAIRS: MappingProxyType[str, Command] = MappingProxyType({"pairs": pairs})
