"""The interface of mechanisms, which answer a query at once.

    plan(query, loss, adjacency)       public: noise distribution, price and expected error, or `UnsupportedQuery`
    run(table, plan, randomness)       SECRET: one draw of the distribution around the exact table

`Mechanism` answers at once; `LazyMechanism` is paid once and answers in parts, and stores what it drew.
`QueryMechanism` refuses queries of other types before anything is planned.

Formal guarantees: `plan` is a pure function of public facts; `run` loses at most ``plan.loss`` under
``plan.adjacency``.
"""

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
"""The flat table of a query, missing cell last: 64-bit integers, or Python integers if these could overflow."""

Counter = Callable[[tuple[int, ...]], Sequence[int]]
"""SECRET: exact numbers of records in the first slots, one per given length, then the number of missing records."""


@runtime_checkable
class Mechanism(Protocol):
    """A mechanism with public facts in `plan` and secrets in `run`.

    Formal guarantees: `plan` is a pure function. `run` loses at most ``plan.loss`` under ``plan.adjacency`` for plans
    of this mechanism; its values are one draw of ``plan.distribution``.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a release. Raises `UnsupportedQuery`; touches no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        ...

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy integers in the order of ``plan.distribution``.

        Args:
            table: Exact numbers of the query. SECRET.
            plan: The plan that `plan` returned for this query.
            randomness: Source of the noise.
        """
        ...


@runtime_checkable
class LazyMechanism(Protocol):
    """A mechanism that is paid for once, answers in parts, and stores its answers.

    Formal guarantees: `plan` is a pure function. All answers under one payment together lose at most ``plan.loss``
    under ``plan.adjacency`` if their plans are plans of this mechanism for queries with one `charged_query`, the memory
    belongs to the payment, and the records do not change. The values are draws of ``plan.distribution``; equal requests
    get equal values.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a release. Raises `UnsupportedQuery`; touches no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        ...

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy integers in the order of ``plan.distribution``, after storing the sums that later answers reuse.

        Args:
            count: Function of prefix lengths that returns exact numbers of records. SECRET.
            plan: The plan that `plan` returned for the query.
            memory: Noisy sums that earlier answers used. SECRET.
            randomness: Source of the noise of new sums.
        """
        ...


class QueryMechanism:
    """Base of mechanisms for some types of queries; other queries are refused before anything is planned.

    Attributes:
        query_types: The types of queries.
        display_name: Name of the mechanism in messages.
        refusal_template: Message about another `kind` of query.
    """

    __slots__ = ()

    query_types: ClassVar[tuple[type[Query], ...]]
    display_name: ClassVar[str]
    refusal_template: ClassVar[str] = "{called} cannot answer {kind}"

    def accepts_query(self, query: Query) -> bool:
        """Return True if the query is of one of `query_types`; overrides ask for more."""
        return isinstance(query, self.query_types)

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a release by this mechanism; touches no data. Raises `UnsupportedQuery` for other types of
        queries.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        if not self.accepts_query(query):
            raise UnsupportedQuery(
                "question", self.refusal_template.format(called=self.display_name, kind=type(query).__name__)
            )
        return self._plan(query, loss, adjacency)

    def _plan(self, query: Any, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a release for a query of an accepted type; every mechanism overrides it. Raises
        `UnsupportedQuery` if the loss is too small.
        """
        raise NotImplementedError

    def require_query(self, plan: Plan) -> Any:
        """Return the query of a plan of this type of mechanism.

        Raises:
            TypeError: the query is of another type.
        """
        if not self.accepts_query(plan.query):
            raise WrongArgumentType(
                "plan",
                f"a plan of {self.display_name} is needed, not one made by {plan.made_by}; answer it with the "
                "mechanism that made it",
            )
        return plan.query
