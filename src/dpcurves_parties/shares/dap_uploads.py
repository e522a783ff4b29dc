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

    def verified(self, stored: Sequence[Stored]) -> VerifiedCells | None:
        """SECRET: the cells of some reports, and this server's messages; None: they have none."""
        encoding = self.task.encoding
        if not isinstance(encoding, HistogramEncoding) or not stored:
            return None
        half = encoding.public_size
        public, shares = [one.share[:half] for one in stored], [one.share[half:] for one in stored]
        return encoding.scheme.verified(self.party, public, shares, [one.id for one in stored], self.key)

    def begun(self, stored: Sequence[Stored], verified: VerifiedCells | None) -> list[bytes]:
        """The leader's messages."""
        contents = [b""] * len(stored) if verified is None else [row.tobytes() for row in verified.messages]
        return [packed_message(INITIALIZE, content) for content in contents]

    def answered(self, stored: Sequence[Stored], messages: Sequence[bytes]) -> list[bytes | ReportError]:
        """The helper's messages, from those of the leader."""
        verified = self.verified(stored)
        size = 0 if verified is None else verified.scheme.message_size
        contents = [_content(message, size) for message in messages]
        if verified is None:
            return [packed_message(FINISH, each) if each == b"" else ReportError.INVALID_MESSAGE for each in contents]
        joined = b"".join(bytes(size) if each is None else each for each in contents)
        passed = verified.accepted(np.frombuffer(joined, np.uint8).reshape(-1, size))
        return [
            ReportError.INVALID_MESSAGE if content is None
            else packed_message(FINISH, seed.tobytes()) if passes
            else ReportError.VDAF_VERIFY_ERROR
            for content, seed, passes in zip(contents, verified.seeds, passed, strict=True)
        ]  # fmt: skip

    def finished(self, verified: VerifiedCells | None, told: Sequence[Told]) -> dict[bytes, ReportError]:
        """Reports that the leader does not take, from the helper's answers, and why."""
        expected = [b""] * len(told) if verified is None else [row.tobytes() for row in verified.seeds]
        failed = dict[bytes, ReportError]()
        for one, seed in zip(told, expected, strict=True):
            if isinstance(one.said, ReportError):
                failed[one.id] = one.said
            elif one.said != packed_message(FINISH, seed):
                failed[one.id] = ReportError.VDAF_VERIFY_ERROR
        return failed


def _content(message: bytes, size: int) -> bytes | None:
    """Content of the leader's message of a proof, in so many bytes; None: it is none."""
    try:
        content = message_of(message, INITIALIZE)
    except ValueError:
        return None
    return content if len(content) == size else None


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
    stored = [one for _, one in kept]
    verified = verifying.verified(stored)
    messages = zip(kept, verifying.begun(stored, verified), strict=True)
    job = packed_job(service.task.hash, (Begun(report.of(1), message) for (report, _), message in messages))
    path = f"/tasks/{task_id(service.task.hash)}/aggregation_jobs"
    answer = service.peer.post(path, job, kind=JOB)
    return verifying.finished(verified, told_of(answer, [one.id for one in stored]))


def handed_on(service: Collection[Task], verifying: Verifying, begun: Sequence[Begun]) -> bytes:
    """Keep the helper's parts of reports that the leader hands on, and say what became of each.

    Raises:
        ProtocolAborted: this is the leader, or no more reports are taken.
    """
    if service.party != 1:
        raise ProtocolAborted("server", "it is the leader of this task; jobs go to the helper", 404)
    said, good = dict[bytes, bytes | ReportError](), list[tuple[int, Stored, bytes]]()
    for each in begun:
        found = _owned(service, each.share)
        if isinstance(found, ReportError):
            said[each.metadata.id] = found
        else:
            good.append((*found, each.message))
    stored = [one for _, one, _ in good]
    answers = verifying.answered(stored, [message for *_, message in good])
    offered = defaultdict[int, list[Stored]](list)
    for (owner, one, _), answer in zip(good, answers, strict=True):
        said[one.id] = answer
        if not isinstance(answer, ReportError):
            offered[owner].append(one)
    for owner, reports in offered.items():
        service.take(Offer(owner, contribution_of(service.task), Earlier.STAYS, reports))
    return b"".join(Told(each.metadata.id, said[each.metadata.id]).packed() for each in begun)


def _owned(service: Collection[Task], share: Share) -> tuple[int, Stored] | ReportError:
    """SECRET: the owner of a report, and the report as the helper stores it; or an error."""
    found = _opened(service, share, [TICKET])
    if isinstance(found, ReportError):
        return found
    stored, (ticket,) = found
    try:
        return service.owner_shown(ticket.content.decode("ascii", "replace")), stored
    except ProtocolAborted:
        return ReportError.REPORT_DROPPED


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
