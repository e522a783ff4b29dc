"""Synthetic data of a dataset: tables that stewards upload for analysts to try questions on, approved by two people.

A synthetic table has the declared columns of a confidential table and made-up rows. Its author states in words how it
was made and how private it is. The server cannot check that statement, so a second person must approve the table:

    propose_table    a steward uploads a table for a version of a dataset
    confirm_table    another person confirms it; then all who may list the dataset may download it
    dummy_csv        rows of independent, uniform values of the declared columns; they need no approval

Each upload is compared with the confidential table, because a steward may pick the wrong file. An upload that equals
the confidential table is refused. An upload that shares many of its rows is refused unless the steward insists.
`LruCache` holds parsed tables, and is used by other modules.

Formal guarantees: none. The author alone answers for what a synthetic table reveals, and no budget is charged.
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
from .tables import PROPOSED_TABLES, SYNTHETIC

Result = TypeVar("Result")


@dataclass
class LruCache(Generic[Result]):
    """Thread-safe cache of computed results that drops the least recently used one (LRU) when it is full.

    Attributes:
        capacity: Largest number of cached results.

    >>> squares = LruCache[int](capacity=1)
    >>> [squares.get_or_compute(key, lambda: value) for key, value in ((3, 9), (3, 0), (4, 16), (3, 0))]
    [9, 9, 16, 0]
    """

    capacity: int
    _entries: OrderedDict[Hashable, Result] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def peek(self, key: Hashable) -> Result | None:
        """Return the cached value of a key and mark it as the most recently used; None if the key is not cached."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def get_or_compute(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the cached value of a key, or else compute and cache it.

        No lock is held during the computation, so two threads may compute the same value at once. A result of None is
        computed again at each call.

        Args:
            key: The key, any hashable value.
            compute: Function that returns the value. Its exceptions are passed on, and nothing is cached.
        """
        cached = self.peek(key)
        if cached is not None:
            return cached
        result = compute()
        with self._lock:
            self._entries[key] = result
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
        return result


_PARSED_TABLES = LruCache[Any](capacity=2)
"""The last two parsed tables, by their digests; more would take memory, as a table may have 64 MiB."""


@dataclass(frozen=True, slots=True)
class SyntheticTable:
    """A confirmed synthetic table of a dataset version.

    Attributes:
        statement: Its author's words on how the table was made and how private it is.
        parquet_bytes: The table as the bytes of a Parquet file.
        digest: SHA-256 of `parquet_bytes`, in hexadecimal digits.
    """

    statement: str
    parquet_bytes: bytes = field(repr=False, compare=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", sha256(self.parquet_bytes).hexdigest())

    @property
    def table(self) -> Any:
        """The table as an Arrow table, parsed from `parquet_bytes`; the last two parsed tables are cached."""
        return _PARSED_TABLES.get_or_compute(self.digest, lambda: parquet.read_table(BytesIO(self.parquet_bytes)))

    def to_csv(self) -> bytes:
        """Return the table as the bytes of a CSV file with a header line."""
        return _table_to_csv(self.table)


@dataclass(frozen=True, slots=True)
class SyntheticDescription:
    """Facts about a confirmed synthetic table that are shown before its download.

    Attributes:
        statement: Its author's words on how the table was made and how private it is.
        made_at: Time of the confirmation, as ISO 8601 text in UTC.
    """

    statement: str
    made_at: str


@dataclass(frozen=True, slots=True)
class SyntheticProposal:
    """A synthetic table that waits for the confirmation of a second person.

    Attributes:
        statement: Its author's words on how the table was made and how private it is.
        made_at: Time of the upload, as ISO 8601 text in UTC.
        person: Name of the person who uploaded it.
        resemblance: How similar its rows are to the confidential table's, in one of a few words.
        digest: The first 16 hexadecimal digits of the SHA-256 of the packed table.
    """

    statement: str
    made_at: str
    person: str
    resemblance: Resemblance
    digest: str


EQUAL_ROWS = "this is the confidential table itself: its rows are the registered ones; send one that was made up"
"""Refusal of an upload whose rows are those of the confidential table; nobody can confirm it."""
SIMILAR_ROWS = "many of its rows are rows of the confidential table: is it the wrong file? To send it anyway, {}"
"""Refusal of an upload that shares many rows with the confidential table; `{}` is how to send it anyway."""
CONFIRMED_OVERLAP = "despite-equal-rows"
"""Option of the command line, and field of the upload form, that sends a table in spite of `SIMILAR_ROWS`."""


class SyntheticTables:
    """The synthetic tables: for each version of a dataset, at most one confirmed table and one proposal.

    Formal guarantees: none. The author alone answers for what a table reveals of records, and nothing here is charged.
    Two people are needed to show a table to analysts, and a copy of the registered (confidential) table is refused.

    Args:
        archive: The server's database.
        datasets: The registered datasets, for the location of the confidential records.
    """

    def __init__(self, archive: Archive, datasets: Datasets) -> None:
        self._archive = archive
        self._datasets = datasets

    def propose_table(
        self, who: Principal, dataset: Dataset, table: bytes, statement: str, *, despite_equal_rows: bool = False
    ) -> None:
        """Store an uploaded synthetic table until another person confirms it. It replaces an earlier proposal.

        The upload is compared with the confidential table. The audit log records the proposal, or its refusal for
        equal rows.

        Args:
            who: The caller: the machine, or a steward of the dataset.
            dataset: The version of the dataset that the table belongs to.
            table: Bytes of a CSV or Parquet file with the declared columns.
            statement: In words, how the table was made and how private it is; not empty.
            despite_equal_rows: True: accept it although many of its rows are rows of the confidential table. A copy of
                the whole table is refused in any case.

        Raises:
            ProtocolError: The caller is not a steward of the dataset, the file is too large, or this server is parsing
                another upload.
            ValueError: The statement is missing, the table does not fit the schema, it equals the confidential one, or
                it shares many rows with it and `despite_equal_rows` is False.
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
            way = f"--{CONFIRMED_OVERLAP}" if who.is_machine else "say so below the file"
            rule = EQUAL_ROWS if resemblance is Resemblance.EQUAL else SIMILAR_ROWS.format(way)
            raise InvalidArgument("synthetic", rule)

        def insert_table(connection: Connection) -> None:
            """Store the proposed synthetic table in place of an earlier proposal.

            Args:
                connection: Connection in the write transaction.
            """
            connection.execute(delete(PROPOSED_TABLES).filter_by(**version))
            facts = {"statement": statement, "packed": packed, "made_at": format_now(), "person": who.name}
            connection.execute(insert(PROPOSED_TABLES), {**version, **facts, "resemblance": resemblance.value})

        event = Event(who.name, "proposed a synthetic table for", subject, dataset.name)
        self._archive.run_logged(event, insert_table)

    def describe_proposal(self, who: Principal, dataset: str, version: int) -> SyntheticProposal | None:
        """Return the description of the table that waits for a second person's confirmation; None if none waits.

        Args:
            who: The caller: a steward of the dataset, an auditor, or the machine.
            dataset: Name of the dataset.
            version: Number of the version.

        Raises:
            ProtocolError: The caller may not confirm tables of the dataset.
        """
        require(who, Right.CONFIRM_SYNTHETIC, Subject(dataset))
        row = self._archive.read_snapshot(lambda connection: _find_proposed(connection, dataset, version))
        if row is None:
            return None
        resemblance = Resemblance(row.resemblance)
        return SyntheticProposal(row.statement, row.made_at, row.person, resemblance, _short_digest(row.packed))

    def confirm_table(self, who: Principal, dataset: Dataset, digest: str) -> None:
        """Confirm the proposed table: from now on, all who may list the dataset may download it.

        It replaces the earlier confirmed table, and the audit log records it.

        Args:
            who: The caller: a steward of the dataset or an auditor, but not the person who proposed the table.
            dataset: The version of the dataset.
            digest: `SyntheticProposal.digest` of the proposal that the caller has looked at.

        Raises:
            ProtocolError: The caller may not confirm tables of the dataset, or proposed this table; or no proposal has
                this digest, because none waits or a newer one replaced it.
        """
        require(who, Right.CONFIRM_SYNTHETIC, Subject(dataset.name))
        version = {"dataset": dataset.name, "version": dataset.version}

        def move_table(connection: Connection) -> None:
            """Make the proposal the table of the version; refuse another proposal, or the proposer's confirmation.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: another table is proposed by now (status 409), or the caller proposed it (status 403).
            """
            row = _find_proposed(connection, dataset.name, dataset.version)
            if row is None or _short_digest(row.packed) != digest:
                raise ProtocolError("synthetic", "another table was proposed in the meantime; reload the page", 409)
            if row.person == who.name:
                raise ProtocolError(
                    "synthetic", "the person who proposed it cannot confirm it; ask another steward or an auditor", 403
                )
            facts = {"statement": row.statement, "packed": row.packed, "made_at": format_now()}
            connection.execute(delete(SYNTHETIC).filter_by(**version))
            connection.execute(insert(SYNTHETIC), {**version, **facts})
            connection.execute(delete(PROPOSED_TABLES).filter_by(**version))

        subject = f"version {dataset.version}: {digest}"[:LONGEST_ACCOUNT_NAME]
        event = Event(who.name, "put a synthetic table beside", subject, dataset.name)
        self._archive.run_logged(event, move_table)

    def download(self, who: Principal, dataset: str, version: int) -> bytes | None:
        """Return the confirmed synthetic table of a version as CSV, and write the download to the audit log.

        Args:
            who: The caller.
            dataset: Name of the dataset.
            version: Number of the version.

        Returns:
            Bytes of a CSV file; None if the version has no confirmed table, and then nothing is logged.

        Raises:
            ProtocolError: The caller may not list datasets.
        """
        table = self.find(who, dataset, version)
        if table is None:
            return None
        event = Event(who.name, "downloaded the synthetic table of", f"version {version}: {table.digest[:16]}", dataset)
        self._archive.run_logged(event, lambda connection: None)
        return table.to_csv()

    def describe(self, who: Principal, dataset: str, version: int) -> SyntheticDescription | None:
        """Return the description of a version's confirmed synthetic table; None if the version has none.

        The table itself is not read from the database.

        Args:
            who: The caller.
            dataset: Name of the dataset.
            version: Number of the version.

        Raises:
            ProtocolError: The caller may not list datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC.c.statement, SYNTHETIC.c.made_at).filter_by(dataset=dataset, version=version)
        row = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticDescription(row.statement, row.made_at)

    def find(self, who: Principal, dataset: str, version: int) -> SyntheticTable | None:
        """Return the confirmed synthetic table of a version; None if the version has none. Nothing is logged.

        Args:
            who: The caller.
            dataset: Name of the dataset.
            version: Number of the version.

        Raises:
            ProtocolError: The caller may not list datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC).filter_by(dataset=dataset, version=version)
        row: Row[Any] | None = self._archive.read_snapshot(lambda connection: connection.execute(query).first())
        return None if row is None else SyntheticTable(row.statement, row.packed)

    def dummy_csv(self, dataset: Dataset) -> bytes:
        """Return a dummy table of a dataset as the bytes of a CSV file: independent, uniform values of its columns.

        It has as many rows as the dataset has public privacy units, but at most 1,000; 1,000 if that number is
        confidential.

        Args:
            dataset: The version of the dataset.
        """
        rows = min(dataset.units or USUAL_ROWS, 1000)  # rows of a downloaded dummy table
        return _table_to_csv(dummy_table(dataset.columns, rows))


def _find_proposed(connection: Connection, dataset: str, version: int) -> Row[Any] | None:
    """Return the row of the proposed synthetic table of this version, or None if none is proposed.

    Args:
        connection: Connection in a transaction.
        dataset: Name of the data set.
        version: Number of the version.
    """
    return connection.execute(select(PROPOSED_TABLES).filter_by(dataset=dataset, version=version)).first()


def _short_digest(packed: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 digest of a packed table."""
    return sha256(packed).hexdigest()[:16]


def count_trial_rows(dataset: Dataset) -> int:
    """Return how many rows the dummy table has on which a question is tried before it is asked.

    The result is the public number of privacy units, but at most `MOST_ROWS`; `USUAL_ROWS` if the number is
    confidential.

    Args:
        dataset: Version of a data set.
    """
    return min(dataset.units or USUAL_ROWS, MOST_ROWS)


def _table_to_csv(table: Any) -> bytes:
    """Return an Arrow table as the bytes of a CSV file with a header line."""
    buffer = BytesIO()
    csv.write_csv(table, buffer)
    return buffer.getvalue()
