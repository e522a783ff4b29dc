"""Two servers that work out pairs and are killed at any message or write. Run as a program: at all of them."""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from federation import LONG, Federation, command

from dpcurves.ledger import Ledger
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.pairs import PairTask, Permutations, Trust
from dpcurves_parties.pairs.mechanisms import NoisePlacement
from dpcurves_parties.pairs.queries import commit_to_seed
from dpcurves_parties.pairs.service import ask_pairs
from dpcurves_parties.pairs.session import PairSession
from dpcurves_parties.pairs.task import read_values
from dpcurves_parties.serving.task_document import Role, Ticket, create_task
from dpcurves_parties.serving.two_servers.owner import Contribution, close_task, read_owner_ticket
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.shares import ProtocolError

SEED = bytes(range(32))
PEOPLE = 60
STEPS = ("send", "receive", "store_run", "confirm_run")


def mortal(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `dpcurves` does, but die at the step of a talk that stands in a file beside the log."""
    from dpcurves_parties.pairs import Connection
    from dpcurves_parties.pairs.service import PairStore
    from dpcurves_parties.serving.server import PeerConnection

    counts: Counter[str] = Counter()

    def dying(name: str, work: Callable[..., object]) -> Callable[..., object]:
        def die(when: str) -> None:
            file = Path(f"{log}.dies")
            if file.exists() and file.read_text() == f"{when} {name} {counts[name]}":
                os.kill(os.getpid(), signal.SIGKILL)

        def worked(*given: object) -> object:
            counts[name] += 1
            die("before")
            done = work(*given)
            if name == "confirm_run":  # from now on this server may show its share of this run
                with Path(f"{log}.shown").open("a") as file:
                    file.write("".join(part.hex() for part in given if isinstance(part, bytes)) + "\n")
            die("after")
            return done

        return worked

    for kind, names in ((Connection, STEPS[:2]), (PeerConnection, STEPS[:2]), (PairStore, STEPS[2:])):
        for name in names:
            setattr(kind, name, dying(name, getattr(kind, name)))
    talk = PairSession.run_protocol

    def talked(*given: Any) -> Any:
        counts.clear()
        return talk(*given)

    setattr(PairSession, "run_protocol", talked)  # noqa: B010
    command(arguments, log, environment)


@dataclass
class Couple:
    """Two servers with tasks of pairs."""

    federation: Federation

    def task(self, name: str, noise: NoisePlacement = NoisePlacement.ON_SUM, where: str = "") -> PairTask:
        first, second = (each.public for each in self.federation.identities)
        columns = (("rooms", 3), ("cleanliness", 3))
        draft = PairTask(
            name, "kendall", columns, Permutations(2), PrivacyLoss.pure(50), Trust.TWO_SERVERS, noise,
            commit_to_seed(SEED), (first, second), {}, PEOPLE, where,
        )  # fmt: skip
        numbers = {Role.OWNER: 3, Role.ANALYST: 2, Role.COORDINATOR: 1}
        folder = self.federation.folder
        made = create_task(draft, numbers, folder / f"{name}.json", folder / f"{name}-tickets")
        self.federation.tasks[name] = made  # type: ignore[assignment]
        return made

    def send(self, task: Any, values: Any, owner: int = 1) -> Any:
        ticket = self.federation.file(task, f"owner-{owner}")
        contribution = Contribution.from_ticket(task, read_values(task, values), ticket)
        return contribution.send(read_owner_ticket(task, ticket), lambda gone: None, LONG)

    def close(self, task: Any, seed: bytes = SEED, party: int = 0) -> Any:
        ticket = Ticket.load(self.federation.file(task, "coordinator-1"), Role.COORDINATOR)
        return close_task(task, ticket, party, LONG, seed)

    def ask(self, task: Any, party: int = 0) -> Any:
        return ask_pairs(task, Ticket.load(self.federation.file(task, "analyst-1"), Role.ANALYST), party, LONG)

    def shown(self, task: PairTask) -> set[str]:
        """The runs of a task of which a server may have shown its share."""
        name = PairSession.derive_name(
            task, str(Store(self.federation.store(0)).read_status(task.hash).report_set)
        ).hex()
        files = [Path(f"{self.federation.folder / f'log{party}'}.shown") for party in (0, 1)]
        return {line for file in files for line in file.read_text().splitlines() if line.startswith(name)}


def ratings(people: int = PEOPLE, seed: int = 1) -> dict[str, Any]:
    drawn = np.random.default_rng(seed).integers(0, 8, (2, people))
    return {"rooms": drawn[0], "cleanliness": np.maximum(drawn[0], drawn[1])}


def killed_at(couple: Couple, task: Any, party: int, step: str) -> bool:
    """Kill a server at a step of a task's first session, ask again, and look at what became of it.

    Returns:
        Whether the session had such a step.
    """
    federation = couple.federation
    couple.send(task, ratings(12))
    couple.close(task)
    order = Path(f"{federation.folder / f'log{party}'}.dies")
    order.write_text(step)
    for asked in (0, 1):  # server 1 may come to its last step after server 0 has answered
        with suppress(ProtocolError):
            couple.ask(task, asked)
    order.unlink()
    federation.running[party].join(1)
    died = not federation.running[party].is_alive()
    if died:
        federation.running.pop(party).join(LONG)
        federation.start(party, program=mortal)
    told = {couple.ask(task, asked).value for asked in (0, 1, 0)}
    assert len(told) == 1, step
    assert len(couple.shown(task)) == 1, step
    for each in (0, 1):
        assert Ledger.open_existing(federation.store(each)).statement(task.dataset).spent.digits == "50"
    return died


def main() -> None:
    """All steps of both servers, and some more that no session has."""
    places = [
        (party, f"{when} {name} {number}")
        for party in (0, 1) for name, most in zip(STEPS, (8, 8, 1, 1), strict=True)
        for number in range(1, most + 1) for when in ("before", "after")
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        couple = Couple(Federation(Path(folder)))
        tasks = [couple.task(f"killed{number}") for number in range(len(places))]
        try:
            for party in (0, 1):
                couple.federation.start(party, program=mortal)
            reached = sum(killed_at(couple, task, *place) for task, place in zip(tasks, places, strict=True))
        finally:
            couple.federation.end_all()
    print(f"two servers and pairs: killed at {reached} places of a session, one run shown and one answer after each")


if __name__ == "__main__":
    main()
