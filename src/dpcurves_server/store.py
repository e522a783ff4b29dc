"""Persistent state of a verification server, in the database of its ledger: transactions over `tables`.

A charge and a change of state share one transaction, because both lie in one database. `Archive.run_logged` writes a
change with its audit event; `audit_log` reads the events.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sql
from sqlalchemy import Connection, Table, select

from dpcurves.ledger import Event, Ledger
from dpcurves_parties.serving.database import Result, Transactions, Work

from .tables import METADATA


def has_row(connection: Connection, table: Table, **facts: object) -> bool:
    """Return True if a table has a row with these values."""
    return connection.execute(select(sql.literal(1)).select_from(table).filter_by(**facts)).first() is not None


def format_now() -> str:
    """Return the current time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Transactions):
    """The server's database: its tables and its ledger.

    Attributes:
        ledger: The budget ledger and audit log.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.open_persistent(url)
        super().__init__(self.ledger.database, METADATA)

    def run_logged(self, event: Event, work: Work[Result]) -> Result:
        """Run `work` and record the event in the audit log, in one transaction; return the result of `work`."""
        return self.run_transaction(lambda both: self.ledger.record_event(event, both), work)
