"""SECRET. Secure aggregation by two servers: one server verifies its secret shares of reports, counts them, and
answers.

Each owner has split a record into a share for each server. A server adds up its shares of all reports, which gives its
share of each count, adds noise of its own, and returns the sum: an answer share. The analyst adds both answer shares.

    TaskService        answers analysts and the other server; charges the task's privacy loss once
    PlainCounting      counts all reports; owners are trusted to send valid ones
    CheckedCounting    counts the reports that both servers verify to be of a single record

Formal guarantees: only two kinds of values leave a server. Digests of reports are equal at both servers for an honest
owner's report, and reveal nothing about it. Answer shares have the server's noise (`CheckedCounting`, `TaskService`).
"SECRET" marks code whose values must not leave the server.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from time import time
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import Plan
from dpcurves.ledger import Allotment

from ..crypto import Z64, Domain
from ..crypto.comparison import DIGEST_SIZE
from ..serving.messages import ProtocolError, parse_object
from ..serving.noise_key import NoiseKey, format_noise_distribution
from ..serving.task_document import Role, find_bearer
from ..serving.two_servers import dap, report_set
from ..serving.two_servers.collection import (
    CLOSING_REQUESTS,
    LARGEST_LISTING,
    LARGEST_QUESTION,
    OfPeer,
    SharedTaskService,
    derive_key,
)
from ..serving.two_servers.report_set import load_public_key
from ..serving.two_servers.sealed_answers import AnswerKey, Envelope, encode_sealed_answer, parse_envelope
from ..serving.two_servers.store import Store, TaskStatus
from ..serving.two_servers.task_types import Answer, QuestionMessage, TaskType, require_report_set
from .answer_proofs import ProvedValues, ServerProver, ShareProof
from .dap_uploads import CLOCK_PRECISIONS, NO_LEADER, ReportVerifier, UploadLeader, answer_aggregation_job
from .function_shares import find_thresholds, make_answer_share
from .histogram_reports import HistogramEncoding, HistogramEvaluation, HistogramReports, derive_verify_key
from .jobs import CheckedJobs, JobContext, JobWriter, ReportJobs
from .shared_records import (
    CheckedReports,
    CheckedTreeEncoding,
    Evaluation,
    NodeSumCache,
    SharedReports,
    TreeEncoding,
    Words,
)
from .task import CountKind, Task


def encode_digests(evaluation: Evaluation | HistogramEvaluation) -> str:
    """Return the digests of all accepted reports as Base64, in the order of their ids, for the other server.

    A digest has 16 bytes. Both servers' digests of an honest owner's report are equal, and reveal nothing. For reports
    with a single cell these are proof messages, which reveal nothing either.

    Args:
        evaluation: Evaluation of the reports at the thresholds of the check.
    """
    return b64encode(evaluation.digests.tobytes()).decode()


def parse_digests(peer_fields: Mapping[str, Any], reports: int, size: int = DIGEST_SIZE) -> NDArray[np.uint8]:
    """Return the digests in the other server's message, (reports, size) bytes.

    Args:
        peer_fields: Fields of the other server's message, of which ``check`` has the digests as Base64.
        reports: Number of reports that were checked here.
        size: Bytes of a digest.

    Raises:
        ProtocolError: the message has no digests, or those of another number of reports.
    """
    try:
        digests = b64decode(peer_fields["check"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise ProtocolError(
            "peer",
            "the digests of the checked reports are missing; use the same version of dpcurves at both servers",
            502,
        ) from None
    if len(digests) != size * reports:
        raise ProtocolError(
            "peer",
            "the digests are of another number of reports than are stored here; use the same "
            "version of dpcurves at both servers",
            502,
        )
    return np.frombuffer(digests, np.uint8).reshape(-1, size)


def pack_flags(dropped: NDArray[np.bool_]) -> bytes:
    """Return a bit for each report, 1 if it was dropped, packed into bytes and padded with zeros.

    Args:
        dropped: Mask of the reports that failed the servers' check, (reports,), in the order of ids. The first report
            is the highest bit of the first byte.
    """
    return np.packbits(dropped).tobytes()


def unpack_flags(bits: bytes, reports: int) -> NDArray[np.bool_]:
    """Return the mask (reports,) that `pack_flags` packed: True for dropped reports.

    Args:
        bits: Packed flags, the first report in the highest bit.
        reports: Number of reports.
    """
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=reports).astype(bool)


Post = Callable[[str, bytes], bytes]
"""Function that posts a request to the other server, by its name and message."""


class AskingAnalyst(NamedTuple):
    """The analyst who asks.

    Attributes:
        analyst: Number of the analyst in the task.
        envelope: The analyst's letter to the other server, which this server cannot open.
    """

    analyst: int
    envelope: str


class AnswerShare(NamedTuple):
    """SECRET: this server's share of an answer.

    Attributes:
        values: Integers modulo 2**64, one per requested number, followed by a proof if the answer is proved.
        dropped_count: Number of reports that failed the check.
        noise_hashes: Hashes of both servers' noise; empty if answers are not proved.
        marks_hash: Hash of the marks of checked reports at all nodes on the way to the thresholds, which must equal the
            other server's.
    """

    values: tuple[int, ...]
    dropped_count: int
    noise_hashes: tuple[str, ...] = ()
    marks_hash: str = ""


class AnswerShares(NamedTuple):
    """SECRET: this server's share of an answer, and the other server's, which is sealed to the analyst."""

    own_share: AnswerShare
    sealed_peer_share: object


OTHERS_DROPPED = (
    "the other server dropped other reports in the check, and nothing is answered; ask "
    "both operators whether a store was restored"
)
"""Error message (status 502) if the servers do not drop the same reports after the check."""


def parse_answer_share(
    question: QuestionMessage, message: bytes, provenance: Mapping[str, object], dropped_count: int
) -> Mapping[str, Any]:
    """Return the fields of the other server's message with its sealed answer share.

    Args:
        question: The question that this server asked.
        message: The other server's reply.
        provenance: Facts of this server's report set, which must be equal there.
        dropped_count: Number of reports that failed the check here.

    Raises:
        ProtocolError: the share is of another question, of another report set, or with other reports dropped.
    """
    reply = question.parse_reply(message, "peer")
    if any(reply.get(name) != value for name, value in provenance.items()):
        raise ProtocolError("peer", OTHER_REPORT_SET, 502)
    if reply.get("dropped") != dropped_count:
        raise ProtocolError("peer", OTHERS_DROPPED, 502)
    return reply


OTHER_REPORT_SET = (
    "the other server answers from another report set or with other noise, and nothing is "
    "answered; ask its operator whether a store was restored"
)
"""Error message (status 502) if the other server's answer names another report set or noise commitment than this
server's."""
OTHER_NOISE = (
    "the other server uses other noise than it announced before the first answer, and "
    "nothing is answered; ask its operator whether a store was restored"
)
"""Error message (status 502) if the other server's noise hash is missing or differs from the first one."""


@dataclass(repr=False)
class AnswerProofs:
    """SECRET. Proofs of this server's answer shares, and the noise to which the other server is bound
    (`answer_proofs`).

    Attributes:
        prover: Prover of this server.
        store: Storage of the noise hash that the other server sent.
        proved_values: The values that are proved.
        thresholds: Thresholds of the proved answer; empty for the answer of all cells.
    """

    prover: ServerProver
    store: Store
    proved_values: ProvedValues
    thresholds: tuple[int, ...]
    _lock: Lock = field(default_factory=Lock, init=False)
    _own_proof: ShareProof | None = field(default=None, init=False)

    def prove_share(self, noise: NoiseKey, counts: NDArray[np.bool_] | None = None) -> OwnProof:
        """SECRET: return the proof of the answer share; it is computed once.

        Args:
            noise: Key of this server's noise.
            counts: Mask of the reports that count; None: all.
        """
        with self._lock:
            if self._own_proof is None:
                self._own_proof = self.prover.prove_share(self.proved_values.derive_noise(noise), counts)
            return OwnProof(self, self._own_proof)

    def record_peer_hash(self, own_proof: ShareProof, peer_fields: Mapping[str, Any]) -> tuple[str, ...]:
        """Store the other server's noise hash at the first answer, require the same hash later, and return both
        servers' hashes.

        Args:
            own_proof: Proof of this server's answer share.
            peer_fields: Fields of the other server's message.

        Returns:
            Noise hashes of servers 0 and 1.

        Raises:
            ProtocolError: the other server sent no hash, or sent another hash before.
        """
        peer_hash = peer_fields.get("bound")
        if not isinstance(peer_hash, str) or self.store.record_noise_hash(self.prover.task, peer_hash) != peer_hash:
            raise ProtocolError("peer", OTHER_NOISE, 502)
        return (own_proof.hash, peer_hash) if self.prover.party == 0 else (peer_hash, own_proof.hash)


class OwnProof(NamedTuple):
    """SECRET: the proof of this server's answer share, with its prover."""

    proofs: AnswerProofs
    share_proof: ShareProof

    def add_to_share(
        self, share: AnswerShare, peer_fields: Mapping[str, Any], thresholds: tuple[int, ...], analyst: int
    ) -> AnswerShare:
        """Return an answer share with the analyst's proof, if the answer is proved.

        Every message of the other server commits that server to its noise, also for unproved answers. Otherwise the
        server could choose its noise after it has seen some of this server's answers.

        Args:
            share: This server's answer share.
            peer_fields: Fields of the other server's message.
            thresholds: Thresholds of the answer.
            analyst: Number of the analyst.
        """
        bound = self.proofs.record_peer_hash(self.share_proof, peer_fields)
        proved = self.share_proof.proof_for_analyst(analyst) if thresholds == self.proofs.thresholds else ()
        return share._replace(values=(*share.values, *proved), noise_hashes=bound)


def _noise_hash_field(proof: OwnProof | None) -> dict[str, str]:
    """Return the message field with the hash that commits this server to its noise; no field if answers are not proved.

    Args:
        proof: This server's proof of its answer share; None if answers are not proved.
    """
    return {} if proof is None else {"bound": proof.share_proof.hash}


@dataclass(repr=False)
class PlainCounting:
    """SECRET. Counting without checks: all reports count, and owners are trusted.

    Attributes:
        reports: Accepted reports.
        allotment: Allotment that was charged for the counts.
        status: Report set.
        proofs: Proofs of answer shares, if the task asks for them.
    """

    reports: SharedReports | ReportJobs
    allotment: Allotment
    status: TaskStatus
    proofs: AnswerProofs | None = None
    _lock: Lock = field(default_factory=Lock, init=False)
    _own_values: tuple[int, ...] | None = field(default=None, init=False)

    def answer_as_leader(self, question: QuestionMessage, plan: Plan, asker: AskingAnalyst, post: Post) -> AnswerShares:
        """Compute this server's answer share and fetch the other server's, which only the analyst can decrypt.

        The asked server (leader) calls this; both shares go to the analyst, who adds them up.

        Args:
            question: The question.
            plan: Plan of the question.
            asker: The analyst, whose signed and sealed request is passed on to the other server.
            post: Sends a request to the other server, and returns the reply.

        Returns:
            This server's share with its proof, and the sealed share of the other server.

        Raises:
            ProtocolError: the other server answers another question, or from another report set.
        """
        provenance = self.status.provenance
        proof = self._proof
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(
                post, "half", question.to_json(**provenance, letter=asker.envelope, **_noise_hash_field(proof))
            )
            numbers = self._compute_values(plan)
            peer_share = parse_answer_share(question, future.result(), provenance, 0)
        share = AnswerShare(numbers, 0)
        return AnswerShares(
            share if proof is None else proof.add_to_share(share, peer_share, question.thresholds, asker.analyst),
            peer_share.get("half"),
        )

    def make_cell_share(self, plan: Plan, post: Post | None) -> AnswerShare:
        """SECRET: return this server's answer share of the counts of all cells, without a check of reports.

        Args:
            plan: Plan of the answer.
            post: Ignored, because reports are not checked.
        """
        return AnswerShare(self._compute_values(plan), 0)

    @property
    def _proof(self) -> OwnProof | None:
        """This server's proof of its answer share; None if the task's answers are not proved."""
        return None if self.proofs is None else self.proofs.prove_share(self.reports.noise_key)

    def _compute_values(self, plan: Plan) -> tuple[int, ...]:
        """SECRET: return this server's answer share for a plan.

        Counts at thresholds are computed anew. The proved answer and the counts of all cells are computed once, while
        concurrent requests wait.

        Args:
            plan: Plan of the answer: mechanism, thresholds and noise.
        """
        if not plan.query.is_dense and (self.proofs is None or plan.query.requested_slots != self.proofs.thresholds):
            return make_answer_share(plan, self.reports, self.allotment)
        with self._lock:
            if self._own_values is None:
                self._own_values = make_answer_share(plan, self.reports, self.allotment)
            return self._own_values

    def make_digests(self, question: QuestionMessage) -> bytes:
        """Refuse the other server's request for digests: reports of this task are not checked.

        Args:
            question: The question of the peer.

        Raises:
            ProtocolError: always.
        """
        raise ProtocolError("question", NOT_CHECKED, 409)

    def settle_check(self, question: QuestionMessage, message: bytes) -> bytes:
        """Refuse the other server's digests, which this task does not use: its reports are not checked.

        Args:
            question: The question of the peer.
            message: The peer's message with its digests.

        Raises:
            ProtocolError: always.
        """
        raise ProtocolError("question", NOT_CHECKED, 409)

    def answer_as_follower(self, message: bytes, question: QuestionMessage, plan: Plan, analyst: int) -> AnswerShare:
        """Return this server's answer share to the other server, which the analyst asked.

        Args:
            message: The question as the other server sent it.
            question: This question, parsed.
            plan: Plan of the answer.
            analyst: Number of the analyst.
        """
        share = AnswerShare(self._compute_values(plan), 0)
        proof = self._proof
        return (
            share
            if proof is None
            else proof.add_to_share(share, parse_object(message, "question"), question.thresholds, analyst)
        )


NOT_COLLECTED = "collection jobs are for tasks that count all cells without proofs of answers; ask with dpcurves ask"
"""Error message (status 404) if a DAP collection job is sent to a task that cannot answer it."""
NOT_CHECKED = (
    "must not be about a check, because reports of this task are not checked; use the same "
    "version of dpcurves at both servers"
)
"""Error message (status 409) if the other server asks to check reports of a task without checks."""
UNCHECKED = "reports must be checked before the first answer; ask again"
"""Error message (status 409) if an answer is requested before reports were checked; the asking server then runs the
check and asks again."""
FAILED_CHECK = (
    "some reports fail the check at these edges, and reports cannot be dropped after the "
    "first answer; ask at other edges"
)
"""Error message (status 409) if reports that passed the check before turn out malformed at the edges of a later
question."""


@dataclass(repr=False)
class CheckedCounting:
    """SECRET. Counting of the reports that passed the check before the first answer; later no report is dropped.

    Reports are checked once: at all cells if these are counted, else at the public edges `Task.checked_at`. Each server
    compares digests, stores which reports failed, and never changes that. If thresholds are asked one after the other,
    all accepted reports are compared at these, too, by a single hash (`NodeSumCache`); if it differs, the server that
    was asked gives the analyst no answer share.

    Formal guarantees: one server with any behaviour, any owners and the analyst together learn from this server, about
    the reports of honest owners, a function of ``A x + z``: one curator's release of these reports, with its full
    noise, where x are the reports of honest owners that this server stored as passing. *Proof.* This server sends
    functions of its shares only as digests and answer shares. Digests of an honest owner's reports are functions of the
    other server's shares and of a key that both know. An answer share is ``A s + z`` modulo 2**64, where s are this
    server's shares of all reports that it stored as passing, a set that is fixed before the first answer share is
    computed and is a function of digests; z is drawn once for the closed set, from a key that only this server has, as
    specified by `LazyTree` or `LinearMechanism`, for all questions and repetitions. The adversary knows the shares of
    dishonest owners' reports, and its own shares of honest ones, which sum to ``A x`` minus this server's; it can
    subtract both. So an answer share reveals ``A x + z`` at the requested thresholds, and the same z with no other x.
    The hash beside it is a function of the inputs of digests. For reports with a single cell, proof messages replace
    digests: the other server could have sampled them itself, and the set of failed reports is a function of both
    servers' messages (`Prio3Histogram`). *Not guaranteed*: correct counts if a server lies. It can have reports dropped
    before the first answer, as many as `Task.min_valid_share` allows, accept malformed ones, and add anything to its
    own answer share.

    Attributes:
        task: The task.
        reports: Candidate reports.
        derive_noise_key: Derives the key of this server's noise for the accepted reports: another set gets independent
            noise, so a store that was restored to a time before the check does not reveal the difference of two sets.
        allotment: Allotment that was charged for the counts.
        status: Report set.
        store: Storage of the failed reports.
        proofs: Proofs of answer shares, if the task asks for them.
    """

    task: Task
    reports: CheckedReports | CheckedJobs | HistogramReports
    derive_noise_key: Callable[[bytes], NoiseKey]
    allotment: Allotment
    status: TaskStatus
    store: Store
    proofs: AnswerProofs | None = None
    _lock: Lock = field(default_factory=Lock, init=False)
    _cached_evaluation: Evaluation | HistogramEvaluation | None = field(default=None, init=False)
    _node_sums: NodeSumCache | None = field(default=None, init=False)
    _own_values: tuple[int, ...] | None = field(default=None, init=False)

    def answer_as_leader(self, question: QuestionMessage, plan: Plan, asker: AskingAnalyst, post: Post) -> AnswerShares:
        """Return both answer shares, at the server that the analyst asked. Before the first answer, check the
        reports.

        A server whose store was restored to a time before the check receives the set of failed reports again.

        Args:
            question: The question.
            plan: Plan of the answer.
            asker: The analyst, whose letter is passed to the other server.
            post: Sends a request to the other server.

        Raises:
            ProtocolError: the other server dropped other reports, or too few pass, or some fail at these thresholds.
        """
        dropped = self._dropped_bits or self._run_check(post)
        try:
            return self._lead_checked(question, plan, asker, dropped, post)
        except ProtocolError as error:
            if error.rule != UNCHECKED:
                raise
        return self._lead_checked(question, plan, asker, self._run_check(post), post)

    def _lead_checked(
        self, question: QuestionMessage, plan: Plan, asker: AskingAnalyst, dropped: bytes, post: Post
    ) -> AnswerShares:
        """Return both answer shares of a question after reports were checked, at the server that the analyst asked.

        Args:
            question: The analyst's question.
            plan: Plan of the answer.
            asker: The analyst, with the letter to the other server.
            dropped: Packed flags of the reports that failed the check.
            post: Function that sends a request to the other server.

        Raises:
            ProtocolError: the other server dropped other reports, has not checked its reports, or has other marks.
        """
        dropped_count = int(unpack_flags(dropped, self.status.reports).sum())
        provenance = self.status.provenance
        proof = self._proof(dropped)
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(
                post, "half", question.to_json(**provenance, letter=asker.envelope, **_noise_hash_field(proof))
            )
            numbers, marks_hash = self._compute_values(plan, dropped)
            peer_share = parse_answer_share(question, future.result(), provenance, dropped_count)
        if peer_share.get("seen", "") != marks_hash:
            raise ProtocolError("thresholds", FAILED_CHECK, 409)
        share = AnswerShare(numbers, dropped_count)
        return AnswerShares(
            share if proof is None else proof.add_to_share(share, peer_share, question.thresholds, asker.analyst),
            peer_share.get("half"),
        )

    def make_cell_share(self, plan: Plan, post: Post | None) -> AnswerShare:
        """Return this server's answer share of the counts of all cells, over the reports that pass the check.

        Args:
            plan: Plan of all cells.
            post: Sends a request to the other server, to run a pending check; None: the check must have run.

        Raises:
            ProtocolError: reports were not checked, or too few pass.
        """
        dropped = self._dropped_bits or (None if post is None else self._run_check(post))
        if dropped is None:
            raise ProtocolError("peer", UNCHECKED, 409)
        return AnswerShare(
            self._compute_values(plan, dropped)[0], int(unpack_flags(dropped, self.status.reports).sum())
        )

    def make_digests(self, question: QuestionMessage) -> bytes:
        """Return this server's digests of all reports, which the other server compares with its own before the first
        answer.

        Args:
            question: The question of the peer.

        Returns:
            Digests and this server's report set, as JSON.

        Raises:
            ProtocolError: the question names other thresholds than those at which reports are checked.
        """
        if question.thresholds != self.task.checked_at:
            raise ProtocolError(
                "thresholds",
                "must be the thresholds at which the task checks reports; use the same version of "
                "dpcurves at both servers",
                409,
            )
        return question.encode_answer((), self.status.provenance, check=encode_digests(self._evaluate_reports()))

    def answer_as_follower(self, message: bytes, question: QuestionMessage, plan: Plan, analyst: int) -> AnswerShare:
        """Return this server's answer share to the other server, which the analyst asked.

        Args:
            message: The question as the other server sent it.
            question: This question, parsed.
            plan: Plan of the answer.
            analyst: Number of the analyst.

        Raises:
            ProtocolError: reports were not checked.
        """
        dropped = self._dropped_bits
        if dropped is None:
            raise ProtocolError("peer", UNCHECKED, 409)
        numbers, marks_hash = self._compute_values(plan, dropped)
        share = AnswerShare(numbers, int(unpack_flags(dropped, self.status.reports).sum()), marks_hash=marks_hash)
        proof = self._proof(dropped)
        return (
            share
            if proof is None
            else proof.add_to_share(share, parse_object(message, "question"), question.thresholds, analyst)
        )

    def settle_check(self, question: QuestionMessage, message: bytes) -> bytes:
        """Check, at the follower, that each report's two shares form a valid report, and return which do not.

        Both servers' digests of a valid report are equal. The check runs once, and its result is stored.

        Args:
            question: The question of the peer (leader).
            message: The peer's message with the digests of its shares, as JSON.

        Returns:
            Packed flags of the reports that failed, the same at both servers, as JSON with the hash of the report set.

        Raises:
            ProtocolError: the message does not contain valid digests, or too few reports pass.
        """
        dropped = self._dropped_bits or self._record_check(self._evaluate_reports(), parse_object(message, "question"))
        return question.encode_answer((), self.status.provenance, dropped=b64encode(dropped).decode())

    # the check runs once, before the first answer

    @property
    def _dropped_bits(self) -> bytes | None:
        """Flags of the reports that failed the servers' check, packed as bits; None before the check."""
        return self.store.read_dropped(self.task.hash, -(-self.status.reports // 8))

    def _run_check(self, post: Post) -> bytes:
        """Run the check of all reports at both servers, and return which reports failed.

        Args:
            post: Function that sends a request to the other server and returns the answer.

        Returns:
            Flags as packed bits, one per report in the order of the report set; 1: failed.

        Raises:
            ProtocolError: the other server found other reports to fail.
        """
        question = QuestionMessage.create(self.task, self.task.checked_at)
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(post, "evaluate", question.to_json(**self.status.provenance))
            evaluation = self._evaluate_reports()
            reply = question.parse_reply(future.result(), "peer")
        dropped = self._record_check(evaluation, reply)
        message = question.to_json(**self.status.provenance, check=encode_digests(evaluation))
        if question.parse_reply(post("settle", message), "peer").get("dropped") != b64encode(dropped).decode():
            raise ProtocolError("peer", OTHERS_DROPPED, 502)
        return dropped

    def _record_check(self, evaluation: Evaluation | HistogramEvaluation, facts: Mapping[str, Any]) -> bytes:
        """Compare digests with the other server's, store which reports failed, and return the stored flags.

        A result that was stored earlier is not changed.

        Args:
            evaluation: This server's digests of all reports.
            facts: Fields of the other server's message, with its digests.

        Returns:
            Flags as packed bits; 1: failed.

        Raises:
            ProtocolError: fewer reports pass than the task demands (status 409), or the digests are of another number
                of reports.
        """
        passed = evaluation.find_accepted(parse_digests(facts, *evaluation.digests.shape))
        if passed.sum() < self.task.min_valid_share * self.status.reports:
            rule = (
                f"{int(passed.sum())} of {len(passed)} pass the servers' check, less than the fraction "
                f"{self.task.min_valid_share} that the task demands; make a new task"
            )
            raise ProtocolError("reports", rule, 409)
        return self.store.record_dropped(self.task.hash, pack_flags(~passed))

    # answer shares

    def _proof(self, dropped: bytes) -> OwnProof | None:
        """Return this server's proof of its answer share over the accepted reports; None if answers are not proved.

        Args:
            dropped: Packed flags of the reports that failed the check.
        """
        if self.proofs is None:
            return None
        return self.proofs.prove_share(self.derive_noise_key(dropped), ~unpack_flags(dropped, self.status.reports))

    def _compute_values(self, plan: Plan, dropped: bytes) -> tuple[tuple[int, ...], str]:
        """Return this server's answer share, and the hash that the other server compares; all cells need no hash.

        Args:
            plan: Plan of the question.
            dropped: Flags of reports that failed the check, as packed bits.

        Returns:
            Share of each noisy count, and the hash in hexadecimal digits; empty for a question of all cells.
        """
        counts = ~unpack_flags(dropped, self.status.reports)
        if isinstance(self.reports, HistogramReports) or plan.query.is_dense:
            return self._compute_cells(plan, dropped, counts), ""
        with self._lock:
            if self._node_sums is None:
                self._node_sums = NodeSumCache(self.reports, counts, Domain(self.task.bits, Z64))
        accepted, marks_hash = self._node_sums.sum_thresholds(find_thresholds(plan), self.derive_noise_key(dropped))
        return make_answer_share(plan, accepted, self.allotment), marks_hash.hex()

    def _compute_cells(self, plan: Plan, dropped: bytes, counts: NDArray[np.bool_]) -> tuple[int, ...]:
        """SECRET: return this server's answer share for all cells of the accepted reports, computed once.

        Args:
            plan: Plan of the question.
            dropped: Flags of reports that failed the check, as packed bits.
            counts: True for reports that count, (reports,).
        """
        with self._lock:
            cached = self._own_values
        if cached is None:
            cached = make_answer_share(
                plan, self._evaluate_reports().sum_accepted(counts, self.derive_noise_key(dropped)), self.allotment
            )
            with self._lock:
                self._own_values = cached
        return cached

    def _evaluate_reports(self) -> Evaluation | HistogramEvaluation:
        """Return the evaluation by which reports are checked, computed once and cached."""
        with self._lock:
            if self._cached_evaluation is None:
                plan = self.task.plan(self.task.checked_at, self.status.reports)
                self._cached_evaluation = self.reports.evaluate_thresholds(tuple(find_thresholds(plan)))
            return self._cached_evaluation


@dataclass(repr=False)
class TaskService(SharedTaskService[Task]):
    """SECRET. One server's part in one task. It has no repr.

    Formal guarantees: after the ledger has charged the task's loss, once, for one report set, two functions of reports
    leave the server: answer shares (`make_answer_share`), each sealed to an analyst who has shown this server a token
    (see `sealed_answers`: the other server cannot open them, and no server sees a result); and digests of checked
    reports, to the other server. The noise key belongs to the report set. A repeated request, also after a crash, gets
    the same answer. A server that has lost its store or the key of its ledger would draw other noise, paid from an
    empty ledger; `Closing` shows why this cannot happen.
    """

    PEER_REQUESTS: ClassVar[OfPeer] = MappingProxyType({
        **CLOSING_REQUESTS,
        "evaluate": (lambda service, message: service.make_digests(message), LARGEST_QUESTION),
        "settle": (lambda service, message: service.settle_check(message), LARGEST_LISTING),
        "half": (lambda service, message: service.make_answer_share(message), LARGEST_LISTING),
    })  # fmt: skip

    _counting: PlainCounting | CheckedCounting | None = field(default=None, init=False)

    @property
    def noise_distribution_name(self) -> str:
        """Name of the noise distribution of the task: format and parameters; a version that draws other noise has
        another name.
        """
        return format_noise_distribution(
            self.task.distribution(1)
        )  # the distribution does not depend on the number of reports

    @property
    def askable(self) -> Task:
        """The object whose methods check a question before it is charged: the task, which checks the thresholds."""
        return self.task

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        """Answer an analyst: agree with the other server on the report set, charge once, and return both sealed answer
        shares.

        Args:
            message: The analyst's question as JSON (`QuestionMessage`).
            analyst: Number of the analyst in the task.

        Returns:
            JSON with this server's and the other server's answer share, each encrypted to the analyst.

        Raises:
            ProtocolError: the question is invalid, the task is not closed, the budget is spent, or the other server
                disagrees or does not respond; nothing was revealed.
        """
        analyst_question = QuestionMessage.from_json(message, self.task)
        stored = parse_object(message, "question")
        reply = AnswerKey.from_fields(analyst_question, stored)
        asker = AskingAnalyst(analyst, parse_envelope(stored))
        question = QuestionMessage.create(self.task, analyst_question.thresholds, analyst_question.question_id)
        counting = self._agree_on_counting(question)
        own_share, peer_share = counting.answer_as_leader(
            question, self._plan(analyst_question, counting), asker, self._post_to_peer
        )
        return encode_sealed_answer(reply, self.party, _to_answer(own_share, counting.status), peer_share)

    def submit_upload(self, owner: int, message: bytes) -> Future[bytes]:
        """Queue the reports of an owner's DAP upload for both servers.

        Args:
            owner: Number of the owner.
            message: The upload request.

        Returns:
            A future of the list of rejected reports.

        Raises:
            ProtocolError: the message is invalid, or this server is the helper.
        """
        return self._leader.submit(owner, dap.parse_upload_request(message))

    def run_aggregation_job(self, message: bytes) -> bytes:
        """Store the reports of the leader's aggregation job, at the helper; return the outcome of each.

        Args:
            message: The aggregation job.

        Raises:
            ProtocolError: the message is invalid.
        """
        return answer_aggregation_job(self, self._verifier, dap.parse_aggregation_job(message, self.task.hash))

    @cached_property
    def _leader(self) -> UploadLeader:
        """The leader's queue of DAP uploads, created at the first one."""
        return UploadLeader(self, self._verifier)

    @cached_property
    def _verifier(self) -> ReportVerifier:
        """Verifier that checks proofs of reports on arrival, with this server's verification key."""
        return ReportVerifier(self.task, self.party, derive_verify_key(self._shared_secret, self.task.hash))

    def run_collection_job(self, message: bytes) -> bytes:
        """Return both servers' aggregate shares, sealed to the analyst; repeated collection returns the same numbers.

        Formal guarantees: as stated in `sealed_answers`. The helper seals nothing without the analyst's token, which
        arrives in a letter that the leader cannot open and that is bound to the analyst's key. The share equals the
        share that `answer` seals: no further noise is drawn, and nothing further is charged.

        Args:
            message: Collection job request of the Distributed Aggregation Protocol (DAP).

        Returns:
            Collection job response, encoded.

        Raises:
            ProtocolError: this is the helper, or the task does not support collection jobs, or the helper does not
                answer.
        """
        if self.party != 0:
            raise ProtocolError("server", NO_LEADER, 404)
        job = dap.CollectionJobRequest.from_bytes(message)
        question = QuestionMessage.create(self._require_collectable(), (), "collection")
        status = self._confirm_with_peer(question)
        counting = self._ensure_counting()
        own_share = counting.make_cell_share(self._plan(question, counting), self._post_to_peer)
        request = dap.encode_aggregate_share_request(
            job, self.task.hash, status.reports, self.store.compute_checksum(self.task.hash)
        )
        path = f"/tasks/{dap.encode_task_id(self.task.hash)}/aggregate_shares"
        peer_share = dap.parse_aggregate_share(self.peer.post(path, request, content_type=dap.AGGREGATE_SHARE_REQ_TYPE))
        shares = self._seal_aggregate_share(job, own_share, status), peer_share
        return dap.encode_collection_job_response(
            status.reports, int(time() / dap.TIME_PRECISION) + CLOCK_PRECISIONS + 1, shares
        )

    def make_aggregate_share(self, message: bytes) -> bytes:
        """Return this server's aggregate share, sealed to the analyst whose collection job the leader forwards.

        Args:
            message: Aggregate share request of the Distributed Aggregation Protocol (DAP).

        Returns:
            Aggregate share, encoded and encrypted.

        Raises:
            ProtocolError: the job is invalid, or not of an analyst of this task, or of one who asks too often, or for
                other reports.
        """
        task = self._require_collectable()
        status = self._require_closed()
        job = dap.parse_aggregate_share_request(
            message, task.hash, status.reports, self.store.compute_checksum(task.hash)
        )
        opened = self.hpke_keys.open_ciphertext(
            job.encrypted_token, dap.LETTER_INFO, task.configuration.encode_token_aad(job)
        )
        token = opened.decode("ascii", "replace") if isinstance(opened, bytes) else ""
        self.count_question(find_bearer(task, token, Role.ANALYST, self.party))
        counting = self._ensure_counting()
        return self._seal_aggregate_share(job, counting.make_cell_share(task.plan((), status.reports), None), status)

    def _require_collectable(self) -> Task:
        """Check that an analyst can collect this task's counts by the DAP draft, and return the task.

        Raises:
            ProtocolError: the task counts at thresholds only, or proves its answers (status 404).
        """
        if self.task.count_kind is not CountKind.CELLS or self.task.proof_key_hashes:
            raise ProtocolError("task", NOT_COLLECTED, 404)
        return self.task

    def _seal_aggregate_share(self, job: dap.CollectionJobRequest, share: AnswerShare, status: TaskStatus) -> bytes:
        """Seal a server's aggregate share to the collector: report set, commitments, number of dropped reports, and
        values.

        Args:
            job: Request of the collector, with its key.
            share: This server's answer share.
            status: Status of the closed task.
        """
        names = b"".join(map(bytes.fromhex, (str(status.report_set), *(status.commitments or ()))))
        numbers = struct.pack(f"<{len(share.values)}Q", *share.values)
        return self.task.configuration.seal_aggregate_share(
            job, self.party, names + dap.encode_integer(share.dropped_count, 8) + numbers
        )

    def make_answer_share(self, message: bytes) -> bytes:
        """Return this server's answer share, sealed to the analyst whose letter the other server forwards.

        Args:
            message: The question, the peer's report set and the sealed letter, as JSON.

        Returns:
            The sealed share with this server's report set, as JSON.

        Raises:
            ProtocolError: the request is not allowed, or the letter is not of an analyst of this task, or of one who
                asks too often.
        """
        question = self._parse_peer_question(message)
        letter = Envelope.open_envelope(parse_object(message, "question"), question, self.party, self.identity)
        analyst = find_bearer(self.task, letter.token, Role.ANALYST, self.party)
        self.count_question(analyst)
        counting = self._ensure_counting()
        share = counting.answer_as_follower(message, question, self._plan(question, counting), analyst)
        sealed = letter.answer_key.seal_answer_share(self.party, _to_answer(share, counting.status))
        optional_fields = {"bound": share.noise_hashes[self.party]} if share.noise_hashes else {}
        optional_fields |= {"seen": share.marks_hash} if share.marks_hash else {}
        return question.to_json(
            **counting.status.provenance, dropped=share.dropped_count, half=sealed, **optional_fields
        )

    def make_digests(self, message: bytes) -> bytes:
        """Return the digests that the other server compares before reports count.

        Args:
            message: The question and the peer's report set, as JSON.

        Returns:
            Digests as JSON.

        Raises:
            ProtocolError: the request is not allowed.
        """
        question = self._parse_peer_question(message)
        return self._ensure_counting().make_digests(question)

    def settle_check(self, message: bytes) -> bytes:
        """Check all reports with the other server's digests, before the first answer; return the flags of those that
        failed.

        Args:
            message: The question with the peer's report set and digests, as JSON.

        Returns:
            Packed flags, as JSON.

        Raises:
            ProtocolError: the request is not allowed.
        """
        return self._ensure_counting().settle_check(self._parse_peer_question(message), message)

    def _agree_on_counting(self, question: QuestionMessage) -> PlainCounting | CheckedCounting:
        """Return the counting of the agreed set. The other server must agree before the first charge; later messages
        name the set.

        Args:
            question: Question about to be answered; the peer is asked only before the first.

        Raises:
            ProtocolError: as `_confirm_with_peer`.
        """
        if self._counting is None:
            self._confirm_with_peer(question)
        return self._ensure_counting()

    def _confirm_with_peer(self, question: QuestionMessage) -> TaskStatus:
        """Ask the other server whether it holds the same reports and commitments; return the state of the closed task.

        Args:
            question: Question that the message to the other server carries.

        Raises:
            ProtocolError: the task is open, the other server cannot be reached, or it holds another set.
        """
        status = self._require_closed()
        reply = question.parse_reply(self._post_to_peer("agree", question.to_json(**status.provenance)), "peer")
        require_report_set(reply, status.provenance, report_set.DIFFERENT_REPORTS)
        return status

    def _plan(self, question: QuestionMessage, counting: PlainCounting | CheckedCounting) -> Plan:
        """Return the plan of the noisy counts that answer a question, for the number of accepted reports.

        Args:
            question: The question, with its thresholds.
            counting: Counting of the agreed report set.
        """
        return self.task.plan(question.thresholds, counting.status.reports)

    def _ensure_counting(self) -> PlainCounting | CheckedCounting:
        """Charge the task's whole loss for the accepted report set, once, and return the object that counts these
        reports.
        """
        with self._lock:
            if self._counting is None:
                status = self._require_closed()
                reports = self._hold_in_jobs(status) or self._hold_in_memory(status)
                self._counting = self._create_counting(status, reports, self._charge_ledger(status))
            return self._counting

    def _create_counting(
        self, status: TaskStatus, held: HeldReports, allotment: Allotment
    ) -> PlainCounting | CheckedCounting:
        """SECRET: return the counting of these reports: checked or plain, and with proofs if the task asks for them.

        Args:
            status: Status of the task, with its closed report set.
            held: Reports in memory or in files of workers.
            allotment: Proof that the loss was charged.
        """

        def derive_noise_key(dropped: bytes) -> NoiseKey:
            """SECRET: return the noise key of the reports that passed the check; another set of failed reports has
            another key.

            Args:
                dropped: Packed flags of the reports that failed the check.
            """
            return self._noise.derive_noise_key(f"{status.report_set} without {dropped.hex()}")

        proofs = None
        if held.proof_words is not None:
            proving = ServerProver(self.task.hash, self.party, *held.proof_words)
            proofs = AnswerProofs(proving, self.store, self.task.proved_values, self.task.proved_at)
        if isinstance(held.reports, CheckedReports | CheckedJobs | HistogramReports):
            return CheckedCounting(self.task, held.reports, derive_noise_key, allotment, status, self.store, proofs)
        return PlainCounting(held.reports, allotment, status, proofs)

    def _hold_in_memory(self, status: TaskStatus) -> HeldReports:
        """SECRET: load the accepted reports into memory, with their proof words if answers are proved.

        Args:
            status: Status of the task, with its closed report set.
        """
        encoding = self.task.encoding
        if isinstance(encoding, HistogramEncoding):
            shares = self._load_shares(status)
            _, listing = self.store.read_listing(self.task.hash)
            key = derive_verify_key(self._shared_secret, self.task.hash)
            return HeldReports(HistogramReports(encoding, self.party, sorted(listing), shares, key), None)
        word_batches = list[tuple[Words, list[bytes]]]()
        batches = self._iterate_with_words(encoding, status, word_batches)
        count = status.reports
        if isinstance(encoding, CheckedTreeEncoding):
            keys = encoding.join_checked_keys(self.party, batches, count)
            return HeldReports(
                CheckedReports(keys, encoding.engine, self._derive_verify_key(status)), self._join_words(word_batches)
            )
        reports = SharedReports(
            encoding.join_keys(self.party, batches, count), encoding.engine, self._derive_noise_key(status)
        )
        return HeldReports(reports, self._join_words(word_batches))

    def _iterate_with_words(
        self, encoding: TreeEncoding, status: TaskStatus, words: list[tuple[Words, list[bytes]]]
    ) -> Iterator[Sequence[bytes]]:
        """Yield the shares of accepted reports in batches, and keep their proof words (values by which answers are
        proved) aside. SECRET.

        Args:
            encoding: Format of the reports.
            status: Status of the task, with its closed report set.
            words: List to which the proof words and seeds of each batch are appended; it stays empty without proofs.
        """
        for page in self._iterate_shares(status):
            if self.task.proof_key_hashes:
                page_words, seeds = encoding.parse_words(page)
                words.append((page_words.copy(), seeds))  # releases the memory of the whole share
            yield page

    def _join_words(self, words: Sequence[tuple[Words, list[bytes]]]) -> tuple[Words, list[bytes]] | None:
        """SECRET: return the proof words, ``(reports, analysts)``, and the seeds of all reports, joined from batches of
        both; None if the task has no proofs of answers.
        """
        if not self.task.proof_key_hashes:
            return None
        return np.concatenate([rows for rows, _ in words]), [seed for _, seeds in words for seed in seeds]

    def _hold_in_jobs(self, status: TaskStatus) -> HeldReports | None:
        """Return the reports as files that worker processes compute on; None if the server has no storage for such
        files.

        Args:
            status: Status of the task, with its closed report set.
        """
        encoding = self.task.encoding
        word_batches = list[tuple[Words, list[bytes]]]()
        if self.resources.job_store is None or not isinstance(encoding, TreeEncoding):
            return None
        checked = self._derive_verify_key(status) if isinstance(encoding, CheckedTreeEncoding) else b""
        form = JobContext(self.task.hash, self.party, encoding.slots, encoding.proof_words, checked)
        cutting = JobWriter(self.resources.job_store, self.resources.workers)
        jobs = cutting.write_jobs(
            form, str(status.report_set), self._iterate_with_words(encoding, status, word_batches)
        )
        reports = CheckedJobs(jobs) if checked else ReportJobs(jobs, self._derive_noise_key(status))
        return HeldReports(reports, self._join_words(word_batches))

    @property
    def _shared_secret(self) -> bytes:
        """SECRET: the secret that each server derives with its own key, and no owner can."""
        return self.identity.hpke_key.exchange(load_public_key(self.task.servers[1 - self.party].hpke_key))

    def _derive_noise_key(self, status: TaskStatus) -> NoiseKey:
        """SECRET: return the key of this server's noise for the accepted report set.

        Args:
            status: State of the closed task.
        """
        return self._noise.derive_noise_key(str(status.report_set))

    def _derive_verify_key(self, status: TaskStatus) -> bytes:
        """Derive the secret key with which both servers hash reports to check them; no owner can derive it.

        Args:
            status: State of the closed task; each report set has its own key.
        """
        return derive_key(self._shared_secret, f"verification {self.task.hash} {status.report_set}")


class HeldReports(NamedTuple):
    """SECRET. Accepted reports, in memory or in jobs, and their proof words."""

    reports: SharedReports | ReportJobs | CheckedReports | CheckedJobs | HistogramReports
    proof_words: tuple[Words, list[bytes]] | None


def _to_answer(share: AnswerShare, status: TaskStatus) -> Answer:
    """SECRET: convert an answer share to a message with its report set and noise.

    Args:
        share: Share of this server of the noisy counts.
        status: State of the closed task.
    """
    commitments = status.commitments or ()
    return Answer(
        share.values, str(status.report_set), status.reports, share.dropped_count, commitments, share.noise_hashes
    )


COUNT_TASK_TYPE = TaskType(Task, TaskService)
"""Type of tasks of counts, which the package registers as an entry point, so that the servers' program finds it."""
