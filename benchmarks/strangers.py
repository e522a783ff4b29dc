"""Waiting times of honest requests while others attack a server: silent connections, slow bodies, and handshakes.

``python benchmarks/strangers.py [--requests 150] [--only SERVER] [--attack NAME]``, where SERVER is collector,
two-servers, relay, coordinator (of sites) or verification. Each server is a process of its own, started by its command;
so is the attack; honest requests come from this one, each on a connection of its own, one after another. Printed are
the median and the 99th percentile, in milliseconds and without and under the attack, their ratio (mark: 2), and how
many requests were refused or lost. All share the processors of this machine, and the attacks their one address: that of
the honest requests, which is the worst case.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dpcurves as dp

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1] / "tests" / each) for each in ("server", "processes")]
ATTACKS = {
    "1,200 silent connections": "silent", "300 slow bodies of strangers": "slow",
    "300 slow bodies of one ticket": "holder", "50 slow posts a second": "posts",
    "10,000 handshakes a minute": "handshakes",
}  # fmt: skip
SILENT, SLOW, A_SECOND, A_MINUTE = 1200, 300, 50, 10_000
BODY = 2**20
WARM, PAUSE = 3.0, 0.02
"""Seconds that an attack has before requests are timed, and between two of these."""
PATIENCE = 60


@dataclass
class Target:
    """A server that runs, and what is asked of it.

    Attributes:
        name: In the printed table.
        port: Where it listens, on this machine.
        path: Where slow bodies are posted.
        token: The bearer token of one who may post; empty: nobody needs one.
        asked: A request: its method, path and body.
    """

    name: str
    port: int
    path: str
    token: str
    asked: Callable[[int], tuple[str, str, bytes]]

    def context(self) -> ssl.SSLContext:
        made = ssl.create_default_context()
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        return made

    def seconds(self, number: int) -> float | None:
        """Seconds of a request on a connection of its own; None: it was refused, or lost."""
        method, path, body = self.asked(number)
        began = time.perf_counter()
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context())
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            response.read()
            return time.perf_counter() - began if response.status == 200 else None
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def collector(folder: Path) -> Iterator[Target]:
    task = dp.local.Task(dp.CdfQuestion("age", dp.Grid(0, 100, cells=64)), dp.PrivacyLoss.pure(2), people=10_000)
    task.write(folder / "task.json")
    port = free_port()
    command = [
        sys.executable, "-m", "dpcurves.cli", "local", "serve", "--task", "task.json", "--store", "reports.bin",
        "--listen", f"127.0.0.1:{port}", "--tls", "cert.pem,key.pem",
    ]  # fmt: skip
    path = f"/tasks/{task.report_format.task.hex()}/reports"
    with begun(command, folder):
        yield Target(
            "collector of local reports", port, path, "", lambda number: ("POST", path, task.randomize(number % 90))
        )


@contextmanager
def two_servers(folder: Path) -> Iterator[Target]:
    from two_servers import founded, servers

    from dpcurves_parties.serving.task_document import Role, Ticket
    from dpcurves_parties.shares.function_shares import Owners

    task = founded(folder, 1000, Owners.UNCHECKED)
    with servers(folder, task):
        port = int(task.servers[0].url.rpartition(":")[2])
        (ticket,) = (folder / "tickets").glob("owner*")
        token = Ticket.load(ticket, Role.OWNER).derive_bearer_token(0)
        path = f"/tasks/{task.hash}"
        yield Target("one of two servers", port, f"{path}/reports", token, lambda number: ("GET", path, b""))


def prepared(folder: Path, *commands: str) -> None:
    """Do what commands of `dpcurves` do, in a folder."""
    for command in commands:
        subprocess.run(
            [sys.executable, "-m", "dpcurves.cli", *command.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )


@contextmanager
def relay(folder: Path) -> Iterator[Target]:
    from dpcurves_parties.pairs import PairTask
    from dpcurves_parties.serving.task_document import Role, Ticket

    port = free_port()
    prepared(
        folder, f"task identity a0 --url https://127.0.0.1:{port}",
        "task create --pairs 2 --kernel kendall --columns rooms,cleanliness --bits 3,3 --epsilon 1 --trust people"
        " --servers a0/server.json --owners 1000 --out task.json --tickets tickets",
    )  # fmt: skip
    task, token = PairTask.load(folder / "task.json"), Ticket.load(folder / "tickets" / "owner-1", Role.OWNER)
    command = "aggregator --party 0 --task task.json --identity a0 --store sqlite:///relay.db"
    path = f"/tasks/{task.hash}"
    with begun([sys.executable, "-m", "dpcurves.cli", *command.split()], folder):
        yield Target(
            "relay of people in pairs",
            port,
            f"{path}/people/enter",
            token.derive_bearer_token(0),
            lambda number: ("GET", path, b""),
        )


@contextmanager
def coordinator(folder: Path) -> Iterator[Target]:
    from dpcurves_parties.serving.task_document import Role, Ticket
    from dpcurves_sites.task import FederationTask

    port = free_port()
    prepared(
        folder, f"task identity hub --url https://127.0.0.1:{port}",
        *(f"federation join {site} --name {site}" for site in "abc"),
        "federation create --sites a/site.json,b/site.json,c/site.json --coordinator hub/server.json"
        " --collusion-threshold 1 --adjacency add-remove --epsilon 4 --out task.json --tickets tickets",
    )  # fmt: skip
    task, token = FederationTask.load(folder / "task.json"), Ticket.load(folder / "tickets" / "analyst-1", Role.ANALYST)
    path = f"/tasks/{task.hash}"
    with begun([sys.executable, "-m", "dpcurves.cli", "federation", "coordinator", "--task", "task.json", "--identity",
                "hub"], folder):  # fmt: skip
        yield Target(
            "coordinator of sites",
            port,
            f"{path}/asks",
            token.derive_bearer_token(0),
            lambda number: ("GET", path, b""),
        )


@contextmanager
def verification(folder: Path) -> Iterator[Target]:
    from running import Running
    from scene import made

    os.chdir(folder)
    running = Running(made(folder))
    running.start()
    try:
        yield Target("verification server", running.port, "/login", "", lambda number: ("GET", "/login", b""))
    finally:
        running.stop()


@contextmanager
def begun(command: list[str], folder: Path) -> Iterator[None]:
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, **told) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "listens" in line:
                break
        try:
            yield
        finally:
            process.terminate()


TARGETS = {
    "collector": collector, "two-servers": two_servers, "relay": relay, "coordinator": coordinator,
    "verification": verification,
}  # fmt: skip


def timed(target: Target, requests: int) -> tuple[np.ndarray, int]:
    found = []
    for number in range(requests):
        found.append(target.seconds(number))
        time.sleep(PAUSE)
    answered = [1000 * each for each in found if each is not None]
    return np.array(answered or [np.nan]), found.count(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=150)
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--attack", choices=tuple(ATTACKS.values()))
    parser.add_argument("--play", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        kind, port, path, token = given.play
        asyncio.run(Attack(int(port), path, token).play(kind))
        return
    console = Console()
    for name, start in TARGETS.items():
        if given.only in (None, name):
            with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as target:
                console.print(attacked(target, given.requests, given.attack))


def attacked(target: Target, requests: int, only: str | None) -> Table:
    table = Table("attack", "median", "99 %", "ratio of medians", "ratio at 99 %", "refused or lost", title=target.name)
    timed(target, 20)
    usual, lost = timed(target, requests)
    table.add_row("none", *(f"{np.percentile(usual, p):.1f} ms" for p in (50, 99)), "", "", str(lost))
    for told, kind in ATTACKS.items():
        if only not in (None, kind) or (kind == "holder" and not target.token):
            continue
        command = [sys.executable, str(HERE), "--play", kind, str(target.port), target.path, target.token]
        with subprocess.Popen(command, start_new_session=True) as attack:  # its processor time is not the server's
            time.sleep(WARM)
            found, lost = timed(target, requests)
            attack.kill()
        marks = [np.percentile(found, p) for p in (50, 99)]
        ratios = [mark / np.percentile(usual, p) for mark, p in zip(marks, (50, 99), strict=True)]
        shown = (*(f"{mark:.1f} ms" for mark in marks), *(f"{ratio:.2f}" for ratio in ratios))
        table.add_row(told, *shown, f"{lost} of {requests}")
    return table


Visit = Callable[[], Awaitable[None]]


@dataclass
class Attack:
    """Connections that are opened again some seconds after they have ended."""

    port: int
    path: str
    token: str

    async def play(self, kind: str) -> None:
        if kind == "silent":
            await asyncio.gather(*(self.again(self.silent, 10) for _ in range(SILENT)))
        elif kind in {"slow", "holder"}:
            await asyncio.gather(*(self.again(lambda: self.slow(kind == "holder"), 1) for _ in range(SLOW)))
        elif kind == "posts":
            await self.every(1 / A_SECOND, lambda: self.slow(bool(self.token)))
        else:
            await self.every(60 / A_MINUTE, self.handshake)

    async def again(self, visit: Visit, seconds: float) -> None:
        while True:
            await self.once(visit)
            await asyncio.sleep(seconds)

    async def every(self, seconds: float, visit: Visit) -> None:
        visits = set[asyncio.Task[None]]()
        while True:
            visits.add(asyncio.create_task(self.once(visit)))
            visits = {each for each in visits if not each.done()}
            await asyncio.sleep(seconds)

    async def once(self, visit: Visit) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            await visit()

    async def silent(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        await reader.read()
        writer.close()

    async def slow(self, bearing: bool) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context())
        own = f"Authorization: Bearer {self.token}\r\n" if bearing else ""
        head = f"POST {self.path} HTTP/1.1\r\nHost: a\r\n{own}Content-Length: {BODY}\r\n\r\n"
        writer.write(head.encode() + bytes(16))
        await reader.read()
        writer.close()

    async def handshake(self) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context())
        writer.close()

    def context(self) -> ssl.SSLContext:
        made = ssl.create_default_context()
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        return made


if __name__ == "__main__":
    main()
