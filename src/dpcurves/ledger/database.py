"""The tables of a ledger, and transactions: reads see one moment, writes are alone and last."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    QueuePool,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    event,
    text,
)
from sqlalchemy.exc import DisconnectionError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import SchemaItem

from ..arguments import Refused

# The tables of a ledger.
#
# Seven tables hold entries: facts that are written once, numbered 1, 2, 3, ... across all of them, each sealed
# together with the one before it. Three things change, and are sealed on their own: what an account or an allowance
# has spent, the secret state of a stream, and the book, which says how many entries there are and how the last one is
# sealed.


VERSION = 5
FIRST_VERSION = 1
"""Had no notes, 2 no states, 3 no allowances, and 4 no events. Such a ledger is brought to the present schema when it
is opened."""

METADATA = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _numbers(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger, nullable=False) for name in names]


BOOK = Table(
    "dpcurves_book",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    *_texts("name", "key"),
    *_numbers("entries"),
    *_texts("head", "seal"),
)


def _entries(kind: str, *columns: SchemaItem) -> Table:
    """A table of entries: its own columns, and their place in the chain."""
    return Table(
        f"dpcurves_{kind}",
        METADATA,
        Column("entry", BigInteger, primary_key=True, autoincrement=False),
        *columns,
        Column("previous", Text, nullable=False),
        Column("mac", Text, nullable=False),
    )


ACCOUNTS = _entries(
    "accounts",
    Column("dataset", Text, nullable=False, unique=True),
    *_texts("neighbours", "unit_column"),
    *_numbers("unit_records"),
    *_texts("currency"),
    *_numbers("cap", "spent"),
    *_texts("seal"),
    # The second wall: whatever a program does, the database itself lets no account spend more than its cap.
    CheckConstraint("spent >= 0 AND spent <= cap", name="dpcurves_spent_within_cap"),
)

GRANTS = _entries(
    "grants",
    Column("request", Text, nullable=False, unique=True),
    *_texts("dataset", "purpose", "binding"),
    Column("epsilon", Text),
    *_texts("rho"),
    Column("amount", BigInteger, CheckConstraint("amount > 0", name="dpcurves_amount_above_zero"), nullable=False),
    Column("units", BigInteger),
    *_texts("charged_at"),
    # Every charge adds up what the dataset has spent: from the index alone, for it has the amounts as well.
    Index("dpcurves_grants_of_dataset", "dataset", "amount"),
)

ANSWERS = _entries(
    "answers",
    *_numbers("grant", "turn", "part"),
    *_texts("answer"),
    UniqueConstraint("grant", "turn", "part", name="dpcurves_first_answer_stays"),
)

# A new allowance is a new entry: the last one for a dataset, project and analyst stands. No analyst: the whole project.
ALLOWANCES = _entries(
    "allowances",
    *_texts("dataset", "project", "analyst", "currency"),
    *_numbers("most"),
    *_texts("together", "set_at"),
    *_numbers("spent"),
    *_texts("seal"),
    CheckConstraint("spent >= 0 AND spent <= most", name="dpcurves_spent_within_allowance"),
    Index("dpcurves_allowances_of_owner", "dataset", "project", "analyst"),
)

PAYMENTS = _entries(
    "payments",
    Column("grant", BigInteger, nullable=False, unique=True),
    *_texts("dataset", "project", "analyst"),
    Column("amount", BigInteger, CheckConstraint("amount > 0", name="dpcurves_payment_above_zero"), nullable=False),
    Index("dpcurves_payments_of_owner", "dataset", "project", "analyst", "amount"),
)

# What people did, as a server that asks for them tells it. Names, never values. No dataset: none in particular.
EVENTS = _entries(
    "events",
    *_texts("actor", "action", "subject", "dataset", "happened_at"),
    Index("dpcurves_events_of_dataset", "dataset", "entry"),
)

# SECRET: what was noted is less than what was counted, but more than what was answered.
NOTES = _entries(
    "notes",
    *_numbers("grant", "part"),
    *_texts("name", "value"),
    UniqueConstraint("grant", "part", "name", name="dpcurves_first_note_stays"),
)

# SECRET, and encrypted: an open group of a stream holds exact counts. Not among the entries, which forget nothing.
STATES = Table(
    "dpcurves_states",
    METADATA,
    Column("grant", BigInteger, primary_key=True, autoincrement=False),
    Column("sealed", Text, nullable=False),
)

ENTRIES = (ACCOUNTS, GRANTS, ANSWERS, NOTES, ALLOWANCES, PAYMENTS, EVENTS)
SEALED_APART = frozenset({"spent", "seal", "previous", "mac"})
"""Columns of entries that are not what an entry says: they change, or they are the seal itself."""


# A database as a ledger needs it: reads see one moment, writes are alone and last.


Result = TypeVar("Result")

WAIT_SECONDS = 60
"""How long a charge waits for others that charge."""

_ALONE = text("SELECT pg_advisory_xact_lock(:number)").bindparams(bindparam("number", type_=BigInteger))

_BUSY = f"others held it for {WAIT_SECONDS} seconds; this was not written"
_LOCKS = "its disk gives no locks, as some network disks: keep it on a disk of this machine, or in PostgreSQL"
# SQLite takes a disk that never gives a lock for one that others hold.
_BUSY_FILE = f"others held it for {WAIT_SECONDS} seconds, or {_LOCKS}; this was not written"
_NO_LOCKS = f"{_LOCKS}; this was not written"
_NO_LEDGER = "it is no ledger"
_TROUBLES = {
    "SQLITE_NOTADB": "it is no SQLite database",
    "SQLITE_ERROR": _NO_LEDGER,
    "SQLITE_BUSY": _BUSY_FILE,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_PROTOCOL": _BUSY_FILE,
    **dict.fromkeys(("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK", "SQLITE_IOERR_SHMLOCK"), _NO_LOCKS),
    "SQLITE_READONLY": "it may not be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_IOERR": "its disk cannot be read or written; asking again under the same request is never charged twice",
    "SQLITE_FULL": "the disk is full; this was not written",
    "SQLITE_CORRUPT": "its file is damaged",
    "SQLITE_CONSTRAINT": "it refused a row that breaks its rules; this was not written",
    "42P01": _NO_LEDGER,
    "42703": _NO_LEDGER,
    "42501": "this user may not write there",
    "23505": "it refused a row that breaks its rules; this was not written",
    "23514": "it refused a row that breaks its rules; this was not written",
    "55P03": _BUSY,
}
_UNREACHED = "it cannot be reached, or lets nobody in under this name; nothing was written"
_UNKNOWN = "it did not answer as a ledger does; asking again under the same request is never charged twice"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Database:
    """Two ways into one database, each a transaction per call.

    Attributes:
        place: What to call it in an error: no password, nothing that is stored there.
        reading: Transactions that see one moment of the database.
        writing: Transactions that come one after the other, and are on disk when they end.
        turn: What is entered for a transaction that writes, once it is connected: it may wait.
    """

    place: str
    reading: Engine
    writing: Engine
    turn: Callable[[], AbstractContextManager[object]] = nullcontext

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work` on a consistent snapshot of the database."""
        return self._run(self.reading, work, nullcontext)

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do all of `work`, durably, or nothing."""
        return self._run(self.writing, work, self.turn)

    def _run(
        self,
        engine: Engine,
        work: Callable[[Connection], Result],
        turn: Callable[[], AbstractContextManager[object]],
    ) -> Result:
        otherwise = _UNREACHED
        try:
            with engine.connect() as connection:
                otherwise = _UNKNOWN
                with turn(), connection.begin():
                    return work(connection)
        except SQLAlchemyError as error:
            trouble = _trouble(error, otherwise)
        # Raised out here, so that the engine's exception, which quotes statements and values, hangs on nothing.
        raise Refused("ledger", f"{self.place}: {trouble}")


def alone(connection: Connection, name: str) -> None:
    """Wait until nobody else writes under this name, and let nobody before this transaction ends.

    What follows sees all that they wrote: of those who look whether something is there, and make it if not, one makes
    it. (SQLite has one writer anyway.)
    """
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(sha256(b"dpcurves\n" + name.encode()).digest()[:8], signed=True)
        connection.execute(_ALONE, {"number": number})


def make_tables(connection: Connection, tables: MetaData) -> None:
    """Make those that are not there. Two who try at once would both find that they are not."""
    alone(connection, "tables")
    tables.create_all(connection)


def _trouble(error: SQLAlchemyError, otherwise: str) -> str:
    if isinstance(error, PoolTimeout):
        return _BUSY
    cause = getattr(error, "orig", None)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    primary = "_".join(code.split("_")[:2])  # SQLITE_BUSY_SNAPSHOT is a kind of SQLITE_BUSY
    return _TROUBLES.get(code) or _TROUBLES.get(primary, otherwise)


# Connections that stay open between transactions: for a process that serves, and opens them thousands of times.


MOST = 64
"""Connections at a time, of each way into a database: more than threads that serve."""
AT_REST = 8
KEPT = MappingProxyType(
    {"poolclass": QueuePool, "pool_size": AT_REST, "max_overflow": MOST - AT_REST, "pool_timeout": WAIT_SECONDS}
)
"""How an engine is made whose connections stay open."""


class OfFile(sqlite3.Connection):
    """A connection that knows which file it was opened for: a name may stand for another file later."""

    file: tuple[int, int] | None = None


def file_at(path: Path) -> tuple[int, int] | None:
    """The file that a path refers to now; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def require_same_file(engine: Engine, path: Path) -> Engine:
    """Let no transaction begin on a file that was moved away: what was charged there would be forgotten."""

    @event.listens_for(engine, "checkout")
    def _require(connection: OfFile, *_: object) -> None:
        if connection.file != file_at(path):
            raise DisconnectionError  # it is opened anew, or refused

    return engine


def closed_in_time(database: Database) -> Database:
    """The database, whose connections are closed when nobody has it any more, and carried into no forked process."""
    for engine in (database.reading, database.writing):
        weakref.finalize(database, engine.dispose)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_forget, weakref.ref(engine)))
    return database


def _forget(engine: weakref.ref[Engine]) -> None:
    """Leave connections to the process that opened them: closed by another one, they would end there, too."""
    found = engine()
    if found is not None:
        found.dispose(close=False)
