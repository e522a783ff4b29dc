"""Message transport between sites and coordinator of a federation over another system, such as Flower or NVFlare.

A federation is a group of sites that keep their records and reveal only noisy sums of their counts. A site usually
sends HTTPS requests to the coordinator, which passes messages on between sites. Where a site may not connect, another
system carries the requests and answers in batches:

    site's process  <- local socket ->  `exchange_batch`  <- Flower, NVFlare ->  `Forwarder`  <- HTTPS ->  coordinator

Batches are numbered, and each side keeps its last batch until the next one arrives. So a lost batch is sent again, and
a batch that arrives twice is answered without being handled twice.

This file runs where dpcurves is not installed, so it imports the standard library only.

Formal guarantees: this file holds no keys and reads no records. Messages are signed and masked before they get here, so
it can delay them but not read counts or forge answers.
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

LENGTH_SIZE = 8
"""Bytes of the length before each part of a message on the site's socket, little endian."""
LARGEST_PART = 2**30
"""Bytes: the largest part of a message, so that a wrong length cannot exhaust the memory; a larger one ends the
connection."""
SITE_SECONDS = 600.0
"""Seconds: timeout of waiting for messages of a site, which may have to count its records first."""
COORDINATOR_SECONDS = 60.0
"""Seconds: timeout of waiting for the coordinator's answer to a request."""
END_OF_EXCHANGE = b"over"
"""Answer to a site's app that ends the run of Flower or NVFlare: the coordinator is down, or the run was stopped."""


def pack_parts(parts: Sequence[bytes]) -> bytes:
    r"""Return parts as one byte string, each after its length in 8 bytes, little-endian.

    Args:
        parts: Byte strings, which may be empty.

    >>> pack_parts([b"a", b""])
    b'\x01\x00\x00\x00\x00\x00\x00\x00a\x00\x00\x00\x00\x00\x00\x00\x00'
    """
    return b"".join(len(part).to_bytes(LENGTH_SIZE, "little") + part for part in parts)


def unpack_parts(octets: bytes) -> list[bytes]:
    """Return the parts that `pack_parts` joined.

    Args:
        octets: Result of `pack_parts`.

    Raises:
        ValueError: The message is truncated.

    >>> unpack_parts(pack_parts([b"a", b""]))
    [b'a', b'']
    """
    fields = []
    end = 0
    while end < len(octets):
        size = int.from_bytes(octets[end : end + LENGTH_SIZE], "little")
        end += LENGTH_SIZE + size
        if end > len(octets):
            raise ValueError("a message is truncated")
        fields.append(octets[end - size : end])
    return fields


def receive_part(connection: socket.socket) -> bytes:
    """Return the next part of a stream, without its length.

    Args:
        connection: A connected socket.

    Raises:
        OSError: The stream ended early, or the part is longer than `LARGEST_PART`.
    """
    head = _receive_exactly(connection, LENGTH_SIZE)
    size = int.from_bytes(head, "little")
    if size > LARGEST_PART:
        raise OSError("a message is too long")
    return _receive_exactly(connection, size)


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    """Receive exactly `size` bytes from a connected socket, and return them.

    Args:
        connection: Connected socket.
        size: Number of bytes; 0 receives nothing.

    Raises:
        OSError: The stream ended early.
    """
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(min(2**20, size - len(received)))
        if not chunk:
            raise OSError("a message is truncated")
        received += chunk
    return bytes(received)


def exchange_batch(socket_path: str, answer: bytes) -> bytes:
    """Pass the coordinator's answer to a site's process, and return the site's next batch of requests.

    Args:
        socket_path: The socket at which the site's process listens.
        answer: The result of `Forwarder.forward_batch`; b"" at first.

    Raises:
        OSError: The site's process is not running, or its message was truncated.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SITE_SECONDS)
        connection.connect(socket_path)
        connection.sendall(pack_parts([answer]))
        return receive_part(connection)


class Forwarder:
    """HTTPS client that sends requests of sites to their coordinator.

    The certificate in the task document authenticates the coordinator.

    Args:
        task: Path of the task document, which has the coordinator's address and certificate.
        is_over: Function that returns True when the forwarder must stop.
        timeout: Seconds that the coordinator may be down.
    """

    def __init__(
        self, task: str, is_over: Callable[[], bool] = lambda: False, timeout: float = COORDINATOR_SECONDS
    ) -> None:
        """Prepare to forward a site's batches of requests to the coordinator.

        Args:
            task: Path of the task document, with the coordinator's address and certificate.
            is_over: Function that returns True once forwarding must stop.
            timeout: Seconds for which the coordinator may be down.
        """
        coordinator = json.loads(Path(task).read_text(encoding="utf-8"))["coordinator"]
        self._url = urlsplit(coordinator["url"])
        self._over = is_over
        self._patience = timeout
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._context.load_verify_locations(cadata=coordinator["certificate"])

    def forward_batch(self, batch: bytes) -> bytes:
        """Send the requests of a batch in order, until one is refused, and return the answer to the last one sent.

        Args:
            batch: A site's batch, from `exchange_batch`.

        Returns:
            The batch number, the status, the number of unsent requests, and the body, joined by `pack_parts`. An empty
            body means no news; the site then repeats the request. `END_OF_EXCHANGE` if the coordinator was down too
            long or `is_over` is true.
        """
        number, token, *requests = unpack_parts(batch)
        unsent = len(requests) // 2
        status = 200
        body = b""
        while unsent and status == 200:
            path, content = requests[-2 * unsent], requests[1 - 2 * unsent]
            unsent -= 1
            status, body = self._post_request(path.decode(), content, token.decode(), wait=not unsent)
        return (
            END_OF_EXCHANGE
            if status == 0
            else pack_parts([number, *(str(value).encode() for value in (status, unsent)), body])
        )

    def _post_request(self, path: str, content: bytes, token: str, *, wait: bool) -> tuple[int, bytes]:
        """Send one request to the coordinator, again and again until an answer comes, and return the answer.

        Args:
            path: Path below the coordinator's address.
            content: Body of the request.
            token: Bearer token.
            wait: Whether the request is repeated until its answer is not empty.

        Returns:
            HTTP status and body. Status 0 if the coordinator was down too long, or the forwarder must stop.
        """
        last_contact = time.monotonic()
        while not self._over():
            connection = HTTPSConnection(
                self._url.hostname or "", self._url.port, timeout=COORDINATOR_SECONDS, context=self._context
            )
            try:
                connection.request("POST", path, content, {"Authorization": f"Bearer {token}"})
                response = connection.getresponse()
                status = response.status
                body = response.read(LARGEST_PART)
                if status != 200 or body or not wait:
                    return status, body
                last_contact = time.monotonic()
            except (OSError, HTTPException):
                if time.monotonic() - last_contact > self._patience:
                    return 0, b""
                time.sleep(1.0)  # seconds between retries of a request to the coordinator
            finally:
                connection.close()
        return 0, b""
