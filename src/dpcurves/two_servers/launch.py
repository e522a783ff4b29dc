"""A server as a process, on one address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ledger import Ledger
from ..serving.channel import PATIENCE, Channel, trusting
from ..serving.door import USUAL, Door, Limits
from ..serving.entrance import proving
from ..serving.errors import ProtocolAborted
from ..serving.identity import Identity
from ..serving.launch import Address, serve
from .app import create_app
from .store import Store
from .task import Task
from .task_service import TaskService


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
        context = trusting(other.certificate)
        context.load_cert_chain(self.identity.certificate, self.identity.proof)
        peer = Channel(self.peer or other.url, context, self.patience, "peer")
        return TaskService(task, self.party, self.identity, store, ledger, peer)

    def serve(self, address: Address, ready: Any) -> None:
        """Until it is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: as `services`; or the address can not be had.
        """
        services = self.services()
        for service in services.values():
            service.encoding.warm()
        others = [task.servers[1 - self.party].certificate for task in self.tasks]
        context = proving(self.identity.certificate, self.identity.proof, others)
        serve(create_app(services), address, Door(self.limits), context, ready)
