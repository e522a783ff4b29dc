"""The tables of a ledger.

Seven tables hold entries: facts that are written once, numbered 1, 2, 3, ... across all of them, each sealed together
with the one before it. Three things change, and are sealed on their own: what an account or an allowance has spent, the
secret state of a stream, and the book, which says how many entries there are and how the last one is sealed.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.schema import SchemaItem

VERSION = 5
FIRST_VERSION = 1
"""Had no notes, 2 no states, 3 no allowances, and 4 no events. Such a ledger is brought to the present schema when it
is opened."""

METADATA = MetaData()

BOOK = Table(
    "dpcurves_book",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("head", Text, nullable=False),
    Column("seal", Text, nullable=False),
)


def _entries(kind: str, *columns: SchemaItem) -> Table:
    """A table of entries: its own columns, and their place in the chain."""
    return Table(
        f"dpcurves_{kind}",
        METADATA,
        Column("entry", BigInteger, primary_key=True, autoincrement=False),
        *columns,
        Column("previous", Text, nullable=False),
        Column("mac", Text, nullable=False),
    )


ACCOUNTS = _entries(
    "accounts",
    Column("dataset", Text, nullable=False, unique=True),
    Column("neighbours", Text, nullable=False),
    Column("unit_column", Text, nullable=False),
    Column("unit_records", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("cap", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
    # The second wall: whatever a program does, the database itself lets no account spend more than its cap.
    CheckConstraint("spent >= 0 AND spent <= cap", name="dpcurves_spent_within_cap"),
)

GRANTS = _entries(
    "grants",
    Column("request", Text, nullable=False, unique=True),
    Column("dataset", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("binding", Text, nullable=False),
    Column("epsilon", Text),
    Column("rho", Text, nullable=False),
    Column("amount", BigInteger, CheckConstraint("amount > 0", name="dpcurves_amount_above_zero"), nullable=False),
    Column("units", BigInteger),
    Column("charged_at", Text, nullable=False),
    # Every charge adds up what the dataset has spent: from the index alone, for it has the amounts as well.
    Index("dpcurves_grants_of_dataset", "dataset", "amount"),
)

ANSWERS = _entries(
    "answers",
    Column("grant", BigInteger, nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("part", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    UniqueConstraint("grant", "turn", "part", name="dpcurves_first_answer_stays"),
)

# A new allowance is a new entry: the last one for a dataset, project and analyst stands.
ALLOWANCES = _entries(
    "allowances",
    Column("dataset", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("analyst", Text, nullable=False),  # empty: the whole project
    Column("currency", Text, nullable=False),
    Column("most", BigInteger, nullable=False),
    Column("together", Text, nullable=False),
    Column("set_at", Text, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
    CheckConstraint("spent >= 0 AND spent <= most", name="dpcurves_spent_within_allowance"),
    Index("dpcurves_allowances_of_owner", "dataset", "project", "analyst"),
)

PAYMENTS = _entries(
    "payments",
    Column("grant", BigInteger, nullable=False, unique=True),
    Column("dataset", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("analyst", Text, nullable=False),
    Column("amount", BigInteger, CheckConstraint("amount > 0", name="dpcurves_payment_above_zero"), nullable=False),
    Index("dpcurves_payments_of_owner", "dataset", "project", "analyst", "amount"),
)

# What people did, as a server that asks for them tells it. Names, never values.
EVENTS = _entries(
    "events",
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("dataset", Text, nullable=False),  # empty: none
    Column("happened_at", Text, nullable=False),
    Index("dpcurves_events_of_dataset", "dataset", "entry"),
)

# SECRET: what was noted is less than what was counted, but more than what was answered.
NOTES = _entries(
    "notes",
    Column("grant", BigInteger, nullable=False),
    Column("part", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    UniqueConstraint("grant", "part", "name", name="dpcurves_first_note_stays"),
)

# SECRET, and encrypted: an open group of a stream holds exact counts. Not among the entries, which forget nothing.
STATES = Table(
    "dpcurves_states",
    METADATA,
    Column("grant", BigInteger, primary_key=True, autoincrement=False),
    Column("sealed", Text, nullable=False),
)

ENTRIES = (ACCOUNTS, GRANTS, ANSWERS, NOTES, ALLOWANCES, PAYMENTS, EVENTS)
SEALED_APART = frozenset({"spent", "seal", "previous", "mac"})
"""Columns of entries that are not what an entry says: they change, or they are the seal itself."""
