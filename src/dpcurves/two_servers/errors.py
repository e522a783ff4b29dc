"""What ends a protocol before it tells anything."""

from __future__ import annotations

from ..arguments import Refused


class ProtocolAborted(Refused):
    """A message was not what the protocol says, or came from somebody else. One line; nothing was told.

    Attributes:
        status: What HTTP calls it.
    """

    def __init__(self, argument: str, rule: str, status: int = 400) -> None:
        super().__init__(argument, rule)
        self.status = status

    @classmethod
    def heard(cls, line: str, status: int) -> ProtocolAborted:
        """What another machine said, in one line: its argument comes first."""
        argument, parted, rule = line.partition(": ")
        return cls(argument, rule, status) if parted else cls("server", line, status)


class Trouble(ProtocolAborted):
    """A server can not do its part. Who asked hears what is wrong; its operator also where, as `where` says."""

    def __init__(self, argument: str, rule: str, where: str) -> None:
        super().__init__(argument, rule, 500)
        self.where = where

    @classmethod
    def of_database(cls, who: str, error: Refused) -> Trouble:
        """What a database says of a ledger: which one, what is wrong, and what that means for a ledger."""
        wrong, _, _ = error.rule.rpartition(": ")[2].partition(";")
        return cls("store", f"{who}: {wrong}" if who else wrong, error.rule)
