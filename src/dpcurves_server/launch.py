"""Start and stop of a verification server: ASGI application, TLS listener, worker processes and publication timer.

A verification server answers questions about confidential tables under differential privacy.

    VerificationServer    configuration; its method `serve` runs the server until the process is stopped
    create_app            returns the ASGI application: API, pages, error responses, access control
    Workers               worker processes: one charges questions against privacy budgets, others count the records; of
                          two or more that count, one takes short questions only, so that these need not wait
    publication           answers and other changes of status become visible on a fixed public schedule, because the
                          time that counting took may depend on records

Worker processes end with the server. A worker leases a question while it works on it. Leases that an earlier server
left behind are returned when a new server starts, so that other workers continue.
"""

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
from dpcurves.ledger.chain import LedgerBusy
from dpcurves_parties.serving.database import BUSY_MESSAGE
from dpcurves_parties.serving.messages import ProtocolError, ServerFault
from dpcurves_parties.serving.monitoring import NO_MONITORING, Monitoring, log_operator_message
from dpcurves_parties.serving.server import (
    DEFAULT_LIMITS,
    Address,
    Limits,
    ServerSettings,
    make_standalone_context,
    serve,
)

from .api import PREFIX, ROUTER
from .authentication import REQUESTS_PER_MINUTE, Authenticator
from .forms import Form
from .issuer import Issuer
from .middleware import SecurityMiddleware
from .pages.page_context import Site
from .pages.site import build_routes, preload
from .people import RateLimiter
from .principals import MACHINE
from .queue import Queue, WorkerRole
from .services import Services
from .store import Archive

INTERNAL_ERROR = "server: internal error; the request was not carried out"
"""Error message (status 500) for unexpected exceptions; details stay in the operator's log, as they may reveal
records."""


def create_app(
    authenticator: Authenticator, pages: Sequence[BaseRoute] = (), *, has_api: bool = True
) -> SecurityMiddleware:
    """Return the ASGI application of a verification server: API routes, pages, error handlers and security headers.

    Args:
        authenticator: Finds who sends a request.
        pages: Routes of HTML pages, beside the API.
        has_api: Whether programs may ask by the API, too.

    Returns:
        The application. Errors are answered as JSON, ``{"error": ...}``, without details of unforeseen ones.
    """
    app = FastAPI(
        title="dpcurves verification server", version="1", docs_url=None, redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json" if has_api else None,
    )  # fmt: skip
    app.state.front = authenticator
    if has_api:
        app.include_router(ROUTER)
    app.router.routes.extend(pages)
    app.add_exception_handler(ArgumentError, _handle_refusal)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_unexpected_error)
    return SecurityMiddleware(app)


async def _handle_refusal(request: Request, error: Exception) -> Response:
    """Return the response to a request that was refused: the error message as JSON.

    The status is that of a `ProtocolError`, 409 if the budget is exceeded, else 400. A fault of the server itself is
    also logged for its operator.

    Args:
        request: The refused request; without effect.
        error: Refusal that a route raised.
    """
    status = 400
    if isinstance(error, ProtocolError):
        status = error.status
    elif isinstance(error, BudgetExceeded):
        status = 409
    if isinstance(error, ServerFault):
        log_operator_message(error.where)
    elif isinstance(error, LedgerBusy):
        log_operator_message(error.rule)
        error, status = ProtocolError("store", BUSY_MESSAGE), 503
    return JSONResponse({"error": _replace_surrogates(str(error))}, status)


async def _handle_invalid_request(request: Request, error: Exception) -> Response:
    """Return status 400 with the first validation error of a request's fields as JSON, without the values sent.

    Args:
        request: The refused request; without effect.
        error: Validation error of the framework.
    """
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": "invalid"}
    where = ".".join(str(key) for key in first["loc"] if key != "body") or "message"
    return JSONResponse({"error": _replace_surrogates(f"{where[:100]}: {first['msg']}")}, 400)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Return the status of an unknown path (404) or method (405) as JSON, without details.

    Args:
        request: The refused request; without effect.
        error: Error of the framework; another type than `HTTPException` counts as an unknown path.
    """
    status = error.status_code if isinstance(error, HTTPException) else 404
    messages = {404: "path: not found", 405: "method: not allowed for this path"}
    return JSONResponse({"error": messages.get(status, "message: it cannot be read")}, status)


async def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    """Log the type and the function of an unforeseen exception; return status 500 as JSON, without details.

    Args:
        request: The request that failed; without effect.
        error: The exception, with its traceback.
    """
    last = extract_tb(error.__traceback__)[-1]
    log_operator_message(f"{type(error).__name__} in {last.name}; the client got no details")
    return JSONResponse({"error": INTERNAL_ERROR}, 500)


def _replace_surrogates(line: str) -> str:
    """Return a line in which lone surrogates, which UTF-8 cannot encode, are replaced by question marks."""
    return line.encode(errors="replace").decode()


# The worker processes of a server: started, woken up, and restarted when they end.
#
# One worker only charges, so that the times of charges in the ledger do not depend on counting times. Each worker has a
# unique name, so that a lease that was returned is no longer valid.
#
# The processes are managed by hand instead of in a pool: a child notices the end of its server, even a killed one, by
# the end of its standard input, from which it also reads the secret URL; it inherits no other state.


def choose_roles(number: int) -> tuple[WorkerRole, ...]:
    """Return the roles of the workers of a server: one charges, and `number` count.

    If two or more count, one of them takes short questions alone, so that no slow question delays them.

    Args:
        number: Number of workers that count, at least 0.

    >>> [role.value for role in choose_roles(2)]
    ['charges', 'counts-short', 'counts']
    """
    if number < 2:
        return (WorkerRole.CHARGES, *[WorkerRole.COUNTS] * number)
    return (WorkerRole.CHARGES, WorkerRole.COUNTS_SHORT, *[WorkerRole.COUNTS] * (number - 1))


class Workers:
    """The worker processes and the publication schedule of a server. All end with the server's process.

    Args:
        url: The database.
        roles: The role of each worker; see `choose_roles`.
        interval: Seconds between publication times.
        patience: Seconds that workers have to end their current question when the server stops. One that is killed
            then loses nothing: the next start answers a charged question under the same grant.
    """

    def __init__(self, url: str, roles: Sequence[WorkerRole], interval: float, patience: float = 10.0) -> None:
        self._url = url
        self._patience = patience
        self._roles = roles
        self._every = interval
        self._queue = Queue(Archive(url))
        self._running: dict[str, tuple[WorkerRole, subprocess.Popen[str]]] = {}
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._restart_ended, self._publish_periodically)
        ]

    def start(self) -> None:
        """Start all worker processes and the thread that publishes results on schedule.

        First, questions that workers of an earlier server had leased are returned to the queue.
        """
        self._queue.return_leases()
        for role in self._roles:
            self._start_worker(role)
        for thread in self._threads:
            thread.start()

    def notify(self) -> None:
        """Wake up all workers, because there is a new question, or a plot to draw."""
        for _, process in list(self._running.values()):
            _send_line(process, "\n")

    def stop(self) -> None:
        """Stop publication and all workers, each after its current question; kill them after the patience of all."""
        deadline = time.monotonic() + self._patience
        self._ended.set()
        for thread in self._threads:  # each may wait for a lock of the database that a worker has
            thread.join(max(deadline - time.monotonic(), 0.0))
        running = list(self._running.values())
        for _, process in running:
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
        for _, process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0.0))
            process.kill()

    def _start_worker(self, role: WorkerRole) -> None:
        """Start a worker process of the server, which counts or charges queued questions, under a new random name.

        The process reads the database URL, which may hold a password, from its standard input: all users of a machine
        see the arguments of its programs.

        Args:
            role: Part of the work that the process does.
        """
        process = subprocess.Popen(
            [sys.executable, "-m", "dpcurves_server.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C ends the server, which lets the worker finish its question
        )
        name = secrets.token_hex(8)
        _send_line(process, f"{self._url} {name} {role.value}\n")
        self._running[name] = (role, process)  # after its first line was sent, so that `notify` cannot come first

    def _restart_ended(self) -> None:
        """Replace workers that end, and return their leased questions to the queue, until the server stops.

        It runs in a thread, and looks every half second.
        """
        while not self._ended.wait(0.5):  # seconds
            for name, (does, process) in list(self._running.items()):
                if process.poll() is not None:
                    with suppress(Exception):  # the database may be down; the lease will expire
                        self._queue.return_leases(name)
                    del self._running[name]
                    self._start_worker(does)

    def _publish_periodically(self) -> None:
        """Publish state changes at each publication time until the server stops; runs in a thread."""
        while not self._ended.wait(self._every - time.time() % self._every):
            with suppress(Exception):  # requests report database errors; the schedule continues
                self._queue.publish_states()


def _send_line(process: subprocess.Popen[str], line: str) -> None:
    """Write a line to the standard input of a process; do nothing if the process has ended."""
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.write(line)
            process.stdin.flush()


@dataclass(frozen=True, slots=True)
class VerificationServer:
    """Configuration of a verification server.

    Attributes:
        store: The URL of the database, with ledger and queue.
        certificate: The file of the TLS certificate.
        key: The file of its private key.
        workers: The number of counting workers.
        interval: Seconds between publication times, at which answers appear.
        limits: Limits on unauthenticated clients.
        per_minute: Requests per minute of one account.
        forms: The question forms by command word.
        issuer: An OpenID Connect provider; None for passwords only.
        monitoring: Log and metrics.

    Raises:
        ValueError: A number is not positive.
    """

    store: str
    certificate: Path
    key: Path
    workers: int = 2
    interval: float = 2.0
    limits: Limits = DEFAULT_LIMITS
    per_minute: int = REQUESTS_PER_MINUTE
    forms: Mapping[str, Form] = field(default_factory=dict)
    issuer: Issuer | None = None
    monitoring: Monitoring = NO_MONITORING

    def __post_init__(self) -> None:
        for name, is_valid, rule in (
            ("workers", self.workers >= 1, "must be at least 1, as in 2"),
            ("every", self.interval > 0, "must be more than 0 seconds, as in 60"),
            ("per_minute", self.per_minute >= 1, "must be at least 1 request, as in 60"),
        ):
            if not is_valid:
                raise InvalidArgument(name, rule)

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve the verification server, with its workers, until the process is stopped.

        Args:
            address: Host and port to listen on.
            ready: Function that is called once, when the server listens.

        Raises:
            ValueError: The certificate is invalid or expired, or the database or the address is not available.
        """
        context = make_standalone_context(self.certificate, self.key)
        preload()
        # seconds: a page reads the database some 20 times, and waits for the lock after each
        sys.setswitchinterval(0.0005)
        gc.freeze()  # excludes imported modules from garbage collection pauses
        workers = Workers(self.store, choose_roles(self.workers), self.interval)
        services = Services(self.store, workers.notify)
        authenticator = Authenticator(services, principal_rate=RateLimiter(self.per_minute))
        workers.start()
        services.studio.start()
        try:
            app = create_app(authenticator, build_routes(Site(authenticator, self.forms, self.issuer)))
            serve(
                app,
                ServerSettings(address, context, self.limits, self.monitoring, lambda: services.people.all(MACHINE)),
                ready,
            )
        finally:
            services.studio.stop()
            services.questions.planner.stop()
            workers.stop()
