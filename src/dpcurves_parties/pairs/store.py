"""SECRET. Storage of one server for a task of pairs: the seed that was shown, and its share of the run that counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import sqlalchemy as sql
from sqlalchemy import Column, Connection, Table, delete, insert, select, update

from dpcurves.ledger.chain import alone

from ..serving.database import ServerDatabase
from ..serving.messages import ProtocolAborted
from .relay import keep_seed, seeds_in, shown_seed
from .session import NOTHING, Kept, RunState

METADATA = sql.MetaData()
seeds_in(METADATA)
# SECRET: one share of the noisy output of a session; see `settlement`.
PAIR_RUNS = Table(
    "dpcurves_pair_runs",
    METADATA,
    Column("job", sql.LargeBinary, primary_key=True),
    Column("state", sql.Integer, nullable=False),
    Column("run", sql.LargeBinary, nullable=False),
    Column("share", sql.LargeBinary, nullable=False),
)


@dataclass(repr=False)
class PairStore:
    """SECRET. A `Shelf` in the database of a server's ledger, and as durable. It has no repr.

    Attributes:
        url: URL of the database.
        who: Name of the store in errors.
    """

    url: str
    who: str
    _database: ServerDatabase = field(init=False)

    def __post_init__(self) -> None:
        self._database = ServerDatabase(self.url, self.who, METADATA)

    def seed(self, task: str) -> bytes | None:
        """Seed of the pairs, if it was shown."""
        return self._database.read(lambda connection: shown_seed(connection, task))

    def keep_seed(self, task: str, seed: bytes) -> None:
        """Keep the seed of a task that is closed; it is the promised one, so there is no other."""
        self._database.write(lambda connection: keep_seed(connection, task, seed))

    def kept(self, job: bytes) -> Kept:
        """Stored state of a job."""
        asked = select(PAIR_RUNS).where(PAIR_RUNS.c.job == job)
        row = self._database.read(lambda connection: connection.execute(asked).first())
        return Kept(RunState.NOTHING, NOTHING, b"") if row is None else Kept(RunState(row.state), row.run, row.share)

    def store(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed. Raises `ProtocolAborted`: one was."""
        fresh = {"job": job, "state": RunState.STORED.value, "run": run, "share": share}

        def work(connection: Connection) -> None:
            alone(connection, f"run {job.hex()}")
            connection.execute(
                delete(PAIR_RUNS).where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.state < RunState.CONFIRMED.value)
            )
            if connection.execute(select(PAIR_RUNS.c.job).where(PAIR_RUNS.c.job == job)).first() is not None:
                raise ProtocolAborted("settlement", "another session of this job was confirmed", 409)
            connection.execute(insert(PAIR_RUNS), fresh)

        self._database.write(work)

    def confirm(self, job: bytes, run: bytes) -> None:
        """Remember that the other server has its share of this run: from now on there is no other one.

        Raises:
            ProtocolAborted: another session has stored another run in the meantime.
        """
        changed = (
            update(PAIR_RUNS)
            .where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.run == run)
            .values(state=RunState.CONFIRMED.value)
        )  # fmt: skip
        found = self._database.write(lambda connection: connection.execute(changed).rowcount)
        if found != 1:
            raise ProtocolAborted("settlement", "another session of this job has taken its place", 409)
