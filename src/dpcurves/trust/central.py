"""SECRET. Central model: a single curator sees all records and adds the noise once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from ..arguments import InvalidArgument, WrongArgumentType
from ..conversation import Plan, Release, Setting, Strategy, UnsupportedQuery, Workload, fingerprint
from ..ledger import Allotment
from ..mechanisms import AUTO, LazyMechanism, Mechanism, MechanismChoice, add_noise_to_reasons, add_reasons
from ..noise.randomness import Memory, Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import MOST_COUNTED, Query
from ..strategies import choose_adaptive, choose_one_round
from .base import Answer, require_charged

if TYPE_CHECKING:
    from ..records import Records


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Curator:
    """Curator, who sees all records. It has no repr.

    Attributes:
        records: Records that are counted.
        memory: Records opened under the paid part that is asked for now.
    """

    records: Records
    memory: Memory


SEEDED, PAID = "seeded", "paid"
_DIGITS = 15  # of a fingerprint in base 16


@dataclass(frozen=True, slots=True)
class Central:
    """The curator may run any mechanism: by default the one that `AUTO` chooses from public facts.

    Formal guarantees: the release is one run of a mechanism on the exact table of the plan's query, whose records were
    bounded per unit before counting; so it loses at most ``plan.loss`` under ``plan.adjacency``. Counts of prefixes
    lose that together, however many are asked under one payment.

    Attributes:
        mechanism: Mechanism that adds the noise.
        engine: The engine that counts the records where they lie, if it is not the curator's own: it is trusted, too.
        tells_reasons: Whether missing records are counted by reason, too, as of lines of CSV: see `add_reasons`.
    """

    mechanism: Mechanism | LazyMechanism = AUTO
    engine: str = ""
    tells_reasons: bool = False

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of holders: a single curator."""
        return (Curator,)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """In several turns where they pay: a curator still has the records. A mechanism that was named answers once."""
        meet = choose_adaptive if isinstance(self.mechanism, MechanismChoice) else choose_one_round
        return meet(workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Plan of the curator for a query.

        Raises:
            UnsupportedQuery: the mechanism cannot answer, or there are more cells than are counted one by one.
        """
        if query.is_dense and prod(query.shape) > MOST_COUNTED:
            raise UnsupportedQuery(
                "grid", f"at most {MOST_COUNTED} cells are counted one by one, got {prod(query.shape)}"
            )
        plan = self.mechanism.plan(query, loss, adjacency)
        counted = f", who counts in {self.engine}" if self.engine else ""
        plan = replace(plan, made_by=f"one curator{counted}: {plan.made_by}")
        return add_reasons(plan) if self.tells_reasons else plan

    def run(self, plan: Plan, holders: Sequence[Curator], allotment: Allotment, randomness: Randomness) -> Release:
        """Count, and add the noise.

        Raises:
            ValueError: the payment is for another loss; or what was opened before is not remembered, or was drawn from
                another kind of randomness.
        """
        from ..records import tabulate

        require_charged(allotment, plan)
        (curator,) = holders
        if not plan.query.is_dense:
            return Release(plan, self._count_prefixes(plan, curator, randomness), allotment, randomness.is_seeded)
        if not isinstance(self.mechanism, Mechanism):
            raise WrongArgumentType("mechanism", f"one that answers {type(plan.query).__name__} is needed")
        values = self.mechanism.run(tabulate(curator.records, plan.query), plan, randomness)
        if plan.reasons is None:
            return Release(plan, values, allotment, randomness.is_seeded)
        reasons = add_noise_to_reasons(curator.records.missing_reasons(plan.query.axes), plan, randomness)
        return Release(plan, values, allotment, randomness.is_seeded, reasons=reasons)

    def _count_prefixes(self, plan: Plan, curator: Curator, randomness: Randomness) -> tuple[int, ...]:
        if not isinstance(self.mechanism, LazyMechanism):
            raise WrongArgumentType("mechanism", "one that remembers is needed to count prefixes")
        _open_memory(plan.query, curator.memory, randomness)
        count = partial(curator.records.prefixes, plan.query.axes)
        return self.mechanism.answer(count, plan, curator.memory, randomness)


def _open_memory(query: Query, memory: Memory, randomness: Randomness) -> None:
    """Begin the notes with what is paid for, and go on with no others: sums that were lost would be drawn anew.

    Noise that somebody can draw again is not mixed with noise that nobody can.
    """
    seeded, paid = int(randomness.is_seeded), int(fingerprint(query.charged_query)[:_DIGITS], 16)
    first = {SEEDED: seeded, PAID: paid}
    begun = memory.keep(first) if query == query.charged_query else memory.recall(list(first))
    if begun.keys() != first.keys():
        raise InvalidArgument("memory", "what was opened under this request is not remembered; ask under a new request")
    if begun[PAID] != paid:
        raise InvalidArgument("memory", "something else was opened under this request; ask under a new request")
    if begun[SEEDED] != seeded:
        raise InvalidArgument(
            "randomness", "this request began with another kind, seeded or not; go on with the same kind"
        )
