"""Commands for people in pairs: their relay server, and each person's device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.options import SourceOptions, whole
from dpcurves.cli.terminal import say, tell, terminal, waiting

if TYPE_CHECKING:
    from ..pairs import PairTask
    from ..pairs.attendance import Attendance, Attended
    from ..pairs.relay_server import RelayServer
    from .task_parties import Bearer

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
