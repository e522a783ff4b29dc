"""The server as others see it: who may say what, and what they hear. Errors are one line; only troubles are logged."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ssl import PEM_cert_to_DER_cert
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Request, Response

from ..serving.entrance import PEER
from ..serving.errors import ProtocolAborted
from ..serving.replies import body_of, refused, told
from ..serving.ticket import Role, hash_of
from .task_service import TaskService

LARGEST_BATCH = 2**23
LARGEST_QUESTION = 2**18
"""Bytes: more than the most thresholds that one message may ask for."""
LARGEST_LISTING = 2**30
FOR_PEER = 8
"""Threads that work for the other server alone."""
OF_PEER: Mapping[str, tuple[Callable[[TaskService, bytes], bytes], int]] = MappingProxyType({
    "close": (lambda service, message: service.closing.lead(), LARGEST_QUESTION),
    "outcome": (lambda service, message: service.closing.outcome(message), LARGEST_QUESTION),
    "prepare": (lambda service, message: service.closing.prepare(message), LARGEST_QUESTION),
    "commit": (lambda service, message: service.closing.commit(message), LARGEST_LISTING),
    "agree": (lambda service, message: service.agree(message), LARGEST_QUESTION),
    "look": (lambda service, message: service.look(message), LARGEST_QUESTION),
    "half": (lambda service, message: service.half(message), LARGEST_LISTING),
})  # fmt: skip
"""What the other server alone may ask, and how many bytes it may say with it."""
PER_MINUTE = 1200
"""Questions that one analyst may ask in a minute: answers cost time, not privacy."""


@dataclass
class Rate:
    """How often each bearer has asked in this minute."""

    most: int = PER_MINUTE
    _minute: int = 0
    _asked: dict[int, int] = field(default_factory=dict)

    def count(self, bearer: int) -> None:
        """One question more.

        Raises:
            ProtocolAborted: there were too many in this minute.
        """
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._asked = minute, {}
        self._asked[bearer] = self._asked.get(bearer, 0) + 1
        if self._asked[bearer] > self.most:
            raise ProtocolAborted("question", f"at most {self.most} a minute are answered; ask again in a minute", 429)


def create_app(services: Mapping[str, TaskService]) -> FastAPI:
    """The app of one server, with a service for each task."""
    app, front = FastAPI(title="dpcurves aggregator", openapi_url=None, docs_url=None, redoc_url=None), Front(services)
    app.get("/tasks/{task}")(front.standing)
    handlers: Mapping[str, Callable[..., Coroutine[Any, Any, Response]]] = {
        "reports": front.reports, "close": front.close, "answers": front.answers, "peer/{what}": front.of_peer,
    }  # fmt: skip
    for path, handler in handlers.items():
        app.post(f"/tasks/{{task}}/{path}")(handler)
    app.exception_handler(ProtocolAborted)(refused)
    return app


class Front:
    """Lets those in who may ask something, each to the service of the task."""

    def __init__(self, services: Mapping[str, TaskService]) -> None:
        self._services, self._rates = services, {task: Rate() for task in services}
        # Answers wait for the other server, so its threads are no analyst's: else both servers could wait for each
        # other.
        self._others = ThreadPoolExecutor(FOR_PEER, "peer")

    async def standing(self, task: str) -> Response:
        """Anybody: where the task stands."""
        return await told(self._service(task).standing)

    async def reports(self, task: str, request: Request) -> Response:
        """An owner sends a batch."""
        service = self._service(task)
        owner, message = _bearer(service, request, Role.OWNER), await body_of(request, LARGEST_BATCH)
        return await told(lambda: service.receive(owner, message))

    async def close(self, task: str, request: Request) -> Response:
        """The coordinator closes the task."""
        service = self._service(task)
        _bearer(service, request, Role.COORDINATOR)
        return await told(service.closing.close)

    async def answers(self, task: str, request: Request) -> Response:
        """An analyst asks."""
        service = self._service(task)
        self._rates[task].count(_bearer(service, request, Role.ANALYST))
        message = await body_of(request, LARGEST_QUESTION)
        return await told(lambda: service.answer(message))

    async def of_peer(self, task: str, what: str, request: Request) -> Response:
        """The other server asks."""
        service = self._service(task)
        _require_peer(service, request)
        if what not in OF_PEER:
            raise ProtocolAborted("peer", "it asks what this server does not know", 404)
        work, most = OF_PEER[what]
        message = await body_of(request, most)
        return await told(lambda: work(service, message), self._others)

    def _service(self, task: str) -> TaskService:
        if task not in self._services:
            raise ProtocolAborted("task", "this server has another task, not this one", 404)
        return self._services[task]


def _bearer(service: TaskService, request: Request, role: Role) -> int:
    """The number of who holds a ticket of this role."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    number = service.task.bearers.get((role, hash_of(token)))
    if kind != "Bearer" or number is None:
        raise ProtocolAborted("ticket", f"that of {role.bearer} of this task is needed", 403)
    return number


def _require_peer(service: TaskService, request: Request) -> None:
    other = PEM_cert_to_DER_cert(service.task.servers[1 - service.party].certificate)
    if request.scope.get(PEER) != other:
        raise ProtocolAborted("peer", "the other server of this task alone may ask this", 403)
