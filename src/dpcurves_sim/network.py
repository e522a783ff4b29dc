"""A simulated network: requests to servers that are lost, late, repeated, cut off or partitioned."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from dpcurves.arguments import ArgumentError, ProtocolError, ServiceUnavailable

from .world import KILL, POWER, Killed, Process, Violation, World

LOST = "request lost"
"""Fault: the request does not arrive, and the client waits until its timeout."""
RESET = "connection reset"
"""Fault: the request does not arrive, and the client sees it at once."""
LATE = "request delayed"
"""Fault: the request arrives much later, perhaps after the client has given up."""
REPEATED = "request repeated"
"""Fault: the request arrives twice."""
NO_ANSWER = "answer lost"
"""Fault: the request is answered, and the answer does not arrive."""
PARTITION = "partition"
"""Fault: the client's machine and the server's do not reach each other for a while."""


class _Answer:
    """What came back for one request."""

    def __init__(self) -> None:
        self.body: bytes | None = None
        self.error: ArgumentError | None = None
        self.is_lost = False

    @property
    def is_there(self) -> bool:
        """True once the request was answered, or its server died."""
        return self.body is not None or self.error is not None or self.is_lost


class SimulatedNetwork:
    """The network of a world.

    Arguments:
        world: The world.
    """

    longest_delay = 30.0
    """Seconds by which a request is delayed at most."""
    longest_partition = 20.0
    """Seconds of a partition at most."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._servers: dict[str, Process] = {}
        self._partitions: dict[frozenset[str], float] = {}
        self._numbers = count(1)
        self.most_waiting = 0
        self._waiting = 0

    def serve(self, process: Process) -> None:
        """Let a process receive requests while it lives."""
        self._servers[process.name] = process

    def request(self, server: str, label: str, handle: Callable[[], bytes], patience: float) -> bytes:
        """Send a request to a server, and return the body of its answer.

        Arguments:
            server: The name of the server's process.
            label: What is asked, for the trace.
            handle: Answers the request, in the server's process.
            patience: Seconds until the client gives up.

        Raises:
            ProtocolError: The server refused, or no answer arrived.
        """
        world, process = self._world, self._servers[server]
        fault = world.step(f"send {label}", KILL, POWER, LOST, RESET, LATE, REPEATED, PARTITION)
        pair = frozenset((world.current.machine, process.machine))
        if fault == PARTITION:
            self._partitions[pair] = world.now + world.draw("partition") * self.longest_partition
        if fault == LOST or self._partitions.get(pair, 0.0) > world.now:
            world.sleep(min(patience, 10.0))
            raise _make_unreachable("gave no answer", 504)
        if fault == RESET:
            raise _make_unreachable("was lost", 503)
        delay = world.draw("delay of a request") * self.longest_delay if fault == LATE else 0.0
        answer = self._deliver(process, label, handle, delay)
        if fault == REPEATED:
            self._deliver(process, label, handle, world.draw("delay of a copy") * self.longest_delay)
        deadline = world.now + patience
        while not answer.is_there and world.now < deadline:
            world.poll(0.05, deadline)  # seconds between two looks for an answer
        if world.step(f"hear {label}", KILL, POWER, NO_ANSWER) == NO_ANSWER or answer.is_lost:
            raise _make_unreachable("was lost", 503)
        if answer.error is not None:
            raise ProtocolError(
                answer.error.argument, answer.error.rule, getattr(answer.error, "status", 400)
            ) from None
        if answer.body is None:
            raise _make_unreachable("gave no answer", 504)
        return answer.body

    def _deliver(self, process: Process, label: str, handle: Callable[[], bytes], delay: float) -> _Answer:
        """Let a thread of a server answer a request after some seconds; return the coming answer."""
        world, answer, starts = self._world, _Answer(), process.starts

        def handle_request() -> None:
            """Answer in the server's process, if that still runs."""
            try:
                world.sleep(delay)
                if process.is_dead or process.starts != starts:
                    return
                answer.body = handle()
            except ArgumentError as error:
                answer.error = error
            except (Killed, Violation):
                raise
            finally:
                self._waiting -= 1
                answer.is_lost = not answer.is_there

        if process.is_dead or not process.starts:
            answer.is_lost = True
            return answer
        self._waiting += 1
        self.most_waiting = max(self.most_waiting, self._waiting)
        name = f"{process.name}/{next(self._numbers)}"
        world.start(name, process.machine, handle_request, group=process.group, is_daemon=True, starts_again=False)
        return answer


def _make_unreachable(what: str, status: int) -> ProtocolError:
    """Return the error of a client that got no answer."""
    return ServiceUnavailable("server", f"the connection {what}; try again", status)
