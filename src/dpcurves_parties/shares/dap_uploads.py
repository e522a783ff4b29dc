"""SECRET. Reports of a task of counts that clients of the DAP draft send: the task's parameters there, and uploads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from time import time

from ..serving.messages import ProtocolAborted
from ..serving.two_servers import report_set
from ..serving.two_servers.collection import Collection
from ..serving.two_servers.dap import (
    PRECISION,
    TICKET,
    Extension,
    Input,
    Report,
    ReportError,
    Share,
    errors_of,
    packed_errors,
)
from ..serving.two_servers.report_set import Earlier
from ..serving.two_servers.store import Offer, Stored
from .task import Task

AHEAD = 1
"""Units of time that a client's clock may be ahead."""


def contribution_of(task: Task) -> bytes:
    """The name of what an owner uploads by way of the DAP draft, report after report: the same for all owners."""
    return sha256(b"dpcurves DAP\n" + bytes.fromhex(task.hash)).digest()


def upload(service: Collection[Task], owner: int, reports: Sequence[Report]) -> bytes:
    """Keep the leader's parts of some reports, hand on the helper's, and say which were not taken.

    A report counts that both servers took. Whatever fails on the way, the same message may be sent again.

    Formal guarantees: a server is shown a ticket by each owner: the leader in the request, the helper in the private
    extension of its input share, which the leader can not open. So neither can contribute in an owner's name at the
    other one. What the leader hands on can not be changed: input shares are bound to all else of the report.

    Raises:
        ProtocolAborted: this is the helper, or no more reports are taken, or the helper can not be reached.
    """
    if service.party != 0:
        raise ProtocolAborted("server", "it is the helper of this task; reports go to the leader", 404)
    failed, stored = dict[bytes, ReportError](), list[Stored]()
    for report in reports:
        found = _opened(service, report.of(0), [])
        if isinstance(found, ReportError):
            failed[report.metadata.id] = found
        else:
            stored.append(found[0])
    if stored:
        service.take(Offer(owner, contribution_of(service.task), Earlier.STAYS, stored))
        shares = (report.of(1).packed() for report in reports if report.metadata.id not in failed)
        failed |= errors_of(service.ask("uploads", b"".join(shares)))
    return packed_errors(failed, [report.metadata.id for report in reports])


def uploaded(service: Collection[Task], shares: Sequence[Share]) -> bytes:
    """Keep the helper's parts of reports that the leader hands on, and say which were not taken.

    Raises:
        ProtocolAborted: this is the leader, or no more reports are taken.
    """
    if service.party != 1:
        raise ProtocolAborted("peer", "server 1 is to be asked this, not server 0", 409)
    failed, offered = dict[bytes, ReportError](), defaultdict[int, list[Stored]](list)
    for share in shares:
        found = _opened(service, share, [TICKET])
        if isinstance(found, ReportError):
            failed[share.metadata.id] = found
            continue
        stored, (ticket,) = found
        try:
            owner = service.owner_shown(ticket.content.decode("ascii", "replace"))
        except ProtocolAborted:
            failed[share.metadata.id] = ReportError.REPORT_DROPPED
        else:
            offered[owner].append(stored)
    for owner, reports in offered.items():
        service.take(Offer(owner, contribution_of(service.task), Earlier.STAYS, reports))
    return packed_errors(failed, [share.metadata.id for share in shares])


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
