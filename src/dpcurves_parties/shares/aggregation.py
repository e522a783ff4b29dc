"""SECRET. Counting at one server, alone and with the other: plainly, or only reports that both have checked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.ledger import Allotment
from dpcurves.queries import PrefixQuery
from dpcurves.release import Plan

from ..serving.errors import ProtocolAborted
from ..serving.json_messages import opened
from ..serving.two_servers.messages import Answer, Asked
from ..serving.two_servers.store import Store
from ..serving.two_servers.tables import Standing
from .digest_exchange import Check, bits_of, flags_of
from .function_shares import masked, thresholds
from .shared_records import CheckedReports, Evaluation, Reports

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
        if isinstance(plan.query, PrefixQuery):
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
        if isinstance(plan.query, PrefixQuery):
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
