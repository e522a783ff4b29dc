"""What every page needs: the request with its principal, the form that was sent, templates, and the response.

`Visit` is one request to one page. `Site` holds what all pages share. `show_refused` shows a form again with its error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from secrets import compare_digest
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.data import Categories
from dpcurves.foreign_text import isolate_lines_in_html
from dpcurves.ledger import Currency
from dpcurves.privacy import PrivacyLoss
from dpcurves.shortcuts import parse_loss
from dpcurves.translation import ENGLISH, find_preferred_language, list_languages, require_language
from dpcurves_parties.serving.messages import ProtocolError

from ..authentication import Authenticator
from ..declared_columns import Declared, has_dates, has_unknown_categories, has_unknown_range
from ..forms import FieldValues, Form
from ..issuer import Issuer
from ..people import BrowserSession
from ..principals import Principal, Right, has_right
from ..renderer import Drawing, wait_for_drawing
from ..services import Services
from ..typed_numbers import read_number
from .refused_forms import NO_SENT_FORM, FieldName, SentForm, capitalize_rule

# Templates and their text filters. All text is escaped.
COMMAND_LINE_PHRASES = re.compile(r" under the same --request-id| at --level")
"""Phrases of help texts that are cut out on pages, because they are about options that pages do not have."""
OPTION_PATTERN = re.compile(r"--([a-z][a-z-]*)")
"""An option in a help text, as in ``--cut-points``; pages show its words in quotation marks in its place."""
STATIC_FILES: Mapping[str, str] = {
    "style.css": "text/css", "htmx.min.js": "text/javascript", "form.js": "text/javascript",
    "try.js": "text/javascript", "icon.svg": "image/svg+xml", "htmx.LICENSE.txt": "text/plain",
}  # fmt: skip
"""Media types of the static files, by name; any other name is not found."""


JINJA_TOKENS = re.compile(
    r"\{\{(?P<left>-?)(?P<expression>.*?)(?P<right>-?)\}\}|\{%.*?%\}|\{#.*?#\}|</?\w+|>", re.DOTALL
)
"""Expressions, statements and comments of Jinja, and the beginnings and ends of HTML tags: by these a template is read
to find where its expressions are."""
TEXT_ONLY = ("title", "option", "textarea")
"""HTML elements that contain text alone: in them, expressions are not wrapped in an element such as ``<bdi>``."""


class IsolatedText(Extension):
    """Extension of Jinja that isolates the direction of every expression in the text of a page, but not in attributes.

    The extension rewrites ``{{ expression }}`` into ``{{ (expression)|isolated }}``, so that no template can forget it.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source of a Jinja template in which each expression in running text goes through the filter
        `isolated`.

        Args:
            source: Source of the template.
            name: Without effect; Jinja passes the name of the template.
            filename: Without effect; Jinja passes the path of the template.
        """
        tag = ""
        enclosing = ""
        in_set = False

        def rewrite(match: re.Match[str]) -> str:
            """Return one token of the template, changed if it is an expression in running text; remember in which tag
            it lies.

            Args:
                match: Token of the template: an expression, a statement, a tag or the end of a tag.
            """
            nonlocal tag, enclosing, in_set
            token = match[0]
            if match["expression"] is not None:
                if tag or enclosing or in_set:
                    return token
                return f"{{{{{match['left']} ({match['expression'].strip()})|isolated {match['right']}}}}}"
            if token.startswith("{%"):
                words = token.strip("{%-} ").split()
                in_set = (words[0] == "set" and "=" not in words) or (in_set and words[0] != "endset")
            elif token == ">":
                tag = ""
            elif token.startswith("<"):
                tag = token
                element = token.strip("</")
                if element in TEXT_ONLY:
                    enclosing = "" if token.startswith("</") else element
            return token

        return JINJA_TOKENS.sub(rewrite, source)


def isolate_text(value: object) -> Markup:
    """Return the value of an expression as markup, isolated from the text around it. Markup stays as it is."""
    if hasattr(value, "__html__"):
        return Markup(value)
    return Markup(isolate_lines_in_html(value).replace("&#x27;", "&#39;"))  # escaped there, here as Jinja does


@cache
def load_templates() -> Environment:
    """Return the Jinja environment of all pages, with escaping switched on; cached."""
    environment = Environment(
        loader=PackageLoader("dpcurves_server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, extensions=[IsolatedText],
    )  # fmt: skip
    environment.filters["isolated"] = isolate_text
    environment.filters.update(on_page=adapt_help, values_of=format_domain, day=format_day, sentence=capitalize)
    environment.globals["stamp"] = sha256(b"".join(map(read_static, STATIC_FILES))).hexdigest()[:12]
    return environment


@cache
def read_static(name: str) -> bytes:
    """Return the contents of a static file of the pages, such as a style sheet.

    Args:
        name: Name of the file.

    Raises:
        FileNotFoundError: the package has no file of this name.
    """
    return (files("dpcurves_server") / "static" / name).read_bytes()


def adapt_help(text: str) -> str:
    """Adapt command-line help to forms: name fields instead of options.

    >>> adapt_help("With --cut-points or --points: others are free under the same --request-id.")
    'With “Cut points” or “Points”: others are free.'

    Args:
        text: Help text of an option.
    """
    return OPTION_PATTERN.sub(
        lambda found: f"“{found[1].replace('-', ' ').capitalize()}”", COMMAND_LINE_PHRASES.sub("", text)
    )


def format_domain(column: Declared) -> str:
    """Return the declared range or the declared categories of a column as text."""
    if has_unknown_categories(column):
        return "categories, not known"
    if isinstance(column, Categories):
        return ", ".join(map(str, column.values))
    if has_dates(column):
        return "dates or times, range not known"
    if has_unknown_range(column):
        return "numbers, range not known"
    return f"{column.lower:g} to {column.upper:g}"


def format_day(timestamp: float) -> str:
    """Return the UTC date of a time in seconds since 1970.

    Args:
        timestamp: Seconds since 1970.

    Returns:
        Text such as ``2026-01-31``.
    """
    return datetime.fromtimestamp(timestamp, UTC).date().isoformat()


def capitalize(words: str) -> str:
    """Capitalize the first letter of a text for a page, or all letters of an abbreviation such as ``auc``.

    Args:
        words: Text, which may be empty; ``auc`` becomes ``AUC``.
    """
    return words.upper() if words == "auc" else words[:1].upper() + words[1:]


# Typed prices: a number in the currency of a dataset's account.
def parse_price(field: str, currency: Currency, text: str) -> PrivacyLoss:
    """Return the privacy loss typed into a field of a form.

    Args:
        field: Name of the field, for the message.
        currency: Epsilon or rho.
        text: The typed text, with a decimal point or a decimal comma.

    Raises:
        ValueError: The text is empty or not a number above zero.

    >>> print(parse_price("amount", Currency.EPSILON, "0.5"), "and", parse_price("amount", Currency.EPSILON, "0,5"))
    epsilon 0.5 and epsilon 0.5
    """
    if not text:
        raise InvalidArgument(field, f"type a number above zero, in {currency.value}")
    number = read_number(field, text)
    try:
        return parse_loss(number, None) if currency is Currency.EPSILON else parse_loss(None, number)
    except InvalidArgument as error:
        raise InvalidArgument(field, error.rule) from None


CONFIRMATIONS = {
    "made": "Created.", "changed": "Changed.", "admitted": "Added.", "dismissed": "Removed.",
    "wanted": "Requested. The result is shown at the next publication time.",
    "put": "The synthetic table is available now.",
    "proposed": "The table is proposed. Another person confirms it: a steward of the dataset, or an auditor.",
    "set": "The share is set.", "published": "Published to everyone with access to the datasets.",
    "kept": "The model is stored. Choose it in any field of a score column.", "back": "The token is revoked.",
    "out": "You are signed out.", "again": "Sign in with the new password.",
}  # fmt: skip
"""Messages that a page shows after an action, by the value of the query parameter `said`; other values show none."""
CSRF_FIELD = "csrf"
"""Name of the hidden form field with the session's CSRF token; a form without the right token is refused."""
NOT_DRAWN = 202
"""HTTP status, inside the server alone: the picture is not drawn yet, so wait for it and then respond again."""
ADMITTED = 204
"""HTTP status, inside the server alone: the sender may upload, so read the body."""


@dataclass(frozen=True, slots=True)
class Site:
    """The context of all pages.

    Attributes:
        authenticator: Authentication, and the services.
        forms: The question forms by command word.
        issuer: The OpenID Connect provider, or None.
        language: The language that is proposed for files; empty: the browser's preference.
    """

    authenticator: Authenticator
    forms: Mapping[str, Form]
    issuer: Issuer | None = None
    language: str = ""

    @property
    def issuer_name(self) -> str:
        """Display name of the identity provider; empty without a provider."""
        return "" if self.issuer is None else self.issuer.name

    @property
    def has_accounts(self) -> bool:
        """True if people sign in: the pages then show who is signed in, and what other people of a project do."""
        return True

    def list_menu(self, principal: Principal) -> list[tuple[str, str]]:
        """Return name and address of each page of the menu that the principal may open.

        Args:
            principal: Signed-in person.
        """
        entries = [
            ("Datasets", "/datasets", has_right(principal, Right.SEE_DATASETS)),
            ("Manage", "/manage", bool(principal.stewarded_datasets)),
            ("Audit", "/audit", has_right(principal, Right.AUDIT)),
            ("People", "/people", has_right(principal, Right.KEEP_PEOPLE)),
            ("Account", "/account", True),
        ]
        return [(name, url) for name, url, is_allowed in entries if is_allowed]


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
        site: The context of all pages.
        path: The request path.
        path_params: The path parameters.
        query: The query parameters.
        form: The form fields.
        session: The session; None without a sign-in.
        address: The client address.
        host: The server's origin.
        sign_in_secret: The secret of a pending sign-in at the provider; empty without a pending sign-in.
        file: The uploaded file.
        has_waited: Whether the request has waited for a drawing.
        sent: The refused form that the page shows again.
        accepted_languages: The languages that the browser prefers, as its header ``Accept-Language`` names them.
    """

    site: Site
    path: str
    path_params: Mapping[str, str]
    query: FieldValues
    form: FieldValues
    session: BrowserSession | None
    address: str
    host: str
    sign_in_secret: str = ""
    file: bytes = b""
    has_waited: bool = False
    sent: SentForm = NO_SENT_FORM
    accepted_languages: str = ""

    @property
    def services(self) -> Services:
        """The services of the server."""
        return self.site.authenticator.services

    @property
    def principal(self) -> Principal:
        """The person or token that is signed in.

        Raises:
            ProtocolError: the request is not signed in (status 401).
        """
        if self.session is None:
            raise ProtocolError("sign-in", "sign in first, at /sign-in", 401)
        return self.session.principal

    def form_value(self, name: str) -> str:
        """Return the text of a form field; "" if it is missing.

        Args:
            name: Name of the field; of several values the first counts.

        Returns:
            Text without outer spaces.
        """
        values = self.form.get(name, ())
        return values[0].strip() if values else ""

    def read_language(self) -> str:
        """Return the language of files that the request names; English if it names none.

        Raises:
            ValueError: There is no catalogue of this language.
        """
        return require_language(self.form_value("language") or "".join(self.query.get("language", ())) or ENGLISH)

    @property
    def likely_language(self) -> str:
        """The language that a form proposes for files: the site's language, else the browser's preference."""
        return self.site.language or find_preferred_language(self.accepted_languages)

    def require_csrf_token(self) -> None:
        """Refuse a form that did not come from a page of this session.

        Raises:
            ProtocolError: The CSRF token is missing or wrong.
        """
        if self.session is not None and not compare_digest(
            self.form_value(CSRF_FIELD).encode(), self.session.csrf.encode()
        ):
            raise ProtocolError("form", "the form is outdated or comes from another site; reload the page", 403)

    def render(self, template: str, status: int = 200, **facts: Any) -> Response:
        """Return the response with a template rendered from `facts` and the context of all pages.

        Args:
            template: File name of the template.
            status: HTTP status of the response.
            facts: Values by the names that the template uses; they override the common context.
        """
        signed = self.session
        token = "" if signed is None else f'<input type="hidden" name="{CSRF_FIELD}" value="{escape(signed.csrf)}">'
        words = CONFIRMATIONS.get((self.query.get("said") or [""])[0])
        said = None if words is None else {"kind": "good", "words": words}
        if self.sent.message and not self.sent.field:
            said = {"kind": "bad", "words": self.sent.message}
        common = {
            "principal": None if signed is None else signed.principal, "csrf_field": Markup(token),
            "places": [] if signed is None else self._menu_entries(signed.principal),
            "said": said, "oidc": self.site.issuer_name, "has_accounts": self.site.has_accounts, "sent": self.sent,
            "languages": list_languages(), "likely_language": self.likely_language,
        }  # fmt: skip
        return HTMLResponse(load_templates().get_template(template).render({**common, **facts}), status)

    def _menu_entries(self, principal: Principal) -> list[MenuEntry]:
        """Return the entries of the menu that the principal may open.

        Args:
            principal: Signed-in person.

        Returns:
            Name, address, and whether the entry leads to the present page.
        """
        entries = self.site.list_menu(principal)
        return [MenuEntry(name, url, self.path == url or self.path.startswith(f"{url}/")) for name, url in entries]


class PendingResponse(Response):
    """A response that waits for the renderer.

    Args:
        visit: The waiting request.
        drawing: The future drawing.
        respond: Builds the response from the drawing.
    """

    def __init__(self, visit: Visit, drawing: Future[Drawing], respond: Callable[[Drawing], Response]) -> None:
        super().__init__(status_code=NOT_DRAWN)
        self._visit = visit
        self._coming = drawing
        self._made = respond

    async def wait_for_response(self) -> Response:
        """Return the response once the drawing is done, or an error page."""
        try:
            return await run_in_threadpool(self._made, await wait_for_drawing(self._coming))
        except ArgumentError as error:
            return show_refused(self._visit, None, error)


def redirect_to(*parts: str, message: str = "") -> Response:
    """Redirect to another page after an action, so that a reload does not repeat it.

    Args:
        message: Key of a sentence that the next page shows; empty for none.
        parts: Segments of the path, which are percent-encoded; none lead to the first page.

    Returns:
        Response with status 303.
    """
    path = "/" + "/".join(quote(segment, safe="") for segment in parts)
    return RedirectResponse(f"{path}?said={message}" if message else path, 303)


def download(text: str | bytes, media: str, name: str = "") -> Response:
    """Return a response with this body and media type. With a `name`, browsers save it as a file.

    Args:
        text: Body of the response.
        media: Media type, such as ``text/csv``.
        name: File name; empty if the browser may show the body itself.
    """
    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
    return Response(text, media_type=media, headers=headers)


# Multipart forms: fields, and one file whose name is ignored.
CHUNK_BYTES = 2**16
"""Bytes of a form's body that are passed to the parser at once; the size does not change what is parsed."""
UNREADABLE_FORM = "send one file and at most 20 fields, from a page of this server"
"""Refusal of an upload whose body is no multipart form, or has too many files or fields."""


def parse_multipart(headers: Headers, body: bytes) -> tuple[str, bytes]:
    """Return the fields of a multipart form, URL-encoded, and the content of its file, or b"" without a file.

    Args:
        headers: Headers of the request; the content type names the boundary.
        body: Body of the request.

    Raises:
        ProtocolError: The body is malformed.
    """
    if not headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise ProtocolError("form", UNREADABLE_FORM)
    try:
        return asyncio.run(_parse_multipart(headers, body))
    except (MultiPartException, ValueError, KeyError):
        raise ProtocolError("form", UNREADABLE_FORM) from None


async def _parse_multipart(headers: Headers, body: bytes) -> tuple[str, bytes]:
    """Return the fields of a multipart form, URL-encoded, and its file.

    Args:
        headers: Headers of the request.
        body: Body of the request.

    Returns:
        Fields as a URL-encoded text, and the bytes of the uploaded file; empty without a file.
    """
    form = await MultiPartParser(headers, _stream_body(body), max_files=1, max_fields=20).parse()
    try:
        typed = []
        file = b""
        for name, value in form.multi_items():
            if isinstance(value, str):
                typed.append((name, value))
            else:
                file = await value.read()
        return urlencode(typed), file
    finally:
        await form.close()


async def _stream_body(body: bytes) -> AsyncGenerator[bytes, None]:
    """Yield a request's body in chunks, as the multipart parser reads it."""
    for start in range(0, len(body), CHUNK_BYTES):
        yield body[start : start + CHUNK_BYTES]


@dataclass(frozen=True, slots=True)
class RefusableForm:
    """A form that shows its page again when it is refused.

    Attributes:
        show_page: Builds the page that the form is on.
        fields: The fields by the arguments of the errors about them.
    """

    show_page: Callable[[Visit], Response]
    fields: Mapping[str, FieldName] = field(default_factory=dict)


def show_refused(visit: Visit, form: RefusableForm | None, error: ArgumentError) -> Response:
    """Return the page of a refused form with the error, or the page of errors if it has none or may not be shown.

    Args:
        visit: The request.
        form: The form that was sent; None: the request had none.
        error: Why the form was refused. The response has the error's status; without one, 400.
    """
    status = getattr(error, "status", 400)
    sentence = capitalize_rule(error)
    place = None if form is None else form.fields.get(error.argument)
    if form is not None and visit.session is not None:
        message = sentence if place is None else f"{place.label}: {error.rule}"
        sent = SentForm(visit.form, "" if place is None else place.name, message)
        try:
            answer = form.show_page(replace(visit, sent=sent))
        except ArgumentError:  # the page is hidden from the principal, too
            answer = None
        if answer is not None:
            answer.status_code = status
            return answer
    return visit.render("refused.html", status, words=sentence)
