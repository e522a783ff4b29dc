"""Stream mechanism that also releases running totals of tuples that could not be counted, such as late data.

A tuple (row) of a stream is counted in one declared category (*state*), or it is uncounted for one reason: unreadable,
outside of the time span, late, or in another state. K is the largest number of tuples of a privacy unit (a tuple, or
all tuples of a user in a step) that are used; further ones are dropped, and the users who had more are counted ("users
beyond the cap").

`WithUncountedTotals` wraps the mechanism of the counts. Each step releases three parts, and the privacy loss is split
between them. With f = `BEYOND_FRACTION` if tuples per user are capped, and f = 0 without a cap:

    counts of states        (1 - f) of the loss, noise for K tuples of a unit       by the stream's mechanism
    totals of reasons       (1 - f) of the loss, noise for K tuples of a unit       by `TreeCounter`
    users beyond the cap    f of the loss, noise for one user                       by `TreeCounter`

Counts and reasons share one payment. A used tuple is in one of them, so a unit with m tuples in counts has at most K -
m in reasons, and loses at most ``m / K + (K - m) / K = 1`` times ``(1 - f) * epsilon``.

Formal guarantees: all steps together lose at most the granted loss under add-remove, pure or zero-concentrated; proof
at `WithUncountedTotals`.

>>> BEYOND_FRACTION
Fraction(1, 20)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, Unit
from dpcurves.queries import Query

from ..distributions import CountsAndUncountedTotals
from ..queries import TUPLE_REASONS, TimeStepQuery, UncountedReason, uncounted_query
from .counters import TreeCounter
from .sequential import Sequential, State, decode_state, encode_state, require_next

KIND = "counts and what is not counted"
"""Name of this mechanism in stored states; a state of another name is refused."""
BEYOND_FRACTION = Fraction(1, 20)
"""Public fraction of a stream's loss for the number of users beyond the cap; not used without a cap. It is small,
because this number is used only to judge the cap."""
TOTALS_MECHANISM = TreeCounter()
"""Mechanism of the running totals of uncounted tuples."""


@dataclass(frozen=True, slots=True, repr=False)
class CombinedState:
    """SECRET: the states of the mechanisms of all three parts after the same time step.

    Attributes:
        counts: State of the mechanism of the counts.
        uncounted: State of the mechanism of the totals of uncounted tuples.
        users_beyond_cap: State of the mechanism of the total of users beyond the cap; None without a cap.
    """

    counts: Any
    uncounted: Any
    users_beyond_cap: Any

    @property
    def time_step(self) -> int:
        """Number of the last step that was released, from 1; 0 before the first."""
        time_step: int = self.counts.time_step
        return time_step

    def to_bytes(self) -> bytes:
        """SECRET: return the states of all combined mechanisms as bytes, which `WithUncountedTotals.restore_state`
        reads.
        """
        states = {"counts": self.counts, "uncounted": self.uncounted, "beyond": self.users_beyond_cap}
        texts = {name: None if state is None else state.to_bytes().decode() for name, state in states.items()}
        return encode_state(KIND, {"time_step": self.time_step, **texts})


@dataclass(frozen=True, slots=True)
class CombinedPlans:
    """Plans of the parts of a release.

    Attributes:
        counts: Plan of the counts.
        uncounted: Plan of the totals of uncounted tuples.
        users_beyond_cap: Plan of the total of users beyond the cap; None without a cap.
    """

    counts: Plan
    uncounted: Plan
    users_beyond_cap: Plan | None


@dataclass(frozen=True, slots=True)
class WithUncountedTotals:
    """At each step, the counts of another mechanism, and running totals of uncounted tuples by reason.

    A table has the cells of the query, then one count for each of `TUPLE_REASONS` and, if a unit has several records or
    a column names users, last the number of users with more tuples in this step than are used.

    Formal guarantees: let K be the most used tuples of a unit, and f the fraction `BEYOND_FRACTION` with a cap, 0
    without. *Sensitivity*: all tuples of a unit (a tuple, or a user in one step) are in the table of one step. A used
    tuple adds 1 to one cell of the query or to one reason, never to both, and at most K are used; the last cell grows
    by at most 1, however many tuples the unit has. So if m tuples of an added unit are in cells of the query, at most
    ``K - m`` are in reasons, over all steps together.

    *Loss*: the counts have noise for ``(1 - f) * loss`` and K tuples, and so have the totals of reasons. By the
    guarantee of `Sequential`, m of K tuples lose m / K of epsilon in the counts, and ``K - m`` lose the rest of ``(1 -
    f) * epsilon`` in the totals. Under zero-concentrated privacy they lose ``(m / K)**2`` and ``((K - m) / K)**2`` of
    rho, which sum to at most 1. The last cell loses f, as one record. So nothing is paid twice: a stream without a cap
    has the same noise as without reasons. Each mechanism's guarantee holds for streams chosen after releases, including
    releases of the other mechanisms: given all earlier releases, their noises are independent.

    This holds for add-remove only: the removed and the added tuples of a replaced unit may be in different places.

    Attributes:
        mechanism: Mechanism of the counts.
    """

    mechanism: Sequential[Any]

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a combined release of counts, totals of uncounted tuples and users beyond the cap.

        It is computed from public facts alone.

        Args:
            query: A `TimeStepQuery`: the counts of each time step, and the number of time steps.
            loss: The privacy loss of all parts and steps together.
            adjacency: Add-remove, with the privacy unit. A unit of several tuples makes a cap, so that users beyond it
                are counted.

        Raises:
            UnsupportedQuery: The adjacency is not add-remove, or a part cannot be planned.
        """
        if not isinstance(adjacency, AddRemove) or not isinstance(query, TimeStepQuery):
            raise UnsupportedQuery(
                "adjacency",
                "streams need add-remove adjacency and a query by time steps;"
                " choose adjacency=ADD_REMOVE and a StreamQuestion",
            )
        fraction = Fraction(0) if adjacency.unit == EACH_RECORD else BEYOND_FRACTION
        counts = self.mechanism.plan(query, loss * (1 - fraction), adjacency)
        uncounted = TOTALS_MECHANISM.plan(
            uncounted_query(TUPLE_REASONS, query.time_steps), loss * (1 - fraction), adjacency
        )
        # plan the number of users beyond the cap: each user counts once in a step, however many tuples it sends
        beyond = (
            None
            if fraction == 0
            else TOTALS_MECHANISM.plan(
                _beyond_cap_query(query), loss * fraction, AddRemove(Unit(adjacency.unit.column, 1))
            )
        )
        users = None if beyond is None else beyond.distribution
        distribution = CountsAndUncountedTotals(counts.distribution, uncounted.distribution, users, fraction)  # type: ignore[arg-type]
        extra = "" if fraction == 0 else f", with {fraction} of the loss for users beyond the cap"
        made_by = f"{counts.made_by}; totals of what is not counted{extra}"
        return Plan(query, loss, adjacency, made_by, distribution, counts.error)

    def begin(self, plan: Plan) -> CombinedState:
        """Return the states of all combined mechanisms before the first step.

        Args:
            plan: Plan of the stream, with a part for each mechanism.
        """
        plans = split_plan(plan)
        beyond = None if plans.users_beyond_cap is None else TOTALS_MECHANISM.begin(plans.users_beyond_cap)
        return CombinedState(self.mechanism.begin(plans.counts), TOTALS_MECHANISM.begin(plans.uncounted), beyond)

    def step(
        self, table: ExactTable, time_step: int, state: CombinedState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], CombinedState]:
        """Release one time step: the counts by the mechanism that counts, and running totals of uncounted tuples by
        reason, each with its noise.

        Args:
            table: SECRET. Exact counts of the time step: of the query's cells, of each of `TUPLE_REASONS`, and with a
                cap of users beyond the cap.
            time_step: Number of the time step, from 1.
            state: SECRET. State after the step before.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            The noisy numbers in the order of `table` (totals since the first step for reasons and users), and the state
            after this step, which is SECRET.

        Raises:
            ValueError: The time step is not the next one after the state.
        """
        require_next(time_step, state)
        plans = split_plan(plan)
        reasons = len(TUPLE_REASONS)
        keys = len(table) - reasons - (plans.users_beyond_cap is not None)
        counts, counts_state = self.mechanism.step(table[:keys], time_step, state.counts, plans.counts, randomness)
        reason_counts = table[keys : keys + reasons]
        totals, totals_state = TOTALS_MECHANISM.step(
            reason_counts, time_step, state.uncounted, plans.uncounted, randomness
        )
        if plans.users_beyond_cap is None:
            return (*counts, *totals), CombinedState(counts_state, totals_state, None)
        user_totals, users_state = TOTALS_MECHANISM.step(
            table[keys + reasons :], time_step, state.users_beyond_cap, plans.users_beyond_cap, randomness
        )
        return (*counts, *totals, *user_totals), CombinedState(counts_state, totals_state, users_state)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> CombinedState:
        """Return the states of all combined mechanisms from bytes that `CombinedState.to_bytes` wrote.

        Args:
            state_bytes: SECRET. The bytes.
            plan: Plan of the stream.

        Raises:
            ValueError: The bytes are not of such a state.
        """
        fields = decode_state(KIND, state_bytes)
        plans = split_plan(plan)
        beyond = (
            None
            if plans.users_beyond_cap is None
            else TOTALS_MECHANISM.restore_state(fields["beyond"].encode(), plans.users_beyond_cap)
        )
        counts: State = self.mechanism.restore_state(fields["counts"].encode(), plans.counts)
        return CombinedState(
            counts, TOTALS_MECHANISM.restore_state(fields["uncounted"].encode(), plans.uncounted), beyond
        )


def split_plan(plan: Plan) -> CombinedPlans:
    """Return the separate plans of a combined release: of the counts, of uncounted tuples, and of users beyond the cap.

    Args:
        plan: Plan that `WithUncountedTotals.plan` made, for all parts together.
    """
    distribution = plan.distribution.require_type(CountsAndUncountedTotals)
    query: Any = plan.query
    loss = plan.loss * (1 - distribution.beyond_fraction)
    reasons = uncounted_query(TUPLE_REASONS, query.time_steps)
    beyond = None
    if distribution.users_beyond_cap is not None:
        beyond = replace(
            plan,
            query=_beyond_cap_query(query),
            loss=plan.loss * distribution.beyond_fraction,
            distribution=distribution.users_beyond_cap,
        )
    return CombinedPlans(
        replace(plan, loss=loss, distribution=distribution.counts),
        replace(plan, query=reasons, loss=loss, distribution=distribution.uncounted),
        beyond,
    )


def _beyond_cap_query(query: TimeStepQuery) -> TimeStepQuery:
    """Return the query for the running total of users with more tuples than the cap on tuples per user.

    Args:
        query: Query of the stream's counts.
    """
    return uncounted_query((UncountedReason.BEYOND_CAP,), query.time_steps)
