"""A hierarchy of intervals along the last axis, with the radices and shares that read prefixes best."""

from __future__ import annotations

from dataclasses import dataclass

from ...laws import Family
from ...privacy import Adjacency, PrivacyLoss
from ...queries import Query
from ...release import Plan
from .calibration import noise_of
from .linear import Spaced, plan_of_sums, prefixes_only
from .tree_strategy import DISCRETE, best_shape


@dataclass(frozen=True, slots=True)
class TreeSums(Spaced):
    """Nested tilings (Hay et al. 2010), branching and budgets optimised (beyond Qardaji, Yang and Li 2013).

    The best tree is the one of exact variances: with next to no noise it is flatter, for most whole counts are exact.

    Where the number of records is public, what lies below the root tells all; a level of one interval per row is
    counted where that pays.

    Attributes:
        width: How many cells an interval of the finest level has; between its ends, prefixes are interpolated.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = prefixes_only(query, "a tree of intervals")
        family, pinned = (Family.LAPLACE if loss.is_pure else Family.GAUSSIAN), adjacency.total is not None
        alone = noise_of(query, loss, adjacency) if loss.is_pure else None
        little = alone if alone is not None and alone.parameter <= DISCRETE else None
        shape = best_shape(query.rows, query.cells, self.width, family, total_is_public=pinned, alone=little)
        return plan_of_sums(self.counted_as(f"tree of depth {len(shape.widths)}"), query, shape, loss, adjacency)
