"""A server process: TLS with authenticated peers, limits on connections, and startup.

    serve               runs an app until the process is stopped
    Admission           limits connections, so that no client keeps others out (admission control)
    PeerConnection      a persistent connection to the other server, used from a thread

Clients are not authenticated here; the app checks their tokens. The peer server shows a certificate.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
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
from .monitoring import NO_MONITORING, Monitoring, ServerMetrics

try:
    import uvloop
except ImportError:  # another platform, with a pure Python event loop
    uvloop = None  # type: ignore[assignment]

PROTOCOL = "dpcurves-talk"
"""ALPN protocol name by which a TLS client asks for a persistent connection between servers; all others speak
HTTP/1.1."""
PEER_SECONDS = 60.0
"""Default seconds for which a server waits until the other one sends or takes a message; then the session ends with an
error."""
LARGEST_MESSAGE = 2**28
"""Bytes of a message between servers at most; a session that announces a longer one is refused. Also the size of send
and receive buffers."""
LENGTH_SIZE = 8
"""Bytes of the length, little-endian, that precedes each message on a persistent connection between servers."""
Result = TypeVar("Result")


@dataclass(slots=True, repr=False, eq=False)
class PeerConnection:
    """One end of a two-way connection to another server, used from a thread.

    The event loop reads while the thread works.

    Attributes:
        reader: Incoming stream.
        writer: Outgoing stream.
        loop: Event loop of both.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    loop: asyncio.AbstractEventLoop

    @classmethod
    def from_transport(cls, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> PeerConnection:
        """Take over a TLS transport from HTTP, and return the connection over it.

        Args:
            transport: The transport, which HTTP uses no more.
            loop: Event loop that runs the transport.
        """
        reader = asyncio.StreamReader(LARGEST_MESSAGE, loop)  # neither party may block until the other reads
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport.set_protocol(protocol)
        transport.set_write_buffer_limits(LARGEST_MESSAGE)
        protocol.connection_made(transport)
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop), loop)

    def run_in_thread(self, work: Callable[[PeerConnection], object]) -> None:
        """Start a daemon thread that calls `work` with this connection."""
        Thread(target=work, args=(self,), daemon=True).start()

    def send(self, message: bytes) -> None:
        """Send one message to the peer server in this session.

        Raises:
            ProtocolError: the other server is gone.
        """
        self._wait_for(self._send_message(message))

    def receive(self) -> bytes:
        """Return the next message of the peer server in this session.

        Raises:
            ProtocolError: the other server is gone, or silent for 60 seconds, or its message is too large.
        """
        return self._wait_for(self._receive_message())

    def close(self) -> None:
        """Close the connection from any thread; nothing happens if the event loop has ended."""
        with suppress(RuntimeError):  # a closed loop has closed its connections
            self.loop.call_soon_threadsafe(self.writer.close)

    async def _send_message(self, message: bytes) -> None:
        """Write a message with its length prefix, and wait until the buffer has room."""
        self.writer.write(len(message).to_bytes(LENGTH_SIZE, "little"))
        self.writer.write(message)
        await self.writer.drain()

    async def _receive_message(self) -> bytes:
        """Return the next message, which follows its length in `LENGTH_SIZE` bytes, little-endian.

        Raises:
            ProtocolError: the announced length exceeds `LARGEST_MESSAGE`.
            IncompleteReadError: the connection ended before.
        """
        size = int.from_bytes(await self.reader.readexactly(LENGTH_SIZE), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolError(
                "peer",
                f"the other server announced a message of more than {LARGEST_MESSAGE} bytes; use the "
                "same version of dpcurves at both",
                502,
            )
        return await self.reader.readexactly(size)

    def _wait_for(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the event loop from this thread, and return its result.

        Args:
            coroutine: The coroutine.

        Raises:
            ProtocolError: `PEER_SECONDS` passed (status 504), or the connection was lost (502).
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(PEER_SECONDS)
        except FutureTimeout:
            future.cancel()
            raise ProtocolError("peer", "the other server was silent for too long; ask again", 504) from None
        except (OSError, EOFError, RuntimeError):
            raise ProtocolError("peer", "the connection was lost; ask again", 502) from None


# Admission control: a limited number of connections, shared by network addresses; the peer server is exempt.


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on connections of unauthenticated clients.

    Attributes:
        connections: Concurrent connections, the peer server's not counted. Half are for idle connections, half for
            requests whose body arrives or which are answered.
        head_timeout: Seconds from the first byte to the complete head of a request, handshake included; and from a
            response to the next head.

    Raises:
        ValueError: a limit is too small.
    """

    connections: int = 512  # half of the usual limit of 1,024 open files of a process
    head_timeout: float = 10  # seconds from the start of a connection to a complete head

    def __post_init__(self) -> None:
        if self.connections < 2 or self.head_timeout <= 0:
            raise InvalidArgument("connections, deadline", "must be at least 2 connections and more than 0 seconds")


DEFAULT_LIMITS = Limits()
"""Default limits on clients: 512 connections at a time, and 10 seconds for the head of a request."""


class ClientConnection(Protocol):
    """The interface of a connection, from its first byte.

    Attributes:
        network: The client's address; for IPv6 the /64 network of one customer.
    """

    network: str

    def abort(self) -> None:
        """Close the connection at once, without sending what is buffered."""
        ...


class Pool:
    """Connections in one state, in order of arrival, grouped by network address."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[ClientConnection, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, visit: ClientConnection) -> bool:
        return visit in self._groups.get(visit.network, ())

    def add(self, connection: ClientConnection) -> None:
        """Append a connection as the newest of its address. A connection that is in the pool stays where it is."""
        if connection not in self:
            self._groups.setdefault(connection.network, {})[connection] = None
            self._count += 1

    def discard(self, connection: ClientConnection) -> None:
        """Remove a connection from the pool, if it is there."""
        if connection in self:
            del self._groups[connection.network][connection]
            self._count -= 1
            if not self._groups[connection.network]:
                del self._groups[connection.network]

    def find_next_to_evict(self) -> ClientConnection:
        """Return the oldest connection of the address with most connections."""
        largest: dict[ClientConnection, None] = max(self._groups.values(), key=len)
        return next(iter(largest))


class Admission:
    """Admission control: decides which connections and requests get a place.

    A connection is idle, receives the body of a request, or is answered. If a new connection or request finds no place,
    the oldest connection of the address with most connections is closed: an idle one, or one with an incomplete body.
    So neither silent connections nor slow bodies keep other clients out, and an address with many connections competes
    with itself. A request is refused only if complete requests that are being answered take all places. The peer server
    counts as a client until it has authenticated; then it is exempt.

    Args:
        limits: The limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._most = limits.connections // 2
        self._idle = Pool()
        self._receiving = Pool()
        self._answered = Pool()
        self._timers: dict[ClientConnection, asyncio.TimerHandle] = {}

    def mark_idle(self, connection: ClientConnection) -> None:
        """Count a connection as idle, and start the timeout of its next head.

        If there are too many idle connections, the oldest one of the busiest address is closed.

        Args:
            connection: A connection that is new, or whose last request was answered.
        """
        if connection in self._idle:
            return
        while len(self._idle) >= self._most:
            self._evict(self._idle.find_next_to_evict())
        self.remove(connection)
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self._limits.head_timeout, self._evict, connection)
        self._idle.add(connection)

    def admit_request(self, connection: ClientConnection, *, complete: bool) -> bool:
        """Return True if a request may be served now; False if complete requests use the whole capacity.

        Args:
            connection: Connection on which the request arrives.
            complete: Whether the whole request has arrived, or only its head.
        """
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
        """Return the number of client connections in each state, for the metrics.

        Returns:
            Numbers by the names ``idle``, ``receiving`` and ``answered``.
        """
        return {"idle": len(self._idle), "receiving": len(self._receiving), "answered": len(self._answered)}

    def remove(self, connection: ClientConnection) -> None:
        """Stop counting a connection, and cancel its timeout. It was closed, or belongs to the peer server."""
        for pool in (self._idle, self._receiving, self._answered):
            pool.discard(connection)
        if timer := self._timers.pop(connection, None):
            timer.cancel()

    def _evict(self, connection: ClientConnection) -> None:
        """Remove a connection from all pools and close it without delay."""
        self.remove(connection)
        connection.abort()


def parse_network(address: str) -> str:
    """Return the network of a client: the IPv4 address, or the first 64 bits of an IPv6 address; empty for
    other text.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((int(parsed), 64), strict=False))
    return str(parsed)


Talks = Callable[[PeerConnection, bytes], object]
"""Handler of a connection that the peer server opened, given its certificate."""
PEER_SCOPE_KEY = "dpcurves.peer"
"""Key in a connection's ASGI scope: the verified client certificate in DER, by which requests of the peer server are
authorised; None without one."""
BUSY_RESPONSE = JSONResponse({"error": "server: busy with as many requests as it can answer; ask again later"}, 503)
"""Response, with status 503, to a request that arrives while as many are answered as the limits allow."""


class HttpConnection(HttpToolsProtocol):
    """HTTP on one connection, under admission control. It passes the verified client certificate to the app."""

    def __init__(self, admission: Admission, config: uvicorn.Config, state: Any, talks: Talks | None = None) -> None:
        super().__init__(config, state, {})
        self.network = ""
        self._admission = admission
        self._is_peer = False
        self._admitted = False
        self._talks = talks
        self._coming: asyncio.Task[None] | None = None
        self._beside_bodies = 0

    def start_handshake(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        """Run the TLS handshake, within the time of an idle connection.

        Args:
            connection: Accepted socket.
            context: TLS settings of the server.
        """
        with suppress(OSError):  # the client may have left
            self.network = parse_network(str(connection.getpeername()[0]))
        self._admission.mark_idle(self)
        self._coming = self.loop.create_task(self._accept_tls(connection, context))

    async def _accept_tls(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        """Run the TLS handshake on the event loop; a client that fails leaves admission control.

        Args:
            connection: Accepted socket, not yet encrypted.
            context: TLS settings of the server.
        """
        try:
            connection.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
            )  # TCP_NODELAY: otherwise a short answer waits for 40 ms
            await self.loop.connect_accepted_socket(lambda: self, connection, ssl=context)
        except OSError:  # the client has left, or is not authorised
            self._admission.remove(self)

    def abort(self) -> None:
        """Close the connection without delay, or cancel its handshake."""
        if self.transport is not None:
            self.transport.abort()
        elif self._coming is not None:
            self._coming.cancel()

    def connection_made(self, transport: Any) -> None:
        """Store the client certificate after the handshake. Sessions of the peer server are handed over.

        Args:
            transport: Encrypted transport of the connection.
        """
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
        """Return the app with the client certificate in its scope; for a request that is not admitted, a refusal.

        Args:
            app: ASGI app.
            certificate: Certificate of the client, in bytes; None: it showed none.
        """

        async def respond_if_admitted(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
            """Pass the request to the app, or answer with status 503 if it was not admitted.

            Args:
                scope: The request's ASGI scope.
                receive: ASGI function that returns the next part of the body.
                send: ASGI function that sends a part of the response.
            """
            await (app if self._admitted else BUSY_RESPONSE)({**scope, PEER_SCOPE_KEY: certificate}, receive, send)

        return respond_if_admitted

    def _start_peer_session(self, transport: Any, certificate: bytes | None) -> None:
        """Hand a connection that the peer server opened for a session to its handler; abort it if sessions or its
        certificate are missing.

        Args:
            transport: Transport of the connection.
            certificate: Certificate of the client, in bytes; None: it showed none.
        """
        self._admission.remove(self)
        if self._talks is None or certificate is None:
            transport.abort()
            return
        talks = self._talks
        PeerConnection.from_transport(transport, self.loop).run_in_thread(lambda line: talks(line, certificate))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting a connection in admission control, because the client or the network has closed it.

        Args:
            exc: Error that ended the connection; None: it was closed.
        """
        super().connection_lost(exc)
        self._admission.remove(self)

    def data_received(self, data: bytes) -> None:
        """Process part of a request. The app is called later, in its own iteration of the event loop.

        Args:
            data: Decrypted bytes as they arrived.
        """
        self._beside_bodies += len(data)
        super().data_received(data)
        # 2**16: size limit, in bytes, of a request's head and of trailing data after a chunked body
        if self._beside_bodies > 2**16:
            self.transport.abort()
        self._update_admission()

    def on_headers_complete(self) -> None:
        """Restart the count of bytes that limits the next head, because the head of a request is complete."""
        self._beside_bodies = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Restart the count of bytes that limits the next head, because these bytes belong to a body."""
        self._beside_bodies = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Mark the connection as idle, because its request was answered."""
        super().on_response_complete()
        self._update_admission()

    def _update_admission(self) -> None:
        """Mark this connection in admission control as idle, or its request as arriving or complete; does nothing for
        the peer server or a closing connection.
        """
        if self._is_peer or self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._admission.mark_idle(self)
        else:
            self._admitted = self._admission.admit_request(self, complete=not self.cycle.more_body)


class Listener:
    """Accepts connections from listening sockets until it is closed. Implements uvicorn's server interface."""

    def __init__(self, sockets: Sequence[socket.socket], welcome: Callable[[socket.socket], None]) -> None:
        loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._welcome = welcome
        self._taking = [loop.create_task(self._accept_connections(listening)) for listening in sockets]

    async def _accept_connections(self, listening: socket.socket) -> None:
        """Accept connections from one socket for ever; pause after the system refuses one.

        Args:
            listening: Non-blocking listening socket.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(0.1)  # seconds to wait after the system refuses further connections
                continue
            self._welcome(connection)
            await asyncio.sleep(0)  # existing connections have priority

    def close(self) -> None:
        """Stop accepting connections on all listening sockets."""
        for task, listening in zip(self._taking, self._sockets, strict=True):
            task.cancel()
            listening.close()

    async def wait_closed(self) -> None:
        """Wait until this listener is accepting no connection any more."""
        await asyncio.gather(*self._taking, return_exceptions=True)


def open_listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return non-blocking listening sockets, one for each address of a host; the caller closes them.

    Args:
        host: Host name or IP address.
        port: TCP port; 0 lets the system choose for each address.

    Raises:
        OSError: an address cannot be used.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # 2048: connections that the system queues before they are accepted, at most
    sockets = [
        socket.create_server(socket_address[:2], family=family, backlog=2048)
        for family, _, _, _, socket_address in addresses
    ]
    for listening in sockets:
        listening.setblocking(False)
    return sockets


def make_server_context(certificate: Path, key: Path, peer_certificates: Sequence[str]) -> ssl.SSLContext:
    """Return a TLS context for this server; client certificates are optional and must be one of `peer_certificates`
    (PEM).

    Raises:
        OSError: a file cannot be read, or is not a certificate with its key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key, password="")  # otherwise an encrypted key would prompt at the terminal
    context.set_alpn_protocols(["http/1.1", PROTOCOL])
    context.num_tickets = 0  # clients do not resume sessions, so tickets would be wasted
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for peer_certificate in peer_certificates:
        context.load_verify_locations(cadata=peer_certificate)
    return context


def make_standalone_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a TLS context for a server without a peer, from two files.

    Raises:
        ValueError: the files are not a certificate and its key, or the certificate has expired.
    """
    try:
        context = make_server_context(certificate, key, ())
        text = certificate.read_text(encoding="utf-8")
    except (OSError, ValueError):
        files = f"{str(certificate)!r}, {str(key)!r}"
        raise InvalidArgument(
            "tls", f"must be a certificate and its private key without a password, in PEM; {files} are not"
        ) from None
    require_valid_certificate(text, "a new one is needed")
    return context


@dataclass(frozen=True, slots=True)
class Address:
    """The address on which a server listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, argument: str = "listen") -> Address:
        """Return the host and port of a text such as ``127.0.0.1:8701``.

        Args:
            text: ``host:port``, as typed.
            argument: Name of the option, for the message.

        Raises:
            ValueError: the text has another form.
        """
        try:
            address = urlsplit(f"//{text}")
            if address.hostname and address.port and not address.path:
                return cls(address.hostname, address.port)
        except ValueError:
            pass
        raise ProtocolError(argument, f"must be host:port, as in 127.0.0.1:8701, got {text!r}")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Network settings of a server.

    Attributes:
        address: Address to listen on.
        context: TLS context that proves the server.
        limits: Resource limits of unauthenticated clients.
        monitoring: Monitoring settings.
        check_ready: Checks what the server needs to answer at all, such as reading its store; raises if that fails.
    """

    address: Address
    context: ssl.SSLContext
    limits: Limits = DEFAULT_LIMITS
    monitoring: Monitoring = NO_MONITORING
    check_ready: Callable[[], object] = lambda: None


def serve(app: Any, settings: ServerSettings, ready: Callable[[], object], handle_session: Talks | None = None) -> None:
    """Serve an app over HTTPS until the process is stopped.

    Args:
        app: ASGI app.
        settings: Address, certificate, limits and monitoring.
        ready: Called once, when the server listens.
        handle_session: Called for each two-party session that the peer server opens; None: there are none.

    Raises:
        ValueError: an address cannot be used.
    """
    admission = Admission(settings.limits)
    address = settings.address
    watch = ServerMetrics(admission.count_connections, settings.check_ready)
    # 75: seconds without a request after which uvicorn ends a persistent connection, the peer server's included
    config = uvicorn.Config(
        watch.wrap_app(app), host=address.host, port=address.port, ws="none", lifespan="off", log_level="critical",
        access_log=False, timeout_keep_alive=75, server_header=False, date_header=False, timeout_graceful_shutdown=2,
        proxy_headers=False,  # forwarded-for headers of clients are not trusted
    )  # fmt: skip
    config.load()
    disable_core_dumps()
    gc.collect()
    gc.freeze()  # collections then skip present objects, such as the tickets of a million owners
    gc.collect()  # otherwise a full collection waits until long-lived objects have grown by a quarter

    async def run_server() -> None:
        """Serve the app and the metrics until the process is stopped."""
        with watch.serve_metrics(settings.monitoring, asyncio.get_running_loop()):
            await _AnnouncingServer(config, admission, settings.context, ready, handle_session).serve()

    with asyncio.Runner(loop_factory=asyncio.new_event_loop if uvloop is None else uvloop.new_event_loop) as runner:
        try:
            runner.run(run_server())
        finally:
            gc.unfreeze()


class _AnnouncingServer(uvicorn.Server):
    """A server with admission control that announces when it listens."""

    def __init__(
        self, config: uvicorn.Config, admission: Admission, context: ssl.SSLContext, ready: Any, talks: Talks | None
    ) -> None:
        super().__init__(config)
        self._admission = admission
        self._context = context
        self._ready = ready
        self._talks = talks

    async def startup(self, sockets: Any = None) -> None:
        """Open the listening sockets, and call `ready`.

        Raises:
            ProtocolError: the address is taken, or does not belong to this machine.
        """
        await self.lifespan.startup()
        try:
            listening = open_listening_sockets(self.config.host, self.config.port)
        except OSError:
            address = f"{self.config.host}:{self.config.port}"
            raise ProtocolError(
                "listen", f"{address} is taken, or no address of this machine; name another one"
            ) from None
        self.servers: list[Any] = [Listener(listening, self._start_connection)]
        self.started = True
        self._ready()

    def _start_connection(self, connection: socket.socket) -> None:
        """Start the handshake of an accepted connection under admission control."""
        HttpConnection(self._admission, self.config, self.server_state, self._talks).start_handshake(
            connection, self._context
        )
