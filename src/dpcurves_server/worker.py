"""Worker process of a verification server: takes questions from the queue, charges their privacy loss, answers them.

The server starts this file as a script (`main`), which runs until its standard input closes. A `Worker` does for each
question:

    1. lease it (reserve it for this process), and check that its row matches its request id
    2. charge it, in the transaction that checks the lease and the author's membership in the project
    3. open the records, count, add noise, and store the answer
    4. draw the plot and the table

A failure before the charge refuses the question with a reason from public facts; a failure after it is tried again
under the same grant (receipt of the charge). Errors that may quote records are logged by type and function only.

Formal guarantees: a question is charged before its records are read, and a repeated attempt reuses stored noisy
numbers, so an answer never costs more than its charge: see `Worker`.
"""

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
from dpcurves.foreign_text import escape_for_terminal
from dpcurves.ledger import BudgetExceeded, Grant
from dpcurves.ledger.account import NoAllowance
from dpcurves.ledger.verification import receipt_of
from dpcurves.session import Session
from dpcurves_parties.serving.messages import disable_core_dumps

from .datasets import LOCATION_ARGUMENTS, Dataset, Datasets
from .principals import MACHINE
from .projects import NoLongerMember, Projects
from .questions import State, question_id, request_id
from .queue import Job, LeaseLost, Queue, WorkerRole
from .releases import render_csv, render_svg
from .store import Archive

# Reasons of refusals that hide the text of errors of the records.
UNREADABLE_RECORDS = "the records cannot be read now, and nothing was charged; ask again later"
"""Refusal of a question, before it is charged, if the records cannot be read."""
SCHEMA_MISMATCH = (
    "the records do not have the columns, types or number of units that the question and the public schema state, and "
    "nothing was charged; tell the steward of the dataset"
)
"""Refusal of a question, before it is charged, if the records differ from the public schema; it does not say how, as
that may quote records."""


class TamperedQuestion(InvalidArgument):
    """Error: a row of the queue was altered, as it does not match its request id."""


PUBLIC_ERRORS = (BudgetExceeded, NoAllowance, UnsupportedQuery, TamperedQuestion, NoLongerMember)
"""Errors whose messages use public facts only, and are shown. Other messages may quote records, and are never shown."""


class Worker:
    """Worker that processes questions, one at a time. Only workers open records, and they accept no network requests.

    Formal guarantees: a question is charged before its records are read, and a charged question is answered: a failure
    after the charge is retried under the same grant, whose stored noisy numbers are reused. A worker of role `CHARGES`
    counts nothing, so the time of a charge does not depend on counting times.

    Args:
        url: The database.
        worker: A name that no other process ever has.
        role: The transitions that it performs.
    """

    def __init__(self, url: str, worker: str, role: WorkerRole = WorkerRole.ALL) -> None:
        self._archive = Archive(url)
        self._worker = worker
        self._does = role
        self._datasets = Datasets(self._archive)
        self._queue = Queue(self._archive)
        self._projects = Projects(self._archive)
        self._sessions: dict[tuple[str, int], Session] = {}
        self._left: set[str] = set()

    def work_once(self) -> bool:
        """Process the next question, or draw an answer if none waits.

        Returns:
            False if there was nothing to do.

        Raises:
            Exception: An error after the charge, or of the database; a retry is scheduled where one is needed.
        """
        job = self._queue.lease_next(self._worker, self._does)
        if job is not None:
            self._work_on(job)
        return job is not None or (self._does is not WorkerRole.CHARGES and self._draw_next())

    def _draw_next(self) -> bool:
        """Draw and store the plot and table of one answer that has none.

        A drawing that fails is left to the serving process.

        Returns:
            False if all answers are drawn, or leased by other workers.
        """
        waiting = (id for id in self._queue.find_undrawn() if id not in self._left)
        chosen = next((id for id in waiting if self._queue.lease_drawing(self._worker, id)), None)
        if chosen is None:
            return False
        self._left.add(chosen)
        curve = result_from_json(self._queue.load_curve(chosen))
        self._queue.store_drawing(chosen, render_svg(curve), render_csv(curve))
        return True

    def _work_on(self, job: Job) -> None:
        """Charge a leased question and, unless this worker only charges, count and answer it.

        After an error before the charge the question is refused; after the charge a retry is scheduled. A lost lease
        ends the work without a change.

        Args:
            job: The question, with its project, author, dataset and loss.

        Raises:
            ArgumentError: An error after the charge; the retry is scheduled already.
        """
        try:
            dataset = self._datasets.get(MACHINE, job.dataset, job.version)
            request = request_id(job.member, dataset, job.question, job.loss)
            if (request, question_id(request, job.question)) != (job.request, job.id):
                raise TamperedQuestion("question", "the stored question does not match its request; ask again")
            session = self._open_session(dataset)
            subject = f"version {job.version}"
            grant = session.charge_for(
                job.member,
                job.question,
                job.loss,
                subject,
                lambda connection: self._require_chargeable(connection, job),
            )
        except LeaseLost:
            return
        except ArgumentError as error:
            # the charge was made, or may have been: retry later
            if job.state is State.PAID or receipt_of(error) is not None:
                self._queue.schedule_retry(job)
                raise
            self._queue.mark_refused(job, _describe_refusal(error))
            return
        self._queue.mark_paid(job)
        if self._does is WorkerRole.CHARGES:
            self._queue.return_lease(job)
        else:
            self._count(job, dataset, session, grant)

    def _require_chargeable(self, connection: Connection, job: Job) -> None:
        """Check, within the transaction that charges, that the lease holds and the author is still in the project.

        Args:
            connection: Connection in the transaction of the charge.
            job: Leased question with the name of its worker and its author.

        Raises:
            LeaseLost: Another worker has the question.
            NoLongerMember: The author has left the project.
        """
        self._queue.require_lease(connection, job)
        self._projects.require_membership(connection, job.member)

    def _count(self, job: Job, dataset: Dataset, session: Session, grant: Grant) -> None:
        """Answer a charged question and store the answer; schedule a retry after any error.

        Args:
            job: The leased question.
            dataset: The version of its dataset.
            session: Session with the records.
            grant: Receipt of the charge, under which noise was or will be drawn once.

        Raises:
            Exception: The error of the records or of the database.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CurveWarning)  # the curve carries its notes
                curve = session.answer_grant(job.question, grant)
        except Exception:
            # Reopen the records next time: an engine may have been down.
            self._sessions.pop((dataset.name, dataset.version)).close()
            self._queue.schedule_retry(job)
            raise
        self._queue.store_answer(job.id, curve.to_json(), curve.summary_facts())

    def _open_session(self, dataset: Dataset) -> Session:
        """Return the session with the records of a version of a dataset; it stays open for further questions.

        Args:
            dataset: Version of a data set.
        """
        key = (dataset.name, dataset.version)
        if key not in self._sessions:
            source = self._datasets.source(MACHINE, *key)
            account = dataset.account
            unit = account.unit
            self._sessions[key] = Session(
                source.records(), budget=account.cap, adjacency=account.neighbours, ledger=self._archive.ledger,
                unit=unit.column or None, rows_per_unit=unit.records if unit.column and unit.is_bounded else None,
                dataset=account.dataset, units=dataset.units, delimiter=source.delimiter,
            )  # fmt: skip
        return self._sessions[key]


def _describe_refusal(error: ArgumentError) -> str:
    """Return why a question was refused before its charge, without anything that the records may hold.

    Formal guarantees: the reason depends on public facts and on the schema of the records, and on no record.

    Args:
        error: Refusal of the question, before its charge.
    """
    if isinstance(error, PUBLIC_ERRORS):
        return str(error)
    return UNREADABLE_RECORDS if error.argument in LOCATION_ARGUMENTS else SCHEMA_MISMATCH


# The worker process. A line on standard input wakes it up; when standard input closes, the server has ended.
POLL_SECONDS = 0.2
"""Seconds between two looks for charged questions, about which the server sends no signal."""

STORE_ARGUMENTS = frozenset({"ledger", "store"})
"""Arguments of errors about the server's own database: they quote no records, so the log has their messages."""


def main() -> None:
    """Process queued questions, or draw pictures of answers, until standard input closes.

    The first line of standard input holds the secret database URL, which other processes must not see, the name of the
    worker, and its role, which decides the work.
    """
    disable_core_dumps()
    url, *arguments = _read_first_line().rsplit(" ", 2)
    if not url:  # the server ended first
        return
    name = arguments[0]
    role = WorkerRole(arguments[1])
    if role is not WorkerRole.CHARGES and hasattr(os, "nice"):
        os.nice(10)  # the serving process has priority
    worker = Worker(url, name, role)
    is_ready = role is WorkerRole.CHARGES
    while True:
        while _try_step(worker):
            pass
        if not is_ready:
            svg_text(headless_axes())  # import the plotting library while idle
            is_ready = True
        if not _wait_for_signal():
            return


def _try_step(worker: Worker) -> bool:
    """Process one question; log an error, by type and function only if its message may quote records.

    Args:
        worker: Worker that takes the next question of the queue.

    Returns:
        False if there was nothing to do, or after an error.
    """
    try:
        return worker.work_once()
    except Exception as error:
        print(f"dpcurves worker: {escape_for_terminal(format_error(error))}", file=sys.stderr, flush=True)
    return False


def format_error(error: Exception) -> str:
    """Return the log line of an error: its message if that quotes no records, else its type and function."""
    if isinstance(error, PUBLIC_ERRORS) or (isinstance(error, ArgumentError) and error.argument in STORE_ARGUMENTS):
        return str(error)
    return f"{type(error).__name__} in {extract_tb(error.__traceback__)[-1].name}"


def _wait_for_signal() -> bool:
    """Wait for a wake-up signal on standard input, at most `POLL_SECONDS` seconds.

    Returns:
        False if standard input has closed, because the server has ended.
    """
    ready, _, _ = select.select([sys.stdin.fileno()], [], [], POLL_SECONDS)
    if not ready:
        return True
    return bool(os.read(sys.stdin.fileno(), 4096))


def _read_first_line() -> str:
    """Return the first line of standard input, without its end. It is read byte by byte: later bytes are signals."""
    line = b""
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


if __name__ == "__main__":
    main()
