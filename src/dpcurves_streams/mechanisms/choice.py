"""The chooser of mechanisms that answer tick by tick. It sees public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcurves.conversation import Plan
from dpcurves.mechanisms.base import ExactTable, Sequential, State
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query, Read
from dpcurves_streams.queries import GroupedTickQuery, HierarchyQuery, PrunedQuery

from ..laws.prefixes import MOST_BUFFERED
from .counters import BufferedCounter, TreeCounter
from .hierarchy import Hierarchy, Perturber, Pruned, stream_only
from .pegasus import Pegasus


@dataclass(frozen=True, slots=True)
class StreamChoice:
    """The mechanism for what is asked: each kind of question has one, and counts so far have two.

    `Pegasus` finds groups, `Hierarchy` and `Pruned` count forests, `Perturber` counts ticks. Counts so far, and their
    differences, are those of `BufferedCounter` under zero-concentrated privacy, if there is a horizon and no window,
    else of `TreeCounter`.

    Formal guarantees: those of the mechanism that it chooses, from query and loss alone.
    """

    def choose(self, query: Query, loss: PrivacyLoss) -> Sequential[Any]:
        """The mechanism that makes the plan, and takes its steps. Raises `UnsupportedQuery` if there is none."""
        query = stream_only(query)
        if isinstance(query, GroupedTickQuery):
            return Pegasus()
        if isinstance(query, PrunedQuery):
            return Pruned()
        if isinstance(query, HierarchyQuery):
            return Hierarchy()
        if query.read is Read.CELLS:
            return Perturber()
        short = query.ticks is not None and query.ticks <= MOST_BUFFERED
        return BufferedCounter() if short and not (loss.is_pure or query.windows) else TreeCounter()

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of the chosen mechanism. Raises `UnsupportedQuery`; touches no data."""
        return self.choose(query, loss).plan(query, loss, adjacency)

    def begin(self, plan: Plan) -> State:
        """The state before the first tick."""
        state: State = self.choose(plan.query, plan.loss).begin(plan)
        return state

    def step(
        self, table: ExactTable, tick: int, state: State, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], State]:
        """Noisy integers, and the state after this tick: commit both, or neither."""
        return self.choose(plan.query, plan.loss).step(table, tick, state, plan, randomness)

    def restored(self, stored: bytes, plan: Plan) -> State:
        """The state that was written by `State.to_bytes`."""
        state: State = self.choose(plan.query, plan.loss).restored(stored, plan)
        return state


STREAMS = StreamChoice()
