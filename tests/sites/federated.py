"""A federation of real processes: a coordinator, sites with tables of their own, and analysts who ask."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
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
from dpcurves_sites.remote import RemoteFederation, standing
from dpcurves_sites.secure_sum import MASKED
from dpcurves_sites.task import FederationTask, Member, found_federation, read_key
from dpcurves_sites.trust import SecureSum

AGE = Grid(0, 100, cells=64)
LONG = 180
"""Seconds after which a test that waits has failed."""
PROCESSES = multiprocessing.get_context("forkserver")
Program = Callable[[Sequence[str], str, str], None]


def command(arguments: Sequence[str], log: str, dies: str = "") -> None:
    """Do what `dpcurves` does, in a process of its own; die by SIGKILL before or after a message, if that is said."""
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    if dies:
        from dpcurves_sites import remote

        when, stage, *turn = dies.split()
        post, turns = remote._Line.post, count(1)

        def mortal(self: Any, path: str, body: bytes) -> bytes:
            due = path.endswith(f"/{stage}") and not Path(f"{log}.died").exists()
            due = due and next(turns) == int("".join(turn) or 1)
            if due:
                Path(f"{log}.died").touch()
            if due and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            answer = post(self, path, body)
            if due:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        setattr(remote._Line, "post", mortal)  # noqa: B010
    _let_coordinators_lie(Path(f"{log}.lies"))
    from dpcurves.cli.app import build

    build()(list(arguments))


def _let_coordinators_lie(file: Path) -> None:
    """Hand out messages as the lie that stands in a file wants it."""
    from dpcurves_sites.relay import Board, packed, unpacked

    real, old, asked = Board.collect, dict[int, list[bytes]](), count()

    def collect(self: Board, name: str, stage: int, whole: bool) -> bytes:
        parts = unpacked(real(self, name, stage, whole))
        lie = file.read_text() if file.exists() else ""
        if not parts or not lie:
            old.setdefault(stage, parts)
            return packed(parts)
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
        return packed(parts)

    setattr(Board, "collect", collect)  # noqa: B010


class Federated:
    """A folder with everything in it: keys, tables, ledgers, logs."""

    def __init__(
        self, folder: Path, model: SecureSum, *, patience: int = 30, tables: Mapping[int, str] | None = None
    ) -> None:
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        PROCESSES.set_forkserver_preload(["warmed_sites"])
        with mock.patch.dict(os.environ, PYTHONPATH=path):
            ensure_running()
        self.folder, self.model, self.port, self._patience = folder, model, free_port(), patience
        self.listening = self.port
        self.identity = Identity.found(folder / "hub", f"https://127.0.0.1:{self.port}")
        members = tuple(Member.made(folder / f"s{n}", f"airline {n}", None) for n in range(model.sites))
        self.task = found_federation(
            members, model, folder / "task.json", folder / "tickets", name="flights", neighbours=Neighbours.ADD_REMOVE,
            unit=EACH_RECORD, budget=PrivacyLoss.pure(500), coordinator=self.identity.public, analysts=2,
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

    def start(self, name: str, arguments: Sequence[str], dies: str = "") -> None:
        process = PROCESSES.Process(
            target=command, args=([*arguments], str(self.folder / f"{name}.log"), dies), daemon=True
        )
        process.start()
        self.running[name] = process

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.join()

    def coordinator(self) -> None:
        self.start("hub", [
            "federation", "coordinator", "--task", str(self.folder / "task.json"), "--identity",
            str(self.folder / "hub"), "--patience", str(self._patience), "--listen", f"127.0.0.1:{self.listening}",
        ])  # fmt: skip

    def site(self, number: int, dies: str = "", more: Sequence[str] = ()) -> None:
        folder = self.folder
        self.start(f"s{number}", [
            "federation", "site", str(folder / f"s{number}.csv"), "--task", str(folder / "task.json"), "--key",
            str(folder / f"s{number}"), "--ticket", str(folder / "tickets" / f"owner-{number + 1}"), "--ledger",
            f"sqlite:///{folder / f's{number}.db'}", *more,
        ], dies)  # fmt: skip

    def all(self) -> Federated:
        self.coordinator()
        for number in range(self.model.sites):
            self.site(number)
        return self

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

    def analyst(self, number: int = 1, task: FederationTask | None = None) -> RemoteFederation:
        tickets = self.folder / "tickets"
        ticket = Ticket.read(tickets / f"analyst-{number}", Role.ANALYST)
        return RemoteFederation(task or self.task, ticket, read_key(tickets / f"analyst-{number}.key"), LONG)

    def log(self, name: str) -> str:
        file = self.folder / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def lie(self, how: str) -> None:
        (self.folder / "hub.log.lies").write_text(how)

    def signed(self) -> list[str]:
        return list(standing(self.task)["signed"])

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
