"""SECRET. All meetings of one person, and the client by which its device reaches the relay server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpcurves.noise import Randomness

from ..serving.channel import PATIENCE, Channel
from ..serving.messages import UNLIKE, ProtocolAborted, Trouble, facts_of
from ..serving.task_document import Role, Ticket, hash_of
from .device import AGGREGATOR, KEY_SIZE, SIGNATURE_SIZE, Device, KeyBundle, Person, Place
from .promise import Agreement
from .relay import CLOSED
from .task import PairTask


@dataclass(slots=True, repr=False, eq=False)
class Post:
    """Client of the relay for one person, with the key bundles of others. SECRET: its ticket; it has no repr.

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
        return self.channel.post(f"/tasks/{self.task.hash}/people/{what}", message, self.ticket.shown_to(0))


def show_seed(task: PairTask, ticket: Ticket, seed: bytes, patience: float = PATIENCE) -> int:
    """Let the server draw pairs, and how many people have entered. Done again, it ends the same way.

    Raises:
        ProtocolAborted: the server can not be reached, or refuses.
    """
    (server,) = task.servers
    with Channel.to(server.url, server.certificate, patience) as channel:
        shown = json.dumps({"seed": seed.hex()}).encode()
        told = channel.post(f"/tasks/{task.hash}/close", shown, ticket.shown_to(0))
    return int(facts_of(told, "server", entered=int)["entered"])


def octets_of(digits: str) -> bytes:
    """Decode the hexadecimal digits of a server's response. Raises `ProtocolAborted`: these are none."""
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502) from None


OF_SERVERS = 500
"""From this status on it is no partner who is to blame."""


class Attended(NamedTuple):
    """Progress of a person in a task: state of the drawing, and of the meetings.

    Attributes:
        drawn: True if the pairs are drawn.
        done: Meetings in which all is said.
        waiting: Meetings in which the partner has to write.
        broken: Meetings that are dropped: the partner has not entered, or what came was not from there.
    """

    drawn: bool = False
    done: int = 0
    waiting: int = 0
    broken: int = 0

    @property
    def over(self) -> bool:
        """True once pairs are drawn and no meeting waits for a message."""
        return self.drawn and not self.waiting


@dataclass(slots=True, repr=False, eq=False)
class Attendance:
    """SECRET: a person with a ticket, a device and the way to the others. It has no repr.

    Attributes:
        number: The person's number in the task.
        device: The person's own file.
        post: The way to the others.
        heed: Is told of each meeting that breaks, in one line without a value.
    """

    number: int
    device: Device
    post: Post
    heed: Callable[[str], object] = lambda line: None

    @classmethod
    def of(cls, post: Post, randomness: Randomness, path: Any, heed: Callable[[str], object]) -> Attendance:
        """Enter a task with the device in a file, which is made if it is not there.

        Raises:
            ProtocolAborted: the ticket is of another task or was used with another device; or the task is closed.
        """
        task, token = post.task, post.ticket.token
        number = task.bearers[Role.OWNER].get(hash_of(token))
        if post.ticket.task != task.hash or number is None:
            raise ProtocolAborted("ticket", "it is of another task")
        promised = task.promise
        device = Device.of(path, promised.task, promised.most, randomness)
        post.enter(device.writer.bundle(promised.task, number))
        return cls(number, device, post, heed)

    def attend(self, values: Sequence[Any]) -> Attended:
        """Send the messages due in all meetings. A failed meeting does not prevent others from going on.

        Raises:
            ProtocolAborted: the server can not be reached, or the device not be written.
        """
        agreed = self.post.agreement
        if agreed is None:
            return Attended()
        person = Person(self.number, agreed, self.device, self.post, self.post.bundle)
        counts = {True: 0, False: 0, None: 0}
        for meeting in agreed.meetings_of(self.number):
            counts[self._said(person, agreed, meeting.number, values)] += 1
        return Attended(True, counts[True], counts[False], counts[None])

    def _said(self, person: Person, agreed: Agreement, number: int, values: Sequence[Any]) -> bool | None:
        """Result of a meeting: True if all messages are sent, False if some are due; None: the meeting is broken."""
        meeting = agreed.meetings[number]
        if not self.post.has_entered(meeting.partner(self.number)):
            return None  # before anything is spent
        try:
            return person.attend(meeting, values)
        except ProtocolAborted as error:
            if isinstance(error, Trouble) or error.status >= OF_SERVERS:
                raise
            self.heed(f"pair {number} is dropped: {error}")
            return None
