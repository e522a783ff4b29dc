"""The server as a process: its application and TLS listener, its workers, and the public clock."""

from __future__ import annotations

import gc
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.ledger import BudgetExceeded
from dpcurves_parties.serving.messages import ProtocolError, ServerFault
from dpcurves_parties.serving.monitoring import UNWATCHED, Monitoring, log_operator_message
from dpcurves_parties.serving.server import USUAL, Address, Limits, ServerSettings, make_standalone_context, serve

from .api import PREFIX, ROUTER
from .forms import Form
from .front import PER_MINUTE, Authenticator, SecurityMiddleware, Services
from .issuer import Issuer
from .pages.site import build_routes, preload
from .pages.visits import Site
from .people import RateLimiter
from .queue import Queue, WorkerRole
from .store import Archive
from .visitors import MACHINE

UNFORESEEN = "server: something went wrong here; what was asked was not done"


def create_app(authenticator: Authenticator, pages: Sequence[BaseRoute] = ()) -> SecurityMiddleware:
    """The app of one server.

    Args:
        authenticator: Who may come.
        pages: Routes of people, beside those of programs.
    """
    app = FastAPI(
        title="dpcurves verification server", version="1", openapi_url=f"{PREFIX}/openapi.json", docs_url=None,
        redoc_url=None,
    )  # fmt: skip
    app.state.front = authenticator
    app.include_router(ROUTER)
    app.router.routes.extend(pages)
    app.add_exception_handler(ArgumentError, _handle_refusal)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_unexpected_error)
    return SecurityMiddleware(app)


async def _handle_refusal(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ProtocolError) else 409 if isinstance(error, BudgetExceeded) else 400
    if isinstance(error, ServerFault):
        log_operator_message(error.where)
    return JSONResponse({"error": _replace_surrogates(str(error))}, status)


async def _handle_invalid_request(request: Request, error: Exception) -> Response:
    """The first thing that is wrong with a message, without what was sent."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": "it is none"}
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "message"
    return JSONResponse({"error": _replace_surrogates(f"{where[:100]}: {first['msg']}")}, 400)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = {404: "path: there is nothing of this name", 405: "method: this path takes another one"}
    return JSONResponse({"error": words.get(status, "message: it can not be read")}, status)


async def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    last = extract_tb(error.__traceback__)[-1]
    log_operator_message(f"{type(error).__name__} in {last.name}; nothing was told")
    return JSONResponse({"error": UNFORESEEN}, 500)


def _replace_surrogates(line: str) -> str:
    """A line that can be sent whatever stood in what it quotes."""
    return line.encode(errors="replace").decode()


# The workers of a server: started, told that there is something to do, and started again when one has ended.
#
# One of them charges and counts nothing, so that nobody learns from the ledger how long something was counted. Each
# has a name that no process had before: what it claimed is not its own any more once it was given back.
#
# They are processes of our own, not those of a pool: a child hears by the end of its standard input that its server is
# gone, even if that was killed, and it is told a URL there and inherits nothing else of what the server knows.


POLL = 0.5
"""Seconds between polls of who has ended."""


class Workers:
    """Processes that charge and that count, and the public clock. All end with the process that holds this.

    Args:
        url: The store.
        number: How many count.
        every: Seconds between two strikes of the public clock.
    """

    def __init__(self, url: str, number: int, interval: float) -> None:
        self._url, self._every = url, interval
        self._queue = Queue(Archive(url))
        self._parts = [WorkerRole.CHARGES, *[WorkerRole.COUNTS] * number]
        self._running: dict[str, tuple[WorkerRole, subprocess.Popen[str]]] = {}
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._restart_ended, self._publish_periodically)
        ]

    def start(self) -> None:
        """Begin: what workers of an earlier server had claimed is free again."""
        self._queue.return_leases()
        for does in self._parts:
            self._start_worker(does)
        for thread in self._threads:
            thread.start()

    def notify(self) -> None:
        """Say that there is something to do."""
        for _, process in list(self._running.values()):
            _send_line(process, "\n")

    def stop(self) -> None:
        """End: each worker when it has done with its question."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        for _, process in self._running.values():
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
        for _, process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()

    def _start_worker(self, role: WorkerRole) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpcurves_server.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        name = secrets.token_hex(8)
        _send_line(process, f"{self._url} {name} {role.value}\n")
        self._running[name] = (role, process)  # from now on others call it, too: their line is not its first

    def _restart_ended(self) -> None:
        while not self._ended.wait(POLL):
            for name, (does, process) in list(self._running.items()):
                if process.poll() is not None:
                    with suppress(Exception):  # the database may be away; the claim ends by itself
                        self._queue.return_leases(name)
                    del self._running[name]
                    self._start_worker(does)

    def _publish_periodically(self) -> None:
        while not self._ended.wait(self._every - time.time() % self._every):
            with suppress(Exception):  # said where it is asked for; the clock goes on
                self._queue.publish_states()


def _send_line(process: subprocess.Popen[str], line: str) -> None:
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.write(line)
            process.stdin.flush()


TURN = 0.0005
"""Seconds that a thread may go on while others wait: a page reads the database twenty times, and waits after each."""


@dataclass(frozen=True, slots=True)
class VerificationServer:
    """A server before it runs.

    Attributes:
        store: The URL of its database, ledger and queue included.
        certificate: The file with what proves it.
        key: The file with the private key of that.
        workers: How many processes count.
        interval: Seconds between two strikes of the public clock, at which answers appear.
        limits: What strangers may take up.
        per_minute: How often one person may ask.
        forms: The questions that pages offer, by the word that asks each.
        issuer: Another authority by which people sign in; None: by passwords alone.
        monitoring: How it is watched.

    Raises:
        ValueError: there is no worker, or no time between strikes.
    """

    store: str
    certificate: Path
    key: Path
    workers: int = 2
    interval: float = 2.0
    limits: Limits = USUAL
    per_minute: int = PER_MINUTE
    forms: Mapping[str, Form] = field(default_factory=dict)
    issuer: Issuer | None = None
    monitoring: Monitoring = UNWATCHED

    def __post_init__(self) -> None:
        if self.workers < 1 or not self.interval > 0 or self.per_minute < 1:
            raise InvalidArgument(
                "workers, every", "at least one worker and some time between strikes of the clock are needed"
            )

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until the process is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: the certificate is none, or has expired; or the store or the address can not be had.
        """
        context = make_standalone_context(self.certificate, self.key)
        preload()
        sys.setswitchinterval(TURN)
        gc.freeze()  # what was read by now stays: nobody waits while it is looked through for what may go
        workers = Workers(self.store, self.workers, self.interval)
        gate = Services(self.store, workers.notify)
        front = Authenticator(gate, visitor_rate=RateLimiter(self.per_minute))
        workers.start()
        gate.studio.start()
        try:
            app = create_app(front, build_routes(Site(front, self.forms, self.issuer)))
            serve(
                app,
                ServerSettings(address, context, self.limits, self.monitoring, lambda: gate.people.all(MACHINE)),
                ready,
            )
        finally:
            gate.studio.stop()
            workers.stop()
