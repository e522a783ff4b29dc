"""Two servers and many owners of one report: uploads, closing, counts of all cells, memory; and what a million cost.

`python benchmarks/million.py [--owners 1000] [--stored 0,1000000] [--memory 100000,300000] [--cells 4096]`. Both
servers are processes of their own with an SQLite store each; owners and analyst are threads of this process, 16 owners
at a time, each with a connection of its own to each server. Measured is processors' time: on a machine that is busy
with other things the clock tells nothing, and processors' time is longer there, too. What stands under "a million" is
the time per owner times 10**6: an extrapolation, but for `--owners 1000000`. With a number above 0 in `--stored`,
uploads alone are measured, while so many reports of as many other owners lie in both stores. With `--memory`, so many
reports are put into both stores directly, and closing, the first answer and the resident memory of server 0 are
measured: reports held in memory, and in jobs on disk. The defaults take about a minute. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.table import Table
from two_servers import ONE, cpu_of, founded, servers

import dpcurves as dp
from dpcurves.curves import CdfQuestion
from dpcurves.ledger import Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.serving.channel import Channel, trusting
from dpcurves_parties.serving.task_document import Role, Ticket, hash_of
from dpcurves_parties.serving.two_servers.owner import Contribution, close
from dpcurves_parties.serving.two_servers.report_set import ID, NAME, Earlier, digest_of, whole
from dpcurves_parties.serving.two_servers.store import Offer, Store, Stored
from dpcurves_parties.shares import Task
from dpcurves_parties.shares.analyst import Analyst
from dpcurves_parties.shares.function_shares import Owners

MILLION = 10**6
PATIENT = "--patience", "600"
AT_ONCE = 16
PART = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=1000)
    parser.add_argument("--cells", type=int, default=4096)
    parser.add_argument("--stored", default="0", help="reports of others in both stores: numbers with commas")
    parser.add_argument("--memory", help="measure memory with so many reports: numbers with commas")
    parser.add_argument("--workers", default="", help="who evaluates jobs, as for `dpcurves aggregator`")
    arguments = parser.parse_args()
    grid = dp.Grid(0, 1, cells=arguments.cells)
    if arguments.memory:
        Console().print(memory([int(number) for number in arguments.memory.split(",")], grid, arguments.workers))
        return
    for stored in map(int, arguments.stored.split(",")):
        Console().print(run(arguments.owners, stored, grid, arguments.workers))


def run(owners: int, stored: int, grid: dp.Grid, workers: str) -> Table:
    title = f"{owners} owners of one report, {grid.cells} cells, {stored} reports of others stored"
    table = Table("what", "processor ms an owner", "a million: minutes", title=title)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task, tokens = of_many(folder, owners, stored, grid)
        for party in (0, 1):
            fill(task, store_of(folder, party), [(bytes(task.encoding.size), secrets.token_bytes(16))], stored)
        more = ["--jobs", str(folder / "jobs"), *(["--workers", workers] if workers else [])]
        with servers(folder, task, *PATIENT, *more) as processes:
            both = Both(processes)
            spent = both.spent()
            begun, mine = perf_counter(), process_time()
            upload(task, tokens)
            wall, mine = perf_counter() - begun, process_time() - mine
            steps = {
                "owners: shares, seals, two connections": mine,
                **{f"upload at server {party}": each for party, each in enumerate(both.since(spent))},
            }
            if not stored:
                spent = both.spent()
                close(task, Ticket.read(folder / "tickets" / "coordinator-1", Role.COORDINATOR))
                steps["closing, both servers"] = sum(both.since(spent))
                spent = both.spent()
                ask(folder, task, grid)
                steps["counts of all cells, both servers"] = sum(both.since(spent))
    for what, seconds in steps.items():
        table.add_row(what, f"{1000 * seconds / owners:.3f}", f"{seconds / owners * MILLION / 60:.1f}")
    total = sum(steps.values())
    table.add_section()
    table.add_row("all processes", f"{1000 * total / owners:.3f}", f"{total / owners * MILLION / 60:.1f}")
    table.add_row(f"by the clock, {AT_ONCE} owners at a time, uploads alone", f"{1000 * wall / owners:.3f}", "")
    return table


def memory(sizes: Sequence[int], grid: dp.Grid, workers: str) -> Table:
    title = f"server 0, {grid.cells} cells: MB resident at most, and processor seconds of both servers"
    table = Table("reports", "held", "before", "closed", "answered", "closing", "first answer", title=title)
    for reports in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            task, _ = of_many(folder, 1, 1, grid)
            shares = task.encoding.shared(np.arange(min(PART, grid.cells)), Randomness.system())
            ids = [os.urandom(ID) for _ in range(reports)]
            for party in (0, 1):
                fill(
                    task, store_of(folder, party), [(one[party], digest(task, one[party])) for one in shares],
                    reports, ids,
                )  # fmt: skip
            closing = ""
            for held in ("in memory", "in jobs"):
                more = ["--jobs", str(folder / "jobs"), *(["--workers", workers] if workers else [])]
                with servers(folder, task, *PATIENT, *(more if held == "in jobs" else [])) as processes:
                    both = Both(processes)
                    before, spent = both.peak(), both.spent()
                    close(task, Ticket.read(folder / "tickets" / "coordinator-1", Role.COORDINATOR))
                    closed = f"{both.peak():.0f}" if not closing else ""  # it is closed once
                    closing, spent = (f"{sum(both.since(spent)):.1f}" if not closing else "-"), both.spent()
                    both.forget_peaks()
                    ask(folder, task, grid)
                    first = f"{sum(both.since(spent)):.1f}"
                    row = f"{reports}", held, f"{before:.0f}", closed, f"{both.peak():.0f}", closing, first
                    table.add_row(*row)
    return table


def digest(task: Task, share: bytes) -> bytes:
    return digest_of(share[: task.encoding.public_size])


def of_many(folder: Path, owners: int, others: int, grid: dp.Grid) -> tuple[Task, list[Ticket]]:
    """A task with so many owners, whose tickets lie in no files, and as many others as have reports stored."""
    import two_servers

    two_servers.GRID = grid
    draft = founded(folder, MILLION, Owners.UNCHECKED)
    tokens = [secrets.token_hex(32) for _ in range(owners)]
    hashes = (*(hash_of(token) for token in tokens), *(hash_of(f"{number}") for number in range(others)))
    task = replace(draft, loss=ONE, tokens={**draft.tokens, Role.OWNER: hashes})
    (folder / "task.json").write_text(task.to_json() + "\n")
    for role in (Role.ANALYST, Role.COORDINATOR):
        file = folder / "tickets" / f"{role.value}-1"
        ticket = replace(Ticket.read(file, role), task=task.hash)
        file.unlink()
        ticket.write(file)
    return task, [Ticket(task.hash, Role.OWNER, token) for token in tokens]


def store_of(folder: Path, party: int) -> str:
    return f"sqlite:///{folder / f'a{party}' / 'reports.db'}"


def fill(
    task: Task, url: str, shares: Sequence[tuple[bytes, bytes]], reports: int, ids: Sequence[bytes] | None = None
) -> None:
    """Store reports with these shares and digests in turn, as if others had sent them."""
    Ledger.open(url)
    store = Store(url)
    store.begin(task.hash)
    for start in range(0, reports, PART):
        names = (
            [os.urandom(ID) for _ in range(min(PART, reports - start))] if ids is None else ids[start : start + PART]
        )
        some = [shares[number % len(shares)] for number in range(len(names))]
        more = [
            Stored(name, digest, whole(name, share), share) for name, (share, digest) in zip(names, some, strict=True)
        ]
        store.add(task.hash, MILLION, Offer(MILLION + start // PART, bytes(NAME), Earlier.STAYS, more))


def upload(task: Task, tokens: Sequence[Ticket]) -> None:
    """Uploads of the owners, each on connections of its own; the trust in certificates is read once."""
    ways = [(server.url, trusting(server.certificate)) for server in task.servers]
    path = f"/tasks/{task.hash}/reports"

    def contribute(number: int) -> None:
        place = np.array([number % task.grid.cells])
        contribution = Contribution(task, place, secrets.token_bytes(32))
        for batch in contribution.batches():
            for party, (url, context) in enumerate(ways):
                with Channel(url, context) as server:
                    server.post(path, batch[party], tokens[number].shown_to(party))

    with ThreadPoolExecutor(AT_ONCE) as crowd:
        for _ in crowd.map(contribute, range(len(tokens))):
            pass


def ask(folder: Path, task: Task, grid: dp.Grid) -> None:
    analyst = Analyst(task, Ticket.read(folder / "tickets" / "analyst-1", Role.ANALYST), patience=600)
    analyst.ask(CdfQuestion("x", grid))
    analyst.close()


@dataclass(frozen=True)
class Both:
    """Both servers, which are watched."""

    processes: Sequence[subprocess.Popen[str]]

    def spent(self) -> list[float]:
        """Processor seconds of each, with its own processes."""
        return [sum(map(cpu_of, [each.pid, *children_of(each.pid)])) for each in self.processes]

    def since(self, spent: Sequence[float]) -> list[float]:
        return [now - before for now, before in zip(self.spent(), spent, strict=True)]

    def peak(self) -> float:
        """MB that server 0 had resident at most."""
        lines = Path(f"/proc/{self.processes[0].pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000

    def forget_peaks(self) -> None:
        Path(f"/proc/{self.processes[0].pid}/clear_refs").write_text("5")


def children_of(process: int) -> list[int]:
    """Processes below one, however deep."""
    found = [int(one) for file in Path(f"/proc/{process}/task").glob("*/children") for one in file.read_text().split()]
    return [*found, *(one for child in found for one in children_of(child))]


if __name__ == "__main__":
    main()
