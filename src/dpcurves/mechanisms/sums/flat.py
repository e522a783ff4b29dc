"""Each interval of cells on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...arguments import Refused
from ...privacy import Adjacency, PrivacyLoss
from ...queries import CountQuery, Query, Read, SumQuery
from ...release import Plan, UnsupportedQuery
from .linear import Linear, plan_of_sums
from .tree_strategy import Shape


@dataclass(frozen=True, slots=True)
class Flat(Linear):
    """A noisy histogram: one level, all of the loss.

    Attributes:
        width: How many cells are counted together; above 1 for prefixes alone, which can be interpolated.
    """

    width: int = 1

    def __post_init__(self) -> None:
        if self.width < 1:
            raise Refused("width", f"at least 1 cell is counted at a time, got {self.width}")

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done. Raises `UnsupportedQuery`; touches no data."""
        if not isinstance(query, CountQuery | SumQuery):
            raise UnsupportedQuery("question", f"a flat histogram cannot answer {type(query).__name__}")
        if self.width > 1 and not (isinstance(query, CountQuery) and query.read is Read.PREFIXES):
            raise UnsupportedQuery("width", f"intervals of {self.width} cells are only read as prefixes, not as cells")
        name = "flat histogram" if self.width == 1 else f"flat histogram, {self.width} cells wide"
        return plan_of_sums(name, query, Shape((self.width,), (Fraction(1),)), loss, adjacency)
