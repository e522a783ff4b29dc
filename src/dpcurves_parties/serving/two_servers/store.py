"""SECRET. The database of one of two servers: shares that owners sent, states of tasks, and accepted report sets.

`Store` has all operations. Each write is one transaction, and is on disk before its result is returned.

Formal guarantees: a stored share alone reveals nothing about a record. With the other server's share, every record is
known; so each server keeps its own database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum
from functools import partial, reduce
from hashlib import sha256
from itertools import groupby
from operator import xor
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy import Column, Connection, Table, delete, func, insert, select, update

from dpcurves.ledger.chain import acquire_lock

from ..database import (
    ServerDatabase,
    bytes_columns,
    integer_column,
    integer_key_columns,
    read_transaction,
    text_columns,
    text_key_columns,
    write_transaction,
)
from ..group_commit import GroupCommit
from ..messages import ProtocolError, ServerFault
from ..monitoring import log_operator_message
from .report_set import (
    MOST_REPORTS,
    PART_REPORTS,
    EarlierPolicy,
    Listing,
    PartHashes,
    ReportSet,
    Rising,
    find_first_id,
    group_consecutive,
    split_by_prefix,
)

METADATA = sql.MetaData()
"""Schema of a server's database: tasks, reports, contributions, noise hashes and enrolled owners."""
TASKS = Table(
    "dpcurves_shared_tasks",
    METADATA,
    *text_key_columns("task"),
    *text_columns("state"),
    integer_column("reports"),  # number of stored reports, because counting rows is slow
    Column("attempt", sql.Text),  # attempt to close the task that may still end in a decision
    Column("set", sql.Text),
    Column("commitments", sql.Text),  # of both servers, separated by a space
    Column("dropped", sql.LargeBinary),  # after the check: a bit for each report, in the order of ids; then their hash
)
"""One row is a task at this server: its state (open, frozen or closed), report set, noise commitments, and the reports
that the check dropped."""
# SECRET: one share of every report. With the other server's share, every record is known.
REPORTS = Table(
    "dpcurves_reports", METADATA, Column("number", sql.Integer, primary_key=True, autoincrement=True),
    *text_columns("task"), *bytes_columns("id"), integer_column("owner"), *bytes_columns("digest", "whole", "share"),
    sql.Index("dpcurves_one_report_of_an_id", "task", "id", unique=True),
    sql.Index("dpcurves_reports_of_an_owner", "task", "owner"),
)  # fmt: skip
"""One row is a report: its id, its owner, the digest of its public part, the hash of the whole share, and this server's
share."""
CONTRIBUTIONS = Table(
    "dpcurves_contributions",
    METADATA,
    *text_key_columns("task"),
    *integer_key_columns("owner"),
    *bytes_columns("contribution"),
    integer_column("reports"),
)
"""One row is the use of an owner's ticket: the id of the contribution that it is bound to, and the number of its stored
reports."""
BOUND_NOISES = Table("dpcurves_bound_noises", METADATA, *text_key_columns("task"), *text_columns("bound"))
"""One row is the noise hash that the peer server sent at the first answer of a task whose answers are proved; answers
with another hash are refused."""
ENROLLED = Table(
    "dpcurves_enrolled", METADATA, *text_key_columns("task"), *integer_key_columns("owner"), *text_columns("token"),
    sql.Index("dpcurves_one_owner_of_a_token", "task", "token", unique=True),
)  # fmt: skip
"""One row is a used invitation, with which an owner's program registered a token of its own: the hash of this token. A
second token for it is refused."""


class TaskState(Enum):
    """State of a task at a server."""

    OPEN = "open"
    FROZEN = "frozen"
    CLOSED = "closed"


class TaskStatus(NamedTuple):
    """The state of a task, with its report set.

    Attributes:
        state: Open: accepts reports. Frozen: accepts none until an attempt to close ends. Closed: the report set is
            decided.
        reports: Number of accepted reports, once closed; number of all reports before.
        report_set: Hash of the accepted reports, once closed.
        commitments: Noise commitments of both servers, once closed.
        attempt: Attempt to close the task that may still end in a decision.
    """

    state: TaskState
    reports: int
    report_set: str | None = None
    commitments: tuple[str, str] | None = None
    attempt: str | None = None

    @property
    def provenance(self) -> dict[str, object]:
        """Report set, number of reports and noise commitments, as an object for JSON.

        Returns:
            Fields ``set``, ``reports`` and ``commitments``: of server 0, then of server 1; empty before the task is
            closed.
        """
        return {"set": self.report_set, "reports": self.reports, "commitments": list(self.commitments or ())}


def lock_task(connection: Connection, task: str) -> None:
    """Lock the task's row against other transactions until this one ends. (SQLite has a single writer anyway.)

    Args:
        connection: Connection in the write transaction.
        task: Hash of the task, which must have a row.
    """
    connection.execute(select(TASKS.c.task).where(TASKS.c.task == task).with_for_update()).one()


def select_status(connection: Connection, task: str) -> TaskStatus:
    """Return the state of a task, which must have a row, in the caller's transaction.

    Args:
        connection: Connection in the caller's transaction.
        task: Hash of the task.
    """
    columns = TASKS.c.state, TASKS.c.reports, TASKS.c.set, TASKS.c.commitments, TASKS.c.attempt
    row = connection.execute(select(*columns).where(TASKS.c.task == task)).one()
    return TaskStatus(TaskState(row.state), row.reports, row.set, _parse_commitments(row.commitments), row.attempt)


def _parse_commitments(written: str | None) -> tuple[str, str] | None:
    """Return the noise commitments of server 0 and server 1 from their stored text; None before the task is closed.

    Args:
        written: Both commitments separated by a blank.
    """
    if written is None:
        return None
    first, second = written.split(" ")
    return first, second


def update_task(connection: Connection, task: str, **facts: object) -> None:
    """Set columns of a task's row, in a transaction that has locked it.

    Args:
        connection: Connection in the write transaction.
        task: Hash of the task.
        facts: New values by name of the column.
    """
    connection.execute(update(TASKS).where(TASKS.c.task == task).values(**facts))


OTHER_CONTRIBUTION = (
    "other records were sent with this ticket before, and one ticket is good for one file; to put these in their place,"
    " contribute with --on-conflict replace"
)
"""Error message (status 409) if a ticket is used for other records than before, and these are not to be replaced."""


USED_INVITATION = (
    "this invitation was used before, by another program or person; if that was not you, tell the author of the task"
)
"""Error message (status 409) if an invitation was used for another token before, or the token for another
invitation."""


class StoredReport(NamedTuple):
    """SECRET. A report as it is stored.

    Attributes:
        id: 16 bytes, equal at both servers.
        digest: Digest of the public part, equal at both servers.
        whole: Hash of the whole share, by which damage is detected.
        share: SECRET. This server's share.
    """

    id: bytes
    digest: bytes
    whole: bytes
    share: bytes


class Offer(NamedTuple):
    """Reports of one contribution that an owner wants to store.

    Attributes:
        owner: Number of the owner.
        contribution: Id of the owner's whole contribution.
        earlier_policy: What happens to another contribution of this owner.
        reports: The reports.
    """

    owner: int
    contribution: bytes
    earlier_policy: EarlierPolicy
    reports: Sequence[StoredReport]


class Upload(NamedTuple):
    """An offer to a task, with the limit on the reports of one owner."""

    task: str
    max_reports: int
    offer: Offer


class StoredShare(NamedTuple):
    """SECRET: a share, and the stored hash of all its bytes."""

    share: bytes
    share_hash: bytes


class Decision(NamedTuple):
    """What binds both servers once a task is closed: the accepted report set, and both noise commitments."""

    reports: ReportSet
    commitments: tuple[str, str]


class TaskFrozen(ProtocolError):
    """Error while the task is frozen: it accepts no reports until an attempt to close it has ended."""

    def __init__(self) -> None:
        super().__init__("reports", "the task is being closed; send again in a minute, in case closing fails", 503)


class NoMoreReports(ProtocolError):
    """Error after the task is closed."""

    def __init__(self) -> None:
        super().__init__("reports", "the task is closed and accepts no more; make a new task for further records", 409)


DIGESTS_PER_PAGE = 4096
"""Reports whose ids and digests are read from the database in one query, so that memory stays small."""


# Statements for uploads, compiled once, because compilation takes longer than execution.
_TASK_PARAMETER: sql.BindParameter[str] = sql.bindparam("of")
"""Placeholder for the hash of the task in the statements below; its name is `of`."""
_SELECT_STATE = select(TASKS.c.state).where(TASKS.c.task == _TASK_PARAMETER).with_for_update()
"""State of a task; its row is locked until the transaction ends, as by `lock_task`, so that the task is not closed
meanwhile."""
_SELECT_CONTRIBUTIONS = select(CONTRIBUTIONS.c.owner, CONTRIBUTIONS.c.contribution, CONTRIBUTIONS.c.reports).where(
    CONTRIBUTIONS.c.task == _TASK_PARAMETER, CONTRIBUTIONS.c.owner.in_(sql.bindparam("owners", expanding=True))
)
"""Earlier uses of the tickets of some owners, by which a second contribution is recognised."""
_SELECT_KNOWN_REPORTS = select(REPORTS.c.id, REPORTS.c.owner).where(
    REPORTS.c.task == _TASK_PARAMETER, REPORTS.c.id.in_(sql.bindparam("ids", expanding=True))
)
"""Those of some report ids that are stored already: they are not stored twice."""
_INSERT_REPORTS = insert(REPORTS)
"""Stores the new reports of an upload."""
_INSERT_CONTRIBUTIONS = insert(CONTRIBUTIONS)
"""Stores the first use of tickets."""
_ADD_TO_COUNT = (
    update(TASKS).where(TASKS.c.task == _TASK_PARAMETER).values(reports=TASKS.c.reports + sql.bindparam("more"))
)
"""Adds the new reports to a task's number of stored reports."""


class Store:
    """Stores the reports of all tasks of one server, in the database of its ledger.

    Args:
        url: URL of the database.
        who: Name of the server in errors.
    """

    def __init__(self, url: str, who: str = "") -> None:
        self._database = ServerDatabase(url, who, METADATA)

        def count_reports(upload: Upload) -> int:
            """Return the number of reports of an upload: its weight in a group of uploads that are written together.

            Args:
                upload: Upload that waits to be written.
            """
            return len(upload.offer.reports)

        self._uploads = GroupCommit(self._write_uploads, count_reports, MOST_REPORTS, self._database.close_connections)
        # 1_000: reports after which PostgreSQL's planner statistics are first updated; then after ten times as many,
        # and so on
        self._added = 0
        self._analyzed_at = 1_000

    def create_task(self, task: str) -> None:
        """Create the row of a task, open and without reports, if there is none.

        A known task is only read. So a server whose disk is full starts, and repeats its answers.

        Args:
            task: Hash of the task.
        """
        query = select(TASKS.c.task).where(TASKS.c.task == task)

        def insert_row(connection: Connection) -> None:
            """Insert the row of the open task, without reports, unless another process has inserted it.

            Args:
                connection: Connection in the write transaction.
            """
            acquire_lock(connection, task)
            if connection.execute(query).first() is None:
                connection.execute(insert(TASKS), {"task": task, "state": TaskState.OPEN.value, "reports": 0})

        if self._database.read_snapshot(lambda connection: connection.execute(query).first()) is None:
            self._database.write(insert_row)

    def warn_if_unwritable(self) -> None:
        """Log a warning for the operator if the database cannot be written, with the consequences.

        The check writes the rows of all tasks again, unchanged.
        """
        try:
            self._database.write(lambda connection: connection.execute(update(TASKS).values(state=TASKS.c.state)))
        except ServerFault as error:
            log_operator_message(
                f"{error.where}; until then this server repeats its stored answers, and refuses all else without a"
                " charge"
            )

    def read_status(self, task: str) -> TaskStatus:
        """Read the current state of the task from the database.

        Args:
            task: Hash of the task.
        """
        return self._database.read_snapshot(lambda connection: select_status(connection, task))

    def add_reports(self, task: str, max_reports: int, offer: Offer) -> int:
        """Store reports of one owner, all or none; return the number of new ones. Known ids are skipped.

        Args:
            task: Hash of the task.
            max_reports: Largest number of reports of one owner.
            offer: The reports.

        Raises:
            ProtocolError: the task is closed or frozen, the owner has reached its limit, or has another contribution.
        """
        return self.submit_reports(task, max_reports, offer).result()

    def submit_reports(self, task: str, max_reports: int, offer: Offer) -> Future[int]:
        """Queue the reports of an owner, to be stored together with concurrent uploads in one transaction.

        Args:
            task: Hash of the task.
            max_reports: Largest number of reports of one owner.
            offer: The reports.

        Returns:
            A future of the number of new reports, which are on disk by then.
        """
        return self._uploads.submit(Upload(task, max_reports, offer))

    def add_offers(self, task: str, max_reports: int, offers: Sequence[Offer]) -> list[int | BaseException]:
        """Store reports of several owners as `add_reports`, in one group.

        Args:
            task: Hash of the task.
            max_reports: Largest number of reports of one owner.
            offers: One offer per owner.

        Returns:
            For each offer, the number of new reports, or its error.
        """
        futures = self._uploads.submit_all(Upload(task, max_reports, offer) for offer in offers)
        return [future.exception() or future.result() for future in futures]

    def _write_uploads(self, uploads: Sequence[Upload]) -> Sequence[int | Exception]:
        """Store uploads in one transaction, in their order; return for each the number of new reports, or its error."""

        def write_groups(connection: Connection) -> list[int | Exception]:
            """Store uploads task by task; those that may replace earlier reports are stored singly.

            Args:
                connection: Connection in the write transaction.

            Returns:
                An outcome per upload, in order: the number of new reports, or the error that refuses the upload.
            """
            outcomes: list[int | Exception] = []
            for task, group in groupby(uploads, key=lambda outcome: outcome.task):
                state = TaskState(connection.execute(_SELECT_STATE, {"of": task}).scalar_one())
                for together in [list(alike) for _, alike in groupby(group, key=_group_key)]:
                    outcomes += _refuse_uploads(state, together) or _insert_uploads(connection, task, together)
            return outcomes

        outcomes = self._database.write_on_open_connection(write_groups)
        self._added += sum(outcome for outcome in outcomes if isinstance(outcome, int))
        if self._added >= self._analyzed_at:
            self._analyzed_at = 10 * self._added
            self._database.write_on_open_connection(_update_statistics)
        return outcomes

    def compute_checksum(self, task: str) -> bytes:
        """Return the XOR of the hashes of all report ids, by which the DAP draft compares batches; 32 bytes.

        Args:
            task: Hash of the task.

        Returns:
            All bytes are zero without reports.
        """

        def xor_id_hashes(connection: Connection) -> int:
            """Return a checksum of a task's stored reports: the XOR of the SHA-256 hashes of all report ids, as an
            integer.

            Args:
                connection: Connection in a transaction.
            """
            hashes = (int.from_bytes(sha256(report_id).digest()) for report_id, _ in _iterate_digests(connection, task))
            return reduce(xor, hashes, 0)

        return self._database.read_snapshot(xor_id_hashes).to_bytes(32)

    def count_owners(self, task: str) -> int:
        """Return the number of owners who have sent reports; once the task is closed, of owners with accepted reports.

        Args:
            task: Hash of the task.
        """
        query = select(func.count(REPORTS.c.owner.distinct())).where(REPORTS.c.task == task)
        return self._database.read_snapshot(lambda connection: int(connection.execute(query).scalar_one()))

    def read_listing(self, task: str) -> tuple[TaskStatus, Listing]:
        """Return the state of the task and all stored reports, as a consistent snapshot.

        Args:
            task: Hash of the task, which must have a row.

        Returns:
            State, and digests by report id.
        """
        return self._database.read_snapshot(
            lambda connection: (select_status(connection, task), _select_listing(connection, task))
        )

    @write_transaction
    def begin_attempt(self, connection: Connection, task: str, attempt: str) -> None:
        """Store the id of a running attempt to close the task. Reports are still accepted.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.
            attempt: Id of the attempt, which a decision must name.

        Raises:
            ProtocolError: there are no reports.
        """
        lock_task(connection, task)
        if not select_status(connection, task).reports:
            raise ProtocolError(
                "reports", "no report has arrived yet; close the task once owners have contributed", 409
            )
        update_task(connection, task, attempt=attempt)

    @write_transaction
    def cancel_attempt(self, connection: Connection, task: str, attempt: str) -> TaskState:
        """Cancel an attempt to close the task, unless it has ended in a decision; return the task's state.

        Args:
            connection: Connection in a transaction.
            task: Hash of the task.
            attempt: Name of the attempt.
        """
        lock_task(connection, task)
        status = select_status(connection, task)
        if status.attempt == attempt:
            update_task(connection, task, attempt=None)
        return status.state

    @write_transaction
    def freeze(self, connection: Connection, task: str, attempt: str) -> TaskStatus:
        """Accept no reports while an attempt to close the task lasts; return the state before. A closed task stays
        closed.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.
            attempt: Id of the attempt.
        """
        lock_task(connection, task)
        status = select_status(connection, task)
        if status.state is not TaskState.CLOSED:
            update_task(connection, task, state=TaskState.FROZEN.value, attempt=attempt)
        return status

    def hash_parts(self, task: str, bits: int) -> PartHashes:
        """Return one hash per part of the stored reports, by which two servers find the parts that differ.

        Args:
            task: Hash of the task.
            bits: Number of first bits of report ids; ids with the same ones form a part.
        """
        return self._database.read_snapshot(
            lambda connection: PartHashes.from_reports(task, _iterate_digests(connection, task), bits)
        )

    @read_transaction
    def list_parts(self, connection: Connection, task: str, bits: int, parts: Sequence[int]) -> dict[int, bytes]:
        """Return the listing of some parts of the stored reports: ids and digests, in increasing order of ids.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.
            bits: Number of first bits of report ids that select a part.
            parts: Numbers of the parts.

        Returns:
            Bytes by part number.
        """
        listings = dict.fromkeys(parts, b"")
        for first, last in group_consecutive(parts):
            page_size = min(DIGESTS_PER_PAGE, 2 * PART_REPORTS * (last - first + 1))
            for number, listing in split_by_prefix(
                _iterate_digests(connection, task, find_first_id(first, bits), page_size), bits
            ):
                if number > last:
                    break
                listings[number] = b"".join(map(b"".join, listing))
        return listings

    @write_transaction
    def unfreeze(self, connection: Connection, task: str, attempt: str | None) -> None:
        """Accept reports again after a failed attempt to close the task, unless a later attempt has frozen the task.

        Args:
            connection: Connection in a transaction.
            task: Hash of the task.
            attempt: Name of the attempt; None: it has no name.
        """
        lock_task(connection, task)
        status = select_status(connection, task)
        if (status.state, status.attempt) == (TaskState.FROZEN, attempt):
            update_task(connection, task, state=TaskState.OPEN.value, attempt=None)

    @write_transaction
    def decide(
        self, connection: Connection, task: str, decide: Callable[[Rising, int], Decision], attempt: str | None = None
    ) -> None:
        """Close the task: store the decision on the accepted reports, once, and delete the other reports.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.
            decide: Function of this server's reports and their number that returns the decision.
            attempt: Attempt of this server that decides; None: the peer server decided.

        Raises:
            ProtocolError: another decision is stored, or the attempt was cancelled.
        """
        lock_task(connection, task)
        status = select_status(connection, task)
        if attempt not in (None, status.attempt):
            raise ProtocolError(
                "task", "the attempt to close was cancelled by a later one; run dpcurves task close again", 409
            )
        (name, reports, dropped_ids), commitments = decide(partial(_iterate_digests, connection, task), status.reports)
        if status.state is TaskState.CLOSED and (status.report_set, status.commitments) != (name, commitments):
            raise ProtocolError(
                "reports",
                "another report set or other noise was agreed on before, so a store was restored; "
                "restore its latest copy",
                409,
            )
        if dropped_ids:
            removed_reports = REPORTS.c.task == task, REPORTS.c.id == sql.bindparam("gone")
            connection.execute(
                delete(REPORTS).where(*removed_reports), [{"gone": report_id} for report_id in dropped_ids]
            )
        facts = {"set": name, "reports": reports, "commitments": " ".join(commitments)}
        update_task(connection, task, state=TaskState.CLOSED.value, attempt=None, **facts)

    @write_transaction
    def record_dropped(self, connection: Connection, task: str, bits: bytes) -> bytes:
        """Store which reports failed the check, once; return the stored bits, these or earlier ones.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.
            bits: One bit for each report, in the order of ids; 1: it failed.

        Raises:
            ProtocolError: the stored bits were damaged.
        """
        lock_task(connection, task)
        stored_bits = _read_dropped_bits(connection, task, len(bits))
        if stored_bits is None:
            update_task(connection, task, dropped=bits + _hash_dropped_bits(task, bits))
        return bits if stored_bits is None else stored_bits

    def read_dropped(self, task: str, size: int) -> bytes | None:
        """Return the flags of failed reports; None if they were not checked yet.

        Args:
            task: Hash of the task.
            size: Bytes of the flags.

        Raises:
            ProtocolError: the stored flags were damaged.
        """
        return self._database.read_snapshot(lambda connection: _read_dropped_bits(connection, task, size))

    @write_transaction
    def enrol(self, connection: Connection, task: str, owner: int, token: str) -> None:
        """Store the hash of an owner's own token. The same token may be stored again, no other one.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.
            owner: Number of the owner.
            token: Hash of the token.

        Raises:
            ProtocolError: the owner enrolled another token before, or another owner enrolled this token.
        """
        lock_task(connection, task)
        either = (ENROLLED.c.owner == owner) | (ENROLLED.c.token == token)
        query = select(ENROLLED.c.owner, ENROLLED.c.token).where(ENROLLED.c.task == task, either)
        rows = {(int(row.owner), str(row.token)) for row in connection.execute(query)}
        if rows - {(owner, token)}:
            raise ProtocolError("ticket", USED_INVITATION, 409)
        if not rows:
            connection.execute(insert(ENROLLED), {"task": task, "owner": owner, "token": token})

    def find_enrolled_owner(self, task: str, token: str) -> int | None:
        """Return the owner who enrolled the token with this hash; None if the token is not enrolled.

        Args:
            task: Hash of the task.
            token: Hash of the token.

        Returns:
            Number of the owner.
        """
        query = select(ENROLLED.c.owner).where(ENROLLED.c.task == task, ENROLLED.c.token == token)
        return self._database.read_snapshot(lambda connection: connection.execute(query).scalar())

    def record_noise_hash(self, task: str, noise_hash: str) -> str:
        """Store the peer server's noise hash, unless one is stored; return the stored one.

        A known hash is only read. So a server whose disk is full repeats its answers.

        Args:
            task: Hash of the task.
            noise_hash: Hash by which the peer server commits to its noise.
        """
        query = select(BOUND_NOISES.c.bound).where(BOUND_NOISES.c.task == task)

        def store_hash(connection: Connection) -> str:
            """Store the hash in one transaction, unless another request was faster.

            Args:
                connection: Connection in the write transaction.

            Returns:
                The stored hash: the new hash, or the hash that the faster request stored.
            """
            lock_task(connection, task)
            stored_hash = connection.execute(query).scalar()
            if stored_hash is None:
                connection.execute(insert(BOUND_NOISES), {"task": task, "bound": noise_hash})
            return noise_hash if stored_hash is None else str(stored_hash)

        known_hash = self._database.read_snapshot(lambda connection: connection.execute(query).scalar())
        return self._database.write(store_hash) if known_hash is None else str(known_hash)

    def iterate_shares(self, task: str, size: int) -> Iterator[Sequence[tuple[bytes, StoredShare]]]:
        """SECRET: yield all shares of a closed task in the order of their ids, in pages.

        Args:
            task: Hash of the task.
            size: Reports of a page.
        """
        last_id = b""
        while page := self._database.read_snapshot(partial(_select_page, task=task, last=last_id, size=size)):
            yield [(row.id, StoredShare(row.share, row.whole)) for row in page]
            last_id = page[-1].id

    @read_transaction
    def read_shares(self, connection: Connection, task: str) -> dict[bytes, StoredShare]:
        """SECRET: return all of this server's stored shares of a task's reports, by report id.

        Args:
            connection: Supplied by the decorator; callers leave it out.
            task: Hash of the task.

        Returns:
            Stored share by report id.
        """
        columns = REPORTS.c.id, REPORTS.c.share, REPORTS.c.whole
        rows = connection.execute(select(*columns).where(REPORTS.c.task == task))
        return {row.id: StoredShare(row.share, row.whole) for row in rows}


def _update_statistics(connection: Connection) -> None:
    """Update PostgreSQL's statistics. (Otherwise it scans all reports of the task to find some by id.)

    Args:
        connection: Connection in the write transaction; other databases than PostgreSQL are left alone.
    """
    if connection.dialect.name == "postgresql":
        for table in (REPORTS, CONTRIBUTIONS):
            connection.exec_driver_sql(f"ANALYZE {table.name}")


def _group_key(upload: Upload) -> int:
    """Return the key by which uploads are grouped into one transaction; uploads of one group have equal keys.

    An upload that may replace another contribution gets a key of its own, so that it is written alone.

    Args:
        upload: Upload that waits to be written.
    """
    return id(upload) if upload.offer.earlier_policy is EarlierPolicy.GIVES_WAY else 0


def _refuse_uploads(state: TaskState, uploads: Sequence[Upload]) -> list[Exception]:
    """Return an error for each upload if the task is closed or frozen; an empty list if it is open.

    Args:
        state: State of the task.
        uploads: Uploads of owners to the task.
    """
    if state is TaskState.CLOSED:
        return [NoMoreReports() for _ in uploads]
    return [TaskFrozen() for _ in uploads] if state is TaskState.FROZEN else []


def _insert_uploads(connection: Connection, task: str, uploads: Sequence[Upload]) -> list[int | Exception]:
    """Insert uploads to a task that is locked and open; return the outcome of each.

    The number of statements does not depend on the number of uploads.

    Args:
        connection: Connection in a transaction.
        task: Hash of the task.
        uploads: The uploads, decided in this order.

    Returns:
        For each upload the number of its new reports, or why it was refused.
    """
    owners = {upload.offer.owner for upload in uploads}
    ids = {one.id for upload in uploads for one in upload.offer.reports}
    bound = connection.execute(_SELECT_CONTRIBUTIONS, {"of": task, "owners": list(owners)})
    uses_before = {owner: _TicketUse(contribution, reports) for owner, contribution, reports in bound}
    stored_rows = connection.execute(_SELECT_KNOWN_REPORTS, {"of": task, "ids": list(ids)})
    owner_by_id = {one: owner for one, owner in stored_rows}

    # Uploads of one group are decided in their order, as if each had a transaction of its own.
    uses_after = dict(uses_before)
    outcomes = list[int | Exception]()
    rows = list[dict[str, object]]()
    for _, max_reports, offer in uploads:
        earlier_use = uses_after.get(offer.owner, _TicketUse(offer.contribution, 0))
        gives_way = earlier_use.contribution != offer.contribution
        if gives_way and offer.earlier_policy is EarlierPolicy.STAYS:
            outcomes.append(ProtocolError("ticket", OTHER_CONTRIBUTION, 409))
            continue

        # A contribution that gives way is replaced whole, so its reports do not count towards the limit.
        remaining_owners = owner_by_id
        if gives_way:
            remaining_owners = {one: owner for one, owner in owner_by_id.items() if owner != offer.owner}
        new_reports = {report.id: report for report in offer.reports if report.id not in remaining_owners}
        present_count = 0 if gives_way else earlier_use.reports
        if present_count + len(new_reports) > max_reports:
            limit_error = ProtocolError(
                "reports",
                f"at most {max_reports} of one owner are accepted, and {present_count} are stored; send fewer records",
                409,
            )
            outcomes.append(
                ProtocolError("ticket", OTHER_CONTRIBUTION, 409) if present_count == max_reports == 1 else limit_error
            )
            continue

        if gives_way:
            connection.execute(delete(REPORTS).where(REPORTS.c.task == task, REPORTS.c.owner == offer.owner))
            owner_by_id = remaining_owners
        owner_by_id.update(dict.fromkeys(new_reports, offer.owner))
        rows += [{"task": task, "owner": offer.owner, **one._asdict()} for one in new_reports.values()]
        uses_after[offer.owner] = _TicketUse(offer.contribution, present_count + len(new_reports))
        outcomes.append(len(new_reports))
    _write_contributions(connection, task, rows, uses_before, uses_after)
    return outcomes


class _TicketUse(NamedTuple):
    """The contribution to which a ticket is bound, and the number of its stored reports."""

    contribution: bytes
    reports: int


def _write_contributions(
    connection: Connection,
    task: str,
    rows: Sequence[Mapping[str, object]],
    before: Mapping[int, _TicketUse],
    after: Mapping[int, _TicketUse],
) -> None:
    """Insert reports, and store to which contribution each ticket is bound.

    Only bindings that changed from `before` to `after` are written.

    Args:
        connection: Connection in a transaction.
        task: Hash of the task.
        rows: Rows of the new reports.
        before: Use of each ticket before, by owner.
        after: Use of each ticket now, by owner.
    """
    if rows:
        connection.execute(_INSERT_REPORTS, rows)
    new_rows = [{"task": task, "owner": owner, **after[owner]._asdict()} for owner in after.keys() - before.keys()]
    if new_rows:
        connection.execute(_INSERT_CONTRIBUTIONS, new_rows)
    changed = [owner for owner, was in before.items() if after[owner] != was]
    if changed:
        ours = CONTRIBUTIONS.c.task == task, CONTRIBUTIONS.c.owner == sql.bindparam("whose")
        connection.execute(
            update(CONTRIBUTIONS).where(*ours), [{"whose": owner, **after[owner]._asdict()} for owner in changed]
        )
    added_count = sum(use.reports for use in after.values()) - sum(use.reports for use in before.values())
    if added_count:
        connection.execute(_ADD_TO_COUNT, {"of": task, "more": added_count})


def _select_page(connection: Connection, task: str, last: bytes, size: int) -> Sequence[Any]:
    """Select a page of shares of a task whose ids follow the `last` one.

    Args:
        connection: Connection to the database.
        task: Hash of the task.
        last: Last id of the page before.
        size: Largest number of shares.

    Returns:
        Rows of id, share and hash of the whole share, in the order of ids.
    """
    columns = REPORTS.c.id, REPORTS.c.share, REPORTS.c.whole
    query = select(*columns).where(REPORTS.c.task == task, REPORTS.c.id > last)
    return connection.execute(query.order_by(REPORTS.c.id).limit(size)).all()


def _iterate_digests(
    connection: Connection, task: str, first: bytes = b"", page_size: int = DIGESTS_PER_PAGE
) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over the ids and digests of all reports from the `first` id, in rising order, in pages.

    Args:
        connection: Open transaction of the database.
        task: Hash of the task.
        first: Smallest id; empty: all reports.
        page_size: Reports per query.

    Yields:
        Pairs of an id and a digest.
    """
    columns = (REPORTS.c.id, REPORTS.c.digest)
    from_first = REPORTS.c.id >= first
    while True:
        page = select(*columns).where(REPORTS.c.task == task, from_first).order_by(REPORTS.c.id).limit(page_size)
        rows = connection.execute(page).all()
        yield from ((report_id, digest) for report_id, digest in rows)
        if len(rows) < page_size:
            return
        from_first = REPORTS.c.id > rows[-1].id


def _select_listing(connection: Connection, task: str) -> Listing:
    """Return the digests of all stored reports of a task by their ids.

    Args:
        connection: Connection in a transaction.
        task: Hash of the task.
    """
    rows = connection.execute(select(REPORTS.c.id, REPORTS.c.digest).where(REPORTS.c.task == task))
    return {row.id: row.digest for row in rows}


def _read_dropped_bits(connection: Connection, task: str, size: int) -> bytes | None:
    """Return the stored flags of reports that failed the check; None before the check.

    Args:
        connection: Open transaction of the database.
        task: Hash of the task.
        size: Number of bytes of the flags.

    Raises:
        ProtocolError: the flags were damaged (status 500).
    """
    stored = connection.execute(select(TASKS.c.dropped).where(TASKS.c.task == task)).scalar_one()
    if stored is None:
        return None
    # One more flag would drop an honest report between two answers with the same noise, and so reveal its position.
    if len(stored) < size or stored[size:] != _hash_dropped_bits(task, stored[:size]):
        raise ProtocolError(
            "store",
            "the flags of reports that failed the check were damaged, and nothing is answered; "
            "restore the store from a copy",
            500,
        )
    return bytes(stored[:size])


def _hash_dropped_bits(task: str, bits: bytes) -> bytes:
    """Return the SHA-256 of a task's flags of failed reports, which is stored behind them.

    Args:
        task: Hash of the task, in hexadecimal digits.
        bits: Packed flags, one bit per report.
    """
    return sha256(b"dpcurves dropped\n" + bytes.fromhex(task) + bits).digest()
