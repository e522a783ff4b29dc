"""Synthetic tables, on which analysts try questions, with their privacy statements; and an LRU cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from threading import Lock
from typing import Any, Generic, TypeVar

from pyarrow import csv, parquet
from sqlalchemy import Connection, Row, delete, insert, select

from dpcurves.ledger import Event
from dpcurves.ledger.account import require_name

from .datasets import Dataset
from .declared_columns import MOST_ROWS, USUAL_ROWS, dummy_table, pack_table
from .store import SYNTHETIC, Archive, format_now
from .visitors import Right, Subject, Visitor, require

Result = TypeVar("Result")


@dataclass
class LruCache(Generic[Result]):
    """Cache of computed results that drops the least recently used one (LRU).

    >>> squares = LruCache[int](capacity=1)
    >>> [squares.get_or_compute(key, lambda: value) for key, value in ((3, 9), (3, 0), (4, 16), (3, 0))]
    [9, 9, 16, 0]
    """

    capacity: int
    _entries: OrderedDict[Hashable, Result] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def peek(self, key: Hashable) -> Result | None:
        """Return the cached value of a key and mark it as used; None if it is not cached."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def get_or_compute(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the cached value of a key, computed if it is absent."""
        cached = self.peek(key)
        if cached is not None:
            return cached
        result = compute()
        with self._lock:
            self._entries[key] = result
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
        return result


_READ = LruCache[Any](capacity=2)


@dataclass(frozen=True, slots=True)
class SyntheticTable:
    """A synthetic table of a dataset.

    Attributes:
        statement: The privacy statement of its author.
        parquet_bytes: The table as Parquet.
        digest: SHA-256 of `parquet_bytes`.
    """

    statement: str
    parquet_bytes: bytes = field(repr=False, compare=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", sha256(self.parquet_bytes).hexdigest())

    @property
    def table(self) -> Any:
        """The table as an Arrow table, parsed from `parquet_bytes`."""
        return _READ.get_or_compute(self.digest, lambda: parquet.read_table(BytesIO(self.parquet_bytes)))

    def to_csv(self) -> bytes:
        """Return the table as CSV."""
        return _table_to_csv(self.table)


@dataclass(frozen=True, slots=True)
class SyntheticDescription:
    """Description of a synthetic table.

    Attributes:
        statement: The privacy statement of its author.
        made_at: Time of the upload.
    """

    statement: str
    made_at: str


class SyntheticTables:
    """The synthetic tables, at most one per version of a dataset."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def replace_table(self, who: Visitor, dataset: Dataset, table: bytes, statement: str) -> None:
        """Store a synthetic table in place of the earlier one.

        Arguments:
            who: The machine, or the dataset's steward.
            dataset: The version of the dataset.
            table: A CSV or Parquet file.
            statement: How the table was made, and how private it is.

        Raises:
            ProtocolError: The visitor is not the dataset's steward, or the table is too large.
            ValueError: The statement is missing, or the table does not fit the schema.
        """
        require(who, Right.PUT_SYNTHETIC, Subject(dataset.name))
        require_name("statement", statement)
        packed = pack_table(table, dataset.columns)
        version = {"dataset": dataset.name, "version": dataset.version}

        def insert_table(connection: Connection) -> None:
            """Delete the earlier table of the version and store the new one."""
            connection.execute(delete(SYNTHETIC).filter_by(**version))
            connection.execute(
                insert(SYNTHETIC), {**version, "statement": statement, "packed": packed, "made_at": format_now()}
            )

        subject = f"version {dataset.version}: {sha256(packed).hexdigest()[:16]}"
        event = Event(who.name, "put a synthetic table beside", subject, dataset.name)
        self._archive.run_logged(event, insert_table)

    def describe(self, who: Visitor, dataset: str, version: int) -> SyntheticDescription | None:
        """Return the description of a version's synthetic table, without reading the table; None if it has no table.

        Raises:
            ProtocolError: The visitor may not list datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC.c.statement, SYNTHETIC.c.made_at).filter_by(dataset=dataset, version=version)
        row = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticDescription(row.statement, row.made_at)

    def find(self, who: Visitor, dataset: str, version: int) -> SyntheticTable | None:
        """Return the synthetic table of a version, or None. Raises `ProtocolError` without the right to it."""
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC).filter_by(dataset=dataset, version=version)
        row: Row[Any] | None = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticTable(row.statement, row.packed)

    def dummy_csv(self, dataset: Dataset) -> bytes:
        """Return rows of a dataset's dummy table, at most 1,000, as CSV in bytes."""
        rows = min(dataset.units or USUAL_ROWS, 1000)  # rows of a downloaded dummy table
        return _table_to_csv(dummy_table(dataset.columns, rows))


def count_trial_rows(dataset: Dataset) -> int:
    """Return the number of rows of a trial table: the number of units if public, within `MOST_ROWS`."""
    return min(dataset.units or USUAL_ROWS, MOST_ROWS)


def _table_to_csv(table: Any) -> bytes:
    """Return an Arrow table as CSV in bytes."""
    buffer = BytesIO()
    csv.write_csv(table, buffer)
    return buffer.getvalue()
