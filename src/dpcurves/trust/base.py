"""Interface of trust models, and the conversation of a question with a trust model, turn by turn."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeVar

from ..arguments import InvalidArgument
from ..conversation import Need, Needs, Plan, Release, Setting, Step, Strategy, Workload
from ..ledger import Allotment
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import Query

Holder = TypeVar("Holder", contravariant=True)
Answer = TypeVar("Answer")
Curve = TypeVar("Curve", covariant=True)


class Planner(Protocol):
    """The part of a trust model that is needed for plans: which queries it would ask, and how it would answer them."""

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Strategy for a workload: its queries, and the number of turns. Chosen from public facts alone.

        `strategies.choose_one_round` serves who counts on cells that are known beforehand, `strategies.choose_adaptive` who still has
        the records after each answer; a model with a better way for a workload takes its own.
        """
        ...

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Plan of a single query. Raises `UnsupportedQuery`; touches no data."""
        ...


class TrustModel(Planner, Protocol[Holder]):
    """Interface of trust models: they define the holders of records, the source of noise, and each party's view.

    Fields are public. What is secret comes as an argument: a *holder* keeps records, or shares of them, and remembers.

    Formal guarantees: `plan` and `plan_query` are pure functions of public facts, and of released answers; `run` reveals
    nothing to anyone but the release, and loses at most ``plan.loss`` under ``plan.adjacency``.
    """

    @property
    def holders(self) -> tuple[type, ...]:
        """The kinds of holders that it needs: a session has one curator, and refuses a model that needs others."""
        ...

    def run(self, plan: Plan, holders: Sequence[Holder], allotment: Allotment, randomness: Randomness) -> Release:
        """Run the plan, once it is charged."""
        ...


def require_charged(allotment: Allotment, plan: Plan) -> None:
    """Refuse to run a plan that was not charged.

    Raises:
        ValueError: the payment is for another loss than the plan's.
    """
    if allotment.loss != plan.loss:
        raise InvalidArgument("allotment", f"the payment is for {allotment.loss}, the plan loses {plan.loss}")


class SupportsSteps(Protocol[Curve]):
    """Interface of questions in a conversation."""

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Yield the needs of the question, one after the other; return the curve."""
        ...


def run_conversation(
    question: SupportsSteps[Curve], loss: PrivacyLoss, adjacency: Adjacency, trust: Planner
) -> Generator[Step, Release, Curve]:
    """Ask all queries that the trust model plans for what the question needs; return the curve.

    Formal guarantees: a need gets its share of the loss, and its steps get their shares of that; who pays for the steps
    holds all of them together to the loss of the question.
    """
    setting = Setting(loss, adjacency)
    needs = question.steps(setting)
    try:
        need = next(needs)
        while True:
            need = needs.send((yield from _meet_need(need, setting, trust)))
    except StopIteration as end:
        curve: Curve = end.value
        return curve


def _meet_need(need: Need, setting: Setting, trust: Planner) -> Generator[Step, Release, Any]:
    turns = trust.plan(need.workload, setting.loss * need.budget_fraction, setting.adjacency)
    try:
        step = next(turns)
        while True:
            step = turns.send((yield Step(step.query, step.budget_fraction * need.budget_fraction)))
    except StopIteration as end:
        return end.value
