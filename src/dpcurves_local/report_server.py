"""The aggregator over HTTPS: its file of reports, its routes, and the client that sends reports."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from errno import EIO
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dpcurves.arguments import InvalidArgument
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.group_commit import GroupCommit
from dpcurves_parties.serving.messages import ProtocolError, ServerFault, parse_fields
from dpcurves_parties.serving.monitoring import UNWATCHED, Monitoring, log_operator_message
from dpcurves_parties.serving.server import (
    USUAL,
    Address,
    Limits,
    ServerSettings,
    make_standalone_context,
    parse_network,
    serve,
)
from dpcurves_parties.serving.task_app import RateLimiter, create_task_app, read_body, respond_from_thread

from .collection import SortedNameSet, verify_invitation
from .report_file import Octets, ReportFormat, map_report_file
from .task import Task
from .trust import ReportAggregator

try:
    import fcntl
except ImportError:  # where there is no such lock
    fcntl = None  # type: ignore[assignment]

ROWS = 2**16
ROOM, LEAST_ROOM = 10, 100_000
"""A store takes so many times the people of the task, and so many reports at least, unless a number is named."""
OTHER = "there is a file of this name that holds something else than reports of this task; it is not written to"


class PendingReports(NamedTuple):
    """Reports of one request that wait to be written to disk: names and messages."""

    names: Octets
    messages: Octets


class ReportStore:
    """A file of reports that grows at its end, a part of one record each: `dpcurves local aggregate` reads it.

    What `add` has returned for was written and synced: it outlives a process that is killed and a machine that loses
    power. Of a name that comes again the first report stays, and nothing is written. Those who wait for the disk share
    one sync. What a crash left half written at the end, which nobody was told of, is cut off.

    Attributes:
        most: So many reports are kept at most.

    Raises:
        ValueError: the file can not be had, holds something else, or belongs to a server that runs.
    """

    def __init__(self, path: str | Path, task: Task, max_reports: int | None = None) -> None:
        self.most = max(LEAST_ROOM, ROOM * task.people) if max_reports is None else max_reports
        self._path, self._form, self._seen, self._end = Path(path), task.report_format, SortedNameSet(), 0
        self._stride = len(self._form.single_header) + self._form.record_size
        self._queue = GroupCommit(self._write_pending, lambda offer: len(offer.names), ROWS)
        self._broken = self._full = False
        try:
            self._file = _open_locked(self._path)
        except OSError as error:
            raise InvalidArgument("store", f"the file can not be written ({error.strerror})") from None
        self._recover_file()

    @property
    def reports(self) -> int:
        """The number of stored reports, each of another name."""
        return self._seen.count

    def add(self, names: Octets, messages: Octets) -> int:
        """Keep reports, each of a name that is not known yet. How many were new: these are on disk now.

        Raises:
            Trouble: the disk does not take them, or they are more than there is room for; none of them is promised to
                be kept.
        """
        try:
            return self._queue.submit(PendingReports(names, messages)).result()
        except OSError as error:
            reason = error.strerror or "no reason given"
            trouble = ServerFault("store", f"it takes no more reports now ({reason})", f"store: {self._path}: {reason}")
        raise trouble

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _write_pending(self, offers: Sequence[PendingReports]) -> list[int | Exception]:
        """Numbers of new reports of each offer: these are on disk now, and their names known."""
        if self._broken:
            raise OSError(EIO, "an earlier report failed halfway: start the server again")
        names, messages = (np.concatenate(parts) for parts in zip(*offers, strict=True))
        fresh, run = self._seen.find_new(names)
        if self.reports + len(run) > self.most:
            return self._write_until_full(offers)
        try:
            self._append_bytes(self._form.encode_reports_singly(names[fresh], messages[fresh]))
            self._seen.insert_run(run)
        except BaseException as error:
            self._broken = not isinstance(error, OSError)  # else the file is read again by whoever opens it next
            raise
        ends = np.cumsum([len(offer.names) for offer in offers])[:-1]
        return [int(part.sum()) for part in np.split(fresh, ends)]

    def _write_until_full(self, offers: Sequence[PendingReports]) -> list[int | Exception]:
        """Write offers one after another, as far as all of an offer fits."""
        if len(offers) > 1:
            return [outcome for offer in offers for outcome in self._write_pending([offer])]
        rule = f"it holds {self.reports} of at most {self.most} reports, and these do not fit"
        if not self._full:
            log_operator_message(f"store: {rule}; --most allows more")
        self._full = True
        return [ProtocolError("store", rule, 507)]

    def _append_bytes(self, parts: bytes) -> None:
        """At the end of what is whole: what an earlier attempt left behind it is written over."""
        if not parts:
            return
        left = memoryview(parts)
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise
        self._end += len(parts)

    def _recover_file(self) -> None:
        data = map_report_file(self._path)
        whole = len(data) - len(data) % self._stride
        for start in range(0, whole, ROWS * self._stride):
            flat = np.frombuffer(data[start : min(start + ROWS * self._stride, whole)], dtype=np.uint8)
            self._require_headers(
                flat.reshape(-1, self._stride)[:, : len(self._form.single_header)], self._form.single_header
            )
        torn = np.frombuffer(data[whole:], dtype=np.uint8)[: len(self._form.single_header)]
        self._require_headers(torn[None], self._form.single_header[: len(torn)])
        for records in self._form.parse_reports(data[:whole]):
            self._seen.mark_new(records.names)
        del data, torn  # a file that is looked at is not cut everywhere
        os.ftruncate(self._file, whole)
        self._end = whole

    def _require_headers(self, found: Octets, expected_head: bytes) -> None:
        """Each octet is as it should be; or zero, as a machine that lost power leaves what had not reached the disk."""
        if not np.all((found == np.frombuffer(expected_head, dtype=np.uint8)) | (found == 0)):
            os.close(self._file)
            raise InvalidArgument("store", OTHER)


def _open_locked(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise InvalidArgument("store", "a server that runs has this file") from None
    if os.name == "posix":
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else a loss of power could forget the name of the file
        finally:
            os.close(folder)
    return file


LARGEST = 2**20
"""Bytes of one message, unless one report has more."""


class DeliveryCounts(NamedTuple):
    """Counts of sent reports: new to the server, known before, and invalid."""

    new: int = 0
    known: int = 0
    refused: int = 0


def send_reports(
    reports: bytes | memoryview, server: Channel, progress: Callable[[int], object] = lambda gone: None,
    invitation: str = "",
) -> DeliveryCounts:  # fmt: skip
    """Send reports of one task. Those that the server has acknowledged are on its disk.

    Nothing is drawn here: sent again, after whatever went wrong, the same reports arrive, and each name counts once.

    Args:
        reports: What `Task.randomize` gave, one or many behind another.
        server: Where to.
        progress: Hears how many octets of them have gone.
        invitation: That of the person whose report this is, where the task asks for one.

    Raises:
        ValueError: these are no reports; or the server can not be reached, or refuses.
    """
    form = ReportFormat.from_header(reports)
    if form is None:
        raise InvalidArgument("reports", "these are no reports of a task of the local model")
    sent, path = DeliveryCounts(), f"/tasks/{form.task.hex()}/reports"
    for message, damaged in _split_messages(form, reports):
        sent = DeliveryCounts(sent.new, sent.known, sent.refused + damaged)
        if message:
            facts = parse_fields(server.post(path, message, invitation), "server", new=int, known=int, refused=int)
            sent = DeliveryCounts(*(before + facts[name] for name, before in sent._asdict().items()))
        progress(sum(sent) * form.record_size)
    if not sent.new + sent.known:
        raise InvalidArgument("reports", f"{sent.refused} refused: damaged, cut off, or of another task")
    return sent


def _split_messages(form: ReportFormat, reports: bytes | memoryview) -> Iterator[tuple[bytes, int]]:
    """Messages of a size that is taken, and how many reports before each are none."""
    most = max(1, (LARGEST - len(form.single_header)) // form.record_size)
    for records in form.parse_reports(reports):
        yield b"", records.damaged_count
        for start in range(0, len(records.names), most):
            rows = slice(start, start + most)
            yield form.encode_reports(records.names[rows], records.messages[rows]), 0


@dataclass(frozen=True)
class Quota:
    """Rate limits of reports in a minute, for each network address and for all together; None: no limit.

    Attributes:
        per_address: Those of one IPv4 address, or of one IPv6 network of 64 bits.
        total: All reports together.
    """

    per_address: int | None = None
    total: int | None = None

    @cached_property
    def _rate_limits(self) -> list[tuple[RateLimiter, bool]]:
        limits = ((self.per_address, True, "of one address"), (self.total, False, "of all"))
        return [
            (RateLimiter(most, "reports", "wait a minute, or send fewer at a time", f"taken {whose}"), alone)
            for most, alone, whose in limits
            if most is not None
        ]

    def count_reports(self, sender: str, reports: int) -> None:
        """Count reports of a sender. Raises `ProtocolError`: they are too many in this minute."""
        for rate, alone in self._rate_limits:
            rate.count_requests(sender if alone else "", reports)


NO_QUOTA = Quota()
THREADS = 64
"""The most reports that wait for the disk together: they share one sync."""


class ReportReceiver:
    """The receiver of a task's reports: stores good ones, counts refused and repeated ones.

    Attributes:
        task: The task.
        refused: How many since the start were damaged, cut off, of another task, or no reports at all.
        repeated: How many since the start were of names whose report is kept.
    """

    def __init__(self, task: Task, store: ReportStore, quota: Quota = NO_QUOTA) -> None:
        self.task, self.refused, self.repeated = task, 0, 0
        self._quota = quota
        self._store, self._tables, self._lock = store, ReportAggregator(task.plan), Lock()

    @property
    def task_name(self) -> str:
        """The first half of the task's hash, as reports name it."""
        return self.task.report_format.task.hex()

    @property
    def max_message_size(self) -> int:
        """The largest message in bytes."""
        return max(LARGEST, len(self.task.report_format.single_header) + self.task.report_format.record_size)

    def encode_status(self) -> bytes:
        """The number of stored reports, those of people of an earlier round among them: public."""
        facts = {"task": self.task_name, "reports": self._store.reports, "most": self._store.most}
        return json.dumps({**facts, "repeated": self.repeated, "refused": self.refused}).encode()

    def verify_invitation(self, request: Request) -> bytes | None:
        """The name that the invitation of a request is for; None where the task asks for no invitations.

        Raises:
            ProtocolAborted: there is no invitation to this task.
        """
        if self.task.invitations is None:
            return None
        _, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            return verify_invitation(self.task, token)
        except ValueError:
            raise ProtocolError("invitation", "a report to this task needs one", 403) from None

    def receive_reports(self, message: bytes, sender: str = "", name: bytes | None = None) -> bytes:
        """Keep the good reports of a message. Once this has returned they are on disk.

        Args:
            message: Reports, as they were sent.
            sender: The network address that they came from; empty: not known.
            name: Whose report alone is taken; None: those of all names.

        A report of somebody who reported in an earlier round is refused, and kept too: the server has seen both, so
        whoever aggregates leaves it out, and states the loss of a person who reported in both.

        Raises:
            ProtocolAborted: there is no good one; or they are too many in a minute; or the disk does not take them.
        """
        good: list[tuple[Octets, Octets]] = []
        again: list[tuple[Octets, Octets]] = []
        wrong = 0
        for records in self.task.report_format.parse_reports(message):
            readable = self._tables.mark_valid_messages(self.task.expand_messages(records))
            if name is not None:
                readable &= (records.names == np.frombuffer(name, dtype=np.uint8)).all(axis=1)
            before = self.task.mark_repeats(records.names)
            for part, which in ((good, readable & ~before), (again, readable & before)):
                part.append((records.names[which], records.messages[which]))
            wrong += records.damaged_count + len(readable) - len(good[-1][0])
        found, met = (sum(len(names) for names, _ in each) for each in (good, again))
        self._count_refused(wrong, 0)
        self._quota.count_reports(sender, found + met)
        if met:
            self._store_reports(again)
        if not found:
            rule = f"{wrong} refused: damaged, cut off, or of another task" if wrong else "the message holds none"
            rule = f"{met} refused: reported in the first round, and each person reports once" if met else rule
            raise ProtocolError("reports", rule)
        new = self._store_reports(good)
        self._count_refused(0, found - new)
        return json.dumps({"new": new, "known": found - new, "refused": wrong}).encode()

    def _store_reports(self, parts: Sequence[tuple[Octets, Octets]]) -> int:
        """Write names and messages to the disk, and count those that were new."""
        names, messages = zip(*parts, strict=True)
        return self._store.add(np.concatenate(names), np.concatenate(messages))

    def _count_refused(self, wrong: int, known: int) -> None:
        with self._lock:
            self.refused += wrong
            self.repeated += known


def create_app(reception: ReportReceiver) -> Starlette:
    """The app of one task: ``GET /task``, ``GET /tasks/NAME``, ``POST /tasks/NAME/reports``."""
    threads = ThreadPoolExecutor(THREADS, "report")

    def require_task(task: str) -> None:
        if task != reception.task_name:
            raise ProtocolError("task", "this server has another task, not this one", 404)

    async def send_document(_: Request) -> Response:
        return Response(reception.task.to_json() + "\n", media_type="application/json")

    async def send_status(task: str, _: Request) -> Response:
        require_task(task)
        return await respond_from_thread(reception.encode_status)

    async def accept_reports(task: str, request: Request) -> Response:
        require_task(task)
        name = reception.verify_invitation(request)
        message = await read_body(request, reception.max_message_size)
        sender = parse_network(request.client.host if request.client else "")
        return await respond_from_thread(lambda: reception.receive_reports(message, sender, name), threads)

    return create_task_app(send_status, {"reports": accept_reports}, [Route("/task", send_document, methods=["GET"])])


@dataclass(frozen=True, slots=True)
class ReportServer:
    """The server of one task, before it runs.

    Attributes:
        task: The task.
        store: The file of reports.
        certificate: The file with what proves the server.
        key: The file with the private key of that.
        limits: What strangers may take up.
        max_reports: How many reports are kept at most; None: ten times the people of the task, and 100,000 at least.
        quota: How many reports are taken in a minute.
        monitoring: How it is watched.
    """

    task: Task
    store: Path
    certificate: Path
    key: Path
    limits: Limits = USUAL
    max_reports: int | None = None
    quota: Quota = NO_QUOTA
    monitoring: Monitoring = UNWATCHED

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Take reports until the process is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: the certificate is none, or has expired; or the store or the address can not be had.
        """
        context = make_standalone_context(self.certificate, self.key)
        kept = ReportStore(self.store, self.task, self.max_reports)
        try:
            door = ServerSettings(address, context, self.limits, self.monitoring)
            serve(create_app(ReportReceiver(self.task, kept, self.quota)), door, ready)
        finally:
            kept.close()
