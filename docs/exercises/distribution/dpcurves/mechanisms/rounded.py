"""Noisy counts of cells, rounded to multiples of a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from ..conversation import Plan, UnsupportedQuery
from ..distributions import IntervalSums, round_error
from ..distributions.rounded_sums import LARGEST_STEP, RoundedSums
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import CountQuery, CountUse
from .base import ExactTable
from .linear import FlatHistogram, LinearMechanism


@dataclass(frozen=True, slots=True)
class RoundedHistogram(LinearMechanism):
    """A flat histogram whose noisy counts are rounded at random to multiples of a step.

    Name it to use it: ``Central(mechanism=RoundedHistogram(10))``.

    Formal guarantees: those of `FlatHistogram` under a pure loss. Rounding is post-processing: it sees noisy
    counts alone, and
    its coins do not depend on records.

    Attributes:
        step: Released counts are multiples of it.
    """

    query_types = (CountQuery,)
    display_name = "a rounded histogram"

    step: int = 10

    def __post_init__(self) -> None:
        if not 1 <= self.step <= LARGEST_STEP:
            raise UnsupportedQuery("step", f"a whole number from 1 to {LARGEST_STEP} is needed, got {self.step}")

    def _plan(self, query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if query.use is not CountUse.CELLS or not loss.is_pure:
            raise UnsupportedQuery("question", f"{self.display_name} answers counts of cells under a pure loss alone")
        plan = FlatHistogram().plan(query, loss, adjacency)
        distribution = RoundedSums.from_unrounded(plan.distribution.require_type(IntervalSums), self.step)
        error, name = (
            round_error(sqrt(distribution.levels[-1].noise.variance)),
            f"{plan.made_by}, rounded to {self.step}",
        )
        return replace(plan, distribution=distribution, error=error, made_by=name)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Noisy counts, each rounded with a coin of its own."""
        noisy_counts = LinearMechanism.run(self, table, plan, randomness)
        return tuple(self._round_at_random(count, randomness) for count in noisy_counts)

    def _round_at_random(self, count: int, randomness: Randomness) -> int:
        multiple, remainder = divmod(count, self.step)
        return self.step * (multiple + (randomness.sample_below(self.step) < remainder))
