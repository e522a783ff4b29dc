"""Commands of two servers and owners: run an aggregator, and contribute records to a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.accounts import require_lasting
from dpcurves.cli.options import SourceOptions, chosen, whole
from dpcurves.cli.terminal import Misuse, filling, say, terminal

from ..serving.watching import Watching
from .people import serve as serve_people
from .task_parties import Bearer
from .tasks import TaskFile, require_extra

if TYPE_CHECKING:
    from dpcurves.cli.options import Command
    from dpcurves.data import Axis, Categories

    from ..serving.monitoring import Monitoring
    from ..serving.server import Limits
    from ..serving.two_servers.report_set import Earlier
    from ..shares import Task


@dataclass(frozen=True)
class Running:
    """Options of a server of one or more tasks."""

    party: Annotated[str, Option(help="Which of the two servers this is, in all of its tasks.", metavar="0|1")]
    task: Annotated[str, Option(help="Task documents, with commas between them.", metavar="FILE,...")]
    identity: Annotated[str, Option(help="The folder with this server's keys.", metavar="FOLDER")]
    store: Annotated[
        str, Option(help="Its reports and its ledger: sqlite:///a0.db, or postgresql+psycopg://...", metavar="URL")
    ]
    listen: Annotated[
        str | None, Option(help="Where to listen; left out: at the URL in the task.", metavar="HOST:PORT")
    ] = None
    peer: Annotated[
        str, Option(help="Where the other server is reached; left out: at its URL in the task.", metavar="URL")
    ] = ""
    patience: Annotated[str, Option(help="How long the other server may take to answer.", metavar="SECONDS")] = "60"
    connections: Annotated[
        str, Option(help="How many connections are kept open at a time, beside those of the other server.", metavar="N")
    ] = "512"
    deadline: Annotated[str, Option(help="How long a connection may be silent at first.", metavar="SECONDS")] = "10"

    def number(self) -> int:
        """Number of the party, 0 or 1."""
        if self.party not in ("0", "1"):
            raise Misuse("party", f"0 or 1 is needed, got {self.party!r}")
        return int(self.party)


@dataclass(frozen=True)
class Renamed:
    """Options for the names of the task's columns in the owner's table."""

    column: Annotated[
        str | None, Option(help="The name of the task's column in DATA, where it is another.", metavar="NAME")
    ] = None
    label: Annotated[
        str | None, Option(help="The name of the task's column of labels in DATA, where it is another.", metavar="NAME")
    ] = None

    def axes(self, task: Task) -> tuple[Axis | Categories, ...]:
        """Axes of the task, with the column names of the table."""
        return tuple(replace(axis, column=name or str(axis.column)) for axis, name in self._names(task))

    def _names(self, task: Task) -> list[tuple[Axis | Categories, str | None]]:
        if len(task.axes) == 1 and self.label is not None:
            raise Misuse("label", "the task counts values without a label")
        return list(zip(task.axes, (self.label, self.column)[-len(task.axes) :], strict=True))


@dataclass(frozen=True)
class Before:
    """Option for records sent earlier with the same ticket: keep or replace."""

    earlier: Annotated[
        str,
        Option(
            help="Other records that were sent with this ticket: keep (these are refused) or replace (while the task is"
            " open).",
            metavar="HOW",
        ),
    ] = "keep"

    def meant(self) -> Earlier:
        """Choice as it is sent to the servers."""
        from ..serving.two_servers.report_set import Earlier

        return chosen("earlier", self.earlier, {"keep": Earlier.STAYS, "replace": Earlier.GIVES_WAY})


def aggregator(running: Running, watching: Watching) -> None:
    """Run one of the two servers of a task, or the one server of people in pairs, which is party 0.

    It runs until it is stopped. It prints one line when it listens, and one for each error; never a share.

    Example: dpcurves aggregator --party 0 --task task.json --identity a0 --store sqlite:///a0/a0.db
    """
    require_extra()
    from ..serving.identity import Identity
    from ..serving.server import Address, Limits
    from ..serving.two_servers.app import Aggregator
    from ..serving.two_servers.kinds import read_task

    require_lasting(running.store)
    limits = Limits(whole("connections", running.connections), whole("deadline", running.deadline))
    people = [TaskFile(file) for file in running.task.split(",")]
    if any(each.is_of_people for each in people):
        _serve_people(people, running, limits, watching.monitoring())
        return
    tasks, party = [read_task(file) for file in running.task.split(",")], running.number()
    server = Aggregator(
        party, tasks, Identity.read(Path(running.identity)), running.store, running.peer,
        whole("patience", running.patience), limits, watching.monitoring(),
    )  # fmt: skip
    listen = running.listen or tasks[0].servers[party].url.removeprefix("https://").rstrip("/")
    console = terminal()
    names = ", ".join(task.name for task in tasks)
    server.serve(Address.parse(listen), lambda: say(console, f"party {party} of {names} listens at {listen}"))


def _serve_people(documents: Sequence[TaskFile], running: Running, limits: Limits, monitoring: Monitoring) -> None:
    from ..pairs.relay_server import RelayServer
    from ..serving.identity import Identity

    if running.number() or not all(each.is_of_people for each in documents):
        raise Misuse("party", "the one server of people in pairs is party 0, and works for no other tasks beside")
    tasks = [each.of_pairs() for each in documents]
    server = RelayServer(tasks, Identity.read(Path(running.identity)), running.store, limits, monitoring)
    serve_people(server, running.listen)


def contribute(source: SourceOptions, document: TaskFile, bearer: Bearer, renamed: Renamed, before: Before) -> None:
    """Send the records of a file to both servers, each a share that alone tells nothing.

    Done again with the same file and ticket, nothing counts twice: begin again if it was stopped. Another file is
    refused, or takes the place of the first with --earlier replace.

    Example: dpcurves contribute flights.csv --task task.json --ticket tickets/owner-1
    """
    require_extra()
    from ..serving.two_servers.owner import Contribution, bearer_of
    from ..shares.analyst import read_places

    task, ticket = document.read(), Path(bearer.ticket)
    owner = bearer_of(task, ticket)
    places = read_places(task, source.records(), source.delimiter, renamed.axes(task))
    with filling(f"sending reports of {task.name}", len(places)) as progress:
        sent = Contribution.of(task, places, ticket, before.meant()).send(owner, progress, bearer.seconds)
    say(terminal(), f"sent: {sent.reports} reports, {sent.new} of them new to the servers")


SERVER_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"aggregator": aggregator, "contribute": contribute})
