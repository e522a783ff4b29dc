"""SECRET, its key. One task of people in pairs at its server: carries letters, and opens the noisy answers of pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from types import MappingProxyType

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dpcurves.ledger import QuestionBudget
from dpcurves.release import ALL

from ..serving.errors import ProtocolAborted
from ..serving.json_messages import opened
from .jobs import response_to
from .letters import BUNDLE_SIZE, OVERHEAD, KeyBundle
from .mechanisms import noisy_circuit
from .meetings import Meeting
from .person import SHARE, Collector
from .promise import Agreement
from .relay_store import RelayStore, Slot
from .release import of_answers
from .task import PairTask

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
        sealing: Opens what is sealed to the aggregator.
        store: Storage of key bundles and letters.
    """

    task: PairTask
    sealing: X25519PrivateKey
    store: RelayStore
    _lock: Lock = field(default_factory=Lock, init=False)
    _answers: dict[int, int | None] = field(default_factory=dict, init=False)
    _agreed: Agreement | None = field(default=None, init=False)

    def standing(self) -> bytes:
        """State of the task as JSON: public."""
        seed = self.store.seed(self.task.hash)
        facts = {"task": self.task.hash, "version": self.task.VERSION, "state": OPEN if seed is None else CLOSED}
        return json.dumps(
            {**facts, "entered": self.store.entered(self.task.hash), "seed": (seed or b"").hex()}
        ).encode()

    def close(self, message: bytes) -> bytes:
        """Show the seed: pairs are drawn, nobody else enters, and letters are carried.

        Raises:
            ProtocolAborted: it is not the one that was promised.
        """
        told = opened(message, "seed").get("seed")
        try:
            seed = bytes.fromhex(told if isinstance(told, str) else "")
            self.task.shown(seed)
        except ValueError:
            raise ProtocolAborted("seed", "it is not the one that was promised") from None
        self.store.show(self.task.hash, seed)
        return self.standing()

    def register(self, person: int, message: bytes) -> bytes:
        """Keep the key bundle of a person.

        Raises:
            ProtocolAborted: it is none of this person and task; or there is another one, or the seed was shown.
        """
        bundle = KeyBundle.read(message, self.agreed_on, person)
        self.store.register(self.task.hash, person, bundle.octets)
        return b""

    def bundle(self, person: int, message: bytes) -> bytes:
        """The key bundle of somebody else; nothing, if that person has not entered."""
        if len(message) != 8:
            raise ProtocolAborted("keys", "a number is needed")
        return self.store.bundle(self.task.hash, int.from_bytes(message, "little")) or b""

    def leave(self, person: int, message: bytes) -> bytes:
        """Keep a letter.

        Raises:
            ProtocolAborted: its place is not this person's to write at, or it is too long.
        """
        _, slot = self._place(message[:NUMBERS])
        if slot[1] != person:
            raise ProtocolAborted("letter", "its place is another person's", 403)
        largest = OVERHEAD + (self.largest_share if slot[2] == SHARE else self.largest_message)
        if not OVERHEAD < len(message) - NUMBERS <= largest:
            raise ProtocolAborted("letter", f"it has at most {largest} bytes", 413)
        if self.store.bundle(self.task.hash, person) is None:
            raise ProtocolAborted("keys", "enter before letters are left", 409)
        self.store.put(self.task.hash, slot, message[NUMBERS:])
        return b""

    def letter(self, person: int, message: bytes) -> bytes:
        """The letter of a place, for whom it is written to; nothing, if there is none yet.

        Raises:
            ProtocolAborted: it is written to somebody else.
        """
        meeting, slot = self._place(message)
        if slot[2] == SHARE or meeting.partner(slot[1]) != person:
            raise ProtocolAborted("letter", "it is written to somebody else", 403)
        return self.store.get(self.task.hash, slot) or b""

    def answer(self, message: bytes) -> bytes:
        """Response to an analyst: sums over the answers of pairs so far, and the set of these pairs.

        Raises:
            ProtocolAborted: the seed was not shown yet, or no pair has come.
        """
        agreed = self.agreement
        found = self._opened(agreed)
        came = [number for number in range(len(agreed.meetings)) if found.get(number) is not None]
        if not came:
            raise ProtocolAborted("pairs", "none has come yet: ask again later", 409)
        plan = self.task.plan(self.task.people)
        allotment = QuestionBudget.told(self.task.hash, self.task.loss.of_one_release()).pay(plan.query, ALL)
        pairs = np.array([agreed.meetings[number].people for number in came], dtype=np.int64)
        answers = np.array([found[number] for number in came], dtype=np.int64)
        release = of_answers(plan, pairs, answers, allotment, seeded=False)
        bits = np.zeros(len(agreed.meetings), dtype=np.bool_)
        bits[came] = True
        told = {"values": list(release.values), "came": np.packbits(bits, bitorder="little").tobytes().hex()}
        return json.dumps({"task": self.task.hash, "seed": agreed.seed.hex(), **told}).encode()

    @property
    def agreed_on(self) -> bytes:
        """The hash of all that people agree on."""
        return self.task.promise.task

    @property
    def agreement(self) -> Agreement:
        """Agreement of the pairs drawn.

        Raises:
            ProtocolAborted: the seed was not shown yet.
        """
        if self._agreed is None:
            seed = self.store.seed(self.task.hash)
            if seed is None:
                raise ProtocolAborted("task", "it is not closed yet: dpcurves task close", 409)
            self._agreed = self.task.shown(seed)
        return self._agreed

    @cached_property
    def largest_message(self) -> int:
        """Bytes that a message between two people may have: tables and transfers, with room for what frames them."""
        circuit = noisy_circuit(self.task.kernel, self.task.promise.response)
        return 1024 + 32 * circuit.ands + 64 * sum(circuit.inputs)

    @property
    def largest_share(self) -> int:
        """Bytes of a share of an answer."""
        return -(-self.task.promise.response.width // 8)

    def _place(self, message: bytes) -> tuple[Meeting, Slot]:
        if len(message) != NUMBERS:
            raise ProtocolAborted("letter", "a place and what is in it are needed")
        number, writer, step = (int.from_bytes(message[start : start + 8], "little") for start in (0, 8, 16))
        meetings = self.agreement.meetings
        if number >= len(meetings) or writer not in meetings[number].people or step not in (*range(STEPS), SHARE):
            raise ProtocolAborted("letter", "there is no such place")
        return meetings[number], (number, writer, step)

    def _opened(self, agreed: Agreement) -> Mapping[int, int | None]:
        """Answers of pairs whose both shares are here; None: a share is invalid. Once opened, they stay."""
        with self._lock:
            shares = self.store.all_of(self.task.hash, SHARE)
            for meeting in agreed.meetings:
                both = all((meeting.number, person) in shares for person in meeting.people)
                if both and meeting.number not in self._answers:
                    self._answers[meeting.number] = self._answer(meeting, shares)
            return dict(self._answers)

    def _answer(self, meeting: Meeting, shares: Mapping[tuple[int, int], bytes]) -> int | None:
        response = self.task.promise.response
        collector = Collector(self.sealing, lambda place: shares[meeting.number, place.writer], self._bundle_of)
        bits = collector.output(meeting, response.width)
        if bits is None:
            return None
        answer = int(response_to(response, [bit[None] for bit in bits])[0])
        return answer if answer in response.answers else None

    def _bundle_of(self, person: int) -> KeyBundle:
        return KeyBundle.read(self.store.bundle(self.task.hash, person) or b"", self.agreed_on, person)


OF_PERSON: Mapping[str, tuple[Callable[[Relay, int, bytes], bytes], Callable[[Relay], int]]] = MappingProxyType({
    "enter": (Relay.register, lambda relay: BUNDLE_SIZE),
    "keys": (Relay.bundle, lambda relay: 8),
    "leave": (Relay.leave, lambda relay: NUMBERS + OVERHEAD + relay.largest_message),
    "letter": (Relay.letter, lambda relay: NUMBERS),
})  # fmt: skip
"""Requests that a person may make, with the most bytes of each request's body."""
