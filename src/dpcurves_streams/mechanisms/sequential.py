"""Interface of mechanisms that answer time step by time step, and of their state between steps.

A stream is released in a fixed order, each step from its exact counts and from the state that the step before left:

    state_0             = begin(plan)
    released_t, state_t = step(counts of step t, t, state_(t - 1), plan, randomness)        t = 1, 2, 3, ...

The release and the state of a step are stored in one transaction: a step that was taken twice, with both releases
shown, would lose more than the plan says. A state may hold exact counts, so it is stored encrypted.

Formal guarantees: all steps together lose at most ``plan.loss``; conditions at `Sequential`.

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
"""Version number of the serialised states. A change of the encoding needs a new number."""


class State(Protocol):
    """SECRET: what a mechanism remembers between steps. It has no repr; equal states have equal bytes.

    A state may hold exact counts and noise. So it is stored encrypted, and replaced in the transaction that stores the
    release of its step.

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


class Sequential(Protocol[Kept]):
    """Interface of sequential mechanisms. `plan` is public, `step` is SECRET; steps are numbered 1, 2, 3, ...

    Formal guarantees: `plan`, `begin` and `restore_state` are pure functions; `step` is a function of its arguments and
    of its draws from `randomness`. The releases of all steps together lose at most ``plan.loss`` under
    ``plan.adjacency`` if this mechanism made the plan, the first step gets the state of `begin`, every other step the
    state of the step before, and no step is taken twice with both releases shown. Neighbouring streams differ, over all
    steps and cells together, by at most ``adjacency.l1_sensitivity`` tuples that are added or removed; counts of a step
    may depend on earlier releases. Under add-remove, a unit with only m of K tuples in the table loses at most m / K of
    epsilon, or ``(m / K)**2`` of rho, because noise is calibrated for one tuple and then scaled by K:
    `WithUncountedTotals` relies on this. The state is not covered: a reader of the state may learn exact counts.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a release. Raises `UnsupportedQuery`; touches no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        ...

    def begin(self, plan: Plan) -> Kept:
        """Return the state before the first step, a function of the plan alone."""
        ...

    def step(
        self, table: ExactTable, time_step: int, state: Kept, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Kept]:
        """Return noisy integers in the order of ``plan.distribution``, and the state after this step: commit both, or
        neither.

        Args:
            table: SECRET: exact count of each cell of the query in the window that this step closes.
            time_step: Number of the step, one above the state's.
            state: SECRET: state returned by the step before, or by `begin`.
            plan: Plan of the release.
            randomness: Source of all noise.

        Raises:
            ValueError: the state belongs to another step.
        """
        ...

    def restore_state(self, state_bytes: bytes, plan: Plan) -> Kept:
        """Parse a state written by `State.to_bytes`.

        Raises:
            ValueError: this mechanism does not write such a state under this plan.
        """
        ...


def require_next(time_step: int, state: State) -> None:
    """Refuse a state of another step, which would skip a step or release one twice."""
    if time_step != state.time_step + 1:
        raise InvalidArgument(
            "state",
            f"step {time_step} needs the state of step {time_step - 1}, got the state of step {state.time_step};"
            " pass the state that the previous step returned",
        )


def encode_state(kind: str, facts: dict[str, Any]) -> bytes:
    """Return a state's kind and facts as canonical JSON in bytes. SECRET if the facts are."""
    return json.dumps({"state": kind, "format": STATE_FORMAT, **facts}, sort_keys=True, separators=(",", ":")).encode()


def decode_state(kind: str, state_bytes: bytes) -> dict[str, Any]:
    """Return the facts of bytes that `encode_state` wrote. Raises `ValueError` for another kind or format, or damaged
    bytes; shows no value.
    """
    try:
        facts: dict[str, Any] = json.loads(state_bytes)
        if isinstance(facts, dict) and facts.pop("state") == kind and facts.pop("format") == STATE_FORMAT:
            return facts
    except (ValueError, KeyError):
        pass
    raise InvalidArgument(
        "state",
        f"the stored bytes are not a state of {kind} in format {STATE_FORMAT}; restore those of the last step",
    )
