"""Messages of the DAP draft (Distributed Aggregation Protocol), in the presentation language of RFC 8446.

Classes and functions have the names of the draft: uploads, aggregation jobs and collection jobs. `Reader` parses bytes;
`parse_` functions refuse invalid messages with the draft's errors. `HpkeKeys` opens sealed shares (RFC 9180).
"""

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
"""Version of the DAP draft, which begins the HPKE info of sealed shares: shares of other versions cannot be opened."""
DAP_MEDIA_TYPE = "application/ppm-dap;message="
"""Start of the media types of the draft's messages; the name of the message follows. A request of another type is
refused with status 415."""
HPKE_CONFIG_LIST_TYPE = f"{DAP_MEDIA_TYPE}hpke-config-list"
"""Media type of `HpkeConfigList`: the keys to which clients encrypt."""
UPLOAD_REQ_TYPE = f"{DAP_MEDIA_TYPE}upload-req"
"""Media type of `UploadReq`: a client's reports, sent to the leader."""
UPLOAD_ERRORS_TYPE = f"{DAP_MEDIA_TYPE}upload-errors"
"""Media type of `UploadErrors`: the reports of an upload that were rejected, each with its error."""
COLLECTION_JOB_REQ_TYPE = f"{DAP_MEDIA_TYPE}collection-job-req"
"""Media type of `CollectionJobReq`: an analyst's request to the leader."""
COLLECTION_JOB_RESP_TYPE = f"{DAP_MEDIA_TYPE}collection-job-resp"
"""Media type of `CollectionJobResp`: the encrypted aggregate shares of both servers."""
AGGREGATE_SHARE_REQ_TYPE = f"{DAP_MEDIA_TYPE}aggregate-share-req"
"""Media type of `AggregateShareReq`: the leader's request to the helper."""
AGGREGATE_SHARE_TYPE = f"{DAP_MEDIA_TYPE}aggregate-share"
"""Media type of `AggregateShare`: the helper's encrypted share."""
AGGREGATION_JOB_INIT_REQ_TYPE = f"{DAP_MEDIA_TYPE}aggregation-job-init-req"
"""Media type of `AggregationJobInitReq`: reports that the leader passes to the helper."""
AGGREGATION_JOB_RESP_TYPE = f"{DAP_MEDIA_TYPE}aggregation-job-resp"
"""Media type of `AggregationJobResp`: the helper's answer about each of these reports."""
PROBLEM_TYPE = "application/problem+json"
"""Media type of the description of an error (problem details, RFC 9457)."""
DAP_ERROR_URN = "urn:ietf:params:ppm:dap:error:"
"""Start of an error type's URN in problem details; the draft's name of the error follows."""
_KEM, _KDF, _AEAD = KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM  # HPKE suite
_SUITE = CipherSuite.new(_KEM, _KDF, _AEAD)
"""HPKE suite (RFC 9180) of all sealed messages; clients learn it from the servers' HPKE configurations."""
TICKET_EXTENSION = 0xFF10
"""Type number of the private report extension that holds an owner's ticket (bearer token) for the helper; a helper's
share without it is rejected."""


ANALYST_EXTENSION = 0xFF11
"""Type number of the extension of a collection job that holds the analyst's key and the encrypted ticket for the
helper; a job without it is refused."""


class Role(IntEnum):
    """Roles of the draft, as numbers in the context of sealed messages."""

    COLLECTOR = 0
    CLIENT = 1
    LEADER = 2
    HELPER = 3


AGGREGATORS = Role.LEADER, Role.HELPER
"""Roles in the draft of servers 0 and 1."""


class InvalidMessage(ProtocolError):
    """The message does not follow the draft."""

    def __init__(self, message_name: str) -> None:
        super().__init__(
            "message",
            f"must be a valid {message_name} of the DAP draft; use a client of the draft's version that the task names",
            400,
        )


class UnrecognizedTask(ProtocolError):
    """The server has no task with this id."""

    def __init__(self) -> None:
        super().__init__("task", "is not served here; ask the server that the task document names", 404)


class UnsupportedExtension(ProtocolError):
    """The collection job has other extensions than this profile requires."""

    def __init__(self) -> None:
        super().__init__(
            "message",
            f"must be a collection job with a single extension, of type 0x{ANALYST_EXTENSION:X}; ask with dpcurves ask",
            400,
        )


class BatchMismatch(ProtocolError):
    """The servers have different reports, so nothing is collected."""

    def __init__(self) -> None:
        super().__init__("reports", report_set.DIFFERENT_REPORTS, 409)


def decode_task_id(path: str) -> str:
    """Return the hash of the task in a path, in hexadecimal digits; empty if the id is invalid.

    >>> path = encode_task_id("00ff" * 16)
    >>> (path, decode_task_id(path) == "00ff" * 16)
    ('AP8A_wD_AP8A_wD_AP8A_wD_AP8A_wD_AP8A_wD_AP8', True)
    """
    try:
        digits = urlsafe_b64decode(path + "=").hex()
    except ValueError:
        return ""
    return digits if encode_task_id(digits) == path else ""


def encode_task_id(task: str) -> str:
    """Return the id of a task in a path, from its hash in hexadecimal digits.

    Args:
        task: Hash of the task, in hexadecimal digits.
    """
    return urlsafe_b64encode(bytes.fromhex(task)).decode().rstrip("=")


class ReportError(IntEnum):
    """Reason why a report was rejected, as numbered in the draft."""

    REPORT_DROPPED = 3
    HPKE_DECRYPT_ERROR = 5
    VDAF_VERIFY_ERROR = 6
    INVALID_MESSAGE = 8
    REPORT_TOO_EARLY = 9
    OUTDATED_CONFIG = 11


# Integers are big-endian; a vector is preceded by its length in bytes.


def encode_integer(value: int, size: int) -> bytes:
    """Return a nonnegative integer as `size` big-endian bytes.

    Args:
        value: Integer from 0 to below ``256**size``.
        size: Number of bytes.

    Raises:
        OverflowError: the integer does not fit.
    """
    return value.to_bytes(size, "big")


def encode_vector(content: bytes, size: int) -> bytes:
    """Return bytes preceded by their length, as a big-endian integer of `size` bytes.

    Args:
        content: Bytes to send.
        size: Number of bytes of the length.

    Raises:
        OverflowError: the content is too long for its length field.
    """
    return encode_integer(len(content), size) + content


class Reader:
    """Reader of a message. All methods raise `ValueError` if the message is too short."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._place = 0

    @property
    def is_done(self) -> bool:
        """True if all bytes of the message were read."""
        return self._place == len(self._message)

    def read_bytes(self, size: int) -> bytes:
        """Read the next bytes of the message, and move past them.

        Args:
            size: Number of bytes.

        Raises:
            ValueError: fewer are left.
        """
        end = self._place + size
        if end > len(self._message):
            raise ValueError("the message is cut off")
        content = self._message[self._place : end]
        self._place = end
        return content

    def read_integer(self, size: int) -> int:
        """Return the next `size` bytes as a big-endian integer.

        Raises:
            ValueError: fewer bytes are left.
        """
        return int.from_bytes(self.read_bytes(size), "big")

    def read_vector(self, size: int) -> bytes:
        """Read the next vector of the message (length, then bytes), and return its bytes.

        Args:
            size: Bytes of its length prefix.

        Raises:
            ValueError: the vector is truncated.
        """
        return self.read_bytes(self.read_integer(size))


Read = TypeVar("Read")


def decode_all(message: bytes, decode_one: Callable[[Reader], Read]) -> list[Read]:
    """Decode a message that consists of any number of encoded structures of one type, one after another.

    Args:
        message: The message.
        decode_one: Function that reads one structure.

    Returns:
        The structures, in the order of the message.

    Raises:
        ValueError: a structure is truncated.
    """
    reader = Reader(message)
    structures = list[Read]()
    while not reader.is_done:
        structures.append(decode_one(reader))
    return structures


class Extension(NamedTuple):
    """Extension of a report: its type and data."""

    extension_type: int
    extension_data: bytes

    @classmethod
    def from_reader(cls, reader: Reader) -> Extension:
        """Read an extension: type of 2 bytes, then its data.

        Args:
            reader: Message, at the start of the extension; reading moves past it.

        Raises:
            ValueError: the message is truncated.
        """
        return cls(reader.read_integer(2), reader.read_vector(2))

    def to_bytes(self) -> bytes:
        """Return the extension as bytes: type, then its data as a vector."""
        return encode_integer(self.extension_type, 2) + encode_vector(self.extension_data, 2)


def encode_extensions(extensions: Iterable[Extension]) -> bytes:
    """Return extensions as one vector of at most 65,535 bytes."""
    return encode_vector(b"".join(extension.to_bytes() for extension in extensions), 2)


class ReportMetadata(NamedTuple):
    """Metadata of a report that both servers see: `ReportMetadata`. Times are multiples of the task's precision."""

    report_id: bytes
    time: int
    public_extensions: tuple[Extension, ...] = ()

    @classmethod
    def from_reader(cls, reader: Reader) -> ReportMetadata:
        """Return the metadata of a report: id, time and public extensions.

        Args:
            reader: Message, at the start of the metadata; reading moves past them.

        Raises:
            ValueError: the metadata are truncated.
        """
        return cls(
            reader.read_bytes(report_set.ID_SIZE),
            reader.read_integer(8),
            tuple(decode_all(reader.read_vector(2), Extension.from_reader)),
        )

    def to_bytes(self) -> bytes:
        """Return the metadata as bytes of the draft's `ReportMetadata`."""
        return self.report_id + encode_integer(self.time, 8) + encode_extensions(self.public_extensions)


class HpkeCiphertext(NamedTuple):
    """A sealed message: `HpkeCiphertext`, with the configuration id of its key."""

    config_id: int
    enc: bytes
    payload: bytes

    @classmethod
    def from_reader(cls, reader: Reader) -> HpkeCiphertext:
        """Return the next ciphertext of a message.

        Args:
            reader: Message, at the start of the ciphertext; reading moves past it.

        Raises:
            ValueError: the message is truncated, or the ciphertext's key or payload is empty.
        """
        ciphertext = cls(reader.read_integer(1), reader.read_vector(2), reader.read_vector(4))
        if not ciphertext.enc or not ciphertext.payload:
            raise ValueError("the key and the payload of a ciphertext must not be empty")
        return ciphertext

    def to_bytes(self) -> bytes:
        """Return the ciphertext as bytes of the draft's `HpkeCiphertext`."""
        return encode_integer(self.config_id, 1) + encode_vector(self.enc, 2) + encode_vector(self.payload, 4)


class ReportShare(NamedTuple):
    """A report for one server: `ReportShare`."""

    report_metadata: ReportMetadata
    public_share: bytes
    encrypted_input_share: HpkeCiphertext

    @classmethod
    def from_reader(cls, reader: Reader) -> ReportShare:
        """Read a report for one server.

        Args:
            reader: Message, at the start of the report; reading moves past it.

        Raises:
            ValueError: the message is truncated.
        """
        return cls(ReportMetadata.from_reader(reader), reader.read_vector(4), HpkeCiphertext.from_reader(reader))

    def to_bytes(self) -> bytes:
        """Return the report for one server as bytes of the draft's `ReportShare`."""
        public_share = encode_vector(self.public_share, 4)
        return self.report_metadata.to_bytes() + public_share + self.encrypted_input_share.to_bytes()


class Report(NamedTuple):
    """A report as its owner sends it to the leader: `Report`."""

    report_metadata: ReportMetadata
    public_share: bytes
    encrypted_input_shares: tuple[HpkeCiphertext, HpkeCiphertext]

    @classmethod
    def from_reader(cls, reader: Reader) -> Report:
        """Return the next report of a message, with encrypted shares for both servers.

        Args:
            reader: Message, at the start of the report; reading moves past it.

        Raises:
            ValueError: the message is truncated.
        """
        metadata = ReportMetadata.from_reader(reader)
        public = reader.read_vector(4)
        return cls(metadata, public, (HpkeCiphertext.from_reader(reader), HpkeCiphertext.from_reader(reader)))

    def to_bytes(self) -> bytes:
        """Return the report for both servers as bytes of the draft's `Report`."""
        public_share = encode_vector(self.public_share, 4)
        input_shares = b"".join(ciphertext.to_bytes() for ciphertext in self.encrypted_input_shares)
        return self.report_metadata.to_bytes() + public_share + input_shares

    def to_report_share(self, party: int) -> ReportShare:
        """Return the part of the report for server 0 (leader) or server 1 (helper).

        Args:
            party: Number of the server, 0 or 1.
        """
        return ReportShare(self.report_metadata, self.public_share, self.encrypted_input_shares[party])


def parse_upload_request(message: bytes) -> list[Report]:
    """Parse the reports of an upload (the draft's `UploadRequest`), of which no two have the same id.

    Raises:
        ProtocolError: the message is invalid, or repeats a report id.
    """
    return _decode_distinct_reports(message, Report.from_reader, "upload request")


Named = TypeVar("Named", "Report", "VerifyInit")


def _decode_distinct_reports(message: bytes, decode_one: Callable[[Reader], Named], message_name: str) -> list[Named]:
    """Decode the reports of a message, of which no two may have the same id.

    Args:
        message: The message.
        decode_one: Function that reads one report.
        message_name: Name of the message, for the error.

    Raises:
        InvalidMessage: the message is truncated or empty, or repeats an id; names the message.
    """
    try:
        reports = decode_all(message, decode_one)
    except ValueError:
        raise InvalidMessage(message_name) from None
    if not reports or len({report.report_metadata.report_id for report in reports}) < len(reports):
        raise InvalidMessage(message_name)
    return reports


Failed = Mapping[bytes, ReportError]
"""Reasons why reports were rejected, by their ids."""


def parse_upload_errors(message: bytes) -> dict[bytes, ReportError]:
    """Return why reports were rejected, by report id, from the leader's answer to an upload.

    Raises:
        ValueError: the message is invalid.
    """
    return dict(
        decode_all(message, lambda item: (item.read_bytes(report_set.ID_SIZE), ReportError(item.read_integer(1))))
    )


def encode_upload_errors(failed: Failed, report_ids: Sequence[bytes]) -> bytes:
    """Encode `UploadErrors`, in the order of these ids; empty if all were accepted.

    Args:
        failed: Reason of rejection by report id.
        report_ids: Ids of the uploaded reports, in the order of the answer.

    Returns:
        For each failed report its id and one byte of reason.
    """
    return b"".join(report_id + encode_integer(failed[report_id], 1) for report_id in report_ids if report_id in failed)


# Aggregation jobs: the leader forwards the helper's parts of reports, with its proof messages.
class PingPongType(IntEnum):
    """Types of the messages of a one-round verification (ping-pong topology of the VDAF draft)."""

    INITIALIZE = 0
    FINISH = 2


def encode_ping_pong_message(kind: int, content: bytes) -> bytes:
    """Return a proof message of the VDAF draft's ping-pong topology: its type, then its content as a vector.

    Args:
        kind: Type of the message, one byte.
        content: Payload of the message.
    """
    return encode_integer(kind, 1) + encode_vector(content, 4)


def parse_ping_pong_message(message: bytes, kind: int) -> bytes:
    """Return the content of a message of the VDAF ping-pong topology.

    Args:
        message: The message.
        kind: Type that it must have.

    Raises:
        ValueError: the message has another type, or bytes follow its content.
    """
    reader = Reader(message)
    message_type = reader.read_integer(1)
    content = reader.read_vector(4)
    if message_type != kind or not reader.is_done:
        raise ValueError("the message has another type than expected")
    return content


class VerifyInit(NamedTuple):
    """A report for the helper, with the leader's proof message: `VerifyInit`."""

    report_share: ReportShare
    payload: bytes

    @property
    def report_metadata(self) -> ReportMetadata:
        """Report id, time and public extensions: the draft's `ReportMetadata`."""
        return self.report_share.report_metadata

    @classmethod
    def from_reader(cls, reader: Reader) -> VerifyInit:
        """Read a report for the helper with the leader's proof message.

        Args:
            reader: Message, at the start of the report; reading moves past it.

        Raises:
            ValueError: the message is truncated.
        """
        return cls(ReportShare.from_reader(reader), reader.read_vector(4))

    def to_bytes(self) -> bytes:
        """Return the report and the leader's proof message as bytes of the draft's `VerifyInit`."""
        return self.report_share.to_bytes() + encode_vector(self.payload, 4)


def encode_aggregation_job(task: str, verify_inits: Iterable[VerifyInit]) -> bytes:
    """Encode an `AggregationJobInitReq` with the first verification key, without parameter, in the batch of a task.

    Args:
        task: Hash of the task, in hexadecimal digits.
        verify_inits: Reports for the helper, each with the leader's proof message.
    """
    # 1: type of the extension of a job that names the batch, whose id equals the task's
    extensions = encode_extensions([Extension(1, bytes.fromhex(task))])
    return (
        encode_integer(0, 1) + encode_vector(b"", 4) + extensions + b"".join(init.to_bytes() for init in verify_inits)
    )


def parse_aggregation_job(message: bytes, task: str) -> list[VerifyInit]:
    """Return the reports of an aggregation job request, in order, each with the leader's first message.

    Args:
        message: The request.
        task: Hash of the task.

    Raises:
        ProtocolError: the request is invalid, or of another task.
    """
    start = encode_aggregation_job(task, ())
    if not message.startswith(start):
        raise InvalidMessage("aggregation job of this task")
    return _decode_distinct_reports(message[len(start) :], VerifyInit.from_reader, "aggregation job of this task")


def derive_job_id(message: bytes) -> str:
    """Return the id of an aggregation job in a path, derived from its bytes.

    Args:
        message: The encoded aggregation job.

    Returns:
        Base64url text without padding; equal jobs have equal ids.
    """
    digest = sha256(b"dpcurves aggregation job\n" + message).digest()
    return urlsafe_b64encode(digest[: report_set.ID_SIZE]).decode().rstrip("=")


class VerifyRespType(IntEnum):
    """Types of the helper's answer about a report: a proof message, or a reason of rejection."""

    CONTINUE = 0
    REJECT = 2


class VerifyResp(NamedTuple):
    """The helper's answer about a report, a proof message or the reason of rejection: `VerifyResp`."""

    report_id: bytes
    result: bytes | ReportError

    @classmethod
    def from_reader(cls, reader: Reader) -> VerifyResp:
        """Return the helper's answer about one report: a message, or the error for which the report is rejected.

        Args:
            reader: Message, at the start of the answer; reading moves past it.

        Raises:
            ValueError: the message is truncated or of another type.
        """
        report_id = reader.read_bytes(report_set.ID_SIZE)
        kind = reader.read_integer(1)
        if kind not in set(VerifyRespType):
            raise ValueError("the answer has another type than expected")
        return cls(
            report_id, reader.read_vector(4) if kind == VerifyRespType.CONTINUE else ReportError(reader.read_integer(1))
        )

    def to_bytes(self) -> bytes:
        """Return the helper's answer as bytes of the draft's `VerifyResp`."""
        if isinstance(self.result, ReportError):
            return self.report_id + encode_integer(VerifyRespType.REJECT, 1) + encode_integer(self.result, 1)
        return self.report_id + encode_integer(VerifyRespType.CONTINUE, 1) + encode_vector(self.result, 4)


def parse_aggregation_job_response(message: bytes, report_ids: Sequence[bytes]) -> list[VerifyResp]:
    """Parse the helper's response to an aggregation job: the outcome of each report.

    Args:
        message: The message.
        report_ids: Ids of the reports, in the order that the message must have.

    Raises:
        ProtocolError: the message is invalid, or about other reports.
    """
    try:
        answers = decode_all(message, VerifyResp.from_reader)
    except ValueError:
        answers = []
    if [answer.report_id for answer in answers] != list(report_ids):
        raise ProtocolError(
            "peer", "the answer does not fit the aggregation job; use the same version of dpcurves at both servers", 502
        )
    return answers


LEADER_SELECTED = 2
"""Number of the draft's batch mode in which the leader selects the reports of a batch; jobs in other modes are
refused."""


@dataclass(frozen=True, slots=True)
class CollectionJobRequest:
    """`CollectionJobReq` of an analyst: all reports of a closed task.

    Attributes:
        message: Its bytes.
        config_id: Configuration id of the analyst's key.
        collector_key: Key to which aggregate shares are sealed, generated for this job.
        encrypted_token: Bearer token for the helper, sealed to it.
    """

    message: bytes
    config_id: int
    collector_key: bytes
    encrypted_token: HpkeCiphertext

    @classmethod
    def from_bytes(cls, message: bytes) -> CollectionJobRequest:
        """Parse an analyst's request for a collection job (DAP draft) and check that it is of a supported kind.

        Args:
            message: The encoded request.

        Raises:
            ProtocolError: the message is invalid, or asks for a kind of job that is not supported.
        """
        reader = Reader(message)
        try:
            mode = reader.read_integer(1)
            query = reader.read_vector(2)
            parameter = reader.read_vector(4)
            extensions = decode_all(reader.read_vector(2), Extension.from_reader)
            fits = reader.is_done and (mode, query, parameter) == (LEADER_SELECTED, b"", b"")
        except ValueError:
            fits = False
            extensions = []
        if not fits:
            raise InvalidMessage("collection job of this task")
        if [extension.extension_type for extension in extensions] != [ANALYST_EXTENSION]:
            raise UnsupportedExtension
        nested_reader = Reader(extensions[0].extension_data)
        try:
            config = nested_reader.read_integer(1)
            suite = nested_reader.read_bytes(6)
            key = nested_reader.read_vector(2)
            letter = HpkeCiphertext.from_reader(nested_reader)
            # 32: bytes of an X25519 public key
            fits = nested_reader.is_done and suite == _encode_hpke_suite() and len(key) == 32
        except ValueError:
            fits = False
        if not fits:
            raise InvalidMessage("collection job of this task")
        return cls(message, config, key, letter)

    @property
    def hpke_config(self) -> bytes:
        """Public key of the analyst as the draft's `HpkeConfig`, to which aggregate shares are encrypted."""
        return encode_integer(self.config_id, 1) + _encode_hpke_suite() + encode_vector(self.collector_key, 2)


def encode_aggregate_share_request(job: CollectionJobRequest, task: str, reports: int, checksum: bytes) -> bytes:
    """Encode the leader's request for the helper's aggregate share of all reports (`AggregateShareReq`).

    Args:
        job: The analyst's collection job.
        task: Hash of the task.
        reports: Number of reports.
        checksum: XOR of the hashes of their ids, 32 bytes.
    """
    selected = encode_integer(LEADER_SELECTED, 1) + encode_vector(bytes.fromhex(task), 2)
    return job.message + selected + encode_integer(reports, 8) + checksum


def parse_aggregate_share_request(message: bytes, task: str, reports: int, checksum: bytes) -> CollectionJobRequest:
    """Parse a leader's request for an aggregate share (`AggregateShareReq`), and return the collection job in it.

    Args:
        message: The message.
        task: Hash of the task.
        reports: Number of reports that it must state.
        checksum: Checksum that it must state.

    Raises:
        ProtocolError: the message is invalid, or for other reports.
    """
    tail = encode_aggregate_share_request(
        CollectionJobRequest(b"", 0, b"", HpkeCiphertext(0, b"", b"")), task, reports, checksum
    )
    job = message[: -len(tail)]
    suffix = message[-len(tail) :]
    facts = 8 + len(checksum)
    if suffix[:-facts] != tail[:-facts]:
        raise InvalidMessage("request for an aggregate share of this task")
    if suffix != tail:
        raise BatchMismatch
    return CollectionJobRequest.from_bytes(job)


def encode_collection_job_response(reports: int, end_time: int, shares: Sequence[bytes]) -> bytes:
    """Encode the response to a collection job (the draft's `CollectionJobResp`) with both encrypted aggregate shares.

    Times of reports are not stored, so its interval goes from the first moment to now.

    Args:
        reports: Number of reports.
        end_time: End of the interval, in units of the draft's time precision.
        shares: Sealed aggregate shares of the leader and the helper.
    """
    return encode_integer(reports, 8) + encode_integer(0, 8) + encode_integer(end_time, 8) + b"".join(shares)


def parse_aggregate_share(message: bytes) -> bytes:
    """Return the encrypted share in an `AggregateShare` message of the helper.

    Args:
        message: The message.

    Raises:
        ProtocolError: the message is invalid (status 502).
    """
    reader = Reader(message)
    try:
        ciphertext = HpkeCiphertext.from_reader(reader).to_bytes()
    except ValueError:
        ciphertext = b""
    if ciphertext != message:
        raise ProtocolError(
            "peer", "the answer is not an aggregate share; use the same version of dpcurves at both servers", 502
        )
    return ciphertext


def hpke_seal(plaintext: bytes, key: bytes, info: bytes, aad: bytes) -> tuple[bytes, bytes]:
    """Seal a message by HPKE; return the encapsulated key and the ciphertext.

    Args:
        plaintext: The message.
        key: Public key of the recipient.
        info: Context of the message.
        aad: Data that is authenticated and not sealed.

    Raises:
        ValueError: the key is invalid.
    """
    encapsulated, context = _SUITE.create_sender_context(_load_public_key(key), info)
    return encapsulated, context.seal(plaintext, aad)


@lru_cache(64)
def _load_public_key(key: bytes) -> KEMKeyInterface:
    """Return a pyhpke key from 32 bytes of an X25519 public key, cached.

    Raises:
        ValueError: the bytes are no public key.
    """
    return KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(key))


def _encode_hpke_suite() -> bytes:
    """Return the identifiers of KEM, KDF and AEAD of the only suite used here, 2 bytes each."""
    return b"".join(encode_integer(each.value, 2) for each in (_KEM, _KDF, _AEAD))


class Vdaf(Enum):
    """Codepoint of a VDAF: from the VDAF draft, or for private use."""

    HISTOGRAM = 4
    TREE = 0xFFFF_6470
    CHECKED_TREE = 0xFFFF_6471


TIME_PRECISION = 86_400
"""Seconds to which times are rounded, a day: a report reveals the day it was made, and no more."""
TASK_INFO = b"dpcurves"
"""Field task_info of the draft's `TaskConfiguration`, which is bound to all sealed messages."""


@dataclass(frozen=True)
class TaskConfiguration:
    """Parameters on which all participants of a task agree: `TaskConfiguration`. The task's id is the hash of the task.

    Attributes:
        task: Hash of the task, in hexadecimal digits.
        servers: Leader and helper.
        vdaf: Codepoint of the VDAF of its reports.
        parameters: Encoded parameters of the VDAF.
    """

    task: str
    servers: Sequence[Server]
    vdaf: Vdaf
    parameters: bytes

    def to_bytes(self) -> bytes:
        """Encode `TaskConfiguration`: one batch, selected by the leader, of at least one report."""
        return self._configuration_bytes

    @cached_property
    def _configuration_bytes(self) -> bytes:
        """The configuration as bytes of the draft's `TaskConfiguration`, computed once."""
        urls = b"".join(encode_vector(server.url.rstrip("/").encode(), 2) for server in self.servers)
        mode = (
            encode_integer(TIME_PRECISION, 8)
            + encode_integer(1, 8)
            + encode_integer(LEADER_SELECTED, 1)
            + encode_vector(b"", 2)
        )
        scheme = encode_integer(self.vdaf.value, 4) + encode_vector(self.parameters, 2)
        return encode_vector(TASK_INFO, 1) + urls + mode + scheme + encode_vector(b"", 2)

    def encode_input_share_aad(self, metadata: ReportMetadata, public: bytes) -> bytes:
        """Encode the associated data that binds an encrypted input share to its task and report (the draft's
        `InputShareAad`).

        Args:
            metadata: Public metadata of the report.
            public: Public share of the report.

        Returns:
            Id and parameters of the task, then metadata and public share.
        """
        return bytes.fromhex(self.task) + self.to_bytes() + metadata.to_bytes() + encode_vector(public, 4)

    def seal_aggregate_share(self, job: CollectionJobRequest, party: int, share: bytes) -> bytes:
        """Return a server's aggregate share, encrypted to the analyst by HPKE, as an encoded `HpkeCiphertext`.

        Args:
            job: The analyst's collection job.
            party: Number of the server.
            share: The share.

        Raises:
            ProtocolError: the analyst's key is invalid.
        """
        info = VERSION + b" aggregate share" + bytes([AGGREGATORS[party], Role.COLLECTOR])
        try:
            sealed = hpke_seal(share, job.collector_key, info, bytes.fromhex(self.task) + self.to_bytes() + job.message)
        except ValueError:
            raise InvalidMessage("collection job of this task") from None
        return HpkeCiphertext(job.config_id, *sealed).to_bytes()

    def encode_token_aad(self, job: CollectionJobRequest) -> bytes:
        """Encode the associated data of the letter in a collection job, which binds it to the analyst's key."""
        return bytes.fromhex(self.task) + self.to_bytes() + job.hpke_config


LETTER_INFO = b"dpcurves collection 1" + bytes([Role.COLLECTOR, Role.HELPER])
"""HPKE info under which an analyst seals the ticket for the helper in a collection job; sealed under another, it cannot
be opened."""


def encode_input_share_info(party: int) -> bytes:
    """Return the HPKE info of an owner's message to a server.

    Args:
        party: Number of the server, 0 or 1.
    """
    return VERSION + b" input share" + bytes([Role.CLIENT, AGGREGATORS[party]])


class PlaintextInputShare(NamedTuple):
    """SECRET. An input share with an owner's private extensions for one server: `PlaintextInputShare`."""

    private_extensions: tuple[Extension, ...]
    payload: bytes

    @classmethod
    def from_bytes(cls, message: bytes) -> PlaintextInputShare:
        """Return a decrypted input share: private extensions and payload.

        Raises:
            ValueError: the message is invalid.
        """
        reader = Reader(message)
        input_share = cls(tuple(decode_all(reader.read_vector(2), Extension.from_reader)), reader.read_vector(4))
        if not reader.is_done or not input_share.payload:
            raise ValueError("the payload of an input share is empty, or bytes follow it")
        return input_share

    def to_bytes(self) -> bytes:
        """SECRET: return the input share and its extensions as bytes of the draft's `PlaintextInputShare`."""
        return encode_extensions(self.private_extensions) + encode_vector(self.payload, 4)


@dataclass(frozen=True, slots=True, repr=False)
class HpkeKeys:
    """SECRET. The keys that open input shares, by configuration id. It has no repr.

    An id is the first byte of a hash of the public key, or the next free number: so it stays the same when keys are
    rotated.

    Attributes:
        private_keys: Keys in order of preference.
    """

    private_keys: Mapping[int, X25519PrivateKey]

    @classmethod
    def from_private_keys(cls, keys: Iterable[X25519PrivateKey]) -> HpkeKeys:
        """Assign HPKE configuration ids to a server's private keys, so that no two keys have the same id."""
        numbered = dict[int, X25519PrivateKey]()
        for key in {private_key.public_key().public_bytes_raw(): private_key for private_key in keys}.values():
            preferred = derive_config_id(_encode_public_key(key.public_key()))
            numbered[
                next(
                    candidate % 256
                    for candidate in range(preferred, preferred + 256)
                    if candidate % 256 not in numbered
                )
            ] = key
        return cls(numbered)

    def encode_config_list(self) -> bytes:
        """Return the public keys with their configuration ids as bytes of the draft's `HpkeConfigList`."""
        configs = (
            encode_integer(config_id, 1) + _encode_hpke_suite() + encode_vector(_encode_public_key(key.public_key()), 2)
            for config_id, key in self.private_keys.items()
        )
        return encode_vector(b"".join(configs), 2)

    def open_input_share(
        self, share: ReportShare, party: int, configuration: TaskConfiguration
    ) -> PlaintextInputShare | ReportError:
        """SECRET: return the input share in a report for one server; or the reason of rejection.

        Args:
            share: The report's share for this server.
            party: Number of the server.
            configuration: Configuration of the task, to which the share is bound.
        """
        plaintext = self.open_ciphertext(
            share.encrypted_input_share,
            encode_input_share_info(party),
            configuration.encode_input_share_aad(share.report_metadata, share.public_share),
        )
        if isinstance(plaintext, ReportError):
            return plaintext
        try:
            return PlaintextInputShare.from_bytes(plaintext)
        except ValueError:
            return ReportError.INVALID_MESSAGE

    def open_ciphertext(self, message: HpkeCiphertext, info: bytes, aad: bytes) -> bytes | ReportError:
        """SECRET: return the plaintext of a message sealed to one of the keys; or the reason of rejection.

        Args:
            message: The sealed message.
            info: Context of the message.
            aad: Data that was authenticated and not sealed.
        """
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
    """Return a pyhpke key from an X25519 private key, cached."""
    return KEMKey.from_pyca_cryptography_key(key)


def derive_config_id(key: bytes) -> int:
    """Return the preferred configuration id of a server's public key, 0 to 255.

    `HpkeKeys` takes the next free id if another key has it.
    """
    return sha256(b"dpcurves HPKE config\n" + key).digest()[0]


def parse_config_ids(message: bytes) -> dict[bytes, int]:
    """Return the configuration ids of the public keys in an `HpkeConfigList`, by key; keys of other cipher suites are
    left out.

    Args:
        message: The encoded list, as a server publishes it.

    Raises:
        ValueError: the list is invalid.
    """
    configs = decode_all(
        Reader(message).read_vector(2),
        lambda config: (config.read_integer(1), config.read_bytes(6), config.read_vector(2)),
    )
    return {key: name for name, suite, key in configs if suite == _encode_hpke_suite()}


def _encode_public_key(key: X25519PublicKey) -> bytes:
    """Return the 32 bytes of an X25519 public key."""
    return key.public_bytes_raw()
