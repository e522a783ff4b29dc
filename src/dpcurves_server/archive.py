"""Persistent state of the server and its audit log: both in the database of the ledger, written in one transaction."""

from __future__ import annotations

from dpcurves.ledger import Event, Ledger

from .store import Result, Store, Work, told


class Archive(Store):
    """The server's tables, and its ledger.

    Attributes:
        ledger: What was spent, and what was done.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.kept(url)
        super().__init__(self.ledger.database)

    def enter(self, event: Event, work: Work[Result]) -> Result:
        """Do all of `work` and enter who did it, or neither."""
        return told(lambda both: self.ledger.record(event, both), work)
