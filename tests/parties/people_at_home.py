"""A server of people in pairs as a real process over TLS, and people with tickets and devices of their own."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "processes"))  # where pytest has not put it there

from free_ports import free_port

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves_parties.pairs import PairTask, Permutations, Trust
from dpcurves_parties.pairs.mechanisms import NoisePlacement
from dpcurves_parties.pairs.meetings import MeetingProgress, Participant, RelayClient, reveal_seed
from dpcurves_parties.pairs.queries import commit_to_seed
from dpcurves_parties.pairs.relay_server import RelayServer
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.server import Address
from dpcurves_parties.serving.task_document import Role, Ticket, create_task

SEED = bytes(range(32))
LONG = 120
"""Seconds after which a test that waits has failed."""


def run(folder: str, port: int) -> None:
    """The server of a folder, in a process of its own, for all tasks that lie there."""
    place = Path(folder)
    tasks, identity = [PairTask.load(file) for file in place.glob("*.json")], Identity.load(place / "server")
    server = RelayServer(tasks, identity, f"sqlite:///{place / 'relay.db'}")
    server.serve(Address("127.0.0.1", port), (place / "ready").touch)


class Country:
    """A folder with a server, and villages of people with a task each. What it prints goes to a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.identity = Identity.create(folder / "server", f"https://127.0.0.1:{self.port}")
        self.running: SpawnProcess | None = None
        self.villages: list[Village] = []

    def village(self, name: str, people: int, each: int = 1, epsilon: Fraction = Fraction(64)) -> Village:
        self.villages.append(Village(self, name, people, each, epsilon))
        return self.villages[-1]

    def start(self) -> None:
        (self.folder / "ready").unlink(missing_ok=True)
        self.running = multiprocessing.get_context("spawn").Process(target=run, args=(str(self.folder), self.port))
        self.running.start()
        end = time.monotonic() + LONG
        while not (self.folder / "ready").exists():
            assert self.running.is_alive(), "the server has ended"
            assert time.monotonic() < end, "the server does not listen"
            time.sleep(0.02)

    def stop(self) -> None:
        for post in [post for village in self.villages for post in village.opened]:
            post.close()
        if self.running is not None:
            self.running.kill()
            self.running.join(LONG)
            self.running = None

    def stored(self) -> bytes:
        return b"".join(file.read_bytes() for file in self.folder.glob("relay.db*"))


class Village:
    """A task of a country for so many people, their tickets and devices."""

    def __init__(self, country: Country, name: str, people: int, each: int, epsilon: Fraction) -> None:
        self.folder, self.opened = country.folder / name, list[RelayClient]()
        self.folder.mkdir()
        draft = PairTask(
            name, "kendall", (("rooms", 3), ("cleanliness", 3)), Permutations(each), dp.PrivacyLoss.pure(epsilon),
            Trust.PEOPLE, NoisePlacement.EACH, commit_to_seed(SEED), (country.identity.public,), {},
        )  # fmt: skip
        numbers = {Role.OWNER: people, Role.ANALYST: 1, Role.COORDINATOR: 1}
        self.task = create_task(draft, numbers, country.folder / f"{name}.json", self.folder / "tickets")

    def ticket(self, name: str, role: Role = Role.OWNER) -> Ticket:
        return Ticket.load(self.folder / "tickets" / name, role)

    def post(self, person: int) -> RelayClient:
        self.opened.append(RelayClient.connect(self.task, self.ticket(f"owner-{person + 1}")))
        return self.opened[-1]

    def attendance(self, person: int, heed: Any = None, device: str = "") -> Participant:
        path = self.folder / "tickets" / f"owner-{person + 1}.device{device}"
        randomness = Randomness.from_seed(100 + person)
        return Participant.enter_task(self.post(person), randomness, path, heed or (lambda line: None))

    def attend(self, person: int, values: Sequence[Any], heed: Any = None) -> MeetingProgress:
        attendance = self.attendance(person, heed)
        try:
            return attendance.advance_meetings(values)
        finally:
            attendance.client.close()

    def close(self, seed: bytes = SEED, ticket: Ticket | None = None) -> int:
        return reveal_seed(self.task, ticket or self.ticket("coordinator-1", Role.COORDINATOR), seed)
