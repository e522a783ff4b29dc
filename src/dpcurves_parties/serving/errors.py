"""The error that aborts a protocol before it reveals anything."""

from __future__ import annotations

from dpcurves.arguments import ProtocolAborted, Refused

__all__ = ["ProtocolAborted", "Trouble"]


class Trouble(ProtocolAborted):
    """A server can not do its part. Who asked hears what is wrong; its operator also where, as `where` says."""

    def __init__(self, argument: str, rule: str, where: str) -> None:
        super().__init__(argument, rule, 500)
        self.where = where

    @classmethod
    def of_database(cls, who: str, error: Refused) -> Trouble:
        """The message of a database error about a ledger: which one, the fault, and its consequence."""
        wrong, _, _ = error.rule.rpartition(": ")[2].partition(";")
        return cls("store", f"{who}: {wrong}" if who else wrong, error.rule)
