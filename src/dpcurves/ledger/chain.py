"""Entries in a row, each sealed together with the one before it.

Whoever may write to the database can delete entries, but can make them only with the key. The seal of an entry covers
its ledger, its number, what it says and the seal of its predecessor. What an account or an allowance has spent changes,
and is sealed apart, together with whose it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, RowMapping, Table, insert

from ..arguments import Refused
from .head_row import Book
from .key import Fact, Key
from .schema import SEALED_APART


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

    def seal_spent(self, dataset: str, spent: int) -> str:
        """The seal of what an account has spent."""
        return self._key.seal("spent", self.book.name, dataset, spent)

    def is_spent(self, account: RowMapping) -> bool:
        """Tell whether the account's spending equals the sum that was sealed."""
        return self._key.fits(account["seal"], "spent", self.book.name, account["dataset"], account["spent"])

    def seal_allowance(self, owner: tuple[str, str, str], spent: int) -> str:
        """The seal of what was spent of an allowance."""
        return self._key.seal("spent of allowance", self.book.name, *owner, spent)

    def is_of_allowance(self, owner: tuple[str, str, str], row: RowMapping) -> bool:
        """Tell whether the allowance's spending equals the sum that was sealed."""
        return self._key.fits(row["seal"], "spent of allowance", self.book.name, *owner, row["spent"])

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
