"""A simulated scenario: owners send reports to two servers, which close the task together and answer analysts.

The scenario uses the product's code on a simulated network, disk and clock, with faults that a seed chooses.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from pathlib import Path
from ssl import PEM_cert_to_DER_cert
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import dpcurves as dp
from dpcurves.arguments import ArgumentError, ProtocolError
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving import group_commit, task_app
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, create_task, hash_token
from dpcurves_parties.serving.two_servers import app, collection, dap
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.owner import Contribution
from dpcurves_parties.serving.two_servers.task_types import parse_closed_status
from dpcurves_parties.shares import aggregation, analyst
from dpcurves_parties.shares.analyst import Analyst
from dpcurves_parties.shares.answer_proofs import ProofKeys
from dpcurves_parties.shares.dap_uploads import LeaderUpload
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind, ReportKind, Task

from .audit import LedgerAudit
from .disk import SimulatedDisk
from .event_loop import SimulatedFuture
from .ledgers import put_empty_ledger
from .network import SLOW_BODY, Channels, Request, SimulatedChannel, SimulatedNetwork
from .strangers import Stranger
from .world import POWER_LOST, PROCESS_KILLED, SimulatedLock, Violation, World, replace_attributes

RECORDS_BY_OWNER = (3, 2)
"""Number of records of each simulated data owner: all in one cell, which differs between owners."""
EXACT, NOISY = PrivacyLoss.pure(1000), PrivacyLoss.pure("0.5")
"""Losses of the tasks: with the first all noise is zero but with probability below 1e-200; with the second it shows."""
PATHS = ("reports", "enrol", "close", "answers", "peer/agree", "peer/commit", "peer/half", "aggregation_jobs")
"""Paths below a task that the application of a server has, at which a simulated stranger sends requests."""
CLIENT_TIMEOUT = 20.0
"""Seconds, of simulated time, that a client waits for an answer before it takes the request as lost."""


class Form(NamedTuple):
    """What tasks of the scenario differ in.

    Attributes:
        loss: Privacy loss of the task.
        owners: Whether the servers check reports.
        count_kind: Counts of all cells, or below thresholds.
        report_kind: Encoding of the reports.
        is_proved: Whether answers are proved.
        enrols: Whether owners enrol their tokens.
    """

    loss: PrivacyLoss
    owners: Owners = Owners.UNCHECKED
    count_kind: CountKind = CountKind.CELLS
    report_kind: ReportKind = ReportKind.TREE
    is_proved: bool = False
    enrols: bool = False


TASK_KINDS: tuple[Mapping[str, Any], ...] = (
    {}, {}, {"owners": Owners.CHECKED}, {"owners": Owners.CHECKED, "is_proved": True}, {"enrols": True},
    {"count_kind": CountKind.PREFIXES}, {"count_kind": CountKind.PREFIXES, "owners": Owners.CHECKED},
    {"is_proved": True}, {"owners": Owners.CHECKED, "report_kind": ReportKind.HISTOGRAM},
    {"owners": Owners.CHECKED, "report_kind": ReportKind.HISTOGRAM},
)  # fmt: skip
"""Options of simulated tasks; each schedule draws one entry. Reports of histograms are uploaded as in the DAP draft."""


class Pair(NamedTuple):
    """The documents, keys and tickets of one task, made once for all schedules, and the batches of its owners."""

    task: Task
    identities: tuple[Identity, Identity]
    owners: tuple[Ticket, ...]
    coordinator: Ticket
    analyst: Ticket
    batches: tuple[tuple[bytes, bytes], ...]
    uploads: tuple[LeaderUpload, ...]
    folder: tempfile.TemporaryDirectory[str]


@lru_cache
def make_pair(form: Form) -> Pair:
    """Return a task of two servers with the servers' identities and the sealed reports of its owners; made once.

    Args:
        form: Type of the task, such as histogram or tree.
    """
    kept = tempfile.TemporaryDirectory()
    folder = Path(kept.name)
    first, second = (Identity.create(folder / f"a{party}", f"https://127.0.0.1:{7 + party}") for party in (0, 1))
    proofs = ProofKeys.generate(1) if form.is_proved else None
    draft = Task(
        "simulated", "x", dp.Grid(0, 4, cells=4), None, form.loss, 10, (first.public, second.public), {},
        owners=form.owners, count_kind=form.count_kind, report_kind=form.report_kind, enrols=form.enrols,
        proof_key_hashes=() if proofs is None else proofs.hashes,
    )  # fmt: skip
    numbers = {Role.OWNER: len(RECORDS_BY_OWNER), Role.ANALYST: 1, Role.COORDINATOR: 1}
    tickets = folder / "tickets"
    ticket_secrets = {} if proofs is None else proofs.to_ticket_secrets(len(RECORDS_BY_OWNER))
    task = create_task(draft, numbers, folder / "task.json", tickets, ticket_secrets)
    batches: list[tuple[bytes, bytes]] = []
    uploads: list[LeaderUpload] = []
    for owner, records in enumerate(RECORDS_BY_OWNER):
        contribution = Contribution.from_ticket(task, np.full(records, owner), tickets / f"owner-{owner + 1}")
        batches.extend(contribution.iterate_batches())
        uploads.append(LeaderUpload(contribution, Ticket.load(tickets / f"owner-{owner + 1}", Role.OWNER)))
    return Pair(
        task,
        (first, second),
        tuple(Ticket.load(tickets / f"owner-{owner + 1}", Role.OWNER) for owner in range(len(RECORDS_BY_OWNER))),
        Ticket.load(tickets / "coordinator-1", Role.COORDINATOR),
        Ticket.load(tickets / "analyst-1", Role.ANALYST),
        tuple(batches),
        tuple(uploads),
        kept,
    )


async def run_in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function called in a simulated thread, in place of
    `starlette.concurrency.run_in_threadpool`.

    Args:
        work: The function.
        arguments: Its arguments.
    """
    return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)


class SimulatedCondition:
    """A condition variable without a lock: nothing that holds it lets others run."""

    world: World

    def __enter__(self) -> SimulatedCondition:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def notify(self) -> None:
        """Do nothing, because waiting simulated processes poll their condition."""

    def wait_for(self, holds: Callable[[], Any], timeout: float) -> None:
        """Wait until the condition holds, or for some seconds.

        Args:
            holds: Condition, called again every 0.01 seconds.
            timeout: Longest wait, in simulated seconds.
        """
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
        """Start a function in a simulated thread, and return the future of its result.

        Args:
            work: The function.
            arguments: Its arguments.
        """
        future = SimulatedFuture()
        process = self.world.current

        def run() -> None:
            """Call the submitted function in the simulated thread, and store its result or its error in the future."""
            try:
                future.set_result(work(*arguments))
            except ArgumentError as error:
                future.set_exception(error)

        self.world.start(
            f"{process.group}/work", process.machine, run, group=process.group, is_daemon=True, starts_again=False
        )
        return future


class ServersScenario:
    """Two servers, two owners, a coordinator who closes the task, and an analyst who asks twice.

    Half of the schedules vary: in the kind of the task, with strangers, slow bodies and ledgers that exist already.
    """

    INDEPENDENT = ("stranger",)

    def __init__(self, world: World, disk: SimulatedDisk) -> None:
        """Prepare the scenario: two servers that together count reports which neither can read.

        Args:
            world: The simulated world, with the schedule.
            disk: Its simulated disk.
        """
        self._world = world
        self._disk = disk
        self._network = SimulatedNetwork(world)
        self._is_exact = world.draw("loss") < 0.5
        self._is_varied = world.draw("other tasks") < 0.5
        if self._is_varied:
            form = world.choose("form", TASK_KINDS)
        else:
            form = {"owners": Owners.CHECKED if world.draw("check") < 0.4 else Owners.UNCHECKED}
            self._network.faults = tuple(fault for fault in self._network.faults if fault != SLOW_BODY)
        self._pair = make_pair(Form(EXACT if self._is_exact else NOISY, **form))
        self._paths = [disk.make_folder(f"server-{party}") / "reports.db" for party in (0, 1)]
        self._audits = [LedgerAudit(world, path, disk) for path in self._paths]
        self._accepted: list[set[int]] = [set(), set()]
        self._decided: dict[str, tuple[str, str]] = {}
        self._seen = -1
        self._is_closed = False
        world.patience = 120.0  # seconds: a request is delayed by 30 s at most, a partition lasts 20 s
        for number, path in enumerate(self._paths) if self._is_varied and world.draw("creation") > 0.2 else ():
            put_empty_ledger(disk, path, number)
        self._stack = ExitStack()
        world.invariants.append(self.check)

    def start(self) -> None:
        """Start the processes of the simulation: two servers, owners, a coordinator and an analyst; sometimes also a
        client without rights.
        """
        world = self._world
        for kind in (SimulatedExecutor, SimulatedCondition, SimulatedFuture):
            kind.world = world
        self._stack.enter_context(
            replace_attributes(
                (analyst, "Channel", Channels(self._network, "server-0")),
                (app, "ThreadPoolExecutor", SimulatedExecutor),
                (app, "run_in_threadpool", run_in_thread),
                (task_app, "time", SimpleNamespace(monotonic=lambda: world.now)),
                (task_app, "_on_their_way", Counter()),
                (aggregation, "ThreadPoolExecutor", SimulatedExecutor),
                (group_commit, "ThreadPoolExecutor", SimulatedExecutor),
                (group_commit, "Condition", SimulatedCondition),
                (group_commit, "Future", SimulatedFuture),
                (group_commit, "sleep", world.sleep),
                (collection.Resources, "make_channel", lambda resources, task: self._connect_peer(resources.party)),
                (Identity, "require_valid", lambda identity: None),
            )
        )
        for party in (0, 1):
            process = world.start(
                f"server-{party}", f"server-{party}", partial(self._run_server, party), is_daemon=True
            )
            self._network.serve(process)
        for owner in range(len(RECORDS_BY_OWNER)):
            world.start(f"owner-{owner + 1}", f"owner-{owner + 1}", partial(self._run_owner, owner))
        world.start("coordinator", "coordinator", self._run_coordinator)
        world.start("analyst", "analyst", self._run_analyst)
        if self._is_varied and world.draw("stranger") < 0.5:
            party = int(world.draw("attacked") < 0.5)
            tickets = (*self._pair.owners, self._pair.coordinator, self._pair.analyst)
            tokens = [ticket.derive_bearer_token(1 - party) for ticket in tickets]
            stranger = Stranger(
                world, self._network, f"server-{party}", task=self._pair.task.hash, paths=lambda: PATHS, tokens=tokens
            )
            world.start("stranger", "stranger", stranger.run)

    def close(self) -> None:
        """Restore the library's classes and functions that `start` replaced by simulated ones."""
        self._stack.close()

    def finish(self) -> None:
        """Check the final state of both servers' stores.

        Raises:
            Violation: an invariant does not hold.
        """
        self._seen = -1
        self.check()
        for audit in self._audits:
            audit.check_now()

    # Processes

    def _run_server(self, party: int) -> None:
        """Run one server until its process is killed: create the services, open the app, and wait.

        Args:
            party: Number of the server, 0 or 1.
        """
        world, pair = self._world, self._pair
        self._network.open_app(f"server-{party}", None)
        service = None
        server = Aggregator(party, (pair.task,), pair.identities[party], f"sqlite:///{self._paths[party]}")
        while service is None:
            try:
                services = server.create_services()
            except ArgumentError as error:
                world.note(f"does not start: {error.rule[:60]}")
                world.sleep(1.0)  # seconds until the operator tries again
            else:
                service = services[pair.task.hash]
                service._lock = SimulatedLock(world)  # type: ignore[assignment]
                service.closing._leading = SimulatedLock(world)  # type: ignore[assignment]
                self._network.open_app(f"server-{party}", app.create_app(services))
        while True:
            world.sleep(1.5)  # seconds between two moments at which an idle server may be killed
            world.step("idle", PROCESS_KILLED, POWER_LOST)

    def _run_owner(self, owner: int) -> None:
        """Act as an owner of records, who enrols where the task asks for it and sends reports until they are accepted.

        It stops if the task is closed. A batch of tree reports goes to server 0, then to server 1. Histogram reports go
        to server 0, the leader, alone.

        Args:
            owner: Number of the owner.
        """
        world, pair = self._world, self._pair
        world.sleep(world.draw(f"owner {owner}") * 4)
        ticket = pair.owners[owner]
        if pair.task.enrols:
            ticket = Ticket(pair.task.hash, Role.OWNER, f"{owner:064x}")
            message = json.dumps({"token": hash_token(ticket.token)}).encode()
            for party in (0, 1):
                if self._repeat(party, "enrol", message, pair.owners[owner].derive_bearer_token(party)) is None:
                    return
        if pair.task.report_kind is ReportKind.HISTOGRAM:
            self._upload(owner)
            return
        is_careless = self._is_varied and world.draw(f"mistakes {owner}") < 0.4
        for party in (0, 1):
            batch = pair.batches[owner][party]
            token = ticket.derive_bearer_token(party)
            if is_careless:
                self._make_mistakes(owner, party, token)
            if self._repeat(party, "reports", batch, token) is None:
                return
            self._accepted[party].add(owner)
            world.note(f"is accepted by server {party}")

    def _make_mistakes(self, owner: int, party: int, token: str) -> None:
        """Send invalid messages, which the servers must refuse: cut off, changed, for the other server, or wrongly
        enrolled.

        Args:
            owner: Number of the owner whose batches are used.
            party: Number of the server, 0 or 1.
            token: Bearer token of the owner at that server.
        """
        batch, path = self._pair.batches[owner][party], f"/tasks/{self._pair.task.hash}/reports"
        changed = batch[:-1] + bytes([batch[-1] ^ 1])
        for mistake in (batch[:20], b"\0" + batch[1:], self._pair.batches[owner][1 - party], batch[:-1], changed):
            self._expect_refusal(party, path, mistake, token)
        invitation = self._pair.owners[owner].derive_bearer_token(party)
        enrolment = json.dumps({"token": "x"}).encode()
        self._expect_refusal(party, f"/tasks/{self._pair.task.hash}/enrol", enrolment, invitation)

    def _upload(self, owner: int) -> None:
        """Send an owner's reports to the leader, as the DAP draft specifies, until both servers have stored them.

        It stops if the task is closed.

        Args:
            owner: Number of the owner.
        """
        world = self._world
        line = self._connect(0)
        with suppress(OSError):
            self._network.exchange("server-0", Request("GET", "/hpke_config", b"", {}), CLIENT_TIMEOUT)
        while True:
            try:
                self._pair.uploads[owner].send_over(line)
            except ProtocolError as error:
                world.note(f"not sent: {error.rule[:60]}")
                if error.status < 500 and "clos" in error.rule and "again" not in error.rule:
                    return
                world.sleep(1.0)  # seconds until the owner tries again
            else:
                self._accepted[0].add(owner)
                self._accepted[1].add(owner)
                world.note("is accepted by both servers")
                return

    def _run_coordinator(self) -> None:
        """Act as the coordinator who asks either server to close the task, until the task is closed."""
        world, pair = self._world, self._pair
        world.sleep(world.draw("closing") * 6)
        while True:
            party = int(world.draw("party") < 0.5)
            due = set(self._accepted[0] & self._accepted[1])
            try:
                token = pair.coordinator.derive_bearer_token(party)
                reply = json.loads(self._connect(party).post(f"/tasks/{pair.task.hash}/close", b"", token))
            except ProtocolError as error:
                world.note(f"not closed: {error.rule[:60]}")
                world.sleep(1.0)  # seconds until the next attempt
                continue
            if reply["reports"] < sum(RECORDS_BY_OWNER[owner] for owner in due):
                raise Violation("a report that both servers had accepted was left out")
            self._is_closed = True
            return

    def _run_analyst(self) -> None:
        """Act as an analyst who asks the closed task twice, with a client each; the answers must be equal."""
        world, pair = self._world, self._pair
        world.wait_until(lambda: self._is_closed, 0.5)
        if self._is_varied and world.draw("collection") < 0.4:
            path = f"/tasks/{dap.encode_task_id(pair.task.hash)}/collection_jobs"
            token = pair.analyst.derive_bearer_token(0)
            self._expect_refusal(0, path, world.random_bytes("job")(60), token, dap.COLLECTION_JOB_REQ_TYPE)
        for _ in (1, 2):
            client = Analyst(pair.task, pair.analyst, 0, CLIENT_TIMEOUT)
            while True:
                try:
                    if self._is_varied:
                        parse_closed_status(pair.task, client._server.get(f"/tasks/{pair.task.hash}"))
                    values = client._ask_values(self._thresholds, None)
                except ProtocolError as error:
                    world.note(f"no answer: {error.rule[:60]}")
                    world.sleep(1.0)  # seconds until the next attempt
                else:
                    break
            self._require_right(values)
            world.note(f"reads {len(values)} counts")

    def _require_right(self, values: tuple[int, ...]) -> None:
        """Check an answer against the exact counts of the accepted records, and against the answer before.

        Args:
            values: Released values; without noise they are the exact counts.

        Raises:
            Violation: the answer is another one.
        """
        for audit in self._audits:
            audit.show("answer", values, self._pair.task.hash)
        if not self._is_exact:
            return
        both = self._accepted[0] & self._accepted[1]
        if self._thresholds:  # counts below thresholds
            values = tuple(int(cell) for cell in np.diff([0, *values]))
        for owner, records in enumerate(RECORDS_BY_OWNER):
            if values[owner] not in ((records,) if owner in both else (0, records)):
                raise Violation(f"the answer counts {values[owner]} of {records} records of owner {owner + 1}")
        if any(values[len(RECORDS_BY_OWNER) :]):
            raise Violation("the answer counts records that nobody sent")

    @property
    def _thresholds(self) -> tuple[int, ...]:
        """The thresholds at which counts are asked for: the ends of all cells, or none if the task counts cells."""
        task = self._pair.task
        return () if task.count_kind is CountKind.CELLS else tuple(range(1, task.slots + 1))

    # Requests

    def _connect(self, party: int) -> SimulatedChannel:
        """Return a simulated connection of a client to one of the two servers.

        Args:
            party: Number of the server, 0 or 1.
        """
        return SimulatedChannel(self._network, f"server-{party}", CLIENT_TIMEOUT)

    def _connect_peer(self, party: int) -> SimulatedChannel:
        """Return a simulated connection of one server to the other, with the first one's certificate.

        Args:
            party: Number of the server that connects, 0 or 1.
        """
        certificate = PEM_cert_to_DER_cert(self._pair.task.servers[party].certificate)
        return SimulatedChannel(self._network, f"server-{1 - party}", CLIENT_TIMEOUT, certificate)

    def _repeat(self, party: int, what: str, message: bytes, token: str) -> bytes | None:
        """Send a request to a server, every second until it is answered.

        Args:
            party: Number of the server.
            what: End of the path.
            message: The body.
            token: Bearer token.

        Returns:
            The answer; None once the server refuses because the task is closed.
        """
        line = self._connect(party)
        while True:
            try:
                return line.post(f"/tasks/{self._pair.task.hash}/{what}", message, token)
            except ProtocolError as error:
                self._world.note(f"not sent: {error.rule[:60]}")
                if error.status < 500 and "clos" in error.rule and "again" not in error.rule:
                    return None
            self._world.sleep(1.0)  # seconds until the owner tries again

    def _expect_refusal(self, party: int, path: str, message: bytes, token: str, content_type: str = "") -> None:
        """Send an invalid message once, and check that the server refuses it.

        Args:
            party: Number of the server.
            path: The path.
            message: The body.
            token: Bearer token.
            content_type: Content type; empty: the usual one.

        Raises:
            Violation: it is accepted.
        """
        options = {"content_type": content_type} if content_type else {}
        try:
            self._connect(party).post(path, message, token, **options)
        except ProtocolError as error:
            self._world.note(f"refused: {error.rule[:60]}")
        else:
            raise Violation(f"an invalid message to {path.rsplit('/', 1)[-1]} was accepted")

    # Invariants

    def check(self) -> None:
        """Check that the accepted report set of a closed task never changes and is equal at both servers, after each
        event.

        Raises:
            Violation: a set has changed, or differs.
        """
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
