"""Request context of a page: the visitor, the form that was sent, and the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from html import escape
from secrets import compare_digest
from typing import Any
from urllib.parse import quote

from fastapi import Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from dpcurves.arguments import Named
from dpcurves_parties.serving.errors import ProtocolAborted

from ..awaiting import until_made
from ..forms import Form, Given
from ..front import Front
from ..gate import Gate
from ..issuer import Issuer
from ..sessions import SignedIn
from ..sketches import Drawn
from ..visitors import Right, Visitor, may
from .rendering import rendered

SAID = {
    "made": "It is made.", "changed": "It is changed.", "admitted": "Admitted.", "dismissed": "Dismissed.",
    "wanted": "It is done if it still could be. What became of it is seen when the public clock strikes.",
    "put": "The table stands beside the dataset.",
    "set": "The share is set.", "published": "Published: everybody who may see datasets here sees it now.",
    "kept": "The model is kept. It stands wherever a column of scores could.", "back": "The token has ended.",
    "out": "You are signed out.", "again": "Sign in with the new password.",
}  # fmt: skip
"""What stands on the page after something was done, by the word in its address."""
CSRF = "csrf"
NOT_DRAWN = 202
"""The status that says: wait for the picture, and come again."""
ADMITTED = 204
"""The status that says: go on, and read the file."""


@dataclass(frozen=True, slots=True)
class Site:
    """Services that every page uses.

    Attributes:
        front: Who may come, and the services.
        forms: What may be asked, by the word that asks it.
        issuer: Another authority by which people sign in; None: there is none.
    """

    front: Front
    forms: Mapping[str, Form]
    issuer: Issuer | None = None

    @property
    def elsewhere(self) -> str:
        """Display name of the identity provider; empty if there is none."""
        return "" if self.issuer is None else self.issuer.name


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the menu."""

    name: str
    url: str
    here: bool


@dataclass(frozen=True, slots=True, repr=False)
class Visit:
    """SECRET. What was sent may hold a password, and cookies: it has no repr.

    Attributes:
        site: What all pages have.
        at: The path that was asked for.
        parts: What its variable parts are.
        query: What stands behind it.
        form: What was typed.
        signed: The session; None: nobody has signed in.
        address: Where from.
        host: How the server is called, with its scheme.
        errand: What a browser keeps while it is at the issuer; empty: it is on no errand.
        file: What was sent as a file.
        has_waited: Whether they have waited for a picture.
    """

    site: Site
    at: str
    parts: Mapping[str, str]
    query: Given
    form: Given
    signed: SignedIn | None
    address: str
    host: str
    errand: str = ""
    file: bytes = b""
    has_waited: bool = False

    @property
    def gate(self) -> Gate:
        """The services."""
        return self.site.front.gate

    @property
    def who(self) -> Visitor:
        """The signed-in account.

        Raises:
            ProtocolAborted: nobody.
        """
        if self.signed is None:
            raise ProtocolAborted("sign-in", "sign in first", 401)
        return self.signed.visitor

    def typed(self, name: str) -> str:
        """The text of a form field; empty if it was left out."""
        found = self.form.get(name, ())
        return found[0].strip() if found else ""

    def require_token(self) -> None:
        """Refuse a form that did not come from a page of this session.

        Raises:
            ProtocolAborted: it carries another token, or none.
        """
        if self.signed is not None and not compare_digest(self.typed(CSRF).encode(), self.signed.csrf.encode()):
            raise ProtocolAborted("form", "it is too old, or comes from elsewhere; load the page again", 403)

    def page(self, template: str, status: int = 200, **facts: Any) -> Response:
        """A page made of these facts."""
        signed = self.signed
        token = "" if signed is None else f'<input type="hidden" name="{CSRF}" value="{escape(signed.csrf)}">'
        words = SAID.get((self.query.get("said") or [""])[0])
        common = {
            "visitor": None if signed is None else signed.visitor, "csrf_field": Markup(token),
            "places": [] if signed is None else self._places(signed.visitor),
            "said": None if words is None else {"kind": "good", "words": words}, "oidc": self.site.elsewhere,
        }  # fmt: skip
        return HTMLResponse(rendered(template, {**common, **facts}), status)

    def _places(self, who: Visitor) -> list[Place]:
        found = [
            ("Datasets", "/datasets", may(who, Right.SEE_DATASETS)), ("Manage", "/manage", bool(who.stewards)),
            ("Audit", "/audit", may(who, Right.AUDIT)), ("People", "/people", may(who, Right.KEEP_PEOPLE)),
            ("Account", "/account", True),
        ]  # fmt: skip
        return [Place(name, url, self.at.startswith(url)) for name, url, open_ in found if open_]


class Later(Response):
    """An answer that waits for a picture which another process draws.

    Args:
        visit: Who waits.
        coming: The picture.
        made: What is made of it.
    """

    def __init__(self, visit: Visit, coming: Future[Drawn], made: Callable[[Drawn], Response]) -> None:
        super().__init__(status_code=NOT_DRAWN)
        self._visit, self._coming, self._made = visit, coming, made

    async def finished(self) -> Response:
        """The answer, once the picture is there; or why it is not."""
        try:
            return await run_in_threadpool(self._made, await until_made(self._coming))
        except Named as error:
            return self._visit.page("refused.html", getattr(error, "status", 400), words=str(error))


def to(*parts: str, said: str = "") -> Response:
    """Go on at another page: after something was done, so that looking again does not do it again."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return RedirectResponse(f"{path}?said={said}" if said else path, 303)


def download(text: str | bytes, media: str, name: str = "") -> Response:
    """A file; with a name, one to be kept."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name else {}
    return Response(text, media_type=media, headers=headers)
