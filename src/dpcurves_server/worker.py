"""Workers: steps that charge, count and draw, and a process that takes them until its standard input ends."""

from __future__ import annotations

import os
import select
import sys
import warnings
from traceback import extract_tb

from sqlalchemy import Connection

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves import CurveWarning
from dpcurves.curves.result import result_from_json
from dpcurves.display import headless_axes, svg_text
from dpcurves.ledger import BudgetExceeded, Grant
from dpcurves.ledger.account import NoAllowance
from dpcurves.ledger.verification import receipt_of
from dpcurves.session import Session
from dpcurves_parties.serving.messages import disable_core_dumps

from .datasets import Dataset, Datasets
from .projects import NoLongerMember, Projects
from .questions import State, question_id, request_id
from .queue import Job, LeaseLost, Queue, WorkerRole
from .releases import render_csv, render_svg
from .store import Archive
from .visitors import MACHINE

UNREADABLE = "the records can not be read now"


class TamperedQuestion(InvalidArgument):
    """A row of the queue does not match the question that the ledger has: it was altered."""


PUBLIC = (BudgetExceeded, NoAllowance, UnsupportedQuery, TamperedQuestion, NoLongerMember)
"""Errors that were made from public facts alone. All others may speak of what records have, and nobody hears them."""


class Worker:
    """Works on questions, one at a time. It is the part of a server that opens records, and has no ear for people.

    Formal guarantees: a question is charged before a record is read for it, and what was paid is answered: whatever
    fails after the charge is tried again under the same grant, whose stored numbers stay as they are. Who charges alone
    counts nothing: when a question is charged does not depend on how long others are counted.

    Args:
        url: The store.
        worker: What it is called: no other process has this name, before or after.
        does: The parts of the work that are its own.
    """

    def __init__(self, url: str, worker: str, role: WorkerRole = WorkerRole.ALL) -> None:
        self._archive, self._worker, self._does = Archive(url), worker, role
        self._datasets, self._queue = Datasets(self._archive), Queue(self._archive)
        self._projects = Projects(self._archive)
        self._sessions: dict[tuple[str, int], Session] = {}
        self._left: set[str] = set()

    def work_once(self) -> bool:
        """Work on the next question; where there is none, draw what is not drawn yet. Whether there was anything."""
        job = self._queue.lease_next(self._worker, self._does)
        if job is not None:
            self._work_on(job)
        return job is not None or (self._does is not WorkerRole.CHARGES and self._draw_next())

    def _draw_next(self) -> bool:
        """Draw one answer that nobody draws yet, if there is one. One that fails is left to whoever looks at it."""
        waiting = (each for each in self._queue.find_undrawn() if each not in self._left)
        chosen = next((each for each in waiting if self._queue.lease_drawing(self._worker, each)), None)
        if chosen is None:
            return False
        self._left.add(chosen)
        curve = result_from_json(self._queue.load_curve(chosen))
        self._queue.store_drawing(chosen, render_svg(curve), render_csv(curve))
        return True

    def _work_on(self, job: Job) -> None:
        try:
            dataset = self._datasets.get(MACHINE, job.dataset, job.version)
            request = request_id(job.member, dataset, job.question, job.loss)
            if (request, question_id(request, job.question)) != (job.request, job.id):
                raise TamperedQuestion("question", "it is not what was asked under this request; ask again")
            session = self._open_session(dataset)
            about = f"version {job.version}"
            grant = session.charge_for(
                job.member, job.question, job.loss, about, lambda one: self._require_chargeable(one, job)
            )
        except LeaseLost:
            return
        except ArgumentError as error:
            # it was charged, or may have been: again, later
            if job.state is State.PAID or receipt_of(error) is not None:
                self._queue.schedule_retry(job)
                raise
            self._queue.mark_refused(job, str(error) if isinstance(error, PUBLIC) else UNREADABLE)
            return
        self._queue.mark_paid(job)
        if self._does is WorkerRole.CHARGES:
            self._queue.return_lease(job)
        else:
            self._count(job, dataset, session, grant)

    def _require_chargeable(self, connection: Connection, job: Job) -> None:
        """Refuse what may not be charged any more, in the transaction that charges."""
        self._queue.require_lease(connection, job)
        self._projects.require_membership(connection, job.member)

    def _count(self, job: Job, dataset: Dataset, session: Session, grant: Grant) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CurveWarning)  # notes stand on the curve
                curve = session.answer_grant(job.question, grant)
        except Exception:
            # Open the records anew next time: an engine may have been away.
            self._sessions.pop((dataset.name, dataset.version)).close()
            self._queue.schedule_retry(job)
            raise
        self._queue.store_answer(job.id, curve.to_json(), curve.summary_facts())

    def _open_session(self, dataset: Dataset) -> Session:
        key = (dataset.name, dataset.version)
        if key not in self._sessions:
            source, account = self._datasets.source(MACHINE, *key), dataset.account
            unit = account.unit
            self._sessions[key] = Session(
                source.records(), budget=account.cap, adjacency=account.neighbours, ledger=self._archive.ledger,
                unit=unit.column or None, rows_per_unit=unit.records if unit.column and unit.is_bounded else None,
                dataset=account.dataset, units=dataset.units, delimiter=source.delimiter,
            )  # fmt: skip
        return self._sessions[key]


# The process: told by its standard input that there is something to do, and that the server has ended.
PATIENCE = 0.2
"""Seconds between polls, where nobody says that there is something to do: so of what was charged nobody does."""

STORE = frozenset({"ledger", "store"})
"""The name in errors of the server's own database."""
BEHIND = 10
"""Steps of niceness by which workers stand behind who serves."""


def main() -> None:
    """Work until standard input ends. Its first line has the URL of the store: nobody else reads it there."""
    disable_core_dumps()
    url, *given = _read_first_line().rsplit(" ", 2)
    if not url:  # the server has ended before it said for what
        return
    name, does = given[0], WorkerRole(given[1])
    if does is not WorkerRole.CHARGES and hasattr(os, "nice"):
        os.nice(BEHIND)  # where the processor is short, people wait for pages, and for the clock
    counting, is_ready = Worker(url, name, does), does is WorkerRole.CHARGES
    while True:
        while _try_step(counting):
            pass
        if not is_ready:
            svg_text(headless_axes())  # what draws is read while nobody waits for it
            is_ready = True
        if not _wait_for_signal():
            return


def _try_step(counting: Worker) -> bool:
    """Process one more question; of errors that may quote records, type and place alone are logged."""
    try:
        return counting.work_once()
    except Exception as error:
        print(f"dpcurves worker: {format_error(error)}", file=sys.stderr, flush=True)
    return False


def format_error(error: Exception) -> str:
    """The log line of an error: its message where it speaks of the store or of public facts alone."""
    if isinstance(error, PUBLIC) or (isinstance(error, ArgumentError) and error.argument in STORE):
        return str(error)
    return f"{type(error).__name__} in {extract_tb(error.__traceback__)[-1].name}"


def _wait_for_signal() -> bool:
    """Wait until there may be something to do; whether the server is still there."""
    ready, _, _ = select.select([sys.stdin.fileno()], [], [], PATIENCE)
    if not ready:
        return True
    return bool(os.read(sys.stdin.fileno(), 4096))


def _read_first_line() -> str:
    """Read to the end of the line and no further: what follows is waited for."""
    line = b""
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


if __name__ == "__main__":
    main()
