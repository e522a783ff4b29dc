"""SECRET. Collection of the reports of one task at one server: storage, the closing protocol, the commitment to
noise."""

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
from functools import partial
from hashlib import sha256
from ssl import SSLContext
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcurves.arguments import Refused
from dpcurves.conversation import ALL
from dpcurves.ledger import Allotment, Ledger, QuestionBudget

from ..blobs import Blobs
from ..channel import Channel, trusting
from ..identity import Identity, Server
from ..messages import UNLIKE, ProtocolAborted, Trouble, facts_of
from ..messages import opened as read
from ..noise_key import NoiseKey
from ..server import Line
from ..task_document import Role, bearer_shown, hash_of_shown
from ..workers import Here, Workers
from . import report_set
from .dap import Keys
from .kinds import VERSION, Askable, Asked, SharedTask, Sharing, require_set
from .store import Decision, Frozen, Offer, Standing, Store, Stored, TaskState

SIZE = 32
DIGITS = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, repr=False)
class NoiseSecret:
    """SECRET. The source of all noise of one task at one server. It has no repr.

    Formal guarantees: the commitment and the keys of noise are outputs of HKDF-SHA256 under labels of their own. To
    whoever lacks the secret they look like independent random strings, so the commitment tells nothing of any noise.
    Two secrets, parties or ways to draw have one commitment only if somebody has found a collision of SHA-256: so who
    shows the same commitment draws the same noise for the same set of reports.

    Attributes:
        secret: The server's key and that of the dataset in its ledger, joined.
        party: 0 or 1.
        drawn_as: Name of the noise law: equal names, equal noises from the same key.
    """

    secret: bytes
    party: int
    drawn_as: str

    @classmethod
    def of(cls, identity: Identity, ledger: Ledger, dataset: str, party: int, drawn_as: str) -> NoiseSecret:
        """Derive the secret from the server's and its ledger's keys. If either is lost, so is the secret, for ever."""
        # The server's own key is in it: both ledgers may, by mistake, have been given one and the same.
        secret = identity.sealing.private_bytes_raw() + ledger.dataset_key(dataset)
        return cls(secret, party, drawn_as)

    @property
    def commitment(self) -> str:
        """Commitment to the secret: the other server may know it, and holds this one to it."""
        return derived(self.secret, f"commitment of party {self.party} to {self.drawn_as}").hex()

    def key_of(self, name: str) -> NoiseKey:
        """The key of the noise for one set of reports."""
        return NoiseKey(derived(self.secret, f"noise of party {self.party} for {name}"))


def derived(secret: bytes, purpose: str) -> bytes:
    """32 bytes for one purpose: they tell nothing of the secret, or of those for others (RFC 5869)."""
    return HKDF(SHA256(), SIZE, salt=None, info=b"dpcurves " + purpose.encode()).derive(secret)


def lost(party: int) -> ProtocolAborted:
    """Error for a server that does not hold to its commitment."""
    return ProtocolAborted(
        "noise",
        f"server {party} has lost the key that it committed to when the task was closed, or is of another"
        " release; it would draw its noise again, so the task has ended and nothing is answered",
        409,
    )


DECIDES, FOLLOWS = 0, 1
NOBODY = None, None
AGAIN = 409


@dataclass(repr=False)
class Closing:
    """The closing of one task at one server, and whether it may answer after it.

    Whichever server is asked to close, server 0 leads. It lets server 1 hold still and tell hashes of parts of its
    reports, and list the parts in which they differ; writes down which reports both have, in one transaction: this is
    the decision; then server 1 writes it down as well, from hashes and listings in the other direction. Both read their
    reports one after the other: no server holds the ids of all. Up to the
    decision any failure leaves server 0 open, and server 1 takes reports again: when one comes it asks server 0 what
    became of the attempt, and unless that is at work it is given up by this. After the decision the task is closed, and
    to close it again tells server 1 once more. So no failure, at any step of either server, stops the collection.

    Formal guarantees: *Nothing is lost by a failure.* A report that server 0 and then server 1 took counts. Server 1
    takes none from its hashes to the decision unless the attempt was given up; the decision and the giving up compare
    and write in one transaction each at server 0, so one of them comes first, and after the latter there is no decision
    from those hashes.

    *One set, one noise.* At the decision each server writes down the set and the commitments of both (see
    `NoiseSecret`); neither ever writes down others. All that servers say to each other of reports that count names the
    three, and a server does nothing unless they are what it wrote down and its own key still has its commitment. So if
    one server loses its store or the key of its ledger, or both, nothing is answered any more: what it could say names
    another commitment, or other reports, than the other server wrote down, and it cannot be closed again, for the
    decision of server 0 and the commitment that server 1 keeps are compared first. *Assumed*: the other server has kept
    its own, and both follow the protocol.

    Attributes:
        task: The hash of the task.
        party: 0 or 1.
        commitment: Commitment that binds this server.
        store: Storage of the decision.
        post: Asks the other server: what, and with which message.
    """

    task: str
    party: int
    commitment: str
    store: Store
    post: Callable[[str, bytes], bytes]
    _leading: Lock = field(default_factory=Lock, init=False)

    def require_kept(self, standing: Standing) -> None:
        """Refuse to go on with another key than this server has committed to.

        Raises:
            ProtocolAborted: it has another one.
        """
        if standing.commitments is not None and standing.commitments[self.party] != self.commitment:
            raise lost(self.party)

    def close(self) -> bytes:
        """Close the task. The operation is idempotent.

        Raises:
            ProtocolAborted: there are no reports, or the other server does not agree, or cannot be reached.
        """
        return self.lead() if self.party == DECIDES else self.post("close", b"")

    # Server 0

    def lead(self) -> bytes:
        """Decide, if it was not decided before, and tell server 1.

        Raises:
            ProtocolAborted: as `close`; or this is server 1.
        """
        self._require_party(DECIDES)
        with self._alone():
            if self.store.standing(self.task).state is not TaskState.CLOSED:
                self._decide()
            standing = self.store.standing(self.task)
            self.require_kept(standing)
            self._tell(standing)
        return json.dumps({**standing.named, "owners": self.store.owners(self.task)}).encode()

    def _decide(self) -> None:
        attempt = secrets.token_hex(16)
        self.store.attempt(self.task, attempt)
        bits = report_set.bits_for(self.store.standing(self.task).reports)
        theirs = report_set.ClosingMessage.from_bytes(
            self.post("prepare", json.dumps({"attempt": attempt, "bits": bits}).encode())
        )
        if theirs.summary.bits != bits:
            raise ProtocolAborted("peer", f"its answer {UNLIKE}", 502)
        listed = dict[int, bytes]()
        while True:  # reports come meanwhile: each time, parts are listed that were not before, so this ends
            try:
                self.store.decide(self.task, partial(self._agreed, theirs, listed), attempt)
            except report_set.Unlisted as error:
                for start in range(0, len(error.parts), PARTS_AT_ONCE):
                    listed |= self._listed_there(bits, error.parts[start : start + PARTS_AT_ONCE])
            else:
                return

    def _listed_there(self, bits: int, parts: Sequence[int]) -> dict[int, bytes]:
        """Listings of these parts of the reports of server 1."""
        message = json.dumps({"bits": bits, "parts": list(parts)}).encode()
        listed = report_set.unpacked(self.post("listed", message))
        if listed.keys() != set(parts):
            raise ProtocolAborted("peer", f"its answer {UNLIKE}", 502)
        return listed

    def _tell(self, standing: Standing) -> None:
        """Tell server 1 what was decided; then again, with listings of the parts in which it has other reports."""
        bits = report_set.bits_for(standing.reports)
        summary, listed = self.store.summary(self.task, bits), dict[int, bytes]()
        for _ in range(2):
            told = report_set.ClosingMessage(standing.set, standing.commitments or NOBODY, summary, listed).to_bytes()
            parts = _parts_in(self.post("commit", told), bits)
            if not parts:
                return
            listed = self.store.listed(self.task, bits, parts)
        raise ProtocolAborted("reports", report_set.OTHER, AGAIN)

    def outcome(self, message: bytes) -> bytes:
        """Outcome of an attempt for which server 1 is frozen. An attempt that is not running is given up now.

        Raises:
            ProtocolAborted: this is server 1.
        """
        self._require_party(DECIDES)
        attempt = str(facts_of(message, "peer", attempt=str)["attempt"])
        state = TaskState.FROZEN if self._leading.locked() else self.store.give_up(self.task, attempt)
        return json.dumps({"state": state.value}).encode()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._leading.acquire(blocking=False):
            raise ProtocolAborted("task", "it is being closed already; ask again", AGAIN)
        try:
            yield
        finally:
            self._leading.release()

    def _agreed(
        self, theirs: report_set.ClosingMessage, listed: Mapping[int, bytes], ours: report_set.Rising, stored: int
    ) -> Decision:
        first, second = theirs.commitments
        if first not in (None, self.commitment):
            raise lost(DECIDES)
        agreed = report_set.common(self.task, ours, stored, theirs.summary, listed)
        if theirs.set not in (None, agreed.name):
            raise ProtocolAborted("reports", report_set.OTHER, AGAIN)
        if not agreed.reports:
            raise ProtocolAborted("reports", "none has reached both servers", AGAIN)
        return Decision(agreed, (self.commitment, str(second)))

    # Server 1

    def prepare(self, message: bytes) -> bytes:
        """Freeze, and tell hashes of parts of the reports that are here, and the earlier decision, if there was one.

        Raises:
            ProtocolAborted: this is server 0, or has lost its key.
        """
        self._require_party(FOLLOWS)
        asked = facts_of(message, "peer", attempt=str, bits=int)
        bits = _bits_in(asked)
        standing = self.store.freeze(self.task, str(asked["attempt"]))
        self.require_kept(standing)
        commitments = standing.commitments or (None, self.commitment)
        return report_set.ClosingMessage(standing.set, commitments, self.store.summary(self.task, bits), {}).to_bytes()

    def listed(self, message: bytes) -> bytes:
        """List some parts of the reports that are here.

        Raises:
            ProtocolAborted: this is server 0, or there are no such parts.
        """
        self._require_party(FOLLOWS)
        bits = _bits_in(facts_of(message, "peer", bits=int))
        return report_set.packed(self.store.listed(self.task, bits, _parts_in(message, bits)[:PARTS_AT_ONCE]))

    def commit(self, message: bytes) -> bytes:
        """Write down what server 0 has decided; or say in which parts the reports here differ, to be told once more.

        Raises:
            ProtocolAborted: this is server 0, or has lost its key or reports that count, or wrote down something else.
        """
        self._require_party(FOLLOWS)
        told = report_set.ClosingMessage.from_bytes(message)
        first, second = told.commitments
        if second != self.commitment:
            raise lost(FOLLOWS)
        commitments = str(first), second
        try:
            self.store.decide(self.task, lambda *ours: Decision(self._found(told, *ours), commitments))
        except report_set.Unlisted as error:
            return json.dumps({"parts": error.parts}).encode()
        return b'{"parts": []}'

    def _found(self, told: report_set.ClosingMessage, ours: report_set.Rising, stored: int) -> report_set.ReportSet:
        agreed = report_set.common(self.task, ours, stored, told.summary, told.listed)
        if agreed.name != told.set:
            raise ProtocolAborted("reports", report_set.OTHER, AGAIN)
        return agreed

    def reopen(self) -> None:
        """Take reports again, if the attempt to close has come to nothing.

        Raises:
            ProtocolAborted: the other server cannot be asked.
        """
        attempt = self.store.standing(self.task).attempt
        told = facts_of(self.post("outcome", json.dumps({"attempt": attempt}).encode()), "peer", state=str)
        if told["state"] == TaskState.OPEN.value:
            self.store.thaw(self.task, attempt)

    def _require_party(self, party: int) -> None:
        if self.party != party:
            raise ProtocolAborted("peer", f"server {party} is to be asked this, not server {self.party}", AGAIN)


PARTS_AT_ONCE = 2**12
"""Parts that are listed in one message."""


def _bits_in(asked: Mapping[str, Any]) -> int:
    bits = int(asked["bits"])
    if not 0 <= bits <= report_set.MOST_BITS:
        raise ProtocolAborted("peer", f"its answer {UNLIKE}", 502)
    return bits


def _parts_in(message: bytes, bits: int) -> list[int]:
    """Numbers of parts in a message. Raises `ProtocolAborted`: there are none, or other ones."""
    parts = list(facts_of(message, "peer", parts=list)["parts"])
    if any(type(part) is not int or not 0 <= part < 2**bits for part in parts):
        raise ProtocolAborted("peer", f"its answer {UNLIKE}", 502)
    return parts


LARGEST_QUESTION = 2**18
"""Bytes: more than the most thresholds that one message may ask for."""
LARGEST_LISTING = 2**30
AT_ONCE = 4096
"""Reports that are read together."""
SHORT = 2**13
"""Bytes of a batch of few reports."""
Of = TypeVar("Of", bound=SharedTask)
OfPeer = Mapping[str, tuple[Callable[[Any, bytes], bytes], int]]
CLOSES: OfPeer = MappingProxyType({
    "close": (lambda service, message: service.closing.lead(), LARGEST_QUESTION),
    "outcome": (lambda service, message: service.closing.outcome(message), LARGEST_QUESTION),
    "prepare": (lambda service, message: service.closing.prepare(message), LARGEST_QUESTION),
    "listed": (lambda service, message: service.closing.listed(message), LARGEST_QUESTION),
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
        jobs: Place of reports that count, as jobs for workers; None: they are held in memory.
        workers: Workers that evaluate jobs.
    """

    party: int
    identity: Identity
    store: Store
    ledger: Ledger
    url: str
    peer: str
    patience: float
    jobs: Blobs | None = None
    workers: Workers = Here()  # noqa: RUF009 - it has no state

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


NO_DAP = "it takes no reports of the DAP draft"


def uncounted(analyst: int) -> None:
    """Take any number of questions, where no front counts them."""


@dataclass(repr=False)
class Collection(ABC, Generic[Of]):
    """SECRET. Abstract service of one server for one task. It has no repr.

    Attributes:
        task: The task.
        place: Resources of this server.
        peer: The way to the other server.
        count: Function that counts a question of an analyst, and refuses it where there were too many in a minute.
        keys: Keys that open input shares of the DAP draft: this server's own, and those of other tasks that it serves.
        OF_PEER: Requests that only the other server may make.
    """

    OF_PEER: ClassVar[OfPeer] = CLOSES

    task: Of
    place: Resources
    count: Callable[[int], object] = field(default_factory=lambda: uncounted, init=False)
    keys: Keys = field(init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        place, self.peer = self.place, self.place.channel(self.task)
        self.party, self.identity, self.store, self.ledger = place.party, place.identity, place.store, place.ledger
        self.keys = Keys.of([self.identity.sealing])
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
    def answer(self, message: bytes, analyst: int = 0) -> bytes:
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

    def enrol(self, owner: int, message: bytes) -> bytes:
        """Let an owner who shows its invitation enrol a token of its own, by its hash; from then on only that is good.

        Formal guarantees: whoever made the task holds invitations and no token. It can use an invitation first, which
        the owner notices, for its own token is refused then; once an owner has enrolled at both servers, nobody else
        can contribute in its place, or put another contribution in the place of its own: they would have to find the
        token, of 256 random bits, of which each server is shown one half and the hash of the other (`Ticket`).

        Raises:
            ProtocolAborted: the task has no invitations, or this one was used for another token.
        """
        if not self.task.enrols:
            raise ProtocolAborted("task", "it takes reports with the tickets that were made for it", 409)
        token = str(facts_of(message, "owner", token=str)["token"])
        if DIGITS.fullmatch(token) is None:
            raise ProtocolAborted("token", "its hash has 64 hexadecimal digits")
        self.store.enrol(self.task.hash, owner, token)
        return b"{}"

    def owner_shown(self, shown: str) -> int:
        """The owner who shows this, which has to be of its own token where owners enrol.

        Raises:
            ProtocolAborted: it is none, or an invitation.
        """
        if not self.task.enrols:
            return bearer_shown(self.task, shown, Role.OWNER, self.party)
        owner = self.store.enrolled(self.task.hash, hash_of_shown(shown, self.party))
        if owner is None:
            raise ProtocolAborted("ticket", "that of an owner who has enrolled it is needed", 403)
        return owner

    def receive(self, owner: int, message: bytes) -> bytes:
        """Keep a batch of one owner's reports, all or none.

        Raises:
            ProtocolAborted: the batch was changed or is not for here, or no more reports are taken.
        """
        offer = self._offer(owner, message)
        return _kept(offer, self._added(offer))

    async def received(self, owner: int, message: bytes) -> bytes:
        """Keep a batch as `receive` does, on a loop that serves others meanwhile, and in one transaction with theirs.

        A short batch is opened on the loop itself: to hand it to a thread takes longer. What is answered is on disk.

        Raises:
            ProtocolAborted: as `receive`.
        """
        loop = asyncio.get_running_loop()
        if len(message) <= SHORT:
            offer = self._offer(owner, message)
        else:
            offer = await loop.run_in_executor(None, self._offer, owner, message)
        try:
            coming = self.store.submit(self.task.hash, self.task.reports_per_owner, offer)
            return _kept(offer, await asyncio.wrap_future(coming))
        except Frozen:
            return _kept(offer, await loop.run_in_executor(None, self._added, offer))

    def _offer(self, owner: int, message: bytes) -> Offer:
        batch = report_set.unpacked_batch(
            message, self.task.hash, self.party, self.encoding.size_of(self.party) + report_set.OVERHEAD
        )
        stored = [self._opened(number, report, batch.contribution) for number, report in enumerate(batch.reports)]
        try:
            self.encoding.require(self.party, [report.share for report in stored])
        except ValueError:
            raise ProtocolAborted("reports", "what was sealed is no share of this task") from None
        return Offer(owner, batch.contribution, batch.earlier, stored)

    def _added(self, offer: Offer) -> int:
        added = partial(self.store.add, self.task.hash, self.task.reports_per_owner, offer)
        try:
            return added()
        except Frozen:
            self.closing.reopen()
            return added()

    def _opened(self, number: int, report: report_set.ReportShare, contribution: bytes) -> Stored:
        place = report_set.place_of(self.task.hash, self.party, contribution, report.id)
        share = report_set.opened(report.sealed, self.identity.sealing, place)
        if share is None or len(share) != self.encoding.size_of(self.party):
            raise ProtocolAborted("reports", f"report {number} of the batch was changed, or sealed to another server")
        digest = report_set.digest_of(share[: self.encoding.public_size])
        return Stored(report.id, digest, report_set.whole(report.id, share), share)

    async def uploaded(self, owner: int, message: bytes) -> bytes:
        """Keep reports as a client of the DAP draft sends them to the leader, on a loop that serves others meanwhile.

        What is answered is on disk at both servers.

        Raises:
            ProtocolAborted: the message is none, or no more reports are taken, or this kind of task takes none.
        """
        if len(message) <= SHORT:
            coming = self.upload(owner, message)
        else:
            coming = await asyncio.get_running_loop().run_in_executor(None, self.upload, owner, message)
        return await asyncio.wrap_future(coming)

    def upload(self, owner: int, message: bytes) -> Future[bytes]:
        """Open reports of one owner, and let both servers keep them, with those of others who send at the same time.

        Raises:
            ProtocolAborted: as `uploaded`.
        """
        raise ProtocolAborted("task", NO_DAP, 404)

    def take_each(self, offers: Sequence[Offer]) -> list[int | BaseException]:
        """Keep reports of several owners, of each all or none; of each how many were new, or why it is refused."""
        add = partial(self.store.add_each, self.task.hash, self.task.reports_per_owner, offers)
        found = add()
        if any(isinstance(each, Frozen) for each in found):
            self.closing.reopen()
            return add()
        return found

    def job(self, message: bytes) -> bytes:
        """Keep reports that a leader of the DAP draft hands on to the helper, in an aggregation job.

        Raises:
            ProtocolAborted: this kind of task takes none.
        """
        raise ProtocolAborted("task", NO_DAP, 404)

    def collect(self, message: bytes) -> bytes:
        """Respond to an analyst who collects as in the DAP draft, from the leader.

        Raises:
            ProtocolAborted: this kind of task is not collected so.
        """
        raise ProtocolAborted("task", NO_DAP, 404)

    def aggregate_share(self, message: bytes) -> bytes:
        """This server's half of an answer, sealed to an analyst who collects as in the DAP draft, from the helper.

        Raises:
            ProtocolAborted: this kind of task is not collected so.
        """
        raise ProtocolAborted("task", NO_DAP, 404)

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
        return [share for part in self._parts(standing) for share in part]

    def _parts(self, standing: Standing) -> Iterator[Sequence[bytes]]:
        """SECRET: shares of the reports that count, in the order of their ids, some thousands at a time.

        Nothing may be answered from them unless the last part has come.

        Raises:
            ProtocolAborted: a share was damaged; after the last part: they are not those that count.
        """
        name, count, public = report_set.Naming(self.task.hash, standing.reports), 0, self.encoding.public_size
        for part in self.store.parts(self.task.hash, AT_ONCE):
            # A damaged seed would make an honest report fail its check, and so tell its share: see `CheckedCounting`.
            if any(report_set.whole(key, one.share) != one.whole for key, one in part):
                raise ProtocolAborted("store", "a share in it was damaged; nothing is answered", 500)
            for key, one in part:
                name.add(key, report_set.digest_of(one.share[:public]))
            count += len(part)
            yield [one.share for _, one in part]
        if (name.hexdigest(), count) != (standing.set, standing.reports):
            raise ProtocolAborted("store", "its reports are not those that the servers agreed on", 500)


def _kept(offer: Offer, new: int) -> bytes:
    return json.dumps({"new": new, "known": len(offer.reports) - new}).encode()
