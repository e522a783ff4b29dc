"""The store of one server: whoever writes of a task has locked it first, where databases have several writers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from dpcurves.aggregator.store import State, Store, Stored

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
