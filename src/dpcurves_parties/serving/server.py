"""A server as a process: connection limits, TLS with authenticated peers, connections that stay open, launch."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import TimeoutError as TooLong
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from pathlib import Path
from threading import Thread
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import uvicorn
from starlette.responses import JSONResponse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dpcurves.arguments import InvalidArgument

from .identity import require_valid_certificate
from .messages import ProtocolError, disable_core_dumps
from .monitoring import UNWATCHED, Monitoring, ServerMetrics

try:
    import uvloop
except ImportError:  # another system, whose loops are in Python
    uvloop = None  # type: ignore[assignment]

PROTOCOL = "dpcurves-talk"
"""The ALPN protocol name of a connection between servers that stays open."""
PATIENCE = 60.0
"""Seconds that the other server may be silent."""
LARGEST_MESSAGE = 2**28
LENGTH = 8
Result = TypeVar("Result")


@dataclass(slots=True, repr=False, eq=False)
class PeerConnection:
    """An end of a two-way connection for a thread; the event loop reads while the thread works.

    Attributes:
        reader: What comes.
        writer: What goes.
        loop: Where both live.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    loop: asyncio.AbstractEventLoop

    @classmethod
    def from_transport(cls, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> PeerConnection:
        """Take a connection over, whoever had it before."""
        reader = asyncio.StreamReader(LARGEST_MESSAGE, loop)  # neither party may wait until the other one reads
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport.set_protocol(protocol)
        transport.set_write_buffer_limits(LARGEST_MESSAGE)
        protocol.connection_made(transport)
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop), loop)

    def run_in_thread(self, work: Callable[[PeerConnection], object]) -> None:
        """Let a thread of its own talk."""
        Thread(target=work, args=(self,), daemon=True).start()

    def send(self, message: bytes) -> None:
        """Send one message. Raises `ProtocolError`: the other server is gone."""
        self._wait_for(self._send_message(message))

    def receive(self) -> bytes:
        """The next message.

        Raises:
            ProtocolAborted: the other server is gone, or silent for too long, or says too much at once.
        """
        return self._wait_for(self._receive_message())

    def close(self) -> None:
        """Let go of it."""
        with suppress(RuntimeError):  # a loop that has ended has let go of all
            self.loop.call_soon_threadsafe(self.writer.close)

    async def _send_message(self, message: bytes) -> None:
        self.writer.write(len(message).to_bytes(LENGTH, "little"))
        self.writer.write(message)
        await self.writer.drain()

    async def _receive_message(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(LENGTH), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolError("peer", f"a message has at most {LARGEST_MESSAGE} bytes", 502)
        return await self.reader.readexactly(size)

    def _wait_for(self, coming: Coroutine[Any, Any, Result]) -> Result:
        waiting = asyncio.run_coroutine_threadsafe(coming, self.loop)
        try:
            return waiting.result(PATIENCE)
        except TooLong:
            waiting.cancel()
            raise ProtocolError("peer", "it was silent for too long", 504) from None
        except (OSError, EOFError, RuntimeError):
            raise ProtocolError("peer", "the connection was lost", 502) from None


# Admission control: a number of connections at a time, shared by network addresses; the peer server is exempt.
SECONDS = 10
MOST_CONNECTIONS = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of what unauthenticated clients may occupy.

    Attributes:
        connections: At a time, the other server's not counted: half of them to come in and be silent, half to send the
            body of a request and be answered.
        head_timeout: From the first byte to the head of a request, handshake included, and from an answer to the next head.

    Raises:
        ValueError: there is room for nobody, or no time.
    """

    connections: int = MOST_CONNECTIONS
    head_timeout: float = SECONDS

    def __post_init__(self) -> None:
        if self.connections < 2 or self.head_timeout <= 0:
            raise InvalidArgument("connections, deadline", "at least 2 connections and 1 second are needed")


USUAL = Limits()


class ClientConnection(Protocol):
    """A connection, from its first byte on.

    Attributes:
        network: The client's address, of IPv6 the network that one customer has (64 bits).
    """

    network: str

    def abort(self) -> None:
        """End it at once."""
        ...


class Pool:
    """Connections of one state in the order in which they came, grouped by network address."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[ClientConnection, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, visit: ClientConnection) -> bool:
        return visit in self._groups.get(visit.network, ())

    def add(self, connection: ClientConnection) -> None:
        """Put it behind those that are here; nothing is done where it is one of them."""
        if connection not in self:
            self._groups.setdefault(connection.network, {})[connection] = None
            self._count += 1

    def discard(self, connection: ClientConnection) -> None:
        """Take it out, if it is here."""
        if connection in self:
            del self._groups[connection.network][connection]
            self._count -= 1
            if not self._groups[connection.network]:
                del self._groups[connection.network]

    def find_next_to_evict(self) -> ClientConnection:
        """The oldest connection of the address that has most."""
        most: dict[ClientConnection, None] = max(self._groups.values(), key=len)
        return next(iter(most))


class Admission:
    """Admission control of connections, which are idle, receive the body of a request, or are answered.

    A connection that comes, or that has sent the head of a request, is admitted: where there is no room, it evicts an
    idle one, or one whose body is not complete, of the address that has most, the oldest first. So neither silent
    connections nor bodies that come slowly keep anybody out, and an address that opens many competes with itself. A
    request is refused only where all places are taken by requests that are complete and being answered. The other
    server counts as a client until it has proven itself; from then on it is not counted, and stays.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._most = limits, limits.connections // 2
        self._idle, self._receiving, self._answered = Pool(), Pool(), Pool()
        self._timers: dict[ClientConnection, asyncio.TimerHandle] = {}

    def mark_idle(self, connection: ClientConnection) -> None:
        """It has come, or was answered: it has so long to ask."""
        if connection in self._idle:
            return
        while len(self._idle) >= self._most:
            self._evict(self._idle.find_next_to_evict())
        self.remove(connection)
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self._limits.head_timeout, self._evict, connection)
        self._idle.add(connection)

    def admit_request(self, connection: ClientConnection, *, complete: bool) -> bool:
        """Tell whether a request may be answered whose head has come, or which is complete."""
        if connection not in self._answered and connection not in self._receiving:
            if len(self._receiving) + len(self._answered) >= self._most:
                if not self._receiving:
                    return False
                self._evict(self._receiving.find_next_to_evict())
            self.remove(connection)
            self._receiving.add(connection)
        if complete:
            self._receiving.discard(connection)
            self._answered.add(connection)
        return True

    def count_connections(self) -> Mapping[str, int]:
        """Numbers of connections by their state."""
        return {"idle": len(self._idle), "receiving": len(self._receiving), "answered": len(self._answered)}

    def remove(self, connection: ClientConnection) -> None:
        """It has gone, or is the other server's."""
        for pool in (self._idle, self._receiving, self._answered):
            pool.discard(connection)
        if timer := self._timers.pop(connection, None):
            timer.cancel()

    def _evict(self, connection: ClientConnection) -> None:
        self.remove(connection)
        connection.abort()


def parse_network(address: str) -> str:
    """The network of a client's address: of IPv4 the address itself, of IPv6 its first 64 bits; empty if it is none."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Network((int(found), 64), strict=False))
    return str(found)


Talks = Callable[[PeerConnection, bytes], object]
"""Handler of a connection that the other server opened, given its certificate."""
PEER = "dpcurves.peer"
"""In a connection's scope: the certificate that the other side has proven, if any."""
BACKLOG = 2048
PAUSE = 0.1
"""Seconds, when the system gives no more connections."""
BUSY = JSONResponse({"error": "server: it answers as many as it can; ask again later"}, 503)
LARGEST_HEAD = 2**16
"""Bytes that may come of what is no body: the head of a request, or what follows a body in chunks."""


class HttpConnection(HttpToolsProtocol):
    """HTTP protocol of one connection. It tells the app which client certificate was proven by TLS."""

    def __init__(self, admission: Admission, config: uvicorn.Config, state: Any, talks: Talks | None = None) -> None:
        super().__init__(config, state, {})
        self.network = ""
        self._admission, self._is_peer, self._admitted, self._talks = admission, False, False, talks
        self._coming: asyncio.Task[None] | None = None
        self._beside_bodies = 0

    def start_handshake(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        """Shake hands, within the time of an idle connection."""
        with suppress(OSError):  # whoever came may have gone
            self.network = parse_network(str(connection.getpeername()[0]))
        self._admission.mark_idle(self)
        self._coming = self.loop.create_task(self._accept_tls(connection, context))

    async def _accept_tls(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a short answer waits for 40 ms
            await self.loop.connect_accepted_socket(lambda: self, connection, ssl=context)
        except OSError:  # whoever came has gone, or is not who may come
            self._admission.remove(self)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        elif self._coming is not None:
            self._coming.cancel()

    def connection_made(self, transport: Any) -> None:
        """Hands are shaken: remember the certificate. Who came for a talk asks nothing here."""
        proven = transport.get_extra_info("ssl_object")
        certificate = proven.getpeercert(binary_form=True)
        if proven.selected_alpn_protocol() == PROTOCOL:
            self._start_peer_session(transport, certificate)
            return
        super().connection_made(transport)
        self.app = self._wrap_app(self.app, certificate)
        self._is_peer = self._admitted = certificate is not None
        if self._is_peer:
            self._admission.remove(self)

    def _wrap_app(self, app: Any, certificate: bytes | None) -> Any:
        """The app with the peer's certificate in the scope; for a request that is not admitted, a refusal."""

        async def respond_if_admitted(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
            await (app if self._admitted else BUSY)({**scope, PEER: certificate}, receive, send)

        return respond_if_admitted

    def _start_peer_session(self, transport: Any, certificate: bytes | None) -> None:
        self._admission.remove(self)
        if self._talks is None or certificate is None:
            transport.abort()
            return
        talks = self._talks
        PeerConnection.from_transport(transport, self.loop).run_in_thread(lambda line: talks(line, certificate))

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        super().connection_lost(exc)
        self._admission.remove(self)

    def data_received(self, data: bytes) -> None:
        """Some of a request has come. The app is called after this, in a turn of the loop of its own."""
        self._beside_bodies += len(data)
        super().data_received(data)
        if self._beside_bodies > LARGEST_HEAD:
            self.transport.abort()
        self._update_admission()

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        self._beside_bodies = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of the body of a request has come."""
        self._beside_bodies = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """It was answered."""
        super().on_response_complete()
        self._update_admission()

    def _update_admission(self) -> None:
        """Tell admission control the state of the connection."""
        if self._is_peer or self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._admission.mark_idle(self)
        else:
            self._admitted = self._admission.admit_request(self, complete=not self.cycle.more_body)


class Listener:
    """Takes connections from sockets that listen, as long as it is not closed. What uvicorn calls a server."""

    def __init__(self, sockets: Sequence[socket.socket], welcome: Callable[[socket.socket], None]) -> None:
        loop = asyncio.get_running_loop()
        self._sockets, self._welcome = sockets, welcome
        self._taking = [loop.create_task(self._accept_connections(one)) for one in sockets]

    async def _accept_connections(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(PAUSE)
                continue
            self._welcome(connection)
            await asyncio.sleep(0)  # those who are in come first

    def close(self) -> None:
        """Take no more."""
        for task, listening in zip(self._taking, self._sockets, strict=True):
            task.cancel()
            listening.close()

    async def wait_closed(self) -> None:
        """Until none is taken."""
        await asyncio.gather(*self._taking, return_exceptions=True)


def open_listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Sockets for all addresses of a host. Raises `OSError`: one of them can not be had."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets = [socket.create_server(place[:2], family=family, backlog=BACKLOG) for family, _, _, _, place in found]
    for one in sockets:
        one.setblocking(False)
    return sockets


def make_server_context(certificate: Path, key: Path, peer_certificates: Sequence[str]) -> ssl.SSLContext:
    """Proves this server. Who shows a certificate must show one of `peer_certificates`, in PEM; all other people show none.

    Raises:
        OSError: a file can not be read, or they are no certificate and its key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key, password="")  # else a key with one is asked for at the terminal
    context.set_alpn_protocols(["http/1.1", PROTOCOL])
    context.num_tickets = 0  # nobody here resumes a connection: two tickets for each would be made for nothing
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for other in peer_certificates:
        context.load_verify_locations(cadata=other)
    return context


def make_standalone_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Proves a server that knows no other one, by two files.

    Raises:
        ValueError: they are no certificate and its key, or it has expired.
    """
    try:
        context = make_server_context(certificate, key, ())
        text = certificate.read_text(encoding="utf-8")
    except (OSError, ValueError):
        files = f"{str(certificate)!r}, {str(key)!r}"
        raise InvalidArgument(
            "tls", f"no certificate and its key, without a password, can be read from {files}"
        ) from None
    require_valid_certificate(text, "a new one is needed")
    return context


IDLE = 75
"""Seconds after which a connection of the other server ends."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address that a server listens on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, argument: str = "listen") -> Address:
        """Read ``host:port``. Raises `ValueError`: it is none."""
        try:
            parts = urlsplit(f"//{text}")
            if parts.hostname and parts.port and not parts.path:
                return cls(parts.hostname, parts.port)
        except ValueError:
            pass
        raise ProtocolError(argument, f"host:port is needed, as in 127.0.0.1:8701, got {text!r}")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Network settings of a server.

    Attributes:
        address: Where it listens.
        context: What proves it.
        limits: Limits of the resources of unauthenticated clients.
        monitoring: How it is watched.
        check_ready: Does what it needs to answer at all, such as reading its store; raises where it can not.
    """

    address: Address
    context: ssl.SSLContext
    limits: Limits = USUAL
    monitoring: Monitoring = UNWATCHED
    check_ready: Callable[[], object] = lambda: None


def serve(app: Any, settings: ServerSettings, ready: Callable[[], object], handle_session: Talks | None = None) -> None:
    """Serve an app until the process is told to stop. `ready` is called once it listens, `handle_session` for each talk.

    Raises:
        ValueError: an address can not be had.
    """
    admission, address = Admission(settings.limits), settings.address
    watch = ServerMetrics(admission.count_connections, settings.check_ready)
    config = uvicorn.Config(
        watch.wrap_app(app), host=address.host, port=address.port, ws="none", lifespan="off", log_level="critical",
        access_log=False, timeout_keep_alive=IDLE, server_header=False, date_header=False, timeout_graceful_shutdown=2,
        proxy_headers=False,  # what a visitor says of the own address is believed from nobody
    )  # fmt: skip
    config.load()
    disable_core_dumps()
    gc.collect()
    gc.freeze()  # what is here stays: tickets of a million owners would be looked through again and again
    gc.collect()  # else the collector waits until a quarter as much has come as was here

    async def run_server() -> None:
        with watch.serve_metrics(settings.monitoring, asyncio.get_running_loop()):
            await _AnnouncingServer(config, admission, settings.context, ready, handle_session).serve()

    with asyncio.Runner(loop_factory=asyncio.new_event_loop if uvloop is None else uvloop.new_event_loop) as runner:
        try:
            runner.run(run_server())
        finally:
            gc.unfreeze()


class _AnnouncingServer(uvicorn.Server):
    """A server whose connections admission control admits, and which says when it listens."""

    def __init__(
        self, config: uvicorn.Config, admission: Admission, context: ssl.SSLContext, ready: Any, talks: Talks | None
    ) -> None:
        super().__init__(config)
        self._admission, self._context, self._ready, self._talks = admission, context, ready, talks

    async def startup(self, sockets: Any = None) -> None:
        await self.lifespan.startup()
        try:
            listening = open_listening_sockets(self.config.host, self.config.port)
        except OSError:
            place = f"{self.config.host}:{self.config.port}"
            raise ProtocolError("listen", f"{place} is taken, or is no address of this machine") from None
        self.servers: list[Any] = [Listener(listening, self._start_connection)]
        self.started = True
        self._ready()

    def _start_connection(self, connection: socket.socket) -> None:
        HttpConnection(self._admission, self.config, self.server_state, self._talks).start_handshake(
            connection, self._context
        )
