"""The interface of mechanisms, which answer a query at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arguments import WrongArgumentType
from ..conversation import Plan, UnsupportedQuery
from ..noise.randomness import Memory, Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import Query

ExactTable = NDArray[np.int64] | NDArray[np.object_]
"""The flat table of a query, missing cell last: 64-bit integers, or Python's own where these are too short."""

Counter = Callable[[tuple[int, ...]], Sequence[int]]
"""SECRET: exact numbers of records in the first slots, so many for each entry, and behind them of missing records."""


@runtime_checkable
class Mechanism(Protocol):
    """Public facts in `plan`, secrets in `run`.

    Formal guarantees: `plan` is a pure function. `run` loses at most ``plan.loss`` under ``plan.adjacency``, if the
    plan is one that this mechanism made; its values are one draw of ``plan.law``.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of a release. Raises `UnsupportedQuery`; touches no data."""
        ...

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Noisy integers in the order of ``plan.law``."""
        ...


@runtime_checkable
class LazyMechanism(Protocol):
    """A mechanism that answers in parts what was paid for once, and remembers its answers.

    Formal guarantees: `plan` is a pure function. All answers under one paid part together lose at most ``plan.loss``
    under ``plan.adjacency``, if plans are those that this mechanism makes of queries with one `paid_as`, the memory is
    that of the paid part, and the records do not change. The values are drawn from ``plan.law``, and the same ones
    whenever the same is asked.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of a release. Raises `UnsupportedQuery`; touches no data."""
        ...

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Noisy integers in the order of ``plan.law``; all that is needed to give them again is noted before."""
        ...


class QueryMechanism:
    """Base of mechanisms for queries of some kinds: any other one is refused here, before anything is planned.

    Attributes:
        query_types: The kinds of queries.
        display_name: The name of the mechanism in refusals.
        refusal_template: What is said of another `kind` of query.
    """

    __slots__ = ()

    query_types: ClassVar[tuple[type[Query], ...]]
    display_name: ClassVar[str]
    refusal_template: ClassVar[str] = "{called} cannot answer {kind}"

    def accepts_query(self, query: Query) -> bool:
        """Tell whether a query is of a kind that this mechanism answers."""
        return isinstance(query, self.query_types)

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of a release. Raises `UnsupportedQuery`; touches no data."""
        if not self.accepts_query(query):
            raise UnsupportedQuery(
                "question", self.refusal_template.format(called=self.display_name, kind=type(query).__name__)
            )
        return self._plan(query, loss, adjacency)

    def _plan(self, query: Any, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        raise NotImplementedError

    def require_query(self, plan: Plan) -> Any:
        """The query of a plan that such a mechanism made.

        Raises:
            TypeError: it is of another kind.
        """
        if not self.accepts_query(plan.query):
            raise WrongArgumentType("plan", f"a plan of {self.display_name} is needed, not one made by {plan.made_by}")
        return plan.query
