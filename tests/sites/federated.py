"""A federation of real processes: a coordinator, sites with tables of their own, and analysts who ask."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import count
from multiprocessing.context import ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest import mock

sys.path.append(str(Path(__file__).resolve().parents[1] / "processes"))  # where pytest has not put it there

import numpy as np
from free_ports import free_port

from dpcurves.curves import CdfQuestion
from dpcurves.data import Grid
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_sites.columns import Schema
from dpcurves_sites.remote import RemoteFederation, fetch_status
from dpcurves_sites.secure_sum import MASKED, SHARES
from dpcurves_sites.task import FederationTask, Member, create_federation_task, read_key
from dpcurves_sites.trust import SecureSum

AGE = Grid(0, 100, cells=64)
PLACE = 120
"""Octets at the beginning of each message: which turn it is of."""
LATE = 1.0
READY = "waiting for questions"
LONG = 180
"""Seconds after which a test that waits has failed."""
PROCESSES = multiprocessing.get_context("forkserver")
Program = Callable[[Sequence[str], str, str], None]


def command(arguments: Sequence[str], log: str, version: str = "") -> None:
    """Do what `dpcurves` does, in a process of its own; as another version, if that is said."""
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    if version:
        _plan_otherwise()
    _let_sites_fail(Path(f"{log}.trouble"))
    _let_coordinators_lie(Path(f"{log}.lies"), Path(f"{log}.seen"))
    from dpcurves.cli.app import build

    build(arguments)(list(arguments))


def _let_sites_fail(file: Path) -> None:
    """Die by SIGKILL before or after a message, or send it late, as it stands in a file."""
    from dpcurves_sites import remote

    post = remote._CoordinatorConnection.post

    def mortal(self: Any, path: str, body: bytes) -> bytes:
        when, _, stage = (file.read_text() if file.exists() else "").partition(" ")
        due = when != "" and path.endswith(f"/{stage}")
        if due and when == "lags":
            time.sleep(LATE)
        if due and when == "before":
            _die(file)
        answer = post(self, path, body)
        if due and when == "after":
            _die(file)
        return answer

    setattr(remote._CoordinatorConnection, "post", mortal)  # noqa: B010


def _die(file: Path) -> None:
    file.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


def _plan_otherwise() -> None:
    """Plan as another version might: with more noise for the same loss."""
    from dpcurves_sites import trust

    real = trust.SecureSum._share_noise
    setattr(trust.SecureSum, "_share_noise", lambda self, noise, loss: real(self, noise, loss).sum_over_parties(2))  # noqa: B010


def site_of(message: bytes) -> int:
    """The site that a message says it is of."""
    return int.from_bytes(message[PLACE + 1 : PLACE + 3], "little")


def _without(parts: Sequence[bytes], site: int) -> list[bytes]:
    return [part for part in parts if site_of(part) != site]


def _invented(message: bytes) -> bytes:
    """A message like this one of a site that is none of the task."""
    return message[: PLACE + 1] + (99).to_bytes(2, "little") + message[PLACE + 3 :]


def _swapped(one: bytes, other: bytes, body: int) -> list[bytes]:
    return [one[:-body] + other[-body:], other[:-body] + one[-body:]]


def _let_coordinators_lie(file: Path, seen: Path) -> None:
    """Keep all messages in a file. Hand them out, and hand questions out, as the lie that stands in a file wants it."""
    from dpcurves_sites.relay import MessageBoard
    from dpcurves_sites.transport import pack_parts, unpack_parts

    real, old, asked = MessageBoard.collect_messages, dict[int, list[bytes]](), count()
    questions: list[bytes] = []

    def said() -> str:
        return file.read_text() if file.exists() else ""

    def named(board: MessageBoard, name: str) -> str:
        """The turn that is asked now, if site 0 was told of another one."""
        told = said() == "tells site 0 of another question" and name == sha256(questions[0]).hexdigest()
        return sha256(questions[-1]).hexdigest() if told else name

    def collect(self: MessageBoard, name: str, stage: int, whole: bool) -> bytes:
        parts = unpack_parts(real(self, named(self, name), stage, whole))
        lie = said()
        if not parts or not lie:
            if parts:
                old.setdefault(stage, parts)
            return pack_parts(parts)
        if lie == "repeats and reorders":
            parts = [*parts[::-1], *parts]
        elif lie == f"alters {stage}":
            half = len(parts[0]) // 2
            parts[0] = parts[0][:half] + bytes([parts[0][half] ^ 1]) + parts[0][half + 1 :]
        elif lie == f"drops {stage}":
            parts = parts[: -2 if stage == MASKED else -1]
        elif lie == f"replays {stage}":
            parts = old[stage]
        elif lie == "shows two lists" and stage == MASKED and not whole:
            parts = parts if next(asked) % 2 else parts[1:]
        elif lie == "swaps vectors" and stage == MASKED and whole:
            parts[:2] = _swapped(parts[0], parts[1], 32)
        elif lie == "swaps stages" and stage == SHARES:
            parts[0] = old[MASKED][0]
        elif lie == f"invents {stage}":
            parts.append(_invented(parts[0]))
        elif lie == "leaves out site 4" or (lie == "says that site 4 failed" and stage >= MASKED):
            parts = _without(parts, 4)
        return pack_parts(parts)

    def post(self: MessageBoard, name: str, stage: int, site: int, message: bytes) -> bytes:
        with seen.open("ab") as log:
            log.write(message)
        return kept[1](self, named(self, name), stage, site, message)

    def ask(self: MessageBoard, analyst: int, message: bytes) -> bytes:
        with seen.open("ab") as log:
            log.write(message)
        questions.append(message)
        if said() == "leaves out site 4":
            self._rounds.clear()
        return kept[2](self, analyst, message)

    def waiting(self: MessageBoard, site: int, signature: bytes) -> bytes:
        found = kept[3](self, site, signature)
        return questions[0] if found and site == 0 and said() == "tells site 0 of another question" else found

    kept = real, MessageBoard.post_message, MessageBoard.start_round, MessageBoard.find_waiting_round
    for name, lying in (
        ("collect_messages", collect), ("post_message", post), ("start_round", ask), ("find_waiting_round", waiting),
    ):  # fmt: skip
        assert hasattr(MessageBoard, name)  # else nobody would lie
        setattr(MessageBoard, name, lying)


class Federated:
    """A folder with everything in it: keys, tables, ledgers, logs."""

    def __init__(
        self,
        folder: Path,
        model: SecureSum,
        *,
        patience: int = 30,
        tables: Mapping[int, str] | None = None,
        more: Mapping[int, Sequence[str]] | None = None,
        columns: Schema | None = None,
    ) -> None:
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        PROCESSES.set_forkserver_preload(["warmed_sites"])
        with mock.patch.dict(os.environ, PYTHONPATH=path):
            ensure_running()
        self.folder, self.model, self.port, self._patience = folder, model, free_port(), patience
        self.listening, self._more = self.port, more or {}
        self.identity = Identity.create(folder / "hub", f"https://127.0.0.1:{self.port}")
        members = tuple(Member.create(folder / f"s{n}", f"airline {n}", None) for n in range(model.sites))
        self.task = create_federation_task(
            members, model, folder / "task.json", folder / "tickets", name="flights", neighbours=Neighbours.ADD_REMOVE,
            unit=EACH_RECORD, budget=PrivacyLoss.pure(500), coordinator=self.identity.public, analysts=2,
            columns=columns,
        )  # fmt: skip
        self.ages: list[Any] = []
        generator = np.random.default_rng(3)
        for number in range(model.sites):
            ages = np.clip(generator.normal(35 + 5 * number, 12, 300), 0, 99.5).round(2)
            self.ages.append(ages)
            text = (tables or {}).get(number, "age\n" + "\n".join(map(str, ages)) + "\n")
            (folder / f"s{number}.csv").write_text(text)
        self.running: dict[str, ForkServerProcess] = {}

    def __enter__(self) -> Federated:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for name in list(self.running):
            self.kill(name)

    def start(self, name: str, arguments: Sequence[str], version: str = "") -> ForkServerProcess:
        process = PROCESSES.Process(
            target=command, args=([*arguments], str(self.folder / f"{name}.log"), version), daemon=True
        )
        process.start()
        self.running[name] = process
        return process

    def run(self, name: str, arguments: Sequence[str]) -> int:
        """Do a command to its end: its exit status. What it says is in its log."""
        process = self.start(name, arguments)
        process.join(LONG)
        del self.running[name]
        assert process.exitcode is not None
        return process.exitcode

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.join()

    def coordinator(self) -> None:
        self.start("hub", [
            "federation", "coordinator", "--task", str(self.folder / "task.json"), "--identity",
            str(self.folder / "hub"), "--timeout", str(self._patience), "--listen", f"127.0.0.1:{self.listening}",
        ])  # fmt: skip

    def site(self, number: int, version: str = "", more: Sequence[str] = ()) -> None:
        folder = self.folder
        self.start(f"s{number}", [
            "federation", "site", str(folder / f"s{number}.csv"), "--task", str(folder / "task.json"), "--key",
            str(folder / f"s{number}"), "--ticket", str(folder / "tickets" / f"owner-{number + 1}"), "--ledger",
            f"sqlite:///{folder / f's{number}.db'}", *self._more.get(number, ()), *more,
        ], version)  # fmt: skip

    def all(self) -> Federated:
        self.coordinator()
        for number in range(self.model.sites):
            self.site(number)
        return self

    def trouble(self, number: int, what: str) -> None:
        """Let a site die ``before 3`` or ``after 3``, once, or send its message of stage 3 late: ``lags 3``."""
        (self.folder / f"s{number}.log.trouble").write_text(what)

    def again(self, *numbers: int, version: str = "") -> None:
        """Start sites anew, and wait until they are there."""
        before = {number: self.log(f"s{number}").count(READY) for number in numbers}
        for number in numbers:
            name = f"s{number}"
            if name in self.running:
                self.kill(name)
            self.site(number, version)
        for number, times in before.items():
            self.wait(lambda: self.log(f"s{number}").count(READY) > times, f"the return of site {number}")  # noqa: B023

    def wait(self, holds: Callable[[], object], what: str) -> None:
        end = time.monotonic() + LONG
        while not holds():
            assert time.monotonic() < end, f"{what} did not happen"
            time.sleep(0.05)

    def died(self, number: int) -> None:
        """Wait until a site has died of what it was told to die of."""
        process = self.running[f"s{number}"]
        self.wait(lambda: process.exitcode is not None, f"the death of site {number}")
        assert process.exitcode == -signal.SIGKILL

    def analyst(self, number: int = 1, task: FederationTask | None = None, timeout: float = LONG) -> RemoteFederation:
        tickets = self.folder / "tickets"
        ticket = Ticket.load(tickets / f"analyst-{number}", Role.ANALYST)
        return RemoteFederation(task or self.task, ticket, read_key(tickets / f"analyst-{number}.key"), timeout)

    def log(self, name: str) -> str:
        file = self.folder / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def lie(self, how: str) -> None:
        (self.folder / "hub.log.lies").write_text(how)

    def signed(self) -> list[str]:
        return list(fetch_status(self.task)["signed"])

    def seconds_by_itself(self) -> float:
        """Clock seconds of a turn once sites connect by themselves, for who compares that with what others carry."""
        for number in range(self.model.sites):
            self.kill(f"s{number}")
            self.site(number)
        with self.analyst() as analyst:
            for _ in range(2):  # records are opened in the first
                start = time.monotonic()
                analyst.ask(CdfQuestion("age", AGE), PrivacyLoss.pure(4))
        return time.monotonic() - start
