"""Pages beside those that ask: signing in, datasets and projects; budgets, the audit log and accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse

from dpcurves.ledger import AllowanceBalance, AllowanceRule, Balance
from dpcurves_parties.serving.messages import ProtocolError

from ..datasets import Dataset
from ..front import COOKIE, LARGEST_FILE
from ..issuer import AuthorizationRequest, Issuer
from ..people import SHORTEST, BrowserSession
from ..projects import Project
from ..questions import redact_question
from ..visitors import Right, Role, Subject, may, not_found, require
from .visits import ADMITTED, Visit, download, parse_price, redirect_to

OUT, BACK = "/oidc", "/oidc/back"
ERRAND = "__Host-dpcurves-errand"
ERRAND_SECONDS = 600
"""Seconds for signing in at the issuer."""


def redirect_home(visit: Visit) -> Response:
    """Lead everybody to what they came for."""
    who = visit.visitor
    if may(who, Right.SEE_DATASETS):
        return redirect_to("datasets")
    return redirect_to("people") if may(who, Right.KEEP_PEOPLE) else redirect_to("account")


def show_sign_in(visit: Visit) -> Response:
    """The form to sign in with."""
    return redirect_to() if visit.session else visit.render("sign_in.html", name="")


def sign_in(visit: Visit) -> Response:
    """Check the name and password of the sign-in form, and answer with a session cookie, or with the form again."""
    try:
        signed = visit.services.sessions.sign_in(
            visit.form_value("name"), "".join(visit.form.get("password", ())), visit.address
        )
    except ProtocolError as error:
        return _render_sign_in(visit, error)
    return _set_session_cookie(signed)


def redirect_to_issuer(visit: Visit) -> Response:
    """Send a browser to the issuer, with what will prove that it went out from here."""
    try:
        errand = AuthorizationRequest.generate()
        answer: Response = RedirectResponse(_find_issuer(visit).authorization_url(errand, visit.host + BACK), 303)
    except ProtocolError as error:
        return _render_sign_in(visit, error)
    answer.set_cookie(
        ERRAND, errand.secret, max_age=ERRAND_SECONDS, secure=True, httponly=True, samesite="lax", path="/"
    )
    return answer


def finish_issuer_sign_in(visit: Visit) -> Response:
    """Begin a session of whom the issuer has recognised, if an account goes by that; always at the first page."""
    brought = {name: texts[0] for name, texts in visit.query.items() if len(texts) == 1}
    try:
        issuer = _find_issuer(visit)
        subject = issuer.authenticate(AuthorizationRequest(visit.sign_in_secret), visit.host + BACK, brought)
        answer = _set_session_cookie(visit.services.sessions.begin_for_subject(issuer.url, subject))
    except ProtocolError as error:
        answer = _render_sign_in(visit, error)
    answer.delete_cookie(ERRAND, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def sign_out(visit: Visit) -> Response:
    """End the session."""
    if visit.session is not None:
        visit.services.sessions.sign_out(visit.session.cookie)
    return _clear_session_cookie("out")


def show_account(visit: Visit) -> Response:
    """The account of the visitor."""
    return visit.render("account.html", who=visit.visitor, shortest=SHORTEST)


def change_password(visit: Visit) -> Response:
    """Give oneself a new password: all sessions end."""
    visit.services.people.set_password(visit.visitor, visit.visitor.name, _password_field(visit))
    return _clear_session_cookie("again")


def _find_issuer(visit: Visit) -> Issuer:
    if visit.site.issuer is None:
        raise not_found("issuer")
    return visit.site.issuer


def _render_sign_in(visit: Visit, error: ProtocolError) -> Response:
    wrong = {"kind": "bad", "words": error.rule}
    return visit.render("sign_in.html", error.status, name=visit.form_value("name"), said=wrong)


def _set_session_cookie(signed: BrowserSession) -> Response:
    answer = redirect_to()
    answer.set_cookie(COOKIE, signed.cookie, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def _clear_session_cookie(message: str) -> Response:
    answer = redirect_to("sign-in", message=message)
    answer.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def show_datasets(visit: Visit) -> Response:
    """Page of the datasets, each with its remaining budget."""
    projects = visit.services.projects.all(visit.visitor)
    found = [
        {
            "dataset": each, "balance": _find_balance(visit, each, _projects_of(each, projects)),
            "projects": [one.name for one in _projects_of(each, projects)],
        }
        for each in visit.services.datasets.all(visit.visitor)
    ]  # fmt: skip
    return visit.render("datasets.html", datasets=found)


def show_dataset(visit: Visit) -> Response:
    """Page of a dataset: public schema, privacy guarantee and published answers."""
    found = visit.services.datasets.get(visit.visitor, visit.path_params["dataset"])
    projects = _projects_of(found, visit.services.projects.all(visit.visitor))
    return visit.render(
        "dataset.html", dataset=found, balance=_find_balance(visit, found, projects), projects=projects,
        synthetic=visit.services.synthetic.find(visit.visitor, found.name, found.version),
        published=[redact_question(visit.visitor, each) for each in visit.services.releases.list_published(visit.visitor, found.name)],
        steward=may(visit.visitor, Right.SET_BUDGETS, Subject(found.name)),
    )  # fmt: skip


def send_dummy_table(visit: Visit) -> Response:
    """The dummy table of a dataset."""
    found = visit.services.datasets.get(visit.visitor, visit.path_params["dataset"])
    return download(visit.services.synthetic.dummy_csv(found), "text/csv", "dummy.csv")


def send_synthetic_table(visit: Visit) -> Response:
    """The synthetic table of a dataset."""
    found = visit.services.datasets.get(visit.visitor, visit.path_params["dataset"])
    table = visit.services.synthetic.find(visit.visitor, found.name, found.version)
    if table is None:
        raise ProtocolError("table", "there is no synthetic one yet", 404)
    return download(table.to_csv(), "text/csv", "synthetic.csv")


def show_project(visit: Visit, secret: str = "", wrong_model: str = "", error: str = "", status: int = 200) -> Response:
    """Page of a project; with a new token, shown this once, or with the refusal of a model."""
    who, gate = visit.visitor, visit.services
    found = gate.projects.get(who, visit.path_params["project"])
    may_ask = may(who, Right.ASK, found.subject)
    asked = [redact_question(who, each) for each in gate.questions.all(who, found.name)]
    said = {"said": {"kind": "bad", "words": error}} if error else {}
    return visit.render(
        "project.html", status, project=found, asked=asked, may_ask=may_ask,
        remaining=gate.projects.remaining(who, found.name) if may_ask else None,
        models=gate.models.all(who, found.name),
        tokens=[each for each in gate.tokens.all(who) if each.project == found.name], secret=secret,
        wrong_model=wrong_model, **said,
    )  # fmt: skip


def add_model(visit: Visit) -> Response:
    """Take in a model."""
    text = visit.form_value("model")
    try:
        visit.services.models.add(visit.visitor, visit.path_params["project"], text)
    except ProtocolError:
        raise
    except ValueError as error:
        return show_project(visit, wrong_model=text, error=str(error), status=400)
    return redirect_to("projects", visit.path_params["project"], message="kept")


def make_token(visit: Visit) -> Response:
    """Make a token, and show it this once."""
    days = visit.form_value("days")
    number = int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0
    secret = visit.services.tokens.make(visit.visitor, visit.path_params["project"], visit.form_value("label"), number)
    return show_project(visit, secret=secret)


def revoke_token(visit: Visit) -> Response:
    """End a token."""
    visit.services.tokens.revoke(visit.visitor, visit.path_params["token"])
    return redirect_to("projects", visit.path_params["project"], message="back")


def _projects_of(dataset: Dataset, projects: tuple[Project, ...]) -> list[Project]:
    return [each for each in projects if each.dataset == dataset.name]


def _find_balance(visit: Visit, dataset: Dataset, projects: list[Project]) -> Balance | None:
    """Spent budget of a dataset: for its stewards and auditors, and for analysts with an allowance."""
    if may(visit.visitor, Right.SEE_BUDGETS, Subject(dataset.name)):
        return visit.services.datasets.balance(visit.visitor, dataset.name)
    mine = (each.name for each in projects if may(visit.visitor, Right.SEE_OWN_BUDGET, each.subject))
    found = (visit.services.projects.remaining(visit.visitor, name) for name in mine)
    return next((remaining.account for remaining in found if remaining is not None), None)


LOG_LINES = 200
UNKNOWN = "there is nothing of this name to be done"


def redirect_to_managed(visit: Visit) -> Response:
    """Lead a steward to the first of their datasets."""
    if not visit.visitor.stewarded_datasets:
        raise ProtocolError("role", "yours is no steward's", 403)
    return redirect_to("manage", min(visit.visitor.stewarded_datasets))


def show_managed(visit: Visit, error: str = "", typed_statement: str = "") -> Response:
    """Budget, queue and log of a dataset, for who manages it; perhaps with what is wrong with a table that was sent."""
    who, gate, name = visit.visitor, visit.services, visit.path_params["dataset"]
    statement = gate.datasets.statement(who, name)
    projects = [each for each in gate.projects.all(who) if each.dataset == name]
    shares = [(each, [one for one in statement.allowances if one.project == each.name]) for each in projects]
    queue = [redact_question(who, each) for each in gate.questions.queue(who, name)]
    dataset, problem = gate.datasets.get(who, name), {"said": {"kind": "bad", "words": error}} if error else {}
    return visit.render(
        "manage.html", 400 if error else 200, dataset=dataset, managed=sorted({*who.stewarded_datasets, name}),
        statement=statement, projects=[{"project": each, **_split_allowances(of)} for each, of in shares], queue=queue,
        currency=statement.account.currency.value, people=sorted({one for each in projects for one in each.people}),
        events=gate.audit.latest_events(who, LOG_LINES, name), keeps=may(who, Right.KEEP_PROJECTS, Subject(name)),
        beside=gate.synthetic.describe(who, name, dataset.version), said_of_table=typed_statement,
        most_megabytes=LARGEST_FILE >> 20, **problem,
    )  # fmt: skip


def make_project(visit: Visit) -> Response:
    """Make a project."""
    dataset = visit.path_params["dataset"]
    visit.services.projects.make(visit.visitor, visit.form_value("name"), dataset, visit.form_value("description"))
    return redirect_to("manage", dataset, message="made")


def change_people(visit: Visit) -> Response:
    """Admit somebody to a project, or dismiss them."""
    project, person = visit.form_value("project"), visit.form_value("person")
    if visit.form_value("do") == "dismiss":
        visit.services.projects.remove_member(visit.visitor, project, person)
        return redirect_to("manage", visit.path_params["dataset"], message="dismissed")
    visit.services.projects.add_member(visit.visitor, project, person)
    return redirect_to("manage", visit.path_params["dataset"], message="admitted")


def set_allowance(visit: Visit) -> Response:
    """Set the share of a project, or of an analyst in it."""
    dataset = visit.path_params["dataset"]
    currency = visit.services.datasets.get(visit.visitor, dataset).account.currency
    most = parse_price("most", currency, visit.form_value("most"))
    together = AllowanceRule.MAY_EXCEED if visit.form_value("together") else AllowanceRule.WITHIN
    visit.services.projects.set_allowance(
        visit.visitor, visit.form_value("project"), most, visit.form_value("analyst") or None, together
    )
    return redirect_to("manage", dataset, message="set")


def change_question(visit: Visit) -> Response:
    """Take a question back, or have it counted again."""
    acts = {"take back": visit.services.stewardship.withdraw, "count again": visit.services.stewardship.retry}
    act = acts.get(visit.form_value("do"))
    if act is None:
        raise ProtocolError("do", UNKNOWN)
    require(visit.visitor, Right.KEEP_QUEUE, Subject(visit.path_params["dataset"]))
    act(visit.visitor, visit.form_value("question"))
    return redirect_to("manage", visit.path_params["dataset"], message="wanted")


def check_upload_right(visit: Visit) -> Response:
    """Refuse a table from who may not send one, before it is read."""
    require(visit.visitor, Right.PUT_SYNTHETIC, Subject(visit.path_params["dataset"]))
    return Response(status_code=ADMITTED)


def upload_table(visit: Visit) -> Response:
    """Put a synthetic table beside a dataset."""
    dataset = visit.services.datasets.get(visit.visitor, visit.path_params["dataset"])
    try:
        visit.services.synthetic.replace_table(visit.visitor, dataset, visit.file, visit.form_value("statement"))
    except ProtocolError:
        raise
    except ValueError as error:
        return show_managed(visit, str(error), visit.form_value("statement"))
    return redirect_to("manage", dataset.name, message="put")


def verify_log(visit: Visit) -> Response:
    """Compute every seal again."""
    head = visit.form_value("head")
    require(visit.visitor, Right.AUDIT)
    try:
        found = visit.services.audit.verify(visit.visitor, head or None)
    except ProtocolError:
        raise
    except ValueError as error:
        return show_audit(visit, changed=str(error), head=head)
    return show_audit(visit, verified=[("Entries", f"{found.entries:,}"), ("Head", found.head)], head=head)


def download_log(visit: Visit) -> Response:
    """The log as JSON lines."""
    return download(
        "".join(f"{line}\n" for line in visit.services.audit.iterate_lines(visit.visitor)),
        "application/jsonl",
        "audit.jsonl",
    )


def show_people(visit: Visit) -> Response:
    """Page of the accounts."""
    found = [
        {"name": each.name, "locked": each.is_locked, "made_at": each.made_at, "roles": _role_names(each)}
        for each in visit.services.people.all(visit.visitor)
    ]
    return visit.render("people.html", people=found, shortest=SHORTEST)


def change_person(visit: Visit) -> Response:
    """Make, lock or unlock an account, give it a password or a role, or take a role away."""
    work = CHANGES.get(visit.form_value("do"))
    if work is None:
        raise ProtocolError("do", UNKNOWN)
    work(visit, visit.form_value("name"))
    return redirect_to("people", message="changed")


def _password_field(visit: Visit) -> str:
    return "".join(visit.form.get("password", ()))


def _role_field(visit: Visit) -> Role:
    if visit.form_value("role") not in {each.value for each in Role}:
        raise ProtocolError("role", "operator is given here; stewards and auditors are named on the machine")
    return Role(visit.form_value("role"))


def _dataset_field(visit: Visit) -> str:
    return visit.form_value("dataset") if _role_field(visit) is Role.STEWARD else ""


CHANGES: Mapping[str, Callable[[Visit, str], None]] = MappingProxyType(
    {
        "make": lambda visit, name: visit.services.people.add(visit.visitor, name, _password_field(visit)),
        "password": lambda visit, name: visit.services.people.set_password(visit.visitor, name, _password_field(visit)),
        "lock": lambda visit, name: visit.services.people.lock(visit.visitor, name),
        "unlock": lambda visit, name: visit.services.people.unlock(visit.visitor, name),
        "give": lambda visit, name: visit.services.people.give_role(
            visit.visitor, name, _role_field(visit), _dataset_field(visit)
        ),
        "subject": lambda visit, name: visit.services.people.set_subject(
            visit.visitor, name, _find_issuer(visit).url, visit.form_value("subject")
        ),
        "take": lambda visit, name: visit.services.people.remove_role(
            visit.visitor, name, _role_field(visit), _dataset_field(visit)
        ),
    }
)


def _role_names(person: Any) -> list[str]:
    plain = [word for word, has in (("operator", person.is_operator), ("auditor", person.is_auditor)) if has]
    return [*plain, *(f"steward of {name}" for name in person.stewarded_datasets)]


def _split_allowances(shares: list[AllowanceBalance]) -> dict[str, object]:
    whole = next((each for each in shares if each.analyst is None), None)
    return {"whole": whole, "analysts": [each for each in shares if each.analyst is not None]}


def show_audit(visit: Visit, **facts: Any) -> Response:
    """The log, and what all datasets have spent."""
    after = (visit.query.get("after") or ["0"])[0]
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
    events = visit.services.audit.events(visit.visitor, start, LOG_LINES)
    datasets = visit.services.datasets
    budgets = [
        {"name": each.name, "balance": datasets.balance(visit.visitor, each.name)}
        for each in datasets.all(visit.visitor)
    ]
    common = {
        "events": events, "after": start, "later": events[-1].entry if len(events) == LOG_LINES else 0, "head": "",
        "budgets": budgets, "verified": None, "changed": None,
    }  # fmt: skip
    return visit.render("audit.html", **{**common, **facts})
