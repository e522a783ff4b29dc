"""SECRET. One task of counts at one server: comparison of digests, counting of reports, and the service around both."""

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
from ..serving.noise_key import NoiseKey, format_noise_law
from ..serving.task_document import Role, find_bearer
from ..serving.two_servers import dap, report_set
from ..serving.two_servers.collection import (
    CLOSES,
    LARGEST_LISTING,
    LARGEST_QUESTION,
    OfPeer,
    SharedTaskService,
    derive_key,
)
from ..serving.two_servers.kinds import Answer, QuestionMessage, TaskType, require_report_set
from ..serving.two_servers.report_set import load_public_key
from ..serving.two_servers.sealed_answers import AnswerKey, Envelope, encode_sealed_answer, parse_envelope
from ..serving.two_servers.store import Store, TaskStatus
from .answer_proofs import ProvedValues, ServerProver, ShareProof
from .dap_uploads import AHEAD, NO_LEADER, ReportVerifier, UploadLeader, answer_aggregation_job
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
    """Digests of all reports of the set, in the order of their ids, as text for the other server.

    They have 16 bytes each. Those of an honest owner are the same at both servers, and tell nothing. Of reports of one
    cell they are messages of their proofs, which tell nothing either.
    """
    return b64encode(evaluation.digests.tobytes()).decode()


def parse_digests(told: Mapping[str, Any], reports: int, size: int = DIGEST_SIZE) -> NDArray[np.uint8]:
    """The inverse of `encode_digests`, from a message about so many reports. Raises `ProtocolError`: there are none."""
    try:
        digests = b64decode(told["check"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise ProtocolError("peer", "it told nothing of what is to be checked", 502) from None
    if len(digests) != size * reports:
        raise ProtocolError("peer", "what is to be checked is of another number of reports", 502)
    return np.frombuffer(digests, np.uint8).reshape(-1, size)


def pack_flags(dropped: NDArray[np.bool_]) -> bytes:
    """A bit for each report."""
    return np.packbits(dropped).tobytes()


def unpack_flags(bits: bytes, reports: int) -> NDArray[np.bool_]:
    """The inverse of `pack_flags`."""
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=reports).astype(bool)


Post = Callable[[str, bytes], bytes]
"""Function that posts a request to the other server, by its name and message."""


class AskingAnalyst(NamedTuple):
    """The number of the analyst who asks, and its letter to the other server."""

    analyst: int
    envelope: str


class AnswerShare(NamedTuple):
    """SECRET: this server's half of an answer, how many reports were not counted, hashes of both noises.

    `marks_hash` is a hash of what was seen of checked reports on the way to thresholds, for the other server.
    """

    values: tuple[int, ...]
    dropped_count: int
    noise_hashes: tuple[str, ...] = ()
    marks_hash: str = ""


class AnswerShares(NamedTuple):
    """SECRET: this server's half of an answer, and the other's, which is sealed to the analyst."""

    own_share: AnswerShare
    sealed_peer_share: object


def parse_answer_share(
    own: QuestionMessage, message: bytes, provenance: Mapping[str, object], dropped_count: int
) -> Mapping[str, Any]:
    """The other server's message with its half, which is sealed.

    Raises:
        ProtocolAborted: it answers another question, or from another set of reports, or it dropped others.
    """
    told = own.parse_reply(message, "peer")
    if any(told.get(name) != value for name, value in provenance.items()):
        raise ProtocolError("peer", OTHER_SET, 502)
    if told.get("dropped") != dropped_count:
        raise ProtocolError("peer", OTHERS_DROPPED, 502)
    return told


OTHER_SET = "it answers from another set of reports than this server, or other noise"
OTHER_NOISE = "it is bound to other noise than it told before the first answer; nothing is answered"


@dataclass(repr=False)
class AnswerProofs:
    """SECRET. Proofs of this server's halves, and the noise that the other server is bound to (`answer_proofs`).

    Attributes:
        prover: Maker of the proofs.
        store: Storage of the hash that the other server told.
        proved_values: The numbers that are proved.
        thresholds: Thresholds of the answer that is proved; none: it is that of all cells.
    """

    prover: ServerProver
    store: Store
    proved_values: ProvedValues
    thresholds: tuple[int, ...]
    _lock: Lock = field(default_factory=Lock, init=False)
    _own_proof: ShareProof | None = field(default=None, init=False)

    def prove_share(self, noise: NoiseKey, counts: NDArray[np.bool_] | None = None) -> OwnProof:
        """The proof of the half with this noise: of all reports, or of those that `counts` leaves."""
        with self._lock:
            if self._own_proof is None:
                self._own_proof = self.prover.prove_share(self.proved_values.derive_noise(noise), counts)
            return OwnProof(self, self._own_proof)

    def record_peer_hash(self, own: ShareProof, told: Mapping[str, Any]) -> tuple[str, ...]:
        """Hashes of the noises of server 0 and of server 1, once the other one's is written down.

        Raises:
            ProtocolAborted: it told none, or another one before.
        """
        other = told.get("bound")
        if not isinstance(other, str) or self.store.record_noise_hash(self.prover.task, other) != other:
            raise ProtocolError("peer", OTHER_NOISE, 502)
        return (own.hash, other) if self.prover.party == 0 else (other, own.hash)


class OwnProof(NamedTuple):
    """SECRET: the proof of this server's half, with what made it."""

    proofs: AnswerProofs
    share_proof: ShareProof

    def add_to_share(
        self, share: AnswerShare, told: Mapping[str, Any], thresholds: tuple[int, ...], analyst: int
    ) -> AnswerShare:
        """A half with its proof for an analyst, where it has one.

        Whatever was asked, the other server's message binds it: were it not bound by answers that are not proved, it
        could choose its noise after it has seen some of them.
        """
        bound = self.proofs.record_peer_hash(self.share_proof, told)
        proved = self.share_proof.proof_for_analyst(analyst) if thresholds == self.proofs.thresholds else ()
        return share._replace(values=(*share.values, *proved), noise_hashes=bound)


def _noise_hash_field(proof: OwnProof | None) -> dict[str, str]:
    """Noise that this server is bound to, for a message to the other one."""
    return {} if proof is None else {"bound": proof.share_proof.hash}


@dataclass(repr=False)
class PlainCounting:
    """SECRET. All reports count; owners are believed.

    Attributes:
        reports: That count.
        allotment: Allotment that was charged for the counts.
        status: Set of reports.
        proofs: Proofs of halves, if the task asks for them.
    """

    reports: SharedReports | ReportJobs
    allotment: Allotment
    status: TaskStatus
    proofs: AnswerProofs | None = None
    _lock: Lock = field(default_factory=Lock, init=False)
    _own_values: tuple[int, ...] | None = field(default=None, init=False)

    def lead(self, own: QuestionMessage, plan: Plan, asker: AskingAnalyst, post: Post) -> AnswerShares:
        """Both halves, when this server was asked; with the analyst's letter to the other one."""
        named, proof = self.status.provenance, self._proof
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(
                post, "half", own.to_json(**named, letter=asker.envelope, **_noise_hash_field(proof))
            )
            numbers = self._compute_values(plan)
            told = parse_answer_share(own, coming.result(), named, 0)
        half = AnswerShare(numbers, 0)
        return AnswerShares(
            half if proof is None else proof.add_to_share(half, told, own.thresholds, asker.analyst), told.get("half")
        )

    def make_cell_share(self, plan: Plan, post: Post | None) -> AnswerShare:
        """This server's half for all cells."""
        return AnswerShare(self._compute_values(plan), 0)

    @property
    def _proof(self) -> OwnProof | None:
        return None if self.proofs is None else self.proofs.prove_share(self.reports.noise_key)

    def _compute_values(self, plan: Plan) -> tuple[int, ...]:
        """Work out thresholds at once, and what is proved, or all cells, one time: whoever asks meanwhile waits."""
        if not plan.query.is_dense and (self.proofs is None or plan.query.requested_slots != self.proofs.thresholds):
            return make_answer_share(plan, self.reports, self.allotment)
        with self._lock:
            if self._own_values is None:
                self._own_values = make_answer_share(plan, self.reports, self.allotment)
            return self._own_values

    def evaluate(self, asked: QuestionMessage) -> bytes:
        """Refuse: reports of this task are not checked.

        Raises:
            ProtocolAborted: always.
        """
        raise ProtocolError("question", NOT_CHECKED, 409)

    def settle(self, asked: QuestionMessage, message: bytes) -> bytes:
        """Refuse: reports of this task are not checked.

        Raises:
            ProtocolAborted: always.
        """
        raise ProtocolError("question", NOT_CHECKED, 409)

    def follow(self, message: bytes, asked: QuestionMessage, plan: Plan, analyst: int) -> AnswerShare:
        """This server's half, when the other one was asked."""
        half, proof = AnswerShare(self._compute_values(plan), 0), self._proof
        return (
            half
            if proof is None
            else proof.add_to_share(half, parse_object(message, "question"), asked.thresholds, analyst)
        )


NOT_COLLECTED = "collection jobs are for tasks that count all cells, without proofs of answers; ask it as analysts do"
NOT_CHECKED = "reports of this task are not checked"
UNCHECKED = "reports have to be checked before the first answer"
FAILING = "reports fail the check at these edges, and none is dropped any more; ask at others"
OTHERS_DROPPED = "it dropped other reports than this server when they were checked; nothing is answered"


@dataclass(repr=False)
class CheckedCounting:
    """SECRET. Reports count that have passed the check before the first answer; from then on none is dropped.

    Reports are checked once: at all cells where these are counted, else at the public edges `Task.checked_at`. Each
    server compares digests, writes down which reports have failed, and never changes that. Where thresholds are asked
    one after the other, all reports that count are compared at these, too, by one hash (`NodeSumCache`); where it differs the
    server that was asked hands no half to the analyst.

    Formal guarantees: one server with any behaviour, any owners and the analyst together learn from this server, of the
    reports of honest owners, a function of ``A x + z``: one curator's release for these reports, with its full noise,
    where x are the reports of honest owners that this server wrote down as passing. *Proof.* What this server says of
    its shares are digests and halves. Digests of an honest owner's reports are functions of the other server's shares
    and of the key that both know. A half is ``A s + z`` modulo 2**64, where s are this server's shares of all reports
    that it wrote down as passing, a set that is fixed before the first half is worked out and is a function of digests;
    z is drawn once for the closed set, from a key that nobody else has, as `NoisePath` or `LinearMechanism` has it, whatever is
    asked and however often. Shares of dishonest owners' reports are known to the adversary, and shares of honest ones
    are its own subtracted from ``A x``; both can be taken off. So a half tells ``A x + z`` at the thresholds asked, and
    the same z with no other x. The hash beside it is a function of what digests are of. Of reports of one cell messages
    of proofs take the place of digests: the other server could have drawn them itself, and which reports have failed is
    a function of both servers' messages (`Prio3Histogram`). *Not promised*: that counts are
    right when a server lies: it can have reports dropped before the first answer, as many as `Task.least` allows, pass
    malformed ones, and add anything to its own half.

    Attributes:
        task: The task.
        reports: That may count.
        derive_noise_key: The key of this server's noise for the reports that are left: another set of them has other noise, so
            that a store that was put back to a time before the check tells no difference of two sets.
        allotment: Allotment that was charged for the counts.
        status: Set of reports.
        store: Storage of the reports that have failed.
        proofs: Proofs of halves, if the task asks for them.
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

    def lead(self, own: QuestionMessage, plan: Plan, asker: AskingAnalyst, post: Post) -> AnswerShares:
        """Both halves, when this server was asked; before the first one, which reports count.

        The analyst's letter goes to the other server. A server whose store was put back to a time before the check
        hears again which reports have failed.

        Raises:
            ProtocolAborted: the other server dropped other reports, or too few pass, or some fail at these thresholds.
        """
        dropped = self._dropped_bits or self._run_check(post)
        try:
            return self._lead_checked(own, plan, asker, dropped, post)
        except ProtocolError as error:
            if error.rule != UNCHECKED:
                raise
        return self._lead_checked(own, plan, asker, self._run_check(post), post)

    def _lead_checked(
        self, own: QuestionMessage, plan: Plan, asker: AskingAnalyst, dropped: bytes, post: Post
    ) -> AnswerShares:
        many, named = int(unpack_flags(dropped, self.status.reports).sum()), self.status.provenance
        proof = self._proof(dropped)
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(
                post, "half", own.to_json(**named, letter=asker.envelope, **_noise_hash_field(proof))
            )
            numbers, seen = self._compute_values(plan, dropped)
            told = parse_answer_share(own, coming.result(), named, many)
        if told.get("seen", "") != seen:
            raise ProtocolError("at", FAILING, 409)
        half = AnswerShare(numbers, many)
        return AnswerShares(
            half if proof is None else proof.add_to_share(half, told, own.thresholds, asker.analyst), told.get("half")
        )

    def make_cell_share(self, plan: Plan, post: Post | None) -> AnswerShare:
        """This server's half for all cells; with `post`, the other server checks reports first, where it has not.

        Raises:
            ProtocolAborted: reports were not checked, or too few pass.
        """
        dropped = self._dropped_bits or (None if post is None else self._run_check(post))
        if dropped is None:
            raise ProtocolError("peer", UNCHECKED, 409)
        return AnswerShare(
            self._compute_values(plan, dropped)[0], int(unpack_flags(dropped, self.status.reports).sum())
        )

    def evaluate(self, asked: QuestionMessage) -> bytes:
        """Response to the other server before the first answer: the digests that it has to compare.

        Raises:
            ProtocolAborted: it asks at other thresholds than those at which reports are checked.
        """
        if asked.thresholds != self.task.checked_at:
            raise ProtocolError("at", "reports are checked at the thresholds that the task says", 409)
        return asked.encode_answer((), self.status.provenance, check=encode_digests(self._evaluate_reports()))

    def follow(self, message: bytes, asked: QuestionMessage, plan: Plan, analyst: int) -> AnswerShare:
        """This server's half, when the other one was asked.

        Raises:
            ProtocolAborted: reports were not checked.
        """
        dropped = self._dropped_bits
        if dropped is None:
            raise ProtocolError("peer", UNCHECKED, 409)
        numbers, seen = self._compute_values(plan, dropped)
        half, proof = (
            AnswerShare(numbers, int(unpack_flags(dropped, self.status.reports).sum()), marks_hash=seen),
            self._proof(dropped),
        )
        return (
            half
            if proof is None
            else proof.add_to_share(half, parse_object(message, "question"), asked.thresholds, analyst)
        )

    def settle(self, asked: QuestionMessage, message: bytes) -> bytes:
        """Check all reports with the digests of the other server, unless that was done before, and say which failed.

        Raises:
            ProtocolAborted: the message does not say what is to be compared, or too few pass.
        """
        dropped = self._dropped_bits or self._record_check(self._evaluate_reports(), parse_object(message, "question"))
        return asked.encode_answer((), self.status.provenance, dropped=b64encode(dropped).decode())

    # Once, before the first answer

    @property
    def _dropped_bits(self) -> bytes | None:
        """Marks of the reports that have failed; None before they are checked."""
        return self.store.read_dropped(self.task.hash, -(-self.status.reports // 8))

    def _run_check(self, post: Post) -> bytes:
        """Let both servers check all reports; the marks of those that have failed."""
        own = QuestionMessage.create(self.task, self.task.checked_at)
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(post, "evaluate", own.to_json(**self.status.provenance))
            evaluation = self._evaluate_reports()
            told = own.parse_reply(coming.result(), "peer")
        dropped = self._record_check(evaluation, told)
        message = own.to_json(**self.status.provenance, check=encode_digests(evaluation))
        if own.parse_reply(post("settle", message), "peer").get("dropped") != b64encode(dropped).decode():
            raise ProtocolError("peer", OTHERS_DROPPED, 502)
        return dropped

    def _record_check(self, evaluation: Evaluation | HistogramEvaluation, told: Mapping[str, Any]) -> bytes:
        """Write down which reports have failed, unless it stands already."""
        passed = evaluation.find_accepted(parse_digests(told, *evaluation.digests.shape))
        if passed.sum() < self.task.least * self.status.reports:
            rule = (
                f"{int(passed.sum())} of {len(passed)} pass the servers' check, and {self.task.least} of them have to"
            )
            raise ProtocolError("reports", rule, 409)
        return self.store.record_dropped(self.task.hash, pack_flags(~passed))

    # Halves

    def _proof(self, dropped: bytes) -> OwnProof | None:
        if self.proofs is None:
            return None
        return self.proofs.prove_share(self.derive_noise_key(dropped), ~unpack_flags(dropped, self.status.reports))

    def _compute_values(self, plan: Plan, dropped: bytes) -> tuple[tuple[int, ...], str]:
        """This server's half, and what the other one has to see, too: nothing of all cells, which were compared."""
        counts = ~unpack_flags(dropped, self.status.reports)
        if isinstance(self.reports, HistogramReports) or plan.query.is_dense:
            return self._compute_cells(plan, dropped, counts), ""
        with self._lock:
            if self._node_sums is None:
                self._node_sums = NodeSumCache(self.reports, counts, Domain(self.task.bits, Z64))
        accepted, seen = self._node_sums.sum_thresholds(find_thresholds(plan), self.derive_noise_key(dropped))
        return make_answer_share(plan, accepted, self.allotment), seen.hex()

    def _compute_cells(self, plan: Plan, dropped: bytes, counts: NDArray[np.bool_]) -> tuple[int, ...]:
        with self._lock:
            own = self._own_values
        if own is None:
            own = make_answer_share(
                plan, self._evaluate_reports().sum_accepted(counts, self.derive_noise_key(dropped)), self.allotment
            )
            with self._lock:
                self._own_values = own
        return own

    def _evaluate_reports(self) -> Evaluation | HistogramEvaluation:
        """Evaluation by which reports are checked, which is asked for several times."""
        with self._lock:
            if self._cached_evaluation is None:
                plan = self.task.plan(self.task.checked_at, self.status.reports)
                self._cached_evaluation = self.reports.evaluate_thresholds(tuple(find_thresholds(plan)))
            return self._cached_evaluation


@dataclass(repr=False)
class TaskService(SharedTaskService[Task]):
    """SECRET. What one server does for one task. It has no repr.

    Formal guarantees: of the reports nothing leaves but `make_answer_share` halves, each sealed to an analyst who has shown this
    server a token (see `sealed_answers`: the other server opens none, and no server sees a result); and digests of
    checked reports, to the other server: after the ledger has charged the task's loss, once, for one set of reports.
    The key of the noise belongs to that set. What is asked again, or after a crash, has the same answer. A server that
    has lost its store or the key of its ledger would draw other noise, and would be paid by an empty ledger: `Closing`
    says why it can not.
    """

    PEER_REQUESTS: ClassVar[OfPeer] = MappingProxyType({
        **CLOSES,
        "evaluate": (lambda service, message: service.evaluate(message), LARGEST_QUESTION),
        "settle": (lambda service, message: service.settle(message), LARGEST_LISTING),
        "half": (lambda service, message: service.make_answer_share(message), LARGEST_LISTING),
    })  # fmt: skip

    _counting: PlainCounting | CheckedCounting | None = field(default=None, init=False)

    @property
    def noise_law_name(self) -> str:
        return format_noise_law(self.task.law(1))  # a law that is the same for any number of reports

    @property
    def askable(self) -> Task:
        return self.task

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        asked, stored = QuestionMessage.from_json(message, self.task), parse_object(message, "question")
        reply, asker = AnswerKey.from_fields(asked, stored), AskingAnalyst(analyst, parse_envelope(stored))
        own = QuestionMessage.create(self.task, asked.thresholds, asked.question_id)
        counting = self._agree_on_counting(own)
        half, theirs = counting.lead(own, self._plan(asked, counting), asker, self._post_to_peer)
        return encode_sealed_answer(reply, self.party, _to_answer(half, counting.status), theirs)

    def submit_upload(self, owner: int, message: bytes) -> Future[bytes]:
        return self._leader.submit(owner, dap.parse_upload_request(message))

    def run_aggregation_job(self, message: bytes) -> bytes:
        return answer_aggregation_job(self, self._verifier, dap.parse_aggregation_job(message, self.task.hash))

    @cached_property
    def _leader(self) -> UploadLeader:
        return UploadLeader(self, self._verifier)

    @cached_property
    def _verifier(self) -> ReportVerifier:
        return ReportVerifier(self.task, self.party, derive_verify_key(self._shared_secret, self.task.hash))

    def run_collection_job(self, message: bytes) -> bytes:
        """Both servers' aggregate shares, sealed to the analyst; collected again, they are the same numbers.

        Formal guarantees: those of `sealed_answers`. The helper seals nothing without the analyst's token, which comes
        in a letter that the leader can not open and that is bound to the analyst's key. What is sealed is the half that
        `answer` would give: there is no other noise, and no other charge.

        Raises:
            ProtocolAborted: this is the helper, or the task is not collected so, or the helper does not answer.
        """
        if self.party != 0:
            raise ProtocolError("server", NO_LEADER, 404)
        job, own = (
            dap.CollectionJobRequest.from_bytes(message),
            QuestionMessage.create(self._require_collectable(), (), "collection"),
        )
        standing = self._confirm_with_peer(own)
        counting = self._ensure_counting()
        half = counting.make_cell_share(self._plan(own, counting), self._post_to_peer)
        request = dap.encode_aggregate_share_request(
            job, self.task.hash, standing.reports, self.store.compute_checksum(self.task.hash)
        )
        path = f"/tasks/{dap.encode_task_id(self.task.hash)}/aggregate_shares"
        theirs = dap.parse_aggregate_share(self.peer.post(path, request, content_type=dap.SHARE))
        shares = self._seal_aggregate_share(job, half, standing), theirs
        return dap.encode_collection_job_response(standing.reports, int(time() / dap.PRECISION) + AHEAD + 1, shares)

    def make_aggregate_share(self, message: bytes) -> bytes:
        """This server's aggregate share, sealed to the analyst whose collection job the leader hands on.

        Raises:
            ProtocolAborted: it is no such job, or of no analyst of this task, or of one who asks too often, or for
                other reports.
        """
        task, standing = self._require_collectable(), self._require_closed()
        job = dap.parse_aggregate_share_request(
            message, task.hash, standing.reports, self.store.compute_checksum(task.hash)
        )
        shown = self.hpke_keys.open_ciphertext(
            job.encrypted_token, dap.LETTER_INFO, task.configuration.encode_token_aad(job)
        )
        token = shown.decode("ascii", "replace") if isinstance(shown, bytes) else ""
        self.count_question(find_bearer(task, token, Role.ANALYST, self.party))
        counting = self._ensure_counting()
        return self._seal_aggregate_share(
            job, counting.make_cell_share(task.plan((), standing.reports), None), standing
        )

    def _require_collectable(self) -> Task:
        """The task, which has to count cells without proofs."""
        if self.task.count_kind is not CountKind.CELLS or self.task.proof_key_hashes:
            raise ProtocolError("task", NOT_COLLECTED, 404)
        return self.task

    def _seal_aggregate_share(self, job: dap.CollectionJobRequest, half: AnswerShare, standing: TaskStatus) -> bytes:
        """An aggregate share of this profile: the set, both commitments, how many were dropped, and the numbers."""
        names = b"".join(map(bytes.fromhex, (str(standing.report_set), *(standing.commitments or ()))))
        numbers = struct.pack(f"<{len(half.values)}Q", *half.values)
        return self.task.configuration.seal_aggregate_share(
            job, self.party, names + dap.encode_integer(half.dropped_count, 8) + numbers
        )

    def make_answer_share(self, message: bytes) -> bytes:
        """This server's half of an answer, sealed to the analyst whose letter the other server hands on.

        Raises:
            ProtocolAborted: it can not be asked, or the letter is of no analyst of this task, or of one who asks too
                often.
        """
        asked = self._parse_peer_question(message)
        letter = Envelope.open_envelope(parse_object(message, "question"), asked, self.party, self.identity)
        analyst = find_bearer(self.task, letter.token, Role.ANALYST, self.party)
        self.count_question(analyst)
        counting = self._ensure_counting()
        half = counting.follow(message, asked, self._plan(asked, counting), analyst)
        sealed = letter.answer_key.seal_answer_share(self.party, _to_answer(half, counting.status))
        more = {"bound": half.noise_hashes[self.party]} if half.noise_hashes else {}
        more |= {"seen": half.marks_hash} if half.marks_hash else {}
        return asked.to_json(**counting.status.provenance, dropped=half.dropped_count, half=sealed, **more)

    def evaluate(self, message: bytes) -> bytes:
        """Digests that the other server has to compare before reports count.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        asked = self._parse_peer_question(message)
        return self._ensure_counting().evaluate(asked)

    def settle(self, message: bytes) -> bytes:
        """Check of all reports, before the first answer.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        return self._ensure_counting().settle(self._parse_peer_question(message), message)

    def _agree_on_counting(self, own: QuestionMessage) -> PlainCounting | CheckedCounting:
        """Counting on the agreed set. Before the first charge the other server must agree; later messages name it."""
        if self._counting is None:
            self._confirm_with_peer(own)
        return self._ensure_counting()

    def _confirm_with_peer(self, own: QuestionMessage) -> TaskStatus:
        """State of the closed task, once the other server has said that it has the same reports and commitments."""
        standing = self._require_closed()
        told = own.parse_reply(self._post_to_peer("agree", own.to_json(**standing.provenance)), "peer")
        require_report_set(told, standing.provenance, report_set.OTHER)
        return standing

    def _plan(self, asked: QuestionMessage, counting: PlainCounting | CheckedCounting) -> Plan:
        return self.task.plan(asked.thresholds, counting.status.reports)

    def _ensure_counting(self) -> PlainCounting | CheckedCounting:
        """The reports that count, once the whole loss of the task is charged for them, and for no other set."""
        with self._lock:
            if self._counting is None:
                standing = self._require_closed()
                held = self._hold_in_jobs(standing) or self._hold_in_memory(standing)
                self._counting = self._create_counting(standing, held, self._charge_ledger(standing))
            return self._counting

    def _create_counting(
        self, standing: TaskStatus, held: HeldReports, allotment: Allotment
    ) -> PlainCounting | CheckedCounting:
        def derive_noise_key(dropped: bytes) -> NoiseKey:
            return self._noise.derive_noise_key(f"{standing.report_set} without {dropped.hex()}")

        proofs = None
        if held.proof_words is not None:
            proving = ServerProver(self.task.hash, self.party, *held.proof_words)
            proofs = AnswerProofs(proving, self.store, self.task.proved_values, self.task.proved_at)
        if isinstance(held.reports, CheckedReports | CheckedJobs | HistogramReports):
            return CheckedCounting(self.task, held.reports, derive_noise_key, allotment, standing, self.store, proofs)
        return PlainCounting(held.reports, allotment, standing, proofs)

    def _hold_in_memory(self, standing: TaskStatus) -> HeldReports:
        encoding = self.task.encoding
        if isinstance(encoding, HistogramEncoding):
            shares = self._load_shares(standing)
            _, listing = self.store.read_listing(self.task.hash)
            key = derive_verify_key(self._shared_secret, self.task.hash)
            return HeldReports(HistogramReports(encoding, self.party, sorted(listing), shares, key), None)
        words = list[tuple[Words, list[bytes]]]()
        parts, count = self._iterate_with_words(encoding, standing, words), standing.reports
        if isinstance(encoding, CheckedTreeEncoding):
            keys = encoding.join_checked_keys(self.party, parts, count)
            return HeldReports(
                CheckedReports(keys, encoding.engine, self._derive_verify_key(standing)), self._join_words(words)
            )
        held = SharedReports(
            encoding.join_keys(self.party, parts, count), encoding.engine, self._derive_noise_key(standing)
        )
        return HeldReports(held, self._join_words(words))

    def _iterate_with_words(
        self, encoding: TreeEncoding, standing: TaskStatus, words: list[tuple[Words, list[bytes]]]
    ) -> Iterator[Sequence[bytes]]:
        """SECRET: shares of the reports that count in parts; their words of proofs, where there are some, are kept."""
        for part in self._iterate_shares(standing):
            if self.task.proof_key_hashes:
                some, seeds = encoding.parse_words(part)
                words.append((some.copy(), seeds))  # without the rest of the reports
            yield part

    def _join_words(self, words: Sequence[tuple[Words, list[bytes]]]) -> tuple[Words, list[bytes]] | None:
        if not self.task.proof_key_hashes:
            return None
        return np.concatenate([one for one, _ in words]), [seed for _, seeds in words for seed in seeds]

    def _hold_in_jobs(self, standing: TaskStatus) -> HeldReports | None:
        """Reports as jobs of workers; None where the server has no place for them."""
        encoding, words = self.task.encoding, list[tuple[Words, list[bytes]]]()
        if self.resources.job_store is None or not isinstance(encoding, TreeEncoding):
            return None
        checked = self._derive_verify_key(standing) if isinstance(encoding, CheckedTreeEncoding) else b""
        form = JobContext(self.task.hash, self.party, encoding.slots, encoding.proof_words, checked)
        cutting = JobWriter(self.resources.job_store, self.resources.workers)
        jobs = cutting.write_jobs(form, str(standing.report_set), self._iterate_with_words(encoding, standing, words))
        held = CheckedJobs(jobs) if checked else ReportJobs(jobs, self._derive_noise_key(standing))
        return HeldReports(held, self._join_words(words))

    @property
    def _shared_secret(self) -> bytes:
        """SECRET: both servers work it out, each with its own key, and no owner can."""
        return self.identity.hpke_key.exchange(load_public_key(self.task.servers[1 - self.party].hpke_key))

    def _derive_noise_key(self, standing: TaskStatus) -> NoiseKey:
        return self._noise.derive_noise_key(str(standing.report_set))

    def _derive_verify_key(self, standing: TaskStatus) -> bytes:
        """Key of digests. Both servers work it out, and no owner can: it belongs to a set that is closed."""
        return derive_key(self._shared_secret, f"verification {self.task.hash} {standing.report_set}")


class HeldReports(NamedTuple):
    """SECRET. Reports that count, in memory or in jobs, and what proofs of answers need of them."""

    reports: SharedReports | ReportJobs | CheckedReports | CheckedJobs | HistogramReports
    proof_words: tuple[Words, list[bytes]] | None


def _to_answer(half: AnswerShare, standing: TaskStatus) -> Answer:
    """SECRET: a half, with the set of reports and the noise that it is from."""
    commitments = standing.commitments or ()
    return Answer(
        half.values, str(standing.report_set), standing.reports, half.dropped_count, commitments, half.noise_hashes
    )


COUNTS = TaskType(Task, TaskService)
"""Tasks that count, registered as an entry point."""
