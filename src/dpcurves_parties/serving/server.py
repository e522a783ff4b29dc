"""A server as a process: connection limits, TLS with authenticated peers, connections that stay open, launch."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import TimeoutError as TooLong
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import uvicorn
from fastapi.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpcurves.arguments import Refused

from .identity import require_valid
from .messages import ProtocolAborted, leave_no_image

PROTOCOL = "dpcurves-talk"
"""The ALPN protocol name of a connection between servers that stays open."""
PATIENCE = 60.0
"""Seconds that the other server may be silent."""
LARGEST_MESSAGE = 2**28
LENGTH = 8
Result = TypeVar("Result")


@dataclass(slots=True, repr=False, eq=False)
class Line:
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
    def on(cls, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> Line:
        """Take a connection over, whoever had it before."""
        reader = asyncio.StreamReader(LARGEST_MESSAGE, loop)  # neither party may wait until the other one reads
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport.set_protocol(protocol)
        transport.set_write_buffer_limits(LARGEST_MESSAGE)
        protocol.connection_made(transport)
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop), loop)

    def beside(self, work: Callable[[Line], object]) -> None:
        """Let a thread of its own talk."""
        Thread(target=work, args=(self,), daemon=True).start()

    def send(self, message: bytes) -> None:
        """Send one message. Raises `ProtocolAborted`: the other server is gone."""
        self._await(self._sent(message))

    def receive(self) -> bytes:
        """The next message.

        Raises:
            ProtocolAborted: the other server is gone, or silent for too long, or says too much at once.
        """
        return self._await(self._received())

    def close(self) -> None:
        """Let go of it."""
        with suppress(RuntimeError):  # a loop that has ended has let go of all
            self.loop.call_soon_threadsafe(self.writer.close)

    async def _sent(self, message: bytes) -> None:
        self.writer.write(len(message).to_bytes(LENGTH, "little"))
        self.writer.write(message)
        await self.writer.drain()

    async def _received(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(LENGTH), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolAborted("peer", f"a message has at most {LARGEST_MESSAGE} bytes", 502)
        return await self.reader.readexactly(size)

    def _await(self, coming: Coroutine[Any, Any, Result]) -> Result:
        waiting = asyncio.run_coroutine_threadsafe(coming, self.loop)
        try:
            return waiting.result(PATIENCE)
        except TooLong:
            waiting.cancel()
            raise ProtocolAborted("peer", "it was silent for too long", 504) from None
        except (OSError, EOFError, RuntimeError):
            raise ProtocolAborted("peer", "the connection was lost", 502) from None


# Connection limits: a number of connections at a time, each with a time limit; the peer server is exempt.
SECONDS = 10
MOST_CONNECTIONS = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of what unauthenticated clients may occupy.

    Attributes:
        connections: At a time, the other server's not counted: half of them to come in and be silent, half to be
            answered.
        seconds: From the first byte to the head of a request, handshake included, and from an answer to the next head.

    Raises:
        ValueError: there is room for nobody, or no time.
    """

    connections: int = MOST_CONNECTIONS
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        if self.connections < 2 or self.seconds <= 0:
            raise Refused("connections, deadline", "at least 2 connections and 1 second are needed")


USUAL = Limits()


class Visit(Protocol):
    """A connection, from its first byte on."""

    def leave(self) -> None:
        """End it at once."""
        ...


class Door:
    """Keeps connections few. Whoever has been silent for longest makes room for who comes.

    So connections that say nothing keep nobody out: who comes is let in, and has to ask before as many others come as
    there is room for. Who has asked and waits for an answer stays. The other server is one who comes until it has
    proven itself; from then on it is not counted, and stays.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._most = limits, limits.connections // 2
        self._silent: dict[Visit, asyncio.TimerHandle] = {}
        self._busy: set[Visit] = set()

    def waits_for(self, visit: Visit) -> None:
        """It has come, or was answered: it has so long to ask."""
        if visit in self._silent:
            return
        while len(self._silent) >= self._most:
            self._send_away(next(iter(self._silent)))
        self._busy.discard(visit)
        loop = asyncio.get_running_loop()
        self._silent[visit] = loop.call_later(self._limits.seconds, self._send_away, visit)

    def has_room_for(self, visit: Visit) -> bool:
        """Tell whether a request may be answered now."""
        return visit in self._busy or len(self._busy) < self._most

    def works_for(self, visit: Visit) -> None:
        """It has asked."""
        self.forget(visit)
        self._busy.add(visit)

    def forget(self, visit: Visit) -> None:
        """It has gone, or is the other server's."""
        self._busy.discard(visit)
        if timer := self._silent.pop(visit, None):
            timer.cancel()

    def _send_away(self, visit: Visit) -> None:
        self.forget(visit)
        visit.leave()


Talks = Callable[[Line, bytes], object]
"""Handler of a connection that the other server opened, given its certificate."""
PEER = "dpcurves.peer"
"""In a connection's scope: the certificate that the other side has proven, if any."""
BACKLOG = 2048
PAUSE = 0.1
"""Seconds, when the system gives no more connections."""
BUSY = JSONResponse({"error": "server: it answers as many as it can; ask again later"}, 503)


class Guest(H11Protocol):
    """HTTP protocol of one connection. It tells the app which client certificate was proven by TLS."""

    def __init__(self, door: Door, config: uvicorn.Config, state: Any, talks: Talks | None = None) -> None:
        super().__init__(config, state, {})
        self._door, self._is_peer, self._talks = door, False, talks
        self._coming: asyncio.Task[None] | None = None

    def come(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        """Shake hands, in a while that the door gives."""
        self._door.waits_for(self)
        self._coming = self.loop.create_task(self._shaken(connection, context))

    async def _shaken(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a short answer waits for 40 ms
            await self.loop.connect_accepted_socket(lambda: self, connection, ssl=context)
        except OSError:  # whoever came has gone, or is not who may come
            self._door.forget(self)

    def leave(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        elif self._coming is not None:
            self._coming.cancel()

    def connection_made(self, transport: Any) -> None:
        """Hands are shaken: remember the certificate. Who came for a talk asks nothing here."""
        proven = transport.get_extra_info("ssl_object")
        certificate = proven.getpeercert(binary_form=True)
        if proven.selected_alpn_protocol() == PROTOCOL:
            self._talk(transport, certificate)
            return
        super().connection_made(transport)
        self._served = self.app = _with_peer(self.app, certificate)
        self._is_peer = certificate is not None
        if self._is_peer:
            self._door.forget(self)

    def _talk(self, transport: Any, certificate: bytes | None) -> None:
        self._door.forget(self)
        if self._talks is None or certificate is None:
            transport.abort()
            return
        talks = self._talks
        Line.on(transport, self.loop).beside(lambda line: talks(line, certificate))

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        super().connection_lost(exc)
        self._door.forget(self)

    def data_received(self, data: bytes) -> None:
        """Some of a request has come."""
        self.app = self._served if self._is_peer or self._door.has_room_for(self) else BUSY
        super().data_received(data)
        self._stay()

    def on_response_complete(self) -> None:
        """It was answered."""
        super().on_response_complete()
        self._stay()

    def _stay(self) -> None:
        if self._is_peer or self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._door.waits_for(self)
        else:
            self._door.works_for(self)


class Entrance:
    """Takes connections from sockets that listen, as long as it is not closed. What uvicorn calls a server."""

    def __init__(self, sockets: Sequence[socket.socket], welcome: Callable[[socket.socket], None]) -> None:
        loop = asyncio.get_running_loop()
        self._sockets, self._welcome = sockets, welcome
        self._taking = [loop.create_task(self._take(one)) for one in sockets]

    async def _take(self, listening: socket.socket) -> None:
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


def listening_at(host: str, port: int) -> list[socket.socket]:
    """Sockets for all addresses of a host. Raises `OSError`: one of them can not be had."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets = [socket.create_server(place[:2], family=family, backlog=BACKLOG) for family, _, _, _, place in found]
    for one in sockets:
        one.setblocking(False)
    return sockets


def proving(certificate: Path, proof: Path, others: Sequence[str]) -> ssl.SSLContext:
    """Proves this server. Who shows a certificate must show one of `others`, in PEM; all other people show none.

    Raises:
        OSError: a file can not be read, or they are no certificate and its key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, proof, password="")  # else a key with one is asked for at the terminal
    context.set_alpn_protocols(["http/1.1", PROTOCOL])
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for other in others:
        context.load_verify_locations(cadata=other)
    return context


def proving_alone(certificate: Path, key: Path) -> ssl.SSLContext:
    """Proves a server that knows no other one, by two files.

    Raises:
        ValueError: they are no certificate and its key, or it has expired.
    """
    try:
        context = proving(certificate, key, ())
        text = certificate.read_text(encoding="utf-8")
    except (OSError, ValueError):
        files = f"{str(certificate)!r}, {str(key)!r}"
        raise Refused("tls", f"no certificate and its key, without a password, can be read from {files}") from None
    require_valid(text, "a new one is needed")
    return context


def _with_peer(app: Any, certificate: bytes | None) -> Any:
    async def told(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        await app({**scope, PEER: certificate}, receive, send)

    return told


IDLE = 75
"""Seconds after which a connection of the other server ends."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address that a server listens on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``host:port``. Raises `ValueError`: it is none."""
        try:
            parts = urlsplit(f"//{text}")
            if parts.hostname and parts.port and not parts.path:
                return cls(parts.hostname, parts.port)
        except ValueError:
            pass
        raise ProtocolAborted("listen", f"host:port is needed, as in 127.0.0.1:8701, got {text!r}")


def serve(  # noqa: PLR0917
    app: Any, address: Address, door: Door, context: ssl.SSLContext, ready: Callable[[], object],
    talks: Talks | None = None,
) -> None:  # fmt: skip
    """Serve an app until the process is told to stop. `ready` is called once it listens, `talks` for each talk.

    Raises:
        ValueError: the address can not be had.
    """
    config = uvicorn.Config(
        app, host=address.host, port=address.port, ws="none", lifespan="off", log_level="critical", access_log=False,
        timeout_keep_alive=IDLE, server_header=False, date_header=False, timeout_graceful_shutdown=2,
        proxy_headers=False,  # what a visitor says of the own address is believed from nobody
    )  # fmt: skip
    config.load()
    leave_no_image()
    asyncio.run(_Announced(config, door, context, ready, talks).serve())


class _Announced(uvicorn.Server):
    """Lets in whom the door lets stay, and says when it listens."""

    def __init__(
        self, config: uvicorn.Config, door: Door, context: ssl.SSLContext, ready: Any, talks: Talks | None
    ) -> None:
        super().__init__(config)
        self._door, self._context, self._ready, self._talks = door, context, ready, talks

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
        Guest(self._door, self.config, self.server_state, self._talks).come(connection, self._context)
