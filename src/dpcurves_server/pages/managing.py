"""Pages of stewards, auditors and operators: budgets, projects, the audit log and its chain, accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fastapi import Response

from dpcurves.ledger import AllowanceBalance, Together
from dpcurves_parties.serving.messages import ProtocolAborted

from ..front import LARGEST_FILE
from ..people import SHORTEST
from ..questions import as_seen_by
from ..visitors import Right, Role, Subject, may, require, unknown
from .visits import ADMITTED, Visit, download, price_of, to

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


def _issuer(visit: Visit) -> str:
    if visit.site.issuer is None:
        raise unknown("issuer")
    return visit.site.issuer.url


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
            visit.who, name, _issuer(visit), visit.typed("subject")
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
