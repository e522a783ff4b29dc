"""Storage of a relay for tasks of people in pairs: key bundles, sealed letters, and the seed once it was shown."""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sql
from sqlalchemy import Column, Connection, Table, func, insert, select

from dpcurves.ledger.database import alone, make_tables

from ..serving.database import ServerDatabase
from ..serving.errors import ProtocolAborted
from .shown_seeds import keep_seed, seeds_in, shown_seed

METADATA = sql.MetaData()
seeds_in(METADATA)
BUNDLES = Table(
    "dpcurves_pair_key_bundles",
    METADATA,
    Column("task", sql.Text, primary_key=True),
    Column("person", sql.BigInteger, primary_key=True, autoincrement=False),
    Column("bundle", sql.LargeBinary, nullable=False),
)
LETTERS = Table(
    "dpcurves_pair_letters",
    METADATA,
    Column("task", sql.Text, primary_key=True),
    Column("meeting", sql.BigInteger, primary_key=True, autoincrement=False),
    Column("writer", sql.BigInteger, primary_key=True, autoincrement=False),
    Column("step", sql.Integer, primary_key=True, autoincrement=False),
    Column("letter", sql.LargeBinary, nullable=False),
)
Slot = tuple[int, int, int]
"""A meeting, who writes, and which of its letters it is."""


class RelayStore:
    """Key bundles and letters of all tasks, in the database at a URL: what was acknowledged is on its disk."""

    def __init__(self, url: str) -> None:
        self._database = ServerDatabase(url, "relay")
        self._database.write(partial(make_tables, tables=METADATA))

    def seed(self, task: str) -> bytes | None:
        """The seed of pairs; None: it was not shown yet."""
        return self._database.read(lambda connection: shown_seed(connection, task))

    def show(self, task: str, seed: bytes) -> None:
        """Keep the seed. From now on there are no new key bundles."""
        self._database.write(lambda connection: keep_seed(connection, task, seed))

    def bundle(self, task: str, person: int) -> bytes | None:
        """The key bundle of a person; None: there is none."""
        return self._database.read(lambda connection: _one(connection, _bundle(task, person)))

    def register(self, task: str, person: int, bundle: bytes) -> None:
        """Keep the one key bundle of a person.

        Raises:
            ProtocolAborted: there is another one, or the seed was shown.
        """

        def work(connection: Connection) -> None:
            alone(connection, task)  # and nobody shows the seed
            kept = _one(connection, _bundle(task, person))
            if kept == bundle:
                return
            if kept is not None:
                raise ProtocolAborted("keys", "another device has entered with this ticket, which is good for one", 409)
            if shown_seed(connection, task) is not None:
                raise ProtocolAborted("task", "it is closed: pairs are drawn, and nobody else enters", 409)
            connection.execute(insert(BUNDLES), {"task": task, "person": person, "bundle": bundle})

        self._database.write(work)

    def put(self, task: str, slot: Slot, letter: bytes) -> None:
        """Keep a letter; the second one of its place is forgotten."""

        def work(connection: Connection) -> None:
            meeting, writer, step = slot
            alone(connection, f"letter {task} {meeting} {writer} {step}")
            if connection.execute(_letter(task, slot)).first() is None:
                kept = {"task": task, "meeting": meeting, "writer": writer, "step": step, "letter": letter}
                connection.execute(insert(LETTERS), kept)

        self._database.write(work)

    def get(self, task: str, slot: Slot) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        return self._database.read(lambda connection: _one(connection, _letter(task, slot)))

    def all_of(self, task: str, step: int) -> dict[tuple[int, int], bytes]:
        """Letters of a step, by meeting and writer."""

        def work(connection: Connection) -> dict[tuple[int, int], bytes]:
            columns = LETTERS.c.meeting, LETTERS.c.writer, LETTERS.c.letter
            rows = connection.execute(select(*columns).where(LETTERS.c.task == task, LETTERS.c.step == step))
            return {(row.meeting, row.writer): row.letter for row in rows}

        return self._database.read(work)

    def entered(self, task: str) -> int:
        """Number of people who have a key bundle."""
        found = select(func.count()).select_from(BUNDLES).where(BUNDLES.c.task == task)
        return self._database.read(lambda connection: int(connection.execute(found).scalar_one()))


def _one(connection: Connection, wanted: sql.Select[Any]) -> bytes | None:
    row = connection.execute(wanted).first()
    found: bytes | None = None if row is None else row[0]
    return found


def _bundle(task: str, person: int) -> sql.Select[Any]:
    return select(BUNDLES.c.bundle).where(BUNDLES.c.task == task, BUNDLES.c.person == person)


def _letter(task: str, slot: Slot) -> sql.Select[Any]:
    meeting, writer, step = slot
    where = LETTERS.c.task == task, LETTERS.c.meeting == meeting, LETTERS.c.writer == writer, LETTERS.c.step == step
    return select(LETTERS.c.letter).where(*where)
