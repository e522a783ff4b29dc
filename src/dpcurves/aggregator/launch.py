"""A server as a process: TLS on one address, the other server's certificate asked for and believed alone."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..ledger import Ledger
from .app import PEER, create_app
from .channel import PATIENCE, Channel, trusting
from .desk import Desk
from .identity import Identity
from .refused import ProtocolAborted
from .store import Store
from .task import Server, Task

IDLE = 75
MOST_CONNECTIONS = 512
"""At once, idle ones included: whoever comes later is sent away."""


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
        raise ProtocolAborted(f"listen: host:port is needed, as in 127.0.0.1:8701, got {text!r}")


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
    """

    party: int
    tasks: Sequence[Task]
    identity: Identity
    store: str
    peer: str = ""
    patience: float = PATIENCE

    def desks(self) -> dict[str, Desk]:
        """A desk for each task.

        Raises:
            ValueError: a task names another server in this place, or the ledger can not be opened.
        """
        for task in self.tasks:
            if task.servers[self.party] != self.identity.public:
                raise ProtocolAborted(f"identity: task {task.name!r} names another server as party {self.party}")
        self.identity.require_valid()
        ledger = Ledger.open(self.store)
        store = Store(self.store)
        return {task.hash: self._desk(task, store, ledger) for task in self.tasks}

    def _desk(self, task: Task, store: Store, ledger: Ledger) -> Desk:
        other = task.servers[1 - self.party]
        context = trusting(other)
        context.load_cert_chain(self.identity.certificate, self.identity.proof)
        peer = Channel(other, context, self.patience, self.peer, "peer")
        return Desk(task, self.party, self.identity, store, ledger, peer)

    def serve(self, address: Address, ready: Any) -> None:
        """Until it is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: as `desks`; or the address can not be had.
        """
        desks = self.desks()
        for desk in desks.values():
            desk.encoding.warm()
        others = [task.servers[1 - self.party] for task in self.tasks]
        config = uvicorn.Config(
            create_app(desks), host=address.host, port=address.port, http=PeerAware, ws="none", lifespan="off",
            log_level="critical", access_log=False, timeout_keep_alive=IDLE, server_header=False, date_header=False,
            timeout_graceful_shutdown=2, limit_concurrency=MOST_CONNECTIONS,
        )  # fmt: skip
        config.load()
        config.ssl = _listening(self.identity, others)
        asyncio.run(_Announced(config, ready).serve())


class _Announced(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Any) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            place = f"{self.config.host}:{self.config.port}"
            raise ProtocolAborted(f"listen: {place} is taken, or is no address of this machine") from None
        self._ready()


class PeerAware(H11Protocol):
    """Tells the app which certificate the other side has proven; TLS has let none pass but the other server's."""

    def connection_made(self, transport: Any) -> None:
        """Remember the certificate of this connection."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        self.app = _with_peer(self.app, tls.getpeercert(binary_form=True) if tls else None)


def _with_peer(app: Any, certificate: bytes | None) -> Any:
    async def told(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        await app({**scope, PEER: certificate}, receive, send)

    return told


def _listening(identity: Identity, others: Sequence[Server]) -> ssl.SSLContext:
    """Proves this server. Who shows a certificate must be the other server; owners and analysts show none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(identity.certificate, identity.proof)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for other in others:
        context.load_verify_locations(cadata=other.certificate)
    return context
