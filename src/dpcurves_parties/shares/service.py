"""SECRET. One task at one server: takes reports, closes their set with the other server, and answers with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from dpcurves.ledger import Allotment
from dpcurves.mechanisms.prefixes.keyed_noise import noise_name
from dpcurves.release import Plan

from ..serving.errors import ProtocolAborted
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import CLOSES, LARGEST_LISTING, LARGEST_QUESTION, Collection, OfPeer, Resources
from ..serving.two_servers.kinds import TaskKind
from ..serving.two_servers.messages import Asked, require_set
from ..serving.two_servers.noise_secret import derived
from ..serving.two_servers.sealing import public_key
from ..serving.two_servers.tables import Standing
from .aggregation import CheckedCounting, PlainCounting
from .function_shares import collect
from .shared_records import CheckedEncoding, CheckedReports, Reports
from .task import Task


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


def _served(task: Task, place: Resources) -> TaskService:
    return TaskService(task, place.party, place.identity, place.store, place.ledger, place.channel(task))


COUNTS = TaskKind(Task, _served)
"""Tasks that count, registered as an entry point."""
