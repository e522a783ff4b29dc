"""Two servers and many owners of one report: uploads, closing, counts of all cells, memory; and what a million cost.

`python benchmarks/million.py [--owners 1000] [--road leader] [--stored 0,1000000] [--memory 100000,300000]`. Both
servers are processes of their own with an SQLite store each. Owners are threads of further processes; each has a
ticket, a connection of its own, and a report that is sealed to both servers: with `--road leader` it uploads by the
messages of the DAP draft, to the leader alone; with `--road both` it has a connection to each server. What a server's
certificate says is read once in each process; an owner who reads it alone needs 0.2 ms more. Measured is processors'
time: on a machine that is busy with other things the clock tells nothing, and processors' time is longer there, too.
What stands under "a million" is the time per owner times 10**6: an extrapolation, but for `--owners 1000000`.

`--owners 1000000 --resume FOLDER [--until 06:00]` does it in pieces of 10,000 owners, and keeps in the folder what
each piece took: begun again, it goes on, also where it was stopped. At the end of the piece in which the time `--until`
(UTC) has come it ends in order; with all owners, the task is closed, and the curve is compared with the exact one.

With a number above 0 in `--stored`, uploads alone are measured, while so many reports of as many other owners lie in
both stores. With `--memory`, so many reports are put into both stores directly, and closing, the first answer and the
resident memory of server 0 are measured: reports held in memory, and in jobs on disk. `--floor` measures what no
program saves: the handshake of an owner's connection at both ends, two seals and what opens them, in one process
without a socket. The defaults take about half a minute. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf
from multiprocessing import get_context
from pathlib import Path
from ssl import MemoryBIO, SSLContext, SSLSocket, SSLWantReadError
from time import perf_counter, process_time, time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from two_servers import ONE, cpu_of, founded, servers

import dpcurves as dp
from dpcurves.curves import CdfQuestion
from dpcurves.ledger import Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.serving.channel import Channel, make_pinned_context
from dpcurves_parties.serving.identity import CERTIFICATE_FILE, TLS_KEY_FILE, Identity
from dpcurves_parties.serving.server import make_server_context
from dpcurves_parties.serving.task_document import Role, Ticket, hash_token
from dpcurves_parties.serving.two_servers.owner import Contribution, close_task
from dpcurves_parties.serving.two_servers.report_set import (
    HASH_SIZE,
    ID_SIZE,
    EarlierPolicy,
    digest_public_share,
    hash_share,
    open_share,
    seal_share,
)
from dpcurves_parties.serving.two_servers.store import Offer, Store, StoredReport
from dpcurves_parties.shares import Task
from dpcurves_parties.shares.analyst import Analyst
from dpcurves_parties.shares.dap_uploads import LeaderUpload
from dpcurves_parties.shares.function_shares import Owners

MILLION = 10**6
PATIENT = "--timeout", "600"
LEADER, BOTH = "leader", "both"
PROCESSES, AT_ONCE, SHARES = 3, 75, 1
"""Processes of owners, owners in each at a time, and parts of a piece that each is given one after the other."""
PIECE = 10_000
PART = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=1000)
    parser.add_argument("--road", choices=(LEADER, BOTH), default=LEADER)
    parser.add_argument("--resume", help="a folder: what is left of a run in pieces is done")
    parser.add_argument("--until", default="", help="HH:MM, UTC: no piece is begun after it")
    parser.add_argument("--cells", type=int, default=4096)
    parser.add_argument("--stored", default="0", help="reports of others in both stores: numbers with commas")
    parser.add_argument("--memory", help="measure memory with so many reports: numbers with commas")
    parser.add_argument("--floor", action="store_true", help="measure a connection's handshake and two seals alone")
    parser.add_argument("--workers", default="", help="who evaluates jobs, as for `dpcurves aggregator`")
    arguments = parser.parse_args()
    grid = dp.Grid(0, 1, cells=arguments.cells)
    if arguments.floor:
        Console().print(floor(arguments.owners))
        return
    if arguments.memory:
        Console().print(memory([int(number) for number in arguments.memory.split(",")], grid, arguments.workers))
        return
    until = at(arguments.until)
    for stored in map(int, arguments.stored.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(arguments.resume or name)
            run = Run(folder, arguments.owners, stored, grid, arguments.road, arguments.workers)
            Console().print(run.go_on(until))


def floor(owners: int) -> Table:
    """Processor time of a handshake at both ends, of two seals, and of what opens them."""
    spent = dict.fromkeys(("handshake, owner", "handshake, server", "two seals", "opening both"), 0.0)

    def timed(what: str, work: Callable[[], Any]) -> Any:
        start = process_time()
        try:
            return work()
        finally:
            spent[what] += process_time() - start

    with tempfile.TemporaryDirectory() as name:
        identity = Identity.create(Path(name) / "a0", "https://127.0.0.1:8701")
        at_server = make_server_context(identity.folder / CERTIFICATE_FILE, identity.folder / TLS_KEY_FILE, ())
    at_owner, key = make_pinned_context(identity.public.certificate), identity.hpke_key.public_key()
    for context in (at_owner, at_server):
        context.sslsocket_class = SSLSocket
    for _ in range(owners):
        there, back = MemoryBIO(), MemoryBIO()
        asks = partial(at_owner.wrap_bio, back, there, server_hostname="127.0.0.1")
        told = partial(at_server.wrap_bio, there, back, server_side=True)
        ends = {what: timed(what, end) for what, end in (("handshake, owner", asks), ("handshake, server", told))}
        while ends:
            for what, end in tuple(ends.items()):
                with suppress(SSLWantReadError):
                    timed(what, end.do_handshake)
                    del ends[what]
        for _ in (0, 1):
            message = timed("two seals", partial(seal_share, bytes(300), key, b"place"))
            timed("opening both", partial(open_share, message, identity.hpke_key, b"place"))
    table = Table("part", "ms an owner", "minutes of a million", title="what no program saves")
    for what, seconds in {**spent, "all of it": sum(spent.values())}.items():
        table.add_row(what, f"{1e3 * seconds / owners:.3f}", f"{MILLION * seconds / owners / 60:.1f}")
    return table


def at(clock: str) -> float:
    """Seconds since 1970 of the next time at which a clock of UTC shows this."""
    if not clock:
        return inf
    now = datetime.now(UTC)
    then = datetime.combine(now.date(), datetime.strptime(clock, "%H:%M").time(), UTC)
    return (then if then > now else then + timedelta(days=1)).timestamp()


@dataclass(frozen=True)
class Spent:
    """Costs of a part of a run.

    Attributes:
        wall: Seconds by the clock.
        owners: Processor seconds of owners, or of the analyst.
        servers: Those of both servers, with their own processes.
        peaks: MB that each server had resident at most, until then.
    """

    wall: float
    owners: float
    servers: list[float]
    peaks: list[float]

    @classmethod
    def since(cls, start: Start, both: Both, owners: float = 0.0, wall: float | None = None) -> Spent:
        seconds = perf_counter() - start.wall if wall is None else wall
        return cls(seconds, owners, both.since(start.servers), both.peaks())


class Start(NamedTuple):
    """Readings of the clock and of both servers' processor time at the start of a part."""

    wall: float
    servers: list[float]

    @classmethod
    def now(cls, both: Both) -> Start:
        return cls(perf_counter(), both.spent())


@dataclass(frozen=True)
class Run:
    """Uploads of many owners, piece by piece, closing and the curve; what each took is kept in a folder.

    Attributes:
        folder: Where keys, stores and what was measured lie.
        owners: Number of owners of the task.
        stored: Number of reports of other owners.
        grid: Cells of the task.
        road: `LEADER` or `BOTH`.
        workers: Who evaluates jobs.
    """

    folder: Path
    owners: int
    stored: int
    grid: dp.Grid
    road: str
    workers: str

    def prepared(self) -> Task:
        """The task, made where the folder has none."""
        if not (self.folder / "seed").exists():
            self.folder.mkdir(exist_ok=True)
            seed = secrets.token_bytes(32)
            tokens = [token_of(seed, number) for number in range(self.owners)]
            task, _ = of_many(self.folder, tokens, self.stored, self.grid, most=MILLION if self.stored else 1)
            for party in (0, 1):
                filler = [(bytes(task.encoding.size), secrets.token_bytes(16))]
                fill(task, store_of(self.folder, party), filler, self.stored)
            (self.folder / "seed").write_bytes(seed)
        return Task.load(self.folder / "task.json")

    def go_on(self, until: float) -> Table:
        """Do what is left, as long as the time has not come."""
        task = self.prepared()
        more = ["--jobs", str(self.folder / "jobs"), *(["--workers", self.workers] if self.workers else [])]
        with servers(self.folder, task, *PATIENT, *more) as processes:
            both = Both(processes)
            self._keep("start", Spent.since(Start(0.0, [0.0, 0.0]), both, wall=0.0))
            with ProcessPoolExecutor(PROCESSES, get_context("spawn"), Crowd.begin, (self.folder, self.road)) as crowds:
                for first in range(self.done(), self.owners, PIECE):
                    if time() > until:
                        break
                    last = min(first + PIECE, self.owners)
                    start = Start.now(both)
                    edges = np.linspace(first, last, min(last - first, PROCESSES * SHARES) + 1).astype(int)
                    owners = sum(crowds.map(Crowd.upload, edges[:-1], edges[1:]))
                    self._keep("upload", Spent.since(start, both, owners), first, last)
            if self.done() == self.owners and not self.stored:
                self._close_and_ask(task, both)
        return self.table()

    def _close_and_ask(self, task: Task, both: Both) -> None:
        start = Start.now(both)
        closed = close_task(
            task, Ticket.load(self.folder / "tickets" / "coordinator-1", Role.COORDINATOR), timeout=3600
        )
        self._keep("close", Spent.since(start, both), 0, closed.reports)
        start, mine = Start.now(both), process_time()
        curve = ask(self.folder, task, self.grid)
        self._keep("answer", Spent.since(start, both, process_time() - mine), 0, closed.reports)
        exact = np.cumsum(np.bincount(places_of(np.arange(self.owners), self.grid), minlength=self.grid.cells))
        found = np.asarray(curve.y)[1:] * closed.reports
        np.savez(self.folder / "curve.npz", exact=exact, found=found)

    def done(self) -> int:
        """Number of owners who have uploaded."""
        return max((each["last"] for each in self.kept() if each["what"] == "upload"), default=0)

    def kept(self) -> list[dict[str, Any]]:
        """Costs of the parts that are done."""
        file = self.folder / "pieces.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _keep(self, what: str, spent: Spent, first: int = 0, last: int = 0) -> None:
        facts = {"what": what, "first": first, "last": last, **asdict(spent)}
        with (self.folder / "pieces.jsonl").open("a") as file:
            file.write(json.dumps(facts) + "\n")

    def table(self) -> Table:
        """Costs of the run, by part."""
        kept, done = self.kept(), self.done()
        stored = f", {self.stored} reports of others stored" if self.stored else ""
        title = f"{done} owners of one report, road: {self.road}, {self.grid.cells} cells{stored}"
        table = Table("what", "processor seconds", "ms an owner", "a million: minutes", title=title)
        of = {what: [each for each in kept if each["what"] == what] for what in ("start", "upload", "close", "answer")}
        rows = {"owners: shares, seals, connections": sum(each["owners"] for each in of["upload"])}
        for party in (0, 1):
            rows[f"uploads at server {party}"] = sum(each["servers"][party] for each in of["upload"])
        for what, name in (("close", "closing, both servers"), ("answer", "curve, both servers and analyst")):
            if of[what]:
                rows[name] = sum(sum(each["servers"]) + each["owners"] for each in of[what])
        for name, seconds in rows.items():
            table.add_row(name, *of_each(seconds, done))
        table.add_section()
        table.add_row("all processes", *of_each(sum(rows.values()), done))
        wall = sum(each["wall"] for each in of["upload"])
        table.add_row(f"by the clock, {PROCESSES * AT_ONCE} owners at a time, uploads alone", *of_each(wall, done))
        starts = sum(sum(each["servers"]) for each in of["start"])
        table.add_row(f"beside it: {len(of['start'])} starts of both servers", f"{starts:.1f}", "", "")
        peaks = [max(each["peaks"][party] for each in kept) for party in (0, 1)]
        table.add_row("MB resident at most, servers 0 and 1", f"{peaks[0]:.0f}, {peaks[1]:.0f}", "", "")
        if (self.folder / "curve.npz").exists():
            curve = np.load(self.folder / "curve.npz")
            off = curve["found"] - curve["exact"]
            table.add_row("curve less exact counts: root mean square, largest",
                          f"{np.sqrt(np.mean(off**2.0)):.1f}, {np.abs(off).max()}", "", "")  # fmt: skip
        return table


def of_each(seconds: float, owners: int) -> tuple[str, str, str]:
    each = seconds / max(owners, 1)
    return f"{seconds:.1f}", f"{1000 * each:.3f}", f"{each * MILLION / 60:.1f}"


def token_of(seed: bytes, number: int) -> str:
    """The token of an owner."""
    return hmac.digest(seed, b"token %d" % number, "sha256").hex()


def places_of(numbers: np.ndarray, grid: dp.Grid) -> np.ndarray:
    """Cells of owners: a hump in the middle, in an order without one."""
    middle = (numbers * 0.6180339887498949 % 1 + numbers * 0.7548776662466927 % 1) / 2
    return np.minimum((middle * grid.cells).astype(np.int64), grid.cells - 1)


@dataclass(frozen=True)
class Crowd:
    """Owners in a process of their own."""

    task: Task
    seed: bytes
    road: str

    @staticmethod
    def begin(folder: Path, road: str) -> None:
        crowd = Crowd(Task.load(folder / "task.json"), (folder / "seed").read_bytes(), road)
        crowd.task.encoding.warm_up()
        HERE.append(crowd)

    @staticmethod
    def upload(first: int, last: int) -> float:
        """Processor seconds that these owners took."""
        begun, (here,) = process_time(), HERE
        ways = [(server.url, make_pinned_context(server.certificate)) for server in here.task.servers]
        work = partial(here._by_leader if here.road == LEADER else here._by_both, ways)
        with ThreadPoolExecutor(AT_ONCE) as crowd:
            for _ in crowd.map(work, range(first, last)):
                pass
        return process_time() - begun

    def _by_leader(self, ways: Sequence[tuple[str, SSLContext]], number: int) -> None:
        contribution, ticket = self._owner(number)
        with Channel(*ways[0], 600) as leader:
            LeaderUpload(contribution, ticket).send_over(leader)

    def _by_both(self, ways: Sequence[tuple[str, SSLContext]], number: int) -> None:
        contribution, ticket = self._owner(number)
        path = f"/tasks/{self.task.hash}/reports"
        for batch in contribution.iterate_batches():
            for party, way in enumerate(ways):
                with Channel(*way, 600) as server:
                    server.post(path, batch[party], ticket.derive_bearer_token(party))

    def _owner(self, number: int) -> tuple[Contribution, Ticket]:
        token = token_of(self.seed, number)
        place = places_of(np.array([number]), self.task.grid)
        secret = hmac.digest(self.seed, b"secret %d" % number, "sha256")
        return Contribution(self.task, place, secret), Ticket(self.task.hash, Role.OWNER, token)


HERE: list[Crowd] = []
"""The owners of this process."""


def memory(sizes: Sequence[int], grid: dp.Grid, workers: str) -> Table:
    title = f"server 0, {grid.cells} cells: MB resident at most, and processor seconds of both servers"
    table = Table("reports", "held", "before", "closed", "answered", "closing", "first answer", title=title)
    for reports in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            task, _ = of_many(folder, [secrets.token_hex(32)], reports, grid)  # with a ticket for each
            shares = task.encoding.share_records(np.arange(min(PART, grid.cells)), Randomness.from_system())
            ids = [os.urandom(ID_SIZE) for _ in range(reports)]
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
                    close_task(task, Ticket.load(folder / "tickets" / "coordinator-1", Role.COORDINATOR))
                    closed = f"{both.peak():.0f}" if not closing else ""  # it is closed once
                    closing, spent = (f"{sum(both.since(spent)):.1f}" if not closing else "-"), both.spent()
                    both.forget_peaks()
                    ask(folder, task, grid)
                    first = f"{sum(both.since(spent)):.1f}"
                    row = f"{reports}", held, f"{before:.0f}", closed, f"{both.peak():.0f}", closing, first
                    table.add_row(*row)
    return table


def digest(task: Task, share: bytes) -> bytes:
    return digest_public_share(share[: task.encoding.public_size])


def of_many(
    folder: Path, tokens: Sequence[str], others: int, grid: dp.Grid, most: int = MILLION
) -> tuple[Task, list[Ticket]]:
    """A task with owners of these tokens, whose tickets lie in no files, and as many others as have reports stored."""
    import two_servers

    two_servers.GRID = grid
    draft = founded(folder, most, Owners.UNCHECKED)
    hashes = (*(hash_token(token) for token in tokens), *(hash_token(f"{number}") for number in range(others)))
    task = replace(draft, loss=ONE, tokens={**draft.tokens, Role.OWNER: hashes})
    (folder / "task.json").write_text(task.to_json() + "\n")
    for role in (Role.ANALYST, Role.COORDINATOR):
        file = folder / "tickets" / f"{role.value}-1"
        ticket = replace(Ticket.load(file, role), task=task.hash)
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
    store.create_task(task.hash)
    for start in range(0, reports, PART):
        names = (
            [os.urandom(ID_SIZE) for _ in range(min(PART, reports - start))]
            if ids is None
            else ids[start : start + PART]
        )
        some = [shares[number % len(shares)] for number in range(len(names))]
        more = [
            StoredReport(name, digest, hash_share(name, share), share)
            for name, (share, digest) in zip(names, some, strict=True)
        ]
        store.add_reports(
            task.hash, MILLION, Offer(MILLION + start // PART, bytes(HASH_SIZE), EarlierPolicy.STAYS, more)
        )


def ask(folder: Path, task: Task, grid: dp.Grid) -> Any:
    analyst = Analyst(task, Ticket.load(folder / "tickets" / "analyst-1", Role.ANALYST), timeout=3600)
    curve = analyst.ask(CdfQuestion("x", grid))
    analyst.close()
    return curve


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
        return self.peaks()[0]

    def peaks(self) -> list[float]:
        """MB that each had resident at most."""
        found = [Path(f"/proc/{each.pid}/status").read_text().splitlines() for each in self.processes]
        return [next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000 for lines in found]

    def forget_peaks(self) -> None:
        Path(f"/proc/{self.processes[0].pid}/clear_refs").write_text("5")


def children_of(process: int) -> list[int]:
    """Processes below one, however deep."""
    found = [int(one) for file in Path(f"/proc/{process}/task").glob("*/children") for one in file.read_text().split()]
    return [*found, *(one for child in found for one in children_of(child))]


if __name__ == "__main__":
    main()
