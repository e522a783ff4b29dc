"""A server as a process, on one address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpcurves.ledger import Ledger

from ..channel import PATIENCE
from ..door import USUAL, Door, Limits
from ..entrance import proving
from ..errors import ProtocolAborted
from ..identity import Identity
from ..launch import Address, serve
from .app import AnyService, create_app, sessions_of
from .collection import Resources
from .kinds import SharedTask, kind_named
from .store import Store


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

    def services(self) -> dict[str, AnyService]:
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
        place = Resources(self.party, self.identity, store, ledger, self.store, self.peer, self.patience)
        return {task.hash: kind_named(task.KIND).service(task, place) for task in self.tasks}

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
        serve(create_app(services), address, Door(self.limits), context, ready, sessions_of(services))
