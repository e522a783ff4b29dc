"""HTTPS client for one server, with a pinned certificate (TLS 1.3) and a persistent connection.

    Channel                `get` and `post`: path, body and bearer token -> body of the response
    make_pinned_context    trusts the one certificate that stands in the task document
    make_ca_context        trusts the certificates in a file, or the authorities of this machine

A lost request is sent again on a new connection, so requests must be idempotent. Errors are one line each; they tell
apart an expired certificate, a wrong certificate and an unreachable server. Client libraries wrap these errors, so the
module uses sockets of the standard library.
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

ANSWER_SECONDS = 60.0
"""Default seconds for which a client waits for a server's answer; then the request fails, and can be sent again."""
LARGEST_MESSAGE = 2**30
"""Bytes of a response at most; a longer one is refused while it is read."""
OTHER_CERTIFICATE_RULE = "another server answers at"
"""Start of the error message if a server shows another certificate than the expected one. Nothing was sent, and trying
again does not help."""


@dataclass(repr=False)
class Channel:
    """A persistent HTTPS connection to one server, reopened if it was lost.

    Attributes:
        url: URL of the server, ``https://host:port``.
        context: TLS context that verifies the server.
        timeout: Seconds that an answer may take.
        label: Name of the server in errors.
        identity_source: What states the server's expected certificate, for errors.
        renewal_advice: What to do when the certificate has expired, for errors.
    """

    url: str
    context: ssl.SSLContext
    timeout: float = ANSWER_SECONDS
    label: str = "server"
    identity_source: str = "the task"
    renewal_advice: str = "a new task is needed"
    _connection: ssl.SSLSocket | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    @classmethod
    def from_certificate(cls, url: str, certificate: str, timeout: float = ANSWER_SECONDS) -> Channel:
        """Return a channel to the server with this certificate. It connects at the first request.

        Args:
            url: URL of the server.
            certificate: Certificate in PEM, from a task document; no other authority is trusted.
            timeout: Seconds that an answer may take.

        Raises:
            ProtocolError: the certificate cannot be read.
        """
        return cls(url, make_pinned_context(certificate), timeout)

    def get(self, path: str, token: str = "") -> bytes:
        """Return the body of the server's response to a GET.

        Args:
            path: Path on the server.
            token: Bearer token; empty for none.

        Raises:
            ProtocolError: the server is unreachable, cannot prove its identity, or refuses; then with its own message.
        """
        return self._request("GET", path, b"", token)

    def post(self, path: str, body: bytes, token: str = "", content_type: str = "") -> bytes:
        """Return the body of the server's response to a POST. The request may be sent twice.

        Args:
            path: Path on the server.
            body: Body of the request.
            token: Bearer token; empty for none.
            content_type: Media type of the body; empty for none.

        Raises:
            ProtocolError: the server is unreachable, cannot prove its identity, or refuses; then with its own message.
        """
        return self._request("POST", path, body, token, **({"Content-Type": content_type} if content_type else {}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(self, method: str, path: str, body: bytes, token: str, **more: str) -> bytes:
        """Send a request and return the body of the response.

        Args:
            method: ``GET`` or ``POST``.
            path: Path on the server.
            body: Body of the request.
            token: Bearer token; empty for none.
            **more: Further header fields.

        Raises:
            ProtocolError: the token is not printable ASCII, the server is unreachable, or its status is not 2xx.
        """
        if not (target := path + token).isascii() or not target.isprintable() or " " in path:
            raise ProtocolError("token", "must be printable ASCII; use the ticket as you received it")
        headers = {"Authorization": f"Bearer {token}", **more} if token else more
        with self._lock:
            status, message = self._send_with_retry(method, path, body, headers)
        if not 200 <= status < 300:
            default_error = f"{self.label}: {self.url} refused the request without a reason; ask its operator"
            raise ProtocolError.from_error_line(parse_refusal(message, default_error), status)
        return message

    def _send_with_retry(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Return the status and the body of the response; a request that fails on an old connection is sent again.

        A persistent connection may have been closed by the server meanwhile, which only a request shows.

        Args:
            method: ``GET`` or ``POST``.
            path: Path on the server.
            body: Body of the request.
            headers: Further header fields.

        Raises:
            ProtocolError: the request failed on a new connection, or timed out.
        """
        while True:
            was_kept = self._connection is not None
            try:
                return self._exchange_once(method, path, body, headers)
            except (OSError, HTTPException) as error:
                self.close()
                if not was_kept or isinstance(error, TimeoutError):
                    raise self._classify_failure(error) from None
                # A persistent connection may have been closed: try once more.

    def _exchange_once(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send one request, and return the status and the body of the response. Opens a connection if none is open.

        Args:
            method: ``GET`` or ``POST``.
            path: Path on the server.
            body: Body of the request.
            headers: Further header fields.

        Raises:
            OSError: the connection failed or timed out.
            HTTPException: the response is not valid HTTP, or too long.
        """
        address = urlsplit(self.url)
        if self._connection is None:
            self._connection = self._connect(address.hostname or "", address.port or 443)
        header_fields = {
            "Host": address.netloc,
            "Accept-Encoding": "identity",
            "Content-Length": f"{len(body)}",
            **headers,
        }
        header_lines = "".join(f"{name}: {value}\r\n" for name, value in header_fields.items())
        head = f"{method} {path} HTTP/1.1\r\n{header_lines}"
        message = head.encode("latin-1") + b"\r\n"
        # 2**16: bytes of a body up to which it is sent together with the head, in one TLS record or a few
        if len(body) <= 2**16:
            self._connection.sendall(message + body)
        else:
            self._connection.sendall(message)
            self._connection.sendall(body)
        with HTTPResponse(self._connection, method=method) as answer:
            answer.begin()
            body_bytes = _read_body(answer)
        if answer.will_close:
            self.close()
        return answer.status, body_bytes

    def _connect(self, host: str, port: int) -> ssl.SSLSocket:
        """Open a TLS connection that verifies the server.

        Args:
            host: Host name or address.
            port: TCP port.

        Raises:
            OSError: the server is unreachable, or its certificate is not trusted.
        """
        raw = socket.create_connection((host, port), self.timeout)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self.context.wrap_socket(raw, server_hostname=host)
        except BaseException:
            raw.close()
            raise

    def _classify_failure(self, error: Exception) -> ProtocolError:
        """Return the error that tells a user why a request to the server failed, and what to do.

        Expired certificates, other certificates, timeouts, refused connections and lost connections have different
        messages.

        Args:
            error: Exception of the TLS connection or the request.
        """
        # 10: OpenSSL's error code of an expired certificate
        if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code == 10:
            return ProtocolError(self.label, f"the certificate of {self.url} has expired; {self.renewal_advice}", 502)
        if isinstance(error, ssl.SSLCertVerificationError):
            rule = f"{OTHER_CERTIFICATE_RULE} {self.url} than {self.identity_source} names, and nothing was sent"
            return ProtocolError(self.label, f"{rule}; ask its operator", 502)
        if isinstance(error, TimeoutError):
            return ServiceUnavailable(
                self.label, f"{self.url} gave no answer within {self.timeout:g} seconds; try again later", 504
            )
        if isinstance(error, ConnectionRefusedError):
            return ServiceUnavailable(
                self.label, f"no server answers at {self.url}; check that it runs, then try again", 503
            )
        return ServiceUnavailable(self.label, f"the connection to {self.url} was lost; try again", 503)


def _read_body(answer: HTTPResponse) -> bytes:
    """Read the whole body of an HTTP response, up to a size limit.

    Args:
        answer: Response whose head was read.

    Raises:
        OSError: the connection ended early.
        HTTPException: the length is missing or above `LARGEST_MESSAGE`.
    """
    if answer.chunked:
        chunks = list[bytes]()
        size = 0
        # 2**20: bytes per read of a response of unknown length, at most
        while chunk := answer.read(2**20):
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST_MESSAGE:
                raise HTTPException
        return b"".join(chunks)
    if answer.length is None or answer.length > LARGEST_MESSAGE:
        raise HTTPException
    return answer.read()


class ClosedOnReset(ssl.SSLSocket):
    """A TLS socket that closes itself if the peer is lost before the handshake, because CPython leaves it open."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive bytes; close the socket if the peer is lost before the handshake.

        Args:
            buflen: Largest number of bytes.
            flags: Flags of `socket.recv`.

        Raises:
            ConnectionError: the peer is lost.
        """
        try:
            return super().recv(buflen, flags)
        except ConnectionError:
            if self.version() is None:  # `wrap_socket` checks for data before the handshake
                self.close()
            raise


def make_ca_context(ca: str | PathLike[str] | None) -> ssl.SSLContext:
    """Return a TLS context (1.3 or later) that trusts certification authorities.

    Args:
        ca: File with certificates in PEM; None: the authorities of this machine.

    Raises:
        ValueError: the file holds no certificate.
    """
    if ca is not None:
        try:
            return make_pinned_context(Path(ca).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InvalidArgument(
                "ca", f"{str(ca)!r} cannot be read as certificates in PEM; name a file of these"
            ) from None
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def make_pinned_context(certificate: str) -> ssl.SSLContext:
    """Return a TLS context (1.3 or later) that trusts one server certificate and no authority.

    Args:
        certificate: Certificate in PEM.

    Raises:
        ValueError: the certificate cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = ClosedOnReset
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificate)
    except (ssl.SSLError, ValueError):
        raise ProtocolError("task", "a server's certificate cannot be read; get the task document again") from None
    return context
