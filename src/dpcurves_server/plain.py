"""Serialisers of the API: plain objects made of what the services return."""

from __future__ import annotations

from math import isfinite
from typing import Any

from dpcurves.conversation import Plan
from dpcurves.ledger import AllowanceBalance, Balance, Remaining, Statement
from dpcurves.ledger.account import Amount
from dpcurves.privacy import PrivacyLoss

from .datasets import Dataset
from .declared_columns import columns_to_json
from .models import Kept
from .projects import Project
from .questions import Asked, Planned, as_seen_by
from .visitors import Visitor


def of_visitor(who: Visitor) -> dict[str, Any]:
    """The signed-in account."""
    return {
        "name": who.name, "roles": [role.value for role in who.roles], "stewards": sorted(who.stewards),
        "projects": sorted(who.projects),
    }  # fmt: skip


def of_dataset(dataset: Dataset) -> dict[str, Any]:
    """Public facts of a dataset."""
    account = dataset.account
    return {
        "name": dataset.name, "version": dataset.version, "relation": dataset.relation.value,
        "description": dataset.description, "columns": columns_to_json(dataset.columns), "units": dataset.units,
        "adjacency": account.neighbours.value, "unit": account.unit.column or None,
        "rows_per_unit": account.unit.records or None, "account": account.dataset, "cap": of_amount(account.limit),
        "made_at": dataset.made_at,
    }  # fmt: skip


def of_project(project: Project, remaining: Remaining | None) -> dict[str, Any]:
    """A project, and what is left to who asks."""
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


def of_loss(loss: PrivacyLoss) -> dict[str, str | None]:
    """A loss, exactly."""
    if loss.epsilon is not None:
        return {"epsilon": str(loss.epsilon), "rho": None}
    return {"epsilon": None, "rho": str(loss.rho)}


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
