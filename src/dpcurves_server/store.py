"""The database of a verification server (SQLAlchemy): its tables, its privacy budget ledger and its audit log.

A verification server answers questions about confidential tables under differential privacy. `Archive` is its database
(not an archive of files):

    tables       accounts, datasets, projects, questions and released answers (declared in `tables`)
    ledger       one account per protected dataset, with every charge, in a hash chain (`dpcurves.ledger`)
    audit log    entries of the same hash chain, one for each logged change

All three lie in one SQL database, so one transaction can change several of them. That is why a question is never marked
as paid without its charge, and why no logged change lacks its audit event: both are committed, or neither. The database
holds no confidential records.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sql
from sqlalchemy import Connection, Table, select

from dpcurves.ledger import Event, Ledger
from dpcurves_parties.serving.database import Result, Transactions, Work

from .tables import METADATA


def has_row(connection: Connection, table: Table, **facts: object) -> bool:
    """Return True if a database table has at least one row with these values.

    Args:
        connection: A connection in a transaction.
        table: The table, one of `tables`.
        facts: Values by column name, all of which a row must have. Without any, a row of any values is enough.
    """
    return connection.execute(select(sql.literal(1)).select_from(table).filter_by(**facts)).first() is not None


def format_now() -> str:
    """Return the current time in UTC as ISO 8601 text, to the second, such as ``2026-03-01T08:00:00+00:00``."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Transactions):
    """The server's database, with transactions over its tables and its ledger.

    Its base class `Transactions` has `read_snapshot` (a consistent read) and `run_transaction` (changes that are all
    committed or all rolled back).

    Args:
        url: The database as an SQLAlchemy URL: ``sqlite:///server.db``, or ``postgresql+psycopg://...``.

    Attributes:
        ledger: The privacy budget ledger, which also holds the audit log.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.open_persistent(url)
        super().__init__(self.ledger.database, METADATA)

    def run_logged(self, event: Event, work: Work[Result]) -> Result:
        """Run a change and write its audit event in one transaction; return the result of the change.

        Args:
            event: The audit event: who did what to which dataset.
            work: Function of an open connection that makes the change. If it raises, neither the change nor the event
                is stored, and the exception is passed on.

        Returns:
            The return value of `work`.
        """
        return self.run_transaction(lambda both: self.ledger.record_event(event, both), work)
