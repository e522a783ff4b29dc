"""Two servers as real processes, and all who talk to them. What the servers print goes to files."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import ssl
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.append(str(Path(__file__).resolve().parents[1] / "processes"))  # where pytest has not put it there

import numpy as np
from free_ports import free_port

from dpcurves.data import Axis, Categories, Grid
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.channel import Channel, make_pinned_context
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, create_task
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.owner import (
    ClosedTask,
    Contribution,
    UploadOutcome,
    close_task,
    read_owner_ticket,
    seal_reports,
)
from dpcurves_parties.serving.two_servers.report_set import HASH_SIZE, ID_SIZE, Batch, EarlierPolicy, encode_batch
from dpcurves_parties.serving.two_servers.sealed_answers import SealedQuestion
from dpcurves_parties.serving.two_servers.task_types import VERSION, QuestionMessage
from dpcurves_parties.shares.aggregation import TaskService
from dpcurves_parties.shares.analyst import Analyst, read_record_slots
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind, ReportKind, Task

GRID = Grid(0, 1, cells=1000)
MOST = 300
TEN = PrivacyLoss.pure(10)
CONTRIBUTION = b"c" * HASH_SIZE
LONG = 120
"""Seconds after which a test that waits has failed."""
Program = Callable[[Sequence[str], str, Mapping[str, str]], None]
SERVERS = multiprocessing.get_context("forkserver")


def warm() -> None:
    """Start what all processes are copies of. They import the tree under test, wherever it was found."""
    SERVERS.set_forkserver_preload(["warmed"])
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with mock.patch.dict(os.environ, PYTHONPATH=path):
        ensure_running()


def command(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """What `dpcurves` does, in a process of its own."""
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    os.environ.update(environment)
    from dpcurves.cli.app import build

    build(arguments)(list(arguments))


def of_next_version(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what a dpcurves does whose servers speak another version of the protocol about the same task."""
    from dpcurves_parties.serving.two_servers import task_types as messages

    setattr(messages, "VERSION", VERSION + 1)  # noqa: B010
    command(arguments, log, environment)


def mortal(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `dpcurves` does, but die at the step that stands in a file beside the log, as `before freeze`."""
    from dpcurves_parties.serving.two_servers.store import Store
    from dpcurves_parties.shares import aggregation
    from dpcurves_parties.shares.function_shares import make_answer_share

    setattr(aggregation, "make_answer_share", dying("masked", make_answer_share, Path(f"{log}.dies")))  # noqa: B010
    for name in ("begin_attempt", "freeze", "decide"):
        setattr(Store, name, dying(name, getattr(Store, name), Path(f"{log}.dies")))
    command(arguments, log, environment)


def in_one_minute(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `mortal` does, in a minute that does not end: how many ask in one is then no matter of the machine."""
    from dpcurves_parties.serving import task_app

    setattr(task_app, "time", SimpleNamespace(monotonic=lambda: 0.0))  # noqa: B010
    mortal(arguments, log, environment)


def dying(name: str, work: Callable[..., object], file: Path) -> Callable[..., object]:
    def die(when: str) -> None:
        if file.exists() and file.read_text() == f"{when} {name}":
            os.kill(os.getpid(), signal.SIGKILL)

    def worked(*arguments: object) -> object:
        die("before")
        done = work(*arguments)
        die("after")
        return done

    return worked


class Federation:
    """A folder with two identities; tasks, tickets, stores and logs in it.

    Attributes:
        ports: Where all know the servers to be.
        listening: Where they listen: somewhere else, if something stands in between.
        stores: The URLs of their databases.
        secrets: What stands in each server's environment.
    """

    def __init__(self, folder: Path) -> None:
        warm()
        self.folder, self.ports = folder, (free_port(), free_port())
        self.listening = self.ports
        self.identities = tuple(Identity.create(folder / f"a{party}", self.url(party)) for party in (0, 1))
        self.stores = [f"sqlite:///{folder / f'a{party}.db'}" for party in (0, 1)]
        self.secrets: list[dict[str, str]] = [{}, {}]
        self.tasks: dict[str, Task] = {}
        self.running: dict[int, ForkServerProcess] = {}
        self.opened: list[Channel | Analyst] = []

    def url(self, party: int) -> str:
        return f"https://127.0.0.1:{self.ports[party]}"

    def task(
        self,
        name: str,
        label: Categories | None = None,
        owners: Owners = Owners.UNCHECKED,
        most: int = MOST,
        cells: Grid | None = None,
        *,
        loss: PrivacyLoss = TEN,
        beside: tuple[Axis | Categories, ...] = (),
        reported: ReportKind = ReportKind.TREE,
        column: str = "x",
        where: str = "",
    ) -> Task:
        """Found a task that counts below thresholds of `GRID`, or all of some `cells`."""
        first, second = self.identities
        grid, counted = (GRID, CountKind.PREFIXES) if cells is None else (cells, CountKind.CELLS)
        draft = Task(
            name, column, grid, label, loss, most, (first.public, second.public), {}, owners=owners,
            count_kind=counted, beside=beside, report_kind=reported, where=where,
        )  # fmt: skip
        numbers = {Role.OWNER: 3, Role.ANALYST: 2, Role.COORDINATOR: 1}
        self.tasks[name] = create_task(draft, numbers, self.folder / f"{name}.json", self.folder / f"{name}-tickets")
        return self.tasks[name]

    def file(self, task: Task, ticket: str) -> Path:
        return self.folder / f"{task.name}-tickets" / ticket

    def store(self, party: int) -> str:
        return self.stores[party]

    def log(self, party: int) -> str:
        file = self.folder / f"log{party}"
        return file.read_text() if file.exists() else ""

    def start(self, party: int, *more: str, tasks: Sequence[str] | None = None, program: Program = command) -> None:
        """Start a server, and wait until it says that it listens."""
        said = self.log(party).count("listens at")
        documents = ",".join(str(self.folder / f"{name}.json") for name in tasks or self.tasks)
        arguments = [
            "aggregator", "--party", str(party), "--task", documents, "--identity", str(self.folder / f"a{party}"),
            "--store", self.store(party), "--listen", f"127.0.0.1:{self.listening[party]}", *more,
        ]  # fmt: skip
        told = arguments, str(self.folder / f"log{party}"), self.secrets[party]
        self.running[party] = SERVERS.Process(target=program, args=told)
        self.running[party].start()
        until(lambda: self._is_up(party, said) or not self.running[party].is_alive(), "a server comes up")
        assert self._is_up(party, said), self.log(party)

    def _is_up(self, party: int, before: int) -> bool:
        return self.log(party).count("listens at") > before

    def tell(self, party: int, number: signal.Signals) -> None:
        os.kill(self.running[party].pid or 0, number)

    def end(self, party: int, number: signal.Signals = signal.SIGKILL) -> None:
        self.tell(party, number)
        self.running.pop(party).join(LONG)

    def end_all(self) -> None:
        for party in tuple(self.running):
            self.end(party)

    def typed(self, *arguments: str) -> ForkServerProcess:
        """A `dpcurves` on its way; what it prints goes to `said`."""
        process = SERVERS.Process(target=command, args=(arguments, str(self.folder / "said"), {}))
        process.start()
        return process

    def said(self) -> list[str]:
        """What commands have printed, and forget it."""
        file = self.folder / "said"
        text = file.read_text()
        with (self.folder / "everything").open("a") as everything:
            everything.write(text)
        file.unlink()
        return text.splitlines()

    def contribution(
        self, task: Task, values: Mapping[str, object], owner: int = 1, earlier: EarlierPolicy = EarlierPolicy.STAYS
    ) -> Contribution:
        return Contribution.from_ticket(
            task, read_record_slots(task, values), self.file(task, f"owner-{owner}"), earlier
        )

    def contribute(self, task: Task, values: Mapping[str, object], owner: int = 1) -> UploadOutcome:
        bearer = read_owner_ticket(task, self.file(task, f"owner-{owner}"))
        return self.contribution(task, values, owner).send(bearer, lambda gone: None, LONG)

    def contribute_changed(self, task: Task, count: int, place: int) -> None:
        """Reports of cell 3 of the second owner, with one bit of this byte changed for both servers."""
        shares = task.encoding.share_records(np.full(count, 3), Randomness.from_system())
        names = [bytes([number]) * ID_SIZE for number in range(count)]
        for party in (0, 1):
            halves = (flipped(share[party], place) for share in shares)
            reports = seal_reports(task, party, CONTRIBUTION, zip(names, halves, strict=True))
            batch = encode_batch(task.hash, party, Batch(CONTRIBUTION, EarlierPolicy.STAYS, reports))
            token = self.token(task, "owner-2", Role.OWNER, party)
            self.channel(party).post(f"/tasks/{task.hash}/reports", batch, token)

    def close(self, task: Task, party: int = 0) -> ClosedTask:
        ticket = Ticket.load(self.file(task, "coordinator-1"), Role.COORDINATOR)
        return close_task(task, ticket, party, LONG)

    def analyst(self, task: Task, party: int = 0) -> Analyst:
        analyst = Analyst(task, Ticket.load(self.file(task, "analyst-1"), Role.ANALYST), party, LONG)
        self.opened.append(analyst)
        return analyst

    def inquiry(
        self, task: Task, at: tuple[int, ...], party: int = 0, ticket: str = "analyst-1"
    ) -> tuple[SealedQuestion, dict[str, Any]]:
        """What an analyst asks server `party`, and the message as an object, with a letter for the other server."""
        made = SealedQuestion.create(QuestionMessage.create(task, at), party)
        bearer = Ticket.load(self.file(task, ticket), Role.ANALYST)
        return made, json.loads(made.to_json(bearer, task.servers))

    def channel(self, party: int, context: ssl.SSLContext | None = None, url: str = "") -> Channel:
        public = self.identities[party].public
        channel = Channel(url or public.url, context or make_pinned_context(public.certificate), LONG)
        self.opened.append(channel)
        return channel

    def close_connections(self) -> None:
        while self.opened:
            self.opened.pop().close()

    def token(self, task: Task, ticket: str, role: Role, party: int = 0) -> str:
        return Ticket.load(self.file(task, ticket), role).derive_bearer_token(party)


def proving(pair: Federation, who: int, whom: int) -> ssl.SSLContext:
    """TLS context that server `who` shows to server `whom`."""
    context = make_pinned_context(pair.identities[whom].public.certificate)
    context.load_cert_chain(pair.identities[who].certificate_file, pair.identities[who].private_key_file)
    return context


def counting(server: Aggregator, task: Task) -> TaskService:
    """What a server that does not run would do for a task that counts."""
    service = server.create_services()[task.hash]
    assert isinstance(service, TaskService)
    return service


def flipped(message: bytes, place: int) -> bytes:
    """One bit of a byte is another one."""
    place %= len(message)
    return message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]


def until(reached: Callable[[], bool], what: str) -> None:
    """Wait for other processes.

    Raises:
        TimeoutError: they do not come to it.
    """
    end = time.monotonic() + LONG
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


def values(count: int = 200, seed: int = 1) -> dict[str, object]:
    return {"x": np.random.default_rng(seed).random(count)}


if sys.platform == "win32":
    raise ImportError("signals of POSIX are needed")
