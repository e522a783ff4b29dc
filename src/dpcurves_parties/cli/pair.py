"""Command of a participant in a task of pairs: send shares to two servers, or take part in two-party protocols."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpcurves.cli.source_options import SourceOptions
from dpcurves.cli.terminal import say, terminal
from dpcurves.cli.waiting import filling

from .pair_tasks import require_extra
from .people import MeetingOptions, take_part
from .servers import Before
from .task_parties import Bearer
from .tasks import TaskFile, require_unsaid

if TYPE_CHECKING:
    from dpcurves.cli.option_groups import Command

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
    from ..pairs.owner import read_values
    from ..serving.two_servers.owner import Contribution, bearer_of

    ticket = Path(bearer.ticket)
    owner = bearer_of(task, ticket)
    values = read_values(task, source.records(), source.delimiter)
    with filling(f"sending shares of {task.name}", len(values)) as progress:
        sent = Contribution.of(task, values, ticket, before.meant()).send(owner, progress, bearer.seconds)
    say(terminal(), f"sent: shares of {sent.reports} people, {sent.new} of them new to the servers")


PAIR_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"pair": pair})
