"""The HTTP application of a server that works on tasks: bounded bodies, errors of one line, tickets."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from traceback import extract_tb
from typing import Any, Protocol, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from .messages import ProtocolAborted, Trouble
from .task_document import Role, hash_of

# Request and response bodies: bounded sizes, and errors of one line.
BEGIN, SLOWEST = 10, 2**16
"""A message has so many seconds, and one for each so many bytes that it may have."""


async def refused(request: Request, error: Exception) -> Response:
    """One line about what was wrong."""
    status = error.status if isinstance(error, ProtocolAborted) else 500
    return JSONResponse({"error": str(error)}, status)


async def told(work: Callable[[], bytes], threads: ThreadPoolExecutor | None = None) -> Response:
    """The answer of a service, worked out beside the loop. Of unforeseen errors only type and place are told."""
    try:
        answer = await asyncio.get_running_loop().run_in_executor(threads, work)
        return Response(answer, media_type="application/json")
    except ProtocolAborted as error:
        if error.status == 500:
            _tell_operator(error.where if isinstance(error, Trouble) else str(error))
        raise
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        rule = f"{type(error).__name__} in {last.name}; nothing was told"
        _tell_operator(f"server: {rule}")
        raise ProtocolAborted("server", rule, 500) from None


def tell_of(work: Callable[[], object]) -> None:
    """Do what nobody waits for; the operator hears of troubles."""
    try:
        work()
    except ProtocolAborted as error:
        if error.status == 500:
            _tell_operator(error.where if isinstance(error, Trouble) else str(error))
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        _tell_operator(f"server: {type(error).__name__} in {last.name}; nothing was told")


def _tell_operator(line: str) -> None:
    with suppress(OSError):  # what it goes to may be what is full
        print(f"dpcurves: {line}", file=sys.stderr, flush=True)


async def body_of(request: Request, most: int) -> bytes:
    """What is said in a request. Raises `ProtocolAborted`: it has more than `most` bytes, or comes too slowly."""
    seconds = BEGIN + most / SLOWEST
    try:
        return await asyncio.wait_for(_read(request, most), seconds)
    except TimeoutError:
        raise ProtocolAborted("message", f"it did not come within {seconds:.0f} seconds", 408) from None


async def _read(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise ProtocolAborted("message", f"at most {most} bytes are taken", 413)
        parts.append(part)
    return b"".join(parts)


Service = TypeVar("Service")
Handler = Callable[..., Coroutine[Any, Any, Response]]


class Ticketed(Protocol):
    """A task, as far as it says whose tickets are good."""

    @property
    def bearers(self) -> Mapping[tuple[Role, str], int]:
        """The numbers of bearers, by role and hash of token."""
        ...


def task_app(standing: Handler, handlers: Mapping[str, Handler]) -> FastAPI:
    """Answer ``GET /tasks/NAME``, and ``POST`` below it by these handlers; errors are one line."""
    app = FastAPI(title="dpcurves aggregator", openapi_url=None, docs_url=None, redoc_url=None)
    app.get("/tasks/{task}")(standing)
    for path, handler in handlers.items():
        app.post(f"/tasks/{{task}}/{path}")(handler)
    app.exception_handler(ProtocolAborted)(refused)
    return app


def service_of(services: Mapping[str, Service], task: str) -> Service:
    """The one that works on this task. Raises `ProtocolAborted`: there is none."""
    if task not in services:
        raise ProtocolAborted("task", "this server has another task, not this one", 404)
    return services[task]


def bearer_of(task: Ticketed, request: Request, role: Role) -> int:
    """The number of who holds a ticket of this role. Raises `ProtocolAborted`: the request has none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    number = task.bearers.get((role, hash_of(token)))
    if kind != "Bearer" or number is None:
        raise ProtocolAborted("ticket", f"that of {role.bearer} of this task is needed", 403)
    return number
