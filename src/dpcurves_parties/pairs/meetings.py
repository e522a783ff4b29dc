"""SECRET. Client for two-party secure computation with random partners, over a message relay (one person's device).

People are paired at random. The two devices of a pair evaluate a function of both values, with noise, in a garbled
circuit; one such session is called a *meeting*. They need not be online together, because a relay server keeps their
messages, which it cannot decrypt.

    1. `Participant.enter_task` publishes the person's key bundle, before the pairs are drawn.
    2. `reveal_seed` closes the task: the seed draws the pairs, and nobody can enter any more.
    3. `Participant.advance_meetings` sends the messages that are due, until `MeetingProgress.is_over`.

`RelayClient` is the connection to the relay server, which keeps the first message of each address (meeting, sender and
step). A meeting that fails does not stop the others. "SECRET" marks code whose values must not leave the device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpcurves.noise import Randomness

from ..serving.channel import ANSWER_SECONDS, Channel
from ..serving.messages import WRONG_FORM_RULE, ProtocolError, ServerFault, parse_fields
from ..serving.task_document import Role, Ticket, hash_token
from .device import AGGREGATOR, KEY_SIZE, SIGNATURE_SIZE, Device, KeyBundle, MessageAddress, Person
from .pair_terms import Agreement
from .relay import CLOSED_STATE
from .task import PairTask


class MeetingProgress(NamedTuple):
    """Progress of a person in a task, as counts of the person's meetings.

    Attributes:
        pairs_drawn: True once the pairs are drawn.
        completed_count: Meetings in which this person has sent all messages.
        waiting_count: Meetings that wait for a message of the partner.
        dropped_count: Dropped meetings: the partner has not entered, or a message was invalid.
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
    """SECRET: a person with a ticket, a device and a client of the relay server. It has no repr.

    Attributes:
        number: The person's number in the task.
        device: Persistent state of the person.
        client: Client of the relay server.
        on_drop: Called with one line, without values, for each meeting that is dropped.
    """

    number: int
    device: Device
    client: RelayClient
    on_drop: Callable[[str], object] = lambda line: None

    @classmethod
    def enter_task(
        cls, client: RelayClient, randomness: Randomness, path: Any, on_drop: Callable[[str], object]
    ) -> Participant:
        """Enter a task with the device in a file; creates the file if it is missing.

        Args:
            client: Connection to the relay server, with the person's ticket.
            randomness: Source of the device's secret, which is drawn when the file is created.
            path: Database file of the device.
            on_drop: Function that is called with one line of text for each meeting that is dropped.

        Returns:
            The participant, whose key bundle is published.

        Raises:
            ProtocolError: the ticket is of another task or was used with another device, or the task is closed.
        """
        task = client.task
        token = client.ticket.token
        number = task.bearers[Role.OWNER].get(hash_token(token))
        if client.ticket.task != task.hash or number is None:
            raise ProtocolError("ticket", "must be an owner's ticket of this task; use the ticket that you received")
        terms = task.terms
        device = Device.open_file(path, terms.task_hash, terms.max_meetings, randomness)
        client.publish_keys(device.keys.create_bundle(terms.task_hash, number))
        return cls(number, device, client, on_drop)

    def advance_meetings(self, values: Sequence[Any]) -> MeetingProgress:
        """Send all messages that are due in all of this person's meetings, and return the progress.

        Before the pairs are drawn nothing is sent. A meeting with an invalid message is dropped, without effect on the
        others. Call the method again until the progress `is_over`, with equal values.

        Args:
            values: SECRET. This person's values, in the order of the kernel's columns.

        Raises:
            ProtocolError: the server cannot be reached, or the device cannot be written.
        """
        agreement = self.client.agreement
        if agreement is None:
            return MeetingProgress()
        person = Person(self.number, agreement, self.device, self.client, self.client.fetch_bundle)
        counts = {True: 0, False: 0, None: 0}
        for meeting in agreement.find_meetings(self.number):
            counts[self._advance_meeting(person, agreement, meeting.number, values)] += 1
        return MeetingProgress(True, counts[True], counts[False], counts[None])

    def _advance_meeting(self, person: Person, agreement: Agreement, number: int, values: Sequence[Any]) -> bool | None:
        """Send the messages of one meeting that are due.

        Args:
            person: This person's values and keys, as the protocol needs them.
            agreement: The drawn pairs.
            number: Number of the meeting.
            values: SECRET. This person's values, in the order of the kernel's columns.

        Returns:
            True if all messages of the meeting are sent, False if it waits, None if it is dropped.

        Raises:
            ProtocolError: the server cannot be reached, or the device cannot be written.
        """
        meeting = agreement.meetings[number]
        if not self.client.has_entered(meeting.find_partner(self.number)):
            return None  # before any loss is spent
        try:
            return person.advance_meeting(meeting, values)
        except ProtocolError as error:
            # 500: HTTP status from which an error is the server's fault, so that the meeting is tried again and not
            # dropped
            if isinstance(error, ServerFault) or error.status >= 500:
                raise
            self.on_drop(f"pair {number} is dropped: {error}")
            return None


def reveal_seed(task: PairTask, ticket: Ticket, seed: bytes, timeout: float = ANSWER_SECONDS) -> int:
    """Reveal the seed to the relay server, which closes the task; return the number of people who have entered.

    The pairs follow from the seed. A repeated call has the effect of one.

    Args:
        task: The task document.
        ticket: The coordinator's ticket.
        seed: The seed that the task document commits to, 32 bytes.
        timeout: Seconds to wait for an answer.

    Raises:
        ProtocolError: the server cannot be reached, or refuses.
    """
    (server,) = task.servers
    with Channel.from_certificate(server.url, server.certificate, timeout) as channel:
        body = json.dumps({"seed": seed.hex()}).encode()
        reply = channel.post(f"/tasks/{task.hash}/close", body, ticket.derive_bearer_token(0))
    return int(parse_fields(reply, "server", entered=int)["entered"])


@dataclass(slots=True, repr=False, eq=False)
class RelayClient:
    """Client of the relay server for one person, with a cache of key bundles (signed public keys). It has no repr.

    Attributes:
        task: The task document.
        ticket: The person's ticket, that is the document with the access token. SECRET.
        channel: Connection to the relay server.
    """

    task: PairTask
    ticket: Ticket
    channel: Channel
    _agreement: Agreement | None = field(default=None, init=False)
    _bundles: dict[int, KeyBundle] = field(default_factory=dict, init=False)
    _delivered_addresses: set[MessageAddress] = field(default_factory=set, init=False)
    _meeting_numbers: dict[bytes, int] = field(default_factory=dict, init=False)

    @classmethod
    def connect(cls, task: PairTask, ticket: Ticket, relay: str = "", timeout: float = ANSWER_SECONDS) -> RelayClient:
        """Connect to the relay server of a task, at the task's URL or at another URL.

        Args:
            task: The task document.
            ticket: The person's ticket.
            relay: URL of the relay server; empty: the URL of the task.
            timeout: Seconds to wait for an answer.
        """
        (server,) = task.servers
        return cls(task, ticket, Channel.from_certificate(relay or server.url, server.certificate, timeout))

    def publish_keys(self, bundle: KeyBundle) -> None:
        """Publish this person's signed public keys at the relay server; a ticket is good for a single key bundle.

        Raises:
            ProtocolError: another device has entered with the ticket, or the task is closed.
        """
        self._request("enter", bundle.as_bytes)

    @property
    def agreement(self) -> Agreement | None:
        """Agreement with the drawn pairs; None until the seed is revealed.

        Raises:
            ProtocolError: the server's seed does not match the commitment.
        """
        if self._agreement is None:
            status = parse_fields(self.channel.get(f"/tasks/{self.task.hash}"), "server", state=str, seed=str)
            if status["state"] == CLOSED_STATE:
                self._agreement = self.task.build_agreement(decode_hex(status["seed"]))
                self._meeting_numbers = {meeting.name: meeting.number for meeting in self._agreement.meetings}
        return self._agreement

    def has_entered(self, person: int) -> bool:
        """Return True if a person has published keys, so that messages to this person can be encrypted.

        Raises:
            ProtocolError: the server cannot be reached, or the published keys are invalid.
        """
        if person not in self._bundles:
            octets = self._request("keys", person.to_bytes(8, "little"))
            if octets:
                self._bundles[person] = KeyBundle.from_bytes(octets, self.task.terms.task_hash, person)
        return person in self._bundles

    def fetch_bundle(self, person: int) -> KeyBundle:
        """Return the key bundle of a person, or of the aggregator, whose key is in the task.

        Raises:
            ProtocolError: the person has not entered.
        """
        if person == AGGREGATOR:
            return KeyBundle(bytes.fromhex(self.task.servers[0].hpke_key), bytes(KEY_SIZE), bytes(SIGNATURE_SIZE))
        if not self.has_entered(person):
            raise ProtocolError("keys", "are missing, because this person has not entered the task; try again later")
        return self._bundles[person]

    def put_message(self, address: MessageAddress, message: bytes) -> None:
        """Send an encrypted message to the relay server, which keeps the first one of an address.

        Args:
            address: Meeting, sender and step of the message.
            message: Encrypted bytes.

        Raises:
            ProtocolError: the server refuses or cannot be reached.
        """
        self._request("leave", self._encode_address(address) + message)
        self._delivered_addresses.add(address)

    def get_message(self, address: MessageAddress) -> bytes | None:
        """Return the encrypted message at an address; None if it has not come yet.

        Raises:
            ProtocolError: the server refuses or cannot be reached.
        """
        return self._request("letter", self._encode_address(address)) or None

    def has_message(self, address: MessageAddress) -> bool:
        """Return True if this client has delivered the message at an address."""
        return address in self._delivered_addresses

    def close(self) -> None:
        """Close the connection to the relay server; calling it again has no effect."""
        self.channel.close()

    def _encode_address(self, address: MessageAddress) -> bytes:
        """Return the numbers of meeting, sender and step as 24 little-endian bytes. The server knows the recipient from
        the meeting.

        Args:
            address: Meeting, sender and step of a message.
        """
        numbers = self._meeting_numbers[address.meeting], address.sender, address.step
        return b"".join([number.to_bytes(8, "little") for number in numbers])

    def _request(self, request: str, message: bytes) -> bytes:
        """Post a message to one of the relay server's paths of people, with this person's bearer token.

        Args:
            request: Name of the request: ``enter``, ``keys``, ``leave`` or ``letter``.
            message: Body of the request.

        Returns:
            The body of the reply.

        Raises:
            ProtocolError: the server refuses or cannot be reached.
        """
        return self.channel.post(
            f"/tasks/{self.task.hash}/people/{request}", message, self.ticket.derive_bearer_token(0)
        )


def decode_hex(digits: str) -> bytes:
    """Return the bytes of hexadecimal digits in a server's response.

    Raises:
        ProtocolError: the digits are invalid.
    """
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ProtocolError("server", f"the answer {WRONG_FORM_RULE}", 502) from None
