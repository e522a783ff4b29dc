"""The HTTP application of a server that works on tasks: bounded bodies, errors of one line, tickets."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from traceback import extract_tb
from typing import Any, Generic, Protocol, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .messages import ProtocolAborted, Trouble
from .monitoring import tell_operator
from .task_document import Role, TaskDocument, bearer_shown

# Request and response bodies: bounded sizes, and errors of one line.
BEGIN, SLOWEST = 10, 2**16
"""A message has so many seconds, and one for each so many bytes that it may have."""


async def refused(request: Request, error: Exception) -> Response:
    """A response of one line: the error."""
    status = error.status if isinstance(error, ProtocolAborted) else 500
    return JSONResponse({"error": str(error)}, status)


async def told(work: Callable[[], bytes], threads: ThreadPoolExecutor | None = None) -> Response:
    """The answer of a service, worked out beside the loop. Of unforeseen errors only type and place are told."""
    return await told_soon(asyncio.get_running_loop().run_in_executor(threads, work))


async def told_soon(coming: Awaitable[bytes]) -> Response:
    """The answer of a service that is being worked out. Of unforeseen errors only type and place are told."""
    try:
        return Response(await coming, media_type="application/json")
    except Exception as error:
        rule = _heeded(error)
        if isinstance(error, ProtocolAborted):
            raise
        raise ProtocolAborted("server", rule, 500) from None


def tell_of(work: Callable[[], object]) -> None:
    """Do what nobody waits for; the operator hears of troubles."""
    try:
        work()
    except Exception as error:
        _heeded(error)


def _heeded(error: Exception) -> str:
    """Tell the operator of a trouble; of an unforeseen error type and place alone, which are returned."""
    if isinstance(error, ProtocolAborted):
        if error.status == 500:
            tell_operator(error.where if isinstance(error, Trouble) else str(error))
        return error.rule
    rule = f"{type(error).__name__} in {extract_tb(error.__traceback__)[-1].name}; nothing was told"
    tell_operator(f"server: {rule}")
    return rule


MOST_OF_ONE = 16
"""Bodies of one bearer token that are on their way at a time."""
_on_their_way: Counter[str] = Counter()


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request.

    Raises:
        ProtocolAborted: it has more than `most` bytes, or comes too slowly; or others of the same bearer token are on
            their way, as many as may be.
    """
    seconds, bearer = BEGIN + most / SLOWEST, request.headers.get("authorization", "")
    if bearer and _on_their_way[bearer] >= MOST_OF_ONE:
        raise ProtocolAborted("message", f"at most {MOST_OF_ONE} of one ticket are taken at a time; wait for one", 429)
    _on_their_way[bearer] += 1
    try:
        async with asyncio.timeout(seconds):
            return await _read(request, most)
    except TimeoutError:
        raise ProtocolAborted("message", f"it did not come within {seconds:.0f} seconds", 408) from None
    finally:
        _on_their_way[bearer] -= 1
        if not _on_their_way[bearer]:
            del _on_their_way[bearer]


async def _read(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise ProtocolAborted("message", f"at most {most} bytes are taken", 413)
        parts.append(part)
    return b"".join(parts)


MOST_KEPT = 20_000
MINUTE = 60.0


@dataclass
class Rate:
    """So many requests a minute, of each who asks.

    Attributes:
        most: How many a minute.
        what: What is refused where there are more.
        remedy: What to do then.
        done: What is done with them, as a participle.
    """

    most: int
    what: str = "requests"
    remedy: str = "wait a minute"
    done: str = "answered"
    _minute: int = field(default=0, init=False)
    _asked: dict[Hashable, int] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def count(self, who: Hashable, many: int = 1) -> None:
        """Count requests. Raises `ProtocolAborted`: there were too many in this minute."""
        with self._lock:
            minute = int(time.monotonic() // MINUTE)
            if minute != self._minute or len(self._asked) > MOST_KEPT:
                self._minute, self._asked = minute, {}
            self._asked[who] = self._asked.get(who, 0) + many
            too_many = self._asked[who] > self.most
        if too_many:
            raise ProtocolAborted(self.what, f"at most {self.most} a minute are {self.done}; {self.remedy}", 429)


Handler = Callable[..., Coroutine[Any, Any, Response]]


class TaskHandler(Protocol):
    """The service of one task, as far as those of all kinds are alike."""

    @property
    def task(self) -> TaskDocument: ...

    @property
    def party(self) -> int: ...

    def standing(self) -> bytes: ...

    def close(self, message: bytes, /) -> bytes: ...

    def answer(self, message: bytes, analyst: int, /) -> bytes: ...


Service = TypeVar("Service", bound=TaskHandler)


def task_app(standing: Handler, handlers: Mapping[str, Handler], more: Sequence[Route] = ()) -> Starlette:
    """Answer ``GET /tasks/NAME``, ``POST`` below it by these handlers, and what more there is; errors are one line.

    Handlers are asked in their order: the first is found first.
    """
    posts = [Route(f"/tasks/{{task}}/{path}", _told_apart(each), methods=["POST"]) for path, each in handlers.items()]
    routes = [*posts, Route("/tasks/{task}", _told_apart(standing), methods=["GET"]), *more]
    return Starlette(routes=routes, exception_handlers={ProtocolAborted: refused})


def _told_apart(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler of a request, which is given the parts of its path before it."""

    async def answered(request: Request) -> Response:
        return await handler(*request.path_params.values(), request)

    return answered


class Front(Generic[Service]):
    """Router of what is asked of any task: authorises requests, and forwards each to the service of the task.

    Args:
        services: A service for each task.
        largest: Bytes of a question, or of what closes a task.
    """

    def __init__(self, services: Mapping[str, Service], largest: int) -> None:
        self._services, self._largest = services, largest

    async def standing(self, task: str, _: Request) -> Response:
        """Respond to anybody with the state of the task."""
        return await told(self.service(task).standing)

    async def close(self, task: str, request: Request) -> Response:
        """Close the task for the coordinator."""
        service = self.service(task)
        bearer_of(service.task, request, Role.COORDINATOR, service.party)
        message = await body_of(request, self._largest)
        return await told(lambda: service.close(message))

    async def answers(self, task: str, request: Request) -> Response:
        """Respond to an analyst's question."""
        service = self.service(task)
        analyst = bearer_of(service.task, request, Role.ANALYST, service.party)
        self.count(task, analyst)
        message = await body_of(request, self._largest)
        return await told(lambda: service.answer(message, analyst))

    def count(self, task: str, analyst: int) -> None:
        """Count a question. Raises `ProtocolAborted`: there were too many."""

    def service(self, task: str) -> Service:
        """The one that works on this task. Raises `ProtocolAborted`: there is none."""
        if task not in self._services:
            raise ProtocolAborted("task", "this server has another task, not this one", 404)
        return self._services[task]


def bearer_of(task: TaskDocument, request: Request, role: Role, party: int = 0) -> int:
    """The number of who holds a ticket of this role, and shows it to the server of this number.

    Raises:
        ProtocolAborted: the request has none, or one that was shown to another server.
    """
    return bearer_shown(task, shown_in(request), role, party)


def shown_in(request: Request) -> str:
    """The bearer token of a request; empty where there is none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind == "Bearer" else ""
