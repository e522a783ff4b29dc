"""The hash chain of entries: its head, and each entry authenticated together with the one before it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, RowMapping, Select, Table, insert, select, update
from sqlalchemy.schema import CreateIndex, CreateTable

from ..arguments import Refused
from .database import BOOK, FIRST_VERSION, METADATA, SEALED_APART, VERSION
from .key import Fact, Key


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
        return asdict(self)

    def write(self, connection: Connection, key: Key) -> None:
        """Write this page over the one before."""
        connection.execute(update(BOOK).where(BOOK.c.id == 1), {**self.facts(), "seal": self._seal(key)})

    def found(self, connection: Connection, key: Key) -> None:
        """Make the tables, and write the first page."""
        _make_missing(connection)
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
    _make_missing(connection)
    replace(book, version=VERSION).write(connection, key)


def _make_missing(connection: Connection) -> None:
    for statement in _makings(connection.dialect):
        connection.exec_driver_sql(statement)


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
    (row,) = rows
    book = Book(row["version"], row["name"], row["key"], row["entries"], row["head"])
    if book.key != key.identity:
        raise Refused("key", "it is not the key of this ledger, or the ledger's book was changed without the key")
    if row["id"] != 1 or not key.fits(row["seal"], "book", *book.facts().values()):
        raise Refused("ledger", "its book was changed without the key")
    return book


# Entries in a row, each sealed together with the one before it.
#
# Whoever may write to the database can delete entries, but can make them only with the key. The seal of an entry
# covers its ledger, its number, what it says and the seal of its predecessor. What an account or an allowance has
# spent changes, and is sealed apart, together with whose it is.


class Chain:
    """The chain of one ledger, inside one transaction. To append, the transaction must have locked the book."""

    def __init__(self, connection: Connection, key: Key, book: Book) -> None:
        self.connection = connection
        self.book = book
        self._key = key

    @property
    def beginning(self) -> str:
        """The predecessor of the first entry in the hash chain."""
        return self.book.beginning(self._key)

    def append(self, table: Table, row: Mapping[str, Fact]) -> int:
        """Write an entry, and its place in the book. Returns its number."""
        self.append_all(table, [row])
        return self.book.entries

    def append_all(self, table: Table, rows: Sequence[Mapping[str, Fact]]) -> None:
        """Write entries one after the other, at least one, and the place of the last one in the book."""
        self.connection.execute(insert(table), [self._sealed(table, row) for row in rows])
        self.book.write(self.connection, self._key)

    def is_sealed(self, table: Table, entry: RowMapping) -> bool:
        """Tell whether the seal of the entry fits its content."""
        return self._key.fits(entry["mac"], *self._said(table, entry))

    def require(self, table: Table, entry: RowMapping) -> None:
        """Refuse an entry that was not sealed with this key for this ledger.

        Raises:
            ValueError: names its number.
        """
        if not self.is_sealed(table, entry):
            raise Refused("ledger", f"row {entry['entry']} was changed without the key")

    def rows(self, table: Table, query: Select[Any]) -> Iterator[RowMapping]:
        """Entries of one table, each refused if it was not sealed with this key for this ledger."""
        for row in self.connection.execute(query).mappings():
            self.require(table, row)
            yield row

    def first(self, table: Table, query: Select[Any]) -> RowMapping | None:
        """The first entry, if there is one, as `rows` has it."""
        row = self.connection.execute(query).mappings().first()
        if row is not None:
            self.require(table, row)
        return row

    def seal_spent(self, owner: tuple[str, ...], spent: int) -> str:
        """The seal of what was spent of an account, whose owner is a dataset alone, or of an allowance."""
        return self._key.seal(*self._spent(owner, spent))

    def is_spent(self, owner: tuple[str, ...], row: RowMapping) -> bool:
        """Tell whether the spending of an account or an allowance equals the sum that was sealed."""
        return self._key.fits(row["seal"], *self._spent(owner, row["spent"]))

    def _spent(self, owner: tuple[str, ...], spent: int) -> tuple[Fact, ...]:
        return ("spent" if len(owner) == 1 else "spent of allowance", self.book.name, *owner, spent)

    def enclose(self, secret: bytes) -> str:
        """Encrypt what must stay secret and does change: it stands beside the chain."""
        return self._key.enclose(secret)

    def disclose(self, token: object) -> bytes:
        """Decrypt; refused if the ciphertext was changed without the key."""
        return self._key.disclose(token)

    def _sealed(self, table: Table, row: Mapping[str, Fact]) -> dict[str, Fact]:
        """The next entry, to be written; the book goes on to it."""
        entry: dict[str, Fact] = {**row, "entry": self.book.entries + 1, "previous": self.book.head}
        mac = self._key.seal(*self._said(table, entry))
        self.book = replace(self.book, entries=self.book.entries + 1, head=mac)
        return {**entry, "mac": mac}

    def _said(self, table: Table, entry: Mapping[str, Fact] | RowMapping) -> tuple[Fact, ...]:
        said = (entry[column.name] for column in table.columns if column.name not in SEALED_APART)
        return (table.name, self.book.name, entry["previous"], *said)
