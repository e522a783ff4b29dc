"""A server as a process, on one address."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from ..ledger import Ledger
from .app import create_app
from .channel import PATIENCE, Channel, trusting
from .door import USUAL, Door, Limits
from .entrance import Entrance, Guest, listening_at, proving
from .errors import ProtocolAborted
from .identity import Identity
from .store import Store
from .task import Task
from .task_service import TaskService

IDLE = 75
"""Seconds after which a connection of the other server ends."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``host:port``.

        Raises:
            ValueError: it is none.
        """
        try:
            parts = urlsplit(f"//{text}")
            if parts.hostname and parts.port and not parts.path:
                return cls(parts.hostname, parts.port)
        except ValueError:
            pass
        raise ProtocolAborted("listen", f"host:port is needed, as in 127.0.0.1:8701, got {text!r}")


@dataclass(frozen=True, slots=True)
class Aggregator:
    """One server, before it runs.

    Attributes:
        party: 0 or 1.
        tasks: What it works on.
        identity: Who it is.
        store: The URL of its database, ledger included.
        peer: Where the other server is reached; empty: where the task says.
        patience: Seconds that the other server may take.
        limits: What strangers may take up.
    """

    party: int
    tasks: Sequence[Task]
    identity: Identity
    store: str
    peer: str = ""
    patience: float = PATIENCE
    limits: Limits = USUAL

    def services(self) -> dict[str, TaskService]:
        """A service for each task.

        Raises:
            ValueError: a task names another server in this place, or the ledger can not be opened.
        """
        for task in self.tasks:
            if task.servers[self.party] != self.identity.public:
                raise ProtocolAborted("identity", f"task {task.name!r} names another server as party {self.party}")
        self.identity.require_valid()
        ledger = Ledger.open(self.store)
        store = Store(self.store, f"server {self.party}")
        return {task.hash: self._service(task, store, ledger) for task in self.tasks}

    def _service(self, task: Task, store: Store, ledger: Ledger) -> TaskService:
        other = task.servers[1 - self.party]
        context = trusting(other)
        context.load_cert_chain(self.identity.certificate, self.identity.proof)
        peer = Channel(other, context, self.patience, self.peer, "peer")
        return TaskService(task, self.party, self.identity, store, ledger, peer)

    def serve(self, address: Address, ready: Any) -> None:
        """Until it is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: as `services`; or the address can not be had.
        """
        services = self.services()
        for service in services.values():
            service.encoding.warm()
        others = [task.servers[1 - self.party] for task in self.tasks]
        config = uvicorn.Config(
            create_app(services), host=address.host, port=address.port, ws="none", lifespan="off",
            log_level="critical", access_log=False, timeout_keep_alive=IDLE, server_header=False, date_header=False,
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        config.load()
        leave_no_image()
        asyncio.run(_Announced(config, Door(self.limits), proving(self.identity, others), ready).serve())


class _Announced(uvicorn.Server):
    """Lets in whom the door lets stay, and says when it listens."""

    def __init__(self, config: uvicorn.Config, door: Door, context: ssl.SSLContext, ready: Any) -> None:
        super().__init__(config)
        self._door, self._context, self._ready = door, context, ready

    async def startup(self, sockets: Any = None) -> None:
        await self.lifespan.startup()
        try:
            listening = listening_at(self.config.host, self.config.port)
        except OSError:
            place = f"{self.config.host}:{self.config.port}"
            raise ProtocolAborted("listen", f"{place} is taken, or is no address of this machine") from None
        self.servers: list[Any] = [Entrance(listening, self._welcome)]
        self.started = True
        self._ready()

    def _welcome(self, connection: socket.socket) -> None:
        Guest(self._door, self.config, self.server_state).come(connection, self._context)


def leave_no_image() -> None:
    """Let the system write no image of this process's memory, which holds keys and shares, should it crash."""
    with suppress(ImportError):  # where there are no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
