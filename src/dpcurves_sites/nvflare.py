"""NVFlare job that carries a federation's messages: a Controller beside the coordinator, an Executor beside each site.

A federation is a group of sites that keep their records and reveal only noisy sums of their counts. Its sites usually
send HTTPS requests to a coordinator, which passes messages on. Where NVFlare already connects the machines, this job
carries the same requests and answers instead, as opaque bytes.

`dpcurves federation app --by nvflare` writes a job that names both classes. The process of the site listens at a local
socket. Its path is in the environment variable ``DPCURVES_SOCKET``, in which ``{site}`` is replaced by NVFlare's name
of the site. This file imports only NVFlare, `transport.py` and the standard library.

Formal guarantees: both classes read no records and hold no keys. All secrets stay in the site's process, where messages
are masked and signed, so a transport that reads or changes them learns no count and forges no answer.
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

from .transport import END_OF_EXCHANGE, Forwarder, exchange_batch

TASK_NAME = "carry"
"""Name of the NVFlare task that carries messages of dpcurves; the apps' configuration has it too."""
BODY_FIELD = "octets"
"""Field of NVFlare's messages with the bytes of dpcurves, which NVFlare passes on unread."""
SOCKET = "DPCURVES_SOCKET"
"""Environment variable with the path of the site's Unix socket; ``{site}`` in it stands for the site's name in
NVFlare."""


class TransportExecutor(Executor):  # type: ignore[misc]
    """NVFlare executor beside a site: passes answers of the coordinator to the site, and requests of the site back."""

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """Pass the coordinator's answer to the site, and return its next batch of requests. NVFlare calls this method.

        Args:
            task_name: Name of the task; not used.
            shareable: Message with the answer.
            fl_ctx: Context of NVFlare, which knows the site's name.
            abort_signal: Not used.

        Returns:
            A message with the batch; empty if nothing listens at the site's socket.
        """
        socket_path = os.environ.get(SOCKET, "").replace("{site}", fl_ctx.get_identity_name())
        reply = Shareable()
        try:
            reply[BODY_FIELD] = exchange_batch(socket_path, shareable.get(BODY_FIELD, b""))
        except OSError:
            time.sleep(1)  # the site's process may be starting
            reply[BODY_FIELD] = b""
        return reply


class TransportController(Controller):  # type: ignore[misc]
    """NVFlare controller beside the coordinator: passes batches of sites on to it, and its answers back.

    A client that does not answer in time gets its task again, and its site repeats the batch.

    Args:
        task: Path of the task document, on the server.
        patience: Seconds to wait for a client's reply, and for the coordinator while it is down.
    """

    def __init__(self, task: str, patience: float = 300.0) -> None:
        super().__init__()
        self._task = task
        self._patience = patience

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: `control_flow` needs no preparation.

        Args:
            fl_ctx: Context of the NVFlare run, without effect.
        """

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: `control_flow` releases all resources.

        Args:
            fl_ctx: Context of the NVFlare run, without effect.
        """

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Ignore a result of a task that NVFlare does not know any more; the site sends its batch again.

        Args:
            client: Sender of the result, without effect.
            task_name: Name of the task, without effect.
            client_task_id: Id of the task, without effect.
            result: The result, without effect.
            fl_ctx: Context of the NVFlare run, without effect.
        """

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Send tasks to clients and forward their batches, until the coordinator has stopped or NVFlare aborts the job.

        Args:
            abort_signal: NVFlare's signal that the job must end.
            fl_ctx: Context of NVFlare, which knows the clients.
        """
        stopped: list[bool] = []
        forwarder = Forwarder(self._task, lambda: bool(stopped) or abort_signal.triggered, self._patience)
        answers: dict[str, bytes] = {}
        busy: dict[str, float] = {}
        results: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        forwarding: dict[str, Future[bytes]] = {}

        def queue_result(client_task: ClientTask, fl_ctx: FLContext) -> None:
            """Queue a client's batch for the main loop; NVFlare calls this function in another thread.

            Args:
                client_task: Task of one client with its result, whose batch may be empty.
                fl_ctx: Context of the NVFlare run, without effect.
            """
            results.put((client_task.client.name, client_task.result.get(BODY_FIELD, b"")))

        # 128: sites whose requests are forwarded to the coordinator at the same time, at most
        with ThreadPoolExecutor(128) as threads:
            while not stopped and not abort_signal.triggered:
                try:
                    while True:
                        name, site_messages = results.get_nowait()
                        if busy.pop(name, None) is not None and site_messages:
                            forwarding[name] = threads.submit(forwarder.forward_batch, site_messages)
                except Empty:
                    pass
                for name, future in list(forwarding.items()):
                    if future.done():
                        answers[name] = forwarding.pop(name).result()
                        if answers[name] == END_OF_EXCHANGE:
                            stopped.append(True)
                now = time.monotonic()
                for client in fl_ctx.get_engine().get_clients():
                    silent_seconds = now - busy.get(client.name, -float("inf"))
                    if client.name not in forwarding and silent_seconds > self._patience:
                        busy[client.name] = now
                        data = Shareable()
                        data[BODY_FIELD] = answers.get(client.name, b"")
                        task = Task(TASK_NAME, data, timeout=int(self._patience), result_received_cb=queue_result)
                        self.send(task, fl_ctx, targets=[client])
                time.sleep(0.1)  # seconds between polls for results of the clients
