"""Reports on their way to two servers: sealing, batches, and the agreement on reports that reached both.

    seal_share, open_share        HPKE (RFC 9180) of one share to one server
    encode_batch, parse_batch     the bytes that an owner sends
    PartHashes                    hashes of parts of a server's reports, to find differences (set reconciliation)
    intersect_reports             the reports that both servers hold
    ClosingMessage                the message by which servers close a task

Formal guarantees: a sealed share can only be opened by its server, and only for its task, contribution and report.
"""

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

# Shares sealed to one server by HPKE (RFC 9180): X25519, HKDF-SHA256, AES-128-GCM, one message each.
SEALING_OVERHEAD = 32 + 16
"""Bytes by which encryption to a server makes a share longer: an encapsulated key of 32 and a tag of 16."""
_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
"""HPKE suite (RFC 9180) of shares sealed to a server; owners and servers must use the same."""


def load_public_key(digits: str) -> X25519PublicKey:
    """Return the X25519 public key that a task document states in hexadecimal digits.

    Raises:
        ValueError: the digits are no such key.
    """
    try:
        return X25519PublicKey.from_public_bytes(bytes.fromhex(digits))
    except ValueError:
        raise ProtocolError("task", "a server's sealing key is no X25519 key; get the task document again") from None


def seal_share(share: bytes, key: X25519PublicKey, info: bytes) -> bytes:
    """Encrypt a share of a report to a server by HPKE, bound to its context.

    Args:
        share: The share.
        key: Public key of the server.
        info: Context to which it is bound, from `encode_share_info`.
    """
    return _SUITE.encrypt(share, key, info)


def open_share(message: bytes, key: X25519PrivateKey, info: bytes) -> bytes | None:
    """SECRET: return a decrypted share; None if it was changed, or sealed to another key or context.

    Args:
        message: The sealed share.
        key: Private key of this server.
        info: Context to which it must be bound.
    """
    try:
        return _SUITE.decrypt(message, key, info)
    except (InvalidTag, ValueError):
        return None


def encode_share_info(task: str, party: int, contribution: bytes, report: bytes) -> bytes:
    """Return the context to which a sealed share is bound: task, party, contribution and report.

    Args:
        task: Hash of the task, as text.
        party: Number of the server.
        contribution: Name of the contribution.
        report: Id of the report.
    """
    return b"dpcurves report 2\n" + bytes.fromhex(task) + bytes([party]) + contribution + report


# A batch of sealed reports for one server: a header, then records of one size. Nothing may follow.
MAGIC = b"DPCF"
"""First bytes of a batch of reports, by which other messages are recognised and refused."""
BATCH_FORMAT = 2
"""Version of the format of batches; other versions are refused."""
ID_SIZE = 16
"""Bytes of a report id."""
HASH_SIZE = 32
"""Bytes of a SHA-256 hash, and of the id of an owner's contribution."""
MOST_REPORTS = 4096
"""Reports of a batch at most; a larger batch is refused. Also the most that several batches stored in one transaction
have together."""
LARGEST_BATCH = 2**23
"""Bytes of a batch of reports, of a DAP upload request and of a DAP aggregation job at most; a longer one is refused
with status 413."""
LARGEST_SEALED = 2**16 - 1
"""Bytes of a sealed share at most, because its length field has two bytes; a task whose grid needs more is refused."""
_HEADER = struct.Struct(f"<4sBBBHI{HASH_SIZE}s{HASH_SIZE}s")
"""Header of a batch: magic bytes, format, server, policy for earlier records, bytes of a share, number of reports, task
hash and contribution id, little-endian."""


class ReportShare(NamedTuple):
    """Share of a report, sealed to one server.

    Attributes:
        id: 16 bytes drawn by the owner, equal at both servers.
        encrypted_share: The share, which only this server can open.
    """

    id: bytes
    encrypted_share: bytes


class EarlierPolicy(Enum):
    """Policy for other reports that were sent under the same ticket before."""

    STAYS = 0
    """Keep earlier reports and refuse these: a ticket is valid for one contribution."""
    GIVES_WAY = 1
    """Delete earlier reports, as long as the task is open."""


class Batch(NamedTuple):
    """Some reports of one contribution, for one server.

    Attributes:
        contribution: Id (32 bytes) of an owner's whole contribution, equal in all of its batches, at both servers.
        earlier_policy: What happens to another contribution under the same ticket.
        reports: Reports of equal size.
    """

    contribution: bytes
    earlier_policy: EarlierPolicy
    reports: Sequence[ReportShare]


def encode_batch(task: str, party: int, batch: Batch) -> bytes:
    """Return a batch of sealed reports as bytes: a header, then id and sealed share of each report.

    Args:
        task: Hash of the task.
        party: Number of the server.
        batch: At least one report; all of equal size.
    """
    size = len(batch.reports[0].encrypted_share)
    count = len(batch.reports)
    facts = party, batch.earlier_policy.value, size, count, bytes.fromhex(task), batch.contribution
    header = _HEADER.pack(MAGIC, BATCH_FORMAT, *facts)
    return header + b"".join(report.id + report.encrypted_share for report in batch.reports)


def parse_batch(message: bytes, task: str, party: int, size: int) -> Batch:
    """Parse an owner's batch of sealed reports, and check that it is for this task and server.

    Args:
        message: Result of `encode_batch`.
        task: Hash of the task.
        party: Number of this server.
        size: Bytes of a sealed share.

    Raises:
        ProtocolError: the message is of another type, task or server, or has the wrong length.
    """
    if len(message) < _HEADER.size:
        raise ProtocolError("reports", "the batch is cut off; send it again")
    magic, version, to, earlier, share_size, count, name, contribution = _HEADER.unpack_from(message)
    if magic != MAGIC or version != BATCH_FORMAT or earlier not in (0, 1):
        rule = f"the message is not a batch of format {BATCH_FORMAT}; use the version of dpcurves that the servers use"
        raise ProtocolError("reports", rule)
    if name.hex() != task or to != party:
        raise ProtocolError("reports", "the batch is for another task or server; contribute with this task's document")
    if share_size != size or not 1 <= count <= MOST_REPORTS:
        raise ProtocolError(
            "reports",
            f"a batch must hold 1 to {MOST_REPORTS} reports of {size} bytes each; make them again with this task's "
            "document, and send smaller batches",
        )
    record = ID_SIZE + size
    if len(message) != _HEADER.size + count * record:
        raise ProtocolError("reports", "the batch is cut off, or bytes follow it; send it again")
    starts = range(_HEADER.size, len(message), record)
    reports = [
        ReportShare(message[start : start + ID_SIZE], message[start + ID_SIZE : start + record]) for start in starts
    ]
    return Batch(contribution, EarlierPolicy(earlier), reports)


DIGEST_SIZE = 16
"""Bytes of the digest of a report's public part, by which servers compare whether both received the same report; 16, so
that different parts agree with negligible probability."""
RECORD_SIZE = ID_SIZE + DIGEST_SIZE
"""Bytes of one report in a listing: its id and its digest."""
NO_HASH = "00" * HASH_SIZE
"""Hexadecimal digits that stand for an unknown hash in a message between servers."""
DIFFERENT_REPORTS = (
    "the servers agreed on other reports or other noise before, so a store was restored, "
    "and nothing is answered; restore the latest copies of both stores"
)
"""Error message (status 409) if a server's reports are not the set that both accepted."""

Listing = Mapping[bytes, bytes]
"""Digest of the public part of each report, by the report's id."""
Rising = Callable[[], Iterable[tuple[bytes, bytes]]]
"""Ids and digests of all reports in rising order of ids, streamed on each iteration, so that no server holds all."""


class ReportSet(NamedTuple):
    """A set of reports on which both servers agree.

    Attributes:
        name: Hash of the task, and of the ids and digests.
        reports: Number of accepted reports.
        dropped_ids: Ids of this server's other reports.
    """

    name: str
    reports: int
    dropped_ids: Sequence[bytes] = ()


def digest_public_share(public: bytes) -> bytes:
    """Return the digest of the public part of a report, 16 bytes."""
    return sha256(b"dpcurves report\n" + public).digest()[:DIGEST_SIZE]


def hash_share(key: bytes, share: bytes) -> bytes:
    """SECRET: return the SHA-256 of a stored share, by which damage is detected later.

    Args:
        key: Id of the report.
        share: The share, with its seed.
    """
    return sha256(b"dpcurves share\n" + key + share).digest()


class ReportSetHash:
    """An incremental hash that names a set of reports. Ids and digests are added in increasing order of ids.

    Args:
        task: Hash of the task.
        reports: Number of reports of the set.
    """

    def __init__(self, task: str, reports: int) -> None:
        self._hash = sha256(b"dpcurves report set 1\n" + bytes.fromhex(task) + reports.to_bytes(4, "big"))

    def add(self, key: bytes, digest: bytes) -> None:
        """Add the next report's id and digest; ids must rise.

        Args:
            key: Id of the report.
            digest: Digest of the report.
        """
        self._hash.update(key + digest)

    def hexdigest(self) -> str:
        """Return the name of the set in 64 hexadecimal digits, after all reports were added."""
        return self._hash.hexdigest()


def hash_report_set(task: str, reports: int, sorted_reports: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the name of a set of this many reports, in 64 hexadecimal digits; ids must rise.

    Args:
        task: Hash of the task.
        reports: Number of the reports.
        sorted_reports: Pairs of an id and a digest.
    """
    name = ReportSetHash(task, reports)
    for key, digest in sorted_reports:
        name.add(key, digest)
    return name.hexdigest()


# Set reconciliation: reports are partitioned by the first bits of their ids, and servers exchange the hash of each
# part. Only parts that differ are listed, in two messages for any difference. Hashes take 0.5 MB for 10**6 reports, and
# 34 MB for 2**25; a Merkle tree would save most of that, but take four to 22 messages if a report differs
# (`python benchmarks/two_servers.py --agreement`).
PART_REPORTS = 64
"""Target number of reports of a part (reports whose ids have the same first bits), compared by one hash. More make a
difference dearer, since whole parts are listed; fewer need more hashes, a hundredth of a listing here."""
MOST_PREFIX_BITS = 24
"""First bits of report ids, at most, that select a part: 2**24 parts, whose hashes take half a gigabyte. With more
reports parts grow; a message with more bits is refused."""


def choose_prefix_bits(reports: int) -> int:
    """Return the number of leading bits of report ids that partition this many reports into parts of about 64."""
    return min(MOST_PREFIX_BITS, (max(reports, 1) // PART_REPORTS).bit_length())


def split_by_prefix(
    sorted_reports: Iterable[tuple[bytes, bytes]], bits: int
) -> Iterator[tuple[int, list[tuple[bytes, bytes]]]]:
    """Yield the non-empty parts of reports: the number of each part, and its ids and digests.

    Args:
        sorted_reports: Ids and digests, in increasing order of ids.
        bits: Number of first bits of ids that select a part.
    """
    for number, group in groupby(sorted_reports, lambda report: int.from_bytes(report[0][:4], "big") >> (32 - bits)):
        yield number, list(group)


def find_first_id(part: int, bits: int) -> bytes:
    """Return the smallest report id of part number `part`, if the first `bits` bits select the part."""
    return (part << (8 * ID_SIZE - bits)).to_bytes(ID_SIZE, "big")


def hash_part(task: str, reports: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the SHA-256 of a part of a task's reports: ids and digests in rising order of ids.

    Args:
        task: Hash of the task, in hexadecimal digits.
        reports: Id and digest of each report of the part.
    """
    return sha256(b"dpcurves part 1\n" + bytes.fromhex(task) + b"".join(map(b"".join, reports))).digest()


class PartHashes(NamedTuple):
    """Hashes of all parts of a server's reports.

    Attributes:
        prefix_bits: Number of id bits that select the part.
        hashes: 32 bytes for each part.
    """

    prefix_bits: int
    hashes: bytes

    @classmethod
    def from_reports(cls, task: str, sorted_reports: Iterable[tuple[bytes, bytes]], bits: int) -> PartHashes:
        """Compute the hashes of all ``2**bits`` parts of a server's reports, whose ids must rise.

        Args:
            task: Hash of the task.
            sorted_reports: Pairs of an id and a digest.
            bits: Leading bits of an id that number its part.
        """
        hashes = bytearray(hash_part(task, ()) * 2**bits)
        for number, part_reports in split_by_prefix(sorted_reports, bits):
            hashes[HASH_SIZE * number : HASH_SIZE * (number + 1)] = hash_part(task, part_reports)
        return cls(bits, bytes(hashes))

    def hash_of_part(self, part: int) -> bytes:
        """Return the SHA-256 hash (32 bytes) of one part of the reports, which servers compare to find differences.

        Args:
            part: Number of the part, from 0: the leading `prefix_bits` bits of the ids of its reports.
        """
        return self.hashes[HASH_SIZE * part : HASH_SIZE * (part + 1)]


class UnlistedParts(Exception):
    """Servers differ in parts that were not listed.

    Attributes:
        parts: Numbers of these parts.
    """

    def __init__(self, parts: Sequence[int]) -> None:
        super().__init__("parts are to be listed")
        self.parts = parts


def intersect_reports(
    task: str, read_sorted_reports: Rising, expected: int, peer_hashes: PartHashes, listed: Mapping[int, bytes]
) -> ReportSet:
    """Return the set of the reports that both servers hold, with equal public parts.

    Args:
        task: Hash of the task.
        read_sorted_reports: Function that streams this server's reports.
        expected: Expected number of common reports; a wrong number only costs time.
        peer_hashes: Hashes of the parts of the peer server's reports.
        listed: Known listings of the peer server's parts.

    Raises:
        UnlistedParts: a part differs whose listing is unknown.
    """
    unlisted = list[int]()
    dropped_ids = list[bytes]()
    count = 0
    name = ReportSetHash(task, expected)

    # Parts with equal hashes are equal at both servers; of the others the peer must have listed its reports.
    for number, part_reports in split_by_prefix(read_sorted_reports(), peer_hashes.prefix_bits):
        if hash_part(task, part_reports) == peer_hashes.hash_of_part(number):
            common_reports = part_reports
        elif number in listed:
            peer_listing = _parse_listing(listed[number])
            common_reports = [(key, digest) for key, digest in part_reports if peer_listing.get(key) == digest]
            dropped_ids += sorted({key for key, _ in part_reports} - {key for key, _ in common_reports})
        else:
            unlisted.append(number)
            continue
        count += len(common_reports)
        for key, digest in common_reports:
            name.add(key, digest)
    if unlisted:
        raise UnlistedParts(unlisted)
    if count == expected:
        return ReportSet(name.hexdigest(), count, dropped_ids)

    # The hash begins with the number of reports, so fewer reports need another pass.
    missing = frozenset(dropped_ids)
    common = (report for report in read_sorted_reports() if report[0] not in missing)
    return ReportSet(hash_report_set(task, count, common), count, dropped_ids)


def encode_listings(listed: Mapping[int, bytes]) -> bytes:
    """Return listings of parts as bytes: for each part its number, the number of its reports, and their ids and
    digests.

    Args:
        listed: Listing by number of the part: ids and digests concatenated.

    Returns:
        Parts in rising order of their numbers.
    """
    head = struct.Struct(">II")
    return b"".join(
        head.pack(number, len(listing) // RECORD_SIZE) + listing for number, listing in sorted(listed.items())
    )


def parse_listings(message: bytes) -> dict[int, bytes]:
    """Return the listings in the bytes of `encode_listings`, by part number.

    Args:
        message: The bytes.

    Raises:
        ProtocolError: the bytes are invalid, or a part or report is repeated.
    """
    listings = dict[int, bytes]()
    position = 0
    head = struct.Struct(">II")
    while position < len(message):
        if position + head.size > len(message):
            raise ProtocolError("peer", TRUNCATED_LISTING)
        number, reports = head.unpack_from(message, position)
        position += head.size
        content = message[position : position + reports * RECORD_SIZE]
        position += len(content)
        if len(content) != reports * RECORD_SIZE:
            raise ProtocolError("peer", TRUNCATED_LISTING)
        if number in listings or len(_parse_listing(content)) != reports:
            raise ProtocolError(
                "peer", "the listing names a part or a report twice; use the same version of dpcurves at both servers"
            )
        listings[number] = content
    return listings


TRUNCATED_LISTING = (
    "the listing of reports is cut off, or bytes follow it; use the same version of dpcurves at both servers"
)
"""Error message if another server's listing of reports does not have the announced length."""


def _parse_listing(listing: bytes) -> Listing:
    """Return the digests of a listing's reports by their ids; of repeated ids the last.

    Args:
        listing: Ids and digests, concatenated.
    """
    starts = range(0, len(listing), RECORD_SIZE)
    return {listing[start : start + ID_SIZE]: listing[start + ID_SIZE : start + RECORD_SIZE] for start in starts}


def group_consecutive(parts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each run of consecutive parts, in rising order.

    >>> list(group_consecutive([3, 4, 5, 9]))
    [(3, 5), (9, 9)]
    """
    rising = sorted(parts)
    ends = [
        number
        for number, (number_before, following) in enumerate(pairwise(rising), 1)
        if following != number_before + 1
    ]
    for start, end in pairwise([0, *ends, len(rising)] if rising else []):
        yield rising[start], rising[end - 1]


class ClosingMessage(NamedTuple):
    """A message between servers to close a task.

    Attributes:
        report_set: Hash of the accepted reports, if the sender has stored it.
        commitments: Noise commitments of server 0 and server 1, as far as the sender knows them.
        summary: Hashes of parts of the sender's reports.
        listings: Listings of some of these parts.
    """

    report_set: str | None
    commitments: tuple[str | None, str | None]
    summary: PartHashes
    listings: Mapping[int, bytes]

    def to_bytes(self) -> bytes:
        """Return the message as bytes: three hashes (zeros for unknown ones), prefix bits, hashes of parts, and
        listings.
        """
        names = b"".join(bytes.fromhex(name or NO_HASH) for name in (self.report_set, *self.commitments))
        return names + bytes([self.summary.prefix_bits]) + self.summary.hashes + encode_listings(self.listings)

    @classmethod
    def from_bytes(cls, message: bytes) -> ClosingMessage:
        """Parse a message of the closing protocol: report set, commitments, and hashes and listings of parts of the
        reports.

        Args:
            message: The bytes.

        Raises:
            ProtocolError: the bytes are invalid, or a part or report is repeated.
        """
        start = 3 * HASH_SIZE + 1
        if len(message) < start or (bits := message[start - 1]) > MOST_PREFIX_BITS:
            raise ProtocolError("peer", TRUNCATED_LISTING)
        end = start + HASH_SIZE * 2**bits
        if len(message) < end:
            raise ProtocolError("peer", TRUNCATED_LISTING)
        name, first, second = (
            message[offset : offset + HASH_SIZE].hex() for offset in range(0, 3 * HASH_SIZE, HASH_SIZE)
        )
        summary = PartHashes(bits, message[start:end])
        return cls(
            _parse_optional_hash(name),
            (_parse_optional_hash(first), _parse_optional_hash(second)),
            summary,
            parse_listings(message[end:]),
        )


def _parse_optional_hash(name: str) -> str | None:
    """Return a hash in hexadecimal digits; None if all are zeros.

    Args:
        name: Hash as 64 hexadecimal digits.
    """
    return None if name == NO_HASH else name
