"""Tables of a verification server in the database of its ledger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from dpcurves.arguments import Refused
from dpcurves.ledger.database import Database, make_tables
from dpcurves_parties.serving.errors import ProtocolAborted, Trouble

from .tables import METADATA

Result = TypeVar("Result")
Work = Callable[[Connection], Result]


class Store:
    """Transactions on the server's tables, each of them whole or not at all.

    Args:
        database: That of the ledger, whose tables are there already.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.write(partial(make_tables, tables=METADATA))

    def read(self, work: Work[Result]) -> Result:
        """The result of `work` on a consistent snapshot of the database."""
        return told(self._database.read, work)

    def write(self, work: Work[Result]) -> Result:
        """Do all of `work`, durably, or nothing."""
        return told(self._database.write, work)


def told(way: Callable[[Work[Result]], Result], work: Work[Result]) -> Result:
    """Do `work` in a transaction; of a database that fails, people hear that it does, and its operator how.

    Raises:
        ProtocolAborted: as of `work`; or the database fails.
    """
    try:
        return way(work)
    except ProtocolAborted:
        raise
    except Refused as error:
        if error.argument != "ledger":
            raise
        raise Trouble.of_database("", error) from None


def now() -> str:
    """The time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")
