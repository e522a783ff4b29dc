"""Transport of sites' encrypted messages in batches by another system; it holds no key, and reads none of them.

A site that is *carried* does not connect to its coordinator by itself. Somebody who runs beside it takes its requests
in batches, and somebody beside the coordinator makes them in its place, and brings back the answers: Flower, NVFlare,
or whatever moves bytes. Each batch has a number, and nobody is done with it before the next one has come: what is lost
is asked for again, and what comes twice is said again.

This file needs the standard library alone, as it runs where dpcurves is not installed.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

LENGTH = 8
LARGEST = 2**30
SITE_PATIENCE = 600.0
"""Seconds that a site may take for a batch: it counts in that time."""
COORDINATOR_PATIENCE = 60.0
PAUSE = 1.0
OVER = b"over"
"""The answer to nobody: the coordinator is gone."""


def pack_parts(parts: Sequence[bytes]) -> bytes:
    """Parts one behind the other, each with its length.

    >>> pack_parts([b"a", b""])
    b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00a\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    """
    return b"".join(len(part).to_bytes(LENGTH, "little") + part for part in parts)


def unpack_parts(octets: bytes) -> list[bytes]:
    """The inverse of `pack_parts`.

    Raises:
        ValueError: it is cut off.

    >>> unpack_parts(pack_parts([b"a", b""]))
    [b'a', b'']
    """
    found, place = [], 0
    while place < len(octets):
        size = int.from_bytes(octets[place : place + LENGTH], "little")
        place += LENGTH + size
        if place > len(octets):
            raise ValueError("a message is cut off")
        found.append(octets[place - size : place])
    return found


def receive_part(connection: socket.socket) -> bytes:
    """One part from a stream; nothing where it ended.

    Raises:
        OSError: it ended on the way, or is too long.
    """
    head = _receive_exactly(connection, LENGTH)
    size = int.from_bytes(head, "little")
    if size > LARGEST:
        raise OSError("a message is too long")
    return _receive_exactly(connection, size)


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = connection.recv(min(2**20, size - len(found)))
        if not piece:
            raise OSError("a message is cut off")
        found += piece
    return bytes(found)


def exchange_batch(socket_path: str, answer: bytes) -> bytes:
    """The batch that a site at a socket has to say next, once it was told the answer to the one before.

    Args:
        socket_path: Path of the socket on which the site's process listens.
        answer: What `Forwarder.forward_batch` gave, or nothing at first.

    Raises:
        OSError: nobody listens, or what came was cut off.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SITE_PATIENCE)
        connection.connect(socket_path)
        connection.sendall(pack_parts([answer]))
        return receive_part(connection)


class Forwarder:
    """Makes requests of sites to their coordinator, which proves itself by the certificate in the task.

    Args:
        task: The task document.
        over: Whether nobody waits for answers any more.
        patience: Seconds that the coordinator may be away.
    """

    def __init__(
        self, task: str, is_over: Callable[[], bool] = lambda: False, timeout: float = COORDINATOR_PATIENCE
    ) -> None:
        coordinator = json.loads(Path(task).read_text(encoding="utf-8"))["coordinator"]
        self._url, self._over, self._patience = urlsplit(coordinator["url"]), is_over, timeout
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._context.load_verify_locations(cadata=coordinator["certificate"])

    def forward_batch(self, batch: bytes) -> bytes:
        """The answer to a batch: to its last request, or to the first that was refused. It may take long.

        It says which batch it is of, the status, how many requests were left, and what came. An empty answer is no news
        yet: the same request is made again. `OVER` says that the coordinator was away for longer than there is
        patience, or that nobody waits any more.
        """
        number, token, *requests = unpack_parts(batch)
        left, status, body = len(requests) // 2, 200, b""
        while left and status == 200:
            path, said = requests[-2 * left], requests[1 - 2 * left]
            left -= 1
            status, body = self._post_request(path.decode(), said, token.decode(), wait=not left)
        return OVER if status == 0 else pack_parts([number, *(str(each).encode() for each in (status, left)), body])

    def _post_request(self, path: str, content: bytes, token: str, *, wait: bool) -> tuple[int, bytes]:
        away = time.monotonic()
        while not self._over():
            connection = HTTPSConnection(
                self._url.hostname or "", self._url.port, timeout=COORDINATOR_PATIENCE, context=self._context
            )
            try:
                connection.request("POST", path, content, {"Authorization": f"Bearer {token}"})
                response = connection.getresponse()
                status, body = response.status, response.read(LARGEST)
                if status != 200 or body or not wait:
                    return status, body
                away = time.monotonic()
            except (OSError, HTTPException):
                if time.monotonic() - away > self._patience:
                    return 0, b""
                time.sleep(PAUSE)
            finally:
                connection.close()
        return 0, b""
