"""Interface of trust models, and the conversation between a question and a trust model.

A trust model answers a question in two steps:

    plan, plan_query    public: which queries answer a workload, and by which mechanism
    run                 SECRET: counts the holders' records after the charge, and adds noise

`run_conversation` is the loop around it. A question states its needs, the trust model plans queries for them, and
whoever drives the generator charges each query and sends back its release; at the end the question returns its curve.

Formal guarantees: `run` reveals nothing but the release, and loses at most ``plan.loss``. The caller bounds the sum of
all queries by the loss of the question.
"""

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
    """The public part of a trust model: it plans which queries are asked and how they are answered."""

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the strategy for a workload: queries in one or several rounds, chosen from public facts alone.

        `strategies.choose_one_round` serves models that count on cells known beforehand, `strategies.choose_adaptive`
        models that still hold the records after each answer. A model may use a better, specialised strategy for some
        workloads.

        Args:
            workload: What a question needs.
            loss: Privacy budget of the workload.
            adjacency: Neighbouring relation of the guarantee.
        """
        ...

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a single query. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee.

        Raises:
            UnsupportedQuery: the trust model cannot answer the query.
        """
        ...


class TrustModel(Planner, Protocol[Holder]):
    """Interface of trust models: who holds records, who adds noise, and what each party sees.

    Fields are public. Secrets are passed as *holders*, which keep records or shares of them, and state between rounds.

    Formal guarantees: `plan` and `plan_query` are pure functions of public facts and of released answers. `run` reveals
    nothing but the release, and loses at most ``plan.loss`` under ``plan.adjacency``.
    """

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of the holders that `run` needs. A session has one curator, and rejects models that need others."""
        ...

    def run(self, plan: Plan, holders: Sequence[Holder], allotment: Allotment, randomness: Randomness) -> Release:
        """Count the holders' records, add the noise, and return the release of a charged plan.

        Args:
            plan: A plan of this trust model.
            holders: SECRET. The parties that hold records, in the order of `holders`.
            allotment: Proof that the plan was charged.
            randomness: Source of random bits.
        """
        ...


def require_charged(allotment: Allotment, plan: Plan) -> None:
    """Check that a plan was charged.

    Raises:
        ValueError: the charge is for another loss than the plan's.
    """
    if allotment.loss != plan.loss:
        raise InvalidArgument(
            "allotment",
            f"the payment is for {allotment.loss}, the plan loses {plan.loss}; answer the plan that was paid for",
        )


class SupportsSteps(Protocol[Curve]):
    """Interface of questions that state their needs one after the other."""

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Yield the needs of the question, receive their answers, and return the curve."""
        ...


def run_conversation(
    question: SupportsSteps[Curve], loss: PrivacyLoss, adjacency: Adjacency, trust: Planner
) -> Generator[Step, Release, Curve]:
    """Yield each query that the trust model plans for a question, receive its release, and return the question's curve.

    Args:
        question: The question, which yields its needs.
        loss: Privacy budget of the whole question.
        adjacency: Neighbouring relation of the guarantee.
        trust: The trust model, which plans the queries.

    Formal guarantees: a need gets its budget fraction of the loss, and its steps get fractions of that. The caller pays
    for the steps, and bounds their total by the loss of the question.
    """
    setting = Setting(loss, adjacency)
    where = find_filter(question)
    needs = question.steps(setting)
    try:
        need = next(needs)
        while True:
            need = needs.send((yield from _meet_need(need, setting, trust, where)))
    except StopIteration as end:
        curve: Curve = end.value
        return curve


def find_filter(question: object) -> str:
    """Return the filter of a question's rows, as SQL; empty if all rows are used."""
    return getattr(question, "where", None) or ""


def _meet_need(need: Need, setting: Setting, trust: Planner, where: str) -> Generator[Step, Release, Any]:
    """Yield the trust model's queries for one need, on the rows that pass the filter; return the strategy's answer.

    Budget fractions are converted to fractions of the question's loss.
    """
    strategy = trust.plan(need.workload, setting.loss * need.budget_fraction, setting.adjacency)
    try:
        step = next(strategy)
        while True:
            step = strategy.send(
                (yield Step(step.query.with_filter(where), step.budget_fraction * need.budget_fraction))
            )
    except StopIteration as end:
        return end.value
