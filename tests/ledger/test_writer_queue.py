"""FIFO queue of writers of a ledger file: first come, first served, and dead processes are skipped."""

from __future__ import annotations

import os
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ledger_crowd import account, charge

from dpcurves.ledger import Ledger
from dpcurves.ledger import sqlite as line
from dpcurves.ledger.sqlite import WriterQueue

fcntl = pytest.importorskip("fcntl", reason="this system has no locks of open files")
pytestmark = pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="this system has no locks of open files")

WAIT = 60


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not is_so():
        assert time.monotonic() < end, "it does not come to this"
        time.sleep(0.002)


def numbers(path: Path) -> tuple[int, ...]:
    """Return the next number, and the number below which no writer is waited for."""
    content = path.with_name(path.name + line.QUEUE_SUFFIX).read_bytes()
    return struct.unpack("=QQ", content.ljust(16, b"\0")[:16])


@contextmanager
def another(path: Path) -> Iterator[int]:
    """A process that has its turn, and keeps it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with WriterQueue(path).wait_turn():
            os.write(writing, b"!")
            time.sleep(WAIT)
        os._exit(0)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.fixture
def nobody_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "PATIENCE_SECONDS", 10**6)


@pytest.mark.usefixtures("nobody_is_passed")
def test_who_comes_first_is_served_first(tmp_path: Path) -> None:
    path, served = tmp_path / "budget.db", list[int]()

    def come(number: int) -> None:
        with WriterQueue(path).wait_turn():
            served.append(number)

    threads = [threading.Thread(target=come, args=(number,)) for number in range(12)]
    with WriterQueue(path).wait_turn():
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda number=number: numbers(path)[0] == number + 2)  # type: ignore[misc]
        assert served == []
    for thread in threads:
        thread.join(WAIT)
    assert served == list(range(12))


@pytest.mark.usefixtures("nobody_is_passed")
def test_nobody_waits_for_a_process_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    with another(path) as child:
        waiting = threading.Thread(target=lambda: WriterQueue(path).wait_turn().__enter__())
        waiting.start()
        until(lambda: numbers(path)[0] == 2)
        assert waiting.is_alive()
        os.kill(child, signal.SIGKILL)
        waiting.join(WAIT)
        assert not waiting.is_alive()


def test_a_process_that_was_stopped_is_passed_once_and_not_waited_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget.db"
    with another(path) as child:
        os.kill(child, signal.SIGSTOP)
        monkeypatch.setattr(line, "PATIENCE_SECONDS", 0.05)
        with WriterQueue(path).wait_turn():
            pass
        monkeypatch.setattr(line, "PATIENCE_SECONDS", 10**6)
        with WriterQueue(path).wait_turn():
            pass
        assert numbers(path) == (3, 3)


@pytest.mark.usefixtures("nobody_is_passed")
def test_who_is_interrupted_before_its_turn_leaves_the_others_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "budget.db"
    with WriterQueue(path).wait_turn():
        with monkeypatch.context() as waiting:
            waiting.setattr(line, "sleep", interrupt)
            with pytest.raises(KeyboardInterrupt), WriterQueue(path).wait_turn():
                pytest.fail("this was not its turn")
        assert numbers(path) == (2, 0)
    with WriterQueue(path).wait_turn():
        assert numbers(path) == (3, 1)
    assert numbers(path) == (3, 3)


@pytest.mark.usefixtures("nobody_is_passed")
def test_a_child_that_was_forked_during_a_turn_does_not_prolong_it(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    with WriterQueue(path).wait_turn():
        child = os.fork()
        if child == 0:
            time.sleep(WAIT)
            os._exit(0)
    with WriterQueue(path).wait_turn():
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def spoil_by_a_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    path.mkdir()


def spoil_by_words(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"\xff" * 40)


def spoil_by_no_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fcntl, "F_OFD_SETLK")


def spoil_by_locks_that_fail(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "fcntl", fail)


@pytest.mark.parametrize("spoil", [spoil_by_a_folder, spoil_by_words, spoil_by_no_locks, spoil_by_locks_that_fail])
def test_without_a_line_all_is_charged_as_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/budget.db", bytes(32))
    ledger.create(account(cap=10))
    spoil(tmp_path / f"budget.db{line.QUEUE_SUFFIX}", monkeypatch)
    for request in "abcabc":
        charge(ledger, request)
    assert ledger.verify().entries == 4
