"""Message relay server for secure two-party computation between people's devices, who need not be online together.

People are paired at random. The two devices of a pair evaluate a function of both values, with noise, in a garbled
circuit; their session is called a meeting. The relay stores their encrypted messages until they are fetched. Each
device ends with an XOR share of the pair's noisy answer, encrypted to the relay, which adds up the answers. A task goes
through three states:

    open      each person registers a key bundle, that is the device's signed public keys, once per ticket
    closed    the coordinator reveals the seed that draws the pairs; the relay stores and delivers their messages
    answer    the relay opens the answers of the pairs that have finished, and releases sums of these and the seed

Formal guarantees: the relay cannot decrypt what two people send each other, and opens noisy answers only. The task
commits to the seed before people enter, so the relay cannot choose the pairs. Its key, which decrypts output shares, is
SECRET.
"""

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

from dpcurves.conversation import WHOLE_BUDGET
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
from ..serving.two_servers.task_types import TaskStillOpen
from .device import BUNDLE_SIZE, OVERHEAD, SHARE_STEP, KeyBundle, OutputAggregator
from .mechanisms import build_noisy_circuit
from .pair_terms import Agreement, Meeting, decode_answers
from .release import release_answers
from .task import PairTask


# The seed of the pairs, once the coordinator has revealed it. Afterwards no person can enter.
def define_seed_table(metadata: MetaData) -> Table:
    """Define the table of opened seeds, one row per task, in a database schema, and return it.

    Args:
        metadata: Schema to which the table is added.
    """
    return Table("dpcurves_pair_seeds", metadata, *text_key_columns("task"), *bytes_columns("seed"))


SEEDS = define_seed_table(MetaData())
"""Table of revealed seeds of pairs, by task, to build statements with: relay and servers have the same one in their own
schemas."""


def load_seed(connection: Connection, task: str) -> bytes | None:
    """Return the seed of a task; None until it is revealed.

    Args:
        connection: Connection in a transaction.
        task: Hash of the task.

    Returns:
        The seed; None also for an unknown task.
    """
    seed: bytes | None = connection.execute(select(SEEDS.c.seed).where(SEEDS.c.task == task)).scalar()
    return seed


def store_seed(connection: Connection, task: str, seed: bytes) -> None:
    """Store the seed of a closed task. The commitment leaves only one possible seed.

    Args:
        connection: Open transaction of the server's database.
        task: Hash of the task.
        seed: The seed, which was checked against its commitment.
    """
    acquire_lock(connection, task)
    if load_seed(connection, task) is None:
        connection.execute(insert(SEEDS), {"task": task, "seed": seed})


METADATA = sql.MetaData()
"""Schema of the relay's database: revealed seeds, key bundles and messages."""
define_seed_table(METADATA)
KEY_BUNDLE_TABLE = Table(
    "dpcurves_pair_key_bundles",
    METADATA,
    *text_key_columns("task"),
    *integer_key_columns("person"),
    *bytes_columns("bundle"),
)
"""One row is the public keys that a person has registered in a task."""
LETTER_TABLE = Table(
    "dpcurves_pair_letters", METADATA, *text_key_columns("task"), *integer_key_columns("meeting", "writer"),
    Column("step", sql.Integer, primary_key=True, autoincrement=False), *bytes_columns("letter"),
)  # fmt: skip
"""One row is an encrypted message between two people, or to the aggregator, by task, meeting, sender (writer) and
step."""
Slot = tuple[int, int, int]
"""Address of a message: number of the meeting, number of the sender, and step (the position of the message in the
protocol; `SHARE_STEP` is the output share for the relay).
"""


class RelayStore:
    """Key bundles and encrypted messages of all tasks, in a database. A method that returns has written durably.

    Args:
        url: SQLAlchemy URL of the database.
    """

    def __init__(self, url: str) -> None:
        self._database = ServerDatabase(url, "relay", METADATA)

    def load_seed(self, task: str) -> bytes | None:
        """Return the seed of the pairs; None until it is revealed.

        Args:
            task: Hash of the task.
        """
        return self._database.read_snapshot(lambda connection: load_seed(connection, task))

    def store_seed(self, task: str, seed: bytes) -> None:
        """Store the seed that the coordinator has revealed for a task, once; key bundles that arrive
        later are refused.
        """
        self._database.write(lambda connection: store_seed(connection, task, seed))

    def load_bundle(self, task: str, person: int) -> bytes | None:
        """Return the key bundle of a person; None if the person has not entered.

        Args:
            task: Hash of the task.
            person: Number of the person.

        Returns:
            Signed public keys as bytes.
        """
        return self._database.read_snapshot(lambda connection: _fetch_value(connection, _select_bundle(task, person)))

    @write_transaction
    def register_bundle(self, connection: Connection, task: str, person: int, bundle: bytes) -> None:
        """Store the key bundle of a person; each person has one.

        Args:
            connection: Open transaction of the server's database.
            task: Hash of the task.
            person: Number of the person.
            bundle: Signed public keys of the person.

        Raises:
            ProtocolError: another bundle is stored, or the seed is revealed.
        """
        acquire_lock(connection, task)  # excludes `store_seed`, which takes the same lock
        stored = _fetch_value(connection, _select_bundle(task, person))
        if stored == bundle:
            return
        if stored is not None:
            raise ProtocolError(
                "keys",
                "another device has entered with this ticket; a ticket is good for one device, so use that one",
                409,
            )
        if load_seed(connection, task) is not None:
            raise ProtocolError(
                "task", "is closed, and its pairs are drawn, so nobody can join; wait for the next task", 409
            )
        connection.execute(insert(KEY_BUNDLE_TABLE), {"task": task, "person": person, "bundle": bundle})

    @write_transaction
    def store_message(self, connection: Connection, task: str, slot: Slot, message: bytes) -> None:
        """Store the encrypted message of a slot; a second message for the same slot is ignored.

        Args:
            connection: Open transaction of the server's database.
            task: Hash of the task.
            slot: Numbers of meeting and sender, and step.
            message: The encrypted message.
        """
        meeting, writer, step = slot
        acquire_lock(connection, f"letter {task} {meeting} {writer} {step}")
        if connection.execute(_select_message(task, slot)).first() is None:
            row = {"task": task, "meeting": meeting, "writer": writer, "step": step, "letter": message}
            connection.execute(insert(LETTER_TABLE), row)

    def load_message(self, task: str, slot: Slot) -> bytes | None:
        """Return the encrypted message of a slot (meeting, sender, step) of a task; None if it has not come yet."""
        return self._database.read_snapshot(lambda connection: _fetch_value(connection, _select_message(task, slot)))

    @read_transaction
    def load_step(self, connection: Connection, task: str, step: int) -> dict[tuple[int, int], bytes]:
        """Return all encrypted messages of a step, by numbers of meeting and sender; empty if none has come.

        Args:
            connection: Open transaction of the server's database.
            task: Hash of the task.
            step: Number of the step.
        """
        columns = LETTER_TABLE.c.meeting, LETTER_TABLE.c.writer, LETTER_TABLE.c.letter
        rows = connection.execute(select(*columns).where(LETTER_TABLE.c.task == task, LETTER_TABLE.c.step == step))
        return {(row.meeting, row.writer): row.letter for row in rows}

    def count_bundles(self, task: str) -> int:
        """Return the number of people who have registered a key bundle in a task, given by its hash."""
        statement = select(func.count()).select_from(KEY_BUNDLE_TABLE).where(KEY_BUNDLE_TABLE.c.task == task)
        return self._database.read_snapshot(lambda connection: int(connection.execute(statement).scalar_one()))


def _fetch_value(connection: Connection, statement: sql.Select[Any]) -> bytes | None:
    """Return the first column of the first row that a statement selects; None without rows.

    Args:
        connection: Connection in a transaction.
        statement: Query whose first column holds bytes.
    """
    row = connection.execute(statement).first()
    value: bytes | None = None if row is None else row[0]
    return value


def _select_bundle(task: str, person: int) -> sql.Select[Any]:
    """Return the statement that selects the key bundle of a person in a task.

    Args:
        task: Hash of the task.
        person: Number of the person.
    """
    return select(KEY_BUNDLE_TABLE.c.bundle).where(KEY_BUNDLE_TABLE.c.task == task, KEY_BUNDLE_TABLE.c.person == person)


def _select_message(task: str, slot: Slot) -> sql.Select[Any]:
    """Return the statement that selects the encrypted message at an address in a task.

    Args:
        task: Hash of the task.
        slot: Numbers of the meeting, the writer and the step.
    """
    meeting, writer, step = slot
    where = (
        LETTER_TABLE.c.task == task,
        LETTER_TABLE.c.meeting == meeting,
        LETTER_TABLE.c.writer == writer,
        LETTER_TABLE.c.step == step,
    )
    return select(LETTER_TABLE.c.letter).where(*where)


ADDRESS_SIZE = 3 * 8
"""Bytes of a message's address before its body: meeting, sender and step, 8 each, little-endian; other lengths are
refused."""
LARGEST_QUESTION = 2**12
"""Bytes of an analyst's question or of a server's short message at most, a JSON object with room for later fields; a
longer one is refused with status 413."""
OPEN_STATE = "open"
"""Value of the field state of a task's public status before the seed is revealed: people can still register."""
CLOSED_STATE = "closed"
"""Value of the field state of a task's public status once the seed is revealed: pairs are drawn, and nobody can
register."""


@dataclass(repr=False, eq=False)
class Relay:
    """SECRET: the relay server of people in pairs, who is also their aggregator. It has no repr.

    Formal guarantees: the relay cannot decrypt the messages of two people to each other. It opens the noisy answers of
    the pairs that were drawn from the committed seed, and no others. Noise is added before an answer is opened, so the
    privacy loss of a person is that of `PairTerms`. The relay stores one key bundle per ticket, none after the seed is
    revealed, and one message per address. The task alone bounds the size and the number of messages.

    Attributes:
        task: The task.
        hpke_key: Decrypts messages to the aggregator.
        store: Storage of key bundles and messages.
    """

    task: PairTask
    hpke_key: X25519PrivateKey
    store: RelayStore
    _lock: Lock = field(default_factory=Lock, init=False)
    _answers: dict[int, int | None] = field(default_factory=dict, init=False)
    _agreement: Agreement | None = field(default=None, init=False)

    @property
    def party(self) -> int:
        """Number of this server in the task, which has a single server: 0."""
        return 0

    def describe_status(self) -> bytes:
        """Return the public state of the task as JSON: how many people have entered, and the seed once it is revealed.

        Its fields are ``task`` (hash), ``version``, ``state`` (open or closed), ``entered`` (number of people) and
        ``seed`` (hexadecimal; empty until it is revealed).
        """
        seed = self.store.load_seed(self.task.hash)
        facts = {
            "task": self.task.hash,
            "version": self.task.VERSION,
            "state": OPEN_STATE if seed is None else CLOSED_STATE,
        }
        return json.dumps(
            {**facts, "entered": self.store.count_bundles(self.task.hash), "seed": (seed or b"").hex()}
        ).encode()

    def close(self, message: bytes) -> bytes:
        """Reveal the seed: the pairs follow from it, no person can enter any more, and messages are passed on.

        A repeated call changes nothing.

        Args:
            message: JSON object with the field ``seed``, hexadecimal.

        Returns:
            The state of the task, as `describe_status` returns it.

        Raises:
            ProtocolError: the seed does not match the task's commitment.
        """
        digits = parse_object(message, "seed").get("seed")
        try:
            seed = bytes.fromhex(digits if isinstance(digits, str) else "")
            self.task.build_agreement(seed)
        except ValueError:
            raise ProtocolError(
                "seed", "must match the published commitment; close with the coordinator's ticket of this task"
            ) from None
        self.store.store_seed(self.task.hash, seed)
        return self.describe_status()

    def register_bundle(self, person: int, message: bytes) -> bytes:
        """Store the key bundle of a person, and return an empty reply. A repeated bundle changes nothing.

        Args:
            person: Number of the person, from the ticket.
            message: The encoded key bundle.

        Raises:
            ProtocolError: the bundle is not of this person and task, another bundle is stored, or the seed is
                revealed.
        """
        bundle = KeyBundle.from_bytes(message, self.terms_hash, person)
        self.store.register_bundle(self.task.hash, person, bundle.as_bytes)
        return b""

    def fetch_bundle(self, person: int, message: bytes) -> bytes:
        """Return the key bundle of another person; empty bytes if that person has not entered.

        Args:
            person: Number of the person who asks. It has no influence: key bundles are public.
            message: Number of the other person, 8 bytes, little-endian.

        Raises:
            ProtocolError: the message does not have 8 bytes.
        """
        if len(message) != 8:
            raise ProtocolError(
                "keys",
                "must be requested by a person's number in 8 bytes; use the version of dpcurves that the server uses",
            )
        return self.store.load_bundle(self.task.hash, int.from_bytes(message, "little")) or b""

    def accept_message(self, person: int, message: bytes) -> bytes:
        """Store a message for its recipient, and return an empty reply. A second one for the address is ignored.

        Args:
            person: Number of the person who sends, from the ticket.
            message: Address of 24 bytes (meeting, sender, step, little-endian), then the encrypted body.

        Raises:
            ProtocolError: the sender in the address is another person, no agreed meeting has the address, the body is
                empty or too long, the person has not registered a key bundle, or the seed is not revealed.
        """
        _, slot = self._parse_address(message[:ADDRESS_SIZE])
        if slot[1] != person:
            raise ProtocolError("message", "must have your number as sender; use your own ticket", 403)
        share = -(-self.task.terms.response.width // 8)
        largest = OVERHEAD + (share if slot[2] == SHARE_STEP else self.largest_message)
        if not OVERHEAD < len(message) - ADDRESS_SIZE <= largest:
            raise ProtocolError(
                "message",
                f"must have {OVERHEAD + 1} to {largest} bytes; use the version of dpcurves that the server uses",
                413,
            )
        if self.store.load_bundle(self.task.hash, person) is None:
            raise ProtocolError("keys", "must be published before messages are sent: enter the task first", 409)
        self.store.store_message(self.task.hash, slot, message[ADDRESS_SIZE:])
        return b""

    def deliver_message(self, person: int, message: bytes) -> bytes:
        """Return the encrypted message of an address to its recipient; empty bytes if it has not come yet.

        Args:
            person: Number of the person who fetches, from the ticket.
            message: Address of 24 bytes: meeting, sender and step, little-endian.

        Raises:
            ProtocolError: the message has another recipient, or is an output share for the relay; no agreed meeting
                has the address; or the seed is not revealed.
        """
        meeting, slot = self._parse_address(message)
        if slot[2] == SHARE_STEP or meeting.find_partner(slot[1]) != person:
            raise ProtocolError("message", "is addressed to another person; fetch messages with your own ticket", 403)
        return self.store.load_message(self.task.hash, slot) or b""

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Return an analyst's answer: sums over the noisy answers of the pairs that have finished by now.

        Args:
            message: The analyst's question. It has no parameters and is ignored.
            analyst: Number of the analyst. It has no influence.

        Returns:
            JSON object with ``task`` (hash), ``seed`` (hexadecimal), ``values`` (the released integers: sum of the
            answers, of their squares, and of products of overlapping pairs) and ``came`` (one bit for each pair, in
            order, set if it has finished; hexadecimal, with the first pair in the lowest bit of the first byte).

        Raises:
            ProtocolError: the seed is not revealed yet, or no pair has answered.
        """
        agreement = self.agreement
        pair_answers = self._open_answers(agreement)
        answered = [number for number in range(len(agreement.meetings)) if pair_answers.get(number) is not None]
        if not answered:
            raise ProtocolError("pairs", "no pair has answered yet; ask again later", 409)
        plan = self.task.plan(self.task.people)
        allotment = QuestionBudget.from_external_charge(self.task.hash, self.task.loss.as_single_release()).pay(
            plan.query, WHOLE_BUDGET
        )
        pairs = np.array([agreement.meetings[number].people for number in answered], dtype=np.int64)
        answers = np.array([pair_answers[number] for number in answered], dtype=np.int64)
        release = release_answers(plan, pairs, answers, allotment, seeded=False)
        bits = np.zeros(len(agreement.meetings), dtype=np.bool_)
        bits[answered] = True
        fields = {"values": list(release.values), "came": np.packbits(bits, bitorder="little").tobytes().hex()}
        return json.dumps({"task": self.task.hash, "seed": agreement.seed.hex(), **fields}).encode()

    @property
    def terms_hash(self) -> bytes:
        """SHA-256 of the task's terms, to which people's bundles and messages are bound."""
        return self.task.terms.task_hash

    @property
    def agreement(self) -> Agreement:
        """Agreement of all participants: terms, revealed seed and drawn pairs.

        Raises:
            TaskStillOpen: the seed of the pairs has not been revealed.
        """
        if self._agreement is None:
            seed = self.store.load_seed(self.task.hash)
            if seed is None:
                raise TaskStillOpen
            self._agreement = self.task.build_agreement(seed)
        return self._agreement

    @cached_property
    def largest_message(self) -> int:
        """Largest message between two people, in bytes: garbled tables, transfers, and room for framing."""
        circuit = build_noisy_circuit(self.task.kernel, self.task.terms.response)
        return 1024 + 32 * circuit.and_count + 64 * sum(circuit.inputs)

    def _parse_address(self, message: bytes) -> tuple[Meeting, Slot]:
        """Return the meeting, and the place of the message in it, that an address of 24 bytes names.

        Args:
            message: Message that begins with its address: three numbers of 8 bytes, little-endian.

        Returns:
            The meeting, and the triple of meeting number, sender and step.

        Raises:
            ProtocolError: the address is too short, the seed is not revealed, or no agreed meeting has it.
        """
        if len(message) != ADDRESS_SIZE:
            raise ProtocolError(
                "message", "must begin with an address of 24 bytes; use the version of dpcurves that the server uses"
            )
        number, writer, step = (int.from_bytes(message[start : start + 8], "little") for start in (0, 8, 16))
        meetings = self.agreement.meetings
        # 2: messages of one person to the other in a meeting at most: the garbler sends two, the evaluator one
        if number >= len(meetings) or writer not in meetings[number].people or step not in (*range(2), SHARE_STEP):
            raise ProtocolError(
                "message",
                "must be of an agreed meeting, step and sender; use the version of dpcurves that the server uses",
            )
        return meetings[number], (number, writer, step)

    def _open_answers(self, agreement: Agreement) -> Mapping[int, int | None]:
        """Return the answers of pairs with both shares; None if a share is invalid. Opened answers are kept.

        Args:
            agreement: Published terms of the task, with the meetings of all pairs.

        Returns:
            Answer by number of the meeting; meetings without both shares are absent.
        """
        with self._lock:
            shares = self.store.load_step(self.task.hash, SHARE_STEP)
            for meeting in agreement.meetings:
                has_both = all((meeting.number, person) in shares for person in meeting.people)
                if has_both and meeting.number not in self._answers:
                    self._answers[meeting.number] = self._open_answer(meeting, shares)
            return dict(self._answers)

    def _open_answer(self, meeting: Meeting, shares: Mapping[tuple[int, int], bytes]) -> int | None:
        """Return the noisy answer of one pair from both output shares; None if a share is invalid or the answer
        impossible.

        Args:
            meeting: The meeting of the pair.
            shares: Encrypted output shares by number of the meeting and number of the person; both of the pair are
                present.
        """
        response = self.task.terms.response
        aggregator = OutputAggregator(
            self.hpke_key, lambda address: shares[meeting.number, address.sender], self._load_bundle
        )
        bits = aggregator.open_output(meeting, response.width)
        if bits is None:
            return None
        answer = int(decode_answers(response, [bit[None] for bit in bits])[0])
        return answer if answer in response.answers else None

    def _load_bundle(self, person: int) -> KeyBundle:
        """Return a person's public keys, after verifying the signature of their bundle.

        Raises:
            ProtocolError: the person has not entered.
        """
        return KeyBundle.from_bytes(self.store.load_bundle(self.task.hash, person) or b"", self.terms_hash, person)


PERSON_REQUESTS: Mapping[str, tuple[Callable[[Relay, int, bytes], bytes], Callable[[Relay], int]]] = MappingProxyType({
    "enter": (Relay.register_bundle, lambda relay: BUNDLE_SIZE),
    "keys": (Relay.fetch_bundle, lambda relay: 8),
    "leave": (Relay.accept_message, lambda relay: ADDRESS_SIZE + OVERHEAD + relay.largest_message),
    "letter": (Relay.deliver_message, lambda relay: ADDRESS_SIZE),
})  # fmt: skip
"""Requests that a person may make, by the last part of their path: the handler, and the most bytes of a body; others
get status 404."""
