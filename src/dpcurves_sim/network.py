"""Simulated network with fault injection: HTTP requests between the product's clients and servers, without sockets.

`SimulatedNetwork.exchange` sends a request to a server and returns status and body. Clients are the product's `Channel`
without its socket (`SimulatedChannel`). Servers are the product's ASGI applications on a simulated event loop. Requests
can be lost, late, slow, repeated, cut off or partitioned:

    request lost, connection reset    it does not arrive; the client waits, or sees it at once
    request delayed, body slow        it, or the rest of its body, arrives up to 30 seconds later
    request repeated                  it arrives twice
    answer lost                       it is answered, and the client sees a reset
    partition                         nothing arrives between two machines for up to 20 seconds

The simulated world chooses a fault at each request by its seed (`World.step`). So one seed repeats one run exactly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from dpcurves_parties.serving.channel import ANSWER_SECONDS, Channel
from dpcurves_parties.serving.server import PEER_SCOPE_KEY

from .event_loop import SimulatedLoop
from .world import POWER_LOST, PROCESS_KILLED, Process, SimulatedLock, Violation, World

REQUEST_LOST = "request lost"
"""Fault: the request does not arrive, and the client waits until its timeout."""
CONNECTION_RESET = "connection reset"
"""Fault: the request does not arrive, and the client sees it at once."""
REQUEST_DELAYED = "request delayed"
"""Fault: the request arrives much later, perhaps after the client has given up."""
SLOW_BODY = "body slow"
"""Fault: the head of the request arrives at once, and the rest of its body much later."""
REQUEST_REPEATED = "request repeated"
"""Fault: the request arrives twice."""
NO_ANSWER = "answer lost"
"""Fault: the server acts on the request and answers, and the answer does not arrive."""
PARTITION = "partition"
"""Fault: for a while, no request passes between the client's machine and the server's."""

App = Callable[[Any, Any, Any], Awaitable[None]]
"""An application of ASGI."""


class Request(NamedTuple):
    """An HTTP request as a client sends it.

    Attributes:
        method: GET or POST.
        path: Path on the server.
        body: The body.
        headers: Headers by name.
        certificate: The client's certificate in DER; empty for a client without one.
    """

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]
    certificate: bytes = b""

    @property
    def label(self) -> str:
        """Short name of the request in traces: the path below the task, with hashes replaced."""
        return "/".join("round" if len(part) >= 43 else part for part in self.path.split("/")[3:]) or "status"

    def to_scope(self) -> dict[str, Any]:
        """Return the head of the request as an ASGI scope, as an HTTP server would build it.

        Returns:
            Scope with the client's certificate under `PEER_SCOPE_KEY`; None there without a certificate.
        """
        return {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
            "method": self.method, "scheme": "https", "path": self.path, "raw_path": self.path.encode(),
            "root_path": "", "query_string": b"", "client": ("192.0.2.1", 1), "server": ("192.0.2.2", 443),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in self.headers.items()],
            PEER_SCOPE_KEY: self.certificate or None,
        }  # fmt: skip


async def call_app(app: App, request: Request, pause: float) -> tuple[int, bytes]:
    """Send one request to an ASGI application, and return its response.

    Args:
        app: An ASGI application.
        request: The request.
        pause: Simulated seconds between the two halves of the request's body; 0: the body arrives at once.

    Returns:
        HTTP status and body of the response.
    """
    half = len(request.body) // 2 if pause else len(request.body)
    chunks = [request.body[:half], *([request.body[half:]] if pause else [])]
    status = 0
    body = b""

    async def receive() -> dict[str, Any]:
        """Give the application the next ASGI message: a part of the request's body, or after the last
        ``http.disconnect``.
        """
        if not chunks:
            return {"type": "http.disconnect"}
        if len(chunks) == 1 and pause:
            await asyncio.sleep(pause)
        return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

    async def send(message: Mapping[str, Any]) -> None:
        """Take an ASGI message of the application: store the status, or append a part of the response's body.

        Args:
            message: Start of the response, or a part of its body.
        """
        nonlocal status, body
        status = message.get("status", status)
        body += message.get("body", b"")

    await app(request.to_scope(), receive, send)
    return status, body


class _Answer:
    """State of one request: its response, once there is one.

    Attributes:
        response: HTTP status and body; None: no response yet.
        is_lost: Whether the server ended without a response.
    """

    def __init__(self) -> None:
        self.response: tuple[int, bytes] | None = None
        self.is_lost = False

    @property
    def is_there(self) -> bool:
        """True once the simulated request was answered, or its server died."""
        return self.response is not None or self.is_lost


class SimulatedNetwork:
    """The network of a simulated world, which delivers requests to servers or lets them fail.

    Args:
        world: The world, which chooses faults and keeps the clock.

    Attributes:
        faults: Faults that may happen when a request is sent.
    """

    longest_delay = 30.0
    """Largest delay of a request, or of the end of its body, in simulated seconds."""
    longest_partition = 20.0
    """Longest duration of a partition, in simulated seconds."""
    most_threads = 200
    """Largest number of requests that are worked on at a time. More shows that a server has a queue without a bound."""

    def __init__(self, world: World) -> None:
        """Make a simulated network without servers.

        Args:
            world: The simulated world, whose schedule decides delays and faults.
        """
        self._world = world
        self.faults: tuple[str, ...] = (
            PROCESS_KILLED,
            POWER_LOST,
            REQUEST_LOST,
            CONNECTION_RESET,
            REQUEST_DELAYED,
            SLOW_BODY,
            REQUEST_REPEATED,
            PARTITION,
        )
        self._servers: dict[str, Process] = {}
        self._apps: dict[str, tuple[App, SimulatedLoop]] = {}
        self._partitions: dict[frozenset[str], float] = {}
        self._numbers = count(1)
        self._waiting = 0

    def serve(self, process: Process) -> None:
        """Register a process as a server: requests to its name reach it while it runs and has an application.

        Args:
            process: The server's process.
        """
        self._servers[process.name] = process

    def open_app(self, server: str, app: App | None) -> None:
        """Set the application that answers requests to a server.

        Args:
            server: Name of the server's process.
            app: An ASGI application; None while the server starts.
        """
        if app is None:
            self._apps.pop(server, None)
        else:
            self._apps[server] = app, SimulatedLoop(self._world)  # type: ignore[abstract]

    def exchange(self, server: str, request: Request, patience: float) -> tuple[int, bytes]:
        """Send a request to a simulated server and return the response; the schedule may inject a fault of the network.

        Args:
            server: Name of the server's process.
            request: The request.
            patience: Simulated seconds until the client gives up.

        Returns:
            HTTP status and body of the response.

        Raises:
            OSError: No response arrived.
            Violation: The server failed with an internal error, or works on too many requests at a time.
        """
        world = self._world
        process = self._servers[server]
        label = request.label
        fault = world.step(f"send {label}", *self.faults)
        pair = frozenset((world.current.machine, process.machine))
        if fault == PARTITION:
            self._partitions[pair] = world.now + world.draw("partition") * self.longest_partition
        if fault == REQUEST_LOST or self._partitions.get(pair, 0.0) > world.now:
            world.sleep(min(patience, 10.0))
            raise TimeoutError
        if fault == CONNECTION_RESET:
            raise ConnectionResetError
        delay = world.draw("delay of a request") * self.longest_delay if fault in (REQUEST_DELAYED, SLOW_BODY) else 0.0
        start, pause = (0.0, delay) if fault == SLOW_BODY else (delay, 0.0)
        answer = self._deliver(process, request, start, pause)
        if fault == REQUEST_REPEATED:
            self._deliver(process, request, world.draw("delay of a copy") * self.longest_delay, 0.0)
        deadline = world.now + patience
        while not answer.is_there and world.now < deadline:
            world.poll(0.05, deadline)  # seconds between two looks for an answer
        if world.step(f"hear {label}", PROCESS_KILLED, POWER_LOST, NO_ANSWER) == NO_ANSWER or answer.is_lost:
            raise ConnectionResetError
        if answer.response is None:
            raise TimeoutError
        return answer.response

    def _deliver(self, process: Process, request: Request, delay: float, pause: float) -> _Answer:
        """Start a simulated server thread that answers a request.

        Args:
            process: The server's process.
            request: The request.
            delay: Simulated seconds until the request arrives.
            pause: Simulated seconds between the two halves of its body.

        Returns:
            The state of the request, which changes when the response arrives.

        Raises:
            Violation: More than `most_threads` requests are worked on at a time.
        """
        world = self._world
        answer = _Answer()
        starts = process.starts

        def handle_request() -> None:
            """Answer the request in the server's process, unless the process has ended or was restarted since."""
            try:
                world.sleep(delay)
                if process.is_dead or process.starts != starts or process.name not in self._apps:
                    return
                app, loop = self._apps[process.name]
                status, body = loop.run(call_app(app, request, pause))
                if status >= 500 and (b"error of this program" in body or not body.startswith(b"{")):
                    raise Violation(f"{process.name} failed at {request.label}: {body[:200].decode(errors='replace')}")
                answer.response = status, body
            finally:
                self._waiting -= 1
                answer.is_lost = not answer.is_there

        if process.is_dead or not process.starts:
            answer.is_lost = True
            return answer
        self._waiting += 1
        if self._waiting > self.most_threads:
            raise Violation(f"{self._waiting} requests are worked on at a time")
        name = f"{process.name}/{next(self._numbers)}"
        world.start(name, process.machine, handle_request, group=process.group, is_daemon=True, starts_again=False)
        return answer


class _Socket:
    """Stand-in for the open connection of a `Channel`."""

    def close(self) -> None:
        """Do nothing, because a simulated connection has no socket."""


class SimulatedChannel(Channel):
    """The product's client of one server, on a simulated network instead of a socket.

    Args:
        network: The network.
        server: Name of the server's process.
        timeout: Simulated seconds that an answer may take.
        certificate: The client's certificate in DER; empty for a client without one.
    """

    def __init__(self, network: SimulatedNetwork, server: str, timeout: float, certificate: bytes = b"") -> None:
        """Make a simulated connection of a client to a server.

        Args:
            network: The simulated network.
            server: Name of the server's process.
            timeout: Simulated seconds until a request is given up.
            certificate: Certificate of the client; empty: none.
        """
        super().__init__(f"https://{server}", None, timeout)  # type: ignore[arg-type]
        self._network = network
        self._server = server
        self._certificate = certificate
        self._lock = SimulatedLock(network._world)  # type: ignore[assignment]

    def _exchange_once(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send one request over the simulated network, where `Channel` would use its socket.

        Args:
            method: GET or POST.
            path: Path on the server.
            body: Body of the request.
            headers: Headers by name.

        Returns:
            HTTP status and body of the response.

        Raises:
            OSError: No response arrived.
        """
        request = Request(method, path, body, headers, self._certificate)
        response = self._network.exchange(self._server, request, self.timeout)
        self._connection = _Socket()  # type: ignore[assignment]
        return response


class Channels:
    """Stand-in for the class `Channel` in product code: creates simulated channels to one server.

    Args:
        network: The network.
        server: Name of the server's process.
        timeout: Seconds that an answer may take; None: as the product asks.
    """

    def __init__(self, network: SimulatedNetwork, server: str, timeout: float | None = None) -> None:
        self._network = network
        self._server = server
        self._timeout = timeout

    def from_certificate(self, url: str, certificate: str, timeout: float = ANSWER_SECONDS) -> SimulatedChannel:
        """Return a simulated channel to the server. The URL and the certificate are ignored.

        Args:
            url: URL of the server, without effect.
            certificate: Certificate of the server, without effect.
            timeout: Seconds to wait for an answer, unless the scenario sets its own.
        """
        return SimulatedChannel(self._network, self._server, self._timeout or timeout)
