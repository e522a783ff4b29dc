"""The first page: which ledger this is, how many entries it has, and how the last one is sealed."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlalchemy import Connection, Dialect, RowMapping, Select, insert, select, update
from sqlalchemy.schema import CreateIndex, CreateTable

from ..arguments import Refused
from .key import Fact, Key
from .schema import ALLOWANCES, BOOK, EVENTS, FIRST_VERSION, METADATA, NOTES, PAYMENTS, STATES, VERSION


@dataclass(frozen=True, slots=True)
class Book:
    """A row that is sealed by itself.

    Attributes:
        version: The version of the schema.
        name: What tells this ledger from others under the same key.
        key: What tells the ledger's key from other keys.
        entries: How many entries there are.
        head: The seal of the last entry.
    """

    version: int
    name: str
    key: str
    entries: int
    head: str

    @classmethod
    def of(cls, key: Key) -> Book:
        """The book of a new ledger."""
        name = secrets.token_hex(16)
        return cls(VERSION, name, key.identity, entries=0, head=key.seal("beginning", name))

    def beginning(self, key: Key) -> str:
        """The predecessor of the first entry in the hash chain."""
        return key.seal("beginning", self.name)

    def facts(self) -> dict[str, Fact]:
        """The row without its seal."""
        return {
            "version": self.version,
            "name": self.name,
            "key": self.key,
            "entries": self.entries,
            "head": self.head,
        }

    def write(self, connection: Connection, key: Key) -> None:
        """Write this page over the one before."""
        connection.execute(update(BOOK).where(BOOK.c.id == 1), {**self.facts(), "seal": self._seal(key)})

    def found(self, connection: Connection, key: Key) -> None:
        """Make the tables, and write the first page."""
        for statement in _makings(connection.dialect):
            connection.exec_driver_sql(statement)
        connection.execute(insert(BOOK), {"id": 1, **self.facts(), "seal": self._seal(key)})

    def _seal(self, key: Key) -> str:
        return key.seal("book", *self.facts().values())


def read_book(connection: Connection, key: Key) -> Book:
    """The book as it is at this moment.

    Raises:
        ValueError: it is missing, under another key, or was changed.
    """
    return _only(connection, select(BOOK), key)


def lock_book(connection: Connection, key: Key) -> Book:
    """The book, held until this transaction ends. Every transaction that writes begins here.

    Raises:
        ValueError: it is missing, under another key, or was changed.
    """
    # On PostgreSQL whoever comes second waits here, and then reads what the first one wrote. SQLite has no such
    # clause, and leaves it out: BEGIN IMMEDIATE has locked the file already.
    return _only(connection, select(BOOK).with_for_update(), key)


def require_version(connection: Connection) -> None:
    """Refuse a ledger of a schema that is not known, before its columns are read.

    Raises:
        ValueError: names both versions.
    """
    version = connection.execute(select(BOOK.c.version)).scalars().first()
    if version is not None and version not in range(FIRST_VERSION, VERSION + 1):
        raise Refused("ledger", f"it has schema {version}, and this dpcurves reads schema {VERSION}: upgrade dpcurves")


def upgrade(connection: Connection, key: Key) -> None:
    """Bring an older ledger to this schema. Entries stay as they are."""
    book = lock_book(connection, key)
    for table in (NOTES, STATES, ALLOWANCES, PAYMENTS, EVENTS):
        table.create(connection, checkfirst=True)
    replace(book, version=VERSION).write(connection, key)


@lru_cache(maxsize=2)
def _makings(dialect: Dialect) -> tuple[str, ...]:
    """The statements that create missing tables and indexes, compiled once for all ledgers of a process."""
    tables = METADATA.sorted_tables
    makings: list[CreateTable | CreateIndex] = [CreateTable(table, if_not_exists=True) for table in tables]
    makings += [CreateIndex(index, if_not_exists=True) for table in tables for index in table.indexes]
    return tuple(str(each.compile(dialect=dialect)) for each in makings)


def _only(connection: Connection, query: Select[tuple[object, ...]], key: Key) -> Book:
    rows = connection.execute(query).mappings().all()
    if len(rows) != 1:
        raise Refused("ledger", f"its book has {len(rows)} pages, not one: it was changed without the key")
    return _checked(rows[0], key)


def _checked(row: RowMapping, key: Key) -> Book:
    book = Book(row["version"], row["name"], row["key"], row["entries"], row["head"])
    if book.key != key.identity:
        raise Refused("key", "it is not the key of this ledger, or the ledger's book was changed without the key")
    if row["id"] != 1 or not key.fits(row["seal"], "book", *book.facts().values()):
        raise Refused("ledger", "its book was changed without the key")
    return book
