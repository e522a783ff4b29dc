"""Protocols of several parties, whole and in one process, with all coins scripted, and everything that a party sees.

What stands between parties (TLS, HTTP) is left out; what is sent through it is not. Sealing is a stand-in of the same
lengths without coins of its own.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256, sha384
from pathlib import Path
from queue import Queue
from tempfile import mkdtemp
from threading import Thread
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from coupling import BLOCK, ORDER, Coins, Gates, Streams, octets_of, scalar
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

import dpcurves as dp
from dpcurves.arguments import ProtocolAborted
from dpcurves.ledger import Ledger, balance, verification
from dpcurves.noise import Randomness
from dpcurves_parties.crypto import engine as engines
from dpcurves_parties.crypto.circuits import evaluated
from dpcurves_parties.crypto.two_party import Job
from dpcurves_parties.pairs import Trust, device, letters, session
from dpcurves_parties.pairs.attendance import Attendance, Post
from dpcurves_parties.pairs.mechanisms import Noise
from dpcurves_parties.pairs.queries import WithoutRepetition, commitment
from dpcurves_parties.pairs.relay import Relay, RelayStore
from dpcurves_parties.pairs.release import noise_of
from dpcurves_parties.pairs.session import PairSession
from dpcurves_parties.pairs.task import PairTask
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, found
from dpcurves_parties.serving.two_servers import collection, kinds, owner, report_set
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.kinds import Asked
from dpcurves_parties.serving.two_servers.owner import Contribution

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
    """All rows of an SQLite database, table by table, and its size."""
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
    places = np.flatnonzero(evaluated(circuit, *values)[0] == wanted)
    assert len(places), "no coins have the wanted answer"
    return [int(each[places[0]]) for each, value in zip(values, given, strict=True) if value is None]


def answer_of(circuit: Any, values: Sequence[int]) -> int:
    return int(evaluated(circuit, *([value] for value in values))[0][0])


def octets_below(value: int, width: int) -> bytes:
    """What `Randomness.below` draws for a value of so many bits."""
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
        self.identity = Identity.found(self.folder / "server", "https://127.0.0.1:1")
        each = min(2, self.people - 1)
        draft = PairTask(
            "village", "kendall", (("rooms", self.bits), ("cleanliness", self.bits)), WithoutRepetition(each),
            dp.PrivacyLoss.pure(self.epsilon), Trust.PEOPLE, Noise.EACH, commitment(SEED), (self.identity.public,), {},
        )  # fmt: skip
        numbers = {Role.OWNER: self.people, Role.ANALYST: 1, Role.COORDINATOR: 1}
        self.task = found(draft, numbers, self.folder / "task.json", self.folder / "tickets")
        self.agreement = self.task.shown(SEED)
        Ledger.open(f"sqlite:///{self.folder / 'relay.db'}")
        RelayStore(f"sqlite:///{self.folder / 'relay.db'}")
        self.secrets = [Randomness.from_seed(100 + person).octets(32) for person in range(self.people)]

    def keyed(self, secret: bytes, name: str) -> Randomness:
        """Scripted coins of a person for a meeting."""
        person, (purpose, _, meeting) = self.secrets.index(secret), name.rpartition(" ")
        (number,) = [each.number for each in self.agreement.meetings if each.name.hex() == meeting]
        key = person, purpose, number
        coins = Coins(1000 * person + 10 * number + len(purpose), self.given.get(key))
        self.drawn[key] = coins.drawn
        return coins.randomness

    def run(
        self, values: Sequence[Sequence[Any]], gates: Gates, given: Mapping[Thrown, Given] | None = None, rounds: int = 4
    ) -> dict[str, Any]:
        """All come, round by round: what the server saw and kept, each device, and what an analyst is told."""
        self.given, self.drawn = given or {}, {}
        work = Path(mkdtemp(dir=self.folder))  # a new one: databases are kept open by their names
        shutil.copy(self.folder / "relay.db", work)
        self.events = []
        relay = Relay(self.task, self.identity.sealing, RelayStore(f"sqlite:///{work / 'relay.db'}"))
        heard: list[list[str]] = [[] for _ in values]
        with ExitStack() as stack:
            stack.enter_context(gates.run())
            stack.enter_context(mock.patch.object(letters, "SUITE", Sealing()))
            stack.enter_context(mock.patch.object(device, "Randomness", SimpleNamespace(keyed=self.keyed)))
            come = [
                Attendance.of(
                    Post(self.task, self._ticket(f"owner-{person + 1}"), self._channel(relay, person)),  # type: ignore[arg-type]
                    Randomness.from_seed(100 + person), work / f"device{person}", heard[person].append,
                )
                for person in range(len(values))
            ]  # fmt: skip
            relay.close(SHOWN)
            for _ in range(rounds):
                for attendance, value in zip(come, values, strict=True):
                    self.events.append(("attended", attendance.number, *attendance.attend(value)))
            with suppress(ProtocolAborted):
                self.events.append(("answer", relay.answer(b"")))
        return {
            "server": (self.events, rows_of(work / "relay.db"), (work / "relay.db").stat().st_size),
            "devices": [rows_of(work / f"device{person}") for person in range(len(values))],
            "told": heard, "drawn": self.drawn,
        }  # fmt: skip

    def _ticket(self, name: str) -> Ticket:
        return Ticket.read(self.folder / "tickets" / name, Role.OWNER)

    def _channel(self, relay: Relay, person: int) -> Any:
        work = {"enter": Relay.register, "keys": Relay.bundle, "leave": Relay.leave, "letter": Relay.letter}

        def post(path: str, message: bytes, token: str) -> bytes:
            what = path.rpartition("/")[2]
            if what == "leave" and self.tampers(person, message[16]):
                message = message[:200] + bytes([message[200] ^ 1]) + message[201:]
            told = work[what](relay, person, message)
            self.events.append((person, what, message, told))
            return told

        return SimpleNamespace(post=post, get=lambda path: relay.standing(), close=lambda: None)

    def coupled(
        self, person: int, old: Sequence[Sequence[int]], new: Sequence[Sequence[int]], drawn: Mapping[Thrown, list[bytes]]
    ) -> dict[Thrown, Given]:
        """Coins of somebody whose values are others now, for the answers and the messages of a run that drew others."""
        given: dict[Thrown, Given] = {}
        for meeting in self.agreement.meetings_of(person):
            job, place = self.agreement.job(meeting), meeting.people.index(person)
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
                bits = [_bits(values, widths) for values in (before[1], [*new[person], *coins])]
                given[person, "coins of", meeting.number] = moved(own, first, *bits)
        return given


def moved(drawn: Sequence[bytes], first: bytes, old: Sequence[int], new: Sequence[int], start: int = 0) -> Given:
    """Exponents with which a receiver's points are the same for other choices: each but for a multiple of the sender's."""
    return {
        start + number: octets_of(scalar(drawn[start + number]) + (one - other) * scalar(first))
        for number, (one, other) in enumerate(zip(old, new, strict=True))
        if one != other
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
