"""The relay server of one task in which people compute kernels in pairs: it stores their encrypted messages, and
decrypts the noisy sum with its SECRET key."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
import sqlalchemy as sql
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import Column, Connection, MetaData, Table, func, insert, select

from dpcurves.conversation import ALL
from dpcurves.ledger import QuestionBudget
from dpcurves.ledger.chain import acquire_lock

from ..serving.database import (
    ServerDatabase,
    bytes_columns,
    integer_key_columns,
    read_transaction,
    text_key_columns,
    write_transaction,
)
from ..serving.messages import ProtocolError, parse_object
from ..serving.two_servers.kinds import TaskStillOpen
from .device import BUNDLE_SIZE, OVERHEAD, SHARE, KeyBundle, OutputAggregator
from .mechanisms import build_noisy_circuit
from .promise import Agreement, Meeting, decode_answers
from .release import release_answers
from .task import PairTask


# The seed that pairs of people are drawn from, once the coordinator has shown it: from then on nobody enters.
def define_seed_table(metadata: MetaData) -> Table:
    """The table of seeds, among other tables."""
    return Table("dpcurves_pair_seeds", metadata, *text_key_columns("task"), *bytes_columns("seed"))


SEEDS = define_seed_table(MetaData())


def load_seed(connection: Connection, task: str) -> bytes | None:
    """The seed of a task; None: it was not shown yet."""
    found: bytes | None = connection.execute(select(SEEDS.c.seed).where(SEEDS.c.task == task)).scalar()
    return found


def store_seed(connection: Connection, task: str, seed: bytes) -> None:
    """Keep the seed of a task that is closed; it is the promised one, so there is no other."""
    acquire_lock(connection, task)
    if load_seed(connection, task) is None:
        connection.execute(insert(SEEDS), {"task": task, "seed": seed})


METADATA = sql.MetaData()
define_seed_table(METADATA)
BUNDLES = Table(
    "dpcurves_pair_key_bundles",
    METADATA,
    *text_key_columns("task"),
    *integer_key_columns("person"),
    *bytes_columns("bundle"),
)
LETTERS = Table(
    "dpcurves_pair_letters", METADATA, *text_key_columns("task"), *integer_key_columns("meeting", "writer"),
    Column("step", sql.Integer, primary_key=True, autoincrement=False), *bytes_columns("letter"),
)  # fmt: skip
Slot = tuple[int, int, int]
"""A meeting, who writes, and which of its letters it is."""


class RelayStore:
    """Key bundles and letters of all tasks, in the database at a URL: what was acknowledged is on its disk."""

    def __init__(self, url: str) -> None:
        self._database = ServerDatabase(url, "relay", METADATA)

    def load_seed(self, task: str) -> bytes | None:
        """The seed of pairs; None: it was not shown yet."""
        return self._database.read_snapshot(lambda connection: load_seed(connection, task))

    def store_seed(self, task: str, seed: bytes) -> None:
        """Keep the seed. From now on there are no new key bundles."""
        self._database.write(lambda connection: store_seed(connection, task, seed))

    def load_bundle(self, task: str, person: int) -> bytes | None:
        """The key bundle of a person; None: there is none."""
        return self._database.read_snapshot(lambda connection: _fetch_value(connection, _select_bundle(task, person)))

    @write_transaction
    def register_bundle(self, connection: Connection, task: str, person: int, bundle: bytes) -> None:
        """Keep the one key bundle of a person.

        Raises:
            ProtocolAborted: there is another one, or the seed was shown.
        """
        acquire_lock(connection, task)  # and nobody shows the seed
        kept = _fetch_value(connection, _select_bundle(task, person))
        if kept == bundle:
            return
        if kept is not None:
            raise ProtocolError("keys", "another device has entered with this ticket, which is good for one", 409)
        if load_seed(connection, task) is not None:
            raise ProtocolError("task", "it is closed: pairs are drawn, and nobody else enters", 409)
        connection.execute(insert(BUNDLES), {"task": task, "person": person, "bundle": bundle})

    @write_transaction
    def store_message(self, connection: Connection, task: str, slot: Slot, message: bytes) -> None:
        """Keep a letter; the second one of its place is forgotten."""
        meeting, writer, step = slot
        acquire_lock(connection, f"letter {task} {meeting} {writer} {step}")
        if connection.execute(_select_message(task, slot)).first() is None:
            kept = {"task": task, "meeting": meeting, "writer": writer, "step": step, "letter": message}
            connection.execute(insert(LETTERS), kept)

    def load_message(self, task: str, slot: Slot) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        return self._database.read_snapshot(lambda connection: _fetch_value(connection, _select_message(task, slot)))

    @read_transaction
    def load_step(self, connection: Connection, task: str, step: int) -> dict[tuple[int, int], bytes]:
        """Letters of a step, by meeting and writer."""
        columns = LETTERS.c.meeting, LETTERS.c.writer, LETTERS.c.letter
        rows = connection.execute(select(*columns).where(LETTERS.c.task == task, LETTERS.c.step == step))
        return {(row.meeting, row.writer): row.letter for row in rows}

    def count_bundles(self, task: str) -> int:
        """Number of people who have a key bundle."""
        found = select(func.count()).select_from(BUNDLES).where(BUNDLES.c.task == task)
        return self._database.read_snapshot(lambda connection: int(connection.execute(found).scalar_one()))


def _fetch_value(connection: Connection, wanted: sql.Select[Any]) -> bytes | None:
    row = connection.execute(wanted).first()
    found: bytes | None = None if row is None else row[0]
    return found


def _select_bundle(task: str, person: int) -> sql.Select[Any]:
    return select(BUNDLES.c.bundle).where(BUNDLES.c.task == task, BUNDLES.c.person == person)


def _select_message(task: str, slot: Slot) -> sql.Select[Any]:
    meeting, writer, step = slot
    where = LETTERS.c.task == task, LETTERS.c.meeting == meeting, LETTERS.c.writer == writer, LETTERS.c.step == step
    return select(LETTERS.c.letter).where(*where)


NUMBERS = 3 * 8
STEPS = 2
"""Most letters that a person writes to the other."""
LARGEST_QUESTION = 2**12
OPEN, CLOSED = "open", "closed"


@dataclass(repr=False, eq=False)
class Relay:
    """SECRET: the one server of people in pairs. It has no repr.

    Formal guarantees: what people say to each other it can not open, and of their outputs it opens noisy answers, of
    pairs that the promised seed has drawn and of no others; see `Promise` and `Person` for what these lose. A key
    bundle is kept once for a ticket, and none after the seed was shown; a letter is kept once for its place. Letters
    are bounded in size and number by the task alone.

    Attributes:
        task: The task.
        hpke_key: Opens what is sealed to the aggregator.
        store: Storage of key bundles and letters.
    """

    task: PairTask
    hpke_key: X25519PrivateKey
    store: RelayStore
    _lock: Lock = field(default_factory=Lock, init=False)
    _answers: dict[int, int | None] = field(default_factory=dict, init=False)
    _agreement: Agreement | None = field(default=None, init=False)

    @property
    def party(self) -> int:
        """The number of this server among those of the task."""
        return 0

    def describe_status(self) -> bytes:
        """State of the task as JSON: public."""
        seed = self.store.load_seed(self.task.hash)
        facts = {"task": self.task.hash, "version": self.task.VERSION, "state": OPEN if seed is None else CLOSED}
        return json.dumps(
            {**facts, "entered": self.store.count_bundles(self.task.hash), "seed": (seed or b"").hex()}
        ).encode()

    def close(self, message: bytes) -> bytes:
        """Show the seed: pairs are drawn, nobody else enters, and letters are carried.

        Raises:
            ProtocolAborted: it is not the one that was promised.
        """
        told = parse_object(message, "seed").get("seed")
        try:
            seed = bytes.fromhex(told if isinstance(told, str) else "")
            self.task.build_agreement(seed)
        except ValueError:
            raise ProtocolError("seed", "it is not the one that was promised") from None
        self.store.store_seed(self.task.hash, seed)
        return self.describe_status()

    def register_bundle(self, person: int, message: bytes) -> bytes:
        """Keep the key bundle of a person.

        Raises:
            ProtocolAborted: it is none of this person and task; or there is another one, or the seed was shown.
        """
        bundle = KeyBundle.from_bytes(message, self.terms_hash, person)
        self.store.register_bundle(self.task.hash, person, bundle.as_bytes)
        return b""

    def fetch_bundle(self, person: int, message: bytes) -> bytes:
        """The key bundle of somebody else; nothing, if that person has not entered."""
        if len(message) != 8:
            raise ProtocolError("keys", "a number is needed")
        return self.store.load_bundle(self.task.hash, int.from_bytes(message, "little")) or b""

    def accept_message(self, person: int, message: bytes) -> bytes:
        """Keep a letter. Raises `ProtocolError`: its place is not this person's to write at, or it is too long."""
        _, slot = self._parse_address(message[:NUMBERS])
        if slot[1] != person:
            raise ProtocolError("letter", "its place is another person's", 403)
        share = -(-self.task.terms.response.width // 8)
        largest = OVERHEAD + (share if slot[2] == SHARE else self.largest_message)
        if not OVERHEAD < len(message) - NUMBERS <= largest:
            raise ProtocolError("letter", f"it has at most {largest} bytes", 413)
        if self.store.load_bundle(self.task.hash, person) is None:
            raise ProtocolError("keys", "enter before letters are left", 409)
        self.store.store_message(self.task.hash, slot, message[NUMBERS:])
        return b""

    def deliver_message(self, person: int, message: bytes) -> bytes:
        """The letter of a place, for whom it is written to; nothing, if there is none yet.

        Raises:
            ProtocolAborted: it is written to somebody else.
        """
        meeting, slot = self._parse_address(message)
        if slot[2] == SHARE or meeting.find_partner(slot[1]) != person:
            raise ProtocolError("letter", "it is written to somebody else", 403)
        return self.store.load_message(self.task.hash, slot) or b""

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Response to an analyst: sums over the answers of pairs so far, and the set of these pairs.

        Raises:
            ProtocolAborted: the seed was not shown yet, or no pair has come.
        """
        agreed = self.agreement
        found = self._open_answers(agreed)
        came = [number for number in range(len(agreed.meetings)) if found.get(number) is not None]
        if not came:
            raise ProtocolError("pairs", "none has come yet: ask again later", 409)
        plan = self.task.plan(self.task.people)
        allotment = QuestionBudget.from_external_charge(self.task.hash, self.task.loss.as_single_release()).pay(
            plan.query, ALL
        )
        pairs = np.array([agreed.meetings[number].people for number in came], dtype=np.int64)
        answers = np.array([found[number] for number in came], dtype=np.int64)
        release = release_answers(plan, pairs, answers, allotment, seeded=False)
        bits = np.zeros(len(agreed.meetings), dtype=np.bool_)
        bits[came] = True
        told = {"values": list(release.values), "came": np.packbits(bits, bitorder="little").tobytes().hex()}
        return json.dumps({"task": self.task.hash, "seed": agreed.seed.hex(), **told}).encode()

    @property
    def terms_hash(self) -> bytes:
        """The hash of all that people agree on."""
        return self.task.terms.task_hash

    @property
    def agreement(self) -> Agreement:
        """Agreement of the pairs drawn. Raises `ProtocolError`: the seed was not shown yet."""
        if self._agreement is None:
            seed = self.store.load_seed(self.task.hash)
            if seed is None:
                raise TaskStillOpen
            self._agreement = self.task.build_agreement(seed)
        return self._agreement

    @cached_property
    def largest_message(self) -> int:
        """Bytes that a message between two people may have: tables and transfers, with room for what frames them."""
        circuit = build_noisy_circuit(self.task.kernel, self.task.terms.response)
        return 1024 + 32 * circuit.and_count + 64 * sum(circuit.inputs)

    def _parse_address(self, message: bytes) -> tuple[Meeting, Slot]:
        if len(message) != NUMBERS:
            raise ProtocolError("letter", "a place and what is in it are needed")
        number, writer, step = (int.from_bytes(message[start : start + 8], "little") for start in (0, 8, 16))
        meetings = self.agreement.meetings
        if number >= len(meetings) or writer not in meetings[number].people or step not in (*range(STEPS), SHARE):
            raise ProtocolError("letter", "there is no such place")
        return meetings[number], (number, writer, step)

    def _open_answers(self, agreed: Agreement) -> Mapping[int, int | None]:
        """Answers of pairs whose both shares are here; None: a share is invalid. Once opened, they stay."""
        with self._lock:
            shares = self.store.load_step(self.task.hash, SHARE)
            for meeting in agreed.meetings:
                both = all((meeting.number, person) in shares for person in meeting.people)
                if both and meeting.number not in self._answers:
                    self._answers[meeting.number] = self._open_answer(meeting, shares)
            return dict(self._answers)

    def _open_answer(self, meeting: Meeting, shares: Mapping[tuple[int, int], bytes]) -> int | None:
        response = self.task.terms.response
        collector = OutputAggregator(
            self.hpke_key, lambda place: shares[meeting.number, place.sender], self._load_bundle
        )
        bits = collector.open_output(meeting, response.width)
        if bits is None:
            return None
        answer = int(decode_answers(response, [bit[None] for bit in bits])[0])
        return answer if answer in response.answers else None

    def _load_bundle(self, person: int) -> KeyBundle:
        return KeyBundle.from_bytes(self.store.load_bundle(self.task.hash, person) or b"", self.terms_hash, person)


OF_PERSON: Mapping[str, tuple[Callable[[Relay, int, bytes], bytes], Callable[[Relay], int]]] = MappingProxyType({
    "enter": (Relay.register_bundle, lambda relay: BUNDLE_SIZE),
    "keys": (Relay.fetch_bundle, lambda relay: 8),
    "leave": (Relay.accept_message, lambda relay: NUMBERS + OVERHEAD + relay.largest_message),
    "letter": (Relay.deliver_message, lambda relay: NUMBERS),
})  # fmt: skip
"""Requests that a person may make, with the most bytes of each request's body."""
