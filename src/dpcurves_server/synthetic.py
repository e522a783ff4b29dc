"""Synthetic tables: what analysts work on, and how private it is; and a bounded cache of recent results."""

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
    >>> squares.get(3, lambda: 9), squares.get(3, lambda: 0), squares.get(4, lambda: 16), squares.get(3, lambda: 0)
    (9, 9, 16, 0)
    """

    capacity: int
    _entries: OrderedDict[Hashable, Result] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def peek(self, key: Hashable) -> Result | None:
        """The cached value of a key, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def get_or_compute(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The cached value of a key, computed if it is absent."""
        found = self.peek(key)
        if found is not None:
            return found
        made = compute()
        with self._lock:
            self._entries[key] = made
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
        return made


SHOWN_ROWS = 1000
"""Rows of the dummy table that are sent."""
_READ = LruCache[Any](capacity=2)


@dataclass(frozen=True, slots=True)
class SyntheticTable:
    """A table that stands beside the confidential one.

    Attributes:
        statement: How private it is, as whoever made it says.
        parquet_bytes: The table, as Parquet.
        digest: What tells it from all others.
    """

    statement: str
    parquet_bytes: bytes = field(repr=False, compare=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", sha256(self.parquet_bytes).hexdigest())

    @property
    def table(self) -> Any:
        """The table."""
        return _READ.get_or_compute(self.digest, lambda: parquet.read_table(BytesIO(self.parquet_bytes)))

    def to_csv(self) -> bytes:
        """The table as a CSV file."""
        return _table_to_csv(self.table)


@dataclass(frozen=True, slots=True)
class SyntheticDescription:
    """Description of a synthetic table.

    Attributes:
        statement: How private it is, as whoever made it says.
        made_at: When it was put there.
    """

    statement: str
    made_at: str


class SyntheticTables:
    """Keeps at most one synthetic table for each version of a dataset."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def replace_table(self, who: Visitor, dataset: Dataset, table: bytes, statement: str) -> None:
        """Take a table in, in the place of the one that was there.

        Arguments:
            who: The machine, or the dataset's steward.
            dataset: Beside which version it stands.
            table: A CSV or Parquet file.
            statement: How it was made, and how private it is.

        Raises:
            ProtocolError: it is not theirs to do, or the table is too large.
            ValueError: nothing is said of how private it is, or it is no table of the dataset's schema.
        """
        require(who, Right.PUT_SYNTHETIC, Subject(dataset.name))
        require_name("statement", statement)
        whole = pack_table(table, dataset.columns)
        mine = {"dataset": dataset.name, "version": dataset.version}

        def insert_table(connection: Connection) -> None:
            connection.execute(delete(SYNTHETIC).filter_by(**mine))
            connection.execute(
                insert(SYNTHETIC), {**mine, "statement": statement, "packed": whole, "made_at": format_now()}
            )

        about = f"version {dataset.version}: {sha256(whole).hexdigest()[:16]}"
        event = Event(who.name, "put a synthetic table beside", about, dataset.name)
        self._archive.run_logged(event, insert_table)

    def describe(self, who: Visitor, dataset: str, version: int) -> SyntheticDescription | None:
        """The description of the synthetic table of a version; None: it has none. The table is not read.

        Raises:
            ProtocolError: they may not see datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC.c.statement, SYNTHETIC.c.made_at).filter_by(dataset=dataset, version=version)
        row = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticDescription(row.statement, row.made_at)

    def find(self, who: Visitor, dataset: str, version: int) -> SyntheticTable | None:
        """The table of a version, if there is one. Raises `ProtocolError`: they may not see datasets."""
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC).filter_by(dataset=dataset, version=version)
        row: Row[Any] | None = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticTable(row.statement, row.packed)

    def dummy_csv(self, dataset: Dataset) -> bytes:
        """Some rows of the dummy table of a dataset, as a CSV file."""
        rows = min(dataset.units or USUAL_ROWS, SHOWN_ROWS)
        return _table_to_csv(dummy_table(dataset.columns, rows))


def count_trial_rows(dataset: Dataset) -> int:
    """Rows of the table on which questions are tried: as many as there are units, where that is public."""
    return min(dataset.units or USUAL_ROWS, MOST_ROWS)


def _table_to_csv(table: Any) -> bytes:
    drain = BytesIO()
    csv.write_csv(table, drain)
    return drain.getvalue()
