"""Noisy counts of partitions that a question names: a later turn names what earlier answers make worth counting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from ...privacy import Adjacency, PrivacyLoss
from ...queries import PartitionQuery, Query
from ...release import Plan, UnsupportedQuery
from .calibration import law_over
from .linear import Linear, printed


@dataclass(frozen=True, slots=True)
class Partition(Linear):
    """Each of the nested tilings of a `PartitionQuery` with the same share of the loss; meant to be read as prefixes.

    Formal guarantees: those of `calibration.law_over`, for whatever tilings. They are public when the turn is asked, so
    turns compose adaptively.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, PartitionQuery):
            raise UnsupportedQuery("question", "a partition answers a query that names its intervals, and nothing else")
        depth = len(query.tilings)
        law = law_over(query, query.tilings, (Fraction(1, depth),) * depth, loss, adjacency)
        variance = law.mean_prefix_variance(total_is_public=adjacency.total is not None)
        return Plan(query, loss, adjacency, _name(query), law, printed(sqrt(variance)))


def _name(query: PartitionQuery) -> str:
    sizes = [str(len(tiling)) for tiling in query.tilings]
    return f"partition of {' and '.join([', '.join(sizes[:-1]), sizes[-1]] if sizes[:-1] else sizes)} intervals"
