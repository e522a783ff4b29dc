"""Intersection of the servers' reports: those both have, with equal public halves, count. Both compute its hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from ..errors import ProtocolAborted
from .batch import ID

DIGEST = 16
NAME = 32
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
    ids = tuple(sorted(listing))
    text = b"dpcurves report set 1\n" + bytes.fromhex(task) + packed({key: listing[key] for key in ids})
    return ReportSet(ids, sha256(text).hexdigest())


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
        """The inverse of `to_bytes`.

        Raises:
            ProtocolAborted: as `unpacked`.
        """
        listing = unpacked(message[3 * NAME :])
        name, first, second = (message[start : start + NAME].hex() for start in range(0, 3 * NAME, NAME))
        return cls(_known(name), (_known(first), _known(second)), listing)


def _known(name: str) -> str | None:
    return None if name == NONE else name


def packed(listing: Listing) -> bytes:
    """The bytes of a listing."""
    return len(listing).to_bytes(4, "big") + b"".join(key + digest for key, digest in listing.items())


def unpacked(message: bytes) -> dict[bytes, bytes]:
    """The listing in a message.

    Raises:
        ProtocolAborted: it is none, or names a report twice.
    """
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
