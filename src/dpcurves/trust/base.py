"""Trust models of differential privacy (central, local, multi-party): their interface, and how a question uses one.

A trust model decides who holds the records, who adds the noise, and what each party sees. It answers in two steps:

    plan, plan_query    public: which queries to ask, and by which mechanism
    run                 SECRET: counts the holders' records after the charge, adds noise, returns the `Release`

The words of the interface:

    question    what an analyst asks for, such as a distribution function; it yields *needs*
    need        a *workload*, that is the counts or sums that the question needs, and its fraction of the loss
    strategy    a generator that answers a workload by *steps*, in one or several rounds
    step        one query and its fraction of the loss
    allotment   proof that the loss of one step was charged to a budget; `run` needs one
    release     the noisy integers of one query, with the distribution of their noise

`run_conversation` connects them as a generator: it yields each step that the trust model plans, its driver (a session)
charges the loss, calls `run` and sends back the release, and at the end the generator returns the question's curve.

Formal guarantees: `run` reveals nothing but the release, and loses at most ``plan.loss``; each trust model proves this
for its mechanisms. Steps are chosen from public facts and earlier releases alone, and the driver refuses a step as soon
as all charges would exceed the loss of the question. So the question loses at most its loss (adaptive composition).
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
    """The public part of a trust model: it plans which queries are asked and how they are answered.

    A planner reads no records.
    """

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the strategy for a workload: a generator of steps that receives releases and returns the answer.

        Which strategy it is depends on public facts alone; its later steps may also depend on earlier releases. Most
        models return the strategy that `strategies.choose_strategy` finds in `AT_ONCE` (records can be counted once, on
        cells known beforehand) or in `ADAPTIVELY` (records are still held after each answer). A model may use a
        specialised strategy for some workloads.

        Args:
            workload: The counts or sums that a question needs, with their public cells.
            loss: Privacy loss of all steps of the workload together.
            adjacency: Neighbouring relation of the guarantee, with the number of units if that is public.

        Raises:
            UnsupportedQuery: the trust model cannot answer the workload.
        """
        ...

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a single query: mechanism, noise distribution and expected error. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy loss of this query alone.
            adjacency: Neighbouring relation of the guarantee, with the number of units if that is public.

        Raises:
            UnsupportedQuery: the trust model cannot answer the query.
        """
        ...


class TrustModel(Planner, Protocol[Holder]):
    """Interface of trust models: who holds records, who adds noise, and what each party sees.

    Fields are public. Secrets are passed to `run` as *holders*: objects that keep the records of one party, or its
    shares of them, and state between rounds, such as noise that a later round uses again.

    Formal guarantees: `plan` and `plan_query` are pure functions of public facts and of released answers. `run` reveals
    nothing but the release, and loses at most ``plan.loss`` under ``plan.adjacency``.
    """

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of the holders that `run` needs, in order. A session has one `Curator` and rejects models that need
        others."""
        ...

    def run(self, plan: Plan, holders: Sequence[Holder], allotment: Allotment, randomness: Randomness) -> Release:
        """Count the holders' records, add the noise, and return the release of a charged plan.

        Args:
            plan: A plan that this trust model made.
            holders: SECRET. One object per party that holds records, with the types and in the order of `self.holders`.
            allotment: Proof that the loss of the plan was charged; implementations check it (`require_charged`).
            randomness: Source of the random bits of the noise.

        Returns:
            The noisy integers, in the order of ``plan.distribution``.
        """
        ...


def require_charged(allotment: Allotment, plan: Plan) -> None:
    """Check that the loss that was charged equals the loss of the plan. Returns nothing.

    Args:
        allotment: Proof of one charge. Only a question's budget creates it.
        plan: The plan to be run.

    Raises:
        ValueError: the charged loss differs from the plan's.
    """
    if allotment.loss != plan.loss:
        raise InvalidArgument(
            "allotment",
            f"the payment is for {allotment.loss}, the plan loses {plan.loss}; answer the plan that was paid for",
        )


class SupportsSteps(Protocol[Curve]):
    """Interface of questions: a generator of needs, each a workload with its fraction of the loss."""

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Yield each need, receive its answer, and return the curve. `setting` is the public loss and adjacency."""
        ...


def run_conversation(
    question: SupportsSteps[Curve], loss: PrivacyLoss, adjacency: Adjacency, trust: Planner
) -> Generator[Step, Release, Curve]:
    """Yield each step that the trust model plans for a question, receive its release, and return the question's curve.

    A generator that reads no records: its driver charges each step, runs it, and sends the release. The filter of the
    question's rows is added to each query.

    Args:
        question: The question, which yields its needs.
        loss: Privacy loss of the whole question.
        adjacency: Neighbouring relation of the guarantee, with the number of units if that is public.
        trust: The trust model, which plans the queries.

    Formal guarantees: a need gets its fraction of the loss, and its steps get fractions of that; each yielded
    `Step.budget_fraction` is the product, a fraction of `loss`. The driver pays for the steps and must refuse a step
    with which all fractions would exceed 1.
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
    """Return the filter of a question's rows as an SQL condition; empty if the question has none and uses all rows."""
    return getattr(question, "where", None) or ""


def _meet_need(need: Need, setting: Setting, trust: Planner, where: str) -> Generator[Step, Release, Any]:
    """Yield the trust model's steps for one need, on the rows that pass the filter; return the strategy's answer.

    Args:
        need: A workload and its fraction of the question's loss.
        setting: Loss and adjacency of the question.
        trust: The trust model, which plans the steps.
        where: Filter of the question's rows; empty: all rows.

    Yields:
        Steps whose fractions are of the question's loss. Each receives its release.
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
