"""A server as a process, on one address."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from .door import Door
from .entrance import Entrance, Guest, Talks, listening_at
from .errors import ProtocolAborted
from .memory_image import leave_no_image

IDLE = 75
"""Seconds after which a connection of the other server ends."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address that a server listens on."""

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
