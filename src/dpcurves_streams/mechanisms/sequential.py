"""The interface of mechanisms that answer tick by tick, and what they remember from one tick to the next."""

from __future__ import annotations

import json
from typing import Any, Protocol, TypeVar

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan
from dpcurves.mechanisms import ExactTable
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query

FORMAT = 1
"""The form in which states are written. What is written otherwise needs another number."""


class State(Protocol):
    """SECRET: what has to be remembered from one tick to the next. It has no repr, and equal states equal bytes.

    It may hold exact counts and noise, so it is kept encrypted, outlives its tick nowhere, and is replaced in the
    transaction that stores the answer of its tick.

    Attributes:
        tick: The last tick that was answered; 0 before the first.
    """

    @property
    def tick(self) -> int: ...

    def to_bytes(self) -> bytes:
        """The whole state, the same bytes on every machine."""
        ...


Kept = TypeVar("Kept", bound=State)


class Sequential(Protocol[Kept]):
    """Public facts in `plan`, secrets in `step`; ticks are numbered 1, 2, 3, ...

    Formal guarantees: `plan`, `begin` and `restore_state` are pure functions, and `step` is one of its arguments and of what
    it draws from `randomness`. The answers of all ticks together lose at most ``plan.loss`` under ``plan.adjacency``,
    if the plan is one that this mechanism made, the first step has the state of `begin`, every other one that of the
    step before, and no step is taken twice with both answers shown. Neighbouring streams differ, over all their ticks
    and cells together, by as many tuples that come or go as ``adjacency.l1_sensitivity`` says; counts of a tick may
    depend on answers of ticks before. Under add-remove, a unit of which only m of K tuples lie in the table loses at
    most m / K of epsilon, and ``(m / K)**2`` of rho, as noise is calibrated for one tuple and then K times as large:
    `WithUncountedTotals` needs that. What is remembered is not covered: who reads it may know exact counts.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of a release. Raises `UnsupportedQuery`; touches no data."""
        ...

    def begin(self, plan: Plan) -> Kept:
        """The state before the first tick."""
        ...

    def step(
        self, table: ExactTable, tick: int, state: Kept, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Kept]:
        """Noisy integers in the order of ``plan.law``, and the state after this tick: commit both, or neither.

        Args:
            table: SECRET: the exact count of each cell of the query in the window that this tick closes.
            tick: Its number: one above that of the state.
            state: SECRET: what the step before returned, or `begin`.
            plan: What is done.
            randomness: Where all noise comes from.

        Raises:
            ValueError: the state is of another tick.
        """
        ...

    def restore_state(self, state_bytes: bytes, plan: Plan) -> Kept:
        """The state that was written by `State.to_bytes`.

        Raises:
            ValueError: it is not what this mechanism writes under this plan.
        """
        ...


def require_next(tick: int, state: State) -> None:
    """Refuse a state of another tick: to go on from it would skip a tick, or answer one twice."""
    if tick != state.tick + 1:
        raise InvalidArgument(
            "state", f"tick {tick} needs the state of tick {tick - 1}; this one is of tick {state.tick}"
        )


def encode_state(kind: str, facts: dict[str, Any]) -> bytes:
    """A state as canonical JSON."""
    return json.dumps({"state": kind, "format": FORMAT, **facts}, sort_keys=True, separators=(",", ":")).encode()


def decode_state(kind: str, state_bytes: bytes) -> dict[str, Any]:
    """Decode a written state. Raises `ValueError` if it is another state or format, or damaged; tells no value."""
    try:
        facts: dict[str, Any] = json.loads(state_bytes)
        if isinstance(facts, dict) and facts.pop("state") == kind and facts.pop("format") == FORMAT:
            return facts
    except (ValueError, KeyError):
        pass
    raise InvalidArgument("state", f"what is stored is no state of {kind} in format {FORMAT}")
