"""HTTPS to one server, which proves itself by a certificate.

Sockets are the standard library's: of another client each fault would have to be found beneath errors of its own, to
say whether a certificate has expired, is another one's, or nobody answers.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Self
from urllib.parse import urlsplit

from dpcurves.arguments import InvalidArgument, ServiceUnavailable

from .messages import ProtocolError, parse_refusal

PATIENCE = 60.0
"""Seconds that an answer may take."""
LARGEST_MESSAGE = 2**30
SHORT = 2**16
"""Bytes that are sent together with a head."""
LARGEST_PART = 2**20
"""Bytes that are read at once of a response of unknown length."""
EXPIRED = 10
"""OpenSSL's code of an expired certificate."""


@dataclass(repr=False)
class Channel:
    """A persistent HTTPS connection, reopened if it was lost.

    Attributes:
        url: Where the server is: ``https://host:port``.
        context: What it has to prove.
        timeout: Seconds that an answer may take.
        label: What errors call it.
        identity_source: Where it stands who the server is.
        renewal_advice: What is needed once its certificate has expired.
    """

    url: str
    context: ssl.SSLContext
    timeout: float = PATIENCE
    label: str = "server"
    identity_source: str = "the task"
    renewal_advice: str = "a new task is needed"
    _connection: ssl.SSLSocket | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    @classmethod
    def from_certificate(cls, url: str, certificate: str, timeout: float = PATIENCE) -> Channel:
        """To a server of which a task says the certificate: no other authority is believed."""
        return cls(url, make_pinned_context(certificate), timeout)

    def get(self, path: str, token: str = "") -> bytes:
        """The response of the server to a GET of `path`.

        Raises:
            ProtocolAborted: it can not be reached, or is another one, or refuses: in its own words.
        """
        return self._request("GET", path, b"", token)

    def post(self, path: str, body: bytes, token: str = "", content_type: str = "") -> bytes:
        """The response of the server to a POST of `body`. Requests are idempotent: each may be sent twice.

        Raises:
            ProtocolAborted: as `get`.
        """
        return self._request("POST", path, body, token, **({"Content-Type": content_type} if content_type else {}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(self, method: str, path: str, body: bytes, token: str, **more: str) -> bytes:
        if not (line := path + token).isascii() or not line.isprintable() or " " in path:
            raise ProtocolError("token", "letters, digits and signs of ASCII are needed")
        headers = {"Authorization": f"Bearer {token}", **more} if token else more
        with self._lock:
            status, message = self._send_with_retry(method, path, body, headers)
        if not 200 <= status < 300:
            silent = f"{self.label}: {self.url} refused without a word"
            raise ProtocolError.from_error_line(parse_refusal(message, silent), status)
        return message

    def _send_with_retry(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        while True:
            was_kept = self._connection is not None
            try:
                return self._exchange_once(method, path, body, headers)
            except (OSError, HTTPException) as error:
                self.close()
                if not was_kept or isinstance(error, TimeoutError):
                    raise self._classify_failure(
                        error
                    ) from None  # else a connection that was kept open may have ended: once more

    def _exchange_once(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        if self._connection is None:
            self._connection = self._connect(parts.hostname or "", parts.port or 443)
        lines = {"Host": parts.netloc, "Accept-Encoding": "identity", "Content-Length": f"{len(body)}", **headers}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {line}\r\n" for name, line in lines.items())
        message = head.encode("latin-1") + b"\r\n"
        if len(body) <= SHORT:
            self._connection.sendall(message + body)
        else:
            self._connection.sendall(message)
            self._connection.sendall(body)
        with HTTPResponse(self._connection, method=method) as answer:
            answer.begin()
            told = _read_body(answer)
        if answer.will_close:
            self.close()
        return answer.status, told

    def _connect(self, host: str, port: int) -> ssl.SSLSocket:
        raw = socket.create_connection((host, port), self.timeout)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self.context.wrap_socket(raw, server_hostname=host)
        except BaseException:
            raw.close()
            raise

    def _classify_failure(self, error: Exception) -> ProtocolError:
        if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code == EXPIRED:
            return ProtocolError(self.label, f"the certificate of {self.url} has expired; {self.renewal_advice}", 502)
        if isinstance(error, ssl.SSLCertVerificationError):
            return ProtocolError(
                self.label, f"who answers at {self.url} is not the one that {self.identity_source} names", 502
            )
        if isinstance(error, TimeoutError):
            return ServiceUnavailable(self.label, f"{self.url} gave no answer within {self.timeout:g} seconds", 504)
        if isinstance(error, ConnectionRefusedError):
            return ServiceUnavailable(self.label, f"nobody answers at {self.url}", 503)
        return ServiceUnavailable(self.label, f"the connection to {self.url} was lost", 503)


def _read_body(answer: HTTPResponse) -> bytes:
    """The whole body of a response, which says how long it is.

    Raises:
        OSError: the connection has ended before.
        HTTPException: it does not say how long it is, or is too long.
    """
    if answer.chunked:
        parts, size = list[bytes](), 0
        while part := answer.read(LARGEST_PART):
            parts.append(part)
            size += len(part)
            if size > LARGEST_MESSAGE:
                raise HTTPException
        return b"".join(parts)
    if answer.length is None or answer.length > LARGEST_MESSAGE:
        raise HTTPException
    return answer.read()


class ClosedOnReset(ssl.SSLSocket):
    """A TLS socket that is closed where the other end was lost before the handshake. CPython leaves it open."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive bytes. Raises `OSError`: the connection was lost."""
        try:
            return super().recv(buflen, flags)
        except ConnectionError:
            if self.version() is None:  # `wrap_socket` asks whether something came before the handshake
                self.close()
            raise


def make_ca_context(ca: str | PathLike[str] | None) -> ssl.SSLContext:
    """Believes the certificate in a file, or the authorities of this machine. Raises `ValueError`: it holds none."""
    if ca is not None:
        try:
            return make_pinned_context(Path(ca).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InvalidArgument("ca", f"{str(ca)!r} can not be read, or is no certificate") from None
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def make_pinned_context(certificate: str) -> ssl.SSLContext:
    """Believes a server's own certificate, in PEM, and nobody else. Raises `ValueError`: it is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = ClosedOnReset
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificate)
    except (ssl.SSLError, ValueError):
        raise ProtocolError("task", "a server's certificate cannot be read") from None
    return context
