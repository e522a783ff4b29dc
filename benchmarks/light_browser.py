"""A visitor of a server over TLS that costs next to nothing: one connection, opened again where it has ended."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import NamedTuple


class Heard(NamedTuple):
    """An answer: its status, its headers in small letters, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Browser:
    """Asks one question after the other.

    Args:
        port: Of the server, on loopback.
        context: What the server has to prove.
        headers: What is sent with all that is asked.
    """

    def __init__(self, port: int, context: ssl.SSLContext, headers: Mapping[str, str]) -> None:
        self._port, self._context, self._more = port, context, headers
        host = f"127.0.0.1:{port}"
        self._head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": host, **headers}.items())
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.opened = 0

    def another(self) -> Browser:
        """A connection more of the same visitor."""
        return Browser(self._port, self._context, self._more)

    async def get(self, path: str) -> Heard:
        return await self._asked("GET", path, b"", "")

    async def post(self, path: str, body: bytes, kind: str) -> Heard:
        return await self._asked("POST", path, body, f"Content-Type: {kind}\r\n")

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
            self._reader = self._writer = None

    async def _asked(self, method: str, path: str, body: bytes, more: str) -> Heard:
        message = f"{method} {path} HTTP/1.1\r\n{self._head}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body
        if self._reader is not None and not self._reader.at_eof():
            try:
                return await self._exchanged(message)
            except (OSError, EOFError):  # it had ended: as browsers do, it is asked once more
                pass
        self.close()
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context)
        self.opened += 1
        return await self._exchanged(message)

    async def _exchanged(self, message: bytes) -> Heard:
        assert self._reader is not None
        assert self._writer is not None
        self._writer.write(message)
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Heard(int(first.split()[1]), headers, body)


def believing(certificate: str) -> ssl.SSLContext:
    """What proves a server with this certificate."""
    return ssl.create_default_context(cafile=certificate)
