"""The one interface that every trust model fulfils."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ..arguments import Refused
from ..ledger import Allotment
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import Query
from ..release import Plan, Release
from ..workloads import Strategy, Workload

Holder = TypeVar("Holder", contravariant=True)
Answer = TypeVar("Answer")


class Planner(Protocol):
    """What of a trust model is needed to rehearse: how it would ask, and what it would answer."""

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """How it gets what is needed: which queries, in how many turns. Chosen from public facts alone.

        `strategies.at_once` serves who counts on cells that are known beforehand, `strategies.adaptively` who still has
        the records after each answer; a model with a better way for a workload takes its own.
        """
        ...

    def turn(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done for one query. Raises `UnsupportedQuery`; touches no data."""
        ...


class TrustModel(Planner, Protocol[Holder]):
    """Who keeps the records, who adds the noise, and who sees what.

    Fields are public. What is secret comes as an argument: a *holder* keeps records, or shares of them, and remembers.

    Formal guarantees: `plan` and `turn` are pure functions of public facts, and of released answers; `run` reveals
    nothing to anyone but the release, and loses at most ``plan.loss`` under ``plan.adjacency``.
    """

    @property
    def holders(self) -> tuple[type, ...]:
        """Whom it needs, each by its kind: a session has one curator, and refuses a model that asks for others."""
        ...

    def run(self, plan: Plan, holders: Sequence[Holder], allotment: Allotment, randomness: Randomness) -> Release:
        """Do it, once it is paid for."""
        ...


def require(allotment: Allotment, plan: Plan) -> None:
    """No payment, no run.

    Raises:
        ValueError: the payment is for another loss than the plan's.
    """
    if allotment.loss != plan.loss:
        raise Refused("allotment", f"the payment is for {allotment.loss}, the plan loses {plan.loss}")
