"""Persistent state of a verification server: its tables in the database of the ledger, and its audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import sqlalchemy as sql
from sqlalchemy import BigInteger, CheckConstraint, Column, Connection, Table, Text, select

from dpcurves.ledger import Event, EventEntry, Ledger, VerificationResult
from dpcurves.ledger.chain import EVENTS
from dpcurves_parties.serving.database import (
    Result,
    Transactions,
    Work,
    bytes_columns,
    integer_column,
    integer_key_columns,
    text_columns,
    text_key_columns,
)

from .visitors import NOTHING, Right, Subject, Visitor, require

# The tables in which a verification server keeps who may do what, what was asked, and what was released.
#
# Nothing of a record stands in them. Passwords, sessions and tokens stand as hashes.
METADATA = sql.MetaData()
# Passwords are hashed by Argon2id.
PEOPLE = Table(
    "dpcurves_people", METADATA, *text_key_columns("name"), *text_columns("password"), Column("locked", sql.Boolean, nullable=False),
    *text_columns("made_at"),
)  # fmt: skip
# The dataset is that of a steward; else it is empty.
ROLES = Table("dpcurves_roles", METADATA, *text_key_columns("person", "role", "dataset"))
# As whom another authority knows people: what it calls them says nothing of what another one does.
SUBJECTS = Table("dpcurves_subjects", METADATA, *text_key_columns("issuer", "subject"), *text_columns("person"))
# Sessions and tokens end so many seconds after the beginning of 1970.
SESSIONS = Table(
    "dpcurves_sessions", METADATA, *text_key_columns("digest"), *text_columns("person", "csrf", "made_at"), integer_column("ends"),
    sql.Index("dpcurves_sessions_of_person", "person"),
)  # fmt: skip
TOKENS = Table(
    "dpcurves_tokens", METADATA, *text_key_columns("digest"), Column("id", Text, nullable=False, unique=True),
    *text_columns("person", "project", "label", "made_at"), integer_column("ends"),
    sql.Index("dpcurves_tokens_of_person", "person"),
)  # fmt: skip
# The account is one of the ledger; the source (JSON) says where the records lie, and is shown to nobody; the columns
# (JSON) are the public schema.
DATASETS = Table(
    "dpcurves_datasets", METADATA, *text_key_columns("name"), *integer_key_columns("version"),
    *text_columns("account", "relation", "source", "columns"), Column("units", BigInteger), *text_columns("description", "made_at"),
)  # fmt: skip
PROJECTS = Table(
    "dpcurves_projects", METADATA, *text_key_columns("name"), *text_columns("dataset", "description", "made_at")
)
MEMBERS = Table("dpcurves_members", METADATA, *text_key_columns("project", "person"))
MODELS = Table(
    "dpcurves_models",
    METADATA,
    *text_key_columns("project", "digest"),
    *text_columns("name", "model", "person", "made_at"),
)
# The queue. What stands in `state` is what was done; everybody is shown `shown`, which follows on the public clock. The
# id is that of the question, and of its release; the ledger has it under `request`, which may pay for several
# questions; `same` is what questions have in common that one release answers.
QUESTIONS = Table(
    "dpcurves_questions", METADATA, Column("number", sql.Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True), *text_columns("request", "project", "dataset"), integer_column("version"),
    *text_columns("person", "question", "purpose", "same"), Column("epsilon", Text), Column("rho", Text),
    *text_columns("asked_at", "state", "shown"), Column("refusal", Text), Column("worker", Text),
    Column("claimed", BigInteger), integer_column("tries"),  # claimed: seconds since 1970
    CheckConstraint("state IN ('queued', 'paid', 'counted', 'answered', 'refused')", name="dpcurves_known_state"),
    sql.Index("dpcurves_questions_by_state", "state", "number"),
    sql.Index("dpcurves_questions_of_project", "project", "number"),
)  # fmt: skip
# The id is that of the question; picture and table are empty as long as they are not drawn; the facts (JSON) are those
# of its HTML summary.
RELEASES = Table(
    "dpcurves_releases", METADATA, *text_key_columns("id"), *text_columns("curve", "svg", "csv", "facts"),
    Column("published_at", Text), Column("published_by", Text),
)  # fmt: skip
# The statement says how private the table is, which is packed as Parquet.
SYNTHETIC = Table(
    "dpcurves_synthetic_tables", METADATA, *text_key_columns("dataset"), *integer_key_columns("version"), *text_columns("statement"),
    *bytes_columns("packed"), *text_columns("made_at"),
)  # fmt: skip


def has_row(connection: Connection, table: Table, **facts: object) -> bool:
    """Tell whether a table has a row with these values."""
    return connection.execute(select(sql.literal(1)).select_from(table).filter_by(**facts)).first() is not None


def format_now() -> str:
    """The time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Transactions):
    """The server's tables, and its ledger.

    Attributes:
        ledger: What was spent, and what was done.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.open_persistent(url)
        super().__init__(self.ledger.database, METADATA)

    def run_logged(self, event: Event, work: Work[Result]) -> Result:
        """Do all of `work` and enter who did it, or neither."""
        return self.run_transaction(lambda both: self.ledger.record_event(event, both), work)


MOST_AT_ONCE = 1000


class AuditLog:
    """Reads the log."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def events(
        self, who: Visitor, after: int = 0, limit: int = MOST_AT_ONCE, dataset: str | None = None
    ) -> tuple[EventEntry, ...]:
        """The audit log in order of time: whole for an auditor; for a steward the events of the own datasets.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        if dataset is None:
            require(who, Right.AUDIT, NOTHING)
        else:
            require(who, Right.SEE_LOG, Subject(dataset))
        return self._archive.ledger.events(after, min(max(limit, 1), MOST_AT_ONCE), dataset)

    def latest_events(self, who: Visitor, limit: int, dataset: str) -> tuple[EventEntry, ...]:
        """The last events of a dataset, at most so many, in order of time.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        require(who, Right.SEE_LOG, Subject(dataset))
        newest = select(EVENTS.c.entry).where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.entry.desc()).limit(limit)
        entries = self._archive.read_snapshot(lambda connection: connection.execute(newest).scalars().all())
        return self.events(who, min(entries, default=1) - 1, limit, dataset)

    def iterate_lines(self, who: Visitor) -> Iterator[str]:
        """The whole log, each event as one line of JSON. Raises `ProtocolError`: it is not theirs to see."""
        after = 0
        while events := self.events(who, after):
            for each in events:
                yield json.dumps(event_to_json(each))
            after = events[-1].entry

    def verify(self, who: Visitor, head: str | None = None) -> VerificationResult:
        """Recompute every seal of the chain.

        Raises:
            ProtocolAborted: it is not theirs to do.
            ValueError: something was changed without the key. Names the first row.
        """
        require(who, Right.AUDIT, NOTHING)
        return self._archive.ledger.verify(head)


def event_to_json(entered: EventEntry) -> dict[str, object]:
    """An event as plain objects."""
    event = entered.event
    return {
        "entry": entered.entry, "when": entered.when, "actor": event.actor, "action": event.action,
        "subject": event.subject, "dataset": event.dataset,
    }  # fmt: skip
