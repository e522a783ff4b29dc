"""SECRET. One task of counts at one server: comparison of digests, counting of reports, and the service around both."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import Plan
from dpcurves.ledger import Allotment
from dpcurves.mechanisms.lazy_tree import noise_name

from ..crypto.checked import DIGEST_SIZE
from ..serving.messages import ProtocolAborted, opened
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import CLOSES, LARGEST_LISTING, LARGEST_QUESTION, Collection, OfPeer, derived
from ..serving.two_servers.kinds import Answer, Asked, TaskKind, require_set
from ..serving.two_servers.report_set import public_key
from ..serving.two_servers.store import Standing, Store
from .function_shares import collect, masked, thresholds
from .shared_records import CheckedEncoding, CheckedReports, Evaluation, Reports
from .task import Task


@dataclass(frozen=True, slots=True)
class Check:
    """Digests that a server sends to the other, for all reports that count, in the order of their ids.

    Attributes:
        digests: 16 bytes for each; those of an honest owner are the same at both servers, and tell nothing.
        dropped: A bit for each: reports that failed before.
    """

    digests: bytes
    dropped: bytes

    def to_json(self) -> dict[str, str]:
        """Plain objects for JSON."""
        return {"digests": b64encode(self.digests).decode(), "dropped": b64encode(self.dropped).decode()}

    @classmethod
    def from_json(cls, stored: object, reports: int) -> Check:
        """The inverse of `to_json`, for so many reports. Raises `ProtocolAborted`: it is none."""
        try:
            found: Mapping[str, Any] = stored if isinstance(stored, dict) else {}
            check = cls(b64decode(found["digests"], validate=True), b64decode(found["dropped"], validate=True))
        except (KeyError, TypeError, ValueError):
            raise ProtocolAborted("peer", "it told nothing of what is to be checked", 502) from None
        if len(check.digests) != DIGEST_SIZE * reports or len(check.dropped) != -(-reports // 8):
            raise ProtocolAborted("peer", "what is to be checked is of another number of reports", 502)
        return check

    def array(self) -> NDArray[np.uint8]:
        """The digests as rows."""
        return np.frombuffer(self.digests, np.uint8).reshape(-1, DIGEST_SIZE)


def bits_of(dropped: NDArray[np.bool_]) -> bytes:
    """A bit for each report."""
    return np.packbits(dropped).tobytes()


def flags_of(bits: bytes, reports: int) -> NDArray[np.bool_]:
    """The inverse of `bits_of`."""
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=reports).astype(bool)


Post = Callable[[str, bytes], bytes]
"""Function that posts a request to the other server, by its name and message."""


class Halves(NamedTuple):
    """SECRET: both halves of an answer, and how many reports were not counted."""

    own: tuple[int, ...]
    theirs: Answer
    dropped: int


class Own(NamedTuple):
    """SECRET: this server's half of the counts of all cells, which is worked out once, and what was dropped for it."""

    half: tuple[int, ...]
    dropped: int


@dataclass(repr=False)
class PlainCounting:
    """SECRET. All reports count; owners are believed.

    Attributes:
        reports: That count.
        allotment: Allotment that was charged for the counts.
        standing: Set of reports.
    """

    reports: Reports
    allotment: Allotment
    standing: Standing
    _lock: Lock = field(default_factory=Lock, init=False)
    _own: Own | None = field(default=None, init=False)

    def lead(self, own: Asked, plan: Plan, post: Post) -> Halves:
        """Both halves, when this server was asked."""
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(post, "half", own.to_json(**self.standing.named))
            half = self._half(plan)
            return Halves(half, own.answer(coming.result(), "peer"), 0)

    def _half(self, plan: Plan) -> tuple[int, ...]:
        """Work out thresholds at once, and all cells one time: whoever asks meanwhile waits."""
        if not plan.query.is_laid_out:
            return masked(plan, self.reports, self.allotment)
        with self._lock:
            if self._own is None:
                self._own = Own(masked(plan, self.reports, self.allotment), 0)
            return self._own.half

    def evaluate(self, asked: Asked, plan: Plan) -> bytes:
        """Refuse: reports of this task are not checked.

        Raises:
            ProtocolAborted: always.
        """
        raise ProtocolAborted("question", "reports of this task are not checked", 409)

    def follow(self, asked: Asked, message: bytes, plan: Plan) -> bytes:
        """This server's half, when the other one was asked."""
        return asked.answered(self._half(plan), self.standing.named)


@dataclass(repr=False)
class CheckedCounting:
    """SECRET. Reports count whose digests are the same at both servers, at these thresholds and all before.

    Formal guarantees: as `FunctionShares`, if both servers follow the protocol; then honest owners' reports never fail.
    A server that cheats may claim that one did, between two answers at the same threshold: their noise is the same, so
    it sees this server's exact share of that report, and hence on which side of the threshold the record lies. Where
    all cells are counted, the half of an answer is worked out once as long as a server runs, and given again as it is.

    Attributes:
        task: The hash of the task.
        reports: That may count.
        allotment: Allotment that was charged for the counts.
        standing: Set of reports.
        store: Storage of the reports that have failed.
    """

    task: str
    reports: CheckedReports
    allotment: Allotment
    standing: Standing
    store: Store
    _lock: Lock = field(default_factory=Lock, init=False)
    _last: tuple[tuple[int, ...], Evaluation] | None = field(default=None, init=False)
    _own: Own | None = field(default=None, init=False)

    def lead(self, own: Asked, plan: Plan, post: Post) -> Halves:
        """Both halves, when this server was asked: both evaluate all reports at once, then compare.

        Raises:
            ProtocolAborted: the other server drops other reports.
        """
        if self._own is not None:
            with suppress(ProtocolAborted):  # the other server runs anew: then both evaluate once more
                theirs = own.answer(post("half", own.to_json(**self.standing.named)), "peer")
                return self._agreed(self._own.half, theirs, self._own.dropped)
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(post, "evaluate", own.to_json(**self.standing.named))
            evaluation = self._evaluation(plan)
            told = own.echoed(coming.result(), "peer")
        dropped = self._dropped(evaluation, Check.from_json(told.get("check"), self.standing.reports))
        found = self._half(plan, evaluation, dropped)
        check = self._check(evaluation, dropped).to_json()
        theirs = own.answer(post("half", own.to_json(**self.standing.named, check=check)), "peer")
        return self._agreed(found.half, theirs, found.dropped)

    def _agreed(self, half: tuple[int, ...], theirs: Answer, dropped: int) -> Halves:
        if theirs.dropped != dropped:
            raise ProtocolAborted("peer", "it drops other reports than this server; ask again", 502)
        return Halves(half, theirs, dropped)

    def evaluate(self, asked: Asked, plan: Plan) -> bytes:
        """Response to the other server: the digests that it has to compare."""
        evaluation = self._evaluation(plan)
        before = flags_of(self.store.drop(self.task, bytes(-(-self.standing.reports // 8))), self.standing.reports)
        return asked.answered((), self.standing.named, check=self._check(evaluation, before).to_json())

    def follow(self, asked: Asked, message: bytes, plan: Plan) -> bytes:
        """This server's half, among the reports that pass here as well.

        Raises:
            ProtocolAborted: the message does not say what is to be compared.
        """
        found = self._own
        if found is None:
            theirs = Check.from_json(opened(message, "question").get("check"), self.standing.reports)
            evaluation = self._evaluation(plan)
            found = self._half(plan, evaluation, self._dropped(evaluation, theirs))
        return asked.answered(found.half, self.standing.named, dropped=found.dropped)

    def _half(self, plan: Plan, evaluation: Evaluation, dropped: NDArray[np.bool_]) -> Own:
        """Keep the first evaluation at all cells."""
        found = Own(masked(plan, evaluation.among(~dropped), self.allotment), int(dropped.sum()))
        if not plan.query.is_laid_out:
            return found
        with self._lock:
            self._own = self._own or found
            return self._own

    def _evaluation(self, plan: Plan) -> Evaluation:
        """The last one is kept: it is asked for twice."""
        at = tuple(thresholds(plan))
        with self._lock:
            if self._last is None or self._last[0] != at:
                self._last = at, self.reports.evaluated(at)
            return self._last[1]

    def _check(self, evaluation: Evaluation, dropped: NDArray[np.bool_]) -> Check:
        return Check(evaluation.digests.tobytes(), bits_of(dropped))

    def _dropped(self, evaluation: Evaluation, theirs: Check) -> NDArray[np.bool_]:
        """Mask of reports that fail now, or have failed at either server before. A report that failed stays out."""
        reports = self.standing.reports
        failed = ~evaluation.accepted(theirs.array()) | flags_of(theirs.dropped, reports)
        return flags_of(self.store.drop(self.task, bits_of(failed)), reports)


@dataclass(repr=False)
class TaskService(Collection[Task]):
    """SECRET. What one server does for one task. It has no repr.

    Formal guarantees: of the reports nothing leaves but `masked` halves, to the other server, and their sum with its
    half, to analysts: after the ledger has charged the task's loss, once, for one set of reports. The key of the noise
    belongs to that set. What is asked again, or after a crash, has the same answer. A server that has lost its store or
    the key of its ledger would draw other noise, and would be paid by an empty ledger: `Closing` says why it can not.
    """

    OF_PEER: ClassVar[OfPeer] = MappingProxyType({
        **CLOSES,
        "evaluate": (lambda service, message: service.evaluate(message), LARGEST_QUESTION),
        "half": (lambda service, message: service.half(message), LARGEST_LISTING),
    })  # fmt: skip

    _counting: PlainCounting | CheckedCounting | None = field(default=None, init=False)

    @property
    def drawn_as(self) -> str:
        """Name of the noise law: equal names, equal noises from the same key."""
        return noise_name(self.task.law(1))  # a law that is the same for any number of reports

    @property
    def askable(self) -> Task:
        """The task says it."""
        return self.task

    def answer(self, message: bytes) -> bytes:
        asked = Asked.from_json(message, self.task)
        own = Asked.fresh(self.task, asked.at, asked.question)
        counting = self._agreed(own)
        standing, plan = counting.standing, self._plan(asked, counting)
        half, theirs, dropped = counting.lead(own, plan, self._post)
        if theirs.named != standing.named:
            raise ProtocolAborted(
                "peer", "it answers from another set of reports than this server, or other noise", 502
            )
        try:
            release = collect(plan, [half, theirs.numbers], counting.allotment)
        except ValueError:
            raise ProtocolAborted("peer", "its half of the answer is none", 502) from None
        return asked.answered(release.values, {"set": standing.set, "reports": standing.reports}, dropped=dropped)

    def half(self, message: bytes) -> bytes:
        """This server's half of an answer, for the other server alone.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        asked, counting = self._asked_by_peer(message), self._paid()
        return counting.follow(asked, message, self._plan(asked, counting))

    def evaluate(self, message: bytes) -> bytes:
        """Digests that the other server has to compare before reports count.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        asked, counting = self._asked_by_peer(message), self._paid()
        return counting.evaluate(asked, self._plan(asked, counting))

    def _agreed(self, own: Asked) -> PlainCounting | CheckedCounting:
        """Counting on the agreed set. Before the first charge the other server must agree; later messages name it."""
        if self._counting is None:
            standing = self._closed()
            told = own.echoed(self._post("agree", own.to_json(**standing.named)), "peer")
            require_set(told, standing.named, report_set.OTHER)
        return self._paid()

    def _plan(self, asked: Asked, counting: PlainCounting | CheckedCounting) -> Plan:
        return self.task.plan(asked.at, counting.standing.reports)

    def _paid(self) -> PlainCounting | CheckedCounting:
        """The reports that count, once the whole loss of the task is charged for them, and for no other set."""
        with self._lock:
            if self._counting is None:
                standing = self._closed()
                self._counting = self._counted(standing, self._shares(standing), self._charged(standing))
            return self._counting

    def _counted(
        self, standing: Standing, shares: Sequence[bytes], allotment: Allotment
    ) -> PlainCounting | CheckedCounting:
        noise = self._noise.key_of(str(standing.set))
        encoding, engine = self.task.encoding, self.task.encoding.engine
        if not isinstance(encoding, CheckedEncoding):
            return PlainCounting(Reports(encoding.keys(self.party, shares), engine, noise), allotment, standing)
        # Both servers work it out, each with its own key, and no owner can: it belongs to a set that is closed.
        common = self.identity.sealing.exchange(public_key(self.task.servers[1 - self.party].sealing))
        verification = derived(common, f"verification {self.task.hash} {standing.set}")
        reports = CheckedReports(encoding.checked_keys(self.party, shares), engine, noise, verification)
        return CheckedCounting(self.task.hash, reports, allotment, standing, self.store)


COUNTS = TaskKind(Task, TaskService)
"""Tasks that count, registered as an entry point."""
