"""The seed that pairs of people are drawn from, once the coordinator has shown it: from then on nobody enters."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy import Column, Connection, MetaData, Table, insert, select

from dpcurves.ledger.database import alone


def seeds_in(metadata: MetaData) -> Table:
    """The table of seeds, among other tables."""
    return Table(
        "dpcurves_pair_seeds",
        metadata,
        Column("task", sql.Text, primary_key=True),
        Column("seed", sql.LargeBinary, nullable=False),
    )


SEEDS = seeds_in(MetaData())


def shown_seed(connection: Connection, task: str) -> bytes | None:
    """The seed of a task; None: it was not shown yet."""
    found: bytes | None = connection.execute(select(SEEDS.c.seed).where(SEEDS.c.task == task)).scalar()
    return found


def keep_seed(connection: Connection, task: str, seed: bytes) -> None:
    """Keep the seed of a task that is closed; it is the promised one, so there is no other."""
    alone(connection, task)
    if shown_seed(connection, task) is None:
        connection.execute(insert(SEEDS), {"task": task, "seed": seed})
