"""Simulated attackers: clients without access rights that send random requests (fuzzing), all of which must be refused.

`Stranger.run` sends requests with unknown paths, methods, sizes, tokens and certificates to a server in a simulated
world. Except for public paths, a response of status below 400 is a `Violation`, which fails the run. An internal error
of the server is a violation as well; the network reports it. The world's seed chooses all requests, so that a run can
be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .network import Request, SimulatedNetwork
from .world import PROCESS_KILLED, Violation, World

PATHS = (
    "", "/", "/tasks", "/tasks/{task}/nothing", "/tasks/{other}", "/tasks/{other}/{path}", "/tasks/{task}/{path}",
    "/tasks/{task}/{path}", "/tasks/{task}/{path}/all", "/tasks/{task}/../{path}",
)  # fmt: skip
"""Paths that a stranger (a client without rights) tries. Some exist: those with the hash of the task and a path of its
application."""
PUBLIC_PATHS = ("/hpke_config", "/tasks/{task}")
"""Paths that anybody may read with GET; a stranger's request of another path must be refused."""


class Stranger:
    """A client with no ticket (bearer token), with tickets of another role, or with malformed messages.

    Args:
        world: The world, which chooses each request by its seed.
        network: The network.
        server: Name of the attacked server.
        task: Hash of its task.
        paths: Function that returns the paths below the task that the application has.
        tokens: Bearer tokens that give no right at this server.
    """

    def __init__(
        self, world: World, network: SimulatedNetwork, server: str, *, task: str,
        paths: Callable[[], Sequence[str]], tokens: Sequence[str],
    ) -> None:  # fmt: skip
        """Prepare a client without rights, which sends random requests to a server.

        Args:
            world: The simulated world.
            network: Its simulated network.
            server: Name of the server's process.
            task: Hash of the server's task.
            paths: Function that returns the paths below the task that the application has.
            tokens: Bearer tokens that give no right at this server.
        """
        self._world = world
        self._network = network
        self._server = server
        self._task = task
        self._paths = paths
        self._tokens = ("", "x", "\xe9" * 64, *tokens)

    def run(self) -> None:
        """Send 12 random requests to the server, and check that it refuses each of them.

        Raises:
            Violation: The server answered a request that it must refuse.
        """
        world = self._world
        for _ in range(12):
            world.sleep(world.draw("pause") * 2)
            request = self._make_request()
            status = self._send(request)
            if request.method == "GET" and request.path in (path.format(task=self._task) for path in PUBLIC_PATHS):
                continue
            if status is not None and status < 400:
                raise Violation(f"the request of a stranger was answered: {request.label}")
            world.step("tries something else", PROCESS_KILLED)

    def _send(self, request: Request) -> int | None:
        """Send a request to the server without rights, and return the HTTP status of the response.

        Args:
            request: The request.

        Returns:
            Status; None if no response arrived in 40 simulated seconds.
        """
        try:
            return self._network.exchange(self._server, request, 40.0)[0]
        except OSError:
            return None

    def _make_request(self) -> Request:
        """Return a random request: path, method, body, token and certificate are drawn by the seed of the world."""
        world = self._world
        form = world.choose("path", (*PATHS, *PUBLIC_PATHS))
        path = form.format(task=self._task, other=self._task[::-1], path=world.choose("below", self._paths()))
        method = world.choose("method", ("POST", "POST", "POST", "GET", "PUT"))
        size = world.choose("size", (0, 1, 64, 5000))
        body: Any = world.random_bytes("body")(size)
        token = world.choose("token", self._tokens)
        kind = world.choose("content type", ("", "application/dap-report"))
        scheme = world.choose("scheme", ("Bearer", "Bearer", "bearer", "Basic"))
        headers = {"Authorization": f"{scheme} {token}"} | ({"Content-Type": kind} if kind else {})
        return Request(method, path, body, headers, world.choose("certificate", (b"", b"\x30\x00")))
