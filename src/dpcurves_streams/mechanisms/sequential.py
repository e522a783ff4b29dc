"""Interface of continual-release mechanisms (differential privacy of streams), and serialisation of their state.

A stream is a sequence of tuples (rows) in time steps. A mechanism, `Sequential`, adds noise to the exact counts of each
step. Its plan is public: the query, the noise and the privacy loss of all steps together.

Steps are released in order. Each one depends on its exact counts and on the state that the step before left:

    state_0             = begin(plan)
    released_t, state_t = step(counts of step t, t, state_(t - 1), plan, randomness)        t = 1, 2, 3, ...

Release and state of a step are stored in one transaction: if a step were taken twice and both releases shown, more than
the plan's loss would be lost. A state may hold exact counts, so it is stored encrypted.

Formal guarantees: all steps together lose at most ``plan.loss``, under the conditions at `Sequential`.

>>> stored = encode_state("memoryless noise", {"time_step": 3})
>>> decode_state("memoryless noise", stored)
{'time_step': 3}
"""

from __future__ import annotations

import json
from typing import Any, Protocol, TypeVar

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query

STATE_FORMAT = 1
"""Version number of the serialised states; a state of another version is refused. A change of the encoding needs a new
number."""


class State(Protocol):
    """SECRET: interface of what a mechanism remembers between steps.

    A state may hold exact counts and noise. So it has no repr, is stored encrypted, and is replaced in the transaction
    that stores the release of its step. Equal states have equal bytes.

    Attributes:
        time_step: Last step that was released; 0 before the first.
    """

    @property
    def time_step(self) -> int:
        """The last step that was released; 0 before the first."""
        ...

    def to_bytes(self) -> bytes:
        """SECRET: return the state as bytes, the same on every machine."""
        ...


Kept = TypeVar("Kept", bound=State)
"""Type of a mechanism's state."""


class Sequential(Protocol[Kept]):
    """The interface of mechanisms of streams. `plan` is public, `step` is SECRET; steps are numbered 1, 2, 3, ...

    Formal guarantees: the releases of all steps together lose at most ``plan.loss`` under ``plan.adjacency``.
    Conditions: this mechanism made the plan; the first step gets the state of `begin`, and every other step the state
    of the step before; no step is taken twice with both releases shown. `plan`, `begin` and `restore_state` must be
    pure functions, and `step` a function of its arguments and of its draws from `randomness`.

    Neighbouring streams differ, over all steps and cells together, by at most ``adjacency.l1_sensitivity`` tuples that
    are added or removed. Counts of a step may depend on earlier releases. The state is not covered: a reader of the
    state may learn exact counts.

    Under add-remove, a unit with only m of K tuples in the table must lose at most m / K of epsilon, or ``(m / K)**2``
    of rho. This holds because noise is calibrated for one tuple and then scaled by K; `WithUncountedTotals` relies on
    it.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a stream, from public facts alone.

        Args:
            query: The counts of each time step.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation: which two streams the loss is about.

        Raises:
            UnsupportedQuery: This mechanism cannot answer the query.
        """
        ...

    def begin(self, plan: Plan) -> Kept:
        """Return the state before the first step, a function of the plan alone.

        Args:
            plan: Plan of the stream.
        """
        ...

    def step(
        self, table: ExactTable, time_step: int, state: Kept, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Kept]:
        """Release one time step: add noise to its counts. The caller stores release and state together, or neither.

        Args:
            table: SECRET: exact count of each cell of the query in the window that this step closes.
            time_step: Number of the step, one above the state's.
            state: SECRET: state returned by the step before, or by `begin`.
            plan: Plan of the release.
            randomness: Source of all noise.

        Returns:
            Noisy integers in the order of ``plan.distribution``, and the state after this step.

        Raises:
            ValueError: The state belongs to another step.
        """
        ...

    def restore_state(self, state_bytes: bytes, plan: Plan) -> Kept:
        """Parse a state written by `State.to_bytes`.

        Args:
            state_bytes: SECRET: the stored bytes.
            plan: Plan of the release.

        Raises:
            ValueError: This mechanism does not write such a state under this plan.
        """
        ...


def require_next(time_step: int, state: State) -> None:
    """Check that a mechanism's state was left by the step before, so that no step is skipped or released twice.

    Args:
        time_step: Number of the step to take, from 1.
        state: State that the step before returned.

    Raises:
        ValueError: The state is of another step.
    """
    if time_step != state.time_step + 1:
        raise InvalidArgument(
            "state",
            f"step {time_step} needs the state of step {time_step - 1}, got the state of step {state.time_step};"
            " pass the state that the previous step returned",
        )


def encode_state(kind: str, fields: dict[str, Any]) -> bytes:
    """Serialise a state as canonical JSON, so that equal states have equal bytes. SECRET if the fields are.

    Args:
        kind: Name of the mechanism's kind of state.
        fields: Fields of the state, with values that JSON can hold.
    """
    return json.dumps({"state": kind, "format": STATE_FORMAT, **fields}, sort_keys=True, separators=(",", ":")).encode()


def decode_state(kind: str, state_bytes: bytes) -> dict[str, Any]:
    """Return the fields of a state that `encode_state` wrote.

    Args:
        kind: Name of the mechanism's kind of state.
        state_bytes: The bytes.

    Raises:
        ValueError: The bytes are of another kind or format, or damaged. The message shows no value.
    """
    try:
        fields: dict[str, Any] = json.loads(state_bytes)
        if isinstance(fields, dict) and fields.pop("state") == kind and fields.pop("format") == STATE_FORMAT:
            return fields
    except (ValueError, KeyError):
        pass
    raise InvalidArgument(
        "state",
        f"the stored bytes are not a state of {kind} in format {STATE_FORMAT}; restore those of the last step",
    )
