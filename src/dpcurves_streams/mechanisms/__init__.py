"""Counts of a stream, tick by tick, and the chooser of mechanisms, which sees public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcurves.conversation import Plan
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import CountUse

from ..laws import MOST_BUFFERED
from ..queries import TickQuery
from .counters import BufferedCounter, TreeCounter
from .hierarchy import Hierarchy, Perturber, PrunedHierarchy, TickMechanism
from .pegasus import Pegasus
from .sequential import Sequential, State
from .with_uncounted import WithUncountedTotals

__all__ = [
    "STREAMS", "BufferedCounter", "Hierarchy", "Pegasus", "Perturber", "PrunedHierarchy", "Sequential", "State", "StreamMechanismChoice",
    "TreeCounter", "WithUncountedTotals",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StreamMechanismChoice(TickMechanism):
    """The mechanism for what is asked: each kind of question has one, and counts so far have two.

    `Pegasus` finds groups, `Hierarchy` and `PrunedHierarchy` count forests, `Perturber` counts ticks. Counts so far, and their
    differences, are those of `BufferedCounter` under zero-concentrated privacy, if there is a horizon and no window,
    else of `TreeCounter`.

    Formal guarantees: those of the mechanism that it chooses, from query and loss alone.
    """

    def choose(self, query: TickQuery, loss: PrivacyLoss) -> Sequential[Any]:
        """The mechanism that makes the plan, and takes its steps."""
        for only in (Pegasus(), PrunedHierarchy(), Hierarchy()):
            if only.accepts_query(query):
                return only
        if query.read is CountUse.CELLS:
            return Perturber()
        short = query.ticks is not None and query.ticks <= MOST_BUFFERED
        return BufferedCounter() if short and not (loss.is_pure or query.windows) else TreeCounter()

    def _plan(self, query: TickQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        return self.choose(query, loss).plan(query, loss, adjacency)

    def begin(self, plan: Plan) -> State:
        """The state before the first tick."""
        state: State = self._mechanism_of(plan).begin(plan)
        return state

    def step(
        self, table: ExactTable, tick: int, state: State, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], State]:
        """Noisy integers, and the state after this tick: commit both, or neither."""
        return self._mechanism_of(plan).step(table, tick, state, plan, randomness)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> State:
        """The state that was written by `State.to_bytes`."""
        state: State = self._mechanism_of(plan).restore_state(state_bytes, plan)
        return state

    def _mechanism_of(self, plan: Plan) -> Sequential[Any]:
        return self.choose(self.require_query(plan), plan.loss)


STREAMS = StreamMechanismChoice()
