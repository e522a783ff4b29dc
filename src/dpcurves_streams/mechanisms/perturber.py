"""Fresh noise on every count of every tick."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from dpcurves.arguments import Refused
from dpcurves.laws import IntervalSums, Tier
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.sequential import require_next
from dpcurves.mechanisms.sums.calibration import noise_of
from dpcurves.mechanisms.sums.linear import draws, printed
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query, TickQuery
from dpcurves.release import Plan, UnsupportedQuery

from .memoryless import Memoryless, Passed


@dataclass(frozen=True, slots=True)
class Perturber(Memoryless):
    """Independent noise on each cell of each tick (Chen, Machanavajjhala, Hay and Miklau 2017, section 4.1).

    Formal guarantees: all ticks together are one table with a cell for each tick and state, in which a tuple is in one
    cell at most; so neighbouring streams have tables as far apart as ``adjacency.l1_sensitivity`` and
    ``adjacency.squared_l2_sensitivity`` say. Each cell has noise of its own: discrete Laplace noise of scale b on
    integers loses ``|shift|_1 / b``, discrete Gaussian noise with variance parameter v rho ``|shift|_2**2 / (2 v)``.
    Counts that depend on answers before change nothing: given these, each tick adds its own shift to the sum.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = stream_only(query)
        noise = noise_of(query, loss, adjacency)
        law = IntervalSums(1, query.keys, (Tier(range(query.keys), noise),), missing=None)
        name = f"{noise.family.value} noise on every tick"
        return Plan(query, loss, adjacency, name, law, printed(sqrt(noise.variance)))

    def step(
        self, table: ExactTable, tick: int, state: Passed, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Passed]:
        """Exact counts, each plus one draw."""
        require_next(tick, state)
        law = plan.law.required(IntervalSums)
        noise = draws(law.levels[0].noise, law.cells, randomness)
        return added(table, noise.tolist()), Passed(tick)


def stream_only(query: Query) -> TickQuery:
    """The query, if it is one of a stream.

    Raises:
        UnsupportedQuery: it is another one.
    """
    if not isinstance(query, TickQuery):
        raise UnsupportedQuery("question", f"what answers tick by tick cannot answer {type(query).__name__}")
    return query


def added(table: ExactTable, noise: list[int]) -> tuple[int, ...]:
    """SECRET: counts plus noise, in Python's integers, which cannot overflow."""
    if len(table) != len(noise):
        raise Refused("table", f"a tick has {len(noise)} counts, got {len(table)}")
    return tuple(count + each for count, each in zip(table.tolist(), noise, strict=True))
