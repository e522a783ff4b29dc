"""Database-backed job queue of a verification server, with leases: questions that wait to be charged and answered.

Worker processes charge a question's privacy loss, count the records and store the noisy answer. A lease gives a
question to one worker for a limited time, so that another worker takes over after a crash. A steward, who manages a
dataset, may move or withdraw its waiting questions (`Stewardship`).

    lease_next        a worker leases a question for `LEASE_SECONDS`: queued ones before paid ones
    mark_paid, mark_refused, store_answer    under a valid lease; a stored answer is never replaced
    schedule_retry    after a failed count, with growing pauses
    publish_states    what principals see, on the public schedule

Questions are charged in the order in which they were asked, and counted in turns of people and projects, so that many
slow questions of one person delay another's by at most one. A charged question that failed is counted again under the
same grant, whose stored noise is reused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Update, and_, func, insert, or_, select, update

from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json
from dpcurves.ledger import Event, Member
from dpcurves.ledger.chain import GRANTS, acquire_lock
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.database import write_transaction
from dpcurves_parties.serving.messages import ProtocolError

from .principals import Principal, Right, not_found, require
from .questions import AskedQuestion, Questions, State, describe_subject, loss_from_text
from .store import Archive, has_row
from .tables import DATASETS, QUESTIONS, RELEASES

# States: `queued -> paid -> counted -> answered`, or `queued -> refused`.
#
# All transitions are idempotent. If a worker is killed, another worker resumes from the stored state: the ledger
# charges a request once and holds one answer for it, and a release is stored once.
LEASE_SECONDS = 600
"""Seconds after which another worker may take over a question, if its worker hangs or died; a count that takes longer
may be started a second time."""
DEFERRED_WORKER = "later"
"""Value of the field `worker` of a question that waits for its next try: no worker takes it before that time."""
RETRY_SECONDS = (2, 10, 60, 600)
"""Seconds before the first, second, ... retry of a paid question whose counting failed, as when a disk is full or an
engine is down. The last wait repeats."""


class WorkerRole(Enum):
    """What a worker does with questions: charge them, count them, count short ones only, or everything."""

    CHARGES = "charges"
    COUNTS = "counts"
    COUNTS_SHORT = "counts-short"
    ALL = "all"


STATES_BY_ROLE: Mapping[WorkerRole, tuple[State, ...]] = MappingProxyType(
    {WorkerRole.CHARGES: (State.QUEUED,), WorkerRole.COUNTS: (State.PAID,), WorkerRole.COUNTS_SHORT: (State.PAID,),
     WorkerRole.ALL: (State.QUEUED, State.PAID)}
)  # fmt: skip
"""States of questions that a worker of each role takes: queued ones are charged, paid ones are counted."""
SHORT_QUESTION_CELLS = 20_000
"""Cells up to which a question is short: counting it takes no longer than reading its records. Workers of the role
`COUNTS_SHORT` take no larger ones, so that these do not wait behind long ones."""


@dataclass(frozen=True, slots=True)
class Job:
    """A question that a worker has leased.

    Attributes:
        id: The identifier that the question shares with its release (stored answer).
        request: The id under which the ledger charges it, once.
        member: The project and the analyst whose allowances pay.
        dataset: Name of the dataset.
        version: Version of the dataset.
        question: The parsed question.
        loss: The privacy loss of the answer.
        state: `State.QUEUED` (not yet charged) or `State.PAID` (charged, not yet counted).
        worker: Name of the lease holder.
    """

    id: str
    request: str
    member: Member
    dataset: str
    version: int
    question: Any
    loss: PrivacyLoss
    state: State
    worker: str


class LeaseLost(InvalidArgument):
    """The lease has expired: it was returned, or another worker holds it."""


class Queue:
    """The queue as workers use it: leases, and changes of status from queued to paid to counted to answered.

    Args:
        archive: The server's database.
    """

    def __init__(self, archive: Archive) -> None:
        self._database = archive

    def lease_next(self, worker: str, role: WorkerRole = WorkerRole.ALL) -> Job | None:
        """Lease the next question to a worker, and return it; None if no question waits for a worker of this role.

        Questions that are not yet charged come first, because charging is fast.

        Args:
            worker: Name of the worker, unique among all workers.
            role: What the worker does.
        """
        now = int(time.time())
        if self._database.read_snapshot(lambda connection: _select_next(connection, now, role)) is None:
            return None

        def lease_row(connection: Connection) -> Row[Any] | None:
            """Lease the next free question to the worker; return its row, or None.

            Args:
                connection: Connection in the write transaction.

            Returns:
                Row of the question; None if none is free.
            """
            row = _select_next(connection, now, role, lock=True)
            if row is not None:
                is_row = QUESTIONS.c.number == row.number
                connection.execute(update(QUESTIONS).where(is_row).values(worker=worker, claimed=now))
            return row

        row = self._database.write(lease_row)
        return None if row is None else _job_from_row(row, worker)

    @staticmethod
    def require_lease(connection: Connection, job: Job) -> None:
        """Require that a worker still holds the lease of its question, within the transaction that charges it.

        A suspended worker may resume long after its lease was returned and its question withdrawn.

        Args:
            connection: The connection of this transaction.
            job: The leased question.

        Raises:
            LeaseLost: Another worker has the lease, or the question is neither queued nor paid.
        """
        if (
            connection.execute(
                select(QUESTIONS.c.number).where(*_leased_by(job), _has_state(State.QUEUED, State.PAID))
            ).first()
            is None
        ):
            raise LeaseLost("question", "another worker has this question, or it was withdrawn; take the next one")

    def mark_paid(self, job: Job) -> None:
        """Record that the ledger has charged a leased question. Without a valid lease, nothing changes.

        Args:
            job: Leased question with the name of its worker.
        """
        self._update_queued(job, state=State.PAID.value)

    def mark_refused(self, job: Job, reason: str) -> None:
        """Record that a leased question was refused without a charge. Without a valid lease, nothing changes.

        Args:
            job: The leased question.
            reason: The reason in words, which analysts will see; it must not quote a record.
        """
        self._update_queued(job, state=State.REFUSED.value, refusal=reason, worker=None)

    def return_lease(self, job: Job) -> None:
        """Give a lease back, so that another worker may continue. Without a valid lease, nothing changes.

        Args:
            job: Leased question with the name of its worker.
        """
        self._database.write(
            lambda connection: (
                connection.execute(update(QUESTIONS).where(*_leased_by(job)).values(worker=None)).rowcount
            )
        )

    @write_transaction
    def schedule_retry(self, connection: Connection, job: Job) -> None:
        """Record that counting a leased question failed; no worker may lease the question until the time of the next
        retry.

        Without a valid lease, nothing changes.

        Args:
            connection: Connection in a transaction.
            job: The leased question.
        """
        is_leased = and_(*_leased_by(job))
        tries = connection.execute(select(QUESTIONS.c.tries).where(is_leased)).scalars().first()
        if tries is None:
            return
        retry_at = int(time.time()) + RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)]
        # A lease of the placeholder `DEFERRED_WORKER` that expires at the time of the retry.
        connection.execute(
            update(QUESTIONS)
            .where(is_leased)
            .values(tries=tries + 1, worker=DEFERRED_WORKER, claimed=retry_at - LEASE_SECONDS)
        )

    @write_transaction
    def store_answer(self, connection: Connection, id: str, curve: str, facts: Mapping[str, Any]) -> None:
        """Store the answer of a charged question, which is shown at the next publication time.

        A stored answer is never replaced, so a second call changes nothing.

        Args:
            connection: A connection, which the decorator passes.
            id: Identifier of the question.
            curve: The released curve as JSON.
            facts: Contents of its HTML summary.
        """
        acquire_lock(connection, f"release {id}")
        if not has_row(connection, RELEASES, id=id):
            row = {"id": id, "curve": curve, "facts": json.dumps(facts), "svg": "", "csv": ""}
            connection.execute(insert(RELEASES), row)
        is_paid = (QUESTIONS.c.id == id, QUESTIONS.c.state == State.PAID.value)
        connection.execute(update(QUESTIONS).where(*is_paid).values(state=State.COUNTED.value, worker=None))

    def find_undrawn(self) -> list[str]:
        """Return the identifiers of at most 50 answers without a picture that no worker is drawing, oldest first."""
        is_free = _is_unleased(int(time.time()))
        releases = select(RELEASES.c.id).join(QUESTIONS, QUESTIONS.c.id == RELEASES.c.id)
        # 50: answers considered at a time
        query = releases.where(RELEASES.c.svg == "", is_free).order_by(QUESTIONS.c.number).limit(50)
        return self._database.read_snapshot(lambda connection: [str(id) for id in connection.execute(query).scalars()])

    def lease_drawing(self, worker: str, id: str) -> bool:
        """Lease the drawing of an answer's picture to a worker; return False if another worker holds the lease.

        Args:
            worker: Name of the worker.
            id: Identifier of the question.
        """
        now = int(time.time())
        lease = update(QUESTIONS).where(QUESTIONS.c.id == id, _is_unleased(now)).values(worker=worker, claimed=now)
        return bool(self._database.write(lambda connection: connection.execute(lease).rowcount))

    def load_curve(self, id: str) -> str:
        """Return the stored result of a question as JSON.

        Args:
            id: Identifier of the question, which must have an answer.
        """
        query = select(RELEASES.c.curve).where(RELEASES.c.id == id)
        return self._database.read_snapshot(lambda connection: str(connection.execute(query).scalar_one()))

    @write_transaction
    def store_drawing(self, connection: Connection, id: str, svg: str, csv: str) -> None:
        """Store the picture and the table of an answer, and end the lease.

        Args:
            connection: Connection in a transaction.
            id: Identifier of the question and its answer.
            svg: The picture.
            csv: The table.
        """
        is_undrawn = (RELEASES.c.id == id, RELEASES.c.svg == "")
        connection.execute(update(RELEASES).where(*is_undrawn).values(svg=svg, csv=csv))
        connection.execute(update(QUESTIONS).where(QUESTIONS.c.id == id).values(worker=None))

    def publish_states(self) -> int:
        """Publish all changes of status since the last publication time: counted questions become answered.

        The server calls it on a fixed public schedule. So the moment at which an answer appears does not reveal how
        long counting took, which may depend on records.

        Returns:
            The number of changed rows; 0 if nothing has changed.
        """
        has_moved = QUESTIONS.c.shown != QUESTIONS.c.state
        if (
            self._database.read_snapshot(lambda reader: reader.execute(select(QUESTIONS.c.id).where(has_moved)).first())
            is None
        ):
            return 0
        is_counted = QUESTIONS.c.state == State.COUNTED.value
        answered = {"state": State.ANSWERED.value, "shown": State.ANSWERED.value}

        def update_states(connection: Connection) -> int:
            """Show all changed states; return the number of changed questions.

            Args:
                connection: Connection in the write transaction.
            """
            answered_count = connection.execute(update(QUESTIONS).where(is_counted).values(**answered)).rowcount
            return (
                answered_count
                + connection.execute(update(QUESTIONS).where(has_moved).values(shown=QUESTIONS.c.state)).rowcount
            )

        return self._database.write(update_states)

    def return_leases(self, worker: str | None = None) -> None:
        """Put the questions that a stopped worker had leased back into the queue; of all workers if `worker` is
        None.

        Nothing is written if there are none: a server whose disk is read-only starts, and shows its answers.
        """
        is_leased = QUESTIONS.c.worker.is_not(None) if worker is None else QUESTIONS.c.worker == worker
        leased = select(QUESTIONS.c.id).where(is_leased)
        if self._database.read_snapshot(lambda reader: reader.execute(leased).first()) is None:
            return
        self._database.write(
            lambda connection: connection.execute(update(QUESTIONS).where(is_leased).values(worker=None)).rowcount
        )

    def _update_queued(self, job: Job, **changes: object) -> None:
        """Update a queued question if the lease is still valid.

        Args:
            job: Leased question with the name of its worker.
            changes: New values by name of the column.
        """
        change = update(QUESTIONS).where(*_leased_by(job), _has_state(State.QUEUED)).values(**changes)
        self._database.write(lambda connection: connection.execute(change).rowcount)


def _is_unleased(now: int) -> ColumnElement[bool]:
    """Return the condition that a question has no lease, or an expired one.

    Args:
        now: Present time, in seconds since 1970.
    """
    return or_(QUESTIONS.c.worker.is_(None), QUESTIONS.c.claimed < now - LEASE_SECONDS)


def _leased_by(job: Job) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL conditions that a question is still leased to the job's worker.

    Args:
        job: Leased question with the name of its worker.
    """
    return QUESTIONS.c.id == job.id, QUESTIONS.c.worker == job.worker


def _has_state(*states: State) -> ColumnElement[bool]:
    """Return the SQL condition that a question has one of these states."""
    return QUESTIONS.c.state.in_([state.value for state in states])


_OTHERS = QUESTIONS.alias("others")
"""SQL alias of the table of questions, to compare a waiting question with others of its person or project."""
_TAKEN = or_(_OTHERS.c.worker.is_not(None), _OTHERS.c.state.in_([State.COUNTED.value, State.ANSWERED.value]))
"""SQL condition on these other questions: a worker has begun to count or draw it."""


def _last_taken(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """Return the seconds since 1970 when a worker last began to count or draw another question that satisfies this.

    Args:
        condition: SQL condition on the other question.

    Returns:
        SQL expression; 0 if no question was taken.
    """
    return func.coalesce(select(func.max(_OTHERS.c.claimed)).where(condition, _TAKEN).scalar_subquery(), 0)


_TURNS = (_last_taken(_OTHERS.c.person == QUESTIONS.c.person), _last_taken(_OTHERS.c.project == QUESTIONS.c.project))
"""SQL order in which paid questions are counted: of the person served longest ago, then of the project served longest
ago, so that nobody keeps others waiting."""


def _select_next(connection: Connection, now: int, role: WorkerRole, *, lock: bool = False) -> Row[Any] | None:
    """Return the next free question. With `lock`, concurrent transactions skip it and get the question after it.

    Questions are charged in the order in which they were asked. They are counted one of each person, then one of each
    project, in rotation, so that many slow questions of one person delay another person by at most one question; and
    a separate worker counts short questions only. Who comes next depends on who asked what and when, never on records.

    Args:
        connection: Open transaction of the database.
        now: Present time, in seconds since 1970.
        role: Which questions the worker takes.
        lock: Whether the row is locked.

    Returns:
        Row of the question; None if no question is free.
    """
    for state in STATES_BY_ROLE[role]:
        conditions = [QUESTIONS.c.state == state.value, _is_unleased(now)]
        if role is WorkerRole.COUNTS_SHORT:
            conditions.append(QUESTIONS.c.cells <= SHORT_QUESTION_CELLS)
        turns = _TURNS if state is State.PAID else ()
        query = select(QUESTIONS).where(*conditions).order_by(*turns, QUESTIONS.c.number).limit(1)
        row = connection.execute(query.with_for_update(skip_locked=True) if lock else query).first()
        if row is not None:
            return row
    return None


def _job_from_row(row: Row[Any], worker: str) -> Job:
    """Return the leased question that a database row holds, as a worker needs it.

    Args:
        row: Row of the question.
        worker: Name of the worker with the lease.
    """
    question = question_from_json(json.loads(row.question))
    loss = loss_from_text(row.epsilon, row.rho)
    member = Member(row.project, row.person)
    return Job(row.id, row.request, member, row.dataset, row.version, question, loss, State(row.state), worker)


# Actions of a steward on waiting questions: withdraw one before it is charged, or retry it.
#
# The effect is visible at the next publication time, and the response does not depend on the effect: otherwise the
# steward could learn when a worker finished, and counting times may depend on records.
WITHDRAWN_MESSAGE = "the steward of the dataset withdrew the question before it was charged"
"""Refusal that an analyst sees of a question which a steward withdrew from the queue."""


class Stewardship:
    """Actions of a steward on questions of a dataset: withdraw or retry.

    Formal guarantees: neither charges nor refunds anything. A charged request stays charged and is counted under the
    same grant, whose stored noisy numbers are reused.
    """

    def __init__(self, archive: Archive, questions: Questions, notify: Callable[[], object] = int) -> None:
        self._archive = archive
        self._questions = questions
        self._call = notify

    def withdraw(self, who: Principal, id: str) -> None:
        """Withdraw a question if its request is uncharged and no worker has leased it.

        The grants are checked in the transaction that locks the chain, so a charge comes entirely before or after.

        Args:
            who: Caller, whose rights are checked.
            id: Identifier of the question.

        Raises:
            ProtocolError: The principal is not the dataset's steward, the question does not exist, or it was no longer
                waiting at the last publication time.
        """
        question = self._require_waiting(who, id)

        def withdraw_question(connection: Connection) -> None:
            """Mark the question as refused if it is uncharged, queued and not leased.

            Args:
                connection: Connection in the write transaction.
            """
            if not _is_charged(connection, question):
                refused = {"state": State.REFUSED.value, "refusal": WITHDRAWN_MESSAGE}
                connection.execute(
                    _update_in_state(id, State.QUEUED).where(QUESTIONS.c.worker.is_(None)).values(**refused)
                )

        self._archive.run_logged(_log_event(who, "wanted taken back", question), withdraw_question)

    def retry(self, who: Principal, id: str) -> None:
        """Retry now a paid question that waits for its retry, or whose worker has held it for 60 seconds.

        Args:
            who: The caller.
            id: Id of the question.

        Raises:
            ProtocolError: the question does not exist or no longer waits, or the caller does not manage its data set.
        """
        question = self._require_waiting(who, id)
        # 60: seconds after which a steward may take the lease of a paid question from its worker
        stuck = (QUESTIONS.c.worker == DEFERRED_WORKER) | (QUESTIONS.c.claimed < int(time.time()) - 60)

        def return_stuck_lease(connection: Connection) -> None:
            """Free the paid question if it waits for its retry or its worker is slow.

            Args:
                connection: Connection in the write transaction.
            """
            connection.execute(_update_in_state(id, State.PAID).where(stuck).values(worker=None))

        self._archive.run_logged(_log_event(who, "wanted counted again", question), return_stuck_lease)
        self._call()

    def _require_waiting(self, who: Principal, id: str) -> AskedQuestion:
        """Return a question that still waits, after checking that the caller manages its data set.

        Args:
            who: The caller.
            id: Id of the question.

        Raises:
            ProtocolError: the question does not exist, no longer waits (status 409), or belongs to a data set that the
                caller does not manage.
        """
        question = self._questions.get(who, id)
        require(who, Right.KEEP_QUEUE, question.subject)
        if question.state in (State.ANSWERED, State.REFUSED):
            raise ProtocolError("question", "the question is no longer waiting; reload its page", 409)
        return question


def _update_in_state(id: str, state: State) -> Update:
    """Return an SQL statement that updates a question only while the question is in this state.

    Args:
        id: Identifier of the question.
        state: State that the question must have.
    """
    return update(QUESTIONS).where(QUESTIONS.c.id == id, QUESTIONS.c.state == state.value)


def _is_charged(connection: Connection, question: AskedQuestion) -> bool:
    """Return True if the question's request was charged, for this question or another that reads the same request.

    Args:
        connection: Connection in a transaction.
        question: Question as it was asked.

    Raises:
        ProtocolError: the version of the data set does not exist (status 404).
    """
    version = {"name": question.dataset, "version": question.version}
    account = connection.execute(select(DATASETS.c.account).filter_by(**version)).scalars().first()
    if account is None:
        raise not_found("dataset")
    return has_row(connection, GRANTS, dataset=account, request=question.request)


def _log_event(who: Principal, action: str, question: AskedQuestion) -> Event:
    """Return the audit event of a principal's action on a question.

    Args:
        who: The principal.
        action: Word for the log.
        question: The question.
    """
    return Event(who.name, action, describe_subject(question.id, question.purpose), question.dataset)
