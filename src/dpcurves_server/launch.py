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

from dpcurves.arguments import Named, Refused
from dpcurves.ledger import BudgetExceeded
from dpcurves_parties.serving.messages import ProtocolAborted, Trouble
from dpcurves_parties.serving.monitoring import UNWATCHED, Monitoring, tell_operator
from dpcurves_parties.serving.server import USUAL, Address, Door, Limits, proving_alone, serve

from .api import PREFIX, ROUTER
from .forms import Form
from .front import PER_MINUTE, Front, Gate, Shield
from .issuer import Issuer
from .pages.site import prepare, routes
from .pages.visits import Site
from .people import Rate
from .queue import Does, Queue
from .store import Archive
from .visitors import MACHINE

UNFORESEEN = "server: something went wrong here; what was asked was not done"


def create_app(front: Front, pages: Sequence[BaseRoute] = ()) -> Shield:
    """The app of one server.

    Args:
        front: Who may come.
        pages: Routes of people, beside those of programs.
    """
    app = FastAPI(
        title="dpcurves verification server", version="1", openapi_url=f"{PREFIX}/openapi.json", docs_url=None,
        redoc_url=None,
    )  # fmt: skip
    app.state.front = front
    app.include_router(ROUTER)
    app.router.routes.extend(pages)
    app.add_exception_handler(Named, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(Exception, _unforeseen)
    return Shield(app)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ProtocolAborted) else 409 if isinstance(error, BudgetExceeded) else 400
    if isinstance(error, Trouble):
        tell_operator(error.where)
    return JSONResponse({"error": _text(str(error))}, status)


async def _misread(request: Request, error: Exception) -> Response:
    """The first thing that is wrong with a message, without what was sent."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": "it is none"}
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "message"
    return JSONResponse({"error": _text(f"{where[:100]}: {first['msg']}")}, 400)


async def _unrouted(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = {404: "path: there is nothing of this name", 405: "method: this path takes another one"}
    return JSONResponse({"error": words.get(status, "message: it can not be read")}, status)


async def _unforeseen(request: Request, error: Exception) -> Response:
    last = extract_tb(error.__traceback__)[-1]
    tell_operator(f"{type(error).__name__} in {last.name}; nothing was told")
    return JSONResponse({"error": UNFORESEEN}, 500)


def _text(line: str) -> str:
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

    def __init__(self, url: str, number: int, every: float) -> None:
        self._url, self._every = url, every
        self._queue = Queue(Archive(url))
        self._parts = [Does.CHARGES, *[Does.COUNTS] * number]
        self._running: dict[str, tuple[Does, subprocess.Popen[str]]] = {}
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._keep, self._strike)]

    def start(self) -> None:
        """Begin: what workers of an earlier server had claimed is free again."""
        self._queue.free()
        for does in self._parts:
            self._start(does)
        for thread in self._threads:
            thread.start()

    def call(self) -> None:
        """Say that there is something to do."""
        for _, process in list(self._running.values()):
            _tell(process, "\n")

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

    def _start(self, does: Does) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpcurves_server.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        name = secrets.token_hex(8)
        _tell(process, f"{self._url} {name} {does.value}\n")
        self._running[name] = (does, process)  # from now on others call it, too: their line is not its first

    def _keep(self) -> None:
        while not self._ended.wait(POLL):
            for name, (does, process) in list(self._running.items()):
                if process.poll() is not None:
                    with suppress(Exception):  # the database may be away; the claim ends by itself
                        self._queue.free(name)
                    del self._running[name]
                    self._start(does)

    def _strike(self) -> None:
        while not self._ended.wait(self._every - time.time() % self._every):
            with suppress(Exception):  # said where it is asked for; the clock goes on
                self._queue.strike()


def _tell(process: subprocess.Popen[str], line: str) -> None:
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
        every: Seconds between two strikes of the public clock, at which answers appear.
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
    every: float = 2.0
    limits: Limits = USUAL
    per_minute: int = PER_MINUTE
    forms: Mapping[str, Form] = field(default_factory=dict)
    issuer: Issuer | None = None
    monitoring: Monitoring = UNWATCHED

    def __post_init__(self) -> None:
        if self.workers < 1 or not self.every > 0 or self.per_minute < 1:
            raise Refused("workers, every", "at least one worker and some time between strikes of the clock are needed")

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until the process is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: the certificate is none, or has expired; or the store or the address can not be had.
        """
        context = proving_alone(self.certificate, self.key)
        prepare()
        sys.setswitchinterval(TURN)
        gc.freeze()  # what was read by now stays: nobody waits while it is looked through for what may go
        workers = Workers(self.store, self.workers, self.every)
        gate = Gate(self.store, workers.call)
        front = Front(gate, people=Rate(self.per_minute))
        workers.start()
        gate.studio.start()
        try:
            app = create_app(front, routes(Site(front, self.forms, self.issuer)))
            serve(app, Door(address, context, self.limits, self.monitoring, lambda: gate.people.all(MACHINE)), ready)
        finally:
            gate.studio.stop()
            workers.stop()
