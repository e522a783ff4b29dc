"""Batches of sealed reports, sealing by HPKE (RFC 9180), and the intersection of the reports of both servers."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..messages import ProtocolAborted

# Shares sealed to one server, by HPKE (RFC 9180): X25519, HKDF-SHA256, AES-128-GCM, one message each.
OVERHEAD = 32 + 16
"""Bytes that sealing adds: a key of its own, and a tag."""
_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


def public_key(digits: str) -> X25519PublicKey:
    """The key that a task names. Raises `ValueError`: it is none."""
    try:
        return X25519PublicKey.from_public_bytes(bytes.fromhex(digits))
    except ValueError:
        raise ProtocolAborted("task", "a server's sealing key is no X25519 key") from None


def sealed(share: bytes, key: X25519PublicKey, place: bytes) -> bytes:
    """Encrypt a share (HPKE) so that only the holder of the key opens it, and only at `place`."""
    return _SUITE.encrypt(share, key, place)


def opened(message: bytes, key: X25519PrivateKey, place: bytes) -> bytes | None:
    """The share; None: it was sealed to another key or place, or a bit has changed."""
    try:
        return _SUITE.decrypt(message, key, place)
    except (InvalidTag, ValueError):
        return None


def place_of(task: str, party: int, contribution: bytes, report: bytes) -> bytes:
    """Context that a sealed share is bound to: task, party, contribution and report."""
    return b"dpcurves report 2\n" + bytes.fromhex(task) + bytes([party]) + contribution + report


# A batch of sealed reports on its way to one server: a header, then records of one size. Nothing may follow.
MAGIC = b"DPCF"
FORMAT = 2
ID = 16
NAME = 32
MOST_REPORTS = 4096
LARGEST_BATCH = 2**23
"""Bytes."""
LARGEST_SEALED = 2**16 - 1
"""Bytes of a sealed share, whose number has two bytes."""
_HEADER = struct.Struct(f"<4sBBBHI{NAME}s{NAME}s")


class Report(NamedTuple):
    """Report for a single server.

    Attributes:
        id: 16 bytes that the owner drew; the same at both servers.
        sealed: The share, that only this server opens.
    """

    id: bytes
    sealed: bytes


class Earlier(Enum):
    """Policy for other reports that were sent under the same ticket before."""

    STAYS = 0
    """Earlier reports stay, and these are refused: one ticket is good for one contribution."""
    GIVES_WAY = 1
    """Earlier reports are forgotten, as long as the task is open."""


class Batch(NamedTuple):
    """Some reports of one contribution, for one server.

    Attributes:
        contribution: 32 bytes that name all that an owner contributes: the same in all of its batches, at both servers.
        earlier: Policy for another contribution under the same ticket.
        reports: Reports, each of the same size.
    """

    contribution: bytes
    earlier: Earlier
    reports: Sequence[Report]


def packed_batch(task: str, party: int, batch: Batch) -> bytes:
    """The bytes of a batch."""
    size, count = len(batch.reports[0].sealed), len(batch.reports)
    facts = party, batch.earlier.value, size, count, bytes.fromhex(task), batch.contribution
    return _HEADER.pack(MAGIC, FORMAT, *facts) + b"".join(report.id + report.sealed for report in batch.reports)


def unpacked_batch(message: bytes, task: str, party: int, size: int) -> Batch:
    """The batch in a message for this task and party, whose sealed shares have `size` bytes.

    Raises:
        ProtocolAborted: it is another message, or cut off, or goes on.
    """
    if len(message) < _HEADER.size:
        raise ProtocolAborted("reports", "the batch is cut off")
    magic, version, to, earlier, each, count, name, contribution = _HEADER.unpack_from(message)
    if magic != MAGIC or version != FORMAT or earlier not in (0, 1):
        raise ProtocolAborted("reports", f"this is no batch of format {FORMAT}")
    if name.hex() != task or to != party:
        raise ProtocolAborted("reports", "the batch is for another task or server")
    if each != size or not 1 <= count <= MOST_REPORTS:
        raise ProtocolAborted("reports", f"1 to {MOST_REPORTS} reports of {size} bytes are needed")
    record = ID + size
    if len(message) != _HEADER.size + count * record:
        raise ProtocolAborted("reports", "the batch is cut off, or something follows it")
    starts = range(_HEADER.size, len(message), record)
    reports = [Report(message[start : start + ID], message[start + ID : start + record]) for start in starts]
    return Batch(contribution, Earlier(earlier), reports)


DIGEST = 16
NONE = "00" * NAME
OTHER = "the servers agreed on other sets of them or other noise; a store was put back, nothing is answered"

Listing = Mapping[bytes, bytes]
"""The digest of the public half of each report, by the report's id."""


class ReportSet(NamedTuple):
    """Set of reports that both servers agree on.

    Attributes:
        ids: The names of the reports that count, rising.
        name: The hash of the task, and of the ids and digests.
    """

    ids: tuple[bytes, ...]
    name: str


def digest_of(public: bytes) -> bytes:
    """Digest of the public half of a report."""
    return sha256(b"dpcurves report\n" + public).digest()[:DIGEST]


def whole(key: bytes, share: bytes) -> bytes:
    """SECRET: hash that tells whether a server has still the share that it got as the report `key`, seed and all."""
    return sha256(b"dpcurves share\n" + key + share).digest()


def common(task: str, ours: Listing, theirs: Listing) -> ReportSet:
    """The reports that are in both listings. A report at one server only, or whose halves are not of one, is not."""
    return named(task, {key: digest for key, digest in ours.items() if theirs.get(key) == digest})


def named(task: str, listing: Listing) -> ReportSet:
    """Set of all reports of a listing."""
    ids, name = tuple(sorted(listing)), Naming(task, len(listing))
    for key in ids:
        name.add(key, listing[key])
    return ReportSet(ids, name.hexdigest())


class Naming:
    """Hash that names a set of so many reports, whose ids and digests come one by one, ids rising."""

    def __init__(self, task: str, reports: int) -> None:
        self._hash = sha256(b"dpcurves report set 1\n" + bytes.fromhex(task) + reports.to_bytes(4, "big"))

    def add(self, key: bytes, digest: bytes) -> None:
        """Add the next report."""
        self._hash.update(key + digest)

    def hexdigest(self) -> str:
        """The name, once all have come."""
        return self._hash.hexdigest()


class Told(NamedTuple):
    """Message of a server to the other to close a task.

    Attributes:
        set: The hash of the reports that count, if its sender has written it down.
        commitments: Those of server 0 and server 1, as far as its sender knows them.
        listing: The reports that its sender has.
    """

    set: str | None
    commitments: tuple[str | None, str | None]
    listing: Listing

    def to_bytes(self) -> bytes:
        """The message."""
        return b"".join(bytes.fromhex(name or NONE) for name in (self.set, *self.commitments)) + packed(self.listing)

    @classmethod
    def from_bytes(cls, message: bytes) -> Told:
        """The inverse of `to_bytes`. Raises `ProtocolAborted`: as `unpacked`."""
        listing = unpacked(message[3 * NAME :])
        name, first, second = (message[start : start + NAME].hex() for start in range(0, 3 * NAME, NAME))
        return cls(_known(name), (_known(first), _known(second)), listing)


def _known(name: str) -> str | None:
    return None if name == NONE else name


def packed(listing: Listing) -> bytes:
    """The bytes of a listing."""
    return len(listing).to_bytes(4, "big") + b"".join(key + digest for key, digest in listing.items())


def unpacked(message: bytes) -> dict[bytes, bytes]:
    """The listing in a message. Raises `ProtocolAborted`: it is none, or names a report twice."""
    record = ID + DIGEST
    if len(message) < 4 or len(message) != 4 + record * int.from_bytes(message[:4], "big"):
        raise ProtocolAborted("peer", "its listing of reports is cut off, or something follows it")
    listing = dict(_records(message, record))
    if len(listing) != (len(message) - 4) // record:
        raise ProtocolAborted("peer", "its listing names a report twice")
    return listing


def _records(message: bytes, record: int) -> Iterable[tuple[bytes, bytes]]:
    for start in range(4, len(message), record):
        yield message[start : start + ID], message[start + ID : start + record]
