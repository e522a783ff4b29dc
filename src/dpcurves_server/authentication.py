"""Authentication of requests: by bearer token or by session cookie, with rate limits.

    bearer token      the principal of the token, within its project
    session cookie    the person who signed in; a request with side effects needs the session's CSRF token
    neither           no principal; requests of one address are limited

Requests of one account are limited whichever way they are authenticated (`Authenticator.principal_rate`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import compare_digest

from fastapi import Request

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.server import parse_network

from .middleware import SAFE
from .people import BrowserSession, RateLimiter
from .principals import Principal
from .services import Services

COOKIE = "__Host-dpcurves"
"""Cookie of a session."""
CSRF_HEADER = "x-csrf-token"
"""Header of a session's CSRF token."""
REQUESTS_PER_MINUTE = 1200
"""Requests per minute of one account."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authentication of requests by session or token, with rate limits.

    Attributes:
        services: The services.
        principal_rate: The limiter per account.
        anonymous_rate: The limiter of unauthenticated requests per address.
    """

    services: Services
    principal_rate: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS_PER_MINUTE))
    anonymous_rate: RateLimiter = field(default_factory=lambda: RateLimiter(120))  # requests of one address

    def authenticate(self, request: Request) -> Principal:
        """Return the authenticated principal of an API request. Session requests with side effects need a CSRF token.

        Raises:
            ProtocolError: The request is not authenticated, or the rate limit is exceeded.
        """
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        has_token = kind.lower() == "bearer" and token
        principal = self.services.tokens.find(token) if has_token else self._authenticate_session(request)
        if principal is None:
            self.anonymous_rate.count_requests(client_address(request))
            raise ProtocolError(
                "sign-in", "send a token of your account in the header Authorization: Bearer TOKEN", 401
            )
        self.principal_rate.count_requests(principal.name)
        return principal

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
            self.principal_rate.count_requests(session.principal.name)
        return session

    def _authenticate_session(self, request: Request) -> Principal | None:
        """Return the principal of the session cookie; None without a valid one. Raises `ProtocolError` if the CSRF
        token is missing or wrong.
        """
        cookie = request.cookies.get(COOKIE)
        session = None if cookie is None else self.services.sessions.find(cookie)
        if session is None:
            return None
        csrf = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE and not compare_digest(csrf.encode(), session.csrf.encode()):
            raise ProtocolError("session", f"send this session's token in the header {CSRF_HEADER}", 403)
        return session.principal


def client_address(request: Request) -> str:
    """Return the client address of a request; for IPv6 its /64 network, which a single client may own."""
    host = request.client.host if request.client else ""
    return parse_network(host) or host  # a host name, or ""
