"""The store of one server: whoever writes of a task has locked it first, where databases have several writers."""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sql
from at_once import at_once
from sqlalchemy.dialects import postgresql, sqlite

from dpcurves.arguments import InvalidArgument
from dpcurves.ledger import Ledger
from dpcurves.ledger.chain import Database
from dpcurves_parties.pairs.service import PairStore
from dpcurves_parties.serving.two_servers.report_set import EarlierPolicy, ReportSet, Rising
from dpcurves_parties.serving.two_servers.store import (
    OTHER_CONTRIBUTION,
    TASKS,
    Decision,
    Offer,
    Store,
    StoredReport,
    TaskFrozen,
    TaskState,
    TaskStatus,
)
from dpcurves_parties.shares import ProtocolError

TASK = "0" * 64
REPORT = StoredReport(b"i" * 16, b"d" * 16, b"w" * 32, b"share")
COMMITMENTS = "a" * 64, "b" * 64


def offer(owner: int, *reports: StoredReport, digit: str = "1", earlier: EarlierPolicy = EarlierPolicy.STAYS) -> Offer:
    return Offer(owner, digit.encode() * 32, earlier, reports)


def decided(digit: str, reports: int, *gone: bytes) -> Decision:
    return Decision(ReportSet(digit * 64, reports, gone), COMMITMENTS)


def asked_of(store: Store, work: Callable[[Store], object]) -> list[sql.Executable]:
    """What the database is asked by `work`, in order."""
    asked: list[sql.Executable] = []

    def told(connection: object, element: sql.Executable, *others: object) -> None:
        asked.append(element)

    engine = store._database.database.write_engine
    sql.event.listen(engine, "before_execute", told)
    try:
        work(store)
    finally:
        sql.event.remove(engine, "before_execute", told)
    return asked


@pytest.mark.parametrize(
    "work",
    [
        lambda store: store.add_reports(TASK, 7, offer(1, REPORT)),
        lambda store: store.cancel_attempt(TASK, "1"),
        lambda store: store.freeze(TASK, "1"),
        lambda store: store.unfreeze(TASK, "1"),
        lambda store: store.decide(TASK, lambda rising, stored: decided("1", 0)),
        lambda store: store.record_dropped(TASK, bytes(1)),
    ],
)
def test_the_row_of_the_task_is_locked_before_anything_is_read(work: Callable[[Store], object]) -> None:
    store = Store("sqlite://")
    store.create_task(TASK)
    first, *_ = asked_of(store, work)
    assert isinstance(first, sql.Select)
    assert str(first.compile(dialect=postgresql.dialect())).endswith("FOR UPDATE")  # type: ignore[no-untyped-call]
    assert "FOR UPDATE" not in str(first.compile(dialect=sqlite.dialect()))


def steps_of(store: Store, work: Callable[[Store], object]) -> int:
    """How many instructions the database's own machine takes for `work`."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    def count(connection: sql.Connection) -> None:
        raw = connection.connection.dbapi_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.set_progress_handler(step, 1)

    sql.event.listen(store._database.database.write_engine, "begin", count)
    try:
        work(store)
    finally:
        sql.event.remove(store._database.database.write_engine, "begin", count)
    return taken


def test_neither_an_upload_nor_a_look_takes_longer_the_more_reports_are_stored() -> None:
    """Stores 6000 reports of six others: half as long again at most is allowed, for the trees of indices are deeper."""
    store, name = Store("sqlite://"), b"n" * 16
    store.create_task(TASK)
    before = steps_of(store, lambda store: store.add_reports(TASK, 7, offer(9, REPORT))), steps_of(store, look)
    for owner in range(6):
        store.add_reports(TASK, 1000, offer(owner, *(REPORT._replace(id=secrets.token_bytes(16)) for _ in range(1000))))
    after = (
        steps_of(store, lambda store: store.add_reports(TASK, 7, offer(9, REPORT._replace(id=name)))),
        steps_of(store, look),
    )
    assert store.read_status(TASK).reports == 6002
    assert all(0 < late <= 1.5 * early for early, late in zip(before, after, strict=True)), (before, after)


def look(store: Store) -> None:
    assert store.read_status(TASK).state is TaskState.OPEN


def test_owners_are_those_whose_reports_count() -> None:
    store = Store("sqlite://")
    store.create_task(TASK)
    assert store.count_owners(TASK) == 0
    ids = [bytes([number]) * 16 for number in range(4)]
    for number, owner in enumerate((1, 1, 2, 3)):
        store.add_reports(TASK, 7, offer(owner, REPORT._replace(id=ids[number])))
    assert store.count_owners(TASK) == 3
    store.decide(TASK, lambda rising, stored: decided("1", 3, ids[3]))
    assert store.count_owners(TASK) == 2


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Store:
    """An empty one, of each kind."""
    made = Store("sqlite://" if request.param == "sqlite" else request.getfixturevalue("new_database")())
    made.create_task(TASK)
    return made


def test_a_report_is_kept_until_the_task_is_frozen_and_again_once_it_thaws(store: Store) -> None:
    assert [store.add_reports(TASK, 7, offer(1, REPORT)) for _ in range(2)] == [1, 0]
    for attempt in ("1", "2"):
        store.freeze(TASK, attempt)
        assert store.read_status(TASK) == TaskStatus(TaskState.FROZEN, 1, attempt=attempt)
    store.unfreeze(TASK, "1")
    assert store.read_status(TASK) == TaskStatus(TaskState.FROZEN, 1, attempt="2")
    with pytest.raises(TaskFrozen, match=r"^reports: the task is being closed; send again in a"):
        store.add_reports(TASK, 7, offer(1, REPORT))
    store.unfreeze(TASK, "2")
    assert store.add_reports(TASK, 7, offer(1, REPORT._replace(id=b"j" * 16))) == 1


def test_nothing_is_decided_under_an_attempt_that_was_given_up(store: Store) -> None:
    with pytest.raises(ProtocolError, match=r"^reports: no report has arrived yet"):
        store.begin_attempt(TASK, "1")
    store.add_reports(TASK, 7, offer(1, REPORT))
    store.begin_attempt(TASK, "1")
    assert (store.cancel_attempt(TASK, "2"), store.read_status(TASK).attempt) == (TaskState.OPEN, "1")
    assert (store.cancel_attempt(TASK, "1"), store.read_status(TASK).attempt) == (TaskState.OPEN, None)
    with pytest.raises(
        ProtocolError, match=r"^task: the attempt to close was cancelled by a later one; run dpcurves task close again"
    ):
        store.decide(TASK, lambda rising, stored: decided("1", 1), "1")
    store.begin_attempt(TASK, "3")
    store.decide(TASK, lambda rising, stored: decided("1", stored), "3")
    assert store.cancel_attempt(TASK, "3") is TaskState.CLOSED


def test_a_ticket_is_good_for_one_contribution_or_for_the_one_that_takes_its_place(store: Store) -> None:
    """300 records that are sent again out of 600 would else count twice; and with them whoever is among them."""
    first, second, third = (
        [StoredReport(bytes([turn, one]) * 8, b"d", b"w", b"s") for one in range(3)] for turn in range(3)
    )
    replaced = partial(offer, digit="2", earlier=EarlierPolicy.GIVES_WAY)
    assert [store.add_reports(TASK, 3, offer(1, *some)) for some in (first[:2], first, first[1:])] == [2, 1, 0]
    assert store.add_reports(TASK, 3, offer(2, third[0])) == 1
    for other in (second, second[:1], first):
        with pytest.raises(ProtocolError, match=re.escape(OTHER_CONTRIBUTION)):
            store.add_reports(TASK, 3, offer(1, *other, digit="2"))
    assert (store.read_status(TASK).reports, store.count_owners(TASK)) == (4, 2)
    # In its place, in two parts, one of them twice; the other owner's stay. The first one does not come back unasked.
    assert [store.add_reports(TASK, 3, replaced(1, *some)) for some in (second[:1], second[:1], second[1:2])] == [
        1,
        0,
        1,
    ]
    assert store.read_shares(TASK).keys() == {second[0].id, second[1].id, third[0].id}
    assert store.read_status(TASK).reports == 3
    with pytest.raises(ProtocolError, match=re.escape(OTHER_CONTRIBUTION)):
        store.add_reports(TASK, 3, offer(1, *first))
    assert store.add_reports(TASK, 3, replaced(1, second[2])) == 1
    with pytest.raises(ProtocolError, match=r"^reports: at most 3 of one owner are accepted, and 3 are stored"):
        store.add_reports(TASK, 3, replaced(1, third[1]))
    store.freeze(TASK, "1")
    with pytest.raises(TaskFrozen):
        store.add_reports(TASK, 3, offer(1, *first, earlier=EarlierPolicy.GIVES_WAY))
    store.decide(TASK, lambda rising, stored: decided("1", stored))
    with pytest.raises(ProtocolError, match=r"^reports: the task is closed and accepts no more"):
        store.add_reports(TASK, 3, offer(1, *first, earlier=EarlierPolicy.GIVES_WAY))
    assert len(store.read_shares(TASK)) == store.read_status(TASK).reports == 4


def test_reports_that_do_not_count_are_forgotten_when_the_task_is_closed(store: Store) -> None:
    reports = [StoredReport(bytes([number]) * 16, b"d" * 16, b"w" * 32, bytes([number])) for number in range(5)]
    assert store.add_reports(TASK, 3, offer(0, *reports[:3])) == 3
    with pytest.raises(ProtocolError, match=r"^reports: at most 3 of one owner are accepted, and 3 are stored"):
        store.add_reports(TASK, 3, offer(0, *reports))
    assert store.add_reports(TASK, 3, offer(1, *reports)) == 2
    final, seen = decided("1", 3, reports[0].id, reports[4].id), list[list[tuple[bytes, bytes]]]()

    def decide(rising: Rising, stored: int) -> Decision:
        seen.append(list(rising()))
        assert stored == len(seen[-1])
        return final

    for _ in range(2):
        store.decide(TASK, decide)
    assert seen == [[(report.id, report.digest) for report in some] for some in (reports, reports[1:4])]
    with pytest.raises(ProtocolError, match=r"^reports: the task is closed and accepts no more"):
        store.add_reports(TASK, 3, offer(1, *reports))
    for other in (decided("2", 3), final._replace(commitments=("a" * 64, "c" * 64))):
        with pytest.raises(ProtocolError, match=r"^reports: another report set or other noise was agreed on befo"):
            store.decide(TASK, lambda rising, stored, other=other: other)  # type: ignore[misc]
    assert store.freeze(TASK, "1") == store.read_status(TASK) == (TaskState.CLOSED, 3, "1" * 64, COMMITMENTS, None)
    assert store.read_shares(TASK) == {report.id: (report.share, report.whole) for report in reports[1:4]}
    store.create_task(TASK)  # a server that is started again
    assert store.read_status(TASK).reports == 3


def test_owners_who_send_at_once_all_arrive_and_none_beyond_the_most(store: Store) -> None:
    """Eight send 20 reports each, in turns of five, under two tickets that take 60 each; ids differ."""
    refused = []

    def send(sender: int) -> None:
        for turn in range(4):
            names = [bytes([sender, turn, number]) + bytes(13) for number in range(5)]
            try:
                store.add_reports(TASK, 60, offer(sender % 2, *(REPORT._replace(id=name) for name in names)))
            except ProtocolError:
                refused.append(sender)

    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(send, range(8)))
    assert (store.read_status(TASK).reports, len(refused)) == (120, 8)


def test_marks_of_reports_that_failed_are_written_once_and_refused_once_they_were_damaged(store: Store) -> None:
    assert store.read_dropped(TASK, 2) is None
    assert [store.record_dropped(TASK, bits) for bits in (b"\1\0", b"\0\0", b"\2\200")] == [b"\1\0"] * 3
    kept = marks(store)
    flips = [kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :] for place in range(len(kept))]
    for damaged in (*flips, kept[:-1], kept[1:], kept[:2], kept + b"\0", b""):
        marks(store, damaged)
        with pytest.raises(
            ProtocolError, match=r"^store: the flags of reports that failed the check were damaged"
        ) as refused:
            store.record_dropped(TASK, b"\0\0")
        assert (refused.value.status, marks(store)) == (500, damaged)
    marks(store, kept)
    assert store.read_dropped(TASK, 2) == store.record_dropped(TASK, b"\0\0") == b"\1\0"


def marks(store: Store, written: bytes | None = None) -> bytes:
    """The marks as they are stored, after others were written if there are some."""

    def work(connection: sql.Connection) -> bytes:
        if written is not None:
            connection.execute(sql.update(TASKS), {"dropped": written})
        return bytes(connection.execute(sql.select(TASKS.c.dropped)).scalar_one())

    return store._database.write(work)


def begin_and_keep(number: int, url: str) -> None:
    store, pairs = Store(url), PairStore(url, "")
    for task in range(8):
        store.create_task(f"{task:064x}")
        pairs.store_seed(f"{task:064x}", b"seed")
        pairs.store_run(bytes([task]), bytes([number]) * 16, b"share")


def test_eight_processes_that_begin_at_once_make_tables_tasks_and_runs_together(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    at_once(begin_and_keep, url)
    store, pairs = Store(url), PairStore(url, "")
    for task in range(8):
        assert store.read_status(f"{task:064x}").reports == 0
        assert pairs.load_seed(f"{task:064x}") == b"seed"
        assert pairs.load_run(bytes([task])).share == b"share"


def test_a_store_that_cannot_be_written_knows_the_noise_of_the_other_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proved answers are repeated on a full disk, like others; with other noise they are not."""
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger.open(url)
    store = Store(url)
    store.create_task(TASK)
    assert store.record_noise_hash(TASK, "first") == "first"

    def refuse(*_: object) -> None:
        raise InvalidArgument("ledger", "budget.db: the disk is full")

    monkeypatch.setattr(Database, "run_write", refuse)
    assert store.record_noise_hash(TASK, "first") == store.record_noise_hash(TASK, "another") == "first"
