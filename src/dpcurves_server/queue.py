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

from dpcurves.arguments import Refused
from dpcurves.curves.question_json import question_from_json
from dpcurves.ledger import Event, Member
from dpcurves.ledger.account import LONGEST_NAME
from dpcurves.ledger.chain import GRANTS, alone
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.database import writes
from dpcurves_parties.serving.messages import ProtocolAborted

from .questions import Asked, Questions, State, loss_from
from .store import DATASETS, QUESTIONS, RELEASES, Archive, is_there
from .visitors import Right, Visitor, require, unknown

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


class Does(Enum):
    """The parts of the work on questions."""

    CHARGES = "charges"
    COUNTS = "counts"
    ALL = "all"


STATES: Mapping[Does, tuple[State, ...]] = MappingProxyType(
    {Does.CHARGES: (State.QUEUED,), Does.COUNTS: (State.PAID,), Does.ALL: (State.QUEUED, State.PAID)}
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


class Overtaken(Refused):
    """The claim of a worker counts no more: it was given back, or another one has it."""


class Queue:
    """Queue of questions as workers use it: claims, and transitions from queued to paid to answered."""

    def __init__(self, archive: Archive) -> None:
        self._database = archive

    def claim(self, worker: str, does: Does = Does.ALL) -> Job | None:
        """The next question for a worker, a name that no other process has: first those that wait to be paid."""
        now, states = int(time.time()), STATES[does]
        if self._database.read(lambda connection: _next(connection, now, states)) is None:
            return None

        def work(connection: Connection) -> Row[Any] | None:
            row = _next(connection, now, states, held=True)
            if row is not None:
                mine = QUESTIONS.c.number == row.number
                connection.execute(update(QUESTIONS).where(mine).values(worker=worker, claimed=now))
            return row

        row = self._database.write(work)
        return None if row is None else _job(row, worker)

    @staticmethod
    def require_claim(connection: Connection, job: Job) -> None:
        """Refuse a question whose claim counts no more: looked at in the transaction that charges it.

        A worker that was held may go on long after its claim was given back, and after the question was taken back.

        Raises:
            Overtaken: it does not.
        """
        if (
            connection.execute(select(QUESTIONS.c.number).where(*_mine(job), _in(State.QUEUED, State.PAID))).first()
            is None
        ):
            raise Overtaken("question", "another worker has it, or it was taken back")

    def paid(self, job: Job) -> None:
        """It was charged; whoever counts may have it."""
        self._move(job, state=State.PAID.value)

    def refused(self, job: Job, words: str) -> None:
        """It was not charged, for this reason."""
        self._move(job, state=State.REFUSED.value, refusal=words, worker=None)

    def give_back(self, job: Job) -> None:
        """Somebody else may go on with it."""
        self._database.write(lambda one: one.execute(update(QUESTIONS).where(*_mine(job)).values(worker=None)).rowcount)

    @writes
    def failed(self, connection: Connection, job: Job) -> None:
        """It could not be counted now; it is tried again later."""
        mine = and_(*_mine(job))
        tries = connection.execute(select(QUESTIONS.c.tries).where(mine)).scalars().first()
        if tries is None:
            return
        until = int(time.time()) + WAITS[min(tries + 1, len(WAITS) - 1)]
        # A claim from the future: nobody's, and nobody takes it before.
        connection.execute(update(QUESTIONS).where(mine).values(tries=tries + 1, worker=LATER, claimed=until - STALE))

    @writes
    def counted(self, connection: Connection, id: str, curve: str, facts: Mapping[str, Any]) -> None:
        """Its answer is here: it is shown when the public clock strikes. The first one stays."""
        alone(connection, f"release {id}")
        if not is_there(connection, RELEASES, id=id):
            told = {"id": id, "curve": curve, "facts": json.dumps(facts), "svg": "", "csv": ""}
            connection.execute(insert(RELEASES), told)
        mine = (QUESTIONS.c.id == id, QUESTIONS.c.state == State.PAID.value)
        connection.execute(update(QUESTIONS).where(*mine).values(state=State.COUNTED.value, worker=None))

    def undrawn(self) -> list[str]:
        """Answers that have no picture yet and that nobody draws, the first one first."""
        free = _is_free(int(time.time()))
        query = _UNDRAWN.where(RELEASES.c.svg == "", free).order_by(QUESTIONS.c.number).limit(MOST_DRAWN)
        return self._database.read(lambda connection: [str(each) for each in connection.execute(query).scalars()])

    def claim_drawing(self, worker: str, id: str) -> bool:
        """Claim the drawing of an answer; False if another worker has it."""
        now = int(time.time())
        claim = update(QUESTIONS).where(QUESTIONS.c.id == id, _is_free(now)).values(worker=worker, claimed=now)
        return bool(self._database.write(lambda connection: connection.execute(claim).rowcount))

    def curve(self, id: str) -> str:
        """An answer, as it was counted."""
        query = select(RELEASES.c.curve).where(RELEASES.c.id == id)
        return self._database.read(lambda connection: str(connection.execute(query).scalar_one()))

    @writes
    def drawn(self, connection: Connection, id: str, svg: str, csv: str) -> None:
        """Its picture and its table are here."""
        mine = (RELEASES.c.id == id, RELEASES.c.svg == "")
        connection.execute(update(RELEASES).where(*mine).values(svg=svg, csv=csv))
        connection.execute(update(QUESTIONS).where(QUESTIONS.c.id == id).values(worker=None))

    def strike(self) -> int:
        """The public clock strikes: what was done since is shown. How many questions moved."""
        moved = QUESTIONS.c.shown != QUESTIONS.c.state
        if self._database.read(lambda one: one.execute(select(QUESTIONS.c.id).where(moved)).first()) is None:
            return 0
        counted = QUESTIONS.c.state == State.COUNTED.value
        answered = {"state": State.ANSWERED.value, "shown": State.ANSWERED.value}

        def work(connection: Connection) -> int:
            done = connection.execute(update(QUESTIONS).where(counted).values(**answered)).rowcount
            return done + connection.execute(update(QUESTIONS).where(moved).values(shown=QUESTIONS.c.state)).rowcount

        return self._database.write(work)

    def free(self, worker: str | None = None) -> None:
        """Give back what a worker that has ended had claimed; None: what all had."""
        mine = QUESTIONS.c.worker.is_not(None) if worker is None else QUESTIONS.c.worker == worker
        self._database.write(
            lambda connection: connection.execute(update(QUESTIONS).where(mine).values(worker=None)).rowcount
        )

    def _move(self, job: Job, **facts: object) -> None:
        """Say what became of a question that was queued, if the claim still counts."""
        moved = update(QUESTIONS).where(*_mine(job), _in(State.QUEUED)).values(**facts)
        self._database.write(lambda connection: connection.execute(moved).rowcount)


_UNDRAWN = select(RELEASES.c.id).join(QUESTIONS, QUESTIONS.c.id == RELEASES.c.id)


def _is_free(now: int) -> ColumnElement[bool]:
    """Tell whether a question is unclaimed, or its lease has expired."""
    return or_(QUESTIONS.c.worker.is_(None), QUESTIONS.c.claimed < now - STALE)


def _mine(job: Job) -> tuple[ColumnElement[bool], ...]:
    return QUESTIONS.c.id == job.id, QUESTIONS.c.worker == job.worker


def _in(*states: State) -> ColumnElement[bool]:
    return QUESTIONS.c.state.in_([state.value for state in states])


_OTHERS = QUESTIONS.alias("others")
_TAKEN = or_(_OTHERS.c.worker.is_not(None), _OTHERS.c.state.in_([State.COUNTED.value, State.ANSWERED.value]))
_LAST_TAKEN = func.coalesce(
    select(func.max(_OTHERS.c.claimed)).where(_OTHERS.c.project == QUESTIONS.c.project, _TAKEN).scalar_subquery(), 0
)
"""Seconds since 1970 when a worker last began to count a question of the same project, or to draw it."""


def _next(connection: Connection, now: int, states: Sequence[State], *, held: bool = False) -> Row[Any] | None:
    """The next free question; held, it is this transaction's, and who comes at the same time has the next one.

    Questions are charged in the order in which they were asked. They are counted project by project in turns, first
    that of which one was taken longest ago: so who asks many that take long keeps others waiting for one of them.
    """
    for state in states:
        mine = (QUESTIONS.c.state == state.value, _is_free(now))
        turn = (_LAST_TAKEN,) if state is State.PAID else ()
        query = select(QUESTIONS).where(*mine).order_by(*turn, QUESTIONS.c.number).limit(1)
        row = connection.execute(query.with_for_update(skip_locked=True) if held else query).first()
        if row is not None:
            return row
    return None


def _job(row: Row[Any], worker: str) -> Job:
    question, loss = question_from_json(json.loads(row.question)), loss_from(row.epsilon, row.rho)
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

    def __init__(self, archive: Archive, questions: Questions, call: Callable[[], object] = int) -> None:
        self._archive, self._questions, self._call = archive, questions, call

    def take_back(self, who: Visitor, id: str) -> None:
        """Take a question back, if nothing was charged under its request and no worker has begun with it.

        The grants are looked at in the transaction of the chain: whatever charges comes before it, or after.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, there is none, or it waited no more when the
                clock struck last.
        """
        asked = self._waiting(who, id)

        def work(connection: Connection) -> None:
            if not _is_charged(connection, asked):
                told = {"state": State.REFUSED.value, "refusal": TAKEN_BACK}
                connection.execute(_of(id, State.QUEUED).where(QUESTIONS.c.worker.is_(None)).values(**told))

        self._archive.enter(_event(who, "wanted taken back", asked), work)

    def count_again(self, who: Visitor, id: str) -> None:
        """Have a question counted now that was charged and could not be counted, or that a worker has for long.

        Raises:
            ProtocolAborted: as of `take_back`.
        """
        asked = self._waiting(who, id)
        stuck = (QUESTIONS.c.worker == LATER) | (QUESTIONS.c.claimed < int(time.time()) - SLOW)

        def work(connection: Connection) -> None:
            connection.execute(_of(id, State.PAID).where(stuck).values(worker=None))

        self._archive.enter(_event(who, "wanted counted again", asked), work)
        self._call()

    def _waiting(self, who: Visitor, id: str) -> Asked:
        asked = self._questions.get(who, id)
        require(who, Right.KEEP_QUEUE, asked.subject)
        if asked.state in (State.ANSWERED, State.REFUSED):
            raise ProtocolAborted("question", "it does not wait any more", 409)
        return asked


def _of(id: str, state: State) -> Update:
    return update(QUESTIONS).where(QUESTIONS.c.id == id, QUESTIONS.c.state == state.value)


def _is_charged(connection: Connection, asked: Asked) -> bool:
    """Tell whether its request was charged, for this question or for another one that it answers."""
    version = {"name": asked.dataset, "version": asked.version}
    account = connection.execute(select(DATASETS.c.account).filter_by(**version)).scalars().first()
    if account is None:
        raise unknown("dataset")
    return is_there(connection, GRANTS, dataset=account, request=asked.request)


def _event(who: Visitor, action: str, asked: Asked) -> Event:
    return Event(who.name, action, f"{asked.id[:16]}: {asked.purpose}"[:LONGEST_NAME], asked.dataset)
