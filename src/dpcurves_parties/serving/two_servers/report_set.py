"""Batches of sealed reports, sealing by HPKE (RFC 9180), and agreement on the reports that reached both servers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from itertools import groupby, pairwise
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


class ReportShare(NamedTuple):
    """Share of a report, sealed for a single server.

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
    reports: Sequence[ReportShare]


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
    reports = [ReportShare(message[start : start + ID], message[start + ID : start + record]) for start in starts]
    return Batch(contribution, Earlier(earlier), reports)


DIGEST = 16
RECORD = ID + DIGEST
NONE = "00" * NAME
OTHER = "the servers agreed on other sets of them or other noise; a store was put back, nothing is answered"

Listing = Mapping[bytes, bytes]
"""The digest of the public half of each report, by the report's id."""
Rising = Callable[[], Iterable[tuple[bytes, bytes]]]
"""Ids and digests of all reports, ids rising: read from the beginning each time, so that no server holds all."""


class ReportSet(NamedTuple):
    """Set of reports that both servers agree on.

    Attributes:
        name: The hash of the task, and of the ids and digests.
        reports: Number of reports that count.
        gone: Ids of this server's other reports.
    """

    name: str
    reports: int
    gone: Sequence[bytes] = ()


def digest_of(public: bytes) -> bytes:
    """Digest of the public half of a report."""
    return sha256(b"dpcurves report\n" + public).digest()[:DIGEST]


def whole(key: bytes, share: bytes) -> bytes:
    """SECRET: hash that tells whether a server has still the share that it got as the report `key`, seed and all."""
    return sha256(b"dpcurves share\n" + key + share).digest()


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


def named(task: str, reports: int, rising: Iterable[tuple[bytes, bytes]]) -> str:
    """Name of a set of so many reports."""
    name = Naming(task, reports)
    for key, digest in rising:
        name.add(key, digest)
    return name.hexdigest()


# Agreement without a listing of all: reports are parted by the first bits of their ids, and servers tell the hash of
# each part. Only parts in which they differ are listed: in two messages, whatever differs. Hashes take 0.5 MB of 10**6
# reports, and 34 MB of 2**25; a tree above them would save that, and take four messages to 22 where a report differs
# (`python benchmarks/two_servers.py --agreement`).
EACH = 64
"""Reports of a part, about: its hash takes a hundredth of their listing, and one report at one server lists few."""
MOST_BITS = 24


def bits_for(reports: int) -> int:
    """Bits by which so many reports are parted."""
    return min(MOST_BITS, (max(reports, 1) // EACH).bit_length())


def parts_of(rising: Iterable[tuple[bytes, bytes]], bits: int) -> Iterator[tuple[int, list[tuple[bytes, bytes]]]]:
    """Parts that are not empty, with their numbers."""
    for number, some in groupby(rising, lambda one: int.from_bytes(one[0][:4], "big") >> (32 - bits)):
        yield number, list(some)


def beginning(part: int, bits: int) -> bytes:
    """The first id of a part."""
    return (part << (8 * ID - bits)).to_bytes(ID, "big")


def hash_of_part(task: str, some: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Hash of a part of some reports, ids rising."""
    return sha256(b"dpcurves part 1\n" + bytes.fromhex(task) + b"".join(map(b"".join, some))).digest()


class Summary(NamedTuple):
    """Hashes of all parts of the reports of a server.

    Attributes:
        bits: Bits of ids by which they are parted.
        hashes: 32 bytes for each part.
    """

    bits: int
    hashes: bytes

    @classmethod
    def of(cls, task: str, rising: Iterable[tuple[bytes, bytes]], bits: int) -> Summary:
        """The summary of some reports."""
        hashes = bytearray(hash_of_part(task, ()) * 2**bits)
        for number, some in parts_of(rising, bits):
            hashes[NAME * number : NAME * (number + 1)] = hash_of_part(task, some)
        return cls(bits, bytes(hashes))

    def at(self, part: int) -> bytes:
        """The hash of a part."""
        return self.hashes[NAME * part : NAME * (part + 1)]


class Unlisted(Exception):
    """Error where servers differ in parts that were not listed. `parts` are their numbers."""

    def __init__(self, parts: Sequence[int]) -> None:
        super().__init__("parts are to be listed")
        self.parts = parts


def common(task: str, rising: Rising, expected: int, theirs: Summary, listed: Mapping[int, bytes]) -> ReportSet:
    """The reports that are at both servers. A report at one server only, or whose halves are not of one, is not.

    Args:
        task: Hash of the task.
        rising: The reports here.
        expected: Number of these; with another one it takes longer.
        theirs: Hashes of the parts of the other server's reports.
        listed: Listings of the other server's parts, as far as they are known.

    Raises:
        Unlisted: parts differ whose listings are not known.
    """
    unlisted, gone, count, name = list[int](), list[bytes](), 0, Naming(task, expected)
    for number, some in parts_of(rising(), theirs.bits):
        if hash_of_part(task, some) == theirs.at(number):
            counted = some
        elif number in listed:
            other = _halves(listed[number])
            counted = [(key, digest) for key, digest in some if other.get(key) == digest]
            gone += sorted({key for key, _ in some} - {key for key, _ in counted})
        else:
            unlisted.append(number)
            continue
        count += len(counted)
        for key, digest in counted:
            name.add(key, digest)
    if unlisted:
        raise Unlisted(unlisted)
    if count == expected:
        return ReportSet(name.hexdigest(), count, gone)
    missing = frozenset(gone)
    return ReportSet(named(task, count, (one for one in rising() if one[0] not in missing)), count, gone)


def packed(listed: Mapping[int, bytes]) -> bytes:
    """The bytes of listings of parts: number of the part, and of its reports; ids and digests."""
    head = struct.Struct(">II")
    return b"".join(head.pack(part, len(some) // RECORD) + some for part, some in sorted(listed.items()))


def unpacked(message: bytes) -> dict[int, bytes]:
    """The inverse of `packed`. Raises `ProtocolAborted`: it is none, or names a part or a report twice."""
    listed, place, head = dict[int, bytes](), 0, struct.Struct(">II")
    while place < len(message):
        if place + head.size > len(message):
            raise ProtocolAborted("peer", CUT)
        part, reports = head.unpack_from(message, place)
        place += head.size
        some = message[place : place + reports * RECORD]
        place += len(some)
        if len(some) != reports * RECORD:
            raise ProtocolAborted("peer", CUT)
        if part in listed or len(_halves(some)) != reports:
            raise ProtocolAborted("peer", "its listing names a part or a report twice")
        listed[part] = some
    return listed


CUT = "its listing of reports is cut off, or something follows it"


def _halves(some: bytes) -> Listing:
    starts = range(0, len(some), RECORD)
    return {some[start : start + ID]: some[start + ID : start + RECORD] for start in starts}


def runs(parts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of parts that follow each other.

    >>> list(runs([3, 4, 5, 9]))
    [(3, 5), (9, 9)]
    """
    rising = sorted(parts)
    ends = [number for number, (one, other) in enumerate(pairwise(rising), 1) if other != one + 1]
    for start, end in pairwise([0, *ends, len(rising)] if rising else []):
        yield rising[start], rising[end - 1]


class ClosingMessage(NamedTuple):
    """Message of a server to the other to close a task.

    Attributes:
        set: The hash of the reports that count, if its sender has written it down.
        commitments: Those of server 0 and server 1, as far as its sender knows them.
        summary: Hashes of parts of the reports that its sender has.
        listed: Listings of some of these parts.
    """

    set: str | None
    commitments: tuple[str | None, str | None]
    summary: Summary
    listed: Mapping[int, bytes]

    def to_bytes(self) -> bytes:
        """The message."""
        names = b"".join(bytes.fromhex(name or NONE) for name in (self.set, *self.commitments))
        return names + bytes([self.summary.bits]) + self.summary.hashes + packed(self.listed)

    @classmethod
    def from_bytes(cls, message: bytes) -> ClosingMessage:
        """The inverse of `to_bytes`. Raises `ProtocolAborted`: it is none, or lists a part or a report twice."""
        start = 3 * NAME + 1
        if len(message) < start or (bits := message[start - 1]) > MOST_BITS:
            raise ProtocolAborted("peer", CUT)
        end = start + NAME * 2**bits
        if len(message) < end:
            raise ProtocolAborted("peer", CUT)
        name, first, second = (message[place : place + NAME].hex() for place in range(0, 3 * NAME, NAME))
        summary = Summary(bits, message[start:end])
        return cls(_known(name), (_known(first), _known(second)), summary, unpacked(message[end:]))


def _known(name: str) -> str | None:
    return None if name == NONE else name
