"""SECRET. The tables in which one server keeps its tasks and their reports, and where a task stands."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import sqlalchemy as sql
from sqlalchemy import Column, Connection, Table, select, update

METADATA = sql.MetaData()
TASKS = Table(
    "dpcurves_shared_tasks",
    METADATA,
    Column("task", sql.Text, primary_key=True),
    Column("state", sql.Text, nullable=False),
    Column("reports", sql.BigInteger, nullable=False),  # how many are stored: to count them takes long
    Column("attempt", sql.Text),  # to close the task, that may still end in a decision
    Column("set", sql.Text),
    Column("commitments", sql.Text),  # of both servers, with a space between them
    Column("dropped", sql.LargeBinary),  # a bit for each report that counts, in the order of ids; then their hash
)
# SECRET: one share of every report. The other server's share added, every record is known.
REPORTS = Table(
    "dpcurves_reports",
    METADATA,
    Column("number", sql.Integer, primary_key=True, autoincrement=True),
    Column("task", sql.Text, nullable=False),
    Column("id", sql.LargeBinary, nullable=False),
    Column("owner", sql.BigInteger, nullable=False),
    Column("digest", sql.LargeBinary, nullable=False),
    Column("whole", sql.LargeBinary, nullable=False),
    Column("share", sql.LargeBinary, nullable=False),
    sql.Index("dpcurves_one_report_of_an_id", "task", "id", unique=True),
    sql.Index("dpcurves_reports_of_an_owner", "task", "owner"),
)


# What a ticket was used for: one contribution, of which so many reports are stored.
CONTRIBUTIONS = Table(
    "dpcurves_contributions",
    METADATA,
    Column("task", sql.Text, primary_key=True),
    Column("owner", sql.BigInteger, primary_key=True, autoincrement=False),
    Column("contribution", sql.LargeBinary, nullable=False),
    Column("reports", sql.BigInteger, nullable=False),
)


class TaskState(Enum):
    """State of a task at a server."""

    OPEN = "open"
    FROZEN = "frozen"
    CLOSED = "closed"


class Standing(NamedTuple):
    """State of a task, with its set of reports.

    Attributes:
        state: Open for reports; frozen: none come until an attempt to close ends; closed: it is decided which count.
        reports: Number of reports that count, once closed; number of all reports, before.
        set: The hash of the reports that count, once closed.
        commitments: The commitments of both servers to their noise, once closed.
        attempt: To close the task, that may still end in a decision.
    """

    state: TaskState
    reports: int
    set: str | None = None
    commitments: tuple[str, str] | None = None
    attempt: str | None = None

    @property
    def named(self) -> dict[str, object]:
        """Plain objects: which reports count, and the noise of both servers."""
        return {"set": self.set, "reports": self.reports, "commitments": list(self.commitments or ())}


def lock(connection: Connection, task: str) -> None:
    """Lock the task's row: no other transaction writes it until this one ends. (SQLite has one writer anyway.)"""
    connection.execute(select(TASKS.c.task).where(TASKS.c.task == task).with_for_update()).one()


def standing_of(connection: Connection, task: str) -> Standing:
    """State of a task."""
    columns = TASKS.c.state, TASKS.c.reports, TASKS.c.set, TASKS.c.commitments, TASKS.c.attempt
    row = connection.execute(select(*columns).where(TASKS.c.task == task)).one()
    return Standing(TaskState(row.state), row.reports, row.set, _pair(row.commitments), row.attempt)


def _pair(written: str | None) -> tuple[str, str] | None:
    if written is None:
        return None
    first, second = written.split(" ")
    return first, second


def write_of(connection: Connection, task: str, **facts: object) -> None:
    """Write facts of a task that is locked."""
    connection.execute(update(TASKS).where(TASKS.c.task == task).values(**facts))
