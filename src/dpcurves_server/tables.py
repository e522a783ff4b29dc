"""Database schema of a verification server (SQLAlchemy tables), in the same database as its privacy budget ledger.

A verification server answers questions about confidential datasets with noise. A person (an analyst, member of a
project) asks a question about the project's dataset; its noisy answer is a release. Synthetic tables are made-up data
for practice, shown after a second person has confirmed them.

    PEOPLE, ROLES, SUBJECTS, SESSIONS, TOKENS, ADDRESSES     who signs in, by password or by an identity provider
    DATASETS, PROJECTS, MEMBERS, MODELS                      datasets, projects and their analysts
    QUESTIONS, RELEASES, ASKED_FORMS                         questions and answers
    SYNTHETIC, PROPOSED_TABLES                               synthetic tables, confirmed and waiting

`METADATA` creates all tables (`METADATA.create_all(engine)`). Columns are non-empty texts unless they are given a type;
columns ending in ``_at`` are times as text. No table holds records. Passwords, session cookies and tokens are stored
as hashes, so that a copy of the database opens no session.
"""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import BigInteger, CheckConstraint, Column, Table, Text

from dpcurves_parties.serving.database import (
    bytes_columns,
    integer_column,
    integer_key_columns,
    text_columns,
    text_key_columns,
)

METADATA = sql.MetaData()
"""All tables of the server's database, from which it is created."""
PEOPLE = Table(
    "dpcurves_people", METADATA, *text_key_columns("name"), *text_columns("password"),
    Column("locked", sql.Boolean, nullable=False), *text_columns("made_at"),
)  # fmt: skip
"""One row per account, with its password as an Argon2id hash."""
ROLES = Table("dpcurves_roles", METADATA, *text_key_columns("person", "role", "dataset"))
"""One row per role of an account; `dataset` is set for stewards, and empty for other roles."""
SUBJECTS = Table("dpcurves_subjects", METADATA, *text_key_columns("issuer", "subject"), *text_columns("person"))
"""One row per account at an identity provider (`issuer`), where `subject` is its identifier, unique there only."""
SESSIONS = Table(
    "dpcurves_sessions", METADATA, *text_key_columns("digest"), *text_columns("person", "csrf", "made_at"),
    integer_column("ends"),
    sql.Index("dpcurves_sessions_of_person", "person"),
)  # fmt: skip
"""One row per browser session: `digest` is the hash of its cookie, `ends` is in seconds since 1970."""
TOKENS = Table(
    "dpcurves_tokens", METADATA, *text_key_columns("digest"), Column("id", Text, nullable=False, unique=True),
    *text_columns("person", "project", "label", "made_at"), integer_column("ends"),
    sql.Index("dpcurves_tokens_of_person", "person"),
)  # fmt: skip
"""One row per API token of a program: `digest` is its hash, `ends` is in seconds since 1970."""
DATASETS = Table(
    "dpcurves_datasets", METADATA, *text_key_columns("name"), *integer_key_columns("version"),
    *text_columns("account", "relation", "source", "columns"), Column("units", BigInteger),
    *text_columns("description", "made_at"),
)  # fmt: skip
"""One row per version of a dataset: `account` names an account of the ledger, `source` (JSON) is the secret location of
the records, `columns` (JSON) the public schema."""
PROJECTS = Table(
    "dpcurves_projects", METADATA, *text_key_columns("name"), *text_columns("dataset", "description", "made_at")
)
"""One row per project, which asks about one dataset."""
MEMBERS = Table("dpcurves_members", METADATA, *text_key_columns("project", "person"))
"""One row per member of a project: members ask its questions."""
MODELS = Table(
    "dpcurves_models",
    METADATA,
    *text_key_columns("project", "digest"),
    *text_columns("name", "model", "person", "made_at"),
)
"""One row per public model that a project stored; `digest` is a hash of the model."""
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
"""One row per question, in the order in which they were asked; it serves as the queue of the workers."""
RELEASES = Table(
    "dpcurves_releases", METADATA, *text_key_columns("id"), *text_columns("curve", "svg", "csv", "facts"),
    Column("published_at", Text), Column("published_by", Text),
)  # fmt: skip
"""One row per result of a question, with the same `id`; `svg` and `csv` are empty until a worker has drawn them, and
`facts` (JSON) feed the HTML summary."""
SYNTHETIC = Table(
    "dpcurves_synthetic_tables", METADATA, *text_key_columns("dataset"), *integer_key_columns("version"),
    *text_columns("statement"),
    *bytes_columns("packed"), *text_columns("made_at"),
)  # fmt: skip
"""One row per synthetic table of a dataset's version: `statement` is its privacy statement, `packed` the table as
Parquet."""
ADDRESSES = Table(
    "dpcurves_known_addresses",
    METADATA,
    *text_key_columns("person", "digest"),
    Column("seen", BigInteger, nullable=False),
)
"""One row per address, as a digest, from which a person has signed in: strangers elsewhere cannot lock this person
out."""
PROPOSED_TABLES = Table(
    "dpcurves_proposed_tables", METADATA, *text_key_columns("dataset"), *integer_key_columns("version"),
    *text_columns("statement"), *bytes_columns("packed"), *text_columns("made_at", "person", "resemblance"),
)  # fmt: skip
"""One row per synthetic table that waits for a second person's consent: `person` sent it, `resemblance` is a word of
`lookalikes`."""
ASKED_FORMS = Table("dpcurves_asked_forms", METADATA, *text_key_columns("id"), *text_columns("word", "fields"))
"""One row per question about a local table: the command (`word`) and the texts of its form (`fields`, JSON), from which
a command is written."""
