"""The database that a server of tasks keeps things in, and its columns: what fails there is the server's trouble."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import BigInteger, Column, Connection, LargeBinary, MetaData, Text

from dpcurves.arguments import Refused
from dpcurves.ledger.chain import Database, make_tables
from dpcurves.ledger.sqlite import place_of

from .messages import ProtocolAborted, Trouble


def keys(*names: str) -> list[Column[str]]:
    """Columns of texts that make up the primary key."""
    return [Column(name, Text, primary_key=True) for name in names]


def numbered(*names: str) -> list[Column[int]]:
    """Columns of whole numbers that make up the primary key; none is counted up by the database."""
    return [Column(name, BigInteger, primary_key=True, autoincrement=False) for name in names]


def texts(*names: str) -> list[Column[str]]:
    """Columns of texts."""
    return [Column(name, Text, nullable=False) for name in names]


def octets(*names: str) -> list[Column[bytes]]:
    """Columns of octets."""
    return [Column(name, LargeBinary, nullable=False) for name in names]


def number(name: str) -> Column[int]:
    """A column of whole numbers."""
    return Column(name, BigInteger, nullable=False)


Result = TypeVar("Result")
Work = Callable[[Connection], Result]
Given = ParamSpec("Given")


class Transactions:
    """Transactions on a server's tables: what is committed is on disk before an answer leaves.

    Args:
        database: The ways into the database.
        tables: What it is to have: made if they are not there.
        who: What the server is called where the database fails.
    """

    def __init__(self, database: Database, tables: MetaData, who: str = "") -> None:
        self.database, self._who = database, who
        self.write(partial(make_tables, tables=tables))

    def read(self, work: Work[Result]) -> Result:
        """The result of `work` on a consistent snapshot of the database.

        Raises:
            ProtocolAborted: `work` says so, or the database fails.
        """
        return self.told(self.database.read, work)

    def write(self, work: Work[Result]) -> Result:
        """Do all of `work`, durably, or nothing. Raises `ProtocolAborted`: `work` says so, or the database fails."""
        return self.told(self.database.write, work)

    def told(self, way: Callable[[Work[Result]], Result], work: Work[Result]) -> Result:
        """Do `work` in such a transaction; of a database that fails, people hear that it does, its operator how."""
        try:
            return way(work)
        except ProtocolAborted:
            raise
        except Refused as error:
            if error.argument != "ledger":
                raise
            raise Trouble.of_database(self._who, error) from None


class ServerDatabase(Transactions):
    """A server's database at a URL (SQLite or PostgreSQL).

    Raises:
        ValueError: the URL names no database.
    """

    def __init__(self, url: str, who: str, tables: MetaData) -> None:
        place = place_of(url)
        self._kept = place.kept()
        super().__init__(place.database(), tables, who)

    def write_often(self, work: Work[Result]) -> Result:
        """Do all of `work`, as `write` does, through a connection that stays open until `rest`."""
        return self.told(self._kept.write, work)

    def rest(self) -> None:
        """Close the connections that stayed open: a file that is put back in another one's place is read from then."""
        if self._kept is not self.database:
            self._kept.writing.dispose()


def reads(
    method: Callable[Concatenate[Any, Connection, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """A method whose body reads in one transaction of its object's `_database`, of which it is given the connection."""

    @wraps(method)
    def done(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        found: Result = self._database.read(lambda connection: method(self, connection, *given, **named))
        return found

    return done


def writes(
    method: Callable[Concatenate[Any, Connection, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """A method whose body is done in one transaction of its object's `_database`: all of it, durably, or nothing."""

    @wraps(method)
    def done(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        found: Result = self._database.write(lambda connection: method(self, connection, *given, **named))
        return found

    return done
