"""What a person of a task of pairs does with a file of one's own values."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from .pair_tasks import require_extra
from .servers import Before
from .source_options import Source
from .tasks import Bearer, Document
from .terminal import say, terminal
from .waiting import filling

if TYPE_CHECKING:
    from ..parties import PairTask
    from .option_groups import Command


def pair(source: Source, document: Document, bearer: Bearer, before: Before) -> None:
    """Take part in a task of pairs with the values of a file: a share of each goes to either server, and you may go.

    Done again with the same file and ticket, nothing counts twice: begin again if it was stopped. Another file is
    refused, or takes the place of the first with --earlier replace.

    Example: dpcurves pair mine.csv --task task.json --ticket tickets/owner-1
    """
    require_extra()
    _send_shares(document.of_pairs(), source, bearer, before)


def _send_shares(task: PairTask, source: Source, bearer: Bearer, before: Before) -> None:
    from ..two_servers.owner import Contribution, bearer_of, read_values

    ticket = Path(bearer.ticket)
    owner = bearer_of(task, ticket)
    values = read_values(task, source.records(), source.delimiter)
    with filling(f"sending shares of {task.name}", len(values)) as progress:
        sent = Contribution.of(task, values, ticket, before.meant()).send(owner, progress, bearer.seconds)
    say(terminal(), f"sent: shares of {sent.reports} people, {sent.new} of them new to the servers")


PAIR_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"pair": pair})
