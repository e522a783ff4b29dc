"""Options for the participants of a task, and commands for people in pairs: their relay server, and their devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from typer import Option

from dpcurves.cli.options import SourceOptions, chosen, whole
from dpcurves.cli.terminal import Misuse, say, tell, terminal, waiting

if TYPE_CHECKING:
    from fractions import Fraction

    from ..pairs import PairTask
    from ..pairs.attendance import Attendance, Attended
    from ..pairs.relay_server import RelayServer
    from ..serving.identity import Server
    from ..serving.task_document import TaskDocument
    from ..shares.answer_proofs import ProofKeys
    from ..shares.function_shares import Owners


# Options for the participants of a task, and for its documents and tickets.


Draft = TypeVar("Draft", bound="TaskDocument")


def require_packages(argument: str, rule: str, *names: str) -> None:
    """Refuse if one of these packages is missing. Raises `Misuse`: it is, with this rule."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in names):
        raise Misuse(argument, rule)


@dataclass(frozen=True)
class Parties:
    """Options for the servers, owners and analysts of a new task, and for its files."""

    servers: Annotated[
        str, Option(help="Files server.json of party 0, party 1; with people in pairs, one file.", metavar="FILE,FILE")
    ]
    out: Annotated[str, Option(help="The task document: a new file.", metavar="FILE")]
    tickets: Annotated[str, Option(help="A folder for the tickets of all who take part.", metavar="FOLDER")]
    owners: Annotated[str, Option(help="How many owners there are; with --pairs, how many people.", metavar="N")]
    reports_per_owner: Annotated[
        str | None, Option(help="How many reports one owner may send at most; of pairs, 1 if not said.", metavar="K")
    ] = None
    analysts: Annotated[str, Option(help="How many analysts there are.", metavar="N")] = "1"
    name: Annotated[str, Option(help="A name for people to read.", metavar="NAME")] = "task"
    check: Annotated[
        str,
        Option(
            help="owners: servers drop reports that count more than once; answers: servers prove their halves; both"
            " with a comma between them; nobody: neither is checked.",
            metavar="WHOM",
        ),
    ] = "nobody"
    enrol: Annotated[
        bool, Option("--enrol", help="Tickets of owners are invitations: each owner makes a token of its own.")
    ] = False
    least: Annotated[
        str, Option(help="With --check owners: the share of the reports that have to pass.", metavar="SHARE")
    ] = "0.5"

    def checked(self) -> Owners:
        """Choice of whether servers check owners' reports."""
        from ..shares.function_shares import Owners

        checked, believed = Owners.CHECKED, Owners.UNCHECKED
        choices = {"owners": checked, "answers": believed, "owners,answers": checked, "nobody": believed}
        return chosen("check", self.check, choices)

    def proving(self) -> ProofKeys | None:
        """Keys for proofs of answers, if servers have to prove them."""
        from ..shares.answer_proofs import ProofKeys

        return ProofKeys.drawn(whole("analysts", self.analysts)) if "answers" in self.check else None

    def passing(self) -> Fraction:
        """The share of reports that have to pass the check. Raises `Misuse`: it is none."""
        from fractions import Fraction

        try:
            return Fraction(self.least)
        except (ValueError, ZeroDivisionError):
            raise Misuse("least", f"a share from 0 to 1 is needed, got {self.least!r}") from None

    def known(self, number: int) -> tuple[Server, ...]:
        """Public descriptions of the servers, read from their files.

        Raises:
            Misuse: the number of files is not `number`.
        """
        from ..serving.identity import read_server

        files = self.servers.split(",")
        if len(files) != number:
            one, two = (
                "one file is needed, as in a0/server.json",
                "two files with a comma between them are needed, as in",
            )
            raise Misuse("servers", one if number == 1 else f"{two} a0/server.json,a1/server.json")
        return tuple(read_server(Path(file)) for file in files)

    def found(self, draft: Draft, least: int = 1, keys: ProofKeys | None = None) -> Draft:
        """Write the document of a task, and a ticket for each who takes part: at least so many owners."""
        from ..serving.task_document import Role, found

        owners, analysts = whole("owners", self.owners, least), whole("analysts", self.analysts)
        numbers = {Role.OWNER: owners, Role.ANALYST: analysts, Role.COORDINATOR: 1}
        proofs = {} if keys is None else keys.of_tickets(owners)
        return found(draft, numbers, Path(self.out), Path(self.tickets), proofs)

    def reports(self) -> int:
        """Most reports that an owner may send. Raises `Misuse`: the number was not given."""
        if self.reports_per_owner is None:
            raise Misuse("reports-per-owner", "say how many reports one owner may send at most; there is no default")
        return whole("reports-per-owner", self.reports_per_owner)


@dataclass(frozen=True)
class Bearer:
    """Options for a ticket (bearer token) and the timeout."""

    ticket: Annotated[str, Option(help="The ticket, from the folder that was made with the task.", metavar="FILE")]
    patience: Annotated[str, Option(help="How long to wait for an answer.", metavar="SECONDS")] = "60"

    @property
    def seconds(self) -> float:
        """Timeout in seconds."""
        return float(whole("patience", self.patience))


# Commands for people in pairs: their relay server, and each person's device.


PAUSE = 0.2
"""Seconds between two polls of the mailbox, at first; each is one and a half times as long, up to some seconds."""
LONGEST_PAUSE = 5.0


@dataclass(frozen=True)
class MeetingOptions:
    """Options for the URL of the relay server, and for the time to wait for partners."""

    relay: Annotated[
        str | None,
        Option(help="Of people in pairs: where their server is reached; left out: where the task says.", metavar="URL"),
    ] = None
    wait: Annotated[
        str, Option(help="Of people in pairs: how long to wait for partners; then it is called again.",
                    metavar="SECONDS")
    ] = "0"  # fmt: skip


def take_part(task: PairTask, source: SourceOptions, bearer: Bearer, meeting: MeetingOptions) -> None:
    """Send the messages due in each of a person's pairs, and poll for partners' messages as long as asked for."""
    from dpcurves.noise import Randomness

    from ..pairs.attendance import Attendance, Post
    from ..pairs.task import read_values
    from ..serving.identity import host_of
    from ..serving.task_document import Role, Ticket

    (values,) = read_values(task, source.records(), source.delimiter).tolist()
    if meeting.relay is not None:
        host_of(meeting.relay)
    patience, ticket = whole("wait", meeting.wait, least=0), Path(bearer.ticket)
    post = Post.to(task, Ticket.read(ticket, Role.OWNER), meeting.relay or "", bearer.seconds)
    try:
        device = ticket.with_name(f"{ticket.name}.device")
        attendance = Attendance.of(post, Randomness.system(), device, tell)
        with waiting("waiting for partners"):
            reached = _attended(attendance, values, patience)
    finally:
        post.close()
    _say(task, attendance, reached)


def _attended(attendance: Attendance, values: Sequence[int], patience: int) -> Attended:
    """Progress of a person after at most `patience` seconds, or as soon as all pairs are done."""
    from time import monotonic, sleep

    end, pause = monotonic() + patience, PAUSE
    while True:
        reached = attendance.attend(values)
        if reached.over or monotonic() + pause > end:
            return reached
        sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


def _say(task: PairTask, attendance: Attendance, reached: Attended) -> None:
    spent = attendance.device.spent(task.loss.epsilon / task.pairing.each) if task.loss.epsilon else 0
    said = f"spent so far: epsilon {float(spent):g} of {float(task.loss.epsilon or 0):g}"
    if not reached.drawn:
        say(terminal(), "entered; pairs are not drawn yet: call it again once the task is closed", said)
        return
    counts = f"pairs: {reached.done} done, {reached.waiting} waiting for the partner, {reached.broken} dropped"
    say(terminal(), counts, *(["call it again later"] if reached.waiting else []), said)


def serve(server: RelayServer, listen: str | None) -> None:
    """Run the relay server of people in pairs until it is stopped."""
    from ..serving.server import Address

    place = listen or server.tasks[0].servers[0].url.removeprefix("https://").rstrip("/")
    names, console = ", ".join(task.name for task in server.tasks), terminal()
    server.serve(Address.parse(place), lambda: say(console, f"server of {names} listens at {place}"))


def close(task: PairTask, bearer: Bearer) -> None:
    """Close the task: send the server the seed that is stored beside the coordinator's ticket."""
    from ..pairs import read_seed
    from ..pairs.attendance import show_seed
    from ..serving.task_document import Role, Ticket

    ticket = Ticket.read(bearer.ticket, Role.COORDINATOR)
    entered = show_seed(task, ticket, read_seed(Path(bearer.ticket), task), bearer.seconds)
    say(terminal(), f"closed: {entered} of {task.people} people have entered, and pairs are drawn")
