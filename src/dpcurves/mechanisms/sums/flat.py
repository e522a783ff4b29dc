"""Each interval of cells on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...privacy import Adjacency, PrivacyLoss
from ...queries import CountQuery, Query, SumQuery
from ...release import Plan, UnsupportedQuery
from .linear import Spaced, plan_of_sums
from .tree_strategy import Shape


@dataclass(frozen=True, slots=True)
class Flat(Spaced):
    """A noisy histogram: one level, all of the loss.

    Attributes:
        width: How many cells are counted together; above 1 for prefixes alone, which can be interpolated.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, CountQuery | SumQuery):
            raise UnsupportedQuery("question", f"a flat histogram cannot answer {type(query).__name__}")
        if self.width > 1 and not (isinstance(query, CountQuery) and query.read.of_prefixes):
            raise UnsupportedQuery("width", f"intervals of {self.width} cells are only read as prefixes, not as cells")
        return plan_of_sums(
            self.counted_as("flat histogram"), query, Shape((self.width,), (Fraction(1),)), loss, adjacency
        )
