"""Monitoring of a server: health and readiness checks, metrics in the Prometheus format, and one-line logs.

    ServerMetrics    counts requests of an ASGI application, and serves ``/health``, ``/ready`` and ``/metrics``
    Monitoring       settings: address of these paths, and format of the log
    Log              log lines on standard error, as plain text or JSON

Formal guarantees: counts and logs of a request depend only on its method, its route (the pattern, such as
``/tasks/{task}/reports``, never the actual path) and the status of its response; log entries of faults also contain the
operator's line. No body, share, value, name, token, address or query string is read here. Response times are left out,
because the time of counting may depend on records.
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

from dpcurves.foreign_text import LONGEST_LINE, escape_for_terminal

from .messages import ProtocolError

LIVENESS_SECONDS = 2.0
"""Seconds within which the event loop must respond, or the health check answers with status 503; also the socket
timeout of the monitoring port."""
PLAIN, JSON = "plain", "json"  # formats of the log


@dataclass
class Log:
    """Log lines for the operator, on standard error.

    Attributes:
        line_format: `PLAIN`: one line per fault. `JSON`: one object per fault and per request.
        on_fault: Called for each fault.
    """

    line_format: str = PLAIN
    on_fault: Callable[[], object] = lambda: None

    def log_fault(self, line: str) -> None:
        """Count a fault, and write its line to standard error in the chosen format."""
        self.on_fault()
        shown = escape_for_terminal(line)
        self._print(
            f"dpcurves: {shown}"
            if self.line_format == PLAIN
            else self._format_entry("error", message=line[:LONGEST_LINE])
        )

    def log_request(self, **facts: object) -> None:
        """Write one line of JSON about a request; nothing in the plain format.

        Args:
            **facts: Fields of the line, such as method, route and status.
        """
        if self.line_format == JSON:
            self._print(self._format_entry("info", **facts))

    def _format_entry(self, level: str, **facts: object) -> str:
        """Return one log entry as a line of JSON, with the time in UTC to a millisecond.

        Args:
            level: ``error`` or ``info``.
            **facts: Further fields.
        """
        return json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, **facts})

    def _print(self, line: str) -> None:
        """Write a line to standard error; nothing is raised if that fails."""
        with suppress(OSError):  # the disk of the log itself may be full
            print(line, file=sys.stderr, flush=True)


LOG = Log()
"""The log of this process, which runs one server: lines on standard error."""


def log_operator_message(line: str) -> None:
    """Log a line for the operator as a fault of this process."""
    LOG.log_fault(line)


@dataclass(frozen=True)
class Monitoring:
    """Monitoring settings of a server.

    Attributes:
        host: Address that serves health, readiness and metrics over HTTP without authentication; it must be reachable
            from the operator's network only. None: not served.
        port: Port of that address.
        log_format: Log format, `PLAIN` or `JSON`.
    """

    host: str | None = None
    port: int = 0
    log_format: str = PLAIN


NO_MONITORING = Monitoring()
"""Default settings: health and metrics are not served, and the log is plain text."""


COUNTED_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""HTTP methods with a metric of their own; all others are counted as one, so that clients cannot add metrics."""


class ServerMetrics:
    """Metrics of one server, and its responses about them.

    Args:
        connections: Returns the number of connections by state.
        ready: Checks what a server needs to answer at all, such as reading its store; raises if that fails.
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
            states.labels(state).set_function(partial(_count_connections, connections, state))

    def wrap_app(self, app: Any) -> Any:
        """Wrap an ASGI application, so that its requests are counted in the metrics and logged; its responses do not
        change.

        Args:
            app: The application.
        """

        async def count_requests(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            """Serve a request, and count the status of its response.

            Args:
                scope: The request (ASGI).
                receive: Receives messages of its body.
                send: Sends messages of the response.
            """

            async def send_counted(message: Mapping[str, Any]) -> None:
                """Send a message of the response; count the request when the response starts."""
                if message["type"] == "http.response.start":
                    self._count_response(scope, int(message["status"]))
                await send(message)

            await app(scope, receive, send_counted)

        return count_requests

    def _count_response(self, scope: Mapping[str, Any], status: int) -> None:
        """Count and log one response by method, route pattern and status.

        Args:
            scope: The request (ASGI).
            status: HTTP status of the response.
        """
        method = scope["method"] if scope["method"] in COUNTED_METHODS else "other"
        route = str(getattr(scope.get("route"), "path", "none"))
        self._requests.labels(method, route, str(status)).inc()
        LOG.log_request(method=method, route=route, status=status)

    @contextmanager
    def serve_metrics(self, monitoring: Monitoring, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Serve ``/health``, ``/ready`` and ``/metrics`` from a thread while the server runs (context manager).

        Args:
            monitoring: Settings; without a host nothing is served.
            loop: Event loop of the server, whose response is its health.

        Raises:
            ProtocolError: the address cannot be used.
        """
        LOG.line_format = monitoring.log_format
        LOG.on_fault = self._faults.inc
        self._loop = loop
        if monitoring.host is None:
            yield
            return
        try:
            server = make_server(monitoring.host, monitoring.port, self._respond, _MonitoringServer, _QuietHandler)
        except OSError:
            address = f"{monitoring.host}:{monitoring.port}"
            raise ProtocolError(
                "monitor", f"{address} is taken, or no address of this machine; name another one"
            ) from None
        Thread(target=server.serve_forever, name="monitoring", daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()

    def _respond(self, environ: Mapping[str, Any], start: Callable[..., object]) -> list[bytes]:
        """Answer one request for health, readiness or metrics (WSGI).

        Args:
            environ: The request.
            start: Starts the response: status 503 if a check fails, 404 for another path.

        Returns:
            The body.
        """
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            start("200 OK", [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")])
            return [generate_latest(self.registry)]
        checks = {"/health": (self._check_event_loop,), "/ready": (self._check_event_loop, self._ready)}.get(path)
        if checks is None:
            start("404 Not Found", [TEXT_HEADER])
            return [b"health, ready and metrics are here\n"]
        try:
            for check in checks:
                check()
        except Exception:  # any error: its line goes to the log
            start("503 Service Unavailable", [TEXT_HEADER])
            return [b"not now\n"]
        start("200 OK", [TEXT_HEADER])
        return [b"yes\n"]

    def _check_event_loop(self) -> None:
        """Check that the server's event loop responds.

        Raises:
            TimeoutError: the event loop did not respond within `LIVENESS_SECONDS` seconds.
        """
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result(LIVENESS_SECONDS)


def _count_connections(connections: Callable[[], Mapping[str, int]], state: str) -> float:
    """Return the number of connections in a state, when the metrics are read.

    Args:
        connections: Returns the number of connections by state.
        state: The state.
    """
    return connections()[state]


TEXT_HEADER = "Content-Type", "text/plain; charset=utf-8"
"""HTTP header of plain text responses of the monitoring port."""


class _MonitoringServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    timeout = LIVENESS_SECONDS

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: monitoring requests are not logged.

        Args:
            format: Message template, ignored.
            args: Values of the template, ignored.
        """
