"""Scenario: owners send reports to two servers, which close the task together and answer analysts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dpcurves as dp
from dpcurves.arguments import ArgumentError, ProtocolError
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving import group_commit
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, create_task, find_bearer
from dpcurves_parties.serving.two_servers import collection
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.owner import Contribution
from dpcurves_parties.shares import aggregation, analyst
from dpcurves_parties.shares.analyst import Analyst
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind, Task

from .audit import LedgerAudit
from .disk import SimulatedDisk
from .network import SimulatedNetwork
from .world import KILL, POWER, SimulatedLock, Violation, World, replace_attributes

OWNERS = (3, 2)
"""Records of each owner, all in one cell of its own."""
EXACT, NOISY = PrivacyLoss.pure(1000), PrivacyLoss.pure("0.5")
"""Losses of the tasks: with the first all noise is zero but with probability below 1e-200; with the second it shows."""
PATIENCE = 20.0
"""Seconds that a client waits for an answer."""


class Pair(NamedTuple):
    """The documents, keys and tickets of one task, made once for all schedules, and the batches of its owners."""

    task: Task
    identities: tuple[Identity, Identity]
    owners: tuple[Ticket, ...]
    coordinator: Ticket
    analyst: Ticket
    batches: tuple[tuple[bytes, bytes], ...]
    folder: tempfile.TemporaryDirectory[str]


@lru_cache
def make_pair(loss: PrivacyLoss, owners: Owners) -> Pair:
    """Make a task of counts of cells with this loss, and seal the reports of its owners."""
    kept = tempfile.TemporaryDirectory()
    folder = Path(kept.name)
    first, second = (Identity.create(folder / f"a{party}", f"https://127.0.0.1:{7 + party}") for party in (0, 1))
    draft = Task(
        "simulated", "x", dp.Grid(0, 4, cells=4), None, loss, 10, (first.public, second.public), {}, owners=owners,
        count_kind=CountKind.CELLS,
    )  # fmt: skip
    numbers = {Role.OWNER: len(OWNERS), Role.ANALYST: 1, Role.COORDINATOR: 1}
    tickets = folder / "tickets"
    task = create_task(draft, numbers, folder / "task.json", tickets)
    batches: list[tuple[bytes, bytes]] = []
    for owner, records in enumerate(OWNERS):
        contribution = Contribution.from_ticket(task, np.full(records, owner), tickets / f"owner-{owner + 1}")
        batches.extend(contribution.iterate_batches())
    return Pair(
        task,
        (first, second),
        tuple(Ticket.load(tickets / f"owner-{owner + 1}", Role.OWNER) for owner in range(len(OWNERS))),
        Ticket.load(tickets / "coordinator-1", Role.COORDINATOR),
        Ticket.load(tickets / "analyst-1", Role.ANALYST),
        tuple(batches),
        kept,
    )


class SimulatedFuture:
    """A future whose reader lets other processes run until it is done."""

    world: World

    def __class_getitem__(cls, _: Any) -> type[SimulatedFuture]:
        """Return this class for any type of result."""
        return cls

    def __init__(self) -> None:
        self._is_done, self._value, self._error = False, None, None

    def set_result(self, value: Any) -> None:
        """Mark the future as done; `result` returns this value."""
        self._is_done, self._value = True, value

    def set_exception(self, error: Any) -> None:
        """Mark the future as done; `result` raises this error."""
        self._is_done, self._error = True, error

    def result(self) -> Any:
        """Wait for the end; return the result, or raise the error."""
        self.world.wait_until(lambda: self._is_done, 0.01)
        if self._error is not None:
            raise self._error
        return self._value


class SimulatedCondition:
    """A condition variable without a lock: nothing that holds it lets others run."""

    world: World

    def __enter__(self) -> SimulatedCondition:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def notify(self) -> None:
        """Do nothing: whoever waits looks again soon."""

    def wait_for(self, holds: Callable[[], Any], timeout: float) -> None:
        """Wait until the condition holds, or for some seconds."""
        end = self.world.now + timeout
        while not holds() and self.world.now < end:
            self.world.poll(0.01, end)  # seconds between two looks


class SimulatedExecutor:
    """An executor whose work is a thread of the process that submits it."""

    world: World

    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> SimulatedExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> SimulatedFuture:
        """Start the work; return its result as a future."""
        future, process = SimulatedFuture(), self.world.current

        def run() -> None:
            """Call the submitted function, and store its result or its error in the future."""
            try:
                future.set_result(work(*arguments))
            except ArgumentError as error:
                future.set_exception(error)

        self.world.start(
            f"{process.group}/work", process.machine, run, group=process.group, is_daemon=True, starts_again=False
        )
        return future


class ServersScenario:
    """Two servers, two owners, a coordinator who closes the task, and an analyst who asks twice."""

    INDEPENDENT = ()

    def __init__(self, world: World, disk: SimulatedDisk) -> None:
        self._world, self._disk, self._network = world, disk, SimulatedNetwork(world)
        self._is_exact = world.draw("loss") < 0.5
        self._pair = make_pair(
            EXACT if self._is_exact else NOISY, Owners.CHECKED if world.draw("check") < 0.4 else Owners.UNCHECKED
        )
        self._paths = [disk.make_folder(f"server-{party}") / "reports.db" for party in (0, 1)]
        self._audits = [LedgerAudit(world, path, disk) for path in self._paths]
        self._services: list[Any] = [None, None]
        self._accepted: list[set[int]] = [set(), set()]
        self._decided: dict[str, tuple[str, str]] = {}
        self._seen = -1
        self._is_closed = False
        world.patience = 120.0  # seconds: a request is delayed by 30 s at most, a partition lasts 20 s
        self._stack = ExitStack()
        world.invariants.append(self.check)

    def start(self) -> None:
        """Start servers, owners, coordinator and analyst."""
        world, scenario = self._world, self

        class Line:
            """The analyst's connection to the server that is asked."""

            @classmethod
            def from_certificate(cls, url: str, certificate: str, timeout: float) -> Line:
                """Return a connection to server 0."""
                return cls()

            def post(self, path: str, body: bytes, token: str = "", content_type: str = "") -> bytes:
                """Send a question to server 0 and return both answer shares, as `Channel.post` does over HTTPS."""
                return scenario._request(0, "ask", partial(scenario._answer, body, token))

            def close(self) -> None:
                """Do nothing: a simulated connection holds no socket."""

        for kind in (SimulatedExecutor, SimulatedCondition, SimulatedFuture):
            kind.world = world
        self._stack.enter_context(
            replace_attributes(
                (analyst, "Channel", Line),
                (aggregation, "ThreadPoolExecutor", SimulatedExecutor),
                (group_commit, "ThreadPoolExecutor", SimulatedExecutor),
                (group_commit, "Condition", SimulatedCondition),
                (group_commit, "Future", SimulatedFuture),
                (group_commit, "sleep", world.sleep),
                (collection.Resources, "make_channel", lambda resources, task: _PeerLine(scenario, resources.party)),
                (Identity, "require_valid", lambda identity: None),
            )
        )
        for party in (0, 1):
            process = world.start(
                f"server-{party}", f"server-{party}", partial(self._run_server, party), is_daemon=True
            )
            self._network.serve(process)
        for owner in range(len(OWNERS)):
            world.start(f"owner-{owner + 1}", f"owner-{owner + 1}", partial(self._run_owner, owner))
        world.start("coordinator", "coordinator", self._run_coordinator)
        world.start("analyst", "analyst", self._run_analyst)

    def close(self) -> None:
        """Restore the product classes and functions that `start` replaced by simulated ones."""
        self._stack.close()

    def finish(self) -> None:
        """Check the final state. Raises `Violation`."""
        self._seen = -1
        self.check()
        for audit in self._audits:
            audit.check_now()

    # Processes

    def _run_server(self, party: int) -> None:
        """Serve until the process is killed."""
        world, pair = self._world, self._pair
        self._services[party] = None
        server = Aggregator(party, (pair.task,), pair.identities[party], f"sqlite:///{self._paths[party]}")
        while self._services[party] is None:
            try:
                service = server.create_services()[pair.task.hash]
            except ArgumentError as error:
                world.note(f"does not start: {error.rule[:60]}")
                world.sleep(1.0)  # seconds until the operator tries again
            else:
                service._lock = SimulatedLock(world)  # type: ignore[assignment]
                service.closing._leading = SimulatedLock(world)  # type: ignore[assignment]
                self._services[party] = service
        while True:
            world.sleep(1.5)  # seconds between two moments at which an idle server may be killed
            world.step("idle", KILL, POWER)

    def _run_owner(self, owner: int) -> None:
        """Send a batch to server 0, then to server 1, until each has accepted it or the task is closed."""
        world, pair = self._world, self._pair
        world.sleep(world.draw(f"owner {owner}") * 4)
        for party in (0, 1):
            batch, token = pair.batches[owner][party], pair.owners[owner].derive_bearer_token(party)
            if self._repeat(party, "reports", partial(self._store, party, batch, token)) is None:
                return
            self._accepted[party].add(owner)
            world.note(f"is accepted by server {party}")

    def _run_coordinator(self) -> None:
        """Close the task, at one server or the other, until it is closed."""
        world = self._world
        world.sleep(world.draw("closing") * 6)
        while True:
            party = int(world.draw("party") < 0.5)
            due = set(self._accepted[0] & self._accepted[1])
            try:
                reply = json.loads(self._request(party, "close", partial(self._close, party)))
            except ProtocolError as error:
                world.note(f"not closed: {error.rule[:60]}")
                world.sleep(1.0)  # seconds until somebody tries again
                continue
            if reply["reports"] < sum(OWNERS[owner] for owner in due):
                raise Violation("a report that both servers had accepted was left out")
            self._is_closed = True
            return

    def _run_analyst(self) -> None:
        """Ask the closed task twice, with a client each; the answers must be equal."""
        world, pair = self._world, self._pair
        world.wait_until(lambda: self._is_closed, 0.5)
        for _ in (1, 2):
            client = Analyst(pair.task, pair.analyst, 0, PATIENCE)
            while True:
                try:
                    values = client._ask_values((), None)
                except ProtocolError as error:
                    world.note(f"no answer: {error.rule[:60]}")
                    world.sleep(1.0)  # seconds until somebody tries again
                else:
                    break
            self._require_right(values)
            world.note(f"reads {len(values)} counts")

    def _require_right(self, values: tuple[int, ...]) -> None:
        """Compare an answer with the exact model, and with the answer before. Raises `Violation`."""
        for audit in self._audits:
            audit.show("answer", values, self._pair.task.hash)
        if not self._is_exact:
            return
        both = self._accepted[0] & self._accepted[1]
        for owner, records in enumerate(OWNERS):
            if values[owner] not in ((records,) if owner in both else (0, records)):
                raise Violation(f"the answer counts {values[owner]} of {records} records of owner {owner + 1}")
        if any(values[len(OWNERS) :]):
            raise Violation("the answer counts records that nobody sent")

    # Requests

    def _service(self, party: int) -> Any:
        """Return the running service of server `party`, 0 or 1. Raises `ProtocolError` 503 while it is down."""
        service = self._services[party]
        if service is None:
            raise ProtocolError("server", "is still starting; ask again in a few seconds", 503)
        return service

    def _request(self, party: int, label: str, handle: Callable[[], bytes]) -> bytes:
        """Send a request to the server `party`, where `handle` answers it; return the answer. `label` names it in the
        trace. Raises `ProtocolError`: it was refused, lost, or took longer than `PATIENCE`.
        """
        return self._network.request(f"server-{party}", label, handle, PATIENCE)

    def _repeat(self, party: int, label: str, handle: Callable[[], bytes]) -> bytes | None:
        """Repeat a request, which `handle` answers in the server's process, every second until it is answered. Return
        the answer; None once the server refuses because the task is closed."""
        while True:
            try:
                return self._request(party, label, handle)
            except ProtocolError as error:
                self._world.note(f"not sent: {error.rule[:60]}")
                if error.status < 500 and "clos" in error.rule and "again" not in error.rule:
                    return None
            self._world.sleep(1.0)  # seconds until the owner tries again

    def _store(self, party: int, batch: bytes, token: str) -> bytes:
        """Answer an owner's batch, as the application does."""
        service = self._service(party)
        reply: bytes = service.store_batch(service.find_owner(token), batch)
        return reply

    def _close(self, party: int) -> bytes:
        """Answer the coordinator's request to close the task."""
        reply: bytes = self._service(party).close(b"")
        return reply

    def _answer(self, message: bytes, token: str) -> bytes:
        """Answer an analyst's question, as the application does."""
        number = find_bearer(self._pair.task, token, Role.ANALYST, 0)
        reply: bytes = self._service(0).answer(message, number)
        return reply

    # Invariants

    def check(self) -> None:
        """Check that decided sets stay, and are equal at both servers. Raises `Violation`."""
        if self._seen == self._disk.commits:
            return
        self._seen = self._disk.commits
        for party, path in enumerate(self._paths):
            if not self._disk.read(path, "SELECT name FROM sqlite_master WHERE name = 'dpcurves_shared_tasks'"):
                continue
            for state, name, commitments in self._disk.read(
                path, 'SELECT state, "set", commitments FROM dpcurves_shared_tasks'
            ):
                if state == "closed" and self._decided.setdefault("task", (name, commitments)) != (name, commitments):
                    raise Violation(f"server {party} has decided on another set than before")


class _PeerLine:
    """A server's connection to the other one."""

    def __init__(self, scenario: ServersScenario, party: int) -> None:
        self._scenario, self._peer = scenario, 1 - party

    def post(self, path: str, body: bytes, token: str = "", content_type: str = "") -> bytes:
        """Send a request to the other server."""
        name = path.rpartition("/")[2]

        def handle() -> bytes:
            """Answer the request, as the application does."""
            service = self._scenario._service(self._peer)
            work, _ = service.PEER_REQUESTS[name]
            reply: bytes = work(service, body)
            return reply

        return self._scenario._request(self._peer, name, handle)

    def close(self) -> None:
        """Do nothing: a simulated connection holds no socket."""
