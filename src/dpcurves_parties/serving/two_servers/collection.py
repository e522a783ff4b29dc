"""SECRET. Collection of the reports of one task at one server, up to the set on which both servers agree.

    SharedTaskService    stores sealed reports, closes the task, and answers; subclasses compute the answers
    Closing              the protocol by which both servers agree on the accepted reports
    NoiseSecret          the secret from which a server derives its noise, and its public commitment

Formal guarantees: failures lose no report, and one report set gets one noise (`Closing`).
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from hashlib import sha256
from ssl import SSLContext
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import WHOLE_BUDGET
from dpcurves.ledger import Allotment, Ledger, QuestionBudget

from ..blobs import BlobStore
from ..channel import Channel, make_pinned_context
from ..identity import Identity, Server
from ..messages import WRONG_FORM_RULE, ProtocolError, ServerFault, parse_fields, parse_object
from ..noise_key import NoiseKey
from ..server import PeerConnection
from ..task_document import Role, find_bearer, hash_from_bearer_token
from ..workers import InProcess, Workers
from . import report_set
from .dap import HpkeKeys
from .store import Decision, Offer, Store, StoredReport, TaskFrozen, TaskState, TaskStatus
from .task_types import VERSION, Askable, QuestionMessage, SharedTask, ShareEncoding, require_report_set

HASH_DIGITS = re.compile("[0-9a-f]{64}")
"""Text of the token hash that an owner sends to enrol, 64 hexadecimal digits in lower case; any other text is
refused."""


@dataclass(frozen=True, slots=True, repr=False)
class NoiseSecret:
    """SECRET. The secret from which all noise of one task at one server is derived. It has no repr.

    Formal guarantees: the commitment and the noise keys are outputs of HKDF-SHA256 under distinct labels. Without the
    secret they are indistinguishable from independent random strings, so the commitment reveals nothing about any
    noise. Two secrets, parties or noise distributions have equal commitments only after a collision of SHA-256. So a
    server with an equal commitment derives equal noise for equal report sets.

    Attributes:
        secret: The server's key and the ledger's key of the dataset, concatenated.
        party: 0 or 1.
        noise_distribution_name: Name of the noise distribution: equal names and keys give equal noise.
    """

    secret: bytes
    party: int
    noise_distribution_name: str

    @classmethod
    def from_identity(
        cls, identity: Identity, ledger: Ledger, dataset: str, party: int, noise_distribution_name: str
    ) -> NoiseSecret:
        """Return the secret from which a server derives its noise for a task; without both its keys the noise cannot be
        repeated.

        Args:
            identity: Keys of the server.
            ledger: Ledger of the server.
            dataset: Name of the data set in the ledger.
            party: 0 or 1.
            noise_distribution_name: Name of the noise distribution.
        """
        # The server's own key is included because both ledgers might, by mistake, have been given the same key.
        secret = identity.hpke_key.private_bytes_raw() + ledger.dataset_key(dataset)
        return cls(secret, party, noise_distribution_name)

    @property
    def commitment(self) -> str:
        """Public commitment to the secret, in hexadecimal digits. The peer server stores it, and later requires an
        equal one.
        """
        return derive_key(self.secret, f"commitment of party {self.party} to {self.noise_distribution_name}").hex()

    def derive_noise_key(self, name: str) -> NoiseKey:
        """SECRET: return the key of this server's noise for a report set.

        Args:
            name: Name of the report set; equal names give equal noise.
        """
        return NoiseKey(derive_key(self.secret, f"noise of party {self.party} for {name}"))


def derive_key(secret: bytes, purpose: str) -> bytes:
    """Derive 32 bytes for one purpose, which reveal neither the secret nor keys for other purposes (RFC 5869).

    Args:
        secret: Secret bytes.
        purpose: Name of the key; another purpose gives an independent key.
    """
    # 32: bytes of a key derived by HKDF-SHA256: the length of its hash
    return HKDF(SHA256(), 32, salt=None, info=b"dpcurves " + purpose.encode()).derive(secret)


def make_lost_key_error(party: int) -> ProtocolError:
    """Return the error for a server whose key does not match its commitment.

    Args:
        party: Number of the server, 0 or 1.
    """
    return ProtocolError(
        "noise",
        f"server {party} has lost the key that it committed to when the task was closed, or has another release of"
        " dpcurves; its noise would be drawn again, so nothing is answered. Restore both, or make a new task",
        409,
    )


class SetRole(IntEnum):
    """Numbers of the two servers, by their part in the choice of a report set."""

    DECIDES = 0
    """Decides on the report set."""
    FOLLOWS = 1
    """Stores the decision."""


NO_COMMITMENTS = None, None
"""Commitments of servers 0 and 1 to their noise, before the report set is decided: none."""
CONFLICT_STATUS = 409
"""HTTP status of a request that is allowed, but not in the present state of the task, as when the servers' stores
disagree."""


PARTS_PER_MESSAGE = 2**12
"""Parts of the report set (reports whose ids have the same first bits) listed in one message at most; the rest follow
in further ones. With 64 reports of 32 bytes each, a message has about 8 MB."""


@dataclass(repr=False)
class Closing:
    """The closing of one task at one server, and the check whether it may answer afterwards.

    Server 0 leads, regardless of which server receives the request. It asks server 1 to freeze, to send hashes of parts
    of its reports, and to list the parts in which they differ; it stores the intersection in one transaction, which is
    the decision; then server 1 stores it as well, from hashes and listings in the other direction. Both stream their
    reports: neither server holds all ids in memory. Before the decision any failure leaves server 0 open, and server 1
    accepts reports again: when one arrives, it asks server 0 for the outcome of the attempt, which cancels the attempt
    unless it is running. After the decision the task is closed, and closing it again informs server 1 again. So no
    failure, at any step of either server, blocks the collection.

    Formal guarantees: *Failures lose no report.* A report that server 0 and then server 1 accepted counts. Server 1
    accepts none from its hashes to the decision unless the attempt was cancelled; decision and cancellation are
    compare-and-write transactions at server 0, so one of them comes first, and after a cancellation there is no
    decision from those hashes.

    *One set, one noise.* With the decision each server stores the set and the commitments of both (see `NoiseSecret`),
    and never stores others. All messages between servers about accepted reports name these three, and a server does
    nothing unless they equal the stored ones and its own key still matches its commitment. So after one server has lost
    its store or the key of its ledger, or both, no question is answered: its messages would name another commitment, or
    other reports, than the peer server has stored, and the task cannot be closed again, because the decision of server
    0 and the commitment at server 1 are compared first. *Assumed*: the peer server has kept its store and key, and both
    follow the protocol.

    Attributes:
        task: Hash of the task.
        party: 0 or 1.
        commitment: Noise commitment of this server.
        store: Storage of the decision.
        post: Sends a request to the peer server: its name and message.
    """

    task: str
    party: int
    commitment: str
    store: Store
    post: Callable[[str, bytes], bytes]
    _leading: Lock = field(default_factory=Lock, init=False)

    def require_committed_key(self, status: TaskStatus) -> None:
        """Refuse to continue if this server's key does not match its commitment.

        Args:
            status: State of the task at this server; nothing is checked before a commitment is stored.

        Raises:
            ProtocolError: the key does not match the commitment.
        """
        if status.commitments is not None and status.commitments[self.party] != self.commitment:
            raise make_lost_key_error(self.party)

    def close(self) -> bytes:
        """Close the task: both servers agree on the set of reports that count, and accept no further reports.

        A repeated call changes nothing.

        Returns:
            Public status of the closed task, as JSON.

        Raises:
            ProtocolError: there are no reports, or the peer server does not agree, or is unreachable.
        """
        return self.close_as_leader() if self.party == SetRole.DECIDES else self.post("close", b"")

    # Server 0

    def close_as_leader(self) -> bytes:
        """Close the task as server 0: decide which reports count, and send the decision to server 1.

        A decision that was made before is only sent again.

        Returns:
            The report set, the commitments and the number of owners, as JSON.

        Raises:
            ProtocolError: as `close`; or this is server 1.
        """
        self._require_party(SetRole.DECIDES)
        with self._lock_leading():
            if self.store.read_status(self.task).state is not TaskState.CLOSED:
                self._decide()
            status = self.store.read_status(self.task)
            self.require_committed_key(status)
            self._announce_decision(status)
        return json.dumps({**status.provenance, "owners": self.store.count_owners(self.task)}).encode()

    def _decide(self) -> None:
        """Decide as server 0 which reports enter the accepted report set, and store the decision.

        The servers compare hashes of parts of their reports, and list only the parts that differ.

        Raises:
            ProtocolError: server 1 does not answer or answers wrongly, or too few reports are at both servers.
        """
        attempt = secrets.token_hex(16)
        self.store.begin_attempt(self.task, attempt)
        bits = report_set.choose_prefix_bits(self.store.read_status(self.task).reports)
        reply = report_set.ClosingMessage.from_bytes(
            self.post("prepare", json.dumps({"attempt": attempt, "bits": bits}).encode())
        )
        if reply.summary.prefix_bits != bits:
            raise ProtocolError("peer", f"the answer {WRONG_FORM_RULE}", 502)
        listings = dict[int, bytes]()
        while True:  # reports may arrive in the meantime: each iteration lists further parts, so the loop ends
            try:
                self.store.decide(self.task, partial(self._agree_on_reports, reply, listings), attempt)
            except report_set.UnlistedParts as error:
                for start in range(0, len(error.parts), PARTS_PER_MESSAGE):
                    listings |= self._request_listings(bits, error.parts[start : start + PARTS_PER_MESSAGE])
            else:
                return

    def _request_listings(self, bits: int, prefixes: Sequence[int]) -> dict[int, bytes]:
        """Return server 1's listing of the reports in each part.

        A part has the report ids with one prefix of `bits` bits.

        Args:
            bits: Number of first bits of report ids that select a part.
            prefixes: Numbers of the parts.

        Returns:
            Listing by number of the part: report ids and digests, in rising order of ids.

        Raises:
            ProtocolError: the listings are of other parts (status 502).
        """
        message = json.dumps({"bits": bits, "parts": list(prefixes)}).encode()
        listings = report_set.parse_listings(self.post("listed", message))
        if listings.keys() != set(prefixes):
            raise ProtocolError("peer", f"the answer {WRONG_FORM_RULE}", 502)
        return listings

    def _announce_decision(self, status: TaskStatus) -> None:
        """Send the decision to server 1; then again, with listings of the parts in which its reports differ.

        Args:
            status: Decided report set and commitments.

        Raises:
            ProtocolError: the reports of server 1 still differ (status 409).
        """
        bits = report_set.choose_prefix_bits(status.reports)
        summary = self.store.hash_parts(self.task, bits)
        listings = dict[int, bytes]()
        for _ in range(2):
            announcement = report_set.ClosingMessage(
                status.report_set, status.commitments or NO_COMMITMENTS, summary, listings
            ).to_bytes()
            prefixes = _parse_parts(self.post("commit", announcement), bits)
            if not prefixes:
                return
            listings = self.store.list_parts(self.task, bits, prefixes)
        raise ProtocolError("reports", report_set.DIFFERENT_REPORTS, CONFLICT_STATUS)

    def describe_attempt(self, message: bytes) -> bytes:
        """Return the state of server 0 for an attempt to close the task, as JSON; an attempt that is not running is
        cancelled.

        Args:
            message: Names the attempt for which server 1 is frozen.

        Raises:
            ProtocolError: this is server 1.
        """
        self._require_party(SetRole.DECIDES)
        attempt = str(parse_fields(message, "peer", attempt=str)["attempt"])
        state = TaskState.FROZEN if self._leading.locked() else self.store.cancel_attempt(self.task, attempt)
        return json.dumps({"state": state.value}).encode()

    @contextmanager
    def _lock_leading(self) -> Iterator[None]:
        """Hold the lock that lets one request at a time close the task.

        Raises:
            ProtocolError: another request is closing the task (status 409).
        """
        if not self._leading.acquire(blocking=False):
            raise ProtocolError("task", "another request is closing it; close it again in a moment", CONFLICT_STATUS)
        try:
            yield
        finally:
            self._leading.release()

    def _agree_on_reports(
        self,
        peer_message: report_set.ClosingMessage,
        listed: Mapping[int, bytes],
        own_reports: report_set.Rising,
        stored: int,
    ) -> Decision:
        """Return server 0's decision: the reports that both servers hold, and both commitments.

        Args:
            peer_message: Server 1's message: commitments, and hashes of parts of its reports.
            listed: Listings of server 1's reports, by part.
            own_reports: This server's reports, in rising order.
            stored: Number of this server's reports.

        Raises:
            UnlistedParts: more listings are needed.
            ProtocolError: there are no common reports, or an earlier decision differs.
        """
        first, second = peer_message.commitments
        if first not in (None, self.commitment):
            raise make_lost_key_error(SetRole.DECIDES)
        agreed = report_set.intersect_reports(self.task, own_reports, stored, peer_message.summary, listed)
        if peer_message.report_set not in (None, agreed.name):
            raise ProtocolError("reports", report_set.DIFFERENT_REPORTS, CONFLICT_STATUS)
        if not agreed.reports:
            raise ProtocolError(
                "reports",
                "no report has reached both servers; let owners contribute, then close the task again",
                CONFLICT_STATUS,
            )
        return Decision(agreed, (self.commitment, str(second)))

    # Server 1

    def prepare(self, message: bytes) -> bytes:
        """Freeze the task at server 1 for an attempt to close it; return hashes of the stored reports, and an earlier
        decision.

        Args:
            message: Names the attempt and the number of prefix bits.

        Raises:
            ProtocolError: this is server 0, or has lost its key.
        """
        self._require_party(SetRole.FOLLOWS)
        request = parse_fields(message, "peer", attempt=str, bits=int)
        bits = _parse_bits(request)
        status = self.store.freeze(self.task, str(request["attempt"]))
        self.require_committed_key(status)
        commitments = status.commitments or (None, self.commitment)
        return report_set.ClosingMessage(
            status.report_set, commitments, self.store.hash_parts(self.task, bits), {}
        ).to_bytes()

    def list_parts(self, message: bytes) -> bytes:
        """Return the listings of some parts of server 1's reports: ids and digests, as bytes.

        Args:
            message: Names the parts.

        Raises:
            ProtocolError: this is server 0, or the parts are invalid.
        """
        self._require_party(SetRole.FOLLOWS)
        bits = _parse_bits(parse_fields(message, "peer", bits=int))
        return report_set.encode_listings(
            self.store.list_parts(self.task, bits, _parse_parts(message, bits)[:PARTS_PER_MESSAGE])
        )

    def commit(self, message: bytes) -> bytes:
        """Accept server 0's decision on the report set as server 1, and store it after computing the same set.

        If stored reports differ, nothing is stored.

        Args:
            message: The decision.

        Returns:
            The parts whose listings are needed, as JSON; an empty list if the decision is stored.

        Raises:
            ProtocolError: this is server 0, or has lost its key or accepted reports, or stored another decision.
        """
        self._require_party(SetRole.FOLLOWS)
        decision = report_set.ClosingMessage.from_bytes(message)
        first, second = decision.commitments
        if second != self.commitment:
            raise make_lost_key_error(SetRole.FOLLOWS)
        commitments = str(first), second
        try:
            self.store.decide(
                self.task, lambda *ours: Decision(self._recompute_report_set(decision, *ours), commitments)
            )
        except report_set.UnlistedParts as error:
            return json.dumps({"parts": error.parts}).encode()
        return b'{"parts": []}'

    def _recompute_report_set(
        self, closing: report_set.ClosingMessage, own_reports: report_set.Rising, stored: int
    ) -> report_set.ReportSet:
        """Return the report set of server 0's decision, computed from this server's reports.

        Args:
            closing: Server 0's message: hash of its report set, hashes of parts of its reports, and listings of some
                parts.
            own_reports: This server's reports, in rising order.
            stored: Number of this server's reports.

        Raises:
            UnlistedParts: more listings are needed.
            ProtocolError: the set differs.
        """
        agreed = report_set.intersect_reports(self.task, own_reports, stored, closing.summary, closing.listings)
        if agreed.name != closing.report_set:
            raise ProtocolError("reports", report_set.DIFFERENT_REPORTS, CONFLICT_STATUS)
        return agreed

    def reopen(self) -> None:
        """Ask server 0 how the running attempt to close the task ended, and accept reports again if it was cancelled.

        Raises:
            ProtocolError: the peer server is unreachable.
        """
        attempt = self.store.read_status(self.task).attempt
        reply = parse_fields(self.post("outcome", json.dumps({"attempt": attempt}).encode()), "peer", state=str)
        if reply["state"] == TaskState.OPEN.value:
            self.store.unfreeze(self.task, attempt)

    def _require_party(self, party: int) -> None:
        """Check that a request of the closing protocol is meant for this server and not for the other server.

        Args:
            party: Number of the server that answers such requests.

        Raises:
            ProtocolError: this is the other server (status 409).
        """
        if self.party != party:
            raise ProtocolError(
                "peer",
                f"only server {party} answers this request, and this is server {self.party}; check the "
                "URLs in the task",
                CONFLICT_STATUS,
            )


def _parse_bits(facts: Mapping[str, Any]) -> int:
    """Return the number of prefix bits, by which reports are divided into parts, from a message.

    Args:
        facts: Fields of the message, with the number under ``bits``.

    Returns:
        From 0 to `MOST_PREFIX_BITS`.

    Raises:
        ProtocolError: the number is out of range (status 502).
    """
    bits = int(facts["bits"])
    if not 0 <= bits <= report_set.MOST_PREFIX_BITS:
        raise ProtocolError("peer", f"the answer {WRONG_FORM_RULE}", 502)
    return bits


def _parse_parts(message: bytes, bits: int) -> list[int]:
    """Return the numbers of parts in a message, in its order.

    Args:
        message: JSON message of the peer.
        bits: Number of prefix bits; there are ``2**bits`` parts.

    Raises:
        ProtocolError: the numbers are missing or invalid.
    """
    prefixes = list(parse_fields(message, "peer", parts=list)["parts"])
    if any(type(number) is not int or not 0 <= number < 2**bits for number in prefixes):
        raise ProtocolError("peer", f"the answer {WRONG_FORM_RULE}", 502)
    return prefixes


LARGEST_QUESTION = 2**18
"""Bytes of a question, or of a short message between servers, at most: enough for as many thresholds as a task allows.
A longer one is refused with status 413."""
LARGEST_LISTING = 2**30
"""Bytes of the other server's longer messages, such as listings of reports or digests, at most; a longer one is refused
with status 413."""
SHARES_PER_PAGE = 4096
"""Reports whose shares are read from the database in one query, so that memory stays small. Marks of reports are hashed
in blocks of as many, so both servers must use the same number."""
SHORT_BATCH = 2**13
"""Bytes of a batch of reports up to which it is decrypted on the event loop, because handing it to a thread would take
longer; larger ones go to a thread."""
Of = TypeVar("Of", bound=SharedTask)
OfPeer = Mapping[str, tuple[Callable[[Any, bytes], bytes], int]]
CLOSING_REQUESTS: OfPeer = MappingProxyType({
    "close": (lambda service, message: service.closing.close_as_leader(), LARGEST_QUESTION),
    "outcome": (lambda service, message: service.closing.describe_attempt(message), LARGEST_QUESTION),
    "prepare": (lambda service, message: service.closing.prepare(message), LARGEST_QUESTION),
    "listed": (lambda service, message: service.closing.list_parts(message), LARGEST_QUESTION),
    "commit": (lambda service, message: service.closing.commit(message), LARGEST_LISTING),
    "agree": (lambda service, message: service.confirm_report_set(message), LARGEST_QUESTION),
})  # fmt: skip
"""Requests of the peer server about any task, by the last part of their path: the handler, and the most bytes of a
body."""


@dataclass(frozen=True, slots=True, repr=False)
class Resources:
    """SECRET. Resources of one server for the service of a task. It has no repr.

    Attributes:
        party: 0 or 1.
        identity: Keys that open sealed messages.
        store: Storage of reports.
        ledger: Ledger that is charged.
        database_url: URL of the database of both.
        peer_url: URL of the peer server; empty: from the task.
        timeout: Timeout of the peer server, in seconds.
        job_store: Storage of accepted reports as jobs for workers; None: they are held in memory.
        workers: Workers that evaluate jobs.
    """

    party: int
    identity: Identity
    store: Store
    ledger: Ledger
    database_url: str
    peer_url: str
    timeout: float
    job_store: BlobStore | None = None
    workers: Workers = InProcess()  # noqa: RUF009 - it has no state

    def make_peer_context(self, task: SharedTask) -> tuple[str, SSLContext]:
        """Return the URL of the peer server, and a TLS context that trusts only the peer's certificate and shows this
        server's.

        Args:
            task: Document of the task, with both servers' URLs and certificates.
        """
        peer: Server = task.servers[1 - self.party]
        context = make_pinned_context(peer.certificate)
        context.load_cert_chain(self.identity.certificate_file, self.identity.private_key_file)
        return self.peer_url or peer.url, context

    def make_channel(self, task: SharedTask) -> Channel:
        """Return an HTTPS channel to the peer server, which trusts only that server's certificate.

        Args:
            task: Document of the task, with both servers' URLs and certificates.
        """
        url, context = self.make_peer_context(task)
        return Channel(url, context, self.timeout, "peer")


NO_DAP = "accepts no reports of the DAP draft; send them with dpcurves contribute"
"""Error message if a report or job of the DAP draft is sent to a task whose type does not take them."""


def allow_all_questions(analyst: int) -> None:
    """Do nothing: allow any number of questions, for services without an HTTP application.

    Args:
        analyst: Number of the analyst, without effect.
    """


@dataclass(repr=False)
class SharedTaskService(ABC, Generic[Of]):
    """SECRET. The service of one server for one task, without the computation of answers. It has no repr.

    Attributes:
        task: The task.
        resources: Resources of this server.
        peer: Channel to the peer server.
        count_question: Function that counts a question of an analyst, and refuses it beyond the rate limit.
        hpke_keys: Keys that open input shares of the DAP draft: for this task, and for other tasks of this server.
        PEER_REQUESTS: Requests that only the peer server may make.
    """

    PEER_REQUESTS: ClassVar[OfPeer] = CLOSING_REQUESTS

    task: Of
    resources: Resources
    count_question: Callable[[int], object] = field(default_factory=lambda: allow_all_questions, init=False)
    hpke_keys: HpkeKeys = field(init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        resources = self.resources
        self.peer = self.resources.make_channel(self.task)
        self.party = resources.party
        self.identity = resources.identity
        self.store = resources.store
        self.ledger = resources.ledger
        self.hpke_keys = HpkeKeys.from_private_keys([self.identity.hpke_key])
        self.ledger.create(self.task.account)
        self.store.create_task(self.task.hash)
        self._noise = NoiseSecret.from_identity(
            self.identity, self.ledger, self.task.dataset, self.party, self.noise_distribution_name
        )
        self.closing = Closing(self.task.hash, self.party, self._noise.commitment, self.store, self._post_to_peer)

    @property
    def encoding(self) -> ShareEncoding:
        """The encoding by which owners share records and servers read shares."""
        return self.task.encoding

    @property
    @abstractmethod
    def noise_distribution_name(self) -> str:
        """Name of the noise distribution: equal names and keys give equal noise."""

    @property
    @abstractmethod
    def askable(self) -> Askable:
        """Types of questions that the task can answer; this object also checks the thresholds in a message."""

    @abstractmethod
    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Answer an analyst's question with both servers' answer shares, as JSON.

        Args:
            message: The analyst's question.
            analyst: Number of the analyst.

        Raises:
            ProtocolError: the question is not allowed, or the peer server does not answer. Nothing was revealed.
        """

    def warm_up(self) -> None:
        """Compile the code of the task's encoding in advance, so that the first answer does not wait for it."""
        self.encoding.warm_up()

    def close(self, message: bytes) -> bytes:
        """Close the task for the coordinator. The operation is idempotent.

        Args:
            message: Body of the coordinator's request, without effect.

        Returns:
            Outcome as JSON.

        Raises:
            ProtocolError: as `Closing.close`.
        """
        return self.closing.close()

    def describe_status(self) -> bytes:
        """Return the public state of the task as JSON: open or closed, and its report set."""
        status = self.store.read_status(self.task.hash)
        facts = {"task": self.task.hash, "version": VERSION, "party": self.party, "state": status.state.value}
        return json.dumps({**facts, "set": status.report_set, "reports": status.reports}).encode()

    def enrol(self, owner: int, message: bytes) -> bytes:
        """Store the hash of an owner's own token in the place of an invitation. Afterwards only that token is valid.

        Formal guarantees: the creator of the task holds invitations and no token. It can use an invitation first; the
        owner notices, because the owner's token is then refused. After an owner has enrolled at both servers, no other
        party can contribute in its place, or replace its contribution: it would have to find the token, of 256 random
        bits, of which each server sees one half and the hash of the other (`Ticket`).

        Args:
            owner: Number of the owner.
            message: Names the hash of the token.

        Returns:
            An empty JSON object.

        Raises:
            ProtocolError: the task has no invitations, or this invitation was used for another token.
        """
        if not self.task.enrols:
            raise ProtocolError(
                "task",
                "takes reports under the tickets that were made for it, without enrolment; contribute with your ticket",
                409,
            )
        token = str(parse_fields(message, "owner", token=str)["token"])
        if HASH_DIGITS.fullmatch(token) is None:
            raise ProtocolError(
                "token", "must be sent as a hash of 64 hexadecimal digits; enrol with dpcurves contribute"
            )
        self.store.enrol(self.task.hash, owner, token)
        return b"{}"

    def find_owner(self, bearer_token: str) -> int:
        """Return the number of the owner with this bearer token. If owners enrol, the token must be an enrolled one.

        Args:
            bearer_token: Token from the ``Authorization`` header.

        Raises:
            ProtocolError: the token is invalid, or an invitation.
        """
        if not self.task.enrols:
            return find_bearer(self.task, bearer_token, Role.OWNER, self.party)
        owner = self.store.find_enrolled_owner(self.task.hash, hash_from_bearer_token(bearer_token, self.party))
        if owner is None:
            raise ProtocolError(
                "ticket",
                "must be the ticket of an owner who has enrolled; contribute with dpcurves, which enrols first",
                403,
            )
        return owner

    def store_batch(self, owner: int, message: bytes) -> bytes:
        """Store a batch of one owner's reports, all or none; return how many were new, as JSON.

        Args:
            owner: Number of the owner.
            message: The sealed batch.

        Raises:
            ProtocolError: the batch was changed or is for another server, or the task accepts no more reports.
        """
        offer = self._open_batch(owner, message)
        return _encode_outcome(offer, self._store_offer(offer))

    async def store_batch_async(self, owner: int, message: bytes) -> bytes:
        """Store a batch of an owner's reports, in one transaction with other batches, without blocking the event loop.

        Acknowledged reports are on disk. A short batch is opened on the event loop itself, because a thread would take
        longer.

        Args:
            owner: Number of the owner.
            message: The sealed batch.

        Returns:
            How many reports are new, as JSON.

        Raises:
            ProtocolError: the batch is of another task or server, was changed, or holds invalid shares; or the task
                does not take it.
        """
        loop = asyncio.get_running_loop()
        if len(message) <= SHORT_BATCH:
            offer = self._open_batch(owner, message)
        else:
            offer = await loop.run_in_executor(None, self._open_batch, owner, message)
        try:
            future = self.store.submit_reports(self.task.hash, self.task.reports_per_owner, offer)
            return _encode_outcome(offer, await asyncio.wrap_future(future))
        except TaskFrozen:
            return _encode_outcome(offer, await loop.run_in_executor(None, self._store_offer, offer))

    def _open_batch(self, owner: int, message: bytes) -> Offer:
        """SECRET: decrypt an owner's batch of reports, and return its shares, ready to be stored.

        Args:
            owner: Number of the owner.
            message: The encrypted batch.

        Raises:
            ProtocolError: the batch is of another task or server, was changed, or holds invalid shares.
        """
        batch = report_set.parse_batch(
            message, self.task.hash, self.party, self.encoding.size_for_party(self.party) + report_set.SEALING_OVERHEAD
        )
        stored = [self._open_report(number, report, batch.contribution) for number, report in enumerate(batch.reports)]
        try:
            self.encoding.require_shares(self.party, [report.share for report in stored])
        except ValueError:
            raise ProtocolError(
                "reports", "a sealed report is not a share of this task; contribute again with the task's document"
            ) from None
        return Offer(owner, batch.contribution, batch.earlier_policy, stored)

    def _store_offer(self, offer: Offer) -> int:
        """Store the reports of an owner's upload, and return how many of them were new.

        If the task is frozen for an attempt that was cancelled, it is reopened first.

        Args:
            offer: Owner, contribution and shares.

        Raises:
            TaskFrozen: the task is frozen for an attempt that is still running.
        """
        added = partial(self.store.add_reports, self.task.hash, self.task.reports_per_owner, offer)
        try:
            return added()
        except TaskFrozen:
            self.closing.reopen()
            return added()

    def _open_report(self, number: int, report: report_set.ReportShare, contribution: bytes) -> StoredReport:
        """SECRET: decrypt one report of a batch, and return it with the hashes under which it is stored.

        Args:
            number: Position of the report in the batch, for the message of an error.
            report: The sealed report.
            contribution: Name of the contribution.

        Raises:
            ProtocolError: the report was changed, or sealed to another server; names its number.
        """
        info = report_set.encode_share_info(self.task.hash, self.party, contribution, report.id)
        share = report_set.open_share(report.encrypted_share, self.identity.hpke_key, info)
        if share is None or len(share) != self.encoding.size_for_party(self.party):
            raise ProtocolError(
                "reports", f"report {number} of the batch was changed, or sealed to another server; contribute again"
            )
        digest = report_set.digest_public_share(share[: self.encoding.public_size])
        return StoredReport(report.id, digest, report_set.hash_share(report.id, share), share)

    async def store_upload(self, owner: int, message: bytes) -> bytes:
        """Store reports that a client of the DAP draft sends to the leader, without blocking the event loop.

        Acknowledged reports are on disk at both servers.

        Args:
            owner: Number of the owner.
            message: The upload request.

        Raises:
            ProtocolError: the message is invalid, or the task accepts no more reports, or this task type accepts none.
        """
        if len(message) <= SHORT_BATCH:
            future = self.submit_upload(owner, message)
        else:
            future = await asyncio.get_running_loop().run_in_executor(None, self.submit_upload, owner, message)
        return await asyncio.wrap_future(future)

    def submit_upload(self, owner: int, message: bytes) -> Future[bytes]:
        """Refuse an upload of the DAP draft; subclasses that support uploads queue the owner's reports for both
        servers.

        Args:
            owner: Number of the owner.
            message: The upload request.

        Returns:
            Future of the list of rejected reports, in subclasses.

        Raises:
            ProtocolError: always here; in subclasses as `store_upload`.
        """
        raise ProtocolError("task", NO_DAP, 404)

    def store_offers(self, offers: Sequence[Offer]) -> list[int | BaseException]:
        """Store reports of several owners, each owner's all or none.

        Args:
            offers: One offer per owner.

        Returns:
            For each offer, the number of new reports, or its error.
        """
        add = partial(self.store.add_offers, self.task.hash, self.task.reports_per_owner, offers)
        outcomes = add()
        if any(isinstance(outcome, TaskFrozen) for outcome in outcomes):
            self.closing.reopen()
            return add()
        return outcomes

    def run_aggregation_job(self, message: bytes) -> bytes:
        """Refuse an aggregation job of the DAP draft; subclasses that support the draft store the reports that the
        leader forwards.

        Args:
            message: The aggregation job.

        Returns:
            Outcome of each report, in subclasses.

        Raises:
            ProtocolError: always here: this task type accepts no jobs.
        """
        raise ProtocolError("task", NO_DAP, 404)

    def run_collection_job(self, message: bytes) -> bytes:
        """Refuse a collection job of the DAP draft; subclasses that support collection answer it as the leader.

        Args:
            message: Collection job request of the Distributed Aggregation Protocol (DAP).

        Returns:
            Collection job response, encoded, in subclasses.

        Raises:
            ProtocolError: always here: this task type does not support collection.
        """
        raise ProtocolError("task", NO_DAP, 404)

    def make_aggregate_share(self, message: bytes) -> bytes:
        """Refuse to collect as the helper of the DAP draft; subclasses return this server's answer share, sealed to the
        analyst.

        Args:
            message: Aggregate share request of the Distributed Aggregation Protocol (DAP).

        Returns:
            Aggregate share, encoded and encrypted, in subclasses.

        Raises:
            ProtocolError: always here: this task type does not support collection.
        """
        raise ProtocolError("task", NO_DAP, 404)

    def follow_session(self, message: bytes, line: PeerConnection) -> None:
        """Run a session of two-party computation that the peer server opens.

        Args:
            message: The first message of the peer: the question as JSON.
            line: Connection to the peer.

        Raises:
            ProtocolError: this task type has no sessions.
        """
        raise ProtocolError(
            "peer", "this task has no sessions of two servers; use the same version of dpcurves at both", 403
        )

    def confirm_report_set(self, message: bytes) -> bytes:
        """Confirm that this server would answer from the report set that the peer names. Nothing is charged.

        Args:
            message: The question and the report set of the peer, as JSON.

        Returns:
            Report set and noise commitments of this server, as JSON.

        Raises:
            ProtocolError: this server would answer from another set, or the task is open.
        """
        question = self._parse_peer_question(message)
        return question.encode_answer((), self._require_closed().provenance)

    def _parse_peer_question(self, message: bytes) -> QuestionMessage:
        """Return a question that the peer server forwards.

        Args:
            message: The question, with the report set of the peer, as JSON.

        Raises:
            ProtocolError: the question is not allowed, or names another report set or other noise.
        """
        question = QuestionMessage.from_json(message, self.askable)
        require_report_set(
            parse_object(message, "question"), self._require_closed().provenance, report_set.DIFFERENT_REPORTS
        )
        return question

    def _require_closed(self) -> TaskStatus:
        """Return the state of the task, which must be closed."""
        status = self.store.read_status(self.task.hash)
        if status.state is not TaskState.CLOSED:
            raise ProtocolError("task", f"is not closed yet at server {self.party}: run dpcurves task close", 409)
        self.closing.require_committed_key(status)
        return status

    def _post_to_peer(self, endpoint: str, message: bytes) -> bytes:
        """Send a request about this task to the peer server; return its response.

        Args:
            endpoint: Last part of the path of the URL.
            message: Body of the request.

        Raises:
            ProtocolError: the peer refuses, or cannot be reached.
        """
        return self.peer.post(f"/tasks/{self.task.hash}/peer/{endpoint}", message)

    def _charge_ledger(self, status: TaskStatus) -> Allotment:
        """Charge the task's whole loss, once, for the accepted report set and this noise distribution; return the
        payment for the question.

        Args:
            status: Closed report set, with the commitments to the noise.

        Raises:
            ServerFault: the ledger refuses, or cannot be written.
        """
        # The noise distribution is named, too: another release of this program must not answer again if it draws other
        # noise.
        paid_for = f"{self.task.hash} {status.report_set} {status.commitments} {self._noise.noise_distribution_name}"
        try:
            grant = self.ledger.charge(
                self.task.dataset, self.task.loss.as_single_release(), purpose=f"all answers of {self.task.name}",
                request=self.task.hash, binding=sha256(paid_for.encode()).hexdigest(), units=status.reports,
            )  # fmt: skip
        except ValueError as error:
            if isinstance(error, InvalidArgument) and error.argument == "ledger":
                label = self.ledger.database.label
                raise ServerFault.from_database_error(f"server {self.party}", error, label) from None
            rule = (
                "the charge of these reports with this noise is refused, and nothing is answered; ask "
                "the server's operator"
            )
            raise ServerFault("ledger", rule, f"ledger: {rule} ({error})") from None
        return QuestionBudget(grant).pay(self.task.query, WHOLE_BUDGET)

    def _load_shares(self, status: TaskStatus) -> list[bytes]:
        """SECRET: return the accepted reports, in the order of their ids.

        Args:
            status: State of the closed task.

        Returns:
            A share per accepted report.
        """
        return [share for page in self._iterate_shares(status) for share in page]

    def _iterate_shares(self, status: TaskStatus) -> Iterator[Sequence[bytes]]:
        """SECRET: iterate over shares of the accepted reports, in the order of their ids, some thousands at a time.

        Answers may be computed from them only after the last page has arrived.

        Args:
            status: Closed report set.

        Yields:
            Shares, one per report.

        Raises:
            ProtocolError: a share was damaged; after the last page: they are not the accepted reports.
        """
        name = report_set.ReportSetHash(self.task.hash, status.reports)
        count = 0
        public = self.encoding.public_size
        for page in self.store.iterate_shares(self.task.hash, SHARES_PER_PAGE):
            # A damaged seed would make an honest report fail its check, which would reveal its share: see
            # `CheckedCounting`.
            if any(report_set.hash_share(key, stored.share) != stored.share_hash for key, stored in page):
                raise ProtocolError(
                    "store", "a stored share was damaged, and nothing is answered; restore the store from a copy", 500
                )
            for key, stored in page:
                name.add(key, report_set.digest_public_share(stored.share[:public]))
            count += len(page)
            yield [stored.share for _, stored in page]
        if (name.hexdigest(), count) != (status.report_set, status.reports):
            raise ProtocolError(
                "store",
                "the stored reports are not those that both servers agreed on; restore the latest copy of the store",
                500,
            )


def _encode_outcome(offer: Offer, new: int) -> bytes:
    """Return the answer to an upload as JSON: the numbers of its new and of its already known reports.

    Args:
        offer: The uploaded reports.
        new: Number of reports that were not stored before.
    """
    return json.dumps({"new": new, "known": len(offer.reports) - new}).encode()
