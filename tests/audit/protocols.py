"""Protocols of several parties, whole and in one process, with all coins scripted, and everything that a party sees.

What stands between parties (TLS, HTTP) is left out; what is sent through it is not. Sealing is a stand-in of the same
lengths without coins of its own.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from hashlib import sha256, sha384
from pathlib import Path
from queue import Queue
from tempfile import mkdtemp
from threading import Thread
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from coupling import BLOCK, Coins, Expansion, Gates, Rewriting, Streams, octets_of, scalar
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

import dpcurves as dp
from dpcurves.arguments import ProtocolError
from dpcurves.ledger import Ledger, balance, verification
from dpcurves.noise import Randomness
from dpcurves_parties.crypto.circuits import evaluate_circuit
from dpcurves_parties.crypto.keys import SeedShare
from dpcurves_parties.crypto.two_party import Job
from dpcurves_parties.pairs import Trust, device, session
from dpcurves_parties.pairs.mechanisms import NoisePlacement
from dpcurves_parties.pairs.meetings import Participant, RelayClient
from dpcurves_parties.pairs.queries import WithoutRepetition, commit_to_seed
from dpcurves_parties.pairs.relay import Relay, RelayStore
from dpcurves_parties.pairs.session import PairSession
from dpcurves_parties.pairs.task import PairTask
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, create_task
from dpcurves_parties.serving.two_servers import collection, owner, report_set, task_types
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.owner import Contribution
from dpcurves_parties.serving.two_servers.sealed_answers import NONCE_SIZE, AnswerKey, SealedQuestion
from dpcurves_parties.serving.two_servers.task_types import QuestionMessage

SEED = bytes(range(32))
SHOWN = json.dumps({"seed": SEED.hex()}).encode()
ROOM = 1 << 15
"""Coins that are tried for the wanted answer."""
Given = Mapping[int, bytes]
Event = tuple[Any, ...]
Thrown = tuple[int, str, int]
"""A person, what coins are for, and a meeting."""


class Sealing:
    """Sealing without coins: a name of key and place of 48 bytes, and what is sealed."""

    def encrypt(self, body: bytes, key: X25519PublicKey, place: bytes) -> bytes:
        return sha384(key.public_bytes_raw() + place).digest() + body

    def decrypt(self, sealed: bytes, key: X25519PrivateKey, place: bytes) -> bytes:
        if sealed[:48] != sha384(key.public_key().public_bytes_raw() + place).digest():
            raise InvalidTag
        return sealed[48:]


class Stopped(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime(2026, 1, 1, tzinfo=tz or UTC)


class Named:
    """Tokens that are counted."""

    def __init__(self) -> None:
        self.count = 0

    def token_hex(self, size: int) -> str:
        self.count += 1
        return sha256(str(self.count).encode()).hexdigest()[: 2 * size]


def rows_of(file: Path) -> list[Event]:
    """Rows of an SQLite database, table by table, and its size."""
    with sqlite3.connect(file) as base:
        names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")]
        return [(name, *row) for name in names for row in base.execute(f'SELECT * FROM "{name}"')]


def found_coins(circuit: Any, given: Sequence[int | None], wanted: int, *, seed: int) -> list[int]:
    """Values for the inputs that are not given with which the circuit's only output is the wanted one."""
    chance = np.random.default_rng(seed)
    values = [
        chance.integers(0, 2**width, ROOM, dtype=np.uint64) if value is None else np.full(ROOM, value, np.uint64)
        for value, width in zip(given, circuit.inputs, strict=True)
    ]
    places = np.flatnonzero(evaluate_circuit(circuit, *values)[0] == wanted)
    assert len(places), "no coins have the wanted answer"
    return [int(each[places[0]]) for each, value in zip(values, given, strict=True) if value is None]


def answer_of(circuit: Any, values: Sequence[int]) -> int:
    return int(evaluate_circuit(circuit, *([value] for value in values))[0][0])


def octets_below(value: int, width: int) -> bytes:
    """Draws of `Randomness.sample_below` for a value of so many bits."""
    length = (width + 7) // 8
    return (value << (8 * length - width)).to_bytes(length, "little")


# People in pairs.


@dataclass
class Village:
    """A task of people in pairs, with their server, and devices in a folder that is copied for each run.

    Attributes:
        folder: Where keys and tickets lie.
        people: How many.
        bits: Of each column.
        events: What the server is asked, and what it says, in order.
        gates: The cipher of gates.
        given: Coins that are not those of the seed, by person, purpose and meeting.
        drawn: Coins that were thrown, by the same.
        tampers: Changes a letter on its way.
    """

    folder: Path
    people: int = 2
    bits: int = 1
    epsilon: Fraction = Fraction(2)
    events: list[Event] = field(default_factory=list)
    given: Mapping[Thrown, Given] = field(default_factory=dict)
    drawn: dict[Thrown, list[bytes]] = field(default_factory=dict)
    tampers: Callable[[int, int], bool] = lambda number, step: False

    def __post_init__(self) -> None:
        self.identity = Identity.create(self.folder / "server", "https://127.0.0.1:1")
        each = min(2, self.people - 1)
        draft = PairTask(
            "village", "kendall", (("rooms", self.bits), ("cleanliness", self.bits)), WithoutRepetition(each),
            dp.PrivacyLoss.pure(self.epsilon), Trust.PEOPLE, NoisePlacement.EACH, commit_to_seed(SEED),
            (self.identity.public,), {},
        )  # fmt: skip
        numbers = {Role.OWNER: self.people, Role.ANALYST: 1, Role.COORDINATOR: 1}
        self.task = create_task(draft, numbers, self.folder / "task.json", self.folder / "tickets")
        self.agreement = self.task.build_agreement(SEED)
        Ledger.open(f"sqlite:///{self.folder / 'relay.db'}")
        RelayStore(f"sqlite:///{self.folder / 'relay.db'}")
        self.secrets = [Randomness.from_seed(100 + person).random_bytes(32) for person in range(self.people)]

    def keyed(self, secret: bytes, name: str) -> Randomness:
        """Scripted coins of a person for a meeting."""
        person, (purpose, _, meeting) = self.secrets.index(secret), name.rpartition(" ")
        (number,) = [each.number for each in self.agreement.meetings if each.name.hex() == meeting]
        key = person, purpose, number
        coins = Coins(1000 * person + 10 * number + len(purpose), self.given.get(key))
        self.drawn[key] = coins.drawn
        return coins.randomness

    def run(
        self,
        values: Sequence[Sequence[Any]],
        gates: Gates,
        given: Mapping[Thrown, Given] | None = None,
        rounds: int = 4,
    ) -> dict[str, Any]:
        """Everybody comes, round by round: what the server saw and kept, each device, and what an analyst is told."""
        self.given, self.drawn = given or {}, {}
        work = Path(mkdtemp(dir=self.folder))  # a new one: databases are kept open by their names
        for file in self.folder.glob("relay.db*"):
            shutil.copy(file, work)
        self.events = []
        relay = Relay(self.task, self.identity.hpke_key, RelayStore(f"sqlite:///{work / 'relay.db'}"))
        heard: list[list[str]] = [[] for _ in values]
        with ExitStack() as stack:
            stack.enter_context(gates.run())
            stack.enter_context(mock.patch.object(device, "SUITE", Sealing()))
            stack.enter_context(mock.patch.object(device, "Randomness", SimpleNamespace(from_key=self.keyed)))
            come = [
                Participant.enter_task(
                    RelayClient(self.task, self._ticket(f"owner-{person + 1}"), self._channel(relay, person)),
                    Randomness.from_seed(100 + person), work / f"device{person}", heard[person].append,
                )
                for person in range(len(values))
            ]  # fmt: skip
            relay.close(SHOWN)
            for _ in range(rounds):
                for attendance, value in zip(come, values, strict=True):
                    self.events.append(("attended", attendance.number, *attendance.advance_meetings(value)))
            with suppress(ProtocolError):
                self.events.append(("answer", relay.answer(b"")))
        return {
            "server": (self.events, rows_of(work / "relay.db"), (work / "relay.db").stat().st_size),
            "devices": [rows_of(work / f"device{person}") for person in range(len(values))],
            "told": heard, "drawn": self.drawn,
        }  # fmt: skip

    def _ticket(self, name: str) -> Ticket:
        return Ticket.load(self.folder / "tickets" / name, Role.OWNER)

    def _channel(self, relay: Relay, person: int) -> Any:
        work = {
            "enter": Relay.register_bundle,
            "keys": Relay.fetch_bundle,
            "leave": Relay.accept_message,
            "letter": Relay.deliver_message,
        }

        def post(path: str, message: bytes, token: str) -> bytes:
            what = path.rpartition("/")[2]
            if what == "leave" and self.tampers(person, message[16]):
                message = message[:-1] + bytes([message[-1] ^ 1])
            told = work[what](relay, person, message)
            self.events.append((person, what, message, told))
            return told

        return SimpleNamespace(post=post, get=lambda path: relay.describe_status(), close=lambda: None)

    def coupled(
        self,
        person: int,
        old: Sequence[Sequence[int]],
        new: Sequence[Sequence[int]],
        drawn: Mapping[Thrown, list[bytes]],
    ) -> dict[Thrown, Given]:
        """Coins of somebody whose values are others now, for the answers and the messages of a run that drew others."""
        given: dict[Thrown, Given] = {}
        for meeting in self.agreement.find_meetings(person):
            job, place = self.agreement.build_job(meeting), meeting.people.index(person)
            widths = job.circuit.inputs[: len(job.circuit.inputs) // 2]
            before = [
                [*old[each], *_numbers(drawn[each, "thrown in", meeting.number], widths[len(old[each]) :])]
                for each in meeting.people
            ]
            wanted = answer_of(job.circuit, [*before[0], *before[1]])
            mine: list[int | None] = [*new[person], *[None] * (len(widths) - len(new[person]))]
            known = [*mine, *before[1]] if place == 0 else [*before[0], *mine]
            coins = found_coins(job.circuit, known, wanted, seed=meeting.number)
            given[person, "thrown in", meeting.number] = dict(
                enumerate(map(octets_below, coins, widths[len(new[person]) :]))
            )
            if place == 1:
                first = drawn[meeting.people[0], "coins of", meeting.number][0]
                own = drawn[person, "coins of", meeting.number]
                choices = _bits(before[1], widths), _bits([*new[person], *coins], widths)
                given[person, "coins of", meeting.number] = moved(own, first, *choices)
        return given


def moved(drawn: Sequence[bytes], first: bytes, old: Sequence[int], new: Sequence[int], start: int = 0) -> Given:
    """Exponents with which a receiver's points are the same for other choices: but for a multiple of the sender's."""
    return {
        start + number: octets_of(scalar(drawn[start + number]) + (one - other) * scalar(first))
        for number, (one, other) in enumerate(zip(old, new, strict=True))
        if one != other and start + number < len(drawn)  # a party that was cut off threw fewer
    }


def _numbers(drawn: Sequence[bytes], widths: Sequence[int]) -> list[int]:
    """Thrown coins, from what they were made of."""
    return [
        int.from_bytes(octets, "little") >> (8 * len(octets) - width)
        for octets, width in zip(drawn, widths, strict=True)
    ]


def _bits(values: Sequence[int], widths: Sequence[int]) -> list[int]:
    return [value >> place & 1 for value, width in zip(values, widths, strict=True) for place in range(width)]


def without_marks(rows: Sequence[Event]) -> list[Event]:
    """A device but for its mark of the value it entered with, which is keyed and never leaves it."""
    return [row[:2] + row[3:] if row[0] == "meetings" else row for row in rows]


# Two servers.


@dataclass
class Line:
    """An end of a connection between two servers, which may be cut after so many messages of the session."""

    party: int
    inbox: Queue[bytes | None]
    outbox: Queue[bytes | None]
    servers: Servers
    cut: int | None = None
    received: int = 0

    def send(self, message: bytes) -> None:
        self._cut()
        self.servers.sent[self.party].append((self.received, message))
        self.outbox.put(message)

    def receive(self) -> bytes:
        self._cut()
        message = self.inbox.get()
        if message is None:
            raise ProtocolError("peer", "the connection was lost", 502)
        self.received += 1
        return message

    def close(self) -> None:
        self.outbox.put(None)

    def _cut(self) -> None:
        if self.cut is not None and self.received >= self.cut:
            self.outbox.put(None)
            raise ProtocolError("peer", "the connection was lost", 502)


@dataclass
class Servers:
    """Two servers of one task, whose empty databases are copied for each run, and all that each sees.

    Attributes:
        folder: Where keys, tickets and databases lie.
        draft: Makes the task for two public identities.
        owners: Coins of the owner, by draw.
        coins: Coins of the servers, by party and session.
        shifts: What is added to the noise of each server in counts.
        cuts: Sessions that end after so many messages, by their number.
    """

    folder: Path
    draft: Callable[[tuple[Any, Any]], Any]
    owners: Given = field(default_factory=dict)
    coins: Mapping[tuple[int, int], Given] = field(default_factory=dict)
    shifts: Mapping[int, Callable[[Any, Any], Sequence[int]]] = field(default_factory=dict)
    cuts: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.identities = [Identity.create(self.folder / f"a{party}", "https://127.0.0.1:1") for party in (0, 1)]
        first, second = self.identities
        numbers = {Role.OWNER: 2, Role.ANALYST: 1, Role.COORDINATOR: 1}
        draft = self.draft((first.public, second.public))
        self.task: Any = create_task(draft, numbers, self.folder / "task.json", self.folder / "tickets")
        self.keys = [self.folder / "tickets" / f"owner-{number}" for number in (1, 2)]
        for party in (0, 1):
            self._services(self.folder)[party]

    def _services(self, folder: Path) -> list[Any]:
        made = []
        for party, identity in enumerate(self.identities):
            server = Aggregator(party, [self.task], identity, f"sqlite:///{folder / f'a{party}.db'}")
            made.append(server.create_services()[self.task.hash])
        return made

    def run(self, rows: Any, gates: Gates, streams: Streams, asks: int = 1) -> list[dict[str, Any]]:
        """An owner contributes, the task is closed, analysts ask: what either server sees. Errors are answers, too."""
        work = Path(mkdtemp(dir=self.folder))
        for party in (0, 1):
            for file in self.folder.glob(f"a{party}.db*"):
                shutil.copy(file, work)
        self.sent: list[list[Event]] = [[], []]
        self.seen: list[list[Event]] = [[], []]
        self.drawn: dict[Any, list[bytes]] = {}
        self.threads: list[Thread] = []
        self.sessions = 0
        with ExitStack() as stack:
            for each in self._patches(gates, streams):
                stack.enter_context(each)
            self.services = self._services(work)
            for party, service in enumerate(self.services):
                service.peer = SimpleNamespace(post=lambda path, message, party=party: self._post(party, path, message))
                service.road = SimpleNamespace(connect=lambda party=party: self._line(party))
            for first, second in Contribution(self.task, rows, bytes(32)).iterate_batches():
                for party, batch in enumerate((first, second)):
                    self.seen[party].append(("reports", batch, self.services[party].store_batch(1, batch)))
            self._asked(0, "close", lambda: self.services[0].close(SHOWN))
            for number in range(asks):
                self._asked(number % 2, "answer", partial(self.services[number % 2].answer, self._question(number)))
        return [
            {
                "seen": self.seen[party], "session": self.sent[1 - party], "own": self.sent[party],
                "store": rows_of(work / f"a{party}.db"), "size": (work / f"a{party}.db").stat().st_size,
            }
            for party in (0, 1)
        ]  # fmt: skip

    at: Sequence[int] = ()

    def _question(self, number: int) -> bytes:
        """An analyst's message, always the same. What is sealed to its key is seen by servers, and so is held, too."""
        asked = QuestionMessage(self.task.hash, f"q{number}", tuple(self.at), f"n{number}", 0)
        key = X25519PrivateKey.from_private_bytes(bytes([number + 1] * 32))
        reply = AnswerKey(asked, key.public_key().public_bytes_raw().hex(), "0" * 2 * NONCE_SIZE)
        ticket = Ticket.load(self.folder / "tickets" / "analyst-1", Role.ANALYST)
        return SealedQuestion(asked, number % 2, key, (reply, reply)).to_json(ticket, self.task.servers)

    def _patches(self, gates: Gates, streams: Streams) -> Iterator[Any]:
        tokens = Named()
        yield from (gates.run(), streams.run())
        for module in (task_types, collection):
            yield mock.patch.object(module, "secrets", tokens)
        for each in (balance, verification):
            yield mock.patch.object(each, "datetime", Stopped)
        yield mock.patch.object(report_set, "_SUITE", Sealing())
        yield mock.patch.object(owner, "Randomness", SimpleNamespace(from_key=self._owner_coins))
        talk, key_of, sessions = PairSession.run_protocol, collection.NoiseSecret.derive_noise_key, [0, 0]

        def talked(asked: PairSession, shelf: Any, _: Randomness) -> Any:
            name = asked.party, sessions[asked.party]
            sessions[asked.party] += 1
            coins = Coins(50 + 10 * name[1] + name[0], self.coins.get(name))
            self.drawn[name] = coins.drawn
            return talk(asked, shelf, coins.randomness)

        def shifted(secret: Any, name: str) -> Any:
            key = key_of(secret, name)
            return Shifted(key, self.shifts.get(secret.party))

        yield mock.patch.object(PairSession, "run_protocol", talked)
        yield mock.patch.object(collection.NoiseSecret, "derive_noise_key", shifted)

    def _owner_coins(self, secret: bytes, name: str) -> Randomness:
        reports = name.startswith("reports")
        coins = Coins(7 if reports else 8, self.owners if reports else None)
        self.drawn["owner" if reports else "name"] = coins.drawn
        return coins.randomness

    def _asked(self, party: int, what: str, work: Callable[[], bytes]) -> None:
        try:
            told: bytes | str = work()
        except ProtocolError as error:
            told = str(error)
        while self.threads:
            self.threads.pop().join()
        self.seen[party].append((what, told))

    def _post(self, party: int, path: str, message: bytes) -> bytes:
        what = path.rpartition("/")[2]
        work, most = self.services[1 - party].PEER_REQUESTS[what]
        assert len(message) <= most
        try:
            told: bytes = work(self.services[1 - party], message)
        except ProtocolError as error:
            for each in (0, 1):
                self.seen[each].append((party, what, message, str(error)))
            raise
        for each in (0, 1):
            self.seen[each].append((party, what, message, told))
        return told

    def _line(self, party: int) -> Line:
        one: Queue[bytes | None] = Queue()
        other: Queue[bytes | None] = Queue()
        cut = self.cuts.get(self.sessions)
        self.sessions += 1
        ends = Line(party, one, other, self, cut), Line(1 - party, other, one, self, cut)

        def follow() -> None:
            with suppress(ProtocolError):
                self.services[1 - party].follow_session(ends[1].receive(), ends[1])
            ends[1].close()

        self.threads.append(Thread(target=follow))
        self.threads[-1].start()
        return ends[0]


@dataclass
class Shifted:
    """SECRET key of noise, to which something is added."""

    key: Any
    shift: Callable[[Any, Any], Sequence[int]] | None

    def derive_path_noise(self, distribution: Any, at: Sequence[int]) -> list[int]:
        return self._with(self.key.derive_path_noise(distribution, at), distribution, at)

    def derive_sum_noise(self, distribution: Any) -> list[int]:
        return self._with(self.key.derive_sum_noise(distribution), distribution, None)

    def _with(self, drawn: Sequence[int], distribution: Any, at: Any) -> list[int]:
        more = [0] * len(drawn) if self.shift is None else self.shift(distribution, at)
        return [one + other for one, other in zip(drawn, more, strict=True)]


def places_in_order(rows: Any, drawn: bytes) -> Any:
    """Records in the order in which an owner sends them, from its coins."""
    in_order = rows[np.lexsort(np.atleast_2d(rows.T))]
    return in_order[np.argsort(np.frombuffer(drawn, dtype="<u8"))]


def counts_coupled(  # noqa: PLR0917
    servers: Servers, expansion: Expansion, drawn: Mapping[Any, list[bytes]], old: Any, new: Any, view: int
) -> None:
    """Change seeds' values, and the other server's noise, so that one server sees of other records what it saw."""
    encoding, (order, *seeds) = servers.task.encoding, drawn["owner"][:3]
    before, after = places_in_order(old, order), places_in_order(new, order)
    expansion.changed.clear()
    first, second = (SeedShare.sample(len(old), party, Coins(0, {0: seeds[party]})) for party in (0, 1))
    assert len(first) == len(second)
    public = encoding.SHARE(
        before.astype(np.uint64), encoding.domain, encoding.engine, Coins(0, dict(enumerate(seeds)))
    ).public.records()
    for number, cell in enumerate(after.tolist()):
        pair = tuple(each[BLOCK * number : BLOCK * (number + 1)] for each in seeds)
        Rewriting(encoding, expansion, cell, (pair[0], pair[1]), view, public[number]).rewrite()

    def exact(rows: Any, distribution: Any, at: Any) -> list[int]:
        if at is not None:
            return [int((rows < each).sum()) for each in at]
        cells = np.bincount(rows, minlength=encoding.slots + 1)[: encoding.slots].reshape(
            distribution.rows, distribution.cells
        )
        sums = [number for part in distribution.apply_strategy(cells) for number in part.ravel().tolist()]
        return sums if distribution.missing is None else [*sums, -int(cells.sum())]

    def shift(distribution: Any, at: Any) -> list[int]:
        return [
            one - other for one, other in zip(exact(old, distribution, at), exact(new, distribution, at), strict=True)
        ]

    servers.shifts = {1 - view: shift}


def pairs_coupled(servers: Servers, first: Mapping[Any, list[bytes]], old: Any, new: Any, view: int) -> None:
    """Script coins of the owner and of the other server, so that one server sees of other people what it saw."""
    encoding, task, other = servers.task.encoding, servers.task, 1 - view
    order, mask = first["owner"][:2]
    before, after = (places_in_order(rows, order) for rows in (old, new))
    values = [np.array(encoding._pack_values(list(rows.T.astype(np.uint64)))) for rows in (before, after)]
    masks = np.frombuffer(mask, np.uint8).reshape(values[0].shape)
    changed = masks ^ values[0] ^ values[1] if view else masks
    servers.owners = {1: changed.tobytes()}
    pairs = session.TaskPairs(task, len(old), SEED)
    servers.coins = {
        (other, number): _session_coins(pairs, first, number, (before, after), view)
        for party, number in [key for key in first if isinstance(key, tuple)]
        if party == other
    }


def _session_coins(
    pairs: Any, drawn: Mapping[Any, list[bytes]], number: int, rows: tuple[Any, Any], view: int
) -> Given:
    """Errors of the other server in a session. A session that was cut off before all coins had no answer."""
    task, job, other = pairs.task, pairs.build_job(b""), 1 - view
    own, viewed = drawn[other, number], drawn.get((view, number), [])
    columns = [
        [
            now.T[column].astype(np.uint64)[pairs.pairs[:, person]]
            for person in (0, 1) for column in range(now.shape[1])
        ]
        for now in rows
    ]  # fmt: skip
    if task.noise is NoisePlacement.ON_SUM:
        return _thrown_by_both(job, own, viewed, columns, other)
    return _thrown_by_one(job, (own, viewed), len(task.kernel.columns), columns, other)


GARBLES = 1 + 1 + 128 + 2
"""Draws of a garbler before coins: a nonce, an offset, an exponent for each bit of it, a nonce and a seed."""
EVALUATES = 1 + 1 + 1 + 1
"""And of an evaluator: a nonce, an exponent, a nonce, and roots of trees."""


def _thrown_by_both(job: Job, own: list[bytes], viewed: list[bytes], columns: list[Any], other: int) -> Given:
    """Coins of the ending with which the sum that is others has the same answer."""
    assert job.final_step is not None
    ending, widths = job.final_step.circuit, job.final_step.circuit.inputs[1:]
    starts = (GARBLES, EVALUATES) if other == 0 else (EVALUATES, GARBLES)
    if any(len(each) < start + len(widths) for each, start in zip((own, viewed), starts, strict=True)):
        return {}
    thrown = [_coins(each[start:], widths) for each, start in zip((own, viewed), starts, strict=True)]
    before, after = (int(evaluate_circuit(job.circuit, *each)[0].sum()) + job.total_offset for each in columns)
    wanted = answer_of(ending, [before, *(one ^ two for one, two in zip(*thrown, strict=True))])
    coins = found_coins(ending, [after, *[None] * len(widths)], wanted, seed=1)
    given = {}
    for place, (coin, known, width) in enumerate(zip(coins, thrown[1], widths, strict=True)):
        bits = np.array([(coin ^ known) >> each & 1 for each in range(width)], np.uint8)
        given[starts[0] + place] = np.packbits(bits).tobytes()
    return given


def _thrown_by_one(
    job: Job, drawn: tuple[list[bytes], list[bytes]], names: int, columns: list[Any], other: int
) -> Given:
    """Coins of the other server with which each pair has the same answer."""
    half = len(job.circuit.inputs) // 2
    widths = job.circuit.inputs[names:half]
    if any(len(each) < 1 + len(widths) for each in drawn):
        return {}
    coins = [
        [np.frombuffer(each[1 + place], "<u8") >> np.uint64(64 - width) for place, width in enumerate(widths)]
        for each in (drawn if other == 0 else drawn[::-1])
    ]
    before, after = ([*each[:names], *coins[0], *each[names:], *coins[1]] for each in columns)
    start, found_for = names if other == 0 else half + names, []
    for pair in range(len(before[0])):
        known: list[int | None] = [int(each[pair]) for each in after]
        known[start : start + len(widths)] = [None] * len(widths)
        wanted = answer_of(job.circuit, [int(each[pair]) for each in before])
        found_for.append(found_coins(job.circuit, known, wanted, seed=pair))
    return {
        1 + place: (np.array(column, np.uint64) << np.uint64(64 - width)).astype("<u8").tobytes()
        for place, (column, width) in enumerate(zip(zip(*found_for, strict=True), widths, strict=True))
    }


def _coins(drawn: Sequence[bytes], widths: Sequence[int]) -> list[int]:
    """Coins that both throw, of one instance, from what they were made of."""
    bits = [np.unpackbits(np.frombuffer(octets, np.uint8), count=width) for octets, width in zip(drawn, widths)]  # noqa: B905
    return [sum(int(bit) << place for place, bit in enumerate(each)) for each in bits]
