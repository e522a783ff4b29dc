"""A hierarchy of intervals along the last axis, with the radices and shares that read prefixes best."""

from __future__ import annotations

from dataclasses import dataclass

from ...arguments import Refused
from ...laws import Family
from ...privacy import Adjacency, PrivacyLoss
from ...queries import CountQuery, Query, Read
from ...release import Plan, UnsupportedQuery
from .linear import Linear, plan_of_sums
from .tree_strategy import best_shape


@dataclass(frozen=True, slots=True)
class Tree(Linear):
    """Nested tilings (Hay et al. 2010), branching and budgets optimised (beyond Qardaji, Yang and Li 2013).

    Where the number of records is public, what lies below the root tells all; a level of one interval per row is
    counted where that pays.

    Attributes:
        width: How many cells an interval of the finest level has; between its ends, prefixes are interpolated.
    """

    width: int = 1

    def __post_init__(self) -> None:
        if self.width < 1:
            raise Refused("width", f"at least 1 cell is counted at a time, got {self.width}")

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done. Raises `UnsupportedQuery`; touches no data."""
        if not isinstance(query, CountQuery) or query.read is not Read.PREFIXES:
            raise UnsupportedQuery(
                "question", "a tree of intervals answers counts that are read as prefixes, and nothing else"
            )
        family, pinned = (Family.LAPLACE if loss.is_pure else Family.GAUSSIAN), adjacency.total is not None
        shape = best_shape(query.rows, query.cells, self.width, family, total_is_public=pinned)
        name = f"tree of depth {len(shape.widths)}"
        return plan_of_sums(
            name if self.width == 1 else f"{name}, {self.width} cells wide", query, shape, loss, adjacency
        )
