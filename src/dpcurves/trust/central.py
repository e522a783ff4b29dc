"""SECRET. Central model: one curator sees all records and adds the noise once."""

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
    """The curator, who sees all records. It has no repr.

    Attributes:
        records: The records that are counted.
        memory: Noise and nodes opened so far under the current payment.
    """

    records: Records
    memory: Memory


SEEDED, PAID = "seeded", "paid"


@dataclass(frozen=True, slots=True)
class Central:
    """The curator may run any mechanism; by default `AUTO` chooses one from public facts.

    Formal guarantees: the release is one run of a mechanism on the exact table of the plan's query, with the
    contribution bound enforced before counting, so it loses at most ``plan.loss`` under ``plan.adjacency``. Prefix
    counts lose that much together, however many are asked under one payment.

    Attributes:
        mechanism: The mechanism that adds the noise.
        engine: Engine that counts the records where they are stored, if not the curator's own: it is trusted too.
        tells_reasons: Whether missing records are also counted by reason, as for lines of CSV; see `add_reasons`.
    """

    mechanism: Mechanism | LazyMechanism = AUTO
    engine: str = ""
    tells_reasons: bool = False

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of holders: one curator."""
        return (Curator,)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return an adaptive strategy where public facts favour it, because the curator keeps the records; one round
        for a named mechanism.
        """
        choose_strategy = choose_adaptive if isinstance(self.mechanism, MechanismChoice) else choose_one_round
        return choose_strategy(workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the curator's plan of a query.

        Raises:
            UnsupportedQuery: the mechanism cannot answer it, or a dense query has too many cells.
        """
        if query.is_dense and prod(query.shape) > MOST_COUNTED:
            raise UnsupportedQuery(
                "grid",
                f"at most {MOST_COUNTED} cells are counted one by one, got {prod(query.shape)}; choose fewer cells",
            )
        plan = self.mechanism.plan(query, loss, adjacency)
        counted = f", who counts in {self.engine}" if self.engine else ""
        plan = replace(plan, made_by=f"one curator{counted}: {plan.made_by}")
        # Rows that fail a filter are missing for a separate reason, which no count of reasons includes.
        return add_reasons(plan) if self.tells_reasons and not query.where else plan

    def run(self, plan: Plan, holders: Sequence[Curator], allotment: Allotment, randomness: Randomness) -> Release:
        """Return the release of a charged plan: exact counts of the curator's records plus noise.

        Raises:
            ValueError: the payment is for another loss; or earlier state is lost, or used another kind of randomness.
        """
        from ..records import tabulate

        require_charged(allotment, plan)
        (curator,) = holders
        if not plan.query.is_dense:
            return Release(plan, self._count_prefixes(plan, curator, randomness), allotment, randomness.is_seeded)
        if not isinstance(self.mechanism, Mechanism):
            raise WrongArgumentType(
                "mechanism",
                f"a mechanism that answers {type(plan.query).__name__} is needed; leave mechanism out, and one "
                "is chosen",
            )
        values = self.mechanism.run(tabulate(curator.records, plan.query), plan, randomness)
        if plan.reasons is None:
            return Release(plan, values, allotment, randomness.is_seeded)
        reasons = add_noise_to_reasons(curator.records.missing_reasons(plan.query.axes), plan, randomness)
        return Release(plan, values, allotment, randomness.is_seeded, reasons=reasons)

    def _count_prefixes(self, plan: Plan, curator: Curator, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy counts of prefixes; the curator's memory keeps the noise. Raises `WrongArgumentType` if the
        named mechanism has no memory.
        """
        if not isinstance(self.mechanism, LazyMechanism):
            raise WrongArgumentType(
                "mechanism", "counting prefixes over time needs a mechanism with memory; choose one of dpcurves_streams"
            )
        _open_memory(plan.query, curator.memory, randomness)
        count = partial(curator.records.prefixes, plan.query.axes)
        return self.mechanism.answer(count, plan, curator.memory, randomness)


def _open_memory(query: Query, memory: Memory, randomness: Randomness) -> None:
    """Start the memory of a payment, or require that it continues: lost sums would be sampled again, with fresh noise.

    Seeded noise, which can be reproduced, is never mixed with noise from the operating system.
    """
    # 15 hexadecimal digits fit a signed 64-bit integer
    seeded, paid = int(randomness.is_seeded), int(fingerprint(query.charged_query)[:15], 16)
    header = {SEEDED: seeded, PAID: paid}
    stored_header = memory.keep(header) if query == query.charged_query else memory.recall(list(header))
    if stored_header.keys() != header.keys():
        raise InvalidArgument("memory", "the state of this request is lost; ask under a new request")
    if stored_header[PAID] != paid:
        raise InvalidArgument("memory", "this request paid for another query; ask under a new request")
    if stored_header[SEEDED] != seeded:
        raise InvalidArgument(
            "randomness",
            "this request began with noise of the other kind (seeded or unseeded); go on with the same kind",
        )
