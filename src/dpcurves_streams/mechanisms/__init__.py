"""Mechanisms that release counts of a stream step by step (continual counting), and the choice among them.

`STREAMS` chooses the mechanism of a question from its query and its privacy loss. `Sequential` is the interface that a
mechanism implements: it takes the exact counts of one time step after the other, and returns noisy integers.

Formal guarantees: each mechanism has its own proof, at its class. The choice depends on query and loss only, so it
reveals nothing about data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcurves.conversation import Plan
from dpcurves.distributions.p_identity import LEAST_CELLS, most_cells
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import CountUse

from ..queries import TimeStepQuery
from .counters import BufferedCounter, TreeCounter
from .hierarchy import Hierarchy, Perturber, PrunedHierarchy, TimeStepMechanism
from .p_identity import PIdentityCounter
from .pegasus import Pegasus
from .sequential import Sequential, State
from .with_uncounted import WithUncountedTotals

__all__ = [
    "STREAMS", "BufferedCounter", "Hierarchy", "PIdentityCounter", "Pegasus", "Perturber", "PrunedHierarchy",
    "Sequential", "State", "StreamMechanismChoice", "TreeCounter", "WithUncountedTotals",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StreamMechanismChoice(TimeStepMechanism):
    """Chooses the mechanism of a stream from the query and the loss.

        groups of steps                               `Pegasus`
        forests                                       `PrunedHierarchy`, `Hierarchy`
        counts of single steps                        `Perturber`
        running totals with windows                   `TreeCounter`
        running totals, zero-concentrated loss        `BufferedCounter`
        running totals, pure loss, known horizon      `PIdentityCounter`, if a strategy is stored for this horizon
        all others                                    `TreeCounter`

    Formal guarantees: the guarantees of the chosen mechanism, because the choice depends on query and loss only.
    """

    def choose(self, query: TimeStepQuery, loss: PrivacyLoss) -> Sequential[Any]:
        """Return the mechanism for a query of a stream under this loss, by the table of the class.

        Args:
            query: The query.
            loss: The loss of all steps together.
        """
        for mechanism in (Pegasus(), PrunedHierarchy(), Hierarchy()):
            if mechanism.accepts_query(query):
                return mechanism
        if query.read is CountUse.CELLS:
            return Perturber()
        if query.windows:
            return TreeCounter()
        if not loss.is_pure:
            return BufferedCounter()
        has_strategy = query.time_steps is not None and LEAST_CELLS <= query.time_steps <= most_cells()
        return PIdentityCounter() if has_strategy else TreeCounter()

    def _plan(self, query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of the chosen mechanism; touches no data.

        Args:
            query: Query of the stream, for each of its time steps.
            loss: Loss of the whole stream.
            adjacency: Neighbouring tables that the loss is about.
        """
        return self.choose(query, loss).plan(query, loss, adjacency)

    def begin(self, plan: Plan) -> State:
        """Return the state of the chosen mechanism before the first step.

        Args:
            plan: Plan of the stream.
        """
        state: State = self._mechanism_of(plan).begin(plan)
        return state

    def step(
        self, table: ExactTable, time_step: int, state: State, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], State]:
        """Return noisy integers, and the state after this step. The caller stores both together, or neither.

        Args:
            table: SECRET. Exact counts of the time step.
            time_step: Number of the time step, from 1.
            state: SECRET. State after the step before.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            Released integers in the order of the plan's distribution; state for the next step.
        """
        return self._mechanism_of(plan).step(table, time_step, state, plan, randomness)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> State:
        """Return the state of the chosen mechanism from the bytes that its `to_bytes` wrote.

        Args:
            state_bytes: Output of the state's `to_bytes`.
            plan: Plan of the stream.
        """
        state: State = self._mechanism_of(plan).restore_state(state_bytes, plan)
        return state

    def _mechanism_of(self, plan: Plan) -> Sequential[Any]:
        """Return the mechanism that made a plan, by the same choice from its query and loss.

        Args:
            plan: Plan of the stream.
        """
        return self.choose(self.require_query(plan), plan.loss)


STREAMS = StreamMechanismChoice()
"""The chooser that all streams use unless the user names a mechanism."""
