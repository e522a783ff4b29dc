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
from ..messages import ProtocolError
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


class InvalidMessage(ProtocolError):
    """The message is none of the draft's."""

    def __init__(self, what: str) -> None:
        super().__init__("message", f"this is no {what} of the DAP draft", 400)


class UnrecognizedTask(ProtocolError):
    """The server has no task of this name."""

    def __init__(self) -> None:
        super().__init__("task", "this server has another task, not this one", 404)


class UnsupportedExtension(ProtocolError):
    """The collection job has other extensions than this profile needs."""

    def __init__(self) -> None:
        super().__init__("message", f"a collection job needs one extension, of type 0x{ASKS:X}", 400)


class BatchMismatch(ProtocolError):
    """The servers have other reports, so that nothing is collected."""

    def __init__(self) -> None:
        super().__init__("reports", report_set.OTHER, 409)


TASK_ID = 43
"""Characters of a task's id in a path."""
CACHED = 86_400
"""Seconds that a client may keep the list of keys."""


def decode_task_id(path: str) -> str:
    """The hash of the task that a path names, in digits; empty where it names none.

    >>> path = encode_task_id("00ff" * 16)
    >>> (path, decode_task_id(path) == "00ff" * 16)
    ('AP8A_wD_AP8A_wD_AP8A_wD_AP8A_wD_AP8A_wD_AP8', True)
    """
    try:
        found = urlsafe_b64decode(path + "=").hex()
    except ValueError:
        return ""
    return found if encode_task_id(found) == path else ""


def encode_task_id(task: str) -> str:
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


def encode_integer(value: int, size: int) -> bytes:
    """A whole number."""
    return value.to_bytes(size, "big")


def encode_vector(content: bytes, size: int) -> bytes:
    """Bytes behind their number, which has `size` bytes itself."""
    return encode_integer(len(content), size) + content


class Reader:
    """Reader of a message, from its beginning. All methods raise `ValueError` where it ends too early."""

    def __init__(self, message: bytes) -> None:
        self._message, self._place = message, 0

    @property
    def is_done(self) -> bool:
        """True if nothing is left."""
        return self._place == len(self._message)

    def read_bytes(self, size: int) -> bytes:
        """So many bytes."""
        end = self._place + size
        if end > len(self._message):
            raise ValueError("cut off")
        found, self._place = self._message[self._place : end], end
        return found

    def read_integer(self, size: int) -> int:
        """A whole number."""
        return int.from_bytes(self.read_bytes(size), "big")

    def read_vector(self, size: int) -> bytes:
        """The content of a vector."""
        return self.read_bytes(self.read_integer(size))


Read = TypeVar("Read")


def decode_all(message: bytes, decode_one: Callable[[Reader], Read]) -> list[Read]:
    """Structures of a message that holds nothing else. Raises `ValueError`: a structure is cut off."""
    reader, found = Reader(message), list[Read]()
    while not reader.is_done:
        found.append(decode_one(reader))
    return found


class Extension(NamedTuple):
    """Extension of a report: its type, and what it holds."""

    extension_type: int
    extension_data: bytes

    @classmethod
    def from_reader(cls, reader: Reader) -> Extension:
        """The next one."""
        return cls(reader.read_integer(2), reader.read_vector(2))

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return encode_integer(self.extension_type, 2) + encode_vector(self.extension_data, 2)


def encode_extensions(extensions: Iterable[Extension]) -> bytes:
    """A vector of extensions."""
    return encode_vector(b"".join(each.to_bytes() for each in extensions), 2)


class ReportMetadata(NamedTuple):
    """Facts of a report that both servers know: `ReportMetadata`. Times are multiples of the task's precision."""

    report_id: bytes
    time: int
    public_extensions: tuple[Extension, ...] = ()

    @classmethod
    def from_reader(cls, reader: Reader) -> ReportMetadata:
        """The next one."""
        return cls(
            reader.read_bytes(report_set.ID),
            reader.read_integer(8),
            tuple(decode_all(reader.read_vector(2), Extension.from_reader)),
        )

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return self.report_id + encode_integer(self.time, 8) + encode_extensions(self.public_extensions)


class HpkeCiphertext(NamedTuple):
    """A sealed message: `HpkeCiphertext`, with the number of the key that it is sealed to."""

    config_id: int
    enc: bytes
    payload: bytes

    @classmethod
    def from_reader(cls, reader: Reader) -> HpkeCiphertext:
        """The next one."""
        found = cls(reader.read_integer(1), reader.read_vector(2), reader.read_vector(4))
        if not found.enc or not found.payload:
            raise ValueError("empty")
        return found

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return encode_integer(self.config_id, 1) + encode_vector(self.enc, 2) + encode_vector(self.payload, 4)


class ReportShare(NamedTuple):
    """A report for one server: `ReportShare`."""

    report_metadata: ReportMetadata
    public_share: bytes
    encrypted_input_share: HpkeCiphertext

    @classmethod
    def from_reader(cls, reader: Reader) -> ReportShare:
        """The next one."""
        return cls(ReportMetadata.from_reader(reader), reader.read_vector(4), HpkeCiphertext.from_reader(reader))

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return (
            self.report_metadata.to_bytes()
            + encode_vector(self.public_share, 4)
            + self.encrypted_input_share.to_bytes()
        )


class Report(NamedTuple):
    """A report as its owner sends it to the leader: `Report`."""

    report_metadata: ReportMetadata
    public_share: bytes
    encrypted_input_shares: tuple[HpkeCiphertext, HpkeCiphertext]

    @classmethod
    def from_reader(cls, reader: Reader) -> Report:
        """The next one."""
        metadata, public = ReportMetadata.from_reader(reader), reader.read_vector(4)
        return cls(metadata, public, (HpkeCiphertext.from_reader(reader), HpkeCiphertext.from_reader(reader)))

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return (
            self.report_metadata.to_bytes()
            + encode_vector(self.public_share, 4)
            + b"".join(each.to_bytes() for each in self.encrypted_input_shares)
        )

    def to_report_share(self, party: int) -> ReportShare:
        """Its part for one server."""
        return ReportShare(self.report_metadata, self.public_share, self.encrypted_input_shares[party])


def parse_upload_request(message: bytes) -> list[Report]:
    """The reports of an `UploadRequest`. Raises `ProtocolError`: it is none, or names a report twice."""
    return _decode_distinct_reports(message, Report.from_reader, "upload request")


Named = TypeVar("Named", "Report", "VerifyInit")


def _decode_distinct_reports(message: bytes, decode_one: Callable[[Reader], Named], what: str) -> list[Named]:
    try:
        found = decode_all(message, decode_one)
    except ValueError:
        raise InvalidMessage(what) from None
    if not found or len({each.report_metadata.report_id for each in found}) < len(found):
        raise InvalidMessage(what)
    return found


Failed = Mapping[bytes, ReportError]
"""Reasons why reports were not taken, by their ids."""


def parse_upload_errors(message: bytes) -> dict[bytes, ReportError]:
    """The inverse of `encode_upload_errors`. Raises `ValueError`: it is none."""
    return dict(decode_all(message, lambda one: (one.read_bytes(report_set.ID), ReportError(one.read_integer(1)))))


def encode_upload_errors(failed: Failed, report_ids: Sequence[bytes]) -> bytes:
    """`UploadErrors`, in the order of these ids; nothing, if all were taken."""
    return b"".join(one + encode_integer(failed[one], 1) for one in report_ids if one in failed)


# Aggregation jobs: the leader hands on the helper's parts of reports, with its messages of their proofs.
INITIALIZE, FINISH = 0, 2
"""Kinds of messages of two servers that verify a report in one round (ping-pong topology of the VDAF draft)."""
BATCH = 1
"""Type of the extension of a job that names the batch: ours has the task's own id."""


def encode_ping_pong_message(kind: int, content: bytes) -> bytes:
    """A message of a proof."""
    return encode_integer(kind, 1) + encode_vector(content, 4)


def parse_ping_pong_message(message: bytes, kind: int) -> bytes:
    """The content of a message of this kind. Raises `ValueError`: it is another one."""
    reader = Reader(message)
    found, content = reader.read_integer(1), reader.read_vector(4)
    if found != kind or not reader.is_done:
        raise ValueError("another kind of message")
    return content


class VerifyInit(NamedTuple):
    """A report for the helper, and the leader's message of its proof: `VerifyInit`."""

    report_share: ReportShare
    payload: bytes

    @property
    def report_metadata(self) -> ReportMetadata:
        """That of the report."""
        return self.report_share.report_metadata

    @classmethod
    def from_reader(cls, reader: Reader) -> VerifyInit:
        """The next one."""
        return cls(ReportShare.from_reader(reader), reader.read_vector(4))

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return self.report_share.to_bytes() + encode_vector(self.payload, 4)


def encode_aggregation_job(task: str, verify_inits: Iterable[VerifyInit]) -> bytes:
    """`AggregationJobInitReq`, of the first key of verification, without parameter, in the batch of a task."""
    extensions = encode_extensions([Extension(BATCH, bytes.fromhex(task))])
    return (
        encode_integer(0, 1) + encode_vector(b"", 4) + extensions + b"".join(each.to_bytes() for each in verify_inits)
    )


def parse_aggregation_job(message: bytes, task: str) -> list[VerifyInit]:
    """The inverse of `encode_aggregation_job`. Raises `ProtocolError`: it is none."""
    start = encode_aggregation_job(task, ())
    if not message.startswith(start):
        raise InvalidMessage("aggregation job of this task")
    return _decode_distinct_reports(message[len(start) :], VerifyInit.from_reader, "aggregation job of this task")


def derive_job_id(message: bytes) -> str:
    """The id of an aggregation job in a path: the same for the same bytes."""
    digest = sha256(b"dpcurves aggregation job\n" + message).digest()
    return urlsafe_b64encode(digest[: report_set.ID]).decode().rstrip("=")


class VerifyResp(NamedTuple):
    """Answer of the helper on a report: a message of its proof, or why it is rejected: `VerifyResp`."""

    report_id: bytes
    result: bytes | ReportError

    @classmethod
    def from_reader(cls, reader: Reader) -> VerifyResp:
        """The next one."""
        one, kind = reader.read_bytes(report_set.ID), reader.read_integer(1)
        if kind not in (CONTINUE, REJECT):
            raise ValueError("another kind of answer")
        return cls(one, reader.read_vector(4) if kind == CONTINUE else ReportError(reader.read_integer(1)))

    def to_bytes(self) -> bytes:
        """Its bytes."""
        if isinstance(self.result, ReportError):
            return self.report_id + encode_integer(REJECT, 1) + encode_integer(self.result, 1)
        return self.report_id + encode_integer(CONTINUE, 1) + encode_vector(self.result, 4)


CONTINUE, REJECT = 0, 2


def parse_aggregation_job_response(message: bytes, report_ids: Sequence[bytes]) -> list[VerifyResp]:
    """`AggregationJobResp` on reports of these ids. Raises `ProtocolError`: it is none."""
    try:
        found = decode_all(message, VerifyResp.from_reader)
    except ValueError:
        found = []
    if [each.report_id for each in found] != list(report_ids):
        raise ProtocolError("peer", "its answer is none to the aggregation job", 502)
    return found


@dataclass(frozen=True, slots=True)
class CollectionJobRequest:
    """`CollectionJobReq` of an analyst: all reports of a task, once it is closed.

    Attributes:
        message: Its bytes.
        config_id: Number of the analyst's key.
        collector_key: The key to which aggregate shares are sealed, made for this job.
        encrypted_token: The bearer token for the helper, sealed to it.
    """

    message: bytes
    config_id: int
    collector_key: bytes
    encrypted_token: HpkeCiphertext

    @classmethod
    def from_bytes(cls, message: bytes) -> CollectionJobRequest:
        """The one in a message. Raises `ProtocolError`: it is none, or asks for something else."""
        reader = Reader(message)
        try:
            mode, query, parameter = reader.read_integer(1), reader.read_vector(2), reader.read_vector(4)
            extensions = decode_all(reader.read_vector(2), Extension.from_reader)
            fits = reader.is_done and (mode, query, parameter) == (LEADER_SELECTED, b"", b"")
        except ValueError:
            fits, extensions = False, []
        if not fits:
            raise InvalidMessage("collection job of this task")
        if [each.extension_type for each in extensions] != [ASKS]:
            raise UnsupportedExtension
        inside = Reader(extensions[0].extension_data)
        try:
            config, suite, key = inside.read_integer(1), inside.read_bytes(6), inside.read_vector(2)
            letter = HpkeCiphertext.from_reader(inside)
            fits = inside.is_done and suite == _encode_hpke_suite() and len(key) == KEY
        except ValueError:
            fits = False
        if not fits:
            raise InvalidMessage("collection job of this task")
        return cls(message, config, key, letter)

    @property
    def hpke_config(self) -> bytes:
        """`HpkeConfig` of the analyst's key."""
        return encode_integer(self.config_id, 1) + _encode_hpke_suite() + encode_vector(self.collector_key, 2)


def encode_aggregate_share_request(job: CollectionJobRequest, task: str, reports: int, checksum: bytes) -> bytes:
    """`AggregateShareReq` for all of a task."""
    selected = encode_integer(LEADER_SELECTED, 1) + encode_vector(bytes.fromhex(task), 2)
    return job.message + selected + encode_integer(reports, 8) + checksum


def parse_aggregate_share_request(message: bytes, task: str, reports: int, checksum: bytes) -> CollectionJobRequest:
    """The collection job in an `AggregateShareReq` for so many reports of this checksum.

    Raises:
        ProtocolAborted: it is none, or is for other reports.
    """
    tail = encode_aggregate_share_request(
        CollectionJobRequest(b"", 0, b"", HpkeCiphertext(0, b"", b"")), task, reports, checksum
    )
    job, rest, facts = message[: -len(tail)], message[-len(tail) :], 8 + len(checksum)
    if rest[:-facts] != tail[:-facts]:
        raise InvalidMessage("request for an aggregate share of this task")
    if rest != tail:
        raise BatchMismatch
    return CollectionJobRequest.from_bytes(job)


def encode_collection_job_response(reports: int, end_time: int, shares: Sequence[bytes]) -> bytes:
    """`CollectionJobResp`: when reports were made nobody keeps, so the interval goes from the first moment to now."""
    return encode_integer(reports, 8) + encode_integer(0, 8) + encode_integer(end_time, 8) + b"".join(shares)


def parse_aggregate_share(message: bytes) -> bytes:
    """The sealed share in an `AggregateShare`. Raises `ProtocolError`: there is none."""
    reader = Reader(message)
    try:
        found = HpkeCiphertext.from_reader(reader).to_bytes()
    except ValueError:
        found = b""
    if found != message:
        raise ProtocolError("peer", "its answer is no aggregate share", 502)
    return found


def hpke_seal(plaintext: bytes, key: bytes, info: bytes, aad: bytes) -> tuple[bytes, bytes]:
    """A message sealed by HPKE to a key: what is encapsulated, and the ciphertext. Raises `ValueError`: no key."""
    encapsulated, context = _SUITE.create_sender_context(_load_public_key(key), info)
    return encapsulated, context.seal(plaintext, aad)


@lru_cache(64)
def _load_public_key(key: bytes) -> KEMKeyInterface:
    return KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(key))


KEY = 32


def _encode_hpke_suite() -> bytes:
    return encode_integer(KEM, 2) + encode_integer(KDF, 2) + encode_integer(AEAD, 2)


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
class TaskConfiguration:
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

    def to_bytes(self) -> bytes:
        """The bytes of `TaskConfiguration`: one batch that the leader selects, of at least one report."""
        return self._configuration_bytes

    @cached_property
    def _configuration_bytes(self) -> bytes:
        urls = b"".join(encode_vector(server.url.rstrip("/").encode(), 2) for server in self.servers)
        mode = (
            encode_integer(PRECISION, 8)
            + encode_integer(1, 8)
            + encode_integer(LEADER_SELECTED, 1)
            + encode_vector(b"", 2)
        )
        scheme = encode_integer(self.vdaf.value, 4) + encode_vector(self.parameters, 2)
        return encode_vector(INFO, 1) + urls + mode + scheme + encode_vector(b"", 2)

    def encode_input_share_aad(self, metadata: ReportMetadata, public: bytes) -> bytes:
        """Associated data of an input share: `InputShareAad`."""
        return bytes.fromhex(self.task) + self.to_bytes() + metadata.to_bytes() + encode_vector(public, 4)

    def seal_aggregate_share(self, job: CollectionJobRequest, party: int, share: bytes) -> bytes:
        """A server's aggregate share as the analyst alone opens it: `AggregateShareAad` and `HpkeCiphertext`.

        Raises:
            ProtocolAborted: the key is none.
        """
        info = VERSION + b" aggregate share" + bytes([AGGREGATORS[party], COLLECTOR])
        try:
            found = hpke_seal(share, job.collector_key, info, bytes.fromhex(self.task) + self.to_bytes() + job.message)
        except ValueError:
            raise InvalidMessage("collection job of this task") from None
        return HpkeCiphertext(job.config_id, *found).to_bytes()

    def encode_token_aad(self, job: CollectionJobRequest) -> bytes:
        """Associated data of the letter in a collection job: its key can not be put in the place of another one."""
        return bytes.fromhex(self.task) + self.to_bytes() + job.hpke_config


LETTER_INFO = b"dpcurves collection 1" + bytes([COLLECTOR, AGGREGATORS[1]])
"""The context of the letter of a collection job."""


def encode_input_share_info(party: int) -> bytes:
    """The context of what an owner seals to a server."""
    return VERSION + b" input share" + bytes([CLIENT, AGGREGATORS[party]])


class PlaintextInputShare(NamedTuple):
    """SECRET. An input share and what an owner tells one server alone: `PlaintextInputShare`."""

    private_extensions: tuple[Extension, ...]
    payload: bytes

    @classmethod
    def from_bytes(cls, message: bytes) -> PlaintextInputShare:
        """The one in a message. Raises `ValueError`: it is none."""
        reader = Reader(message)
        found = cls(tuple(decode_all(reader.read_vector(2), Extension.from_reader)), reader.read_vector(4))
        if not reader.is_done or not found.payload:
            raise ValueError("something follows, or nothing is there")
        return found

    def to_bytes(self) -> bytes:
        """Its bytes."""
        return encode_extensions(self.private_extensions) + encode_vector(self.payload, 4)


@dataclass(frozen=True, slots=True, repr=False)
class HpkeKeys:
    """SECRET. The keys that a server opens input shares with, by their numbers. It has no repr.

    A number is the first byte of a hash of the public key, or one of the next where it is taken: so that it stays the
    same when keys are rotated.

    Attributes:
        private_keys: Keys, those that are preferred first.
    """

    private_keys: Mapping[int, X25519PrivateKey]

    @classmethod
    def from_private_keys(cls, keys: Iterable[X25519PrivateKey]) -> HpkeKeys:
        """Numbers for some keys; the same one twice counts once."""
        found = dict[int, X25519PrivateKey]()
        for key in {each.public_key().public_bytes_raw(): each for each in keys}.values():
            first = derive_config_id(_encode_public_key(key.public_key()))
            found[next(place % 256 for place in range(first, first + 256) if place % 256 not in found)] = key
        return cls(found)

    def encode_config_list(self) -> bytes:
        """`HpkeConfigList`."""
        each = (
            encode_integer(one, 1) + _encode_hpke_suite() + encode_vector(_encode_public_key(key.public_key()), 2)
            for one, key in self.private_keys.items()
        )
        return encode_vector(b"".join(each), 2)

    def open_input_share(
        self, share: ReportShare, party: int, configuration: TaskConfiguration
    ) -> PlaintextInputShare | ReportError:
        """SECRET: the input share in a report for one server, or why there is none."""
        found = self.open_ciphertext(
            share.encrypted_input_share,
            encode_input_share_info(party),
            configuration.encode_input_share_aad(share.report_metadata, share.public_share),
        )
        if isinstance(found, ReportError):
            return found
        try:
            return PlaintextInputShare.from_bytes(found)
        except ValueError:
            return ReportError.INVALID_MESSAGE

    def open_ciphertext(self, message: HpkeCiphertext, info: bytes, aad: bytes) -> bytes | ReportError:
        """SECRET: what was sealed to one of the keys, or why it is none."""
        key = self.private_keys.get(message.config_id)
        if key is None:
            return ReportError.OUTDATED_CONFIG
        try:
            context = _SUITE.create_recipient_context(message.enc, _load_private_key(key), info)
            return bytes(context.open(message.payload, aad))
        except (PyHPKEError, ValueError):
            return ReportError.HPKE_DECRYPT_ERROR


@lru_cache(64)
def _load_private_key(key: X25519PrivateKey) -> KEMKeyInterface:
    return KEMKey.from_pyca_cryptography_key(key)


def derive_config_id(key: bytes) -> int:
    """The number of a server's key, unless another key of the server has it."""
    return sha256(b"dpcurves HPKE config\n" + key).digest()[0]


def parse_config_ids(message: bytes) -> dict[bytes, int]:
    """The numbers of keys of our suite in an `HpkeConfigList`. Raises `ValueError`: it is none."""
    listed = decode_all(
        Reader(message).read_vector(2), lambda one: (one.read_integer(1), one.read_bytes(6), one.read_vector(2))
    )
    return {key: name for name, suite, key in listed if suite == _encode_hpke_suite()}


def _encode_public_key(key: X25519PublicKey) -> bytes:
    return key.public_bytes_raw()
