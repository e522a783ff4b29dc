"""Messages of the DAP draft, for uploads, aggregation and collection jobs, in the presentation language of RFC 8446."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import NamedTuple, TypeVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey, KEMKeyInterface, PyHPKEError

from ..identity import Server
from ..messages import ProtocolAborted
from . import report_set

VERSION = b"dap-18"
"""Version in all labels."""
MEDIA = "application/ppm-dap;message="
CONFIGS, UPLOAD, ERRORS = f"{MEDIA}hpke-config-list", f"{MEDIA}upload-req", f"{MEDIA}upload-errors"
COLLECT, COLLECTED = f"{MEDIA}collection-job-req", f"{MEDIA}collection-job-resp"
SHARE, SHARE_TOLD = f"{MEDIA}aggregate-share-req", f"{MEDIA}aggregate-share"
JOB, JOB_TOLD, PROBLEM = f"{MEDIA}aggregation-job-init-req", f"{MEDIA}aggregation-job-resp", "application/problem+json"
URN = "urn:ietf:params:ppm:dap:error:"
KEM, KDF, AEAD = 0x20, 1, 1
"""X25519 with HKDF-SHA256, HKDF-SHA256, AES-128-GCM."""
_SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
COLLECTOR, CLIENT, AGGREGATORS = 0, 1, (2, 3)
"""Roles: server 0 is the leader, server 1 the helper."""
TICKET = 0xFF10
"""Type of the private extension in which an owner shows its ticket to a server."""


ASKS = 0xFF11
"""Type of the extension of a collection job in which an analyst gives its key, and a ticket for the helper."""


class Malformed(ProtocolAborted):
    """The message is none of the draft's."""

    def __init__(self, what: str) -> None:
        super().__init__("message", f"this is no {what} of the DAP draft", 400)


class Unrecognized(ProtocolAborted):
    """The server has no task of this name."""

    def __init__(self) -> None:
        super().__init__("task", "this server has another task, not this one", 404)


class Unsupported(ProtocolAborted):
    """The collection job has other extensions than this profile needs."""

    def __init__(self) -> None:
        super().__init__("message", f"a collection job needs one extension, of type 0x{ASKS:X}", 400)


class Mismatched(ProtocolAborted):
    """The servers have other reports, so that nothing is collected."""

    def __init__(self) -> None:
        super().__init__("reports", report_set.OTHER, 409)


TASK_ID = 43
"""Characters of a task's id in a path."""
CACHED = 86_400
"""Seconds that a client may keep the list of keys."""


def named_by(path: str) -> str:
    """The hash of the task that a path names, in digits; empty where it names none.

    >>> path = task_id("00ff" * 16)
    >>> (path, named_by(path) == "00ff" * 16)
    ('AP8A_wD_AP8A_wD_AP8A_wD_AP8A_wD_AP8A_wD_AP8', True)
    """
    try:
        found = urlsafe_b64decode(path + "=").hex()
    except ValueError:
        return ""
    return found if task_id(found) == path else ""


def task_id(task: str) -> str:
    """The id of a task in a path, from its hash in digits."""
    return urlsafe_b64encode(bytes.fromhex(task)).decode().rstrip("=")


class ReportError(IntEnum):
    """Reason why a report was not taken, as the draft numbers it."""

    REPORT_DROPPED = 3
    HPKE_DECRYPT_ERROR = 5
    VDAF_VERIFY_ERROR = 6
    INVALID_MESSAGE = 8
    REPORT_TOO_EARLY = 9
    OUTDATED_CONFIG = 11


# Numbers are big-endian; a vector has its number of bytes before it.


def number(value: int, size: int) -> bytes:
    """A whole number."""
    return value.to_bytes(size, "big")


def vector(content: bytes, size: int) -> bytes:
    """Bytes behind their number, which has `size` bytes itself."""
    return number(len(content), size) + content


class Reader:
    """Reader of a message, from its beginning. All methods raise `ValueError` where it ends too early."""

    def __init__(self, message: bytes) -> None:
        self._message, self._place = message, 0

    @property
    def is_done(self) -> bool:
        """True if nothing is left."""
        return self._place == len(self._message)

    def octets(self, size: int) -> bytes:
        """So many bytes."""
        end = self._place + size
        if end > len(self._message):
            raise ValueError("cut off")
        found, self._place = self._message[self._place : end], end
        return found

    def number(self, size: int) -> int:
        """A whole number."""
        return int.from_bytes(self.octets(size), "big")

    def vector(self, size: int) -> bytes:
        """The content of a vector."""
        return self.octets(self.number(size))


Read = TypeVar("Read")


def every(message: bytes, read: Callable[[Reader], Read]) -> list[Read]:
    """Structures of a message that holds nothing else. Raises `ValueError`: a structure is cut off."""
    reader, found = Reader(message), list[Read]()
    while not reader.is_done:
        found.append(read(reader))
    return found


class Extension(NamedTuple):
    """Extension of a report: its type, and what it holds."""

    kind: int
    content: bytes

    @classmethod
    def read(cls, reader: Reader) -> Extension:
        """The next one."""
        return cls(reader.number(2), reader.vector(2))

    def packed(self) -> bytes:
        """Its bytes."""
        return number(self.kind, 2) + vector(self.content, 2)


def packed_all(extensions: Iterable[Extension]) -> bytes:
    """A vector of extensions."""
    return vector(b"".join(each.packed() for each in extensions), 2)


class Metadata(NamedTuple):
    """Facts of a report that both servers know: `ReportMetadata`. Times are multiples of the task's precision."""

    id: bytes
    time: int
    extensions: tuple[Extension, ...] = ()

    @classmethod
    def read(cls, reader: Reader) -> Metadata:
        """The next one."""
        return cls(reader.octets(report_set.ID), reader.number(8), tuple(every(reader.vector(2), Extension.read)))

    def packed(self) -> bytes:
        """Its bytes."""
        return self.id + number(self.time, 8) + packed_all(self.extensions)


class Ciphertext(NamedTuple):
    """A sealed message: `HpkeCiphertext`, with the number of the key that it is sealed to."""

    config: int
    encapsulated: bytes
    payload: bytes

    @classmethod
    def read(cls, reader: Reader) -> Ciphertext:
        """The next one."""
        found = cls(reader.number(1), reader.vector(2), reader.vector(4))
        if not found.encapsulated or not found.payload:
            raise ValueError("empty")
        return found

    def packed(self) -> bytes:
        """Its bytes."""
        return number(self.config, 1) + vector(self.encapsulated, 2) + vector(self.payload, 4)


class Share(NamedTuple):
    """A report for one server: `ReportShare`."""

    metadata: Metadata
    public: bytes
    sealed: Ciphertext

    @classmethod
    def read(cls, reader: Reader) -> Share:
        """The next one."""
        return cls(Metadata.read(reader), reader.vector(4), Ciphertext.read(reader))

    def packed(self) -> bytes:
        """Its bytes."""
        return self.metadata.packed() + vector(self.public, 4) + self.sealed.packed()


class Report(NamedTuple):
    """A report as its owner sends it to the leader: `Report`."""

    metadata: Metadata
    public: bytes
    sealed: tuple[Ciphertext, Ciphertext]

    @classmethod
    def read(cls, reader: Reader) -> Report:
        """The next one."""
        metadata, public = Metadata.read(reader), reader.vector(4)
        return cls(metadata, public, (Ciphertext.read(reader), Ciphertext.read(reader)))

    def packed(self) -> bytes:
        """Its bytes."""
        return self.metadata.packed() + vector(self.public, 4) + b"".join(each.packed() for each in self.sealed)

    def of(self, party: int) -> Share:
        """Its part for one server."""
        return Share(self.metadata, self.public, self.sealed[party])


def reports_of(message: bytes) -> list[Report]:
    """The reports of an `UploadRequest`. Raises `ProtocolAborted`: it is none, or names a report twice."""
    return _each(message, Report.read, "upload request")


Named = TypeVar("Named", "Report", "Begun")


def _each(message: bytes, read: Callable[[Reader], Named], what: str) -> list[Named]:
    try:
        found = every(message, read)
    except ValueError:
        raise Malformed(what) from None
    if not found or len({each.metadata.id for each in found}) < len(found):
        raise Malformed(what)
    return found


Failed = Mapping[bytes, ReportError]
"""Reasons why reports were not taken, by their ids."""


def errors_in(message: bytes) -> dict[bytes, ReportError]:
    """The inverse of `packed_errors`. Raises `ValueError`: it is none."""
    return dict(every(message, lambda one: (one.octets(report_set.ID), ReportError(one.number(1)))))


def packed_errors(failed: Failed, order: Sequence[bytes]) -> bytes:
    """`UploadErrors`, in the order of these ids; nothing, if all were taken."""
    return b"".join(one + number(failed[one], 1) for one in order if one in failed)


# Aggregation jobs: the leader hands on the helper's parts of reports, with its messages of their proofs.
INITIALIZE, FINISH = 0, 2
"""Kinds of messages of two servers that verify a report in one round (ping-pong topology of the VDAF draft)."""
BATCH = 1
"""Type of the extension of a job that names the batch: ours has the task's own id."""


def packed_message(kind: int, content: bytes) -> bytes:
    """A message of a proof."""
    return number(kind, 1) + vector(content, 4)


def message_of(message: bytes, kind: int) -> bytes:
    """The content of a message of this kind. Raises `ValueError`: it is another one."""
    reader = Reader(message)
    found, content = reader.number(1), reader.vector(4)
    if found != kind or not reader.is_done:
        raise ValueError("another kind of message")
    return content


class Begun(NamedTuple):
    """A report for the helper, and the leader's message of its proof: `VerifyInit`."""

    share: Share
    message: bytes

    @property
    def metadata(self) -> Metadata:
        """That of the report."""
        return self.share.metadata

    @classmethod
    def read(cls, reader: Reader) -> Begun:
        """The next one."""
        return cls(Share.read(reader), reader.vector(4))

    def packed(self) -> bytes:
        """Its bytes."""
        return self.share.packed() + vector(self.message, 4)


def packed_job(task: str, begun: Iterable[Begun]) -> bytes:
    """`AggregationJobInitReq`, of the first key of verification, without parameter, in the batch of a task."""
    extensions = packed_all([Extension(BATCH, bytes.fromhex(task))])
    return number(0, 1) + vector(b"", 4) + extensions + b"".join(each.packed() for each in begun)


def job_of(message: bytes, task: str) -> list[Begun]:
    """The inverse of `packed_job`. Raises `ProtocolAborted`: it is none."""
    start = packed_job(task, ())
    if not message.startswith(start):
        raise Malformed("aggregation job of this task")
    return _each(message[len(start) :], Begun.read, "aggregation job of this task")


def job_id(message: bytes) -> str:
    """The id of an aggregation job in a path: the same for the same bytes."""
    digest = sha256(b"dpcurves aggregation job\n" + message).digest()
    return urlsafe_b64encode(digest[: report_set.ID]).decode().rstrip("=")


class Told(NamedTuple):
    """Answer of the helper on a report: a message of its proof, or why it is rejected: `VerifyResp`."""

    id: bytes
    said: bytes | ReportError

    @classmethod
    def read(cls, reader: Reader) -> Told:
        """The next one."""
        one, kind = reader.octets(report_set.ID), reader.number(1)
        if kind not in (CONTINUE, REJECT):
            raise ValueError("another kind of answer")
        return cls(one, reader.vector(4) if kind == CONTINUE else ReportError(reader.number(1)))

    def packed(self) -> bytes:
        """Its bytes."""
        if isinstance(self.said, ReportError):
            return self.id + number(REJECT, 1) + number(self.said, 1)
        return self.id + number(CONTINUE, 1) + vector(self.said, 4)


CONTINUE, REJECT = 0, 2


def told_of(message: bytes, order: Sequence[bytes]) -> list[Told]:
    """`AggregationJobResp` on reports of these ids. Raises `ProtocolAborted`: it is none."""
    try:
        found = every(message, Told.read)
    except ValueError:
        found = []
    if [each.id for each in found] != list(order):
        raise ProtocolAborted("peer", "its answer is none to the aggregation job", 502)
    return found


@dataclass(frozen=True, slots=True)
class Collecting:
    """`CollectionJobReq` of an analyst: all reports of a task, once it is closed.

    Attributes:
        message: Its bytes.
        config: Number of the analyst's key.
        key: The key to which aggregate shares are sealed, made for this job.
        letter: The bearer token for the helper, sealed to it.
    """

    message: bytes
    config: int
    key: bytes
    letter: Ciphertext

    @classmethod
    def of(cls, message: bytes) -> Collecting:
        """The one in a message. Raises `ProtocolAborted`: it is none, or asks for something else."""
        reader = Reader(message)
        try:
            mode, query, parameter = reader.number(1), reader.vector(2), reader.vector(4)
            extensions = every(reader.vector(2), Extension.read)
            fits = reader.is_done and (mode, query, parameter) == (LEADER_SELECTED, b"", b"")
        except ValueError:
            fits, extensions = False, []
        if not fits:
            raise Malformed("collection job of this task")
        if [each.kind for each in extensions] != [ASKS]:
            raise Unsupported
        inside = Reader(extensions[0].content)
        try:
            config, suite, key = inside.number(1), inside.octets(6), inside.vector(2)
            letter = Ciphertext.read(inside)
            fits = inside.is_done and suite == _suite() and len(key) == KEY
        except ValueError:
            fits = False
        if not fits:
            raise Malformed("collection job of this task")
        return cls(message, config, key, letter)

    @property
    def named(self) -> bytes:
        """`HpkeConfig` of the analyst's key."""
        return number(self.config, 1) + _suite() + vector(self.key, 2)


def packed_share_request(job: Collecting, task: str, reports: int, checksum: bytes) -> bytes:
    """`AggregateShareReq` for all of a task."""
    selected = number(LEADER_SELECTED, 1) + vector(bytes.fromhex(task), 2)
    return job.message + selected + number(reports, 8) + checksum


def share_request_of(message: bytes, task: str, reports: int, checksum: bytes) -> Collecting:
    """The collection job in an `AggregateShareReq` for so many reports of this checksum.

    Raises:
        ProtocolAborted: it is none, or is for other reports.
    """
    tail = packed_share_request(Collecting(b"", 0, b"", Ciphertext(0, b"", b"")), task, reports, checksum)
    job, rest, facts = message[: -len(tail)], message[-len(tail) :], 8 + len(checksum)
    if rest[:-facts] != tail[:-facts]:
        raise Malformed("request for an aggregate share of this task")
    if rest != tail:
        raise Mismatched
    return Collecting.of(job)


def packed_collection(reports: int, until: int, shares: Sequence[bytes]) -> bytes:
    """`CollectionJobResp`: when reports were made nobody keeps, so the interval goes from the first moment to now."""
    return number(reports, 8) + number(0, 8) + number(until, 8) + b"".join(shares)


def share_of(message: bytes) -> bytes:
    """The sealed share in an `AggregateShare`. Raises `ProtocolAborted`: there is none."""
    reader = Reader(message)
    try:
        found = Ciphertext.read(reader).packed()
    except ValueError:
        found = b""
    if found != message:
        raise ProtocolAborted("peer", "its answer is no aggregate share", 502)
    return found


def sealed(plain: bytes, key: bytes, info: bytes, bound: bytes) -> tuple[bytes, bytes]:
    """A message sealed by HPKE to a key: what is encapsulated, and the ciphertext. Raises `ValueError`: no key."""
    encapsulated, context = _SUITE.create_sender_context(_sealed_to(key), info)
    return encapsulated, context.seal(plain, bound)


@lru_cache(64)
def _sealed_to(key: bytes) -> KEMKeyInterface:
    return KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(key))


KEY = 32


def _suite() -> bytes:
    return number(KEM, 2) + number(KDF, 2) + number(AEAD, 2)


class Vdaf(Enum):
    """Number of a scheme of reports: that of the VDAF draft, or one for private use."""

    HISTOGRAM = 4
    TREE = 0xFFFF_6470
    CHECKED_TREE = 0xFFFF_6471


PRECISION = 86_400
"""Seconds of the unit of times: a day."""
LEADER_SELECTED = 2
INFO = b"dpcurves"


@dataclass(frozen=True)
class Configuration:
    """Facts that all who take part in a task agree on: `TaskConfiguration`, and the hash of the task, which is its id.

    Attributes:
        task: The hash of the task, in digits.
        servers: Leader and helper.
        vdaf: Scheme of its reports.
        parameters: Bytes of the scheme's parameters.
    """

    task: str
    servers: Sequence[Server]
    vdaf: Vdaf
    parameters: bytes

    def packed(self) -> bytes:
        """The bytes of `TaskConfiguration`: one batch that the leader selects, of at least one report."""
        return self._packed

    @cached_property
    def _packed(self) -> bytes:
        urls = b"".join(vector(server.url.rstrip("/").encode(), 2) for server in self.servers)
        mode = number(PRECISION, 8) + number(1, 8) + number(LEADER_SELECTED, 1) + vector(b"", 2)
        scheme = number(self.vdaf.value, 4) + vector(self.parameters, 2)
        return vector(INFO, 1) + urls + mode + scheme + vector(b"", 2)

    def bound(self, metadata: Metadata, public: bytes) -> bytes:
        """Associated data of an input share: `InputShareAad`."""
        return bytes.fromhex(self.task) + self.packed() + metadata.packed() + vector(public, 4)

    def collected(self, job: Collecting, party: int, share: bytes) -> bytes:
        """A server's aggregate share as the analyst alone opens it: `AggregateShareAad` and `HpkeCiphertext`.

        Raises:
            ProtocolAborted: the key is none.
        """
        info = VERSION + b" aggregate share" + bytes([AGGREGATORS[party], COLLECTOR])
        try:
            found = sealed(share, job.key, info, bytes.fromhex(self.task) + self.packed() + job.message)
        except ValueError:
            raise Malformed("collection job of this task") from None
        return Ciphertext(job.config, *found).packed()

    def asked_with(self, job: Collecting) -> bytes:
        """Associated data of the letter in a collection job: its key can not be put in the place of another one."""
        return bytes.fromhex(self.task) + self.packed() + job.named


LETTER_INFO = b"dpcurves collection 1" + bytes([COLLECTOR, AGGREGATORS[1]])
"""The context of the letter of a collection job."""


def info_of(party: int) -> bytes:
    """The context of what an owner seals to a server."""
    return VERSION + b" input share" + bytes([CLIENT, AGGREGATORS[party]])


class Input(NamedTuple):
    """SECRET. An input share and what an owner tells one server alone: `PlaintextInputShare`."""

    extensions: tuple[Extension, ...]
    share: bytes

    @classmethod
    def of(cls, message: bytes) -> Input:
        """The one in a message. Raises `ValueError`: it is none."""
        reader = Reader(message)
        found = cls(tuple(every(reader.vector(2), Extension.read)), reader.vector(4))
        if not reader.is_done or not found.share:
            raise ValueError("something follows, or nothing is there")
        return found

    def packed(self) -> bytes:
        """Its bytes."""
        return packed_all(self.extensions) + vector(self.share, 4)


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """SECRET. The keys that a server opens input shares with, by their numbers. It has no repr.

    A number is the first byte of a hash of the public key, or one of the next where it is taken: so that it stays the
    same when keys are rotated.

    Attributes:
        each: Keys, those that are preferred first.
    """

    each: Mapping[int, X25519PrivateKey]

    @classmethod
    def of(cls, keys: Iterable[X25519PrivateKey]) -> Keys:
        """Numbers for some keys; the same one twice counts once."""
        found = dict[int, X25519PrivateKey]()
        for key in {each.public_key().public_bytes_raw(): each for each in keys}.values():
            first = number_of(_raw(key.public_key()))
            found[next(place % 256 for place in range(first, first + 256) if place % 256 not in found)] = key
        return cls(found)

    def configs(self) -> bytes:
        """`HpkeConfigList`."""
        each = (number(one, 1) + _suite() + vector(_raw(key.public_key()), 2) for one, key in self.each.items())
        return vector(b"".join(each), 2)

    def opened(self, share: Share, party: int, configuration: Configuration) -> Input | ReportError:
        """SECRET: the input share in a report for one server, or why there is none."""
        found = self.unsealed(share.sealed, info_of(party), configuration.bound(share.metadata, share.public))
        if isinstance(found, ReportError):
            return found
        try:
            return Input.of(found)
        except ValueError:
            return ReportError.INVALID_MESSAGE

    def unsealed(self, message: Ciphertext, info: bytes, bound: bytes) -> bytes | ReportError:
        """SECRET: what was sealed to one of the keys, or why it is none."""
        key = self.each.get(message.config)
        if key is None:
            return ReportError.OUTDATED_CONFIG
        try:
            context = _SUITE.create_recipient_context(message.encapsulated, _opened_by(key), info)
            return bytes(context.open(message.payload, bound))
        except (PyHPKEError, ValueError):
            return ReportError.HPKE_DECRYPT_ERROR


@lru_cache(64)
def _opened_by(key: X25519PrivateKey) -> KEMKeyInterface:
    return KEMKey.from_pyca_cryptography_key(key)


def number_of(key: bytes) -> int:
    """The number of a server's key, unless another key of the server has it."""
    return sha256(b"dpcurves HPKE config\n" + key).digest()[0]


def numbers_in(message: bytes) -> dict[bytes, int]:
    """The numbers of keys of our suite in an `HpkeConfigList`. Raises `ValueError`: it is none."""
    listed = every(Reader(message).vector(2), lambda one: (one.number(1), one.octets(6), one.vector(2)))
    return {key: name for name, suite, key in listed if suite == _suite()}


def _raw(key: X25519PublicKey) -> bytes:
    return key.public_bytes_raw()
