"""SECRET. What one server keeps: the shares that owners sent, and which of them count. As durable as its ledger."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from typing import NamedTuple

import sqlalchemy as sql
from sqlalchemy import Column, Connection, Table, delete, func, insert, select, update

from ..ledger.database import Database
from ..ledger.place import place_of
from .refused import ProtocolAborted

METADATA = sql.MetaData()
TASKS = Table(
    "dpcurves_shared_tasks",
    METADATA,
    Column("task", sql.Text, primary_key=True),
    Column("state", sql.Text, nullable=False),
    Column("set", sql.Text),
    Column("reports", sql.BigInteger, nullable=False),  # how many are stored: to count them takes long
    Column("dropped", sql.LargeBinary),  # a bit for each report that counts, in the order of ids; then their hash
)
# SECRET: one share of every report. The other server's share added, every record is known.
REPORTS = Table(
    "dpcurves_reports",
    METADATA,
    Column("number", sql.Integer, primary_key=True, autoincrement=True),
    Column("task", sql.Text, nullable=False),
    Column("id", sql.LargeBinary, nullable=False),
    Column("owner", sql.BigInteger, nullable=False),
    Column("digest", sql.LargeBinary, nullable=False),
    Column("whole", sql.LargeBinary, nullable=False),
    Column("share", sql.LargeBinary, nullable=False),
    sql.Index("dpcurves_one_report_of_an_id", "task", "id", unique=True),
    sql.Index("dpcurves_reports_of_an_owner", "task", "owner"),
)


class State(Enum):
    """Where a task stands at one server."""

    OPEN = "open"
    FROZEN = "frozen"
    CLOSED = "closed"


class Stored(NamedTuple):
    """A report as it is kept: `digest` tells its public half from others, `whole` is of all of its `share`: SECRET."""

    id: bytes
    digest: bytes
    whole: bytes
    share: bytes


class Kept(NamedTuple):
    """SECRET: a share, and what was written down beside it of all its bytes."""

    share: bytes
    whole: bytes


class Standing(NamedTuple):
    """Where a task stands.

    Attributes:
        state: Open for reports; frozen: no more come; closed: which ones count is agreed on.
        set: The hash of the reports that count, once closed.
        reports: How many count, once closed; how many there are, before.
    """

    state: State
    set: str | None
    reports: int

    @property
    def named(self) -> dict[str, object]:
        """Plain objects: which reports count."""
        return {"set": self.set, "reports": self.reports}


class Store:
    """The reports of all tasks of one server, in the database of its ledger."""

    def __init__(self, url: str) -> None:
        self._database: Database = place_of(url).database()
        self._database.write(METADATA.create_all)

    def begin(self, task: str) -> None:
        """Take up a task, if it is new."""

        def work(connection: Connection) -> None:
            if connection.execute(select(TASKS.c.task).where(TASKS.c.task == task)).first() is None:
                connection.execute(insert(TASKS), {"task": task, "state": State.OPEN.value, "reports": 0})

        self._database.write(work)

    def standing(self, task: str) -> Standing:
        """Where the task stands now."""
        return self._database.read(lambda connection: _standing(connection, task))

    def add(self, task: str, owner: int, most: int, reports: Sequence[Stored]) -> int:
        """Keep reports of one owner, all or none; those whose id is known are passed over. How many were new.

        Raises:
            ProtocolAborted: the task takes no more reports, or no more of this owner.
        """

        def work(connection: Connection) -> int:
            _lock(connection, task)
            if _standing(connection, task).state is not State.OPEN:
                raise ProtocolAborted("reports: the task is closed; it takes no more", 409)
            ids = [report.id for report in reports]
            ours = REPORTS.c.task == task
            known = set(connection.execute(select(REPORTS.c.id).where(ours, REPORTS.c.id.in_(ids))).scalars())
            new = {report.id: report for report in reports if report.id not in known}
            kept = connection.execute(select(func.count()).where(ours, REPORTS.c.owner == owner)).scalar_one()
            if kept + len(new) > most:
                raise ProtocolAborted(f"reports: at most {most} of one owner are taken; {kept} are here", 409)
            if new:
                rows = [{"task": task, "owner": owner, **report._asdict()} for report in new.values()]
                connection.execute(insert(REPORTS), rows)
                _set(connection, task, {"reports": TASKS.c.reports + len(new)})
            return len(new)

        return self._database.write(work)

    def owners(self, task: str) -> int:
        """Of how many owners there are reports; once the task is closed, reports that count."""
        found = select(func.count(REPORTS.c.owner.distinct())).where(REPORTS.c.task == task)
        return self._database.read(lambda connection: int(connection.execute(found).scalar_one()))

    def freeze(self, task: str) -> dict[bytes, bytes]:
        """Take no more reports from now on. The ids of those that are here, with their digests."""

        def work(connection: Connection) -> dict[bytes, bytes]:
            _lock(connection, task)
            if _standing(connection, task).state is State.OPEN:
                _set(connection, task, {"state": State.FROZEN.value})
            rows = connection.execute(select(REPORTS.c.id, REPORTS.c.digest).where(REPORTS.c.task == task))
            return {row.id: row.digest for row in rows}

        return self._database.write(work)

    def close(self, task: str, name: str, ids: Collection[bytes]) -> None:
        """Write down which reports count, once, and forget the others.

        Raises:
            ProtocolAborted: others were agreed on before.
        """

        def work(connection: Connection) -> None:
            _lock(connection, task)
            standing = _standing(connection, task)
            if standing.state is State.CLOSED and standing.set != name:
                raise ProtocolAborted("reports: another set of them was agreed on before", 409)
            counted, kept = set(ids), select(REPORTS.c.number, REPORTS.c.id).where(REPORTS.c.task == task)
            others = [{"gone": row.number} for row in connection.execute(kept) if row.id not in counted]
            if others:
                connection.execute(delete(REPORTS).where(REPORTS.c.number == sql.bindparam("gone")), others)
            _set(connection, task, {"state": State.CLOSED.value, "set": name, "reports": len(counted)})

        self._database.write(work)

    def drop(self, task: str, bits: bytes) -> bytes:
        """Never count these reports again: a bit for each. All bits that were ever given.

        Raises:
            ProtocolAborted: those that were given before were damaged.
        """

        def work(connection: Connection) -> bytes:
            _lock(connection, task)
            before = _marks(connection, task, len(bits))
            union = bytes(one | other for one, other in zip(bits, before, strict=True))
            if union != before:
                _set(connection, task, {"dropped": union + _hash_of_marks(task, union)})
            return union

        return self._database.write(work)

    def shares(self, task: str) -> dict[bytes, Kept]:
        """SECRET: all shares, by id."""

        def work(connection: Connection) -> dict[bytes, Kept]:
            columns = REPORTS.c.id, REPORTS.c.share, REPORTS.c.whole
            rows = connection.execute(select(*columns).where(REPORTS.c.task == task))
            return {row.id: Kept(row.share, row.whole) for row in rows}

        return self._database.read(work)


def _lock(connection: Connection, task: str) -> None:
    """Nobody else writes of this task until the transaction ends. (SQLite has one writer anyway.)"""
    connection.execute(select(TASKS.c.task).where(TASKS.c.task == task).with_for_update()).one()


def _standing(connection: Connection, task: str) -> Standing:
    row = connection.execute(select(TASKS).where(TASKS.c.task == task)).mappings().one()
    return Standing(State(row["state"]), row["set"], row["reports"])


def _marks(connection: Connection, task: str, size: int) -> bytes:
    kept = connection.execute(select(TASKS.c.dropped).where(TASKS.c.task == task)).scalar_one()
    if kept is None:
        return bytes(size)
    # A mark more would drop an honest report between two answers of one noise, and so tell on which side it lies.
    if len(kept) < size or kept[size:] != _hash_of_marks(task, kept[:size]):
        raise ProtocolAborted("store: its marks of reports that failed were damaged; nothing is answered", 500)
    return bytes(kept[:size])


def _hash_of_marks(task: str, bits: bytes) -> bytes:
    return sha256(b"dpcurves dropped\n" + bytes.fromhex(task) + bits).digest()


def _set(connection: Connection, task: str, values: Mapping[str, object]) -> None:
    connection.execute(update(TASKS).where(TASKS.c.task == task).values(**values))
