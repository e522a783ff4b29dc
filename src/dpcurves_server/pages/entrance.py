"""Signing in and out, one's own account, the first page, and pages of datasets and projects."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import RedirectResponse

from dpcurves.ledger import Balance
from dpcurves_parties.serving.messages import ProtocolAborted

from ..datasets import Dataset
from ..front import COOKIE
from ..issuer import Errand, Issuer
from ..people import SHORTEST
from ..projects import Project
from ..questions import as_seen_by
from ..sessions import SignedIn
from ..visitors import Right, Subject, may, unknown
from .visits import Visit, download, to

# Signing in and out, one's own account, and the first page.


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


# Datasets with their schema and budget, and projects with their questions, models and tokens.


def datasets(visit: Visit) -> Response:
    """Page of the datasets, each with its remaining budget."""
    projects = visit.gate.projects.all(visit.who)
    found = [
        {
            "dataset": each, "balance": _balance(visit, each, _of(each, projects)),
            "projects": [one.name for one in _of(each, projects)],
        }
        for each in visit.gate.datasets.all(visit.who)
    ]  # fmt: skip
    return visit.page("datasets.html", datasets=found)


def dataset(visit: Visit) -> Response:
    """Page of a dataset: public schema, privacy guarantee and published answers."""
    found = visit.gate.datasets.get(visit.who, visit.parts["dataset"])
    projects = _of(found, visit.gate.projects.all(visit.who))
    return visit.page(
        "dataset.html", dataset=found, balance=_balance(visit, found, projects), projects=projects,
        synthetic=visit.gate.synthetic.find(visit.who, found.name, found.version),
        published=[as_seen_by(visit.who, each) for each in visit.gate.releases.published(visit.who, found.name)],
        steward=may(visit.who, Right.SET_BUDGETS, Subject(found.name)),
    )  # fmt: skip


def dummy(visit: Visit) -> Response:
    """The dummy table of a dataset."""
    found = visit.gate.datasets.get(visit.who, visit.parts["dataset"])
    return download(visit.gate.synthetic.dummy_csv(found), "text/csv", "dummy.csv")


def synthetic(visit: Visit) -> Response:
    """The synthetic table of a dataset."""
    found = visit.gate.datasets.get(visit.who, visit.parts["dataset"])
    table = visit.gate.synthetic.find(visit.who, found.name, found.version)
    if table is None:
        raise ProtocolAborted("table", "there is no synthetic one yet", 404)
    return download(table.csv(), "text/csv", "synthetic.csv")


def project(visit: Visit, secret: str = "", wrong_model: str = "", wrong: str = "", status: int = 200) -> Response:
    """Page of a project; with a new token, shown this once, or with the refusal of a model."""
    who, gate = visit.who, visit.gate
    found = gate.projects.get(who, visit.parts["project"])
    may_ask = may(who, Right.ASK, found.subject)
    asked = [as_seen_by(who, each) for each in gate.questions.all(who, found.name)]
    said = {"said": {"kind": "bad", "words": wrong}} if wrong else {}
    return visit.page(
        "project.html", status, project=found, asked=asked, may_ask=may_ask,
        remaining=gate.projects.remaining(who, found.name) if may_ask else None,
        models=gate.models.all(who, found.name),
        tokens=[each for each in gate.tokens.all(who) if each.project == found.name], secret=secret,
        wrong_model=wrong_model, **said,
    )  # fmt: skip


def keep_model(visit: Visit) -> Response:
    """Take in a model."""
    text = visit.typed("model")
    try:
        visit.gate.models.add(visit.who, visit.parts["project"], text)
    except ProtocolAborted:
        raise
    except ValueError as error:
        return project(visit, wrong_model=text, wrong=str(error), status=400)
    return to("projects", visit.parts["project"], said="kept")


def make_token(visit: Visit) -> Response:
    """Make a token, and show it this once."""
    days = visit.typed("days")
    number = int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0
    secret = visit.gate.tokens.make(visit.who, visit.parts["project"], visit.typed("label"), number)
    return project(visit, secret=secret)


def take_token_back(visit: Visit) -> Response:
    """End a token."""
    visit.gate.tokens.take_back(visit.who, visit.parts["token"])
    return to("projects", visit.parts["project"], said="back")


def _of(dataset: Dataset, projects: tuple[Project, ...]) -> list[Project]:
    return [each for each in projects if each.dataset == dataset.name]


def _balance(visit: Visit, dataset: Dataset, projects: list[Project]) -> Balance | None:
    """Spent budget of a dataset: for its stewards and auditors, and for analysts with an allowance."""
    if may(visit.who, Right.SEE_BUDGETS, Subject(dataset.name)):
        return visit.gate.datasets.balance(visit.who, dataset.name)
    mine = (each.name for each in projects if may(visit.who, Right.SEE_OWN_BUDGET, each.subject))
    found = (visit.gate.projects.remaining(visit.who, name) for name in mine)
    return next((remaining.account for remaining in found if remaining is not None), None)
