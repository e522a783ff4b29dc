"""A database as a ledger needs it: reads see one moment, writes are alone and last."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from sqlalchemy import BigInteger, Connection, Engine, MetaData, bindparam, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ..arguments import Refused

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
    return _TROUBLES.get(code) or _TROUBLES.get(_primary(code), otherwise)


def _primary(code: str) -> str:
    """SQLITE_BUSY_SNAPSHOT is a kind of SQLITE_BUSY; states of PostgreSQL have no underscores."""
    return "_".join(code.split("_")[:2])
