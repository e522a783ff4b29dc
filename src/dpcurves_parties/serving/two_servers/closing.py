"""Closing protocol of a task: server 1 freezes, server 0 decides on the set of reports, server 1 records it too."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from ..errors import ProtocolAborted
from ..json_messages import facts_of
from .noise_secret import lost
from .report_set import OTHER, Listing, ReportSet, Told, common
from .store import Decision, Store
from .tables import Standing, TaskState

DECIDES, FOLLOWS = 0, 1
NOBODY = None, None
AGAIN = 409


@dataclass(repr=False)
class Closing:
    """The closing of one task at one server, and whether it may answer after it.

    Whichever server is asked to close, server 0 leads. It lets server 1 hold still and list its reports; writes down
    which reports both have, in one transaction: this is the decision; then server 1 writes it down as well. Up to the
    decision any failure leaves server 0 open, and server 1 takes reports again: when one comes it asks server 0 what
    became of the attempt, and unless that is at work it is given up by this. After the decision the task is closed, and
    to close it again tells server 1 once more. So no failure, at any step of either server, stops the collection.

    Formal guarantees: *Nothing is lost by a failure.* A report that server 0 and then server 1 took counts. Server 1
    takes none from its listing to the decision unless the attempt was given up; the decision and the giving up compare
    and write in one transaction each at server 0, so one of them comes first, and after the latter there is no decision
    from that listing.

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
            standing, listing = self.store.listing(self.task)
            self.require_kept(standing)
            self.post("commit", Told(standing.set, standing.commitments or NOBODY, listing).to_bytes())
        facts = {"set": standing.set, "reports": standing.reports, "owners": self.store.owners(self.task)}
        return json.dumps(facts).encode()

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

    def _decide(self) -> None:
        attempt = secrets.token_hex(16)
        self.store.attempt(self.task, attempt)
        theirs = Told.from_bytes(self.post("prepare", json.dumps({"attempt": attempt}).encode()))
        self.store.decide(self.task, lambda ours: self._agreed(ours, theirs), attempt)

    def _agreed(self, ours: Listing, theirs: Told) -> Decision:
        first, second = theirs.commitments
        if first not in (None, self.commitment):
            raise lost(DECIDES)
        agreed = common(self.task, ours, theirs.listing)
        if theirs.set not in (None, agreed.name):
            raise ProtocolAborted("reports", OTHER, AGAIN)
        if not agreed.ids:
            raise ProtocolAborted("reports", "none has reached both servers", AGAIN)
        return Decision(agreed, (self.commitment, str(second)))

    # Server 1

    def prepare(self, message: bytes) -> bytes:
        """Freeze, and list the reports that are here, and the earlier decision, if there was one.

        Raises:
            ProtocolAborted: this is server 0, or has lost its key.
        """
        self._require_party(FOLLOWS)
        attempt = str(facts_of(message, "peer", attempt=str)["attempt"])
        standing, listing = self.store.freeze(self.task, attempt)
        self.require_kept(standing)
        return Told(standing.set, standing.commitments or (None, self.commitment), listing).to_bytes()

    def commit(self, message: bytes) -> bytes:
        """Write down what server 0 has decided.

        Raises:
            ProtocolAborted: this is server 0, or has lost its key or reports that count, or wrote down something else.
        """
        self._require_party(FOLLOWS)
        told = Told.from_bytes(message)
        first, second = told.commitments
        if second != self.commitment:
            raise lost(FOLLOWS)
        self.store.decide(self.task, lambda ours: Decision(self._found(ours, told), (str(first), second)))
        return b"{}"

    def _found(self, ours: Listing, told: Told) -> ReportSet:
        agreed = common(self.task, ours, told.listing)
        if agreed.name != told.set:
            raise ProtocolAborted("reports", OTHER, AGAIN)
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
