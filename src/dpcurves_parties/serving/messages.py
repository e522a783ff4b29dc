"""Parsing of untrusted JSON messages between machines of a protocol, and the errors that abort it.

    parse_object     bytes -> the JSON object that a message consists of
    parse_fields     the same, with fields of the expected types
    parse_refusal    bytes -> the line of another machine's error
    ProtocolError    a message is invalid, or a protocol cannot go on; it is one line and has an HTTP status
    ServerFault      a fault of this server: clients get the error, the log also gets its location

Anyone may have written a message. So parsers refuse invalid ones, and their errors never show the content.

>>> parse_object(b'{"answer": 3}', "server 0")
{'answer': 3}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dpcurves.arguments import InvalidArgument, ProtocolError

__all__ = ["ProtocolError", "ServerFault"]


def parse_object(message: bytes, who: str) -> Mapping[str, Any]:
    """Parse a message that must be a JSON object.

    Args:
        message: The message.
        who: Name of its sender, for errors.

    Raises:
        ProtocolError: the message is invalid.
    """
    try:
        stored = json.loads(message)
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        raise ProtocolError(
            who, "the message is cut off, or no JSON object; use the same version of dpcurves on all machines"
        )
    return stored


def parse_fields(message: bytes, who: str, **facts: type) -> Mapping[str, Any]:
    """Return the JSON object in a message, if its fields have these types.

    Args:
        message: The message.
        who: Name of its sender, for errors.
        facts: Expected type of each field. Further fields are allowed.

    Raises:
        ProtocolError: the message is invalid.
    """
    stored = parse_object(message, who)
    if any(type(stored.get(name)) is not fact_type for name, fact_type in facts.items()):
        raise ProtocolError(who, f"the answer {WRONG_FORM_RULE}", 502)
    return stored


def parse_refusal(message: bytes, default: str) -> str:
    """Return the text of the field ``error`` in another machine's refusal.

    Args:
        message: The refusal.
        default: Text to return if the message has no such field.
    """
    try:
        error_line = json.loads(message)["error"]
    except (ValueError, LookupError, TypeError, RecursionError):
        error_line = None
    return error_line if isinstance(error_line, str) else default


class ServerFault(ProtocolError):
    """A fault of the server itself. Clients receive the error; the log also has its location.

    Args:
        argument: Argument of the error, which clients receive.
        rule: What went wrong and what to do, which clients receive.
        where: What went wrong and where, for the log alone.
        status: The HTTP status code: 503 if the same request may be sent again, else 500.
    """

    def __init__(self, argument: str, rule: str, where: str, status: int = 500) -> None:
        super().__init__(argument, rule, status)
        self.where = where

    @classmethod
    def from_database_error(cls, who: str, error: InvalidArgument, label: str) -> ServerFault:
        """Return the error for clients of a server whose database failed: the cause, without the place and without what
        the operator has to do.

        Args:
            who: Name of the server; empty for none.
            error: The database's error, which goes to the log.
            label: Name of the database in this error.

        >>> rule = "'/srv/budget.db': the disk is full and nothing was written; make room and retry"
        >>> str(ServerFault.from_database_error("", InvalidArgument("ledger", rule), "'/srv/budget.db'"))
        'store: the disk is full and nothing was written'
        """
        cause = re.split(r"[;:]", error.rule.removeprefix(f"{label}: "), maxsplit=1)[0]
        return cls("store", f"{who}: {cause}" if who else cause, error.rule)


WRONG_FORM_RULE = "does not have the agreed form; use the same version of dpcurves on all machines"
"""End of the error message about an answer whose fields or sizes are not those of this version."""


def disable_core_dumps() -> None:
    """Prevent core dumps of this process, because its memory holds keys and shares. Does nothing on Windows."""
    with suppress(ImportError):  # the module `resource` is missing on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
