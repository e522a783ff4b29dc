"""A server as a process, on one address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any

from ..ledger import Ledger
from ..serving.channel import PATIENCE, Channel, trusting
from ..serving.door import USUAL, Door, Limits
from ..serving.entrance import proving
from ..serving.errors import ProtocolAborted
from ..serving.identity import Identity, Server
from ..serving.launch import Address, serve
from ..serving.line import PROTOCOL
from .app import create_app, talks_of
from .encodings import SharedTask
from .pair_service import PairService, Road
from .pair_store import PairStore
from .store import Store
from .task import Task
from .task_service import TaskService


@dataclass(frozen=True, slots=True)
class Aggregator:
    """Aggregator server, before it runs.

    Attributes:
        party: 0 or 1.
        tasks: Tasks that it serves.
        identity: Identity of the server.
        store: The URL of its database, ledger included.
        peer: URL of the other server; empty: that in the task.
        patience: Seconds that the other server may take.
        limits: Limits of the resources of unauthenticated clients.
    """

    party: int
    tasks: Sequence[SharedTask]
    identity: Identity
    store: str
    peer: str = ""
    patience: float = PATIENCE
    limits: Limits = USUAL

    def services(self) -> dict[str, TaskService | PairService]:
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

    def _service(self, task: SharedTask, store: Store, ledger: Ledger) -> TaskService | PairService:
        other = task.servers[1 - self.party]
        url, context = self.peer or other.url, self._believing(other)
        own = self.party, self.identity, store, ledger, Channel(url, context, self.patience, "peer")
        if isinstance(task, Task):
            return TaskService(task, *own)
        talking = self._believing(other)
        talking.set_alpn_protocols([PROTOCOL])
        shelf = PairStore(self.store, f"server {self.party}")
        return PairService(task, *own, shelf=shelf, road=Road(url, talking, self.patience))

    def _believing(self, other: Server) -> SSLContext:
        """TLS context with this server's certificate, which trusts the other server's."""
        context = trusting(other.certificate)
        context.load_cert_chain(self.identity.certificate, self.identity.proof)
        return context

    def serve(self, address: Address, ready: Any) -> None:
        """Serve until stopped. `ready` is called once it listens.

        Raises:
            ValueError: as `services`; or the address can not be had.
        """
        services = self.services()
        for service in services.values():
            service.warm()
        others = [task.servers[1 - self.party].certificate for task in self.tasks]
        context = proving(self.identity.certificate, self.identity.proof, others)
        serve(create_app(services), address, Door(self.limits), context, ready, talks_of(services))
