"""The services of a server; authentication of requests; and middleware: bounded bodies, same origin, headers.

A request passes the middleware, is authenticated, and reaches a service:

    SecurityMiddleware    refuses malformed, oversized and cross-site requests before routing; adds security headers
    Authenticator         finds the visitor of a session or token; limits requests; sessions need a CSRF token to write
    Services              the services behind all routes, over one database; they open no records
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from secrets import compare_digest
from types import MappingProxyType
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.server import parse_network

from .audit_log import AuditLog
from .datasets import Datasets
from .people import BrowserSession, PasswordHasherPool, People, RateLimiter, Sessions, Tokens
from .projects import Projects
from .questions import Questions
from .queue import Stewardship
from .releases import Models, Releases
from .renderer import Renderer
from .store import Archive
from .synthetic import SyntheticTables
from .visitors import Visitor


class Services:
    """The services of one server, over one database. They open no records.

    Each method checks the rights of its visitor.

    Arguments:
        url: The database: ``sqlite:///server.db``, or ``postgresql+psycopg://...``. It holds ledger and queue.
        notify: Called when there is work for workers.

    Attributes:
        people: Accounts and roles.
        sessions: Browser sessions.
        tokens: API tokens.
        datasets: Datasets and their budgets.
        projects: Projects and their allowances.
        questions: Plans, the queue, and the status of questions.
        stewardship: Stewards' actions on waiting questions.
        releases: Released answers.
        models: Predictive models of projects.
        synthetic: Synthetic tables of datasets.
        audit: The audit log.
        studio: The renderer of sketches and comparisons.
    """

    def __init__(self, url: str, notify: Callable[[], object] = int) -> None:
        self.archive = Archive(url)
        passwords = PasswordHasherPool()
        self.people = People(self.archive, passwords)
        self.sessions = Sessions(self.archive, passwords)
        self.tokens = Tokens(self.archive)
        self.datasets = Datasets(self.archive)
        self.projects = Projects(self.archive)
        self.questions = Questions(self.archive, self.datasets, self.projects, notify)
        self.stewardship = Stewardship(self.archive, self.questions, notify)
        self.releases = Releases(self.archive)
        self.models = Models(self.archive)
        self.audit = AuditLog(self.archive)
        self.synthetic = SyntheticTables(self.archive, self.datasets)
        self.studio = Renderer()


# Middleware before every route.
LARGEST_REQUEST = 2**22
"""Bytes: the largest request body."""
LARGEST_FILE = 2**25
"""Bytes: the largest upload of a table."""
FILES = re.compile("/manage/[^/]+/synthetic")
"""Paths of uploads: the sender is authenticated before the body is read."""
NOTHING_ELSE = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
OF_PAGES = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
OF_PICTURES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""Policy of standalone pictures and HTML summaries: inline styles, no scripts."""
HEADERS: Mapping[str, str] = MappingProxyType(
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
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Any], Awaitable[None]]


class SecurityMiddleware:
    """ASGI middleware: security headers, size limits and same-origin checks."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send_with_headers = _add_headers(scope, send)
        refusal = _find_refusal(scope)
        if refusal is not None:
            line, status = refusal
            await JSONResponse({"error": line}, status)(scope, receive, send_with_headers)  # type: ignore[arg-type]
            return
        await self._app(scope, _limit_body(receive, _body_limit(scope)), send_with_headers)


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def _find_refusal(scope: Scope) -> tuple[str, int] | None:
    """Return the refusal of a malformed or oversized request, before routing; None if the request is valid."""
    headers = Headers(scope=scope)  # type: ignore[arg-type]
    path = str(scope["path"])
    if len(path) > 2000 or not path.isprintable():  # characters
        return "path: not found", 404
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > _body_limit(scope):
        return f"message: the body may have at most {_body_limit(scope)} bytes", 413
    if scope["method"] not in SAFE and not _is_same_origin(scope, headers):
        return "origin: submit forms from pages of this server", 403
    return None


def _is_same_origin(scope: Scope, headers: Headers) -> bool:
    """Return True if a request with side effects has the same origin or a bearer token."""
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin == f"{scope['scheme']}://{headers.get('host', '')}"


def _body_limit(scope: Scope) -> int:
    """Return the largest size of a request's body in bytes, by its path."""
    return LARGEST_FILE if FILES.fullmatch(str(scope["path"])) else LARGEST_REQUEST


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Disconnect a body that exceeds the limit, regardless of its Content-Length."""
    received = 0

    async def receive_limited() -> Mapping[str, Any]:
        """Return the next part of the body; a disconnection once the limit is exceeded."""
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            return {"type": "http.disconnect"}
        return message

    return receive_limited


def _add_headers(scope: Scope, send: Send) -> Send:
    """Add security headers to a response; a route may set its own content policy and caching."""

    async def send_with_headers(message: Any) -> None:
        """Send a message of the response, with the security headers if it is the first."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", _content_policy(scope, headers.get("content-type", "")))
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers


def _content_policy(scope: Scope, kind: str) -> str:
    """Return the content security policy for a media type: of pictures, of pages, or of everything else."""
    if kind.startswith("image/svg"):
        return OF_PICTURES
    return OF_PAGES if kind.startswith("text/html") else NOTHING_ELSE


# Authentication of requests: bearer token, session cookie or anonymous; with rate limits.
COOKIE = "__Host-dpcurves"
CSRF_HEADER = "x-csrf-token"
REQUESTS_PER_MINUTE = 1200
"""Requests per minute of one account."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authentication of requests by session or token, with rate limits.

    Attributes:
        services: The services.
        visitor_rate: The limiter per account.
        anonymous_rate: The limiter of unauthenticated requests per address.
    """

    services: Services
    visitor_rate: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS_PER_MINUTE))
    anonymous_rate: RateLimiter = field(default_factory=lambda: RateLimiter(120))  # requests of one address

    def authenticate(self, request: Request) -> Visitor:
        """Return the authenticated visitor of an API request. Session requests with side effects need a CSRF token.

        Raises:
            ProtocolError: The request is not authenticated, or the rate limit is exceeded.
        """
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        has_token = kind.lower() == "bearer" and token
        visitor = self.services.tokens.find(token) if has_token else self._authenticate_session(request)
        if visitor is None:
            self.anonymous_rate.count_requests(client_address(request))
            raise ProtocolError(
                "sign-in", "send a token of your account in the header Authorization: Bearer TOKEN", 401
            )
        self.visitor_rate.count_requests(visitor.name)
        return visitor

    def find_session(self, request: Request) -> BrowserSession | None:
        """Return the session of a browser request, or None.

        Raises:
            ProtocolError: A rate limit is exceeded.
        """
        cookie = request.cookies.get(COOKIE)
        session = None if cookie is None else self.services.sessions.find(cookie)
        if session is None:
            self.anonymous_rate.count_requests(client_address(request))
        else:
            self.visitor_rate.count_requests(session.visitor.name)
        return session

    def _authenticate_session(self, request: Request) -> Visitor | None:
        """Return the visitor of the session cookie; None without a valid one. Raises `ProtocolError` if the CSRF token
        is missing or wrong.
        """
        cookie = request.cookies.get(COOKIE)
        session = None if cookie is None else self.services.sessions.find(cookie)
        if session is None:
            return None
        csrf = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE and not compare_digest(csrf.encode(), session.csrf.encode()):
            raise ProtocolError("session", f"send this session's token in the header {CSRF_HEADER}", 403)
        return session.visitor


def client_address(request: Request) -> str:
    """Return the client address of a request; for IPv6 its /64 network, which a single client may own."""
    host = request.client.host if request.client else ""
    return parse_network(host) or host  # a host name, or ""
