"""Authentication of requests: who sends a request, by bearer token or by session cookie.

    bearer token      the holder of the token, with rights in the token's project only
    session cookie    the person who signed in; a request with side effects needs the session's CSRF token
    neither           not signed in; requests of one network address are limited

A project is a group of analysts who share a dataset. A CSRF token proves that a request comes from the server's own
page, because other sites cannot read it. `Authenticator` also limits the rate of requests of each account, by any
way of signing in. This module touches no records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import compare_digest

from fastapi import Request

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.server import parse_network

from .middleware import SAFE_METHODS
from .people import BrowserSession, RateLimiter
from .principals import Principal
from .services import Services

COOKIE = "__Host-dpcurves"
"""Name of the session cookie of signed-in browsers, which accept the prefix ``__Host-`` only over TLS and for exactly
this host."""
CSRF_HEADER = "x-csrf-token"
"""Request header in which the server's pages send the CSRF token of their session; a write without it is refused."""
REQUESTS_PER_MINUTE = 1200
"""Largest number of requests of one account in a minute, then status 429: 20 a second, far more than a page or a
program needs."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticator of requests: finds the account behind a request, and limits the rate of requests.

    Attributes:
        services: The services of the server.
        principal_rate: Limiter of the requests of each account, by default 1,200 a minute.
        anonymous_rate: Limiter of unauthenticated requests of each network address, by default 120 a minute.
    """

    services: Services
    principal_rate: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS_PER_MINUTE))
    anonymous_rate: RateLimiter = field(default_factory=lambda: RateLimiter(120))  # requests of one address

    def authenticate(self, request: Request) -> Principal:
        """Return the principal that sends an API request, by its bearer token or session cookie.

        Args:
            request: A request with a bearer token or a session cookie. With a cookie, a request with side effects also
                needs the session's CSRF token.

        Raises:
            ProtocolError: The request is not authenticated (status 401), lacks the CSRF token (403), or exceeds a rate
                limit.
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
        """Return the session of a browser request; None if the request has no valid session.

        Args:
            request: A request, perhaps with a session cookie.

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
        """Return who signed in with the session cookie; None without a valid one.

        Args:
            request: The request.

        Raises:
            ProtocolError: A request with side effects lacks the session's CSRF token.
        """
        cookie = request.cookies.get(COOKIE)
        session = None if cookie is None else self.services.sessions.find(cookie)
        if session is None:
            return None
        csrf = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE_METHODS and not compare_digest(csrf.encode(), session.csrf.encode()):
            raise ProtocolError("session", f"send this session's token in the header {CSRF_HEADER}", 403)
        return session.principal


def client_address(request: Request) -> str:
    """Return the network address of the sender of a request, by which unauthenticated requests are limited.

    For IPv6 it is the /64 network, because one client may own all of it; empty if the address is unknown.
    """
    host = request.client.host if request.client else ""
    return parse_network(host) or host  # a host name, or ""
