"""NVFlare carries the messages of a federation: a Controller beside its coordinator, an Executor beside each site.

`dpcurves federation carry --by nvflare` writes a job that names both. They read no record and hold no key: a site's
process listens at a socket, whose path the site says in ``DPCURVES_SOCKET`` (``{site}`` in it is NVFlare's name of the
site), and all that is secret stays there. This file needs NVFlare, `transport.py` and the standard library alone.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

from nvflare.apis.client import Client
from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.executor import Executor
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from .transport import OVER, Forwarder, exchange_batch

CARRY, OCTETS, SOCKET = "carry", "octets", "DPCURVES_SOCKET"
LOOK = 0.1
"""Seconds between two looks for results."""
MOST_SITES = 128


class TransportExecutor(Executor):  # type: ignore[misc]
    """Tells the site of this client an answer, and brings back what it says next; nothing, where it is not there."""

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """See NVFlare."""
        place = os.environ.get(SOCKET, "").replace("{site}", fl_ctx.get_identity_name())
        said = Shareable()
        try:
            said[OCTETS] = exchange_batch(place, shareable.get(OCTETS, b""))
        except OSError:
            time.sleep(1)  # it may be starting
            said[OCTETS] = b""
        return said


class TransportController(Controller):  # type: ignore[misc]
    """Carries until the coordinator is gone. A client that does not answer in time is asked again.

    Args:
        task: The task document, on the server.
        patience: Seconds for which a client may be silent, and the coordinator away.
    """

    def __init__(self, task: str, patience: float = 300.0) -> None:
        super().__init__()
        self._task, self._patience = task, patience

    def start_controller(self, fl_ctx: FLContext) -> None:
        """See NVFlare."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """See NVFlare."""

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Ignore it: the site says it again."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """See NVFlare."""
        over: list[bool] = []
        forwarder = Forwarder(self._task, lambda: bool(over) or abort_signal.triggered, self._patience)
        told: dict[str, bytes] = {}
        busy: dict[str, float] = {}
        came: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        asked: dict[str, Future[bytes]] = {}

        def queue_result(client_task: ClientTask, fl_ctx: FLContext) -> None:
            came.put((client_task.client.name, client_task.result.get(OCTETS, b"")))

        with ThreadPoolExecutor(MOST_SITES) as threads:
            while not over and not abort_signal.triggered:
                try:
                    while True:
                        name, said = came.get_nowait()
                        if busy.pop(name, None) is not None and said:
                            asked[name] = threads.submit(forwarder.forward_batch, said)
                except Empty:
                    pass
                for name, coming in list(asked.items()):
                    if coming.done():
                        told[name] = asked.pop(name).result()
                        if told[name] == OVER:
                            over.append(True)
                now = time.monotonic()
                for client in fl_ctx.get_engine().get_clients():
                    silent = now - busy.get(client.name, -float("inf"))
                    if client.name not in asked and silent > self._patience:
                        busy[client.name] = now
                        data = Shareable()
                        data[OCTETS] = told.get(client.name, b"")
                        task = Task(CARRY, data, timeout=int(self._patience), result_received_cb=queue_result)
                        self.send(task, fl_ctx, targets=[client])
                time.sleep(LOOK)
