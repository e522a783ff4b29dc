"""HTTP API (REST, JSON) of a verification server for programs, under ``/api/1/``.

Through the API, programs do what people do on the server's pages: list datasets, plan questions (cost and expected
error), ask them, and fetch released noisy answers. This file turns the server's objects into JSON, parses request
bodies (of bounded nesting), and declares the routes (`ROUTER`).

Each route authenticates its caller by bearer token or session cookie; the services check the caller's rights. No route
opens confidential records. Worker processes do, after the privacy loss of a question was charged.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from dpcurves.curves.question_json import declared_columns_to_json
from dpcurves.ledger import AllowanceBalance, Balance, MemberBalance, Statement
from dpcurves.ledger.account import Amount
from dpcurves.privacy import PrivacyLoss
from dpcurves.shortcuts import parse_loss
from dpcurves.translation import ENGLISH, require_language
from dpcurves_parties.serving.messages import ProtocolError

from .audit_log import MOST_EVENTS, event_to_json
from .datasets import Dataset
from .middleware import PICTURE_POLICY
from .planner import PlannedRound, parse_row_share, respond_when_planned
from .principals import Principal
from .questions import AskedQuestion, QuestionPlan, loss_to_json, redact_question
from .releases import DRAWN_FORMATS, Answer, StoredModel, render_page, render_statement
from .renderer import REQUESTED_MEDIA_TYPES, collect_file_inputs, find_drawn_type, wait_for_drawing, wait_until_drawn
from .services import Services


def dataset_to_json(dataset: Dataset) -> dict[str, Any]:
    """Return the public facts of a dataset as a JSON object: its schema, its unit and its cap.

    Args:
        dataset: Registered version of a data set.

    Returns:
        Object of name, version, columns, unit and budget; unknown numbers are null.
    """
    account = dataset.account
    return {
        "name": dataset.name, "version": dataset.version, "relation": dataset.relation.value,
        "description": dataset.description, "columns": declared_columns_to_json(dataset.columns),
        "units": dataset.units,
        "adjacency": account.neighbours.value, "unit": account.unit.column or None,
        "rows_per_unit": account.unit.records or None, "account": account.dataset, "cap": amount_to_json(account.limit),
        "made_at": dataset.made_at,
    }  # fmt: skip


def project_to_json(services: Services, who: Principal, name: str) -> dict[str, Any]:
    """Return a project as a JSON object, with the caller's remaining budget in it.

    Args:
        services: The services of the server.
        who: The caller, who must be allowed to see the project.
        name: Name of the project.

    Raises:
        ProtocolError: the project does not exist, or is hidden from the caller.
    """
    project = services.projects.get(who, name)
    remaining = services.projects.remaining(who, name) if name in who.projects else None
    return {
        "name": project.name, "dataset": project.dataset, "description": project.description,
        "people": list(project.people), "made_at": project.made_at, "left": remaining_to_json(remaining),
    }  # fmt: skip


def remaining_to_json(remaining: MemberBalance | None) -> dict[str, Any] | None:
    """Return the remaining budgets of dataset, project and analyst as a JSON object; None if no allowance was set.

    Args:
        remaining: What an analyst may still spend.

    Returns:
        Smallest remaining amount under ``left``; the balances under ``dataset``, ``project`` and ``analyst``.
    """
    if remaining is None:
        return None
    balances: dict[str, Balance | AllowanceBalance] = {
        "dataset": remaining.account,
        "project": remaining.project,
        "analyst": remaining.analyst,
    }
    return {
        "left": amount_to_json(remaining.remaining),
        **{name: balance_to_json(balance) for name, balance in balances.items()},
    }


def balance_to_json(balance: Balance | AllowanceBalance) -> dict[str, Any]:
    """Return the limit, the spent and the remaining part of a budget as a JSON object.

    Args:
        balance: Balance of an account, or of a project's or an analyst's allowance in it.

    Returns:
        Amounts under ``limit``, ``spent`` and ``left``.
    """
    limit = balance.account.limit if isinstance(balance, Balance) else balance.limit
    return {
        "limit": amount_to_json(limit),
        "spent": amount_to_json(balance.spent),
        "left": amount_to_json(balance.remaining),
    }


def amount_to_json(amount: Amount) -> dict[str, str]:
    """Return an amount as a JSON object: its digits and its currency.

    Args:
        amount: Amount of privacy budget.
    """
    return {"amount": amount.digits, "currency": amount.currency.value}


def asked_question_to_json(who: Principal, asked: AskedQuestion) -> dict[str, Any]:
    """Return the status of a question as a JSON object, without names that the caller may not see.

    Args:
        who: The caller.
        asked: The question.

    Returns:
        Object of the question, its loss, time, state and refusal; hidden names are null.
    """
    asked = redact_question(who, asked)
    return {
        "id": asked.id, "project": asked.project or None, "dataset": asked.dataset, "version": asked.version,
        "person": asked.person or None, "question": dict(asked.question), "purpose": asked.purpose,
        "loss": loss_to_json(asked.loss), "asked_at": asked.asked_at, "state": asked.state.value,
        "refusal": asked.refusal, "published": asked.is_published,
    }  # fmt: skip


def plan_to_json(who: Principal, question_plan: QuestionPlan) -> dict[str, Any]:
    """Return the cost and the expected error of a question as a JSON object.

    Args:
        who: The caller.
        question_plan: The plan, which lists earlier answers to the same question, too.

    Returns:
        Object of loss, price, rounds and notes; ``left`` has the remaining budget, ``asked`` an earlier question of
        the project or null.
    """
    earlier = question_plan.earlier_question
    return {
        "id": question_plan.id, "purpose": str(question_plan.question), "loss": loss_to_json(question_plan.loss),
        "price": question_plan.price, "share_of_rows": question_plan.plans.row_share,
        "rounds": list(map(_round_to_json, question_plan.plans.rounds)), "notes": list(question_plan.notes),
        "left": remaining_to_json(question_plan.remaining), "affordable": question_plan.is_affordable,
        "asked": None if earlier is None else asked_question_to_json(who, earlier),
        "published": [asked_question_to_json(who, answer) for answer in question_plan.published_answers],
    }  # fmt: skip


def model_to_json(model: StoredModel) -> dict[str, Any]:
    """Return the digest, name, owner and date of a stored model as a JSON object, without its coefficients."""
    return {"digest": model.digest, "name": model.name, "person": model.person or None, "made_at": model.made_at}


def statement_to_json(statement: Statement) -> dict[str, Any]:
    """Return every charge of an account as a JSON object, with the account's allowances.

    Args:
        statement: Account with its charges and allowances.

    Returns:
        JSON object: data set, budget (`cap`), spent and left, `grants` (charges in order) and `allowances`.
    """
    return {
        "dataset": statement.account.dataset, "cap": amount_to_json(statement.account.limit),
        "spent": amount_to_json(statement.spent), "left": amount_to_json(statement.remaining),
        "grants": [
            {
                "request": line.request, "purpose": line.purpose, "loss": loss_to_json(line.loss),
                "price": amount_to_json(line.price), "when": line.when,
                "project": None if line.member is None else line.member.project,
                "analyst": None if line.member is None else line.member.analyst,
            }
            for line in statement.grants
        ],
        "allowances": [
            {"project": share.project, "analyst": share.analyst, **balance_to_json(share)}
            for share in statement.allowances
        ],
    }  # fmt: skip


def _round_to_json(planned: PlannedRound) -> dict[str, Any]:
    """Return a planned round as a JSON object. An error that is not finite becomes null.

    Args:
        planned: Planned round of a question: one query with its loss and expected error.
    """
    return {
        "query": planned.query, "loss": loss_to_json(planned.loss), "made_by": planned.made_by,
        "error": planned.error if isfinite(planned.error) else None,
        "relative_error": (
            None if planned.relative_error is None or not isfinite(planned.relative_error) else planned.relative_error
        ),
    }  # fmt: skip


# Request bodies.
QUESTION_EXAMPLES = [
    {"ask": "histogram", "column": "delay", "grid": "-60:600:66"},
    {"ask": "cdf", "column": "delay", "grid": "-60:600:660"},
]
"""Example bodies of a question in JSON, shown in the API's OpenAPI document. They check nothing."""
Number = str | int | float | None


class Loss(BaseModel):
    """The privacy loss of a question: epsilon or rho. A text is taken exactly, as "0.1" or "1/3"."""

    model_config = ConfigDict(extra="forbid", strict=True)
    epsilon: Number = None
    rho: Number = None

    def loss(self) -> PrivacyLoss:
        """Return the privacy loss that a request states, by epsilon or by rho.

        Raises:
            ValueError: not exactly one of epsilon and rho is a number from 1e-9 to 1e9.
        """
        return parse_loss(self.epsilon, self.rho)


class QuestionMessage(Loss):
    """A question and its price."""

    question: dict[str, Any] = Field(
        description="The question, as in study files: `ask`, and its fields; `view` names a view of the dataset.",
        examples=QUESTION_EXAMPLES,
    )

    def checked_question(self) -> Mapping[str, Any]:
        """Return the question in the message as plain objects, after limiting its nesting and its texts.

        Raises:
            ProtocolError: The question is nested too deeply, or has texts that a database cannot store.
        """
        require_plain(self.question)
        return self.question


class PlanMessage(QuestionMessage):
    """A question, its price, and a guess of the share of rows that pass its filter."""

    share_of_rows: Number = Field(
        default=None, description="Your guess of the share of rows that pass `where`, above 0 and at most 1."
    )

    def row_share(self) -> float | None:
        """Return the stated share of rows that pass the filter, from 0 to 1; None if none was sent.

        Raises:
            ValueError: the number is not above 0 and at most 1.
        """
        return None if self.share_of_rows is None else parse_row_share(str(self.share_of_rows))


class ModelMessage(BaseModel):
    """A model, as `to_json` of a scorecard or of trees returns it."""

    model_config = ConfigDict(extra="forbid")
    model: dict[str, Any]


class HeadMessage(BaseModel):
    """A head of the hash chain that the auditor has kept."""

    model_config = ConfigDict(extra="forbid", strict=True)
    head: str | None = Field(default=None, max_length=100)


def require_plain(value: Any) -> None:
    """Refuse a request body that is nested too deeply, is too large, or has texts that a database cannot store.

    Args:
        value: The parsed body, or a part of it.

    Raises:
        ProtocolError: a limit is exceeded: 200,000 values, 32 levels, or text with null characters or lone surrogates.
    """
    level = [value]
    part_count = 0
    most_message_parts = 200_000  # values in a request body; more are refused
    most_nested = 32  # levels of nesting in a request body; deeper ones are refused
    for _ in range(most_nested):
        part_count += len(level)
        if part_count > most_message_parts:
            raise ProtocolError(
                "message",
                f"a message may have at most {most_message_parts} numbers, texts and objects; send fewer columns, "
                "edges or questions in one request",
            )
        for item in level:
            if isinstance(item, str) and not _is_storable_text(item):
                raise ProtocolError("message", "texts must not contain null characters or lone surrogates; remove them")
        level = [child for item in level for child in _child_values(item)]
        if not level:
            return
    raise ProtocolError(
        "message", f"objects may be nested at most {most_nested} levels deep; send a message with fewer levels"
    )


def _child_values(value: Any) -> list[Any]:
    """Return the values directly inside a list or an object of JSON, including an object's names; empty for other
    values.

    Args:
        value: JSON value.
    """
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _is_storable_text(text: str) -> bool:
    """Return True if a database can store the text: no null character, no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


PREFIX = "/api/1"
"""Path that all routes of the API begin with; its last part is the version of the API."""
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": words}
    for status, words in {
        400: "refused; one line states the reason", 401: "not authenticated", 403: "the role lacks this right",
        404: "absent, or hidden from this principal", 409: "conflicts with the present state",
        413: "request body too long", 429: "too many requests",
    }.items()
}  # fmt: skip
"""HTTP status codes of refusals, with the descriptions that the OpenAPI document gives of them."""
ROUTER = APIRouter(prefix=PREFIX, responses=ERRORS, default_response_class=JSONResponse)
"""FastAPI router of the HTTP API, which programs call; pages for browsers have other routes."""
LARGEST_ENTRY = 2**60
"""Largest number of an audit log entry in a request, far within a 64-bit database integer; a larger one is refused."""


def authenticate_principal(request: Request) -> Principal:
    """Return the authenticated principal of a request (a dependency of routes).

    Raises:
        ProtocolError: The request has no valid session or token.
    """
    principal: Principal = request.app.state.front.authenticate(request)
    return principal


def find_services(request: Request) -> Services:
    """Return the server's services for an API route (a FastAPI dependency).

    Args:
        request: Any request to the server.
    """
    services: Services = request.app.state.front.services
    return services


Who = Annotated[Principal, Depends(authenticate_principal)]
Open = Annotated[Services, Depends(find_services)]


@ROUTER.get("/me")
def get_account(who: Who) -> dict[str, Any]:
    """Return the signed-in account, its roles and its projects, as JSON."""
    return {
        "name": who.name, "roles": [role.value for role in who.roles], "stewards": sorted(who.stewarded_datasets),
        "projects": sorted(who.projects),
    }  # fmt: skip


@ROUTER.get("/datasets")
def list_datasets(who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the current version of each dataset as JSON: public schema, protected unit and cap."""
    return [dataset_to_json(dataset) for dataset in services.datasets.all(who)]


@ROUTER.get("/datasets/{dataset}")
def get_dataset(dataset: str, who: Who, services: Open) -> dict[str, Any]:
    """Return the public facts of a dataset as JSON: schema, protected unit and cap."""
    return dataset_to_json(services.datasets.get(who, dataset))


@ROUTER.get("/datasets/{dataset}/views")
def get_views(dataset: str, who: Who, services: Open) -> dict[str, Any]:
    """Return the views of a dataset by name: filters, derived columns and bases, as text."""
    return {name: json.loads(view.definition) for name, view in services.datasets.views(who, dataset).items()}


@ROUTER.get("/datasets/{dataset}/releases")
def list_published(dataset: str, who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the published answers of a dataset, as JSON."""
    return [asked_question_to_json(who, answered) for answered in services.releases.list_published(who, dataset)]


@ROUTER.get("/datasets/{dataset}/questions")
def list_queue(dataset: str, who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the question queue of a dataset; only its steward and auditors may ask."""
    return [asked_question_to_json(who, question) for question in services.questions.queue(who, dataset)]


@ROUTER.get("/datasets/{dataset}/statement")
def get_statement(dataset: str, who: Who, services: Open) -> dict[str, Any]:
    """Return the ledger's charges for a dataset; only its steward and auditors may ask."""
    return statement_to_json(services.datasets.statement(who, dataset))


@ROUTER.get("/projects")
def list_projects(who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the projects that the principal may see, as JSON."""
    return [project_to_json(services, who, project.name) for project in services.projects.all(who)]


@ROUTER.get("/projects/{project}")
def get_project(project: str, who: Who, services: Open) -> dict[str, Any]:
    """Return a project and the principal's remaining privacy budget in it, as JSON."""
    return project_to_json(services, who, project)


@ROUTER.get("/projects/{project}/statement")
def get_remaining(project: str, who: Who, services: Open) -> dict[str, Any]:
    """Return an analyst's remaining budget: the smallest of own allowance, project's allowance and dataset's cap, and
    all three.
    """
    remaining = services.projects.remaining(who, project)
    return {"left": remaining_to_json(remaining)}


@ROUTER.post("/projects/{project}/plan")
async def plan_question(project: str, message: PlanMessage, who: Who, services: Open) -> dict[str, Any]:
    """Return the cost of a question and its expected error as JSON. Nothing is charged, and no record is read."""
    return await respond_when_planned(
        lambda: plan_to_json(
            who,
            services.questions.plan(who, project, message.checked_question(), message.loss(), message.row_share()),
        )
    )


@ROUTER.post("/projects/{project}/questions", status_code=202)
async def ask_question(
    project: str, message: QuestionMessage, response: Response, who: Who, services: Open
) -> dict[str, Any]:
    """Put a question into the queue, and return its status; the `Location` header points to the status."""
    question = await respond_when_planned(
        lambda: services.questions.ask(who, project, message.checked_question(), message.loss())
    )
    response.headers["Location"] = f"{PREFIX}/questions/{question.id}"
    return asked_question_to_json(who, question)


@ROUTER.get("/projects/{project}/questions")
def list_questions(project: str, who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the questions of a project as JSON, newest first."""
    return [asked_question_to_json(who, question) for question in services.questions.all(who, project)]


@ROUTER.get("/questions/{id}")
def get_question(id: str, who: Who, services: Open) -> dict[str, Any]:
    """Return the status of a question at the last publication time, as JSON."""
    return asked_question_to_json(who, services.questions.get(who, id))


@ROUTER.get("/projects/{project}/releases")
def list_releases(project: str, who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the answered questions of a project, as JSON."""
    return [asked_question_to_json(who, answered) for answered in services.releases.all(who, project)]


@ROUTER.get("/releases/{name}", response_class=Response)
async def get_release(name: str, who: Who, services: Open, language: str = ENGLISH) -> Response:
    """Return an answer as a file: ID.json (the curve), ID.csv, and, in a language, ID.svg, ID.png, ID.pdf, ID.xlsx,
    ID.html or ID.txt (the privacy statement).
    """
    id, _, ending = name.partition(".")
    language = require_language(language)
    media = find_drawn_type(ending, language)
    headers = {"Content-Security-Policy": PICTURE_POLICY} if ending in ("svg", "html") else {}
    if media:
        answer = await run_in_threadpool(services.releases.get, who, id)
        inputs = collect_file_inputs([answer], ending, language)
        drawing = await wait_for_drawing(services.studio.submit(inputs, None, who.name))
        content = drawing.svg.encode() if ending == "svg" else b64decode(drawing.file)
        return Response(content, media_type=media, headers=headers)
    if ending == "txt":
        answer = await run_in_threadpool(services.releases.get, who, id)
        text = await run_in_threadpool(render_statement, answer.load_curve(), language)
        return Response(text, media_type="text/plain; charset=utf-8")
    if ending not in RESPONSES_BY_SUFFIX:
        names = ", ID.".join((*RESPONSES_BY_SUFFIX, *REQUESTED_MEDIA_TYPES, "txt"))
        raise ProtocolError("release", f"the release must be named with a file type, as ID.{names}", 404)
    media, form = RESPONSES_BY_SUFFIX[ending]
    stored = await run_in_threadpool(services.releases.get, who, id)
    if ending in DRAWN_FORMATS and not stored.is_drawn:
        await wait_until_drawn(services.releases, id)
        stored = await run_in_threadpool(services.releases.get_with_drawing, who, id)
    return Response(await run_in_threadpool(form, stored), media_type=media, headers=headers)


@ROUTER.post("/releases/{id}/publish", status_code=204)
def publish_release(id: str, who: Who, services: Open) -> None:
    """Publish a release to all who may list datasets; for the dataset's steward."""
    services.releases.publish(who, id)


@ROUTER.get("/projects/{project}/models")
def list_models(project: str, who: Who, services: Open) -> list[dict[str, Any]]:
    """Return the models of a project as JSON, without their coefficients."""
    return [model_to_json(model) for model in services.models.all(who, project)]


@ROUTER.post("/projects/{project}/models", status_code=201)
def add_model(project: str, message: ModelMessage, who: Who, services: Open) -> dict[str, Any]:
    """Add a model to a project, from its coefficients or thresholds as JSON; no code is taken."""
    require_plain(message.model)
    return model_to_json(services.models.add(who, project, json.dumps(message.model)))


@ROUTER.get("/projects/{project}/models/{digest}")
def get_model(project: str, digest: str, who: Who, services: Open) -> dict[str, Any]:
    """Return a stored model as JSON, in the form in which questions take it."""
    stored = services.models.get(who, project, digest)
    return {**model_to_json(stored), "model": dict(stored.model_json)}


@ROUTER.get("/audit")
def list_events(
    who: Who,
    services: Open,
    after: Annotated[int, Query(ge=0, le=LARGEST_ENTRY)] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = MOST_EVENTS,
    dataset: str | None = None,
) -> list[dict[str, Any]]:
    """Return a page of the audit log: of the whole log for an auditor, of one dataset for its steward."""
    return [event_to_json(event) for event in services.audit.events(who, after, most, dataset)]


@ROUTER.post("/audit/verify")
def verify_log(message: HeadMessage, who: Who, services: Open) -> dict[str, Any]:
    """Recompute all seals of the audit log's hash chain, and return the result; only auditors may ask."""
    verified = services.audit.verify(who, message.head)
    return {"entries": verified.entries, "head": verified.head}


@ROUTER.get("/health")
async def check_health(request: Request) -> dict[str, str]:
    """Answer a liveness check, without authentication; the event loop answers, so no thread of other requests delays
    it.
    """
    return {"health": "it answers"}


RESPONSES_BY_SUFFIX: dict[str, tuple[str, Callable[[Answer], str]]] = {
    "json": ("application/json", lambda answer: answer.json),
    "svg": ("image/svg+xml", lambda answer: answer.svg),
    "csv": ("text/csv; charset=utf-8", lambda answer: answer.csv),
    "html": (
        "text/html; charset=utf-8",
        lambda answer: render_page(answer.load_curve(), answer.svg),
    ),
}
"""Media type and content of a stored release, by the ending of the requested path, as in ``/releases/ID.csv``."""
