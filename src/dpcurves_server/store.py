"""Persistent state of a verification server: its tables in the database of the ledger, and its audit log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import sqlalchemy as sql
from sqlalchemy import BigInteger, CheckConstraint, Column, Connection, Table, Text, select

from dpcurves.arguments import Refused
from dpcurves.ledger import Entered, Event, Ledger, Verified
from dpcurves.ledger.database import EVENTS, Database, make_tables
from dpcurves_parties.serving.messages import ProtocolAborted, Trouble

from .visitors import NOTHING, Right, Subject, Visitor, require

# The tables in which a verification server keeps who may do what, what was asked, and what was released.
#
# Nothing of a record stands in them. Passwords, sessions and tokens stand as hashes.
METADATA = sql.MetaData()

PEOPLE = Table(
    "dpcurves_people",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("password", Text, nullable=False),  # by Argon2id
    Column("locked", sql.Boolean, nullable=False),
    Column("made_at", Text, nullable=False),
)

ROLES = Table(
    "dpcurves_roles",
    METADATA,
    Column("person", Text, primary_key=True),
    Column("role", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),  # of a steward; else empty
)

# As whom another authority knows people: what it calls them says nothing of what another one does.
SUBJECTS = Table(
    "dpcurves_subjects",
    METADATA,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("person", Text, nullable=False),
)

SESSIONS = Table(
    "dpcurves_sessions",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("csrf", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("ends", BigInteger, nullable=False),  # seconds since 1970
    sql.Index("dpcurves_sessions_of_person", "person"),
)

TOKENS = Table(
    "dpcurves_tokens",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("person", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("ends", BigInteger, nullable=False),
    sql.Index("dpcurves_tokens_of_person", "person"),
)

DATASETS = Table(
    "dpcurves_datasets",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("account", Text, nullable=False),  # in the ledger
    Column("relation", Text, nullable=False),
    Column("source", Text, nullable=False),  # JSON: where the records lie; shown to nobody
    Column("columns", Text, nullable=False),  # JSON: the public schema
    Column("units", BigInteger),
    Column("description", Text, nullable=False),
    Column("made_at", Text, nullable=False),
)

PROJECTS = Table(
    "dpcurves_projects",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("made_at", Text, nullable=False),
)

MEMBERS = Table(
    "dpcurves_members",
    METADATA,
    Column("project", Text, primary_key=True),
    Column("person", Text, primary_key=True),
)

MODELS = Table(
    "dpcurves_models",
    METADATA,
    Column("project", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("made_at", Text, nullable=False),
)

# The queue. What stands in `state` is what was done; everybody is shown `shown`, which follows on the public clock.
QUESTIONS = Table(
    "dpcurves_questions",
    METADATA,
    Column("number", sql.Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),  # of the question; of its release too
    Column("request", Text, nullable=False),  # under which the ledger has it: it may pay for several questions
    Column("project", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("person", Text, nullable=False),
    Column("question", Text, nullable=False),  # JSON
    Column("purpose", Text, nullable=False),
    Column("same", Text, nullable=False),  # what questions have in common that one release answers
    Column("epsilon", Text),
    Column("rho", Text),
    Column("asked_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("shown", Text, nullable=False),
    Column("refusal", Text),
    Column("worker", Text),
    Column("claimed", BigInteger),  # seconds since 1970
    Column("tries", BigInteger, nullable=False),
    CheckConstraint("state IN ('queued', 'paid', 'counted', 'answered', 'refused')", name="dpcurves_known_state"),
    sql.Index("dpcurves_questions_by_state", "state", "number"),
    sql.Index("dpcurves_questions_of_project", "project", "number"),
)  # fmt: skip

RELEASES = Table(
    "dpcurves_releases",
    METADATA,
    Column("id", Text, primary_key=True),  # that of the question
    Column("curve", Text, nullable=False),  # JSON, as published
    Column("svg", Text, nullable=False),  # empty, as csv is: not drawn yet
    Column("csv", Text, nullable=False),
    Column("facts", Text, nullable=False),  # JSON: what its HTML summary says
    Column("published_at", Text),
    Column("published_by", Text),
)

SYNTHETIC = Table(
    "dpcurves_synthetic_tables",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("statement", Text, nullable=False),  # how private it is
    Column("packed", sql.LargeBinary, nullable=False),  # Parquet
    Column("made_at", Text, nullable=False),
)


Result = TypeVar("Result")
Work = Callable[[Connection], Result]


class Store:
    """Transactions on the server's tables, each of them whole or not at all.

    Args:
        database: That of the ledger, whose tables are there already.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.write(partial(make_tables, tables=METADATA))

    def read(self, work: Work[Result]) -> Result:
        """The result of `work` on a consistent snapshot of the database."""
        return told(self._database.read, work)

    def write(self, work: Work[Result]) -> Result:
        """Do all of `work`, durably, or nothing."""
        return told(self._database.write, work)


def told(way: Callable[[Work[Result]], Result], work: Work[Result]) -> Result:
    """Do `work` in a transaction; of a database that fails, people hear that it does, and its operator how.

    Raises:
        ProtocolAborted: as of `work`; or the database fails.
    """
    try:
        return way(work)
    except ProtocolAborted:
        raise
    except Refused as error:
        if error.argument != "ledger":
            raise
        raise Trouble.of_database("", error) from None


def now() -> str:
    """The time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Store):
    """The server's tables, and its ledger.

    Attributes:
        ledger: What was spent, and what was done.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.kept(url)
        super().__init__(self.ledger.database)

    def enter(self, event: Event, work: Work[Result]) -> Result:
        """Do all of `work` and enter who did it, or neither."""
        return told(lambda both: self.ledger.record(event, both), work)


MOST_AT_ONCE = 1000


class Audit:
    """Reads the log."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def events(
        self, who: Visitor, after: int = 0, most: int = MOST_AT_ONCE, dataset: str | None = None
    ) -> tuple[Entered, ...]:
        """The audit log in order of time: whole for an auditor; for a steward the events of the own datasets.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        if dataset is None:
            require(who, Right.AUDIT, NOTHING)
        else:
            require(who, Right.SEE_LOG, Subject(dataset))
        return self._archive.ledger.events(after, min(max(most, 1), MOST_AT_ONCE), dataset)

    def latest(self, who: Visitor, most: int, dataset: str) -> tuple[Entered, ...]:
        """The last events of a dataset, at most so many, in order of time.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        require(who, Right.SEE_LOG, Subject(dataset))
        newest = select(EVENTS.c.entry).where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.entry.desc()).limit(most)
        entries = self._archive.read(lambda connection: connection.execute(newest).scalars().all())
        return self.events(who, min(entries, default=1) - 1, most, dataset)

    def lines(self, who: Visitor) -> Iterator[str]:
        """The whole log, each event as one line of JSON. Raises `ProtocolAborted`: it is not theirs to see."""
        after = 0
        while events := self.events(who, after):
            for each in events:
                yield json.dumps(line_of(each))
            after = events[-1].entry

    def verify(self, who: Visitor, head: str | None = None) -> Verified:
        """Recompute every seal of the chain.

        Raises:
            ProtocolAborted: it is not theirs to do.
            ValueError: something was changed without the key. Names the first row.
        """
        require(who, Right.AUDIT, NOTHING)
        return self._archive.ledger.verify(head)


def line_of(entered: Entered) -> dict[str, object]:
    """An event as plain objects."""
    event = entered.event
    return {
        "entry": entered.entry, "when": entered.when, "actor": event.actor, "action": event.action,
        "subject": event.subject, "dataset": event.dataset,
    }  # fmt: skip
