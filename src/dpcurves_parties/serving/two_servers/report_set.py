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

from ..messages import ProtocolError

# Shares sealed to one server, by HPKE (RFC 9180): X25519, HKDF-SHA256, AES-128-GCM, one message each.
OVERHEAD = 32 + 16
"""Bytes that sealing adds: a key of its own, and a tag."""
_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


def load_public_key(digits: str) -> X25519PublicKey:
    """The key that a task names. Raises `ValueError`: it is none."""
    try:
        return X25519PublicKey.from_public_bytes(bytes.fromhex(digits))
    except ValueError:
        raise ProtocolError("task", "a server's sealing key is no X25519 key") from None


def seal_share(share: bytes, key: X25519PublicKey, info: bytes) -> bytes:
    """Encrypt a share (HPKE) so that only the holder of the key opens it, and only at `info`."""
    return _SUITE.encrypt(share, key, info)


def open_share(message: bytes, key: X25519PrivateKey, info: bytes) -> bytes | None:
    """The share; None: it was sealed to another key or place, or a bit has changed."""
    try:
        return _SUITE.decrypt(message, key, info)
    except (InvalidTag, ValueError):
        return None


def encode_share_info(task: str, party: int, contribution: bytes, report: bytes) -> bytes:
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
        encrypted_share: The share, that only this server opens.
    """

    id: bytes
    encrypted_share: bytes


class EarlierPolicy(Enum):
    """Policy for other reports that were sent under the same ticket before."""

    STAYS = 0
    """Earlier reports stay, and these are refused: one ticket is good for one contribution."""
    GIVES_WAY = 1
    """Earlier reports are forgotten, as long as the task is open."""


class Batch(NamedTuple):
    """Some reports of one contribution, for one server.

    Attributes:
        contribution: 32 bytes that name all that an owner contributes: the same in all of its batches, at both servers.
        earlier_policy: Policy for another contribution under the same ticket.
        reports: Reports, each of the same size.
    """

    contribution: bytes
    earlier_policy: EarlierPolicy
    reports: Sequence[ReportShare]


def encode_batch(task: str, party: int, batch: Batch) -> bytes:
    """The bytes of a batch."""
    size, count = len(batch.reports[0].encrypted_share), len(batch.reports)
    facts = party, batch.earlier_policy.value, size, count, bytes.fromhex(task), batch.contribution
    return _HEADER.pack(MAGIC, FORMAT, *facts) + b"".join(
        report.id + report.encrypted_share for report in batch.reports
    )


def parse_batch(message: bytes, task: str, party: int, size: int) -> Batch:
    """The batch in a message for this task and party, whose sealed shares have `size` bytes.

    Raises:
        ProtocolAborted: it is another message, or cut off, or goes on.
    """
    if len(message) < _HEADER.size:
        raise ProtocolError("reports", "the batch is cut off")
    magic, version, to, earlier, each, count, name, contribution = _HEADER.unpack_from(message)
    if magic != MAGIC or version != FORMAT or earlier not in (0, 1):
        raise ProtocolError("reports", f"this is no batch of format {FORMAT}")
    if name.hex() != task or to != party:
        raise ProtocolError("reports", "the batch is for another task or server")
    if each != size or not 1 <= count <= MOST_REPORTS:
        raise ProtocolError("reports", f"1 to {MOST_REPORTS} reports of {size} bytes are needed")
    record = ID + size
    if len(message) != _HEADER.size + count * record:
        raise ProtocolError("reports", "the batch is cut off, or something follows it")
    starts = range(_HEADER.size, len(message), record)
    reports = [ReportShare(message[start : start + ID], message[start + ID : start + record]) for start in starts]
    return Batch(contribution, EarlierPolicy(earlier), reports)


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
        dropped_ids: Ids of this server's other reports.
    """

    name: str
    reports: int
    dropped_ids: Sequence[bytes] = ()


def digest_public_share(public: bytes) -> bytes:
    """Digest of the public half of a report."""
    return sha256(b"dpcurves report\n" + public).digest()[:DIGEST]


def hash_share(key: bytes, share: bytes) -> bytes:
    """SECRET: hash that tells whether a server has still the share that it got as the report `key`, seed and all."""
    return sha256(b"dpcurves share\n" + key + share).digest()


class ReportSetHash:
    """Hash that names a set of so many reports, whose ids and digests come one by one, ids rising."""

    def __init__(self, task: str, reports: int) -> None:
        self._hash = sha256(b"dpcurves report set 1\n" + bytes.fromhex(task) + reports.to_bytes(4, "big"))

    def add(self, key: bytes, digest: bytes) -> None:
        """Add the next report."""
        self._hash.update(key + digest)

    def hexdigest(self) -> str:
        """The name, once all have come."""
        return self._hash.hexdigest()


def hash_report_set(task: str, reports: int, sorted_reports: Iterable[tuple[bytes, bytes]]) -> str:
    """Name of a set of so many reports."""
    name = ReportSetHash(task, reports)
    for key, digest in sorted_reports:
        name.add(key, digest)
    return name.hexdigest()


# Agreement without a listing of all: reports are parted by the first bits of their ids, and servers tell the hash of
# each part. Only parts in which they differ are listed: in two messages, whatever differs. Hashes take 0.5 MB of 10**6
# reports, and 34 MB of 2**25; a tree above them would save that, and take four messages to 22 where a report differs
# (`python benchmarks/two_servers.py --agreement`).
EACH = 64
"""Reports of a part, about: its hash takes a hundredth of their listing, and one report at one server lists few."""
MOST_BITS = 24


def choose_prefix_bits(reports: int) -> int:
    """Bits by which so many reports are parted."""
    return min(MOST_BITS, (max(reports, 1) // EACH).bit_length())


def split_by_prefix(
    sorted_reports: Iterable[tuple[bytes, bytes]], bits: int
) -> Iterator[tuple[int, list[tuple[bytes, bytes]]]]:
    """Parts that are not empty, with their numbers."""
    for number, some in groupby(sorted_reports, lambda one: int.from_bytes(one[0][:4], "big") >> (32 - bits)):
        yield number, list(some)


def find_first_id(part: int, bits: int) -> bytes:
    """The first id of a part."""
    return (part << (8 * ID - bits)).to_bytes(ID, "big")


def hash_part(task: str, some: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Hash of a part of some reports, ids rising."""
    return sha256(b"dpcurves part 1\n" + bytes.fromhex(task) + b"".join(map(b"".join, some))).digest()


class PartHashes(NamedTuple):
    """Hashes of all parts of the reports of a server.

    Attributes:
        prefix_bits: Bits of ids by which they are parted.
        hashes: 32 bytes for each part.
    """

    prefix_bits: int
    hashes: bytes

    @classmethod
    def from_reports(cls, task: str, sorted_reports: Iterable[tuple[bytes, bytes]], bits: int) -> PartHashes:
        """The summary of some reports."""
        hashes = bytearray(hash_part(task, ()) * 2**bits)
        for number, some in split_by_prefix(sorted_reports, bits):
            hashes[NAME * number : NAME * (number + 1)] = hash_part(task, some)
        return cls(bits, bytes(hashes))

    def hash_of_part(self, part: int) -> bytes:
        """The hash of a part."""
        return self.hashes[NAME * part : NAME * (part + 1)]


class UnlistedParts(Exception):
    """Error where servers differ in parts that were not listed. `parts` are their numbers."""

    def __init__(self, parts: Sequence[int]) -> None:
        super().__init__("parts are to be listed")
        self.parts = parts


def intersect_reports(
    task: str, read_sorted_reports: Rising, expected: int, theirs: PartHashes, listed: Mapping[int, bytes]
) -> ReportSet:
    """The reports that are at both servers. A report at one server only, or whose halves are not of one, is not.

    Args:
        task: Hash of the task.
        read_sorted_reports: The reports here.
        expected: Number of these; with another one it takes longer.
        theirs: Hashes of the parts of the other server's reports.
        listed: Listings of the other server's parts, as far as they are known.

    Raises:
        Unlisted: parts differ whose listings are not known.
    """
    unlisted, gone, count, name = list[int](), list[bytes](), 0, ReportSetHash(task, expected)
    for number, some in split_by_prefix(read_sorted_reports(), theirs.prefix_bits):
        if hash_part(task, some) == theirs.hash_of_part(number):
            counted = some
        elif number in listed:
            other = _parse_listing(listed[number])
            counted = [(key, digest) for key, digest in some if other.get(key) == digest]
            gone += sorted({key for key, _ in some} - {key for key, _ in counted})
        else:
            unlisted.append(number)
            continue
        count += len(counted)
        for key, digest in counted:
            name.add(key, digest)
    if unlisted:
        raise UnlistedParts(unlisted)
    if count == expected:
        return ReportSet(name.hexdigest(), count, gone)
    missing = frozenset(gone)
    return ReportSet(
        hash_report_set(task, count, (one for one in read_sorted_reports() if one[0] not in missing)), count, gone
    )


def encode_listings(listed: Mapping[int, bytes]) -> bytes:
    """The bytes of listings of parts: number of the part, and of its reports; ids and digests."""
    head = struct.Struct(">II")
    return b"".join(head.pack(part, len(some) // RECORD) + some for part, some in sorted(listed.items()))


def parse_listings(message: bytes) -> dict[int, bytes]:
    """The inverse of `encode_listings`. Raises `ProtocolError`: it is none, or names a part or a report twice."""
    listed, place, head = dict[int, bytes](), 0, struct.Struct(">II")
    while place < len(message):
        if place + head.size > len(message):
            raise ProtocolError("peer", CUT)
        part, reports = head.unpack_from(message, place)
        place += head.size
        some = message[place : place + reports * RECORD]
        place += len(some)
        if len(some) != reports * RECORD:
            raise ProtocolError("peer", CUT)
        if part in listed or len(_parse_listing(some)) != reports:
            raise ProtocolError("peer", "its listing names a part or a report twice")
        listed[part] = some
    return listed


CUT = "its listing of reports is cut off, or something follows it"


def _parse_listing(some: bytes) -> Listing:
    starts = range(0, len(some), RECORD)
    return {some[start : start + ID]: some[start + ID : start + RECORD] for start in starts}


def group_consecutive(parts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of parts that follow each other.

    >>> list(group_consecutive([3, 4, 5, 9]))
    [(3, 5), (9, 9)]
    """
    rising = sorted(parts)
    ends = [number for number, (one, other) in enumerate(pairwise(rising), 1) if other != one + 1]
    for start, end in pairwise([0, *ends, len(rising)] if rising else []):
        yield rising[start], rising[end - 1]


class ClosingMessage(NamedTuple):
    """Message of a server to the other to close a task.

    Attributes:
        report_set: The hash of the reports that count, if its sender has written it down.
        commitments: Those of server 0 and server 1, as far as its sender knows them.
        summary: Hashes of parts of the reports that its sender has.
        listings: Listings of some of these parts.
    """

    report_set: str | None
    commitments: tuple[str | None, str | None]
    summary: PartHashes
    listings: Mapping[int, bytes]

    def to_bytes(self) -> bytes:
        """The message."""
        names = b"".join(bytes.fromhex(name or NONE) for name in (self.report_set, *self.commitments))
        return names + bytes([self.summary.prefix_bits]) + self.summary.hashes + encode_listings(self.listings)

    @classmethod
    def from_bytes(cls, message: bytes) -> ClosingMessage:
        """The inverse of `to_bytes`. Raises `ProtocolError`: it is none, or lists a part or a report twice."""
        start = 3 * NAME + 1
        if len(message) < start or (bits := message[start - 1]) > MOST_BITS:
            raise ProtocolError("peer", CUT)
        end = start + NAME * 2**bits
        if len(message) < end:
            raise ProtocolError("peer", CUT)
        name, first, second = (message[place : place + NAME].hex() for place in range(0, 3 * NAME, NAME))
        summary = PartHashes(bits, message[start:end])
        return cls(
            _parse_optional_hash(name),
            (_parse_optional_hash(first), _parse_optional_hash(second)),
            summary,
            parse_listings(message[end:]),
        )


def _parse_optional_hash(name: str) -> str | None:
    return None if name == NONE else name
