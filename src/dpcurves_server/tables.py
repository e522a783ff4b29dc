"""The tables in which a verification server keeps who may do what, what was asked, and what was released.

Nothing of a record stands in them. Passwords, sessions and tokens stand as hashes.
"""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import BigInteger, CheckConstraint, Column, Table, Text

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
