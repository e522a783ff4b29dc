"""Noisy counts of partitions that a question names: a later turn names what earlier answers make worth counting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from ..data import PartitionQuery, Query
from ..privacy import Adjacency, PrivacyLoss
from ..release import Plan, UnsupportedQuery
from .linear import Linear, printed
from .noise_level import law_over


@dataclass(frozen=True, slots=True)
class Partition(Linear):
    """Each of the nested tilings of a `PartitionQuery` with the same share of the loss.

    Formal guarantees: those of `noise_level.law_over`, for whatever tilings. They are public when the turn is asked, so
    turns compose adaptively.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done. Raises `UnsupportedQuery`; touches no data."""
        if not isinstance(query, PartitionQuery):
            raise UnsupportedQuery("a partition answers a query that names its intervals, and nothing else")
        depth = len(query.tilings)
        law = law_over(query, query.tilings, (Fraction(1, depth),) * depth, loss, adjacency)
        return Plan(query, loss, adjacency, "chosen partitions", law, printed(sqrt(law.levels[-1].noise.variance)))
