"""The chooser of mechanisms that answer tick by tick. It sees public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import Query, Read
from ...release import Plan
from ..base import ExactTable
from ..sequential import Sequential, State
from .perturber import Perturber, stream_only
from .tree_counter import TreeCounter


@dataclass(frozen=True, slots=True)
class StreamChoice:
    """`Perturber` where counts of ticks are read, `TreeCounter` where counts so far, or sums over windows, are.

    Formal guarantees: those of the mechanism that it chooses, from the query alone.
    """

    def choose(self, query: Query) -> Sequential[Any]:
        """The mechanism that makes the plan, and takes its steps. Raises `UnsupportedQuery` if there is none."""
        return Perturber() if stream_only(query).read is Read.CELLS else TreeCounter()

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of the chosen mechanism. Raises `UnsupportedQuery`; touches no data."""
        return self.choose(query).plan(query, loss, adjacency)

    def begin(self, plan: Plan) -> State:
        """The state before the first tick."""
        state: State = self.choose(plan.query).begin(plan)
        return state

    def step(
        self, table: ExactTable, tick: int, state: State, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], State]:
        """Noisy integers, and the state after this tick: commit both, or neither."""
        return self.choose(plan.query).step(table, tick, state, plan, randomness)

    def restored(self, stored: bytes, plan: Plan) -> State:
        """The state that was written by `State.to_bytes`."""
        state: State = self.choose(plan.query).restored(stored, plan)
        return state


STREAMS = StreamChoice()
