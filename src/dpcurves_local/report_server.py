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

from dpcurves.arguments import Refused
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.group_commit import GroupCommit
from dpcurves_parties.serving.messages import ProtocolAborted, Trouble, facts_of
from dpcurves_parties.serving.monitoring import UNWATCHED, Monitoring, tell_operator
from dpcurves_parties.serving.server import USUAL, Address, Door, Limits, network_of, proving_alone, serve
from dpcurves_parties.serving.task_app import Rate, body_of, task_app, told

from .collection import Seen, invited
from .report_file import Form, Octets, octets_of
from .task import Task
from .trust import Tables

try:
    import fcntl
except ImportError:  # where there is no such lock
    fcntl = None  # type: ignore[assignment]

ROWS = 2**16
ROOM, LEAST_ROOM = 10, 100_000
"""A store takes so many times the people of the task, and so many reports at least, unless a number is named."""
OTHER = "there is a file of this name that holds something else than reports of this task; it is not written to"


class Offer(NamedTuple):
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

    def __init__(self, path: str | Path, task: Task, most: int | None = None) -> None:
        self.most = max(LEAST_ROOM, ROOM * task.people) if most is None else most
        self._path, self._form, self._seen, self._end = Path(path), task.form, Seen(), 0
        self._stride = len(self._form.alone) + self._form.record
        self._queue = GroupCommit(self._written, lambda offer: len(offer.names), ROWS)
        self._broken = self._full = False
        try:
            self._file = _opened(self._path)
        except OSError as error:
            raise Refused("store", f"the file can not be written ({error.strerror})") from None
        self._begin()

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
            return self._queue.submit(Offer(names, messages)).result()
        except OSError as error:
            reason = error.strerror or "no reason given"
            trouble = Trouble("store", f"it takes no more reports now ({reason})", f"store: {self._path}: {reason}")
        raise trouble

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _written(self, offers: Sequence[Offer]) -> list[int | Exception]:
        """Numbers of new reports of each offer: these are on disk now, and their names known."""
        if self._broken:
            raise OSError(EIO, "an earlier report failed halfway: start the server again")
        names, messages = (np.concatenate(parts) for parts in zip(*offers, strict=True))
        fresh, run = self._seen.looked_up(names)
        if self.reports + len(run) > self.most:
            return self._while_there_is_room(offers)
        try:
            self._append(self._form.written_singly(names[fresh], messages[fresh]))
            self._seen.keep(run)
        except BaseException as error:
            self._broken = not isinstance(error, OSError)  # else the file is read again by whoever opens it next
            raise
        ends = np.cumsum([len(offer.names) for offer in offers])[:-1]
        return [int(part.sum()) for part in np.split(fresh, ends)]

    def _while_there_is_room(self, offers: Sequence[Offer]) -> list[int | Exception]:
        """Write offers one after another, as far as all of an offer fits."""
        if len(offers) > 1:
            return [outcome for offer in offers for outcome in self._written([offer])]
        rule = f"it holds {self.reports} of at most {self.most} reports, and these do not fit"
        if not self._full:
            tell_operator(f"store: {rule}; --most allows more")
        self._full = True
        return [ProtocolAborted("store", rule, 507)]

    def _append(self, parts: bytes) -> None:
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

    def _begin(self) -> None:
        data = octets_of(self._path)
        whole = len(data) - len(data) % self._stride
        for start in range(0, whole, ROWS * self._stride):
            flat = np.frombuffer(data[start : min(start + ROWS * self._stride, whole)], dtype=np.uint8)
            self._require_heads(flat.reshape(-1, self._stride)[:, : len(self._form.alone)], self._form.alone)
        torn = np.frombuffer(data[whole:], dtype=np.uint8)[: len(self._form.alone)]
        self._require_heads(torn[None], self._form.alone[: len(torn)])
        for records in self._form.read(data[:whole]):
            self._seen.new(records.names)
        del data, torn  # a file that is looked at is not cut everywhere
        os.ftruncate(self._file, whole)
        self._end = whole

    def _require_heads(self, found: Octets, wanted: bytes) -> None:
        """Each octet is as it should be; or zero, as a machine that lost power leaves what had not reached the disk."""
        if not np.all((found == np.frombuffer(wanted, dtype=np.uint8)) | (found == 0)):
            os.close(self._file)
            raise Refused("store", OTHER)


def _opened(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise Refused("store", "a server that runs has this file") from None
    if os.name == "posix":
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else a loss of power could forget the name of the file
        finally:
            os.close(folder)
    return file


LARGEST = 2**20
"""Bytes of one message, unless one report has more."""


class Sent(NamedTuple):
    """Counts of sent reports: new to the server, known before, and invalid."""

    new: int = 0
    known: int = 0
    refused: int = 0


def send(
    reports: bytes | memoryview, server: Channel, progress: Callable[[int], object] = lambda gone: None,
    invitation: str = "",
) -> Sent:  # fmt: skip
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
    form = Form.of(reports)
    if form is None:
        raise Refused("reports", "these are no reports of a task of the local model")
    sent, path = Sent(), f"/tasks/{form.task.hex()}/reports"
    for message, damaged in _messages(form, reports):
        sent = Sent(sent.new, sent.known, sent.refused + damaged)
        if message:
            facts = facts_of(server.post(path, message, invitation), "server", new=int, known=int, refused=int)
            sent = Sent(*(before + facts[name] for name, before in sent._asdict().items()))
        progress(sum(sent) * form.record)
    if not sent.new + sent.known:
        raise Refused("reports", f"{sent.refused} refused: damaged, cut off, or of another task")
    return sent


def _messages(form: Form, reports: bytes | memoryview) -> Iterator[tuple[bytes, int]]:
    """Messages of a size that is taken, and how many reports before each are none."""
    most = max(1, (LARGEST - len(form.alone)) // form.record)
    for records in form.read(reports):
        yield b"", records.damaged
        for start in range(0, len(records.names), most):
            rows = slice(start, start + most)
            yield form.written_all(records.names[rows], records.messages[rows]), 0


@dataclass(frozen=True)
class Quota:
    """Rate limits of reports in a minute, for each network address and for all together; None: no limit.

    Attributes:
        of_one: Those of one IPv4 address, or of one IPv6 network of 64 bits.
        of_all: All reports together.
    """

    of_one: int | None = None
    of_all: int | None = None

    @cached_property
    def _rates(self) -> list[tuple[Rate, bool]]:
        limits = ((self.of_one, True, "of one address"), (self.of_all, False, "of all"))
        return [
            (Rate(most, "reports", "wait a minute, or send fewer at a time", f"taken {whose}"), alone)
            for most, alone, whose in limits
            if most is not None
        ]

    def count(self, sender: str, reports: int) -> None:
        """Count reports of a sender. Raises `ProtocolAborted`: they are too many in this minute."""
        for rate, alone in self._rates:
            rate.count(sender if alone else "", reports)


NO_QUOTA = Quota()
THREADS = 64
"""The most reports that wait for the disk together: they share one sync."""


class Reception:
    """The receiver of a task's reports: stores good ones, counts refused and repeated ones.

    Attributes:
        task: The task.
        refused: How many since the start were damaged, cut off, of another task, or no reports at all.
        repeated: How many since the start were of names whose report is kept.
    """

    def __init__(self, task: Task, store: ReportStore, quota: Quota = NO_QUOTA) -> None:
        self.task, self.refused, self.repeated = task, 0, 0
        self._quota = quota
        self._store, self._tables, self._lock = store, Tables(task.plan), Lock()

    @property
    def name(self) -> str:
        """The first half of the task's hash, as reports name it."""
        return self.task.form.task.hex()

    @property
    def largest(self) -> int:
        """The largest message in bytes."""
        return max(LARGEST, len(self.task.form.alone) + self.task.form.record)

    def standing(self) -> bytes:
        """The number of stored reports, those of people of an earlier round among them: public."""
        facts = {"task": self.name, "reports": self._store.reports, "most": self._store.most}
        return json.dumps({**facts, "repeated": self.repeated, "refused": self.refused}).encode()

    def named_in(self, request: Request) -> bytes | None:
        """The name that the invitation of a request is for; None where the task asks for no invitations.

        Raises:
            ProtocolAborted: there is no invitation to this task.
        """
        if self.task.invitations is None:
            return None
        _, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            return invited(self.task, token)
        except ValueError:
            raise ProtocolAborted("invitation", "a report to this task needs one", 403) from None

    def receive(self, message: bytes, sender: str = "", name: bytes | None = None) -> bytes:
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
        for records in self.task.form.read(message):
            readable = self._tables.are_messages(self.task.heard(records))
            if name is not None:
                readable &= (records.names == np.frombuffer(name, dtype=np.uint8)).all(axis=1)
            before = self.task.reported_before(records.names)
            for part, which in ((good, readable & ~before), (again, readable & before)):
                part.append((records.names[which], records.messages[which]))
            wrong += records.damaged + len(readable) - len(good[-1][0])
        found, met = (sum(len(names) for names, _ in each) for each in (good, again))
        self._count(wrong, 0)
        self._quota.count(sender, found + met)
        if met:
            self._keep(again)
        if not found:
            rule = f"{wrong} refused: damaged, cut off, or of another task" if wrong else "the message holds none"
            rule = f"{met} refused: reported in the first round, and each person reports once" if met else rule
            raise ProtocolAborted("reports", rule)
        new = self._keep(good)
        self._count(0, found - new)
        return json.dumps({"new": new, "known": found - new, "refused": wrong}).encode()

    def _keep(self, parts: Sequence[tuple[Octets, Octets]]) -> int:
        """Write names and messages to the disk, and count those that were new."""
        names, messages = zip(*parts, strict=True)
        return self._store.add(np.concatenate(names), np.concatenate(messages))

    def _count(self, wrong: int, known: int) -> None:
        with self._lock:
            self.refused += wrong
            self.repeated += known


def create_app(reception: Reception) -> Starlette:
    """The app of one task: ``GET /task``, ``GET /tasks/NAME``, ``POST /tasks/NAME/reports``."""
    threads = ThreadPoolExecutor(THREADS, "report")

    def require(task: str) -> None:
        if task != reception.name:
            raise ProtocolAborted("task", "this server has another task, not this one", 404)

    async def document(_: Request) -> Response:
        return Response(reception.task.to_json() + "\n", media_type="application/json")

    async def standing(task: str, _: Request) -> Response:
        require(task)
        return await told(reception.standing)

    async def reports(task: str, request: Request) -> Response:
        require(task)
        name = reception.named_in(request)
        message = await body_of(request, reception.largest)
        sender = network_of(request.client.host if request.client else "")
        return await told(lambda: reception.receive(message, sender, name), threads)

    return task_app(standing, {"reports": reports}, [Route("/task", document, methods=["GET"])])


@dataclass(frozen=True, slots=True)
class ReportServer:
    """The server of one task, before it runs.

    Attributes:
        task: The task.
        store: The file of reports.
        certificate: The file with what proves the server.
        key: The file with the private key of that.
        limits: What strangers may take up.
        most: How many reports are kept at most; None: ten times the people of the task, and 100,000 at least.
        quota: How many reports are taken in a minute.
        monitoring: How it is watched.
    """

    task: Task
    store: Path
    certificate: Path
    key: Path
    limits: Limits = USUAL
    most: int | None = None
    quota: Quota = NO_QUOTA
    monitoring: Monitoring = UNWATCHED

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Take reports until the process is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: the certificate is none, or has expired; or the store or the address can not be had.
        """
        context = proving_alone(self.certificate, self.key)
        kept = ReportStore(self.store, self.task, self.most)
        try:
            door = Door(address, context, self.limits, self.monitoring)
            serve(create_app(Reception(self.task, kept, self.quota)), door, ready)
        finally:
            kept.close()
