"""Signing in and out, one's own account, and the first page."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import RedirectResponse

from dpcurves_parties.serving.messages import ProtocolAborted

from ..front import COOKIE
from ..issuer import Errand, Issuer
from ..people import SHORTEST
from ..sessions import SignedIn
from ..visitors import Right, may, unknown
from .visits import Visit, to

OUT, BACK = "/oidc", "/oidc/back"
ERRAND = "__Host-dpcurves-errand"
ERRAND_SECONDS = 600
"""Seconds for signing in at the issuer."""


def first(visit: Visit) -> Response:
    """Lead everybody to what they came for."""
    who = visit.who
    if may(who, Right.SEE_DATASETS):
        return to("datasets")
    return to("people") if may(who, Right.KEEP_PEOPLE) else to("account")


def asked_in(visit: Visit) -> Response:
    """The form to sign in with."""
    return to() if visit.signed else visit.page("sign_in.html", name="")


def sign_in(visit: Visit) -> Response:
    """Check the name and password of the sign-in form, and answer with a session cookie, or with the form again."""
    try:
        signed = visit.gate.sessions.sign_in(
            visit.typed("name"), "".join(visit.form.get("password", ())), visit.address
        )
    except ProtocolAborted as error:
        return _asked_again(visit, error)
    return _let_in(signed)


def send_out(visit: Visit) -> Response:
    """Send a browser to the issuer, with what will prove that it went out from here."""
    try:
        errand = Errand.fresh()
        answer: Response = RedirectResponse(_issuer(visit).place(errand, visit.host + BACK), 303)
    except ProtocolAborted as error:
        return _asked_again(visit, error)
    answer.set_cookie(
        ERRAND, errand.secret, max_age=ERRAND_SECONDS, secure=True, httponly=True, samesite="lax", path="/"
    )
    return answer


def come_back(visit: Visit) -> Response:
    """Begin a session of whom the issuer has recognised, if an account goes by that; always at the first page."""
    brought = {name: texts[0] for name, texts in visit.query.items() if len(texts) == 1}
    try:
        issuer = _issuer(visit)
        subject = issuer.recognised(Errand(visit.errand), visit.host + BACK, brought)
        answer = _let_in(visit.gate.sessions.begin_as(issuer.url, subject))
    except ProtocolAborted as error:
        answer = _asked_again(visit, error)
    answer.delete_cookie(ERRAND, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def sign_out(visit: Visit) -> Response:
    """End the session."""
    if visit.signed is not None:
        visit.gate.sessions.sign_out(visit.signed.cookie)
    return _out("out")


def account(visit: Visit) -> Response:
    """The account of the visitor."""
    return visit.page("account.html", who=visit.who, shortest=SHORTEST)


def change_password(visit: Visit) -> Response:
    """Give oneself a new password: all sessions end."""
    visit.gate.people.set_password(visit.who, visit.who.name, "".join(visit.form.get("password", ())))
    return _out("again")


def _issuer(visit: Visit) -> Issuer:
    if visit.site.issuer is None:
        raise unknown("issuer")
    return visit.site.issuer


def _asked_again(visit: Visit, error: ProtocolAborted) -> Response:
    wrong = {"kind": "bad", "words": error.rule}
    return visit.page("sign_in.html", error.status, name=visit.typed("name"), said=wrong)


def _let_in(signed: SignedIn) -> Response:
    answer = to()
    answer.set_cookie(COOKIE, signed.cookie, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def _out(said: str) -> Response:
    answer = to("sign-in", said=said)
    answer.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax", path="/")
    return answer
