"""OpenID Connect sign-in (authorization code flow with PKCE): a provider authenticates people, roles stay local.

Sign-in never creates accounts. Beforehand, an operator links an account to the person's subject, that is the identifier
by which the provider (issuer) knows the person.

    AuthorizationRequest.generate    secret of one sign-in, which stays in the browser's cookie
    Issuer.authorization_url         sign-in request -> URL of the provider's page, to which the browser is redirected
    Issuer.authenticate              sign-in request and the redirect back -> the person's subject

Three values derive from the secret by one-way hashes: `state` shows that this browser began the sign-in, `nonce` binds
the ID token to the sign-in, and only this server can redeem the code, with `verifier`.

Reference: RFC 6749 (OAuth), RFC 7636 (PKCE), OpenID Connect Core 1.0.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from secrets import compare_digest, token_urlsafe
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import SplitResult, urlsplit

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from requests import RequestException

from dpcurves.arguments import InvalidArgument
from dpcurves.ledger.account import require_name
from dpcurves_parties.serving.messages import ProtocolError

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Accepted signature algorithms of ID tokens: asymmetric only, regardless of the provider's metadata. A token that is
signed otherwise is refused."""
REQUEST_SECONDS = 10
"""Seconds: timeout of a request to the identity provider, so that an unreachable provider holds no request longer."""
OTHER_BROWSER_MESSAGE = "the sign-in began in another browser, or too long ago; sign in again"
"""Refusal of a sign-in at the identity provider that comes back to a browser without the secret of its beginning."""


@dataclass(frozen=True, slots=True, repr=False)
class ClientCredentials:
    """SECRET. Credentials of this server at its OpenID Connect provider. They have no repr.

    Attributes:
        id: The client id.
        secret: The client secret.
    """

    id: str
    secret: str


@dataclass(frozen=True, slots=True, repr=False)
class AuthorizationRequest:
    """SECRET. A sign-in at the provider: state, nonce and code verifier derive from a secret in the browser's cookie.

    Formal guarantees: `state` and `nonce`, which others see, reveal neither each other nor the verifier (one-way
    hashes).
    """

    secret: str

    @classmethod
    def generate(cls) -> AuthorizationRequest:
        """Create a sign-in request with a fresh random secret, from which state, nonce and verifier are derived."""
        return cls(token_urlsafe(32))

    @property
    def state(self) -> str:
        """The OAuth state parameter: the provider returns it, which shows that this browser began the sign-in."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """The nonce inside the ID token, which binds the token to this sign-in."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """The PKCE verifier: the provider has its hash, so that only this server can redeem the code."""
        return self._derive("verifier")

    def _derive(self, label: str) -> str:
        """Return pseudorandom digits for one purpose: the SHA-256 of a label and the sign-in's secret, in hexadecimal
        digits.

        Args:
            label: Purpose of the digits; other labels give independent digits.
        """
        return sha256(f"{label}: {self.secret}".encode(errors="replace")).hexdigest()


class Issuer:
    """An OpenID Connect provider, which authenticates people.

    Args:
        url: The issuer URL, exactly as the provider states it: https, or on loopback.
        client: The credentials of this server.

    Raises:
        ValueError: The URL is invalid.
    """

    def __init__(self, url: str, client: ClientCredentials) -> None:
        self.url = url
        self._client = client
        split_url = _require_secure_url("oidc", url)
        if split_url.query or split_url.fragment:
            raise InvalidArgument("oidc", f"give the issuer's URL without query and fragment, got {url[:100]!r}")
        self.name = split_url.netloc
        self._known: dict[str, tuple[float, Any]] = {}
        self._lock = Lock()
        self._turns = BoundedSemaphore(4)  # a hanging provider cannot occupy all threads

    def authorization_url(self, request: AuthorizationRequest, redirect_uri: str) -> str:
        """Return the authorization URL of the provider, which redirects back to `redirect_uri`.

        Args:
            request: The sign-in request of the browser.
            redirect_uri: URL of this server's page to which the provider redirects.

        Raises:
            ProtocolError: The provider cannot be reached, or its metadata are invalid.
        """
        with self._guard_requests():
            url, _ = self._open_session(redirect_uri).create_authorization_url(
                self._fetch_metadata()["authorization_endpoint"],
                state=request.state,
                nonce=request.nonce,
                code_verifier=request.verifier,
            )
        return str(url)

    def authenticate(self, request: AuthorizationRequest, redirect_uri: str, answer: Mapping[str, str]) -> str:
        """Return the subject that the provider has authenticated: its permanent identifier of a person.

        Args:
            request: The authorization request of the browser.
            redirect_uri: The redirect URI of that request.
            answer: The query parameters of the redirect.

        Raises:
            ProtocolError: The sign-in began elsewhere, the provider refused it, or its ID token is invalid.
        """
        if not request.secret or not compare_digest(answer.get("state", "").encode(), request.state.encode()):
            raise ProtocolError("sign-in", OTHER_BROWSER_MESSAGE, 403)
        if answer.get("iss", self.url) != self.url or "error" in answer or not answer.get("code"):
            raise self._sign_in_error()
        with self._guard_requests():
            token = self._fetch_token(request, redirect_uri, answer["code"])
            return self._validate_id_token(token, request.nonce)

    def _fetch_token(self, request: AuthorizationRequest, redirect_uri: str, code: str) -> Mapping[str, Any]:
        """Redeem the authorization code of a sign-in at the identity provider, and return the provider's tokens.

        Args:
            request: The sign-in request, whose verifier the provider checks.
            redirect_uri: The redirect URI of that request.
            code: The code in the redirect.

        Returns:
            The token response, with ``id_token`` and perhaps ``access_token``.
        """
        facts = self._fetch_metadata()
        session = self._open_session(redirect_uri)
        offered = facts.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if "client_secret_basic" not in offered:
            session.token_endpoint_auth_method = "client_secret_post"
        token = session.fetch_token(
            facts["token_endpoint"], grant_type="authorization_code", code=code, code_verifier=request.verifier,
            redirect_uri=redirect_uri, timeout=REQUEST_SECONDS, allow_redirects=False,
        )  # fmt: skip
        return dict(token)

    def _validate_id_token(self, token: Mapping[str, Any], nonce: str) -> str:
        """Return the subject of an ID token after checking signature, issuer, audience, nonce and expiry.

        Args:
            token: The token response of the provider.
            nonce: The nonce of the sign-in request.

        Raises:
            ValueError, JoseError: The token is invalid; `_guard_requests` replaces the error.
        """
        decoded = self._decode_id_token(token["id_token"])
        expected = {
            "iss": {"essential": True, "value": self.url}, "sub": {"essential": True},
            "aud": {"essential": True, "value": self._client.id}, "exp": {"essential": True},
        }  # fmt: skip
        parameters = {"nonce": nonce, "client_id": self._client.id, "access_token": token.get("access_token")}
        claims = CodeIDToken(decoded.claims, decoded.header, expected, parameters)
        claims.validate(leeway=60)  # seconds between two clocks
        require_name("subject", claims["sub"])
        return str(claims["sub"])

    def _decode_id_token(self, text: str) -> Any:
        """Verify the signature of an ID token, and return its header and claims.

        If the token names an unknown key, the provider's keys are fetched again, once.

        Args:
            text: The token, a signed JSON Web Token.

        Raises:
            JoseError: The signature is invalid, or no key of the provider has the named id.
        """
        registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
        try:
            return jwt.decode(text, KeySet.import_key_set(self._fetch_keys()), registry=registry)
        except InvalidKeyIdError:
            self._known.pop("jwks_uri", None)
            return jwt.decode(text, KeySet.import_key_set(self._fetch_keys()), registry=registry)

    def _fetch_metadata(self) -> Any:
        """Return the provider's metadata, a JSON object with the addresses of its endpoints.

        Raises:
            ValueError: The metadata state another issuer or an insecure address.
        """
        facts = self._fetch_cached("facts", get_well_known_url(self.url, external=True))
        if facts["issuer"] != self.url:
            raise ValueError("the provider states another issuer URL")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _require_secure_url(name, facts[name])
        return facts

    def _fetch_keys(self) -> Any:
        """Return the provider's public signature keys, a JSON Web Key Set.

        Returns:
            JSON object, from the cache if it was fetched lately.
        """
        return self._fetch_cached("jwks_uri", self._fetch_metadata()["jwks_uri"])

    def _fetch_cached(self, name: str, url: str) -> Any:
        """Return a JSON document of the provider, cached for an hour.

        Args:
            name: Key of the document in the cache.
            url: Address of the document.

        Raises:
            RequestException: The provider cannot be reached, or answers with an error or without JSON.
        """
        with self._lock:
            cached = self._known.get(name)
        if cached is not None and time.monotonic() < cached[0]:
            return cached[1]
        with OAuth2Session() as session:
            answer = session.request("GET", url, withhold_token=True, timeout=REQUEST_SECONDS, allow_redirects=False)
            answer.raise_for_status()
            document = answer.json()
        with self._lock:
            self._known[name] = (time.monotonic() + 3600.0, document)  # seconds
        return document

    def _open_session(self, redirect_uri: str) -> Any:
        """Return an OAuth client with this server's credentials and PKCE, for one redirect URI.

        Args:
            redirect_uri: Address of this server to which the provider sends people back.
        """
        return OAuth2Session(
            self._client.id,
            self._client.secret,
            scope="openid",
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )

    @contextmanager
    def _guard_requests(self) -> Iterator[None]:
        """Limit concurrent requests to four inside a `with` block, and replace errors by one line without their texts.

        Raises:
            ProtocolError: The provider cannot be reached, four requests are under way, or the sign-in was refused.
        """
        if not self._turns.acquire(blocking=False):
            raise self._unavailable_error()
        try:
            yield
        except RequestException:
            raise self._unavailable_error() from None
        except ProtocolError:
            raise
        except (OAuthError, JoseError, ValueError, TypeError, KeyError, AttributeError):
            raise self._sign_in_error() from None
        finally:
            self._turns.release()

    def _unavailable_error(self) -> ProtocolError:
        """Return the error that the provider cannot be reached now (status 503)."""
        return ProtocolError("sign-in", f"{self.name} cannot be reached now; try again in a minute", 503)

    def _sign_in_error(self) -> ProtocolError:
        """Return the error for a person whom the identity provider did not authenticate (status 403)."""
        return ProtocolError(
            "sign-in", f"{self.name} did not confirm who you are; sign in there again, or ask its administrator", 403
        )


def _require_secure_url(argument: str, url: str) -> SplitResult:
    """Parse a URL that must be https, or http on this machine.

    Args:
        argument: Name of the argument, for the error.
        url: The URL.

    Raises:
        ValueError: The URL is insecure, has no host, or holds a user name.
    """
    split_url = urlsplit(url)
    is_safe = split_url.scheme == "https" or (split_url.scheme == "http" and _is_loopback(split_url.hostname or ""))
    if not is_safe or not split_url.hostname or split_url.username:
        raise InvalidArgument(argument, f"use a URL that begins with https://, got {url[:100]!r}")
    return split_url


def _is_loopback(host: str) -> bool:
    """Return True if a host name or address is this machine: localhost, 127.0.0.0/8 or ::1."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
