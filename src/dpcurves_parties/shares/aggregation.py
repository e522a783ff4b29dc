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
from ..serving.messages import ProtocolAborted, opened
from ..serving.noise_key import NoiseKey, noise_name
from ..serving.task_document import Role, bearer_shown
from ..serving.two_servers import dap, report_set
from ..serving.two_servers.collection import CLOSES, LARGEST_LISTING, LARGEST_QUESTION, Collection, OfPeer, derived
from ..serving.two_servers.kinds import Answer, Asked, TaskKind, require_set
from ..serving.two_servers.report_set import public_key
from ..serving.two_servers.sealed_answers import Letter, Reply, answered, letter_of
from ..serving.two_servers.store import Standing, Store
from .answer_proofs import HalfProof, Proved, Proving
from .dap_uploads import AHEAD, NO_LEADER, Leading, Verifying, handed_on
from .function_shares import masked, thresholds
from .histogram_reports import HistogramEncoding, HistogramEvaluation, HistogramReports, verify_key
from .jobs import CheckedJobs, Cutting, Form, ReportJobs
from .shared_records import CheckedEncoding, CheckedReports, Encoding, Evaluation, Looks, Reports, Words
from .task import Counted, Task


def check_of(evaluation: Evaluation | HistogramEvaluation) -> str:
    """Digests of all reports of the set, in the order of their ids, as text for the other server.

    They have 16 bytes each. Those of an honest owner are the same at both servers, and tell nothing. Of reports of one
    cell they are messages of their proofs, which tell nothing either.
    """
    return b64encode(evaluation.digests.tobytes()).decode()


def digests_of(told: Mapping[str, Any], reports: int, size: int = DIGEST_SIZE) -> NDArray[np.uint8]:
    """The inverse of `check_of`, from a message about so many reports. Raises `ProtocolAborted`: there are none."""
    try:
        digests = b64decode(told["check"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise ProtocolAborted("peer", "it told nothing of what is to be checked", 502) from None
    if len(digests) != size * reports:
        raise ProtocolAborted("peer", "what is to be checked is of another number of reports", 502)
    return np.frombuffer(digests, np.uint8).reshape(-1, size)


def bits_of(dropped: NDArray[np.bool_]) -> bytes:
    """A bit for each report."""
    return np.packbits(dropped).tobytes()


def flags_of(bits: bytes, reports: int) -> NDArray[np.bool_]:
    """The inverse of `bits_of`."""
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=reports).astype(bool)


Post = Callable[[str, bytes], bytes]
"""Function that posts a request to the other server, by its name and message."""


class Asker(NamedTuple):
    """The number of the analyst who asks, and its letter to the other server."""

    analyst: int
    letter: str


class Half(NamedTuple):
    """SECRET: this server's half of an answer, how many reports were not counted, hashes of both noises.

    `seen` is a hash of what was seen of checked reports on the way to thresholds, for the other server.
    """

    numbers: tuple[int, ...]
    dropped: int
    bound: tuple[str, ...] = ()
    seen: str = ""


class Halves(NamedTuple):
    """SECRET: this server's half of an answer, and the other's, which is sealed to the analyst."""

    own: Half
    theirs: object


def half_told(own: Asked, message: bytes, named: Mapping[str, object], dropped: int) -> Mapping[str, Any]:
    """The other server's message with its half, which is sealed.

    Raises:
        ProtocolAborted: it answers another question, or from another set of reports, or it dropped others.
    """
    told = own.echoed(message, "peer")
    if any(told.get(name) != value for name, value in named.items()):
        raise ProtocolAborted("peer", OTHER_SET, 502)
    if told.get("dropped") != dropped:
        raise ProtocolAborted("peer", OTHERS_DROPPED, 502)
    return told


OTHER_SET = "it answers from another set of reports than this server, or other noise"
OTHER_NOISE = "it is bound to other noise than it told before the first answer; nothing is answered"


@dataclass(repr=False)
class Proofs:
    """SECRET. Proofs of this server's halves, and the noise that the other server is bound to (`answer_proofs`).

    Attributes:
        proving: Maker of the proofs.
        store: Storage of the hash that the other server told.
        law: The numbers that are proved.
        at: Thresholds of the answer that is proved; none: it is that of all cells.
    """

    proving: Proving
    store: Store
    law: Proved
    at: tuple[int, ...]
    _lock: Lock = field(default_factory=Lock, init=False)
    _own: HalfProof | None = field(default=None, init=False)

    def own(self, noise: NoiseKey, counts: NDArray[np.bool_] | None = None) -> OwnProof:
        """The proof of the half with this noise: of all reports, or of those that `counts` leaves."""
        with self._lock:
            if self._own is None:
                self._own = self.proving.half(self.law.noise(noise), counts)
            return OwnProof(self, self._own)

    def with_other(self, own: HalfProof, told: Mapping[str, Any]) -> tuple[str, ...]:
        """Hashes of the noises of server 0 and of server 1, once the other one's is written down.

        Raises:
            ProtocolAborted: it told none, or another one before.
        """
        other = told.get("bound")
        if not isinstance(other, str) or self.store.bind(self.proving.task, other) != other:
            raise ProtocolAborted("peer", OTHER_NOISE, 502)
        return (own.hash, other) if self.proving.party == 0 else (other, own.hash)


class OwnProof(NamedTuple):
    """SECRET: the proof of this server's half, with what made it."""

    proofs: Proofs
    proof: HalfProof

    def beside(self, half: Half, told: Mapping[str, Any], at: tuple[int, ...], analyst: int) -> Half:
        """A half with its proof for an analyst, where it has one.

        Whatever was asked, the other server's message binds it: were it not bound by answers that are not proved, it
        could choose its noise after it has seen some of them.
        """
        bound = self.proofs.with_other(self.proof, told)
        proved = self.proof.of(analyst) if at == self.proofs.at else ()
        return half._replace(numbers=(*half.numbers, *proved), bound=bound)


def _binding(proof: OwnProof | None) -> dict[str, str]:
    """Noise that this server is bound to, for a message to the other one."""
    return {} if proof is None else {"bound": proof.proof.hash}


@dataclass(repr=False)
class PlainCounting:
    """SECRET. All reports count; owners are believed.

    Attributes:
        reports: That count.
        allotment: Allotment that was charged for the counts.
        standing: Set of reports.
        proofs: Proofs of halves, if the task asks for them.
    """

    reports: Reports | ReportJobs
    allotment: Allotment
    standing: Standing
    proofs: Proofs | None = None
    _lock: Lock = field(default_factory=Lock, init=False)
    _own: tuple[int, ...] | None = field(default=None, init=False)

    def lead(self, own: Asked, plan: Plan, asker: Asker, post: Post) -> Halves:
        """Both halves, when this server was asked; with the analyst's letter to the other one."""
        named, proof = self.standing.named, self._proof
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(post, "half", own.to_json(**named, letter=asker.letter, **_binding(proof)))
            numbers = self._half(plan)
            told = half_told(own, coming.result(), named, 0)
        half = Half(numbers, 0)
        return Halves(half if proof is None else proof.beside(half, told, own.at, asker.analyst), told.get("half"))

    def cells(self, plan: Plan, post: Post | None) -> Half:
        """This server's half for all cells."""
        return Half(self._half(plan), 0)

    @property
    def _proof(self) -> OwnProof | None:
        return None if self.proofs is None else self.proofs.own(self.reports.noise)

    def _half(self, plan: Plan) -> tuple[int, ...]:
        """Work out thresholds at once, and what is proved, or all cells, one time: whoever asks meanwhile waits."""
        if not plan.query.is_laid_out and (self.proofs is None or plan.query.named_slots != self.proofs.at):
            return masked(plan, self.reports, self.allotment)
        with self._lock:
            if self._own is None:
                self._own = masked(plan, self.reports, self.allotment)
            return self._own

    def evaluate(self, asked: Asked) -> bytes:
        """Refuse: reports of this task are not checked.

        Raises:
            ProtocolAborted: always.
        """
        raise ProtocolAborted("question", NOT_CHECKED, 409)

    def settle(self, asked: Asked, message: bytes) -> bytes:
        """Refuse: reports of this task are not checked.

        Raises:
            ProtocolAborted: always.
        """
        raise ProtocolAborted("question", NOT_CHECKED, 409)

    def follow(self, message: bytes, asked: Asked, plan: Plan, analyst: int) -> Half:
        """This server's half, when the other one was asked."""
        half, proof = Half(self._half(plan), 0), self._proof
        return half if proof is None else proof.beside(half, opened(message, "question"), asked.at, analyst)


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
    one after the other, all reports that count are compared at these, too, by one hash (`Looks`); where it differs the
    server that was asked hands no half to the analyst.

    Formal guarantees: one server with any behaviour, any owners and the analyst together learn from this server, of the
    reports of honest owners, a function of ``A x + z``: one curator's release for these reports, with its full noise,
    where x are the reports of honest owners that this server wrote down as passing. *Proof.* What this server says of
    its shares are digests and halves. Digests of an honest owner's reports are functions of the other server's shares
    and of the key that both know. A half is ``A s + z`` modulo 2**64, where s are this server's shares of all reports
    that it wrote down as passing, a set that is fixed before the first half is worked out and is a function of digests;
    z is drawn once for the closed set, from a key that nobody else has, as `NoisePath` or `Linear` has it, whatever is
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
        noise: The key of this server's noise for the reports that are left: another set of them has other noise, so
            that a store that was put back to a time before the check tells no difference of two sets.
        allotment: Allotment that was charged for the counts.
        standing: Set of reports.
        store: Storage of the reports that have failed.
        proofs: Proofs of halves, if the task asks for them.
    """

    task: Task
    reports: CheckedReports | CheckedJobs | HistogramReports
    noise: Callable[[bytes], NoiseKey]
    allotment: Allotment
    standing: Standing
    store: Store
    proofs: Proofs | None = None
    _lock: Lock = field(default_factory=Lock, init=False)
    _evaluated: Evaluation | HistogramEvaluation | None = field(default=None, init=False)
    _looks: Looks | None = field(default=None, init=False)
    _own: tuple[int, ...] | None = field(default=None, init=False)

    def lead(self, own: Asked, plan: Plan, asker: Asker, post: Post) -> Halves:
        """Both halves, when this server was asked; before the first one, which reports count.

        The analyst's letter goes to the other server. A server whose store was put back to a time before the check
        hears again which reports have failed.

        Raises:
            ProtocolAborted: the other server dropped other reports, or too few pass, or some fail at these thresholds.
        """
        dropped = self._dropped or self._checked(post)
        try:
            return self._led(own, plan, asker, dropped, post)
        except ProtocolAborted as error:
            if error.rule != UNCHECKED:
                raise
        return self._led(own, plan, asker, self._checked(post), post)

    def _led(self, own: Asked, plan: Plan, asker: Asker, dropped: bytes, post: Post) -> Halves:
        many, named = int(flags_of(dropped, self.standing.reports).sum()), self.standing.named
        proof = self._proof(dropped)
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(post, "half", own.to_json(**named, letter=asker.letter, **_binding(proof)))
            numbers, seen = self._numbers(plan, dropped)
            told = half_told(own, coming.result(), named, many)
        if told.get("seen", "") != seen:
            raise ProtocolAborted("at", FAILING, 409)
        half = Half(numbers, many)
        return Halves(half if proof is None else proof.beside(half, told, own.at, asker.analyst), told.get("half"))

    def cells(self, plan: Plan, post: Post | None) -> Half:
        """This server's half for all cells; with `post`, the other server checks reports first, where it has not.

        Raises:
            ProtocolAborted: reports were not checked, or too few pass.
        """
        dropped = self._dropped or (None if post is None else self._checked(post))
        if dropped is None:
            raise ProtocolAborted("peer", UNCHECKED, 409)
        return Half(self._numbers(plan, dropped)[0], int(flags_of(dropped, self.standing.reports).sum()))

    def evaluate(self, asked: Asked) -> bytes:
        """Response to the other server before the first answer: the digests that it has to compare.

        Raises:
            ProtocolAborted: it asks at other thresholds than those at which reports are checked.
        """
        if asked.at != self.task.checked_at:
            raise ProtocolAborted("at", "reports are checked at the thresholds that the task says", 409)
        return asked.answered((), self.standing.named, check=check_of(self._evaluation()))

    def follow(self, message: bytes, asked: Asked, plan: Plan, analyst: int) -> Half:
        """This server's half, when the other one was asked.

        Raises:
            ProtocolAborted: reports were not checked.
        """
        dropped = self._dropped
        if dropped is None:
            raise ProtocolAborted("peer", UNCHECKED, 409)
        numbers, seen = self._numbers(plan, dropped)
        half, proof = (
            Half(numbers, int(flags_of(dropped, self.standing.reports).sum()), seen=seen),
            self._proof(dropped),
        )
        return half if proof is None else proof.beside(half, opened(message, "question"), asked.at, analyst)

    def settle(self, asked: Asked, message: bytes) -> bytes:
        """Check all reports with the digests of the other server, unless that was done before, and say which failed.

        Raises:
            ProtocolAborted: the message does not say what is to be compared, or too few pass.
        """
        dropped = self._dropped or self._settled(self._evaluation(), opened(message, "question"))
        return asked.answered((), self.standing.named, dropped=b64encode(dropped).decode())

    # Once, before the first answer

    @property
    def _dropped(self) -> bytes | None:
        """Marks of the reports that have failed; None before they are checked."""
        return self.store.settled(self.task.hash, -(-self.standing.reports // 8))

    def _checked(self, post: Post) -> bytes:
        """Let both servers check all reports; the marks of those that have failed."""
        own = Asked.fresh(self.task, self.task.checked_at)
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(post, "evaluate", own.to_json(**self.standing.named))
            evaluation = self._evaluation()
            told = own.echoed(coming.result(), "peer")
        dropped = self._settled(evaluation, told)
        message = own.to_json(**self.standing.named, check=check_of(evaluation))
        if own.echoed(post("settle", message), "peer").get("dropped") != b64encode(dropped).decode():
            raise ProtocolAborted("peer", OTHERS_DROPPED, 502)
        return dropped

    def _settled(self, evaluation: Evaluation | HistogramEvaluation, told: Mapping[str, Any]) -> bytes:
        """Write down which reports have failed, unless it stands already."""
        passed = evaluation.accepted(digests_of(told, *evaluation.digests.shape))
        if passed.sum() < self.task.least * self.standing.reports:
            rule = (
                f"{int(passed.sum())} of {len(passed)} pass the servers' check, and {self.task.least} of them have to"
            )
            raise ProtocolAborted("reports", rule, 409)
        return self.store.settle(self.task.hash, bits_of(~passed))

    # Halves

    def _proof(self, dropped: bytes) -> OwnProof | None:
        if self.proofs is None:
            return None
        return self.proofs.own(self.noise(dropped), ~flags_of(dropped, self.standing.reports))

    def _numbers(self, plan: Plan, dropped: bytes) -> tuple[tuple[int, ...], str]:
        """This server's half, and what the other one has to see, too: nothing of all cells, which were compared."""
        counts = ~flags_of(dropped, self.standing.reports)
        if isinstance(self.reports, HistogramReports) or plan.query.is_laid_out:
            return self._of_all_cells(plan, dropped, counts), ""
        with self._lock:
            if self._looks is None:
                self._looks = Looks(self.reports, counts, Domain(self.task.bits, Z64))
        accepted, seen = self._looks.at(thresholds(plan), self.noise(dropped))
        return masked(plan, accepted, self.allotment), seen.hex()

    def _of_all_cells(self, plan: Plan, dropped: bytes, counts: NDArray[np.bool_]) -> tuple[int, ...]:
        with self._lock:
            own = self._own
        if own is None:
            own = masked(plan, self._evaluation().among(counts, self.noise(dropped)), self.allotment)
            with self._lock:
                self._own = own
        return own

    def _evaluation(self) -> Evaluation | HistogramEvaluation:
        """Evaluation by which reports are checked, which is asked for several times."""
        with self._lock:
            if self._evaluated is None:
                plan = self.task.plan(self.task.checked_at, self.standing.reports)
                self._evaluated = self.reports.evaluated(tuple(thresholds(plan)))
            return self._evaluated


@dataclass(repr=False)
class TaskService(Collection[Task]):
    """SECRET. What one server does for one task. It has no repr.

    Formal guarantees: of the reports nothing leaves but `masked` halves, each sealed to an analyst who has shown this
    server a token (see `sealed_answers`: the other server opens none, and no server sees a result); and digests of
    checked reports, to the other server: after the ledger has charged the task's loss, once, for one set of reports.
    The key of the noise belongs to that set. What is asked again, or after a crash, has the same answer. A server that
    has lost its store or the key of its ledger would draw other noise, and would be paid by an empty ledger: `Closing`
    says why it can not.
    """

    OF_PEER: ClassVar[OfPeer] = MappingProxyType({
        **CLOSES,
        "evaluate": (lambda service, message: service.evaluate(message), LARGEST_QUESTION),
        "settle": (lambda service, message: service.settle(message), LARGEST_LISTING),
        "half": (lambda service, message: service.half(message), LARGEST_LISTING),
    })  # fmt: skip

    _counting: PlainCounting | CheckedCounting | None = field(default=None, init=False)

    @property
    def drawn_as(self) -> str:
        return noise_name(self.task.law(1))  # a law that is the same for any number of reports

    @property
    def askable(self) -> Task:
        return self.task

    def answer(self, message: bytes, analyst: int = 0) -> bytes:
        asked, stored = Asked.from_json(message, self.task), opened(message, "question")
        reply, asker = Reply.of(asked, stored), Asker(analyst, letter_of(stored))
        own = Asked.fresh(self.task, asked.at, asked.question)
        counting = self._agreed(own)
        half, theirs = counting.lead(own, self._plan(asked, counting), asker, self._post)
        return answered(reply, self.party, _told(half, counting.standing), theirs)

    def upload(self, owner: int, message: bytes) -> Future[bytes]:
        return self._leading.submit(owner, dap.reports_of(message))

    def job(self, message: bytes) -> bytes:
        return handed_on(self, self._verifying, dap.job_of(message, self.task.hash))

    @cached_property
    def _leading(self) -> Leading:
        return Leading(self, self._verifying)

    @cached_property
    def _verifying(self) -> Verifying:
        return Verifying(self.task, self.party, verify_key(self._common, self.task.hash))

    def collect(self, message: bytes) -> bytes:
        """Both servers' aggregate shares, sealed to the analyst; collected again, they are the same numbers.

        Formal guarantees: those of `sealed_answers`. The helper seals nothing without the analyst's token, which comes
        in a letter that the leader can not open and that is bound to the analyst's key. What is sealed is the half that
        `answer` would give: there is no other noise, and no other charge.

        Raises:
            ProtocolAborted: this is the helper, or the task is not collected so, or the helper does not answer.
        """
        if self.party != 0:
            raise ProtocolAborted("server", NO_LEADER, 404)
        job, own = dap.Collecting.of(message), Asked.fresh(self._collectable(), (), "collection")
        standing = self._in_agreement(own)
        counting = self._paid()
        half = counting.cells(self._plan(own, counting), self._post)
        request = dap.packed_share_request(job, self.task.hash, standing.reports, self.store.checksum(self.task.hash))
        path = f"/tasks/{dap.task_id(self.task.hash)}/aggregate_shares"
        theirs = dap.share_of(self.peer.post(path, request, kind=dap.SHARE))
        shares = self._collected(job, half, standing), theirs
        return dap.packed_collection(standing.reports, int(time() / dap.PRECISION) + AHEAD + 1, shares)

    def aggregate_share(self, message: bytes) -> bytes:
        """This server's aggregate share, sealed to the analyst whose collection job the leader hands on.

        Raises:
            ProtocolAborted: it is no such job, or of no analyst of this task, or of one who asks too often, or for
                other reports.
        """
        task, standing = self._collectable(), self._closed()
        job = dap.share_request_of(message, task.hash, standing.reports, self.store.checksum(task.hash))
        shown = self.keys.unsealed(job.letter, dap.LETTER_INFO, task.configuration.asked_with(job))
        token = shown.decode("ascii", "replace") if isinstance(shown, bytes) else ""
        self.count(bearer_shown(task, token, Role.ANALYST, self.party))
        counting = self._paid()
        return self._collected(job, counting.cells(task.plan((), standing.reports), None), standing)

    def _collectable(self) -> Task:
        """The task, which has to count cells without proofs."""
        if self.task.counted is not Counted.CELLS or self.task.proofs:
            raise ProtocolAborted("task", NOT_COLLECTED, 404)
        return self.task

    def _collected(self, job: dap.Collecting, half: Half, standing: Standing) -> bytes:
        """An aggregate share of this profile: the set, both commitments, how many were dropped, and the numbers."""
        names = b"".join(map(bytes.fromhex, (str(standing.set), *(standing.commitments or ()))))
        numbers = struct.pack(f"<{len(half.numbers)}Q", *half.numbers)
        return self.task.configuration.collected(job, self.party, names + dap.number(half.dropped, 8) + numbers)

    def half(self, message: bytes) -> bytes:
        """This server's half of an answer, sealed to the analyst whose letter the other server hands on.

        Raises:
            ProtocolAborted: it can not be asked, or the letter is of no analyst of this task, or of one who asks too
                often.
        """
        asked = self._asked_by_peer(message)
        letter = Letter.opened(opened(message, "question"), asked, self.party, self.identity)
        analyst = bearer_shown(self.task, letter.token, Role.ANALYST, self.party)
        self.count(analyst)
        counting = self._paid()
        half = counting.follow(message, asked, self._plan(asked, counting), analyst)
        sealed = letter.reply.sealed(self.party, _told(half, counting.standing))
        more = {"bound": half.bound[self.party]} if half.bound else {}
        more |= {"seen": half.seen} if half.seen else {}
        return asked.to_json(**counting.standing.named, dropped=half.dropped, half=sealed, **more)

    def evaluate(self, message: bytes) -> bytes:
        """Digests that the other server has to compare before reports count.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        asked = self._asked_by_peer(message)
        return self._paid().evaluate(asked)

    def settle(self, message: bytes) -> bytes:
        """Check of all reports, before the first answer.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        return self._paid().settle(self._asked_by_peer(message), message)

    def _agreed(self, own: Asked) -> PlainCounting | CheckedCounting:
        """Counting on the agreed set. Before the first charge the other server must agree; later messages name it."""
        if self._counting is None:
            self._in_agreement(own)
        return self._paid()

    def _in_agreement(self, own: Asked) -> Standing:
        """State of the closed task, once the other server has said that it has the same reports and commitments."""
        standing = self._closed()
        told = own.echoed(self._post("agree", own.to_json(**standing.named)), "peer")
        require_set(told, standing.named, report_set.OTHER)
        return standing

    def _plan(self, asked: Asked, counting: PlainCounting | CheckedCounting) -> Plan:
        return self.task.plan(asked.at, counting.standing.reports)

    def _paid(self) -> PlainCounting | CheckedCounting:
        """The reports that count, once the whole loss of the task is charged for them, and for no other set."""
        with self._lock:
            if self._counting is None:
                standing = self._closed()
                held = self._in_jobs(standing) or self._in_memory(standing)
                self._counting = self._counted(standing, held, self._charged(standing))
            return self._counting

    def _counted(self, standing: Standing, held: Held, allotment: Allotment) -> PlainCounting | CheckedCounting:
        def noise_of(dropped: bytes) -> NoiseKey:
            return self._noise.key_of(f"{standing.set} without {dropped.hex()}")

        proofs = None
        if held.proved is not None:
            proving = Proving(self.task.hash, self.party, *held.proved)
            proofs = Proofs(proving, self.store, self.task.proved, self.task.proved_at)
        if isinstance(held.reports, CheckedReports | CheckedJobs | HistogramReports):
            return CheckedCounting(self.task, held.reports, noise_of, allotment, standing, self.store, proofs)
        return PlainCounting(held.reports, allotment, standing, proofs)

    def _in_memory(self, standing: Standing) -> Held:
        encoding = self.task.encoding
        if isinstance(encoding, HistogramEncoding):
            shares = self._shares(standing)
            _, listing = self.store.listing(self.task.hash)
            key = verify_key(self._common, self.task.hash)
            return Held(HistogramReports(encoding, self.party, sorted(listing), shares, key), None)
        words = list[tuple[Words, list[bytes]]]()
        parts, count = self._with_words(encoding, standing, words), standing.reports
        if isinstance(encoding, CheckedEncoding):
            keys = encoding.gathered_checked(self.party, parts, count)
            return Held(CheckedReports(keys, encoding.engine, self._verification(standing)), self._proved(words))
        held = Reports(encoding.gathered(self.party, parts, count), encoding.engine, self._key(standing))
        return Held(held, self._proved(words))

    def _with_words(
        self, encoding: Encoding, standing: Standing, words: list[tuple[Words, list[bytes]]]
    ) -> Iterator[Sequence[bytes]]:
        """SECRET: shares of the reports that count in parts; their words of proofs, where there are some, are kept."""
        for part in self._parts(standing):
            if self.task.proofs:
                some, seeds = encoding.proved(part)
                words.append((some.copy(), seeds))  # without the rest of the reports
            yield part

    def _proved(self, words: Sequence[tuple[Words, list[bytes]]]) -> tuple[Words, list[bytes]] | None:
        if not self.task.proofs:
            return None
        return np.concatenate([one for one, _ in words]), [seed for _, seeds in words for seed in seeds]

    def _in_jobs(self, standing: Standing) -> Held | None:
        """Reports as jobs of workers; None where the server has no place for them."""
        encoding, words = self.task.encoding, list[tuple[Words, list[bytes]]]()
        if self.place.jobs is None or not isinstance(encoding, Encoding):
            return None
        checked = self._verification(standing) if isinstance(encoding, CheckedEncoding) else b""
        form = Form(self.task.hash, self.party, encoding.slots, encoding.proofs, checked)
        cutting = Cutting(self.place.jobs, self.place.workers)
        jobs = cutting.cut(form, str(standing.set), self._with_words(encoding, standing, words))
        held = CheckedJobs(jobs) if checked else ReportJobs(jobs, self._key(standing))
        return Held(held, self._proved(words))

    @property
    def _common(self) -> bytes:
        """SECRET: both servers work it out, each with its own key, and no owner can."""
        return self.identity.sealing.exchange(public_key(self.task.servers[1 - self.party].sealing))

    def _key(self, standing: Standing) -> NoiseKey:
        return self._noise.key_of(str(standing.set))

    def _verification(self, standing: Standing) -> bytes:
        """Key of digests. Both servers work it out, and no owner can: it belongs to a set that is closed."""
        return derived(self._common, f"verification {self.task.hash} {standing.set}")


class Held(NamedTuple):
    """SECRET. Reports that count, in memory or in jobs, and what proofs of answers need of them."""

    reports: Reports | ReportJobs | CheckedReports | CheckedJobs | HistogramReports
    proved: tuple[Words, list[bytes]] | None


def _told(half: Half, standing: Standing) -> Answer:
    """SECRET: a half, with the set of reports and the noise that it is from."""
    commitments = standing.commitments or ()
    return Answer(half.numbers, str(standing.set), standing.reports, half.dropped, commitments, half.bound)


COUNTS = TaskKind(Task, TaskService)
"""Tasks that count, registered as an entry point."""
