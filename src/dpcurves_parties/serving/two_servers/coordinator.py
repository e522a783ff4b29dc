"""Client of the coordinator: lets both servers agree on the reports that count."""

from __future__ import annotations

import json
from typing import NamedTuple

from ..channel import PATIENCE, Channel
from ..json_messages import facts_of
from ..ticket import Ticket
from .kinds import SharedTask
from .owner import require_task


class Closed(NamedTuple):
    """The reports that count.

    Attributes:
        set: The hash of their set.
        reports: Number of reports.
        owners: Number of owners.
    """

    set: str
    reports: int
    owners: int


def close(
    task: SharedTask, ticket: Ticket, party: int = 0, patience: float = PATIENCE, seed: bytes | None = None
) -> Closed:
    """Let both servers agree on the reports that count, and show them the seed of pairs if there are any.

    Raises:
        ProtocolAborted: they do not agree, or can not be reached. Asked again, it ends the same way.
    """
    require_task(ticket, task)
    server = Channel.to(task.servers[party].url, task.servers[party].certificate, patience)
    try:
        shown = b"" if seed is None else json.dumps({"seed": seed.hex()}).encode()
        told = server.post(f"/tasks/{task.hash}/close", shown, ticket.token)
        agreed = facts_of(told, "server", set=str, reports=int, owners=int)
    finally:
        server.close()
    return Closed(agreed["set"], agreed["reports"], agreed["owners"])
