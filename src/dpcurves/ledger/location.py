"""Locations of ledgers: a file, memory, or a PostgreSQL server that is shared by many machines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from ..arguments import Refused
from .chain import Book
from .database import BOOK, KEPT, WAIT_SECONDS, Database, closed_in_time
from .key import VARIABLE, Key
from .sqlite import FilePlace, MemoryPlace

# Ledgers on a PostgreSQL server, shared by many machines.


_FOUNDING = int.from_bytes(b"dpcurves")
_PREPARE = text(
    "SELECT set_config('lock_timeout', :wait, true),"
    # A server may be set to answer before a commit is on disk; a charge may not.
    " CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
).bindparams(wait=f"{WAIT_SECONDS}s")
_ANEW = MappingProxyType({"poolclass": NullPool})
"""No connection is carried into a forked process, where two would talk at once."""


class ServerPlace:
    """A database of a PostgreSQL server.

    Raises:
        ValueError: the driver is not installed.
    """

    def __init__(self, url: URL) -> None:
        self._url = url
        self._database = self._through(_ANEW)

    def is_there(self) -> bool:
        return self._database.read(_is_founded)

    def key(self) -> Key:
        """None: a server has no safe place for the key of what it stores."""
        raise Refused("key", f"a ledger on PostgreSQL needs one: set {VARIABLE} to 64 random hexadecimal digits")

    def require_unbegun(self) -> None:
        """Nothing: no trace of a ledger stays where its tables were."""

    def found(self, key: Key) -> None:
        """Make the tables; if another process was first, its tables stay."""
        self._database.write(partial(_found_once, key=key))

    def database(self) -> Database:
        return self._database

    def kept(self) -> Database:
        return closed_in_time(self._through({**KEPT, "pool_pre_ping": True}))

    def _through(self, pool: Mapping[str, Any]) -> Database:
        reading = _engine(self._url, "REPEATABLE READ", pool)  # one moment for all statements of a transaction
        # Whoever writes locks the book first. At this level the statements that follow see all that was committed
        # while it waited for the lock; at a stricter one it would be thrown out instead.
        writing = _engine(self._url, "READ COMMITTED", pool)
        event.listen(writing, "begin", lambda connection: connection.execute(_PREPARE))
        return Database(f"PostgreSQL database {self._url.database!r}", reading, writing)


def _engine(url: URL, isolation: str, pool: Mapping[str, Any]) -> Engine:
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            **pool,
            isolation_level=isolation,
            use_native_hstore=False,  # else every connection begins by asking for a type that is not used here
            connect_args={"connect_timeout": 10},
        )
    except ImportError:
        trouble = "PostgreSQL needs an extra: pip install 'dpcurves[postgres]'"
    raise Refused("ledger", trouble)


def _found_once(connection: Connection, key: Key) -> None:
    # CREATE TABLE IF NOT EXISTS fails if two try at once. This lock ends with the transaction.
    connection.execute(text("SELECT pg_advisory_xact_lock(:number)").bindparams(number=_FOUNDING))
    if not _is_founded(connection):
        Book.of(key).found(connection, key)


def _is_founded(connection: Connection) -> bool:
    return inspect(connection).has_table(BOOK.name)


# The location of a ledger.


_KNOWN = "sqlite:///budget.db, postgresql+psycopg://user@host/database or sqlite:// is needed"


class Place(Protocol):
    """A kind of database, and where its key is when none is given."""

    def is_there(self) -> bool:
        """Tell whether a ledger, or what should be one, exists here."""

    def key(self) -> Key:
        """The key that lies beside the ledger; for a new ledger, a new one, which `found` will write there."""

    def require_unbegun(self) -> None:
        """Refuse a place whose ledger is gone: what it spent would be forgotten."""

    def found(self, key: Key) -> None:
        """Make an empty ledger, unless another process was first."""

    def database(self) -> Database:
        """The database that holds the ledger."""

    def kept(self) -> Database:
        """The database, through connections that stay open between transactions: for a process that serves."""


def place_of(url: str) -> Place:
    """The place that a URL names.

    Raises:
        ValueError: it names none. The URL is not repeated: it may hold a password.
    """
    try:
        parsed = make_url(url)
    except (SQLAlchemyError, ValueError):
        parsed = None
    if parsed is None:  # raised out here, so that the error, which quotes the URL, hangs on nothing
        raise Refused("ledger", f"a URL like {_KNOWN}")
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return ServerPlace(parsed)
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise Refused("ledger", f"a URL like {_KNOWN}, got one of {parsed.drivername!r}")
    if parsed.query or parsed.host:
        raise Refused("ledger", "an SQLite URL is sqlite:/// and the path of a file, without host and options")
    return MemoryPlace() if parsed.database in (None, "", ":memory:") else FilePlace(str(parsed.database))
