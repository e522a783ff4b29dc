"""Many real processes on one ledger: charging at once, asking the same at once, killed at any moment."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import pytest
from ledger_crowd import WAIT, account, allow_all, charge, member

import dpcurves
from dpcurves.ledger import Ledger

SOURCE = Path(dpcurves.__file__).parents[1]


@dataclass
class Crowd:
    """Processes that are running."""

    pids: list[int]
    output: IO[str]
    ended: list[int] | None = None

    def exits(self) -> list[int]:
        """How each of them ended, once all have."""
        if self.ended is None:
            self.ended = json.loads(self.output.readline())
        return self.ended


@contextmanager
def crowd(work: str, count: int, url: str, folder: Path) -> Iterator[Crowd]:
    """Processes that do `work` in the environment of this test; those that are left at the end are killed."""
    asked = {"work": work, "count": count, "url": url, "folder": str(folder), "environment": dict(os.environ)}
    started = fork_server()
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write(json.dumps(asked) + "\n")
    started.stdin.flush()
    running = Crowd(json.loads(started.stdout.readline()), started.stdout)
    try:
        yield running
    finally:
        if running.ended is None:
            for pid in running.pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            running.exits()


@cache
def fork_server() -> subprocess.Popen[str]:
    """The process that the crowds of all tests are forked from, for its imports take longest."""
    program = [sys.executable, str(Path(__file__).with_name("ledger_crowd.py"))]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    started = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(started.communicate)
    return started


def together(work: str, count: int, url: str, folder: Path) -> list[Any]:
    """What each of the processes reported, after all began at the same time."""
    with crowd(work, count, url, folder) as running:
        assert running.exits() == [0] * count
    return [json.loads((folder / f"report-{number}").read_text()) for number in range(count)]


def test_eight_processes_are_granted_exactly_the_cap_and_nobody_is_left_waiting_by_the_others(
    new_url: Callable[[], str], tmp_path: Path
) -> None:
    """Each would be granted 12. A machine may hold a process up, but not in three rounds the one that has fewest."""
    assert any(fewest_of_eight(new_url(), tmp_path) >= 4 for _ in range(3))


def fewest_of_eight(url: str, tmp_path: Path) -> float:
    """Number of charges granted to the process that was granted the fewest of 100."""
    ledger = Ledger.open(url)
    ledger.create(account(cap=100))
    reports = together("spend_twenty", 8, url, tmp_path)
    assert [sum(report[kind] for report in reports) for kind in ("granted", "refused")] == [100, 60]
    assert ledger.statement("flights").remaining.exact == 0
    assert ledger.verify().entries == 101
    rate = 160 / max(report["seconds"] for report in reports)
    print(f"\n{url.split(':', maxsplit=1)[0]}: 160 charges (100 granted) by 8 processes: {rate:.0f} per second")
    return float(min(report["granted"] for report in reports))


def test_the_same_request_from_eight_processes_is_charged_once_and_answered_alike(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=8))
    replies = together("ask_the_same", 8, url, tmp_path)
    assert replies == [replies[0]] * 8
    assert ledger.statement("flights").spent.exact == 1
    assert ledger.verify().entries == 3  # the account, one grant, one answer


def test_eight_processes_that_note_the_same_names_may_use_the_same_notes(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=8))
    noted = together("note_the_same", 8, url, tmp_path)
    names = {name for notes in noted for name in notes}
    assert all(len({notes[name] for notes in noted if name in notes}) == 1 for name in names)
    assert ledger.verify().entries == 2 + len(names) == 29


def test_of_two_questions_under_one_request_one_is_refused(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=8))
    refusal = "request: 'same' was used for another question; give a new one or leave it out"
    assert sorted(together("ask_something_else", 2, url, tmp_path)) == ["granted", refusal]
    assert ledger.statement("flights").spent.exact == 1


def test_eight_processes_make_one_ledger(url: str, tmp_path: Path) -> None:
    keys = together("open_and_create", 8, url, tmp_path)
    assert keys == [keys[0]] * 8
    assert Ledger.open(url).verify().entries == 1


@pytest.mark.usefixtures("no_environment_key")
def test_eight_processes_make_one_ledger_with_one_key_file(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    url = f"sqlite:///{tmp_path}/ledger/budget.db"
    keys = together("open_and_create", 8, url, tmp_path)
    assert keys == [keys[0]] * 8
    assert Ledger.open(url).verify().entries == 1
    assert sorted(path.name for path in (tmp_path / "ledger").iterdir()) == [
        "budget.db",
        "budget.db-line",
        "budget.db.key",
    ]


def lines(folder: Path) -> list[str]:
    """Return the revealed answers of complete lines; a killed process may leave a partial last line."""
    texts = [file.read_text() for file in folder.glob("revealed-*")]
    return [line for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_for_lines(folder: Path, count: int) -> None:
    end = time.monotonic() + WAIT
    while len(lines(folder)) < count:
        assert time.monotonic() < end, "the processes reveal nothing"
        time.sleep(0.02)


def kill_one_after_the_other(pids: Sequence[int], folder: Path) -> None:
    """Each process is killed after some further answers of all, at a random point of its work."""
    for pid in pids:
        wait_for_lines(folder, len(lines(folder)) + 2)
        os.kill(pid, signal.SIGKILL)


def test_what_eight_killed_processes_revealed_is_recorded(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=10**6))
    with crowd("reveal_until_killed", 8, url, tmp_path) as running:
        wait_for_lines(tmp_path, 16)
        kill_one_after_the_other(running.pids, tmp_path)
        assert running.exits() == [-signal.SIGKILL] * 8
    revealed = dict(json.loads(line) for line in lines(tmp_path))
    recorded = {line.request: line for line in ledger.statement("flights").grants}
    assert len(revealed) >= 32
    assert revealed.keys() <= recorded.keys()
    again = {request: charge(ledger, request) for request in revealed}  # costs nothing
    assert {request: ledger.find_answer(grant, 0, 0) for request, grant in again.items()} == revealed
    assert ledger.statement("flights").spent.exact == len(recorded)
    assert ledger.verify().entries >= 1 + 2 * len(revealed)
    print(f"\n{url.split(':', maxsplit=1)[0]}: {len(recorded)} recorded, {len(revealed)} revealed")


def test_eight_processes_exceed_neither_their_allowances_nor_the_cap(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=30))
    allow_all(ledger, project=20, analyst=15)
    granted = together("spend_for_a_project", 8, url, tmp_path)
    assert sum(granted) == 30  # 80 were asked for
    statement = ledger.statement("flights")
    assert statement.remaining.exact == 0
    for each in statement.allowances:
        of_it = [
            count
            for number, count in enumerate(granted)
            if each.project == member(number).project and each.analyst in (None, member(number).analyst)
        ]
        assert sum(of_it) == each.spent.exact <= each.limit.exact
    assert ledger.verify().entries == 1 + 8 + 2 * 30


def test_what_eight_processes_of_two_projects_ask_is_paid_once_in_each(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=8))
    allow_all(ledger, project=3, analyst=3)
    grants = together("ask_the_same_in_a_project", 8, url, tmp_path)
    assert grants == grants[:2] * 4
    assert not set(grants[0]) & set(grants[1])
    assert ledger.statement("flights").spent.exact == 6
    assert ledger.verify().entries == 1 + 8 + 2 * 6


def test_killed_processes_leave_no_charge_without_its_allowances(url: str, tmp_path: Path) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=10**6))
    allow_all(ledger, project=10**6, analyst=10**6)
    with crowd("reveal_for_a_project", 4, url, tmp_path) as running:
        wait_for_lines(tmp_path, 8)
        kill_one_after_the_other(running.pids, tmp_path)
        assert running.exits() == [-signal.SIGKILL] * 4
    revealed = dict(json.loads(line) for line in lines(tmp_path))
    statement = ledger.statement("flights")
    assert revealed.keys() <= {line.request for line in statement.grants}
    for each in statement.allowances:
        paid = [line for line in statement.grants if line.member and line.member.project == each.project]
        assert each.spent.exact == sum(each.analyst in (None, line.member.analyst) for line in paid if line.member)
    assert all(line.member for line in statement.grants)
    assert ledger.verify().entries >= 9 + 3 * len(revealed)


def in_a_fork(work: Callable[[], object]) -> int:
    """Fork a process that does `work` with everything that this process has open."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return process


def test_a_ledger_that_is_open_survives_a_fork(url: str) -> None:
    ledger = Ledger.open(url)
    ledger.create(account(cap=100))
    charge(ledger, "before")

    def spend(number: int) -> None:
        for i in range(5):
            charge(ledger, f"{number}-{i}")

    children = [in_a_fork(lambda number=number: spend(number)) for number in range(4)]  # type: ignore[misc]
    spend(4)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert ledger.statement("flights").spent.exact == 26
    assert ledger.verify().entries == 27
