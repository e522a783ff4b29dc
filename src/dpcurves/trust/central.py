"""SECRET. Central differential privacy: one trusted curator sees all records and adds the noise once.

Also called: trusted curator, trusted aggregator (Dwork and Roth 2014, section 2.1; NIST SP 800-226, trust models).

    Central.plan          workload (the counts that a question needs) -> queries, in one or several rounds
    Central.plan_query    query, loss -> mechanism and noise; by default `AUTO` chooses, from public facts
    Central.run           plan, records -> `Release`: contribution bound, exact counts, one sample of the mechanism

`run` needs a receipt that the plan's loss was charged. Noise that later answers reuse is stored with the charge
(`Curator`), so no count is ever shown with two noises.

Formal guarantees: a release loses at most its plan's loss, because it is one run of a mechanism with that loss on
exact, bounded counts; see `Central`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from operator import is_
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import IntArray
from ..conversation import Plan, Release, Setting, Strategy, UnsupportedQuery, Workload, fingerprint
from ..ledger import Allotment
from ..mechanisms import AUTO, LazyMechanism, Mechanism, MechanismChoice, add_noise_to_reasons, add_reasons
from ..noise.randomness import Memory, Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import MOST_COUNTED, CountQuery, PartitionQuery, Query
from ..strategies import ADAPTIVE_STRATEGIES, ONE_ROUND_STRATEGIES, choose_strategy
from .base import Answer, require_charged

if TYPE_CHECKING:
    from ..records import Records


MOST_STORED = 2**20
"""Counts. The exact counts of smaller tables are kept in memory between the rounds of a question; larger ones are
counted again in each round."""


class CountedTable:
    """SECRET. Exact counts of the cells that a question counted last, for its further rounds. It has no repr.

    Rounds of a question often release sums of the same cells. The records are then read once, and all of these rounds
    use one state of the records.
    """

    __slots__ = ("_axes", "_reasons", "_records", "_table")

    def __init__(self) -> None:
        self._records: Records | None = None
        self._axes: Sequence[object] = ()
        self._table: NDArray[Any] | None = None
        self._reasons: IntArray | None = None

    def __repr__(self) -> str:
        return "CountedTable(hidden)"

    def tabulate(self, records: Records, query: Query) -> NDArray[Any]:
        """SECRET: return the exact table of a query, from cached counts if these are of the query's axes and records.

        Args:
            records: The records.
            query: The query of a round. Public.
        """
        from ..records import tabulate

        if type(query) not in {CountQuery, PartitionQuery}:  # queries whose table is the counts of all cells
            return tabulate(records, query)
        self._forget_other_cells(records, query.axes)
        if self._table is None:
            table = tabulate(records, query)
            if table.size > MOST_STORED:
                return table
            self._table = table
        return self._table.copy()  # a mechanism may change its table

    def count_reasons(self, records: Records, query: Query) -> IntArray:
        """SECRET: return the exact numbers of missing records by reason, from cached counts if these are of the query's
        axes and records.

        Args:
            records: The records.
            query: The query of a round. Public.
        """
        self._forget_other_cells(records, query.axes)
        if self._reasons is None:
            self._reasons = records.missing_reasons(query.axes)
        return self._reasons

    def _forget_other_cells(self, records: Records, axes: Sequence[object]) -> None:
        """Drop the cached counts unless they are of these axes and records.

        Axes are compared by identity, because categories may be equal and count other values, as 1 and True.

        Args:
            records: The records of the next query.
            axes: Axes of the next query.
        """
        is_same = self._records is records and len(self._axes) == len(axes) and all(map(is_, self._axes, axes))
        if not is_same:
            self._records, self._axes, self._table, self._reasons = records, axes, None, None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Curator:
    """SECRET. The one party that holds the records, with the noise that was sampled for them. It has no repr.

    Attributes:
        records: The records that are counted.
        memory: Noisy sums that were released under the current charge; later prefix counts use them again.
        counted: Exact counts that earlier rounds of the same question needed.
    """

    records: Records
    memory: Memory
    counted: CountedTable = field(default_factory=CountedTable)


SEEDED_FIELD = "seeded"
"""Field of a charge's stored noise: 1 if it comes from a seed, 0 if from the operating system. A round with noise of
the other kind is refused."""
PAID_FIELD = "paid"
"""Field of a charge's stored noise: the first 60 bits of the fingerprint of the query that was paid for. Another query
is refused."""


@dataclass(frozen=True, slots=True)
class Central:
    """The trust model of one curator, who may run any mechanism.

    Formal guarantees: a release is one run of a mechanism on the exact table of the plan's query. The contribution
    bound is enforced before counting. So the release loses at most ``plan.loss`` under ``plan.adjacency``. Prefix
    counts lose that much together, however many are asked under one charge.

    Attributes:
        mechanism: The mechanism that adds the noise; `AUTO` chooses one for each query.
        engine: Name of the engine that counts the records where they are stored, if not the curator's own: it is
            trusted too.
        tells_reasons: True if missing records are also counted by reason, as for lines of CSV; see `add_reasons`.
    """

    mechanism: Mechanism | LazyMechanism = AUTO
    engine: str = ""
    tells_reasons: bool = False

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of the parties that hold records: a single curator, who sees all of them."""
        return (Curator,)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the strategy that answers a workload within a loss.

        The curator can count again, so with `AUTO` there may be several rounds, of which later ones depend on earlier
        answers. With a named mechanism there is one round.

        Args:
            workload: The counts that will be read.
            loss: Privacy budget of the workload.
            adjacency: Neighbouring relation of the guarantee.
        """
        strategies = ADAPTIVE_STRATEGIES if isinstance(self.mechanism, MechanismChoice) else ONE_ROUND_STRATEGIES
        return choose_strategy(strategies, workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of one query: mechanism, noise, loss and expected error. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee.

        Raises:
            UnsupportedQuery: the mechanism cannot answer the query, or a dense query has too many cells.
        """
        if query.is_dense and prod(query.shape) > MOST_COUNTED:
            raise UnsupportedQuery(
                "grid",
                f"at most {MOST_COUNTED} cells are counted one by one, got {prod(query.shape)}; choose fewer cells",
            )
        plan = self.mechanism.plan(query, loss, adjacency)
        counted = f", who counts in {self.engine}" if self.engine else ""
        plan = replace(plan, made_by=f"one curator{counted}: {plan.made_by}")
        # Rows that fail a filter are missing for a separate reason, which no count of reasons includes.
        return add_reasons(plan) if self.tells_reasons and not query.where else plan

    def run(self, plan: Plan, holders: Sequence[Curator], allotment: Allotment, randomness: Randomness) -> Release:
        """Count the curator's records exactly, add the noise, and return the release of a charged plan.

        Args:
            plan: A plan of this trust model.
            holders: SECRET. The curator alone.
            allotment: Proof that the plan was charged.
            randomness: Source of random bits.

        Raises:
            ValueError: the charge is for another loss; or earlier state is lost, or used another kind of randomness.
            TypeError: the named mechanism does not answer this type of query.
        """
        require_charged(allotment, plan)
        (curator,) = holders
        if not plan.query.is_dense:
            return Release(plan, self._count_prefixes(plan, curator, randomness), allotment, randomness.is_seeded)
        if not isinstance(self.mechanism, Mechanism):
            raise WrongArgumentType(
                "mechanism",
                f"a mechanism that answers {type(plan.query).__name__} is needed; leave mechanism out, and one "
                "is chosen",
            )
        values = self.mechanism.run(curator.counted.tabulate(curator.records, plan.query), plan, randomness)
        if plan.reasons is None:
            return Release(plan, values, allotment, randomness.is_seeded)
        reasons = add_noise_to_reasons(curator.counted.count_reasons(curator.records, plan.query), plan, randomness)
        return Release(plan, values, allotment, randomness.is_seeded, reasons=reasons)

    def _count_prefixes(self, plan: Plan, curator: Curator, randomness: Randomness) -> tuple[int, ...]:
        """SECRET: return noisy counts below the edges that the query names, one for each edge.

        Noise is sampled where an edge is first asked for, and kept in the curator's memory. So equal edges have equal
        counts, however often they are asked.

        Args:
            plan: A charged plan of prefix counts.
            curator: Records and memory.
            randomness: Source of random bits.

        Raises:
            TypeError: the named mechanism has no memory.
            ValueError: earlier state is lost, or used another kind of randomness.
        """
        if not isinstance(self.mechanism, LazyMechanism):
            raise WrongArgumentType(
                "mechanism", "counting prefixes over time needs a mechanism with memory; choose one of dpcurves_streams"
            )
        _open_memory(plan.query, curator.memory, randomness)
        count = partial(curator.records.prefixes, plan.query.axes)
        return self.mechanism.answer(count, plan, curator.memory, randomness)


def _open_memory(query: Query, memory: Memory, randomness: Randomness) -> None:
    """Start the stored noise of a charge, or check that the stored noise belongs to this charge and query.

    Noise that is lost would be sampled again. An analyst could then average two noises of one count, and the loss would
    exceed the charge. Seeded noise can be subtracted, so it is never mixed with noise of the operating system.

    Args:
        query: The query to be answered.
        memory: Stored noise of the charge.
        randomness: Source of further noise.

    Raises:
        ValueError: the memory is lost, belongs to another query, or has noise of the other kind.
    """
    seeded = int(randomness.is_seeded)
    paid = int(fingerprint(query.charged_query)[:15], 16)  # 15 hexadecimal digits fit a signed 64-bit integer
    header = {SEEDED_FIELD: seeded, PAID_FIELD: paid}
    stored_header = memory.keep(header) if query == query.charged_query else memory.recall(list(header))
    if stored_header.keys() != header.keys():
        raise InvalidArgument("memory", "the stored noise of this request is lost; ask under a new request")
    if stored_header[PAID_FIELD] != paid:
        raise InvalidArgument("memory", "this request paid for another query; ask under a new request")
    if stored_header[SEEDED_FIELD] != seeded:
        raise InvalidArgument(
            "randomness",
            "this request began with noise of the other kind (seeded or unseeded); go on with the same kind",
        )
