"""A simulated scenario: sites sum masked vectors through a coordinator that may lie, with a site that may cheat.

The scenario uses the product's code on a simulated network, disk and clock, with faults that a seed chooses.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import dpcurves as dp
from dpcurves.arguments import ArgumentError, ProtocolError
from dpcurves.curves import HistogramQuestion
from dpcurves.curves.question_json import question_to_json
from dpcurves.ledger import Ledger
from dpcurves.noise import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.records import open_records
from dpcurves_parties.serving import task_app
from dpcurves_parties.serving.channel import ANSWER_SECONDS
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_sites import relay, remote, site, trust
from dpcurves_sites.relay import MessageBoard, create_app
from dpcurves_sites.remote import (
    ApprovalRequest,
    ApprovedList,
    RemoteFederation,
    SiteAgent,
    fetch_status,
    fingerprint_question,
)
from dpcurves_sites.round_request import RoundRequest
from dpcurves_sites.secure_sum import HASH_SIZE, MASKED, OPENED, STAGES, Signer, SumRound, parse_message
from dpcurves_sites.site import Site
from dpcurves_sites.task import FederationTask, Member, create_federation_task, read_key
from dpcurves_sites.transport import pack_parts, unpack_parts
from dpcurves_sites.trust import SecureSum

from .disk import SimulatedDisk
from .ledgers import put_empty_ledger
from .network import Channels, Request, SimulatedChannel, SimulatedNetwork
from .strangers import Stranger
from .world import Violation, World, replace_attributes

QUESTION = HistogramQuestion("age", dp.Grid(0, 90, cells=3))
"""The histogram that simulated analysts ask the sites for."""
UNAPPROVED_QUESTION = HistogramQuestion("age", dp.Grid(0, 90, cells=2))
"""A question that is not on an officer's list of approved questions: sites must not answer it."""
UNASKED_QUESTION = HistogramQuestion("age", dp.Grid(0, 90, cells=6))
"""A question on an officer's list of approved questions that no analyst asks."""
UNKNOWN_COLUMN_QUESTION = HistogramQuestion("height", dp.Grid(0, 90, cells=2))
"""A question about a column that no site has: sites must not answer it."""
PRICE = PrivacyLoss.pure(1)
"""Privacy loss of each simulated request: epsilon 1."""
COORDINATOR = "coordinator"
"""Name of the coordinator's machine in the simulated network."""
CLIENT_TIMEOUT = 30.0
"""Seconds, of simulated time, that a client waits for the coordinator's answer before it takes the request as lost."""
PATHS = ("consents", "asks", "waiting", "rounds/" + "0" * 64 + "/refused", "rounds/" + "1" * 64 + "/3")
"""Paths below a task that the coordinator's application has, at which a simulated stranger sends requests."""
MOST_ATTEMPTS = 40
"""Largest number of requests of one question; without an answer by then, the schedule fails."""
UNSIGNED_SENDER = "careless"
"""Request id of simulated requests without a valid signature: no site may ever charge for one."""
COORDINATOR_LIES = (
    "drops a message",
    "reorders and repeats",
    "alters a message",
    "replays an old message",
    "shows another list",
)
"""Names of the faults by which a lying coordinator changes the messages of a stage, as schedules print them."""
SITE_FRAUDS = ("alters its message", "sends another message", "repeats an old message")
"""Names of the faults by which a cheating site changes its message, as schedules print them."""


class Federation(NamedTuple):
    """The documents and keys of a federation, made once for all schedules."""

    task: FederationTask
    keys: tuple[Ed25519PrivateKey, ...]
    tickets: tuple[Ticket, ...]
    analyst_key: Ed25519PrivateKey
    analyst_ticket: Ticket


@lru_cache
def make_federation(model: SecureSum) -> Federation:
    """Return the task document, the keys and the tickets of a simulated federation.

    Args:
        model: Trust model, with the number of sites.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        members = tuple(Member.create(folder / f"s{n}", f"site {n}", None) for n in range(model.sites))
        task = create_federation_task(
            members, model, folder / "task.json", folder / "tickets", name="simulated",
            neighbours=Neighbours.ADD_REMOVE, unit=EACH_RECORD, budget=PrivacyLoss.pure(1000),
            coordinator=Identity.create(folder / "hub", "https://127.0.0.1:7").public, analysts=1,
        )  # fmt: skip
        tickets = folder / "tickets"
        return Federation(
            task,
            tuple(read_key(folder / f"s{n}" / "site.key") for n in range(model.sites)),
            tuple(Ticket.load(tickets / f"owner-{n + 1}", Role.OWNER) for n in range(model.sites)),
            read_key(tickets / "analyst-1.key"),
            Ticket.load(tickets / "analyst-1", Role.ANALYST),
        )


@lru_cache
def open_table(number: int) -> Any:
    """Return the opened records of a site, without simulated faults; opened once, because that is slow.

    Args:
        number: Number of the site, which changes two of its four records.
    """
    return open_records({"age": np.array([10.0 + number, 40.0, 50.0, 70.0 + number])}, unit=EACH_RECORD, key=bytes(32))


class SitesScenario:
    """Sites with ledgers, a coordinator, and an analyst who asks under new request ids until there is an answer."""

    INDEPENDENT = ("stranger", "crowd", "careless")

    def __init__(self, world: World, disk: SimulatedDisk) -> None:
        """Prepare the scenario: sites that answer questions by secure sums through a coordinator.

        Args:
            world: The simulated world, with the schedule.
            disk: Its simulated disk.
        """
        self._world = world
        self._disk = disk
        self._network = SimulatedNetwork(world)
        small = world.draw("model") < 0.5
        self._model = SecureSum(3, 1, 0) if small else SecureSum(4, 2, 1)
        self._federation = make_federation(self._model)
        self._is_lying = world.draw("lies") < 0.3
        self._has_list = world.draw("list") < 0.3
        self._has_broken_list = world.draw("broken list") < 0.5
        self._checks_disk = world.draw("disk check") < 0.3
        self._cheat = int(world.draw("cheat") * self._model.sites) if world.draw("cheats") < 0.2 else None
        self._board: MessageBoard | None = None
        self._lies: set[str] = set()
        self._vectors: dict[tuple[int, str], bytes] = {}
        self._opened: dict[str, bytes] = {}
        self._summed: dict[str, tuple[int, ...]] = {}
        self._old: dict[int, list[bytes]] = {}
        self._seen: dict[int, int] = {}
        self._all_seen = -1
        self._paths = [disk.make_folder(f"site-{number}") / "site.db" for number in range(self._model.sites)]
        self._is_created_under_faults = world.draw("creation") < 0.2
        self._stack = ExitStack()
        world.invariants.append(self.check)

    def start(self) -> None:
        """Start the processes of the simulation: coordinator, sites and analyst; sometimes also clients without
        rights.
        """
        world = self._world

        def build_release(plan: Any, sum_round: SumRound, messages: Any, allotment: Any) -> Any:
            """Return the unmasked release of a round by the library, after comparing its sum with the exact model.

            Args:
                plan: Plan of the query.
                sum_round: Round of the secure sum.
                messages: Messages of all stages.
                allotment: The request, the number of the paid step and its loss.

            Raises:
                Violation: the released sums differ from the model.
            """
            release = unmask(plan, sum_round, messages, allotment)
            self._require_exact(sum_round, messages, release.values)
            return release

        for number, path in () if self._is_created_under_faults else enumerate(self._paths):
            put_empty_ledger(self._disk, path, number)
        unmask = trust.build_release
        folder = self._disk.root / "board"
        folder.mkdir()
        self._stack.enter_context(
            replace_attributes(
                (remote, "Channel", _Lines(self, self._network, COORDINATOR, CLIENT_TIMEOUT)),
                (remote, "build_release", build_release), (remote, "sleep", world.sleep),
                (remote, "monotonic", lambda: world.now), (relay, "monotonic", lambda: world.now),
                (relay, "thread_time", lambda: 0.0),
                (site, "open_records", lambda table, **_: open_table(table)),
                (relay, "ScratchFolder", lambda: SimpleNamespace(path=Path(tempfile.mkdtemp(dir=folder)))),
                (task_app, "time", SimpleNamespace(monotonic=lambda: world.now)),
                (task_app, "_on_their_way", Counter()),
            )
        )  # fmt: skip
        self._network.serve(world.start(COORDINATOR, COORDINATOR, self._run_coordinator, is_daemon=True))
        for number in range(self._model.sites):
            world.start(f"site-{number}", f"site-{number}", partial(self._run_site, number), is_daemon=True)
        world.start("analyst", "analyst", self._run_analyst)
        if world.draw("stranger") < 0.3:
            tickets = (self._federation.tickets[0].derive_bearer_token(1),)
            task = self._federation.task.hash
            stranger = Stranger(world, self._network, COORDINATOR, task=task, paths=self._list_paths, tokens=tickets)
            world.start("stranger", "stranger", stranger.run)
        if world.draw("careless") < 0.4:
            world.start("careless", "careless", self._run_careless_analyst)
        if world.draw("crowd") < 0.1:
            world.start("crowd", "stranger", self._run_crowd)

    def close(self) -> None:
        """Restore the library functions that `start` replaced by simulated ones."""
        self._stack.close()

    def finish(self) -> None:
        """Check the final state of all sites, and that the coordinator stores no superfluous files.

        Raises:
            Violation: an invariant does not hold.
        """
        self._seen.clear()
        self._all_seen = -1
        self.check()
        for path in self._paths:
            if path.exists():
                Ledger.open(f"sqlite:///{path}").verify()
        if self._board is not None:
            files = len(list(self._board._scratch.path.iterdir()))
            messages = sum(1 + sum(map(len, one.messages.values())) for one in self._board._rounds.values())
            if files > messages:
                raise Violation(f"the coordinator stores {files} files for {messages} messages")

    # Processes

    def _run_coordinator(self) -> None:
        """Act as the coordinator, and serve its message board until the process is killed; a restarted board is
        empty.
        """
        scenario = self

        class Board(MessageBoard):
            """The board of a coordinator that may lie."""

            def collect_messages(self, name: str, stage: int, with_vectors: bool) -> bytes:
                """Return the messages of a stage, altered if the coordinator of this schedule lies.

                Args:
                    name: Name of the round.
                    stage: Number of the stage.
                    with_vectors: Whether masked vectors are included, and not only their receipts.

                Returns:
                    Packed messages; empty while the stage is open.
                """
                octets = super().collect_messages(name, stage, with_vectors)
                return scenario._distort(stage, octets) if octets and scenario._is_lying else octets

        # 20.0: seconds after which the coordinator leaves a silent site out, or ends the round
        self._board = Board(self._federation.task, 20.0)
        self._network.open_app(COORDINATOR, create_app(self._board))
        while True:
            self._world.sleep(5.0)

    def _run_site(self, number: int) -> None:
        """Act as a site that answers rounds until its process is killed; after a refusal of the disk, it begins anew.

        Args:
            number: Number of the site, from 0.
        """
        federation, world = self._federation, self._world
        while True:
            noise = Randomness(world.random_bytes(f"site {number}"), is_seeded=False)
            try:
                ledger = Ledger.open(f"sqlite:///{self._paths[number]}")
                holder = Site(
                    federation.task.terms, Signer(number, federation.keys[number]), number, ledger, "records",
                    randomness=noise,
                )  # fmt: skip
                trouble = holder.find_write_trouble() if self._checks_disk else ""
                if trouble:
                    world.note(f"cannot write: {trouble[-60:]}")
                agent = SiteAgent(
                    federation.task, holder, federation.keys[number], federation.tickets[number], timeout=60.0,
                    tell=self._check_log_line, approve=self._choose_approval(number),
                )  # fmt: skip
                agent.run()
            except ArgumentError as error:
                world.note(f"stopped: {error.rule[:60]}")
            world.sleep(1.0)  # seconds until the operator starts the site again

    def _choose_approval(self, number: int) -> Callable[[ApprovalRequest], bool]:
        """Return by which function a site's officer approves questions: all, or at the first site in some schedules a
        list.

        Args:
            number: Number of the site.

        Returns:
            Function of an approval request that returns whether it is approved.
        """
        if number or not self._has_list:
            return lambda request: True
        file = self._disk.make_folder("site-0") / "approved.json"
        if self._has_broken_list:
            self._has_broken_list = False  # the officer corrects the list before the next start
            file.write_text('{"question": ')
            return ApprovedList(file)
        fingerprint = {"fingerprint": fingerprint_question(QUESTION), "epsilon": "1"}
        file.write_text(json.dumps([fingerprint, {"question": question_to_json(UNASKED_QUESTION), "rho": "2"}]))
        return ApprovedList(file)

    def _check_log_line(self, line: str) -> None:
        """Check a line of a site's log: an internal error is a fault of the library.

        Args:
            line: Line of the site's log.

        Raises:
            Violation: the line reports an internal error.
        """
        if "it failed (" in line:
            raise Violation(f"{self._world.current.name}: {line}")

    def _run_analyst(self) -> None:
        """Act as an analyst who asks a question until it is answered, then again; unapproved questions must be refused.

        Raises:
            Violation: a question that was not approved was answered, or all attempts failed.
        """
        federation, world = self._federation, self._world
        analyst = RemoteFederation(federation.task, federation.analyst_ticket, federation.analyst_key, 30.0)
        with suppress(ProtocolError):
            fetch_status(federation.task)
        for question in (UNAPPROVED_QUESTION, UNKNOWN_COLUMN_QUESTION) if self._has_list else ():
            try:
                analyst.ask(question, PRICE, f"refused {question.column}")
            except ArgumentError as error:
                world.note(f"no answer: {error.rule[:60]}")
            else:
                raise Violation("a question that no officer approved was answered")
        for attempt in range(MOST_ATTEMPTS):
            for _ in (1, 2):
                try:
                    curve = analyst.ask(QUESTION, PRICE, f"question {attempt}")
                except ProtocolError as error:
                    world.note(f"no answer: {error.rule[:60]}")
                    world.sleep(1.0)
                else:
                    world.note(f"has the answer to question {attempt}: {curve.total:.0f} records")
                    self._ask_again(analyst, f"question {attempt}")
                    return
        raise Violation(f"no answer to {MOST_ATTEMPTS} requests")

    def _ask_again(self, analyst: RemoteFederation, request: str) -> None:
        """Act as an analyst who asks an answered question again; the repeated release is checked like the first.

        A coordinator that has lost its messages may not get an answer any more.

        Args:
            analyst: The analyst's connection to the sites.
            request: Name of the answered request.
        """
        try:
            analyst.ask(QUESTION, PRICE, request)
        except ProtocolError as error:
            self._world.note(f"no answer: {error.rule[:60]}")

    def _run_careless_analyst(self) -> None:
        """Act as an analyst who sends invalid requests: signed with another key, changed, or cut off.

        The coordinator must refuse them. A lying one passes them on; then sites must refuse them, as a check of their
        stores shows.
        """
        world, federation = self._world, self._federation
        token = federation.analyst_ticket.derive_bearer_token(0)
        request = RoundRequest(QUESTION, PRICE, UNSIGNED_SENDER, ())
        signed, foreign = (
            request.to_signed_bytes(federation.task, key) for key in (federation.analyst_key, federation.keys[0])
        )
        for body in (foreign, bytes([signed[0] ^ 1]) + signed[1:], signed[:-5], signed[:40]):
            world.sleep(world.draw("pause") * 3)
            headers = {"Authorization": f"Bearer {token}"}
            ask = Request("POST", f"/tasks/{federation.task.hash}/asks", body, headers)
            status = 0
            with suppress(OSError):
                status = self._network.exchange(COORDINATOR, ask, CLIENT_TIMEOUT)[0]
            name = sha256(body).hexdigest()
            if status == 200 and name not in self._lies:
                raise Violation("the coordinator accepts a request that no analyst has signed")
            if self._board is not None and world.draw("lying coordinator") < 0.5:
                self._lies.add(name)  # the analyst, started again, may send it again: the round is then there
                self._board._open_round(0, name, body, UNSIGNED_SENDER, 0)

    def _sign_impossible_request(self, number: int) -> bytes:
        """Return an analyst's signed request for a round that its question does not have, which sites must refuse.

        Args:
            number: Number that makes the request id unique.
        """
        request = RoundRequest(QUESTION, PRICE, f"{UNSIGNED_SENDER} {number}", ((0,),) * 9)
        return request.to_signed_bytes(self._federation.task, self._federation.analyst_key)

    def _list_paths(self) -> tuple[str, ...]:
        """Return the URL paths below the task that a client without rights tries, with those of a round under way."""
        rounds = list(self._board._rounds)[-1:] if self._board is not None else []
        return (*PATHS, *(f"rounds/{name}/{last}" for name in rounds for last in ("refused", "1/all")))

    def _run_crowd(self) -> None:
        """Act as clients beyond the limits: many waiting requests with one ticket, and too many questions of one
        analyst.

        The coordinator must answer each with one of the expected HTTP statuses.

        Raises:
            Violation: another status was returned.
        """
        world, federation = self._world, self._federation
        task = federation.task.hash
        statuses = Counter[int]()
        number = int(world.draw("ticket") * self._model.sites)
        token = federation.tickets[number].derive_bearer_token(0)
        consent = federation.task.sign_consent(federation.keys[number])

        def send(path: str, body: bytes, bearer: str) -> None:
            """Send one request to the coordinator, and count the HTTP status of its response.

            Args:
                path: Path below the task.
                body: Content of the request.
                bearer: Bearer token.
            """
            request = Request("POST", f"/tasks/{task}/{path}", body, {"Authorization": f"Bearer {bearer}"})
            with suppress(OSError):
                statuses[self._network.exchange(COORDINATOR, request, CLIENT_TIMEOUT)[0]] += 1

        for poll in range(2 * relay.MOST_POLLS):
            world.start(
                f"crowd/{poll}", "stranger", partial(send, "waiting", consent, token), is_daemon=True,
                starts_again=False,
            )  # fmt: skip
        asking = federation.analyst_ticket.derive_bearer_token(0)
        for ask in range(3):
            send("asks", self._sign_impossible_request(ask), asking)
        send("asks", bytes(100), token)
        send("rounds/" + "0" * 64 + "/1", b"x", token)
        send("rounds/" + "0" * 64 + "/9", b"x", token)
        world.sleep(relay.POLL_SECONDS)
        if statuses.keys() - {200, 403, 404, 408, 409, 410, 413, 429}:
            raise Violation(f"a crowd is answered with {dict(statuses)}")

    # Lies

    def _distort(self, stage: int, octets: bytes) -> bytes:
        """Return the messages of a stage as a lying coordinator hands them out to sites.

        Args:
            stage: Number of the stage.
            octets: Packed messages of the stage.

        Returns:
            Packed messages: unchanged, or with a message missing, repeated, altered or from an earlier round.
        """
        parts = unpack_parts(octets)
        fault = self._world.step(f"hand out {STAGES[stage]}", *COORDINATOR_LIES, probability=0.15)
        if fault == COORDINATOR_LIES[0] or (fault == COORDINATOR_LIES[4] and stage == MASKED):
            del parts[int(self._world.draw("dropped") * len(parts))]
        elif fault == COORDINATOR_LIES[1]:
            parts = [*parts[::-1], *parts]
        elif fault == COORDINATOR_LIES[2]:
            parts[0] = self._alter(parts[0])
        elif fault == COORDINATOR_LIES[3] and stage in self._old:
            parts[-1] = self._old[stage][-1]
        self._old.setdefault(stage, parts)
        return pack_parts(parts)

    def _alter(self, message: bytes) -> bytes:
        """Return a message with one bit flipped, which receivers must notice.

        Args:
            message: Bytes of the message.
        """
        at = int(self._world.draw("altered") * len(message))
        return message[:at] + bytes([message[at] ^ 1]) + message[at + 1 :]

    def _cheat_with(self, stage: int, message: bytes) -> bytes:
        """Return the message that a cheating site sends in place of `message`.

        Args:
            stage: Number of the stage.
            message: Honest message of the site.

        Returns:
            The message itself, an altered or longer message, or the message of an earlier round.
        """
        fault = self._world.step(f"send {STAGES[stage]}", *SITE_FRAUDS)
        sent = message
        if fault == SITE_FRAUDS[0]:
            sent = self._alter(message)
        elif fault == SITE_FRAUDS[1]:
            sent = message + b"\0"
        elif fault == SITE_FRAUDS[2]:
            sent = self._old.get(-stage, [message])[0]
        self._old.setdefault(-stage, [message])
        return sent

    # Invariants

    def check(self) -> None:
        """Check what sites have stored against the model; called after each event.

        Raises:
            Violation: a site has stored something that an invariant forbids.
        """
        if self._disk.commits == self._all_seen:
            return
        self._all_seen = self._disk.commits
        for number, path in enumerate(self._paths):
            commits = self._disk.commits_by_file[str(path)]
            if self._seen.get(number) != commits and path.exists():
                self._seen[number] = commits
                self._check_site(number, path)

    def _check_site(self, number: int, path: Path) -> None:
        """Check one site's database: its vectors are drawn once and after their charge, and one list is opened in a
        round.

        Args:
            number: Number of the site.
            path: File of its database.

        Raises:
            Violation: an invariant does not hold.
        """
        read = self._disk.read
        if not read(path, "SELECT name FROM sqlite_master WHERE name = 'dpcurves_sum_vectors'"):
            return
        vectors = read(path, "SELECT round, vector FROM dpcurves_sum_vectors")
        ((grants, amount),) = read(path, "SELECT count(*), coalesce(sum(amount), 0) FROM dpcurves_grants")
        spent = read(path, "SELECT spent, cap FROM dpcurves_accounts")
        opened = read(path, "SELECT round, header, message FROM dpcurves_sum_steps WHERE stage = ?", OPENED)
        if read(path, "SELECT 1 FROM dpcurves_grants WHERE request LIKE ?", f"%/{UNSIGNED_SENDER}/%"):
            raise Violation(f"site {number} has charged a request without a valid signature")
        if len(vectors) > grants:
            raise Violation(f"site {number} has counted {len(vectors)} rounds, and {grants} are paid")
        if any(used != amount or used > cap for used, cap in spent):
            raise Violation(f"site {number} has spent {spent}, and its grants add up to {amount}")
        for round_name, vector in vectors:
            if self._vectors.setdefault((number, round_name), vector) != vector:
                raise Violation(f"site {number} has drawn the noise of a round twice")
        stored = {round_name for round_name, _ in vectors}
        if any(owner == number and round_name not in stored for owner, round_name in self._vectors):
            raise Violation(f"site {number} has lost a vector")
        for round_name, header, message in opened:
            digest = message[len(bytes.fromhex(header)) + 3 :][:HASH_SIZE]
            if self._opened.setdefault(round_name, digest) != digest:
                raise Violation("two lists of one round were opened")

    def _require_exact(self, sum_round: SumRound, messages: Any, values: tuple[int, ...]) -> None:
        """Compare a sum that an analyst has unmasked with the vectors that sites have stored.

        Args:
            sum_round: The round.
            messages: All messages of the round.
            values: The sum.

        Raises:
            Violation: they differ, or too few sites are included.
        """
        round_name = f"{sum_round.number:016x}"
        total = np.zeros(sum_round.vector_length, dtype=np.uint64)
        sites = {
            parse_message(sum_round, MASKED, octets[: -8 * sum_round.vector_length]).site
            for octets in messages.masked_vectors
        }
        if len(sites) < self._model.sites - self._model.max_dropouts:
            raise Violation(f"a sum of {len(sites)} sites was opened")
        for number in sites:
            total += np.frombuffer(self._vectors[number, round_name], dtype="<u8")
        if tuple(total.view(np.int64).tolist()) != values:
            raise Violation("a sum is not that of the vectors of its sites")
        if self._summed.setdefault(round_name, values) != values:
            raise Violation("a round was summed twice, with different noise")


class _Line(SimulatedChannel):
    """A connection to the coordinator, over which one site may cheat."""

    scenario: SitesScenario

    def _exchange_once(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send one request, changed if it is the message of a cheating site.

        Args:
            method: HTTP method.
            path: Path of the URL.
            body: Body of the request.
            headers: Headers of the request.

        Returns:
            Status and body of the response.
        """
        parts = path.split("/")[3:]
        number = self.scenario._world.current.name.removeprefix("site-")
        if number == str(self.scenario._cheat) and parts[0] == "rounds" and len(parts) == 3 and parts[2] != "refused":
            body = self.scenario._cheat_with(int(parts[2]), body)
        return super()._exchange_once(method, path, body, headers)


class _Lines(Channels):
    """Stands for the class `Channel` in the code of sites and analysts."""

    def __init__(self, scenario: SitesScenario, *network: Any) -> None:
        super().__init__(*network)
        self._scenario = scenario

    def from_certificate(self, url: str, certificate: str, timeout: float = ANSWER_SECONDS) -> _Line:
        """Return a simulated connection to the coordinator.

        Args:
            url: URL of the coordinator, without effect.
            certificate: Certificate of the coordinator, without effect.
            timeout: Seconds to wait for an answer, unless the scenario sets its own.
        """
        line = _Line(self._network, self._server, self._timeout or timeout)
        line.scenario = self._scenario
        return line
