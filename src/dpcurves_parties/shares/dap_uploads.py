"""SECRET. Reports of a task of counts that clients of the DAP draft send: to the leader, which hands on the helper's
parts in an aggregation job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from time import time

import numpy as np

from ..crypto.prio3 import VerifiedCells
from ..serving.messages import ProtocolAborted
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import Collection
from ..serving.two_servers.dap import (
    FINISH,
    INITIALIZE,
    JOB,
    PRECISION,
    TICKET,
    Begun,
    Extension,
    Input,
    Report,
    ReportError,
    Share,
    Told,
    message_of,
    packed_errors,
    packed_job,
    packed_message,
    task_id,
    told_of,
)
from ..serving.two_servers.report_set import Earlier
from ..serving.two_servers.store import Offer, Stored
from .histogram_reports import HistogramEncoding
from .task import Task

AHEAD = 1
"""Units of time that a client's clock may be ahead."""
NO_LEADER = "it is the helper of this task; reports go to the leader"


def contribution_of(task: Task) -> bytes:
    """The name of what an owner uploads by way of the DAP draft, report after report: the same for all owners."""
    return sha256(b"dpcurves DAP\n" + bytes.fromhex(task.hash)).digest()


@dataclass(frozen=True, slots=True, repr=False)
class Verifying:
    """SECRET. Verification of reports as they come, in one round: both servers' messages of proofs. It has no repr.

    Reports of trees have none: they are checked before the first answer, under a key of the closed set. So are those of
    one cell, once more, by the same messages: which reports count is decided there. Here an owner is told at once.

    Attributes:
        task: The task.
        party: Number of the server.
        key: The key of verification.
    """

    task: Task
    party: int
    key: bytes

    def verified(self, stored: Stored) -> VerifiedCells | None:
        """SECRET: the cells of a report, and this server's message; None: it has none."""
        encoding = self.task.encoding
        if not isinstance(encoding, HistogramEncoding):
            return None
        public, share = stored.share[: encoding.public_size], stored.share[encoding.public_size :]
        return encoding.scheme.verified(self.party, [public], [share], [stored.id], self.key)

    def begun(self, verified: VerifiedCells | None) -> bytes:
        """The leader's message."""
        return packed_message(INITIALIZE, b"" if verified is None else verified.messages[0].tobytes())

    def answered(self, verified: VerifiedCells | None, message: bytes) -> bytes | ReportError:
        """The helper's message, from that of the leader."""
        try:
            content = message_of(message, INITIALIZE)
        except ValueError:
            return ReportError.INVALID_MESSAGE
        if verified is None:
            return ReportError.INVALID_MESSAGE if content else packed_message(FINISH, b"")
        if len(content) != verified.scheme.message_size:
            return ReportError.INVALID_MESSAGE
        if not verified.accepted(np.frombuffer(content, np.uint8)[None])[0]:
            return ReportError.VDAF_VERIFY_ERROR
        return packed_message(FINISH, verified.seeds[0].tobytes())

    def finished(self, verified: VerifiedCells | None, told: Told) -> ReportError | None:
        """Why the leader does not take a report, from the helper's answer; None: it does."""
        if isinstance(told.said, ReportError):
            return told.said
        expected = b"" if verified is None else verified.seeds[0].tobytes()
        return None if told.said == packed_message(FINISH, expected) else ReportError.VDAF_VERIFY_ERROR


def upload(service: Collection[Task], verifying: Verifying, owner: int, reports: Sequence[Report]) -> bytes:
    """Keep the leader's parts of some reports, hand on the helper's, and say which were not taken.

    A report counts that both servers took. Whatever fails on the way, the same message may be sent again.

    Formal guarantees: a server is shown a ticket by each owner: the leader in the request, the helper in the private
    extension of its input share, which the leader can not open. So neither can contribute in an owner's name at the
    other one. What the leader hands on can not be changed: input shares are bound to all else of the report. What the
    servers say to each other of proofs tells nothing, however often it is said (`Prio3Histogram`).

    Raises:
        ProtocolAborted: this is the helper, or no more reports are taken, or the helper can not be reached.
    """
    if service.party != 0:
        raise ProtocolAborted("server", NO_LEADER, 404)
    failed, kept = dict[bytes, ReportError](), list[tuple[Report, Stored]]()
    for report in reports:
        found = _opened(service, report.of(0), [])
        if isinstance(found, ReportError):
            failed[report.metadata.id] = found
        else:
            kept.append((report, found[0]))
    if kept:
        service.take(Offer(owner, contribution_of(service.task), Earlier.STAYS, [stored for _, stored in kept]))
        failed |= _handed(service, verifying, kept)
    return packed_errors(failed, [report.metadata.id for report in reports])


def _handed(
    service: Collection[Task], verifying: Verifying, kept: Sequence[tuple[Report, Stored]]
) -> dict[bytes, ReportError]:
    """Let the helper take its parts of some reports; those that fail."""
    verified = [verifying.verified(stored) for _, stored in kept]
    begun = (Begun(report.of(1), verifying.begun(one)) for (report, _), one in zip(kept, verified, strict=True))
    path = f"/tasks/{task_id(service.task.hash)}/aggregation_jobs"
    answer = service.peer.post(path, packed_job(service.task.hash, begun), kind=JOB)
    told = told_of(answer, [stored.id for _, stored in kept])
    ended = [(one.id, verifying.finished(cells, one)) for one, cells in zip(told, verified, strict=True)]
    return {one: error for one, error in ended if error is not None}


def handed_on(service: Collection[Task], verifying: Verifying, begun: Sequence[Begun]) -> bytes:
    """Keep the helper's parts of reports that the leader hands on, and say what became of each.

    Raises:
        ProtocolAborted: this is the leader, or no more reports are taken.
    """
    if service.party != 1:
        raise ProtocolAborted("server", "it is the leader of this task; jobs go to the helper", 404)
    told, offered = list[Told](), defaultdict[int, list[Stored]](list)
    for each in begun:
        found = _kept(service, verifying, each)
        if not isinstance(found, ReportError):
            owner, stored, said = found
            offered[owner].append(stored)
        told.append(Told(each.metadata.id, found if isinstance(found, ReportError) else said))
    for owner, reports in offered.items():
        service.take(Offer(owner, contribution_of(service.task), Earlier.STAYS, reports))
    return b"".join(each.packed() for each in told)


def _kept(service: Collection[Task], verifying: Verifying, begun: Begun) -> tuple[int, Stored, bytes] | ReportError:
    """SECRET: the owner of a report, the report as the helper stores it, and what it says of its proof; or an error."""
    found = _opened(service, begun.share, [TICKET])
    if isinstance(found, ReportError):
        return found
    stored, (ticket,) = found
    try:
        owner = service.owner_shown(ticket.content.decode("ascii", "replace"))
    except ProtocolAborted:
        return ReportError.REPORT_DROPPED
    said = verifying.answered(verifying.verified(stored), begun.message)
    return said if isinstance(said, ReportError) else (owner, stored, said)


def _opened(
    service: Collection[Task], share: Share, needed: list[int]
) -> tuple[Stored, tuple[Extension, ...]] | ReportError:
    """SECRET: a report as it is stored, and its private extensions, which have to be of these types; or an error."""
    if share.metadata.time > time() / PRECISION + AHEAD:
        return ReportError.REPORT_TOO_EARLY
    found = service.keys.opened(share, service.party, service.task.configuration)
    if not isinstance(found, Input):
        return found
    kinds, encoding = [each.kind for each in found.extensions], service.task.encoding
    whole = share.public + found.share
    if share.metadata.extensions or kinds != needed or len(share.public) != encoding.public_size:
        return ReportError.INVALID_MESSAGE
    try:
        encoding.require(service.party, [whole])
    except ValueError:
        return ReportError.INVALID_MESSAGE
    one = share.metadata.id
    return Stored(one, report_set.digest_of(share.public), report_set.whole(one, whole), whole), found.extensions
