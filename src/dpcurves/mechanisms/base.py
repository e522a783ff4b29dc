"""Interfaces of privacy mechanisms: noise is planned from public facts, then added to the exact answer of a query.

    plan(query, loss, adjacency)       public: chooses the noise and predicts the error; reads no records
    run(table, plan, randomness)       SECRET: adds one sample of the noise to the exact table

`Mechanism` is the interface for queries that are answered at once. `LazyMechanism` is the interface for queries that
are charged once and answered in parts; it stores the noisy sums that later parts reuse. `QueryMechanism` is the base
class of most mechanisms. It refuses queries of other types before it plans anything.

Formal guarantees: `run` is differentially private with loss ``plan.loss`` under the adjacency ``plan.adjacency``; each
mechanism proves that for its noise. `plan` is a pure function of its public arguments, so planning costs no budget.
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
"""The flat array of a query's exact integers, missing cell last: of 64 bits, or Python integers if these could
overflow.
"""

Counter = Callable[[tuple[int, ...]], Sequence[int]]
"""SECRET. Function from lengths of prefixes to exact numbers of records: those in the first slots (cells in order), one
number per length, then the number of missing records.
"""


@runtime_checkable
class Mechanism(Protocol):
    """Interface of a mechanism that answers a query at once.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``, if the plan was made by this
    mechanism. Its values are one sample from the distribution ``plan.distribution``. `plan` is a pure function of
    public facts and costs no budget.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise for a query, and return the plan of the release. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query: an epsilon of pure DP, or a rho of zCDP, with a delta where that is
                needed.
            adjacency: Neighbouring relation of the guarantee: add-remove or replace-one, with the contribution bound of
                a unit.

        Raises:
            UnsupportedQuery: the mechanism cannot answer the query, or not with this loss.
        """
        ...

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy integers in the order of ``plan.distribution``: one sample of the mechanism's output.

        Args:
            table: SECRET. Exact integers of the query, flat; for counts of cells, missing records are the last entry.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits. Only the operating system's protects records; a seed is for tests.
        """
        ...


@runtime_checkable
class LazyMechanism(Protocol):
    """Interface of a mechanism that is charged once, answers in parts, and stores its noisy sums.

    Formal guarantees: all answers under one charge together lose at most ``plan.loss`` under ``plan.adjacency``. Three
    conditions must hold: the plans are of this mechanism, for queries with one `charged_query`; the memory belongs to
    the charge; the records do not change. Values are samples from ``plan.distribution``. Equal requests get equal
    values, so repeated requests cannot average the noise away. `plan` is a pure function of public facts and costs no
    budget.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise for a query, and return the plan of the release. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of all answers under one charge: an epsilon of pure DP, or a rho of zCDP.
            adjacency: Neighbouring relation of the guarantee: add-remove or replace-one, with the contribution bound of
                a unit.

        Raises:
            UnsupportedQuery: the mechanism cannot answer the query, or not with this loss.
        """
        ...

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Store new noisy sums, then return noisy integers in the order of ``plan.distribution``.

        Args:
            count: SECRET. Function of prefix lengths, in slots, that returns exact numbers of records.
            plan: The plan that `plan` returned for the query.
            memory: SECRET. Noisy sums that earlier answers under this charge used.
            randomness: Source of random bits for the noise of new sums.
        """
        ...


class QueryMechanism:
    """Base class of mechanisms that answer some types of queries and refuse all others before planning.

    A subclass sets the three class attributes, and implements `_plan` and `run`.

    Attributes:
        query_types: The types of queries that this mechanism answers.
        display_name: Name of the mechanism in messages.
        refusal_template: Message about a query of another type, with the fields ``called`` and ``kind``.
    """

    __slots__ = ()

    query_types: ClassVar[tuple[type[Query], ...]]
    display_name: ClassVar[str]
    refusal_template: ClassVar[str] = "{called} cannot answer {kind}"

    def accepts_query(self, query: Query) -> bool:
        """Return True if the mechanism can answer this query; decided by the query's type, unless a subclass checks
        more.

        Args:
            query: The query.
        """
        return isinstance(query, self.query_types)

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Refuse a query of another type, or return the plan of a release. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query: an epsilon of pure DP, or a rho of zCDP, with a delta where that is
                needed.
            adjacency: Neighbouring relation of the guarantee: add-remove or replace-one, with the contribution bound of
                a unit.

        Raises:
            UnsupportedQuery: the query is of another type, or the mechanism cannot answer it with this loss.
        """
        if not self.accepts_query(query):
            raise UnsupportedQuery(
                "question", self.refusal_template.format(called=self.display_name, kind=type(query).__name__)
            )
        return self._plan(query, loss, adjacency)

    def _plan(self, query: Any, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise for a query of an accepted type, and return the plan of the release; each mechanism
        overrides this.

        Args:
            query: A query that `accepts_query` accepts.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee, with the contribution bound of a unit.

        Raises:
            UnsupportedQuery: the loss is too small for this query.
        """
        raise NotImplementedError

    def require_query(self, plan: Plan) -> Any:
        """Return the query of a plan, after a check that this mechanism can answer its type.

        Args:
            plan: Plan of a release.

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
