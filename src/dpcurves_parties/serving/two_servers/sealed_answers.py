"""Questions that reach both servers by way of one, and halves of answers that the analyst alone opens.

An analyst makes a key for each question. The server that is asked gets it over TLS; the other one gets it in a letter
that is sealed to it and handed on, together with the bearer token of this analyst for that server. Each server seals
its half of the answer to the key that it got, and the analyst adds both halves.

Formal guarantees: assume that HPKE is secure against chosen ciphertexts, and that a ticket cannot be forged (`Ticket`).
*No server sees a result*: a server with any behaviour sees, of the other one's half, a sealed message to a key that the
analyst made. It can not put a key of its own in place: the letter is sealed whole, and without a token for the other
server, which nobody but the analyst can derive, the other server seals nothing. A letter is bound to the task, the
thresholds, the question and the server, so it is good for this question alone; sent again, it brings the same half,
sealed to the same analyst. *No server speaks for the other*: the context of a sealed half holds a word that only the
analyst and the server know which got it. *Sizes tell nothing*: a sealed half of as many numbers has always the same
length. *Not promised*: that counts are right when a server lies about its own half.
"""

from __future__ import annotations

import json
import secrets
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ..identity import Identity, Server
from ..messages import UNLIKE, ProtocolAborted
from ..task_document import Ticket
from . import report_set
from .kinds import Answer, Asked
from .report_set import public_key

WORD = 16
HALVES = 2


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """SECRET. The key to which one server seals its half of the answer to one message. It has no repr.

    Attributes:
        asked: The analyst's message.
        key: X25519 key of the analyst, in hexadecimal digits.
        word: 16 random bytes in hexadecimal digits, which no one knows but the analyst and this server.
    """

    asked: Asked
    key: str
    word: str

    @classmethod
    def of(cls, asked: Asked, stored: Mapping[str, Any]) -> Self:
        """The one in a message or letter. Raises `ProtocolAborted`: there is none."""
        key, word = stored.get("key"), stored.get("word")
        if not isinstance(key, str) or not isinstance(word, str) or len(word) != 2 * WORD:
            raise ProtocolAborted("question", "it needs a key to which the answer is sealed")
        return cls(asked, key, word)

    @property
    def facts(self) -> dict[str, str]:
        """Plain objects."""
        return {"key": self.key, "word": self.word}

    def sealed(self, party: int, half: Answer) -> str:
        """A half of the answer, as text that only the analyst opens.

        Raises:
            ProtocolAborted: the key is none.
        """
        facts = {**half.named, "dropped": half.dropped}
        packed = json.dumps(facts).encode() + b"\n" + struct.pack(f"<{len(half.numbers)}Q", *half.numbers)
        try:
            return _text(report_set.sealed(packed, public_key(self.key), self._place(party)))
        except ValueError:
            raise ProtocolAborted("question", "the key to which its answer is to be sealed is none") from None

    def opened(self, party: int, message: object, key: X25519PrivateKey) -> Answer:
        """SECRET: the half in such a text. Raises `ProtocolAborted`: it is none, or changed, or is another server's."""
        found = report_set.opened(_octets(message), key, self._place(party))
        facts, parted, numbers = (found or b"").partition(b"\n")
        if not parted or len(numbers) != 8 * self.asked.numbers:
            raise ProtocolAborted(f"server {party}", NONE, 502)
        return _answer(party, facts, struct.unpack(f"<{self.asked.numbers}Q", numbers))

    def _place(self, party: int) -> bytes:
        return _place(b"half", party, {**self.asked.facts, "word": self.word})


NONE = "its half of the answer is none, or was changed"
OTHERS = "their halves are from different sets of reports, or with different noise; nothing is read"


def _answer(party: int, message: bytes, numbers: Sequence[int]) -> Answer:
    try:
        facts = json.loads(message)
        fits = type(facts["reports"]) is int and facts["reports"] > 0 and type(facts["dropped"]) is int
        both = tuple(facts["commitments"]), tuple(facts.get("bound", ()))
        half = Answer(tuple(numbers), facts["set"], facts["reports"], facts["dropped"], *both)
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits or any(type(name) is not str for name in (half.set, *half.commitments, *half.bound)):
        raise ProtocolAborted(f"server {party}", f"its half of the answer {UNLIKE}", 502)
    return half


@dataclass(frozen=True, slots=True, repr=False)
class Inquiry:
    """SECRET. One message of an analyst, and what opens its answer. It has no repr.

    Attributes:
        asked: The message.
        party: The server that is asked.
        key: Opens both halves.
        replies: What server 0 and server 1 are told.
    """

    asked: Asked
    party: int
    key: X25519PrivateKey
    replies: tuple[Reply, Reply]

    @classmethod
    def fresh(cls, asked: Asked, party: int) -> Self:
        """With a new key, which is good for this message alone."""
        key = X25519PrivateKey.generate()
        digits = key.public_key().public_bytes_raw().hex()
        first, second = (Reply(asked, digits, secrets.token_hex(WORD)) for _ in range(HALVES))
        return cls(asked, party, key, (first, second))

    def to_json(self, ticket: Ticket, servers: Sequence[Server]) -> bytes:
        """The message, with a letter for the other server."""
        other = 1 - self.party
        inside = {**self.replies[other].facts, "nonce": self.asked.nonce, "token": ticket.shown_to(other)}
        key = public_key(servers[other].sealing)
        letter = report_set.sealed(json.dumps(inside).encode(), key, _place_of_letter(self.asked, other))
        return self.asked.to_json(**self.replies[self.party].facts, letter=_text(letter))

    def halves(self, message: bytes) -> tuple[Answer, Answer]:
        """SECRET: both halves in the answer.

        Raises:
            ProtocolAborted: it answers something else, or a half of it is none, or they are not of one set of reports
                and the same noise of both servers.
        """
        told = self.asked.echoed(message, "server").get("halves")
        if not isinstance(told, list) or len(told) != HALVES:
            raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
        first, second = (
            reply.opened(party, half, self.key)
            for party, (reply, half) in enumerate(zip(self.replies, told, strict=True))
        )
        if (first.named, first.dropped) != (second.named, second.dropped):
            raise ProtocolAborted("servers", OTHERS, 502)
        return first, second


def answered(reply: Reply, party: int, own: Answer, other: object) -> bytes:
    """Response of the server that was asked: its half, sealed now, and the other server's, as it came."""
    mine = reply.sealed(party, own)
    return reply.asked.to_json(halves=[mine, other] if party == 0 else [other, mine])


def letter_of(stored: Mapping[str, Any]) -> str:
    """The letter in an analyst's message, which is handed on. Raises `ProtocolAborted`: there is none."""
    letter = stored.get("letter")
    if not isinstance(letter, str):
        raise ProtocolAborted("question", "it needs a letter for the other server")
    return letter


@dataclass(frozen=True, slots=True, repr=False)
class Letter:
    """SECRET. An analyst's letter, as its server opened it. It has no repr.

    Attributes:
        reply: Key to which this server's half is sealed.
        token: The bearer token of the analyst for this server.
    """

    reply: Reply
    token: str

    @classmethod
    def opened(cls, stored: Mapping[str, Any], asked: Asked, party: int, identity: Identity) -> Self:
        """The letter that the other server hands on with a question.

        Raises:
            ProtocolAborted: there is none, or it is about another question, or for another server.
        """
        sealed = _octets(letter_of(stored))
        found = report_set.opened(sealed, identity.sealing, _place_of_letter(asked, party))
        if found is None:
            raise ProtocolAborted(
                "question", f"its letter to server {party} was changed, or is for another question", 403
            )
        try:
            inside = json.loads(found)
            nonce, token = inside["nonce"], inside["token"]
        except (ValueError, KeyError, TypeError):
            nonce = token = None
        if not isinstance(nonce, str) or not isinstance(token, str):
            raise ProtocolAborted("question", f"its letter to server {party} {UNLIKE}")
        return cls(Reply.of(replace(asked, nonce=nonce), inside), token)


def _place_of_letter(asked: Asked, party: int) -> bytes:
    """Context of a letter: all of the message but its nonce, instead of which the other server has one of its own."""
    return _place(b"letter", party, replace(asked, nonce="").facts)


def _place(what: bytes, party: int, facts: Mapping[str, object]) -> bytes:
    digest = sha256(json.dumps(facts, sort_keys=True).encode()).digest()
    return b"dpcurves " + what + b" 1\n" + bytes([party]) + digest


def _text(octets: bytes) -> str:
    return b64encode(octets).decode()


def _octets(text: object) -> bytes:
    """Bytes of a text; none, where it is no such text."""
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
