"""Messages of one object in JSON, the error that aborts a protocol, and core dumps switched off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dpcurves.arguments import InvalidArgument, ProtocolError

# The error that aborts a protocol before it reveals anything.
__all__ = ["ProtocolError", "ServerFault"]


class ServerFault(ProtocolError):
    """A server can not do its part. Who asked hears what is wrong; its operator also where, as `where` says."""

    def __init__(self, argument: str, rule: str, where: str) -> None:
        super().__init__(argument, rule, 500)
        self.where = where

    @classmethod
    def from_database_error(cls, who: str, error: InvalidArgument) -> ServerFault:
        """The message of a database error about a ledger: which one, the fault, and its consequence."""
        wrong, _, _ = error.rule.rpartition(": ")[2].partition(";")
        return cls("store", f"{who}: {wrong}" if who else wrong, error.rule)


# Messages of one object in JSON: read with care, for anybody may have written them.
UNLIKE = "is not of the form that was agreed on"


def parse_fields(message: bytes, who: str, **facts: type) -> Mapping[str, Any]:
    """The object in a message that has facts of these types. Raises `ProtocolError`: there is none."""
    stored = parse_object(message, who)
    if any(type(stored.get(name)) is not kind for name, kind in facts.items()):
        raise ProtocolError(who, f"its answer {UNLIKE}", 502)
    return stored


def parse_object(message: bytes, who: str) -> Mapping[str, Any]:
    """The object in a message.

    Raises:
        ProtocolAborted: there is none.
    """
    try:
        stored = json.loads(message)
    except ValueError:
        stored = None
    if not isinstance(stored, dict):
        raise ProtocolError(who, "the message is cut off, or is none")
    return stored


def parse_refusal(message: bytes, default: str) -> str:
    """The line by which another machine refuses, or another one where its message has none."""
    try:
        line = json.loads(message)["error"]
    except (ValueError, KeyError, TypeError):
        line = None
    return line if isinstance(line, str) else default


def disable_core_dumps() -> None:
    """Let the system write no image of this process's memory, which holds keys and shares, should it crash."""
    with suppress(ImportError):  # where there are no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
