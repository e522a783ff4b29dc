"""SECRET. One person's device in secure two-party computations: encrypted messages, its database, its garbled circuits.

People are paired at random. The two devices of a pair evaluate a function of both values, with noise, in a garbled
circuit; such a session is a meeting. Devices need not be online together: messages are encrypted and signed, and wait
at a relay server. All messages of a device are functions of a stored secret, its value and stored received messages. So
a device that crashes and restarts repeats the same messages, and never draws noise twice for one privacy loss.

Formal guarantees: the values of a person only leave the device as inputs of a garbled circuit (see
`crypto.two_party.garble`), and the relay server cannot read messages. "SECRET" marks code whose values must not leave.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import numpy as np
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolError
from dpcurves.ledger.chain import publish_file
from dpcurves.noise import Randomness

from ..crypto.two_party import InputOwner, Job, Talk, evaluate_one, garble_one
from .pair_terms import AgreementProtocol, Meeting, coerce_unsigned

# Messages between people who are not online at the same time.
#
# A message is encrypted by HPKE (RFC 9180: X25519, HKDF-SHA256, AES-128-GCM) and then signed by Ed25519. Both bind it
# to its address: meeting, step, sender and recipient. A relay server sees the size and the address of a message.
SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
"""HPKE suite (RFC 9180) of messages between people: X25519, HKDF-SHA256 and AES-128-GCM. Both sides must use the
same."""
KEY_SIZE = 32
"""Bytes of an X25519 or Ed25519 public key (RFC 7748, RFC 8032)."""
SIGNATURE_SIZE = 64
"""Bytes of an Ed25519 signature (RFC 8032), which follows the ciphertext of a message."""
BUNDLE_SIZE = 2 * KEY_SIZE + SIGNATURE_SIZE
"""Bytes of a person's key bundle: an X25519 key, an Ed25519 key, and the signature of both; other lengths are
refused."""
OVERHEAD = KEY_SIZE + 16 + SIGNATURE_SIZE
"""Bytes by which an encrypted and signed message is longer than its plaintext: encapsulated key, tag of 16 bytes,
signature."""
_PRIME = 2**255 - 19
"""Modulus of the field of Curve25519 (RFC 7748, section 4.1), in the check that a received signing key is no point of
low order."""
_EDWARDS_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
"""Parameter d of the curve edwards25519 (RFC 7748, section 4.1), by which points of low order are recognised."""
AGGREGATOR = -1
"""Number that stands for the server, instead of a person's, as recipient of shares of noisy answers."""


@dataclass(frozen=True, slots=True)
class KeyBundle:
    """Public keys of one person, signed under the task.

    Attributes:
        hpke_key: X25519 key to which messages are encrypted.
        signing_key: Ed25519 key that verifies the person's messages.
        signature: Signature of both keys, the task and the person's number, by `signing_key`.
    """

    hpke_key: bytes
    signing_key: bytes
    signature: bytes

    @classmethod
    def from_bytes(cls, octets: bytes, task: bytes, person: int) -> KeyBundle:
        """Parse and verify the key bundle of a person for a task.

        Args:
            octets: The bundle as it was received.
            task: Hash of the task.
            person: Number of the person.

        Raises:
            ProtocolError: the length is wrong, or the bundle was signed for another person or task.
        """
        if len(octets) != BUNDLE_SIZE:
            raise ProtocolError(
                "keys", f"must have {BUNDLE_SIZE} bytes; use the version of dpcurves that the server uses"
            )
        bundle = cls(octets[:KEY_SIZE], octets[KEY_SIZE : 2 * KEY_SIZE], octets[2 * KEY_SIZE :])
        try:
            _require_large_order(bundle)
            Ed25519PublicKey.from_public_bytes(bundle.signing_key).verify(
                bundle.signature, _encode_signing_input(task, person, bundle.hpke_key, bundle.signing_key)
            )
        except (InvalidSignature, ValueError):
            raise ProtocolError("keys", "are not signed for this person and task; enter the task again") from None
        return bundle

    @property
    def as_bytes(self) -> bytes:
        """The bundle as it is sent: X25519 key, Ed25519 key and signature, 128 bytes."""
        return self.hpke_key + self.signing_key + self.signature


@dataclass(frozen=True, slots=True)
class MessageAddress:
    """Address of a message. Encryption and signature bind the message to it, so it cannot be used elsewhere.

    Attributes:
        meeting: Name of the meeting, which both people derive alike.
        step: Position of the message in the meeting's protocol, from 0; `SHARE_STEP` for an output share.
        sender: Number of the person who sends.
        recipient: Number of the person who receives; `AGGREGATOR` for the server that adds up answers.
    """

    meeting: bytes
    step: int
    sender: int
    recipient: int

    @property
    def associated_data(self) -> bytes:
        """Data that binds an encrypted message to its meeting, step, sender and recipient."""
        fields = self.step, self.sender, self.recipient
        numbers = b"".join([field.to_bytes(8, "little", signed=True) for field in fields])
        return b"dpcurves letter 1\n" + numbers + self.meeting


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PersonKeys:
    """SECRET: private keys of one person, or of the aggregator. It has no repr.

    Attributes:
        hpke_key: X25519 key that decrypts messages.
        signing_key: Ed25519 key that signs messages.
    """

    hpke_key: X25519PrivateKey
    signing_key: Ed25519PrivateKey

    @classmethod
    def from_secret(cls, secret: bytes) -> PersonKeys:
        """SECRET: derive both private keys from the device's secret by HKDF-SHA256; equal secrets give equal keys."""
        keys = HKDF(SHA256(), 2 * KEY_SIZE, salt=None, info=b"dpcurves: keys of a person, version 1").derive(secret)
        return cls(
            X25519PrivateKey.from_private_bytes(keys[:KEY_SIZE]), Ed25519PrivateKey.from_private_bytes(keys[KEY_SIZE:])
        )

    def create_bundle(self, task: bytes, person: int) -> KeyBundle:
        """Return the person's public keys with their signature for this task and person's number, for publication."""
        hpke_public = self.hpke_key.public_key().public_bytes_raw()
        signing_public = self.signing_key.public_key().public_bytes_raw()
        return KeyBundle(
            hpke_public,
            signing_public,
            self.signing_key.sign(_encode_signing_input(task, person, hpke_public, signing_public)),
        )

    def seal_message(self, body: bytes, address: MessageAddress, recipient: KeyBundle) -> bytes:
        """Encrypt and sign a message. Only the recipient can open it, and only at this address.

        Args:
            body: The plaintext.
            address: Meeting, step, sender and recipient.
            recipient: Public keys of the recipient.

        Returns:
            Encapsulated key, ciphertext with tag, and signature: `OVERHEAD` bytes more than the plaintext.
        """
        sealed: bytes = SUITE.encrypt(
            body, X25519PublicKey.from_public_bytes(recipient.hpke_key), address.associated_data
        )
        return sealed + self.signing_key.sign(address.associated_data + sealed)

    def open_message(self, message: bytes, address: MessageAddress, sender: KeyBundle) -> bytes:
        """Verify and decrypt a message of a partner in a meeting.

        Args:
            message: The message as it was received.
            address: Meeting, step, sender and recipient.
            sender: Public keys of the sender.

        Returns:
            The plaintext.

        Raises:
            ProtocolError: another person signed the message, its address differs, or a bit has changed.
        """
        return open_sealed_message(self.hpke_key, message, address, sender)


def open_sealed_message(
    hpke_key: X25519PrivateKey, message: bytes, address: MessageAddress, sender: KeyBundle
) -> bytes:
    """Verify and decrypt a message with the recipient's key, and return the plaintext.

    Args:
        hpke_key: Private key of the recipient.
        message: The message as it was received.
        address: Meeting, step, sender and recipient.
        sender: Public keys of the sender.

    Raises:
        ProtocolError: another person signed the message, its address differs, or a bit has changed.
    """
    sealed, signature = message[:-SIGNATURE_SIZE], message[-SIGNATURE_SIZE:]
    try:
        Ed25519PublicKey.from_public_bytes(sender.signing_key).verify(signature, address.associated_data + sealed)
        body: bytes = SUITE.decrypt(sealed, hpke_key, address.associated_data)
    except (InvalidSignature, InvalidTag, ValueError):
        raise ProtocolError(
            "message",
            "was not written by its sender for this address, or was changed; drop this meeting",
        ) from None
    return body


def _require_large_order(bundle: KeyBundle) -> None:
    """Refuse public keys of small order: anybody can forge their signatures and decrypt messages to them.

    Args:
        bundle: Public keys of one device: an encryption key (X25519) and a signing key (Ed25519).

    Raises:
        ValueError: a key has small order.
    """
    X25519PrivateKey.from_private_bytes(bytes(KEY_SIZE)).exchange(X25519PublicKey.from_public_bytes(bundle.hpke_key))
    y = int.from_bytes(bundle.signing_key, "little") % 2**255 % _PRIME
    # A point of order 1, 2, 4 or 8 has y = 0, 1 or -1, or x * x = -y * y on the curve.
    if y in (0, 1, _PRIME - 1) or (_EDWARDS_D * y**4 + 2 * y * y - 1) % _PRIME == 0:
        raise ValueError


def _encode_signing_input(task: bytes, person: int, sealing: bytes, signing: bytes) -> bytes:
    """Return the bytes that a key bundle's signature covers: the person's number, the X25519 key, the Ed25519 key and
    the task.

    Args:
        task: Hash of the terms of the task.
        person: Number of the person.
        sealing: X25519 public key.
        signing: Ed25519 public key.
    """
    return b"dpcurves card 1\n" + person.to_bytes(8, "little", signed=True) + sealing + signing + task


# A mailbox sees addresses and sizes of messages, and stores the first message for each address.
LARGEST_LETTER = 2**20
"""Bytes of one encrypted message at most in a folder used as mailbox; a longer one is refused before it is written."""


class Mailbox(Protocol):
    """Interface of a storage of encrypted messages by address, such as the client of a relay server."""

    def put_message(self, address: MessageAddress, message: bytes) -> None:
        """Store a message at its address. A second one at the same address is ignored.

        Args:
            address: Meeting, sender, step and recipient.
            message: Encrypted message.
        """
        ...

    def get_message(self, address: MessageAddress) -> bytes | None:
        """Return the message at an address; None if there is no message yet.

        Args:
            address: Meeting, sender, step and recipient.
        """
        ...

    def has_message(self, address: MessageAddress) -> bool:
        """Return True if the message at an address is known to be stored, so that it need not be sent again.

        Args:
            address: Meeting, sender, step and recipient.
        """
        ...


@dataclass(frozen=True, slots=True)
class FolderMailbox:
    """Mailbox of files in a folder that senders and recipients can read and write.

    Attributes:
        folder: An existing folder.
    """

    folder: Path

    def put_message(self, address: MessageAddress, message: bytes) -> None:
        """Store a message; a second message for the same address is ignored.

        Raises:
            ProtocolError: the message is too long, or the file cannot be written.
        """
        if len(message) > LARGEST_LETTER:
            raise ProtocolError(
                "message", f"must have at most {LARGEST_LETTER} bytes; use the version of dpcurves that wrote the task"
            )
        file = self._file(address)
        draft = file.with_name(f".{file.name}.{token_hex(8)}")
        try:
            draft.write_bytes(message)
            draft.chmod(0o644)  # others read the file, whose content is encrypted
            with suppress(FileExistsError):
                os.link(draft, file)  # atomic; a sender whose message was lost stores it again
            draft.unlink()
        except OSError as error:
            raise ProtocolError(
                "mailbox", f"the folder cannot be written ({error.strerror}); name a folder that you may write to", 500
            ) from None

    def get_message(self, address: MessageAddress) -> bytes | None:
        """Return the message at an address; None if there is no message yet."""
        try:
            return self._file(address).read_bytes()
        except FileNotFoundError:
            return None

    def has_message(self, address: MessageAddress) -> bool:
        """Return True if a message is stored at an address."""
        return self._file(address).exists()

    def _file(self, address: MessageAddress) -> Path:
        """Return the path of an address's message file, whose name is a hash of the address."""
        return self.folder / f"{sha256(address.associated_data).hexdigest()}.letter"


_LOCK_SECONDS = 30.0
"""Seconds for which SQLite waits for a file that another process has locked; then the transaction is refused."""


@contextmanager
def exclusive_transaction(path: Path, subject: str, tables: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Run an exclusive SQLite transaction, which is durable when it ends. Only the owner of the file may read it.

    Args:
        path: The database file; created if missing.
        subject: Subject of error messages.
        tables: SQL statements that create missing tables.

    Raises:
        ProtocolError: the file cannot be read or written. The message shows none of its content.
    """
    connection: sqlite3.Connection | None = None
    try:
        if not path.exists():
            # Create it by renaming: closing a file drops all POSIX locks that this process holds on it.
            publish_file(path, lambda _: None)
        connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        for table in tables:
            connection.execute(table)
        yield connection
        connection.execute("COMMIT")
    except (OSError, sqlite3.Error):
        raise ProtocolError(
            subject, f"{str(path)!r} cannot be read or written; name a file in a folder that you may write to", 500
        ) from None
    finally:
        if connection is not None:
            connection.close()


Bits = NDArray[np.bool_]
_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (one INTEGER PRIMARY KEY, task BLOB, secret BLOB, most INTEGER)",
    "CREATE TABLE IF NOT EXISTS meetings (name BLOB PRIMARY KEY, value BLOB, dropped INTEGER)",
    "CREATE TABLE IF NOT EXISTS heard (name BLOB, step INTEGER, message BLOB, PRIMARY KEY (name, step))",
)
"""Tables of a device's file: the task, the device's secret and its number of meetings (one row); value of each meeting;
received messages, by meeting and step."""


@dataclass(slots=True, repr=False, eq=False)
class Device:
    """Persistent state of a person's device for one task. It has no repr.

    Formal guarantees: the device commits the loss of a meeting to disk before it sends anything of that meeting, and
    enters at most `max_meetings`. All its messages in a meeting are functions of its secret, of the value it entered
    with and of the received messages that it has stored. It stores each received message before it answers, and stores
    no second message for a step. So a device that crashes and restarts repeats the same messages, and never draws
    random bits twice for one loss. `Person` checks the partner and the computation against the agreement. Not covered:
    a file that is copied, or restored from a backup.

    Attributes:
        path: SQLite database file that only its owner may read.
        task_hash: The hash of the task.
        max_meetings: Most meetings that may be entered.
    """

    path: Path
    task_hash: bytes
    max_meetings: int
    _secret: bytes = field(default=b"", init=False)

    @classmethod
    def open_file(cls, path: Path, task_hash: bytes, max_meetings: int, randomness: Randomness) -> Device:
        """Open the device in a file; creates the file if it is missing.

        Args:
            path: The file.
            task_hash: Hash of the task.
            max_meetings: Largest number of meetings of a person.
            randomness: Source of the secret of a new device.

        Raises:
            ProtocolError: the file belongs to another task or another number of meetings, or cannot be read. The
                message shows none of its content.
        """
        device = cls(path, task_hash, max_meetings)
        with device._open_transaction() as connection:
            fresh = (task_hash, randomness.random_bytes(32), max_meetings)  # bytes of a device's secret
            connection.execute("INSERT OR IGNORE INTO facts VALUES (1, ?, ?, ?)", fresh)
            stored, device._secret, stored_max = connection.execute("SELECT task, secret, most FROM facts").fetchone()
        if stored != task_hash:
            raise ProtocolError("device", f"{str(path)!r} belongs to another task; use a device file for each task")
        if stored_max != max_meetings:
            raise ProtocolError(
                "device",
                f"{str(path)!r} is for {stored_max} meetings, not for {max_meetings}; use a device file for each task",
            )
        return device

    @property
    def keys(self) -> PersonKeys:
        """SECRET: private keys of this person, derived from the device's secret."""
        return PersonKeys.from_secret(self._secret)

    @property
    def meeting_count(self) -> int:
        """Number of meetings that were entered, dropped ones included: their loss is spent even if they fail."""
        with self._open_transaction() as connection:
            return int(connection.execute("SELECT count(*) FROM meetings").fetchone()[0])

    def compute_spent_loss(self, loss_per_meeting: Fraction) -> Fraction:
        """Return the loss spent so far, as an epsilon: the loss of one meeting times the number of meetings entered.

        Args:
            loss_per_meeting: Epsilon of one meeting.
        """
        return loss_per_meeting * self.meeting_count

    def enter_meeting(self, meeting: Meeting, values: Sequence[int]) -> None:
        """Record that this device takes part in a meeting (a two-party computation with one partner) with these values;
        entering again with equal values changes nothing.

        Args:
            meeting: The meeting.
            values: This person's values. SECRET.

        Raises:
            ProtocolError: the meeting is of another task, was entered with another value, was dropped, or exceeds
                `max_meetings`. The message does not show the value.
        """
        if meeting.task_hash != self.task_hash:
            raise ProtocolError("meeting", "must be of this device's task; use a device file for each task")
        # A keyed hash: only a holder of the secret can test guesses of the value.
        text = ",".join([str(coerce_unsigned(value, 64)) for value in values])  # bits of the largest input value
        mark = hmac.digest(self._secret, b"value\n" + meeting.name + b"\n" + text.encode(), "sha256")
        with self._open_transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO meetings SELECT ?, ?, 0 WHERE (SELECT count(*) FROM meetings) < ?",
                (meeting.name, mark, self.max_meetings),
            )
            row = connection.execute("SELECT value FROM meetings WHERE name = ?", (meeting.name,)).fetchone()
        if row is None:
            raise ProtocolError(
                "meeting",
                f"must be one of at most {self.max_meetings}, and all of these were entered; nothing more can be sent",
            )
        if not hmac.compare_digest(row[0], mark):
            raise ProtocolError(
                "meeting",
                "was entered before with another value; enter it again with the data that was used the first time",
            )
        self._require_open(meeting)

    def store_message(self, meeting: Meeting, step: int, message: bytes) -> None:
        """Store the partner's message of a step before it is answered. The first message stored for a step stays.

        Args:
            meeting: The meeting.
            step: Number of the step.
            message: The message as it was received.

        Raises:
            ProtocolError: the meeting was not entered, or was dropped.
        """
        self._require_open(meeting)
        with self._open_transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO heard VALUES (?, ?, ?)", (meeting.name, step, message))

    def drop_meeting(self, meeting: Meeting) -> None:
        """Mark a meeting as dropped, so that it is not continued; its loss stays spent."""
        with self._open_transaction() as connection:
            connection.execute("UPDATE meetings SET dropped = 1 WHERE name = ?", (meeting.name,))

    def load_messages(self, meeting: Meeting) -> list[bytes]:
        """Return the partner's stored messages in a meeting, in the order of their steps; empty if none has arrived."""
        with self._open_transaction() as connection:
            rows = connection.execute(
                "SELECT message FROM heard WHERE name = ? ORDER BY step", (meeting.name,)
            ).fetchall()
        return [row[0] for row in rows]

    def compute_messages(
        self, meeting: Meeting, job: Job, own_values: Sequence[int], person: int
    ) -> tuple[list[bytes], bytes | None]:
        """Return this person's messages so far, given the partner's stored messages, and the output share once there is
        one.

        Args:
            job: The computation; the first person of the meeting is the garbler.
            own_values: This person's inputs, in order. Every value is coerced to an unsigned integer of the declared
                width, since taking part must not depend on values: too large values become the largest, non-numbers 0.
                Further inputs of the job are uniform and drawn here.
            meeting: The meeting.
            person: Number of this person.

        Returns:
            All messages of this person that can be sent so far, in order; and the output share as packed bits, or None
            while a message of the partner is missing.

        Raises:
            ProtocolError: a stored message is not the next message of the protocol. The meeting is dropped.
        """
        role = _find_role(meeting, person)
        self.enter_meeting(meeting, own_values)
        coerced = [
            coerce_unsigned(value, width) for value, width in zip(own_values, _input_widths(job, role), strict=False)
        ]
        own_inputs = iter([*coerced, *self.sample_inputs(meeting, job, person, len(coerced))])
        values = [
            np.array([next(own_inputs)], np.uint64) if owner in (role, InputOwner.SHARED) else None
            for owner in job.owners
        ]
        randomness = Randomness.from_key(self._secret, "coins of " + meeting.name.hex())
        protocol = (garble_one if role is InputOwner.GARBLER else evaluate_one)(job, values, randomness)
        try:
            messages, share = _replay_protocol(protocol, self.load_messages(meeting))
        except ProtocolError:
            self.drop_meeting(meeting)
            raise
        return messages, None if share is None else np.packbits(np.concatenate(share), bitorder="little").tobytes()

    def sample_inputs(self, meeting: Meeting, job: Job, person: int, value_count: int) -> tuple[int, ...]:
        """SECRET: return this person's uniform inputs to a meeting, after its `value_count` values.

        Repeated calls return the same numbers, so that a repeated meeting reveals nothing new.

        Args:
            meeting: The meeting.
            job: The computation of the meeting.
            person: Number of this person.
            value_count: Number of the person's inputs that are values; random inputs follow.
        """
        randomness = Randomness.from_key(self._secret, "thrown in " + meeting.name.hex())
        return tuple(
            randomness.sample_below(1 << width)
            for width in _input_widths(job, _find_role(meeting, person))[value_count:]
        )

    def _require_open(self, meeting: Meeting) -> None:
        """Check that a meeting was entered and was not dropped.

        Raises:
            ProtocolError: the meeting was not entered yet, or was dropped.
        """
        with self._open_transaction() as connection:
            row = connection.execute("SELECT dropped FROM meetings WHERE name = ?", (meeting.name,)).fetchone()
        if row is None or row[0]:
            rule = (
                "was dropped, and its loss stays spent; go on with the other meetings"
                if row
                else "was not entered yet; call enter_meeting first"
            )
            raise ProtocolError("meeting", rule)

    def _open_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open an exclusive, durable transaction in the device's file; missing tables are created."""
        return exclusive_transaction(self.path, "device", _TABLES)


def _find_role(meeting: Meeting, person: int) -> InputOwner:
    """Return the role of one of a meeting's two people: the first is the garbler, the second the evaluator.

    Args:
        meeting: Meeting of two people.
        person: Number of one of the meeting's people.

    Raises:
        ValueError: the person does not take part in the meeting.
    """
    return (InputOwner.GARBLER, InputOwner.EVALUATOR)[meeting.people.index(person)]


def _input_widths(job: Job, role: InputOwner) -> list[int]:
    """Return the widths in bits of the inputs that this role supplies, alone or shared.

    Args:
        job: Job of two-party computation: a circuit with the supplier of each input.
        role: Role of a party: garbler or evaluator.

    Returns:
        A width per input, in the order of the circuit's inputs; shared inputs count for both roles.
    """
    owned = zip(job.circuit.inputs, job.owners, strict=True)
    return [width for width, owner in owned if owner in (role, InputOwner.SHARED)]


def _replay_protocol(protocol: Talk[list[Bits]], received: Sequence[bytes]) -> tuple[list[bytes], list[Bits] | None]:
    """Replay a protocol on the received messages; return all messages that it sends, and this party's output share, or
    None if it waits for a further message.

    Args:
        protocol: One party's side of a two-party computation, as a generator of messages.
        received: Messages of the other party so far.

    Returns:
        Sent messages, and the output share; None while a further message is needed.
    """
    sent: list[bytes] = []
    inbox = iter(received)
    try:
        message = next(protocol)
        while True:
            if message is not None:
                sent.append(message)
                message = protocol.send(b"")
            elif (reply := next(inbox, None)) is not None:
                message = protocol.send(reply)
            else:
                return sent, None
    except StopIteration as end:
        share: list[Bits] = end.value
        return sent, share


SHARE_STEP = 100
"""Step number in the address of the message with a person's share of a noisy answer; larger than any step of the
protocol, so that addresses never coincide."""


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """SECRET: protocol state of one person.

    Formal guarantees: the device takes part only in the agreed meetings of its number, in no more than were agreed on,
    and computes only the agreed function with its noise, whatever it receives; see `Device` for a single meeting.

    Attributes:
        number: Number of the person in the task.
        agreement: The public terms with the revealed seed, from which the meetings follow.
        device: Persistent state of the person.
        mailbox: Storage of encrypted messages.
        bundles: Returns the key bundle of a person by number, or of the aggregator (`AGGREGATOR`).
    """

    number: int
    agreement: AgreementProtocol
    device: Device
    mailbox: Mailbox
    bundles: Callable[[int], KeyBundle]

    def advance_meeting(self, meeting: Meeting, values: Sequence[Any]) -> bool:
        """Send all of this person's messages of a meeting that can be sent by now; return whether all are sent.

        It returns False while a message of the partner is missing. Call the method again when the partner may have
        written.

        Args:
            meeting: Meeting of the agreement.
            values: This person's values, in the order of the kernel's columns; each is coerced to the declared number
                of bits.

        Raises:
            ProtocolError: the meeting is not this person's, or the number of values differs from the agreement:
                nothing is spent. Or the meeting was dropped, or a message at its address has another author.
        """
        self.agreement.require_meeting(meeting, self.number)
        if (self.device.task_hash, self.device.max_meetings, len(values)) != (
            self.agreement.task_hash,
            self.agreement.max_meetings,
            self.agreement.value_count,
        ):
            raise ProtocolError(
                "device",
                "must be of the agreement's task and number of meetings, with the agreement's number of values: "
                "take part "
                "with the device file that joined this task",
            )
        partner = meeting.find_partner(self.number)
        job = self.agreement.build_job(meeting)
        while True:
            messages, share = self.device.compute_messages(meeting, job, values, self.number)
            for step, message in enumerate(messages):
                self._send_message(meeting, step, message, partner)
            if share is not None:
                self._send_message(meeting, SHARE_STEP, share, AGGREGATOR)
                return True
            step = len(self.device.load_messages(meeting))
            address = MessageAddress(meeting.name, step, partner, self.number)
            reply = self.mailbox.get_message(address)
            if reply is None:
                return False
            self.device.store_message(
                meeting, step, self.device.keys.open_message(reply, address, self.bundles(partner))
            )

    def _send_message(self, meeting: Meeting, step: int, message: bytes, recipient: int) -> None:
        """Encrypt, sign and send one message of a step, unless the mailbox is known to hold it.

        Args:
            meeting: The meeting, a computation of two people.
            step: Number of the step.
            message: The message, not yet encrypted.
            recipient: Number of the person who gets it.
        """
        address = MessageAddress(meeting.name, step, self.number, recipient)
        if not self.mailbox.has_message(address):
            self.mailbox.put_message(address, self.device.keys.seal_message(message, address, self.bundles(recipient)))


@dataclass(frozen=True, slots=True, repr=False)
class OutputAggregator:
    """SECRET: the aggregator, who alone can open outputs.

    Attributes:
        hpke_key: Key that decrypts messages to the aggregator.
        find_message: Returns the message at an address, or None.
        bundles: Returns the key bundle of a person.
    """

    hpke_key: X25519PrivateKey
    find_message: Callable[[MessageAddress], bytes | None]
    bundles: Callable[[int], KeyBundle]

    def open_output(self, meeting: Meeting, wires: int) -> NDArray[np.bool_] | None:
        """Return the output bits of a meeting, by wire; None if a share is missing or invalid: the meeting does not
        count.

        Args:
            meeting: Meeting of the pair.
            wires: Number of output wires of the circuit.

        Returns:
            Bits, one row per wire.
        """
        shares = [self._open_share(meeting, person, wires) for person in meeting.people]
        if shares[0] is None or shares[1] is None:
            return None
        return shares[0] ^ shares[1]

    def _open_share(self, meeting: Meeting, person: int, wires: int) -> NDArray[np.bool_] | None:
        """Return one person's output share of a meeting, one bit per wire; None if it is missing, has another author or
        another length.

        Args:
            meeting: The meeting, a computation of two people.
            person: Number of the person.
            wires: Number of output wires.
        """
        address = MessageAddress(meeting.name, SHARE_STEP, person, AGGREGATOR)
        message = self.find_message(address)
        if message is None:
            return None
        try:
            body = open_sealed_message(self.hpke_key, message, address, self.bundles(person))
        except ProtocolError:
            return None
        if len(body) != -(-wires // 8):
            return None
        return np.unpackbits(np.frombuffer(body, np.uint8), count=wires, bitorder="little").astype(np.bool_)
