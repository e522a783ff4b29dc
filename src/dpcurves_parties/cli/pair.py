"""Commands of a participant and of an analyst of a task of pairs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dpcurves.cli.ask_file import quietly
from dpcurves.cli.options import SourceOptions
from dpcurves.cli.output import InputFile, Output
from dpcurves.cli.terminal import filling, say, tell, terminal, waiting

from .pair_tasks import require_extra
from .people import MeetingOptions, take_part
from .servers import Before
from .task_parties import Bearer
from .tasks import TaskFile, require_unsaid

if TYPE_CHECKING:
    from dpcurves.cli.options import Command
    from dpcurves.curves.pair_mean import UStatistic

    from ..pairs import PairTask


def pair(source: SourceOptions, document: TaskFile, bearer: Bearer, meeting: MeetingOptions, before: Before) -> None:
    """Take part in a task of pairs with the values of a file.

    With two servers, each gets a share of each value, and you are done. With people in pairs, the file has one row,
    of whole numbers (what is beyond the declared bits counts as the nearest): you enter before the task is closed, and
    call it again until all partners have written; letters go through the task's server, which cannot decrypt them.

    Done again with the same file and ticket, nothing counts twice: begin again if it was stopped. Another file is
    refused, or takes the place of the first with --earlier replace, of shares alone.

    Example: dpcurves pair mine.csv --task task.json --ticket tickets/owner-1
    """
    require_extra()
    from ..pairs import Trust

    task = document.of_pairs()
    if task.trust is Trust.TWO_SERVERS:
        require_unsaid(
            "it belongs to people in pairs; the task is of two servers: leave it out", meeting, MeetingOptions()
        )
        _send_shares(task, source, bearer, before)
        return
    require_unsaid("it belongs to shares; what people in pairs have said stays said: leave it out", before, Before())
    take_part(task, source, bearer, meeting)


def _send_shares(task: PairTask, source: SourceOptions, bearer: Bearer, before: Before) -> None:
    from ..pairs.task import read_values
    from ..serving.two_servers.owner import Contribution, bearer_of

    ticket = Path(bearer.ticket)
    owner = bearer_of(task, ticket)
    values = read_values(task, source.records(), source.delimiter)
    with filling(f"sending shares of {task.name}", len(values)) as progress:
        sent = Contribution.of(task, values, ticket, before.meant()).send(owner, progress, bearer.seconds)
    say(terminal(), f"sent: shares of {sent.reports} people, {sent.new} of them new to the servers")


PAIR_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"pair": pair})


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
    from ..pairs.task import ASSUMED

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
    from ..pairs.analysts import ask_pairs, ask_people
    from ..serving.task_document import Role, Ticket

    ask = ask_people if task.trust is Trust.PEOPLE else ask_pairs
    with quietly():
        return ask(task, Ticket.read(bearer.ticket, Role.ANALYST), patience=bearer.seconds)


def _line(name: str, level: float, low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g} ({level:.0%}, {name.replace('_', ' ')})"


def _document(task: PairTask, found: UStatistic, level: float, ends: dict[str, Any]) -> str:
    from ..pairs.task import ASSUMED

    return json.dumps(
        {
            "kind": KIND, "kernel": task.kernel_name, "task": task.hash, "value": found.value, "pairs": found.pairs,
            "level": level, **{name: list(both) for name, both in ends.items()}, "privacy": asdict(found.privacy),
            "assumed": list(ASSUMED[task.trust]), "notes": list(found.notes),
        },
        allow_nan=False,
    )  # fmt: skip


ASK_PAIRS: MappingProxyType[str, Command] = MappingProxyType({"pairs": pairs})
