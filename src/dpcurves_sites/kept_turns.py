"""SECRET. Turns of a site, kept: a step is taken once, and written down before a message leaves the house."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, Integer, LargeBinary, MetaData, Table, Text, insert, select

from dpcurves.arguments import ProtocolAborted
from dpcurves.ledger import Ledger

from .secure_sum import (
    KEYS,
    MASKED,
    OPENED,
    SHARES,
    SIGNED,
    STAGES,
    Signer,
    SiteState,
    Source,
    Step,
    Turn,
    Vector,
    begin,
    mask,
    share,
    sign,
    unmask,
)

METADATA = MetaData()
STEPS = Table(
    "dpcurves_sum_steps",
    METADATA,
    Column("task", Text, primary_key=True),
    Column("turn", Text, primary_key=True),
    Column("stage", Integer, primary_key=True, autoincrement=False),
    Column("place", Text, nullable=False),
    Column("given", Text, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("message", LargeBinary, nullable=False),
)
VECTORS = Table(
    "dpcurves_sum_vectors",
    METADATA,
    Column("task", Text, primary_key=True),
    Column("turn", Text, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)
LISTS = Table(
    "dpcurves_sum_lists",
    METADATA,
    Column("task", Text, primary_key=True),
    Column("payment", Text, primary_key=True),
    Column("listed", Text, nullable=False),
)


class KeptTurns:
    """The steps of one site, in tables beside its ledger: as durable as that, and as secret. It has no repr.

    Formal guarantees: of each turn a stage is answered once. Who asks again, after whatever crash, gets the bytes of
    the first time; who asks with other messages of others, or for another plan or roster under the same number, is
    refused. A message is returned once it is on disk together with what has to be remembered, and the vector is on disk
    before it is masked: so noise is not drawn twice, and not two lists are signed. Of all turns under one payment, the
    lists that a site signs are of the same sites.

    Args:
        signer: The site, and its key.
        ledger: What the tables stand beside.
        randomness: Where secrets come from.
    """

    __slots__ = ("_database", "_randomness", "_signer")

    def __init__(self, signer: Signer, ledger: Ledger, randomness: Source) -> None:
        self._signer, self._database, self._randomness = signer, ledger.database, randomness
        self._database.write(METADATA.create_all)

    def step(self, turn: Turn, stage: int, given: Sequence[bytes], vector: Callable[[], Vector], payment: str) -> bytes:
        """The message of a stage.

        Args:
            turn: Which one.
            payment: What it is paid under: turns of one payment may share their noise.
            stage: From `KEYS` to `OPENED`.
            given: What others sent in the stage before.
            vector: SECRET. Makes what is summed: it is called once, for the stage `MASKED`.

        Raises:
            ProtocolAborted: it was answered otherwise before, or what is given is not what it should be.
        """
        if stage == MASKED:
            self._keep(turn, vector)
        return self._database.write(lambda connection: self._stepped(connection, turn, stage, given, payment))

    def has(self, turn: Turn, stage: int) -> bool:
        """Tell whether a stage was answered."""
        return self._database.read(lambda connection: stage in _before(connection, turn))

    def _keep(self, turn: Turn, vector: Callable[[], Vector]) -> None:
        kept = select(VECTORS.c.vector).where(*_of(VECTORS, turn))
        if self._database.read(lambda connection: connection.execute(kept).first()) is None:
            octets = vector().astype("<u8").tobytes()

            def keep(connection: Connection) -> None:
                if connection.execute(kept).first() is None:  # else another process was first, and its vector stays
                    connection.execute(insert(VECTORS).values(**_name(turn), vector=octets))

            self._database.write(keep)

    def _stepped(self, connection: Connection, turn: Turn, stage: int, given: Sequence[bytes], payment: str) -> bytes:
        said = sha256(b"".join(sorted({sha256(message).digest() for message in given}))).hexdigest()
        before = _before(connection, turn)
        if any(place != turn.place.hex() for place, *_ in before.values()):
            raise ProtocolAborted("turn", "it was begun for another plan or roster")
        if stage in before:
            _, answered, _, message = before[stage]
            if stage != OPENED and answered != said:  # a quorum may grow; what is opened is the same
                raise ProtocolAborted(STAGES[stage], "this stage was answered before, to other messages")
            return message
        if stage != len(before) + 1:
            raise ProtocolAborted(STAGES[stage], f"{STAGES[len(before) + 1]} come first", 409)
        state = before[stage - 1][2] if stage > KEYS else b""
        after, message = self._taken(connection, turn, stage, state, given)
        if stage == SIGNED:
            _require_same_sites(connection, turn, payment, SiteState.from_bytes(after).listed[0])
        row = {**_name(turn), "stage": stage, "place": turn.place.hex(), "given": said}
        connection.execute(insert(STEPS).values(**row, state=after, message=message))
        return message

    def _taken(self, connection: Connection, turn: Turn, stage: int, state: bytes, given: Sequence[bytes]) -> Step:
        if stage == KEYS:
            return begin(turn, self._signer, self._randomness)
        if stage == SHARES:
            return share(turn, self._signer, state, given, self._randomness)
        if stage == MASKED:
            kept = connection.execute(select(VECTORS.c.vector).where(*_of(VECTORS, turn))).scalar_one()
            return mask(turn, self._signer, state, given, np.frombuffer(kept, dtype="<u8"))
        return (sign if stage == SIGNED else unmask)(turn, self._signer, state, given)


def _require_same_sites(connection: Connection, turn: Turn, payment: str, sites: Sequence[int]) -> None:
    """Refuse a list of other sites than those of a turn before under this payment, with which it may share noise."""
    task, listed = turn.roster.task.hex(), json.dumps(list(sites))
    query = select(LISTS.c.listed).where(LISTS.c.task == task, LISTS.c.payment == payment)
    before = connection.execute(query).scalar()
    if before is None:
        connection.execute(insert(LISTS).values(task=task, payment=payment, listed=listed))
    elif before != listed:
        raise ProtocolAborted(STAGES[SIGNED], "other sites were in the sums before, under the same payment")


def _name(turn: Turn) -> dict[str, str]:
    return {"task": turn.roster.task.hex(), "turn": f"{turn.number:016x}"}


def _of(table: Table, turn: Turn) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name, value in _name(turn).items()]


def _before(connection: Connection, turn: Turn) -> dict[int, tuple[str, str, bytes, bytes]]:
    rows = connection.execute(select(STEPS).where(*_of(STEPS, turn)).order_by(STEPS.c.stage))
    return {row.stage: (row.place, row.given, row.state, row.message) for row in rows}
