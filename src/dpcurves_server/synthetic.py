"""Synthetic tables, on which analysts try questions, with their privacy statements; and an LRU cache.

    propose_table    one person proposes a table for a version of a dataset
    confirm_table    another person confirms it; then all who see the dataset may download it
    dummy_csv        independent, uniform values of the declared columns, which need no confirmation

A proposed table that equals the confidential one is refused, and one with many of its rows unless the proposer insists.

Formal guarantees: none. Its author alone answers for what a synthetic table reveals; nothing is charged.
"""

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

from dpcurves.arguments import InvalidArgument
from dpcurves.ledger import Event
from dpcurves.ledger.account import LONGEST_ACCOUNT_NAME, require_name
from dpcurves_parties.serving.messages import ProtocolError

from .datasets import Dataset, Datasets
from .declared_columns import MOST_ROWS, USUAL_ROWS, dummy_table, pack_table
from .lookalikes import Resemblance, compare_tables
from .principals import MACHINE, Principal, Right, Subject, require
from .store import Archive, format_now
from .tables import PROPOSED, SYNTHETIC

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


@dataclass(frozen=True, slots=True)
class SyntheticProposal:
    """A table that waits for a second person.

    Attributes:
        statement: The privacy statement of its author.
        made_at: Time of the upload.
        person: The person who sent it.
        resemblance: How it resembles the confidential table.
        digest: The first 16 digits of its SHA-256.
    """

    statement: str
    made_at: str
    person: str
    resemblance: Resemblance
    digest: str


EQUAL_ROWS = "this is the confidential table itself: its rows are the registered ones; send one that was made up"
SIMILAR_ROWS = "many of its rows are rows of the confidential table: is it the wrong file? To send it anyway, {}"
DESPITE = "despite-equal-rows"


class SyntheticTables:
    """The synthetic tables, at most one per version of a dataset: one person proposes a table, another confirms it.

    Formal guarantees: none. The author alone answers for what a table reveals of records, and nothing here is charged.
    Two people are needed to show a table to analysts, and a copy of the registered table is refused.
    """

    def __init__(self, archive: Archive, datasets: Datasets) -> None:
        self._archive = archive
        self._datasets = datasets

    def propose_table(
        self, who: Principal, dataset: Dataset, table: bytes, statement: str, *, despite_equal_rows: bool = False
    ) -> None:
        """Store a synthetic table that another person confirms, in place of the earlier proposal.

        Arguments:
            who: The machine, or the dataset's steward.
            dataset: The version of the dataset.
            table: A CSV or Parquet file.
            statement: How the table was made, and how private it is.
            despite_equal_rows: Propose it although many of its rows are rows of the confidential table.

        Raises:
            ProtocolError: The principal is not the dataset's steward, or the table is too large.
            ValueError: The statement is missing, the table does not fit the schema, or it resembles the confidential
                one.
        """
        require(who, Right.PUT_SYNTHETIC, Subject(dataset.name))
        require_name("statement", statement)
        packed = pack_table(table, dataset.columns)
        source = self._datasets.source(MACHINE, dataset.name, dataset.version)
        resemblance = compare_tables(table, packed, dataset.columns, source)
        version = {"dataset": dataset.name, "version": dataset.version}
        subject = f"version {dataset.version}: {_short_digest(packed)}, {resemblance.value}"
        is_refused = resemblance is Resemblance.EQUAL or (resemblance is Resemblance.SIMILAR and not despite_equal_rows)
        if is_refused:
            event = Event(who.name, "was refused a synthetic table that is like the records", subject, dataset.name)
            self._archive.run_logged(event, lambda connection: None)
            way = f"--{DESPITE}" if who.is_machine else "say so below the file"
            rule = EQUAL_ROWS if resemblance is Resemblance.EQUAL else SIMILAR_ROWS.format(way)
            raise InvalidArgument("synthetic", rule)

        def insert_table(connection: Connection) -> None:
            """Store the proposal in place of the earlier one."""
            connection.execute(delete(PROPOSED).filter_by(**version))
            facts = {"statement": statement, "packed": packed, "made_at": format_now(), "person": who.name}
            connection.execute(insert(PROPOSED), {**version, **facts, "resemblance": resemblance.value})

        event = Event(who.name, "proposed a synthetic table for", subject, dataset.name)
        self._archive.run_logged(event, insert_table)

    def describe_proposal(self, who: Principal, dataset: str, version: int) -> SyntheticProposal | None:
        """Return the table that waits for a second person, or None.

        Raises:
            ProtocolError: The principal may not confirm tables of the dataset.
        """
        require(who, Right.CONFIRM_SYNTHETIC, Subject(dataset))
        row = self._archive.read_snapshot(lambda connection: _find_proposed(connection, dataset, version))
        if row is None:
            return None
        resemblance = Resemblance(row.resemblance)
        return SyntheticProposal(row.statement, row.made_at, row.person, resemblance, _short_digest(row.packed))

    def confirm_table(self, who: Principal, dataset: Dataset, digest: str) -> None:
        """Show a proposed table to all who see the dataset, in place of the earlier one.

        Arguments:
            who: The confirming person, not the proposer: a steward of the dataset, or an auditor.
            dataset: The version of the dataset.
            digest: The digest of the proposal that the principal has seen.

        Raises:
            ProtocolError: The principal may not confirm it, proposed it, or has seen another proposal.
        """
        require(who, Right.CONFIRM_SYNTHETIC, Subject(dataset.name))
        version = {"dataset": dataset.name, "version": dataset.version}

        def move_table(connection: Connection) -> None:
            """Make the proposal the table of the version; refuse another proposal, or the proposer's confirmation."""
            row = _find_proposed(connection, dataset.name, dataset.version)
            if row is None or _short_digest(row.packed) != digest:
                raise ProtocolError("synthetic", "another table is proposed by now; look at the page again", 409)
            if row.person == who.name:
                raise ProtocolError(
                    "synthetic", "the person who proposed it cannot confirm it; ask another steward or an auditor", 403
                )
            facts = {"statement": row.statement, "packed": row.packed, "made_at": format_now()}
            connection.execute(delete(SYNTHETIC).filter_by(**version))
            connection.execute(insert(SYNTHETIC), {**version, **facts})
            connection.execute(delete(PROPOSED).filter_by(**version))

        subject = f"version {dataset.version}: {digest}"[:LONGEST_ACCOUNT_NAME]
        event = Event(who.name, "put a synthetic table beside", subject, dataset.name)
        self._archive.run_logged(event, move_table)

    def download(self, who: Principal, dataset: str, version: int) -> bytes | None:
        """Return the synthetic table of a version as CSV, and log who has it; None if it has no table.

        Raises:
            ProtocolError: The principal may not list datasets.
        """
        table = self.find(who, dataset, version)
        if table is None:
            return None
        event = Event(who.name, "downloaded the synthetic table of", f"version {version}: {table.digest[:16]}", dataset)
        self._archive.run_logged(event, lambda connection: None)
        return table.to_csv()

    def describe(self, who: Principal, dataset: str, version: int) -> SyntheticDescription | None:
        """Return the description of a version's synthetic table, without reading the table; None if it has no table.

        Raises:
            ProtocolError: The principal may not list datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC.c.statement, SYNTHETIC.c.made_at).filter_by(dataset=dataset, version=version)
        row = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticDescription(row.statement, row.made_at)

    def find(self, who: Principal, dataset: str, version: int) -> SyntheticTable | None:
        """Return the synthetic table of a version, or None. Raises `ProtocolError` without the right to it."""
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC).filter_by(dataset=dataset, version=version)
        row: Row[Any] | None = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticTable(row.statement, row.packed)

    def dummy_csv(self, dataset: Dataset) -> bytes:
        """Return rows of a dataset's dummy table, at most 1,000, as CSV in bytes."""
        rows = min(dataset.units or USUAL_ROWS, 1000)  # rows of a downloaded dummy table
        return _table_to_csv(dummy_table(dataset.columns, rows))


def _find_proposed(connection: Connection, dataset: str, version: int) -> Row[Any] | None:
    """Return the row of the proposed synthetic table of this version, or None if none is proposed."""
    return connection.execute(select(PROPOSED).filter_by(dataset=dataset, version=version)).first()


def _short_digest(packed: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 digest of a packed table."""
    return sha256(packed).hexdigest()[:16]


def count_trial_rows(dataset: Dataset) -> int:
    """Return the number of rows of a trial table: the number of units if public, within `MOST_ROWS`."""
    return min(dataset.units or USUAL_ROWS, MOST_ROWS)


def _table_to_csv(table: Any) -> bytes:
    """Return an Arrow table as CSV in bytes."""
    buffer = BytesIO()
    csv.write_csv(table, buffer)
    return buffer.getvalue()
