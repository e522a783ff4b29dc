"""JSON messages with one object, the error that aborts a protocol, and a switch for core dumps.

    parse_fields    the object of a message, with fields of the expected types; else `ProtocolError`, in one line
    ServerFault     a fault of this server: clients get the error, the log also gets its place

>>> parse_object(b'{"answer": 3}', "server 0")
{'answer': 3}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dpcurves.arguments import InvalidArgument, ProtocolError

# The error that aborts a protocol before it reveals anything.
__all__ = ["ProtocolError", "ServerFault"]


class ServerFault(ProtocolError):
    """A fault of the server itself. The client receives the error; the log also has its location, `where`."""

    def __init__(self, argument: str, rule: str, where: str) -> None:
        super().__init__(argument, rule, 500)
        self.where = where

    @classmethod
    def from_database_error(cls, who: str, error: InvalidArgument) -> ServerFault:
        """Return the error for a database error about a ledger: the ledger, the fault and its consequence."""
        cause, _, _ = error.rule.rpartition(": ")[2].partition(";")
        return cls("store", f"{who}: {cause}" if who else cause, error.rule)


# Messages with one JSON object: parsed defensively, because anyone may have written them.
UNLIKE = "does not have the agreed form; use the same version of dpcurves on all machines"


def parse_fields(message: bytes, who: str, **facts: type) -> Mapping[str, Any]:
    """Return the object in a message, with fields of these types. Raises `ProtocolError`: the message is invalid."""
    stored = parse_object(message, who)
    if any(type(stored.get(name)) is not fact_type for name, fact_type in facts.items()):
        raise ProtocolError(who, f"the answer {UNLIKE}", 502)
    return stored


def parse_object(message: bytes, who: str) -> Mapping[str, Any]:
    """Return the JSON object that a message consists of; `who` names its sender in the error.

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


def parse_refusal(message: bytes, default: str) -> str:
    """Return the text of the field `error` in another machine's refusal; `default` if the message has none."""
    try:
        error_line = json.loads(message)["error"]
    except (ValueError, LookupError, TypeError, RecursionError):
        error_line = None
    return error_line if isinstance(error_line, str) else default


def disable_core_dumps() -> None:
    """Prevent core dumps of this process, whose memory holds keys and shares."""
    with suppress(ImportError):  # the module `resource` is missing on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
