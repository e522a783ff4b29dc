"""Monitoring of a server: health, readiness, counts in the format of Prometheus, and logs of one line.

Formal guarantees: of a request nothing is counted or logged but its method, its route (the pattern, such as
``/tasks/{task}/reports``, never what stands in its place) and the status of its answer; of a fault, the line that is
told to the operator. No body, share, value, name, token, address or query is read here. How long an answer took is left
out, for counting may take a time that depends on records.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest

from .messages import ProtocolAborted

ALIVE = 2.0
"""Seconds within which the loop of a server that lives has a turn."""
PLAIN, JSON = "plain", "json"


@dataclass
class Log:
    """Lines for who runs the server, on standard error.

    Attributes:
        form: `PLAIN`: faults alone, a line each. `JSON`: an object for each fault and each request.
        faults: Called for each fault.
    """

    form: str = PLAIN
    faults: Callable[[], object] = lambda: None

    def fault(self, line: str) -> None:
        self.faults()
        self._print(f"dpcurves: {line}" if self.form == PLAIN else self._stamped("error", message=line))

    def request(self, **facts: object) -> None:
        """Log a request, where all are logged."""
        if self.form == JSON:
            self._print(self._stamped("info", **facts))

    def _stamped(self, level: str, **facts: object) -> str:
        return json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, **facts})

    def _print(self, line: str) -> None:
        with suppress(OSError):  # what it goes to may be what is full
            print(line, file=sys.stderr, flush=True)


LOG = Log()
"""That of this process, which runs one server."""


def tell_operator(line: str) -> None:
    """Print a line for who runs the server."""
    LOG.fault(line)


@dataclass(frozen=True)
class Monitoring:
    """Monitoring of a server.

    Attributes:
        host: Where health, readiness and counts are asked for, over HTTP without authentication: an address that only
            the own network reaches. None: nowhere.
        port: The port there.
        form: The form of the log, `PLAIN` or `JSON`.
    """

    host: str | None = None
    port: int = 0
    form: str = PLAIN


UNWATCHED = Monitoring()


class Watch:
    """Counts of one server, and answers about them.

    Args:
        connections: Number of connections by their state, asked for each time.
        ready: Does what a server needs to answer at all, such as reading its store; raises where it can not.
    """

    def __init__(self, connections: Callable[[], Mapping[str, int]], ready: Callable[[], object]) -> None:
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        names = ("method", "route", "status")
        self._requests = Counter("dpcurves_requests", "Requests that were answered.", names, registry=self.registry)
        self._faults = Counter("dpcurves_faults", "Faults of the server itself.", registry=self.registry)
        states = Gauge("dpcurves_connections", "Connections of clients by state.", ("state",), registry=self.registry)
        for state in connections():
            states.labels(state).set_function(partial(_number, connections, state))

    def counted(self, app: Any) -> Any:
        """The app, whose requests are counted and logged."""

        async def served(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            async def sent(message: Mapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    self._count(scope, int(message["status"]))
                await send(message)

            await app(scope, receive, sent)

        return served

    def _count(self, scope: Mapping[str, Any], status: int) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = str(getattr(scope.get("route"), "path", "none"))
        self._requests.labels(method, route, str(status)).inc()
        LOG.request(method=method, route=route, status=status)

    @contextmanager
    def answering(self, monitoring: Monitoring, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Answer ``/health``, ``/ready`` and ``/metrics`` while the server runs, from a thread of its own.

        Raises:
            ProtocolAborted: the address can not be had.
        """
        LOG.form, LOG.faults, self._loop = monitoring.form, self._faults.inc, loop
        if monitoring.host is None:
            yield
            return
        try:
            server = make_server(monitoring.host, monitoring.port, self._answer, _Server, _Quiet)
        except OSError:
            place = f"{monitoring.host}:{monitoring.port}"
            raise ProtocolAborted("monitor", f"{place} is taken, or is no address of this machine") from None
        Thread(target=server.serve_forever, name="monitoring", daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()

    def _answer(self, environ: Mapping[str, Any], start: Callable[..., object]) -> list[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            start("200 OK", [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")])
            return [generate_latest(self.registry)]
        checks = {"/health": (self._alive,), "/ready": (self._alive, self._ready)}.get(path)
        if checks is None:
            start("404 Not Found", [TEXT])
            return [b"health, ready and metrics are here\n"]
        try:
            for check in checks:
                check()
        except Exception:  # whatever it is: its line goes to the log of who asked for more than this
            start("503 Service Unavailable", [TEXT])
            return [b"not now\n"]
        start("200 OK", [TEXT])
        return [b"yes\n"]

    def _alive(self) -> None:
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result(ALIVE)


def _number(connections: Callable[[], Mapping[str, int]], state: str) -> float:
    return connections()[state]


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
TEXT = "Content-Type", "text/plain; charset=utf-8"


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    timeout = ALIVE

    def log_message(self, format: str, *args: object) -> None:
        """Log no request for health."""
