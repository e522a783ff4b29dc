"""The database of a verification server: its tables (`tables`) and its budget ledger.

Both lie in one database. So a charge and a change of state share one transaction, and either both happen or neither.
`Archive.run_logged` adds the audit event to the same transaction. The database holds no records.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sql
from sqlalchemy import Connection, Table, select

from dpcurves.ledger import Event, Ledger
from dpcurves_parties.serving.database import Result, Transactions, Work

from .tables import METADATA


def has_row(connection: Connection, table: Table, **facts: object) -> bool:
    """Return True if a table has a row with these values.

    Args:
        connection: A connection in a transaction.
        table: The table.
        facts: Values by column name; all of them must match.
    """
    return connection.execute(select(sql.literal(1)).select_from(table).filter_by(**facts)).first() is not None


def format_now() -> str:
    """Return the current time in UTC as ISO 8601 text, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Transactions):
    """The server's database, with transactions over its tables and its ledger.

    Args:
        url: The database: ``sqlite:///server.db``, or ``postgresql+psycopg://...``.

    Attributes:
        ledger: The budget ledger, which also holds the audit log.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.open_persistent(url)
        super().__init__(self.ledger.database, METADATA)

    def run_logged(self, event: Event, work: Work[Result]) -> Result:
        """Run `work` and write an audit event in one transaction; return the result of `work`.

        Args:
            event: The event that reports the change.
            work: Makes the change on a connection. If it raises, neither the change nor the event is stored.
        """
        return self.run_transaction(lambda both: self.ledger.record_event(event, both), work)
