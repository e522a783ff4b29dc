"""The services of a server; authentication of requests; and middleware: bounded bodies, same origin, headers."""

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

from .datasets import Datasets
from .people import BrowserSession, PasswordHasherPool, People, RateLimiter, Sessions, Tokens
from .projects import Projects
from .questions import Questions
from .queue import Stewardship
from .releases import Models, Releases
from .store import Archive, AuditLog
from .studio import Renderer
from .synthetic import SyntheticTables
from .visitors import Visitor


class Services:
    """The services of one server, over one database. It opens no records.

    Each method asks who wants it, and refuses the others.

    Args:
        url: The store: ``sqlite:///server.db``, or ``postgresql+psycopg://...``. Ledger and queue lie in it.
        call: What is told when there is something to do for workers.

    Attributes:
        people: Accounts and roles.
        sessions, tokens: Who is signed in.
        datasets: What there is to ask, and what was spent of it.
        projects: Who asks together, and their allowances.
        questions: Plans, the queue, and where questions stand.
        stewardship: What stewards do about questions that wait.
        releases: Answers.
        models: What analysts handed in.
        synthetic: Tables that stand beside the confidential ones.
        audit: Who did what.
        studio: Where sketches and comparisons are drawn.
    """

    def __init__(self, url: str, notify: Callable[[], object] = int) -> None:
        self.archive = Archive(url)
        passwords = PasswordHasherPool()
        self.people = People(self.archive, passwords)
        self.sessions, self.tokens = Sessions(self.archive, passwords), Tokens(self.archive)
        self.datasets, self.projects = Datasets(self.archive), Projects(self.archive)
        self.questions = Questions(self.archive, self.datasets, self.projects, notify)
        self.stewardship = Stewardship(self.archive, self.questions, notify)
        self.releases, self.models, self.audit = Releases(self.archive), Models(self.archive), AuditLog(self.archive)
        self.synthetic, self.studio = SyntheticTables(self.archive), Renderer()


# Middleware before every route.
LARGEST = 2**22
"""Bytes of a body."""
LARGEST_FILE = 2**25
FILES = re.compile("/manage/[^/]+/synthetic")
"""Paths of uploads: their senders are authenticated before anything is read."""
LONGEST_PATH = 2000
NOTHING_ELSE = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
OF_PAGES = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
OF_PICTURES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""A picture by itself, and an HTML summary that was saved: they bring their own styles, and nothing that runs."""
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Strict-Transport-Security": "max-age=31536000",
        "X-Content-Type-Options": "nosniff",
        # Not no-referrer: under it forms of one's own pages come from the origin "null".
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
    """Middleware of an ASGI application: security headers, bodies of bounded size, and requests of the same origin."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        dressed = _add_headers(scope, send)
        wrong = _find_refusal(scope)
        if wrong is not None:
            line, status = wrong
            await JSONResponse({"error": line}, status)(scope, receive, dressed)  # type: ignore[arg-type]
            return
        await self._app(scope, _limit_body(receive, _body_limit(scope)), dressed)


def _find_refusal(scope: Scope) -> tuple[str, int] | None:
    """The refusal of a malformed or oversized request, before any route sees it; None if there is none."""
    headers = Headers(scope=scope)  # type: ignore[arg-type]
    path = str(scope["path"])
    if len(path) > LONGEST_PATH or not path.isprintable():
        return "path: there is nothing of this name", 404
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > _body_limit(scope):
        return f"message: at most {_body_limit(scope)} bytes are taken", 413
    if scope["method"] not in SAFE and not _is_same_origin(scope, headers):
        return "origin: forms are taken from pages of this server alone", 403
    return None


def _is_same_origin(scope: Scope, headers: Headers) -> bool:
    """Tell whether a changing request is of the same origin, or bears a token."""
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin == f"{scope['scheme']}://{headers.get('host', '')}"


def _body_limit(scope: Scope) -> int:
    return LARGEST_FILE if FILES.fullmatch(str(scope["path"])) else LARGEST


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Bodies end where they are too long, whatever was said of their length."""
    taken = 0

    async def receive_limited() -> Mapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            return {"type": "http.disconnect"}
        return message

    return receive_limited


def _add_headers(scope: Scope, send: Send) -> Send:
    """The answer with the headers of all answers; a route may have said its own policy, and what may be kept."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", _content_policy(scope, headers.get("content-type", "")))
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_with_headers


def _content_policy(scope: Scope, kind: str) -> str:
    if kind.startswith("image/svg"):
        return OF_PICTURES
    return OF_PAGES if kind.startswith("text/html") else NOTHING_ELSE


# Authentication of requests: bearer token, session cookie or anonymous; with rate limits.
COOKIE = "__Host-dpcurves"
CSRF_HEADER = "x-csrf-token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PER_MINUTE = 1200
STRANGERS_PER_MINUTE = 120


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authentication of requests by session or token, with rate limits.

    Attributes:
        services: The services.
        visitor_rate: How often one person may ask.
        anonymous_rate: How often may be asked from one address by those who are not recognised.
    """

    services: Services
    visitor_rate: RateLimiter = field(default_factory=lambda: RateLimiter(PER_MINUTE))
    anonymous_rate: RateLimiter = field(default_factory=lambda: RateLimiter(STRANGERS_PER_MINUTE))

    def authenticate(self, request: Request) -> Visitor:
        """The authenticated visitor of an API route. A session that changes something proves same origin.

        Raises:
            ProtocolError: nobody is recognised, or they ask too often.
        """
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        bears = kind.lower() == "bearer" and token
        found = self.services.tokens.find(token) if bears else self._authenticate_session(request)
        if found is None:
            self.anonymous_rate.count_requests(client_address(request))
            raise ProtocolError("sign-in", "a token is needed: Authorization: Bearer ...", 401)
        self.visitor_rate.count_requests(found.name)
        return found

    def find_session(self, request: Request) -> BrowserSession | None:
        """The session of a browser, if it has one.

        Raises:
            ProtocolError: its person asks too often, or too many strangers ask from its address.
        """
        cookie = request.cookies.get(COOKIE)
        found = None if cookie is None else self.services.sessions.find(cookie)
        if found is None:
            self.anonymous_rate.count_requests(client_address(request))
        else:
            self.visitor_rate.count_requests(found.visitor.name)
        return found

    def _authenticate_session(self, request: Request) -> Visitor | None:
        cookie = request.cookies.get(COOKIE)
        found = None if cookie is None else self.services.sessions.find(cookie)
        if found is None:
            return None
        given = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE and not compare_digest(given.encode(), found.csrf.encode()):
            raise ProtocolError("session", f"the header {CSRF_HEADER} of this session is needed", 403)
        return found.visitor


def client_address(request: Request) -> str:
    """The client address of a request; for IPv6 the /64 network, which one client may hold whole."""
    host = request.client.host if request.client else ""
    return parse_network(host) or host  # a name, or nothing
