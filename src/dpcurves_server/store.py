"""Persistent state of a verification server: its tables in the database of the ledger, and its audit log.

    people, roles, subjects, sessions, tokens     who signs in, by password or by an identity provider
    datasets, projects, members, models           what is asked about, and by whom
    questions, releases, synthetic tables         what was asked, answered, proposed and confirmed

All lie in the database of the ledger, so that a charge and a change of state share one transaction.
`Archive.run_logged` writes a change with its audit event; `AuditLog` reads the sealed log.
"""

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

# Tables of a verification server: accounts, roles, questions and releases.
#
# They hold no records. Passwords, session cookies and tokens are stored as hashes.
METADATA = sql.MetaData()
# Passwords are hashed by Argon2id.
PEOPLE = Table(
    "dpcurves_people", METADATA, *text_key_columns("name"), *text_columns("password"),
    Column("locked", sql.Boolean, nullable=False), *text_columns("made_at"),
)  # fmt: skip
# `dataset` is set for stewards, and empty for other roles.
ROLES = Table("dpcurves_roles", METADATA, *text_key_columns("person", "role", "dataset"))
# Subject identifiers, one per identity provider: they are unique within an issuer only.
SUBJECTS = Table("dpcurves_subjects", METADATA, *text_key_columns("issuer", "subject"), *text_columns("person"))
# `ends` of sessions and tokens is in seconds since 1970.
SESSIONS = Table(
    "dpcurves_sessions", METADATA, *text_key_columns("digest"), *text_columns("person", "csrf", "made_at"),
    integer_column("ends"),
    sql.Index("dpcurves_sessions_of_person", "person"),
)  # fmt: skip
TOKENS = Table(
    "dpcurves_tokens", METADATA, *text_key_columns("digest"), Column("id", Text, nullable=False, unique=True),
    *text_columns("person", "project", "label", "made_at"), integer_column("ends"),
    sql.Index("dpcurves_tokens_of_person", "person"),
)  # fmt: skip
# `account` names an account of the ledger; `source` (JSON) is the secret location of the records; `columns` (JSON) is
# the public schema.
DATASETS = Table(
    "dpcurves_datasets", METADATA, *text_key_columns("name"), *integer_key_columns("version"),
    *text_columns("account", "relation", "source", "columns"), Column("units", BigInteger),
    *text_columns("description", "made_at"),
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
# The queue. `state` is internal; `shown` is published on a fixed schedule, so that it leaks no timing. A question and
# its release have the same `id`. The ledger charges `request`, which may pay for several questions. Questions that the
# same release answers have equal `same`.
QUESTIONS = Table(
    "dpcurves_questions", METADATA, Column("number", sql.Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True), *text_columns("request", "project", "dataset"),
    integer_column("version"),
    *text_columns("person", "question", "purpose", "same"), Column("epsilon", Text), Column("rho", Text),
    *text_columns("asked_at", "state", "shown"), Column("refusal", Text), Column("worker", Text),
    Column("claimed", BigInteger), integer_column("tries"),  # claimed: seconds since 1970
    Column("cells", BigInteger, nullable=False),
    CheckConstraint("state IN ('queued', 'paid', 'counted', 'answered', 'refused')", name="dpcurves_known_state"),
    sql.Index("dpcurves_questions_by_state", "state", "number"),
    sql.Index("dpcurves_questions_of_project", "project", "number"),
)  # fmt: skip
# `id` is the question's; `svg` and `csv` are empty until a worker has drawn them; `facts` (JSON) feed the HTML summary.
RELEASES = Table(
    "dpcurves_releases", METADATA, *text_key_columns("id"), *text_columns("curve", "svg", "csv", "facts"),
    Column("published_at", Text), Column("published_by", Text),
)  # fmt: skip
# `statement` is the privacy statement of the table; `packed` is the table as Parquet.
SYNTHETIC = Table(
    "dpcurves_synthetic_tables", METADATA, *text_key_columns("dataset"), *integer_key_columns("version"),
    *text_columns("statement"),
    *bytes_columns("packed"), *text_columns("made_at"),
)  # fmt: skip
# Addresses from which a person has signed in, as digests: strangers elsewhere cannot keep this person out.
ADDRESSES = Table(
    "dpcurves_known_addresses",
    METADATA,
    *text_key_columns("person", "digest"),
    Column("seen", BigInteger, nullable=False),
)
# A synthetic table that waits for a second person: `person` sent it, `resemblance` is a word of `lookalikes`.
PROPOSED = Table(
    "dpcurves_proposed_tables", METADATA, *text_key_columns("dataset"), *integer_key_columns("version"),
    *text_columns("statement"), *bytes_columns("packed"), *text_columns("made_at", "person", "resemblance"),
)  # fmt: skip
# The form of a question about a local table: `word` is the word of the command line, `fields` (JSON) the texts of its
# fields. A command is written from them.
ASKED_FORMS = Table("dpcurves_asked_forms", METADATA, *text_key_columns("id"), *text_columns("word", "fields"))


def has_row(connection: Connection, table: Table, **facts: object) -> bool:
    """Return True if a table has a row with these values."""
    return connection.execute(select(sql.literal(1)).select_from(table).filter_by(**facts)).first() is not None


def format_now() -> str:
    """Return the current time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Archive(Transactions):
    """The server's database: its tables and its ledger.

    Attributes:
        ledger: The budget ledger and audit log.
    """

    def __init__(self, url: str) -> None:
        self.ledger = Ledger.open_persistent(url)
        super().__init__(self.ledger.database, METADATA)

    def run_logged(self, event: Event, work: Work[Result]) -> Result:
        """Run `work` and log the event in one transaction."""
        return self.run_transaction(lambda both: self.ledger.record_event(event, both), work)


MOST_EVENTS = 1000
"""Largest number of events on a page of the audit log."""


class AuditLog:
    """Reads the audit log."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def events(
        self, who: Visitor, after: int = 0, limit: int = MOST_EVENTS, dataset: str | None = None
    ) -> tuple[EventEntry, ...]:
        """Return the audit log in order of time: all of it for an auditor, the events of one dataset for its steward.

        Arguments:
            who: The visitor.
            after: The entry number after which the page begins.
            limit: Events, at most `MOST_EVENTS`.
            dataset: The dataset; None for the whole log.

        Raises:
            ProtocolError: The visitor may not see the log.
        """
        if dataset is None:
            require(who, Right.AUDIT, NOTHING)
        else:
            require(who, Right.SEE_LOG, Subject(dataset))
        return self._archive.ledger.events(after, min(max(limit, 1), MOST_EVENTS), dataset)

    def latest_events(self, who: Visitor, limit: int, dataset: str) -> tuple[EventEntry, ...]:
        """Return the last `limit` events of a dataset, in order of time.

        Raises:
            ProtocolError: The visitor may not see the log.
        """
        require(who, Right.SEE_LOG, Subject(dataset))
        newest = select(EVENTS.c.entry).where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.entry.desc()).limit(limit)
        entries = self._archive.read_snapshot(lambda connection: connection.execute(newest).scalars().all())
        return self.events(who, min(entries, default=1) - 1, limit, dataset)

    def iterate_lines(self, who: Visitor) -> Iterator[str]:
        """Yield the whole log, a line of JSON per event. Raises `ProtocolError` for other visitors than auditors."""
        after = 0
        while events := self.events(who, after):
            for entry in events:
                yield json.dumps(event_to_json(entry))
            after = events[-1].entry

    def verify(self, who: Visitor, head: str | None = None) -> VerificationResult:
        """Recompute all seals of the hash chain.

        Raises:
            ProtocolError: The visitor is not an auditor.
            ValueError: A row was altered without the key; the message names the first.
        """
        require(who, Right.AUDIT, NOTHING)
        return self._archive.ledger.verify(head)


def event_to_json(entry: EventEntry) -> dict[str, object]:
    """Return a log entry as plain objects."""
    event = entry.event
    return {
        "entry": entry.entry, "when": entry.when, "actor": event.actor, "action": event.action,
        "subject": event.subject, "dataset": event.dataset,
    }  # fmt: skip
