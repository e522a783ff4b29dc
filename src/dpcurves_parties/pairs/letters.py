"""Letters between people who are not online together, and the mailbox that carries them."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcurves.arguments import ProtocolAborted

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
        sealing: The X25519 key that letters are sealed to.
        signing: The Ed25519 key that letters are signed by.
        signature: A signature of both keys, the task and the person's number, by the second one.
    """

    sealing: bytes
    signing: bytes
    signature: bytes

    @classmethod
    def read(cls, octets: bytes, task: bytes, person: int) -> KeyBundle:
        """The key bundle of a person for a task.

        Raises:
            ProtocolAborted: it is none, or another one's, or of another task.
        """
        if len(octets) != BUNDLE_SIZE:
            raise ProtocolAborted("keys", f"{BUNDLE_SIZE} bytes are needed")
        bundle = cls(octets[:KEY_SIZE], octets[KEY_SIZE : 2 * KEY_SIZE], octets[2 * KEY_SIZE :])
        try:
            _require_key_of_its_own(bundle)
            Ed25519PublicKey.from_public_bytes(bundle.signing).verify(
                bundle.signature, _signed(task, person, bundle.sealing, bundle.signing)
            )
        except (InvalidSignature, ValueError):
            raise ProtocolAborted("keys", "they are not signed for this person and task") from None
        return bundle

    @property
    def octets(self) -> bytes:
        """The bytes that are sent."""
        return self.sealing + self.signing + self.signature


@dataclass(frozen=True, slots=True)
class Place:
    """Address of a letter: its step, writer, reader and meeting, to which encryption and signature bind it."""

    meeting: bytes
    step: int
    writer: int
    reader: int

    @property
    def octets(self) -> bytes:
        """Associated data: the bytes that are sealed and signed with a letter."""
        names = self.step, self.writer, self.reader
        numbers = b"".join([name.to_bytes(8, "little", signed=True) for name in names])
        return b"dpcurves letter 1\n" + numbers + self.meeting


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Writer:
    """SECRET: the keys of one person, or of the aggregator. It has no repr."""

    sealing: X25519PrivateKey
    signing: Ed25519PrivateKey

    @classmethod
    def of(cls, secret: bytes) -> Writer:
        """The keys that are derived from a secret."""
        keys = HKDF(SHA256(), 2 * KEY_SIZE, salt=None, info=b"dpcurves: keys of a person, version 1").derive(secret)
        return cls(
            X25519PrivateKey.from_private_bytes(keys[:KEY_SIZE]), Ed25519PrivateKey.from_private_bytes(keys[KEY_SIZE:])
        )

    def bundle(self, task: bytes, person: int) -> KeyBundle:
        """The public part of the keys, which is published."""
        sealing, signing = self.sealing.public_key().public_bytes_raw(), self.signing.public_key().public_bytes_raw()
        return KeyBundle(sealing, signing, self.signing.sign(_signed(task, person, sealing, signing)))

    def letter(self, body: bytes, place: Place, reader: KeyBundle) -> bytes:
        """A sealed letter, which only its reader can open, and only at its place."""
        sealed: bytes = SUITE.encrypt(body, X25519PublicKey.from_public_bytes(reader.sealing), place.octets)
        return sealed + self.signing.sign(place.octets + sealed)

    def opened(self, letter: bytes, place: Place, writer: KeyBundle) -> bytes:
        """The content of a letter.

        Raises:
            ProtocolAborted: it was written by somebody else, or for another place or reader, or a bit has changed.
        """
        return opened_by(self.sealing, letter, place, writer)


def opened_by(sealing: X25519PrivateKey, letter: bytes, place: Place, writer: KeyBundle) -> bytes:
    """Decrypt and verify a letter with the reader's key. Raises as `Writer.opened`."""
    sealed, signature = letter[:-SIGNATURE_SIZE], letter[-SIGNATURE_SIZE:]
    try:
        Ed25519PublicKey.from_public_bytes(writer.signing).verify(signature, place.octets + sealed)
        body: bytes = SUITE.decrypt(sealed, sealing, place.octets)
    except (InvalidSignature, InvalidTag, ValueError):
        raise ProtocolAborted("letter", "it was written by somebody else, or for another place") from None
    return body


def _require_key_of_its_own(bundle: KeyBundle) -> None:
    """Refuse keys of points of small order, for which anybody can sign, and to which anybody can open.

    Raises:
        ValueError: one of them is such a key.
    """
    X25519PrivateKey.from_private_bytes(bytes(KEY_SIZE)).exchange(X25519PublicKey.from_public_bytes(bundle.sealing))
    y = int.from_bytes(bundle.signing, "little") % 2**255 % _PRIME
    # Doubled three times it is the neutral point: y is 0, 1 or -1, or x * x = -y * y on the curve.
    if y in (0, 1, _PRIME - 1) or (_CURVE * y**4 + 2 * y * y - 1) % _PRIME == 0:
        raise ValueError


def _signed(task: bytes, person: int, sealing: bytes, signing: bytes) -> bytes:
    return b"dpcurves card 1\n" + person.to_bytes(8, "little", signed=True) + sealing + signing + task


# A mailbox for letters: it sees where they belong and how long they are, and keeps the first one for each place.
LARGEST_LETTER = 2**20


class Mailbox(Protocol):
    """Interface of mailboxes."""

    def put(self, place: Place, letter: bytes) -> None:
        """Leave a letter. Leaving it twice changes nothing."""
        ...

    def get(self, place: Place) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        ...

    def holds(self, place: Place) -> bool:
        """True if the letter of a place is known to be stored: then it need not be left again."""
        ...


@dataclass(frozen=True, slots=True)
class FolderMailbox:
    """Letters as files in a folder that all who write and read can reach.

    Attributes:
        folder: The folder, which exists.
    """

    folder: Path

    def put(self, place: Place, letter: bytes) -> None:
        """Leave a letter; the second one for a place is forgotten.

        Raises:
            ProtocolAborted: it is too long, or the folder takes no file.
        """
        if len(letter) > LARGEST_LETTER:
            raise ProtocolAborted("letter", f"it has at most {LARGEST_LETTER} bytes")
        file = self._file(place)
        draft = file.with_name(f".{file.name}.{token_hex(8)}")
        try:
            draft.write_bytes(letter)
            draft.chmod(0o644)  # others read it, and it is sealed
            with suppress(FileExistsError):
                os.link(draft, file)  # whole or not at all; who wrote a letter that is lost leaves it again
            draft.unlink()
        except OSError as error:
            raise ProtocolAborted("mailbox", f"it takes no letter ({error.strerror})", 500) from None

    def get(self, place: Place) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        try:
            return self._file(place).read_bytes()
        except FileNotFoundError:
            return None

    def holds(self, place: Place) -> bool:
        """True if there is a letter in a place."""
        return self._file(place).exists()

    def _file(self, place: Place) -> Path:
        return self.folder / f"{sha256(place.octets).hexdigest()}.letter"
