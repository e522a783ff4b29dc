"""SECRET. All meetings of one person, and the client by which its device reaches the relay server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpcurves.noise import Randomness

from ..serving.channel import PATIENCE, Channel
from ..serving.messages import UNLIKE, ProtocolError, ServerFault, parse_fields
from ..serving.task_document import Role, Ticket, hash_token
from .device import AGGREGATOR, KEY_SIZE, SIGNATURE_SIZE, Device, KeyBundle, MessageAddress, Person
from .promise import Agreement
from .relay import CLOSED
from .task import PairTask


@dataclass(slots=True, repr=False, eq=False)
class RelayClient:
    """Client of the relay for one person, with the key bundles of others. SECRET: its ticket; it has no repr.

    Attributes:
        task: The task.
        ticket: The person's.
        channel: To the server of the task.
    """

    task: PairTask
    ticket: Ticket
    channel: Channel
    _agreement: Agreement | None = field(default=None, init=False)
    _bundles: dict[int, KeyBundle] = field(default_factory=dict, init=False)
    _delivered_addresses: set[MessageAddress] = field(default_factory=set, init=False)
    _meeting_numbers: dict[bytes, int] = field(default_factory=dict, init=False)

    @classmethod
    def connect(cls, task: PairTask, ticket: Ticket, relay: str = "", timeout: float = PATIENCE) -> RelayClient:
        """To the server that a task names, where it says or at another URL."""
        (server,) = task.servers
        return cls(task, ticket, Channel.from_certificate(relay or server.url, server.certificate, timeout))

    def publish_keys(self, bundle: KeyBundle) -> None:
        """Publish one's own key bundle: once for a ticket.

        Raises:
            ProtocolAborted: another device has entered with the ticket, or the task is closed.
        """
        self._request("enter", bundle.as_bytes)

    @property
    def agreement(self) -> Agreement | None:
        """Agreement of the pairs drawn; None: the seed was not shown yet.

        Raises:
            ProtocolAborted: the server shows another seed than the promised one.
        """
        if self._agreement is None:
            told = parse_fields(self.channel.get(f"/tasks/{self.task.hash}"), "server", state=str, seed=str)
            if told["state"] == CLOSED:
                self._agreement = self.task.build_agreement(decode_hex(told["seed"]))
                self._meeting_numbers = {meeting.name: meeting.number for meeting in self._agreement.meetings}
        return self._agreement

    def has_entered(self, person: int) -> bool:
        """True if a person has published keys, so that letters can be sealed to it."""
        if person not in self._bundles:
            octets = self._request("keys", person.to_bytes(8, "little"))
            if octets:
                self._bundles[person] = KeyBundle.from_bytes(octets, self.task.terms.task_hash, person)
        return person in self._bundles

    def fetch_bundle(self, person: int) -> KeyBundle:
        """The key bundle of a person, or of the aggregator, whose key stands in the task.

        Raises:
            ProtocolAborted: that person has not entered.
        """
        if person == AGGREGATOR:
            return KeyBundle(bytes.fromhex(self.task.servers[0].hpke_key), bytes(KEY_SIZE), bytes(SIGNATURE_SIZE))
        if not self.has_entered(person):
            raise ProtocolError("keys", "that person has not entered")
        return self._bundles[person]

    def put_message(self, address: MessageAddress, message: bytes) -> None:
        """Leave a letter. Leaving it twice changes nothing."""
        self._request("leave", self._encode_address(address) + message)
        self._delivered_addresses.add(address)

    def get_message(self, address: MessageAddress) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        return self._request("letter", self._encode_address(address)) or None

    def has_message(self, address: MessageAddress) -> bool:
        """True if this device has left its letter there, as far as it remembers."""
        return address in self._delivered_addresses

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def _encode_address(self, place: MessageAddress) -> bytes:
        numbers = self._meeting_numbers[place.meeting], place.sender, place.step
        return b"".join([number.to_bytes(8, "little") for number in numbers])

    def _request(self, what: str, message: bytes) -> bytes:
        return self.channel.post(f"/tasks/{self.task.hash}/people/{what}", message, self.ticket.derive_bearer_token(0))


def reveal_seed(task: PairTask, ticket: Ticket, seed: bytes, timeout: float = PATIENCE) -> int:
    """Let the server draw pairs, and how many people have entered. Done again, it ends the same way.

    Raises:
        ProtocolAborted: the server can not be reached, or refuses.
    """
    (server,) = task.servers
    with Channel.from_certificate(server.url, server.certificate, timeout) as channel:
        shown = json.dumps({"seed": seed.hex()}).encode()
        told = channel.post(f"/tasks/{task.hash}/close", shown, ticket.derive_bearer_token(0))
    return int(parse_fields(told, "server", entered=int)["entered"])


def decode_hex(digits: str) -> bytes:
    """Decode the hexadecimal digits of a server's response. Raises `ProtocolError`: these are none."""
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ProtocolError("server", f"its answer {UNLIKE}", 502) from None


OF_SERVERS = 500
"""From this status on it is no partner who is to blame."""


class MeetingProgress(NamedTuple):
    """Progress of a person in a task: state of the drawing, and of the meetings.

    Attributes:
        pairs_drawn: True if the pairs are drawn.
        completed_count: Meetings in which all is said.
        waiting_count: Meetings in which the partner has to write.
        dropped_count: Meetings that are dropped: the partner has not entered, or what came was not from there.
    """

    pairs_drawn: bool = False
    completed_count: int = 0
    waiting_count: int = 0
    dropped_count: int = 0

    @property
    def is_over(self) -> bool:
        """True once pairs are drawn and no meeting waits for a message."""
        return self.pairs_drawn and not self.waiting_count


@dataclass(slots=True, repr=False, eq=False)
class Participant:
    """SECRET: a person with a ticket, a device and the way to the others. It has no repr.

    Attributes:
        number: The person's number in the task.
        device: The person's own file.
        client: The way to the others.
        on_drop: Is told of each meeting that breaks, in one line without a value.
    """

    number: int
    device: Device
    client: RelayClient
    on_drop: Callable[[str], object] = lambda line: None

    @classmethod
    def enter_task(
        cls, client: RelayClient, randomness: Randomness, path: Any, on_drop: Callable[[str], object]
    ) -> Participant:
        """Enter a task with the device in a file, which is made if it is not there.

        Raises:
            ProtocolAborted: the ticket is of another task or was used with another device; or the task is closed.
        """
        task, token = client.task, client.ticket.token
        number = task.bearers[Role.OWNER].get(hash_token(token))
        if client.ticket.task != task.hash or number is None:
            raise ProtocolError("ticket", "it is of another task")
        promised = task.terms
        device = Device.open_file(path, promised.task_hash, promised.max_meetings, randomness)
        client.publish_keys(device.keys.create_bundle(promised.task_hash, number))
        return cls(number, device, client, on_drop)

    def advance_meetings(self, values: Sequence[Any]) -> MeetingProgress:
        """Send the messages due in all meetings. A failed meeting does not prevent others from going on.

        Raises:
            ProtocolAborted: the server can not be reached, or the device not be written.
        """
        agreed = self.client.agreement
        if agreed is None:
            return MeetingProgress()
        person = Person(self.number, agreed, self.device, self.client, self.client.fetch_bundle)
        counts = {True: 0, False: 0, None: 0}
        for meeting in agreed.find_meetings(self.number):
            counts[self._advance_meeting(person, agreed, meeting.number, values)] += 1
        return MeetingProgress(True, counts[True], counts[False], counts[None])

    def _advance_meeting(self, person: Person, agreed: Agreement, number: int, values: Sequence[Any]) -> bool | None:
        """Result of a meeting: True if all messages are sent, False if some are due; None: the meeting is broken."""
        meeting = agreed.meetings[number]
        if not self.client.has_entered(meeting.find_partner(self.number)):
            return None  # before anything is spent
        try:
            return person.advance_meeting(meeting, values)
        except ProtocolError as error:
            if isinstance(error, ServerFault) or error.status >= OF_SERVERS:
                raise
            self.on_drop(f"pair {number} is dropped: {error}")
            return None
