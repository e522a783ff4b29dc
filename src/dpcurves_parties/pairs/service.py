"""SECRET. Secure two-party computation of the mean of a kernel over pairs of people: one server's service.

A kernel is a symmetric function of two people's records with an integer value, such as the absolute difference of their
ages. Each person splits the record into an XOR share for each of two servers. The servers draw random pairs from a
public seed, evaluate the kernel and the noise in one garbled circuit, and open only the noisy result. "SECRET" marks
code whose values must not leave the server.

    PairService    the service; server 0 opens the session with server 1
    PairStore      each server's share of the finished result, in the database of the server's ledger
    ask_pairs      the analyst's client for two servers
    ask_people     the analyst's client where the two devices of a pair compute; one server relays their messages

Formal guarantees: one server's shares are uniform, so they reveal nothing about a person. The circuit adds the noise
before its output is opened (see `dpcurves_parties.pairs.mechanisms`). Each server charges its ledger, the durable
account of privacy budgets, before the session starts.
"""

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
from dpcurves.conversation import WHOLE_BUDGET, Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.result import warn_about_notes
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.ledger.chain import acquire_lock
from dpcurves.noise.randomness import Randomness

from ..serving.channel import ANSWER_SECONDS, Channel
from ..serving.database import ServerDatabase, bytes_columns
from ..serving.messages import WRONG_FORM_RULE, ProtocolError, parse_fields, parse_object
from ..serving.server import PROTOCOL
from ..serving.task_document import Ticket
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import CLOSING_REQUESTS, LARGEST_QUESTION, OfPeer, SharedTaskService
from ..serving.two_servers.owner import require_ticket_for
from ..serving.two_servers.store import TaskStatus
from ..serving.two_servers.task_types import (
    QuestionMessage,
    TaskStillOpen,
    TaskType,
    parse_closed_status,
    require_report_set,
)
from .meetings import decode_hex
from .queries import commit_to_seed
from .readings import pair_statistic
from .relay import define_seed_table, load_seed, store_seed
from .release import release_values
from .session import (
    ZERO_RUN_ID,
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

# SECRET. Storage of one server for a task of pairs: the opened seed, from which anybody can draw the pairs, and the
# server's share of the confirmed run. A run is one execution of the two-party computation.
METADATA = sql.MetaData()
"""Schema of a server's database for tasks of pairs: revealed seeds and runs."""
define_seed_table(METADATA)
# SECRET: the server's share of a session's noisy output; see `settle_run`.
PAIR_RUNS = Table(
    "dpcurves_pair_runs", METADATA, Column("job", sql.LargeBinary, primary_key=True),
    Column("state", sql.Integer, nullable=False), *bytes_columns("run", "share"),
)  # fmt: skip
"""One row is the latest run of a job (task and report set): its state, its id, and this server's share of the noisy
result."""


@dataclass(repr=False)
class PairStore:
    """SECRET. The store of a server's seeds and runs, in the database of its ledger and as durable. It has no repr.

    A job is the computation that is paid for once: a task and its accepted report set. A run is one attempt at a job,
    with noise of its own.

    Attributes:
        database_url: URL of the database.
        name: Name of the store in error messages.
    """

    database_url: str
    name: str
    _database: ServerDatabase = field(init=False)

    def __post_init__(self) -> None:
        self._database = ServerDatabase(self.database_url, self.name, METADATA)

    def load_seed(self, task: str) -> bytes | None:
        """Return the seed that a task's pairs are drawn from; None before it was opened.

        Args:
            task: Hash of the task.
        """
        return self._database.read_snapshot(lambda connection: load_seed(connection, task))

    def store_seed(self, task: str, seed: bytes) -> None:
        """Store the seed of a closed task; a seed that is stored already stays.

        The task has committed to its seed, so a second one that was checked cannot differ.

        Args:
            task: Hash of the task.
            seed: The seed, which the caller has checked against the task's commitment.
        """
        self._database.write(lambda connection: store_seed(connection, task, seed))

    def load_run(self, job: bytes) -> StoredRun:
        """Return this server's stored share of a computation's result, with its state.

        Args:
            job: Name of the job, 32 bytes: see `PairSession.name`.

        Returns:
            State, run id and this server's share. Without a run: state NOTHING, a run id of zeros, and an empty share.
        """
        statement = select(PAIR_RUNS).where(PAIR_RUNS.c.job == job)
        row = self._database.read_snapshot(lambda connection: connection.execute(statement).first())
        if row is None:
            return StoredRun(RunState.NOTHING, ZERO_RUN_ID, b"")
        return StoredRun(RunState(row.state), row.run, row.share)

    def store_run(self, job: bytes, run: bytes, share: bytes) -> None:
        """Store this server's share of the result of a two-party computation (run); a share that was never confirmed is
        replaced.

        Args:
            job: Name of what is computed (job), 32 bytes.
            run: Id of the run, 16 bytes, which both servers derive alike.
            share: This server's share of the result. SECRET.

        Raises:
            ProtocolError: a run of this job was confirmed, so that its result counts (status 409).
        """
        row = {"job": job, "state": RunState.STORED.value, "run": run, "share": share}

        def replace_run(connection: SqlConnection) -> None:
            """Replace an unconfirmed run of the job by this one.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: a run of the job was confirmed (status 409).
            """
            acquire_lock(connection, f"run {job.hex()}")
            connection.execute(
                delete(PAIR_RUNS).where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.state < RunState.CONFIRMED.value)
            )
            if connection.execute(select(PAIR_RUNS.c.job).where(PAIR_RUNS.c.job == job)).first() is not None:
                raise ProtocolError(
                    "settlement",
                    "another session of this job was confirmed, so its stored answer counts; ask again",
                    409,
                )
            connection.execute(insert(PAIR_RUNS), row)

        self._database.write(replace_run)

    def confirm_run(self, job: bytes, run: bytes) -> None:
        """Record that the other server has stored its share of this run, too. Later runs of the job are refused.

        A repeated call with the same run changes nothing.

        Args:
            job: Name of the job, 32 bytes.
            run: Id of the run, 16 bytes.

        Raises:
            ProtocolError: no run of this job is stored, or another session has stored another run in the meantime.
        """
        statement = (
            update(PAIR_RUNS)
            .where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.run == run)
            .values(state=RunState.CONFIRMED.value)
        )  # fmt: skip
        updated = self._database.write(lambda connection: connection.execute(statement).rowcount)
        if updated != 1:
            raise ProtocolError(
                "settlement",
                "another session has stored this job, and this share was discarded; ask again for the answer",
                409,
            )


LEADING_SERVER = 0
"""Number of the server that opens sessions between both servers; if an analyst asks server 1, it requests server 0
to."""
NOISE_SOURCE = "random bits of both servers, in a circuit"
"""Text under which the ledger records where the noise of an answer comes from."""


def count_answer_values(task: PairTask) -> int:
    """Return the number of released integers: one if noise is added to the sum, three if to each pair's answer.

    The number does not depend on how many people take part, which is not known before the task is closed.

    Args:
        task: Document of the task.
    """
    return len(task.plan(max(task.people, task.pairing.pairs_per_person + 1)).distribution.blank_values())


@dataclass(frozen=True)
class PairQuestions:
    """The one question to a task of pairs, whose answer is the mean of its kernel.

    Questions to other tasks of two servers list thresholds. Here the list must be empty.

    Attributes:
        task: The task.
    """

    task: PairTask

    @property
    def hash(self) -> str:
        """SHA-256 of the task's document, which names the task in messages."""
        return self.task.hash

    def parse_thresholds(self, value: object) -> tuple[int, ...]:
        """Return the thresholds of a question about pairs: always none.

        Args:
            value: The thresholds in the question's JSON, which must be an empty list.

        Returns:
            ().

        Raises:
            ProtocolError: the list is not empty.
        """
        if value != []:
            raise ProtocolError("thresholds", "must be empty: a task of pairs has one answer, without thresholds")
        return ()

    def answer_size(self, thresholds: object) -> int:
        """Return the number of integers in the answer. `thresholds` is ignored: a task of pairs has none."""
        return count_answer_values(self.task)


@dataclass(frozen=True, repr=False)
class PeerConnector:
    """Client that connects to the other server for a session of two-party computation.

    Attributes:
        url: URL of the other server.
        context: TLS context with which both servers authenticate.
        timeout: Seconds to wait for each message.
    """

    url: str
    context: ssl.SSLContext
    timeout: float

    def connect(self) -> Connection:
        """Return a new TLS connection to the other server, over which one session runs.

        Raises:
            ProtocolError: the other server cannot be reached, or fails to authenticate.
        """
        address = urlsplit(self.url)
        try:
            tcp_socket = socket.create_connection((address.hostname or "", address.port or 0), self.timeout)
        except OSError:
            raise ServiceUnavailable(
                "peer", f"no server answers at {self.url}; start the other server, then ask again", 503
            ) from None
        return Connection.from_socket(tcp_socket, self.context, address.hostname or "", self.timeout)


@dataclass(repr=False)
class PairService(SharedTaskService[PairTask]):
    """SECRET. One server's service for one task of pairs. It has no repr.

    Formal guarantees: each server holds one XOR share of each value, which is uniform. Nothing of the shares leaves a
    server except messages of `PairSession`, and these only after both ledgers have charged the task's loss, once, for
    one report set. Server 0 leads. Each server stores its share of the one confirmed run in the database of its ledger,
    so a repeated question, also after a crash, gets the same answer: see `settle_run`. A server that has lost its store
    is detected: see `Closing`. The task commits to the seed of the pairs, which is opened to the servers when the task
    is closed, so nobody can choose the partners of a person.

    Attributes:
        shelf: Storage of seeds, and of this server's shares of results.
        road: Connector to the other server, for the messages of the two-party computation.
    """

    PEER_REQUESTS: ClassVar[OfPeer] = MappingProxyType({
        **CLOSING_REQUESTS,
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
    def noise_distribution_name(self) -> str:
        """Name of the noise distribution, recorded with the charge, so that a repeated charge with other noise is
        refused.

        In a task of pairs, noise is drawn once in a session and stored, not derived from keys.
        """
        return NOISE_SOURCE

    @property
    def askable(self) -> PairQuestions:
        """Questions that analysts may ask: the single release of the task."""
        return PairQuestions(self.task)

    def warm_up(self) -> None:
        """Compile the loops over gates, so that the first answer does not wait for them."""
        compile_loops()

    def close(self, message: bytes) -> bytes:
        """Close the task: fix the set of reports that count, then store the seed of the pairs at both servers.

        A repeated call has the effect of one. If the other server fails after the task was closed, a further call
        completes the work.

        Args:
            message: JSON object with the field ``seed``, hexadecimal, from the coordinator.

        Returns:
            JSON object with the accepted report set, the commitments to it, and the number of owners.

        Raises:
            ProtocolError: the seed does not match the task's commitment, and nothing was closed; or there are no
                reports, the servers do not agree on them, or the other server is unreachable.
        """
        self._parse_seed(message)
        reply = self.closing.close()
        self.accept_seed(message)
        self._post_to_peer("seed", message)
        return reply

    def accept_seed(self, message: bytes) -> bytes:
        """Store the seed of the pairs that the coordinator opens in this message; return an empty JSON object.

        Raises:
            ProtocolError: the seed does not match the task's commitment, or the task is not closed.
        """
        seed = self._parse_seed(message)
        self._require_closed()
        self.shelf.store_seed(self.task.hash, seed)
        return b"{}"

    def _parse_seed(self, message: bytes) -> bytes:
        """Parse the seed of the pairs from the coordinator's message, and check it against the task's commitment.

        Raises `ProtocolError` if it is malformed, or does not match the task's commitment.

        Args:
            message: JSON object with the field ``seed``, hexadecimal.
        """
        try:
            seed = bytes.fromhex(str(parse_fields(message, "task", seed=str)["seed"]))
            fits = commit_to_seed(seed) == self.task.commitment
        except (InvalidArgument, ValueError):
            fits = False
        if not fits:
            raise ProtocolError(
                "seed", "must match the commitment in the task; close with the coordinator's ticket of this task", 409
            )
        return seed

    def describe_status(self) -> bytes:
        """Return the state of the task as public JSON, with the seed of its pairs once it is closed."""
        seed = self.shelf.load_seed(self.task.hash)
        return json.dumps(
            {**json.loads(super().describe_status()), "seed": None if seed is None else seed.hex()}
        ).encode()

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Return the noisy answer of both servers, equal for all analysts and for repeated questions.

        Args:
            message: The analyst's question as JSON (`QuestionMessage`).
            analyst: Number of the analyst. It has no influence.

        Returns:
            The answer as JSON, with the released integers, the report set, and the number of reports.

        Raises:
            ProtocolError: the question is malformed, the task is not closed or has too few people, the budget is
                spent, or the other server does not respond. Nothing was released.
        """
        question = QuestionMessage.from_json(message, self.askable)
        status = self._require_closed()
        if self._release is None:
            peer_question = QuestionMessage.create(self.askable, (), question.question_id)
            if self.party == LEADING_SERVER:
                self._run_as_leader(peer_question)
            else:
                peer_question.parse_reply(
                    self._post_to_peer("lead", peer_question.to_json(**status.provenance)), "peer"
                )
        with self._lock:  # wait: the other server may have finished the session first
            release = self._release
        if release is None:
            raise ProtocolError("peer", "the session was cut off; ask again", 502)
        return question.encode_answer(release.values, {"set": status.report_set, "reports": status.reports})

    def lead_session(self, message: bytes) -> bytes:
        """Run the session as server 0, at the request of the other server, which was asked and has no answer yet.

        Args:
            message: The question as JSON.

        Returns:
            An answer without values, as JSON: server 1 has the result from the session itself.

        Raises:
            ProtocolError: this is server 1, or the question cannot be answered (see `answer`).
        """
        question = self._parse_peer_question(message)
        if self.party != LEADING_SERVER:
            raise ProtocolError(
                "peer",
                f"only server {LEADING_SERVER} opens sessions, and this is the other one; check the URLs in the task",
                409,
            )
        self._run_as_leader(question)
        return question.encode_answer((), self._require_closed().provenance)

    def _run_as_leader(self, question: QuestionMessage) -> None:
        """Agree with the other server on question and report set, charge the ledger, run the session, and keep the
        release.

        Raises `ProtocolError` if the other server refuses or cannot be reached.
        """
        with self._lock:
            status = self._require_closed()
            reply = question.parse_reply(self._post_to_peer("agree", question.to_json(**status.provenance)), "peer")
            require_report_set(reply, status.provenance, report_set.DIFFERENT_REPORTS)
            session_and_charge = self._prepare_session(status)
            connection = self.road.connect()
            try:
                connection.send(question.to_json(**status.provenance))
                refusal = parse_object(connection.receive(), "peer").get("error")
                if refusal is not None:
                    raise ProtocolError.from_error_line(str(refusal), 502)
                self._release = self._run_session(*session_and_charge, connection)
            finally:
                connection.close()

    def follow_session(self, message: bytes, connection: Endpoint) -> None:
        """Take part, as server 1, in a session that server 0 has opened; the release is stored for `answer`.

        Args:
            message: The first message of server 0: the question as JSON.
            connection: Connection to server 0.

        Raises:
            ProtocolError: the question cannot be answered, which is sent to the other server; or the session was cut
                off.
        """
        with self._lock:
            try:
                self._parse_peer_question(message)
                session_and_charge = self._prepare_session(self._require_closed())
            except ProtocolError as error:
                connection.send(json.dumps({"error": str(error)}).encode())
                raise
            connection.send(b"{}")
            self._release = self._run_session(*session_and_charge, connection)

    def _run_session(self, session: PairSession, allotment: Allotment, connection: Endpoint) -> Release:
        """Run the paid computation, or open its stored result. If the session is cut off, nothing was released.

        Args:
            session: This server's side of the computation.
            allotment: Loss that was charged.
            connection: Connection to the other server.
        """
        bits = run_protocol(session.run_protocol(self.shelf, Randomness.from_system()), connection)
        return session.pairs.build_release(bits, allotment)

    def _prepare_session(self, status: TaskStatus) -> tuple[PairSession, Allotment]:
        """Charge the ledger, before the computation starts; return this server's session for the closed report set.

        Args:
            status: Status of the task, with the closed report set.

        Returns:
            The session, and the allotment that was charged for it.
        """
        pairs = self._find_pairs(status)
        shares = self._load_shares(status)
        session = PairSession(pairs, status, self.party, self.task.encoding.decode_columns(shares))
        return session, self._charge_ledger(status)

    def _find_pairs(self, status: TaskStatus) -> TaskPairs:
        """Return the pairs of people of the closed report set, drawn from the revealed seed.

        Args:
            status: Status of the task, with the number of reports.

        Raises:
            ProtocolError: this server does not have the seed yet (status 409), or there are too few people for a pair.
        """
        seed = self.shelf.load_seed(self.task.hash)
        if seed is None:
            raise ProtocolError("seed", f"server {self.party} does not have the seed yet; run dpcurves task close", 409)
        pairs = TaskPairs(self.task, status.reports, seed)
        if pairs.plan and not len(pairs.pairs):
            raise ProtocolError("reports", "must be of enough people for a pair; make a new task", 409)
        return pairs


PAIR_TASK_TYPE = TaskType(PairTask, PairService)
"""Type of tasks of pairs, which the package registers as an entry point, so that the servers' program finds it."""


def ask_people(task: PairTask, ticket: Ticket, timeout: float = ANSWER_SECONDS) -> UStatistic:
    """Return the mean of the kernel over all pairs of people, estimated from the pairs that have answered by now.

    It costs no further privacy loss: the two devices of a pair add the noise before the relay sees their answer.

    Args:
        task: The task document, of a task with one server (the relay).
        ticket: The analyst's ticket, that is the document with the access token.
        timeout: Seconds to wait for an answer.

    Returns:
        The estimate, in units of the kernel, with its intervals.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolError: the server refuses, cannot be reached, or sends an invalid answer; or no pair has answered.
    """
    require_ticket_for(ticket, task)
    (server,) = task.servers
    with Channel.from_certificate(server.url, server.certificate, timeout) as channel:
        message = channel.post(f"/tasks/{task.hash}/answers", json.dumps({}).encode(), ticket.derive_bearer_token(0))
    answer = parse_fields(message, "server", task=str, seed=str, came=str, values=list)
    if answer["task"] != task.hash or any(type(value) is not int for value in answer["values"]):
        raise ProtocolError("server", f"the answer {WRONG_FORM_RULE}", 502)
    agreement = task.build_agreement(decode_hex(answer["seed"]))
    packed = np.frombuffer(decode_hex(answer["came"]), np.uint8)
    meeting_count = len(agreement.meetings)
    if len(packed) != -(-meeting_count // 8):
        raise ProtocolError("server", f"the answer {WRONG_FORM_RULE}", 502)
    has_answered = np.unpackbits(packed, count=meeting_count, bitorder="little").astype(np.bool_)
    pairs = np.array([meeting.people for meeting in agreement.meetings], dtype=np.int64)[has_answered]
    allotment = QuestionBudget.from_external_charge(task.hash, task.loss.as_single_release()).pay(
        task.query, WHOLE_BUDGET
    )
    return _create_statistic(release_values(task.plan(task.people), pairs, answer["values"], allotment))


def _create_statistic(release: Release) -> UStatistic:
    """Return the U-statistic of a release, and warn with each of its notes."""
    statistic = pair_statistic(release)
    warn_about_notes(statistic)
    return statistic


def ask_pairs(task: PairTask, ticket: Ticket, party: int = 0, timeout: float = ANSWER_SECONDS) -> UStatistic:
    """Return the mean of the kernel over all pairs of people, from two servers. Repeated questions get one answer.

    The client derives the pairs itself, from the seed that the servers publish, and checks it against the task's
    commitment.

    Args:
        task: The task document, of a task with two servers.
        ticket: The analyst's ticket, that is the document with the access token.
        party: Number of the server that is asked, 0 or 1.
        timeout: Seconds to wait for an answer.

    Warns:
        CurveWarning: each of its `notes`.

    Returns:
        The estimate, in units of the kernel, with its intervals.

    Raises:
        ProtocolError: the servers refuse or cannot be reached, the task is not closed, or an answer does not belong to
            the question.
    """
    require_ticket_for(ticket, task)
    with Channel.from_certificate(task.servers[party].url, task.servers[party].certificate, timeout) as server:
        pairs = _parse_closed_pairs(task, server.get(f"/tasks/{task.hash}"))
        question = QuestionMessage.create(PairQuestions(task), ())
        message = server.post(f"/tasks/{task.hash}/answers", question.to_json(), ticket.derive_bearer_token(party))
        answer = question.parse_answer(message, "server")
    if answer.reports != pairs.people:
        raise ProtocolError("server", "the report set has changed since the status was read; ask again", 502)
    allotment = QuestionBudget.from_external_charge(task.hash, task.loss.as_single_release()).pay(
        task.query, WHOLE_BUDGET
    )
    return _create_statistic(release_values(pairs.plan, pairs.pairs, answer.values, allotment))


def _parse_closed_pairs(task: PairTask, message: bytes) -> TaskPairs:
    """Return the pairs of a closed task, from a server's status.

    Args:
        task: Document of the task.
        message: Public state of the task at a server, as JSON.

    Returns:
        The pairs, drawn from the revealed seed.

    Raises:
        TaskStillOpen: the status holds no seed, so the task is still open.
        ProtocolError: the seed is invalid (status 502).
    """
    status = parse_closed_status(task, message)
    seed = status.get("seed")
    if not isinstance(seed, str):
        raise TaskStillOpen
    try:
        return TaskPairs(task, status["reports"], bytes.fromhex(seed))
    except ValueError:
        raise ProtocolError(
            "server", "the status holds no valid seed; ask again once the task is closed", 502
        ) from None
