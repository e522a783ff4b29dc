"""HTTPS server that collects reports in local differential privacy, and appends them to a file.

A report is one person's answer, randomised on the person's device, under a pseudonym. A task is the public document
with the question that is answered.

    ReportStore       an append-only file of reports; each report is on disk before it is acknowledged
    ReportReceiver    checks the reports of a request and stores the valid ones
    ReportServer      serves one task until the process is stopped
    send_reports      the client: sends reports, and can safely send them again

Formal guarantees: devices randomise before they send, so the server handles randomised reports and pseudonyms only.
"""

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
from dpcurves_parties.serving.monitoring import NO_MONITORING, Monitoring, log_operator_message
from dpcurves_parties.serving.server import (
    DEFAULT_LIMITS,
    Address,
    Limits,
    ServerSettings,
    make_standalone_context,
    parse_network,
    serve,
)
from dpcurves_parties.serving.task_app import RateLimiter, create_task_app, read_body, respond_from_thread

from .aggregator import SortedNameSet, verify_invitation
from .report_file import Octets, ReportFormat, map_report_file
from .task import Task
from .trust import ReportAggregator

try:
    import fcntl
except ImportError:  # platforms without this lock
    fcntl = None  # type: ignore[assignment]

ROWS_PER_BATCH = 2**16
"""Largest number of reports that are written to the file together, and read together at startup: some megabytes of
memory."""
NOT_REPORTS_MESSAGE = (
    "the file holds something other than reports of this task and is not written to; name another file"
)
"""Refusal of a file of reports with a header of another task."""


class PendingReports(NamedTuple):
    """The reports of one request, while they wait for the disk.

    Attributes:
        names: Pseudonyms, (people, 8) bytes.
        messages: Messages, (people, octets) bytes.
    """

    names: Octets
    messages: Octets


class ReportStore:
    """An append-only file of the reports of one task, which `dpcurves local aggregate` reads.

    Once `add` returns, the reports are synced to disk: they survive a killed process and a power failure. Requests that
    wait at the same time share one sync (group commit). A pseudonym keeps its first report; a second one is not
    written. An incomplete record at the end of the file was never acknowledged, so it is cut off at startup.

    Args:
        path: The file, which is created if it is missing.
        task: The task of the reports.
        max_reports: Capacity, in reports; None: ten for each person of the task, and at least 100,000.

    Attributes:
        most: Capacity, in reports.

    Raises:
        ValueError: the file cannot be opened, holds something else, or is locked by a running server.
    """

    def __init__(self, path: str | Path, task: Task, max_reports: int | None = None) -> None:
        # 100_000: reports that a store takes at least, unless --max-reports states a limit
        # 10: reports per person of the task that a store takes, unless --max-reports states a limit
        """Open the file of a task's reports, lock it, and cut off an incomplete record at its end.

        Args:
            path: The file, which is created if it is missing.
            task: The task of the reports.
            max_reports: Capacity, in reports; None: ten for each person of the task, and at least 100,000.

        Raises:
            ValueError: the file cannot be opened, holds something else, or is locked by a running server.
        """
        self.most = max(100_000, 10 * task.people) if max_reports is None else max_reports
        self._path = Path(path)
        self._form = task.report_format
        self._seen = SortedNameSet()
        self._end = 0
        self._stride = len(self._form.single_header) + self._form.record_size
        self._queue = GroupCommit(self._write_pending, lambda offer: len(offer.names), ROWS_PER_BATCH)
        self._broken = self._full = False
        try:
            self._file = _open_locked(self._path)
        except OSError as error:
            raise InvalidArgument(
                "store", f"the file cannot be written ({error.strerror}); name a file in a folder that you may write to"
            ) from None
        self._recover_file()

    @property
    def reports(self) -> int:
        """Number of stored reports, with distinct pseudonyms."""
        return self._seen.count

    def add(self, names: Octets, messages: Octets) -> int:
        """Store the reports whose pseudonym is new, and return their number. They are on disk when this returns.

        Args:
            names: Pseudonyms, (people, 8) bytes.
            messages: Messages, (people, octets) bytes.

        Raises:
            ServerFault: the disk fails; none of these reports is guaranteed to be stored.
            ProtocolError: the store is full.
        """
        try:
            return self._queue.submit(PendingReports(names, messages)).result()
        except OSError as error:
            reason = error.strerror or "no reason given"
            trouble = ServerFault(
                "store",
                f"no more reports can be stored now ({reason}); send this report again later",
                f"store: {self._path} cannot be written ({reason}); repair the disk or free space, then "
                "start the server again",
            )
        raise trouble

    def close(self) -> None:
        """Close the file, which releases its lock. Do not add reports afterwards."""
        os.close(self._file)

    def _write_pending(self, offers: Sequence[PendingReports]) -> list[int | Exception]:
        """Write the new reports of several requests with one sync, and return the number of new reports of each
        request.

        Requests that exceed the capacity are written one by one.

        Args:
            offers: Names and messages of each request.

        Returns:
            For each request the number of new reports, or the error that refuses it.

        Raises:
            OSError: the disk fails, or failed before and left a report in part.
        """
        if self._broken:
            raise OSError(EIO, "an earlier report was stored only in part; start the server again")
        names, messages = (np.concatenate(columns) for columns in zip(*offers, strict=True))
        is_new, run = self._seen.find_new(names)
        if self.reports + len(run) > self.most:
            return self._write_until_full(offers)
        try:
            self._append_bytes(self._form.encode_reports_singly(names[is_new], messages[is_new]))
            self._seen.insert_run(run)
        except BaseException as error:
            # otherwise the next process that opens the file reads it again
            self._broken = not isinstance(error, OSError)
            raise
        ends = np.cumsum([len(offer.names) for offer in offers])[:-1]
        return [int(request.sum()) for request in np.split(is_new, ends)]

    def _write_until_full(self, offers: Sequence[PendingReports]) -> list[int | Exception]:
        """Write requests one by one while they fit; return for each the number of new reports, or the error that
        refuses it.

        Args:
            offers: Names and messages of each request.
        """
        if len(offers) > 1:
            return [outcome for offer in offers for outcome in self._write_pending([offer])]
        rule = (
            f"{self.reports} of at most {self.most} reports are stored, and these exceed the limit; "
            "ask the operator of the server for a higher one"
        )
        if not self._full:
            log_operator_message(
                f"store: {self.reports} of at most {self.most} reports are stored, and further ones are "
                "refused; start the server again with a larger --max-reports"
            )
        self._full = True
        return [ProtocolError("store", rule, 507)]

    def _append_bytes(self, content: bytes) -> None:
        """Write bytes at the end of the valid part of the file, and sync them to the disk.

        Args:
            content: Bytes of whole records; empty: nothing is done.

        Raises:
            OSError: the disk fails; the file is then cut back to its earlier length, if the disk allows it.
        """
        if not content:
            return
        remaining = memoryview(content)
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            while remaining:
                remaining = remaining[os.write(self._file, remaining) :]
            os.fsync(self._file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise
        self._end += len(content)

    def _recover_file(self) -> None:
        """Read the pseudonyms of all stored reports at startup, and cut off an incomplete record at the end.

        Raises:
            InvalidArgument: the file holds anything but reports of this task.
        """
        data = map_report_file(self._path)
        valid_size = len(data) - len(data) % self._stride
        for start in range(0, valid_size, ROWS_PER_BATCH * self._stride):
            flat = np.frombuffer(data[start : min(start + ROWS_PER_BATCH * self._stride, valid_size)], dtype=np.uint8)
            self._require_headers(
                flat.reshape(-1, self._stride)[:, : len(self._form.single_header)], self._form.single_header
            )
        torn = np.frombuffer(data[valid_size:], dtype=np.uint8)[: len(self._form.single_header)]
        self._require_headers(torn[None], self._form.single_header[: len(torn)])
        for records in self._form.parse_reports(data[:valid_size]):
            self._seen.mark_new(records.names)
        del data, torn  # a mapped file cannot be truncated on every platform
        os.ftruncate(self._file, valid_size)
        self._end = valid_size

    def _require_headers(self, heads: Octets, expected_head: bytes) -> None:
        """Check that all records of a file have this task's header.

        Zeros are accepted: a power failure leaves them in blocks that had not reached the disk.

        Args:
            heads: Headers in the file, (records, bytes).
            expected_head: Header of this task.

        Raises:
            InvalidArgument: a header in the file belongs to another task; the file is closed.
        """
        if not np.all((heads == np.frombuffer(expected_head, dtype=np.uint8)) | (heads == 0)):
            os.close(self._file)
            raise InvalidArgument("store", NOT_REPORTS_MESSAGE)


def _open_locked(path: Path) -> int:
    """Open or create the file, readable by its owner only, lock it, and return its descriptor.

    Args:
        path: Path of the file.

    Raises:
        InvalidArgument: a running server has locked the file.
        OSError: the file cannot be opened or created.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise InvalidArgument(
            "store", "a running server has locked this file; stop that server, or name another file"
        ) from None
    if os.name == "posix":
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # otherwise a power failure could lose the directory entry
        finally:
            os.close(folder)
    return file


LARGEST_MESSAGE = 2**20
"""Bytes of an upload, unless a single report is larger: clients divide larger files, and the server refuses larger
bodies."""


class DeliveryCounts(NamedTuple):
    """How many sent reports were new to the server, known before, and invalid."""

    new: int = 0
    known: int = 0
    refused: int = 0


def send_reports(
    reports: bytes | memoryview, server: Channel, progress: Callable[[int], object] = lambda gone: None,
    invitation: str = "",
) -> DeliveryCounts:  # fmt: skip
    """Send reports of one task, and return how many were new, known and invalid.

    What the server acknowledged is on its disk. Sending draws no randomness, and the server counts each pseudonym once.
    So after any failure the same reports can be sent again.

    Args:
        reports: One or several results of `Task.randomize`, concatenated.
        server: Channel to the server.
        progress: Called after each message with the number of bytes of records handled so far.
        invitation: Invitation of the person whose report this is, if the task requires one.

    Raises:
        ValueError: there are no valid reports, or the server is unreachable or refuses them.
    """
    form = ReportFormat.from_header(reports)
    if form is None:
        raise InvalidArgument(
            "reports",
            "the file holds no reports of a task of the local model; name one that dpcurves local randomize wrote",
        )
    counts = DeliveryCounts()
    path = f"/tasks/{form.task.hex()}/reports"
    for message, damaged in _split_messages(form, reports):
        counts = DeliveryCounts(counts.new, counts.known, counts.refused + damaged)
        if message:
            facts = parse_fields(server.post(path, message, invitation), "server", new=int, known=int, refused=int)
            counts = DeliveryCounts(*(count + facts[name] for name, count in counts._asdict().items()))
        progress(sum(counts) * form.record_size)
    if not counts.new + counts.known:
        raise InvalidArgument(
            "reports",
            f"{counts.refused} are damaged, cut off, or of another task, and none was stored; send "
            "the file that dpcurves local randomize wrote for this task",
        )
    return counts


def _split_messages(form: ReportFormat, reports: bytes | memoryview) -> Iterator[tuple[bytes, int]]:
    """Yield reports split into messages below the server's size limit, each with the number of damaged records before
    it.

    A number of damaged records comes with an empty message, which is not sent.

    Args:
        form: Format of the reports, with the size of a record.
        reports: Content of a file of reports.
    """
    max_records = max(1, (LARGEST_MESSAGE - len(form.single_header)) // form.record_size)
    for records in form.parse_reports(reports):
        yield b"", records.damaged_count
        for start in range(0, len(records.names), max_records):
            rows = slice(start, start + max_records)
            yield form.encode_reports(records.names[rows], records.messages[rows]), 0


@dataclass(frozen=True)
class Quota:
    """Rate limits in reports a minute, for each network address and in total; None: unlimited.

    Attributes:
        per_address: Limit of one IPv4 address, or of one IPv6 network of 64 bits.
        total: Limit of all reports.
    """

    per_address: int | None = None
    total: int | None = None

    @cached_property
    def _rate_limits(self) -> list[tuple[RateLimiter, bool]]:
        """The rate limiters in use, each with whether it counts every network address separately."""
        limits = ((self.per_address, True, "of one address"), (self.total, False, "of all"))
        return [
            (RateLimiter(limit, "reports", "wait a minute, or send fewer at a time", f"taken {whose}"), per_address)
            for limit, per_address, whose in limits
            if limit is not None
        ]

    def count_reports(self, sender: str, reports: int) -> None:
        """Count the reports of a sender against the limits of this minute.

        Args:
            sender: Network address of the sender.
            reports: Number of reports.

        Raises:
            ProtocolError: a limit is exceeded.
        """
        for rate, per_address in self._rate_limits:
            rate.count_requests(sender if per_address else "", reports)


NO_QUOTA = Quota()
"""No limit on the rate of reports."""


class ReportReceiver:
    """Receives the reports of one task: stores valid ones, and counts refused and repeated ones.

    Attributes:
        task: The task.
        refused: Number of reports since the start that were damaged, truncated, of another task, or not reports.
        repeated: Number of reports since the start whose pseudonym had a report already.
    """

    def __init__(self, task: Task, store: ReportStore, quota: Quota = NO_QUOTA) -> None:
        """Prepare to receive the reports of a task at a server.

        Args:
            task: The task.
            store: File of the accepted reports.
            quota: Limits on reports per minute; default: none.
        """
        self.task = task
        self.refused = 0
        self.repeated = 0
        self._quota = quota
        self._store = store
        self._tables = ReportAggregator(task.plan)
        self._lock = Lock()

    @property
    def task_name(self) -> str:
        """Name of the task in reports: the first half of its hash, in hexadecimal digits."""
        return self.task.report_format.task.hex()

    @property
    def max_message_size(self) -> int:
        """Size limit of a message in bytes."""
        return max(LARGEST_MESSAGE, len(self.task.report_format.single_header) + self.task.report_format.record_size)

    def encode_status(self) -> bytes:
        """Return the public status as JSON: the task, stored reports, capacity, and repeated and refused reports since
        the start.
        """
        facts = {"task": self.task_name, "reports": self._store.reports, "most": self._store.most}
        return json.dumps({**facts, "repeated": self.repeated, "refused": self.refused}).encode()

    def verify_invitation(self, request: Request) -> bytes | None:
        """Return the pseudonym in the invitation of a request; None if the task requires no invitations.

        Args:
            request: A request whose ``Authorization`` header holds the invitation.

        Raises:
            ProtocolError: the request has no valid invitation to this task.
        """
        if self.task.invitations is None:
            return None
        _, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            return verify_invitation(self.task, token)
        except ValueError:
            raise ProtocolError(
                "invitation", "must come with every report to this task: send yours with --invitation", 403
            ) from None

    def receive_reports(self, message: bytes, sender: str = "", name: bytes | None = None) -> bytes:
        """Store the valid reports of a message, and return the numbers of new, known and refused ones as JSON.

        When this returns, the reports are on disk. A report of a person of an earlier round is stored too, but counted
        as refused. The server has seen both reports of this person, so the aggregator must know of them: it leaves the
        later one out, and states the loss of a person who reported twice.

        Args:
            message: Reports, as they were sent.
            sender: Network address of the sender; empty if unknown.
            name: The only pseudonym whose report is accepted; None: all.

        Raises:
            ProtocolError: no report is valid, the limit of this minute is exceeded, or the store is full.
            ServerFault: the disk fails.
        """
        accepted: list[tuple[Octets, Octets]] = []
        repeated_reports: list[tuple[Octets, Octets]] = []
        invalid_count = 0
        for records in self.task.report_format.parse_reports(message):
            readable = self._tables.mark_valid_messages(self.task.expand_messages(records))
            if name is not None:
                readable &= (records.names == np.frombuffer(name, dtype=np.uint8)).all(axis=1)
            reported_earlier = self.task.mark_repeats(records.names)
            is_accepted = readable & ~reported_earlier
            is_repeated = readable & reported_earlier
            accepted.append((records.names[is_accepted], records.messages[is_accepted]))
            repeated_reports.append((records.names[is_repeated], records.messages[is_repeated]))
            invalid_count += records.damaged_count + len(readable) - len(accepted[-1][0])
        accepted_count = sum(len(names) for names, _ in accepted)
        repeated_count = sum(len(names) for names, _ in repeated_reports)
        self._count_refused(invalid_count, 0)
        self._quota.count_reports(sender, accepted_count + repeated_count)

        # Reports of people of the first round are stored, because their loss counts though they are left out.
        if repeated_count:
            self._store_reports(repeated_reports)

        if not accepted_count:
            rule = "must be at least one in a message; send a file that dpcurves local randomize wrote"
            if repeated_count:
                rule = (
                    f"{repeated_count} are of people who reported in the first round, and each person reports once; "
                    "leave them out"
                )
            elif invalid_count:
                rule = (
                    f"{invalid_count} are damaged, cut off, or of another task; none was stored; send those of this "
                    "task"
                )
            raise ProtocolError("reports", rule)

        new_count = self._store_reports(accepted)
        self._count_refused(0, accepted_count - new_count)
        return json.dumps({"new": new_count, "known": accepted_count - new_count, "refused": invalid_count}).encode()

    def _store_reports(self, batches: Sequence[tuple[Octets, Octets]]) -> int:
        """Write reports to the disk, and return how many of their pseudonyms were new.

        Args:
            batches: Pseudonyms and messages of each request, at least one.
        """
        names, messages = zip(*batches, strict=True)
        return self._store.add(np.concatenate(names), np.concatenate(messages))

    def _count_refused(self, wrong: int, repeated: int) -> None:
        """Add to the numbers of refused and of repeated reports, from any thread.

        Args:
            wrong: Number of refused reports.
            repeated: Number of reports of people who had a report already.
        """
        with self._lock:
            self.refused += wrong
            self.repeated += repeated


def create_app(reception: ReportReceiver) -> Starlette:
    """Return the web app of one task: ``GET /task``, ``GET /tasks/NAME``, ``POST /tasks/NAME/reports``.

    Args:
        reception: Receiver of the task's reports, which checks and stores them.
    """
    # 64: threads that store reports: as many requests share one sync of the disk at most
    threads = ThreadPoolExecutor(64, "report")

    def require_task(task: str) -> None:
        """Check that a request is about the task that is served.

        Args:
            task: Name of the task in the URL.

        Raises:
            ProtocolError: it is about another task (status 404).
        """
        if task != reception.task_name:
            raise ProtocolError("task", "is not served here; ask the server that the task document names", 404)

    async def send_document(_: Request) -> Response:
        """Answer with the task document."""
        return Response(reception.task.to_json() + "\n", media_type="application/json")

    async def send_status(task: str, _: Request) -> Response:
        """Answer a request with the public status of the task: numbers of stored, repeated and refused reports.

        Args:
            task: Name of the task in the URL.
        """
        require_task(task)
        return await respond_from_thread(reception.encode_status)

    async def accept_reports(task: str, request: Request) -> Response:
        """Handle a request that posts reports: store them, after checking the invitation if the task requires one.

        Args:
            task: Name of the task in the URL.
            request: The request, whose body holds the reports.
        """
        require_task(task)
        name = reception.verify_invitation(request)
        message = await read_body(request, reception.max_message_size)
        sender = parse_network(request.client.host if request.client else "")
        return await respond_from_thread(lambda: reception.receive_reports(message, sender, name), threads)

    return create_task_app(send_status, {"reports": accept_reports}, [Route("/task", send_document, methods=["GET"])])


@dataclass(frozen=True, slots=True)
class ReportServer:
    """The settings of a server for one task. `serve` starts it.

    Attributes:
        task: The task.
        store: Path of the file of reports.
        certificate: Path of the server's certificate.
        key: Path of its private key.
        limits: Limits for unauthenticated clients.
        max_reports: Capacity in reports; None: ten times the people of the task, and at least 100,000.
        quota: Rate limits.
        monitoring: Settings of metrics and logs.
    """

    task: Task
    store: Path
    certificate: Path
    key: Path
    limits: Limits = DEFAULT_LIMITS
    max_reports: int | None = None
    quota: Quota = NO_QUOTA
    monitoring: Monitoring = NO_MONITORING

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until the process is stopped; call `ready` once the server listens.

        Args:
            address: Address at which the server listens.
            ready: Function that is called once the server listens.

        Raises:
            ValueError: the certificate is invalid or has expired; or the store or the address cannot be opened.
        """
        context = make_standalone_context(self.certificate, self.key)
        store = ReportStore(self.store, self.task, self.max_reports)
        try:
            door = ServerSettings(address, context, self.limits, self.monitoring)
            serve(create_app(ReportReceiver(self.task, store, self.quota)), door, ready)
        finally:
            store.close()
