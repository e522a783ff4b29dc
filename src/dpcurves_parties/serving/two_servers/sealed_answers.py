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
from ..messages import UNLIKE, ProtocolError
from ..task_document import Ticket
from . import report_set
from .kinds import Answer, QuestionMessage
from .report_set import load_public_key

WORD = 16
HALVES = 2


@dataclass(frozen=True, slots=True, repr=False)
class AnswerKey:
    """SECRET. The key to which one server seals its half of the answer to one message. It has no repr.

    Attributes:
        question: The analyst's message.
        key: X25519 key of the analyst, in hexadecimal digits.
        nonce: 16 random bytes in hexadecimal digits, which no one knows but the analyst and this server.
    """

    question: QuestionMessage
    key: str
    nonce: str

    @classmethod
    def from_fields(cls, question: QuestionMessage, stored: Mapping[str, Any]) -> Self:
        """The one in a message or letter. Raises `ProtocolError`: there is none."""
        key, word = stored.get("key"), stored.get("word")
        if not isinstance(key, str) or not isinstance(word, str) or len(word) != 2 * WORD:
            raise ProtocolError("question", "it needs a key to which the answer is sealed")
        return cls(question, key, word)

    @property
    def fields(self) -> dict[str, str]:
        """Plain objects."""
        return {"key": self.key, "word": self.nonce}

    def seal_answer_share(self, party: int, answer_share: Answer) -> str:
        """A half of the answer, as text that only the analyst opens.

        Raises:
            ProtocolAborted: the key is none.
        """
        facts = {**answer_share.provenance, "dropped": answer_share.dropped_count}
        packed = json.dumps(facts).encode() + b"\n" + struct.pack(f"<{len(answer_share.values)}Q", *answer_share.values)
        try:
            return _encode_base64(report_set.seal_share(packed, load_public_key(self.key), self._encode_info(party)))
        except ValueError:
            raise ProtocolError("question", "the key to which its answer is to be sealed is none") from None

    def open_answer_share(self, party: int, message: object, key: X25519PrivateKey) -> Answer:
        """SECRET: the half in such a text. Raises `ProtocolError`: it is none, or changed, or is another server's."""
        found = report_set.open_share(_decode_base64(message), key, self._encode_info(party))
        facts, parted, numbers = (found or b"").partition(b"\n")
        if not parted or len(numbers) != 8 * self.question.answer_size:
            raise ProtocolError(f"server {party}", NONE, 502)
        return _parse_answer_share(party, facts, struct.unpack(f"<{self.question.answer_size}Q", numbers))

    def _encode_info(self, party: int) -> bytes:
        return _encode_hpke_info(b"half", party, {**self.question.fields, "word": self.nonce})


NONE = "its half of the answer is none, or was changed"
OTHERS = "their halves are from different sets of reports, or with different noise; nothing is read"


def _parse_answer_share(party: int, message: bytes, numbers: Sequence[int]) -> Answer:
    try:
        facts = json.loads(message)
        fits = type(facts["reports"]) is int and facts["reports"] > 0 and type(facts["dropped"]) is int
        both = tuple(facts["commitments"]), tuple(facts.get("bound", ()))
        half = Answer(tuple(numbers), facts["set"], facts["reports"], facts["dropped"], *both)
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits or any(type(name) is not str for name in (half.report_set, *half.commitments, *half.noise_hashes)):
        raise ProtocolError(f"server {party}", f"its half of the answer {UNLIKE}", 502)
    return half


@dataclass(frozen=True, slots=True, repr=False)
class SealedQuestion:
    """SECRET. One message of an analyst, and what opens its answer. It has no repr.

    Attributes:
        question: The message.
        party: The server that is asked.
        key: Opens both halves.
        answer_keys: What server 0 and server 1 are told.
    """

    question: QuestionMessage
    party: int
    key: X25519PrivateKey
    answer_keys: tuple[AnswerKey, AnswerKey]

    @classmethod
    def create(cls, question: QuestionMessage, party: int) -> Self:
        """With a new key, which is good for this message alone."""
        key = X25519PrivateKey.generate()
        digits = key.public_key().public_bytes_raw().hex()
        first, second = (AnswerKey(question, digits, secrets.token_hex(WORD)) for _ in range(HALVES))
        return cls(question, party, key, (first, second))

    def to_json(self, ticket: Ticket, servers: Sequence[Server]) -> bytes:
        """The message, with a letter for the other server."""
        other = 1 - self.party
        inside = {
            **self.answer_keys[other].fields,
            "nonce": self.question.nonce,
            "token": ticket.derive_bearer_token(other),
        }
        key = load_public_key(servers[other].hpke_key)
        letter = report_set.seal_share(json.dumps(inside).encode(), key, _encode_envelope_info(self.question, other))
        return self.question.to_json(**self.answer_keys[self.party].fields, letter=_encode_base64(letter))

    def open_answer_shares(self, message: bytes) -> tuple[Answer, Answer]:
        """SECRET: both halves in the answer.

        Raises:
            ProtocolAborted: it answers something else, or a half of it is none, or they are not of one set of reports
                and the same noise of both servers.
        """
        told = self.question.parse_reply(message, "server").get("halves")
        if not isinstance(told, list) or len(told) != HALVES:
            raise ProtocolError("server", f"its answer {UNLIKE}", 502)
        first, second = (
            reply.open_answer_share(party, half, self.key)
            for party, (reply, half) in enumerate(zip(self.answer_keys, told, strict=True))
        )
        if (first.provenance, first.dropped_count) != (second.provenance, second.dropped_count):
            raise ProtocolError("servers", OTHERS, 502)
        return first, second


def encode_sealed_answer(answer_key: AnswerKey, party: int, own: Answer, other: object) -> bytes:
    """Response of the server that was asked: its half, sealed now, and the other server's, as it came."""
    mine = answer_key.seal_answer_share(party, own)
    return answer_key.question.to_json(halves=[mine, other] if party == 0 else [other, mine])


def parse_envelope(stored: Mapping[str, Any]) -> str:
    """The letter in an analyst's message, which is handed on. Raises `ProtocolError`: there is none."""
    letter = stored.get("letter")
    if not isinstance(letter, str):
        raise ProtocolError("question", "it needs a letter for the other server")
    return letter


@dataclass(frozen=True, slots=True, repr=False)
class Envelope:
    """SECRET. An analyst's letter, as its server opened it. It has no repr.

    Attributes:
        answer_key: Key to which this server's half is sealed.
        token: The bearer token of the analyst for this server.
    """

    answer_key: AnswerKey
    token: str

    @classmethod
    def open_envelope(
        cls, stored: Mapping[str, Any], question: QuestionMessage, party: int, identity: Identity
    ) -> Self:
        """The letter that the other server hands on with a question.

        Raises:
            ProtocolAborted: there is none, or it is about another question, or for another server.
        """
        sealed = _decode_base64(parse_envelope(stored))
        found = report_set.open_share(sealed, identity.hpke_key, _encode_envelope_info(question, party))
        if found is None:
            raise ProtocolError(
                "question", f"its letter to server {party} was changed, or is for another question", 403
            )
        try:
            inside = json.loads(found)
            nonce, token = inside["nonce"], inside["token"]
        except (ValueError, KeyError, TypeError):
            nonce = token = None
        if not isinstance(nonce, str) or not isinstance(token, str):
            raise ProtocolError("question", f"its letter to server {party} {UNLIKE}")
        return cls(AnswerKey.from_fields(replace(question, nonce=nonce), inside), token)


def _encode_envelope_info(question: QuestionMessage, party: int) -> bytes:
    """Context of a letter: all of the message but its nonce, instead of which the other server has one of its own."""
    return _encode_hpke_info(b"letter", party, replace(question, nonce="").fields)


def _encode_hpke_info(what: bytes, party: int, facts: Mapping[str, object]) -> bytes:
    digest = sha256(json.dumps(facts, sort_keys=True).encode()).digest()
    return b"dpcurves " + what + b" 1\n" + bytes([party]) + digest


def _encode_base64(octets: bytes) -> str:
    return b64encode(octets).decode()


def _decode_base64(text: object) -> bytes:
    """Bytes of a text; none, where it is no such text."""
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
