"""The API for programs, under ``/api/1/``: serialisers, request bodies of bounded depth, and routes."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from dpcurves.conversation import Plan
from dpcurves.curves.question_json import columns_written
from dpcurves.ledger import AllowanceBalance, Balance, Remaining, Statement
from dpcurves.ledger.account import Amount
from dpcurves.privacy import PrivacyLoss
from dpcurves.shortcuts import loss_of
from dpcurves_parties.serving.messages import ProtocolAborted

from .datasets import Dataset
from .front import OF_PICTURES, Gate
from .questions import Asked, Planned, as_seen_by, of_loss
from .releases import DRAWN, Answer, Kept
from .store import MOST_AT_ONCE, line_of
from .studio import MADE, of_file, until_drawn, until_made
from .visitors import Visitor


def of_dataset(dataset: Dataset) -> dict[str, Any]:
    """Public facts of a dataset."""
    account = dataset.account
    return {
        "name": dataset.name, "version": dataset.version, "relation": dataset.relation.value,
        "description": dataset.description, "columns": columns_written(dataset.columns), "units": dataset.units,
        "adjacency": account.neighbours.value, "unit": account.unit.column or None,
        "rows_per_unit": account.unit.records or None, "account": account.dataset, "cap": of_amount(account.limit),
        "made_at": dataset.made_at,
    }  # fmt: skip


def of_project(gate: Gate, who: Visitor, name: str) -> dict[str, Any]:
    """A project, and what is left to who asks."""
    project = gate.projects.get(who, name)
    remaining = gate.projects.remaining(who, name) if name in who.projects else None
    return {
        "name": project.name, "dataset": project.dataset, "description": project.description,
        "people": list(project.people), "made_at": project.made_at, "left": of_remaining(remaining),
    }  # fmt: skip


def of_remaining(remaining: Remaining | None) -> dict[str, Any] | None:
    """Remaining budgets of the dataset, the project and the analyst. None: no allowance was set yet."""
    if remaining is None:
        return None
    parts: dict[str, Balance | AllowanceBalance] = {
        "dataset": remaining.account,
        "project": remaining.project,
        "analyst": remaining.analyst,
    }
    return {"left": of_amount(remaining.left), **{name: of_balance(part) for name, part in parts.items()}}


def of_balance(balance: Balance | AllowanceBalance) -> dict[str, Any]:
    """The spent and the remaining part of a budget."""
    limit = balance.account.limit if isinstance(balance, Balance) else balance.limit
    return {"limit": of_amount(limit), "spent": of_amount(balance.spent), "left": of_amount(balance.left)}


def of_amount(amount: Amount) -> dict[str, str]:
    """An amount as digits, in its currency."""
    return {"amount": amount.digits, "currency": amount.currency.value}


def of_asked(who: Visitor, asked: Asked) -> dict[str, Any]:
    """The status of a question, with the names that its visitor may see; empty if there is none."""
    asked = as_seen_by(who, asked)
    return {
        "id": asked.id, "project": asked.project or None, "dataset": asked.dataset, "version": asked.version,
        "person": asked.person or None, "question": dict(asked.question), "purpose": asked.purpose,
        "loss": of_loss(asked.loss), "asked_at": asked.asked_at, "state": asked.state.value,
        "refusal": asked.refusal, "published": asked.published,
    }  # fmt: skip


def of_planned(who: Visitor, planned: Planned) -> dict[str, Any]:
    """The cost and the expected error of a question."""
    return {
        "id": planned.id, "purpose": str(planned.question), "loss": of_loss(planned.loss), "price": planned.price,
        "turns": [_of_turn(plan) for plan in planned.plans], "notes": list(planned.notes),
        "left": of_remaining(planned.remaining), "affordable": planned.is_affordable,
        "asked": None if planned.asked is None else of_asked(who, planned.asked),
        "published": [of_asked(who, each) for each in planned.published],
    }  # fmt: skip


def of_model(model: Kept) -> dict[str, Any]:
    """Facts on a stored model as JSON: its digest, name, owner and date, without its coefficients."""
    return {"digest": model.digest, "name": model.name, "person": model.person or None, "made_at": model.made_at}


def of_statement(statement: Statement) -> dict[str, Any]:
    """Every charge of an account."""
    return {
        "dataset": statement.account.dataset, "cap": of_amount(statement.account.limit),
        "spent": of_amount(statement.spent), "left": of_amount(statement.left),
        "grants": [
            {
                "request": line.request, "purpose": line.purpose, "loss": of_loss(line.loss),
                "price": of_amount(line.price), "when": line.when,
                "project": None if line.member is None else line.member.project,
                "analyst": None if line.member is None else line.member.analyst,
            }
            for line in statement.grants
        ],
        "allowances": [
            {"project": each.project, "analyst": each.analyst, **of_balance(each)} for each in statement.allowances
        ],
    }  # fmt: skip


def _of_turn(plan: Plan) -> dict[str, Any]:
    error = float(plan.error)
    return {
        "query": type(plan.query).__name__, "loss": of_loss(plan.loss), "made_by": plan.made_by,
        "error": error if isfinite(error) else None,
    }  # fmt: skip


# Request bodies.
DEEPEST = 32
MOST_PARTS = 200_000
EXAMPLES = [
    {"ask": "histogram", "column": "delay", "grid": "-60:600:66"},
    {"ask": "cdf", "column": "delay", "grid": "-60:600:660"},
]
Number = str | int | float | None


class Loss(BaseModel):
    """The privacy loss of a question: epsilon or rho. A text is taken exactly, as "0.1" or "1/3"."""

    model_config = ConfigDict(extra="forbid", strict=True)
    epsilon: Number = None
    rho: Number = None

    def loss(self) -> PrivacyLoss:
        """The loss. Raises `ValueError`: both are given, or none, or it is no number from 1e-9 to 1e9."""
        return loss_of(self.epsilon, self.rho)


class QuestionMessage(Loss):
    """A question and its price."""

    question: dict[str, Any] = Field(
        description="The question, as in files of studies: `ask`, and its fields.", examples=EXAMPLES
    )

    def stored(self) -> Mapping[str, Any]:
        """The question as plain objects.

        Raises:
            ProtocolAborted: it is too deep, or holds a text that no database holds.
        """
        require_plain(self.question)
        return self.question


class ModelMessage(BaseModel):
    """A model, as `to_json` of a scorecard or of trees writes it."""

    model_config = ConfigDict(extra="forbid")
    model: dict[str, Any]


class HeadMessage(BaseModel):
    """An end of the chain that was kept."""

    model_config = ConfigDict(extra="forbid", strict=True)
    head: str | None = Field(default=None, max_length=100)


def require_plain(thing: Any) -> None:
    """Refuse objects that are deep or many, and texts with lone surrogates or null characters.

    Raises:
        ProtocolAborted: says which.
    """
    level, parts = [thing], 0
    for _ in range(DEEPEST):
        parts += len(level)
        if parts > MOST_PARTS:
            raise ProtocolAborted("message", f"at most {MOST_PARTS} numbers, texts and objects are taken")
        for each in level:
            if isinstance(each, str) and not _is_text(each):
                raise ProtocolAborted("message", "texts without null characters and lone surrogates are needed")
        level = [part for each in level for part in _parts(each)]
        if not level:
            return
    raise ProtocolAborted("message", f"objects in objects are taken up to a depth of {DEEPEST}")


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    return thing if isinstance(thing, list) else []


def _is_text(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


PREFIX = "/api/1"
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": words}
    for status, words in {
        400: "refused: one line says what was wrong", 401: "nobody is recognised", 403: "the role does not allow it",
        404: "there is none that is open to this visitor", 409: "it stands against what is there",
        413: "too long", 429: "too often",
    }.items()
}  # fmt: skip
ROUTER = APIRouter(prefix=PREFIX, responses=ERRORS, default_response_class=JSONResponse)
"""The routes that programs call."""
LARGEST_ENTRY = 2**60


def who_asks(request: Request) -> Visitor:
    """The authenticated visitor of a request (a dependency of routes).

    Raises:
        ProtocolAborted: nobody is recognised.
    """
    found: Visitor = request.app.state.front.visitor(request)
    return found


def gate_of(request: Request) -> Gate:
    """The services."""
    found: Gate = request.app.state.front.gate
    return found


Who = Annotated[Visitor, Depends(who_asks)]
Open = Annotated[Gate, Depends(gate_of)]


@ROUTER.get("/me")
def me(who: Who) -> dict[str, Any]:
    """The signed-in account, its roles and its rights."""
    return {
        "name": who.name, "roles": [role.value for role in who.roles], "stewards": sorted(who.stewards),
        "projects": sorted(who.projects),
    }  # fmt: skip


@ROUTER.get("/datasets")
def datasets(who: Who, gate: Open) -> list[dict[str, Any]]:
    """The present version of each dataset: its public schema, who is protected, and the cap."""
    return [of_dataset(each) for each in gate.datasets.all(who)]


@ROUTER.get("/datasets/{dataset}")
def dataset_(dataset: str, who: Who, gate: Open) -> dict[str, Any]:
    """Public facts of a dataset."""
    return of_dataset(gate.datasets.get(who, dataset))


@ROUTER.get("/datasets/{dataset}/releases")
def published(dataset: str, who: Who, gate: Open) -> list[dict[str, Any]]:
    """The published answers of a dataset."""
    return [of_asked(who, each) for each in gate.releases.published(who, dataset)]


@ROUTER.get("/datasets/{dataset}/questions")
def queue(dataset: str, who: Who, gate: Open) -> list[dict[str, Any]]:
    """The question queue of a dataset: for its steward and for auditors."""
    return [of_asked(who, each) for each in gate.questions.queue(who, dataset)]


@ROUTER.get("/datasets/{dataset}/statement")
def statement(dataset: str, who: Who, gate: Open) -> dict[str, Any]:
    """The ledger's charges for a dataset: for its steward and for auditors."""
    return of_statement(gate.datasets.statement(who, dataset))


@ROUTER.get("/projects")
def projects(who: Who, gate: Open) -> list[dict[str, Any]]:
    """The projects that one sees."""
    return [of_project(gate, who, each.name) for each in gate.projects.all(who)]


@ROUTER.get("/projects/{project}")
def project_(project: str, who: Who, gate: Open) -> dict[str, Any]:
    """A project, and the privacy budget that is left to a member."""
    return of_project(gate, who, project)


@ROUTER.get("/projects/{project}/statement")
def remaining(project: str, who: Who, gate: Open) -> dict[str, Any]:
    """The budget left to an analyst: of the own allowance, of the project's, and of the dataset's cap."""
    found = gate.projects.remaining(who, project)
    return {"left": of_remaining(found)}


@ROUTER.post("/projects/{project}/plan")
def plan(project: str, message: QuestionMessage, who: Who, gate: Open) -> dict[str, Any]:
    """The cost of a question and its expected error. Nothing is charged, and no record is read."""
    return of_planned(who, gate.questions.plan(who, project, message.stored(), message.loss()))


@ROUTER.post("/projects/{project}/questions", status_code=202)
def ask(project: str, message: QuestionMessage, response: Response, who: Who, gate: Open) -> dict[str, Any]:
    """Ask. The question is charged once, whoever of the project asks it; its place says where it stands."""
    asked = gate.questions.ask(who, project, message.stored(), message.loss())
    response.headers["Location"] = f"{PREFIX}/questions/{asked.id}"
    return of_asked(who, asked)


@ROUTER.get("/projects/{project}/questions")
def questions(project: str, who: Who, gate: Open) -> list[dict[str, Any]]:
    """The questions of a project, the last one first."""
    return [of_asked(who, each) for each in gate.questions.all(who, project)]


@ROUTER.get("/questions/{id}")
def question(id: str, who: Who, gate: Open) -> dict[str, Any]:
    """The status of a question at the last publication time."""
    return of_asked(who, gate.questions.get(who, id))


@ROUTER.get("/projects/{project}/releases")
def releases(project: str, who: Who, gate: Open) -> list[dict[str, Any]]:
    """The questions of a project that are answered."""
    return [of_asked(who, each) for each in gate.releases.all(who, project)]


@ROUTER.get("/releases/{name}", response_class=Response)
async def release(name: str, who: Who, gate: Open) -> Response:
    """An answer: ID.json (the curve), ID.svg, ID.png, ID.xlsx, ID.csv or ID.html."""
    id, _, ending = name.partition(".")
    if ending in MADE:
        answer = await run_in_threadpool(gate.releases.get, who, id)
        drawn = await until_made(gate.studio.order(of_file([answer], ending), None))
        return Response(b64decode(drawn.file), media_type=MADE[ending])
    if ending not in ENDINGS:
        raise ProtocolAborted("release", f"ID.{', ID.'.join((*ENDINGS, *MADE))} is needed", 404)
    media, form = ENDINGS[ending]
    headers = {"Content-Security-Policy": OF_PICTURES} if ending in ("svg", "html") else {}
    found = await run_in_threadpool(gate.releases.get, who, id)
    if ending in DRAWN and not found.is_drawn:
        await until_drawn(gate.releases, id)
        found = await run_in_threadpool(gate.releases.drawn, who, id)
    return Response(await run_in_threadpool(form, found), media_type=media, headers=headers)


@ROUTER.post("/releases/{id}/publish", status_code=204)
def publish(id: str, who: Who, gate: Open) -> None:
    """Show a release to all who see data here: its steward's."""
    gate.releases.publish(who, id)


@ROUTER.get("/projects/{project}/models")
def models(project: str, who: Who, gate: Open) -> list[dict[str, Any]]:
    """The models of a project."""
    return [of_model(each) for each in gate.models.all(who, project)]


@ROUTER.post("/projects/{project}/models", status_code=201)
def add_model(project: str, message: ModelMessage, who: Who, gate: Open) -> dict[str, Any]:
    """Hand in a model: coefficients or thresholds as JSON, and no code."""
    require_plain(message.model)
    return of_model(gate.models.add(who, project, json.dumps(message.model)))


@ROUTER.get("/projects/{project}/models/{digest}")
def model(project: str, digest: str, who: Who, gate: Open) -> dict[str, Any]:
    """A model, as it stands in questions."""
    kept = gate.models.get(who, project, digest)
    return {**of_model(kept), "model": dict(kept.stored)}


@ROUTER.get("/audit")
def audit(
    who: Who,
    gate: Open,
    after: Annotated[int, Query(ge=0, le=LARGEST_ENTRY)] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = MOST_AT_ONCE,
    dataset: str | None = None,
) -> list[dict[str, Any]]:
    """The audit log: whole for an auditor, of one dataset for its steward."""
    return [line_of(each) for each in gate.audit.events(who, after, most, dataset)]


@ROUTER.post("/audit/verify")
def verify(message: HeadMessage, who: Who, gate: Open) -> dict[str, Any]:
    """Recompute every seal of the chain: an auditor's."""
    verified = gate.audit.verify(who, message.head)
    return {"entries": verified.entries, "head": verified.head}


@ROUTER.get("/health")
def health(request: Request) -> dict[str, str]:
    """Liveness check, open to everybody."""
    return {"health": "it answers"}


def _html(answer: Answer) -> str:
    summary = answer.curve().html_with(answer.svg)
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>dpcurves</title>\n{summary}\n</html>\n'


ENDINGS: dict[str, tuple[str, Callable[[Answer], str]]] = {
    "json": ("application/json", lambda answer: answer.json),
    "svg": ("image/svg+xml", lambda answer: answer.svg),
    "csv": ("text/csv; charset=utf-8", lambda answer: answer.csv),
    "html": ("text/html; charset=utf-8", _html),
}
