"""End-to-end encryption of answers of two servers (HPKE): questions with a letter, and answer shares for the analyst.

Two servers hold secret shares of the records; an answer is the sum of both servers' *answer shares*. *Sealed* means
encrypted with HPKE to a public key and bound to a context.

    1. `SealedQuestion.create` generates a key pair for one question; `to_json` encodes the message to one server. It
       holds the public key, and a letter for the other server that is sealed to that server.
    2. `Envelope.open_envelope`: the other server opens the letter, which the first one forwards.
    3. `AnswerKey.seal_answer_share`: each server seals its answer share to the key that it received.
    4. `SealedQuestion.open_answer_shares`: the analyst opens both, and adds them.

Formal guarantees: assume that HPKE is IND-CCA secure, and that a ticket cannot be forged (`Ticket`).

- *No server sees a result*: a server with any behaviour sees, of the other's answer share, a message sealed to the
  analyst's key. It cannot substitute its own key: the letter is sealed as a whole, and without a token for the other
  server, which only the analyst can derive, the other server seals nothing. A letter is bound to the task, the
  thresholds, the question and the server, so it is valid for this question alone; if it is sent again, the same answer
  share is sealed to the same analyst.
- *No server can impersonate the other*: the context of a sealed share includes a nonce that only the analyst and the
  receiving server know.
- *Sizes reveal nothing*: sealed shares with equal numbers of values have equal lengths.
- *Not guaranteed*: correct counts if a server lies about its own answer share.
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
from ..messages import WRONG_FORM_RULE, ProtocolError
from ..task_document import Ticket
from . import report_set
from .report_set import load_public_key
from .task_types import Answer, QuestionMessage

NONCE_SIZE = 16
"""Bytes of the random nonce that an analyst sends to a server, to which the server's answer share is bound; a share for
another nonce cannot be opened."""
ANSWER_SHARES = 2
"""Answer shares of one answer, one of each server; an answer with another number is refused."""


@dataclass(frozen=True, slots=True, repr=False)
class AnswerKey:
    """SECRET. The key to which one server seals its answer share for one message. It has no repr.

    Attributes:
        question: The analyst's message.
        key: X25519 key of the analyst, in hexadecimal digits.
        nonce: 16 random bytes in hexadecimal digits, known to the analyst and this server only.
    """

    question: QuestionMessage
    key: str
    nonce: str

    @classmethod
    def from_fields(cls, question: QuestionMessage, stored: Mapping[str, Any]) -> Self:
        """Parse the key from the fields of a message or letter.

        Args:
            question: The analyst's message.
            stored: Parsed fields, with ``key`` and ``word`` (the nonce).

        Raises:
            ProtocolError: the key or the nonce is missing.
        """
        key = stored.get("key")
        nonce = stored.get("word")
        if not isinstance(key, str) or not isinstance(nonce, str) or len(nonce) != 2 * NONCE_SIZE:
            raise ProtocolError(
                "question",
                "must hold a key to which the answer is sealed, and a nonce; ask with the version of "
                "dpcurves that the servers use",
            )
        return cls(question, key, nonce)

    @property
    def fields(self) -> dict[str, str]:
        """Key and nonce as the message fields ``key`` and ``word``, in hexadecimal digits."""
        return {"key": self.key, "word": self.nonce}

    def seal_answer_share(self, party: int, answer_share: Answer) -> str:
        """Seal an answer share, so that only the analyst can open it.

        Args:
            party: Number of this server, 0 or 1.
            answer_share: Answer share of this server.

        Returns:
            The sealed bytes as Base64 text.

        Raises:
            ProtocolError: the key is invalid.
        """
        fields = {**answer_share.provenance, "dropped": answer_share.dropped_count}
        packed = (
            json.dumps(fields).encode() + b"\n" + struct.pack(f"<{len(answer_share.values)}Q", *answer_share.values)
        )
        try:
            return _encode_base64(report_set.seal_share(packed, load_public_key(self.key), self._encode_info(party)))
        except ValueError:
            raise ProtocolError(
                "question",
                "holds no valid key to which the answer can be sealed; send it again with a program of the same "
                "version",
            ) from None

    def open_answer_share(self, party: int, message: object, key: X25519PrivateKey) -> Answer:
        """SECRET: decrypt an answer share that a server has sealed to the analyst.

        Args:
            party: Number of the server that must have sealed it.
            message: Base64 text of the sealed share.
            key: Private key of the analyst.

        Raises:
            ProtocolError: the share is invalid, was changed, or was sealed by another server.
        """
        plaintext = report_set.open_share(_decode_base64(message), key, self._encode_info(party))
        fields, parted, numbers = (plaintext or b"").partition(b"\n")
        if not parted or len(numbers) != 8 * self.question.answer_size:
            raise ProtocolError(f"server {party}", MISSING_ANSWER_SHARE, 502)
        return _parse_answer_share(party, fields, struct.unpack(f"<{self.question.answer_size}Q", numbers))

    def _encode_info(self, party: int) -> bytes:
        """Return the HPKE context of the sealed answer share of one server (0 or 1): its number, question and nonce.

        Args:
            party: Number of the server, 0 or 1.
        """
        return _encode_hpke_info(b"half", party, {**self.question.fields, "word": self.nonce})


# Rules of errors.
MISSING_ANSWER_SHARE = "the encrypted answer share is missing or was changed; ask again"
"""Error message if a server's answer share cannot be decrypted or has the wrong length."""
DIFFERENT_REPORT_SETS = (
    "the answer shares are of different report sets or noise, so the answer was discarded; ask "
    "both operators whether a store was restored"
)
"""Error message if the servers' answer shares name different report sets, noise, or numbers of dropped reports."""


def _parse_answer_share(party: int, message: bytes, numbers: Sequence[int]) -> Answer:
    """SECRET: parse a server's decrypted answer share: its numbers and the report set that they come from.

    Args:
        party: Number of the server, for errors.
        message: JSON of the fields other than the numbers.
        numbers: The server's shares of the values, modulo 2**64.

    Raises:
        ProtocolError: a field is missing or of another type.
    """
    try:
        fields = json.loads(message)
        fits = type(fields["reports"]) is int and fields["reports"] > 0 and type(fields["dropped"]) is int
        hashes = tuple(fields["commitments"]), tuple(fields.get("bound", ()))
        answer = Answer(tuple(numbers), fields["set"], fields["reports"], fields["dropped"], *hashes)
    except (ValueError, KeyError, TypeError, RecursionError):
        fits = False
    if not fits or any(
        type(name) is not str for name in (answer.report_set, *answer.commitments, *answer.noise_hashes)
    ):
        raise ProtocolError(f"server {party}", f"the answer share {WRONG_FORM_RULE}", 502)
    return answer


@dataclass(frozen=True, slots=True, repr=False)
class SealedQuestion:
    """SECRET. One message of an analyst, and the key that opens its answer. It has no repr.

    Attributes:
        question: The message.
        party: Number of the server that is asked.
        key: Private key that opens both answer shares.
        answer_keys: Keys and nonces for server 0 and server 1.
    """

    question: QuestionMessage
    party: int
    key: X25519PrivateKey
    answer_keys: tuple[AnswerKey, AnswerKey]

    @classmethod
    def create(cls, question: QuestionMessage, party: int) -> Self:
        """Create a sealed question with a new key pair, used for this question alone.

        Args:
            question: The message.
            party: Number of the server that is asked, 0 or 1.
        """
        key = X25519PrivateKey.generate()
        digits = key.public_key().public_bytes_raw().hex()
        first, second = (AnswerKey(question, digits, secrets.token_hex(NONCE_SIZE)) for _ in range(ANSWER_SHARES))
        return cls(question, party, key, (first, second))

    def to_json(self, ticket: Ticket, servers: Sequence[Server]) -> bytes:
        """Encode the message for the server that is asked, with a letter for the other server.

        Args:
            ticket: The analyst's ticket, from which the token for the other server is derived.
            servers: Public identities of both servers.
        """
        peer_party = 1 - self.party
        envelope_facts = {
            **self.answer_keys[peer_party].fields,
            "nonce": self.question.nonce,
            "token": ticket.derive_bearer_token(peer_party),
        }
        key = load_public_key(servers[peer_party].hpke_key)
        letter = report_set.seal_share(
            json.dumps(envelope_facts).encode(), key, _encode_envelope_info(self.question, peer_party)
        )
        return self.question.to_json(**self.answer_keys[self.party].fields, letter=_encode_base64(letter))

    def open_answer_shares(self, message: bytes) -> tuple[Answer, Answer]:
        """SECRET: decrypt the answer shares of both servers from an answer.

        Args:
            message: The answer as JSON, with one sealed share of each server.

        Returns:
            Share of server 0, then share of server 1.

        Raises:
            ProtocolError: the answer does not match the question, or a share is invalid, or shares differ in the report
                set or noise commitments.
        """
        sealed_shares = self.question.parse_reply(message, "server").get("halves")
        if not isinstance(sealed_shares, list) or len(sealed_shares) != ANSWER_SHARES:
            raise ProtocolError("server", f"the answer {WRONG_FORM_RULE}", 502)
        first, second = (
            reply.open_answer_share(party, sealed_share, self.key)
            for party, (reply, sealed_share) in enumerate(zip(self.answer_keys, sealed_shares, strict=True))
        )
        if (first.provenance, first.dropped_count) != (second.provenance, second.dropped_count):
            raise ProtocolError("servers", DIFFERENT_REPORT_SETS, 502)
        return first, second


def encode_sealed_answer(answer_key: AnswerKey, party: int, own_answer: Answer, peer_answer: object) -> bytes:
    """Encode the response of the server that was asked, with both sealed answer shares.

    Args:
        answer_key: Key to which this server's share is sealed.
        party: Number of this server.
        own_answer: Answer share of this server, which is sealed now.
        peer_answer: The other server's sealed share, as received.
    """
    sealed_share = answer_key.seal_answer_share(party, own_answer)
    return answer_key.question.to_json(
        halves=[sealed_share, peer_answer] if party == 0 else [peer_answer, sealed_share]
    )


def parse_envelope(stored: Mapping[str, Any]) -> str:
    """Return the sealed letter in an analyst's message, which the server forwards.

    Args:
        stored: Parsed fields of the message.

    Raises:
        ProtocolError: the letter is missing.
    """
    letter = stored.get("letter")
    if not isinstance(letter, str):
        raise ProtocolError(
            "question", "must hold a letter for the other server; ask with the version of dpcurves that the servers use"
        )
    return letter


@dataclass(frozen=True, slots=True, repr=False)
class Envelope:
    """SECRET. An analyst's letter, after its server has opened it. It has no repr.

    Attributes:
        answer_key: Key to which this server's answer share is sealed.
        token: Bearer token of the analyst for this server.
    """

    answer_key: AnswerKey
    token: str

    @classmethod
    def open_envelope(
        cls, stored: Mapping[str, Any], question: QuestionMessage, party: int, identity: Identity
    ) -> Self:
        """Open the letter that the other server forwards with a question.

        Args:
            stored: Parsed fields of the forwarded message.
            question: The analyst's question.
            party: Number of this server.
            identity: Keys of this server.

        Raises:
            ProtocolError: the letter is missing, or about another question, or for another server.
        """
        sealed = _decode_base64(parse_envelope(stored))
        plaintext = report_set.open_share(sealed, identity.hpke_key, _encode_envelope_info(question, party))
        if plaintext is None:
            raise ProtocolError(
                "question", f"the letter to server {party} was changed, or is for another question; ask again", 403
            )
        try:
            fields = json.loads(plaintext)
            nonce, token = fields["nonce"], fields["token"]
        except (ValueError, KeyError, TypeError, RecursionError):
            nonce = token = None
        if not isinstance(nonce, str) or not isinstance(token, str):
            raise ProtocolError("question", f"the letter to server {party} {WRONG_FORM_RULE}")
        return cls(AnswerKey.from_fields(replace(question, nonce=nonce), fields), token)


def _encode_envelope_info(question: QuestionMessage, party: int) -> bytes:
    """Return the HPKE context of a letter: all fields of the message except the nonce, which differs between servers.

    Args:
        question: The analyst's message.
        party: Number of the server that may open the letter.
    """
    return _encode_hpke_info(b"letter", party, replace(question, nonce="").fields)


def _encode_hpke_info(purpose: bytes, party: int, fields: Mapping[str, object]) -> bytes:
    """Return an HPKE context: a label for the purpose and the server, and a hash of some fields.

    Args:
        purpose: ``half`` for answer shares, ``letter`` for letters.
        party: Number of the server.
        fields: Fields to which the sealed message is bound.
    """
    digest = sha256(json.dumps(fields, sort_keys=True).encode()).digest()
    return b"dpcurves " + purpose + b" 1\n" + bytes([party]) + digest


def _encode_base64(octets: bytes) -> str:
    """Return bytes as Base64 text.

    Args:
        octets: Bytes to encode; none give an empty text.
    """
    return b64encode(octets).decode()


def _decode_base64(text: object) -> bytes:
    """Return the bytes of a Base64 text; empty for invalid texts."""
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
