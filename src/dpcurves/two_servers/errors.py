"""What ends a protocol before it tells anything."""

from __future__ import annotations


class ProtocolAborted(ValueError):
    """A message was not what the protocol says, or came from somebody else. One line; nothing was told.

    Attributes:
        status: What HTTP calls it.
    """

    def __init__(self, line: str, status: int = 400) -> None:
        super().__init__(line)
        self.status = status


class Trouble(ProtocolAborted):
    """A server can not do its part. Who asked hears what is wrong; its operator also where, as `where` says."""

    def __init__(self, line: str, where: str) -> None:
        super().__init__(line, 500)
        self.where = where

    @classmethod
    def of_database(cls, who: str, error: ValueError) -> Trouble:
        """What a database says: `ledger: which one: what is wrong; what that means for a ledger`."""
        wrong, _, _ = str(error).rpartition(": ")[2].partition(";")
        return cls(f"{who}: {wrong}", str(error).removeprefix("ledger: "))
