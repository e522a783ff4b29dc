"""SECRET. One task at one server: takes reports, closes their set with the other server, and answers with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from threading import Lock

from ..arguments import Refused
from ..crypto import engine_of_task
from ..ledger import Allotment, Ledger, QuestionBudget
from ..release import ALL, Plan
from ..serving.channel import Channel
from ..serving.errors import ProtocolAborted, Trouble
from ..serving.identity import Identity
from ..serving.json_messages import opened as read
from ..trust import Owners
from ..trust.function_shares import collect
from ..trust.shared_records import CheckedEncoding, CheckedReports, Encoding, Reports
from . import report_set
from .aggregation import CheckedCounting, PlainCounting
from .batch import Report, unpacked
from .closing import Closing
from .messages import Asked, require_set
from .noise_secret import NoiseSecret, derived
from .sealing import OVERHEAD, opened, place_of, public_key
from .store import Frozen, Offer, Store, Stored
from .tables import Standing, State
from .task import VERSION, Task


def encoding_of(task: Task) -> Encoding:
    """How reports of a task are written."""
    kind = Encoding if task.owners is Owners.UNCHECKED else CheckedEncoding
    return kind(task.slots, engine_of_task(bytes.fromhex(task.hash)))


@dataclass(repr=False)
class TaskService:
    """SECRET. What one server does for one task. It has no repr.

    Formal guarantees: of the reports nothing leaves but `masked` halves, to the other server, and their sum with its
    half, to analysts: after the ledger has charged the task's loss, once, for one set of reports. The key of the noise
    belongs to that set. What is asked again, or after a crash, has the same answer. A server that has lost its store or
    the key of its ledger would draw other noise, and would be paid by an empty ledger: `Closing` says why it can not.

    Attributes:
        task: The task.
        party: 0 or 1.
        identity: Opens what was sealed to this server.
        store: Where reports are kept.
        ledger: What is charged.
        peer: The way to the other server.
    """

    task: Task
    party: int
    identity: Identity
    store: Store
    ledger: Ledger
    peer: Channel
    _lock: Lock = field(default_factory=Lock, init=False)
    _counting: PlainCounting | CheckedCounting | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.encoding = encoding_of(self.task)
        self.ledger.create(self.task.account)
        self.store.begin(self.task.hash)
        self._noise = NoiseSecret.of(self.identity, self.ledger, self.task, self.party)
        self.closing = Closing(self.task.hash, self.party, self._noise.commitment, self.store, self._post)

    def standing(self) -> bytes:
        """Where the task stands: public."""
        standing = self.store.standing(self.task.hash)
        facts = {"task": self.task.hash, "version": VERSION, "party": self.party, "state": standing.state.value}
        return json.dumps({**facts, "set": standing.set, "reports": standing.reports}).encode()

    def receive(self, owner: int, message: bytes) -> bytes:
        """Keep a batch of one owner's reports, all or none.

        Raises:
            ProtocolAborted: the batch was changed or is not for here, or no more reports are taken.
        """
        batch = unpacked(message, self.task.hash, self.party, self.encoding.size + OVERHEAD)
        stored = [self._opened(number, report, batch.contribution) for number, report in enumerate(batch.reports)]
        try:
            self.encoding.require(self.party, [report.share for report in stored])
        except ValueError:
            raise ProtocolAborted("reports", "what was sealed is no share of this task") from None
        new = self._added(Offer(owner, batch.contribution, batch.earlier, stored))
        return json.dumps({"new": new, "known": len(stored) - new}).encode()

    def _added(self, offer: Offer) -> int:
        added = partial(self.store.add, self.task.hash, self.task.reports_per_owner, offer)
        try:
            return added()
        except Frozen:
            self.closing.reopen()
            return added()

    def _opened(self, number: int, report: Report, contribution: bytes) -> Stored:
        place = place_of(self.task.hash, self.party, contribution, report.id)
        share = opened(report.sealed, self.identity.sealing, place)
        if share is None or len(share) != self.encoding.size:
            raise ProtocolAborted("reports", f"report {number} of the batch was changed, or sealed to another server")
        digest = report_set.digest_of(share[: self.encoding.public_size])
        return Stored(report.id, digest, report_set.whole(report.id, share), share)

    def answer(self, message: bytes) -> bytes:
        """Both servers' answer to an analyst.

        Raises:
            ProtocolAborted: it can not be asked, or the other server does not answer. Nothing was told.
        """
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

    def look(self, message: bytes) -> bytes:
        """What the other server has to compare before reports count.

        Raises:
            ProtocolAborted: it can not be asked.
        """
        asked, counting = self._asked_by_peer(message), self._paid()
        return counting.look(asked, self._plan(asked, counting))

    def agree(self, message: bytes) -> bytes:
        """That this server would answer from the set of reports that the other one names. Nothing is charged.

        Raises:
            ProtocolAborted: it would not.
        """
        asked = self._asked_by_peer(message)
        return asked.answered((), self._closed().named)

    def _agreed(self, own: Asked) -> PlainCounting | CheckedCounting:
        """What counts. Before the first charge the other server has to agree; later each message names the set."""
        if self._counting is None:
            standing = self._closed()
            told = own.echoed(self._post("agree", own.to_json(**standing.named)), "peer")
            require_set(told, standing.named, report_set.OTHER)
        return self._paid()

    def _asked_by_peer(self, message: bytes) -> Asked:
        asked = Asked.from_json(message, self.task)
        require_set(read(message, "question"), self._closed().named, report_set.OTHER)
        return asked

    def _closed(self) -> Standing:
        """Where the task stands, if it is closed."""
        standing = self.store.standing(self.task.hash)
        if standing.state is not State.CLOSED:
            raise ProtocolAborted("task", f"it is not closed yet at server {self.party}: dpcurves task close", 409)
        self.closing.require_kept(standing)
        return standing

    def _plan(self, asked: Asked, counting: PlainCounting | CheckedCounting) -> Plan:
        return self.task.plan(asked.at, counting.standing.reports)

    def _post(self, what: str, message: bytes) -> bytes:
        return self.peer.post(f"/tasks/{self.task.hash}/peer/{what}", message)

    def _paid(self) -> PlainCounting | CheckedCounting:
        """The reports that count, once the whole loss of the task is charged for them, and for no other set."""
        with self._lock:
            if self._counting is None:
                standing = self._closed()
                self._counting = self._counted(standing, self._shares(standing), self._charged(standing))
            return self._counting

    def _charged(self, standing: Standing) -> Allotment:
        # So is how noise is drawn: another release of this program may not answer again if it draws otherwise.
        paid_for = f"{self.task.hash} {standing.set} {standing.commitments} {self._noise.drawn_as}"
        try:
            grant = self.ledger.charge(
                self.task.dataset, self.task.loss.of_one_release(), purpose=f"all answers of {self.task.name}",
                request=self.task.hash, binding=sha256(paid_for.encode()).hexdigest(), units=standing.reports,
            )  # fmt: skip
        except ValueError as error:
            if isinstance(error, Refused) and error.argument == "ledger":
                raise Trouble.of_database(f"server {self.party}", error) from None
            rule = "it refuses the charge of these reports with this noise; nothing is answered"
            raise Trouble("ledger", rule, f"ledger: {rule} ({error})") from None
        return QuestionBudget(grant).pay(self.task.query, ALL)

    def _shares(self, standing: Standing) -> list[bytes]:
        """SECRET: of the reports that count, in the order of their ids."""
        kept, public = self.store.shares(self.task.hash), self.encoding.public_size
        # A damaged seed would make an honest report fail its check, and so tell its share: see `CheckedCounting`.
        if any(report_set.whole(key, one.share) != one.whole for key, one in kept.items()):
            raise ProtocolAborted("store", "a share in it was damaged; nothing is answered", 500)
        found = report_set.named(
            self.task.hash, {key: report_set.digest_of(one.share[:public]) for key, one in kept.items()}
        )
        if (found.name, len(found.ids)) != (standing.set, standing.reports):
            raise ProtocolAborted("store", "its reports are not those that the servers agreed on", 500)
        return [kept[key].share for key in found.ids]

    def _counted(
        self, standing: Standing, shares: Sequence[bytes], allotment: Allotment
    ) -> PlainCounting | CheckedCounting:
        noise = self._noise.key_of(str(standing.set))
        encoding, engine = self.encoding, self.encoding.engine
        if not isinstance(encoding, CheckedEncoding):
            return PlainCounting(Reports(encoding.keys(self.party, shares), engine, noise), allotment, standing)
        # Both servers work it out, each with its own key, and no owner can: it belongs to a set that is closed.
        common = self.identity.sealing.exchange(public_key(self.task.servers[1 - self.party].sealing))
        verification = derived(common, f"verification {self.task.hash} {standing.set}")
        reports = CheckedReports(encoding.checked_keys(self.party, shares), engine, noise, verification)
        return CheckedCounting(self.task.hash, reports, allotment, standing, self.store)
