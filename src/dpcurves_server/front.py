"""Authentication of requests: bearer token, session cookie or anonymous; with rate limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network, ip_address
from secrets import compare_digest

from fastapi import Request

from dpcurves_parties.serving.errors import ProtocolAborted

from .gate import Gate
from .patience import Rate
from .sessions import SignedIn
from .visitors import Visitor

COOKIE = "__Host-dpcurves"
CSRF_HEADER = "x-csrf-token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PER_MINUTE = 1200
STRANGERS_PER_MINUTE = 120
NETWORK_BITS = 64
"""Bits of a network of version 6, all addresses of which one visitor may have."""


@dataclass(frozen=True, slots=True)
class Front:
    """Recognises who asks.

    Attributes:
        gate: The services.
        people: How often one person may ask.
        strangers: How often may be asked from one address by those who are not recognised.
    """

    gate: Gate
    people: Rate = field(default_factory=lambda: Rate(PER_MINUTE))
    strangers: Rate = field(default_factory=lambda: Rate(STRANGERS_PER_MINUTE))

    def visitor(self, request: Request) -> Visitor:
        """The authenticated visitor of an API route. A session that changes something proves same origin.

        Raises:
            ProtocolAborted: nobody is recognised, or they ask too often.
        """
        token = token_of(request)
        found = self.gate.tokens.find(token) if token is not None else self._by_session(request)
        if found is None:
            self.strangers.count(address_of(request))
            raise ProtocolAborted("sign-in", "a token is needed: Authorization: Bearer ...", 401)
        self.people.count(found.name)
        return found

    def session(self, request: Request) -> SignedIn | None:
        """The session of a browser, if it has one.

        Raises:
            ProtocolAborted: its person asks too often, or too many strangers ask from its address.
        """
        cookie = request.cookies.get(COOKIE)
        found = None if cookie is None else self.gate.sessions.find(cookie)
        if found is None:
            self.strangers.count(address_of(request))
        else:
            self.people.count(found.visitor.name)
        return found

    def _by_session(self, request: Request) -> Visitor | None:
        cookie = request.cookies.get(COOKIE)
        found = None if cookie is None else self.gate.sessions.find(cookie)
        if found is None:
            return None
        given = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE and not compare_digest(given.encode(), found.csrf.encode()):
            raise ProtocolAborted("session", f"the header {CSRF_HEADER} of this session is needed", 403)
        return found.visitor


def token_of(request: Request) -> str | None:
    """The token that a request bears; None: it bears none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and token else None


def address_of(request: Request) -> str:
    """The client address of a request; for IPv6 the /64 network, which one client may hold whole."""
    host = request.client.host if request.client else ""
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:  # a name, or nothing
        return host
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or IPv6Network((int(found), NETWORK_BITS), strict=False))
