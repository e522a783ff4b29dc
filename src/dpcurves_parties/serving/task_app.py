"""The app of a server that works on tasks: one service for each, and tickets that say who may ask it what."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from fastapi import FastAPI, Request, Response

from .errors import ProtocolAborted
from .replies import refused
from .ticket import Role, hash_of

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
    """The one that works on this task.

    Raises:
        ProtocolAborted: there is none.
    """
    if task not in services:
        raise ProtocolAborted("task", "this server has another task, not this one", 404)
    return services[task]


def bearer_of(task: Ticketed, request: Request, role: Role) -> int:
    """The number of who holds a ticket of this role.

    Raises:
        ProtocolAborted: the request has none.
    """
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    number = task.bearers.get((role, hash_of(token)))
    if kind != "Bearer" or number is None:
        raise ProtocolAborted("ticket", f"that of {role.bearer} of this task is needed", 403)
    return number
