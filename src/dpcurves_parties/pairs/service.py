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

from dpcurves.arguments import Away, Refused
from dpcurves.conversation import ALL, Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.result import warn_of
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.ledger.chain import alone
from dpcurves.noise.randomness import Randomness

from ..serving.channel import PATIENCE, Channel
from ..serving.database import ServerDatabase, octets
from ..serving.messages import UNLIKE, ProtocolAborted, facts_of
from ..serving.messages import opened as read
from ..serving.server import PROTOCOL
from ..serving.task_document import Ticket
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import CLOSES, LARGEST_QUESTION, Collection, OfPeer
from ..serving.two_servers.kinds import Asked, NotClosed, TaskKind, closed_standing, require_set
from ..serving.two_servers.owner import require_task
from ..serving.two_servers.store import Standing
from .attendance import octets_of
from .queries import commitment
from .readings import pair_statistic
from .relay import keep_seed, seeds_in, shown_seed
from .release import told
from .session import NOTHING, Connection, End, Kept, PairSession, PairsOf, RunState, conducted, warm
from .task import PairTask

# SECRET. Storage of one server for a task of pairs: the seed that was shown, and its share of the run that counts.
METADATA = sql.MetaData()
seeds_in(METADATA)
# SECRET: one share of the noisy output of a session; see `settlement`.
PAIR_RUNS = Table(
    "dpcurves_pair_runs", METADATA, Column("job", sql.LargeBinary, primary_key=True),
    Column("state", sql.Integer, nullable=False), *octets("run", "share"),
)  # fmt: skip


@dataclass(repr=False)
class PairStore:
    """SECRET. A `Shelf` in the database of a server's ledger, and as durable. It has no repr.

    Attributes:
        url: URL of the database.
        who: Name of the store in errors.
    """

    url: str
    who: str
    _database: ServerDatabase = field(init=False)

    def __post_init__(self) -> None:
        self._database = ServerDatabase(self.url, self.who, METADATA)

    def seed(self, task: str) -> bytes | None:
        """Seed of the pairs, if it was shown."""
        return self._database.read(lambda connection: shown_seed(connection, task))

    def keep_seed(self, task: str, seed: bytes) -> None:
        """Keep the seed of a task that is closed; it is the promised one, so there is no other."""
        self._database.write(lambda connection: keep_seed(connection, task, seed))

    def kept(self, job: bytes) -> Kept:
        """Stored state of a job."""
        asked = select(PAIR_RUNS).where(PAIR_RUNS.c.job == job)
        row = self._database.read(lambda connection: connection.execute(asked).first())
        return Kept(RunState.NOTHING, NOTHING, b"") if row is None else Kept(RunState(row.state), row.run, row.share)

    def store(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed. Raises `ProtocolAborted`: one was."""
        fresh = {"job": job, "state": RunState.STORED.value, "run": run, "share": share}

        def work(connection: SqlConnection) -> None:
            alone(connection, f"run {job.hex()}")
            connection.execute(
                delete(PAIR_RUNS).where(PAIR_RUNS.c.job == job, PAIR_RUNS.c.state < RunState.CONFIRMED.value)
            )
            if connection.execute(select(PAIR_RUNS.c.job).where(PAIR_RUNS.c.job == job)).first() is not None:
                raise ProtocolAborted("settlement", "another session of this job was confirmed", 409)
            connection.execute(insert(PAIR_RUNS), fresh)

        self._database.write(work)

    def confirm(self, job: bytes, run: bytes) -> None:
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
            raise ProtocolAborted("settlement", "another session of this job has taken its place", 409)


# SECRET. Service of one task of pairs at one server: takes shares of people, closes, and computes one noisy answer.


LEADS = 0
DRAWN_AS = "coins that both servers throw, in a circuit"


def numbers_of(task: PairTask) -> int:
    """Number of values in the answer, for any number of people."""
    return len(task.plan(max(task.people, task.pairing.each + 1)).law.blank())


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

    def thresholds(self, at: object) -> tuple[int, ...]:
        """Thresholds of the question: none. Raises `ProtocolAborted`: some were asked for."""
        if at != []:
            raise ProtocolAborted("at", "a task of pairs has one answer, without thresholds")
        return ()

    def numbers(self, at: object) -> int:
        """Number of values in the answer."""
        return numbers_of(self.task)


@dataclass(frozen=True, repr=False)
class Road:
    """Client that connects to the other server, for a session of two-party computation.

    Attributes:
        url: URL of the other server.
        context: TLS context by which both servers authenticate.
        patience: Seconds that it may be silent.
    """

    url: str
    context: ssl.SSLContext
    patience: float

    def opened(self) -> Connection:
        """A connection.

        Raises:
            ProtocolAborted: the other server can not be reached, or is somebody else.
        """
        place = urlsplit(self.url)
        try:
            raw = socket.create_connection((place.hostname or "", place.port or 0), self.patience)
        except OSError:
            raise Away("peer", f"nobody answers at {self.url}", 503) from None
        return Connection.over(raw, self.context, place.hostname or "", self.patience)


@dataclass(repr=False)
class PairService(Collection[PairTask]):
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

    OF_PEER: ClassVar[OfPeer] = MappingProxyType({
        **CLOSES,
        "seed": (lambda service, message: service.take_seed(message), LARGEST_QUESTION),
        "lead": (lambda service, message: service.lead(message), LARGEST_QUESTION),
    })  # fmt: skip

    _told: Release | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        url, talking = self.place.other(self.task)
        talking.set_alpn_protocols([PROTOCOL])
        self.shelf = PairStore(self.place.url, f"server {self.party}")
        self.road = Road(url, talking, self.place.patience)

    @property
    def drawn_as(self) -> str:
        """Name of the noise: it is drawn once, and kept."""
        return DRAWN_AS

    @property
    def askable(self) -> PairQuestions:
        """Questions that may be asked: the single answer."""
        return PairQuestions(self.task)

    def warm(self) -> None:
        """Compile the loops over gates, so that the first answer does not wait for them."""
        warm()

    def close(self, message: bytes) -> bytes:
        """Close the task, and then send both servers the seed of the pairs. The operation is idempotent.

        Raises:
            ProtocolAborted: as `Closing.close`; or it is not the seed that was promised: nothing was closed.
        """
        self._seed_in(message)
        agreed = self.closing.close()
        self.take_seed(message)
        self._post("seed", message)
        return agreed

    def take_seed(self, message: bytes) -> bytes:
        """Keep the seed of the pairs.

        Raises:
            ProtocolAborted: it is not the seed that was promised, or the task is not closed.
        """
        seed = self._seed_in(message)
        self._closed()
        self.shelf.keep_seed(self.task.hash, seed)
        return b"{}"

    def _seed_in(self, message: bytes) -> bytes:
        try:
            seed = bytes.fromhex(str(facts_of(message, "task", seed=str)["seed"]))
            fits = commitment(seed) == self.task.commitment
        except (Refused, ValueError):
            fits = False
        if not fits:
            raise ProtocolAborted("seed", "it is not the one that the task has promised", 409)
        return seed

    def standing(self) -> bytes:
        """State of the task, and the seed of its pairs once it is closed, as JSON: public."""
        seed = self.shelf.seed(self.task.hash)
        return json.dumps({**json.loads(super().standing()), "seed": None if seed is None else seed.hex()}).encode()

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Both servers' answer to an analyst: the same for all.

        Raises:
            ProtocolAborted: it can not be asked, or the other server does not answer. Nothing was told.
        """
        asked = Asked.from_json(message, self.askable)
        standing = self._closed()
        if self._told is None:
            own = Asked.fresh(self.askable, (), asked.question)
            if self.party == LEADS:
                self._lead(own)
            else:
                own.echoed(self._post("lead", own.to_json(**standing.named)), "peer")
        with self._lock:  # the other server may have heard the end of the session first
            release = self._told
        if release is None:
            raise ProtocolAborted("peer", "the session with it was cut off; ask again", 502)
        return asked.answered(release.values, {"set": standing.set, "reports": standing.reports})

    def lead(self, message: bytes) -> bytes:
        """Open a session with the other server, which has no answer yet.

        Raises:
            ProtocolAborted: it can not be asked, or this is server 1.
        """
        asked = self._asked_by_peer(message)
        if self.party != LEADS:
            raise ProtocolAborted("peer", f"server {LEADS} leads", 409)
        self._lead(asked)
        return asked.answered((), self._closed().named)

    def _lead(self, asked: Asked) -> None:
        with self._lock:
            standing = self._closed()
            told = asked.echoed(self._post("agree", asked.to_json(**standing.named)), "peer")
            require_set(told, standing.named, report_set.OTHER)
            ready, end = self._ready(standing), self.road.opened()
            try:
                end.send(asked.to_json(**standing.named))
                refusal = read(end.receive(), "peer").get("error")
                if refusal is not None:
                    raise ProtocolAborted.heard(str(refusal), 502)
                self._told = self._conducted(*ready, end)
            finally:
                end.close()

    def follow(self, message: bytes, line: End) -> None:
        """Take part in a session that the other server has opened with this message.

        Raises:
            ProtocolAborted: it can not be asked, which the other server hears; or the talk was cut off.
        """
        with self._lock:
            try:
                self._asked_by_peer(message)
                ready = self._ready(self._closed())
            except ProtocolAborted as error:
                line.send(json.dumps({"error": str(error)}).encode())
                raise
            line.send(b"{}")
            self._told = self._conducted(*ready, line)

    def _conducted(self, session: PairSession, allotment: Allotment, end: End) -> Release:
        """Run the computation that was paid for, or open its stored result. Cut off, nothing was told."""
        bits = conducted(session.talk(self.shelf, Randomness.system()), end)
        return session.pairs.release(bits, allotment)

    def _ready(self, standing: Standing) -> tuple[PairSession, Allotment]:
        """Charge the ledger, so that this server may take part."""
        pairs, shares = self._pairs(standing), self._shares(standing)
        session = PairSession(pairs, standing, self.party, self.task.encoding.columns(shares))
        return session, self._charged(standing)

    def _pairs(self, standing: Standing) -> PairsOf:
        seed = self.shelf.seed(self.task.hash)
        if seed is None:
            raise ProtocolAborted("seed", f"server {self.party} was not told it yet: dpcurves task close", 409)
        pairs = PairsOf(self.task, standing.reports, seed)
        if pairs.plan and not len(pairs.pairs):
            raise ProtocolAborted("reports", "there are no pairs of so few people", 409)
        return pairs


PAIRS = TaskKind(PairTask, PairService)
"""Tasks of pairs, registered as an entry point."""


def ask_people(task: PairTask, ticket: Ticket, patience: float = PATIENCE) -> UStatistic:
    """The mean over the pairs that have come by now. Nothing is spent: devices have paid for what they said.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the server refuses or can not be reached, or its answer is none; or no pair has come.
    """
    require_task(ticket, task)
    (server,) = task.servers
    with Channel.to(server.url, server.certificate, patience) as channel:
        message = channel.post(f"/tasks/{task.hash}/answers", json.dumps({}).encode(), ticket.shown_to(0))
    answer = facts_of(message, "server", task=str, seed=str, came=str, values=list)
    if answer["task"] != task.hash or any(type(value) is not int for value in answer["values"]):
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
    agreed = task.shown(octets_of(answer["seed"]))
    octets, many = np.frombuffer(octets_of(answer["came"]), np.uint8), len(agreed.meetings)
    if len(octets) != -(-many // 8):
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
    came = np.unpackbits(octets, count=many, bitorder="little").astype(np.bool_)
    pairs = np.array([meeting.people for meeting in agreed.meetings], dtype=np.int64)[came]
    allotment = QuestionBudget.told(task.hash, task.loss.of_one_release()).pay(task.query, ALL)
    return _read(told(task.plan(task.people), pairs, answer["values"], allotment))


def _read(release: Release) -> UStatistic:
    found = pair_statistic(release)
    warn_of(found)
    return found


def ask_pairs(task: PairTask, ticket: Ticket, party: int = 0, patience: float = PATIENCE) -> UStatistic:
    """The mean over pairs, as two servers tell it: asked again, it is the same.

    Who is paired with whom is worked out here as well, from the seed that the servers show.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the servers refuse or can not be reached, or an answer is not to what was asked.
    """
    require_task(ticket, task)
    with Channel.to(task.servers[party].url, task.servers[party].certificate, patience) as server:
        pairs = _closed(task, server.get(f"/tasks/{task.hash}"))
        asked = Asked.fresh(PairQuestions(task), ())
        message = server.post(f"/tasks/{task.hash}/answers", asked.to_json(), ticket.shown_to(party))
        answer = asked.answer(message, "server")
    if answer.reports != pairs.people:
        raise ProtocolAborted("server", "it answers from another set of reports than before", 502)
    allotment = QuestionBudget.told(task.hash, task.loss.of_one_release()).pay(task.query, ALL)
    return _read(told(pairs.plan, pairs.pairs, answer.numbers, allotment))


def _closed(task: PairTask, message: bytes) -> PairsOf:
    """Pairs of a closed task, from the state that a server told."""
    told = closed_standing(task, message)
    seed = told.get("seed")
    if not isinstance(seed, str):
        raise NotClosed
    try:
        return PairsOf(task, told["reports"], bytes.fromhex(seed))
    except ValueError:
        raise ProtocolAborted("server", "it shows no seed", 502) from None
