"""HTTP application of a task server (Starlette): routes, bearer tokens, rate limits, bounded bodies, one-line errors.

A task is a survey or a count that servers run for an analyst, described by a public document.

    create_task_app       handlers -> ASGI application with ``GET /tasks/NAME`` (status) and ``POST /tasks/NAME/...``
    TaskRouter            handlers of all task types: status, close, questions; subclasses add their own
    authenticate_bearer   request -> number of the ticket's holder, by the bearer token for this server
    RateLimiter           requests a minute for each client; beyond them status 429

Bodies are bounded in size and time, and every error is one line. Of an unexpected error only type and place are logged,
because its text could hold a record.
"""

from __future__ import annotations

import asyncio
import errno
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

from .messages import ProtocolError, ServerFault
from .monitoring import log_operator_message
from .task_document import Role, TaskDocument, find_bearer

BODY_BASE_SECONDS = 10
"""Seconds that any request body may take, before the time that its size limit allows (`LEAST_BYTES_PER_SECOND`); a
slower body is refused with status 408."""
LEAST_BYTES_PER_SECOND = 2**16
"""Bytes per second of the slowest connection for which the time limit of a body is enough: a limit of 1 MiB allows 16
more seconds."""
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Error numbers of the operating system for a full disk or quota, a file too large, or a failing or read-only disk:
clients are told to try again later."""


MOST_BODIES_PER_TOKEN = 16
"""Request bodies that one bearer token may send at the same time; a further one is refused with status 429."""
_on_their_way: Counter[str] = Counter()  # bodies that are being received, by authorization header


Handler = Callable[..., Coroutine[Any, Any, Response]]


class TaskHandler(Protocol):
    """The service of one task, as far as all task types share it."""

    @property
    def task(self) -> TaskDocument:
        """Public document of the task that this handler serves."""
        ...

    @property
    def party(self) -> int:
        """The number of this server in the task: 0 or 1."""
        ...

    def describe_status(self) -> bytes:
        """Return the public state of the task as JSON, such as open or closed."""
        ...

    def close(self, message: bytes, /) -> bytes:
        """Close the task for its coordinator, who sent this message; return the outcome as JSON."""
        ...

    def answer(self, message: bytes, analyst: int, /) -> bytes:
        """Return the response to a question of the analyst of this number, as JSON.

        Args:
            message: The question as JSON.
            analyst: Number of the analyst, whose token was checked.
        """
        ...


Service = TypeVar("Service", bound=TaskHandler)


def create_task_app(
    show_status: Handler, handlers: Mapping[str, Handler], extra_routes: Sequence[Route] = ()
) -> Starlette:
    """Return an ASGI application that serves ``GET /tasks/NAME``, and ``POST`` below it by handlers.

    Args:
        show_status: Handler of the status.
        handlers: Handlers by path below the task, such as ``close``; a path may have parameters. The first matching one
            is used.
        extra_routes: Further routes.
    """
    posts = [
        Route(f"/tasks/{{task}}/{path}", _pass_path_parameters(handler), methods=["POST"])
        for path, handler in handlers.items()
    ]
    routes = [*posts, Route("/tasks/{task}", _pass_path_parameters(show_status), methods=["GET"]), *extra_routes]
    return Starlette(routes=routes, exception_handlers={ProtocolError: render_error})


def _pass_path_parameters(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return a request handler that receives the parts of its path as arguments."""

    async def call_handler(request: Request) -> Response:
        """Call the route's handler with the path's parameters as arguments, and the request as the last argument."""
        return await handler(*request.path_params.values(), request)

    return call_handler


class TaskRouter(Generic[Service]):
    """Router of requests about tasks of any type: authorises requests, and forwards each to the service of the task.

    Args:
        services: A service for each task.
        largest: Size limit, in bytes, of a question and of a request to close a task.
    """

    def __init__(self, services: Mapping[str, Service], largest: int) -> None:
        self._services = services
        self._largest = largest

    async def show_status(self, task: str, _: Request) -> Response:
        """Answer with the public state of a task, as JSON."""
        return await respond_from_thread(self.find_service(task).describe_status)

    async def close_task(self, task: str, request: Request) -> Response:
        """Close the task for the coordinator, whose bearer token the request must have; answer with the outcome.

        Args:
            task: Name of the task.
            request: The request.

        Raises:
            ProtocolError: the task or the token is unknown, the body is too large, or the service refuses.
        """
        service = self.find_service(task)
        authenticate_bearer(service.task, request, Role.COORDINATOR, service.party)
        message = await read_body(request, self._largest)
        return await respond_from_thread(lambda: service.close(message))

    async def answer_question(self, task: str, request: Request) -> Response:
        """Answer a question of an analyst, whose bearer token the request must have.

        Args:
            task: Name of the task.
            request: The request.

        Raises:
            ProtocolError: the task or the token is unknown, the body is too large, or the service refuses.
        """
        service = self.find_service(task)
        analyst = authenticate_bearer(service.task, request, Role.ANALYST, service.party)
        self.count_question(task, analyst)
        message = await read_body(request, self._largest)
        return await respond_from_thread(lambda: service.answer(message, analyst))

    def count_question(self, task: str, analyst: int) -> None:
        """Do nothing: analysts' questions have no rate limit here.

        Args:
            task: Name of the task.
            analyst: Number of the analyst.

        Raises:
            ProtocolError: in subclasses, the analyst asks too often.
        """

    def find_service(self, task: str) -> Service:
        """Return the service that handles requests about a task.

        Args:
            task: Name of the task in the path.

        Raises:
            ProtocolError: the server has no task of this name (status 404).
        """
        if task not in self._services:
            raise ProtocolError("task", "is not served here; ask the server that the task document names", 404)
        return self._services[task]


def authenticate_bearer(task: TaskDocument, request: Request, role: Role, party: int = 0) -> int:
    """Return the number of the holder of a ticket, from the bearer token of a request.

    Args:
        task: Document of the task, with the hashes of its tickets.
        request: The request.
        role: Role that the ticket must have.
        party: Number of this server in the task.

    Raises:
        ProtocolError: the token is missing or unknown, or it is for another role or server.
    """
    return find_bearer(task, parse_bearer_token(request), role, party)


def parse_bearer_token(request: Request) -> str:
    """Return the bearer token of a request; empty if it has no token."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme == "Bearer" else ""


@dataclass
class RateLimiter:
    """Rate limit of requests a minute, for each client.

    Attributes:
        per_minute: Requests a minute.
        subject: Subject of the error beyond the limit.
        remedy: Advice in the error.
        action: Past participle of the action that is limited, for the error.
    """

    per_minute: int
    subject: str = "requests"
    remedy: str = "wait a minute"
    action: str = "answered"
    _minute: int = field(default=0, init=False)
    _counts: dict[Hashable, int] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def count_requests(self, client: Hashable, requests: int = 1) -> None:
        """Count requests of a client in the present minute, and refuse them above the limit.

        Args:
            client: Any key of the client, such as a bearer token or an address.
            requests: Number of requests.

        Raises:
            ProtocolError: the count then exceeds `per_minute` (status 429).
        """
        with self._lock:
            minute = int(time.monotonic() // 60.0)  # seconds of an interval of the rate limit
            # 20_000: number of counted clients above which all counts restart
            if minute != self._minute or len(self._counts) > 20_000:
                self._minute = minute
                self._counts = {}
            self._counts[client] = self._counts.get(client, 0) + requests
            too_many = self._counts[client] > self.per_minute
        if too_many:
            raise ProtocolError(
                self.subject, f"at most {self.per_minute} a minute are {self.action}; {self.remedy}", 429
            )


async def render_error(request: Request, error: Exception) -> Response:
    """Return a JSON response ``{"error": line}`` for an exception.

    Args:
        request: The request that failed.
        error: The exception. Its status is that of a `ProtocolError`, else 500.
    """
    status = error.status if isinstance(error, ProtocolError) else 500
    return JSONResponse({"error": str(error)}, status)


async def respond_from_thread(work: Callable[[], bytes], threads: ThreadPoolExecutor | None = None) -> Response:
    """Return a service's answer as a response, computed in a thread.

    Args:
        work: Computes the JSON body.
        threads: Threads to use; None: those of the event loop.

    Raises:
        ProtocolError: `work` raised it, or another exception, of which only type and place are revealed.
    """
    return await respond_from_future(asyncio.get_running_loop().run_in_executor(threads, work))


async def respond_from_future(future: Awaitable[bytes]) -> Response:
    """Return a service's answer as a response, from a future of the JSON body.

    Args:
        future: Future of the JSON body.

    Raises:
        ProtocolError: the future failed with a `ProtocolError`; or with another exception, of which only type and place
            are revealed (status 500, or 503 if the disk cannot be written).
    """
    try:
        return Response(await future, media_type="application/json")
    except Exception as error:
        rule = _log_error(error)
        if isinstance(error, ProtocolError):
            raise
        raise ProtocolError("server", rule, 503 if _is_of_disk(error) else 500) from None


def run_logged(work: Callable[[], object]) -> None:
    """Run work in the background; an exception is logged for the operator and not raised."""
    try:
        work()
    except Exception as error:
        _log_error(error)


def _log_error(error: Exception) -> str:
    """Log a fault for the operator, and return the line that clients may see.

    Args:
        error: The exception. Of an unexpected one only type and place are logged and returned. A `ProtocolError` is
            logged only if it is a fault of the server (status 500).
    """
    if isinstance(error, ProtocolError):
        if error.status == 500:
            log_operator_message(error.where if isinstance(error, ServerFault) else str(error))
        return error.rule
    if _is_of_disk(error):
        rule = "the disk of this server cannot be written, as when it is full; make room there, then send this again"
    else:
        rule = (
            f"{type(error).__name__} in {extract_tb(error.__traceback__)[-1].name}, an error of "
            "this program; nothing was answered. Please report it"
        )
    log_operator_message(f"server: {rule}")
    return rule


def _is_of_disk(error: Exception) -> bool:
    """Return True if an error says that the disk cannot be written, so that clients learn to try again later.

    Args:
        error: Any exception of a service.

    Returns:
        True for an `OSError` with one of the codes `DISK_ERRORS`; False otherwise.
    """
    return isinstance(error, OSError) and error.errno in DISK_ERRORS


async def read_body(request: Request, max_bytes: int, most_of_one: int = MOST_BODIES_PER_TOKEN) -> bytes:
    """Read the body of a request, within a time limit that grows with the size limit.

    Args:
        request: The request.
        max_bytes: Size limit of the body.
        most_of_one: Largest number of bodies that one bearer token may be sending at the same time.

    Raises:
        ProtocolError: the body exceeds `max_bytes` (status 413), or arrives too slowly (408); or the bearer token has
            too many concurrent bodies (429).
    """
    seconds = BODY_BASE_SECONDS + max_bytes / LEAST_BYTES_PER_SECOND
    bearer = request.headers.get("authorization", "")
    if bearer and _on_their_way[bearer] >= most_of_one:
        raise ProtocolError(
            "message", f"must wait: one ticket sends at most {most_of_one} at a time; send it later", 429
        )
    _on_their_way[bearer] += 1
    try:
        async with asyncio.timeout(seconds):
            return await _read_stream(request, max_bytes)
    except TimeoutError:
        raise ProtocolError(
            "message", f"must arrive within {seconds:.0f} seconds; send it again over a faster connection", 408
        ) from None
    finally:
        _on_their_way[bearer] -= 1
        if not _on_their_way[bearer]:
            del _on_their_way[bearer]


async def _read_stream(request: Request, max_bytes: int) -> bytes:
    """Read the body of a request, and refuse it as soon as it exceeds the size limit.

    Args:
        request: The request.
        max_bytes: Size limit of the body.

    Raises:
        ProtocolError: the body exceeds the limit; raised as soon as it does.
    """
    chunks = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise ProtocolError("message", f"must have at most {max_bytes} bytes; send it in smaller parts", 413)
        chunks.append(chunk)
    return b"".join(chunks)
