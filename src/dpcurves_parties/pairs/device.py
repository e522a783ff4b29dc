"""SECRET. The device of one person: letters, its file, its part in one meeting, and messages that are sent again."""

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
from .promise import AgreementProtocol, Meeting, coerce_unsigned

# Letters between people who are not online together: encrypted to one, signed by another, bound to one place.
#
# A letter is sealed by HPKE (RFC 9180: X25519, HKDF-SHA256, AES-128-GCM) and signed by Ed25519, both over its place:
# the meeting, the step, who writes and who reads. Whoever carries it sees its size and its place.
SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
KEY_SIZE, SIGNATURE_SIZE = 32, 64
BUNDLE_SIZE = 2 * KEY_SIZE + SIGNATURE_SIZE
OVERHEAD = KEY_SIZE + 16 + SIGNATURE_SIZE
"""Bytes that a letter has more than what is in it."""
_PRIME = 2**255 - 19
_CURVE = -121665 * pow(121666, -1, _PRIME) % _PRIME
AGGREGATOR = -1
"""The number of the aggregator, to whom outputs are sent."""


@dataclass(frozen=True, slots=True)
class KeyBundle:
    """Public keys of a person: two keys, signed under the task.

    Attributes:
        hpke_key: The X25519 key that letters are sealed to.
        signing_key: The Ed25519 key that letters are signed by.
        signature: A signature of both keys, the task and the person's number, by the second one.
    """

    hpke_key: bytes
    signing_key: bytes
    signature: bytes

    @classmethod
    def from_bytes(cls, octets: bytes, task: bytes, person: int) -> KeyBundle:
        """The key bundle of a person for a task.

        Raises:
            ProtocolAborted: it is none, or another one's, or of another task.
        """
        if len(octets) != BUNDLE_SIZE:
            raise ProtocolError("keys", f"{BUNDLE_SIZE} bytes are needed")
        bundle = cls(octets[:KEY_SIZE], octets[KEY_SIZE : 2 * KEY_SIZE], octets[2 * KEY_SIZE :])
        try:
            _require_large_order(bundle)
            Ed25519PublicKey.from_public_bytes(bundle.signing_key).verify(
                bundle.signature, _encode_signing_input(task, person, bundle.hpke_key, bundle.signing_key)
            )
        except (InvalidSignature, ValueError):
            raise ProtocolError("keys", "they are not signed for this person and task") from None
        return bundle

    @property
    def as_bytes(self) -> bytes:
        """The bytes that are sent."""
        return self.hpke_key + self.signing_key + self.signature


@dataclass(frozen=True, slots=True)
class MessageAddress:
    """Address of a letter: its step, writer, reader and meeting, to which encryption and signature bind it."""

    meeting: bytes
    step: int
    sender: int
    recipient: int

    @property
    def associated_data(self) -> bytes:
        """Associated data: the bytes that are sealed and signed with a letter."""
        names = self.step, self.sender, self.recipient
        numbers = b"".join([name.to_bytes(8, "little", signed=True) for name in names])
        return b"dpcurves letter 1\n" + numbers + self.meeting


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PersonKeys:
    """SECRET: the keys of one person, or of the aggregator. It has no repr."""

    hpke_key: X25519PrivateKey
    signing_key: Ed25519PrivateKey

    @classmethod
    def from_secret(cls, secret: bytes) -> PersonKeys:
        """The keys that are derived from a secret."""
        keys = HKDF(SHA256(), 2 * KEY_SIZE, salt=None, info=b"dpcurves: keys of a person, version 1").derive(secret)
        return cls(
            X25519PrivateKey.from_private_bytes(keys[:KEY_SIZE]), Ed25519PrivateKey.from_private_bytes(keys[KEY_SIZE:])
        )

    def create_bundle(self, task: bytes, person: int) -> KeyBundle:
        """The public part of the keys, which is published."""
        sealing, signing = (
            self.hpke_key.public_key().public_bytes_raw(),
            self.signing_key.public_key().public_bytes_raw(),
        )
        return KeyBundle(sealing, signing, self.signing_key.sign(_encode_signing_input(task, person, sealing, signing)))

    def seal_message(self, body: bytes, address: MessageAddress, recipient: KeyBundle) -> bytes:
        """A sealed letter, which only its reader can open, and only at its place."""
        sealed: bytes = SUITE.encrypt(
            body, X25519PublicKey.from_public_bytes(recipient.hpke_key), address.associated_data
        )
        return sealed + self.signing_key.sign(address.associated_data + sealed)

    def open_message(self, message: bytes, address: MessageAddress, sender: KeyBundle) -> bytes:
        """The content of a letter.

        Raises:
            ProtocolAborted: it was written by somebody else, or for another place or reader, or a bit has changed.
        """
        return open_sealed_message(self.hpke_key, message, address, sender)


def open_sealed_message(
    hpke_key: X25519PrivateKey, message: bytes, address: MessageAddress, sender: KeyBundle
) -> bytes:
    """Decrypt and verify a letter with the reader's key. Raises as `PersonKeys.open_message`."""
    sealed, signature = message[:-SIGNATURE_SIZE], message[-SIGNATURE_SIZE:]
    try:
        Ed25519PublicKey.from_public_bytes(sender.signing_key).verify(signature, address.associated_data + sealed)
        body: bytes = SUITE.decrypt(sealed, hpke_key, address.associated_data)
    except (InvalidSignature, InvalidTag, ValueError):
        raise ProtocolError("message", "it was written by somebody else, or for another place") from None
    return body


def _require_large_order(bundle: KeyBundle) -> None:
    """Refuse keys of points of small order, for which anybody can sign, and to which anybody can open.

    Raises:
        ValueError: one of them is such a key.
    """
    X25519PrivateKey.from_private_bytes(bytes(KEY_SIZE)).exchange(X25519PublicKey.from_public_bytes(bundle.hpke_key))
    y = int.from_bytes(bundle.signing_key, "little") % 2**255 % _PRIME
    # Doubled three times it is the neutral point: y is 0, 1 or -1, or x * x = -y * y on the curve.
    if y in (0, 1, _PRIME - 1) or (_CURVE * y**4 + 2 * y * y - 1) % _PRIME == 0:
        raise ValueError


def _encode_signing_input(task: bytes, person: int, sealing: bytes, signing: bytes) -> bytes:
    return b"dpcurves card 1\n" + person.to_bytes(8, "little", signed=True) + sealing + signing + task


# A mailbox for letters: it sees where they belong and how long they are, and keeps the first one for each place.
LARGEST_LETTER = 2**20


class Mailbox(Protocol):
    """Interface of mailboxes."""

    def put_message(self, address: MessageAddress, message: bytes) -> None:
        """Leave a letter. Leaving it twice changes nothing."""
        ...

    def get_message(self, address: MessageAddress) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        ...

    def has_message(self, address: MessageAddress) -> bool:
        """True if the letter of a place is known to be stored: then it need not be left again."""
        ...


@dataclass(frozen=True, slots=True)
class FolderMailbox:
    """Letters as files in a folder that all who write and read can reach.

    Attributes:
        folder: The folder, which exists.
    """

    folder: Path

    def put_message(self, address: MessageAddress, message: bytes) -> None:
        """Leave a letter; the second one for a place is forgotten.

        Raises:
            ProtocolAborted: it is too long, or the folder takes no file.
        """
        if len(message) > LARGEST_LETTER:
            raise ProtocolError("message", f"it has at most {LARGEST_LETTER} bytes")
        file = self._file(address)
        draft = file.with_name(f".{file.name}.{token_hex(8)}")
        try:
            draft.write_bytes(message)
            draft.chmod(0o644)  # others read it, and it is sealed
            with suppress(FileExistsError):
                os.link(draft, file)  # whole or not at all; who wrote a letter that is lost leaves it again
            draft.unlink()
        except OSError as error:
            raise ProtocolError("mailbox", f"it takes no letter ({error.strerror})", 500) from None

    def get_message(self, address: MessageAddress) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        try:
            return self._file(address).read_bytes()
        except FileNotFoundError:
            return None

    def has_message(self, address: MessageAddress) -> bool:
        """True if there is a letter in a place."""
        return self._file(address).exists()

    def _file(self, place: MessageAddress) -> Path:
        return self.folder / f"{sha256(place.associated_data).hexdigest()}.letter"


_PATIENCE = 30.0


@contextmanager
def exclusive_transaction(path: Path, subject: str, tables: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Run an exclusive SQLite transaction, durable on disk when it ends. The file is readable by its owner alone.

    Args:
        path: The file; it is made if there is none.
        subject: Subject of an error.
        tables: SQL that makes what is not there yet.

    Raises:
        ProtocolAborted: the file can not be read or written. Nothing of it is shown.
    """
    base: sqlite3.Connection | None = None
    try:
        if not path.exists():
            # Not opened where it stands: a file that is closed takes all locks along that this process has on it.
            publish_file(path, lambda _: None)
        base = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        base.execute("PRAGMA synchronous = FULL")
        base.execute("BEGIN IMMEDIATE")
        for table in tables:
            base.execute(table)
        yield base
        base.execute("COMMIT")
    except (OSError, sqlite3.Error):
        raise ProtocolError(subject, f"{str(path)!r} can not be read or written", 500) from None
    finally:
        if base is not None:
            base.close()


SECRET_SIZE = 32
Bits = NDArray[np.bool_]
_WORD = 64
_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (one INTEGER PRIMARY KEY, task BLOB, secret BLOB, most INTEGER)",
    "CREATE TABLE IF NOT EXISTS meetings (name BLOB PRIMARY KEY, value BLOB, dropped INTEGER)",
    "CREATE TABLE IF NOT EXISTS heard (name BLOB, step INTEGER, message BLOB, PRIMARY KEY (name, step))",
)


@dataclass(slots=True, repr=False, eq=False)
class Device:
    """Persistent state of a person's device for one task. It has no repr.

    Formal guarantees: a meeting's loss is written here, and is on the disk, before anything of it is said; the device
    enters so many meetings and no more. All that it ever says in one follows from its secret, from the value it entered
    with, and from the letters it kept; each letter is kept before it is answered, and no second one for its step is. So
    who is killed and goes on says the same again, and no coin is thrown twice for one loss. What is worked out, and
    with whom, `Person` holds to what was agreed on. Not covered: a file that is copied, or put back as it was before.

    Attributes:
        path: The file, an SQLite database that its owner alone may read.
        task_hash: The hash of the task.
        max_meetings: Most meetings that may be entered.
    """

    path: Path
    task_hash: bytes
    max_meetings: int
    _secret: bytes = field(default=b"", init=False)

    @classmethod
    def open_file(cls, path: Path, task_hash: bytes, max_meetings: int, randomness: Randomness) -> Device:
        """The device in the file at a path, or in a new file.

        Raises:
            ProtocolAborted: it is of another task, or for another number of meetings, or can not be read. Nothing of it
                is shown.
        """
        device = cls(path, task_hash, max_meetings)
        with device._open_transaction() as base:
            fresh = (task_hash, randomness.random_bytes(SECRET_SIZE), max_meetings)
            base.execute("INSERT OR IGNORE INTO facts VALUES (1, ?, ?, ?)", fresh)
            stored, device._secret, agreed = base.execute("SELECT task, secret, most FROM facts").fetchone()
        if stored != task_hash:
            raise ProtocolError("device", f"{str(path)!r} is of another task")
        if agreed != max_meetings:
            raise ProtocolError("device", f"{str(path)!r} is for {agreed} meetings, not for {max_meetings}")
        return device

    @property
    def keys(self) -> PersonKeys:
        """SECRET: the keys of this person."""
        return PersonKeys.from_secret(self._secret)

    @property
    def meeting_count(self) -> int:
        """Number of meetings entered: their loss is spent, even if they fail."""
        with self._open_transaction() as base:
            return int(base.execute("SELECT count(*) FROM meetings").fetchone()[0])

    def compute_spent_loss(self, loss_per_meeting: Fraction) -> Fraction:
        """The loss that was spent so far, at this loss for each meeting."""
        return loss_per_meeting * self.meeting_count

    def enter_meeting(self, meeting: Meeting, values: Sequence[int]) -> None:
        """Enter a meeting with a value, or go on with one that was entered with the same value; see `compute_messages`.

        Raises:
            ProtocolAborted: it is of another task, or was entered with another value, or there were enough, or it was
                dropped. The value is not shown.
        """
        if meeting.task_hash != self.task_hash:
            raise ProtocolError("meeting", "it is of another task")
        # Keyed, so that a value is told from others by a holder of the secret alone.
        text = ",".join([str(coerce_unsigned(each, _WORD)) for each in values])
        mark = hmac.digest(self._secret, b"value\n" + meeting.name + b"\n" + text.encode(), "sha256")
        with self._open_transaction() as base:
            base.execute(
                "INSERT OR IGNORE INTO meetings SELECT ?, ?, 0 WHERE (SELECT count(*) FROM meetings) < ?",
                (meeting.name, mark, self.max_meetings),
            )
            found = base.execute("SELECT value FROM meetings WHERE name = ?", (meeting.name,)).fetchone()
        if found is None:
            raise ProtocolError("meeting", f"{self.max_meetings} were entered, and no more may be")
        if not hmac.compare_digest(found[0], mark):
            raise ProtocolError("meeting", "it was entered with another value")
        self._require_open(meeting)

    def store_message(self, meeting: Meeting, step: int, message: bytes) -> None:
        """Keep what the partner said at a step, before it is answered. What was kept for the step first, stays.

        Raises:
            ProtocolAborted: the meeting was not entered, or was dropped.
        """
        self._require_open(meeting)
        with self._open_transaction() as base:
            base.execute("INSERT OR IGNORE INTO heard VALUES (?, ?, ?)", (meeting.name, step, message))

    def drop_meeting(self, meeting: Meeting) -> None:
        """Abandon a meeting. Its loss stays spent."""
        with self._open_transaction() as base:
            base.execute("UPDATE meetings SET dropped = 1 WHERE name = ?", (meeting.name,))

    def load_messages(self, meeting: Meeting) -> list[bytes]:
        """Messages of the partner that were kept, in order."""
        with self._open_transaction() as base:
            rows = base.execute("SELECT message FROM heard WHERE name = ? ORDER BY step", (meeting.name,)).fetchall()
        return [row[0] for row in rows]

    def compute_messages(
        self, meeting: Meeting, job: Job, own_values: Sequence[int], person: int
    ) -> tuple[list[bytes], bytes | None]:
        """Messages of this person in a meeting, given the partner's that were kept, and its output share if it has one.

        Args:
            job: Job that is computed; the first of both people is the garbler.
            own_values: This person's own inputs, in order: whatever they are, each counts as a whole number of as many bits
                as were declared, for who takes part must not depend on values. One too large counts as the largest, and
                what is not a number as 0. Where there are more inputs, these are uniform, and drawn here.

        Raises:
            ProtocolAborted: what the partner said is not the next message. Then the meeting is dropped.
        """
        role = _find_role(meeting, person)
        self.enter_meeting(meeting, own_values)
        told = [coerce_unsigned(each, width) for each, width in zip(own_values, _input_widths(job, role), strict=False)]
        given = iter([*told, *self.sample_inputs(meeting, job, person, len(told))])
        values = [
            np.array([next(given)], np.uint64) if owner in (role, InputOwner.SHARED) else None for owner in job.owners
        ]
        randomness = Randomness.from_key(self._secret, "coins of " + meeting.name.hex())
        talk = (garble_one if role is InputOwner.GARBLER else evaluate_one)(job, values, randomness)
        try:
            said, share = _replay_protocol(talk, self.load_messages(meeting))
        except ProtocolError:
            self.drop_meeting(meeting)
            raise
        return said, None if share is None else np.packbits(np.concatenate(share), bitorder="little").tobytes()

    def sample_inputs(self, meeting: Meeting, job: Job, person: int, value_count: int) -> tuple[int, ...]:
        """SECRET: the uniform numbers that this person brings to a meeting behind so many values; they never change."""
        coins = Randomness.from_key(self._secret, "thrown in " + meeting.name.hex())
        return tuple(
            coins.sample_below(1 << width) for width in _input_widths(job, _find_role(meeting, person))[value_count:]
        )

    def _require_open(self, meeting: Meeting) -> None:
        with self._open_transaction() as base:
            found = base.execute("SELECT dropped FROM meetings WHERE name = ?", (meeting.name,)).fetchone()
        if found is None or found[0]:
            raise ProtocolError("meeting", "it was dropped" if found else "it was not entered")

    def _open_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        return exclusive_transaction(self.path, "device", _TABLES)


def _find_role(meeting: Meeting, person: int) -> InputOwner:
    return (InputOwner.GARBLER, InputOwner.EVALUATOR)[meeting.people.index(person)]


def _input_widths(job: Job, role: InputOwner) -> list[int]:
    """Numbers of bits of the inputs that this role supplies, alone or shared."""
    owned = zip(job.circuit.inputs, job.owners, strict=True)
    return [width for width, owner in owned if owner in (role, InputOwner.SHARED)]


def _replay_protocol(talk: Talk[list[Bits]], heard: Sequence[bytes]) -> tuple[list[bytes], list[Bits] | None]:
    """Messages sent by a protocol that received these, and its result."""
    said: list[bytes] = []
    inbox = iter(heard)
    try:
        message = next(talk)
        while True:
            if message is not None:
                said.append(message)
                message = talk.send(b"")
            elif (letter := next(inbox, None)) is not None:
                message = talk.send(letter)
            else:
                return said, None
    except StopIteration as end:
        share: list[Bits] = end.value
        return said, share


SHARE = 100
"""The step of a share, after all others."""


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """SECRET: protocol state of one person.

    Formal guarantees: the device takes part in the promised pairs of its number alone, in no more than were agreed on,
    and works out in each what was promised, noise and all, whatever it is handed; see `Device` for one meeting.

    Attributes:
        number: Its number in the task.
        agreement: Agreement with the seed.
        device: Its own file.
        mailbox: Storage of the letters.
        bundles: The key bundle of each person, and of the aggregator.
    """

    number: int
    agreement: AgreementProtocol
    device: Device
    mailbox: Mailbox
    bundles: Callable[[int], KeyBundle]

    def advance_meeting(self, meeting: Meeting, values: Sequence[Any]) -> bool:
        """Send the letters that can be sent by now; return whether all are sent.

        It is called again when the partner may have written.

        Args:
            meeting: Meeting of the agreement.
            values: This person's values, in the order of the kernel's columns; see `Device.compute_messages`.

        Raises:
            ProtocolAborted: the meeting was never this person's, or there are more or fewer values than were agreed on:
                then nothing is spent. Or it was dropped, or a letter in its place is another one's.
        """
        self.agreement.require_meeting(meeting, self.number)
        if (self.device.task_hash, self.device.max_meetings, len(values)) != (
            self.agreement.task_hash,
            self.agreement.max_meetings,
            self.agreement.value_count,
        ):
            raise ProtocolError("device", "it was made for another agreement, or there are other values")
        partner, job = meeting.find_partner(self.number), self.agreement.build_job(meeting)
        while True:
            said, share = self.device.compute_messages(meeting, job, values, self.number)
            for step, message in enumerate(said):
                self._send_message(meeting, step, message, partner)
            if share is not None:
                self._send_message(meeting, SHARE, share, AGGREGATOR)
                return True
            step = len(self.device.load_messages(meeting))
            place = MessageAddress(meeting.name, step, partner, self.number)
            letter = self.mailbox.get_message(place)
            if letter is None:
                return False
            self.device.store_message(
                meeting, step, self.device.keys.open_message(letter, place, self.bundles(partner))
            )

    def _send_message(self, meeting: Meeting, step: int, message: bytes, reader: int) -> None:
        place = MessageAddress(meeting.name, step, self.number, reader)
        if not self.mailbox.has_message(place):
            self.mailbox.put_message(place, self.device.keys.seal_message(message, place, self.bundles(reader)))


@dataclass(frozen=True, slots=True, repr=False)
class OutputAggregator:
    """SECRET: aggregator, who alone opens outputs.

    Attributes:
        hpke_key: Opens what is sealed to it.
        find_message: The letter of a place, if there is one.
        bundles: The key bundle of each person.
    """

    hpke_key: X25519PrivateKey
    find_message: Callable[[MessageAddress], bytes | None]
    bundles: Callable[[int], KeyBundle]

    def open_output(self, meeting: Meeting, wires: int) -> NDArray[np.bool_] | None:
        """The output of a meeting, wire by wire; None: a share is missing, or is none: the meeting does not count."""
        shares = [self._open_share(meeting, person, wires) for person in meeting.people]
        if shares[0] is None or shares[1] is None:
            return None
        return shares[0] ^ shares[1]

    def _open_share(self, meeting: Meeting, person: int, wires: int) -> NDArray[np.bool_] | None:
        place = MessageAddress(meeting.name, SHARE, person, AGGREGATOR)
        letter = self.find_message(place)
        if letter is None:
            return None
        try:
            body = open_sealed_message(self.hpke_key, letter, place, self.bundles(person))
        except ProtocolError:
            return None
        if len(body) != -(-wires // 8):
            return None
        return np.unpackbits(np.frombuffer(body, np.uint8), count=wires, bitorder="little").astype(np.bool_)
