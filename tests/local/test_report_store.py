"""The file of reports of a server: what it promised to keep is there, whatever ends the process or the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dpcurves as dp
from dpcurves_local.report_file import ReportBatch
from dpcurves_local.report_server import ReportStore
from dpcurves_local.task import Task
from dpcurves_parties.serving.messages import ProtocolError

TASK = Task(dp.CdfQuestion("age", dp.Grid(0, 100, cells=64)), dp.PrivacyLoss.pure(2), people=1000)
OTHER = Task(dp.CdfQuestion("age", dp.Grid(0, 100, cells=64)), dp.PrivacyLoss.pure(1), people=1000)


def records(data: bytes) -> ReportBatch:
    (found,) = TASK.report_format.parse_reports(data)
    return found


def added(store: ReportStore, data: bytes) -> int:
    return store.add(records(data).names, records(data).messages)


@pytest.fixture
def people() -> bytes:
    return TASK.randomize_table({"age": np.arange(40.0)})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReportStore]:
    store = ReportStore(tmp_path / "reports.bin", TASK)
    yield store
    store.close()


def counted(path: Path) -> tuple[int, int, int]:
    collection = dp.local.Collection(TASK)
    collection.add_file(path)
    return collection.reports, collection.repeated, collection.refused


def test_a_name_is_kept_once_also_after_the_server_was_gone(people: bytes, tmp_path: Path) -> None:
    path = tmp_path / "reports.bin"
    for new in (40, 0):
        store = ReportStore(path, TASK)
        assert added(store, people) == new
        assert added(store, people) == 0
        store.close()
    assert counted(path) == (40, 0, 0)


def test_those_who_come_at_once_are_all_kept(store: ReportStore, tmp_path: Path) -> None:
    reports = [TASK.randomize(3, person=f"person {number % 60}") for number in range(90)]
    with ThreadPoolExecutor(16) as many:
        assert sum(many.map(lambda report: added(store, report), reports)) == 60
    assert counted(tmp_path / "reports.bin") == (60, 0, 0)
    assert store.reports == 60


@pytest.mark.parametrize("left", [b"DP", b"\0" * 5, b"\0" * 200, None], ids=range(4))
def test_what_a_crash_left_at_the_end_costs_no_other_report(people: bytes, left: bytes | None, tmp_path: Path) -> None:
    left = TASK.randomize(3, person="bert")[:-3] if left is None else left
    path = tmp_path / "reports.bin"
    store = ReportStore(path, TASK)
    added(store, people)
    store.close()
    path.write_bytes(path.read_bytes() + left)
    store = ReportStore(path, TASK)
    assert added(store, people) == 0
    assert added(store, TASK.randomize(5, person="carl")) == 1
    store.close()
    kept, repeated, damaged = counted(path)
    assert (kept, repeated) == (41, 0)
    assert damaged <= 1


@pytest.mark.parametrize("content", ["letters", "other task", "no names"])
def test_a_file_of_something_else_is_not_touched(content: str, tmp_path: Path) -> None:
    if content == "letters":
        held = b"my letters"
    else:
        held = OTHER.randomize(3) if content == "other task" else TASK.randomize_table({"age": [1.0, 2.0]})
    path = tmp_path / "reports.bin"
    path.write_bytes(held)
    with pytest.raises(ValueError, match="^store: the file holds something other than reports of this task"):
        ReportStore(path, TASK)
    assert path.read_bytes() == held


def test_a_file_has_one_server(store: ReportStore, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^store: a running server has locked this file; stop that server"):
        ReportStore(tmp_path / "reports.bin", TASK)
    with pytest.raises(ValueError, match=r"^store: the file cannot be written \(No such file or directory\); name"):
        ReportStore(tmp_path / "none" / "reports.bin", TASK)


def test_a_disk_that_is_full_promises_nothing_and_forgets_nothing(
    store: ReportStore, people: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = TASK.randomize(3, person="anna")
    assert added(store, first) == 1

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(
            ProtocolError, match=r"^store: no more reports can be stored now \(No space left on device\); send"
        ):
            added(store, people)
    assert (tmp_path / "reports.bin").stat().st_size == len(first)
    assert added(store, people) == 40
    assert counted(tmp_path / "reports.bin") == (41, 0, 0)


def test_what_fails_after_a_report_was_written_stops_the_store_and_counts_it_once(
    people: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, store = TASK.randomize(3, person="anna"), ReportStore(tmp_path / "reports.bin", TASK)

    def fail(run: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(store._seen, "insert_run", fail)
        with pytest.raises(MemoryError):
            added(store, anna)
    with pytest.raises(ProtocolError, match="an earlier report was stored only in part; start the server again"):
        added(store, people)
    store.close()
    again = ReportStore(tmp_path / "reports.bin", TASK)
    assert (again.reports, added(again, anna), added(again, people)) == (1, 0, 40)
    again.close()
    assert counted(tmp_path / "reports.bin") == (41, 0, 0)
