"""Task documents and tickets, for all protocols of several parties.

A task is a public document, named by the hash of its text. All parties compare this hash, so they agree on the whole
text. A ticket is the secret of one participant: it has a token, and the document has the hash of the token.

    TaskDocument    base class of tasks with tickets
    Ticket          the secret of an owner or an analyst; each server sees one half of its token
    create_task     writes a document and its tickets
"""

from __future__ import annotations

import json
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.codec import STORED_CODEC
from dpcurves.drafts import write_whole

from .identity import require_new, write_public, write_secret
from .messages import ProtocolError


# Tickets: permissions to send reports, ask, or close a task. Servers know only their hashes.
class Role(Enum):
    """The permission that a ticket grants."""

    OWNER = "owner"
    ANALYST = "analyst"
    COORDINATOR = "coordinator"

    @property
    def bearer(self) -> str:
        """The holder of such a ticket, with its article, for messages: "an owner", "an analyst" or "a coordinator"."""
        return f"a {self.value}" if self is Role.COORDINATOR else f"an {self.value}"


@dataclass(frozen=True, slots=True, repr=False)
class Ticket:
    """SECRET. A token from which the bearer tokens for both servers are derived. It has no repr.

    Formal guarantees: each server receives one of two derived halves of the token, and the hash of the other; the
    document names the holder by a hash of both hashes (a hash tree with two leaves). To be authenticated by the other
    server, a party that knows the bearer token of one server would have to find a preimage of SHA-256, of 256 random
    bits.

    Attributes:
        task: Hash of the task.
        role: Permission of the holder.
        token: 256 random bits, never sent.
        proof_key: Key for proofs of answers, if the task has them; servers receive no function of it.
    """

    task: str
    role: Role
    token: str
    proof_key: str = ""

    def derive_bearer_token(self, party: int) -> str:
        """SECRET: derive the bearer token that the ticket's holder sends to one server; the other server cannot use it.

        It is the server's half of the token, a dot, and the hash of the other half.

        Args:
            party: Number of the server; 0 in a task of one server.
        """
        ticket_halves = _split_token(self.token)
        return f"{ticket_halves[party]}.{_hash_half(ticket_halves[1 - party])}"

    def write(self, path: Path) -> None:
        """Write this ticket, which is secret, to a new file that only its owner can read.

        Args:
            path: File to create.

        Raises:
            ValueError: the file exists, or the folder is not writable.
        """
        write_secret(path, json.dumps({"dpcurves": "ticket", **STORED_CODEC.encode_fields(self)}) + "\n")

    @classmethod
    def load(cls, path: str | Path, role: Role) -> Ticket:
        """Return the ticket stored in the file `path`, which must have the role `role`.

        Raises:
            ValueError: the file is unreadable, or has no ticket of this role. The error contains nothing of the file.
        """
        try:
            ticket = STORED_CODEC.decode_fields(cls, json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise ProtocolError(
                "ticket", f"{str(path)!r} cannot be read ({error.strerror}); name the ticket that you received"
            ) from None
        except (ValueError, KeyError, TypeError):
            raise ProtocolError("ticket", f"{str(path)!r} is not a ticket; name the ticket that you received") from None
        if ticket.role is not role:
            raise ProtocolError("ticket", f"must be the ticket of {role.bearer}; this one is of {ticket.role.bearer}")
        return ticket


def hash_token(token: str) -> str:
    """Return the public hash of a token, by which a task document names its holder."""
    first, second = _split_token(token)
    return _hash_pair(_hash_half(first), _hash_half(second))


def hash_from_bearer_token(bearer_token: str, party: int) -> str:
    """Return the public hash of a token from the bearer token for one server.

    Args:
        bearer_token: Result of `Ticket.derive_bearer_token`.
        party: Number of the server.
    """
    own_half, _, other_hash = bearer_token.partition(".")
    first, second = (_hash_half(own_half), other_hash) if party == 0 else (other_hash, _hash_half(own_half))
    return _hash_pair(first, second)


def find_bearer(task: TaskDocument, bearer_token: str, role: Role, party: int = 0) -> int:
    """Return the number of the ticket's holder in its role, from a bearer token; refuse unknown tokens.

    Args:
        task: The task, which has the hashes of all tokens.
        bearer_token: The bearer token for this server.
        role: Role that the ticket must have.
        party: Number of this server.

    Raises:
        ProtocolError: the token belongs to no holder of this role, or is for another server.
    """
    number = task.bearers[role].get(hash_from_bearer_token(bearer_token, party))
    if number is None:
        raise ProtocolError(
            "ticket", f"must be the ticket of {role.bearer} of this task; name the one that you received for it", 403
        )
    return number


def _split_token(token: str) -> tuple[str, str]:
    """SECRET: return the halves of a token for server 0 and server 1, of 64 hexadecimal digits each."""
    first, second = (sha256(f"dpcurves half {party}\n{token}".encode()).hexdigest() for party in (0, 1))
    return first, second


def _hash_half(ticket_half: str) -> str:
    """Return the hash of half a token, in 64 hexadecimal digits.

    Args:
        ticket_half: Half of a token, as text.
    """
    return sha256(b"dpcurves half\n" + ticket_half.encode()).hexdigest()


def _hash_pair(first: str, second: str) -> str:
    """Return the public hash of a token from the hashes of its two halves, in 64 hexadecimal digits.

    Args:
        first: Hash of the first half, in hexadecimal digits.
        second: Hash of the second half, in hexadecimal digits.
    """
    return sha256(f"dpcurves token\n{first}\n{second}".encode()).hexdigest()


LEAST_PACKED = 10_000
"""Token hashes in a task document from which they are stored as packed bytes instead of strings, which takes less
memory."""
_HASH_SIZE = 32
"""Bytes of a packed SHA-256 hash."""
_HASH = re.compile("[0-9a-f]{64}")
"""Text of a hash, 64 hexadecimal digits in lower case; lists with any other text are not packed."""


class PackedHashes(Sequence[str]):
    """Many hashes of 32 bytes in little memory, read as 64 hexadecimal digits.

    A hash takes 44 bytes; as a string in a dict it takes 220.
    """

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    @classmethod
    def from_names(cls, names: Sequence[str]) -> Sequence[str]:
        """Return hashes as a sequence that stores them as packed bytes, which saves memory if there are many; few
        ones, or strings that are not hashes, become a tuple.

        Args:
            names: Hashes in hexadecimal digits.

        >>> PackedHashes.from_names(["ab", "no hash"])
        ('ab', 'no hash')
        """
        if len(names) < LEAST_PACKED or any(type(name) is not str or not _HASH.fullmatch(name) for name in names):
            return tuple(names)
        packed = bytearray()
        for name in names:
            packed += bytes.fromhex(name)
        return cls(bytes(packed))

    def __len__(self) -> int:
        return len(self._packed) // _HASH_SIZE

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return self._packed[_HASH_SIZE * numbers : _HASH_SIZE * (numbers + 1)].hex()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedHashes):
            return self._packed == other._packed
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._packed)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Mapping from each hash, as 64 hexadecimal digits, to its index; the last index of equal hashes."""
        return _HashIndex(self._packed)


class _HashIndex(Mapping[str, int]):
    """Indices of packed hashes, searched by their first 8 bytes."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        begins = np.frombuffer(packed, ">u8")[:: _HASH_SIZE // 8]
        order = np.argsort(begins, kind="stable")
        self._begins = begins[order].astype(np.uint64)
        self._order = order.astype(np.uint32)

    def __getitem__(self, name: str) -> int:
        if _HASH.fullmatch(name):
            raw = bytes.fromhex(name)
            begin = np.uint64(int.from_bytes(raw[:8]))
            start, stop = (np.searchsorted(self._begins, begin, side) for side in ("left", "right"))
            for number in map(int, self._order[start:stop][::-1]):  # the last of equal hashes
                if self._packed[_HASH_SIZE * number : _HASH_SIZE * (number + 1)] == raw:
                    return number
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[str]:
        return iter(PackedHashes(self._packed))


class Document(ABC):
    """Public facts on which all parties agree, as immutable text: its hash identifies it.

    Attributes:
        PREFIX: Bytes that are hashed before the text.
    """

    PREFIX: ClassVar[bytes] = b""

    @abstractmethod
    def to_json(self) -> str:
        """Return the document as JSON text; equal facts have equal texts, so equal hashes."""

    @classmethod
    @abstractmethod
    def from_json(cls, text: str) -> Self:
        """Create the document's object from JSON text: the inverse of `to_json`.

        Raises:
            ValueError: the text is another document, or of another version.
        """

    @cached_property
    def hash(self) -> str:
        """SHA-256 of `PREFIX` and the document's text, in 64 hexadecimal digits. All parties name the document
        by it.
        """
        return sha256(self.PREFIX + self.to_json().encode()).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a document from a file, and return its object.

        Args:
            path: File with the document's JSON text.

        Raises:
            ValueError: the file cannot be read, or is another document.
        """
        return cls.from_json(read_document_text(path))

    def write(self, path: str | Path) -> None:
        """Write the document to a file, whole or not at all.

        Args:
            path: File to write; an existing one is replaced.

        Raises:
            ValueError: the file cannot be written.
        """
        try:
            write_whole(path, self.to_json() + "\n")
        except OSError as error:
            raise InvalidArgument(
                "out", f"the file cannot be written ({error.strerror}); name a file in a folder that you may write to"
            ) from None


class TaskDocument(Document):
    """A task as a document, with the hashes of its tickets.

    Attributes:
        tokens: Hashes of the tokens of each role. Their order numbers the holders.
        KIND: Kind of the document, in its first field.
        VERSION: Version of the protocol.
    """

    PREFIX: ClassVar[bytes] = b"dpcurves task\n"

    tokens: Mapping[Role, Sequence[str]]
    KIND: ClassVar[str]
    VERSION: ClassVar[int]

    @cached_property
    def bearers(self) -> Mapping[Role, Mapping[str, int]]:
        """Numbers of the ticket holders, from 0 within each role, by role and by public hash of the token."""
        numbers_by_role: dict[Role, Mapping[str, int]] = {}
        for role in Role:
            hashes = self.tokens.get(role, ())
            if isinstance(hashes, PackedHashes):
                numbers_by_role[role] = hashes.positions
            else:
                numbers_by_role[role] = {token_hash: number for number, token_hash in enumerate(hashes)}
        return numbers_by_role

    @abstractmethod
    def to_fields(self) -> Mapping[str, Any]:
        """Return the fields of the document besides kind, version and tokens, as plain objects."""

    @classmethod
    @abstractmethod
    def from_fields(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        """Create the document's object from its parsed JSON fields: the inverse of `to_fields`.

        Args:
            stored: Fields of the document.
            tokens: Hashes of tokens by role.

        Raises:
            KeyError, TypeError, ValueError: fields are missing or invalid.
        """

    def to_json(self) -> str:
        """Return the whole document as JSON text; equal tasks have equal texts, so equal hashes."""
        return "".join(self._iterate_json())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the prefix and the document's text, in 64 hexadecimal digits. Tickets and messages name the task
        by it.
        """
        digest = sha256(self.PREFIX)
        for piece in self._iterate_json():
            digest.update(piece.encode())
        return digest.hexdigest()

    def _iterate_json(self) -> Iterator[str]:
        """Iterate over the text of the document, so that it is not held twice: with a million tickets it has 71 MB."""
        tokens = {role.value: _LazyList(self.tokens.get(role, ())) for role in Role}
        head = {"dpcurves": self.KIND, "version": self.VERSION, "tokens": tokens}
        return json.JSONEncoder(indent=1, sort_keys=True).iterencode({**self.to_fields(), **head})

    def _matches_text(self, text: str) -> bool:
        """Return True if the text is what `to_json` writes, up to white space around it."""
        position = len(text) - len(text.lstrip())
        for piece in self._iterate_json():
            if not text.startswith(piece, position):
                return False
            position += len(piece)
        return not text[position:].strip()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the task that a document describes, as `to_json` wrote it.

        Raises:
            ValueError: the text is another document, or of another version, or differs from what `to_json` would write.
        """
        task = cls._parse_json(text)
        if not task._matches_text(text):
            raise ProtocolError(
                "task",
                "the document was changed: a field differs from what this version of dpcurves "
                "writes; ask its author for "
                "a new copy",
            )
        return task

    @classmethod
    def _parse_json(cls, text: str) -> Self:
        """Return the task that a JSON document describes, without comparing its text with what `to_json` would write.

        Args:
            text: The document.

        Raises:
            ProtocolError: the document is of another kind or version.
            InvalidArgument: a field is invalid.
        """
        try:
            stored = json.loads(text)
            if stored["dpcurves"] != cls.KIND:
                raise KeyError("dpcurves")
            if stored["version"] != cls.VERSION:
                rule = (
                    f"is of version {stored['version']}, and this dpcurves reads {cls.VERSION}; use the "
                    "version that wrote it"
                )
                raise ProtocolError("task", rule)
            return cls.from_fields(
                stored, {role: PackedHashes.from_names(stored["tokens"][role.value]) for role in Role}
            )
        except InvalidArgument:
            raise
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
            rule = f"the file is not a {cls.KIND} document; name the one that you received"
            raise ProtocolError("task", rule) from None


class _LazyList(list[str]):
    """List whose items are made when JSON is written."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names[:1])  # the encoder only checks whether it is empty
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


def read_document_text(path: str | Path) -> str:
    """Return the text of a task document from its file.

    Args:
        path: File of UTF-8 text.

    Raises:
        ValueError: the file cannot be read, or is no text.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is not text")
        raise ProtocolError(
            "task", f"{str(path)!r} cannot be read ({reason}); name the document that you received"
        ) from None


def parse_task_type(text: str) -> str:
    """Return the kind in the first field of a document; empty if it is not a task document.

    Args:
        text: Any text.

    Returns:
        Value of the field ``dpcurves``; empty also for invalid JSON.
    """
    try:
        kind = json.loads(text)["dpcurves"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return kind if isinstance(kind, str) else ""


# Creation of a task with its tickets.
NO_PROOFS: Mapping[tuple[Role, int], str] = MappingProxyType({})
"""No additional secrets in tickets: the default for tasks whose answers are not proved."""
Draft = TypeVar("Draft", bound=TaskDocument)


def create_task(
    draft: Draft,
    numbers: Mapping[Role, int],
    document: Path,
    tickets: Path,
    proofs: Mapping[tuple[Role, int], str] = NO_PROOFS,
) -> Draft:
    """Generate tokens, and write the task document and a ticket for each participant: ``owner-1``,
    ``analyst-1``, ...

    Args:
        draft: The task, without tokens.
        numbers: Number of participants by role.
        document: Path of the document.
        tickets: Folder of the tickets; created if missing.
        proofs: Secrets to put into tickets, by role and number from 0.

    Returns:
        The task with the hashes of all tokens.

    Raises:
        ValueError: a file of this name exists, or a folder is not writable; or a role has no participant.
    """
    if any(number < 1 for number in numbers.values()):
        raise InvalidArgument(
            "owners, analysts", "must be at least one owner and one analyst; give --owners and --analysts above 0"
        )
    tokens = {role: [secrets.token_hex(32) for _ in range(numbers[role])] for role in Role}
    hashes = {role: tuple(hash_token(token) for token in tokens[role]) for role in Role}
    task = draft.from_fields(draft.to_fields(), hashes)
    try:
        tickets.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            "tickets", f"{str(tickets)!r} cannot be made ({error.strerror}); name another folder"
        ) from None
    files = {}
    for role in Role:
        for number, token in enumerate(tokens[role]):
            ticket = Ticket(task.hash, role, token, proofs.get((role, number), ""))
            files[tickets / f"{role.value}-{number + 1}"] = ticket
    for file in files:
        require_new(file)
    write_public(document, task.to_json() + "\n")
    for file, ticket in files.items():
        ticket.write(file)
    return task
