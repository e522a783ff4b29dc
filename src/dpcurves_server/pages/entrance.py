"""Pages beside those that ask: signing in, datasets and projects; budgets, the audit log and accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse

from dpcurves.ledger import AllowanceBalance, Balance, Together
from dpcurves_parties.serving.messages import ProtocolAborted

from ..datasets import Dataset
from ..front import COOKIE, LARGEST_FILE
from ..issuer import Errand, Issuer
from ..people import SHORTEST, SignedIn
from ..projects import Project
from ..questions import as_seen_by
from ..visitors import Right, Role, Subject, may, require, unknown
from .visits import ADMITTED, Visit, download, price_of, to

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
    visit.gate.people.set_password(visit.who, visit.who.name, _password(visit))
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


LOG_LINES = 200
UNKNOWN = "there is nothing of this name to be done"


def first_managed(visit: Visit) -> Response:
    """Lead a steward to the first of their datasets."""
    if not visit.who.stewards:
        raise ProtocolAborted("role", "yours is no steward's", 403)
    return to("manage", min(visit.who.stewards))


def manage(visit: Visit, wrong: str = "", said_of_table: str = "") -> Response:
    """Budget, queue and log of a dataset, for who manages it; perhaps with what is wrong with a table that was sent."""
    who, gate, name = visit.who, visit.gate, visit.parts["dataset"]
    statement = gate.datasets.statement(who, name)
    projects = [each for each in gate.projects.all(who) if each.dataset == name]
    shares = [(each, [one for one in statement.allowances if one.project == each.name]) for each in projects]
    queue = [as_seen_by(who, each) for each in gate.questions.queue(who, name)]
    dataset, problem = gate.datasets.get(who, name), {"said": {"kind": "bad", "words": wrong}} if wrong else {}
    return visit.page(
        "manage.html", 400 if wrong else 200, dataset=dataset, managed=sorted({*who.stewards, name}),
        statement=statement, projects=[{"project": each, **_parted(of)} for each, of in shares], queue=queue,
        currency=statement.account.currency.value, people=sorted({one for each in projects for one in each.people}),
        events=gate.audit.latest(who, LOG_LINES, name), keeps=may(who, Right.KEEP_PROJECTS, Subject(name)),
        beside=gate.synthetic.said(who, name, dataset.version), said_of_table=said_of_table,
        most_megabytes=LARGEST_FILE >> 20, **problem,
    )  # fmt: skip


def make_project(visit: Visit) -> Response:
    """Make a project."""
    dataset = visit.parts["dataset"]
    visit.gate.projects.make(visit.who, visit.typed("name"), dataset, visit.typed("description"))
    return to("manage", dataset, said="made")


def change_people(visit: Visit) -> Response:
    """Admit somebody to a project, or dismiss them."""
    project, person = visit.typed("project"), visit.typed("person")
    if visit.typed("do") == "dismiss":
        visit.gate.projects.dismiss(visit.who, project, person)
        return to("manage", visit.parts["dataset"], said="dismissed")
    visit.gate.projects.admit(visit.who, project, person)
    return to("manage", visit.parts["dataset"], said="admitted")


def set_allowance(visit: Visit) -> Response:
    """Set the share of a project, or of an analyst in it."""
    dataset = visit.parts["dataset"]
    currency = visit.gate.datasets.get(visit.who, dataset).account.currency
    most = price_of("most", currency, visit.typed("most"))
    together = Together.MAY_EXCEED if visit.typed("together") else Together.WITHIN
    visit.gate.projects.allow(visit.who, visit.typed("project"), most, visit.typed("analyst") or None, together)
    return to("manage", dataset, said="set")


def change_question(visit: Visit) -> Response:
    """Take a question back, or have it counted again."""
    acts = {"take back": visit.gate.stewardship.take_back, "count again": visit.gate.stewardship.count_again}
    act = acts.get(visit.typed("do"))
    if act is None:
        raise ProtocolAborted("do", UNKNOWN)
    require(visit.who, Right.KEEP_QUEUE, Subject(visit.parts["dataset"]))
    act(visit.who, visit.typed("question"))
    return to("manage", visit.parts["dataset"], said="wanted")


def may_put_table(visit: Visit) -> Response:
    """Refuse a table from who may not send one, before it is read."""
    require(visit.who, Right.PUT_SYNTHETIC, Subject(visit.parts["dataset"]))
    return Response(status_code=ADMITTED)


def put_table(visit: Visit) -> Response:
    """Put a synthetic table beside a dataset."""
    dataset = visit.gate.datasets.get(visit.who, visit.parts["dataset"])
    try:
        visit.gate.synthetic.put(visit.who, dataset, visit.file, visit.typed("statement"))
    except ProtocolAborted:
        raise
    except ValueError as error:
        return manage(visit, str(error), visit.typed("statement"))
    return to("manage", dataset.name, said="put")


def verify(visit: Visit) -> Response:
    """Compute every seal again."""
    head = visit.typed("head")
    require(visit.who, Right.AUDIT)
    try:
        found = visit.gate.audit.verify(visit.who, head or None)
    except ProtocolAborted:
        raise
    except ValueError as error:
        return audit(visit, changed=str(error), head=head)
    return audit(visit, verified=[("Entries", f"{found.entries:,}"), ("Head", found.head)], head=head)


def log(visit: Visit) -> Response:
    """The log as JSON lines."""
    return download(
        "".join(f"{line}\n" for line in visit.gate.audit.lines(visit.who)), "application/jsonl", "audit.jsonl"
    )


def people(visit: Visit) -> Response:
    """Page of the accounts."""
    found = [
        {"name": each.name, "locked": each.locked, "made_at": each.made_at, "roles": _roles(each)}
        for each in visit.gate.people.all(visit.who)
    ]
    return visit.page("people.html", people=found, shortest=SHORTEST)


def change_person(visit: Visit) -> Response:
    """Make, lock or unlock an account, give it a password or a role, or take a role away."""
    work = CHANGES.get(visit.typed("do"))
    if work is None:
        raise ProtocolAborted("do", UNKNOWN)
    work(visit, visit.typed("name"))
    return to("people", said="changed")


def _password(visit: Visit) -> str:
    return "".join(visit.form.get("password", ()))


def _role(visit: Visit) -> Role:
    if visit.typed("role") not in {each.value for each in Role}:
        raise ProtocolAborted("role", "operator is given here; stewards and auditors are named on the machine")
    return Role(visit.typed("role"))


def _dataset(visit: Visit) -> str:
    return visit.typed("dataset") if _role(visit) is Role.STEWARD else ""


CHANGES: Mapping[str, Callable[[Visit, str], None]] = MappingProxyType(
    {
        "make": lambda visit, name: visit.gate.people.add(visit.who, name, _password(visit)),
        "password": lambda visit, name: visit.gate.people.set_password(visit.who, name, _password(visit)),
        "lock": lambda visit, name: visit.gate.people.lock(visit.who, name),
        "unlock": lambda visit, name: visit.gate.people.unlock(visit.who, name),
        "give": lambda visit, name: visit.gate.people.give_role(visit.who, name, _role(visit), _dataset(visit)),
        "subject": lambda visit, name: visit.gate.people.set_subject(
            visit.who, name, _issuer(visit).url, visit.typed("subject")
        ),
        "take": lambda visit, name: visit.gate.people.take_role(visit.who, name, _role(visit), _dataset(visit)),
    }
)


def _roles(person: Any) -> list[str]:
    plain = [word for word, has in (("operator", person.operator), ("auditor", person.auditor)) if has]
    return [*plain, *(f"steward of {name}" for name in person.stewards)]


def _parted(shares: list[AllowanceBalance]) -> dict[str, object]:
    whole = next((each for each in shares if each.analyst is None), None)
    return {"whole": whole, "analysts": [each for each in shares if each.analyst is not None]}


def audit(visit: Visit, **facts: Any) -> Response:
    """The log, and what all datasets have spent."""
    after = (visit.query.get("after") or ["0"])[0]
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
    events = visit.gate.audit.events(visit.who, start, LOG_LINES)
    datasets = visit.gate.datasets
    budgets = [
        {"name": each.name, "balance": datasets.balance(visit.who, each.name)} for each in datasets.all(visit.who)
    ]
    common = {
        "events": events, "after": start, "later": events[-1].entry if len(events) == LOG_LINES else 0, "head": "",
        "budgets": budgets, "verified": None, "changed": None,
    }  # fmt: skip
    return visit.page("audit.html", **{**common, **facts})
