"""Framed two-party connection over TLS: each message is preceded by its length."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from select import select
from typing import Protocol, TypeVar, cast

from dpcurves.arguments import ProtocolAborted

from ..crypto.two_party import Talk
from ..serving.line import LARGEST_MESSAGE, LENGTH, PATIENCE

Result = TypeVar("Result")
_PIECE = 2**16


class End(Protocol):
    """Interface of an endpoint of a two-party connection, over any transport."""

    def send(self, message: bytes) -> None:
        """Send one message. Raises `ProtocolAborted`."""

    def receive(self) -> bytes:
        """The next message. Raises `ProtocolAborted`."""


@dataclass(slots=True, repr=False, eq=False)
class Connection:
    """Endpoint of a two-party connection. It counts messages and bytes.

    Attributes:
        wire: A socket whose other end has been authenticated.
        sent: Bytes of messages, without those of TLS.
        received: Bytes of messages that came, counted like `sent`.
    """

    wire: ssl.SSLSocket
    sent: int = field(default=0, init=False)
    received: int = field(default=0, init=False)
    _kept: bytearray = field(default_factory=bytearray, init=False)

    @classmethod
    def over(
        cls, raw: socket.socket, context: ssl.SSLContext, name: str = "", patience: float = PATIENCE
    ) -> Connection:
        """Open a connection over a socket.

        Args:
            context: What both ends prove; it says who is called and who calls.
            name: Name of the party that is called, at the caller.

        Raises:
            ProtocolAborted: the other end is somebody else, or is gone.
        """
        raw.settimeout(patience)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_called = context.protocol == ssl.PROTOCOL_TLS_SERVER
        try:
            return cls(context.wrap_socket(raw, server_side=is_called, server_hostname=None if is_called else name))
        except OSError:  # that of TLS is one, too
            raw.close()
            raise ProtocolAborted("peer", "it did not prove who it is, or was lost", 502) from None

    def send(self, message: bytes) -> None:
        """Send one message.

        Raises:
            ProtocolAborted: the other party is gone.
        """
        patience = self.wire.gettimeout()
        try:
            self.wire.settimeout(0)
            for part in (len(message).to_bytes(LENGTH, "little"), message):
                self._send_all(memoryview(part), patience)
        except OSError as error:
            raise _lost(error) from None
        finally:
            self.wire.settimeout(patience)
        self.sent += LENGTH + len(message)

    def _send_all(self, rest: memoryview, patience: float | None) -> None:
        """Send, and receive meanwhile: if both waited until the other one reads, neither would (deadlock)."""
        while rest:
            try:
                rest = rest[self.wire.send(rest) :]
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                readable, writable, _ = select([self.wire], [self.wire], [], patience)
                if not (readable or writable):
                    raise TimeoutError from None
                if readable:
                    self._take()

    def _take(self) -> None:
        """Keep what has come, without waiting for more."""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            while True:
                found = self.wire.recv(_PIECE)
                if not found:
                    raise ConnectionError
                self._kept += found

    def receive(self) -> bytes:
        """The next message.

        Raises:
            ProtocolAborted: the other party is gone, or silent for too long, or says too much at once.
        """
        size = int.from_bytes(self._exactly(LENGTH), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolAborted("peer", f"a message has at most {LARGEST_MESSAGE} bytes", 502)
        message = self._exactly(size)
        self.received += LENGTH + size
        return message

    def close(self) -> None:
        """Close the connection."""
        self.wire.close()

    def _exactly(self, size: int) -> bytes:
        room, read = bytearray(size), min(size, len(self._kept))
        room[:read] = self._kept[:read]
        del self._kept[:read]
        with memoryview(room) as view:
            while read < size:
                try:
                    found = self.wire.recv_into(view[read:])
                except OSError as error:
                    raise _lost(error) from None
                if not found:
                    raise ProtocolAborted("peer", "the connection was lost", 502)
                read += found
        return cast("bytes", room)  # a copy of millions of bytes, and nobody writes there any more


def _lost(error: OSError) -> ProtocolAborted:
    if isinstance(error, TimeoutError):
        return ProtocolAborted("peer", "it was silent for too long", 504)
    return ProtocolAborted("peer", "the connection was lost", 502)


def conducted(talk: Talk[Result], connection: End) -> Result:
    """Run one party's side of a protocol, and return its result.

    Raises:
        ProtocolAborted: a message was not the next one, or the other party is gone. The talk is over.
    """
    try:
        message = next(talk)
        while True:
            if message is not None:
                connection.send(message)
            message = talk.send(b"" if message is not None else connection.receive())
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        talk.close()
