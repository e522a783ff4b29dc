"""Pages of accounts: sign-in, datasets, projects, budgets, the audit log, and the people of a server.

Most functions are handlers of routes, which `site` lists. A handler parses the request, calls a service, and fills a
template. Services check the rights of the principal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse

from dpcurves.arguments import ArgumentError
from dpcurves.ledger import AllowanceBalance, AllowanceRule, Balance
from dpcurves.ledger.chain import LedgerBusy
from dpcurves_parties.serving.messages import ProtocolError

from ..authentication import COOKIE
from ..datasets import Dataset
from ..issuer import AuthorizationRequest, Issuer
from ..middleware import LARGEST_FILE
from ..people import SHORTEST_PASSWORD, BrowserSession
from ..principals import Right, Role, Subject, has_right, not_found, require
from ..projects import Project
from ..questions import redact_question
from ..synthetic import CONFIRMED_OVERLAP
from .page_context import ADMITTED, RefusableForm, Visit, download, parse_price, redirect_to
from .refused_forms import FieldName, capitalize_rule

SIGN_IN_PATH = "/oidc"
"""Path at which a sign-in begins: it redirects to the identity provider."""
REDIRECT_PATH = "/oidc/back"
"""Path (redirect URI) to which the identity provider sends the browser back after a sign-in."""
PENDING_SIGN_IN_COOKIE = "__Host-dpcurves-errand"
"""Cookie with the secret of a pending sign-in at the identity provider, by which the browser is recognised
afterwards."""


def redirect_home(visit: Visit) -> Response:
    """Redirect to the first page of the principal's role: data sets, people, or the person's own account.

    Args:
        visit: Request of a signed-in person.
    """
    principal = visit.principal
    if has_right(principal, Right.SEE_DATASETS):
        return redirect_to("datasets")
    return redirect_to("people") if has_right(principal, Right.KEEP_PEOPLE) else redirect_to("account")


def show_sign_in(visit: Visit) -> Response:
    """Answer with the page of the sign-in form.

    Args:
        visit: Request; a signed-in person is redirected to the first page.
    """
    return redirect_to() if visit.session else visit.render("sign_in.html", name="")


def sign_in(visit: Visit) -> Response:
    """Sign in by name and password; respond with a session cookie, or with the form and an error.

    Args:
        visit: Request with name and password in the form.
    """
    try:
        signed = visit.services.sessions.sign_in(
            visit.form_value("name"), "".join(visit.form.get("password", ())), visit.address
        )
    except ProtocolError as error:
        return _render_sign_in(visit, error)
    return _set_session_cookie(signed)


def redirect_to_issuer(visit: Visit) -> Response:
    """Redirect a person who signs in to the identity provider (issuer), and store the secret of the authorization
    request in a cookie.

    Args:
        visit: Request.
    """
    try:
        request = AuthorizationRequest.generate()
        answer: Response = RedirectResponse(
            _find_issuer(visit).authorization_url(request, visit.host + REDIRECT_PATH), 303
        )
    except ProtocolError as error:
        return _render_sign_in(visit, error)
    answer.set_cookie(
        PENDING_SIGN_IN_COOKIE,
        request.secret,
        max_age=600,  # seconds
        secure=True,
        httponly=True,
        samesite="lax",
        path="/",
    )
    return answer


def finish_issuer_sign_in(visit: Visit) -> Response:
    """Begin a session for the person whom the identity provider (issuer) has authenticated, and redirect to the home
    page; after an error the sign-in page shows the reason.

    Args:
        visit: Request with the provider's parameters in the URL.
    """
    parameters = {name: texts[0] for name, texts in visit.query.items() if len(texts) == 1}
    try:
        issuer = _find_issuer(visit)
        subject = issuer.authenticate(
            AuthorizationRequest(visit.sign_in_secret), visit.host + REDIRECT_PATH, parameters
        )
        answer = _set_session_cookie(visit.services.sessions.begin_for_subject(issuer.url, subject))
    except ProtocolError as error:
        answer = _render_sign_in(visit, error)
    answer.delete_cookie(PENDING_SIGN_IN_COOKIE, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def sign_out(visit: Visit) -> Response:
    """End the session and delete its cookie; redirect to the sign-in page.

    Args:
        visit: Request; without a session only the cookie is deleted.
    """
    if visit.session is not None:
        visit.services.sessions.sign_out(visit.session.cookie)
    return _clear_session_cookie("out")


def show_account(visit: Visit) -> Response:
    """Answer with the page of the principal's account.

    Args:
        visit: Request of a signed-in person.
    """
    return visit.render("account.html", who=visit.principal, shortest=SHORTEST_PASSWORD)


def change_password(visit: Visit) -> Response:
    """Change the principal's own password, which ends all sessions of the principal.

    Args:
        visit: Request with the old and the new password in the form.

    Raises:
        ProtocolError: the old password is wrong, or the new password is refused.
    """
    old_password = "".join(visit.form.get("old", ()))
    visit.services.people.set_password(visit.principal, visit.principal.name, _password_field(visit), old_password)
    return _clear_session_cookie("again")


def _find_issuer(visit: Visit) -> Issuer:
    """Return the identity provider (OpenID Connect) by which people sign in to this site.

    Args:
        visit: Request.

    Raises:
        ProtocolError: the site has no identity provider (status 404).
    """
    if visit.site.issuer is None:
        raise not_found("issuer")
    return visit.site.issuer


def _render_sign_in(visit: Visit, error: ProtocolError) -> Response:
    """Return the sign-in page with the typed name and the error.

    Args:
        visit: Request with the typed name in the form.
        error: Refusal of the sign-in; its status becomes the status of the response.
    """
    message = {"kind": "bad", "words": error.rule}
    return visit.render("sign_in.html", error.status, name=visit.form_value("name"), said=message)


def _set_session_cookie(signed: BrowserSession) -> Response:
    """Return a redirection home that sets the cookie of a session.

    Args:
        signed: New session of a signed-in person.
    """
    answer = redirect_to()
    answer.set_cookie(COOKIE, signed.cookie, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def _clear_session_cookie(message: str) -> Response:
    """Return a redirection to the sign-in page, with this message, that deletes the session's cookie."""
    answer = redirect_to("sign-in", message=message)
    answer.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax", path="/")
    return answer


def show_datasets(visit: Visit) -> Response:
    """Answer with the page of the datasets, each with its remaining budget.

    Args:
        visit: Request of a signed-in person; data sets that the person may not see are left out.
    """
    projects = visit.services.projects.all(visit.principal)
    rows = []
    for dataset in visit.services.datasets.all(visit.principal):
        own_projects = _projects_of(dataset, projects)
        balance = _find_balance(visit, dataset, own_projects)
        rows.append({"dataset": dataset, "balance": balance, "projects": [project.name for project in own_projects]})
    return visit.render("datasets.html", datasets=rows)


def show_dataset(visit: Visit) -> Response:
    """Answer with the page of a data set: public schema, privacy guarantee and published answers.

    Args:
        visit: Request, whose path names the data set.
    """
    dataset = visit.services.datasets.get(visit.principal, visit.path_params["dataset"])
    projects = _projects_of(dataset, visit.services.projects.all(visit.principal))
    published = visit.services.releases.list_published(visit.principal, dataset.name)
    return visit.render(
        "dataset.html", dataset=dataset, balance=_find_balance(visit, dataset, projects), projects=projects,
        synthetic=visit.services.synthetic.find(visit.principal, dataset.name, dataset.version),
        published=[redact_question(visit.principal, question) for question in published],
        steward=has_right(visit.principal, Right.SET_BUDGETS, Subject(dataset.name)),
        views=visit.services.datasets.views(visit.principal, dataset.name),
    )  # fmt: skip


def send_dummy_table(visit: Visit) -> Response:
    """Answer with a dataset's dummy table, as a CSV file to download.

    Args:
        visit: Request, whose path names the data set.
    """
    dataset = visit.services.datasets.get(visit.principal, visit.path_params["dataset"])
    return download(visit.services.synthetic.dummy_csv(dataset), "text/csv", "dummy.csv")


def send_synthetic_table(visit: Visit) -> Response:
    """Answer with a dataset's synthetic table, as a CSV file to download.

    Args:
        visit: Request, whose path names the data set.

    Raises:
        ProtocolError: the data set has no synthetic table yet (status 404).
    """
    dataset = visit.services.datasets.get(visit.principal, visit.path_params["dataset"])
    table = visit.services.synthetic.download(visit.principal, dataset.name, dataset.version)
    if table is None:
        raise ProtocolError("table", "this dataset has no synthetic table yet; ask its steward to propose one", 404)
    return download(table, "text/csv", "synthetic.csv")


def show_project(visit: Visit, secret: str = "", wrong_model: str = "", error: str = "", status: int = 200) -> Response:
    """Answer with the page of a project: analysts, budget, models, tokens and questions.

    Args:
        visit: Request, whose path names the project.
        secret: Secret of a new token, which is shown once; empty: none.
        wrong_model: Text of a refused model; empty: none.
        error: Reason of the refusal.
        status: HTTP status.
    """
    principal, services = visit.principal, visit.services
    project = services.projects.get(principal, visit.path_params["project"])
    may_ask = has_right(principal, Right.ASK, project.subject)
    questions = [redact_question(principal, record) for record in services.questions.all(principal, project.name)]
    message = {"said": {"kind": "bad", "words": error}} if error else {}
    return visit.render(
        "project.html", status, project=project, asked=questions, may_ask=may_ask,
        remaining=services.projects.remaining(principal, project.name) if may_ask else None,
        models=services.models.all(principal, project.name),
        tokens=[record for record in services.tokens.all(principal) if record.project == project.name], secret=secret,
        wrong_model=wrong_model, **message,
    )  # fmt: skip


def add_model(visit: Visit) -> Response:
    """Store the uploaded model in the project, and redirect to the project's page. Refused forms are shown again.

    Args:
        visit: Request with the model's JSON in the form.
    """
    text = visit.form_value("model")
    try:
        visit.services.models.add(visit.principal, visit.path_params["project"], text)
    except (ProtocolError, LedgerBusy):
        raise
    except ArgumentError as error:
        return show_project(visit, wrong_model=text, error=f"Model in JSON: {error.rule}", status=400)
    return redirect_to("projects", visit.path_params["project"], message="kept")


def make_token(visit: Visit) -> Response:
    """Create a token, and return the project's page, which shows the secret of the token only now.

    Args:
        visit: Request with a label and a number of days in the form; the path names the project.
    """
    days = visit.form_value("days")
    number = int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0
    secret = visit.services.tokens.make(
        visit.principal, visit.path_params["project"], visit.form_value("label"), number
    )
    return show_project(visit, secret=secret)


def revoke_token(visit: Visit) -> Response:
    """Revoke the token that the path names, and redirect to its project.

    Args:
        visit: Request, whose path names the project and the token.

    Raises:
        ProtocolError: the person has no token of this id (status 404).
    """
    visit.services.tokens.revoke(visit.principal, visit.path_params["token"])
    return redirect_to("projects", visit.path_params["project"], message="back")


def _projects_of(dataset: Dataset, projects: tuple[Project, ...]) -> list[Project]:
    """Return those of the given projects whose analysts ask about a dataset.

    Args:
        dataset: The data set.
        projects: Projects that the person may see.

    Returns:
        Projects in the same order; empty if none is of this data set.
    """
    return [project for project in projects if project.dataset == dataset.name]


def _find_balance(visit: Visit, dataset: Dataset, projects: list[Project]) -> Balance | None:
    """Return a dataset's balance for stewards, auditors and analysts with an allowance, else None.

    Args:
        visit: The request, with the caller's rights.
        dataset: The dataset.
        projects: Projects with this dataset.
    """
    if has_right(visit.principal, Right.SEE_BUDGETS, Subject(dataset.name)):
        return visit.services.datasets.balance(visit.principal, dataset.name)
    names = (project.name for project in projects if has_right(visit.principal, Right.SEE_OWN_BUDGET, project.subject))
    balances = (visit.services.projects.remaining(visit.principal, name) for name in names)
    return next((remaining.account for remaining in balances if remaining is not None), None)


LOG_LINES = 200
"""Largest number of entries of the audit log on a page; a link leads to later ones."""
UNKNOWN_ACTION = "unknown action; go back to the page and use one of its buttons"
"""Refusal of a form whose field `do` (the pressed button) has an unknown value."""


def redirect_to_managed(visit: Visit) -> Response:
    """Redirect a steward to the page of the first of their datasets.

    Args:
        visit: Request of a signed-in person.

    Raises:
        ProtocolError: the person is steward of no data set (status 403).
    """
    if not visit.principal.stewarded_datasets:
        raise ProtocolError("role", "only stewards manage datasets; ask the steward of this dataset", 403)
    return redirect_to("manage", min(visit.principal.stewarded_datasets))


def show_managed(visit: Visit, error: str = "", typed_statement: str = "") -> Response:
    """Answer with the page of a data set for its steward: budget, queue and log.

    Args:
        visit: Request, whose path names the data set.
        error: Reason why an uploaded table was refused; empty: none was.
        typed_statement: Statement that was typed with it.
    """
    principal = visit.principal
    services = visit.services
    name = visit.path_params["dataset"]
    statement = services.datasets.statement(principal, name)
    projects = [project for project in services.projects.all(principal) if project.dataset == name]
    allowances = []
    for project in projects:
        allowances_of_project = [share for share in statement.allowances if share.project == project.name]
        allowances.append((project, allowances_of_project))
    queue = [redact_question(principal, question) for question in services.questions.queue(principal, name)]
    dataset = services.datasets.get(principal, name)
    message = {"said": {"kind": "bad", "words": error}} if error else {}
    return visit.render(
        "manage.html", 400 if error else 200, dataset=dataset, managed=sorted({*principal.stewarded_datasets, name}),
        statement=statement, queue=queue,
        projects=[{"project": project, **_split_allowances(shares)} for project, shares in allowances],
        currency=statement.account.currency.value,
        people=sorted({person for project in projects for person in project.people}),
        events=services.audit.latest_events(principal, LOG_LINES, name),
        keeps=has_right(principal, Right.KEEP_PROJECTS, Subject(name)),
        beside=services.synthetic.describe(principal, name, dataset.version), said_of_table=typed_statement,
        proposed=services.synthetic.describe_proposal(principal, name, dataset.version), despite=CONFIRMED_OVERLAP,
        most_megabytes=LARGEST_FILE >> 20, **message,
    )  # fmt: skip


def make_project(visit: Visit) -> Response:
    """Create the project that the form names, and redirect back to the dataset's page.

    Args:
        visit: Request with name and description in the form; the path names the data set.

    Raises:
        ProtocolError: the person may not manage the data set, or the name is in use.
    """
    dataset = visit.path_params["dataset"]
    visit.services.projects.make(visit.principal, visit.form_value("name"), dataset, visit.form_value("description"))
    return redirect_to("manage", dataset, message="made")


def change_people(visit: Visit) -> Response:
    """Add the analyst of the form to a project, or remove one, and redirect back.

    Args:
        visit: Request with project, person and button in the form; the path names the data set to return to.

    Raises:
        ProtocolError: the caller may not change the project, or the person is unknown.
    """
    project = visit.form_value("project")
    person = visit.form_value("person")
    if visit.form_value("do") == "dismiss":
        visit.services.projects.remove_member(visit.principal, project, person)
        return redirect_to("manage", visit.path_params["dataset"], message="dismissed")
    visit.services.projects.add_member(visit.principal, project, person)
    return redirect_to("manage", visit.path_params["dataset"], message="admitted")


def set_allowance(visit: Visit) -> Response:
    """Set the allowance of a project, or of an analyst in a project, as the form states; redirect to the dataset's
    page.

    Args:
        visit: Request with the form.
    """
    dataset = visit.path_params["dataset"]
    currency = visit.services.datasets.get(visit.principal, dataset).account.currency
    limit = parse_price("most", currency, visit.form_value("most"))
    rule = AllowanceRule.MAY_EXCEED if visit.form_value("together") else AllowanceRule.WITHIN
    visit.services.projects.set_allowance(
        visit.principal, visit.form_value("project"), limit, visit.form_value("analyst") or None, rule
    )
    return redirect_to("manage", dataset, message="set")


def change_question(visit: Visit) -> Response:
    """Withdraw or retry the question of the form, by the pressed button, and redirect back.

    Args:
        visit: Request with the question's id and the button in the form; the path names the data set.

    Raises:
        ProtocolError: the button is unknown, or the person may not change the queue.
    """
    actions = {"take back": visit.services.stewardship.withdraw, "count again": visit.services.stewardship.retry}
    action = actions.get(visit.form_value("do"))
    if action is None:
        raise ProtocolError("do", UNKNOWN_ACTION)
    require(visit.principal, Right.KEEP_QUEUE, Subject(visit.path_params["dataset"]))
    action(visit.principal, visit.form_value("question"))
    return redirect_to("manage", visit.path_params["dataset"], message="wanted")


def check_upload_right(visit: Visit) -> Response:
    """Refuse an upload without the right to it, before its body is read.

    Args:
        visit: Request, whose path names the data set.

    Returns:
        Response with status `ADMITTED`.

    Raises:
        ProtocolError: the person has no right to upload.
    """
    require(visit.principal, Right.PUT_SYNTHETIC, Subject(visit.path_params["dataset"]))
    return Response(status_code=ADMITTED)


def upload_table(visit: Visit) -> Response:
    """Store an uploaded synthetic table of a dataset as a proposal, and return to the page that manages the dataset.

    Another person must confirm it. An upload that is refused shows the page again with the reason, and keeps the
    statement that was typed.

    Args:
        visit: Request with the file and the statement.
    """
    dataset = visit.services.datasets.get(visit.principal, visit.path_params["dataset"])
    try:
        visit.services.synthetic.propose_table(
            visit.principal, dataset, visit.file, visit.form_value("statement"),
            despite_equal_rows=visit.form_value(CONFIRMED_OVERLAP) == "yes",
        )  # fmt: skip
    except (ProtocolError, LedgerBusy):
        raise
    except ArgumentError as error:
        return show_managed(visit, capitalize_rule(error), visit.form_value("statement"))
    return redirect_to("manage", dataset.name, message="proposed")


def confirm_table(visit: Visit) -> Response:
    """Show the table that another person proposed to all who see the dataset.

    Args:
        visit: Request with the digest of the proposal in the form; the path names the data set.

    Raises:
        ProtocolError: another table is proposed by now, or the person proposed it.
    """
    dataset = visit.services.datasets.get(visit.principal, visit.path_params["dataset"])
    visit.services.synthetic.confirm_table(visit.principal, dataset, visit.form_value("digest"))
    return redirect_to("manage", dataset.name, message="put")


def verify_log(visit: Visit) -> Response:
    """Answer with the audit page after recomputing all seals of the log.

    Args:
        visit: Request; the form may have the head that a person has noted.
    """
    head = visit.form_value("head")
    require(visit.principal, Right.AUDIT)
    try:
        result = visit.services.audit.verify(visit.principal, head or None)
    except (ProtocolError, LedgerBusy):
        raise
    except ValueError as error:
        return show_audit(visit, changed=str(error), head=head)
    return show_audit(visit, verified=[("Entries", f"{result.entries:,}"), ("Head", result.head)], head=head)


def download_log(visit: Visit) -> Response:
    """Answer with the whole audit log as JSON lines, to download.

    Args:
        visit: Request of a signed-in person.

    Raises:
        ProtocolError: the person may not see the log.
    """
    return download(
        "".join(f"{line}\n" for line in visit.services.audit.iterate_lines(visit.principal)),
        "application/jsonl",
        "audit.jsonl",
    )


def show_people(visit: Visit) -> Response:
    """Answer with the page of all accounts and their roles.

    Args:
        visit: Request.
    """
    rows = [
        {
            "name": person.name,
            "locked": person.is_locked,
            "made_at": person.made_at,
            "roles": _role_names(person),
        }
        for person in visit.services.people.all(visit.principal)
    ]
    return visit.render("people.html", people=rows, shortest=SHORTEST_PASSWORD)


def change_person(visit: Visit) -> Response:
    """Create, lock or unlock an account, set its password, or change its roles or subject.

    Args:
        visit: Request with the account's name and the button in the form.

    Raises:
        ProtocolError: the button is unknown, or the change is refused.
    """
    change = ACCOUNT_CHANGES.get(visit.form_value("do"))
    if change is None:
        raise ProtocolError("do", UNKNOWN_ACTION)
    change(visit, visit.form_value("name"))
    return redirect_to("people", message="changed")


def _password_field(visit: Visit) -> str:
    """Return the password typed into the form, spaces included.

    Args:
        visit: Request with the form.

    Returns:
        The text; empty if the field is missing.
    """
    return "".join(visit.form.get("password", ()))


def _role_field(visit: Visit) -> Role:
    """Return the role that was chosen in the form on accounts.

    Args:
        visit: Request with the form.

    Raises:
        ProtocolError: the role cannot be given on pages.
    """
    if visit.form_value("role") not in {role.value for role in Role}:
        raise ProtocolError(
            "role", "only operators are appointed here; choose operator, or appoint others with dpcurves server person"
        )
    return Role(visit.form_value("role"))


def _dataset_field(visit: Visit) -> str:
    """Return the dataset that the form names for a steward; empty for other roles.

    Args:
        visit: Request with the form.

    Raises:
        ProtocolError: the role cannot be given on pages.
    """
    return visit.form_value("dataset") if _role_field(visit) is Role.STEWARD else ""


ACCOUNT_CHANGES: Mapping[str, Callable[[Visit, str], None]] = MappingProxyType(
    {
        "make": lambda visit, name: visit.services.people.add(visit.principal, name, _password_field(visit)),
        "password": lambda visit, name: visit.services.people.set_password(
            visit.principal, name, _password_field(visit)
        ),
        "lock": lambda visit, name: visit.services.people.lock(visit.principal, name),
        "unlock": lambda visit, name: visit.services.people.unlock(visit.principal, name),
        "give": lambda visit, name: visit.services.people.give_role(
            visit.principal, name, _role_field(visit), _dataset_field(visit)
        ),
        "subject": lambda visit, name: visit.services.people.set_subject(
            visit.principal, name, _find_issuer(visit).url, visit.form_value("subject")
        ),
        "take": lambda visit, name: visit.services.people.remove_role(
            visit.principal, name, _role_field(visit), _dataset_field(visit)
        ),
    }
)
"""Changes of an account by an operator, by the value of the form field `do` (the pressed button)."""


def _role_names(person: Any) -> list[str]:
    """Return words for a person's roles, a steward's with the dataset.

    Args:
        person: Account with its roles.

    Returns:
        Words in the order operator, auditor, steward of each data set; empty without roles.
    """
    names = [word for word, has_role in (("operator", person.is_operator), ("auditor", person.is_auditor)) if has_role]
    return [*names, *(f"steward of {name}" for name in person.stewarded_datasets)]


def _split_allowances(allowances: list[AllowanceBalance]) -> dict[str, object]:
    """Return the allowance of the whole project (or None), and the allowances of its analysts.

    Args:
        allowances: Allowances of one project, with their balances.

    Returns:
        Allowance of the project under ``whole``, allowances of analysts in a list under ``analysts``.
    """
    project_share = next((share for share in allowances if share.analyst is None), None)
    return {"whole": project_share, "analysts": [share for share in allowances if share.analyst is not None]}


def show_audit(visit: Visit, **facts: Any) -> Response:
    """Answer with the page of the audit log and of the budgets of all data sets.

    Args:
        visit: Request; the query may name the entry after which the log is shown.
        facts: Further values of the template, such as the result of a verification.
    """
    after = (visit.query.get("after") or ["0"])[0]
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
    events = visit.services.audit.events(visit.principal, start, LOG_LINES)
    datasets = visit.services.datasets
    budgets = [
        {"name": dataset.name, "balance": datasets.balance(visit.principal, dataset.name)}
        for dataset in datasets.all(visit.principal)
    ]
    common = {
        "events": events, "after": start, "later": events[-1].entry if len(events) == LOG_LINES else 0, "head": "",
        "budgets": budgets, "verified": None, "changed": None,
    }  # fmt: skip
    return visit.render("audit.html", **{**common, **facts})


REFUSABLE_FORMS: Mapping[str, RefusableForm] = MappingProxyType(
    {
        "/manage/{dataset}/projects": RefusableForm(
            show_managed,
            {"project": FieldName("name", "Name"), "description": FieldName("description", "Subject")},
        ),
        "/manage/{dataset}/people": RefusableForm(show_managed, {"person": FieldName("person", "Person")}),
        "/manage/{dataset}/allowances": RefusableForm(
            show_managed,
            {
                **dict.fromkeys(("most", "epsilon", "rho", "allowance"), FieldName("most", "At most")),
                **dict.fromkeys(("person", "analyst"), FieldName("analyst", "Share of")),
            },
        ),
        "/manage/{dataset}/questions": RefusableForm(show_managed),
        "/manage/{dataset}/synthetic/confirm": RefusableForm(show_managed),
        "/projects/{project}/tokens": RefusableForm(
            show_project, {"label": FieldName("label", "Purpose"), "days": FieldName("days", "Days")}
        ),
        "/projects/{project}/models": RefusableForm(show_project, {"model": FieldName("model", "Model in JSON")}),
        "/people/change": RefusableForm(
            show_people,
            {
                "person": FieldName("name", "Name"), "password": FieldName("password", "Password"),
                "role": FieldName("role", "Role"), "subject": FieldName("subject", "Subject"),
            },
        ),
        "/account": RefusableForm(
            show_account,
            {"old password": FieldName("old", "Old password"), "password": FieldName("password", "New password")},
        ),
        "/audit": RefusableForm(show_audit, {"head": FieldName("head", "Head that was kept elsewhere")}),
    }
)  # fmt: skip
"""Forms that show their page again, with the error and the typed texts, when they are refused; by path."""
