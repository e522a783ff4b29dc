"""The location of a ledger."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from ..arguments import Refused
from .database import Database
from .key import Key
from .postgres import ServerPlace
from .sqlite import FilePlace, MemoryPlace

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
    parsed = _parse(url)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return ServerPlace(parsed)
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise Refused("ledger", f"a URL like {_KNOWN}, got one of {parsed.drivername!r}")
    if parsed.query or parsed.host:
        raise Refused("ledger", "an SQLite URL is sqlite:/// and the path of a file, without host and options")
    return MemoryPlace() if parsed.database in (None, "", ":memory:") else FilePlace(str(parsed.database))


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (SQLAlchemyError, ValueError):
        trouble = f"a URL like {_KNOWN}"
    raise Refused("ledger", trouble)
