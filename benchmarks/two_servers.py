"""Two servers end to end on this machine: upload, quartiles, a curve, bytes, and the error beside the plan.

`python benchmarks/two_servers.py [--reports 100000] [--check]`. Both servers are processes of their own, owners and
analyst are this one. Each report is sealed on its own, as if each came from another owner. Times are by the clock, and
the processors' time of all processes stands beside them: on a busy machine that is the one to look at. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import sub
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import dpcurves as dp
from dpcurves.aggregator import Task
from dpcurves.aggregator.analyst import Analyst, close
from dpcurves.aggregator.desk import encoding_of
from dpcurves.aggregator.founding import found
from dpcurves.aggregator.identity import Identity
from dpcurves.aggregator.owner import Contribution, bearer_of, read_places
from dpcurves.aggregator.sealing import OVERHEAD
from dpcurves.aggregator.ticket import Role, Ticket
from dpcurves.crypto import PortableEngine
from dpcurves.curves import QuantileQuestion, ThresholdsQuestion
from dpcurves.data import Axis, RangeQuery
from dpcurves.ledger import Purse
from dpcurves.mechanisms.keyed_path import NoiseKey
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD
from dpcurves.release import ALL, Release, Setting, Step
from dpcurves.trust import FunctionShares, Owners
from dpcurves.trust.shared_records import Encoding, Reports

GRID = dp.Grid(-8, 8, cells=2**32 - 1)  # with the place of missing records, 32 bits
ONE = dp.PrivacyLoss.pure(1)
RUNS, THRESHOLDS = 200, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--check", action="store_true", help="servers check reports")
    arguments = parser.parse_args()
    reports, owners = arguments.reports, Owners.CHECKED if arguments.check else Owners.UNCHECKED
    table = Table(
        "what", "target", "seconds", "processor seconds", title=f"{reports} reports, 32-bit grid, two servers"
    )
    with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True)) as bars:
        task = founded(Path(folder), reports, owners)
        with servers(Path(folder), task) as clock:
            measure(Path(folder), task, reports, clock, table, bars)
        errors(table, bars)
    Console().print(table)


def founded(folder: Path, reports: int, owners: Owners) -> Task:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        ports = one.getsockname()[1], other.getsockname()[1]
    first, second = (Identity.found(folder / f"a{party}", f"https://127.0.0.1:{ports[party]}") for party in (0, 1))
    draft = Task("benchmark", "x", GRID, None, ONE, reports, (first.public, second.public), {}, owners=owners)
    people = {Role.OWNER: 1, Role.ANALYST: 1, Role.COORDINATOR: 1}
    return found(draft, people, folder / "task.json", folder / "tickets")


class Clock:
    """Seconds by the clock, and of the processors, of this process and both servers."""

    def __init__(self, processes: list[int]) -> None:
        self.processes = processes
        self.start()

    def start(self) -> None:
        self._wall, self._cpu = perf_counter(), self._spent()

    def stop(self) -> tuple[str, str]:
        return f"{perf_counter() - self._wall:.2f}", f"{self._spent() - self._cpu:.2f}"

    def _spent(self) -> float:
        return process_time() + sum(cpu_of(process) for process in self.processes)


def cpu_of(process: int) -> float:
    """Zero where the system does not say."""
    file = Path(f"/proc/{process}/stat")
    if not file.exists():
        return 0.0
    fields = file.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def servers(folder: Path, task: Task) -> Iterator[Clock]:
    running = []
    for party in (0, 1):
        own = folder / f"a{party}"
        command = [
            sys.executable, "-m", "dpcurves.cli", "aggregator", "--party", str(party), "--task",
            str(folder / "task.json"), "--identity", str(own), "--store", f"sqlite:///{own / 'reports.db'}",
        ]  # fmt: skip
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        yield Clock([process.pid for process in running])
    finally:
        for process in running:
            process.terminate()
            process.wait(30)


def measure(  # noqa: PLR0917
    folder: Path, task: Task, reports: int, clock: Clock, table: Table, bars: Progress
) -> None:
    tickets = folder / "tickets"
    places = read_places(task, {"x": np.random.default_rng(1).normal(size=reports)})
    contribution = Contribution.of(task, places, tickets / "owner-1")
    bar = bars.add_task("upload", total=reports)
    clock.start()
    bearer = bearer_of(task, tickets / "owner-1")
    contribution.send(bearer, lambda gone: bars.update(bar, completed=gone))
    table.add_row("upload", "60", *clock.stop())
    clock.start()
    close(task, Ticket.read(tickets / "coordinator-1", Role.COORDINATOR))
    table.add_row("close", "", *clock.stop())
    with Analyst(task, Ticket.read(tickets / "analyst-1", Role.ANALYST)) as analyst:
        clock.start()
        analyst.ask(ThresholdsQuestion("x", GRID, (2**31,)))
        table.add_row("first answer (reports are read, the loss is charged)", "", *clock.stop())
        if task.owners is Owners.CHECKED:
            table.add_row("bytes to each server, for each report", "", f"{encoding_of(task).size}", "")
            return
        clock.start()
        bar = bars.add_task("quartiles", total=33)
        analyst.ask(Quartiles(), progress=lambda: bars.advance(bar))
        table.add_row("three quartiles by bisection", "3", *clock.stop())
        clock.start()
        bar = bars.add_task("quartiles, with intervals", total=96)
        for p in (0.25, 0.5, 0.75):
            analyst.ask(QuantileQuestion("x", GRID, p), progress=lambda: bars.advance(bar))
        table.add_row("three quartiles one by one, with intervals", "", *clock.stop())
        clock.start()
        analyst.ask(ThresholdsQuestion("x", GRID, tuple(GRID.cells * place // 64 for place in range(1, 65))))
        table.add_row("64-point curve", "10", *clock.stop())
    size = encoding_of(task).size
    table.add_row("bytes to each server, for each report", "800", f"{size}", f"and {OVERHEAD + 16} for the seal and id")


@dataclass(frozen=True)
class Quartiles:
    """All three by the bisection of Algorithm 1 (Barczewski, Mawass and Ramon), side by side, without intervals."""

    @property
    def paid_as(self) -> RangeQuery:
        return RangeQuery((Axis("x", GRID),), at=())

    def steps(self, setting: Setting) -> Generator[Step, Release, list[float]]:
        total = (yield self._look([GRID.slots])).values[0]
        low, high = [0, 0, 0], [GRID.slots] * 3
        while max(map(sub, high, low)) > 1:
            middles = [(one + other) // 2 for one, other in zip(low, high, strict=True)]
            asked = sorted(set(middles))
            counts = dict(zip(asked, (yield self._look(asked)).values, strict=False))
            for number, middle in enumerate(middles):
                reached = counts[middle] >= (number + 1) / 4 * total
                low[number], high[number] = (low[number], middle) if reached else (middle, high[number])
        return GRID.edge(np.array(high)).tolist()

    def _look(self, at: list[int]) -> Step:
        return Step(replace(self.paid_as, at=tuple(at)), share=ALL)


def errors(table: Table, bars: Progress) -> None:
    """The root mean square of errors of shared counts, over pairs of servers with keys of their own."""
    at = tuple(GRID.cells * place // THRESHOLDS for place in range(1, THRESHOLDS + 1))
    encoding = Encoding(GRID.slots, PortableEngine.of_task(b"benchmark"))
    places = GRID.cell_of(np.random.default_rng(2).normal(size=500))
    shares = encoding.shared(places, Randomness.system())
    keys = [encoding.keys(party, [share[party] for share in shares]) for party in (0, 1)]
    query = replace(Quartiles().paid_as, at=at)
    plan = FunctionShares().plan(query, ONE, dp.REPLACE_ONE.among(EACH_RECORD, 500))
    payment, exact = Purse.rehearsing(ONE).pay("tree", ALL), np.array([(places < each).sum() for each in at])
    squares = []
    for _ in bars.track(range(RUNS), description="errors"):
        pair = [Reports(key, encoding.engine, NoiseKey(os.urandom(32))) for key in keys]
        values = FunctionShares().run(plan, pair, payment, Randomness.system()).values
        squares.append(np.mean((np.array(values) - exact) ** 2))
    ratio = float(np.sqrt(np.mean(squares))) / plan.error
    table.add_row(f"error over {RUNS} runs, beside plan", "0.95 to 1.05", f"{ratio:.3f}", "")


if __name__ == "__main__":
    main()
