"""Client of the relay server over HTTPS, by which a person's device reaches the others; it sees sizes and places."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ..serving.channel import PATIENCE, Channel
from ..serving.errors import ProtocolAborted
from ..serving.json_messages import UNLIKE, facts_of
from ..serving.ticket import Ticket
from .letters import AGGREGATOR, KEY_SIZE, SIGNATURE_SIZE, KeyBundle, Place
from .promise import Agreement
from .relay import CLOSED
from .task import PairTask


@dataclass(slots=True, repr=False, eq=False)
class Post:
    """SECRET, its ticket: one person's way to the relay, a `Mailbox` that knows the keys of others. It has no repr.

    Attributes:
        task: The task.
        ticket: The person's.
        channel: To the server of the task.
    """

    task: PairTask
    ticket: Ticket
    channel: Channel
    _agreed: Agreement | None = field(default=None, init=False)
    _bundles: dict[int, KeyBundle] = field(default_factory=dict, init=False)
    _left: set[Place] = field(default_factory=set, init=False)
    _numbers: dict[bytes, int] = field(default_factory=dict, init=False)

    @classmethod
    def to(cls, task: PairTask, ticket: Ticket, relay: str = "", patience: float = PATIENCE) -> Post:
        """To the server that a task names, where it says or at another URL."""
        (server,) = task.servers
        return cls(task, ticket, Channel.to(relay or server.url, server.certificate, patience))

    def enter(self, bundle: KeyBundle) -> None:
        """Publish one's own key bundle: once for a ticket.

        Raises:
            ProtocolAborted: another device has entered with the ticket, or the task is closed.
        """
        self._asked("enter", bundle.octets)

    @property
    def agreement(self) -> Agreement | None:
        """Agreement of the pairs drawn; None: the seed was not shown yet.

        Raises:
            ProtocolAborted: the server shows another seed than the promised one.
        """
        if self._agreed is None:
            told = facts_of(self.channel.get(f"/tasks/{self.task.hash}"), "server", state=str, seed=str)
            if told["state"] == CLOSED:
                self._agreed = self.task.shown(octets_of(told["seed"]))
                self._numbers = {meeting.name: meeting.number for meeting in self._agreed.meetings}
        return self._agreed

    def has_entered(self, person: int) -> bool:
        """True if a person has published keys, so that letters can be sealed to it."""
        if person not in self._bundles:
            octets = self._asked("keys", person.to_bytes(8, "little"))
            if octets:
                self._bundles[person] = KeyBundle.read(octets, self.task.promise.task, person)
        return person in self._bundles

    def bundle(self, person: int) -> KeyBundle:
        """The key bundle of a person, or of the aggregator, whose key stands in the task.

        Raises:
            ProtocolAborted: that person has not entered.
        """
        if person == AGGREGATOR:
            return KeyBundle(bytes.fromhex(self.task.servers[0].sealing), bytes(KEY_SIZE), bytes(SIGNATURE_SIZE))
        if not self.has_entered(person):
            raise ProtocolAborted("keys", "that person has not entered")
        return self._bundles[person]

    def put(self, place: Place, letter: bytes) -> None:
        """Leave a letter. Leaving it twice changes nothing."""
        self._asked("leave", self._octets(place) + letter)
        self._left.add(place)

    def get(self, place: Place) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        return self._asked("letter", self._octets(place)) or None

    def holds(self, place: Place) -> bool:
        """True if this device has left its letter there, as far as it remembers."""
        return place in self._left

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def _octets(self, place: Place) -> bytes:
        numbers = self._numbers[place.meeting], place.writer, place.step
        return b"".join([number.to_bytes(8, "little") for number in numbers])

    def _asked(self, what: str, message: bytes) -> bytes:
        return self.channel.post(f"/tasks/{self.task.hash}/people/{what}", message, self.ticket.token)


def show_seed(task: PairTask, ticket: Ticket, seed: bytes, patience: float = PATIENCE) -> int:
    """Let the server draw pairs, and how many people have entered. Done again, it ends the same way.

    Raises:
        ProtocolAborted: the server can not be reached, or refuses.
    """
    (server,) = task.servers
    channel = Channel.to(server.url, server.certificate, patience)
    try:
        told = channel.post(f"/tasks/{task.hash}/close", json.dumps({"seed": seed.hex()}).encode(), ticket.token)
    finally:
        channel.close()
    return int(facts_of(told, "server", entered=int)["entered"])


def octets_of(digits: str) -> bytes:
    """Decode the hexadecimal digits of a server's response.

    Raises:
        ProtocolAborted: these are none.
    """
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502) from None
