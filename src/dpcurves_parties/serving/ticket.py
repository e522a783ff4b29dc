"""Tickets: who may send reports, ask, or close a task. Servers know their hashes alone."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path

from .errors import ProtocolAborted
from .new_files import write_secret


class Role(Enum):
    """The permission that a ticket grants."""

    OWNER = "owner"
    ANALYST = "analyst"
    COORDINATOR = "coordinator"

    @property
    def bearer(self) -> str:
        """The holder of such a ticket, in words."""
        return f"a {self.value}" if self is Role.COORDINATOR else f"an {self.value}"


@dataclass(frozen=True, slots=True, repr=False)
class Ticket:
    """SECRET. A token that lets its bearer in, at both servers. It has no repr.

    Attributes:
        task: The hash of the task.
        role: What it is good for.
        token: What the bearer shows.
    """

    task: str
    role: Role
    token: str

    def write(self, path: Path) -> None:
        """Into a new file that its owner alone may read.

        Raises:
            ValueError: there is one of this name, or the folder takes none.
        """
        text = json.dumps({"dpcurves": "ticket", "task": self.task, "role": self.role.value, "token": self.token})
        write_secret(path, text + "\n")

    @classmethod
    def read(cls, path: str | Path, role: Role) -> Ticket:
        """The ticket in a file, if it is of this role.

        Raises:
            ValueError: it is not. What is in the file is not shown.
        """
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
            ticket = cls(stored["task"], Role(stored["role"]), stored["token"])
        except OSError as error:
            raise ProtocolAborted("ticket", f"{str(path)!r} cannot be read ({error.strerror})") from None
        except (ValueError, KeyError, TypeError):
            raise ProtocolAborted("ticket", f"{str(path)!r} is no ticket") from None
        if ticket.role is not role:
            raise ProtocolAborted("ticket", f"that of {role.bearer} is needed, this one is of {ticket.role.bearer}")
        return ticket


def fresh_token() -> str:
    """A new token that nobody has seen."""
    return secrets.token_hex(32)


def hash_of(token: str) -> str:
    """The public hash of a token: tokens have 256 random bits, so nobody finds one from it."""
    return sha256(b"dpcurves token\n" + token.encode()).hexdigest()
