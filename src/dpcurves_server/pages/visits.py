"""Request context of a page: the visitor, the form that was sent, templates, and the response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from secrets import compare_digest
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.data import Categories
from dpcurves.ledger import Currency
from dpcurves.privacy import PrivacyLoss
from dpcurves.shortcuts import parse_loss
from dpcurves_parties.serving.messages import ProtocolError

from ..declared_columns import Declared
from ..forms import Form, Given
from ..front import Authenticator, Services
from ..issuer import Issuer
from ..people import BrowserSession
from ..studio import Drawing, wait_for_drawing
from ..visitors import Right, Visitor, may

# Templates, and how facts are worded in them. All text is escaped.
OF_REQUESTS = re.compile(r" under the same --request-id| at --level")
OPTION = re.compile(r"--([a-z][a-z-]*)")
STATIC: Mapping[str, str] = {
    "style.css": "text/css", "htmx.min.js": "text/javascript", "form.js": "text/javascript",
    "icon.svg": "image/svg+xml", "htmx.LICENSE.txt": "text/plain",
}  # fmt: skip


@cache
def load_templates() -> Environment:
    """The environment of all pages."""
    made = Environment(
        loader=PackageLoader("dpcurves_server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(on_page=adapt_help, values_of=format_domain, day=format_day, sentence=capitalize)
    made.globals["stamp"] = sha256(b"".join(map(read_static, STATIC))).hexdigest()[:12]
    return made


@cache
def read_static(name: str) -> bytes:
    """A file that pages ask for: one of `STATIC`."""
    return (files("dpcurves_server") / "static" / name).read_bytes()


def adapt_help(text: str) -> str:
    """The help of an option, where options are fields of a form.

    >>> adapt_help("With --at or --points: others are free under the same --request-id.")
    'With “At” or “Points”: others are free.'
    """
    return OPTION.sub(lambda found: f"“{found[1].replace('-', ' ').capitalize()}”", OF_REQUESTS.sub("", text))


def format_domain(column: Declared) -> str:
    """The domain of a column, in words."""
    if isinstance(column, Categories):
        return ", ".join(map(str, column.values))
    return f"{column.lower:g} to {column.upper:g}"


def format_day(timestamp: float) -> str:
    """The day of a moment in seconds since 1970, in UTC."""
    return datetime.fromtimestamp(timestamp, UTC).date().isoformat()


def capitalize(words: str) -> str:
    """Words that begin with a capital; an abbreviation stays one."""
    return words.upper() if words == "auc" else words[:1].upper() + words[1:]


# Prices as people type them: a number in the currency of a dataset's account.
def parse_price(field: str, currency: Currency, text: str) -> PrivacyLoss:
    """The loss that was typed into this field.

    Raises:
        ValueError: nothing was typed, or no number above zero.

    >>> print(parse_price("amount", Currency.EPSILON, "0.5"))
    epsilon 0.5
    """
    if not text:
        raise InvalidArgument(field, f"a number above zero is needed, in {currency.value}")
    try:
        return parse_loss(text, None) if currency is Currency.EPSILON else parse_loss(None, text)
    except InvalidArgument as error:
        raise InvalidArgument(field, error.rule) from None


SAID = {
    "made": "It is made.", "changed": "It is changed.", "admitted": "Admitted.", "dismissed": "Dismissed.",
    "wanted": "It is done if it still could be. What became of it is seen when the public clock strikes.",
    "put": "The synthetic table is available now.",
    "set": "The share is set.", "published": "Published: everybody who may see datasets here sees it now.",
    "kept": "The model is kept. It can be chosen wherever a column of scores can.", "back": "The token has ended.",
    "out": "You are signed out.", "again": "Sign in with the new password.",
}  # fmt: skip
"""Messages on a page after an action, by the word in its address."""
CSRF = "csrf"
NOT_DRAWN = 202
"""The status that says: wait for the picture, and come again."""
ADMITTED = 204
"""The status that says: go on, and read the file."""


@dataclass(frozen=True, slots=True)
class Site:
    """Services that every page uses.

    Attributes:
        authenticator: Who may come, and the services.
        forms: What may be asked, by the word that asks it.
        issuer: Another authority by which people sign in; None: there is none.
    """

    authenticator: Authenticator
    forms: Mapping[str, Form]
    issuer: Issuer | None = None

    @property
    def issuer_name(self) -> str:
        """Display name of the identity provider; empty if there is none."""
        return "" if self.issuer is None else self.issuer.name


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the menu."""

    name: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True, repr=False)
class Visit:
    """SECRET. A request of a page: path, form, session, address. It may hold a password and cookies: it has no repr.

    Attributes:
        site: What all pages have.
        path: The path that was asked for.
        path_params: What its variable parts are.
        query: What stands behind it.
        form: What was typed.
        session: The session; None: nobody has signed in.
        address: Where from.
        host: How the server is called, with its scheme.
        sign_in_secret: What a browser keeps while it is at the issuer; empty: it is on no errand.
        file: What was sent as a file.
        has_waited: Whether they have waited for a picture.
    """

    site: Site
    path: str
    path_params: Mapping[str, str]
    query: Given
    form: Given
    session: BrowserSession | None
    address: str
    host: str
    sign_in_secret: str = ""
    file: bytes = b""
    has_waited: bool = False

    @property
    def services(self) -> Services:
        """The services."""
        return self.site.authenticator.services

    @property
    def visitor(self) -> Visitor:
        """The signed-in account. Raises `ProtocolError`: nobody."""
        if self.session is None:
            raise ProtocolError("sign-in", "sign in first", 401)
        return self.session.visitor

    def form_value(self, name: str) -> str:
        """The text of a form field; empty if it was left out."""
        found = self.form.get(name, ())
        return found[0].strip() if found else ""

    def require_csrf_token(self) -> None:
        """Refuse a form that did not come from a page of this session.

        Raises:
            ProtocolError: it carries another token, or none.
        """
        if self.session is not None and not compare_digest(self.form_value(CSRF).encode(), self.session.csrf.encode()):
            raise ProtocolError("form", "it is too old, or comes from elsewhere; load the page again", 403)

    def render(self, template: str, status: int = 200, **facts: Any) -> Response:
        """A page made of these facts."""
        signed = self.session
        token = "" if signed is None else f'<input type="hidden" name="{CSRF}" value="{escape(signed.csrf)}">'
        words = SAID.get((self.query.get("said") or [""])[0])
        common = {
            "visitor": None if signed is None else signed.visitor, "csrf_field": Markup(token),
            "places": [] if signed is None else self._menu_entries(signed.visitor),
            "said": None if words is None else {"kind": "good", "words": words}, "oidc": self.site.issuer_name,
        }  # fmt: skip
        return HTMLResponse(load_templates().get_template(template).render({**common, **facts}), status)

    def _menu_entries(self, visitor: Visitor) -> list[MenuEntry]:
        found = [
            ("Datasets", "/datasets", may(visitor, Right.SEE_DATASETS)),
            ("Manage", "/manage", bool(visitor.stewarded_datasets)),
            ("Audit", "/audit", may(visitor, Right.AUDIT)), ("People", "/people", may(visitor, Right.KEEP_PEOPLE)),
            ("Account", "/account", True),
        ]  # fmt: skip
        return [MenuEntry(name, url, self.path.startswith(url)) for name, url, open_ in found if open_]


class PendingResponse(Response):
    """An answer that waits for a picture which another process draws.

    Args:
        visit: Who waits.
        coming: The picture.
        made: What is made of it.
    """

    def __init__(self, visit: Visit, drawing: Future[Drawing], respond: Callable[[Drawing], Response]) -> None:
        super().__init__(status_code=NOT_DRAWN)
        self._visit, self._coming, self._made = visit, drawing, respond

    async def wait_for_response(self) -> Response:
        """The answer, once the picture is there; or why it is not."""
        try:
            return await run_in_threadpool(self._made, await wait_for_drawing(self._coming))
        except ArgumentError as error:
            return self._visit.render("refused.html", getattr(error, "status", 400), words=str(error))


def redirect_to(*parts: str, message: str = "") -> Response:
    """Go on at another page: after something was done, so that looking again does not do it again."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return RedirectResponse(f"{path}?said={message}" if message else path, 303)


def download(text: str | bytes, media: str, name: str = "") -> Response:
    """A file; with a name, one to be kept."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
    return Response(text, media_type=media, headers=headers)


# Forms that bring a file along: fields as other forms have them, and one file, whose name nobody reads.
MOST_FIELDS = 20
MOST_AT_ONCE = 2**16
UNREADABLE = "one file and at most 20 fields are needed, as a page of this server sends them"


def parse_multipart(headers: Headers, body: bytes) -> tuple[str, bytes]:
    """The fields, as other forms send them, and what is in the file; empty: there is none.

    Raises:
        ProtocolError: it is no such form.
    """
    if not headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise ProtocolError("form", UNREADABLE)
    try:
        return asyncio.run(_parse_multipart(headers, body))
    except (MultiPartException, ValueError, KeyError):
        raise ProtocolError("form", UNREADABLE) from None


async def _parse_multipart(headers: Headers, body: bytes) -> tuple[str, bytes]:
    form = await MultiPartParser(headers, _stream_body(body), max_files=1, max_fields=MOST_FIELDS).parse()
    try:
        typed, file = [], b""
        for name, value in form.multi_items():
            if isinstance(value, str):
                typed.append((name, value))
            else:
                file = await value.read()
        return urlencode(typed), file
    finally:
        await form.close()


async def _stream_body(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), MOST_AT_ONCE):
        yield body[start : start + MOST_AT_ONCE]
