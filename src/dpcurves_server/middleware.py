"""ASGI middleware of the verification server: request size limits, same-origin (CSRF) checks, security headers.

`SecurityMiddleware(app)` wraps an ASGI application. A request is refused before routing if it is

    malformed     a path of more than 2,000 characters, or not printable              404
    oversized     a body above `LARGEST_REQUEST`, or `LARGEST_FILE` for an upload     413
    cross-site    not `SAFE_METHODS`, without a bearer token, not known to come from here     403

A body longer than its Content-Length is cut off at the same limit. All responses, refusals too, get the
headers of `SECURITY_HEADERS`, and a content security policy by their media type unless the route sets one. The
middleware reads headers and body sizes only."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from dpcurves.ledger.chain import limit_wait

LARGEST_REQUEST = 2**22
"""Bytes: the largest request body, except of an upload; a larger one is refused (status 413)."""
LARGEST_FILE = 2**25
"""Bytes: the largest request body of an upload of a table; a larger one is refused (status 413)."""
UPLOAD_PATHS = re.compile("/manage/[^/]+/synthetic")
"""Paths of uploads: the sender is authenticated before the body is read, which may be larger (`LARGEST_FILE`)."""
LOCK_SECONDS = 5
"""Seconds that a request waits for the database while another process writes; then its sender is told to try again. A
worker that was halted while it wrote holds the lock until it goes on or ends."""
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""Content security policy (header) of JSON and other files: a browser may load nothing from them."""
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""Content security policy (header) of HTML pages: styles, scripts and pictures of this server; browsers refuse others,
and any in the page itself."""
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""Content security policy (header) of standalone pictures and HTML summaries: inline styles, no scripts."""
SECURITY_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Strict-Transport-Security": "max-age=31536000",
        "X-Content-Type-Options": "nosniff",
        # Not no-referrer, under which the server's own forms would have the origin "null".
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
)
"""Names and values of headers that every response gets."""
Scope = Mapping[str, Any]
"""Facts of an ASGI request: method, path, headers and more."""
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
"""ASGI function that returns the next part of the request."""
Send = Callable[[Any], Awaitable[None]]
"""ASGI function that sends a part of the response."""


class SecurityMiddleware:
    """ASGI middleware that limits bodies, refuses cross-site requests, and adds security headers.

    Args:
        app: The ASGI app that serves accepted requests.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it before the app sees it.

        Args:
            scope: Facts of the connection and the request.
            receive: Returns the next part of the body.
            send: Sends a part of the response.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send_with_headers = _add_headers(scope, send)
        refusal = _find_refusal(scope)
        if refusal is not None:
            line, status = refusal
            await JSONResponse({"error": line}, status)(scope, receive, send_with_headers)  # type: ignore[arg-type]
            return
        with limit_wait(LOCK_SECONDS):
            await self._app(scope, _limit_body(receive, _body_limit(scope)), send_with_headers)


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""HTTP methods without side effects: they need no CSRF token, and pages of other sites may use them."""


def _find_refusal(scope: Scope) -> tuple[str, int] | None:
    """Check path, declared body size and origin of a request.

    Args:
        scope: ASGI scope of the request.

    Returns:
        Error line and HTTP status of a request to refuse; None if the request is acceptable.
    """
    headers = Headers(scope=scope)  # type: ignore[arg-type]
    path = str(scope["path"])
    if len(path) > 2000 or not path.isprintable():  # characters
        return "path: not found", 404
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > _body_limit(scope):
        return f"message: the body may have at most {_body_limit(scope)} bytes", 413
    if scope["method"] not in SAFE_METHODS and not _is_same_origin(scope, headers):
        return "origin: submit forms from pages of this server", 403
    return None


def _is_same_origin(scope: Scope, headers: Headers) -> bool:
    """Return True if a request cannot have been sent by a page of another site.

    Such pages cannot set a bearer token. For other requests, browsers state the origin of the page (``Origin``), or
    that it is the same (``Sec-Fetch-Site``).

    Args:
        scope: ASGI scope of the request, with its scheme.
        headers: Headers of the request.
    """
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin == f"{scope['scheme']}://{headers.get('host', '')}"


def _body_limit(scope: Scope) -> int:
    """Return the largest size of a request's body in bytes, by its path.

    Args:
        scope: ASGI scope of the request.
    """
    return LARGEST_FILE if UPLOAD_PATHS.fullmatch(str(scope["path"])) else LARGEST_REQUEST


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Return an ASGI `receive` function that reports a disconnection once a request's body exceeds a size limit, even
    if its Content-Length is smaller.

    Args:
        receive: ASGI function that returns the next part of the body.
        limit: Largest size of the body in bytes.
    """
    received = 0

    async def receive_limited() -> Mapping[str, Any]:
        """Return the next part of the body; a disconnection once the limit is exceeded.

        Returns:
            ASGI message.
        """
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            return {"type": "http.disconnect"}
        return message

    return receive_limited


def _add_headers(scope: Scope, send: Send) -> Send:
    """Return a `send` that adds the security headers to a response.

    A content security policy and a Cache-Control header are added only if the route has set none.

    Args:
        scope: Facts of the request.
        send: ASGI function that sends a part of the response.
    """

    async def send_with_headers(message: Any) -> None:
        """Send a message of the response, with the security headers if it is the first."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", _content_policy(scope, headers.get("content-type", "")))
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers


def _content_policy(scope: Scope, kind: str) -> str:
    """Return the content security policy of a response by its media type, such as ``text/html; charset=utf-8``.

    Args:
        scope: ASGI scope of the request; without effect.
        kind: Media type of the response.
    """
    if kind.startswith("image/svg"):
        return PICTURE_POLICY
    return PAGE_POLICY if kind.startswith("text/html") else DATA_POLICY
