"""TLS server: connections of the peer server are authenticated by its certificate, and no other is."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpcurves.arguments import Refused

from .certificate import require_valid
from .door import Door
from .line import PROTOCOL, Line

Talks = Callable[[Line, bytes], object]
"""What is done on a connection that the other server opened for a talk, given its certificate."""
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
    """Sockets for all addresses of a host.

    Raises:
        OSError: one of them can not be had.
    """
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
