"""Central differential privacy for streams: a trusted curator sees the tuples, and releases noisy counts at each step.

Each tuple (row) of a stream falls into one time step. A step's window closes when no more tuples are accepted for it;
then its exact counts are known, and are released with noise. The methods of `CentralStream`, in the order of use:

    plan            public: noise distribution and loss of all steps, before any tuple
    open_stream     the state before the first step, or a stored state
    step            exact counts of the next closed window -> its release, and the state after it
    encode_state    the state as bytes, to be stored

The caller stores the release and the state of a step in one transaction, before it shows the release or takes the next
step. So no step is ever released twice with different noise.

Formal guarantees: all steps together lose at most ``plan.loss``, under the conditions at `CentralStream`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan, Release
from dpcurves.ledger import Allotment, StreamState
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.trust.base import require_charged
from dpcurves_streams.mechanisms.sequential import Sequential, State, require_next
from dpcurves_streams.queries import TimeStepQuery


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StreamMechanismState:
    """SECRET. The state of a stream's mechanism after a time step.

    It has no repr, so that no log shows it.

    Attributes:
        state: The state, of a class of the mechanism; it may hold exact counts and noise.
    """

    state: Any


@dataclass(frozen=True, slots=True)
class CentralStream:
    """A curator who runs a mechanism on one closed window after the other.

    Formal guarantees: all releases of one stream together lose at most ``plan.loss`` under ``plan.adjacency``. The
    condition: release and state of each time step are stored together, once, before the release is shown and before the
    next step. The caller of `step` must see to this. A release that was not stored is never shown, and is drawn again.

    Attributes:
        mechanism: The mechanism of all steps.
    """

    mechanism: Sequential[Any]

    def plan(self, query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the curator's plan for a query of a stream, from public facts alone.

        Args:
            query: The counts of each time step.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation: which two streams the loss is about.

        Returns:
            The plan, with the noise distribution and the expected error of all steps.

        Raises:
            UnsupportedQuery: The mechanism cannot answer the query.
        """
        plan = self.mechanism.plan(query, loss, adjacency)
        return replace(plan, made_by=f"one curator: {plan.made_by}")

    def open_stream(self, plan: Plan, standing: StreamState | None) -> StreamMechanismState:
        """Return the mechanism's state from which the next step of the stream continues.

        Args:
            plan: Plan of the stream.
            standing: Stored state after the last released step; None: the stream begins.

        Raises:
            ValueError: The state does not belong to the last time step, or to this mechanism and plan.
        """
        if standing is None:
            return StreamMechanismState(self.mechanism.begin(plan))
        state: State = self.mechanism.restore_state(standing.state, plan)
        if state.time_step != standing.time_step:
            raise InvalidArgument(
                "state",
                f"the stored state is of step {state.time_step}, but step {standing.time_step} was released"
                " last; restore the newer state",
            )
        return StreamMechanismState(state)

    def require_next(self, stream_state: StreamMechanismState, time_step: int) -> None:
        """Check that a window of exact counts is the next one to release, since its counts would else appear under
        another step.

        Args:
            stream_state: State after the last released step.
            time_step: Number of the window's step, from 1.

        Raises:
            ValueError: The window is not the next one.
        """
        require_next(time_step, stream_state.state)

    def step(
        self,
        plan: Plan,
        stream_state: StreamMechanismState,
        table: ExactTable,
        allotment: Allotment,
        randomness: Randomness,
    ) -> tuple[Release, StreamMechanismState]:
        """Release the next time step: add noise to its exact counts, and return the state for the step after it.

        The caller must store the release and the state in one transaction before anything is shown.

        Args:
            plan: Plan of the stream.
            stream_state: SECRET. State after the step before.
            table: SECRET. Exact count of each cell in the window.
            allotment: The part of a charged budget that pays for the plan, once for all steps.
            randomness: Source of the noise.

        Returns:
            The release, and the state after this step.

        Raises:
            ValueError: The allotment pays for another loss than the plan's.
        """
        require_charged(allotment, plan)
        before: State = stream_state.state
        values, state = self.mechanism.step(table, before.time_step + 1, before, plan, randomness)
        return Release(plan, values, allotment, randomness.is_seeded), StreamMechanismState(state)

    def encode_state(self, stream_state: StreamMechanismState) -> bytes:
        """SECRET. Return the mechanism's state as bytes. The store must encrypt them.

        Args:
            stream_state: State between two time steps.
        """
        stored: bytes = stream_state.state.to_bytes()
        return stored
