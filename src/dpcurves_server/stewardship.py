"""Actions of a steward on queued questions: withdraw one before it is charged, or have it counted again.

What is done is seen when the public clock strikes, and whoever does it is told the same before, whatever became of it:
else one could learn when a worker is done, which may tell of rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Connection, Update, select, update

from dpcurves.ledger import Event
from dpcurves.ledger.schema import GRANTS
from dpcurves.ledger.stored_text import LONGEST_NAME
from dpcurves_parties.serving.errors import ProtocolAborted

from .archive import Archive
from .asked import Asked, State
from .questions import Questions
from .queue import LATER
from .tables import DATASETS, QUESTIONS
from .visitors import Right, Visitor, require, unknown

TAKEN_BACK = "the steward of the dataset took it back before it was charged"
SLOW = 60
"""Seconds after which a worker may have been stopped that has what was paid."""


class Stewardship:
    """Acts on questions of a dataset.

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
    mine = select(GRANTS.c.entry).filter_by(dataset=account, request=asked.request)
    return connection.execute(mine).first() is not None


def _event(who: Visitor, action: str, asked: Asked) -> Event:
    return Event(who.name, action, f"{asked.id[:16]}: {asked.purpose}"[:LONGEST_NAME], asked.dataset)
