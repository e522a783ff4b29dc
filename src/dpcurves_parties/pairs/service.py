"""SECRET. Service and storage of one task of pairs at one server: shares of people, and one noisy answer."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import urlsplit

import numpy as np
import sqlalchemy as sql
from sqlalchemy import Column, Table, delete, insert, select, update
from sqlalchemy import Connection as SqlConnection

from dpcurves.arguments import InvalidArgument, ServiceUnavailable
from dpcurves.conversation import ALL, Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.result import warn_about_notes
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.ledger.chain import acquire_lock
from dpcurves.noise.randomness import Randomness

from ..serving.channel import PATIENCE, Channel
from ..serving.database import ServerDatabase, bytes_columns
from ..serving.messages import UNLIKE, ProtocolError, parse_fields, parse_object
from ..serving.server import PROTOCOL
from ..serving.task_document import Ticket
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import CLOSES, LARGEST_QUESTION, OfPeer, SharedTaskService
from ..serving.two_servers.kinds import (
    QuestionMessage,
    TaskStillOpen,
    TaskType,
    parse_closed_status,
    require_report_set,
)
from ..serving.two_servers.owner import require_ticket_for
from ..serving.two_servers.store import TaskStatus
from .attendance import decode_hex
from .queries import commit_to_seed
from .readings import pair_statistic
from .relay import define_seed_table, load_seed, store_seed
from .release import release_values
from .session import (
    NOTHING,
    Connection,
    Endpoint,
    PairSession,
    RunState,
    StoredRun,
    TaskPairs,
    compile_loops,
    run_protocol,
)
from .task import PairTask

# SECRET. Storage of one server for a task of pairs: the seed that was shown, and its share of the run that counts.
METADATA = sql.MetaData()
define_seed_table(METADATA)
# SECRET: one share of the noisy output of a session; see `settlement`.
PAIR_RUNS = Table(
    "dpcurves_pair_runs", METADATA, Column("job", sql.LargeBinary, primary_key=True),
    Column("state", sql.Integer, nullable=False), *bytes_columns("run", "share"),
)  # fmt: skip


@dataclass(repr=False)
class PairStore:
    """SECRET. A `RunStore` in the database of a server's ledger, and as durable. It has no repr.

    Attributes:
        database_url: URL of the database.
        name: Name of the store in errors.
    """

    database_url: str
    name: str
    _database: ServerDatabase = field(init=False)

    def __post_init__(self) -> None:
        self._database = ServerDatabase(self.database_url, self.name, METADATA)

    def load_seed(self, task: str) -> bytes | None:
        """Seed of the pairs, if it was shown."""
        return self._database.read_snapshot(lambda connection: load_seed(connection, task))

    def store_seed(self, task: str, seed: bytes) -> None:
        """Keep the seed of a task that is closed; it is the promised one, so there is no other."""
        self._database.write(lambda connection: store_seed(connection, task, seed))

    def load_run(self, job: bytes) -> StoredRun:
        """Stored state of a job."""
        asked = select(PAIR_RUNS).where(PAIR_RUNS.c.job == job)
        row = self._database.read_snapshot(lambda connection: connection.execute(asked).first())
        return (
            StoredRun(RunState.NOTHING, NOTHING, b"")
            if row is None
            else StoredRun(RunState(row.state), row.run, row.share)
        )

    def store_run(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed. Raises `ProtocolError`: one was."""
        fresh = {"job": job, "state": RunState.STORED.value, "run": run, "share": share}

        def replace_run(connection: SqlConnection) -> None:
            acquire_lock(connection, f"run {job.hex()}")
            connection.execute(
                delete(PAIR_RUNS).where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.state < RunState.CONFIRMED.value)
            )
            if connection.execute(select(PAIR_RUNS.c.job).where(PAIR_RUNS.c.job == job)).first() is not None:
                raise ProtocolError("settlement", "another session of this job was confirmed", 409)
            connection.execute(insert(PAIR_RUNS), fresh)

        self._database.write(replace_run)

    def confirm_run(self, job: bytes, run: bytes) -> None:
        """Remember that the other server has its share of this run: from now on there is no other one.

        Raises:
            ProtocolAborted: another session has stored another run in the meantime.
        """
        changed = (
            update(PAIR_RUNS)
            .where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.run == run)
            .values(state=RunState.CONFIRMED.value)
        )  # fmt: skip
        found = self._database.write(lambda connection: connection.execute(changed).rowcount)
        if found != 1:
            raise ProtocolError("settlement", "another session of this job has taken its place", 409)


# SECRET. Service of one task of pairs at one server: takes shares of people, closes, and computes one noisy answer.


LEADS = 0
DRAWN_AS = "coins that both servers throw, in a circuit"


def count_answer_values(task: PairTask) -> int:
    """Number of values in the answer, for any number of people."""
    return len(task.plan(max(task.people, task.pairing.pairs_per_person + 1)).law.blank_values())


@dataclass(frozen=True)
class PairQuestions:
    """Questions to a task of pairs: its single answer, which has no thresholds.

    Attributes:
        task: The task.
    """

    task: PairTask

    @property
    def hash(self) -> str:
        """The hash of the task."""
        return self.task.hash

    def parse_thresholds(self, at: object) -> tuple[int, ...]:
        """Thresholds of the question: none. Raises `ProtocolError`: some were asked for."""
        if at != []:
            raise ProtocolError("at", "a task of pairs has one answer, without thresholds")
        return ()

    def answer_size(self, at: object) -> int:
        """Number of values in the answer."""
        return count_answer_values(self.task)


@dataclass(frozen=True, repr=False)
class PeerConnector:
    """Client that connects to the other server, for a session of two-party computation.

    Attributes:
        url: URL of the other server.
        context: TLS context by which both servers authenticate.
        timeout: Seconds that it may be silent.
    """

    url: str
    context: ssl.SSLContext
    timeout: float

    def connect(self) -> Connection:
        """A connection.

        Raises:
            ProtocolAborted: the other server can not be reached, or is somebody else.
        """
        place = urlsplit(self.url)
        try:
            raw = socket.create_connection((place.hostname or "", place.port or 0), self.timeout)
        except OSError:
            raise ServiceUnavailable("peer", f"nobody answers at {self.url}", 503) from None
        return Connection.from_socket(raw, self.context, place.hostname or "", self.timeout)


@dataclass(repr=False)
class PairService(SharedTaskService[PairTask]):
    """SECRET. Service of one server for one task of pairs. It has no repr.

    Formal guarantees: each server has one XOR share of each value, a uniform one. Nothing of them leaves but messages
    of `PairSession`: after both ledgers have charged the task's loss, once, for one set of people. Server 0 leads; each
    server keeps its share of the one run that counts in the database of its ledger, so what is asked again, or after a
    crash, has the same answer: see `settled`. A server that has lost its store is told so: see `Closing`. The seed of
    the pairs was promised in the task, and is shown to the servers when it is closed, so who is paired with whom is
    nobody's choice.

    Attributes:
        shelf: Storage of seeds and shares of runs.
        road: The way to the other server, for the session.
    """

    PEER_REQUESTS: ClassVar[OfPeer] = MappingProxyType({
        **CLOSES,
        "seed": (lambda service, message: service.accept_seed(message), LARGEST_QUESTION),
        "lead": (lambda service, message: service.lead_session(message), LARGEST_QUESTION),
    })  # fmt: skip

    _release: Release | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        url, talking = self.resources.make_peer_context(self.task)
        talking.set_alpn_protocols([PROTOCOL])
        self.shelf = PairStore(self.resources.database_url, f"server {self.party}")
        self.road = PeerConnector(url, talking, self.resources.timeout)

    @property
    def noise_law_name(self) -> str:
        """Name of the noise: it is drawn once, and kept."""
        return DRAWN_AS

    @property
    def askable(self) -> PairQuestions:
        """Questions that may be asked: the single answer."""
        return PairQuestions(self.task)

    def warm(self) -> None:
        """Compile the loops over gates, so that the first answer does not wait for them."""
        compile_loops()

    def close(self, message: bytes) -> bytes:
        """Close the task, and then send both servers the seed of the pairs. The operation is idempotent.

        Raises:
            ProtocolAborted: as `Closing.close`; or it is not the seed that was promised: nothing was closed.
        """
        self._parse_seed(message)
        agreed = self.closing.close()
        self.accept_seed(message)
        self._post_to_peer("seed", message)
        return agreed

    def accept_seed(self, message: bytes) -> bytes:
        """Keep the seed of the pairs.

        Raises:
            ProtocolAborted: it is not the seed that was promised, or the task is not closed.
        """
        seed = self._parse_seed(message)
        self._require_closed()
        self.shelf.store_seed(self.task.hash, seed)
        return b"{}"

    def _parse_seed(self, message: bytes) -> bytes:
        try:
            seed = bytes.fromhex(str(parse_fields(message, "task", seed=str)["seed"]))
            fits = commit_to_seed(seed) == self.task.commitment
        except (InvalidArgument, ValueError):
            fits = False
        if not fits:
            raise ProtocolError("seed", "it is not the one that the task has promised", 409)
        return seed

    def describe_status(self) -> bytes:
        """State of the task, and the seed of its pairs once it is closed, as JSON: public."""
        seed = self.shelf.load_seed(self.task.hash)
        return json.dumps(
            {**json.loads(super().describe_status()), "seed": None if seed is None else seed.hex()}
        ).encode()

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Both servers' answer to an analyst: the same for all.

        Raises:
            ProtocolAborted: it can not be asked, or the other server does not answer. Nothing was told.
        """
        asked = QuestionMessage.from_json(message, self.askable)
        standing = self._require_closed()
        if self._release is None:
            own = QuestionMessage.create(self.askable, (), asked.question_id)
            if self.party == LEADS:
                self._run_as_leader(own)
            else:
                own.parse_reply(self._post_to_peer("lead", own.to_json(**standing.provenance)), "peer")
        with self._lock:  # the other server may have heard the end of the session first
            release = self._release
        if release is None:
            raise ProtocolError("peer", "the session with it was cut off; ask again", 502)
        return asked.encode_answer(release.values, {"set": standing.report_set, "reports": standing.reports})

    def lead_session(self, message: bytes) -> bytes:
        """Open a session with the other server, which has no answer yet.

        Raises:
            ProtocolAborted: it can not be asked, or this is server 1.
        """
        asked = self._parse_peer_question(message)
        if self.party != LEADS:
            raise ProtocolError("peer", f"server {LEADS} leads", 409)
        self._run_as_leader(asked)
        return asked.encode_answer((), self._require_closed().provenance)

    def _run_as_leader(self, asked: QuestionMessage) -> None:
        with self._lock:
            standing = self._require_closed()
            told = asked.parse_reply(self._post_to_peer("agree", asked.to_json(**standing.provenance)), "peer")
            require_report_set(told, standing.provenance, report_set.OTHER)
            ready, end = self._prepare_session(standing), self.road.connect()
            try:
                end.send(asked.to_json(**standing.provenance))
                refusal = parse_object(end.receive(), "peer").get("error")
                if refusal is not None:
                    raise ProtocolError.from_error_line(str(refusal), 502)
                self._release = self._run_session(*ready, end)
            finally:
                end.close()

    def follow_session(self, message: bytes, line: Endpoint) -> None:
        """Take part in a session that the other server has opened with this message.

        Raises:
            ProtocolAborted: it can not be asked, which the other server hears; or the talk was cut off.
        """
        with self._lock:
            try:
                self._parse_peer_question(message)
                ready = self._prepare_session(self._require_closed())
            except ProtocolError as error:
                line.send(json.dumps({"error": str(error)}).encode())
                raise
            line.send(b"{}")
            self._release = self._run_session(*ready, line)

    def _run_session(self, session: PairSession, allotment: Allotment, end: Endpoint) -> Release:
        """Run the computation that was paid for, or open its stored result. Cut off, nothing was told."""
        bits = run_protocol(session.run_protocol(self.shelf, Randomness.from_system()), end)
        return session.pairs.build_release(bits, allotment)

    def _prepare_session(self, standing: TaskStatus) -> tuple[PairSession, Allotment]:
        """Charge the ledger, so that this server may take part."""
        pairs, shares = self._find_pairs(standing), self._load_shares(standing)
        session = PairSession(pairs, standing, self.party, self.task.encoding.decode_columns(shares))
        return session, self._charge_ledger(standing)

    def _find_pairs(self, standing: TaskStatus) -> TaskPairs:
        seed = self.shelf.load_seed(self.task.hash)
        if seed is None:
            raise ProtocolError("seed", f"server {self.party} was not told it yet: dpcurves task close", 409)
        pairs = TaskPairs(self.task, standing.reports, seed)
        if pairs.plan and not len(pairs.pairs):
            raise ProtocolError("reports", "there are no pairs of so few people", 409)
        return pairs


PAIRS = TaskType(PairTask, PairService)
"""Tasks of pairs, registered as an entry point."""


def ask_people(task: PairTask, ticket: Ticket, timeout: float = PATIENCE) -> UStatistic:
    """The mean over the pairs that have come by now. Nothing is spent: devices have paid for what they said.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the server refuses or can not be reached, or its answer is none; or no pair has come.
    """
    require_ticket_for(ticket, task)
    (server,) = task.servers
    with Channel.from_certificate(server.url, server.certificate, timeout) as channel:
        message = channel.post(f"/tasks/{task.hash}/answers", json.dumps({}).encode(), ticket.derive_bearer_token(0))
    answer = parse_fields(message, "server", task=str, seed=str, came=str, values=list)
    if answer["task"] != task.hash or any(type(value) is not int for value in answer["values"]):
        raise ProtocolError("server", f"its answer {UNLIKE}", 502)
    agreed = task.build_agreement(decode_hex(answer["seed"]))
    octets, many = np.frombuffer(decode_hex(answer["came"]), np.uint8), len(agreed.meetings)
    if len(octets) != -(-many // 8):
        raise ProtocolError("server", f"its answer {UNLIKE}", 502)
    came = np.unpackbits(octets, count=many, bitorder="little").astype(np.bool_)
    pairs = np.array([meeting.people for meeting in agreed.meetings], dtype=np.int64)[came]
    allotment = QuestionBudget.from_external_charge(task.hash, task.loss.as_single_release()).pay(task.query, ALL)
    return _create_statistic(release_values(task.plan(task.people), pairs, answer["values"], allotment))


def _create_statistic(release: Release) -> UStatistic:
    found = pair_statistic(release)
    warn_about_notes(found)
    return found


def ask_pairs(task: PairTask, ticket: Ticket, party: int = 0, timeout: float = PATIENCE) -> UStatistic:
    """The mean over pairs, as two servers tell it: asked again, it is the same.

    Who is paired with whom is worked out here as well, from the seed that the servers show.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the servers refuse or can not be reached, or an answer is not to what was asked.
    """
    require_ticket_for(ticket, task)
    with Channel.from_certificate(task.servers[party].url, task.servers[party].certificate, timeout) as server:
        pairs = _parse_closed_pairs(task, server.get(f"/tasks/{task.hash}"))
        asked = QuestionMessage.create(PairQuestions(task), ())
        message = server.post(f"/tasks/{task.hash}/answers", asked.to_json(), ticket.derive_bearer_token(party))
        answer = asked.parse_answer(message, "server")
    if answer.reports != pairs.people:
        raise ProtocolError("server", "it answers from another set of reports than before", 502)
    allotment = QuestionBudget.from_external_charge(task.hash, task.loss.as_single_release()).pay(task.query, ALL)
    return _create_statistic(release_values(pairs.plan, pairs.pairs, answer.values, allotment))


def _parse_closed_pairs(task: PairTask, message: bytes) -> TaskPairs:
    """Pairs of a closed task, from the state that a server told."""
    told = parse_closed_status(task, message)
    seed = told.get("seed")
    if not isinstance(seed, str):
        raise TaskStillOpen
    try:
        return TaskPairs(task, told["reports"], bytes.fromhex(seed))
    except ValueError:
        raise ProtocolError("server", "it shows no seed", 502) from None
