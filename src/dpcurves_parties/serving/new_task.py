"""A new task, with the tickets that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from dpcurves.arguments import Refused

from .new_files import require_new, write_public
from .task_document import TaskDocument
from .ticket import Role, Ticket, fresh_token, hash_of

Draft = TypeVar("Draft", bound=TaskDocument)


def found(draft: Draft, numbers: Mapping[Role, int], document: Path, tickets: Path) -> Draft:
    """Make tokens, write the document, and a ticket for each who takes part: ``owner-1``, ``analyst-1``, ...

    Raises:
        ValueError: a file of one of these names is there, or a folder takes none; or nobody takes part.
    """
    if any(number < 1 for number in numbers.values()):
        raise Refused("owners, analysts", "at least one of each is needed")
    tokens = {role: [fresh_token() for _ in range(numbers[role])] for role in Role}
    task = draft.taken_by({role: tuple(hash_of(token) for token in tokens[role]) for role in Role})
    try:
        tickets.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Refused("tickets", f"{str(tickets)!r} cannot be made ({error.strerror})") from None
    files = {
        tickets / f"{role.value}-{number}": Ticket(task.hash, role, token)
        for role in Role
        for number, token in enumerate(tokens[role], start=1)
    }
    for file in files:
        require_new(file)
    write_public(document, task.to_json() + "\n")
    for file, ticket in files.items():
        ticket.write(file)
    return task
