"""An issuer of OpenID Connect on loopback: it knows one person, keeps to the protocol, and lies where it is told to."""

from __future__ import annotations

import hmac
import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from dpcurves_server.issuer import ClientCredentials

CLIENT = ClientCredentials("the gate", "a secret: of the gate & its issuer")
SUBJECT = "248289761001"
Claims = dict[str, Any]


class Authority:
    """What it knows, and how it lies.

    Attributes:
        url: What it calls itself.
        subject: Whom it recognises.
        lie: What becomes of the claims before they are signed.
        sign: What becomes of claims: a token.
        says: What the browser brings back besides; an empty text takes something away.
        refused: What was wrong with requests that it has refused.
    """

    def __init__(self, url: str) -> None:
        self.url, self.key = url, ECKey.generate_key("P-256", {"kid": "first"})
        self.grants: dict[str, Mapping[str, str]] = {}
        self.refused: list[str] = []
        self.asked: list[str] = []
        self.be_honest()

    def be_honest(self) -> None:
        self.subject, self.says = SUBJECT, dict[str, str]()
        self.lie: Callable[[Claims], Claims] = dict
        self.sign: Callable[[Claims], str] = self.signed

    def signed(self, claims: Claims) -> str:
        return jwt.encode({"alg": "ES256", "kid": self.key.kid}, claims, self.key)

    def unsigned(self, claims: Claims) -> str:
        return f"{_packed({'alg': 'none'})}.{_packed(claims)}."

    def signed_by_its_public_key(self, claims: Claims) -> str:
        return self._shared(claims, self.key.as_pem(private=False))

    def signed_by_the_secret_of_the_client(self, claims: Claims) -> str:
        return self._shared(claims, CLIENT.secret.encode())

    def _shared(self, claims: Claims, key: bytes) -> str:
        """By an algorithm whose key is no secret of the issuer: written by hand, for libraries refuse to."""
        text = f"{_packed({'alg': 'HS256', 'kid': self.key.kid})}.{_packed(claims)}"
        return f"{text}.{_plain(hmac.new(key, text.encode(), sha256).digest())}"

    def signed_by_another(self, claims: Claims) -> str:
        other = ECKey.generate_key("P-256", {"kid": str(self.key.kid)})
        return jwt.encode({"alg": "ES256", "kid": other.kid}, claims, other)

    def facts(self) -> Claims:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["none", "HS256", "ES256"],
        }

    def keys(self) -> Any:
        return KeySet([self.key]).as_dict(private=False)

    def authorized(self, query: Mapping[str, str]) -> str:
        """Where the browser goes next: it has recognised its one person."""
        wanted = {"response_type": "code", "client_id": CLIENT.id, "code_challenge_method": "S256", "scope": "openid"}
        if wrong := [name for name, value in wanted.items() if query.get(name) != value]:
            self.refused.append(f"authorize: {wrong}")
        code = f"code {len(self.grants)}"
        self.grants[code] = query
        brought = {"code": code, "state": query.get("state", ""), "iss": self.url, **self.says}
        return f"{query['redirect_uri']}?{urlencode({name: text for name, text in brought.items() if text})}"

    def token(self, typed: Mapping[str, str], bears: str) -> Claims | None:
        """What a code is good for: once, for whom it was made."""
        asked = self.grants.pop(typed.get("code", ""), None)
        proof = _plain(sha256(typed.get("code_verifier", "").encode()).digest())
        known = ":".join(map(unquote, b64decode(bears.partition(" ")[2]).decode().split(":", 1)))
        checks = {
            "code": asked is not None,
            "code_verifier": asked is not None and asked.get("code_challenge") == proof,
            "redirect_uri": asked is not None and asked.get("redirect_uri") == typed.get("redirect_uri"),
            "client": known == f"{CLIENT.id}:{CLIENT.secret}",
            "grant_type": typed.get("grant_type") == "authorization_code",
        }
        wrong = [name for name, fits in checks.items() if not fits]
        if wrong or asked is None:
            self.refused.append(f"token: {wrong}")
            return None
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": CLIENT.id, "sub": self.subject, "iat": now, "exp": now + 300,
            "nonce": asked.get("nonce", ""),
        }  # fmt: skip
        return {"access_token": "unused", "token_type": "Bearer", "id_token": self.sign(self.lie(claims))}


@contextmanager
def authority() -> Iterator[Authority]:
    """An issuer that answers as long as it is used."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    server.authority = Authority(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.authority  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def authority(self) -> Authority:
        return self.server.authority  # type: ignore[attr-defined, no-any-return]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.authority.asked.append(parts.path)
        if parts.path == "/authorize":
            self._answer(303, b"", {"Location": self.authority.authorized(_first(parts.query))})
            return
        found = {"/.well-known/openid-configuration": self.authority.facts, "/keys": self.authority.keys}
        made = found.get(parts.path)
        self._answer(404, b"{}") if made is None else self._answer(200, json.dumps(made()).encode())

    def do_POST(self) -> None:
        self.authority.asked.append(self.path)
        typed = _first(self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode())
        found = self.authority.token(typed, self.headers.get("Authorization", ""))
        status, told = (400, {"error": "invalid_grant"}) if found is None else (200, found)
        self._answer(status, json.dumps(told).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        told = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _first(text: str) -> dict[str, str]:
    return {name: texts[0] for name, texts in parse_qs(text, keep_blank_values=True).items()}


def _packed(thing: object) -> str:
    return _plain(json.dumps(thing).encode())


def _plain(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()
