"""One curator sees all records and adds the noise once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..data import Query
from ..data.records import Records, tabulate
from ..ledger import Payment
from ..mechanisms import AUTO, Mechanism
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..release import Plan, Release
from .base import require


@dataclass(frozen=True, slots=True)
class Central:
    """The curator may run any mechanism; if not told which, the one that `AUTO` chooses from public facts.

    Formal guarantees: the release is one run of a mechanism on the exact table of the plan's query, whose records were
    bounded per unit before counting; so it loses at most ``plan.loss`` under ``plan.adjacency``.
    """

    mechanism: Mechanism = AUTO

    @property
    def adaptive(self) -> bool:
        """A curator still has the records after each answer."""
        return True

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What the curator would do."""
        plan = self.mechanism.plan(query, loss, adjacency)
        return replace(plan, made_by=f"one curator: {plan.made_by}")

    def run(self, plan: Plan, holders: Sequence[Records], payment: Payment, randomness: Randomness) -> Release:
        """Count, and add the noise."""
        require(payment, plan)
        (curator,) = holders
        values = self.mechanism.run(tabulate(curator, plan.query), plan, randomness)
        return Release(plan, values, payment, randomness.seeded)
