"""Two servers end to end on this machine: upload, quartiles, a curve, bytes, and the error beside the plan.

`python benchmarks/two_servers.py [--reports 100000] [--check] [--stored 0,100000,1000000]`. Both servers are
processes of their own, owners and analyst are this one. Each report is sealed on its own, as if each came from
another owner. Times are by the clock, and the processors' time of all processes stands beside them: on a busy machine
that is the one to look at. With `--check`, upload and first answer are measured for owners who are believed and for
owners who are checked, and compared. With `--stored`, server 0 alone is measured: what it spends on an owner who
sends one report on a connection of its own, and on a stranger who asks where the task stands, while so many reports
of as many owners are stored. With `--quantiles`, five quantiles of checked reports on `--slots` cells are asked in one
question; reports are put into both stores, and `--jobs` has servers evaluate them in jobs on disk. With
`--cells`, one server's work for the counts of all of 1,024 cells is measured alone; with `--proofs`, what proofs of
answers add for an owner, for a server and to a half; with `--agreement`, what servers tell each other to find the
reports that both have, beside a Merkle tree. Compiled code is loaded before. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log2
from operator import sub
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import dpcurves as dp
from dpcurves.conversation import WHOLE_BUDGET, Need, Needs, Setting, SingleQueryWorkload
from dpcurves.curves import CdfQuestion, QuantilesQuestion
from dpcurves.data import Axis
from dpcurves.distributions import IntervalSums, PathSums
from dpcurves.ledger import Ledger, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD
from dpcurves.queries import CountQuery, CountUse, PrefixQuery
from dpcurves_parties.crypto import PortableEngine, select_engine
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.serving.task_document import Role, Ticket, create_task, hash_token
from dpcurves_parties.serving.two_servers.owner import Contribution, close_task, read_owner_ticket
from dpcurves_parties.serving.two_servers.report_set import (
    DIGEST_SIZE,
    HASH_SIZE,
    ID_SIZE,
    RECORD_SIZE,
    SEALING_OVERHEAD,
    EarlierPolicy,
    PartHashes,
    UnlistedParts,
    choose_prefix_bits,
    digest_public_share,
    encode_batch,
    encode_listings,
    hash_share,
    intersect_reports,
    parse_batch,
    split_by_prefix,
)
from dpcurves_parties.serving.two_servers.store import Offer, Store, StoredReport
from dpcurves_parties.shares import Server, Task
from dpcurves_parties.shares.analyst import Analyst, read_record_slots
from dpcurves_parties.shares.answer_proofs import OwnerProver, ProofKeys, ProvedCells, ProvedEdges, ServerProver
from dpcurves_parties.shares.function_shares import FunctionShares, Owners
from dpcurves_parties.shares.shared_records import CheckedReports, CheckedTreeEncoding, SharedReports, TreeEncoding

GRID = dp.Grid(-8, 8, cells=2**32 - 1)  # with the place of missing records, 32 bits
ONE = dp.PrivacyLoss.pure(1)
RUNS, THRESHOLDS = 200, 16
SINGLE = 300
CELLS = 1024
AT_ONCE = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--check", action="store_true", help="compare checked reports with unchecked ones")
    parser.add_argument("--quantiles", action="store_true", help="ask five quantiles of checked reports, nothing else")
    parser.add_argument("--slots", type=int, default=2**30, help="cells of the grid for quantiles")
    parser.add_argument("--jobs", action="store_true", help="have servers lay reports out in jobs, for quantiles")
    parser.add_argument("--stored", help="measure single uploads with so many reports stored: numbers with commas")
    parser.add_argument("--cells", action="store_true", help="measure the counts of all of 1,024 cells at one server")
    parser.add_argument("--proofs", action="store_true", help="measure what proofs of answers add")
    parser.add_argument("--agreement", action="store_true", help="compare agreement on reports with a Merkle tree")
    arguments = parser.parse_args()
    if arguments.agreement:
        Console().print(agreement())
        return
    if arguments.proofs:
        Console().print(proofs())
        return
    if arguments.cells:
        Console().print(all_cells(arguments.reports))
        return
    if arguments.stored:
        Console().print(single_uploads([int(number) for number in arguments.stored.split(",")]))
        return
    reports = arguments.reports
    if arguments.quantiles:
        with Progress(console=Console(stderr=True)) as bars:
            found = quantiles(reports, dp.Grid(-8, 8, cells=arguments.slots), bars, in_jobs=arguments.jobs)
        Console().print(found)
        return
    table = Table(
        "what", "target", "seconds", "processor seconds", title=f"{reports} reports, 32-bit grid, two servers"
    )
    with Progress(console=Console(stderr=True)) as bars:
        if arguments.check:
            compare(reports, table, bars)
        else:
            with running(reports, Owners.UNCHECKED) as trial:
                trial.upload(table, bars)
                trial.answers(table, bars)
            errors(table, bars)
    Console().print(table)


def quantiles(reports: int, grid: dp.Grid, bars: Progress, *, in_jobs: bool) -> Table:
    """Five quantiles with intervals of checked reports, which are put into both stores and not uploaded."""
    title = f"{reports} checked reports, {grid.cells} cells, two servers: five quantiles, with intervals"
    table = Table("what", "seconds", "processor seconds", "MB of each server at most", title=title)
    shares_of = (0.05, 0.25, 0.5, 0.75, 0.95)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = founded(folder, reports, Owners.CHECKED, grid)
        places = read_record_slots(task, {"x": np.random.default_rng(1).normal(size=reports)})
        put(task, folder, places, bars)
        more = ["--jobs", str(folder / "jobs")] if in_jobs else []
        with servers(folder, task, "--timeout", "3600", *more) as processes:
            clock = Clock([each.pid for each in processes])

            def told(what: str) -> None:
                wall, cpu = clock.stop()
                peaks = " and ".join(f"{peak_of(each.pid):.0f}" for each in processes)
                table.add_row(what, f"{wall:.1f}", f"{cpu:.1f}", peaks)
                clock.start()

            close_task(task, Ticket.load(folder / "tickets" / "coordinator-1", Role.COORDINATOR))
            told("close")
            ticket = Ticket.load(folder / "tickets" / "analyst-1", Role.ANALYST)
            with Analyst(task, ticket, timeout=3600) as analyst:
                analyst.ask(CdfQuestion("x", grid, edges=(grid.cells // 2,)))
                told("first answer (reports are read and checked, the loss is charged)")
                bar = bars.add_task("five quantiles", total=grid.cells.bit_length())
                question = QuantilesQuestion("x", grid, shares_of)
                found = analyst.ask(question, progress=lambda: bars.advance(bar))
                told("five quantiles")
    exact = np.sort(places)[[int(p * reports) for p in shares_of]]
    off = np.abs(grid.cell_of(found.x) - exact) / grid.cells
    table.add_row("largest error, in millionths of the grid", f"{1e6 * off.max():.1f}", "", "")
    return table


def put(task: Task, folder: Path, places: np.ndarray, bars: Progress) -> None:
    """Store reports at both servers, as if an owner had sent them."""
    stores = []
    for party in (0, 1):
        url = f"sqlite:///{folder / f'a{party}' / 'reports.db'}"
        Ledger.open(url)
        stores.append(Store(url))
        stores[party].create_task(task.hash)
    for start in bars.track(range(0, len(places), AT_ONCE), description="reports are put into both stores"):
        shares = task.encoding.share_records(places[start : start + AT_ONCE], Randomness.from_system())
        names = [os.urandom(ID_SIZE) for _ in shares]
        for party, store in enumerate(stores):
            halves = [
                (name, digest_public_share(share[party][: task.encoding.public_size]), share[party])
                for name, share in zip(names, shares, strict=True)
            ]
            kept = [StoredReport(name, digest, hash_share(name, share), share) for name, digest, share in halves]
            store.add_reports(task.hash, len(places), Offer(0, bytes(HASH_SIZE), EarlierPolicy.STAYS, kept))


def peak_of(process: int) -> float:
    """MB that a process had resident at most; 0 where the system does not say."""
    file = Path(f"/proc/{process}/status")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")), 0.0)


def compare(reports: int, table: Table, bars: Progress) -> None:
    spent = []
    for owners in (Owners.UNCHECKED, Owners.CHECKED):
        table.add_section()
        table.add_row(f"owners {owners.value}", "", "", "")
        with running(reports, owners) as trial:
            spent.append(np.array(trial.upload(table, bars)))
    wall, cpu = spent[1] / spent[0]
    table.add_section()
    table.add_row("upload and first answer, checked by unchecked", "6", f"{wall:.2f} times", f"{cpu:.2f} times")


def all_cells(reports: int) -> Table:
    """One server's shares of all cells, in this process; of checked reports a tenth, for that takes long."""
    places, at = np.random.default_rng(1).integers(0, CELLS, reports), range(1, CELLS + 1)
    table = Table("owners", "reports", "processor seconds", title=f"shares of all of {CELLS} cells, one server")
    engine, noise = select_engine(bytes(32)), NoiseKey(bytes(32))
    plain, checked = TreeEncoding(CELLS, engine), CheckedTreeEncoding(CELLS, engine)
    for encoding in (plain, checked):
        encoding.warm_up()
    shares = [share for share, _ in plain.share_records(places, Randomness.from_seed(1))]
    held = SharedReports(plain.parse_keys(0, shares), engine, noise)
    table.add_row("unchecked", f"{reports}", f"{spent_in(lambda: held.sum_prefix_shares(at)):.2f}")
    shares = [share for share, _ in checked.share_records(places[: reports // 10], Randomness.from_seed(1))]
    judged = CheckedReports(checked.parse_checked_keys(0, shares), engine, bytes(32))
    table.add_row("checked", f"{reports // 10}", f"{spent_in(lambda: judged.evaluate_thresholds(at)):.2f}")
    return table


def proofs() -> Table:
    """Cost of proofs of answers for one analyst, beside tasks without them, in this process."""
    title = "proofs of answers, processor time of a report; a report has 8 bytes more for each analyst"
    table = Table("counted", "numbers", "owner", "each server", "bytes of a half, without and with", title=title)
    count, queries = 200, dict[str, CountQuery | PrefixQuery]()
    for cells in (256, 1024, 4096, 65535):
        queries[f"{cells:,} cells"] = CountQuery((Axis("x", dp.Grid(0, 1, cells=cells)),), CountUse.PREFIXES)
    for edges in (64, 4096):
        at = (GRID.cells * part // edges for part in range(1, edges + 1))
        queries[f"below {edges:,} edges of 32 bits"] = PrefixQuery((Axis("x", GRID),), tuple(at))
    for counted, query in queries.items():
        plan = FunctionShares().plan_query(query, ONE, dp.REPLACE_ONE.to_adjacency(EACH_RECORD, count))
        is_of_cells = isinstance(query, CountQuery)
        distribution = (
            ProvedCells(plan.distribution.require_type(IntervalSums))
            if is_of_cells
            else ProvedEdges(plan.distribution.require_type(PathSums))
        )
        seeds = [os.urandom(16) for _ in range(2 * count)]
        prover, places = (
            OwnerProver("00" * 32, distribution, ProofKeys.generate(1).keys),
            np.zeros(count, dtype=np.int64),
        )
        begun = process_time()
        words = prover.make_words(places, seeds[:count], seeds[count:])
        owner = (process_time() - begun) / count
        proving = ServerProver("00" * 32, 0, words, seeds[:count])
        server = spent_in(partial(proving.prove_share, [0] * distribution.size)) / count
        size = f"{8 * distribution.size:,}, {8 * (2 * distribution.size + 1):,}"
        table.add_row(counted, f"{distribution.size:,}", f"{owner * 1e6:.0f} us", f"{server * 1e6:.0f} us", size)
    return table


def agreement() -> Table:
    """Bytes and messages to find reports that one server alone has: hashes of parts, and trees above the same parts.

    Server 1 tells either the hashes of all parts, or a root and then, of each node that differs, the hashes of its
    children; at last the parts that differ are listed. Of 10**6 reports it is what servers send, else worked out.
    """
    title = "agreement on reports: bytes of server 1 until all differences are known, and (messages)"
    branches, sent = (2, 16, 256), TreeEncoding(4096, PortableEngine.from_task(b"")).size + SEALING_OVERHEAD + ID_SIZE
    table = Table(
        "reports", "uploaded", "at one server", "parts", *(f"tree of {each}" for each in branches), title=title
    )
    names = np.random.default_rng(1).integers(0, 2**64, (10**6, 2), dtype=np.uint64)
    ours = sorted((name.tobytes(), bytes(DIGEST_SIZE)) for name in names)
    for reports in (10**6, 2**25):
        bits = choose_prefix_bits(reports)
        for number in (0, 1, 1000, reports // 100):
            hit = -(2**bits) * np.expm1(number * np.log1p(-(2.0**-bits)))
            listing = hit * (8 + RECORD_SIZE * reports / 2**bits) if reports > len(ours) else listed(ours, number, bits)
            told = [f"{HASH_SIZE * 2**bits + listing:,.0f} ({1 + (number > 0)})"]
            for each in branches:
                levels = ceil(bits / log2(each))
                nodes = sum(min(each**level, number) for level in range(levels))
                size = HASH_SIZE + HASH_SIZE * each * nodes + listing
                told.append(f"{size:,.0f} ({1 + (levels + 1) * (number > 0)})")
            table.add_row(f"{reports:,}", f"{reports * sent:,}", f"{number:,}", *told)
    return table


def listed(ours: list[tuple[bytes, bytes]], number: int, bits: int) -> int:
    """Bytes of the parts that server 1 lists, where server 0 lacks so many of these reports."""
    theirs, gone = (
        PartHashes.from_reports("00" * 32, ours, bits),
        set(range(0, len(ours), len(ours) // number) if number else ()),
    )
    kept = [each for place, each in enumerate(ours) if place not in gone]
    try:
        intersect_reports("00" * 32, lambda: kept, len(kept), theirs, {})
    except UnlistedParts as error:
        parts = dict(split_by_prefix(ours, bits))
        return len(encode_listings({part: b"".join(map(b"".join, parts[part])) for part in error.parts}))
    return 0


def spent_in(work: Callable[[], object]) -> float:
    begun = process_time()
    work()
    return process_time() - begun


def single_uploads(stored: list[int]) -> Table:
    title = f"server 0, {SINGLE} reports one by one, each on a new connection: processor milliseconds for each"
    table = Table("reports of as many owners stored", "an upload", "a stranger's question", title=title)
    with Progress(console=Console(stderr=True)) as bars:
        for number in bars.track(stored, description="single uploads"):
            table.add_row(f"{number}", *(f"{each:.1f}" for each in spent_on_each(number)))
    return table


def spent_on_each(stored: int) -> tuple[float, float]:
    """Milliseconds for an upload, and for asking where the task stands."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = of_many(folder, stored)
        fill(task, f"sqlite:///{folder / 'a0' / 'reports.db'}", stored)
        contribution = Contribution.from_ticket(task, np.arange(SINGLE), folder / "tickets" / "owner-1")
        messages = one_by_one(task, next(contribution.iterate_batches())[0])
        token = Ticket.load(folder / "tickets" / "owner-1", Role.OWNER).derive_bearer_token(0)
        path = f"/tasks/{task.hash}"
        with servers(folder, task) as (leader, _):
            uploads = spent_by(leader.pid, [
                lambda server, message=message: server.post(f"{path}/reports", message, token) for message in messages
            ], task.servers[0])  # fmt: skip
            questions = spent_by(leader.pid, [lambda server: server.get(path)] * SINGLE, task.servers[0])
    return uploads, questions


def of_many(folder: Path, owners: int) -> Task:
    """A task with a ticket for one owner, the last of so many."""
    draft = founded(folder, SINGLE, Owners.UNCHECKED)
    others = tuple(hash_token(f"{number}") for number in range(owners))
    task = replace(draft, tokens={**draft.tokens, Role.OWNER: (*others, *draft.tokens[Role.OWNER])})
    (folder / "task.json").write_text(task.to_json() + "\n")
    return task


def fill(task: Task, url: str, reports: int) -> None:
    """Store reports that count nothing, as if each came from an owner of its own."""
    Ledger.open(url)
    store, share = Store(url), bytes(task.encoding.size)
    store.create_task(task.hash)
    for start in range(0, reports, AT_ONCE):
        names = [os.urandom(ID_SIZE) for _ in range(min(AT_ONCE, reports - start))]
        more = [StoredReport(name, name, 2 * name, share) for name in names]
        store.add_reports(task.hash, AT_ONCE, Offer(start // AT_ONCE, bytes(HASH_SIZE), EarlierPolicy.STAYS, more))


def one_by_one(task: Task, batch: bytes) -> list[bytes]:
    """A message for each report of a batch."""
    size = task.encoding.size + SEALING_OVERHEAD
    whole = parse_batch(batch, task.hash, 0, size)
    return [encode_batch(task.hash, 0, whole._replace(reports=[report])) for report in whole.reports]


def spent_by(process: int, asked: list[Callable[[Channel], object]], server: Server) -> float:
    """Processor milliseconds of a process for each request, on a connection of its own."""
    before = cpu_of(process)
    for ask in asked:
        channel = Channel.from_certificate(server.url, server.certificate)
        ask(channel)
        channel.close()
    return 1000 * (cpu_of(process) - before) / len(asked)


@contextmanager
def running(reports: int, owners: Owners) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = founded(folder, reports, owners)
        with servers(folder, task) as processes:
            yield Trial(folder, task, reports, Clock([each.pid for each in processes]))


def founded(folder: Path, reports: int, owners: Owners, grid: dp.Grid | None = None) -> Task:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        ports = one.getsockname()[1], other.getsockname()[1]
    first, second = (Identity.create(folder / f"a{party}", f"https://127.0.0.1:{ports[party]}") for party in (0, 1))
    draft = Task("benchmark", "x", grid or GRID, None, ONE, reports, (first.public, second.public), {}, owners=owners)
    people = {Role.OWNER: 1, Role.ANALYST: 1, Role.COORDINATOR: 1}
    return create_task(draft, people, folder / "task.json", folder / "tickets")


class Clock:
    """Seconds by the clock, and of the processors, of this process and both servers."""

    def __init__(self, processes: list[int]) -> None:
        self.processes = processes
        self.start()

    def start(self) -> None:
        self._wall, self._cpu = perf_counter(), self._spent()

    def stop(self) -> tuple[float, float]:
        return perf_counter() - self._wall, self._spent() - self._cpu

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
def servers(folder: Path, task: Task, *more: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Both servers as processes, with a store of SQLite each, and these options."""
    running = []
    for party in (0, 1):
        own = folder / f"a{party}"
        command = [
            sys.executable, "-m", "dpcurves.cli", "aggregator", "--party", str(party), "--task",
            str(folder / "task.json"), "--identity", str(own), "--store", f"sqlite:///{own / 'reports.db'}",
            *more,
        ]  # fmt: skip
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        yield running
    finally:
        for process in running:
            process.terminate()
            process.wait(60)


@dataclass
class Trial:
    """Two servers with a task, and what is measured of them. Times are by the clock, and of processors."""

    folder: Path
    task: Task
    reports: int
    clock: Clock

    def upload(self, table: Table, bars: Progress) -> tuple[float, float]:
        """All reports and the first answer. The time of both, without that in which the task is closed."""
        tickets = self.folder / "tickets"
        places = read_record_slots(self.task, {"x": np.random.default_rng(1).normal(size=self.reports)})
        contribution = Contribution.from_ticket(self.task, places, tickets / "owner-1")
        bar = bars.add_task(f"upload, owners {self.task.owners.value}", total=self.reports)
        self.task.encoding.warm_up()
        self.clock.start()
        bearer = read_owner_ticket(self.task, tickets / "owner-1")
        contribution.send(bearer, lambda gone: bars.update(bar, completed=gone))
        sent = self.timed(table, "upload", "60")
        self.clock.start()
        close_task(self.task, Ticket.load(tickets / "coordinator-1", Role.COORDINATOR))
        self.timed(table, "close", "")
        with self.analyst() as analyst:
            self.clock.start()
            analyst.ask(CdfQuestion("x", GRID, edges=(2**31,)))
            first = self.timed(table, "first answer (reports are read, the loss is charged)", "")
        size = self.task.encoding.size
        sealing = f"and {SEALING_OVERHEAD + 16} for the seal and id"
        target = "800" if self.task.owners is Owners.UNCHECKED else ""
        table.add_row("bytes to each server, for each report", target, f"{size}", sealing)
        return sent[0] + first[0], sent[1] + first[1]

    def answers(self, table: Table, bars: Progress) -> None:
        """What analysts ask, once reports are read."""
        with self.analyst() as analyst:
            self.clock.start()
            bar = bars.add_task("quartiles", total=33)
            analyst.ask(Quartiles(), progress=lambda: bars.advance(bar))
            self.timed(table, "three quartiles by bisection", "3")
            self.clock.start()
            bar = bars.add_task("quartiles, with intervals", total=96)
            for p in (0.25, 0.5, 0.75):
                analyst.ask(QuantilesQuestion("x", GRID, (p,)), progress=lambda: bars.advance(bar))
            self.timed(table, "three quartiles one by one, with intervals", "")
            self.clock.start()
            analyst.ask(CdfQuestion("x", GRID, edges=tuple(GRID.cells * place // 64 for place in range(1, 65))))
            self.timed(table, "64-point curve", "10")

    def analyst(self) -> Analyst:
        return Analyst(self.task, Ticket.load(self.folder / "tickets" / "analyst-1", Role.ANALYST))

    def timed(self, table: Table, what: str, target: str) -> tuple[float, float]:
        wall, cpu = self.clock.stop()
        table.add_row(what, target, f"{wall:.2f}", f"{cpu:.2f}")
        return wall, cpu


@dataclass(frozen=True)
class Quartiles:
    """All three by the bisection of Algorithm 1 (Barczewski, Mawass and Ramon), side by side, without intervals."""

    @property
    def paid_as(self) -> PrefixQuery:
        return PrefixQuery((Axis("x", GRID),), prefix_lengths=())

    def steps(self, setting: Setting) -> Needs[list[float]]:
        total = (yield self._counted([GRID.slots])).values[0]
        low, high = [0, 0, 0], [GRID.slots] * 3
        while max(map(sub, high, low)) > 1:
            middles = [(one + other) // 2 for one, other in zip(low, high, strict=True)]
            asked = sorted(set(middles))
            counts = dict(zip(asked, (yield self._counted(asked)).values, strict=False))
            for number, middle in enumerate(middles):
                reached = counts[middle] >= (number + 1) / 4 * total
                low[number], high[number] = (low[number], middle) if reached else (middle, high[number])
        return GRID.edge(np.array(high)).tolist()

    def _counted(self, at: list[int]) -> Need:
        return Need(SingleQueryWorkload(replace(self.paid_as, prefix_lengths=tuple(at))), budget_fraction=WHOLE_BUDGET)


def errors(table: Table, bars: Progress) -> None:
    """The root mean square of errors of shared counts, over pairs of servers with keys of their own."""
    at = tuple(GRID.cells * place // THRESHOLDS for place in range(1, THRESHOLDS + 1))
    encoding = TreeEncoding(GRID.slots, PortableEngine.from_task(b"benchmark"))
    places = GRID.cell_of(np.random.default_rng(2).normal(size=500))
    shares = encoding.share_records(places, Randomness.from_system())
    keys = [encoding.parse_keys(party, [share[party] for share in shares]) for party in (0, 1)]
    query = replace(Quartiles().paid_as, prefix_lengths=at)
    plan = FunctionShares().plan_query(query, ONE, dp.REPLACE_ONE.to_adjacency(EACH_RECORD, 500))
    allotment, exact = (
        QuestionBudget.for_planning(ONE).pay("tree", WHOLE_BUDGET),
        np.array([(places < each).sum() for each in at]),
    )
    squares = []
    for _ in bars.track(range(RUNS), description="errors"):
        pair = [SharedReports(key, encoding.engine, NoiseKey(os.urandom(32))) for key in keys]
        values = FunctionShares().run(plan, pair, allotment, Randomness.from_system()).values
        squares.append(np.mean((np.array(values) - exact) ** 2))
    ratio = float(np.sqrt(np.mean(squares))) / plan.error
    table.add_row(f"error over {RUNS} runs, beside plan", "0.95 to 1.05", f"{ratio:.3f}", "")


if __name__ == "__main__":
    main()
