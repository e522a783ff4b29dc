"""Counts of a stream by another mechanism, and totals of the tuples that are in none of them, by reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, Unit
from dpcurves.queries import Query

from ..laws import CountsAndUncountedTotals
from ..queries import TUPLE_REASONS, TickQuery, UncountedReason, uncounted_query
from .counters import TreeCounter
from .sequential import Sequential, State, decode_state, encode_state, require_next

KIND = "counts and what is not counted"
BEYOND_FRACTION = Fraction(1, 20)
"""Fraction of the loss of a stream that the number of users beyond the cap has. Public; 0 where there is no cap."""
TOTALS = TreeCounter()


@dataclass(frozen=True, slots=True, repr=False)
class CombinedState:
    """SECRET: the states of all mechanisms of a stream, which step together.

    Attributes:
        counts: The state of the counts.
        uncounted: That of the totals of tuples that are in no count.
        users_beyond_cap: That of the total of users beyond the cap; None: there is no cap.
    """

    counts: Any
    uncounted: Any
    users_beyond_cap: Any

    @property
    def tick(self) -> int:
        """The last tick that was answered."""
        tick: int = self.counts.tick
        return tick

    def to_bytes(self) -> bytes:
        """The states, each as it writes itself."""
        states = {"counts": self.counts, "uncounted": self.uncounted, "beyond": self.users_beyond_cap}
        texts = {name: None if state is None else state.to_bytes().decode() for name, state in states.items()}
        return encode_state(KIND, {"tick": self.tick, **texts})


@dataclass(frozen=True, slots=True)
class CombinedPlans:
    """The plans of what is released together.

    Attributes:
        counts: That of the counts.
        uncounted: That of totals of tuples that are in no count.
        users_beyond_cap: That of the total of users beyond the cap; None: there is no cap.
    """

    counts: Plan
    uncounted: Plan
    users_beyond_cap: Plan | None


@dataclass(frozen=True, slots=True)
class WithUncountedTotals:
    """At each tick, the counts of another mechanism, and totals so far of tuples that are not counted, by reason.

    A table has the cells of the query, then one count for each of `TUPLE_REASONS`, and, where a unit has several
    records, or a column says whose they are, last the number of users with more tuples in this tick than are used.

    Formal guarantees: let K be the tuples of a unit that are used, at most, and f the fraction `BEYOND_FRACTION` with a
    cap, 0 without. *Sensitivity*: all tuples of a unit (a tuple, or a user in one step) lie in the table of one tick.
    A tuple that is used adds 1 to one cell of the query or to one reason, never to both, and at most K are used; the
    last cell rises by 1 at most, however many tuples the unit has. So if m tuples of the unit that comes lie in cells
    of the query, at most ``K - m`` lie in reasons, over all ticks together.

    *Loss*: the counts have noise for ``(1 - f) * loss`` and K tuples, and so have the totals of reasons. As
    `Sequential` promises, m of K tuples lose m / K of epsilon in the counts, and ``K - m`` of them the rest of
    ``(1 - f) * epsilon`` in the totals. Under zero-concentrated privacy they lose ``(m / K)**2`` and
    ``((K - m) / K)**2`` of rho, which add up to 1 at most. The last cell loses f, as one record. So nothing is paid
    twice: a stream without a cap has the noise that it had without reasons. Each mechanism holds for streams that are
    chosen after answers, those of the other ones among them: given all answers before, their noises are independent.

    Only add-remove: of a unit that is replaced, tuples that go and tuples that come may lie apart.

    Attributes:
        mechanism: The mechanism of the counts.
    """

    mechanism: Sequential[Any]

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of a release. Raises `UnsupportedQuery`; touches no data."""
        if not isinstance(adjacency, AddRemove) or not isinstance(query, TickQuery):
            raise UnsupportedQuery("adjacency", "streams with reasons are counted under add-remove, tick by tick")
        fraction = Fraction(0) if adjacency.unit == EACH_RECORD else BEYOND_FRACTION
        counts = self.mechanism.plan(query, loss * (1 - fraction), adjacency)
        uncounted = TOTALS.plan(uncounted_query(TUPLE_REASONS, query.ticks), loss * (1 - fraction), adjacency)
        beyond = None if fraction == 0 else _plan_users_beyond_cap(query, loss * fraction, adjacency)
        law = CountsAndUncountedTotals(counts.law, uncounted.law, None if beyond is None else beyond.law, fraction)  # type: ignore[arg-type]
        extra = "" if fraction == 0 else f", with {fraction} of the loss for users beyond the cap"
        made_by = f"{counts.made_by}; totals of what is not counted{extra}"
        return Plan(query, loss, adjacency, made_by, law, counts.error)

    def begin(self, plan: Plan) -> CombinedState:
        """Nothing was counted."""
        plans = split_plan(plan)
        beyond = None if plans.users_beyond_cap is None else TOTALS.begin(plans.users_beyond_cap)
        return CombinedState(self.mechanism.begin(plans.counts), TOTALS.begin(plans.uncounted), beyond)

    def step(
        self, table: ExactTable, tick: int, state: CombinedState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], CombinedState]:
        """Noisy counts, then noisy totals of reasons, then that of users beyond the cap."""
        require_next(tick, state)
        plans, reasons = split_plan(plan), len(TUPLE_REASONS)
        keys = len(table) - reasons - (plans.users_beyond_cap is not None)
        counts, counted = self.mechanism.step(table[:keys], tick, state.counts, plans.counts, randomness)
        rows = table[keys : keys + reasons]
        totals, uncounted = TOTALS.step(rows, tick, state.uncounted, plans.uncounted, randomness)
        if plans.users_beyond_cap is None:
            return (*counts, *totals), CombinedState(counted, uncounted, None)
        users, beyond = TOTALS.step(
            table[keys + reasons :], tick, state.users_beyond_cap, plans.users_beyond_cap, randomness
        )
        return (*counts, *totals, *users), CombinedState(counted, uncounted, beyond)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> CombinedState:
        """The states that were written."""
        facts, plans = decode_state(KIND, state_bytes), split_plan(plan)
        beyond = (
            None
            if plans.users_beyond_cap is None
            else TOTALS.restore_state(facts["beyond"].encode(), plans.users_beyond_cap)
        )
        counts: State = self.mechanism.restore_state(facts["counts"].encode(), plans.counts)
        return CombinedState(counts, TOTALS.restore_state(facts["uncounted"].encode(), plans.uncounted), beyond)


def split_plan(plan: Plan) -> CombinedPlans:
    """The plans of the counts, of the reasons, and of the users beyond the cap."""
    law = plan.law.require_type(CountsAndUncountedTotals)
    query: Any = plan.query
    loss, reasons = plan.loss * (1 - law.beyond_fraction), uncounted_query(TUPLE_REASONS, query.ticks)
    beyond = None
    if law.users_beyond_cap is not None:
        beyond = replace(
            plan, query=_beyond_cap_query(query), loss=plan.loss * law.beyond_fraction, law=law.users_beyond_cap
        )
    return CombinedPlans(
        replace(plan, loss=loss, law=law.counts), replace(plan, query=reasons, loss=loss, law=law.uncounted), beyond
    )


def _beyond_cap_query(query: TickQuery) -> TickQuery:
    return uncounted_query((UncountedReason.BEYOND_CAP,), query.ticks)


def _plan_users_beyond_cap(query: TickQuery, loss: PrivacyLoss, adjacency: AddRemove) -> Plan:
    """The plan of the number of users beyond the cap: each counts once in a step, whatever they send."""
    return TOTALS.plan(_beyond_cap_query(query), loss, AddRemove(Unit(adjacency.unit.column, 1)))
