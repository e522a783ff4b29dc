"""SECRET. Reports of a task of counts that clients of the DAP draft send: to the leader, which hands on the helper's
parts in an aggregation job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from time import time
from typing import NamedTuple, cast

import numpy as np

from ..crypto.prio3 import VerifiedCells
from ..serving.channel import PATIENCE, Channel
from ..serving.group_commit import GroupCommit
from ..serving.messages import ProtocolAborted
from ..serving.task_document import Ticket
from ..serving.two_servers import dap, report_set
from ..serving.two_servers.collection import Collection
from ..serving.two_servers.owner import Contribution
from ..serving.two_servers.report_set import Earlier
from ..serving.two_servers.store import Frozen, Offer, Stored, TakesNoMore
from .histogram_reports import HistogramEncoding
from .task import Task

AHEAD = 1
"""Units of time that a client's clock may be ahead."""
LARGEST_JOB, ROOM = 2**22, 2**9
"""Bytes of reports that are handed on together, and of what is beside a report's shares, at most."""
GATHER = 0.1
"""Seconds for which uploads are gathered, as long as several come together: jobs of many cost servers less."""
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
        return [dap.packed_message(dap.INITIALIZE, content) for content in contents]

    def answered(self, stored: Sequence[Stored], messages: Sequence[bytes]) -> list[bytes | dap.ReportError]:
        """The helper's messages, from those of the leader."""
        verified = self.verified(stored)
        size = 0 if verified is None else verified.scheme.message_size
        contents = [_content(message, size) for message in messages]
        if verified is None:
            return [
                dap.packed_message(dap.FINISH, each) if each == b"" else dap.ReportError.INVALID_MESSAGE
                for each in contents
            ]
        joined = b"".join(bytes(size) if each is None else each for each in contents)
        passed = verified.accepted(np.frombuffer(joined, np.uint8).reshape(-1, size))
        return [
            dap.ReportError.INVALID_MESSAGE if content is None
            else dap.packed_message(dap.FINISH, seed.tobytes()) if passes
            else dap.ReportError.VDAF_VERIFY_ERROR
            for content, seed, passes in zip(contents, verified.seeds, passed, strict=True)
        ]  # fmt: skip

    def finished(self, verified: VerifiedCells | None, told: Sequence[dap.Told]) -> dict[bytes, dap.ReportError]:
        """Reports that the leader does not take, from the helper's answers, and why."""
        expected = [b""] * len(told) if verified is None else [row.tobytes() for row in verified.seeds]
        failed = dict[bytes, dap.ReportError]()
        for one, seed in zip(told, expected, strict=True):
            if isinstance(one.said, dap.ReportError):
                failed[one.id] = one.said
            elif one.said != dap.packed_message(dap.FINISH, seed):
                failed[one.id] = dap.ReportError.VDAF_VERIFY_ERROR
        return failed


def _content(message: bytes, size: int) -> bytes | None:
    """Content of the leader's message of a proof, in so many bytes; None: it is none."""
    try:
        content = dap.message_of(message, dap.INITIALIZE)
    except ValueError:
        return None
    return content if len(content) == size else None


class Opened(NamedTuple):
    """SECRET. What an owner has uploaded, as the leader has opened it.

    Attributes:
        owner: The number of the owner.
        order: Ids of all reports, as they came.
        kept: Reports, each with the leader's part of it.
        failed: Reasons why other reports were not taken.
    """

    owner: int
    order: Sequence[bytes]
    kept: Sequence[tuple[dap.Report, Stored]]
    failed: Mapping[bytes, dap.ReportError]

    def without(self, are_shares: Sequence[bool]) -> Opened:
        """Return this upload without the reports that are no shares of the task."""
        if all(are_shares):
            return self
        wrong = [each[1].id for each, right in zip(self.kept, are_shares, strict=True) if not right]
        kept = [each for each, right in zip(self.kept, are_shares, strict=True) if right]
        return self._replace(kept=kept, failed={**self.failed, **dict.fromkeys(wrong, dap.ReportError.INVALID_MESSAGE)})

    @property
    def size(self) -> int:
        """Bytes of the helper's parts, and some more."""
        return sum(len(report.public) + len(report.sealed[1].payload) + ROOM for report, _ in self.kept)


class Leading:
    """SECRET. The leader's part in uploads. It has no repr.

    Uploads that wait at the same time are written in one transaction, and handed on in one aggregation job. A report
    counts that both servers took. Whatever fails on the way, the same message may be sent again.

    Formal guarantees: a server is shown a ticket by each owner: the leader in the request, the helper in the private
    extension of its input share, which the leader can not open. So neither can contribute in an owner's name at the
    other one. What the leader hands on can not be changed: input shares are bound to all else of the report. What the
    servers say to each other of proofs tells nothing, however often it is said (`Prio3Histogram`). What one owner sends
    changes nothing for another one: each is refused alone, and the same id is in a job once.

    Args:
        service: The leader.
        verifying: Verification of reports.
    """

    def __init__(self, service: Collection[Task], verifying: Verifying) -> None:
        self._service, self._verifying = service, verifying
        self._queue = GroupCommit(self._taken, lambda upload: upload.size, LARGEST_JOB, gather=GATHER)

    def submit(self, owner: int, reports: Sequence[dap.Report]) -> Future[bytes]:
        """Let both servers keep the reports of an owner. The future says which were not taken, once both answered.

        It ends in a `ProtocolAborted` where no more reports are taken, or the helper can not be reached.

        Raises:
            ProtocolAborted: this is the helper.
        """
        if self._service.party != 0:
            raise ProtocolAborted("server", NO_LEADER, 404)
        failed, kept = dict[bytes, dap.ReportError](), list[tuple[dap.Report, Stored]]()
        for report in reports:
            found = _opened(self._service, report.of(0), [])
            if isinstance(found, dap.ReportError):
                failed[report.metadata.id] = found
            else:
                kept.append((report, found[0]))
        return self._queue.submit(Opened(owner, [report.metadata.id for report in reports], kept, failed))

    def _taken(self, uploads: Sequence[Opened]) -> Sequence[bytes | Exception]:
        """Answers to some uploads, in jobs that have no id twice."""
        outcomes, rest = dict[int, bytes | Exception](), list(range(len(uploads)))
        while rest:
            now, ids = list[int](), set[bytes]()
            for number in rest:
                own = {stored.id for _, stored in uploads[number].kept}
                if not own & ids:
                    now.append(number)
                    ids |= own
            outcomes |= zip(now, self._taken_together([uploads[number] for number in now]), strict=True)
            rest = [number for number in rest if number not in outcomes]
        return [outcomes[number] for number in range(len(uploads))]

    def _taken_together(self, uploads: Sequence[Opened]) -> list[bytes | Exception]:
        shares = [stored.share for one in uploads for _, stored in one.kept]
        are_shares = iter(_are_shares(self._service, shares) if shares else [])
        uploads = [one.without([next(are_shares) for _ in one.kept]) for one in uploads]
        name, offering = contribution_of(self._service.task), [one for one in uploads if one.kept]
        offers = [Offer(one.owner, name, Earlier.STAYS, [stored for _, stored in one.kept]) for one in offering]
        outcomes = zip(offering, map(_error_in, self._service.take_each(offers)), strict=True)
        refused = {id(one): error for one, error in outcomes if error is not None}
        kept = [each for one in offering if id(one) not in refused for each in one.kept]
        try:
            failed = self._handed(kept) if kept else {}
        except Exception as error:  # of the helper: each owner hears of it, and none is sent alone again
            failed, refused = {}, {**{id(one): error for one in offering}, **refused}
        return [refused.get(id(one)) or dap.packed_errors({**failed, **one.failed}, one.order) for one in uploads]

    def _handed(self, kept: Sequence[tuple[dap.Report, Stored]]) -> dict[bytes, dap.ReportError]:
        """Let the helper take its parts of some reports; those that fail."""
        stored, task = [one for _, one in kept], self._service.task.hash
        verified = self._verifying.verified(stored)
        messages = zip(kept, self._verifying.begun(stored, verified), strict=True)
        job = dap.packed_job(task, (dap.Begun(report.of(1), message) for (report, _), message in messages))
        answer = self._service.peer.post(f"/tasks/{dap.task_id(task)}/aggregation_jobs", job, kind=dap.JOB)
        return self._verifying.finished(verified, dap.told_of(answer, [one.id for one in stored]))


def _error_in(outcome: int | BaseException) -> Exception | None:
    """The error of an outcome. Raises `BaseException`: it is one that ends a program."""
    if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
        raise outcome
    return outcome if isinstance(outcome, Exception) else None


def handed_on(service: Collection[Task], verifying: Verifying, begun: Sequence[dap.Begun]) -> bytes:
    """Keep the helper's parts of reports that the leader hands on, and say what became of each.

    Raises:
        ProtocolAborted: this is the leader, or no more reports are taken.
    """
    if service.party != 1:
        raise ProtocolAborted("server", "it is the leader of this task; jobs go to the helper", 404)
    said, good = dict[bytes, bytes | dap.ReportError](), list[tuple[int, Stored, bytes]]()
    for each in begun:
        found = _owned(service, each.share)
        if isinstance(found, dap.ReportError):
            said[each.metadata.id] = found
        else:
            good.append((*found, each.message))
    right = _are_shares(service, [one.share for _, one, _ in good]) if good else []
    said |= {one.id: dap.ReportError.INVALID_MESSAGE for (_, one, _), fits in zip(good, right, strict=True) if not fits}
    good = [each for each, fits in zip(good, right, strict=True) if fits]
    stored = [one for _, one, _ in good]
    answers = verifying.answered(stored, [message for *_, message in good])
    offered = defaultdict[int, list[Stored]](list)
    for (owner, one, _), answer in zip(good, answers, strict=True):
        said[one.id] = answer
        if not isinstance(answer, dap.ReportError):
            offered[owner].append(one)
    name = contribution_of(service.task)
    offers = [Offer(owner, name, Earlier.STAYS, reports) for owner, reports in offered.items()]
    for offer, error in zip(offers, map(_error_in, service.take_each(offers)), strict=True):
        if isinstance(error, TakesNoMore | Frozen) or not isinstance(error, ProtocolAborted | None):
            raise error
        if error is not None:  # of this owner: others' reports in the job are kept
            said |= dict.fromkeys((one.id for one in offer.reports), dap.ReportError.REPORT_DROPPED)
    return b"".join(dap.Told(each.metadata.id, said[each.metadata.id]).packed() for each in begun)


def _owned(service: Collection[Task], share: dap.Share) -> tuple[int, Stored] | dap.ReportError:
    """SECRET: the owner of a report, and the report as the helper stores it; or an error."""
    found = _opened(service, share, [dap.TICKET])
    if isinstance(found, dap.ReportError):
        return found
    stored, (ticket,) = found
    try:
        return service.owner_shown(ticket.content.decode("ascii", "replace")), stored
    except ProtocolAborted:
        return dap.ReportError.REPORT_DROPPED


def _are_shares(service: Collection[Task], shares: Sequence[bytes]) -> list[bool]:
    """Tell which of some shares of the right size are shares of the task; all are read at once where none is wrong."""
    try:
        service.task.encoding.require(service.party, shares)
    except ValueError:
        if len(shares) == 1:
            return [False]
        return [found for each in shares for found in _are_shares(service, [each])]
    return [True] * len(shares)


def _opened(
    service: Collection[Task], share: dap.Share, needed: list[int]
) -> tuple[Stored, tuple[dap.Extension, ...]] | dap.ReportError:
    """SECRET: a report as it is stored, and its private extensions, which have to be of these types; or an error."""
    if share.metadata.time > time() / dap.PRECISION + AHEAD:
        return dap.ReportError.REPORT_TOO_EARLY
    found = service.keys.opened(share, service.party, service.task.configuration)
    if not isinstance(found, dap.Input):
        return found
    kinds, encoding = [each.kind for each in found.extensions], service.task.encoding
    whole, size = share.public + found.share, encoding.size_of(service.party)
    if share.metadata.extensions or kinds != needed or (len(share.public), len(whole)) != (encoding.public_size, size):
        return dap.ReportError.INVALID_MESSAGE
    one = share.metadata.id
    return Stored(one, report_set.digest_of(share.public), report_set.whole(one, whole), whole), found.extensions


@dataclass(repr=False)
class LeaderUpload:
    """SECRET. Upload of an owner's contribution by the messages of the DAP draft, to the leader alone. It has no repr.

    Formal guarantees: as of `Contribution.send`. What is sealed to the helper, with the ticket that is shown to it, the
    leader can neither open nor change nor use: it is bound to the task and the id of the report. Ids are those of the
    contribution, so what is sent again is known, and a ticket's reports are at most as many as the task takes. All
    that comes by this way under a ticket is one contribution: where a task takes one report of each owner, another file
    is refused by this; where it takes more, reports of another file would be added.

    Attributes:
        contribution: The reports.
        ticket: Ticket of the owner.
        numbers: Numbers of the servers' keys, leader first.
    """

    contribution: Contribution
    ticket: Ticket
    numbers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = tuple(dap.number_of(self._key(party)) for party in (0, 1))

    def send(self, progress: Callable[[int], object], patience: float = PATIENCE) -> int:
        """Send all reports over a connection. `progress` is called with the number of reports sent, which is returned.

        Raises:
            ProtocolAborted: a server refuses a report, or can not be reached. Sent again, nothing counts twice.
        """
        server = self._task.servers[0]
        with Channel.to(server.url, server.certificate, patience) as leader:
            return self.send_over(leader, progress)

    def send_over(self, leader: Channel, progress: Callable[[int], object] = lambda sent: None) -> int:
        """Send all reports as `send` does, over a connection that is there."""
        task, sent = self._task, 0
        path, shown = f"/tasks/{dap.task_id(task.hash)}/reports", self.ticket.shown_to(0)
        for name, reports in self.contribution.shared():
            del name  # all that comes by this way is one contribution
            failed = dap.errors_in(leader.post(path, self.packed(reports), shown, kind=dap.UPLOAD))
            if dap.ReportError.OUTDATED_CONFIG in failed.values():
                self._ask_numbers(leader)
                failed = dap.errors_in(leader.post(path, self.packed(reports), shown, kind=dap.UPLOAD))
            if failed:
                kinds = ", ".join(sorted({error.name.lower().replace("_", " ") for error in failed.values()}))
                raise ProtocolAborted("reports", f"{len(failed)} of them were not taken ({kinds})")
            sent += len(reports)
            progress(sent)
        return sent

    def packed(self, reports: Sequence[tuple[bytes, tuple[bytes, bytes]]]) -> bytes:
        """The bytes of an `UploadRequest`."""
        public = self._task.encoding.public_size
        return b"".join(
            self._sealed(
                dap.Metadata(one, int(time() / dap.PRECISION)), shares[0][:public], [each[public:] for each in shares]
            )
            for one, shares in reports
        )

    def _sealed(self, metadata: dap.Metadata, public: bytes, shares: Sequence[bytes]) -> bytes:
        bound, ciphertexts = self._task.configuration.bound(metadata, public), []
        extensions = (), (dap.Extension(dap.TICKET, self.ticket.shown_to(1).encode()),)
        for party, share in enumerate(shares):
            plain = dap.Input(extensions[party], share).packed()
            made = dap.sealed(plain, self._key(party), dap.info_of(party), bound)
            ciphertexts.append(dap.Ciphertext(self.numbers[party], *made))
        return dap.Report(metadata, public, (ciphertexts[0], ciphertexts[1])).packed()

    @property
    def _task(self) -> Task:
        return cast(Task, self.contribution.task)

    def _key(self, party: int) -> bytes:
        return bytes.fromhex(self._task.servers[party].sealing)

    def _ask_numbers(self, leader: Channel) -> None:
        """Ask both servers for the numbers of their keys: one may have several, after rotation."""
        helper = self._task.servers[1]
        with Channel.to(helper.url, helper.certificate, leader.patience) as other:
            lists = [channel.get("/hpke_config") for channel in (leader, other)]
        try:
            self.numbers = tuple(dap.numbers_in(each)[self._key(party)] for party, each in enumerate(lists))
        except (ValueError, KeyError):
            raise ProtocolAborted("server", "it has another key than the task names", 502) from None
