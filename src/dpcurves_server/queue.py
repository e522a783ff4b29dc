"""The queue of questions as workers see it, and actions of a steward on queued ones."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Update, and_, func, insert, or_, select, update

from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json
from dpcurves.ledger import Event, Member
from dpcurves.ledger.account import LONGEST_NAME
from dpcurves.ledger.chain import GRANTS, acquire_lock
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.database import write_transaction
from dpcurves_parties.serving.messages import ProtocolError

from .questions import AskedQuestion, Questions, State, loss_from_text
from .store import DATASETS, QUESTIONS, RELEASES, Archive, has_row
from .visitors import Right, Visitor, not_found, require

# The queue of questions, as workers and the public clock see it. What is done twice is done once.
#
# `queued -> paid -> counted -> answered`, or `queued -> refused`. A worker that was killed leaves its question in a
# state from which any other goes on: the ledger charges a request once and has one answer for it, and a release is
# stored once.
STALE = 600
"""Seconds after which a claim counts no more, though nobody has seen its worker end."""
MOST_DRAWN = 50
LATER = "later"
"""The owner of a question that could not be counted, until it is tried again."""
WAITS = (0, 2, 10, 60, 600)
"""Seconds before a question that was paid is tried again where counting failed: a disk is full, an engine is away."""


class WorkerRole(Enum):
    """The parts of the work on questions."""

    CHARGES = "charges"
    COUNTS = "counts"
    ALL = "all"


STATES: Mapping[WorkerRole, tuple[State, ...]] = MappingProxyType(
    {WorkerRole.CHARGES: (State.QUEUED,), WorkerRole.COUNTS: (State.PAID,), WorkerRole.ALL: (State.QUEUED, State.PAID)}
)


@dataclass(frozen=True, slots=True)
class Job:
    """A question that a worker has claimed.

    Attributes:
        id: That of the question, and of its release.
        request: Under which the ledger has it.
        member: Who pays.
        dataset, version: What is asked.
        question: What is asked of it.
        loss: What it may lose.
        state: Queued, or paid.
        worker: Who has claimed it.
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
    """The claim of a worker counts no more: it was given back, or another one has it."""


class Queue:
    """Queue of questions as workers use it: claims, and transitions from queued to paid to answered."""

    def __init__(self, archive: Archive) -> None:
        self._database = archive

    def lease_next(self, worker: str, role: WorkerRole = WorkerRole.ALL) -> Job | None:
        """The next question for a worker, a name that no other process has: first those that wait to be paid."""
        now, states = int(time.time()), STATES[role]
        if self._database.read_snapshot(lambda connection: _select_next(connection, now, states)) is None:
            return None

        def lease_row(connection: Connection) -> Row[Any] | None:
            row = _select_next(connection, now, states, lock=True)
            if row is not None:
                mine = QUESTIONS.c.number == row.number
                connection.execute(update(QUESTIONS).where(mine).values(worker=worker, claimed=now))
            return row

        row = self._database.write(lease_row)
        return None if row is None else _job_from_row(row, worker)

    @staticmethod
    def require_lease(connection: Connection, job: Job) -> None:
        """Refuse a question whose claim counts no more: looked at in the transaction that charges it.

        A worker that was held may go on long after its claim was given back, and after the question was taken back.

        Raises:
            Overtaken: it does not.
        """
        if (
            connection.execute(
                select(QUESTIONS.c.number).where(*_leased_by(job), _has_state(State.QUEUED, State.PAID))
            ).first()
            is None
        ):
            raise LeaseLost("question", "another worker has it, or it was taken back")

    def mark_paid(self, job: Job) -> None:
        """It was charged; whoever counts may have it."""
        self._update_queued(job, state=State.PAID.value)

    def mark_refused(self, job: Job, reason: str) -> None:
        """It was not charged, for this reason."""
        self._update_queued(job, state=State.REFUSED.value, refusal=reason, worker=None)

    def return_lease(self, job: Job) -> None:
        """Somebody else may go on with it."""
        self._database.write(
            lambda one: one.execute(update(QUESTIONS).where(*_leased_by(job)).values(worker=None)).rowcount
        )

    @write_transaction
    def schedule_retry(self, connection: Connection, job: Job) -> None:
        """It could not be counted now; it is tried again later."""
        mine = and_(*_leased_by(job))
        tries = connection.execute(select(QUESTIONS.c.tries).where(mine)).scalars().first()
        if tries is None:
            return
        until = int(time.time()) + WAITS[min(tries + 1, len(WAITS) - 1)]
        # A claim from the future: nobody's, and nobody takes it before.
        connection.execute(update(QUESTIONS).where(mine).values(tries=tries + 1, worker=LATER, claimed=until - STALE))

    @write_transaction
    def store_answer(self, connection: Connection, id: str, curve: str, facts: Mapping[str, Any]) -> None:
        """Its answer is here: it is shown when the public clock strikes. The first one stays."""
        acquire_lock(connection, f"release {id}")
        if not has_row(connection, RELEASES, id=id):
            told = {"id": id, "curve": curve, "facts": json.dumps(facts), "svg": "", "csv": ""}
            connection.execute(insert(RELEASES), told)
        mine = (QUESTIONS.c.id == id, QUESTIONS.c.state == State.PAID.value)
        connection.execute(update(QUESTIONS).where(*mine).values(state=State.COUNTED.value, worker=None))

    def find_undrawn(self) -> list[str]:
        """Answers that have no picture yet and that nobody draws, the first one first."""
        free = _is_unleased(int(time.time()))
        query = _UNDRAWN.where(RELEASES.c.svg == "", free).order_by(QUESTIONS.c.number).limit(MOST_DRAWN)
        return self._database.read_snapshot(
            lambda connection: [str(each) for each in connection.execute(query).scalars()]
        )

    def lease_drawing(self, worker: str, id: str) -> bool:
        """Claim the drawing of an answer; False if another worker has it."""
        now = int(time.time())
        claim = update(QUESTIONS).where(QUESTIONS.c.id == id, _is_unleased(now)).values(worker=worker, claimed=now)
        return bool(self._database.write(lambda connection: connection.execute(claim).rowcount))

    def load_curve(self, id: str) -> str:
        """An answer, as it was counted."""
        query = select(RELEASES.c.curve).where(RELEASES.c.id == id)
        return self._database.read_snapshot(lambda connection: str(connection.execute(query).scalar_one()))

    @write_transaction
    def store_drawing(self, connection: Connection, id: str, svg: str, csv: str) -> None:
        """Its picture and its table are here."""
        mine = (RELEASES.c.id == id, RELEASES.c.svg == "")
        connection.execute(update(RELEASES).where(*mine).values(svg=svg, csv=csv))
        connection.execute(update(QUESTIONS).where(QUESTIONS.c.id == id).values(worker=None))

    def publish_states(self) -> int:
        """The public clock strikes: what was done since is shown. How many questions moved."""
        moved = QUESTIONS.c.shown != QUESTIONS.c.state
        if self._database.read_snapshot(lambda one: one.execute(select(QUESTIONS.c.id).where(moved)).first()) is None:
            return 0
        counted = QUESTIONS.c.state == State.COUNTED.value
        answered = {"state": State.ANSWERED.value, "shown": State.ANSWERED.value}

        def update_states(connection: Connection) -> int:
            done = connection.execute(update(QUESTIONS).where(counted).values(**answered)).rowcount
            return done + connection.execute(update(QUESTIONS).where(moved).values(shown=QUESTIONS.c.state)).rowcount

        return self._database.write(update_states)

    def return_leases(self, worker: str | None = None) -> None:
        """Give back what a worker that has ended had claimed; None: what all had."""
        mine = QUESTIONS.c.worker.is_not(None) if worker is None else QUESTIONS.c.worker == worker
        self._database.write(
            lambda connection: connection.execute(update(QUESTIONS).where(mine).values(worker=None)).rowcount
        )

    def _update_queued(self, job: Job, **facts: object) -> None:
        """Say what became of a question that was queued, if the claim still counts."""
        moved = update(QUESTIONS).where(*_leased_by(job), _has_state(State.QUEUED)).values(**facts)
        self._database.write(lambda connection: connection.execute(moved).rowcount)


_UNDRAWN = select(RELEASES.c.id).join(QUESTIONS, QUESTIONS.c.id == RELEASES.c.id)


def _is_unleased(now: int) -> ColumnElement[bool]:
    """Tell whether a question is unclaimed, or its lease has expired."""
    return or_(QUESTIONS.c.worker.is_(None), QUESTIONS.c.claimed < now - STALE)


def _leased_by(job: Job) -> tuple[ColumnElement[bool], ...]:
    return QUESTIONS.c.id == job.id, QUESTIONS.c.worker == job.worker


def _has_state(*states: State) -> ColumnElement[bool]:
    return QUESTIONS.c.state.in_([state.value for state in states])


_OTHERS = QUESTIONS.alias("others")
_TAKEN = or_(_OTHERS.c.worker.is_not(None), _OTHERS.c.state.in_([State.COUNTED.value, State.ANSWERED.value]))
_LAST_TAKEN = func.coalesce(
    select(func.max(_OTHERS.c.claimed)).where(_OTHERS.c.project == QUESTIONS.c.project, _TAKEN).scalar_subquery(), 0
)
"""Seconds since 1970 when a worker last began to count a question of the same project, or to draw it."""


def _select_next(connection: Connection, now: int, states: Sequence[State], *, lock: bool = False) -> Row[Any] | None:
    """The next free question; held, it is this transaction's, and who comes at the same time has the next one.

    Questions are charged in the order in which they were asked. They are counted project by project in turns, first
    that of which one was taken longest ago: so who asks many that take long keeps others waiting for one of them.
    """
    for state in states:
        mine = (QUESTIONS.c.state == state.value, _is_unleased(now))
        turn = (_LAST_TAKEN,) if state is State.PAID else ()
        query = select(QUESTIONS).where(*mine).order_by(*turn, QUESTIONS.c.number).limit(1)
        row = connection.execute(query.with_for_update(skip_locked=True) if lock else query).first()
        if row is not None:
            return row
    return None


def _job_from_row(row: Row[Any], worker: str) -> Job:
    question, loss = question_from_json(json.loads(row.question)), loss_from_text(row.epsilon, row.rho)
    member = Member(row.project, row.person)
    return Job(row.id, row.request, member, row.dataset, row.version, question, loss, State(row.state), worker)


# Actions of a steward on queued questions: withdraw one before it is charged, or have it counted again.
#
# What is done is seen when the public clock strikes, and whoever does it is told the same before, whatever became of
# it: else one could learn when a worker is done, which may tell of rows.
TAKEN_BACK = "the steward of the dataset took it back before it was charged"
SLOW = 60
"""Seconds after which a worker may have been stopped that has what was paid."""


class Stewardship:
    """Actions of a steward on questions of a dataset: to withdraw one, or to have it counted again.

    Formal guarantees: nothing is charged here, and nothing is refunded. What was charged under its request stays so,
    and is counted under the same grant, whose stored numbers stay as they are.
    """

    def __init__(self, archive: Archive, questions: Questions, notify: Callable[[], object] = int) -> None:
        self._archive, self._questions, self._call = archive, questions, notify

    def withdraw(self, who: Visitor, id: str) -> None:
        """Take a question back, if nothing was charged under its request and no worker has begun with it.

        The grants are looked at in the transaction of the chain: whatever charges comes before it, or after.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, there is none, or it waited no more when the
                clock struck last.
        """
        asked = self._require_waiting(who, id)

        def withdraw_question(connection: Connection) -> None:
            if not _is_charged(connection, asked):
                told = {"state": State.REFUSED.value, "refusal": TAKEN_BACK}
                connection.execute(
                    _update_in_state(id, State.QUEUED).where(QUESTIONS.c.worker.is_(None)).values(**told)
                )

        self._archive.run_logged(_log_event(who, "wanted taken back", asked), withdraw_question)

    def retry(self, who: Visitor, id: str) -> None:
        """Have a question counted now that was charged and could not be counted, or that a worker has for long.

        Raises:
            ProtocolAborted: as of `withdraw`.
        """
        asked = self._require_waiting(who, id)
        stuck = (QUESTIONS.c.worker == LATER) | (QUESTIONS.c.claimed < int(time.time()) - SLOW)

        def return_stuck_lease(connection: Connection) -> None:
            connection.execute(_update_in_state(id, State.PAID).where(stuck).values(worker=None))

        self._archive.run_logged(_log_event(who, "wanted counted again", asked), return_stuck_lease)
        self._call()

    def _require_waiting(self, who: Visitor, id: str) -> AskedQuestion:
        asked = self._questions.get(who, id)
        require(who, Right.KEEP_QUEUE, asked.subject)
        if asked.state in (State.ANSWERED, State.REFUSED):
            raise ProtocolError("question", "it does not wait any more", 409)
        return asked


def _update_in_state(id: str, state: State) -> Update:
    return update(QUESTIONS).where(QUESTIONS.c.id == id, QUESTIONS.c.state == state.value)


def _is_charged(connection: Connection, asked: AskedQuestion) -> bool:
    """Tell whether its request was charged, for this question or for another one that it answers."""
    version = {"name": asked.dataset, "version": asked.version}
    account = connection.execute(select(DATASETS.c.account).filter_by(**version)).scalars().first()
    if account is None:
        raise not_found("dataset")
    return has_row(connection, GRANTS, dataset=account, request=asked.request)


def _log_event(who: Visitor, action: str, asked: AskedQuestion) -> Event:
    return Event(who.name, action, f"{asked.id[:16]}: {asked.purpose}"[:LONGEST_NAME], asked.dataset)
