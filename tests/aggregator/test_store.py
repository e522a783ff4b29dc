"""The store of one server: whoever writes of a task has locked it first, where databases have several writers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from dpcurves.aggregator import ProtocolAborted
from dpcurves.aggregator.store import TASKS, State, Store, Stored

TASK = "0" * 64
REPORT = Stored(b"i" * 16, b"d" * 16, b"w" * 32, b"share")


def asked_of(store: Store, work: Callable[[Store], object]) -> list[sql.Executable]:
    """What the database is asked by `work`, in order."""
    asked: list[sql.Executable] = []

    def told(connection: object, element: sql.Executable, *others: object) -> None:
        asked.append(element)

    engine = store._database.writing
    sql.event.listen(engine, "before_execute", told)
    try:
        work(store)
    finally:
        sql.event.remove(engine, "before_execute", told)
    return asked


@pytest.mark.parametrize(
    "work",
    [
        lambda store: store.add(TASK, 1, 7, [REPORT]),
        lambda store: store.freeze(TASK),
        lambda store: store.close(TASK, "1" * 64, [REPORT.id]),
        lambda store: store.drop(TASK, bytes(1)),
    ],
)
def test_the_row_of_the_task_is_locked_before_anything_is_read(work: Callable[[Store], object]) -> None:
    store = Store("sqlite://")
    store.begin(TASK)
    first, *_ = asked_of(store, work)
    assert isinstance(first, sql.Select)
    assert str(first.compile(dialect=postgresql.dialect())).endswith("FOR UPDATE")  # type: ignore[no-untyped-call]
    assert "FOR UPDATE" not in str(first.compile(dialect=sqlite.dialect()))


def test_a_report_is_kept_until_the_task_is_frozen() -> None:
    store = Store("sqlite://")
    store.begin(TASK)
    assert [store.add(TASK, 1, 7, [REPORT]) for _ in range(2)] == [1, 0]
    assert store.freeze(TASK) == {REPORT.id: REPORT.digest}
    assert store.standing(TASK).state is State.FROZEN


def test_marks_of_reports_that_failed_stay_and_are_refused_once_they_were_damaged() -> None:
    store = Store("sqlite://")
    store.begin(TASK)
    assert [store.drop(TASK, bits) for bits in (b"\0\0", b"\1\0", b"\2\200")] == [b"\0\0", b"\1\0", b"\3\200"]
    kept = marks(store)
    flips = [kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :] for place in range(len(kept))]
    for damaged in (*flips, kept[:-1], kept[1:], kept[:2], kept + b"\0", b""):
        marks(store, damaged)
        with pytest.raises(ProtocolAborted, match=r"^store: its marks of reports that failed were damaged") as refused:
            store.drop(TASK, b"\0\0")
        assert (refused.value.status, marks(store)) == (500, damaged)
    marks(store, kept)
    assert store.drop(TASK, b"\0\0") == b"\3\200"


def marks(store: Store, written: bytes | None = None) -> bytes:
    """The marks as they are stored, after others were written if there are some."""

    def work(connection: sql.Connection) -> bytes:
        if written is not None:
            connection.execute(sql.update(TASKS), {"dropped": written})
        return bytes(connection.execute(sql.select(TASKS.c.dropped)).scalar_one())

    return store._database.write(work)
