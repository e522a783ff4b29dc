"""Persistent state of a verification server: its tables in the database of the ledger, and its audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import sqlalchemy as sql
from sqlalchemy import BigInteger, CheckConstraint, Column, Connection, Table, Text, select

from dpcurves.ledger import Entered, Event, Ledger, Verified
from dpcurves.ledger.chain import EVENTS
from dpcurves_parties.serving.database import Result, Transactions, Work, keys, number, numbered, octets, texts

from .visitors import NOTHING, Right, Subject, Visitor, require

# The tables in which a verification server keeps who may do what, what was asked, and what was released.
#
# Nothing of a record stands in them. Passwords, sessions and tokens stand as hashes.
METADATA = sql.MetaData()
# Passwords are hashed by Argon2id.
PEOPLE = Table(
    "dpcurves_people", METADATA, *keys("name"), *texts("password"), Column("locked", sql.Boolean, nullable=False),
    *texts("made_at"),
)  # fmt: skip
# The dataset is that of a steward; else it is empty.
ROLES = Table("dpcurves_roles", METADATA, *keys("person", "role", "dataset"))
# As whom another authority knows people: what it calls them says nothing of what another one does.
SUBJECTS = Table("dpcurves_subjects", METADATA, *keys("issuer", "subject"), *texts("person"))
# Sessions and tokens end so many seconds after the beginning of 1970.
SESSIONS = Table(
    "dpcurves_sessions", METADATA, *keys("digest"), *texts("person", "csrf", "made_at"), number("ends"),
    sql.Index("dpcurves_sessions_of_person", "person"),
)  # fmt: skip
TOKENS = Table(
    "dpcurves_tokens", METADATA, *keys("digest"), Column("id", Text, nullable=False, unique=True),
    *texts("person", "project", "label", "made_at"), number("ends"),
    sql.Index("dpcurves_tokens_of_person", "person"),
)  # fmt: skip
# The account is one of the ledger; the source (JSON) says where the records lie, and is shown to nobody; the columns
# (JSON) are the public schema.
DATASETS = Table(
    "dpcurves_datasets", METADATA, *keys("name"), *numbered("version"),
    *texts("account", "relation", "source", "columns"), Column("units", BigInteger), *texts("description", "made_at"),
)  # fmt: skip
PROJECTS = Table("dpcurves_projects", METADATA, *keys("name"), *texts("dataset", "description", "made_at"))
MEMBERS = Table("dpcurves_members", METADATA, *keys("project", "person"))
MODELS = Table("dpcurves_models", METADATA, *keys("project", "digest"), *texts("name", "model", "person", "made_at"))
# The queue. What stands in `state` is what was done; everybody is shown `shown`, which follows on the public clock. The
# id is that of the question, and of its release; the ledger has it under `request`, which may pay for several
# questions; `same` is what questions have in common that one release answers.
QUESTIONS = Table(
    "dpcurves_questions", METADATA, Column("number", sql.Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True), *texts("request", "project", "dataset"), number("version"),
    *texts("person", "question", "purpose", "same"), Column("epsilon", Text), Column("rho", Text),
    *texts("asked_at", "state", "shown"), Column("refusal", Text), Column("worker", Text),
    Column("claimed", BigInteger), number("tries"),  # claimed: seconds since 1970
    CheckConstraint("state IN ('queued', 'paid', 'counted', 'answered', 'refused')", name="dpcurves_known_state"),
    sql.Index("dpcurves_questions_by_state", "state", "number"),
    sql.Index("dpcurves_questions_of_project", "project", "number"),
)  # fmt: skip
# The id is that of the question; picture and table are empty as long as they are not drawn; the facts (JSON) are those
# of its HTML summary.
RELEASES = Table(
    "dpcurves_releases", METADATA, *keys("id"), *texts("curve", "svg", "csv", "facts"),
    Column("published_at", Text), Column("published_by", Text),
)  # fmt: skip
# The statement says how private the table is, which is packed as Parquet.
SYNTHETIC = Table(
    "dpcurves_synthetic_tables", METADATA, *keys("dataset"), *numbered("version"), *texts("statement"),
    *octets("packed"), *texts("made_at"),
)  # fmt: skip


def is_there(connection: Connection, table: Table, **facts: object) -> bool:
    """Tell whether a table has a row with these values."""
    return connection.execute(select(sql.literal(1)).select_from(table).filter_by(**facts)).first() is not None


def now() -> str:
    """The time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Transactions):
    """The server's tables, and its ledger.

    Attributes:
        ledger: What was spent, and what was done.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.kept(url)
        super().__init__(self.ledger.database, METADATA)

    def enter(self, event: Event, work: Work[Result]) -> Result:
        """Do all of `work` and enter who did it, or neither."""
        return self.told(lambda both: self.ledger.record(event, both), work)


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
