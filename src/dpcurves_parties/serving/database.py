"""Database transactions of a server (SQLite or PostgreSQL): a write is on disk before its result is returned.

    ServerDatabase       URL and tables -> transactions: `read_snapshot` runs a function on one consistent snapshot,
                         `write` runs one in a durable transaction
    read_transaction     decorates a method: it runs on one snapshot
    write_transaction    decorates a method: it runs in one durable transaction
    text_columns, ...    columns of the tables (SQLAlchemy)

A failure of the database becomes a `ServerFault`: clients learn that the server failed, and the log says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import BigInteger, Column, Connection, LargeBinary, MetaData, Text

from dpcurves.arguments import InvalidArgument
from dpcurves.ledger.chain import Database, LedgerBusy, has_tables, make_tables
from dpcurves.ledger.sqlite import parse_storage_url

from .messages import ProtocolError, ServerFault

BUSY_MESSAGE = "busy: another process is writing, and nothing was written; try again in a minute"
"""What clients are told, with status 503, if another process keeps the database locked for too long."""
Result = TypeVar("Result")
Work = Callable[[Connection], Result]  # what runs in a transaction
Given = ParamSpec("Given")


class Transactions:
    """Runs functions in transactions on the tables of a server.

    Args:
        database: Engines of the database.
        tables: Tables, created if they do not exist.
        who: Name of the server in errors.
    """

    def __init__(self, database: Database, tables: MetaData, who: str = "") -> None:
        self.database = database
        self._who = who
        if not self.read_snapshot(partial(has_tables, tables=tables)):
            self.write(partial(make_tables, tables=tables))

    def read_snapshot(self, work: Work[Result]) -> Result:
        """Run `work` on a consistent snapshot of the database, and return its result.

        Args:
            work: Function of a connection.

        Raises:
            ProtocolError: `work` raised it, or the database fails.
        """
        return self.run_transaction(self.database.run_read, work)

    def write(self, work: Work[Result]) -> Result:
        """Run `work` in a durable transaction, and return its result. The changes are on disk by then.

        Args:
            work: Function of a connection. An exception rolls everything back.

        Raises:
            ProtocolError: `work` raised it, or the database fails.
        """
        return self.run_transaction(self.database.run_write, work)

    def run_transaction(self, transact: Callable[[Work[Result]], Result], work: Work[Result]) -> Result:
        """Run `work` in a transaction of any kind, and return its result.

        Args:
            transact: Runs a function in a transaction, such as `Database.run_write`.
            work: Function of a connection.

        Raises:
            ProtocolError: `work` raised it.
            ServerFault: the database fails. Clients learn only that the server failed; the operator learns why.
        """
        try:
            return transact(work)
        except ProtocolError:
            raise
        except LedgerBusy as error:
            raise ServerFault(
                "store", f"{self._who}: {BUSY_MESSAGE}" if self._who else BUSY_MESSAGE, error.rule, 503
            ) from None
        except InvalidArgument as error:
            if error.argument != "ledger":
                raise
            raise ServerFault.from_database_error(self._who, error, self.database.label) from None


class ServerDatabase(Transactions):
    """The database of a server, at a URL (SQLite or PostgreSQL).

    Args:
        url: URL of the database.
        who: Name of the server in errors.
        tables: Tables, created if they do not exist.

    Raises:
        ValueError: the URL is invalid.
    """

    def __init__(self, url: str, who: str, tables: MetaData) -> None:
        storage = parse_storage_url(url)
        self._kept = storage.open_persistent()
        super().__init__(storage.open_database(), tables, who)

    def write_on_open_connection(self, work: Work[Result]) -> Result:
        """Run `work` in a durable transaction, on a connection that stays open until `close_connections`.

        Args:
            work: Function of a connection. An exception rolls everything back.

        Raises:
            ProtocolError: `work` raised it, or the database fails.
        """
        return self.run_transaction(self._kept.run_write, work)

    def close_connections(self) -> None:
        """Close open connections, so that a database file that was replaced is opened anew."""
        if self._kept is not self.database:
            self._kept.write_engine.dispose()


def read_transaction(
    method: Callable[Concatenate[Any, Connection, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """Decorate a method of an object with a `_database`, so that it runs on one consistent snapshot.

    Args:
        method: The method, whose first argument after `self` is a connection.

    Returns:
        The method without this argument, which the decorator provides.
    """

    @wraps(method)
    def run_in_transaction(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        """Call the method with a connection of one read transaction, and return its result."""
        result: Result = self._database.read_snapshot(lambda connection: method(self, connection, *given, **named))
        return result

    return run_in_transaction


def write_transaction(
    method: Callable[Concatenate[Any, Connection, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """Decorate a method of an object with a `_database`, so that it runs in one durable transaction.

    Args:
        method: The method, whose first argument after `self` is a connection.

    Returns:
        The method without this argument, which the decorator provides.
    """

    @wraps(method)
    def run_in_transaction(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        """Call the method with a connection of one durable write transaction, and return its result."""
        result: Result = self._database.write(lambda connection: method(self, connection, *given, **named))
        return result

    return run_in_transaction


def text_key_columns(*names: str) -> list[Column[str]]:
    """Return new text columns of these names that make up a table's primary key.

    Args:
        names: Names of the columns.
    """
    return [Column(name, Text, primary_key=True) for name in names]


def integer_key_columns(*names: str) -> list[Column[int]]:
    """Return new 64-bit integer columns of these names that make up a table's primary key, without autoincrement."""
    return [Column(name, BigInteger, primary_key=True, autoincrement=False) for name in names]


def text_columns(*names: str) -> list[Column[str]]:
    """Return new text columns of these names, declared as NOT NULL.

    Args:
        names: Names of the columns.
    """
    return [Column(name, Text, nullable=False) for name in names]


def bytes_columns(*names: str) -> list[Column[bytes]]:
    """Return new byte columns of these names, declared as NOT NULL.

    Args:
        names: Names of the columns.
    """
    return [Column(name, LargeBinary, nullable=False) for name in names]


def integer_column(name: str) -> Column[int]:
    """Return a new 64-bit integer column, which must not be NULL.

    Args:
        name: Name of the column.
    """
    return Column(name, BigInteger, nullable=False)
