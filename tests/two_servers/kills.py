"""Two servers and their workers, killed at times that are drawn, while owners send, tasks are closed and analysts ask.

`python tests/two_servers/kills.py [KILLS] [SEED]` kills a server, or a process that evaluates jobs for one, until so
many were killed, each time with SIGKILL, and starts a server again at once. Of each task it is asked: that all reports
count which both servers have acknowledged, and each once; that all answers are the same numbers, also those of servers
that are started anew and hold reports in memory; and that each ledger was charged once. What fails is counted and
printed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from federation import LONG, Federation, values

from dpcurves.curves import CdfQuestion
from dpcurves.data import Grid
from dpcurves.ledger import Ledger
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import Task

OWNERS, REPORTS, QUESTIONS = 3, 40, 10
LONGEST = 0.6
"""Seconds between two kills, at most; on a busy machine three times as long as a server took to start."""
Result = TypeVar("Result")


class Killer:
    """Kills servers and workers, and starts servers again.

    Attributes:
        servers: Number of servers that were killed.
        workers: Number of their processes that were.
    """

    def __init__(self, pair: Federation, drawn: random.Random, most: int) -> None:
        self.pair, self.drawn, self.most, self.name = pair, drawn, most, ""
        self.servers, self.workers = 0, 0
        self._stop, self._pause = Event(), LONGEST

    @property
    def kills(self) -> int:
        return self.servers + self.workers

    def start(self, party: int) -> None:
        jobs, begun = ("--jobs", str(self.pair.folder / "jobs"), "--workers", "1"), time.monotonic()
        self.pair.start(party, *jobs, tasks=[self.name])
        self._pause = max(LONGEST, 3 * (time.monotonic() - begun))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Kill while this lasts. In the end both servers are up."""
        self._stop.clear()
        thread = Thread(target=self._work)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(LONG)

    def _work(self) -> None:
        while not self._stop.wait(self.drawn.uniform(0, self._pause)) and self.kills < self.most:
            party = self.drawn.randrange(2)
            server = self.pair.running[party].pid
            if not server:  # 0 would be all processes of this group
                continue
            below = workers_of(server)
            if below and self.drawn.random() < 0.7:
                with suppress(ProcessLookupError):
                    os.kill(self.drawn.choice(below), signal.SIGKILL)
                    self.workers += 1
                continue
            self.pair.end(party)
            self.servers += 1
            self.start(party)


def workers_of(server: int) -> list[int]:
    """Processes below a server, however deep, but those that only watch over others."""
    found = _children(server)
    return [each for each in found if b"resource_tracker" not in _line_of(each)]


def _children(process: int) -> list[int]:
    found = list[int]()
    with suppress(OSError):
        for file in Path(f"/proc/{process}/task").glob("*/children"):
            found += map(int, file.read_text().split())
    return [*found, *(one for child in found for one in _children(child))]


def _line_of(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def again(work: Callable[[], Result]) -> Result:
    """Result of `work`, once no server that it needs is away."""
    end = time.monotonic() + LONG
    while True:
        try:
            return work()
        except ProtocolError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def one_task(killer: Killer, number: int) -> list[str]:
    """Live through a task while servers and workers are killed. What was not as it should be."""
    pair, wrong = killer.pair, list[str]()
    owners = Owners.CHECKED if number % 2 else Owners.UNCHECKED
    killer.name = f"t{number}"
    task = pair.task(killer.name, cells=Grid(0, 1, cells=30), owners=owners)
    for party in (0, 1):
        killer.start(party)
    with killer.at_work():
        for owner in range(1, OWNERS + 1):
            again(lambda owner=owner: pair.contribute(task, values(REPORTS, owner), owner))  # type: ignore[misc]
        closed = again(lambda: pair.close(task))
        told = {again(lambda party=party: _answer(pair, task, party)) for party in (0, 1) * (QUESTIONS // 2)}  # type: ignore[misc]
    if closed.reports != OWNERS * REPORTS:
        wrong.append(f"{closed.reports} reports count, {OWNERS * REPORTS} were acknowledged")
    pair.end_all()
    for party in (0, 1):
        pair.start(party, tasks=[killer.name])
    told.add(again(lambda: _answer(pair, task, 0)))
    pair.end_all()
    if len(told) != 1:
        wrong.append(f"{len(told)} answers to one question")
    for party in (0, 1):
        ledger = Ledger.open_existing(pair.store(party))
        ledger.verify()
        if (spent := ledger.statement(task.dataset).spent.digits) != "10":
            wrong.append(f"the ledger of server {party} was charged {spent}")
    return [f"task {number}: {each}" for each in wrong]


def _answer(pair: Federation, task: Task, party: int) -> str:
    with pair.analyst(task, party) as analyst:
        return str(analyst.ask(CdfQuestion("x", task.grid), "one").to_json())


def killed(
    folder: Path, kills: int, seed: int, told: Callable[[str], object] = lambda line: None
) -> tuple[Killer, list[str]]:
    """Kill so many, in as many tasks as it takes; what was not as it should be."""
    pair = Federation(folder)
    killer, wrong, number = Killer(pair, random.Random(seed), kills), list[str](), 0
    try:
        while killer.kills < kills:
            wrong += one_task(killer, number)
            number += 1
            told(
                f"{number} tasks, {killer.servers} servers and {killer.workers} workers killed, {len(wrong)} violations"
            )
    finally:
        pair.close_connections()
        pair.end_all()
    return killer, wrong


def main() -> None:
    kills, seed = (int(sys.argv[place]) if len(sys.argv) > place else usual for place, usual in ((1, 100), (2, 1)))
    with tempfile.TemporaryDirectory() as folder:
        _, wrong = killed(Path(folder), kills, seed, lambda line: print(line, flush=True))
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
