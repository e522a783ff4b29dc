"""A long talk with the other server, on a connection that came in where all do: each message with its length."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import TimeoutError as TooLong
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from .errors import ProtocolAborted

PROTOCOL = "dpcurves-talk"
"""What is agreed on, by ALPN, where a connection carries a talk."""
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
        """Send one message.

        Raises:
            ProtocolAborted: the other server is gone.
        """
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
