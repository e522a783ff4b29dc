"""The aggregator over HTTPS: people read the task and send their reports. No report and no name is in any message."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
from fastapi import FastAPI, Request, Response

from dpcurves_parties.serving.door import USUAL, Door, Limits
from dpcurves_parties.serving.entrance import proving_alone
from dpcurves_parties.serving.errors import ProtocolAborted
from dpcurves_parties.serving.launch import Address, serve
from dpcurves_parties.serving.replies import body_of, refused, told

from .report_file import Octets
from .report_store import ReportStore
from .sending import LARGEST
from .task import Task
from .trust import Tables

THREADS = 64
"""How many wait for the disk at a time: they share one sync."""


class Reception:
    """The receiver of a task's reports: stores good ones, counts refused and repeated ones.

    Attributes:
        task: The task.
        refused: How many since the start were damaged, cut off, of another task, or no reports at all.
        repeated: How many since the start were of names whose report is kept.
    """

    def __init__(self, task: Task, store: ReportStore) -> None:
        self.task, self.refused, self.repeated = task, 0, 0
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
        facts = {"task": self.name, "reports": self._store.reports}
        return json.dumps({**facts, "repeated": self.repeated, "refused": self.refused}).encode()

    def receive(self, message: bytes) -> bytes:
        """Keep the good reports of a message. Once this has returned they are on disk.

        A report of somebody who reported in an earlier round is refused, and kept too: the server has seen both, so
        whoever aggregates leaves it out, and states the loss of a person who reported in both.

        Raises:
            ProtocolAborted: there is no good one; or the disk does not take them.
        """
        good: list[tuple[Octets, Octets]] = []
        again: list[tuple[Octets, Octets]] = []
        wrong = 0
        for records in self.task.form.read(message):
            readable = self._tables.are_messages(self.task.heard(records))
            before = self.task.reported_before(records.names)
            for part, which in ((good, readable & ~before), (again, readable & before)):
                part.append((records.names[which], records.messages[which]))
            wrong += records.damaged + len(readable) - len(good[-1][0])
        found, met = (sum(len(names) for names, _ in each) for each in (good, again))
        self._count(wrong, 0)
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


def create_app(reception: Reception) -> FastAPI:
    """The app of one task: ``GET /task``, ``GET /tasks/NAME``, ``POST /tasks/NAME/reports``."""
    app = FastAPI(title="dpcurves local", openapi_url=None, docs_url=None, redoc_url=None)
    threads = ThreadPoolExecutor(THREADS, "report")

    def require(task: str) -> None:
        if task != reception.name:
            raise ProtocolAborted("task", "this server has another task, not this one", 404)

    async def document() -> Response:
        return Response(reception.task.to_json() + "\n", media_type="application/json")

    async def standing(task: str) -> Response:
        require(task)
        return await told(reception.standing)

    async def reports(task: str, request: Request) -> Response:
        require(task)
        message = await body_of(request, reception.largest)
        return await told(lambda: reception.receive(message), threads)

    app.get("/task", response_class=Response)(document)
    app.get("/tasks/{task}", response_class=Response)(standing)
    app.post("/tasks/{task}/reports", response_class=Response)(reports)
    app.exception_handler(ProtocolAborted)(refused)
    return app


@dataclass(frozen=True, slots=True)
class ReportServer:
    """The server of one task, before it runs.

    Attributes:
        task: The task.
        store: The file of reports.
        certificate: The file with what proves the server.
        key: The file with the private key of that.
        limits: What strangers may take up.
    """

    task: Task
    store: Path
    certificate: Path
    key: Path
    limits: Limits = USUAL

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Take reports until the process is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: the certificate is none, or has expired; or the store or the address can not be had.
        """
        context = proving_alone(self.certificate, self.key)
        kept = ReportStore(self.store, self.task)
        try:
            serve(create_app(Reception(self.task, kept)), address, Door(self.limits), context, ready)
        finally:
            kept.close()
