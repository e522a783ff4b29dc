"""SECRET. Collection of the reports of one task at one server: storage, closing, and the single charge."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from ssl import SSLContext
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from dpcurves.arguments import Refused
from dpcurves.ledger import Allotment, Ledger, QuestionBudget
from dpcurves.release import ALL

from ..channel import Channel, trusting
from ..errors import ProtocolAborted, Trouble
from ..identity import Identity, Server
from ..json_messages import opened as read
from ..line import Line
from . import report_set
from .batch import Report, unpacked
from .closing import Closing
from .kinds import SharedTask, Sharing
from .messages import VERSION, Askable, Asked, require_set
from .noise_secret import NoiseSecret
from .sealing import OVERHEAD, opened, place_of
from .store import Frozen, Offer, Store, Stored
from .tables import Standing, TaskState

LARGEST_QUESTION = 2**18
"""Bytes: more than the most thresholds that one message may ask for."""
LARGEST_LISTING = 2**30
Of = TypeVar("Of", bound=SharedTask)
OfPeer = Mapping[str, tuple[Callable[[Any, bytes], bytes], int]]
CLOSES: OfPeer = MappingProxyType({
    "close": (lambda service, message: service.closing.lead(), LARGEST_QUESTION),
    "outcome": (lambda service, message: service.closing.outcome(message), LARGEST_QUESTION),
    "prepare": (lambda service, message: service.closing.prepare(message), LARGEST_QUESTION),
    "commit": (lambda service, message: service.closing.commit(message), LARGEST_LISTING),
    "agree": (lambda service, message: service.agree(message), LARGEST_QUESTION),
})  # fmt: skip
"""Requests that only the other server may make of any task, with the most bytes of each request's body."""


@dataclass(frozen=True, slots=True, repr=False)
class Resources:
    """SECRET. Resources of one server for the service of a task. It has no repr.

    Attributes:
        party: 0 or 1.
        identity: Opens what was sealed to this server.
        store: Storage of reports.
        ledger: Ledger that is charged.
        url: URL of the database of both.
        peer: URL of the other server; empty: that in the task.
        patience: Seconds that the other server may take.
    """

    party: int
    identity: Identity
    store: Store
    ledger: Ledger
    url: str
    peer: str
    patience: float

    def other(self, task: SharedTask) -> tuple[str, SSLContext]:
        """URL of the other server, and a new TLS context with this server's certificate that trusts the other's."""
        other: Server = task.servers[1 - self.party]
        context = trusting(other.certificate)
        context.load_cert_chain(self.identity.certificate, self.identity.proof)
        return self.peer or other.url, context

    def channel(self, task: SharedTask) -> Channel:
        """The way to the other server."""
        url, context = self.other(task)
        return Channel(url, context, self.patience, "peer")


@dataclass(repr=False)
class Collection(ABC, Generic[Of]):
    """SECRET. Abstract service of one server for one task. It has no repr.

    Attributes:
        task: The task.
        party: 0 or 1.
        identity: Opens what was sealed to this server.
        store: Storage of reports.
        ledger: Ledger that is charged.
        peer: The way to the other server.
        OF_PEER: Requests that only the other server may make.
    """

    OF_PEER: ClassVar[OfPeer] = CLOSES

    task: Of
    party: int
    identity: Identity
    store: Store
    ledger: Ledger
    peer: Channel
    _lock: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        self.ledger.create(self.task.account)
        self.store.begin(self.task.hash)
        self._noise = NoiseSecret.of(self.identity, self.ledger, self.task.dataset, self.party, self.drawn_as)
        self.closing = Closing(self.task.hash, self.party, self._noise.commitment, self.store, self._post)

    @property
    def encoding(self) -> Sharing:
        """Encoding of reports."""
        return self.task.encoding

    @property
    @abstractmethod
    def drawn_as(self) -> str:
        """Name of the noise law: equal names, equal noises from the same key."""

    @property
    @abstractmethod
    def askable(self) -> Askable:
        """Questions that may be asked."""

    @abstractmethod
    def answer(self, message: bytes) -> bytes:
        """Respond to an analyst with both servers' answer.

        Raises:
            ProtocolAborted: it can not be asked, or the other server does not answer. Nothing was told.
        """

    def warm(self) -> None:
        """Compile code in advance, so that the first answer does not wait for it."""
        self.encoding.warm()

    def close(self, message: bytes) -> bytes:
        """Close the task for the coordinator. The operation is idempotent.

        Raises:
            ProtocolAborted: as `Closing.close`.
        """
        return self.closing.close()

    def standing(self) -> bytes:
        """State of the task as JSON: public."""
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

    def follow(self, message: bytes, line: Line) -> None:
        """Take part in a session of two-party computation that the other server opens.

        Raises:
            ProtocolAborted: this kind of task has none.
        """
        raise ProtocolAborted("peer", "this task has no sessions", 403)

    def agree(self, message: bytes) -> bytes:
        """Confirm that this server would answer from the set of reports that the other names. Nothing is charged.

        Raises:
            ProtocolAborted: it would not.
        """
        asked = self._asked_by_peer(message)
        return asked.answered((), self._closed().named)

    def _asked_by_peer(self, message: bytes) -> Asked:
        asked = Asked.from_json(message, self.askable)
        require_set(read(message, "question"), self._closed().named, report_set.OTHER)
        return asked

    def _closed(self) -> Standing:
        """State of the task, which must be closed."""
        standing = self.store.standing(self.task.hash)
        if standing.state is not TaskState.CLOSED:
            raise ProtocolAborted("task", f"it is not closed yet at server {self.party}: dpcurves task close", 409)
        self.closing.require_kept(standing)
        return standing

    def _post(self, what: str, message: bytes) -> bytes:
        return self.peer.post(f"/tasks/{self.task.hash}/peer/{what}", message)

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
