"""Authenticated messages of a session, in order: changed, truncated, replayed or foreign messages are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dpcurves.arguments import ProtocolAborted

from ..garbling import SALT_SIZE
from ..server_keys import Octets

TAG_SIZE = 16
NONCE_SIZE = 16
GARBLER, EVALUATOR = 0, 1


@dataclass(slots=True, repr=False, eq=False)
class Frames:
    """Authenticator of messages (AES-GCM tags), under a key made of the job and of a number that each party drew.

    Formal guarantees: against accidents, and messages that go astray between sessions. Against people on the way stands
    what carries the messages: TLS, or sealing.

    Attributes:
        job: The job's digest.
        party: Party that sends from here.
    """

    job: bytes
    party: int
    _name: bytes = field(init=False)
    _sent: int = field(default=0, init=False)
    _read: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._name = sha256(b"dpcurves: session, version 1\n" + self.job).digest()

    def nonce(self, randomness: Octets) -> bytes:
        """Nonce that distinguishes the session from all others."""
        return randomness.octets(NONCE_SIZE)

    def mix(self, nonce: bytes | memoryview) -> None:
        """From now on messages are those of a session with this number, too; both parties mix in the same order."""
        self._name = sha256(self._name + nonce).digest()

    @property
    def session(self) -> bytes:
        """Name of the session."""
        return self._name

    @property
    def salt(self) -> bytes:
        """The session's salt for keys of gates."""
        return sha256(b"salt of gates\n" + self._name).digest()[:SALT_SIZE]

    def sealed(self, *parts: bytes) -> bytes:
        """The next message."""
        body = b"".join(parts)
        tag = self._tag(self.party, self._sent, body)
        self._sent += 1
        return body + tag

    def opened(self, message: bytes, size: int | None = None) -> memoryview:
        """Authenticate and open the next message of the other party, of this size if one is given.

        Raises:
            ProtocolAborted: it is another message.
        """
        body = memoryview(message)[:-TAG_SIZE]
        if len(message) < TAG_SIZE or self._tag(1 - self.party, self._read, body) != message[-TAG_SIZE:]:
            raise ProtocolAborted("message", "it is not the next one of this session")
        if size is not None and len(body) != size:
            raise ProtocolAborted("message", f"{size} bytes are needed")
        self._read += 1
        return body

    def _tag(self, party: int, number: int, body: bytes | memoryview) -> bytes:
        nonce = party.to_bytes(4, "little") + number.to_bytes(8, "little")
        return AESGCM(self._name[:16]).encrypt(nonce, b"", body)
