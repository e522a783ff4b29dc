"""Signing in and out, one's own account, and the first page."""

from __future__ import annotations

from fastapi import Response

from ...serving.errors import ProtocolAborted
from ..front import COOKIE
from ..passwords import SHORTEST
from ..visitors import Right, may
from .visits import Visit, to


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
    """Begin a session."""
    try:
        signed = visit.gate.sessions.sign_in(
            visit.typed("name"), "".join(visit.form.get("password", ())), visit.address
        )
    except ProtocolAborted as error:
        wrong = {"kind": "bad", "words": error.rule}
        return visit.page("sign_in.html", error.status, name=visit.typed("name"), said=wrong)
    answer = to()
    answer.set_cookie(COOKIE, signed.cookie, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def sign_out(visit: Visit) -> Response:
    """End the session."""
    if visit.signed is not None:
        visit.gate.sessions.sign_out(visit.signed.cookie)
    return _out("out")


def account(visit: Visit) -> Response:
    """One's own account."""
    return visit.page("account.html", who=visit.who, shortest=SHORTEST)


def change_password(visit: Visit) -> Response:
    """Give oneself a new password: all sessions end."""
    visit.gate.people.set_password(visit.who, visit.who.name, "".join(visit.form.get("password", ())))
    return _out("again")


def _out(said: str) -> Response:
    answer = to("sign-in", said=said)
    answer.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax", path="/")
    return answer
